//! Stores that fail, stall or are observed (contract 2.2, 6.1): nothing is leaked, nothing is lost.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use contract_tests::call::Chunk;
use contract_tests::sandbox::wait;
use contract_tests::{Backend, FaultyStorage, Form, Sandbox, on_every_backend};
use http_body_util::BodyExt;
use openapi_core::ports::BlobErrorKind;
use openapi_core::storage::StorageErrorKind;

use crate::streams::{Failing, PiecemealBlobs};
use crate::support::{
    blobs, file_path, files_of, follow, link, nothing_is_stored, sandbox, send, total, upload, with_contact,
};

on_every_backend!(
    failing_writes,
    a_rejection_precedes_a_failing_store,
    failing_reads,
    an_interrupted_stream,
    failing_removals,
    no_blob_store,
    the_data_store_fails,
    the_record_cannot_be_written,
    a_cancelled_upload,
    the_contact_changes_during_the_upload,
    nothing_is_buffered,
    rejected_content_is_not_written,
);

/// A sandbox over a blob store that fails on demand.
fn watched(backend: Backend) -> (Sandbox, String, PiecemealBlobs) {
    let (cx, contact) = sandbox(backend);
    let store = PiecemealBlobs::new(cx.blobs.clone(), 65 * 1_024);
    let cx = cx.rebuilt(cx.ports().with_blobs(Arc::new(store.clone())), |_| {});
    (cx, contact, store)
}

fn failing_writes(backend: Backend) {
    let (cx, contact, store) = watched(backend);
    let form = Form::of_file("a.txt", &vec![b'x'; 200_000]);
    for failing in [
        Failing::Create,
        Failing::Write(0),
        Failing::Write(100_000),
        Failing::Write(199_999),
        Failing::Finish,
    ] {
        store.fail(Some((failing, BlobErrorKind::Unavailable)));
        let reply = send(&cx, &contact, &form).fails(503, "STORAGE_UNAVAILABLE");
        let seconds = reply.header("retry-after").and_then(|seconds| seconds.parse::<u64>().ok());
        assert!(seconds.is_some_and(|seconds| seconds >= 1), "{failing:?}");
        nothing_is_stored(&cx, &contact);
        store.fail(Some((failing, BlobErrorKind::Internal)));
        let reply = send(&cx, &contact, &form);
        assert!(reply.status >= 500, "{failing:?}: {}", reply.text);
        nothing_is_stored(&cx, &contact);
        // A failed request may be retried, with the same key too.
        store.fail(Some((failing, BlobErrorKind::Unavailable)));
        let key = format!("{failing:?}");
        let keyed =
            || cx.call("POST", &files_of(&contact)).form(&form).header("idempotency-key", &key).send();
        let _ = keyed().fails(503, "STORAGE_UNAVAILABLE");
        store.fail(None);
        let reply = keyed().expect(201);
        assert_eq!(reply.header("idempotent-replayed"), None);
        let _ = cx.call("DELETE", &file_path(&contact, &reply.id())).send().expect(200);
        cx.advance(31 * 24 * 3_600_000);
        assert_eq!(wait(cx.platform.purge_due_contents()).expect("purged"), 1);
    }
}

/// Execution is the last step (contract 6.3).
fn a_rejection_precedes_a_failing_store(backend: Backend) {
    let (cx, contact, store) = watched(backend);
    let archived = crate::support::contact(&cx);
    let _ = cx.patch(&format!("/contacts/platformid/{archived}/chatbots/<A>/archive")).expect(200);
    let text = Form::of_file("a.txt", b"x");
    for failing in [Failing::Create, Failing::Write(0), Failing::Finish] {
        store.fail(Some((failing, BlobErrorKind::Unavailable)));
        let _ = send(&cx, "697dc8165d4ffa83cfc35c00", &text).fails(404, "CONTACT_NOT_FOUND");
        let _ = send(&cx, &archived, &text).fails(409, "CONTACT_ARCHIVED");
        let _ = send(&cx, &contact, &Form::of_file("a.txt", b"MZ\x90\0\x03\0\0\0"))
            .fails(415, "UNSUPPORTED_FILE_TYPE");
        let _ =
            send(&cx, &contact, &Form::of_file("a.txt", b"x").text("y", "1")).invalid(&[("y", "unknown")]);
        let _ = send(&cx, &contact, &Form::of_file("a.txt", b"")).invalid(&[("file", "minimum")]);
        let call = cx.call("POST", &files_of(&contact)).bytes(&text.unclosed());
        let _ = call.header("content-type", &text.content_type()).send().fails(400, "BAD_REQUEST");
        nothing_is_stored(&cx, &contact);
    }
}

