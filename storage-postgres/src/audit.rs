//! The audit log.

use std::collections::BTreeMap;

use async_trait::async_trait;
use openapi_core::audit::{AuditEntry, ChainHead, ChainedEntry, SealedEntry};
use openapi_core::storage::{AuditQuery, AuditStore, ChainPosition, ChainQuery, LogEntry, StorageError};
use openapi_core::values::{AgentId, ContactId, StoredText};
use sqlx::PgConnection;
use storage_common::records::{self, AuditActor, audit_subject};
use storage_common::{audit_columns, in_transaction};

use crate::connect::{execute, fetch};
use crate::error::Result;
use crate::rows::{RowReader, Statement, json_text, object_text, signed};
use crate::shapes::log::{self, append_log, last_seq};
use crate::store::PostgresStorage;
use crate::tenant::{self, Locked};

/// Adds an entry.
async fn append(db: &mut PgConnection, entry: &SealedEntry) -> Result<()> {
    let locked = tenant::lock_any(db, entry.agent_id.as_ref()).await?;
    append_to(db, entry, locked.head).await
}

async fn append_to(db: &mut PgConnection, entry: &SealedEntry, head: ChainHead) -> Result<()> {
    append_all(db, [entry], &[], BTreeMap::from([(chain_of(entry), head)])).await
}

fn chain_of(entry: &AuditEntry) -> &str {
    entry.agent_id.as_ref().map_or("", AgentId::as_str)
}

/// Adds entries to the chains of locked tenants, whose ends are `heads`, and events ([`log::numbered`]) to their logs. One
/// statement stores all of it.
pub(crate) async fn append_all<'e>(
    db: &mut PgConnection,
    entries: impl IntoIterator<Item = &'e SealedEntry>,
    events: &[(&str, LogEntry)],
    mut heads: BTreeMap<&'e str, ChainHead>,
) -> Result<()> {
    let chained: Vec<ChainedEntry> =
        entries.into_iter().map(|entry| heads.entry(chain_of(entry)).or_default().append(entry)).collect();
    insert(db, &chained, events, &heads).await.map(drop)
}

/// Stores entries of a tenant, or without one, with the positions that they have in the chain of another store; returns how
/// many were not stored yet.
pub(crate) async fn put_all(
    db: &mut PgConnection,
    agent: Option<&AgentId>,
    entries: &[&ChainedEntry],
) -> Result<u64> {
    let mut head = tenant::lock_any(db, agent).await?.head;
    entries.iter().for_each(|entry| head.follow(entry));
    let chain = agent.map_or("", AgentId::as_str);
    insert(db, entries.iter().copied(), &[], &BTreeMap::from([(chain, head)])).await
}

async fn insert<'e>(
    db: &mut PgConnection,
    entries: impl IntoIterator<Item = &'e ChainedEntry>,
    events: &[(&str, LogEntry)],
    heads: &BTreeMap<&str, ChainHead>,
) -> Result<u64> {
    let mut rows = Rows::default();
    for entry in entries {
        rows.push(entry)?;
    }
    if rows.at.is_empty() && events.is_empty() {
        return Ok(0);
    }
    let sequences = heads.values().map(|head| signed(head.sequence)).collect::<Result<Vec<_>>>()?;
    let statement = Statement::new(concat!(
        "WITH head AS (UPDATE agent a SET audit_sequence = h.sequence, audit_mac = h.mac \
         FROM unnest($24::text[], $25::bigint[], $26::bytea[]) AS h (id, sequence, mac) WHERE a.id = h.id \
         RETURNING a.id, ",
        last_seq!("a.id"),
        " AS seq), appended AS (",
        append_log!(),
        ") INSERT INTO audit (agent, at, id, contact, subject, resource, action, actor, address, request_id, details, \
         sequence, server_key, salt, digest, mac) \
         SELECT * FROM unnest($8::text[], $9::bigint[], $10::bytea[], $11::bytea[], $12::bytea[], $13::text[], \
         $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::bigint[], $20::text[], $21::bytea[], \
         $22::bytea[], $23::bytea[])"
    ));
    let statement = log::bind(statement, events)?
        .bind(rows.agent)?
        .bind(rows.at)?
        .bind(rows.id)?
        .bind(rows.contact)?
        .bind(rows.subject)?
        .bind(rows.resource)?
        .bind(rows.action)?
        .bind(rows.actor)?
        .bind(rows.address)?
        .bind(rows.request_id)?
        .bind(rows.details)?
        .bind(rows.sequence)?
        .bind(rows.server_key)?
        .bind(rows.salt)?
        .bind(rows.digest)?
        .bind(rows.mac)?
        .bind(heads.keys().copied().collect::<Vec<&str>>())?
        .bind(sequences)?
        .bind(heads.values().map(|head| head.mac.as_slice()).collect::<Vec<_>>())?;
    execute(db, statement).await
}

