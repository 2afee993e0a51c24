//! An axum application whose users call the Open API with their existing sessions.

pub mod session;
pub mod sessions;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{COOKIE, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use openapi_core::api::Api;

use session::{Session, admit};
use sessions::Sessions;

/// The name of the cookie. Browsers restrict one with this prefix to HTTPS, this host, and every path.
const COOKIE_NAME: &str = "__Host-session";

/// The maximum size of a login form, in bytes.
const MAX_FORM: usize = 4_096;

/// The application's user directory: looks up a user by name and password.
pub type Directory = Arc<dyn Fn(&str, &str) -> Option<Session> + Send + Sync>;

/// The state of the application's own routes.
#[derive(Clone)]
struct Host {
    sessions: Arc<Sessions>,
    directory: Directory,
    /// The origin of the application's pages, such as `https://app.example.com`.
    origin: Arc<str>,
}

/// The application: its own login, and the API for logged-in users. Requests with an API key pass unchanged.
pub fn application(api: Api, sessions: Arc<Sessions>, directory: Directory, origin: &str) -> Router {
    let host = Host { sessions, directory, origin: origin.into() };
    Router::new()
        .route("/login", post(login))
        .route("/logout", post(logout))
        .fallback_service(api)
        .layer(from_fn_with_state(host.clone(), introduce))
        .with_state(host)
}

/// Attaches the logged-in user as the API's caller. Other requests have no caller, so the API responds with 401.
async fn introduce(State(host): State<Host>, mut request: Request, next: Next) -> Response {
    let session = token(request.headers()).and_then(|token| host.sessions.of(token));
    if let Some(session) = session.filter(|_| is_own(&request, &host.origin))
        && admit(&mut request, &session).is_err()
    {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    next.run(request).await
}

/// Whether a request comes from the application's own pages. A browser sends the cookie for any page's request, but
/// names the page in `Origin`. Reads need no check, because other pages cannot see the response.
fn is_own(request: &Request, origin: &str) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS)
        || request.headers().get(ORIGIN).is_some_and(|sent| sent == origin)
}

/// The session token of a request: a cookie that occurs exactly once.
fn token(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut tokens = pairs.filter(|(name, _)| *name == COOKIE_NAME).map(|(_, value)| value);
    tokens.next().filter(|_| tokens.next().is_none())
}

async fn login(State(host): State<Host>, headers: HeaderMap, body: Body) -> Response {
    if headers.get(ORIGIN).is_none_or(|sent| sent != &*host.origin) {
        return (StatusCode::FORBIDDEN, "log in on the application's own page\n").into_response();
    }
    let Ok(form) = to_bytes(body, MAX_FORM).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, "the form is too large\n").into_response();
    };
    let member = |name: &str| {
        let mut members = url::form_urlencoded::parse(&form);
        members.find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let Some(session) = (host.directory)(&member("user"), &member("password")) else {
        return (StatusCode::UNAUTHORIZED, "name or password are wrong\n").into_response();
    };
    let Some(token) = host.sessions.begin(session) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many people are logged in\n").into_response();
    };
    let cookie = format!("{COOKIE_NAME}={token}; Path=/; Secure; HttpOnly; SameSite=Lax");
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}

async fn logout(State(host): State<Host>, headers: HeaderMap) -> Response {
    if let Some(token) = token(&headers) {
        host.sessions.end(token);
    }
    let cookie = format!("{COOKIE_NAME}=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0");
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}
