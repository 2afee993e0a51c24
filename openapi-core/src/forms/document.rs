//! The document of the schema endpoint (contract 2.3.1).

use serde_json::Value;

use super::{FormField, FormTemplate, SubmissionPolicy, TemplateStatus};
use crate::json::json_object;
use crate::values::{Block, Line, TemplateId};

/// A template with the JSON Schema made from it.
#[derive(Clone, Copy, Debug)]
pub struct TemplateDocument<'a>(pub &'a FormTemplate);

json_object! { TemplateDocument<'_> as "TemplateSchema" = |document| {
    "templateId": TemplateId = document.0.id,
    "name": Line<100> = document.0.name,
    "description": Option<Block<1000>> = document.0.description,
    "version": u64 { "minimum": 1 } = document.0.version,
    "status": TemplateStatus = document.0.status,
    "submissionPolicy": SubmissionPolicy = document.0.submission_policy,
    "fields": Vec<FormField> = document.0.fields,
    "jsonSchema": Value {
        "type": "object", "additionalProperties": true, "description": "JSON Schema 2020-12 of `formData`."
    } = document.0.json_schema(),
} }
