//! The code of docs/embedding.md, compiled and run. Each code block of the guide is a part of this file.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::api::Settings;
use openapi_core::endpoints::contacts::Create;
use openapi_core::json::{Json, parse};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::SystemIds;
use openapi_core::server_keys::ServerKeys;
use openapi_core::service::CreateContact;
use openapi_core::service_info::ServiceInfo;
use openapi_core::values::AgentId;
use storage_memory::MemoryStorage;

mod over_a_store {
    use std::path::Path;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::time::Duration;

    use openapi_core::platform::{Platform, Ports};
    use openapi_core::ports::Timer;
    use openapi_core::server_keys::{ServerKey, ServerKeys};
    use openapi_core::service_info::ServiceInfo;
    use storage_sqlite::{SqliteConfig, SqliteStorage};

    pub fn open(folder: &Path) -> Result<Arc<Platform>, Box<dyn std::error::Error>> {
        let store = SqliteStorage::open(SqliteConfig::new(folder.join("openapi.db")))?;
        let bytes: [u8; 32] = std::fs::read(folder.join("server-key"))?.as_slice().try_into()?;
        let keys = ServerKeys::new(ServerKey::new(&bytes), vec![]);
        let contents = storage_blobs::open(&format!("file:{}", folder.join("blobs").display()).parse()?, [])?;
        let ports = Ports::system(keys).with_blobs(contents).with_timer(Arc::new(TokioTimer));
        Ok(Arc::new(Platform::new(Arc::new(store), ports, ServiceInfo::new("https://api.example.com")?)))
    }

    /// Provides the runtime's timer to the library.
    pub struct TokioTimer;

    impl Timer for TokioTimer {
        fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(tokio::time::sleep(Duration::from_millis(millis)))
        }
    }
}

mod following {
    use std::sync::Arc;

    use events::streams::EventHub;
    use futures_util::{StreamExt, pin_mut};
    use openapi_core::events::{EventCursor, EventType};
    use openapi_core::platform::Platform;
    use openapi_core::reply::ApiError;
    use openapi_core::service::EventStreamQuery;
    use openapi_core::values::AgentId;

    /// Serves `GET /events/chatbots/<A>/stream` too.
    pub fn with_streams(platform: Platform, hub: &EventHub) -> Arc<Platform> {
        Arc::new(platform.with_event_streams(Arc::new(hub.clone())))
    }

    /// Follows the events of an agent after a cursor, and returns where it has stopped.
    pub async fn follow(
        platform: &Platform,
        hub: &EventHub,
        agent: &AgentId,
        mut after: EventCursor,
        mut created: impl FnMut(&str) -> bool,
    ) -> Result<EventCursor, ApiError> {
        let query = EventStreamQuery { after: Some(after), ..EventStreamQuery::default() };
        let events = hub.stream(platform.event_source(), agent, query);
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let event = event?;
            after = event.cursor;
            if event.r#type == EventType::ContactCreated && !created(event.data.get()) {
                break;
            }
        }
        Ok(after)
    }
}

mod upkeep {
    use std::sync::Arc;
    use std::time::Duration;

    use openapi_core::platform::Platform;

    pub async fn maintain(platform: Arc<Platform>) {
        loop {
            tokio::time::sleep(Duration::from_secs(20)).await;
            if let Err(error) = platform.maintain().await {
                eprintln!("maintenance failed, trying again later: {error}");
            }
        }
    }
}

mod operator {
    use openapi_core::access::{Actor, RateLimits};
    use openapi_core::admin::{Admin, AdminError, IssuedKey, NewAgent, NewKey};
    use openapi_core::platform::Platform;
    use openapi_core::values::AgentId;

