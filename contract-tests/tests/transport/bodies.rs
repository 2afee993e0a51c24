//! Request bodies: chunked, too long, too late, encoded (contract 5.1, 9).

use bytes::Bytes;
use contract_tests::call::Chunk;
use contract_tests::{Backend, Sandbox, on_every_backend};
use serde_json::json;

on_every_backend!(
    in_chunks,
    too_long_while_streaming,
    declared_length_first,
    too_late,
    a_disconnected_client,
    encodings,
    content_types,
    configured_limit,
);

const CREATE: &str = "/contacts/chatbots/<A>";

fn bytes(text: &str) -> Chunk {
    Chunk::Bytes(Bytes::copy_from_slice(text.as_bytes()))
}

fn in_chunks(backend: Backend) {
    let cx = Sandbox::new(backend);
    let text = "{\"primaryEmail\":\"zoë@b.co\",\"firstName\":\"Zoë\"}";
    let single: Vec<Chunk> = text.bytes().map(|byte| Chunk::Bytes(Bytes::copy_from_slice(&[byte]))).collect();
    let reply = cx.call("POST", CREATE).chunks(single).send().expect(201);
    assert_eq!(reply.data()["firstName"], "Zoë");
    let pieces = vec![bytes(""), bytes("{\"primary"), bytes(""), bytes("Email\":\"a@b.co\"}"), bytes("")];
    let _ = cx.call("POST", CREATE).chunks(pieces).send().expect(201);
    for nothing in [vec![], vec![bytes("")], vec![bytes(""), bytes("")]] {
        let call = cx.call("POST", CREATE).chunks(nothing).header("content-type", "text/plain");
        let _ = call.send().invalid(&[("body", "required")]);
    }
}

fn too_long_while_streaming(backend: Backend) {
    let cx = Sandbox::new(backend);
    let piece = Bytes::from(vec![b' '; 65_536]);
    let pieces = |count: usize, more: &str| {
        let mut chunks = vec![Chunk::Bytes(piece.clone()); count];
        chunks.push(bytes(more));
        chunks
    };
    let _ = cx.call("POST", CREATE).chunks(pieces(16, "")).send().fails(400, "INVALID_JSON");
    let reply = cx.call("POST", CREATE).chunks(pieces(16, "x")).send().fails(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(reply.json["details"], json!({ "limit": 1_048_576, "actual": null, "unit": "bytes" }));
    assert_eq!(reply.json["message"], "The request body exceeds 1048576 bytes");
    // Data after the limit is not awaited.
    let mut endless = pieces(17, "");
    endless.push(Chunk::Timeout);
    let _ = cx.call("POST", CREATE).chunks(endless).send().fails(413, "PAYLOAD_TOO_LARGE");
}

fn declared_length_first(backend: Backend) {
    let cx = Sandbox::new(backend);
    let call = cx.call("POST", CREATE).chunks(vec![Chunk::Gone]);
    let reply = call.header("content-length", "1048577").send().fails(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(reply.json["details"]["actual"], 1_048_577);
    let huge =
        cx.call("POST", CREATE).chunks(vec![Chunk::Gone]).header("content-length", "99999999999999999");
    let _ = huge.send().fails(413, "PAYLOAD_TOO_LARGE");
}

fn too_late(backend: Backend) {
    let cx = Sandbox::new(backend);
    for chunks in [vec![Chunk::Timeout], vec![bytes("{\"primaryEmail\":"), Chunk::Timeout]] {
        let reply = cx.call("POST", CREATE).chunks(chunks).send().fails(408, "REQUEST_TIMEOUT");
        assert!(reply.header("ratelimit").is_some(), "it was counted");
    }
    assert_eq!(cx.get(CREATE).expect(200).pagination()["totalItems"], 0);
}

fn a_disconnected_client(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply =
        cx.call("POST", CREATE).chunks(vec![bytes("{\"primaryEmail\":\"a@b.co\"}"), Chunk::Gone]).send();
    let _ = reply.fails(400, "BAD_REQUEST");
    assert_eq!(cx.get(CREATE).expect(200).pagination()["totalItems"], 0);
}

fn encodings(backend: Backend) {
    let cx = Sandbox::new(backend);
    let call = cx.call("POST", CREATE).json(&json!({ "primaryEmail": "a@b.co" }));
    for bad in ["gzip", "deflate", "br", "zstd", "gzip, identity", "identity, gzip", "x-unknown"] {
        let reply = call.clone().header("content-encoding", bad).send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
        assert!(reply.header("accept").is_some());
    }
    for good in ["identity", "IDENTITY"] {
        let _ = call.clone().header("content-encoding", good).send().expect(201);
    }
    // Without a body there is no encoding to reject.
    let patch = cx.call("PATCH", "/contacts/none/chatbots/<A>/archive").header("content-encoding", "gzip");
    let _ = patch.send().fails(404, "CONTACT_NOT_FOUND");
}

fn content_types(backend: Backend) {
    let cx = Sandbox::new(backend);
    let send = |value: &[u8]| {
        cx.call("POST", CREATE).text("{\"primaryEmail\":\"a@b.co\"}").raw_header("content-type", value).send()
    };
    for good in [
        "application/json",
        " application/json ",
        "application/json;",
        "application/json; charset=utf-8; profile=x",
        "application/json; profile=\"charset=x\"",
        "application/problem+json",
        "application/x.y-z+JSON",
    ] {
        let _ = send(good.as_bytes()).expect(201);
    }
    for bad in [
        "application/json; charset=utf-16",
        "application/json; charset=us-ascii",
        "application/json; charset=",
        "application/json+x",
        "application/+json",
        "text/plain+json",
        "image/svg+xml",
        "application/xml",
        "json",
        "application/json, text/plain",
        "application/x-ndjson",
    ] {
        let _ = send(bad.as_bytes()).fails(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    let _ = send(b"application/json; x=\xff").status;
    let absent = cx.call("POST", CREATE).text("{\"primaryEmail\":\"a@b.co\"}").send();
    let _ = absent.expect(201);
    // The client's preferred response encoding is irrelevant.
    for accept in ["text/html", "application/xml;q=1, */*;q=0", "nonsense"] {
        let call = cx.call("GET", CREATE).header("accept", accept).header("accept-charset", "latin1");
        let _ = call.header("accept-language", "de").send().expect(200);
    }
}

fn configured_limit(backend: Backend) {
    let cx = Sandbox::with_settings(backend, |settings| settings.max_json_bytes = 30);
    let body = "{\"primaryEmail\":\"abcd@b.co\"}  ";
    assert_eq!(body.len(), 30);
    let _ = cx.call("POST", CREATE).text(body).send().expect(201);
    let reply = cx.call("POST", CREATE).text(&format!("{body} ")).send().fails(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(reply.json["details"], json!({ "limit": 30, "actual": 31, "unit": "bytes" }));
}
