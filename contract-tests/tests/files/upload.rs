//! POST /files/chatbots/<A>/<cid> (contract 2.2, 4.3, 5.1, 6.2, 9).

use contract_tests::call::Chunk;
use contract_tests::sandbox::instant;
use contract_tests::{Backend, Form, Sandbox, on_every_backend, story};
use openapi_core::seal::sealed_bytes;
use serde_json::{Value, json};

use crate::support::{
    blobs, contact, files_of, nothing_is_stored, read, sandbox, sandbox_up_to, send, sha256, total, upload,
};

on_every_backend!(
    the_story,
    equal_names_never_overwrite,
    without_a_file_name,
    the_file_part,
    other_parts,
    order_of_errors,
    a_hundred_errors_are_listed,
    errors_outside_the_form,
    an_archived_contact,
    an_absent_contact,
    an_absent_body,
    other_media_types,
    encodings,
    boundaries,
    the_largest_file,
    one_byte_too_many,
    a_declared_length_that_is_too_large,
    a_mebibyte_besides_the_file,
    a_second_file_has_no_separate_limit,
    a_body_timeout,
    a_disconnecting_client,
    a_file_of_25_mebibytes,
    who_may,
);

const KIB: usize = 1_024;
const MIB: usize = 1_024 * 1_024;

/// The envelope of contract 4.3, to the byte; values chosen by the store are replaced by the example's.
fn the_story(backend: Backend) {
    let cx = story::sandbox(backend);
    let contact = cx.create(&story::new_contact()).id();
    cx.clock.set(instant("2026-01-31T09:20:11.480Z"));
    let reply = upload(&cx, &contact, "referral.pdf", story::PDF);
    let mapped = reply
        .text
        .replace(&reply.id(), "697dc94b74a1f572c54b78cf")
        .replace(&contact, story::CONTACT_ID)
        .replace(&cx.credentials.key, "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ")
        .replace(&format!("\"fileSize\":{},", story::PDF.len()), "\"fileSize\":48213,")
        .replace(&sha256(story::PDF), "97289ea930241a328beebe327b039a7358f952570d36923702f93e165f1b2e37");
    assert_eq!(
        mapped,
        r#"{"success":true,"message":"File uploaded successfully","data":{"id":"697dc94b74a1f572c54b78cf","agentId":"695b6f80de7378c4412112d3","contactId":"697dc8165d4ffa83cfc35cfc","fileName":"referral.pdf","fileSize":48213,"contentType":"application/pdf","sha256":"97289ea930241a328beebe327b039a7358f952570d36923702f93e165f1b2e37","source":"api","uploadedBy":{"type":"apiKey","id":"svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ"},"createdAt":"2026-01-31T09:20:11.480Z","updatedAt":"2026-01-31T09:20:11.480Z"}}"#
    );
    let location = format!("/v1/open/files/chatbots/{}/{contact}/files/{}", cx.agent, reply.id());
    assert_eq!(reply.header("location"), Some(location.as_str()));
    let found = cx.at("GET", &location).send().expect(200);
    assert_eq!(found.data(), reply.data());
    assert!(reply.header("etag").is_some());
    assert_eq!(found.header("etag"), reply.header("etag"));
    // The id begins with its creation time in seconds.
    assert_eq!(reply.id()[..8], *"697dc94b");
    let listed = cx.get(&files_of(&contact)).expect(200);
    assert_eq!(listed.data(), &json!([reply.data()]));
    let stored = blobs(&cx);
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].key.to_string(), format!("{}/{}", cx.agent, reply.id()));
    assert_eq!(stored[0].size, sealed_bytes(story::PDF.len() as u64));
}

fn equal_names_never_overwrite(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = upload(&cx, &contact, "a.txt", b"one");
    let second = upload(&cx, &contact, "a.txt", b"two");
    let third = upload(&cx, &contact, "a.txt", b"one");
    assert!(first.id() != second.id() && second.id() != third.id() && first.id() != third.id());
    assert_ne!(first.header("etag"), third.header("etag"));
    assert_eq!(total(&cx, &contact), 3);
    assert_eq!(read(&cx, &contact, &first.id()).data(), first.data());
}

