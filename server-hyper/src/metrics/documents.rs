//! What becomes of documents: counted where the engine is asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use openapi_core::extraction::{
    DocumentExtractor, DocumentLimits, DocumentText, ExtractError, ExtractionTask, Findings, OpenDocument,
    SentDocument, UnsupportedDocument,
};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::ports::monotonic;

/// Upper bounds of the histogram of durations, in seconds.
const BOUNDS: [f64; 11] = [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

/// The outcome of what was done.
const DONE: &str = "done";
/// The outcome of what nobody waited for: the client left, or its time was over.
const ABANDONED: &str = "abandoned";

/// A document and what became of reading it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Read {
    /// The type by content.
    r#type: &'static str,
    outcome: &'static str,
}

/// An engine, and what became of asking it; without a name where none answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    engine: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Engine {
    engine: String,
}

fn histogram() -> Histogram {
    Histogram::new(BOUNDS)
}

/// Counts of documents.
#[derive(Clone, Debug)]
pub struct Documents {
    read: Family<Read, Counter>,
    pages: Counter,
    recognised: Counter,
    asked: Family<Asked, Counter>,
    durations: Family<Engine, Histogram, fn() -> Histogram>,
    running: Gauge,
}

impl Documents {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counts = Documents {
            read: Family::default(),
            pages: Counter::default(),
            recognised: Counter::default(),
            asked: Family::default(),
            durations: Family::new_with_constructor(histogram),
            running: Gauge::default(),
        };
        registry.register("documents", "Documents read for extraction", counts.read.clone());
        registry.register("document_pages", "Pages of documents that were read", counts.pages.clone());
        registry.register(
            "documents_recognised",
            "Documents whose characters were recognised",
            counts.recognised.clone(),
        );
        registry.register("extractions", "Answers of extraction engines", counts.asked.clone());
        registry.register(
            "extraction_duration_seconds",
            "From the document to its values",
            counts.durations.clone(),
        );
        registry.register(
            "extractions_running",
            "Documents that are worked on or wait",
            counts.running.clone(),
        );
        counts
    }

    /// An extractor that counts what another one does.
    #[must_use]
    pub fn measure(&self, inner: Arc<dyn DocumentExtractor>) -> Arc<dyn DocumentExtractor> {
        Arc::new(Measured { inner, counts: self.clone() })
    }
}

fn outcome_of(error: &ExtractError) -> &'static str {
    match error {
        ExtractError::TooLarge { .. } => "too_large",
        ExtractError::Encrypted => "encrypted",
        ExtractError::Unreadable(_) => "unreadable",
        ExtractError::Unavailable { .. } => "unavailable",
        ExtractError::BadAnswer(_) => "bad_answer",
        ExtractError::TimedOut => "timed_out",
        _ => "failed",
    }
}

struct Measured {
    inner: Arc<dyn DocumentExtractor>,
    counts: Documents,
}

/// A step under way: counted when it ends, and also when it is dropped.
struct Step<F: Fn(&Documents, &'static str)> {
    counts: Documents,
    outcome: &'static str,
    count: F,
}

impl<F: Fn(&Documents, &'static str)> Step<F> {
    fn new(counts: &Documents, count: F) -> Self {
        counts.running.inc();
        Step { counts: counts.clone(), outcome: ABANDONED, count }
    }

    fn end<T>(&mut self, result: &Result<T, ExtractError>) {
        self.outcome = result.as_ref().map_or_else(outcome_of, |_| DONE);
    }
}

impl<F: Fn(&Documents, &'static str)> Drop for Step<F> {
    fn drop(&mut self) {
        self.counts.running.dec();
        (self.count)(&self.counts, self.outcome);
    }
}

#[async_trait]
impl DocumentExtractor for Measured {
    fn detect(&self, document: &SentDocument) -> Result<&'static str, UnsupportedDocument> {
        self.inner.detect(document)
    }

    async fn open(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        patience: Duration,
    ) -> Result<Box<dyn OpenDocument>, ExtractError> {
        let begun = monotonic();
        let kind = self.inner.detect(&document).unwrap_or("unsupported");
        let mut step = Step::new(&self.counts, move |counts, outcome| {
            counts.read.get_or_create(&Read { r#type: kind, outcome }).inc();
        });
        let opened = self.inner.open(document, limits, patience).await;
        step.end(&opened);
        let inner = opened?;
        let DocumentText { page_count, ocr_applied, .. } = inner.text();
        self.counts.pages.inc_by(u64::from(page_count.unwrap_or(1)));
        self.counts.recognised.inc_by(u64::from(ocr_applied));
        Ok(Box::new(Opened { inner, counts: self.counts.clone(), begun }))
    }
}

struct Opened {
    inner: Box<dyn OpenDocument>,
    counts: Documents,
    begun: Instant,
}

#[async_trait]
impl OpenDocument for Opened {
    fn text(&self) -> DocumentText {
        self.inner.text()
    }

    async fn extract(self: Box<Self>, task: ExtractionTask) -> Result<Findings, ExtractError> {
        let Opened { inner, counts, begun } = *self;
        let mut failed = Step::new(&counts, |counts, outcome| {
            // The one that answers counts under its name.
            if outcome != DONE {
                counts.asked.get_or_create(&Asked { engine: String::new(), outcome }).inc();
            }
        });
        let found = inner.extract(task).await;
        failed.end(&found);
        if let Ok(Findings { engine, .. }) = &found {
            let engine = engine.clone();
            counts
                .durations
                .get_or_create(&Engine { engine: engine.clone() })
                .observe(begun.elapsed().as_secs_f64());
            counts.asked.get_or_create(&Asked { engine, outcome: DONE }).inc();
        }
        found
    }
}
