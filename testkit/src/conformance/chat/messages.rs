//! Cases for messages: stored properties, windows, and replacement.

use super::super::fixture::World;
use super::super::{Backend, on};
use super::{conversation, message, message_id, messages, reply};
use ::conversations::storage::MessageSelector;
use ::conversations::{FollowUp, Message, MessageState};

fn numbers(messages: &[Message]) -> Vec<u64> {
    messages.iter().map(|message| message.seq).collect()
}

pub(in crate::conformance) fn messages_come_back_as_stored(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert!(world.every_message(&a, 1).await.is_empty());
        let first = conversation(&a, 1);
        world.put_conversation(&first, vec![reply(1), message(2)]).await;
        assert_eq!(world.every_message(&a, 1).await, [reply(1), message(2)]);
        let every_state = |seq| Message { state: MessageState::ALL[seq as usize % 3], ..message(seq) };
        let more: Vec<Message> = (3..=8).map(every_state).collect();
        let second = world.change_conversation(&first, more.clone(), |it| it.message_count = 8).await;
        assert_eq!(world.every_message(&a, 1).await, [vec![reply(1), message(2)], more].concat());
        // A step without messages leaves them unchanged.
        world.change_conversation(&second, Vec::new(), |it| it.visitor_read = 8).await;
        assert_eq!(world.every_message(&a, 1).await.len(), 8);
    });
}

pub(in crate::conformance) fn messages_are_read_in_windows(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        // They are stored in several steps, out of order.
        let first = conversation(&a, 1);
        world.put_conversation(&first, messages([2, 1])).await;
        let second = world.change_conversation(&first, messages((3..=11).rev()), |_| {}).await;
        world.change_conversation(&second, messages([12]), |_| {}).await;
        world.put_conversation(&conversation(&a, 2), messages(1..=20)).await;
        let all: Vec<u64> = (1..=12).collect();
        let read = async |which, limit| numbers(&world.some_messages(&a, 1, which, limit).await);
        for limit in [0, 1, 3, 12, 100, u32::MAX] {
            for seq in [0, 1, 2, 9, 10, 11, 12, 13, 99, u64::MAX] {
                let following = all.iter().copied().filter(|it| *it > seq).take(limit as usize);
                let after = read(MessageSelector::After(seq), limit).await;
                assert_eq!(after, following.collect::<Vec<_>>(), "{limit} after {seq}");
                let mut ahead: Vec<u64> = all.iter().copied().filter(|it| *it < seq).collect();
                ahead.drain(..ahead.len().saturating_sub(limit as usize));
                let before = read(MessageSelector::Before(seq), limit).await;
                assert_eq!(before, ahead, "{limit} before {seq}");
            }
        }
        assert!(world.some_messages(&a, 3, MessageSelector::After(0), 9).await.is_empty());
        assert!(world.some_messages(&a, 3, MessageSelector::Before(9), 9).await.is_empty());
    });
}

pub(in crate::conformance) fn messages_are_found_by_id_and_turn(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let of_turn = |seq, turn: &str| Message { turn: Some(turn.to_owned()), ..message(seq) };
        let said = vec![
            of_turn(1, "t-1"),
            of_turn(2, "t-1"),
            message(3),
            of_turn(4, "T-1"),
            of_turn(5, "o'brien \"é\" %_"),
            of_turn(6, ""),
            of_turn(7, "t-1"),
        ];
        world.put_conversation(&conversation(&a, 1), said.clone()).await;
        let other = vec![of_turn(1, "t-2"), Message { id: message_id(2, 9), ..of_turn(2, "t-1") }];
        world.put_conversation(&conversation(&a, 2), other.clone()).await;
        for it in &said {
            let found = world.some_messages(&a, 1, MessageSelector::Id(it.id), 9).await;
            assert_eq!(found, std::slice::from_ref(it));
        }
        let id = MessageSelector::Id(message_id(2, 9));
        assert!(world.some_messages(&a, 1, id.clone(), 9).await.is_empty(), "it is of another conversation");
        assert_eq!(world.some_messages(&a, 2, id.clone(), 9).await, other[1..]);
        assert!(world.some_messages(&a, 3, id.clone(), 9).await.is_empty());
        assert!(world.some_messages(&a, 2, id, 0).await.is_empty());
        let turn = async |number, turn: &str, limit| {
            numbers(&world.some_messages(&a, number, MessageSelector::Turn(turn.to_owned()), limit).await)
        };
        assert_eq!(turn(1, "t-1", 9).await, [1, 2, 7]);
        assert_eq!(turn(1, "t-1", 2).await, [1, 2]);
        assert!(turn(1, "t-1", 0).await.is_empty());
        assert_eq!(turn(1, "T-1", 9).await, [4], "turns are case-sensitive");
        assert_eq!(turn(1, "o'brien \"é\" %_", 9).await, [5]);
        assert_eq!(turn(1, "", 9).await, [6], "none is not an empty one");
        assert!(turn(1, "t-2", 9).await.is_empty());
        assert!(turn(1, "t", 9).await.is_empty());
        assert_eq!(turn(2, "t-1", 9).await, [2]);
        assert!(turn(3, "t-1", 9).await.is_empty());
    });
}

pub(in crate::conformance) fn messages_are_replaced_by_number(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let first = conversation(&a, 1);
        world.put_conversation(&first, vec![reply(1), reply(2), reply(3)]).await;
        // One message is replaced and one added; the others stay.
        let changed = Message {
            feedback: 1,
            comment: None,
            after: FollowUp::default(),
            turn: Some("later".to_owned()),
            ..reply(2)
        };
        let second = world.change_conversation(&first, vec![message(4), changed.clone()], |_| {}).await;
        assert_eq!(world.every_message(&a, 1).await, [reply(1), changed.clone(), reply(3), message(4)]);
        let turn = |message: &Message| MessageSelector::Turn(message.turn.clone().expect("turn"));
        assert_eq!(world.some_messages(&a, 1, turn(&changed), 9).await, [changed]);
        assert!(world.some_messages(&a, 1, turn(&reply(2)), 9).await.is_empty(), "it is of no other turn");
        // Even its id may differ.
        let renamed = Message { id: message_id(2, 7), turn: None, ..reply(2) };
        world.change_conversation(&second, vec![renamed.clone()], |_| {}).await;
        assert!(world.some_messages(&a, 1, MessageSelector::Id(message_id(2, 0)), 9).await.is_empty());
        assert_eq!(world.some_messages(&a, 1, MessageSelector::Id(renamed.id), 9).await.len(), 1);
        assert_eq!(world.every_message(&a, 1).await, [reply(1), renamed, reply(3), message(4)]);
    });
}
