//! Candidate selection: the few contacts that can match a rare search term, from samples of its grams.
//!
//! The index does not say how many contacts have a gram, and the list of a frequent gram is long: `@exam` is in nearly
//! every address. The selection reads only the beginning of each gram's list. A list that ends there is complete, and all
//! matches of the term are on it; the intersection of a few such lists is nearly empty. When every list is long, the term
//! is not rare, and the search index yields all contacts that have its grams ([`super::filter_scan`]).

use openapi_core::contacts::SearchTerm;
use rusqlite::{CachedStatement, Connection, params};

use super::grams;
use crate::error::Result;
use crate::thresholds::Thresholds;

/// The row numbers of all contacts that the index allows to match the terms, sorted; `None` when they may be many.
pub(crate) fn select(
    db: &Connection,
    agent: i64,
    terms: &[SearchTerm],
    thresholds: &Thresholds,
) -> Result<Option<Vec<i64>>> {
    let mut found: Option<Vec<i64>> = None;
    let mut statement = db
        .prepare_cached("SELECT rowid FROM search_gram WHERE search_gram MATCH ?1 ORDER BY rowid LIMIT ?2")?;
    for term in terms {
        let Some(looks) = grams::looks(agent, term) else { continue };
        let Some(mut of_term) = all_of(&mut statement, &looks.text, thresholds)? else { continue };
        let mut is_complete = true;
        for digits in &looks.digits {
            match all_of(&mut statement, digits, thresholds)? {
                Some(of_digits) => of_term.extend(of_digits),
                None => is_complete = false,
            }
        }
        if !is_complete {
            continue;
        }
        of_term.sort_unstable();
        of_term.dedup();
        let left = common(found, of_term);
        let is_enough = left.len() <= thresholds.selective;
        found = Some(left);
        if is_enough {
            break;
        }
    }
    Ok(found)
}

/// The contacts that have all of some grams, judged by the short lists among them; `None` when all lists are long.
fn all_of(
    statement: &mut CachedStatement<'_>,
    grams: &[String],
    thresholds: &Thresholds,
) -> Result<Option<Vec<i64>>> {
    let sample_size = thresholds.sample_size;
    let mut found: Option<Vec<i64>> = None;
    for gram in grams {
        let rows = statement.query_map(params![gram, sample_size as i64 + 1], |row| row.get(0))?;
        let list: Vec<i64> = rows.collect::<rusqlite::Result<_>>()?;
        if list.len() > sample_size {
            continue;
        }
        let left = common(found, list);
        let is_enough = left.len() <= thresholds.selective;
        found = Some(left);
        if is_enough {
            break;
        }
    }
    Ok(found)
}

/// The intersection of two sorted lists; without a first list, the second.
fn common(first: Option<Vec<i64>>, mut second: Vec<i64>) -> Vec<i64> {
    if let Some(first) = first {
        second.retain(|n| first.binary_search(n).is_ok());
    }
    second
}
