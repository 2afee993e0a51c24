//! Replies: one envelope for all responses, including failures (contract 2.5, 5.2, 6).

mod body;
mod code;
mod envelope;
mod error;

pub use body::{ApiBody, ApiBodyError};
pub use code::ErrorCode;
pub use envelope::{Creation, Link, PageTarget, Pagination, Reply, StoredReply};
pub(crate) use envelope::{MAX_REACH, content_type, success_body, success_body_around};
pub use error::ApiError;
pub(crate) use error::BatchError;

/// The version of the contract, answered by the health check and the description.
pub const CONTRACT_VERSION: &str = "1.0.0";

/// The fixed prefix of every Open API path (contract 10).
pub const BASE_PATH: &str = "/v1/open";
