//! Turns: events, repetition, resumption, failures.

use std::sync::atomic::Ordering;

use conversations::storage::ConversationQuery;
use conversations::widget::WidgetSettings;
use conversations::{
    ChatError, ChatEvent, ConversationStatus, MessageState, Outcome, Source, StatusKind, Usage,
};
use http_body_util::BodyExt;
use openapi_core::admin::Admin;
use openapi_core::api::ApiBody;
use pollster::block_on;
use serde_json::json;
use std::task::{Context, Poll, Waker};

use crate::support::*;

#[test]
fn the_first_message_takes_one_request_and_one_stream() {
    let world = world();
    let source = Source { n: 1, title: "Services".to_owned(), url: None, page: Some(2) };
    world.script.will([
        Act::Say(ChatEvent::Status(StatusKind::Writing)),
        delta("Home visits "),
        delta("are possible. [1]"),
        Act::Say(ChatEvent::Suggestions(vec!["Prices".to_owned()])),
        Act::Say(ChatEvent::Form),
        Act::Say(ChatEvent::Done {
            outcome: Outcome::Answered,
            sources: vec![source],
            usage: Usage::default(),
        }),
        delta("never seen"),
    ]);
    let answered = world.turn(1, "Do you offer home visits?", None);
    assert_eq!(answered.status, 200);
    assert_eq!(answered.headers["cache-control"], "no-store, no-transform");
    assert_eq!(answered.headers["x-accel-buffering"], "no");
    assert_eq!(answered.headers["access-control-allow-origin"], "*");
    let events = answered.events();
    let names: Vec<&str> = events.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        names,
        ["session", "ack", "status", "status", "delta", "delta", "message", "suggestions", "form", "done"]
    );
    for (at, (_, id, _)) in events.iter().enumerate() {
        assert_eq!(*id, format!("{}.{}", turn_id(1), at + 1));
    }
    assert_eq!(answered.written(), "Home visits are possible. [1]");
    let message = answered.event("message");
    assert_eq!(message["text"], "Home visits are possible. [1]");
    assert_eq!(
        (&message["seq"], &message["role"], &message["state"]),
        (&json!(2), &json!("agent"), &json!("complete"))
    );
    assert_eq!(message["sources"], json!([{ "n": 1, "title": "Services", "url": null, "page": 2 }]));
    assert_eq!(answered.event("ack")["seq"], 1);
    assert_eq!(answered.event("done"), json!({ "outcome": "answered" }));
    assert_eq!(answered.event("form")["fields"][0]["name"], "primaryEmail");
    let stored = world.messages(&answered);
    assert_eq!(stored.iter().map(|message| message.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(stored[1].author.as_deref(), Some("script"));
    let conversation = world.conversation(&answered);
    assert_eq!(conversation.network.as_deref(), Some("192.0.2.0/24"));
    assert!(conversation.running.is_none());
    let asked = world.script.asked.lock().expect("the turns");
    assert_eq!(asked[0].history.last().expect("a line").text, "Do you offer home visits?");
}

#[test]
fn a_form_shows_what_the_visitor_said_where_the_schema_accepts_it() {
    let world = world();
    let collected = |field: &str, value: &str| {
        Act::Say(ChatEvent::Collected { field: field.to_owned(), value: value.to_owned() })
    };
    world.script.will([
        delta("Please check it."),
        collected("primaryEmail", "not an address"),
        collected("primaryEmail", " zoe@example.com\u{202e} "),
        collected("firstName", &"x".repeat(101)),
        collected("dob", "1990-02-03"),
        Act::Say(ChatEvent::Form),
        done(),
    ]);
    let answered = world.turn(1, "Write to zoe@example.com", None);
    let form = answered.event("form");
    let values = |form: &serde_json::Value| -> Vec<serde_json::Value> {
        form["fields"].as_array().expect("fields").iter().map(|field| field["value"].clone()).collect()
    };
    assert_eq!(values(&form)[0], "zoe@example.com");
    assert!(values(&form)[1..].iter().all(serde_json::Value::is_null), "{form}");
    assert_eq!(world.conversation(&answered).lead, None, "nothing is stored before the visitor sends it");
    // A page that is loaded again gets the same form.
    let sync = world.post("/sync", &json!({ "token": answered.token(), "after": 0, "open": true })).json();
    assert_eq!(sync["data"]["form"], form);
    // A value that the schema refuses is not shown, and a reply without a form has none.
    world.script.will([
        delta("And now?"),
        collected("primaryEmail", "zoe at example"),
        Act::Say(ChatEvent::Form),
        done(),
    ]);
    let next = world.turn(2, "Or not", Some(&answered.token()));
    assert!(values(&next.event("form")).iter().all(serde_json::Value::is_null));
    world.script.will([delta("Well."), collected("primaryEmail", "zoe@example.com"), done()]);
    let last = world.turn(3, "Well", Some(&answered.token()));
    assert!(!last.names().contains(&"form".to_owned()));
    assert!(world.messages(&last).last().expect("a message").after.collected.is_empty());
}

#[test]
fn a_token_continues_its_conversation_with_its_history() {
    let world = world();
    let first = world.turn(1, "One", None);
    world.script.says("Second.");
    let second = world.turn(2, "Two", Some(&first.token()));
    assert_eq!(second.session(), first.session(), "a young token stays");
    assert_eq!(second.event("message")["seq"], 4);
    let asked = world.script.asked.lock().expect("the turns");
    let lines: Vec<&str> = asked[1].history.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(lines, ["One", "Hello.", "Two"]);
}

#[test]
fn a_repeated_turn_replays_its_events_and_is_stored_once() {
    let world = world();
    let first = world.turn(1, "One", None);
    let again = world.turn(1, "One", Some(&first.token()));
    assert_eq!(again.names(), ["session", "ack", "message", "done"]);
    for name in ["ack", "message", "done"] {
        assert_eq!(again.event(name), first.event(name));
    }
    assert_eq!(world.messages(&first).len(), 2);
    assert_eq!(world.script.asked.lock().expect("the turns").len(), 1);
    let other = world.turn(1, "Another text", Some(&first.token()));
    assert_eq!((other.status, other.code().as_str()), (422, "IDEMPOTENCY_KEY_REUSED"));
    // Another process replays it as well.
    let elsewhere = world.send(&world.another(), "/turns", &turn(1, "One", Some(&first.token())), |_| ());
    assert_eq!(elsewhere.event("message"), first.event("message"));
}

#[test]
fn a_first_turn_with_a_lost_response_finds_its_conversation() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let again = world.turn(1, "One", None);
    assert_eq!(again.session()["conversation"], first.session()["conversation"]);
    assert_eq!(again.event("message"), first.event("message"));
    assert_eq!(world.turn(1, "Guessed", None).code(), "IDEMPOTENCY_KEY_REUSED");
    // Another page means another visitor, and so does a much later request.
    let elsewhere = world.send(&world.api, "/turns", &turn(1, "One", None), |request| {
        request.headers_mut().insert("origin", "https://other.example".parse().expect("a value"));
    });
    assert_ne!(elsewhere.session()["conversation"], first.session()["conversation"]);
    for millis in [3_600_000, 86_400_000] {
        world.clock.advance_millis(millis);
        let later = world.turn(1, "One", None);
        assert_ne!(later.session()["conversation"], first.session()["conversation"]);
    }
}

