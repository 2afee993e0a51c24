//! Batches of queued extractions (contract 12.6).

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Form, Reply, Sandbox, SplitMix64, on_every_backend};
use openapi_core::access::{Caller, Permissions};
use openapi_core::ports::BlobStore;
use openapi_core::storage::{JobClaim, Queue};
use openapi_core::values::PlatformId;
use serde_json::{Value, json};

use crate::jobs::{
    JOBS, documents, ended, events, has_ended, job, of_contact, queue, queued, run_until, upload,
};
use crate::support::{SCHEMA, balance, plan, sandbox, sandbox_with};

on_every_backend!(
    a_batch_has_a_job_for_each_document,
    files_of_several_contacts_are_a_batch,
    what_is_wrong_with_a_batch_is_answered_at_once,
    checks_of_a_batch_run_in_this_order,
    the_bytes_of_a_batch_are_bounded,
    a_batch_is_queued_whole_or_not_at_all,
    a_repeated_batch_queues_nothing,
    a_failed_job_is_queued_again,
);

const BATCHES: &str = "/document-extraction/batches";

fn send(cx: &Sandbox, form: &Form) -> Reply {
    cx.call("POST", BATCHES).form(form).send()
}

/// A form with these documents.
fn of(texts: &[&str]) -> Form {
    let form = Form::new().text("schema", SCHEMA);
    texts.iter().fold(form, |form, text| form.document("a.txt", text.as_bytes()))
}

fn files(list: &Value) -> Form {
    Form::new().text("schema", SCHEMA).text("files", &list.to_string())
}

/// The contents in the blob store, once what requests have given up was removed.
fn contents(cx: &Sandbox) -> usize {
    let _ = wait(cx.platform.maintain());
    let mut listing = wait(cx.blobs.list()).expect("a listing");
    let mut count = 0;
    while let Some(entry) = wait(std::future::poll_fn(|cx| listing.as_mut().poll_next(cx))) {
        let _ = entry.expect("an entry");
        count += 1;
    }
    count
}

/// Everything that a refused batch could leave.
fn traces(cx: &Sandbox) -> (usize, usize, (u64, u64), usize, usize) {
    let jobs = cx.get(&format!("{JOBS}?limit=100")).expect(200).column("id").len();
    (jobs, documents(cx), balance(cx), contents(cx), events(cx).len())
}

fn a_batch_has_a_job_for_each_document(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let form = of(&["total: 1", "total: 2\npages=3", "bad-answer"]);
    let reply = send(&cx, &form.text("batchId", "May / 1").text("clientId", "c")).expect(201);
    let batch = format!("{BATCHES}/May%20%2F%201");
    assert_eq!(reply.header("location"), Some(format!("/v1/open{batch}").as_str()));
    let data = reply.data();
    assert_eq!(
        (&data["id"], &data["total"], &data["creditsReserved"]),
        (&json!("May / 1"), &json!(3), &json!(5))
    );
    let queued = data["jobs"].as_array().expect("jobs").clone();
    let reserved: Vec<&Value> = queued.iter().map(|job| &job["creditsReserved"]).collect();
    assert_eq!(reserved, [&json!(1), &json!(3), &json!(1)], "in the order of the documents");
    assert_eq!((balance(&cx), documents(&cx)), ((5, 5), 3));
    let id = |at: usize| queued[at]["id"].as_str().expect("an id").to_owned();
    for at in 0..3 {
        let found = job(&cx, &id(at));
        assert_eq!((&found["batchId"], &found["clientId"]), (&json!("May / 1"), &json!("c")));
        assert_eq!((&found["status"], &found["document"]["fileName"]), (&json!("queued"), &json!("a.txt")));
    }
    run_until(&cx, || (0..3).all(|at| has_ended(&cx, &id(at))));
    let [first, second, third] = [0, 1, 2].map(|at| job(&cx, &id(at)));
    assert_eq!((&first["result"]["data"]["total"], &third["status"]), (&json!("1"), &json!("failed")));
    assert_eq!(second["result"]["data"]["total"], "2");
    let counted = cx.get(&batch).expect(200);
    assert_eq!((&counted.data()["succeeded"], &counted.data()["failed"]), (&json!(2), &json!(1)));
    assert_eq!((balance(&cx), documents(&cx), contents(&cx)), ((6, 0), 0, 0));

    // Without a name the service gives one.
    let reply = send(&cx, &of(&["total: 1"])).expect(201);
    let id = reply.data()["id"].as_str().expect("an id").to_owned();
    assert_eq!(cx.get(&format!("{BATCHES}/{id}")).expect(200).data()["total"], 1);
}

