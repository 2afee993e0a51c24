//! Conditions: what they refer to, whether they can be met, and that they contain no cycle.

use std::collections::HashSet;

use super::Reader;
use crate::forms::{FormField, FormFieldType, Operator, ShowIf};
use crate::json::Json;
use crate::validation::{ValidationCode, ValidationIssue};

impl Reader {
    pub(super) fn condition(&mut self, path: &str, value: &Json) -> Option<ShowIf> {
        let members = match value {
            Json::Null => return None,
            Json::Object(members) => members,
            _ => {
                self.fault(path, value, ValidationIssue::wrong_type("an object with field, op and value"));
                return None;
            }
        };
        let (mut field, mut op, mut compared) = (None, None, Json::Null);
        for (member, value) in members.iter() {
            let read = match (member, value) {
                ("field", Json::String(name)) => {
                    field = Some(name.clone());
                    Ok(())
                }
                ("op", Json::String(word)) => {
                    op = Operator::ALL.into_iter().find(|op| op.as_str() == word);
                    op.map(|_| ())
                        .ok_or_else(|| ValidationIssue::not_one_of(&Operator::ALL.map(Operator::as_str)))
                }
                ("value", value) => {
                    compared = value.clone();
                    Ok(())
                }
                ("field" | "op", _) => Err(ValidationIssue::wrong_type("a string")),
                _ => Err(ValidationIssue::new(ValidationCode::Unknown, "is not a member of a condition")),
            };
            if let Err(fault) = read {
                self.fault(&format!("{path}.{member}"), value, fault);
            }
        }
        for member in ["field", "op"].into_iter().filter(|member| members.get(member).is_none()) {
            self.fault(&format!("{path}.{member}"), &Json::Null, ValidationIssue::required());
        }
        Some(ShowIf { field: field?, op: op?, value: compared })
    }

    /// Conditions refer to another field of the level, fit what it takes, and do not run in a circle.
    pub(super) fn conditions(&mut self, path: &str, fields: &[(usize, FormField)]) {
        let find = |name: &str| fields.iter().map(|(_, field)| field).find(|field| field.name == name);
        for (index, field) in fields {
            let Some(condition) = &field.show_if else { continue };
            let at = format!("{path}[{index}].showIf");
            let Some(controller) = find(&condition.field) else {
                let fault =
                    ValidationIssue::new(ValidationCode::Reference, "is not a field of the same level");
                self.fault(&format!("{at}.field"), &condition.field.as_str().into(), fault);
                continue;
            };
            let mut seen = HashSet::from([field.name.as_str()]);
            let mut next = Some(controller);
            while let Some(step) = next {
                if !seen.insert(&step.name) {
                    break;
                }
                next = step.show_if.as_ref().and_then(|condition| find(&condition.field));
            }
            if next.is_some() {
                let fault =
                    ValidationIssue::new(ValidationCode::Conflict, "must not lead back to the field itself");
                self.fault(&format!("{at}.field"), &condition.field.as_str().into(), fault);
                continue;
            }
            if let Err((member, fault)) = fits(condition, controller) {
                let value = match member {
                    "op" => condition.op.as_str().into(),
                    _ => condition.value.clone(),
                };
                self.fault(&format!("{at}.{member}"), &value, fault);
            }
        }
    }
}

/// Whether a condition can hold of an answer to its field.
fn fits(condition: &ShowIf, controller: &FormField) -> Result<(), (&'static str, ValidationIssue)> {
    use FormFieldType::{
        Boolean, Checkboxes, File, Group, Integer, List, Multiselect, Number, Radio, Select, Text, Textarea,
    };
    let kind = controller.kind;
    let is_many = matches!(kind, Multiselect | Checkboxes);
    let allowed = match condition.op {
        Operator::Answered => true,
        Operator::Equals | Operator::NotEquals | Operator::In => {
            !is_many && !matches!(kind, File | Group | List)
        }
        Operator::Contains => is_many || matches!(kind, Text | Textarea),
    };
    if !allowed {
        let words = format!("cannot be {} of a field of type {}", condition.op.as_str(), kind.as_str());
        return Err(("op", ValidationIssue::new(ValidationCode::Conflict, words)));
    }
    let is_possible = |value: &Json| match (kind, value) {
        (Select | Radio | Multiselect | Checkboxes, Json::String(text)) => {
            controller.options.iter().flatten().any(|option| option.value == *text)
        }
        (Select | Radio | Multiselect | Checkboxes, _) => false,
        (Boolean, value) => matches!(value, Json::Bool(_)),
        (Number | Integer, value) => matches!(value, Json::Number(_)),
        (_, value) => matches!(value, Json::String(_)),
    };
    let wrong = || {
        Err((
            "value",
            ValidationIssue::new(ValidationCode::Conflict, format!("is no answer to '{}'", controller.name)),
        ))
    };
    match (condition.op, &condition.value) {
        (Operator::Answered, Json::Null | Json::Bool(_)) => Ok(()),
        (Operator::Answered, _) => Err(("value", ValidationIssue::wrong_type("true or false"))),
        (Operator::In, Json::Array(values)) if !values.is_empty() => {
            if values.iter().all(is_possible) {
                Ok(())
            } else {
                wrong()
            }
        }
        (Operator::In, _) => Err(("value", ValidationIssue::wrong_type("an array of answers"))),
        (_, value) if is_possible(value) => Ok(()),
        _ => wrong(),
    }
}
