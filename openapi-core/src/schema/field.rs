//! The definition of one field, standard or custom: one shape for both.

use serde::Deserialize;

use super::option::FieldOption;
use super::pattern::Pattern;
use super::rules::{Form, Limit, Rules};
use crate::json::{Json, json_object, schemas};
use crate::values::words;

words! {
    /// What a field takes (contract 2.1.4).
    FieldType, 15 {
        /// Single-line text.
        String = "string",
        /// Multi-line text.
        Text = "text",
        /// An email address.
        Email = "email",
        /// A telephone number.
        Phone = "phone",
        /// A country calling code.
        PhoneCode = "phoneCode",
        /// An absolute http or https URL.
        Url = "url",
        /// A number without fraction.
        Integer = "integer",
        /// A number.
        Number = "number",
        /// `true` or `false`.
        Boolean = "boolean",
        /// `YYYY-MM-DD`.
        Date = "date",
        /// RFC 3339 with offset.
        Datetime = "datetime",
        /// One of the options.
        Select = "select",
        /// An array of options.
        Multiselect = "multiselect",
        /// An array of tags.
        Tags = "tags",
        /// An object of any JSON values.
        Object = "object",
    }
}

impl FieldType {
    /// Whether values are text, so that lengths and patterns apply.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            FieldType::String
                | FieldType::Text
                | FieldType::Email
                | FieldType::Phone
                | FieldType::PhoneCode
                | FieldType::Url
        )
    }

    /// Whether two values can be compared as a whole, so that `unique` applies.
    #[must_use]
    pub const fn is_scalar(self) -> bool {
        !matches!(self, FieldType::Multiselect | FieldType::Tags | FieldType::Object | FieldType::Boolean)
    }
}

/// The definition of a field as the schema endpoint answers it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldDefinition {
    /// The name of the member.
    pub name: String,
    /// What people read.
    pub label: String,
    /// A longer explanation.
    pub description: Option<String>,
    /// What the field takes.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// Whether a create must carry it and an update may not clear it.
    pub required: bool,
    /// Whether requests are ignored on it.
    pub read_only: bool,
    /// Whether no two contacts of the agent may share a value.
    pub unique: bool,
    /// Whether search and errors omit the values.
    pub sensitive: bool,
    /// Whether the field lies under `customFields`.
    pub custom: bool,
    /// The fewest characters.
    pub min_length: Option<u32>,
    /// The most characters; of an address bytes.
    pub max_length: Option<u32>,
    /// A linear-time regular expression, anchored only as written.
    pub pattern: Option<String>,
    /// The least value: a number, or a date or timestamp as text.
    pub minimum: Option<Json>,
    /// The greatest value.
    pub maximum: Option<Json>,
    /// The options.
    pub options: Option<Vec<FieldOption>>,
    /// The value of a created contact that has none.
    pub default: Option<Json>,
}

json_object! { FieldDefinition as "FieldDefinition" = |field| {
    "name": String = field.name,
    "label": String = field.label,
    "description": Option<String> = field.description,
    "type": FieldType = field.kind,
    "required": bool = field.required,
    "readOnly": bool = field.read_only,
    "unique": bool = field.unique,
    "sensitive": bool = field.sensitive,
    "custom": bool = field.custom,
    "minLength": Option<u32> = field.min_length,
    "maxLength": Option<u32> = field.max_length,
    "pattern": Option<String> = field.pattern,
    "minimum": Option<Json> { "type": ["number", "string", "null"] } = field.minimum,
    "maximum": Option<Json> { "type": ["number", "string", "null"] } = field.maximum,
    "options": Option<Vec<FieldOption>> = field.options,
    "default": Option<Json> = field.default,
} }

schemas! { FieldType: { "enum": FieldType::ALL.map(FieldType::as_str) }, }

/// The longest multi-line text of a contact's field, in characters.
const MAX_TEXT: usize = 5_000;

impl FieldDefinition {
    /// The rules of a value of this field, with its pattern compiled.
    pub(crate) fn rules<'a>(&'a self, pattern: Option<&'a Pattern>) -> Rules<'a> {
        let form = match self.kind {
            FieldType::String => Form::Line,
            FieldType::Text => Form::Block(MAX_TEXT),
            FieldType::Email => Form::Email,
            FieldType::Phone => Form::Phone,
            FieldType::PhoneCode => Form::PhoneCode,
            FieldType::Url => Form::Url,
            FieldType::Integer => Form::Integer,
            FieldType::Number => Form::Number,
            FieldType::Boolean => Form::Boolean,
            FieldType::Date => Form::Date,
            FieldType::Datetime => Form::Datetime,
            FieldType::Select => Form::Choice,
            FieldType::Multiselect => Form::Choices,
            FieldType::Tags => Form::Tags,
            FieldType::Object => Form::Object,
        };
        fn limit(bound: Option<&Json>) -> Option<Limit<'_>> {
            match bound {
                Some(Json::Number(number)) => Some(Limit::Number(number)),
                Some(Json::String(text)) => Some(Limit::Moment(text)),
                _ => None,
            }
        }
        Rules {
            required: self.required,
            min_length: self.min_length,
            max_length: self.max_length,
            pattern,
            minimum: limit(self.minimum.as_ref()),
            maximum: limit(self.maximum.as_ref()),
            options: self.options.as_deref().unwrap_or_default(),
            ..Rules::of(form)
        }
    }

    /// Whether a create must carry the field: it is required and no default stands in for it. An empty default is
    /// blank, and blank does not satisfy `required`.
    #[must_use]
    pub(crate) fn must_be_sent(&self) -> bool {
        let blank = match &self.default {
            None | Some(Json::Null) => true,
            Some(Json::Array(items)) => items.is_empty(),
            Some(Json::Object(members)) => members.is_empty(),
            Some(Json::String(text)) => text.trim().is_empty(),
            Some(_) => false,
        };
        self.required && blank
    }
}