#[test]
fn turns_of_a_stopped_service_can_be_repeated() {
    let world = world_with(WidgetSettings::default(), true);
    world.script.will([delta("Half"), Act::Hang]);
    let open = block_on(world.api.handle(request("/turns", &turn(1, "One", None), |_| ())));
    wait_until(|| world.script.hangs.load(Ordering::SeqCst));
    // On another platform, as after a key rotation, it is the same turn.
    let over = world.api.over(&world.chat);
    assert_eq!(over.running_turns(), 1);
    over.cancel_all();
    let ended = block_on(read(open));
    assert_eq!(ended.event("error")["retryable"], true);
    assert_eq!(world.messages(&ended)[1].state, MessageState::Incomplete);
    world.script.says("Whole.");
    let again = world.turn(1, "One", Some(&ended.token()));
    assert_eq!(again.event("message")["text"], "Whole.");
}

#[test]
fn a_dropped_task_leaves_no_waiter() {
    let world = boundless();
    world.script.will([delta("Half"), Act::Hang]);
    let first = block_on(world.api.handle(request("/turns", &turn(1, "One", None), |_| ())));
    drop(first);
    assert_eq!(world.api.running_turns(), 0);
}

#[test]
fn a_turn_can_return_one_document_instead_of_a_stream() {
    let world = world();
    let answered = world.send(&world.api, "/turns", &turn(1, "One", None), |request| {
        request.headers_mut().insert("accept", "application/json".parse().expect("a value"));
    });
    assert_eq!(answered.status, 200);
    let data = &answered.json()["data"];
    assert_eq!(data["message"]["text"], "Hello.");
    assert_eq!(
        (&data["outcome"], &data["form"], &data["suggestions"]),
        (&json!("answered"), &json!(null), &json!([]))
    );
    assert_eq!(data["ack"]["seq"], 1);
}

