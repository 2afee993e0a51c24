//! The widget's calls over HTTP: route → admit → read → token → agent → origin → call → wrap.

use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, header};
use http_body::Body;
use openapi_core::api::{ApiBody, BoxError, JsonTypes, PeerAddress, read_json, refuse_headers_beyond};
use openapi_core::files::Upload;
use openapi_core::json::{Json, Object};
use openapi_core::limits::{Window, Windows, network};
use openapi_core::operation::JsonBody;
use openapi_core::platform::{AgentObserver, Cache};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::AgentId;
use serde::Serialize;

use super::agent_view::AgentView;
use super::call::{Call, CorsPolicy, WidgetRequest, WidgetResponse};
use super::errors::{agent_not_available, crowded, token_invalid, too_many};
use super::response::finish;
use super::state::{Inner, SharedState};
use super::uploads;
use super::usages::Usages;
use crate::conversations::Conversations;
use crate::widget::config::Configuration;
use crate::widget::duplicates::DuplicateMessageLimiter;
use crate::widget::live::Ending;
use crate::widget::token::VisitorToken;
use crate::widget::{StreamLimitExceeded, StreamLimiter, WidgetSettings};

/// The largest body of a turn or a lead form, in bytes.
const LARGE_BODY: u64 = 16 * 1024;
/// The largest body of any other call, in bytes.
const SMALL_BODY: u64 = 2 * 1024;

/// The widget's side of the service: takes HTTP requests below `/widget/v1`, answers HTTP responses, knows no server.
///
/// Cheap to clone. Use [`WidgetApi::handle`] directly, or as a `tower_service::Service` in any stack. The extensions of
/// a request may hold a [`PeerAddress`].
#[derive(Clone)]
pub struct WidgetApi(Arc<Inner>);

impl Conversations {
    /// The widget's side of the service.
    #[must_use]
    pub fn widget_api(self: &Arc<Self>, settings: WidgetSettings) -> WidgetApi {
        WidgetApi::new(self, settings)
    }
}

impl WidgetApi {
    /// Answers one HTTP request. Never fails: every failure is a reply.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<ApiBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let mut visit = self.0.visit(&parts);
        let answer = self.0.answer(&parts, body, &mut visit).await;
        finish(&parts, answer, visit)
    }

    /// Counts a request of a host's own for what belongs to the widget, such as its script, among the calls of its
    /// address.
    ///
    /// # Errors
    /// The answer to one that is too many (429 RATE_LIMIT_EXCEEDED), or whose head is too large (431
    /// HEADERS_TOO_LARGE).
    pub fn admit(&self, parts: &Parts) -> Result<(), Box<Response<ApiBody>>> {
        let visit = self.0.visit(parts);
        let admitted = refuse_headers_beyond(parts, self.0.settings.max_header_bytes)
            .and_then(|()| self.0.admit_address(&visit, "call", &self.0.settings.limits.address_calls));
        admitted.map(drop).map_err(|error| Box::new(finish(parts, Err(error), visit)))
    }

    /// The widget's side of the service over these conversations.
    #[must_use]
    pub fn new(conversations: &Arc<Conversations>, settings: WidgetSettings) -> WidgetApi {
        let platform = conversations.platform();
        let shared = SharedState {
            turns: Arc::default(),
            streams: StreamLimiter::new(settings.limits.streams),
            addresses: Windows::default(),
            visitors: Windows::default(),
            agents: Windows::default(),
            usage: Usages::default(),
            repeats: DuplicateMessageLimiter::default(),
            server: platform.ports().ids.platform_id(platform.now()),
        };
        WidgetApi::of(conversations, settings, Arc::new(shared))
    }

    fn of(
        conversations: &Arc<Conversations>,
        settings: WidgetSettings,
        shared: Arc<SharedState>,
    ) -> WidgetApi {
        let platform = Arc::clone(conversations.platform());
        let turns: Arc<dyn AgentObserver> = Arc::clone(&shared.turns) as _;
        platform.observe_agents(Arc::downgrade(&turns));
        WidgetApi(Arc::new(Inner {
            platform,
            storage: Arc::clone(conversations.storage()),
            ports: conversations.ports().clone(),
            conversations: Arc::clone(conversations),
            settings,
            views: Cache::default(),
            shared,
        }))
    }

    /// The same over conversations of another platform, such as one with other server keys: answers that run go on, and
    /// limits count on.
    #[must_use]
    pub fn over(&self, conversations: &Arc<Conversations>) -> WidgetApi {
        WidgetApi::of(conversations, self.0.settings.clone(), Arc::clone(&self.0.shared))
    }

    /// Ends all answers that still run, when the time to drain is over: their text so far is stored, and their clients
    /// receive an error that asks them to retry.
    pub fn cancel_all(&self) {
        self.0.shared.turns.running().iter().for_each(|turn| turn.cancel(Ending::Service));
    }

    /// How many answers run.
    #[must_use]
    pub fn running_turns(&self) -> usize {
        self.0.shared.turns.running().len()
    }
}

