//! Random histories of records and event logs, compared with the model after each step. Failing histories shrink.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::Backend;
use super::fixture::{World, at};
use ::conversations::storage::ConversationStorage;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::events::NewEvent;
use openapi_core::json::RawObject;
use openapi_core::storage::{
    LogPage, RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, Result as StorageResult,
    StorageErrorKind, StoredRecord, Subject,
};
use openapi_core::values::{AgentId, ContactId, ConversationId};
use storage_memory::MemoryStorage;

const KINDS: [RecordKind; 2] = [RecordKind::RateLimitWindow, RecordKind::Identity];

/// One step of a history, over two agents, the installation and a handful of ids.
#[derive(Clone, Debug)]
enum Step {
    /// Changes records and appends events.
    Save { scope: usize, changes: Vec<Change>, contacts: Vec<Option<u8>> },
    /// Reads records and a page of the log.
    Read { scope: usize, kind: usize, after: Option<u8>, at_most: u32 },
    /// Creates a contact and erases it.
    EraseContact { agent: usize, contact: u8 },
    /// Sweeps a log.
    Sweep { agent: usize, before: i64, at_most: u32 },
    /// Goes on with the scrub of all logs.
    Scrub,
    /// Deletes an agent.
    Delete { agent: usize },
    /// Purges an agent, deleted or not.
    Purge { agent: usize, at_most: u32 },
}

/// A change of a record.
#[derive(Clone, Debug)]
struct Change {
    kind: usize,
    id: u8,
    removes: bool,
    stale: bool,
    subject: Option<(bool, u8)>,
    unique: Option<u8>,
    due: Option<i64>,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    use proptest::option::{of, weighted};
    let change = (
        (0..2_usize, 0..4_u8, proptest::bool::weighted(0.2), proptest::bool::weighted(0.05)),
        (of((any::<bool>(), 0..3_u8)), weighted(0.3, 0..4_u8), of(0..8_i64)),
    );
    let change = change.prop_map(|((kind, id, removes, stale), (subject, unique, due))| Change {
        kind,
        id,
        removes,
        stale,
        subject,
        unique,
        due,
    });
    proptest::collection::vec(change, 0..4).prop_map(|mut changes| {
        // No two changes of a write are of the same record.
        let mut seen = Vec::new();
        changes.retain(|change| {
            let is_new = !seen.contains(&(change.kind, change.id));
            seen.push((change.kind, change.id));
            is_new
        });
        changes
    })
}

fn history(steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let agent = || 0..2_usize;
    let contacts = proptest::collection::vec(proptest::option::of(0..3_u8), 0..3);
    let step = prop_oneof![
        10 => (0..3_usize, changes(), contacts)
            .prop_map(|(scope, changes, contacts)| Step::Save { scope, changes, contacts }),
        6 => (0..3_usize, 0..2_usize, proptest::option::of(0..4_u8), 0..5_u32)
            .prop_map(|(scope, kind, after, at_most)| Step::Read { scope, kind, after, at_most }),
        2 => (agent(), 0..3_u8).prop_map(|(agent, contact)| Step::EraseContact { agent, contact }),
        2 => (agent(), 0..60_i64, 0..4_u32)
            .prop_map(|(agent, before, at_most)| Step::Sweep { agent, before, at_most }),
        1 => Just(Step::Scrub),
        1 => (agent(), proptest::bool::weighted(0.1), 1..9_u32).prop_map(|(agent, deletes, at_most)| {
            if deletes { Step::Delete { agent } } else { Step::Purge { agent, at_most } }
        }),
    ];
    proptest::collection::vec(step, 1..=steps)
}

/// Where a history happens: its ids and values are its own, because histories share a store.
struct Context {
    prefix: String,
    agents: [AgentId; 2],
}

impl Context {
    fn scope(&self, number: usize) -> Option<&AgentId> {
        self.agents.get(number)
    }

    fn id(&self, number: u8) -> RecordId {
        let bytes = [self.prefix.as_bytes(), &[number]].concat();
        RecordId::from_bytes(&bytes).expect("a short prefix")
    }

    fn unique(&self, number: u8) -> [u8; 32] {
        let mut value = [number; 32];
        value[1..=self.prefix.len()].copy_from_slice(self.prefix.as_bytes());
        value
    }