/// Begins each chain after the entries that a former release has stored.
pub(crate) async fn begin_chains(db: &mut PgConnection) -> Result<()> {
    let mut chain: Option<(String, ChainHead)> = None;
    let mut after = (String::new(), i64::MIN, Vec::new());
    loop {
        let statement = Statement::new(concat!(
            "SELECT ",
            audit_columns!(),
            " FROM audit WHERE (agent, at, id) > ($1, $2, $3) ORDER BY agent, at, id LIMIT 1000"
        ))
        .bind(after.0.as_str())?
        .bind(after.1)?
        .bind(after.2.as_slice())?;
        let rows = fetch(db, statement).await?;
        for row in &rows {
            let earlier = records::audit_entry(&mut RowReader::new(row))?;
            let agent = chain_of(&earlier).to_owned();
            after = (agent.clone(), earlier.at.millis(), earlier.id.as_bytes().to_vec());
            if chain.as_ref().is_some_and(|(known, _)| *known != agent) {
                set_head(db, chain.take()).await?;
            }
            chain.get_or_insert_with(|| (agent, ChainHead::default())).1.absorb(&earlier);
        }
        if rows.is_empty() {
            return set_head(db, chain).await;
        }
    }
}

async fn set_head(db: &mut PgConnection, chain: Option<(String, ChainHead)>) -> Result<()> {
    let Some((agent, head)) = chain else { return Ok(()) };
    let statement = Statement::new("UPDATE agent SET audit_sequence = $2, audit_mac = $3 WHERE id = $1")
        .bind(agent)?
        .bind(signed(head.sequence)?)?
        .bind(head.mac.as_slice())?;
    execute(db, statement).await.map(drop)
}

/// Removes the entries of a chain up to `through` and adds the entry about it; returns how many were removed.
async fn purge(db: &mut PgConnection, through: ChainPosition, entry: &SealedEntry) -> Result<u64> {
    let locked = tenant::lock_any(db, entry.agent_id.as_ref()).await?;
    let (sequence, at, id) = through;
    let statement =
        Statement::new("DELETE FROM audit WHERE agent = $1 AND (sequence, at, id) <= ($2, $3, $4)")
            .bind(chain_of(entry))?
            .bind(signed(sequence)?)?
            .bind(at.millis())?
            .bind(id.as_bytes().as_slice())?;
    let removed = execute(db, statement).await?;
    if removed > 0 {
        append_to(db, entry, locked.head).await?;
    }
    Ok(removed)
}

/// The columns of entries.
#[derive(Default)]
struct Rows<'e> {
    agent: Vec<&'e str>,
    at: Vec<i64>,
    id: Vec<&'e [u8]>,
    contact: Vec<Option<&'e [u8]>>,
    subject: Vec<Option<Vec<u8>>>,
    resource: Vec<Option<&'e str>>,
    action: Vec<&'e str>,
    actor: Vec<String>,
    address: Vec<Option<String>>,
    request_id: Vec<Option<&'e str>>,
    details: Vec<Option<&'e str>>,
    sequence: Vec<i64>,
    server_key: Vec<Option<&'e str>>,
    salt: Vec<Option<&'e [u8]>>,
    digest: Vec<Option<&'e [u8]>>,
    mac: Vec<Option<&'e [u8]>>,
}

impl<'e> Rows<'e> {
    fn push(&mut self, entry: &'e ChainedEntry) -> Result<()> {
        self.agent.push(entry.agent_id.as_ref().map_or("", AgentId::as_str));
        self.at.push(entry.at.millis());
        self.id.push(entry.id.as_bytes());
        self.contact.push(entry.contact_id.as_ref().map(|contact| contact.as_bytes().as_slice()));
        self.subject.push(audit_subject(entry).map(|contact| contact.as_bytes().to_vec()));
        self.resource.push(entry.resource.as_deref());
        self.action.push(entry.action.as_str());
        self.actor.push(json_text(&AuditActor::of(entry))?);
        self.address.push(entry.address.map(|address| address.to_string()));
        self.request_id.push(entry.request_id.as_deref());
        self.details.push(object_text(&entry.details));
        let link = entry.link.as_ref();
        self.sequence.push(signed(entry.sequence())?);
        self.server_key.push(link.map(|link| link.server_key.as_str()));
        self.salt.push(link.and_then(|link| link.salt.as_ref()).map(<[u8; 16]>::as_slice));
        self.digest.push(link.map(|link| link.digest.as_slice()));
        self.mac.push(link.map(|link| link.mac.as_slice()));
        Ok(())
    }
}

