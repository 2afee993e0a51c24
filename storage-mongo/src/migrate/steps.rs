//! The steps of the schema: its collections and indexes.

use storage_common::migrations::Step;

/// Names of collections. All but `agents`, `apiKeys` and `migrations` can be sharded by `_id.agent`.
pub(crate) mod collection {
    /// What operators see of tenants. Global, because they are listed.
    pub(crate) const AGENTS: &str = "agents";
    /// Keys. Global, because a request names its public string, which must be unique over all tenants.
    pub(crate) const API_KEYS: &str = "apiKeys";
    /// Small records of tenants as former releases have stored them.
    pub(crate) const AGENT_RECORDS: &str = "agentRecords";
    pub(crate) const AUDIT: &str = "audit";
    pub(crate) const BLOB_PURGES: &str = "blobPurges";
    /// Contacts, and the state of each tenant.
    pub(crate) const CONTACTS: &str = "contacts";
    pub(crate) const CONTACT_SCHEMAS: &str = "contactSchemas";
    /// Conversations in the widget.
    pub(crate) const CONVERSATIONS: &str = "conversations";
    pub(crate) const CREDIT_ACCOUNTS: &str = "creditAccounts";
    pub(crate) const CREDIT_ENTRIES: &str = "creditEntries";
    /// Retained documents of extractions.
    pub(crate) const DOCUMENTS: &str = "documents";
    pub(crate) const FILES: &str = "files";
    pub(crate) const FORM_DATA_REVISIONS: &str = "formDataRevisions";
    /// Jobs of tenants and of the installation.
    pub(crate) const JOBS: &str = "jobs";
    /// The documents of tenants' knowledge.
    pub(crate) const KNOWLEDGE: &str = "knowledge";
    /// The event logs of tenants.
    pub(crate) const LOG: &str = "log";
    /// The erased contacts whose events are not emptied yet.
    pub(crate) const LOG_ERASED: &str = "logErased";
    /// Messages of conversations.
    pub(crate) const MESSAGES: &str = "messages";
    /// The version of the schema, and the lock of the migrating server.
    pub(crate) const MIGRATIONS: &str = "migrations";
    /// Passages of the documents of tenants' knowledge.
    pub(crate) const PASSAGES: &str = "passages";
    /// Rate-limit windows as former releases have stored them.
    pub(crate) const RATE_WINDOWS: &str = "rateWindows";
    /// Records of tenants and of the installation.
    pub(crate) const RECORDS: &str = "records";
    pub(crate) const REPLAYS: &str = "replays";
    pub(crate) const SUBMISSIONS: &str = "submissions";
    /// How many contacts have a tag.
    pub(crate) const TAGS: &str = "tags";
    pub(crate) const TEMPLATES: &str = "templates";
    pub(crate) const TEMPLATE_VERSIONS: &str = "templateVersions";
}

/// Names of indexes.
pub(crate) mod index {
    /// The index that every collection has.
    pub(crate) const BY_KEY: &str = "_id_";
    pub(crate) const AGENTS_BY_AGE: &str = "byAge";
    pub(crate) const KEYS_BY_API_KEY: &str = "byApiKey";
    pub(crate) const KEYS_BY_AGENT: &str = "byAgent";
    pub(crate) const CONTACTS_BY_UNIQUE: &str = "byUnique";
    pub(crate) const CONTACTS_BY_CREATED_AT: &str = "byCreatedAt";
    pub(crate) const CONTACTS_BY_UPDATED_AT: &str = "byUpdatedAt";
    pub(crate) const CONTACTS_BY_FIRST_NAME: &str = "byFirstName";
    pub(crate) const CONTACTS_BY_LAST_NAME: &str = "byLastName";
    pub(crate) const CONTACTS_BY_PRIMARY_EMAIL: &str = "byPrimaryEmail";
    pub(crate) const CONTACTS_BY_LABEL: &str = "byLabel";
    pub(crate) const CONTACTS_BY_GRAM: &str = "byGram";
    pub(crate) const CONVERSATIONS_BY_CONTACT: &str = "byContact";
    pub(crate) const CONVERSATIONS_BY_EXPIRY: &str = "byExpiry";
    pub(crate) const CONVERSATIONS_BY_LAST_MESSAGE: &str = "byLastMessage";
    pub(crate) const FILES_BY_CONTACT: &str = "byContact";
    pub(crate) const JOBS_BY_BATCH: &str = "byBatch";
    pub(crate) const JOBS_BY_CLIENT_ID: &str = "byClientId";
    pub(crate) const JOBS_BY_CREATED_AT: &str = "byCreatedAt";
    pub(crate) const JOBS_BY_DUE: &str = "byDue";
    pub(crate) const JOBS_BY_STATE: &str = "byState";
    pub(crate) const JOBS_BY_SUBJECT: &str = "bySubject";
    pub(crate) const JOBS_BY_TURN: &str = "byTurn";
    pub(crate) const MESSAGES_BY_ID: &str = "byId";
    pub(crate) const MESSAGES_BY_TURN: &str = "byTurn";
    pub(crate) const PURGES_BY_DUE: &str = "byDue";
    pub(crate) const TEMPLATES_BY_NAME: &str = "byName";
    pub(crate) const SUBMISSIONS_BY_CONTACT: &str = "byContact";
    pub(crate) const SUBMISSIONS_BY_CREATED_AT: &str = "byCreatedAt";
    pub(crate) const SUBMISSIONS_HEAD: &str = "head";
    pub(crate) const REPLAYS_BY_RESOURCE: &str = "byResource";
    pub(crate) const REPLAYS_BY_EXPIRY: &str = "byExpiry";
    pub(crate) const RECORDS_BY_UNIQUE: &str = "byUnique";
    pub(crate) const RECORDS_BY_KIND: &str = "byKind";
    pub(crate) const RECORDS_BY_DUE: &str = "byDue";
    pub(crate) const RECORDS_BY_SUBJECT: &str = "bySubject";
    pub(crate) const AUDIT_BY_TIME: &str = "byTime";
    pub(crate) const AUDIT_BY_SEQUENCE: &str = "bySequence";
    pub(crate) const AUDIT_BY_PAYLOAD: &str = "byPayload";
}