fn files_of_several_contacts_are_a_batch(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let mut uploaded = Vec::new();
    for (email, text) in [("a@example.com", "total: 1"), ("b@example.com", "total: 2")] {
        let contact = cx.create(&json!({ "primaryEmail": email })).expect(201).id();
        let path = format!("/files/chatbots/{}/{contact}", cx.agent);
        let form = Form::of_file("a.txt", text.as_bytes());
        let file = cx.call("POST", &path).form(&form).send().expect(201).id();
        uploaded.push((contact, file));
    }
    let element = |(contact, file): &(String, String)| json!({ "contactId": contact, "fileId": file });
    let list: Vec<Value> = uploaded.iter().map(element).collect();
    let reply = send(&cx, &files(&json!(list))).expect(201);
    let jobs = reply.data()["jobs"].as_array().expect("jobs").clone();
    let id = |at: usize| jobs[at]["id"].as_str().expect("an id");
    run_until(&cx, || (0..2).all(|at| has_ended(&cx, id(at))));
    for (at, (contact, file)) in uploaded.iter().enumerate() {
        let last = job(&cx, id(at));
        assert_eq!((&last["contactId"], &last["fileId"]), (&json!(contact), &json!(file)));
        assert_eq!(last["result"]["data"]["total"], (at + 1).to_string());
    }
    assert_eq!((balance(&cx), documents(&cx)), ((8, 0), 0));
    // One that is not there refuses all, and is named.
    let unknown = "0123456789abcdef01234567";
    for (other, code) in [
        (json!({ "contactId": unknown, "fileId": uploaded[0].1 }), "CONTACT_NOT_FOUND"),
        (json!({ "contactId": uploaded[1].0, "fileId": unknown }), "FILE_NOT_FOUND"),
        (json!({ "contactId": uploaded[1].0, "fileId": uploaded[0].1 }), "FILE_NOT_FOUND"),
    ] {
        let mixed = json!([{ "contactId": uploaded[1].0, "fileId": uploaded[1].1 }, other]);
        let reply = send(&cx, &files(&mixed)).fails(404, code);
        assert_eq!(reply.json["details"]["index"], 1);
    }
    assert_eq!((balance(&cx), cx.get(JOBS).expect(200).column("id").len()), ((8, 0), 2));
}

