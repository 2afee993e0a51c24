//! A console over a store in memory, and a browser that talks to it.

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Waker};

use async_trait::async_trait;
use bytes::Bytes;
use console::{AccountSettings, Console, ConsoleSettings, Operator, PasswordCost};
use conversations::{
    ChatEvent, ChatEvents, ChatPorts, ChatResponder, ChatTurn, Conversations, Outcome, Usage,
};
use events::{WebhookSettings, Webhooks};
use futures_core::Stream;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::api::{ApiBody, PeerAddress};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{
    Clock, FixedClock, MemoryBlobs, Outbound, OutboundError, OutboundRequest, OutboundResponse,
    OutboundSchemes, SequentialIds, Timer,
};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use openapi_core::values::{AgentId, Timestamp};
use serde_json::{Value, json};
use storage_memory::MemoryStorage;

pub const ORIGIN: &str = "https://console.example.com";
pub const HOST: &str = "console.example.com";
pub const PASSWORD: &str = "correct horse battery staple";
/// The address of the first owner.
pub const EMAIL: &str = "zoe@example.com";
/// A value that only `contacts.reveal` may show.
pub const SENSITIVE: &str = "SENSITIVE-4711";

/// The receiver of all webhooks: it holds what it was sent, and answers with the status that a test sets.
#[derive(Clone, Default)]
pub struct Receiver(Arc<Mutex<(Option<u16>, Vec<OutboundRequest>)>>);

impl Receiver {
    /// Answers with this status from now on.
    pub fn answer(&self, status: u16) {
        self.0.lock().unwrap().0 = Some(status);
    }

    /// What it was sent.
    pub fn received(&self) -> Vec<OutboundRequest> {
        self.0.lock().unwrap().1.clone()
    }
}

#[async_trait]
impl Outbound for Receiver {
    fn check(&self, url: &str, _: OutboundSchemes) -> Result<(), OutboundError> {
        if !url.starts_with("https://") {
            return Err(OutboundError::Request("the scheme"));
        }
        let reason = "an address of this machine".to_owned();
        if url.contains("localhost") { Err(OutboundError::Refused { rule: "name", reason }) } else { Ok(()) }
    }

    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let mut state = self.0.lock().unwrap();
        let (url, status) = (request.url.clone(), state.0.unwrap_or(204));
        state.1.push(request);
        let body = Bytes::from_static(b"the receiver's text");
        let status = http::StatusCode::from_u16(status).unwrap();
        Ok(OutboundResponse { status, headers: http::HeaderMap::new(), body, is_truncated: false, url })
    }
}

/// A console, its store and its clock.
pub struct World {
    pub console: Console,
    pub platform: Arc<Platform>,
    pub clock: Arc<FixedClock>,
    sleepers: Sleepers,
    pub storage: Arc<MemoryStorage>,
    pub receiver: Receiver,
    pub webhooks: Webhooks,
    /// The secrets of authenticator apps, by address.
    pub secrets: Mutex<HashMap<String, String>>,
}

/// Repeats the question in the visitor's language, and panics at the question `panic`.
struct Echo {
    name: &'static str,
    cost: f64,
}

/// Events, the last one first.
struct Events(Vec<ChatEvent>);

impl Stream for Events {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<ChatEvent>> {
        Poll::Ready(self.0.pop())
    }
}

impl ChatResponder for Echo {
    fn name(&self) -> &str {
        self.name
    }

