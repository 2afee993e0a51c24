//! How a process comes to a store: as its owner, or through the process that owns it.

use std::ffi::OsString;
use std::time::Duration;

use storage_sqlite::{OpenError, Ownership};

use super::caller::CallerFacts;
use crate::assemble::StoreUrl;
use crate::config::{Config, values};
use crate::failure::Failure;
use crate::ports::monotonic;

/// How often a process that waits for a store looks again.
const INTERVAL: Duration = Duration::from_millis(50);

/// After this time a command says what it waits for.
const SILENCE: Duration = Duration::from_secs(2);

/// How a command came to its store.
#[derive(Debug)]
pub enum Entry {
    /// This process may open the store. A store that is not in an SQLite file has no owner.
    Open(Option<Ownership>),
    /// The owner ran the command, with this exit status.
    Ran(u8),
}

/// What a command wants of a store.
#[derive(Clone, Copy, Debug)]
pub enum Wish<'a> {
    /// To run on it, wherever.
    Run(&'a [OsString], &'a CallerFacts),
    /// To open it in this process.
    Own,
}

/// How long a process waits for the owner of a store.
///
/// # Errors
/// When the setting is no duration.
pub fn wait_for_store(config: &Config) -> Result<Duration, Failure> {
    let text = config.text("wait_for_store").unwrap_or_default();
    values::duration(text).map_err(|error| Failure::usage(format!("wait_for_store: {error}")))
}

/// Takes the ownership of a store, or lets the owner run the command. Waits at most `wait` for an owner that runs no
/// commands: one that starts or drains, or another command.
///
/// # Errors
/// When the store cannot be had in this time, or its owner refuses.
pub fn enter(store: &StoreUrl, wait: Duration, command: &str, wish: Wish<'_>) -> Result<Entry, Failure> {
    let Some(path) = store.file() else { return Ok(Entry::Open(None)) };
    let begun = monotonic();
    let mut is_silent = true;
    loop {
        let owned = match Ownership::take(path, command) {
            Ok(ownership) => return Ok(Entry::Open(Some(ownership))),
            Err(error @ OpenError::Owned { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        if let Some(status) = call(&owned, wish)? {
            return Ok(Entry::Ran(status));
        }
        let waited = monotonic().duration_since(begun);
        if waited >= wait {
            return Err(owned.into());
        }
        if is_silent && waited >= SILENCE {
            is_silent = false;
            eprintln!("waiting: {owned}");
        }
        std::thread::sleep(INTERVAL.min(wait.saturating_sub(waited)));
    }
}

/// Takes the ownership of a store for a server. Waits at most `wait` for its owner to end.
///
/// # Errors
/// When the store is still owned then, or cannot be had.
pub async fn own(store: &StoreUrl, wait: Duration, command: &str) -> Result<Option<Ownership>, Failure> {
    let Some(path) = store.file() else { return Ok(None) };
    let begun = monotonic();
    let mut is_silent = true;
    loop {
        let owned = match Ownership::take(path, command) {
            Ok(ownership) => return Ok(Some(ownership)),
            Err(error @ OpenError::Owned { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        let waited = monotonic().duration_since(begun);
        if waited >= wait {
            return Err(owned.into());
        }
        if std::mem::take(&mut is_silent) {
            tracing::warn!(%owned, ?wait, "waiting for the store");
        }
        tokio::time::sleep(INTERVAL.min(wait.saturating_sub(waited))).await;
    }
}

/// Calls the owner; the exit status if it ran the command.
#[cfg(unix)]
fn call(owned: &OpenError, wish: Wish<'_>) -> Result<Option<u8>, Failure> {
    use super::client::{self, Outcome};
    use super::frames::{Hello, PROGRAM, Refusal};
    let OpenError::Owned { path, .. } = owned else { return Ok(None) };
    let socket = super::socket_path(path, super::runtime_folder().as_deref())?;
    let (arguments, caller) = match wish {
        Wish::Run(arguments, caller) => (arguments.to_vec(), caller.clone()),
        Wish::Own => (Vec::new(), super::caller::OwnProcess::facts()),
    };
    let hello = Hello { program: PROGRAM.to_owned(), arguments, caller };
    match client::run(&socket, hello)? {
        Some(Outcome::Exited(status)) => match wish {
            Wish::Run(..) => Ok(Some(status)),
            Wish::Own => Err(Failure::new(format!("{owned}; this command needs the store for itself"))),
        },
        Some(Outcome::Refused(Refusal::Program(program))) => Err(Failure::new(format!(
            "the server on this store runs version {program}, and this command is version {PROGRAM}; use the command of \
             the server's version, or restart the server"
        ))),
        Some(Outcome::Refused(Refusal::Draining | Refusal::Busy)) | None => Ok(None),
    }
}

#[cfg(not(unix))]
fn call(owned: &OpenError, _: Wish<'_>) -> Result<Option<u8>, Failure> {
    Err(Failure::new(format!("{owned}; this system has no sockets for commands: stop the server first")))
}
