//! HTTP and typed calls have the same outcome: two sandboxes with equal clocks and ids run one history.

use contract_tests::sandbox::{object, wait};
use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::endpoints::forms::{
    Batch, Get, Latest, List, Schema, Structure, Submit, Templates, Update,
};
use openapi_core::operation::Operation;
use openapi_core::service::{
    ContactTarget, LatestSubmission, ListSubmissions, ListTemplates, PageRequest, PageStart,
    SubmissionListQuery, SubmitForm, SubmitForms, UpdateSubmission,
};
use openapi_core::validation::Violations;
use serde_json::{Value, json};

use crate::support::{ALL, BATCH, get, latest, note, one, sandbox, send, submit_path};

on_every_backend!(one_history);

/// The outcome on both sides: status or code, the record or the errors, the location and the tag.
type Outcome = (u16, Value, Option<String>, Option<String>);

fn of_reply(reply: &Reply) -> Outcome {
    if reply.status >= 400 {
        let errors = reply.json.get("validationErrors").cloned().unwrap_or(json!([]));
        return (reply.status, json!([reply.code(), reply.json["message"], errors]), None, None);
    }
    let header = |name: &str| reply.header(name).map(str::to_owned);
    (reply.status, reply.data().clone(), header("location"), header("etag"))
}

fn called<Op: Operation<Caller = Caller>>(cx: &Sandbox, input: Op::Input) -> Outcome {
    let caller = Caller {
        agent_id: cx.agent.clone(),
        actor: Actor::User("tester".into()),
        permissions: Permissions::all(),
        address: None,
        request_id: "test".into(),
    };
    // HTTP draws a request id, so this side does too.
    let _ = cx.call("GET", "/health").send();
    match wait(cx.api.call::<Op>(&caller, input)) {
        Ok(reply) => {
            (reply.status, serde_json::to_value(&reply.data).expect("JSON"), reply.location, reply.etag)
        }
        Err(error) => {
            let errors = serde_json::to_value(error.violations()).expect("JSON");
            (error.code().status(), json!([error.code().as_str(), error.message(), errors]), None, None)
        }
    }
}

fn contact() -> ContactTarget {
    ContactTarget::External("crm-1001".to_owned())
}

fn one_history(backend: Backend) {
    let (http, typed) = (sandbox(backend), sandbox(backend));
    let template = http.template(&note());
    assert_eq!(typed.template(&note()), template, "equal ids");
    let same = |over_http: Outcome, by_call: Outcome| -> Value {
        assert_eq!(over_http, by_call);
        http.advance(10);
        typed.advance(10);
        over_http.1
    };
    let submit = |body: Value, dry_run: bool| {
        let path = format!("{}?dryRun={dry_run}", submit_path(&template));
        let over_http = of_reply(&send(&http, "POST", &path, &body));
        let body = object(&body).into();
        let request =
            SubmitForm { template: template.clone(), contact: contact(), body, dry_run, idempotency: None };
        same(over_http, called::<Submit>(&typed, request))
    };
    let first = submit(json!({ "formData": { "text": "x", "count": 1.50 }, "clientId": "c" }), false);
    let _ = submit(json!({ "formData": { "text": "x" } }), true);
    let _ = submit(json!({ "formData": { "text": 1, "y": 2 } }), false);
    let draft = submit(json!({ "formData": {}, "status": "draft" }), false);
    let element = json!({ "templateId": template, "formData": { "text": "y" } });
    for body in [
        json!({ "submissions": [element] }),
        json!({ "submissions": [element, element] }),
        json!({ "submissions": [element, {}], "allOrNone": false }),
        json!({}),
    ] {
        let over_http = of_reply(&send(&http, "POST", BATCH, &body));
        let body = object(&body).into();
        let request = SubmitForms { contact: contact(), body, dry_run: false, idempotency: None };
        let _ = same(over_http, called::<Batch>(&typed, request));
    }
    for (record, body) in [
        (&draft, json!({ "formData": { "more": "m" } })),
        (&draft, json!({ "status": "submitted" })),
        (&draft, json!({ "status": "submitted", "formData": { "text": "z" } })),
        (&draft, json!({})),
        (&first, json!({ "reviewNotes": "late" })),
        (&first, json!({ "status": "archived" })),
    ] {
        let id = record["id"].as_str().expect("an id");
        let over_http = of_reply(&send(&http, "PUT", &one(id), &body));
        let request =
            UpdateSubmission { submission: id.to_owned(), body: object(&body).into(), if_match: None };
        let _ = same(over_http, called::<Update>(&typed, request));
        let over_http = of_reply(&get(&http, &one(id)));
        let _ = same(over_http, called::<Get>(&typed, (id.to_owned(), Violations::new())));
    }
    let page = |limit: u32| PageRequest { limit, start: PageStart::Page(1) };
    let query =
        SubmissionListQuery { include_superseded: true, page: page(2), ..SubmissionListQuery::default() };
    let over_http = of_reply(&get(&http, &format!("{ALL}?includeSuperseded=true&limit=2")));
    let request = ListSubmissions { contact: contact(), query: query.into() };
    let _ = same(over_http, called::<List>(&typed, request));
    let over_http = of_reply(&get(&http, &latest(&template)));
    let request =
        LatestSubmission { contact: contact(), template: template.clone(), include_drafts: false.into() };
    let _ = same(over_http, called::<Latest>(&typed, request));
    let over_http = of_reply(&get(&http, "/forms/templates/chatbots/<A>?limit=5"));
    let _ = same(over_http, called::<Templates>(&typed, ListTemplates { page: page(5).into() }));
    let over_http = of_reply(&get(&http, &format!("/forms/templates/{template}/schema/chatbots/<A>")));
    let _ = same(over_http, called::<Schema>(&typed, (template.clone(), Violations::new())));
    let over_http = of_reply(&get(&http, &format!("/forms/templates/{template}/structure/chatbots/<A>")));
    let _ = same(over_http, called::<Structure>(&typed, (template.clone(), Violations::new())));
}
