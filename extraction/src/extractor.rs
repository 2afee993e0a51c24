//! Implements the extraction port of the Open API with a [`Reader`] and an engine.

#[cfg(feature = "model")]
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use openapi_core::extraction::{
    DocumentExtractor, DocumentLimits, DocumentText, DocumentUnit, ExtractError, ExtractionTask, Findings,
    OpenDocument, SentDocument, UnsupportedDocument,
};
use openapi_core::files::Inspector;
#[cfg(feature = "model")]
use openapi_core::values::AgentId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::document::ocr::OcrEngine;
use crate::document::{
    Document, Kind, Limits, PageSource, ReadError, Unit, is_encrypted_office, refused_text,
};
use crate::engine::builtin;
#[cfg(feature = "model")]
use crate::engine::model::ModelEngine;
use crate::worker::{Reader, WorkerError};

/// The number of documents that may wait for each one in progress. The extractor rejects further ones as busy.
const WAITING: usize = 16;

/// Reads documents with a [`Reader`] and answers with the built-in engine, or by a model where one was given.
///
/// One document for each core is processed at a time; some more wait for their turn, up to their timeout
/// and further ones fail with [`Unavailable`](ExtractError::Unavailable) at once.
///
/// A panic of an engine is [`BadAnswer`](ExtractError::BadAnswer), which holds nothing of the document. Its words may
/// hold a part of it, and go to the panic hook of the process, whose default prints them: a host of others' documents
/// sets one that says only where it was.
///
/// ```
/// std::panic::set_hook(Box::new(|panic| eprintln!("a panic at {:?}", panic.location())));
/// ```
pub struct Extractor {
    reader: Reader,
    ocr: Option<Arc<dyn OcrEngine>>,
    /// Bytes of images of pages that the model may want to see.
    image_bytes: u64,
    #[cfg(feature = "model")]
    models: Arc<Models>,
    work: Arc<Semaphore>,
    queue: Arc<Semaphore>,
}

/// Which model extracts from the documents of which tenant; by default none does.
#[cfg(feature = "model")]
#[derive(Clone, Default)]
pub struct Models {
    /// The model for the agents that are not in `of_agents`; none for the built-in engine.
    pub of_all: Option<Arc<ModelEngine>>,
    /// The model for each of these agents; none for the built-in engine.
    pub of_agents: BTreeMap<AgentId, Option<Arc<ModelEngine>>>,
    /// Whether the built-in engine answers where a model gives no answer. The model then has three quarters of the
    /// time.
    pub fallback: bool,
}

impl Extractor {
    /// An extractor without OCR: images and scanned pages have no text.
    #[must_use]
    pub fn new(reader: Reader) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Extractor {
            reader,
            ocr: None,
            image_bytes: 0,
            #[cfg(feature = "model")]
            models: Arc::default(),
            work: semaphore(cores),
            queue: semaphore(cores * (WAITING + 1)),
        }
    }

    /// Adds models.
    #[cfg(feature = "model")]
    #[must_use]
    pub fn with_models(mut self, models: Models) -> Self {
        let all = models.of_agents.values().chain([&models.of_all]).flatten();
        // Whose document it is is not known when it is read.
        self.image_bytes = all.map(|model| model.max_image_bytes() as u64).max().unwrap_or(0);
        self.models = Arc::new(models);
        self
    }

    /// Adds OCR for images and scanned pages.
    #[must_use]
    pub fn with_ocr(mut self, ocr: Arc<dyn OcrEngine>) -> Self {
        self.ocr = Some(ocr);
        self
    }

    /// The number of documents that are processed at a time, at least 1.
    #[must_use]
    pub fn with_parallelism(mut self, documents: usize) -> Self {
        let documents = documents.max(1);
        self.work = semaphore(documents);
        self.queue = semaphore(documents * (WAITING + 1));
        self
    }
}

fn semaphore(permits: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(permits))
}

/// A permit to wait and, later, one to work, both held while the document is open.
struct Turn {
    _waiting: OwnedSemaphorePermit,
    working: Option<OwnedSemaphorePermit>,
    work: Arc<Semaphore>,
}

