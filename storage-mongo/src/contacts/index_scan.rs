//! Index scans: the finds for a page in the order of an index.

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::storage::{ContactFilter, ContactQuery, ContactSort, Order, SortKey, SortPosition, Window};
use openapi_core::values::{AgentId, ContactStatus};

use super::row::{self, without_keys};
use crate::document::{binary, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::tenant::COUNTER_SLOTS;
use crate::transaction::{DocumentReader, Find};

/// The slots of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View(Vec<i32>);

impl View {
    pub(super) fn of(filter: &ContactFilter) -> Self {
        let archived: &[bool] = if filter.include_archived { &[false, true] } else { &[false] };
        let statuses =
            ContactStatus::ALL.iter().filter(|status| filter.status.is_none_or(|only| only == **status));
        let slots = statuses.flat_map(|status| archived.iter().map(|archived| row::slot(*status, *archived)));
        let mut slots: Vec<i32> = slots.collect();
        slots.sort_unstable();
        View(slots)
    }

    /// The sum of the counts of its slots.
    pub(super) fn sum(&self, counts: &[i64; COUNTER_SLOTS]) -> u64 {
        let shown = self.0.iter().filter_map(|slot| counts.get(*slot as usize));
        u64::try_from(shown.sum::<i64>()).unwrap_or(0)
    }
}

/// The field of a sort.
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

/// Whether contacts may lack a key for a sort.
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

/// A contiguous range of a list in its index. Contacts without a key are a range of their own where the others are read
/// backwards.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    /// The conditions of the range, besides those of the list.
    pub(super) filter: Document,
    pub(super) sort: Document,
    /// The number of contacts, where a find begins inside the list.
    pub(super) size: u64,
}

/// The ranges of a list; `lacking` of its `total` contacts have no key.
pub(super) fn from_beginning(sort: ContactSort, order: Order, total: u64, lacking: u64) -> Vec<Range> {
    let (field, way) = (field(sort), direction(order));
    let along = doc! { field: way, "_id.id": way };
    // A missing key is stored as a value that sorts after every text.
    if !may_lack(sort) || order == Order::Ascending {
        return vec![Range { filter: Document::new(), sort: along, size: total }];
    }
    let named =
        Range { filter: doc! { field: { "$gte": "" } }, sort: along, size: total.saturating_sub(lacking) };
    vec![named, unnamed(field, way, None, lacking)]
}

fn unnamed(field: &str, way: i32, after: Option<Bson>, size: u64) -> Range {
    let mut filter = doc! { field: false };
    if let Some(id) = after {
        filter.insert("_id.id", doc! { beyond(way): id });
    }
    Range { filter, sort: doc! { "_id.id": way }, size }
}

const fn beyond(way: i32) -> &'static str {
    if way > 0 { "$gt" } else { "$lt" }
}

/// The ranges of a list after a position.
pub(super) fn after(sort: ContactSort, order: Order, position: &SortPosition) -> Vec<Range> {
    let (field, way) = (field(sort), direction(order));
    let id = Bson::Binary(binary(position.id.as_bytes()));
    let key: Bson = match &position.key {
        SortKey::Time(at) => time(*at).into(),
        SortKey::Text(Some(text)) => text.as_str().into(),
        SortKey::Text(None) => return vec![unnamed(field, way, Some(id), u64::MAX)],
    };
    let ties = doc! { field: key.clone(), "_id.id": { beyond(way): id } };
    let mut ranges = vec![
        Range { filter: ties, sort: doc! { "_id.id": way }, size: u64::MAX },
        Range {
            filter: doc! { field: { beyond(way): key } },
            sort: doc! { field: way, "_id.id": way },
            size: u64::MAX,
        },
    ];
    if may_lack(sort) {
        ranges.push(unnamed(field, way, None, u64::MAX));
    }
    ranges
}

/// The conditions of a list in an index of the tenant's contacts.
pub(super) fn shown(agent: &AgentId, view: &View) -> Document {
    doc! { "_id.agent": agent.as_str(), "keys.slot": { "$in": &view.0 } }
}

/// The same for contacts with a label.
pub(super) fn labelled(agent: &AgentId, label: &str, view: &View) -> Document {
    doc! { "_id.agent": agent.as_str(), "keys.labels": label, "keys.slot": { "$in": &view.0 } }
}

/// The finds for a slice of a list, which run until it is complete; each with whether its order is reversed.
pub(super) fn finds(
    conditions: &Document,
    hint: &'static str,
    ranges: &[Range],
    offset: u64,
    limit: u32,
) -> Vec<(Find, bool)> {
    let mut offset = offset;
    let mut finds = Vec::new();
    for Range { filter, sort, size } in ranges {
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
        // A slice nearer to the end of its range is read from there.
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

/// Runs finds.
pub(super) async fn walk(
    reads: &mut DocumentReader<'_>,
    finds: Vec<(Find, bool)>,
) -> Result<Vec<RawDocumentBuf>> {
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

/// The finds of a list that comes from an index.
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
            finds(conditions, hint, &after(*sort, *order, position), 0, *limit)
        }
    }
}
