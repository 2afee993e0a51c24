//! Which pages may show an agent's widget.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A rule of an agent's `origins`: `https://host[:port]`, `https://*.host` (the star is one or more whole labels) or
/// `http://localhost[:port]`. It is compared case-folded, in A-label form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginRule {
    /// As it was written.
    text: String,
    is_secure: bool,
    is_wild: bool,
    host: String,
    port: u16,
}

/// The text is not a rule of origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be https://host[:port], https://*.host or http://localhost[:port]")]
pub struct InvalidOriginRule;

/// Scheme, host in A-labels and port of an origin as a browser sends it.
fn parts(origin: &str) -> Option<(bool, String, u16)> {
    let (scheme, rest) = origin.split_once("://")?;
    let is_secure = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return None,
    };
    // An origin has neither a path nor a user. A URL parser would tolerate these characters.
    if rest.is_empty() || rest.contains(['/', '?', '#', '@', '\\', ' ', '%', '\t', '\n', '\r']) {
        return None;
    }
    let url = url::Url::parse(&format!("{scheme}://{rest}/")).ok()?;
    let host = url.host_str()?.trim_end_matches('.').to_owned();
    (!host.is_empty()).then_some((is_secure, host, url.port_or_known_default()?))
}

impl OriginRule {
    /// Whether the rule admits the origin that the header `Origin` names.
    #[must_use]
    pub fn admits(&self, origin: &str) -> bool {
        let Some((is_secure, host, port)) = parts(origin) else { return false };
        if is_secure != self.is_secure || port != self.port {
            return false;
        }
        if !self.is_wild {
            return host == self.host;
        }
        let labels = host.strip_suffix(&self.host).and_then(|rest| rest.strip_suffix('.'));
        labels.is_some_and(|labels| !labels.is_empty())
    }
}

impl FromStr for OriginRule {
    type Err = InvalidOriginRule;

    fn from_str(text: &str) -> Result<Self, InvalidOriginRule> {
        let lower = text.to_ascii_lowercase();
        let wild = lower.strip_prefix("https://*.");
        let plain = wild.map_or_else(|| lower.clone(), |rest| format!("https://{rest}"));
        let (is_secure, host, port) = parts(&plain).ok_or(InvalidOriginRule)?;
        let is_local = matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
        let is_wild = wild.is_some();
        // A star before a single label would admit a whole top-level domain.
        if host.contains('*') || (!is_secure && !is_local) || (is_wild && !host.contains('.')) {
            return Err(InvalidOriginRule);
        }
        Ok(OriginRule { text: text.to_owned(), is_secure, is_wild, host, port })
    }
}

impl Serialize for OriginRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for OriginRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> OriginRule {
        text.parse().expect(text)
    }

    #[test]
    fn whole_hosts_and_whole_labels() {
        let exact = rule("https://Www.Example.com");
        assert!(exact.admits("https://www.example.com") && exact.admits("https://www.example.com:443"));
        for other in [
            "http://www.example.com",
            "https://www.example.com:8443",
            "https://example.com",
            "https://www.example.com.evil.example",
            "https://www.example.com/",
            "https://user@www.example.com",
            "null",
            "",
            "https://",
        ] {
            assert!(!exact.admits(other), "{other}");
        }
        let wild = rule("https://*.example.com");
        assert!(wild.admits("https://a.example.com") && wild.admits("https://a.b.example.com"));
        for other in
            ["https://example.com", "https://badexample.com", "https://.example.com", "http://a.example.com"]
        {
            assert!(!wild.admits(other), "{other}");
        }
        assert!(rule("http://localhost:3000").admits("http://localhost:3000"));
        assert!(!rule("http://localhost:3000").admits("http://localhost"));
    }

    #[test]
    fn names_in_any_script_are_one() {
        let rule = rule("https://bücher.example");
        assert!(rule.admits("https://xn--bcher-kva.example") && rule.admits("https://BÜCHER.example"));
    }

    #[test]
    fn what_is_no_rule() {
        for bad in [
            "example.com",
            "http://example.com",
            "https://*.com",
            "https://*",
            "*",
            "https://a.*.example.com",
            "https://example.com/path",
            "ftp://example.com",
            "null",
            "https://exa mple.com",
        ] {
            assert!(bad.parse::<OriginRule>().is_err(), "{bad}");
        }
    }
}
