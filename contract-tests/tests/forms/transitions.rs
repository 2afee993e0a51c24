//! Every change of status (contract 3).

use contract_tests::{Backend, on_every_backend, story};
use serde_json::{Value, json};

use crate::support::{
    STATES, change, in_state, is_unchanged, keeping_all, note, one, sandbox, send, submit, to,
};

on_every_backend!(
    every_pair,
    the_example,
    disabled_pairs,
    pairs_that_are_disabled_later,
    an_approval_is_revoked_with_a_reason,
    reviews_are_set_cleared_and_preserved,
    notes_of_the_history,
    unknown_values,
);

/// Contract 3: the permitted successors, in the order of the table.
fn allowed(from: &str) -> &'static [&'static str] {
    match from {
        "draft" => &["submitted", "archived"],
        "submitted" => &["under_review", "approved", "rejected", "archived"],
        "under_review" => &["submitted", "approved", "rejected", "archived"],
        "approved" => &["under_review", "archived"],
        "rejected" => &["submitted", "under_review", "archived"],
        _ => &[],
    }
}

fn every_pair(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let mut pairs = 0;
    for from in STATES {
        for to in STATES {
            let before = in_state(&cx, &template, &json!({ "text": "x" }), from);
            let id = before.id();
            cx.advance(10);
            let mut body = json!({ "status": to });
            if (from, to) == ("approved", "under_review") {
                body["reviewNotes"] = json!("Look again");
            }
            let reply = change(&cx, &id, &body);
            pairs += 1;
            if from == to {
                let reply = reply.expect(200);
                assert_eq!(reply.data(), before.data(), "{from}");
                assert_eq!(reply.header("etag"), before.header("etag"));
                is_unchanged(&cx, &before);
            } else if allowed(from).contains(&to) {
                let reply = reply.expect(200);
                let (was, is) = (before.data(), reply.data());
                assert_eq!(is["status"], to);
                assert_ne!(is["updatedAt"], was["updatedAt"]);
                assert_ne!(reply.header("etag"), before.header("etag"));
                let mut history = was["statusHistory"].as_array().expect("a history").clone();
                history.push(json!({ "from": from, "to": to, "at": is["updatedAt"], "by": { "type": "user", "id": "tester" },
                    "notes": body["reviewNotes"] }));
                assert_eq!(is["statusHistory"], Value::Array(history), "{from} to {to}");
                let submitted = match (from, to) {
                    ("draft", "submitted") => &is["updatedAt"],
                    _ => &was["submittedAt"],
                };
                assert_eq!(&is["submittedAt"], submitted, "{from} to {to}");
            } else {
                let reply = reply.fails(409, "INVALID_STATUS_TRANSITION");
                assert_eq!(
                    reply.json["details"],
                    json!({ "from": from, "to": to, "allowed": allowed(from) })
                );
                assert_eq!(reply.violations(), [("status", "transition")]);
                assert_eq!(reply.violation(0)["value"], to);
                is_unchanged(&cx, &before);
            }
        }
    }
    assert_eq!(pairs, 36);
}

/// Contract 6.4, literally.
fn the_example(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = in_state(&cx, &template, &json!({ "text": "x" }), "approved").id();
    let call = cx.call("PUT", &one(&id)).json(&json!({ "status": "rejected" }));
    let reply = call.header("x-request-id", story::REQUEST_ID).send().expect(409);
    let expected = json!({ "success": false, "message": "A submission cannot go from approved to rejected", "code": "INVALID_STATUS_TRANSITION", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "validationErrors": [{ "field": "status", "message": "status cannot change from approved to rejected", "value": "rejected", "type": "transition", "in": "body" }], "details": { "from": "approved", "to": "rejected", "allowed": ["under_review", "archived"] } });
    assert_eq!(reply.text, expected.to_string());
}

