//! The raw read: one contact by its external id through rusqlite alone. It is the lower bound for a read from SQLite.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use openapi_core::values::AgentId;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::machine::{monotonic, thread_cpu};
use crate::report::Failure;
use crate::world::{Person, SplitMix64};

/// The columns of a contact.
const SELECT: &str = "SELECT c.id, c.external_reference_id, c.salutation, c.first_name, c.middle_name, c.last_name, \
    c.dob, c.gender, c.primary_email, c.primary_phone, c.primary_phone_code, c.full_address, c.tags, c.status, \
    c.source, c.last_contacted_at, c.custom_fields, c.archived_at, c.created_at, c.updated_at, c.version \
    FROM contact c WHERE c.agent = ?1 AND c.external_reference_id = ?2";

/// Reads within one CPU time measurement; their ids are generated in advance.
const BATCH: usize = 1_024;

/// Raw reads of an agent's contacts.
pub(crate) struct RawReads {
    path: PathBuf,
    agent: i64,
    contacts: u64,
    random: SplitMix64,
}

impl RawReads {
    pub(crate) fn open(path: &Path, agent: &AgentId, contacts: u64) -> Result<Self, Failure> {
        let agent =
            connection(path)?
                .query_row("SELECT n FROM agent WHERE id = ?1", [agent.as_str()], |row| row.get(0))?;
        Ok(RawReads { path: path.to_owned(), agent, contacts, random: SplitMix64(1) })
    }

    /// Reads for a while; returns the CPU time of one read in microseconds.
    ///
    /// # Errors
    /// If a contact is not found.
    pub(crate) fn run(&mut self, duration: Duration) -> Result<f64, Failure> {
        let db = connection(&self.path)?;
        let (mut used, mut reads) = (Duration::ZERO, 0_u64);
        let begun = monotonic();
        // The first batch warms the caches.
        let mut warm = false;
        while !warm || begun.elapsed() < duration || reads == 0 {
            let ids: Vec<String> =
                (0..BATCH).map(|_| Person::external_id_of(self.random.below(self.contacts))).collect();
            let before = thread_cpu();
            for id in &ids {
                read(&db, self.agent, id)?;
            }
            if warm {
                used += thread_cpu() - before;
                reads += BATCH as u64;
            }
            warm = true;
        }
        Ok(used.as_secs_f64() * 1e6 / reads as f64)
    }
}

fn read(db: &Connection, agent: i64, id: &str) -> Result<(), Failure> {
    let mut select = db.prepare_cached(SELECT)?;
    let columns = select.column_count();
    let mut rows = select.query((agent, id))?;
    let row = rows.next()?.ok_or_else(|| format!("the contact {id} is not there"))?;
    for column in 0..columns {
        black_box(row.get_ref(column)?);
    }
    Ok(())
}

/// A connection with the store's settings for reading.
fn connection(path: &Path) -> Result<Connection, Failure> {
    let db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.pragma_update(None, "cache_size", -i64::from(storage_sqlite::SqliteConfig::new(path).read_cache_kib))?;
    db.pragma_update(None, "mmap_size", i64::from(storage_sqlite::SqliteConfig::new(path).mapped_mib) << 20)?;
    db.pragma_update(None, "trusted_schema", false)?;
    db.pragma_update(None, "secure_delete", true)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}
