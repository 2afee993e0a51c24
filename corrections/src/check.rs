//! Whether values that a person states fit the schema of an extraction.

use openapi_core::extraction::{ExtractionField, ExtractionSchema, ExtractionType};
use openapi_core::json::{Json, Object};
use openapi_core::schema::rules::{Form, Rules};
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};

/// The member of a request, which begins every path.
const PART: &str = "values";
/// The longest values, in bytes of JSON.
const MAX_VALUES: usize = 64 * 1024;
/// The longest text of one value, in characters.
const MAX_TEXT: usize = 20_000;

/// Checks values that a person states: they have the form of results (contract 12.2) and are of fields of the schema.
/// `null` says that the document has no value.
///
/// # Errors
/// Every fault, at paths such as `values.total`.
pub fn check(schema: &ExtractionSchema, values: &Object) -> Result<(), Violations> {
    let mut faults = Faults(Violations::new());
    if Json::Object(values.clone()).to_text().len() > MAX_VALUES {
        let issue = ValidationIssue::new(ValidationCode::MaxSize, "must have at most 65536 bytes");
        faults.note(PART, &Json::Null, issue);
    } else {
        faults.members(PART, schema.fields(), values);
    }
    if faults.0.is_empty() { Ok(()) } else { Err(faults.0) }
}

struct Faults(Violations);

impl Faults {
    fn note(&mut self, path: &str, value: &Json, issue: ValidationIssue) {
        self.0.push(ValidationError::new(Location::Body, path, Some(value), issue));
    }

    fn members(&mut self, path: &str, fields: &[(String, ExtractionField)], members: &Object) {
        for (name, value) in members.iter() {
            let path = format!("{path}.{name}");
            match fields.iter().find(|(known, _)| known == name) {
                Some((_, field)) => self.value(&path, field, value),
                None => {
                    let issue = ValidationIssue::new(ValidationCode::Unknown, "is not a field of the schema");
                    self.note(&path, value, issue);
                }
            }
        }
    }

    fn value(&mut self, path: &str, field: &ExtractionField, value: &Json) {
        match (field.kind, value) {
            (_, Json::Null) => {}
            (ExtractionType::Array, Json::Array(items)) => {
                let text = ExtractionField::of(ExtractionType::String);
                let item = field.items.as_deref().unwrap_or(&text);
                for (index, value) in items.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    match value {
                        Json::Null => self.note(&path, value, ValidationIssue::required()),
                        value => self.value(&path, item, value),
                    }
                }
            }
            (ExtractionType::Object, Json::Object(members)) => match &field.properties {
                Some(properties) => self.members(path, properties, members),
                None => {
                    for (name, value) in members.iter() {
                        if matches!(value, Json::Array(_) | Json::Object(_)) {
                            let issue = ValidationIssue::wrong_type("text, a number, true or false");
                            self.note(&format!("{path}.{name}"), value, issue);
                        }
                    }
                }
            },
            (ExtractionType::Array, _) => self.note(path, value, ValidationIssue::wrong_type("an array")),
            (ExtractionType::Object, _) => self.note(path, value, ValidationIssue::wrong_type("an object")),
            (ExtractionType::Currency, _) => self.amount(path, field, value),
            (kind, value) => self.scalar(path, form_of(kind), field, value),
        }
    }

    /// The first fault of a value: of its type, else of the rules of its field.
    fn scalar(&mut self, path: &str, form: Form, field: &ExtractionField, value: &Json) {
        let mut issue = None;
        Rules::of(form).check(value, &mut |_, _, found| issue = Some(found));
        let issue = issue.or_else(|| field.check(value).err());
        if let Some(issue) = issue {
            self.note(path, value, issue);
        }
    }

    fn amount(&mut self, path: &str, field: &ExtractionField, value: &Json) {
        let is_code = |code: &str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        let issue = match value {
            Json::Object(members) => match (members.get("amount"), members.get("currency")) {
                (Some(Json::Number(_)), Some(Json::Null)) if members.len() == 2 => field.check(value).err(),
                (Some(Json::Number(_)), Some(Json::String(code))) if members.len() == 2 && is_code(code) => {
                    field.check(value).err()
                }
                _ => Some(not_an_amount()),
            },
            _ => Some(not_an_amount()),
        };
        if let Some(issue) = issue {
            self.note(path, value, issue);
        }
    }
}

fn not_an_amount() -> ValidationIssue {
    ValidationIssue::wrong_type("an object of amount, a number, and currency, an ISO 4217 code or null")
}

fn form_of(kind: ExtractionType) -> Form {
    match kind {
        ExtractionType::Number => Form::Number,
        ExtractionType::Integer => Form::Integer,
        ExtractionType::Date => Form::Date,
        ExtractionType::Datetime => Form::Datetime,
        ExtractionType::Boolean => Form::Boolean,
        ExtractionType::Email => Form::Email,
        ExtractionType::Phone => Form::Phone,
        ExtractionType::Url => Form::Url,
        ExtractionType::String
        | ExtractionType::Currency
        | ExtractionType::Array
        | ExtractionType::Object => Form::Block(MAX_TEXT),
    }
}
