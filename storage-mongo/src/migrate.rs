//! Collections and indexes: numbered, append-only migrations.
//!
//! An interrupted step can be repeated: it creates only what is absent. One server migrates at a time. It holds a lock
//! that expires by the clock of the database, so a server that dies does not block the others for long.

use std::pin::Pin;
use std::time::Duration;

use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::error::ErrorKind;
use openapi_core::storage::StorageErrorKind;
use storage_common::migrations::{self, Step};

use crate::connect::Handle;
use crate::document::{FieldReader, Fields};
use crate::error::{Error, OpenError, Result};
use crate::transaction::DocumentReader;

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
];

/// The migration that moves small records and rate-limit windows.
const SHAPES: i64 = 7;

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
const AUDIT_CHAIN: i64 = 4;

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

/// The version of this release.
pub(crate) const KNOWN: i64 = MIGRATIONS.len() as i64;

impl Step for Migration {
    fn version(&self) -> i64 {
        self.version
    }
}

/// The migrations that a database of `version` lacks.
pub(crate) fn pending(version: i64) -> &'static [Migration] {
    migrations::pending(MIGRATIONS, version)
}

/// How long the lock is valid without being renewed.
const LOCK: Duration = Duration::from_secs(30);

/// How often the lock is renewed, and how often another server checks whether it is free.
const LOCK_STEP: Duration = Duration::from_secs(5);

/// How long a server waits for another one that is migrating.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// The version of the schema in the database, 0 for an empty one.
///
/// # Errors
/// When the database belongs to something else or to a newer release.
pub(crate) async fn version(handle: &Handle) -> Result<i64, OpenError> {
    let found = handle.read(async {
        let stored =
            DocumentReader::new(handle).one(collection::MIGRATIONS, doc! { "_id": "schema" }, None).await?;
        stored.map_or(Ok(0), |stored| Fields(&stored).integer("version"))
    });
    let found = found.await.map_err(|error| refused(handle, error))?;
    if found == 0 {
        refuse_foreign(handle).await?;
    }
    if found > KNOWN {
        return Err(OpenError::Newer { database: handle.db.name().to_owned(), found, known: KNOWN });
    }
    Ok(found)
}

/// Refuses a database with collections that this crate has never migrated, and adds nothing to it.
async fn refuse_foreign(handle: &Handle) -> Result<(), OpenError> {
    let looked = handle.list(async {
        // The lock precedes the first collection: a server that lists a collection then sees the lock.
        let mut collections = handle.db.list_collection_names().await?;
        collections.retain(|name| !name.starts_with("system."));
        let begun = doc! { "_id": { "$in": ["lock", "schema"] } };
        let begun = DocumentReader::new(handle).one(collection::MIGRATIONS, begun, None).await?;
        Ok(collections.into_iter().min().filter(|_| begun.is_none()))
    });
    match looked.await.map_err(|error| refused(handle, error))? {
        Some(collection) => Err(OpenError::Foreign { database: handle.db.name().to_owned(), collection }),
        None => Ok(()),
    }
}

fn refused(handle: &Handle, error: Error) -> OpenError {
    let (hosts, database) = (&handle.hosts, handle.db.name());
    let other = |reason: String| OpenError::Mongo { database: database.to_owned(), reason };
    match error {
        Error::Driver(error) => OpenError::of(hosts, database, &error),
        Error::Timeout(what) => OpenError::Unreachable { hosts: hosts.clone(), reason: what.to_owned() },
        Error::Corrupt(what) => other(what),
        Error::Conflict => other("another server keeps changing it".to_owned()),
        Error::Known(kind) => other(kind.to_string()),
    }
}

/// Work on the content of the database that follows the migrations.
pub(crate) struct Backfill {
    /// Whether it is done.
    pub(crate) is_done: for<'h> fn(&'h Handle) -> Work<'h, bool>,
    /// Does it, or the rest of it.
    pub(crate) run: for<'h> fn(&'h Handle) -> Work<'h, ()>,
}

/// The future of a [`Backfill`].
pub(crate) type Work<'h, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'h>>;

/// Whether the database has the schema and the keys of this release.
async fn is_current(handle: &Handle, backfill: &Backfill) -> Result<bool, OpenError> {
    if !pending(version(handle).await?).is_empty() {
        return Ok(false);
    }
    handle.read((backfill.is_done)(handle)).await.map_err(|error| refused(handle, error))
}

/// Migrates the database to the version of this release.
///
pub(crate) async fn migrate(
    handle: &Handle,
    upgrades: Upgrades,
    backfill: &Backfill,
) -> Result<(), OpenError> {
    let mut waited = Duration::ZERO;
    while !is_current(handle, backfill).await? {
        let lock = Lock::of(handle).await.map_err(|error| refused(handle, error))?;
        if lock.take().await.map_err(|error| refused(handle, error))? {
            let done = lock.hold_while(apply_all(handle, upgrades, backfill)).await;
            lock.release().await;
            return done.map_err(|error| refused(handle, error)).and(version(handle).await.map(drop));
        }
        if waited >= MAX_WAIT {
            let database = handle.db.name().to_owned();
            return Err(OpenError::Migrating { database, waited: waited.as_secs() });
        }
        // Most concurrent starts end at once, so the first checks follow quickly.
        let step = LOCK_STEP.min(waited.max(Duration::from_millis(100)));
        tokio::time::sleep(step).await;
        waited += step;
    }
    Ok(())
}

/// Work of a step besides collections and indexes. It can be repeated.
pub(crate) type Upgrade = for<'a> fn(&'a Handle) -> Work<'a, ()>;