/// An index of a collection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [&'static str],
    pub(crate) unique: bool,
    /// The field that a document needs to be in the index.
    pub(crate) only_with: Option<&'static str>,
}

/// A collection with its indexes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) name: &'static str,
    pub(crate) indexes: &'static [Index],
}

const fn index_of(name: &'static str, fields: &'static [&'static str]) -> Index {
    Index { name, fields, unique: false, only_with: None }
}

/// One step of the schema. A step that was released never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// The version of the schema after it: 1 and upwards.
    pub version: i64,
    /// What it adds.
    pub name: &'static str,
    pub(crate) collections: &'static [Collection],
}

/// Every migration, in order; `version` is the position in the list, counted from 1.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "contacts, files, forms", collections: FIRST },
    Migration { version: 2, name: "extraction", collections: EXTRACTION },
    Migration { version: 3, name: "chat", collections: CHAT },
    Migration { version: AUDIT_CHAIN, name: "audit chain", collections: CHAINED },
    // An older release would store other search and sort keys.
    Migration { version: 5, name: "key version", collections: &[] },
    // An older release would serve sealed contents as they are.
    Migration { version: 6, name: "sealed contents", collections: &[] },
    Migration { version: SHAPES, name: "records and event logs", collections: RECORDS_AND_LOGS },
    Migration { version: 8, name: "queue", collections: QUEUE },
];

/// Jobs. A lease is renewed often, so it is in no index.
const QUEUE: &[Collection] = &[Collection {
    name: collection::JOBS,
    indexes: &[
        index_of(index::JOBS_BY_CREATED_AT, &["_id.agent", "queue", "createdAt", "_id.id", "state"]),
        Index {
            name: index::JOBS_BY_BATCH,
            fields: &["_id.agent", "queue", "batch", "createdAt", "_id.id", "state"],
            unique: false,
            only_with: Some("batch"),
        },
        Index {
            name: index::JOBS_BY_CLIENT_ID,
            fields: &["_id.agent", "queue", "clientId", "createdAt", "_id.id", "state"],
            unique: false,
            only_with: Some("clientId"),
        },
        index_of(index::JOBS_BY_STATE, &["_id.agent", "queue", "state", "turn"]),
        Index {
            name: index::JOBS_BY_SUBJECT,
            fields: &["_id.agent", "subject"],
            unique: false,
            only_with: Some("subject"),
        },
        // Global: servers take the jobs of all tenants.
        index_of(index::JOBS_BY_TURN, &["queue", "state", "turn", "_id.id", "_id.agent", "createdAt"]),
        Index {
            name: index::JOBS_BY_DUE,
            fields: &["queue", "state", "dueAt"],
            unique: false,
            only_with: Some("dueAt"),
        },
    ],
}];

/// The migration that moves small records and rate-limit windows.
pub(super) const SHAPES: i64 = 7;

/// Records, and the event logs, whose readers go through them by number.
const RECORDS_AND_LOGS: &[Collection] = &[
    Collection {
        name: collection::RECORDS,
        indexes: &[
            Index {
                name: index::RECORDS_BY_UNIQUE,
                fields: &["_id.agent", "_id.kind", "unique"],
                unique: true,
                only_with: Some("unique"),
            },
            // Global: records of all tenants are listed, and fall due.
            index_of(index::RECORDS_BY_KIND, &["_id.kind", "_id.agent", "_id.id"]),
            Index {
                name: index::RECORDS_BY_DUE,
                fields: &["_id.kind", "dueAt", "_id.agent", "_id.id"],
                unique: false,
                only_with: Some("dueAt"),
            },
            Index {
                name: index::RECORDS_BY_SUBJECT,
                fields: &["_id.agent", "subject"],
                unique: false,
                only_with: Some("subject"),
            },
        ],
    },
    Collection { name: collection::LOG, indexes: &[] },
    Collection { name: collection::LOG_ERASED, indexes: &[] },
];

