//! Schemas and examples of forms in the description.

use serde_json::{Value, json};

pub(super) use crate::endpoints::shapes::{
    described, envelope, envelope_example, id_schema, list_envelope, nullable, reference,
};
use crate::forms::{
    CompiledTemplate, FormFieldType, FormTemplate, Operator, Structure, SubmissionPolicy, SubmissionStatus,
    TemplateDefinition, TemplateDocument, TemplateStatus,
};
use crate::json::Json;
use crate::values::{AgentId, Block, ExternalId, Line, Opaque, TextValue, Timestamp};

const AGENT: &str = "695b6f80de7378c4412112d3";
const INTAKE: &str = "69623f40cde3f537d8e4bddb";
const FEEDBACK: &str = "69624648a093e8895b0b1554";

/// What the contact of the contract's story answers.
fn data_example() -> Value {
    json!({
        "fullName": "Zoë Okafor", "visitType": "first", "onset": "2026-01-20", "painLevel": 4,
        "referral": "697dc94b74a1f572c54b78cf", "emergency": { "name": "Ada Okafor", "phone": "+44 20 7946 0999" },
    })
}

/// The body of the story's submit.
pub(super) fn submit_example() -> Value {
    json!({ "formData": data_example(), "submissionNotes": "Taken by phone", "clientId": "practice-7" })
}

fn key() -> Value {
    json!({ "type": "apiKey", "id": "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ" })
}

/// The submission of the story, as the submit answers it.
pub(super) fn submitted_example() -> Value {
    let at = "2026-01-31T09:30:45.007Z";
    json!({
        "id": "697dcbc5e0d14b96a816c9e5", "agentId": AGENT, "templateId": INTAKE, "templateName": "Intake",
        "templateVersion": 2, "contactId": "697dc8165d4ffa83cfc35cfc", "externalReferenceId": "crm-1001",
        "status": "submitted", "formData": data_example(), "submissionNotes": "Taken by phone", "reviewNotes": null,
        "clientId": "practice-7", "revision": 1, "supersedes": null, "isSuperseded": false, "supersededBy": null,
        "supersededAt": null, "source": "api", "createdBy": key(), "reviewedBy": null, "reviewedAt": null,
        "submittedAt": at,
        "statusHistory": [{ "from": null, "to": "submitted", "at": at, "by": key(), "notes": null }],
        "createdAt": at, "updatedAt": at,
    })
}

/// The submission of the story after its approval.
pub(super) fn approved_example() -> Value {
    let at = "2026-01-31T10:05:00.250Z";
    let mut submission = submitted_example();
    submission["status"] = "approved".into();
    submission["reviewNotes"] = "Complete".into();
    submission["reviewedBy"] = key();
    submission["reviewedAt"] = at.into();
    submission["updatedAt"] = at.into();
    if let Some(history) = submission["statusHistory"].as_array_mut() {
        history.push(
            json!({ "from": "submitted", "to": "approved", "at": at, "by": key(), "notes": "Complete" }),
        );
    }
    submission
}

/// The same in a list.
pub(super) fn listed_example() -> Value {
    without_history(approved_example())
}

fn without_history(mut submission: Value) -> Value {
    if let Some(members) = submission.as_object_mut() {
        members.shift_remove("statusHistory");
    }
    submission
}

/// The body that approves the submission of the story.
pub(super) fn update_example() -> Value {
    json!({ "status": "approved", "reviewNotes": "Complete" })
}

/// The body of the story's batch.
pub(super) fn batch_example() -> Value {
    json!({ "submissions": [
        { "templateId": INTAKE, "formData": { "fullName": "Zoë Okafor", "visitType": "followUp", "painLevel": 2 } },
        { "templateId": FEEDBACK, "formData": { "rating": 5 }, "clientId": "practice-7" },
    ] })
}

