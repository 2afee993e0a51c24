//! `extract`: extracts the fields of a schema from a local document.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use extraction::document::ocr::OcrEngine;
use extraction::document::{Document, Kind, Limits, PageSource};
use extraction::engine::builtin;
use extraction::engine::model::ModelEngine;
use extraction::worker::Reader;
use openapi_core::admin::AdminError;
use openapi_core::extraction::{
    DocumentFacts, Extraction, ExtractionMetadata, ExtractionSchema, ExtractionWarning, Finding,
    SCHEMA_EXAMPLES, Usage,
};
use openapi_core::files::Sha256Digest;
use openapi_core::json::Json;
use openapi_core::values::Block;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, timeout_at};

use super::context::CommandContext;
use super::input;
use super::process::Logged;
use crate::config::Config;
use crate::config::extraction::{Engine, EngineChoice};
use crate::config::flags::ExtractArgs;
use crate::documents;
use crate::error::CliError;
use crate::ports::monotonic;

/// Examples of `extract`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server extract invoice.txt --example invoice\n  \
    openapi-server extract invoice.txt --schema fields.json --json\n  \
    openapi-server extract invoice.txt --schema fields.json --config models.toml --instructions @notes.txt\n\n\
    Reads PDF, DOCX, plain text, JPEG, PNG, TIFF, WebP, BMP and GIF; no store or server is needed, and nothing leaves \
    this machine unless a language model is the engine, which receives the text. The settings are those of `serve`. \
    Images and scanned pages are read in Latin letters; `tesseract` (Debian: tesseract-ocr, and a package for each \
    language) adds other scripts and reads dense pages faster. The document is read in a separate process that can reach neither files nor the network.\n\n\
    A schema is a JSON object with a definition for each field, such as\n  \
    { \"total\": { \"type\": \"number\", \"description\": \"Amount payable\", \"required\": true } }";

/// The source of a value without evidence.
const NO_SOURCE: &str = "";

#[derive(Debug, Args)]
pub struct Extract {
    /// The document
    file: PathBuf,
    /// The schema: a file, - for standard input
    #[arg(long, value_name = "FILE", required_unless_present = "example", conflicts_with = "example")]
    schema: Option<PathBuf>,
    /// One of the example schemas: medical, invoice, resume, receipt, identity_document, contract,
    /// purchase_order
    #[arg(long, value_name = "ID")]
    example: Option<String>,
    /// Guidance for a model, such as 'Amounts are in cents', at most 4,000 characters; @FILE reads it from a file. It
    /// changes neither schema nor limits. The built-in engine ignores it
    #[arg(long, value_name = "TEXT|@FILE")]
    instructions: Option<String>,
    #[command(flatten)]
    settings: ExtractArgs,
}

/// The result of an engine.
struct Found {
    findings: Vec<Finding>,
    warnings: Vec<ExtractionWarning>,
    language: Option<&'static str>,
    engine: String,
}

/// The requested fields.
struct Wanted {
    schema: ExtractionSchema,
    instructions: Option<Block<4_000>>,
}

/// A row of the table.
#[derive(Serialize)]
struct Row {
    field: String,
    value: String,
    confidence: f64,
    source: String,
}

impl Extract {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let begun = monotonic();
        let config = Config::read(context.flags(), Some(&self.settings.values))?;
        // Also because a panic's message may contain text of the document.
        let _log = Logged::install(&config)?;
        let (choice, timeout) = EngineChoice::of(&config)?;
        let EngineChoice::On(engines) = choice else {
            return Err(CliError::usage(
                "extraction_engine is off; give --extraction-engine builtin".to_owned(),
            ));
        };
        let model = match &engines.of_all {
            Engine::Builtin => None,
            Engine::Model(name) => Some(documents::model(&engines, name)?),
        };
        let wanted = Wanted { schema: self.schema(context)?, instructions: self.instructions()? };
        let images = model.as_ref().map_or(0, |model| model.max_image_bytes() as u64);
        let limits = Limits { images, ..Limits::default() };
        let failed =
            |error: std::io::Error| CliError::new(format!("cannot read {}: {error}", self.file.display()));
        if std::fs::metadata(&self.file).map_err(failed)?.len() > limits.bytes {
            return Err(CliError::new(format!("the document has more than {} bytes", limits.bytes)));
        }
        let bytes: Arc<[u8]> = std::fs::read(&self.file).map_err(failed)?.into();
        let worker = documents::worker(engines.allow_unconfined, &engines.languages)?;
        let recognise: Arc<dyn OcrEngine> = Arc::new(documents::tesseract(&worker, &engines.languages));
        let reader = Reader::Worker(worker);
        let wanted = Arc::new(wanted);
        let (document, found) = context.run(async {
            let until = Instant::now() + timeout;
            let work = async {
                let document = reader.read(Arc::clone(&bytes), limits, Some(recognise)).await;
                let failed = |error| {
                    CliError::new(format!("{}: {}", self.file.display(), documents::not_read(&error)))
                };
                let document = document.map_err(failed)?;
                let document = Arc::new(document);
                let found = match &model {
                    Some(model) => {
                        let left = until.saturating_duration_since(Instant::now());
                        asked(context, model, &document, &wanted, left, engines.fallback).await?
                    }
                    None => found(context, &document, &wanted).await?,
                };
                Ok((document, found))
            };
            timeout_at(until, work).await.unwrap_or_else(|_| {
                let shown = self.file.display();
                Err(CliError::new(format!("{shown}: the extraction took too long (extraction_timeout)")))
            })
        })?;
        let extraction = Extraction::of(&wanted.schema, found.findings, &found.warnings);
        let metadata = ExtractionMetadata {
            processing_time: begun.elapsed().as_millis() as u64,
            document: self.facts(&bytes, &document, found.language),
            usage: Usage::default(),
            engine: found.engine,
        };
        if context.json() {
            let (data, metadata) = (Json::Object(extraction.data.clone()), extraction.with(&metadata));
            return context.print_json(&json!({ "data": data, "metadata": metadata }));
        }
        for notice in extraction.validation.warnings.iter().chain(&extraction.validation.errors) {
            context.info(&notice.message);
        }
        context.print_table(false, &rows(&extraction), &["field", "value", "confidence", "where"], |row| {
            vec![row.field.clone(), row.value.clone(), format!("{:.2}", row.confidence), row.source.clone()]
        })
    }

    fn schema(&self, context: &CommandContext) -> Result<ExtractionSchema, CliError> {
        let parsed = match (&self.schema, &self.example) {
            (Some(path), _) => ExtractionSchema::from_json(&Json::Object(input::object(context, path)?)),
            (None, example) => {
                let id = example.as_deref().unwrap_or_default();
                let known = SCHEMA_EXAMPLES.iter().find(|example| example.id == id);
                let known = known.ok_or_else(|| {
                    let ids: Vec<&str> = SCHEMA_EXAMPLES.iter().map(|example| example.id).collect();
                    CliError::usage(format!("there is no example '{id}'; there are {}", ids.join(", ")))
                })?;
                ExtractionSchema::parse(known.schema.as_bytes())
            }
        };
        parsed.map_err(|faults| AdminError::Invalid(faults).into())
    }

    /// The guidance for a model.
    fn instructions(&self) -> Result<Option<Block<4_000>>, CliError> {
        let Some(given) = &self.instructions else { return Ok(None) };
        let text = match given.strip_prefix('@') {
            Some(file) => std::fs::read_to_string(file)
                .map_err(|error| CliError::new(format!("cannot read {file}: {error}")))?,
            None => given.clone(),
        };
        let text = text.trim_end().parse::<Block<4_000>>();
        text.map(Some).map_err(|error| CliError::usage(format!("--instructions {error}")))
    }

    fn facts(&self, bytes: &[u8], document: &Document, language: Option<&str>) -> DocumentFacts {
        let name = self.file.file_name().map(|name| name.to_string_lossy().into_owned());
        DocumentFacts {
            file_name: name.unwrap_or_default(),
            content_type: Kind::of(bytes).map_or("application/octet-stream", Kind::media_type).to_owned(),
            file_size: bytes.len() as u64,
            sha256: Sha256Digest(Sha256::digest(bytes).into()).to_string(),
            page_count: document.page_count,
            character_count: document.characters(),
            ocr_applied: document.pages.iter().any(|page| page.source == PageSource::Ocr),
            language: language.map(str::to_owned),
            stored: false,
            file_id: None,
        }
    }
}

