//! Idempotency-Key (contract 5.5).

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use contract_tests::{Backend, Call, Reply, Sandbox, on_every_backend, story};
use openapi_core::storage::StorageErrorKind;
use serde_json::{Value, json};

on_every_backend!(
    replay,
    order_of_members_does_not_count,
    another_payload,
    a_key_in_use,
    an_abandoned_request_frees_its_key,
    a_key_in_use_by_another_process,
    stored_for_a_day,
    bound_to_the_api_key,
    bound_to_the_path,
    failures_are_not_stored,
    forms_of_the_key,
    ignored_on_other_methods,
    replay_precedes_validation,
    a_replay_counts_and_shows_the_limits,
    a_replay_returns_the_original_response,
    replays_survive_a_restart,
    erased_contacts_are_not_replayed,
    many_at_once_create_one,
);

const CREATE: &str = "/contacts/chatbots/<A>";

fn call<'a>(cx: &'a Sandbox, key: &str, body: &Value) -> Call<'a> {
    cx.call("POST", CREATE).json(body).header("idempotency-key", key)
}

fn total(cx: &Sandbox) -> Value {
    cx.get("/contacts/chatbots/<A>?includeArchived=1").expect(200).pagination()["totalItems"].clone()
}

fn mail() -> Value {
    json!({ "primaryEmail": "a@b.co" })
}

#[track_caller]
fn is_replay(reply: &Reply, of: &Reply) {
    assert_eq!(reply.status, of.status);
    assert_eq!(reply.text, of.text);
    assert_eq!(reply.header("location"), of.header("location"));
    assert_eq!(reply.header("idempotent-replayed"), Some("true"));
    assert_ne!(reply.header("x-request-id"), of.header("x-request-id"));
}

fn replay(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "key-1", &story::new_contact()).send().expect(201);
    assert_eq!(first.header("idempotent-replayed"), None);
    for _ in 0..3 {
        cx.advance(1_000);
        is_replay(&call(&cx, "key-1", &story::new_contact()).send(), &first);
    }
    assert_eq!(total(&cx), 1);
    let other = call(&cx, "key-2", &mail()).send().expect(201);
    assert_ne!(other.id(), first.id());
    let without = cx.try_create(&mail()).expect(201);
    assert_ne!(without.id(), other.id());
}

fn order_of_members_does_not_count(backend: Backend) {
    let cx = Sandbox::new(backend);
    let text = |body: &str| cx.call("POST", CREATE).text(body).header("idempotency-key", "k").send();
    let first = text(r#"{"primaryEmail":"a@b.co","customFields":{"a":1,"b":{"c":2,"d":[1,{"e":3,"f":4}]}}}"#)
        .expect(201);
    let again = text(
        "\u{feff}{ \"customFields\": {\"b\":{\"d\":[1,{\"f\":4,\"e\":3}],\"c\":2},\"\\u0061\":1},\n\"primaryEmail\":\"a@b.co\"}",
    );
    is_replay(&again, &first);
    for other in [
        r#"{"primaryEmail":"a@b.co","customFields":{"a":1,"b":{"c":2,"d":[{"e":3,"f":4},1]}}}"#,
        r#"{"primaryEmail":"a@b.co","customFields":{"a":"1","b":{"c":2,"d":[1,{"e":3,"f":4}]}}}"#,
        r#"{"primaryEmail":"A@b.co","customFields":{"a":1,"b":{"c":2,"d":[1,{"e":3,"f":4}]}}}"#,
        r#"{"primaryEmail":"a@b.co","tags":null,"customFields":{"a":1,"b":{"c":2,"d":[1,{"e":3,"f":4}]}}}"#,
    ] {
        let _ = text(other).fails(422, "IDEMPOTENCY_KEY_REUSED");
    }
}

fn another_payload(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "k", &mail()).send().expect(201);
    for body in [
        json!({ "primaryEmail": "b@b.co" }),
        json!({}),
        json!([]),
        json!({ "primaryEmail": "a@b.co", "x": 1 }),
    ] {
        let reply = call(&cx, "k", &body).send().fails(422, "IDEMPOTENCY_KEY_REUSED");
        assert_eq!(reply.header("idempotent-replayed"), None);
    }
    let _ =
        cx.call("POST", CREATE).header("idempotency-key", "k").send().fails(422, "IDEMPOTENCY_KEY_REUSED");
    is_replay(&call(&cx, "k", &mail()).send(), &first);
    assert_eq!(total(&cx), 1);
}

/// A no-op waker: the test polls explicitly.
struct Asleep;

impl Wake for Asleep {
    fn wake(self: Arc<Self>) {}
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::new(Asleep))))
}

