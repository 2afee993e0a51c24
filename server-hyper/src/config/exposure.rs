//! Warnings about settings that work but expose secrets: connections that may use plain text, and passwords in flags.

use super::layers::{Origin, Value};
use super::registry::llm_key;
use super::values::without_password;

/// The warnings about these values. `variable` reads the environment.
pub(super) fn warnings(values: &[Value], variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut warnings = Vec::new();
    for value in values {
        let Some(text) = value.texts.first() else { continue };
        let exposed = match value.key.as_str() {
            "store" => of_store(text, variable),
            "blobs" => of_object_store(text, variable),
            "smtp_host" => of_mail(text, values),
            "outbound_http" if text == "true" => {
                Some("webhooks may be sent in plain text to who asks for that; use https".to_owned())
            }
            key if llm_key(key).is_some_and(|(_, field)| field == "url") => of_model(text),
            _ => None,
        };
        warnings.extend(exposed.map(|warning| format!("{}: {warning}", value.key)));
        if let Origin::Flag(flag) = &value.origin
            && has_password(text)
        {
            warnings.push(format!(
                "{}: other users can see the password on the command line; use --{flag}-file, or the environment variable {}",
                value.key,
                super::registry::variable_of(&value.key)
            ));
        }
    }
    warnings
}

/// Whether a URL contains a password.
#[must_use]
pub fn has_password(url: &str) -> bool {
    without_password(url) != url
}

/// The warning about the connection to a database server, if it may use plain text.
#[must_use]
pub fn of_store(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let remote = remote_host(rest, query)?;
    let parameter = |names: &[&str]| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.rfind(|(name, _)| names.contains(name)).map(|(_, value)| value.to_owned())
    };
    match scheme {
        "postgres" | "postgresql" => {
            let mode = parameter(&["sslmode", "ssl-mode"]).or_else(|| variable("PGSSLMODE"));
            let mode = mode.unwrap_or_else(|| "prefer".to_owned());
            let what = match mode.as_str() {
                "verify-full" | "verify-ca" => return None,
                "require" => "does not verify the server",
                _ => "may use plain text",
            };
            Some(format!(
                "with sslmode={mode} the connection to {remote} {what}; add sslmode=verify-full to the URL"
            ))
        }
        "mongodb" | "mongodb+srv" => {
            let tls = parameter(&["tls", "ssl"]).map_or(scheme == "mongodb+srv", |value| value == "true");
            let is_lax = ["tlsInsecure", "tlsAllowInvalidCertificates", "tlsAllowInvalidHostnames"]
                .into_iter()
                .find(|name| parameter(&[name]).as_deref() == Some("true"));
            match (tls, is_lax) {
                (false, _) => {
                    Some(format!("the connection to {remote} uses plain text; add tls=true to the URL"))
                }
                (true, Some(name)) => Some(format!(
                    "with {name}=true the connection to {remote} does not verify the server; remove it from the URL"
                )),
                (true, None) => None,
            }
        }
        _ => None,
    }
}

/// The variables that name the server of an object store, by the scheme of its URL.
const ENDPOINTS: [(&str, &[&str]); 3] = [
    ("s3://", &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]),
    ("az://", &["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"]),
    ("gs://", &["GOOGLE_BASE_URL"]),
];

fn of_object_store(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (_, names) = ENDPOINTS.into_iter().find(|(scheme, _)| url.starts_with(scheme))?;
    let name = names.iter().find(|name| variable(name).is_some())?;
    let host = remote_host(plain(&variable(name)?)?, "")?;
    Some(format!("{name} sends the contents of files to {host} in plain text; use https"))
}

fn of_mail(host: &str, values: &[Value]) -> Option<String> {
    let mode = values.iter().find(|value| value.key == "smtp_tls")?.texts.first()?;
    (mode == "none" && !host.is_empty() && !is_local(host)).then(|| {
        format!("with smtp_tls=none e-mail to visitors is sent to {host} in plain text; use starttls or tls")
    })
}

/// What follows the scheme of a URL that uses plain text.
fn plain(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    scheme.eq_ignore_ascii_case("http").then_some(rest)
}

fn of_model(url: &str) -> Option<String> {
    let host = remote_host(plain(url)?, "")?;
    Some(format!("its key, documents and visitors' messages are sent to {host} in plain text; use https"))
}

