//! The state of a tenant: its status, the version of its contact schema, and its counters.
//!
//! The state is a document among the tenant's contacts, with the empty id. One command therefore reads a contact and the
//! state of its tenant, and a transaction on contacts stays in one collection. Every transaction of a tenant first changes
//! the state ([`lock`]). Because the server lets only one of two transactions change a document, no other transaction of
//! the tenant changes what this one has read before it commits.

use std::collections::HashMap;

use mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::ChainHead;
use openapi_core::values::AgentId;

use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, code, key};
use crate::error::Result;
use crate::migrate::collection;
use crate::transaction::{DocumentReader, Find, Transaction, Update};

/// The slots of a counter: three statuses, archived or not.
pub(crate) const COUNTER_SLOTS: usize = 6;

/// The code of [`AgentStatus::Deleted`].
pub(crate) const DELETED: i32 = 2;

/// The numbers of a tenant's contacts, by slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContactCounts {
    /// All of them.
    pub(crate) all: [i64; COUNTER_SLOTS],
    /// Those without a first name, which are last in the list by first name.
    pub(crate) without_first_name: [i64; COUNTER_SLOTS],
    /// Those without a last name.
    pub(crate) without_last_name: [i64; COUNTER_SLOTS],
}

impl ContactCounts {
    const NAMES: [&'static str; 3] = ["all", "withoutFirstName", "withoutLastName"];

    fn read(fields: Fields<'_>) -> Result<Self> {
        let mut counts = ContactCounts::default();
        let ContactCounts { all, without_first_name, without_last_name } = &mut counts;
        for (name, counts) in Self::NAMES.iter().zip([all, without_first_name, without_last_name]) {
            let mut stored = fields.within(name)?;
            for (slot, count) in counts.iter_mut().enumerate() {
                *count = stored.integer(SLOT_NAMES[slot])?;
            }
        }
        Ok(counts)
    }

    fn counts(&self) -> [(&'static str, &[i64; COUNTER_SLOTS]); 3] {
        let [all, first, last] = Self::NAMES;
        [(all, &self.all), (first, &self.without_first_name), (last, &self.without_last_name)]
    }

    /// The changes of the counters that differ from 0.
    pub(crate) fn increments(&self) -> Document {
        let mut increments = Document::new();
        for (name, counts) in self.counts() {
            for (slot, count) in counts.iter().enumerate().filter(|(_, count)| **count != 0) {
                increments.insert(format!("counts.{name}.{}", SLOT_NAMES[slot]), *count);
            }
        }
        increments
    }
}

/// The names of the slots.
pub(crate) const SLOT_NAMES: [&str; COUNTER_SLOTS] = ["0", "1", "2", "3", "4", "5"];

/// The state of a tenant that is not deleted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TenantState {
    /// The version of the contact schema.
    pub(crate) schema_version: u64,
    /// The bytes of all files and documents.
    pub(crate) bytes: i64,
    /// The numbers of contacts.
    pub(crate) counts: ContactCounts,
    /// The ends of the logs.
    pub(crate) ends: Ends,
}

/// The ends of the logs of a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The end of the chain of the audit log.
    pub(crate) chain: ChainHead,
    /// The number of the newest event.
    pub(crate) events: u64,
}

/// The fields of the ends of the logs.
pub(crate) fn of_ends(ends: Ends) -> Result<Document> {
    let mut fields = of_head(ends.chain)?;
    fields.insert("events", crate::document::integer(ends.events)?);
    Ok(fields)
}

/// The number of the newest event of a state, 0 for a state without events.
pub(crate) fn events_of(state: &RawDocument) -> Result<u64> {
    let mut fields = Fields(state);
    fields.optional_integer("events")?.map_or(Ok(0), |_| fields.count("events"))
}

/// The numbers of the newest events of tenants.
pub(crate) async fn event_heads(handle: &Handle, agents: &[AgentId]) -> Result<Vec<u64>> {
    let keys: Vec<Document> = agents.iter().map(state_key).collect();
    let find = Find {
        filter: doc! { "_id": { "$in": keys }, "status": { "$ne": DELETED } },
        projection: Some(doc! { "events": 1 }),
        ..Find::default()
    };
    let states = DocumentReader::new(handle).find(collection::CONTACTS, find).await?;
    let head = |state: &RawDocumentBuf| Ok((Fields(state).agent()?, events_of(state)?));
    let heads: HashMap<AgentId, u64> = states.iter().map(head).collect::<Result<_>>()?;
    Ok(agents.iter().map(|agent| heads.get(agent).copied().unwrap_or(0)).collect())
}

/// The fields of the end of a chain.
pub(crate) fn of_head(head: ChainHead) -> Result<Document> {
    Ok(doc! { "auditSequence": crate::document::integer(head.sequence)?, "auditMac": binary(&head.mac) })
}

