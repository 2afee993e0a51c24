//! Web pages: the text that a reader sees, as Markdown with headings and lists, and the title.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// Elements whose content is no text of the page.
const LEFT_OUT: [&str; 18] = [
    "script", "style", "template", "noscript", "nav", "svg", "math", "iframe", "object", "audio", "video",
    "canvas", "select", "button", "textarea", "dialog", "menu", "datalist",
];

/// Elements that begin and end a paragraph.
const BLOCKS: [&str; 30] = [
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "aside",
    "address",
    "blockquote",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "legend",
    "details",
    "summary",
    "ul",
    "ol",
    "dl",
    "dt",
    "dd",
    "table",
    "thead",
    "tbody",
    "tfoot",
    "caption",
    "pre",
    "hr",
    "body",
];

/// Elements without an end tag.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// The bytes of a page in which its encoding must be declared.
const DECLARATION: usize = 1024;

/// Elements that stand on every page of a website.
const FRAME: [&str; 3] = ["header", "footer", "aside"];

/// Roles of elements that are no text of the page.
const FRAME_ROLES: [&str; 8] =
    ["navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu"];

/// Which part of a page is its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All that a reader sees but menus.
    #[default]
    Whole,
    /// What is neither head, foot nor margin of the website.
    Body,
    /// What the page declares to be its main content: `main`, or the role.
    Main,
    /// The only article of the page.
    Article,
}

/// The text of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageText {
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its text, as Markdown.
    pub text: String,
}

/// Reads the file of a page.
#[must_use]
pub fn read(bytes: &[u8]) -> PageText {
    text_of(&decoded(bytes, None), Part::Whole)
}

/// Reads a part of a page.
#[must_use]
pub fn text_of(content: &str, part: Part) -> PageText {
    let mut page = Writer { part, ..Writer::default() };
    for token in tokens(content) {
        match token {
            Token::StartTag(tag) => page.start(&String::from_utf8_lossy(&tag.name), &tag),
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => page.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    page.finish()
}

/// The tokens of a page.
pub(crate) fn tokens(content: &str) -> impl Iterator<Item = Token> + '_ {
    let mut emitter = DefaultEmitter::default();
    // The content of scripts, styles and titles is text, not tags.
    emitter.naively_switch_states(true);
    Tokenizer::new_with_emitter(content, emitter).map(|token| {
        let Ok(token) = token;
        token
    })
}

/// The characters of a page: in the encoding that its server or the page declares, unless it begins with a byte order
/// mark or is UTF-8. What the declared encoding does not fit is in the likeliest one.
#[must_use]
pub fn decoded<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    if Encoding::for_bom(bytes).is_some() || std::str::from_utf8(bytes).is_ok() {
        // Takes the byte order mark at its word and off.
        return UTF_8.decode(bytes).0;
    }
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARATION)]).to_lowercase();
    let in_page = head.split_once("charset=").map(|(_, rest)| {
        let rest = rest.trim_start_matches(['"', '\'', ' ']);
        let is_label = |letter: char| letter.is_ascii_alphanumeric() || "-_:".contains(letter);
        rest.split(|letter| !is_label(letter)).next().unwrap_or_default()
    });
    let declared = [charset, in_page].into_iter().flatten();
    for encoding in declared.filter_map(|label| Encoding::for_label(label.as_bytes())) {
        if let Some(text) = encoding.decode_without_bom_handling_and_without_replacement(bytes) {
            return text;
        }
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Allow).decode(bytes).0
}

/// An element whose content is passed over.
struct Skipped {
    name: String,
    /// Open elements of the same name inside.
    nested: usize,
}

#[derive(Default)]
struct Writer {
    title: Option<String>,
    is_title: bool,
    skipped: Option<Skipped>,
    text: String,
    /// The paragraph that is being written, and what precedes it.
    line: String,
    prefix: String,
    preformatted: usize,
    part: Part,
    /// The open element that the part is, and the open ones of its name inside.
    inside: Option<Skipped>,
}

