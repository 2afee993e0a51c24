//! GET /events/chatbots/{agentId}/stream

use http::HeaderMap;
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::{Action, Caller, Permission, Scope};
use crate::json::JsonSchema;
use crate::operation::{Access, Context, EncodedResponse, EndpointMetadata, Method, Operation, Payload};
use crate::reply::{ApiBody, ApiError, ErrorCode, Reply};
use crate::service::StreamEvents;

/// Sends the events of the agent as they happen.
pub struct Stream;

/// What the stream sends.
pub struct Sent(ApiBody);

// It is sent as text, without the envelope.
impl Serialize for Sent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl JsonSchema for Sent {
    fn schema() -> Value {
        json!({ "type": "string", "contentMediaType": "text/event-stream" })
    }
}

impl Operation for Stream {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "streamEvents",
        method: Method::Get,
        path: "/events/chatbots/{agentId}/stream",
        tag: "Events",
        summary: "Stream events",
        description: "Events of the agent after a cursor as they happen, as `text/event-stream`: `id` is the cursor, `event` the type, `data` the event. `Last-Event-ID` takes precedence over `after`. The stream ends after 15 minutes, and when the key no longer permits it; connect again with the last `id`. A stream whose next events are gone ends with the event `gap`, whose `data` has `oldest`, `head` and `reason`.",
        access: Access::Key(Permission::new(Scope::Events, Action::Read)),
        errors: &[ErrorCode::EventsLost, ErrorCode::StreamLimitExceeded, ErrorCode::EventsUnavailable],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = StreamEvents;
    type Output = Sent;

    async fn run(cx: Context<'_, Caller>, input: StreamEvents) -> Result<Reply<Sent>, ApiError> {
        Ok(Reply::ok("", Sent(cx.service.event_stream(cx.caller, input).await?)))
    }

    fn encode(reply: Reply<Sent>) -> Result<EncodedResponse, ApiError> {
        let mut body = ApiBody::empty();
        let reply = reply.map(|sent| body = sent.0);
        let headers: HeaderMap = ApiBody::EVENT_HEADERS.into_iter().collect();
        Ok(EncodedResponse { reply, body: Payload::Content { status: 200, headers, body } })
    }

    fn response_schema() -> Value {
        Sent::schema()
    }

    fn response_example() -> Value {
        "retry: 2000\n\nid: 1.697dc816b1c2d3e4f5a6b7c8\nevent: contact.created\ndata: {\"id\":\"697dc816b1c2d3e4f5a6b7c8\",\"seq\":1}\n\n".into()
    }
}
