//! What an operator may pass on.

use openapi_core::access::{Action, Permissions, Scope};
use openapi_core::reply::ApiError;
use openapi_core::values::AgentId;

use crate::capability::{Capability, Reach};
use crate::context::Context;
use crate::errors::lacks;

/// The capabilities that cover a permission of a key, each with everything it shows.
const fn covering(scope: Scope, action: Action) -> &'static [Capability] {
    match (scope, action) {
        (Scope::Contacts, Action::Read) => &[Capability::ContactsRead, Capability::SensitiveRead],
        (Scope::Contacts, _) => &[Capability::ContactsWrite],
        (Scope::Forms, Action::Read) => &[Capability::SubmissionsRead, Capability::SensitiveRead],
        (Scope::Forms, _) => &[Capability::SubmissionsReview],
        (Scope::DocumentExtraction, Action::Read) => &[Capability::DocumentsRead, Capability::SensitiveRead],
        (Scope::DocumentExtraction, _) => &[Capability::DocumentsRun],
        // Events tell of contacts, submissions and conversations.
        (Scope::Events, _) => {
            &[Capability::WebhooksManage, Capability::ContactsRead, Capability::SensitiveRead]
        }
    }
}

/// Refuses a key with a permission that the caller does not have, as one who creates, changes or rotates it.
pub(super) fn grantable(cx: &Context<'_>, agent: &AgentId, permissions: Permissions) -> Result<(), ApiError> {
    let needed = permissions.iter().flat_map(|permission| covering(permission.scope, permission.action));
    let lacking =
        needed.copied().find(|capability| cx.operator.grants.reach(*capability, agent) != Some(Reach::Full));
    lacking.map_or(Ok(()), |capability| Err(lacks(capability)))
}
