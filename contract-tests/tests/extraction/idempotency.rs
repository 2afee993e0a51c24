//! Idempotency-Key on extractions (contract 5.5).

use std::sync::atomic::Ordering;

use contract_tests::{Backend, Form, Reply, Sandbox, on_every_backend};

use crate::support::{SCHEMA, balance, call, form, plan, sandbox_with};

on_every_backend!(replay, another_payload, failures_are_not_stored, a_replay_precedes_later_checks,);

fn ask(cx: &Sandbox, form: &Form) -> Reply {
    call(cx, form).header("idempotency-key", "k").send()
}

/// The same response, free of charge, without the engine.
fn replay(backend: Backend) {
    let (cx, script) = sandbox_with(backend, |_, _| {});
    plan(&cx, 10);
    let form = form("pages=4\ntotal: 1");
    let first = ask(&cx, &form).expect(200);
    assert_eq!(first.header("x-credits-charged"), Some("4"));
    for cx in [&cx, &cx.rebuilt(cx.ports(), |_| {})] {
        let again = ask(cx, &form).expect(200);
        assert_eq!(again.text, first.text);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.header("x-credits-charged"), Some("0"));
    }
    assert_eq!((balance(&cx), script.opened.load(Ordering::Relaxed)), ((6, 0), 1));
}

fn another_payload(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |_, _| {});
    let _ = ask(&cx, &form("total: 1")).expect(200);
    let _ = ask(&cx, &form("total: 2")).fails(422, "IDEMPOTENCY_KEY_REUSED");
    let _ = ask(&cx, &form("total: 1").text("saveToStorage", "true")).fails(422, "IDEMPOTENCY_KEY_REUSED");
    // Names of files and types of parts do not count.
    let same = Form::new().document("b.txt", b"total: 1").text("schema", SCHEMA);
    assert_eq!(ask(&cx, &same).expect(200).header("idempotent-replayed"), Some("true"));
}

fn failures_are_not_stored(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |_, _| {});
    plan(&cx, 1);
    let _ = ask(&cx, &form("pages=2")).fails(402, "INSUFFICIENT_CREDITS");
    plan(&cx, 2);
    let _ = ask(&cx, &form("pages=2")).expect(200);
}

/// A stored response precedes errors of the form, the document or the credits.
fn a_replay_precedes_later_checks(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |_, settings| settings.max_running_of_key = 1);
    plan(&cx, 1);
    let form = form("pages=1");
    let _ = ask(&cx, &form).expect(200);
    assert_eq!(ask(&cx, &form).expect(200).header("idempotent-replayed"), Some("true"));
}
