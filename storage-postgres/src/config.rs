//! The database, and how the store uses it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;

use crate::url::{InvalidUrl, StoreUrl};

/// The settings of a [`PostgresStorage`](crate::PostgresStorage). Every number has a default that fits one of a few
/// servers.
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresConfig {
    /// The servers with the database and the user, at least one. The store uses the first that can write.
    pub(crate) servers: Vec<PgConnectOptions>,
    /// The files that TLS needs, each with the parameter that names it.
    pub(crate) files: Vec<(String, PathBuf)>,
    /// The PostgreSQL schema that holds the tables (default `openapi`). It is created if it is absent.
    pub(crate) schema: String,
    /// The most connections (default 8). A few are faster than many: PostgreSQL works on about as many statements at a
    /// time as it has processors.
    pub max_connections: u32,
    /// The timeout for establishing a connection, and for waiting for a free one (default 3 s). After it a request
    /// fails with [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable).
    pub connect_timeout: Duration,
    /// The timeout of one statement (default 5 s). The store gives up on a server that does not respond at all one
    /// second later.
    pub statement_timeout: Duration,
    /// How long a write waits for another one of the same tenant (default 3 s).
    pub lock_timeout: Duration,
    /// The most writes of contacts that wait for the writer (default 4,096). Further ones fail with
    /// [`Unavailable`](openapi_core::storage::StorageErrorKind::Unavailable) at once.
    pub write_queue: usize,
    /// The most writes of contacts that share one transaction (default 256).
    pub write_batch: usize,
    /// The size of the contact cache in bytes (default 160 MiB); 0 turns it off. A cached contact is returned only after the
    /// database confirms that no contact of its tenant has changed since.
    pub contact_cache: u64,
    /// Whether a pooler such as PgBouncer in transaction mode is between the store and the server (default `false`). Such
    /// a pooler gives each transaction another session: the store then prepares no statements, and sets what it needs in
    /// each transaction, which costs a read two round trips more.
    pub is_pooled: bool,
    /// Sizes at which the store changes its method.
    pub(crate) thresholds: Thresholds,
}

/// Sizes at which the store changes its method. Tests use small ones, so that few rows reach every method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thresholds {
    /// The offset from which a page may be read from the end of its list.
    pub(crate) far_offset: u64,
    /// The contacts that a change of a schema reads at a time.
    pub(crate) reindex_chunk: u32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { far_offset: 2_048, reindex_chunk: 1_000 }
    }
}

/// How many prepared statements a connection caches. Lists are prepared for each sort, direction, view and page length
/// that occurs.
const STATEMENTS: usize = 256;

