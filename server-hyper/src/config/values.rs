//! The syntax of values: lists, sizes, durations, addresses.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytesize::ByteSize;
use ipnet::IpNet;
use jiff::{SignedDuration, Span, SpanRelativeTo};

/// The items of a comma-separated list.
#[must_use]
pub fn list(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// A size in bytes: `25MiB`, `8 KiB`, `1048576`.
///
/// # Errors
/// What to write instead.
pub fn size(text: &str) -> Result<u64, String> {
    text.parse::<ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| format!("'{text}' is not a size; write 8KiB, 25MiB or a number of bytes"))
}

/// A duration: `0s`, `90s`, `24h`, `7d`.
///
/// # Errors
/// What to write instead.
pub fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || format!("'{text}' is not a duration; write 90s, 15m, 24h or 7d");
    if text.starts_with('-') || text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid());
    }
    let span = text.parse::<Span>().map_err(|_| invalid())?;
    let length: SignedDuration =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| invalid())?;
    Duration::try_from(length).map_err(|_| invalid())
}

/// An address and port: `127.0.0.1:8080`, `[::]:8080`; `:8080` means the loopback address.
///
/// # Errors
/// What to write instead.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let text = if text.starts_with(':') { format!("127.0.0.1{text}") } else { text.to_owned() };
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| {
        format!("'{text}' is not an address with a port; write 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:80")
    })
}

/// An address and port, or `off`.
///
/// # Errors
/// What to write instead.
pub fn optional_listen_address(text: &str) -> Result<Option<SocketAddr>, String> {
    if text == "off" { Ok(None) } else { listen_address(text).map(Some) }
}

/// A CIDR block of addresses, or one address.
///
/// # Errors
/// What to write instead.
pub fn block(text: &str) -> Result<IpNet, String> {
    text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).map_err(|_| {
        format!(
            "'{text}' is not an address or a block of addresses; write 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32"
        )
    })
}

/// A boolean: `true` or `false`.
///
/// # Errors
/// What to write instead.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("'{text}' is not a boolean; write true or false")),
    }
}

/// The origin of a web page, in the form that browsers send, or `*`.
///
/// # Errors
/// What to write instead.
pub fn web_origin(text: &str) -> Result<String, String> {
    let invalid = || format!("'{text}' is not the origin of a web page; write https://app.example.com or *");
    if text == "*" {
        return Ok(text.to_owned());
    }
    let (scheme, rest) = text.split_once("://").ok_or_else(invalid)?;
    let is_origin = !scheme.is_empty()
        && !rest.is_empty()
        && !text.bytes().any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_whitespace())
        && rest.parse::<http::uri::Authority>().is_ok()
        && !rest.contains('@');
    if is_origin { Ok(text.to_owned()) } else { Err(invalid()) }
}

/// A store URL with its password masked. In doubt the whole query is masked.
#[must_use]
pub fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (address, query) =
        rest.split_once('?').map_or((rest, None), |(address, query)| (address, Some(query)));
    let address =
        match address.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?.0, host))) {
            Some((user, host)) => format!("{user}:****@{host}"),
            None => address.to_owned(),
        };
    let query = match query {
        Some(query) if query.contains("pass") => "?****".to_owned(),
        Some(query) => format!("?{query}"),
        None => String::new(),
    };
    format!("{scheme}://{address}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_durations_addresses() {
        assert_eq!(size("25MiB"), Ok(25 << 20));
        assert_eq!(size("1048576"), Ok(1 << 20));
        assert!(size("many").is_err() && size("-1").is_err() && size("").is_err());
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for bad in ["", "7", "-1s", "soon", "1 month"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(listen_address(":8080"), Ok(SocketAddr::from(([127, 0, 0, 1], 8080))));
        assert_eq!(listen_address("localhost:1"), Ok(SocketAddr::from(([127, 0, 0, 1], 1))));
        assert!(listen_address("[::]:0").is_ok() && listen_address("8080").is_err());
        assert!(block("10.0.0.0/8").is_ok() && block("::1").is_ok() && block("10/8").is_err());
        for good in ["*", "https://app.example.com", "http://localhost:3000"] {
            assert!(web_origin(good).is_ok(), "{good}");
        }
        for bad in
            ["", "app.example.com", "https://app.example.com/", "https://", "https://A.example", "null"]
        {
            assert!(web_origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn passwords_are_masked() {
        assert_eq!(without_password("postgres://u:p@s/s@h:1/d?x=y@z"), "postgres://u:****@h:1/d?x=y@z");
        assert_eq!(without_password("postgres://h/d?password=x"), "postgres://h/d?****");
        assert_eq!(without_password("postgres://u@h/d"), "postgres://u@h/d");
        assert_eq!(without_password("sqlite:./data/openapi.db"), "sqlite:./data/openapi.db");
    }
}
