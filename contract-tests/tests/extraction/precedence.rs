//! Which of several errors is reported (contract 6.3).

use contract_tests::{Backend, Form, on_every_backend};

use crate::support::{PATH, SCHEMA, form, plan, sandbox, sandbox_with, send};

on_every_backend!(checks_run_in_this_order,);

fn checks_run_in_this_order(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |files, settings| {
        files.max_bytes_of_agent = Some(100);
        settings.max_running_of_key = 0;
    });
    plan(&cx, 0);
    let reader = cx.key_that_may("document-extraction:read");
    let unknown = |schema: &str| Form::new().document("a", b"\xff\xfe\x00").text("schema", schema);
    // 6 before 8: permissions before the body.
    let _ = cx
        .call("POST", PATH)
        .with(&reader)
        .json(&serde_json::json!({}))
        .send()
        .fails(403, "INSUFFICIENT_PERMISSIONS");
    // 8 before 11: an unterminated body before its content.
    let _ = cx
        .call("POST", PATH)
        .bytes(&unknown("[]").unclosed())
        .header("content-type", &form("").content_type())
        .send()
        .fails(400, "BAD_REQUEST");
    // 11 before 12: the type of the document before the schema.
    let _ = send(&cx, &unknown("[]")).fails(415, "UNSUPPORTED_FILE_TYPE");
    // Step 11 does not apply to a repeated or empty document.
    let _ = send(&cx, &unknown("[]").document("b", b"\xff")).fails(400, "VALIDATION_ERROR");
    // 12 before 14: validation before the quota.
    let save = |form: Form| form.text("saveToStorage", "true");
    let long = "x".repeat(200);
    let bad = save(Form::new().document("a", long.as_bytes()).text("schema", "[]"));
    let _ = send(&cx, &bad).fails(400, "VALIDATION_ERROR");
    // 14 before 15: the quota before the number of extractions.
    let _ = send(&cx, &save(form(&long))).fails(403, "STORAGE_QUOTA_EXCEEDED");
    // Within 15: the number of extractions before the content.
    let _ = send(&cx, &form("encrypted")).fails(429, "CONCURRENCY_LIMIT_EXCEEDED");
    // 422 and 413 before 402.
    let cx = sandbox(backend);
    plan(&cx, 0);
    let _ = send(&cx, &form("encrypted")).fails(422, "DOCUMENT_ENCRYPTED");
    let _ = send(&cx, &form("many-pages")).fails(413, "DOCUMENT_TOO_LARGE");
    // 402 before the engine.
    let busy = Form::new().document("a", b"busy").text("schema", SCHEMA);
    let _ = send(&cx, &busy).fails(402, "INSUFFICIENT_CREDITS");
}
