//! `--server`: operations of a console elsewhere, over HTTPS with a service token.

use std::fmt;
use std::path::Path;

use ::console::{API_PATH, Command, CommandAnswer, CommandRefused};
use ::outbound::{Allowed, HttpOutbound, Parts, Policy};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use openapi_core::json::Json;
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes};

use crate::error::CliError;

/// The variable with the token.
pub const TOKEN_VARIABLE: &str = "OPENAPI_TOKEN";
/// The largest answer that is read.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
const TIMEOUT_MILLIS: u64 = 60_000;

/// A console elsewhere. `Debug` shows no token.
pub struct Remote {
    client: HttpOutbound,
    schemes: OutboundSchemes,
    /// The URL of the console, without a trailing slash.
    url: String,
    authorization: HeaderValue,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.url).finish_non_exhaustive()
    }
}

/// The token of the file, or of the environment.
///
/// # Errors
/// When there is none, or the file cannot be read.
#[expect(clippy::disallowed_methods, reason = "the token of a caller is a secret and no setting")]
pub fn token(file: Option<&Path>) -> Result<String, CliError> {
    let token = match file {
        Some(file) => std::fs::read_to_string(file).map_err(|error| {
            CliError::new(format!("cannot read --token-file {}: {error}", file.display()))
        })?,
        None => std::env::var(TOKEN_VARIABLE).unwrap_or_default(),
    };
    let token = token.trim();
    if !token.is_empty() {
        return Ok(token.to_owned());
    }
    Err(CliError::usage(format!(
        "--server needs a service token: set {TOKEN_VARIABLE}, or name a file with --token-file; an owner or admin creates \
         one with `tokens create`, or in the console under Settings → Service tokens"
    )))
}