#[test]
fn a_cut_stream_resumes_after_any_event() {
    let world = world();
    world.script.will([delta("a"), delta("b"), delta("c"), done()]);
    let whole = world.turn(1, "One", None);
    let token = whole.token();
    let all = whole.events();
    for after in 0..=all.len() {
        let body = json!({ "token": token, "turn": turn_id(1), "after": after });
        let rest = world.post("/turns/resume", &body);
        assert_eq!(rest.events(), all[after..], "after {after}");
        // Another process sends the whole text as one event and continues the numbering.
        let late = world.send(&world.another(), "/turns/resume", &body, |_| ());
        assert_eq!(late.names(), ["session", "replace", "message", "done"]);
        assert_eq!(late.written(), "abc");
        assert_eq!(late.events()[0].1, format!("{}.{}", turn_id(1), after + 1));
        assert_eq!(late.event("message"), whole.event("message"));
    }
    let unknown = world.post("/turns/resume", &json!({ "token": token, "turn": turn_id(9), "after": 0 }));
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "TURN_NOT_FOUND"));
}

#[test]
fn a_turn_outlives_its_connection() {
    let world = world_with(WidgetSettings::default(), true);
    world.script.will([delta("Half"), Act::Hang]);
    let response = block_on(world.api.handle(request("/turns", &turn(1, "One", None), |_| ())));
    drop(response);
    wait_until(|| world.api.running_turns() == 1);
    let ahead = world.turn(2, "Two", None);
    drop(ahead);
}

/// Polls, with a timeout, until a condition holds.

