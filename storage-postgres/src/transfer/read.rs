//! Reading records in the order of the primary keys of their tables.
//!
//! The condition on the tenant is a range of the key and not an equality, so only the primary key has the wanted order,
//! whatever PostgreSQL estimates about the tenant's rows.

use openapi_core::values::AgentId;
use storage_common::agent_columns;
use storage_common::transfer::tables::Table;
use storage_common::transfer::{KeyParts, KeyShape, TransferKey, TransferKind};

use crate::error::{Error, Result};
use crate::rows::Statement;

/// As [`storage_common::transfer::TransferStore::agents_after`].
pub(crate) fn agents_after(after: Option<&AgentId>, at_most: u32) -> Result<Statement> {
    Statement::new(concat!("SELECT ", agent_columns!(), " FROM agent WHERE id > $1 ORDER BY id LIMIT $2"))
        .bind(after.map_or("", AgentId::as_str))?
        .bind(i64::from(at_most))
}

/// As [`storage_common::transfer::TransferStore::records`].
pub(crate) fn after(
    agent: &AgentId,
    kind: TransferKind,
    after: Option<&TransferKey>,
    at_most: u32,
) -> Result<Statement> {
    let Table { columns, table, joined, key, agent: of } = Table::of(kind);
    // The limit makes PostgreSQL look the rows up one by one.
    let joined = joined.map(|(table, alias, on)| {
        format!(" JOIN LATERAL (SELECT * FROM {table} {alias} WHERE {on} LIMIT 1) {alias} ON true")
    });
    let joined = joined.unwrap_or_default();
    let mut statement = Statement::new("");
    let agent = statement.add(agent.as_str())?;
    let values = add_key(&mut statement, kind, after)?.join(", ");
    let at_most = statement.add(i64::from(at_most))?;
    let key = key.join(", ");
    statement.push(&format!(
        "SELECT {columns} FROM {table}{joined} WHERE ({of}, {key}) > ({agent}, {values}) AND {of} <= {agent} \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = {agent}) ORDER BY {of}, {key} LIMIT {at_most}"
    ));
    Ok(statement)
}

/// As [`storage_common::transfer::TransferStore::last_record`]: a row of the key.
pub(crate) fn last(agent: &AgentId, kind: TransferKind) -> Result<Statement> {
    let Table { table, key, agent: of, .. } = Table::of(kind);
    let descending: Vec<String> = [of].iter().chain(key).map(|column| format!("{column} DESC")).collect();
    // Numbers of a key are read as `bigint`.
    let number = if kind.key_shape() == KeyShape::Named { "::bigint" } else { "" };
    let wanted = key.join(&format!("{number}, "));
    Statement::new(format!(
        "SELECT {wanted} FROM {table} WHERE {of} >= $1 AND {of} <= $1 \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1) ORDER BY {} LIMIT 1",
        descending.join(", ")
    ))
    .bind(agent.as_str())
}

/// Binds the parts of a key, or values before every key; returns their names in the text.
pub(crate) fn add_key(
    statement: &mut Statement,
    kind: TransferKind,
    key: Option<&TransferKey>,
) -> Result<Vec<String>> {
    Ok(match kind.key_parts::<Error>(key)? {
        KeyParts::Id(id) => vec![statement.add(id)?],
        KeyParts::Number(number) => vec![statement.add(number)?],
        KeyParts::Named(number, id) => vec![statement.add(number)?, statement.add(id)?],
        KeyParts::Version(id, version) => vec![statement.add(id)?, statement.add(version)?],
        KeyParts::Time(at, id) => vec![statement.add(at.millis())?, statement.add(id)?],
    })
}
