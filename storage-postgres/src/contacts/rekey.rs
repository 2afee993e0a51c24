//! Computing the keys of all contacts of an agent anew, when its schema changes what is searched or unique.

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::values::{AgentId, ContactId};
use sqlx::PgConnection;

use super::batch::write_unique;
use super::duplicates::refuse;
use super::row::{self, KeyRows, key_rows};
use crate::connect::{execute, fetch, without_deadline};
use crate::error::Result;
use crate::rows::{Columns, Statement};

/// How many contacts are read at a time.
const CHUNK: usize = if cfg!(test) { 2 } else { 1_000 };

/// Computes the keys of all contacts of an agent anew. The first two that share a unique value, by id, are refused.
/// Runs inside a transaction that holds the agent, and takes as long as it takes. Tags are keys that no schema changes.
pub(crate) async fn rekey(db: &mut PgConnection, agent: &AgentId, schema: &ContactSchema) -> Result<()> {
    without_deadline(db).await?;
    let all = Statement::new("DELETE FROM contact_unique WHERE agent = $1").bind(agent.as_str())?;
    execute(db, all).await?;
    let mut last: Option<ContactId> = None;
    loop {
        let contacts = behind(db, agent, last).await?;
        let Some(end) = contacts.last() else { return Ok(()) };
        last = Some(end.id);
        let keyed: Vec<(Contact, ContactKeys)> = contacts
            .into_iter()
            .map(|contact| {
                let keys = ContactKeys::of(&contact, schema);
                (contact, keys)
            })
            .collect();
        // No schema changes what an external id is.
        refuse(db, agent, keyed.iter().map(|(contact, keys)| (contact, keys, None))).await?;
        write(db, agent, &keyed).await?;
    }
}

/// Some contacts behind an id, by id.
async fn behind(db: &mut PgConnection, agent: &AgentId, last: Option<ContactId>) -> Result<Vec<Contact>> {
    // No bytes stand before all others.
    let last = last.as_ref().map_or(&[][..], |id| id.as_bytes());
    let statement = Statement::new(format!(
        concat!(
            "SELECT ",
            row::columns!(),
            " FROM contact c WHERE c.agent = $1 AND c.id > $2 ORDER BY c.id LIMIT {}"
        ),
        CHUNK
    ))
    .bind(agent.as_str())?
    .bind(last)?;
    fetch(db, statement).await?.iter().map(|row| row::contact(agent, &mut Columns::of(row))).collect()
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

async fn write(db: &mut PgConnection, agent: &AgentId, keyed: &[(Contact, ContactKeys)]) -> Result<()> {
    let mut rows = KeyRows::default();
    let mut unique = Vec::new();
    for (contact, keys) in keyed {
        rows.push(agent, &contact.id, keys);
        for own in &keys.unique {
            unique.push((agent.as_str(), own.field.as_str(), own.value.as_str(), contact.id));
        }
    }
    execute(db, rows.bind(Statement::new(UPDATE))?).await?;
    write_unique(db, &unique).await
}
