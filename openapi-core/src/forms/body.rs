//! Reads the bodies of submissions: members as sent, all errors at once (contract 2.3.2, 4.4).

use serde_json::{Value, json};

use super::{CompiledTemplate, Completeness, Submission, SubmissionStatus};
use crate::json::{Json, JsonSchema, Object, RawObject, object_schema};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{Block, FileId, Opaque, TemplateId, TextValue};

/// What a submit asks for, checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewForm {
    pub(crate) form_data: RawObject,
    pub(crate) submission_notes: Option<Block<4000>>,
    pub(crate) client_id: Option<Opaque<128>>,
    pub(crate) is_draft: bool,
}

object_schema! { NewForm as "NewSubmission" { "additionalProperties": false } = {
    "formData": RawObject {
        "description": "The answers, as the template's schema has them; at most 256 KiB as stored. `null` is no answer."
    },
    "submissionNotes" optional: Option<Block<4000>>,
    "clientId" optional: Option<Opaque<128>>,
    "status" optional: Option<String> {
        "enum": ["submitted", "draft", null],
        "description": "`draft` stores a draft; `submitted` by default."
    },
} }

/// An element of a batch: a submit with its template.
struct Element;

impl JsonSchema for Element {
    fn schema() -> Value {
        let mut schema = NewForm::schema();
        schema["required"] = json!(["templateId", "formData"]);
        schema["properties"]["templateId"] =
            json!({ "type": "string", "description": "A template of the agent." });
        schema
    }
}

/// The body of a batch.
pub(crate) struct Batch;

object_schema! { Batch as "SubmissionBatch" { "additionalProperties": false } = {
    "submissions": Vec<Element> { "minItems": 1, "maxItems": 10 },
    "allOrNone" optional: Option<bool> {
        "default": true, "description": "Whether one that fails makes all fail."
    },
} }

/// What an update asks for, checked: the values as they are to be; none where they are not touched.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Change {
    pub(crate) form_data: Option<RawObject>,
    pub(crate) submission_notes: Option<Option<Block<4000>>>,
    pub(crate) review_notes: Option<Option<Block<4000>>>,
    pub(crate) status: Option<SubmissionStatus>,
}

object_schema! { Change as "SubmissionChanges" {
    "description": "What is to change; members of the record that cannot be changed are ignored."
} = {
    "formData" optional: RawObject { "description": "Merged into the stored data (RFC 7396)." },
    "submissionNotes" optional: Option<Block<4000>>,
    "reviewNotes" optional: Option<Block<4000>>,
    "status" optional: SubmissionStatus,
} }

/// Members under a name that errors give the object; empty for the body itself.
struct Members<'a> {
    members: &'a Object,
    root: &'a str,
    found: Violations,
}

impl<'a> Members<'a> {
    fn new(members: &'a Object, root: &'a str) -> Self {
        Members { members, root, found: Violations::new() }
    }

    fn path(&self, name: &str) -> String {
        if self.root.is_empty() { name.to_owned() } else { format!("{}.{name}", self.root) }
    }

    fn fault(&mut self, name: &str, value: Option<&Json>, fault: ValidationIssue) {
        self.found.push(ValidationError::new(Location::Body, self.path(name), value, fault));
    }

    fn unknown(&mut self, name: &str, value: &Json) {
        let fault = match name.contains('\0') {
            true => ValidationIssue::invalid_characters(),
            false => ValidationIssue::new(ValidationCode::Unknown, "is not a member of this request"),
        };
        self.fault(name, Some(value), fault);
    }

    /// Text where `null` and blank are none.
    fn text<T: TextValue>(&mut self, name: &str, value: &Json) -> Option<T> {
        let read = match value {
            Json::Null => return None,
            Json::String(text) => T::parse(text),
            _ => Err(ValidationIssue::wrong_type("a string")),
        };
        match read {
            Ok(value) => Some(value),
            Err(fault) if fault.rule == ValidationCode::Required => None,
            Err(fault) => {
                self.fault(name, Some(value), fault);
                None
            }
        }
    }
}

/// Whether a submit stores a draft, as far as its `status` says so.
fn is_draft(body: &Object) -> bool {
    body.get("status").and_then(Json::as_str) == Some(SubmissionStatus::Draft.as_str())
}

/// Whether an element of a batch hands something in.
pub(crate) fn hands_in(element: &Object) -> bool {
    !is_draft(element)
}

