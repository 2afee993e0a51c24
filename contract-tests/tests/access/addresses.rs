//! Limits per address (contract 8.3).

use contract_tests::{Backend, Call, Credentials, Reply, Sandbox, on_every_backend};
use openapi_core::api::AddressLimits;

on_every_backend!(
    health_and_description,
    unknown_routes_and_methods,
    failed_authentication,
    refused_addresses,
    limit_classes_are_independent,
    addresses_are_independent,
    the_minute_slides,
    bad_requests_are_not_counted,
    limits_can_be_set_and_switched_off,
    one_address_in_two_notations,
    forwarding_headers_do_not_count,
    host_callers_pass,
);

const LIST: &str = "/contacts/chatbots/<A>";

fn wrong(cx: &Sandbox) -> Credentials {
    Credentials { key: cx.credentials.key.clone(), secret: "nonsense".into() }
}

/// Sends a call until the limit rejects it; returns the number of accepted calls.
fn until_refused(call: &Call<'_>, most: usize) -> (usize, Reply) {
    for passed in 0..most {
        let reply = call.send();
        if reply.status == 429 {
            return (passed, reply.fails(429, "TOO_MANY_FAILED_ATTEMPTS"));
        }
    }
    (most, call.send())
}

fn health_and_description(backend: Backend) {
    let cx = Sandbox::new(backend);
    let health = cx.call("GET", "/health").anonymous();
    let document = cx.at("HEAD", "/openapi.json").anonymous();
    for _ in 0..150 {
        let _ = document.send().expect(200);
    }
    let (passed, reply) = until_refused(&health, 1_000);
    assert_eq!(passed, 150, "together");
    assert_eq!(reply.header("retry-after"), Some("60"));
    let _ = document.send().expect(429);
    let _ = cx.get(LIST).expect(200);
    cx.advance(59_999);
    assert_eq!(health.send().fails(429, "TOO_MANY_FAILED_ATTEMPTS").header("retry-after"), Some("1"));
    cx.advance(1);
    let _ = health.send().expect(200);
}

fn unknown_routes_and_methods(backend: Backend) {
    let cx = Sandbox::new(backend);
    let calls = [
        (cx.at("GET", "/nowhere"), 404),
        (cx.call("DELETE", LIST), 405),
        (cx.call("OPTIONS", LIST), 204),
        (cx.call("GET", LIST).anonymous(), 401),
        (cx.call("DELETE", "/health").anonymous(), 405),
        (cx.call("GET", LIST).anonymous().header("x-api-key", "x"), 401),
    ];
    for _ in 0..10 {
        for (call, status) in &calls {
            let _ = call.send().expect(*status);
        }
    }
    for (call, _) in &calls {
        let reply = call.send().fails(429, "TOO_MANY_FAILED_ATTEMPTS");
        assert_eq!(reply.header("retry-after"), Some("60"));
        assert_eq!(reply.header("allow"), None);
    }
    // All other traffic continues.
    let _ = cx.get(LIST).expect(200);
    let _ = cx.call("GET", "/health").send().expect(200);
}

fn failed_authentication(backend: Backend) {
    let cx = Sandbox::new(backend);
    let call = cx.call("GET", LIST).with(&wrong(&cx));
    let (passed, reply) = until_refused(&call, 100);
    assert_eq!(passed, 20);
    assert_eq!((reply.header("retry-after"), reply.header("www-authenticate")), (Some("60"), None));
    // Now only failing requests are rejected; a valid credential still passes.
    let _ = cx.get(LIST).expect(200);
    let unknown = Credentials { key: "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ".into(), secret: "x".into() };
    let _ = cx.call("GET", LIST).with(&unknown).send().fails(429, "TOO_MANY_FAILED_ATTEMPTS");
    let _ = cx.get(LIST).expect(200);
    cx.advance(60_000);
    let _ = call.send().fails(401, "INVALID_CREDENTIALS");
}

fn refused_addresses(backend: Backend) {
    let cx = Sandbox::new(backend);
    let elsewhere = cx.issue(|key| key.allowed_addresses = vec!["203.0.113.1".parse().expect("an address")]);
    let call = cx.call("GET", LIST).with(&elsewhere);
    for _ in 0..10 {
        let _ = call.send().fails(403, "IP_NOT_ALLOWED");
        let _ = cx.call("GET", LIST).with(&wrong(&cx)).send().fails(401, "INVALID_CREDENTIALS");
    }
    let _ = call.send().fails(429, "TOO_MANY_FAILED_ATTEMPTS");
    let _ = cx.get(LIST).expect(200);
}