/// The migration that begins the chains of the audit log.
pub(super) const AUDIT_CHAIN: i64 = 4;

/// The chain of a tenant, by number.
const CHAINED: &[Collection] = &[Collection {
    name: collection::AUDIT,
    indexes: &[index_of(index::AUDIT_BY_SEQUENCE, &["_id.agent", "sequence", "_id.at", "_id.id"])],
}];

/// Every index starts with the tenant, except the global ones.
const FIRST: &[Collection] = &[
    Collection {
        name: collection::AGENTS,
        indexes: &[index_of(index::AGENTS_BY_AGE, &["createdAt", "_id"])],
    },
    Collection {
        name: collection::API_KEYS,
        indexes: &[
            Index { name: index::KEYS_BY_API_KEY, fields: &["apiKey"], unique: true, only_with: None },
            index_of(index::KEYS_BY_AGENT, &["agent", "createdAt", "_id"]),
        ],
    },
    Collection {
        name: collection::CONTACTS,
        indexes: &[
            Index {
                name: index::CONTACTS_BY_UNIQUE,
                fields: &["_id.agent", "keys.unique"],
                unique: true,
                only_with: Some("keys.unique"),
            },
            index_of(index::CONTACTS_BY_CREATED_AT, &["_id.agent", "keys.slot", "createdAt", "_id.id"]),
            index_of(index::CONTACTS_BY_UPDATED_AT, &["_id.agent", "keys.slot", "updatedAt", "_id.id"]),
            index_of(index::CONTACTS_BY_FIRST_NAME, &["_id.agent", "keys.slot", "keys.firstName", "_id.id"]),
            index_of(index::CONTACTS_BY_LAST_NAME, &["_id.agent", "keys.slot", "keys.lastName", "_id.id"]),
            index_of(
                index::CONTACTS_BY_PRIMARY_EMAIL,
                &["_id.agent", "keys.slot", "keys.primaryEmail", "_id.id"],
            ),
            index_of(
                index::CONTACTS_BY_LABEL,
                &["_id.agent", "keys.labels", "keys.slot", "createdAt", "_id.id"],
            ),
            index_of(index::CONTACTS_BY_GRAM, &["_id.agent", "keys.grams", "keys.slot"]),
        ],
    },
    Collection { name: collection::TAGS, indexes: &[] },
    Collection { name: collection::CONTACT_SCHEMAS, indexes: &[] },
    Collection {
        name: collection::FILES,
        indexes: &[index_of(
            index::FILES_BY_CONTACT,
            &["_id.agent", "contact", "live", "createdAt", "_id.id"],
        )],
    },
    // Global: the contents of all tenants fall due.
    Collection {
        name: collection::BLOB_PURGES,
        indexes: &[index_of(index::PURGES_BY_DUE, &["dueAt", "_id"])],
    },
    Collection {
        name: collection::TEMPLATES,
        indexes: &[index_of(index::TEMPLATES_BY_NAME, &["_id.agent", "status", "nameKey", "_id.id"])],
    },
    Collection { name: collection::TEMPLATE_VERSIONS, indexes: &[] },
    Collection {
        name: collection::SUBMISSIONS,
        // The index contains every field that lists filter by, except the caller's reference.
        indexes: &[
            index_of(
                index::SUBMISSIONS_BY_CONTACT,
                &["_id.agent", "contact", "superseded", "createdAt", "_id.id", "template", "status"],
            ),
            index_of(
                index::SUBMISSIONS_BY_CREATED_AT,
                &["_id.agent", "superseded", "createdAt", "_id.id", "template", "status"],
            ),
            // Only the heads of a contact and template, so superseded submissions are not skipped one by one.
            Index {
                name: index::SUBMISSIONS_HEAD,
                fields: &["_id.agent", "contact", "template", "headSince", "_id.id", "status"],
                unique: false,
                only_with: Some("headSince"),
            },
        ],
    },
    Collection { name: collection::FORM_DATA_REVISIONS, indexes: &[] },
    Collection {
        name: collection::REPLAYS,
        indexes: &[
            Index {
                name: index::REPLAYS_BY_RESOURCE,
                fields: &["_id.agent", "resource"],
                unique: false,
                only_with: Some("resource"),
            },
            // Global: the responses of all tenants are swept.
            index_of(index::REPLAYS_BY_EXPIRY, &["expiresAt"]),
        ],
    },
    Collection { name: collection::RATE_WINDOWS, indexes: &[] },
    Collection {
        name: collection::AUDIT,
        indexes: &[
            // Global: operators read the entries of all tenants.
            index_of(index::AUDIT_BY_TIME, &["_id.at", "_id.id"]),
            Index {
                name: index::AUDIT_BY_PAYLOAD,
                fields: &["_id.agent", "about"],
                unique: false,
                only_with: Some("details"),
            },
        ],
    },
];

