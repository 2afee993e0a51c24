//! The console over HTTP: host → route → refuse other sites → who calls → role → step-up → read → call → encode.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use bytes::Bytes;
use conversations::Conversations;
use futures_core::future::BoxFuture;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use openapi_core::access::Actor;
use openapi_core::api::{
    ApiBody, HttpBody, Outcome, ReceiptTimeout, ResponseSummary, Route, Router, Settings, encode,
};
use openapi_core::audit::Origin;
use openapi_core::json::{Json, Object, parse};
use openapi_core::operation::Method;
use openapi_core::ports::timeout;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::RecordKind;
use openapi_core::validation::{Location, ValidationError, ValidationIssue, Violations};
use openapi_core::values::AgentId;

use crate::auth::limits::{counted_address, too_many};
use crate::call::Call;
use crate::capability::Reach;
use crate::context::Context;
use crate::errors::{lacks, not_found};
use crate::input::{Position, Reader, Sending, Sent};
use crate::operation::{Access, Entry, RunKind};
use crate::operations::OPERATIONS;
use crate::operator::Operator;
use crate::replays::{Begun, Replays};
use crate::settings::{API_PATH, ConsoleSettings};
use crate::state::{Inner, Shared};

/// The largest JSON body: 1 MiB.
const MAX_JSON: usize = 1024 * 1024;
/// What anybody may send without a session: 16 KiB within 10 s. Every connection holds what it has sent so far.
const MAX_PUBLIC: usize = 16 * 1024;
const PUBLIC_MILLIS: u64 = 10_000;
/// The largest file: 25 MiB.
const MAX_CONTENT: usize = 25 * 1024 * 1024;
/// The records that one run of the maintenance removes of each kind.
const SWEEP: u32 = 500;

const X_CONSOLE: HeaderName = HeaderName::from_static("x-console");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The console API: takes HTTP requests, answers HTTP responses, knows no server. Cheap to clone.
#[derive(Clone)]
pub struct Console(Arc<Served>);

/// What serves requests: the operations by path over what they work with.
struct Served {
    inner: Inner,
    router: Router<Entry>,
    /// Outlives a change of the server keys.
    replays: Replays,
}

impl Console {
    /// A console over the conversations of a platform.
    #[must_use]
    pub fn new(chat: Conversations, settings: ConsoleSettings) -> Self {
        Console::over_shared(chat, settings, Arc::default(), Replays::default())
    }

    fn over_shared(
        chat: Conversations,
        settings: ConsoleSettings,
        shared: Arc<Shared>,
        replays: Replays,
    ) -> Self {
        let path = |entry: &Entry| format!("{}{API_PATH}{}", settings.base_path, entry.metadata.path);
        let offered = OPERATIONS
            .iter()
            .filter(|entry| settings.accounts.is_some() || !entry.metadata.traits.of_accounts);
        let router = Router::new(offered.map(|entry| (path(entry), entry.metadata.method, entry)), false);
        let api = chat.platform().api(Settings::new(chat.platform().service_info().clone()));
        let webhooks = settings.webhooks.as_ref().map(|webhooks| webhooks.over(Arc::clone(chat.platform())));
        let inner = Inner { chat, settings, api, webhooks, shared };
        Console(Arc::new(Served { inner, router, replays }))
    }

    /// The same over other conversations, such as those with other server keys. Limits stay.
    #[must_use]
    pub fn over(&self, chat: Conversations) -> Self {
        let Served { inner, replays, .. } = &*self.0;
        Console::over_shared(chat, inner.settings.clone(), Arc::clone(&inner.shared), replays.clone())
    }

