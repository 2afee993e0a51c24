//! The limits of `customFields` as a whole, and of its keys (contract 2.1.1).

use crate::json::{Json, Object};
use crate::validation::{ValidationCode, ValidationIssue};

/// The most top-level members.
pub(crate) const MAX_MEMBERS: usize = 100;
/// The deepest value: steps below `customFields`.
const MAX_STEPS: usize = 5;
/// The whole object, serialised, in bytes.
const MAX_BYTES: usize = 32 * 1024;
/// The longest key, in characters.
const MAX_KEY: usize = 64;

/// The limits that the object as stored must keep.
pub(super) fn whole(members: &Object) -> Option<ValidationIssue> {
    if members.len() > MAX_MEMBERS {
        return Some(ValidationIssue::new(
            ValidationCode::MaxProperties,
            format!("must have at most {MAX_MEMBERS} members"),
        ));
    }
    if members.iter().map(|(_, value)| steps(value)).max().unwrap_or(0) > MAX_STEPS {
        return Some(ValidationIssue::new(
            ValidationCode::MaxDepth,
            format!("must be nested at most {MAX_STEPS} levels deep"),
        ));
    }
    let bytes = serde_json::to_string(members).map_or(usize::MAX, |text| text.len());
    if bytes > MAX_BYTES {
        return Some(ValidationIssue::new(
            ValidationCode::MaxSize,
            "must have at most 32 KiB when serialised",
        ));
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
    let set = members.iter().filter(|(_, value)| **value != Json::Null);
    set.map(|(name, value)| match value {
        Json::Object(inner) => (name.to_owned(), Json::Object(without_nulls(inner))),
        other => (name.to_owned(), other.clone()),
    })
    .collect()
}

/// The rule of a key: 1 to 64 characters, no control characters, no leading `$`, no `.`.
pub(in crate::schema) fn key(name: &str) -> Result<(), ValidationIssue> {
    if name.contains('\0') {
        return Err(ValidationIssue::new(ValidationCode::InvalidCharacters, "must not contain U+0000"));
    }
    let valid = !name.is_empty()
        && name.chars().count() <= MAX_KEY
        && !name.chars().any(char::is_control)
        && !name.starts_with('$')
        && !name.contains('.');
    if valid {
        Ok(())
    } else {
        Err(ValidationIssue::new(
            ValidationCode::Pattern,
            "must be a key of 1 to 64 characters without control characters, a leading $ or a dot",
        ))
    }
}