    pub async fn enrol(platform: &Platform, id: AgentId) -> Result<IssuedKey, Box<dyn std::error::Error>> {
        let by = Actor::Operator("signup".to_owned());
        let agent = NewAgent { id: Some(id.clone()), name: "Front desk".parse()? };
        match platform.create_agent(&by, agent).await {
            Ok(_) | Err(AdminError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let permissions = "contacts:read,create,update".parse()?;
        let key = NewKey {
            limits: RateLimits::new(600, 10_000)?,
            allowed_addresses: vec!["192.0.2.0/24".parse()?],
            ..NewKey::new(id, "CRM sync".parse()?, permissions)
        };
        Ok(platform.create_key(&by, key).await?)
    }
}

mod calling {
    use openapi_core::access::Caller;
    use openapi_core::api::Api;
    use openapi_core::contacts::{Contact, ContactFields};
    use openapi_core::endpoints::contacts::{ByExternalId, Create, CreatedContact, Get};
    use openapi_core::reply::ApiError;
    use openapi_core::service::{ContactTarget, CreateContact};
    use openapi_core::validation::Violations;

    pub async fn create(api: &Api, caller: &Caller, fields: ContactFields) -> Result<Contact, ApiError> {
        let reply = api.call::<Create>(caller, CreateContact::from(fields)).await?;
        match reply.data {
            CreatedContact::Stored(contact) => Ok(contact),
            // Only for requests that ask for it: a dry run, an idempotency key.
            CreatedContact::Preview(_) | CreatedContact::Replayed => Err(ApiError::internal()),
        }
    }

    pub async fn get(api: &Api, caller: &Caller, id: &str) -> Result<Contact, ApiError> {
        let target = ContactTarget::External(id.to_owned());
        Ok(api.call::<Get<ByExternalId>>(caller, (target, Violations::new())).await?.data.into_contact())
    }
}

mod forms {
    use openapi_core::access::Actor;
    use openapi_core::admin::{Admin, AdminError};
    use openapi_core::forms::FormTemplate;
    use openapi_core::json::Object;
    use openapi_core::platform::Platform;
    use openapi_core::values::AgentId;

    pub async fn publish(
        platform: &Platform,
        agent: &AgentId,
        definition: &Object,
    ) -> Result<FormTemplate, AdminError> {
        let by = Actor::Operator("forms".to_owned());
        // `AdminError::Invalid` contains every validation error of the definition with its location.
        let draft = platform.create_template(&by, agent, definition).await?;
        platform.activate_template(&by, agent, draft.id).await
    }
}

mod observing {
    use http::Response;
    use openapi_core::api::{ApiBody, ResponseSummary};

    pub fn line(response: &Response<ApiBody>) -> String {
        let Some(handled) = response.extensions().get::<ResponseSummary>() else { return String::new() };
        let route = handled.route.unwrap_or("unknown");
        let agent = handled.agent.as_ref().map_or("-", |agent| agent.as_str());
        let code = handled.code.unwrap_or("-");
        format!("{} {} {route} agent={agent} code={code}", handled.request_id, response.status().as_u16())
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime for the test")
        .block_on(future)
}

fn platform() -> Arc<Platform> {
    let ports = Ports::system(ServerKeys::generate(&SystemIds::default()));
    let service_info = ServiceInfo::new("https://api.example.com").expect("a URL");
    Arc::new(Platform::new(Arc::new(MemoryStorage::new()), ports, service_info))
}

fn settings() -> Settings {
    Settings::new(ServiceInfo::new("https://api.example.com").expect("a URL"))
}

fn acme() -> AgentId {
    "acme".parse().expect("an agent id")
}

#[test]
fn a_platform_over_a_file_persists_its_data() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("embedding");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("server-key"), [7; 32]).unwrap();
    for opened in 0..2 {
        block_on(async {
            let platform = over_a_store::open(&folder).unwrap();
            assert_eq!(platform.agents().await.unwrap().len(), opened);
            operator::enrol(&platform, acme()).await.unwrap();
            assert_eq!(platform.keys(&acme()).await.unwrap().len(), opened + 1);
            platform.maintain().await.unwrap();
            platform.drain().await.unwrap();
        });
    }
}

#[test]
fn maintenance_runs_until_it_is_stopped() {
    block_on(async {
        let running = tokio::spawn(upkeep::maintain(platform()));
        tokio::task::yield_now().await;
        assert!(!running.is_finished());
        running.abort();
    });
}

#[test]
fn typed_calls_follow_the_same_rules() {
    use openapi_core::access::Caller;
    use openapi_core::contacts::ContactFields;
    use openapi_core::reply::ErrorCode;
    block_on(async {
        let platform = platform();
        let api = platform.api(settings());
        operator::enrol(&platform, acme()).await.unwrap();
        let alice = Caller::user(acme(), "alice", "contacts:all".parse().unwrap());
        let mut fields = ContactFields::default();
        let refused = calling::create(&api, &alice, fields.clone()).await.unwrap_err();
        assert_eq!((refused.code(), refused.violations().len()), (ErrorCode::ValidationError, 1));
        fields.primary_email = Some(Some("zoe@example.com".parse().unwrap()));
        fields.external_reference_id = Some(Some("crm-1".parse().unwrap()));
        let created = calling::create(&api, &alice, fields.clone()).await.unwrap();
        assert_eq!(calling::get(&api, &alice, "crm-1").await.unwrap().id, created.id);
        let reader = Caller::user(acme(), "bob", "contacts:read".parse().unwrap());
        let refused = calling::create(&api, &reader, fields).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::InsufficientPermissions);
    });
}

