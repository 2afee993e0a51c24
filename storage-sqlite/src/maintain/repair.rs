//! Repair: derives again everything that follows from the records.

use openapi_core::contacts::ContactKeys;
use openapi_core::storage::StorageError;
use openapi_core::values::AgentId;
use rusqlite::{Connection, params};
use storage_common::records;

use crate::chat::conversations;
use crate::contacts::{self, row_number};
use crate::error::{Result, corrupt};
use crate::store::SqliteStorage;
use crate::{contact_schemas, files, forms, rows};

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// Contacts whose keys, tags, unique values, counters and search index were derived again.
    pub contacts: u64,
    /// What could not be repaired: a record that cannot be read, an invalid value, or a unique value that two contacts
    /// share.
    pub left: Vec<String>,
}

impl SqliteStorage {
    /// Derives keys, tags, unique values, counters, the search index and SQLite's own indexes again from the records.
    /// The records are unchanged; only a backup can replace a damaged record.
    ///
    /// Writes wait until the repair is done, and the log grows to about the size of the file. Searches are slow until
    /// the search index is up to date.
    ///
    /// # Errors
    /// When the file cannot be written; the repair then changes nothing.
    pub async fn repair(&self) -> Result<Repair, StorageError> {
        self.writer.write(repair).await
    }
}

fn repair(db: &Connection) -> Result<Repair> {
    let mut done = Repair::default();
    db.execute_batch(
        "REINDEX;
         DELETE FROM contact_count; DELETE FROM tag_count; DELETE FROM contact_tag; DELETE FROM contact_unique;
         DELETE FROM contact_key; DELETE FROM search_pending;
         INSERT INTO search_gram (search_gram) VALUES ('delete-all');
         DELETE FROM file_total;
         INSERT INTO file_total (agent, bytes)
            SELECT agent, sum(bytes) FROM (
                SELECT agent, size AS bytes FROM file WHERE deleted_at IS NULL
                UNION ALL SELECT agent, stored_size FROM document) GROUP BY agent;",
    )?;
    let agents = rows::all(db, "SELECT id, n FROM agent ORDER BY n", (), |r| {
        Ok((r.str()?.parse::<AgentId>().map_err(corrupt)?, r.integer()?))
    })?;
    for (id, number) in agents {
        let Some(schema) = contact_schemas::of_number(db, number)? else { continue };
        let (low, high) = row_number::range(number);
        rows::each(db, contacts::EVERY_OF_AGENT, [low, high], |r| {
            let n = r.integer()?;
            let contact = match records::contact(&id, r) {
                Ok(contact) => contact,
                Err(error) => {
                    let source = StorageError::from(error).source;
                    done.left
                        .push(format!("the contact in row {n} of agent {id} cannot be read: {source:?}"));
                    return Ok(());
                }
            };
            if let Some(broken) = contacts::broken_rule(&contact) {
                done.left.push(format!("contact {} of agent {id}: {broken}", contact.id));
            }
            let mut keys = ContactKeys::of(&contact, &schema);
            if let Some(duplicate) = contacts::duplicate(db, number, Some(contact.id), None, &keys.unique)? {
                done.left.push(format!(
                    "contacts {} and {} of agent {id} share a value of {}",
                    duplicate.existing, contact.id, duplicate.field
                ));
                keys.unique.retain(|unique| unique.field != duplicate.field);
            }
            contacts::insert_derived(db, number, n, &contact, &keys)?;
            done.contacts += 1;
            Ok(())
        })?;
        rekey_files(db, &id, number)?;
        forms::repair(db, number)?;
        conversations::repair(db, &id, number)?;
    }
    Ok(done)
}

/// Computes the sort keys of an agent's files again. A check lists the files that cannot be read.
fn rekey_files(db: &Connection, id: &AgentId, number: i64) -> Result<()> {
    let mut wrong = Vec::new();
    rows::each(db, files::EVERY_OF_AGENT, [number], |r| {
        let stored = r.optional_str().ok().flatten();
        if let Ok(file) = records::file(id, r)
            && stored != Some(file.file_name.sort_key().as_str())
        {
            wrong.push((file.id, file.file_name.sort_key()));
        }
        Ok(())
    })?;
    let mut update = db.prepare_cached("UPDATE file SET name_key = ?3 WHERE agent = ?1 AND id = ?2")?;
    for (file, key) in wrong {
        update.execute(params![number, file.as_bytes(), key])?;
    }
    Ok(())
}
