//! Users of two tenants log in; neither ever sees the other's data.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent, NewKey};
use openapi_core::api::Settings;
use openapi_core::endpoints::ENDPOINTS;
use openapi_core::json::{Json, parse};
use openapi_core::operation::Access;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, SequentialIds};
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use own_login::application;
use own_login::session::Session;
use own_login::sessions::{LIFETIME_MILLIS, Sessions};
use pollster::block_on;
use storage_memory::MemoryStorage;
use tower_service::Service;

const ORIGIN: &str = "https://app.example.com";

struct Host {
    app: Router,
    clock: Arc<FixedClock>,
    /// The headers of a key of tenant A.
    key: [(String, String); 2],
}

struct Reply {
    status: u16,
    cookie: String,
    body: String,
}

impl Reply {
    fn code(&self) -> String {
        let body = parse(self.body.as_bytes()).unwrap_or(Json::Null);
        let code = body.as_object().and_then(|body| body.get("code")).and_then(Json::as_str);
        code.unwrap_or_default().to_owned()
    }
}

/// Alice may write for tenant A, Bob only read there, Carol may write for tenant B.
fn directory(user: &str, password: &str) -> Option<Session> {
    let (tenant, may_write) = match (user, password) {
        ("alice", "of A") => ("tenant-a", true),
        ("bob", "of A") => ("tenant-a", false),
        ("carol", "of B") => ("tenant-b", true),
        _ => return None,
    };
    Some(Session { user: user.to_owned(), tenant: tenant.parse().ok()?, may_write })
}

impl Host {
    fn new() -> Host {
        let clock = Arc::new(FixedClock::at("2026-01-31T09:00:00Z".parse().expect("a host of a test")));
        let ids = Arc::new(SequentialIds::default());
        let ports = Ports::new(clock.clone(), ids.clone(), ServerKeys::generate(&*ids));
        let service_info = ServiceInfo::new(ORIGIN).expect("a host of a test");
        let platform = Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, service_info.clone()));
        let by = Actor::Operator("test".to_owned());
        for tenant in ["tenant-a", "tenant-b"] {
            let agent =
                NewAgent { id: tenant.parse().ok(), name: "Tenant".parse().expect("a host of a test") };
            block_on(platform.create_agent(&by, agent)).expect("a host of a test");
        }
        let key = NewKey::new(
            "tenant-a".parse().expect("a host of a test"),
            "Key".parse().expect("a host of a test"),
            "all".parse().expect("a host of a test"),
        );
        let key = block_on(platform.create_key(&by, key)).expect("a host of a test");
        let sessions = Arc::new(Sessions::new(clock.clone(), ids));
        let app =
            application(platform.api(Settings::new(service_info)), sessions, Arc::new(directory), ORIGIN);
        let key = [
            ("X-API-Key".to_owned(), key.key.api_key.to_string()),
            ("X-API-Secret".to_owned(), key.secret.expose().to_owned()),
        ];
        Host { app, clock, key }
    }

    fn call(&self, request: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let (method, path) = request.split_once(' ').expect("a host of a test");
        let mut builder = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let request = builder.body(Body::from(body.to_owned())).expect("a host of a test");
        let response: Response<Body> = block_on(self.app.clone().call(request)).expect("a host of a test");
        let cookie = response.headers().get("Set-Cookie").and_then(|value| value.to_str().ok());
        let cookie = cookie.and_then(|value| value.split(';').next()).unwrap_or_default().to_owned();
        let status = response.status().as_u16();
        let bytes = block_on(response.into_body().collect()).expect("a host of a test").to_bytes();
        Reply { status, cookie, body: String::from_utf8_lossy(&bytes).into_owned() }
    }

    /// Logs in and returns the cookie.
    fn login(&self, user: &str, password: &str) -> String {
        let form = format!("user={user}&password={}", password.replace(' ', "+"));
        let reply = self.call("POST /login", &[("Origin", ORIGIN)], &form);
        assert_eq!(reply.status, 204, "{}", reply.body);
        reply.cookie
    }

    /// A call from one of the application's pages.
    fn with(&self, cookie: &str, request: &str, body: &str) -> Reply {
        self.call(request, &[("Cookie", cookie), ("Origin", ORIGIN)], body)
    }
}

const OF_A: &str = "/v1/open/contacts/chatbots/tenant-a";
const CONTACT: &str = r#"{"externalReferenceId":"secret-of-b","primaryEmail":"dora@example.com"}"#;