impl Turn {
    /// Waits for a permit to work, unless it has one.
    async fn work(&mut self) -> Result<(), ExtractError> {
        if self.working.is_none() {
            let position = Arc::clone(&self.work).acquire_owned().await;
            self.working = Some(position.map_err(|_| overloaded())?);
        }
        Ok(())
    }
}

fn overloaded() -> ExtractError {
    ExtractError::Unavailable {
        reason: "too many documents are waiting".to_owned(),
        retry_after: Some(Duration::from_secs(5)),
    }
}

impl Extractor {
    async fn turn(&self) -> Result<Turn, ExtractError> {
        let waiting = Arc::clone(&self.queue).try_acquire_owned().map_err(|_| overloaded())?;
        let mut turn = Turn { _waiting: waiting, working: None, work: Arc::clone(&self.work) };
        turn.work().await?;
        Ok(turn)
    }
}

#[async_trait]
impl DocumentExtractor for Extractor {
    fn detect(&self, document: &SentDocument) -> Result<&'static str, UnsupportedDocument> {
        let content = &document.content;
        match Kind::of(content) {
            Some(kind) => Ok(kind.media_type()),
            // The reader reports the error.
            None if is_encrypted_office(content) => Ok("application/x-ole-storage"),
            None => Err(unsupported(document)),
        }
    }

    async fn open(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        timeout: Duration,
    ) -> Result<Box<dyn OpenDocument>, ExtractError> {
        let DocumentLimits { pages, characters, pixels } = limits;
        // The receiver of the document has checked its size.
        let limits = Limits {
            bytes: u64::MAX,
            pages,
            characters,
            pixels,
            images: self.image_bytes,
            ..Limits::default()
        };
        let read = async {
            let turn = self.turn().await?;
            let bytes: Arc<[u8]> = document.content.as_ref().into();
            let read = self.reader.read(bytes, limits, self.ocr.clone()).await;
            read.map(|document| (turn, document)).map_err(not_read)
        };
        let (turn, document) =
            tokio::time::timeout(timeout, read).await.map_err(|_| ExtractError::TimedOut)??;
        Ok(Box::new(Opened {
            document: Arc::new(document),
            turn,
            #[cfg(feature = "model")]
            models: Arc::clone(&self.models),
        }))
    }
}

/// A document that was read.
struct Opened {
    document: Arc<Document>,
    turn: Turn,
    #[cfg(feature = "model")]
    models: Arc<Models>,
}

#[async_trait]
impl OpenDocument for Opened {
    fn text(&self) -> DocumentText {
        let document = &self.document;
        DocumentText {
            page_count: document.page_count,
            character_count: document.characters(),
            ocr_applied: document.pages.iter().any(|page| page.source == PageSource::Ocr),
        }
    }

    async fn extract(self: Box<Self>, task: ExtractionTask) -> Result<Findings, ExtractError> {
        let until = Instant::now() + task.timeout;
        #[cfg(feature = "model")]
        let Opened { document, mut turn, models } = *self;
        #[cfg(not(feature = "model"))]
        let Opened { document, turn } = *self;
        #[cfg(feature = "model")]
        if let Some(model) = models.of(&task.agent) {
            // Waiting for a model occupies no worker.
            turn.working = None;
            match models.ask(model, &document, &task).await {
                Err(error) if models.fallback => {
                    tracing::warn!(model = model.name(), %error, "the model gave no answer; the built-in engine answers");
                }
                outcome => return outcome,
            }
            timeout_at(until, turn.work()).await.map_err(|_| ExtractError::TimedOut)??;
        }
        let answer = on_thread(until, move || {
            let answer = builtin::extract(&document, &task.schema);
            drop(turn);
            answer
        });
        let answer = answer.await?;
        Ok(Findings {
            fields: answer.findings,
            warnings: answer.warnings,
            language: answer.language.map(str::to_owned),
            engine: builtin::NAME.to_owned(),
        })
    }
}

