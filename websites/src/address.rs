//! Addresses of pages: their canonical form, which of them belong to a website, and which of them are traps.

use url::Url;

/// The longest address of a page, in bytes: that of a document's URL.
pub const MAX_LENGTH: usize = 2_000;
/// The most segments of a path.
const MAX_SEGMENTS: usize = 20;
/// How often a segment may occur in a path. Broken relative links repeat theirs for ever.
const MAX_REPEATS: usize = 3;

/// Parameters of queries that say where a visitor comes from or who it is, and not which page it is.
const TRACKING: [&str; 20] = [
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "fbclid",
    "msclkid",
    "yclid",
    "twclid",
    "ttclid",
    "li_fat_id",
    "igshid",
    "mc_cid",
    "mc_eid",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "phpsessid",
    "jsessionid",
];

/// Which pages belong to a website: those of the host of its first page, in the folder of that page.
#[derive(Clone, Debug)]
pub struct Scope {
    start: Url,
    folder: String,
}

impl Scope {
    /// The website that begins at an address: an absolute `http` or `https` URL.
    #[must_use]
    pub fn of(start: &str) -> Option<Self> {
        let start = canonical(Url::parse(start).ok()?)?;
        let path = start.path();
        let last = path.rsplit('/').next().unwrap_or_default();
        let folder = if last.contains('.') { path.strip_suffix(last).unwrap_or(path) } else { path };
        let folder = folder.trim_end_matches('/').to_owned();
        Some(Scope { start, folder })
    }

    /// The first page.
    #[must_use]
    pub const fn start(&self) -> &Url {
        &self.start
    }

    /// The canonical address of a page of this website that a page links to; none if it leads elsewhere.
    #[must_use]
    pub fn page(&self, from: &Url, link: &str) -> Option<Url> {
        let url = resolved(from, link)?;
        self.admits(&url).then_some(url)
    }

    /// Whether an address is one of this website.
    #[must_use]
    pub fn admits(&self, url: &Url) -> bool {
        let inside = url.path().strip_prefix(self.folder.as_str());
        self.is_host_of(url) && inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether an address is one of the host, with the same port or both with that of their scheme.
    #[must_use]
    pub fn is_host_of(&self, url: &Url) -> bool {
        url.host() == self.start.host() && url.port() == self.start.port()
    }

    /// An address at the root of the host.
    #[must_use]
    pub fn at_root(&self, path: &str) -> Url {
        let mut url = self.start.clone();
        url.set_path(path);
        url.set_query(None);
        url
    }
}

/// The canonical address that a link of a page leads to; none if it leads to no page.
#[must_use]
pub fn resolved(from: &Url, link: &str) -> Option<Url> {
    if link.len() > MAX_LENGTH {
        return None;
    }
    canonical(from.join(link.trim()).ok()?)
}

/// An address in its canonical form: without fragment, credentials and what tracks visitors. None if it is no address
/// of a page.
#[must_use]
pub fn canonical(mut url: Url) -> Option<Url> {
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return None;
    }
    url.set_fragment(None);
    // Neither fails on a URL with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if let Some(query) = url.query() {
        let wanted: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !tracks(pair)).collect();
        let wanted = wanted.join("&");
        url.set_query(Some(wanted.as_str()).filter(|query| !query.is_empty()));
    }
    if let Some((path, _)) = url.path().to_ascii_lowercase().split_once(";jsessionid=") {
        let path = url.path().get(..path.len()).map(str::to_owned)?;
        url.set_path(&path);
    }
    (url.as_str().len() <= MAX_LENGTH).then_some(url)
}

/// Whether a parameter of a query tracks visitors.
fn tracks(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
    name.starts_with("utm_") || TRACKING.contains(&name.as_str())
}

/// The form of an address: its path with digits as `#`, and the names of its parameters. A calendar has endless addresses
/// of one form.
#[must_use]
pub fn form(url: &Url) -> String {
    let mut form = String::new();
    let mut is_digit = false;
    for letter in url.path().chars() {
        if !letter.is_ascii_digit() {
            form.push(letter);
        } else if !is_digit {
            form.push('#');
        }
        is_digit = letter.is_ascii_digit();
    }
    let mut names: Vec<&str> =
        url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split('=').next()).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    for (nth, name) in names.iter().enumerate() {
        form.push(if nth == 0 { '?' } else { '&' });
        form.push_str(name);
    }
    form
}

