//! A host that embeds the library on one thread. Every system call between two marks comes from the library;
//! `tests/host` traces them. With an argument, the host itself does something forbidden between the marks.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use contract_tests::{Form, Script, document, story};
use conversations::widget::{WidgetApi, WidgetSettings};
use conversations::{ChatPorts, Conversations};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent, NewKey};
use openapi_core::api::{Api, Settings};
use openapi_core::json::{Json, Object};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{FixedClock, MemoryBlobs, SequentialIds};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use pollster::block_on;
use serde_json::{Value, json};
use storage_memory::MemoryStorage;

/// Panics that reached the host's own hook.
static SEEN: AtomicU32 = AtomicU32::new(0);

fn main() -> ExitCode {
    let fault = std::env::args().nth(1);
    panic::set_hook(Box::new(|panicked| {
        let _ = SEEN.fetch_add(1, Ordering::SeqCst);
        eprintln!("{panicked}");
    }));
    // The first call in a process probes whether the system call exists.
    mark("ready");
    mark("begin");
    let calls = Host::new().calls();
    if let Some(fault) = &fault {
        commit(fault);
    }
    mark("end");
    println!("{calls} calls");
    if SEEN.load(Ordering::SeqCst) != 0 {
        return ExitCode::from(3);
    }
    // This fails if the library has set a global subscriber.
    if tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::new()).is_err() {
        return ExitCode::from(4);
    }
    // The panic hook is still the host's.
    let _ = panic::catch_unwind(|| panic!("the host's own"));
    if SEEN.load(Ordering::SeqCst) == 1 { ExitCode::SUCCESS } else { ExitCode::from(5) }
}

/// A system call that nothing else makes.
fn mark(name: &str) {
    let _ = std::fs::metadata(format!("/embedded-calls-{name}"));
}

fn commit(fault: &str) {
    match fault {
        "file" => drop(std::fs::read("/etc/hostname")),
        "thread" => drop(std::thread::spawn(|| ()).join()),
        "socket" => drop(std::net::UdpSocket::bind("127.0.0.1:0")),
        "process" => drop(std::process::Command::new("true").status()),
        "wait" => std::thread::sleep(std::time::Duration::from_millis(1)),
        "output" => println!("a line"),
        "subscriber" => {
            drop(tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::new()));
        }
        "hook" => panic::set_hook(Box::new(|_| ())),
        "panic" => drop(panic::catch_unwind(AssertUnwindSafe(|| panic!("the library's")))),
        other => panic!("no fault is called {other}"),
    }
}

struct Host {
    api: Api,
    widget: WidgetApi,
    key: String,
    secret: String,
    template: String,
    calls: u32,
}

fn object(value: &Value) -> Object {
    match Json::from(value) {
        Json::Object(members) => members,
        other => panic!("{other:?} is no object"),
    }
}

impl Host {
    fn new() -> Self {
        let clock = Arc::new(FixedClock::at("2026-01-31T09:15:02.123Z".parse().expect("an instant")));
        let keys = ServerKeys::new(ServerKey::new(&[7; 32]), Vec::new());
        let ports = Ports::new(clock, Arc::new(SequentialIds::default()), keys)
            .with_blobs(Arc::new(MemoryBlobs::new()))
            .with_extractor(Arc::new(Script::default()));
        let storage = Arc::new(MemoryStorage::new());
        let platform = Arc::new(Platform::new(Arc::clone(&storage) as _, ports, document::service_info()));
        let chat = Arc::new(Conversations::new(Arc::clone(&platform), storage, ChatPorts::new()));
        let by = Actor::Operator("host".to_owned());
        let agent = NewAgent {
            id: Some("acme".parse().expect("an id")),
            ..NewAgent::new("Acme".parse().expect("a name"))
        };
        let agent = block_on(platform.create_agent(&by, agent)).expect("an agent").id;
        let all = "all".parse().expect("permissions");
        let key = NewKey::new(agent.clone(), "Host".parse().expect("a name"), all);
        let key = block_on(platform.create_key(&by, key)).expect("a key");
        let template = block_on(platform.create_template(&by, &agent, &object(&story::feedback())));
        let template = template.expect("a template").id;
        block_on(platform.activate_template(&by, &agent, template)).expect("an active template");
        block_on(chat.configure_agent(&by, &agent, &object(&json!({})))).expect("settings");
        Host {
            api: platform.api(Settings::new(document::service_info())),
            widget: chat.widget_api(WidgetSettings::default()),
            key: key.key.api_key.to_string(),
            secret: key.secret.expose().to_owned(),
            template: template.to_string(),
            calls: 0,
        }
    }

    /// Sends a request and checks the status; returns the JSON body.
    fn call(&mut self, method: Method, path: &str, body: Option<(&str, Vec<u8>)>, status: u16) -> Value {
        self.calls += 1;
        let (media_type, body) = body.unwrap_or_default();
        let mut request = Request::builder().method(method).uri(path);
        if !media_type.is_empty() {
            request = request.header("content-type", media_type);
        }
        let is_widget = path.starts_with("/widget/");
        if !is_widget {
            request = request.header("x-api-key", &self.key).header("x-api-secret", &self.secret);
        }
        let request = request.body(Full::new(Bytes::from(body))).expect("a request");
        let (parts, body) = block_on(async {
            let response =
                if is_widget { self.widget.handle(request).await } else { self.api.handle(request).await };
            let (parts, body) = response.into_parts();
            (parts, body.collect().await.expect("a body").to_bytes())
        });
        let text = String::from_utf8_lossy(&body);
        assert_eq!(parts.status.as_u16(), status, "{path}: {text}");
        serde_json::from_slice(&body).unwrap_or_default()
    }

