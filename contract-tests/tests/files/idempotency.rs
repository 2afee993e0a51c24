//! Idempotency-Key on uploads (contract 5.5).

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use contract_tests::call::Chunk;
use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Call, FaultyStorage, Form, Reply, Sandbox, on_every_backend};
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::storage::StorageErrorKind;
use serde_json::json;

use crate::support::{blobs, contact, file_path, files_of, nothing_is_stored, sandbox, total, with_contact};

on_every_backend!(
    replay,
    the_fingerprint,
    another_payload,
    in_use,
    another_process_wins,
    many_at_once,
    rejections_are_not_stored,
    a_replay_precedes_later_checks,
    broken_bodies_precede_it,
    stored_for_a_day,
    bound_to_the_contact,
    an_erased_contact,
    forms_of_the_key,
);

fn call<'a>(cx: &'a Sandbox, contact: &str, key: &str, form: &Form) -> Call<'a> {
    cx.call("POST", &files_of(contact)).form(form).header("idempotency-key", key)
}

fn text() -> Form {
    Form::of_file("a.txt", b"text")
}

#[track_caller]
fn is_replay(reply: &Reply, of: &Reply) {
    assert_eq!((reply.status, &reply.text), (201, &of.text));
    assert_eq!(reply.header("location"), of.header("location"));
    assert_eq!(reply.header("idempotent-replayed"), Some("true"));
}

fn replay(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = call(&cx, &contact, "k", &text()).send().expect(201);
    assert_eq!(first.header("idempotent-replayed"), None);
    for _ in 0..3 {
        cx.advance(1_000);
        is_replay(&call(&cx, &contact, "k", &text()).send(), &first);
    }
    is_replay(&call(&cx.restarted(), &contact, "k", &text()).send(), &first);
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
    let other = call(&cx, &contact, "other", &text()).send().expect(201);
    assert_ne!(other.id(), first.id());
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (2, 2));
}

/// SHA-256 of the part names in order, with the hashes of their contents: nothing else counts.
fn the_fingerprint(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = call(&cx, &contact, "k", &text()).send().expect(201);
    let bare = |headers: &[&str]| Form::new().part(headers, b"text");
    for same in [
        Form::of_file("other.csv", b"text"),
        bare(&["Content-Disposition: form-data; name=\"file\""]),
        bare(&[
            "Content-Type: image/png",
            "Content-Disposition: form-data; filename=\"x\"; name=file",
            "X-Other: 1",
        ]),
    ] {
        is_replay(&call(&cx, &contact, "k", &same).send(), &first);
    }
    // Another boundary, other chunks, a preamble to ignore.
    let body = "--other\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\ntext\r\n--other--\r\n";
    for size in [1, 5, 1_000] {
        let chunks = body.as_bytes().chunks(size).map(|chunk| Chunk::Bytes(chunk.to_vec().into())).collect();
        let call = cx.call("POST", &files_of(&contact)).chunks(chunks).header("idempotency-key", "k");
        is_replay(&call.header("content-type", "multipart/form-data; boundary=other").send(), &first);
    }
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
}

