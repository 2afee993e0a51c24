//! Requests that other sites make a browser send.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::Request;
use http_body::Frame;
use serde_json::{Value, json};

use super::support::{Browser, HOST, World};

/// A header and its value; none to leave it out.
type Change = (&'static str, Option<&'static str>);

#[test]
fn changes_of_other_sites_are_refused() {
    let world = World::with_accounts();
    let mut browser = world.owner();
    let body = json!({ "id": "acme", "name": "Acme" });
    let cases: [(&str, &[Change]); 9] = [
        ("another origin", &[("origin", Some("https://evil.example.com"))]),
        ("a similar origin", &[("origin", Some("https://console.example.com.evil.com"))]),
        ("plain HTTP", &[("origin", Some("http://console.example.com"))]),
        ("a sandboxed page", &[("origin", Some("null"))]),
        ("a form", &[("origin", None), ("x-console", None)]),
        ("no header", &[("x-console", None)]),
        ("an empty header", &[("x-console", Some(""))]),
        ("cross-site by the browser's word", &[("sec-fetch-site", Some("cross-site"))]),
        ("a sister site", &[("sec-fetch-site", Some("same-site"))]),
    ];
    for (what, changes) in cases {
        let mut request = browser.request("POST", "/agents", &body);
        for (name, value) in changes {
            match value {
                Some(value) => request.headers_mut().insert(*name, value.parse().unwrap()),
                None => request.headers_mut().remove(*name),
            };
        }
        let refused = world.send(request);
        assert_eq!((refused.status, refused.code()), (403, "CROSS_SITE_REQUEST"), "{what}");
    }
    // Types that a form can send.
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let mut request = browser.request("POST", "/agents", &body);
        request.headers_mut().insert("content-type", media_type.parse().unwrap());
        assert_eq!(world.send(request).status, 415, "{media_type}");
    }
    let agents = browser.call(&world, "GET", "/agents", &Value::Null);
    assert_eq!(agents.data(), &json!([]));
    browser.call(&world, "POST", "/agents", &body).data();
}

/// DNS rebinding: an attacker's name leads to the console's address.
#[test]
fn other_hosts_are_misdirected() {
    let world = World::with_accounts();
    let browser = world.owner();
    for host in ["evil.example.com", "localhost:8082", "console.example.com:444", ""] {
        let mut request = browser.request("GET", "/session", &Value::Null);
        request.headers_mut().insert("host", host.parse().unwrap());
        let refused = world.send(request);
        assert_eq!((refused.status, refused.code()), (421, "MISDIRECTED_REQUEST"), "{host}");
    }
    let mut request = browser.request("GET", "/session", &Value::Null);
    request.headers_mut().insert("host", HOST.to_uppercase().parse().unwrap());
    assert_eq!(world.send(request).status, 200);
}

#[test]
fn answers_are_not_stored_and_not_readable_elsewhere() {
    let world = World::with_accounts();
    let mut browser = world.owner();
    for path in ["/session", "/agents", "/me/sessions", "/nothing"] {
        let answer = browser.call(&world, "GET", path, &Value::Null);
        assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
        assert_eq!(answer.headers["cross-origin-resource-policy"], "same-origin");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(answer.headers.get("access-control-allow-origin").is_none());
        assert!(answer.headers.contains_key("x-request-id"));
    }
    let mut request = browser.request("GET", "/agents", &Value::Null);
    request.headers_mut().insert("authorization", "Bearer svck_x".parse().unwrap());
    assert_eq!(world.send(request).status, 401);
}

/// What anybody may send is small and short, so that connections without a session hold little memory.
#[test]
fn bodies_of_nobody_are_small_and_do_not_wait() {
    let world = World::with_accounts();
    let browser = Browser::default();
    let body = |size: usize| json!({ "email": "a".repeat(size), "password": "x" });
    let long = world.send(browser.request("POST", "/sign-in/password", &body(16 * 1024)));
    assert_eq!((long.status, long.code()), (413, "PAYLOAD_TOO_LARGE"));
    assert_eq!(long.body["details"]["limit"], 16 * 1024, "{}", long.text);
    assert_ne!(world.send(browser.request("POST", "/sign-in/password", &body(15 * 1024))).status, 413);
    // A session may send more.
    let owner = world.owner();
    assert_ne!(world.send(owner.request("POST", "/agents", &body(100 * 1024))).status, 413);

    let (parts, _) = browser.request("POST", "/sign-in/password", &body(1)).into_parts();
    let unfinished = Request::from_parts(parts, Unfinished);
    let mut answering = pin!(world.console.handle(unfinished));
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(answering.as_mut().poll(cx).is_pending());
    world.clock.advance_millis(9_999);
    assert!(answering.as_mut().poll(cx).is_pending());
    world.clock.advance_millis(1);
    let Poll::Ready(response) = answering.as_mut().poll(cx) else { panic!("the request still waits") };
    assert_eq!(response.status(), 408);
}

/// A body of which nothing more arrives.
struct Unfinished;

impl http_body::Body for Unfinished {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}
