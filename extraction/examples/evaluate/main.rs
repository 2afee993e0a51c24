//! Measures extraction on labelled documents.
//!
//! `cargo run -p extraction --release --example evaluate -- FOLDER`, with options that `--help` lists, where FOLDER holds `manifest.jsonl`: JSON
//! lines of `id`, `set`, `media_type`, `file`, `schema` (a list of `name`, `type`, `description`, `items`,
//! `properties`) and `expected` (a value for each name, `null` where the document has none, `{"any": […]}` where
//! several are right).

#![expect(clippy::disallowed_methods, reason = "a measuring program looks at the clock")]

mod asked;
mod calibration;
mod compare;
mod fit;
mod machine;
mod manifest;
mod report;
mod require;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser as _;
use extraction::document::ocr::{Networks, OcrEngine, Tesseract, WithNetworks};
use extraction::document::{Document, Limits, read_with};
use extraction::engine::builtin::confidence::Features;
use recognition::{Letters, Threads, Weights};
use serde_json::{Map, Value, json};

use manifest::{Entry, Part};
use report::Times;
use require::Requirement;

#[derive(clap::Parser)]
#[command(name = "evaluate", about = "Measures extraction on labelled documents")]
struct Options {
    /// Folder that holds manifest.jsonl
    folder: PathBuf,
    /// Only sets whose name begins so
    #[arg(long, value_name = "PREFIX", default_value = "")]
    set: String,
    #[arg(long, value_enum, default_value_t = Part::All)]
    part: Part,
    /// Write what was found, as JSON lines
    #[arg(long, value_name = "FILE")]
    predictions: Option<PathBuf>,
    /// Keep the text of documents there and read it from there: OCR is slow
    #[arg(long, value_name = "FOLDER")]
    documents: Option<PathBuf>,
    /// Show the first N fields that are wrong
    #[arg(long, value_name = "N", default_value_t = 0)]
    errors: usize,
    /// Show a line for each set and field
    #[arg(long)]
    fields: bool,
    /// End with status 1 unless the figure is so: all>=0.9, macro, absent, ece<=0.06, auroc, precision, coverage (of
    /// confidence 0.8), set:NAME and type:NAME (F1); repeatable
    #[arg(long, value_name = "FIGURE", value_parser = Requirement::parse)]
    require: Vec<Requirement>,
    /// Show the text of one document and what was found in it
    #[arg(long, value_name = "ID")]
    text: Option<String>,
    /// Fit the weights of confidence on what was found, and print them
    #[arg(long)]
    fit: bool,
    /// Write what confidence is fitted on, as JSON lines: the document, the kind, whether it is right, the features
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// A further folder of documents, with --fit; repeatable
    #[arg(long, value_name = "FOLDER")]
    also: Vec<PathBuf>,
    #[command(flatten)]
    asked: asked::ModelOptions,
    /// What recognises images
    #[arg(long, value_enum, default_value_t = Recognition::Both)]
    ocr: Recognition,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Recognition {
    /// `tesseract`, and the built-in recogniser where it is unsure
    Both,
    Tesseract,
    /// The built-in recogniser
    Builtin,
}

impl Recognition {
    fn engine(self) -> Box<dyn OcrEngine> {
        let networks = || {
            let weights = Weights {
                detector: recognition_weights::DETECTOR,
                recogniser: recognition_weights::RECOGNISER,
                characters: recognition_weights::CHARACTERS,
            };
            // Figures do not depend on what else the machine does.
            Networks::new(weights, Threads::start(), Letters::of(&["eng"]).expect("a known language"))
                .with_time(Duration::from_secs(600))
        };
        match self {
            Self::Both => Box::new(WithNetworks::new(Tesseract::default(), networks())),
            Self::Tesseract => Box::new(Tesseract::default()),
            Self::Builtin => Box::new(networks()),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(&Options::parse())
}

/// What was found in one document.
struct Found {
    fields: Map<String, Value>,
    /// What is known about the values of each field.
    features: Vec<(usize, Vec<Features>)>,
    error: Option<String>,
    reading: Duration,
    extracting: Duration,
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    let mut entries = manifest::read(&options.folder)?;
    for folder in &options.also {
        entries.extend(manifest::read(folder)?);
    }
    let entries: Vec<Entry> = entries
        .into_iter()
        .filter(|entry| entry.set.starts_with(&options.set) && options.part.has(&entry.id))
        .filter(|entry| options.text.as_ref().is_none_or(|id| *id == entry.id))
        .collect();
    let engine = asked::Engine::of(&options.asked)?;
    let mut report = report::Report::new(options.errors);
    let mut predictions = options.predictions.as_ref().map(std::fs::File::create).transpose()?;
    let mut written = options.samples.as_ref().map(std::fs::File::create).transpose()?;
    let mut samples = Vec::new();
    let started = Instant::now();
    let mut shown = Instant::now();
    for (nth, entry) in entries.iter().enumerate() {
        if shown.elapsed() > Duration::from_secs(2) {
            eprint!("\r{nth} of {} documents, {:.0} s ", entries.len(), started.elapsed().as_secs_f64());
            shown = Instant::now();
        }
        let before = machine::processor_time();
        let found = find(options, entry, &engine)?;
        let processor = before.and_then(|before| machine::processor_time()?.checked_sub(before));
        if let Some(file) = &mut predictions {
            let mut line =
                json!({ "id": entry.id, "fields": found.fields, "ms": found.extracting.as_secs_f64() * 1e3 });
            if let Some(error) = &found.error {
                line["error"] = error.as_str().into();
            }
            writeln!(file, "{line}")?;
        }
        if options.text.is_some() {
            for field in &entry.schema {
                println!(
                    "{}: {} expected {}",
                    field.name,
                    found.fields.get(&field.name).unwrap_or(&Value::Null),
                    entry.expected.get(&field.name).unwrap_or(&Value::Null)
                );
            }
        }
        for (field, features) in found.features {
            let field = &entry.schema[field];
            let (Some(gold), Some(value)) = (entry.expected.get(&field.name), found.fields.get(&field.name))
            else {
                continue;
            };
            let counts = compare::compare(field, gold, &value["value"]);
            let nested = matches!(field.kind.as_str(), "array" | "object");
            let right = counts.wrong == 0 && counts.missed == 0 || nested && counts.f1() >= 0.9;
            if let Some(file) = &mut written {
                let rows: Vec<&[f64]> = features.iter().map(|features| &features.0[..]).collect();
                let line = json!({ "id": entry.id, "set": entry.set, "field": field.name, "type": field.kind,
                    "right": right, "confidence": value["confidence"], "features": rows });
                writeln!(file, "{line}")?;
            }
            samples.push(fit::Sample { features, right, kind: fit::kind_of(&entry.set) });
        }
        let times = Times { reading: found.reading, extracting: found.extracting, processor };
        report.add(entry, &found.fields, found.error.is_some(), &times);
    }
    eprintln!("\r{} documents, {:.1} s          ", entries.len(), started.elapsed().as_secs_f64());
    report.print(options.fields);
    if options.fit {
        fit::run(&samples);
    }
    Ok(require::check(&report, &options.require)?)
}

fn find(
    options: &Options,
    entry: &Entry,
    engine: &asked::Engine,
) -> Result<Found, Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let document = match document(options, entry)? {
        Ok(document) => document,
        Err(error) => {
            return Ok(Found {
                fields: Map::new(),
                features: Vec::new(),
                error: Some(error),
                reading: begun.elapsed(),
                extracting: Duration::ZERO,
            });
        }
    };
    let reading = begun.elapsed();
    if options.text.is_some() {
        for page in &document.pages {
            for line in &page.lines {
                let words: Vec<String> = line
                    .words
                    .iter()
                    .map(|word| format!("{}{}", " ".repeat(usize::from(word.gap)), word.text))
                    .collect();
                println!("{:3}|{}", line.block, words.concat());
            }
        }
    }
    let begun = Instant::now();
    let answer = match engine.extract(&document, &entry.compiled) {
        Ok(answer) => answer,
        Err(error) => {
            return Ok(Found {
                fields: Map::new(),
                features: Vec::new(),
                error: Some(error),
                reading,
                extracting: begun.elapsed(),
            });
        }
    };
    let mut features: Vec<(usize, Vec<Features>)> = Vec::new();
    for (field, known) in answer.features {
        match features.last_mut() {
            Some((last, all)) if *last == field => all.push(known),
            _ => features.push((field, vec![known])),
        }
    }
    let extraction =
        openapi_core::extraction::Extraction::of(&entry.compiled, answer.findings, &answer.warnings);
    let extracting = begun.elapsed();
    let confidences: BTreeMap<&str, f64> = extraction
        .field_confidences
        .iter()
        .map(|(name, confidence)| (name.as_str(), confidence.share()))
        .collect();
    let data: Value =
        serde_json::from_str(&openapi_core::json::Json::Object(extraction.data.clone()).to_text())?;
    let mut fields = Map::new();
    for (name, value) in data.as_object().into_iter().flatten() {
        if !value.is_null() {
            fields.insert(name.clone(), json!({ "value": value, "confidence": confidences[name.as_str()] }));
        }
    }
    Ok(Found { fields, features, error: None, reading, extracting })
}

/// The text of a document: read, or as it was read before.
fn document(
    options: &Options,
    entry: &Entry,
) -> Result<Result<Document, String>, Box<dyn std::error::Error>> {
    let cached =
        options.documents.as_ref().map(|folder| folder.join(format!("{}.json", entry.id.replace('/', "_"))));
    if let Some(cached) = cached.as_deref().filter(|cached| Path::exists(cached)) {
        return Ok(Ok(serde_json::from_slice(&std::fs::read(cached)?)?));
    }
    let bytes = std::fs::read(entry.folder.join(&entry.file))?;
    let ocr = options.ocr.engine();
    let document = match read_with(&bytes, &Limits::default(), Some(ocr.as_ref())) {
        Ok(document) => document,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if let Some(cached) = cached {
        std::fs::create_dir_all(cached.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(cached, serde_json::to_vec(&document)?)?;
    }
    Ok(Ok(document))
}
