//! Index scan: the row numbers of a list in order, straight from an index.
//!
//! Each index starts with agent, archived and status, so a list of several statuses consists of several ranges of the
//! index (arms), which SQLite merges.

use openapi_core::storage::{ContactFilter, ContactSort, Order, SortKey, SortPosition};
use rusqlite::types::Value;
use rusqlite::{CachedStatement, Connection, Rows, ToSql};

use crate::error::Result;
use crate::rows::{self, code};

/// The combinations of archived and status in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct View {
    include_archived: bool,
    status: Option<i64>,
}

impl View {
    pub(crate) fn of(filter: &ContactFilter) -> Self {
        View { include_archived: filter.include_archived, status: filter.status.map(code) }
    }

    pub(super) fn shows(self, archived: i64, status: i64) -> bool {
        (self.include_archived || archived == 0) && self.status.is_none_or(|only| only == status)
    }

    /// The values of `archived` and of `status`, for SQL.
    pub(super) fn lists(self) -> (&'static str, &'static str) {
        let archived = if self.include_archived { "0, 1" } else { "0" };
        let status = match self.status {
            None => "0, 1, 2",
            Some(0) => "0",
            Some(1) => "1",
            Some(_) => "2",
        };
        (archived, status)
    }

    fn arms(self) -> impl Iterator<Item = (i64, i64)> {
        let all = (0..2).flat_map(|archived| (0..3).map(move |status| (archived, status)));
        all.filter(move |(archived, status)| self.shows(*archived, *status))
    }
}

/// The column of a sort, which is also the name of its index after `contact_key_by_`.
pub(crate) const fn column(sort: ContactSort) -> &'static str {
    match sort {
        ContactSort::CreatedAt => "created_at",
        ContactSort::UpdatedAt => "updated_at",
        ContactSort::FirstName => "first_name",
        ContactSort::LastName => "last_name",
        ContactSort::PrimaryEmail => "primary_email",
    }
}

pub(super) const fn may_be_absent(sort: ContactSort) -> bool {
    matches!(sort, ContactSort::FirstName | ContactSort::LastName)
}

/// The index that is scanned.
#[derive(Clone, Copy)]
pub(crate) enum ScanOrder<'a> {
    /// The index of the sort.
    Sort,
    /// The contacts with a tag; only for the sort by creation.
    Tag(&'a str),
    /// The index of a sort by time, from a time on.
    Since(i64),
}

/// The requested rows of a scan.
#[derive(Clone, Copy)]
pub(crate) enum ScanPart<'a> {
    /// Some after an offset.
    Page { offset: u64, limit: u32 },
    /// Some after a position and a number of further rows.
    After { position: &'a SortPosition, skip: u64, limit: u32 },
    /// All, until the caller stops.
    All { following: Option<&'a SortPosition> },
}

/// The table and index of a scan, the further condition on its rows, and the bound values.
pub(super) fn source(key: &str, along: ScanOrder<'_>) -> (String, String, Vec<(&'static str, Value)>) {
    let index = format!("contact_key INDEXED BY contact_key_by_{key}");
    match along {
        ScanOrder::Sort => (index, String::new(), Vec::new()),
        ScanOrder::Tag(tag) => (
            "contact_tag".to_owned(),
            " AND tag = :tag".to_owned(),
            vec![(":tag", Value::from(tag.to_owned()))],
        ),
        ScanOrder::Since(since) => {
            (index, format!(" AND {key} >= :since"), vec![(":since", Value::from(since))])
        }
    }
}

