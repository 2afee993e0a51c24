//! Validation errors, collected so that a caller gets all of them at once (contract 6.2).

use std::borrow::Cow;
use std::fmt;

use crate::json::{Json, json_object};

/// The most violations that one reply lists; the rest is counted (contract 6.2).
pub const MAX_LISTED: usize = 100;

/// Characters of a string that a violation repeats (contract 6.2).
const MAX_ECHO: usize = 256;

/// The kind of rule that a value breaks: `type` of a `validationErrors` element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValidationCode {
    /// Missing, `null` or blank.
    Required,
    /// Wrong JSON type or unreadable scalar.
    Type,
    /// Not of the named form.
    Format,
    /// Not an allowed value.
    Enum,
    /// Too short.
    MinLength,
    /// Too long.
    MaxLength,
    /// Below the range.
    Minimum,
    /// Above the range.
    Maximum,
    /// Breaks a regular expression or a key rule.
    Pattern,
    /// Too few elements.
    MinItems,
    /// Too many elements.
    MaxItems,
    /// A repeated element.
    UniqueItems,
    /// Too few members.
    MinProperties,
    /// Too many members.
    MaxProperties,
    /// Nested too deep.
    MaxDepth,
    /// Serialised size too large.
    MaxSize,
    /// Not a multiple of the step.
    MultipleOf,
    /// Undeclared name.
    Unknown,
    /// Given twice.
    Duplicate,
    /// A name reserved by the service.
    Reserved,
    /// Control characters.
    InvalidCharacters,
    /// Points to nothing.
    Reference,
    /// Two values contradict.
    Conflict,
    /// Already used (409).
    Unique,
    /// Status change not allowed (409).
    Transition,
}

impl ValidationCode {
    /// Every rule.
    pub const ALL: [ValidationCode; 25] = [
        ValidationCode::Required,
        ValidationCode::Type,
        ValidationCode::Format,
        ValidationCode::Enum,
        ValidationCode::MinLength,
        ValidationCode::MaxLength,
        ValidationCode::Minimum,
        ValidationCode::Maximum,
        ValidationCode::Pattern,
        ValidationCode::MinItems,
        ValidationCode::MaxItems,
        ValidationCode::UniqueItems,
        ValidationCode::MinProperties,
        ValidationCode::MaxProperties,
        ValidationCode::MaxDepth,
        ValidationCode::MaxSize,
        ValidationCode::MultipleOf,
        ValidationCode::Unknown,
        ValidationCode::Duplicate,
        ValidationCode::Reserved,
        ValidationCode::InvalidCharacters,
        ValidationCode::Reference,
        ValidationCode::Conflict,
        ValidationCode::Unique,
        ValidationCode::Transition,
    ];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ValidationCode::Required => "required",
            ValidationCode::Type => "type",
            ValidationCode::Format => "format",
            ValidationCode::Enum => "enum",
            ValidationCode::MinLength => "minLength",
            ValidationCode::MaxLength => "maxLength",
            ValidationCode::Minimum => "minimum",
            ValidationCode::Maximum => "maximum",
            ValidationCode::Pattern => "pattern",
            ValidationCode::MinItems => "minItems",
            ValidationCode::MaxItems => "maxItems",
            ValidationCode::UniqueItems => "uniqueItems",
            ValidationCode::MinProperties => "minProperties",
            ValidationCode::MaxProperties => "maxProperties",
            ValidationCode::MaxDepth => "maxDepth",
            ValidationCode::MaxSize => "maxSize",
            ValidationCode::MultipleOf => "multipleOf",
            ValidationCode::Unknown => "unknown",
            ValidationCode::Duplicate => "duplicate",
            ValidationCode::Reserved => "reserved",
            ValidationCode::InvalidCharacters => "invalidCharacters",
            ValidationCode::Reference => "reference",
            ValidationCode::Conflict => "conflict",
            ValidationCode::Unique => "unique",
            ValidationCode::Transition => "transition",
        }
    }
}

/// The part of a request that a violation lies in: `in` of a `validationErrors` element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Location {
    /// A path parameter.
    Path,
    /// A header.
    Header,
    /// A query parameter.
    Query,
    /// A part of a multipart form.
    Form,
    /// The JSON body.
    Body,
}

impl Location {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Location::Path => "path",
            Location::Header => "header",
            Location::Query => "query",
            Location::Form => "form",
            Location::Body => "body",
        }
    }
}

/// Every location, in the order of the OpenAPI document.
const LOCATIONS: [Location; 5] =
    [Location::Body, Location::Query, Location::Path, Location::Header, Location::Form];

/// A broken rule before it is known where: the rule and the words that follow the field's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationIssue {
    /// The rule.
    pub rule: ValidationCode,
    /// What follows the field's name in a message: `must be a string`.
    pub text: Cow<'static, str>,
}

impl ValidationIssue {
    /// A fault of `rule`, with the words that follow the field's name.
    pub fn new(rule: ValidationCode, text: impl Into<Cow<'static, str>>) -> Self {
        ValidationIssue { rule, text: text.into() }
    }

    /// A missing, `null` or blank value.
    #[must_use]
    pub fn required() -> Self {
        ValidationIssue::new(ValidationCode::Required, "is required")
    }

