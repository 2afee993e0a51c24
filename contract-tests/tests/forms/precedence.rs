//! The order of checks for forms (contract 6.3): of two errors at different steps the earlier is reported.

use contract_tests::{Backend, Call, Credentials, Reply, Sandbox, on_every_backend};
use openapi_core::access::RateLimits;
use serde_json::{Value, json};

use crate::support::{NOTHING, contact, note};

on_every_backend!(submits, batches, updates, reads);

/// An error that a request can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Encoding,
    Method,
    MissingKey,
    WrongSecret,
    RateLimit,
    Permission,
    Agent,
    MediaType,
    TooLarge,
    Syntax,
    NoContact,
    NoTemplate,
    NoSubmission,
    Invalid,
    Precondition,
    Archived,
    Superseded,
    Locked,
    Transition,
    Inactive,
}

use Fault as F;

/// The errors possible for every request with a key, in the order of contract 6.3.
const ACCESS: [(F, u16, &str); 6] = [
    (F::Encoding, 400, "BAD_REQUEST"),
    (F::Method, 405, "METHOD_NOT_ALLOWED"),
    (F::MissingKey, 401, "MISSING_CREDENTIALS"),
    (F::WrongSecret, 401, "INVALID_CREDENTIALS"),
    (F::RateLimit, 429, "RATE_LIMIT_EXCEEDED"),
    (F::Permission, 403, "INSUFFICIENT_PERMISSIONS"),
];
const AGENT: (F, u16, &str) = (F::Agent, 403, "AGENT_FORBIDDEN");
const BODY: [(F, u16, &str); 3] = [
    (F::MediaType, 415, "UNSUPPORTED_MEDIA_TYPE"),
    (F::TooLarge, 413, "PAYLOAD_TOO_LARGE"),
    (F::Syntax, 400, "INVALID_JSON"),
];
const NO_CONTACT: (F, u16, &str) = (F::NoContact, 404, "CONTACT_NOT_FOUND");
const NO_TEMPLATE: (F, u16, &str) = (F::NoTemplate, 404, "TEMPLATE_NOT_FOUND");
const NO_SUBMISSION: (F, u16, &str) = (F::NoSubmission, 404, "SUBMISSION_NOT_FOUND");
const INVALID: (F, u16, &str) = (F::Invalid, 400, "VALIDATION_ERROR");
const ARCHIVED: (F, u16, &str) = (F::Archived, 409, "CONTACT_ARCHIVED");
const INACTIVE: (F, u16, &str) = (F::Inactive, 409, "TEMPLATE_INACTIVE");

/// A sandbox with all records that a faulty request needs.
struct World {
    cx: Sandbox,
    active: String,
    inactive: String,
    /// Approved submissions, by whether the contact is archived and whether they are superseded.
    approved: [[String; 2]; 2],
}

impl World {
    fn new(backend: Backend) -> Self {
        let cx = Sandbox::with_settings(backend, |settings| {
            settings.address_limits.unrouted = 0;
            settings.address_limits.failed_authentication = 0;
        });
        let (active, inactive) = (cx.template(&note()), cx.template(&note()));
        let _ = cx.archive_template(&inactive);
        let approved = ["open", "archived"].map(|name| {
            let _ = contact(&cx, name);
            let pair = [0, 1].map(|_| {
                let path = format!("/forms/submit/{active}/contacts/{name}");
                let id = cx.post(&path, &json!({ "formData": { "text": "x" } })).expect(201).id();
                let path = format!("/forms/submissions/{id}/chatbots/<A>");
                let _ = cx.put(&path, &json!({ "status": "approved" })).expect(200);
                id
            });
            let [superseded, current] = pair;
            [current, superseded]
        });
        let _ = cx.patch("/contacts/archived/chatbots/<A>/archive").expect(200);
        World { cx, active, inactive, approved }
    }

