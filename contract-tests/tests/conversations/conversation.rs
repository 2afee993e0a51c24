//! Conversations apart from their turns: unread replies, history, ratings, closing, handover, expiry.

use conversations::ConversationMode;
use conversations::storage::{ConversationFilter, ConversationQuery};
use openapi_core::admin::{Admin, AdminError};
use openapi_core::values::Timestamp;
use pollster::block_on;
use serde_json::json;

use crate::support::*;

const DAY_MILLIS: i64 = 86_400_000;

#[test]
fn events_history_and_read_markers() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let token = first.token();
    for number in 2..=30 {
        world.turn(number, "More", Some(&token));
    }
    let sync = |body: serde_json::Value| world.post("/sync", &body).json()["data"].clone();
    let state = sync(json!({ "token": token, "after": 58, "open": true }));
    assert_eq!(state["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        (&state["more"], &state["status"], &state["mode"]),
        (&json!(false), &json!("open"), &json!("ai"))
    );
    assert_eq!((&state["nextPollMs"], &state["running"]), (&json!(3000), &json!(null)));
    assert_eq!(state["unread"], 1, "the visitor has read all before the last question");
    assert_eq!(sync(json!({ "token": token, "after": 60, "read": 60 }))["unread"], 0);
    assert_eq!(sync(json!({ "token": token, "after": 60, "read": 3 }))["unread"], 0, "never back");
    let all = sync(json!({ "token": token, "after": 0 }));
    assert_eq!((all["messages"].as_array().map(Vec::len), &all["more"]), (Some(50), &json!(true)));
    let history = |body: serde_json::Value| world.post("/history", &body);
    let page = history(json!({ "token": token, "before": 51, "limit": 20 })).json()["data"].clone();
    let numbers: Vec<u64> =
        page["messages"].as_array().expect("messages").iter().filter_map(|it| it["seq"].as_u64()).collect();
    assert_eq!(numbers, (31..=50).collect::<Vec<u64>>());
    assert_eq!(page["more"], true);
    let page = history(json!({ "token": token, "before": 3 })).json()["data"].clone();
    assert_eq!((page["messages"].as_array().map(Vec::len), &page["more"]), (Some(2), &json!(false)));
    for limit in [0, 51] {
        assert_eq!(history(json!({ "token": token, "limit": limit })).code(), "VALIDATION_ERROR");
    }
}

#[test]
fn visitors_rate_replies_of_their_own_conversation_only() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let other = world.turn(2, "Other", None);
    let message = first.event("message")["id"].clone();
    let post = |token: &str, message: &serde_json::Value, value: i32| {
        let body = json!({ "token": token, "message": message, "value": value, "comment": " Good. " });
        world.post("/feedback", &body)
    };
    assert_eq!(post(&first.token(), &message, 1).status, 204);
    let stored = &world.messages(&first)[1];
    assert_eq!((stored.feedback, stored.comment.as_deref()), (1, Some("Good.")));
    assert_eq!(post(&other.token(), &message, -1).code(), "MESSAGE_NOT_FOUND");
    assert_eq!(post(&first.token(), &first.event("ack")["id"], -1).code(), "MESSAGE_NOT_FOUND");
    assert_eq!(post(&first.token(), &message, 2).code(), "VALIDATION_ERROR");
    assert_eq!(world.messages(&first)[1].feedback, 1);
}

#[test]
fn a_closed_conversation_is_readable_but_not_continued() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let token = first.token();
    assert_eq!(world.post("/close", &json!({ "token": token })).status, 204);
    let state = world.post("/sync", &json!({ "token": token, "after": 0 })).json()["data"].clone();
    assert_eq!((&state["status"], state["messages"].as_array().map(Vec::len)), (&json!("closed"), Some(2)));
    let next = world.turn(2, "Two", Some(&token));
    assert_ne!(next.session()["conversation"], first.session()["conversation"]);
    assert_eq!(next.event("ack")["seq"], 1);
    let (before, after) = (world.conversation(&first), world.conversation(&next));
    assert_eq!(before.visitor_id, after.visitor_id);
    assert_eq!(after.counted.turns.len(), 2, "the limits go on");
    // Inactivity closes a conversation as well.
    world.clock.advance_millis(DAY_MILLIS);
    let later = world.turn(3, "Three", Some(&next.token()));
    assert_ne!(later.session()["conversation"], next.session()["conversation"]);
}

