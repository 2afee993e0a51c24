//! Operator actions on forms (contract 14).

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Sandbox, on_every_backend};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, AdminError};
use openapi_core::audit::ChainedEntry;
use openapi_core::contacts::ContactRef;
use openapi_core::forms::TemplateStatus;
use openapi_core::storage::{AuditQuery, SubmissionFilter, TemplatePosition};
use openapi_core::values::{SubmissionId, TemplateId};
use serde_json::{Value, json};

use crate::support::{
    BATCH, NOTHING, change, contact, draft, get, note, one, sandbox, send, submit, submit_path, to,
    try_submit,
};

on_every_backend!(
    errors_of_definitions,
    versions,
    templates_by_name,
    absent_records,
    submissions_of_an_agent,
    revisions_of_data,
    the_audit_log,
    erasure,
);

fn template_id(id: &str) -> TemplateId {
    id.parse().expect("a platform id")
}

/// All validation errors at once, each with its location.
fn errors_of_definitions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let found = |definition: Value| -> Vec<(String, String)> {
        match cx.try_template(&cx.agent, &definition) {
            Err(AdminError::Invalid(violations)) => violations
                .listed()
                .iter()
                .map(|violation| (violation.field.to_string(), violation.rule.as_str().to_owned()))
                .collect(),
            other => panic!("{definition}: {other:?}"),
        }
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(field, rule)| ((*field).to_owned(), (*rule).to_owned())).collect()
    };
    assert_eq!(found(json!({})), pairs(&[("name", "required"), ("fields", "required")]));
    assert_eq!(
        found(json!({ "name": "T", "fields": [
            { "name": "9", "type": "text" },
            { "name": "a", "type": "string" },
            { "name": "b", "type": "text", "validation": { "minimum": 1 } },
            { "name": "c", "type": "select" },
            { "name": "d", "type": "text", "validation": { "pattern": "(?=x)" } },
            { "name": "d", "type": "text" },
            { "name": "e", "type": "text", "showIf": { "field": "nothing", "op": "equals", "value": "x" } },
            { "name": "f", "type": "group" },
            { "name": "g", "type": "integer", "example": "1" },
        ] }))
        .into_iter()
        .map(|(field, _)| field)
        .collect::<std::collections::BTreeSet<_>>(),
        [
            "fields[0].name",
            "fields[1].type",
            "fields[2].validation.minimum",
            "fields[3].options",
            "fields[4].validation.pattern",
            "fields[5].name",
            "fields[6].showIf.field",
            "fields[7].fields"
        ]
        .map(str::to_owned)
        .into()
    );
    let one = |field: Value| found(json!({ "name": "T", "fields": [field] }));
    assert_eq!(
        one(json!({ "name": "g", "type": "integer", "example": "1" })),
        pairs(&[("fields[0].example", "type")])
    );
    let disabled = json!({ "name": "T", "fields": [{ "name": "a", "type": "text" }], "disabledTransitions": [{ "from": "archived", "to": "draft" }] });
    assert_eq!(found(disabled), pairs(&[("disabledTransitions[0]", "conflict")]));
    assert!(get(&cx, "/forms/templates/chatbots/<A>").data().as_array().is_some_and(Vec::is_empty));
}

/// Every edit of an active template raises the version; nothing else does.
fn versions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let named = |name: &str| {
        let mut definition = note();
        definition["name"] = json!(name);
        definition
    };
    let id = cx.draft_template(&named("one"));
    let shown = || get(&cx, &format!("/forms/templates/{id}/schema/chatbots/<A>")).expect(200).data().clone();
    assert_eq!((&shown()["version"], &shown()["status"]), (&json!(1), &json!("draft")));
    cx.advance(10);
    assert_eq!(cx.activate_template(&id).version, 1);
    cx.advance(10);
    assert_eq!(cx.edit_template(&id, &named("two")).version, 2);
    assert_eq!(
        (&shown()["version"], &shown()["name"], &shown()["status"]),
        (&json!(2), &json!("two"), &json!("active"))
    );
    let summary = |at: usize| get(&cx, "/forms/templates/chatbots/<A>").data()[at].clone();
    let before = summary(0);
    cx.advance(10);
    assert_eq!(cx.edit_template(&id, &named("two")).version, 2);
    let _ = cx.activate_template(&id);
    assert_eq!(summary(0), before);
    let archived = cx.archive_template(&id);
    assert_eq!((archived.version, archived.status), (2, TemplateStatus::Archived));
    let _ = cx.archive_template(&id);
    assert_eq!(cx.activate_template(&id).version, 2);
    // A template that was read can be edited and written back.
    let stored = wait(cx.platform.template(&cx.agent, template_id(&id))).expect("the template");
    assert_eq!(cx.edit_template(&id, &stored.document()).version, 2);
}

