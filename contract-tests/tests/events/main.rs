//! Events (contract 17): what changes tell, and reading them.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

mod deliveries;
mod streams;
mod webhooks;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Sandbox, on_every_backend, story};
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::events::{Event, EventType};
use openapi_core::ports::Timer;
use serde_json::{Value, json};

on_every_backend!(
    changes_of_contacts_have_their_events,
    what_changes_nothing_has_no_event,
    forms_and_files_have_their_events,
    a_reader_goes_on_where_it_stopped,
    types_filter,
    bad_input_is_refused,
    events_that_are_lost_are_said,
    an_erased_contact_is_in_no_event,
    waiting_ends_with_an_event,
    waiting_ends_in_time_whatever_is_left_out,
    few_requests_of_an_agent_wait,
);

const PATH: &str = "/events/chatbots/<A>";

/// The events after the creation of the key of the sandbox.
fn events(cx: &Sandbox) -> Vec<Value> {
    let all = cx.get(PATH).expect(200).data().as_array().unwrap().clone();
    all.into_iter().filter(|event| event["type"] != "key.created").collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn changes_of_contacts_have_their_events(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let _ = cx.put(
        "/contacts/crm-1001/chatbots/<A>",
        &json!({ "firstName": "Zo", "tags": ["vip"], "customFields": { "plan": "silver" } }),
    );
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    let _ = cx
        .call("PUT", "/contacts/crm-9/chatbots/<A>?upsert=true")
        .json(&json!({ "primaryEmail": "b@c.co" }))
        .send()
        .expect(201);
    let events = events(&cx);
    let names =
        ["contact.created", "contact.updated", "contact.archived", "contact.unarchived", "contact.created"];
    assert_eq!(kinds(&events), names);
    let first = &events[0];
    let members: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(members, ["id", "seq", "cursor", "type", "timestamp", "agentId", "actor", "data"]);
    assert_eq!(first["data"], json!({ "contactId": id }));
    assert_eq!(first["actor"]["type"], "apiKey");
    assert!(first["actor"]["id"].as_str().unwrap().starts_with("svck_"), "{first}");
    let cursor = format!("{}.{}", first["seq"], first["id"].as_str().unwrap());
    assert_eq!(first["cursor"], cursor.as_str());
    let mut changed: Vec<&str> =
        events[1]["data"]["changed"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    changed.sort_unstable();
    assert_eq!(changed, ["customFields", "firstName", "tags"], "names of top-level fields, never values");
    let text = cx.get(PATH).text;
    for value in ["Zo", "silver", "b@c.co", "crm-9"] {
        assert!(!text.contains(value), "{value} in {text}");
    }
    // Each example of the catalogue has the form of its type, and so has each event.
    let types = cx.get("/events/types").expect(200).data().clone();
    for event in &events {
        let schema = &types[event["type"].as_str().unwrap()]["schema"];
        assert!(jsonschema::is_valid(schema, &event["data"]), "{event} under {schema}");
    }
    assert_eq!(types.as_object().unwrap().len(), EventType::ALL.len());
    for (name, about) in types.as_object().unwrap() {
        assert!(jsonschema::is_valid(&about["schema"], &about["example"]), "{name}: {about}");
    }
}

fn what_changes_nothing_has_no_event(backend: Backend) {
    let cx = Sandbox::new(backend);
    let create = |key: &str, body: &Value| {
        cx.call("POST", "/contacts/chatbots/<A>").header("Idempotency-Key", key).json(body).send()
    };
    let _ = create("one", &story::new_contact()).expect(201);
    let before = events(&cx);
    assert_eq!(before.len(), 1);
    // A replay, a refused write, a dry run, an update to what is there, an archival of what is not archived.
    let _ = create("one", &story::new_contact()).expect(201);
    let _ = create("two", &story::new_contact()).fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    let _ = cx
        .call("POST", "/contacts/chatbots/<A>?dryRun=true")
        .json(&json!({ "primaryEmail": "x@y.co" }))
        .send()
        .expect(200);
    let _ = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "firstName": "Zoë" }));
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    let _ = cx
        .put("/contacts/crm-1001/chatbots/<A>", &json!({ "primaryEmail": "not one" }))
        .fails(400, "VALIDATION_ERROR");
    assert_eq!(events(&cx), before);
}

