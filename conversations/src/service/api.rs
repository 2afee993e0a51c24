//! The widget's calls over HTTP: count → route → admit → read → authenticate → call → encode.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use openapi_core::api::{
    ApiBody, HttpBody, JsonTypes, Outcome, Route, Router, encode, read_json, refuse_headers_beyond,
};
use openapi_core::files::Upload;
use openapi_core::json::{Json, Object};
use openapi_core::operation::JsonBody;
use openapi_core::platform::{AgentObserver, Platform};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::storage::StorageError;
use openapi_core::values::PlatformId;

use super::access::Authenticator;
use super::admission::{AddressLimit, Admission, Counters};
use super::agents::Agents;
use super::call::{Call, SentToken, WidgetRequest};
use super::leads::Leads;
use super::operations::{Handler, OPERATIONS, Operation, RequestBody, Services};
use super::replies::{Budgets, Replies, Usages};
use super::repository::Repository;
use super::streams::Streams;
use super::turns::Turns;
use super::uploads::{Uploads, open_upload};
use super::visitors::Visitors;
use crate::conversations::Conversations;
use crate::mail::OptOutPage;
use crate::widget::WidgetSettings;
use crate::widget::live::{Ending, LiveTurns};

/// The widget's side of the service: takes HTTP requests below `/widget/v1`, answers HTTP responses, knows no server.
///
/// Cheap to clone. Use [`WidgetApi::handle`] directly, or as a `tower_service::Service` in any stack. The extensions of
/// a request may hold a [`PeerAddress`](openapi_core::api::PeerAddress).
#[derive(Clone)]
pub struct WidgetApi(Arc<Inner>);

struct Inner {
    platform: Arc<Platform>,
    settings: WidgetSettings,
    router: Router<Operation>,
    admission: Arc<Admission>,
    authenticator: Authenticator,
    services: Services,
    shared: Shared,
}

/// The state that survives a change of the platform, such as new server keys.
#[derive(Clone)]
struct Shared {
    live: Arc<LiveTurns>,
    counters: Arc<Counters>,
    usages: Arc<Usages>,
    /// Identifies this process as the owner of the turns that it answers.
    server: PlatformId,
}

impl Conversations {
    /// The widget's side of the service.
    #[must_use]
    pub fn widget_api(self: &Arc<Self>, settings: WidgetSettings) -> WidgetApi {
        let shared = Shared {
            live: Arc::default(),
            counters: Arc::new(Counters::new(&settings.limits)),
            usages: Arc::default(),
            server: self.platform.ports().ids.platform_id(self.platform.now()),
        };
        WidgetApi::of(self, settings, shared)
    }
}

impl WidgetApi {
    /// Answers one HTTP request. Never fails: every failure is a reply.
    pub async fn handle(&self, request: Request<impl HttpBody>) -> Response<ApiBody> {
        let (parts, body) = request.into_parts();
        let mut context = self.0.context(&parts);
        let outcome = self.0.answer(&parts, body, &mut context).await;
        respond(&parts, outcome, context)
    }

    /// Counts a host's own request for a file of the widget, such as its script, among the calls of its address.
    ///
    /// # Errors
    /// The response to a request beyond the limit (429 RATE_LIMIT_EXCEEDED) or with too large a head (431
    /// HEADERS_TOO_LARGE).
    pub fn admit(&self, parts: &Parts) -> Result<(), Box<Response<ApiBody>>> {
        let context = self.0.context(parts);
        let admitted = self
            .0
            .admit_request(parts, &context)
            .and_then(|()| self.0.admission.admit_address(&context, AddressLimit::Calls));
        admitted.map(drop).map_err(|error| Box::new(respond(parts, Err(error), context)))
    }

