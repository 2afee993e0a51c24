//! URLs of stores: as PostgreSQL's own tools take them, with the parameters of this crate.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;
use url::Url;

/// The parameters that this crate defines.
const OWN: [&str; 6] =
    ["schema", "max_connections", "connect_timeout", "statement_timeout", "pooler", "pgbouncer"];

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

/// Parameters of PostgreSQL's own tools without an effect here, with the values that ask for nothing else; any value if
/// none is listed.
const WITHOUT_EFFECT: [(&str, &[&str]); 18] = [
    ("channel_binding", &["disable", "prefer"]),
    ("client_encoding", &["utf8", "utf-8", "auto"]),
    ("fallback_application_name", &[]),
    ("gssencmode", &["disable", "prefer"]),
    ("keepalives", &[]),
    ("keepalives_count", &[]),
    ("keepalives_idle", &[]),
    ("keepalives_interval", &[]),
    ("load_balance_hosts", &["disable"]),
    ("max_protocol_version", &[]),
    ("min_protocol_version", &["3.0"]),
    ("ssl_max_protocol_version", &["tlsv1.3"]),
    ("ssl_min_protocol_version", &["tlsv1", "tlsv1.1", "tlsv1.2"]),
    ("sslcompression", &["0"]),
    ("sslnegotiation", &["postgres"]),
    ("sslsni", &["1"]),
    // A store needs a server that can write, whatever the URL says.
    ("target_session_attrs", &["any", "read-write", "primary"]),
    ("tcp_user_timeout", &[]),
];

/// Other parameters of these tools.
const UNSUPPORTED: [&str; 15] = [
    "gssdelegation",
    "gsslib",
    "krbsrvname",
    "passfile",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "service",
    "servicefile",
    "sslcertmode",
    "sslcrl",
    "sslcrldir",
    "sslkeylogfile",
    "sslpassword",
];

/// A URL, taken apart.
pub(crate) struct StoreUrl {
    /// The servers in the order in which they are tried, at least one.
    pub(crate) servers: Vec<PgConnectOptions>,
    /// The parameters of this crate.
    pub(crate) own: Vec<(String, String)>,
    /// The files that the URL names, each with its parameter.
    pub(crate) files: Vec<(String, PathBuf)>,
}

impl StoreUrl {
    /// Takes a URL apart.
    pub(crate) fn parse(url: &str) -> Result<Self, InvalidUrl> {
        let url = &user_as_parameter(url);
        let (hosts, before, after) = hosts(url);
        let first = format!("{before}{}{after}", hosts[0]);
        let parsed = Url::parse(&first).map_err(|error| InvalidUrl::new(format!("it is no URL: {error}")))?;
        if !matches!(parsed.scheme(), "postgres" | "postgresql") {
            return Err(InvalidUrl::new("it does not begin with 'postgres://'"));
        }
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (name, value) in parsed.query_pairs().into_owned() {
            match name.as_str() {
                name_of if OWN.contains(&name_of) => own.push((name, value)),
                name_of if DRIVERS.contains(&name_of) || name.starts_with("options") => {
                    others.push((name, value));
                }
                _ => check(&name, &value)?,
            }
        }
        let files = adjust(&mut others)?;
        let mut servers = Vec::new();
        for host in &hosts {
            let mut server = Url::parse(&format!("{before}{host}{after}"))
                .map_err(|error| InvalidUrl::new(format!("it is no URL: {error}")))?;
            for others in expanded(&others)? {
                server.set_query(None);
                if !others.is_empty() {
                    server.query_pairs_mut().extend_pairs(others);
                }
                let options = PgConnectOptions::from_str(server.as_str());
                servers.push(
                    options.map_err(|error| InvalidUrl::new(format!("a parameter is wrong: {error}")))?,
                );
            }
        }
        Ok(StoreUrl { servers, own, files })
    }
}

/// The URL of a user without a host, `postgres://user@/database`, which psql takes, as URLs in general are.
fn user_as_parameter(url: &str) -> String {
    let (hosts, before, after) = hosts(url);
    let Some((scheme, user)) = before.strip_suffix('@').and_then(|before| before.split_once("://")) else {
        return url.to_owned();
    };
    if hosts != [""] {
        return url.to_owned();
    }
    let (user, password) =
        user.split_once(':').map_or((user, None), |(user, password)| (user, Some(password)));
    // In a query, a plus sign is a blank, and these separate parameters.
    let value = |text: &str| text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let password = password.map_or_else(String::new, |password| format!("&password={}", value(password)));
    let mark = if after.contains('?') { '&' } else { '?' };
    format!("{scheme}://{after}{mark}user={}{password}", value(user))
}

