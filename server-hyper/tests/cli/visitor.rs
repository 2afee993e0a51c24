//! A visitor of the widget, who talks to an agent of a store through the library.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

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
use server_hyper::assemble::{self, OpenStore, StoreUrl};
use server_hyper::config::Config;
use server_hyper::config::flags::GlobalArgs;
use server_hyper::console::server::{Console, RemoteCaller, Session};
use server_hyper::console::{Lent, socket_path};
use server_hyper::ports::{SystemClock, SystemRandom};
use server_hyper::search::{Embedders, Search};
use server_hyper::server_keys::KeySource;

use super::support::Sandbox;

/// Clients generate the ids of turns.
static TURNS: AtomicU64 = AtomicU64::new(1);

/// This process as the owner of a sandbox's store: commands of the sandbox run here.
struct Host {
    _console: Console,
    store: OpenStore,
    _runtime: tokio::runtime::Runtime,
}

impl Host {
    /// The host of a sandbox, which all its visitors share.
    fn of(sandbox: &Sandbox) -> Arc<Self> {
        static HOSTS: Mutex<BTreeMap<PathBuf, Weak<Host>>> = Mutex::new(BTreeMap::new());
        let path = sandbox.path("data/openapi.db");
        let mut hosts = HOSTS.lock().unwrap();
        if let Some(host) = hosts.get(&path).and_then(Weak::upgrade) {
            return host;
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let entered = runtime.enter();
        let url = StoreUrl::parse(&format!("sqlite:{}", path.display())).unwrap();
        let store = runtime.block_on(assemble::open(&url, None)).unwrap();
        let config = Config::read(&GlobalArgs::default(), None).unwrap();
        let blobs = assemble::open_blobs(&config, &url).unwrap();
        let lent = Lent {
            store: store.clone(),
            blobs,
            config: Arc::new(config),
            runtime: runtime.handle().clone(),
            search: Search::new(store.storage(), 1 << 20, Embedders::OfAll),
            console_origin: None,
        };
        let run = Box::new(move |arguments, session: Arc<Session>| {
            let facts = session.facts().clone();
            server_hyper::cli::run_in_server(arguments, Arc::new(RemoteCaller(session)), facts, lent.clone())
        });
        let console = Console::listen(socket_path(store.database().unwrap(), None).unwrap(), run).unwrap();
        drop(entered);
        let host = Arc::new(Host { _console: console, store, _runtime: runtime });
        hosts.insert(path, Arc::downgrade(&host));
        host
    }
}

pub struct Visitor {
    /// Keeps the store open.
    _host: Arc<Host>,
    api: WidgetApi,
    agent: String,
    token: Value,
    runtime: tokio::runtime::Runtime,
}

impl Visitor {
    /// A new visitor.
    pub fn of(sandbox: &Sandbox, agent: &str) -> Self {
        Visitor::at(sandbox, agent, Arc::new(SystemClock))
    }

    /// The same, this many days ago.
    pub fn days_ago(sandbox: &Sandbox, agent: &str, days: i64) -> Self {
        let then = SystemClock.now().plus_millis(-days * 86_400_000);
        Visitor::at(sandbox, agent, Arc::new(FixedClock::at(then)))
    }

    fn at(sandbox: &Sandbox, agent: &str, clock: Arc<dyn Clock>) -> Self {
        let host = Host::of(sandbox);
        let storage = host.store.storage();
        let keys =
            KeySource::File(sandbox.path("data/server-keys")).load(&SystemClock, &SystemRandom).unwrap();
        let index = KnowledgeIndex::new(storage.clone(), clock.clone(), IndexSettings::default());
        let ports = Ports::new(clock, Arc::new(SystemRandom), keys);
        let chat =
            ChatPorts::new().with_responder(Arc::new(KnowledgeResponder)).with_retriever(Arc::new(index));
        let service_info = ServiceInfo::new("http://127.0.0.1:8080").unwrap();
        let platform = Arc::new(Platform::new(storage.clone(), ports, service_info));
        let chat = Arc::new(Conversations::new(platform, storage, chat));
        Visitor {
            _host: host,
            api: chat.widget_api(WidgetSettings::default()),
            agent: agent.to_owned(),
            token: Value::Null,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// Sends a message and returns the reply.
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

    /// Sends feedback on a message.
    #[track_caller]
    pub fn thinks(&self, message: &Value, value: i8, comment: &str) {
        let said = json!({ "token": self.token, "message": message, "value": value, "comment": comment });
        let (status, answer) = self.post("/widget/v1/feedback", &said);
        assert_eq!(status, 204, "{answer}");
    }

    /// The state of the conversation, with all its messages.
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

    /// The visitor's proof of identity.
    pub fn token(&self) -> &Value {
        &self.token
    }
}
