//! Lists: a page of contacts with the exact number of all, in one statement.
//!
//! The lists that people open come straight from an index, and their totals from counters that are kept with each write:
//! neither takes longer the more contacts there are. Other combinations of filters collect what matches, a search from
//! the trigram index.

use openapi_core::contacts::SearchTerm;
use openapi_core::storage::{ContactFilter, ContactPage, ContactQuery, ContactSort, Order, Window};
use openapi_core::values::AgentId;
use sqlx::postgres::PgRow;

use super::row;
use super::walk::{self, Along, Part, Position, View, column, direction, may_be_absent};
use crate::connect::Ways;
use crate::error::Result;
use crate::rows::{Columns, Statement};

/// The one filter of a list besides its view.
enum Only<'a> {
    Nothing,
    Tag(&'a str),
    /// The instant and the sort that shares its column.
    Since(i64, ContactSort),
    /// A search.
    Search,
    Several,
}

fn only(filter: &ContactFilter) -> Only<'_> {
    match filter {
        ContactFilter { search, primary_email: None, tag, created_since, updated_since, .. }
            if search.is_empty() =>
        {
            match (tag, created_since, updated_since) {
                (None, None, None) => Only::Nothing,
                (Some(tag), None, None) => Only::Tag(tag),
                (None, Some(since), None) => Only::Since(since.millis(), ContactSort::CreatedAt),
                (None, None, Some(since)) => Only::Since(since.millis(), ContactSort::UpdatedAt),
                _ => Only::Several,
            }
        }
        ContactFilter {
            tag: None, primary_email: None, created_since: None, updated_since: None, ..
        } => Only::Search,
        _ => Only::Several,
    }
}

/// From how many rows on a page is far behind the beginning of its list.
const FAR: u64 = if cfg!(test) { 2 } else { 2_048 };

/// Whether a page is so far behind that it is worth asking first which end of the list is nearer.
pub(super) fn may_be_nearer_to_the_end(query: &ContactQuery) -> bool {
    let is_walk = match only(&query.filter) {
        Only::Nothing => true,
        Only::Tag(_) => query.sort == ContactSort::CreatedAt,
        Only::Since(_, sort) => query.sort == sort,
        Only::Search | Only::Several => false,
    };
    is_walk && matches!(query.window, Window::Page { offset, .. } if offset > FAR)
}

/// The further ways in which a page is read, where it does not come straight from an index.
pub(crate) fn ways(query: &ContactQuery) -> Option<Ways> {
    match only(&query.filter) {
        Only::Nothing => None,
        Only::Search => Some(Ways::Sorting),
        Only::Tag(_) => (query.sort != ContactSort::CreatedAt).then_some(Ways::Joining),
        Only::Since(_, sort) => (query.sort != sort).then_some(Ways::Joining),
        Only::Several => Some(Ways::Joining),
    }
}

/// The statement that counts a list: about how many there are when its page is asked for.
pub(super) fn size(agent: &AgentId, query: &ContactQuery) -> Result<Statement> {
    let window = Window::Page { offset: 0, limit: 0 };
    page(agent, &ContactQuery { window, ..query.clone() })
}

/// The statement of a page: in each row the number of all and a contact, or nothing behind the last; no row at all for
/// an agent that is not there.
pub(crate) fn page(agent: &AgentId, query: &ContactQuery) -> Result<Statement> {
    statement(agent, query, false)
}

/// The same for a page that is nearer to the end of its list, and so is walked to from there.
pub(super) fn page_from_end(agent: &AgentId, query: &ContactQuery) -> Result<Statement> {
    statement(agent, query, true)
}

