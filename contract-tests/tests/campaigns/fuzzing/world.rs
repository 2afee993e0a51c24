//! The target of the cases: the API and the widget's calls over a small in-memory store.

use std::cell::Cell;
use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use bytes::Bytes;
use contract_tests::sandbox::{object, operator, wait};
use contract_tests::{Backend, Form, Reply, Sandbox, rules, story};
use conversations::ChatPorts;
use conversations::widget::{WidgetApi, WidgetSettings};
use conversations::{ChatEvent, ChatEvents, ChatResponder, ChatTurn, Outcome, Usage};
use futures_core::Stream;
use http_body_util::BodyExt;
use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::api::PeerAddress;
use openapi_core::ports::{FileScan, FileScanner, ScanError, Verdict};
use serde_json::json;

use super::case::{Case, Who};

/// A future that is pending after this many polls hangs: nothing in memory needs more.
const POLLS: usize = 2_000;

/// Answers with one sentence immediately.
struct Parrot;

struct Said(VecDeque<ChatEvent>);

impl Stream for Said {
    type Item = ChatEvent;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<ChatEvent>> {
        Poll::Ready(self.0.pop_front())
    }
}

impl ChatResponder for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    fn most(&self, _: &ChatTurn) -> Usage {
        Usage::default()
    }

    fn respond(&self, _: ChatTurn) -> ChatEvents {
        let done =
            ChatEvent::Done { outcome: Outcome::Answered, sources: Vec::new(), usage: Usage::default() };
        Box::pin(Said([ChatEvent::Delta("Hello.".to_owned()), done].into()))
    }
}

thread_local! {
    /// Whether the worlds of this thread contain a planted defect.
    pub static HAS_DEFECT: Cell<bool> = const { Cell::new(false) };
}

/// A scanner that panics at a text that no seed sends: some bytes twice in a row.
struct Fragile;

#[async_trait]
impl FileScanner for Fragile {
    async fn begin(&self) -> Result<Box<dyn FileScan>, ScanError> {
        Ok(Box::new(Fragile))
    }
}

#[async_trait]
impl FileScan for Fragile {
    async fn push(&mut self, bytes: &Bytes) -> Result<(), ScanError> {
        let is_doubled = |size: usize| bytes.windows(2 * size).any(|window| window[..size] == window[size..]);
        assert!(!is_doubled(4), "the planted defect");
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<Verdict, ScanError> {
        Ok(Verdict::Clean)
    }
}

/// The outcome of a case.
#[derive(Debug)]
pub enum Sent {
    /// It is not a valid request.
    Nothing,
    /// The API answered.
    Reply(Box<Reply>),
    /// The widget responded with this status and error code.
    Widget(u16, String),
}

impl Sent {
    /// The coverage key of a response: the operation, the outcome, and the validation errors.
    pub fn signature(&self) -> String {
        match self {
            Sent::Nothing => String::new(),
            Sent::Widget(status, code) => format!("widget {status} {code}"),
            Sent::Reply(reply) => {
                let mut kinds: Vec<String> = reply.json["validationErrors"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|error| format!("{} {}", error["type"], error["in"]))
                    .collect();
                kinds.sort_unstable();
                kinds.dedup();
                let message = reply.json["message"].as_str().unwrap_or_default();
                // Names, values and numbers come from the request.
                let mut is_quoted = false;
                let plain = message.chars().filter(|c| {
                    is_quoted ^= matches!(c, '\'' | '"' | '`');
                    !is_quoted && !c.is_ascii_digit()
                });
                let plain: String = plain.take(60).collect();
                let cut = if reply.code() == "VALIDATION_ERROR" { "" } else { &plain };
                format!("{:?} {} {} {kinds:?} {cut}", reply.operation, reply.status, reply.code())
            }
        }
    }
}

/// The small store with all records that cases refer to.
pub struct World {
    cx: Sandbox,
    widget: WidgetApi,
    names: Vec<(&'static str, String)>,
    sent: i64,
}

impl World {
    pub fn new() -> Self {
        let cx = Sandbox::with_settings(Backend::Memory, |settings| {
            settings.address_limits.health = 0;
            settings.address_limits.download = 0;
            settings.address_limits.unrouted = 0;
            settings.address_limits.failed_authentication = 0;
        });
        let mut ports = cx.ports();
        if HAS_DEFECT.get() {
            ports = ports.with_scanner(Arc::new(Fragile));
        }
        let cx = cx.rebuilt(ports, |_| {});
        let conversations = cx.chat(ChatPorts::new().with_responder(Arc::new(Parrot)));
        let chat = object(&json!({ "chat": { "responder": "parrot" } }));
        wait(conversations.configure_agent(&operator(), &cx.agent, &chat)).expect("settings");
        let contact = cx.create(&story::new_contact()).id();
        let files = format!("/files/chatbots/<A>/{contact}");
        let upload = cx.call("POST", &files).form(&Form::of_file("a.pdf", story::PDF));
        let file = upload.send().expect(201).id();
        let signed = cx.get(&format!("{files}/files/{file}/signed-url")).expect(200);
        let link = signed.data()["url"].as_str().expect("a URL");
        let link = link.strip_prefix(contract_tests::document::ORIGIN).expect("below the origin").to_owned();
        let template = cx.template(&story::feedback());
        let submit = format!("/forms/submit/{template}/contacts/crm-1001");
        let submission = cx.post(&submit, &json!({ "formData": { "rating": 5 } })).expect(201).id();
        let mut settings = WidgetSettings::default();
        settings.limits.address_requests.clear();
        settings.limits.address_calls.clear();
        settings.limits.address_upload_mib.clear();
        settings.limits.address_turns.clear();
        settings.limits.address_leads.clear();
        let widget = conversations.widget_api(settings);
        let names = vec![
            ("<A>", cx.agent.to_string()),
            ("<CONTACT>", contact),
            ("<FILE>", file),
            ("<LINK>", link),
            ("<TEMPLATE>", template),
            ("<SUBMISSION>", submission),
        ];
        let mut world = World { cx, widget, names, sent: 0 };
        let token = world.visitor_token();
        world.names.push(("<TOKEN>", token));
        world
    }

