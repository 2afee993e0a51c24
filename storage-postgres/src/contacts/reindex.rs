//! Computing the keys of all contacts of a tenant again, when its schema changes which fields are searched or unique.

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::values::{AgentId, ContactId};
use sqlx::PgConnection;
use storage_common::{contact_columns, records};

use super::counters::write_unique;
use super::duplicates::refuse;
use super::row::{KeyRows, key_rows};
use crate::connect::{execute, fetch, without_timeout};
use crate::error::Result;
use crate::rows::{RowReader, Statement};

/// Computes the keys of all contacts of a tenant again, `chunk` contacts at a time. Refuses the first two, by id, that share
/// a unique value. Runs in a transaction that has locked the tenant, without a timeout. No schema changes tags.
pub(crate) async fn reindex(
    db: &mut PgConnection,
    agent: &AgentId,
    schema: &ContactSchema,
    chunk: u32,
) -> Result<()> {
    without_timeout(db).await?;
    let all = Statement::new("DELETE FROM contact_unique WHERE agent = $1").bind(agent.as_str())?;
    execute(db, all).await?;
    let mut last: Option<ContactId> = None;
    loop {
        let contacts = after(db, agent, last, chunk).await?;
        let Some(end) = contacts.last() else { return Ok(()) };
        last = Some(end.id);
        let keyed = keyed(contacts, schema);
        // No schema changes external ids.
        refuse(db, agent, keyed.iter().map(|(contact, keys)| (contact, keys, None))).await?;
        write(db, agent, &keyed).await?;
    }
}

/// Contacts with their keys under a schema.
pub(crate) fn keyed(contacts: Vec<Contact>, schema: &ContactSchema) -> Vec<(Contact, ContactKeys)> {
    let keyed = contacts.into_iter().map(|contact| {
        let keys = ContactKeys::of(&contact, schema);
        (contact, keys)
    });
    keyed.collect()
}

/// Up to `chunk` contacts after an id, by id.
pub(crate) async fn after(
    db: &mut PgConnection,
    agent: &AgentId,
    last: Option<ContactId>,
    chunk: u32,
) -> Result<Vec<Contact>> {
    // The empty byte string sorts first.
    let last = last.as_ref().map_or(&[][..], |id| id.as_bytes());
    let statement = Statement::new(format!(
        concat!(
            "SELECT ",
            contact_columns!(),
            " FROM contact c WHERE c.agent = $1 AND c.id > $2 ORDER BY c.id LIMIT {}"
        ),
        chunk
    ))
    .bind(agent.as_str())?
    .bind(last)?;
    fetch(db, statement).await?.iter().map(|row| records::contact(agent, &mut RowReader::new(row))).collect()
}

const UPDATE: &str = concat!(
    "WITH u AS (SELECT * FROM ",
    key_rows!(),
    "), searched AS (UPDATE contact_search s SET search = u.search, digits = u.digits FROM u ",
    "WHERE s.agent = u.agent AND s.id = u.id AND (s.search <> u.search OR s.digits <> u.digits)) ",
    "UPDATE contact c SET first_name_key = u.first_name_key, last_name_key = u.last_name_key, ",
    "primary_email_key = u.primary_email_key, email = u.email FROM u WHERE c.agent = u.agent AND c.id = u.id AND ",
    "(c.first_name_key, c.last_name_key, c.primary_email_key, c.email) IS DISTINCT FROM ",
    "(u.first_name_key, u.last_name_key, u.primary_email_key, u.email)"
);

/// Writes the search and sort keys that differ.
pub(crate) async fn write_keys(
    db: &mut PgConnection,
    agent: &AgentId,
    keyed: &[(Contact, ContactKeys)],
) -> Result<()> {
    let mut rows = KeyRows::default();
    for (contact, keys) in keyed {
        rows.push(agent, &contact.id, keys);
    }
    execute(db, rows.bind(Statement::new(UPDATE))?).await.map(drop)
}

async fn write(db: &mut PgConnection, agent: &AgentId, keyed: &[(Contact, ContactKeys)]) -> Result<()> {
    write_keys(db, agent, keyed).await?;
    let mut unique = Vec::new();
    for (contact, keys) in keyed {
        for own in &keys.unique {
            unique.push((agent.as_str(), own.field.as_str(), own.value.as_str(), contact.id));
        }
    }
    write_unique(db, &unique).await
}
