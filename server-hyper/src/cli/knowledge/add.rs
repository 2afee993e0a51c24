//! `knowledge add`: reads documents from files and folders, splits them into passages and stores them.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::conversations::KnowledgeDocument;
use ::conversations::admin::NewKnowledge;
use clap::Args;
use openapi_core::admin::Admin;
use openapi_core::values::AgentId;
use serde::Serialize;

use crate::assemble::Contents;
use crate::cli::context::CommandContext;
use crate::cli::output::optional;
use crate::config::extraction::allow_unconfined_documents;
use crate::config::flags::KnowledgeArgs;
use crate::console::caller::FolderEntry;
use crate::error::CliError;
use crate::knowledge::{EXTENSIONS, Reading, extension};

/// Examples of `knowledge add`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server knowledge add services.md --agent acme --url https://www.example.com/services\n  \
    openapi-server knowledge add handbook --agent acme\n  \
    openapi-server knowledge add handbook/hours.md handbook/prices.txt --agent acme --language en --json\n\n\
    Markdown (.md, .markdown), web pages (.html, .htm), plain text (.txt, in any encoding), PDF and DOCX; of a folder \
    every such file below it, under its path in the folder, and the others are listed as left out. Metadata before the \
    text of Markdown gives the title and is not searched. A document replaces those with the same --url or the same name. PDF and DOCX are read \
    in a separate process that can reach neither files nor the network; scanned pages in other letters than Latin need \
    `tesseract` (Debian: tesseract-ocr, and a package for each language).\n\n\
    A file that cannot be added does not stop the others; the exit status is then 1. Limits are settings: \
    --help lists them. Running servers answer from a change within 5 s.";

#[derive(Debug, Args)]
pub struct Add {
    /// The files, and folders of files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// Title of the source for visitors [default: that of the document, its first heading, or the file name]
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
#[serde(rename_all = "camelCase")]
struct Summary {
    added: Vec<KnowledgeDocument>,
    failed: Vec<NotAdded>,
    /// Entries of folders that are no documents.
    left_out: Vec<NotAdded>,
}

/// A file that was not added.
#[derive(Serialize)]
struct NotAdded {
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
        let (sources, mut summary) = self.sources(context)?;
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
                        summary.failed.push(NotAdded { file: source.path.display().to_string(), message });
                    }
                }
            }
            Ok(())
        })?;
        if json {
            context.print_json(&summary)?;
        } else {
            for NotAdded { file, message } in &summary.left_out {
                context.info(&format!("left out {file}: {message}"));
            }
            for NotAdded { file, message } in &summary.failed {
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

    /// The files to add, and the paths that cannot be found or are no documents.
    fn sources(&self, context: &CommandContext) -> Result<(Vec<Source>, Summary), CliError> {
        let mut folder = Folder { context, sources: Vec::new(), summary: Summary::default() };
        for path in &self.files {
            // A missing file is reported when it is read.
            if let Ok(Some(entries)) = context.caller().list(path) {
                let before = folder.sources.len();
                folder.walk(path, entries, "");
                if folder.sources.len() == before {
                    folder.lost(path, format!("the folder has no files of {}", EXTENSIONS.join(", ")));
                }
            } else {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                folder.sources.push(Source { path: path.clone(), name });
            }
        }
        let Folder { sources, summary, .. } = folder;
        if sources.len() > 1 && (self.title.is_some() || self.url.is_some()) {
            return Err(CliError::usage(
                "--title and --url apply to one document; add the others without them",
            ));
        }
        Ok((sources, summary))
    }

    /// Reads a document and splits it into passages.
    async fn document(
        &self,
        context: &CommandContext,
        source: &Source,
        reading: &Reading,
    ) -> Result<NewKnowledge, String> {
        let bytes = read(context, &source.path, reading.most.bytes).map_err(|error| error.to_string())?;
        let text = reading.text(&bytes, &source.path).await?;
        for warning in &text.warnings {
            context.info(&format!("{}: {warning}", source.name));
        }
        let mut new = text.into_document(&source.name, &bytes, self.title.clone());
        new.url.clone_from(&self.url);
        new.language.clone_from(&self.language);
        Ok(new)
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

/// What was found in folders.
struct Folder<'c> {
    context: &'c CommandContext,
    sources: Vec<Source>,
    summary: Summary,
}

impl Folder<'_> {
    /// Finds the documents in a folder, by name.
    fn walk(&mut self, folder: &Path, entries: Vec<FolderEntry>, prefix: &str) {
        for FolderEntry { name: own, is_folder, is_file } in entries {
            let path = folder.join(&own);
            let own = own.to_string_lossy();
            let name = format!("{prefix}{own}");
            if own.starts_with('.') {
                self.left_out(&path, "is hidden".to_owned());
            } else if is_folder {
                match self.context.caller().list(&path) {
                    Ok(entries) => self.walk(&path, entries.unwrap_or_default(), &format!("{name}/")),
                    Err(error) => self.lost(&path, error.to_string()),
                }
            } else if !is_file {
                self.left_out(&path, "is a link to a folder, or no file".to_owned());
            } else if EXTENSIONS.contains(&extension(&path).as_str()) {
                self.sources.push(Source { path, name });
            } else {
                let message = match extension(&path).as_str() {
                    "" => {
                        "has no extension; documents are Markdown, HTML, plain text, PDF and DOCX".to_owned()
                    }
                    "csv" | "tsv" | "xlsx" | "xls" | "ods" => {
                        "is a table; write what visitors may ask about it as text, or save it as PDF"
                            .to_owned()
                    }
                    other => format!(
                        ".{other} is no document; documents are Markdown, HTML, plain text, PDF and DOCX"
                    ),
                };
                self.left_out(&path, message);
            }
        }
    }

    fn lost(&mut self, path: &Path, message: String) {
        self.summary.failed.push(NotAdded { file: path.display().to_string(), message });
    }

    fn left_out(&mut self, path: &Path, message: String) {
        self.summary.left_out.push(NotAdded { file: path.display().to_string(), message });
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
pub(super) fn language_tag(text: &str) -> Result<String, String> {
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