fn forms_and_files_have_their_events(backend: Backend) {
    let (cx, known) = contract_tests::table::prepared(backend);
    let put = |body: Value| {
        let path = format!("/forms/submissions/{}/chatbots/<A>", known.submission);
        cx.put(&path, &body).expect(200)
    };
    let _ = put(json!({ "reviewNotes": "Seen" }));
    let _ = put(json!({ "status": "approved", "reviewNotes": "Good" }));
    let path = format!("/files/chatbots/<A>/{}/files/{}", known.contact, known.file);
    let _ = cx.call("DELETE", &path).send().expect(200);
    let events = events(&cx);
    let names = [
        "contact.created",
        "file.uploaded",
        "template.created",
        "template.activated",
        "submission.created",
        "submission.updated",
        "submission.status_changed",
        "file.deleted",
    ];
    assert_eq!(kinds(&events), names);
    assert_eq!(events[1]["data"], json!({ "contactId": known.contact, "fileId": known.file }));
    let created = &events[4]["data"];
    assert_eq!(
        (&created["submissionId"], &created["status"]),
        (&json!(known.submission), &json!("submitted"))
    );
    assert_eq!(events[5]["data"]["changed"], json!(["reviewNotes"]));
    let changed = &events[6]["data"];
    assert_eq!((&changed["from"], &changed["to"]), (&json!("submitted"), &json!("approved")));
    assert_eq!(
        events[2]["actor"],
        json!({ "type": "operator", "id": null }),
        "names of people stay in the audit log"
    );
}

fn a_reader_goes_on_where_it_stopped(backend: Backend) {
    let cx = Sandbox::new(backend);
    for number in 0..5 {
        let _ = cx.create(&json!({ "primaryEmail": format!("{number}@example.com") }));
    }
    let all = cx.get(PATH).expect(200).data().as_array().unwrap().clone();
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let query = cursor.map_or_else(String::new, |cursor: String| format!("&after={cursor}"));
        let reply = cx.get(&format!("{PATH}?limit=2{query}")).expect(200);
        let stream = &reply.json["stream"];
        assert_eq!((&stream["oldest"], &stream["head"]), (&json!(1), &json!(all.len())));
        let page = reply.data().as_array().unwrap().clone();
        assert!(page.len() <= 2);
        if let Some(last) = page.last() {
            assert_eq!(stream["cursor"], last["cursor"]);
        }
        seen.extend(page);
        cursor = stream["cursor"].as_str().map(str::to_owned);
        if stream["hasMore"] == false {
            break;
        }
    }
    assert_eq!(seen, all);
    assert_eq!(
        seen.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>(),
        (1..=all.len() as u64).collect::<Vec<_>>()
    );
    // A bare number, and a cursor in upper case.
    let after = all[2]["cursor"].as_str().unwrap().to_uppercase();
    for after in ["3", &after] {
        let reply = cx.get(&format!("{PATH}?after={after}")).expect(200);
        assert_eq!(reply.data(), &json!(all[3..]), "{after}");
    }
    let end = all.last().unwrap()["cursor"].as_str().unwrap();
    let reply = cx.get(&format!("{PATH}?after={end}")).expect(200);
    assert_eq!((reply.data(), &reply.json["stream"]["cursor"]), (&json!([]), &json!(end)));
    // Another agent's events are its own.
    let other = cx.of_agent("other");
    assert!(events(&other).is_empty());
    let _ = cx.get("/events/chatbots/other").fails(403, "AGENT_FORBIDDEN");
}

fn types_filter(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    let _ = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "firstName": "Zo" }));
    let head = cx.get(PATH).json["stream"]["cursor"].clone();
    for (types, expected) in [
        ("contact.created", vec!["contact.created"]),
        ("contact.*", vec!["contact.created", "contact.updated"]),
        ("contact.updated,file.*", vec!["contact.updated"]),
        ("file.*", vec![]),
        ("*", vec!["key.created", "contact.created", "contact.updated"]),
    ] {
        let reply = cx.get(&format!("{PATH}?types={types}")).expect(200);
        assert_eq!(kinds(reply.data().as_array().unwrap()), expected, "{types}");
        assert_eq!(reply.json["stream"]["cursor"], head, "the cursor moves past what the filter leaves out");
    }
}

