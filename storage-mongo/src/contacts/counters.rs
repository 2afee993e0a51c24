//! Counters of contacts and of tags, which change with contacts.

use std::collections::HashMap;

use mongodb::bson::{Document, doc};
use openapi_core::values::AgentId;

use super::stored::Derived;
use crate::document::{FieldReader, Fields, keyed};
use crate::error::Result;
use crate::migrate::collection;
use crate::tenant::{self, COUNTER_SLOTS, ContactCounts, Ends, SLOT_NAMES};
use crate::transaction::{DocumentReader, Transaction, Update};

/// The changes of counters that belong to changes of contacts.
#[derive(Default)]
pub(super) struct Difference {
    counts: ContactCounts,
    tags: HashMap<String, [i64; COUNTER_SLOTS]>,
}

impl Difference {
    /// Adds a contact to the counters, or subtracts it with -1.
    pub(super) fn count(&mut self, derived: &Derived, times: i64) {
        let slot = derived.slot;
        self.counts.all[slot] += times;
        self.counts.without_first_name[slot] += if derived.has_first_name { 0 } else { times };
        self.counts.without_last_name[slot] += if derived.has_last_name { 0 } else { times };
        for tag in &derived.tags {
            self.tags.entry(tag.clone()).or_default()[slot] += times;
        }
    }

    /// Writes the changes, and the ends of the audit log and the event log.
    pub(super) async fn apply(self, tx: &mut Transaction, agent: &AgentId, ends: Option<Ends>) -> Result<()> {
        let mut change = Document::new();
        let increments = self.counts.increments();
        if !increments.is_empty() {
            change.insert("$inc", increments);
        }
        if let Some(ends) = ends {
            change.insert("$set", tenant::of_ends(ends)?);
        }
        if !change.is_empty() {
            tenant::change(tx, agent, change).await?;
        }
        let mut tags: Vec<_> =
            self.tags.into_iter().filter(|(_, counts)| counts.iter().any(|count| *count != 0)).collect();
        tags.sort_unstable();
        if tags.is_empty() {
            return Ok(());
        }
        let update = |(tag, counts): &(String, [i64; COUNTER_SLOTS])| {
            let mut increments = doc! { "all": counts.iter().sum::<i64>() };
            for (slot, count) in counts.iter().enumerate() {
                increments.insert(SLOT_NAMES[slot], *count);
            }
            Update::upsert(doc! { "_id": tag_key(agent, tag) }, doc! { "$inc": increments })
        };
        tx.update(collection::TAGS, &tags.iter().map(update).collect::<Vec<_>>()).await?;
        let fewer: Vec<Document> = tags
            .iter()
            .filter(|(_, counts)| counts.iter().sum::<i64>() < 0)
            .map(|(tag, _)| tag_key(agent, tag))
            .collect();
        if !fewer.is_empty() {
            let mut unused = keyed(agent, fewer);
            unused.insert("all", 0);
            tx.delete(collection::TAGS, unused).await?;
        }
        Ok(())
    }
}

/// The `_id` of the counters of a tag.
pub(super) fn tag_key(agent: &AgentId, tag: &str) -> Document {
    doc! { "agent": agent.as_str(), "tag": tag }
}

/// The numbers of contacts with a tag, by slot.
pub(super) async fn tagged(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    tag: &str,
) -> Result<[i64; COUNTER_SLOTS]> {
    let found = reads.one(collection::TAGS, doc! { "_id": tag_key(agent, tag) }, None).await?;
    let mut counts = [0; COUNTER_SLOTS];
    if let Some(found) = found {
        for (slot, count) in counts.iter_mut().enumerate() {
            *count = Fields(&found).integer(SLOT_NAMES[slot])?;
        }
    }
    Ok(counts)
}
