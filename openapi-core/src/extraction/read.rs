//! Reads a schema from JSON, in the service's own language or as standard JSON Schema, with every fault named by its
//! path (contract 12.1).

use super::schema::{Bound, ExtractionField, ExtractionSchema, ExtractionType, pattern};
use super::{MAX_BYTES, MAX_DEPTH, MAX_FIELDS, MAX_NODES};
use crate::json::{Json, Object};
use crate::schema::properties::{flag, pattern_text};
use crate::schema::rules;
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{Date, TextValue, Timestamp, refuse_longer};

/// The name of the part, which begins every path.
const PART: &str = "schema";
const MAX_DESCRIPTION: usize = 1_000;
const MAX_FORMAT: usize = 100;
const MAX_OPTIONS: usize = 500;
const MAX_NAME: usize = 64;
/// The keywords of standard JSON Schema that say nothing about the value.
const TITLES: [&str; 2] = ["title", "$schema"];

impl ExtractionSchema {
    /// Reads the text of the part `schema`.
    ///
    /// # Errors
    /// `required` for blank text, `format` for what is not JSON, else every fault of [`ExtractionSchema::from_json`].
    pub fn parse(text: &[u8]) -> Result<Self, Violations> {
        let fault = |fault: ValidationIssue| {
            Violations::from(ValidationError::new(Location::Form, PART, None, fault))
        };
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(fault(ValidationIssue::required()));
        }
        let json = crate::json::parse(text).map_err(|error| {
            fault(ValidationIssue::new(ValidationCode::Format, format!("must be JSON: {error}")))
        })?;
        ExtractionSchema::from_json(&json)
    }

    /// Reads a schema in the service's own language or, when its `type` is the text `object` and it has `properties`,
    /// as standard JSON Schema.
    ///
    /// # Errors
    /// Every fault, in the order of the members, at paths such as `schema.total.type`.
    pub fn from_json(json: &Json) -> Result<Self, Violations> {
        let mut reader =
            Reader { violations: Violations::new(), nodes: 0, deepest: 0, language: Language::Own };
        let Json::Object(members) = json else {
            let fault = if *json == Json::Null {
                ValidationIssue::required()
            } else {
                ValidationIssue::wrong_type("an object")
            };
            return Err(ValidationError::new(Location::Form, PART, Some(json), fault).into());
        };
        if json.to_text().len() > MAX_BYTES {
            let fault = ValidationIssue::new(ValidationCode::MaxSize, "must have at most 65536 bytes");
            return Err(ValidationError::new(Location::Form, PART, None, fault).into());
        }
        let fields = match (members.get("type"), members.get("properties")) {
            (Some(Json::String(word)), Some(_)) if word == "object" => {
                reader.language = Language::Standard;
                reader.standard(members)
            }
            _ => reader.own(members),
        };
        reader.finish(fields)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Language {
    Own,
    Standard,
}

struct Reader {
    violations: Violations,
    nodes: usize,
    deepest: usize,
    language: Language,
}

impl Reader {
    fn fault(&mut self, path: &str, value: &Json, fault: ValidationIssue) {
        self.violations.push(ValidationError::new(Location::Form, path, Some(value), fault));
    }

    /// The faults of the whole come first, one at most: it is one value.
    fn finish(self, fields: Vec<(String, ExtractionField)>) -> Result<ExtractionSchema, Violations> {
        let whole = if self.nodes > MAX_NODES {
            let words = format!("must have at most {MAX_NODES} definitions at all levels");
            Some(ValidationIssue::new(ValidationCode::MaxSize, words))
        } else if self.deepest > MAX_DEPTH {
            let words = format!("must be nested at most {MAX_DEPTH} levels deep");
            Some(ValidationIssue::new(ValidationCode::MaxDepth, words))
        } else {
            None
        };
        let counted = |violation: &ValidationError| violation.field == PART;
        let mut violations = Violations::new();
        match whole {
            Some(fault) if !self.violations.listed().iter().any(counted) => {
                violations.push(ValidationError::new(Location::Form, PART, None, fault));
            }
            _ => {}
        }
        violations.extend(self.violations);
        if violations.is_empty() { Ok(ExtractionSchema { fields }) } else { Err(violations) }
    }

    fn own(&mut self, members: &Object) -> Vec<(String, ExtractionField)> {
        self.count(PART, members);
        self.definitions(PART, members, 1, &[])
    }

    fn standard(&mut self, members: &Object) -> Vec<(String, ExtractionField)> {
        let mut fields = Vec::new();
        let properties = members.get("properties").and_then(Json::as_object);
        let required = self.required_names(PART, members, properties);
        for (member, value) in members.iter() {
            let path = format!("{PART}.{member}");
            match (member, value) {
                ("type" | "required", _) => {}
                ("properties", Json::Object(properties)) => {
                    self.count(PART, properties);
                    fields = self.definitions(&path, properties, 1, &required);
                }
                ("properties", _) => self.fault(&path, value, ValidationIssue::wrong_type("an object")),
                ("description", _) => {
                    if let Err(fault) = text(value, MAX_DESCRIPTION) {
                        self.fault(&path, value, fault);
                    }
                }
                _ if TITLES.contains(&member) => {}
                _ => self.fault(&path, value, unknown()),
            }
        }
        fields
    }

    fn count(&mut self, path: &str, fields: &Object) {
        if fields.is_empty() {
            self.fault(
                path,
                &Json::Null,
                ValidationIssue::new(ValidationCode::MinProperties, "must have at least 1 field"),
            );
        } else if fields.len() > MAX_FIELDS {
            let words = format!("must have at most {MAX_FIELDS} fields");
            self.fault(path, &Json::Null, ValidationIssue::new(ValidationCode::MaxProperties, words));
        }
    }

    /// The names that an object of standard JSON Schema requires.
    fn required_names(&mut self, path: &str, members: &Object, properties: Option<&Object>) -> Vec<String> {
        let path = format!("{path}.required");
        let items = match members.get("required") {
            None | Some(Json::Null) => return Vec::new(),
            Some(Json::Array(items)) => items,
            Some(other) => {
                self.fault(&path, other, ValidationIssue::wrong_type("an array of names"));
                return Vec::new();
            }
        };
        let mut names: Vec<String> = Vec::with_capacity(items.len().min(MAX_NODES));
        for (index, item) in items.iter().enumerate() {
            let fault = match item {
                Json::String(name) if properties.is_some_and(|known| known.get(name).is_none()) => {
                    ValidationIssue::new(ValidationCode::Reference, "is not one of the properties")
                }
                Json::String(name) if names.contains(name) => {
                    ValidationIssue::new(ValidationCode::UniqueItems, "is given twice")
                }
                Json::String(name) => {
                    names.push(name.clone());
                    continue;
                }
                _ => ValidationIssue::wrong_type("a string"),
            };
            self.fault(&format!("{path}[{index}]"), item, fault);
        }
        names
    }

    fn definitions(
        &mut self,
        path: &str,
        members: &Object,
        level: usize,
        required: &[String],
    ) -> Vec<(String, ExtractionField)> {
        let mut fields = Vec::with_capacity(members.len().min(MAX_NODES));
        for (name, value) in members.iter() {
            let path = format!("{path}.{name}");
            if let Err(fault) = field_name(name) {
                self.fault(&path, &name.into(), fault);
                continue;
            }
            let Some(mut field) = self.definition(&path, value, level) else { continue };
            field.required |= required.iter().any(|known| known == name);
            fields.push((name.to_owned(), field));
        }
        fields
    }

    fn definition(&mut self, path: &str, value: &Json, level: usize) -> Option<ExtractionField> {
        self.nodes += 1;
        self.deepest = self.deepest.max(level);
        // What lies beyond the limits is not looked at: the limit is the fault.
        if level > MAX_DEPTH || self.nodes > MAX_NODES {
            return None;
        }
        let Json::Object(members) = value else {
            self.fault(path, value, ValidationIssue::wrong_type("an object with a type"));
            return None;
        };
        let mut faulty = None;
        let kind = kind_of(members).map_err(|fault| faulty = Some(fault)).ok();
        let mut field = ExtractionField::of(kind.unwrap_or(ExtractionType::String));
        let standard = self.language == Language::Standard;
        let mut required = Vec::new();
        if standard && kind == Some(ExtractionType::Object) {
            required =
                self.required_names(path, members, members.get("properties").and_then(Json::as_object));
        }
        for (member, value) in members.iter() {
            let path = format!("{path}.{member}");
            let applies = |rule: fn(ExtractionType) -> bool| match kind {
                Some(kind) if *value != Json::Null && !rule(kind) => Err(not_for(kind)),
                _ => Ok(()),
            };
            let read = match member {
                "type" => faulty.take().map_or(Ok(()), Err),
                "required" if standard && kind == Some(ExtractionType::Object) => Ok(()),
                "required" if standard => Err(not_for(field.kind)),
                "required" if *value == Json::Null => Ok(()),
                "required" => flag(value).map(|required| field.required = required),
                "description" => text(value, MAX_DESCRIPTION).map(|text| field.description = text),
                "format" => text(value, MAX_FORMAT).map(|text| field.format = text),
                "example" => {
                    field.example = Some(value.clone()).filter(|example| *example != Json::Null);
                    Ok(())
                }
                "items" => applies(|kind| kind == ExtractionType::Array).map(|()| {
                    if *value != Json::Null {
                        field.items = self.definition(&path, value, level + 1).map(Box::new);
                    }
                }),
                "properties" => applies(|kind| kind == ExtractionType::Object).and_then(|()| {
                    field.properties = self.properties(&path, value, level + 1, &required)?;
                    Ok(())
                }),
                "options" if is_set(members, "enum") && *value != Json::Null => Err(ValidationIssue::new(
                    ValidationCode::Conflict,
                    "says the same as enum; give one of both",
                )),
                "enum" | "options" => applies(has_options).and_then(|()| {
                    if *value != Json::Null {
                        field.options = self.options(&path, kind, value)?;
                    }
                    Ok(())
                }),
                "pattern" => match value {
                    Json::Null => Ok(()),
                    _ => pattern_text(value)
                        .and_then(|text| applies(ExtractionType::is_text).map(|()| text))
                        .map(|text| field.pattern = pattern(&text)),
                },
                "minimum" => bound(kind, value).map(|bound| field.minimum = bound),
                "maximum" => bound(kind, value).and_then(|bound| {
                    field.maximum = bound;
                    not_below_minimum(kind, members, field.maximum.as_ref())
                }),
                _ if standard && TITLES.contains(&member) => Ok(()),
                _ => Err(unknown()),
            };
            if let Err(fault) = read {
                self.fault(&path, value, fault);
            }
        }
        if let Some(fault) = faulty {
            self.fault(&format!("{path}.type"), &Json::Null, fault);
        }
        kind.map(|_| if standard { converted(field) } else { field })
    }

    fn properties(
        &mut self,
        path: &str,
        value: &Json,
        level: usize,
        required: &[String],
    ) -> Result<Option<Vec<(String, ExtractionField)>>, ValidationIssue> {
        match value {
            Json::Null => Ok(None),
            Json::Object(members) => {
                if members.is_empty() {
                    let fault =
                        ValidationIssue::new(ValidationCode::MinProperties, "must have at least 1 property");
                    self.fault(path, value, fault);
                }
                Ok(Some(self.definitions(path, members, level, required)))
            }
            _ => Err(ValidationIssue::wrong_type("an object")),
        }
    }

    fn options(
        &mut self,
        path: &str,
        kind: Option<ExtractionType>,
        value: &Json,
    ) -> Result<Vec<Json>, ValidationIssue> {
        let Json::Array(items) = value else { return Err(ValidationIssue::wrong_type("an array")) };
        if items.is_empty() {
            return Err(ValidationIssue::new(ValidationCode::MinItems, "must have at least 1 element"));
        }
        if items.len() > MAX_OPTIONS {
            return Err(ValidationIssue::new(
                ValidationCode::MaxItems,
                format!("must have at most {MAX_OPTIONS} elements"),
            ));
        }
        let mut options: Vec<Json> = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let fault = match (kind, item) {
                (Some(kind), _) if !is_of(kind, item) => ValidationIssue::wrong_type(expected(kind)),
                _ if options.contains(item) => {
                    ValidationIssue::new(ValidationCode::UniqueItems, "is given twice")
                }
                _ => {
                    options.push(item.clone());
                    continue;
                }
            };
            self.fault(&format!("{path}[{index}]"), item, fault);
        }
        Ok(options)
    }
}

