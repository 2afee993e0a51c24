//! Filter scan: all contacts that match a combination of filters, then the requested part of them in order.
//!
//! The most selective filter yields the candidates, the scan compares each candidate with all filters and counts the
//! matches, which gives the exact total. A few matches are sorted in memory. Of many matches the scan stores one bit each
//! and follows the index of the sort until the page is full: the more contacts match, the sooner.

use openapi_core::contacts::ContactKeys;
use openapi_core::storage::{ContactQuery, ContactSort, SortKey, SortPosition, Window};
use openapi_core::values::{ContactId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, Row, ToSql, params};

use super::counts::{counted, counted_since, counted_with_tag};
use super::index_scan::{IndexScan, ScanOrder, ScanPart, View, column};
use super::query_context::QueryContext;
use super::{candidates, grams, row_number};
use crate::error::Result;
use crate::rows::RowReader;
use crate::thresholds::Thresholds;

/// The interval, in rows, at which a long read checks whether it was cancelled.
pub(super) const CANCEL_CHECK_INTERVAL: u32 = 1_024;

/// The source of the candidates.
enum Source<'a> {
    Email(&'a str),
    Tag(&'a str),
    Since(ContactSort, i64),
    /// The results of the search index.
    Search(String),
    /// The few contacts that the search index allows.
    Numbers(Vec<i64>),
    All,
}

/// The exact number of matches, and the row numbers of the wanted part.
pub(super) fn page(
    db: &Connection,
    agent: i64,
    query: &ContactQuery,
    context: QueryContext<'_>,
) -> Result<(u64, Vec<i64>)> {
    scan(db, agent, query, source(db, agent, query, context.thresholds)?, context)
}

/// As [`page`], among a few contacts that all matches are known to be among.
pub(super) fn among(
    db: &Connection,
    agent: i64,
    query: &ContactQuery,
    numbers: Vec<i64>,
    context: QueryContext<'_>,
) -> Result<(u64, Vec<i64>)> {
    scan(db, agent, query, Source::Numbers(numbers), context)
}

fn scan(
    db: &Connection,
    agent: i64,
    query: &ContactQuery,
    source: Source<'_>,
    context: QueryContext<'_>,
) -> Result<(u64, Vec<i64>)> {
    let view = View::of(&query.filter);
    let mut scan = FilterScan {
        agent,
        view,
        query,
        context,
        rows: 0,
        are_tagged: false,
        scratch: ContactKeys::default(),
        matches: Matches::Few(Vec::new()),
        total: 0,
    };
    scan.collect(db, source)?;
    let FilterScan { total, matches, .. } = scan;
    let numbers = match matches {
        Matches::Few(found) => sorted(found, query),
        Matches::Many(members) => in_order(db, agent, view, query, &members, context)?,
    };
    Ok((total, numbers))
}

/// The filter with the fewest candidates, as far as known without collecting them.
fn source<'a>(
    db: &Connection,
    agent: i64,
    query: &'a ContactQuery,
    thresholds: &Thresholds,
) -> Result<Source<'a>> {
    let (view, filter) = (View::of(&query.filter), &query.filter);
    if let Some(email) = &filter.primary_email {
        return Ok(Source::Email(email));
    }
    let mut fewest = (counted(db, agent, view)?, Source::All);
    if let Some(tag) = &filter.tag {
        let count = counted_with_tag(db, agent, view, tag)?;
        if count <= fewest.0 {
            fewest = (count, Source::Tag(tag));
        }
    }
    if fewest.0 > thresholds.few_candidates_of_a_term
        && let Some(numbers) = candidates::select(db, agent, &filter.search, thresholds)?
    {
        return Ok(Source::Numbers(numbers));
    }
    let search = grams::query(agent, &filter.search);
    for (sort, since) in
        [(ContactSort::CreatedAt, filter.created_since), (ContactSort::UpdatedAt, filter.updated_since)]
    {
        if let Some(since) = since.map(Timestamp::millis) {
            let enough =
                if search.is_some() { thresholds.few_candidates + 1 } else { fewest.0.saturating_add(1) };
            let count = counted_since(db, agent, view, sort, since, enough)?;
            if count < fewest.0 && count < enough {
                fewest = (count, Source::Since(sort, since));
            }
        }
    }
    Ok(match search {
        Some(search) if fewest.0 > thresholds.few_candidates => Source::Search(search),
        _ => fewest.1,
    })
}

/// One bit for each running number.
#[derive(Default)]
pub(super) struct Members(Vec<u64>);

impl Members {
    pub(super) fn insert(&mut self, number: u32) {
        let word = (number / 64) as usize;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    fn contains(&self, number: u32) -> bool {
        self.0.get((number / 64) as usize).is_some_and(|word| word & 1 << (number % 64) != 0)
    }
}

enum Matches {
    Few(Vec<(SortPosition, i64)>),
    Many(Members),
}

struct FilterScan<'a> {
    agent: i64,
    view: View,
    query: &'a ContactQuery,
    context: QueryContext<'a>,
    rows: u32,
    /// Whether the candidates come from the tag.
    are_tagged: bool,
    scratch: ContactKeys,
    matches: Matches,
    total: u64,
}