fn templates_by_name(backend: Backend) {
    let cx = Sandbox::new(backend);
    for name in ["beta", "Álpha", "gamma"] {
        let mut definition = note();
        definition["name"] = json!(name);
        let _ = cx.draft_template(&definition);
    }
    let list = |after: Option<TemplatePosition>, limit: u32| {
        wait(cx.platform.templates(&cx.agent, after, limit)).expect("templates")
    };
    let all = list(None, 10);
    let names: Vec<&str> = all.iter().map(|template| template.name.as_str()).collect();
    assert_eq!(names, ["Álpha", "beta", "gamma"]);
    assert!(all.iter().all(|template| template.status == TemplateStatus::Draft));
    assert_eq!(list(Some(TemplatePosition::of(&all[0])), 1), all[1..2]);
    assert_eq!(list(Some(TemplatePosition::of(&all[2])), 1), []);
}

fn absent_records(backend: Backend) {
    let cx = sandbox(backend);
    let other = cx.new_agent("other");
    let foreign = template_id(&cx.template_of(&other, &note()));
    for id in [template_id(NOTHING), foreign] {
        let is_missing = |error: AdminError| matches!(error, AdminError::NotFound { what: "template", .. });
        assert!(is_missing(wait(cx.platform.template(&cx.agent, id)).expect_err("none")));
        assert!(is_missing(
            wait(cx.platform.archive_template(&operator(), &cx.agent, id)).expect_err("none")
        ));
        let definition = contract_tests::sandbox::object(&note());
        assert!(is_missing(
            wait(cx.platform.edit_template(&operator(), &cx.agent, id, &definition)).expect_err("none")
        ));
    }
    let id: SubmissionId = NOTHING.parse().expect("an id");
    assert!(matches!(wait(cx.platform.submission(&cx.agent, id)), Err(AdminError::NotFound { .. })));
}

/// For every contact, newest first.
fn submissions_of_an_agent(backend: Backend) {
    let cx = sandbox(backend);
    let _ = contact(&cx, "crm-2");
    let template = cx.template(&note());
    let first = submit(&cx, &template, &json!({ "text": "x" })).id();
    cx.advance(10);
    let path = submit_path(&template).replace("crm-1001", "crm-2");
    let second = send(&cx, "POST", &path, &json!({ "formData": { "text": "x" } })).expect(201).id();
    let filter = SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() };
    let found = wait(cx.platform.submissions(&cx.agent, &filter, None, 10)).expect("submissions");
    let ids: Vec<String> = found.iter().map(|submission| submission.id.to_string()).collect();
    assert_eq!(ids, [second, first]);
}

/// Every change of `formData` creates a revision with its author; nothing else does.
fn revisions_of_data(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "1" })).id();
    for body in [
        json!({ "formData": { "text": "2" } }),
        json!({ "submissionNotes": "n" }),
        json!({ "formData": { "text": "2" } }),
        json!({ "formData": { "text": 3 } }),
        json!({ "status": "rejected" }),
        json!({ "formData": { "more": "3" }, "status": "submitted" }),
        json!({ "status": "approved" }),
        json!({ "formData": { "text": "4" } }),
    ] {
        cx.advance(10);
        let _ = change(&cx, &id, &body);
    }
    let (stored, revisions) =
        wait(cx.platform.submission(&cx.agent, id.parse().expect("an id"))).expect("the submission");
    let retained: Vec<&str> = revisions.iter().map(|revision| revision.form_data.as_str()).collect();
    let mut sorted = retained.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["{\"text\":\"1\"}", "{\"text\":\"2\"}"]);
    assert!(revisions.iter().all(|revision| revision.by == Actor::User("tester".into())));
    assert_eq!(stored.form_data.as_str(), "{\"text\":\"2\",\"more\":\"3\"}");
    assert_eq!(stored.status_history.len(), 4);
}

fn log(cx: &Sandbox) -> Vec<ChainedEntry> {
    let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 1_000, ..AuditQuery::default() };
    wait(cx.platform.audit(&query)).expect("the log")
}

