//! Lists: a page of contacts with the exact number of all.
//!
//! The lists that people open come straight from an index, and their totals from counters that are kept with each
//! write: neither takes longer the more contacts there are. Other combinations of filters are counted, going by the
//! most telling of them ([`super::gather`]). Everything of one page is read at one instant.

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::contacts::Contact;
use openapi_core::storage::{
    ContactFilter, ContactPage, ContactQuery, ContactSort, Order, SortKey, SortPosition, Window,
};
use openapi_core::values::{AgentId, ContactStatus};

use super::{gather, row, without_keys, write};
use crate::connect::Handle;
use crate::document::{Fields, bytes, time};
use crate::error::Result;
use crate::ledger::{self, PLACE_NAMES, PLACES, Tally};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads};

/// Which places a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View(Vec<i32>);

impl View {
    pub(super) fn of(filter: &ContactFilter) -> Self {
        let archived: &[bool] = if filter.include_archived { &[false, true] } else { &[false] };
        let statuses =
            ContactStatus::ALL.iter().filter(|status| filter.status.is_none_or(|only| only == **status));
        let places =
            statuses.flat_map(|status| archived.iter().map(|archived| row::place(*status, *archived)));
        let mut places: Vec<i32> = places.collect();
        places.sort_unstable();
        View(places)
    }

    /// How many of what is counted by place the view shows.
    pub(super) fn sum(&self, counts: &[i64; PLACES]) -> u64 {
        let shown = self.0.iter().filter_map(|place| counts.get(*place as usize));
        u64::try_from(shown.sum::<i64>()).unwrap_or(0)
    }
}

/// The field that a sort goes by.
pub(super) const fn field(sort: ContactSort) -> &'static str {
    match sort {
        ContactSort::CreatedAt => "createdAt",
        ContactSort::UpdatedAt => "updatedAt",
        ContactSort::FirstName => "keys.firstName",
        ContactSort::LastName => "keys.lastName",
        ContactSort::PrimaryEmail => "keys.primaryEmail",
    }
}

/// The index of a sort.
pub(super) const fn index_of(sort: ContactSort) -> &'static str {
    match sort {
        ContactSort::CreatedAt => index::CONTACTS_BY_CREATED_AT,
        ContactSort::UpdatedAt => index::CONTACTS_BY_UPDATED_AT,
        ContactSort::FirstName => index::CONTACTS_BY_FIRST_NAME,
        ContactSort::LastName => index::CONTACTS_BY_LAST_NAME,
        ContactSort::PrimaryEmail => index::CONTACTS_BY_PRIMARY_EMAIL,
    }
}

/// Whether contacts may have no key under a sort.
pub(super) const fn may_lack(sort: ContactSort) -> bool {
    matches!(sort, ContactSort::FirstName | ContactSort::LastName)
}

/// The number of a direction.
pub(super) const fn direction(order: Order) -> i32 {
    match order {
        Order::Ascending => 1,
        Order::Descending => -1,
    }
}

/// A stretch of a list that lies in one piece in its index: what stands behind no key is such a piece of its own where
/// the others are read backwards.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretch {
    /// What lies in it, besides the conditions of the list.
    pub(super) filter: Document,
    pub(super) sort: Document,
    /// How many there are, where that is needed: to begin within the list.
    pub(super) size: u64,
}

/// The stretches of a list from its beginning; `lacking` of its `total` contacts have no key.
pub(super) fn from_beginning(sort: ContactSort, order: Order, total: u64, lacking: u64) -> Vec<Stretch> {
    let (field, way) = (field(sort), direction(order));
    let along = doc! { field: way, "_id.id": way };
    // No key is kept as a value that stands behind every text.
    if !may_lack(sort) || order == Order::Ascending {
        return vec![Stretch { filter: Document::new(), sort: along, size: total }];
    }
    let named =
        Stretch { filter: doc! { field: { "$gte": "" } }, sort: along, size: total.saturating_sub(lacking) };
    vec![named, unnamed(field, way, None, lacking)]
}

fn unnamed(field: &str, way: i32, behind: Option<Bson>, size: u64) -> Stretch {
    let mut filter = doc! { field: false };
    if let Some(id) = behind {
        filter.insert("_id.id", doc! { beyond(way): id });
    }
    Stretch { filter, sort: doc! { "_id.id": way }, size }
}

