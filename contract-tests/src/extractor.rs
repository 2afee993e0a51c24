//! An extractor scripted by its documents.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use openapi_core::extraction::{
    Confidence, DocumentExtractor, DocumentLimits, DocumentText, DocumentUnit, Evidence, ExtractError,
    ExtractionField, ExtractionTask, Finding, Findings, Leaf, OpenDocument, SentDocument,
    UnsupportedDocument,
};
use openapi_core::json::Json;

/// Reads text documents: `NAME: VALUE` on each line, and `pages=N`. Some values trigger behaviour. While the document
/// is opened, its whole text may be `encrypted`, `damaged`, `no-engine`, `never`, `many-pages`, `many-characters` or
/// `many-pixels`. While values are extracted, a line may be `bad-answer`, `busy`, `slow` or `hang`.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The number of documents opened.
    pub opened: Arc<AtomicUsize>,
    /// The number of documents whose values were extracted.
    pub extracted: Arc<AtomicUsize>,
}

struct Opened {
    script: Script,
    text: String,
}

fn word<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.trim().strip_prefix(name))
}

#[async_trait]
impl DocumentExtractor for Script {
    fn detect(&self, document: &SentDocument) -> Result<&'static str, UnsupportedDocument> {
        match std::str::from_utf8(&document.content) {
            Ok(_) => Ok("text/plain"),
            Err(_) => Err(UnsupportedDocument {
                detected: "application/octet-stream".to_owned(),
                allowed: vec!["text/plain"],
            }),
        }
    }

    async fn open(
        &self,
        document: SentDocument,
        limits: DocumentLimits,
        _: Duration,
    ) -> Result<Box<dyn OpenDocument>, ExtractError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let text = String::from_utf8(document.content.to_vec()).expect("it was detected as text");
        let too_large =
            |unit, limit, actual| Err(ExtractError::TooLarge { unit, limit, actual: Some(actual) });
        match text.trim() {
            "encrypted" => Err(ExtractError::Encrypted),
            "damaged" => Err(ExtractError::Unreadable("it is damaged".to_owned())),
            "no-engine" => Err(ExtractError::Unavailable { reason: "gone".to_owned(), retry_after: None }),
            "never" => pending().await,
            "many-pages" => too_large(DocumentUnit::Pages, u64::from(limits.pages), 64),
            "many-characters" => too_large(DocumentUnit::Characters, limits.characters, 2_000_000),
            "many-pixels" => too_large(DocumentUnit::Pixels, limits.pixels, 50_000_000),
            _ => Ok(Box::new(Opened { script: self.clone(), text })),
        }
    }
}

#[async_trait]
impl OpenDocument for Opened {
    fn text(&self) -> DocumentText {
        DocumentText {
            page_count: word(&self.text, "pages=").and_then(|pages| pages.parse().ok()),
            character_count: self.text.chars().count() as u64,
            ocr_applied: false,
        }
    }

    async fn extract(self: Box<Self>, task: ExtractionTask) -> Result<Findings, ExtractError> {
        self.script.extracted.fetch_add(1, Ordering::Relaxed);
        let has = |name: &str| word(&self.text, name).is_some();
        if has("bad-answer") {
            return Err(ExtractError::BadAnswer("no JSON".to_owned()));
        }
        if has("busy") {
            let retry_after = Some(Duration::from_secs(7));
            return Err(ExtractError::Unavailable { reason: "busy".to_owned(), retry_after });
        }
        if has("slow") {
            return Err(ExtractError::TimedOut);
        }
        if has("hang") {
            return pending().await;
        }
        let find = |(name, _): &(String, ExtractionField)| {
            let value = word(&self.text, &format!("{name}: "));
            value.map_or(Finding::Absent, |value| {
                Finding::Leaf(Leaf {
                    value: Ok(Json::from(value)),
                    confidence: Confidence::VERBATIM,
                    evidence: Evidence { source_text: value.to_owned(), ..Evidence::default() },
                    ambiguous: false,
                })
            })
        };
        Ok(Findings {
            fields: task.schema.fields().iter().map(find).collect(),
            warnings: Vec::new(),
            language: Some("en".to_owned()),
            engine: task.instructions.unwrap_or_else(|| "script".to_owned()),
        })
    }
}
