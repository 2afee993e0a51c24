//! Every list uses its index, by MongoDB's own account of each find.

use mongodb::bson::{Bson, Document, doc};
use openapi_core::forms::SubmissionStatus;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    AuditQuery, ContactFilter, ContactQuery, ContactSort, ContactStore, ContactWrite, FileQuery, FileSort,
    LedgerQuery, Order, SortKey, SortPosition, SubmissionFilter, SubmissionPosition, SubmissionQuery,
    TemplatePosition, TemplateQuery, Window,
};
use openapi_core::values::{
    AgentId, AuditId, ContactStatus, FileId, PlatformId, SubmissionId, Tag, TemplateId, TextValue,
};
use storage_common::transfer::{TransferKey, TransferKind};

use super::small;
use super::support::{Database, agent_id, at, contact, contact_id, insert_agent, wait, write};
use crate::contacts::plan_of;
use crate::migrate::collection;
use crate::transaction::Find;
use crate::transfer::read;
use crate::{agents, audit, contacts, credits, documents, files, forms, keys, replays};

/// The number of the agent's contacts.
const MANY: u64 = 240;

/// The server's account of a command: the stages and indexes of its plan, and the number of keys it read.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) stages: Vec<String>,
    pub(super) indexes: Vec<String>,
    pub(super) keys: i64,
    pub(super) documents: i64,
}

impl Account {
    fn add(&mut self, value: &Bson) {
        match value {
            Bson::Document(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        // Rejected plans and repetitions.
                        ("rejectedPlans" | "allPlansExecution" | "executionStages", _) => {}
                        ("stage", Bson::String(stage)) => self.stages.push(stage.clone()),
                        ("indexName", Bson::String(index)) => self.indexes.push(index.clone()),
                        ("totalKeysExamined", number) => self.keys += number.as_i32().map_or(0, i64::from),
                        ("totalDocsExamined", number) => {
                            self.documents += number.as_i32().map_or(0, i64::from);
                        }
                        (_, value) => self.add(value),
                    }
                }
            }
            Bson::Array(values) => values.iter().for_each(|value| self.add(value)),
            _ => {}
        }
    }
}

pub(super) async fn explain(db: &mongodb::Database, command: Document) -> Account {
    let explained = db.run_command(doc! { "explain": command.clone(), "verbosity": "executionStats" }).await;
    let explained = explained.unwrap_or_else(|error| panic!("{command}: {error}"));
    let mut account = Account::default();
    account.add(&Bson::Document(explained));
    account
}

fn command(name: &str, find: &Find) -> Document {
    let mut command = doc! { "find": name, "filter": find.filter.clone(), "skip": find.skip as i64 };
    if find.limit > 0 {
        command.insert("limit", i64::from(find.limit));
    }
    for (name, value) in [("sort", &find.sort), ("projection", &find.projection)] {
        if let Some(value) = value {
            command.insert(name, value.clone());
        }
    }
    if let Some(hint) = find.hint {
        command.insert("hint", hint);
    }
    command
}

/// Fails when a find reads the collection, sorts, uses another index, or reads more keys than necessary.
pub(super) async fn refuse_detours(db: &mongodb::Database, name: &str, find: &Find, at_most: i64) {
    let account = explain(db, command(name, find)).await;
    let is_detour = |stage: &String| stage == "COLLSCAN" || stage == "SORT";
    assert!(!account.stages.iter().any(is_detour), "{account:?} of {find:?}");
    assert!(!account.indexes.is_empty(), "{account:?} of {find:?}");
    let hint = find.hint.unwrap_or("_id_");
    assert!(account.indexes.iter().all(|index| index == hint), "{account:?} of {find:?}");
    assert!(account.keys <= at_most, "{account:?} of {find:?}");
}

/// Contacts that share names, states and tags.
pub(super) fn people(a: &AgentId, schema: &ContactSchema) -> Vec<ContactWrite> {
    let person = |number: u64| {
        let mut person = contact(a, number);
        // Three of four have a first name, and several people share each name.
        person.first_name =
            (!number.is_multiple_of(4)).then(|| TextValue::parse(&format!("Name{}", number % 20)).unwrap());
        person.last_name = TextValue::parse(&format!("Last{}", number % 7)).ok();
        person.status = ContactStatus::ALL[(number % 3) as usize];
        person.archived_at = number.is_multiple_of(5).then(|| at(0));
        person.tags = vec![Tag::parse(["vip", "late"][(number % 2) as usize]).unwrap()];
        person.external_reference_id = format!("x{number}").parse().ok();
        write(&person, schema, number + 1)
    };
    (0..MANY).map(person).collect()
}

