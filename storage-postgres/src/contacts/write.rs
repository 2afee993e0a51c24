//! Creating and changing contacts, many at once: every query and every change is one statement for all of them.

use std::collections::{BTreeSet, HashSet};

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::values::AgentId;
use sqlx::PgConnection;

use super::cache;
use super::counters::Derived;
use super::decide::{Decision, Known, LockWait, Pending, decide};
use super::duplicates::{Holders, Wanted};
use super::row::{ContactRows, contact_rows};
use super::stored::{STORED, Stored};
use crate::connect::{execute, fetch};
use crate::effects;
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement};
use crate::tenant::Locked;

/// Decides on the writes of a batch and stores those that are not refused, deferred or locked. Runs in its own transaction.
pub(crate) async fn store_batch(
    db: &mut PgConnection,
    batch: Vec<&Pending>,
    wait: LockWait,
) -> Result<Vec<Decision>> {
    let known = known(db, &batch, wait).await?;
    let decisions = decide(&batch, &known);
    let winners: Vec<(usize, &Pending)> = batch
        .into_iter()
        .enumerate()
        .filter(|(index, _)| decisions.get(*index) == Some(&Decision::Stored))
        .collect();
    if !winners.is_empty() {
        write(db, &winners, &known).await?;
    }
    Ok(decisions)
}

fn index(columns: &mut RowReader<'_>) -> Result<usize> {
    usize::try_from(columns.integer()?).map_err(corrupt)
}

/// Locks the tenants of a batch, in the order of their ids, and reads the data that the decisions depend on.
async fn known(db: &mut PgConnection, batch: &[&Pending], wait: LockWait) -> Result<Known> {
    let agents: BTreeSet<&str> = batch.iter().map(|pending| pending.agent.as_str()).collect();
    let mut known = Known::default();
    lock(db, agents, wait, &mut known).await?;

    let statement = Statement::new(format!(
        "SELECT u.at, {STORED} FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS u (at, agent, id) \
         JOIN contact c ON c.agent = u.agent AND c.id = u.id"
    ))
    .bind((0..batch.len()).map(|index| index as i64).collect::<Vec<_>>())?
    .bind(batch.iter().map(|pending| pending.agent.as_str()).collect::<Vec<_>>())?
    .bind(batch.iter().map(|pending| pending.write.contact.id.as_bytes().as_slice()).collect::<Vec<_>>())?;
    for row in fetch(db, statement).await? {
        let mut columns = RowReader::new(&row);
        known.stored.insert(index(&mut columns)?, Stored::read(&mut columns)?);
    }

    known.replayed = replayed(db, batch).await?;

    let mut wanted = Wanted::default();
    for Pending { agent, write, .. } in batch {
        wanted.add(agent, write.contact.external_reference_id.as_ref(), &write.keys.unique);
    }
    if let Some(statement) = wanted.statement()? {
        known.holders = Holders::read(&fetch(db, statement).await?)?;
    }
    Ok(known)
}

/// Locks the existing tenants until the transaction ends, and reads the versions of their contact schemas.
async fn lock(
    db: &mut PgConnection,
    agents: BTreeSet<&str>,
    wait: LockWait,
    known: &mut Known,
) -> Result<()> {
    let sql = match wait {
        LockWait::Wait => {
            "SELECT id, schema_version, audit_sequence, audit_mac FROM agent WHERE id = ANY($1) AND status <> 2 \
             ORDER BY id FOR NO KEY UPDATE"
        }
        LockWait::Skip => {
            "SELECT id, schema_version, audit_sequence, audit_mac FROM agent WHERE id = ANY($1) AND status <> 2 \
             ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"
        }
    };
    let ids: Vec<&str> = agents.iter().copied().collect();
    for row in fetch(db, Statement::new(sql).bind(ids)?).await? {
        let mut columns = RowReader::new(&row);
        known.tenants.insert(columns.text()?, Locked::read(&mut columns)?);
    }
    if wait == LockWait::Wait || known.tenants.len() == agents.len() {
        return Ok(());
    }
    // A skipped tenant is either absent or locked by another transaction.
    let skipped: Vec<&str> = agents
        .into_iter()
        .filter(|agent| !known.tenants.keys().any(|locked| locked.as_str() == *agent))
        .collect();
    let statement =
        Statement::new("SELECT id FROM agent WHERE id = ANY($1) AND status <> 2").bind(skipped)?;
    for row in fetch(db, statement).await? {
        known.locked.insert(RowReader::new(&row).text()?);
    }
    Ok(())
}

