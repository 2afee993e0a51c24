//! Rate limits per key (contract 8.1, 8.2).

use contract_tests::rules::windows;
use contract_tests::sandbox::instant;
use contract_tests::{Backend, Credentials, Reply, Sandbox, on_every_backend, story};
use openapi_core::access::RateLimits;
use serde_json::json;

on_every_backend!(
    the_example,
    the_minute_exactly,
    the_hour_exactly,
    the_window_slides,
    the_tighter_window_is_shown,
    both_exhausted,
    what_counts,
    what_does_not_count,
    a_refused_request_does_not_count,
    each_key_has_its_own,
    lowered_limits,
    never_more_than_the_limit_in_any_window,
    parallel_requests_do_not_exceed,
    defaults,
);

const LIST: &str = "/contacts/chatbots/<A>";

fn limited(cx: &Sandbox, per_minute: u32, per_hour: u32) -> Credentials {
    cx.issue(|key| key.limits = RateLimits { per_minute, per_hour })
}

fn ask(cx: &Sandbox, key: &Credentials) -> Reply {
    cx.call("GET", LIST).with(key).send()
}

fn header(reply: &Reply, name: &str) -> String {
    reply.header(name).unwrap_or_else(|| panic!("no {name}")).to_owned()
}

/// The example of contract 6.4, literally: 60 a minute exhausted, 812 of the hour left.
fn the_example(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 60, 1_000);
    // 128 requests in the previous hour, the oldest 2,396 s ago.
    cx.clock.set(instant("2026-01-31T10:00:04.000Z"));
    let _ = ask(&cx, &key).expect(200);
    for minute in ["10:10", "10:12", "10:14"] {
        cx.clock.set(instant(&format!("2026-01-31T{minute}:00.000Z")));
        for _ in 0..if minute == "10:14" { 37 } else { 45 } {
            let _ = ask(&cx, &key).expect(200);
        }
    }
    cx.clock.set(instant("2026-01-31T10:39:18.000Z"));
    for _ in 0..60 {
        let _ = ask(&cx, &key).expect(200);
    }
    cx.clock.set(instant("2026-01-31T10:40:00.000Z"));
    let reply = cx.call("GET", LIST).with(&key).header("x-request-id", story::REQUEST_ID).send();
    let reply = reply.fails(429, "RATE_LIMIT_EXCEEDED");
    for (name, value) in [
        ("content-type", "application/json; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-request-id", "019c13a3-6137-710c-9fa1-91a5ee824f39"),
        ("retry-after", "18"),
        ("x-ratelimit-limit", "60"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1769856018"),
        ("ratelimit-policy", "\"minute\";q=60;w=60, \"hour\";q=1000;w=3600"),
        ("ratelimit", "\"minute\";r=0;t=18, \"hour\";r=812;t=1204"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    let expected = json!({ "success": false, "message": "Rate limit of 60 requests per minute exceeded; retry in 18 s", "code": "RATE_LIMIT_EXCEEDED", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39",
      "details": { "window": "minute", "limit": 60, "retryAfterSeconds": 18 } });
    assert_eq!(reply.text, expected.to_string());
    cx.advance(18_000);
    let _ = ask(&cx, &key).expect(200);
}

fn the_minute_exactly(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 5, 100);
    for left in (0..5).rev() {
        let reply = ask(&cx, &key).expect(200);
        assert_eq!(header(&reply, "x-ratelimit-remaining"), left.to_string());
        assert_eq!(reply.header("retry-after"), None);
    }
    cx.advance(59_999);
    let reply = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(
        (reply.header("retry-after"), header(&reply, "ratelimit")),
        (Some("1"), "\"minute\";r=0;t=1, \"hour\";r=95;t=3541".into())
    );
    cx.advance(1);
    let _ = ask(&cx, &key).expect(200);
}

fn the_hour_exactly(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 5, 12);
    for _ in 0..3 {
        for _ in 0..4 {
            let _ = ask(&cx, &key).expect(200);
        }
        cx.advance(60_000);
    }
    let reply = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(reply.json["details"], json!({ "window": "hour", "limit": 12, "retryAfterSeconds": 3_420 }));
    assert_eq!(reply.json["message"], "Rate limit of 12 requests per hour exceeded; retry in 3420 s");
    assert_eq!(reply.header("retry-after"), Some("3420"));
    cx.advance(3_420_000 - 1);
    let _ = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    cx.advance(1);
    let _ = ask(&cx, &key).expect(200);
}

