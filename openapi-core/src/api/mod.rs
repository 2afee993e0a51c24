//! The API as an embedder holds it: route → admit → read → decode → run → wrap.

mod body;
mod response;
mod router;
mod settings;
mod target;

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use futures_core::future::BoxFuture;
use http::request::Parts;
use http::{Extensions, Request, Response, header};
use parking_lot::Mutex;

pub use crate::limits::AddressLimits;
pub use crate::reply::{ApiBody, ApiBodyError};
pub use body::{BoxError, HttpBody, JsonTypes, open_form, read_json};
pub use response::{Outcome, ResponseSummary, encode};
pub use router::{Route, Router};
pub use settings::{PeerAddress, ReceiptTimeout, Settings};

use crate::access::Caller;
use crate::auth::{AddressRateLimiter, AuthError, Authenticator};
use crate::endpoints::ENDPOINTS;
use crate::endpoints::description::Description;
use crate::extraction::DocumentForm;
use crate::files::Upload;
use crate::limits::AddressClass;
use crate::openapi::document;
use crate::operation::{
    Access, BodyKind, Conditional, DecodedRequest, Document, EncodedResponse, Endpoint, EndpointGroup,
    JsonBody, Operation, Payload, Principal, Shared, lacks,
};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::OpenApiService;
use crate::values::Timestamp;
use response::{REQUEST_ID, RequestContext};
use target::Target;

/// The Open API: takes HTTP requests, answers HTTP responses, knows no server.
///
/// Cheap to clone. Use [`Api::handle`] directly, or as a `tower_service::Service` in any stack.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    shared: Shared,
    settings: Settings,
    router: Router<Endpoint>,
    authenticator: Arc<Authenticator>,
    addresses: AddressRateLimiter,
}

impl Api {
    /// An API in front of `service`, with keys and limits of `authenticator`.
    #[must_use]
    pub fn new(
        settings: Settings,
        service: Arc<dyn OpenApiService>,
        authenticator: Arc<Authenticator>,
    ) -> Self {
        Api::with_groups(settings, service, authenticator, &[], Extensions::new())
    }

    /// The same with endpoints of other crates, which find what they work with among `services`.
    #[must_use]
    pub fn with_groups(
        settings: Settings,
        service: Arc<dyn OpenApiService>,
        authenticator: Arc<Authenticator>,
        groups: &'static [EndpointGroup],
        services: Extensions,
    ) -> Self {
        let service_info = settings.service_info.clone();
        Api(Arc::new(Inner {
            router: Router::new(
                (ENDPOINTS.iter())
                    .chain(groups.iter().flat_map(|group| group.endpoints))
                    .filter(|endpoint| {
                        settings.serves_document || endpoint.meta.id != Description::METADATA.id
                    })
                    .map(|endpoint| {
                        (endpoint.meta.template(service_info.id_segment()), endpoint.meta.method, endpoint)
                    }),
                true,
            ),
            addresses: AddressRateLimiter::new(settings.address_limits),
            shared: Shared { service, service_info, document: Document::new(document, groups), services },
            settings,
            authenticator,
        }))
    }

    /// Answers one HTTP request. Never fails: every failure is a reply.
    ///
    /// The extensions of the request may hold a [`PeerAddress`], and a [`Caller`] that the host has authenticated
    /// itself: such a request skips authentication and rate limits. The extensions of the response hold
    /// [`ResponseSummary`].
    pub async fn handle(&self, request: Request<impl HttpBody>) -> Response<ApiBody> {
        let peer = request.extensions().get::<PeerAddress>().map(|peer| peer.0);
        let (mut response, handled) = self.respond(request, peer).await;
        response.extensions_mut().insert(handled);
        response
    }

    /// As [`Api::handle`], for servers of their own: `peer`, the client's address, replaces a [`PeerAddress`], and the
    /// summary of the request is returned next to the response. Extensions take memory of their own for each request. A
    /// [`Caller`] is read from them all the same.
    pub async fn respond(
        &self,
        request: Request<impl HttpBody>,
        peer: Option<IpAddr>,
    ) -> (Response<ApiBody>, ResponseSummary) {
        let inner = &*self.0;
        let (parts, body) = request.into_parts();
        let now = inner.authenticator.clock().now();
        let mut trace = RequestContext::new(request_id(&parts, inner, now), peer, now);
        let outcome = inner.answer(&parts, body, &mut trace).await;
        let mut response = encode(&parts, outcome, &mut trace.summary);
        response::api_headers(&inner.settings, &parts, &mut trace, response.headers_mut());
        (response, trace.summary)
    }

