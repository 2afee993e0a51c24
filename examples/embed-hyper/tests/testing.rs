//! The code of docs/testing.md, compiled and run. A block of the guide is a piece of this file.

mod sandbox {
    use std::sync::Arc;

    use bytes::Bytes;
    use http::{Request, Response};
    use http_body_util::Full;
    use openapi_core::access::Actor;
    use openapi_core::admin::{Admin, IssuedKey, NewAgent, NewKey};
    use openapi_core::api::{Api, ApiBody, Settings};
    use openapi_core::brand::Brand;
    use openapi_core::platform::{Platform, Ports};
    use openapi_core::ports::{FixedClock, SequentialIds};
    use openapi_core::server_keys::ServerKeys;
    use openapi_core::storage::memory::MemoryStorage;

    /// The whole service in memory, with the agent `acme`, a key for it, and a clock that the test moves.
    pub struct Sandbox {
        pub api: Api,
        pub platform: Arc<Platform>,
        pub clock: Arc<FixedClock>,
        pub key: IssuedKey,
    }

    impl Sandbox {
        pub async fn new() -> Result<Self, Box<dyn std::error::Error>> {
            let clock = Arc::new(FixedClock::at("2026-01-31T09:00:00Z".parse()?));
            let ids = Arc::new(SequentialIds::default());
            let keys = ServerKeys::generate(&*ids);
            let brand = Brand::new("https://sandbox.example")?;
            let ports = Ports::new(clock.clone(), ids, keys);
            let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, brand.clone()));
            let by = Actor::Operator("test".to_owned());
            let agent = NewAgent { id: Some("acme".parse()?), name: "Acme".parse()? };
            let agent = platform.create_agent(&by, agent).await?;
            let key = NewKey::new(agent.id, "Test".parse()?, "all".parse()?);
            let key = platform.create_key(&by, key).await?;
            Ok(Sandbox { api: platform.api(Settings::new(brand)), platform, clock, key })
        }

        pub async fn call(&self, method: &str, path: &str, body: &str) -> Response<ApiBody> {
            let request = Request::builder()
                .method(method)
                .uri(format!("/v1/open{path}"))
                .header("X-API-Key", self.key.key.api_key.as_str())
                .header("X-API-Secret", self.key.secret.expose())
                .body(Full::new(Bytes::from(body.to_owned())));
            self.api.handle(request.expect("a request")).await
        }
    }
}

use sandbox::Sandbox;

#[test]
fn a_client_that_waits_is_served() {
    pollster::block_on(async {
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
fn a_disabled_key_opens_nothing() {
    use openapi_core::access::{Actor, KeySelector};
    use openapi_core::admin::Admin;
    pollster::block_on(async {
        let sandbox = Sandbox::new().await.unwrap();
        let (by, key) = (Actor::Operator("test".to_owned()), KeySelector::Id(sandbox.key.key.id));
        sandbox.platform.disable_key(&by, &key).await.unwrap();
        assert_eq!(sandbox.call("GET", "/contacts/chatbots/acme", "").await.status(), 401);
    });
}

mod properties {
    use openapi_core::json::Json;
    use openapi_core::strategies;
    use proptest::prelude::*;

    use super::Sandbox;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn whatever_is_valid_is_stored(fields in strategies::contact_fields()) {
            let body = Json::Object(fields.to_object()).to_text();
            let status = pollster::block_on(async {
                let sandbox = Sandbox::new().await.unwrap();
                sandbox.call("POST", "/contacts/chatbots/acme", &body).await.status()
            });
            prop_assert_eq!(status, 201, "{}", body);
        }

        #[test]
        fn whatever_is_nearly_valid_is_stored_or_explained(fields in strategies::nearly_valid_contact()) {
            let body = Json::Object(fields).to_text();
            let status = pollster::block_on(async {
                let sandbox = Sandbox::new().await.unwrap();
                sandbox.call("POST", "/contacts/chatbots/acme", &body).await.status()
            });
            prop_assert!(status == 201 || status == 400, "{} for {}", status, body);
        }
    }
}

mod own_backend {
    use std::pin::Pin;
    use std::sync::Arc;

    use openapi_core::conformance::Backend;
    use openapi_core::storage::Storage;
    use openapi_core::storage::memory::MemoryStorage;

    /// The backend under test, with an empty store of its own for each case.
    struct Mine(Arc<MemoryStorage>);

    impl Backend for Mine {
        fn storage(&self) -> Arc<dyn Storage> {
            self.0.clone()
        }

        fn reopen(&mut self) -> bool {
            // A store on disk is closed and opened again here, and `true` returned.
            false
        }

        fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
            pollster::block_on(future);
        }
    }

    openapi_core::conformance_suite!(|| Mine(Arc::new(MemoryStorage::new())));
}
