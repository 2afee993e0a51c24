//! Lists with several filters: counted, going by the most telling filter, and then read along the sort or collected and
//! sorted, whichever takes fewer steps.

use std::collections::HashMap;

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use openapi_core::storage::{ContactQuery, ContactSort, Order, SortKey, Window};
use openapi_core::values::{AgentId, ContactId};

use super::list::{self, View};
use super::narrow::{self, Narrowed};
use super::{row, without_keys};
use crate::document::{Fields, bytes, ids, time};
use crate::error::Result;
use crate::ledger::Tally;
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads};

/// Up to how many contacts with a tag the tag leads to them better than grams of a search, and up to how many contacts
/// collecting and sorting them is better than anything else. Few in this crate's own tests, so that they come by every
/// way.
const FEW: u64 = if cfg!(test) { 2 } else { 1_000 };

/// What a list goes by.
#[derive(Clone, Debug)]
struct Access {
    conditions: Document,
    hint: &'static str,
    /// How many entries of the index there are to look at, at most; `None` for as many as match in the end.
    at_most: Option<u64>,
}

/// How many contacts there are, and the documents of a page of them.
pub(super) async fn page(
    reads: &mut Reads<'_>,
    agent: &AgentId,
    view: &View,
    tally: &Tally,
    query: &ContactQuery,
) -> Result<(u64, Vec<RawDocumentBuf>)> {
    let shown = view.sum(&tally.all);
    let access = access(reads, agent, view, shown, query).await?;
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
    // Along the sort as many contacts are passed over as stand between those that match.
    let offset = if let Window::Page { offset, .. } = query.window { offset } else { 0 };
    let walked = (offset + limit).saturating_mul(shown.max(1)) / total.max(1);
    if access.at_most.unwrap_or(total) <= walked.max(FEW) {
        return Ok((total, sorted(reads, agent, &conditions, access.hint, query).await?));
    }
    let mut every = others;
    every.push(access.conditions);
    let conditions = and(&list::shown(agent, view), &every);
    let hint = list::index_of(query.sort);
    let lacking = if list::may_lack(query.sort) && query.order == Order::Descending && offset > 0 {
        let lacking = and(&conditions, &[doc! { list::field(query.sort): false }]);
        reads.count(collection::CONTACTS, lacking, Some(hint)).await?
    } else {
        0
    };
    // Without an offset the pages of both stretches begin at their beginning, whatever their sizes.
    let finds = if offset == 0 && list::may_lack(query.sort) {
        list::straight(&conditions, hint, query, u64::MAX, u64::MAX / 2)
    } else {
        list::straight(&conditions, hint, query, total, lacking)
    };
    Ok((total, list::walk(reads, finds).await?))
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

/// The most telling filter, as conditions that its index answers.
async fn access(
    reads: &mut Reads<'_>,
    agent: &AgentId,
    view: &View,
    shown: u64,
    query: &ContactQuery,
) -> Result<Access> {
    let filter = &query.filter;
    let by_label = |label: &str, at_most| Access {
        conditions: list::labelled(agent, label, view),
        hint: index::CONTACTS_BY_LABEL,
        at_most: Some(at_most),
    };
    if let Some(email) = &filter.primary_email {
        return Ok(by_label(&row::email_label(email), 0));
    }
    let tagged = match &filter.tag {
        Some(tag) => Some(by_label(&row::tag_label(tag), view.sum(&list::tagged(reads, agent, tag).await?))),
        None => None,
    };
    if let Some(tagged) = &tagged
        && tagged.at_most.is_some_and(|count| count <= FEW)
    {
        return Ok(tagged.clone());
    }
    if let Some(Narrowed { grams, at_most }) = narrow::narrow(reads, agent, &filter.search).await? {
        let mut conditions = list::shown(agent, view);
        conditions.insert("keys.grams", doc! { "$in": grams });
        // Where counting stopped there may be any number.
        let at_most = if at_most >= FEW { shown } else { at_most };
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
    let is_telling = filter.search.is_empty();
    let at_most = (!is_telling).then_some(shown);
    Ok(Access { conditions: list::shown(agent, view), hint: list::index_of(sort), at_most })
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
    others.extend(narrow::every_term(&filter.search));
    others
}

/// Collects what matches, sorts it, and reads the contacts of the page.
async fn sorted(
    reads: &mut Reads<'_>,
    agent: &AgentId,
    conditions: &Document,
    hint: &'static str,
    query: &ContactQuery,
) -> Result<Vec<RawDocumentBuf>> {
    let (field, way) = (list::field(query.sort), list::direction(query.order));
    let (mut conditions, mut skip) = (conditions.clone(), 0);
    let limit = match &query.window {
        Window::Page { offset, limit } => {
            skip = i64::try_from(*offset).unwrap_or(i64::MAX);
            *limit
        }
        Window::After { position, limit } => {
            conditions = and(&conditions, &[behind(field, way, position)]);
            *limit
        }
    };
    let mut pipeline = vec![
        doc! { "$match": conditions },
        doc! { "$project": { "key": format!("${field}"), "lacks": { "$eq": [format!("${field}"), false] } } },
        doc! { "$sort": { "lacks": 1, "key": way, "_id.id": way } },
    ];
    if skip > 0 {
        pipeline.push(doc! { "$skip": skip });
    }
    pipeline.push(doc! { "$limit": i64::from(limit) });
    let places = reads.aggregate(collection::CONTACTS, pipeline, Some(hint)).await?;
    let find = Find {
        filter: doc! { "_id": { "$in": ids(&places)? }, "_id.agent": agent.as_str() },
        projection: Some(without_keys()),
        hint: Some(index::BY_KEY),
        ..Find::default()
    };
    let mut contacts: HashMap<ContactId, RawDocumentBuf> = HashMap::new();
    for document in reads.find(collection::CONTACTS, find).await? {
        contacts.insert(ContactId::from_bytes(Fields(&document).id()?), document);
    }
    let of = |place: &RawDocumentBuf| {
        let id = ContactId::from_bytes(Fields(place).id()?);
        contacts.remove(&id).ok_or_else(|| {
            crate::error::corrupt(format_args!("contact {id} of agent {agent} was gone within a snapshot"))
        })
    };
    places.iter().map(of).collect()
}

/// The condition of standing behind a position.
fn behind(field: &str, way: i32, position: &openapi_core::storage::SortPosition) -> Document {
    let beyond = if way > 0 { "$gt" } else { "$lt" };
    let id = Bson::Binary(bytes(position.id.as_bytes()));
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
