//! GET /events/chatbots/{agentId}

use serde::Serialize;
use serde_json::{Value, json};

use crate::access::{Action, Caller, Permission, Scope};
use crate::events::Event;
use crate::json::JsonSchema;
use crate::operation::{Access, Context, EncodedResponse, EndpointMetadata, Method, Operation, Payload};
use crate::reply::{ApiError, ErrorCode, Reply};
use crate::service::{EventPage, EventStream, PullEvents};

/// Reads the event log of the agent.
pub struct Pull;

#[derive(Serialize)]
struct Body<'a> {
    success: bool,
    message: &'a str,
    data: &'a [Event],
    stream: &'a EventStream,
}

impl Operation for Pull {
    const METADATA: EndpointMetadata = EndpointMetadata {
        id: "pullEvents",
        method: Method::Get,
        path: "/events/chatbots/{agentId}",
        tag: "Events",
        summary: "Read events",
        description: "Events of the agent after a cursor, oldest first, in the order of the changes and without a gap. `stream.cursor` is what to pass as `after` next; it moves past events that `types` leaves out. 410 when events after the cursor are no longer there: read the records again and go on at `head`.",
        access: Access::Key(Permission::new(Scope::Events, Action::Read)),
        errors: &[ErrorCode::EventsLost, ErrorCode::EventsUnavailable],
        ..EndpointMetadata::of::<Self::Input>()
    };
    type Caller = Caller;
    type Input = PullEvents;
    type Output = EventPage;

    async fn run(cx: Context<'_, Caller>, input: PullEvents) -> Result<Reply<EventPage>, ApiError> {
        let page = cx.service.events(cx.caller, input).await?;
        Ok(Reply::ok("Events retrieved successfully", page))
    }

    /// The position stands next to `data`.
    fn encode(reply: Reply<EventPage>) -> Result<EncodedResponse, ApiError> {
        let EventPage { events, stream } = &reply.data;
        let body = Body { success: true, message: &reply.message, data: events, stream };
        let body = serde_json::to_vec(&body).map_err(|_| ApiError::internal())?;
        Ok(EncodedResponse { reply: reply.map(|_| ()), body: Payload::Json(body) })
    }

    fn response_schema() -> Value {
        json!({
            "type": "object",
            "required": ["success", "message", "data", "stream"],
            "properties": {
                "success": { "const": true },
                "message": { "type": "string" },
                "data": { "type": "array", "items": Event::reference() },
                "stream": EventStream::schema(),
            },
        })
    }
}
