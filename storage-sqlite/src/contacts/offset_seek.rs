//! Offset seek: where in a list a page with a large offset starts.
//!
//! A list merges ranges of an index, one for each combination of archived and status, and an offset skips every merged
//! row before it. Within one range SQLite skips ten times as fast, and the counters give the size of each range. A seek
//! therefore skips along the longest range to a contact shortly before the page, counts what the other ranges hold up to
//! there, and merges only the rest. It starts at the end of the list when that is nearer.

use openapi_core::storage::{ContactSort, Order, SortKey, SortPosition};
use openapi_core::values::ContactId;
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql};

use super::index_scan::{ScanOrder, column, may_be_absent, source};
use super::query_context::QueryContext;
use crate::error::Result;
use crate::rows;

/// The most seeks for one page. Each reduces the remaining offset to a fraction.
const MAX_SEEKS: u32 = 32;

/// The contacts of one combination of archived and status.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexRange {
    pub(super) archived: i64,
    pub(super) status: i64,
    pub(super) size: u64,
}

/// A list in which a page is sought.
pub(super) struct List<'a> {
    pub(super) db: &'a Connection,
    pub(super) agent: i64,
    pub(super) sort: ContactSort,
    pub(super) order: Order,
    pub(super) along: ScanOrder<'a>,
    pub(super) ranges: &'a [IndexRange],
    pub(super) context: QueryContext<'a>,
}

/// Contacts with a key come before those without, whatever the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// All contacts: the sort has a key for each.
    Any,
    Present,
    Absent,
}

impl Class {
    fn condition(self, key: &str) -> String {
        match self {
            Class::Any => String::new(),
            Class::Present => format!(" AND {key} IS NOT NULL"),
            Class::Absent => format!(" AND {key} IS NULL"),
        }
    }
}

/// The progress of the seek in a class.
struct Passed {
    /// The contact that the seek has reached; `None` before the first.
    at: Option<SortPosition>,
    /// The contacts of each range up to and including that contact.
    of: Vec<u64>,
}

impl Passed {
    fn total(&self) -> u64 {
        self.of.iter().sum()
    }
}