#[test]
fn a_template_is_published_or_rejected_with_its_errors() {
    pollster::block_on(async {
        let platform = platform();
        operator::enrol(&platform, acme()).await.unwrap();
        let definition = |text: &str| match parse(text.as_bytes()) {
            Ok(Json::Object(definition)) => definition,
            other => panic!("{other:?}"),
        };
        let sound = definition(r#"{"name":"Feedback","fields":[{"name":"rating","type":"integer"}]}"#);
        let template = forms::publish(&platform, &acme(), &sound).await.unwrap();
        assert_eq!((template.version, template.status.as_str()), (1, "active"));
        let faulty = definition(r#"{"name":"Feedback","fields":[{"name":"rating","type":"stars"}]}"#);
        let error = forms::publish(&platform, &acme(), &faulty).await.unwrap_err();
        assert!(error.to_string().contains("fields[0].type"), "{error}");
    });
}

#[test]
fn a_request_is_logged_in_one_line() {
    use openapi_core::access::Caller;
    block_on(async {
        let platform = platform();
        let api = platform.api(settings());
        let agent = NewAgent { id: Some(acme()), name: "Acme".parse().unwrap() };
        platform.create_agent(&Actor::Operator("test".to_owned()), agent).await.unwrap();
        for (tenant, code) in [("acme", "code=-"), ("other", "code=AGENT_FORBIDDEN")] {
            let path = format!("/v1/open/contacts/chatbots/{tenant}");
            let caller = Caller::user(acme(), "alice", "contacts:read".parse().unwrap());
            let request = http::Request::get(path).extension(caller);
            let response = api.handle(request.body(Full::new(Bytes::new())).unwrap()).await;
            let line = observing::line(&response);
            assert!(
                line.contains("/contacts/chatbots/{agentId} agent=acme") && line.ends_with(code),
                "{line}"
            );
        }
    });
}

#[test]
fn a_host_follows_events() {
    let keys = ServerKeys::new(openapi_core::server_keys::ServerKey::new(&[7; 32]), vec![]);
    let service_info = ServiceInfo::new("https://api.example.com").unwrap();
    let hub = events::streams::EventHub::default();
    let platform = Platform::new(Arc::new(MemoryStorage::new()), Ports::system(keys), service_info);
    let platform = following::with_streams(platform, &hub);
    pollster::block_on(async {
        let by = Actor::Operator("setup".to_owned());
        let agent = platform.create_agent(&by, NewAgent::new("Support".parse().unwrap())).await.unwrap().id;
        let create = |address: &str| {
            let body = format!(r#"{{ "primaryEmail": "{address}" }}"#);
            let Json::Object(fields) = parse(body.as_bytes()).unwrap() else { unreachable!("an object") };
            let request = CreateContact { fields: fields.into(), ..CreateContact::default() };
            let caller = Caller::user(agent.clone(), "ada", Permissions::all());
            let api = platform.api(Settings::new(platform.service_info().clone()));
            async move { api.call::<Create>(&caller, request).await.unwrap() }
        };
        create("a@example.com").await;
        create("b@example.com").await;
        let mut seen = 0;
        let begin = openapi_core::events::EventCursor::default();
        let count = |_: &str| {
            seen += 1;
            seen < 2
        };
        let after = following::follow(&platform, &hub, &agent, begin, count).await.unwrap();
        assert_eq!((seen, after.seq), (2, 2));
    });
}