    fn of(conversations: &Arc<Conversations>, settings: WidgetSettings, shared: Shared) -> WidgetApi {
        let platform = conversations.platform();
        let live: Arc<dyn AgentObserver> = Arc::clone(&shared.live) as _;
        platform.observe_agents(Arc::downgrade(&live));
        let rows = OPERATIONS.iter().map(|row| (row.path.to_owned(), row.method, row));
        let admission = Arc::new(Admission {
            platform: Arc::clone(platform),
            limits: settings.limits.clone(),
            counters: Arc::clone(&shared.counters),
            server: shared.server,
        });
        let services = services(conversations, &settings, &shared, &admission);
        WidgetApi(Arc::new(Inner {
            router: Router::new(rows, false),
            authenticator: Authenticator {
                platform: Arc::clone(platform),
                agents: Arc::clone(&services.agents),
                admission: Arc::clone(&admission),
                own_origin: settings.own_origin.clone(),
            },
            admission,
            services,
            platform: Arc::clone(platform),
            settings,
            shared,
        }))
    }

    /// The same over conversations of another platform, such as one with other server keys. Running replies continue,
    /// and the limits retain their counts.
    #[must_use]
    pub fn over(&self, conversations: &Arc<Conversations>) -> WidgetApi {
        WidgetApi::of(conversations, self.0.settings.clone(), self.0.shared.clone())
    }

    /// Ends all running replies, at the deadline for draining. Their text so far is stored, and their clients receive
    /// an error that asks them to retry.
    pub fn cancel_all(&self) {
        self.0.shared.live.running().iter().for_each(|turn| turn.cancel(Ending::Service));
    }

    /// What the page of a link that stops e-mail says, and whether the link is valid. The e-mail stops if the request
    /// `confirms` it.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn stop_mail(&self, link: &str, confirms: bool) -> Result<(bool, OptOutPage), StorageError> {
        let conversations = &self.0.services.visitors.conversations;
        if !conversations.is_opt_out(link) {
            return Ok((false, OptOutPage::Invalid));
        }
        if !confirms {
            return Ok((true, OptOutPage::Ask));
        }
        conversations.opt_out_of_mail(link).await.map(|_| (true, OptOutPage::Done))
    }

    /// How many replies are running.
    #[must_use]
    pub fn running_turns(&self) -> usize {
        self.0.shared.live.running().len()
    }
}

/// The services over a platform.
fn services(
    conversations: &Arc<Conversations>,
    settings: &WidgetSettings,
    shared: &Shared,
    admission: &Arc<Admission>,
) -> Services {
    let agents = Arc::new(Agents::new(Arc::clone(conversations), Arc::clone(&settings.texts)));
    let repository = Arc::new(Repository {
        platform: Arc::clone(&conversations.platform),
        storage: Arc::clone(&conversations.storage),
    });
    let streams = Arc::new(Streams {
        live: Arc::clone(&shared.live),
        repository: Arc::clone(&repository),
        agents: Arc::clone(&agents),
    });
    let leads = Arc::new(Leads { admission: Arc::clone(admission), repository: Arc::clone(&repository) });
    let uploads = Arc::new(Uploads { admission: Arc::clone(admission), repository: Arc::clone(&repository) });
    let replies = Arc::new(Replies {
        ports: conversations.ports.clone(),
        deadlines: settings.deadlines,
        repository: Arc::clone(&repository),
        agents: Arc::clone(&agents),
        budgets: Budgets {
            repository: Arc::clone(&repository),
            usages: Arc::clone(&shared.usages),
            longest_turn: settings.deadlines.whole,
            credits_per_thousand_tokens: settings.credits_per_thousand_tokens,
        },
        server: shared.server,
    });
    Services {
        turns: Turns {
            admission: Arc::clone(admission),
            repository: Arc::clone(&repository),
            leads: Arc::clone(&leads),
            uploads: Arc::clone(&uploads),
            streams: Arc::clone(&streams),
            replies,
        },
        visitors: Visitors {
            conversations: Arc::clone(conversations),
            repository,
            agents: Arc::clone(&agents),
            streams: Arc::clone(&streams),
        },
        agents,
        leads,
        streams,
        uploads,
    }
}

impl<B: HttpBody> tower_service::Service<Request<B>> for WidgetApi {
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<ApiBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move { Ok(api.handle(request).await) })
    }
}

impl Inner {
    fn context(&self, parts: &Parts) -> WidgetRequest {
        let now = self.platform.now();
        WidgetRequest::new(parts, self.platform.ports().ids.uuid_v7(now), now)
    }

