//! Cases for the chat, and their fixtures: conversations, messages, knowledge, tenant records.

pub(super) mod conversations;
pub(super) mod endings;
pub(super) mod histories;
pub(super) mod knowledge;
pub(super) mod messages;
pub(super) mod uploads;

use super::fixture::{World, at, object};
use ::conversations::storage::{
    ConversationFilter, ConversationQuery, ConversationWrite, KnowledgeWrite, MessageQuery, MessageSelector,
};
use ::conversations::{
    ChatPage, Claims, Consent, Conversation, ConversationMode, ConversationStatus, Counted, FollowUp,
    Handoff, KnowledgeDocument, Lead, Message, MessageState, Outcome, Passage, RunningTurn, Source, Speaker,
    UploadRef, Usage, VerifiedUser, VisitorId,
};
use openapi_core::audit::AuditAction;
use openapi_core::files::Sha256Digest;
use openapi_core::json::RawObject;
use openapi_core::storage::{Effects, RecordKind, RecordsWrite, Result, StoredRecord};
use openapi_core::values::{
    AgentId, ContactId, ConversationId, FileId, JobId, KnowledgeId, MessageId, PlatformId, Timestamp,
};

/// Text that a store must not alter.
const TEXT: &str = "Häßlich \"quoted\" \\ 'single'\r\n\ttwo lines\u{0}\u{1} 中文 \u{1f600} e\u{301}";

/// An object whose member order and number spellings must survive.
const MEMBERS: &str = r#"{"z":1.50,"a":{"é":[null,1e-1,-0]},"b":"o'brien \"q\" \u0000"}"#;

fn members() -> RawObject {
    RawObject::new(&object(MEMBERS))
}

fn conversation_id(number: u8) -> ConversationId {
    ConversationId::from_bytes([number; 12])
}

/// A conversation with only the required properties; its times derive from its number.
pub(super) fn conversation(agent: &AgentId, number: u8) -> Conversation {
    let then = at(i64::from(number));
    Conversation {
        id: conversation_id(number),
        agent_id: agent.clone(),
        version: 1,
        visitor_id: VisitorId([number; 16]),
        level: 0,
        verified_until: None,
        verified_as: None,
        contact_id: None,
        claims: Claims::default(),
        lead: None,
        status: ConversationStatus::Open,
        mode: ConversationMode::Ai,
        waiting_since: None,
        locale: "en".to_owned(),
        time_zone: None,
        page: None,
        metadata: RawObject::default(),
        message_count: 0,
        operator_unread: 0,
        visitor_read: 0,
        last_message_at: then,
        closed_at: None,
        created_at: at(0),
        updated_at: then,
        expires_at: at(10_000 + i64::from(number)),
        retention_days: None,
        epoch: 0,
        network: None,
        counted: Counted::default(),
        uploads: Vec::new(),
        participants: Vec::new(),
        running: None,
    }
}

/// A conversation with every property set.
fn full_conversation(agent: &AgentId, number: u8) -> Conversation {
    let text = || Some(TEXT.to_owned());
    let consent = Consent { version: "2026-01".to_owned(), at: at(-7) };
    Conversation {
        level: 2,
        verified_until: Some(at(77)),
        verified_as: Some(VerifiedUser {
            external_reference_id: Some("crm-1".to_owned()),
            email: Some("a@example.com".to_owned()),
        }),
        contact_id: Some(ContactId::from_bytes([number; 12])),
        claims: Claims { external_reference_id: text(), email: text(), name: text(), phone: text() },
        lead: Some(Lead { fields: members(), consent: Some(consent), at: at(3), hint: text() }),
        status: ConversationStatus::Closed,
        mode: ConversationMode::Human,
        waiting_since: Some(at(4)),
        locale: "de-CH".to_owned(),
        time_zone: Some("Europe/Zurich".to_owned()),
        page: Some(ChatPage {
            url: Some("https://example.com/ä?b=c#d".to_owned()),
            title: text(),
            referrer: Some("example.org".to_owned()),
            utm: [("source".to_owned(), TEXT.to_owned()), ("medium".to_owned(), String::new())].into(),
        }),
        metadata: members(),
        message_count: 1 << 40,
        operator_unread: 7,
        visitor_read: 9,
        closed_at: Some(at(5)),
        created_at: at(-5_000_000_000_000),
        retention_days: Some(u32::MAX),
        epoch: u32::MAX,
        network: Some("2001:db8::/48".to_owned()),
        counted: Counted {
            turns: vec![at(1), at(2), at(2)],
            leads: vec![at(3)],
            uploads: vec![at(-4), at(5)],
        },
        uploads: vec![FileId::from_bytes([200 + number % 50; 12]), FileId::from_bytes([7; 12])],
        running: Some(RunningTurn {
            turn: "turn-1".to_owned(),
            owner: PlatformId::from_bytes([number; 12]),
            lease_until: at(99),
            text: TEXT.to_owned(),
            cancelled: true,
        }),
        ..conversation(agent, number)
    }
}