/// The indexes whose idempotency key has a response.
async fn replayed(db: &mut PgConnection, batch: &[&Pending]) -> Result<HashSet<usize>> {
    let (mut indexes, mut agents, mut keys, mut times) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, Pending { agent, write, .. }) in batch.iter().enumerate() {
        if let Some(replay) = &write.effects.replay {
            indexes.push(index as i64);
            agents.push(agent.as_str());
            keys.push(replay.key.0.as_slice());
            times.push(write.at.millis());
        }
    }
    if indexes.is_empty() {
        return Ok(HashSet::new());
    }
    let statement = Statement::new(
        "SELECT u.n FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[]) AS u (n, agent, key, at) \
         JOIN replay r ON r.agent = u.agent AND r.key = u.key AND r.expires_at > u.at",
    )
    .bind(indexes)?
    .bind(agents)?
    .bind(keys)?
    .bind(times)?;
    fetch(db, statement).await?.iter().map(|row| index(&mut RowReader::new(row))).collect()
}

async fn write(db: &mut PgConnection, winners: &[(usize, &Pending)], known: &Known) -> Result<()> {
    let (mut new, mut changed) = (ContactRows::default(), ContactRows::default());
    let mut derived = Derived::default();
    let mut changed_agents = BTreeSet::new();
    for (index, Pending { agent, write, expected_version }) in winners {
        let rows = if expected_version.is_none() { &mut new } else { &mut changed };
        rows.push(agent, &write.contact, &write.keys)?;
        let before = known.stored.get(index).filter(|_| expected_version.is_some());
        if expected_version.is_some() {
            derived.free(agent, write.contact.id);
            changed_agents.insert(agent.as_str());
        }
        derived.set(agent, &write.contact, &write.keys, before);
    }
    if !new.is_empty() {
        execute(db, new.bind(Statement::new(INSERT))?).await?;
    }
    if !changed.is_empty() {
        execute(db, changed.bind(Statement::new(UPDATE))?).await?;
        cache::note(db, &Vec::from_iter(changed_agents)).await?;
    }
    derived.write(db).await?;
    let all: Vec<_> = winners.iter().map(|(_, pending)| (&pending.agent, &pending.write.effects)).collect();
    let heads = known.tenants.iter().map(|(agent, locked)| (agent.as_str(), locked.head)).collect();
    effects::apply_all(db, &all, heads).await
}

/// Stores new contacts of a locked tenant, with their keys.
pub(crate) async fn insert(
    db: &mut PgConnection,
    agent: &AgentId,
    contacts: &[(&Contact, ContactKeys)],
) -> Result<()> {
    let (mut rows, mut derived) = (ContactRows::default(), Derived::default());
    for (contact, keys) in contacts {
        rows.push(agent, contact, keys)?;
        derived.set(agent, contact, keys, None);
    }
    execute(db, rows.bind(Statement::new(INSERT))?).await?;
    derived.write(db).await
}

const INSERT: &str = concat!(
    "WITH u AS (SELECT * FROM ",
    contact_rows!(),
    "), searched AS (INSERT INTO contact_search (agent, id, archived, status, search, digits) ",
    "SELECT agent, id, archived, status, search, digits FROM u) ",
    "INSERT INTO contact (agent, id, first_name_key, last_name_key, primary_email_key, email, archived, status, ",
    "created_at, updated_at, version, archived_at, last_contacted_at, external_reference_id, salutation, first_name, ",
    "middle_name, last_name, dob, gender, primary_email, primary_phone, primary_phone_code, full_address, tags, ",
    "source, custom_fields) SELECT agent, id, first_name_key, last_name_key, primary_email_key, email, archived, ",
    "status, created_at, updated_at, version, archived_at, last_contacted_at, external_reference_id, salutation, ",
    "first_name, middle_name, last_name, dob, gender, primary_email, primary_phone, primary_phone_code, ",
    "full_address, tags, source, custom_fields FROM u"
);

/// The search text is written only where it differs, because its index is expensive to update.
const UPDATE: &str = concat!(
    "WITH u AS (SELECT * FROM ",
    contact_rows!(),
    "), searched AS (UPDATE contact_search s SET archived = u.archived, status = u.status, search = u.search, ",
    "digits = u.digits FROM u WHERE s.agent = u.agent AND s.id = u.id AND (s.archived <> u.archived OR ",
    "s.status <> u.status OR s.search <> u.search OR s.digits <> u.digits)) ",
    "UPDATE contact c SET first_name_key = u.first_name_key, last_name_key = u.last_name_key, ",
    "primary_email_key = u.primary_email_key, email = u.email, archived = u.archived, status = u.status, ",
    "created_at = u.created_at, updated_at = u.updated_at, version = u.version, archived_at = u.archived_at, ",
    "last_contacted_at = u.last_contacted_at, external_reference_id = u.external_reference_id, ",
    "salutation = u.salutation, first_name = u.first_name, middle_name = u.middle_name, last_name = u.last_name, ",
    "dob = u.dob, gender = u.gender, primary_email = u.primary_email, primary_phone = u.primary_phone, ",
    "primary_phone_code = u.primary_phone_code, full_address = u.full_address, tags = u.tags, source = u.source, ",
    "custom_fields = u.custom_fields FROM u WHERE c.agent = u.agent AND c.id = u.id"
);