/// The result of the story's batch.
pub(super) fn batch_result_example() -> Value {
    let at = "2026-01-31T11:00:00.500Z";
    let stored = |id: &str, template: (&str, &str, u64), data: Value, client: Value| {
        let mut submission = without_history(submitted_example());
        for (name, value) in [
            ("id", id.into()),
            ("templateId", template.0.into()),
            ("templateName", template.1.into()),
            ("templateVersion", template.2.into()),
            ("formData", data),
            ("submissionNotes", Value::Null),
            ("clientId", client),
            ("submittedAt", at.into()),
            ("createdAt", at.into()),
            ("updatedAt", at.into()),
        ] {
            submission[name] = value;
        }
        submission
    };
    let mut intake = stored(
        "697de0b05cc9af5da5dda942",
        (INTAKE, "Intake", 2),
        json!({ "fullName": "Zoë Okafor", "visitType": "followUp", "painLevel": 2 }),
        Value::Null,
    );
    intake["revision"] = 2.into();
    intake["supersedes"] = "697dcbc5e0d14b96a816c9e5".into();
    let feedback = stored(
        "697de0b0a10c53658fa39b1a",
        (FEEDBACK, "Feedback", 1),
        json!({ "rating": 5 }),
        "practice-7".into(),
    );
    json!({ "total": 2, "succeeded": 2, "failed": 0, "results": [
        { "index": 0, "success": true, "status": 201, "submission": intake },
        { "index": 1, "success": true, "status": 201, "submission": feedback },
    ] })
}

/// The templates of the story.
pub(super) fn template_examples() -> Vec<Value> {
    vec![
        json!({ "id": FEEDBACK, "agentId": AGENT, "name": "Feedback", "description": null, "version": 1, "status": "active",
            "submissionPolicy": "keepAll", "fieldCount": 2, "createdAt": "2026-01-10T12:30:00.000Z", "updatedAt": "2026-01-10T12:30:00.000Z" }),
        json!({ "id": INTAKE, "agentId": AGENT, "name": "Intake", "description": "First-contact questionnaire", "version": 2,
            "status": "active", "submissionPolicy": "supersede", "fieldCount": 6, "createdAt": "2026-01-10T12:00:00.000Z",
            "updatedAt": "2026-01-12T08:30:00.000Z" }),
    ]
}

/// The definition of the intake template of the story, as an operator writes it.
pub(crate) fn intake_definition() -> Value {
    json!({
        "name": "Intake", "description": "First-contact questionnaire",
        "fields": [
            { "name": "fullName", "label": "Full name", "type": "text", "required": true, "validation": { "maxLength": 200 }, "example": "Zoë Okafor" },
            { "name": "visitType", "label": "Visit type", "type": "select", "required": true, "options": [{ "value": "first", "label": "First visit" }, { "value": "followUp", "label": "Follow-up" }], "example": "first" },
            { "name": "onset", "label": "Onset", "type": "date", "section": "Complaint", "example": "2026-01-20", "showIf": { "field": "visitType", "op": "equals", "value": "first" } },
            { "name": "painLevel", "label": "Pain level", "type": "integer", "section": "Complaint", "validation": { "minimum": 0, "maximum": 10 }, "example": 4 },
            { "name": "referral", "label": "Referral letter", "type": "file", "description": "Id of an uploaded file" },
            { "name": "emergency", "label": "Emergency contact", "type": "group", "example": { "name": "Ada Okafor", "phone": "+44 20 7946 0999" }, "fields": [
                { "name": "name", "label": "Name", "type": "text", "required": true, "validation": { "maxLength": 200 }, "example": "Ada Okafor" },
                { "name": "phone", "label": "Phone", "type": "phone", "example": "+44 20 7946 0999" } ] },
        ],
    })
}

/// The intake template of the story.
fn intake() -> Option<FormTemplate> {
    let Json::Object(definition) = Json::from(&intake_definition()) else { return None };
    let definition = TemplateDefinition::read(&definition).ok()?;
    let template = definition.create(
        INTAKE.parse().ok()?,
        AGENT.parse().ok()?,
        "2026-01-10T12:00:00.000Z".parse().ok()?,
    );
    Some(FormTemplate { version: 2, status: TemplateStatus::Active, ..template })
}

