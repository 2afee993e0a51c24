//! A widget service with a scripted responder, and a visitor.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use conversations::storage::ConversationStorage;
use conversations::widget::{WidgetApi, WidgetSettings};
use conversations::{
    ChatEvent, ChatEvents, ChatResponder, ChatTurn, Outcome, Question, RetrieveError, Retrieved, Retriever,
    Usage,
};
use conversations::{ChatPorts, Conversations};
use futures_core::Stream;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::api::{ApiBody, PeerAddress};
use openapi_core::json::{Json, Object, parse};
use openapi_core::platform::{ExtractionSettings, Platform, Ports};
use openapi_core::ports::{Clock, FixedClock, MemoryBlobs, SequentialIds, Spawner, Task, Timer};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use openapi_core::values::{AgentId, Timestamp};
use pollster::block_on;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use storage_memory::MemoryStorage;
use testkit::faulty::FaultyStorage;

pub const AGENT: &str = "695b6f80de7378c4412112d3";
pub const PAGE: &str = "https://www.example.com";

/// The secrets of server keys, the current one first.
const KEYS: &[u8] = &[7, 6];

/// The next action of a responder.
#[derive(Clone, Debug)]
pub enum Act {
    Say(ChatEvent),
    /// Waits until the turn is stopped externally.
    Hang,
    /// Writes, a thousand times a second, until the turn is stopped externally.
    Babble,
    Panic,
}

/// A scripted responder that records its requests.
#[derive(Default)]
pub struct Script {
    pub name: &'static str,
    pub acts: Mutex<Vec<Act>>,
    pub asked: Mutex<Vec<ChatTurn>>,
    pub most: Mutex<Usage>,
    /// Whether a response hangs before its first event.
    pub hangs: Arc<AtomicBool>,
}

impl Script {
    pub fn will(&self, acts: impl IntoIterator<Item = Act>) {
        *self.acts.lock().expect("the acts") = acts.into_iter().collect();
    }

    pub fn says(&self, text: &str) {
        self.will([delta(text), done()]);
    }
}

pub fn delta(text: &str) -> Act {
    Act::Say(ChatEvent::Delta(text.to_owned()))
}

pub fn done() -> Act {
    Act::Say(ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage: Usage::default() })
}

/// Finds nothing, once released.
#[derive(Default)]
pub struct Slow {
    pub is_held: AtomicBool,
    pub asked: AtomicUsize,
}

#[async_trait::async_trait]
impl Retriever for Slow {
    async fn retrieve(&self, _: &AgentId, _: &Question, _: usize) -> Result<Retrieved, RetrieveError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        std::future::poll_fn(|cx| match self.is_held.load(Ordering::SeqCst) {
            true => {
                // Like a retriever that builds an index page by page.
                cx.waker().wake_by_ref();
                std::thread::sleep(Duration::from_millis(1));
                Poll::Pending
            }
            false => Poll::Ready(()),
        })
        .await;
        Ok(Retrieved::default())
    }
}

struct Acting(VecDeque<Act>, Arc<AtomicBool>);

impl Stream for Acting {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        match self.0.pop_front() {
            Some(Act::Say(event)) => Poll::Ready(Some(event)),
            Some(Act::Hang) => {
                self.0.push_front(Act::Hang);
                self.1.store(true, Ordering::SeqCst);
                Poll::Pending
            }
            Some(Act::Babble) => {
                self.0.push_front(Act::Babble);
                std::thread::sleep(Duration::from_millis(1));
                Poll::Ready(Some(ChatEvent::Delta("x".to_owned())))
            }
            // Like a panic, but without a message in the test's output.
            Some(Act::Panic) => std::panic::resume_unwind(Box::new("a responder of a test panics")),
            None => Poll::Ready(None),
        }
    }
}

impl ChatResponder for Script {
    fn name(&self) -> &str {
        self.name
    }

    fn most(&self, _: &ChatTurn) -> Usage {
        *self.most.lock().expect("the usage")
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        self.asked.lock().expect("the turns").push(turn);
        let acts = self.acts.lock().expect("the acts").iter().cloned().collect();
        Box::pin(Acting(acts, Arc::clone(&self.hangs)))
    }
}

/// Runs each task on its own thread.
pub struct Threads;

impl Spawner for Threads {
    fn spawn(&self, task: Task) {
        std::thread::spawn(move || block_on(task));
    }
}

