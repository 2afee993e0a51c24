//! The latest submission of a contact under a template (contract 2.3.2, 4.4).

use contract_tests::{Backend, on_every_backend};
use serde_json::json;

use crate::support::{
    NOTHING, archive_contact, contact, draft, get, keeping_all, latest, note, sandbox, send, submit,
    submit_path, to,
};

on_every_backend!(
    none_yet,
    the_newest,
    drafts_take_part_when_asked,
    archived_contact_and_inactive_template,
    absent_records,
    tags
);

fn none_yet(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let reply = get(&cx, &latest(&template)).fails(404, "SUBMISSION_NOT_FOUND");
    assert!(!reply.json["message"].as_str().expect("text").contains("draft"), "{}", reply.text);
    let drafted = draft(&cx, &template, &json!({})).id();
    let reply = get(&cx, &latest(&template)).fails(404, "SUBMISSION_NOT_FOUND");
    assert!(reply.json["message"].as_str().expect("text").contains("draft"), "{}", reply.text);
    assert_eq!(get(&cx, &format!("{}?includeDrafts=true", latest(&template))).expect(200).id(), drafted);
    // An archived draft is no longer a draft.
    let _ = to(&cx, &drafted, "archived");
    for query in ["", "?includeDrafts=1"] {
        let reply = get(&cx, &format!("{}{query}", latest(&template))).fails(404, "SUBMISSION_NOT_FOUND");
        assert!(!reply.json["message"].as_str().expect("text").contains("draft"), "{}", reply.text);
    }
}

/// By `submittedAt`, then `id`.
fn the_newest(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&keeping_all(note()));
    let early = draft(&cx, &template, &json!({ "text": "x" })).id();
    cx.advance(10);
    let first = submit(&cx, &template, &json!({ "text": "x" })).id();
    assert_eq!(get(&cx, &latest(&template)).id(), first);
    let second = submit(&cx, &template, &json!({ "text": "x" })).id();
    assert_eq!(
        get(&cx, &latest(&template)).id(),
        first.clone().max(second.clone()),
        "at the same time the greater id"
    );
    cx.advance(10);
    let _ = to(&cx, &early, "submitted");
    assert_eq!(get(&cx, &latest(&template)).id(), early, "created first, handed in last");
    let _ = to(&cx, &early, "archived");
    assert_eq!(get(&cx, &latest(&template)).id(), first.clone().max(second.clone()));
    let _ = to(&cx, &first, "rejected");
    let _ = to(&cx, &second, "archived");
    let reply = get(&cx, &latest(&template)).expect(200);
    assert_eq!((reply.id(), &reply.data()["status"]), (first, &json!("rejected")));
    assert_eq!(reply.data()["statusHistory"].as_array().map(Vec::len), Some(2));
}

/// Drafts are ordered by `createdAt`.
fn drafts_take_part_when_asked(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let with_drafts = format!("{}?includeDrafts=true", latest(&template));
    let first = draft(&cx, &template, &json!({ "text": "x" })).id();
    cx.advance(10);
    let submitted = submit(&cx, &template, &json!({ "text": "x" })).id();
    assert_eq!(get(&cx, &with_drafts).id(), submitted);
    cx.advance(10);
    let second = draft(&cx, &template, &json!({})).id();
    assert_eq!(get(&cx, &with_drafts).id(), second);
    for query in ["", "?includeDrafts=false", "?includeDrafts=", "?includeDrafts=0"] {
        assert_eq!(get(&cx, &format!("{}{query}", latest(&template))).id(), submitted);
    }
    cx.advance(10);
    let _ = to(&cx, &first, "submitted");
    assert_eq!(get(&cx, &with_drafts).id(), first);
    let _ =
        get(&cx, &format!("{}?includeDrafts=yes", latest(&template))).invalid(&[("includeDrafts", "type")]);
}

/// The contact may be archived and the template inactive.
fn archived_contact_and_inactive_template(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let _ = cx.archive_template(&template);
    archive_contact(&cx);
    assert_eq!(get(&cx, &latest(&template)).expect(200).id(), id);
    let never = cx.draft_template(&note());
    let _ = get(&cx, &latest(&never)).fails(404, "SUBMISSION_NOT_FOUND");
}

fn absent_records(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let path = |contact: &str, template: &str| {
        format!("/forms/contacts/{contact}/templates/{template}/latest/chatbots/<A>")
    };
    let reply = get(&cx, &path("nobody", NOTHING)).fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": "nobody" }));
    let reply = get(&cx, &path("crm-1001", NOTHING)).fails(404, "TEMPLATE_NOT_FOUND");
    assert_eq!(reply.json["details"], json!({ "resource": "template", "id": NOTHING }));
    assert_eq!(reply.json["message"], "Template not found");
    let reply = get(&cx, &path("crm-1001", "x%2Fy")).fails(404, "TEMPLATE_NOT_FOUND");
    assert_eq!(reply.json["details"], json!({ "resource": "template", "id": "x/y" }));
    assert_eq!(reply.json["message"], "Template not found; platform ids are 24 hexadecimal characters");
    // Another contact's submission is excluded.
    let _ = contact(&cx, "crm-2");
    let _ = send(
        &cx,
        "POST",
        &submit_path(&template).replace("crm-1001", "crm-2"),
        &json!({ "formData": { "text": "x" } }),
    )
    .expect(201);
    let _ = get(&cx, &latest(&template)).fails(404, "SUBMISSION_NOT_FOUND");
    // Upper-case digits of a platform id are the same id.
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    assert_eq!(get(&cx, &latest(&template.to_uppercase())).expect(200).id(), id);
}

fn tags(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let submitted = submit(&cx, &template, &json!({ "text": "x" }));
    let reply = get(&cx, &latest(&template)).expect(200);
    assert_eq!(reply.header("etag"), submitted.header("etag"));
    let etag = reply.header("etag").expect("a tag").to_owned();
    let ask = || cx.call("GET", &latest(&template)).header("if-none-match", &etag).send();
    let _ = ask().expect(304);
    cx.advance(10);
    let _ = submit(&cx, &template, &json!({ "text": "x" }));
    let _ = ask().expect(200);
}
