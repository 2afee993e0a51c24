//! Credits (contract 13): reserved, spent, released; conserved under concurrency.

use std::task::{Context, Waker};

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use openapi_core::admin::{Admin, CreditChange};
use openapi_core::credits::CreditPool;
use openapi_core::storage::LedgerQuery;
use serde_json::json;

use crate::support::{balance, call, form, plan, sandbox, sandbox_with, send, set};

on_every_backend!(
    charged_by_page,
    charged_by_characters,
    the_plan_first,
    too_few,
    failures_cost_nothing,
    a_lost_acknowledgement,
    cancelled_extractions,
    a_crashed_server,
    unlimited_again,
    rates_of_the_agent,
    the_ledger,
    many_at_once,
    continuous_conflicts,
    of_each_agent,
);

/// The contract lists no `CONCURRENT_UPDATE` for an extraction.
fn continuous_conflicts(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    plan(&cx, 10);
    faulty.lose_races(u32::MAX);
    let reply = send(&cx, &form("total: 1")).fails(503, "SERVICE_UNAVAILABLE");
    assert!(reply.header("retry-after").is_some());
    faulty.lose_races(0);
    assert_eq!(balance(&cx), (10, 0));
    cost(&send(&cx, &form("total: 1")).expect(200), 1, 9);
}

#[track_caller]
fn cost(reply: &Reply, charged: u64, remaining: u64) {
    let usage = &reply.json["metadata"]["usage"];
    assert_eq!(usage, &json!({ "creditsCharged": charged, "creditsRemaining": remaining }));
    assert_eq!(reply.header("x-credits-charged"), Some(charged.to_string().as_str()));
    assert_eq!(reply.header("x-credits-remaining"), Some(remaining.to_string().as_str()));
}

fn charged_by_page(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 100);
    cost(&send(&cx, &form("pages=1\ntotal: 1")).expect(200), 1, 99);
    cost(&send(&cx, &form("pages=17\ntotal: 1")).expect(200), 17, 82);
    cost(&send(&cx, &form("pages=0\ntotal: 1")).expect(200), 1, 81);
    assert_eq!(balance(&cx), (81, 0));
}

fn charged_by_characters(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 100);
    cost(&send(&cx, &form("x")).expect(200), 1, 99);
    cost(&send(&cx, &form(&"x".repeat(3_000))).expect(200), 1, 98);
    cost(&send(&cx, &form(&"x".repeat(3_001))).expect(200), 2, 96);
}

fn the_plan_first(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 3);
    set(&cx, CreditPool::TopUp, 5);
    cost(&send(&cx, &form("pages=4")).expect(200), 4, 4);
    let account = wait(cx.platform.credits(&cx.agent)).expect("an account");
    assert_eq!((account.plan, account.top_up), (0, 4));
}

fn too_few(backend: Backend) {
    let (cx, script) = sandbox_with(backend, |_, _| {});
    plan(&cx, 1);
    let reply = send(&cx, &form("pages=2")).fails(402, "INSUFFICIENT_CREDITS");
    assert_eq!(reply.json["message"], "The extraction needs 2 credits, 1 is available");
    assert_eq!(reply.json["details"], json!({ "required": 2, "available": 1 }));
    assert_eq!(script.extracted.load(std::sync::atomic::Ordering::Relaxed), 0, "nothing runs");
    cost(&send(&cx, &form("pages=1")).expect(200), 1, 0);
    let _ = send(&cx, &form("pages=1")).fails(402, "INSUFFICIENT_CREDITS");
    // Examples are free.
    let _ = cx.get("/document-extraction/schema-examples").expect(200);
}

fn failures_cost_nothing(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    for (text, status) in
        [("bad-answer\npages=9", 502), ("slow\npages=9", 504), ("busy\npages=9", 503), ("damaged", 422)]
    {
        assert_eq!(send(&cx, &form(text)).status, status);
        assert_eq!(balance(&cx), (10, 0), "{text}");
    }
    assert_eq!(ledger(&cx).len(), 1);
}