/// Waits in real time, a hundred times faster.
pub struct Hasty;

impl Timer for Hasty {
    fn sleep(&self, millis: u64) -> Task {
        let state: Arc<Mutex<(bool, Option<Waker>)>> = Arc::default();
        let of_thread = Arc::clone(&state);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(millis * 10));
            let mut state = of_thread.lock().expect("the state");
            state.0 = true;
            if let Some(waker) = state.1.take() {
                waker.wake();
            }
        });
        Box::pin(std::future::poll_fn(move |cx| {
            let mut state = state.lock().expect("the state");
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        }))
    }
}

/// Waits for an instant of the test's clock.
struct Clocked(Arc<FixedClock>);

impl Timer for Clocked {
    fn sleep(&self, millis: u64) -> Task {
        let clock = Arc::clone(&self.0);
        let until = clock.now().plus_millis(i64::try_from(millis).expect("a while"));
        Box::pin(std::future::poll_fn(move |cx| {
            if clock.now() >= until {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        }))
    }
}

/// What drives the turns of a world.
#[derive(Clone, Copy)]
enum Drive {
    /// The response streams; timers never fire.
    Responses,
    /// The response streams; timers follow the test's clock.
    Clock,
    /// Threads; timers run fast.
    Threads,
}

pub struct World {
    pub clock: Arc<FixedClock>,
    pub platform: Arc<Platform>,
    pub chat: Arc<Conversations>,
    pub api: WidgetApi,
    pub script: Arc<Script>,
    pub knowledge: Arc<Script>,
    pub slow: Arc<Slow>,
    settings: WidgetSettings,
    storage: Arc<MemoryStorage>,
    blobs: MemoryBlobs,
    drive: Drive,
}

pub fn world() -> World {
    world_with(WidgetSettings::default(), false)
}

/// Without limits, for tests of other behaviour.
pub fn boundless() -> World {
    world_without_limits(false)
}

pub fn world_without_limits(has_tasks: bool) -> World {
    world_with(without_limits(), has_tasks)
}

/// Without limits, with deadlines on the test's clock.
pub fn clocked() -> World {
    world_of(without_limits(), Drive::Clock)
}

pub fn without_limits() -> WidgetSettings {
    let mut settings = WidgetSettings::default();
    let limits = &mut settings.limits;
    for windows in [
        &mut limits.turns,
        &mut limits.syncs,
        &mut limits.leads,
        &mut limits.address_sessions,
        &mut limits.address_turns,
        &mut limits.address_leads,
        &mut limits.address_repeats,
        &mut limits.address_calls,
        &mut limits.address_requests,
        &mut limits.agent_turns,
    ] {
        windows.clear();
    }
    settings
}

pub fn world_with(settings: WidgetSettings, has_tasks: bool) -> World {
    world_of(settings, if has_tasks { Drive::Threads } else { Drive::Responses })
}

fn world_of(settings: WidgetSettings, drive: Drive) -> World {
    let clock = Arc::new(FixedClock::at(Timestamp::from_millis(1_769_852_730_000)));
    let storage = Arc::new(MemoryStorage::new());
    let blobs = MemoryBlobs::new();
    let script = Arc::new(Script { name: "script", ..Script::default() });
    let slow = Arc::new(Slow::default());
    let knowledge = Arc::new(Script { name: "knowledge", ..Script::default() });
    let shared = Arc::clone(&storage) as _;
    let chat = chat(&clock, shared, &blobs, (&script, &knowledge, &slow), drive, KEYS);
    let platform = Arc::clone(chat.platform());
    let api = chat.widget_api(settings.clone());
    let agent = NewAgent { id: Some(agent()), ..NewAgent::new("Mill Lane".parse().expect("a name")) };
    block_on(platform.create_agent(&operator(), agent)).expect("an agent");
    let world =
        World { clock, platform, chat, api, script, knowledge, slow, settings, storage, blobs, drive };
    world.script.says("Hello.");
    world.configure(json!({ "chat": { "responder": "script" } }));
    world
}

fn chat(
    clock: &Arc<FixedClock>,
    storage: Arc<dyn ConversationStorage>,
    blobs: &MemoryBlobs,
    (script, knowledge, slow): (&Arc<Script>, &Arc<Script>, &Arc<Slow>),
    drive: Drive,
    keys: &[u8],
) -> Arc<Conversations> {
    let keys = keys.iter().map(|byte| ServerKey::new(&[*byte; 32]));
    let mut keys: VecDeque<ServerKey> = keys.collect();
    let current = keys.pop_front().expect("a key");
    let keys = ServerKeys::new(current, keys.into());
    let ports = Ports::new(Arc::clone(clock) as _, Arc::new(SequentialIds::default()), keys)
        .with_blobs(Arc::new(blobs.clone()));
    let chat = ChatPorts::new()
        .with_responder(Arc::clone(script) as _)
        .with_responder(Arc::clone(knowledge) as _)
        .with_retriever(Arc::clone(slow) as _);
    let (ports, chat) = match drive {
        Drive::Responses => (ports, chat),
        Drive::Clock => (ports.with_timer(Arc::new(Clocked(Arc::clone(clock)))), chat),
        Drive::Threads => (ports.with_timer(Arc::new(Hasty)), chat.with_spawner(Arc::new(Threads))),
    };
    let service_info = ServiceInfo::new("https://api.example.com").expect("a valid URL");
    let platform = Platform::new(Arc::clone(&storage) as _, ports, service_info);
    // Less than a visitor's file, which must not use any of it.
    let mut extraction = ExtractionSettings::default();
    extraction.max_held_bytes = 40;
    let platform = Arc::new(platform.with_extraction_settings(extraction));
    Arc::new(Conversations::new(platform, storage, chat))
}

pub fn agent() -> AgentId {
    AGENT.parse().expect("an id")
}

pub fn operator() -> Actor {
    Actor::Operator("test".to_owned())
}

pub fn object(value: &Value) -> Object {
    match parse(value.to_string().as_bytes()) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}"),
    }
}