/// Empties the payloads of the entries about a contact and about what belongs to it.
pub(crate) async fn empty_payloads(db: &mut PgConnection, agent: &AgentId, contact: ContactId) -> Result<()> {
    let statement = Statement::new(
        "UPDATE audit SET details = NULL, salt = NULL WHERE agent = $1 AND subject = $2 AND details IS NOT NULL",
    )
    .bind(agent.as_str())?
    .bind(contact.as_bytes().as_slice())?;
    execute(db, statement).await?;
    Ok(())
}

/// The statement that reads a part of the log.
pub(crate) fn entries(query: &AuditQuery) -> Result<Statement> {
    let (beyond, within, direction) = if query.newest_first { ("<", ">=", " DESC") } else { (">", "<=", "") };
    let mut statement = Statement::new(concat!("SELECT ", audit_columns!(), " FROM audit"));
    let mut order = format!("at{direction}, id{direction}");
    let after = query.after.as_ref();
    if query.agent.is_some() || after.is_some() {
        let before_all = if query.newest_first { i64::MAX } else { i64::MIN };
        let at = statement.add(after.map_or(before_all, |(at, _)| at.millis()))?;
        let id = statement.add(after.map_or(&[] as &[u8], |(_, id)| id.as_bytes()))?;
        match &query.agent {
            // A range of the primary key and not an equality, as in `transfer::read`.
            Some(agent) => {
                let agent = statement.add(agent.as_str())?;
                statement.push(&format!(
                    " WHERE (agent, at, id) {beyond} ({agent}, {at}, {id}) AND agent {within} {agent}"
                ));
                order = format!("agent{direction}, {order}");
            }
            None => statement.push(&format!(" WHERE (at, id) {beyond} ({at}, {id})")),
        }
    }
    statement.push(&format!(" ORDER BY {order} LIMIT {}", query.limit));
    Ok(statement)
}

/// The statement that reads a part of a chain.
pub(crate) fn chain_entries(query: &ChainQuery) -> Result<Statement> {
    let (sequence, at, id) = match &query.after {
        Some((sequence, at, id)) => (signed(*sequence)?, at.millis(), id.as_bytes().as_slice()),
        None => (-1, 0, [].as_slice()),
    };
    // A range of the index and not an equality, as in `transfer::read`.
    Statement::new(concat!(
        "SELECT ",
        audit_columns!(),
        " FROM audit WHERE (agent, sequence, at, id) > ($1, $2, $3, $4) AND agent <= $1 \
         ORDER BY agent, sequence, at, id LIMIT $5"
    ))
    .bind(query.chain.as_ref().map_or("", AgentId::as_str))?
    .bind(sequence)?
    .bind(at)?
    .bind(id)?
    .bind(i64::from(query.limit))
}

#[async_trait]
impl AuditStore for PostgresStorage {
    async fn append_audit(&self, entry: &SealedEntry) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), append(entry))
    }

    async fn audit_entries(&self, query: &AuditQuery) -> Result<Vec<ChainedEntry>, StorageError> {
        self.db.read_all(entries(query)?, |r| records::audit_entry(r)).await
    }

    async fn audit_chain(&self, query: &ChainQuery) -> Result<Vec<ChainedEntry>, StorageError> {
        self.db.read_all(chain_entries(query)?, |r| records::audit_entry(r)).await
    }

    async fn audit_head(&self, chain: Option<&AgentId>) -> Result<ChainHead, StorageError> {
        let statement =
            Statement::new("SELECT 0::bigint, audit_sequence, audit_mac FROM agent WHERE id = $1")
                .bind(chain.map_or("", AgentId::as_str))?;
        let head = self.db.read_one(statement, |r| Ok(Locked::read(r)?.head)).await?;
        Ok(head.unwrap_or_default())
    }

    async fn audit_heads(&self) -> Result<Vec<(Option<AgentId>, ChainHead)>, StorageError> {
        let statement = Statement::new("SELECT id, 0::bigint, audit_sequence, audit_mac FROM agent");
        let heads = self.db.read_all(statement, |r| {
            let chain = Some(r.str()?).filter(|chain| !chain.is_empty()).map(StoredText::from_stored);
            Ok((chain, Locked::read(r)?.head))
        });
        Ok(heads.await?.into_iter().filter(|(_, head)| *head != ChainHead::default()).collect())
    }

    async fn purge_audit(&self, through: &ChainPosition, entry: &SealedEntry) -> Result<u64, StorageError> {
        in_transaction!(self.db.write(), purge(*through, entry))
    }
}