    fn most(&self, _: &ChatTurn) -> Usage {
        Usage { cost: self.cost, ..Usage::default() }
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        assert_eq!(self.cost, 0.0, "a reply would be paid for");
        let question = &turn.history.last().unwrap().text;
        assert_ne!(question, "panic");
        let done = ChatEvent::Done { outcome: Outcome::Answered, sources: vec![], usage: Usage::default() };
        let text = format!("{}: {question}", turn.visitor.locale);
        Box::pin(Events(vec![done, ChatEvent::Delta(text)]))
    }
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
    pub fn new(mut settings: ConsoleSettings) -> Self {
        let clock = Arc::new(FixedClock::at(Timestamp::from_millis(1_790_000_000_000)));
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), vec![]);
        let sleepers = Sleepers::default();
        let ports = Ports::new(Arc::clone(&clock) as _, Arc::new(SequentialIds::default()), keys)
            .with_timer(Arc::new(ClockTimer { clock: Arc::clone(&clock), sleepers: Arc::clone(&sleepers) }))
            .with_blobs(Arc::new(MemoryBlobs::default()));
        let service = ServiceInfo::new("https://api.example.com").unwrap();
        let storage = Arc::new(MemoryStorage::new());
        let platform = Arc::new(Platform::new(Arc::clone(&storage) as _, ports, service));
        let responders = ChatPorts::new()
            .with_responder(Arc::new(Echo { name: "knowledge", cost: 0.0 }))
            .with_responder(Arc::new(Echo { name: "llm", cost: 0.1 }));
        let chat = Conversations::new(Arc::clone(&platform), Arc::clone(&storage) as _, responders);
        let receiver = Receiver::default();
        let outbound = Arc::new(receiver.clone());
        let webhooks = Webhooks::new(Arc::clone(&platform), outbound, WebhookSettings::default());
        settings.webhooks = Some(webhooks.clone());
        let console = Console::new(chat, settings);
        World { console, platform, clock, sleepers, storage, receiver, webhooks, secrets: Mutex::default() }
    }

    /// The same console over the same store with other server keys.
    pub fn with_keys(&self, keys: ServerKeys) -> Console {
        let ports = Ports::new(Arc::clone(&self.clock) as _, Arc::new(SequentialIds::default()), keys);
        let service = ServiceInfo::new("https://api.example.com").unwrap();
        let platform = Arc::new(Platform::new(Arc::clone(&self.storage) as _, ports, service));
        self.console.over(Conversations::new(platform, Arc::clone(&self.storage) as _, ChatPorts::new()))
    }

    /// Replaces the server keys, as a running server does.
    pub fn rotate(&mut self, keys: ServerKeys) {
        let ports = Ports { server_keys: keys, ..self.platform.ports().clone() };
        let service = self.platform.service_info().clone();
        self.platform = Arc::new(Platform::new(Arc::clone(&self.storage) as _, ports, service));
        let (platform, storage) = (Arc::clone(&self.platform), Arc::clone(&self.storage) as _);
        self.console = self.console.over(Conversations::new(platform, storage, ChatPorts::new()));
    }

    /// Lets time pass, and wakes those who wait for it.
    pub fn pass(&self, millis: u64) {
        self.clock.advance_millis(millis.try_into().unwrap());
        std::mem::take(&mut *self.sleepers.lock().unwrap()).into_iter().for_each(Waker::wake);
    }

    /// With accounts of its own, as a browser reaches it over TLS.
    pub fn with_accounts() -> Self {
        World::new(ConsoleSettings::with_accounts(ORIGIN, accounts()))
    }

    /// Signed in by a host application, with two agents.
    pub fn hosted() -> Self {
        World::new(ConsoleSettings::mounted("", ORIGIN)).with_agents()
    }

    /// With two agents.
    pub fn with_agents(self) -> Self {
        pollster::block_on(async {
            for id in ["acme", "beta"] {
                let new = NewAgent { id: Some(id.parse().unwrap()), name: "Agent".parse().unwrap() };
                self.platform.create_agent(&by(), new).await.unwrap();
            }
        });
        self
    }

    /// The browser of the first owner, who has a password.
    pub fn owner(&self) -> Browser {
        let mut browser = Browser::default();
        let body =
            json!({ "token": self.setup_token(), "name": "Zoë", "email": EMAIL, "password": PASSWORD });
        self.accept(&mut browser, &body).data();
        browser
    }

    /// The browser of an operator with these grants, whom `by` has invited.
    pub fn invited(&self, by: &mut Browser, email: &str, grants: &str) -> Browser {
        let grants: Vec<&str> = grants.split(',').collect();
        let body = json!({ "email": email, "grants": grants });
        let link = by.call(self, "POST", "/members/invitations", &body).data()["link"].clone();
        let mut browser = Browser::default();
        let name = email.split('@').next();
        let body = json!({ "token": token_of(&link), "name": name, "password": PASSWORD });
        self.accept(&mut browser, &body).data();
        browser
    }

    /// Accepts a link with a password, and with the code that an authenticator app shows for it.
    pub fn accept(&self, browser: &mut Browser, body: &Value) -> Answer {
        let link = browser.call(self, "POST", "/links/inspect", &json!({ "token": body["token"] }));
        if link.status != 200 {
            return browser.call(self, "POST", "/links/accept", body);
        }
        let (link, mut body) = (link.data().clone(), body.clone());
        body["enrolment"] = link["totp"]["enrolment"].clone();
        let secret = link["totp"]["secret"].as_str().unwrap();
        body["code"] = console::totp_code(secret, self.platform.now()).unwrap().into();
        let email = link["email"].as_str().or(body["email"].as_str()).unwrap();
        self.secrets.lock().unwrap().insert(email.to_lowercase(), secret.to_owned());
        browser.call(self, "POST", "/links/accept", &body)
    }

    /// The next code of an operator: time passes, because each counts once.
    pub fn code(&self, email: &str) -> String {
        self.clock.advance_millis(30_000);
        console::totp_code(&self.secrets.lock().unwrap()[&email.to_lowercase()], self.platform.now()).unwrap()
    }

    /// Signs in with a password, and a code if the password is accepted.
    pub fn sign_in(&self, browser: &mut Browser, email: &str, password: &str) -> Answer {
        let body = json!({ "email": email, "password": password });
        let accepted = browser.call(self, "POST", "/sign-in/password", &body);
        if accepted.status != 200 {
            return accepted;
        }
        let body = json!({ "pending": accepted.data()["pending"], "code": self.code(email) });
        browser.call(self, "POST", "/sign-in/code", &body)
    }

    /// Proves once more who the operator is, by password and code.
    pub fn step_up(&self, browser: &mut Browser, email: &str) -> Answer {
        let body = json!({ "password": PASSWORD, "code": self.code(email) });
        browser.call(self, "POST", "/session/step-up", &body)
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

/// A timer that is ready when the clock says so. Its sleepers are woken by [`World::pass`]; else a test polls again.
struct ClockTimer {
    clock: Arc<FixedClock>,
    sleepers: Sleepers,
}

type Sleepers = Arc<Mutex<Vec<Waker>>>;

impl Timer for ClockTimer {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (clock, sleepers) = (Arc::clone(&self.clock), Arc::clone(&self.sleepers));
        let end = clock.now().plus_millis(millis.try_into().unwrap());
        Box::pin(poll_fn(move |cx| {
            if clock.now() >= end {
                return Poll::Ready(());
            }
            sleepers.lock().unwrap().push(cx.waker().clone());
            Poll::Pending
        }))
    }
}

