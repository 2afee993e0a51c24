//! Rate limits across restarts: the hourly window survives, and a crash never grants more (contract 8.1).

use contract_tests::rules::windows;
use contract_tests::sandbox::wait;
use contract_tests::{Backend, Credentials, Reply, Sandbox, on_every_backend};
use openapi_core::access::RateLimits;

on_every_backend!(
    the_hour_survives_a_graceful_shutdown,
    a_crash_never_grants_more,
    a_crash_costs_no_more_than_a_lease,
    idle_keys_return_their_lease,
    two_servers_enforce_the_limits_together,
);

fn ask(cx: &Sandbox, key: &Credentials) -> Reply {
    cx.call("GET", "/contacts/chatbots/<A>").with(key).send()
}

/// The remaining requests of minute and hour after one more request.
fn left(cx: &Sandbox, key: &Credentials) -> (u64, u64) {
    let reply = ask(cx, key);
    let [(minute, _), (hour, _)] = windows(reply.header("ratelimit").expect("the limits"), "r", "t");
    (minute, hour)
}

fn the_hour_survives_a_graceful_shutdown(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| key.limits = RateLimits { per_minute: 60, per_hour: 1_000 });
    for _ in 0..37 {
        let _ = ask(&cx, &key).expect(200);
    }
    wait(cx.platform.drain()).expect("drained");
    let again = cx.restarted();
    assert_eq!(left(&again, &key), (22, 962), "exactly the remaining requests");
    cx.advance(1_800_000);
    wait(again.platform.drain()).expect("drained");
    let again = again.restarted();
    assert_eq!(left(&again, &key), (59, 961));
    // An hour later (with a rounding of at most 60 s) nothing of the first remains.
    cx.advance(1_860_000);
    assert_eq!(left(&again, &key).1, 998);
}

/// Requests admitted before the crash count after it.
fn a_crash_never_grants_more(backend: Backend) {
    let cx = Sandbox::new(backend);
    for used in [0, 1, 3, 19, 20, 21, 60, 99, 100] {
        let key = cx.issue(|key| key.limits = RateLimits { per_minute: 100, per_hour: 100 });
        let mut accepted = 0;
        for _ in 0..used {
            accepted += u32::from(ask(&cx, &key).status == 200);
        }
        let mut server = cx.restarted();
        for crash in 0..4 {
            for _ in 0..40 {
                accepted += u32::from(ask(&server, &key).status == 200);
            }
            assert!(accepted <= 100, "{accepted} after {used} and {crash} crashes");
            server = server.restarted();
        }
    }
}

fn a_crash_costs_no_more_than_a_lease(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| key.limits = RateLimits { per_minute: 1_000, per_hour: 1_000 });
    for _ in 0..100 {
        let _ = ask(&cx, &key).expect(200);
    }
    let (_, hour) = left(&cx.restarted(), &key);
    assert!((1_000 - 101 - 50..=1_000 - 101).contains(&hour), "{hour} left");
    // The leases' cost returns an hour after they ended, at the latest a minute after they were taken.
    cx.advance(3_660_000);
    assert_eq!(left(&cx.restarted(), &key).1, 999);
}

fn idle_keys_return_their_lease(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| key.limits = RateLimits { per_minute: 1_000, per_hour: 1_000 });
    let _ = ask(&cx, &key).expect(200);
    cx.advance(600_000);
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(left(&cx.restarted(), &key).1, 998, "a crash of an idle server costs nothing");
}

/// Two servers on one store together admit as many requests as one server.
fn two_servers_enforce_the_limits_together(backend: Backend) {
    let cx = Sandbox::new(backend);
    let other = cx.restarted();
    let key = cx.issue(|key| key.limits = RateLimits { per_minute: 10, per_hour: 25 });
    let mut accepted = [0, 0];
    for _ in 0..20 {
        for (count, server) in accepted.iter_mut().zip([&cx, &other]) {
            *count += u32::from(ask(server, &key).status == 200);
        }
    }
    assert_eq!(accepted, [5, 5]);
    let _ = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    // The last lease of a lone server may have been used up to a minute later.
    cx.advance(121_000);
    let accepted = (0..20).filter(|_| ask(&other, &key).status == 200).count();
    assert_eq!(accepted, 10, "the other server may use the rest");
    let _ = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    cx.advance(61_000);
    let accepted = (0..20).filter(|_| ask(&cx, &key).status == 200).count();
    assert_eq!(accepted, 5, "the hour is one for both");
}