fn statement(agent: &AgentId, query: &ContactQuery, is_from_end: bool) -> Result<Statement> {
    let view = View::of(&query.filter);
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let counted = |table: &str, condition: &str| {
        format!(
            "SELECT coalesce(sum(n.total), 0)::bigint AS total FROM {table} n WHERE n.agent = {agent}{condition} \
             AND {}",
            view.condition("n")
        )
    };
    match only(&query.filter) {
        Only::Nothing => {
            let total = counted("contact_count", "");
            walked(statement, &agent, view, query, Along::Sort, &total, is_from_end)
        }
        Only::Tag(tag) if query.sort == ContactSort::CreatedAt => {
            let tag = statement.add(tag)?;
            let total = counted("tag_count", &format!(" AND n.tag = {tag}"));
            walked(statement, &agent, view, query, Along::Tag(&tag), &total, is_from_end)
        }
        Only::Since(since, sort) if query.sort == sort => {
            let since = statement.add(since)?;
            let total = format!(
                "SELECT count(*) AS total FROM contact n WHERE n.agent = {agent} AND {} AND n.{} >= {since}",
                view.condition("n"),
                column(sort)
            );
            walked(statement, &agent, view, query, Along::Since(&since), &total, is_from_end)
        }
        Only::Search => searched(statement, &agent, view, query),
        _ => collected(statement, &agent, view, query),
    }
}

/// A page of a search without other filters. Its matches are counted in what is searched alone. By what it knows of the
/// term, PostgreSQL collects the few that match, or walks along the sort until the page is full when many do.
fn searched(mut statement: Statement, agent: &str, view: View, query: &ContactQuery) -> Result<Statement> {
    statement.is_kept = false;
    let terms = terms(&mut statement, &query.filter.search)?;
    let total = format!(
        "SELECT count(*) AS total FROM contact_search s WHERE s.agent = {agent} AND {}{terms}",
        view.condition("s")
    );
    let matches = format!(
        "EXISTS (SELECT 1 FROM contact_search s WHERE s.agent = {agent} AND s.id = contact.id{terms})"
    );
    walked(statement, agent, view, query, Along::Matches(&matches), &total, false)
}

/// The conditions that every term matches what is searched, `s`.
fn terms(statement: &mut Statement, terms: &[SearchTerm]) -> Result<String> {
    let mut sql = String::new();
    for SearchTerm { text, digits } in terms {
        let text = statement.add(pattern(text))?;
        match digits {
            None => sql.push_str(&format!(" AND s.search LIKE {text}")),
            Some(digits) => {
                let digits = statement.add(pattern(digits))?;
                sql.push_str(&format!(" AND (s.search LIKE {text} OR s.digits LIKE {digits})"));
            }
        }
    }
    Ok(sql)
}

/// A page straight from an index.
fn walked(
    mut statement: Statement,
    agent: &str,
    view: View,
    query: &ContactQuery,
    along: Along<'_>,
    total: &str,
    is_from_end: bool,
) -> Result<Statement> {
    let position = match &query.window {
        Window::Page { .. } => None,
        Window::After { position, .. } => Some(Position::bind(&mut statement, position)?),
    };
    let (part, total) = match query.window {
        Window::Page { offset, limit } if is_from_end => {
            statement.push(&format!("WITH counted AS MATERIALIZED ({total}) "));
            let total = "SELECT total FROM counted";
            (Part::from_end(&mut statement, offset, limit, &format!("({total})"))?, total)
        }
        _ => (Part::bind(&mut statement, &query.window)?, total),
    };
    let places = walk::places(agent, view, (query.sort, query.order), along, position.as_ref(), &part);
    shown(&mut statement, agent, query, total, &places);
    Ok(statement)
}

