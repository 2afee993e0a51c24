//! Answers of endpoints that work, however they write them.

use conversations::{ChatEvent, ChatTurn, Handoff, Outcome, StatusKind, Usage};
use serde_json::json;

use crate::{Said, ask, responder, turn};
use llm::stub::{Part, Reply, Stub, delta_event, event};

#[tokio::test]
async fn a_reply_is_streamed_with_its_sources_and_usage() {
    let stub = Stub::replies(vec![Reply::deltas(&[
        "Home visits",
        " are in Leeds [",
        "1]. They cost",
        " 40 pounds [2] [7].",
    ])])
    .await;
    let said = ask(&responder(&stub), turn("Home visits?")).await;
    assert_eq!(said.text, "Home visits are in Leeds [1]. They cost 40 pounds [2].");
    let (outcome, sources, usage) = said.done();
    assert_eq!(outcome, Outcome::Answered);
    assert_eq!(
        sources.iter().map(|source| (source.n, source.page)).collect::<Vec<_>>(),
        [(1, Some(2)), (2, Some(2))]
    );
    assert_eq!(usage, Usage { input_tokens: 200, output_tokens: 20, cost: 0.0004 });
    let deltas = said.events.iter().filter(|event| matches!(event, ChatEvent::Delta(_))).count();
    assert!(deltas >= 4, "{:?}", said.events);
    assert!(matches!(said.events[0], ChatEvent::Usage(_)), "first what is charged from now on");
    let mut shown = said.events.iter().filter(|event| !matches!(event, ChatEvent::Usage(_)));
    assert_eq!(shown.next(), Some(&ChatEvent::Status(StatusKind::Thinking)), "the start is reported at once");
    assert_eq!(shown.next(), Some(&ChatEvent::Status(StatusKind::Writing)));
}

#[tokio::test]
async fn it_is_the_same_wherever_the_stream_is_cut() {
    let text = "Größe 東京 🙂 [1] — “fine” [2].";
    let stream = format!(
        "{}{}data: [DONE]\n\n",
        delta_event(text),
        event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }))
    );
    let bytes = stream.into_bytes();
    for size in [1, 2, 3, 7, 1_000] {
        let parts =
            bytes.chunks(size).flat_map(|piece| [Part::Bytes(piece.to_vec()), Part::Wait(0)]).collect();
        let stub = Stub::replies(vec![Reply::parts(parts)]).await;
        let said = ask(&responder(&stub), turn("?")).await;
        assert_eq!((said.text.as_str(), said.cited()), (text, vec![1, 2]), "{size}");
    }
}

#[tokio::test]
async fn usage_that_is_missing_is_estimated() {
    let stream = format!("{}data: [DONE]\n\n", delta_event(&"word ".repeat(60)));
    let stub = Stub::replies(vec![Reply::parts(vec![Part::Bytes(stream.into_bytes())])]).await;
    let usage = ask(&responder(&stub), turn("Home visits?")).await.done().2;
    let bytes: usize = stub.received()[0].body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["content"].as_str().expect("text").len())
        .sum();
    assert_eq!(usage.output_tokens, 100);
    assert!(usage.input_tokens as usize * 3 >= bytes, "{usage:?}");
    assert!((usage.cost - (usage.input_tokens as f64 + 1_000.0) / 1e6).abs() < 1e-9);
}

#[tokio::test]
async fn a_model_that_does_not_know_is_unknown() {
    let stub =
        Stub::replies(vec![Reply::deltas(&["I do not know that.", " [0]"]), Reply::deltas(&["[0]"])]).await;
    let responder = responder(&stub);
    let said = ask(&responder, turn("Do you sell boats?")).await;
    assert_eq!(
        (said.text.as_str(), said.outcome(), said.cited()),
        ("I do not know that.", Outcome::Unknown, vec![])
    );
    assert!(said.events.contains(&ChatEvent::Form));
    let mut without_form = turn("Do you sell boats?");
    without_form.can_offer_form = false;
    let said = ask(&responder, without_form).await;
    assert_eq!(
        (said.text.as_str(), said.outcome()),
        ("I could not find an answer to that.", Outcome::Unknown)
    );
    assert!(!said.events.contains(&ChatEvent::Form));
}

