//! The same random visitors on every store: all responses equal the model's, to the byte. Streams are cut, calls are
//! repeated and sent to another process, humans take over, forms and files are submitted, erased data is gone, and strings are
//! hostile.
//!
//! `WIDGET_STEPS` sets the number of steps on each store.

use std::sync::Arc;

use bytes::Bytes;
use contract_tests::backend::{Store, wait};
use contract_tests::sandbox::{AGENT, START, instant, object, operator};
use contract_tests::{Backend, SplitMix64};
use conversations::storage::{ConversationFilter, ConversationQuery};
use conversations::widget::{WidgetApi, WidgetLimits, WidgetSettings};
use conversations::{ChatEvent, ChatEvents, ChatResponder, ChatTurn, Outcome, Speaker, Usage};
use conversations::{ChatPorts, Conversations};
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::api::PeerAddress;
use openapi_core::contacts::ContactRef;
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, MemoryBlobs, SequentialIds};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::service_info::ServiceInfo;
use openapi_core::storage::AuditQuery;
use openapi_core::values::{AgentId, ConversationId};
use serde_json::{Value, json};
use testkit::strategies::{hostile_header, hostile_json, hostile_text};

/// Concurrent visitors.
const VISITORS: usize = 3;
/// Steps per history; each history has its own store.
const STEPS: usize = 60;
/// A seed whose histories have many turns.
const SEED: u64 = 12;

/// How much of a response is read.
#[derive(Clone, Copy)]
enum Reads {
    All,
    /// Only its head.
    Nothing,
    /// The deltas of a reply that hangs after them.
    Deltas,
}

/// Echoes the question in three deltas; offers the form or hangs if the question says so.
struct Echo;

impl ChatResponder for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn respond(&self, turn: ChatTurn) -> ChatEvents {
        let said = turn.history.iter().rev().find(|line| line.speaker == Speaker::Visitor);
        let text = said.map_or_else(String::new, |line| line.text.clone());
        let form = text.contains("form").then_some(ChatEvent::Form);
        let done =
            ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage: Usage::default() };
        let deltas = ["You say: ", text.as_str(), "."].map(|text| ChatEvent::Delta(text.to_owned()));
        let events: Vec<ChatEvent> = deltas.into_iter().chain(form).chain([done]).collect();
        let hangs = text.contains("hang");
        Box::pin(Events { events: events.into_iter().take(if hangs { 3 } else { usize::MAX }), hangs })
    }
}

struct Events {
    events: std::iter::Take<std::vec::IntoIter<ChatEvent>>,
    hangs: bool,
}

impl futures_core::Stream for Events {
    type Item = ChatEvent;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<ChatEvent>> {
        match self.events.next() {
            None if self.hangs => std::task::Poll::Pending,
            event => std::task::Poll::Ready(event),
        }
    }
}

/// A visitor's browser state.
#[derive(Clone, Debug, Default)]
struct Browser {
    token: Option<String>,
    conversation: Option<ConversationId>,
    /// The last turn, and its text.
    turn: Option<(String, Value)>,
    reply: Option<String>,
}

/// A store with two processes in front of it.
struct World {
    clock: Arc<FixedClock>,
    platform: Arc<Platform>,
    chat: Arc<Conversations>,
    processes: [WidgetApi; 2],
    browsers: Vec<Browser>,
    turns: u32,
    _store: Store,
}

fn settings() -> WidgetSettings {
    let mut settings = WidgetSettings::default();
    let WidgetLimits { turns, syncs, leads, uploads, address_sessions, address_turns, .. } =
        &mut settings.limits;
    for windows in [turns, syncs, leads, uploads, address_sessions, address_turns] {
        windows.clear();
    }
    let WidgetLimits { address_leads, address_repeats, address_calls, address_requests, agent_turns, .. } =
        &mut settings.limits;
    for windows in [address_leads, address_repeats, address_calls, address_requests, agent_turns] {
        windows.clear();
    }
    settings
}

fn agent() -> AgentId {
    AGENT.parse().expect("an id")
}