fn what_is_wrong_with_a_batch_is_answered_at_once(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let id = "0123456789abcdef01234567";
    let _ = send(&cx, &Form::new()).invalid(&[("document", "required"), ("schema", "required")]);
    let _ = send(&cx, &of(&["x", "", "y", ""]))
        .invalid(&[("document[1]", "minimum"), ("document[3]", "minimum")]);
    let _ = send(&cx, &of(&["x"; 21])).invalid(&[("document", "maxItems")]);
    let _ = send(&cx, &of(&["x"; 23])).invalid(&[("document", "maxItems")]);
    let _ = send(&cx, &of(&["x"]).text("files", "[]"))
        .invalid(&[("files", "minItems"), ("document", "conflict")]);
    let _ = send(&cx, &of(&["x"]).text("contactId", id)).invalid(&[("contactId", "unknown")]);
    let _ = send(&cx, &of(&["x"]).text("schema", SCHEMA)).invalid(&[("schema", "duplicate")]);
    let _ = send(&cx, &of(&["x"]).text("batchId", &"b".repeat(65))).invalid(&[("batchId", "maxLength")]);
    for (text, rule) in [("{", "format"), ("{}", "type"), ("7", "type"), ("", "format")] {
        let form = Form::new().text("schema", SCHEMA).text("files", text);
        let _ = send(&cx, &form).invalid(&[("files", rule)]);
    }
    let one = json!({ "contactId": id, "fileId": id });
    let _ = send(&cx, &files(&json!(vec![one.clone(); 101]))).invalid(&[("files", "maxItems")]);
    let _ = send(&cx, &files(&json!([one, one]))).invalid(&[("files[1]", "uniqueItems")]);
    let wrong =
        json!([7, { "contactId": "7", "fileId": null }, { "contactId": id, "fileId": 7, "other": 1 }]);
    let _ = send(&cx, &files(&wrong)).invalid(&[
        ("files[0]", "type"),
        ("files[1].contactId", "format"),
        ("files[1].fileId", "required"),
        ("files[2].fileId", "type"),
        ("files[2].other", "unknown"),
    ]);
    for (text, status, code) in [
        ("encrypted", 422, "DOCUMENT_ENCRYPTED"),
        ("damaged", 422, "DOCUMENT_UNREADABLE"),
        ("many-pages", 413, "DOCUMENT_TOO_LARGE"),
    ] {
        let reply = send(&cx, &of(&["total: 1", "total: 2", text])).fails(status, code);
        assert_eq!(reply.json["details"]["index"], 2);
    }
    let unknown = of(&["total: 1"]).document("b", b"\xff\xfe");
    assert_eq!(send(&cx, &unknown).fails(415, "UNSUPPORTED_FILE_TYPE").json["details"]["index"], 1);
    let _ = send(&cx, &of(&["x", "no-engine"])).fails(503, "EXTRACTION_UNAVAILABLE");
    // The credits of all together.
    let few = send(&cx, &of(&["pages=6", "pages=6"])).fails(402, "INSUFFICIENT_CREDITS");
    assert_eq!(
        (&few.json["details"]["required"], &few.json["details"]["available"]),
        (&json!(12), &json!(10))
    );
    let reader = cx.key_that_may("document-extraction:read");
    let _ = cx
        .call("POST", BATCHES)
        .with(&reader)
        .form(&of(&["x"]))
        .send()
        .fails(403, "INSUFFICIENT_PERMISSIONS");
    let _ = cx.call("POST", BATCHES).json(&json!({})).send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(traces(&cx), (0, 0, (10, 0), 0, 0));
}

fn checks_of_a_batch_run_in_this_order(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |files, settings| {
        files.max_bytes_of_agent = Some(400);
        settings.max_running_of_key = 0;
    });
    plan(&cx, 0);
    let long = "x".repeat(200);
    let unknown = |schema: &str| {
        let form = Form::new().document("a", long.as_bytes()).document("b", b"\xff\xfe");
        form.document("c", long.as_bytes()).text("schema", schema)
    };
    // 8 before 11: an unterminated form before the types; 11 before 12, wherever the schema is.
    let content_type = unknown("[]").content_type();
    let cut = cx.call("POST", BATCHES).bytes(&unknown("[]").unclosed()).header("content-type", &content_type);
    let _ = cut.send().fails(400, "BAD_REQUEST");
    let _ = send(&cx, &unknown("[]")).fails(415, "UNSUPPORTED_FILE_TYPE");
    let first = Form::new().text("schema", "[]").document("b", b"\xff\xfe");
    let _ = send(&cx, &first).fails(415, "UNSUPPORTED_FILE_TYPE");
    // 12 before 14, and 14, of all documents together, before 15.
    let bad = Form::new().document("a", long.as_bytes()).document("b", long.as_bytes()).text("schema", "[]");
    let _ = send(&cx, &bad).fails(400, "VALIDATION_ERROR");
    let _ = send(&cx, &of(&[&long, &long])).fails(403, "STORAGE_QUOTA_EXCEEDED");
    let _ = send(&cx, &of(&["encrypted"])).fails(429, "CONCURRENCY_LIMIT_EXCEEDED");
    assert_eq!(contents(&cx), 0);
}