/// The token of a link.
pub fn token_of(link: &Value) -> String {
    link.as_str().unwrap().split_once('#').expect("a token").1.to_owned()
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
    pub fn of(response: Response<ApiBody>) -> Self {
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
#[derive(Clone, Debug)]
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

/// A conversation of `acme` without messages, and its id.
pub fn conversation(world: &World) -> String {
    let conversation = empty_conversation(world, 7);
    let id = conversation.id;
    store_conversation(world, conversation, Vec::new());
    id.to_string()
}

/// A conversation of `acme` without messages, with a number.
pub fn empty_conversation(world: &World, number: u8) -> conversations::Conversation {
    use conversations::{Conversation, ConversationMode, ConversationStatus, VisitorId};
    let now = world.platform.now();
    Conversation {
        id: openapi_core::values::ConversationId::from_bytes([number; 12]),
        agent_id: world.agent(),
        version: 1,
        visitor_id: VisitorId([number; 16]),
        level: 0,
        verified_until: None,
        verified_as: None,
        contact_id: None,
        claims: conversations::Claims::default(),
        lead: None,
        status: ConversationStatus::Open,
        mode: ConversationMode::Ai,
        waiting_since: None,
        locale: "en".to_owned(),
        time_zone: None,
        page: None,
        metadata: openapi_core::json::RawObject::new(&openapi_core::json::Object::new()),
        message_count: 0,
        operator_unread: 0,
        visitor_read: 0,
        last_message_at: now,
        closed_at: None,
        created_at: now,
        updated_at: now,
        expires_at: now.plus_millis(86_400_000),
        retention_days: Some(365),
        epoch: 1,
        network: None,
        counted: conversations::Counted::default(),
        uploads: Vec::new(),
        participants: Vec::new(),
        running: None,
    }
}

/// Stores a new conversation of `acme` with its messages.
pub fn store_conversation(
    world: &World,
    conversation: conversations::Conversation,
    messages: Vec<conversations::Message>,
) {
    use conversations::storage::{ConversationStore, ConversationWrite};
    let write = ConversationWrite {
        conversation,
        messages,
        keep: Vec::new(),
        effects: openapi_core::storage::Effects::default(),
        deferrable: false,
    };
    pollster::block_on(world.storage.save_conversation(&world.agent(), &write)).unwrap();
}
