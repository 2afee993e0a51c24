//! The events of a conversation (contract 17).

use openapi_core::storage::LogStore as _;
use pollster::block_on;
use serde_json::{Value, json};

use crate::support::*;

impl World {
    /// The events since the last call: type, kind of actor, and the members of the data apart from the ids.
    pub fn emitted(&self, seen: &mut u64) -> Vec<Value> {
        let page = block_on(self.storage().log(&agent(), *seen, 1_000)).expect("a log");
        *seen = page.head;
        let events = page.entries.iter().map(|entry| {
            let event = openapi_core::events::Event::of(&agent(), entry).expect("an event");
            let event = json!(event);
            let schema = entry.kind.schema();
            assert!(jsonschema::is_valid(&schema, &event["data"]), "{event} under {schema}");
            let mut data = event["data"].clone();
            let members = data.as_object_mut().expect("an object");
            members.retain(|name, _| !name.ends_with("Id"));
            json!([event["type"], event["actor"]["type"], data])
        });
        events.collect()
    }
}

#[test]
fn steps_of_a_conversation_have_their_events() {
    let world = boundless();
    let seen = &mut 0;
    assert_eq!(world.emitted(seen), [json!(["agent.configured", "operator", {}])]);
    let first = world.turn(1, "One", None);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let said = |number: u64, role: &str| {
        let actor = if role == "agent" {
            "system"
        } else if role == "human" {
            "operator"
        } else {
            "visitor"
        };
        json!(["message.created", actor, { "number": number, "role": role }])
    };
    assert_eq!(
        world.emitted(seen),
        [json!(["conversation.started", "visitor", {}]), said(1, "visitor"), said(2, "agent")]
    );
    let chat = &world.chat;
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    assert_eq!(world.emitted(seen), [json!(["conversation.taken", "operator", {}])]);
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    assert_eq!(world.emitted(seen), [] as [Value; 0], "what changes nothing tells nothing");
    world.turn(2, "Two", Some(&token));
    world.turn(2, "Two", Some(&token));
    assert_eq!(world.emitted(seen), [said(3, "visitor")], "a repeated turn is stored once");
    block_on(chat.reply_to_conversation(&operator(), &agent(), id, "Ada", "Which day?")).expect("a message");
    assert_eq!(world.emitted(seen), [said(4, "human")]);
    block_on(chat.release_conversation(&operator(), &agent(), id)).expect("released");
    assert_eq!(world.emitted(seen), [json!(["conversation.released", "operator", { "reason": "operator" }])]);
    let message = first.event("message")["id"].clone();
    let rated = world.post("/feedback", &json!({ "token": token, "message": message, "value": -1 }));
    assert_eq!(rated.status, 204);
    assert_eq!(world.emitted(seen), [json!(["conversation.feedback", "visitor", { "value": -1 }])]);
    // Nobody replies, so the agent takes over again.
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    world.turn(3, "Three", Some(&token));
    world.emitted(seen);
    world.clock.advance_millis(10 * 60_000);
    world.post("/sync", &json!({ "token": token, "after": 5 }));
    let emitted = world.emitted(seen);
    assert_eq!(emitted[0], json!(["conversation.released", "system", { "reason": "timeout" }]));
    block_on(chat.close_conversation(&operator(), &agent(), id)).expect("closed");
    assert_eq!(world.emitted(seen), [json!(["conversation.closed", "operator", { "reason": "operator" }])]);
    block_on(chat.erase_conversation(&operator(), &agent(), id)).expect("erased");
    assert_eq!(world.emitted(seen), [json!(["conversation.erased", "operator", { "reason": "operator" }])]);
}

#[test]
fn a_lead_has_two_events() {
    let world = boundless();
    let seen = &mut 0;
    world.emitted(seen);
    let mut body = turn(1, "One", None);
    body["lead"] = json!({ "fields": { "primaryEmail": "zoe@example.com" }, "consent": null });
    let answered = world.post("/turns", &body);
    let kinds: Vec<Value> = world.emitted(seen).iter().map(|emitted| emitted[0].clone()).collect();
    assert_eq!(
        kinds,
        ["contact.created", "conversation.started", "lead.created", "message.created", "message.created"]
    );
    // Erasing the contact empties the events of its conversation.
    let contact = world.conversation(&answered).contact_id.expect("a contact");
    let contact = openapi_core::contacts::ContactRef::Id(contact);
    use openapi_core::admin::Admin as _;
    block_on(world.platform.erase_contact(&operator(), &agent(), &contact)).expect("erased");
    let page = block_on(world.storage().log(&agent(), 1, 1_000)).expect("a log");
    let (last, others) = page.entries.split_last().expect("events");
    assert!(others.iter().all(|entry| entry.body.is_none()) && last.body.is_some());
}