    fn get(&mut self, path: &str) -> Value {
        self.call(Method::GET, path, None, 200)
    }

    fn json(&mut self, method: Method, path: &str, body: &Value, status: u16) -> Value {
        self.call(method, path, Some(("application/json", body.to_string().into_bytes())), status)
    }

    /// Calls every endpoint with valid and invalid requests; returns their number.
    fn calls(mut self) -> u32 {
        let contacts = "/v1/open/contacts/chatbots/acme";
        let _ = self.get("/v1/open/health");
        let _ = self.get("/openapi.json");
        let _ = self.get("/v1/open/contacts/schema/chatbots/acme");
        let created = self.json(Method::POST, contacts, &story::new_contact(), 201);
        let contact = id_of(&created);
        let _ = self.json(Method::POST, contacts, &story::new_contact(), 409);
        let _ = self.json(Method::POST, contacts, &json!({ "tags": 1 }), 400);
        let _ = self.call(Method::POST, contacts, Some(("application/json", b"{\"a\":".to_vec())), 400);
        let _ = self.get(&format!("{contacts}?search=zoe&sortBy=firstName&limit=1"));
        for one in ["crm-1001".to_owned(), format!("platformid/{contact}")] {
            let path = format!("/v1/open/contacts/{one}/chatbots/acme");
            let _ = self.get(&path);
            let _ = self.json(Method::PUT, &path, &json!({ "firstName": "Ann" }), 200);
            let _ = self.call(Method::PATCH, &format!("{path}/archive"), None, 200);
            let _ = self.call(Method::PATCH, &format!("{path}/unarchive"), None, 200);
        }
        let _ = self.call(Method::GET, "/v1/open/contacts/none/chatbots/acme", None, 404);
        let _ = self.call(Method::GET, "/v1/open/contacts/x/chatbots/other", None, 403);
        let _ = self.call(Method::GET, "/v1/open/nothing", None, 404);
        let _ = self.call(Method::DELETE, contacts, None, 405);
        self.files(&contact);
        self.forms();
        let _ = self.get("/v1/open/document-extraction/schema-examples");
        let extract = "/v1/open/document-extraction/extract";
        let form =
            Form::new().document("a.txt", b"total: 12").text("schema", r#"{"total":{"type":"string"}}"#);
        let _ = self.form(extract, &form, 200);
        let _ = self.form(extract, &Form::new().text("schema", "["), 400);
        self.widget();
        self.secret = "wrong".to_owned();
        let _ = self.call(Method::GET, contacts, None, 401);
        self.calls
    }

    fn form(&mut self, path: &str, form: &Form, status: u16) -> Value {
        self.call(Method::POST, path, Some((&form.content_type(), form.bytes())), status)
    }

    fn files(&mut self, contact: &str) {
        let files = format!("/v1/open/files/chatbots/acme/{contact}");
        let file = id_of(&self.form(&files, &Form::of_file("é.pdf", story::PDF), 201));
        let _ = self.form(&files, &Form::of_file("a.exe", b"MZ\x90\x00"), 415);
        let _ = self.get(&format!("{files}?sortBy=fileName"));
        let file = format!("{files}/files/{file}");
        let _ = self.get(&file);
        let signed = self.get(&format!("{file}/signed-url"));
        let link = signed["data"]["url"].as_str().expect("a URL").to_owned();
        let _ = self.get(link.strip_prefix(document::ORIGIN).expect("below the origin"));
        let _ = self.call(Method::DELETE, &file, None, 200);
    }

    fn forms(&mut self) {
        let template = self.template.clone();
        let submit = format!("/v1/open/forms/submit/{template}/contacts/crm-1001");
        let submitted = self.json(Method::POST, &submit, &json!({ "formData": { "rating": 5 } }), 201);
        let _ = self.json(Method::POST, &submit, &json!({ "formData": { "rating": 9 } }), 400);
        let submission = format!("/v1/open/forms/submissions/{}/chatbots/acme", id_of(&submitted));
        let _ = self.get(&submission);
        let _ = self.json(Method::PUT, &submission, &json!({ "status": "approved" }), 200);
        let batch = json!({ "submissions": [{ "templateId": template, "formData": { "rating": 1 } }] });
        let _ = self.json(Method::POST, "/v1/open/forms/batch/contacts/crm-1001/chatbots/acme", &batch, 201);
        let _ = self.get("/v1/open/forms/contacts/crm-1001/chatbots/acme?includeSuperseded=true");
        let _ =
            self.get(&format!("/v1/open/forms/contacts/crm-1001/templates/{template}/latest/chatbots/acme"));
        let _ = self.get("/v1/open/forms/templates/chatbots/acme");
        let _ = self.get(&format!("/v1/open/forms/templates/{template}/schema/chatbots/acme"));
        let _ = self.get(&format!("/v1/open/forms/templates/{template}/structure/chatbots/acme"));
    }

    fn widget(&mut self) {
        let _ = self.get("/widget/v1/config?agentId=acme&locale=de");
        for call in ["sync", "history", "feedback", "close", "turns", "lead"] {
            let path = format!("/widget/v1/{call}");
            let _ = self.json(Method::POST, &path, &json!({ "token": "none" }), 401);
        }
    }
}

fn id_of(reply: &Value) -> String {
    reply["data"]["id"].as_str().expect("an id").to_owned()
}
