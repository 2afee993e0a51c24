//! Why a request has no usable response.

use std::error::Error as _;
use std::time::Duration;

/// Why a request has no usable response. No variant contains text of the request or the response, or the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The same request fails again; the operator has to change something.
    #[error("{0}")]
    Permanent(String),
    /// The same request may succeed later.
    #[error("{reason}")]
    Transient {
        /// What failed, for the operator.
        reason: String,
        /// The wait that the endpoint asked for.
        retry_after: Option<Duration>,
        /// Whether the endpoint may charge for the request: it has taken it, and did not reject it.
        may_be_charged: bool,
    },
    /// The endpoint sent nothing for longer than [`idle_timeout`](crate::EndpointConfig::idle_timeout).
    #[error("the endpoint was silent for too long")]
    Timeout,
    /// The request has more text than the model accepts.
    #[error("the request has more text than the model accepts")]
    PromptTooLong,
    /// The endpoint responded, and its response is of no use.
    #[error("the response cannot be used: {0}")]
    Unusable(&'static str),
}

impl Error {
    pub(crate) fn transient(reason: impl Into<String>) -> Self {
        Error::Transient { reason: reason.into(), retry_after: None, may_be_charged: true }
    }

    /// Whether the endpoint may charge for the request, although there is no usable response.
    #[must_use]
    pub const fn may_be_charged(&self) -> bool {
        match self {
            Error::Transient { may_be_charged, .. } => *may_be_charged,
            Error::Timeout | Error::Unusable(_) => true,
            Error::Permanent(_) | Error::PromptTooLong => false,
        }
    }

    /// A failed connection, with its innermost cause: the outer ones repeat the URL, which may hold a secret.
    pub(crate) fn connection(error: reqwest::Error, what: &str) -> Self {
        let (is_permanent, is_unsent) = (error.is_builder(), error.is_connect());
        let error = error.without_url();
        let mut cause = error.source();
        while let Some(inner) = cause.and_then(|cause| cause.source()) {
            cause = Some(inner);
        }
        let reason = match cause {
            Some(cause) => format!("{what}: {cause}"),
            None => format!("{what}: {error}"),
        };
        if is_permanent {
            return Error::Permanent(reason);
        }
        Error::Transient { reason, retry_after: None, may_be_charged: !is_unsent }
    }
}
