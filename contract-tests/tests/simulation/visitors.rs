//! Visitors. Each asks a few questions, and repeats or resumes a turn until it has ended.

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use openapi_core::api::PeerAddress;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::executor::Simulation;
use crate::service::Service;
use crate::tenant::Tenant;

const PAGE: &str = "https://www.example.com";

/// How often a call is repeated before the visitor gives up.
const ATTEMPTS: u32 = 80;

/// What a visitor has seen of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub tenant: usize,
    pub conversation: String,
    /// The texts, in order, as `/sync` gave them at the end.
    pub texts: Vec<String>,
    /// Question and displayed reply of each turn that has ended.
    pub turns: Vec<(String, String)>,
}

pub struct Visitor {
    pub service: Arc<Service>,
    pub tenant: Arc<Tenant>,
    pub tenant_number: usize,
    pub number: usize,
    pub seen: Arc<Mutex<Vec<Seen>>>,
}

/// A turn as its client displays it.
#[derive(Default)]
struct Turn {
    seen: u64,
    has_session: bool,
    text: String,
    reply: Option<String>,
    is_done: bool,
    has_failed: bool,
}

#[derive(Default)]
struct Conversation {
    id: String,
    token: Option<String>,
}

impl Visitor {
    pub async fn run(self) {
        let simulation = self.simulation().clone();
        let mut conversation = Conversation::default();
        let mut turns = Vec::new();
        for number in 0..1 + simulation.below(4) {
            simulation.sleep(simulation.below(20_000)).await;
            let text = format!("{} visitor {} asks {number}", self.tenant.mark, self.number);
            let Some(reply) = self.turn(number, &text, &mut conversation).await else { return };
            turns.push((text, reply));
        }
        // Everything works at the end, so that what was stored is there.
        simulation.sleep(u64::try_from((self.until() - simulation.now()).max(0)).unwrap_or(0)).await;
        let texts = self.sync(&conversation).await;
        self.seen.lock().push(Seen {
            tenant: self.tenant_number,
            conversation: conversation.id,
            texts,
            turns,
        });
    }

    fn until(&self) -> i64 {
        crate::start().millis() + crate::QUIET_FROM + 60_000
    }

    fn simulation(&self) -> &Simulation {
        &self.service.simulation
    }

    fn request(&self, path: &str, body: &Value) -> Request<Full<Bytes>> {
        let address = [198, 51, self.tenant_number as u8, self.number as u8];
        Request::post(format!("/widget/v1{path}"))
            .header("content-type", "text/plain;charset=UTF-8")
            .header("origin", PAGE)
            .extension(PeerAddress(address.into()))
            .body(Full::new(Bytes::from(body.to_string())))
            .expect("a request")
    }

    /// Asks until the turn has ended, and returns the displayed reply; `None` when the visitor gives up.
    async fn turn(&self, number: u64, text: &str, conversation: &mut Conversation) -> Option<String> {
        let id = format!("5f0c2b1e-8a47-4d3b-9c{:02x}-{:06x}{number:06x}", self.tenant_number, self.number);
        let mut turn = Turn::default();
        for _ in 0..ATTEMPTS {
            let request = if turn.has_session && !turn.has_failed {
                let body = json!({ "token": conversation.token, "turn": id, "after": turn.seen });
                self.request("/turns/resume", &body)
            } else {
                turn = Turn::default();
                self.request("/turns", &self.turn_body(&id, text, conversation.token.as_deref()))
            };
            let answer = self.service.call(request).await;
            let status = answer.as_ref().map(|(status, _)| status.as_u16());
            self.simulation()
                .note(format!("{} visitor {} turn {number} {status:?}", self.tenant.agent, self.number));
            if let Some((status, mut stream)) = answer {
                assert!(
                    !matches!(status.as_u16(), 400 | 401 | 403 | 422 | 500),
                    "a sound turn gets {status}"
                );
                if status == 200 {
                    while let Some(Some(bytes)) = stream.next().await {
                        let text = std::str::from_utf8(&bytes).expect("UTF-8");
                        text.split("\n\n")
                            .filter(|it| !it.is_empty())
                            .for_each(|event| turn.take(event, conversation));
                        // The visitor's own network, or another page.
                        if self.service.faults.are_on() && self.simulation().one_in(60) {
                            break;
                        }
                    }
                } else {
                    // Another process owns the turn until its lease expires, or the store is away.
                    turn.has_failed = true;
                }
            }
            if turn.is_done {
                let stored = turn.reply.clone().unwrap_or_default();
                assert_eq!(turn.text, stored, "the displayed reply is the stored one");
                return Some(stored);
            }
            self.simulation().sleep(1_000 + self.simulation().below(6_000)).await;
        }
        None
    }

    fn turn_body(&self, id: &str, text: &str, token: Option<&str>) -> Value {
        json!({
            "v": 1, "agentId": self.tenant.agent.as_str(), "id": id, "token": token, "text": text, "uploads": [],
            "lead": null, "user": null, "page": { "url": PAGE, "title": "Page", "referrer": null, "utm": {} },
            "locale": "en", "tz": "Europe/London", "metadata": {}, "persist": "local", "challenge": null, "hp": ""
        })
    }

    /// Every text of the conversation, as the widget reads them.
    async fn sync(&self, conversation: &Conversation) -> Vec<String> {
        let mut texts = Vec::new();
        let mut after = 0;
        for _ in 0..ATTEMPTS {
            let body = json!({ "token": conversation.token, "after": after });
            let Some((status, mut stream)) = self.service.call(self.request("/sync", &body)).await else {
                continue;
            };
            let mut bytes = Vec::new();
            while let Some(Some(frame)) = stream.next().await {
                bytes.extend_from_slice(&frame);
            }
            assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
            let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
            let messages = answer["data"]["messages"].as_array().expect("messages").clone();
            if messages.is_empty() {
                return texts;
            }
            for message in messages {
                after = message["seq"].as_u64().expect("a number");
                texts.push(message["text"].as_str().expect("a text").to_owned());
            }
        }
        panic!("the conversation has no end");
    }
}

impl Turn {
    fn take(&mut self, event: &str, conversation: &mut Conversation) {
        let part = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        let Ok(data) = serde_json::from_str::<Value>(part("data: ")) else { return };
        if let Some((_, number)) = part("id: ").rsplit_once('.') {
            let number: u64 = number.parse().expect("a number");
            assert!(number > self.seen, "numbers only grow");
            self.seen = number;
        }
        let text = || data["text"].as_str().expect("a text").to_owned();
        match part("event: ") {
            "session" => {
                let id = data["conversation"].as_str().expect("an id").to_owned();
                assert!(
                    conversation.id.is_empty() || conversation.id == id,
                    "a visitor stays in one conversation"
                );
                conversation.id = id;
                conversation.token = data["token"].as_str().map(str::to_owned);
                self.has_session = true;
            }
            "delta" => self.text.push_str(&text()),
            "replace" => self.text = text(),
            "message" => {
                self.text = text();
                self.reply = Some(text());
            }
            "done" => self.is_done = true,
            "error" => self.has_failed = true,
            _ => {}
        }
    }
}