#[test]
fn an_old_token_leads_to_the_current_conversation() {
    let world = world();
    let first = world.turn(1, "One", None);
    let token = first.token();
    assert_eq!(world.post("/close", &json!({ "token": token })).status, 204);
    // A turn that begins the next conversation is also stored once.
    let next = world.turn(2, "Two", Some(&token));
    let again = world.turn(2, "Two", Some(&token));
    assert_eq!(again.event("message"), next.event("message"));
    let on = world.turn(3, "Three", Some(&token));
    assert_eq!(on.session()["conversation"], next.session()["conversation"]);
    assert_eq!(on.event("ack")["seq"], 3);
    // A turn whose events were sent before replays them.
    assert_eq!(world.turn(1, "One", Some(&token)).event("message"), first.event("message"));
    // Limits apply to the visitor, across tokens and conversations.
    assert_eq!(world.turn(4, "Four", Some(&token)).status, 200);
    assert_eq!(world.post("/close", &json!({ "token": next.token() })).status, 204);
    let refused = world.turn(5, "Five", Some(&token));
    assert_eq!(refused.json()["details"]["scope"], "visitor");
}

#[test]
fn a_token_opens_its_conversation_and_is_renewed() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let token = first.token();
    let invalid = |token: &str| {
        let answered = world.post("/sync", &json!({ "token": token, "after": 0 }));
        assert_eq!((answered.status, answered.code().as_str()), (401, "TOKEN_INVALID"), "{token}");
    };
    invalid("");
    invalid("vt1.x.y");
    invalid(&token.replace("vt1.", "vt2."));
    invalid(&format!("{token}x"));
    let elsewhere = world.send(&world.api, "/sync", &json!({ "token": token, "after": 0 }), |request| {
        request.headers_mut().insert("origin", "https://evil.example".parse().expect("a value"));
    });
    assert_eq!(elsewhere.code(), "TOKEN_INVALID");
    let sync = || world.post("/sync", &json!({ "token": token, "after": 0 })).token();
    assert_eq!(sync(), token);
    world.clock.advance_millis(DAY_MILLIS);
    let renewed = sync();
    assert_ne!(renewed, token);
    assert_eq!(world.post("/sync", &json!({ "token": renewed, "after": 0 })).status, 200);
    assert_ne!(sync(), token, "the old one still opens it, and is replaced again");
    world.clock.advance_millis(29 * DAY_MILLIS);
    invalid(&token);
    let id = world.conversation(&first).id;
    block_on(world.chat.erase_conversation(&operator(), &agent(), id)).expect("erased");
    invalid(&renewed);
}

#[test]
fn a_person_takes_over_and_gives_back() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let chat = &world.chat;
    assert_eq!(world.conversation(&first).operator_unread, 1);
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    assert_eq!(world.conversation(&first).operator_unread, 0);
    let queued = world.turn(2, "Two", Some(&token));
    assert_eq!(queued.names(), ["session", "ack", "done"]);
    assert_eq!(
        (queued.event("done"), queued.session()["mode"].clone()),
        (json!({ "outcome": "queued" }), json!("human"))
    );
    let again = world.turn(2, "Two", Some(&token));
    assert_eq!(again.names(), ["session", "ack", "done"], "replayed, stored once");
    let written =
        block_on(chat.reply_to_conversation(&operator(), &agent(), id, "Ada", "Which day suits you?"));
    assert_eq!(written.expect("a message").seq, 4);
    let state =
        world.post("/sync", &json!({ "token": token, "after": 3, "open": true })).json()["data"].clone();
    assert_eq!(state["messages"][0]["role"], "human");
    assert_eq!(state["messages"][0]["name"], "Ada");
    assert_eq!((&state["nextPollMs"], &state["unread"]), (&json!(1500), &json!(1)));
    block_on(chat.release_conversation(&operator(), &agent(), id)).expect("released");
    assert_eq!(world.turn(3, "Three", Some(&token)).event("message")["text"], "Hello.");
    // No human replies, so the agent takes over again.
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    world.turn(4, "Four", Some(&token));
    world.clock.advance_millis(10 * 60_000);
    let state = world.post("/sync", &json!({ "token": token, "after": 7 })).json()["data"].clone();
    assert_eq!(state["mode"], "ai");
    block_on(chat.close_conversation(&operator(), &agent(), id)).expect("closed");
    let late = block_on(chat.reply_to_conversation(&operator(), &agent(), id, "Ada", "Hello?"));
    assert!(matches!(late, Err(AdminError::Conflict(_))), "{late:?}");
}