/// What standard JSON Schema says by `format` is a type here.
fn converted(mut field: ExtractionField) -> ExtractionField {
    if field.kind == ExtractionType::String && field.options.is_empty() {
        field.kind = match field.format.as_deref() {
            Some("date") => ExtractionType::Date,
            Some("date-time") => ExtractionType::Datetime,
            Some("email" | "idn-email") => ExtractionType::Email,
            Some("uri" | "url" | "iri") => ExtractionType::Url,
            _ => field.kind,
        };
    }
    field
}

fn is_set(members: &Object, name: &str) -> bool {
    members.get(name).is_some_and(|value| *value != Json::Null)
}

fn text(value: &Json, most: usize) -> Result<Option<String>, ValidationIssue> {
    match value {
        Json::Null => Ok(None),
        Json::String(text) => {
            refuse_longer(text, most)?;
            Ok(Some(text.clone()).filter(|text| !text.trim().is_empty()))
        }
        _ => Err(ValidationIssue::wrong_type("a string")),
    }
}

fn unknown() -> ValidationIssue {
    ValidationIssue::new(ValidationCode::Unknown, "is not a property of a field")
}

fn not_for(kind: ExtractionType) -> ValidationIssue {
    ValidationIssue::new(ValidationCode::Conflict, format!("does not apply to type {}", kind.as_str()))
}