impl List<'_> {
    /// A contact of the list, or none for its beginning, and the number of contacts between it and `offset`.
    pub(super) fn start(&self, offset: u64) -> Result<(Option<SortPosition>, u64)> {
        let all: Vec<u64> = self.ranges.iter().map(|range| range.size).collect();
        let found = if may_be_absent(self.sort) {
            let absent = self
                .ranges
                .iter()
                .map(|range| self.count(range, Class::Absent, None, None))
                .collect::<Result<Vec<_>>>()?;
            let present: Vec<u64> =
                all.iter().zip(&absent).map(|(all, absent)| all.saturating_sub(*absent)).collect();
            let with_key: u64 = present.iter().sum();
            match offset.checked_sub(with_key) {
                Some(further) if further > self.context.thresholds.merged_offset => {
                    self.within(Class::Absent, &absent, further)?
                }
                Some(further) => self
                    .within(Class::Present, &present, with_key)?
                    .map(|(position, skip)| (position, skip + further)),
                None => self.within(Class::Present, &present, offset)?,
            }
        } else {
            self.within(Class::Any, &all, offset)?
        };
        // When the counters disagree with the index the seek fails, and the list itself is read.
        Ok(match found {
            Some((Some(position), skip)) => (Some(position), skip),
            _ => (None, offset),
        })
    }

    /// As [`List::start`], among the contacts of a class, of which each range has some.
    fn within(
        &self,
        class: Class,
        sizes: &[u64],
        offset: u64,
    ) -> Result<Option<(Option<SortPosition>, u64)>> {
        let total: u64 = sizes.iter().sum();
        if offset == 0 || offset > total {
            return Ok(None);
        }
        let mut passed = Passed { at: None, of: vec![0; sizes.len()] };
        if offset > total / 2 {
            let Some(found) = self.back_from_the_end(class, sizes, total - offset + 1)? else {
                return Ok(None);
            };
            passed = found;
        }
        for _ in 0..MAX_SEEKS {
            let ahead = offset.saturating_sub(passed.total());
            if ahead <= self.context.thresholds.merged_offset {
                break;
            }
            let (longest, mut step) = share(sizes, &passed, ahead);
            step = step.saturating_sub(self.margin(ahead));
            while step > 0 {
                self.context.check()?;
                let Some(further) = self.seek(class, self.order, &passed, longest, step)? else {
                    return Ok(None);
                };
                if further.total() <= offset {
                    passed = further;
                    break;
                }
                step /= 2;
            }
            if step == 0 {
                break;
            }
        }
        let skip = offset.saturating_sub(passed.total());
        Ok(Some((passed.at, skip)))
    }

    /// The first of the last `wanted` contacts of the class, or a contact shortly before it.
    fn back_from_the_end(&self, class: Class, sizes: &[u64], wanted: u64) -> Result<Option<Passed>> {
        let mut passed = Passed { at: None, of: vec![0; sizes.len()] };
        let mut last = 0;
        while passed.total() < wanted {
            self.context.check()?;
            let ahead = wanted - passed.total();
            let (longest, step) = share(sizes, &passed, ahead);
            let step = (step + self.margin(ahead) + 1).min(sizes[longest] - passed.of[longest]);
            let backwards = match self.order {
                Order::Ascending => Order::Descending,
                Order::Descending => Order::Ascending,
            };
            match self.seek(class, backwards, &passed, longest, step)? {
                Some(further) if step > 0 => (passed, last) = (further, longest),
                _ => return Ok(None),
            }
        }
        for (of, size) in passed.of.iter_mut().zip(sizes) {
            let Some(before) = size.checked_sub(*of) else { return Ok(None) };
            *of = before;
        }
        passed.of[last] += 1;
        Ok(Some(passed))
    }

    /// By how much the share of a range may differ by chance.
    fn margin(&self, ahead: u64) -> u64 {
        self.context.thresholds.seek_margin * ahead.isqrt()
    }

    /// Skips `by` contacts of one range and counts those of the others on the way.
    fn seek(
        &self,
        class: Class,
        order: Order,
        from: &Passed,
        along: usize,
        by: u64,
    ) -> Result<Option<Passed>> {
        let range = &self.ranges[along];
        let Some(at) = self.nth(range, class, order, from.at.as_ref(), by)? else { return Ok(None) };
        let (low, high) = match order {
            Order::Ascending => (from.at.as_ref(), Some(&at)),
            Order::Descending => (Some(&at), from.at.as_ref()),
        };
        let mut of = from.of.clone();
        for (number, range) in self.ranges.iter().enumerate() {
            of[number] += if number == along { by } else { self.count(range, class, low, high)? };
        }
        Ok(Some(Passed { at: Some(at), of }))
    }

    /// The rows of a range, without bounds. SQLite begins at one lower bound. A position is in the list and therefore
    /// after the time that the list begins with, so it replaces that time.
    fn rows(&self, range: &IndexRange, class: Class, has_low: bool) -> (String, Vec<(&'static str, Value)>) {
        let key = column(self.sort);
        let along = match self.along {
            ScanOrder::Since(_) if has_low => ScanOrder::Sort,
            along => along,
        };
        let (source, condition, mut bound) = source(key, along);
        bound.push((":agent", Value::from(self.agent)));
        let IndexRange { archived, status, .. } = range;
        let rows = format!(
            "FROM {source} WHERE agent = :agent AND archived = {archived} AND status = {status}{condition}{}",
            class.condition(key)
        );
        (rows, bound)
    }

    /// The contact that follows a position by `by` contacts.
    fn nth(
        &self,
        range: &IndexRange,
        class: Class,
        order: Order,
        from: Option<&SortPosition>,
        by: u64,
    ) -> Result<Option<SortPosition>> {
        let key = column(self.sort);
        let has_low = from.is_some() && order == Order::Ascending;
        let (rows, mut bound) = self.rows(range, class, has_low);
        let (direction, following) = match order {
            Order::Ascending => ("", ">"),
            Order::Descending => (" DESC", "<"),
        };
        let mut sql = format!("SELECT {key}, id {rows}");
        bind(&mut sql, &mut bound, key, class, following, from, (":key", ":id"));
        let by_key = if class == Class::Absent { String::new() } else { format!("{key}{direction}, ") };
        sql.push_str(&format!(" ORDER BY {by_key}id{direction} LIMIT 1 OFFSET :skip"));
        bound.push((":skip", Value::from(i64::try_from(by.saturating_sub(1)).unwrap_or(i64::MAX))));
        rows::first(self.db, &sql, named(&bound).as_slice(), |r| {
            let key = match self.sort {
                ContactSort::CreatedAt | ContactSort::UpdatedAt => SortKey::Time(r.time()?),
                ContactSort::FirstName | ContactSort::LastName | ContactSort::PrimaryEmail => {
                    SortKey::Text(r.optional_string()?)
                }
            };
            Ok(SortPosition { key, id: ContactId::from_bytes(r.bytes()?) })
        })
    }

    /// How many rows of a range are between two positions.
    fn count(
        &self,
        range: &IndexRange,
        class: Class,
        low: Option<&SortPosition>,
        high: Option<&SortPosition>,
    ) -> Result<u64> {
        let key = column(self.sort);
        let (rows, mut bound) = self.rows(range, class, low.is_some());
        let mut sql = format!("SELECT count(*) {rows}");
        bind(&mut sql, &mut bound, key, class, ">", low, (":low", ":low_id"));
        bind(&mut sql, &mut bound, key, class, "<", high, (":high", ":high_id"));
        rows::count(self.db, &sql, named(&bound).as_slice())
    }
}

/// The range with the most remaining rows, and its share of the next `ahead` contacts if all are mixed evenly.
fn share(sizes: &[u64], passed: &Passed, ahead: u64) -> (usize, u64) {
    let left = |number: usize| sizes[number].saturating_sub(passed.of[number]);
    let longest = (0..sizes.len()).max_by_key(|number| left(*number)).unwrap_or(0);
    let all: u64 = (0..sizes.len()).map(left).sum();
    let share = u128::from(ahead) * u128::from(left(longest)) / u128::from(all.max(1));
    (longest, u64::try_from(share).unwrap_or(u64::MAX))
}

/// Adds a bound to a statement.
fn bind(
    sql: &mut String,
    bound: &mut Vec<(&'static str, Value)>,
    key: &str,
    class: Class,
    compare: &str,
    position: Option<&SortPosition>,
    (value_name, id_name): (&'static str, &'static str),
) {
    let Some(SortPosition { key: value, id }) = position else { return };
    bound.push((id_name, Value::from(id.as_bytes().to_vec())));
    if class == Class::Absent {
        sql.push_str(&format!(" AND id {compare} {id_name}"));
        return;
    }
    sql.push_str(&format!(" AND ({key}, id) {compare} ({value_name}, {id_name})"));
    let value = match value {
        SortKey::Time(at) => Value::from(at.millis()),
        SortKey::Text(text) => text.clone().map_or(Value::Null, Value::from),
    };
    bound.push((value_name, value));
}

fn named<'b>(bound: &'b [(&'static str, Value)]) -> Vec<(&'b str, &'b dyn ToSql)> {
    bound.iter().map(|(name, value)| (*name, value as &dyn ToSql)).collect()
}