/// The operator may disable pairs per template; `allowed` omits them.
fn disabled_pairs(backend: Backend) {
    let cx = sandbox(backend);
    let mut definition = keeping_all(note());
    definition["disabledTransitions"] = json!([
        { "from": "submitted", "to": "approved" }, { "from": "submitted", "to": "archived" },
        { "from": "approved", "to": "under_review" }, { "from": "draft", "to": "submitted" },
    ]);
    let template = cx.template(&definition);
    let data = json!({ "text": "x" });
    let refused = |from: &str, body: Value, allowed: Value| {
        let before = match from {
            "approved" => {
                let id = submit(&cx, &template, &data).id();
                let _ = to(&cx, &id, "under_review");
                to(&cx, &id, "approved")
            }
            _ => in_state(&cx, &template, &data, from),
        };
        let reply = change(&cx, &before.id(), &body).fails(409, "INVALID_STATUS_TRANSITION");
        assert_eq!(reply.json["details"]["allowed"], allowed);
        is_unchanged(&cx, &before);
    };
    refused("submitted", json!({ "status": "approved" }), json!(["under_review", "rejected"]));
    refused("submitted", json!({ "status": "archived" }), json!(["under_review", "rejected"]));
    refused("approved", json!({ "status": "under_review", "reviewNotes": "x" }), json!(["archived"]));
    refused("draft", json!({ "status": "submitted" }), json!(["archived"]));
    refused("draft", json!({ "status": "approved" }), json!(["archived"]));
    // Transitions that are not disabled still work.
    let id = submit(&cx, &template, &data).id();
    let _ = to(&cx, &id, "rejected");
}

fn an_approval_is_revoked_with_a_reason(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let approve = json!({ "status": "approved", "reviewNotes": "Fine" });
    let before = change(&cx, &id, &approve).expect(200);
    // The stored notes do not count, only those of the request.
    for body in [
        json!({ "status": "under_review" }),
        json!({ "status": "under_review", "reviewNotes": "" }),
        json!({ "status": "under_review", "reviewNotes": " \n\t" }),
        json!({ "status": "under_review", "reviewNotes": null }),
    ] {
        let reply = change(&cx, &id, &body).invalid(&[("reviewNotes", "required")]);
        assert_eq!(reply.violation(0)["in"], "body");
        is_unchanged(&cx, &before);
    }
    let wrong = change(&cx, &id, &json!({ "status": "under_review", "reviewNotes": 7 }));
    let _ = wrong.invalid(&[("reviewNotes", "type")]);
    let reply = change(&cx, &id, &json!({ "status": "under_review", "reviewNotes": "Fine" })).expect(200);
    assert_eq!(reply.data()["statusHistory"][2]["notes"], "Fine");
    // From other states no reason is required.
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let _ = to(&cx, &id, "under_review");
    let id = in_state(&cx, &template, &json!({ "text": "x" }), "rejected").id();
    let _ = to(&cx, &id, "under_review");
}

fn reviews_are_set_cleared_and_preserved(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let step = |id: &str, status: &str| {
        cx.advance(10);
        change(&cx, id, &json!({ "status": status, "reviewNotes": format!("To {status}") })).expect(200)
    };
    for review in ["approved", "rejected"] {
        let id = submit(&cx, &template, &json!({ "text": "x" })).id();
        let reviewed = step(&id, review);
        assert_eq!(reviewed.data()["reviewedBy"], json!({ "type": "user", "id": "tester" }));
        assert_eq!(reviewed.data()["reviewedAt"], reviewed.data()["updatedAt"]);
        // A change of notes preserves the reviewer and the time of the review.
        cx.advance(10);
        let noted = change(&cx, &id, &json!({ "reviewNotes": "Added" })).expect(200);
        assert_eq!(noted.data()["reviewedAt"], reviewed.data()["reviewedAt"]);
        let back = step(&id, "under_review");
        assert_eq!((&back.data()["reviewedBy"], &back.data()["reviewedAt"]), (&Value::Null, &Value::Null));
        let again = step(&id, review);
        assert_ne!(again.data()["reviewedAt"], reviewed.data()["reviewedAt"]);
        let archived = step(&id, "archived");
        assert_eq!(archived.data()["reviewedBy"], again.data()["reviewedBy"]);
        assert_eq!(archived.data()["reviewedAt"], again.data()["reviewedAt"]);
    }
    let id = in_state(&cx, &template, &json!({ "text": "x" }), "rejected").id();
    let back = step(&id, "submitted");
    assert_eq!((&back.data()["reviewedBy"], &back.data()["reviewedAt"]), (&Value::Null, &Value::Null));
    // An approval through a key records the key.
    let approved = cx.put(&one(&id), &json!({ "status": "approved" })).expect(200);
    assert_eq!(approved.data()["reviewedBy"], json!({ "type": "apiKey", "id": cx.credentials.key }));
    assert_eq!(approved.data()["createdBy"], json!({ "type": "user", "id": "tester" }));
}