fn without_a_file_name(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (content, name) in
        [(story::PDF, "file.pdf"), (b"text", "file.txt"), (b"GIF89a\x01\0\x01\0\0\0\0;", "file.gif")]
    {
        let form = Form::new().part(&["Content-Disposition: form-data; name=\"file\""], content);
        assert_eq!(send(&cx, &contact, &form).expect(201).data()["fileName"], name);
    }
}

fn the_file_part(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let repeated = Form::of_file("a.txt", b"one").file("b.txt", b"two");
    for (form, kind) in [
        (Form::new().text("", ""), "unknown"),
        (Form::of_file("a.txt", b""), "minimum"),
        (Form::new().text("file", ""), "minimum"),
        (repeated.clone(), "maxItems"),
        (repeated.file("c.txt", b"three"), "maxItems"),
    ] {
        let reply = send(&cx, &contact, &form).fails(400, "VALIDATION_ERROR");
        let fault = reply.violation(reply.violations().len() - 1);
        match kind {
            // Missing parts are reported last, after the sent ones.
            "unknown" => assert_eq!(reply.violations(), [("", "unknown"), ("file", "required")]),
            kind => assert_eq!(reply.violations(), [("file", kind)]),
        }
        assert_eq!(fault["field"], "file");
        assert_eq!(fault["in"], "form");
        assert_eq!(fault["value"], Value::Null);
        nothing_is_stored(&cx, &contact);
    }
    // Names of parts are compared exactly.
    for name in ["File", "FILE", "file ", "files", "file[]", "document"] {
        let form = Form::new().text(name, "text");
        let _ = send(&cx, &contact, &form).invalid(&[(name, "unknown"), ("file", "required")]);
    }
    nothing_is_stored(&cx, &contact);
}

fn other_parts(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let long = "ä".repeat(300);
    let cut = format!("{}…", "ä".repeat(256));
    let exact = "x".repeat(256);
    for (form, value) in [
        (Form::new().text("note", "hello"), json!("hello")),
        (Form::new().text("note", ""), json!("")),
        (Form::new().text("note", &long), json!(cut)),
        (Form::new().text("note", &exact), json!(exact)),
        (
            Form::new()
                .part(&["Content-Disposition: form-data; name=\"note\"; filename=\"n.txt\""], b"hello"),
            Value::Null,
        ),
        (
            Form::new()
                .part(&["Content-Disposition: form-data; name=\"note\"; filename*=UTF-8''n.txt"], b"hello"),
            Value::Null,
        ),
    ] {
        let form = form.file("a.txt", b"text");
        let reply = send(&cx, &contact, &form).invalid(&[("note", "unknown")]);
        assert_eq!(reply.violation(0)["in"], "form");
        assert_eq!(reply.violation(0)["value"], value);
        nothing_is_stored(&cx, &contact);
    }
    // Names starting with `_` are ignored in queries alone.
    let form = Form::of_file("a.txt", b"text").text("_charset_", "utf-8");
    let _ = send(&cx, &contact, &form).invalid(&[("_charset_", "unknown")]);
    let form = Form::new().text("Größe", "1").file("a.txt", b"text");
    let _ = send(&cx, &contact, &form).invalid(&[("Größe", "unknown")]);
}

fn order_of_errors(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (form, expected) in [
        (
            Form::new().text("a", "1").file("x", b"").text("b", "2"),
            vec![("a", "unknown"), ("file", "minimum"), ("b", "unknown")],
        ),
        (
            Form::new().text("a", "1").text("b", "2"),
            vec![("a", "unknown"), ("b", "unknown"), ("file", "required")],
        ),
        (
            Form::new().file("x", b"1").text("a", "1").file("y", b"2").text("b", "2"),
            vec![("a", "unknown"), ("file", "maxItems"), ("b", "unknown")],
        ),
    ] {
        let reply = send(&cx, &contact, &form).invalid(&expected);
        let first = reply.violation(0)["message"].as_str().expect("a message");
        let more = expected.len() - 1;
        assert_eq!(reply.json["message"], format!("Validation failed: {first} (and {more} more)"));
    }
    nothing_is_stored(&cx, &contact);
}

fn a_hundred_errors_are_listed(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let form = |count: usize| {
        (0..count).fold(Form::of_file("a.txt", b"x"), |form, n| form.text(&format!("p{n}"), "v"))
    };
    let reply = send(&cx, &contact, &form(100)).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations().len(), 100);
    assert_eq!(reply.json.get("details"), None);
    let reply = send(&cx, &contact, &form(150)).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations().len(), 100);
    assert_eq!(reply.json["details"], json!({ "truncated": true, "totalErrors": 150 }));
    assert!(reply.json["message"].as_str().is_some_and(|text| text.ends_with("(and 149 more)")));
    nothing_is_stored(&cx, &contact);
}