/// The work of the steps that have some.
#[derive(Clone, Copy)]
pub(crate) struct Upgrades {
    /// Begins the chains of the audit log.
    pub(crate) begin_chains: Upgrade,
    /// Moves small records and rate-limit windows to the collection of records.
    pub(crate) move_records: Upgrade,
}

async fn apply_all(handle: &Handle, upgrades: Upgrades, backfill: &Backfill) -> Result<()> {
    let stored =
        DocumentReader::new(handle).one(collection::MIGRATIONS, doc! { "_id": "schema" }, None).await?;
    let version = stored.map_or(Ok(0), |stored| Fields(&stored).integer("version"))?;
    for step in pending(version) {
        let mut making = tokio::task::JoinSet::new();
        for collection in step.collections {
            let handle = handle.clone();
            making.spawn(async move { make(&handle, collection).await });
        }
        while let Some(made) = making.join_next().await {
            made.map_err(crate::error::corrupt)??;
        }
        match step.version {
            AUDIT_CHAIN => (upgrades.begin_chains)(handle).await?,
            SHAPES => (upgrades.move_records)(handle).await?,
            _ => {}
        }
        handle
            .collection(collection::MIGRATIONS)
            .update_one(doc! { "_id": "schema" }, doc! { "$set": { "version": step.version } })
            .upsert(true)
            .await?;
        tracing::info!(version = step.version, name = step.name, "migrated the database");
    }
    (backfill.run)(handle).await
}

/// Creates a collection and its indexes if they are absent.
async fn make(handle: &Handle, wanted: &Collection) -> Result<()> {
    const NAMESPACE_EXISTS: i32 = 48;
    match handle.db.create_collection(wanted.name).await {
        Ok(()) => {}
        Err(error) if matches!(&*error.kind, ErrorKind::Command(c) if c.code == NAMESPACE_EXISTS) => {}
        Err(error) => return Err(error.into()),
    }
    if wanted.indexes.is_empty() {
        return Ok(());
    }
    let command = doc! {
        "createIndexes": wanted.name,
        "indexes": wanted.indexes.iter().map(definition).collect::<Vec<_>>(),
        "writeConcern": { "w": "majority" },
        // Without it the command waits for members that do not respond.
        "commitQuorum": "majority",
    };
    handle.db.run_command(command).await?;
    Ok(())
}

fn definition(index: &Index) -> Document {
    let key: Document = index.fields.iter().map(|field| ((*field).to_owned(), Bson::Int32(1))).collect();
    let mut definition = doc! { "name": index.name, "key": key };
    if index.unique {
        definition.insert("unique", true);
    }
    if let Some(field) = index.only_with {
        let mut with = Document::new();
        with.insert(field, doc! { "$exists": true });
        definition.insert("partialFilterExpression", with);
    }
    definition
}

/// The right to migrate, which expires.
struct Lock<'h> {
    handle: &'h Handle,
    /// The holder: a session id that the driver generates.
    holder: Document,
    _session: mongodb::ClientSession,
}

impl<'h> Lock<'h> {
    async fn of(handle: &'h Handle) -> Result<Self> {
        let session = handle.client.start_session().await?;
        Ok(Lock { handle, holder: session.id().clone(), _session: session })
    }

    /// Takes or renews the lock; returns whether this server has it.
    async fn take(&self) -> Result<bool> {
        let migrations = self.handle.collection(collection::MIGRATIONS);
        let free = doc! { "$setOnInsert": { "until": DateTime::from_millis(0) } };
        match migrations.update_one(doc! { "_id": "lock" }, free).upsert(true).await.map_err(Error::from) {
            Ok(_) | Err(Error::Conflict) => {}
            Err(error) => return Err(error),
        }
        let filter = doc! {
            "_id": "lock",
            "$expr": { "$or": [
                { "$eq": ["$holder", { "$literal": self.holder.clone() }] },
                { "$lt": ["$until", "$$NOW"] },
            ] },
        };
        let until = doc! { "$add": ["$$NOW", LOCK.as_millis() as i64] };
        let change = vec![doc! { "$set": { "holder": { "$literal": self.holder.clone() }, "until": until } }];
        Ok(migrations.update_one(filter, change).await?.matched_count == 1)
    }

    /// Renews the lock until the work is done.
    async fn hold_while<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let renew = async {
            loop {
                tokio::time::sleep(LOCK_STEP).await;
                match self.take().await {
                    Ok(true) => {}
                    Ok(false) => return Error::Known(StorageErrorKind::Unavailable),
                    Err(error) => tracing::warn!(?error, "cannot renew the lock of the migration"),
                }
            }
        };
        tokio::select! {
            done = work => done,
            lost = renew => Err(lost),
        }
    }

    async fn release(&self) {
        let filter = doc! { "_id": "lock", "holder": self.holder.clone() };
        let free = doc! { "$set": { "until": DateTime::from_millis(0) } };
        if let Err(error) = self.handle.collection(collection::MIGRATIONS).update_one(filter, free).await {
            tracing::warn!(%error, "cannot release the lock of the migration; it expires");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_from_one() {
        migrations::assert_numbered(MIGRATIONS);
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
            ];
            let is_global = global.contains(&collection) || by_all.contains(&(collection, index.name));
            assert!(is_global || index.fields[0] == "_id.agent", "{collection}: {index:?}");
            assert!(!index.unique || collection == collection::API_KEYS || index.fields[0] == "_id.agent");
        }
    }
}
