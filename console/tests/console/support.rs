//! A console over a store in memory, and a browser that talks to it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use console::{AccountSettings, Console, ConsoleSettings, Operator, PasswordCost};
use conversations::{ChatPorts, Conversations};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::api::{ApiBody, PeerAddress};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, SequentialIds};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use openapi_core::values::{AgentId, Timestamp};
use serde_json::Value;
use storage_memory::MemoryStorage;

pub const ORIGIN: &str = "https://console.example.com";
pub const HOST: &str = "console.example.com";
/// A value that only `contacts.reveal` may show.
pub const SENSITIVE: &str = "SENSITIVE-4711";

/// A console, its store and its clock.
pub struct World {
    pub console: Console,
    pub platform: Arc<Platform>,
    pub clock: Arc<FixedClock>,
    pub storage: Arc<MemoryStorage>,
}

pub fn by() -> Actor {
    Actor::Operator("test".to_owned())
}

pub fn accounts() -> AccountSettings {
    AccountSettings {
        password_cost: PasswordCost { memory_kib: 64, passes: 1 },
        ..AccountSettings::default()
    }
}

impl World {
    pub fn new(settings: ConsoleSettings) -> Self {
        let clock = Arc::new(FixedClock::at(Timestamp::from_millis(1_790_000_000_000)));
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), vec![]);
        let ports = Ports::new(Arc::clone(&clock) as _, Arc::new(SequentialIds::default()), keys);
        let service = ServiceInfo::new("https://api.example.com").unwrap();
        let storage = Arc::new(MemoryStorage::new());
        let platform = Arc::new(Platform::new(Arc::clone(&storage) as _, ports, service));
        let chat = Conversations::new(Arc::clone(&platform), Arc::clone(&storage) as _, ChatPorts::new());
        World { console: Console::new(chat, settings), platform, clock, storage }
    }

    /// With accounts of its own, as a browser reaches it over TLS.
    pub fn with_accounts() -> Self {
        World::new(ConsoleSettings::with_accounts(ORIGIN, accounts()))
    }

    /// Signed in by a host application, with two agents.
    pub fn hosted() -> Self {
        let world = World::new(ConsoleSettings::mounted("", ORIGIN));
        pollster::block_on(async {
            for id in ["acme", "beta"] {
                let new = NewAgent { id: Some(id.parse().unwrap()), name: "Agent".parse().unwrap() };
                world.platform.create_agent(&by(), new).await.unwrap();
            }
        });
        world
    }

    pub fn agent(&self) -> AgentId {
        "acme".parse().unwrap()
    }

    /// The token of the set-up link.
    pub fn setup_token(&self) -> String {
        let link = pollster::block_on(self.console.setup_link(&by())).unwrap().expect("a link");
        link.split_once('#').expect("a token").1.to_owned()
    }

    pub fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let response = pollster::block_on(self.console.handle(request));
        Answer::of(response)
    }
}

/// An answer that was read.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub text: String,
    pub cookies: Vec<String>,
    pub headers: http::HeaderMap,
}

impl Answer {
    fn of(response: Response<ApiBody>) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = pollster::block_on(body.collect()).unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let cookies = parts.headers.get_all("set-cookie").iter();
        Answer {
            status: parts.status.as_u16(),
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            cookies: cookies.map(|cookie| cookie.to_str().unwrap().to_owned()).collect(),
            headers: parts.headers,
            text,
        }
    }

    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    #[track_caller]
    pub fn data(&self) -> &Value {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.text);
        &self.body["data"]
    }
}

/// A browser: it holds cookies, and sends what a page of the console sends.
#[derive(Clone)]
pub struct Browser {
    pub cookies: Vec<(String, String)>,
    pub page_secret: Option<String>,
    pub address: IpAddr,
    pub origin: &'static str,
    pub host: &'static str,
}

impl Default for Browser {
    fn default() -> Self {
        let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
        Browser { cookies: Vec::new(), page_secret: None, address, origin: ORIGIN, host: HOST }
    }
}

impl Browser {
    pub fn request(&self, method: &str, path: &str, body: &Value) -> Request<Full<Bytes>> {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/console/v1{path}"))
            .header("host", self.host)
            .header("origin", self.origin)
            .header("sec-fetch-site", "same-origin")
            .header("x-console", self.page_secret.as_deref().unwrap_or("1"))
            .header("content-type", "application/json");
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let bytes = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let mut request = request.body(Full::new(bytes)).unwrap();
        request.extensions_mut().insert(PeerAddress(self.address));
        request
    }

    pub fn call(&mut self, world: &World, method: &str, path: &str, body: &Value) -> Answer {
        self.send(world, self.request(method, path, body))
    }

    pub fn send(&mut self, world: &World, request: Request<Full<Bytes>>) -> Answer {
        let answer = world.send(request);
        for cookie in &answer.cookies {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !cookie.contains("Max-Age=0") {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        if let Some(secret) = answer.body["data"]["pageSecret"].as_str() {
            self.page_secret = Some(secret.to_owned());
        }
        answer
    }
}

/// A call by somebody whom a host application has signed in.
pub fn call_as(world: &World, grants: &str, method: &str, path: &str, body: &Value) -> Answer {
    let mut request = Browser::default().request(method, path, body);
    let mut operator = Operator::new("u-17", "Zoë Okafor", grants.parse().unwrap());
    operator.authenticated_at = Some(world.platform.now());
    request.extensions_mut().insert(operator);
    request.headers_mut().insert("if-match", "*".parse().unwrap());
    // So that no test meets the limit of an address.
    world.clock.advance_millis(60);
    world.send(request)
}