/// Work of the built-in engine on a thread for such work.
async fn on_thread<T: Send + 'static>(
    until: Instant,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ExtractError> {
    let done = timeout_at(until, tokio::task::spawn_blocking(work)).await;
    // The message of a panic may contain text of the document, so it is not passed on.
    let failed = |_| ExtractError::BadAnswer("the built-in engine failed; a panic says where".to_owned());
    done.map_err(|_| ExtractError::TimedOut)?.map_err(failed)
}

#[cfg(feature = "model")]
impl Models {
    /// The model for the documents of an agent, if it is not the built-in engine.
    fn of(&self, agent: &AgentId) -> Option<&ModelEngine> {
        self.of_agents.get(agent).unwrap_or(&self.of_all).as_deref()
    }

    async fn ask(
        &self,
        model: &ModelEngine,
        document: &Document,
        task: &ExtractionTask,
    ) -> Result<Findings, ExtractError> {
        let timeout = if self.fallback { task.timeout * 3 / 4 } else { task.timeout };
        let instructions = task.instructions.as_deref();
        let answer = model.extract(document, &document.images, &task.schema, instructions, timeout).await?;
        Ok(Findings {
            fields: answer.findings,
            warnings: answer.warnings,
            language: answer.language.map(str::to_owned),
            engine: model.name().to_owned(),
        })
    }
}

fn unsupported(document: &SentDocument) -> UnsupportedDocument {
    let allowed = Kind::ALL.map(Kind::media_type).to_vec();
    if let Some(known) = refused_text(&document.content) {
        return UnsupportedDocument { detected: known.to_owned(), allowed };
    }
    let mut inspector = Inspector::new();
    inspector.push(&document.content);
    let extension = document.file_name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let detected = inspector.finish(extension).media_type.to_owned();
    UnsupportedDocument { detected, allowed }
}

fn not_read(error: WorkerError) -> ExtractError {
    match error {
        WorkerError::Unavailable(reason) => ExtractError::Unavailable { reason, retry_after: None },
        WorkerError::Unconfined(_) => {
            ExtractError::Unavailable { reason: error.to_string(), retry_after: None }
        }
        WorkerError::Document(ReadError::Encrypted) => ExtractError::Encrypted,
        WorkerError::Document(ReadError::TooLarge { unit, limit, actual }) => {
            let unit = match unit {
                Unit::Bytes => DocumentUnit::Bytes,
                Unit::Pages => DocumentUnit::Pages,
                Unit::Characters => DocumentUnit::Characters,
                Unit::Pixels => DocumentUnit::Pixels,
            };
            ExtractError::TooLarge { unit, limit, actual }
        }
        WorkerError::Document(ReadError::Unreadable(reason)) => ExtractError::Unreadable(reason.to_string()),
        // Detected before, so that its content is not what it seemed to be.
        WorkerError::Document(ReadError::Unsupported) => {
            ExtractError::Unreadable("its content is of no type that can be read".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_called_what_it_is() {
        for (content, detected) in [
            ("%!PS-Adobe-3.0\n%%Pages: 1", "application/postscript"),
            ("<?xml version=\"1.0\"?>\n<svg xmlns=\"a\"><text>12</text></svg>", "image/svg+xml"),
        ] {
            let content = content.as_bytes().to_vec().into();
            let document = SentDocument { content, file_name: "a.txt".to_owned() };
            let refused = Extractor::new(Reader::InProcess).detect(&document).expect_err("it is refused");
            assert_eq!(refused.detected, detected);
            assert!(refused.allowed.contains(&"text/plain") && !refused.allowed.contains(&detected));
        }
    }

    #[tokio::test]
    async fn a_panic_tells_nothing_of_the_document() {
        let until = Instant::now() + Duration::from_secs(20);
        let text = "Confidential: 12".to_owned();
        let failed = on_thread(until, move || -> u8 { panic!("no number in {text}") }).await;
        let Err(error) = failed else { panic!("it goes on") };
        assert!(matches!(error, ExtractError::BadAnswer(_)));
        assert!(!format!("{error} {error:?}").contains("Confidential"), "{error:?}");
        let late = on_thread(Instant::now(), || std::thread::sleep(Duration::from_millis(100))).await;
        assert!(matches!(late, Err(ExtractError::TimedOut)), "{late:?}");
    }
}
