//! robots.txt, by RFC 9309.

use url::Url;

/// How many bytes are read of a file; the rest is ignored.
pub const MAX_BYTES: usize = 500 << 10;
/// The most rules of a file.
const MAX_RULES: usize = 2_000;
/// The most sitemaps of a file.
const MAX_SITEMAPS: usize = 100;
/// The longest pause between two requests that a website can demand.
const MAX_DELAY_SECONDS: f64 = 10.0;

/// What a website allows a crawler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    rules: Vec<Rule>,
    /// The pause between two requests that the website asks for, in milliseconds.
    pub delay_millis: Option<u64>,
    /// The addresses of its sitemaps, as they are written.
    pub sitemaps: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    allows: bool,
    pattern: String,
}

/// The rules of one group, or of all groups that name the same crawler.
#[derive(Default)]
struct Group {
    rules: Vec<Rule>,
    delay_millis: Option<u64>,
}

impl Robots {
    /// The rules for a crawler, by its product token.
    #[must_use]
    pub fn parse(bytes: &[u8], crawler: &str) -> Self {
        let bytes = &bytes[..bytes.len().min(MAX_BYTES)];
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}');
        let (mut own, mut others) = (None::<Group>, Group::default());
        let mut sitemaps = Vec::new();
        // Whether the rules that follow are for this crawler, and whether for all without a group.
        let (mut is_own, mut is_others, mut names_crawlers) = (false, false, false);
        for line in text.split(['\n', '\r']) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((name, value)) = line.split_once(':') else { continue };
            let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
            match name.as_str() {
                "user-agent" => {
                    if !names_crawlers {
                        (is_own, is_others) = (false, false);
                    }
                    names_crawlers = true;
                    if is_token(value, crawler) {
                        is_own = true;
                        own.get_or_insert_default();
                    }
                    is_others |= value == "*";
                }
                "sitemap" if sitemaps.len() < MAX_SITEMAPS && !value.is_empty() => {
                    sitemaps.push(value.to_owned());
                }
                "allow" | "disallow" | "crawl-delay" => {
                    names_crawlers = false;
                    if let Some(group) = own.as_mut().filter(|_| is_own) {
                        group.add(&name, value);
                    }
                    if is_others {
                        others.add(&name, value);
                    }
                }
                _ => {}
            }
        }
        let Group { rules, delay_millis } = own.unwrap_or(others);
        Robots { rules, delay_millis, sitemaps }
    }

    /// Whether an address may be read: the longest rule decides, and of two equally long ones the one that allows.
    #[must_use]
    pub fn allows(&self, url: &Url) -> bool {
        let mut path = normal(url.path());
        if path == "/robots.txt" {
            return true;
        }
        if let Some(query) = url.query() {
            path = format!("{path}?{}", normal(query));
        }
        let matching = self.rules.iter().filter(|rule| matches(&rule.pattern, &path));
        let longest = matching.max_by_key(|rule| (rule.pattern.len(), rule.allows));
        longest.is_none_or(|rule| rule.allows)
    }
}

impl Group {
    fn add(&mut self, name: &str, value: &str) {
        match name {
            "crawl-delay" => {
                let seconds =
                    value.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
                // At most 10,000 by the bound.
                let millis = seconds.map(|seconds| (seconds.min(MAX_DELAY_SECONDS) * 1_000.0) as u64);
                self.delay_millis = self.delay_millis.max(millis);
            }
            // An empty rule forbids nothing.
            _ if self.rules.len() < MAX_RULES && !value.is_empty() => {
                self.rules.push(Rule { allows: name == "allow", pattern: normal(value) });
            }
            _ => {}
        }
    }
}

/// Whether the value of a `User-agent` line names the crawler: its letters up to what no token has.
fn is_token(value: &str, crawler: &str) -> bool {
    let end = value.find(|letter: char| !letter.is_ascii_alphabetic() && !"-_".contains(letter));
    let token = &value[..end.unwrap_or(value.len())];
    !token.is_empty() && token.eq_ignore_ascii_case(crawler)
}