#[test]
fn a_running_turn_blocks_others_and_can_be_followed_and_stopped() {
    let world = world_with(WidgetSettings::default(), true);
    let first = world.turn(1, "One", None);
    let token = first.token();
    world.script.will([delta("Half of it"), Act::Hang]);
    let _open = block_on(world.api.handle(request("/turns", &turn(2, "Two", Some(&token)), |_| ())));
    wait_until(|| world.script.asked.lock().expect("the turns").len() == 2);
    let other = world.turn(3, "Three", Some(&token));
    assert_eq!((other.status, other.code().as_str()), (409, "TURN_IN_PROGRESS"));
    assert_eq!(other.json()["details"]["turn"], turn_id(2));
    let sync = world.post("/sync", &json!({ "token": token, "after": 0 }));
    assert_eq!(sync.json()["data"]["running"], turn_id(2));
    // Another process follows the stored text and forwards the stop request.
    let another = world.another();
    let followed = std::thread::spawn({
        let request =
            request("/turns/resume", &json!({ "token": token, "turn": turn_id(2), "after": 1 }), |_| ());
        let another = another.clone();
        move || block_on(async { read(another.handle(request).await).await })
    });
    let cancelled =
        world.send(&another, "/turns/cancel", &json!({ "token": token, "turn": turn_id(2) }), |_| ());
    assert_eq!(cancelled.status, 204);
    // Another process's stop request is seen when the text so far is stored.
    world.clock.advance_millis(5_000);
    let followed = followed.join().expect("no panic");
    assert_eq!(followed.names().last().map(String::as_str), Some("done"));
    assert_eq!(followed.event("done"), json!({ "outcome": "stopped" }));
    assert_eq!(followed.event("message")["text"], "Half of it");
    assert_eq!(followed.event("message")["state"], "stopped");
    wait_until(|| world.api.running_turns() == 0);
    assert!(world.conversation(&first).running.is_none());
    world.script.says("Third.");
    world.clock.advance_millis(60_000);
    let third = world.turn(3, "Three", Some(&token));
    assert_eq!(third.event("message")["text"], "Third.");
}

#[test]
fn a_continuous_reply_is_stored_as_it_grows_and_can_be_stopped_remotely() {
    let world = world_with(WidgetSettings::default(), true);
    let first = world.turn(1, "One", None);
    let token = first.token();
    world.script.will([Act::Babble]);
    let open = block_on(world.api.handle(request("/turns", &turn(2, "Two", Some(&token)), |_| ())));
    let stored = || world.conversation(&first).running.map_or(0, |running| running.text.len());
    let grows = || {
        let before = stored();
        wait_until(|| {
            world.clock.advance_millis(500);
            stored() > before
        });
    };
    grows();
    grows();
    // A concurrent change of the conversation survives, and the text is stored all the same.
    let another = world.another();
    let version = world.conversation(&first).version;
    block_on(world.chat.close_conversation(&operator(), &agent(), world.conversation(&first).id))
        .expect("a conversation");
    assert!(world.conversation(&first).version > version);
    grows();
    assert_eq!(world.conversation(&first).status, ConversationStatus::Closed);
    let body = json!({ "token": token, "turn": turn_id(2) });
    assert_eq!(world.send(&another, "/turns/cancel", &body, |_| ()).status, 204);
    wait_until(|| {
        world.clock.advance_millis(500);
        world.api.running_turns() == 0
    });
    let answered = block_on(read(open));
    assert_eq!(answered.event("done"), json!({ "outcome": "stopped" }));
    let written = answered.written();
    assert_eq!(world.messages(&first).last().map(|message| message.text.as_str()), Some(written.as_str()));
}

#[test]
fn a_reply_hands_nothing_over_after_the_conversation_was_closed() {
    let world = world_with(WidgetSettings::default(), true);
    world.configure(json!({ "chat": { "responder": "script", "handoff": { "enabled": true } } }));
    let first = world.turn(1, "One", None);
    let token = first.token();
    world.script.will([Act::Say(ChatEvent::Handoff(conversations::Handoff::default())), Act::Babble]);
    let open = block_on(world.api.handle(request("/turns", &turn(2, "Two", Some(&token)), |_| ())));
    wait_until(|| {
        world.clock.advance_millis(500);
        world.conversation(&first).running.is_some_and(|running| !running.text.is_empty())
    });
    let id = world.conversation(&first).id;
    block_on(world.chat.close_conversation(&operator(), &agent(), id)).expect("closed");
    assert_eq!(world.post("/turns/cancel", &json!({ "token": token, "turn": turn_id(2) })).status, 204);
    block_on(read(open));
    wait_until(|| world.api.running_turns() == 0);
    let closed = world.conversation(&first);
    assert_eq!((closed.mode, closed.waiting_since), (conversations::ConversationMode::Ai, None));
}

