//! Reads an operator's definition of a contact schema: changes to standard fields and declared custom fields, strictly
//! and with every error named by its path (contract 2.1.4).

use std::collections::HashSet;

use super::check::key;
use super::properties::{flag, label, option_list, pattern_text, text};
use super::{CompiledSchema, ContactSchema, FieldDefinition, FieldOption, FieldType, Identity};
use crate::json::{Json, Object};
use crate::service_info::ServiceInfo;
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{ContactId, ContactStatus, Date, TextValue, Timestamp};

const MAX_CUSTOM_FIELDS: usize = 100;
const MAX_LABEL: usize = 100;
const MAX_TEXT: usize = 500;

impl ContactSchema {
    /// The schema that a definition makes of the built-in one, as the version after `self`. A schema that was read from
    /// the service can be edited and passed back as it is.
    ///
    /// # Errors
    /// Every fault of the definition.
    pub fn redefined(
        &self,
        definition: &Object,
        service_info: &ServiceInfo,
        at: Timestamp,
    ) -> Result<ContactSchema, Violations> {
        let mut reader = Reader { violations: Violations::new() };
        let mut schema = ContactSchema::builtin(self.agent_id.clone(), at);
        schema.version = self.version + 1;
        for (name, value) in definition.iter() {
            match (name, value) {
                ("fields", Json::Array(changes)) => reader.standard(&mut schema.fields, changes),
                ("customFields", Json::Array(definitions)) => {
                    schema.custom_fields = reader.custom(definitions);
                }
                ("fields" | "customFields", _) => {
                    reader.fault(name, value, ValidationIssue::wrong_type("an array of field definitions"));
                }
                ("allowUndeclaredCustomFields", Json::Bool(allowed)) => {
                    schema.allow_undeclared_custom_fields = *allowed;
                }
                ("allowUndeclaredCustomFields", _) => {
                    reader.fault(name, value, ValidationIssue::wrong_type("true or false"));
                }
                ("agentId" | "version" | "updatedAt" | "jsonSchema", _) => {}
                _ => reader.fault(
                    name,
                    value,
                    ValidationIssue::new(ValidationCode::Unknown, "is not a member of a contact schema"),
                ),
            }
        }
        if reader.violations.is_empty() {
            reader.defaults(&schema, service_info, at);
        }
        if reader.violations.is_empty() { Ok(schema) } else { Err(reader.violations) }
    }
}

struct Reader {
    violations: Violations,
}

impl Reader {
    fn fault(&mut self, path: &str, value: &Json, fault: ValidationIssue) {
        self.violations.push(ValidationError::new(Location::Body, path, Some(value), fault));
    }

