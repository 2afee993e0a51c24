//! A page of a website: what its head says, what it links to, and its main content.

use html5gum::{StartTag, Token};

use crate::html::{PageText, Part, begins, text_of, tokens, value_of};

/// The most links of a page.
const MAX_LINKS: usize = 2_000;
/// Pages with fewer letters and digits than this have no text: what a client-rendered page shows until its script ran.
const MIN_LETTERS: usize = 40;
/// A page with a field for a password has at least this many letters and digits, or it is there to sign in.
const MIN_BESIDES_PASSWORD: usize = 800;

/// What a page allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// It may not be shown where somebody searches.
    pub noindex: bool,
    /// Its links may not be followed.
    pub nofollow: bool,
}

impl Directives {
    /// Adds what a `meta` element or a header field says, to this crawler or to all.
    pub fn add(&mut self, content: &str, crawler: &str) {
        let mut is_for_us = true;
        for part in content.split(',') {
            let mut part = part.trim();
            if let Some((name, rest)) = part.split_once(':')
                && !name.trim().eq_ignore_ascii_case("unavailable_after")
            {
                is_for_us = name.trim().eq_ignore_ascii_case(crawler) || name.trim() == "*";
                part = rest.trim();
            }
            if is_for_us {
                let is = |word: &str| part.eq_ignore_ascii_case(word);
                self.noindex |= is("noindex") || is("none");
                self.nofollow |= is("nofollow") || is("none");
            }
        }
    }
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its main content, as Markdown.
    pub text: String,
    /// Its language, as a BCP 47 tag.
    pub language: Option<String>,
    /// The address that the page states as its own.
    pub canonical: Option<String>,
    /// What its links are relative to.
    pub base: Option<String>,
    /// What it links to, as it is written.
    pub links: Vec<String>,
    /// What it allows.
    pub directives: Directives,
    has_password: bool,
    has_script: bool,
}

/// Why a page has nothing to answer from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoText {
    /// It asks for a password.
    Login,
    /// Its text comes by a script.
    ClientRendered,
    /// It is empty.
    Empty,
    /// Its encoding is none that it can be read in.
    Charset,
}

impl Page {
    /// Reads a page for a crawler, by its product token.
    #[must_use]
    pub fn read(content: &str, crawler: &str) -> Self {
        let mut page = Page::default();
        let (mut has_main, mut articles) = (false, 0);
        for token in tokens(content) {
            let Token::StartTag(tag) = token else { continue };
            let name = String::from_utf8_lossy(&tag.name);
            has_main |= begins(Part::Main, &name, &tag);
            articles += usize::from(name == "article");
            page.element(&name, &tag, crawler);
        }
        let part = match articles {
            _ if has_main => Part::Main,
            1 => Part::Article,
            _ => Part::Body,
        };
        // A page may declare as its main content what is none.
        let parts = [part, Part::Body, Part::Whole];
        let texts = parts.into_iter().map(|part| text_of(content, part));
        let enough = texts.into_iter().find(|PageText { text, .. }| letters(text) >= MIN_LETTERS);
        let PageText { title, text } = enough.unwrap_or_else(|| text_of(content, Part::Whole));
        (page.title, page.text) = (title, text);
        page
    }

