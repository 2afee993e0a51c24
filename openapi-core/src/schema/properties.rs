//! Readers of an operator's definitions that contact schemas and form templates share.

use super::FieldOption;
use super::pattern::Pattern;
use crate::json::Json;
use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{refuse_controls, refuse_longer};

const MAX_OPTIONS: usize = 500;
const MAX_PATTERN: usize = 500;

/// `true` or `false`.
pub(crate) fn flag(value: &Json) -> Result<bool, ValidationIssue> {
    match value {
        Json::Bool(flag) => Ok(*flag),
        _ => Err(ValidationIssue::wrong_type("true or false")),
    }
}

/// A name for people: a line of text that is not blank.
pub(crate) fn label(value: &Json, most: usize) -> Result<String, ValidationIssue> {
    let text = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
    if text.trim().is_empty() {
        return Err(ValidationIssue::required());
    }
    refuse_controls(text)?;
    refuse_longer(text, most)?;
    Ok(text.to_owned())
}

/// Text, or `null` for none.
pub(crate) fn text(value: &Json, most: usize) -> Result<Option<String>, ValidationIssue> {
    match value {
        Json::Null => Ok(None),
        Json::String(text) => {
            refuse_longer(text, most)?;
            Ok(Some(text.clone()))
        }
        _ => Err(ValidationIssue::wrong_type("a string")),
    }
}

/// A regular expression.
pub(crate) fn pattern_text(value: &Json) -> Result<String, ValidationIssue> {
    let text = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
    refuse_longer(text, MAX_PATTERN)?;
    match Pattern::new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(ValidationIssue::new(
            ValidationCode::Format,
            format!(
                "must be a linear-time regular expression, without back-references and look-around: {error}"
            ),
        )),
    }
}

/// What may be chosen: values, or values with labels.
pub(crate) fn option_list(items: &[Json]) -> Result<Vec<FieldOption>, ValidationIssue> {
    if items.is_empty() {
        return Err(ValidationIssue::new(ValidationCode::MinItems, "must have at least 1 option"));
    }
    if items.len() > MAX_OPTIONS {
        return Err(ValidationIssue::new(
            ValidationCode::MaxItems,
            format!("must have at most {MAX_OPTIONS} options"),
        ));
    }
    let mut options: Vec<FieldOption> = Vec::with_capacity(items.len());
    for item in items {
        let option = match item {
            Json::String(value) => FieldOption { value: value.clone(), label: value.clone() },
            Json::Object(members) if members.iter().all(|(name, _)| matches!(name, "value" | "label")) => {
                let text = |name: &str| members.get(name).and_then(Json::as_str).map(str::to_owned);
                let value = text("value")
                    .ok_or_else(|| ValidationIssue::wrong_type("an array of { value, label }"))?;
                FieldOption { label: text("label").unwrap_or_else(|| value.clone()), value }
            }
            _ => return Err(ValidationIssue::wrong_type("an array of { value, label }")),
        };
        let value = option.value.as_str();
        if value.trim() != value
            || value.is_empty()
            || value.chars().count() > 200
            || value.chars().any(char::is_control)
        {
            return Err(ValidationIssue::new(
                ValidationCode::Pattern,
                "must have values of 1 to 200 characters without white space around them",
            ));
        }
        if options.iter().any(|known| known.value == value) {
            return Err(ValidationIssue::new(
                ValidationCode::UniqueItems,
                format!("must not repeat the value '{value}'"),
            ));
        }
        options.push(option);
    }
    Ok(options)
}