/// The first host of a URL, after its scheme, that is not this machine.
fn remote_host(rest: &str, query: &str) -> Option<String> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    // PostgreSQL also takes hosts, or the folder of a socket, as a parameter.
    let parameters = query.split('&').filter_map(|pair| pair.split_once('='));
    let named = parameters.filter(|(name, _)| matches!(*name, "host" | "hostaddr")).map(|(_, host)| host);
    hosts.split(',').chain(named).map(without_port).find(|host| !is_local(host)).map(str::to_owned)
}

fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Whether a host is this machine: a loopback address, its name, or a Unix socket.
fn is_local(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    name.is_empty()
        || name == "localhost"
        || name.ends_with(".localhost")
        || name.starts_with('/')
        || name.starts_with("%2f")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_databases_need_tls() {
        let none = |_: &str| None;
        for exposed in [
            "postgres://u:p@db.internal/d",
            "postgresql://db.internal/d?sslmode=prefer",
            "postgres://db/d?sslmode=disable",
            "postgres://db/d?sslmode=verify-full&sslmode=allow",
            "postgres://localhost,db.internal/d",
            "postgres://localhost/d?host=10.0.0.7",
            "postgres://[2001:db8::1]:5432/d",
            "postgres://db.internal/d?sslmode=Prefer",
            "postgres://db.internal/d?sslmode=require",
            "mongodb://db1,db2:27017/d?replicaSet=rs0",
            "mongodb://u:p%40@db/d?tls=false",
            "mongodb+srv://cluster.example.com/d?tls=false",
            "mongodb+srv://cluster.example.com/d?tlsInsecure=true",
            "mongodb://db/?ssl=true&tlsAllowInvalidCertificates=true",
        ] {
            let warning = of_store(exposed, &none);
            assert!(warning.as_ref().is_some_and(|text| !text.contains("u:p")), "{exposed}: {warning:?}");
        }
        for sound in [
            "postgres://u:p@localhost/d",
            "postgres://127.0.0.1:5432/d?sslmode=disable",
            "postgres:///d?host=/run/postgresql",
            "postgres://%2Frun%2Fpostgresql/d",
            "postgres://[::1]/d",
            "postgres://db.internal/d?sslmode=verify-full",
            "postgres://db.internal/d?sslmode=verify-ca",
            "mongodb://localhost:27017,127.0.0.2/d",
            "mongodb://db/d?tls=true",
            "mongodb+srv://cluster.example.com/d",
            "sqlite:./data/openapi.db",
            "memory:",
        ] {
            assert_eq!(of_store(sound, &none), None, "{sound}");
        }
        let required = |name: &str| (name == "PGSSLMODE").then(|| "verify-ca".to_owned());
        assert_eq!(of_store("postgres://db.internal/d", &required), None);
    }

    #[test]
    fn remote_models_and_object_stores_need_tls() {
        assert!(
            of_model("http://models.example.com/v1").is_some_and(|text| text.contains("models.example.com"))
        );
        for sound in ["https://models.example.com/v1", "http://127.0.0.1:11434/v1", "http://localhost:1/v1"] {
            assert_eq!(of_model(sound), None, "{sound}");
        }
        let endpoint =
            |url: &'static str| move |name: &str| (name == "AWS_ENDPOINT_URL").then(|| url.to_owned());
        for exposed in ["http://minio.internal:9000", "HTTP://minio.internal"] {
            assert!(of_object_store("s3://b", &endpoint(exposed)).is_some(), "{exposed}");
            assert_eq!(of_object_store("az://c", &endpoint(exposed)), None, "a variable of another store");
            assert!(of_model(exposed).is_some(), "{exposed}");
        }
        for (store, variable) in [("az://c", "AZURE_STORAGE_ENDPOINT"), ("gs://b", "GOOGLE_BASE_URL")] {
            let endpoint = |name: &str| (name == variable).then(|| "http://files.internal".to_owned());
            assert!(of_object_store(store, &endpoint).is_some(), "{store}");
        }
        assert_eq!(of_object_store("s3://b", &endpoint("http://127.0.0.1:9000")), None);
        assert_eq!(of_object_store("s3://b", &endpoint("https://minio.internal")), None);
        assert_eq!(of_object_store("./files", &endpoint("http://minio.internal:9000")), None);
    }
}