/// A path in one spelling: escapes of unreserved characters resolved, all others in capitals, and other than ASCII escaped.
fn normal(path: &str) -> String {
    let mut normal = String::with_capacity(path.len());
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (value, is_escape) = escaped.map_or((byte, false), |value| (value, true));
        let is_unreserved = value.is_ascii_alphanumeric() || b"-._~".contains(&value);
        if is_unreserved || (!is_escape && value.is_ascii_graphic()) {
            normal.push(char::from(value));
        } else {
            normal.push_str(&format!("%{value:02X}"));
        }
        at += if is_escape { 3 } else { 1 };
    }
    normal
}

/// Whether a path begins with what a pattern says: `*` is any text, `$` at the end the end. Each part is found at its
/// first occurrence, so the work is bounded by the product of both lengths.
fn matches(pattern: &str, path: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return !is_whole || rest.is_empty() };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    if is_whole { rest.ends_with(last) } else { rest.contains(last) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(file: &str, path: &str) -> bool {
        let url = Url::parse("https://example.com").expect("a URL").join(path).expect("a path");
        Robots::parse(file.as_bytes(), "Test-Sources").allows(&url)
    }

    #[test]
    fn the_longest_rule_decides() {
        let file = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c$\nDisallow: /*.pdf$\nAllow: /same\nDisallow: /same\n";
        for (path, expected) in [
            ("/", true),
            ("/a", false),
            ("/abc", false),
            ("/a/b", true),
            ("/a/b/x", true),
            ("/a/b/c", false),
            ("/a/b/c/d", true),
            ("/x.pdf", false),
            ("/x.pdf?a", true),
            ("/same", true),
            ("/robots.txt", true),
        ] {
            assert_eq!(allows(file, path), expected, "{path}");
        }
        assert!(!allows("User-agent: *\nDisallow: /", "/anything"));
        assert!(allows("User-agent: *\nDisallow:", "/anything"));
        assert!(allows("", "/anything"));
    }

    #[test]
    fn a_group_of_its_own_replaces_that_of_all() {
        let file = "user-agent: *\ndisallow: /\n\nUser-Agent: other\nUser-agent: test-sources/2\nDisallow: /private\n\n\
                    User-agent: TEST-SOURCES\nDisallow: /also # comment\nCrawl-delay: 2.5\n";
        assert!(allows(file, "/open") && !allows(file, "/private/a") && !allows(file, "/also"));
        assert_eq!(Robots::parse(file.as_bytes(), "test-sources").delay_millis, Some(2_500));
        let slow = Robots::parse(b"User-agent: *\nCrawl-delay: 86400", "test");
        assert_eq!(slow.delay_millis, Some(10_000));
        assert_eq!(Robots::parse(b"User-agent: *\nCrawl-delay: NaN", "test").delay_millis, None);
        // A token that only begins like the crawler's is another crawler.
        assert!(allows("User-agent: test\nDisallow: /", "/a"));
    }

    #[test]
    fn spellings_of_one_path_are_one() {
        let file = "User-agent: *\nDisallow: /gr%c3%bcn\nDisallow: /%7Euser\nDisallow: /ä";
        assert!(
            !allows(file, "/grün")
                && !allows(file, "/~user")
                && !allows(file, "/%7euser")
                && !allows(file, "/%C3%A4")
        );
        assert!(allows("User-agent: *\nDisallow: /a%2Fb", "/a/b"));
    }

    #[test]
    fn sitemaps_stand_anywhere() {
        let file =
            "\u{feff}Sitemap: https://example.com/one.xml\nUser-agent: x\nDisallow: /\nsitemap:/two.xml\r\n";
        let robots = Robots::parse(file.as_bytes(), "test");
        assert_eq!(robots.sitemaps, ["https://example.com/one.xml", "/two.xml"]);
    }

    /// By definition: every split of the path is tried.
    fn matches_slowly(pattern: &[u8], path: &[u8]) -> bool {
        match pattern.split_first() {
            None => true,
            Some((b'$', [])) => path.is_empty(),
            Some((b'*', rest)) => (0..=path.len()).any(|at| matches_slowly(rest, &path[at..])),
            Some((letter, rest)) => path.first() == Some(letter) && matches_slowly(rest, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn wildcards_match_as_defined(pattern in "/[ab*]{0,8}\\$?", path in "/[ab]{0,10}") {
            prop_assert_eq!(matches(&pattern, &path), matches_slowly(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn any_bytes_are_a_file(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let robots = Robots::parse(&bytes, "test");
            let _ = robots.allows(&Url::parse("https://example.com/a%zz?%").expect("a URL"));
        }
    }
}
