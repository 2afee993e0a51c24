//! Cases for conversations: stored properties, versions, lists.

use std::sync::Arc;

use super::super::fixture::{World, agent_id, assert_fails, at, unsealed};
use super::super::races::{WRITERS, Written, outcomes};
use super::super::{Backend, on};
use super::{conversation, first_page, full_conversation, messages, reply, since};
use ::conversations::storage::{
    ConversationFilter, ConversationQuery, ConversationStorage, ConversationWrite,
};
use ::conversations::{Conversation, ConversationMode, ConversationStatus};
use openapi_core::storage::{Effects, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId};

pub(in crate::conformance) fn conversations_come_back_as_stored(backend: &mut dyn Backend) {
    let all = |agent: &AgentId| [conversation(agent, 1), full_conversation(agent, 2)];
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert_eq!(world.conversation_of(&a, 1).await, None);
        for it in all(&a) {
            world.put_conversation(&it, Vec::new()).await;
            assert_eq!(world.conversation_of(&a, it.id.as_bytes()[0]).await, Some(it));
        }
        let page = world.storage.conversations(&a, &first_page(ConversationFilter::default(), 9)).await;
        let [bare, full] = all(&a);
        assert_eq!(page.expect("list").conversations, [full, bare], "a list shows them whole");
        // Every property changes, in both directions.
        let swapped = [
            Conversation { version: 2, ..full_conversation(&a, 1) },
            Conversation { version: 2, ..conversation(&a, 2) },
        ];
        for it in &swapped {
            world.put_conversation(it, Vec::new()).await;
            assert_eq!(world.conversation_of(&a, it.id.as_bytes()[0]).await.as_ref(), Some(it));
        }
        let [one, two] = all(&a);
        world.put_conversation(&Conversation { version: 3, ..one }, vec![reply(1)]).await;
        world.put_conversation(&Conversation { version: 3, ..two }, Vec::new()).await;
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let (world, a) = (World::new(storage), agent_id("agent-a"));
            for it in all(&a) {
                let number = it.id.as_bytes()[0];
                let stored = Conversation { version: 3, ..it };
                assert_eq!(world.conversation_of(&a, number).await, Some(stored), "it outlives a restart");
            }
            assert_eq!(world.every_message(&a, 1).await, [reply(1)]);
        });
    }
}

pub(in crate::conformance) fn conversation_changes_need_the_version_before(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let save = async |agent: &AgentId, version| {
            let changed = Conversation { version, epoch: version as u32, ..conversation(agent, 1) };
            world.try_conversation(&changed, Vec::new()).await
        };
        for version in [0, 2, 3, u64::MAX] {
            assert_fails(save(&a, version).await, &StorageErrorKind::Stale);
        }
        assert_eq!(world.conversation_of(&a, 1).await, None);
        for version in [1, 2, 3] {
            save(&a, version).await.unwrap_or_else(|error| panic!("version {version}: {error}"));
        }
        for version in [0, 1, 2, 3, 5, u64::MAX] {
            assert_fails(save(&a, version).await, &StorageErrorKind::Stale);
        }
        let stored = world.conversation_of(&a, 1).await.expect("conversation");
        assert_eq!((stored.version, stored.epoch), (3, 3));
        save(&b, 1).await.expect("another agent's versions are its own");
        world.put_conversation(&conversation(&a, 2), Vec::new()).await;
    });
}

