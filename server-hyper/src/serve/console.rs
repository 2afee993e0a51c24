//! The handler of the console's listener: the operators' API, and the dashboard's files.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::console::{
    AccountSettings, Console, ConsoleSettings, DocumentReader, LiveStreams, SignInOutcome, WidgetTags,
};
use arc_swap::ArcSwap;
use conversations::Conversations;
use events::streams::EventHub;
use http::header::{HOST, LOCATION};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use openapi_core::access::Actor;
use openapi_core::api::{ApiBody, PeerAddress};
use openapi_core::ports::{BlockingExecutor, Outbound, Work};
use openapi_core::service::EventStreamQuery;
use openapi_core::values::AgentId;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use widget::Widget;

use super::key_rotation::KeyRotation;
use super::listener;
use super::pages::Pages;
use super::service::{Handler, HandlerResponse, RequestBody};
use crate::config::console::ConsoleServing;
use crate::metrics::ConsoleMetrics;

/// How many passwords are hashed at the same time: each takes 64 MiB.
const HASHING: usize = 2;

/// The sockets of the console, and how browsers name it.
pub struct ConsoleListeners {
    /// One, or two on this machine: `localhost` leads to either address.
    pub sockets: Vec<TcpListener>,
    /// The origin of its pages.
    pub origin: String,
    /// Further names, which lead a browser to the origin.
    hosts: Vec<String>,
    /// Whether browsers reach it by plain HTTP.
    is_plain: bool,
}

impl ConsoleListeners {
    /// Binds the console's address.
    ///
    /// # Errors
    /// When another process has it, or the same port of the other loopback address: a browser that follows a printed
    /// link could reach that process.
    pub fn bind(serving: &ConsoleServing, has_tls: bool) -> Result<Option<Self>, String> {
        let Some(address) = serving.listen else { return Ok(None) };
        let failed =
            |address: SocketAddr, error: &std::io::Error| format!("cannot listen on {address}: {error}");
        let bound = listener::bind(address).map_err(|error| failed(address, &error))?;
        let port = bound.local_addr().map_err(|error| failed(address, &error))?.port();
        let mut sockets = vec![bound];
        let mut hosts = Vec::new();
        if address.ip().is_loopback() {
            if address.is_ipv4() {
                let other = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
                match listener::bind(other) {
                    Ok(socket) => sockets.push(socket),
                    Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                        return Err(failed(other, &error));
                    }
                    // This machine has no IPv6.
                    Err(_) => {}
                }
            }
            hosts.extend([format!("127.0.0.1:{port}"), format!("[::1]:{port}"), format!("localhost:{port}")]);
        }
        let scheme = if has_tls { "https" } else { "http" };
        let origin = serving.public_url.clone().unwrap_or_else(|| format!("{scheme}://localhost:{port}"));
        let is_plain = origin.starts_with("http://");
        Ok(Some(ConsoleListeners { sockets, origin, hosts, is_plain }))
    }

    /// The console over the current platform.
    pub fn console(
        &self,
        serving: &ConsoleServing,
        platforms: &KeyRotation,
        reader: Option<Arc<dyn DocumentReader>>,
        widget: Option<Arc<dyn WidgetTags>>,
        live: LiveStreams,
        outbound: &Arc<dyn Outbound>,
    ) -> Console {
        let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let accounts = AccountSettings {
            is_plain: self.is_plain,
            idle_millis: millis(serving.session_idle),
            total_millis: millis(serving.session_total),
            hasher: Arc::new(PasswordThreads(Arc::new(Semaphore::new(HASHING)))),
            ..AccountSettings::default()
        };
        let mut settings = ConsoleSettings::with_accounts(&self.origin, accounts);
        settings.hosts.clone_from(&self.hosts);
        settings.build = env!("CARGO_PKG_VERSION");
        settings.reader = reader;
        settings.widget = widget;
        settings.live = Some(live);
        settings.webhooks = Some(platforms.webhooks());
        settings.outbound = Arc::clone(outbound);
        Console::new(Conversations::clone(&platforms.current()), settings)
    }
}

/// The widget of this build at its public origin.
pub struct ServedWidget {
    /// The widget.
    pub widget: Widget,
    /// The origin of its host.
    pub origin: String,
}

impl WidgetTags for ServedWidget {
    fn origin(&self) -> String {
        self.origin.clone()
    }

    fn global(&self) -> String {
        self.widget.global().to_owned()
    }

    fn tag(&self, agent: &AgentId) -> String {
        self.widget.tag(&self.origin, agent.as_str())
    }

    fn pinned_tag(&self, agent: &AgentId) -> String {
        self.widget.pinned_tag(&self.origin, agent.as_str())
    }

    fn policy(&self) -> String {
        self.widget.policy(&self.origin)
    }
}