fn another_payload(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = call(&cx, &contact, "k", &text()).send().expect(201);
    for other in [
        Form::of_file("a.txt", b"Text"),
        Form::of_file("a.txt", b"text "),
        Form::of_file("a.txt", b""),
        Form::new(),
        Form::new().text("files", "text"),
        Form::new().text("elif", "text"),
        text().text("x", "1"),
        text().file("a.txt", b"text"),
        Form::new().text("x", "").file("a.txt", b"text"),
        // Names and contents are separated.
        Form::new().text("filet", "ext"),
    ] {
        let reply = call(&cx, &contact, "k", &other).send();
        // A form without parts may be read as broken framing.
        if reply.code() != "BAD_REQUEST" {
            let reply = reply.fails(422, "IDEMPOTENCY_KEY_REUSED");
            assert_eq!(reply.header("idempotent-replayed"), None);
        }
    }
    let without = cx.call("POST", &files_of(&contact)).header("idempotency-key", "k").send();
    let _ = without.fails(422, "IDEMPOTENCY_KEY_REUSED");
    is_replay(&call(&cx, &contact, "k", &text()).send(), &first);
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn faulty(backend: Backend) -> (Sandbox, String, std::sync::Arc<FaultyStorage>) {
    let (cx, faulty) = Sandbox::faulty(backend);
    let (cx, contact) = with_contact(cx);
    (cx, contact, faulty)
}

fn in_use(backend: Backend) {
    let (cx, contact, faulty) = faulty(backend);
    faulty.stall(true);
    let running = call(&cx, &contact, "k", &text());
    let mut first = pin!(running.answer());
    assert!(poll(first.as_mut()).is_pending());
    for form in [text(), Form::of_file("a.txt", b"other")] {
        let reply = call(&cx, &contact, "k", &form).send().fails(409, "IDEMPOTENCY_KEY_IN_USE");
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    faulty.stall(false);
    let first = wait(first).expect(201);
    is_replay(&call(&cx, &contact, "k", &text()).send(), &first);
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
    // A client that disconnects frees its key.
    faulty.stall(true);
    {
        let running = call(&cx, &contact, "gone", &text());
        let mut gone = pin!(running.answer());
        assert!(poll(gone.as_mut()).is_pending());
    }
    faulty.stall(false);
    let reply = call(&cx, &contact, "gone", &text()).send().expect(201);
    assert_eq!(reply.header("idempotent-replayed"), None);
    assert_eq!(total(&cx, &contact), 2);
}

fn another_process_wins(backend: Backend) {
    let (cx, contact, faulty) = faulty(backend);
    let elsewhere = cx.restarted();
    for (key, form) in [("k1", text()), ("k2", Form::of_file("a.txt", b"other"))] {
        let before = total(&cx, &contact);
        faulty.stall(true);
        let running = call(&cx, &contact, key, &form);
        let mut held = pin!(running.answer());
        assert!(poll(held.as_mut()).is_pending());
        faulty.stall(false);
        let faster = call(&elsewhere, &contact, key, &text()).send().expect(201);
        let held = wait(held);
        if key == "k1" {
            is_replay(&held, &faster);
        } else {
            let _ = held.fails(422, "IDEMPOTENCY_KEY_REUSED");
        }
        assert_eq!(total(&cx, &contact), before + 1);
        assert_eq!(blobs(&cx).len() as u64, before + 1, "the slower content is removed");
    }
}

fn many_at_once(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let ids: Vec<Option<String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let (cx, contact) = (&cx, &contact);
                scope.spawn(move || {
                    let reply = call(cx, contact, "k", &text()).send();
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
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
}

/// Only 2xx responses are stored; a request with any other response may be retried with the same key.
fn rejections_are_not_stored(backend: Backend) {
    let (cx, contact, faulty) = faulty(backend);
    let send = |form: &Form| call(&cx, &contact, "k", form).send();
    let _ = send(&Form::of_file("a.txt", b"")).fails(400, "VALIDATION_ERROR");
    let _ = send(&Form::of_file("a.txt", b"MZ\x90\0\x03\0\0\0")).fails(415, "UNSUPPORTED_FILE_TYPE");
    let unclosed =
        cx.call("POST", &files_of(&contact)).bytes(&text().unclosed()).header("idempotency-key", "k");
    let _ = unclosed.header("content-type", &text().content_type()).send().fails(400, "BAD_REQUEST");
    let archive = format!("/contacts/platformid/{contact}/chatbots/<A>/archive");
    let _ = cx.patch(&archive).expect(200);
    let _ = send(&text()).fails(409, "CONTACT_ARCHIVED");
    let _ = cx.patch(&archive.replace("/archive", "/unarchive")).expect(200);
    faulty.fail(Some(StorageErrorKind::Unavailable));
    let _ = send(&text()).fails(503, "SERVICE_UNAVAILABLE");
    faulty.fail(None);
    faulty.lose_races(u32::MAX);
    let reply = send(&text());
    assert!(reply.status == 409 || reply.status == 503, "{}", reply.text);
    faulty.lose_races(0);
    nothing_is_stored(&cx, &contact);
    let first = send(&text()).expect(201);
    assert_eq!(first.header("idempotent-replayed"), None);
    is_replay(&send(&text()), &first);
}

/// Step 9 comes before 404, the content's type, validation and state.
fn a_replay_precedes_later_checks(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = call(&cx, &contact, "k", &text()).send().expect(201);
    let with_query = cx.call("POST", &format!("{}?x=1", files_of(&contact))).form(&text());
    is_replay(&with_query.header("idempotency-key", "k").send(), &first);
    // Its extension now marks it as a script; the payload is the same.
    is_replay(&call(&cx, &contact, "k", &Form::of_file("a.js", b"text")).send(), &first);
    let _ = cx.patch(&format!("/contacts/platformid/{contact}/chatbots/<A>/archive")).expect(200);
    is_replay(&call(&cx, &contact, "k", &text()).send(), &first);
    let _ = call(&cx, &contact, "k", &Form::of_file("a.exe", b"MZ\x90\0"))
        .send()
        .fails(422, "IDEMPOTENCY_KEY_REUSED");
    let _ = cx.patch(&format!("/contacts/platformid/{contact}/chatbots/<A>/unarchive")).expect(200);
    // The upload of a deleted file succeeded nonetheless.
    let _ = cx.call("DELETE", &file_path(&contact, &first.id())).send().expect(200);
    is_replay(&call(&cx, &contact, "k", &text()).send(), &first);
    assert_eq!(total(&cx, &contact), 0);
}

/// Step 8 comes before step 9.
fn broken_bodies_precede_it(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let _ = call(&cx, &contact, "k", &text()).send().expect(201);
    let post = || cx.call("POST", &files_of(&contact)).header("idempotency-key", "k");
    let unclosed = post().bytes(&text().unclosed()).header("content-type", &text().content_type());
    let _ = unclosed.send().fails(400, "BAD_REQUEST");
    let _ = post().json(&json!({})).send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
    let late = post().chunks(vec![Chunk::Bytes(text().unclosed().into()), Chunk::Timeout]);
    let _ = late.header("content-type", &text().content_type()).send().fails(408, "REQUEST_TIMEOUT");
}

fn stored_for_a_day(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = call(&cx, &contact, "k", &text()).send().expect(201);
    cx.advance(86_400_000 - 1);
    wait(cx.platform.maintain()).expect("maintenance");
    is_replay(&call(&cx, &contact, "k", &text()).send(), &first);
    cx.advance(1);
    let second = call(&cx, &contact, "k", &Form::of_file("a.txt", b"other")).send().expect(201);
    assert_ne!(second.id(), first.id());
}

fn bound_to_the_contact(backend: Backend) {
    let (cx, first) = sandbox(backend);
    let second = contact(&cx);
    let one = call(&cx, &first, "k", &text()).send().expect(201);
    let two = call(&cx, &second, "k", &Form::of_file("a.txt", b"other")).send().expect(201);
    is_replay(&call(&cx, &first, "k", &text()).send(), &one);
    let other_key = cx.issue(|_| {});
    let three = call(&cx, &first, "k", &text()).with(&other_key).send().expect(201);
    assert!(three.id() != one.id() && two.id() != one.id());
    // The same key on another endpoint is another key.
    let _ = cx
        .call("POST", "/contacts/chatbots/<A>")
        .json(&json!({ "primaryEmail": "a@b.co" }))
        .header("idempotency-key", "k")
        .send()
        .expect(201);
}

/// Contract 14: erasure removes everything, stored responses included.
fn an_erased_contact(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let _ = call(&cx, &contact, "k", &text()).send().expect(201);
    let target = ContactRef::Id(contact.parse().expect("an id"));
    let _ = wait(cx.platform.erase_contact(&operator(), &cx.agent, &target)).expect("erased");
    let _ = call(&cx, &contact, "k", &text()).send().fails(404, "CONTACT_NOT_FOUND");
}

fn forms_of_the_key(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = call(&cx, &contact, "abc", &text()).send().expect(201);
    is_replay(&call(&cx, &contact, "\"abc\"", &text()).send(), &first);
    for bad in ["", "\"\"", &"k".repeat(256), "\u{e9}"] {
        let post = cx.call("POST", &files_of(&contact)).form(&text());
        let reply = post.raw_header("idempotency-key", bad.as_bytes()).send();
        let reply = reply.invalid(&[("Idempotency-Key", "format")]);
        assert_eq!(reply.violation(0)["in"], "header");
    }
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
}
