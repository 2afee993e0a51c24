//! Checks whether the file is intact, and whether all derived values agree with their records.

mod chat;
mod extraction;
mod forms;
mod shapes;

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};

use openapi_core::contacts::ContactKeys;
use openapi_core::files::FileName;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{StorageError, StorageErrorKind};
use openapi_core::values::{AgentId, TextValue};
use rusqlite::Connection;
use storage_common::records;

use super::integrity;
use crate::contacts::{Derived, row_number, tokens};
use crate::error::{Error, Result, corrupt};
use crate::readers::snapshot;
use crate::rows::{self, RowReader};
use crate::store::SqliteStorage;
use crate::{connect, contact_schemas, contacts, files};

/// The most findings of a kind that are listed; a last one gives the number of the others.
const LISTED: usize = 20;

/// An inconsistency.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// Its description.
    pub detail: String,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// The file is damaged: restore a backup.
    File,
    /// A row refers to an absent one.
    Reference,
    /// A row cannot be read.
    Record,
    /// The keys, tags or unique values of a contact, the sort key of a file or a template, or the columns of a
    /// conversation do not match its record.
    Keys,
    /// A counter is wrong.
    Counter,
    /// The search index does not match the contacts.
    SearchIndex,
    /// Two submissions disagree on which of them superseded the other.
    Supersession,
    /// The ledger of an agent's credits does not add up to its balance.
    Credits,
}

impl FindingKind {
    /// Whether [`SqliteStorage::repair`] fixes it.
    #[must_use]
    pub const fn is_repairable(self) -> bool {
        matches!(self, FindingKind::Keys | FindingKind::Counter | FindingKind::SearchIndex)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FindingKind::File => "file",
            FindingKind::Reference => "reference",
            FindingKind::Record => "record",
            FindingKind::Keys => "keys",
            FindingKind::Counter => "counter",
            FindingKind::SearchIndex => "search index",
            FindingKind::Supersession => "succession",
            FindingKind::Credits => "credits",
        };
        write!(f, "{kind}: {}", self.detail)
    }
}

/// Findings, listed up to a number of each kind.
#[derive(Default)]
struct Findings {
    listed: Vec<Finding>,
    counts: HashMap<FindingKind, usize>,
}

impl Findings {
    fn note(&mut self, kind: FindingKind, detail: impl fmt::Display) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count <= LISTED {
            self.listed.push(Finding { kind, detail: detail.to_string() });
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        for (kind, count) in self.counts {
            if count > LISTED {
                self.listed.push(Finding { kind, detail: format!("and {} more", count - LISTED) });
            }
        }
        self.listed.sort_by_key(|finding| finding.kind);
        self.listed
    }
}

/// The SQLite steps after which a check tests for cancellation; a few milliseconds.
const CANCEL_CHECK_INTERVAL: i32 = 100_000;

impl SqliteStorage {
    /// Reads everything and lists the inconsistencies; an empty list means that there are none. Reads and writes
    /// continue meanwhile. Needs eight bytes of memory for each contact.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn check(&self) -> Result<Vec<Finding>, StorageError> {
        self.check_until(|| false)
    }

    /// As [`SqliteStorage::check`], but ends early, with any result, once `is_cancelled`.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn check_until(
        &self,
        is_cancelled: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Vec<Finding>, StorageError> {
        match self.findings(is_cancelled).map_err(StorageError::from) {
            // The file is too damaged to be opened.
            Err(error) if error.kind == StorageErrorKind::Internal => {
                let detail = error.source.map_or_else(String::new, |source| source.to_string());
                Ok(vec![Finding { kind: FindingKind::File, detail }])
            }
            findings => findings,
        }
    }

    fn findings(&self, is_cancelled: impl FnMut() -> bool + Send + 'static) -> Result<Vec<Finding>> {
        let mut db = connect::reader(&self.config)?;
        db.progress_handler(CANCEL_CHECK_INTERVAL, Some(is_cancelled))?;
        let findings = snapshot(&db, |db| {
            let mut findings = Findings::default();
            for error in integrity(db)? {
                findings.note(FindingKind::File, error);
            }
            // An unreadable file is damaged as well, and the other checks would fail on it.
            if findings.listed.is_empty()
                && let Err(error) = everything(db, &mut findings)
            {
                findings.note(
                    FindingKind::File,
                    StorageError::from(error).source.map_or_else(String::new, |source| source.to_string()),
                );
            }
            Ok(findings)
        })?;
        Ok(findings.finish())
    }
}