pub(super) async fn filled(database: &Database) -> crate::MongoStorage {
    let store = database.open().await;
    let a = agent_id("a");
    let schema = insert_agent(&store, &a).await;
    let writes = people(&a, &schema);
    let mut tasks = tokio::task::JoinSet::new();
    let store = std::sync::Arc::new(store);
    for write in writes {
        let (store, a) = (std::sync::Arc::clone(&store), a.clone());
        tasks.spawn(async move { store.insert_contact(&a, &write).await });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap().unwrap();
    }
    std::sync::Arc::into_inner(store).unwrap()
}

#[test]
fn lists_of_contacts_walk_along_their_index() {
    let database = small();
    wait(async {
        let store = filled(&database).await;
        let db = &store.handle.db;
        let mut finds = 0;
        for (query, scans) in queries() {
            let plan = plan_of(&store.handle, &agent_id("a"), &query).await.unwrap();
            assert!(!plan.is_empty(), "{query:?}");
            for find in plan {
                // Each of the merged scans reads a key that it does not return, and seeks.
                let at_most = (find.skip + u64::from(find.limit)) as i64 + 3 * scans;
                refuse_detours(db, collection::CONTACTS, &find, at_most).await;
                finds += 1;
            }
        }
        assert!(finds > 200, "{finds}");
        store.close().await;
    });
}

/// Lists directly from an index, each with the number of merged scans.
fn queries() -> Vec<(ContactQuery, i64)> {
    let views = [
        (ContactFilter::default(), 3),
        (ContactFilter { include_archived: true, ..ContactFilter::default() }, 6),
        (ContactFilter { status: Some(ContactStatus::Blocked), ..ContactFilter::default() }, 1),
        (
            ContactFilter {
                status: Some(ContactStatus::Active),
                include_archived: true,
                ..ContactFilter::default()
            },
            2,
        ),
    ];
    let mut queries = Vec::new();
    for sort in ContactSort::ALL {
        let keys = match sort {
            ContactSort::CreatedAt | ContactSort::UpdatedAt => vec![SortKey::Time(at(100))],
            ContactSort::PrimaryEmail => vec![SortKey::Text(Some("contact13".into()))],
            _ => vec![SortKey::Text(Some("name5".into())), SortKey::Text(None)],
        };
        for order in [Order::Ascending, Order::Descending] {
            for (filter, scans) in &views {
                let page = |offset| Window::Page { offset, limit: 10 };
                let mut windows = vec![page(0), page(15), page(30)];
                windows.extend(keys.iter().map(|key| Window::After {
                    position: SortPosition { key: key.clone(), id: contact_id(100) },
                    limit: 10,
                }));
                for window in windows {
                    let tagged = ContactFilter { tag: Some("vip".to_owned()), ..filter.clone() };
                    let query = ContactQuery { filter: filter.clone(), sort, order, window };
                    if sort == ContactSort::CreatedAt {
                        queries.push((ContactQuery { filter: tagged, ..query.clone() }, *scans));
                    }
                    queries.push((query, *scans));
                }
            }
        }
    }
    queries
}

#[test]
fn what_is_read_by_key_is_found_by_key() {
    let database = small();
    wait(async {
        let store = filled(&database).await;
        let (db, a) = (&store.handle.db, agent_id("a"));
        let b = agent_id("b");
        for numbers in [vec![7], vec![7, 12, 900]] {
            for agents in [&[&a][..], &[&a, &b]] {
                let ids = agents.iter().flat_map(|agent| {
                    numbers.iter().map(|number| ((*agent).clone(), format!("x{number}").parse().unwrap()))
                });
                let by_name = contacts::find_by_external_ids(&ids.collect::<Vec<_>>());
                let account = explain(db, command(collection::CONTACTS, &by_name)).await;
                let branches = agents.len() as i64;
                let most = branches + branches * numbers.len() as i64;
                let stages = &account.stages;
                assert!(stages.iter().all(|stage| stage != "COLLSCAN" && stage != "SORT"), "{account:?}");
                assert!(account.documents <= most && account.keys <= 2 * most, "{account:?}");
                assert!(
                    account.indexes.iter().any(|index| index == crate::migrate::index::CONTACTS_BY_UNIQUE)
                );
            }
        }
        store.close().await;
    });
}

#[test]
fn searches_look_at_few_contacts_where_few_match() {
    let database = small();
    wait(async {
        let store = filled(&database).await;
        let (db, a) = (&store.handle.db, agent_id("a"));
        for (search, at_most) in [("contact123", 2), ("x123", 4), ("name13 last6 contact13@", 16)] {
            let counting = contacts::count_of_search(&store.handle, &a, search).await.unwrap();
            let account = explain(db, counting).await;
            assert!(account.indexes.iter().all(|index| index == crate::migrate::index::CONTACTS_BY_GRAM));
            assert!((1..=at_most).contains(&account.documents), "{search}: {account:?}");
        }
        store.close().await;
    });
}