#[test]
fn a_visitor_stops_a_reply_immediately() {
    let world = world_with(WidgetSettings::default(), true);
    let first = world.turn(1, "One", None);
    let token = first.token();
    world.script.will([delta("Half"), Act::Hang]);
    let open = block_on(world.api.handle(request("/turns", &turn(2, "Two", Some(&token)), |_| ())));
    wait_until(|| world.script.asked.lock().expect("the turns").len() == 2);
    let body = json!({ "token": token, "turn": turn_id(2) });
    assert_eq!(world.post("/turns/cancel", &body).status, 204);
    let answered = block_on(read(open));
    assert_eq!(answered.event("done"), json!({ "outcome": "stopped" }));
    assert_eq!(world.post("/turns/cancel", &body).status, 204, "also when it has ended");
    let unknown = world.post("/turns/cancel", &json!({ "token": token, "turn": turn_id(7) }));
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "TURN_NOT_FOUND"));
}

#[test]
fn a_crashed_process_is_replaced_after_its_lease_and_one_reply_is_stored() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let token = first.token();
    world.script.will([delta("Half"), Act::Hang]);
    // The response stream drives the turn, so dropping it equals a process crash.
    drop(block_on(world.api.handle(request("/turns", &turn(2, "Two", Some(&token)), |_| ()))));
    let another = world.another();
    let early = world.send(&another, "/turns", &turn(3, "Three", Some(&token)), |_| ());
    assert_eq!(early.code(), "TURN_IN_PROGRESS");
    world.clock.advance_millis(15_000);
    let resumed = world.send(
        &another,
        "/turns/resume",
        &json!({ "token": token, "turn": turn_id(2), "after": 2 }),
        |_| (),
    );
    assert_eq!(resumed.names(), ["session", "error"]);
    assert_eq!(resumed.event("error")["retryable"], true);
    world.script.says("The whole.");
    let again = world.send(&another, "/turns", &turn(2, "Two", Some(&token)), |_| ());
    assert_eq!(again.event("message")["text"], "The whole.");
    let messages = world.messages(&first);
    let said: Vec<(u64, &str)> =
        messages.iter().map(|message| (message.seq, message.text.as_str())).collect();
    assert_eq!(said, [(1, "One"), (2, "Hello."), (3, "Two"), (4, "The whole.")]);
}

#[test]
fn failures_are_reported_and_do_not_persist() {
    for (acts, code, retained) in [
        (vec![Act::Say(ChatEvent::Error(ChatError::Unavailable))], "RESPONDER_UNAVAILABLE", None),
        (
            vec![delta("Half"), Act::Say(ChatEvent::Error(ChatError::Timeout))],
            "RESPONDER_TIMEOUT",
            Some("Half"),
        ),
        (vec![], "INTERNAL_ERROR", None),
        (vec![delta("Half")], "INTERNAL_ERROR", Some("Half")),
        (vec![delta("Half"), Act::Panic], "INTERNAL_ERROR", Some("Half")),
    ] {
        let world = boundless();
        world.configure(json!({ "chat": { "responder": "script", "fallback": "error" } }));
        world.script.will(acts);
        let failed = world.turn(1, "One", None);
        assert_eq!(failed.event("error")["code"], code);
        let messages = world.messages(&failed);
        assert_eq!(messages.get(1).map(|message| message.text.as_str()), retained);
        assert!(messages.iter().skip(1).all(|message| message.state == MessageState::Incomplete));
        world.script.says("Whole.");
        let again = world.turn(1, "One", Some(&failed.token()));
        assert_eq!(again.event("message")["text"], "Whole.");
        assert_eq!(again.event("message")["seq"], 2, "it replaces the failed one");
        assert_eq!(world.messages(&failed).len(), 2);
    }
}

