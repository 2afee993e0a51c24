//! The response of an extraction (contract 12.2), and its errors (6.1).

use std::sync::atomic::Ordering;

use contract_tests::{Backend, Form, Sandbox, on_every_backend};
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::extraction::NoExtractor;
use openapi_core::storage::AuditQuery;
use serde_json::json;

use crate::support::{Over, SCHEMA, form, sandbox, sandbox_with, send};

on_every_backend!(
    the_envelope,
    failures_of_reading,
    failures_of_the_engine,
    no_engine_at_all,
    the_deadline,
    concurrent_extractions_are_limited,
    the_audit_log,
);

fn the_envelope(backend: Backend) {
    let cx = sandbox(backend);
    let schema = r#"{"total":{"type":"string"},"due":{"type":"string","required":true}}"#;
    let form = Form::new().document("Rechnung Mai.txt", b"pages=2\ntotal: 12 EUR").text("schema", schema);
    let reply = send(&cx, &form).expect(200);
    let digest = reply.json["metadata"]["document"]["sha256"].as_str().expect("a digest").to_owned();
    assert_eq!(digest.len(), 64);
    assert_eq!(
        reply.text.replace(&digest, "SHA"),
        r#"{"success":true,"message":"Document extracted successfully","data":{"total":"12 EUR","due":null},"metadata":{"confidence":0.475,"fieldConfidences":{"total":0.95,"due":0},"validation":{"isValid":false,"errors":[{"field":"due","message":"due was not found in the document","value":null,"type":"required"}],"warnings":[],"missingRequired":["due"],"lowConfidence":[]},"processingTime":0,"document":{"fileName":"Rechnung Mai.txt","contentType":"text/plain","fileSize":21,"sha256":"SHA","pageCount":2,"characterCount":21,"ocrApplied":false,"language":"en","stored":false,"fileId":null},"usage":{"creditsCharged":0,"creditsRemaining":null},"engine":"script","fields":{"total":{"confidence":0.95,"page":null,"sourceText":"12 EUR","boundingBox":null}}}}"#
    );
    assert_eq!(reply.header("x-credits-charged"), Some("0"));
    assert_eq!(reply.header("x-credits-remaining"), None);
    assert_eq!(reply.header("etag"), None);
}

fn failures_of_reading(backend: Backend) {
    let cx = sandbox(backend);
    let _ = send(&cx, &form("encrypted")).fails(422, "DOCUMENT_ENCRYPTED");
    let _ = send(&cx, &form("damaged")).fails(422, "DOCUMENT_UNREADABLE");
    for (text, limit, actual, unit) in [
        ("many-pages", 50, 64, "pages"),
        ("many-characters", 1_000_000, 2_000_000, "characters"),
        ("many-pixels", 40_000_000, 50_000_000, "pixels"),
    ] {
        let reply = send(&cx, &form(text)).fails(413, "DOCUMENT_TOO_LARGE");
        assert_eq!(reply.json["details"], json!({ "limit": limit, "actual": actual, "unit": unit }));
    }
    let unknown = Form::new().document("a.exe", b"MZ\xff\xfe").text("schema", SCHEMA);
    let reply = send(&cx, &unknown).fails(415, "UNSUPPORTED_FILE_TYPE");
    assert_eq!(
        reply.json["details"],
        json!({ "detected": "application/octet-stream", "allowed": ["text/plain"] })
    );
}

fn failures_of_the_engine(backend: Backend) {
    let cx = sandbox(backend);
    let _ = send(&cx, &form("bad-answer")).fails(502, "EXTRACTION_FAILED");
    let _ = send(&cx, &form("slow")).fails(504, "EXTRACTION_TIMEOUT");
    let busy = send(&cx, &form("busy")).fails(503, "EXTRACTION_UNAVAILABLE");
    assert_eq!(busy.header("retry-after"), Some("7"));
    let gone = send(&cx, &form("no-engine")).fails(503, "EXTRACTION_UNAVAILABLE");
    assert_eq!(gone.header("retry-after"), Some("1"));
}

fn no_engine_at_all(backend: Backend) {
    let cx = Sandbox::new(backend);
    let without = cx.rebuilt(cx.ports().with_extractor(std::sync::Arc::new(NoExtractor)), |_| {});
    let _ = send(&without, &form("total: 1")).fails(503, "EXTRACTION_UNAVAILABLE");
}

/// Also while the document is opened, and while values are extracted.
fn the_deadline(backend: Backend) {
    let (cx, script) = sandbox_with(backend, |_, _| {});
    let ports = cx.ports().with_timer(std::sync::Arc::new(Over));
    let cx = cx.rebuilt(ports, |_| {});
    for text in ["never", "hang"] {
        let _ = send(&cx, &form(text)).fails(504, "EXTRACTION_TIMEOUT");
    }
    assert_eq!((script.opened.load(Ordering::Relaxed), script.extracted.load(Ordering::Relaxed)), (2, 1));
    // Fast extractions still get a response.
    let _ = send(&cx, &form("total: 1")).expect(200);
}

fn concurrent_extractions_are_limited(backend: Backend) {
    use std::task::{Context, Waker};

    let (cx, script) = sandbox_with(backend, |_, settings| settings.max_running_of_key = 2);
    let other = cx.issue(|_| {});
    let hang = form("hang");
    let call = crate::support::call(&cx, &hang);
    let mut running: Vec<_> = (0..2).map(|_| Box::pin(call.answer())).collect();
    let mut context = Context::from_waker(Waker::noop());
    while script.extracted.load(Ordering::Relaxed) < 2 {
        for extraction in &mut running {
            assert!(extraction.as_mut().poll(&mut context).is_pending());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let refused = send(&cx, &form("total: 1")).fails(429, "CONCURRENCY_LIMIT_EXCEEDED");
    assert_eq!(refused.json["details"], json!({ "limit": 2 }));
    assert!(refused.header("retry-after").is_some() && refused.header("ratelimit").is_some());
    // Another key has its own capacity.
    let _ = crate::support::call(&cx, &form("total: 1")).with(&other).send().expect(200);
    drop(running.pop());
    let _ = send(&cx, &form("total: 1")).expect(200);
}

/// An extraction leaves an audit entry without its document's content or name.
fn the_audit_log(backend: Backend) {
    let cx = sandbox(backend);
    let _ = send(&cx, &form("total: 47110815")).expect(200);
    let _ = send(&cx, &form("damaged")).fails(422, "DOCUMENT_UNREADABLE");
    let query = AuditQuery { agent: Some(cx.agent.clone()), after: None, newest_first: true, limit: 10 };
    let entries = contract_tests::sandbox::wait(cx.platform.audit(&query)).expect("entries");
    let noted: Vec<_> = entries.iter().filter(|entry| entry.action == AuditAction::DocumentExtract).collect();
    assert_eq!(noted.len(), 1, "{entries:?}");
    let text = serde_json::to_string(&noted[0]).expect("JSON");
    assert!(text.contains("text/plain") && !text.contains("47110815") && !text.contains("a.txt"), "{text}");
}
