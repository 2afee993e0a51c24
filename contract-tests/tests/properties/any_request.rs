//! Any request gets a documented reply that follows every rule, without a panic.

use contract_tests::{Backend, Call, Sandbox, story};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::bodies::{any_json, body};
use crate::config;

/// A sandbox with no limits between the requests and the endpoints.
fn sandbox(backend: Backend) -> (Sandbox, [(&'static str, String); 2]) {
    let cx = Sandbox::with_settings(backend, |settings| {
        settings.address_limits.health = 0;
        settings.address_limits.unrouted = 0;
        settings.address_limits.failed_authentication = 0;
    });
    let _ = cx.create(&story::new_contact());
    let template = cx.template(&story::feedback());
    let submit = format!("/forms/submit/{template}/contacts/crm-1001");
    let submission = cx.post(&submit, &json!({ "formData": { "rating": 5 } })).expect(201).id();
    (cx, [("TEMPLATE", template), ("SUBMISSION", submission)])
}

fn method() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]).prop_map(str::to_owned),
        1 => "[A-Za-z!#$%&'*+.^_`|~-]{1,12}",
    ]
}

fn percent_encoded() -> impl Strategy<Value = String> {
    vec(any::<u8>(), 0..4).prop_map(|bytes| bytes.iter().map(|byte| format!("%{byte:02X}")).collect())
}

fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        10 => select(vec![
            "contacts", "chatbots", "schema", "platformid", "archive", "unarchive", "health", "v1", "open", "crm-1001", "695b6f80de7378c4412112d3",
            "697dc8165d4ffa83cfc35cfc", "", ".", "..", "openapi.json", "other", "forms", "submit", "batch", "submissions", "templates", "latest",
            "structure", "TEMPLATE", "SUBMISSION",
        ]).prop_map(str::to_owned),
        1 => percent_encoded(),
        1 => "[!-~&&[^#?/\"<>`{}\\\\^|]]{0,8}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(vec![
            "/v1/open/contacts/chatbots/695b6f80de7378c4412112d3", "/v1/open/contacts/crm-1001/chatbots/695b6f80de7378c4412112d3",
            "/v1/open/contacts/new-one/chatbots/695b6f80de7378c4412112d3", "/v1/open/contacts/schema/chatbots/695b6f80de7378c4412112d3",
            "/v1/open/contacts/crm-1001/chatbots/695b6f80de7378c4412112d3/archive", "/v1/open/contacts/crm-1001/chatbots/695b6f80de7378c4412112d3/unarchive",
            "/v1/open/health", "/openapi.json",
        ]).prop_map(str::to_owned),
        6 => select(vec![
            "/v1/open/forms/submit/TEMPLATE/contacts/crm-1001", "/v1/open/forms/batch/contacts/crm-1001/chatbots/695b6f80de7378c4412112d3",
            "/v1/open/forms/contacts/crm-1001/chatbots/695b6f80de7378c4412112d3", "/v1/open/forms/submissions/SUBMISSION/chatbots/695b6f80de7378c4412112d3",
            "/v1/open/forms/contacts/crm-1001/templates/TEMPLATE/latest/chatbots/695b6f80de7378c4412112d3",
            "/v1/open/forms/templates/chatbots/695b6f80de7378c4412112d3", "/v1/open/forms/templates/TEMPLATE/schema/chatbots/695b6f80de7378c4412112d3",
            "/v1/open/forms/templates/TEMPLATE/structure/chatbots/695b6f80de7378c4412112d3",
        ]).prop_map(str::to_owned),
        2 => vec(segment(), 0..8).prop_map(|segments| format!("/v1/open/{}", segments.join("/"))),
        2 => vec(segment(), 0..6).prop_map(|segments| format!("/{}", segments.join("/"))),
        // An endpoint with one segment replaced.
        2 => (segment(), segment()).prop_map(|(contact, agent)| format!("/v1/open/contacts/{contact}/chatbots/{agent}")),
    ]
}

fn query() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        8 => select(vec![
            "page", "limit", "cursor", "search", "status", "tag", "sortBy", "sortOrder", "includeArchived", "primaryEmail", "createdSince",
            "updatedSince", "dryRun", "upsert", "_", "_x", "templateId", "includeSuperseded", "clientId", "includeDrafts",
        ]).prop_map(str::to_owned),
        1 => percent_encoded(),
        1 => "[a-zA-Z0-9._~=-]{0,6}",
    ];
    let value = prop_oneof![
        6 => select(vec![
            "1", "2", "0", "-1", "100", "101", "true", "false", "active", "createdAt", "firstName", "primaryEmail", "asc", "desc", "okafor", "vip",
            "2026-01-01T00:00:00Z", "zoe.okafor%40example.com", "", "99999999999999999999", "eyJ.x", "%00", "a+b",
        ]).prop_map(str::to_owned),
        1 => percent_encoded(),
        1 => "[!-~&&[^#&\"<>`{}\\\\^|]]{0,12}",
    ];
    vec((name, value), 0..4).prop_map(|pairs| {
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    })
}