    /// Whether a path is one of the console's API.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.0.inner.settings.base_path.as_str()).unwrap_or_default();
        below.strip_prefix(API_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub(crate) fn now(&self) -> openapi_core::values::Timestamp {
        self.0.inner.platform().now()
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &ConsoleSettings {
        &self.0.inner.settings
    }

    /// The URL by which the first owner is made, for the person who started the server; none if there is an operator. Each
    /// call makes the former URL useless.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn setup_link(&self, by: &Actor) -> Result<Option<String>, ApiError> {
        let token = self.0.inner.make_setup_link(by).await?;
        Ok(token.map(|token| self.settings().link("setup", &token)))
    }

    /// Removes sessions, links, challenges and service tokens that are over, and moves secrets of providers under the
    /// current server key. Call it about every 20 s.
    ///
    /// # Errors
    /// When the store fails; the next call continues.
    pub async fn maintain(&self) -> Result<(), ApiError> {
        let storage = self.0.inner.platform().storage();
        let people = crate::auth::records::People(self.0.inner.platform());
        let now = self.0.inner.platform().now();
        for kind in
            [RecordKind::Session, RecordKind::Link, RecordKind::UsedChallenge, RecordKind::ServiceToken]
        {
            for (scope, record) in storage.due_records(kind, now, SWEEP).await? {
                if scope.is_none() {
                    let (key, version) = (record.key, record.version);
                    let change = openapi_core::storage::RecordChange::Remove { key, version };
                    people.write(vec![change], Vec::new()).await?;
                }
            }
        }
        people.maintain_providers().await
    }

    /// Answers one HTTP request. Never fails: every failure is a reply. The extensions of the request may hold the
    /// [`Operator`] whom a host application has signed in.
    pub async fn handle(&self, request: Request<impl HttpBody>) -> Response<ApiBody> {
        let (parts, body) = request.into_parts();
        let served = &*self.0;
        let inner = &served.inner;
        let request_id = inner.platform().ports().ids.uuid_v7(inner.platform().now());
        let call = Call::of(&parts, &inner.settings, request_id.clone());
        let mut summary = ResponseSummary::new(request_id);
        // Boxed, so that the future of a request is small.
        let mut outcome = Box::pin(served.answer(&parts, body, &call, &mut summary)).await;
        if inner.is_landing(&parts) {
            outcome = outcome.or_else(|error| inner.land_failed(&call, error));
        }
        let mut response = encode(&parts, outcome, &mut summary);
        let headers = response.headers_mut();
        let is_live = headers.get(header::CONTENT_TYPE).is_some_and(|it| it == "text/event-stream");
        let caching = if is_live { "no-store, no-transform" } else { "no-store" };
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
        headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        headers.extend(call.headers());
        response.extensions_mut().insert(summary);
        if let Some(outcome) = call.sign_in() {
            response.extensions_mut().insert(outcome);
        }
        response
    }
}

impl Served {
    async fn answer(
        &self,
        parts: &Parts,
        body: impl HttpBody,
        call: &Call,
        summary: &mut ResponseSummary,
    ) -> Result<Outcome, ApiError> {
        let inner = &self.inner;
        let now = inner.platform().now();
        inner.refuse_other_hosts(parts)?;
        let from = counted_address(call.address);
        let busy = |seconds| too_many("Too many requests from this address", seconds);
        inner.shared.limits.addresses.take(from, now).map_err(busy)?;
        let segments = segments(parts.uri.path())?;
        let (entry, path_values) = match self.router.find(&parts.method, &segments)? {
            Route::Found { operation, path_values } => (operation, path_values),
            Route::Options { allow } => return Ok(Outcome::Options { allow }),
        };
        let path: Vec<(&str, String)> =
            path_values.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        summary.operation = Some(entry.metadata.name);
        summary.route = Some(entry.metadata.path);
        if entry.metadata.method != Method::Get && !inner.has_bearer(parts) {
            inner.refuse_other_sites(parts)?;
        }
        let caller = inner.caller(parts, entry, call).await?;
        let operator = &caller.operator;
        let reach = reach(entry, operator, &path)?;
        summary.agent = path.iter().find(|(name, _)| *name == "agent").and_then(|(_, id)| id.parse().ok());
        if entry.metadata.step_up {
            inner.require_proof(entry, &caller).await?;
        }
        let needs_tag = entry.metadata.traits.is_versioned
            && entry.metadata.method != Method::Post
            && caller.token.is_none();
        if needs_tag && call.if_match.is_none() {
            let text = "Send the header If-Match with the ETag of what you have changed";
            return Err(ApiError::new(ErrorCode::PreconditionRequired, text));
        }
        let members = (entry.members)();
        let takes_content = members.iter().any(|(position, ..)| *position == Position::Content);
        let most = match (entry.metadata.access, takes_content) {
            (Access::Public, _) => MAX_PUBLIC,
            (_, true) => MAX_CONTENT,
            (_, false) => MAX_JSON,
        };
        let receiving = receive(parts, body, takes_content, most);
        let sending = match entry.metadata.access {
            Access::Public => {
                let timer = &*inner.platform().ports().timer;
                timeout(timer, PUBLIC_MILLIS, receiving).await.unwrap_or_else(|| Err(too_slow()))?
            }
            _ => receiving.await?,
        };
        let actor = operator.actor();
        let proof = caller.proof();
        let cx = Context { console: inner, operator, proof, actor: &actor, reach, call };
        let replays = self.replays.begin(parts, entry, operator, &sending, now)?;
        let replay = match replays {
            Begun::Answered(outcome) => return Ok(outcome),
            Begun::New(replay) => replay,
        };
        let origin = Origin { address: call.address, request_id: call.request_id.clone() };
        let outcome = origin.during(run(cx, entry, parts, &path, sending, takes_content)).await?;
        replay.finish(outcome, entry.metadata.traits.has_secret).await
    }
}

async fn run(
    cx: Context<'_>,
    entry: &'static Entry,
    parts: &Parts,
    path: &[(&str, String)],
    sending: Sending,
    takes_content: bool,
) -> Result<Outcome, ApiError> {
    let run = match entry.run {
        RunKind::Own(run) => run,
        RunKind::Forwarded(endpoint) => return endpoint.run(cx, parts, path, sending).await,
    };
    let (body, content) = if takes_content {
        (Object::new(), Some(sending.bytes).filter(|bytes| !bytes.is_empty()))
    } else {
        (read_object(&sending.bytes)?, None)
    };
    let query = query(parts, entry.metadata.traits.is_landing)?;
    let mut sent = Reader::new(Sent { path, query: &query, body, content });
    run(cx, &mut sent).map_err(ApiError::from)?.await
}

impl Inner {
    /// Refuses another `Host`: a page of an attacker's domain whose name leads here.
    fn refuse_other_hosts(&self, parts: &Parts) -> Result<(), ApiError> {
        if self.settings.accounts.is_none() && self.settings.hosts.is_empty() {
            return Ok(());
        }
        let header = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = parts.uri.authority().map(http::uri::Authority::as_str).or(header).unwrap_or_default();
        let is_own = host.eq_ignore_ascii_case(self.settings.authority())
            || self.settings.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        if is_own {
            return Ok(());
        }
        let text = format!("Open the console at {}", self.settings.origin);
        Err(ApiError::new(ErrorCode::MisdirectedRequest, text))
    }

