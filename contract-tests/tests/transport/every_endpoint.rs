//! Loops over the table: properties of every endpoint that requires key headers.

use contract_tests::{Backend, Credentials, on_every_backend};
use openapi_core::operation::{BodyKind, Conditional};
use serde_json::json;

use crate::table::{
    Known, Named, all, endpoint, good, path, prepared, queue, real_path, success, to, upload, with_json,
    with_key, with_query,
};

on_every_backend!(
    good_requests_succeed,
    unauthenticated_requests,
    agents_of_others,
    absent_contacts,
    unknown_query_parameters,
    media_types,
    large_bodies,
    invalid_json,
    bodies_of_other_types,
    missing_bodies,
    tags_and_conditions,
    heads_equal_gets,
);

fn good_requests_succeed(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in all() {
        let reply = good(&cx, meta, &known).send();
        assert_eq!((reply.status, reply.operation), (success(meta), Some(meta.id)), "{}", reply.text);
        let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive");
    }
}

fn unauthenticated_requests(backend: Backend) {
    let (cx, known) = prepared(backend);
    let Credentials { key, secret } = cx.credentials.clone();
    for meta in with_key() {
        // Bypasses the address limits.
        cx.advance(60_000);
        let call = good(&cx, meta, &known).anonymous();
        let from = |last: u8| format!("198.51.100.{last}");
        let _ = call.clone().from(&from(1)).send().fails(401, "MISSING_CREDENTIALS");
        let _ =
            call.clone().header("x-api-key", &key).from(&from(2)).send().fails(401, "MISSING_CREDENTIALS");
        let _ = call
            .clone()
            .header("x-api-secret", &secret)
            .from(&from(3))
            .send()
            .fails(401, "MISSING_CREDENTIALS");
        let wrong = call.clone().header("x-api-key", &key).header("x-api-secret", "wrong");
        let _ = wrong.from(&from(4)).send().fails(401, "INVALID_CREDENTIALS");
        let twice = call.header("x-api-key", &key).header("x-api-key", &key).header("x-api-secret", &secret);
        let _ = twice.send().fails(400, "BAD_REQUEST");
    }
}

fn agents_of_others(backend: Backend) {
    let (cx, known) = prepared(backend);
    let other = cx.new_agent("other");
    let _ = other;
    for meta in with_key().filter(|meta| meta.names_agent()) {
        for agent in ["other", "nobody"] {
            let named = Named { agent, ..known.named() };
            let call = cx.at(meta.method.as_str(), &path(meta, named));
            let reply = call.text("not json").header("content-type", "text/plain").send();
            let reply = reply.fails(403, "AGENT_FORBIDDEN");
            assert_eq!(reply.json["message"], "The API key does not belong to this agent");
        }
    }
}

fn absent_contacts(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in with_key()
        .filter(|meta| meta.path.contains("{externalReferenceId}") || meta.path.contains("{contactId}"))
    {
        let absent = "0123456789abcdef01234567";
        let named = Named { external_id: absent, contact: absent, ..known.named() };
        let target = path(meta, named);
        let reply = if meta.body.is_json() {
            cx.at(meta.method.as_str(), &target).json(&json!({ "nonsense": 1 })).send()
        } else {
            to(&cx, meta, &known, &target).send()
        };
        let reply = reply.fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": absent }));
    }
}

fn unknown_query_parameters(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in all() {
        let call = |query: &str| {
            let file = if meta.id == "deleteFile" { upload(&cx, &known.contact) } else { known.file.clone() };
            let job = if meta.id == "deleteExtraction" { queue(&cx) } else { known.job.clone() };
            let endpoint =
                if meta.id == "deleteWebhookEndpoint" { endpoint(&cx) } else { known.endpoint.clone() };
            let known = Known { file, job, endpoint, ..known.clone() };
            to(&cx, meta, &known, &with_query(&real_path(meta, &known), query))
        };
        let ignored = call("_=1&_x=2&_=3").send();
        assert!(ignored.status < 300, "{}: {}", meta.id, ignored.text);
        let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive");
        let reply = call("nonsense=7&_=1").send();
        if meta.access.is_public() {
            let _ = reply.expect(200);
            continue;
        }
        let reply = reply.invalid(&[("nonsense", "unknown")]);
        let error = reply.violation(0);
        assert_eq!((&error["in"], &error["value"]), (&json!("query"), &json!("7")));
        for parameter in meta.query {
            let twice = call(&format!("{0}=&{0}=", parameter.name)).send();
            assert_eq!(twice.violations(), [(parameter.name, "duplicate")], "{}", meta.id);
        }
    }
}

