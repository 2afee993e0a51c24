//! The links that a reply may contain.

use std::collections::HashSet;

use conversations::ChatTurn;
use conversations::links::{Link, LinkHosts, LinkTarget, MIN_DIGITS, digits, host_of, is_of_mail};

/// Hosts and addresses that may be linked.
#[derive(Default)]
pub(super) struct Links {
    /// Those that the operator names.
    named: LinkHosts,
    /// Those of the passages.
    hosts: HashSet<String>,
    /// The addresses of mail that the passages contain, in lower case.
    mail: HashSet<String>,
    /// The digits of the numbers that the passages contain.
    numbers: HashSet<String>,
}

impl Links {
    /// The links that a turn allows: hosts of the passages and in them, and those that the agent names.
    pub(super) fn of(turn: &ChatTurn) -> Self {
        let mut links = Links { named: LinkHosts::of(&turn.agent.link_hosts), ..Links::default() };
        for passage in &turn.found.passages {
            links.hosts.extend(passage.url.as_deref().and_then(plain_host));
            links.allow_of(&passage.text);
        }
        if turn.agent.only_link_hosts {
            links.hosts.clear();
        }
        links
    }

    /// What a passage contains.
    fn allow_of(&mut self, text: &str) {
        let lower = text.to_lowercase();
        for scheme in ["http://", "https://"] {
            let addresses = lower.match_indices(scheme).map(|(start, _)| &lower[start..]);
            self.hosts.extend(addresses.map(end_of_address).filter_map(plain_host));
        }
        let words = lower.split(|letter: char| !is_of_mail(letter));
        let mail = words.filter(|word| word.contains('@')).map(|word| word.trim_matches('.').to_owned());
        self.mail.extend(mail);
        let numbers = lower.split(|letter: char| !(letter.is_ascii_digit() || " +-./()".contains(letter)));
        self.numbers.extend(numbers.map(digits).filter(|digits| digits.len() >= MIN_DIGITS));
    }

    /// The address of a link that may be shown, rebuilt from its parts; `None` if it is not allowed, or written in a way
    /// that programs read differently. It has no character that ends it in Markdown.
    pub(super) fn rebuild(&self, address: &str) -> Option<String> {
        let link = Link::read(address)?;
        let is_allowed = match &link.target {
            LinkTarget::Web(host) => self.named.has(host) || self.hosts.contains(host),
            LinkTarget::Mail(name) => self.mail.contains(name),
            LinkTarget::Telephone(digits) => self.numbers.contains(digits),
        };
        is_allowed.then_some(link.address)
    }
}

/// An address without what follows it in a text.
fn end_of_address(text: &str) -> &str {
    let end = text.find(|letter: char| letter.is_whitespace() || "<>\"`|\\[]()".contains(letter));
    text[..end.unwrap_or(text.len())].trim_end_matches(|letter: char| ".,;:!?'*_~".contains(letter))
}

/// The host of an address that is written without tricks: nothing but the host, and perhaps a port, stands between the
/// scheme and the path. Browsers read some odd addresses in other ways than people do.
fn plain_host(address: &str) -> Option<String> {
    let rest = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // A sentence may end after a host, in brackets or not.
    let authority = authority.trim_end_matches(|letter: char| ").,;:!?'*_~".contains(letter));
    let is_plain =
        authority.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':'));
    if authority.is_empty() || !is_plain { None } else { host_of(authority) }
}

#[cfg(test)]
impl Links {
    /// These hosts, and what a passage of this text allows.
    pub(super) fn for_tests(hosts: &[&str], text: &str) -> Self {
        let mut links = Links::default();
        hosts.iter().for_each(|host| links.named.allow(host));
        links.allow_of(text);
        links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links() -> Links {
        let said = "Mail us: help@good.example, or call +44 113 496 0000. See https://docs.example/x.";
        Links::for_tests(&["good.example", "*.shop.example", "bücher.example"], said)
    }

    #[test]
    fn allowed_addresses_are_rebuilt() {
        let links = links();
        for (given, rebuilt) in [
            ("https://good.example", "https://good.example"),
            ("https://good.example/", "https://good.example/"),
            ("HTTPS://GOOD.example:8443/a?b#c", "https://good.example:8443/a?b#c"),
            ("http://good.example:80?x", "http://good.example/?x"),
            ("https://a.shop.example/x/../y", "https://a.shop.example/y"),
            ("https://docs.example/é(1)*[2]|`", "https://docs.example/%C3%A9%281%29%2A%5B2%5D%7C%60"),
            ("https://good.example/https://evil.example/", "https://good.example/https://evil.example/"),
            ("https://good.example/?a=(b)&c=\u{202e}", "https://good.example/?a=%28b%29&c=%E2%80%AE"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
            // Programs agree about these: they are the host that is allowed.
            ("https://good。example", "https://good.example"),
            ("https://g%6Fod.example/", "https://good.example/"),
            ("mailto:Help@good.example?cc=me@evil.example", "mailto:Help@good.example"),
            ("tel:+44-113-496-0000", "tel:+441134960000"),
        ] {
            assert_eq!(links.rebuild(given).as_deref(), Some(rebuilt), "{given}");
            assert_eq!(links.rebuild(rebuilt).as_deref(), Some(rebuilt), "{given} again");
        }
    }

    #[test]
    fn others_and_those_with_tricks_are_none() {
        let links = links();
        for bad in [
            "https://evil.example",
            "https://good.example.evil.example",
            "https://good.example@evil.example/",
            "https://evil.example@good.example/",
            "https://@good.example/",
            "https://good.example)@evil.example",
            "https://good.example\\@evil.example",
            "https://good.example/\\",
            "https\\://good.example",
            "https:\\\\good.example",
            "https:good.example",
            "https:/good.example",
            "https:///good.example",
            "https&colon;//good.example",
            "https%3A//good.example",
            "https://good.example&#x40;evil.example/",
            "https://good.example%40evil.example/",
            "https://good.example\u{0}/",
            "https://good.exa\tmple/",
            "https://good.example/ x",
            "https://gооd.example",
            "https://shop.example",
            "https://evilshop.example",
            "https://good.example.",
            "https://",
            "https://?good.example",
            "https://evil.example#good.example",
            "//good.example",
            "/local",
            "#part",
            "javascript:alert(1)",
            "JavaScript://good.example/%0aalert(1)",
            "data:text/html,x",
            "vbscript:x",
            "ftp://good.example/",
            "mailto:",
            "mailto:me@evil.example",
            "mailto:help@good.example,me@evil.example",
            "mailto:elp@good.example",
            "mailto:help%40good.example",
            "tel:",
            "tel:+49",
            "tel:+441134960000;phone-context=evil",
        ] {
            assert_eq!(links.rebuild(bad), None, "{bad}");
        }
        let long = format!("https://good.example/{}", "x".repeat(2_000));
        assert_eq!(links.rebuild(&long), None, "the widget would end it earlier");
        assert_eq!(links.rebuild(&format!("https://good.example/{}", "é".repeat(600))), None);
    }
}
