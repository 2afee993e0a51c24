//! Lists: a page of contacts with the exact number of all.
//!
//! The lists that people open come straight from an index, and their totals from counters that are kept with each write:
//! neither takes longer the more contacts there are. Other combinations of filters collect what matches, from the most
//! telling of them ([`super::gather`]).

use openapi_core::storage::{ContactFilter, ContactPage, ContactQuery, ContactSort, Window};
use openapi_core::values::AgentId;
use rusqlite::{Connection, Rows, params};

use super::deep::{self, Stretch};
use super::walk::{Along, Part, View, Walk, column};
use super::{gather, index, narrow, tagged};
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

/// The most terms of a search that is tried on the thread that asks, and the most contacts that it reads there.
const SHORT_TERMS: usize = 3;
const SHORT_CANDIDATES: usize = if cfg!(test) { 2 } else { 32 };

/// Whether a search is worth trying with [`rare`].
pub(super) fn may_be_rare(query: &ContactQuery) -> bool {
    (1..=SHORT_TERMS).contains(&query.filter.search.len())
}

/// The page of a search for something rare, which takes about as long as a page of a list; `None` when it may take
/// longer, or the search index is behind.
pub(super) fn rare(db: &Connection, agent_id: &AgentId, query: &ContactQuery) -> Result<Option<ContactPage>> {
    let Some(agent) = agents::living(db, agent_id)?.map(|agent| agent.number) else {
        return Ok(Some(ContactPage::default()));
    };
    if index::is_behind(db)? {
        return Ok(None);
    }
    match narrow::candidates(db, agent, &query.filter.search)? {
        Some(numbers) if numbers.len() <= SHORT_CANDIDATES => {
            let (total, numbers) = gather::among(db, agent, query, numbers)?;
            Ok(Some(ContactPage { contacts: super::numbered(db, agent_id, &numbers)?, total }))
        }
        _ => Ok(None),
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
    let walk = |along, stretches: &[Stretch]| {
        let numbers = along_index(db, agent, view, query, along, stretches, patience)?;
        Ok::<_, crate::error::Fault>((size(stretches), numbers))
    };
    let (total, numbers) = match only(&query.filter) {
        Only::Nothing => walk(Along::Sort, &stretches(db, agent, view)?)?,
        Only::Tag(tag) if query.sort == ContactSort::CreatedAt => {
            walk(Along::Tag(tag), &stretches_with_tag(db, agent, view, tag)?)?
        }
        Only::Tag(tag) => tagged::page(db, agent, view, tag, query, patience)?,
        Only::Since(since, sort) if query.sort == sort => {
            walk(Along::Since(since), &stretches_since(db, agent, view, sort, since)?)?
        }
        _ => gather::page(db, agent, query, patience)?,
    };
    Ok(ContactPage { contacts: super::numbered(db, agent_id, &numbers)?, total })
}

/// The row numbers of a page straight from an index.
fn along_index(
    db: &Connection,
    agent: i64,
    view: View,
    query: &ContactQuery,
    along: Along<'_>,
    stretches: &[Stretch],
    patience: &Patience<'_>,
) -> Result<Vec<i64>> {
    let ContactQuery { sort, order, .. } = *query;
    let numbers = |part| Walk::new(agent, view, sort, order, along, part).numbers(db);
    match &query.window {
        Window::Page { offset, .. } if *offset >= size(stretches) => Ok(Vec::new()),
        Window::Page { offset, limit } if *offset > deep::NEAR => {
            let list = deep::List { db, agent, sort, order, along, stretches, patience };
            match list.start(*offset)? {
                (Some(position), skip) => numbers(Part::After { position: &position, skip, limit: *limit }),
                (None, offset) => numbers(Part::Page { offset, limit: *limit }),
            }
        }
        Window::Page { offset, limit } => numbers(Part::Page { offset: *offset, limit: *limit }),
        Window::After { position, limit } => numbers(Part::After { position, skip: 0, limit: *limit }),
    }
}

fn size(stretches: &[Stretch]) -> u64 {
    stretches.iter().map(|stretch| stretch.size).sum()
}

/// Reads archived, status and how many.
fn shown(rows: &mut Rows<'_>, view: View) -> Result<Vec<Stretch>> {
    let mut stretches = Vec::new();
    while let Some(row) = rows.next()? {
        let (archived, status) = (row.get(0)?, row.get(1)?);
        if view.shows(archived, status) {
            let size = u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0);
            stretches.push(Stretch { archived, status, size });
        }
    }
    Ok(stretches)
}

/// The stretches of a view, from the counters.
fn stretches(db: &Connection, agent: i64, view: View) -> Result<Vec<Stretch>> {
    let mut statement =
        db.prepare_cached("SELECT archived, status, total FROM contact_count WHERE agent = ?1")?;
    shown(&mut statement.query([agent])?, view)
}

/// The stretches of a view with a tag, from the counters.
fn stretches_with_tag(db: &Connection, agent: i64, view: View, tag: &str) -> Result<Vec<Stretch>> {
    let mut statement =
        db.prepare_cached("SELECT archived, status, total FROM tag_count WHERE agent = ?1 AND tag = ?2")?;
    shown(&mut statement.query(params![agent, tag])?, view)
}

/// How many contacts a view shows.
pub(super) fn counted(db: &Connection, agent: i64, view: View) -> Result<u64> {
    Ok(size(&stretches(db, agent, view)?))
}

/// How many contacts of a view have a tag.
pub(super) fn counted_with_tag(db: &Connection, agent: i64, view: View, tag: &str) -> Result<u64> {
    Ok(size(&stretches_with_tag(db, agent, view, tag)?))
}

fn rows_since(view: View, sort: ContactSort) -> String {
    let key = column(sort);
    let (archived, statuses) = view.lists();
    format!(
        "FROM contact_key INDEXED BY contact_key_by_{key} WHERE agent = ?1 AND archived IN ({archived}) \
         AND status IN ({statuses}) AND {key} >= ?2"
    )
}

/// The stretches of a view that were created or updated since an instant, counted in the index alone.
fn stretches_since(
    db: &Connection,
    agent: i64,
    view: View,
    sort: ContactSort,
    since: i64,
) -> Result<Vec<Stretch>> {
    let rows = rows_since(view, sort);
    let mut statement =
        db.prepare_cached(&format!("SELECT archived, status, count(*) {rows} GROUP BY archived, status"))?;
    shown(&mut statement.query([agent, since])?, view)
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
    let rows = rows_since(view, sort);
    let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
    let total: i64 = db
        .prepare_cached(&format!("SELECT count(*) FROM (SELECT 1 {rows} LIMIT ?3)"))?
        .query_row([agent, since, at_most], |row| row.get(0))?;
    Ok(u64::try_from(total).unwrap_or(0))
}
