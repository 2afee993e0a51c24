//! Lists: a page of contacts and the exact total.
//!
//! Lists with at most one filter come from an index, and their totals from counters that each write updates: their cost does
//! not grow with the number of contacts. Other combinations of filters use the most selective one
//! ([`super::filter_scan`]). All reads of a page share a snapshot.

use openapi_core::contacts::Contact;
use openapi_core::storage::{ContactFilter, ContactPage, ContactQuery, ContactSort};
use openapi_core::values::AgentId;

use super::counters::tagged;
use super::index_scan::{View, index_of, labelled, shown, straight, walk};
use super::{filter_scan, row};
use crate::connect::Handle;
use crate::error::Result;
use crate::migrate::index;
use crate::tenant::{self, COUNTER_SLOTS, ContactCounts};
use crate::transaction::{DocumentReader, Find};

/// The one filter of a list besides its view.
enum Filters<'a> {
    Nothing,
    Tag(&'a str),
    Several,
}

fn filters(query: &ContactQuery) -> Filters<'_> {
    match &query.filter {
        ContactFilter {
            search, primary_email: None, tag, created_since: None, updated_since: None, ..
        } if search.is_empty() => match tag {
            None => Filters::Nothing,
            Some(tag) if query.sort == ContactSort::CreatedAt => Filters::Tag(tag),
            Some(_) => Filters::Several,
        },
        _ => Filters::Several,
    }
}

/// The numbers of contacts without a key for the sort, by slot.
fn lacking(counts: &ContactCounts, sort: ContactSort) -> &[i64; COUNTER_SLOTS] {
    match sort {
        ContactSort::FirstName => &counts.without_first_name,
        ContactSort::LastName => &counts.without_last_name,
        _ => &[0; COUNTER_SLOTS],
    }
}

/// The finds of a list that comes from an index, as [`page`] runs them.
#[cfg(test)]
pub(crate) async fn plan_of(handle: &Handle, agent: &AgentId, query: &ContactQuery) -> Result<Vec<Find>> {
    let mut reads = DocumentReader::new(handle);
    let Some(tenant) = tenant::find(&mut reads, agent).await? else { return Ok(Vec::new()) };
    let view = View::of(&query.filter);
    let (_, finds) = match filters(query) {
        Filters::Nothing => along_sort(agent, &view, &tenant.counts, query),
        Filters::Tag(tag) => along_tag(&mut reads, agent, &view, tag, query).await?,
        Filters::Several => (0, Vec::new()),
    };
    Ok(finds.into_iter().map(|(find, _)| find).collect())
}

/// The number of contacts in a view, and the finds of a page.
fn along_sort(
    agent: &AgentId,
    view: &View,
    counts: &ContactCounts,
    query: &ContactQuery,
) -> (u64, Vec<(Find, bool)>) {
    let total = view.sum(&counts.all);
    let lacking = view.sum(lacking(counts, query.sort));
    (total, straight(&shown(agent, view), index_of(query.sort), query, total, lacking))
}

/// The same for contacts with a tag, by creation time.
async fn along_tag(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    view: &View,
    tag: &str,
    query: &ContactQuery,
) -> Result<(u64, Vec<(Find, bool)>)> {
    let total = view.sum(&tagged(reads, agent, tag).await?);
    let conditions = labelled(agent, &row::tag_label(tag), view);
    Ok((total, straight(&conditions, index::CONTACTS_BY_LABEL, query, total, 0)))
}

/// The page; an empty one for an absent tenant.
pub(super) async fn page(handle: &Handle, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage> {
    let few = handle.thresholds.few_matches;
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    let Some(tenant) = tenant::find(&mut reads, agent).await? else { return Ok(ContactPage::default()) };
    let view = View::of(&query.filter);
    let (total, found) = match filters(query) {
        Filters::Nothing => {
            let (total, finds) = along_sort(agent, &view, &tenant.counts, query);
            (total, walk(&mut reads, finds).await?)
        }
        Filters::Tag(tag) => {
            let (total, finds) = along_tag(&mut reads, agent, &view, tag, query).await?;
            (total, walk(&mut reads, finds).await?)
        }
        Filters::Several => filter_scan::page(&mut reads, agent, &view, &tenant.counts, query, few).await?,
    };
    let contacts = found.iter().map(|document| row::contact(agent, document));
    Ok(ContactPage { contacts: contacts.collect::<Result<Vec<Contact>>>()?, total })
}