impl World {
    /// Solves the challenge, if one is required, and sends the call again.
    pub fn post_solved(&self, path: &str, body: &Value) -> Answered {
        let asked = self.post(path, body);
        let mut body = body.clone();
        body["challenge"] = asked.solution();
        self.post(path, &body)
    }

    /// Another process over the same store.
    pub fn another(&self) -> WidgetApi {
        self.after_keys(KEYS)
    }

    /// Another process over the same store with these server keys, the current one first.
    pub fn after_keys(&self, keys: &[u8]) -> WidgetApi {
        self.server(Arc::clone(&self.storage) as _, keys).widget_api(self.settings.clone())
    }

    /// The chat of another process, whose calls of the store suspend before and after their work.
    pub fn halting(&self) -> Arc<Conversations> {
        let storage = FaultyStorage::new(Arc::clone(&self.storage) as _);
        storage.halt(true);
        self.server(storage, KEYS)
    }

    fn server(&self, storage: Arc<dyn ConversationStorage>, keys: &[u8]) -> Arc<Conversations> {
        let responders = (&self.script, &self.knowledge, &self.slow);
        chat(&self.clock, storage, &self.blobs, responders, self.drive, keys)
    }

    pub fn storage(&self) -> &MemoryStorage {
        &self.storage
    }

    /// Applies settings immediately.
    pub fn configure(&self, settings: Value) {
        block_on(self.chat.configure_agent(&operator(), &agent(), &object(&settings))).expect("settings");
        self.clock.advance_millis(5_000);
    }

    pub fn post(&self, path: &str, body: &Value) -> Answered {
        self.send(&self.api, path, body, |_| ())
    }

    pub fn send(
        &self,
        api: &WidgetApi,
        path: &str,
        body: &Value,
        change: impl FnOnce(&mut Request<Full<Bytes>>),
    ) -> Answered {
        block_on(read(block_on(api.handle(request(path, body, change)))))
    }

    /// Sends a call from an address, and again with a solution if a challenge is required.
    pub fn post_from(&self, address: IpAddr, path: &str, body: &Value) -> Answered {
        let from = |body: &Value| {
            self.send(&self.api, path, body, |request| {
                request.extensions_mut().insert(PeerAddress(address));
            })
        };
        let answered = from(body);
        if answered.status != 429 || answered.code() != "CHALLENGE_REQUIRED" {
            return answered;
        }
        let mut body = body.clone();
        body["challenge"] = answered.solution();
        from(&body)
    }

    /// A turn of a new visitor, or of the visitor with this token.
    pub fn turn(&self, number: u32, text: &str, token: Option<&str>) -> Answered {
        self.post("/turns", &turn(number, text, token))
    }