    /// A value of another JSON type; `expected` with its article: `a string`.
    #[must_use]
    pub fn wrong_type(expected: &str) -> Self {
        ValidationIssue::new(ValidationCode::Type, format!("must be {expected}"))
    }

    /// A control character where none is allowed.
    #[must_use]
    pub fn invalid_characters() -> Self {
        ValidationIssue::new(ValidationCode::InvalidCharacters, "must not contain control characters")
    }

    /// Text over `most` characters.
    #[must_use]
    pub fn max_length(most: usize) -> Self {
        ValidationIssue::new(ValidationCode::MaxLength, format!("must have at most {most} characters"))
    }

    /// Text under `least` characters.
    #[must_use]
    pub fn min_length(least: usize) -> Self {
        let noun = if least == 1 { "character" } else { "characters" };
        ValidationIssue::new(ValidationCode::MinLength, format!("must have at least {least} {noun}"))
    }

    /// A value outside a list of allowed ones.
    #[must_use]
    pub fn not_one_of(allowed: &[&str]) -> Self {
        ValidationIssue::new(ValidationCode::Enum, format!("must be one of {}", allowed.join(", ")))
    }
}

impl fmt::Display for ValidationIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One element of `validationErrors`.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidationError {
    /// The offending field, with dots and `[i]`.
    pub field: String,
    /// The message, which begins with the field.
    pub message: String,
    /// The offending scalar, or `null` (contract 6.2).
    pub value: Json,
    /// The broken rule.
    pub rule: ValidationCode,
    /// The part of the request.
    pub location: Location,
}

impl ValidationError {
    /// A violation at `field`. Of `value` only scalars are repeated, strings cut to 256 characters.
    pub fn new(
        location: Location,
        field: impl Into<String>,
        value: Option<&Json>,
        fault: ValidationIssue,
    ) -> Self {
        let field = field.into();
        let message = format!("{field} {}", fault.text);
        ValidationError { field, message, value: echo(value), rule: fault.rule, location }
    }

    /// Replaces the message where it does not begin with the field.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }
}

fn echo(value: Option<&Json>) -> Json {
    match value {
        Some(Json::String(text)) => match text.char_indices().nth(MAX_ECHO) {
            Some((end, _)) => Json::String(format!("{}…", &text[..end])),
            None => Json::String(text.clone()),
        },
        Some(scalar @ (Json::Bool(_) | Json::Number(_))) => scalar.clone(),
        _ => Json::Null,
    }
}

json_object! { ValidationError as "ValidationError" = |error| {
    "field": String { "description": "The offending field, with dots and `[i]`." } = error.field,
    "message": String = error.message,
    "value": Json {
        "description": "The offending scalar; `null` for objects, arrays, missing and sensitive values."
    } = error.value,
    "type": &'static str { "enum": ValidationCode::ALL.map(ValidationCode::as_str) } = error.rule.as_str(),
    "in": &'static str { "enum": LOCATIONS.map(Location::as_str) } = error.location.as_str(),
} }

/// All violations of a request, in the contract's order: path, header, query, then body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Violations {
    listed: Vec<ValidationError>,
    total: usize,
}

impl From<ValidationError> for Violations {
    fn from(violation: ValidationError) -> Self {
        let mut violations = Violations::new();
        violations.push(violation);
        violations
    }
}

impl Violations {
    /// No violation.
    #[must_use]
    pub const fn new() -> Self {
        Violations { listed: Vec::new(), total: 0 }
    }

    /// Adds one; beyond [`MAX_LISTED`] it is only counted.
    pub fn push(&mut self, violation: ValidationError) {
        self.total += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push(violation);
        }
    }

    /// Counts some more that are not listed.
    pub fn count(&mut self, more: usize) {
        self.total += more;
    }

    /// Adds a fault at a field of the body.
    pub fn body(&mut self, field: impl Into<String>, value: Option<&Json>, fault: ValidationIssue) {
        self.push(ValidationError::new(Location::Body, field, value, fault));
    }

    /// Appends all of `others`.
    pub fn extend(&mut self, others: Violations) {
        self.total += others.total;
        let room = MAX_LISTED - self.listed.len();
        self.listed.extend(others.listed.into_iter().take(room));
    }

    /// These and `others` in the order of contract 6.2: path, header, query, then body, each as found.
    #[must_use]
    pub fn joined(mut self, others: Violations) -> Self {
        self.extend(others);
        self.listed.sort_by_key(|violation| violation.location);
        self
    }

    /// Moves the violations of a field to another part of the request: the field stands there.
    #[must_use]
    pub fn moved(mut self, field: &str, location: Location) -> Self {
        self.listed
            .iter_mut()
            .filter(|violation| violation.field == field)
            .for_each(|violation| violation.location = location);
        self
    }

    /// Those that are listed, at most [`MAX_LISTED`].
    #[must_use]
    pub fn listed(&self) -> &[ValidationError] {
        &self.listed
    }

    /// How many there are, listed or not.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The message of the reply: the first message and how many more there are.
    #[must_use]
    pub fn message(&self) -> String {
        let first = self.listed.first().map_or("", |violation| violation.message.as_str());
        match self.total {
            0 | 1 => format!("Validation failed: {first}"),
            total => format!("Validation failed: {first} (and {} more)", total - 1),
        }
    }
}
