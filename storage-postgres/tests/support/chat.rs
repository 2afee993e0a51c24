//! The chat data of an agent, for the tests of transfers: created, read and changed.

use conversations::storage::*;
use conversations::*;
use openapi_core::events::{EventActor, EventData, NewEvent};
use openapi_core::files::Sha256Digest;
use openapi_core::json::RawObject;
use openapi_core::storage::*;
use openapi_core::values::{
    AgentId, ContactId, ConversationId, FileId, KeyId, KnowledgeId, MessageId, PlatformId, Timestamp,
};
use storage_common::transfer::*;
use storage_memory::MemoryStorage;
use tokio::time::Instant;

use super::{Target, at, crowd, entry, report};

fn id(number: u64) -> PlatformId {
    PlatformId::new(at(0), number.to_be_bytes())
}

/// A conversation with a value in each property that is easily lost.
fn conversation(agent: &AgentId, number: u64, contact: Option<ContactId>) -> Conversation {
    let began = at(number as i64 * 1_000);
    Conversation {
        id: id(number).into(),
        agent_id: agent.clone(),
        version: 1,
        visitor_id: VisitorId([number as u8; 16]),
        level: 1,
        verified_until: number.is_multiple_of(2).then_some(at(9_000)),
        verified_as: number
            .is_multiple_of(2)
            .then(|| VerifiedUser { email: Some("a@example.com".to_owned()), ..VerifiedUser::default() }),
        contact_id: contact,
        claims: Claims { name: Some("Zoë \"Z\"\n".to_owned()), ..Claims::default() },
        lead: contact.map(|_| Lead {
            fields: RawObject::from_text(r#"{"firstName":"Zoë","n":1.50}"#).unwrap(),
            consent: Some(Consent { version: "1".to_owned(), at: at(3) }),
            at: at(4),
            hint: None,
        }),
        status: ConversationStatus::ALL[(number % 2) as usize],
        mode: ConversationMode::ALL[(number / 2 % 2) as usize],
        waiting_since: None,
        locale: "de-AT".to_owned(),
        time_zone: Some("Europe/Vienna".to_owned()),
        page: Some(ChatPage { title: Some("Title".to_owned()), ..ChatPage::default() }),
        metadata: RawObject::from_text(r#"{"b":1,"a":[null,"\u0000"]}"#).unwrap(),
        message_count: 3,
        operator_unread: 1,
        visitor_read: 2,
        // Two of three share the time.
        last_message_at: at(number as i64 / 2 * 1_000),
        closed_at: None,
        created_at: began,
        updated_at: began,
        expires_at: at(number as i64 / 2 * 1_000 + 500),
        retention_days: number.is_multiple_of(2).then_some(30),
        epoch: 7,
        network: Some("192.0.2.0/24".to_owned()),
        counted: Counted { turns: vec![began], ..Counted::default() },
        uploads: Vec::new(),
        participants: Vec::new(),
        running: (number == 1).then(|| RunningTurn {
            turn: "turn-2".to_owned(),
            owner: id(4),
            lease_until: at(8),
            text: "so far".to_owned(),
            cancelled: false,
        }),
    }
}

fn message(number: u64, seq: u64, text: &str) -> Message {
    Message {
        id: id(number * 1_000 + seq).into(),
        seq,
        role: [Speaker::Visitor, Speaker::Agent, Speaker::Human][(seq % 3) as usize],
        text: text.to_owned(),
        state: MessageState::Complete,
        sources: vec![Source { n: 1, title: "Prices".to_owned(), url: None, page: Some(3) }],
        uploads: vec![UploadRef {
            id: FileId::from_bytes([9; 12]),
            name: "a.png".to_owned(),
            size: 5,
            media_type: "image/png".to_owned(),
        }],
        feedback: -1,
        comment: None,
        at: at(seq as i64),
        turn: (seq < 3).then(|| format!("turn-{}", seq / 2)),
        author: None,
        outcome: Some(Outcome::Answered),
        after: FollowUp { suggestions: vec!["And then?".to_owned()], form: true, ..FollowUp::default() },
        usage: Some(Usage { input_tokens: 4_000_000_000, output_tokens: 1, cost: 0.25 }),
        credits: 5_000_000_000,
    }
}

fn document(number: u64, passages: u32) -> KnowledgeDocument {
    KnowledgeDocument {
        id: id(number).into(),
        file_name: "prices.pdf".to_owned(),
        title: format!("Prices {number}"),
        url: Some("https://example.com/prices".to_owned()),
        language: Some("de".to_owned()),
        content_type: "application/pdf".to_owned(),
        sha256: Sha256Digest([3; 32]),
        characters: 400,
        pages: Some(2),
        passages,
        source: None,
        questions: Vec::new(),
        created_at: at(1),
        updated_at: at(2),
    }
}

fn passages(count: u32, text: &str) -> Vec<Passage> {
    let length = text.chars().count() as u64;
    let passage = |position: u32| Passage {
        position,
        headings: vec!["Prices".to_owned(), format!("Part {position}")],
        page: Some(position / 10 + 1),
        start: u64::from(position) * length,
        end: u64::from(position + 1) * length,
        text: text.to_owned(),
    };
    (0..count).map(passage).collect()
}

fn record(kind: RecordKind, version: u64, body: &str) -> StoredRecord {
    StoredRecord::single(kind, version, RawObject::from_text(body).unwrap())
}

/// Gives an agent documents, records and conversations, one of which belongs to its second contact. No two calls for
/// one store share a number.
pub async fn fill(memory: &dyn TransferStore, agent: &AgentId, number: u64) {
    let audit = |step: u64| entry(agent, 10_000 + number * 100 + step);
    let contacts = memory.records(agent, TransferKind::Contact, None, 2).await.unwrap();
    let linked = contacts.get(1).and_then(|record| match record {
        TransferRow::Contact(contact) => Some(contact.id),
        _ => None,
    });
    for number in 0..4 {
        let conversation = conversation(agent, number, linked.filter(|_| number == 2));
        let messages = (1..=3).map(|seq| message(number, seq, "Grüße 👋\n\u{0}")).collect();
        let write = ConversationWrite {
            conversation,
            messages,
            keep: Vec::new(),
            effects: if number == 0 { Effects::audited(audit(0)) } else { Effects::default() },
            deferrable: false,
        };
        memory.save_conversation(agent, &write).await.unwrap();
    }
    for version in 1..=2 {
        let add = Some((document(version, 12), passages(12, "So viel kostet das. 💶")));
        let write =
            KnowledgeWrite { version, remove: Vec::new(), add, effects: Effects::audited(audit(version)) };
        memory.change_knowledge(agent, &write).await.unwrap();
    }
    for (kind, version) in [(RecordKind::Settings, 1), (RecordKind::Settings, 2), (RecordKind::ChatUsage, 1)]
    {
        let record = record(kind, version, r#"{"b":1.10,"a":{}}"#);
        let effects = if version == 2 { Effects::audited(audit(3)) } else { Effects::default() };
        let effects = effects.with_event(event(linked, version));
        memory.save_records(Some(agent), &RecordsWrite::save(record, effects)).await.unwrap();
    }
    let linked = linked.map(Subject::Contact);
    for (number, subject) in [(1, linked), (2, Some(Subject::Conversation(id(3).into()))), (3, None)] {
        let record = StoredRecord {
            key: RecordKey::new(RecordKind::Identity, id(number)),
            subject,
            unique: Some([number as u8; 32]),
            due_at: subject.is_none().then(|| at(7)),
            ..record(RecordKind::Identity, 1, r#"{"of":"a subject"}"#)
        };
        memory.save_records(Some(agent), &RecordsWrite::save(record, Effects::default())).await.unwrap();
    }
}

/// An event about a contact or, without one, about a key.
fn event(contact: Option<ContactId>, number: u64) -> NewEvent {
    let data = match contact {
        Some(contact_id) => EventData::ContactCreated { contact_id },
        None => EventData::KeyCreated { key_id: KeyId::from(id(number)) },
    };
    NewEvent { id: id(30_000 + number), at: at(number as i64), actor: EventActor::Visitor, contact, data }
}

/// Lists by each filter and in each window.
fn queries(contacts: &[ContactId]) -> Vec<ConversationQuery> {
    let mut filters = Vec::new();
    for status in [None, Some(ConversationStatus::Open), Some(ConversationStatus::Closed)] {
        for mode in [None, Some(ConversationMode::Ai), Some(ConversationMode::Human)] {
            for since in [None, Some(at(1_000))] {
                filters.push(ConversationFilter { status, mode, contact: None, since });
            }
        }
        for contact in contacts {
            filters.push(ConversationFilter {
                status,
                contact: Some(*contact),
                ..ConversationFilter::default()
            });
        }
    }
    let of = |filter| ConversationQuery { filter, offset: 0, limit: 10 };
    let mut queries: Vec<ConversationQuery> = filters.into_iter().map(of).collect();
    for (offset, limit) in [(1, 2), (9, 2), (u64::MAX, 2), (0, 0)] {
        queries.push(ConversationQuery { filter: ConversationFilter::default(), offset, limit });
    }
    queries
}

/// Everything that a store returns of an agent's chat.
pub async fn answers(store: &dyn TransferStore, agent: &AgentId) -> Vec<String> {
    let mut said = Vec::new();
    let contacts = store.records(agent, TransferKind::Contact, None, 2).await.unwrap();
    let contacts: Vec<ContactId> = contacts
        .iter()
        .filter_map(|record| match record {
            TransferRow::Contact(contact) => Some(contact.id),
            _ => None,
        })
        .collect();
    for query in queries(&contacts) {
        said.push(format!("{query:?}: {:?}", store.conversations(agent, &query).await.unwrap()));
    }
    for number in 0..5 {
        let conversation: ConversationId = id(number).into();
        let limits: &[u32] = if number == 1 { &[0, 1, 9] } else { &[9] };
        said.push(format!("{number}: {:?}", store.conversation(agent, conversation).await.unwrap()));
        for which in [
            MessageSelector::After(0),
            MessageSelector::After(1),
            MessageSelector::After(u64::MAX),
            MessageSelector::Before(3),
            MessageSelector::Before(u64::MAX),
            MessageSelector::Id(MessageId::from(id(number * 1_000 + 2))),
            MessageSelector::Id(MessageId::from(id(77_000))),
            MessageSelector::Turn("turn-0".to_owned()),
            MessageSelector::Turn("turn-1".to_owned()),
        ] {
            for &limit in limits {
                let query = MessageQuery { conversation, which: which.clone(), limit };
                said.push(format!("{query:?}: {:?}", store.messages(agent, &query).await.unwrap()));
            }
        }
    }
    said.push(format!("{:?}", store.knowledge(agent).await.unwrap()));
    for after in [None, Some((KnowledgeId::from(id(1)), 3)), Some((KnowledgeId::from(id(1)), u32::MAX))] {
        for at_most in [0, 10, 100] {
            let found = store.passages(agent, after, at_most).await.unwrap();
            said.push(format!("{after:?}, {at_most}: {found:?}"));
        }
    }
    said
}

/// Writes after a copy, as another store does them.
pub async fn change(store: &dyn TransferStore, agent: &AgentId, number: u64) {
    let audit = |step: u64| entry(agent, 20_000 + number * 100 + step);
    let Some(stored) = store.conversation(agent, id(1).into()).await.unwrap() else { return };
    let conversation = Conversation {
        version: 2,
        mode: ConversationMode::Human,
        status: ConversationStatus::Open,
        message_count: 4,
        last_message_at: at(7_000),
        running: None,
        ..stored
    };
    let messages = vec![message(1, 3, "replaced"), message(1, 4, "new")];
    let write = ConversationWrite {
        conversation,
        messages,
        keep: Vec::new(),
        effects: Effects::default(),
        deferrable: false,
    };
    store.save_conversation(agent, &write).await.unwrap();
    store.erase_conversation(agent, id(3).into(), audit(1).at, &Effects::audited(audit(1))).await.unwrap();
    let add = Some((document(1, 2), passages(2, "Nun kostet es mehr.")));
    let write = KnowledgeWrite {
        version: 3,
        remove: vec![id(1).into(), id(8).into()],
        add,
        effects: Effects::audited(audit(2)),
    };
    store.change_knowledge(agent, &write).await.unwrap();
    let record = record(RecordKind::Settings, 3, "{}");
    let effects = Effects::audited(audit(3)).with_event(event(None, 4));
    store.save_records(Some(agent), &RecordsWrite::save(record, effects)).await.unwrap();
}

/// The expired conversations of all agents.
pub async fn expired(store: &dyn TransferStore) -> Vec<String> {
    let mut said = Vec::new();
    for (now, at_most) in [(0, 100), (500, 100), (1_500, 3), (9_000, 100), (9_000, 0)] {
        said.push(format!("{:?}", store.expired_conversations(at(now), at_most).await.unwrap()));
    }
    said
}

/// Random-looking text of characters of four bytes, which compresses badly.
fn drawn(number: u32, length: usize) -> String {
    let mut word = number.wrapping_mul(0x9e37_79b9) | 1;
    let mut next = || {
        word ^= word << 13;
        word ^= word >> 17;
        word ^= word << 5;
        char::from_u32(0x2_0000 + word % 0xa000).unwrap()
    };
    (0..length).map(|_| next()).collect()
}

/// The largest document allowed: 50,000 passages of 5,000,000 characters, here of four bytes each.
pub fn large_documents_are_stored_whole(target: &(dyn Target + Sync)) {
    const MANY: u32 = 50_000;
    let store = target.store();
    target.block_on(Box::pin(async {
        let memory = MemoryStorage::new();
        let agent = crowd(&memory, "reader", 0).await;
        let id = &agent.id;
        store.put_agent(&agent).await.unwrap();
        let mut large = passages(MANY, &drawn(0, 100));
        large.iter_mut().for_each(|passage| passage.text = drawn(passage.position, 100));
        let add = Some((document(1, MANY), large.clone()));
        let first =
            KnowledgeWrite { version: 1, remove: Vec::new(), add, effects: Effects::audited(entry(id, 2)) };
        let begin = Instant::now();
        store.change_knowledge(id, &first).await.unwrap();
        report("stored", TransferKind::Passage, large.len(), begin.elapsed());
        let begin = Instant::now();
        let mut read: Vec<(KnowledgeId, Passage)> = Vec::new();
        loop {
            let after = read.last().map(|(document, passage)| (*document, passage.position));
            let some = store.passages(id, after, 20_000).await.unwrap();
            if some.is_empty() {
                break;
            }
            read.extend(some);
        }
        report("read", TransferKind::Passage, read.len(), begin.elapsed());
        assert!(read.iter().map(|(_, passage)| passage).eq(&large));
        // A new version removes all of it.
        let few = passages(3, "Kurz.");
        let add = Some((document(1, 3), few.clone()));
        let second = KnowledgeWrite {
            version: 2,
            remove: vec![document(1, 3).id],
            add,
            effects: Effects::audited(entry(id, 3)),
        };
        let begin = Instant::now();
        store.change_knowledge(id, &second).await.unwrap();
        report("replaced", TransferKind::Passage, large.len(), begin.elapsed());
        let left = store.passages(id, None, 100).await.unwrap();
        assert!(left.iter().map(|(_, passage)| passage).eq(&few));
        let last: Timestamp = store.knowledge(id).await.unwrap()[0].updated_at;
        assert_eq!(last, at(2));
    }));
}
