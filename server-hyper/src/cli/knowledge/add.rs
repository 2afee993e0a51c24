//! `knowledge add`: reads documents from files and folders, splits them into passages and stores them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::conversations::KnowledgeDocument;
use ::conversations::admin::{KnowledgeLimits, NewKnowledge};
use clap::Args;
use extraction::document::ocr::OcrEngine;
use extraction::document::{Document, Kind, Limits, Page, Warning, decode};
use extraction::worker::Reader;
use openapi_core::admin::Admin;
use openapi_core::files::Sha256Digest;
use openapi_core::values::AgentId;
use responders::Format;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::assemble::Contents;
use crate::cli::context::CommandContext;
use crate::cli::output::optional;
use crate::config::extraction::allow_unconfined_documents;
use crate::config::flags::KnowledgeArgs;
use crate::console::caller::FolderEntry;
use crate::documents;
use crate::error::CliError;

/// Examples of `knowledge add`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server knowledge add services.md --agent acme --url https://www.example.com/services\n  \
    openapi-server knowledge add handbook --agent acme\n  \
    openapi-server knowledge add handbook/hours.md handbook/prices.txt --agent acme --language en --json\n\n\
    Markdown (.md, .markdown), plain text (.txt, in any encoding), PDF and DOCX; of a folder every such file below it, \
    under its path in the folder. A document replaces those with the same --url or the same name. PDF and DOCX are read \
    in a separate process that can reach neither files nor the network; scanned pages need \
    `tesseract` (Debian: tesseract-ocr, and a package for each language).\n\n\
    A file that cannot be added does not stop the others; the exit status is then 1. Limits are settings: \
    --help lists them. Running servers answer from a change within 5 s.";

/// Timeout of each step of reading a document. It is long, because documents have many pages.
const READ_TIMEOUT: Duration = Duration::from_secs(120);
/// Extensions of the files that are added from folders.
const ENDINGS: [&str; 6] = ["md", "markdown", "txt", "text", "pdf", "docx"];

#[derive(Debug, Args)]
pub struct Add {
    /// The files, and folders of files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// Title of the source for visitors [default: the first heading, or the file name]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// URL where visitors can read the document
    #[arg(long)]
    url: Option<String>,
    /// The language of the documents, as a BCP 47 tag
    #[arg(long, value_name = "TAG", value_parser = language_tag)]
    language: Option<String>,
    /// Languages of the text in scanned pages, by their tesseract names
    #[arg(long, value_name = "LANGUAGE", value_delimiter = ',', default_value = "eng")]
    ocr_languages: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) limits: KnowledgeArgs,
}

/// The result of the command.
#[derive(Default, Serialize)]
struct Summary {
    added: Vec<KnowledgeDocument>,
    failed: Vec<Failed>,
}

/// A file that was not added.
#[derive(Serialize)]
struct Failed {
    file: String,
    message: String,
}

/// A file to add.
struct Source {
    path: PathBuf,
    /// Its identity: its name, or its path in the given folder.
    name: String,
}

impl Add {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        let (sources, failed) = self.sources(context)?;
        let mut summary = Summary { added: Vec::new(), failed };
        context.with_conversations(Contents::Closed, async |chat| {
            // Report a mistyped agent once, not for every file.
            chat.platform().agent(&self.agent).await?;
            let allow_unconfined = allow_unconfined_documents(context.config()?.as_ref())?;
            let reading = Reading::new(&self.ocr_languages, allow_unconfined, chat.knowledge_limits())?;
            let mut names = HashSet::new();
            for (nth, source) in sources.iter().enumerate() {
                let outcome = async {
                    if names.contains(&source.name) {
                        let message =
                            "a file with this name was just added, and files of one name replace each other";
                        return Err(message.to_owned());
                    }
                    let new = self.document(context, source, &reading).await?;
                    let added = chat.add_knowledge(&context.operator(), &self.agent, new).await;
                    added.map_err(|error| CliError::from(error).to_string())
                };
                match outcome.await {
                    Ok(added) => {
                        names.insert(&source.name);
                        if sources.len() > 1 {
                            let (nth, all) = (nth + 1, sources.len());
                            context.info(&format!(
                                "{nth} of {all}: {}, {} passage(s)",
                                source.name, added.passages
                            ));
                        }
                        summary.added.push(added);
                    }
                    Err(message) => {
                        summary.failed.push(Failed { file: source.path.display().to_string(), message });
                    }
                }
            }
            Ok(())
        })?;
        if json {
            context.print_json(&summary)?;
        } else {
            for Failed { file, message } in &summary.failed {
                context.error(&format!("{file}: {message}"));
            }
            if !summary.added.is_empty() {
                let heads = ["id", "title", "file", "pages", "passages", ""];
                context.print_table(false, &summary.added, &heads, row)?;
            }
        }
        match summary.failed.len() {
            0 => Ok(()),
            1 => Err(CliError::new("1 document was not added")),
            failed => Err(CliError::new(format!("{failed} documents were not added"))),
        }
    }

    /// The files to add, and the paths that cannot be found.
    fn sources(&self, context: &CommandContext) -> Result<(Vec<Source>, Vec<Failed>), CliError> {
        let (mut sources, mut failed) = (Vec::new(), Vec::new());
        for path in &self.files {
            let mut lost = |path: &Path, message: String| {
                failed.push(Failed { file: path.display().to_string(), message });
            };
            // A missing file is reported when it is read.
            if let Ok(Some(entries)) = context.caller().list(path) {
                let before = sources.len();
                walk(context, path, entries, "", &mut sources, &mut lost);
                if sources.len() == before {
                    lost(path, format!("the folder has no files of {}", ENDINGS.join(", ")));
                }
            } else {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                sources.push(Source { path: path.clone(), name });
            }
        }
        if sources.len() > 1 && (self.title.is_some() || self.url.is_some()) {
            return Err(CliError::usage(
                "--title and --url apply to one document; add the others without them",
            ));
        }
        Ok((sources, failed))
    }

    /// Reads a document and splits it into passages.
    async fn document(
        &self,
        context: &CommandContext,
        source: &Source,
        reading: &Reading,
    ) -> Result<NewKnowledge, String> {
        let bytes = read(context, &source.path, reading.most.bytes).map_err(|error| error.to_string())?;
        let text = reading.text(context, &bytes, source).await?;
        let pages: Vec<&str> = text.pages.iter().map(String::as_str).collect();
        let cut = responders::cut(&pages, text.format);
        let file_name = source.name.rsplit('/').next().unwrap_or_default();
        let title = self.title.clone().unwrap_or_else(|| responders::title(&cut, file_name));
        Ok(NewKnowledge {
            file_name: source.name.clone(),
            // A title is one line.
            title: title.split_whitespace().collect::<Vec<_>>().join(" "),
            url: self.url.clone(),
            language: self.language.clone(),
            content_type: text.content_type.to_owned(),
            sha256: Sha256Digest(Sha256::digest(&bytes).into()),
            characters: cut.text.chars().count() as u64,
            pages: text.page_count,
            passages: cut.passages,
        })
    }
}