/// Data of extractions. Everything is found by its key.
const EXTRACTION: &[Collection] = &[
    Collection { name: collection::CREDIT_ACCOUNTS, indexes: &[] },
    Collection { name: collection::CREDIT_ENTRIES, indexes: &[] },
    Collection { name: collection::DOCUMENTS, indexes: &[] },
];

/// The chat: conversations with their messages, the knowledge of tenants, and small records of tenants.
const CHAT: &[Collection] = &[
    Collection {
        name: collection::CONVERSATIONS,
        // The fields that lists filter by come before those that they sort by, so no documents are skipped.
        indexes: &[
            index_of(
                index::CONVERSATIONS_BY_LAST_MESSAGE,
                &["_id.agent", "status", "mode", "lastMessageAt", "_id.id"],
            ),
            Index {
                name: index::CONVERSATIONS_BY_CONTACT,
                fields: &["_id.agent", "contact", "status", "mode", "lastMessageAt", "_id.id"],
                unique: false,
                only_with: Some("contact"),
            },
            // Global: expired conversations of all tenants are erased.
            index_of(index::CONVERSATIONS_BY_EXPIRY, &["expiresAt", "_id"]),
        ],
    },
    Collection {
        name: collection::MESSAGES,
        indexes: &[
            index_of(index::MESSAGES_BY_ID, &["_id.agent", "_id.id", "message", "_id.seq"]),
            Index {
                name: index::MESSAGES_BY_TURN,
                fields: &["_id.agent", "_id.id", "turn", "_id.seq"],
                unique: false,
                only_with: Some("turn"),
            },
        ],
    },
    Collection { name: collection::KNOWLEDGE, indexes: &[] },
    Collection { name: collection::PASSAGES, indexes: &[] },
    Collection { name: collection::AGENT_RECORDS, indexes: &[] },
];

impl Step for Migration {
    fn version(&self) -> i64 {
        self.version
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use storage_common::migrations;

    use super::*;

    #[test]
    fn versions_count_from_one() {
        migrations::assert_numbered(MIGRATIONS);
    }

    /// The guide shards all collections with data of tenants.
    #[test]
    fn the_guide_shards_every_collection_of_tenants() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/scaling.md");
        let guide = std::fs::read_to_string(guide).unwrap();
        let (_, listed) = guide.split_once("for (const name of [").unwrap();
        let (listed, _) = listed.split_once(']').unwrap();
        let listed: BTreeSet<&str> = listed.split('"').skip(1).step_by(2).collect();
        // The last two were dropped by a later step.
        let others =
            [collection::AGENTS, collection::API_KEYS, collection::AGENT_RECORDS, collection::RATE_WINDOWS];
        let all = MIGRATIONS.iter().flat_map(|step| step.collections).map(|collection| collection.name);
        let expected: BTreeSet<&str> = all.filter(|name| !others.contains(name)).collect();
        assert_eq!(listed, expected);
    }

    /// Without it the collection could not be sharded by tenant.
    #[test]
    fn the_agent_leads_every_index_but_those_of_what_is_global() {
        let global = [collection::AGENTS, collection::API_KEYS];
        let indexes = MIGRATIONS
            .iter()
            .flat_map(|step| step.collections)
            .flat_map(|collection| collection.indexes.iter().map(move |index| (collection.name, index)));
        for (collection, index) in indexes {
            let by_all = [
                (collection::BLOB_PURGES, index::PURGES_BY_DUE),
                (collection::REPLAYS, index::REPLAYS_BY_EXPIRY),
                (collection::AUDIT, index::AUDIT_BY_TIME),
                (collection::CONVERSATIONS, index::CONVERSATIONS_BY_EXPIRY),
                (collection::RECORDS, index::RECORDS_BY_KIND),
                (collection::RECORDS, index::RECORDS_BY_DUE),
                (collection::JOBS, index::JOBS_BY_TURN),
                (collection::JOBS, index::JOBS_BY_DUE),
            ];
            let is_global = global.contains(&collection) || by_all.contains(&(collection, index.name));
            assert!(is_global || index.fields[0] == "_id.agent", "{collection}: {index:?}");
            assert!(!index.unique || collection == collection::API_KEYS || index.fields[0] == "_id.agent");
        }
    }
}
