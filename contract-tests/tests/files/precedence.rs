//! The order of checks for files (contract 6.3): of two errors at different steps the earlier is reported.

use contract_tests::call::Chunk;
use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Call, Credentials, Form, Reply, Sandbox, on_every_backend};
use openapi_core::access::RateLimits;
use openapi_core::admin::Admin;
use serde_json::json;

use crate::support::{contact, file_path, follow, link, upload, with_contact};

on_every_backend!(uploads, deletions, downloads, quota_is_last);

/// An error that a request can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Encoding,
    Method,
    MissingKey,
    WrongSecret,
    RevokedKey,
    RateLimit,
    Permission,
    Agent,
    MediaType,
    TooLarge,
    Late,
    Framing,
    Reused,
    NoContact,
    NoFile,
    Content,
    Invalid,
    Precondition,
    Archived,
}

use Fault as F;

/// The errors of an upload, in the order of contract 6.3.
const OF_UPLOADS: [(F, u16, &str); 17] = [
    (F::Encoding, 400, "BAD_REQUEST"),
    (F::Method, 405, "METHOD_NOT_ALLOWED"),
    (F::MissingKey, 401, "MISSING_CREDENTIALS"),
    (F::WrongSecret, 401, "INVALID_CREDENTIALS"),
    (F::RevokedKey, 401, "API_KEY_REVOKED"),
    (F::RateLimit, 429, "RATE_LIMIT_EXCEEDED"),
    (F::Permission, 403, "INSUFFICIENT_PERMISSIONS"),
    (F::Agent, 403, "AGENT_FORBIDDEN"),
    (F::MediaType, 415, "UNSUPPORTED_MEDIA_TYPE"),
    (F::TooLarge, 413, "FILE_TOO_LARGE"),
    (F::Late, 408, "REQUEST_TIMEOUT"),
    (F::Framing, 400, "BAD_REQUEST"),
    (F::Reused, 422, "IDEMPOTENCY_KEY_REUSED"),
    (F::NoContact, 404, "CONTACT_NOT_FOUND"),
    (F::Content, 415, "UNSUPPORTED_FILE_TYPE"),
    (F::Invalid, 400, "VALIDATION_ERROR"),
    (F::Archived, 409, "CONTACT_ARCHIVED"),
];

/// The errors of a deletion.
const OF_DELETIONS: [(F, u16, &str); 14] = [
    (F::Encoding, 400, "BAD_REQUEST"),
    (F::Method, 405, "METHOD_NOT_ALLOWED"),
    (F::MissingKey, 401, "MISSING_CREDENTIALS"),
    (F::WrongSecret, 401, "INVALID_CREDENTIALS"),
    (F::RevokedKey, 401, "API_KEY_REVOKED"),
    (F::RateLimit, 429, "RATE_LIMIT_EXCEEDED"),
    (F::Permission, 403, "INSUFFICIENT_PERMISSIONS"),
    (F::Agent, 403, "AGENT_FORBIDDEN"),
    (F::MediaType, 415, "UNSUPPORTED_MEDIA_TYPE"),
    (F::NoContact, 404, "CONTACT_NOT_FOUND"),
    (F::NoFile, 404, "FILE_NOT_FOUND"),
    (F::Invalid, 400, "VALIDATION_ERROR"),
    (F::Precondition, 412, "PRECONDITION_FAILED"),
    (F::Archived, 409, "CONTACT_ARCHIVED"),
];

/// A sandbox with all records that a faulty request needs.
struct World {
    cx: Sandbox,
    open: String,
    archived: String,
    file: String,
    archived_file: String,
}

impl World {
    fn new(backend: Backend) -> Self {
        let (cx, open) = with_contact(Sandbox::with_settings(backend, |settings| {
            settings.max_file_bytes = 1_000;
            settings.address_limits.unrouted = 0;
            settings.address_limits.failed_authentication = 0;
        }));
        let archived = contact(&cx);
        let file = upload(&cx, &open, "a.txt", b"x").id();
        let archived_file = upload(&cx, &archived, "a.txt", b"x").id();
        let _ = cx.patch(&format!("/contacts/platformid/{archived}/chatbots/<A>/archive")).expect(200);
        World { cx, open, archived, file, archived_file }
    }