impl FilterScan<'_> {
    fn collect(&mut self, db: &Connection, source: Source<'_>) -> Result<()> {
        let (agent, (archived, statuses)) = (Value::from(self.agent), self.view.lists());
        let (low, high) = row_number::range(self.agent);
        let view = format!("agent = ?1 AND archived IN ({archived}) AND status IN ({statuses})");
        match source {
            Source::Email(email) => self.candidates(
                db,
                &format!(
                    "SELECT n FROM contact_key INDEXED BY contact_key_by_primary_email \
                     WHERE {view} AND primary_email = ?2 \
                     UNION ALL SELECT n FROM contact_key INDEXED BY contact_key_by_email WHERE agent = ?1 AND email = ?2"
                ),
                &[&agent, &email],
                &[],
            ),
            Source::Tag(tag) => {
                self.are_tagged = true;
                self.candidates(db, &format!("SELECT n FROM contact_tag WHERE {view} AND tag = ?2"), &[&agent, &tag], &[])
            }
            Source::Since(sort, since) => {
                let key = column(sort);
                let index = format!("contact_key INDEXED BY contact_key_by_{key}");
                self.candidates(db, &format!("SELECT n FROM {index} WHERE {view} AND {key} >= ?2"), &[&agent, &since], &[])
            }
            Source::All => self.every(db, low, high),
            Source::Search(terms) => {
                let waiting = self.waiting(db)?;
                self.candidates(
                    db,
                    "SELECT rowid AS n FROM search_gram WHERE search_gram MATCH ?1",
                    &[&terms],
                    &waiting,
                )
            }
            Source::Numbers(numbers) => {
                let waiting = self.waiting(db)?;
                let mut statement = db.prepare_cached(&format!(
                    "SELECT {} FROM contact_key k WHERE k.n = ?1",
                    self.columns()
                ))?;
                for n in numbers {
                    self.read(db, &mut statement, &[&n], &waiting)?;
                }
                Ok(())
            }
        }
    }

    /// Reads the contacts that wait for the search index, and returns their row numbers, sorted: the index is out of
    /// date for them.
    fn waiting(&mut self, db: &Connection) -> Result<Vec<i64>> {
        let (low, high) = row_number::range(self.agent);
        let waiting: Vec<i64> = db
            .prepare_cached("SELECT n FROM search_pending WHERE n BETWEEN ?1 AND ?2 ORDER BY n")?
            .query_map([low, high], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        if !waiting.is_empty() {
            self.candidates(
                db,
                "SELECT n FROM search_pending WHERE n BETWEEN ?1 AND ?2",
                &[&low, &high],
                &[],
            )?;
        }
        Ok(waiting)
    }

    /// Reads the candidates of a statement, except those in `except`, which is sorted.
    fn candidates(&mut self, db: &Connection, sql: &str, bound: &[&dyn ToSql], except: &[i64]) -> Result<()> {
        let mut statement = db.prepare_cached(&format!(
            "SELECT {} FROM ({sql}) s CROSS JOIN contact_key k ON k.n = s.n",
            self.columns()
        ))?;
        self.read(db, &mut statement, bound, except)
    }

    /// Reads all contacts of the agent, in the order of the table.
    fn every(&mut self, db: &Connection, low: i64, high: i64) -> Result<()> {
        let mut statement = db.prepare_cached(&format!(
            "SELECT {} FROM contact_key k WHERE k.n BETWEEN ?1 AND ?2",
            self.columns()
        ))?;
        self.read(db, &mut statement, &[&low, &high], &[])
    }

    fn columns(&self) -> String {
        format!(
            "k.n, k.archived, k.status, k.created_at, k.updated_at, k.id, k.{}, k.primary_email, k.email, \
             k.search, k.digits",
            column(self.query.sort)
        )
    }

    fn read(
        &mut self,
        db: &Connection,
        statement: &mut CachedStatement<'_>,
        bound: &[&dyn ToSql],
        except: &[i64],
    ) -> Result<()> {
        let mut tagged = db.prepare_cached(
            "SELECT 1 FROM contact_tag WHERE agent = ?1 AND tag = ?2 AND archived = ?3 AND status = ?4 \
             AND created_at = ?5 AND id = ?6",
        )?;
        let mut rows = statement.query(bound)?;
        while let Some(row) = rows.next()? {
            self.rows += 1;
            if self.rows.is_multiple_of(CANCEL_CHECK_INTERVAL) {
                self.context.check()?;
            }
            self.candidate(row, &mut tagged, except)?;
        }
        Ok(())
    }

    /// Compares a candidate with every filter.
    fn candidate(&mut self, row: &Row<'_>, tagged: &mut CachedStatement<'_>, except: &[i64]) -> Result<()> {
        let filter = &self.query.filter;
        let mut columns = RowReader::new(row);
        let n = columns.integer()?;
        let (archived, status) = (columns.integer()?, columns.integer()?);
        let (created_at, updated_at) = (columns.time()?, columns.time()?);
        let shown = self.view.shows(archived, status)
            && filter.created_since.is_none_or(|since| created_at >= since)
            && filter.updated_since.is_none_or(|since| updated_at >= since);
        if !shown || except.binary_search(&n).is_ok() {
            return Ok(());
        }
        let id: [u8; 12] = columns.bytes()?;
        let key = match self.query.sort {
            ContactSort::CreatedAt | ContactSort::UpdatedAt => SortKeyRef::Time(columns.time()?),
            ContactSort::FirstName | ContactSort::LastName | ContactSort::PrimaryEmail => {
                SortKeyRef::Text(columns.optional_str()?)
            }
        };
        if let Some(wanted) = &filter.primary_email {
            let sort_key = columns.str()?;
            if columns.optional_str()?.unwrap_or(sort_key) != wanted {
                return Ok(());
            }
        }
        if !filter.search.is_empty() {
            let mut columns = columns.at(9);
            for (scratch, text) in
                [(&mut self.scratch.search, columns.str()?), (&mut self.scratch.digits, columns.str()?)]
            {
                scratch.clear();
                scratch.push_str(text);
            }
            if !filter.search.iter().all(|term| term.matches(&self.scratch)) {
                return Ok(());
            }
        }
        if let Some(tag) = filter.tag.as_ref().filter(|_| !self.are_tagged)
            && !tagged.exists(params![self.agent, tag, archived, status, created_at.millis(), id])?
        {
            return Ok(());
        }
        self.total += 1;
        match &mut self.matches {
            Matches::Few(found) => {
                found.push((SortPosition { key: key.owned(), id: ContactId::from_bytes(id) }, n));
                if found.len() > self.context.thresholds.sorted_matches {
                    let mut members = Members::default();
                    found.iter().for_each(|(_, n)| members.insert(row_number::running(*n)));
                    self.matches = Matches::Many(members);
                }
            }
            Matches::Many(members) => members.insert(row_number::running(n)),
        }
        Ok(())
    }
}

