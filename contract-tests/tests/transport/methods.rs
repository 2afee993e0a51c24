//! Methods: 405, OPTIONS, HEAD (contract 5.1).

use std::collections::BTreeSet;

use contract_tests::{Backend, Sandbox, on_every_backend};

use crate::table::{Known, all, prepared, real_path, with_query};

on_every_backend!(every_method_on_every_path, options, unknown_methods, case_of_methods);

/// The methods of a path in the table, HEAD and OPTIONS included.
fn methods_of(target: &str, known: &Known) -> BTreeSet<&'static str> {
    let mut methods: BTreeSet<&str> =
        all().filter(|meta| real_path(meta, known) == target).map(|meta| meta.method.as_str()).collect();
    if methods.contains("GET") {
        methods.insert("HEAD");
    }
    methods.insert("OPTIONS");
    methods
}

fn allowed(header: Option<&str>) -> BTreeSet<&str> {
    header.expect("Allow").split(", ").collect()
}

fn every_method_on_every_path(backend: Backend) {
    // Many wrong methods from one address would reach its limit.
    let (_, stored) = prepared(backend);
    let cx = Sandbox::with_settings(backend, |settings| settings.address_limits.unrouted = 0);
    for target in all().map(|meta| real_path(meta, &stored)).collect::<BTreeSet<_>>() {
        let known = methods_of(&target, &stored);
        for method in
            ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "QUERY", "PROPFIND"]
        {
            let reply = cx.at(method, &target).send();
            if known.contains(method) {
                assert_ne!(reply.status, 405, "{method} {target}");
                continue;
            }
            assert_eq!(reply.status, 405, "{method} {target}: {}", reply.text);
            assert_eq!(allowed(reply.header("allow")), known);
            if method != "HEAD" {
                assert_eq!(reply.code(), "METHOD_NOT_ALLOWED");
            }
            // No key is required.
            let _ = cx.at(method, &target).anonymous().send().expect(405);
        }
    }
}

fn options(backend: Backend) {
    // Many requests without an operation from one address would reach its limit.
    let (_, known) = prepared(backend);
    let cx = Sandbox::with_settings(backend, |settings| settings.address_limits.unrouted = 0);
    for target in all().map(|meta| real_path(meta, &known)).collect::<BTreeSet<_>>() {
        let reply = cx.at("OPTIONS", &target).anonymous().send().expect(204);
        assert_eq!(allowed(reply.header("allow")), methods_of(&target, &known));
        assert_eq!(reply.text, "");
        // Body, query and agent are irrelevant.
        let call = cx.at("OPTIONS", &with_query(&target, "nonsense=1")).anonymous().text("{");
        let _ = call.header("origin", "https://app.example.com").send().expect(204);
    }
    let _ = cx.call("OPTIONS", "/contacts/none/chatbots/nobody").anonymous().send().expect(204);
    let _ = cx.call("OPTIONS", "/nowhere").anonymous().send().fails(404, "ROUTE_NOT_FOUND");
    let _ = cx.at("OPTIONS", "*").anonymous().send().fails(404, "ROUTE_NOT_FOUND");
}

fn unknown_methods(backend: Backend) {
    let cx = Sandbox::new(backend);
    let long = "X".repeat(5_000);
    for method in ["FOO", "M-SEARCH", &long] {
        let reply = cx.call(method, "/health").anonymous().send().fails(405, "METHOD_NOT_ALLOWED");
        assert!(reply.text.len() < 1_000, "a long method is not repeated");
        // The path is checked first.
        let _ = cx.call(method, "/nowhere").anonymous().send().fails(404, "ROUTE_NOT_FOUND");
    }
}

fn case_of_methods(backend: Backend) {
    let cx = Sandbox::new(backend);
    for method in ["get", "Get", "options"] {
        let _ = cx.call(method, "/health").anonymous().send().fails(405, "METHOD_NOT_ALLOWED");
    }
}