/// The schema of the story's template.
pub(super) fn schema_example() -> Value {
    let document = intake().and_then(|template| serde_json::to_value(TemplateDocument(&template)).ok());
    document.unwrap_or(Value::Null)
}

/// The structure of the story's template.
pub(super) fn structure_example() -> Value {
    let compiled = intake().and_then(|template| CompiledTemplate::new(template).ok());
    compiled.and_then(|compiled| serde_json::to_value(Structure(&compiled)).ok()).unwrap_or(Value::Null)
}

/// An example of a list that is one page.
pub(super) fn list_example(message: &str, items: Vec<Value>, limit: u32) -> Value {
    let total = items.len();
    json!({
        "success": true,
        "message": message,
        "data": items,
        "pagination": {
            "currentPage": 1, "totalPages": 1, "totalItems": total, "itemsPerPage": limit,
            "hasNextPage": false, "hasPreviousPage": false, "nextCursor": null,
        },
    })
}

fn actor() -> Value {
    json!({
        "type": "object",
        "required": ["type", "id"],
        "properties": { "type": { "type": "string" }, "id": { "type": "string" } },
    })
}

fn nullable_reference(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// The schema of a submission, with or without its history.
fn submission(with_history: bool) -> Value {
    let timestamp = Timestamp::json_schema();
    let notes = nullable(Block::<4000>::json_schema());
    let mut schema = json!({
        "type": "object",
        "description": "A submission. Every field is always present; what is unset is `null`.",
        "properties": {
            "id": id_schema(),
            "agentId": AgentId::json_schema(),
            "templateId": id_schema(),
            "templateName": described(Line::<100>::json_schema(), "The name of the template at that version."),
            "templateVersion": { "type": "integer", "minimum": 1, "description": "The version of the template that the data is checked against." },
            "contactId": id_schema(),
            "externalReferenceId": described(nullable(ExternalId::json_schema()), "The contact's external id as it is now."),
            "status": SubmissionStatus::json_schema(),
            "formData": { "type": "object", "additionalProperties": true, "description": "The answers, keyed by the names of the template's fields. Numbers come back exactly as written." },
            "submissionNotes": notes.clone(),
            "reviewNotes": notes.clone(),
            "clientId": described(nullable(Opaque::<128>::json_schema()), "A reference of your own; not unique, never changes."),
            "revision": { "type": "integer", "minimum": 1, "description": "One more than that of the submission it superseded." },
            "supersedes": nullable(id_schema()),
            "isSuperseded": { "type": "boolean" },
            "supersededBy": nullable(id_schema()),
            "supersededAt": nullable(timestamp.clone()),
            "source": { "type": "string" },
            "createdBy": actor(),
            "reviewedBy": nullable_reference(actor()),
            "reviewedAt": nullable(timestamp.clone()),
            "submittedAt": described(nullable(timestamp.clone()), "When it was handed in for the first time."),
        },
    });
    if with_history {
        schema["properties"]["statusHistory"] = json!({
            "type": "array",
            "description": "Every change of status, oldest first.",
            "items": {
                "type": "object",
                "required": ["from", "to", "at", "by", "notes"],
                "properties": {
                    "from": nullable(SubmissionStatus::json_schema()),
                    "to": SubmissionStatus::json_schema(),
                    "at": timestamp.clone(),
                    "by": actor(),
                    "notes": notes,
                },
            },
        });
    }
    schema["properties"]["createdAt"] = timestamp.clone();
    schema["properties"]["updatedAt"] = described(timestamp, "Moves only when a stored value changes.");
    require_all(schema)
}

/// Makes every property of a schema required.
fn require_all(mut schema: Value) -> Value {
    let names: Vec<String> = schema["properties"]
        .as_object()
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    schema["required"] = names.into();
    schema
}

fn preview() -> Value {
    let mut schema = submission(true);
    schema["description"] =
        "A submission as it would be stored: what the service would set is `null`.".into();
    // Not `{ "type": "null" }`, which is as true: for some generators of clients that is no type.
    for name in ["id", "createdAt", "updatedAt"] {
        schema["properties"][name] = nullable(schema["properties"][name].take());
    }
    schema["properties"]["statusHistory"] = json!({ "type": "array", "maxItems": 0 });
    schema
}

/// The members of a submit.
fn new_members() -> Value {
    json!({
        "formData": { "type": "object", "additionalProperties": true, "description": "The answers, as the template's schema has them; at most 256 KiB as stored. `null` is no answer." },
        "submissionNotes": nullable(Block::<4000>::json_schema()),
        "clientId": nullable(Opaque::<128>::json_schema()),
        "status": described(json!({ "type": ["string", "null"], "enum": ["submitted", "draft", null] }), "`draft` stores a draft; `submitted` by default."),
    })
}

/// The body of a submit.
fn new_submission() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["formData"], "properties": new_members(),
    })
}

