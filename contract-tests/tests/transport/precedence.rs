//! The order of checks (contract 6.3): of two errors at different steps the earlier is reported.

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Call, Credentials, Sandbox, on_every_backend, story};
use openapi_core::access::RateLimits;
use openapi_core::admin::Admin;
use serde_json::json;

on_every_backend!(every_pair, steps_of_a_create, steps_of_authentication);

/// An error that a request can have, and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    LongUri,
    LongHeaders,
    Encoding,
    Route,
    Method,
    RepeatedKey,
    MissingKey,
    WrongSecret,
    RevokedKey,
    Address,
    RateLimit,
    Permission,
    Agent,
    MediaType,
    TooLarge,
    Json,
    Absent,
    Invalid,
    Precondition,
    Archived,
    Duplicate,
}

use Fault as F;

/// In the order of contract 6.3.
const STEPS: [(F, u16, &str); 21] = [
    (F::LongUri, 414, "URI_TOO_LONG"),
    (F::LongHeaders, 431, "HEADERS_TOO_LARGE"),
    (F::Encoding, 400, "BAD_REQUEST"),
    (F::Route, 404, "ROUTE_NOT_FOUND"),
    (F::Method, 405, "METHOD_NOT_ALLOWED"),
    (F::RepeatedKey, 400, "BAD_REQUEST"),
    (F::MissingKey, 401, "MISSING_CREDENTIALS"),
    (F::WrongSecret, 401, "INVALID_CREDENTIALS"),
    (F::RevokedKey, 401, "API_KEY_REVOKED"),
    (F::Address, 403, "IP_NOT_ALLOWED"),
    (F::RateLimit, 429, "RATE_LIMIT_EXCEEDED"),
    (F::Permission, 403, "INSUFFICIENT_PERMISSIONS"),
    (F::Agent, 403, "AGENT_FORBIDDEN"),
    (F::MediaType, 415, "UNSUPPORTED_MEDIA_TYPE"),
    (F::TooLarge, 413, "PAYLOAD_TOO_LARGE"),
    (F::Json, 400, "INVALID_JSON"),
    (F::Absent, 404, "CONTACT_NOT_FOUND"),
    (F::Invalid, 400, "VALIDATION_ERROR"),
    (F::Precondition, 412, "PRECONDITION_FAILED"),
    (F::Archived, 409, "CONTACT_ARCHIVED"),
    (F::Duplicate, 409, "DUPLICATE_EXTERNAL_REFERENCE_ID"),
];

/// A sandbox with all records that a faulty PUT needs.
struct World {
    cx: Sandbox,
}

impl World {
    fn new(backend: Backend) -> Self {
        let cx = Sandbox::with_settings(backend, |settings| {
            settings.address_limits.unrouted = 0;
            settings.address_limits.failed_authentication = 0;
        });
        let _ = cx.create(&story::new_contact());
        let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "externalReferenceId": "taken" }));
        let _ = cx.create(&json!({ "primaryEmail": "a@b.co", "externalReferenceId": "archived" }));
        let _ = cx.patch("/contacts/archived/chatbots/<A>/archive").expect(200);
        World { cx }
    }

    /// A key with those of the defects that a key can have.
    fn key(&self, faults: &[F]) -> Credentials {
        let has = |fault: F| faults.contains(&fault);
        let key = self.cx.issue(|key| {
            if has(F::Permission) {
                key.permissions = "contacts:read".parse().expect("permissions");
            }
            if has(F::RateLimit) {
                key.limits = RateLimits { per_minute: 1, per_hour: 1 };
            }
        });
        if has(F::RateLimit) {
            let _ = self.cx.call("GET", "/contacts/chatbots/<A>").with(&key).send().expect(200);
        }
        if has(F::Address) {
            let edit = openapi_core::admin::KeyEdit {
                allowed_addresses: Some(vec!["203.0.113.1".parse().expect("an address")]),
                ..Default::default()
            };
            let _ =
                wait(self.cx.platform.edit_key(&operator(), &Sandbox::selector(&key), edit)).expect("edited");
        }
        if has(F::RevokedKey) {
            let _ =
                wait(self.cx.platform.revoke_key(&operator(), &Sandbox::selector(&key))).expect("revoked");
        }
        if has(F::WrongSecret) {
            return Credentials { secret: self.cx.credentials.secret.clone(), ..key };
        }
        key
    }

    /// A PUT with exactly these errors.
    fn call(&self, faults: &[F]) -> Call<'_> {
        let has = |fault: F| faults.contains(&fault);
        let contact = match () {
            () if has(F::Absent) => "absent",
            () if has(F::Archived) => "archived",
            () => "crm-1001",
        };
        let agent = if has(F::Agent) { "other" } else { "<A>" };
        let collection = if has(F::Route) { "contract" } else { "contacts" };
        let mut target = format!("/{collection}/{contact}/chatbots/{agent}?_=1");
        if has(F::Encoding) {
            target.push_str("&_x=%zz");
        }
        if has(F::LongUri) {
            target.push_str(&"y".repeat(9_000));
        }
        if has(F::Invalid) {
            target.push_str("&nonsense=1");
        }
        let mut call = self.cx.call(if has(F::Method) { "DELETE" } else { "PUT" }, &target);
        call = match self.key(faults) {
            key if has(F::MissingKey) => {
                let call = call.anonymous().header("x-api-key", &key.key);
                if has(F::RepeatedKey) { call.header("x-api-key", &key.key) } else { call }
            }
            key if has(F::RepeatedKey) => call.with(&key).header("x-api-key", &key.key),
            key => call.with(&key),
        };
        let mut body = json!({ "firstName": "A" });
        if has(F::Duplicate) {
            body["externalReferenceId"] = json!("taken");
        }
        let mut text = body.to_string();
        if has(F::Json) {
            text.push('x');
        }
        if has(F::TooLarge) {
            text.push_str(&" ".repeat(1_048_577));
        }
        if has(F::MediaType) {
            call = call.header("content-type", "text/plain");
        }
        if has(F::Precondition) {
            call = call.header("if-match", "\"stale\"");
        }
        if has(F::LongHeaders) {
            call = call.header("x-long", &"y".repeat(17_000));
        }
        call.text(&text)
    }
}

