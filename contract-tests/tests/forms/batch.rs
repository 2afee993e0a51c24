//! Several forms in one request (contract 4.4).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

use crate::support::{ALL, BATCH, NOTHING, get, keeping_all, note, sandbox, send, submit};

on_every_backend!(
    the_outer_body,
    ten_elements,
    errors_of_elements,
    unknown_templates,
    duplicates,
    inactive_templates,
    the_example_of_an_inactive_template,
    drafts,
    all_or_none,
    each_alone,
    every_element_fails,
    dry_runs,
    more_than_a_hundred_errors,
    a_batch_counts_as_one_request,
);

fn batch(cx: &Sandbox, body: &Value) -> Reply {
    send(cx, "POST", BATCH, body)
}

fn total(cx: &Sandbox) -> u64 {
    let reply = get(cx, &format!("{ALL}?includeSuperseded=1")).expect(200);
    reply.pagination()["totalItems"].as_u64().expect("a number")
}

fn element(template: &str) -> Value {
    json!({ "templateId": template, "formData": { "text": "x" } })
}

/// An error around the elements is 400 in both modes.
fn the_outer_body(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let many = |count: usize| Value::Array(vec![element(&template); count]);
    for mode in [json!(true), json!(false)] {
        let refused = |submissions: Value, expected: &[(&str, &str)]| {
            let reply =
                batch(&cx, &json!({ "submissions": submissions, "allOrNone": mode })).invalid(expected);
            assert!(!reply.violation(0)["value"].is_array());
        };
        refused(json!([]), &[("submissions", "minItems")]);
        refused(many(11), &[("submissions", "maxItems")]);
        refused(many(100), &[("submissions", "maxItems")]);
        refused(json!(null), &[("submissions", "required")]);
        refused(json!({}), &[("submissions", "type")]);
        refused(json!("x"), &[("submissions", "type")]);
        let reply = batch(&cx, &json!({ "allOrNone": mode }));
        let _ = reply.invalid(&[("submissions", "required")]);
        let reply = batch(
            &cx,
            &json!({ "submissions": many(1), "allOrNone": mode, "dryRun": true, "templateId": template }),
        );
        let _ = reply.invalid(&[("dryRun", "unknown"), ("templateId", "unknown")]);
    }
    for wrong in [json!("true"), json!(1), json!([])] {
        let _ = batch(&cx, &json!({ "submissions": many(1), "allOrNone": wrong }))
            .invalid(&[("allOrNone", "type")]);
    }
    let _ = batch(&cx, &json!({})).invalid(&[("submissions", "required")]);
    assert_eq!(total(&cx), 0);
}

fn ten_elements(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    for mode in [true, false] {
        let body = json!({ "submissions": vec![element(&template); 10], "allOrNone": mode });
        let reply = batch(&cx, &body).expect(201);
        assert_eq!(reply.json["message"], "Batch processed: 10 succeeded, 0 failed");
        let results = reply.data()["results"].as_array().expect("results");
        for (at, result) in results.iter().enumerate() {
            let names: Vec<&String> = result.as_object().expect("an object").keys().collect();
            assert_eq!(names, ["index", "success", "status", "submission"]);
            assert_eq!(
                (&result["index"], &result["success"], &result["status"]),
                (&json!(at), &json!(true), &json!(201))
            );
            assert!(result["submission"].get("statusHistory").is_none());
        }
        assert_eq!(results.len(), 10);
        // The stored records equal the response, plus the history.
        for result in results {
            let id = result["submission"]["id"].as_str().expect("an id");
            let mut stored = crate::support::read(&cx, id).data().clone();
            let history = stored.as_object_mut().expect("a record").shift_remove("statusHistory");
            assert_eq!(history.expect("a history").as_array().map(Vec::len), Some(1));
            assert_eq!(stored, result["submission"]);
        }
    }
    assert_eq!(total(&cx), 20);
}