/// The store connection breaks after the charge: nobody receives the response, so it costs nothing and leaves no
/// document. With an idempotency key the request can be repeated, and is charged once.
fn a_lost_acknowledgement(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    plan(&cx, 10);
    let form = form("pages=4\ntotal: 1").text("saveToStorage", "true");
    let ask = || call(&cx, &form).header("idempotency-key", "k").send();
    let count = |cx: &Sandbox, kind: &str| ledger(cx).iter().filter(|entry| entry.0 == kind).count();
    let retained = |cx: &Sandbox| wait(cx.platform.documents(&cx.agent, None, 10)).expect("documents").len();
    // The acknowledgement of the charge is lost, then also those of one and of two refunds.
    for lost in 1..=3 {
        faulty.lose_answers_of_credits(1, lost);
        let _ = send(&cx, &form).fails(503, "SERVICE_UNAVAILABLE");
        for _ in 1..=lost {
            let _ = wait(cx.platform.maintain());
        }
        wait(cx.platform.maintain()).expect("nothing is left to do");
        assert_eq!((balance(&cx), retained(&cx)), ((10, 0), 0), "{lost}");
        assert_eq!((count(&cx, "charge"), count(&cx, "refund")), (lost as usize, lost as usize));
    }
    faulty.lose_answers_of_credits(1, 1);
    let _ = ask().fails(503, "SERVICE_UNAVAILABLE");
    assert_eq!((balance(&cx), retained(&cx)), ((6, 0), 1));
    let again = ask().expect(200);
    assert_eq!(
        (again.header("idempotent-replayed"), again.header("x-credits-charged")),
        (Some("true"), Some("0"))
    );
    assert_eq!((balance(&cx), retained(&cx)), ((6, 0), 1));
    let sum: i64 = ledger(&cx).iter().map(|entry| entry.1 + entry.2).sum();
    assert_eq!(sum, 6);
}

/// Polls an extraction that never ends until its credits are reserved, and drops it.
#[track_caller]
fn begin_and_drop(cx: &Sandbox, text: &str) {
    let form = form(text);
    let call = call(cx, &form);
    let mut running = Box::pin(call.answer());
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..5_000 {
        assert!(running.as_mut().poll(&mut context).is_pending());
        if balance(cx).1 > 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("nothing was reserved");
}

/// A client that disconnects is not charged: periodic maintenance releases the reservation, and so does the next
/// extraction.
fn cancelled_extractions(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    begin_and_drop(&cx, "hang\npages=9");
    assert_eq!(balance(&cx), (1, 9));
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(balance(&cx), (10, 0));
    begin_and_drop(&cx, "hang\npages=9");
    assert_eq!(balance(&cx), (1, 9));
    cost(&send(&cx, &form("pages=10")).expect(200), 10, 0);
}

fn a_crashed_server(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 10);
    begin_and_drop(&cx, "hang\npages=9");
    let (other, _) = (cx.restarted(), ());
    let other = other.rebuilt(cx.ports(), |_| {});
    assert_eq!(send(&other, &form("pages=2")).status, 402);
    // The deadline plus a minute.
    cx.advance(180_001);
    cost(&send(&other, &form("pages=2")).expect(200), 2, 8);
    assert_eq!(balance(&cx), (8, 0));
    // The reservation that the first server wants to release is already gone.
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(balance(&cx), (8, 0));
}

fn unlimited_again(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 1);
    let change = |unlimited| {
        let change = CreditChange::Unlimited(unlimited);
        let _ = wait(cx.platform.change_credits(&operator(), &cx.agent, &change)).expect("it is changed");
    };
    change(true);
    let reply = send(&cx, &form("pages=50")).expect(200);
    assert_eq!(reply.json["metadata"]["usage"], json!({ "creditsCharged": 0, "creditsRemaining": null }));
    assert_eq!(reply.header("x-credits-remaining"), None);
    change(false);
    let _ = send(&cx, &form("pages=50")).fails(402, "INSUFFICIENT_CREDITS");
    assert_eq!(balance(&cx), (1, 0));
}