fn failing_reads(backend: Backend) {
    let (cx, contact, store) = watched(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let link = link(&cx, &contact, &id, "");
    store.fail(Some((Failing::Read, BlobErrorKind::Unavailable)));
    let reply = follow(&cx, &link).fails(503, "STORAGE_UNAVAILABLE");
    assert!(reply.header("retry-after").is_some());
    // Metadata is served without the blob store.
    let _ = cx.get(&file_path(&contact, &id)).expect(200);
    let _ = cx.at("HEAD", &link).anonymous().send().expect(200);
    store.fail(None);
    assert_eq!(follow(&cx, &link).expect(200).text, "text");
}

/// A partially readable content never looks complete.
fn an_interrupted_stream(backend: Backend) {
    let (cx, contact, store) = watched(backend);
    let id = upload(&cx, &contact, "a.txt", &vec![b'x'; 300_000]).id();
    let link = link(&cx, &contact, &id, "");
    store.fail(Some((Failing::ReadRest, BlobErrorKind::Unavailable)));
    let response = wait(cx.api.handle(cx.at("GET", &link).anonymous().request()));
    assert_eq!(response.status(), 200);
    assert!(wait(response.into_body().collect()).is_err(), "the body ends with an error");
    store.fail(None);
    assert_eq!(follow(&cx, &link).expect(200).bytes.len(), 300_000);
}

fn failing_removals(backend: Backend) {
    let (cx, contact, store) = watched(backend);
    let immediate = cx.rebuilt(cx.ports(), |files| files.retention_millis = 0);
    for cx in [&cx, &immediate] {
        let id = upload(cx, &contact, "a.txt", b"text").id();
        store.fail(Some((Failing::Remove, BlobErrorKind::Unavailable)));
        let _ = cx.call("DELETE", &file_path(&contact, &id)).send().expect(200);
        let _ = cx.get(&file_path(&contact, &id)).fails(404, "FILE_NOT_FOUND");
        cx.advance(31 * 24 * 3_600_000);
        assert!(wait(cx.platform.purge_due_contents()).is_err());
        assert_eq!(blobs(cx).len(), 1, "still due");
        store.fail(None);
        assert_eq!(wait(cx.platform.purge_due_contents()).expect("purged"), 1);
        nothing_is_stored(cx, &contact);
    }
}

/// A platform without a blob store rejects files instead of losing them.
fn no_blob_store(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let cx = cx.rebuilt(cx.ports().with_blobs(Arc::new(openapi_core::ports::NoBlobs)), |_| {});
    let _ = send(&cx, &contact, &Form::of_file("a.txt", b"x")).fails(503, "STORAGE_UNAVAILABLE");
    assert_eq!(total(&cx, &contact), 0);
}

fn faulty(backend: Backend) -> (Sandbox, String, Arc<FaultyStorage>) {
    let (cx, faulty) = Sandbox::faulty(backend);
    let (cx, contact) = with_contact(cx);
    (cx, contact, faulty)
}

fn the_data_store_fails(backend: Backend) {
    let (cx, contact, faulty) = faulty(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let link = link(&cx, &contact, &id, "");
    for (kind, status) in [(StorageErrorKind::Unavailable, 503), (StorageErrorKind::Internal, 500)] {
        faulty.fail(Some(kind));
        for reply in [
            send(&cx, &contact, &Form::of_file("a.txt", b"x")),
            cx.get(&files_of(&contact)),
            cx.get(&file_path(&contact, &id)),
            cx.get(&format!("{}/signed-url", file_path(&contact, &id))),
            cx.call("DELETE", &file_path(&contact, &id)).send(),
            follow(&cx, &link),
        ] {
            assert_eq!(reply.status, status, "{}", reply.text);
            assert_eq!(reply.code(), if status == 503 { "SERVICE_UNAVAILABLE" } else { "INTERNAL_ERROR" });
        }
        faulty.fail(None);
        assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
    }
    // A deletion that finally lost its race changes nothing.
    faulty.lose_races(u32::MAX);
    let reply = cx.call("DELETE", &file_path(&contact, &id)).send().fails(409, "CONCURRENT_UPDATE");
    assert_eq!(reply.header("retry-after"), Some("1"));
    faulty.lose_races(1);
    let _ = cx.call("DELETE", &file_path(&contact, &id)).send().expect(200);
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The content is stored, the record is not: an orphan remains, and is swept.
fn the_record_cannot_be_written(backend: Backend) {
    let (cx, contact, faulty) = faulty(backend);
    faulty.stall(true);
    let call = cx.call("POST", &files_of(&contact)).form(&Form::of_file("a.txt", b"text"));
    {
        let mut running = pin!(call.answer());
        assert!(poll(running.as_mut()).is_pending());
        assert_eq!(blobs(&cx).len(), 1, "the content first, then the record");
        faulty.fail(Some(StorageErrorKind::Unavailable));
        faulty.stall(false);
        let _ = wait(running).fails(503, "SERVICE_UNAVAILABLE");
    }
    faulty.fail(None);
    assert_eq!(total(&cx, &contact), 0);
    // Whether the record was written is unknown at that point; the content is removed once that is known.
    wait(cx.platform.sweep_orphans(0)).expect("swept");
    nothing_is_stored(&cx, &contact);
    // A finally lost race leaves nothing; a race that is lost once is retried.
    faulty.lose_races(u32::MAX);
    let reply = send(&cx, &contact, &Form::of_file("a.txt", b"text"));
    assert!(["CONCURRENT_UPDATE", "SERVICE_UNAVAILABLE"].contains(&reply.code()), "{}", reply.text);
    assert!(reply.header("retry-after").is_some());
    faulty.lose_races(0);
    nothing_is_stored(&cx, &contact);
    faulty.lose_races(2);
    let _ = send(&cx, &contact, &Form::of_file("a.txt", b"text")).expect(201);
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
}

/// The request is dropped during the write of its record, as by a broken connection.
fn a_cancelled_upload(backend: Backend) {
    let (cx, contact, faulty) = faulty(backend);
    faulty.stall(true);
    let call = cx.call("POST", &files_of(&contact)).form(&Form::of_file("a.txt", b"text"));
    {
        let mut running = pin!(call.answer());
        assert!(poll(running.as_mut()).is_pending());
    }
    faulty.stall(false);
    wait(cx.platform.sweep_orphans(0)).expect("swept");
    assert_eq!(total(&cx, &contact) as usize, blobs(&cx).len());
    assert!(wait(cx.platform.check_contents()).expect("checked").faults.is_empty());
}

/// Archived or erased between the body and the record.
fn the_contact_changes_during_the_upload(backend: Backend) {
    use openapi_core::admin::Admin;
    for erased in [false, true] {
        let (cx, contact, faulty) = faulty(backend);
        let elsewhere = cx.restarted();
        faulty.stall(true);
        let call = cx.call("POST", &files_of(&contact)).form(&Form::of_file("a.txt", b"text"));
        let mut running = pin!(call.answer());
        assert!(poll(running.as_mut()).is_pending());
        faulty.stall(false);
        if erased {
            let target = openapi_core::contacts::ContactRef::Id(contact.parse().expect("an id"));
            let operator = contract_tests::sandbox::operator();
            let _ = wait(elsewhere.platform.erase_contact(&operator, &cx.agent, &target)).expect("erased");
            let _ = wait(running).fails(404, "CONTACT_NOT_FOUND");
            assert_eq!(blobs(&cx), []);
        } else {
            let archive = format!("/contacts/platformid/{contact}/chatbots/<A>/archive");
            let _ = elsewhere.patch(&archive).expect(200);
            let _ = wait(running).fails(409, "CONTACT_ARCHIVED");
            nothing_is_stored(&cx, &contact);
        }
    }
}

/// Bytes are passed on as they arrive, in chunks of bounded size.
fn nothing_is_buffered(backend: Backend) {
    let (cx, contact, store) = watched(backend);
    let form = Form::of_file("a.txt", &vec![b'x'; 4 * 1_024 * 1_024]);
    let bytes = form.bytes();
    // All at once, and in small pieces.
    for size in [bytes.len(), 1_000_000, 1_000] {
        store.longest_chunk.store(0, Ordering::SeqCst);
        let chunks = bytes.chunks(size).map(|chunk| Chunk::Bytes(chunk.to_vec().into())).collect();
        let call = cx.call("POST", &files_of(&contact)).chunks(chunks);
        let _ = call.header("content-type", &form.content_type()).send().expect(201);
        let longest = store.longest_chunk.load(Ordering::SeqCst);
        assert!(longest <= 256 * 1_024, "{longest} bytes at once");
    }
    // Received data reaches the store before the rest arrives: of a body that never ends, all but a few chunks.
    let before = store.written.load(Ordering::SeqCst);
    let begin = Chunk::Bytes(form.unclosed()[..2 * 1_024 * 1_024].to_vec().into());
    let call = cx.call("POST", &files_of(&contact)).chunks(vec![begin, Chunk::Timeout]);
    let _ = call.header("content-type", &form.content_type()).send().fails(408, "REQUEST_TIMEOUT");
    let written = store.written.load(Ordering::SeqCst) - before;
    assert!(written >= 2 * 1_024 * 1_024 - 256 * 1_024, "only {written} bytes were handed on");
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (3, 3));
}

/// Bytes that will be rejected in any case are not stored first.
fn rejected_content_is_not_written(backend: Backend) {
    let (cx, contact, store) = watched(backend);
    let form = Form::of_file("a.txt", b"text");
    let _ = send(&cx, "697dc8165d4ffa83cfc35c00", &form).fails(404, "CONTACT_NOT_FOUND");
    let _ = send(&cx, "nonsense", &form).fails(404, "CONTACT_NOT_FOUND");
    let call = cx.call("POST", &format!("{}?x=1", files_of(&contact))).form(&form);
    let _ = call.send().invalid(&[("x", "unknown")]);
    let _ = cx.patch(&format!("/contacts/platformid/{contact}/chatbots/<A>/archive")).expect(200);
    let _ = send(&cx, &contact, &form).fails(409, "CONTACT_ARCHIVED");
    assert_eq!(store.begun.load(Ordering::SeqCst), 0);
}