/// Reads a file up to the size limit.
fn read(context: &CommandContext, path: &Path, most: u64) -> io::Result<Arc<[u8]>> {
    let mut content = Vec::new();
    context.caller().open(path)?.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("a document has at most {most} bytes")));
    }
    Ok(content.into())
}

/// Finds the documents in a folder, by name; skips hidden files and linked folders.
fn walk(
    context: &CommandContext,
    folder: &Path,
    entries: Vec<FolderEntry>,
    prefix: &str,
    sources: &mut Vec<Source>,
    lost: &mut impl FnMut(&Path, String),
) {
    for FolderEntry { name: own, is_folder, is_file } in entries {
        let path = folder.join(&own);
        let own = own.to_string_lossy();
        let name = format!("{prefix}{own}");
        if own.starts_with('.') {
            continue;
        }
        if is_folder {
            match context.caller().list(&path) {
                Ok(entries) => {
                    let entries = entries.unwrap_or_default();
                    walk(context, &path, entries, &format!("{name}/"), sources, lost);
                }
                Err(error) => lost(&path, error.to_string()),
            }
        } else if is_file && ENDINGS.contains(&ending(&path).as_str()) {
            sources.push(Source { path, name });
        }
    }
}

/// The extension of a file, in lower case.
fn ending(path: &Path) -> String {
    path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase()
}

/// The text of a document.
struct Text {
    pages: Vec<String>,
    page_count: Option<u32>,
    format: Format,
    content_type: &'static str,
}

/// Reads documents.
struct Reading {
    reader: Reader,
    recognise: Arc<dyn OcrEngine>,
    most: KnowledgeLimits,
}

impl Reading {
    fn new(languages: &[String], allow_unconfined: bool, most: KnowledgeLimits) -> Result<Self, CliError> {
        let worker = documents::worker(allow_unconfined)?.with_timeout(READ_TIMEOUT);
        let recognise = Arc::new(documents::tesseract(&worker, languages));
        Ok(Reading { reader: Reader::Worker(worker), recognise, most })
    }

    async fn text(
        &self,
        context: &CommandContext,
        bytes: &Arc<[u8]>,
        source: &Source,
    ) -> Result<Text, String> {
        if bytes.is_empty() {
            return Err("the file is empty".to_owned());
        }
        let kind = Kind::of(bytes);
        match kind {
            Some(Kind::Text) => plain(bytes, &ending(&source.path)),
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
                warn(context, &source.name, &document.warnings);
                Ok(Text {
                    page_count: document.page_count,
                    pages: pages(&document),
                    format: Format::Plain,
                    content_type: kind.map_or("application/octet-stream", Kind::media_type),
                })
            }
            Some(_) => Err("is an image; documents are Markdown, plain text, PDF or DOCX".to_owned()),
        }
    }
}

/// Plain text, if the extension permits it.
fn plain(bytes: &[u8], ending: &str) -> Result<Text, String> {
    let (format, content_type) = match ending {
        "md" | "markdown" => (Format::Markdown, "text/markdown"),
        "txt" | "text" | "" => (Format::Plain, "text/plain"),
        other => {
            return Err(format!(
                "is text, but .{other} is neither Markdown nor plain text; save it as .md or .txt"
            ));
        }
    };
    let text = decode(bytes).replace("\r\n", "\n").replace('\r', "\n");
    Ok(Text { pages: vec![text], page_count: None, format, content_type })
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

fn row(document: &KnowledgeDocument) -> Vec<String> {
    let is_new = document.created_at == document.updated_at;
    vec![
        document.id.to_string(),
        document.title.clone(),
        document.file_name.clone(),
        optional(document.pages.as_ref()),
        document.passages.to_string(),
        if is_new { "added".to_owned() } else { "replaced".to_owned() },
    ]
}

/// A language, as `de` or `pt-BR`.
fn language_tag(text: &str) -> Result<String, String> {
    let mut parts = text.split('-');
    let first = parts.next().unwrap_or_default();
    let is_tag = (2..=8).contains(&first.len())
        && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        && parts.all(|part| {
            (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
    if is_tag {
        Ok(text.to_owned())
    } else {
        Err(format!("'{text}' is no language; write such as de or pt-BR"))
    }
}
