//! The walk over the members of a body: standard fields, read into their types.

use super::found::{Found, MISSING_CUSTOM};
use super::{CompiledSchema, Mode, latest_today, path_of, statuses};
use crate::contacts::{ContactFields, Field};
use crate::json::{Json, Object, RawObject};
use crate::schema::{FieldDefinition, FieldType, rules};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue};
use crate::values::{ContactStatus, Date, ExternalId, Tag, TextValue, Timestamp, fold_case, visible};

impl CompiledSchema {
    /// Reads every member in the order sent and notes what is wrong.
    pub(super) fn read(&self, body: &Object, mode: Mode, now: Timestamp, found: &mut Found) -> ContactFields {
        let mut fields = ContactFields::default();
        for (at, (name, value)) in body.iter().enumerate() {
            let Some(field) = self.schema.field(name).filter(|field| !field.custom) else {
                found.push(at, unknown(name, value));
                continue;
            };
            if field.read_only {
                continue;
            }
            let mut member = Member { schema: self, field, value, mode, at, found: &mut *found };
            match name {
                "externalReferenceId" => fields.external_reference_id = member.external_id(),
                "salutation" => fields.salutation = member.text(),
                "firstName" => fields.first_name = member.text(),
                "middleName" => fields.middle_name = member.text(),
                "lastName" => fields.last_name = member.text(),
                "dob" => fields.dob = member.dob(now),
                "gender" => fields.gender = member.text(),
                "primaryEmail" => fields.primary_email = member.text(),
                "primaryPhone" => fields.primary_phone = member.text(),
                "primaryPhoneCode" => fields.primary_phone_code = member.text(),
                "fullAddress" => fields.full_address = member.text(),
                "tags" => fields.tags = member.tags(),
                "status" => fields.status = member.status(),
                "source" => fields.source = member.text(),
                "lastContactedAt" => fields.last_contacted_at = member.text(),
                "customFields" => fields.custom_fields = member.custom_fields(),
                _ => found.push(at, unknown(name, value)),
            }
        }
        fields
    }
}

fn unknown(name: &str, value: &Json) -> ValidationError {
    if name.contains('\0') {
        return ValidationError::new(
            Location::Body,
            name,
            Some(value),
            ValidationIssue::invalid_characters(),
        );
    }
    let message = format!("Unknown field '{name}'. Put your own data under customFields.");
    ValidationError::new(Location::Body, name, Some(value), ValidationIssue::new(ValidationCode::Unknown, ""))
        .with_message(message)
}

/// One member of the body with its definition.
struct Member<'a> {
    schema: &'a CompiledSchema,
    field: &'a FieldDefinition,
    value: &'a Json,
    mode: Mode,
    at: usize,
    found: &'a mut Found,
}

