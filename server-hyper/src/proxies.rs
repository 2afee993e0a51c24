//! The client address of a request that arrives through trusted proxies (contract 8.3).

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{FORWARDED, HeaderMap, HeaderName};
use ipnet::IpNet;

/// The header that proxies write unless the operator names another one.
pub const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies whose forwarding header is trusted.
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    blocks: Arc<[IpNet]>,
    /// The header that the proxies write. Others may come from the client.
    header: HeaderName,
    /// Whether a warning about a missing header was logged.
    has_warned: Arc<AtomicBool>,
}

impl Default for TrustedProxies {
    fn default() -> Self {
        TrustedProxies::new(Vec::new())
    }
}

impl TrustedProxies {
    /// Trusts the addresses in these blocks, and their `X-Forwarded-For`.
    #[must_use]
    pub fn new(blocks: Vec<IpNet>) -> Self {
        TrustedProxies {
            blocks: blocks.iter().map(IpNet::trunc).collect(),
            header: X_FORWARDED_FOR,
            has_warned: Arc::default(),
        }
    }

    /// The same proxies, which write another header: `Forwarded`, or one with a list of addresses.
    #[must_use]
    pub fn writing(mut self, header: HeaderName) -> Self {
        self.header = header;
        self
    }

    /// Whether no proxy is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Whether `address` is a trusted proxy.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.blocks.iter().any(|block| block.contains(&address))
    }

    /// The client address of a request: the socket's, or, if that is a trusted proxy, the rightmost address of the header
    /// that is not one.
    ///
    /// A proxy writes one header and passes others on as the client sent them, so the server reads no other.
    #[must_use]
    pub fn client(&self, socket: IpAddr, headers: &HeaderMap) -> IpAddr {
        let socket = socket.to_canonical();
        if self.blocks.is_empty() || !self.contains(socket) {
            return socket;
        }
        if !headers.contains_key(&self.header) {
            self.warn_if_misnamed(headers);
            return socket;
        }
        let text = text_of(headers, &self.header);
        if self.header == FORWARDED {
            let nodes: Vec<_> = split_outside_quotes(&text, ',').map(forwarded_for).collect();
            self.rightmost(socket, nodes.into_iter().rev())
        } else {
            self.rightmost(socket, text.rsplit(',').map(|entry| node(entry.trim())))
        }
    }

    /// Warns once about a request whose proxy seems to write another header than the setting says.
    fn warn_if_misnamed(&self, headers: &HeaderMap) {
        let Some(other) = [X_FORWARDED_FOR, FORWARDED].into_iter().find(|name| headers.contains_key(name))
        else {
            return;
        };
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                expected = %self.header,
                found = %other,
                "a trusted proxy did not send the forwarding header, so its own address counts as the client's; if the \
                 proxy writes the other header, name it with --forwarded-header"
            );
        }
    }

    /// Walks from the nearest hop outwards. An entry that is not an address ends the walk, and the last known hop is the
    /// client.
    fn rightmost(&self, socket: IpAddr, hops: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        let mut last = socket;
        for hop in hops {
            let Some(address) = hop else { return last };
            last = address;
            if !self.contains(address) {
                return address;
            }
        }
        last
    }
}

/// All lines of a header as one list, in the order received.
fn text_of(headers: &HeaderMap, name: &HeaderName) -> String {
    let lines: Vec<_> = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect();
    lines.join(",")
}

fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c| {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if c == separator && !quoted => return true,
            _ => {}
        }
        false
    })
}

/// The `for` of one element of `Forwarded` (RFC 7239).
fn forwarded_for(element: &str) -> Option<IpAddr> {
    split_outside_quotes(element, ';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| node(value.trim().trim_matches('"')))?
    })
}

/// An address with an optional port: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]:80`, `2001:db8::1`.
fn node(text: &str) -> Option<IpAddr> {
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => match text.split_once(':') {
            // More than one colon: an IPv6 address without brackets.
            Some((address, port)) if !port.contains(':') => address,
            _ => text,
        },
    };
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(socket: &str, headers: &[(&'static str, &'static str)]) -> String {
        client_by(X_FORWARDED_FOR, socket, headers)
    }

    fn client_by(header: HeaderName, socket: &str, headers: &[(&'static str, &'static str)]) -> String {
        let trusted =
            TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()]);
        let trusted = trusted.writing(header);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        trusted.client(socket.parse().unwrap(), &map).to_string()
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let spoofed = [("x-forwarded-for", "198.51.100.1"), ("forwarded", "for=198.51.100.1")];
        assert_eq!(client("192.0.2.9", &spoofed), "192.0.2.9");
        assert_eq!(client("::ffff:192.0.2.9", &spoofed), "192.0.2.9");
        assert_eq!(client("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn the_rightmost_address_that_is_no_proxy_counts() {
        for (value, address) in [
            ("198.51.100.1", "198.51.100.1"),
            ("203.0.113.7, 198.51.100.1", "198.51.100.1"),
            ("198.51.100.1, 10.1.2.3", "198.51.100.1"),
            ("198.51.100.1:4711,10.1.2.3:80", "198.51.100.1"),
            ("2001:470::1, 2001:db8::5", "2001:470::1"),
            ("[2001:470::1]:99", "2001:470::1"),
            ("10.1.2.3", "10.1.2.3"),
            ("198.51.100.1, unknown, 10.1.2.3", "10.1.2.3"),
            ("nonsense", "10.0.0.1"),
            ("", "10.0.0.1"),
            ("198.51.100.1,", "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", &[("x-forwarded-for", value)]), address, "{value}");
        }
        assert_eq!(
            client("10.0.0.1", &[("x-forwarded-for", "203.0.113.7"), ("x-forwarded-for", "198.51.100.1")]),
            "198.51.100.1"
        );
    }

    #[test]
    fn forwarded_is_read_as_rfc_7239_writes_it() {
        for (value, address) in [
            ("for=198.51.100.1", "198.51.100.1"),
            ("For=\"[2001:470::1]:4711\";proto=https", "2001:470::1"),
            ("for=203.0.113.7, for=198.51.100.1;by=10.0.0.1, for=10.9.9.9", "198.51.100.1"),
            ("for=\"a,b\";x=\"\\\"\", proto=http;for=198.51.100.1", "198.51.100.1"),
            ("for=_hidden", "10.0.0.1"),
            ("proto=https", "10.0.0.1"),
        ] {
            assert_eq!(client_by(FORWARDED, "10.0.0.1", &[("forwarded", value)]), address, "{value}");
        }
    }

    #[test]
    fn only_the_header_that_the_proxy_writes_counts() {
        let headers = [
            ("x-forwarded-for", "198.51.100.1"),
            ("forwarded", "for=203.0.113.7"),
            ("x-real-ip", "192.0.2.5"),
        ];
        assert_eq!(client("10.0.0.1", &headers), "198.51.100.1");
        assert_eq!(client_by(FORWARDED, "10.0.0.1", &headers), "203.0.113.7");
        assert_eq!(client_by(HeaderName::from_static("x-real-ip"), "10.0.0.1", &headers), "192.0.2.5");
        assert_eq!(client("10.0.0.1", &headers[1..]), "10.0.0.1", "another header never replaces it");
    }
}
