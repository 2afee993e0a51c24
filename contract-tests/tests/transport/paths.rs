//! Paths: decoding, slashes, literals (contract 5.1).

use contract_tests::{Backend, Sandbox, on_every_backend};
use serde_json::json;

use crate::table::prepared;

on_every_backend!(
    unknown_paths,
    case_counts,
    segments_are_decoded_once,
    literals_are_compared_after_decoding,
    literals_win_over_placeholders,
    trailing_slashes,
    empty_segments,
    dot_segments,
    invalid_encoding,
    the_example_of_a_bad_request,
    long_uris,
    absolute_targets,
);

fn unknown_paths(backend: Backend) {
    let cx = Sandbox::new(backend);
    for path in [
        "/",
        "/v1",
        "/v1/open",
        "/v1/open/",
        "/v2/open/health",
        "/v1/open/contacts",
        "/v1/open/contacts/x",
        "/v1/open/contacts/chatbots",
        "/v1/open/contacts/x/chatbots",
        "/v1/open/contacts/x/chatbot/<A>",
        "/v1/open/contacts/x/chatbots/<A>/archived",
        "/v1/open/contacts/x/chatbots/<A>/archive/now",
        "/v1/open/contacts/platformid/x/chatbots",
        "/v1/open/files/chatbots/<A>",
        "/v1/open/files/chatbots/<A>/x/files",
        "/v1/open/files/chatbots/<A>/x/files/y/signed-urls",
        "/v1/open/download/files/x",
        "/download/files",
        "/v1/open/forms",
        "/v1/open/forms/templates/chatbots",
        "/v1/open/forms/templates/x/chatbots/<A>",
        "/v1/open/forms/submit/x/contacts/y/chatbots/<A>",
        "/v1/open/forms/submissions/x",
        "/v1/open/forms/contacts/x/templates/y/chatbots/<A>",
        "/favicon.ico",
        "/docs%2F",
        "/health",
        "/v1/open/contacts/schema.json/chatbots",
    ] {
        let reply = cx.at("GET", path).send().fails(404, "ROUTE_NOT_FOUND");
        assert_eq!(reply.json.get("details"), None);
        let _ = cx.at("POST", path).anonymous().send().fails(404, "ROUTE_NOT_FOUND");
    }
}

fn case_counts(backend: Backend) {
    let (cx, _) = prepared(backend);
    for path in [
        "/V1/open/health",
        "/v1/Open/health",
        "/v1/open/Health",
        "/v1/open/CONTACTS/chatbots/<A>",
        "/v1/open/contacts/crm-1001/Chatbots/<A>",
        "/OPENAPI.json",
    ] {
        let _ = cx.at("GET", path).send().fails(404, "ROUTE_NOT_FOUND");
    }
    // A literal in another case is an ordinary external id.
    let _ = cx.get("/contacts/SCHEMA/chatbots/<A>").fails(404, "CONTACT_NOT_FOUND");
}

fn segments_are_decoded_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (id, path) in [
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252Fb"),
        ("a+b", "a+b"),
        ("a b", "a%20b"),
        ("a?b", "a%3Fb"),
        ("a#b", "a%23b"),
        ("é", "%C3%A9"),
        ("ü", "%c3%bC"),
        ("100%", "100%25"),
        ("a;b=c,d", "a;b=c,d"),
        ("a:b@c", "a:b@c"),
        ("~!$&'()*", "~!$&'()*"),
    ] {
        let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "externalReferenceId": id }));
        let reply = cx.get(&format!("/contacts/{path}/chatbots/<A>")).expect(200);
        assert_eq!(reply.data()["externalReferenceId"], id);
    }
    let _ = cx.get("/contacts/a/b/chatbots/<A>").fails(404, "ROUTE_NOT_FOUND");
    let reply = cx.get("/contacts/x%2Fy+z%2520/chatbots/<A>").fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["details"]["id"], "x/y+z%20");
}

fn literals_are_compared_after_decoding(backend: Backend) {
    let (cx, known) = prepared(backend);
    let id = known.contact;
    let _ = cx.at("GET", "/%76%31/o%70en/%68ealth").send().expect(200);
    let _ = cx.get("/contact%73/crm-1001/chatbots/<A>").expect(200);
    let _ = cx.get(&format!("/contacts/%70latformid/{id}/chatbots/<A>")).expect(200);
    let _ = cx.get("/contacts/s%63hema/chatbots/<A>").expect(200);
    // An encoded slash does not separate segments.
    let _ = cx.at("GET", "/v1%2Fopen/health").send().fails(404, "ROUTE_NOT_FOUND");
}

fn literals_win_over_placeholders(backend: Backend) {
    let (cx, _) = prepared(backend);
    assert_eq!(cx.get("/contacts/schema/chatbots/<A>").expect(200).operation, Some("getContactSchema"));
    let _ = cx.put("/contacts/schema/chatbots/<A>", &json!({})).fails(405, "METHOD_NOT_ALLOWED");
    let reply = cx.get("/contacts/platformid/archive/chatbots/<A>").fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.operation, Some("getContactByPlatformId"));
    // Elsewhere it is an external id, though one that no contact can have.
    for reserved in ["platformid", "chatbots", "archive", "unarchive"] {
        let reply = cx.get(&format!("/contacts/{reserved}/chatbots/<A>")).fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.operation, Some("getContact"));
    }
}

