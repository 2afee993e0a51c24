//! What an operation knows of its caller and of the call.

use std::sync::Arc;

use openapi_core::access::Actor;
use openapi_core::platform::Platform;
use openapi_core::reply::{ApiError, ErrorCode};
use serde_json::Value;

use crate::auth::session::SignedIn;
use crate::call::Call;
use crate::capability::Reach;
use crate::operator::Operator;
use crate::settings::AccountSettings;
use crate::state::Inner;

/// What an operation works with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) console: &'a Inner,
    /// Who calls.
    pub operator: &'a Operator,
    /// The session of the caller, if the account is the console's own.
    pub(crate) signed_in: Option<&'a SignedIn>,
    /// Who is noted in records and in the audit log.
    pub actor: &'a Actor,
    /// How far the caller has the capability that the operation needs.
    pub reach: Reach,
    pub(crate) call: &'a Call,
}

impl<'a> Context<'a> {
    /// The service.
    #[must_use]
    pub fn platform(&self) -> &'a Arc<Platform> {
        self.console.platform()
    }

    /// The settings of accounts; 404 where a host application has them.
    pub(crate) fn accounts(&self) -> Result<&'a AccountSettings, ApiError> {
        self.console.settings.accounts.as_ref().ok_or_else(|| {
            ApiError::new(
                ErrorCode::RouteNotFound,
                "Accounts are those of the application that shows the console",
            )
        })
    }

    /// The session of the caller.
    pub(crate) fn own(&self) -> Result<&'a SignedIn, ApiError> {
        self.signed_in.ok_or_else(|| ApiError::new(ErrorCode::Unauthenticated, "Sign in to use the console"))
    }

    /// The tag that a change was made on, where the call has one.
    pub(crate) fn refuse_stale(&self, etag: &str, current: impl FnOnce() -> Value) -> Result<(), ApiError> {
        match self.call.if_match.as_deref() {
            Some(sent) if sent != "*" && !sent.split(',').any(|tag| tag.trim() == etag) => {
                let current = openapi_core::json::Json::from(&current());
                let text = "Somebody changed this in the meantime. Look at both and save again";
                let error =
                    ApiError::new(ErrorCode::PreconditionFailed, text).with_detail("current", current);
                let tag = http::HeaderValue::from_str(etag).map_err(|_| ApiError::internal())?;
                Err(error.with_header(http::header::ETAG, tag))
            }
            _ => Ok(()),
        }
    }
}