/// The result of a model within the remaining time, or of the built-in engine if the model fails and the fallback is
/// on: the model then has three quarters of the time, as in the server.
async fn asked(
    context: &CommandContext,
    model: &ModelEngine,
    document: &Arc<Document>,
    wanted: &Arc<Wanted>,
    left: Duration,
    fallback: bool,
) -> Result<Found, CliError> {
    context.info(&format!("asking {}", model.name()));
    let instructions = wanted.instructions.as_ref().map(Block::as_str);
    let timeout = if fallback { left * 3 / 4 } else { left };
    let answer = model.extract(document, &document.images, &wanted.schema, instructions, timeout).await;
    match answer {
        Ok(answer) => Ok(Found {
            findings: answer.findings,
            warnings: answer.warnings,
            language: answer.language,
            engine: model.name().to_owned(),
        }),
        Err(error) if fallback => {
            context.info(&format!("{}: {error}; the built-in engine takes over", model.name()));
            found(context, document, wanted).await
        }
        Err(error) => Err(CliError::new(format!("{}: {error}", model.name()))),
    }
}

/// The result of the built-in engine, on a separate thread so that it can time out.
async fn found(
    context: &CommandContext,
    document: &Arc<Document>,
    wanted: &Arc<Wanted>,
) -> Result<Found, CliError> {
    if wanted.instructions.is_some() {
        context.info("the built-in engine does not read --instructions");
    }
    let (document, wanted) = (Arc::clone(document), Arc::clone(wanted));
    let work = tokio::task::spawn_blocking(move || builtin::extract(&document, &wanted.schema));
    // The message of a panic may contain text of the document.
    let answer = work.await.map_err(|_| CliError::new("the built-in engine failed; a panic says where"))?;
    Ok(Found {
        findings: answer.findings,
        warnings: answer.warnings,
        language: answer.language,
        engine: builtin::NAME.to_owned(),
    })
}

