//! The links that a reply may contain.

use std::collections::HashSet;

use conversations::ChatTurn;
use url::Url;

/// Bytes of an address; the widget makes no link of what is longer.
const MAX_ADDRESS: usize = 2_000;
/// Digits of the shortest telephone number.
const MIN_DIGITS: usize = 3;

/// Hosts and addresses that may be linked.
#[derive(Default)]
pub(super) struct Links {
    hosts: HashSet<String>,
    /// `*.example.com`: every host under it.
    suffixes: Vec<String>,
    /// The addresses of mail that the passages contain, in lower case.
    mail: HashSet<String>,
    /// The digits of the numbers that the passages contain.
    numbers: HashSet<String>,
}

impl Links {
    /// The links that a turn allows: hosts of the passages and in them, and those that the agent names.
    pub(super) fn of(turn: &ChatTurn) -> Self {
        let mut links = Links::default();
        turn.agent.link_hosts.iter().for_each(|host| links.allow_host(host));
        let named = links.hosts.clone();
        for passage in &turn.found.passages {
            links.hosts.extend(passage.url.as_deref().and_then(plain_host));
            links.allow_of(&passage.text);
        }
        if turn.agent.only_link_hosts {
            links.hosts = named;
        }
        links
    }

    /// A host that an operator names.
    fn allow_host(&mut self, host: &str) {
        let host = host.trim();
        match host.strip_prefix("*.") {
            Some(suffix) => self.suffixes.extend(host_of(suffix).map(|suffix| format!(".{suffix}"))),
            None => self.hosts.extend(host_of(host)),
        }
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
    pub(super) fn rebuild(&self, target: &str) -> Option<String> {
        let is_odd = |letter: char| letter == '\\' || letter.is_control() || letter.is_whitespace();
        if target.len() > MAX_ADDRESS || target.contains(is_odd) {
            return None;
        }
        let (scheme, rest) = target.split_once(':')?;
        let rebuilt = match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => self.web(target, rest)?,
            "mailto" => {
                let name = rest.split('?').next().unwrap_or_default();
                self.mail.contains(&name.to_ascii_lowercase()).then(|| format!("mailto:{name}"))?
            }
            "tel" => {
                let is_number =
                    rest.chars().all(|letter| letter.is_ascii_digit() || "+-.()".contains(letter));
                let (plus, digits) = (if rest.starts_with('+') { "+" } else { "" }, digits(rest));
                (is_number && self.numbers.contains(&digits)).then(|| format!("tel:{plus}{digits}"))?
            }
            _ => return None,
        };
        (rebuilt.len() <= MAX_ADDRESS).then_some(rebuilt)
    }

    fn web(&self, target: &str, rest: &str) -> Option<String> {
        let rest = rest.strip_prefix("//")?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() || authority.contains('@') {
            return None;
        }
        let url = Url::parse(target).ok()?;
        let host = url.host_str()?;
        let is_allowed =
            self.hosts.contains(host) || self.suffixes.iter().any(|suffix| host.ends_with(suffix));
        if !is_allowed || !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let mut rebuilt = inert(url.as_str());
        if authority.len() == rest.len() {
            // The path that the parser adds.
            rebuilt.pop();
        }
        Some(rebuilt)
    }
}

/// An address without characters that mean something in Markdown.
fn inert(url: &str) -> String {
    let mut text = String::with_capacity(url.len());
    for letter in url.chars() {
        match letter {
            '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '|' | '\\' | '^' | '`' | '"' | '*' => {
                text.push_str(&format!("%{:02X}", u32::from(letter)));
            }
            _ => text.push(letter),
        }
    }
    text
}

fn is_of_mail(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "@.+-_'".contains(letter)
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
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

/// A host in the form in which parsed addresses have it.
fn host_of(authority: &str) -> Option<String> {
    Url::parse(&format!("https://{authority}/")).ok()?.host_str().map(str::to_owned)
}

#[cfg(test)]
impl Links {
    /// These hosts, and what a passage of this text allows.
    pub(super) fn for_tests(hosts: &[&str], text: &str) -> Self {
        let mut links = Links::default();
        hosts.iter().for_each(|host| links.allow_host(host));
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
        let long = format!("https://good.example/{}", "x".repeat(MAX_ADDRESS));
        assert_eq!(links.rebuild(&long), None, "the widget would end it earlier");
        assert_eq!(links.rebuild(&format!("https://good.example/{}", "é".repeat(600))), None);
    }
}
