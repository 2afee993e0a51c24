//! ETag, If-Match, If-None-Match (contract 5.4).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

on_every_backend!(
    the_example_of_a_failed_precondition,
    a_tag_wherever_data_is_one_contact,
    a_tag_changes_with_the_record,
    if_none_match_on_reads,
    if_match_on_writes,
    malformed_headers,
    if_match_elsewhere_is_ignored,
    not_modified_after_validation,
);

const ONE: &str = "/contacts/crm-1001/chatbots/<A>";

fn etag(reply: &Reply) -> String {
    reply.header("etag").expect("a tag").to_owned()
}

/// Contract 6.4, literally.
fn the_example_of_a_failed_precondition(backend: Backend) {
    let cx = Sandbox::new(backend);
    let created = cx.create(&story::new_contact());
    let call = cx.call("PUT", ONE).json(&json!({})).header("if-match", "\"x\"");
    let reply = call.header("x-request-id", story::REQUEST_ID).send().fails(412, "PRECONDITION_FAILED");
    let expected = json!({ "success": false, "message": "The contact has changed since it was read", "code": "PRECONDITION_FAILED", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39" });
    assert_eq!(reply.text, expected.to_string());
    assert_eq!(reply.header("etag"), created.header("etag"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}

fn a_tag_wherever_data_is_one_contact(backend: Backend) {
    let cx = Sandbox::new(backend);
    let created = cx.create(&story::new_contact());
    let by_id = format!("/contacts/platformid/{}/chatbots/<A>", created.id());
    let tag = etag(&created);
    for path in [ONE, by_id.as_str()] {
        assert_eq!(etag(&cx.get(path).expect(200)), tag);
        assert_eq!(etag(&cx.call("HEAD", path).send().expect(200)), tag);
        assert_eq!(etag(&cx.put(path, &json!({})).expect(200)), tag);
        assert_eq!(etag(&cx.patch(&format!("{path}/unarchive")).expect(200)), tag);
    }
    let archived = cx.patch(&format!("{ONE}/archive")).expect(200);
    assert_ne!(etag(&archived), tag);
    assert_eq!(etag(&cx.get(ONE).expect(200)), etag(&archived));
    assert_eq!(cx.get("/contacts/chatbots/<A>").expect(200).header("etag"), None);
}

fn a_tag_changes_with_the_record(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let mut seen = vec![etag(&cx.read(&id))];
    // The clock stands still, so the tag cannot depend on the time alone.
    for body in [
        json!({ "firstName": "A" }),
        json!({ "firstName": "Zoë" }),
        json!({ "tags": [] }),
        json!({ "customFields": { "n": 1 } }),
        json!({ "customFields": { "n": null } }),
        json!({ "externalReferenceId": "other" }),
    ] {
        let tag = etag(&cx.update(&id, &body));
        assert!(!seen.contains(&tag), "{body}");
        seen.push(tag);
    }
}

fn if_none_match_on_reads(backend: Backend) {
    let cx = Sandbox::new(backend);
    let tag = etag(&cx.create(&story::new_contact()));
    for value in [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"x\", {tag}"),
        format!("\"x\",W/{tag} , \"y\""),
        "*".to_owned(),
    ] {
        for method in ["GET", "HEAD"] {
            let reply = cx.call(method, ONE).header("if-none-match", &value).send().expect(304);
            assert_eq!(etag(&reply), tag);
            assert_eq!(reply.header("x-ratelimit-limit").map(str::is_empty), Some(false));
        }
    }
    let lines = cx.call("GET", ONE).header("if-none-match", "\"x\"").header("if-none-match", &tag).send();
    let _ = lines.expect(304);
    for value in ["\"x\"", "\"x\", \"y\"", &tag.to_uppercase().replace('"', ""), "W/\"x\""] {
        let _ = cx.call("GET", ONE).header("if-none-match", value).send().expect(200);
    }
    let _ = cx.put(ONE, &json!({ "firstName": "A" })).expect(200);
    let _ = cx.call("GET", ONE).header("if-none-match", &tag).send().expect(200);
}

fn if_match_on_writes(backend: Backend) {
    let cx = Sandbox::new(backend);
    let created = cx.create(&story::new_contact());
    let by_id = format!("/contacts/platformid/{}/chatbots/<A>", created.id());
    for path in [ONE, &by_id] {
        for (method, suffix, body) in [
            ("PUT", "", json!({ "lastName": path })),
            ("PATCH", "/archive", Value::Null),
            ("PATCH", "/unarchive", Value::Null),
        ] {
            let target = format!("{path}{suffix}");
            let tag = etag(&cx.get(path).expect(200));
            let send = |value: &str| {
                let call = cx.call(method, &target).header("if-match", value);
                if body.is_null() { call.send() } else { call.json(&body).send() }
            };
            for bad in ["\"x\"", "\"x\", \"y\"", &format!("W/{tag}"), &format!("W/{tag}, \"x\"")] {
                let reply = send(bad).fails(412, "PRECONDITION_FAILED");
                assert_eq!(etag(&reply), tag, "the current tag");
            }
            let changed = send(&format!("\"x\" ,{tag}")).expect(200);
            assert_ne!(etag(&changed), tag, "{method} {suffix}");
            let _ = send(&tag).fails(412, "PRECONDITION_FAILED");
            let _ = send("*").expect(200);
        }
    }
    // An absent contact has no condition to check.
    let _ = cx
        .call("PUT", "/contacts/none/chatbots/<A>")
        .json(&json!({}))
        .header("if-match", "*")
        .send()
        .fails(404, "CONTACT_NOT_FOUND");
}

fn malformed_headers(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    for bad in ["x", "\"x", "x\"", "", "\"a\" \"b\"", "*, \"a\"", "\"a\";\"b\"", "w/\"a\"", "\"a b\""] {
        for (method, path) in [
            ("PUT", ONE.to_owned()),
            ("PATCH", format!("{ONE}/archive")),
            ("PATCH", format!("{ONE}/unarchive")),
        ] {
            let call = cx.call(method, &path).header("if-match", bad);
            let reply = if method == "PUT" { call.json(&json!({})).send() } else { call.send() };
            let reply = reply.invalid(&[("If-Match", "format")]);
            assert_eq!(
                (&reply.violation(0)["in"], &reply.violation(0)["value"]),
                (&json!("header"), &Value::Null)
            );
        }
    }
    let reply = cx.call("PUT", ONE).json(&json!({})).raw_header("if-match", b"\"\xff\"").send();
    assert!(matches!(reply.status, 400 | 412), "{}", reply.text);
}

fn if_match_elsewhere_is_ignored(backend: Backend) {
    let cx = Sandbox::new(backend);
    let post = cx.call("POST", "/contacts/chatbots/<A>").json(&story::new_contact());
    let _ = post.header("if-match", "nonsense").header("if-none-match", "*").send().expect(201);
    let _ = cx.call("GET", ONE).header("if-match", "\"x\"").send().expect(200);
    let _ = cx.call("GET", "/contacts/chatbots/<A>").header("if-none-match", "*").send().expect(200);
    let _ = cx.call("PUT", ONE).json(&json!({})).header("if-none-match", "*").send().expect(200);
}

/// Contract 6.3 step 12: validation errors first, then 304.
fn not_modified_after_validation(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    for path in [ONE, "/contacts/schema/chatbots/<A>"] {
        let reply = cx.call("GET", &format!("{path}?x=1")).header("if-none-match", "*").send();
        let _ = reply.invalid(&[("x", "unknown")]);
    }
    let _ = cx
        .call("GET", "/contacts/none/chatbots/<A>")
        .header("if-none-match", "*")
        .send()
        .fails(404, "CONTACT_NOT_FOUND");
}
