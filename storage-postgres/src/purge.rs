//! Removing the data of deleted tenants, in portions.

use openapi_core::values::AgentId;
use sqlx::PgConnection;

use crate::connect::{execute, fetch_one};
use crate::error::Result;
use crate::rows::{Statement, signed};
use crate::{contacts, content, documents, files, forms};

/// Removes up to `$2` rows of a tenant from each table without a function of its own.
const REMAINING: [&str; 12] = [
    "DELETE FROM api_key WHERE agent = $1 AND id IN (SELECT id FROM api_key WHERE agent = $1 LIMIT $2)",
    "DELETE FROM contact_schema WHERE agent = $1 AND version IN \
     (SELECT version FROM contact_schema WHERE agent = $1 LIMIT $2)",
    "DELETE FROM replay WHERE agent = $1 AND key IN (SELECT key FROM replay WHERE agent = $1 LIMIT $2)",
    "DELETE FROM rate_window WHERE agent = $1 AND key IN \
     (SELECT key FROM rate_window WHERE agent = $1 LIMIT $2)",
    "DELETE FROM credit_account WHERE agent IN (SELECT agent FROM credit_account WHERE agent = $1 LIMIT $2)",
    "DELETE FROM credit_entry WHERE agent = $1 AND (at, id) IN \
     (SELECT at, id FROM credit_entry WHERE agent = $1 LIMIT $2)",
    "DELETE FROM message WHERE agent = $1 AND (conversation, seq) IN \
     (SELECT conversation, seq FROM message WHERE agent = $1 LIMIT $2)",
    "DELETE FROM conversation WHERE agent = $1 AND id IN \
     (SELECT id FROM conversation WHERE agent = $1 LIMIT $2)",
    "DELETE FROM passage WHERE agent = $1 AND (document, position) IN \
     (SELECT document, position FROM passage WHERE agent = $1 LIMIT $2)",
    "DELETE FROM knowledge WHERE agent = $1 AND id IN (SELECT id FROM knowledge WHERE agent = $1 LIMIT $2)",
    "DELETE FROM agent_record WHERE agent = $1 AND kind IN \
     (SELECT kind FROM agent_record WHERE agent = $1 LIMIT $2)",
    "UPDATE audit SET details = NULL WHERE agent = $1 AND (at, id) IN \
     (SELECT at, id FROM audit WHERE agent = $1 AND details IS NOT NULL LIMIT $2)",
];

/// Removes up to `at_most` rows of a deleted tenant, table by table, and returns how many.
pub(crate) async fn agent(db: &mut PgConnection, id: &AgentId, at_most: u32) -> Result<u64> {
    let deleted = Statement::new("SELECT 1 FROM agent WHERE id = $1 AND status = 2 FOR NO KEY UPDATE")
        .bind(id.as_str())?;
    if fetch_one(db, deleted).await?.is_none() {
        return Ok(0);
    }
    let at_most = u64::from(at_most);
    let mut removed = contacts::purge(db, id, at_most).await?;
    if removed < at_most {
        removed += files::purge(db, id, at_most - removed).await?;
    }
    if removed < at_most {
        removed += documents::purge(db, id, at_most - removed).await?;
    }
    if removed < at_most {
        content::remove_counter(db, id).await?;
    }
    if removed < at_most {
        removed += forms::purge(db, id, at_most - removed).await?;
    }
    for sql in REMAINING {
        if removed < at_most {
            let statement = Statement::new(sql).bind(id.as_str())?.bind(signed(at_most - removed)?)?;
            removed += execute(db, statement).await?;
        }
    }
    Ok(removed)
}
