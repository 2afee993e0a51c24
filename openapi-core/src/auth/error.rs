//! The result of authentication: the admitted request, or why it was rejected.

use http::HeaderValue;

use crate::access::{ApiKey, Caller};
use crate::limits::Decision;
use crate::reply::ApiError;
use crate::storage::StorageError;
use crate::values::{AgentId, Timestamp};

/// An admitted request.
pub(crate) struct Authenticated {
    pub(crate) caller: Caller,
    pub(crate) decision: Decision,
    /// `RateLimit-Policy` of the key.
    pub(crate) rate_policy: Option<HeaderValue>,
    /// When the secret that was used ends, if a newer one exists.
    pub(crate) secret_expires: Option<Timestamp>,
}

/// Why a request was not let in.
pub(crate) enum AuthError {
    /// Counted for the address: authentication failed or the address is outside the allowlist.
    Failed { error: ApiError, key: Option<ApiKey>, agent: Option<AgentId> },
    /// Counted with unknown routes: no credentials at all.
    NoCredentials(ApiError),
    /// Not counted.
    Other(ApiError),
    /// Over the limits of the key.
    Limited { error: ApiError, entry: Box<Authenticated> },
}

impl From<StorageError> for AuthError {
    fn from(error: StorageError) -> Self {
        AuthError::Other(error.into())
    }
}