#[test]
fn who_joined_and_left_stays_in_the_conversation() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let people = || {
        let state = world.post("/sync", &json!({ "token": token, "after": 0 })).json()["data"].clone();
        let changes: Vec<String> = state["people"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| format!("{} {} {}", it["after"], it["change"].as_str().unwrap_or(""), it["name"]))
            .collect();
        changes
    };
    let chat = &world.chat;
    let reply = |name: &str| {
        block_on(chat.reply_to_conversation(&operator(), &agent(), id, name, "Hello.")).expect("a message");
    };
    assert!(people().is_empty());
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    assert_eq!(people(), ["2 joined null"]);
    reply("Zoë");
    reply("Zoë");
    reply("");
    assert_eq!(people(), [r#"2 joined "Zoë""#], "the name is known with the first reply");
    reply("Max");
    block_on(chat.release_conversation(&operator(), &agent(), id)).expect("released");
    block_on(chat.release_conversation(&operator(), &agent(), id)).expect("released");
    let all = [r#"2 joined "Zoë""#, r#"5 joined "Max""#, r#"6 left "Max""#];
    assert_eq!(people(), all);
    // A person who never replies leaves as well.
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    world.clock.advance_millis(10 * 60_000);
    assert_eq!(people()[3..], ["6 joined null", "6 left null"]);
    block_on(chat.close_conversation(&operator(), &agent(), id)).expect("closed");
    block_on(chat.close_conversation(&operator(), &agent(), id)).expect("closed");
    assert_eq!(people().last().map(String::as_str), Some("7 closed null"));
    // It stays small, however often somebody joins.
    let second = world.turn(2, "Two", None);
    let id = world.conversation(&second).id;
    for _ in 0..50 {
        block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
        block_on(chat.release_conversation(&operator(), &agent(), id)).expect("released");
    }
    assert_eq!(world.conversation(&second).participants.len(), 40);
}

#[test]
fn visitors_see_who_has_taken_over_before_the_first_reply() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let take = |name| block_on(world.chat.take_conversation(&operator(), &agent(), id, name));
    let people = || {
        let state = world.post("/sync", &json!({ "token": token, "after": 0 })).json()["data"].clone();
        let names = state["people"].as_array().expect("a list").iter().map(|it| it["name"].clone());
        names.collect::<Vec<_>>()
    };
    take(Some(" Zoë ")).expect("taken");
    assert_eq!(people(), [json!("Zoë")]);
    let version = world.conversation(&first).version;
    take(Some("Zoë")).expect("taken");
    take(None).expect("taken");
    take(Some("  ")).expect("taken");
    assert_eq!(world.conversation(&first).version, version, "what changes nothing is not written");
    take(Some("Max")).expect("taken");
    assert_eq!(people(), [json!("Zoë"), json!("Max")]);
    let long = "x".repeat(101);
    for name in ["A\nB", &long] {
        assert!(matches!(take(Some(name)), Err(AdminError::Refused(_))), "{name}");
    }
}

#[test]
fn nobody_waits_for_a_person_in_a_closed_conversation() {
    for nth in 0..3 {
        let world = boundless();
        let seen = &mut 0;
        let first = world.turn(1, "One", None);
        let (token, id) = (first.token(), world.conversation(&first).id);
        let chat = &world.chat;
        block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
        world.turn(2, "Is anybody there?", Some(&token));
        world.emitted(seen);
        match nth {
            0 => drop(block_on(chat.close_conversation(&operator(), &agent(), id)).expect("closed")),
            1 => drop(block_on(chat.revoke_conversation(&operator(), &agent(), id)).expect("revoked")),
            _ => assert_eq!(world.post("/close", &json!({ "token": token })).status, 204),
        }
        let closed = world.conversation(&first);
        assert_eq!((closed.mode, closed.waiting_since), (ConversationMode::Ai, None), "{nth}");
        let kinds: Vec<_> = world.emitted(seen).iter().map(|it| it[0].clone()).collect();
        assert_eq!(kinds, ["conversation.closed"], "{nth}");
        // No later answer says that nobody came.
        world.clock.advance_millis(10 * 60_000);
        let late = world.post("/sync", &json!({ "token": token, "after": 3 }));
        assert!(nth == 1 || late.json()["data"]["messages"] == json!([]), "{nth} {}", late.text);
    }
}

#[test]
fn widgets_ask_for_messages_in_every_mode_while_somebody_may_write() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let interval = |open: bool| {
        let body = json!({ "token": token, "after": 2, "open": open });
        world.post("/sync", &body).json()["data"]["nextPollMs"].clone()
    };
    assert_eq!((interval(true), interval(false)), (json!(3000), json!(3000)), "whether open or not");
    world.clock.advance_millis(30 * 60_000 - 1);
    assert_eq!(interval(true), json!(3000));
    world.clock.advance_millis(1);
    assert_eq!(interval(true), json!(null), "half an hour after the last message");
    let chat = &world.chat;
    block_on(chat.reply_to_conversation(&operator(), &agent(), id, "Zoë", "Hello.")).expect("a message");
    assert_eq!(interval(false), json!(1500), "a person answers");
    world.clock.advance_millis(30 * 60_000);
    assert_eq!(interval(true), json!(null));
    block_on(chat.release_conversation(&operator(), &agent(), id)).expect("released");
    block_on(chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    assert_eq!(interval(true), json!(1500), "a person is awaited");
    block_on(chat.close_conversation(&operator(), &agent(), id)).expect("closed");
    assert_eq!(interval(true), json!(null));
}

#[test]
fn a_form_without_a_message_is_acknowledged_and_not_searched() {
    let world = boundless();
    world.configure(json!({
        "appearance": { "suggestions": ["Opening hours"] },
        "lead": { "fields": ["primaryEmail"], "prechat": true },
        "chat": { "responder": "script" },
    }));
    let mut body = turn(1, "", None);
    body["lead"] = json!({ "fields": { "primaryEmail": "zoe@example.com" }, "consent": null });
    let sent = world.post("/turns", &body);
    assert_eq!(sent.names(), ["session", "ack", "delta", "message", "suggestions", "done"]);
    assert_eq!(sent.event("message")["text"], "Thank you! How can I help?");
    assert_eq!(sent.event("suggestions")["items"], json!(["Opening hours"]), "the first questions stay");
    assert_eq!(sent.event("done"), json!({ "outcome": "answered" }));
    assert!(world.script.asked.lock().expect("asked").is_empty(), "nothing is searched");
    // A question that comes with the form is answered.
    let mut body = turn(2, "When are you open?", None);
    body["lead"] = json!({ "fields": { "primaryEmail": "ada@example.com" }, "consent": null });
    assert_eq!(world.post("/turns", &body).event("message")["text"], "Hello.");
}

#[test]
fn conversations_end_with_their_retention_and_their_contact() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let listed = || {
        let query = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 10 };
        block_on(world.chat.conversations(&agent(), &query)).expect("a page").total
    };
    world.clock.advance_millis(20 * DAY_MILLIS);
    block_on(world.chat.maintain()).expect("maintained");
    assert_eq!(listed(), 1);
    // A shorter retention applies to existing conversations.
    world.configure(json!({ "retentionDays": 10, "chat": { "responder": "script" } }));
    block_on(world.chat.maintain()).expect("maintained");
    assert_eq!(listed(), 0);
    assert_eq!(world.post("/sync", &json!({ "token": first.token(), "after": 0 })).code(), "TOKEN_INVALID");
    let lead = json!({ "fields": { "primaryEmail": "zoe@example.com" }, "consent": null });
    let mut body = turn(2, "Two", None);
    body["lead"] = lead;
    let second = world.post("/turns", &body);
    let contact = world.conversation(&second).contact_id.expect("a contact");
    let contact = openapi_core::contacts::ContactRef::Id(contact);
    block_on(world.platform.erase_contact(&operator(), &agent(), &contact)).expect("erased");
    assert_eq!(listed(), 0);
}

