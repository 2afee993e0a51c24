//! The form of an extraction (contract 5.1, 6.2, 9, 12.1).

use contract_tests::call::Chunk;
use contract_tests::{Backend, Form, Sandbox, on_every_backend};
use serde_json::{Value, json};

use crate::support::{PATH, SCHEMA, form, sandbox, send};

on_every_backend!(
    missing_parts,
    the_document,
    the_schema,
    custom_instructions,
    save_to_storage,
    other_parts,
    order_of_errors,
    the_largest_document,
    size_of_the_other_parts,
    broken_bodies,
    a_query_is_refused,
    memory_of_all_forms,
);

fn document(content: &[u8]) -> Form {
    Form::new().document("a.txt", content)
}

fn missing_parts(backend: Backend) {
    let cx = sandbox(backend);
    let both = [("document", "required"), ("schema", "required")];
    let _ = cx.call("POST", PATH).send().invalid(&both);
    let _ = send(&cx, &Form::new().text("customInstructions", "x")).invalid(&both);
    let _ = send(&cx, &document(b"x")).invalid(&both[1..]);
    let _ = send(&cx, &Form::new().text("schema", SCHEMA)).invalid(&both[..1]);
}

fn the_document(backend: Backend) {
    let cx = sandbox(backend);
    let _ = send(&cx, &document(b"").text("schema", SCHEMA)).invalid(&[("document", "minimum")]);
    let twice = form("total: 1").document("b.txt", b"total: 2").document("c.txt", b"total: 3");
    let reply = send(&cx, &twice).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations(), [("document", "maxItems")]);
    assert_eq!((&reply.violation(0)["in"], &reply.violation(0)["value"]), (&json!("form"), &Value::Null));
    // A text part is a document as well; names are sanitized for every system.
    let text = Form::new().text("document", "total: 1").text("schema", SCHEMA);
    assert_eq!(send(&cx, &text).expect(200).json["metadata"]["document"]["fileName"], "file.bin");
    let named = Form::new().document("../../etc/pass:wd", b"total: 1").text("schema", SCHEMA);
    assert_eq!(send(&cx, &named).expect(200).json["metadata"]["document"]["fileName"], "pass_wd");
}