pub(in crate::conformance) fn refused_conversations_leave_nothing(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let noted = world.audit_of(Some(&a)).await.len();
        let write = |conversation: Conversation, numbers: [u64; 2], millis| ConversationWrite {
            effects: world.chat_effects(&a, &conversation.id.to_string(), millis),
            conversation,
            messages: messages(numbers),
            keep: Vec::new(),
            deferrable: false,
        };
        let first = write(conversation(&a, 1), [1, 2], 10);
        world.storage.save_conversation(&a, &first).await.expect("save");
        assert_eq!(world.audit_of(Some(&a)).await.get(noted..), Some(&*unsealed(&first.effects.audit)));
        // The first of several errors is reported, and nothing is stored.
        let mut stale = write(full_conversation(&a, 1), [2, 3], 20);
        stale.messages[0].text = "another text".to_owned();
        let absent = Conversation { version: 2, ..conversation(&a, 2) };
        let absent = write(absent, [1, 2], 30);
        let nobody = agent_id("nobody");
        for (agent, write, kind) in [
            (&nobody, &stale, StorageErrorKind::Missing),
            (&a, &stale, StorageErrorKind::Stale),
            (&a, &absent, StorageErrorKind::Stale),
        ] {
            assert_fails(world.storage.save_conversation(agent, write).await, &kind);
            assert_eq!(world.conversation_of(&a, 1).await, Some(conversation(&a, 1)), "{kind}");
            assert_eq!(world.conversation_of(&a, 2).await, None, "{kind}");
            assert_eq!(world.every_message(&a, 1).await, messages([1, 2]), "{kind}");
            assert!(world.every_message(&a, 2).await.is_empty(), "{kind}");
            assert_eq!(world.audit_of(Some(&a)).await.len(), noted + 1, "{kind}");
        }
        let all = world.conversation_numbers(&a, ConversationFilter::default()).await;
        assert_eq!(all, [1]);
    });
}

pub(in crate::conformance) fn conversation_lists_sort_and_page(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert_eq!(
            world.conversation_page(&a, &first_page(ConversationFilter::default(), 9)).await,
            (vec![], 0)
        );
        let mut expected = Vec::new();
        for (number, millis) in [(4, 5), (1, 9), (3, 5), (5, 5), (2, 1), (6, -2_000_000_000_000)] {
            let it = Conversation {
                last_message_at: at(millis),
                created_at: at(-millis),
                ..conversation(&a, number)
            };
            world.put_conversation(&it, Vec::new()).await;
            expected.push((at(millis), number));
        }
        expected.sort();
        let numbers: Vec<u8> = expected.iter().rev().map(|(_, number)| *number).collect();
        assert_eq!(numbers, [1, 5, 4, 3, 2, 6], "of one instant the greater id comes first");
        for limit in [1, 2, 3, 6, 100, u32::MAX] {
            for offset in [0, 1, 2, 5, 6, 7, 1_000, u64::MAX] {
                let query = ConversationQuery { filter: ConversationFilter::default(), offset, limit };
                let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
                let shown: Vec<u8> = numbers.iter().copied().skip(skipped).take(limit as usize).collect();
                assert_eq!(world.conversation_page(&a, &query).await, (shown, 6), "{query:?}");
            }
        }
        let none = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 0 };
        assert_eq!(world.conversation_page(&a, &none).await, (vec![], 6));
        // Only a message moves its conversation in the order.
        let stored = world.conversation_of(&a, 3).await.expect("conversation");
        let moved = world.change_conversation(&stored, Vec::new(), |it| it.last_message_at = at(7)).await;
        let seen = world.change_conversation(&moved, Vec::new(), |it| it.updated_at = at(8)).await;
        assert_eq!(world.conversation_numbers(&a, ConversationFilter::default()).await, [1, 3, 5, 4, 2, 6]);
        world.change_conversation(&seen, Vec::new(), |it| it.last_message_at = at(0)).await;
        assert_eq!(world.conversation_numbers(&a, ConversationFilter::default()).await, [1, 5, 4, 2, 3, 6]);
    });
}