    /// Counts a request for something that the host serves next to the API, such as documentation, like a health check of
    /// its address.
    ///
    /// # Errors
    /// The response to an address over its limit, boxed because it is rare and large.
    pub fn admit(
        &self,
        parts: &Parts,
        peer: Option<IpAddr>,
    ) -> Result<(), Box<(Response<ApiBody>, ResponseSummary)>> {
        let inner = &*self.0;
        let now = inner.authenticator.clock().now();
        let address = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let Err(error) = inner.addresses.admit(address, AddressClass::Health, now) else { return Ok(()) };
        let mut trace = RequestContext::new(request_id(parts, inner, now), peer, now);
        let mut response = encode(parts, Err(error), &mut trace.summary);
        response::api_headers(&inner.settings, parts, &mut trace, response.headers_mut());
        Err(Box::new((response, trace.summary)))
    }

    /// Calls one operation without HTTP, under the same rules as a request: the caller's permission is checked, the
    /// input validated. The agent is the caller's; no rate limit counts the call; an
    /// [`Idempotency`](crate::service::Idempotency), where one is wanted, is the caller's to fill in.
    ///
    /// # Errors
    /// What the request would be answered.
    pub async fn call<Op>(&self, caller: &Op::Caller, input: Op::Input) -> Result<Reply<Op::Output>, ApiError>
    where
        Op: Operation,
        Op::Caller: Authorized,
    {
        if let Access::Key(permission) = Op::METADATA.access
            && !caller.may(permission)
        {
            return Err(lacks(permission));
        }
        Op::run(self.0.shared.context(caller), input).await
    }
}

/// A visitor whose permissions can be asked for.
pub trait Authorized: Principal {
    /// Whether the visitor has a permission.
    fn may(&self, permission: crate::access::Permission) -> bool;
}

impl Authorized for Caller {
    fn may(&self, permission: crate::access::Permission) -> bool {
        self.permissions.allows(permission)
    }
}

impl Authorized for crate::operation::Anonymous {
    fn may(&self, _: crate::access::Permission) -> bool {
        false
    }
}

impl Inner {
    /// The steps of contract 6.3, one after another.
    async fn answer(
        &self,
        parts: &Parts,
        body: impl HttpBody,
        trace: &mut RequestContext,
    ) -> Result<Outcome, ApiError> {
        let now = trace.now;
        let address = trace.peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.refuse_oversized(parts)?;
        let target = Target::read(&parts.uri)?;
        let route = self.router.find(&parts.method, &target.segments);
        if !matches!(route, Ok(Route::Found { .. })) {
            self.addresses.admit(address, AddressClass::Unrouted, now)?;
        }
        let (endpoint, path_values) = match route? {
            Route::Found { operation, path_values } => (operation, path_values),
            Route::Options { allow } => return Ok(Outcome::Options { allow }),
        };
        (trace.summary.operation, trace.summary.route) = (Some(endpoint.meta.id), Some(endpoint.meta.path));
        let mut incoming = DecodedRequest {
            meta: endpoint.meta,
            path_values: &path_values,
            path: parts.uri.path(),
            query_pairs: &target.query_pairs,
            headers: &parts.headers,
            body: &JsonBody::Absent,
            upload: Mutex::default(),
            document: Mutex::default(),
            is_head: parts.method == http::Method::HEAD,
            address: trace.peer,
            now,
        };
        let permission = match endpoint.meta.access {
            Access::Key(permission) => permission,
            Access::Public => {
                self.addresses.admit(address, AddressClass::Health, now)?;
                return self.run(endpoint, None, &incoming).await;
            }
            Access::Link => {
                self.addresses.admit(address, AddressClass::Download, now)?;
                return self.run(endpoint, None, &incoming).await;
            }
        };
        let caller = self.caller(parts, address, trace).await?;
        let further = (endpoint.additional_permission)(&incoming);
        for needed in [Some(permission), further].into_iter().flatten() {
            if !caller.permissions.allows(needed) {
                return Err(lacks(needed));
            }
        }
        if endpoint.meta.names_agent() && incoming.path_value("agentId") != caller.agent_id.as_str() {
            return Err(ApiError::new(
                ErrorCode::AgentForbidden,
                "The API key does not belong to this agent",
            ));
        }
        let body = match endpoint.meta.body {
            BodyKind::None => JsonBody::Absent,
            // Boxed, so that requests without a body carry no room for what reads one.
            _ => Box::pin(self.receive(endpoint, parts, body, &mut incoming)).await?,
        };
        incoming.body = &body;
        self.run(endpoint, Some(&caller), &incoming).await
    }

