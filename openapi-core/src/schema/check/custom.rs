//! `customFields`: the limits of the whole, the rules of keys and values, declared fields (contract 2.1.1, 2.1.4).

use super::{CompiledSchema, Found, required};
use crate::json::{Json, Object};
use crate::schema::rules;
use crate::violation::{Fault, Rule};

/// The most top-level members.
pub(crate) const MAX_MEMBERS: usize = 100;
/// The deepest value: steps below `customFields`.
const MAX_STEPS: usize = 5;
/// The longest string, in characters.
const MAX_STRING: usize = 5_000;
/// The whole object, serialised, in octets.
const MAX_OCTETS: usize = 32 * 1024;
/// The longest key, in characters.
const MAX_KEY: usize = 64;

/// The limits that the object as stored must keep.
pub(super) fn limits(members: &Object) -> Option<Fault> {
    if members.len() > MAX_MEMBERS {
        return Some(Fault::new(Rule::MaxProperties, format!("must have at most {MAX_MEMBERS} members")));
    }
    if members.iter().map(|(_, value)| steps(value)).max().unwrap_or(0) > MAX_STEPS {
        return Some(Fault::new(Rule::MaxDepth, format!("must be nested at most {MAX_STEPS} levels deep")));
    }
    let octets = serde_json::to_string(members).map_or(usize::MAX, |text| text.len());
    if octets > MAX_OCTETS {
        return Some(Fault::new(Rule::MaxSize, "must have at most 32 KiB when serialised"));
    }
    None
}

/// How many steps below its container the deepest value inside `value` lies, the value itself being one step.
fn steps(value: &Json) -> usize {
    let below = match value {
        Json::Object(members) => members.iter().map(|(_, value)| steps(value)).max(),
        Json::Array(items) => items.iter().map(steps).max(),
        _ => None,
    };
    1 + below.unwrap_or(0)
}

/// The members without those that are `null`, at any depth; elements of arrays stay.
pub(super) fn without_nulls(members: &Object) -> Object {
    let kept = members.iter().filter(|(_, value)| **value != Json::Null);
    kept.map(|(name, value)| match value {
        Json::Object(inner) => (name.to_owned(), Json::Object(without_nulls(inner))),
        other => (name.to_owned(), other.clone()),
    })
    .collect()
}

impl CompiledSchema {
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
                    let violation = self.violation(&path, Some(value), Fault::new(Rule::Unknown, ""));
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
                Some(Fault::new(Rule::InvalidCharacters, "must not contain U+0000"))
            }
            Json::String(text) if text.len() > MAX_STRING && text.chars().count() > MAX_STRING => {
                Some(Fault::max_length(MAX_STRING))
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

/// The rule of a key: 1 to 64 characters, no control characters, no leading `$`, no `.`.
pub(in crate::schema) fn key(name: &str) -> Result<(), Fault> {
    if name.contains('\0') {
        return Err(Fault::new(Rule::InvalidCharacters, "must not contain U+0000"));
    }
    let valid = !name.is_empty()
        && name.chars().count() <= MAX_KEY
        && !name.chars().any(char::is_control)
        && !name.starts_with('$')
        && !name.contains('.');
    if valid {
        Ok(())
    } else {
        Err(Fault::new(
            Rule::Pattern,
            "must be a key of 1 to 64 characters without control characters, a leading $ or a dot",
        ))
    }
}
