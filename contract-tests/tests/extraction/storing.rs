//! `saveToStorage` (contract 12.3): encrypted, counted, purged after 90 days.

use std::future::poll_fn;
use std::task::{Context, Waker};

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Form, Reply, Sandbox, on_every_backend};
use openapi_core::admin::Admin;
use openapi_core::platform::ContentFault;
use openapi_core::ports::{BlobKey, BlobStore};
use openapi_core::values::FileId;

use crate::support::{call, form, plan, sandbox, sandbox_with, send};

on_every_backend!(
    stored_encrypted,
    not_stored_by_default,
    a_failure_stores_nothing,
    a_crashed_server_leaves_nothing,
    the_quota,
    purged_after_ninety_days,
    purged_on_request,
    of_each_agent,
    it_is_not_a_contact_file,
    a_check_finds_lost_contents,
);

const DAY: i64 = 24 * 3_600_000;

fn saved(text: &str) -> Form {
    form(text).text("saveToStorage", "true")
}

fn file_id(reply: &Reply) -> FileId {
    let id = reply.json["metadata"]["document"]["fileId"].as_str().expect("an id");
    id.parse().expect("a platform id")
}

/// The stored contents.
fn contents(cx: &Sandbox) -> Vec<Vec<u8>> {
    let mut listing = wait(cx.blobs.list()).expect("a listing");
    let mut contents = Vec::new();
    while let Some(entry) = wait(poll_fn(|cx| listing.as_mut().poll_next(cx))) {
        let entry = entry.expect("an entry");
        let mut bytes = Vec::new();
        let mut stream = wait(cx.blobs.read(&entry.key, 0..entry.size)).expect("a content");
        while let Some(chunk) = wait(poll_fn(|cx| stream.as_mut().poll_next(cx))) {
            bytes.extend_from_slice(&chunk.expect("bytes"));
        }
        contents.push(bytes);
    }
    contents
}

fn documents(cx: &Sandbox) -> usize {
    wait(cx.platform.documents(&cx.agent, None, 100)).expect("documents").len()
}

fn stored_encrypted(backend: Backend) {
    let cx = sandbox(backend);
    let reply = send(&cx, &saved("total: 4711")).expect(200);
    assert_eq!(reply.json["metadata"]["document"]["stored"], true);
    let stored = contents(&cx);
    assert_eq!(stored.len(), 1);
    assert!(!stored[0].windows(4).any(|bytes| bytes == b"4711"), "it is readable");
    let (document, content) = wait(cx.platform.document(&cx.agent, file_id(&reply))).expect("the document");
    assert_eq!(content, b"total: 4711");
    assert_eq!((document.file_name.as_str(), document.file_size), ("a.txt", 11));
    assert_eq!(document.expires_at.millis_since(document.created_at), 90 * DAY);
    assert_eq!(document.stored_size, stored[0].len() as u64);
}

fn not_stored_by_default(backend: Backend) {
    let cx = sandbox(backend);
    let reply = send(&cx, &form("total: 1")).expect(200);
    assert_eq!(reply.json["metadata"]["document"]["fileId"], serde_json::Value::Null);
    assert_eq!((contents(&cx).len(), documents(&cx)), (0, 0));
}

/// A check finds documents whose content is missing or truncated, and a repair removes their records.
fn a_check_finds_lost_contents(backend: Backend) {
    let cx = sandbox(backend);
    let key = |reply: &Reply| BlobKey::new(cx.agent.clone(), file_id(reply));
    let ids: Vec<BlobKey> =
        ["total: 1", "total: 2", "total: 3"].map(|text| key(&send(&cx, &saved(text)).expect(200))).into();
    let check = || wait(cx.platform.check_contents()).expect("checked");
    assert_eq!((check().files, check().documents, check().faults), (0, 3, Vec::new()));
    wait(cx.blobs.remove(&ids[0])).expect("removed");
    let mut cut = wait(cx.blobs.create(&ids[1])).expect("a writer");
    wait(cut.write(b"cut".to_vec().into())).expect("written");
    wait(cut.finish()).expect("stored");
    let lost = |at: usize| ContentFault::LostDocument(ids[at].clone());
    let mut expected = [lost(0), lost(1)];
    let mut found = check().faults;
    expected.sort_by_key(ToString::to_string);
    found.sort_by_key(ToString::to_string);
    assert_eq!(found, expected);
    assert_eq!(wait(cx.platform.repair_contents(&operator(), check())).expect("repaired"), []);
    assert_eq!((check().faults, documents(&cx)), (Vec::new(), 1));
    let (_, content) = wait(cx.platform.document(&cx.agent, ids[2].file)).expect("the document");
    assert_eq!(content, b"total: 3");
}