#[test]
fn the_mode_is_part_of_the_session() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    assert_eq!(world.conversation(&first).mode, ConversationMode::Ai);
    assert_eq!(first.session()["mode"], "ai");
    assert_eq!(first.session()["exp"], "2026-03-02T09:45:35.000Z");
}

#[test]
fn an_unanswered_handover_offers_the_form() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let sync = |after: u64| {
        world.post("/sync", &json!({ "token": token, "after": after, "open": true })).json()["data"].clone()
    };
    block_on(world.chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    world.turn(2, "Is anybody there?", Some(&token));
    world.clock.advance_millis(9 * 60_000);
    let state = sync(3);
    assert_eq!((&state["mode"], &state["form"]), (&json!("human"), &json!(null)));
    world.clock.advance_millis(60_000);
    let state = sync(3);
    assert_eq!((&state["mode"], &state["nextPollMs"]), (&json!("ai"), &json!(3000)));
    assert_eq!(state["messages"].as_array().map(Vec::len), Some(1));
    let said = &state["messages"][0];
    assert_eq!((&said["role"], &said["seq"]), (&json!("agent"), &json!(4)));
    assert!(said["text"].as_str().is_some_and(|text| text.starts_with("Nobody is free")));
    assert_eq!(state["form"]["fields"][0]["name"], "primaryEmail");
    assert_eq!(sync(3)["messages"], state["messages"], "it is said once");
    assert_eq!(sync(4)["form"], json!(null), "with its message");
    let form = json!({ "agentId": AGENT, "token": token, "fields": { "primaryEmail": "zoe@example.com" },
        "consent": null, "page": null, "elapsedMs": 8200, "hp": "" });
    assert_eq!(world.post("/lead", &form).status, 200);
    assert_eq!(sync(3)["form"], json!(null), "who has filled it in is not asked again");
    // Without a form there is nothing to offer.
    block_on(world.chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    world.clock.advance_millis(10 * 60_000);
    assert_eq!(sync(4)["messages"], json!([]));
}

#[test]
fn a_question_after_an_unanswered_handover_gets_the_form() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let id = world.conversation(&first).id;
    block_on(world.chat.take_conversation(&operator(), &agent(), id, None)).expect("taken");
    world.clock.advance_millis(10 * 60_000);
    let answered = world.turn(2, "Is anybody there?", Some(&first.token()));
    assert_eq!(answered.names(), ["session", "ack", "status", "delta", "message", "form", "done"]);
    assert!(world.messages(&answered)[3].after.form);
    let next = world.turn(3, "And now?", Some(&first.token()));
    assert!(!next.names().contains(&"form".to_owned()));
}

