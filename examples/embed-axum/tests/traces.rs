//! The library's events are in the spans of the application's own subscriber, and nowhere else.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use embed_axum::application;
use http_body_util::BodyExt;
use openapi_core::access::{Actor, Caller};
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::SystemIds;
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use openapi_core::storage::StorageErrorKind;
use storage_memory::MemoryStorage;
use testkit::faulty::FaultyStorage;
use tower_service::Service;

/// The subscriber's output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("the log").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Requests the contacts as a caller that the application authenticated.
async fn list(app: &mut Router) -> u16 {
    let peer: SocketAddr = "192.0.2.7:4711".parse().expect("a request of a test");
    let caller = Caller::user(
        "acme".parse().expect("a request of a test"),
        "alice",
        "contacts:all".parse().expect("a request of a test"),
    );
    let request = Request::get("/platform/v1/open/contacts/chatbots/acme")
        .header("X-Request-Id", "request-7")
        .extension(ConnectInfo(peer))
        .extension(caller)
        .body(Body::empty());
    let response = app.call(request.expect("a request of a test")).await.expect("a request of a test");
    let status = response.status().as_u16();
    response.into_body().collect().await.expect("a request of a test");
    status
}

#[test]
fn library_events_are_in_the_span_of_their_request() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = FaultyStorage::new(Arc::new(MemoryStorage::new()));
        let ports = Ports::system(ServerKeys::generate(&SystemIds::default()));
        let service_info = ServiceInfo::new("https://example.com/platform").unwrap();
        let platform = Arc::new(Platform::new(store.clone(), ports, service_info));
        let agent = NewAgent { id: "acme".parse().ok(), name: "Acme".parse().unwrap() };
        platform.create_agent(&Actor::Operator("test".to_owned()), agent).await.unwrap();
        let mut app = application(&platform);
        assert_eq!(list(&mut app).await, 200);
        store.fail(Some(StorageErrorKind::Unavailable));
        assert_eq!(list(&mut app).await, 503);
    });
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let span = "request{method=GET path=\"/platform/v1/open/contacts/chatbots/acme\"}";
    let of_library: Vec<&str> = log.lines().filter(|line| line.contains(": openapi_core::")).collect();
    assert!(!of_library.is_empty() && of_library.iter().all(|line| line.contains(span)), "{log}");
    assert!(of_library[0].contains("the data store is not available"), "{log}");
    let answered: Vec<&str> = log.lines().filter(|line| line.contains("answered by the API")).collect();
    assert_eq!(answered.len(), 2, "{log}");
    for (line, status) in answered.iter().zip(["status=200", "status=503"]) {
        let said = [span, status, "operation=\"listContacts\"", "request_id=\"request-7\""];
        assert!(said.iter().all(|part| line.contains(part)), "{line}");
    }
}