/// The hosts with their ports between the commas of a URL, and what is before and after them.
fn hosts(url: &str) -> (Vec<&str>, &str, &str) {
    let begin = url.find("://").map_or(0, |at| at + 3);
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    let begin = url[begin..end].rfind('@').map_or(begin, |at| begin + at + 1);
    (url[begin..end].split(',').collect(), &url[..begin], &url[end..])
}

/// Checks a parameter that the driver does not know.
fn check(name: &str, value: &str) -> Result<(), InvalidUrl> {
    let refused = |text: String| Err(InvalidUrl::new(text));
    if (name, value) == ("channel_binding", "require") {
        return refused(
            "'channel_binding=require' is not supported, because the driver cannot bind the password to the TLS \
             connection; write channel_binding=prefer, and sslmode=verify-full, which proves the server's identity"
                .to_owned(),
        );
    }
    match WITHOUT_EFFECT.iter().find(|(known, _)| *known == name) {
        Some((_, values)) if values.is_empty() || values.contains(&value.to_lowercase().as_str()) => Ok(()),
        Some((_, values)) => refused(format!(
            "'{name}={value}' is not supported; remove it, or write one of {}",
            values.join(", ")
        )),
        None if UNSUPPORTED.contains(&name) => {
            refused(format!("the parameter '{name}' of PostgreSQL's own tools is not supported; remove it"))
        }
        None => refused(format!("it has an unknown parameter '{name}'")),
    }
}

/// Gives the parameters of TLS the meaning that they have in PostgreSQL's own tools; returns the files that they name.
fn adjust(parameters: &mut Vec<(String, String)>) -> Result<Vec<(String, PathBuf)>, InvalidUrl> {
    const ROOT: [&str; 3] = ["sslrootcert", "ssl-root-cert", "ssl-ca"];
    const OTHERS: [&str; 4] = ["sslcert", "ssl-cert", "sslkey", "ssl-key"];
    let is_root = |(name, _): &(String, String)| ROOT.contains(&name.as_str());
    let is_mode = |(name, _): &(String, String)| matches!(name.as_str(), "sslmode" | "ssl-mode");
    let mode = parameters.iter().find(|it| is_mode(it)).map(|(_, mode)| mode.clone());
    let root = parameters.iter().find(|it| is_root(it)).map(|(_, root)| root.clone());
    let stricter = match (root.as_deref(), mode.as_deref()) {
        // The authorities of the system, which the driver knows anyway.
        (Some("system"), None | Some("verify-full")) => {
            parameters.retain(|it| !is_root(it));
            Some("verify-full")
        }
        (Some("system"), Some(_)) => {
            return Err(InvalidUrl::new("'sslrootcert=system' needs sslmode=verify-full"));
        }
        (Some(_), Some("require")) => Some("verify-ca"),
        _ => None,
    };
    if let Some(stricter) = stricter {
        parameters.retain(|it| !is_mode(it));
        parameters.push(("sslmode".to_owned(), stricter.to_owned()));
    }
    let named = parameters.iter().filter(|it| is_root(it) || OTHERS.contains(&it.0.as_str()));
    Ok(named.map(|(name, path)| (name.clone(), PathBuf::from(path))).collect())
}

/// The parameters once for each host that they name.
fn expanded(parameters: &[(String, String)]) -> Result<Vec<Vec<(String, String)>>, InvalidUrl> {
    let values = |name: &str| -> Vec<&str> {
        let found = parameters.iter().find(|(it, _)| it == name);
        found.map_or_else(Vec::new, |(_, value)| value.split(',').collect())
    };
    let (hosts, ports) = (values("host"), values("port"));
    if hosts.len() <= 1 && ports.len() <= 1 {
        return Ok(vec![parameters.to_vec()]);
    }
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(InvalidUrl::new("'port' must name one port, or one for each host"));
    }
    let of = |at: usize| {
        let value = |(name, value): &(String, String)| match name.as_str() {
            "host" => (name.clone(), hosts[at].to_owned()),
            "port" => (name.clone(), ports[at.min(ports.len() - 1)].to_owned()),
            _ => (name.clone(), value.clone()),
        };
        parameters.iter().map(value).collect()
    };
    Ok((0..hosts.len()).map(of).collect())
}

/// A store URL that names no PostgreSQL database. The message does not repeat the URL, which may contain a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidUrl(String);

impl InvalidUrl {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        InvalidUrl(reason.into())
    }
}

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
