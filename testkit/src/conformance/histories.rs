//! Random histories: the same steps on a store and on the model, compared one by one. Failing histories shrink.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::Backend;
use super::fixture::{World, at, parsed};
use crate::strategies;
use conversations::storage::ConversationStorage;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, ContactKeys, SearchTerm};
use openapi_core::credits::CreditAccount;
use openapi_core::ports::BlobKey;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    ContactFilter, ContactPage, ContactQuery, ContactSort, CreditWrite, DocumentWrite, FilePage, FileQuery,
    FileQuota, FileSort, FileWrite, IdempotencyKey, Order, SortPosition, StorageErrorKind, StoredDocument,
    Window,
};
use openapi_core::values::{AgentId, ContactId, FileId};
use storage_memory::MemoryStorage;

/// One step of a history, over two agents and a handful of ids.
#[derive(Clone, Debug)]
pub enum Step {
    /// Stores a contact.
    Insert {
        /// The agent.
        agent: usize,
        /// The contact; its id and external id come from small sets.
        contact: Box<Contact>,
        /// The idempotency key.
        replay: Option<u8>,
    },
    /// Replaces a contact, with the stored version or a stale one.
    Update {
        /// The agent.
        agent: usize,
        /// The new values.
        contact: Box<Contact>,
        /// Whether the expected version is wrong.
        stale: bool,
    },
    /// Erases a contact.
    Erase {
        /// The agent.
        agent: usize,
        /// The contact.
        contact: ContactId,
    },
    /// Lists contacts.
    List {
        /// The agent.
        agent: usize,
        /// The query.
        query: Box<ContactQuery>,
        /// Whether to continue after the first contact of the page.
        onward: bool,
    },
    /// Stores a file of a contact, which may be absent.
    InsertFile {
        /// The agent.
        agent: usize,
        /// The contact.
        contact: ContactId,
        /// The file; its name, size and time derive from it.
        file: u8,
    },
    /// Deletes a file of a contact, or of another one.
    DeleteFile {
        /// The agent.
        agent: usize,
        /// The contact.
        contact: ContactId,
        /// The file.
        file: u8,
    },
    /// Lists the files of a contact.
    ListFiles {
        /// The agent.
        agent: usize,
        /// The query.
        query: Box<FileQuery>,
    },
    /// Removes the records of due blobs.
    ForgetDue {
        /// The maximum number.
        at_most: u32,
    },
    /// Retains a document, whose id may be a file's.
    InsertDocument {
        /// The agent.
        agent: usize,
        /// The document; its size and times derive from it.
        document: u8,
    },
    /// Discards a document, which may be absent.
    DiscardDocument {
        /// The agent.
        agent: usize,
        /// The document.
        document: u8,
    },
    /// Sets, reserves, commits or releases credits.
    ChangeCredits {
        /// The agent.
        agent: usize,
        /// The change.
        change: u8,
        /// Whether the version is wrong.
        stale: bool,
    },
    /// Sets one of a few schemas.
    Redefine {
        /// The agent.
        agent: usize,
        /// The schema.
        schema: usize,
    },
}

/// Schemas that change which fields are unique or searchable.
const SCHEMAS: [&str; 4] = [
    "{}",
    r#"{"fields":[{"name":"primaryEmail","unique":true}]}"#,
    r#"{"fields":[{"name":"lastName","sensitive":true}]}"#,
    r#"{"fields":[{"name":"lastName","unique":true},{"name":"firstName","sensitive":true}]}"#,
];

/// Contacts whose ids, names and times come from small sets, so that they collide.
fn small_contact() -> impl Strategy<Value = Box<Contact>> {
    let agent: AgentId = parsed("agent-a");
    let name =
        || proptest::option::of(proptest::sample::select(vec!["Zoë", "zoe", "Ann", "ann b", "中", "7946"]));
    let small = (0..6_u8, proptest::option::of(0..4_u8), name(), name(), 0..4_i64, 0..3_u8, any::<bool>());
    (strategies::contact(agent), small).prop_map(
        |(contact, (id, external, first, last, time, email, archived))| {
            Box::new(Contact {
                id: ContactId::from_bytes([id; 12]),
                external_reference_id: external.map(|n| parsed(&format!("x{n}"))),
                first_name: first.map(parsed),
                last_name: last.map(parsed),
                primary_email: parsed(
                    ["a@example.com", "A@Example.com", "b@example.com"][usize::from(email)],
                ),
                created_at: at(time),
                updated_at: at(time),
                archived_at: archived.then(|| at(time)),
                ..contact
            })
        },
    )
}