fn has_options(kind: ExtractionType) -> bool {
    kind.is_text() || kind.is_numeric()
}

fn is_of(kind: ExtractionType, value: &Json) -> bool {
    match value {
        Json::String(text) => kind.is_text() && !text.is_empty(),
        Json::Number(_) => kind.is_numeric(),
        _ => false,
    }
}

fn expected(kind: ExtractionType) -> &'static str {
    if kind.is_numeric() { "a number" } else { "a string" }
}

fn bound(kind: Option<ExtractionType>, value: &Json) -> Result<Option<Bound>, ValidationIssue> {
    match (kind, value) {
        (_, Json::Null) | (None, _) => Ok(None),
        (Some(ExtractionType::Date), Json::String(text)) => {
            Date::parse(text).map(|date| Some(Bound::Date(date)))
        }
        (Some(ExtractionType::Date), _) => Err(ValidationIssue::wrong_type("a date as YYYY-MM-DD")),
        (Some(ExtractionType::Datetime), Json::String(text)) => {
            Timestamp::parse(text).map(|instant| Some(Bound::Instant(instant)))
        }
        (Some(ExtractionType::Datetime), _) => Err(ValidationIssue::wrong_type("a timestamp as of RFC 3339")),
        (Some(kind), Json::Number(number)) if kind.is_numeric() => {
            rules::number(number).map(|()| Some(Bound::Number(number.clone())))
        }
        (Some(kind), _) if kind.is_numeric() => Err(ValidationIssue::wrong_type("a number")),
        (Some(kind), _) => Err(not_for(kind)),
    }
}

