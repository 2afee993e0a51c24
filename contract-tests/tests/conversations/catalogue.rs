//! Each type of the catalogue of events is emitted by an ordinary use of the API, of the command line or of the widget.

use std::collections::BTreeSet;

use contract_tests::sandbox::{self, wait};
use contract_tests::{Backend, Sandbox, story};
use conversations::admin::NewKnowledge;
use conversations::{ChatEvent, Passage};
use openapi_core::access::KeySelector;
use openapi_core::admin::{Admin, CreditChange, KeyEdit, NewKey};
use openapi_core::contacts::ContactRef;
use openapi_core::credits::CreditPool;
use openapi_core::events::{ConversationReason, Event, EventType};
use openapi_core::files::Sha256Digest;
use openapi_core::ports::Clock;
use openapi_core::storage::LogStore;
use pollster::block_on;
use serde_json::json;

use crate::support::*;

/// Types that a runner emits, each with the test that sees it. A type is here or in a use below.
const OF_RUNNERS: &[(EventType, &str)] = &[
    (EventType::ExtractionCompleted, "extraction/jobs.rs: a_job_has_the_result_of_an_extraction"),
    (EventType::ExtractionFailed, "extraction/jobs.rs: a_failed_job_costs_nothing"),
    (EventType::EndpointDisabled, "events/deliveries.rs: a_receiver_that_is_gone_disables_its_endpoint"),
];

/// The types in a log. The data of each event has the form of its type.
fn emitted(log: &(impl LogStore + ?Sized), agent: &openapi_core::values::AgentId) -> BTreeSet<EventType> {
    let page = wait(log.log(agent, 0, 1_000)).expect("a log");
    let emitted = page.entries.iter().map(|entry| {
        let event = json!(Event::of(agent, entry).expect("an event"));
        let schema = entry.kind.schema();
        let is_erased = event["erased"] == true;
        assert!(is_erased || jsonschema::is_valid(&schema, &event["data"]), "{event} under {schema}");
        entry.kind
    });
    emitted.collect()
}

#[test]
fn each_type_is_emitted_by_an_ordinary_use() {
    let mut seen = uses_of_records();
    seen.extend(uses_of_the_widget());
    let of_runners: BTreeSet<EventType> = OF_RUNNERS.iter().map(|(kind, _)| *kind).collect();
    let missing: Vec<&str> = EventType::ALL
        .iter()
        .filter(|kind| !seen.contains(kind) && !of_runners.contains(kind))
        .map(|kind| kind.as_str())
        .collect();
    assert!(missing.is_empty(), "nothing emits {missing:?}: add a use of each");
    assert!(seen.is_disjoint(&of_runners), "a type is in one of both lists");
}

#[test]
fn each_reason_of_a_conversation_is_emitted() {
    let world = boundless();
    let handoff = json!({ "enabled": true, "timeoutMinutes": 10 });
    world.configure(json!({ "retentionDays": 2, "chat": { "responder": "script", "handoff": handoff } }));
    let (chat, by) = (&world.chat, &operator());
    let begun = |number| {
        let answered = world.turn(number, "One", None);
        (answered.token(), world.conversation(&answered).id)
    };
    let _ = world.post("/close", &json!({ "token": begun(1).0 }));
    block_on(chat.close_conversation(by, &agent(), begun(2).1)).expect("closed");
    block_on(chat.revoke_conversation(by, &agent(), begun(3).1)).expect("revoked");
    let (token, id) = begun(4);
    block_on(chat.take_conversation(by, &agent(), id, None)).expect("taken");
    world.clock.advance_millis(10 * 60_000);
    let _ = world.post("/sync", &json!({ "token": token, "after": 0 }));
    // Two days of silence.
    for _ in 0..2 {
        world.clock.advance_millis(86_400_000);
        block_on(chat.maintain()).expect("maintained");
    }
    let page = block_on(world.storage().log(&agent(), 0, 1_000)).expect("a log");
    let reasons = page.entries.iter().filter_map(|entry| {
        let event = json!(Event::of(&agent(), entry).expect("an event"));
        event["data"]["reason"].as_str().map(str::to_owned)
    });
    let reasons: BTreeSet<String> = reasons.collect();
    assert_eq!(reasons, ConversationReason::ALL.iter().map(|reason| reason.as_str().to_owned()).collect());
}