/// The end of the chain of a state; of one without entries, its begin.
pub(crate) fn head_of(state: &RawDocument) -> Result<ChainHead> {
    let mut fields = Fields(state);
    match fields.optional_integer("auditSequence")? {
        Some(_) => Ok(ChainHead { sequence: fields.count("auditSequence")?, mac: fields.bytes("auditMac")? }),
        None => Ok(ChainHead::default()),
    }
}

/// The `_id` of the state that has the end of a chain. The chain of the entries without a tenant has one of its own, which
/// is that of a deleted tenant without a name.
pub(crate) fn chain_key(chain: Option<&AgentId>) -> Document {
    doc! { "agent": chain.map_or("", AgentId::as_str), "id": binary(&[]) }
}

/// The `_id` of a tenant's state.
pub(crate) fn state_key(agent: &AgentId) -> Document {
    key(agent, &[])
}

/// Whether a document among the contacts is the state of a tenant.
pub(crate) fn is_state(document: &RawDocument) -> Result<bool> {
    let id = Fields(document).value("_id.id")?;
    Ok(id.as_binary().is_some_and(|id| id.bytes.is_empty()))
}

/// Whether a state is that of a deleted tenant.
pub(crate) fn is_deleted(state: &RawDocument) -> Result<bool> {
    Ok(Fields(state).integer("status")? == i64::from(DELETED))
}

fn read(document: &RawDocument) -> Result<TenantState> {
    let mut fields = Fields(document);
    Ok(TenantState {
        schema_version: fields.count("schema")?,
        bytes: fields.integer("bytes")?,
        counts: ContactCounts::read(fields.within("counts")?)?,
        ends: Ends { chain: head_of(document)?, events: events_of(document)? },
    })
}

/// The state, unless the tenant is absent or deleted.
pub(crate) async fn find(reads: &mut DocumentReader<'_>, agent: &AgentId) -> Result<Option<TenantState>> {
    let found = reads.one(collection::CONTACTS, doc! { "_id": state_key(agent) }, None).await?;
    match found {
        Some(state) if !is_deleted(&state)? => read(&state).map(Some),
        _ => Ok(None),
    }
}

/// Locks a tenant for this transaction and returns its state: no other transaction of the tenant commits concurrently.
pub(crate) async fn lock(tx: &mut Transaction, agent: &AgentId) -> Result<Option<TenantState>> {
    let filter = doc! { "_id": state_key(agent), "status": { "$ne": DELETED } };
    let before =
        tx.replace_before(collection::CONTACTS, filter, doc! { "$inc": { "writes": 1_i64 } }).await?;
    before.map(|state| read(&state)).transpose()
}

/// The same for a tenant that may be deleted, and for the entries without a tenant.
pub(crate) async fn lock_any(tx: &mut Transaction, agent: Option<&AgentId>) -> Result<Option<TenantState>> {
    let filter = doc! { "_id": chain_key(agent) };
    let before =
        tx.replace_before(collection::CONTACTS, filter, doc! { "$inc": { "writes": 1_i64 } }).await?;
    before.map(|state| read(&state)).transpose()
}

/// Locks a deleted tenant; false when there is none.
pub(crate) async fn lock_deleted(tx: &mut Transaction, agent: &AgentId) -> Result<bool> {
    let filter = doc! { "_id": state_key(agent), "status": DELETED };
    let before =
        tx.replace_before(collection::CONTACTS, filter, doc! { "$inc": { "writes": 1_i64 } }).await?;
    Ok(before.is_some())
}

/// Stores the state of a new tenant.
pub(crate) async fn create(
    tx: &mut Transaction,
    agent: &AgentId,
    status: AgentStatus,
    schema_version: u64,
) -> Result<()> {
    let mut state = new_state(status, schema_version)?;
    state.insert("_id", state_key(agent));
    tx.insert(collection::CONTACTS, &[state]).await
}

/// The state of a tenant without records.
pub(crate) fn new_state(status: AgentStatus, schema_version: u64) -> Result<Document> {
    let zeros = || -> Document { SLOT_NAMES.iter().map(|name| ((*name).to_owned(), 0_i64.into())).collect() };
    let counts: Document =
        ContactCounts::NAMES.iter().map(|name| ((*name).to_owned(), zeros().into())).collect();
    Ok(doc! {
        "status": code(status),
        "schema": crate::document::integer(schema_version)?,
        "writes": 0_i64,
        "bytes": 0_i64,
        "counts": counts,
    })
}

/// Changes the state of a tenant that this transaction has locked.
pub(crate) async fn change(tx: &mut Transaction, agent: &AgentId, change: Document) -> Result<()> {
    let update = Update::one(doc! { "_id": state_key(agent) }, change);
    tx.update(collection::CONTACTS, &[update]).await.map(drop)
}
