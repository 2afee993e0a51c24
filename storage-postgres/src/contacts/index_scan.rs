//! Index scans: the sort keys and ids of a page in order, from an index.
//!
//! Each index starts with tenant, archived and status. A list of several statuses therefore consists of several ranges of
//! the index (arms), which PostgreSQL merges. Contacts without a sort key come last in both directions, so those with and
//! those without a key are two lists in sequence.

use openapi_core::storage::{ContactFilter, ContactSort, Order, SortKey, SortPosition, Window};

use crate::error::Result;
use crate::rows::{Statement, bounded, code};

/// The combinations of archived and status in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scope {
    include_archived: bool,
    status: Option<i16>,
}

impl Scope {
    pub(super) fn of(filter: &ContactFilter) -> Self {
        Scope { include_archived: filter.include_archived, status: filter.status.map(code) }
    }

    /// The condition that selects its rows of `table`.
    pub(super) fn condition(self, table: &str) -> String {
        let archived = if self.include_archived { "0, 1" } else { "0" };
        let status = self.status.map_or_else(|| "0, 1, 2".to_owned(), |status| status.to_string());
        format!("{table}.archived IN ({archived}) AND {table}.status IN ({status})")
    }

    fn arms(self) -> impl Iterator<Item = (i16, i16)> {
        let all = (0..2).flat_map(|archived| (0..3).map(move |status| (archived, status)));
        all.filter(move |(archived, status)| {
            (self.include_archived || *archived == 0) && self.status.is_none_or(|only| only == *status)
        })
    }
}

/// The column of a sort.
pub(super) const fn column(sort: ContactSort) -> &'static str {
    match sort {
        ContactSort::CreatedAt => "created_at",
        ContactSort::UpdatedAt => "updated_at",
        ContactSort::FirstName => "first_name_key",
        ContactSort::LastName => "last_name_key",
        ContactSort::PrimaryEmail => "primary_email_key",
    }
}

pub(super) const fn may_be_absent(sort: ContactSort) -> bool {
    matches!(sort, ContactSort::FirstName | ContactSort::LastName)
}

pub(super) const fn direction(order: Order) -> &'static str {
    match order {
        Order::Ascending => "",
        Order::Descending => " DESC",
    }
}

