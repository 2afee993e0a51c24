//! Text that is more than text: scripts, HTML, SVG.

use std::sync::LazyLock;

use regex_automata::meta::{self, Regex};
use regex_automata::util::syntax;

/// What a text begins as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    /// Nothing in particular.
    None,
    /// A script.
    Script,
    /// HTML.
    Html,
    /// SVG.
    Svg,
}

/// How scripts begin.
const SCRIPTS: &[&str] = &[
    "#!",
    "<?php",
    "<?=",
    "<%@",
    "@echo off",
    "<job",
    "<package",
    "<scriptlet",
    "windows registry editor",
    "[internetshortcut]",
];

/// Elements that only HTML begins with.
const HTML: &[&str] = &[
    "html", "head", "body", "script", "iframe", "frameset", "style", "meta", "link", "base", "object",
    "embed", "title", "applet",
];

/// What a text, given in lower case, begins as.
pub(super) fn of(text: &str) -> Markup {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if SCRIPTS.iter().any(|begin| text.starts_with(begin)) {
        return Markup::Script;
    }
    match first_element(text) {
        Some(name) if HTML.contains(&name) => Markup::Html,
        Some("svg") => Markup::Svg,
        _ => Markup::None,
    }
}

/// The local name of the first element after declarations and comments; `html` also of a document type of that name.
fn first_element(mut text: &str) -> Option<&str> {
    loop {
        text = text.trim_start();
        let after = |end: &str| text.find(end).map(|at| &text[at + end.len()..]);
        text = if text.starts_with("<?") {
            after("?>")?
        } else if text.starts_with("<!--") {
            after("-->")?
        } else if let Some(declared) = text.strip_prefix("<!doctype") {
            let name = declared.trim_start();
            if name.starts_with("html") {
                return Some("html");
            }
            let subset = declared.find('[').filter(|at| declared.find('>').is_none_or(|end| *at < end));
            if subset.is_some() { after("]")?.trim_start().strip_prefix('>')? } else { after(">")? }
        } else {
            let name = text.strip_prefix('<')?;
            let end = name.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).unwrap_or(name.len());
            return name[..end].rsplit(':').next();
        };
    }
}

/// How much of what went before is looked at again, so that nothing hides between two chunks.
const OVERLAP: usize = 512;

/// Looks for what makes an SVG drawing act.
#[derive(Debug, Default)]
pub(super) struct ActiveScan {
    rest: Vec<u8>,
    /// Whether the text may be SVG at all; other files are not searched.
    begun: bool,
    unlikely: bool,
    active: bool,
}

static ACTIVE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?i-u)<\s*(?:[a-z0-9_-]+:)?(?:script|foreignobject|iframe|object|embed|handler|listener)[\s>/]|javascript\s*:|vbscript\s*:|[\s"'/]on[a-z]{2,40}\s*=|<!entity|data:\s*(?:text/html|image/svg|application/)|@import"#;
    // The text may be of any encoding. The number of pools is fixed, because the crate `regex` would ask the system how
    // many processors there are, which a library does not do unasked.
    let any_bytes = meta::Config::new().utf8_empty(false).pool_capacity(8);
    let builder =
        meta::Builder::new().configure(any_bytes).syntax(syntax::Config::new().utf8(false)).build(pattern);
    #[expect(clippy::expect_used, reason = "the pattern is a constant that the tests compile")]
    builder.expect("a pattern")
});

impl ActiveScan {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.active || self.unlikely {
            return;
        }
        if !self.begun && !bytes.is_empty() {
            self.begun = true;
            let first = bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace());
            // `<`, or a byte order mark before it.
            self.unlikely = !matches!(first, None | Some(b'<' | 0xef | 0xfe | 0xff));
            if self.unlikely {
                return;
            }
        }
        self.rest.extend_from_slice(bytes);
        self.active = ACTIVE.is_match(&self.rest);
        let keep = self.rest.len().min(OVERLAP);
        self.rest.drain(..self.rest.len() - keep);
    }

    pub(super) fn is_active(&self) -> bool {
        self.active
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings() {
        for (text, markup) in [
            ("hello", Markup::None),
            ("# title\n<div>", Markup::None),
            ("<p align=center>readme", Markup::None),
            ("<note><to>a</to></note>", Markup::None),
            ("#!/bin/sh", Markup::Script),
            ("\n  <?php echo 1", Markup::Script),
            ("@echo off\r\n", Markup::Script),
            ("<!doctype html>", Markup::Html),
            ("\u{feff} <!-- a --> <html>", Markup::Html),
            ("<?xml version=\"1.0\"?><x:html xmlns:x=\"http://www.w3.org/1999/xhtml\">", Markup::Html),
            ("<script>", Markup::Html),
            ("<?xml version=\"1.0\"?><!doctype svg public \"a\" \"b\"><svg:svg>", Markup::Svg),
            ("<!doctype svg [ <!entity a \"b\"> ]><svg/>", Markup::Svg),
            ("<!-- unended", Markup::None),
            ("<", Markup::None),
        ] {
            assert_eq!(of(text), markup, "{text}");
        }
    }

    #[test]
    fn active_drawings_are_seen_across_chunks() {
        let active = |text: &str, chunk: usize| {
            let mut scan = ActiveScan::default();
            text.as_bytes().chunks(chunk).for_each(|bytes| scan.push(bytes));
            scan.is_active()
        };
        for text in [
            "<svg><script>alert(1)</script></svg>",
            "<svg onload=\"a()\">",
            "<svg><a href='JavaScript:a()'>",
            "<svg><x:script />",
            "<svg><foreignObject >",
            "<!DOCTYPE svg [<!ENTITY a \"b\">]><svg>",
            "<svg><image\nonerror = 'a'>",
        ] {
            for chunk in [1, 3, 1_000] {
                assert!(active(text, chunk), "{text} by {chunk}");
            }
        }
        assert!(!active("<svg><path d=\"M0 0\" class=\"once one\"/><text>on a description</text></svg>", 7));
        assert!(!active("plain text with <script> in it", 5));
    }
}