fn a_failure_stores_nothing(backend: Backend) {
    let cx = sandbox(backend);
    for (text, status) in [("bad-answer", 502), ("damaged", 422), ("busy", 503)] {
        assert_eq!(send(&cx, &saved(text)).status, status);
        wait(cx.platform.maintain()).expect("maintenance");
        assert_eq!((contents(&cx).len(), documents(&cx)), (0, 0), "{text}");
    }
    plan(&cx, 0);
    assert_eq!(send(&cx, &saved("total: 1")).status, 402);
    assert_eq!((contents(&cx).len(), documents(&cx)), (0, 0));
}

/// Only a document whose extraction succeeded has a record; the content of any other is an orphan.
fn a_crashed_server_leaves_nothing(backend: Backend) {
    let cx = sandbox(backend);
    let form = saved("hang");
    let call = call(&cx, &form);
    let mut running = Box::pin(call.answer());
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..5_000 {
        assert!(running.as_mut().poll(&mut context).is_pending());
        if !contents(&cx).is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!((contents(&cx).len(), documents(&cx)), (1, 0));
    let other = cx.restarted();
    assert_eq!(documents(&other), 0);
    cx.advance(60_001);
    assert_eq!(wait(other.platform.sweep_orphans(60_000)).expect("swept"), 1);
    assert_eq!(contents(&cx).len(), 0);
}

/// Documents and contact files share the agent's byte quota.
fn the_quota(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |files, _| files.max_bytes_of_agent = Some(1_000));
    let sealed = {
        let _ = send(&cx, &saved("x")).expect(200);
        contents(&cx)[0].len()
    };
    let overhead = sealed - 1;
    let rest = 1_000 - sealed - overhead;
    let refused = send(&cx, &saved(&"x".repeat(rest + 1))).fails(403, "STORAGE_QUOTA_EXCEEDED");
    assert_eq!(refused.json["details"]["unit"], "bytes");
    assert_eq!(refused.json["details"]["actual"], 1_001);
    let _ = send(&cx, &saved(&"x".repeat(rest))).expect(200);
    let contact = cx.create(&serde_json::json!({ "primaryEmail": "a@b.co" })).id();
    let upload = || {
        let path = format!("/files/chatbots/<A>/{contact}");
        cx.call("POST", &path).form(&Form::of_file("a.txt", b"y")).send()
    };
    let _ = upload().fails(403, "STORAGE_QUOTA_EXCEEDED");
    let _ = wait(cx.platform.purge_files(&operator(), &cx.agent)).expect("a purge");
    let _ = upload().expect(201);
}

fn purged_after_ninety_days(backend: Backend) {
    let cx = sandbox(backend);
    let reply = send(&cx, &saved("total: 1")).expect(200);
    cx.advance(90 * DAY - 1);
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!((contents(&cx).len(), documents(&cx)), (1, 1));
    cx.advance(1);
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!((contents(&cx).len(), documents(&cx)), (0, 0));
    assert!(wait(cx.platform.document(&cx.agent, file_id(&reply))).is_err());
}

fn purged_on_request(backend: Backend) {
    let cx = sandbox(backend);
    let _ = send(&cx, &saved("total: 1")).expect(200);
    assert_eq!(wait(cx.platform.purge_files(&operator(), &cx.agent)).expect("a purge"), 1);
    assert_eq!((contents(&cx).len(), documents(&cx)), (0, 0));
}

fn of_each_agent(backend: Backend) {
    let cx = sandbox(backend);
    let id = file_id(&send(&cx, &saved("total: 1")).expect(200));
    let other = cx.new_agent("other");
    assert!(wait(cx.platform.document(&other, id)).is_err());
    assert_eq!(wait(cx.platform.documents(&other, None, 10)).expect("documents"), []);
}

/// The Open API does not expose it.
fn it_is_not_a_contact_file(backend: Backend) {
    let cx = sandbox(backend);
    let id = file_id(&send(&cx, &saved("total: 1")).expect(200));
    let contact = cx.create(&serde_json::json!({ "primaryEmail": "a@b.co" })).id();
    let path = format!("/files/chatbots/<A>/{contact}/files/{id}");
    let _ = cx.get(&path).fails(404, "FILE_NOT_FOUND");
    let _ = cx.get(&format!("{path}/signed-url")).fails(404, "FILE_NOT_FOUND");
    let _ = cx.call("DELETE", &path).send().fails(404, "FILE_NOT_FOUND");
}
