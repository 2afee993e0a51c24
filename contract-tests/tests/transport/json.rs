//! JSON parsing (contract 5.3).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend, story};
use serde_json::json;

on_every_backend!(
    the_example,
    byte_order_marks,
    syntax_errors_with_their_location,
    repeated_names,
    nesting,
    surrogates,
    invalid_utf8,
    trailing_content,
    white_space,
    escapes,
    nothing_is_coerced,
    syntax_errors_precede_field_errors,
    deep_nesting_costs_nothing,
);

fn post(cx: &Sandbox, body: &[u8]) -> Reply {
    cx.call("POST", "/contacts/chatbots/<A>").bytes(body).header("content-type", "application/json").send()
}

#[track_caller]
fn fault(cx: &Sandbox, body: &[u8], line: u64, column: u64) -> Reply {
    let reply = post(cx, body).fails(400, "INVALID_JSON");
    assert_eq!(
        reply.json["details"],
        json!({ "line": line, "column": column }),
        "{}",
        String::from_utf8_lossy(body)
    );
    reply
}

/// The example of contract 6.4, with a repeated name in the body at line 3, column 12.
fn the_example(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = "{ \"tags\": [],\n  \"firstName\": \"Zo\",\n           \"tags\": [] }";
    let call = cx.call("POST", "/contacts/chatbots/<A>").text(body).header("x-request-id", story::REQUEST_ID);
    let expected = json!({ "success": false, "message": "The request body is not valid JSON: duplicate member name 'tags'", "code": "INVALID_JSON", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "details": { "line": 3, "column": 12 } });
    assert_eq!(call.send().fails(400, "INVALID_JSON").text, expected.to_string());
}

fn byte_order_marks(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = post(&cx, "\u{feff}{\"primaryEmail\":\"a@b.co\"}".as_bytes()).expect(201);
    let _ = fault(&cx, "\u{feff}\u{feff}{}".as_bytes(), 1, 1);
    let _ = fault(&cx, "{}\u{feff}".as_bytes(), 1, 3);
    let _ = fault(&cx, "\u{feff}".as_bytes(), 1, 1);
    // UTF-16 is rejected.
    let _ = post(&cx, &[0xff, 0xfe, b'{', 0, b'}', 0]).fails(400, "INVALID_JSON");
    let _ = post(&cx, &[0xfe, 0xff, 0, b'{', 0, b'}']).fails(400, "INVALID_JSON");
    let _ = post(&cx, &[0, b'{', 0, b'}']).fails(400, "INVALID_JSON");
}

/// Lines and columns count from 1, columns in bytes.
fn syntax_errors_with_their_location(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (body, line, column) in [
        ("{", 1, 2),
        ("{\"a\"}", 1, 5),
        ("{\"a\":}", 1, 6),
        ("{\"a\":1,}", 1, 8),
        ("{\"a\":1 \"b\":2}", 1, 8),
        ("{'a':1}", 1, 2),
        ("{a:1}", 1, 2),
        ("[1,]", 1, 4),
        ("[1 2]", 1, 4),
        ("{\"a\": tru}", 1, 7),
        ("{\"a\": True}", 1, 7),
        ("{\"a\": NaN}", 1, 7),
        ("{\"a\": Infinity}", 1, 7),
        ("{\"a\": undefined}", 1, 7),
        ("{\"a\": .5}", 1, 7),
        ("{\"a\": +1}", 1, 7),
        ("{\"é\":\n \"𝒳\" x}", 2, 9),
        ("// comment\n{}", 1, 1),
        ("{} /* x */", 1, 4),
        ("\n\n\n  x", 4, 3),
        ("   ", 1, 4),
        ("\r\n", 2, 1),
    ] {
        let _ = fault(&cx, body.as_bytes(), line, column);
    }
    for body in [
        "{\"a\": 01}",
        "{\"a\": 1.}",
        "{\"a\": 1e}",
        "{\"a\": -}",
        "{\"a\": 1e+}",
        "{\"a\": 0x1}",
        "{\"a\": 1_000}",
        "{\"a\": \"",
        "{\"a\": \"\n\"}",
        "{\"a\": \"\t\"}",
        "{\"a\": \"\\x\"}",
        "{\"a\": \"\\u12\"}",
        "{\"a\": \"\\u12G4\"}",
        "\"",
        "]",
        "}",
        ",",
        "{\"a\": 'x'}",
        "nul",
    ] {
        let reply = post(&cx, body.as_bytes()).fails(400, "INVALID_JSON");
        assert!(
            reply.json["details"]["line"].as_u64() >= Some(1)
                && reply.json["details"]["column"].as_u64() >= Some(1)
        );
    }
}