/// A message id; one number may have several, one after another.
fn message_id(seq: u64, variant: u8) -> MessageId {
    let mut bytes = [variant; 12];
    bytes[4..].copy_from_slice(&seq.to_be_bytes());
    MessageId::from_bytes(bytes)
}

/// A visitor's message.
fn message(seq: u64) -> Message {
    Message {
        id: message_id(seq, 0),
        seq,
        role: Speaker::Visitor,
        text: format!("message {seq}"),
        state: MessageState::Complete,
        sources: Vec::new(),
        uploads: Vec::new(),
        feedback: 0,
        comment: None,
        at: at(seq as i64),
        turn: None,
        author: None,
        outcome: None,
        after: FollowUp::default(),
        usage: None,
        credits: 0,
    }
}

/// A reply with every property set.
fn reply(seq: u64) -> Message {
    let source =
        |n| Source { n, title: TEXT.to_owned(), url: Some("https://example.com".to_owned()), page: Some(n) };
    Message {
        role: Speaker::Agent,
        text: TEXT.to_owned(),
        state: MessageState::Stopped,
        sources: vec![source(2), Source { url: None, page: None, ..source(1) }],
        uploads: vec![UploadRef {
            id: FileId::from_bytes([7; 12]),
            name: TEXT.to_owned(),
            size: 5_000_000_000,
            media_type: "application/pdf".to_owned(),
        }],
        feedback: -1,
        comment: Some(TEXT.to_owned()),
        turn: Some(format!("turn {seq} \"é\"")),
        author: Some("knowledge".to_owned()),
        outcome: Some(Outcome::Answered),
        after: FollowUp {
            suggestions: vec!["Why?".to_owned(), TEXT.to_owned()],
            form: true,
            collected: [("primaryEmail".to_owned(), TEXT.to_owned())].into(),
            handoff: Some(Handoff { name: Some(TEXT.to_owned()), avatar: None, eta_seconds: Some(60) }),
        },
        usage: Some(Usage { input_tokens: 1 << 40, output_tokens: 3, cost: 0.0125 }),
        credits: 1 << 40,
        ..message(seq)
    }
}

fn messages(numbers: impl IntoIterator<Item = u64>) -> Vec<Message> {
    numbers.into_iter().map(message).collect()
}

fn knowledge_id(number: u8) -> KnowledgeId {
    KnowledgeId::from_bytes([number; 12])
}

/// A document; with an even number, every property is set.
fn knowledge_document(number: u8) -> KnowledgeDocument {
    let is_full = number.is_multiple_of(2);
    KnowledgeDocument {
        id: knowledge_id(number),
        file_name: format!("{number} {TEXT}.pdf"),
        title: TEXT.to_owned(),
        url: is_full.then(|| "https://example.com/handbook?ä".to_owned()),
        language: is_full.then(|| "de-CH".to_owned()),
        content_type: "application/pdf".to_owned(),
        sha256: Sha256Digest([number; 32]),
        characters: 5_000_000_000,
        pages: is_full.then_some(12),
        passages: u32::from(number),
        source: is_full.then(|| JobId::from_bytes([number; 12])),
        questions: if is_full { vec![TEXT.to_owned(), "Where?".to_owned()] } else { Vec::new() },
        // Older documents have greater ids.
        created_at: at(1_000 - i64::from(number)),
        updated_at: at(2_000),
    }
}