fn everything(db: &Connection, findings: &mut Findings) -> Result<()> {
    references(db, findings)?;
    forms::references(db, findings)?;
    extraction::references(db, findings)?;
    let mut expected = Expected::default();
    rows::each(db, "SELECT id, n FROM agent ORDER BY n", (), |r| {
        let (id, number) = (r.str()?, r.integer()?);
        match id.parse::<AgentId>() {
            Ok(id) => {
                contacts_of(db, &id, number, &mut expected, findings)?;
                files_of(db, &id, number, findings)?;
                forms::of_agent(db, &id, number, findings)?;
                extraction::of_agent(db, &id, number, findings)?;
                chat::of_agent(db, &id, number, findings)?;
                shapes::of_agent(db, &id, number, findings)?;
            }
            Err(invalid) => findings.note(FindingKind::Record, format_args!("agent '{id}': {invalid}")),
        }
        Ok(())
    })?;
    shapes::of_installation(db, findings)?;
    counters(db, findings)?;
    search_index(db, expected, findings)
}

fn references(db: &Connection, findings: &mut Findings) -> Result<()> {
    rows::each(db, "PRAGMA foreign_key_check", (), |r| {
        let (table, parent) = (r.str()?, r.at(2).str()?);
        findings.note(
            FindingKind::Reference,
            format_args!("a row of {table} refers to a row of {parent} that is not there"),
        );
        Ok(())
    })?;
    for (sql, detail) in [
        (
            "SELECT k.n FROM contact_key k LEFT JOIN contact c ON c.n = k.n WHERE c.n IS NULL",
            "has keys and no record",
        ),
        (
            "SELECT t.n FROM contact_tag t LEFT JOIN contact_key k ON k.n = t.n AND k.agent = t.agent AND k.id = t.id \
             WHERE k.n IS NULL",
            "has tags and no keys",
        ),
        ("SELECT c.n FROM contact c WHERE c.n >> 32 <> c.agent", "lies among the contacts of another agent"),
    ] {
        rows::each(db, sql, (), |r| {
            findings.note(FindingKind::Keys, format_args!("row {} {detail}", r.integer()?));
            Ok(())
        })?;
    }
    let sql = "SELECT f.n FROM file f JOIN agent a ON a.n = f.agent AND a.status <> 2 \
               LEFT JOIN contact c ON c.agent = f.agent AND c.id = f.contact WHERE c.n IS NULL";
    rows::each(db, sql, (), |r| {
        let detail = format_args!("the file in row {} belongs to no contact", r.integer()?);
        findings.note(FindingKind::Reference, detail);
        Ok(())
    })
}

/// For each contact the sum of the hashes of the tokens that the search index must contain. Equal tokens have equal
/// sums, and eight bytes for each contact fit into memory, unlike the tokens.
#[derive(Default)]
struct Expected(HashMap<i64, Vec<u64>>);

impl Expected {
    fn sum(&mut self, n: i64) -> &mut u64 {
        let sums = self.0.entry(row_number::agent(n)).or_default();
        let index = row_number::running(n) as usize;
        if index >= sums.len() {
            sums.resize(index + 1, 0);
        }
        &mut sums[index]
    }
}

fn hash(token: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(token.as_bytes());
    hasher.finish()
}

/// Compares the derived values of each contact of an agent with its record.
fn contacts_of(
    db: &Connection,
    id: &AgentId,
    number: i64,
    expected: &mut Expected,
    findings: &mut Findings,
) -> Result<()> {
    let schema = match contact_schemas::of_number(db, number) {
        Ok(schema) => schema,
        Err(error) => {
            findings.note(FindingKind::Record, format_args!("contact schema of agent {id}: {}", text(error)));
            None
        }
    };
    let (low, high) = row_number::range(number);
    let mut tags = 0;
    rows::each(db, contacts::EVERY_OF_AGENT, [low, high], |r| {
        let n = r.integer()?;
        match contact(db, id, number, n, schema.as_ref(), r, findings) {
            Ok(count) => tags += count,
            Err(error) => findings
                .note(FindingKind::Record, format_args!("contact in row {n} of agent {id}: {}", text(error))),
        }
        // The index contains the text that was recorded when the contact was last indexed.
        let (search, digits) = contacts::indexed(db, n)?;
        let tokens = tokens(number, &search, &digits);
        *expected.sum(n) =
            tokens.split_ascii_whitespace().fold(0, |sum, token| sum.wrapping_add(hash(token)));
        Ok(())
    })?;
    let stored = rows::count(db, "SELECT count(*) FROM contact_tag WHERE agent = ?1", [number])?;
    if stored != tags {
        let detail =
            format!("the contacts of agent {id} have {tags} tags where the tag index holds {stored}");
        findings.note(FindingKind::Keys, detail);
    }
    Ok(())
}