/// The live streams of operators, which read the logs as the event streams of clients do.
pub fn live_streams(hub: &EventHub) -> LiveStreams {
    let hub = hub.clone();
    LiveStreams::new(move |source, agent, after| {
        let query = EventStreamQuery { after: Some(after), ..EventStreamQuery::default() };
        Box::pin(hub.pages(source, agent, query))
    })
}

/// Hashes a few passwords at a time on the runtime's blocking threads.
struct PasswordThreads(Arc<Semaphore>);

impl BlockingExecutor for PasswordThreads {
    fn run(&self, work: Work) {
        let slots = Arc::clone(&self.0);
        tokio::spawn(async move {
            let Ok(_slot) = slots.acquire_owned().await else { return };
            // A panic is the work's own; the request that waits for it gets an error.
            let _ = tokio::task::spawn_blocking(work).await;
        });
    }
}

/// The handler of the console's listener.
#[derive(Clone)]
pub struct ConsoleHost {
    console: Arc<ArcSwap<Console>>,
    pages: Arc<Pages>,
    metrics: ConsoleMetrics,
    upload_timeout: Duration,
}

impl ConsoleHost {
    /// A handler of the console. A file may take `upload_timeout`.
    #[must_use]
    pub fn new(console: Arc<ArcSwap<Console>>, metrics: ConsoleMetrics, upload_timeout: Duration) -> Self {
        ConsoleHost { console, pages: Arc::new(Pages::new()), metrics, upload_timeout }
    }

    /// A file of the dashboard. Another name of this machine leads to the one that passkeys know; any other host is
    /// refused, as its page could be an attacker's whose name leads here.
    fn page(&self, parts: &Parts) -> Response<ApiBody> {
        let console = self.console.load();
        let settings = console.settings();
        let own = settings.origin.split_once("://").map_or("", |(_, own)| own);
        let header = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = parts.uri.authority().map(http::uri::Authority::as_str).or(header).unwrap_or_default();
        if !host.eq_ignore_ascii_case(own) {
            if !settings.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
                let text = format!("open {}\n", settings.origin);
                return self.pages.text(StatusCode::MISDIRECTED_REQUEST, text);
            }
            let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
            let mut response = self.pages.text(StatusCode::PERMANENT_REDIRECT, String::new());
            if let Ok(location) = HeaderValue::from_str(&format!("{}{path}", settings.origin)) {
                response.headers_mut().insert(LOCATION, location);
            }
            return response;
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return self.pages.text(StatusCode::METHOD_NOT_ALLOWED, "use GET\n".to_owned());
        }
        let response = self.pages.respond(parts);
        if parts.method == Method::HEAD { response.map(|_| ApiBody::empty()) } else { response }
    }
}

impl Handler for ConsoleHost {
    type Body = ApiBody;

    /// The agent is known after the session and its role.
    fn is_authenticated(&self, summary: &openapi_core::api::ResponseSummary) -> bool {
        summary.agent.is_some()
    }

    fn body_timeout(&self, parts: &Parts) -> Option<Duration> {
        parts.uri.path().ends_with("/knowledge/files").then_some(self.upload_timeout)
    }

    async fn handle(&self, request: Request<RequestBody>, client: IpAddr) -> HandlerResponse<ApiBody> {
        let console = self.console.load_full();
        let (mut parts, body) = request.into_parts();
        if !console.has(parts.uri.path()) {
            return (self.page(&parts), None);
        }
        parts.extensions.insert(PeerAddress(client));
        let mut response = console.handle(Request::from_parts(parts, body)).await;
        let summary: Option<openapi_core::api::ResponseSummary> = response.extensions_mut().remove();
        if let Some(summary) = &summary {
            self.metrics.record(summary.operation, summary.code);
        }
        if let Some(outcome) = response.extensions_mut().remove::<SignInOutcome>() {
            self.metrics.record_oidc(outcome.code);
        }
        (response, summary)
    }
}

/// Removes what is over from the store every 20 s, for ever.
pub async fn maintain(console: Arc<ArcSwap<Console>>) {
    const INTERVAL: Duration = Duration::from_secs(20);
    loop {
        tokio::time::sleep(INTERVAL).await;
        let current = console.load_full();
        if let Err(error) = current.maintain().await {
            tracing::warn!(%error, "maintenance of the console failed; trying again later");
        }
    }
}

/// The link by which the first owner is made; none if there is an operator. It goes to standard output, never to the
/// log.
pub async fn setup_link(console: &Console) -> Option<String> {
    let by = Actor::Operator("serve".to_owned());
    match console.setup_link(&by).await {
        Ok(link) => link,
        Err(error) => {
            tracing::error!(%error, "cannot make the link that sets the console up; restart the server to try again");
            None
        }
    }
}