/// A passage; at an even position, every property is set.
fn passage(position: u32) -> Passage {
    let is_full = position.is_multiple_of(2);
    Passage {
        position,
        headings: if is_full { vec!["One".to_owned(), TEXT.to_owned()] } else { Vec::new() },
        page: is_full.then(|| position + 1),
        start: u64::from(position) << 20,
        end: (u64::from(position) << 20) + 500,
        text: format!("{position} {TEXT}"),
    }
}

fn passages(positions: impl IntoIterator<Item = u32>) -> Vec<Passage> {
    positions.into_iter().map(passage).collect()
}

pub(super) fn stored_record(kind: RecordKind, version: u64) -> StoredRecord {
    let body = if version.is_multiple_of(3) { RawObject::default() } else { members() };
    StoredRecord::single(kind, version, body)
}

impl World {
    fn chat_effects(&self, agent: &AgentId, resource: &str, millis: i64) -> Effects {
        self.effects(Some(agent), AuditAction::ConversationChange, resource, millis)
    }

    async fn try_conversation(&self, conversation: &Conversation, messages: Vec<Message>) -> Result<()> {
        let write = ConversationWrite {
            conversation: conversation.clone(),
            messages,
            keep: Vec::new(),
            effects: Effects::default(),
            deferrable: false,
        };
        self.storage.save_conversation(&conversation.agent_id, &write).await
    }

    /// Stores a step of a conversation.
    pub(in crate::conformance) async fn put_conversation(
        &self,
        conversation: &Conversation,
        messages: Vec<Message>,
    ) {
        let saved = self.try_conversation(conversation, messages).await;
        saved.unwrap_or_else(|error| panic!("save {conversation:?}: {error}"));
    }

    /// Stores the next version of a conversation after changing some properties.
    async fn change_conversation(
        &self,
        conversation: &Conversation,
        messages: Vec<Message>,
        change: impl FnOnce(&mut Conversation),
    ) -> Conversation {
        let mut changed = Conversation { version: conversation.version + 1, ..conversation.clone() };
        change(&mut changed);
        self.put_conversation(&changed, messages).await;
        changed
    }

    async fn conversation_of(&self, agent: &AgentId, number: u8) -> Option<Conversation> {
        let found = self.storage.conversation(agent, conversation_id(number)).await;
        found.unwrap_or_else(|error| panic!("conversation {number}: {error}"))
    }

    /// The numbers of the conversations of a page, and the total.
    async fn conversation_page(&self, agent: &AgentId, query: &ConversationQuery) -> (Vec<u8>, u64) {
        let page = self.storage.conversations(agent, query).await;
        let page = page.unwrap_or_else(|error| panic!("{query:?}: {error}"));
        (page.conversations.iter().map(|it| it.id.as_bytes()[0]).collect(), page.total)
    }

    /// The numbers of all conversations that match a filter.
    async fn conversation_numbers(&self, agent: &AgentId, filter: ConversationFilter) -> Vec<u8> {
        let query = ConversationQuery { filter, offset: 0, limit: 1_000 };
        let (numbers, total) = self.conversation_page(agent, &query).await;
        assert_eq!(numbers.len() as u64, total, "the total of {query:?}");
        numbers
    }

    async fn some_messages(
        &self,
        agent: &AgentId,
        number: u8,
        which: MessageSelector,
        limit: u32,
    ) -> Vec<Message> {
        let query = MessageQuery { conversation: conversation_id(number), which, limit };
        let found = self.storage.messages(agent, &query).await;
        found.unwrap_or_else(|error| panic!("{query:?}: {error}"))
    }

    /// All messages of a conversation.
    async fn every_message(&self, agent: &AgentId, number: u8) -> Vec<Message> {
        self.some_messages(agent, number, MessageSelector::After(0), 1_000).await
    }

