//! GET {origin}/openapi.json (contract 4.1).

use contract_tests::document::DOCUMENT;
use contract_tests::{Backend, Sandbox, on_every_backend};

on_every_backend!(the_document, outside_of_the_base_path, no_key_is_required);

fn the_document(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.at("GET", "/openapi.json").anonymous().send().expect(200);
    assert_eq!(reply.json, *DOCUMENT);
    assert!(reply.json["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")));
    assert_eq!(reply.json["info"]["version"], "1.0.0");
    let head = cx.at("HEAD", "/openapi.json").anonymous().send().expect(200);
    assert_eq!(head.header("content-length"), Some(reply.text.len().to_string().as_str()));
}

fn outside_of_the_base_path(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.call("GET", "/openapi.json").send().fails(404, "ROUTE_NOT_FOUND");
    let _ = cx.at("GET", "/health").send().fails(404, "ROUTE_NOT_FOUND");
    // A final extension has no meaning.
    let _ = cx.at("GET", "/openapi.yaml").send().fails(404, "ROUTE_NOT_FOUND");
    let _ = cx.call("GET", "/health.json").send().fails(404, "ROUTE_NOT_FOUND");
}

fn no_key_is_required(backend: Backend) {
    let cx = Sandbox::new(backend);
    let call = cx.at("GET", "/openapi.json?download=1").anonymous().header("x-api-key", "a");
    let _ = call.header("x-api-key", "b").send().expect(200);
}