#[tokio::test]
async fn tools_offer_the_form_and_a_person_where_that_is_allowed() {
    let call = |name: &str| {
        let stream = format!(
            "{}{}data: [DONE]\n\n",
            event(
                &json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "id": "a", "function": { "name": name, "arguments": "" } }] } }] })
            ),
            event(
                &json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": "{}" } }] }, "finish_reason": "tool_calls" }] })
            ),
        );
        Reply::parts(vec![Part::Bytes(stream.into_bytes())])
    };
    let stub =
        Stub::replies(vec![call("offer_lead_form"), call("request_handoff"), call("delete_contacts")]).await;
    let responder = responder(&stub);
    let mut turn = turn("Call me");
    turn.agent.settings.handoff.enabled = true;
    let said = ask(&responder, turn.clone()).await;
    assert!(said.events.contains(&ChatEvent::Form) && !said.text.is_empty());
    assert_eq!(said.outcome(), Outcome::Answered);
    let said = ask(&responder, turn.clone()).await;
    assert!(said.events.contains(&ChatEvent::Handoff(Handoff::default())) && !said.text.is_empty());
    assert_eq!(said.outcome(), Outcome::Queued);
    let said = ask(&responder, turn.clone()).await;
    // A tool that does not exist does nothing, so that nothing was answered.
    assert!(said.events.iter().all(|event| !matches!(event, ChatEvent::Handoff(_))));
    assert_eq!(said.outcome(), Outcome::Unknown);
    // Only what the turn allows is offered to the model.
    turn.agent.settings.handoff.enabled = false;
    ask(&responder, turn.clone()).await;
    turn.can_offer_form = false;
    ask(&responder, turn).await;
    let names = |nth: usize| -> Vec<String> {
        let tools = stub.received()[nth].body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["function"]["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(0), ["offer_lead_form", "collect", "request_handoff"]);
    assert_eq!((names(3), names(4)), (vec!["offer_lead_form".to_owned(), "collect".to_owned()], vec![]));
}

#[tokio::test]
async fn what_a_model_collects_fills_the_form_in() {
    let calls = |calls: &[(&str, &str)]| {
        let calls: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                json!({ "index": index, "id": format!("call-{index}"), "function": { "name": name, "arguments": arguments } })
            })
            .collect();
        let choice = json!({ "delta": { "tool_calls": calls }, "finish_reason": "tool_calls" });
        let stream = format!("{}data: [DONE]\n\n", event(&json!({ "choices": [choice] })));
        Reply::parts(vec![Part::Bytes(stream.into_bytes())])
    };
    let long = format!(r#"{{"field":"primaryEmail","value":"{}"}}"#, "x".repeat(201));
    let stub = Stub::replies(vec![
        calls(&[
            ("collect", r#"{"field":"primaryEmail","value":"zoe"}"#),
            ("collect", r#"{"field":"primaryEmail","value":" Zoe@Example.com\n"}"#),
            ("collect", r#"{"field":"status","value":"blocked"}"#),
            ("collect", r#"{"field":"primaryEmail","value":""}"#),
            ("collect", r#"{"field":"primaryEmail","value":"mallory@example.com"}"#),
            ("collect", r#"{"field":"primaryEmail","value":7}"#),
            ("collect", &long),
            ("collect", r#"{"field":"primaryEmail","val"#),
        ]),
        calls(&[("collect", "{}")]),
        calls(&[("collect", r#"{"field":"primaryEmail","value":"zoe@example.com"}"#)]),
    ])
    .await;
    let responder = responder(&stub);
    let said = ask(&responder, turn("Write to zoe@example.com")).await;
    let of_the_form = |said: &Said| -> Vec<ChatEvent> {
        let is_of_it = |event: &&ChatEvent| matches!(event, ChatEvent::Collected { .. } | ChatEvent::Form);
        said.events.iter().filter(is_of_it).cloned().collect()
    };
    let field = "primaryEmail".to_owned();
    let value = "Zoe@Example.com".to_owned();
    assert_eq!(of_the_form(&said), [ChatEvent::Collected { field, value }, ChatEvent::Form]);
    assert_eq!((said.outcome(), said.text.is_empty()), (Outcome::Answered, false));
    assert!(stub.received()[0].body.to_string().contains("The fields of the form: primaryEmail."));
    // A call without a value shows the form, as it is; where none may be shown nothing is collected.
    assert_eq!(of_the_form(&ask(&responder, turn("Write to me")).await), [ChatEvent::Form]);
    let without = ChatTurn { can_offer_form: false, form_fields: Vec::new(), ..turn("Write to me") };
    assert_eq!(of_the_form(&ask(&responder, without).await), []);
}

#[tokio::test]
async fn what_a_model_thinks_is_dropped() {
    let thinks = |field: &str| event(&json!({ "choices": [{ "delta": { field: "secret thought" } }] }));
    let stream = format!(
        "{}{}{}data: [DONE]\n\n",
        thinks("reasoning_content"),
        thinks("reasoning"),
        delta_event("Yes.")
    );
    let tags = Reply::deltas(&[" \n<th", "ink>secret thou", "ght</th", "ink>\n\nYes", "."]);
    let stub = Stub::replies(vec![
        Reply::parts(vec![Part::Bytes(stream.into_bytes())]),
        tags,
        Reply::deltas(&["<thin", " air."]),
    ])
    .await;
    let responder = responder(&stub);
    for wanted in ["Yes.", "Yes.", "<thin air."] {
        let said = ask(&responder, turn("?")).await;
        assert_eq!(said.text, wanted);
        let thinking = said.events.iter().filter(|event| **event == ChatEvent::Status(StatusKind::Thinking));
        assert_eq!(thinking.count(), 1, "{:?}", said.events);
    }
}

#[tokio::test]
async fn an_endpoint_that_does_not_stream_is_understood() {
    let body = json!({ "choices": [{ "message": { "content": "Whole [1]." }, "finish_reason": "stop" }], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } });
    let stub = Stub::replies(vec![Reply::json(200, &body)]).await;
    let said = ask(&responder(&stub), turn("?")).await;
    assert_eq!((said.text.as_str(), said.done().2.tokens()), ("Whole [1].", 5));
}

#[tokio::test]
async fn the_dialect_that_an_endpoint_takes_is_found_once() {
    let stub = Stub::with(|_, body| {
        if body.get("max_tokens").is_some() {
            return Reply::error(400, "Unsupported parameter: 'max_tokens'");
        }
        if body.get("tools").is_some() {
            return Reply::error(400, "this model has no tools");
        }
        Reply::deltas(&["Yes."])
    })
    .await;
    let responder = responder(&stub);
    for requests in [3, 4] {
        assert_eq!(ask(&responder, turn("?")).await.text, "Yes.");
        assert_eq!(stub.received().len(), requests);
    }
}

#[tokio::test]
async fn a_reply_ends_at_its_limit() {
    let deltas: Vec<String> = (0..100).map(|_| delta_event(&"x".repeat(1_000))).collect();
    let stub =
        Stub::replies(vec![Reply::parts(vec![Part::Bytes(deltas.concat().into_bytes()), Part::Hang])]).await;
    let said = ask(&responder(&stub), turn("?")).await;
    assert_eq!((said.text.len(), said.outcome()), (64 << 10, Outcome::Answered));
}