    async fn change(
        &self,
        world: &World,
        scope: Option<&AgentId>,
        change: &Change,
        millis: i64,
    ) -> RecordChange {
        let key = RecordKey::new(KINDS[change.kind], self.id(change.id));
        let stored = world.storage.record(scope, &key).await.expect("record");
        let version = stored.map_or(0, |stored| stored.version) + u64::from(change.stale);
        if change.removes {
            return RecordChange::Remove { key, version };
        }
        let subject = change.subject.map(|(is_contact, number)| {
            if is_contact {
                Subject::Contact(contact_id(number))
            } else {
                Subject::Conversation(ConversationId::from_bytes([number; 12]))
            }
        });
        let body = RawObject::from_text(format!(r#"{{"saved":{millis}}}"#)).expect("an object");
        let (unique, due_at) = (change.unique.map(|number| self.unique(number)), change.due.map(at));
        RecordChange::Save(StoredRecord { key, version: version + 1, subject, unique, due_at, body })
    }

    /// All records and events that the history has written. Due records of one instant have no order.
    async fn everything(&self, world: &World) -> impl PartialEq + std::fmt::Debug {
        let (mut records, mut due) = (Vec::new(), Vec::new());
        for kind in KINDS {
            for scope in [Some(&self.agents[0]), Some(&self.agents[1]), None] {
                let mut found = world.storage.records_of(scope, kind, None, 100_000).await.expect("records");
                found.retain(|record| record.key.id.as_bytes().starts_with(self.prefix.as_bytes()));
                for number in 0..4 {
                    let unique = self.unique(number);
                    let holder = world.storage.record_by_unique(scope, kind, &unique).await.expect("unique");
                    let expected = found.iter().find(|record| record.unique == Some(unique));
                    assert_eq!(holder.as_ref(), expected);
                }
                records.push(found);
            }
            let all = world.storage.due_records(kind, at(5), 100_000).await.expect("due");
            assert!(all.is_sorted_by_key(|(_, record)| record.due_at));
            let own = all
                .into_iter()
                .filter(|(_, record)| record.key.id.as_bytes().starts_with(self.prefix.as_bytes()));
            let mut own: Vec<_> = own.map(|(scope, record)| (record.due_at, scope, record.key)).collect();
            own.sort();
            due.push(own);
        }
        let logs = [
            world.log_page(&self.agents[0], 0, 1_000).await,
            world.log_page(&self.agents[1], 0, 1_000).await,
        ];
        (records, due, logs)
    }
}

fn contact_id(number: u8) -> ContactId {
    ContactId::from_bytes([number; 12])
}

/// The outcome of a step in a comparable form.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Failed(StorageErrorKind),
    Read(Vec<StoredRecord>, LogPage),
    Removed(u64),
}

fn outcome(result: StorageResult<()>) -> Outcome {
    result.map_or_else(|error| Outcome::Failed(error.kind), |()| Outcome::Done)
}

/// Runs a step `millis` milliseconds after the start.
async fn apply(world: &World, context: &Context, step: &Step, millis: i64) -> Outcome {
    match step {
        Step::Save { scope, changes, contacts } => {
            let scope = context.scope(*scope);
            let mut write = RecordsWrite::default();
            for change in changes {
                write.changes.push(context.change(world, scope, change, millis).await);
            }
            for (number, contact) in (0..).zip(contacts).filter(|_| scope.is_some()) {
                // Times go back now and then.
                let event = world.key_event(number, millis - 3 * i64::from(number));
                write.effects.events.push(NewEvent { contact: contact.map(contact_id), ..event });
            }
            outcome(world.storage.save_records(scope, &write).await)
        }
        Step::Read { scope, kind, after, at_most } => {
            let scope = context.scope(*scope);
            // The records of the installation are those of all histories.
            let after = after.or(scope.is_none().then_some(0)).map(|number| context.id(number));
            let records = world
                .storage
                .records_of(scope, KINDS[*kind], after.as_ref(), *at_most)
                .await
                .expect("records");
            let records = records
                .into_iter()
                .filter(|record| record.key.id.as_bytes().starts_with(context.prefix.as_bytes()));
            let log = match scope {
                Some(agent) => world.log_page(agent, u64::from(*at_most), 3).await,
                None => LogPage::default(),
            };
            Outcome::Read(records.collect(), log)
        }
        Step::EraseContact { agent, contact } => {
            let agent = &context.agents[*agent];
            if world.storage.contact_schema(agent).await.expect("schema").is_some() {
                let mut made = world.contact(agent, r#"{"primaryEmail":"a@example.com"}"#, millis).await;
                made.id = contact_id(*contact);
                world.try_insert(&made).await.expect("insert");
            }
            let contact = contact_id(*contact);
            let effects = world.effects(Some(agent), AuditAction::ContactErase, &contact.to_string(), millis);
            let effects = effects.with_event(world.event(contact, millis));
            outcome(world.storage.erase_contact(agent, contact, at(millis), &effects).await)
        }
        Step::Sweep { agent, before, at_most } => {
            let before = at(1_000 + *before);
            let removed = world.storage.sweep_log(&context.agents[*agent], before, *at_most).await;
            Outcome::Removed(removed.expect("sweep"))
        }
        Step::Scrub => {
            world.storage.scrub_logs(1).await.expect("scrub");
            Outcome::Done
        }
        Step::Delete { agent } => {
            outcome(world.set_status(&context.agents[*agent], AgentStatus::Deleted, millis).await)
        }
        Step::Purge { agent, at_most } => Outcome::Removed(
            world.storage.purge_agent(&context.agents[*agent], *at_most).await.expect("purge"),
        ),
    }
}

/// Applies a history to a store and to the model.
async fn replay_history(
    storage: Arc<dyn ConversationStorage>,
    prefix: String,
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
    let context = Context { prefix, agents };
    for (n, step) in steps.iter().enumerate() {
        let millis = 1_000 + n as i64;
        let found = apply(&ours, &context, step, millis).await;
        let expected = apply(&model, &context, step, millis).await;
        prop_assert_eq!(found, expected, "step {}: {:?}", n, step);
    }
    prop_assert_eq!(context.everything(&ours).await, context.everything(&model).await);
    Ok(())
}

pub(super) fn random_histories_of_records_and_logs_agree_with_the_model(backend: &mut dyn Backend) {
    let given = std::option_env!("CONFORMANCE_HISTORIES").and_then(|text| text.parse().ok());
    let cases = given.unwrap_or_else(|| backend.histories());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let storage = backend.storage();
    let run = std::cell::Cell::new(0_u32);
    let result = runner.run(&history(60), |steps| {
        run.set(run.get() + 1);
        // One prefix is never the beginning of another one.
        let prefix = format!("shapes{:06}", run.get());
        let verdict = std::sync::Mutex::new(Ok(()));
        backend.block_on(Box::pin(async {
            let outcome = replay_history(Arc::clone(&storage), prefix, &steps).await;
            *verdict.lock().expect("lock") = outcome;
        }));
        verdict.into_inner().expect("lock")
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert_eq!(backend.faults(), [] as [String; 0]);
}
