//! Reading documents: the worker, OCR, the engines, and whether the processes that read are confined.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use extraction::document::ocr::{Tesseract, TesseractError};
use extraction::engine::model::{ModelConfig, ModelEngine};
use extraction::worker::{Reader, Worker, WorkerError};
use extraction::{Extractor, Models};
use openapi_core::extraction::{DocumentExtractor, NoExtractor};
use recognition::{Letters, Weights};

use crate::config::extraction::{Engine, EngineChoice, Engines};
use crate::error::CliError;

/// The networks that read images in the worker of this program.
pub const NETWORKS: Weights = Weights {
    detector: recognition_weights::DETECTOR,
    recogniser: recognition_weights::RECOGNISER,
    characters: recognition_weights::CHARACTERS,
};

/// What an operator can do where the system does not confine the processes that read documents.
pub const UNCONFINED_HINT: &str = "run on Linux 5.13 or newer with landlock and seccomp, and let the container's runtime \
                                   permit both; or, if you trust every document, set allow_unconfined_documents";

/// Whether the processes that read documents are confined, as the start of the server found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentSandbox {
    /// No documents are read.
    Off,
    /// All of it is in force.
    Enforced,
    /// Something is missing. Documents are read only if the operator has allowed that.
    Missing {
        /// Which process lacks what.
        what: String,
        /// Whether `allow_unconfined_documents` is set.
        is_allowed: bool,
    },
}

impl DocumentSandbox {
    /// Whether no document is read outside a sandbox.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        !matches!(self, DocumentSandbox::Missing { .. })
    }

    /// Asks the worker, and adds what is said of the OCR engine.
    async fn of(worker: &Worker, ocr: Option<String>, is_allowed: bool) -> Self {
        let missing = match worker.sandbox().await {
            Ok(sandbox) if sandbox.is_complete() => ocr,
            Ok(sandbox) => Some(WorkerError::Unconfined(sandbox).to_string()),
            Err(error) => Some(error.to_string()),
        };
        missing.map_or(DocumentSandbox::Enforced, |what| DocumentSandbox::Missing { what, is_allowed })
    }

    fn log(&self) {
        match self {
            DocumentSandbox::Missing { what, is_allowed: false } => {
                tracing::error!(reason = %what, "documents are refused: {UNCONFINED_HINT}");
            }
            DocumentSandbox::Missing { what, is_allowed: true } => {
                tracing::warn!(reason = %what, "documents are read without a sandbox, as allow_unconfined_documents says");
            }
            DocumentSandbox::Off | DocumentSandbox::Enforced => {}
        }
    }
}

impl fmt::Display for DocumentSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocumentSandbox::Off => f.write_str("documents: off"),
            DocumentSandbox::Enforced => f.write_str("documents: confined"),
            DocumentSandbox::Missing { what, is_allowed: true } => {
                write!(f, "documents: read without a sandbox, as allow_unconfined_documents says: {what}")
            }
            DocumentSandbox::Missing { what, is_allowed: false } => write!(f, "documents: refused: {what}"),
        }
    }
}

/// A worker of this program within its limit of memory: the allocator reserves address space ahead, by itself more at
/// once than a worker may have in all, and what is reserved before the limit is set would be free of it.
#[must_use]
pub fn confined(worker: Worker) -> Worker {
    worker.with_variable("MIMALLOC_ARENA_RESERVE", "32MiB")
}

/// The worker of this program, which reads images in these languages.
///
/// # Errors
/// When the system does not say which program this is.
pub fn worker(allow_unconfined: bool, languages: &[String]) -> Result<Worker, CliError> {
    Ok(confined(Worker::own()?).allow_unconfined(allow_unconfined).with_networks(languages))
}

/// OCR in these languages, confined by a worker's program.
#[must_use]
pub fn tesseract(worker: &Worker, languages: &[String]) -> Tesseract {
    let names: Vec<&str> = languages.iter().map(String::as_str).collect();
    worker.confine(Tesseract::new("tesseract", &names))
}

/// The error of a worker, and what an operator can do.
#[must_use]
pub fn not_read(error: &WorkerError) -> String {
    match error {
        WorkerError::Unconfined(_) => format!("{error}; {UNCONFINED_HINT}"),
        _ => error.to_string(),
    }
}

/// What reads documents, and whether it is confined. Logs what it cannot do.
///
/// # Errors
/// When the system does not say which program this is, because documents are read in a process of its own; or when the
/// client of a model's endpoint cannot be made.
pub async fn extractor(
    choice: &EngineChoice,
) -> Result<(Arc<dyn DocumentExtractor>, DocumentSandbox), CliError> {
    let engines = match choice {
        EngineChoice::Off => return Ok((Arc::new(NoExtractor), DocumentSandbox::Off)),
        EngineChoice::On(engines) => engines,
    };
    let worker = worker(engines.allow_unconfined, &engines.languages)?;
    let tesseract = tesseract(&worker, &engines.languages);
    let mut extractor = Extractor::new(Reader::Worker(worker.clone())).with_models(models(engines)?);
    let mut missing = None;
    match tesseract.check() {
        Ok(()) => extractor = extractor.with_ocr(Arc::new(tesseract)),
        Err(error @ TesseractError::Unconfined(_)) => missing = Some(error.to_string()),
        Err(error) if Letters::of(&engines.languages).is_some() => tracing::info!(
            languages = engines.languages.join("+"),
            "{error}: the built-in recogniser reads images and scanned pages"
        ),
        Err(error) => tracing::warn!(
            languages = engines.languages.join("+"),
            "{error}, and the built-in recogniser does not know all of the languages: images and scanned pages have no \
             text; install tesseract-ocr and a package such as \
             tesseract-ocr-eng for each language, and start again"
        ),
    }
    let sandbox = DocumentSandbox::of(&worker, missing, engines.allow_unconfined).await;
    sandbox.log();
    Ok((Arc::new(extractor), sandbox))
}

/// The models that are asked, and for whom.
fn models(engines: &Engines) -> Result<Models, CliError> {
    let mut made: BTreeMap<&str, Arc<ModelEngine>> = BTreeMap::new();
    for engine in engines.of_agents.values().chain([&engines.of_all]) {
        if let Engine::Model(name) = engine
            && !made.contains_key(name.as_str())
        {
            made.insert(name, Arc::new(model(engines, name)?));
        }
    }
    let chosen = |engine: &Engine| match engine {
        Engine::Builtin => None,
        Engine::Model(name) => made.get(name.as_str()).cloned(),
    };
    Ok(Models {
        of_all: chosen(&engines.of_all),
        of_agents: engines.of_agents.iter().map(|(agent, engine)| (agent.clone(), chosen(engine))).collect(),
        fallback: engines.fallback,
    })
}

/// The model of this name.
///
/// # Errors
/// When there is none, or its client cannot be made.
pub fn model(engines: &Engines, name: &str) -> Result<ModelEngine, CliError> {
    let config = engines.models.get(name);
    let config = config.ok_or_else(|| CliError::new(format!("there is no LLM endpoint '{name}'")))?;
    ModelEngine::new(ModelConfig::new(config.clone()))
        .map_err(|error| CliError::new(format!("llm.{name}: {error}")))
}
