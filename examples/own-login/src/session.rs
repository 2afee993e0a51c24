//! A session as a caller of the Open API.

use http::Request;
use openapi_core::access::{Caller, Permissions};
use openapi_core::values::AgentId;

/// The host's session data.
#[derive(Clone, Debug)]
pub struct Session {
    /// The user name in the audit log.
    pub user: String,
    /// The user's tenant.
    pub tenant: AgentId,
    /// Whether the user may change data.
    pub may_write: bool,
}

/// Lets the session act on its tenant without a key.
pub fn admit<B>(request: &mut Request<B>, session: &Session) -> Result<(), Box<dyn std::error::Error>> {
    let permissions: Permissions =
        if session.may_write { "contacts:all" } else { "contacts:read" }.parse()?;
    let caller = Caller::user(session.tenant.clone(), session.user.as_str(), permissions);
    request.extensions_mut().insert(caller);
    Ok(())
}
