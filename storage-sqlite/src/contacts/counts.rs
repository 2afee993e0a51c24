//! How many contacts a list holds: from counters that each write maintains, or from an index alone.

use openapi_core::storage::ContactSort;
use rusqlite::{Connection, Params, params};

use super::index_scan::{View, column};
use super::offset_seek::IndexRange;
use crate::error::Result;
use crate::rows;

pub(super) fn size(ranges: &[IndexRange]) -> u64 {
    ranges.iter().map(|range| range.size).sum()
}

/// The ranges of a view from a statement with archived, status and the count.
fn shown(db: &Connection, sql: &str, values: impl Params, view: View) -> Result<Vec<IndexRange>> {
    let mut ranges = Vec::new();
    rows::each(db, sql, values, |r| {
        let (archived, status, size) = (r.integer()?, r.integer()?, r.integer()?);
        if view.shows(archived, status) {
            ranges.push(IndexRange { archived, status, size: u64::try_from(size).unwrap_or(0) });
        }
        Ok(())
    })?;
    Ok(ranges)
}

/// The ranges of a view, from the counters.
pub(super) fn ranges(db: &Connection, agent: i64, view: View) -> Result<Vec<IndexRange>> {
    shown(db, "SELECT archived, status, total FROM contact_count WHERE agent = ?1", [agent], view)
}

/// The ranges of a view with a tag, from the counters.
pub(super) fn ranges_with_tag(db: &Connection, agent: i64, view: View, tag: &str) -> Result<Vec<IndexRange>> {
    let sql = "SELECT archived, status, total FROM tag_count WHERE agent = ?1 AND tag = ?2";
    shown(db, sql, params![agent, tag], view)
}

/// How many contacts a view shows.
pub(super) fn counted(db: &Connection, agent: i64, view: View) -> Result<u64> {
    Ok(size(&ranges(db, agent, view)?))
}

/// How many contacts of a view have a tag.
pub(super) fn counted_with_tag(db: &Connection, agent: i64, view: View, tag: &str) -> Result<u64> {
    Ok(size(&ranges_with_tag(db, agent, view, tag)?))
}

fn rows_since(view: View, sort: ContactSort) -> String {
    let key = column(sort);
    let (archived, statuses) = view.lists();
    format!(
        "FROM contact_key INDEXED BY contact_key_by_{key} WHERE agent = ?1 AND archived IN ({archived}) \
         AND status IN ({statuses}) AND {key} >= ?2"
    )
}

/// The ranges of a view that were created or updated since a time, counted in the index alone.
pub(super) fn ranges_since(
    db: &Connection,
    agent: i64,
    view: View,
    sort: ContactSort,
    since: i64,
) -> Result<Vec<IndexRange>> {
    let rows = rows_since(view, sort);
    let sql = format!("SELECT archived, status, count(*) {rows} GROUP BY archived, status");
    shown(db, &sql, [agent, since], view)
}

/// How many contacts of a view were created or updated since a time, counted up to `at_most`, in the index alone.
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
    rows::count(db, &format!("SELECT count(*) FROM (SELECT 1 {rows} LIMIT ?3)"), [agent, since, at_most])
}
