//! Confronts a program with 429, 503, lost races and cancelled requests.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use http::StatusCode;
use load_and_limits::Sandbox;
use load_and_limits::courier::{ATTEMPTS, Undelivered, deliver};
use openapi_core::json::{Json, parse};
use openapi_core::storage::StorageErrorKind;
use pollster::block_on;

const PATH: &str = "/contacts/chatbots/acme";
const CONTACT: &str = r#"{"externalReferenceId":"crm-1","primaryEmail":"zoe@example.com"}"#;

/// Sends the contact once, always with the same idempotency key.
async fn send(sandbox: &Sandbox) -> http::Response<openapi_core::api::ApiBody> {
    let mut request = sandbox.request("POST", PATH, CONTACT);
    request.headers_mut().insert("Idempotency-Key", "order-4711".parse().expect("a header"));
    sandbox.api.handle(request).await
}

/// The number of contacts.
async fn total(sandbox: &Sandbox) -> Json {
    let list = sandbox.call("GET", PATH, "").await;
    assert_eq!(list.status(), 200);
    let body = parse(list.body().as_bytes().expect("a whole body")).expect("JSON");
    let pagination = body.as_object().and_then(|body| body.get("pagination")).and_then(Json::as_object);
    pagination.and_then(|pagination| pagination.get("totalItems")).expect("a total").clone()
}

#[test]
fn a_client_that_waits_succeeds() {
    block_on(async {
        let sandbox = Sandbox::new().await.unwrap();
        for _ in 0..60 {
            assert_eq!(sandbox.call("GET", "/contacts/chatbots/acme", "").await.status(), 200);
        }
        let refused = sandbox.call("GET", "/contacts/chatbots/acme", "").await;
        assert_eq!(refused.status(), 429);
        let wait: i64 = refused.headers()["Retry-After"].to_str().unwrap().parse().unwrap();
        sandbox.clock.advance_millis(wait * 1_000);
        assert_eq!(sandbox.call("GET", "/contacts/chatbots/acme", "").await.status(), 200);
    });
}

#[test]
fn the_courier_retries_until_the_store_recovers() {
    block_on(async {
        let sandbox = Sandbox::new().await.unwrap();
        sandbox.store.fail(Some(StorageErrorKind::Unavailable));
        assert_eq!(sandbox.call("GET", "/health", "").await.status(), 503);
        assert_eq!(sandbox.call("GET", "/contacts/chatbots/acme", "").await.status(), 503);
        let mut waits = 0;
        let delivered = deliver(
            async || send(&sandbox).await,
            async |_| {
                waits += 1;
                if waits == 2 {
                    sandbox.store.fail(None);
                }
            },
        );
        assert_eq!(delivered.await.unwrap(), "/v1/open/contacts/crm-1/chatbots/acme");
        assert_eq!(waits, 2);
    });
}

#[test]
fn the_courier_honours_retry_after() {
    block_on(async {
        let sandbox = Sandbox::new().await.unwrap();
        while sandbox.call("GET", PATH, "").await.status() == 200 {}
        let mut waited = Vec::new();
        let delivered = deliver(
            async || send(&sandbox).await,
            async |seconds: u64| {
                waited.push(seconds);
                sandbox.clock.advance_millis(i64::try_from(seconds).unwrap() * 1_000);
            },
        );
        assert!(delivered.await.is_ok());
        assert!(waited.len() == 1 && (1..=60).contains(&waited[0]), "{waited:?}");
        assert_eq!(total(&sandbox).await, Json::from(1_u64));
    });
}

#[test]
fn the_courier_gives_up_after_its_attempts_and_immediately_on_permanent_errors() {
    block_on(async {
        let sandbox = Sandbox::new().await.unwrap();
        let mut waits = 0;
        sandbox.store.fail(Some(StorageErrorKind::Unavailable));
        let outcome = deliver(async || send(&sandbox).await, async |_| waits += 1).await;
        assert_eq!(outcome, Err(Undelivered::GaveUp(StatusCode::SERVICE_UNAVAILABLE)));
        assert_eq!(waits, ATTEMPTS - 1);
        sandbox.store.fail(Some(StorageErrorKind::Internal));
        let outcome = deliver(async || send(&sandbox).await, async |_| waits += 1).await;
        assert_eq!(outcome, Err(Undelivered::Refused(StatusCode::INTERNAL_SERVER_ERROR)));
        assert_eq!(waits, ATTEMPTS - 1);
        sandbox.store.fail(None);
        assert_eq!(total(&sandbox).await, Json::from(0_u64));
    });
}

#[test]
fn a_lost_race_is_retried_and_finally_reported() {
    block_on(async {
        let sandbox = Sandbox::new().await.unwrap();
        sandbox.store.lose_races(u32::MAX);
        assert_eq!(send(&sandbox).await.status(), 409);
        sandbox.store.lose_races(1);
        assert_eq!(send(&sandbox).await.status(), 201);
    });
}

#[test]
fn a_cancelled_request_leaves_nothing_and_can_be_repeated() {
    block_on(async {
        let sandbox = Sandbox::new().await.unwrap();
        sandbox.store.stall(true);
        {
            let mut hanging = pin!(send(&sandbox));
            let first = poll_fn(|cx| Poll::Ready(hanging.as_mut().poll(cx).is_pending())).await;
            assert!(first, "the write is held back");
        }
        sandbox.store.stall(false);
        assert_eq!(total(&sandbox).await, Json::from(0_u64));
        for _ in 0..2 {
            assert_eq!(send(&sandbox).await.status(), 201);
        }
        assert_eq!(total(&sandbox).await, Json::from(1_u64));
    });
}

#[test]
fn a_stalled_request_resumes_with_the_store() {
    let sandbox = block_on(Sandbox::new()).unwrap();
    sandbox.store.stall(true);
    std::thread::scope(|threads| {
        let sending = threads.spawn(|| block_on(send(&sandbox)).status());
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!sending.is_finished());
        sandbox.store.stall(false);
        assert_eq!(sending.join().unwrap(), 201);
    });
}
