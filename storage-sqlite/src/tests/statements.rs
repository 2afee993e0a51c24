//! Records every statement that connections to one database of the tests run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The recorded database: other tests may run in the same process.
static WATCHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Records from now on the statements of connections to this database.
pub(super) fn watch(path: PathBuf) {
    *WATCHED.lock() = Some(path);
}

/// A connection to `path`, which records if it is the recorded database.
pub(crate) fn remembering(mut db: Connection, path: &Path) -> Connection {
    if WATCHED.lock().as_deref() != Some(path) {
        return db;
    }
    let remember = |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(statement, _) = event {
            SEEN.lock().insert(statement.sql().into_owned());
        }
    };
    db.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(remember)).unwrap();
    db
}

/// The recorded statements.
pub(super) fn seen() -> BTreeSet<String> {
    SEEN.lock().clone()
}
