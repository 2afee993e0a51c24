//! Databases of many contacts, built once under `target/bench-data` and reused while the schema is unchanged.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use openapi_core::values::AgentId;
use rusqlite::{Connection, OpenFlags};
use storage_sqlite::{SqliteConfig, SqliteStorage};
use tokio::runtime::Runtime;

use crate::machine::monotonic;
use crate::report::{Failure, number};
use crate::world::{Credentials, Host, agent_id, write_of};

/// Incremented when the generated contacts change, so that older databases are rebuilt.
const GENERATION: u32 = 1;

/// Concurrent inserts: enough for full batches of the writer.
const AT_ONCE: u64 = 1_024;

/// The number of contacts between progress messages.
const PROGRESS: u64 = 50_000;

/// The agent that owns the contacts of every database.
pub(crate) fn agent() -> Result<AgentId, Failure> {
    agent_id("bench")
}

/// A runtime for async setup.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

/// The folder of the databases, next to this program's folder.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent).ok_or("this program lies in no target folder")?;
    let folder = target.join("bench-data");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A store on a file, with the default settings.
pub(crate) fn open(path: &Path) -> Result<Host, Failure> {
    open_with(SqliteConfig::new(path))
}

/// A store with custom settings.
pub(crate) fn open_with(config: SqliteConfig) -> Result<Host, Failure> {
    Host::new(Arc::new(SqliteStorage::open(config)?))
}

/// The database with this many contacts, built if absent.
pub(crate) fn with_contacts(contacts: u64) -> Result<PathBuf, Failure> {
    let folder = folder()?;
    let path = folder.join(format!("contacts-{contacts}.db"));
    let expected = format!("generation {GENERATION}\n{}", schema_of_a_new_database(&folder)?);
    let mark = path.with_extension("built");
    if path.exists() && std::fs::read_to_string(&mark).is_ok_and(|built| built == expected) {
        return Ok(path);
    }
    remove(&mark)?;
    remove_database(&path)?;
    build(&path, contacts)?;
    std::fs::write(&mark, expected)?;
    Ok(path)
}

/// A copy of the database with this many contacts, for a benchmark that writes to it.
pub(crate) fn copy_of(contacts: u64, name: &str) -> Result<PathBuf, Failure> {
    let original = with_contacts(contacts)?;
    let path = folder()?.join(format!("{name}.db"));
    remove_database(&path)?;
    // The last close has moved the log into the file.
    std::fs::copy(original, &path)?;
    Ok(path)
}

/// A new, empty database of this name with the agent.
pub(crate) fn empty(name: &str) -> Result<PathBuf, Failure> {
    let path = folder()?.join(format!("{name}.db"));
    remove_database(&path)?;
    runtime()?.block_on(async { open(&path)?.agent(&agent()?).await })?;
    Ok(path)
}

/// An empty folder for a benchmark.
pub(crate) fn own_folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = folder()?.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Creates a database with the agent, a key and one contact; returns the key and the id of the contact.
pub(crate) fn with_one_contact(path: &Path) -> Result<(Credentials, String), Failure> {
    let agent = agent()?;
    runtime()?.block_on(async {
        let host = open(path)?;
        host.agent(&agent).await?;
        let write = write_of(&host.schema(&agent).await?, &agent, 0)?;
        host.storage().insert_contact(&agent, &write).await?;
        Ok((host.key(&agent).await?, write.contact.id.to_string()))
    })
}

fn remove(path: &Path) -> Result<(), Failure> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", path.display()).into())
        }
        _ => Ok(()),
    }
}

/// Removes a database with its sidecar files.
pub(crate) fn remove_database(path: &Path) -> Result<(), Failure> {
    for suffix in ["", "-wal", "-shm", "-owner"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        remove(Path::new(&name))?;
    }
    Ok(())
}

/// The statements that create a database of this release.
fn schema_of_a_new_database(folder: &Path) -> Result<String, Failure> {
    let path = folder.join("schema.db");
    remove_database(&path)?;
    drop(SqliteStorage::open(SqliteConfig::new(&path))?);
    let db = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut select = db.prepare("SELECT coalesce(sql, '') FROM sqlite_master ORDER BY type, name")?;
    let statements = select.query_map((), |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    drop(select);
    drop(db);
    remove_database(&path)?;
    Ok(statements.join("\n"))
}

fn build(path: &Path, contacts: u64) -> Result<(), Failure> {
    let begun = monotonic();
    eprintln!("building {} (once)", path.display());
    let agent = agent()?;
    let runtime = runtime()?;
    let host = Arc::new(open(path)?);
    runtime.block_on(host.agent(&agent))?;
    let schema = Arc::new(runtime.block_on(host.schema(&agent))?);
    let next = Arc::new(AtomicU64::new(0));
    runtime.block_on(async {
        let mut inserts = tokio::task::JoinSet::new();
        for _ in 0..AT_ONCE {
            let (host, schema, next, agent) =
                (Arc::clone(&host), Arc::clone(&schema), Arc::clone(&next), agent.clone());
            inserts.spawn(async move {
                loop {
                    let number_of_next = next.fetch_add(1, Ordering::Relaxed);
                    if number_of_next >= contacts {
                        return Ok::<(), Failure>(());
                    }
                    let write = write_of(&schema, &agent, number_of_next)?;
                    host.storage().insert_contact(&agent, &write).await?;
                    if (number_of_next + 1).is_multiple_of(PROGRESS) {
                        let rate = number_of_next as f64 / begun.elapsed().as_secs_f64();
                        let done = number((number_of_next + 1) as f64);
                        eprintln!("  {done} of {} contacts, {} /s", number(contacts as f64), number(rate));
                    }
                }
            });
        }
        while let Some(insert) = inserts.join_next().await {
            insert??;
        }
        Ok::<(), Failure>(())
    })?;
    // Closing merges the search index.
    drop(host);
    eprintln!("  built in {} s", number(begun.elapsed().as_secs_f64().round()));
    Ok(())
}