impl World {
    fn on(store: Store) -> Self {
        let clock = Arc::new(FixedClock::at(instant(START)));
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
        let ports = Ports::new(Arc::clone(&clock) as _, Arc::new(SequentialIds::default()), keys)
            .with_blobs(Arc::new(MemoryBlobs::new()));
        let service_info = ServiceInfo::new("https://api.example.com").expect("a valid URL");
        let platform = Arc::new(Platform::new(Arc::clone(&store.storage) as _, ports, service_info));
        let ports = ChatPorts::new().with_responder(Arc::new(Echo));
        let chat = Arc::new(Conversations::new(Arc::clone(&platform), Arc::clone(&store.storage), ports));
        let new = NewAgent { id: Some(agent()), ..NewAgent::new("Mill Lane".parse().expect("a name")) };
        wait(platform.create_agent(&operator(), new)).expect("an agent");
        let chosen = json!({
            "chat": { "responder": "echo" }, "uploads": { "enabled": true, "types": ["txt"] }, "retentionDays": 3
        });
        wait(chat.configure_agent(&operator(), &agent(), &object(&chosen))).expect("settings");
        World {
            processes: [chat.widget_api(settings()), chat.widget_api(settings())],
            clock,
            platform,
            chat,
            browsers: vec![Browser::default(); VISITORS],
            turns: 0,
            _store: store,
        }
    }

    /// Sends a call and reads its response, or only the first `pieces` of a stream.
    fn call(
        &mut self,
        visitor: usize,
        process: usize,
        request: Request<Full<Bytes>>,
        reads: Reads,
    ) -> String {
        let answered = wait(async {
            let response = self.processes[process].handle(request).await;
            let (parts, mut body) = response.into_parts();
            let mut text = format!("{} ", parts.status);
            // The chunking of a stream depends on the store; its content does not.
            while !match reads {
                Reads::All => false,
                Reads::Nothing => true,
                Reads::Deltas => text.contains("\"text\":\".\"") || text.starts_with('4'),
            } {
                let Some(frame) = body.frame().await else { break };
                let bytes = frame.expect("a frame").into_data().expect("data");
                text.push_str(std::str::from_utf8(&bytes).expect("UTF-8"));
            }
            text
        });
        let browser = &mut self.browsers[visitor];
        let part = |name: &str| {
            let start = answered.rfind(&format!("\"{name}\":\""))? + name.len() + 4;
            answered[start..].split('"').next().map(str::to_owned)
        };
        if let Some(token) = part("token") {
            browser.token = Some(token);
            browser.conversation = part("conversation").and_then(|id| id.parse().ok());
        }
        let reply = answered.split("event: message").nth(1).and_then(|rest| rest.split("\"id\":\"").nth(1));
        if let Some(reply) = reply {
            browser.reply = reply.split('"').next().map(str::to_owned);
        }
        if answered.contains("TOKEN_INVALID") {
            *browser = Browser::default();
        }
        answered
    }

    fn post(&mut self, visitor: usize, process: usize, path: &str, body: &Value, reads: Reads) -> String {
        let request = self.request(path, "text/plain", body.to_string().into());
        self.call(visitor, process, request, reads)
    }

    fn request(&self, path: &str, content_type: &str, body: Bytes) -> Request<Full<Bytes>> {
        Request::post(format!("/widget/v1{path}"))
            .header(header::CONTENT_TYPE, content_type)
            .header(header::ORIGIN, "https://www.example.com")
            .extension(PeerAddress([192, 0, 2, 7].into()))
            .body(Full::new(body))
            .expect("a request")
    }

    fn turn(
        &mut self,
        visitor: usize,
        process: usize,
        text: &str,
        uploads: &[String],
        reads: Reads,
    ) -> String {
        self.turns += 1;
        let id = format!("5f0c2b1e-8a47-4d3b-9c61-{:012x}", self.turns);
        let body = json!({
            "v": 1, "agentId": AGENT, "id": id, "token": self.browsers[visitor].token, "text": text,
            "uploads": uploads, "page": { "url": "https://www.example.com/é", "utm": { "source": "x" } },
            "locale": "en", "metadata": { "plan": "gold" }
        });
        self.browsers[visitor].turn = Some((id, body.clone()));
        self.post(visitor, process, "/turns", &body, reads)
    }

    fn upload(&mut self, visitor: usize, process: usize) -> String {
        let (name, value) = match &self.browsers[visitor].token {
            Some(token) => ("token", token.clone()),
            None => ("agentId", AGENT.to_owned()),
        };
        let form = format!(
            "--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n--x\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"note.txt\"\r\n\r\nA note.\r\n--x--\r\n"
        );
        let request = self.request("/uploads", "multipart/form-data; boundary=x", form.into());
        self.call(visitor, process, request, Reads::All)
    }

