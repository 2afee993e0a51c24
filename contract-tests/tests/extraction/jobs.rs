//! Extractions that run on their own (contract 12.5).

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Form, Reply, Sandbox, on_every_backend};
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::platform::{ExtractionSettings, FileSettings};
use openapi_core::ports::Timer;
use openapi_core::storage::{JobClaim, Queue};
use openapi_core::values::{JobId, PlatformId};
use serde_json::{Value, json};

use crate::support::{balance, form, plan, sandbox, sandbox_with, send};

on_every_backend!(
    a_job_has_the_result_of_an_extraction,
    what_is_wrong_is_answered_at_once,
    a_file_of_a_contact_is_read,
    an_erasure_ends_the_jobs_of_the_contact,
    a_failed_job_costs_nothing,
    a_job_is_cancelled_once,
    a_job_is_removed_with_its_document,
    lists_and_batches,
    a_full_queue_refuses,
    a_repeated_request_queues_nothing,
    a_job_is_charged_once_by_one_of_two_servers,
    an_engine_that_is_away_is_tried_again,
    a_stop_hands_the_job_back,
    results_go_after_their_time,
);

pub const JOBS: &str = "/document-extraction/jobs";

pub fn queue(cx: &Sandbox, form: &Form) -> Reply {
    cx.call("POST", JOBS).form(form).send()
}

pub fn job(cx: &Sandbox, id: &str) -> Value {
    cx.get(&format!("{JOBS}/{id}")).expect(200).data().clone()
}

/// A timer whose every sleep lasts until it is polled again.
struct Ticking;

impl Timer for Ticking {
    fn sleep(&self, _: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut is_over = false;
        Box::pin(poll_fn(
            move |_| {
                if std::mem::replace(&mut is_over, true) { Poll::Ready(()) } else { Poll::Pending }
            },
        ))
    }
}

/// Queues a document and returns the id of the job.
pub fn queued(cx: &Sandbox, text: &str) -> String {
    queue(cx, &form(text)).expect(201).id()
}

