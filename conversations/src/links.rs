//! The links of replies: an address is read into its parts, judged by them, and rebuilt from them.

use std::collections::HashSet;

use url::Url;

/// Bytes of an address; the widget makes no link of what is longer.
const MAX_ADDRESS: usize = 2_000;
/// Digits of the shortest telephone number.
pub const MIN_DIGITS: usize = 3;

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The address, rebuilt from its parts. It has no character that means something in Markdown, or that ends an
    /// attribute of HTML in double quotes.
    pub address: String,
    /// Where it leads.
    pub target: LinkTarget,
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// To a page of this host, as parsed addresses have it.
    Web(String),
    /// To a mailbox, in lower case.
    Mail(String),
    /// To a telephone number, of which these are the digits.
    Telephone(String),
}

impl Link {
    /// Reads an address; [`None`] if it is of another kind, or written in a way that programs read differently.
    #[must_use]
    pub fn read(address: &str) -> Option<Self> {
        let is_odd = |letter: char| letter == '\\' || letter.is_control() || letter.is_whitespace();
        if address.len() > MAX_ADDRESS || address.contains(is_odd) {
            return None;
        }
        let (scheme, rest) = address.split_once(':')?;
        let link = match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => Link::web(address, rest)?,
            "mailto" => Link::mail(rest.split('?').next().unwrap_or_default())?,
            "tel" => Link::telephone(rest)?,
            _ => return None,
        };
        (link.address.len() <= MAX_ADDRESS).then_some(link)
    }

    fn web(address: &str, rest: &str) -> Option<Self> {
        let rest = rest.strip_prefix("//")?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.is_empty() || authority.contains('@') {
            return None;
        }
        let url = Url::parse(address).ok()?;
        let host = url.host_str()?;
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let mut rebuilt = inert(url.as_str());
        if authority.len() == rest.len() {
            // The path that the parser adds.
            rebuilt.pop();
        }
        Some(Link { address: rebuilt, target: LinkTarget::Web(host.to_owned()) })
    }

    fn mail(name: &str) -> Option<Self> {
        let (local, domain) = name.split_once('@')?;
        let is_plain = !local.is_empty() && !domain.is_empty() && !domain.contains('@');
        let target = LinkTarget::Mail(name.to_ascii_lowercase());
        (is_plain && name.chars().all(is_of_mail)).then(|| Link { address: format!("mailto:{name}"), target })
    }

    fn telephone(number: &str) -> Option<Self> {
        let is_plain = number.chars().all(|letter| letter.is_ascii_digit() || "+-.()".contains(letter));
        let digits = digits(number);
        let plus = if number.starts_with('+') { "+" } else { "" };
        let is_number = is_plain && digits.len() >= MIN_DIGITS;
        is_number
            .then(|| Link { address: format!("tel:{plus}{digits}"), target: LinkTarget::Telephone(digits) })
    }
}

/// Hosts that may be linked.
#[derive(Clone, Debug, Default)]
pub struct LinkHosts {
    names: HashSet<String>,
    /// `*.example.com`: every host under it.
    suffixes: Vec<String>,
}

impl LinkHosts {
    /// Those that an operator names.
    #[must_use]
    pub fn of(names: &[String]) -> Self {
        let mut hosts = LinkHosts::default();
        names.iter().for_each(|name| hosts.allow(name));
        hosts
    }

    /// Allows a host that an operator names: `example.com`, or `*.example.com` for every host under it.
    pub fn allow(&mut self, name: &str) {
        let name = name.trim();
        match name.strip_prefix("*.") {
            Some(suffix) => self.suffixes.extend(host_of(suffix).map(|suffix| format!(".{suffix}"))),
            None => self.names.extend(host_of(name)),
        }
    }

    /// Whether a host, as parsed addresses have it, is allowed.
    #[must_use]
    pub fn has(&self, host: &str) -> bool {
        self.names.contains(host) || self.suffixes.iter().any(|suffix| host.ends_with(suffix))
    }
}

/// A host in the form in which parsed addresses have it.
#[must_use]
pub fn host_of(authority: &str) -> Option<String> {
    Url::parse(&format!("https://{authority}/")).ok()?.host_str().map(str::to_owned)
}

/// Whether a character is one of a plain mail address.
#[must_use]
pub fn is_of_mail(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "@.+-_'".contains(letter)
}

/// The digits of a telephone number.
#[must_use]
pub fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
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