fn bad_input_is_refused(backend: Backend) {
    let cx = Sandbox::new(backend);
    let many = vec!["*"; 51].join(",");
    for (query, field, rule) in [
        ("after=x", "after", "format"),
        ("after=-1", "after", "format"),
        ("after=1.2", "after", "format"),
        ("after=1.697dc8165d4ffa83cfc35cf", "after", "format"),
        ("after=99999999999999999999", "after", "format"),
        ("after=.697dc8165d4ffa83cfc35cfc", "after", "format"),
        ("types=contact", "types", "enum"),
        ("types=contact.created,", "types", "enum"),
        ("types=contact*", "types", "enum"),
        ("types=Contact.created", "types", "enum"),
        (&format!("types={many}"), "types", "maxItems"),
        ("limit=0", "limit", "minimum"),
        ("limit=501", "limit", "maximum"),
        ("limit=x", "limit", "type"),
        ("wait=26", "wait", "maximum"),
        ("wait=-1", "wait", "minimum"),
        ("page=1", "page", "unknown"),
        ("limit=1&limit=2", "limit", "duplicate"),
    ] {
        let reply = cx.get(&format!("{PATH}?{query}"));
        assert_eq!(reply.status, 400, "{query}: {}", reply.text);
        let errors = reply.json["validationErrors"].as_array().unwrap().clone();
        let found: Vec<_> =
            errors.iter().map(|error| (error["field"].clone(), error["type"].clone())).collect();
        assert_eq!(found, [(json!(field), json!(rule))], "{query}: {}", reply.text);
    }
    let _ = cx.get("/events/types?x=1").fails(400, "VALIDATION_ERROR");
    let _ = cx.post(PATH, &json!({})).fails(405, "METHOD_NOT_ALLOWED");
    let key = cx.key_that_may("contacts:all");
    let _ = cx.call("GET", PATH).with(&key).send().fails(403, "INSUFFICIENT_PERMISSIONS");
}

fn events_that_are_lost_are_said(backend: Backend) {
    let cx = Sandbox::new(backend);
    for number in 0..4 {
        let _ = cx.create(&json!({ "primaryEmail": format!("{number}@example.com") }));
    }
    let all = cx.get(PATH).expect(200).data().as_array().unwrap().clone();
    let head = all.len() as u64;
    let lost = |after: &str, reason: &str, oldest: u64| {
        let reply = cx.get(&format!("{PATH}?after={after}")).fails(410, "EVENTS_LOST");
        assert_eq!(
            reply.json["details"],
            json!({ "oldest": oldest, "head": head, "reason": reason }),
            "{after}"
        );
    };
    lost(&(head + 1).to_string(), "rewritten", 1);
    lost("2.000000000000000000000000", "rewritten", 1);
    // A cursor of another log, beyond the end of this one.
    lost("999.697dc8165d4ffa83cfc35cfc", "rewritten", 1);
    cx.advance(8 * 24 * 3_600_000);
    let _ = cx.create(&json!({ "primaryEmail": "late@example.com" }));
    wait(cx.platform.maintain()).unwrap();
    let left = cx.get(PATH).expect(200);
    assert_eq!(left.json["stream"]["oldest"], head + 1, "after seven days events go");
    let cursor = all[1]["cursor"].as_str().unwrap();
    let reply = cx.get(&format!("{PATH}?after={cursor}")).fails(410, "EVENTS_LOST");
    assert_eq!(reply.json["details"], json!({ "oldest": head + 1, "head": head + 1, "reason": "expired" }));
    // The event of the cursor may be gone, as long as the next one is there.
    let cursor = all.last().unwrap()["cursor"].as_str().unwrap();
    assert_eq!(
        cx.get(&format!("{PATH}?after={cursor}")).expect(200).data().as_array().map(Vec::len),
        Some(1)
    );
}

fn an_erased_contact_is_in_no_event(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let other = cx.create(&json!({ "primaryEmail": "b@example.com" })).id();
    let before = events(&cx);
    let contact = ContactRef::Id(id.parse().unwrap());
    wait(cx.platform.erase_contact(&operator(), &cx.agent, &contact)).unwrap();
    let after = events(&cx);
    let same = |name: &str| assert_eq!(after[0][name], before[0][name], "{name}");
    ["id", "seq", "cursor", "type", "timestamp"].into_iter().for_each(same);
    assert_eq!(after[0]["actor"], json!({ "type": "system", "id": null }));
    assert_eq!((&after[0]["data"], &after[0]["erased"]), (&json!({}), &json!(true)));
    assert_eq!(after[1], before[1], "{other} stays");
    assert_eq!(
        (&after[2]["type"], &after[2]["data"]),
        (&json!("contact.erased"), &json!({ "contactId": id }))
    );
    wait(cx.platform.maintain()).unwrap();
    assert_eq!(events(&cx), after);
    assert_eq!(wait(cx.store.storage.scrub_logs(1)).unwrap(), 0, "nothing is left to empty");
}

