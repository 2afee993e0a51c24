//! Rows and contents agree (contract 2.2): orphans are swept, inconsistencies are found and repaired.

use std::sync::Arc;

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Sandbox, on_every_backend};
use openapi_core::admin::Admin;
use openapi_core::platform::ContentFault;
use openapi_core::ports::{BlobKey, BlobStore, MemoryBlobs};
use openapi_core::seal::sealed_bytes;
use openapi_core::storage::AuditQuery;

use crate::support::{blobs, file_path, follow, link, read, sandbox, total, upload};

on_every_backend!(orphans, lost_contents, truncated_contents, the_wrong_store, many_orphans);

fn put(cx: &Sandbox, key: &BlobKey, content: &[u8]) {
    let mut writer = wait(cx.blobs.create(key)).expect("a writer");
    wait(writer.write(content.to_vec().into())).expect("written");
    wait(writer.finish()).expect("finished");
}

fn key(cx: &Sandbox, id: &str) -> BlobKey {
    BlobKey::new(cx.agent.clone(), id.parse().expect("an id"))
}

fn faults(cx: &Sandbox) -> Vec<ContentFault> {
    wait(cx.platform.check_contents()).expect("checked").faults
}

fn repair(cx: &Sandbox) -> Vec<ContentFault> {
    let check = wait(cx.platform.check_contents()).expect("checked");
    wait(cx.platform.repair_contents(&operator(), check)).expect("repaired")
}

fn orphans(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let retained = upload(&cx, &contact, "a.txt", b"text").id();
    let deleted = upload(&cx, &contact, "a.txt", b"text").id();
    let _ = cx.call("DELETE", &file_path(&contact, &deleted)).send().expect(200);
    // An id begins with the second in which its upload began: 2026-01-31T09:15:02Z.
    let orphan = key(&cx, "697dc816ffffffffffffffff");
    put(&cx, &orphan, b"left over");
    assert_eq!(faults(&cx), [ContentFault::Orphan(orphan.clone())]);
    // An upload may be in progress, so only old blobs are swept.
    assert_eq!(wait(cx.platform.sweep_orphans(60_000)).expect("swept"), 0);
    cx.advance(61_000);
    assert_eq!(wait(cx.platform.sweep_orphans(60_000)).expect("swept"), 1);
    assert_eq!(faults(&cx), []);
    assert_eq!(blobs(&cx).len(), 2, "a file and a deleted one within its retention");
    // Periodic maintenance does so as well.
    put(&cx, &orphan, b"left over");
    cx.advance(48 * 3_600_000);
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(blobs(&cx).len(), 2);
    put(&cx, &orphan, b"left over");
    assert_eq!(repair(&cx), []);
    assert_eq!((faults(&cx), blobs(&cx).len()), (Vec::new(), 2));
    let _ = read(&cx, &contact, &retained).expect(200);
}

fn lost_contents(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let retained = upload(&cx, &contact, "a.txt", b"text").id();
    let lost = upload(&cx, &contact, "b.txt", b"text").id();
    let url = link(&cx, &contact, &lost, "");
    wait(cx.blobs.remove(&key(&cx, &lost))).expect("removed");
    assert_eq!(faults(&cx), [ContentFault::Missing(key(&cx, &lost))]);
    // Until the repair, the record exists and its content does not: an internal error.
    assert!(follow(&cx, &url).status >= 500);
    cx.advance(1_000);
    assert_eq!(repair(&cx), []);
    assert_eq!((faults(&cx), total(&cx, &contact)), (Vec::new(), 1));
    let _ = read(&cx, &contact, &lost).fails(404, "FILE_NOT_FOUND");
    let _ = follow(&cx, &url).fails(404, "FILE_NOT_FOUND");
    let _ = read(&cx, &contact, &retained).expect(200);
    let query =
        AuditQuery { agent: Some(cx.agent.clone()), newest_first: true, limit: 1, ..AuditQuery::default() };
    let entry = wait(cx.platform.audit(&query)).expect("the log").remove(0);
    assert_eq!((entry.action.as_str(), entry.resource.as_deref()), ("file.delete", Some(lost.as_str())));
    assert_eq!(entry.actor, operator());
}

fn truncated_contents(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let retained = upload(&cx, &contact, "a.txt", b"text").id();
    let cut = upload(&cx, &contact, "b.txt", b"longer text").id();
    put(&cx, &key(&cx, &cut), b"longer");
    assert_eq!(
        faults(&cx),
        [ContentFault::WrongSize { key: key(&cx, &cut), expected: sealed_bytes(11), found: 6 }]
    );
    assert_eq!(repair(&cx), []);
    let _ = read(&cx, &contact, &cut).fails(404, "FILE_NOT_FOUND");
    assert_eq!(follow(&cx, &link(&cx, &contact, &retained, "")).expect(200).text, "text");
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!((faults(&cx), blobs(&cx).len()), (Vec::new(), 1));
}

/// If every content is missing, the blob store itself is at fault, and no file is removed.
fn the_wrong_store(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for _ in 0..3 {
        let _ = upload(&cx, &contact, "a.txt", b"text");
    }
    let elsewhere = cx.rebuilt(cx.ports().with_blobs(Arc::new(MemoryBlobs::new())), |_| {});
    let check = wait(elsewhere.platform.check_contents()).expect("checked");
    assert!(check.is_elsewhere());
    assert_eq!((check.files, check.faults.len()), (3, 3));
    assert_eq!(wait(elsewhere.platform.repair_contents(&operator(), check)).expect("not repaired").len(), 3);
    assert_eq!(total(&cx, &contact), 3);
    assert_eq!(faults(&cx), []);
}

/// More than one batch of each.
fn many_orphans(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for _ in 0..250 {
        let _ = upload(&cx, &contact, "a.txt", b"x");
    }
    for n in 0..450 {
        put(&cx, &key(&cx, &format!("697dc816{n:016x}")), b"left over");
    }
    assert_eq!(faults(&cx).len(), 450);
    // A crash cannot leave this many, so periodic maintenance does not touch them.
    cx.advance(2 * 24 * 3_600_000);
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(wait(cx.platform.sweep_orphans(0)).expect("swept"), 450);
    assert_eq!((faults(&cx).len(), blobs(&cx).len()), (0, 250));
}
