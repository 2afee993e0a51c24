//! Validates request heads beyond hyper's checks (RFC 9110, RFC 9112, contract 5.1, 6.3 step 1).

use http::header::{HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Uri, Version};
use openapi_core::reply::ErrorCode;

use super::framing::HeadFault;

/// The length of the longest accepted method; no standard has a longer one.
const MAX_METHOD: usize = 24;

/// The result of validating a request head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request continues.
    Accept,
    /// `OPTIONS *`: concerns the server as a whole.
    OptionsAsterisk,
    /// The response is BAD_REQUEST with this reason, and the connection ends.
    Reject(&'static str),
    /// The head exceeds what the server buffers: the response has this code, and the connection ends.
    TooLong(ErrorCode, &'static str),
}

/// Validates a head and reduces an absolute target (`GET http://host/path`) to `/path`. `fault` is what the stream has
/// found.
pub fn validate(parts: &mut Parts, fault: Option<HeadFault>) -> Verdict {
    match fault {
        None => {}
        Some(HeadFault::Lengths) => {
            return Verdict::Reject(
                "The request names its length more than once, by Content-Length or Transfer-Encoding",
            );
        }
        Some(HeadFault::BareLineFeed) => {
            return Verdict::Reject("A line of the request ends with a line feed alone; end each with CR LF");
        }
        Some(HeadFault::TooLong) => {
            // Most of such a head is either its target or its header lines; it may also be nothing but empty lines.
            let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
            let header: usize =
                parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
            return if target > header.max(1) {
                Verdict::TooLong(ErrorCode::UriTooLong, "Path and query are too long")
            } else {
                Verdict::TooLong(ErrorCode::HeadersTooLarge, "The header block is too large")
            };
        }
    }
    if parts.method == Method::CONNECT {
        return Verdict::Reject("This server is no proxy: CONNECT is not possible");
    }
    if parts.method.as_str().len() > MAX_METHOD {
        return Verdict::Reject("The method is too long");
    }
    // In HTTP/2 the target is always absolute: hyper builds it from validated pseudo-headers.
    if parts.version < Version::HTTP_2 {
        if let Err(reason) = host(&parts.headers, parts.version) {
            return Verdict::Reject(reason);
        }
        if let Err(reason) = transfer_encoding(&parts.headers) {
            return Verdict::Reject(reason);
        }
    }
    target(parts)
}

/// Requires exactly one valid `Host`; HTTP/1.0 may omit it.
fn host(headers: &HeaderMap, version: Version) -> Result<(), &'static str> {
    let mut hosts = headers.get_all(HOST).iter();
    let Some(host) = hosts.next() else {
        return if version == Version::HTTP_10 { Ok(()) } else { Err("The Host header is missing") };
    };
    if hosts.next().is_some() {
        return Err("The Host header is given more than once");
    }
    if is_host(host.as_bytes()) { Ok(()) } else { Err("The Host header is not a host with an optional port") }
}

/// Whether this is a DNS name, an IPv4 address or an IPv6 address in brackets, with an optional port. Existing names have
/// none of the other characters that RFC 3986 permits.
fn is_host(host: &[u8]) -> bool {
    let is_name = |name: &[u8]| {
        !name.is_empty()
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    let is_port = |port: &[u8]| {
        let text = std::str::from_utf8(port).unwrap_or("x");
        port.len() <= 5
            && port.iter().all(u8::is_ascii_digit)
            && (text.is_empty() || text.parse::<u16>().is_ok())
    };
    let (name, port) = match host.iter().rposition(|byte| *byte == b':') {
        Some(colon) if !host.ends_with(b"]") => (&host[..colon], &host[colon + 1..]),
        _ => (host, &b""[..]),
    };
    if !is_port(port) {
        return false;
    }
    match name {
        [b'[', address @ .., b']'] => {
            std::str::from_utf8(address).is_ok_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
        }
        name => is_name(name),
    }
}

/// Allows no `Transfer-Encoding`, or `chunked` exactly once.
fn transfer_encoding(headers: &HeaderMap) -> Result<(), &'static str> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err("The only Transfer-Encoding understood is chunked, given once"),
    }
}

fn target(parts: &mut Parts) -> Verdict {
    let uri = &parts.uri;
    if uri.path() == "*" && uri.authority().is_none() {
        return if parts.method == Method::OPTIONS {
            Verdict::OptionsAsterisk
        } else {
            Verdict::Reject("The target * is for OPTIONS only")
        };
    }
    let absolute = match (uri.scheme_str(), uri.authority()) {
        (None, None) => false,
        (Some("http" | "https"), Some(authority)) => {
            // Userinfo before the host is invalid.
            if !is_host(authority.as_str().as_bytes()) {
                return Verdict::Reject("The target's authority is not a host with an optional port");
            }
            true
        }
        _ => return Verdict::Reject("The target must begin with / or be an http or https URL"),
    };
    if absolute {
        // The authority counts, whatever the header says (RFC 9112, 3.2.2); requests of HTTP/2 have no other one.
        let host = uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
        if let Some(host) = host {
            parts.headers.insert(HOST, host);
        }
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        parts.uri = Uri::from(path);
    }
    Verdict::Accept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The console judges the `Host`, which requests of HTTP/2 have in their target alone.
    #[test]
    fn the_authority_of_an_absolute_target_is_the_host() {
        for (version, sent) in [(Version::HTTP_2, None), (Version::HTTP_11, Some("other.example.com"))] {
            let request = http::Request::get("https://console.example.com:8082/a?b=c").version(version);
            let request = sent.into_iter().fold(request, |request, host| request.header(HOST, host));
            let (mut parts, ()) = request.body(()).unwrap().into_parts();
            assert!(matches!(validate(&mut parts, None), Verdict::Accept));
            assert_eq!(parts.uri, "/a?b=c");
            assert_eq!(parts.headers[HOST], "console.example.com:8082", "{version:?}");
            assert_eq!(parts.headers.get_all(HOST).iter().count(), 1);
        }
    }

    #[test]
    fn hosts() {
        for good in [
            "a",
            "api.example.com",
            "api.example.com:8080",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:443",
            "a:",
            "xn--bcher-kva.example",
            "under_score",
        ] {
            assert!(is_host(good.as_bytes()), "{good}");
        }
        for bad in [
            "", ":80", "a b", "a:b", "a:99999", "a:123456", "user@a", "a/b", "a,b c", "[::1", "[zz]", "::1",
            "a\"", "a?b", "a#b", "a:-1", "é", "a:80:80",
        ] {
            assert!(!is_host(bad.as_bytes()), "{bad}");
        }
    }
}