fn small_query() -> impl Strategy<Value = Box<ContactQuery>> {
    let search = proptest::option::of(proptest::sample::select(vec![
        "zoe", "z", "ann b", "example", "a@", "794", "中", "vip", "%",
    ]));
    let filter = (
        search,
        proptest::option::of(strategies::status()),
        proptest::option::of(proptest::sample::select(vec!["vip", "new", "late", "élan", "none"])),
        any::<bool>(),
        proptest::option::of(proptest::sample::select(vec!["a@example.com", "b@example.com"])),
        proptest::option::of(0..4_i64),
        proptest::option::of(0..4_i64),
    );
    let sort = proptest::sample::select(&ContactSort::ALL[..]);
    (filter, sort, any::<bool>(), 0..4_u64, 1..6_u32).prop_map(|(filter, sort, ascending, offset, limit)| {
        Box::new(ContactQuery {
            filter: ContactFilter {
                search: filter.0.map(SearchTerm::split).unwrap_or_default(),
                status: filter.1,
                tag: filter.2.map(str::to_owned),
                include_archived: filter.3,
                primary_email: filter.4.map(str::to_owned),
                created_since: filter.5.map(at),
                updated_since: filter.6.map(at),
            },
            sort,
            order: if ascending { Order::Ascending } else { Order::Descending },
            window: Window::Page { offset, limit },
        })
    })
}

fn contact_id() -> impl Strategy<Value = ContactId> {
    (0..6_u8).prop_map(|id| ContactId::from_bytes([id; 12]))
}

fn small_file_query() -> impl Strategy<Value = Box<FileQuery>> {
    let sort = proptest::sample::select(&FileSort::ALL[..]);
    (contact_id(), sort, any::<bool>(), 0..3_u64, 1..4_u32).prop_map(
        |(contact, sort, ascending, offset, limit)| {
            let order = if ascending { Order::Ascending } else { Order::Descending };
            Box::new(FileQuery { contact, sort, order, window: Window::Page { offset, limit } })
        },
    )
}

/// A history of up to `steps` steps.
pub fn history(steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let agent = || 0..2_usize;
    let step = prop_oneof![
        5 => (agent(), small_contact(), proptest::option::of(0..3_u8))
            .prop_map(|(agent, contact, replay)| Step::Insert { agent, contact, replay }),
        4 => (agent(), small_contact(), proptest::bool::weighted(0.1))
            .prop_map(|(agent, contact, stale)| Step::Update { agent, contact, stale }),
        1 => (agent(), contact_id()).prop_map(|(agent, contact)| Step::Erase { agent, contact }),
        5 => (agent(), small_query(), any::<bool>())
            .prop_map(|(agent, query, onward)| Step::List { agent, query, onward }),
        4 => (agent(), contact_id(), 100..108_u8)
            .prop_map(|(agent, contact, file)| Step::InsertFile { agent, contact, file }),
        2 => (agent(), contact_id(), 100..108_u8)
            .prop_map(|(agent, contact, file)| Step::DeleteFile { agent, contact, file }),
        2 => (agent(), small_file_query()).prop_map(|(agent, query)| Step::ListFiles { agent, query }),
        1 => (1..4_u32).prop_map(|at_most| Step::ForgetDue { at_most }),
        2 => (agent(), 106..112_u8).prop_map(|(agent, document)| Step::InsertDocument { agent, document }),
        1 => (agent(), 106..112_u8).prop_map(|(agent, document)| Step::DiscardDocument { agent, document }),
        3 => (agent(), 0..9_u8, proptest::bool::weighted(0.1))
            .prop_map(|(agent, change, stale)| Step::ChangeCredits { agent, change, stale }),
        1 => (agent(), 0..SCHEMAS.len()).prop_map(|(agent, schema)| Step::Redefine { agent, schema }),
    ];
    proptest::collection::vec(step, 1..=steps)
}

/// The outcome of a step in a comparable form.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Failed(StorageErrorKind),
    Page(ContactPage),
    Files(FilePage),
    Contents(Vec<BlobKey>),
}

