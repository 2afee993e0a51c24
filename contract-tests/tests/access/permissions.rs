//! Scopes and actions (service 5, contract 4.2, 7.2): every endpoint under each single permission.

use contract_tests::{Backend, Sandbox, on_every_backend, story};
use openapi_core::access::{Permission, Permissions};
use openapi_core::operation::Access;
use serde_json::json;

on_every_backend!(
    the_example,
    the_permissions_of_the_specification,
    every_endpoint_under_every_permission,
    permission_before_agent,
    words,
);

/// Contract 6.4, literally.
fn the_example(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.key_that_may("contacts:create,read,delete");
    let call = cx.call("PUT", "/contacts/crm-1001/chatbots/<A>").json(&json!({})).with(&key);
    let reply = call.header("x-request-id", story::REQUEST_ID).send().fails(403, "INSUFFICIENT_PERMISSIONS");
    let expected = json!({ "success": false, "message": "The API key lacks contacts:update", "code": "INSUFFICIENT_PERMISSIONS", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "details": { "required": "contacts:update" } });
    assert_eq!(reply.text, expected.to_string());
}

/// The Action columns of the specification; archive requires update.
const REQUIRED: [(&str, &str, &str); 47] = [
    ("GET", "/contacts/schema/chatbots/<A>", "contacts:read"),
    ("POST", "/contacts/chatbots/<A>", "contacts:create"),
    ("GET", "/contacts/chatbots/<A>", "contacts:read"),
    ("GET", "/contacts/x/chatbots/<A>", "contacts:read"),
    ("PUT", "/contacts/x/chatbots/<A>", "contacts:update"),
    ("PATCH", "/contacts/x/chatbots/<A>/archive", "contacts:update"),
    ("PATCH", "/contacts/x/chatbots/<A>/unarchive", "contacts:update"),
    ("GET", "/contacts/platformid/x/chatbots/<A>", "contacts:read"),
    ("PUT", "/contacts/platformid/x/chatbots/<A>", "contacts:update"),
    ("PATCH", "/contacts/platformid/x/chatbots/<A>/archive", "contacts:update"),
    ("PATCH", "/contacts/platformid/x/chatbots/<A>/unarchive", "contacts:update"),
    ("POST", "/files/chatbots/<A>/x", "contacts:create"),
    ("GET", "/files/chatbots/<A>/x", "contacts:read"),
    ("GET", "/files/chatbots/<A>/x/files/y", "contacts:read"),
    ("GET", "/files/chatbots/<A>/x/files/y/signed-url", "contacts:read"),
    ("DELETE", "/files/chatbots/<A>/x/files/y", "contacts:delete"),
    ("POST", "/forms/submit/t/contacts/x", "forms:create"),
    ("POST", "/forms/batch/contacts/x/chatbots/<A>", "forms:create"),
    ("GET", "/forms/contacts/x/chatbots/<A>", "forms:read"),
    ("GET", "/forms/submissions/s/chatbots/<A>", "forms:read"),
    ("PUT", "/forms/submissions/s/chatbots/<A>", "forms:update"),
    ("GET", "/forms/contacts/x/templates/t/latest/chatbots/<A>", "forms:read"),
    ("GET", "/forms/templates/chatbots/<A>", "forms:read"),
    ("GET", "/forms/templates/t/schema/chatbots/<A>", "forms:read"),
    ("GET", "/forms/templates/t/structure/chatbots/<A>", "forms:read"),
    ("GET", "/document-extraction/schema-examples", "document-extraction:read"),
    ("POST", "/document-extraction/extract", "document-extraction:create"),
    ("POST", "/document-extraction/jobs", "document-extraction:create"),
    ("POST", "/document-extraction/batches", "document-extraction:create"),
    ("GET", "/document-extraction/jobs", "document-extraction:read"),
    ("GET", "/document-extraction/jobs/x", "document-extraction:read"),
    ("PATCH", "/document-extraction/jobs/x/cancel", "document-extraction:create"),
    ("DELETE", "/document-extraction/jobs/x", "document-extraction:create"),
    ("GET", "/document-extraction/batches/x", "document-extraction:read"),
    ("GET", "/events/chatbots/<A>", "events:read"),
    ("GET", "/events/chatbots/<A>/stream", "events:read"),
    ("GET", "/events/types", "events:read"),
    ("POST", "/events/endpoints/chatbots/<A>", "events:create"),
    ("GET", "/events/endpoints/chatbots/<A>", "events:read"),
    ("GET", "/events/endpoints/x/chatbots/<A>", "events:read"),
    ("PUT", "/events/endpoints/x/chatbots/<A>", "events:update"),
    ("DELETE", "/events/endpoints/x/chatbots/<A>", "events:delete"),
    ("GET", "/events/endpoints/x/secret/chatbots/<A>", "events:update"),
    ("POST", "/events/endpoints/x/rotate/chatbots/<A>", "events:update"),
    ("POST", "/events/endpoints/x/test/chatbots/<A>", "events:update"),
    ("POST", "/events/endpoints/x/replay/chatbots/<A>", "events:update"),
    ("GET", "/events/endpoints/x/attempts/chatbots/<A>", "events:read"),
];

