//! Lists: a page of contacts with the exact number of all.
//!
//! The lists that people open come straight from an index, and their totals from counters that are kept with each write:
//! neither takes longer the more contacts there are. Other combinations of filters collect what matches, from the most
//! telling of them ([`super::gather`]).

use openapi_core::storage::{ContactFilter, ContactPage, ContactQuery, ContactSort, Window};
use openapi_core::values::AgentId;
use rusqlite::{Connection, params};

use super::gather;
use super::walk::{Along, Part, View, Walk, column};
use crate::agents;
use crate::error::Result;
use crate::readers::Patience;

/// How far into a list an index is walked on the thread that asks.
const SHORT_OFFSET: u64 = 500;

/// The one filter of a list besides its view.
enum Only<'a> {
    Nothing,
    Tag(&'a str),
    /// The instant and the sort that shares its column.
    Since(i64, ContactSort),
    Several,
}

fn only(filter: &ContactFilter) -> Only<'_> {
    match filter {
        ContactFilter { search, primary_email: None, tag, created_since, updated_since, .. }
            if search.is_empty() =>
        {
            match (tag, created_since, updated_since) {
                (None, None, None) => Only::Nothing,
                (Some(tag), None, None) => Only::Tag(tag),
                (None, Some(since), None) => Only::Since(since.millis(), ContactSort::CreatedAt),
                (None, None, Some(since)) => Only::Since(since.millis(), ContactSort::UpdatedAt),
                _ => Only::Several,
            }
        }
        _ => Only::Several,
    }
}

/// Whether a list takes microseconds, whatever is stored.
pub(super) fn is_short(query: &ContactQuery) -> bool {
    let near = match query.window {
        Window::Page { offset, .. } => offset <= SHORT_OFFSET,
        Window::After { .. } => true,
    };
    near && match only(&query.filter) {
        Only::Nothing => true,
        Only::Tag(_) => query.sort == ContactSort::CreatedAt,
        Only::Since(..) | Only::Several => false,
    }
}

/// The page; of an absent agent an empty one.
pub(super) fn page(
    db: &Connection,
    agent_id: &AgentId,
    query: &ContactQuery,
    patience: &Patience<'_>,
) -> Result<ContactPage> {
    let Some(agent) = agents::living(db, agent_id)?.map(|agent| agent.number) else {
        return Ok(ContactPage::default());
    };
    let view = View::of(&query.filter);
    let walk = |along| {
        let part = match &query.window {
            Window::Page { offset, limit } => Part::Page { offset: *offset, limit: *limit },
            Window::After { position, limit } => Part::After { position, limit: *limit },
        };
        Walk::new(agent, view, query.sort, query.order, along, part).numbers(db)
    };
    let (total, numbers) = match only(&query.filter) {
        Only::Nothing => (counted(db, agent, view)?, walk(Along::Sort)?),
        Only::Tag(tag) if query.sort == ContactSort::CreatedAt => {
            (counted_with_tag(db, agent, view, tag)?, walk(Along::Tag(tag))?)
        }
        Only::Since(since, sort) if query.sort == sort => {
            (counted_since(db, agent, view, sort, since, u64::MAX)?, walk(Along::Since(since))?)
        }
        _ => gather::page(db, agent, query, patience)?,
    };
    Ok(ContactPage { contacts: super::numbered(db, agent_id, &numbers)?, total })
}

/// How many contacts a view shows.
pub(super) fn counted(db: &Connection, agent: i64, view: View) -> Result<u64> {
    let mut statement =
        db.prepare_cached("SELECT archived, status, total FROM contact_count WHERE agent = ?1")?;
    let mut rows = statement.query([agent])?;
    let mut total = 0;
    while let Some(row) = rows.next()? {
        if view.shows(row.get(0)?, row.get(1)?) {
            total += row.get::<_, i64>(2)?;
        }
    }
    Ok(u64::try_from(total).unwrap_or(0))
}

/// How many contacts of a view have a tag.
pub(super) fn counted_with_tag(db: &Connection, agent: i64, view: View, tag: &str) -> Result<u64> {
    let mut statement =
        db.prepare_cached("SELECT archived, status, total FROM tag_count WHERE agent = ?1 AND tag = ?2")?;
    let mut rows = statement.query(params![agent, tag])?;
    let mut total = 0;
    while let Some(row) = rows.next()? {
        if view.shows(row.get(0)?, row.get(1)?) {
            total += row.get::<_, i64>(2)?;
        }
    }
    Ok(u64::try_from(total).unwrap_or(0))
}

/// How many contacts of a view were created or updated since an instant, counted up to `at_most`, in the index alone.
pub(super) fn counted_since(
    db: &Connection,
    agent: i64,
    view: View,
    sort: ContactSort,
    since: i64,
    at_most: u64,
) -> Result<u64> {
    let key = column(sort);
    let (archived, statuses) = view.lists();
    let rows = format!(
        "FROM contact_key INDEXED BY contact_key_by_{key} WHERE agent = ?1 AND archived IN ({archived}) \
         AND status IN ({statuses}) AND {key} >= ?2"
    );
    let total: i64 = if at_most == u64::MAX {
        db.prepare_cached(&format!("SELECT count(*) {rows}"))?.query_row([agent, since], |row| row.get(0))?
    } else {
        let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
        db.prepare_cached(&format!("SELECT count(*) FROM (SELECT 1 {rows} LIMIT ?3)"))?
            .query_row([agent, since, at_most], |row| row.get(0))?
    };
    Ok(u64::try_from(total).unwrap_or(0))
}
