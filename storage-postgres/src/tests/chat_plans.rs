//! Every statement about conversations and knowledge finds its rows by an index, as the others do
//! (`plans`).

use ::conversations::storage::{ConversationFilter, ConversationQuery, MessageQuery, MessageSelector};
use ::conversations::{ConversationMode, ConversationStatus};
use openapi_core::values::{ContactId, ConversationId, KnowledgeId, MessageId, Timestamp};
use sqlx::Connection;

use super::plans::{MANY, big, filled, hold, id};
use super::support::{Database, runtime};
use crate::chat::conversations::{read, write};
use crate::chat::knowledge;
use storage_common::fixtures::agent_id;

/// How many of the agent's conversations, as `plans` creates them, a filter matches.
fn matching(filter: &ConversationFilter) -> i64 {
    let admits = |n: &i64| {
        let status = if n % 40 == 0 { ConversationStatus::Open } else { ConversationStatus::Closed };
        let mode = if n % 100 == 0 { ConversationMode::Human } else { ConversationMode::Ai };
        let contact = (n % 2 == 0).then(|| ContactId::from_bytes(id(*n as u64 % 500)));
        filter.status.is_none_or(|wanted| wanted == status)
            && filter.mode.is_none_or(|wanted| wanted == mode)
            && filter.contact.is_none_or(|wanted| Some(wanted) == contact)
            && filter.since.is_none_or(|since| n * 1_000 >= since.millis())
    };
    (1..=MANY).filter(admits).count() as i64
}

#[test]
fn conversations_are_merged_from_what_matches() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        for status in [None, Some(ConversationStatus::Open)] {
            for mode in [None, Some(ConversationMode::Human)] {
                for contact in [None, Some(ContactId::from_bytes(id(100)))] {
                    for since in [None, Some(Timestamp::from_millis((MANY - 30) * 1_000))] {
                        let filter = ConversationFilter { status, mode, contact, since };
                        let total = matching(&filter);
                        for (agent, offset) in [(big(), 0), (agent_id("late"), 0), (agent_id("late"), 7)] {
                            let query = ConversationQuery { filter: filter.clone(), offset, limit: 20 };
                            let statement = read::page(&agent, &query).unwrap();
                            // The counted rows; at most a page of each of four ranges; each by its key.
                            let rows = hold(&mut db, &statement, total + 4 * (20 + 7) + 20 + 10).await as i64;
                            assert_eq!(rows, (total - offset as i64).clamp(1, 20), "{query:?}");
                        }
                    }
                }
            }
        }
        for (now, rows) in [(Timestamp::from_millis(3_000_000), 20), (Timestamp::from_millis(0), 0)] {
            assert_eq!(hold(&mut db, &read::expired(now, 20).unwrap(), 50).await, rows);
        }
        db.close().await.unwrap();
    });
}

#[test]
fn messages_and_passages_walk_along_their_index() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        let conversation = ConversationId::from_bytes(id(7));
        for agent in [big(), agent_id("late")] {
            for (which, rows) in [
                (MessageSelector::After(0), 20),
                (MessageSelector::After(3_000), 20),
                (MessageSelector::After(u64::MAX), 0),
                (MessageSelector::Before(3_000), 20),
                (MessageSelector::Before(u64::MAX), 20),
                (MessageSelector::Id(MessageId::from_bytes(id(3_007))), 1),
                (MessageSelector::Id(MessageId::from_bytes(id(3_008))), 0),
                // 3,007 and 3,008 belong to one turn, and the other one to another conversation.
                (MessageSelector::Turn("t1002".to_owned()), 1),
                (MessageSelector::Turn("t9999".to_owned()), 0),
            ] {
                let query = MessageQuery { conversation, which, limit: 20 };
                assert_eq!(
                    hold(&mut db, &read::messages(&agent, &query).unwrap(), 30).await,
                    rows,
                    "{query:?}"
                );
            }
            for after in [None, Some((KnowledgeId::from_bytes(id(1)), 3_000))] {
                assert_eq!(hold(&mut db, &knowledge::passages(&agent, after, 20).unwrap(), 30).await, 20);
            }
            assert_eq!(hold(&mut db, &knowledge::documents(&agent).unwrap(), 20).await, 10);
            let one = read::one(&agent, ConversationId::from_bytes(id(4_711))).unwrap();
            assert_eq!(hold(&mut db, &one, 6).await, 1);
        }
        db.close().await.unwrap();
    });
}

#[test]
fn what_is_removed_is_found_by_key() {
    let database = Database::new();
    runtime().block_on(async {
        let mut db = filled(&database).await;
        for agent in [big(), agent_id("late")] {
            let contact = ContactId::from_bytes(id(100));
            // 100, 600, 1,100 and so on; each again by its position.
            let of_contact = write::of_contact(&agent, contact).unwrap();
            assert_eq!(hold(&mut db, &of_contact, 2 * 12 + 6).await, 12);
            let messages = write::messages_of(&agent, &[&id(7), &id(9_999)]).unwrap();
            hold(&mut db, &messages, 2 * 300 + 10).await;
            for sql in knowledge::REMOVE {
                // A third of the passages belongs to the document.
                let documents = [KnowledgeId::from_bytes(id(1)), KnowledgeId::from_bytes(id(9_999))];
                let removal = knowledge::removal(sql, &agent, &documents).unwrap();
                hold(&mut db, &removal, 2 * 2_000 + 10).await;
            }
        }
        db.close().await.unwrap();
    });
}
