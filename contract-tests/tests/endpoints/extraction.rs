//! GET /document-extraction/schema-examples (contract 12.4).

use contract_tests::{Backend, Sandbox, on_every_backend};
use openapi_core::extraction::ExtractionSchema;

on_every_backend!(each_example_is_a_schema, a_query_is_refused,);

const PATH: &str = "/document-extraction/schema-examples";

fn each_example_is_a_schema(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.call("GET", PATH).send().expect(200);
    let examples = reply.data().as_object().expect("an object");
    for id in ["medical", "invoice", "resume", "receipt", "identity_document", "contract", "purchase_order"] {
        assert!(examples.contains_key(id), "{id} is missing");
    }
    for (id, example) in examples {
        let schema = example["schema"].to_string();
        assert!(ExtractionSchema::parse(schema.as_bytes()).is_ok(), "{id}: {schema}");
        assert!(example["title"].is_string() && example["description"].is_string(), "{id}");
    }
    assert_eq!(examples["invoice"]["schema"]["total"]["type"], "number");
    assert_eq!(examples["invoice"]["schema"]["total"]["required"], true);
}

fn a_query_is_refused(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.call("GET", &format!("{PATH}?page=2")).send().fails(400, "VALIDATION_ERROR");
}
