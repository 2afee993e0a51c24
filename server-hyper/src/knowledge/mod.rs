//! Documents that an agent replies from: their text, and its passages.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use conversations::admin::{KnowledgeLimits, NewKnowledge};
use extraction::document::ocr::OcrEngine;
use extraction::document::{Document, Kind, Limits, Page, Warning, decode};
use extraction::worker::Reader;
use openapi_core::files::Sha256Digest;
use responders::Format;
use sha2::{Digest, Sha256};
use websites::html;

use crate::documents;
use crate::error::CliError;

/// Timeout of each step of reading a document. It is long, because documents have many pages.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// Extensions of the files that are added from folders.
pub const EXTENSIONS: [&str; 9] = ["md", "markdown", "html", "htm", "xhtml", "txt", "text", "pdf", "docx"];

/// Those of web pages.
const HTML: [&str; 3] = ["html", "htm", "xhtml"];

/// The extension of a file, in lower case.
#[must_use]
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
    /// What was not read of it.
    pub warnings: Vec<String>,
}

impl Text {
    /// The document of this text, split into passages. A stated title goes before that of the document.
    #[must_use]
    pub fn into_document(self, name: &str, bytes: &[u8], stated: Option<String>) -> NewKnowledge {
        let pages: Vec<&str> = self.pages.iter().map(String::as_str).collect();
        let cut = responders::cut(&pages, self.format);
        let file_name = name.rsplit('/').next().unwrap_or_default();
        let title = stated.or(self.title).unwrap_or_else(|| responders::title(&cut, file_name));
        NewKnowledge {
            file_name: name.to_owned(),
            // A title is one line.
            title: title.split_whitespace().collect::<Vec<_>>().join(" "),
            url: None,
            language: None,
            content_type: self.content_type.to_owned(),
            sha256: Sha256Digest(Sha256::digest(bytes).into()),
            characters: cut.text.chars().count() as u64,
            pages: self.page_count,
            passages: cut.passages,
            questions: Vec::new(),
        }
    }
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
    ///
    /// # Errors
    /// When this system cannot confine the process that reads.
    pub fn new(
        languages: &[String],
        allow_unconfined: bool,
        most: KnowledgeLimits,
    ) -> Result<Self, CliError> {
        let worker = documents::worker(allow_unconfined, languages)?.with_timeout(READ_TIMEOUT);
        let recognise = Arc::new(documents::tesseract(&worker, languages));
        Ok(Reading { reader: Reader::Worker(worker), recognise, most })
    }

    /// The text of a document; the extension of its path says what text is.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub async fn text(&self, bytes: &Arc<[u8]>, path: &Path) -> Result<Text, String> {
        if bytes.is_empty() {
            return Err("the file is empty".to_owned());
        }
        let extension = extension(path);
        let kind = Kind::of(bytes);
        match kind {
            // A page has any beginning; its name decides.
            Some(Kind::Text | Kind::Html | Kind::Csv) | None if HTML.contains(&extension.as_str()) => {
                let html::PageText { title, text } = html::read(bytes);
                let content_type = "text/html";
                Ok(Text {
                    pages: vec![text],
                    page_count: None,
                    format: Format::Markdown,
                    content_type,
                    title,
                    warnings: Vec::new(),
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
                Ok(Text {
                    page_count: document.page_count,
                    pages: pages(&document),
                    format: Format::Plain,
                    content_type: kind.map_or("application/octet-stream", Kind::media_type),
                    title: None,
                    warnings: described(&document.warnings),
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
    Ok(Text { pages: vec![text], page_count: None, format, content_type, title: None, warnings: Vec::new() })
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

/// The parts of a document that were not read.
fn described(warnings: &[Warning]) -> Vec<String> {
    let count = |is: fn(&Warning) -> bool| warnings.iter().filter(|warning| is(warning)).count();
    let counts = [
        (
            count(|it| matches!(it, Warning::OcrUnavailable { .. })),
            "page(s) are images whose text needs tesseract, with the data of --ocr-languages",
        ),
        (count(|it| matches!(it, Warning::PageFailed { .. })), "page(s) cannot be read"),
        (
            count(|it| matches!(it, Warning::HiddenText { .. })),
            "page(s) have hidden text, which was left out",
        ),
    ];
    counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}

#[async_trait::async_trait]
impl ::console::DocumentReader for Reading {
    async fn read(&self, file_name: &str, content: bytes::Bytes) -> Result<NewKnowledge, String> {
        let bytes: Arc<[u8]> = content.as_ref().into();
        if bytes.len() as u64 > self.most.bytes {
            return Err(format!("a document has at most {} bytes", self.most.bytes));
        }
        let text = self.text(&bytes, Path::new(file_name)).await?;
        Ok(text.into_document(file_name, &bytes, None))
    }
}
