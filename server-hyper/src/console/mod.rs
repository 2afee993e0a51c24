//! The console: a command that finds its SQLite store owned by a server runs inside that server.
//!
//! A store in an SQLite file has one owner (`storage_sqlite::Ownership`). The owner listens on a Unix socket next to the
//! database; a command connects, sends its arguments, and then only lends its streams and files: the server runs the
//! command on its open store and asks the caller for every read and write. A command without a server becomes the owner
//! for its run. Reading order: [`caller`] → `frames` → `client` and `server` → [`entry`].

pub mod caller;
#[cfg(unix)]
mod client;
pub mod entry;
#[cfg(unix)]
mod frames;
#[cfg(unix)]
pub mod server;
/// Without Unix sockets there is no console.
#[cfg(not(unix))]
pub mod server {
    /// A server's console, which does not exist here.
    pub enum Console {}

    impl Console {
        /// Refuses new commands.
        pub fn begin_drain(&self) {}

        /// Waits for the running commands.
        pub async fn drain(&self, _: std::time::Instant) {}
    }
}

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openapi_core::ports::BlobStore;

use crate::assemble::OpenStore;
use crate::config::Config;
use crate::error::CliError;
use crate::search::Search;
use caller::{Caller, CallerFacts};

/// What a server lends to the commands that run in it.
#[derive(Clone)]
pub struct Lent {
    /// The open store.
    pub store: OpenStore,
    /// The open contents of files.
    pub blobs: Arc<dyn BlobStore>,
    /// The server's settings.
    pub config: Arc<Config>,
    /// The server's runtime.
    pub runtime: tokio::runtime::Handle,
    /// What searches documents and groups questions in the server.
    pub search: Search,
    /// The origin of the server's console for operators, if it has one.
    pub console_origin: Option<String>,
}

/// Runs a command for a caller on what the server lends, and returns the exit status.
pub type HostedCommand = fn(Vec<OsString>, Arc<dyn Caller>, CallerFacts, Lent) -> u8;

/// The longest path of a socket, in bytes. Systems allow 104 or 108 with the terminator.
const MAX_SOCKET_PATH: usize = 100;

/// The path of the console's socket of a database. A path that is too long moves to `runtime_folder`, under a name that
/// is derived from the path of the database.
///
/// # Errors
/// When no path is short enough.
pub fn socket_path(database: &Path, runtime_folder: Option<&Path>) -> Result<PathBuf, CliError> {
    let mut name = database.as_os_str().to_owned();
    name.push("-console");
    if name.len() <= MAX_SOCKET_PATH {
        return Ok(name.into());
    }
    let digest = <sha2::Sha256 as sha2::Digest>::digest(database.as_os_str().as_encoded_bytes());
    let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let short = runtime_folder.map(|folder| folder.join(format!("openapi-{digest}-console")));
    short.filter(|path| path.as_os_str().len() <= MAX_SOCKET_PATH).ok_or_else(|| {
        CliError::new(format!(
            "the path {} is too long for a socket (at most {MAX_SOCKET_PATH} bytes), so commands cannot reach a server on \
             this store; move the database to a shorter path, or set XDG_RUNTIME_DIR to a folder of the service's user \
             for the server and for commands",
            name.display()
        ))
    })
}

/// The folder for sockets of this user, if the environment names one.
#[expect(clippy::disallowed_methods, reason = "the folder is where the system put it, and no setting")]
pub fn runtime_folder() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR")?);
    folder.is_absolute().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_moves_to_the_runtime_folder() {
        let near = Path::new("/var/lib/openapi/openapi.db");
        assert_eq!(socket_path(near, None).unwrap(), Path::new("/var/lib/openapi/openapi.db-console"));
        let far = PathBuf::from(format!("/{}/openapi.db", "long".repeat(30)));
        let text = socket_path(&far, None).unwrap_err().to_string();
        assert!(text.contains("XDG_RUNTIME_DIR") && text.contains("openapi.db-console"), "{text}");
        let moved = socket_path(&far, Some(Path::new("/run/user/7"))).unwrap();
        assert_eq!(moved.parent(), Some(Path::new("/run/user/7")));
        assert_eq!(socket_path(&far, Some(Path::new("/run/user/7"))).unwrap(), moved, "always the same name");
        let other = PathBuf::from(format!("/{}/other.db", "long".repeat(30)));
        assert_ne!(socket_path(&other, Some(Path::new("/run/user/7"))).unwrap(), moved);
        assert!(socket_path(&far, Some(&far)).is_err());
        // One byte decides.
        let exact = |length: usize| PathBuf::from(format!("/{}", "x".repeat(length - 1 - "-console".len())));
        assert!(socket_path(&exact(MAX_SOCKET_PATH), None).is_ok());
        assert!(socket_path(&exact(MAX_SOCKET_PATH + 1), None).is_err());
    }
}
