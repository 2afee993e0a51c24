//! Measures extraction on labelled documents.
//!
//! `cargo run -p extraction --release --example evaluate -- FOLDER [options]`, where FOLDER holds `manifest.jsonl`: JSON
//! lines of `id`, `set`, `media_type`, `file`, `schema` (a list of `name`, `type`, `description`, `items`,
//! `properties`) and `expected` (a value for each name, `null` where the document has none, `{"any": […]}` where
//! several are right).

#![expect(
    clippy::disallowed_methods,
    reason = "a measuring program looks at the clock and reads its arguments"
)]

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

use extraction::document::ocr::Tesseract;
use extraction::document::{Document, Limits, read_with};
use extraction::engine::builtin::confidence::Features;
use serde_json::{Map, Value, json};

use manifest::{Entry, Part};
use report::Times;
use require::Requirement;

const USAGE: &str = "\
Usage: evaluate FOLDER [options]
  --set PREFIX          only sets whose name begins so
  --part PART           tuning (two thirds of the documents), final (the others) or all (default)
  --predictions FILE    write what was found, as JSON lines
  --documents FOLDER    keep the text of documents there and read it from there: recognition is slow
  --errors N            show the first N fields that are wrong
  --fields              show a line for each set and field
  --require FIGURE      end with status 1 unless the figure is so: all>=0.9, macro, absent, ece<=0.06, auroc, precision,
                        coverage (of confidence 0.8), set:NAME and type:NAME (F1); repeatable
  --text ID             show the text of one document and what was found in it
  --fit                 fit the weights of confidence on what was found, and print them
  --also FOLDER         a further folder of documents, with --fit
  --llm-url URL         use a model at this endpoint of the chat-completions protocol instead of the built-in engine
  --llm-model NAME      the model's name at the endpoint
  --llm-key-env VAR     environment variable with the endpoint's API key
  --llm-timeout S       timeout of one document in seconds, 120 by default";

struct Options {
    folder: PathBuf,
    set: String,
    part: Part,
    predictions: Option<PathBuf>,
    documents: Option<PathBuf>,
    errors: usize,
    fields: bool,
    require: Vec<Requirement>,
    text: Option<String>,
    fit: bool,
    also: Vec<PathBuf>,
    asked: asked::Options,
}

fn options() -> Option<Options> {
    let mut words = std::env::args().skip(1);
    let mut options = Options {
        folder: PathBuf::new(),
        set: String::new(),
        part: Part::All,
        predictions: None,
        documents: None,
        errors: 0,
        fields: false,
        require: Vec::new(),
        text: None,
        fit: false,
        also: Vec::new(),
        asked: asked::Options::default(),
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--set" => options.set = words.next()?,
            "--part" => options.part = Part::parse(&words.next()?)?,
            "--predictions" => options.predictions = Some(words.next()?.into()),
            "--documents" => options.documents = Some(words.next()?.into()),
            "--errors" => options.errors = words.next()?.parse().ok()?,
            "--fields" => options.fields = true,
            "--require" => options.require.push(Requirement::parse(&words.next()?)?),
            "--text" => options.text = Some(words.next()?),
            "--fit" => options.fit = true,
            "--also" => options.also.push(words.next()?.into()),
            "--llm-url" => options.asked.endpoint = Some(words.next()?),
            "--llm-model" => options.asked.model = Some(words.next()?),
            "--llm-key-env" => options.asked.key_variable = Some(words.next()?),
            "--llm-timeout" => options.asked.timeout = Duration::from_secs(words.next()?.parse().ok()?),
            folder if !folder.starts_with("--") && options.folder.as_os_str().is_empty() => {
                options.folder = folder.into();
            }
            _ => return None,
        }
    }
    (!options.folder.as_os_str().is_empty()).then_some(options)
}

fn main() {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    if let Err(error) = run(&options) {
        eprintln!("{error}");
        std::process::exit(1);
    }
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
            samples.push(fit::Sample { features, right, document: nth });
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
    let ocr = Tesseract::default();
    let document = match read_with(&bytes, &Limits::default(), Some(&ocr)) {
        Ok(document) => document,
        Err(error) => return Ok(Err(error.to_string())),
    };
    if let Some(cached) = cached {
        std::fs::create_dir_all(cached.parent().unwrap_or(Path::new(".")))?;
        std::fs::write(cached, serde_json::to_vec(&document)?)?;
    }
    Ok(Ok(document))
}