/// A page of what is collected first: its best plan depends on the values.
fn collected(mut statement: Statement, agent: &str, view: View, query: &ContactQuery) -> Result<Statement> {
    statement.is_kept = false;
    let found = found(&mut statement, agent, view, query)?;
    let nulls = nulls(query);
    let (key_order, direction) = (format!("{}{nulls}", direction(query.order)), direction(query.order));
    let behind = match query.order {
        Order::Ascending => ">",
        Order::Descending => "<",
    };
    let on_key = match &query.window {
        Window::Page { .. } => String::new(),
        Window::After { position, .. } => {
            let Position { key, id } = Position::bind(&mut statement, position)?;
            match key {
                Some(key) => format!(" WHERE (key, id) {behind} ({key}, {id}) OR key IS NULL"),
                None => format!(" WHERE key IS NULL AND id {behind} {id}"),
            }
        }
    };
    let part = Part::bind(&mut statement, &query.window)?.clause();
    statement.push(&format!("WITH found AS MATERIALIZED ({found}) "));
    let places = format!("SELECT key, id FROM found{on_key} ORDER BY key{key_order}, id{direction}{part}");
    shown(&mut statement, agent, query, "SELECT count(*) AS total FROM found", &places);
    Ok(statement)
}

fn nulls(query: &ContactQuery) -> &'static str {
    if may_be_absent(query.sort) { " NULLS LAST" } else { "" }
}

/// Adds the contacts at `places` and the total. The limit on each contact makes PostgreSQL look them up one by one: else
/// it may read all of an agent that it takes for a small one.
fn shown(statement: &mut Statement, agent: &str, query: &ContactQuery, total: &str, places: &str) {
    let direction = direction(query.order);
    let nulls = nulls(query);
    statement.push(&format!(
        "SELECT t.total, {} FROM ({total}) t LEFT JOIN ({places}) p ON true \
         LEFT JOIN LATERAL (SELECT c.* FROM contact c WHERE c.agent = {agent} AND c.id = p.id LIMIT 1) c ON true \
         WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY p.key{direction}{nulls}, p.id{direction}",
        row::columns!()
    ));
}

/// All that a filter lets through, `key` and `id`.
fn found(statement: &mut Statement, agent: &str, view: View, query: &ContactQuery) -> Result<String> {
    let filter = &query.filter;
    let key = column(query.sort);
    let mut sql = format!("SELECT c.{key} AS key, c.id FROM contact c");
    if !filter.search.is_empty() {
        sql.push_str(" JOIN contact_search s ON s.agent = c.agent AND s.id = c.id");
    }
    sql.push_str(&format!(" WHERE c.agent = {agent} AND {}", view.condition("c")));
    if !filter.search.is_empty() {
        sql.push_str(&format!(" AND s.agent = {agent}"));
    }
    sql.push_str(&terms(statement, &filter.search)?);
    if let Some(tag) = &filter.tag {
        let tag = statement.add(tag.as_str())?;
        sql.push_str(&format!(
            " AND EXISTS (SELECT 1 FROM contact_tag t WHERE t.agent = {agent} AND t.tag = {tag} \
             AND t.archived = c.archived AND t.status = c.status AND t.created_at = c.created_at AND t.id = c.id)"
        ));
    }
    if let Some(email) = &filter.primary_email {
        let email = statement.add(email.as_str())?;
        sql.push_str(&format!(
            " AND (c.primary_email_key = {email} AND c.email IS NULL OR c.email = {email})"
        ));
    }
    for (column, since) in [("created_at", filter.created_since), ("updated_at", filter.updated_since)] {
        if let Some(since) = since {
            sql.push_str(&format!(" AND c.{column} >= {}", statement.add(since.millis())?));
        }
    }
    Ok(sql)
}

/// The pattern that matches text in which a term occurs.
fn pattern(term: &str) -> String {
    let mut pattern = String::with_capacity(term.len() + 2);
    pattern.push('%');
    for c in term.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// Reads the rows of [`page`].
pub(super) fn listed(agent: &AgentId, rows: &[PgRow]) -> Result<ContactPage> {
    let mut page = ContactPage::default();
    for row in rows {
        let mut columns = Columns::of(row);
        page.total = columns.count()?;
        if columns.is_absent()? {
            break;
        }
        page.contacts.push(row::contact(agent, &mut columns)?);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_are_plain_text() {
        assert_eq!(pattern("a"), "%a%");
        assert_eq!(pattern("50%_\\"), "%50\\%\\_\\\\%");
    }
}
