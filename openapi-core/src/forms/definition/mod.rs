//! Reads an operator's definition of a template, strictly and with every error named by its path (contract 2.3.1, 14).

mod conditions;
mod validation;

use std::collections::{BTreeSet, HashSet};

use super::compiled::{Level, Node};
use super::{
    FormField, FormFieldType, FormTemplate, SubmissionPolicy, SubmissionStatus, TemplateStatus, Transition,
};
use crate::json::{Json, Object};
use crate::schema::properties::{flag, label, option_list, text};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{AgentId, Block, Line, TemplateId, TextValue, Timestamp};

/// The most fields of a template, those of groups and lists included.
const MAX_FIELDS: usize = 500;
/// The deepest field: 1 at the top.
const MAX_LEVELS: usize = 5;
/// The longest label, description, placeholder, section and message, in characters.
const MAX_TEXT: usize = 1_000;

/// What an operator says of a template: everything but what the service sets.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateDefinition {
    /// What people call it.
    pub name: Line<100>,
    /// What it is for.
    pub description: Option<Block<1000>>,
    /// What a new submission does to earlier ones.
    pub submission_policy: SubmissionPolicy,
    /// Changes of status that submissions may not make, sorted.
    pub disabled_transitions: Vec<Transition>,
    /// The fields, in order.
    pub fields: Vec<FormField>,
}

impl TemplateDefinition {
    /// Reads a definition: `name`, `description`, `submissionPolicy`, `disabledTransitions` (an array of
    /// `{ "from", "to" }`) and `fields` in the shapes of contract 2.3.1. What the service sets is ignored, so that a
    /// template that was read from it can be edited and passed back.
    ///
    /// # Errors
    /// Every fault of the definition.
    pub fn read(definition: &Object) -> Result<Self, Violations> {
        let mut reader = Reader { violations: Violations::new(), fields: 0 };
        let (mut name, mut description, mut submission_policy) = (None, None, SubmissionPolicy::Supersede);
        let (mut disabled_transitions, mut fields) = (Vec::new(), None);
        for (member, value) in definition.iter() {
            let read = match member {
                "name" => required_text(value).map(|line| name = Some(line)),
                "description" => optional_block(value).map(|block| description = block),
                "submissionPolicy" => word(value).map(|policy| submission_policy = policy),
                "disabledTransitions" => {
                    disabled_transitions = reader.transitions(value);
                    Ok(())
                }
                "fields" => {
                    fields = Some(reader.fields("fields", value, 1));
                    Ok(())
                }
                "id" | "templateId" | "agentId" | "version" | "status" | "fieldCount" | "jsonSchema"
                | "createdAt" | "updatedAt" | "generation" => Ok(()),
                _ => Err(ValidationIssue::new(ValidationCode::Unknown, "is not a member of a template")),
            };
            if let Err(fault) = read {
                reader.fault(member, value, fault);
            }
        }
        for (member, is_missing) in [("name", definition.get("name").is_none()), ("fields", fields.is_none())]
        {
            if is_missing {
                reader.fault(member, &Json::Null, ValidationIssue::required());
            }
        }
        let mut fields = fields.unwrap_or_default();
        if reader.violations.is_empty() {
            reader.examples("fields", &fields);
        }
        in_order(&mut fields);
        match name {
            Some(name) if reader.violations.is_empty() => {
                Ok(TemplateDefinition { name, description, submission_policy, disabled_transitions, fields })
            }
            _ => Err(reader.violations),
        }
    }

    /// A new template of this definition: a draft at version 1.
    #[must_use]
    pub fn create(self, id: TemplateId, agent_id: AgentId, now: Timestamp) -> FormTemplate {
        FormTemplate {
            id,
            agent_id,
            name: self.name,
            description: self.description,
            version: 1,
            status: TemplateStatus::Draft,
            submission_policy: self.submission_policy,
            disabled_transitions: self.disabled_transitions,
            fields: self.fields,
            created_at: now,
            updated_at: now,
            generation: 1,
        }
    }