#[test]
fn logged_in_users_need_no_key_and_have_the_hosts_permissions() {
    let host = Host::new();
    let (alice, bob) = (host.login("alice", "of A"), host.login("bob", "of A"));
    assert_ne!(alice, bob);
    assert_eq!(host.with(&alice, &format!("POST {OF_A}"), CONTACT).status, 201);
    let read = host.with(&bob, &format!("GET {OF_A}"), "");
    assert!(read.status == 200 && read.body.contains("secret-of-b"), "{}", read.body);
    let refused = host.with(&bob, &format!("POST {OF_A}"), CONTACT);
    assert_eq!((refused.status, refused.code().as_str()), (403, "INSUFFICIENT_PERMISSIONS"));
    let key: Vec<(&str, &str)> =
        host.key.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(host.call(&format!("GET {OF_A}"), &key, "").status, 200, "keys go on as before");
}

#[test]
fn without_a_session_the_api_responds_401_in_its_envelope() {
    let host = Host::new();
    let alice = host.login("alice", "of A");
    let mut guessed = alice.clone().into_bytes();
    *guessed.last_mut().unwrap() ^= 1;
    let guessed = String::from_utf8(guessed).unwrap();
    let twice = format!("{alice}; {alice}");
    for cookie in ["", "__Host-session=", "__Host-session=x", &guessed, &twice, &alice.replace("__Host-", "")]
    {
        let reply = host.with(cookie, &format!("GET {OF_A}"), "");
        assert_eq!((reply.status, reply.code().as_str()), (401, "MISSING_CREDENTIALS"), "{cookie}");
        assert!(
            reply.body.contains("\"success\":false") && reply.body.contains("\"requestId\""),
            "{}",
            reply.body
        );
    }
    assert_eq!(host.call("POST /login", &[("Origin", ORIGIN)], "user=alice&password=guess").status, 401);
    host.clock.advance_millis(LIFETIME_MILLIS - 1);
    assert_eq!(host.with(&alice, &format!("GET {OF_A}"), "").status, 200);
    host.clock.advance_millis(1);
    assert_eq!(host.with(&alice, &format!("GET {OF_A}"), "").status, 401, "the session is over");
    let bob = host.login("bob", "of A");
    assert_eq!(host.with(&bob, "POST /logout", "").status, 204);
    assert_eq!(host.with(&bob, &format!("GET {OF_A}"), "").status, 401);
}

#[test]
fn another_sites_page_changes_nothing() {
    let host = Host::new();
    let alice = host.login("alice", "of A");
    for origin in [None, Some("https://evil.example"), Some("null")] {
        let mut headers = vec![("Cookie", alice.as_str())];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let reply = host.call(&format!("POST {OF_A}"), &headers, CONTACT);
        assert_eq!(reply.status, 401, "{origin:?}");
        assert_eq!(host.call("POST /login", &headers[1..], "user=alice&password=of+A").status, 403);
    }
    assert!(host.with(&alice, &format!("GET {OF_A}"), "").body.contains("\"totalItems\":0"));
}

#[test]
fn a_session_cannot_reach_another_tenants_data() {
    let host = Host::new();
    let (alice, carol) = (host.login("alice", "of A"), host.login("carol", "of B"));
    let created = host.with(&carol, "POST /v1/open/contacts/chatbots/tenant-b", CONTACT);
    assert_eq!(created.status, 201, "{}", created.body);
    let (_, rest) = created.body.split_once("\"id\":\"").unwrap();
    let id = rest.split('"').next().unwrap();
    let mut tried = 0;
    for endpoint in ENDPOINTS.iter().filter(|endpoint| matches!(endpoint.meta.access, Access::Key(_))) {
        // Under the other tenant's name and under the user's own.
        for tenant in ["tenant-b", "tenant-a"] {
            let path = endpoint.meta.template("platformid");
            let path = path.replace("{agentId}", tenant).replace("{externalReferenceId}", "secret-of-b");
            let path = ["contactId", "fileId", "templateId", "submissionId"]
                .iter()
                .fold(path, |path, name| path.replace(&format!("{{{name}}}"), id));
            let request = format!("{} {path}", endpoint.meta.method.as_str());
            let reply = host.with(&alice, &request, r#"{"firstName":"Mallory"}"#);
            if tenant == "tenant-b" && endpoint.meta.names_agent() {
                // Missing permissions are reported before another tenant's data.
                let codes = ["AGENT_FORBIDDEN", "INSUFFICIENT_PERMISSIONS"];
                assert!(reply.status == 403 && codes.contains(&&*reply.code()), "{request}: {}", reply.body);
            }
            assert!(!reply.body.contains("dora@example.com"), "{request}: {}", reply.body);
            tried += 1;
        }
    }
    assert!(tried >= 40, "only {tried} requests were tried");
    let path = format!("GET /v1/open/contacts/platformid/{id}/chatbots/tenant-b");
    let untouched = host.with(&carol, &path, "");
    assert!(untouched.status == 200 && !untouched.body.contains("Mallory"), "{}", untouched.body);
}