fn the_permissions_of_the_specification(backend: Backend) {
    let cx = Sandbox::new(backend);
    let keyed = contract_tests::table::endpoints().filter(|endpoint| !endpoint.meta.access.is_public());
    assert_eq!(keyed.count(), REQUIRED.len(), "every endpoint is in the table above");
    for (method, path, required) in REQUIRED {
        let others: Permissions =
            Permissions::all().iter().filter(|permission| permission.to_string() != required).collect();
        let key = cx.issue(|key| key.permissions = others);
        let reply = cx.call(method, path).with(&key).send().fails(403, "INSUFFICIENT_PERMISSIONS");
        assert_eq!(reply.json["details"], json!({ "required": required }));
        let key = cx.key_that_may(required);
        let reply = cx.call(method, path).with(&key).send();
        assert_ne!(reply.status, 403, "{method} {path}");
    }
}

fn every_endpoint_under_every_permission(backend: Backend) {
    let cx = Sandbox::new(backend);
    let keys: Vec<(Permission, _)> = Permissions::all()
        .iter()
        .map(|permission| (permission, cx.issue(|key| key.permissions = [permission].into_iter().collect())))
        .collect();
    for endpoint in contract_tests::table::endpoints() {
        let meta = endpoint.meta;
        let Access::Key(required) = meta.access else { continue };
        let path = meta
            .path
            .replace("{agentId}", "<A>")
            .replace("{externalReferenceId}", "x")
            .replace("{contactId}", "x")
            .replace("{templateId}", "x")
            .replace("{submissionId}", "x")
            .replace("{endpointId}", "x");
        for (permission, key) in &keys {
            let reply = cx.call(meta.method.as_str(), &path).with(key).send();
            assert_eq!(reply.status == 403, *permission != required, "{} with {permission}", meta.id);
        }
    }
}

fn permission_before_agent(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.key_that_may("contacts:read");
    let reply = cx.call("POST", "/contacts/chatbots/other").json(&json!({})).with(&key).send();
    let _ = reply.fails(403, "INSUFFICIENT_PERMISSIONS");
    let reply = cx.call("GET", "/contacts/chatbots/other").with(&key).send();
    let _ = reply.fails(403, "AGENT_FORBIDDEN");
}

fn words(backend: Backend) {
    let _ = backend;
    let all: Vec<String> = Permissions::all().iter().map(|permission| permission.to_string()).collect();
    assert_eq!(
        all,
        [
            "contacts:create",
            "contacts:read",
            "contacts:update",
            "contacts:delete",
            "forms:create",
            "forms:read",
            "forms:update",
            "document-extraction:create",
            "document-extraction:read",
            "events:create",
            "events:read",
            "events:update",
            "events:delete",
        ]
    );
    for bad in [
        "contacts",
        "contacts:",
        "contacts:archive",
        "forms:delete",
        "document-extraction:update",
        "files:read",
        "Contacts:read",
        "",
    ] {
        assert!(bad.parse::<Permissions>().is_err(), "{bad}");
    }
}