#[test]
fn revoked_tokens_are_rejected() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let (token, id) = (first.token(), world.conversation(&first).id);
    let other = world.turn(2, "Other", None);
    block_on(world.chat.revoke_conversation(&operator(), &agent(), id)).expect("revoked");
    for (path, body) in [
        ("/sync", json!({ "token": token, "after": 0 })),
        ("/history", json!({ "token": token })),
        ("/turns/resume", json!({ "token": token, "turn": turn_id(1), "after": 0 })),
        ("/turns", turn(3, "Two", Some(&token))),
    ] {
        let answered = world.post(path, &body);
        assert_eq!((answered.status, answered.code().as_str()), (401, "TOKEN_INVALID"), "{path}");
    }
    assert_eq!(world.post("/sync", &json!({ "token": other.token(), "after": 0 })).status, 200);
    let next = world.turn(3, "Two", None);
    assert_ne!(next.session()["conversation"], first.session()["conversation"]);
    assert_eq!(world.messages(&first).len(), 2, "the messages stay");
    // The turn that began it does not lead back to it either.
    let again = world.turn(1, "One", None);
    assert_ne!(again.session()["conversation"], first.session()["conversation"]);
}

#[test]
fn session_tokens_last_a_day_and_others_a_month() {
    let world = boundless();
    let exp = |answered: &Answered| {
        let exp: Timestamp = answered.session()["exp"].as_str().expect("a time").parse().expect("a time");
        exp.millis_since(world.now())
    };
    let mut body = turn(1, "One", None);
    body["persist"] = json!("session");
    let of_tab = world.post("/turns", &body);
    let other = world.turn(2, "Two", None);
    assert_eq!((exp(&of_tab), exp(&other)), (86_400_000, 30 * 86_400_000));
    let fields = json!({ "primaryEmail": "zoe@example.com" });
    let mut lead = json!({ "agentId": AGENT, "fields": fields, "elapsedMs": 8200, "persist": "session" });
    assert_eq!(exp(&world.post("/lead", &lead)), 86_400_000);
    lead["persist"] = json!("local");
    assert_eq!(exp(&world.post("/lead", &lead)), 30 * 86_400_000);
    // Any call that renews it gives the same lifetime.
    world.clock.advance_millis(86_400_000 - 1);
    let renewed = world.post("/sync", &json!({ "token": of_tab.token(), "after": 0 }));
    assert!(exp(&renewed) <= 86_400_000, "{}", renewed.text);
    world.clock.advance_millis(1);
    assert_eq!(world.post("/sync", &json!({ "token": of_tab.token(), "after": 0 })).code(), "TOKEN_INVALID");
    // A month: the token is renewed once it is older than a day, and the old one stays valid until its own expiry.
    let renewed = world.post("/sync", &json!({ "token": other.token(), "after": 0 }));
    assert_ne!(renewed.session()["token"], other.session()["token"]);
    world.clock.advance_millis(29 * 86_400_000 - 1);
    assert_eq!(world.post("/sync", &json!({ "token": other.token(), "after": 0 })).status, 200);
    world.clock.advance_millis(1);
    assert_eq!(world.post("/sync", &json!({ "token": other.token(), "after": 0 })).code(), "TOKEN_INVALID");
    assert_eq!(world.post("/sync", &json!({ "token": renewed.session()["token"], "after": 0 })).status, 200);
}

#[test]
fn tokens_survive_a_key_rotation_and_new_ones_use_the_new_key() {
    let world = boundless();
    let before = world.after_keys(&[8]);
    let token = world.send(&before, "/turns", &turn(1, "One", None), |_| ()).token();
    let sync = json!({ "token": token, "after": 0 });
    let rotated = world.after_keys(&[9, 8]);
    assert_eq!(world.send(&rotated, "/sync", &sync, |_| ()).status, 200, "two keys live at once");
    let second = world.send(&rotated, "/turns", &turn(2, "Two", None), |_| ()).token();
    let without = world.after_keys(&[9]);
    assert_eq!(world.send(&without, "/sync", &sync, |_| ()).code(), "TOKEN_INVALID");
    let sync = json!({ "token": second, "after": 0 });
    assert_eq!(world.send(&without, "/sync", &sync, |_| ()).status, 200);
    assert_eq!(world.send(&before, "/sync", &sync, |_| ()).code(), "TOKEN_INVALID");
}