fn rates_of_the_agent(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 100);
    let change = CreditChange::Rates { per_page: Some(5), characters_per_page: Some(10) };
    let _ = wait(cx.platform.change_credits(&operator(), &cx.agent, &change)).expect("it is changed");
    cost(&send(&cx, &form("pages=2")).expect(200), 10, 90);
    cost(&send(&cx, &form("01234567890")).expect(200), 10, 80);
    for bad in [
        CreditChange::Rates { per_page: None, characters_per_page: Some(0) },
        CreditChange::Rates { per_page: Some(1_000_001), characters_per_page: None },
        CreditChange::TopUp { credits: 0, note: None },
        CreditChange::TopUp { credits: u64::MAX, note: None },
        CreditChange::Set { pool: CreditPool::Plan, credits: u64::MAX, note: None },
    ] {
        assert!(wait(cx.platform.change_credits(&operator(), &cx.agent, &bad)).is_err(), "{bad:?}");
    }
}

fn ledger(cx: &Sandbox) -> Vec<(&'static str, i64, i64, u64)> {
    let query = LedgerQuery { agent: cx.agent.clone(), before: None, limit: 1_000 };
    let entries = wait(cx.platform.credit_entries(&query)).expect("entries");
    entries.iter().map(|entry| (entry.kind.as_str(), entry.plan, entry.top_up, entry.available)).collect()
}

fn the_ledger(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 2);
    cx.advance(1_000);
    let change = CreditChange::TopUp { credits: 3, note: Some("Order 1".to_owned()) };
    let _ = wait(cx.platform.change_credits(&operator(), &cx.agent, &change)).expect("it is topped up");
    cx.advance(1_000);
    let _ = send(&cx, &form("pages=4")).expect(200);
    cx.advance(1_000);
    plan(&cx, 10);
    assert_eq!(
        ledger(&cx),
        [("set", 10, 0, 11), ("charge", -2, -2, 1), ("topUp", 0, 3, 5), ("set", 2, 0, 2)]
    );
}

/// As many extractions succeed as there are credits; the ledger adds up to the balance.
fn many_at_once(backend: Backend) {
    let (cx, _) = sandbox_with(backend, |_, settings| settings.max_running_of_key = 64);
    plan(&cx, 7);
    let keys: Vec<_> = (0..2).map(|_| cx.issue(|_| {})).collect();
    let replies: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|at| {
                let (cx, key) = (&cx, &keys[at % 2]);
                scope.spawn(move || {
                    loop {
                        let reply = call(cx, &form("pages=1\ntotal: 1")).with(key).send();
                        // Lost too many races against the others: nothing was charged.
                        if reply.status != 409 {
                            return reply.status;
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a reply")).collect()
    });
    assert_eq!(replies.iter().filter(|status| **status == 200).count(), 7, "{replies:?}");
    assert!(replies.iter().all(|status| matches!(status, 200 | 402)), "{replies:?}");
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(balance(&cx), (0, 0));
    assert_eq!(ledger(&cx).iter().map(|(_, plan, top_up, _)| plan + top_up).sum::<i64>(), 0);
}

fn of_each_agent(backend: Backend) {
    let cx = sandbox(backend);
    plan(&cx, 1);
    let other = cx.new_agent("other");
    let key = cx.issue(|key| key.agent_id = other.clone());
    let reply = call(&cx, &form("pages=9")).with(&key).send().expect(200);
    assert_eq!(reply.json["metadata"]["usage"]["creditsRemaining"], json!(null));
    assert_eq!(balance(&cx), (1, 0));
    assert!(wait(cx.platform.credits(&other)).expect("an account").unlimited);
}