    fn visitor_token(&mut self) -> String {
        let turn = super::seeds::of_widget().swap_remove(0);
        let body = String::from_utf8_lossy(&turn.body).replace("\"<TOKEN>\"", "null").replace("2\",", "1\",");
        let turn = Case { body: body.into_bytes(), ..turn };
        let request = turn.request(&self.names).expect("a request");
        let answer = finished(async {
            let response = self.widget.handle(request).await;
            response.into_body().collect().await.expect("a body").to_bytes()
        });
        let text = String::from_utf8_lossy(&answer.expect("an answer")).into_owned();
        let token = text.split_once("\"token\":\"").and_then(|(_, rest)| rest.split('"').next());
        token.unwrap_or_else(|| panic!("no token in {text}")).to_owned()
    }

    /// Sends a case and checks the reply against the rules of all replies.
    ///
    /// # Panics
    /// If the reply breaks a rule, never comes, or the code panics.
    pub fn send(&mut self, case: &Case) -> Sent {
        let Some(mut request) = case.request(&self.names) else { return Sent::Nothing };
        self.sent += 1;
        // Below the key's limits.
        self.cx.advance(450);
        request.extensions_mut().insert(PeerAddress([192, 0, 2, (self.sent % 250) as u8].into()));
        if case.who == Who::Visitor {
            return self.visit(request);
        }
        let headers = request.headers_mut();
        let credentials = &self.cx.credentials;
        let secret = if case.who == Who::Key { credentials.secret.as_str() } else { "wrong" };
        match case.who {
            Who::Key | Who::WrongSecret => {
                let _ = headers.append("x-api-key", credentials.key.parse().expect("a value"));
                let _ = headers.append("x-api-secret", secret.parse().expect("a value"));
            }
            Who::Host => drop(request.extensions_mut().insert(Caller {
                agent_id: self.cx.agent.clone(),
                actor: Actor::User("host".into()),
                permissions: Permissions::all(),
                address: None,
                request_id: String::new(),
            })),
            Who::Nobody | Who::Visitor => {}
        }
        let (parts, body) = request.into_parts();
        let asked = rules::Asked { request: parts.clone(), settings: self.cx.settings() };
        let request = http::Request::from_parts(parts, body);
        let reply = finished(async { Reply::read(self.cx.api.handle(request).await).await });
        let reply = reply.expect("an answer");
        rules::check(&asked, &reply);
        // An extractor script fails as its documents request.
        let is_own = reply.status < 500 || reply.operation == Some("extractDocument");
        assert!(is_own && reply.code() != "INTERNAL_ERROR", "{}", reply.text);
        Sent::Reply(Box::new(reply))
    }

    fn visit(&self, request: http::Request<contract_tests::call::ChunkedBody>) -> Sent {
        let answer = finished(async {
            let (parts, body) = self.widget.handle(request).await.into_parts();
            let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            (parts.status.as_u16(), String::from_utf8_lossy(&bytes).into_owned())
        });
        // Some requests follow a reply that another stream drives.
        let (status, text) = answer.unwrap_or((0, String::new()));
        let code = text.split_once("\"code\":\"").and_then(|(_, rest)| rest.split('"').next());
        assert_ne!(code, Some("INTERNAL_ERROR"), "{text}");
        Sent::Widget(status, code.unwrap_or_default().to_owned())
    }
}

/// The result of a future; `None` if it hangs.
fn finished<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    for _ in 0..POLLS {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(value);
        }
    }
    None
}
