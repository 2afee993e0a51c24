//! Requests about endpoints.

use openapi_core::json::{Json, Object, object_schema};
use openapi_core::request::rules::{AsSent, Flag, Within};
use openapi_core::request::{BodyKind, Part, Reader};
use openapi_core::service::{
    Idempotency, IdempotencyKey, IfMatch, PageRequest, Paging, RawBody, TagMatch, Unvalidated,
};
use openapi_core::validation::Violations;
use openapi_core::values::PlatformId;
use openapi_core::{parameters, request};

use super::body::{EndpointChange, NewEndpoint};
use super::view::Endpoint;

/// The endpoint that a path names, as sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointTarget(String);

impl EndpointTarget {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for EndpointTarget {
    fn from(sent: String) -> Self {
        EndpointTarget(sent)
    }
}

impl From<PlatformId> for EndpointTarget {
    fn from(id: PlatformId) -> Self {
        EndpointTarget(id.to_string())
    }
}

impl Part for EndpointTarget {
    type Value = EndpointTarget;

    fn read(request: &mut Reader<'_>) -> EndpointTarget {
        EndpointTarget(request.sent.path_value("endpointId").to_owned())
    }
}

request! {
    /// `POST /events/endpoints/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct CreateEndpoint {
        /// The idempotency of the request.
        pub idempotency: Option<Idempotency<Endpoint>> = IdempotencyKey<Endpoint>,
        /// What the endpoint is to be.
        pub fields: Unvalidated<Object> = RawBody<NewEndpoint>,
    }
}

request! {
    /// `GET /events/endpoints/chatbots/<A>`
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ListEndpoints {
        /// Which part of the list.
        pub page: Unvalidated<PageRequest> = Unvalidated<Paging<20>>,
    }
}

request! {
    /// `PUT /events/endpoints/<wid>/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct EditEndpoint {
        /// The endpoint.
        pub target: EndpointTarget,
        /// The `If-Match` header.
        pub if_match: Option<TagMatch> = IfMatch,
        /// What is to change.
        pub fields: Unvalidated<Object> = RawBody<EndpointChange>,
    }
}

request! {
    /// A request that names an endpoint and nothing else.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DeleteEndpoint {
        /// The endpoint.
        pub target: EndpointTarget,
        /// What is wrong around it.
        pub faults: Violations,
    }
}

/// A JSON object that may be absent, with the schema `S`.
pub struct OptionalBody<S>(std::marker::PhantomData<S>);

impl<S: openapi_core::json::JsonSchema> Part for OptionalBody<S> {
    type Value = Unvalidated<Object>;
    const BODY: BodyKind = BodyKind::Optional;

    fn body_schema() -> Option<serde_json::Value> {
        Some(S::reference())
    }

    fn read(request: &mut Reader<'_>) -> Unvalidated<Object> {
        let members = request.sent.members(&mut request.body);
        Unvalidated::new(members, request.take_faults())
    }
}

/// The body of a rotation.
pub struct RotationBody;

object_schema! { RotationBody as "WebhookRotation" { "additionalProperties": false } = {
    "graceSeconds" optional: Option<u32> {
        "minimum": 0, "maximum": 604_800, "default": 86_400,
        "description": "How long the former secret signs too; an older one ends at once."
    },
} }

request! {
    /// `POST /events/endpoints/<wid>/rotate/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct RotateSecret {
        /// The endpoint.
        pub target: EndpointTarget,
        /// `graceSeconds`
        pub fields: Unvalidated<Object> = OptionalBody<RotationBody>,
    }
}

/// The body of a test.
pub struct TestBody;

object_schema! { TestBody as "WebhookTest" { "additionalProperties": false } = {
    "type" optional: Option<String> {
        "default": "contact.created", "description": "The type of the event, whose data is an example."
    },
} }

request! {
    /// `POST /events/endpoints/<wid>/test/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct SendTest {
        /// The endpoint.
        pub target: EndpointTarget,
        /// `type`
        pub fields: Unvalidated<Object> = OptionalBody<TestBody>,
    }
}

/// The body of a replay.
pub struct ReplayBody;

object_schema! { ReplayBody as "WebhookReplay" {
    "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
} = {
    "after" optional: Json {
        "type": ["string", "integer"], "description": "The cursor or the number of an event: all after it are sent again."
    },
    "since" optional: String { "format": "date-time", "description": "Events since this time are sent again." },
    "ids" optional: Vec<PlatformId> {
        "minItems": 1, "maxItems": 100, "uniqueItems": true, "description": "Ids of single events."
    },
} }

request! {
    /// `POST /events/endpoints/<wid>/replay/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct ReplayEvents {
        /// The endpoint.
        pub target: EndpointTarget,
        /// One of `after`, `since` and `ids`.
        pub fields: Unvalidated<Object> = RawBody<ReplayBody>,
    }
}

request! {
    /// `GET /events/endpoints/<wid>/attempts/chatbots/<A>`
    #[derive(Clone, Debug, PartialEq)]
    pub struct ListAttempts {
        /// The endpoint.
        pub target: EndpointTarget,
        /// The query.
        pub query: Unvalidated<AttemptQuery>,
    }
}

parameters! {
    /// Which attempts.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct AttemptQuery {
        /// How many at most.
        "limit" limit: u64 = Within(1..=100, 20),
        /// `nextCursor` of an earlier answer.
        "cursor" cursor: Option<String> = AsSent(100),
        /// Only attempts that failed.
        "failed" failed: bool = Flag,
    }
}