/// Each document has the bound of a single one, and all together five times that.
fn the_bytes_of_a_batch_are_bounded(backend: Backend) {
    let cx = Sandbox::with_settings(backend, |settings| settings.max_document_bytes = 300_000);
    let (most, more) = ("x".repeat(300_000), "x".repeat(300_001));
    let _ = send(&cx, &of(&["x", &most, &most])).expect(201);
    let reply = send(&cx, &of(&["x", &more, &most])).fails(413, "DOCUMENT_TOO_LARGE");
    let details = &reply.json["details"];
    assert_eq!((&details["limit"], &details["index"]), (&json!(300_000), &json!(1)));
    let reply = send(&cx, &of(&[&most; 20].map(|text| text.as_str()))).fails(413, "DOCUMENT_TOO_LARGE");
    let details = &reply.json["details"];
    assert_eq!((&details["limit"], &details["index"]), (&json!(1_500_000), &Value::Null));
    assert_eq!((documents(&cx), contents(&cx)), (3, 3), "those of the first batch");
}

/// Whatever a batch is refused for, nothing of it is stored; what is accepted is stored whole.
fn a_batch_is_queued_whole_or_not_at_all(backend: Backend) {
    const TEXTS: [&str; 12] = [
        "total: 1",
        "total: 2",
        "total: 3\npages=2",
        "pages=4",
        "",
        "encrypted",
        "damaged",
        "many-pages",
        "no-engine",
        "total: 1",
        "total: 2",
        "total: 3",
    ];
    let (cx, _) = sandbox_with(backend, |files, settings| {
        files.max_bytes_of_agent = Some(2_000);
        settings.max_unfinished_jobs = 12;
    });
    plan(&cx, 40);
    let (contact, file) = upload(&cx, "total: 7");
    let random = &mut SplitMix64(31);
    let (mut accepted, mut refused) = (0, std::collections::BTreeSet::new());
    for _ in 0..60 {
        let mut form = Form::new();
        let schema_first = random.one_in(2);
        let schema = if random.one_in(10) { "[]" } else { SCHEMA };
        if schema_first {
            form = form.text("schema", schema);
        }
        if random.one_in(6) {
            let other = if random.one_in(2) { "0123456789abcdef01234567" } else { file.as_str() };
            let list = json!([{ "contactId": contact, "fileId": other }]);
            form = form.text("files", &list.to_string());
        }
        for _ in 0..random.below(5) {
            // Most batches have only good documents.
            let text = if random.one_in(5) { random.pick(&TEXTS) } else { random.pick(&TEXTS[..3]) };
            form = form.document("a.txt", text.as_bytes());
            if random.one_in(25) {
                form = form.document("b.bin", b"\xff\xfe");
            }
        }
        if !schema_first {
            form = form.text("schema", schema);
        }
        let before = traces(&cx);
        let reply = send(&cx, &form);
        let after = traces(&cx);
        if reply.status == 201 {
            accepted += 1;
            let data = reply.data();
            let jobs = data["jobs"].as_array().expect("jobs").len();
            let sent =
                data["jobs"].as_array().expect("jobs").iter().filter(|job| job["fileId"].is_null()).count();
            let credits = data["creditsReserved"].as_u64().expect("credits");
            let (available, reserved) = before.2;
            assert_eq!((after.0, after.1, after.3), (before.0 + jobs, before.1 + sent, before.3 + sent));
            assert_eq!(after.2, (available - credits, reserved + credits));
        } else {
            assert_eq!(after, before, "{}", reply.text);
            refused.insert(reply.code().to_owned());
            if matches!(reply.code(), "QUEUE_FULL" | "STORAGE_QUOTA_EXCEEDED" | "INSUFFICIENT_CREDITS") {
                for id in cx.get(&format!("{JOBS}?status=queued&limit=100")).expect(200).column("id") {
                    let id = id.as_str().expect("an id");
                    let _ = cx.call("DELETE", &format!("{JOBS}/{id}")).send().expect(200);
                }
            }
        }
    }
    assert!(accepted > 5, "{accepted} of 60 were accepted, refused: {refused:?}");
    assert!(refused.contains("QUEUE_FULL") && refused.len() > 4, "{refused:?}");
}

