//! Remembers every statement that a connection of the tests has run.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

static SEEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A connection that remembers.
pub(crate) fn remembering(mut db: Connection) -> Connection {
    let remember = |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(statement, _) = event {
            SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(statement.sql().into_owned());
        }
    };
    db.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(remember)).unwrap();
    db
}

/// What was run so far.
pub(super) fn seen() -> BTreeSet<String> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
