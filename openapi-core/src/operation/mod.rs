//! Operations: everything about an endpoint in one module, and what is generated from it.

pub(crate) mod examples;

use std::future::Future;
use std::sync::{Arc, OnceLock};

use futures_core::future::BoxFuture;
use http::{Extensions, HeaderMap};
use serde::Serialize;
use serde_json::Value;

pub use crate::request::{
    Access, Base, BodyKind, Conditional, DecodedRequest, EndpointMetadata, JsonBody, Method, Parameter, Part,
    Query, Reader,
};

use crate::access::{Caller, Permission};
use crate::json::JsonSchema;
use crate::reply::{ApiBody, ApiError, ErrorCode, Reply, success_body};
use crate::service::OpenApiService;
use crate::service_info::ServiceInfo;

/// One endpoint: its description, how a request becomes its input, and what it does.
pub trait Operation: 'static {
    /// What the description, the router and the guards need to know.
    const METADATA: EndpointMetadata;
    /// Whether another endpoint replaces this one (contract 10).
    const DEPRECATED: bool = false;
    /// Who calls: [`Caller`] with the key headers, [`Anonymous`] without. Must agree with [`EndpointMetadata::access`].
    type Caller: Principal;
    /// The typed request. What is wrong with it travels inside, so that absent resources are answered first.
    type Input: Part<Value = Self::Input> + Send;
    /// What `data` holds.
    type Output: Serialize + JsonSchema + Send;

    /// Permissions beyond the one of [`EndpointMetadata::access`] that this request needs.
    fn additional_permission(_: &DecodedRequest<'_>) -> Option<Permission> {
        None
    }

    /// Calls the service.
    fn run(
        cx: Context<'_, Self::Caller>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Reply<Self::Output>, ApiError>> + Send;

    /// Writes the body of a success.
    ///
    /// # Errors
    /// INTERNAL_ERROR when the output cannot be serialised.
    fn encode(reply: Reply<Self::Output>) -> Result<EncodedResponse, ApiError> {
        let body = success_body(&reply.message, &reply.data, reply.pagination.as_ref())?;
        Ok(EncodedResponse { reply: reply.map(|_| ()), body: Payload::Json(body) })
    }

    /// The JSON Schema of the success body.
    fn response_schema() -> Value {
        Self::Output::envelope()
    }

    /// The JSON Schema of the answer to a dry run, where there is one.
    fn dry_run_schema() -> Option<Value> {
        None
    }

    /// An example of the success body: from `examples.json`, by the id of the operation.
    fn response_example() -> Value {
        examples::of_operation(Self::METADATA.id, "response").unwrap_or_default()
    }
}

/// What an operation works with.
pub struct Context<'a, C> {
    /// The service.
    pub service: &'a dyn OpenApiService,
    /// Who calls.
    pub caller: &'a C,
    /// The names of the service.
    pub service_info: &'a ServiceInfo,
    /// The OpenAPI document.
    pub document: &'a Document,
    /// The services of endpoints that other crates add.
    pub services: &'a Extensions,
}

/// Endpoints that another crate adds to the table.
#[derive(Clone, Copy)]
pub struct EndpointGroup {
    /// The endpoints.
    pub endpoints: &'static [Endpoint],
    /// The schemas that the OpenAPI document lists by their names.
    pub schemas: fn() -> Vec<(String, Value)>,
    /// The messages that the service sends on its own (`webhooks` of the OpenAPI document).
    pub webhooks: fn() -> Value,
}

/// The OpenAPI document of a service, made when it is first asked for.
pub struct Document {
    text: OnceLock<String>,
    write: WriteDocument,
    groups: &'static [EndpointGroup],
}

/// Writes the document of the table and these groups.
type WriteDocument = fn(&ServiceInfo, &[EndpointGroup]) -> Value;

impl Document {
    /// A document of the table and these groups, which `write` makes.
    pub(crate) const fn new(write: WriteDocument, groups: &'static [EndpointGroup]) -> Self {
        Document { text: OnceLock::new(), write, groups }
    }

    /// The document under the names of the service.
    pub(crate) fn text(&self, service_info: &ServiceInfo) -> &str {
        self.text.get_or_init(|| (self.write)(service_info, self.groups).to_string())
    }
}

/// Who may call an operation.
pub trait Principal: Send + Sync + Sized + 'static {
    /// Whether the operation needs no key.
    const PUBLIC: bool;

    /// The visitor, given the authenticated caller.
    fn of(caller: Option<&Caller>) -> Option<&Self>;
}

