//! Computing the search and sort keys of everything again, after a release that computes others
//! ([`ContactKeys::VERSION`]).
//!
//! It runs when the database is opened, in transactions of one chunk of contacts, so that it needs little memory, holds no
//! lock for long, and continues where it was interrupted. Servers that start at once take turns, and none of them answers
//! before the work is done.

use openapi_core::contacts::ContactKeys;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, ContactId, fold};
use sqlx::PgConnection;
use storage_common::KeyProgress;

use crate::connect::{Db, execute, fetch, fetch_one, without_timeout};
use crate::contacts::{after, keyed, write_keys};
use crate::error::{Error, Result, corrupt};
use crate::rows::{RowReader, Statement};
use crate::tenant;

/// What one transaction did.
enum Step {
    /// All keys are of this release's version.
    Finished,
    /// The keys of so many contacts were computed.
    Contacts(u64),
}

/// Computes all keys again unless they are of this release's version.
pub(crate) async fn bring_up_to_date(db: &Db) -> Result<(), StorageError> {
    let chunk = db.config().thresholds.reindex_chunk;
    let mut progress = KeyProgress::default();
    while let Step::Contacts(done) = db.write_long(chunk, |db, chunk| Box::pin(step(db, *chunk))).await? {
        progress.add(done);
    }
    progress.finish();
    Ok(())
}

async fn step(db: &mut PgConnection, chunk: u32) -> Result<Step> {
    without_timeout(db).await?;
    execute(db, Statement::new("SET LOCAL lock_timeout = 0")).await?;
    let state = Statement::new("SELECT version, agent, contact FROM key_version FOR UPDATE");
    let row = fetch_one(db, state).await?.ok_or_else(|| corrupt("the version of the keys is not there"))?;
    let mut state = RowReader::new(&row);
    let (version, agent, contact) = (state.integer()?, state.str()?, state.optional_bytes()?);
    if version >= ContactKeys::VERSION {
        return Ok(Step::Finished);
    }
    let last = contact.map(ContactId::from_bytes);
    let Some((agent, schema)) = tenant_at(db, agent, last.is_some()).await? else {
        let statement = Statement::new("UPDATE key_version SET version = $1, agent = '', contact = NULL")
            .bind(ContactKeys::VERSION)?;
        execute(db, statement).await?;
        return Ok(Step::Contacts(0));
    };
    match tenant::lock(db, &agent).await {
        Ok(_) => {}
        // It was deleted in the meantime.
        Err(Error::Known(StorageErrorKind::Missing)) => return advance(db, &agent, None, 0).await,
        Err(error) => return Err(error),
    }
    if last.is_none() {
        templates(db, &agent).await?;
    }
    let contacts = after(db, &agent, last, chunk).await?;
    let (count, end) = (contacts.len(), contacts.last().map(|contact| contact.id));
    write_keys(db, &agent, &keyed(contacts, &schema)).await?;
    advance(db, &agent, end.filter(|_| count == chunk as usize), count as u64).await
}

/// The tenant whose contacts come next, with its schema: the one at this position or the one after it.
async fn tenant_at(
    db: &mut PgConnection,
    agent: &str,
    is_unfinished: bool,
) -> Result<Option<(AgentId, ContactSchema)>> {
    let statement = Statement::new(
        "SELECT a.id, s.body FROM agent a JOIN contact_schema s ON s.agent = a.id AND s.version = a.schema_version \
         WHERE a.status <> 2 AND (a.id > $1 OR ($2 AND a.id = $1)) ORDER BY a.id LIMIT 1",
    )
    .bind(agent)?
    .bind(is_unfinished)?;
    let Some(row) = fetch_one(db, statement).await? else { return Ok(None) };
    let mut columns = RowReader::new(&row);
    Ok(Some((columns.str()?.parse().map_err(corrupt)?, columns.json()?)))
}

async fn advance(
    db: &mut PgConnection,
    agent: &AgentId,
    contact: Option<ContactId>,
    count: u64,
) -> Result<Step> {
    let statement = Statement::new("UPDATE key_version SET agent = $1, contact = $2")
        .bind(agent.as_str())?
        .bind(contact.as_ref().map(|id| id.as_bytes().as_slice()))?;
    execute(db, statement).await?;
    Ok(Step::Contacts(count))
}

/// Computes the sort keys of a tenant's templates again.
async fn templates(db: &mut PgConnection, agent: &AgentId) -> Result<()> {
    let statement = Statement::new(
        "SELECT t.id, v.name FROM form_template t JOIN form_template_version v ON v.agent = t.agent AND \
         v.template = t.id AND v.version = t.version WHERE t.agent = $1",
    )
    .bind(agent.as_str())?;
    for row in &fetch(db, statement).await? {
        let mut columns = RowReader::new(row);
        let (id, name) = (columns.slice()?, columns.str()?);
        let sql = "UPDATE form_template SET name_key = $3 WHERE agent = $1 AND id = $2 AND name_key <> $3";
        execute(db, Statement::new(sql).bind(agent.as_str())?.bind(id)?.bind(fold(name))?).await?;
    }
    Ok(())
}
