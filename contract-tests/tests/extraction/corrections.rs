//! Corrections of extractions (contract 12.7).

use std::sync::{Arc, Mutex};

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Sandbox, on_every_backend};
use corrections::{Correction, Corrections};
use futures_util::TryStreamExt;
use openapi_core::access::Caller;
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::json::{Json, Object};
use openapi_core::platform::{ExtractionSettings, FileSettings};
use openapi_core::ports::IdGenerator;
use openapi_core::reply::ApiError;
use openapi_core::service::OpenApiService;
use openapi_core::storage::AuditQuery;
use serde_json::{Value, json};

use crate::jobs::{JOBS, documents, ended, of_contact, queue, queued, run_until, upload};
use crate::support::{form, sandbox, sandbox_with};

on_every_backend!(
    a_correction_outlives_its_job,
    the_removal_of_a_job_removes_its_correction,
    another_correction_is_not_lost,
    a_job_that_goes_meanwhile_is_not_corrected,
    a_correction_needs_the_document,
    a_correction_of_a_contact_goes_with_it,
    a_correction_needs_room,
    wrong_values_are_refused,
);

fn of(cx: &Sandbox) -> Corrections<'_> {
    Corrections::of(&cx.platform)
}

fn caller(cx: &Sandbox) -> Caller {
    cx.platform.operator(&operator(), &cx.agent)
}

fn object(value: &Value) -> Object {
    match Json::from(value) {
        Json::Object(members) => members,
        other => panic!("not an object: {other:?}"),
    }
}

fn correct(cx: &Sandbox, id: &str, values: &Value) -> Result<Correction, ApiError> {
    wait(of(cx).correct(&caller(cx), id, &object(values)))
}

fn refused(cx: &Sandbox, id: &str, values: &Value) -> &'static str {
    correct(cx, id, values).expect_err("refused").code().as_str()
}

fn document_of(cx: &Sandbox, correction: &Correction) -> Option<Vec<u8>> {
    let content = wait(of(cx).document(&cx.agent, correction)).expect("read")?;
    Some(wait(content.try_collect::<Vec<_>>()).expect("read").concat())
}

fn all(cx: &Sandbox) -> Vec<Correction> {
    wait(of(cx).list(&cx.agent, None, 10)).expect("corrections")
}

/// What the audit log says of corrections, the newest first.
fn audited(cx: &Sandbox) -> Vec<(String, String)> {
    let query = AuditQuery { agent: Some(cx.agent.clone()), after: None, newest_first: true, limit: 100 };
    let entries = wait(cx.platform.audit(&query)).expect("the log").into_iter().map(|chained| chained.entry);
    let about = entries.filter(|entry| entry.action.as_str().contains("orrect"));
    about.map(|entry| (entry.action.as_str().to_owned(), entry.details.as_str().to_owned())).collect()
}

fn saved(cx: &Sandbox, text: &str) -> String {
    let id = queue(cx, &form(text).text("saveToStorage", "true")).expect(201).id();
    let _ = ended(cx, &id);
    id
}

