//! An axum application with the chat widget on its own page.

pub mod opening_hours;

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_SECURITY_POLICY, IF_NONE_MATCH};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use conversations::ChatResponder;
use conversations::widget::WidgetSettings;
use conversations::{ChatPorts, Conversations};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, NewAgent};
use openapi_core::api::PeerAddress;
use openapi_core::json::{Json, parse};
use openapi_core::platform::{Platform, Ports};
use openapi_core::ports::{Spawner, SystemIds, Task, Timer};
use openapi_core::server_keys::ServerKeys;
use openapi_core::service_info::ServiceInfo;
use openapi_core::values::AgentId;
use storage_memory::MemoryStorage;
use widget::Widget;

/// Provides the runtime to the library: replies continue without their connection, and time out.
struct Tokio;

impl Spawner for Tokio {
    fn spawn(&self, task: Task) {
        tokio::spawn(task);
    }
}

impl Timer for Tokio {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(Duration::from_millis(millis)))
    }
}

/// The state of the page and the script.
struct Site {
    files: Widget,
    agent: AgentId,
    /// The page's own origin.
    origin: String,
}

/// The application at `origin`, with an agent that uses `responder`.
///
/// # Errors
/// If the origin is not a URL.
pub async fn application(
    origin: &str,
    responder: Arc<dyn ChatResponder>,
) -> Result<Router, Box<dyn std::error::Error>> {
    let service_info = ServiceInfo::new(origin)?;
    let files = Widget::new(service_info.service_name())?;
    let name = responder.name().to_owned();
    let storage = Arc::new(MemoryStorage::new());
    let ports = Ports::system(ServerKeys::generate(&SystemIds::default())).with_timer(Arc::new(Tokio));
    let platform = Arc::new(Platform::new(Arc::clone(&storage) as _, ports, service_info));
    let ports = ChatPorts::new().with_responder(responder).with_spawner(Arc::new(Tokio));
    let chat = Arc::new(Conversations::new(Arc::clone(&platform), storage, ports));
    let by = Actor::Operator("setup".to_owned());
    let agent = platform.create_agent(&by, NewAgent::new("Front desk".parse()?)).await?.id;
    let settings = format!(r#"{{"appearance":{{"greeting":"Ask me."}},"chat":{{"responder":"{name}"}}}}"#);
    if let Json::Object(settings) = parse(settings.as_bytes()).map_err(|_| "the settings are no JSON")? {
        chat.configure_agent(&by, &agent, &settings).await?;
    }
    let mut settings = WidgetSettings::default();
    settings.own_origin = Some(origin.to_owned());
    let site = Site { files, agent, origin: origin.to_owned() };
    Ok(Router::new()
        .route("/", get(page))
        // The widget's calls use their whole path: `route_service`, not `nest_service`.
        .route_service("/widget/v1/{*call}", chat.widget_api(settings))
        .fallback(file)
        .with_state(Arc::new(site))
        .layer(from_fn(introduce)))
}

/// Passes the client's address to the library, which limits by address.
async fn introduce(ConnectInfo(peer): ConnectInfo<SocketAddr>, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(PeerAddress(peer.ip()));
    next.run(request).await
}

/// The application's page. It refers to one build of the script and pins it by its integrity value.
async fn page(State(site): State<Arc<Site>>) -> impl IntoResponse {
    let tag = site.files.pinned_tag(&site.origin, site.agent.as_str());
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>The shop</title>\n\
         <h1>The shop</h1>\n<p>Ask about our opening hours.</p>\n{tag}\n</html>\n"
    );
    let policy = format!("default-src 'none'; {}", site.files.policy(&site.origin));
    ([(CONTENT_SECURITY_POLICY, policy)], Html(page))
}

/// The files of the widget.
async fn file(State(site): State<Arc<Site>>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let Some(file) = site.files.file(uri.path()) else {
        return (StatusCode::NOT_FOUND, "there is nothing here\n").into_response();
    };
    if !matches!(method, Method::GET | Method::HEAD) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let found = file.respond(text(ACCEPT_ENCODING).unwrap_or_default(), text(IF_NONE_MATCH));
    let body = if method == Method::HEAD { Body::empty() } else { Body::from(found.body) };
    (found.status, found.headers, body).into_response()
}