impl Principal for Caller {
    const PUBLIC: bool = false;

    fn of(caller: Option<&Caller>) -> Option<&Self> {
        caller
    }
}

/// A caller without a key.
#[derive(Clone, Copy, Debug)]
pub struct Anonymous;

impl Principal for Anonymous {
    const PUBLIC: bool = true;

    fn of(_: Option<&Caller>) -> Option<&Self> {
        Some(&Anonymous)
    }
}

/// 403 of a caller without a permission.
pub(crate) fn lacks(permission: Permission) -> ApiError {
    ApiError::new(ErrorCode::InsufficientPermissions, format!("The API key lacks {permission}"))
        .with_detail("required", permission.to_string().as_str())
}

/// What an operation answered, its output already written.
pub struct EncodedResponse {
    /// The outcome without its data.
    pub reply: Reply<()>,
    /// The body.
    pub body: Payload,
}

/// The body of an answer.
pub enum Payload {
    /// JSON.
    Json(Vec<u8>),
    /// The content of a file, with the status and the headers that belong to it.
    Content {
        /// 200, 206 or 304.
        status: u16,
        /// The headers, `Content-Length` included.
        headers: HeaderMap,
        /// The bytes.
        body: ApiBody,
    },
}

/// What all operations of one `Api` share.
pub(crate) struct Shared {
    pub(crate) service: Arc<dyn OpenApiService>,
    pub(crate) service_info: ServiceInfo,
    pub(crate) document: Document,
    pub(crate) services: Extensions,
}

impl Shared {
    /// What an operation works with for this caller.
    pub(crate) fn context<'a, C>(&'a self, caller: &'a C) -> Context<'a, C> {
        let Shared { service, service_info, document, services } = self;
        Context { service: &**service, caller, service_info, document, services }
    }
}

type Run = for<'a> fn(
    &'a Shared,
    Option<&'a Caller>,
    &DecodedRequest<'_>,
) -> BoxFuture<'a, Result<EncodedResponse, ApiError>>;

/// An operation in the table: the same for all, whatever their types.
pub struct Endpoint {
    /// Its description.
    pub meta: &'static EndpointMetadata,
    /// Whether another endpoint replaces it.
    pub deprecated: bool,
    pub(crate) run: Run,
    pub(crate) additional_permission: fn(&DecodedRequest<'_>) -> Option<Permission>,
    pub(crate) request_schema: fn() -> Option<Value>,
    pub(crate) response_schema: fn() -> Value,
    pub(crate) dry_run_schema: fn() -> Option<Value>,
    /// An example of the success body.
    pub response_example: fn() -> Value,
}

impl Endpoint {
    /// An example of the request body.
    #[must_use]
    pub fn request_example(&self) -> Option<Value> {
        examples::of_operation(self.meta.id, "request")
    }

    /// The entry of an operation. An access that disagrees with the type of the caller does not compile.
    #[must_use]
    pub const fn of<Op: Operation>() -> Self {
        const {
            assert!(
                Op::METADATA.access.is_public() == Op::Caller::PUBLIC,
                "access and caller of an operation disagree"
            );
        };
        Endpoint {
            meta: &Op::METADATA,
            deprecated: Op::DEPRECATED,
            run: run::<Op>,
            additional_permission: Op::additional_permission,
            request_schema: Op::Input::body_schema,
            response_schema: Op::response_schema,
            dry_run_schema: Op::dry_run_schema,
            response_example: Op::response_example,
        }
    }
}

fn run<'a, Op: Operation>(
    shared: &'a Shared,
    caller: Option<&'a Caller>,
    incoming: &DecodedRequest<'_>,
) -> BoxFuture<'a, Result<EncodedResponse, ApiError>> {
    let input = Reader::read::<Op::Input>(incoming);
    Box::pin(async move {
        let Some(caller) = Op::Caller::of(caller) else {
            tracing::error!(
                operation = Op::METADATA.id,
                "an operation that needs the key headers was called without a caller"
            );
            return Err(ApiError::internal());
        };
        let reply = Op::run(shared.context(caller), input).await?;
        if reply.replay.is_some() {
            return Ok(EncodedResponse { reply: reply.map(|_| ()), body: Payload::Json(Vec::new()) });
        }
        Op::encode(reply)
    })
}