    /// Refuses a change that another site's page could have sent.
    fn refuse_other_sites(&self, parts: &Parts) -> Result<(), ApiError> {
        let header = |name: &HeaderName| parts.headers.get(name).map(HeaderValue::as_bytes);
        let own_origin = header(&header::ORIGIN) == Some(self.settings.origin.as_bytes());
        let same_site = header(&FETCH_SITE).is_none_or(|site| site == b"same-origin");
        if own_origin && same_site && header(&X_CONSOLE).is_some_and(|value| !value.is_empty()) {
            return Ok(());
        }
        let text = "The request must come from a page of the console and carry the header X-Console";
        Err(ApiError::new(ErrorCode::CrossSiteRequest, text))
    }
}

/// How far the operator has the capability of an operation. An agent without a grant does not exist for the operator.
fn reach(entry: &Entry, operator: &Operator, path: &[(&str, String)]) -> Result<Reach, ApiError> {
    match entry.metadata.access {
        Access::Public | Access::SignedIn => Ok(Reach::Full),
        Access::Installation(capability) => {
            operator.grants.installation_reach(capability).ok_or_else(|| lacks(capability))
        }
        Access::Agent(capability) => {
            let id = path.iter().find(|(name, _)| *name == "agent").map_or("", |(_, id)| id);
            let agent: AgentId = id.parse().map_err(|_| not_found("agent", id))?;
            if !operator.grants.knows(&agent) {
                return Err(not_found("agent", id));
            }
            operator.grants.reach(capability, &agent).ok_or_else(|| lacks(capability))
        }
    }
}

/// The segments of a path, percent-decoded.
fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, ApiError> {
    let bad = || ApiError::new(ErrorCode::BadRequest, "The path is not percent-encoded UTF-8");
    path.strip_prefix('/')
        .unwrap_or(path)
        .split('/')
        .map(|part| percent_decoded(part).ok_or_else(bad))
        .collect()
}

/// Text without its percent-encoding; none when it is broken.
fn percent_decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let (digits, after) = after.split_first_chunk::<2>()?;
            let digit = |at: usize| char::from(digits[at]).to_digit(16);
            bytes.push(u8::try_from(digit(0)? * 16 + digit(1)?).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// The query pairs, decoded. Of a provider's answer, pairs that are no UTF-8 are left out: some are in an older encoding.
fn query(parts: &Parts, is_landing: bool) -> Result<Vec<(String, String)>, ApiError> {
    let bad = || ApiError::new(ErrorCode::BadRequest, "The query is not percent-encoded UTF-8");
    let text = parts.uri.query().unwrap_or_default();
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text: &str| percent_decoded(&text.replace('+', " ")).map(Cow::into_owned);
            decode(name).zip(decode(value)).ok_or_else(bad)
        })
        .filter(|pair| !is_landing || pair.is_ok())
        .collect()
}