impl PostgresConfig {
    /// The settings for a store URL as on the command line: `postgres://user:password@host:5432/database`, with the
    /// parameters that PostgreSQL's own tools know (`sslmode`, `host`, …) and these:
    ///
    /// - `max_connections`: 2 to 1,000;
    /// - `connect_timeout` and `statement_timeout`: whole seconds, 1 to 3,600;
    /// - `schema`: the PostgreSQL schema that holds the tables, of lower-case letters, digits and `_`;
    /// - `pooler=transaction`, or `pgbouncer=true`: see [`is_pooled`](Self::is_pooled).
    ///
    /// It may name several hosts, separated by commas: the store uses the first that can write, and changes to the next when
    /// it fails.
    ///
    /// What the URL omits is taken from where PostgreSQL's own tools look: `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`,
    /// `PGDATABASE` and the password file.
    ///
    /// # Errors
    /// When the text is not such a URL, or a parameter is unknown or out of range.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let StoreUrl { servers, own, files } = StoreUrl::parse(url)?;
        let mut config = PostgresConfig::new(servers);
        config.files = files;
        for (name, value) in &own {
            match name.as_str() {
                "schema" => config.schema = schema_name(value)?,
                "max_connections" => config.max_connections = number(name, value, 2, 1_000)?,
                "connect_timeout" => config.connect_timeout = seconds(name, value)?,
                "pooler" => config.is_pooled = choice(name, value, "transaction", &["session", "none"])?,
                "pgbouncer" => config.is_pooled = choice(name, value, "true", &["false"])?,
                _ => config.statement_timeout = seconds(name, value)?,
            }
        }
        Ok(config)
    }

    fn new(servers: Vec<PgConnectOptions>) -> Self {
        let named = |server: PgConnectOptions| match server.get_application_name() {
            None => server.application_name("openapi"),
            Some(_) => server,
        };
        let servers = servers.into_iter().map(|server| named(server).statement_cache_capacity(STATEMENTS));
        PostgresConfig {
            servers: servers.collect(),
            files: Vec::new(),
            schema: "openapi".to_owned(),
            max_connections: 8,
            connect_timeout: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(3),
            write_queue: 4_096,
            write_batch: 256,
            contact_cache: 160 << 20,
            is_pooled: false,
            thresholds: Thresholds::default(),
        }
    }

    /// How connections to a server are made.
    pub(crate) fn connect(&self, server: usize) -> PgConnectOptions {
        let options = self.servers[server % self.servers.len()].clone();
        // Poolers refuse the parameter at the start of a session; the store reads floating-point numbers as bytes.
        if self.is_pooled { options.extra_float_digits(None) } else { options }
    }

    /// The servers, the database and the user, without the password.
    pub(crate) fn server(&self) -> String {
        let host = |server: &PgConnectOptions| match server.get_socket() {
            Some(socket) => format!("{}:{}", socket.display(), server.get_port()),
            None => format!("{}:{}", server.get_host(), server.get_port()),
        };
        let hosts: Vec<String> = self.servers.iter().map(host).collect();
        format!("postgres://{}@{}/{}", self.servers[0].get_username(), hosts.join(","), self.database())
    }

    /// The database; PostgreSQL's default is the one with the user's name.
    pub(crate) fn database(&self) -> &str {
        let server = &self.servers[0];
        server.get_database().unwrap_or(server.get_username())
    }
}

/// Whether a parameter has the value `yes` and none of the `others`.
fn choice(name: &str, value: &str, yes: &str, others: &[&str]) -> Result<bool, InvalidUrl> {
    match value {
        value if value == yes => Ok(true),
        value if others.contains(&value) => Ok(false),
        _ => Err(InvalidUrl::new(format!("'{name}' must be {yes} or {}", others.join(" or ")))),
    }
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, InvalidUrl> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| InvalidUrl::new(format!("'{name}' must be a whole number from {least} to {most}")))
}

fn seconds(name: &str, value: &str) -> Result<Duration, InvalidUrl> {
    number(name, value, 1, 3_600).map(|seconds| Duration::from_secs(seconds.into()))
}