fn a_key_in_use(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    // The schema and the limits are cached from here on, so the request waits at the held write.
    let _ = cx.try_create(&mail()).expect(201);
    faulty.stall(true);
    let running = call(&cx, "k", &mail());
    let mut first = pin!(running.answer());
    assert!(poll(first.as_mut()).is_pending());
    for body in [mail(), json!({ "primaryEmail": "b@b.co" })] {
        let reply = call(&cx, "k", &body).send().fails(409, "IDEMPOTENCY_KEY_IN_USE");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    faulty.stall(false);
    let first = contract_tests::sandbox::wait(first).expect(201);
    is_replay(&call(&cx, "k", &mail()).send(), &first);
}

fn an_abandoned_request_frees_its_key(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    let _ = cx.try_create(&mail()).expect(201);
    faulty.stall(true);
    {
        let running = call(&cx, "k", &mail());
        let mut first = pin!(running.answer());
        assert!(poll(first.as_mut()).is_pending());
    }
    faulty.stall(false);
    let reply = call(&cx, "k", &mail()).send().expect(201);
    assert_eq!(reply.header("idempotent-replayed"), None);
    assert_eq!(total(&cx), 2);
}

/// Two concurrent processes: one creates, the other replays the response or rejects another payload.
fn a_key_in_use_by_another_process(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    let elsewhere = cx.restarted();
    let _ = cx.try_create(&mail()).expect(201);
    for (key, body) in [("k1", mail()), ("k2", json!({ "primaryEmail": "b@b.co" }))] {
        faulty.stall(true);
        let running = call(&cx, key, &body);
        let mut held = pin!(running.answer());
        assert!(poll(held.as_mut()).is_pending());
        faulty.stall(false);
        let faster = call(&elsewhere, key, &mail()).send().expect(201);
        let held = contract_tests::sandbox::wait(held);
        if key == "k1" {
            is_replay(&held, &faster);
        } else {
            let _ = held.fails(422, "IDEMPOTENCY_KEY_REUSED");
        }
    }
    assert_eq!(total(&cx), 3);
}

fn stored_for_a_day(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "k", &mail()).send().expect(201);
    cx.advance(86_400_000 - 1);
    is_replay(&call(&cx, "k", &mail()).send(), &first);
    contract_tests::sandbox::wait(cx.platform.maintain()).expect("maintenance");
    is_replay(&call(&cx, "k", &mail()).send(), &first);
    cx.advance(1);
    let second = call(&cx, "k", &json!({ "primaryEmail": "b@b.co" })).send().expect(201);
    assert_ne!(second.id(), first.id());
    // The day counts from the request that got the response.
    cx.advance(86_400_000 - 1);
    is_replay(&call(&cx, "k", &json!({ "primaryEmail": "b@b.co" })).send(), &second);
}

fn bound_to_the_api_key(backend: Backend) {
    let cx = Sandbox::new(backend);
    let other = cx.issue(|_| {});
    let first = call(&cx, "k", &mail()).send().expect(201);
    let second = call(&cx, "k", &json!({ "primaryEmail": "b@b.co" })).with(&other).send().expect(201);
    is_replay(&call(&cx, "k", &mail()).send(), &first);
    is_replay(&call(&cx, "k", &json!({ "primaryEmail": "b@b.co" })).with(&other).send(), &second);
}

fn bound_to_the_path(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "k", &mail()).send().expect(201);
    // One trailing slash is ignored; the path is the same.
    let slash =
        cx.call("POST", "/contacts/chatbots/<A>/").json(&mail()).header("idempotency-key", "k").send();
    is_replay(&slash, &first);
    // The query is not part of the path.
    let query =
        cx.call("POST", "/contacts/chatbots/<A>?_=1").json(&mail()).header("idempotency-key", "k").send();
    is_replay(&query, &first);
}

fn failures_are_not_stored(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    let _ = call(&cx, "k", &json!({ "tags": 1 })).send().fails(400, "VALIDATION_ERROR");
    faulty.fail(Some(StorageErrorKind::Unavailable));
    let _ = call(&cx, "k", &mail()).send().fails(503, "SERVICE_UNAVAILABLE");
    faulty.fail(None);
    faulty.lose_races(u32::MAX);
    let _ = call(&cx, "k", &mail()).send().fails(409, "CONCURRENT_UPDATE");
    faulty.lose_races(0);
    let taken =
        cx.try_create(&json!({ "primaryEmail": "a@b.co", "externalReferenceId": "x" })).expect(201).id();
    let body = json!({ "primaryEmail": "a@b.co", "externalReferenceId": "x" });
    let _ = call(&cx, "k", &body).send().fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    let _ = cx.try_update(&taken, &json!({ "externalReferenceId": null })).expect(200);
    let first = call(&cx, "k", &body).send().expect(201);
    assert_eq!(first.header("idempotent-replayed"), None);
    is_replay(&call(&cx, "k", &body).send(), &first);
}

