//! The ledger of an agent: whether it is there, which contact schema is in force, and its counters.
//!
//! It stands among the agent's contacts, under the empty id: so one command reads a contact together with the state of
//! its agent, and a transaction about contacts stays within one collection. Every transaction of an agent changes it
//! first ([`take`]); since the server lets only one of two transactions change a document, what such a transaction has
//! looked at cannot be changed by another before it is committed.

use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::agents::AgentStatus;
use openapi_core::values::AgentId;

use crate::document::{Fields, key};
use crate::error::{Result, corrupt};
use crate::migrate::collection;
use crate::transaction::{Reads, Transaction, Update};

/// How many places a contact can have in the counters: three states, archived or not.
pub(crate) const PLACES: usize = 6;

/// The number that stands for a status.
pub(crate) const fn status_number(status: AgentStatus) -> i32 {
    match status {
        AgentStatus::Active => 0,
        AgentStatus::Disabled => 1,
        AgentStatus::Deleted => DELETED,
    }
}

/// The number of [`AgentStatus::Deleted`].
pub(crate) const DELETED: i32 = 2;

/// The status that a number stands for.
pub(crate) fn status(number: i64) -> Result<AgentStatus> {
    match number {
        0 => Ok(AgentStatus::Active),
        1 => Ok(AgentStatus::Disabled),
        2 => Ok(AgentStatus::Deleted),
        other => Err(corrupt(format_args!("{other} is no status of an agent"))),
    }
}

/// What is counted of an agent's contacts, by place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// All of them.
    pub(crate) all: [i64; PLACES],
    /// Those without a first name, which stand last in the list by first name.
    pub(crate) without_first_name: [i64; PLACES],
    /// Those without a last name.
    pub(crate) without_last_name: [i64; PLACES],
}

impl Tally {
    const NAMES: [&'static str; 3] = ["all", "withoutFirstName", "withoutLastName"];

    fn read(fields: Fields<'_>) -> Result<Self> {
        let mut tally = Tally::default();
        let Tally { all, without_first_name, without_last_name } = &mut tally;
        for (name, counts) in Self::NAMES.iter().zip([all, without_first_name, without_last_name]) {
            let stored = fields.within(name)?;
            for (place, count) in counts.iter_mut().enumerate() {
                *count = stored.integer(PLACE_NAMES[place])?;
            }
        }
        Ok(tally)
    }

    fn counts(&self) -> [(&'static str, &[i64; PLACES]); 3] {
        let [all, first, last] = Self::NAMES;
        [(all, &self.all), (first, &self.without_first_name), (last, &self.without_last_name)]
    }

    /// The changes of the counters that differ from 0.
    pub(crate) fn increments(&self) -> Document {
        let mut increments = Document::new();
        for (name, counts) in self.counts() {
            for (place, count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
                increments.insert(format!("counts.{name}.{}", PLACE_NAMES[place]), *count);
            }
        }
        increments
    }
}

/// The names of places in counters.
pub(crate) const PLACE_NAMES: [&str; PLACES] = ["0", "1", "2", "3", "4", "5"];

/// The ledger of an agent that is there and not deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ledger {
    /// The version of the contact schema in force.
    pub(crate) schema_version: u64,
    /// Bytes of all files that are there and of documents.
    pub(crate) bytes: i64,
    /// How many contacts there are.
    pub(crate) tally: Tally,
}

/// The `_id` of an agent's ledger.
pub(crate) fn ledger_key(agent: &AgentId) -> Document {
    key(agent, &[])
}

/// Whether a document among the contacts is a ledger.
pub(crate) fn is_ledger(document: &RawDocument) -> Result<bool> {
    let id = Fields(document).within("_id")?.value("id")?;
    Ok(id.as_binary().is_some_and(|bytes| bytes.bytes.is_empty()))
}

/// Whether a ledger is that of a deleted agent.
pub(crate) fn is_deleted(ledger: &RawDocument) -> Result<bool> {
    Ok(Fields(ledger).integer("status")? == i64::from(DELETED))
}

fn read(document: &RawDocument) -> Result<Ledger> {
    let fields = Fields(document);
    Ok(Ledger {
        schema_version: fields.count("schema")?,
        bytes: fields.integer("bytes")?,
        tally: Tally::read(fields.within("counts")?)?,
    })
}

/// The ledger, unless the agent is absent or deleted.
pub(crate) async fn living(reads: &mut Reads<'_>, agent: &AgentId) -> Result<Option<Ledger>> {
    let found = reads.one(collection::CONTACTS, doc! { "_id": ledger_key(agent) }, None).await?;
    match found {
        Some(ledger) if !is_deleted(&ledger)? => read(&ledger).map(Some),
        _ => Ok(None),
    }
}

/// The ledger, taken for this transaction: no other one of the agent can be committed beside it.
pub(crate) async fn take(tx: &mut Transaction, agent: &AgentId) -> Result<Option<Ledger>> {
    let filter = doc! { "_id": ledger_key(agent), "status": { "$ne": DELETED } };
    let taken = tx.replace_before(collection::CONTACTS, filter, doc! { "$inc": { "writes": 1_i64 } }).await?;
    taken.map(|ledger| read(&ledger)).transpose()
}

/// The same of an agent whether it is deleted or not.
pub(crate) async fn take_any(tx: &mut Transaction, agent: &AgentId) -> Result<Option<Ledger>> {
    let filter = doc! { "_id": ledger_key(agent) };
    let taken = tx.replace_before(collection::CONTACTS, filter, doc! { "$inc": { "writes": 1_i64 } }).await?;
    taken.map(|ledger| read(&ledger)).transpose()
}

/// Takes the ledger of a deleted agent; whether there is one.
pub(crate) async fn take_deleted(tx: &mut Transaction, agent: &AgentId) -> Result<bool> {
    let filter = doc! { "_id": ledger_key(agent), "status": DELETED };
    let taken = tx.replace_before(collection::CONTACTS, filter, doc! { "$inc": { "writes": 1_i64 } }).await?;
    Ok(taken.is_some())
}

/// Stores the ledger of a new agent.
pub(crate) async fn open(
    tx: &mut Transaction,
    agent: &AgentId,
    status: AgentStatus,
    schema_version: u64,
) -> Result<()> {
    let zeros =
        || -> Document { PLACE_NAMES.iter().map(|name| ((*name).to_owned(), 0_i64.into())).collect() };
    let counts: Document = Tally::NAMES.iter().map(|name| ((*name).to_owned(), zeros().into())).collect();
    let ledger = doc! {
        "_id": ledger_key(agent),
        "status": status_number(status),
        "schema": crate::document::integer(schema_version)?,
        "writes": 0_i64,
        "bytes": 0_i64,
        "counts": counts,
    };
    tx.insert(collection::CONTACTS, &[ledger]).await
}

/// Changes the ledger that this transaction has taken.
pub(crate) async fn change(tx: &mut Transaction, agent: &AgentId, change: Document) -> Result<()> {
    let update = Update::one(doc! { "_id": ledger_key(agent) }, change);
    tx.update(collection::CONTACTS, &[update]).await.map(drop)
}
