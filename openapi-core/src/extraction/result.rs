//! The result: values, confidence and validation, all computed from what the engine found (contract 12.2).

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{
    BoundingBox, Confidence, Evidence, ExtractionField, ExtractionSchema, ExtractionType, Finding, Leaf,
};
use crate::json::{Json, Object, json_object, same_schema, schemas};
use crate::validation::{ValidationCode, ValidationIssue};

/// What an extraction reports besides the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtractionWarning {
    /// Day and month of a date could be the other way round.
    AmbiguousDate,
    /// The document has no readable text.
    NoText,
    /// A page needs character recognition, and none is installed.
    OcrUnavailable,
    /// A table has more rows than the engine reads: the rest is missing.
    RowsTruncated,
}

impl ExtractionWarning {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ExtractionWarning::AmbiguousDate => "ambiguousDate",
            ExtractionWarning::NoText => "noText",
            ExtractionWarning::OcrUnavailable => "ocrUnavailable",
            ExtractionWarning::RowsTruncated => "rowsTruncated",
        }
    }
}

/// An element of `errors` or `warnings`.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The path in `data`; none for what concerns the document as a whole.
    pub field: Option<String>,
    /// What happened, for people.
    pub message: String,
    /// The text of the document that could not be used, if any.
    pub value: Json,
    /// The rule that is broken, or the kind of warning.
    pub kind: &'static str,
}

json_object! { Notice = |notice| {
    "field": Option<String> { "description": "The path in `data`." } = notice.field,
    "message": String = notice.message,
    "value": Json { "description": "The text of the document that could not be used." } = notice.value,
    "type": &'static str = notice.kind,
} }

/// Whether the values satisfy the schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// Whether `errors` is empty.
    pub is_valid: bool,
    /// Missing required fields and text that is no value of its field.
    pub errors: Vec<Notice>,
    /// Doubts.
    pub warnings: Vec<Notice>,
    /// The required fields at the top that are `null`, each also an error `required`.
    pub missing_required: Vec<String>,
    /// The fields at the top that are not `null` and less sure than [`Confidence::LOW`].
    pub low_confidence: Vec<String>,
}

json_object! { Validation = |validation| {
    "isValid": bool { "description": "Whether `errors` is empty." } = validation.is_valid,
    "errors": Vec<Notice> = validation.errors,
    "warnings": Vec<Notice> = validation.warnings,
    "missingRequired": Vec<String> = validation.missing_required,
    "lowConfidence": Vec<String> = validation.low_confidence,
} }

/// The metadata of the document.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentFacts {
    /// Its name as sent.
    pub file_name: String,
    /// Its type by content.
    pub content_type: String,
    /// Its bytes.
    pub file_size: u64,
    /// Their SHA-256 in lower-case hexadecimal.
    pub sha256: String,
    /// Its pages; none for text and DOCX.
    pub page_count: Option<u32>,
    /// The characters of its text.
    pub character_count: u64,
    /// Whether characters were recognised.
    pub ocr_applied: bool,
    /// The language of its text (ISO 639-1), if it was detected.
    pub language: Option<String>,
    /// Whether the service keeps it.
    pub stored: bool,
    /// Under which id.
    pub file_id: Option<String>,
}

json_object! { DocumentFacts = |document| {
    "fileName": String = document.file_name,
    "contentType": String = document.content_type,
    "fileSize": u64 { "minimum": 0 } = document.file_size,
    "sha256": String { "pattern": "^[0-9a-f]{64}$" } = document.sha256,
    "pageCount": Option<u32> { "minimum": 0, "description": "`null` for text and DOCX." } = document.page_count,
    "characterCount": u64 { "minimum": 0 } = document.character_count,
    "ocrApplied": bool = document.ocr_applied,
    "language": Option<String> { "description": "ISO 639-1, where it was detected." } = document.language,
    "stored": bool = document.stored,
    "fileId": Option<String> = document.file_id,
} }

/// What the extraction cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The credits that were taken.
    pub credits_charged: u64,
    /// What is left; none without a balance.
    pub credits_remaining: Option<u64>,
}

json_object! { Usage = |usage| {
    "creditsCharged": u64 { "minimum": 0 } = usage.credits_charged,
    "creditsRemaining": Option<u64> {
        "minimum": 0, "description": "`null` without a balance."
    } = usage.credits_remaining,
} }

/// The values of a document and how they came about, without what the service adds ([`Extraction::with`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Extraction {
    /// Every field of the schema in its order, `null` where nothing was found.
    pub data: Object,
    /// How sure the result is as a whole: the mean over the fields that were found or are required.
    pub confidence: Confidence,
    /// How sure each field at the top is.
    pub field_confidences: Vec<(String, Confidence)>,
    /// Whether the values satisfy the schema.
    pub validation: Validation,
    /// The evidence of every scalar that was found, by its path in `data`.
    pub fields: Vec<(String, Confidence, Evidence)>,
}

