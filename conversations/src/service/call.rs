//! The calls of the widget: their routes, context and results.

use std::net::IpAddr;

use http::{HeaderValue, Method, StatusCode};
use openapi_core::reply::ApiError;
use openapi_core::values::{AgentId, Timestamp};
use serde::Serialize;

use crate::widget::live::EventStream;
use crate::widget::{BASE_PATH, OpenStream, UPLOADS_PATH};

/// The calls of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Config,
    Turns,
    Resume,
    Cancel,
    Sync,
    History,
    Lead,
    Feedback,
    Close,
    Uploads,
}

impl Call {
    pub(super) const ALL: [Call; 10] = [
        Call::Config,
        Call::Turns,
        Call::Resume,
        Call::Cancel,
        Call::Sync,
        Call::History,
        Call::Lead,
        Call::Feedback,
        Call::Close,
        Call::Uploads,
    ];

    pub(super) const fn path(self) -> &'static str {
        match self {
            Call::Config => "/widget/v1/config",
            Call::Turns => "/widget/v1/turns",
            Call::Resume => "/widget/v1/turns/resume",
            Call::Cancel => "/widget/v1/turns/cancel",
            Call::Sync => "/widget/v1/sync",
            Call::History => "/widget/v1/history",
            Call::Lead => "/widget/v1/lead",
            Call::Feedback => "/widget/v1/feedback",
            Call::Close => "/widget/v1/close",
            Call::Uploads => UPLOADS_PATH,
        }
    }

    pub(super) const fn operation(self) -> &'static str {
        match self {
            Call::Config => "widgetConfig",
            Call::Turns => "widgetTurn",
            Call::Resume => "widgetResume",
            Call::Cancel => "widgetCancel",
            Call::Sync => "widgetSync",
            Call::History => "widgetHistory",
            Call::Lead => "widgetLead",
            Call::Feedback => "widgetFeedback",
            Call::Close => "widgetClose",
            Call::Uploads => "widgetUpload",
        }
    }

    pub(super) const fn method(self) -> Method {
        if matches!(self, Call::Config) { Method::GET } else { Method::POST }
    }
}

/// Which pages may read the response.
pub(super) enum CorsPolicy {
    /// Any page.
    Any,
    /// Any page, but the response varies with `Origin`.
    AnyForNow,
    /// Pages of one origin; the response depends on it.
    Origin(HeaderValue),
}

/// The context of a request.
pub(super) struct WidgetRequest {
    pub(super) request_id: String,
    pub(super) now: Timestamp,
    pub(super) call: Option<Call>,
    /// The origin of the page as the browser sends it; empty if it sends none.
    pub(super) origin: String,
    pub(super) has_origin: bool,
    /// The address, or of IPv6 the network that one subscriber has.
    pub(super) network: IpAddr,
    pub(super) address: IpAddr,
    pub(super) agent: Option<AgentId>,
    pub(super) readers: CorsPolicy,
    pub(super) wants_document: bool,
    /// The open stream that the response uses.
    pub(super) open: Option<OpenStream>,
}

/// The result of a call.
pub(super) enum WidgetResponse {
    Json { status: StatusCode, message: &'static str, data: serde_json::Value },
    Config { body: Vec<u8> },
    Empty,
    Events(EventStream),
    Options,
}

impl WidgetResponse {
    pub(super) fn json(message: &'static str, data: &impl Serialize) -> Result<Self, ApiError> {
        let data = serde_json::to_value(data).map_err(|_| ApiError::internal())?;
        Ok(WidgetResponse::Json { status: StatusCode::OK, message, data })
    }

    /// The same under another status.
    pub(super) fn with(self, status: StatusCode) -> Self {
        match self {
            WidgetResponse::Json { message, data, .. } => WidgetResponse::Json { status, message, data },
            other => other,
        }
    }
}

const _: () = assert!(BASE_PATH.len() == 10, "the paths of the calls begin with it");