    /// What the definition makes of a template; none where that changes nothing. A template that was ever active gets a
    /// new version.
    #[must_use]
    pub fn edit(self, current: &FormTemplate, now: Timestamp) -> Option<FormTemplate> {
        let edited = FormTemplate {
            name: self.name,
            description: self.description,
            submission_policy: self.submission_policy,
            disabled_transitions: self.disabled_transitions,
            fields: self.fields,
            ..current.clone()
        };
        if edited == *current {
            return None;
        }
        let raised = u64::from(current.status != TemplateStatus::Draft);
        Some(FormTemplate {
            version: current.version + raised,
            generation: current.generation + 1,
            updated_at: now.max(current.updated_at),
            ..edited
        })
    }
}

/// Sorts the fields of every level by `order`, those of equal order as sent.
fn in_order(fields: &mut [FormField]) {
    fields.sort_by_key(|field| field.order);
    fields.iter_mut().filter_map(|field| field.fields.as_mut()).for_each(|inner| in_order(inner));
}

fn required_text<T: TextValue>(value: &Json) -> Result<T, ValidationIssue> {
    match value {
        Json::Null => Err(ValidationIssue::required()),
        Json::String(text) => T::parse(text),
        _ => Err(ValidationIssue::wrong_type("a string")),
    }
}

fn optional_block(value: &Json) -> Result<Option<Block<1000>>, ValidationIssue> {
    match value {
        Json::Null => Ok(None),
        Json::String(text) if text.trim().is_empty() => Ok(None),
        value => required_text(value).map(Some),
    }
}

fn word<T: TextValue>(value: &Json) -> Result<T, ValidationIssue> {
    T::parse(value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?)
}

struct Reader {
    violations: Violations,
    /// How many fields there are so far.
    fields: usize,
}

impl Reader {
    fn fault(&mut self, path: &str, value: &Json, fault: ValidationIssue) {
        self.violations.push(ValidationError::new(Location::Body, path, Some(value), fault));
    }