    fn credentials(&self, faults: &[F], others: &str) -> Option<Credentials> {
        if faults.contains(&F::MissingKey) {
            return None;
        }
        let limited = faults.contains(&F::RateLimit);
        let mut key = self.cx.issue(|key| {
            if faults.contains(&F::Permission) {
                key.permissions = others.parse().expect("permissions");
            }
            if limited {
                key.limits = RateLimits { per_minute: 1, per_hour: 1 };
            }
        });
        if limited {
            let _ = self.cx.call("GET", "/contacts/chatbots/<A>").with(&key).send();
        }
        if faults.contains(&F::WrongSecret) {
            key.secret = "nonsense".to_owned();
        }
        Some(key)
    }

    fn contact(faults: &[F]) -> &'static str {
        if faults.contains(&F::NoContact) {
            "nobody"
        } else if faults.contains(&F::Archived) {
            "archived"
        } else {
            "open"
        }
    }

    fn template(&self, faults: &[F]) -> &str {
        if faults.contains(&F::NoTemplate) {
            NOTHING
        } else if faults.contains(&F::Inactive) {
            &self.inactive
        } else {
            &self.active
        }
    }

    fn submission(&self, faults: &[F]) -> &str {
        if faults.contains(&F::NoSubmission) {
            return NOTHING;
        }
        let of_archived = usize::from(faults.contains(&F::Archived));
        &self.approved[of_archived][usize::from(faults.contains(&F::Superseded))]
    }

    fn call(&self, method: &str, path: &str, faults: &[F], others: &str) -> Call<'_> {
        let path = if faults.contains(&F::Agent) { path.replace("<A>", "other") } else { path.to_owned() };
        let mut query = Vec::new();
        if faults.contains(&F::Encoding) {
            query.push("_=%zz");
        }
        if faults.contains(&F::Invalid) {
            query.push("nonsense=1");
        }
        let method = if faults.contains(&F::Method) { "DELETE" } else { method };
        let call = self.cx.call(method, &format!("{path}?{}", query.join("&")));
        match self.credentials(faults, others) {
            Some(key) => call.with(&key),
            None => call.anonymous(),
        }
    }

    fn send(call: Call<'_>, faults: &[F], body: &Value) -> Reply {
        let mut text = body.to_string();
        if faults.contains(&F::Syntax) {
            text.push('{');
        }
        if faults.contains(&F::TooLarge) {
            text.push_str(&" ".repeat(1_048_577));
        }
        let media_type = if faults.contains(&F::MediaType) { "text/plain" } else { "application/json" };
        call.text(&text).header("content-type", media_type).send()
    }
}

/// Every single error and every pair.
fn every_pair(world: &World, steps: &[(F, u16, &str)], ask: impl Fn(&[F]) -> Reply) {
    for (at, (first, status, code)) in steps.iter().enumerate() {
        for (second, ..) in &steps[at..] {
            world.cx.advance(100);
            let reply = ask(&[*first, *second]);
            let found = (reply.status, reply.code());
            assert_eq!(found, (*status, *code), "{first:?} and {second:?}: {}", reply.shown());
        }
    }
}

fn submits(backend: Backend) {
    let world = World::new(backend);
    let steps = [&ACCESS[..], &BODY, &[NO_CONTACT, NO_TEMPLATE, INVALID, ARCHIVED, INACTIVE]].concat();
    every_pair(&world, &steps, |faults| {
        let path = format!("/forms/submit/{}/contacts/{}", world.template(faults), World::contact(faults));
        let call = world.call("POST", &path, faults, "forms:read,update");
        World::send(call, faults, &json!({ "formData": { "text": "x" } }))
    });
}