    /// Reads a JSON body, or opens a form, whose content the operation reads.
    async fn receive(
        &self,
        endpoint: &Endpoint,
        parts: &Parts,
        body: impl HttpBody,
        incoming: &mut DecodedRequest<'_>,
    ) -> Result<JsonBody, ApiError> {
        match endpoint.meta.body {
            BodyKind::None => {}
            BodyKind::File => {
                let limit = self.settings.max_file_bytes;
                let form = open_form(parts, body, Upload::part(limit)).await?;
                incoming.upload = Mutex::new(form.map(|form| Box::new(Upload::of_form(form, limit))));
            }
            BodyKind::Document | BodyKind::Documents => {
                let limit = self.settings.max_document_bytes;
                let is_one = endpoint.meta.body == BodyKind::Document;
                let part = if is_one { DocumentForm::part(limit) } else { DocumentForm::parts(limit) };
                let form = open_form(parts, body, part).await?;
                incoming.document = Mutex::new(form.map(|form| Box::new(DocumentForm::of_form(form, limit))));
            }
            BodyKind::Required | BodyKind::Optional => {
                let most = self.settings.max_json_bytes;
                return read_json(parts, body, most, JsonTypes::Json).await;
            }
        }
        Ok(JsonBody::Absent)
    }

    async fn run(
        &self,
        endpoint: &Endpoint,
        caller: Option<&Caller>,
        incoming: &DecodedRequest<'_>,
    ) -> Result<Outcome, ApiError> {
        let EncodedResponse { mut reply, body } = (endpoint.run)(&self.shared, caller, incoming).await?;
        let body = match body {
            Payload::Json(body) => body,
            Payload::Content { status, headers, body } => {
                // A response to HEAD has none, and no stream stays open for it.
                let body = if incoming.is_head { ApiBody::empty() } else { body };
                return Ok(Outcome::Content { status, headers, body });
            }
        };
        let location = match &mut reply.replay {
            Some(stored) => &mut stored.location,
            None => &mut reply.location,
        };
        if let Some(path) = location {
            path.insert_str(0, self.settings.service_info.base_path());
        }
        if let Some(pagination) = &reply.pagination
            && let Some(links) = response::links(&self.settings, incoming, pagination)
        {
            reply.headers.push((header::LINK, links));
        }
        Ok(Outcome::Answered { reply, body, conditional: endpoint.meta.conditional == Conditional::Read })
    }

    fn refuse_oversized(&self, parts: &Parts) -> Result<(), ApiError> {
        let uri_bytes = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
        if uri_bytes > self.settings.max_uri_bytes {
            let message = format!("Path and query exceed {} bytes", self.settings.max_uri_bytes);
            return Err(ApiError::new(ErrorCode::UriTooLong, message));
        }
        refuse_headers_beyond(parts, self.settings.max_header_bytes)
    }

    /// Who calls: the caller that the host authenticated, or the one that the authenticator accepts.
    async fn caller(
        &self,
        parts: &Parts,
        address: IpAddr,
        trace: &mut RequestContext,
    ) -> Result<Caller, ApiError> {
        if let Some(caller) = parts.extensions.get::<Caller>() {
            let mut caller = caller.clone();
            trace.summary.agent = Some(caller.agent_id.clone());
            // What the host left open is known here: both go into the audit log.
            if caller.request_id.is_empty() {
                caller.request_id.clone_from(&trace.summary.request_id);
            }
            caller.address = caller.address.or(trace.peer);
            return Ok(caller);
        }
        let now = trace.now;
        let is_flooding = || self.addresses.is_flooding(address, now);
        let request_id = &trace.summary.request_id;
        match self.authenticator.enter(&parts.headers, address, request_id, now, is_flooding).await {
            Ok(entry) => {
                trace.enter(&entry);
                Ok(entry.caller)
            }
            Err(AuthError::Failed { error, key, agent }) => {
                trace.summary.key.clone_from(&key);
                self.addresses.admit(address, AddressClass::FailedAuthentication, now)?;
                Box::pin(self.authenticator.audit_failure(
                    &error,
                    key,
                    agent,
                    address,
                    &trace.summary.request_id,
                    now,
                ))
                .await;
                Err(error)
            }
            Err(AuthError::NoCredentials(error)) => {
                self.addresses.admit(address, AddressClass::Unrouted, now)?;
                Err(error)
            }
            Err(AuthError::Limited { error, entry }) => {
                trace.enter(&entry);
                Err(error)
            }
            Err(AuthError::Other(error)) => Err(error),
        }
    }
}

/// The id of the request: the client's, if it has the form, else a new one (contract 5.2).
fn request_id(parts: &Parts, inner: &Inner, now: Timestamp) -> String {
    let sent = parts.headers.get(&REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|text| {
        (1..=128).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    });
    sent.map_or_else(|| inner.authenticator.ids().uuid_v7(now), str::to_owned)
}

impl<B: HttpBody> tower_service::Service<Request<B>> for Api {
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<ApiBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move { Ok(api.handle(request).await) })
    }
}

/// Refuses a head whose fields take more than so many bytes.
///
/// # Errors
/// 431 HEADERS_TOO_LARGE.
pub fn refuse_headers_beyond(parts: &Parts, most: usize) -> Result<(), ApiError> {
    let bytes: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > most {
        let message = format!("The header block exceeds {most} bytes");
        return Err(ApiError::new(ErrorCode::HeadersTooLarge, message));
    }
    Ok(())
}
