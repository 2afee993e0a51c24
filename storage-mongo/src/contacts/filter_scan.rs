//! Lists with several filters: counted by the most selective filter, then either scanned in the order of the sort or collected
//! and sorted, whichever reads fewer contacts.

use std::collections::HashMap;

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::storage::{ContactQuery, ContactSort, Order, SortKey, Window};
use openapi_core::values::{AgentId, ContactId};

use super::candidates::{self, Candidates};
use super::counters;
use super::index_scan::{self as scan, View};
use super::row::{self, without_keys};
use crate::document::{Fields, binary, ids, time};
use crate::error::Result;
use crate::migrate::{collection, index};
use crate::tenant::ContactCounts;
use crate::transaction::{DocumentReader, Find};

/// The filter whose index a list uses.
#[derive(Clone, Debug)]
struct Access {
    conditions: Document,
    hint: &'static str,
    /// The most entries of the index to read; `None` means as many as there are matches.
    at_most: Option<u64>,
}

/// The number of matches, and the documents of a page. `few` is the most matches that are always collected and sorted.
pub(super) async fn page(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    view: &View,
    counts: &ContactCounts,
    query: &ContactQuery,
    few: u64,
) -> Result<(u64, Vec<RawDocumentBuf>)> {
    let shown = view.sum(&counts.all);
    let access = access(reads, agent, view, shown, query, few).await?;
    let others = others(query);
    let conditions = and(&access.conditions, &others);
    let total = reads.count(collection::CONTACTS, conditions.clone(), Some(access.hint)).await?;
    let limit = match query.window {
        Window::Page { offset, limit } => u64::from(limit).min(total.saturating_sub(offset)),
        Window::After { limit, .. } => u64::from(limit).min(total),
    };
    if limit == 0 {
        return Ok((total, Vec::new()));
    }
    // A scan in the order of the sort skips the contacts between the matches.
    let offset = if let Window::Page { offset, .. } = query.window { offset } else { 0 };
    let scanned = (offset + limit).saturating_mul(shown.max(1)) / total.max(1);
    if access.at_most.unwrap_or(total) <= scanned.max(few) {
        return Ok((total, sorted(reads, agent, &conditions, access.hint, query).await?));
    }
    let mut every = others;
    every.push(access.conditions);
    let conditions = and(&scan::shown(agent, view), &every);
    let hint = scan::index_of(query.sort);
    let lacking = if scan::may_lack(query.sort) && query.order == Order::Descending && offset > 0 {
        let lacking = and(&conditions, &[doc! { scan::field(query.sort): false }]);
        reads.count(collection::CONTACTS, lacking, Some(hint)).await?
    } else {
        0
    };
    // Without an offset both ranges are read from their beginning, whatever their sizes.
    let finds = if offset == 0 && scan::may_lack(query.sort) {
        scan::straight(&conditions, hint, query, u64::MAX, u64::MAX / 2)
    } else {
        scan::straight(&conditions, hint, query, total, lacking)
    };
    Ok((total, scan::walk(reads, finds).await?))
}

/// Conditions that all hold.
fn and(first: &Document, others: &[Document]) -> Document {
    if others.is_empty() {
        return first.clone();
    }
    let mut all = vec![first.clone()];
    all.extend_from_slice(others);
    doc! { "$and": all }
}

/// The most selective filter, as conditions on its index.
async fn access(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    view: &View,
    shown: u64,
    query: &ContactQuery,
    few: u64,
) -> Result<Access> {
    let filter = &query.filter;
    let by_label = |label: &str, at_most| Access {
        conditions: scan::labelled(agent, label, view),
        hint: index::CONTACTS_BY_LABEL,
        at_most: Some(at_most),
    };
    if let Some(email) = &filter.primary_email {
        return Ok(by_label(&row::email_label(email), 0));
    }
    let tagged = match &filter.tag {
        Some(tag) => {
            Some(by_label(&row::tag_label(tag), view.sum(&counters::tagged(reads, agent, tag).await?)))
        }
        None => None,
    };
    if let Some(tagged) = &tagged
        && tagged.at_most.is_some_and(|count| count <= few)
    {
        return Ok(tagged.clone());
    }
    if let Some(Candidates { grams, at_most }) = candidates::choose(reads, agent, &filter.search).await? {
        let mut conditions = scan::shown(agent, view);
        conditions.insert("keys.grams", doc! { "$in": grams });
        // The count stopped there, so the number is unknown.
        let at_most = if at_most >= few { shown } else { at_most };
        return Ok(Access { conditions, hint: index::CONTACTS_BY_GRAM, at_most: Some(at_most) });
    }
    if let Some(tagged) = tagged {
        return Ok(tagged);
    }
    let sort = match (filter.created_since, filter.updated_since) {
        (_, Some(_)) if query.sort == ContactSort::UpdatedAt => ContactSort::UpdatedAt,
        (Some(_), _) => ContactSort::CreatedAt,
        (None, Some(_)) => ContactSort::UpdatedAt,
        (None, None) => query.sort,
    };
    let is_selective = filter.search.is_empty();
    let at_most = (!is_selective).then_some(shown);
    Ok(Access { conditions: scan::shown(agent, view), hint: scan::index_of(sort), at_most })
}

