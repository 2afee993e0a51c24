//! `customFields`: the limits of the whole, the rules of keys and values, declared fields (contract 2.1.1, 2.1.4).

use std::borrow::Cow;

use super::CompiledSchema;
use super::found::{Found, required};
use super::limits::key;
use crate::json::{Json, Object};
use crate::schema::rules;
use crate::validation::{ValidationCode, ValidationIssue};

/// The longest string, in characters.
const MAX_STRING: usize = 5_000;

impl CompiledSchema {
    /// The members with single lines of declared fields in plain characters.
    pub(super) fn plain_members<'a>(&self, members: &'a Object) -> Cow<'a, Object> {
        let mut plain = Cow::Borrowed(members);
        for field in &self.schema.custom_fields {
            let value = members.get(&field.name).and_then(|value| field.rules(None).plain(value));
            if let Some(value) = value {
                plain.to_mut().insert(field.name.clone(), value);
            }
        }
        plain
    }

    /// Checks the members as sent.
    pub(super) fn custom_members(&self, members: &Object, at: usize, found: &mut Found) {
        for (name, value) in members.iter() {
            let path = format!("customFields.{name}");
            if let Err(fault) = key(name) {
                found.push(at, self.violation(&path, Some(value), fault));
                continue;
            }
            let declared = self.schema.custom_fields.iter().find(|field| field.name == name);
            match (declared, value) {
                (Some(field), Json::Null) if field.required => found.push(at, required(&path)),
                (_, Json::Null) => {}
                (Some(field), value) => {
                    let pattern = self.patterns.get(&path);
                    let before = found.total;
                    field.rules(pattern).check(value, &mut |index, value, fault| {
                        let violation = match index {
                            Some(index) => self.violation(&format!("{path}[{index}]"), Some(value), fault),
                            None => self.violation(&path, Some(value), fault),
                        };
                        found.push(at, violation);
                    });
                    if found.total == before {
                        self.any_value(&path, value, at, found);
                    }
                }
                (None, value) if self.schema.allow_undeclared_custom_fields => {
                    self.any_value(&path, value, at, found);
                }
                (None, value) => {
                    let message = format!("Unknown field '{path}'.");
                    let violation =
                        self.violation(&path, Some(value), ValidationIssue::new(ValidationCode::Unknown, ""));
                    found.push(at, violation.with_message(message));
                }
            }
        }
    }

    /// The rules of every value: strings, numbers, keys of nested objects. Recursion is bounded by the depth of the
    /// parsed text.
    fn any_value(&self, path: &str, value: &Json, at: usize, found: &mut Found) {
        let fault = match value {
            Json::String(text) if text.contains('\0') => {
                Some(ValidationIssue::new(ValidationCode::InvalidCharacters, "must not contain U+0000"))
            }
            Json::String(text) if text.len() > MAX_STRING && text.chars().count() > MAX_STRING => {
                Some(ValidationIssue::max_length(MAX_STRING))
            }
            Json::Number(number) => rules::number(number).err(),
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.any_value(&format!("{path}[{index}]"), item, at, found);
                }
                None
            }
            Json::Object(members) => {
                for (name, value) in members.iter() {
                    let path = format!("{path}.{name}");
                    match key(name) {
                        Ok(()) => self.any_value(&path, value, at, found),
                        Err(fault) => found.push(at, self.violation(&path, Some(value), fault)),
                    }
                }
                None
            }
            _ => None,
        };
        if let Some(fault) = fault {
            found.push(at, self.violation(path, Some(value), fault));
        }
    }

    /// Notes required custom fields that `members` does not have at all.
    pub(super) fn missing_custom_fields(&self, members: &Object, at: usize, found: &mut Found) {
        for field in self.schema.custom_fields.iter().filter(|field| field.required) {
            if members.get(&field.name).is_none() {
                found.push(at, required(&format!("customFields.{}", field.name)));
            }
        }
    }
}
