//! The database, and how the store uses it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use url::Url;

/// The settings of a [`PostgresStorage`](crate::PostgresStorage). Every number has a default that fits one of a few
/// servers.
#[derive(Clone)]
#[non_exhaustive]
pub struct PostgresConfig {
    /// The server, the database and the user.
    pub(crate) connect: PgConnectOptions,
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

/// The parameters of a store URL that this crate defines.
const OWN: [&str; 4] = ["schema", "max_connections", "connect_timeout", "statement_timeout"];

/// The parameters that the driver defines.
const DRIVERS: [&str; 17] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "statement-cache-capacity",
];

/// How many prepared statements a connection caches. Lists are prepared for each sort, direction, view and page length
/// that occurs.
const STATEMENTS: usize = 256;

impl PostgresConfig {
    /// The settings for a store URL as on the command line: `postgres://user:password@host:5432/database`, with the
    /// parameters that PostgreSQL's own tools know (`sslmode`, `host`, …) and these:
    ///
    /// - `max_connections`: 2 to 1,000;
    /// - `connect_timeout` and `statement_timeout`: whole seconds, 1 to 3,600;
    /// - `schema`: the PostgreSQL schema that holds the tables, of lower-case letters, digits and `_`.
    ///
    /// What the URL omits is taken from where PostgreSQL's own tools look: `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`,
    /// `PGDATABASE` and the password file.
    ///
    /// # Errors
    /// When the text is not such a URL, or a parameter is unknown or out of range.
    pub fn from_url(url: &str) -> Result<Self, InvalidUrl> {
        let mut parsed = Url::parse(url).map_err(|error| InvalidUrl(format!("it is no URL: {error}")))?;
        if !matches!(parsed.scheme(), "postgres" | "postgresql") {
            return Err(InvalidUrl("it does not begin with 'postgres://'".to_owned()));
        }
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (name, value) in parsed.query_pairs().into_owned() {
            let target = if OWN.contains(&name.as_str()) { &mut own } else { &mut others };
            target.push((name, value));
        }
        for (name, _) in &others {
            if !DRIVERS.contains(&name.as_str()) && !name.starts_with("options") {
                return Err(InvalidUrl(format!("it has an unknown parameter '{name}'")));
            }
        }
        parsed.set_query(None);
        if !others.is_empty() {
            parsed.query_pairs_mut().extend_pairs(others);
        }
        let connect = PgConnectOptions::from_str(parsed.as_str())
            .map_err(|error| InvalidUrl(format!("a parameter is wrong: {error}")))?;
        let mut config = PostgresConfig::new(connect);
        for (name, value) in &own {
            match name.as_str() {
                "schema" => config.schema = schema_name(value)?,
                "max_connections" => config.max_connections = number(name, value, 2, 1_000)?,
                "connect_timeout" => config.connect_timeout = seconds(name, value)?,
                _ => config.statement_timeout = seconds(name, value)?,
            }
        }
        Ok(config)
    }

    fn new(connect: PgConnectOptions) -> Self {
        let connect = match connect.get_application_name() {
            None => connect.application_name("openapi"),
            Some(_) => connect,
        };
        PostgresConfig {
            connect: connect.statement_cache_capacity(STATEMENTS),
            schema: "openapi".to_owned(),
            max_connections: 8,
            connect_timeout: Duration::from_secs(3),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(3),
            write_queue: 4_096,
            write_batch: 256,
            contact_cache: 160 << 20,
            thresholds: Thresholds::default(),
        }
    }

    /// The server, the database and the user, without the password.
    pub(crate) fn server(&self) -> String {
        let connect = &self.connect;
        let host = match connect.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => connect.get_host().to_owned(),
        };
        let user = connect.get_username();
        format!("postgres://{user}@{host}:{}/{}", connect.get_port(), self.database())
    }

    /// The database; PostgreSQL's default is the one with the user's name.
    pub(crate) fn database(&self) -> &str {
        self.connect.get_database().unwrap_or(self.connect.get_username())
    }
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, InvalidUrl> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| InvalidUrl(format!("'{name}' must be a whole number from {least} to {most}")))
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
        Err(InvalidUrl("'schema' must be a name of small letters, digits and '_'".to_owned()))
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

/// A store URL that names no PostgreSQL database. The message does not repeat the URL, which may contain a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidUrl(String);

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the URL of the PostgreSQL store is not valid: {}; an example is \
             postgres://openapi:PASSWORD@localhost:5432/openapi",
            self.0
        )
    }
}

impl std::error::Error for InvalidUrl {}

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
        assert!(PostgresConfig::from_url("postgres://u@h/d?schema=x;y").is_err());
        assert!(PostgresConfig::from_url("postgres://u@h/d?max_connections=1").is_err());
    }
}
