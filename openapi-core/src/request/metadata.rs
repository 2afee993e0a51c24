//! The description of an endpoint.

use super::{Parameter, Part};
use crate::access::Permission;
use crate::reply::ErrorCode;

/// What is known of an endpoint before a request comes.
#[derive(Debug)]
pub struct EndpointMetadata {
    /// The operation id of the OpenAPI document.
    pub id: &'static str,
    /// The method.
    pub method: Method,
    /// What the path is relative to.
    pub base: Base,
    /// The path with `{parameters}`; the literal segment `platformid` stands for the configured id segment.
    pub path: &'static str,
    /// The section of the reference.
    pub tag: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// What it does, in full.
    pub description: &'static str,
    /// Who may call it.
    pub access: Access,
    /// Whether it takes a body.
    pub body: BodyKind,
    /// Query parameters.
    pub query: &'static [Parameter],
    /// Success statuses.
    pub success: &'static [u16],
    /// Error codes beyond those that follow from the other properties.
    pub errors: &'static [ErrorCode],
    /// Whether it honours `Idempotency-Key`.
    pub idempotent: bool,
    /// Which conditional headers it honours.
    pub conditional: Conditional,
}

/// A method that endpoints have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// GET, and HEAD with it.
    Get,
    /// POST
    Post,
    /// PUT
    Put,
    /// PATCH
    Patch,
    /// DELETE
    Delete,
}

impl Method {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// What a path is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// {base_url}: the prefix `/v1/open`.
    OpenApi,
    /// {origin}
    Origin,
}

/// Who may call an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anyone, without a key.
    Public,
    /// Any client with a link signed by the service.
    Link,
    /// A key with this permission.
    Key(Permission),
}

impl Access {
    /// Whether no key is needed.
    #[must_use]
    pub const fn is_public(self) -> bool {
        matches!(self, Access::Public | Access::Link)
    }
}

/// Which body an endpoint takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// None; what is sent is ignored.
    None,
    /// A JSON object.
    Required,
    /// A JSON object or nothing.
    Optional,
    /// A `multipart/form-data` form with one file.
    File,
    /// A `multipart/form-data` form with one document and what is to be found in it.
    Document,
    /// The same with several documents.
    Documents,
}

impl BodyKind {
    /// Whether it is a form.
    #[must_use]
    pub const fn is_form(self) -> bool {
        matches!(self, BodyKind::File) || self.has_documents()
    }

    /// Whether it is a form with documents.
    #[must_use]
    pub const fn has_documents(self) -> bool {
        matches!(self, BodyKind::Document | BodyKind::Documents)
    }

    /// This body, or the other one if this is none.
    #[must_use]
    pub const fn or(self, other: BodyKind) -> BodyKind {
        if matches!(self, BodyKind::None) { other } else { self }
    }

    /// Whether it is JSON.
    #[must_use]
    pub const fn is_json(self) -> bool {
        matches!(self, BodyKind::Required | BodyKind::Optional)
    }
}

/// Which conditional headers an endpoint honours (contract 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditional {
    /// None.
    No,
    /// It answers an `ETag`, and 304 to `If-None-Match`.
    Read,
    /// It answers an `ETag`.
    Tagged,
    /// It answers an `ETag` and honours `If-Match`.
    Write,
}

/// Group E: every endpoint with key headers (contract 4).
const EVERY: &[ErrorCode] = &[
    ErrorCode::BadRequest,
    ErrorCode::ValidationError,
    ErrorCode::MissingCredentials,
    ErrorCode::InvalidCredentials,
    ErrorCode::ApiKeyExpired,
    ErrorCode::ApiKeyRevoked,
    ErrorCode::InsufficientPermissions,
    ErrorCode::IpNotAllowed,
    ErrorCode::RouteNotFound,
    ErrorCode::MethodNotAllowed,
    ErrorCode::UriTooLong,
    ErrorCode::HeadersTooLarge,
    ErrorCode::RateLimitExceeded,
    ErrorCode::TooManyFailedAttempts,
    ErrorCode::InternalError,
    ErrorCode::ServiceUnavailable,
];

/// What can go wrong before a keyless endpoint is reached.
const KEYLESS: &[ErrorCode] = &[
    ErrorCode::BadRequest,
    ErrorCode::UriTooLong,
    ErrorCode::HeadersTooLarge,
    ErrorCode::TooManyFailedAttempts,
    ErrorCode::InternalError,
];

/// Group J: a JSON body.
const JSON: &[ErrorCode] = &[
    ErrorCode::InvalidJson,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::PayloadTooLarge,
    ErrorCode::RequestTimeout,
];

/// Group M: a form with a file.
const MULTIPART: &[ErrorCode] =
    &[ErrorCode::UnsupportedMediaType, ErrorCode::UnsupportedFileType, ErrorCode::RequestTimeout];

/// Group I: idempotency.
const IDEMPOTENT: &[ErrorCode] = &[ErrorCode::IdempotencyKeyInUse, ErrorCode::IdempotencyKeyReused];

/// Group P: conditional writes.
const PRECONDITION: &[ErrorCode] = &[ErrorCode::PreconditionFailed, ErrorCode::ConcurrentUpdate];

impl EndpointMetadata {
    /// What follows from the request, with what most endpoints have; an endpoint says the rest.
    #[must_use]
    pub const fn of<R: Part>() -> Self {
        EndpointMetadata {
            id: "",
            method: Method::Get,
            base: Base::OpenApi,
            path: "",
            tag: "",
            summary: "",
            description: "",
            access: Access::Public,
            body: R::BODY,
            query: R::PARAMETERS,
            success: &[200],
            errors: &[],
            idempotent: R::IDEMPOTENT,
            conditional: if R::IF_MATCH { Conditional::Write } else { Conditional::No },
        }
    }

    /// Whether the path names the agent.
    #[must_use]
    pub fn names_agent(&self) -> bool {
        self.path.contains("{agentId}")
    }

    /// Every error code that the endpoint may answer, in the order of the catalogue.
    #[must_use]
    pub fn error_codes(&self) -> Vec<ErrorCode> {
        let groups: [(bool, &[ErrorCode]); 8] = [
            (!self.access.is_public(), EVERY),
            (self.access.is_public(), KEYLESS),
            (self.names_agent(), &[ErrorCode::AgentForbidden]),
            (self.body.is_json(), JSON),
            (self.body.is_form(), MULTIPART),
            (self.idempotent, IDEMPOTENT),
            (self.conditional == Conditional::Write, PRECONDITION),
            (true, self.errors),
        ];
        let all: Vec<ErrorCode> = groups
            .iter()
            .filter(|(applies, _)| *applies)
            .flat_map(|(_, codes)| codes.iter().copied())
            .collect();
        ErrorCode::ALL.iter().copied().filter(|code| all.contains(code)).collect()
    }

    /// The path template from {origin} on, with the configured id segment.
    #[must_use]
    pub fn template(&self, id_segment: &str) -> String {
        let prefix = match self.base {
            Base::OpenApi => crate::reply::BASE_PATH,
            Base::Origin => "",
        };
        format!("{prefix}{}", self.path.replace("/platformid/", &format!("/{id_segment}/")))
    }

    /// The names of the path's parameters, in order.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}