    fn element(&mut self, name: &str, tag: &StartTag<()>, crawler: &str) {
        let value = |attribute: &[u8]| value_of(tag, attribute);
        let says = |attribute: &[u8], word: &str| {
            let value = value(attribute).unwrap_or_default();
            value.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case(word))
        };
        match name {
            "html" => {
                let is_tag = |tag: &String| {
                    (2..=35).contains(&tag.len())
                        && tag.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
                };
                self.language = value(b"lang").filter(is_tag);
            }
            "base" => self.base = self.base.take().or_else(|| value(b"href")),
            "link" if says(b"rel", "canonical") => {
                self.canonical = self.canonical.take().or_else(|| value(b"href"));
            }
            "meta" if says(b"name", "robots") || says(b"name", crawler) => {
                self.directives.add(&value(b"content").unwrap_or_default(), crawler);
            }
            "meta" if says(b"http-equiv", "refresh") => {
                let content = value(b"content").unwrap_or_default();
                let target = content.split_once('=').map(|(_, url)| url.trim_matches([' ', '\'', '"']));
                self.link(target.map(str::to_owned));
            }
            "a" | "area" if !says(b"rel", "nofollow") => self.link(value(b"href")),
            "input" => self.has_password |= says(b"type", "password"),
            "script" => self.has_script = true,
            _ => {}
        }
    }

    fn link(&mut self, target: Option<String>) {
        if self.links.len() < MAX_LINKS {
            self.links.extend(target.filter(|target| !target.starts_with('#')));
        }
    }

    /// Why the page has nothing to answer from; none if it has text.
    #[must_use]
    pub fn without_text(&self) -> Option<NoText> {
        let letters = letters(&self.text);
        if self.has_password && letters < MIN_BESIDES_PASSWORD {
            return Some(NoText::Login);
        }
        let strange = self.text.chars().filter(|letter| *letter == '\u{fffd}' || is_control(*letter)).count();
        if strange * 50 > letters {
            return Some(NoText::Charset);
        }
        match self.has_script {
            _ if letters >= MIN_LETTERS => None,
            true => Some(NoText::ClientRendered),
            false => (letters == 0).then_some(NoText::Empty),
        }
    }
}

fn letters(text: &str) -> usize {
    text.chars().filter(|letter| letter.is_alphanumeric()).count()
}

fn is_control(letter: char) -> bool {
    letter.is_control() && !letter.is_whitespace()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_head_is_read() {
        let page = Page::read(
            "<html lang=de-AT><head><title>Preise</title><base href='/de/'><link rel='Canonical' href='/preise'>\
             <meta name=ROBOTS content='NoFollow, noarchive'><meta http-equiv=refresh content='5; url=/next'></head>\
             <body><a href=one>1</a><a rel='nofollow ugc' href=two>2</a><nav><a href='three'>3</a></nav><a href='#top'>4</a>",
            "test",
        );
        assert_eq!((page.title.as_deref(), page.language.as_deref()), (Some("Preise"), Some("de-AT")));
        assert_eq!((page.base.as_deref(), page.canonical.as_deref()), (Some("/de/"), Some("/preise")));
        assert_eq!(page.directives, Directives { noindex: false, nofollow: true });
        assert_eq!(page.links, ["/next", "one", "three"]);
    }

    #[test]
    fn directives_are_for_a_crawler_or_for_all() {
        for (content, noindex) in [
            ("noindex", true),
            ("all", false),
            ("NONE", true),
            ("googlebot: noindex", false),
            ("googlebot: noindex, nofollow", false),
            ("test: noindex", true),
            ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", true),
        ] {
            let mut directives = Directives::default();
            directives.add(content, "test");
            assert_eq!(directives.noindex, noindex, "{content}");
        }
    }

    #[test]
    fn pages_without_text_are_recognised() {
        let long = "Home visits are available in Leeds on weekdays from eight to six. ".repeat(20);
        for (content, expected) in [
            ("<div id=root></div><script src=app.js></script>".to_owned(), Some(NoText::ClientRendered)),
            (
                "<noscript>You need to enable JavaScript.</noscript><script>1</script>".to_owned(),
                Some(NoText::ClientRendered),
            ),
            ("<p></p>".to_owned(), Some(NoText::Empty)),
            ("<p>Closed.</p>".to_owned(), None),
            (
                "<main><p>Sign in to read about our prices and our services</p><input type=password></main>"
                    .to_owned(),
                Some(NoText::Login),
            ),
            (format!("<p>{long}</p><form><input type='password'></form>"), None),
            (format!("<p>{}", "\u{fffd}ab\u{fffd}".repeat(40)), Some(NoText::Charset)),
            (format!("<main></main><div>{long}</div><script></script>"), None),
        ] {
            assert_eq!(Page::read(&content, "test").without_text(), expected, "{content:.80}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_page(content in "(<(a|main|nav|/main|/nav|title|p|base|article|/article)( href=x| lang=\"|)>|\\PC{0,5}){0,30}") {
            let _ = Page::read(&content, "test").without_text();
        }
    }
}