#[test]
fn the_fallback_responder_answers_when_the_first_fails() {
    let world = boundless();
    world.script.will([Act::Say(ChatEvent::Error(ChatError::Unavailable))]);
    world.knowledge.says("From the documents.");
    let answered = world.turn(1, "One", None);
    assert_eq!(answered.event("message")["text"], "From the documents.");
    assert_eq!(world.messages(&answered)[1].author.as_deref(), Some("knowledge"));
    // After the first delta no other responder takes over.
    world.script.will([delta("Half"), Act::Say(ChatEvent::Error(ChatError::Unavailable))]);
    let failed = world.turn(2, "Two", Some(&answered.token()));
    assert_eq!(failed.event("error")["code"], "RESPONDER_UNAVAILABLE");
    // A responder that does not exist.
    world.configure(json!({ "chat": { "responder": "missing" } }));
    let fallen = world.turn(3, "Three", Some(&answered.token()));
    assert_eq!(fallen.event("message")["text"], "From the documents.");
}

#[test]
fn slow_replies_time_out() {
    let mut settings = WidgetSettings::default();
    settings.deadlines.between_deltas = 300;
    let world = world_with(settings, true);
    world.script.will([delta("Half"), Act::Hang]);
    let answered = world.turn(1, "One", None);
    assert_eq!(answered.event("error")["code"], "RESPONDER_TIMEOUT");
    assert_eq!(world.messages(&answered)[1].state, MessageState::Incomplete);
}

#[test]
fn the_length_of_a_reply_is_limited() {
    let world = boundless();
    let long = "é".repeat(40 * 1024);
    world.script.will([delta(&long), Act::Hang]);
    let answered = world.turn(1, "One", None);
    assert_eq!(answered.event("message")["text"].as_str().map(str::len), Some(64 * 1024));
    assert_eq!(answered.event("done"), json!({ "outcome": "answered" }));
}

#[test]
fn a_long_search_times_out_and_renews_its_lease() {
    let world = world_without_limits(true);
    world.slow.is_held.store(true, Ordering::SeqCst);
    let open = block_on(world.api.handle(request("/turns", &turn(1, "One", None), |_| ())));
    wait_until(|| world.slow.asked.load(Ordering::SeqCst) == 1);
    let lease = || {
        let query = ConversationQuery { filter: Default::default(), offset: 0, limit: 1 };
        let page = block_on(world.chat.conversations(&agent(), &query)).expect("a page");
        page.conversations[0].running.as_ref().map(|running| running.lease_until)
    };
    let first = lease().expect("a lease");
    world.clock.advance_millis(12_000);
    wait_until(|| lease() > Some(first));
    world.api.cancel_all();
    let ended = block_on(read(open));
    assert_eq!(ended.event("error")["retryable"], true);
    assert_eq!(lease(), None);
    world.slow.is_held.store(false, Ordering::SeqCst);
    let again = world.turn(1, "One", Some(&ended.token()));
    assert_eq!(again.event("message")["text"], "Hello.");
}

#[test]
fn a_turns_deadline_covers_its_search_and_all_attempts() {
    let mut settings = WidgetSettings::default();
    // 3 s are 30 ms in these tests.
    settings.deadlines.whole = 3_000;
    let world = world_with(settings, true);
    world.script.will([Act::Hang]);
    world.knowledge.says("From the documents.");
    let late = world.turn(1, "One", None);
    assert_eq!(late.event("error")["code"], "RESPONDER_TIMEOUT", "no responder runs after the deadline");
    // A late attempt leaves time for another.
    let mut settings = WidgetSettings::default();
    settings.deadlines.first_event = 1_000;
    let world = world_with(settings, true);
    world.script.will([Act::Hang]);
    world.knowledge.says("From the documents.");
    assert_eq!(world.turn(1, "One", None).event("message")["text"], "From the documents.");
    let asked = |script: &Script| script.asked.lock().expect("the turns").last().cloned().expect("a turn");
    let (first, second) = (asked(&world.script), asked(&world.knowledge));
    assert_eq!(first.deadline, second.deadline);
    assert_eq!(first.deadline.millis_since(first.now), 90_000);
}