impl<B> tower_service::Service<Request<B>> for WidgetApi
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ApiBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move { Ok(api.handle(request).await) })
    }
}

impl Inner {
    pub(super) fn visit(&self, parts: &Parts) -> WidgetRequest {
        let now = self.platform.now();
        let address =
            parts.extensions.get::<PeerAddress>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
        let origin = parts.headers.get(header::ORIGIN);
        let accepts = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        WidgetRequest {
            request_id: self.platform.ports().ids.uuid_v7(now),
            now,
            call: None,
            origin: origin.and_then(|origin| origin.to_str().ok()).unwrap_or_default().to_ascii_lowercase(),
            has_origin: origin.is_some(),
            network: network(address),
            address,
            agent: None,
            readers: CorsPolicy::Any,
            wants_document: accepts.is_some_and(|types| {
                types
                    .split(';')
                    .next()
                    .is_some_and(|first| first.trim().eq_ignore_ascii_case("application/json"))
            }),
            open: None,
        }
    }

    pub(super) async fn answer<B>(
        self: &Arc<Self>,
        parts: &Parts,
        body: B,
        visit: &mut WidgetRequest,
    ) -> Result<WidgetResponse, ApiError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        refuse_headers_beyond(parts, self.settings.max_header_bytes)?;
        let limits = &self.settings.limits;
        let Some(call) = self.route(parts, visit)? else { return Ok(WidgetResponse::Options) };
        if call == Call::Config {
            self.admit_address(visit, "call", &limits.address_calls)?;
            return self.config(parts, visit).await;
        }
        if matches!(call, Call::Turns | Call::Resume) && !self.shared.streams.has_room() {
            return Err(crowded(StreamLimitExceeded::SharedState));
        }
        let mut share = match call {
            Call::Turns => self.admit_address(visit, "turn", &limits.address_turns)?,
            Call::Lead => self.admit_address(visit, "lead", &limits.address_leads)?,
            Call::Uploads => self.admit_address(visit, "call", &limits.address_calls)?,
            // A caller with a token is limited as a visitor, so that people who share an address do not limit each
            // other.
            _ => 0.0,
        };
        let (body, file) = read(call, parts, body).await?;
        let token = match self.token(&body, visit) {
            Ok(token) => token,
            Err(error) => {
                self.admit_address(visit, "call", &limits.address_calls)?;
                return Err(error);
            }
        };
        let agent = agent_of(call, token.as_ref(), &body)?;
        let view = self.view(&agent, visit).await?;
        self.admit_origin(&view, visit)?;
        if matches!(call, Call::Turns | Call::Resume) {
            // Opens the stream before anything is stored: without a stream, nobody would receive the answer.
            let open = self.shared.streams.open(&agent, Some(visit.network)).map_err(crowded)?;
            share = share.max(open.share());
            visit.open = Some(open);
        }
        match (call, token) {
            (Call::Turns, token) => self.turn(visit, view, token, &body, share).await,
            (Call::Lead, token) => self.lead(visit, &view, token, &body, share).await,
            (Call::Uploads, token) => self.upload(visit, &view, token, &body, file, share).await,
            (_, None) => Err(token_invalid()),
            (Call::Resume, Some(token)) => self.resume(visit, view, &token, &body).await,
            (Call::Cancel, Some(token)) => self.cancel(&view, &token, &body).await,
            (Call::Sync, Some(token)) => self.sync(visit, &view, &token, &body).await,
            (Call::History, Some(token)) => self.history(visit, &view, &token, &body).await,
            (Call::Feedback, Some(token)) => self.feedback(visit, &view, &token, &body).await,
            (Call::Close, Some(token)) => self.close(visit, &view, &token).await,
            (Call::Config, _) => Err(ApiError::internal()),
        }
    }

    /// Finds the call that the request names, and counts a request that ends here. None for `OPTIONS`.
    fn route(&self, parts: &Parts, visit: &mut WidgetRequest) -> Result<Option<Call>, ApiError> {
        let path = parts.uri.path();
        let found = Call::ALL.into_iter().find(|call| call.path() == path);
        let windows = &self.settings.limits.address_calls;
        let Some(call) = found else {
            self.admit_address(visit, "call", windows)?;
            return Err(ApiError::new(ErrorCode::RouteNotFound, "There is nothing at this path"));
        };
        visit.call = Some(call);
        if parts.method == Method::OPTIONS {
            self.admit_address(visit, "call", windows)?;
            return Ok(None);
        }
        if parts.method != call.method() {
            self.admit_address(visit, "call", windows)?;
            let allow = if call == Call::Config { "GET, OPTIONS" } else { "POST, OPTIONS" };
            let message = format!("{} is not allowed here", parts.method);
            return Err(ApiError::new(ErrorCode::MethodNotAllowed, message)
                .with_header(header::ALLOW, HeaderValue::from_static(allow)));
        }
        Ok(Some(call))
    }

    pub(super) async fn config(
        &self,
        parts: &Parts,
        visit: &mut WidgetRequest,
    ) -> Result<WidgetResponse, ApiError> {
        let mut agent = None;
        let mut locale = None;
        for (name, value) in url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()) {
            match &*name {
                "agentId" => agent = Some(value.into_owned()),
                "locale" => locale = Some(value.into_owned()),
                _ => {}
            }
        }
        let agent: AgentId = agent.and_then(|agent| agent.parse().ok()).ok_or_else(agent_not_available)?;
        let view = self.view(&agent, visit).await?;
        self.admit_origin(&view, visit)?;
        let schema = self.platform.schema(&agent, false).await?;
        let (locale, strings) = self.texts(locale.as_deref());
        let name = view.agent.name.as_str();
        let schema = schema.schema();
        let data = Configuration::new(&agent, name, &view.settings, schema, &locale, strings);
        #[derive(Serialize)]
        struct Envelope<T> {
            success: bool,
            message: &'static str,
            data: T,
        }
        let envelope = Envelope { success: true, message: "Widget configuration", data };
        let body = serde_json::to_vec(&envelope).map_err(|_| ApiError::internal())?;
        Ok(WidgetResponse::Config { body })
    }

    /// The texts of the widget in a language, found as `de-AT`, `de`, `en`, with the tag that was found.
    pub(super) fn texts(&self, wanted: Option<&str>) -> (String, Object) {
        let mut tag = wanted.unwrap_or("en");
        loop {
            if let Some(found) = (self.settings.texts)(tag) {
                return found;
            }
            match tag.rsplit_once(['-', '_']) {
                Some((shorter, _)) => tag = shorter,
                None => return ("en".to_owned(), Object::new()),
            }
        }
    }

    pub(super) fn token(
        &self,
        body: &Object,
        visit: &WidgetRequest,
    ) -> Result<Option<VisitorToken>, ApiError> {
        let text = match body.get("token") {
            None | Some(Json::Null) => return Ok(None),
            Some(Json::String(text)) => text,
            Some(_) => return Err(token_invalid()),
        };
        let keys = &self.platform.ports().server_keys;
        VisitorToken::read(keys, text, &visit.origin, visit.now).map(Some).ok_or_else(token_invalid)
    }

    /// How full the fullest of an address's windows is; counts the call.
    pub(super) fn admit_address(
        &self,
        visit: &WidgetRequest,
        class: &'static str,
        windows: &[Window],
    ) -> Result<f64, ApiError> {
        match self.shared.addresses.admit((visit.network, class), windows, visit.now) {
            Ok(standing) => Ok(standing.share),
            Err(full) => Err(too_many("address", full)),
        }
    }

    /// How full the fullest of an address's windows would be with this call, which is not counted.
    pub(super) fn peek_address(
        &self,
        visit: &WidgetRequest,
        class: &'static str,
        windows: &[Window],
    ) -> Result<f64, ApiError> {
        match self.shared.addresses.peek(&(visit.network, class), windows, visit.now) {
            Ok(standing) => Ok(standing.share),
            Err(full) => Err(too_many("address", full)),
        }
    }

    /// Whether the page may show this agent's widget. From here on the answer is for its origin alone, where not every
    /// origin is let in.
    pub(super) fn admit_origin(&self, view: &AgentView, visit: &mut WidgetRequest) -> Result<(), ApiError> {
        let rules = &view.settings.origins;
        if !rules.is_empty() && !visit.has_origin {
            visit.readers = CorsPolicy::AnyForNow;
        }
        if !rules.is_empty()
            && let Ok(origin) = HeaderValue::from_str(&visit.origin)
            && visit.has_origin
        {
            visit.readers = CorsPolicy::Origin(origin);
        }
        let is_own =
            self.settings.own_origin.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(&visit.origin));
        let is_read_only = visit.call == Some(Call::Config);
        let is_admitted = if visit.has_origin {
            visit.origin != "null"
                && (is_own || rules.is_empty() || rules.iter().any(|rule| rule.admits(&visit.origin)))
        } else {
            is_read_only || rules.is_empty()
        };
        if is_admitted {
            return Ok(());
        }
        let origin = if visit.has_origin { visit.origin.as_str() } else { "null" };
        let message = format!("Origin {origin} is not allowed for agent {}", view.agent.id);
        Err(ApiError::new(ErrorCode::OriginNotAllowed, message).with_detail("origin", origin))
    }
}