fn uses_of_records() -> BTreeSet<EventType> {
    let (cx, known) = contract_tests::table::prepared(Backend::Memory);
    let by = &sandbox::operator();
    let (platform, agent) = (&cx.platform, &cx.agent);
    let path = "/contacts/crm-1001/chatbots/<A>";
    let _ = cx.put(path, &json!({ "firstName": "Zo" })).expect(200);
    let submission = format!("/forms/submissions/{}/chatbots/<A>", known.submission);
    let _ = cx.put(&submission, &json!({ "reviewNotes": "Seen" })).expect(200);
    let _ = cx.put(&submission, &json!({ "status": "approved" })).expect(200);
    let cancel = format!("/document-extraction/jobs/{}/cancel", known.job);
    let _ = cx.call("PATCH", &cancel).send().expect(200);
    let file = format!("/files/chatbots/<A>/{}/files/{}", known.contact, known.file);
    let _ = cx.call("DELETE", &file).send().expect(200);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    let template = known.template.parse().expect("an id");
    let mut edited = story::feedback();
    edited["name"] = json!("Opinion");
    wait(platform.edit_template(by, agent, template, &sandbox::object(&edited))).expect("edited");
    wait(platform.archive_template(by, agent, template)).expect("archived");
    let _ = cx.define(&json!({ "allowUndeclaredCustomFields": false }));
    let key = KeySelector::Id(cx_key(&cx));
    wait(platform.edit_key(
        by,
        &key,
        KeyEdit { name: Some("New".parse().expect("a name")), ..KeyEdit::default() },
    ))
    .expect("edited");
    wait(platform.rotate_key(by, &key, 0)).expect("rotated");
    wait(platform.disable_key(by, &key)).expect("disabled");
    wait(platform.enable_key(by, &key)).expect("enabled");
    wait(platform.revoke_key(by, &key)).expect("revoked");
    wait(platform.disable_agent(by, agent)).expect("disabled");
    wait(platform.enable_agent(by, agent)).expect("enabled");
    let set = |credits| CreditChange::Set { pool: CreditPool::Plan, credits, note: None };
    for change in [set(10), CreditChange::LowAt(5), set(0)] {
        wait(platform.change_credits(by, agent, &change)).expect("changed");
    }
    let contact = ContactRef::Id(known.contact.parse().expect("an id"));
    wait(platform.erase_contact(by, agent, &contact)).expect("erased");
    emitted(&*cx.store.storage, agent)
}

/// The id of a further key, which expires soon.
fn cx_key(cx: &Sandbox) -> openapi_core::values::KeyId {
    let expires_at = Some(cx.clock.now().plus_millis(86_400_000));
    let key = NewKey { expires_at, ..cx.new_key() };
    wait(cx.platform.create_key(&sandbox::operator(), key)).expect("a key").key.id
}

fn uses_of_the_widget() -> BTreeSet<EventType> {
    let world = boundless();
    world.configure(json!({ "chat": { "responder": "script", "handoff": { "enabled": true } } }));
    let new = NewKnowledge {
        title: "Hours".to_owned(),
        file_name: "hours.txt".to_owned(),
        url: None,
        language: None,
        content_type: "text/plain".to_owned(),
        sha256: Sha256Digest([7; 32]),
        characters: 16,
        pages: None,
        passages: vec![Passage {
            position: 0,
            headings: Vec::new(),
            page: None,
            start: 0,
            end: 16,
            text: "We open at nine.".to_owned(),
        }],
        questions: Vec::new(),
    };
    let document = block_on(world.chat.add_knowledge(&operator(), &agent(), new)).expect("added");
    block_on(world.chat.remove_knowledge(&operator(), &agent(), document.id)).expect("removed");
    let mut body = turn(1, "One", None);
    body["lead"] = json!({ "fields": { "primaryEmail": "zoe@example.com" }, "consent": null });
    let first = world.post("/turns", &body);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let message = first.event("message")["id"].clone();
    let _ = world.post("/feedback", &json!({ "token": token, "message": message, "value": 1 }));
    // The agent knows no answer, and then asks for a person.
    world.script.will([
        delta("I do not know."),
        Act::Say(ChatEvent::Done {
            outcome: conversations::Outcome::Unknown,
            sources: Vec::new(),
            usage: conversations::Usage::default(),
        }),
    ]);
    let _ = world.turn(2, "Two", Some(&token));
    world.script.will([Act::Say(ChatEvent::Handoff(conversations::Handoff::default())), done()]);
    let _ = world.turn(3, "Three", Some(&token));
    let (chat, by, agent) = (&world.chat, &operator(), &agent());
    block_on(chat.take_conversation(by, agent, id, None)).expect("taken");
    block_on(chat.release_conversation(by, agent, id)).expect("released");
    block_on(chat.close_conversation(by, agent, id)).expect("closed");
    block_on(chat.erase_conversation(by, agent, id)).expect("erased");
    emitted(world.storage(), agent)
}