#[test]
fn deleting_an_agent_stops_its_replies_immediately() {
    // Timers never fire here: only the deletion can end the reply.
    let world = boundless();
    world.script.will([delta("Half"), Act::Hang]);
    let open = block_on(world.api.handle(request("/turns", &turn(1, "One", None), |_| ())));
    let reader = std::thread::spawn(move || block_on(read(open)));
    wait_until(|| world.script.hangs.load(Ordering::SeqCst));
    block_on(world.platform.delete_agent(&operator(), &agent())).expect("deleted");
    wait_until(|| reader.is_finished());
    let ended = reader.join().expect("an answer");
    assert_eq!(ended.events().last().map(|(name, ..)| name.clone()).as_deref(), Some("error"));
    world.clock.advance_millis(5_000);
    assert_eq!(world.turn(2, "Two", None).code(), "AGENT_NOT_AVAILABLE");
}

#[test]
fn a_responder_receives_the_page_context_and_the_remaining_budget() {
    let world = boundless();
    world.configure(
        json!({ "chat": { "responder": "script", "llm": { "tokensPerDay": 10_000, "costPerDay": 2.0 } } }),
    );
    *world.script.most.lock().expect("the usage") =
        Usage { input_tokens: 3_000, output_tokens: 1_000, cost: 0.5 };
    let usage = Usage { input_tokens: 1_000, output_tokens: 500, cost: 0.25 };
    world.script.will([Act::Say(ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage })]);
    let mut body = turn(1, "One", None);
    body["metadata"] = json!({ "plan": "pro" });
    let first = world.post("/turns", &body);
    let asked = || world.script.asked.lock().expect("the turns").last().cloned().expect("a turn");
    assert_eq!(asked().visitor.metadata.as_str(), r#"{"plan":"pro"}"#);
    assert_eq!((asked().budget.tokens, asked().budget.cost), (Some(10_000), Some(2.0)));
    world.turn(2, "Two", Some(&first.token()));
    assert_eq!((asked().budget.tokens, asked().budget.cost), (Some(8_500), Some(1.75)));
    world.configure(json!({ "chat": { "responder": "script", "turnsPerDay": 0, "llm": { "tokensPerDay": 0, "costPerDay": 2.0 } } }));
    world.turn(3, "Three", Some(&first.token()));
    assert_eq!((asked().budget.tokens, asked().budget.cost), (None, Some(1.5)));
}

#[test]
fn the_daily_cost_limit_is_never_exceeded() {
    let world = boundless();
    world.configure(
        json!({ "chat": { "responder": "script", "fallback": "error", "llm": { "costPerDay": 1.0 } } }),
    );
    *world.script.most.lock().expect("the usage") = Usage { input_tokens: 10, output_tokens: 10, cost: 0.4 };
    let usage = Usage { input_tokens: 10, output_tokens: 10, cost: 0.4 };
    world.script.will([Act::Say(ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage })]);
    let token = world.turn(1, "One", None).token();
    assert_eq!(world.turn(2, "Two", Some(&token)).event("done"), json!({ "outcome": "answered" }));
    assert_eq!(world.turn(3, "Three", Some(&token)).event("done"), json!({ "outcome": "limited" }));
    world.clock.advance_millis(86_400_000);
    assert_eq!(world.turn(4, "Four", Some(&token)).event("done"), json!({ "outcome": "answered" }));
}

/// The pending data of a stream, if any.
fn piece_now(body: &mut ApiBody) -> Option<String> {
    let mut frame = std::pin::pin!(body.frame());
    let polled = frame.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(frame) = polled else { return None };
    let bytes = frame.expect("a frame").expect("a frame").into_data().expect("data");
    Some(String::from_utf8(bytes.to_vec()).expect("UTF-8"))
}

/// The next chunk of a stream, which must arrive soon.
fn piece(body: &mut ApiBody) -> String {
    (0..1_000).find_map(|_| piece_now(body)).expect("a piece")
}

