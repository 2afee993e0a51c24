//! Every read of conversations, knowledge and small records uses its index, like the others (`plans`).

use ::conversations::storage::{ConversationFilter, ConversationQuery, MessageQuery, MessageSelector};
use ::conversations::{ConversationMode, ConversationStatus};
use mongodb::bson::{Document, doc};
use openapi_core::values::{ConversationId, KnowledgeId, MessageId};

use super::plans::{explain, refuse_detours};
use super::small;
use super::support::{agent_id, at, contact_id, wait};
use crate::chat::conversations::{read, write};
use crate::chat::knowledge::{self, blocks};
use crate::document::{binary, key, time};
use crate::migrate::{collection, index};
use crate::transaction::Find;

/// How many conversations, messages and blocks of passages the agent has.
const MANY: u64 = 600;

fn id(number: u64) -> [u8; 12] {
    *contact_id(number).as_bytes()
}

fn status(number: u64) -> ConversationStatus {
    if number.is_multiple_of(20) { ConversationStatus::Open } else { ConversationStatus::Closed }
}

fn mode(number: u64) -> ConversationMode {
    if number.is_multiple_of(50) { ConversationMode::Human } else { ConversationMode::Ai }
}

/// Two agents with the same number of index entries.
async fn filled(db: &mongodb::Database) {
    for agent in [agent_id("a"), agent_id("b")] {
        let conversation = |number: u64| {
            let mut document = doc! {
                "_id": key(&agent, &id(number)),
                "status": i32::from(status(number) == ConversationStatus::Closed),
                "mode": i32::from(mode(number) == ConversationMode::Human),
                "lastMessageAt": time(at(number as i64)),
                "expiresAt": time(at(number as i64)),
            };
            if number.is_multiple_of(2) {
                document.insert("contact", binary(&id(number % 100)));
            }
            document
        };
        let message = |number: u64| {
            doc! {
                "_id": read::message_key(&agent, &id(number % 6), number).unwrap(),
                "message": binary(&id(number)),
                "turn": format!("t{}", number / 3),
            }
        };
        let size = u64::from(blocks::BLOCK_SIZE);
        let block = |number: u64| {
            doc! { "_id": blocks::block_key(&agent, &id(number % 3), number * size).unwrap() }
        };
        let of: [(&str, &dyn Fn(u64) -> Document); 3] = [
            (collection::CONVERSATIONS, &conversation),
            (collection::MESSAGES, &message),
            (collection::PASSAGES, &block),
        ];
        for (name, document) in of {
            db.collection(name).insert_many((0..MANY).map(document)).await.unwrap();
        }
    }
}

fn matching(filter: &ConversationFilter) -> i64 {
    let admits = |number: &u64| {
        filter.status.is_none_or(|wanted| wanted == status(*number))
            && filter.mode.is_none_or(|wanted| wanted == mode(*number))
            && filter
                .contact
                .is_none_or(|wanted| number.is_multiple_of(2) && wanted == contact_id(number % 100))
            && filter.since.is_none_or(|since| at(*number as i64) >= since)
    };
    (0..MANY).filter(admits).count() as i64
}

#[test]
fn conversations_are_merged_from_what_matches() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let (db, a) = (&store.handle.db, agent_id("a"));
        filled(db).await;
        for status in [None, Some(ConversationStatus::Open)] {
            for mode in [None, Some(ConversationMode::Human)] {
                for contact in [None, Some(contact_id(0))] {
                    for since in [None, Some(at(MANY as i64 - 60))] {
                        let filter = ConversationFilter { status, mode, contact, since };
                        for offset in [0, 7] {
                            let query = ConversationQuery { filter: filter.clone(), offset, limit: 10 };
                            let find = read::find(&a, &query);
                            // Each of the four merged ranges reads a key that it does not return, and seeks.
                            refuse_detours(db, collection::CONVERSATIONS, &find, 10 + offset as i64 + 4 * 3)
                                .await;
                        }
                        let (chosen, index) = read::chosen(&a, &filter);
                        let counting = doc! {
                            "aggregate": collection::CONVERSATIONS,
                            "pipeline": [{ "$match": chosen }, { "$count": "n" }],
                            "hint": index,
                            "cursor": {},
                        };
                        let account = explain(db, counting).await;
                        assert_eq!(account.documents, 0, "{filter:?}: {account:?}");
                        assert!(account.keys <= matching(&filter) + 4 * 3, "{filter:?}: {account:?}");
                        assert!(account.keys >= matching(&filter), "{filter:?}: {account:?}");
                    }
                }
            }
        }
        let position = key(&a, &id(100));
        for after in [None, Some((at(100), &position))] {
            let find = read::expired_by(at(MANY as i64), after, 20);
            refuse_detours(db, collection::CONVERSATIONS, &find, 20 + 3).await;
        }
        // One of 50 contacts has twelve.
        let find = write::find_of_contact(&a, contact_id(0));
        refuse_detours(db, collection::CONVERSATIONS, &find, 12 + 3).await;
        store.close().await;
    });
}

#[test]
fn messages_and_passages_walk_along_their_index() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let (db, a) = (&store.handle.db, agent_id("a"));
        filled(db).await;
        let conversation = ConversationId::from_bytes(id(1));
        for which in [
            MessageSelector::After(0),
            MessageSelector::After(300),
            MessageSelector::After(u64::MAX),
            MessageSelector::Before(300),
            MessageSelector::Before(u64::MAX),
            MessageSelector::Id(MessageId::from_bytes(id(301))),
            MessageSelector::Turn("t100".to_owned()),
        ] {
            let query = MessageQuery { conversation, which, limit: 20 };
            refuse_detours(db, collection::MESSAGES, &read::find_messages(&a, &query).unwrap(), 20 + 3).await;
        }
        for after in [None, Some((KnowledgeId::from_bytes(id(1)), 300 * blocks::BLOCK_SIZE + 7))] {
            let find = blocks::find(&a, after, 20).unwrap();
            refuse_detours(db, collection::PASSAGES, &find, 20 + 3).await;
        }
        refuse_detours(db, collection::KNOWLEDGE, &knowledge::find(&a), 3).await;
        // The removal of a conversation and of a document.
        let gone = [conversation, ConversationId::from_bytes(id(2)), ConversationId::from_bytes(id(9_999))];
        let removed = Find {
            filter: read::messages_of(&a, &gone),
            hint: Some(index::MESSAGES_BY_ID),
            ..Find::default()
        };
        refuse_detours(db, collection::MESSAGES, &removed, 200 + 6).await;
        let gone = [KnowledgeId::from_bytes(id(1)), KnowledgeId::from_bytes(id(9_999))];
        let removed = Find { filter: blocks::blocks_of(&a, &gone), ..Find::default() };
        refuse_detours(db, collection::PASSAGES, &removed, 200 + 6).await;
        store.close().await;
    });
}
