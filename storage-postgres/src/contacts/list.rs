//! Lists: a page of contacts and the exact total, in one statement.
//!
//! Lists with at most one filter come from an index, and their totals from counters that each write updates: their cost does
//! not grow with the number of contacts. Other combinations of filters collect the matches; a search uses the trigram
//! index.

use openapi_core::contacts::SearchTerm;
use openapi_core::storage::{ContactFilter, ContactPage, ContactQuery, ContactSort, Order, Window};
use openapi_core::values::AgentId;
use sqlx::postgres::PgRow;
use storage_common::{contact_columns, records};

use super::index_scan::{Position, Scan, ScanOrder, Scope, Slice, column, direction, may_be_absent};
use crate::error::Result;
use crate::rows::{self, Statement};

/// The filters of a list besides archived and status.
enum Filters<'a> {
    Nothing,
    Tag(&'a str),
    /// A time, and the sort by the same column.
    Since(i64, ContactSort),
    /// A search.
    Search,
    Several,
}

fn filters(filter: &ContactFilter) -> Filters<'_> {
    match filter {
        ContactFilter { search, primary_email: None, tag, created_since, updated_since, .. }
            if search.is_empty() =>
        {
            match (tag, created_since, updated_since) {
                (None, None, None) => Filters::Nothing,
                (Some(tag), None, None) => Filters::Tag(tag),
                (None, Some(since), None) => Filters::Since(since.millis(), ContactSort::CreatedAt),
                (None, None, Some(since)) => Filters::Since(since.millis(), ContactSort::UpdatedAt),
                _ => Filters::Several,
            }
        }
        ContactFilter {
            tag: None, primary_email: None, created_since: None, updated_since: None, ..
        } => Filters::Search,
        _ => Filters::Several,
    }
}

/// Whether the offset of a page exceeds `far`, so that it pays to find the nearer end of the list first.
pub(super) fn may_be_nearer_to_the_end(query: &ContactQuery, far: u64) -> bool {
    let is_scan = match filters(&query.filter) {
        Filters::Nothing => true,
        Filters::Tag(_) => query.sort == ContactSort::CreatedAt,
        Filters::Since(_, sort) => query.sort == sort,
        Filters::Search | Filters::Several => false,
    };
    is_scan && matches!(query.window, Window::Page { offset, .. } if offset > far)
}

/// The statement that counts a list before its page is read.
pub(super) fn size(agent: &AgentId, query: &ContactQuery) -> Result<Statement> {
    let window = Window::Page { offset: 0, limit: 0 };
    page(agent, &ContactQuery { window, ..query.clone() })
}

/// The statement of a page: each row has the total and a contact, or NULL for an empty page; no row for an absent
/// tenant.
pub(crate) fn page(agent: &AgentId, query: &ContactQuery) -> Result<Statement> {
    statement(agent, query, false)
}

/// The same for a page that is nearer to the end of its list, read from there.
pub(super) fn page_from_end(agent: &AgentId, query: &ContactQuery) -> Result<Statement> {
    statement(agent, query, true)
}

fn statement(agent: &AgentId, query: &ContactQuery, is_from_end: bool) -> Result<Statement> {
    let scope = Scope::of(&query.filter);
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let counted = |table: &str, condition: &str| {
        format!(
            "SELECT coalesce(sum(n.total), 0)::bigint AS total FROM {table} n WHERE n.agent = {agent}{condition} \
             AND {}",
            scope.condition("n")
        )
    };
    match filters(&query.filter) {
        Filters::Nothing => {
            let total = counted("contact_count", "");
            scanned(statement, &agent, scope, query, ScanOrder::Sort, &total, is_from_end)
        }
        Filters::Tag(tag) if query.sort == ContactSort::CreatedAt => {
            let tag = statement.add(tag)?;
            let total = counted("tag_count", &format!(" AND n.tag = {tag}"));
            scanned(statement, &agent, scope, query, ScanOrder::Tag(&tag), &total, is_from_end)
        }
        Filters::Since(since, sort) if query.sort == sort => {
            let since = statement.add(since)?;
            let total = format!(
                "SELECT count(*) AS total FROM contact n WHERE n.agent = {agent} AND {} AND n.{} >= {since}",
                scope.condition("n"),
                column(sort)
            );
            scanned(statement, &agent, scope, query, ScanOrder::Since(&since), &total, is_from_end)
        }
        Filters::Search => searched(statement, &agent, scope, query),
        _ => collected(statement, &agent, scope, query),
    }
}

/// A page of a search without other filters. PostgreSQL collects the matches of a rare term, and scans the index of the sort
/// until the page is full for a frequent one, by its statistics of the term.
fn searched(mut statement: Statement, agent: &str, scope: Scope, query: &ContactQuery) -> Result<Statement> {
    statement.is_persistent = false;
    let terms = terms(&mut statement, &query.filter.search)?;
    let total = format!(
        "SELECT count(*) AS total FROM contact_search s WHERE s.agent = {agent} AND {}{terms}",
        scope.condition("s")
    );
    let matches = format!(
        "EXISTS (SELECT 1 FROM contact_search s WHERE s.agent = {agent} AND s.id = contact.id{terms})"
    );
    scanned(statement, agent, scope, query, ScanOrder::Matches(&matches), &total, false)
}

