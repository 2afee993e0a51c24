//! The widget's side of the service: settings, wire protocol and state of the chat widget.
//!
//! [`WidgetApi`] answers HTTP requests below `/widget/v1`, next to [`Api`](openapi_core::api::Api) and over the same
//! [`Platform`](openapi_core::platform::Platform). Visitors need no API key, because they have their own tokens.

pub(crate) mod challenge;
pub(crate) mod config;
pub(crate) mod direction;
pub(crate) mod duplicates;
pub(crate) mod identity;
pub(crate) mod live;
mod open_limiter;
pub(crate) mod request;
mod settings;
pub(crate) mod texts;
pub(crate) mod token;

pub use open_limiter::OpenLimits;
pub(crate) use open_limiter::{AGENT_CEILING, OpenLimitExceeded, OpenLimiter, OpenSlot};
pub use openapi_core::limits::Window;
pub use settings::{Texts, TurnDeadlines, WidgetLimits, WidgetSettings};

pub use crate::service::WidgetApi;

/// Bytes as lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The prefix of the paths of the widget's calls.
pub const BASE_PATH: &str = "/widget/v1";
/// The path of uploads, whose bodies are larger than all others and take longer.
pub const UPLOADS_PATH: &str = "/widget/v1/uploads";
