//! A template and its fields, as stored and as the schema endpoint answers them (contract 2.3.1).

use serde::{Deserialize, Serialize};

use super::{SubmissionPolicy, SubmissionStatus, TemplateStatus, Transition};
use crate::json::{Json, Number, json_object, schemas};
use crate::schema::FieldOption;
use crate::values::{AgentId, Block, Line, TemplateId, Timestamp, words};

/// A template at one version.
#[derive(Clone, Debug, PartialEq)]
pub struct FormTemplate {
    /// The platform id.
    pub id: TemplateId,
    /// The agent.
    pub agent_id: AgentId,
    /// What people call it.
    pub name: Line<100>,
    /// What it is for.
    pub description: Option<Block<1000>>,
    /// 1 at creation; every edit of a template that was ever active raises it.
    pub version: u64,
    /// The state.
    pub status: TemplateStatus,
    /// What a new submission does to earlier ones.
    pub submission_policy: SubmissionPolicy,
    /// Changes of status that submissions to this template may not make, sorted.
    pub disabled_transitions: Vec<Transition>,
    /// The fields, in order.
    pub fields: Vec<FormField>,
    /// When the template was created; never changes.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// 1 at creation, one more with each change of whatever kind: what writes are checked against.
    pub generation: u64,
}

impl FormTemplate {
    /// What its name sorts by: case folded, accents removed.
    #[must_use]
    pub fn name_key(&self) -> String {
        values::fold(self.name.as_str())
    }

    /// The states that may follow `from` under this template, `from` itself left out (contract 3).
    #[must_use]
    pub fn followers(&self, from: SubmissionStatus) -> Vec<SubmissionStatus> {
        let is_enabled =
            |to: &SubmissionStatus| !self.disabled_transitions.contains(&Transition { from, to: *to });
        from.followers().iter().copied().filter(is_enabled).collect()
    }

    /// The strong entity tag of the documents made from the template, quotes included (contract 5.4).
    #[must_use]
    pub fn etag(&self) -> String {
        format!("\"{:x}-{:x}\"", self.generation, self.updated_at.millis())
    }
}

words! {
    /// What a field takes (contract 2.3.1).
    FormFieldType, 18 {
        /// Single-line text.
        Text = "text",
        /// Multi-line text.
        Textarea = "textarea",
        /// An email address.
        Email = "email",
        /// A telephone number.
        Phone = "phone",
        /// An absolute http or https URL.
        Url = "url",
        /// A number.
        Number = "number",
        /// A number without fraction.
        Integer = "integer",
        /// `true` or `false`.
        Boolean = "boolean",
        /// `YYYY-MM-DD`
        Date = "date",
        /// `HH:MM` or `HH:MM:SS`
        Time = "time",
        /// RFC 3339 with offset.
        Datetime = "datetime",
        /// One of the options.
        Select = "select",
        /// The same, shown otherwise.
        Radio = "radio",
        /// An array of options.
        Multiselect = "multiselect",
        /// The same, shown otherwise.
        Checkboxes = "checkboxes",
        /// The id of a file of the contact; with `minItems` or `maxItems` also an array of ids.
        File = "file",
        /// An object of fields.
        Group = "group",
        /// An array of objects of fields.
        List = "list",
    }
}

impl FormFieldType {
    /// Whether values come from the field's options.
    #[must_use]
    pub const fn has_options(self) -> bool {
        matches!(
            self,
            FormFieldType::Select
                | FormFieldType::Radio
                | FormFieldType::Multiselect
                | FormFieldType::Checkboxes
        )
    }

    /// Whether the field has fields of its own.
    #[must_use]
    pub const fn has_fields(self) -> bool {
        matches!(self, FormFieldType::Group | FormFieldType::List)
    }
}

/// The definition of a field.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormField {
    /// The name of the member, unique in its level.
    pub name: String,
    /// What people read.
    pub label: String,
    /// What the field takes.
    #[serde(rename = "type")]
    pub kind: FormFieldType,
    /// Whether it must be answered where it is shown.
    pub required: bool,
    /// A longer explanation.
    pub description: Option<String>,
    /// What an empty input shows.
    pub placeholder: Option<String>,
    /// Where it stands among the fields of its level.
    pub order: i64,
    /// The heading it stands under.
    pub section: Option<String>,
    /// What may be chosen.
    pub options: Option<Vec<FieldOption>>,
    /// Further rules.
    pub validation: Option<ValidationRules>,
    /// A hint for form builders; never applied.
    #[serde(rename = "default")]
    pub default_value: Option<Json>,
    /// A valid value, as a hint and for the legacy structure.
    pub example: Option<Json>,
    /// Whether errors omit the values.
    pub sensitive: bool,
    /// The condition under which the field is shown; always without one.
    pub show_if: Option<ShowIf>,
    /// The fields of a group or of a list's elements.
    pub fields: Option<Vec<FormField>>,
}

