//! Random histories of the chat, compared with the model after each step. Failing histories shrink.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::super::Backend;
use super::super::fixture::{World, at};
use super::{
    conversation_id, full_conversation, knowledge_document, knowledge_id, message_id, passages, reply,
    stored_record,
};
use ::conversations::storage::{
    ConversationFilter, ConversationPage, ConversationQuery, ConversationStorage, ConversationWrite,
    KnowledgeWrite, MessageSelector,
};
use ::conversations::{
    Conversation, ConversationMode, ConversationStatus, KnowledgeDocument, Message, Passage,
};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::storage::{RecordKind, Result as StorageResult, StorageErrorKind, StoredRecord};
use openapi_core::values::{AgentId, ContactId, ConversationId, KnowledgeId, Timestamp};
use storage_memory::MemoryStorage;

/// One step of a history, over two agents and a handful of ids.
#[derive(Clone, Debug)]
enum Step {
    /// Saves a conversation with messages, with the next version or another one.
    Save { agent: usize, conversation: Drawn, messages: Vec<(u64, u8)>, stale: bool, noted: bool },
    /// Erases a conversation.
    Erase { agent: usize, number: u8 },
    /// Creates a contact and erases it.
    EraseContact { agent: usize, contact: u8 },
    /// Lists conversations.
    List { agent: usize, query: ConversationQuery },
    /// Reads a conversation and some of its messages.
    Read { agent: usize, number: u8, which: MessageSelector, limit: u32 },
    /// Lists expired conversations.
    Expired { now: i64 },
    /// Changes the knowledge, with the next version or another one.
    Knowledge { agent: usize, remove: Vec<u8>, add: Option<(u8, Vec<u32>)>, stale: bool },
    /// Reads documents and passages.
    Passages { agent: usize, after: Option<(u8, u32)>, at_most: u32 },
    /// Saves a tenant record, with the next version or another one.
    Record { agent: usize, kind: RecordKind, stale: bool },
    /// Deletes an agent.
    Delete { agent: usize },
    /// Purges an agent, deleted or not.
    Purge { agent: usize, at_most: u32 },
}

/// The variable properties of a conversation.
#[derive(Clone, Debug)]
struct Drawn {
    number: u8,
    status: ConversationStatus,
    mode: ConversationMode,
    contact: Option<u8>,
    last_message: i64,
    expires: i64,
}

fn contact_id(number: u8) -> ContactId {
    ContactId::from_bytes([number; 12])
}

fn status() -> impl Strategy<Value = ConversationStatus> {
    proptest::sample::select(ConversationStatus::ALL)
}

fn mode() -> impl Strategy<Value = ConversationMode> {
    proptest::sample::select(ConversationMode::ALL)
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let links = proptest::option::of(0..3_u8);
    (0..5_u8, status(), mode(), links, 0..4_i64, 0..6_i64).prop_map(
        |(number, status, mode, contact, last_message, expires)| Drawn {
            number,
            status,
            mode,
            contact,
            last_message,
            expires,
        },
    )
}

fn query() -> impl Strategy<Value = ConversationQuery> {
    use proptest::option::of;
    (of(status()), of(mode()), of(0..3_u8), of(0..5_i64), 0..3_u64, 0..4_u32).prop_map(
        |(status, mode, contact, since, offset, limit)| {
            let (contact, since) = (contact.map(contact_id), since.map(at));
            ConversationQuery { filter: ConversationFilter { status, mode, contact, since }, offset, limit }
        },
    )
}

fn which() -> impl Strategy<Value = MessageSelector> {
    prop_oneof![
        (0..14_u64).prop_map(MessageSelector::After),
        (0..14_u64).prop_map(MessageSelector::Before),
        (1..13_u64, 0..2_u8).prop_map(|(seq, variant)| MessageSelector::Id(message_id(seq, variant))),
        (0..4_u8).prop_map(|turn| MessageSelector::Turn(format!("turn {turn}"))),
    ]
}