    fn transitions(&mut self, value: &Json) -> Vec<Transition> {
        let items = match value {
            Json::Null => return Vec::new(),
            Json::Array(items) => items.as_slice(),
            _ => {
                self.fault(
                    "disabledTransitions",
                    value,
                    ValidationIssue::wrong_type("an array of { from, to }"),
                );
                return Vec::new();
            }
        };
        let mut found = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("disabledTransitions[{index}]");
            let Json::Object(members) = item else {
                self.fault(&path, item, ValidationIssue::wrong_type("an object with from and to"));
                continue;
            };
            let mut read = |name: &str| -> Option<SubmissionStatus> {
                let value = members.get(name).unwrap_or(&Json::Null);
                let status =
                    if *value == Json::Null { Err(ValidationIssue::required()) } else { word(value) };
                status.map_err(|fault| self.fault(&format!("{path}.{name}"), value, fault)).ok()
            };
            let (from, to) = (read("from"), read("to"));
            for (name, value) in members.iter().filter(|(name, _)| !matches!(*name, "from" | "to")) {
                let fault = ValidationIssue::new(ValidationCode::Unknown, "is not a member of a transition");
                self.fault(&format!("{path}.{name}"), value, fault);
            }
            let (Some(from), Some(to)) = (from, to) else { continue };
            let transition = Transition { from, to };
            if !transition.is_known() {
                let words = format!("is no transition: {from} is never followed by {to}");
                self.fault(&path, item, ValidationIssue::new(ValidationCode::Conflict, words));
            } else if !found.insert(transition) {
                self.fault(&path, item, ValidationIssue::new(ValidationCode::Duplicate, "is given twice"));
            }
        }
        found.into_iter().collect()
    }

    /// The fields of a level, as sent.
    fn fields(&mut self, path: &str, value: &Json, level: usize) -> Vec<FormField> {
        let Json::Array(items) = value else {
            let fault = match value {
                Json::Null => ValidationIssue::required(),
                _ => ValidationIssue::wrong_type("an array of field definitions"),
            };
            self.fault(path, value, fault);
            return Vec::new();
        };
        if items.is_empty() {
            self.fault(
                path,
                value,
                ValidationIssue::new(ValidationCode::MinItems, "must have at least 1 field"),
            );
        }
        if level > MAX_LEVELS {
            let words = format!("must be nested at most {MAX_LEVELS} levels deep");
            self.fault(path, value, ValidationIssue::new(ValidationCode::MaxDepth, words));
            return Vec::new();
        }
        self.fields += items.len();
        if self.fields > MAX_FIELDS {
            let words = format!("must have at most {MAX_FIELDS} fields in all");
            self.fault(path, value, ValidationIssue::new(ValidationCode::MaxItems, words));
            return Vec::new();
        }
        let mut names: HashSet<&str> = HashSet::new();
        let mut fields: Vec<(usize, FormField)> = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Json::Object(members) = item else {
                self.fault(&path, item, ValidationIssue::wrong_type("an object"));
                continue;
            };
            let name_path = format!("{path}.name");
            let name = match members.get("name").unwrap_or(&Json::Null) {
                Json::Null => Err(ValidationIssue::required()),
                Json::String(name) if !is_name(name) => Err(ValidationIssue::new(
                    ValidationCode::Pattern,
                    "must be a name of 1 to 64 letters, digits and _ that does not begin with a digit",
                )),
                Json::String(name) if !names.insert(name) => {
                    Err(ValidationIssue::new(ValidationCode::Duplicate, "is defined twice"))
                }
                Json::String(name) => Ok(name),
                _ => Err(ValidationIssue::wrong_type("a string")),
            };
            match name {
                Err(fault) => {
                    self.fault(&name_path, members.get("name").unwrap_or(&Json::Null), fault);
                }
                Ok(name) => {
                    let position = i64::try_from(index).unwrap_or(i64::MAX).saturating_add(1);
                    fields.extend(
                        self.field(&path, name, position, members, level).map(|field| (index, field)),
                    );
                }
            }
        }
        self.conditions(path, &fields);
        fields.into_iter().map(|(_, field)| field).collect()
    }

    fn kind(&mut self, path: &str, members: &Object) -> Option<FormFieldType> {
        let value = members.get("type").unwrap_or(&Json::Null);
        let known =
            value.as_str().and_then(|name| FormFieldType::ALL.into_iter().find(|kind| kind.as_str() == name));
        if known.is_none() {
            let fault = match value {
                Json::Null => ValidationIssue::required(),
                _ => ValidationIssue::not_one_of(&FormFieldType::ALL.map(FormFieldType::as_str)),
            };
            self.fault(&format!("{path}.type"), value, fault);
        }
        known
    }

    fn field(
        &mut self,
        path: &str,
        name: &str,
        position: i64,
        members: &Object,
        level: usize,
    ) -> Option<FormField> {
        let kind = self.kind(path, members)?;
        let mut field = FormField {
            name: name.to_owned(),
            label: name.to_owned(),
            kind,
            required: false,
            description: None,
            placeholder: None,
            order: position,
            section: None,
            options: None,
            validation: None,
            default_value: None,
            example: None,
            sensitive: false,
            show_if: None,
            fields: None,
        };
        let is_set = |value: &Json| *value != Json::Null;
        for (member, value) in members.iter() {
            let path = format!("{path}.{member}");
            let read = match member {
                "name" | "type" => Ok(()),
                "label" => label(value, MAX_TEXT).map(|label| field.label = label),
                "required" => flag(value).map(|required| field.required = required),
                "sensitive" => flag(value).map(|sensitive| field.sensitive = sensitive),
                "description" => text(value, MAX_TEXT).map(|text| field.description = text),
                "placeholder" => text(value, MAX_TEXT).map(|text| field.placeholder = text),
                "section" => text(value, MAX_TEXT).map(|text| field.section = text),
                "order" => order(value).map(|order| field.order = order.unwrap_or(position)),
                "default" => {
                    field.default_value = Some(value.clone()).filter(is_set);
                    Ok(())
                }
                "example" => {
                    field.example = Some(value.clone()).filter(is_set);
                    Ok(())
                }
                "options" => options(kind, value).map(|options| field.options = options),
                "validation" => {
                    field.validation = self.validation(&path, kind, value);
                    Ok(())
                }
                "showIf" => {
                    field.show_if = self.condition(&path, value);
                    Ok(())
                }
                "fields" if kind.has_fields() => {
                    field.fields = Some(self.fields(&path, value, level + 1));
                    Ok(())
                }
                "fields" if is_set(value) => Err(not_for(kind)),
                "fields" => Ok(()),
                _ => Err(ValidationIssue::new(ValidationCode::Unknown, "is not a property of a field")),
            };
            if let Err(fault) = read {
                self.fault(&path, value, fault);
            }
        }
        let missing = |name: &str| members.get(name).is_none_or(|value| *value == Json::Null);
        if kind.has_options() && missing("options") {
            self.fault(&format!("{path}.options"), &Json::Null, ValidationIssue::required());
        }
        if kind.has_fields() && members.get("fields").is_none() {
            self.fault(&format!("{path}.fields"), &Json::Null, ValidationIssue::required());
        }
        Some(field)
    }

    /// Examples are valid, and of what must be answered one can be given: the legacy structure shows them.
    fn examples(&mut self, path: &str, fields: &[FormField]) {
        let Ok(level) = Level::new(fields) else { return };
        for (index, (field, node)) in fields.iter().zip(&level.nodes).enumerate() {
            let path = format!("{path}[{index}]");
            self.example(&path, field, node);
            if let Some(inner) = &field.fields {
                self.examples(&format!("{path}.fields"), inner);
            }
        }
    }

    fn example(&mut self, path: &str, field: &FormField, node: &Node) {
        let path = format!("{path}.example");
        match &field.example {
            Some(example) => {
                if let Some(violation) = node.refuse(example) {
                    let words = violation.message.strip_prefix("example").unwrap_or(&violation.message);
                    let words = if words.starts_with(' ') { words.trim() } else { &violation.message };
                    self.fault(&path, example, ValidationIssue::new(violation.rule, words.to_owned()));
                }
            }
            None if field.required && node.example().is_none() && !needs_file(field) => {
                let words = "is required here: no value that fits the rules of the field could be made up";
                self.fault(&path, &Json::Null, ValidationIssue::new(ValidationCode::Required, words));
            }
            None => {}
        }
    }
}