fn batches(backend: Backend) {
    let world = World::new(backend);
    // A template problem of an element is a validation error or a state error.
    let steps = [&ACCESS[..], &[AGENT], &BODY, &[NO_CONTACT, INVALID, ARCHIVED, INACTIVE]].concat();
    for mode in [true, false] {
        let steps = if mode { &steps[..] } else { &steps[..steps.len() - 1] };
        every_pair(&world, steps, |faults| {
            let path = format!("/forms/batch/contacts/{}/chatbots/<A>", World::contact(faults));
            let call = world.call("POST", &path, faults, "forms:read,update");
            let element = json!({ "templateId": world.template(faults), "formData": { "text": "x" } });
            World::send(call, faults, &json!({ "submissions": [element], "allOrNone": mode }))
        });
    }
    // Across elements, the earliest failing step is reported, not the first failing element.
    let path = "/forms/batch/contacts/open/chatbots/<A>";
    let element =
        |template: &str, text: Value| json!({ "templateId": template, "formData": { "text": text } });
    let body =
        json!({ "submissions": [element(&world.inactive, json!("x")), element(&world.active, json!(1))] });
    let _ = world.cx.post(path, &body).invalid(&[("submissions[1].formData.text", "type")]);
    let archived = world.cx.post(&path.replace("open", "archived"), &body);
    let _ = archived.invalid(&[("submissions[1].formData.text", "type")]);
}

fn updates(backend: Backend) {
    let world = World::new(backend);
    let states = [
        (F::Precondition, 412, "PRECONDITION_FAILED"),
        ARCHIVED,
        (F::Superseded, 409, "SUBMISSION_SUPERSEDED"),
        (F::Locked, 409, "SUBMISSION_LOCKED"),
        (F::Transition, 409, "INVALID_STATUS_TRANSITION"),
    ];
    let steps = [&ACCESS[..], &[AGENT], &BODY, &[NO_SUBMISSION, INVALID], &states].concat();
    every_pair(&world, &steps, |faults| {
        let path = format!("/forms/submissions/{}/chatbots/<A>", world.submission(faults));
        let mut call = world.call("PUT", &path, faults, "forms:read,create");
        if faults.contains(&F::Precondition) {
            call = call.header("if-match", "\"x\"");
        }
        let mut body = json!({ "reviewNotes": "n" });
        if faults.contains(&F::Locked) {
            body["formData"] = json!({ "text": "y" });
        }
        if faults.contains(&F::Transition) {
            body["status"] = json!("rejected");
        }
        World::send(call, faults, &body)
    });
    // A missing reason is a validation error, so it precedes state errors.
    for id in [&world.approved[1][0], &world.approved[0][1]] {
        let call = world.cx.call("PUT", &format!("/forms/submissions/{id}/chatbots/<A>"));
        let call = call.json(&json!({ "status": "under_review" })).header("if-match", "\"x\"");
        let _ = call.send().invalid(&[("reviewNotes", "required")]);
    }
}

fn reads(backend: Backend) {
    let world = World::new(backend);
    let access = [&ACCESS[..], &[AGENT]].concat();
    for (path, not_found) in [
        ("/forms/contacts/C/chatbots/<A>", vec![NO_CONTACT]),
        ("/forms/submissions/S/chatbots/<A>", vec![NO_SUBMISSION]),
        ("/forms/contacts/C/templates/T/latest/chatbots/<A>", vec![NO_CONTACT, NO_TEMPLATE]),
        ("/forms/templates/chatbots/<A>", vec![]),
        ("/forms/templates/T/schema/chatbots/<A>", vec![NO_TEMPLATE]),
        ("/forms/templates/T/structure/chatbots/<A>", vec![NO_TEMPLATE]),
    ] {
        let steps = [&access[..], &not_found, &[INVALID]].concat();
        every_pair(&world, &steps, |faults| {
            let path = path
                .replace("/C/", &format!("/{}/", World::contact(faults)))
                .replace("/T/", &format!("/{}/", world.template(faults)))
                .replace("/S/", &format!("/{}/", world.submission(faults)));
            world.call("GET", &path, faults, "forms:create,update").send()
        });
    }
}
