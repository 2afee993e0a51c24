//! A sandbox for the tests of programs that use the Open API, and such a program.

pub mod courier;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use openapi_core::access::{Actor, RateLimits};
use openapi_core::admin::{Admin, IssuedKey, NewAgent, NewKey};
use openapi_core::api::{Api, ApiBody, Settings};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, SequentialIds};
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use storage_memory::MemoryStorage;
use testkit::faulty::FaultyStorage;

/// The whole service in memory, with the agent `acme`, a key, a manual clock, and a store that fails on demand.
pub struct Sandbox {
    /// The API under test.
    pub api: Api,
    /// The operator's port.
    pub platform: Arc<Platform>,
    /// The clock.
    pub clock: Arc<FixedClock>,
    /// The store that fails on demand.
    pub store: Arc<FaultyStorage>,
    /// A key of `acme` with every permission, limited to 60 requests a minute.
    pub key: IssuedKey,
}

impl Sandbox {
    /// Creates a sandbox for one test; it takes a millisecond.
    pub async fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let clock = Arc::new(FixedClock::at("2026-01-31T09:00:00Z".parse()?));
        let ids = Arc::new(SequentialIds::default());
        let keys = ServerKeys::generate(&*ids);
        let service_info = ServiceInfo::new("https://sandbox.example")?;
        let ports = Ports::new(clock.clone(), ids, keys);
        let store = FaultyStorage::new(Arc::new(MemoryStorage::new()));
        let platform = Arc::new(Platform::new(store.clone(), ports, service_info.clone()));
        let by = Actor::Operator("test".to_owned());
        let agent = NewAgent { id: Some("acme".parse()?), name: "Acme".parse()? };
        let agent = platform.create_agent(&by, agent).await?;
        let limits = RateLimits::new(60, 1_000)?;
        let key = NewKey { limits, ..NewKey::new(agent.id, "Test".parse()?, "all".parse()?) };
        let key = platform.create_key(&by, key).await?;
        Ok(Sandbox { api: platform.api(Settings::new(service_info)), platform, clock, store, key })
    }

    /// A request with the key.
    pub fn request(&self, method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
        let request = Request::builder()
            .method(method)
            .uri(format!("/v1/open{path}"))
            .header("X-API-Key", self.key.key.api_key.as_str())
            .header("X-API-Secret", self.key.secret.expose())
            .body(Full::new(Bytes::from(body.to_owned())));
        request.expect("a test writes requests that are some")
    }

    /// Sends a request with the key.
    pub async fn call(&self, method: &str, path: &str, body: &str) -> Response<ApiBody> {
        self.api.handle(self.request(method, path, body)).await
    }
}