fn a_repeated_batch_queues_nothing(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    let post =
        |texts: &[&str]| cx.call("POST", BATCHES).header("Idempotency-Key", "k").form(&of(texts)).send();
    let first = post(&["total: 1", "total: 2"]).expect(201);
    let again = post(&["total: 1", "total: 2"]).expect(201);
    assert_eq!((&first.text, first.header("location")), (&again.text, again.header("location")));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    // The order of the documents counts.
    let _ = post(&["total: 2", "total: 1"]).fails(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(traces(&cx), (2, 2, (8, 2), 2, 0));
}

/// Fails a queued job: its servers end three times.
fn fail(cx: &Sandbox, id: &str) {
    for _ in 0..3 {
        let now = cx.platform.now();
        let owner = PlatformId::from_bytes([7; 12]);
        let claim =
            JobClaim { queue: Queue::Extraction, owner, now, until: now.plus_millis(60_000), at_most: 1 };
        assert_eq!(wait(cx.platform.storage().claim_jobs(&claim)).expect("a claim").len(), 1);
        cx.advance(60_001);
        let woken = cx.platform.storage().wake_jobs(Queue::Extraction, cx.platform.now(), 10);
        assert_eq!(wait(woken).expect("woken").lost, 1);
    }
    assert_eq!(ended(cx, id)["error"]["code"], "EXTRACTION_FAILED");
}

fn a_failed_job_is_queued_again(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |_, settings| settings.max_unfinished_jobs = 2);
    plan(&cx, 10);
    let caller = Caller {
        agent_id: cx.agent.clone(),
        actor: operator(),
        permissions: Permissions::all(),
        address: None,
        request_id: String::new(),
    };
    let retry = |id: &str| wait(cx.platform.retry_extraction(&caller, id));
    let refused = |id: &str| retry(id).expect_err("refused").code().as_str();
    let (contact, file) = upload(&cx, "total: 7");
    let saved = crate::support::form("total: 7").text("saveToStorage", "true");
    for (spent, form) in [(1, saved), (2, of_contact(&contact, &file))] {
        let id = queue(&cx, &form).expect(201).id();
        assert_eq!(refused(&id), "JOB_FINISHED", "it has not failed");
        fail(&cx, &id);
        assert_eq!(balance(&cx), (11 - spent, 0));
        // However old it is: its time begins again.
        cx.advance(2 * 24 * 3_600_000);
        let again = retry(&id).expect("queued again");
        assert_eq!((again.job.id.to_string(), again.job.attempts), (id.clone(), 0));
        let shown = job(&cx, &id);
        assert_eq!((&shown["status"], &shown["error"]), (&json!("queued"), &Value::Null));
        assert_eq!((&shown["finishedAt"], &shown["expiresAt"]), (&Value::Null, &Value::Null));
        assert_eq!((refused(&id), balance(&cx)), ("JOB_FINISHED", (10 - spent, 1)), "queued once");
        let last = ended(&cx, &id);
        assert_eq!((&last["status"], &last["attempts"]), (&json!("succeeded"), &json!(1)));
        assert_eq!(last["result"]["metadata"]["usage"]["creditsCharged"], 1);
        assert_eq!((refused(&id), balance(&cx)), ("JOB_FINISHED", (10 - spent, 0)), "charged once");
    }
    // A document that was not retained is gone with the end of its job.
    let id = queued(&cx, "total: 1");
    fail(&cx, &id);
    assert_eq!((refused(&id), refused("7")), ("FILE_NOT_FOUND", "JOB_NOT_FOUND"));
    // Credits and room as for a new one.
    let id = queue(&cx, &of_contact(&contact, &file)).expect(201).id();
    fail(&cx, &id);
    plan(&cx, 0);
    assert_eq!(refused(&id), "INSUFFICIENT_CREDITS");
    plan(&cx, 10);
    let _ = (queued(&cx, "total: 1"), queued(&cx, "total: 2"));
    assert_eq!((refused(&id), balance(&cx)), ("QUEUE_FULL", (8, 2)));
}