/// The conditions that every term matches the search text, `s`.
fn terms(statement: &mut Statement, terms: &[SearchTerm]) -> Result<String> {
    let mut sql = String::new();
    for SearchTerm { text, digits } in terms {
        let mut forms = format!("s.search LIKE {}", statement.add(pattern(text))?);
        for digits in digits {
            forms.push_str(&format!(" OR s.digits LIKE {}", statement.add(pattern(digits))?));
        }
        sql.push_str(&if digits.is_empty() { format!(" AND {forms}") } else { format!(" AND ({forms})") });
    }
    Ok(sql)
}

/// A page from an index.
fn scanned(
    mut statement: Statement,
    agent: &str,
    scope: Scope,
    query: &ContactQuery,
    follows: ScanOrder<'_>,
    total: &str,
    is_from_end: bool,
) -> Result<Statement> {
    let position = match &query.window {
        Window::Page { .. } => None,
        Window::After { position, .. } => Some(Position::bind(&mut statement, position)?),
    };
    let (slice, total) = match query.window {
        Window::Page { offset, limit } if is_from_end => {
            statement.push(&format!("WITH counted AS MATERIALIZED ({total}) "));
            let total = "SELECT total FROM counted";
            (Slice::from_end(&mut statement, offset, limit, &format!("({total})"))?, total)
        }
        _ => (Slice::bind(&mut statement, &query.window)?, total),
    };
    let ContactQuery { sort, order, .. } = *query;
    let scan = Scan { agent, scope, sort, order, follows, position, slice };
    shown(&mut statement, agent, query, total, &scan.sql());
    Ok(statement)
}

/// A page of collected matches; its best plan depends on the values.
fn collected(mut statement: Statement, agent: &str, scope: Scope, query: &ContactQuery) -> Result<Statement> {
    statement.is_persistent = false;
    let found = found(&mut statement, agent, scope, query)?;
    let nulls = nulls(query);
    let (key_order, direction) = (format!("{}{nulls}", direction(query.order)), direction(query.order));
    let after = match query.order {
        Order::Ascending => ">",
        Order::Descending => "<",
    };
    let on_key = match &query.window {
        Window::Page { .. } => String::new(),
        Window::After { position, .. } => {
            let Position { key, id } = Position::bind(&mut statement, position)?;
            match key {
                Some(key) => format!(" WHERE (key, id) {after} ({key}, {id}) OR key IS NULL"),
                None => format!(" WHERE key IS NULL AND id {after} {id}"),
            }
        }
    };
    let slice = Slice::bind(&mut statement, &query.window)?.clause();
    statement.push(&format!("WITH found AS MATERIALIZED ({found}) "));
    let keys = format!("SELECT key, id FROM found{on_key} ORDER BY key{key_order}, id{direction}{slice}");
    shown(&mut statement, agent, query, "SELECT count(*) AS total FROM found", &keys);
    Ok(statement)
}

fn nulls(query: &ContactQuery) -> &'static str {
    if may_be_absent(query.sort) { " NULLS LAST" } else { "" }
}

/// Adds the contacts with the keys of `keys` and the total. The limit on each contact makes PostgreSQL look them up one by one:
/// otherwise it may read all contacts of a tenant that it takes for small.
fn shown(statement: &mut Statement, agent: &str, query: &ContactQuery, total: &str, keys: &str) {
    let direction = direction(query.order);
    let nulls = nulls(query);
    statement.push(&format!(
        "SELECT t.total, {} FROM ({total}) t LEFT JOIN ({keys}) p ON true \
         LEFT JOIN LATERAL (SELECT c.* FROM contact c WHERE c.agent = {agent} AND c.id = p.id LIMIT 1) c ON true \
         WHERE EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent} AND a.status <> 2) \
         ORDER BY p.key{direction}{nulls}, p.id{direction}",
        contact_columns!()
    ));
}

/// The matches of a filter, `key` and `id`.
fn found(statement: &mut Statement, agent: &str, scope: Scope, query: &ContactQuery) -> Result<String> {
    let filter = &query.filter;
    let key = column(query.sort);
    let mut sql = format!("SELECT c.{key} AS key, c.id FROM contact c");
    if !filter.search.is_empty() {
        sql.push_str(" JOIN contact_search s ON s.agent = c.agent AND s.id = c.id");
    }
    sql.push_str(&format!(" WHERE c.agent = {agent} AND {}", scope.condition("c")));
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

/// The `LIKE` pattern for texts that contain a term.
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
    let (contacts, total) = rows::page(rows, |r| records::contact(agent, r))?;
    Ok(ContactPage { contacts, total })
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
