//! Permitted changes by state (contract 2.3.2, 3, 2.1.3).

use contract_tests::{Backend, Reply, Sandbox, on_every_backend, story};
use serde_json::{Value, json};

use crate::support::{
    ALL, BATCH, STATES, archive_contact, change, get, in_state, is_unchanged, keeping_all, latest, note, one,
    read, sandbox, send, submit, submit_path, try_submit,
};

on_every_backend!(
    every_field_in_every_state,
    stored_values_are_a_no_op,
    the_example,
    judged_by_the_state_before,
    data_and_status_together_or_not_at_all,
    superseded_submissions,
    archived_contacts,
);

/// A submission in a state, with notes of both kinds and a client id where the state allows it.
fn noted(cx: &Sandbox, template: &str, state: &str) -> Reply {
    let body = json!({ "formData": { "text": "x" }, "submissionNotes": "Notes", "clientId": "c-1", "status": if state == "draft" { "draft" } else { "submitted" } });
    let id = try_submit(cx, template, &body).expect(201).id();
    cx.advance(5);
    match state {
        "draft" | "submitted" => change(cx, &id, &json!({ "reviewNotes": "Review" })).expect(200),
        _ => change(cx, &id, &json!({ "status": state, "reviewNotes": "Review" })).expect(200),
    }
}

fn every_field_in_every_state(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    for state in STATES {
        let is_editable = matches!(state, "draft" | "submitted" | "rejected");
        for (body, is_open) in [
            (json!({ "formData": { "text": "y" } }), is_editable),
            (json!({ "formData": { "more": "added" } }), is_editable),
            (json!({ "submissionNotes": "Others" }), is_editable),
            (json!({ "submissionNotes": null }), is_editable),
            (json!({ "reviewNotes": "Others" }), state != "archived"),
            (json!({ "reviewNotes": null }), state != "archived"),
        ] {
            let before = noted(&cx, &template, state);
            cx.advance(10);
            let reply = change(&cx, &before.id(), &body);
            let (field, value) = body.as_object().and_then(|body| body.iter().next()).expect("a member");
            if is_open {
                let reply = reply.expect(200);
                if field == "formData" {
                    assert_ne!(reply.data()["formData"], before.data()["formData"], "{state} {body}");
                } else {
                    assert_eq!(&reply.data()[field], value, "{state} {body}");
                }
                assert_ne!(reply.data()["updatedAt"], before.data()["updatedAt"]);
                assert_ne!(reply.header("etag"), before.header("etag"));
                assert_eq!(reply.data()["statusHistory"], before.data()["statusHistory"]);
                assert_eq!(reply.data(), read(&cx, &before.id()).data());
            } else {
                let reply = reply.fails(409, "SUBMISSION_LOCKED");
                assert_eq!(reply.json["details"], json!({ "status": state }));
                let message = format!("{field} cannot change while the submission is {state}");
                assert_eq!(reply.json["message"], message);
                assert!(reply.json.get("validationErrors").is_none());
                is_unchanged(&cx, &before);
            }
        }
        // Immutable in every state.
        let before = noted(&cx, &template, state);
        for other in [json!("c-2"), json!(null), json!("")] {
            let reply = change(&cx, &before.id(), &json!({ "clientId": other }));
            let _ = reply.invalid(&[("clientId", "conflict")]);
        }
        is_unchanged(&cx, &before);
    }
}

fn stored_values_are_a_no_op(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    for state in STATES {
        let before = noted(&cx, &template, state);
        cx.advance(1_000);
        let mut record = before.data().clone();
        for body in [
            json!({}),
            json!({ "formData": {} }),
            json!({ "formData": { "text": "x" } }),
            json!({ "formData": { "more": null, "count": null } }),
            json!({ "submissionNotes": "Notes" }),
            json!({ "reviewNotes": "Review" }),
            json!({ "clientId": "c-1" }),
            json!({ "status": state }),
            record.clone(),
            // Record fields are ignored, whatever their values.
            json!({ "id": 7, "agentId": "x", "templateId": [], "templateName": null, "templateVersion": "2", "contactId": {},
                "externalReferenceId": "other", "revision": -1, "supersedes": "x", "isSuperseded": true, "supersededBy": 1,
                "supersededAt": "x", "source": "other", "createdBy": null, "reviewedBy": 1, "reviewedAt": "never",
                "submittedAt": false, "statusHistory": "x", "createdAt": 0, "updatedAt": {} }),
        ] {
            let reply = change(&cx, &before.id(), &body).expect(200);
            assert_eq!(reply.data(), before.data(), "{state} {body}");
            assert_eq!(reply.header("etag"), before.header("etag"));
        }
        record["nonsense"] = json!(1);
        let _ = change(&cx, &before.id(), &record).invalid(&[("nonsense", "unknown")]);
        for unknown in ["version", "allOrNone", "notes", "Status", "templateID"] {
            let reply = change(&cx, &before.id(), &json!({ unknown: 1 }));
            let _ = reply.invalid(&[(unknown, "unknown")]);
        }
        is_unchanged(&cx, &before);
    }
}

/// Contract 6.4, literally.
fn the_example(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = in_state(&cx, &template, &json!({ "text": "x" }), "approved").id();
    let call = cx.call("PUT", &one(&id)).json(&json!({ "formData": { "text": "y" } }));
    let reply = call.header("x-request-id", story::REQUEST_ID).send().expect(409);
    let expected = json!({ "success": false, "message": "formData cannot change while the submission is approved", "code": "SUBMISSION_LOCKED", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "details": { "status": "approved" } });
    assert_eq!(reply.text, expected.to_string());
}

