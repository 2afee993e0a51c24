//! `extractions correct`, `corrections` and `export-set`: documents with the values that they have, for evaluations.

use std::future::poll_fn;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ::corrections::{Correction, Corrections, definitions};
use clap::{Args, Subcommand};
use openapi_core::access::Caller;
use openapi_core::audit::AuditAction;
use openapi_core::extraction::ExtractionSchema;
use openapi_core::json::{Json, Object, RawObject, parse};
use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::service::{ExtractionWait, GetExtraction, OpenApiService};
use openapi_core::values::AgentId;
use serde::Serialize;

use super::{caller, failed};
use crate::assemble::Contents;
use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::cli::output::who;
use crate::error::CliError;

/// ManageCorrections read at a time.
const PAGE: u32 = 100;

/// What a document has.
#[derive(Debug, Args)]
pub struct Correct {
    /// The job: `id` of the extraction
    job: String,
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// A field with its value: text as it is, other values as JSON, nothing if the document has none; repeatable
    #[arg(long, value_name = "FIELD=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// A JSON object of further values, by field; - is standard input
    #[arg(long, value_name = "FILE")]
    values: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ManageCorrections {
    /// List the corrected extractions
    #[command(after_help = "Examples:\n  \
        openapi-server extractions corrections list --agent acme")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Show the values that the document of an extraction has
    #[command(after_help = "Examples:\n  \
        openapi-server extractions corrections show \"$EXTRACTION\" --agent acme")]
    Show {
        /// The job: `id` of the extraction
        job: String,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Remove a correction with its document
    #[command(after_help = "Examples:\n  \
        openapi-server extractions corrections remove \"$EXTRACTION\" --agent acme")]
    Remove {
        /// The job: `id` of the extraction
        job: String,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be FIELD=VALUE, such as total=12.50")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Correct {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        context.with_platform(Contents::Open, async |platform| {
            let caller = caller(context, self.agent.clone());
            let values = self.values(context, platform, &caller).await?;
            let corrected = Corrections::of(platform).correct(&caller, &self.job, &values).await;
            let corrected = corrected.map_err(listed)?;
            if context.json() {
                return context.print_json(&corrected);
            }
            context.info(&format!("extraction {} is corrected", corrected.job));
            Ok(())
        })
    }

    /// The values that are stated, by the types of the schema.
    async fn values(
        &self,
        context: &CommandContext,
        platform: &Platform,
        caller: &Caller,
    ) -> Result<Object, CliError> {
        let query = ExtractionWait::default().into();
        let found = platform.extraction(caller, GetExtraction { id: self.job.clone(), query }).await;
        let schema = ExtractionSchema::parse(found.map_err(failed)?.body.schema.as_bytes());
        let schema = schema.map_err(|faults| CliError::new(faults.message()))?;
        let mut values = match &self.values {
            Some(path) => input::object(context, path)?,
            None => Object::new(),
        };
        for (name, text) in &self.set {
            let field = schema.fields().iter().find(|(known, _)| known == name).map(|(_, field)| field);
            let value = match field {
                _ if text.is_empty() => Json::Null,
                Some(field) if !field.kind.is_text() => parse(text.as_bytes()).map_err(|error| {
                    let kind = field.kind.as_str();
                    CliError::new(format!("--set {name}: a value of type {kind} is JSON: {error}"))
                })?,
                // The platform says which fields there are not.
                _ => Json::String(text.clone()),
            };
            values.insert(name.as_str(), value);
        }
        Ok(values)
    }
}

/// An error with every fault.
fn listed(error: ApiError) -> CliError {
    match error.violations() {
        [] => failed(error),
        faults => CliError::new(faults.iter().map(|fault| &*fault.message).collect::<Vec<_>>().join("; ")),
    }
}

impl ManageCorrections {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        match self {
            ManageCorrections::List { agent } => context.with_platform(Contents::Closed, async |platform| {
                let mut all = Vec::new();
                each(platform, &agent, async |correction| {
                    all.push(correction);
                    Ok(())
                })
                .await?;
                context.note_bulk(platform, Some(&agent), "corrections", all.len()).await?;
                context.print_table(
                    context.json(),
                    &all,
                    &["job", "document", "contact", "corrected", "by"],
                    row,
                )
            }),
            ManageCorrections::Show { job, agent } => {
                context.with_platform(Contents::Closed, async |platform| {
                    context.print_json(&Corrections::of(platform).find(&agent, &job).await.map_err(failed)?)
                })
            }
            ManageCorrections::Remove { job, agent } => {
                context.with_platform(Contents::Closed, async |platform| {
                    let removed = Corrections::of(platform).remove(&caller(context, agent), &job).await;
                    let removed = removed.map_err(failed)?;
                    if context.json() {
                        return context.print_json(&removed);
                    }
                    context.info(&format!("the correction of extraction {} is removed", removed.job));
                    Ok(())
                })
            }
        }
    }
}