fn the_window_slides(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 2, 100);
    cx.clock.set(instant("2026-01-31T10:00:59.000Z"));
    let _ = ask(&cx, &key).expect(200);
    cx.clock.set(instant("2026-01-31T10:01:01.000Z"));
    let _ = ask(&cx, &key).expect(200);
    // A fixed window would have restarted.
    cx.clock.set(instant("2026-01-31T10:01:58.999Z"));
    let _ = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    cx.clock.set(instant("2026-01-31T10:01:59.000Z"));
    let _ = ask(&cx, &key).expect(200);
    let reply = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(reply.header("retry-after"), Some("2"));
}

fn the_tighter_window_is_shown(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 4, 6);
    let shown = |reply: &Reply| {
        (
            header(reply, "x-ratelimit-limit"),
            header(reply, "x-ratelimit-remaining"),
            header(reply, "x-ratelimit-reset"),
        )
    };
    let pair = |limit: &str, left: &str, reset: &str| (limit.to_owned(), left.to_owned(), reset.to_owned());
    cx.clock.set(instant("2026-01-31T10:40:00.000Z"));
    assert_eq!(shown(&ask(&cx, &key)), pair("4", "3", "1769856060"));
    cx.clock.set(instant("2026-01-31T10:40:30.000Z"));
    assert_eq!(shown(&ask(&cx, &key)), pair("4", "2", "1769856060"));
    cx.clock.set(instant("2026-01-31T10:41:00.000Z"));
    // The first has left the minute: 4 − 2 = 2 remain there, 6 − 3 = 3 in the hour.
    assert_eq!(shown(&ask(&cx, &key)), pair("4", "2", "1769856090"));
    cx.clock.set(instant("2026-01-31T10:42:00.000Z"));
    // 3 remain in the minute, 2 in the hour, whose oldest leaves at 11:40:00.
    assert_eq!(shown(&ask(&cx, &key)), pair("6", "2", "1769859600"));
    // On a tie the longer window: 1 remains in both windows of another key.
    let key = limited(&cx, 2, 2);
    assert_eq!(shown(&ask(&cx, &key)), pair("2", "1", "1769859720"));
}

fn both_exhausted(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 2, 2);
    for _ in 0..2 {
        let _ = ask(&cx, &key).expect(200);
    }
    let reply = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(reply.header("retry-after"), Some("3600"), "the larger");
    assert_eq!(reply.json["details"]["window"], "hour");
    // The hour may be about to end while the minute has just begun.
    let key = limited(&cx, 1, 2);
    let _ = ask(&cx, &key).expect(200);
    cx.advance(3_590_000);
    let _ = ask(&cx, &key).expect(200);
    let reply = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(reply.header("retry-after"), Some("60"));
    assert_eq!(reply.json["details"], json!({ "window": "minute", "limit": 1, "retryAfterSeconds": 60 }));
}

/// Every authenticated request past the address allowlist counts, whatever its status.
fn what_counts(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 1_000, 10_000);
    let may_read = cx.issue(|new| {
        new.limits = RateLimits { per_minute: 1_000, per_hour: 10_000 };
        new.permissions = "contacts:read".parse().expect("permissions");
    });
    let left =
        |key: &Credentials| header(&ask(&cx, key), "x-ratelimit-remaining").parse::<i64>().expect("a number");
    let created = cx.create(&story::new_contact());
    let tag = header(&created, "etag");
    let one = "/contacts/crm-1001/chatbots/<A>";
    for (call, status) in [
        (cx.call("GET", LIST), 200),
        (cx.call("HEAD", LIST), 200),
        (cx.call("GET", one).header("if-none-match", &tag), 304),
        (cx.call("GET", &format!("{LIST}?x=1")), 400),
        (cx.call("GET", "/contacts/none/chatbots/<A>"), 404),
        (cx.call("GET", "/contacts/chatbots/other"), 403),
        (cx.call("POST", LIST).text("{"), 400),
        (cx.call("POST", LIST).text("{}").header("content-type", "text/plain"), 415),
        (cx.call("POST", LIST).bytes(&vec![b' '; 1_048_577]), 413),
        (cx.call("POST", LIST).json(&story::new_contact()), 409),
        (cx.call("PUT", one).json(&json!({})).header("if-match", "\"x\""), 412),
        (cx.call("POST", &format!("{LIST}?dryRun=1")).json(&json!({ "primaryEmail": "a@b.co" })), 200),
    ] {
        let before = left(&key);
        let reply = call.with(&key).send().expect(status);
        assert!(reply.header("ratelimit").is_some());
        assert_eq!(left(&key), before - 2, "{status} counts once");
    }
    let before = left(&may_read);
    let _ =
        cx.call("POST", LIST).json(&json!({})).with(&may_read).send().fails(403, "INSUFFICIENT_PERMISSIONS");
    assert_eq!(left(&may_read), before - 2);
}