/// The body of a batch.
fn batch() -> Value {
    let mut element = new_submission();
    element["required"] = json!(["templateId", "formData"]);
    element["properties"]["templateId"] = described(json!({ "type": "string" }), "A template of the agent.");
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["submissions"],
        "properties": {
            "submissions": { "type": "array", "minItems": 1, "maxItems": 10, "items": element },
            "allOrNone": { "type": ["boolean", "null"], "default": true, "description": "Whether one that fails makes all fail." },
        },
    })
}

/// The body of an update.
fn changes() -> Value {
    json!({
        "type": "object",
        "description": "What is to change; members of the record that cannot be changed are ignored.",
        "properties": {
            "formData": { "type": "object", "additionalProperties": true, "description": "Merged into the stored data (RFC 7396)." },
            "submissionNotes": nullable(Block::<4000>::json_schema()),
            "reviewNotes": nullable(Block::<4000>::json_schema()),
            "status": SubmissionStatus::json_schema(),
        },
    })
}

/// The results of a batch.
fn batch_result() -> Value {
    json!({
        "type": "object",
        "required": ["total", "succeeded", "failed", "results"],
        "properties": {
            "total": { "type": "integer", "minimum": 1, "maximum": 10 },
            "succeeded": { "type": "integer", "minimum": 0 },
            "failed": { "type": "integer", "minimum": 0 },
            "results": { "type": "array", "items": {
                "type": "object",
                "required": ["index", "success", "status"],
                "properties": {
                    "index": { "type": "integer", "minimum": 0 },
                    "success": { "type": "boolean" },
                    "status": { "type": "integer", "description": "The status that the element would have been answered alone." },
                    "submission": { "anyOf": [reference("ListedSubmission"), without_history_schema(preview())] },
                    "error": {
                        "type": "object",
                        "required": ["code", "message"],
                        "properties": {
                            "code": { "type": "string" },
                            "message": { "type": "string" },
                            "validationErrors": { "type": "array", "items": reference("ValidationError") },
                            "details": { "type": "object", "additionalProperties": true },
                        },
                    },
                },
            } },
        },
    })
}

/// A template in a list.
fn template() -> Value {
    require_all(json!({
        "type": "object",
        "properties": {
            "id": id_schema(),
            "agentId": AgentId::json_schema(),
            "name": Line::<100>::json_schema(),
            "description": nullable(Block::<1000>::json_schema()),
            "version": { "type": "integer", "minimum": 1 },
            "status": TemplateStatus::json_schema(),
            "submissionPolicy": SubmissionPolicy::json_schema(),
            "fieldCount": { "type": "integer", "minimum": 1, "description": "Fields at the top." },
            "createdAt": Timestamp::json_schema(),
            "updatedAt": Timestamp::json_schema(),
        },
    }))
}

