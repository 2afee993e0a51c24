//! The schema of an extraction: the fields that a caller wants (contract 12.1).

use serde_json::{Value, json};

use crate::json::{Json, JsonSchema, Number};
use crate::schema::Pattern;
use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{Date, TextValue, Timestamp};

/// The most fields at the top.
pub const MAX_FIELDS: usize = 100;
/// The most definitions at all levels.
pub const MAX_NODES: usize = 500;
/// The most levels; a field at the top is level 1, and both `items` and `properties` lead to the next one.
pub const MAX_DEPTH: usize = 5;
/// The longest schema, in bytes of JSON without white space.
pub const MAX_BYTES: usize = 64 * 1024;

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExtractionType {
    /// Text.
    String,
    /// A JSON number.
    Number,
    /// `YYYY-MM-DD`
    Date,
    /// `true` or `false`
    Boolean,
    /// An email address.
    Email,
    /// Elements of one kind.
    Array,
    /// Named members.
    Object,
    /// A number without fraction.
    Integer,
    /// RFC 3339.
    Datetime,
    /// A telephone number.
    Phone,
    /// An absolute http or https URL.
    Url,
    /// An amount and the code of its currency.
    Currency,
}

impl ExtractionType {
    /// Every type, in the order of the contract.
    pub const ALL: [ExtractionType; 12] = [
        ExtractionType::String,
        ExtractionType::Number,
        ExtractionType::Date,
        ExtractionType::Boolean,
        ExtractionType::Email,
        ExtractionType::Array,
        ExtractionType::Object,
        ExtractionType::Integer,
        ExtractionType::Datetime,
        ExtractionType::Phone,
        ExtractionType::Url,
        ExtractionType::Currency,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ExtractionType::String => "string",
            ExtractionType::Number => "number",
            ExtractionType::Date => "date",
            ExtractionType::Boolean => "boolean",
            ExtractionType::Email => "email",
            ExtractionType::Array => "array",
            ExtractionType::Object => "object",
            ExtractionType::Integer => "integer",
            ExtractionType::Datetime => "datetime",
            ExtractionType::Phone => "phone",
            ExtractionType::Url => "url",
            ExtractionType::Currency => "currency",
        }
    }

    /// Whether a value of the type is a JSON string.
    #[must_use]
    pub const fn is_text(self) -> bool {
        use ExtractionType::{Date, Datetime, Email, Phone, String, Url};
        matches!(self, String | Date | Datetime | Email | Phone | Url)
    }

    /// Whether a value of the type is a number, or an amount with its currency.
    #[must_use]
    pub const fn is_numeric(self) -> bool {
        matches!(self, ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency)
    }
}

/// What a caller wants to know of a document: named fields, in the order of the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractionSchema {
    pub(super) fields: Vec<(String, ExtractionField)>,
}

impl ExtractionSchema {
    /// The fields, at least one, as sent; no name occurs twice.
    #[must_use]
    pub fn fields(&self) -> &[(String, ExtractionField)] {
        &self.fields
    }
}

/// One field: what it is, what it means, and what its value keeps.
#[derive(Clone, Debug)]
pub struct ExtractionField {
    /// What a value is.
    pub kind: ExtractionType,
    /// What the caller says that the field means.
    pub description: Option<String>,
    /// Whether a document without it is a fault of validation.
    pub required: bool,
    /// What an element of an array is; none means text.
    pub items: Option<Box<ExtractionField>>,
    /// The members of an object, in the order of the answer; none means scalars as found.
    pub properties: Option<Vec<(String, ExtractionField)>>,
    /// What the value must be one of; empty for no such rule.
    pub options: Vec<Json>,
    /// How the value is written, such as `DD/MM/YYYY`: guidance.
    pub format: Option<String>,
    /// A value as the caller expects it: guidance.
    pub example: Option<Json>,
    /// What the text of a value must match; linear in the text.
    pub pattern: Option<Pattern>,
    /// The least value.
    pub minimum: Option<Bound>,
    /// The greatest value.
    pub maximum: Option<Bound>,
}

/// A bound of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Of a number or an amount.
    Number(Number),
    /// Of a date.
    Date(Date),
    /// Of an instant.
    Instant(Timestamp),
}

impl Bound {
    /// The bound as written.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Bound::Number(number) => number.as_str().to_owned(),
            Bound::Date(date) => date.as_str().to_owned(),
            Bound::Instant(instant) => instant.to_string(),
        }
    }

    /// How a value lies to the bound; none for a value of another type.
    fn order(&self, value: &Json) -> Option<std::cmp::Ordering> {
        match (self, value) {
            (Bound::Number(bound), Json::Number(number)) => Some(number.compare(bound)),
            (Bound::Number(_), Json::Object(members)) => self.order(members.get("amount")?),
            (Bound::Date(bound), Json::String(text)) => Date::parse(text).ok().map(|date| date.cmp(bound)),
            (Bound::Instant(bound), Json::String(text)) => {
                Timestamp::parse(text).ok().map(|instant| instant.cmp(bound))
            }
            _ => None,
        }
    }
}