/// The errors of all elements, each with its path.
fn errors_of_elements(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let elements = json!([
        element(&template),
        { "templateId": template, "formData": { "text": 1, "items": [] }, "clientId": 7, "nonsense": 1 },
        "x",
        { "templateId": template, "formData": {}, "status": "approved", "reviewNotes": "x", "submissionNotes": [] },
        { "formData": { "anything": 1 } },
        { "templateId": null, "formData": null },
        { "templateId": 7 },
    ]);
    let expected: [&[(&str, &str)]; 7] = [
        &[],
        &[
            ("submissions[1].formData.text", "type"),
            ("submissions[1].formData.items", "minItems"),
            ("submissions[1].clientId", "type"),
            ("submissions[1].nonsense", "unknown"),
        ],
        &[("submissions[2]", "type")],
        &[
            ("submissions[3].formData.text", "required"),
            ("submissions[3].status", "enum"),
            ("submissions[3].reviewNotes", "unknown"),
            ("submissions[3].submissionNotes", "type"),
        ],
        &[("submissions[4].templateId", "required")],
        &[("submissions[5].templateId", "required"), ("submissions[5].formData", "required")],
        &[("submissions[6].templateId", "type"), ("submissions[6].formData", "required")],
    ];
    let _ = batch(&cx, &json!({ "submissions": elements })).invalid(&expected.concat());
    assert_eq!(total(&cx), 0);
    let reply = batch(&cx, &json!({ "submissions": elements, "allOrNone": false })).expect(207);
    assert_eq!(reply.json["message"], "Batch processed: 1 succeeded, 6 failed");
    for (result, expected) in
        reply.data()["results"].as_array().expect("results").iter().zip(expected).skip(1)
    {
        let names: Vec<&String> = result.as_object().expect("an object").keys().collect();
        assert_eq!(names, ["index", "success", "status", "error"]);
        assert_eq!((&result["success"], &result["status"]), (&json!(false), &json!(400)));
        let error = &result["error"];
        assert_eq!(error["code"], "VALIDATION_ERROR");
        let listed = error["validationErrors"].as_array().expect("errors");
        let found: Vec<(&str, &str)> = listed
            .iter()
            .map(|error| (error["field"].as_str().expect("a field"), error["type"].as_str().expect("a type")))
            .collect();
        assert_eq!(found, expected, "{result}");
        let first = listed[0]["message"].as_str().expect("text");
        let more = if found.len() > 1 { format!(" (and {} more)", found.len() - 1) } else { String::new() };
        assert_eq!(error["message"], format!("Validation failed: {first}{more}"));
    }
    assert_eq!(total(&cx), 1);
}

fn unknown_templates(backend: Backend) {
    let cx = sandbox(backend);
    let foreign = cx.template_of(&cx.new_agent("other"), &note());
    for template in [NOTHING, &foreign] {
        let elements = json!([element(template)]);
        let reply = batch(&cx, &json!({ "submissions": elements }));
        let reply = reply.invalid(&[("submissions[0].templateId", "reference")]);
        assert_eq!(reply.violation(0)["value"], template);
        let reply = batch(&cx, &json!({ "submissions": elements, "allOrNone": false })).expect(207);
        let result = &reply.data()["results"][0];
        assert_eq!((&result["status"], &result["error"]["code"]), (&json!(400), &json!("VALIDATION_ERROR")));
        assert_eq!(result["error"]["validationErrors"][0]["type"], "reference");
    }
}