/// Reads each file of an agent, and compares its derived values with its record.
fn files_of(db: &Connection, id: &AgentId, number: i64, findings: &mut Findings) -> Result<()> {
    readable(db, files::EVERY_OF_AGENT, number, &format!("a file of agent {id}"), findings, |r, findings| {
        let sort_key = r.optional_str().ok().flatten();
        let file = records::file(id, r)?;
        if FileName::parse(file.file_name.as_str()).is_err() {
            let detail = format_args!("file {} of agent {id} has a name that breaks its rule", file.id);
            findings.note(FindingKind::Record, detail);
        }
        if sort_key != Some(file.file_name.sort_key().as_str()) {
            let detail = format_args!("the sort key of file {} of agent {id} is wrong", file.id);
            findings.note(FindingKind::Keys, detail);
        }
        Ok(())
    })
}

/// Calls `check` with each row of a statement on an agent, and reports rows that cannot be read as `what`.
fn readable(
    db: &Connection,
    sql: &str,
    agent: i64,
    what: &str,
    findings: &mut Findings,
    mut check: impl FnMut(&mut RowReader<'_>, &mut Findings) -> Result<()>,
) -> Result<()> {
    rows::each(db, sql, [agent], |r| {
        if let Err(error) = check(r, findings) {
            findings.note(FindingKind::Record, format_args!("{what}: {}", text(error)));
        }
        Ok(())
    })
}

fn text(error: Error) -> String {
    StorageError::from(error).source.map_or_else(String::new, |source| source.to_string())
}

/// Compares the derived values of a contact with its record, and returns the number of its tags.
fn contact(
    db: &Connection,
    id: &AgentId,
    number: i64,
    n: i64,
    schema: Option<&ContactSchema>,
    r: &mut RowReader<'_>,
    findings: &mut Findings,
) -> Result<u64> {
    let contact = records::contact(id, r)?;
    if let Some(broken) = contacts::broken_rule(&contact) {
        findings.note(FindingKind::Record, format_args!("contact {} of agent {id}: {broken}", contact.id));
    }
    let schema = schema.ok_or_else(|| corrupt("its agent has no contact schema"))?;
    let wanted = Derived::of(&contact, &ContactKeys::of(&contact, schema));
    for difference in wanted.differences(&Derived::stored(db, number, n, &contact)?) {
        findings.note(FindingKind::Keys, format_args!("contact {} of agent {id}: {difference}", contact.id));
    }
    Ok(wanted.tags() as u64)
}

fn counters(db: &Connection, findings: &mut Findings) -> Result<()> {
    for (sql, detail) in [
        (
            "SELECT agent, sum(counted), sum(stored), archived, status FROM (\
                SELECT agent, archived, status, count(*) AS counted, 0 AS stored FROM contact_key GROUP BY 1, 2, 3 \
                UNION ALL SELECT agent, archived, status, 0, total FROM contact_count) \
             GROUP BY agent, archived, status HAVING sum(counted) <> sum(stored)",
            "contacts",
        ),
        (
            "SELECT agent, sum(counted), sum(stored), tag, archived, status FROM (\
                SELECT agent, tag, archived, status, count(*) AS counted, 0 AS stored FROM contact_tag \
                GROUP BY 1, 2, 3, 4 \
                UNION ALL SELECT agent, tag, archived, status, 0, total FROM tag_count) \
             GROUP BY agent, tag, archived, status HAVING sum(counted) <> sum(stored)",
            "contacts with a tag",
        ),
        (
            "SELECT agent, sum(counted), sum(stored) FROM (\
                SELECT agent, size AS counted, 0 AS stored FROM file WHERE deleted_at IS NULL \
                UNION ALL SELECT agent, stored_size, 0 FROM document \
                UNION ALL SELECT agent, 0, bytes FROM file_total) \
             GROUP BY 1 HAVING sum(counted) <> sum(stored)",
            "bytes of files and documents",
        ),
    ] {
        rows::each(db, sql, (), |r| {
            let (agent, counted, stored) = (r.integer()?, r.integer()?, r.integer()?);
            findings.note(
                FindingKind::Counter,
                format_args!("agent number {agent} has {counted} {detail} where {stored} are counted"),
            );
            Ok(())
        })?;
    }
    Ok(())
}

/// Compares the search index with the expected sums.
fn search_index(db: &Connection, mut expected: Expected, findings: &mut Findings) -> Result<()> {
    db.pragma_update(None, "query_only", false)?;
    db.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_instance USING fts5vocab (main, search_gram, instance)",
    )?;
    rows::each(db, "SELECT term, doc FROM temp.search_instance", (), |r| {
        let token = r.str()?;
        let sum = expected.sum(r.integer()?);
        *sum = sum.wrapping_sub(hash(token));
        Ok(())
    })?;
    for (agent, sums) in expected.0 {
        for (index, sum) in sums.into_iter().enumerate() {
            if sum != 0 {
                let n = row_number::range(agent).0 + index as i64;
                findings.note(
                    FindingKind::SearchIndex,
                    format_args!("the grams of the contact in row {n} are not those of its text"),
                );
            }
        }
    }
    Ok(())
}
