//! Lists: a page of contacts and the exact total.
//!
//! Common lists come directly from an index, and their totals from counters that each write updates: their cost does
//! not grow with the number of contacts. Other combinations of filters collect the matches of the most selective filter
//! ([`super::filter_scan`]).

use openapi_core::storage::{ContactFilter, ContactPage, ContactQuery, ContactSort, Window};
use openapi_core::values::AgentId;
use rusqlite::Connection;

use super::counts::{ranges, ranges_since, ranges_with_tag, size};
use super::index_scan::{IndexScan, ScanOrder, ScanPart, View};
use super::offset_seek::IndexRange;
use super::query_context::QueryContext;
use super::{candidates, filter_scan, index, offset_seek, tag_plan};
use crate::error::Result;
use crate::tenant;

/// The largest offset that an index scan skips on the calling thread.
const SHORT_OFFSET: u64 = 500;

/// The only filter of a list besides its view.
enum Only<'a> {
    Nothing,
    Tag(&'a str),
    /// The time and the sort that shares its column.
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

/// The most terms of a search that is tried on the calling thread.
const SHORT_TERMS: usize = 3;

/// Whether a search is worth trying with [`rare`].
pub(super) fn may_be_rare(query: &ContactQuery) -> bool {
    (1..=SHORT_TERMS).contains(&query.filter.search.len())
}

/// The page of a search for a rare text, which takes about as long as a page of a list; `None` when it may take longer,
/// or the search index is not up to date.
pub(super) fn rare(
    db: &Connection,
    agent_id: &AgentId,
    query: &ContactQuery,
    context: QueryContext<'_>,
) -> Result<Option<ContactPage>> {
    let Some(agent) = tenant::living(db, agent_id)?.map(|agent| agent.number) else {
        return Ok(Some(ContactPage::default()));
    };
    if index::is_out_of_date(db)? {
        return Ok(None);
    }
    match candidates::select(db, agent, &query.filter.search, context.thresholds)? {
        Some(numbers) if numbers.len() <= context.thresholds.inline_candidates => {
            let (total, numbers) = filter_scan::among(db, agent, query, numbers, context)?;
            Ok(Some(ContactPage { contacts: super::numbered(db, agent_id, &numbers)?, total }))
        }
        _ => Ok(None),
    }
}

/// The page; an empty one for an absent agent.
pub(super) fn page(
    db: &Connection,
    agent_id: &AgentId,
    query: &ContactQuery,
    context: QueryContext<'_>,
) -> Result<ContactPage> {
    let Some(agent) = tenant::living(db, agent_id)?.map(|agent| agent.number) else {
        return Ok(ContactPage::default());
    };
    let view = View::of(&query.filter);
    let scan = |along, ranges: &[IndexRange]| {
        let numbers = along_index(db, agent, view, query, along, ranges, context)?;
        Ok::<_, crate::error::Error>((size(ranges), numbers))
    };
    let (total, numbers) = match only(&query.filter) {
        Only::Nothing => scan(ScanOrder::Sort, &ranges(db, agent, view)?)?,
        Only::Tag(tag) if query.sort == ContactSort::CreatedAt => {
            scan(ScanOrder::Tag(tag), &ranges_with_tag(db, agent, view, tag)?)?
        }
        Only::Tag(tag) => tag_plan::page(db, agent, view, tag, query, context)?,
        Only::Since(since, sort) if query.sort == sort => {
            scan(ScanOrder::Since(since), &ranges_since(db, agent, view, sort, since)?)?
        }
        _ => filter_scan::page(db, agent, query, context)?,
    };
    Ok(ContactPage { contacts: super::numbered(db, agent_id, &numbers)?, total })
}

/// The row numbers of a page, directly from an index.
fn along_index(
    db: &Connection,
    agent: i64,
    view: View,
    query: &ContactQuery,
    along: ScanOrder<'_>,
    ranges: &[IndexRange],
    context: QueryContext<'_>,
) -> Result<Vec<i64>> {
    let ContactQuery { sort, order, .. } = *query;
    let numbers = |part| IndexScan::new(agent, view, sort, order, along, part).numbers(db);
    match &query.window {
        Window::Page { offset, .. } if *offset >= size(ranges) => Ok(Vec::new()),
        Window::Page { offset, limit } if *offset > context.thresholds.merged_offset => {
            let list = offset_seek::List { db, agent, sort, order, along, ranges, context };
            match list.start(*offset)? {
                (Some(position), skip) => {
                    numbers(ScanPart::After { position: &position, skip, limit: *limit })
                }
                (None, offset) => numbers(ScanPart::Page { offset, limit: *limit }),
            }
        }
        Window::Page { offset, limit } => numbers(ScanPart::Page { offset: *offset, limit: *limit }),
        Window::After { position, limit } => numbers(ScanPart::After { position, skip: 0, limit: *limit }),
    }
}