#[test]
fn every_other_list_walks_along_its_index() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let (db, a) = (&store.handle.db, agent_id("a"));
        let mut finds: Vec<(&str, Find)> = vec![
            (collection::AGENTS, agents::every()),
            (collection::API_KEYS, keys::of_agent(&a)),
            (collection::REPLAYS, replays::expired(at(0), 10)),
            (collection::BLOB_PURGES, files::due_by(at(0), 10)),
        ];
        for newest_first in [false, true] {
            for agent in [None, Some(a.clone())] {
                for after in [None, Some((at(3), AuditId::from_bytes([1; 12])))] {
                    let query = AuditQuery { agent: agent.clone(), after, newest_first, limit: 10 };
                    finds.push((collection::AUDIT, audit::find(&query)));
                }
            }
        }
        for before in [None, Some((at(3), PlatformId::from_bytes([1; 12])))] {
            let query = LedgerQuery { agent: a.clone(), before, limit: 10 };
            finds.push((collection::CREDIT_ENTRIES, credits::find(&query)));
        }
        for after in [None, Some(FileId::from_bytes([1; 12]))] {
            finds.push((collection::DOCUMENTS, documents::find(&a, after, 10)));
        }
        for order in [Order::Ascending, Order::Descending] {
            let query = FileQuery {
                contact: contact_id(1),
                sort: FileSort::CreatedAt,
                order,
                window: Window::Page { offset: 3, limit: 10 },
            };
            finds.push((collection::FILES, files::find(&a, &query).unwrap()));
        }
        let position = TemplatePosition { name_key: "m".to_owned(), id: TemplateId::from_bytes([1; 12]) };
        for only_active in [false, true] {
            for window in [
                Window::Page { offset: 3, limit: 10 },
                Window::After { position: position.clone(), limit: 10 },
            ] {
                finds.push((
                    collection::TEMPLATES,
                    forms::find_templates(&a, &TemplateQuery { only_active, window }),
                ));
            }
        }
        let position = SubmissionPosition { created_at: at(3), id: SubmissionId::from_bytes([1; 12]) };
        for contact in [None, Some(contact_id(1))] {
            for include_superseded in [false, true] {
                for status in [None, Some(SubmissionStatus::Approved)] {
                    for window in
                        [Window::Page { offset: 3, limit: 10 }, Window::After { position, limit: 10 }]
                    {
                        let filter = SubmissionFilter {
                            contact,
                            include_superseded,
                            status,
                            ..SubmissionFilter::default()
                        };
                        let find = forms::find_submissions(&a, &SubmissionQuery { filter, window });
                        finds.push((collection::SUBMISSIONS, find));
                    }
                }
            }
        }
        let head = forms::newest(&a, contact_id(1), TemplateId::from_bytes([1; 12]));
        finds.push((collection::SUBMISSIONS, head));
        assert!(finds.len() > 30, "{}", finds.len());
        for (name, find) in finds {
            refuse_detours(db, name, &find, 0).await;
        }
        store.close().await;
    });
}

#[test]
fn records_are_moved_along_their_key() {
    let database = small();
    wait(async {
        let store = filled(&database).await;
        let db = &store.handle.db;
        let a = agent_id("a");
        let middle = contact_id(MANY / 2);
        for kind in TransferKind::ALL {
            let after = match kind {
                TransferKind::ContactSchema => TransferKey::of_number(1),
                TransferKind::TemplateVersion | TransferKind::Revision => {
                    TransferKey::of_version(middle.as_bytes(), 1)
                }
                TransferKind::Passage | TransferKind::Message => {
                    TransferKey::of_version(middle.as_bytes(), 7)
                }
                TransferKind::CreditAccount | TransferKind::Log => TransferKey::of_number(0),
                TransferKind::Record => TransferKey::of_named(1, &[7]),
                TransferKind::CreditEntry | TransferKind::Audit => {
                    TransferKey::of_time(at(60), middle.as_bytes())
                }
                _ => TransferKey(middle.as_bytes().to_vec()),
            };
            for after in [None, Some(&after)] {
                let (name, find) = read::find(&a, kind, after, 20).unwrap();
                refuse_detours(db, name, &find, 20 + 3).await;
            }
            if kind != TransferKind::Key {
                let (name, find) = read::find_last(&a, kind).unwrap();
                refuse_detours(db, name, &find, 3).await;
            }
        }
        refuse_detours(db, collection::AGENTS, &read::agents_after(None, 20), 3).await;
        store.close().await;
    });
}