impl PartialEq for ExtractionField {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.description == other.description
            && self.required == other.required
            && self.items == other.items
            && self.properties == other.properties
            && self.options == other.options
            && self.format == other.format
            && self.example == other.example
            && self.pattern.as_ref().map(Pattern::as_str) == other.pattern.as_ref().map(Pattern::as_str)
            && self.minimum == other.minimum
            && self.maximum == other.maximum
    }
}

impl ExtractionField {
    /// A field of a type without further rules.
    #[must_use]
    pub fn of(kind: ExtractionType) -> Self {
        ExtractionField {
            kind,
            description: None,
            required: false,
            items: None,
            properties: None,
            options: Vec::new(),
            format: None,
            example: None,
            pattern: None,
            minimum: None,
            maximum: None,
        }
    }

    /// Whether a value of the field's type keeps `enum`, `pattern` and bounds.
    ///
    /// # Errors
    /// The first of them that it breaks.
    pub fn check(&self, value: &Json) -> Result<(), ValidationIssue> {
        if !self.options.is_empty() && !self.options.iter().any(|option| agrees(option, value)) {
            let allowed: Vec<String> = self.options.iter().map(shown).collect();
            let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
            return Err(ValidationIssue::not_one_of(&allowed));
        }
        if let (Some(pattern), Some(text)) = (&self.pattern, value.as_str())
            && !pattern.is_match(text)
        {
            return Err(ValidationIssue::new(ValidationCode::Pattern, format!("must match {pattern}")));
        }
        if let Some(least) = &self.minimum
            && least.order(value) == Some(std::cmp::Ordering::Less)
        {
            return Err(ValidationIssue::new(
                ValidationCode::Minimum,
                format!("must be at least {}", least.text()),
            ));
        }
        if let Some(most) = &self.maximum
            && most.order(value) == Some(std::cmp::Ordering::Greater)
        {
            return Err(ValidationIssue::new(
                ValidationCode::Maximum,
                format!("must be at most {}", most.text()),
            ));
        }
        Ok(())
    }
}

/// Whether a value is an option: text as it is, numbers by their value, an amount by its amount.
fn agrees(option: &Json, value: &Json) -> bool {
    match (option, value) {
        (Json::Number(option), Json::Number(value)) => option.compare(value).is_eq(),
        (Json::Number(_), Json::Object(members)) => {
            members.get("amount").is_some_and(|amount| agrees(option, amount))
        }
        _ => option == value,
    }
}

fn shown(option: &Json) -> String {
    option.as_str().map_or_else(|| option.to_text(), str::to_owned)
}

/// The regular expression of a `pattern`.
pub(super) fn pattern(text: &str) -> Option<Pattern> {
    Pattern::new(text).ok()
}

/// A definition: a type, and what goes with it.
impl JsonSchema for ExtractionField {
    const NAME: Option<&'static str> = Some("ExtractionField");

    fn schema() -> Value {
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["type"],
            "properties": {
                "type": { "enum": ExtractionType::ALL.map(ExtractionType::as_str) },
                "description": { "type": "string", "maxLength": 1_000, "description": "What the field means: helps to find it." },
                "required": { "type": "boolean", "default": false },
                "items": { "$ref": "#/components/schemas/ExtractionField", "description": "Of `array`: what its items are; strings without it." },
                "properties": {
                    "type": "object",
                    "additionalProperties": { "$ref": "#/components/schemas/ExtractionField" },
                    "description": "Of `object`: its members; as found without it.",
                },
                "enum": { "type": "array", "items": {}, "description": "The values that are accepted." },
                "options": { "type": "array", "items": {}, "description": "The same under another name; not both." },
                "format": { "type": "string" },
                "example": {},
                "pattern": { "type": "string", "description": "A regular expression that the value matches." },
                "minimum": {},
                "maximum": {},
            },
        })
    }
}

impl JsonSchema for ExtractionSchema {
    const NAME: Option<&'static str> = Some("ExtractionSchema");

    fn schema() -> Value {
        json!({
            "type": "object",
            "minProperties": 1,
            "maxProperties": MAX_FIELDS,
            "additionalProperties": ExtractionField::reference(),
            "description": "The fields to be found, by name: at most 64 KiB, 500 definitions and 5 levels.",
        })
    }
}
