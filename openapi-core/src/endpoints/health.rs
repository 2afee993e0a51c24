//! GET /health

use serde_json::{Value, json};

use crate::operation::{
    Access, Anonymous, Base, BodyKind, Conditional, Context, DecodedRequest, EncodedResponse,
    EndpointMetadata, Method, Operation, Payload,
};
use crate::reply::{ApiError, CONTRACT_VERSION, ErrorCode, Reply};

/// Tells whether the service can answer.
pub struct Health;

impl Operation for Health {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "health",
        method: Method::Get,
        base: Base::OpenApi,
        path: "/health",
        tag: "Health",
        summary: "Health check",
        description: "Tells whether the service can answer. Needs no key; credentials and query are ignored. 503 when the data store does not answer within 1 s.",
        access: Access::Public,
        body: BodyKind::None,
        query: &[],
        success: &[200],
        errors: &[ErrorCode::ServiceUnavailable],
        idempotent: false,
        conditional: Conditional::No,
    };
    type Caller = Anonymous;
    type Input = ();
    type Output = ();

    fn decode(_: &DecodedRequest<'_>) {}

    async fn run(cx: Context<'_, Anonymous>, (): ()) -> Result<Reply<()>, ApiError> {
        cx.service.health().await.map_err(|error| error.with_version(CONTRACT_VERSION))?;
        Ok(Reply::ok("API is healthy", ()))
    }

    /// Flat: there is no `data`.
    fn encode(reply: Reply<()>) -> Result<EncodedResponse, ApiError> {
        let body = json!({ "success": true, "message": reply.message, "version": CONTRACT_VERSION });
        Ok(EncodedResponse { reply, body: Payload::Json(body.to_string().into_bytes()) })
    }

    fn response_schema() -> Value {
        json!({
            "type": "object",
            "required": ["success", "message", "version"],
            "properties": {
                "success": { "const": true },
                "message": { "type": "string" },
                "version": { "type": "string", "description": "The version of the contract, not of the build." },
            },
        })
    }

    fn response_example() -> Value {
        json!({ "success": true, "message": "API is healthy", "version": CONTRACT_VERSION })
    }
}
