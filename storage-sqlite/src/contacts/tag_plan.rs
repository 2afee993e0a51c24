//! The cost model for contacts with a tag in any sort but the one by creation time, which is the order of the tag's own
//! table.
//!
//! The counters say how many contacts have the tag, and so which plan is the cheapest: sort the few that have it; scan the
//! index of the sort and look up the tag of each contact, when many have it; or mark all that have it and scan the index
//! of the sort for the marks.

use openapi_core::storage::{ContactQuery, Window};
use rusqlite::{Connection, params};

use super::counts::{counted, counted_with_tag};
use super::filter_scan::{self, CANCEL_CHECK_INTERVAL, Members, in_order};
use super::index_scan::{IndexScan, ScanOrder, ScanPart, View};
use super::query_context::QueryContext;
use super::row_number;
use crate::error::Result;

/// The exact number of matches, and the row numbers of the wanted part.
pub(super) fn page(
    db: &Connection,
    agent: i64,
    view: View,
    tag: &str,
    query: &ContactQuery,
    context: QueryContext<'_>,
) -> Result<(u64, Vec<i64>)> {
    let total = counted_with_tag(db, agent, view, tag)?;
    let until = match &query.window {
        Window::Page { offset, .. } if *offset >= total => return Ok((total, Vec::new())),
        Window::Page { offset, limit } => offset.saturating_add(u64::from(*limit)).min(total),
        Window::After { limit, .. } => u64::from(*limit).min(total),
    };
    let all = u128::from(counted(db, agent, view)?);
    let walked = u64::try_from(u128::from(until) * all / u128::from(total.max(1))).unwrap_or(u64::MAX);
    let costs = context.thresholds;
    let sorting = total.saturating_mul(costs.cost_sort_ns);
    let looking_up = walked.saturating_mul(costs.cost_lookup_ns);
    let marking =
        total.saturating_mul(costs.cost_mark_ns).saturating_add(walked.saturating_mul(costs.cost_pass_ns));
    if sorting <= looking_up && sorting <= marking {
        return filter_scan::page(db, agent, query, context);
    }
    if looking_up <= marking {
        let at_most = walked.saturating_add(16).saturating_mul(costs.skew);
        if let Some(numbers) = looked_up(db, agent, view, tag, query, at_most, context)? {
            return Ok((total, numbers));
        }
    }
    let members = marked(db, agent, view, tag, context)?;
    Ok((total, in_order(db, agent, view, query, &members, context)?))
}

/// The requested part, by looking up the tags of each contact along the sort; `None` when it is not reached within
/// `at_most` contacts.
fn looked_up(
    db: &Connection,
    agent: i64,
    view: View,
    tag: &str,
    query: &ContactQuery,
    at_most: u64,
    context: QueryContext<'_>,
) -> Result<Option<Vec<i64>>> {
    let (mut skip, limit, following) = match &query.window {
        Window::Page { offset, limit } => (*offset, *limit as usize, None),
        Window::After { position, limit } => (0, *limit as usize, Some(position)),
    };
    let mut has_tag = db.prepare_cached(
        "SELECT 1 FROM contact_key k CROSS JOIN contact_tag t ON t.agent = ?1 AND t.tag = ?2 \
         AND t.archived = k.archived AND t.status = k.status AND t.created_at = k.created_at AND t.id = k.id \
         WHERE k.n = ?3",
    )?;
    let scan =
        IndexScan::new(agent, view, query.sort, query.order, ScanOrder::Sort, ScanPart::All { following });
    let mut statement = db.prepare_cached(&scan.sql)?;
    let mut rows = scan.rows(&mut statement)?;
    let (mut numbers, mut steps) = (Vec::new(), 0_u64);
    while numbers.len() < limit {
        let Some(row) = rows.next()? else { break };
        steps += 1;
        if steps > at_most {
            return Ok(None);
        }
        if steps.is_multiple_of(u64::from(CANCEL_CHECK_INTERVAL)) {
            context.check()?;
        }
        let n: i64 = row.get(0)?;
        if has_tag.exists(params![agent, tag, n])? {
            if skip > 0 {
                skip -= 1;
            } else {
                numbers.push(n);
            }
        }
    }
    Ok(Some(numbers))
}

/// All contacts of a view that have a tag.
fn marked(db: &Connection, agent: i64, view: View, tag: &str, context: QueryContext<'_>) -> Result<Members> {
    let (archived, statuses) = view.lists();
    let mut statement = db.prepare_cached(&format!(
        "SELECT n FROM contact_tag WHERE agent = ?1 AND tag = ?2 AND archived IN ({archived}) \
         AND status IN ({statuses})"
    ))?;
    let mut rows = statement.query(params![agent, tag])?;
    let (mut members, mut steps) = (Members::default(), 0_u32);
    while let Some(row) = rows.next()? {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(CANCEL_CHECK_INTERVAL) {
            context.check()?;
        }
        members.insert(row_number::running(row.get(0)?));
    }
    Ok(members)
}
