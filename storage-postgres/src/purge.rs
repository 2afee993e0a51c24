//! Removing the data of deleted tenants, in portions.

use openapi_core::values::AgentId;
use sqlx::PgConnection;
use storage_common::transfer::TransferKind;
use storage_common::transfer::tables::Table;

use crate::connect::{execute, fetch_one};
use crate::error::Result;
use crate::rows::{Statement, signed};
use crate::shapes::log;
use crate::transfer::read::add_key;
use crate::{contacts, content, documents, files, forms};

/// The kinds of records without a function of their own.
const REMAINING: [TransferKind; 12] = [
    TransferKind::Key,
    TransferKind::ContactSchema,
    TransferKind::IdempotencyRecord,
    TransferKind::CreditAccount,
    TransferKind::CreditEntry,
    TransferKind::Message,
    TransferKind::Conversation,
    TransferKind::Passage,
    TransferKind::Knowledge,
    TransferKind::Record,
    TransferKind::Log,
    TransferKind::Job,
];

/// Empties up to `$2` payloads of a tenant's audit entries.
const EMPTY_PAYLOADS: &str = "UPDATE audit SET details = NULL, salt = NULL WHERE (agent, at, id) IN \
     (SELECT agent, at, id FROM audit WHERE agent = $1 AND details IS NOT NULL LIMIT $2)";

/// Removes up to `at_most` records of a kind, along the primary key. A condition on the tenant besides the keys would let
/// PostgreSQL read all rows of the tenant each time.
pub(crate) fn removal(agent: &AgentId, kind: TransferKind, at_most: u64) -> Result<Statement> {
    let Table { table, key, agent: of, .. } = Table::of(kind);
    let key = format!("{of}, {}", key.join(", "));
    let mut statement = Statement::unprepared("");
    let agent = statement.add(agent.as_str())?;
    let values = add_key(&mut statement, kind, None)?.join(", ");
    let at_most = statement.add(signed(at_most)?)?;
    statement.push(&format!(
        "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} \
         WHERE ({key}) > ({agent}, {values}) AND {of} <= {agent} ORDER BY {key} LIMIT {at_most})"
    ));
    Ok(statement)
}

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
    for kind in REMAINING {
        if removed < at_most {
            removed += execute(db, removal(id, kind, at_most - removed)?).await?;
        }
    }
    if removed < at_most {
        log::remove_erased(db, id).await?;
        let statement =
            Statement::unprepared(EMPTY_PAYLOADS).bind(id.as_str())?.bind(signed(at_most - removed)?)?;
        removed += execute(db, statement).await?;
    }
    Ok(removed)
}