/// A row for each value, and one for each field without a value.
fn rows(extraction: &Extraction) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, value) in extraction.data.iter() {
        let within = |path: &str| {
            path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let found: Vec<_> = extraction.fields.iter().filter(|(path, ..)| within(path)).collect();
        if found.is_empty() {
            let value = if *value == Json::Null { String::new() } else { value.to_text() };
            rows.push(Row { field: name.to_owned(), value, confidence: 0.0, source: NO_SOURCE.to_owned() });
        }
        for (path, confidence, evidence) in found {
            let page = evidence.page.map_or_else(String::new, |page| format!("page {page}: "));
            let value = at(value, &path[name.len()..]).map(shown).unwrap_or_default();
            let source = format!("{page}{}", evidence.source_text);
            rows.push(Row { field: path.clone(), value, confidence: confidence.share(), source });
        }
    }
    rows
}

/// The value at a path such as `[0].amount`.
fn at<'v>(value: &'v Json, path: &str) -> Option<&'v Json> {
    if path.is_empty() {
        return Some(value);
    }
    match value {
        Json::Array(items) => {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            at(items.get(index.parse::<usize>().ok()?)?, rest)
        }
        Json::Object(members) => {
            let path = path.strip_prefix('.').unwrap_or(path);
            let mut names = members.iter().filter(|(name, _)| path.starts_with(*name));
            names.find_map(|(name, value)| at(value, &path[name.len()..]))
        }
        _ => None,
    }
}

fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_text(),
    }
}