/// `data` and `metadata` of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractionMetadata {
    /// Whole milliseconds from receipt of the body to the result.
    pub processing_time: u64,
    /// The document.
    pub document: DocumentFacts,
    /// The credits.
    pub usage: Usage,
    /// The engine that ran.
    pub engine: String,
}

impl Extraction {
    /// The result for a schema, of one finding for each of its fields in their order and what the engine tells of the
    /// document. A finding of another shape than its field counts as absent; fields without one are.
    #[must_use]
    pub fn of(schema: &ExtractionSchema, findings: Vec<Finding>, warnings: &[ExtractionWarning]) -> Self {
        let mut assembly = Assembly::default();
        for &warning in warnings {
            assembly.warn(None, warning);
        }
        let mut data = Object::new();
        let mut field_confidences = Vec::with_capacity(schema.fields().len());
        let mut counted = Vec::new();
        let mut findings = findings.into_iter();
        for (name, field) in schema.fields() {
            let found = assembly.value(name, field, findings.next().unwrap_or_default());
            let confidence = found.confidence();
            if found.json == Json::Null {
                if field.required {
                    assembly.validation.missing_required.push(name.clone());
                }
            } else if confidence < Confidence::LOW {
                assembly.validation.low_confidence.push(name.clone());
            }
            if found.json != Json::Null || field.required {
                counted.push(confidence);
            }
            data.insert(name.as_str(), found.json);
            field_confidences.push((name.clone(), confidence));
        }
        let mut validation = assembly.validation;
        validation.is_valid = validation.errors.is_empty();
        Extraction {
            data,
            confidence: Confidence::mean(counted).unwrap_or_default(),
            field_confidences,
            validation,
            fields: assembly.fields,
        }
    }

    /// `metadata` as it is answered.
    #[must_use]
    pub fn with<'a>(&'a self, metadata: &'a ExtractionMetadata) -> Answered<'a> {
        Answered { extraction: self, metadata }
    }
}

/// A value with the confidences of its leaves.
struct Found {
    json: Json,
    leaves: Vec<Confidence>,
}

impl Found {
    const NOTHING: Found = Found { json: Json::Null, leaves: Vec::new() };

    fn confidence(&self) -> Confidence {
        Confidence::mean(self.leaves.iter().copied()).unwrap_or_default()
    }
}

#[derive(Default)]
struct Assembly {
    validation: Validation,
    fields: Vec<(String, Confidence, Evidence)>,
}

impl Assembly {
    fn error(&mut self, path: &str, value: Option<&str>, fault: &ValidationIssue) {
        self.validation.errors.push(Notice {
            field: Some(path.to_owned()),
            message: format!("{path} {}", fault.text),
            value: value.map_or(Json::Null, Json::from),
            kind: fault.rule.as_str(),
        });
    }

    fn warn(&mut self, field: Option<(&str, &str)>, warning: ExtractionWarning) {
        let message = match (warning, field) {
            (ExtractionWarning::NoText, _) => "The document has no readable text".to_owned(),
            (ExtractionWarning::OcrUnavailable, _) => {
                "The document needs character recognition, which is not installed".to_owned()
            }
            (ExtractionWarning::RowsTruncated, _) => {
                "A table has more rows than are read, so its last rows are missing".to_owned()
            }
            (_, Some((path, raw))) => format!("{path} could have day and month the other way round: {raw}"),
            _ => "A date could have day and month the other way round".to_owned(),
        };
        self.validation.warnings.push(Notice {
            field: field.map(|(path, _)| path.to_owned()),
            message,
            value: field.map_or(Json::Null, |(_, raw)| raw.into()),
            kind: warning.as_str(),
        });
    }

    /// The value at a path, and an error where it is missing and required: also where text was found that could not be
    /// used, which is an error of its own, because `missingRequired` names both.
    fn value(&mut self, path: &str, field: &ExtractionField, finding: Finding) -> Found {
        let errors = self.validation.errors.len();
        let found = self.unchecked(path, field, finding);
        let is_reported =
            self.validation.errors[errors..].iter().any(|error| error.field.as_deref() == Some(path));
        if found.json == Json::Null && field.required {
            let text = match is_reported {
                true => "is required, and what the document has for it cannot be used",
                false => "was not found in the document",
            };
            self.error(path, None, &ValidationIssue::new(ValidationCode::Required, text));
        }
        found
    }

    fn unchecked(&mut self, path: &str, field: &ExtractionField, finding: Finding) -> Found {
        match (field.kind, finding) {
            (ExtractionType::Array, Finding::Array(elements)) => self.array(path, field, elements),
            (ExtractionType::Object, Finding::Object(members)) => self.object(path, field, members),
            (ExtractionType::Array | ExtractionType::Object, _) => Found::NOTHING,
            (_, Finding::Leaf(leaf)) => self.leaf(path, field, leaf),
            _ => Found::NOTHING,
        }
    }