/// One audit entry per write, with field names and never values; none for rejected or no-op writes.
fn the_audit_log(backend: Backend) {
    let cx = sandbox(backend);
    let before = log(&cx).len();
    cx.advance(1);
    let template = cx.draft_template(&note());
    cx.advance(1);
    let _ = cx.activate_template(&template);
    cx.advance(1);
    let _ = cx.edit_template(&template, &crate::support::keeping_all(note()));
    let _ = cx.edit_template(&template, &crate::support::keeping_all(note()));
    let secret = json!({ "text": "a secret answer" });
    cx.advance(1);
    let id = submit(&cx, &template, &secret).id();
    let element = json!({ "templateId": template, "formData": secret });
    cx.advance(1);
    let _ = send(&cx, "POST", BATCH, &json!({ "submissions": [element, element] })).expect(201);
    let _ = send(&cx, "POST", BATCH, &json!({ "submissions": [element, {}] })).expect(400);
    let _ = send(&cx, "POST", &format!("{BATCH}?dryRun=1"), &json!({ "submissions": [element] })).expect(200);
    let _ = try_submit(&cx, &template, &json!({ "formData": {} })).expect(400);
    let _ = change(&cx, &id, &json!({})).expect(200);
    cx.advance(1);
    let _ = change(&cx, &id, &json!({ "formData": { "more": "another secret answer" }, "reviewNotes": "secret notes", "status": "approved" })).expect(200);
    let _ = change(&cx, &id, &json!({ "formData": { "more": "x" } })).expect(409);
    cx.advance(1);
    let _ = cx.archive_template(&template);
    let entries = &log(&cx)[before..];
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "template.create",
            "template.activate",
            "template.edit",
            "submission.create",
            "submission.create",
            "submission.create",
            "submission.update",
            "template.archive",
        ]
    );
    for entry in entries {
        assert!(!entry.details.as_str().contains("secret"), "{:?}", entry.details);
        let of_submission = entry.action.as_str().starts_with("submission.");
        assert_eq!(entry.contact_id.is_some(), of_submission);
        assert_eq!(entry.actor, if of_submission { Actor::User("tester".into()) } else { operator() });
    }
    assert_eq!(entries[3].resource.as_deref(), Some(id.as_str()));
    assert_eq!(entries[6].resource.as_deref(), Some(id.as_str()));
    for name in ["formData", "reviewNotes", "status"] {
        assert!(entries[6].details.as_str().contains(name));
    }
    assert!(!entries[6].details.as_str().contains("submissionNotes"));
}

/// Erasing a contact erases its submissions and nothing else.
fn erasure(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let erased = get(&cx, "/contacts/crm-1001/chatbots/<A>").expect(200).id();
    let _ = contact(&cx, "crm-2");
    let ids = [
        submit(&cx, &template, &json!({ "text": "x" })).id(),
        submit(&cx, &template, &json!({ "text": "y" })).id(),
        draft(&cx, &template, &json!({})).id(),
    ];
    let path = submit_path(&template).replace("crm-1001", "crm-2");
    let retained = send(&cx, "POST", &path, &json!({ "formData": { "text": "x" } })).expect(201).id();
    let keyed = || {
        cx.call("POST", &submit_path(&template))
            .json(&json!({ "formData": { "text": "z" } }))
            .header("idempotency-key", "k")
            .send()
    };
    let _ = keyed().expect(201);
    let contact_ref = ContactRef::Id(erased.parse().expect("an id"));
    wait(cx.platform.erase_contact(&operator(), &cx.agent, &contact_ref)).expect("erased");
    for id in &ids {
        let _ = get(&cx, &one(id)).fails(404, "SUBMISSION_NOT_FOUND");
        let _ = change(&cx, id, &json!({})).fails(404, "SUBMISSION_NOT_FOUND");
        assert!(wait(cx.platform.submission(&cx.agent, id.parse().expect("an id"))).is_err());
    }
    // The stored response is erased with them.
    let _ = keyed().fails(404, "CONTACT_NOT_FOUND");
    let filter = SubmissionFilter { include_superseded: true, ..SubmissionFilter::default() };
    assert_eq!(wait(cx.platform.submissions(&cx.agent, &filter, None, 10)).expect("submissions").len(), 1);
    assert_eq!(to(&cx, &retained, "approved").data()["status"], "approved");
    // Another contact with the same external id starts over.
    let _ = contact(&cx, "crm-1001");
    assert_eq!(submit(&cx, &template, &json!({ "text": "x" })).data()["revision"], 1);
}