fn every_pair(backend: Backend) {
    let world = World::new(backend);
    let _ = world.call(&[]).send().expect(200);
    for (earlier, (first, status, code)) in STEPS.iter().enumerate() {
        let reply = world.call(&[*first]).send();
        assert_eq!((reply.status, reply.code()), (*status, *code), "{first:?} alone: {}", reply.text);
        for (second, ..) in &STEPS[earlier + 1..] {
            let reply = world.call(&[*first, *second]).send();
            assert_eq!(
                (reply.status, reply.code()),
                (*status, *code),
                "{first:?} and {second:?}: {}",
                reply.text
            );
        }
    }
    // All from one step on.
    for (earlier, (first, status, code)) in STEPS.iter().enumerate() {
        let faults: Vec<F> = STEPS[earlier..].iter().map(|(fault, ..)| *fault).collect();
        let reply = world.call(&faults).send();
        assert_eq!((reply.status, reply.code()), (*status, *code), "all from {first:?}: {}", reply.text);
    }
    let contact = world.cx.get("/contacts/archived/chatbots/<A>").expect(200);
    assert_eq!(
        contact.data()["firstName"],
        serde_json::Value::Null,
        "nothing was stored by the rejected requests"
    );
}

/// Idempotency comes between the body and the rules; uniqueness after them.
fn steps_of_a_create(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "primaryPhone", "unique": true }] }));
    let _ =
        cx.create(&json!({ "primaryEmail": "a@b.co", "externalReferenceId": "x", "primaryPhone": "12345" }));
    let call =
        |text: &str| cx.call("POST", "/contacts/chatbots/<A>").text(text).header("idempotency-key", "k");
    let _ = call("{\"primaryEmail\":\"a@b.co\"}").send().expect(201);
    let _ = call("{").send().fails(400, "INVALID_JSON");
    let _ = call("{}").header("content-type", "text/plain").send().fails(415, "UNSUPPORTED_MEDIA_TYPE");
    let _ = call("{\"tags\":1}").send().fails(422, "IDEMPOTENCY_KEY_REUSED");
    let both =
        json!({ "primaryEmail": "a@b.co", "externalReferenceId": "x", "primaryPhone": "12345", "tags": 1 });
    let _ = cx.try_create(&both).fails(400, "VALIDATION_ERROR");
    let both = json!({ "primaryEmail": "a@b.co", "primaryPhone": "12345", "externalReferenceId": "x" });
    let _ = cx.try_create(&both).fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
}

fn steps_of_authentication(backend: Backend) {
    let cx = Sandbox::new(backend);
    let soon = contract_tests::sandbox::instant("2026-01-31T09:20:00.000Z");
    let key = cx.issue(|key| {
        key.expires_at = Some(soon);
        key.allowed_addresses = vec!["203.0.113.1".parse().expect("an address")];
    });
    let call = cx.call("GET", "/contacts/chatbots/<A>").with(&key);
    let _ = call.send().fails(403, "IP_NOT_ALLOWED");
    cx.clock.set(soon);
    let _ = call.send().fails(401, "API_KEY_EXPIRED");
    let _ = wait(cx.platform.revoke_key(&operator(), &Sandbox::selector(&key))).expect("revoked");
    let _ = call.send().fails(401, "API_KEY_REVOKED");
    let _ = wait(cx.platform.disable_agent(&operator(), &cx.agent)).expect("disabled");
    let _ = call.send().fails(401, "INVALID_CREDENTIALS");
    let _ = call.clone().anonymous().send().fails(401, "MISSING_CREDENTIALS");
    let _ = call.header("x-api-key", "again").send().fails(400, "BAD_REQUEST");
}