fn trailing_slashes(backend: Backend) {
    let (cx, known) = prepared(backend);
    let id = known.contact;
    for path in [
        "/contacts/crm-1001/chatbots/<A>",
        "/contacts/chatbots/<A>",
        "/contacts/schema/chatbots/<A>",
        &format!("/contacts/platformid/{id}/chatbots/<A>"),
        "/health",
    ] {
        let _ = cx.get(&format!("{path}/")).expect(200);
        let _ = cx.get(&format!("{path}/?_=1")).expect(200);
        let _ = cx.get(&format!("{path}//")).fails(404, "ROUTE_NOT_FOUND");
        let _ = cx.get(&format!("{path}/%2F")).fails(404, "ROUTE_NOT_FOUND");
    }
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive/").expect(200);
    let _ = cx.at("GET", "/openapi.json/").send().expect(200);
}

fn empty_segments(backend: Backend) {
    let (cx, _) = prepared(backend);
    for path in [
        "//v1/open/health",
        "/v1//open/health",
        "/v1/open//health",
        "/v1/open/contacts//chatbots/<A>",
        "/v1/open/contacts/crm-1001//chatbots/<A>",
        "/v1/open/contacts/crm-1001/chatbots//<A>",
        "/v1/open/contacts/crm-1001/chatbots/",
        "/v1/open/contacts/crm-1001/chatbots//",
        "/v1/open/contacts/platformid//chatbots/<A>",
    ] {
        let _ = cx.at("GET", path).send().fails(404, "ROUTE_NOT_FOUND");
    }
}

fn dot_segments(backend: Backend) {
    let (cx, _) = prepared(backend);
    for path in [
        "/v1/open/./health",
        "/v1/open/x/../health",
        "/./v1/open/health",
        "/v1/open/health/.",
        "/v1/open/health/..",
        "/v1/open/%2e/health",
        "/v1/open/x/%2e%2E/health",
    ] {
        let _ = cx.at("GET", path).send().fails(404, "ROUTE_NOT_FOUND");
    }
    for dots in [".", "..", "%2e", "%2E%2e", "..."] {
        let reply = cx.get(&format!("/contacts/{dots}/chatbots/<A>")).fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["details"]["id"], dots.replace("%2e", ".").replace("%2E", "."));
    }
}

fn invalid_encoding(backend: Backend) {
    let (cx, _) = prepared(backend);
    for bad in [
        "%",
        "%2",
        "%zz",
        "%2x",
        "%x2",
        "%%",
        "%ff",
        "%C3",
        "%c3%28",
        "%ED%A0%80",
        "%F8%88%80%80%80",
        "%C0%AF",
        "%E2%82",
        "a%",
    ] {
        for path in [
            format!("/contacts/{bad}/chatbots/<A>"),
            format!("/contacts/crm-1001/chatbots/{bad}"),
            format!("/nowhere/{bad}"),
            format!("/{bad}"),
        ] {
            // Before the route, and before the key.
            let _ = cx.call("GET", &path).anonymous().send().fails(400, "BAD_REQUEST");
        }
        let reply = cx.call("GET", &format!("/contacts/chatbots/<A>?search={bad}")).anonymous().send();
        let _ = reply.fails(400, "BAD_REQUEST");
        let _ = cx.call("GET", &format!("/nowhere?{bad}=1")).send().fails(400, "BAD_REQUEST");
    }
}

/// Contract 6.4, literally.
fn the_example_of_a_bad_request(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx
        .call("GET", "/contacts/%zz/chatbots/<A>")
        .header("x-request-id", contract_tests::story::REQUEST_ID)
        .send();
    let expected = json!({ "success": false, "message": "Invalid percent-encoding in the request path", "code": "BAD_REQUEST", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39" });
    assert_eq!(reply.fails(400, "BAD_REQUEST").text, expected.to_string());
}

fn long_uris(backend: Backend) {
    let cx = Sandbox::new(backend);
    let of_length = |length: usize| {
        let start = "/v1/open/contacts/chatbots/695b6f80de7378c4412112d3?_=";
        format!("{start}{}", "x".repeat(length - start.len()))
    };
    let _ = cx.at("GET", &of_length(8_192)).send().expect(200);
    for method in ["GET", "POST", "OPTIONS", "DELETE"] {
        let _ = cx.at(method, &of_length(8_193)).anonymous().send().fails(414, "URI_TOO_LONG");
    }
    // Lengths come before the percent-encoding and the route.
    let _ = cx.at("GET", &format!("/%zz{}", "x".repeat(9_000))).anonymous().send().fails(414, "URI_TOO_LONG");
    let _ = cx.at("GET", &format!("/{}", "x".repeat(60_000))).anonymous().send().fails(414, "URI_TOO_LONG");
}

fn absolute_targets(backend: Backend) {
    let (cx, _) = prepared(backend);
    let reply =
        cx.at("GET", "https://other.example/v1/open/contacts/chatbots/<A>?limit=1").send().expect(200);
    assert!(reply.header("link").is_some_and(|links| !links.contains("other.example")));
}