/// Whether a path is too deep, or repeats itself: no page is written by hand there.
#[must_use]
pub fn is_endless(url: &Url) -> bool {
    let segments: Vec<&str> = url.path().split('/').filter(|segment| !segment.is_empty()).collect();
    let repeats = |one: &&str| segments.iter().filter(|other| *other == one).count() > MAX_REPEATS;
    segments.len() > MAX_SEGMENTS || segments.iter().any(repeats)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn an_address_is_that_of_a_page() {
        for (sent, expected) in [
            ("https://Example.com:443/a/../b?utm_source=x&id=7&fbclid=1#top", "https://example.com/b?id=7"),
            ("https://u:p@example.com/?UTM_campaign=x", "https://example.com/"),
            ("https://example.com/a;JSESSIONID=12?x=1&&", "https://example.com/a?x=1"),
            ("https://example.com/gr%C3%BCn?b=2&a=1", "https://example.com/gr%C3%BCn?b=2&a=1"),
        ] {
            assert_eq!(canonical(url(sent)).expect("a page").as_str(), expected);
        }
        for sent in ["mailto:a@example.com", "javascript:alert(1)", "ftp://example.com/", "data:text/html,a"]
        {
            assert_eq!(resolved(&url("https://example.com/"), sent), None, "{sent}");
        }
        let long = format!("https://example.com/{}", "a".repeat(MAX_LENGTH));
        assert_eq!(canonical(url(&long)), None);
    }

    #[test]
    fn a_website_is_a_folder_of_a_host() {
        let scope = Scope::of("https://example.com/docs").expect("a website");
        for (link, is_inside) in [
            ("https://example.com/docs", true),
            ("https://example.com/docs/", true),
            ("/docs/a?b", true),
            ("http://example.com/docs/a", true),
            ("/docsearch", false),
            ("/docs/../a", false),
            ("/docs/%2e%2e/a", false),
            ("https://www.example.com/docs/a", false),
            ("https://example.com:8443/docs/a", false),
            ("//evil.example/docs/", false),
            ("https://example.com@evil.example/docs/", false),
        ] {
            assert_eq!(scope.page(scope.start(), link).is_some(), is_inside, "{link}");
        }
        let of_file = Scope::of("https://example.com/help/index.html").expect("a website");
        assert!(of_file.page(of_file.start(), "/help/more").is_some());
        assert!(of_file.page(of_file.start(), "/other").is_none());
        assert!(Scope::of("ftp://example.com/").is_none() && Scope::of("example.com").is_none());
    }

    #[test]
    fn traps_are_recognised() {
        assert_eq!(form(&url("https://e.com/calendar/2026/11?day=3&view=a")), "/calendar/#/#?day&view");
        assert_eq!(form(&url("https://e.com/calendar/1999/1?view=b&day=12")), "/calendar/#/#?day&view");
        assert!(is_endless(&url("https://e.com/a/b/a/b/a/b/a/b")));
        assert!(is_endless(&url(&format!(
            "https://e.com/{}",
            (0..30).map(|it| format!("{it}/")).collect::<String>()
        ))));
        assert!(!is_endless(&url("https://e.com/en/docs/en/a/b/c")));
    }

    proptest! {
        #[test]
        fn a_canonical_address_is_its_own(path in "[ -~]{0,60}", query in "[ -~]{0,60}") {
            if let Some(url) = resolved(&url("https://example.com/a/"), &format!("{path}?{query}")) {
                prop_assert_eq!(canonical(url.clone()), Some(url.clone()));
                prop_assert_eq!(url.fragment(), None);
            }
        }

        #[test]
        fn no_link_leaves_a_website(link in "\\PC{0,80}") {
            let scope = Scope::of("https://example.com/docs/").expect("a website");
            if let Some(page) = scope.page(scope.start(), &link) {
                prop_assert_eq!(page.host_str(), Some("example.com"));
                prop_assert!(page.path() == "/docs" || page.path().starts_with("/docs/"));
            }
        }
    }
}