/// Reads a body up to its limit, if it has the type that the operation takes.
async fn receive(
    parts: &Parts,
    body: impl HttpBody,
    takes_content: bool,
    most: usize,
) -> Result<Sending, ApiError> {
    if parts.method == http::Method::GET || body.is_end_stream() {
        return Ok(Sending { bytes: Bytes::new() });
    }
    let media_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let expected = if takes_content { "application/octet-stream" } else { "application/json" };
    let declared = body.size_hint().exact();
    if declared != Some(0) && !media_type.eq_ignore_ascii_case(expected) {
        let text = format!("Send the body with Content-Type: {expected}");
        return Err(ApiError::new(ErrorCode::UnsupportedMediaType, text));
    }
    match Box::pin(Limited::new(body, most).collect()).await {
        Ok(received) => Ok(Sending { bytes: received.to_bytes() }),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            let limit = u32::try_from(most).unwrap_or(u32::MAX);
            let error = ApiError::new(ErrorCode::PayloadTooLarge, format!("The body exceeds {most} bytes"));
            Err(error.with_detail("limit", limit))
        }
        Err(error) if error.is::<ReceiptTimeout>() => Err(too_slow()),
        Err(error) => {
            tracing::debug!(%error, "the body of a request did not arrive");
            Err(ApiError::new(ErrorCode::BadRequest, "The body did not arrive whole"))
        }
    }
}

fn too_slow() -> ApiError {
    ApiError::new(ErrorCode::RequestTimeout, "The request body was not received in time")
}

fn read_object(bytes: &[u8]) -> Result<Object, ApiError> {
    if bytes.is_empty() {
        return Ok(Object::new());
    }
    let parsed = parse(bytes).map_err(|error| {
        ApiError::new(ErrorCode::InvalidJson, format!("The request body is not valid JSON: {error}"))
    })?;
    match parsed {
        Json::Object(members) => Ok(members),
        _ => {
            let issue = ValidationIssue::wrong_type("an object");
            Err(Violations::from(ValidationError::new(Location::Body, "body", None, issue)).into())
        }
    }
}

impl<B: HttpBody> tower_service::Service<Request<B>> for Console {
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let console = self.clone();
        Box::pin(async move { Ok(console.handle(request).await) })
    }
}