    /// A key with the given defects: exhausted, revoked or unprivileged.
    fn credentials(&self, faults: &[F], permission: &str) -> Option<Credentials> {
        if faults.contains(&F::MissingKey) {
            return None;
        }
        let limited = faults.contains(&F::RateLimit);
        let mut key = self.cx.issue(|key| {
            if faults.contains(&F::Permission) {
                key.permissions = permission.parse().expect("permissions");
            }
            if limited {
                key.limits = RateLimits { per_minute: 1, per_hour: 1 };
            }
        });
        if limited {
            let _ = self.cx.call("GET", "/contacts/chatbots/<A>").with(&key).send();
        }
        if faults.contains(&F::RevokedKey) {
            wait(self.cx.platform.revoke_key(&operator(), &Sandbox::selector(&key))).expect("revoked");
        }
        if faults.contains(&F::WrongSecret) {
            key.secret = "nonsense".to_owned();
        }
        Some(key)
    }

    fn contact(&self, faults: &[F]) -> String {
        if faults.contains(&F::NoContact) {
            "697dc8165d4ffa83cfc35c00".to_owned()
        } else if faults.contains(&F::Archived) {
            self.archived.clone()
        } else {
            self.open.clone()
        }
    }

    fn call(&self, method: &str, path: &str, faults: &[F], permission: &str) -> Call<'_> {
        let path = if faults.contains(&F::Agent) { path.replace("<A>", "other") } else { path.to_owned() };
        let mut query = Vec::new();
        if faults.contains(&F::Encoding) {
            query.push("_=%zz");
        }
        if faults.contains(&F::Invalid) {
            query.push("nonsense=1");
        }
        let method = if faults.contains(&F::Method) { "PUT" } else { method };
        let call = self.cx.call(method, &format!("{path}?{}", query.join("&")));
        match self.credentials(faults, permission) {
            Some(key) => call.with(&key),
            None => call.anonymous(),
        }
    }

    fn upload(&self, faults: &[F]) -> Reply {
        let contact = self.contact(faults);
        let mut call = self.call("POST", &format!("/files/chatbots/<A>/{contact}"), faults, "contacts:read");
        if faults.contains(&F::Reused) {
            // The idempotency key is bound to the API key and the path, so it is used with exactly these first.
            let Some(key) = self.credentials(&[], "") else { unreachable!("a key") };
            let path = format!("/files/chatbots/<A>/{contact}");
            let first = Form::of_file("a.txt", b"the first payload");
            let used =
                self.cx.call("POST", &path).with(&key).form(&first).header("idempotency-key", "k").send();
            if used.status == 201 {
                let only = [F::Permission, F::RateLimit, F::MissingKey, F::WrongSecret, F::RevokedKey];
                if !faults.iter().any(|fault| only.contains(fault)) {
                    call = call.with(&key);
                }
            }
            call = call.header("idempotency-key", "k");
        }
        let mut content =
            if faults.contains(&F::Content) { b"MZ\x90\0\x03\0\0\0".to_vec() } else { b"text".to_vec() };
        if faults.contains(&F::TooLarge) {
            content.resize(1_001, 0);
        }
        let form = Form::of_file("a.txt", &content);
        let bytes = if faults.contains(&F::Framing) { form.unclosed() } else { form.bytes() };
        let media_type =
            if faults.contains(&F::MediaType) { "text/plain".to_owned() } else { form.content_type() };
        let call = call.header("content-type", &media_type);
        if faults.contains(&F::Late) {
            call.chunks(vec![Chunk::Bytes(bytes.into()), Chunk::Timeout]).send()
        } else {
            call.bytes(&bytes).send()
        }
    }

    fn delete(&self, faults: &[F]) -> Reply {
        let contact = self.contact(faults);
        let file = match faults {
            faults if faults.contains(&F::NoFile) => "697dc8165d4ffa83cfc35c00",
            faults if faults.contains(&F::Archived) => &self.archived_file,
            _ => &self.file,
        };
        let mut call = self.call("DELETE", &file_path(&contact, file), faults, "contacts:read");
        if faults.contains(&F::Precondition) {
            call = call.header("if-match", "\"x\"");
        }
        let media_type = if faults.contains(&F::MediaType) { "text/plain" } else { "application/json" };
        call.text("{}").header("content-type", media_type).send()
    }
}

/// Every single error and every pair.
fn every_pair(steps: &[(F, u16, &str)], ask: impl Fn(&[F]) -> Reply) -> usize {
    let mut pairs = 0;
    for (at, (first, status, code)) in steps.iter().enumerate() {
        for (second, ..) in &steps[at..] {
            let reply = ask(&[*first, *second]);
            assert_eq!(
                (reply.status, reply.code()),
                (*status, *code),
                "{first:?} and {second:?}: {}",
                reply.shown()
            );
            pairs += 1;
        }
    }
    pairs
}