/// Every status change appends the `reviewNotes` of its request; without a status change nothing is appended.
fn notes_of_the_history(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let _ = change(&cx, &id, &json!({ "reviewNotes": "First look" })).expect(200);
    let _ = to(&cx, &id, "under_review");
    let _ = change(&cx, &id, &json!({ "status": "rejected", "reviewNotes": "  " })).expect(200);
    let _ = change(&cx, &id, &json!({ "status": "submitted", "formData": { "text": "y" } })).expect(200);
    let reply = change(&cx, &id, &json!({ "status": "approved", "reviewNotes": " Two\nlines " })).expect(200);
    let history = reply.data()["statusHistory"].as_array().expect("a history");
    let seen: Vec<(&Value, &Value, &Value)> =
        history.iter().map(|change| (&change["from"], &change["to"], &change["notes"])).collect();
    let (null, notes) = (Value::Null, &reply.data()["reviewNotes"]);
    assert!(notes.as_str().is_some_and(|notes| notes.contains("Two\nlines")));
    let word = |word: &str| json!(word);
    assert_eq!(
        seen,
        [
            (&null, &word("submitted"), &null),
            (&word("submitted"), &word("under_review"), &null),
            (&word("under_review"), &word("rejected"), &null),
            (&word("rejected"), &word("submitted"), &null),
            (&word("submitted"), &word("approved"), notes),
        ]
    );
}

fn unknown_values(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let before = submit(&cx, &template, &json!({ "text": "x" }));
    for (status, kind) in [
        (json!("Approved"), "enum"),
        (json!("done"), "enum"),
        (json!(""), "enum"),
        (json!(1), "type"),
        (json!(["approved"]), "type"),
        (json!(null), "required"),
    ] {
        let reply = change(&cx, &before.id(), &json!({ "status": status }));
        let found = reply.violations();
        // A blank value is missing or not one of the allowed values.
        assert!(
            found == [("status", kind)] || status == "" && found == [("status", "required")],
            "{status}: {found:?}"
        );
    }
    is_unchanged(&cx, &before);
    for status in ["under_review", "approved", "rejected", "archived", "Draft", "x"] {
        let body = json!({ "formData": { "text": "x" }, "status": status });
        let _ =
            send(&cx, "POST", &crate::support::submit_path(&template), &body).invalid(&[("status", "enum")]);
    }
}

/// The operator's disabled pairs are the template's present ones, whatever version a submission was created under.
fn pairs_that_are_disabled_later(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let mut definition = keeping_all(note());
    definition["disabledTransitions"] = json!([{ "from": "submitted", "to": "approved" }]);
    let _ = cx.edit_template(&template, &definition);
    let reply = change(&cx, &id, &json!({ "status": "approved" })).fails(409, "INVALID_STATUS_TRANSITION");
    assert_eq!(reply.json["details"]["allowed"], json!(["under_review", "rejected", "archived"]));
    let _ = cx.edit_template(&template, &keeping_all(note()));
    let _ = to(&cx, &id, "approved");
}
