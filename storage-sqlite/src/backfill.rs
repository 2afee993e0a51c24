//! Computing the search and sort keys of everything again, after a release that computes others
//! ([`ContactKeys::VERSION`]).
//!
//! It runs when the file is opened, in transactions of [`CHUNK`] contacts, so that it needs little memory, and continues
//! where it was interrupted.

use std::collections::HashMap;

use openapi_core::contacts::ContactKeys;
use openapi_core::schema::ContactSchema;
use openapi_core::values::AgentId;
use rusqlite::{Connection, TransactionBehavior, params};
use storage_common::{KeyProgress, contact_columns, records};

use crate::error::Result;
use crate::{contact_schemas, contacts, forms, rows};

/// The contacts of one transaction.
const CHUNK: u32 = 500;

/// What the keys of an agent's contacts depend on.
type Agents = HashMap<i64, Option<(AgentId, ContactSchema)>>;

/// Computes all keys again unless they are of this release's version.
pub(crate) fn bring_up_to_date(db: &mut Connection) -> Result<()> {
    let (version, mut done) =
        db.query_row("SELECT version, done FROM key_version WHERE one = 1", (), |row| {
            Ok((row.get::<_, i64>(0)?, row.get(1)?))
        })?;
    if version >= ContactKeys::VERSION {
        return Ok(());
    }
    let (mut agents, mut progress) = (Agents::new(), KeyProgress::default());
    loop {
        let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = renew(&step, done, &mut agents)?;
        let Some(last) = found.last else {
            for agent in rows::all(&step, "SELECT n FROM agent WHERE n >= 1 ORDER BY n", (), |r| r.integer())?
            {
                forms::repair_name_keys(&step, agent)?;
            }
            step.execute(
                "UPDATE key_version SET version = ?1, done = 0 WHERE one = 1",
                [ContactKeys::VERSION],
            )?;
            step.commit()?;
            progress.finish();
            return Ok(());
        };
        // The index keeps up, so that the first searches do not have to.
        contacts::index::settle(&step, CHUNK)?;
        step.execute("UPDATE key_version SET done = ?1 WHERE one = 1", [last])?;
        step.commit()?;
        done = last;
        progress.add(found.count);
    }
}

/// The contacts of one transaction.
struct Found {
    last: Option<i64>,
    count: u64,
}

/// Computes the keys of the contacts after a row number again.
fn renew(db: &Connection, after: i64, agents: &mut Agents) -> Result<Found> {
    let sql = concat!(
        "SELECT c.n, c.agent, ",
        contact_columns!(),
        " FROM contact c WHERE c.n > ?1 ORDER BY c.n LIMIT ?2"
    );
    let mut found = Found { last: None, count: 0 };
    rows::each(db, sql, params![after, CHUNK], |r| {
        let (n, number) = (r.integer()?, r.integer()?);
        (found.last, found.count) = (Some(n), found.count + 1);
        let agent = match agents.entry(number) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => free.insert(agent(db, number)?),
        };
        // What cannot be read stays as it is: a check lists it.
        if let Some((id, schema)) = agent
            && let Ok(contact) = records::contact(id, r)
            && rows::exists(db, "SELECT 1 FROM contact_key WHERE n = ?1", [n])?
        {
            contacts::renew_keys(db, n, &contact, &ContactKeys::of(&contact, schema))?;
        }
        Ok(())
    })?;
    Ok(found)
}

fn agent(db: &Connection, number: i64) -> Result<Option<(AgentId, ContactSchema)>> {
    let id = rows::first(db, "SELECT id FROM agent WHERE n = ?1", [number], |r| {
        Ok(r.str()?.parse::<AgentId>().ok())
    })?;
    let schema = contact_schemas::of_number(db, number)?;
    Ok(id.flatten().zip(schema))
}
