//! Files per contact and bytes per agent (contract 2.2, 9).

use contract_tests::{Backend, Form, on_every_backend};
use serde_json::json;

use crate::support::{blobs, contact, file_path, sandbox_with, send, total, upload};

on_every_backend!(files_of_a_contact, bytes_of_an_agent, both, order, many_at_once, the_usual_count);

fn files_of_a_contact(backend: Backend) {
    let (cx, first) = sandbox_with(backend, |files| files.max_files_of_contact = 3);
    let ids: Vec<String> = (0..3).map(|_| upload(&cx, &first, "a.txt", b"x").id()).collect();
    for _ in 0..2 {
        let reply = send(&cx, &first, &Form::of_file("a.txt", b"x")).fails(403, "STORAGE_QUOTA_EXCEEDED");
        assert_eq!(reply.json["details"], json!({ "limit": 3, "actual": 4, "unit": "files" }));
        assert_eq!((total(&cx, &first), blobs(&cx).len()), (3, 3));
    }
    // Per contact.
    let second = contact(&cx);
    let _ = upload(&cx, &second, "a.txt", b"x");
    // A deleted file is absent everywhere.
    let _ = cx.call("DELETE", &file_path(&first, &ids[0])).send().expect(200);
    let _ = upload(&cx, &first, "a.txt", b"x");
    let _ = send(&cx, &first, &Form::of_file("a.txt", b"x")).fails(403, "STORAGE_QUOTA_EXCEEDED");
}

fn bytes_of_an_agent(backend: Backend) {
    let (cx, first) = sandbox_with(backend, |files| files.max_bytes_of_agent = Some(100));
    let second = contact(&cx);
    let large = upload(&cx, &first, "a.txt", &[b'x'; 60]).id();
    let reply = send(&cx, &second, &Form::of_file("a.txt", &[b'x'; 41])).fails(403, "STORAGE_QUOTA_EXCEEDED");
    assert_eq!(reply.json["details"], json!({ "limit": 100, "actual": 101, "unit": "bytes" }));
    assert_eq!((total(&cx, &second), blobs(&cx).len()), (0, 1));
    let _ = upload(&cx, &second, "a.txt", &[b'x'; 40]);
    let reply = send(&cx, &first, &Form::of_file("a.txt", b"x")).fails(403, "STORAGE_QUOTA_EXCEEDED");
    assert_eq!(reply.json["details"], json!({ "limit": 100, "actual": 101, "unit": "bytes" }));
    assert_eq!(blobs(&cx).len(), 2);
    let _ = cx.call("DELETE", &file_path(&first, &large)).send().expect(200);
    let _ = upload(&cx, &first, "a.txt", &[b'x'; 60]);
    let _ = send(&cx, &first, &Form::of_file("a.txt", b"x")).fails(403, "STORAGE_QUOTA_EXCEEDED");
    // Per agent.
    let agent = cx.new_agent("other");
    let key = cx.issue(|key| key.agent_id = agent);
    let body = json!({ "primaryEmail": "a@b.co" });
    let other = cx.call("POST", "/contacts/chatbots/other").with(&key).json(&body).send().expect(201).id();
    let path = format!("/files/chatbots/other/{other}");
    let _ = cx.call("POST", &path).with(&key).form(&Form::of_file("a.txt", &[b'x'; 100])).send().expect(201);
    let reply = cx.call("POST", &path).with(&key).form(&Form::of_file("a.txt", b"x")).send();
    let _ = reply.fails(403, "STORAGE_QUOTA_EXCEEDED");
}

fn both(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |files| {
        files.max_files_of_contact = 1;
        files.max_bytes_of_agent = Some(10);
    });
    let _ = send(&cx, &contact, &Form::of_file("a.txt", &[b'x'; 11])).fails(403, "STORAGE_QUOTA_EXCEEDED");
    let _ = upload(&cx, &contact, "a.txt", &[b'x'; 10]);
    let reply = send(&cx, &contact, &Form::of_file("a.txt", b"x")).fails(403, "STORAGE_QUOTA_EXCEEDED");
    assert!(["files", "bytes"].contains(&reply.json["details"]["unit"].as_str().expect("a unit")));
}

/// Content, validation and state precede the quota (contract 6.3).
fn order(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |files| files.max_files_of_contact = 0);
    let reply = send(&cx, &contact, &Form::of_file("a.txt", b"x")).fails(403, "STORAGE_QUOTA_EXCEEDED");
    assert_eq!(reply.json["details"], json!({ "limit": 0, "actual": 1, "unit": "files" }));
    let _ = send(&cx, &contact, &Form::of_file("a.txt", b"MZ\x90\0\x03\0\0\0"))
        .fails(415, "UNSUPPORTED_FILE_TYPE");
    let _ = send(&cx, &contact, &Form::of_file("a.txt", b"")).invalid(&[("file", "minimum")]);
    let _ = cx.patch(&format!("/contacts/platformid/{contact}/chatbots/<A>/archive")).expect(200);
    let _ = send(&cx, &contact, &Form::of_file("a.txt", b"x")).fails(409, "CONTACT_ARCHIVED");
    assert_eq!(blobs(&cx), []);
}

fn many_at_once(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |files| {
        files.max_files_of_contact = 5;
        files.max_bytes_of_agent = Some(5_000);
    });
    let created: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|_| {
                let (cx, contact) = (&cx, &contact);
                scope.spawn(move || {
                    let reply = send(cx, contact, &Form::of_file("a.txt", &[b'x'; 1_000]));
                    assert!(
                        reply.status == 201
                            || ["STORAGE_QUOTA_EXCEEDED", "CONCURRENT_UPDATE", "SERVICE_UNAVAILABLE"]
                                .contains(&reply.code()),
                        "{}",
                        reply.text
                    );
                    usize::from(reply.status == 201)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert!(created <= 5, "{created}");
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (created as u64, created));
}

/// 1,000 files of a contact.
fn the_usual_count(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |_| {});
    let form = Form::of_file("a.txt", b"x");
    for n in 0..1_000 {
        if n % 500 == 0 {
            cx.advance(61_000);
        }
        let _ = send(&cx, &contact, &form).expect(201);
    }
    cx.advance(61_000);
    let reply = send(&cx, &contact, &form).fails(403, "STORAGE_QUOTA_EXCEEDED");
    assert_eq!(reply.json["details"], json!({ "limit": 1_000, "actual": 1_001, "unit": "files" }));
    assert_eq!(total(&cx, &contact), 1_000);
}
