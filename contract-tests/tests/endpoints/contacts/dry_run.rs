//! POST …?dryRun=true (contract 4.2).

use contract_tests::{Backend, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

on_every_backend!(
    the_record_as_it_would_be_created,
    nothing_is_stored,
    every_check_runs,
    idempotency_keys_are_ignored,
    it_counts,
    switched_off,
);

const DRY: &str = "/contacts/chatbots/<A>?dryRun=true";

fn the_record_as_it_would_be_created(backend: Backend) {
    let cx = story::sandbox(backend);
    let reply = cx.post(DRY, &story::new_contact()).expect(200);
    let mut expected = story::contact();
    for field in ["id", "createdAt", "updatedAt"] {
        expected[field] = Value::Null;
    }
    assert_eq!(reply.data().to_string(), expected.to_string());
    assert_eq!((reply.header("location"), reply.header("etag")), (None, None));
    // Caller-supplied times are not times set by the service.
    let reply = cx.post(DRY, &json!({ "primaryEmail": "a@b.co", "lastContactedAt": "2026-01-01T00:00:00Z" }));
    assert_eq!(reply.expect(200).data()["lastContactedAt"], "2026-01-01T00:00:00.000Z");
}

fn nothing_is_stored(backend: Backend) {
    let cx = Sandbox::new(backend);
    for _ in 0..2 {
        let _ = cx.post(DRY, &story::new_contact()).expect(200);
    }
    assert_eq!(cx.get("/contacts/chatbots/<A>?includeArchived=1").expect(200).pagination()["totalItems"], 0);
    let _ = cx.create(&story::new_contact());
}

fn every_check_runs(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "primaryPhone", "unique": true }] }));
    let id = cx.create(&story::new_contact()).id();
    let _ = cx.post(DRY, &json!({ "tags": 1 })).invalid(&[("tags", "type"), ("primaryEmail", "required")]);
    let reply = cx.post(DRY, &story::new_contact()).fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    assert_eq!(reply.json["details"], json!({ "existingContactId": id, "archived": false }));
    let mut body = story::new_contact();
    body["externalReferenceId"] = Value::Null;
    let reply = cx.post(DRY, &body).fails(409, "DUPLICATE_VALUE");
    assert_eq!(
        reply.json["details"],
        json!({ "field": "primaryPhone", "existingContactId": id, "archived": false })
    );
    let key = cx.key_that_may("contacts:read");
    let reply = cx.call("POST", DRY).json(&story::new_contact()).with(&key).send();
    let _ = reply.fails(403, "INSUFFICIENT_PERMISSIONS");
    let _ = cx.call("POST", DRY).text("{").send().fails(400, "INVALID_JSON");
}

fn idempotency_keys_are_ignored(backend: Backend) {
    let cx = Sandbox::new(backend);
    let dry =
        |key: &str| cx.call("POST", DRY).json(&story::new_contact()).header("idempotency-key", key).send();
    let wet = |key: &str, body: &Value| {
        cx.call("POST", "/contacts/chatbots/<A>").json(body).header("idempotency-key", key).send()
    };
    assert_eq!(dry("k").expect(200).header("idempotent-replayed"), None);
    // The dry run stored nothing under the key.
    let created = wet("k", &story::new_contact()).expect(201);
    // It does not replay a stored response either.
    let _ = dry("k").fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    assert_eq!(wet("k", &story::new_contact()).expect(201).id(), created.id());
    // A malformed key is ignored as well.
    let other = json!({ "primaryEmail": "a@b.co" });
    for key in ["", "é", &"k".repeat(256)] {
        let _ = cx
            .call("POST", DRY)
            .json(&other)
            .raw_header("idempotency-key", key.as_bytes())
            .send()
            .expect(200);
    }
}

fn it_counts(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| key.limits = openapi_core::access::RateLimits { per_minute: 1, per_hour: 1 });
    let send = || cx.call("POST", DRY).json(&story::new_contact()).with(&key).send();
    assert_eq!(send().expect(200).header("x-ratelimit-remaining"), Some("0"));
    let _ = send().fails(429, "RATE_LIMIT_EXCEEDED");
}

fn switched_off(backend: Backend) {
    let cx = Sandbox::new(backend);
    for query in ["dryRun=false", "dryRun=0", "dryRun=", "dryRun"] {
        let reply = cx.post(&format!("/contacts/chatbots/<A>?{query}"), &json!({ "primaryEmail": "a@b.co" }));
        let _ = reply.expect(201);
    }
    for query in ["dryRun=1", "dryRun=TRUE", "dryRun=tRuE"] {
        let reply = cx.post(&format!("/contacts/chatbots/<A>?{query}"), &json!({ "primaryEmail": "a@b.co" }));
        let _ = reply.expect(200);
    }
    let reply = cx.post("/contacts/chatbots/<A>?dryRun=yes", &json!({ "primaryEmail": "a@b.co" }));
    let _ = reply.invalid(&[("dryRun", "type")]);
    // Only create supports it.
    let _ = cx.create(&story::new_contact());
    let _ =
        cx.put("/contacts/crm-1001/chatbots/<A>?dryRun=true", &json!({})).invalid(&[("dryRun", "unknown")]);
}
