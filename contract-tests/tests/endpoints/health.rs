//! GET /health (contract 4.1).

use std::pin::Pin;
use std::sync::Arc;

use contract_tests::sandbox::wait;
use contract_tests::{Backend, FaultyStorage, Sandbox, on_every_backend, story};
use openapi_core::api::Settings;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, SequentialIds, Timer};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::storage::StorageErrorKind;
use serde_json::json;

on_every_backend!(
    the_example,
    credentials_and_query_are_ignored,
    head,
    an_unavailable_store,
    an_unresponsive_store,
);

/// Contract 4.1, literally.
fn the_example(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.call("GET", "/health").anonymous().send().expect(200);
    let expected = json!({ "success": true, "message": "API is healthy", "version": "1.0.0" });
    assert_eq!(reply.text, expected.to_string());
    let _ = cx.call("GET", "/health/").anonymous().send().expect(200);
}

fn credentials_and_query_are_ignored(backend: Backend) {
    let cx = Sandbox::new(backend);
    for query in ["", "?", "?page=0", "?x=1&x=2", "?verbose"] {
        let call = cx.call("GET", &format!("/health{query}")).anonymous();
        let _ = call.send().expect(200);
        let _ = call.clone().header("x-api-key", "nonsense").send().expect(200);
        let _ = call.header("x-api-key", "a").header("x-api-key", "b").send().expect(200);
    }
    let _ = cx.call("GET", "/health?x=%zz").anonymous().send().fails(400, "BAD_REQUEST");
}

fn head(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.call("HEAD", "/health").anonymous().send().expect(200);
    let length = cx.call("GET", "/health").anonymous().send().text.len().to_string();
    assert_eq!(reply.header("content-length"), Some(length.as_str()));
}

/// Contract 6.4, literally.
fn an_unavailable_store(backend: Backend) {
    let (cx, faulty) = Sandbox::faulty(backend);
    faulty.fail(Some(StorageErrorKind::Unavailable));
    let reply = cx.call("GET", "/health").anonymous().header("x-request-id", story::REQUEST_ID).send();
    let reply = reply.fails(503, "SERVICE_UNAVAILABLE");
    let expected = json!({ "success": false, "message": "The data store is not available", "code": "SERVICE_UNAVAILABLE", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "version": "1.0.0" });
    assert_eq!(reply.text, expected.to_string());
    faulty.fail(Some(StorageErrorKind::Internal));
    let _ = cx.call("GET", "/health").anonymous().send().fails(503, "SERVICE_UNAVAILABLE");
    faulty.fail(None);
    let _ = cx.call("GET", "/health").anonymous().send().expect(200);
}

/// A timer that fires after it has been waited for a second time.
struct Impatient;

impl Timer for Impatient {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        assert_eq!(millis, 1_000, "the store may take one second");
        Box::pin(std::future::ready(()))
    }
}

fn an_unresponsive_store(backend: Backend) {
    let store = backend.open();
    let faulty = FaultyStorage::new(store.storage.clone());
    faulty.stall(true);
    let clock = Arc::new(FixedClock::at(contract_tests::sandbox::instant(contract_tests::sandbox::START)));
    let keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
    let ports = Ports::new(clock, Arc::new(SequentialIds::default()), keys).with_timer(Arc::new(Impatient));
    let service_info = contract_tests::document::service_info();
    let api = Arc::new(Platform::new(faulty, ports, service_info.clone())).api(Settings::new(service_info));
    let request =
        http::Request::get("/v1/open/health").body(http_body_util::Empty::new()).expect("a request");
    let reply = wait(api.handle(request));
    assert_eq!(reply.status(), 503);
    let body = String::from_utf8_lossy(reply.body().as_bytes().unwrap_or_default()).into_owned();
    assert!(body.contains("\"SERVICE_UNAVAILABLE\"") && body.contains("\"version\":\"1.0.0\""), "{body}");
}
