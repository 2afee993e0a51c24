//! A template and its fields, as stored and as the schema endpoint answers them (contract 2.3.1).

use serde::{Deserialize, Serialize};

use super::{SubmissionPolicy, SubmissionStatus, TemplateStatus, Transition};
use crate::json::{Json, Number};
use crate::schema::FieldOption;
use crate::values::{AgentId, Block, Line, TemplateId, Timestamp};

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
        crate::values::fold(self.name.as_str())
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

/// What a field takes (contract 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormFieldType {
    /// Single-line text.
    Text,
    /// Multi-line text.
    Textarea,
    /// An email address.
    Email,
    /// A telephone number.
    Phone,
    /// An absolute http or https URL.
    Url,
    /// A number.
    Number,
    /// A number without fraction.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// `YYYY-MM-DD`
    Date,
    /// `HH:MM` or `HH:MM:SS`
    Time,
    /// RFC 3339 with offset.
    Datetime,
    /// One of the options.
    Select,
    /// The same, shown otherwise.
    Radio,
    /// An array of options.
    Multiselect,
    /// The same, shown otherwise.
    Checkboxes,
    /// The id of a file of the contact; with `minItems` or `maxItems` also an array of ids.
    File,
    /// An object of fields.
    Group,
    /// An array of objects of fields.
    List,
}

impl FormFieldType {
    /// Every type.
    pub const ALL: [FormFieldType; 18] = [
        FormFieldType::Text,
        FormFieldType::Textarea,
        FormFieldType::Email,
        FormFieldType::Phone,
        FormFieldType::Url,
        FormFieldType::Number,
        FormFieldType::Integer,
        FormFieldType::Boolean,
        FormFieldType::Date,
        FormFieldType::Time,
        FormFieldType::Datetime,
        FormFieldType::Select,
        FormFieldType::Radio,
        FormFieldType::Multiselect,
        FormFieldType::Checkboxes,
        FormFieldType::File,
        FormFieldType::Group,
        FormFieldType::List,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FormFieldType::Text => "text",
            FormFieldType::Textarea => "textarea",
            FormFieldType::Email => "email",
            FormFieldType::Phone => "phone",
            FormFieldType::Url => "url",
            FormFieldType::Number => "number",
            FormFieldType::Integer => "integer",
            FormFieldType::Boolean => "boolean",
            FormFieldType::Date => "date",
            FormFieldType::Time => "time",
            FormFieldType::Datetime => "datetime",
            FormFieldType::Select => "select",
            FormFieldType::Radio => "radio",
            FormFieldType::Multiselect => "multiselect",
            FormFieldType::Checkboxes => "checkboxes",
            FormFieldType::File => "file",
            FormFieldType::Group => "group",
            FormFieldType::List => "list",
        }
    }

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowIf {
    /// A field of the same level.
    pub field: String,
    /// How its answer is looked at.
    pub op: Operator,
    /// What it is compared with.
    pub value: Json,
}

/// How a condition looks at an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operator {
    /// It is the value.
    Equals,
    /// It is not the value, or there is none.
    NotEquals,
    /// It is one of the values.
    In,
    /// Its text or one of its elements has the value.
    Contains,
    /// There is one, unless the value is `false`: then there is none.
    Answered,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 5] =
        [Operator::Equals, Operator::NotEquals, Operator::In, Operator::Contains, Operator::Answered];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Operator::Equals => "equals",
            Operator::NotEquals => "notEquals",
            Operator::In => "in",
            Operator::Contains => "contains",
            Operator::Answered => "answered",
        }
    }
}

/// A template as lists show it (contract 2.3.1).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
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