    fn named<'a>(
        &mut self,
        path: &str,
        value: &'a Json,
        seen: &mut HashSet<String>,
    ) -> Option<(&'a Object, &'a str)> {
        let Json::Object(members) = value else {
            self.fault(path, value, ValidationIssue::wrong_type("an object"));
            return None;
        };
        let path = format!("{path}.name");
        match members.get("name") {
            Some(Json::String(name)) if seen.insert(name.clone()) => Some((members, name)),
            Some(value @ Json::String(_)) => {
                self.fault(&path, value, ValidationIssue::new(ValidationCode::Duplicate, "is defined twice"));
                None
            }
            Some(value) => {
                self.fault(&path, value, ValidationIssue::wrong_type("a string"));
                None
            }
            None => {
                self.fault(&path, &Json::Null, ValidationIssue::required());
                None
            }
        }
    }

    fn standard(&mut self, fields: &mut [FieldDefinition], changes: &[Json]) {
        let mut seen = HashSet::new();
        for (index, value) in changes.iter().enumerate() {
            let path = format!("fields[{index}]");
            let Some((members, name)) = self.named(&path, value, &mut seen) else { continue };
            match fields.iter_mut().find(|field| field.name == name) {
                Some(field) => *field = self.changed(&path, field, members),
                None => self.fault(
                    &format!("{path}.name"),
                    &name.into(),
                    ValidationIssue::new(
                        ValidationCode::Reference,
                        "is not a standard field; declare your own fields under customFields",
                    ),
                ),
            }
        }
    }

    fn custom(&mut self, definitions: &[Json]) -> Vec<FieldDefinition> {
        if definitions.len() > MAX_CUSTOM_FIELDS {
            self.fault(
                "customFields",
                &Json::Null,
                ValidationIssue::new(ValidationCode::MaxItems, "must have at most 100 elements"),
            );
            return Vec::new();
        }
        let standard = super::builtin::standard_fields();
        let mut seen = HashSet::new();
        let mut fields = Vec::with_capacity(definitions.len());
        for (index, value) in definitions.iter().enumerate() {
            let path = format!("customFields[{index}]");
            let Some((members, name)) = self.named(&path, value, &mut seen) else { continue };
            let name_path = format!("{path}.name");
            if let Err(fault) = key(name) {
                self.fault(&name_path, &name.into(), fault);
                continue;
            }
            if standard.iter().any(|field| field.name == name) {
                self.fault(
                    &name_path,
                    &name.into(),
                    ValidationIssue::new(ValidationCode::Reserved, "is the name of a standard field"),
                );
                continue;
            }
            let kind = members
                .get("type")
                .and_then(Json::as_str)
                .and_then(|word| FieldType::ALL.into_iter().find(|kind| kind.as_str() == word));
            let Some(kind) = kind else {
                let fault = match members.get("type") {
                    None => ValidationIssue::required(),
                    Some(_) => ValidationIssue::not_one_of(&FieldType::ALL.map(FieldType::as_str)),
                };
                self.fault(&format!("{path}.type"), members.get("type").unwrap_or(&Json::Null), fault);
                continue;
            };
            let blank = FieldDefinition {
                name: name.to_owned(),
                label: name.to_owned(),
                description: None,
                kind,
                required: false,
                read_only: false,
                unique: false,
                sensitive: false,
                custom: true,
                min_length: None,
                max_length: None,
                pattern: None,
                minimum: None,
                maximum: None,
                options: None,
                default: None,
            };
            fields.push(self.changed(&path, &blank, members));
        }
        fields
    }

    /// `base` with the changes of `members`.
    fn changed(&mut self, path: &str, base: &FieldDefinition, members: &Object) -> FieldDefinition {
        let mut field = base.clone();
        let mut faulty: Vec<&str> = Vec::new();
        for (name, value) in members.iter() {
            let path = format!("{path}.{name}");
            let read = match name {
                "name" => Ok(()),
                "type" => fixed(value, &base.kind.as_str().into()),
                "readOnly" => fixed(value, &base.read_only.into()),
                "custom" => fixed(value, &base.custom.into()),
                "label" => label(value, MAX_LABEL).map(|label| field.label = label),
                "description" => text(value, MAX_TEXT).map(|description| field.description = description),
                _ if base.read_only => unchanged(base, name, value),
                "required" => required(base, value).map(|required| field.required = required),
                "unique" => unique(base, value).map(|unique| field.unique = unique),
                "sensitive" => flag(value).map(|sensitive| field.sensitive = sensitive),
                "minLength" => length(base, value).map(|least| field.min_length = least),
                "maxLength" => length(base, value).map(|most| field.max_length = most),
                "pattern" => pattern(base, value).map(|pattern| field.pattern = pattern),
                "minimum" => bound(base, value).map(|least| field.minimum = least),
                "maximum" => bound(base, value).map(|most| field.maximum = most),
                "options" => options(base, value).map(|options| field.options = options),
                "default" => {
                    field.default = Some(value.clone()).filter(|value| *value != Json::Null);
                    Ok(())
                }
                _ => Err(ValidationIssue::new(
                    ValidationCode::Unknown,
                    "is not a property of a field definition",
                )),
            };
            if let Err(fault) = read {
                self.fault(&path, value, fault);
                faulty.push(name);
            }
        }
        // One fault for each property.
        if let Err((name, fault)) = whole(base, &field)
            && !faulty.contains(&name)
        {
            let value = members.get(name).cloned().unwrap_or(Json::Null);
            self.fault(&format!("{path}.{name}"), &value, fault);
        }
        field
    }

    /// Each default must pass the rules of its own field.
    fn defaults(&mut self, schema: &ContactSchema, service_info: &ServiceInfo, at: Timestamp) {
        let Ok(compiled) = CompiledSchema::new(schema.clone(), service_info) else { return };
        let identity =
            Identity { id: ContactId::from_bytes([0; 12]), agent_id: schema.agent_id.clone(), now: at };
        for (list, fields) in [("fields", &schema.fields), ("customFields", &schema.custom_fields)] {
            for (index, field) in fields.iter().enumerate() {
                // An empty built-in default, of `tags` and `customFields`, is no value that a rule could refuse.
                let is_empty = |default: &Json| match default {
                    Json::Array(items) => items.is_empty(),
                    Json::Object(members) => members.is_empty(),
                    _ => false,
                };
                let Some(default) =
                    field.default.as_ref().filter(|default| field.custom || !is_empty(default))
                else {
                    continue;
                };
                let member: Object = [(field.name.clone(), default.clone())].into_iter().collect();
                let (body, path) = if field.custom {
                    (
                        [("customFields".to_owned(), Json::Object(member))].into_iter().collect(),
                        format!("customFields.{}", field.name),
                    )
                } else {
                    (member, field.name.clone())
                };
                let Err(violations) = compiled.create(&body, identity.clone()) else { continue };
                // The field itself or an element of it, not another field whose name begins alike.
                let within = |field: &str| {
                    field
                        .strip_prefix(&path)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
                };
                let own = violations.listed().iter().find(|violation| within(&violation.field));
                if let Some(violation) = own {
                    let words =
                        violation.message.strip_prefix(&path).unwrap_or(&violation.message).trim().to_owned();
                    self.fault(
                        &format!("{list}[{index}].default"),
                        default,
                        ValidationIssue::new(violation.rule, words),
                    );
                }
            }
        }
    }
}