enum SortKeyRef<'a> {
    Time(Timestamp),
    Text(Option<&'a str>),
}

impl SortKeyRef<'_> {
    fn owned(&self) -> SortKey {
        match self {
            SortKeyRef::Time(at) => SortKey::Time(*at),
            SortKeyRef::Text(text) => SortKey::Text(text.map(str::to_owned)),
        }
    }
}

/// The wanted part of a few matches.
fn sorted(mut found: Vec<(SortPosition, i64)>, query: &ContactQuery) -> Vec<i64> {
    let (skip, limit) = match &query.window {
        Window::Page { offset, limit } => (usize::try_from(*offset).unwrap_or(usize::MAX), *limit as usize),
        Window::After { position, limit } => {
            found.retain(|(at, _)| at.compare(position, query.order).is_gt());
            (0, *limit as usize)
        }
    };
    let compare = |(a, _): &(SortPosition, i64), (b, _): &(SortPosition, i64)| a.compare(b, query.order);
    let end = skip.saturating_add(limit);
    if end < found.len() {
        found.select_nth_unstable_by(end, compare);
        found.truncate(end);
    }
    found.sort_unstable_by(compare);
    found.into_iter().skip(skip).map(|(_, n)| n).collect()
}

/// The requested part of many matches, in the order of the sort's index.
pub(super) fn in_order(
    db: &Connection,
    agent: i64,
    view: View,
    query: &ContactQuery,
    members: &Members,
    context: QueryContext<'_>,
) -> Result<Vec<i64>> {
    let (mut skip, limit, following) = match &query.window {
        Window::Page { offset, limit } => (*offset, *limit, None),
        Window::After { position, limit } => (0, *limit, Some(position)),
    };
    let scan =
        IndexScan::new(agent, view, query.sort, query.order, ScanOrder::Sort, ScanPart::All { following });
    let mut statement = db.prepare_cached(&scan.sql)?;
    let mut rows = scan.rows(&mut statement)?;
    let mut numbers = Vec::new();
    let mut steps = 0_u32;
    while numbers.len() < limit as usize {
        let Some(row) = rows.next()? else { break };
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(CANCEL_CHECK_INTERVAL) {
            context.check()?;
        }
        let n: i64 = row.get(0)?;
        if members.contains(row_number::running(n)) {
            if skip > 0 {
                skip -= 1;
            } else {
                numbers.push(n);
            }
        }
    }
    Ok(numbers)
}