    async fn answer(
        &self,
        parts: &Parts,
        body: impl HttpBody,
        request: &mut WidgetRequest,
    ) -> Result<Outcome, ApiError> {
        self.admit_request(parts, request)?;
        let segments: Vec<Cow<'_, str>> = parts.uri.path().split('/').skip(1).map(Cow::Borrowed).collect();
        let route = self.router.find(&parts.method, &segments);
        if !matches!(route, Ok(Route::Found { .. })) {
            self.admission.admit_address(request, AddressLimit::Calls)?;
        }
        let operation = match route? {
            Route::Found { operation, .. } => operation,
            Route::Options { .. } => return Ok(preflight()),
        };
        (request.summary.operation, request.summary.route) = (Some(operation.id), Some(operation.path));
        if operation.streams {
            self.admission.check_streams()?;
        }
        let mut share = match operation.counts {
            Some(limit) => self.admission.admit_address(request, limit)?,
            None => 0.0,
        };
        let (body, file, token) = match self.read_and_verify(operation, parts, body, request).await {
            Ok(read) => read,
            Err(error) => {
                if operation.counts.is_none() {
                    self.admission.admit_address(request, AddressLimit::Calls)?;
                }
                return Err(error);
            }
        };
        let view = self.authenticator.view(request, operation, &body, token.as_ref()).await?;
        let mut stream = None;
        if operation.streams {
            // Taken before anything is stored: without a stream, the answer would reach no one.
            let slot = self.admission.open_stream(request, &view.agent.id)?;
            share = share.max(slot.share());
            stream = Some(slot);
        }
        let call = Call { request, view, token, body, file: file.into(), share, stream };
        match operation.handler {
            Handler::Public(handle) => handle(&self.services, call).await,
            Handler::Visitor(handle) => handle(&self.services, call.of_visitor()?).await,
        }
    }
}

impl Inner {
    /// Counts a request for its address, before anything of it is looked at.
    fn admit_request(&self, parts: &Parts, request: &WidgetRequest) -> Result<(), ApiError> {
        self.admission.admit_address(request, AddressLimit::Requests)?;
        refuse_headers_beyond(parts, self.settings.max_header_bytes)
    }

    /// Reads a request and verifies its token, without the store.
    async fn read_and_verify(
        &self,
        operation: &Operation,
        parts: &Parts,
        body: impl HttpBody,
        request: &WidgetRequest,
    ) -> Result<(Object, Upload, Option<SentToken>), ApiError> {
        let (body, file) = read(operation.body, parts, body).await?;
        let token = self.authenticator.token(request, operation, &body)?;
        Ok((body, file, token))
    }
}

/// Reads the members of a request, and opens the file that came with them.
async fn read(kind: RequestBody, parts: &Parts, body: impl HttpBody) -> Result<(Object, Upload), ApiError> {
    let members = match kind {
        RequestBody::Query => {
            let mut members = Object::new();
            let query = parts.uri.query().unwrap_or_default();
            for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
                if matches!(&*name, "agentId" | "locale") {
                    members.insert(&*name, Json::from(&*value));
                }
            }
            members
        }
        RequestBody::Form => return open_upload(parts, body).await,
        RequestBody::Json(limit) => match read_json(parts, body, limit, JsonTypes::AlsoPlain).await? {
            JsonBody::Value(Json::Object(members)) => members,
            _ => return Err(ApiError::new(ErrorCode::InvalidJson, "The request body is not a JSON object")),
        },
    };
    Ok((members, Upload::absent()))
}

/// The response to OPTIONS, which browsers send before a request from another origin.
fn preflight() -> Outcome {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "7200"),
    ];
    let headers: HeaderMap =
        headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
    Outcome::Content { status: 204, headers, body: ApiBody::empty() }
}

/// Encodes the outcome of a request. The extensions of the response hold its summary.
fn respond(
    parts: &Parts,
    outcome: Result<Outcome, ApiError>,
    mut request: WidgetRequest,
) -> Response<ApiBody> {
    let mut response = encode(parts, outcome, &mut request.summary);
    request.cors_headers(response.headers_mut());
    response.extensions_mut().insert(request.summary);
    response
}