/// The conditions of the filters, each on its own.
fn others(query: &ContactQuery) -> Vec<Document> {
    let filter = &query.filter;
    let mut others = Vec::new();
    if let Some(since) = filter.created_since {
        others.push(doc! { "createdAt": { "$gte": time(since) } });
    }
    if let Some(since) = filter.updated_since {
        others.push(doc! { "updatedAt": { "$gte": time(since) } });
    }
    if let Some(tag) = &filter.tag {
        others.push(doc! { "keys.labels": row::tag_label(tag) });
    }
    if let Some(email) = &filter.primary_email {
        others.push(doc! { "keys.labels": row::email_label(email) });
    }
    others.extend(candidates::every_term(&filter.search));
    others
}

/// Collects and sorts the matches, and reads the contacts of the page.
async fn sorted(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    conditions: &Document,
    hint: &'static str,
    query: &ContactQuery,
) -> Result<Vec<RawDocumentBuf>> {
    let (field, direction) = (scan::field(query.sort), scan::direction(query.order));
    let (mut conditions, mut skip) = (conditions.clone(), 0);
    let limit = match &query.window {
        Window::Page { offset, limit } => {
            skip = i64::try_from(*offset).unwrap_or(i64::MAX);
            *limit
        }
        Window::After { position, limit } => {
            conditions = and(&conditions, &[after(field, direction, position)]);
            *limit
        }
    };
    let mut pipeline = vec![
        doc! { "$match": conditions },
        doc! { "$project": { "key": format!("${field}"), "lacks": { "$eq": [format!("${field}"), false] } } },
        doc! { "$sort": { "lacks": 1, "key": direction, "_id.id": direction } },
    ];
    if skip > 0 {
        pipeline.push(doc! { "$skip": skip });
    }
    pipeline.push(doc! { "$limit": i64::from(limit) });
    let page = reads.aggregate(collection::CONTACTS, pipeline, Some(hint)).await?;
    let find = Find {
        filter: doc! { "_id": { "$in": ids(&page)? }, "_id.agent": agent.as_str() },
        projection: Some(without_keys()),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let mut contacts: HashMap<ContactId, RawDocumentBuf> = HashMap::new();
    for document in reads.find(collection::CONTACTS, find).await? {
        contacts.insert(ContactId::from_bytes(Fields(&document).id()?), document);
    }
    let contact = |found: &RawDocumentBuf| {
        let id = ContactId::from_bytes(Fields(found).id()?);
        contacts.remove(&id).ok_or_else(|| {
            crate::error::corrupt(format_args!("contact {id} of agent {agent} is absent from its snapshot"))
        })
    };
    page.iter().map(contact).collect()
}

/// The condition that a contact comes after a position.
fn after(field: &str, direction: i32, position: &openapi_core::storage::SortPosition) -> Document {
    let beyond = if direction > 0 { "$gt" } else { "$lt" };
    let id = Bson::Binary(binary(position.id.as_bytes()));
    let key: Bson = match &position.key {
        SortKey::Time(at) => time(*at).into(),
        SortKey::Text(Some(text)) => text.as_str().into(),
        SortKey::Text(None) => return doc! { field: false, "_id.id": { beyond: id } },
    };
    doc! { "$or": [
        { field: { beyond: key.clone() } },
        { field: key, "_id.id": { beyond: id } },
        { field: false },
    ] }
}
