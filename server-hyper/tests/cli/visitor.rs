//! A visitor of the widget, who talks to an agent of a place through the library.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::conversations::widget::{WidgetApi, WidgetSettings};
use ::conversations::{ChatPorts, Conversations};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{Clock, FixedClock};
use openapi_core::service_info::ServiceInfo;
use responders::{IndexSettings, KnowledgeIndex, KnowledgeResponder};
use serde_json::{Value, json};
use server_hyper::ports::{SystemClock, SystemRandom};
use server_hyper::server_keys::KeySource;
use storage_sqlite::{SqliteConfig, SqliteStorage};

use super::support::Place;

/// Turns have ids that their client makes.
static TURNS: AtomicU64 = AtomicU64::new(1);

pub struct Visitor {
    api: WidgetApi,
    agent: String,
    token: Value,
    runtime: tokio::runtime::Runtime,
}

impl Visitor {
    /// Somebody who has said nothing yet.
    pub fn of(place: &Place, agent: &str) -> Self {
        Visitor::at(place, agent, Arc::new(SystemClock))
    }

    /// The same, so many days ago.
    pub fn days_ago(place: &Place, agent: &str, days: i64) -> Self {
        let then = SystemClock.now().plus_millis(-days * 86_400_000);
        Visitor::at(place, agent, Arc::new(FixedClock::at(then)))
    }

    fn at(place: &Place, agent: &str, clock: Arc<dyn Clock>) -> Self {
        let config = SqliteConfig::new(place.path("data/openapi.db"));
        let storage = Arc::new(SqliteStorage::open(config).unwrap());
        let keys = KeySource::File(place.path("data/server-keys")).load(&SystemClock, &SystemRandom).unwrap();
        let index = KnowledgeIndex::new(storage.clone(), clock.clone(), IndexSettings::default());
        let ports = Ports::new(clock, Arc::new(SystemRandom), keys);
        let chat =
            ChatPorts::new().with_responder(Arc::new(KnowledgeResponder)).with_retriever(Arc::new(index));
        let service_info = ServiceInfo::new("http://127.0.0.1:8080").unwrap();
        let platform = Arc::new(Platform::new(storage.clone(), ports, service_info));
        let chat = Arc::new(Conversations::new(platform, storage, chat));
        Visitor {
            api: chat.widget_api(WidgetSettings::default()),
            agent: agent.to_owned(),
            token: Value::Null,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// Says something and returns what comes back.
    #[track_caller]
    pub fn says(&mut self, text: &str) -> Value {
        let number = TURNS.fetch_add(1, Ordering::Relaxed);
        let said = json!({
            "v": 1, "agentId": self.agent, "id": format!("5f0c2b1e-8a47-4d3b-9c61-{number:012x}"), "token": self.token,
            "text": text, "uploads": [], "lead": null, "user": { "email": "zoe@example.com", "name": "Zoë" },
            "page": { "url": "https://www.example.com/services", "title": "Services" },
            "locale": "en", "tz": "Europe/London", "metadata": { "plan": "gold" }, "persist": "local",
            "challenge": null, "hp": ""
        });
        let (status, answer) = self.post("/widget/v1/turns", &said);
        assert_eq!(status, 200, "{answer}");
        self.token = answer["data"]["session"]["token"].clone();
        answer["data"].clone()
    }

    /// Says what they think of a message.
    #[track_caller]
    pub fn thinks(&self, message: &Value, value: i8, comment: &str) {
        let said = json!({ "token": self.token, "message": message, "value": value, "comment": comment });
        let (status, answer) = self.post("/widget/v1/feedback", &said);
        assert_eq!(status, 204, "{answer}");
    }

    /// The state of the conversation, with all of its messages.
    #[track_caller]
    pub fn looks(&self) -> Value {
        let (status, answer) =
            self.post("/widget/v1/sync", &json!({ "token": self.token, "after": 0, "open": true }));
        assert_eq!(status, 200, "{answer}");
        answer["data"].clone()
    }

    /// Sends a call and returns status and body.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = Request::post(path)
            .header("content-type", "text/plain;charset=UTF-8")
            .header("accept", "application/json")
            .header("origin", "https://www.example.com")
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap();
        self.runtime.block_on(async {
            let (head, body) = self.api.handle(request).await.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            (head.status.as_u16(), serde_json::from_slice(&bytes).unwrap_or(Value::Null))
        })
    }

    /// What the visitor proves to be with.
    pub fn token(&self) -> &Value {
        &self.token
    }
}