/// Header, then query, then parts (contract 6.2).
fn errors_outside_the_form(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let reply = cx
        .call("POST", &format!("{}?reason=x&reason=y&_ignored=1&z=", files_of(&contact)))
        .header("idempotency-key", "")
        .form(&Form::new().text("a", "1"))
        .send()
        .fails(400, "VALIDATION_ERROR");
    let positions: Vec<&str> =
        (0..reply.violations().len()).filter_map(|n| reply.violation(n)["in"].as_str()).collect();
    assert_eq!((positions.first(), positions.last()), (Some(&"header"), Some(&"form")), "{}", reply.text);
    assert!(
        positions.is_sorted_by_key(|location| ["header", "query", "form"]
            .iter()
            .position(|known| known == location))
    );
    assert!(reply.violations().contains(&("reason", "unknown")));
    nothing_is_stored(&cx, &contact);
    // The query alone causes a rejection as well.
    let call = cx.call("POST", &format!("{}?upsert=true", files_of(&contact)));
    let _ = call.form(&Form::of_file("a.txt", b"x")).send().invalid(&[("upsert", "unknown")]);
    nothing_is_stored(&cx, &contact);
}

fn an_archived_contact(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let archive = format!("/contacts/platformid/{contact}/chatbots/<A>/archive");
    let archived = cx.patch(&archive).expect(200);
    let reply = send(&cx, &contact, &Form::of_file("a.txt", b"x")).fails(409, "CONTACT_ARCHIVED");
    assert_eq!(
        reply.json["details"],
        json!({ "resource": "contact", "id": contact, "archivedAt": archived.data()["archivedAt"] })
    );
    nothing_is_stored(&cx, &contact);
    let _ = cx.patch(&archive.replace("/archive", "/unarchive")).expect(200);
    let _ = upload(&cx, &contact, "a.txt", b"x");
}

fn an_absent_contact(backend: Backend) {
    let (cx, known) = sandbox(backend);
    let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "externalReferenceId": "crm-1" }));
    let form = Form::of_file("a.txt", b"x");
    for (id, hinted) in [
        ("697dc8165d4ffa83cfc35c00", false),
        ("crm-1", true),
        ("697dc8165d4ffa83cfc35c0", true),
        ("697dc8165d4ffa83cfc35c0g", true),
        ("..", true),
        ("%E2%82%AC", true),
    ] {
        let reply = send(&cx, id, &form).fails(404, "CONTACT_NOT_FOUND");
        let sent = id.replace("%E2%82%AC", "€");
        assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": sent }));
        let message = reply.json["message"].as_str().expect("a message");
        assert_eq!(message.contains("platform ids are 24 hexadecimal characters"), hinted, "{id}");
    }
    assert_eq!(blobs(&cx), []);
    // Upper-case digits are the same id, which is normalised.
    let reply = send(&cx, &known.to_uppercase(), &form).expect(201);
    assert_eq!(reply.data()["contactId"], known);
    assert!(reply.header("location").is_some_and(|path| path.contains(&known)));
}

fn an_absent_body(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let path = files_of(&contact);
    let _ = cx.call("POST", &path).send().invalid(&[("file", "required")]);
    // The media type is checked only if there is a body.
    for media_type in
        ["multipart/form-data", "application/json", "nonsense", "multipart/form-data; boundary=x"]
    {
        let reply = cx.call("POST", &path).header("content-type", media_type).send();
        let reply = reply.invalid(&[("file", "required")]);
        assert_eq!(reply.violation(0)["in"], "form");
    }
    let _ = cx.call("POST", &path).bytes(b"").send().invalid(&[("file", "required")]);
    // A body of unknown length turns out to be absent at its end.
    for chunks in [vec![], vec![Chunk::Bytes(Vec::new().into())]] {
        let call = cx.call("POST", &path).chunks(chunks);
        let _ = call.send().invalid(&[("file", "required")]);
        let _ = call.header("content-type", "text/plain").send().invalid(&[("file", "required")]);
    }
    nothing_is_stored(&cx, &contact);
}

