//! Access to a store: as its owner, or through the process that owns it.

use std::ffi::OsString;
use std::time::Duration;

use super::caller::CallerFacts;
use crate::assemble::{self, OwnedStore, Ownership, StoreUrl, Taken};
use crate::config::{Config, values};
use crate::error::CliError;
use crate::ports::monotonic;

/// Polling interval while waiting for a store.
const INTERVAL: Duration = Duration::from_millis(50);

/// After this time, a command prints what it waits for.
const SILENCE: Duration = Duration::from_secs(2);

/// The result of [`enter`].
#[derive(Debug)]
pub enum Entry {
    /// This process may open the store. A store that is not in an SQLite file has no owner.
    Open(Option<Ownership>),
    /// The owner ran the command, with this exit status.
    Ran(u8),
}

/// How a command wants to use a store.
#[derive(Clone, Copy, Debug)]
pub enum Wish<'a> {
    /// Run on it, in any process.
    Run(&'a [OsString], &'a CallerFacts),
    /// Open it in this process.
    Own,
}

/// How long a process waits for the owner of a store.
///
/// # Errors
/// When the setting is no duration.
pub fn wait_for_store(config: &Config) -> Result<Duration, CliError> {
    let text = config.text("wait_for_store").unwrap_or_default();
    values::duration(text).map_err(|error| CliError::usage(format!("wait_for_store: {error}")))
}

/// Takes the ownership of a store, or lets the owner run the command. Waits at most `wait` for an owner that runs no
/// commands: one that starts or drains, or another command.
///
/// # Errors
/// When the store is not available in this time, or its owner refuses.
pub fn enter(store: &StoreUrl, wait: Duration, command: &str, wish: Wish<'_>) -> Result<Entry, CliError> {
    let begun = monotonic();
    let mut is_silent = true;
    loop {
        let owned = match assemble::take(store, command, matches!(wish, Wish::Own))? {
            Taken::Free(ownership) => return Ok(Entry::Open(ownership)),
            Taken::Owned(owned) => owned,
        };
        match call(&owned, wish)? {
            Some(Called::Ran(status)) => return Ok(Entry::Ran(status)),
            Some(Called::Lost(cursor)) => return resume(&owned, wish, wait, cursor).map(Entry::Ran),
            None => {}
        }
        let waited = monotonic().duration_since(begun);
        if waited >= wait {
            return Err(CliError::new(owned.text));
        }
        if is_silent && waited >= SILENCE {
            is_silent = false;
            eprintln!("waiting: {}", owned.text);
        }
        std::thread::sleep(INTERVAL.min(wait.saturating_sub(waited)));
    }
}

/// What the owner of a store did with a command.
enum Called {
    /// It ran the command, with this exit status.
    Ran(u8),
    /// It ended; the command goes on with `--after` and this cursor.
    Lost(String),
}

/// Runs a command whose server has ended in the servers after it. Waits at most `wait` for each: this process does not
/// take the store, because it would keep the next server from it.
fn resume(owned: &OwnedStore, wish: Wish<'_>, wait: Duration, mut cursor: String) -> Result<u8, CliError> {
    let Wish::Run(arguments, caller) = wish else { return Err(CliError::new(owned.text.clone())) };
    let mut lost_at = monotonic();
    loop {
        let mut again = arguments.to_vec();
        again.extend(["--after".into(), cursor.clone().into()]);
        match call(owned, Wish::Run(&again, caller))? {
            Some(Called::Ran(status)) => return Ok(status),
            Some(Called::Lost(later)) => (cursor, lost_at) = (later, monotonic()),
            None if monotonic().duration_since(lost_at) >= wait => {
                return Err(CliError::new(format!(
                    "the server has ended, and none has begun on this store within {} s (wait_for_store); go on with \
                     --after {cursor}",
                    wait.as_secs()
                )));
            }
            None => std::thread::sleep(INTERVAL),
        }
    }
}

/// Takes the ownership of a store for a server. Waits at most `wait` for its owner to end.
///
/// # Errors
/// When the store still has an owner then, or cannot be opened.
pub async fn own(store: &StoreUrl, wait: Duration, command: &str) -> Result<Option<Ownership>, CliError> {
    let begun = monotonic();
    let mut is_silent = true;
    loop {
        let owned = match assemble::take(store, command, true)? {
            Taken::Free(ownership) => return Ok(ownership),
            Taken::Owned(owned) => owned,
        };
        let waited = monotonic().duration_since(begun);
        if waited >= wait {
            return Err(CliError::new(owned.text));
        }
        if std::mem::take(&mut is_silent) {
            tracing::warn!(owner = owned.text, ?wait, "waiting for the store");
        }
        tokio::time::sleep(INTERVAL.min(wait.saturating_sub(waited))).await;
    }
}

/// Calls the owner; none if it runs no command now.
#[cfg(unix)]
fn call(owned: &OwnedStore, wish: Wish<'_>) -> Result<Option<Called>, CliError> {
    use super::client::{self, Outcome};
    use super::frames::{Hello, PROGRAM, Refusal};
    let socket = super::socket_path(&owned.database, super::runtime_folder().as_deref())?;
    let (arguments, caller) = match wish {
        Wish::Run(arguments, caller) => (arguments.to_vec(), caller.clone()),
        Wish::Own => (Vec::new(), super::caller::OwnProcess::facts()),
    };
    let hello = Hello { program: PROGRAM.to_owned(), arguments, caller };
    match client::run(&socket, hello)? {
        Some(Outcome::Exited(status)) => match wish {
            Wish::Run(..) => Ok(Some(Called::Ran(status))),
            Wish::Own => {
                Err(CliError::new(format!("{}; this command needs the store for itself", owned.text)))
            }
        },
        Some(Outcome::Lost(cursor)) => Ok(Some(Called::Lost(cursor))),
        Some(Outcome::Refused(Refusal::Program(program))) => Err(CliError::new(format!(
            "the server on this store runs version {program}, and this command is version {PROGRAM}; use the command of \
             the server's version, or restart the server"
        ))),
        Some(Outcome::Refused(Refusal::Draining | Refusal::Busy)) | None => Ok(None),
    }
}

#[cfg(not(unix))]
fn call(owned: &OwnedStore, _: Wish<'_>) -> Result<Option<Called>, CliError> {
    Err(CliError::new(format!(
        "{}; this system has no sockets for commands: stop the server first",
        owned.text
    )))
}
