//! GET {origin}/openapi.json

use serde_json::{Value, json};

use crate::operation::{
    Access, Anonymous, Base, Context, EncodedResponse, EndpointMetadata, Method, Operation, Payload,
};
use crate::reply::{ApiError, Reply};

/// The OpenAPI document of the service.
pub struct Description;

impl Operation for Description {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "describeApi",
        method: Method::Get,
        base: Base::Origin,
        path: "/openapi.json",
        tag: "Description",
        summary: "OpenAPI document",
        description: "The OpenAPI 3.1 document of this service, bare. Needs no key.",
        access: Access::Public,
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Anonymous;
    type Input = ();
    type Output = String;

    async fn run(cx: Context<'_, Anonymous>, (): ()) -> Result<Reply<String>, ApiError> {
        Ok(Reply::ok("", cx.document.text(cx.service_info).to_owned()))
    }

    /// Bare: a description fits no envelope.
    fn encode(mut reply: Reply<String>) -> Result<EncodedResponse, ApiError> {
        let document = std::mem::take(&mut reply.data).into_bytes();
        Ok(EncodedResponse { reply: reply.map(|_| ()), body: Payload::Json(document) })
    }

    fn response_schema() -> Value {
        json!({
            "type": "object",
            "required": ["openapi", "info", "paths"],
            "properties": { "openapi": { "type": "string" }, "info": { "type": "object", "additionalProperties": true }, "paths": { "type": "object", "additionalProperties": true } },
        })
    }
}
