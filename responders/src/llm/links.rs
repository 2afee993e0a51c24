//! The links that a reply may contain.

use std::collections::HashSet;

use conversations::ChatTurn;
use url::Url;

/// Hosts and addresses that may be linked.
pub(super) struct Links {
    hosts: HashSet<String>,
    /// `*.example.com`: every host under it.
    suffixes: Vec<String>,
    /// What the passages say, for addresses of mail and telephone.
    said: String,
}

impl Links {
    /// The links that a turn allows: hosts of the passages and in them, and those that the agent names.
    pub(super) fn of(turn: &ChatTurn) -> Self {
        let mut links = Links { hosts: HashSet::new(), suffixes: Vec::new(), said: String::new() };
        for host in &turn.agent.link_hosts {
            let host = host.trim().to_ascii_lowercase();
            match host.strip_prefix("*.") {
                Some(suffix) => links.suffixes.push(format!(".{suffix}")),
                None => {
                    links.hosts.insert(host);
                }
            }
        }
        for passage in &turn.found.passages {
            links.hosts.extend(passage.url.as_deref().and_then(host_of));
            let lower = passage.text.to_lowercase();
            for scheme in ["http://", "https://"] {
                let addresses = lower.match_indices(scheme).map(|(start, _)| &lower[start..]);
                links.hosts.extend(addresses.map(end_of_address).filter_map(host_of));
            }
            links.said.push_str(&lower);
            links.said.push('\n');
        }
        links
    }

    /// Whether an address may be linked.
    pub(super) fn allow(&self, address: &str) -> bool {
        let lower = address.to_lowercase();
        for scheme in ["mailto:", "tel:"] {
            if let Some(rest) = lower.strip_prefix(scheme) {
                let name = rest.split(['?', '&']).next().unwrap_or_default();
                return name.len() > 3 && self.said.contains(name);
            }
        }
        let Some(host) = host_of(&lower) else { return false };
        self.hosts.contains(&host) || self.suffixes.iter().any(|suffix| host.ends_with(suffix.as_str()))
    }
}

/// An address without what follows it in a text.
fn end_of_address(text: &str) -> &str {
    let end = text.find(|letter: char| letter.is_whitespace() || "<>\"`|\\[]()".contains(letter));
    text[..end.unwrap_or(text.len())].trim_end_matches(|letter: char| ".,;:!?'*_~".contains(letter))
}

/// The host of an address that is written without tricks: nothing but the host, and perhaps a port, stands between the
/// scheme and the path. Browsers read some odd addresses in other ways than people do.
fn host_of(address: &str) -> Option<String> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A sentence may end after a host, in brackets or not.
    let authority = authority.trim_end_matches(|letter: char| ").,;:!?'*_~".contains(letter));
    let is_plain =
        authority.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':'));
    if authority.is_empty() || !is_plain {
        return None;
    }
    let url = Url::parse(&format!("https://{authority}/")).ok()?;
    url.host_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_hosts_written_without_tricks_are_allowed() {
        let links = Links {
            hosts: ["good.example".to_owned()].into(),
            suffixes: vec![".shop.example".to_owned()],
            said: "mail us: help@good.example or call +44 113 496 0000".to_owned(),
        };
        for good in [
            "https://good.example",
            "HTTPS://GOOD.example:8443/a?b#c",
            "http://good.example).",
            "https://a.shop.example/x",
            "mailto:Help@good.example?subject=x",
        ] {
            assert!(links.allow(good), "{good}");
        }
        for bad in [
            "https://evil.example",
            "https://good.example.evil.example",
            "https://good.example@evil.example/",
            "https://good.example)@evil.example",
            "https://good.example\\@evil.example",
            "https://shop.example",
            "https://good。example",
            "https://gооd.example",
            "//good.example",
            "javascript:alert(1)",
            "https://",
            "mailto:me@evil.example",
            "tel:+49",
            "https://evil.example#good.example",
            "mailto:",
            "https:///good.example",
        ] {
            assert!(!links.allow(bad), "{bad}");
        }
    }
}
