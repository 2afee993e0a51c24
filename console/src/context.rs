//! What an operation knows of its caller and of the call.

use std::sync::Arc;

use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::platform::Platform;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::AgentId;
use serde_json::Value;

use crate::auth::records::{ServiceTokenBody, Stored};
use crate::auth::session::SignedIn;
use crate::call::Call;
use crate::capability::Reach;
use crate::errors::stale;
use crate::operator::Operator;
use crate::settings::AccountSettings;
use crate::state::Inner;

/// What proves who calls, where the console itself knows.
#[derive(Clone, Copy)]
pub(crate) enum Proof<'a> {
    /// A session of an operator.
    Session(&'a SignedIn),
    /// A service token.
    Token(&'a Stored<ServiceTokenBody>),
}

/// What an operation works with.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) console: &'a Inner,
    /// Who calls.
    pub operator: &'a Operator,
    /// What proves who calls; none if a host application says so.
    pub(crate) proof: Option<Proof<'a>>,
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

    /// The operator as a caller of what the Open API does for an agent.
    pub(crate) fn caller(&self, agent: &AgentId) -> Caller {
        Caller {
            agent_id: agent.clone(),
            actor: self.actor.clone(),
            permissions: Permissions::all(),
            address: self.call.address,
            request_id: self.call.request_id.clone(),
        }
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

    /// The session of the caller, if there is one.
    pub(crate) const fn signed_in(&self) -> Option<&'a SignedIn> {
        match self.proof {
            Some(Proof::Session(signed_in)) => Some(signed_in),
            _ => None,
        }
    }

    /// The session of the caller.
    pub(crate) fn own(&self) -> Result<&'a SignedIn, ApiError> {
        self.signed_in()
            .ok_or_else(|| ApiError::new(ErrorCode::Unauthenticated, "Sign in to use the console"))
    }

    /// Whether a change may be made on the version with this tag: the caller has seen it, or does not say which.
    pub(crate) fn expects(&self, etag: &str) -> bool {
        let sent = self.call.if_match.as_deref();
        sent.is_none_or(|sent| sent == "*" || sent.split(',').any(|tag| tag.trim() == etag))
    }

    /// Refuses a change that was made on another version than the one with this tag.
    pub(crate) fn refuse_stale(&self, etag: &str, current: impl FnOnce() -> Value) -> Result<(), ApiError> {
        if self.expects(etag) { Ok(()) } else { Err(stale(etag, &current())) }
    }
}
