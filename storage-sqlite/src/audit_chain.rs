//! The chains of the audit log: storing entries, and the ends of the chains.

use std::collections::BTreeMap;

use openapi_core::audit::{ChainHead, ChainedEntry, SealedEntry};
use openapi_core::values::{AgentId, ContactId};
use rusqlite::{Connection, params};
use storage_common::records::AuditActor;
use storage_common::{audit_columns, records};

use crate::error::Result;
use crate::rows::{self, json_text, object_text, signed};

/// The text by which `audit_chain` names the chain of an entry.
pub(crate) fn chain_of(agent: Option<&AgentId>) -> &str {
    agent.map_or("", AgentId::as_str)
}

/// The end of a chain.
pub(crate) fn head(db: &Connection, chain: &str) -> Result<ChainHead> {
    let sql = "SELECT sequence, mac FROM audit_chain WHERE agent = ?1";
    let head = rows::first(db, sql, [chain], |r| Ok(ChainHead { sequence: r.count()?, mac: r.bytes()? }))?;
    Ok(head.unwrap_or_default())
}

fn set_head(db: &Connection, chain: &str, head: &ChainHead) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO audit_chain (agent, sequence, mac) VALUES (?1, ?2, ?3) \
         ON CONFLICT (agent) DO UPDATE SET sequence = excluded.sequence, mac = excluded.mac",
    )?
    .execute(params![chain, signed(head.sequence)?, head.mac])?;
    Ok(())
}

/// Adds an entry to the chain of its agent.
pub(crate) fn append(db: &Connection, entry: &SealedEntry) -> Result<()> {
    let chain = chain_of(entry.agent_id.as_ref());
    let mut head = head(db, chain)?;
    insert(db, &head.append(entry))?;
    set_head(db, chain, &head)
}

/// Stores an entry with the position that it has in the chain of another store.
pub(crate) fn put(db: &Connection, entry: &ChainedEntry) -> Result<()> {
    let chain = chain_of(entry.agent_id.as_ref());
    let mut head = head(db, chain)?;
    head.follow(entry);
    insert(db, entry)?;
    set_head(db, chain, &head)
}

fn insert(db: &Connection, entry: &ChainedEntry) -> Result<()> {
    let link = entry.link.as_ref();
    db.prepare_cached(concat!(
        "INSERT INTO audit (",
        audit_columns!(),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
    ))?
    .execute(params![
        entry.at.millis(),
        entry.id.as_bytes(),
        entry.agent_id.as_ref().map(AgentId::as_str),
        entry.resource,
        entry.contact_id.as_ref().map(ContactId::as_bytes),
        entry.action.as_str(),
        json_text(&AuditActor::of(entry))?,
        entry.address.map(|address| address.to_string()),
        entry.request_id,
        object_text(&entry.details),
        signed(entry.sequence())?,
        link.map(|link| &link.server_key),
        link.and_then(|link| link.salt),
        link.map(|link| link.digest),
        link.map(|link| link.mac),
    ])?;
    Ok(())
}

/// Begins each chain after the entries that a former release has stored.
pub(crate) fn begin_chains(db: &Connection) -> Result<()> {
    let mut heads: BTreeMap<String, ChainHead> = BTreeMap::new();
    let sql = concat!("SELECT ", audit_columns!(), " FROM audit ORDER BY agent, at, id");
    rows::each(db, sql, (), |r| {
        let earlier = records::audit_entry(r)?;
        heads.entry(chain_of(earlier.agent_id.as_ref()).to_owned()).or_default().absorb(&earlier);
        Ok(())
    })?;
    heads.iter().try_for_each(|(chain, head)| set_head(db, chain, head))
}