fn outcome(result: openapi_core::storage::Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Failed(error.kind),
    }
}

/// A page of contacts; if `onward`, the one after its first contact.
async fn list(world: &World, agent: &AgentId, query: &ContactQuery, onward: bool) -> ContactPage {
    let page = world.storage.contacts(agent, query).await.expect("list");
    let Some(first) = page.contacts.first().filter(|_| onward) else { return page };
    let schema = ContactSchema::builtin(agent.clone(), at(0));
    let key = query.sort.key(first, &ContactKeys::of(first, &schema));
    let window = Window::After { position: SortPosition { key, id: first.id }, limit: 3 };
    let query = ContactQuery { window, ..query.clone() };
    world.storage.contacts(agent, &query).await.expect("list")
}

fn file_write(world: &World, contact: &Contact, file: u8, n: i64) -> FileWrite {
    let name = ["a.pdf", "A.pdf", "é.pdf", "b.pdf"][usize::from(file % 4)];
    let file = super::files::file_of(contact, file, name, u64::from(file % 3) + 1, n % 3);
    let mut write = world.file_write(&file, contact, 1_000 + n);
    write.quota = FileQuota { files_of_contact: 3, bytes_of_agent: Some(12) };
    write
}

fn change_credits(account: CreditAccount, change: u8, stale: bool, millis: i64) -> CreditWrite {
    let mut write = super::credits::change_of(account, change, millis);
    if let Some(account) = write.account.as_mut().filter(|_| stale) {
        account.version += 1;
    }
    write
}

async fn apply(world: &World, agents: &[AgentId; 2], step: &Step, n: i64) -> Outcome {
    let millis = 1_000 + n;
    let own =
        |agent: &usize, contact: &Contact| Contact { agent_id: agents[*agent].clone(), ..contact.clone() };
    match step {
        Step::Insert { agent, contact, replay } => {
            let contact = Contact { version: 1, ..own(agent, contact) };
            let mut write = world.write(&contact, millis).await;
            write.effects.replay =
                replay.map(|key| super::fixture::replay(key, Some(contact.id), millis + 20));
            outcome(world.storage.insert_contact(&contact.agent_id, &write).await)
        }
        Step::Update { agent, contact, stale } => {
            let stored = world.by_id(&agents[*agent], contact.id).await;
            let version = stored.map_or(1, |stored| stored.version);
            let contact = Contact { version: version + 1, ..own(agent, contact) };
            let write = world.write(&contact, millis).await;
            let expected = version + u64::from(*stale);
            outcome(world.storage.update_contact(&contact.agent_id, expected, &write).await)
        }
        Step::Erase { agent, contact } => {
            let agent = &agents[*agent];
            let effects = world.effects(Some(agent), AuditAction::ContactErase, &contact.to_string(), millis);
            outcome(world.storage.erase_contact(agent, *contact, at(millis), &effects).await)
        }
        Step::List { agent, query, onward } => {
            Outcome::Page(list(world, &agents[*agent], query, *onward).await)
        }
        Step::InsertFile { agent, contact, file } => {
            let agent = &agents[*agent];
            let Some(contact) = world.by_id(agent, *contact).await else {
                return Outcome::Failed(StorageErrorKind::Missing);
            };
            let write = file_write(world, &contact, *file, n);
            outcome(world.storage.insert_file(agent, &write).await)
        }
        Step::DeleteFile { agent, contact, file } => {
            let agent = &agents[*agent];
            let Some(contact) = world.by_id(agent, *contact).await else {
                return Outcome::Failed(StorageErrorKind::Missing);
            };
            let deletion = world.deletion(FileId::from_bytes([*file; 12]), &contact, at(millis + 5));
            outcome(world.storage.delete_file(agent, &deletion).await)
        }
        Step::ListFiles { agent, query } => {
            Outcome::Files(world.storage.files(&agents[*agent], query).await.expect("list"))
        }
        Step::ForgetDue { at_most } => {
            let mut due = world.storage.blobs_due_for_deletion(at(millis), 1_000).await.expect("due");
            // Other histories share the store.
            due.retain(|key| agents.contains(&key.agent));
            due.truncate(*at_most as usize);
            world.storage.remove_blob_records(&due).await.expect("forget");
            Outcome::Contents(due)
        }
        Step::InsertDocument { agent, document } => {
            let size = u64::from(document % 3) + 1;
            let document =
                StoredDocument { expires_at: at(millis + 8), ..super::documents::document(*document, size) };
            let write = DocumentWrite { document, max_bytes: Some(12) };
            outcome(world.storage.insert_document(&agents[*agent], &write).await)
        }
        Step::DiscardDocument { agent, document } => {
            let document = FileId::from_bytes([*document; 12]);
            outcome(world.storage.discard_document(&agents[*agent], document, at(millis)).await)
        }
        Step::ChangeCredits { agent, change, stale } => {
            let agent = &agents[*agent];
            let account = world.credits(agent).await.unwrap_or_default();
            let write = change_credits(account, *change, *stale, millis);
            outcome(world.storage.save_credits(agent, &write).await)
        }
        Step::Redefine { agent, schema } => {
            outcome(world.redefine(&agents[*agent], SCHEMAS[*schema], millis).await)
        }
    }
}