    async fn try_erase_conversation(&self, agent: &AgentId, number: u8, millis: i64) -> Result<()> {
        let id = conversation_id(number);
        let effects = self.effects(Some(agent), AuditAction::ConversationErase, &id.to_string(), millis);
        self.storage.erase_conversation(agent, id, at(millis), &effects).await
    }

    /// The agents and numbers of expired conversations.
    async fn expired(&self, now: i64, at_most: u32) -> Vec<(AgentId, u8)> {
        let due = self.storage.expired_conversations(at(now), at_most).await;
        let due = due.unwrap_or_else(|error| panic!("expired: {error}"));
        due.into_iter().map(|(agent, id)| (agent, id.as_bytes()[0])).collect()
    }

    pub(super) fn knowledge_write(&self, agent: &AgentId, version: u64) -> KnowledgeWrite {
        let effects = self.effects(Some(agent), AuditAction::KnowledgeAdd, "knowledge", version as i64);
        KnowledgeWrite { version, remove: Vec::new(), add: None, effects }
    }

    async fn try_knowledge(
        &self,
        agent: &AgentId,
        version: u64,
        remove: &[u8],
        add: Option<(u8, Vec<Passage>)>,
    ) -> Result<()> {
        let write = KnowledgeWrite {
            remove: remove.iter().map(|number| knowledge_id(*number)).collect(),
            add: add.map(|(number, passages)| (knowledge_document(number), passages)),
            ..self.knowledge_write(agent, version)
        };
        self.storage.change_knowledge(agent, &write).await
    }

    /// Adds a document with `passages` passages as the next version.
    async fn add_knowledge(&self, agent: &AgentId, number: u8, count: u32) {
        let version = self.knowledge_version(agent).await + 1;
        let added = self.try_knowledge(agent, version, &[], Some((number, passages(0..count)))).await;
        added.unwrap_or_else(|error| panic!("add knowledge {number}: {error}"));
    }

    /// The version of an agent's knowledge.
    async fn knowledge_version(&self, agent: &AgentId) -> u64 {
        self.record_of(agent, RecordKind::Knowledge).await.map_or(0, |record| record.version)
    }

    async fn knowledge_of(&self, agent: &AgentId) -> Vec<KnowledgeDocument> {
        self.storage.knowledge(agent).await.unwrap_or_else(|error| panic!("knowledge: {error}"))
    }

    async fn some_passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Vec<(KnowledgeId, Passage)> {
        let found = self.storage.passages(agent, after, at_most).await;
        found.unwrap_or_else(|error| panic!("passages after {after:?}: {error}"))
    }

    /// The documents and positions of all passages.
    async fn passage_positions(&self, agent: &AgentId) -> Vec<(u8, u32)> {
        let all = self.some_passages(agent, None, 1_000).await;
        all.iter().map(|(document, passage)| (document.as_bytes()[0], passage.position)).collect()
    }

    async fn record_of(&self, agent: &AgentId, kind: RecordKind) -> Option<StoredRecord> {
        let found = self.storage.record(Some(agent), &kind.into()).await;
        found.unwrap_or_else(|error| panic!("{kind:?}: {error}"))
    }

    async fn try_record(&self, agent: &AgentId, record: &StoredRecord) -> Result<()> {
        self.storage.save_records(Some(agent), &RecordsWrite::save(record.clone(), Effects::default())).await
    }

    async fn put_record(&self, agent: &AgentId, record: &StoredRecord) {
        self.try_record(agent, record).await.unwrap_or_else(|error| panic!("save {record:?}: {error}"));
    }
}

/// The first page of the conversations that match a filter.
fn first_page(filter: ConversationFilter, limit: u32) -> ConversationQuery {
    ConversationQuery { filter, offset: 0, limit }
}

/// A filter by the time of the last message.
fn since(then: Timestamp) -> ConversationFilter {
    ConversationFilter { since: Some(then), ..ConversationFilter::default() }
}