fn the_schema(backend: Backend) {
    let cx = sandbox(backend);
    for (schema, faults) in [
        ("", &[("schema", "required")][..]),
        (" \n", &[("schema", "required")]),
        ("null", &[("schema", "required")]),
        ("{", &[("schema", "format")]),
        ("[]", &[("schema", "type")]),
        ("{}", &[("schema", "minProperties")]),
        (r#"{"a":{"type":"text"}}"#, &[("schema.a.type", "enum")]),
        (
            r#"{"a":{"type":"string","minimum":1,"x":2},"__proto__":{"type":"string"}}"#,
            &[("schema.a.x", "unknown"), ("schema.__proto__", "reserved")],
        ),
    ] {
        let reply = send(&cx, &document(b"x").text("schema", schema)).fails(400, "VALIDATION_ERROR");
        for fault in faults {
            assert!(reply.violations().contains(fault), "{schema}: {}", reply.shown());
        }
        assert!((0..reply.violations().len()).all(|at| reply.violation(at)["in"] == "form"));
    }
    let twice = form("x").text("schema", SCHEMA).text("schema", "{");
    let _ = send(&cx, &twice).invalid(&[("schema", "duplicate")]);
    // In a file part, with any media type, and as standard JSON Schema.
    let standard = br#"{"type":"object","properties":{"total":{"type":"string"}},"required":["total"]}"#;
    let as_file = document(b"total: 7").part(
        &["Content-Disposition: form-data; name=\"schema\"; filename=\"s.json\"", "Content-Type: image/png"],
        standard,
    );
    assert_eq!(send(&cx, &as_file).expect(200).data(), &json!({ "total": "7" }));
}

fn custom_instructions(backend: Backend) {
    let cx = sandbox(backend);
    // The test extractor returns them as the name.
    let engine = |text: &str| {
        let form = form("total: 1").text("customInstructions", text);
        send(&cx, &form).expect(200).json["metadata"]["engine"].clone()
    };
    assert_eq!(engine("Read page 2\nonly"), "Read page 2\nonly");
    assert_eq!(engine(" \r\n"), "script");
    assert_eq!(engine(&"ä".repeat(4_000)), "ä".repeat(4_000));
    for (text, kind) in [("ä".repeat(4_001), "maxLength"), ("a\u{1}".to_owned(), "invalidCharacters")] {
        let form = form("x").text("customInstructions", &text);
        let _ = send(&cx, &form).invalid(&[("customInstructions", kind)]);
    }
    let bytes = form("x").part(&["Content-Disposition: form-data; name=\"customInstructions\""], b"\xff");
    let _ = send(&cx, &bytes).invalid(&[("customInstructions", "format")]);
    let twice = form("x").text("customInstructions", "a").text("customInstructions", "a");
    let _ = send(&cx, &twice).invalid(&[("customInstructions", "duplicate")]);
}

fn save_to_storage(backend: Backend) {
    let cx = sandbox(backend);
    for (text, stored) in
        [("true", true), ("TRUE", true), ("1", true), ("false", false), ("0", false), ("", false)]
    {
        let reply = send(&cx, &form("total: 1").text("saveToStorage", text)).expect(200);
        assert_eq!(reply.json["metadata"]["document"]["stored"], stored, "{text}");
    }
    for text in ["yes", "2", "truth"] {
        let reply = send(&cx, &form("x").text("saveToStorage", text)).invalid(&[("saveToStorage", "type")]);
        assert_eq!(reply.violation(0)["value"], text);
    }
}

fn other_parts(backend: Backend) {
    let cx = sandbox(backend);
    let reply = send(&cx, &form("x").text("Schema", "{}").text("file", "y"))
        .invalid(&[("Schema", "unknown"), ("file", "unknown")]);
    assert_eq!(reply.violation(0)["value"], "{}");
}

/// Headers, the query, parts as sent, missing parts.
fn order_of_errors(backend: Backend) {
    let cx = sandbox(backend);
    let form = Form::new().text("saveToStorage", "x").text("note", "y").text("schema", "[]");
    let reply = cx
        .call("POST", &format!("{PATH}?page=1"))
        .form(&form)
        .header("idempotency-key", "ä")
        .send()
        .fails(400, "VALIDATION_ERROR");
    assert_eq!(
        reply.violations(),
        [
            ("Idempotency-Key", "format"),
            ("page", "unknown"),
            ("saveToStorage", "type"),
            ("note", "unknown"),
            ("schema", "type"),
            ("document", "required"),
        ]
    );
}

fn limited(backend: Backend, bytes: u64) -> Sandbox {
    let cx = Sandbox::with_settings(backend, |settings| settings.max_document_bytes = bytes);
    let script = crate::support::Script::default();
    cx.rebuilt(cx.ports().with_extractor(std::sync::Arc::new(script)), |_| {})
}

fn the_largest_document(backend: Backend) {
    let cx = limited(backend, 1_000);
    let _ = send(&cx, &form(&"x".repeat(1_000))).expect(200);
    let reply = send(&cx, &form(&"x".repeat(1_001))).fails(413, "DOCUMENT_TOO_LARGE");
    assert_eq!(reply.json["details"], json!({ "limit": 1_000, "actual": null, "unit": "bytes" }));
    // A second part has no separate budget.
    let many = (0..1_200).fold(form("x"), |form, _| form.document("b", &[b'x'; 1_000]));
    let _ = send(&cx, &many).fails(413, "DOCUMENT_TOO_LARGE");
    let declared = form(&"x".repeat(2 * 1_024 * 1_024)).bytes();
    let length = declared.len();
    let reply = cx
        .call("POST", PATH)
        .bytes(&declared)
        .header("content-type", &form("x").content_type())
        .send()
        .fails(413, "DOCUMENT_TOO_LARGE");
    assert_eq!(reply.json["details"]["actual"], length);
}

fn size_of_the_other_parts(backend: Backend) {
    let cx = limited(backend, 1_000);
    let spaces = " ".repeat(900 * 1_024);
    let schema = format!("{SCHEMA}{spaces}");
    let _ = send(&cx, &document(b"x").text("schema", &schema)).expect(200);
    let _ = send(&cx, &document(b"x").text("schema", &schema).text("note", &spaces))
        .fails(413, "DOCUMENT_TOO_LARGE");
    // The limit of a schema is lower.
    let long = format!(r#"{{"a":{{"type":"string","description":"{}"}}}}"#, "x".repeat(70_000));
    let _ = send(&cx, &document(b"x").text("schema", &long)).invalid(&[("schema", "maxSize")]);
}

fn broken_bodies(backend: Backend) {
    let cx = sandbox(backend);
    let form = form("total: 1");
    let call = || cx.call("POST", PATH).header("content-type", &form.content_type());
    let _ = call().bytes(&form.unclosed()).send().fails(400, "BAD_REQUEST");
    let bytes = Chunk::Bytes(form.unclosed().into());
    let _ = call().chunks(vec![bytes.clone(), Chunk::Timeout]).send().fails(408, "REQUEST_TIMEOUT");
    let _ = call().chunks(vec![bytes, Chunk::Gone]).send().fails(400, "BAD_REQUEST");
    let reply =
        cx.call("POST", PATH).json(&json!({ "schema": {} })).send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(reply.header("accept"), Some("multipart/form-data"));
    assert!(reply.text.contains("a part named document"), "{}", reply.text);
}

fn a_query_is_refused(backend: Backend) {
    let cx = sandbox(backend);
    let call = cx.call("POST", &format!("{PATH}?dryRun=true")).form(&form("total: 1"));
    let _ = call.send().invalid(&[("dryRun", "unknown")]);
}

/// A server bounds the memory of all forms together, and frees it after the response.
fn memory_of_all_forms(backend: Backend) {
    let (cx, _) = crate::support::sandbox_with(backend, |_, settings| settings.max_held_bytes = 12_000);
    for _ in 0..3 {
        let _ = send(&cx, &form(&"x".repeat(2_000))).expect(200);
        let refused = send(&cx, &form(&"x".repeat(3_000))).fails(503, "EXTRACTION_UNAVAILABLE");
        assert_eq!(refused.header("retry-after"), Some("5"));
    }
}
