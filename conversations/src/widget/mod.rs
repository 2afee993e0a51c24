//! The widget's side of the service: what the chat widget on somebody's page talks to.
//!
//! [`WidgetApi`] takes HTTP requests below `/widget/v1` and answers HTTP responses; it stands next to
//! [`Api`](openapi_core::api::Api) over the same [`Platform`](openapi_core::platform::Platform), and needs no API key:
//! visitors have tokens of their own.

pub(crate) mod challenge;
pub(crate) mod config;
pub(crate) mod duplicates;
pub(crate) mod identity;
pub(crate) mod live;
pub(crate) mod request;
mod settings;
mod stream_limiter;
pub(crate) mod texts;
pub(crate) mod token;

pub use openapi_core::limits::Window;
pub use settings::{Texts, TurnDeadlines, WidgetLimits, WidgetSettings};
pub use stream_limiter::StreamLimits;
pub(crate) use stream_limiter::{OpenStream, StreamLimitExceeded, StreamLimiter};

pub use crate::service::WidgetApi;

/// Bytes as lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The path below which the widget's calls lie.
pub const BASE_PATH: &str = "/widget/v1";
/// The path that visitors send files to: their bodies are larger than all others, and take longer.
pub const UPLOADS_PATH: &str = "/widget/v1/uploads";
