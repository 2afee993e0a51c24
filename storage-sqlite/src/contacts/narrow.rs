//! Narrowing: the few contacts in which a rare search term can occur, by short looks at its grams.
//!
//! The index does not say how many contacts have a gram, and the list of one that many have is long: `@exam` is in
//! nearly every address. So of each gram only the beginning of its list is read. A list that ends there is complete, and
//! the contacts on it are all that the term can occur in; a few such lists together leave next to none. When each look
//! finds a long list, the term is not rare, and the index is asked for all that have its grams ([`super::gather`]).

use openapi_core::contacts::SearchTerm;
use rusqlite::{CachedStatement, Connection, params};

use super::grams;
use crate::error::Result;

/// How many contacts on the list of a gram are read at most. Tests pass it with a few contacts.
const LOOK: usize = if cfg!(test) { 3 } else { 128 };

/// How few candidates are cheaper to read than a further list.
const ENOUGH: usize = if cfg!(test) { 1 } else { 12 };

/// The row numbers of all contacts that the index allows to match the terms, sorted; `None` when they may be many.
pub(crate) fn candidates(db: &Connection, agent: i64, terms: &[SearchTerm]) -> Result<Option<Vec<i64>>> {
    let mut found: Option<Vec<i64>> = None;
    let mut statement = db
        .prepare_cached("SELECT rowid FROM search_gram WHERE search_gram MATCH ?1 ORDER BY rowid LIMIT ?2")?;
    for term in terms {
        let Some(looks) = grams::looks(agent, term) else { continue };
        let Some(mut of_term) = all_of(&mut statement, &looks.text)? else { continue };
        if let Some(digits) = &looks.digits {
            let Some(of_digits) = all_of(&mut statement, digits)? else { continue };
            of_term.extend(of_digits);
            of_term.sort_unstable();
            of_term.dedup();
        }
        let left = common(found, of_term);
        let is_enough = left.len() <= ENOUGH;
        found = Some(left);
        if is_enough {
            break;
        }
    }
    Ok(found)
}

/// The contacts that have all of some grams, as far as the short lists among them tell; `None` when all are long.
fn all_of(statement: &mut CachedStatement<'_>, grams: &[String]) -> Result<Option<Vec<i64>>> {
    let mut found: Option<Vec<i64>> = None;
    for gram in grams {
        let rows = statement.query_map(params![gram, LOOK as i64 + 1], |row| row.get(0))?;
        let list: Vec<i64> = rows.collect::<rusqlite::Result<_>>()?;
        if list.len() > LOOK {
            continue;
        }
        let left = common(found, list);
        let is_enough = left.len() <= ENOUGH;
        found = Some(left);
        if is_enough {
            break;
        }
    }
    Ok(found)
}

/// What two sorted lists have in common; the first may not be known yet.
fn common(first: Option<Vec<i64>>, mut second: Vec<i64>) -> Vec<i64> {
    if let Some(first) = first {
        second.retain(|n| first.binary_search(n).is_ok());
    }
    second
}