/// The template of an element of a batch, if it is well-formed.
pub(crate) fn template_of(element: &Object) -> Option<TemplateId> {
    element.get("templateId").and_then(Json::as_str).and_then(|text| text.parse().ok())
}

/// What is known of the template of an element of a batch.
pub(crate) enum ElementTemplate<'a> {
    /// It is there.
    Found(&'a CompiledTemplate),
    /// It is there, and an earlier element hands in a submission of the same succession.
    Repeated(&'a CompiledTemplate),
    /// There is no such template, or no well-formed id.
    Missing,
}

impl NewForm {
    /// Reads the body of a submit.
    pub(crate) fn read(
        body: &Object,
        template: &CompiledTemplate,
        has_file: &dyn Fn(FileId) -> bool,
    ) -> Result<Self, Violations> {
        NewForm::read_members(Members::new(body, ""), None, Some(template), has_file)
    }

    /// Reads an element of a batch, which errors name `root`.
    pub(crate) fn read_element(
        element: &Json,
        root: &str,
        template: &ElementTemplate<'_>,
        has_file: &dyn Fn(FileId) -> bool,
    ) -> Result<Self, Violations> {
        let Json::Object(members) = element else {
            let fault = ValidationIssue::wrong_type("an object");
            return Err(ValidationError::new(Location::Body, root, Some(element), fault).into());
        };
        let compiled = match template {
            ElementTemplate::Found(compiled) | ElementTemplate::Repeated(compiled) => Some(*compiled),
            ElementTemplate::Missing => None,
        };
        NewForm::read_members(Members::new(members, root), Some(template), compiled, has_file)
    }

    fn read_members(
        mut body: Members<'_>,
        element: Option<&ElementTemplate<'_>>,
        template: Option<&CompiledTemplate>,
        has_file: &dyn Fn(FileId) -> bool,
    ) -> Result<Self, Violations> {
        let is_draft = is_draft(body.members);
        let completeness = if is_draft { Completeness::Draft } else { Completeness::Complete };
        let mut form =
            NewForm { form_data: RawObject::default(), submission_notes: None, client_id: None, is_draft };
        for (name, value) in body.members.iter() {
            match (name, value) {
                ("templateId", value) if element.is_some() => {
                    if let Some(fault) = element.and_then(|element| template_fault(value, element)) {
                        body.fault(name, Some(value), fault);
                    }
                }
                ("formData", Json::Null) => body.fault(name, None, ValidationIssue::required()),
                ("formData", Json::Object(data)) => {
                    let Some(template) = template else { continue };
                    match template.check(data, completeness, &body.path(name), has_file) {
                        Ok(data) => form.form_data = data,
                        Err(violations) => body.found.extend(violations),
                    }
                }
                ("formData", value) => {
                    body.fault(name, Some(value), ValidationIssue::wrong_type("an object"));
                }
                ("submissionNotes", value) => form.submission_notes = body.text(name, value),
                ("clientId", value) => form.client_id = body.text(name, value),
                ("status", Json::Null) => {}
                ("status", Json::String(word)) => {
                    let allowed =
                        [SubmissionStatus::Submitted, SubmissionStatus::Draft].map(SubmissionStatus::as_str);
                    if !allowed.contains(&word.as_str()) {
                        body.fault(name, Some(value), ValidationIssue::not_one_of(&allowed));
                    }
                }
                ("status", value) => body.fault(name, Some(value), ValidationIssue::wrong_type("a string")),
                (name, value) => body.unknown(name, value),
            }
        }
        if element.is_some() && body.members.get("templateId").is_none() {
            body.fault("templateId", None, ValidationIssue::required());
        }
        if body.members.get("formData").is_none() {
            body.fault("formData", None, ValidationIssue::required());
        }
        if body.found.is_empty() { Ok(form) } else { Err(body.found) }
    }
}

fn template_fault(value: &Json, template: &ElementTemplate<'_>) -> Option<ValidationIssue> {
    match (value, template) {
        (Json::Null, _) => Some(ValidationIssue::required()),
        (Json::String(text), _) if text.trim().is_empty() => Some(ValidationIssue::required()),
        (Json::String(text), _) if text.parse::<TemplateId>().is_err() => {
            Some(ValidationIssue::new(ValidationCode::Format, "must be 24 hexadecimal characters"))
        }
        (Json::String(_), ElementTemplate::Missing) => {
            Some(ValidationIssue::new(ValidationCode::Reference, "is not a template of this agent"))
        }
        (Json::String(_), ElementTemplate::Repeated(_)) => Some(ValidationIssue::new(
            ValidationCode::Duplicate,
            "is submitted by an earlier element already, which this one would supersede",
        )),
        (Json::String(_), ElementTemplate::Found(_)) => None,
        _ => Some(ValidationIssue::wrong_type("a string")),
    }
}

/// Members of the record that a request may repeat: they are ignored (contract 2.3.2).
const RECORD: [&str; 20] = [
    "id",
    "agentId",
    "templateId",
    "templateName",
    "templateVersion",
    "contactId",
    "externalReferenceId",
    "revision",
    "supersedes",
    "isSuperseded",
    "supersededBy",
    "supersededAt",
    "source",
    "createdBy",
    "reviewedBy",
    "reviewedAt",
    "submittedAt",
    "statusHistory",
    "createdAt",
    "updatedAt",
];

/// The data that an update would make of the stored data: merged by RFC 7396, what is not answered left out.
pub(crate) fn merged(current: &Submission, body: &Object) -> Option<Object> {
    let patch = body.get("formData")?.as_object()?;
    let mut data = current.form_data.members();
    data.merge(patch);
    Some(data)
}

impl Change {
    /// Reads the body of an update of `current`, whose data is checked against `template`. `data` is what [`merged`]
    /// made of it.
    pub(crate) fn read(
        body: &Object,
        current: &Submission,
        template: &CompiledTemplate,
        data: Option<&Object>,
        has_file: &dyn Fn(FileId) -> bool,
    ) -> Result<Self, Violations> {
        let asked =
            body.get("status").and_then(Json::as_str).and_then(|word| SubmissionStatus::parse(word).ok());
        let resulting = asked.unwrap_or(current.status);
        let completeness = match resulting {
            SubmissionStatus::Draft => Completeness::Draft,
            _ => Completeness::Complete,
        };
        let mut body = Members::new(body, "");
        let mut change = Change::default();
        for (name, value) in body.members.iter() {
            match (name, value) {
                ("formData" | "status", Json::Null) => body.fault(name, None, ValidationIssue::required()),
                ("formData", Json::Object(_)) => {
                    let Some(data) = data else { continue };
                    match template.check(data, completeness, name, has_file) {
                        Ok(data) => change.form_data = Some(data),
                        Err(violations) => body.found.extend(violations),
                    }
                }
                ("formData", value) => {
                    body.fault(name, Some(value), ValidationIssue::wrong_type("an object"));
                }
                ("submissionNotes", value) => change.submission_notes = Some(body.text(name, value)),
                ("reviewNotes", value) => {
                    let notes = body.text(name, value);
                    let is_blank = notes.is_none() && matches!(value, Json::Null | Json::String(_));
                    if is_blank && reopens(current, asked, template) {
                        body.fault(name, Some(value), ValidationIssue::required());
                    }
                    change.review_notes = Some(notes);
                }
                ("status", Json::String(word)) => match SubmissionStatus::parse(word) {
                    Ok(status) => change.status = Some(status),
                    Err(fault) => body.fault(name, Some(value), fault),
                },
                ("status", value) => body.fault(name, Some(value), ValidationIssue::wrong_type("a string")),
                ("clientId", value) => {
                    let before = body.found.total();
                    let sent: Option<Opaque<128>> = body.text(name, value);
                    if body.found.total() == before && sent != current.client_id {
                        body.fault(
                            name,
                            Some(value),
                            ValidationIssue::new(ValidationCode::Conflict, "cannot be changed"),
                        );
                    }
                }
                (name, _) if RECORD.contains(&name) => {}
                (name, value) => body.unknown(name, value),
            }
        }
        if body.members.get("formData").is_none()
            && current.status == SubmissionStatus::Draft
            && asked == Some(SubmissionStatus::Submitted)
            && let Err(violations) =
                template.check(&current.form_data.members(), Completeness::Complete, "formData", has_file)
        {
            body.found.extend(violations);
        }
        if body.members.get("reviewNotes").is_none() && reopens(current, asked, template) {
            body.fault("reviewNotes", None, ValidationIssue::required());
        }
        if body.found.is_empty() { Ok(change) } else { Err(body.found) }
    }
}

/// Whether an approval is taken back, which needs a reason (contract 3).
fn reopens(current: &Submission, asked: Option<SubmissionStatus>, template: &CompiledTemplate) -> bool {
    current.status == SubmissionStatus::Approved
        && asked == Some(SubmissionStatus::UnderReview)
        && template.template().followers(current.status).contains(&SubmissionStatus::UnderReview)
}