fn a_correction_outlives_its_job(backend: Backend) {
    let cx = sandbox(backend);
    let id = saved(&cx, "total: 7");
    let first = correct(&cx, &id, &json!({})).expect("the result is right");
    assert_eq!(first.expected.as_str(), r#"{"total":"7"}"#);
    assert_eq!(documents(&cx), 2, "a copy");
    let corrected = correct(&cx, &id, &json!({ "total": "8" })).expect("corrected");
    assert_eq!(corrected.expected.as_str(), r#"{"total":"8"}"#);
    assert_eq!((documents(&cx), corrected.copy), (2, first.copy), "the same copy");
    assert_eq!((corrected.schema.as_str(), &corrected.by), (crate::support::SCHEMA, &operator()));
    let changed = |names: &str| ("document.correct".to_owned(), format!(r#"{{"changed":[{names}]}}"#));
    assert_eq!(audited(&cx), [changed(r#""total""#), changed("")]);

    cx.advance(365 * 24 * 3_600_000);
    run_until(&cx, || cx.get(&format!("{JOBS}/{id}")).status == 404);
    wait(cx.platform.maintain()).expect("maintained");
    let shown = wait(of(&cx).find(&cx.agent, &id)).expect("there");
    assert_eq!(document_of(&cx, &shown).as_deref(), Some(&b"total: 7"[..]), "after the job and its document");
    assert_eq!((all(&cx).len(), documents(&cx)), (1, 1));
    assert_eq!(refused(&cx, &id, &json!({})), "JOB_NOT_FOUND", "a job that is gone is not corrected again");

    let other = Sandbox::of_agent(&cx, "other");
    assert_eq!(all(&other).len(), 0);
    let removed = wait(of(&other).remove(&caller(&other), &id));
    assert_eq!(removed.expect_err("another agent's").code().as_str(), "JOB_NOT_FOUND");
    let _ = wait(of(&cx).remove(&caller(&cx), &id)).expect("removed");
    wait(cx.platform.maintain()).expect("maintained");
    assert_eq!((all(&cx).len(), documents(&cx)), (0, 0));
    assert_eq!(document_of(&cx, &shown), None);
    assert_eq!(audited(&cx)[0], ("document.removeCorrection".to_owned(), "{}".to_owned()));
    let again = wait(of(&cx).remove(&caller(&cx), &id));
    assert_eq!(again.expect_err("gone").message(), "Correction not found");
}

fn the_removal_of_a_job_removes_its_correction(backend: Backend) {
    let cx = sandbox(backend);
    let (id, other) = (saved(&cx, "total: 7"), saved(&cx, "total: 8"));
    let corrected = correct(&cx, &id, &json!({})).expect("corrected");
    let _ = correct(&cx, &other, &json!({})).expect("corrected");
    assert_eq!(documents(&cx), 4);
    let _ = cx.call("DELETE", &format!("{JOBS}/{id}")).send().expect(200);
    let left: Vec<String> = all(&cx).iter().map(|correction| correction.job.to_string()).collect();
    assert_eq!((left, documents(&cx)), (vec![other], 2), "its document and the copy are gone");
    assert_eq!(document_of(&cx, &corrected), None);
}

/// Random bytes; something else happens first, once, when it is set.
struct First {
    ids: Arc<dyn IdGenerator>,
    what: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl IdGenerator for First {
    fn fill(&self, bytes: &mut [u8]) {
        let what = self.what.lock().expect("not poisoned").take();
        what.into_iter().for_each(|what| what());
        self.ids.fill(bytes);
    }
}

/// Corrects an extraction while its document is copied and something else happens.
fn correct_after(
    cx: &Sandbox,
    id: &str,
    values: &Value,
    what: impl FnOnce() + Send + 'static,
) -> Result<Correction, ApiError> {
    let mut ports = cx.ports();
    let first = Arc::new(First { ids: ports.ids, what: Mutex::new(None) });
    ports.ids = Arc::clone(&first) as _;
    let racing = cx.deciding(ports, FileSettings::default(), ExtractionSettings::default());
    *first.what.lock().expect("not poisoned") = Some(Box::new(what));
    correct(&racing, id, values)
}

fn another_correction_is_not_lost(backend: Backend) {
    let cx = sandbox(backend);
    let id = saved(&cx, "total: 7");
    let (platform, caller, job) = (Arc::clone(&cx.platform), caller(&cx), id.clone());
    let last = correct_after(&cx, &id, &json!({ "total": "9" }), move || {
        let values = object(&json!({ "total": "8" }));
        let _ = wait(Corrections::of(&platform).correct(&caller, &job, &values)).expect("corrected");
    });
    let last = last.expect("corrected");
    assert_eq!(audited(&cx).len(), 2, "one after the other");
    assert_eq!((all(&cx)[0].expected.as_str(), last.copy), (r#"{"total":"9"}"#, all(&cx)[0].copy));
    assert_eq!(documents(&cx), 2, "with one copy");
}

fn a_job_that_goes_meanwhile_is_not_corrected(backend: Backend) {
    let cx = sandbox(backend);
    let id = saved(&cx, "total: 7");
    let (platform, caller, job) = (Arc::clone(&cx.platform), caller(&cx), id.clone());
    let outcome = correct_after(&cx, &id, &json!({}), move || {
        let _ = wait(platform.delete_extraction(&caller, &job)).expect("removed");
    });
    assert_eq!(outcome.expect_err("refused").code().as_str(), "JOB_NOT_FOUND");
    assert_eq!((all(&cx).len(), documents(&cx)), (0, 0));
}

fn a_correction_needs_the_document(backend: Backend) {
    let cx = sandbox(backend);
    let id = queued(&cx, "total: 7");
    assert_eq!(refused(&cx, &id, &json!({})), "CONFLICT", "it has not ended");
    let _ = ended(&cx, &id);
    assert_eq!(refused(&cx, &id, &json!({})), "FILE_NOT_FOUND", "its document was not to be saved");
    assert_eq!(refused(&cx, "7", &json!({})), "JOB_NOT_FOUND");
    // A job without a result has none of the values that are left out.
    let failed = saved(&cx, "bad-answer");
    let corrected = correct(&cx, &failed, &json!({})).expect("corrected");
    assert_eq!(corrected.expected.as_str(), r#"{"total":null}"#);
    // What the operator purges is gone.
    let _ = wait(cx.platform.purge_files(&operator(), &cx.agent)).expect("purged");
    assert_eq!((documents(&cx), document_of(&cx, &corrected)), (0, None));
    assert_eq!(refused(&cx, &failed, &json!({})), "FILE_NOT_FOUND");
}

fn a_correction_of_a_contact_goes_with_it(backend: Backend) {
    let cx = sandbox(backend);
    let (contact, file) = upload(&cx, "total: 7");
    let id = queue(&cx, &of_contact(&contact, &file)).expect(201).id();
    let _ = ended(&cx, &id);
    let corrected = correct(&cx, &id, &json!({ "total": null })).expect("corrected");
    assert_eq!(corrected.expected.as_str(), r#"{"total":null}"#);
    assert_eq!(documents(&cx), 0, "the file of the contact is the document");
    assert_eq!(document_of(&cx, &corrected).as_deref(), Some(&b"total: 7"[..]));
    let path = format!("/files/chatbots/{}/{contact}/files/{file}", cx.agent);
    let _ = cx.call("DELETE", &path).send().expect(200);
    assert_eq!((document_of(&cx, &corrected), all(&cx).len()), (None, 1), "the values stay");
    assert_eq!(refused(&cx, &id, &json!({})), "FILE_NOT_FOUND");
    let contact = ContactRef::Id(contact.parse().expect("an id"));
    let _ = wait(cx.platform.erase_contact(&operator(), &cx.agent, &contact)).expect("erased");
    assert_eq!(all(&cx).len(), 0);
    let details: Vec<String> = audited(&cx).into_iter().map(|entry| entry.1).collect();
    assert_eq!(details, ["{}"], "the entry says nothing of the contact");
}

fn a_correction_needs_room(backend: Backend) {
    // Room for one such document, however it is sealed, and not for its copy.
    let (cx, _) = sandbox_with(backend, |files, _| files.max_bytes_of_agent = Some(1_900));
    let id = saved(&cx, &format!("total: 7\n{}", "x".repeat(1_000)));
    assert_eq!(refused(&cx, &id, &json!({})), "STORAGE_QUOTA_EXCEEDED");
    assert_eq!((all(&cx).len(), documents(&cx)), (0, 1), "nothing is left");
}

fn wrong_values_are_refused(backend: Backend) {
    let cx = sandbox(backend);
    let id = saved(&cx, "total: 7");
    let error = correct(&cx, &id, &json!({ "total": 7, "sum": "7" })).expect_err("refused");
    let faults: Vec<&str> = error.violations().iter().map(|fault| &*fault.message).collect();
    assert_eq!(faults, ["values.total must be a string", "values.sum is not a field of the schema"]);
    assert_eq!((all(&cx).len(), documents(&cx)), (0, 1), "nothing is stored");
}