/// Reads the members of a request's body, and the file that came with them.
async fn read<B>(call: Call, parts: &Parts, body: B) -> Result<(Object, Upload), ApiError>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if call == Call::Uploads {
        return uploads::begin(parts, body).await;
    }
    let most = if matches!(call, Call::Turns | Call::Lead) { LARGE_BODY } else { SMALL_BODY };
    match read_json(parts, body, most, JsonTypes::AlsoPlain).await? {
        JsonBody::Value(Json::Object(body)) => Ok((body, Upload::absent())),
        _ => Err(ApiError::new(ErrorCode::InvalidJson, "The request body is not a JSON object")),
    }
}

/// The agent of a request: the one of its token, or the one that it names where the call needs no token.
fn agent_of(call: Call, token: Option<&VisitorToken>, body: &Object) -> Result<AgentId, ApiError> {
    match (token, body.get("agentId").and_then(Json::as_str)) {
        (Some(token), Some(named)) if named != token.agent.as_str() => Err(token_invalid()),
        (Some(token), _) => Ok(token.agent.clone()),
        (None, Some(named)) => named.parse().map_err(|_| agent_not_available()),
        (None, None) if matches!(call, Call::Turns | Call::Lead | Call::Uploads) => {
            Err(agent_not_available())
        }
        (None, None) => Err(token_invalid()),
    }
}