/// Drives the background of a platform until a condition holds.
pub fn run_until(cx: &Sandbox, is_over: impl Fn() -> bool) {
    let mut background = pin!(cx.platform.background());
    for _ in 0..5_000 {
        let _ = background.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if is_over() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("the background does not come to its end");
}

/// Whether a job has ended, past the rate limits of the API.
pub fn has_ended(cx: &Sandbox, id: &str) -> bool {
    let key: JobId = id.parse().expect("an id");
    let stored = wait(cx.platform.storage().job(Some(&cx.agent), key)).expect("a job");
    stored.is_none_or(|job| !job.state.is_unfinished())
}

/// Runs a job to its end and returns its record. Another job that waits may be left claimed.
pub fn ended(cx: &Sandbox, id: &str) -> Value {
    run_until(cx, || has_ended(cx, id));
    job(cx, id)
}

/// The types and the data of the events, the oldest first.
pub fn events(cx: &Sandbox) -> Vec<(String, Value)> {
    let page = cx.get(&format!("/events/chatbots/{}", cx.agent)).expect(200);
    let all = page.data().as_array().expect("events").iter().filter(|event| event["type"] != "key.created");
    all.map(|event| (event["type"].as_str().expect("a type").to_owned(), event["data"].clone())).collect()
}

pub fn documents(cx: &Sandbox) -> usize {
    wait(cx.platform.documents(&cx.agent, None, 100)).expect("documents").len()
}

/// Uploads a text file of a new contact; the ids of both.
pub fn upload(cx: &Sandbox, text: &str) -> (String, String) {
    let contact = cx.create(&json!({ "primaryEmail": "a@example.com" })).expect(201).id();
    let path = format!("/files/chatbots/{}/{contact}", cx.agent);
    let file = cx.call("POST", &path).form(&Form::of_file("a.txt", text.as_bytes())).send().expect(201);
    (contact, file.id())
}

pub fn of_contact(contact: &str, file: &str) -> Form {
    Form::new().text("schema", crate::support::SCHEMA).text("contactId", contact).text("fileId", file)
}

fn a_job_has_the_result_of_an_extraction(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let text = "total: 12.50\npages=3";
    let reply = queue(&cx, &form(text).text("clientId", " order 7 ").text("batchId", "May")).expect(201);
    let id = reply.id();
    assert_eq!(reply.header("location"), Some(format!("/v1/open{JOBS}/{id}").as_str()));
    let first = reply.data().clone();
    assert_eq!(first["status"], "queued");
    assert_eq!((&first["clientId"], &first["batchId"]), (&json!("order 7"), &json!("May")));
    assert_eq!((&first["creditsReserved"], &first["attempts"]), (&json!(3), &json!(0)));
    assert_eq!(
        (&first["result"], &first["error"], &first["expiresAt"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(first["document"]["pageCount"], 3);
    assert_eq!((balance(&cx), documents(&cx)), ((7, 3), 1));

    let last = ended(&cx, &id);
    assert_eq!(last["status"], "succeeded");
    assert_eq!((&last["creditsReserved"], &last["attempts"]), (&json!(0), &json!(1)));
    assert_eq!(last["error"], Value::Null);
    assert!(last["finishedAt"].is_string() && last["startedAt"].is_string() && last["expiresAt"].is_string());
    assert_eq!((balance(&cx), documents(&cx)), ((7, 0), 0), "charged, and the document is discarded");
    let usage = &last["result"]["metadata"]["usage"];
    assert_eq!(usage, &json!({ "creditsCharged": 3, "creditsRemaining": 7 }));

    let direct = send(&cx, &form(text)).expect(200);
    assert_eq!(&last["result"]["data"], direct.data());
    let without = |metadata: &Value| {
        let mut metadata = metadata.clone();
        metadata["usage"] = Value::Null;
        metadata["processingTime"] = Value::Null;
        metadata
    };
    assert_eq!(without(&last["result"]["metadata"]), without(&direct.json["metadata"]));
    let completed = json!({
        "jobId": id, "batchId": "May", "contactId": null, "fileId": null, "notify": null, "isValid": true,
        "creditsCharged": 3,
    });
    assert_eq!(events(&cx), [("extraction.completed".to_owned(), completed)]);
}

fn what_is_wrong_is_answered_at_once(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 1);
    let _ = queue(&cx, &form("pages=2")).fails(402, "INSUFFICIENT_CREDITS");
    let _ = queue(&cx, &form("encrypted")).fails(422, "DOCUMENT_ENCRYPTED");
    let _ = queue(&cx, &form("damaged")).fails(422, "DOCUMENT_UNREADABLE");
    let _ = queue(&cx, &form("many-pages")).fails(413, "DOCUMENT_TOO_LARGE");
    let _ = queue(&cx, &form("no-engine")).fails(503, "EXTRACTION_UNAVAILABLE");
    let unknown = Form::new().document("a.bin", &[0xff, 0xfe]).text("schema", crate::support::SCHEMA);
    let _ = queue(&cx, &unknown).fails(415, "UNSUPPORTED_FILE_TYPE");
    let id = "0123456789abcdef01234567";
    let _ = queue(&cx, &Form::new()).invalid(&[("document", "required"), ("schema", "required")]);
    let _ = queue(&cx, &form("x").text("fileId", id))
        .invalid(&[("document", "conflict"), ("contactId", "required")]);
    let _ = queue(&cx, &form("x").text("contactId", "7").text("batchId", &"b".repeat(65))).invalid(&[
        ("contactId", "format"),
        ("batchId", "maxLength"),
        ("document", "conflict"),
        ("fileId", "required"),
    ]);
    let _ = queue(&cx, &form("x").text("clientId", "a").text("clientId", "b"))
        .invalid(&[("clientId", "duplicate")]);
    let _ = send(&cx, &form("x").text("clientId", "a")).invalid(&[("clientId", "unknown")]);
    let _ = queue(&cx, &form("x").text("notify", id)).invalid(&[("notify", "reference")]);
    let _ =
        queue(&cx, &form("x").text("notify", "https://hooks.example.com/")).invalid(&[("notify", "format")]);
    let _ = queue(&cx, &of_contact(id, id)).fails(404, "CONTACT_NOT_FOUND");
    let contact = cx.create(&json!({ "primaryEmail": "a@example.com" })).expect(201).id();
    let _ = queue(&cx, &of_contact(&contact, id)).fails(404, "FILE_NOT_FOUND");
    for (method, path) in [
        ("GET", format!("{JOBS}/{id}")),
        ("PATCH", format!("{JOBS}/{id}/cancel")),
        ("DELETE", format!("{JOBS}/7")),
    ] {
        let _ = cx.call(method, &path).send().fails(404, "JOB_NOT_FOUND");
    }
    let _ = cx.get("/document-extraction/batches/none").fails(404, "BATCH_NOT_FOUND");
    assert_eq!((balance(&cx), documents(&cx)), ((1, 0), 0));
    assert_eq!(cx.get(JOBS).expect(200).data(), &json!([]));
}

fn a_file_of_a_contact_is_read(backend: Backend) {
    let cx = sandbox(backend);
    let (contact, file) = upload(&cx, "total: 7");
    let id = queue(&cx, &of_contact(&contact, &file)).expect(201).id();
    let last = ended(&cx, &id);
    assert_eq!((&last["status"], &last["result"]["data"]["total"]), (&json!("succeeded"), &json!("7")));
    assert_eq!((&last["contactId"], &last["fileId"]), (&json!(contact), &json!(file)));
    let _ = cx.get(&format!("/files/chatbots/{}/{contact}/files/{file}", cx.agent)).expect(200);
    // A file that is gone ends the job.
    let id = queue(&cx, &of_contact(&contact, &file)).expect(201).id();
    let _ =
        cx.call("DELETE", &format!("/files/chatbots/{}/{contact}/files/{file}", cx.agent)).send().expect(200);
    let last = ended(&cx, &id);
    assert_eq!((&last["status"], &last["error"]["code"]), (&json!("failed"), &json!("FILE_NOT_FOUND")));
}

fn an_erasure_ends_the_jobs_of_the_contact(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let (contact, file) = upload(&cx, "total: 7");
    let done = queue(&cx, &of_contact(&contact, &file)).expect(201).id();
    let _ = ended(&cx, &done);
    let waiting = queue(&cx, &of_contact(&contact, &file)).expect(201).id();
    assert_eq!(balance(&cx), (8, 1));
    let contact = ContactRef::Id(contact.parse().expect("an id"));
    let _ = wait(cx.platform.erase_contact(&operator(), &cx.agent, &contact)).expect("erased");
    for id in [&done, &waiting] {
        let _ = cx.get(&format!("{JOBS}/{id}")).fails(404, "JOB_NOT_FOUND");
    }
    run_until(&cx, || balance(&cx) == (9, 0));
    let load = wait(cx.platform.storage().queue_load(Queue::Extraction)).expect("load");
    assert_eq!((load.ready, load.running), (0, 0));
}

fn a_failed_job_costs_nothing(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let id = queued(&cx, "bad-answer");
    let last = ended(&cx, &id);
    assert_eq!((&last["status"], &last["error"]["code"]), (&json!("failed"), &json!("EXTRACTION_FAILED")));
    assert_eq!((&last["result"], balance(&cx), documents(&cx)), (&Value::Null, (10, 0), 0));
    let (kind, data) = events(&cx).pop().expect("an event");
    assert_eq!((kind.as_str(), &data["code"]), ("extraction.failed", &json!("EXTRACTION_FAILED")));
}

fn a_job_is_cancelled_once(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let id = queued(&cx, "total: 1");
    let path = format!("{JOBS}/{id}/cancel");
    let reader = cx.key_that_may("document-extraction:read");
    let _ = cx.call("PATCH", &path).with(&reader).send().fails(403, "INSUFFICIENT_PERMISSIONS");
    let cancelled = cx.patch(&path).expect(200);
    assert_eq!(cancelled.data()["status"], "cancelled");
    assert_eq!((balance(&cx), documents(&cx)), ((10, 0), 0));
    let again = cx.patch(&path).fails(409, "JOB_FINISHED");
    assert_eq!(again.json["details"]["status"], "cancelled");
    assert_eq!(events(&cx).pop().expect("an event").0, "extraction.cancelled");
    let other = queued(&cx, "total: 2");
    assert_eq!(ended(&cx, &other)["status"], "succeeded");
    assert_eq!(job(&cx, &id)["attempts"], 0);
}

fn a_job_is_removed_with_its_document(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let id = queue(&cx, &form("total: 1").text("saveToStorage", "true")).expect(201).id();
    let last = ended(&cx, &id);
    assert_eq!((&last["document"]["stored"], documents(&cx)), (&json!(true), 1));
    let deleted = cx.call("DELETE", &format!("{JOBS}/{id}")).send().expect(200);
    assert_eq!(deleted.data()["deleted"], true);
    let _ = cx.get(&format!("{JOBS}/{id}")).fails(404, "JOB_NOT_FOUND");
    assert_eq!((documents(&cx), balance(&cx)), (0, (9, 0)), "what it cost stays spent");
    assert_eq!(events(&cx).len(), 1, "its end had its event");
    let waiting = queued(&cx, "total: 2");
    let _ = cx.call("DELETE", &format!("{JOBS}/{waiting}")).send().expect(200);
    assert_eq!((documents(&cx), balance(&cx)), (0, (9, 0)));
    assert_eq!(events(&cx).pop().expect("an event").0, "extraction.cancelled");
}

fn lists_and_batches(backend: Backend) {
    let cx = sandbox(backend);
    let mut ids = Vec::new();
    for (text, batch, client) in [("total: 1", "b", "x"), ("bad-answer", "b", "y"), ("total: 3", "c", "x")] {
        cx.advance(1);
        ids.push(queue(&cx, &form(text).text("batchId", batch).text("clientId", client)).expect(201).id());
    }
    let [first, second, third] = ids.as_slice() else { unreachable!("three") };
    let list = |query: &str| cx.get(&format!("{JOBS}{query}")).expect(200).column("id");
    assert_eq!(list(""), [json!(third), json!(second), json!(first)]);
    assert_eq!(list("?batchId=b"), [json!(second), json!(first)]);
    assert_eq!(list("?clientId=x&batchId=c"), [json!(third)]);
    assert_eq!(list("?status=queued").len(), 3);
    let page = cx.get(&format!("{JOBS}?limit=2")).expect(200);
    let cursor = page.pagination()["nextCursor"].as_str().expect("a cursor").to_owned();
    assert_eq!(list(&format!("?limit=2&cursor={cursor}")), [json!(first)]);
    let _ = cx.get(&format!("{JOBS}?limit=2&batchId=b&cursor={cursor}")).invalid(&[("cursor", "format")]);
    let _ = cx.get(&format!("{JOBS}?status=done")).invalid(&[("status", "enum")]);
    run_until(&cx, || ids.iter().all(|id| has_ended(&cx, id)));
    assert_eq!((list("?status=failed"), list("?status=succeeded").len()), (vec![json!(second)], 2));
    let all = cx.get(JOBS).expect(200);
    assert!(all.column("result").iter().all(Value::is_null), "lists leave the results out");
    let batch = cx.get("/document-extraction/batches/b").expect(200);
    let expected = json!({
        "id": "b", "total": 2, "queued": 0, "running": 0, "succeeded": 1, "failed": 1, "cancelled": 0,
    });
    assert_eq!(batch.data(), &expected);
    let other = cx.of_agent("another-agent");
    assert_eq!(other.get(JOBS).expect(200).data(), &json!([]));
    let _ = other.get(&format!("{JOBS}/{first}")).fails(404, "JOB_NOT_FOUND");
    let _ = other.get("/document-extraction/batches/b").fails(404, "BATCH_NOT_FOUND");
}

fn a_full_queue_refuses(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |_, extraction| extraction.max_unfinished_jobs = 2);
    plan(&cx, 10);
    let first = queued(&cx, "total: 1");
    let _ = queued(&cx, "total: 2");
    let refused = queue(&cx, &form("total: 3")).fails(429, "QUEUE_FULL");
    assert_eq!(refused.json["details"]["limit"], 2);
    assert!(refused.header("retry-after").is_some());
    assert_eq!((balance(&cx), documents(&cx)), ((8, 2), 2), "nothing is reserved for it");
    let _ = ended(&cx, &first);
    let _ = queued(&cx, "total: 3");
}

fn a_repeated_request_queues_nothing(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let post = |text: &str| cx.call("POST", JOBS).header("Idempotency-Key", "k").form(&form(text)).send();
    let first = post("total: 1").expect(201);
    let again = post("total: 1").expect(201);
    assert_eq!(
        (first.json.clone(), first.header("location")),
        (again.json.clone(), again.header("location"))
    );
    let _ = post("total: 2").fails(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!((balance(&cx), cx.get(JOBS).expect(200).column("id").len()), ((9, 1), 1));
}

fn a_job_is_charged_once_by_one_of_two_servers(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let id = queued(&cx, "total: 1");
    let key: JobId = id.parse().expect("an id");
    // Another server has it, and is slow.
    let now = cx.platform.now();
    let owner = PlatformId::from_bytes([7; 12]);
    let claim = JobClaim { queue: Queue::Extraction, owner, now, until: now.plus_millis(60_000), at_most: 1 };
    let slow = wait(cx.platform.storage().claim_jobs(&claim)).expect("claim").remove(0);
    assert_eq!(job(&cx, &id)["status"], "running");
    cx.advance(60_001);
    let last = ended(&cx, &id);
    assert_eq!((&last["status"], &last["attempts"]), (&json!("succeeded"), &json!(2)));
    assert_eq!(balance(&cx), (9, 0));
    let stored = wait(cx.platform.storage().job(Some(&cx.agent), key)).expect("job").expect("it is there");
    assert!(stored.version > slow.job.version + 1, "what the slow server settles is stale");
    assert_eq!(cx.platform.job_figures().lost, 1);
    assert_eq!(events(&cx).len(), 1);
}

fn an_engine_that_is_away_is_tried_again(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let id = queued(&cx, "busy");
    run_until(&cx, || job(&cx, &id)["attempts"] == 1 && job(&cx, &id)["status"] == "queued");
    assert_eq!(balance(&cx), (9, 1), "the credits stay set aside");
    cx.advance(5_001);
    run_until(&cx, || job(&cx, &id)["attempts"] == 2 && job(&cx, &id)["status"] == "queued");
    cx.advance(24 * 3_600_000);
    let last = ended(&cx, &id);
    assert_eq!((&last["status"], &last["error"]["code"]), (&json!("failed"), &json!("EXTRACTION_TIMEOUT")));
    assert_eq!((balance(&cx), documents(&cx)), ((10, 0), 0));
}

fn a_stop_hands_the_job_back(backend: Backend) {
    let cx = sandbox(backend);
    let ports = cx.ports().with_timer(std::sync::Arc::new(Ticking));
    let cx = cx.deciding(ports, FileSettings::default(), ExtractionSettings::default());
    let id = queued(&cx, "hang");
    let mut background = pin!(cx.platform.background());
    let mut is_over = || background.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    let mut ticks = 0..5_000;
    while ticks.next().is_some() && job(&cx, &id)["status"] != "running" {
        assert!(!is_over());
        std::thread::sleep(Duration::from_millis(1));
    }
    cx.platform.stop_background();
    while ticks.next().is_some() && !is_over() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let last = job(&cx, &id);
    assert_eq!((&last["status"], &last["attempts"]), (&json!("queued"), &json!(0)));
    assert!(!ticks.is_empty(), "the background ends");
}

fn results_go_after_their_time(backend: Backend) {
    let cx = sandbox(backend);
    let id = queued(&cx, "total: 1");
    let _ = ended(&cx, &id);
    cx.advance(7 * 24 * 3_600_000 - 1);
    run_until(&cx, || true);
    assert_eq!(job(&cx, &id)["status"], "succeeded");
    cx.advance(1);
    run_until(&cx, || cx.get(&format!("{JOBS}/{id}")).status == 404);
}