fn header() -> impl Strategy<Value = (String, Vec<u8>)> {
    let name = prop_oneof![
        6 => select(vec![
            "content-type", "content-encoding", "if-match", "if-none-match", "idempotency-key", "x-request-id", "content-length", "accept",
            "origin", "host", "x-forwarded-for", "transfer-encoding", "expect", "range",
        ]).prop_map(str::to_owned),
        1 => "[a-z0-9-]{1,10}",
    ];
    let value = prop_oneof![
        4 => select(vec![
            "application/json", "text/plain", "application/json; charset=latin1", "*", "\"x\"", "W/\"x\"", "gzip", "identity", "k-1", "", "0", "5",
            "\"unfinished", "a, b", "bytes=0-1",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => vec((0x20..=0xff_u8).prop_filter("no DEL", |byte| *byte != 0x7f), 0..20),
    ];
    (name, value)
}

/// The body of a submit, an update or a batch, sometimes slightly wrong.
fn form_body() -> impl Strategy<Value = Value> {
    let data = prop_oneof![
        3 => select(vec![json!({ "rating": 5 }), json!({ "rating": 5, "comment": "x" }), json!({ "rating": null }), json!({ "rating": 9, "x": 1 }), json!({})]),
        1 => any_json(),
    ];
    let word = || {
        prop_oneof![
            4 => select(vec!["draft", "submitted", "under_review", "approved", "rejected", "archived"]).prop_map(Value::from),
            1 => any_json(),
        ]
    };
    let form = (
        option::weighted(0.9, data),
        option::weighted(0.4, word()),
        option::weighted(0.2, any_json()),
        select(vec!["submissionNotes", "reviewNotes", "clientId", "x"]),
    );
    let form = form
        .prop_map(|(data, status, other, name)| {
            let mut form = serde_json::Map::new();
            form.extend(data.map(|data| ("formData".to_owned(), data)));
            form.extend(status.map(|status| ("status".to_owned(), status)));
            form.extend(other.map(|other| (name.to_owned(), other)));
            Value::Object(form)
        })
        .boxed();
    let element =
        (form.clone(), select(vec![json!("TEMPLATE"), json!("697d00000000000000000000"), json!(7)]))
            .prop_map(|(mut form, template)| {
                form["templateId"] = template;
                form
            });
    prop_oneof![
        1 => form,
        1 => (vec(element, 0..4), option::of(prop_oneof![any::<bool>().prop_map(Value::from), any_json()])).prop_map(|(elements, mode)| {
            let mut body = json!({ "submissions": elements });
            if let Some(mode) = mode {
                body["allOrNone"] = mode;
            }
            body
        }),
    ]
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => body().prop_map(|body| body.to_string().into_bytes()),
        4 => form_body().prop_map(|body| body.to_string().into_bytes()),
        1 => any_json().prop_map(|body| body.to_string().into_bytes()),
        1 => (body(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(body, at, byte)| {
            // One byte is wrong.
            let mut bytes = body.to_string().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes
        }),
        1 => vec(any::<u8>(), 0..64),
        1 => "[\\[\\]{}:,\"\\\\u0-9a-e.+ tfn-]{0,40}".prop_map(String::into_bytes),
    ]
}

/// The caller.
#[derive(Clone, Copy, Debug)]
enum Who {
    Key,
    Nobody,
    WrongSecret,
    Host,
}

/// Method, target, headers, body, and caller.
type AnyRequest = (String, String, Vec<(String, Vec<u8>)>, Option<Vec<u8>>, Who);

fn request() -> impl Strategy<Value = AnyRequest> {
    let target = (path(), option::of(query())).prop_map(|(path, query)| match query {
        Some(query) => format!("{path}?{query}"),
        None => path,
    });
    let who = prop_oneof![6 => Just(Who::Host), 2 => Just(Who::Key), 1 => Just(Who::Nobody), 1 => Just(Who::WrongSecret)];
    (method(), target, vec(header(), 0..3), option::weighted(0.7, payload()), who)
}

fn call<'a>(
    cx: &'a Sandbox,
    method: &str,
    target: &str,
    headers: &[(String, Vec<u8>)],
    body: Option<&[u8]>,
    who: Who,
) -> Call<'a> {
    let mut call = cx.at(method, target);
    for (name, value) in headers {
        call = call.raw_header(name, value);
    }
    if let Some(body) = body {
        call = call.bytes(body);
    }
    match who {
        Who::Key => call,
        Who::Nobody => call.anonymous(),
        Who::WrongSecret => call
            .with(&contract_tests::Credentials { key: cx.credentials.key.clone(), secret: "wrong".into() }),
        Who::Host => call.as_caller(crate::caller(cx)),
    }
}

fn answered(backend: Backend, cases: u32) {
    let (cx, ids) = sandbox(backend);
    let real = |text: &str| ids.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id));
    proptest!(config(cases), |((method, target, headers, body, who) in request())| {
        let target = real(&target);
        let body = body.map(|bytes| String::from_utf8(bytes).map_or_else(|bytes| bytes.into_bytes(), |text| real(&text).into_bytes()));
        prop_assume!(target.parse::<http::Uri>().is_ok());
        cx.advance(100);
        let reply = call(&cx, &method, &target, &headers, body.as_deref(), who).send();
        prop_assert!(reply.status < 500, "{}", reply.text);
        let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive");
        cx.advance(3_600);
    });
}

#[test]
fn any_request_is_answered_on_memory() {
    answered(Backend::Memory, 3_000);
}

#[test]
fn any_request_is_answered_on_sqlite() {
    answered(Backend::Sqlite, 1_000);
}