const fn beyond(way: i32) -> &'static str {
    if way > 0 { "$gt" } else { "$lt" }
}

/// The stretches of a list behind a position.
pub(super) fn behind(sort: ContactSort, order: Order, position: &SortPosition) -> Vec<Stretch> {
    let (field, way) = (field(sort), direction(order));
    let id = Bson::Binary(bytes(position.id.as_bytes()));
    let key: Bson = match &position.key {
        SortKey::Time(at) => time(*at).into(),
        SortKey::Text(Some(text)) => text.as_str().into(),
        SortKey::Text(None) => return vec![unnamed(field, way, Some(id), u64::MAX)],
    };
    let ties = doc! { field: key.clone(), "_id.id": { beyond(way): id } };
    let mut stretches = vec![
        Stretch { filter: ties, sort: doc! { "_id.id": way }, size: u64::MAX },
        Stretch {
            filter: doc! { field: { beyond(way): key } },
            sort: doc! { field: way, "_id.id": way },
            size: u64::MAX,
        },
    ];
    if may_lack(sort) {
        stretches.push(unnamed(field, way, None, u64::MAX));
    }
    stretches
}

/// The conditions of a list along an index of the agent's contacts.
pub(super) fn shown(agent: &AgentId, view: &View) -> Document {
    doc! { "_id.agent": agent.as_str(), "keys.place": { "$in": &view.0 } }
}

/// The same of contacts with a label.
pub(super) fn labelled(agent: &AgentId, label: &str, view: &View) -> Document {
    doc! { "_id.agent": agent.as_str(), "keys.labels": label, "keys.place": { "$in": &view.0 } }
}

/// The finds that bring a part of a list, one after the other until it is complete; each with whether what it finds
/// stands in the opposite order.
pub(super) fn finds(
    conditions: &Document,
    hint: &'static str,
    stretches: &[Stretch],
    offset: u64,
    limit: u32,
) -> Vec<(Find, bool)> {
    let mut offset = offset;
    let mut finds = Vec::new();
    for Stretch { filter, sort, size } in stretches {
        if offset >= *size {
            offset -= size;
            continue;
        }
        let mut find = Find {
            filter: doc! { "$and": [conditions.clone(), filter.clone()] },
            projection: Some(without_keys()),
            sort: Some(sort.clone()),
            skip: offset,
            limit,
            hint: Some(hint),
        };
        if filter.is_empty() {
            find.filter = conditions.clone();
        }
        let here = u64::from(limit).min(size - offset);
        // What lies nearer to the end is reached from there.
        let is_backwards = offset > size / 2 && *size < u64::MAX;
        if is_backwards {
            find.skip = size - offset - here;
            find.limit = here as u32;
            find.sort = Some(sort.iter().map(|(name, way)| (name.clone(), opposite(way))).collect());
        }
        finds.push((find, is_backwards));
        offset = 0;
    }
    finds
}

fn opposite(way: &Bson) -> Bson {
    Bson::Int32(-way.as_i32().unwrap_or(1))
}

/// Reads a part of a list.
pub(super) async fn walk(reads: &mut Reads<'_>, finds: Vec<(Find, bool)>) -> Result<Vec<RawDocumentBuf>> {
    let mut found: Vec<RawDocumentBuf> = Vec::new();
    let Some(wanted) = finds.iter().map(|(find, _)| find.limit as usize).max() else { return Ok(found) };
    for (mut find, is_backwards) in finds {
        let left = wanted.saturating_sub(found.len());
        if left == 0 {
            break;
        }
        if !is_backwards {
            find.limit = left as u32;
        }
        let mut part = reads.find(collection::CONTACTS, find).await?;
        if is_backwards {
            part.reverse();
        }
        part.truncate(left);
        found.append(&mut part);
    }
    Ok(found)
}

/// The one filter of a list besides its view.
enum Only<'a> {
    Nothing,
    Tag(&'a str),
    Several,
}

fn only(query: &ContactQuery) -> Only<'_> {
    match &query.filter {
        ContactFilter {
            search, primary_email: None, tag, created_since: None, updated_since: None, ..
        } if search.is_empty() => match tag {
            None => Only::Nothing,
            Some(tag) if query.sort == ContactSort::CreatedAt => Only::Tag(tag),
            Some(_) => Only::Several,
        },
        _ => Only::Several,
    }
}