    /// One visitor action, and its response.
    fn step(&mut self, random: &mut SplitMix64) -> String {
        let (visitor, process) = (random.index(VISITORS), random.index(2));
        let browser = self.browsers[visitor].clone();
        let (token, by, agent) = (browser.token.clone(), operator(), agent());
        match random.index(19) {
            0 | 1 => self.turn(visitor, process, "What can you do?", &[], Reads::All),
            2 => self.turn(visitor, process, "A form, please.", &[], Reads::All),
            // Nothing drives a turn whose stream is dropped: it is repeated, or fails when its lease expires.
            3 => {
                let reads = [Reads::Nothing, Reads::Deltas][random.index(2)];
                self.turn(visitor, process, "And then hang?", &[], reads)
            }
            4 | 5 => match browser.turn {
                Some((_, body)) => {
                    let hangs = body["text"].as_str().is_some_and(|text| text.contains("hang"));
                    let reads = if hangs { Reads::Nothing } else { Reads::All };
                    self.post(visitor, process, "/turns", &body, reads)
                }
                None => String::new(),
            },
            6 => {
                let turn = browser.turn.map_or_else(String::new, |(id, _)| id);
                let body = json!({ "token": token, "turn": turn, "after": random.index(6) });
                // Nobody resumes a hung turn.
                self.post(visitor, process, "/turns/resume", &body, Reads::Nothing)
            }
            7 => {
                let sent = self.upload(visitor, process);
                let id = sent.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next());
                let uploads: Vec<String> = id.map(str::to_owned).into_iter().collect();
                match random.index(3) {
                    0 => sent,
                    _ => sent + &self.turn(visitor, process, "", &uploads, Reads::All),
                }
            }
            8 => {
                let email = format!("visitor{visitor}@example.com");
                let body = json!({ "agentId": AGENT, "token": token, "fields": { "primaryEmail": email },
                    "elapsedMs": 9_000, "hp": "" });
                self.post(visitor, process, "/lead", &body, Reads::All)
            }
            9 => {
                let body = json!({ "token": token, "after": random.index(5), "read": random.index(9) });
                self.post(visitor, process, "/sync", &body, Reads::All)
            }
            10 => {
                let body = json!({ "token": token, "message": browser.reply, "value": 1 });
                self.post(visitor, process, "/feedback", &body, Reads::All)
            }
            11 => self.post(visitor, process, "/close", &json!({ "token": token }), Reads::All),
            12 => {
                let seconds = [1, 20, 660, 90_000][random.index(4)];
                self.clock.advance_millis(seconds * 1_000);
                let contents = wait(self.platform.maintain()).is_ok();
                format!("{:?}", wait(self.chat.maintain()).is_ok() && contents)
            }
            13 => {
                let Some(id) = browser.conversation else { return String::new() };
                let chat = &self.chat;
                match random.index(4) {
                    0 => format!("{:?}", wait(chat.take_conversation(&by, &agent, id, None))),
                    1 => {
                        format!("{:?}", wait(chat.reply_to_conversation(&by, &agent, id, "Ada", "Yes.")))
                    }
                    2 => format!("{:?}", wait(chat.release_conversation(&by, &agent, id))),
                    _ => format!("{:?}", wait(chat.revoke_conversation(&by, &agent, id))),
                }
            }
            14 => {
                let Some(id) = browser.conversation else { return String::new() };
                let (platform, chat) = (&self.platform, &self.chat);
                let stored = wait(chat.conversation(&agent, id));
                match stored.as_ref().ok().and_then(|stored| stored.contact_id) {
                    Some(contact) if random.index(2) == 0 => {
                        let contact = ContactRef::Id(contact);
                        format!("{:?}", wait(platform.erase_contact(&by, &agent, &contact)))
                    }
                    _ => format!("{:?}", wait(chat.erase_conversation(&by, &agent, id))),
                }
            }
            15 => self.post(visitor, process, "/history", &json!({ "token": token }), Reads::All),
            16 => {
                let (path, body) = self.hostile(visitor, random);
                self.post(visitor, process, path, &body, Reads::All)
            }
            17 => {
                let body = hostile_json(random);
                let request = self.request("/turns", "text/plain", format!("{{\"id\":{body}}}").into());
                self.call(visitor, process, request, Reads::All)
            }
            _ => {
                let file = hostile_header(random).replace('"', "%22");
                let form = format!(
                    "--x\r\nContent-Disposition: form-data; name=\"agentId\"\r\n\r\n{AGENT}\r\n--x\r\n\
                     Content-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\n\r\nA note.\r\n--x--\r\n"
                );
                let request = self.request("/uploads", "multipart/form-data; boundary=x", form.into());
                self.call(visitor, process, request, Reads::All)
            }
        }
    }

    /// A call with a hostile string in one of its members.
    fn hostile(&mut self, visitor: usize, random: &mut SplitMix64) -> (&'static str, Value) {
        self.turns += 1;
        let id = format!("5f0c2b1e-8a47-4d3b-9c61-{:012x}", self.turns);
        let hostile = json!(hostile_text(random));
        let mut body = json!({
            "agentId": AGENT, "id": id, "token": self.browsers[visitor].token, "text": "Hello", "elapsedMs": 9_000,
            "page": { "url": "https://www.example.com/", "title": "T", "referrer": "r", "utm": { "source": "x" } },
            "locale": "en", "metadata": { "plan": "gold" }, "user": { "name": "Zoë", "phone": "1" },
            "fields": { "primaryEmail": "a@example.com", "firstName": "Zoë", "fullAddress": "12 Mill Lane" },
            "consent": { "version": "1", "at": "2026-01-31T09:15:00Z" }, "turn": id, "message": id, "value": 1,
        });
        let members = [
            "/text",
            "/page/url",
            "/page/title",
            "/page/referrer",
            "/page/utm/source",
            "/locale",
            "/metadata/plan",
            "/user/name",
            "/user/phone",
            "/fields/firstName",
            "/fields/fullAddress",
            "/fields/primaryEmail",
            "/consent/version",
            "/turn",
            "/message",
            "/id",
            "/token",
            "/agentId",
        ];
        for _ in 0..=random.index(2) {
            if let Some(member) = body.pointer_mut(random.pick(&members)) {
                *member = hostile.clone();
            }
        }
        if random.one_in(8) {
            body["metadata"] = json!({ hostile_text(random): "x" });
        }
        let paths = [
            "/turns",
            "/turns",
            "/turns",
            "/lead",
            "/lead",
            "/sync",
            "/feedback",
            "/turns/cancel",
            "/history",
        ];
        (random.pick(&paths), body)
    }

    /// All data that an operator can see.
    fn everything(&self) -> String {
        wait(async {
            let query = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 1_000 };
            let page = self.chat.conversations(&agent(), &query).await.expect("conversations");
            let mut text = format!("{page:?}");
            for conversation in &page.conversations {
                text += &format!("{:?}", self.chat.messages(&agent(), conversation.id, 0, 1_000).await);
            }
            text += &format!("{:?}", self.platform.documents(&agent(), None, 1_000).await);
            text += &format!("{:?}", self.platform.export_contacts(&agent(), None, 1_000).await);
            let audit = AuditQuery { limit: 1_000_000, ..AuditQuery::default() };
            text + &format!("{:?}", self.platform.audit(&audit).await)
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "the length of a campaign comes from the environment")]
fn steps() -> usize {
    std::env::var("WIDGET_STEPS").map_or(4 * STEPS, |text| text.parse().expect("a number"))
}