fn fixed(value: &Json, known: &Json) -> Result<(), ValidationIssue> {
    if value == known {
        Ok(())
    } else {
        Err(ValidationIssue::new(ValidationCode::Conflict, "cannot be changed"))
    }
}

/// A read-only field takes no rules; what was read from the service may be passed back.
fn unchanged(base: &FieldDefinition, name: &str, value: &Json) -> Result<(), ValidationIssue> {
    let known = serde_json::to_value(base).ok().and_then(|base| base.get(name).map(Json::from));
    match known {
        Some(known) if known.same(value) => Ok(()),
        Some(_) => {
            Err(ValidationIssue::new(ValidationCode::Conflict, "cannot be changed on a read-only field"))
        }
        None => Err(ValidationIssue::new(ValidationCode::Unknown, "is not a property of a field definition")),
    }
}

fn required(base: &FieldDefinition, value: &Json) -> Result<bool, ValidationIssue> {
    match flag(value)? {
        false if base.name == "primaryEmail" && !base.custom => Err(ValidationIssue::new(
            ValidationCode::Conflict,
            "cannot be false: every contact has an address",
        )),
        required => Ok(required),
    }
}

fn unique(base: &FieldDefinition, value: &Json) -> Result<bool, ValidationIssue> {
    match flag(value)? {
        false if base.name == "externalReferenceId" && !base.custom => {
            Err(ValidationIssue::new(ValidationCode::Conflict, "cannot be false"))
        }
        true if !base.kind.is_scalar() => Err(ValidationIssue::new(
            ValidationCode::Conflict,
            format!("cannot be true for type {}", base.kind.as_str()),
        )),
        unique => Ok(unique),
    }
}

fn length(base: &FieldDefinition, value: &Json) -> Result<Option<u32>, ValidationIssue> {
    match value {
        Json::Null => Ok(None),
        Json::Number(number) if base.kind.is_text() => number
            .as_str()
            .parse()
            .map(Some)
            .map_err(|_| ValidationIssue::wrong_type("a whole number of characters")),
        Json::Number(_) => Err(not_for(base)),
        _ => Err(ValidationIssue::wrong_type("a whole number of characters")),
    }
}

fn not_for(base: &FieldDefinition) -> ValidationIssue {
    ValidationIssue::new(ValidationCode::Conflict, format!("does not apply to type {}", base.kind.as_str()))
}

fn pattern(base: &FieldDefinition, value: &Json) -> Result<Option<String>, ValidationIssue> {
    match value {
        Json::Null => Ok(None),
        Json::String(_) if !base.kind.is_text() => Err(not_for(base)),
        value => pattern_text(value).map(Some),
    }
}