/// Two non-draft elements of one template that supersedes.
fn duplicates(backend: Backend) {
    let cx = sandbox(backend);
    let (template, other, keeping) =
        (cx.template(&note()), cx.template(&note()), cx.template(&keeping_all(note())));
    let drafted = json!({ "templateId": template, "formData": {}, "status": "draft" });
    let explicit = json!({ "templateId": template, "formData": { "text": "y" }, "status": "submitted" });
    let elements = json!([
        element(&template),
        drafted,
        element(&other),
        explicit,
        drafted,
        element(&template),
        element(&keeping),
        element(&keeping)
    ]);
    let reply = batch(&cx, &json!({ "submissions": elements }));
    let _ = reply
        .invalid(&[("submissions[3].templateId", "duplicate"), ("submissions[5].templateId", "duplicate")]);
    assert_eq!(total(&cx), 0);
    let reply = batch(&cx, &json!({ "submissions": elements, "allOrNone": false })).expect(207);
    let outcome: Vec<bool> = reply.data()["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|result| result["success"] == true)
        .collect();
    assert_eq!(outcome, [true, true, true, false, true, false, true, true]);
    assert_eq!(reply.data()["results"][3]["error"]["validationErrors"][0]["type"], "duplicate");
    assert_eq!(total(&cx), 6);
}

fn inactive_templates(backend: Backend) {
    let cx = sandbox(backend);
    let (active, archived, never) =
        (cx.template(&keeping_all(note())), cx.template(&note()), cx.draft_template(&note()));
    let _ = cx.archive_template(&archived);
    let elements = json!([element(&active), element(&never), element(&archived)]);
    let reply = batch(&cx, &json!({ "submissions": elements })).fails(409, "TEMPLATE_INACTIVE");
    assert_eq!(
        reply.json["details"],
        json!({ "resource": "template", "id": never, "status": "draft", "index": 1 })
    );
    assert_eq!(total(&cx), 0);
    // A draft of an inactive template too.
    let elements = json!([element(&active), { "templateId": archived, "formData": {}, "status": "draft" }]);
    let reply = batch(&cx, &json!({ "submissions": elements })).fails(409, "TEMPLATE_INACTIVE");
    assert_eq!(reply.json["details"]["index"], 1);
    // Validation errors come first, whatever their position.
    let elements = json!([element(&archived), { "templateId": active, "formData": {} }]);
    let _ = batch(&cx, &json!({ "submissions": elements }))
        .invalid(&[("submissions[1].formData.text", "required")]);
    let elements = json!([element(&archived), element(&active)]);
    let reply = batch(&cx, &json!({ "submissions": elements, "allOrNone": false })).expect(207);
    let result = &reply.data()["results"][0];
    assert_eq!((&result["status"], &result["error"]["code"]), (&json!(409), &json!("TEMPLATE_INACTIVE")));
    assert_eq!(result["error"]["message"], "The template is archived");
    assert_eq!(result["error"]["details"]["status"], "archived");
    assert!(result["error"].get("requestId").is_none() && result["error"].get("success").is_none());
    assert_eq!(total(&cx), 1);
}

/// Contract 6.4, literally.
fn the_example_of_an_inactive_template(backend: Backend) {
    let cx = sandbox(backend);
    let (intake, feedback) = (cx.template(&note()), cx.template(&story::feedback()));
    let _ = cx.archive_template(&feedback);
    let body =
        json!({ "submissions": [element(&intake), { "templateId": feedback, "formData": { "rating": 5 } }] });
    let call = cx.call("POST", BATCH).json(&body).header("x-request-id", story::REQUEST_ID);
    let expected = json!({ "success": false, "message": "The template is archived", "code": "TEMPLATE_INACTIVE", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "details": { "resource": "template", "id": feedback, "status": "archived", "index": 1 } });
    assert_eq!(call.send().expect(409).text, expected.to_string());
}

fn drafts(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let drafted = |data: Value| json!({ "templateId": template, "formData": data, "status": "draft" });
    let body =
        json!({ "submissions": [drafted(json!({})), drafted(json!({ "items": [{}] })), element(&template)] });
    let reply = batch(&cx, &body).expect(201);
    let statuses: Vec<&Value> = reply.data()["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|result| &result["submission"]["status"])
        .collect();
    assert_eq!(statuses, ["draft", "draft", "submitted"]);
    let body = json!({ "submissions": [drafted(json!({ "text": 1 }))] });
    let _ = batch(&cx, &body).invalid(&[("submissions[0].formData.text", "type")]);
}

/// Nothing is stored if the last element fails for any reason.
fn all_or_none(backend: Backend) {
    let cx = sandbox(backend);
    let (template, other) = (cx.template(&note()), cx.template(&note()));
    let before = submit(&cx, &template, &json!({ "text": "x" }));
    let archived = cx.template(&note());
    let _ = cx.archive_template(&archived);
    for last in [
        json!({ "templateId": other, "formData": {} }),
        json!({ "templateId": NOTHING, "formData": {} }),
        element(&archived),
        element(&template),
        json!(null),
    ] {
        let body = json!({ "submissions": [element(&template), last], "allOrNone": true });
        let reply = batch(&cx, &body);
        assert!(matches!(reply.status, 400 | 409), "{}", reply.text);
        crate::support::is_unchanged(&cx, &before);
        assert_eq!(total(&cx), 1);
    }
    let reply = batch(&cx, &json!({ "submissions": [element(&template), element(&other)] })).expect(201);
    let results = &reply.data()["results"];
    assert_eq!(results[0]["submission"]["createdAt"], results[1]["submission"]["createdAt"]);
    assert_eq!(results[0]["submission"]["revision"], 2);
}

fn each_alone(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let body = json!({ "submissions": [{ "templateId": template, "formData": {} }, element(NOTHING)], "allOrNone": false });
    let reply = batch(&cx, &body).expect(207);
    assert_eq!(
        (&reply.json["success"], &reply.data()["succeeded"], &reply.data()["failed"]),
        (&json!(true), &json!(0), &json!(2))
    );
    let body = json!({ "submissions": [element(NOTHING), element(&template)], "allOrNone": false });
    let reply = batch(&cx, &body).expect(207);
    assert_eq!(reply.json["message"], "Batch processed: 1 succeeded, 1 failed");
    assert_eq!((reply.header("location"), reply.header("etag")), (None, None));
    assert_eq!(total(&cx), 1);
    let reply = batch(&cx, &json!({ "submissions": [element(&template)], "allOrNone": false })).expect(201);
    assert_eq!(reply.data()["results"][0]["submission"]["revision"], 2);
}

/// 207 even if all fail.
fn every_element_fails(backend: Backend) {
    let cx = sandbox(backend);
    let body = json!({ "submissions": [{}, 1, null, []], "allOrNone": false });
    let reply = batch(&cx, &body).expect(207);
    assert_eq!(reply.data()["failed"], 4);
    assert_eq!(reply.json["message"], "Batch processed: 0 succeeded, 4 failed");
    assert_eq!(total(&cx), 0);
}

/// `dryRun` turns 201 into 200, in the elements too; nothing is stored.
fn dry_runs(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let path = format!("{BATCH}?dryRun=true");
    let reply = send(&cx, "POST", &path, &json!({ "submissions": [element(&template)] })).expect(200);
    let result = &reply.data()["results"][0];
    assert_eq!((&result["status"], &result["success"]), (&json!(200), &json!(true)));
    let submission = &result["submission"];
    for name in ["id", "createdAt", "updatedAt", "submittedAt"] {
        assert_eq!(submission[name], Value::Null, "{name}");
    }
    assert_eq!((&submission["status"], &submission["revision"]), (&json!("submitted"), &json!(1)));
    assert_eq!(reply.json["message"], "Batch processed: 1 succeeded, 0 failed");
    let body = json!({ "submissions": [element(&template), element(NOTHING)], "allOrNone": false });
    let reply = send(&cx, "POST", &path, &body).expect(207);
    assert_eq!(reply.data()["results"][0]["status"], 200);
    assert_eq!(reply.data()["results"][1]["status"], 400);
    let body = json!({ "submissions": [element(&template), element(NOTHING)] });
    let _ = send(&cx, "POST", &path, &body).fails(400, "VALIDATION_ERROR");
    assert_eq!(total(&cx), 0);
}

fn more_than_a_hundred_errors(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let bad: Value =
        json!({ "templateId": template, "formData": { "text": "x", "items": vec![json!({}); 60] } });
    let reply = batch(&cx, &json!({ "submissions": [bad, bad] })).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.violations().len(), 100);
    assert_eq!(reply.json["details"], json!({ "truncated": true, "totalErrors": 120 }));
    assert!(reply.json["message"].as_str().expect("text").ends_with(" (and 119 more)"));
    let more: Value =
        json!({ "templateId": template, "formData": { "text": "x", "items": vec![json!({}); 101] } });
    let reply = batch(&cx, &json!({ "submissions": [bad, more], "allOrNone": false })).expect(207);
    let error = |at: usize| reply.data()["results"][at]["error"].clone();
    assert_eq!(error(0)["validationErrors"].as_array().map(Vec::len), Some(60));
    assert!(error(0).get("details").is_none());
    assert_eq!(error(1)["validationErrors"].as_array().map(Vec::len), Some(100));
    assert_eq!(error(1)["details"], json!({ "truncated": true, "totalErrors": 101 }));
}

/// A batch counts as one request.
fn a_batch_counts_as_one_request(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let body = json!({ "submissions": vec![element(&template); 10] });
    let left = || {
        let reply = cx.post(BATCH, &body).expect(201);
        reply.header("x-ratelimit-remaining").and_then(|left| left.parse::<u32>().ok()).expect("a number")
    };
    assert_eq!(left(), left() + 1);
}