/// How many contacts have a tag, by place.
pub(super) async fn tagged(reads: &mut Reads<'_>, agent: &AgentId, tag: &str) -> Result<[i64; PLACES]> {
    let found = reads.one(collection::TAGS, doc! { "_id": write::tag_key(agent, tag) }, None).await?;
    let mut counts = [0; PLACES];
    if let Some(found) = found {
        for (place, count) in counts.iter_mut().enumerate() {
            *count = Fields(&found).integer(PLACE_NAMES[place])?;
        }
    }
    Ok(counts)
}

/// How many contacts without a key under the sort there are, by place.
fn lacking(tally: &Tally, sort: ContactSort) -> &[i64; PLACES] {
    match sort {
        ContactSort::FirstName => &tally.without_first_name,
        ContactSort::LastName => &tally.without_last_name,
        _ => &[0; PLACES],
    }
}

/// The finds of a list that comes straight from an index.
pub(super) fn straight(
    conditions: &Document,
    hint: &'static str,
    query: &ContactQuery,
    total: u64,
    lacking: u64,
) -> Vec<(Find, bool)> {
    let ContactQuery { sort, order, window, .. } = query;
    match window {
        Window::Page { limit: 0, .. } | Window::After { limit: 0, .. } => Vec::new(),
        Window::Page { offset, .. } if *offset >= total => Vec::new(),
        Window::Page { offset, limit } => {
            finds(conditions, hint, &from_beginning(*sort, *order, total, lacking), *offset, *limit)
        }
        Window::After { position, limit } => {
            finds(conditions, hint, &behind(*sort, *order, position), 0, *limit)
        }
    }
}

/// The finds of a list that comes straight from an index, as [`page`] makes them.
#[cfg(test)]
pub(crate) async fn plan_of(handle: &Handle, agent: &AgentId, query: &ContactQuery) -> Result<Vec<Find>> {
    let mut reads = Reads::alone(handle);
    let Some(ledger) = ledger::living(&mut reads, agent).await? else { return Ok(Vec::new()) };
    let view = View::of(&query.filter);
    let (_, finds) = match only(query) {
        Only::Nothing => along_sort(agent, &view, &ledger.tally, query),
        Only::Tag(tag) => along_tag(&mut reads, agent, &view, tag, query).await?,
        Only::Several => (0, Vec::new()),
    };
    Ok(finds.into_iter().map(|(find, _)| find).collect())
}

/// How many contacts a view shows, and the finds of a page of them.
fn along_sort(agent: &AgentId, view: &View, tally: &Tally, query: &ContactQuery) -> (u64, Vec<(Find, bool)>) {
    let total = view.sum(&tally.all);
    let lacking = view.sum(lacking(tally, query.sort));
    (total, straight(&shown(agent, view), index_of(query.sort), query, total, lacking))
}

/// The same of those with a tag, by age.
async fn along_tag(
    reads: &mut Reads<'_>,
    agent: &AgentId,
    view: &View,
    tag: &str,
    query: &ContactQuery,
) -> Result<(u64, Vec<(Find, bool)>)> {
    let total = view.sum(&tagged(reads, agent, tag).await?);
    let conditions = labelled(agent, &row::tag_label(tag), view);
    Ok((total, straight(&conditions, index::CONTACTS_BY_LABEL, query, total, 0)))
}

/// The page; of an absent agent an empty one.
pub(super) async fn page(handle: &Handle, agent: &AgentId, query: &ContactQuery) -> Result<ContactPage> {
    let mut session = handle.snapshot().await?;
    let mut reads = Reads::of(handle, &mut session);
    let Some(ledger) = ledger::living(&mut reads, agent).await? else { return Ok(ContactPage::default()) };
    let view = View::of(&query.filter);
    let (total, found) = match only(query) {
        Only::Nothing => {
            let (total, finds) = along_sort(agent, &view, &ledger.tally, query);
            (total, walk(&mut reads, finds).await?)
        }
        Only::Tag(tag) => {
            let (total, finds) = along_tag(&mut reads, agent, &view, tag, query).await?;
            (total, walk(&mut reads, finds).await?)
        }
        Only::Several => gather::page(&mut reads, agent, &view, &ledger.tally, query).await?,
    };
    let contacts = found.iter().map(|document| row::contact(agent, document));
    Ok(ContactPage { contacts: contacts.collect::<Result<Vec<Contact>>>()?, total })
}