fn waiting_ends_with_an_event(backend: Backend) {
    let cx = Sandbox::new(backend);
    let cursor = cx.get(PATH).json["stream"]["cursor"].as_str().unwrap().to_owned();
    // Events that the filter leaves out do not end it.
    let target = format!("{PATH}?wait=25&types=contact.updated&after={cursor}");
    let call = cx.call("GET", &target);
    let mut waiting = Box::pin(call.answer());
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = || {
        for _ in 0..200 {
            if let Poll::Ready(reply) = waiting.as_mut().poll(&mut context) {
                return Some(reply);
            }
            std::thread::yield_now();
        }
        None
    };
    assert!(poll().is_none());
    let _ = cx.create(&story::new_contact());
    assert!(poll().is_none());
    let _ = cx.put("/contacts/crm-1001/chatbots/<A>", &json!({ "firstName": "Zo" }));
    let reply = (0..1_000).find_map(|_| poll()).expect("an answer").expect(200);
    assert_eq!(kinds(reply.data().as_array().unwrap()), ["contact.updated"]);
}

/// A timer that a test moves.
#[derive(Clone, Default)]
struct HandTimer(Arc<AtomicU64>);

impl Timer for HandTimer {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (now, due) = (Arc::clone(&self.0), self.0.load(Ordering::SeqCst) + millis);
        Box::pin(poll_fn(
            move |_| {
                if now.load(Ordering::SeqCst) >= due { Poll::Ready(()) } else { Poll::Pending }
            },
        ))
    }
}

fn polled<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// A client that writes all the time holds no connection beyond `wait`.
fn waiting_ends_in_time_whatever_is_left_out(backend: Backend) {
    let (cx, timer) = (Sandbox::new(backend), HandTimer::default());
    let cx = cx.rebuilt(cx.ports().clone().with_timer(Arc::new(timer.clone())), |_| {});
    let target = format!("{PATH}?wait=5&types=contact.erased");
    let call = cx.call("GET", &target);
    let mut waiting = Box::pin(call.answer());
    // Before it listens, the request may hold the lock under which its key takes a lease of the limits, and `create`
    // below, which polls nothing else, would wait for that lock for ever.
    while cx.store.storage.notifier().listeners(&cx.agent) == 0 {
        assert!(polled(waiting.as_mut()).is_none());
        std::thread::yield_now();
    }
    for round in 0..400 {
        // The stores of databases answer from other threads.
        for _ in 0..200 {
            if let Some(reply) = polled(waiting.as_mut()) {
                assert_eq!(reply.expect(200).data().as_array().map(Vec::len), Some(0));
                assert!(timer.0.load(Ordering::SeqCst) >= 5_000, "after round {round}");
                return;
            }
            std::thread::yield_now();
        }
        let external = format!("crm-{round}");
        let _ = cx.create(
            &json!({ "externalReferenceId": external, "primaryEmail": format!("{round}@example.com") }),
        );
        timer.0.fetch_add(200, Ordering::SeqCst);
    }
    panic!("it waits for ever");
}

fn few_requests_of_an_agent_wait(backend: Backend) {
    let cx = Sandbox::new(backend);
    let cursor = cx.get(PATH).json["stream"]["cursor"].as_str().unwrap().to_owned();
    let target = format!("{PATH}?wait=25&after={cursor}");
    let calls: Vec<_> = (0..65).map(|_| cx.call("GET", &target)).collect();
    let mut waiting: Vec<_> = calls.iter().map(|call| Box::pin(call.answer())).collect();
    let mut last = waiting.pop().unwrap();
    let listeners = || cx.store.storage.notifier().listeners(&cx.agent);
    // The stores of databases answer from other threads.
    while listeners() < 64 {
        assert!(waiting.iter_mut().all(|one| polled(one.as_mut()).is_none()));
        std::thread::yield_now();
    }
    assert_eq!(cx.get(&target).expect(200).data().as_array().map(Vec::len), Some(0), "it does not wait");
    waiting.pop();
    while listeners() < 64 {
        assert!(polled(last.as_mut()).is_none(), "there is room for one");
        std::thread::yield_now();
    }
}

#[test]
fn events_are_written_as_they_are_read() {
    // The type that hosts read in process has the members of the contract.
    let cx = Sandbox::new(Backend::Memory);
    let _ = cx.create(&story::new_contact());
    let page = wait(Arc::clone(&cx.store.storage).log(&cx.agent, 0, 9)).unwrap();
    let read: Vec<Value> =
        page.entries.iter().map(|entry| json!(Event::of(&cx.agent, entry).unwrap())).collect();
    assert_eq!(json!(read), *cx.get(PATH).expect(200).data());
}
