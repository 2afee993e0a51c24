//! Document extraction through the real server: the worker, credits, stored documents.

use std::io::Write;
use std::net::TcpStream;

use extraction::document::{Limits, ReadError, Reason};
use extraction::worker::{Worker, WorkerError};
use serde_json::{Value, json};
use server_hyper::documents::confined;

use super::support::{Sandbox, answer, connect, credentials, head};

/// A schema of one field.
pub const SCHEMA: &str = r#"{ "total": { "type": "number" } }"#;

const PATH: &str = "/v1/open/document-extraction/extract";

const INVOICE: &str = "Invoice number: INV-2043\nInvoice date: 15 January 2026\nTotal: 1,234.50 GBP\n";

/// Sends a form with these parts; the document is one with a file name.
pub fn extract(origin: &str, keys: &[(&'static str, String); 2], parts: &[(&str, &str)]) -> (u16, Value) {
    let (status, answer) = answer(&mut send(origin, keys, parts));
    (status, serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

/// Sends such a form and does not wait for the answer.
pub fn send(origin: &str, keys: &[(&'static str, String); 2], parts: &[(&str, &str)]) -> TcpStream {
    let mut stream = connect(origin);
    stream.write_all(&form(PATH, keys, parts)).unwrap();
    stream
}

/// The request with such a form.
pub fn form(path: &str, keys: &[(&'static str, String); 2], parts: &[(&str, &str)]) -> Vec<u8> {
    const BOUNDARY: &str = "c41f09";
    let mut body = String::new();
    for (name, content) in parts {
        let file = if *name == "document" { "; filename=\"a.txt\"" } else { "" };
        let head = format!("Content-Disposition: form-data; name=\"{name}\"{file}");
        body.push_str(&format!("--{BOUNDARY}\r\n{head}\r\n\r\n{content}\r\n"));
    }
    body.push_str(&format!("--{BOUNDARY}--\r\n"));
    let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
    let mut headers: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Content-Type", &media_type));
    (head("POST", path, &headers, body.len()) + &body).into_bytes()
}

/// The allocator reserves address space ahead. If that exceeded the worker's limit, documents would fail at random:
/// hence several attempts.
#[tokio::test]
async fn the_worker_has_the_memory_that_it_may_have_and_no_more() {
    let worker = confined(Worker::at(env!("CARGO_BIN_EXE_openapi-server")));
    let limits = Limits { characters: u64::MAX >> 1, ..Limits::default() };
    let words = |count: usize| "word ".repeat(count);
    let (some, many) = (words(1 << 18), words(1 << 20));
    let narrow = worker.clone().with_memory(256 << 20);
    for _ in 0..4 {
        assert!(!worker.read(some.as_bytes(), limits, None).await.expect("it has room").pages.is_empty());
        let refused = narrow.read(many.as_bytes(), limits, None).await.expect_err("it has no room");
        assert!(
            matches!(refused, WorkerError::Document(ReadError::Unreadable(Reason::Memory))),
            "{refused:?}"
        );
    }
}

#[test]
fn documents_are_extracted_paid_and_stored() {
    let sandbox = Sandbox::new();
    let keys = credentials(&sandbox.with_key());
    let server = sandbox.serve(&[]);
    let ask = |parts: &[(&str, &str)]| extract(&server.api, &keys, parts);

    let schema =
        r#"{ "total": { "type": "currency" }, "issued": { "type": "date", "description": "Invoice date" } }"#;
    let (status, answer) = ask(&[("document", INVOICE), ("schema", schema)]);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["data"],
        json!({ "total": { "amount": 1234.5, "currency": "GBP" }, "issued": "2026-01-15" })
    );
    assert_eq!(answer["metadata"]["engine"], "builtin");
    assert_eq!(answer["metadata"]["usage"], json!({ "creditsCharged": 0, "creditsRemaining": null }));

    // An operator's change affects the next request.
    assert_eq!(sandbox.json(&["credits", "set", "2", "--agent", "acme"])["available"], 2);
    let saved = [("document", INVOICE), ("schema", SCHEMA), ("saveToStorage", "true")];
    let (status, answer) = ask(&saved);
    assert_eq!((status, &answer["metadata"]["usage"]["creditsRemaining"]), (200, &json!(1)), "{answer}");
    let id = answer["metadata"]["document"]["fileId"].as_str().unwrap().to_owned();
    assert_eq!(ask(&[("document", INVOICE), ("schema", SCHEMA)]).0, 200);
    assert_eq!(ask(&[("document", INVOICE), ("schema", SCHEMA)]).1["code"], "INSUFFICIENT_CREDITS");
    let shown = sandbox.json(&["credits", "show", "--agent", "acme"]);
    assert_eq!(
        (&shown["available"], &shown["reserved"], &shown["unlimited"]),
        (&json!(0), &json!(0), &json!(false))
    );
    let ledger = sandbox.json(&["credits", "ledger", "--agent", "acme"]);
    let kinds: Vec<_> = ledger.as_array().unwrap().iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds, ["set", "charge", "charge"]);

    let documents = sandbox.json(&["documents", "list", "--agent", "acme"]);
    assert_eq!((documents.as_array().unwrap().len(), &documents[0]["id"]), (1, &json!(id)));
    sandbox.run(&["documents", "get", &id, "--agent", "acme", "--out", "invoice.txt"]).done();
    assert_eq!(sandbox.read("invoice.txt"), INVOICE);
    assert!(
        sandbox
            .run(&["documents", "get", &id, "--agent", "acme", "--out", "invoice.txt"])
            .failed(1)
            .contains("exists")
    );
    let metrics = server.ops("/metrics").1;
    for line in [
        "openapi_documents_total{type=\"text/plain\",outcome=\"done\"} 4",
        "openapi_extractions_total{engine=\"builtin\",outcome=\"done\"} 3",
        "openapi_extraction_duration_seconds_count{engine=\"builtin\"} 3",
        "openapi_document_pages_total 4",
        "openapi_extractions_in_flight 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    sandbox.run(&["check"]).done();
    assert_eq!(sandbox.json(&["backup", "saved"])["files"], 1);
    assert!(sandbox.path("saved/blobs/acme").join(&id).is_file());
    assert_eq!(sandbox.json(&["files", "purge", "--agent", "acme"])["purged"], 1);
    assert_eq!(sandbox.json(&["documents", "list", "--agent", "acme"]), json!([]));
    server.end();
    let log = sandbox.read("stderr");
    assert!(!log.contains("INV-2043") && !log.contains("a.txt"), "{log}");
}

/// No document ends the server, and each gets its own error.
#[test]
fn hostile_documents_are_refused_one_by_one() {
    let sandbox = Sandbox::new();
    let keys = credentials(&sandbox.with_key());
    let server = sandbox.serve(&[]);
    let deep = format!("%PDF-1.7\n1 0 obj\n{}\nendobj\ntrailer<</Root 1 0 R>>", "[".repeat(200_000));
    for (document, code) in [
        ("%PDF-1.7\nnothing of a document", "DOCUMENT_UNREADABLE"),
        (deep.as_str(), "DOCUMENT_UNREADABLE"),
        ("\u{7f}ELF\u{2}\u{1}\u{1}\0", "UNSUPPORTED_FILE_TYPE"),
        ("PK\u{3}\u{4} but no archive", "UNSUPPORTED_FILE_TYPE"),
        ("", "VALIDATION_ERROR"),
    ] {
        let (_, answer) = extract(&server.api, &keys, &[("document", document), ("schema", SCHEMA)]);
        assert_eq!(answer["code"], code, "{answer}");
    }
    let (status, answer) = extract(&server.api, &keys, &[("document", INVOICE), ("schema", SCHEMA)]);
    assert_eq!((status, &answer["data"]["total"]), (200, &json!(1234.5)), "{answer}");
    assert_eq!(server.end(), 0);
}

#[test]
fn settings_of_extraction_are_obeyed() {
    let sandbox = Sandbox::new();
    let keys = credentials(&sandbox.with_key());
    let parts = [("document", INVOICE), ("schema", SCHEMA)];
    let server = sandbox.serve(&["--max-document-size", "64B", "--max-document-characters", "20"]);
    let (status, answer) = extract(&server.api, &keys, &parts);
    assert_eq!((status, &answer["details"]["limit"]), (413, &json!(64)), "{answer}");
    let small = [("document", "twenty-one characters"), ("schema", SCHEMA)];
    let (status, answer) = extract(&server.api, &keys, &small);
    assert_eq!((status, &answer["details"]["unit"]), (413, &json!("characters")), "{answer}");
    server.end();
    let server = sandbox.serve(&["--extraction-engine", "off"]);
    assert_eq!(extract(&server.api, &keys, &parts).1["code"], "EXTRACTION_UNAVAILABLE");
    server.end();
    let said = sandbox.run(&["config", "check", "--extraction-engine", "magic"]).failed(2);
    assert!(said.contains("'magic' is not an engine; choose from builtin, llm, off"), "{said}");
    let said = sandbox.run(&["config", "check", "--extraction-engine", "llm"]).failed(2);
    assert!(said.contains("llm needs extraction_llm"), "{said}");
}

/// If the model is unreachable, the built-in engine takes over, or the extraction fails, as configured.
#[test]
fn a_model_that_is_gone_is_answered_for_where_that_is_allowed() {
    let sandbox = Sandbox::new();
    let keys = credentials(&sandbox.with_key());
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = format!("http://127.0.0.1:{port}/v1");
    let url = format!("gone.url={endpoint}");
    let model = ["--extraction-llm", "gone", "--llm", &url, "--llm", "gone.model=wise"];
    let parts = [("document", INVOICE), ("schema", SCHEMA)];
    let server = sandbox.serve(&[&model[..], &["--extraction-timeout", "8s"]].concat());
    let (_, answer) = extract(&server.api, &keys, &parts);
    assert!(
        matches!(answer["code"].as_str(), Some("EXTRACTION_UNAVAILABLE" | "EXTRACTION_TIMEOUT")),
        "{answer}"
    );
    server.end();
    for further in [&["--extraction-fallback"][..], &["--agent-engine", "acme=builtin"]] {
        let server = sandbox.serve(&[&model[..], &["--extraction-timeout", "8s"], further].concat());
        let (status, answer) = extract(&server.api, &keys, &parts);
        assert_eq!((status, &answer["metadata"]["engine"]), (200, &json!("builtin")), "{answer}");
        server.end();
    }
}
