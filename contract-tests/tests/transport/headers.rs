//! Headers of requests and responses (contract 5.2, 9).

use contract_tests::{Backend, Sandbox, on_every_backend};

use crate::table::prepared;

on_every_backend!(request_ids, header_blocks, cors, transport_security, order_of_members, no_server_secrets);

const LIST: &str = "/contacts/chatbots/<A>";

fn request_ids(backend: Backend) {
    let (cx, _) = prepared(backend);
    let echoed = |id: &str| {
        let ok = cx.call("GET", LIST).header("x-request-id", id).send().expect(200);
        let failed = cx.call("GET", "/nowhere").header("x-request-id", id).send().expect(404);
        assert_eq!(failed.json["requestId"].as_str(), failed.header("x-request-id"));
        ok.header("x-request-id") == Some(id) && failed.header("x-request-id") == Some(id)
    };
    for good in ["a", "A-Z.0_9", "019c13a3-6137-710c-9fa1-91a5ee824f39", &"x".repeat(128), "..."] {
        assert!(echoed(good), "{good}");
    }
    for bad in ["", " ", "a b", "a/b", "a,b", "{a}", "<script>", "a\"", &"x".repeat(129), "a:b", "a%20"] {
        assert!(!echoed(bad), "{bad}");
    }
    let ids: Vec<String> =
        (0..3).map(|_| cx.get(LIST).header("x-request-id").expect("an id").to_owned()).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    assert!(ids.iter().all(|id| id.starts_with("019c1355-966b-7")), "made from the time: {ids:?}");
    let reply = cx.call("GET", LIST).raw_header("x-request-id", b"\xff").send().expect(200);
    assert_ne!(reply.header("x-request-id"), None);
}

fn header_blocks(backend: Backend) {
    let (cx, _) = prepared(backend);
    let _ = cx.call("GET", LIST).header("x-long", &"y".repeat(15_000)).send().expect(200);
    for method in ["GET", "OPTIONS", "DELETE"] {
        let reply = cx.call(method, LIST).header("x-long", &"y".repeat(16_385)).send();
        let _ = reply.fails(431, "HEADERS_TOO_LARGE");
    }
    let mut many = cx.call("GET", "/health").anonymous();
    for n in 0..200 {
        many = many.header(&format!("x-{n}"), &"y".repeat(100));
    }
    let _ = many.send().fails(431, "HEADERS_TOO_LARGE");
    let small = Sandbox::with_settings(backend, |settings| settings.max_header_bytes = 10);
    let _ = small.call("GET", "/health").anonymous().header("abcde", "12345").send().expect(200);
    let _ = small
        .call("GET", "/health")
        .anonymous()
        .header("abcde", "123456")
        .send()
        .fails(431, "HEADERS_TOO_LARGE");
}

fn cors(backend: Backend) {
    let (cx, _) = prepared(backend);
    let reply = cx.call("GET", LIST).header("origin", "https://app.example.com").send().expect(200);
    assert_eq!((reply.header("access-control-allow-origin"), reply.header("vary")), (None, None));
    let cx = Sandbox::with_settings(backend, |settings| {
        settings.cors_origins = vec!["https://app.example.com".into()];
    });
    for (origin, allowed) in [
        ("https://app.example.com", true),
        ("https://evil.example", false),
        ("https://app.example.com.evil.example", false),
        ("http://app.example.com", false),
        ("null", false),
    ] {
        for method in ["GET", "OPTIONS"] {
            let reply = cx.call(method, LIST).header("origin", origin).send();
            assert_eq!(
                reply.header("access-control-allow-origin"),
                allowed.then_some(origin),
                "{method} {origin}"
            );
            assert_eq!(reply.header("access-control-allow-credentials"), None);
            assert_eq!(reply.header("vary"), Some("Origin"));
            if method == "OPTIONS" {
                assert_eq!(reply.header("access-control-allow-methods").is_some(), allowed);
            }
        }
    }
}

fn transport_security(backend: Backend) {
    let cx = Sandbox::with_settings(backend, |settings| settings.strict_transport_security = true);
    assert!(cx.get(LIST).header("strict-transport-security").is_some_and(|value| value.contains("max-age=")));
    assert!(cx.get("/nowhere").header("strict-transport-security").is_some());
}

/// The examples show the members in this order.
fn order_of_members(backend: Backend) {
    let (cx, _) = prepared(backend);
    let names = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&cx.get(LIST).text), "success message data pagination");
    assert_eq!(names(&cx.get("/nowhere").text), "success message code requestId");
}

/// No header reveals the service's software.
fn no_server_secrets(backend: Backend) {
    let (cx, _) = prepared(backend);
    for reply in [cx.get(LIST), cx.get("/nowhere"), cx.call("POST", LIST).text("{").send()] {
        for name in ["server", "x-powered-by", "set-cookie", "date-internal"] {
            assert_eq!(reply.header(name), None);
        }
        assert!(!reply.text.contains(&cx.credentials.secret));
    }
}
