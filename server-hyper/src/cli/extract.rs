//! `extract`: the fields of a schema from a local document.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use extraction::document::recognition::{Recognise, Tesseract};
use extraction::document::{Document, Kind, Limits, PageSource};
use extraction::engine::builtin;
use extraction::worker::{Reader, Worker};
use openapi_core::admin::AdminError;
use openapi_core::extraction::{
    DocumentFacts, Extraction, ExtractionMetadata, ExtractionSchema, SCHEMA_EXAMPLES, Usage,
};
use openapi_core::files::Sha256Digest;
use openapi_core::json::Json;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::output::{note, print_json, print_table};
use super::{input, on_runtime};
use crate::config::flags::EveryFlags;
use crate::failure::Failure;
use crate::ports::monotonic;

/// Examples of `extract`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server extract invoice.txt --example invoice\n  \
    openapi-server extract invoice.txt --schema fields.json --json\n\n\
    Reads PDF, DOCX, plain text, JPEG, PNG, TIFF, WebP, BMP and GIF; nothing leaves this machine, and no store or server \
    is needed. Pictures and scanned pages need `tesseract` (Debian: tesseract-ocr, and a package for each language). The \
    document is read in a process of its own that can reach neither files nor the network.\n\n\
    A schema is a JSON object with a definition for each field, such as\n  \
    { \"total\": { \"type\": \"number\", \"description\": \"Amount payable\", \"required\": true } }";

/// Where on a page nothing can be told.
const NOWHERE: &str = "";

#[derive(Debug, Args)]
pub struct Extract {
    /// The document
    file: PathBuf,
    /// The schema: a file, - for standard input
    #[arg(long, value_name = "FILE", required_unless_present = "example", conflicts_with = "example")]
    schema: Option<PathBuf>,
    /// One of the schemas to begin with: medical, invoice, resume, receipt, identity_document, contract,
    /// purchase_order
    #[arg(long, value_name = "ID")]
    example: Option<String>,
    /// Languages of the text in pictures, as tesseract names them
    #[arg(long, value_name = "LANGUAGE", value_delimiter = ',', default_value = "eng")]
    languages: Vec<String>,
}

/// A value as the table shows it.
#[derive(Serialize)]
struct Row {
    field: String,
    value: String,
    confidence: f64,
    place: String,
}

impl Extract {
    pub fn run(self, every: &EveryFlags) -> Result<(), Failure> {
        let begun = monotonic();
        let schema = self.schema()?;
        let limits = Limits::default();
        let failed =
            |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", self.file.display()));
        if std::fs::metadata(&self.file).map_err(failed)?.len() > limits.bytes {
            return Err(Failure::new(format!("the document has more than {} bytes", limits.bytes)));
        }
        let octets: Arc<[u8]> = std::fs::read(&self.file).map_err(failed)?.into();
        let languages: Vec<&str> = self.languages.iter().map(String::as_str).collect();
        let recognise: Arc<dyn Recognise> = Arc::new(Tesseract::new("tesseract", &languages));
        let reader = Reader::Worker(Worker::own()?);
        let document = on_runtime(async {
            let read = reader.read(Arc::clone(&octets), limits, Some(recognise)).await;
            read.map_err(|error| Failure::new(format!("{}: {error}", self.file.display())))
        })?;
        let answer = builtin::extract(&document, &schema);
        let extraction = Extraction::of(&schema, answer.findings, &answer.warnings);
        let metadata = ExtractionMetadata {
            processing_time: begun.elapsed().as_millis() as u64,
            document: self.facts(&octets, &document, answer.language),
            usage: Usage::default(),
            engine: builtin::NAME.to_owned(),
        };
        if every.json {
            let (data, metadata) = (Json::Object(extraction.data.clone()), extraction.with(&metadata));
            return print_json(&json!({ "data": data, "metadata": metadata }));
        }
        for notice in extraction.validation.warnings.iter().chain(&extraction.validation.errors) {
            note(&notice.message);
        }
        print_table(false, &rows(&extraction), &["field", "value", "confidence", "where"], |row| {
            vec![row.field.clone(), row.value.clone(), format!("{:.2}", row.confidence), row.place.clone()]
        })
    }

    fn schema(&self) -> Result<ExtractionSchema, Failure> {
        let parsed = match (&self.schema, &self.example) {
            (Some(path), _) => ExtractionSchema::from_json(&Json::Object(input::object(path)?)),
            (None, example) => {
                let id = example.as_deref().unwrap_or_default();
                let known = SCHEMA_EXAMPLES.iter().find(|example| example.id == id);
                let known = known.ok_or_else(|| {
                    let ids: Vec<&str> = SCHEMA_EXAMPLES.iter().map(|example| example.id).collect();
                    Failure::usage(format!("there is no example '{id}'; there are {}", ids.join(", ")))
                })?;
                ExtractionSchema::parse(known.schema.as_bytes())
            }
        };
        parsed.map_err(|faults| AdminError::Invalid(faults).into())
    }

    fn facts(&self, octets: &[u8], document: &Document, language: Option<&str>) -> DocumentFacts {
        let name = self.file.file_name().map(|name| name.to_string_lossy().into_owned());
        DocumentFacts {
            file_name: name.unwrap_or_default(),
            content_type: Kind::of(octets).map_or("application/octet-stream", Kind::media_type).to_owned(),
            file_size: octets.len() as u64,
            sha256: Sha256Digest(Sha256::digest(octets).into()).to_string(),
            page_count: document.page_count,
            character_count: document.characters(),
            ocr_applied: document.pages.iter().any(|page| page.source == PageSource::Recognised),
            language: language.map(str::to_owned),
            stored: false,
            file_id: None,
        }
    }
}

/// A row for each value that was found, and one for each field without any.
fn rows(extraction: &Extraction) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, value) in extraction.data.iter() {
        let within = |path: &str| {
            path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let found: Vec<_> = extraction.fields.iter().filter(|(path, ..)| within(path)).collect();
        if found.is_empty() {
            let value = if *value == Json::Null { String::new() } else { value.to_text() };
            rows.push(Row { field: name.to_owned(), value, confidence: 0.0, place: NOWHERE.to_owned() });
        }
        for (path, confidence, evidence) in found {
            let page = evidence.page.map_or_else(String::new, |page| format!("page {page}: "));
            let value = at(value, &path[name.len()..]).map(shown).unwrap_or_default();
            let place = format!("{page}{}", evidence.source_text);
            rows.push(Row { field: path.clone(), value, confidence: confidence.share(), place });
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