fn forms_of_the_key(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "abc", &mail()).send().expect(201);
    for same in ["\"abc\"", " abc ", " \"abc\" "] {
        is_replay(&call(&cx, same, &mail()).send(), &first);
    }
    for other in [
        "ABC",
        "\"abc",
        "a b c",
        "\"\"abc\"\"",
        &"k".repeat(255),
        &format!("\"{}\"", "q".repeat(255)),
        "~!@#$%^&*()_+{}|:<>?`-=[];',./",
    ] {
        let reply = call(&cx, other, &mail()).send().expect(201);
        assert_eq!(reply.header("idempotent-replayed"), None, "{other}");
    }
    for bad in ["", "\"\"", " ", &"k".repeat(256), &format!("\"{}\"", "q".repeat(256)), "a\tb", "é"] {
        let reply =
            cx.call("POST", CREATE).json(&mail()).raw_header("idempotency-key", bad.as_bytes()).send();
        let reply = reply.invalid(&[("Idempotency-Key", "format")]);
        assert_eq!(
            (&reply.violation(0)["in"], &reply.violation(0)["value"]),
            (&json!("header"), &Value::Null)
        );
    }
    let twice = call(&cx, "a", &mail()).header("idempotency-key", "b").send();
    let _ = twice.invalid(&[("Idempotency-Key", "format")]);
}

fn ignored_on_other_methods(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    for key in ["k", "", &"k".repeat(300)] {
        for name in ["A", "B"] {
            let put = cx.call("PUT", "/contacts/crm-1001/chatbots/<A>").json(&json!({ "firstName": name }));
            let reply = put.header("idempotency-key", key).send().expect(200);
            assert_eq!(
                (&reply.data()["firstName"], reply.header("idempotent-replayed")),
                (&json!(name), None)
            );
        }
        let _ = cx
            .call("GET", "/contacts/crm-1001/chatbots/<A>")
            .header("idempotency-key", key)
            .send()
            .expect(200);
        let _ = cx
            .call("PATCH", "/contacts/crm-1001/chatbots/<A>/unarchive")
            .header("idempotency-key", key)
            .send()
            .expect(200);
    }
}

/// Contract 6.3: step 9 comes before step 12.
fn replay_precedes_validation(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "k", &mail()).send().expect(201);
    let with_fault = cx
        .call("POST", "/contacts/chatbots/<A>?nonsense=1")
        .json(&mail())
        .header("idempotency-key", "k")
        .send();
    is_replay(&with_fault, &first);
    // A stored response to a then-valid request is replayed, whatever the schema is now.
    cx.define(&json!({ "fields": [{ "name": "lastName", "required": true }] }));
    is_replay(&call(&cx, "k", &mail()).send(), &first);
    let _ = call(&cx, "other", &mail()).send().invalid(&[("lastName", "required")]);
}

fn a_replay_counts_and_shows_the_limits(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| key.limits = openapi_core::access::RateLimits { per_minute: 3, per_hour: 3 });
    let send = || call(&cx, "k", &mail()).with(&key).send();
    assert_eq!(send().expect(201).header("x-ratelimit-remaining"), Some("2"));
    assert_eq!(send().expect(201).header("x-ratelimit-remaining"), Some("1"));
    assert_eq!(send().expect(201).header("x-ratelimit-remaining"), Some("0"));
    let _ = send().fails(429, "RATE_LIMIT_EXCEEDED");
}

fn a_replay_returns_the_original_response(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "k", &story::new_contact()).send().expect(201);
    let _ = cx.update(&first.id(), &json!({ "firstName": "Changed", "externalReferenceId": "renamed" }));
    is_replay(&call(&cx, "k", &story::new_contact()).send(), &first);
}

fn replays_survive_a_restart(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = call(&cx, "k", &mail()).send().expect(201);
    let again = cx.restarted();
    is_replay(&call(&again, "k", &mail()).send(), &first);
    let _ = call(&again, "k", &json!({})).send().fails(422, "IDEMPOTENCY_KEY_REUSED");
}

/// Contract 14: erasure removes the contact's data everywhere.
fn erased_contacts_are_not_replayed(backend: Backend) {
    use openapi_core::admin::Admin;
    use openapi_core::contacts::ContactRef;
    let cx = Sandbox::new(backend);
    let first = call(&cx, "k", &mail()).send().expect(201);
    let contact = ContactRef::Id(first.id().parse().expect("an id"));
    let operator = contract_tests::sandbox::operator();
    let erased = cx.platform.erase_contact(&operator, &cx.agent, &contact);
    let _ = contract_tests::sandbox::wait(erased).expect("erased");
    let second = call(&cx, "k", &mail()).send().expect(201);
    assert_ne!(second.id(), first.id());
}

fn many_at_once_create_one(backend: Backend) {
    let cx = Sandbox::new(backend);
    let ids: Vec<Option<String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let cx = &cx;
                scope.spawn(move || {
                    let reply = call(cx, "k", &mail()).send();
                    assert!(
                        reply.status == 201 || reply.code() == "IDEMPOTENCY_KEY_IN_USE",
                        "{}",
                        reply.text
                    );
                    (reply.status == 201).then(|| reply.id())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut ids: Vec<String> = ids.into_iter().flatten().collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(total(&cx), 1);
}
