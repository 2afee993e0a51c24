//! Walking along a sort: the places of a list in order, straight from an index.
//!
//! Each index leads with agent, archived and status, so a list of several statuses is made of several stretches of it
//! (arms), which PostgreSQL merges as it goes. A key that may be absent stands last in both directions, so that the
//! contacts that have it and those that have not are two lists, one behind the other.

use openapi_core::storage::{ContactFilter, ContactSort, Order, SortKey, SortPosition, Window};

use super::row::status_number;
use crate::error::Result;
use crate::rows::{Statement, bounded};

/// The combinations of archived and status that a list shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct View {
    include_archived: bool,
    status: Option<i16>,
}

impl View {
    pub(super) fn of(filter: &ContactFilter) -> Self {
        View { include_archived: filter.include_archived, status: filter.status.map(status_number) }
    }

    /// The condition that rows of `table` belong to it.
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

/// What is walked along; the texts are names of parameters, or a condition.
#[derive(Clone, Copy)]
pub(super) enum Along<'a> {
    /// The index of the sort.
    Sort,
    /// The contacts with a tag; only for the sort by creation.
    Tag(&'a str),
    /// The index of a sort by time, from an instant on.
    Since(&'a str),
    /// The index of the sort, of those that meet a condition.
    Matches(&'a str),
}

/// A position as parameters: the key, unless it is absent, and the id.
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

/// How many rows are wanted behind how many, as expressions; and from which end of the list.
pub(super) struct Part {
    limit: String,
    offset: Option<String>,
    is_from_end: bool,
}

impl Part {
    /// The part of a window. The limit stands in the text, because the best plan depends on it.
    pub(super) fn bind<P>(statement: &mut Statement, window: &Window<P>) -> Result<Self> {
        let (limit, offset) = match window {
            Window::Page { offset: 0, limit } | Window::After { limit, .. } => (limit, None),
            Window::Page { offset, limit } => (limit, Some(statement.add(bounded(*offset))?)),
        };
        Ok(Part { limit: limit.to_string(), offset, is_from_end: false })
    }

    /// The same rows, counted from the end of a list of `total` rows; in the opposite order.
    pub(super) fn from_end(statement: &mut Statement, offset: u64, limit: u32, total: &str) -> Result<Self> {
        let offset = statement.add(bounded(offset))?;
        Ok(Part {
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

    /// As many rows of a part of the list as may be needed.
    fn reach(&self) -> String {
        match &self.offset {
            None => format!(" LIMIT {}", self.limit),
            Some(offset) => format!(" LIMIT {} + {offset}", self.limit),
        }
    }
}

/// The places of a page, `key` and `id`.
pub(super) fn places(
    agent: &str,
    view: View,
    (sort, order): (ContactSort, Order),
    along: Along<'_>,
    position: Option<&Position>,
    part: &Part,
) -> String {
    let key = column(sort);
    let (source, condition) = match along {
        Along::Sort => ("contact", String::new()),
        Along::Tag(tag) => ("contact_tag", format!(" AND tag = {tag}")),
        Along::Since(since) => ("contact", format!(" AND {key} >= {since}")),
        Along::Matches(condition) => ("contact", format!(" AND {condition}")),
    };
    let behind = match order {
        Order::Ascending => ">",
        Order::Descending => "<",
    };
    let direction = match (order, part.is_from_end) {
        (Order::Ascending, false) | (Order::Descending, true) => "",
        (Order::Ascending, true) | (Order::Descending, false) => " DESC",
    };
    let reach = part.reach();
    // Each arm is sorted and bounded on its own: else PostgreSQL does not know that they can be merged, and reads all.
    let list = |on_key: &str, clause: &str| {
        let arms: Vec<String> = view
            .arms()
            .map(|(archived, status)| {
                format!(
                    "(SELECT {key} AS key, id FROM {source} WHERE agent = {agent} AND archived = {archived} \
                     AND status = {status}{condition}{on_key} ORDER BY {key}{direction}, id{direction}{reach})"
                )
            })
            .collect();
        let arms = arms.join(" UNION ALL ");
        format!("SELECT key, id FROM ({arms}) arms ORDER BY key{direction}, id{direction}{clause}")
    };
    if !may_be_absent(sort) {
        let on_key = match position {
            Some(Position { key: Some(at), id }) => format!(" AND ({key}, id) {behind} ({at}, {id})"),
            _ => String::new(),
        };
        return list(&on_key, &part.clause());
    }
    let absent = format!(" AND {key} IS NULL");
    let present = format!(" AND {key} IS NOT NULL");
    let (present, absent) = match position {
        None => (Some(present), absent),
        Some(Position { key: Some(at), id }) => {
            (Some(format!(" AND ({key}, id) {behind} ({at}, {id})")), absent)
        }
        Some(Position { key: None, id }) => (None, format!("{absent} AND id {behind} {id}")),
    };
    match present {
        None => list(&absent, &part.clause()),
        // The two lists are read in the written order: connections are set up so that nothing is read in parallel, and
        // a test holds it.
        Some(present) => {
            let (present, absent) = (list(&present, &reach), list(&absent, &reach));
            let (first, second) = if part.is_from_end { (absent, present) } else { (present, absent) };
            format!("SELECT key, id FROM (({first}) UNION ALL ({second})) both_lists{}", part.clause())
        }
    }
}