    fn leaf(&mut self, path: &str, field: &ExtractionField, leaf: Leaf) -> Found {
        let Leaf { value, confidence, evidence, ambiguous } = leaf;
        let value = match value {
            Ok(Json::Null) => return Found::NOTHING,
            Ok(value) => value,
            Err(rejection) => {
                self.error(path, Some(&rejection.raw), &rejection.fault);
                return Found::NOTHING;
            }
        };
        if let Err(fault) = field.check(&value) {
            self.error(path, Some(&evidence.source_text), &fault);
            return Found::NOTHING;
        }
        if ambiguous {
            self.warn(Some((path, &evidence.source_text)), ExtractionWarning::AmbiguousDate);
        }
        self.fields.push((path.to_owned(), confidence, evidence));
        Found { json: value, leaves: vec![confidence] }
    }

    /// What is no element leaves no gap, so that the others keep their numbers in `data`.
    fn array(&mut self, path: &str, field: &ExtractionField, elements: Vec<Finding>) -> Found {
        let text = ExtractionField::of(ExtractionType::String);
        let item = field.items.as_deref().unwrap_or(&text);
        let mut items = Vec::with_capacity(elements.len());
        let mut leaves = Vec::new();
        for element in elements {
            let found = self.unchecked(&format!("{path}[{}]", items.len()), item, element);
            if found.json != Json::Null {
                leaves.extend(found.leaves);
                items.push(found.json);
            }
        }
        if items.is_empty() { Found::NOTHING } else { Found { json: Json::Array(items), leaves } }
    }

    fn object(&mut self, path: &str, field: &ExtractionField, members: Vec<(String, Finding)>) -> Found {
        let mut members = members;
        let mut object = Object::new();
        let mut leaves = Vec::new();
        let errors = self.validation.errors.len();
        match &field.properties {
            Some(properties) => {
                for (name, property) in properties {
                    let finding = members
                        .iter()
                        .position(|(found, _)| found == name)
                        .map(|at| members.swap_remove(at).1)
                        .unwrap_or_default();
                    let found = self.value(&format!("{path}.{name}"), property, finding);
                    leaves.extend(found.leaves);
                    object.insert(name.as_str(), found.json);
                }
            }
            None => {
                for (name, finding) in members {
                    let Finding::Leaf(leaf) = finding else { continue };
                    let scalar = ExtractionField::of(ExtractionType::String);
                    let found = self.leaf(&format!("{path}.{name}"), &scalar, leaf);
                    if found.json != Json::Null {
                        leaves.extend(found.leaves);
                        object.insert(name, found.json);
                    }
                }
            }
        }
        if leaves.is_empty() {
            // An object that is not there misses nothing; text that could not be read is reported all the same.
            let mut index = 0;
            self.validation.errors.retain(|error| {
                index += 1;
                index <= errors || error.kind != ValidationCode::Required.as_str()
            });
            return Found::NOTHING;
        }
        Found { json: Json::Object(object), leaves }
    }
}

/// The `metadata` of a response (contract 12.1): confidences, validation and facts about the document.
pub struct Answered<'a> {
    extraction: &'a Extraction,
    metadata: &'a ExtractionMetadata,
}

json_object! { Answered<'_> as "ExtractionMetadata" = |answer| {
    "confidence": Confidence = answer.extraction.confidence,
    "fieldConfidences": ByName<'_> = ByName(&answer.extraction.field_confidences),
    "validation": Validation = answer.extraction.validation,
    "processingTime": u64 { "minimum": 0, "description": "In milliseconds." } = answer.metadata.processing_time,
    "document": DocumentFacts = answer.metadata.document,
    "usage": Usage = answer.metadata.usage,
    "engine": String {
        "description": "`builtin`, or the name that the operator gives another."
    } = answer.metadata.engine,
    "fields": Evidences<'_> {
        "description": "The evidence of every scalar that was found, by its path in `data`."
    } = Evidences(&answer.extraction.fields),
} }

schemas! {
    Confidence: { "type": "number", "minimum": 0, "maximum": 1 },
    ByName<'_>: { "type": "object", "additionalProperties": Confidence::schema() },
    Evidences<'_>: { "type": "object", "additionalProperties": Shown::schema() },
}

same_schema! { ExtractionMetadata => Answered<'_>, }

struct ByName<'a>(&'a [(String, Confidence)]);

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, confidence)| (name, confidence)))
    }
}

struct Evidences<'a>(&'a [(String, Confidence, Evidence)]);

impl Serialize for Evidences<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (path, confidence, evidence) in self.0 {
            let shown = Shown { confidence: *confidence, evidence };
            map.serialize_entry(path, &shown)?;
        }
        map.end()
    }
}

/// The evidence of one value.
struct Shown<'a> {
    confidence: Confidence,
    evidence: &'a Evidence,
}

json_object! { Shown<'_> = |shown| {
    "confidence": Confidence = shown.confidence,
    "page": Option<u32> { "minimum": 1 } = shown.evidence.page,
    "sourceText": String { "description": "The text of the document that says it." } = shown.evidence.source_text,
    "boundingBox": Option<BoundingBox> {
        "description": "In points (1/72 inch) from the top left corner of the page."
    } = shown.evidence.bounding_box,
} }
