//! The search index: updated shortly after the contacts, so no write waits for it.
//!
//! `search_pending` lists the contacts whose searched text differs from the index, with the text that the index
//! contains. A search reads those contacts directly ([`super::filter_scan`]). The writer updates the index when it is
//! idle; each contact of a large update costs a fraction of a single one.

use rusqlite::{Connection, params};

use super::grams::{Searched, difference};
use super::row_number;
use crate::error::Result;
use crate::rows;

/// How many contacts wait for the index.
pub(crate) fn pending(db: &Connection) -> Result<u64> {
    rows::count(db, "SELECT count(*) FROM search_pending", ())
}

/// Whether contacts wait for the index.
pub(super) fn is_out_of_date(db: &Connection) -> Result<bool> {
    rows::exists(db, "SELECT 1 FROM search_pending LIMIT 1", ())
}

/// Records that a new contact is not in the index.
pub(super) fn note_new(db: &Connection, n: i64) -> Result<()> {
    db.prepare_cached("INSERT INTO search_pending (n, search, digits) VALUES (?1, NULL, NULL)")?
        .execute([n])?;
    Ok(())
}

/// Records that the searched text of a contact changes from `before`. For a contact that already waits, the recorded
/// text stays.
pub(super) fn note_change(db: &Connection, n: i64, before: Searched<'_>) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO search_pending (n, search, digits) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
    )?
    .execute(params![n, before.search, before.digits])?;
    Ok(())
}

/// Removes a contact, whose searched text is `current`, from the index at once.
pub(super) fn remove(db: &Connection, n: i64, current: Searched<'_>) -> Result<()> {
    let sql = "DELETE FROM search_pending WHERE n = ?1 RETURNING search, digits";
    let noted = rows::first(db, sql, [n], |r| Ok((r.optional_string()?, r.optional_string()?)))?;
    match &noted {
        None => exchange(db, n, current, Searched::default()),
        Some((None, _)) => Ok(()),
        Some((Some(search), digits)) => {
            let indexed = Searched { search, digits: digits.as_deref().unwrap_or_default() };
            exchange(db, n, indexed, Searched::default())
        }
    }
}

/// Adds up to `at_most` waiting contacts to the index and returns how many still wait.
pub(crate) fn settle(db: &Connection, at_most: u32) -> Result<u64> {
    let sql = "SELECT p.n, p.search, p.digits, k.search, k.digits \
               FROM search_pending p LEFT JOIN contact_key k ON k.n = p.n ORDER BY p.n LIMIT ?1";
    let mut last = None;
    rows::each(db, sql, [at_most], |r| {
        let n = r.integer()?;
        let mut text = || r.optional_str().map(Option::unwrap_or_default);
        let before = Searched { search: text()?, digits: text()? };
        exchange(db, n, before, Searched { search: text()?, digits: text()? })?;
        last = Some(n);
        Ok(())
    })?;
    if let Some(last) = last {
        db.prepare_cached("DELETE FROM search_pending WHERE n <= ?1")?.execute([last])?;
    }
    pending(db)
}

/// How many pages of the index one step of [`tidy`] writes.
const TIDY_PAGES: i64 = 128;

/// Merges segments of the index, a few pages at a time, so that a search reads few segments. Returns whether segments
/// remain to be merged.
pub(crate) fn merge_segments(db: &Connection) -> Result<bool> {
    let before = db.total_changes();
    db.prepare_cached("INSERT INTO search_gram (search_gram, rank) VALUES ('merge', ?1)")?
        .execute([TIDY_PAGES])?;
    // FTS5 counts the command itself as one change.
    Ok(db.total_changes() > before + 1)
}

fn exchange(db: &Connection, n: i64, before: Searched<'_>, after: Searched<'_>) -> Result<()> {
    let (removed, added) = difference(row_number::agent(n), before, after);
    if !removed.is_empty() {
        db.prepare_cached("INSERT INTO search_gram (search_gram, rowid, grams) VALUES ('delete', ?1, ?2)")?
            .execute(params![n, removed])?;
    }
    // FTS5 counts an insertion for each removal, so an insertion follows even when there is nothing to add.
    if !added.is_empty() || !removed.is_empty() && !after.search.is_empty() {
        db.prepare_cached("INSERT INTO search_gram (rowid, grams) VALUES (?1, ?2)")?
            .execute(params![n, added])?;
    }
    Ok(())
}