fn history(steps: usize) -> impl Strategy<Value = Vec<Step>> {
    let agent = || 0..2_usize;
    let stale = || proptest::bool::weighted(0.1);
    let said = proptest::collection::btree_map(1..13_u64, 0..2_u8, 0..4);
    let removed = proptest::collection::vec(0..5_u8, 0..3);
    let positions = proptest::collection::btree_set(0..12_u32, 0..5);
    let added = proptest::option::of((0..5_u8, positions));
    let step = prop_oneof![
        8 => (agent(), drawn(), said, stale(), any::<bool>()).prop_map(
            |(agent, conversation, messages, stale, noted)| {
                let messages = messages.into_iter().collect();
                Step::Save { agent, conversation, messages, stale, noted }
            }
        ),
        1 => (agent(), 0..5_u8).prop_map(|(agent, number)| Step::Erase { agent, number }),
        1 => (agent(), 0..3_u8).prop_map(|(agent, contact)| Step::EraseContact { agent, contact }),
        6 => (agent(), query()).prop_map(|(agent, query)| Step::List { agent, query }),
        6 => (agent(), 0..5_u8, which(), 0..5_u32)
            .prop_map(|(agent, number, which, limit)| Step::Read { agent, number, which, limit }),
        2 => (0..6_i64).prop_map(|now| Step::Expired { now }),
        4 => (agent(), removed, added, stale()).prop_map(|(agent, remove, add, stale)| {
            let add = add.map(|(number, positions)| (number, positions.into_iter().collect()));
            Step::Knowledge { agent, remove, add, stale }
        }),
        3 => (agent(), proptest::option::of((0..5_u8, 0..12_u32)), 0..9_u32)
            .prop_map(|(agent, after, at_most)| Step::Passages { agent, after, at_most }),
        3 => (agent(), proptest::sample::select(RecordKind::ALL), stale())
            .prop_map(|(agent, kind, stale)| Step::Record { agent, kind, stale }),
        // A small range, so that steps collide.
        1 => (agent(), proptest::bool::weighted(0.2), 1..9_u32).prop_map(|(agent, deletes, at_most)| {
            if deletes { Step::Delete { agent } } else { Step::Purge { agent, at_most } }
        }),
    ];
    proptest::collection::vec(step, 1..=steps)
}

/// The outcome of a step in a comparable form.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Failed(StorageErrorKind),
    Page(ConversationPage),
    Messages(Option<Box<Conversation>>, Vec<Message>),
    Expired(Vec<(usize, ConversationId)>),
    Knowledge(Vec<KnowledgeDocument>, Vec<(KnowledgeId, Passage)>),
    Record(Option<StoredRecord>),
    Purged(u64),
}

fn outcome(result: StorageResult<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(error) => Outcome::Failed(error.kind),
    }
}

impl Drawn {
    fn of(&self, agent: &AgentId) -> Conversation {
        Conversation {
            status: self.status,
            mode: self.mode,
            contact_id: self.contact.map(contact_id),
            last_message_at: at(self.last_message),
            expires_at: at(self.expires),
            ..full_conversation(agent, self.number)
        }
    }
}

/// Runs a step `millis` milliseconds after the start.
async fn apply(world: &World, agents: &[AgentId; 2], step: &Step, millis: i64) -> Outcome {
    match step {
        Step::Save { agent, conversation, messages, stale, noted } => {
            let agent = &agents[*agent];
            let stored = world.conversation_of(agent, conversation.number).await;
            let version = stored.map_or(0, |stored| stored.version) + 1 + u64::from(*stale);
            let write = ConversationWrite {
                conversation: Conversation { version, ..conversation.of(agent) },
                messages: messages.iter().map(|(seq, variant)| said(*seq, *variant, millis)).collect(),
                keep: Vec::new(),
                effects: noted.then(|| world.chat_effects(agent, "conversation", millis)).unwrap_or_default(),
                deferrable: false,
            };
            outcome(world.storage.save_conversation(agent, &write).await)
        }
        Step::Erase { agent, number } => {
            outcome(world.try_erase_conversation(&agents[*agent], *number, millis).await)
        }
        Step::EraseContact { agent, contact } => {
            let agent = &agents[*agent];
            if world.storage.contact_schema(agent).await.expect("schema").is_some() {
                let mut made = world.contact(agent, r#"{"primaryEmail":"a@example.com"}"#, millis).await;
                made.id = contact_id(*contact);
                world.try_insert(&made).await.expect("insert");
            }
            let contact = contact_id(*contact);
            let effects = world.effects(Some(agent), AuditAction::ContactErase, &contact.to_string(), millis);
            outcome(world.storage.erase_contact(agent, contact, at(millis), &effects).await)
        }
        Step::List { agent, query } => {
            Outcome::Page(world.storage.conversations(&agents[*agent], query).await.expect("list"))
        }
        Step::Read { agent, number, which, limit } => {
            let agent = &agents[*agent];
            let messages = world.some_messages(agent, *number, which.clone(), *limit).await;
            Outcome::Messages(world.conversation_of(agent, *number).await.map(Box::new), messages)
        }
        Step::Expired { now } => {
            let due = world.storage.expired_conversations(at(*now), 100_000).await.expect("expired");
            // Other histories share the store.
            let own = |(agent, id)| Some((agents.iter().position(|known| *known == agent)?, id));
            Outcome::Expired(due.into_iter().filter_map(own).collect())
        }
        Step::Knowledge { agent, remove, add, stale } => {
            let agent = &agents[*agent];
            let version = world.knowledge_version(agent).await + 1 + u64::from(*stale);
            let add = add.as_ref().map(|(number, positions)| {
                let document = KnowledgeDocument { updated_at: at(millis), ..knowledge_document(*number) };
                (document, passages(positions.iter().copied()))
            });
            let remove = remove.iter().map(|number| knowledge_id(*number)).collect();
            let effects = world.effects(Some(agent), AuditAction::KnowledgeAdd, "knowledge", millis);
            let write = KnowledgeWrite { version, remove, add, effects };
            outcome(world.storage.change_knowledge(agent, &write).await)
        }
        Step::Passages { agent, after, at_most } => {
            let agent = &agents[*agent];
            let after = after.map(|(number, position)| (knowledge_id(number), position));
            let passages = world.some_passages(agent, after, *at_most).await;
            Outcome::Knowledge(world.knowledge_of(agent).await, passages)
        }
        Step::Record { agent, kind, stale } => {
            let agent = &agents[*agent];
            let before = world.record_of(agent, *kind).await;
            let version = before.as_ref().map_or(0, |before| before.version) + 1 + u64::from(*stale);
            match world.try_record(agent, &stored_record(*kind, version)).await {
                Ok(()) => Outcome::Record(before),
                Err(error) => Outcome::Failed(error.kind),
            }
        }
        Step::Delete { agent } => {
            outcome(world.set_status(&agents[*agent], AgentStatus::Deleted, millis).await)
        }
        Step::Purge { agent, at_most } => {
            Outcome::Purged(world.storage.purge_agent(&agents[*agent], *at_most).await.expect("purge"))
        }
    }
}

/// A message of one of a few turns; its text shows when it was written.
fn said(seq: u64, variant: u8, millis: i64) -> Message {
    Message {
        id: message_id(seq, variant),
        turn: (variant == 0).then(|| format!("turn {}", seq / 4)),
        text: format!("said at {millis}"),
        ..reply(seq)
    }
}

/// All data of an agent that histories write.
async fn everything(world: &World, agent: &AgentId) -> impl PartialEq + std::fmt::Debug {
    let all = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 1_000 };
    let conversations = world.storage.conversations(agent, &all).await.expect("list");
    let mut messages = Vec::new();
    for number in 0..5 {
        let listed = conversations.conversations.iter().find(|it| it.id == conversation_id(number));
        assert_eq!(world.conversation_of(agent, number).await.as_ref(), listed);
        messages.push(world.every_message(agent, number).await);
    }
    let knowledge = (world.knowledge_of(agent).await, world.some_passages(agent, None, 1_000).await);
    let mut records = Vec::new();
    for kind in RecordKind::ALL.iter().copied() {
        records.push(world.record_of(agent, kind).await);
    }
    // The order in which a purge clears the payloads of a deleted agent is unspecified.
    let is_living = world.storage.contact_schema(agent).await.expect("schema").is_some();
    let noted =
        |entry: AuditEntry| (entry.at, entry.action, entry.resource, is_living.then_some(entry.details));
    let entries: Vec<_> = world.audit_of(Some(agent)).await.into_iter().map(noted).collect();
    (conversations, messages, knowledge, records, entries)
}

