//! The console for the people of the application, under the application's own sign-in.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, RawQuery, Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, IF_NONE_MATCH, LOCATION, ORIGIN,
    SET_COOKIE,
};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use console::{Console, ConsoleSettings, Grants, Operator};
use conversations::Conversations;
use dashboard::Dashboard;
use openapi_core::api::PeerAddress;
use openapi_core::platform::Platform;
use openapi_core::values::Timestamp;
use parking_lot::Mutex;
use url::{Url, form_urlencoded};

use crate::observe;

/// The path of the console. The dashboard leads to `sign-in` and `sign-out` below it, which are the application's own.
pub const CONSOLE: &str = "/admin";

/// How long a session lasts: a working day.
const LIFETIME_SECONDS: i64 = 8 * 3_600;
/// The maximum number of sessions; a larger application stores them in its database.
const MAX_SESSIONS: usize = 10_000;
/// The maximum size of a sign-in form, in bytes.
const MAX_FORM: usize = 4_096;

/// A person of the application.
#[derive(Clone, Debug)]
pub struct Person {
    /// The application's id of the person, which the audit log notes.
    pub id: String,
    /// The person's name.
    pub name: String,
    /// What the person may do in the console.
    pub roles: Grants,
}

/// The application's directory: looks up a person by name and password.
pub type Directory = Arc<dyn Fn(&str, &str) -> Option<Person> + Send + Sync>;

/// A session of the application.
#[derive(Clone)]
struct Session {
    person: Person,
    /// When the person proved who they are.
    began_at: Timestamp,
}

struct Host {
    console: Console,
    pages: Dashboard,
    platform: Arc<Platform>,
    directory: Directory,
    sessions: Mutex<HashMap<String, Session>>,
    /// The origin of the application's pages, such as `https://app.example.com`.
    origin: String,
}

/// The console over conversations, for the people in a directory.
///
/// # Errors
/// If the public URL of the platform is not a URL.
pub fn console(conversations: &Conversations, directory: Directory) -> Result<Router, url::ParseError> {
    let platform = Arc::clone(conversations.platform());
    let origin = Url::parse(platform.service_info().public_url())?.origin().ascii_serialization();
    let console = Console::new(conversations.clone(), ConsoleSettings::mounted(CONSOLE, &origin));
    let pages = Dashboard::new(CONSOLE);
    let host = Host { console, pages, platform, directory, sessions: Mutex::default(), origin };
    Ok(Router::new()
        .route(CONSOLE, any(serve))
        .route(&format!("{CONSOLE}/{{*path}}"), any(serve))
        .route(&format!("{CONSOLE}/sign-in"), get(form).post(sign_in))
        .route(&format!("{CONSOLE}/sign-out"), get(sign_out))
        .with_state(Arc::new(host))
        .layer(from_fn(observe)))
}

/// The console's API for the person who is signed in, or a file of the dashboard.
async fn serve(
    State(host): State<Arc<Host>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
) -> Response {
    let session = host.session(request.headers());
    if host.console.has(request.uri().path()) {
        request.extensions_mut().insert(PeerAddress(peer.ip()));
        if let Some(Session { person, began_at }) = session {
            let mut operator = Operator::new(person.id, person.name, person.roles);
            operator.authenticated_at = Some(began_at);
            request.extensions_mut().insert(operator);
        }
        return host.console.handle(request).await.into_response();
    }
    let path = request.uri().path();
    if session.is_none() && !path.starts_with(&format!("{CONSOLE}/assets/")) {
        let wanted = request.uri().path_and_query().map_or(CONSOLE, |wanted| wanted.as_str());
        let next: String = form_urlencoded::byte_serialize(wanted.as_bytes()).collect();
        return redirect(&format!("{CONSOLE}/sign-in?next={next}"));
    }
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let encodings = header(ACCEPT_ENCODING).unwrap_or_default();
    match host.pages.respond(path, encodings, header(IF_NONE_MATCH)) {
        Some(page) => (page.status, page.headers, page.body).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    }
}

async fn form(RawQuery(query): RawQuery) -> Response {
    page(StatusCode::OK, &next_of(query.as_deref()), "")
}

