//! A conversation with messages, a knowledge document, and settings.

use conversations::storage::{
    ConversationStorage, ConversationWrite, KnowledgeWrite, MessageQuery, MessageSelector,
};
use conversations::{
    Claims, Conversation, ConversationMode, ConversationStatus, Counted, FollowUp, KnowledgeDocument, Lead,
    Message, MessageState, Outcome, Passage, RunningTurn, Source, Speaker, Usage, VisitorId,
};
use openapi_core::audit::AuditAction;
use openapi_core::files::Sha256Digest;
use openapi_core::json::RawObject;
use openapi_core::storage::{Effects, RecordKind, RecordsWrite, StoredRecord};
use openapi_core::values::{AgentId, ConversationId, KnowledgeId, MessageId, PlatformId};

use super::{at, contact_id, entry, wait};

fn object() -> RawObject {
    RawObject::from_text(r#"{"plan":"o'brien \"quoted\"","amount":1.50}"#).expect("an object")
}

pub fn conversation_id(number: u8) -> ConversationId {
    ConversationId::from_bytes([number; 12])
}

/// The first save of the conversation of the numbered contact.
pub fn conversation(agent: &AgentId, number: u8) -> Conversation {
    Conversation {
        id: conversation_id(number),
        agent_id: agent.clone(),
        version: 1,
        visitor_id: VisitorId([number; 16]),
        level: 1,
        verified_until: None,
        verified_as: None,
        contact_id: Some(contact_id(number.into())),
        claims: Claims { name: Some("Zoë".to_owned()), ..Claims::default() },
        lead: Some(Lead { fields: object(), consent: None, at: at(71), hint: None }),
        status: ConversationStatus::Open,
        mode: ConversationMode::Human,
        waiting_since: Some(at(72)),
        locale: "de-CH".to_owned(),
        time_zone: None,
        page: None,
        metadata: object(),
        message_count: 2,
        operator_unread: 1,
        visitor_read: 2,
        last_message_at: at(72),
        closed_at: None,
        created_at: at(70),
        updated_at: at(72),
        expires_at: at(7_000),
        retention_days: None,
        epoch: 1,
        network: Some("192.0.2.0/24".to_owned()),
        counted: Counted { turns: vec![at(71)], ..Counted::default() },
        uploads: Vec::new(),
        participants: Vec::new(),
        running: Some(RunningTurn {
            turn: "turn".to_owned(),
            owner: PlatformId::from_bytes([number; 12]),
            lease_until: at(73),
            text: "Zwei\nZeilen".to_owned(),
            cancelled: false,
        }),
    }
}

/// The reply of a number.
pub fn message(seq: u64) -> Message {
    Message {
        id: MessageId::from(PlatformId::new(at(0), seq.to_be_bytes())),
        seq,
        role: Speaker::Agent,
        text: "Über \"alles\" [1]".to_owned(),
        state: MessageState::Complete,
        sources: vec![Source { n: 1, title: "Handbuch".to_owned(), url: None, page: Some(3) }],
        uploads: Vec::new(),
        feedback: 1,
        comment: Some("Danke".to_owned()),
        at: at(71),
        turn: Some("turn".to_owned()),
        author: Some("knowledge".to_owned()),
        outcome: Some(Outcome::Answered),
        after: FollowUp { suggestions: vec!["Warum?".to_owned()], form: true, ..FollowUp::default() },
        usage: Some(Usage { input_tokens: 900, output_tokens: 70, cost: 0.0125 }),
        credits: 2,
    }
}

pub fn document() -> KnowledgeDocument {
    KnowledgeDocument {
        id: KnowledgeId::from_bytes([9; 12]),
        file_name: "Handbuch.pdf".to_owned(),
        title: "Handbuch".to_owned(),
        url: Some("https://example.com/handbuch".to_owned()),
        language: Some("de".to_owned()),
        content_type: "application/pdf".to_owned(),
        sha256: Sha256Digest([9; 32]),
        characters: 900,
        pages: Some(4),
        passages: 2,
        source: None,
        questions: Vec::new(),
        created_at: at(74),
        updated_at: at(74),
    }
}

pub fn passage(position: u32) -> Passage {
    Passage {
        position,
        headings: vec!["Anfang".to_owned(), "Über \"alles\"".to_owned()],
        page: Some(position + 1),
        start: 450 * u64::from(position),
        end: 450 * u64::from(position + 1),
        text: "Zwei\nZeilen".to_owned(),
    }
}

pub fn settings() -> StoredRecord {
    StoredRecord::single(RecordKind::Settings, 1, object())
}

/// Stores two conversations of two messages each, a document of two passages, and settings.
pub fn fill(store: &(impl ConversationStorage + ?Sized), agent: &AgentId) {
    for number in 1..=2 {
        let write = ConversationWrite {
            conversation: conversation(agent, number),
            messages: vec![message(1), message(2)],
            keep: Vec::new(),
            effects: Effects::default(),
            deferrable: false,
        };
        wait(store.save_conversation(agent, &write)).expect("test support");
    }
    let write = KnowledgeWrite {
        version: 1,
        remove: Vec::new(),
        add: Some((document(), vec![passage(0), passage(1)])),
        effects: Effects::audited(entry(agent, 74, AuditAction::KnowledgeAdd, &document().id.to_string())),
    };
    wait(store.change_knowledge(agent, &write)).expect("test support");
    let write = RecordsWrite::save(settings(), Effects::default());
    wait(store.save_records(Some(agent), &write)).expect("test support");
}

/// The query for the messages of the numbered conversation.
pub fn messages(number: u8, which: MessageSelector) -> MessageQuery {
    MessageQuery { conversation: conversation_id(number), which, limit: 9 }
}

/// Fails unless a store holds what [`fill`] puts there.
pub fn compare(store: &(impl ConversationStorage + ?Sized), agent: &AgentId) {
    for number in 1..=2 {
        let stored = wait(store.conversation(agent, conversation_id(number))).expect("test support");
        assert_eq!(stored, Some(conversation(agent, number)));
        let all = messages(number, MessageSelector::After(0));
        assert_eq!(wait(store.messages(agent, &all)).expect("test support"), [message(1), message(2)]);
    }
    assert_eq!(wait(store.knowledge(agent)).expect("test support"), [document()]);
    let passages = wait(store.passages(agent, None, 9)).expect("test support");
    assert_eq!(passages, [0, 1].map(|position| (document().id, passage(position))));
    let record = |kind: RecordKind| wait(store.record(Some(agent), &kind.into())).expect("test support");
    assert_eq!(record(RecordKind::Settings), Some(settings()));
    assert_eq!(record(RecordKind::Knowledge).map(|record| record.version), Some(1));
}