/// Runs random chat steps for one agent and returns each outcome and the final state. The same seed gives the same
/// result on every store, so that stores can be compared without this suite.
///
/// The steps touch no agent and no contact. Audit entries are dated from `since`, one millisecond per step.
///
/// # Panics
/// If the store fails.
pub async fn chat_deeds(
    storage: Arc<dyn ConversationStorage>,
    agent: &AgentId,
    seed: u64,
    since: Timestamp,
) -> Vec<String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let steps = history(60).new_tree(&mut runner).unwrap_or_else(|error| panic!("{error}")).current();
    let (world, agents) = (World::new(storage), [agent.clone(), agent.clone()]);
    let mut outcomes = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        let is_of_others =
            matches!(step, Step::EraseContact { .. } | Step::Delete { .. } | Step::Purge { .. });
        if !is_of_others {
            let millis = since.millis() - at(0).millis() + n as i64;
            outcomes.push(format!("{step:?}: {:?}", apply(&world, &agents, step, millis).await));
        }
    }
    outcomes.push(format!("{:?}", everything(&world, agent).await));
    outcomes
}

/// Applies a history to a store and to the model.
async fn replay_history(
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
        let millis = 1_000 + n as i64;
        let found = apply(&ours, &agents, step, millis).await;
        let expected = apply(&model, &agents, step, millis).await;
        prop_assert_eq!(found, expected, "step {}: {:?}", n, step);
    }
    for agent in &agents {
        prop_assert_eq!(everything(&ours, agent).await, everything(&model, agent).await);
    }
    Ok(())
}

pub(in crate::conformance) fn random_histories_of_the_chat_agree_with_the_model(backend: &mut dyn Backend) {
    let given = std::option_env!("CONFORMANCE_HISTORIES").and_then(|text| text.parse().ok());
    let cases = given.unwrap_or_else(|| backend.histories());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let storage = backend.storage();
    let run = std::cell::Cell::new(0_u32);
    let result = runner.run(&history(60), |steps| {
        // Each history has its own agents, because all share one store.
        run.set(run.get() + 1);
        let prefix = format!("chat{}", run.get());
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
    assert_eq!(backend.faults(), [] as [String; 0]);
}