/// Applies a history to a store and to the model.
///
/// # Errors
/// Returns the first step whose outcomes differ, or the difference of the final states.
pub async fn replay_history(
    storage: Arc<dyn ConversationStorage>,
    prefix: &str,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let (ours, model) = (World::new(storage), World::new(Arc::new(MemoryStorage::new())));
    let mut agents = Vec::new();
    for name in ["a", "b"] {
        let name = format!("{prefix}-{name}");
        ours.agent(&name, 0).await;
        agents.push(model.agent(&name, 0).await);
    }
    let Ok(agents) = <[AgentId; 2]>::try_from(agents) else { unreachable!("two agents") };
    for (n, step) in steps.iter().enumerate() {
        let found = without_holder(apply(&ours, &agents, step, n as i64).await);
        let expected = without_holder(apply(&model, &agents, step, n as i64).await);
        prop_assert_eq!(found, expected, "step {}: {:?}", n, step);
    }
    for agent in &agents {
        prop_assert_eq!(ours.schema(agent).await, model.schema(agent).await);
        let of = async |world: &World| {
            let entries = world.audit_of(Some(agent)).await;
            entries
                .into_iter()
                .map(|entry| (entry.at, entry.action, entry.resource, entry.details))
                .collect::<Vec<_>>()
        };
        prop_assert_eq!(of(&ours).await, of(&model).await);
        prop_assert_eq!(ours.credits(agent).await, model.credits(agent).await);
        prop_assert_eq!(ours.ledger(agent, None, 100).await, model.ledger(agent, None, 100).await);
        prop_assert_eq!(ours.documents(agent, None, 100).await, model.documents(agent, None, 100).await);
        prop_assert_eq!(ours.bytes(agent).await, model.bytes(agent).await);
        for key in 0..3 {
            let (key, now) = (IdempotencyKey([key; 32]), at(1_000 + steps.len() as i64));
            let (found, expected) =
                (ours.storage.replay(agent, &key, now).await, model.storage.replay(agent, &key, now).await);
            prop_assert_eq!(found.expect("replay"), expected.expect("replay"));
        }
    }
    Ok(())
}

/// If several contacts share a value when its field becomes unique, the error may name any of them.
fn without_holder(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Failed(StorageErrorKind::Duplicate(duplicate)) => {
            let existing = ContactId::from_bytes([0; 12]);
            let duplicate = openapi_core::storage::Duplicate { existing, archived: false, ..duplicate };
            Outcome::Failed(StorageErrorKind::Duplicate(duplicate))
        }
        other => other,
    }
}

pub(super) fn random_histories_agree_with_the_model(backend: &mut dyn Backend) {
    let given = std::option_env!("CONFORMANCE_HISTORIES").and_then(|text| text.parse().ok());
    let cases = given.unwrap_or_else(|| backend.histories());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let storage = backend.storage();
    let run = std::cell::Cell::new(0_u32);
    let result = runner.run(&history(40), |steps| {
        // Each history has its own agents, because all share one store.
        run.set(run.get() + 1);
        let prefix = format!("h{}", run.get());
        let verdict = std::sync::Mutex::new(Ok(()));
        backend.block_on(Box::pin(async {
            let outcome = replay_history(Arc::clone(&storage), &prefix, &steps).await;
            *verdict.lock().expect("lock") = outcome;
        }));
        verdict.into_inner().expect("lock")
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