fn other_media_types(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let form = Form::of_file("a.txt", b"x");
    for media_type in [
        "application/json",
        "application/octet-stream",
        "application/x-www-form-urlencoded",
        "multipart/mixed; boundary=----4d8f0c7aX",
        "multipart/form-dataset; boundary=----4d8f0c7aX",
        "multipart; boundary=----4d8f0c7aX",
        "text/plain",
        "",
    ] {
        let call = cx.call("POST", &files_of(&contact)).bytes(&form.bytes());
        let reply = call.header("content-type", media_type).send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
        assert_eq!(reply.header("accept"), Some("multipart/form-data"), "{media_type}");
    }
    let reply = cx.call("POST", &files_of(&contact)).bytes(&form.bytes()).send();
    let _ = reply.fails(415, "UNSUPPORTED_MEDIA_TYPE");
    nothing_is_stored(&cx, &contact);
    // Media type names are case-insensitive.
    let call = cx.call("POST", &files_of(&contact)).bytes(&form.bytes());
    let _ = call.header("content-type", "Multipart/Form-Data; Boundary=----4d8f0c7aX").send().expect(201);
}

fn encodings(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let form = Form::of_file("a.txt", b"x");
    for encoding in ["gzip", "br", "deflate", "zstd", "identity, gzip", "x"] {
        let call = cx.call("POST", &files_of(&contact)).form(&form).header("content-encoding", encoding);
        let reply = call.send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
        assert!(reply.header("accept").is_some());
    }
    nothing_is_stored(&cx, &contact);
    for encoding in ["identity", "Identity"] {
        let call = cx.call("POST", &files_of(&contact)).form(&form).header("content-encoding", encoding);
        let _ = call.send().expect(201);
    }
}

fn boundaries(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let body = |boundary: &str| {
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\ntext\r\n--{boundary}--\r\n"
        )
    };
    let post = |media_type: &str, boundary: &str| {
        cx.call("POST", &files_of(&contact)).text(&body(boundary)).header("content-type", media_type).send()
    };
    for media_type in [
        "multipart/form-data",
        "multipart/form-data;",
        "multipart/form-data; charset=utf-8",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary",
    ] {
        let _ = post(media_type, "x").fails(400, "BAD_REQUEST");
    }
    // At most 70 characters (RFC 2046).
    let _ = post(&format!("multipart/form-data; boundary={}", "b".repeat(71)), &"b".repeat(71))
        .fails(400, "BAD_REQUEST");
    // A boundary other than the announced one is broken framing.
    let _ = post("multipart/form-data; boundary=y", "x").fails(400, "BAD_REQUEST");
    nothing_is_stored(&cx, &contact);
    for boundary in
        ["x", "b", &"b".repeat(70), "----WebKitFormBoundary7MA4YWxkTrZu0gW", "0123456789", "a'+_-.b"]
    {
        let _ = post(&format!("multipart/form-data; boundary={boundary}"), boundary).expect(201);
    }
    // Every character that RFC 2046 allows, in quotes.
    for boundary in ["=_Part_1_2.3", "a b", "(a)/:=?", "'()+_,-./:=?", "simple"] {
        let _ = post(&format!("multipart/form-data; boundary=\"{boundary}\""), boundary).expect(201);
    }
    let _ = post("multipart/form-data; charset=utf-8; boundary=x", "x").expect(201);
    let _ = post("multipart/form-data;boundary=x;charset=utf-8", "x").expect(201);
}

/// A chunked body has no declared length.
fn in_chunks(bytes: &[u8], size: usize) -> Vec<Chunk> {
    bytes.chunks(size).map(|chunk| Chunk::Bytes(chunk.to_vec().into())).collect()
}

fn send_streamed(cx: &Sandbox, contact: &str, form: &Form, size: usize) -> contract_tests::Reply {
    let call = cx.call("POST", &files_of(contact)).chunks(in_chunks(&form.bytes(), size));
    call.header("content-type", &form.content_type()).send()
}

fn the_largest_file(backend: Backend) {
    for limit in [1, 100, 64 * KIB, 200 * KIB] {
        let (cx, contact) = sandbox_up_to(backend, limit as u64);
        let form = Form::of_file("a.txt", &vec![b'x'; limit]);
        let _ = send(&cx, &contact, &form).expect(201);
        for size in [1 + limit / 7, 64 * KIB] {
            let reply = send_streamed(&cx, &contact, &form, size).expect(201);
            assert_eq!(reply.data()["fileSize"], limit);
        }
        assert!(blobs(&cx).iter().all(|blob| blob.size == sealed_bytes(limit as u64)));
    }
}