/// The conditions on the key for the arms of a scan that begins after a position. Without a position one arm holds the
/// contacts with a key and those without. After a position these are separate arms, so that each begins at the right
/// row.
fn conditions(
    sort: ContactSort,
    order: Order,
    position: Option<&SortPosition>,
    bound: &mut Vec<(&'static str, Value)>,
) -> Vec<String> {
    let Some(SortPosition { key: value, id }) = position else { return vec![String::new()] };
    let key = column(sort);
    let after = match order {
        Order::Ascending => ">",
        Order::Descending => "<",
    };
    bound.push((":id", Value::from(id.as_bytes().to_vec())));
    let value = match value {
        SortKey::Time(at) => Some(Value::from(at.millis())),
        SortKey::Text(text) => text.clone().map(Value::from),
    };
    let Some(value) = value else { return vec![format!(" AND {key} IS NULL AND id {after} :id")] };
    bound.push((":key", value));
    let mut conditions = vec![format!(" AND ({key}, id) {after} (:key, :id)")];
    if may_be_absent(sort) {
        conditions.push(format!(" AND {key} IS NULL"));
    }
    conditions
}

/// A scan: the statement and its bound values.
pub(crate) struct IndexScan {
    pub(crate) sql: String,
    pub(super) bound: Vec<(&'static str, Value)>,
}

impl IndexScan {
    pub(crate) fn new(
        agent: i64,
        view: View,
        sort: ContactSort,
        order: Order,
        along: ScanOrder<'_>,
        part: ScanPart<'_>,
    ) -> Self {
        let key = column(sort);
        let direction = match order {
            Order::Ascending => "",
            Order::Descending => " DESC",
        };
        let position = match part {
            ScanPart::Page { .. } => None,
            ScanPart::After { position, .. } => Some(position),
            ScanPart::All { following } => following,
        };
        // SQLite begins at one lower bound: the greater one.
        let (along, position) = match (along, position) {
            (ScanOrder::Since(since), Some(SortPosition { key: SortKey::Time(at), .. }))
                if order == Order::Ascending =>
            {
                if at.millis() < since {
                    (along, None)
                } else {
                    (ScanOrder::Sort, position)
                }
            }
            other => other,
        };
        let (source, condition, mut bound) = source(key, along);
        bound.push((":agent", Value::from(agent)));
        let conditions = conditions(sort, order, position, &mut bound);
        let mut arms = Vec::new();
        for (archived, status) in view.arms() {
            for on_key in &conditions {
                arms.push(format!(
                    "SELECT n, {key} AS key, id FROM {source} WHERE agent = :agent AND archived = {archived} \
                     AND status = {status}{condition}{on_key}"
                ));
            }
        }
        let mut sql = arms.join(" UNION ALL ");
        // SQLite sorts NULL before everything, so it already comes last in a descending order.
        let nulls = if may_be_absent(sort) && order == Order::Ascending { " NULLS LAST" } else { "" };
        sql.push_str(&format!(" ORDER BY key{direction}{nulls}, id{direction}"));
        match part {
            ScanPart::Page { offset, limit } => {
                sql.push_str(" LIMIT :limit OFFSET :offset");
                bound.push((":limit", Value::from(limit)));
                bound.push((":offset", Value::from(i64::try_from(offset).unwrap_or(i64::MAX))));
            }
            ScanPart::After { limit, skip, .. } => {
                sql.push_str(" LIMIT :limit OFFSET :offset");
                bound.push((":limit", Value::from(limit)));
                bound.push((":offset", Value::from(i64::try_from(skip).unwrap_or(i64::MAX))));
            }
            ScanPart::All { .. } => {}
        }
        IndexScan { sql, bound }
    }

    /// The row numbers, all of them.
    pub(super) fn numbers(&self, db: &Connection) -> Result<Vec<i64>> {
        rows::all(db, &self.sql, self.named().as_slice(), |r| r.integer())
    }

    /// The rows, for reading one by one.
    pub(super) fn rows<'s>(&self, statement: &'s mut CachedStatement<'_>) -> Result<Rows<'s>> {
        Ok(statement.query(self.named().as_slice())?)
    }

    fn named(&self) -> Vec<(&str, &dyn ToSql)> {
        self.bound.iter().map(|(name, value)| (*name, value as &dyn ToSql)).collect()
    }
}
