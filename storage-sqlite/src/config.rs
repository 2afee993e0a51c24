//! The location of the file, and how the store uses it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::thresholds::Thresholds;

/// The settings of a [`SqliteStorage`](crate::SqliteStorage). Every number has a default that fits a small server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteConfig {
    /// The database file. Its folder and the file are created when they do not exist, readable by their owner only.
    /// Next to it are SQLite's own `<file>-wal` and `<file>-shm`, and `<file>-owner`, which names the process that owns
    /// it ([`Ownership`](crate::Ownership)).
    pub path: PathBuf,
    /// How long a write waits for a program that holds a lock of SQLite, such as the `sqlite3` shell (default 5 s), before
    /// it fails with [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    pub busy_timeout: Duration,
    /// The most writes that wait for the writer thread (default 4,096). Further ones fail with
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable) at once.
    pub write_queue: usize,
    /// The most writes that share one commit (default 256).
    pub write_batch: usize,
    /// How long the writer delays deferrable writes, such as the growing texts of replies, so that more of them share a
    /// commit (default 20 ms). Any other write takes them along.
    pub linger: Duration,
    /// Threads for reads that may take long: lists, searches, histories (default 2).
    pub reader_threads: usize,
    /// Page cache of the writing connection in KiB (default 16,384).
    pub write_cache_kib: u32,
    /// Page cache of each reading connection in KiB (default 1,024). There is one connection for each thread that reads
    /// at the same time.
    pub read_cache_kib: u32,
    /// The size of the contact cache in KiB (default 163,840: about 100,000 contacts of average size); 0 turns it off.
    /// The memory is used as contacts are read, not in advance.
    pub contact_cache_kib: u32,
    /// How much of the file reads may map into memory, in MiB (default 0). On a large file this saves up to a fifth of
    /// the processor time of a read. However, a disk error, or a program that truncates the file, then ends the process
    /// by a signal instead of failing one read.
    pub mapped_mib: u32,
    /// Sizes at which the plans of queries change.
    pub(crate) thresholds: Thresholds,
    /// Whether the file can only be read, and nobody changes it.
    pub(crate) is_read_only: bool,
}

impl SqliteConfig {
    /// The default settings for a file.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        SqliteConfig {
            path: path.into(),
            busy_timeout: Duration::from_secs(5),
            write_queue: 4_096,
            write_batch: 256,
            linger: Duration::from_millis(20),
            reader_threads: 2,
            write_cache_kib: 16_384,
            read_cache_kib: 1_024,
            contact_cache_kib: 163_840,
            mapped_mib: 0,
            thresholds: Thresholds::MEASURED,
            is_read_only: false,
        }
    }

    /// The settings for a store URL as on the command line: `sqlite:./data/openapi.db`,
    /// `sqlite:/var/lib/openapi/openapi.db` or `sqlite:///var/lib/openapi/openapi.db`. Percent signs and question marks
    /// are part of the name; nothing is decoded.
    ///
    /// # Errors
    /// When the text does not begin with `sqlite:`, names no file, or names a database in memory, which would not
    /// survive the process.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let invalid = |reason| InvalidUrl { url: url.to_owned(), reason };
        let rest = url.strip_prefix("sqlite:").ok_or_else(|| invalid("it does not begin with 'sqlite:'"))?;
        let path = match rest.strip_prefix("//") {
            Some(path) if path.starts_with('/') => path,
            Some(_) => {
                return Err(invalid(
                    "it names a host; write sqlite:///absolute/path or sqlite:relative/path",
                ));
            }
            None => rest,
        };
        if path.is_empty() || path.ends_with(['/', '\\']) {
            return Err(invalid("it names no file"));
        }
        if path == ":memory:" || path.starts_with("file:") {
            return Err(invalid("it must be the path of a file; for a store in memory write memory:"));
        }
        if path.contains('\0') {
            return Err(invalid("it contains a character that no file name can have"));
        }
        Ok(SqliteConfig::new(path))
    }
}

impl From<&Path> for SqliteConfig {
    fn from(path: &Path) -> Self {
        SqliteConfig::new(path)
    }
}

/// A store URL that names no SQLite file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidUrl {
    url: String,
    reason: &'static str,
}

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is not the URL of a SQLite store: {}; an example is sqlite:./data/openapi.db",
            self.url, self.reason
        )
    }
}

impl std::error::Error for InvalidUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_files() {
        for (url, path) in [
            ("sqlite:./data/openapi.db", "./data/openapi.db"),
            ("sqlite:openapi.db", "openapi.db"),
            ("sqlite:/var/lib/a b%20.db", "/var/lib/a b%20.db"),
            ("sqlite:///var/lib/openapi.db", "/var/lib/openapi.db"),
        ] {
            assert_eq!(SqliteConfig::from_url(url).unwrap().path, Path::new(path), "{url}");
        }
        for url in [
            "",
            "openapi.db",
            "sqlite:",
            "sqlite:data/",
            "sqlite://host/x.db",
            "sqlite::memory:",
            "postgres://x",
            "sqlite:file:x?mode=memory",
            "sqlite:a\0b",
        ] {
            assert!(SqliteConfig::from_url(url).is_err(), "{url}");
        }
    }
}