#[test]
fn an_idle_stream_sends_a_keep_alive_every_15_seconds() {
    let world = clocked();
    world.script.will([delta("Half"), Act::Hang]);
    let open = block_on(world.api.handle(request("/turns", &turn(1, "One", None), |_| ())));
    let mut body = open.into_body();
    assert!(piece(&mut body).starts_with("event: session\n"));
    world.clock.advance_millis(14_999);
    assert_eq!(piece_now(&mut body), None);
    world.clock.advance_millis(1);
    assert_eq!(piece(&mut body), ": still here\n\n");
    world.clock.advance_millis(5_000);
    assert!(piece(&mut body).contains("RESPONDER_TIMEOUT"));
}

#[test]
fn each_deadline_is_exact() {
    // Script, time elapsed just before the deadline, and the millisecond that reaches it.
    let status = || Act::Say(ChatEvent::Status(StatusKind::Thinking));
    for (acts, in_time) in [
        (vec![Act::Hang], 9_999),
        (vec![status(), Act::Hang], 29_999),
        (vec![delta("Half"), Act::Hang], 19_999),
    ] {
        let world = clocked();
        world.configure(json!({ "chat": { "responder": "script", "fallback": "error" } }));
        world.script.will(acts.clone());
        let open = block_on(world.api.handle(request("/turns", &turn(1, "One", None), |_| ())));
        let mut body = open.into_body();
        piece(&mut body);
        world.clock.advance_millis(in_time);
        let comment = (in_time >= 15_000).then(|| ": still here\n\n".to_owned());
        assert_eq!(piece_now(&mut body), comment, "{acts:?}");
        assert_eq!(piece_now(&mut body), None, "{acts:?}");
        world.clock.advance_millis(1);
        assert!(piece(&mut body).contains("RESPONDER_TIMEOUT"), "{acts:?}");
        assert_eq!(world.api.running_turns(), 0);
    }
    // A reply that never ends is ended after 90 s.
    let world = clocked();
    world.script.will((0..5).map(|_| delta("more ")).chain([Act::Hang]));
    let mut settings = WidgetSettings::default();
    settings.deadlines.between_deltas = 1_000_000;
    let api = world.chat.widget_api(settings);
    let mut body = block_on(api.handle(request("/turns", &turn(1, "One", None), |_| ()))).into_body();
    piece(&mut body);
    world.clock.advance_millis(89_999);
    assert_eq!(piece(&mut body), ": still here\n\n");
    world.clock.advance_millis(1);
    assert!(piece(&mut body).contains("RESPONDER_TIMEOUT"));
}

#[test]
fn a_responder_may_rewrite_its_reply_and_hand_over() {
    let world = boundless();
    let handoff = conversations::Handoff { name: Some("Ada".to_owned()), ..Default::default() };
    world.script.will([
        delta("Wrong"),
        Act::Say(ChatEvent::Replace("Right".to_owned())),
        delta("."),
        Act::Say(ChatEvent::Handoff(handoff)),
        done(),
    ]);
    let first = world.turn(1, "One", None);
    assert_eq!((first.written().as_str(), &first.event("message")["text"]), ("Right.", &json!("Right.")));
    assert!(!first.names().contains(&"handoff".to_owned()), "where handing over is off");
    assert_eq!(world.conversation(&first).mode, conversations::ConversationMode::Ai);
    world.configure(json!({ "chat": { "responder": "script", "handoff": { "enabled": true } } }));
    let second = world.turn(2, "A person, please", Some(&first.token()));
    assert_eq!(second.event("handoff"), json!({ "name": "Ada", "avatar": null, "etaSeconds": null }));
    assert_eq!(world.conversation(&second).mode, conversations::ConversationMode::Human);
    assert_eq!(world.turn(3, "Hello?", Some(&first.token())).event("done"), json!({ "outcome": "queued" }));
}
