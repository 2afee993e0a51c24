//! Contacts with a tag, sorted by something else than their creation, which is the order of the tag's own table.
//!
//! The counters say how many have the tag, and so which way is the shortest: to sort the few that have it; to walk along
//! the sort and look at the tags of each contact until the page is full, when many have it; or else to mark all that
//! have it and walk along the sort by the marks.

use openapi_core::storage::{ContactQuery, Window};
use rusqlite::{Connection, params};

use super::gather::{self, BREATH, Members, met};
use super::list::{counted, counted_with_tag};
use super::row_number;
use super::walk::{Along, Part, View, Walk};
use crate::error::Result;
use crate::readers::Patience;

/// About how long one contact takes, in nanoseconds: read and sorted; read and looked up among the tagged; marked;
/// passed on the walk. Tests come to each way with a few contacts.
const SORTED: u64 = if cfg!(test) { 400 } else { 3_500 };
const LOOKED_UP: u64 = if cfg!(test) { 300 } else { 4_000 };
const MARKED: u64 = if cfg!(test) { 200 } else { 100 };
const PASSED: u64 = if cfg!(test) { 100 } else { 250 };

/// How many times as many contacts as expected are looked at before the others are marked after all: those with the tag
/// may all lie at the end of the sort.
const UNEVEN: u64 = if cfg!(test) { 1 } else { 4 };

/// The exact number of matches, and the row numbers of the wanted part.
pub(super) fn page(
    db: &Connection,
    agent: i64,
    view: View,
    tag: &str,
    query: &ContactQuery,
    patience: &Patience<'_>,
) -> Result<(u64, Vec<i64>)> {
    let total = counted_with_tag(db, agent, view, tag)?;
    let until = match &query.window {
        Window::Page { offset, .. } if *offset >= total => return Ok((total, Vec::new())),
        Window::Page { offset, limit } => offset.saturating_add(u64::from(*limit)).min(total),
        Window::After { limit, .. } => u64::from(*limit).min(total),
    };
    let all = u128::from(counted(db, agent, view)?);
    let walked = u64::try_from(u128::from(until) * all / u128::from(total.max(1))).unwrap_or(u64::MAX);
    let sorting = total.saturating_mul(SORTED);
    let looking_up = walked.saturating_mul(LOOKED_UP);
    let marking = total.saturating_mul(MARKED).saturating_add(walked.saturating_mul(PASSED));
    if sorting <= looking_up && sorting <= marking {
        return gather::page(db, agent, query, patience);
    }
    if looking_up <= marking {
        let at_most = walked.saturating_add(16).saturating_mul(UNEVEN);
        if let Some(numbers) = looked_up(db, agent, view, tag, query, at_most, patience)? {
            return Ok((total, numbers));
        }
    }
    let members = marked(db, agent, view, tag, patience)?;
    Ok((total, met(db, agent, view, query, &members, patience)?))
}

/// The wanted part, by looking at the tags of each contact along the sort; `None` when it is not reached within
/// `at_most` contacts.
fn looked_up(
    db: &Connection,
    agent: i64,
    view: View,
    tag: &str,
    query: &ContactQuery,
    at_most: u64,
    patience: &Patience<'_>,
) -> Result<Option<Vec<i64>>> {
    let (mut skip, limit, behind) = match &query.window {
        Window::Page { offset, limit } => (*offset, *limit as usize, None),
        Window::After { position, limit } => (0, *limit as usize, Some(position)),
    };
    let mut has_tag = db.prepare_cached(
        "SELECT 1 FROM contact_key k CROSS JOIN contact_tag t ON t.agent = ?1 AND t.tag = ?2 \
         AND t.archived = k.archived AND t.status = k.status AND t.created_at = k.created_at AND t.id = k.id \
         WHERE k.n = ?3",
    )?;
    let walk = Walk::new(agent, view, query.sort, query.order, Along::Sort, Part::All { behind });
    let mut statement = db.prepare_cached(&walk.sql)?;
    let mut rows = walk.rows(&mut statement)?;
    let (mut numbers, mut steps) = (Vec::new(), 0_u64);
    while numbers.len() < limit {
        let Some(row) = rows.next()? else { break };
        steps += 1;
        if steps > at_most {
            return Ok(None);
        }
        if steps.is_multiple_of(u64::from(BREATH)) {
            patience.check()?;
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
fn marked(db: &Connection, agent: i64, view: View, tag: &str, patience: &Patience<'_>) -> Result<Members> {
    let (archived, statuses) = view.lists();
    let mut statement = db.prepare_cached(&format!(
        "SELECT n FROM contact_tag WHERE agent = ?1 AND tag = ?2 AND archived IN ({archived}) \
         AND status IN ({statuses})"
    ))?;
    let mut rows = statement.query(params![agent, tag])?;
    let (mut members, mut steps) = (Members::default(), 0_u32);
    while let Some(row) = rows.next()? {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(BREATH) {
            patience.check()?;
        }
        members.insert(row_number::running(row.get(0)?));
    }
    Ok(members)
}
