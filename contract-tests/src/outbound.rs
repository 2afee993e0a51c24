//! Requests to other services, as tests see them: judged like those of a server, never sent.

use std::collections::VecDeque;
use std::sync::Arc;

use ::outbound::{Judge, Policy};
use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes};
use parking_lot::Mutex;

/// A client whose receivers answer what a test says, else 204.
#[derive(Clone, Default)]
pub struct ScriptedOutbound(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    sent: Vec<OutboundRequest>,
    answers: VecDeque<Result<u16, OutboundError>>,
    body: Bytes,
}

impl ScriptedOutbound {
    /// The next answers.
    pub fn answer(&self, answers: impl IntoIterator<Item = Result<u16, OutboundError>>) {
        self.0.lock().answers.extend(answers);
    }

    /// The text of all answers from now on.
    pub fn say(&self, body: &'static str) {
        self.0.lock().body = Bytes::from_static(body.as_bytes());
    }

    /// The requests since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<OutboundRequest> {
        std::mem::take(&mut self.0.lock().sent)
    }
}

#[async_trait]
impl Outbound for ScriptedOutbound {
    fn check(&self, url: &str, schemes: OutboundSchemes) -> Result<(), OutboundError> {
        Ok(Judge::new(Policy::default()).target(url, schemes).map(drop)?)
    }

    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let mut script = self.0.lock();
        let url = request.url.clone();
        script.sent.push(request);
        let status = script.answers.pop_front().unwrap_or(Ok(204))?;
        Ok(OutboundResponse {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
            headers: HeaderMap::new(),
            body: script.body.clone(),
            is_truncated: false,
            url,
        })
    }
}