fn limit_classes_are_independent(backend: Backend) {
    let cx = Sandbox::new(backend);
    let (passed, _) = until_refused(&cx.at("GET", "/nowhere"), 100);
    assert_eq!(passed, 60);
    let (passed, _) = until_refused(&cx.call("GET", LIST).with(&wrong(&cx)), 100);
    assert_eq!(passed, 20);
    let (passed, _) = until_refused(&cx.call("GET", "/health").anonymous(), 1_000);
    assert_eq!(passed, 300);
}

fn addresses_are_independent(backend: Backend) {
    let cx = Sandbox::new(backend);
    let nowhere = cx.at("GET", "/nowhere");
    let (passed, _) = until_refused(&nowhere, 100);
    assert_eq!(passed, 60);
    for other in ["192.0.2.11", "198.51.100.1", "2001:db8::1"] {
        let (passed, _) = until_refused(&nowhere.clone().from(other), 100);
        assert_eq!(passed, 60, "{other}");
    }
}

fn the_minute_slides(backend: Backend) {
    let cx = Sandbox::new(backend);
    let nowhere = cx.at("GET", "/nowhere");
    for _ in 0..30 {
        let _ = nowhere.send().expect(404);
    }
    cx.advance(40_000);
    for _ in 0..30 {
        let _ = nowhere.send().expect(404);
    }
    let reply = nowhere.send().fails(429, "TOO_MANY_FAILED_ATTEMPTS");
    assert_eq!(reply.header("retry-after"), Some("20"));
    cx.advance(20_000);
    let (passed, _) = until_refused(&nowhere, 100);
    assert_eq!(passed, 30);
}

fn bad_requests_are_not_counted(backend: Backend) {
    let cx = Sandbox::new(backend);
    for _ in 0..100 {
        let _ = cx.at("GET", "/%zz").anonymous().send().fails(400, "BAD_REQUEST");
        let _ = cx.call("GET", LIST).header("x-api-key", "twice").send().fails(400, "BAD_REQUEST");
    }
    let _ = cx.at("GET", "/nowhere").send().expect(404);
}

fn limits_can_be_set_and_switched_off(backend: Backend) {
    let cx = Sandbox::with_settings(backend, |settings| {
        settings.address_limits =
            AddressLimits { health: 2, download: 1, unrouted: 0, failed_authentication: 1 };
    });
    let (passed, _) = until_refused(&cx.call("GET", "/health").anonymous(), 10);
    assert_eq!(passed, 2);
    let (passed, _) = until_refused(&cx.call("GET", LIST).with(&wrong(&cx)), 10);
    assert_eq!(passed, 1);
    let (passed, reply) = until_refused(&cx.at("GET", "/nowhere"), 500);
    assert_eq!((passed, reply.status), (500, 404), "0 switches a limit off");
}

fn one_address_in_two_notations(backend: Backend) {
    let cx = Sandbox::new(backend);
    let nowhere = cx.at("GET", "/nowhere");
    let (passed, _) = until_refused(&nowhere.clone().from("192.0.2.10"), 100);
    assert_eq!(passed, 60);
    let _ = nowhere.from("::ffff:192.0.2.10").send().fails(429, "TOO_MANY_FAILED_ATTEMPTS");
}

fn forwarding_headers_do_not_count(backend: Backend) {
    let cx = Sandbox::new(backend);
    let nowhere = cx.at("GET", "/nowhere");
    let (passed, _) = until_refused(&nowhere, 100);
    assert_eq!(passed, 60);
    for (name, value) in
        [("x-forwarded-for", "203.0.113.5"), ("forwarded", "for=203.0.113.5"), ("x-real-ip", "203.0.113.5")]
    {
        let _ = nowhere.clone().header(name, value).send().fails(429, "TOO_MANY_FAILED_ATTEMPTS");
    }
}

/// A caller that the host authenticated bypasses authentication and limits.
fn host_callers_pass(backend: Backend) {
    use openapi_core::access::{Actor, Caller, Permissions};
    let cx = Sandbox::new(backend);
    let caller = Caller {
        agent_id: cx.agent.clone(),
        actor: Actor::User("someone".into()),
        permissions: Permissions::all(),
        address: None,
        request_id: String::new(),
    };
    let _ = until_refused(&cx.call("GET", LIST).with(&wrong(&cx)), 100);
    for _ in 0..100 {
        let _ = cx.call("GET", LIST).as_caller(caller.clone()).send().expect(200);
    }
}