json_object! { FormField as "FormField" = |field| {
    "name": String { "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$" } = field.name,
    "label": String = field.label,
    "type": FormFieldType = field.kind,
    "required": bool = field.required,
    "description": Option<String> = field.description,
    "placeholder": Option<String> = field.placeholder,
    "order": i64 = field.order,
    "section": Option<String> = field.section,
    "options": Option<Vec<FieldOption>> = field.options,
    "validation": Option<ValidationRules> {
        "description": "Rules beyond those of the type; only those that are set."
    } = field.validation,
    "default": Option<Json> { "description": "A hint for form builders; never applied." } = field.default_value,
    "example": Option<Json> { "description": "A valid value, or `null`." } = field.example,
    "sensitive": bool { "description": "Whether errors omit the values." } = field.sensitive,
    "showIf": Option<ShowIf> {
        "description": "The condition under which the field is shown; hidden fields take no value."
    } = field.show_if,
    "fields": Option<Vec<FormField>> {
        "description": "The fields of a group or of a list's elements."
    } = field.fields,
} }

schemas! {
    FormFieldType: { "enum": FormFieldType::ALL.map(FormFieldType::as_str) },
    Operator: { "enum": Operator::ALL.map(Operator::as_str) },
    ValidationRules: { "type": "object", "additionalProperties": true },
}

/// Rules beyond those of the type (contract 2.3.1). Only those that are set are written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidationRules {
    /// The fewest characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    /// The most characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    /// A linear-time regular expression, anchored only as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// What people read when the pattern does not match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern_message: Option<String>,
    /// The least number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// The greatest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// The step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_of: Option<Number>,
    /// The fewest elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u32>,
    /// The most elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u32>,
    /// The earliest date, time or timestamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_date: Option<String>,
    /// The latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_date: Option<String>,
}

/// The condition under which a field is shown.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowIf {
    /// A field of the same level.
    pub field: String,
    /// How its answer is looked at.
    pub op: Operator,
    /// What it is compared with.
    pub value: Json,
}

json_object! { ShowIf = |condition| {
    "field": String { "description": "A field of the same level." } = condition.field,
    "op": Operator = condition.op,
    "value": Json = condition.value,
} }

words! {
    /// How a condition looks at an answer.
    Operator, 5 {
        /// It is the value.
        Equals = "equals",
        /// It is not the value, or there is none.
        NotEquals = "notEquals",
        /// It is one of the values.
        In = "in",
        /// Its text or one of its elements has the value.
        Contains = "contains",
        /// There is one, unless the value is `false`: then there is none.
        Answered = "answered",
    }
}

/// A template as lists show it (contract 2.3.1).
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateSummary {
    /// The platform id.
    pub id: TemplateId,
    /// The agent.
    pub agent_id: AgentId,
    /// What people call it.
    pub name: Line<100>,
    /// What it is for.
    pub description: Option<Block<1000>>,
    /// The version in force.
    pub version: u64,
    /// The state.
    pub status: TemplateStatus,
    /// What a new submission does to earlier ones.
    pub submission_policy: SubmissionPolicy,
    /// How many fields it has at the top.
    pub field_count: u64,
    /// When the template was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

json_object! { TemplateSummary as "Template" = |template| {
    "id": TemplateId = template.id,
    "agentId": AgentId = template.agent_id,
    "name": Line<100> = template.name,
    "description": Option<Block<1000>> = template.description,
    "version": u64 { "minimum": 1 } = template.version,
    "status": TemplateStatus = template.status,
    "submissionPolicy": SubmissionPolicy = template.submission_policy,
    "fieldCount": u64 { "minimum": 1, "description": "Fields at the top." } = template.field_count,
    "createdAt": Timestamp = template.created_at,
    "updatedAt": Timestamp = template.updated_at,
} }

impl From<&FormTemplate> for TemplateSummary {
    fn from(template: &FormTemplate) -> Self {
        TemplateSummary {
            id: template.id,
            agent_id: template.agent_id.clone(),
            name: template.name.clone(),
            description: template.description.clone(),
            version: template.version,
            status: template.status,
            submission_policy: template.submission_policy,
            field_count: template.fields.len() as u64,
            created_at: template.created_at,
            updated_at: template.updated_at,
        }
    }
}