fn uploads(backend: Backend) {
    let world = World::new(backend);
    let pairs = every_pair(&OF_UPLOADS, |faults| {
        // An idempotency key is used before the contact is missing or archived, so these two cannot coincide with it.
        let meets = |fault: F| faults.contains(&F::Reused) && faults.contains(&fault);
        if meets(F::NoContact) || meets(F::Archived) {
            return world.upload(&[F::Reused]);
        }
        world.cx.advance(100);
        world.upload(faults)
    });
    assert_eq!(pairs, 17 * 18 / 2);
    // The remaining pair: the contact is archived after the first use.
    let post = |content: &[u8]| {
        let call = world.cx.call("POST", &format!("/files/chatbots/<A>/{}", world.open));
        call.form(&Form::of_file("a.txt", content)).header("idempotency-key", "met").send()
    };
    let _ = post(b"one").expect(201);
    let _ = world.cx.patch(&format!("/contacts/platformid/{}/chatbots/<A>/archive", world.open)).expect(200);
    let _ = post(b"two").fails(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(post(b"one").expect(201).header("idempotent-replayed"), Some("true"));
}

fn deletions(backend: Backend) {
    let world = World::new(backend);
    let pairs = every_pair(&OF_DELETIONS, |faults| {
        world.cx.advance(100);
        world.delete(faults)
    });
    assert_eq!(pairs, 14 * 15 / 2);
    let _ = world.delete(&[]).expect(200);
}

/// A download: encoding, route, the address limit; then the link, its expiry, the file, the range.
fn downloads(backend: Backend) {
    let (cx, contact) =
        with_contact(Sandbox::with_settings(backend, |settings| settings.address_limits.download = 12));
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let link = link(&cx, &contact, &id, "expiresIn=60");
    let altered = link.replace("attachment", "inline");
    let ranged = |link: &str| cx.at("GET", link).anonymous().header("range", "bytes=9-").send();
    let _ = ranged(&link).fails(416, "RANGE_NOT_SATISFIABLE");
    let _ = ranged(&altered).fails(403, "SIGNED_URL_INVALID");
    let _ = cx.call("DELETE", &file_path(&contact, &id)).json(&json!({})).send().expect(200);
    let _ = ranged(&link).fails(404, "FILE_NOT_FOUND");
    let _ = ranged(&altered).fails(403, "SIGNED_URL_INVALID");
    cx.advance(59_000);
    let _ = follow(&cx, &link).fails(404, "FILE_NOT_FOUND");
    // The expiry was rounded up to a whole second.
    cx.advance(1_877);
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_EXPIRED");
    let _ = ranged(&link).fails(403, "SIGNED_URL_EXPIRED");
    let _ = follow(&cx, &altered).fails(403, "SIGNED_URL_INVALID");
    let mut passed = 0;
    while follow(&cx, &altered).status == 403 {
        passed += 1;
        assert!(passed < 100);
    }
    let _ = follow(&cx, &link).fails(429, "TOO_MANY_FAILED_ATTEMPTS");
    let _ = follow(&cx, &format!("{link}&x=%zz")).fails(400, "BAD_REQUEST");
    let _ =
        cx.at("GET", &link.replace("/files/", "/nothing/")).anonymous().send().fails(404, "ROUTE_NOT_FOUND");
}

/// The quota is checked after the state of the contact.
fn quota_is_last(backend: Backend) {
    let (cx, own) = with_contact(Sandbox::new(backend));
    let cx = cx.rebuilt(cx.ports(), |files| files.max_files_of_contact = 0);
    let send = |contact: &str, query: &str, content: &[u8]| {
        let call = cx.call("POST", &format!("/files/chatbots/<A>/{contact}?{query}"));
        call.form(&Form::of_file("a.txt", content)).send()
    };
    let _ = send(&own, "", b"x").fails(403, "STORAGE_QUOTA_EXCEEDED");
    let _ = send(&own, "x=1", b"x").invalid(&[("x", "unknown")]);
    let _ = send(&own, "", b"MZ\x90\0\x03\0\0\0").fails(415, "UNSUPPORTED_FILE_TYPE");
    let _ = send("697dc8165d4ffa83cfc35c00", "", b"x").fails(404, "CONTACT_NOT_FOUND");
    let _ = cx.patch(&format!("/contacts/platformid/{own}/chatbots/<A>/archive")).expect(200);
    let _ = send(&own, "", b"x").fails(409, "CONTACT_ARCHIVED");
}