/// Begins a session, and leads back to the page that asked for it.
async fn sign_in(
    State(host): State<Arc<Host>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response {
    // A page of another site could sign its visitor in as somebody else.
    if headers.get(ORIGIN).is_none_or(|sent| sent != host.origin.as_str()) {
        return (StatusCode::FORBIDDEN, "sign in on the application's own page\n").into_response();
    }
    let Ok(sent) = to_bytes(body, MAX_FORM).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "the form is too large\n").into_response();
    };
    let member = |name: &str| {
        let mut members = form_urlencoded::parse(&sent);
        members.find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let next = next_of(query.as_deref());
    let Some(person) = (host.directory)(&member("name"), &member("password")) else {
        return page(StatusCode::UNAUTHORIZED, &next, "Name or password is incorrect.");
    };
    host.end(&headers);
    match host.begin(person) {
        Some(token) => {
            ([(SET_COOKIE, host.cookie(&token, LIFETIME_SECONDS))], redirect(&next)).into_response()
        }
        None => (StatusCode::SERVICE_UNAVAILABLE, "too many people are signed in\n").into_response(),
    }
}

/// Ends the session. A link on another site does not.
async fn sign_out(State(host): State<Arc<Host>>, headers: HeaderMap) -> Response {
    if headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        return (StatusCode::FORBIDDEN, "sign out on the application's own page\n").into_response();
    }
    host.end(&headers);
    let done = redirect(&format!("{CONSOLE}/sign-in"));
    ([(SET_COOKIE, host.cookie("", 0))], done).into_response()
}

impl Host {
    /// The name of the cookie. Browsers restrict one with the prefix to HTTPS, this host, and every path.
    fn cookie_name(&self) -> &'static str {
        if self.origin.starts_with("https:") { "__Host-staff" } else { "staff" }
    }

    fn cookie(&self, token: &str, seconds: i64) -> String {
        let secure = if self.origin.starts_with("https:") { "; Secure" } else { "" };
        let name = self.cookie_name();
        format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
    }

    /// The token of a request: a cookie that occurs exactly once.
    fn token<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut tokens = pairs.filter(|(name, _)| *name == self.cookie_name()).map(|(_, value)| value);
        tokens.next().filter(|_| tokens.next().is_none())
    }

    fn is_live(&self, session: &Session) -> bool {
        let age = self.platform.now().millis_since(session.began_at);
        (0..LIFETIME_SECONDS * 1_000).contains(&age)
    }

    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        let sessions = self.sessions.lock();
        sessions.get(self.token(headers)?).filter(|session| self.is_live(session)).cloned()
    }

    /// Begins a session and returns its token: 32 random bytes. `None` if there are too many sessions.
    fn begin(&self, person: Person) -> Option<String> {
        let mut bytes = [0; 32];
        self.platform.ports().ids.fill(&mut bytes);
        let token = hex(&bytes);
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| self.is_live(session));
        if sessions.len() >= MAX_SESSIONS {
            return None;
        }
        sessions.insert(token.clone(), Session { person, began_at: self.platform.now() });
        Some(token)
    }

    fn end(&self, headers: &HeaderMap) {
        if let Some(token) = self.token(headers) {
            self.sessions.lock().remove(token);
        }
    }
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn redirect(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, to), (CACHE_CONTROL, "no-store")]).into_response()
}

/// The page of the console that the query names; another one would let a link lead away from the application.
fn next_of(query: Option<&str>) -> String {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let next = pairs.filter(|(name, _)| name == "next").map(|(_, value)| value.into_owned()).next();
    let is_own = |next: &String| {
        let rest = next.strip_prefix(CONSOLE);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            && next.bytes().all(|byte| byte.is_ascii_graphic())
    };
    next.filter(is_own).unwrap_or_else(|| CONSOLE.to_owned())
}

/// The sign-in page.
fn page(status: StatusCode, next: &str, problem: &str) -> Response {
    let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
    let text = include_str!("sign-in.html").replace("{{next}}", &next).replace("{{problem}}", problem);
    let policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'";
    let headers = [(CACHE_CONTROL, "no-store"), (CONTENT_SECURITY_POLICY, policy)];
    (status, headers, Html(text)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_console_come_next() {
        let next = |text: &str| {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", text).finish();
            next_of(Some(&query))
        };
        for own in ["/admin", "/admin/a/front-desk/inbox?view=open", "/admin?x"] {
            assert_eq!(next(own), own);
        }
        for other in [
            "",
            "/",
            "//evil.example",
            "/administrator",
            "https://evil.example/admin",
            "/admin\r\nSet-Cookie: a=b",
            "/admin/ü",
        ] {
            assert_eq!(next(other), "/admin", "{other}");
        }
        assert_eq!(next_of(None), "/admin");
    }
}