impl Remote {
    /// The console at a URL, called with a token.
    ///
    /// # Errors
    /// When the URL is none of a console, and when the system has no certificates.
    pub fn new(url: &str, token: &str) -> Result<Self, CliError> {
        let wrong = || {
            CliError::usage(format!(
                "--server {url}: write the URL of the console, such as https://console.example.com; plain http is for \
                 this machine alone, such as http://localhost:8082"
            ))
        };
        let parsed: http::Uri = url.parse().map_err(|_| wrong())?;
        let (Some(scheme), Some(authority)) = (parsed.scheme_str(), parsed.authority()) else {
            return Err(wrong());
        };
        let is_plain = scheme == "http";
        let has_more = parsed.query().is_some() || authority.as_str().contains('@');
        if has_more || !matches!(scheme, "http" | "https") || is_plain && !is_loopback(authority.host()) {
            return Err(wrong());
        }
        let port = authority.port_u16().unwrap_or(if is_plain { 80 } else { 443 });
        // No name service decides where a token goes in clear.
        let is_named = is_plain && authority.host().eq_ignore_ascii_case("localhost");
        let host = if is_named { "127.0.0.1" } else { authority.host() };
        // The person names this host, so it may be one of the own network; no other host is contacted.
        let allowed: Allowed = format!("{host}:{port}").parse().map_err(|_| wrong())?;
        let explicit = authority.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let policy = Policy { allow: vec![allowed], ports: vec![port], http: is_plain };
        let parts = Parts::system().map_err(|error| CliError::new(error.to_string()))?;
        let mut authorization = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
            CliError::usage("the service token holds characters that no token has; copy it again")
        })?;
        authorization.set_sensitive(true);
        Ok(Remote {
            client: HttpOutbound::new(policy, parts),
            schemes: if is_plain { OutboundSchemes::HttpAndHttps } else { OutboundSchemes::Https },
            url: format!("{scheme}://{host}{explicit}{}", parsed.path().trim_end_matches('/')),
            authorization,
        })
    }

    /// Calls an operation.
    pub async fn run(&self, command: Command<'_>) -> Result<CommandAnswer, CommandRefused> {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let body = command.content();
        if !body.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(tag) = command.if_match.and_then(|tag| HeaderValue::from_str(tag).ok()) {
            headers.insert(header::IF_MATCH, tag);
        }
        let url = format!("{}{API_PATH}{}", self.url, command.target());
        let request = OutboundRequest {
            schemes: self.schemes,
            headers,
            body,
            max_body_bytes: MAX_ANSWER,
            timeout_millis: TIMEOUT_MILLIS,
            ..OutboundRequest::new(command.method.clone(), url)
        };
        let response = self.client.send(request).await.map_err(|error| refused(self.unreachable(&error)))?;
        if response.is_truncated {
            let text =
                format!("{} answers with more than 32 MiB; ask for less, such as by --limit", self.url);
            return Err(refused(text));
        }
        if !is_of_console(&response) {
            return Err(refused(self.no_console(&response)));
        }
        CommandAnswer::read(response.status, &response.headers, &response.body)
            .map_err(|error| self.explained(*error))
    }

    /// Why there was no answer, and what to do.
    fn unreachable(&self, error: &OutboundError) -> String {
        let advice = match error {
            OutboundError::Resolve(_) => "check the name in --server, and the name server of this machine",
            OutboundError::Tls(_) => {
                "the certificate must be valid for the name in --server, and come from an authority that this machine \
                 trusts"
            }
            OutboundError::Connect(_) | OutboundError::Timeout(_) => {
                "check that the server runs, that console_listen is not off, and that no firewall is between"
            }
            OutboundError::Response(_) => "look whether the change was made before you run the command again",
            _ => "check the URL in --server",
        };
        format!("cannot reach {}: {error}; {advice}", self.url)
    }

    /// What to do about an answer that no console gives.
    fn no_console(&self, response: &OutboundResponse) -> String {
        let location = response.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        if let Some(location) = location.filter(|_| response.status.is_redirection()) {
            return format!("{} refers to {location}; give that address to --server", self.url);
        }
        format!(
            "{} does not answer as a console of this version does (status {}); give --server the URL of the console, \
             not that of the Open API or the widget, and compare `openapi-server --version` on both machines",
            self.url,
            response.status.as_u16()
        )
    }

    /// An error of the console with what to do about it here.
    fn explained(&self, mut error: CommandRefused) -> CommandRefused {
        let next = match error.code.as_str() {
            "UNAUTHENTICATED" => {
                format!("; set {TOKEN_VARIABLE} or --token-file to a token that works there")
            }
            "ROUTE_NOT_FOUND" | "METHOD_NOT_ALLOWED" => format!(
                "; the server at {} lacks this operation: compare `openapi-server --version` on both machines",
                self.url
            ),
            "MISDIRECTED_REQUEST" => "; --server must be the console_public_url of the server".to_owned(),
            _ => return error,
        };
        error.text.push_str(&next);
        error
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether the console answered, as its header and its envelope say.
fn is_of_console(response: &OutboundResponse) -> bool {
    let is_json = response
        .headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    let has_policy = response.headers.contains_key(HeaderName::from_static("cross-origin-resource-policy"));
    is_json && has_policy && response.status != StatusCode::NOT_MODIFIED
}

fn refused(text: String) -> CommandRefused {
    CommandRefused { code: String::new(), text, details: Json::Null, etag: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_consoles_are_https_or_of_this_machine() {
        let url = |text: &str| Remote::new(text, "svcc_x").map(|remote| remote.url).ok();
        for (text, read) in [
            ("https://console.example.com", "https://console.example.com"),
            ("https://console.example.com:8443/", "https://console.example.com:8443"),
            ("https://10.1.2.3/admin/", "https://10.1.2.3/admin"),
            // Not where a name service leads to.
            ("http://localhost:8082", "http://127.0.0.1:8082"),
            ("http://LOCALHOST", "http://127.0.0.1"),
            ("http://127.0.0.1:8082", "http://127.0.0.1:8082"),
            ("http://[::1]:8082", "http://[::1]:8082"),
        ] {
            assert_eq!(url(text).as_deref(), Some(read));
        }
        for text in [
            "console.example.com",
            "http://console.example.com",
            "http://10.1.2.3",
            "http://localhost.example.com",
            "https://user:password@console.example.com",
            "https://console.example.com?x=1",
            "ftp://console.example.com",
            "",
        ] {
            let error = Remote::new(text, "svcc_x").map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("write the URL of the console"), "{text}: {error}");
        }
        let error = Remote::new("https://console.example.com", "a\nb").unwrap_err().to_string();
        assert!(error.contains("copy it again") && !error.contains("a\nb"), "{error}");
    }
}