fn one_byte_too_many(backend: Backend) {
    for limit in [1, 100, 64 * KIB, 200 * KIB] {
        let (cx, contact) = sandbox_up_to(backend, limit as u64);
        for form in [
            Form::of_file("a.txt", &vec![b'x'; limit + 1]),
            // Step 8 comes before validation and the content's type.
            Form::new().text("other", "x").file("a.exe", &[b"MZ", &vec![0; limit][..]].concat()),
        ] {
            let whole = send(&cx, &contact, &form);
            let streamed = send_streamed(&cx, &contact, &form, 1 + limit / 7);
            for reply in [whole, streamed] {
                let reply = reply.fails(413, "FILE_TOO_LARGE");
                assert_eq!(reply.json["details"], json!({ "limit": limit, "actual": null, "unit": "bytes" }));
            }
        }
        nothing_is_stored(&cx, &contact);
    }
}

/// `Content-Length` is checked first (contract 9): no byte is read.
fn a_declared_length_that_is_too_large(backend: Backend) {
    let (cx, contact) = sandbox_up_to(backend, 1_000);
    let form = Form::of_file("a.txt", &vec![b'x'; 1_000 + MIB]);
    let declared = form.bytes().len();
    let reply = send(&cx, &contact, &form).fails(413, "FILE_TOO_LARGE");
    assert_eq!(reply.json["details"], json!({ "limit": 1_000, "actual": declared, "unit": "bytes" }));
    let call = cx.call("POST", &files_of(&contact)).chunks(vec![Chunk::Timeout]);
    let call = call
        .header("content-type", &form.content_type())
        .header("content-length", &(1_001 + MIB).to_string());
    let reply = call.send().fails(413, "FILE_TOO_LARGE");
    assert_eq!(reply.json["details"]["actual"], 1_001 + MIB);
    // A body that may still fit is read.
    let call = cx.call("POST", &files_of(&contact)).chunks(vec![Chunk::Timeout]);
    let call = call
        .header("content-type", &form.content_type())
        .header("content-length", &(1_000 + MIB).to_string());
    let _ = call.send().fails(408, "REQUEST_TIMEOUT");
    nothing_is_stored(&cx, &contact);
}

/// Contract 9: a multipart body may have 1 MiB besides its file.
fn a_mebibyte_besides_the_file(backend: Backend) {
    let (cx, contact) = sandbox_up_to(backend, 200 * KIB as u64);
    for file in [10, 200 * KIB] {
        let content = vec![b'x'; file];
        let overhead = Form::of_file("a.txt", &content).text("note", "").bytes().len() - file;
        for (fill, refused) in [(MIB - overhead, false), (MIB - overhead + 1, true)] {
            for form in [
                Form::of_file("a.txt", &content).text("note", &"y".repeat(fill)),
                Form::new().text("note", &"y".repeat(fill)).file("a.txt", &content),
            ] {
                for size in [7_777, 64 * KIB, 4 * MIB] {
                    let reply = send_streamed(&cx, &contact, &form, size);
                    if refused {
                        let reply = reply.fails(413, "FILE_TOO_LARGE");
                        assert_eq!(reply.json["details"]["limit"], 200 * KIB);
                    } else {
                        let _ = reply.invalid(&[("note", "unknown")]);
                    }
                }
            }
        }
        // An epilogue counts as well.
        for (fill, status) in [(MIB - overhead, 201), (MIB, 413)] {
            let form = Form::of_file("a.txt", &content);
            let bytes = [form.bytes(), vec![b'z'; fill]].concat();
            let call = cx.call("POST", &files_of(&contact)).chunks(in_chunks(&bytes, 50_000));
            let reply = call.header("content-type", &form.content_type()).send().expect(status);
            assert_eq!(reply.code(), if status == 413 { "FILE_TOO_LARGE" } else { "" });
        }
    }
}