fn repeated_names(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (body, name, column) in [
        ("{\"a\":1,\"a\":2}", "a", 8),
        ("{\"a\":1,\"\\u0061\":2}", "a", 8),
        ("{\"\":1,\"\":2}", "", 7),
        ("{\"customFields\":{\"b\":1,\"c\":2,\"b\":1}}", "b", 30),
        ("{\"customFields\":[{\"b\":1,\"b\":1}]}", "b", 25),
        ("{\"id\":{\"x\":1,\"x\":1}}", "x", 14),
    ] {
        let reply = fault(&cx, body.as_bytes(), 1, column);
        assert_eq!(
            reply.json["message"],
            format!("The request body is not valid JSON: duplicate member name '{name}'")
        );
    }
    // Names that differ in case or normalisation are different names.
    let _ = post(
        &cx,
        "{\"primaryEmail\":\"a@b.co\",\"customFields\":{\"a\":1,\"A\":2,\"é\":3,\"e\u{301}\":4}}".as_bytes(),
    )
    .expect(201);
}

fn nesting(backend: Backend) {
    let cx = Sandbox::new(backend);
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let inside = |levels: usize| format!("{{\"primaryEmail\":\"a@b.co\",\"id\":{}}}", nested(levels));
    // The body is the first level; read-only members are ignored whatever they contain.
    let _ = post(&cx, inside(31).as_bytes()).expect(201);
    let reply = post(&cx, inside(32).as_bytes()).fails(400, "INVALID_JSON");
    assert_eq!(reply.json["details"], json!({ "line": 1, "column": 62 }));
    let _ = post(&cx, nested(32).as_bytes()).invalid(&[("body", "type")]);
    let _ = fault(&cx, nested(33).as_bytes(), 1, 33);
    let objects = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    let _ = post(&cx, objects.as_bytes()).fails(400, "INVALID_JSON");
}

fn surrogates(backend: Backend) {
    let cx = Sandbox::new(backend);
    let with = |text: &str| format!("{{\"primaryEmail\":\"a@b.co\",\"firstName\":\"{text}\"}}");
    let reply = post(&cx, with("\\ud835\\udcb3").as_bytes()).expect(201);
    assert_eq!(reply.data()["firstName"], "𝒳");
    for lone in [
        "\\ud800",
        "\\udc00",
        "\\ud800x",
        "\\ud800\\n",
        "\\ud800\\u0041",
        "\\ud800\\ud800",
        "\\udc00\\ud800",
        "\\uDBFF",
        "a\\uD800",
    ] {
        let _ = post(&cx, with(lone).as_bytes()).fails(400, "INVALID_JSON");
        let name = format!("{{\"{lone}\":1}}");
        let _ = post(&cx, name.as_bytes()).fails(400, "INVALID_JSON");
    }
}

fn invalid_utf8(backend: Backend) {
    let cx = Sandbox::new(backend);
    for bad in
        [&b"\xff"[..], b"\xc3", b"\xc3\x28", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf", b"\xe2\x82"]
    {
        let body = [b"{\n\"a\":\"".as_slice(), bad, b"\"}"].concat();
        let _ = fault(&cx, &body, 2, 6);
    }
}

fn trailing_content(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (tail, column) in [("x", 3), (" {}", 4), (",", 3), ("\u{0}", 3), ("]", 3), (" 1", 4)] {
        let _ = fault(&cx, format!("{{}}{tail}").as_bytes(), 1, column);
    }
    let _ = fault(&cx, b"{}\n{}", 2, 1);
}

fn white_space(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = post(&cx, b" \t\r\n{ \t\r\n\"primaryEmail\"\n:\r\"a@b.co\"\t}\r\n \t").expect(201);
    for other in ["\u{a0}", "\u{b}", "\u{c}", "\u{2028}"] {
        let _ = fault(&cx, format!("{other}{{}}").as_bytes(), 1, 1);
    }
}

fn escapes(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = r#"{"primaryEmail":"a\u0040b.co","customFields":{"k\u00e9y":"\"\\\/\b\f\n\r\t\u0001\u007F"}}"#;
    let reply = post(&cx, body.as_bytes()).expect(201);
    assert_eq!(reply.data()["primaryEmail"], "a@b.co");
    assert_eq!(reply.data()["customFields"]["kéy"], "\"\\/\u{8}\u{c}\n\r\t\u{1}\u{7f}");
}

fn nothing_is_coerced(backend: Backend) {
    let cx = Sandbox::new(backend);
    let body = json!({ "primaryEmail": "a@b.co", "firstName": 42, "tags": "vip", "primaryPhone": 123_456, "status": true });
    let _ = cx.try_create(&body).invalid(&[
        ("firstName", "type"),
        ("tags", "type"),
        ("primaryPhone", "type"),
        ("status", "type"),
    ]);
}

fn syntax_errors_precede_field_errors(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = post(&cx, b"{\"nickname\":1,\"primaryEmail\":7,\"nickname\":2}").fails(400, "INVALID_JSON");
}

fn deep_nesting_costs_nothing(backend: Backend) {
    let cx = Sandbox::new(backend);
    for open in ["[", "{\"a\":"] {
        let body = open.repeat(1_000_000 / open.len());
        let _ = post(&cx, body.as_bytes()).fails(400, "INVALID_JSON");
    }
}
