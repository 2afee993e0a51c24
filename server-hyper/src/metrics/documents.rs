//! Metrics of document extraction: a decorator around the extractor records them.

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

/// The outcome of a step that succeeded.
const DONE: &str = "done";
/// The outcome of a step that was dropped: the client disconnected, or the request timed out.
const CANCELLED: &str = "cancelled";

/// The labels of a document that was read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReadLabels {
    /// The media type, detected from the content.
    r#type: &'static str,
    outcome: &'static str,
}

/// The labels of an extraction; the engine is empty if none succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExtractionLabels {
    engine: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EngineLabels {
    engine: String,
}

fn histogram() -> Histogram {
    Histogram::new(BOUNDS)
}

/// Metrics of documents.
#[derive(Clone, Debug)]
pub struct Documents {
    read: Family<ReadLabels, Counter>,
    pages: Counter,
    ocr: Counter,
    extractions: Family<ExtractionLabels, Counter>,
    durations: Family<EngineLabels, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    confined: Gauge,
}

impl Documents {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counts = Documents {
            read: Family::default(),
            pages: Counter::default(),
            ocr: Counter::default(),
            extractions: Family::default(),
            durations: Family::new_with_constructor(histogram),
            in_flight: Gauge::default(),
            confined: Gauge::default(),
        };
        registry.register("documents", "Documents read for extraction", counts.read.clone());
        registry.register("document_pages", "Pages of documents read for extraction", counts.pages.clone());
        registry.register(
            "documents_ocr",
            "Documents whose text comes from optical character recognition",
            counts.ocr.clone(),
        );
        registry.register("extractions", "Results of extraction engines", counts.extractions.clone());
        registry.register(
            "extraction_duration_seconds",
            "Time from receiving the document to its extracted fields",
            counts.durations.clone(),
        );
        registry.register(
            "extractions_in_flight",
            "Documents that are being processed or wait",
            counts.in_flight.clone(),
        );
        registry.register(
            "documents_confined",
            "1 if no document is read outside a sandbox; 0 if the system enforces none",
            counts.confined.clone(),
        );
        counts
    }

    /// Records whether no document is read outside a sandbox.
    pub fn confined(&self, is_enforced: bool) {
        self.confined.set(i64::from(is_enforced));
    }

    /// Wraps an extractor in one that records metrics.
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

/// A step in progress: recorded when it ends or is dropped.
struct Step<F: Fn(&Documents, &'static str)> {
    counts: Documents,
    outcome: &'static str,
    count: F,
}

impl<F: Fn(&Documents, &'static str)> Step<F> {
    fn new(counts: &Documents, count: F) -> Self {
        counts.in_flight.inc();
        Step { counts: counts.clone(), outcome: CANCELLED, count }
    }

    fn end<T>(&mut self, result: &Result<T, ExtractError>) {
        self.outcome = result.as_ref().map_or_else(outcome_of, |_| DONE);
    }
}

impl<F: Fn(&Documents, &'static str)> Drop for Step<F> {
    fn drop(&mut self) {
        self.counts.in_flight.dec();
        (self.count)(&self.counts, self.outcome);
    }
}

#[async_trait]
impl DocumentExtractor for Measured {
    async fn measure(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        timeout: Duration,
    ) -> Result<DocumentText, ExtractError> {
        self.inner.measure(document, limits, timeout).await
    }

    fn detect(&self, document: &SentDocument) -> Result<&'static str, UnsupportedDocument> {
        self.inner.detect(document)
    }

    async fn open(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        timeout: Duration,
    ) -> Result<Box<dyn OpenDocument>, ExtractError> {
        let begun = monotonic();
        let kind = self.inner.detect(&document).unwrap_or("unsupported");
        let mut step = Step::new(&self.counts, move |counts, outcome| {
            counts.read.get_or_create(&ReadLabels { r#type: kind, outcome }).inc();
        });
        let opened = self.inner.open(document, limits, timeout).await;
        step.end(&opened);
        let inner = opened?;
        let DocumentText { page_count, ocr_applied, .. } = inner.text();
        self.counts.pages.inc_by(u64::from(page_count.unwrap_or(1)));
        self.counts.ocr.inc_by(u64::from(ocr_applied));
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
            // A success is recorded under the name of its engine, below.
            if outcome != DONE {
                counts.extractions.get_or_create(&ExtractionLabels { engine: String::new(), outcome }).inc();
            }
        });
        let found = inner.extract(task).await;
        failed.end(&found);
        if let Ok(Findings { engine, .. }) = &found {
            let engine = engine.clone();
            counts
                .durations
                .get_or_create(&EngineLabels { engine: engine.clone() })
                .observe(begun.elapsed().as_secs_f64());
            counts.extractions.get_or_create(&ExtractionLabels { engine, outcome: DONE }).inc();
        }
        found
    }
}
