//! GET /health

use serde_json::{Value, json};

use crate::json::{Constant, JsonSchema, json_object};
use crate::operation::{
    Access, Anonymous, Context, EncodedResponse, EndpointMetadata, Method, Operation, Payload,
};
use crate::reply::{ApiError, CONTRACT_VERSION, ErrorCode, Reply};

/// Tells whether the service can answer.
pub struct Health;

const MESSAGE: &str = "API is healthy";

/// The body of the response.
struct Healthy;

json_object! { Healthy = |_healthy| {
    "success": Constant<true> = Constant(true),
    "message": &'static str = MESSAGE,
    "version": &'static str {
        "description": "The version of the contract, not of the build."
    } = CONTRACT_VERSION,
} }

impl Operation for Health {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "health",
        method: Method::Get,
        path: "/health",
        tag: "Health",
        summary: "Health check",
        description: "Tells whether the service can answer. Needs no key; credentials and query are ignored. 503 when the data store does not answer within 1 s.",
        access: Access::Public,
        errors: &[ErrorCode::ServiceUnavailable],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Anonymous;
    type Input = ();
    type Output = ();

    async fn run(cx: Context<'_, Anonymous>, (): ()) -> Result<Reply<()>, ApiError> {
        cx.service.health().await.map_err(|error| error.with_version(CONTRACT_VERSION))?;
        Ok(Reply::ok(MESSAGE, ()))
    }

    /// Flat: there is no `data`.
    fn encode(reply: Reply<()>) -> Result<EncodedResponse, ApiError> {
        let body = serde_json::to_vec(&Healthy).map_err(|_| ApiError::internal())?;
        Ok(EncodedResponse { reply, body: Payload::Json(body) })
    }

    fn response_schema() -> Value {
        Healthy::schema()
    }

    fn response_example() -> Value {
        json!(Healthy)
    }
}
