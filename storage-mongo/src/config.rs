//! The deployment, and how the store uses it.

use std::fmt;
use std::time::Duration;

/// The settings of a [`MongoStorage`](crate::MongoStorage). Every number has a default that fits most deployments.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MongoConfig {
    /// The connection string: `mongodb://…` or `mongodb+srv://…`, with the name of the database. Its settings of pools
    /// and timeouts take precedence over the fields below.
    pub url: String,
    /// The most connections to each member of the replica set, or router (default 16).
    pub pool: u32,
    /// How long a call waits for a primary (default 3 s) before it fails with
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    pub selection_timeout: Duration,
    /// The timeout for establishing a connection (default 3 s).
    pub connect_timeout: Duration,
    /// The timeout of a read or a write, including all waits and retries (default 5 s). A change of a contact schema
    /// and the purge of a tenant may take longer once they have begun.
    pub operation_timeout: Duration,
    /// The timeout of a list (default 15 s): a search for a text that many contacts contain reads them all.
    pub list_timeout: Duration,
    /// The most writes that wait (default 4,096). Further ones fail with
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable) at once.
    pub write_queue: usize,
    /// The most writes that share one transaction (default 64). Each contact has several hundred entries in the search
    /// index: a larger transaction fills the server's cache and comes near the timeout on a slow server.
    pub write_batch: usize,
    /// Sizes at which the store changes its method.
    pub(crate) thresholds: Thresholds,
}

/// Sizes at which the store changes its method. Tests use small ones, so that few documents reach every method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thresholds {
    /// The most matches that are collected and sorted, and the most contacts with a tag for which the tag is a better filter
    /// than the grams of a search.
    pub(crate) few_matches: u64,
    /// The contacts that a change of a schema reads at a time.
    pub(crate) reindex_chunk: u32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { few_matches: 1_000, reindex_chunk: 1_000 }
    }
}

impl MongoConfig {
    /// The default settings for a connection string, as the command line gives it:
    /// `mongodb://user:password@host1,host2/openapi?replicaSet=rs0` or `mongodb+srv://user:password@cluster/openapi`.
    ///
    /// # Errors
    /// When the text does not begin with `mongodb:` or `mongodb+srv:`, or names no database. Opening the store checks
    /// the rest.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let rest = url.strip_prefix("mongodb://").or_else(|| url.strip_prefix("mongodb+srv://"));
        let rest = rest.ok_or(InvalidUrl("it does not begin with 'mongodb://' or 'mongodb+srv://'"))?;
        // A password may contain any of the characters that end the host, percent-encoded.
        let (hosts, tail) = rest.split_once('/').unwrap_or((rest, ""));
        if hosts.rsplit('@').next().is_none_or(str::is_empty) {
            return Err(InvalidUrl("it names no host"));
        }
        let database = tail.split('?').next().unwrap_or_default();
        if database.is_empty() {
            return Err(InvalidUrl("it names no database; write its name after the hosts and a slash"));
        }
        if database.contains(['/', '\\', '.', '"', '$', ' ']) || database.len() > 63 {
            return Err(InvalidUrl("the name of the database is none that MongoDB allows"));
        }
        Ok(MongoConfig {
            url: url.to_owned(),
            pool: 16,
            selection_timeout: Duration::from_secs(3),
            connect_timeout: Duration::from_secs(3),
            operation_timeout: Duration::from_secs(5),
            list_timeout: Duration::from_secs(15),
            write_queue: 4_096,
            write_batch: 64,
            thresholds: Thresholds::default(),
        })
    }
}

impl fmt::Debug for MongoConfig {
    /// Omits the connection string, which may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoConfig")
            .field("pool", &self.pool)
            .field("selection_timeout", &self.selection_timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("operation_timeout", &self.operation_timeout)
            .field("list_timeout", &self.list_timeout)
            .field("write_queue", &self.write_queue)
            .field("write_batch", &self.write_batch)
            .finish_non_exhaustive()
    }
}

/// A store URL that names no MongoDB database. The message does not repeat the URL, which may contain a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the URL of the MongoDB store is not valid: {0}; an example is mongodb://localhost/openapi?replicaSet=rs0"
)]
pub struct InvalidUrl(&'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_databases() {
        for url in [
            "mongodb://localhost/openapi",
            "mongodb://user:p%2Fw@a:27017,b:27018/openapi?replicaSet=rs0",
            "mongodb+srv://user:secret@cluster.example.net/openapi",
        ] {
            assert_eq!(MongoConfig::from_url(url).unwrap().url, url);
        }
        for url in [
            "",
            "localhost/openapi",
            "postgres://localhost/openapi",
            "mongodb://localhost",
            "mongodb://localhost/?replicaSet=rs0",
            "mongodb:///openapi",
            "mongodb://user:secret@/openapi",
            "mongodb://localhost/open.api",
        ] {
            assert!(MongoConfig::from_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn passwords_are_never_shown() {
        let config = MongoConfig::from_url("mongodb://user:secret@localhost/openapi").unwrap();
        assert!(!format!("{config:?}").contains("secret"));
        let error = MongoConfig::from_url("mongodb://user:secret@localhost/").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("secret"));
    }
}