impl Writer {
    fn start(&mut self, name: &str, tag: &StartTag<()>) {
        if let Some(skipped) = &mut self.skipped {
            skipped.nested += usize::from(skipped.name == name && !tag.self_closing);
            return;
        }
        if LEFT_OUT.contains(&name) || is_hidden(tag) || self.is_frame(name, tag) {
            if !tag.self_closing && !VOID.contains(&name) {
                self.skipped = Some(Skipped { name: name.to_owned(), nested: 0 });
            }
            return;
        }
        match &mut self.inside {
            Some(inside) => inside.nested += usize::from(inside.name == name && !tag.self_closing),
            None if begins(self.part, name, tag) => {
                self.inside = Some(Skipped { name: name.to_owned(), nested: 0 });
            }
            None => {}
        }
        match name {
            "title" => self.is_title = self.title.is_none(),
            "br" => self.break_line(),
            "tr" => self.break_line(),
            "li" => {
                self.break_line();
                "- ".clone_into(&mut self.prefix);
            }
            "td" | "th" if !self.line.trim().is_empty() => self.line.push_str(" | "),
            _ => {
                if let Some(level) = heading(name) {
                    self.break_paragraph();
                    self.prefix = format!("{} ", "#".repeat(level));
                } else if BLOCKS.contains(&name) {
                    self.break_paragraph();
                    self.preformatted += usize::from(name == "pre");
                }
            }
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(skipped) = &mut self.skipped {
            match (skipped.name == name, skipped.nested) {
                (false, _) => {}
                (true, 0) => self.skipped = None,
                (true, _) => skipped.nested -= 1,
            }
            return;
        }
        if let Some(inside) = self.inside.as_mut().filter(|inside| inside.name == name) {
            match inside.nested {
                0 => {
                    self.break_paragraph();
                    self.inside = None;
                    return;
                }
                _ => inside.nested -= 1,
            }
        }
        match name {
            "title" => self.is_title = false,
            "li" | "tr" => self.break_line(),
            _ if heading(name).is_some() || BLOCKS.contains(&name) => {
                self.break_paragraph();
                if name == "pre" {
                    self.preformatted = self.preformatted.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.is_title {
            self.title.get_or_insert_default().push_str(text);
        } else if self.inside.is_none() && matches!(self.part, Part::Main | Part::Article) {
            // Outside of what is read.
        } else if self.preformatted > 0 {
            let mut lines = text.split('\n');
            self.line.push_str(lines.next().unwrap_or_default());
            for line in lines {
                self.break_line();
                self.line.push_str(line);
            }
        } else {
            for part in text.split_inclusive(char::is_whitespace) {
                let word = part.trim_end_matches(char::is_whitespace);
                self.line.push_str(word);
                if word.len() < part.len() && !self.line.ends_with(' ') {
                    self.line.push(' ');
                }
            }
        }
    }

    /// Whether an element belongs to the website rather than to the page.
    fn is_frame(&self, name: &str, tag: &StartTag<()>) -> bool {
        if self.part == Part::Whole {
            return false;
        }
        // A head inside the main content has its heading.
        let is_frame = FRAME.contains(&name) && (self.part == Part::Body || name == "aside");
        is_frame || attribute(tag, b"role").is_some_and(|role| FRAME_ROLES.contains(&role.trim()))
    }

    /// Ends a line inside a paragraph.
    fn break_line(&mut self) {
        let line = self.line.trim();
        if !line.is_empty() {
            self.text.push_str(&self.prefix);
            self.text.push_str(line);
            self.text.push('\n');
            self.prefix.clear();
        }
        self.line.clear();
    }

    fn break_paragraph(&mut self) {
        self.break_line();
        // A paragraph inside an item of a list begins the item.
        if self.prefix != "- " {
            self.prefix.clear();
        }
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn finish(mut self) -> PageText {
        self.break_paragraph();
        let title = self.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        PageText { title: title.filter(|title| !title.is_empty()), text: self.text }
    }
}

/// The level of a heading.
fn heading(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}

/// Whether an element begins the part that is read.
pub(crate) fn begins(part: Part, name: &str, tag: &StartTag<()>) -> bool {
    match part {
        Part::Whole | Part::Body => false,
        Part::Main => name == "main" || attribute(tag, b"role").is_some_and(|role| role.trim() == "main"),
        Part::Article => name == "article",
    }
}

/// The value of an attribute, in lower case.
fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    value_of(tag, name).map(|value| value.to_lowercase())
}

/// The value of an attribute.
pub(crate) fn value_of(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let found = tag.attributes.iter().find(|(key, _)| key.as_slice() == name);
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

/// Whether a reader does not see the element.
fn is_hidden(tag: &StartTag<()>) -> bool {
    let style: String = attribute(tag, b"style").unwrap_or_default().split_whitespace().collect();
    attribute(tag, b"hidden").is_some()
        || attribute(tag, b"aria-hidden").is_some_and(|value| value == "true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_what_a_reader_sees() {
        let page = read(
            "<!doctype html><html><head><meta charset=utf-8><title>Our\n services &amp; prices</title>\
             <style>p{color:red}</style><script>if (1 < 2) document.write('<p>no</p>')</script></head>\
             <body><nav><ul><li>Home</li></ul></nav><h1>Services</h1><p>Home  visits\n are <b>available</b>&nbsp;in \
             Leeds.<p>We <em>open</em> at nine.<div hidden><div>no</div>no</div><span style='display: none'>no</span>\
             <h2>Prices<br></h2><ul><li><p>A visit is 40&#163;.</p><li>More</ul>\
             <table><tr><th>Visit<th>Price</tr><tr><td>Home</td><td>40</td></tr></table>\
             <pre>one\n  two</pre><img hidden>end</body></html>"
                .as_bytes(),
        );
        assert_eq!(page.title.as_deref(), Some("Our services & prices"));
        assert_eq!(
            page.text,
            "# Services\n\nHome visits are available in Leeds.\n\nWe open at nine.\n\n## Prices\n\n- A visit is 40£.\n\n\
             - More\n\nVisit | Price\nHome | 40\n\none\ntwo\n\nend\n\n"
        );
    }

    #[test]
    fn a_page_is_in_the_encoding_that_it_declares() {
        for bytes in [
            &b"<meta http-equiv=Content-Type content='text/html; charset=windows-1250'><p>\xa3\xf3d\x9f"[..],
            "<meta charset='utf-8'><p>Łódź".as_bytes(),
            "<p>Łódź".as_bytes(),
            // A wrong declaration.
            "<meta charset=windows-1252><p>Łódź".as_bytes(),
        ] {
            assert_eq!(read(bytes).text.trim(), "Łódź");
        }
        // Its server knows better than the page, and a declaration that cannot be right counts for nothing.
        assert_eq!(
            text_of(&decoded(b"<meta charset=utf-8><p>\xa3", Some("iso-8859-1")), Part::Whole).text.trim(),
            "£"
        );
        let japanese =
            encoding_rs::SHIFT_JIS.encode("<p>営業時間は月曜日から金曜日の午前九時から午後五時までです。").0;
        assert!(decoded(&japanese, Some("utf-8")).contains("営業時間"));
        assert_eq!(read(b"").text, "");
        assert_eq!(read(b"<p").text, "");
    }

    #[test]
    fn the_main_content_has_no_frame() {
        let page = "<body><header><h1>Shop</h1></header><nav>Menu</nav><div role=search>Find</div><main><header><h1>Prices\
            </h1></header><p>A visit is 40.</p><aside>Ad</aside><main>inner</main></main><footer>Imprint</footer>";
        assert_eq!(text_of(page, Part::Main).text, "# Prices\n\nA visit is 40.\n\ninner\n\n");
        let page = "<header>Shop</header><p>Text</p><footer>Imprint</footer>";
        assert_eq!(text_of(page, Part::Body).text, "Text\n\n");
        let page = "<p>Before<article><p>One</p></article><p>After";
        assert_eq!(text_of(page, Part::Article).text, "One\n\n");
    }
}