pub(in crate::conformance) fn conversation_filters_combine(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let contact = |number: u8| ContactId::from_bytes([number; 12]);
        let mut all = Vec::new();
        for number in 0..48_u8 {
            let it = Conversation {
                status: ConversationStatus::ALL[usize::from(number % 2)],
                mode: ConversationMode::ALL[usize::from(number / 2 % 2)],
                contact_id: (number % 3 > 0).then(|| contact(number % 3)),
                last_message_at: at(i64::from(number / 12 * 10)),
                created_at: at(i64::from(50 - number)),
                ..conversation(&a, number)
            };
            world.put_conversation(&it, Vec::new()).await;
            all.push(it);
        }
        // Some conversations swap properties, so that every list must follow the change.
        for number in [3, 8, 21, 34] {
            let before = all[number].clone();
            let changed = |it: &mut Conversation| {
                it.status = ConversationStatus::ALL[usize::from(it.status == ConversationStatus::Open)];
                it.mode = ConversationMode::ALL[usize::from(it.mode == ConversationMode::Ai)];
                it.contact_id = if it.contact_id.is_none() { Some(contact(1)) } else { None };
                it.last_message_at = at(30);
            };
            all[number] = world.change_conversation(&before, Vec::new(), changed).await;
        }
        all.sort_by_key(|it| std::cmp::Reverse((it.last_message_at, it.id)));
        let with_none = |values: Vec<_>| [vec![None], values.into_iter().map(Some).collect()].concat();
        for status in with_none(ConversationStatus::ALL.to_vec()) {
            for mode in [None, Some(ConversationMode::Ai), Some(ConversationMode::Human)] {
                for contact in [None, Some(contact(1)), Some(contact(2)), Some(contact(9))] {
                    for since in [None, Some(at(-1)), Some(at(10)), Some(at(11)), Some(at(30)), Some(at(31))]
                    {
                        let filter = ConversationFilter { status, mode, contact, since };
                        let found: Vec<u8> =
                            all.iter().filter(|it| filter.admits(it)).map(|it| it.id.as_bytes()[0]).collect();
                        let total = found.len() as u64;
                        for (offset, limit) in [(0, 100), (1, 3)] {
                            let query = ConversationQuery { filter: filter.clone(), offset, limit };
                            let shown: Vec<u8> =
                                found.iter().copied().skip(offset as usize).take(limit as usize).collect();
                            assert_eq!(
                                world.conversation_page(&a, &query).await,
                                (shown, total),
                                "{query:?}"
                            );
                        }
                    }
                }
            }
        }
        assert_eq!(
            world.conversation_numbers(&a, since(at(30))).await.len(),
            12 + 4,
            "the very instant counts"
        );
    });
}

fn save(storage: Arc<dyn ConversationStorage>, write: ConversationWrite) -> Written {
    Box::pin(async move { storage.save_conversation(&write.conversation.agent_id, &write).await })
}

pub(in crate::conformance) fn of_equal_conversation_versions_one_wins(backend: &mut dyn Backend) {
    on(backend, async |storage| drop(World::with_agents(storage).await));
    let agent = agent_id("agent-a");
    for version in 1..=3 {
        let write = |writer: usize| {
            let mut spoken = super::message(version);
            spoken.text = format!("writer {writer}");
            let own = Conversation { version, epoch: writer as u32, ..conversation(&agent, 1) };
            ConversationWrite {
                conversation: own,
                messages: vec![spoken],
                keep: Vec::new(),
                effects: Effects::default(),
                deferrable: false,
            }
        };
        let results = outcomes(backend, (0..WRITERS).map(write).collect(), save);
        let won = results.iter().filter(|result| result.is_ok()).count();
        let late = results.iter().filter_map(|result| result.as_ref().err());
        let stale = late.filter(|error| error.kind == StorageErrorKind::Stale).count();
        assert_eq!((won, stale), (1, WRITERS - 1), "{results:?}");
        on(backend, async |storage| {
            let world = World::new(storage);
            let a = agent_id("agent-a");
            let stored = world.conversation_of(&a, 1).await.expect("conversation");
            let said = world.every_message(&a, 1).await;
            assert_eq!((stored.version, said.len() as u64), (version, version));
            let last = said.last().map(|message| message.text.clone());
            assert_eq!(last, Some(format!("writer {}", stored.epoch)), "both are of one writer");
        });
    }
}