/// Streamed bodies are bounded like declared ones, whatever their part names.
fn a_second_file_has_no_separate_limit(backend: Backend) {
    let (cx, contact) = sandbox_up_to(backend, 1_000);
    let form = Form::of_file("a.txt", b"x").file("b.txt", &vec![b'y'; 3 * MIB]);
    let _ = send(&cx, &contact, &form).fails(413, "FILE_TOO_LARGE");
    let _ = send_streamed(&cx, &contact, &form, 100_000).fails(413, "FILE_TOO_LARGE");
    let many = (0..3_000).fold(Form::new(), |form, _| form.file("a.txt", &[b'x'; 900]));
    let _ = send_streamed(&cx, &contact, &many, 100_000).fails(413, "FILE_TOO_LARGE");
    nothing_is_stored(&cx, &contact);
}

fn a_body_timeout(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let form = Form::of_file("a.txt", &vec![b'x'; 1_000]);
    let bytes = form.bytes();
    for at in [0, 1, 20, 60, 150, 500, bytes.len() - 3, bytes.len()] {
        let begin = Chunk::Bytes(bytes[..at].to_vec().into());
        let call = cx.call("POST", &files_of(&contact)).chunks(vec![begin, Chunk::Timeout]);
        let _ = call.header("content-type", &form.content_type()).send().fails(408, "REQUEST_TIMEOUT");
        nothing_is_stored(&cx, &contact);
    }
}

fn a_disconnecting_client(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let form = Form::of_file("a.txt", &vec![b'x'; 1_000]);
    let bytes = form.bytes();
    for at in [0, 1, 20, 60, 150, 500, bytes.len() - 3, bytes.len()] {
        let begin = Chunk::Bytes(bytes[..at].to_vec().into());
        for end in [vec![begin.clone(), Chunk::Gone], vec![begin]] {
            let is_whole = end.len() == 1 && at >= bytes.len() - 3;
            let call = cx.call("POST", &files_of(&contact)).chunks(end);
            let reply = call.header("content-type", &form.content_type()).send();
            if is_whole {
                continue;
            }
            let _ = reply.expect(400);
            nothing_is_stored(&cx, &contact);
        }
        for file in cx.get(&files_of(&contact)).column("id") {
            let path = crate::support::file_path(&contact, file.as_str().expect("an id"));
            let _ = cx.call("DELETE", &path).send().expect(200);
        }
        cx.advance(31 * 24 * 3_600_000);
        contract_tests::sandbox::wait(cx.platform.purge_due_contents()).expect("purged");
    }
}

/// The contract's limit exactly, and one more.
fn a_file_of_25_mebibytes(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let content = vec![b'x'; 25 * MIB];
    let reply = upload(&cx, &contact, "a.txt", &content);
    assert_eq!(reply.data()["fileSize"], 25 * MIB);
    assert_eq!(reply.data()["sha256"], sha256(&content));
    let more = Form::of_file("a.txt", &[&content[..], b"x"].concat());
    let reply = send(&cx, &contact, &more).fails(413, "FILE_TOO_LARGE");
    assert_eq!(reply.json["details"], json!({ "limit": 25 * MIB, "actual": null, "unit": "bytes" }));
    assert_eq!((total(&cx, &contact), blobs(&cx).len()), (1, 1));
}

fn who_may(backend: Backend) {
    let (cx, own) = sandbox(backend);
    let form = Form::of_file("a.txt", b"x");
    let post = || cx.call("POST", &files_of(&own)).form(&form);
    let reader = cx.key_that_may("contacts:read,update,delete");
    let reply = post().with(&reader).send().fails(403, "INSUFFICIENT_PERMISSIONS");
    assert_eq!(reply.json["details"], json!({ "required": "contacts:create" }));
    let _ = post().anonymous().send().fails(401, "MISSING_CREDENTIALS");
    let other = cx.new_agent("other");
    let foreign = cx.issue(|key| key.agent_id = other);
    let _ = post().with(&foreign).send().fails(403, "AGENT_FORBIDDEN");
    let elsewhere = format!("/files/chatbots/other/{own}");
    let _ = cx.call("POST", &elsewhere).with(&foreign).form(&form).send().fails(404, "CONTACT_NOT_FOUND");
    nothing_is_stored(&cx, &own);
    let writer = cx.key_that_may("contacts:create");
    let reply = post().with(&writer).send().expect(201);
    assert_eq!(reply.data()["uploadedBy"], json!({ "type": "apiKey", "id": writer.key }));
    let _ = contact(&cx);
}