fn bound(base: &FieldDefinition, value: &Json) -> Result<Option<Json>, ValidationIssue> {
    match (base.kind, value) {
        (_, Json::Null) => Ok(None),
        (FieldType::Integer | FieldType::Number, Json::Number(number)) if number.as_f64().is_finite() => {
            Ok(Some(value.clone()))
        }
        (FieldType::Integer | FieldType::Number, _) => Err(ValidationIssue::wrong_type("a number")),
        (FieldType::Date, Json::String(text)) => Date::parse(text).map(|_| Some(value.clone())),
        (FieldType::Datetime, Json::String(text)) => Timestamp::parse(text).map(|_| Some(value.clone())),
        (FieldType::Date | FieldType::Datetime, _) => Err(ValidationIssue::wrong_type("a string")),
        _ => Err(not_for(base)),
    }
}

fn options(base: &FieldDefinition, value: &Json) -> Result<Option<Vec<FieldOption>>, ValidationIssue> {
    let Json::Array(items) = value else {
        return if *value == Json::Null {
            Ok(None)
        } else {
            Err(ValidationIssue::wrong_type("an array of options"))
        };
    };
    let takes_options = matches!(base.kind, FieldType::Select | FieldType::Multiselect)
        || base.kind == FieldType::String && !base.custom && base.name != "externalReferenceId";
    if !takes_options {
        return Err(not_for(base));
    }
    let options = option_list(items)?;
    let is_unknown_status = |option: &FieldOption| ContactStatus::parse(&option.value).is_err();
    if base.name == "status" && !base.custom && options.iter().any(is_unknown_status) {
        return Err(ValidationIssue::new(
            ValidationCode::Conflict,
            "may only leave out values of active, inactive and blocked",
        ));
    }
    Ok(Some(options))
}

/// What holds between the properties of a field, and between the field and its built-in rule.
fn whole(base: &FieldDefinition, field: &FieldDefinition) -> Result<(), (&'static str, ValidationIssue)> {
    let conflict =
        |name, words: &'static str| Err((name, ValidationIssue::new(ValidationCode::Conflict, words)));
    let loosened = "must not loosen the built-in limit";
    if base.read_only {
        return Ok(());
    }
    if base.max_length.is_some() && field.max_length.is_none_or(|most| Some(most) > base.max_length) {
        return conflict("maxLength", loosened);
    }
    if base.min_length.is_some() && field.min_length < base.min_length {
        return conflict("minLength", loosened);
    }
    if field.max_length.is_some_and(|most| most == 0 || field.min_length.is_some_and(|least| least > most)) {
        return conflict("maxLength", "must be at least 1 and not below minLength");
    }
    if let (Some(Json::String(builtin)), own) = (&base.minimum, &field.minimum)
        && own.as_ref().and_then(Json::as_str).is_none_or(|own| own < builtin.as_str())
    {
        return conflict("minimum", loosened);
    }
    if out_of_order(field) {
        return conflict("maximum", "must not be below minimum");
    }
    match (&field.options, field.kind) {
        (None, FieldType::Select | FieldType::Multiselect) => {
            return Err(("options", ValidationIssue::required()));
        }
        (Some(options), FieldType::String)
            if options.iter().any(|option| {
                field.max_length.is_some_and(|most| option.value.chars().count() > most as usize)
            }) =>
        {
            return conflict("options", "must have values within maxLength");
        }
        _ => {}
    }
    if field.unique && field.default.is_some() {
        return conflict("default", "cannot be set on a unique field: two contacts would share it");
    }
    if !field.custom && field.name == "customFields" && field.default != base.default {
        return conflict("default", "cannot be changed; declare custom fields with defaults of their own");
    }
    if !field.custom && field.name == "primaryEmail" && field.default.is_some() {
        return conflict("default", "cannot be set: a create must carry the address");
    }
    Ok(())
}

fn out_of_order(field: &FieldDefinition) -> bool {
    match (&field.minimum, &field.maximum) {
        (Some(Json::Number(least)), Some(Json::Number(most))) => least.as_f64() > most.as_f64(),
        (Some(Json::String(least)), Some(Json::String(most))) => match field.kind {
            FieldType::Datetime => Timestamp::parse(least).ok() > Timestamp::parse(most).ok(),
            _ => least > most,
        },
        _ => false,
    }
}