fn judged_by_the_state_before(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let with = |state: &str, body: Value| {
        let before = in_state(&cx, &template, &json!({ "text": "x" }), state);
        cx.advance(10);
        (change(&cx, &before.id(), &body), before)
    };
    // Leaving a locked state, data stays locked; entering one, it may change with the status.
    for (state, next) in
        [("under_review", "submitted"), ("under_review", "rejected"), ("approved", "under_review")]
    {
        let body = json!({ "status": next, "formData": { "text": "y" }, "reviewNotes": "z" });
        let (reply, before) = with(state, body);
        let _ = reply.fails(409, "SUBMISSION_LOCKED");
        is_unchanged(&cx, &before);
    }
    for (state, next) in [
        ("submitted", "approved"),
        ("submitted", "archived"),
        ("rejected", "archived"),
        ("rejected", "under_review"),
    ] {
        let body = json!({ "status": next, "formData": { "text": "y" }, "submissionNotes": "n", "reviewNotes": "z" });
        let (reply, _) = with(state, body);
        let reply = reply.expect(200);
        assert_eq!(reply.data()["formData"], json!({ "text": "y" }));
        assert_eq!(
            (&reply.data()["status"], &reply.data()["submissionNotes"], &reply.data()["reviewNotes"]),
            (&json!(next), &json!("n"), &json!("z"))
        );
    }
    // Locked comes before the transition.
    let (reply, _) = with("archived", json!({ "status": "draft", "reviewNotes": "z" }));
    let _ = reply.fails(409, "SUBMISSION_LOCKED");
}

fn data_and_status_together_or_not_at_all(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let before = submit(&cx, &template, &json!({ "text": "x" }));
    let id = before.id();
    let reply =
        change(&cx, &id, &json!({ "formData": { "text": "y" }, "submissionNotes": "n", "status": "draft" }));
    let _ = reply.fails(409, "INVALID_STATUS_TRANSITION");
    is_unchanged(&cx, &before);
    let reply =
        change(&cx, &id, &json!({ "formData": { "text": 1 }, "submissionNotes": "n", "status": "approved" }));
    let _ = reply.invalid(&[("formData.text", "type")]);
    is_unchanged(&cx, &before);
}

fn superseded_submissions(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    for state in ["submitted", "under_review", "approved", "rejected", "archived"] {
        let old = in_state(&cx, &template, &json!({ "text": "x" }), state).id();
        cx.advance(10);
        let new = submit(&cx, &template, &json!({ "text": "x" })).id();
        cx.advance(10);
        let before = read(&cx, &old);
        assert_eq!(before.data()["status"], state);
        for body in [
            json!({ "formData": { "text": "y" } }),
            json!({ "submissionNotes": "n" }),
            json!({ "reviewNotes": "n" }),
            json!({ "status": if state == "approved" { "archived" } else { "approved" }, "reviewNotes": "n" }),
            json!({ "status": if state == "draft" { "rejected" } else { "draft" } }),
        ] {
            let reply = change(&cx, &old, &body).fails(409, "SUBMISSION_SUPERSEDED");
            assert_eq!(reply.json["details"], json!({ "supersededBy": new }));
        }
        // No-op changes and validation errors are judged first.
        assert_eq!(change(&cx, &old, &json!({ "status": state })).expect(200).data(), before.data());
        assert_eq!(change(&cx, &old, before.data()).expect(200).data(), before.data());
        let _ =
            change(&cx, &old, &json!({ "formData": { "text": 1 } })).invalid(&[("formData.text", "type")]);
        is_unchanged(&cx, &before);
        let archived = change(&cx, &old, &json!({ "status": "archived" })).expect(200);
        assert_eq!(archived.data()["status"], "archived");
        assert_eq!(archived.data()["supersededBy"], json!(new));
        assert_eq!(archived.data()["supersededAt"], before.data()["supersededAt"]);
    }
}

/// Contract 2.1.3: submit, batch and update are rejected, even as no-ops; all reads stay available.
fn archived_contacts(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let before = submit(&cx, &template, &json!({ "text": "x" }));
    let id = before.id();
    cx.advance(10);
    archive_contact(&cx);
    let contact = get(&cx, "/contacts/crm-1001/chatbots/<A>").expect(200);
    let body = json!({ "formData": { "text": "y" } });
    let element = json!({ "templateId": template, "formData": { "text": "y" } });
    for (method, path, body) in [
        ("POST", submit_path(&template), body.clone()),
        ("POST", submit_path(&template), json!({ "formData": {}, "status": "draft" })),
        ("POST", format!("{}?dryRun=true", submit_path(&template)), body.clone()),
        ("POST", BATCH.to_owned(), json!({ "submissions": [element] })),
        ("POST", BATCH.to_owned(), json!({ "submissions": [element], "allOrNone": false })),
        ("POST", format!("{BATCH}?dryRun=1"), json!({ "submissions": [element] })),
        ("PUT", one(&id), body),
        ("PUT", one(&id), json!({ "status": "archived" })),
        ("PUT", one(&id), json!({})),
        ("PUT", one(&id), json!({ "status": "submitted", "formData": { "text": "x" } })),
    ] {
        let reply = send(&cx, method, &path, &body).fails(409, "CONTACT_ARCHIVED");
        let details =
            json!({ "resource": "contact", "id": contact.id(), "archivedAt": contact.data()["archivedAt"] });
        assert_eq!(
            (&reply.json["details"], &reply.json["message"]),
            (&details, &json!("The contact is archived"))
        );
    }
    assert_eq!(read(&cx, &id).data(), before.data());
    assert_eq!(get(&cx, &latest(&template)).expect(200).id(), id);
    assert_eq!(get(&cx, ALL).expect(200).pagination()["totalItems"], 1);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    let _ = submit(&cx, &template, &json!({ "text": "y" }));
}