impl Member<'_> {
    fn fault(&mut self, fault: ValidationIssue) {
        let violation = self.schema.violation(&path_of(self.field), Some(self.value), fault);
        self.found.push(self.at, violation);
    }

    /// A `null` or blank value: refused where the field is required.
    fn cleared<T>(&mut self) -> Field<T> {
        let always =
            self.mode == Mode::Update && matches!(self.field.name.as_str(), "primaryEmail" | "status");
        // On create `null` equals absence, and a default stands in for it.
        let required = match self.mode {
            Mode::Create => self.field.must_be_sent(),
            Mode::Update => self.field.required,
        };
        if required || always {
            self.fault(ValidationIssue::required());
            return None;
        }
        Some(None)
    }

    fn checked<T>(&mut self, read: Result<T, ValidationIssue>) -> Field<T> {
        match read {
            Ok(value) => Some(Some(value)),
            Err(fault) => {
                self.fault(fault);
                None
            }
        }
    }

    /// A text value under the built-in rule and then the operator's.
    fn text<T: TextValue + ToString>(&mut self) -> Field<T> {
        let text = match self.value {
            Json::Null => return self.cleared(),
            Json::String(text) => text,
            _ => return self.checked(Err(ValidationIssue::wrong_type("a string"))),
        };
        // Single-line text is trimmed and visible whatever its form (contract 2.1.1).
        let shown = visible(text);
        let text = if self.field.kind == FieldType::Text { text } else { shown.trim() };
        if text.trim().is_empty() {
            return self.cleared();
        }
        let read = T::parse(text).and_then(|parsed| match self.operators_rules(&parsed.to_string())? {
            Some(spelling) => T::parse(&spelling),
            None => Ok(parsed),
        });
        self.checked(read)
    }

    /// The operator's lengths, pattern, options and bounds; the option's spelling where that differs.
    fn operators_rules(&self, stored: &str) -> Result<Option<String>, ValidationIssue> {
        let pattern = self
            .schema
            .patterns
            .get(&self.field.name)
            .filter(|_| self.field.name != "primaryPhoneCode" || !self.is_builtin_pattern());
        let rules = self.field.rules(pattern);
        rules.lengths(stored)?;
        rules.matches(stored)?;
        if matches!(self.field.kind, FieldType::Date | FieldType::Datetime) {
            rules.within(stored)?;
        }
        let Some(options) = &self.field.options else { return Ok(None) };
        let folded = fold_case(stored);
        let same_case = |value: &str| fold_case(value) == folded;
        match options
            .iter()
            .find(|option| option.value == stored)
            .or_else(|| options.iter().find(|option| same_case(&option.value)))
        {
            Some(option) => Ok(Some(option.value.clone()).filter(|spelling| spelling != stored)),
            None => Err(rules::not_an_option(options)),
        }
    }

    fn is_builtin_pattern(&self) -> bool {
        self.field.pattern.as_deref() == Some(values::PhoneCode::PATTERN)
    }

    fn external_id(&mut self) -> Field<ExternalId> {
        let text = match self.value {
            Json::Null => return self.cleared(),
            Json::String(text) => text,
            _ => return self.checked(Err(ValidationIssue::wrong_type("a string"))),
        };
        let read = ExternalId::parse(text).and_then(|id| {
            if id.as_str() == self.schema.id_segment {
                return Err(ExternalId::reserved());
            }
            self.operators_rules(id.as_str()).map(|_| id)
        });
        self.checked(read)
    }

    fn dob(&mut self, now: Timestamp) -> Field<Date> {
        let text = match self.value {
            Json::Null => return self.cleared(),
            Json::String(text) => text,
            _ => return self.checked(Err(ValidationIssue::wrong_type("a string"))),
        };
        let text = visible(text);
        let text = text.trim();
        if text.is_empty() {
            return self.cleared();
        }
        let read = values::refuse_controls(text).and_then(|()| Date::parse_lenient(text)).and_then(|date| {
            if date.as_str() < "1875-01-01" {
                return Err(ValidationIssue::new(ValidationCode::Minimum, "must be 1875-01-01 or later"));
            }
            if date > latest_today(now) {
                return Err(ValidationIssue::new(ValidationCode::Maximum, "must not lie in the future"));
            }
            self.operators_rules(date.as_str()).map(|_| date)
        });
        self.checked(read)
    }

    fn status(&mut self) -> Field<ContactStatus> {
        let read = match self.value {
            Json::Null => return self.cleared(),
            Json::String(text) => ContactStatus::parse(text).map_err(|_| statuses()).and_then(|status| {
                let options = self.field.options.as_deref().unwrap_or_default();
                if options.iter().any(|option| option.value == status.as_str()) {
                    Ok(status)
                } else {
                    Err(rules::not_an_option(options))
                }
            }),
            _ => Err(ValidationIssue::wrong_type("a string")),
        };
        self.checked(read)
    }

    fn tags(&mut self) -> Field<Vec<Tag>> {
        let items = match self.value {
            Json::Null => return self.cleared(),
            Json::Array(items) if items.is_empty() && self.field.required => return self.cleared(),
            Json::Array(items) => items,
            _ => return self.checked(Err(ValidationIssue::wrong_type("an array of strings"))),
        };
        if items.len() > Tag::MAX_COUNT {
            return self.checked(Err(rules::too_many_items(Tag::MAX_COUNT)));
        }
        let mut tags: Vec<Tag> = Vec::with_capacity(items.len());
        let mut folded: Vec<String> = Vec::with_capacity(items.len());
        let before = self.found.total;
        for (index, item) in items.iter().enumerate() {
            let read =
                item.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string")).and_then(Tag::parse);
            match read {
                Ok(tag) if folded.contains(&tag.folded()) => {}
                Ok(tag) => {
                    folded.push(tag.folded());
                    tags.push(tag);
                }
                Err(fault) => {
                    let violation = self.schema.violation(&format!("tags[{index}]"), Some(item), fault);
                    self.found.push(self.at, violation);
                }
            }
        }
        (self.found.total == before).then_some(Some(tags))
    }

    fn custom_fields(&mut self) -> Field<RawObject> {
        let members = match self.value {
            Json::Null => {
                let cleared = self.cleared();
                if self.mode == Mode::Update {
                    self.schema.missing_custom_fields(&Object::new(), self.at, self.found);
                }
                return cleared;
            }
            Json::Object(members) => self.schema.plain_members(members),
            _ => return self.checked(Err(ValidationIssue::wrong_type("an object"))),
        };
        let members = &*members;
        let before = self.found.total;
        self.schema.custom_members(members, self.at, self.found);
        if self.mode == Mode::Update {
            return (self.found.total == before).then(|| Some(RawObject::new(members)));
        }
        let stored = super::limits::without_nulls(members);
        if let Some(fault) = super::limits::whole(&stored) {
            self.fault(fault);
        }
        if self.field.required && stored.is_empty() && self.found.total == before {
            self.fault(ValidationIssue::required());
        }
        self.schema.missing_custom_fields(members, MISSING_CUSTOM, self.found);
        (self.found.total == before).then(|| Some(RawObject::new(&stored)))
    }
}
