//! GET /contacts/schema/chatbots/<A> (contract 2.1.4).

use contract_tests::{Backend, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

on_every_backend!(
    the_example,
    the_built_in_schema,
    a_tag_for_each_version,
    the_published_schema_is_a_schema,
    each_agent_has_its_own,
);

const EXAMPLE: &str = include_str!("schema.example.json");

/// Contract 2.1.4, literally.
fn the_example(backend: Backend) {
    let cx = story::sandbox(backend);
    let reply = cx.get("/contacts/schema/chatbots/<A>").expect(200);
    let expected: Value = serde_json::from_str(EXAMPLE).expect("the example is JSON");
    assert_eq!(reply.json["message"], "Contact schema retrieved successfully");
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(reply.data()[name], *value, "{name}");
    }
    assert_eq!(reply.data().to_string(), expected.to_string(), "in this order");
}

fn the_built_in_schema(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.get("/contacts/schema/chatbots/<A>").expect(200);
    let mut expected: Value = serde_json::from_str(EXAMPLE).expect("the example is JSON");
    expected["version"] = json!(1);
    expected["updatedAt"] = json!("2026-01-31T09:15:02.123Z");
    expected["customFields"] = json!([]);
    expected["jsonSchema"]["properties"]["customFields"]["properties"] = json!({});
    assert_eq!(*reply.data(), expected);
    assert!(
        reply.data()["fields"]
            .as_array()
            .expect("fields")
            .iter()
            .all(|field| { field["name"] == "primaryEmail" || field["required"] == false })
    );
}

fn a_tag_for_each_version(backend: Backend) {
    let cx = Sandbox::new(backend);
    let path = "/contacts/schema/chatbots/<A>";
    let one = cx.get(path).expect(200);
    let etag = one.header("etag").expect("a tag").to_owned();
    cx.advance(1_000);
    assert_eq!(cx.get(path).header("etag"), Some(etag.as_str()));
    let same = cx.call("GET", path).header("if-none-match", &etag).send().expect(304);
    assert_eq!(same.header("etag"), Some(etag.as_str()));
    cx.define(&story::definition());
    let two = cx.call("GET", path).header("if-none-match", &etag).send().expect(200);
    assert_ne!(two.header("etag"), Some(etag.as_str()));
    assert_eq!(two.data()["version"], 2);
    assert_eq!(two.data()["updatedAt"], "2026-01-31T09:15:03.123Z");
    // A no-op change creates no new version.
    cx.advance(1_000);
    cx.define(&story::definition());
    assert_eq!(cx.get(path).header("etag"), two.header("etag"));
}

fn the_published_schema_is_a_schema(backend: Backend) {
    let cx = story::sandbox(backend);
    let reply = cx.get("/contacts/schema/chatbots/<A>").expect(200);
    let schema = &reply.data()["jsonSchema"];
    assert!(jsonschema::meta::is_valid(schema));
    let validator = jsonschema::draft202012::new(schema).expect("a schema");
    assert!(validator.is_valid(&story::new_contact()));
    assert!(validator.is_valid(&story::contact()), "a fetched record passes");
    for bad in [
        json!({}),
        json!({ "primaryEmail": null }),
        json!({ "primaryEmail": "a@b.co", "nickname": 1 }),
        json!({ "primaryEmail": "a@b.co", "status": "gone" }),
        json!({ "primaryEmail": "a@b.co", "customFields": { "plan": "bronze" } }),
    ] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

fn each_agent_has_its_own(backend: Backend) {
    let cx = Sandbox::new(backend);
    let other = cx.new_agent("other");
    let key = cx.issue(|key| key.agent_id = other.clone());
    cx.define(&story::definition());
    let reply = cx.call("GET", "/contacts/schema/chatbots/other").with(&key).send().expect(200);
    assert_eq!((&reply.data()["agentId"], &reply.data()["version"]), (&json!("other"), &json!(1)));
    assert_eq!(reply.data()["customFields"], json!([]));
}
