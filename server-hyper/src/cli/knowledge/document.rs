//! The text of a document that an agent replies from.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::conversations::admin::KnowledgeLimits;
use extraction::document::ocr::OcrEngine;
use extraction::document::{Document, Kind, Limits, Page, Warning, decode};
use extraction::worker::Reader;
use responders::Format;

use super::html;
use crate::cli::context::CommandContext;
use crate::documents;
use crate::error::CliError;

/// Timeout of each step of reading a document. It is long, because documents have many pages.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// Extensions of the files that are added from folders.
pub const EXTENSIONS: [&str; 9] = ["md", "markdown", "html", "htm", "xhtml", "txt", "text", "pdf", "docx"];

/// Those of web pages.
const HTML: [&str; 3] = ["html", "htm", "xhtml"];

/// Reads a file up to the size limit.
pub fn read(context: &CommandContext, path: &Path, most: u64) -> io::Result<Arc<[u8]>> {
    let mut content = Vec::new();
    context.caller().open(path)?.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("a document has at most {most} bytes")));
    }
    Ok(content.into())
}

/// The extension of a file, in lower case.
pub fn extension(path: &Path) -> String {
    path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase()
}

/// The text of a document.
pub struct Text {
    /// The text of each page.
    pub pages: Vec<String>,
    /// The number of pages, if the document has some.
    pub page_count: Option<u32>,
    /// What the text is.
    pub format: Format,
    /// The media type of the document.
    pub content_type: &'static str,
    /// The title that the document states apart from its text.
    pub title: Option<String>,
}

/// Reads documents.
pub struct Reading {
    reader: Reader,
    recognise: Arc<dyn OcrEngine>,
    /// How large documents may be.
    pub most: KnowledgeLimits,
}

impl Reading {
    /// With these languages of scanned pages.
    pub fn new(
        languages: &[String],
        allow_unconfined: bool,
        most: KnowledgeLimits,
    ) -> Result<Self, CliError> {
        let worker = documents::worker(allow_unconfined)?.with_timeout(READ_TIMEOUT);
        let recognise = Arc::new(documents::tesseract(&worker, languages));
        Ok(Reading { reader: Reader::Worker(worker), recognise, most })
    }

    /// The text of the document at `path`, whose name is `name`.
    pub async fn text(
        &self,
        context: &CommandContext,
        bytes: &Arc<[u8]>,
        (path, name): (&Path, &str),
    ) -> Result<Text, String> {
        if bytes.is_empty() {
            return Err("the file is empty".to_owned());
        }
        let extension = extension(path);
        let kind = Kind::of(bytes);
        match kind {
            // A page has any beginning; its name decides.
            Some(Kind::Text | Kind::Html | Kind::Csv) | None if HTML.contains(&extension.as_str()) => {
                let html::Page { title, text } = html::read(bytes);
                let content_type = "text/html";
                Ok(Text {
                    pages: vec![text],
                    page_count: None,
                    format: Format::Markdown,
                    content_type,
                    title,
                })
            }
            Some(Kind::Text | Kind::Csv | Kind::Message) => plain(bytes, &extension),
            // The reader reports why a file is not a document.
            Some(Kind::Pdf | Kind::Docx) | None => {
                let limits = Limits {
                    bytes: self.most.bytes,
                    pages: self.most.pages,
                    characters: self.most.characters,
                    ..Limits::default()
                };
                let recognise = Some(Arc::clone(&self.recognise));
                let document = self.reader.read(Arc::clone(bytes), limits, recognise).await;
                let document = document.map_err(|error| documents::not_read(&error))?;
                warn(context, name, &document.warnings);
                Ok(Text {
                    page_count: document.page_count,
                    pages: pages(&document),
                    format: Format::Plain,
                    content_type: kind.map_or("application/octet-stream", Kind::media_type),
                    title: None,
                })
            }
            Some(Kind::Html | Kind::Xlsx | Kind::Pptx | Kind::Odt | Kind::Ods | Kind::Odp | Kind::Rtf) => {
                Err("is of no type for an agent; documents are Markdown, HTML, plain text, PDF or DOCX"
                    .to_owned())
            }
            Some(_) => Err("is an image; documents are Markdown, HTML, plain text, PDF or DOCX".to_owned()),
        }
    }
}

/// Plain text, if the extension permits it.
fn plain(bytes: &[u8], extension: &str) -> Result<Text, String> {
    let (format, content_type) = match extension {
        "md" | "markdown" => (Format::Markdown, "text/markdown"),
        "txt" | "text" | "" => (Format::Plain, "text/plain"),
        other => {
            return Err(format!(
                "is text, but .{other} is neither Markdown, HTML nor plain text; save it as .md, .html or .txt"
            ));
        }
    };
    let text = decode(bytes).replace("\r\n", "\n").replace('\r', "\n");
    Ok(Text { pages: vec![text], page_count: None, format, content_type, title: None })
}

/// The text of each page in order; the text of an unreadable page is empty.
fn pages(document: &Document) -> Vec<String> {
    let last = document.pages.iter().map(|page| page.number).max().unwrap_or(0);
    let mut texts = vec![String::new(); last as usize];
    for page in &document.pages {
        if let Some(text) = (page.number as usize).checked_sub(1).and_then(|nth| texts.get_mut(nth)) {
            *text = Page::text(page);
        }
    }
    texts
}

/// Reports the parts of a document that were not read.
fn warn(context: &CommandContext, name: &str, warnings: &[Warning]) {
    let count = |is: fn(&Warning) -> bool| warnings.iter().filter(|warning| is(warning)).count();
    for (count, what) in [
        (
            count(|it| matches!(it, Warning::OcrUnavailable { .. })),
            "page(s) are images whose text needs tesseract, with the data of --ocr-languages",
        ),
        (count(|it| matches!(it, Warning::PageFailed { .. })), "page(s) cannot be read"),
        (
            count(|it| matches!(it, Warning::HiddenText { .. })),
            "page(s) have hidden text, which was left out",
        ),
    ] {
        if count > 0 {
            context.info(&format!("{name}: {count} {what}"));
        }
    }
}