fn media_types(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in with_json() {
        let send = |media_type: &str| {
            let call = cx.at(meta.method.as_str(), &real_path(meta, &known)).text("{}");
            call.header("content-type", media_type).send()
        };
        for bad in [
            "text/plain",
            "text/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/json; charset=latin1",
            "application/jsonx",
            "*/*",
            "json",
        ] {
            let reply = send(bad).fails(415, "UNSUPPORTED_MEDIA_TYPE");
            assert!(
                reply.header("accept").is_some_and(|accept| accept.contains("application/json")),
                "{bad}"
            );
        }
        for good in [
            "application/json",
            "APPLICATION/JSON",
            "application/json;charset=utf-8",
            "application/json; charset=\"UTF-8\"",
            "application/vnd.api+json",
            "application/merge-patch+json; charset=Utf-8",
        ] {
            assert_ne!(send(good).status, 415, "{good}");
            let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive");
        }
    }
}

fn large_bodies(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in with_json() {
        let send = |bytes: usize| {
            let mut body = vec![b' '; bytes];
            body[0] = b'{';
            body[bytes - 1] = b'}';
            cx.at(meta.method.as_str(), &real_path(meta, &known)).bytes(&body).send()
        };
        assert_ne!(send(1_048_576).status, 413);
        let reply = send(1_048_577).fails(413, "PAYLOAD_TOO_LARGE");
        assert_eq!(
            reply.json["details"],
            json!({ "limit": 1_048_576, "actual": 1_048_577, "unit": "bytes" })
        );
        let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive");
    }
}

fn invalid_json(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in with_json() {
        let reply = cx.at(meta.method.as_str(), &real_path(meta, &known)).text("{\n  \"a\": }").send();
        let reply = reply.fails(400, "INVALID_JSON");
        assert_eq!(reply.json["details"], json!({ "line": 2, "column": 8 }));
        assert!(
            reply.json["message"]
                .as_str()
                .is_some_and(|text| text.starts_with("The request body is not valid JSON: "))
        );
    }
}

fn bodies_of_other_types(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in with_json() {
        for body in [json!([]), json!("x"), json!(1), json!(null), json!(true)] {
            let reply = cx.at(meta.method.as_str(), &real_path(meta, &known)).json(&body).send();
            let reply = reply.invalid(&[("body", "type")]);
            assert_eq!(reply.violation(0)["in"], "body");
        }
    }
}

fn missing_bodies(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in with_json() {
        for media_type in [None, Some("application/json"), Some("text/plain")] {
            let file = if meta.id == "deleteFile" { upload(&cx, &known.contact) } else { known.file.clone() };
            let known = Known { file, ..known.clone() };
            let mut call = cx.at(meta.method.as_str(), &real_path(meta, &known));
            if let Some(media_type) = media_type {
                call = call.header("content-type", media_type);
            }
            let reply = call.send();
            if meta.body == BodyKind::Required {
                let reply = reply.invalid(&[("body", "required")]);
                assert_eq!(reply.json["message"], "Validation failed: body is required");
            } else {
                let _ = reply.expect(200);
            }
        }
        let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive");
    }
}

fn tags_and_conditions(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in all() {
        let reply = good(&cx, meta, &known).send();
        // A deleted record has no tag; the content of a file has its own.
        let tagged =
            meta.conditional != Conditional::No && meta.id != "deleteFile" || meta.id == "downloadFile";
        assert_eq!(reply.header("etag").is_some(), tagged, "{}", meta.id);
        let unmatched = good(&cx, meta, &known).header("if-match", "\"none\"").send();
        assert_eq!(unmatched.status == 412, meta.conditional == Conditional::Write, "{}", meta.id);
        let same = good(&cx, meta, &known).header("if-none-match", "*").send();
        assert_eq!(same.status == 304, meta.conditional == Conditional::Read, "{}", meta.id);
        let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive");
    }
}

fn heads_equal_gets(backend: Backend) {
    let (cx, known) = prepared(backend);
    for meta in all().filter(|meta| meta.method.as_str() == "GET") {
        for target in [
            real_path(meta, &known),
            with_query(&real_path(meta, &known), "nonsense=1"),
            path(meta, Named::all("none", "<A>")),
            path(meta, Named::all("x", "other")),
        ] {
            let ask = |method: &str| cx.at(method, &target).header("x-request-id", "same").send();
            let (get, head) = (ask("GET"), ask("HEAD"));
            assert_eq!(head.status, get.status, "{target}");
            assert_eq!(head.text, "");
            // A stream has no length that is known before its end.
            let is_stream = meta.id == "streamEvents" && get.status == 200;
            let length = (!is_stream).then(|| get.bytes.len().to_string());
            assert_eq!(head.header("content-length"), length.as_deref());
            for (name, value) in &get.headers {
                if !name.as_str().contains("ratelimit") && name != "content-length" {
                    assert_eq!(head.headers.get(name), Some(value), "{target} {name}");
                }
            }
        }
    }
}