/// What an index scan follows; the texts are names of parameters, or a condition.
#[derive(Clone, Copy)]
pub(super) enum ScanOrder<'a> {
    /// The index of the sort.
    Sort,
    /// The contacts with a tag; only for the sort by creation time.
    Tag(&'a str),
    /// The index of a sort by time, from a time on.
    Since(&'a str),
    /// The index of the sort, for contacts that meet a condition.
    Matches(&'a str),
}

/// A position as parameters: the sort key, unless it is absent, and the id.
pub(super) struct Position {
    pub(super) key: Option<String>,
    pub(super) id: String,
}

impl Position {
    pub(super) fn bind(statement: &mut Statement, position: &SortPosition) -> Result<Self> {
        let key = match &position.key {
            SortKey::Time(at) => Some(statement.add(at.millis())?),
            SortKey::Text(Some(text)) => Some(statement.add(text.as_str())?),
            SortKey::Text(None) => None,
        };
        Ok(Position { key, id: statement.add(position.id.as_bytes().as_slice())? })
    }
}

/// Limit and offset as expressions, and the end of the list that they count from.
pub(super) struct Slice {
    limit: String,
    offset: Option<String>,
    is_from_end: bool,
}

impl Slice {
    /// The slice of a window. The limit is in the text, because the best plan depends on it.
    pub(super) fn bind<P>(statement: &mut Statement, window: &Window<P>) -> Result<Self> {
        let (limit, offset) = match window {
            Window::Page { offset: 0, limit } | Window::After { limit, .. } => (limit, None),
            Window::Page { offset, limit } => (limit, Some(statement.add(bounded(*offset))?)),
        };
        Ok(Slice { limit: limit.to_string(), offset, is_from_end: false })
    }

    /// The same rows counted from the end of a list of `total` rows, in the opposite order.
    pub(super) fn from_end(statement: &mut Statement, offset: u64, limit: u32, total: &str) -> Result<Self> {
        let offset = statement.add(bounded(offset))?;
        Ok(Slice {
            limit: format!("greatest(least({limit}, {total} - {offset}), 0)"),
            offset: Some(format!("greatest({total} - {offset} - {limit}, 0)")),
            is_from_end: true,
        })
    }

    pub(super) fn clause(&self) -> String {
        match &self.offset {
            None => format!(" LIMIT {}", self.limit),
            Some(offset) => format!(" LIMIT {} OFFSET {offset}", self.limit),
        }
    }

    /// The limit that each arm needs for the slice.
    fn arm_limit(&self) -> String {
        match &self.offset {
            None => format!(" LIMIT {}", self.limit),
            Some(offset) => format!(" LIMIT {} + {offset}", self.limit),
        }
    }
}

/// An index scan of a page.
pub(super) struct Scan<'a> {
    pub(super) agent: &'a str,
    pub(super) scope: Scope,
    pub(super) sort: ContactSort,
    pub(super) order: Order,
    pub(super) follows: ScanOrder<'a>,
    pub(super) position: Option<Position>,
    pub(super) slice: Slice,
}

impl Scan<'_> {
    /// The query for the sort key and the id of each row, `key` and `id`.
    pub(super) fn sql(&self) -> String {
        if may_be_absent(self.sort) { self.with_absent_keys() } else { self.with_keys() }
    }

    fn after(&self) -> &'static str {
        match self.order {
            Order::Ascending => ">",
            Order::Descending => "<",
        }
    }

    fn direction(&self) -> &'static str {
        match (self.order, self.slice.is_from_end) {
            (Order::Ascending, false) | (Order::Descending, true) => "",
            (Order::Ascending, true) | (Order::Descending, false) => " DESC",
        }
    }

    /// One list. Each arm has its own order and limit: otherwise PostgreSQL does not merge the arms and reads all of them.
    fn list(&self, on_key: &str, clause: &str) -> String {
        let (agent, key, direction) = (self.agent, column(self.sort), self.direction());
        let (source, condition) = match self.follows {
            ScanOrder::Sort => ("contact", String::new()),
            ScanOrder::Tag(tag) => ("contact_tag", format!(" AND tag = {tag}")),
            ScanOrder::Since(since) => ("contact", format!(" AND {key} >= {since}")),
            ScanOrder::Matches(condition) => ("contact", format!(" AND {condition}")),
        };
        let limit = self.slice.arm_limit();
        let arms: Vec<String> = self
            .scope
            .arms()
            .map(|(archived, status)| {
                format!(
                    "(SELECT {key} AS key, id FROM {source} WHERE agent = {agent} AND archived = {archived} \
                     AND status = {status}{condition}{on_key} ORDER BY {key}{direction}, id{direction}{limit})"
                )
            })
            .collect();
        let arms = arms.join(" UNION ALL ");
        format!("SELECT key, id FROM ({arms}) arms ORDER BY key{direction}, id{direction}{clause}")
    }

    fn with_keys(&self) -> String {
        let (key, after) = (column(self.sort), self.after());
        let on_key = match &self.position {
            Some(Position { key: Some(at), id }) => format!(" AND ({key}, id) {after} ({at}, {id})"),
            _ => String::new(),
        };
        self.list(&on_key, &self.slice.clause())
    }

    fn with_absent_keys(&self) -> String {
        let (key, after) = (column(self.sort), self.after());
        let absent = format!(" AND {key} IS NULL");
        let (present, absent) = match &self.position {
            None => (format!(" AND {key} IS NOT NULL"), absent),
            Some(Position { key: Some(at), id }) => {
                (format!(" AND ({key}, id) {after} ({at}, {id})"), absent)
            }
            Some(Position { key: None, id }) => {
                return self.list(&format!("{absent} AND id {after} {id}"), &self.slice.clause());
            }
        };
        // PostgreSQL reads the two lists in the written order, because connections read nothing in parallel; a test holds
        // it.
        let limit = self.slice.arm_limit();
        let (present, absent) = (self.list(&present, &limit), self.list(&absent, &limit));
        let (first, second) = if self.slice.is_from_end { (absent, present) } else { (present, absent) };
        format!("SELECT key, id FROM (({first}) UNION ALL ({second})) both_lists{}", self.slice.clause())
    }
}