/// Whether only a file can answer the field, which has no example.
fn needs_file(field: &FormField) -> bool {
    let inner = field.fields.iter().flatten();
    field.kind == FormFieldType::File || inner.filter(|field| field.required).any(needs_file)
}

/// `^[A-Za-z_][A-Za-z0-9_]{0,63}$`
fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && name.len() <= 64
}

fn not_for(kind: FormFieldType) -> ValidationIssue {
    ValidationIssue::new(ValidationCode::Conflict, format!("does not apply to type {}", kind.as_str()))
}

fn order(value: &Json) -> Result<Option<i64>, ValidationIssue> {
    match value {
        Json::Null => Ok(None),
        Json::Number(number) => {
            number.as_str().parse().map(Some).map_err(|_| ValidationIssue::wrong_type("a whole number"))
        }
        _ => Err(ValidationIssue::wrong_type("a whole number")),
    }
}

fn options(
    kind: FormFieldType,
    value: &Json,
) -> Result<Option<Vec<crate::schema::FieldOption>>, ValidationIssue> {
    match value {
        Json::Null => Ok(None),
        _ if !kind.has_options() => Err(not_for(kind)),
        Json::Array(items) => option_list(items).map(Some),
        _ => Err(ValidationIssue::wrong_type("an array of options")),
    }
}

impl FormTemplate {
    /// The template as an operator reads and edits it: the definition with what the service sets.
    #[must_use]
    pub fn document(&self) -> serde_json::Value {
        serde_json::json!({
            "id": self.id,
            "agentId": self.agent_id,
            "name": self.name,
            "description": self.description,
            "version": self.version,
            "status": self.status,
            "submissionPolicy": self.submission_policy,
            "disabledTransitions": self.disabled_transitions,
            "fields": self.fields,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
        })
    }
}