/// A template with its fields.
fn template_schema() -> Value {
    require_all(json!({
        "type": "object",
        "properties": {
            "templateId": id_schema(),
            "name": Line::<100>::json_schema(),
            "description": nullable(Block::<1000>::json_schema()),
            "version": { "type": "integer", "minimum": 1 },
            "status": TemplateStatus::json_schema(),
            "submissionPolicy": SubmissionPolicy::json_schema(),
            "fields": { "type": "array", "items": reference("FormField") },
            "jsonSchema": { "type": "object", "additionalProperties": true, "description": "JSON Schema 2020-12 of `formData`." },
        },
    }))
}

/// The legacy structure of a template.
fn template_structure() -> Value {
    require_all(json!({
        "type": "object",
        "properties": {
            "templateId": id_schema(),
            "name": Line::<100>::json_schema(),
            "version": { "type": "integer", "minimum": 1 },
            "structure": { "type": "object", "additionalProperties": {
                "type": "object",
                "required": ["type", "required", "label", "example"],
                "properties": {
                    "type": { "enum": FormFieldType::ALL.map(FormFieldType::as_str) },
                    "required": { "type": "boolean" },
                    "label": { "type": "string" },
                    "example": {},
                    "options": options(),
                },
            } },
            "formData": { "type": "object", "additionalProperties": true, "description": "An example that passes validation when it is sent back." },
        },
    }))
}

/// The named schemas of forms.
pub(crate) fn components() -> Vec<(&'static str, Value)> {
    vec![
        ("Submission", submission(true)),
        ("ListedSubmission", submission(false)),
        ("SubmissionPreview", preview()),
        ("NewSubmission", new_submission()),
        ("SubmissionBatch", batch()),
        ("SubmissionChanges", changes()),
        ("BatchResult", batch_result()),
        ("Template", template()),
        ("TemplateSchema", template_schema()),
        ("TemplateStructure", template_structure()),
        ("FormField", field()),
    ]
}

fn without_history_schema(mut schema: Value) -> Value {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.shift_remove("statusHistory");
    }
    require_all(schema)
}

fn options() -> Value {
    json!({ "type": "array", "items": {
        "type": "object", "required": ["value", "label"],
        "properties": { "value": { "type": "string" }, "label": { "type": "string" } },
    } })
}

fn field() -> Value {
    require_all(json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$" },
            "label": { "type": "string" },
            "type": { "enum": FormFieldType::ALL.map(FormFieldType::as_str) },
            "required": { "type": "boolean" },
            "description": { "type": ["string", "null"] },
            "placeholder": { "type": ["string", "null"] },
            "order": { "type": "integer" },
            "section": { "type": ["string", "null"] },
            "options": nullable(options()),
            "validation": { "type": ["object", "null"], "additionalProperties": true, "description": "Rules beyond those of the type; only those that are set." },
            "default": { "description": "A hint for form builders; never applied." },
            "example": { "description": "A valid value, or `null`." },
            "sensitive": { "type": "boolean", "description": "Whether errors omit the values." },
            "showIf": {
                "type": ["object", "null"],
                "description": "The condition under which the field is shown; hidden fields take no value.",
                "required": ["field", "op", "value"],
                "properties": {
                    "field": { "type": "string", "description": "A field of the same level." },
                    "op": { "enum": Operator::ALL.map(Operator::as_str) },
                    "value": {},
                },
            },
            "fields": { "type": ["array", "null"], "items": reference("FormField"), "description": "The fields of a group or of a list's elements." },
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::{Submission, WithHistory};

    #[test]
    fn the_examples_are_real() {
        let submission: Submission = serde_json::from_value(approved_example()).unwrap();
        assert_eq!(serde_json::to_value(WithHistory(submission.clone())).unwrap(), approved_example());
        assert_eq!(serde_json::to_value(submission).unwrap(), listed_example());
        assert_eq!(schema_example()["fields"].as_array().unwrap().len(), 6);
        assert_eq!(structure_example()["formData"]["fullName"], "Zoë Okafor");
    }
}