fn row(it: &Correction) -> Vec<String> {
    vec![
        it.job.to_string(),
        it.document.file_name.clone(),
        it.contact.map_or_else(|| "-".to_owned(), |contact| contact.to_string()),
        it.at.to_string(),
        who(&it.by),
    ]
}

/// Reads all corrections of an agent, page by page.
async fn each(
    platform: &Platform,
    agent: &AgentId,
    mut take: impl AsyncFnMut(Correction) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut after = None;
    loop {
        let page = Corrections::of(platform).list(agent, after, PAGE).await.map_err(failed)?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(|last| last.job);
        for correction in page {
            take(correction).await?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// A line of the manifest of an evaluation set.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
struct Line<'a> {
    id: String,
    set: &'static str,
    media_type: &'a str,
    file: String,
    schema: Vec<Object>,
    expected: &'a RawObject,
}

/// Writes the documents of all corrections and their manifest into an empty folder.
pub fn export_set(context: &CommandContext, agent: &AgentId, folder: &Path) -> Result<(), CliError> {
    context.with_platform(Contents::Open, async |platform| {
        refuse_used(context, folder)?;
        platform.living_agent(agent).await?;
        context.note(platform, AuditAction::DocumentExport, Some(agent), agent.as_str(), []).await?;
        let (mut manifest, mut count) = (Vec::new(), 0_u64);
        each(platform, agent, async |correction| {
            let Some(mut content) =
                Corrections::of(platform).document(agent, &correction).await.map_err(failed)?
            else {
                context.info(&format!("extraction {} is left out: its document is gone", correction.job));
                return Ok(());
            };
            let schema = ExtractionSchema::parse(correction.schema.as_str().as_bytes());
            let schema = schema.map_err(|faults| CliError::new(faults.message()))?;
            let file = file_name(&correction);
            let path = folder.join(&file);
            let mut output = create(context, &path)?;
            while let Some(bytes) = poll_fn(|cx| content.as_mut().poll_next(cx)).await.transpose()? {
                write(&mut *output, &path, &bytes)?;
            }
            flush(output, &path)?;
            let line = Line {
                id: correction.job.to_string(),
                set: "corrections",
                media_type: &correction.document.content_type,
                file,
                schema: definitions(&schema),
                expected: &correction.expected,
            };
            serde_json::to_writer(&mut manifest, &line)?;
            manifest.push(b'\n');
            count += 1;
            Ok(())
        })
        .await?;
        // Last: a folder with a manifest is complete.
        let path = folder.join("manifest.jsonl");
        let mut output = create(context, &path)?;
        write(&mut *output, &path, &manifest)?;
        flush(output, &path)?;
        context.info(&format!("{count} documents written to {}", folder.display()));
        Ok(())
    })
}

fn refuse_used(context: &CommandContext, folder: &Path) -> Result<(), CliError> {
    let name = folder.display();
    let entries = context.caller().list(folder);
    match entries.map_err(|error| CliError::new(format!("cannot read {name}: {error}")))? {
        None => Err(CliError::new(format!("{name} is no folder; create it first"))),
        Some(entries) if entries.is_empty() => Ok(()),
        Some(_) => Err(CliError::new(format!("{name} has files already; name an empty folder"))),
    }
}

fn create(context: &CommandContext, path: &Path) -> Result<Box<dyn Write + Send>, CliError> {
    context.caller().create(path).map_err(|error| cannot_write(path, &error))
}

fn write(output: &mut dyn Write, path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    output.write_all(bytes).map_err(|error| cannot_write(path, &error))
}

fn flush(mut output: Box<dyn Write + Send>, path: &Path) -> Result<(), CliError> {
    output.flush().map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> CliError {
    CliError::new(format!("cannot write {}: {error}", path.display()))
}

/// The name of a document in the set: that of its extraction, with the extension that was sent if it is a plain one.
fn file_name(correction: &Correction) -> String {
    let extension = correction.document.file_name.rsplit_once('.').map(|(_, extension)| extension);
    let is_plain =
        |it: &&str| (1..=8).contains(&it.len()) && it.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match extension.filter(is_plain) {
        Some(extension) => format!("{}.{}", correction.job, extension.to_ascii_lowercase()),
        None => correction.job.to_string(),
    }
}