    /// The conversation of a response.
    pub fn conversation(&self, answered: &Answered) -> conversations::Conversation {
        let id = answered.session()["conversation"].as_str().expect("an id").parse().expect("an id");
        block_on(self.chat.conversation(&agent(), id)).expect("a conversation")
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The number of messages in the conversation of a response.
    pub fn messages_of(&self, answered: &Answered) -> u64 {
        self.conversation(answered).message_count
    }

    pub fn messages(&self, answered: &Answered) -> Vec<conversations::Message> {
        let id = self.conversation(answered).id;
        block_on(self.chat.messages(&agent(), id, 0, 100)).expect("messages")
    }
}

pub fn request(
    path: &str,
    body: &Value,
    change: impl FnOnce(&mut Request<Full<Bytes>>),
) -> Request<Full<Bytes>> {
    let mut request = Request::post(format!("/widget/v1{path}"))
        .header("content-type", "text/plain;charset=UTF-8")
        .header("origin", PAGE)
        .extension(PeerAddress([192, 0, 2, 7].into()))
        .body(Full::new(Bytes::from(body.to_string())))
        .expect("a request");
    change(&mut request);
    request
}

/// The id of a test's turn.
pub fn turn_id(number: u32) -> String {
    format!("5f0c2b1e-8a47-4d3b-9c61-{number:012x}")
}

pub fn turn(number: u32, text: &str, token: Option<&str>) -> Value {
    json!({
        "v": 1, "agentId": AGENT, "id": turn_id(number), "token": token, "text": text, "uploads": [], "lead": null,
        "user": null, "page": { "url": "https://www.example.com/services", "title": "Services", "referrer": null, "utm": {} },
        "locale": "en", "tz": "Europe/London", "metadata": {}, "persist": "local", "challenge": null, "hp": ""
    })
}

/// A fully read response.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

pub async fn read(response: Response<ApiBody>) -> Answered {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    Answered { status: parts.status.as_u16(), headers: parts.headers, text }
}

impl Answered {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The solution of the challenge in this response.
    pub fn solution(&self) -> Value {
        assert_eq!((self.status, self.code().as_str()), (429, "CHALLENGE_REQUIRED"), "{}", self.text);
        let challenge = self.json()["details"]["challenge"].clone();
        assert_eq!(challenge["alg"], "sha-256");
        let salt = challenge["salt"].as_str().expect("a salt");
        let bits = u32::try_from(challenge["bits"].as_u64().expect("bits")).expect("a few");
        let solves = |nonce: &String| {
            let digest = Sha256::digest(format!("{salt}{nonce}"));
            u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]).leading_zeros() >= bits
        };
        let nonce = (0_u64..).map(|number| number.to_string()).find(solves).expect("a nonce");
        json!({ "salt": salt, "nonce": nonce })
    }

    /// The names, numbers and data of the events.
    pub fn events(&self) -> Vec<(String, String, Value)> {
        assert_eq!(self.headers["content-type"], "text/event-stream", "{}", self.text);
        let events = self.text.split("\n\n").filter(|event| !event.is_empty() && !event.starts_with(':'));
        events
            .map(|event| {
                let part = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.unwrap_or_else(|| panic!("no {name} in {event}")).to_owned()
                };
                let data = serde_json::from_str(&part("data: ")).expect("JSON");
                (part("event: "), part("id: "), data)
            })
            .collect()
    }

    pub fn names(&self) -> Vec<String> {
        self.events().into_iter().map(|(name, ..)| name).collect()
    }

    pub fn event(&self, name: &str) -> Value {
        let found = self.events().into_iter().find(|(known, ..)| known == name);
        found.unwrap_or_else(|| panic!("no {name} in {}", self.text)).2
    }

    pub fn session(&self) -> Value {
        if self.text.starts_with('{') {
            self.json()["data"]["session"].clone()
        } else {
            self.event("session")
        }
    }

    pub fn token(&self) -> String {
        self.session()["token"].as_str().expect("a token").to_owned()
    }

    /// The reply that a client assembles from deltas.
    pub fn written(&self) -> String {
        let mut text = String::new();
        for (name, _, data) in self.events() {
            match name.as_str() {
                "delta" => text.push_str(data["text"].as_str().expect("a text")),
                "replace" => data["text"].as_str().expect("a text").clone_into(&mut text),
                _ => {}
            }
        }
        text
    }
}

pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it did not become so");
}