/// The type that a definition names.
fn kind_of(members: &Object) -> Result<ExtractionType, ValidationIssue> {
    let known = || ValidationIssue::not_one_of(&ExtractionType::ALL.map(ExtractionType::as_str));
    match members.get("type").unwrap_or(&Json::Null) {
        Json::Null => Err(ValidationIssue::required()),
        Json::String(name) => {
            ExtractionType::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or_else(known)
        }
        _ => Err(known()),
    }
}

/// Checks a maximum against the minimum of the same definition.
fn not_below_minimum(
    kind: Option<ExtractionType>,
    members: &Object,
    most: Option<&Bound>,
) -> Result<(), ValidationIssue> {
    let least = members.get("minimum").and_then(|least| bound(kind, least).ok()).flatten();
    match (least, most) {
        (Some(least), Some(most)) if above(&least, most) => {
            Err(ValidationIssue::new(ValidationCode::Conflict, "must not be below minimum"))
        }
        _ => Ok(()),
    }
}

fn above(least: &Bound, most: &Bound) -> bool {
    match (least, most) {
        (Bound::Number(least), Bound::Number(most)) => least.compare(most).is_gt(),
        (Bound::Date(least), Bound::Date(most)) => least > most,
        (Bound::Instant(least), Bound::Instant(most)) => least > most,
        _ => false,
    }
}

fn field_name(name: &str) -> Result<(), ValidationIssue> {
    if name == "__proto__" {
        return Err(ValidationIssue::new(ValidationCode::Reserved, "is a name kept by the service"));
    }
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let length = name.chars().count();
    if length == 0 || length > MAX_NAME || !name.chars().all(allowed) {
        return Err(ValidationIssue::new(
            ValidationCode::Pattern,
            "must be a name of 1 to 64 letters, digits, underscores, hyphens, dots and spaces",
        ));
    }
    Ok(())
}