fn what_does_not_count(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| {
        key.limits = RateLimits { per_minute: 1_000, per_hour: 10_000 };
        key.allowed_addresses = vec!["192.0.2.0/24".parse().expect("a block")];
    });
    let left = || header(&ask(&cx, &key), "x-ratelimit-remaining").parse::<i64>().expect("a number");
    let wrong = Credentials { key: key.key.clone(), secret: cx.credentials.secret.clone() };
    for (call, status) in [
        (cx.call("OPTIONS", LIST).with(&key), 204),
        (cx.call("GET", "/nowhere").with(&key), 404),
        (cx.call("DELETE", LIST).with(&key), 405),
        (cx.call("GET", "/health").with(&key), 200),
        (cx.at("GET", "/openapi.json").with(&key), 200),
        (cx.call("GET", LIST).with(&wrong), 401),
        (cx.call("GET", LIST).with(&key).from("203.0.113.1"), 403),
        (cx.call("GET", LIST).with(&key).header("x-api-key", &key.key), 400),
        (cx.call("GET", &format!("{LIST}?x=%zz")).with(&key), 400),
        (cx.call("GET", &format!("{LIST}?x={}", "y".repeat(9_000))).with(&key), 414),
        (cx.call("GET", LIST).with(&key).header("x-long", &"y".repeat(17_000)), 431),
    ] {
        let before = left();
        let reply = call.send().expect(status);
        assert_eq!(reply.header("ratelimit"), None, "{status}");
        assert_eq!(left(), before - 1, "{status} does not count");
    }
}

fn a_refused_request_does_not_count(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 1, 3);
    let _ = ask(&cx, &key).expect(200);
    for _ in 0..10 {
        let reply = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
        assert_eq!(windows(&header(&reply, "ratelimit"), "r", "t"), [(0, 60), (2, 3_600)]);
    }
    cx.advance(60_000);
    let _ = ask(&cx, &key).expect(200);
}

fn each_key_has_its_own(backend: Backend) {
    let cx = Sandbox::new(backend);
    let (one, two) = (limited(&cx, 1, 1), limited(&cx, 1, 1));
    let _ = ask(&cx, &one).expect(200);
    let _ = ask(&cx, &one).fails(429, "RATE_LIMIT_EXCEEDED");
    let _ = ask(&cx, &two).expect(200);
}

/// A client that waits `Retry-After` succeeds, even if more requests are counted than the limit now allows.
fn lowered_limits(backend: Backend) {
    use openapi_core::admin::{Admin, KeyEdit};
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 10, 100);
    for _ in 0..8 {
        let _ = ask(&cx, &key).expect(200);
        cx.advance(1_000);
    }
    let edit = KeyEdit { per_minute: Some(3), ..KeyEdit::default() };
    let (operator, selector) = (contract_tests::sandbox::operator(), Sandbox::selector(&key));
    let _ = contract_tests::sandbox::wait(cx.platform.edit_key(&operator, &selector, edit)).expect("edited");
    let reply = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    let wait: i64 = header(&reply, "retry-after").parse().expect("seconds");
    cx.advance(wait * 1_000);
    let _ = ask(&cx, &key).expect(200);
}

/// A client that sends constantly and sometimes honours `Retry-After`.
fn never_more_than_the_limit_in_any_window(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 7, 40);
    let mut accepted: Vec<i64> = Vec::new();
    let mut now = 0_i64;
    let mut step = 17_u64;
    for _ in 0..600 {
        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let gap = i64::try_from(step >> 33).unwrap_or(0) % 9_000;
        cx.advance(gap);
        now += gap;
        let reply = ask(&cx, &key);
        if reply.status == 200 {
            accepted.push(now);
        } else if step.is_multiple_of(3) {
            let wait = header(&reply, "retry-after").parse::<i64>().expect("seconds") * 1_000;
            cx.advance(wait);
            now += wait;
            let _ = ask(&cx, &key).expect(200);
            accepted.push(now);
        }
        for (window, limit) in [(60_000, 7), (3_600_000, 40)] {
            let within = accepted.iter().filter(|at| now - **at < window).count();
            assert!(within <= limit, "{within} in {window} ms");
        }
    }
    assert!(accepted.len() > 60);
}

fn parallel_requests_do_not_exceed(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = limited(&cx, 50, 60);
    let accepted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..25).filter(|_| ask(&cx, &key).status == 200).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(accepted, 50);
}

fn defaults(backend: Backend) {
    let _ = backend;
    assert_eq!(RateLimits::default(), RateLimits { per_minute: 60, per_hour: 1_000 });
    assert!(RateLimits::new(1_000, 10_000).is_ok());
}