/// Runs the same steps on the model and on this store; returns the number of each kind of response.
fn agree(backend: Backend) {
    let steps = steps();
    let (mut answered, mut refused, mut uploads) = (0, 0, 0);
    for number in 0..steps.div_ceil(STEPS) as u64 {
        let (mut model, mut ours) = (World::on(Backend::Memory.open()), World::on(backend.open()));
        let (mut random, mut same) = (SplitMix64(number ^ SEED), SplitMix64(number ^ SEED));
        for step in 0..STEPS {
            let (expected, found) = (model.step(&mut random), ours.step(&mut same));
            assert_eq!(found, expected, "history {number}, step {step}");
            for world in [&model, &ours] {
                world.clock.advance_millis(700);
            }
            answered += usize::from(expected.contains("event: done"));
            refused += usize::from(expected.starts_with('4'));
            uploads += usize::from(expected.starts_with("201"));
        }
        assert_eq!(ours.everything(), model.everything(), "history {number}");
    }
    println!("{answered} turns, {refused} refusals, {uploads} files");
    assert!(answered * 5 > steps && refused > 0 && uploads > 0, "{answered}, {refused}, {uploads}");
}

#[test]
fn sqlite_answers_visitors_like_the_model() {
    agree(Backend::Sqlite);
}

#[test]
fn postgres_answers_visitors_like_the_model() {
    agree(Backend::Postgres);
}

#[test]
fn mongo_answers_visitors_like_the_model() {
    agree(Backend::Mongo);
}
