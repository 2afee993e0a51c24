//! The scope of records and jobs: a tenant, or the installation. The installation has the empty tenant, whose row in `agent`
//! is that of the audit entries without a tenant.

use std::collections::BTreeMap;

use openapi_core::audit::ChainHead;
use openapi_core::storage::Effects;
use openapi_core::values::{AgentId, StoredText};
use sqlx::PgConnection;

use crate::error::Result;
use crate::rows::RowReader;
use crate::tenant::{self, Locked};
use crate::{audit, effects};

/// The column `agent` of a scope.
pub(crate) fn column(scope: Option<&AgentId>) -> &str {
    scope.map_or("", AgentId::as_str)
}

/// Reads the column `agent`.
pub(crate) fn read(r: &mut RowReader<'_>) -> Result<Option<AgentId>> {
    Ok(Some(r.str()?).filter(|scope| !scope.is_empty()).map(StoredText::from_stored))
}

/// Whether a scope is the installation or a tenant that is not deleted. It is a subquery and no join, as in
/// `contacts::loader`.
macro_rules! is_living {
    ($agent:literal) => {
        concat!("(SELECT a.status <> 2 OR a.id = '' FROM agent a WHERE a.id = ", $agent, ")")
    };
}

pub(crate) use is_living;

/// Locks a scope until the transaction ends.
///
/// # Errors
/// `Missing` for a tenant that is absent or deleted.
pub(crate) async fn lock(db: &mut PgConnection, scope: Option<&AgentId>) -> Result<Locked> {
    match scope {
        Some(agent) => tenant::lock(db, agent).await,
        None => tenant::lock_any(db, None).await,
    }
}

/// Stores the effects of a write; of one of the installation, those are entries of the audit log.
///
/// `head` is the end of the scope's chain, which its lock has read.
pub(crate) async fn apply(
    db: &mut PgConnection,
    scope: Option<&AgentId>,
    effects: &Effects,
    head: ChainHead,
) -> Result<()> {
    match scope {
        Some(agent) => effects::apply(db, agent, effects, head).await,
        None => audit::append_all(db, &effects.audit, &[], BTreeMap::from([("", head)])).await,
    }
}