fn schema_name(value: &str) -> Result<String, InvalidUrl> {
    let is_plain = value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let begins = value.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    if is_plain && begins && value.len() <= 63 && !value.starts_with("pg_") {
        Ok(value.to_owned())
    } else {
        Err(InvalidUrl::new("'schema' must be a name of small letters, digits and '_'"))
    }
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The driver's own settings would print the password.
        f.debug_struct("PostgresConfig")
            .field("server", &self.server())
            .field("schema", &self.schema)
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_databases() {
        let config = PostgresConfig::from_url(
            "postgres://ann:se%40cret@db.example:6543/crm?max_connections=3&statement_timeout=7&schema=s1&sslmode=disable",
        )
        .unwrap();
        assert_eq!(config.server(), "postgres://ann@db.example:6543/crm");
        assert_eq!((config.max_connections, config.schema.as_str()), (3, "s1"));
        assert_eq!(config.statement_timeout, Duration::from_secs(7));
        assert!(!format!("{config:?}").contains("cret"));
        assert_eq!(PostgresConfig::from_url("postgresql://ann@h").unwrap().database(), "ann");
    }

    #[test]
    fn other_urls_are_refused_without_repeating_them() {
        for url in [
            "",
            "sqlite:x",
            "postgres:cret",
            "postgres://u:cret@h/d?max_connections=1",
            "postgres://u:cret@h/d?max_connections=many",
            "postgres://u:cret@h/d?connect_timeout=0",
            "postgres://u:cret@h/d?schema=A",
            "postgres://u:cret@h/d?schema=x;y",
            "postgres://u:cret@h/d?max_conections=9",
            "postgres://u:cret@h/d?sslmode=perhaps",
        ] {
            match PostgresConfig::from_url(url) {
                // `postgres:cret` is a URL without a host; the rest comes from the user's own settings.
                Ok(config) => assert!(!format!("{config:?}").contains("cret@"), "{url}"),
                Err(error) => assert!(!error.to_string().contains("cret"), "{error}"),
            }
        }
        assert!(PostgresConfig::from_url("postgres://u@h/d?max_conections=9").is_err());
        assert!(PostgresConfig::from_url("postgres://u@h/d?pooler=yes").is_err());
        assert!(PostgresConfig::from_url("postgres://u@h/d?schema=x;y").is_err());
        assert!(PostgresConfig::from_url("postgres://u@h/d?max_connections=1").is_err());
    }

    #[test]
    fn urls_of_psql_are_taken_or_refused_with_the_reason() {
        let servers = |url: &str| PostgresConfig::from_url(url).map(|config| config.server());
        for (url, expected) in [
            ("postgres://u:cret@a:1,b:2,c/d?schema=s", "postgres://u@a:1,b:2,c:5432/d"),
            ("postgres://u:c,ret@a/d", "postgres://u@a:5432/d"),
            ("postgres://u@[::1]:1,[::2]:2/d", "postgres://u@[::1]:1,[::2]:2/d"),
            ("postgres://u@/d?host=a,b&port=7,8", "postgres://u@a:7,b:8/d"),
            ("postgres://u@/d?host=a,b&port=7", "postgres://u@a:7,b:7/d"),
            ("postgres://u@h/d?host=/run/postgresql", "postgres://u@/run/postgresql:5432/d"),
            ("postgres://u%40v:c+ret%26@/d?host=/run/postgresql", "postgres://u@v@/run/postgresql:5432/d"),
            (
                "postgres://u@h/d?channel_binding=prefer&gssencmode=disable&target_session_attrs=read-write&keepalives=1",
                "postgres://u@h:5432/d",
            ),
        ] {
            assert_eq!(servers(url).as_deref(), Ok(expected), "{url}");
        }
        for (url, expected) in [
            ("postgres://u:cret@h/d?sslmode=require&channel_binding=require", "verify-full"),
            ("postgres://u:cret@h/d?target_session_attrs=standby", "any, read-write, primary"),
            ("postgres://u:cret@h/d?service=x", "not supported; remove it"),
            ("postgres://u:cret@h/d?colour=x", "unknown parameter 'colour'"),
            ("postgres://u:cret@a:1,b:x/d", "port"),
            ("postgres://u:cret@/d?host=a,b,c&port=1,2", "one for each host"),
            ("postgres://u:cret@h/d?sslrootcert=system&sslmode=require", "needs sslmode=verify-full"),
        ] {
            let error = servers(url).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("cret"), "{url}: {error}");
        }
        let mode = |url: &str| {
            let config = PostgresConfig::from_url(url).unwrap();
            (format!("{:?}", config.connect(0).get_ssl_mode()), config.files.len(), config.is_pooled)
        };
        assert_eq!(
            mode("postgres://u@h/d?sslmode=require&sslrootcert=/r"),
            ("VerifyCa".to_owned(), 1, false)
        );
        assert_eq!(mode("postgres://u@h/d?sslrootcert=system"), ("VerifyFull".to_owned(), 0, false));
        assert_eq!(mode("postgres://u@h/d?pooler=transaction"), ("Prefer".to_owned(), 0, true));
        assert_eq!(mode("postgres://u@h/d?pgbouncer=true&sslmode=disable"), ("Disable".to_owned(), 0, true));
    }
}
