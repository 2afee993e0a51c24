//! Removing contacts. Everything here runs in a transaction that has locked the tenant.

use openapi_core::storage::{Effects, StorageErrorKind, Subject};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use sqlx::PgConnection;

use super::cache;
use super::counters::Derived;
use super::stored::{STORED, Stored};
use crate::chat::conversations;
use crate::connect::{execute, fetch};
use crate::error::Result;
use crate::rows::{RowReader, Statement, signed};
use crate::shapes::log;
use crate::{audit, effects, files, forms, replays, shapes, tenant};

/// As [`openapi_core::storage::ContactStore::erase_contact`].
pub(super) async fn erase(
    db: &mut PgConnection,
    agent: &AgentId,
    id: ContactId,
    at: Timestamp,
    effects: &Effects,
) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let statement =
        Statement::new(format!("SELECT {STORED} FROM contact c WHERE c.agent = $1 AND c.id = $2"))
            .bind(agent.as_str())?
            .bind(id.as_bytes().as_slice())?;
    let found = stored(db, statement).await?;
    if found.is_empty() {
        return Err(StorageErrorKind::Missing.into());
    }
    remove(db, agent, &found).await?;
    cache::note(db, &[agent.as_str()]).await?;
    replays::remove_of(db, agent, id).await?;
    files::erase_of(db, agent, id, at).await?;
    forms::erase_of(db, agent, id).await?;
    conversations::erase_of(db, agent, id, at).await?;
    audit::empty_payloads(db, agent, id).await?;
    shapes::erase_of(db, agent, &[Subject::Contact(id)], at).await?;
    log::erase_of(db, agent, id).await?;
    effects::apply(db, agent, effects, tenant.head).await
}

async fn stored(db: &mut PgConnection, statement: Statement) -> Result<Vec<Stored>> {
    fetch(db, statement).await?.iter().map(|row| Stored::read(&mut RowReader::new(row))).collect()
}

/// Removes contacts by key. The statement joins the tenant with each id: a condition on the tenant alone would let PostgreSQL
/// scan all rows of a tenant that it takes for small.
pub(crate) const REMOVE: [&str; 2] = [
    "DELETE FROM contact_search s USING unnest($1::text[], $2::bytea[]) AS u (agent, id) \
     WHERE s.agent = u.agent AND s.id = u.id",
    "DELETE FROM contact c USING unnest($1::text[], $2::bytea[]) AS u (agent, id) \
     WHERE c.agent = u.agent AND c.id = u.id",
];

/// Removes contacts from the tenant's lists, counters and search index.
async fn remove(db: &mut PgConnection, agent: &AgentId, found: &[Stored]) -> Result<()> {
    let mut derived = Derived::default();
    for stored in found {
        derived.change(agent, stored.id, Some((stored.slot, &stored.tags)), None);
        derived.free(agent, stored.id);
    }
    derived.write(db).await?;
    let ids: Vec<&[u8]> = found.iter().map(|stored| stored.id.as_bytes().as_slice()).collect();
    for sql in REMOVE {
        let agents = vec![agent.as_str(); ids.len()];
        execute(db, Statement::new(sql).bind(agents)?.bind(ids.clone())?).await?;
    }
    Ok(())
}

/// Removes up to `at_most` contacts of a tenant and returns how many.
pub(crate) async fn purge(db: &mut PgConnection, agent: &AgentId, at_most: u64) -> Result<u64> {
    let statement = Statement::new(format!(
        "SELECT {STORED} FROM contact c WHERE (c.agent, c.id) > ($1, '') AND c.agent <= $1 \
            ORDER BY c.agent, c.id LIMIT $2"
    ))
    .bind(agent.as_str())?
    .bind(signed(at_most)?)?;
    let found = stored(db, statement).await?;
    if !found.is_empty() {
        remove(db, agent, &found).await?;
        // A transfer may restore the deleted tenant without its contacts, so the cache must not return them.
        cache::note(db, &[agent.as_str()]).await?;
    }
    if (found.len() as u64) < at_most {
        let statement = Statement::new("DELETE FROM contact_count WHERE agent = $1").bind(agent.as_str())?;
        execute(db, statement).await?;
    }
    Ok(found.len() as u64)
}
