//! The rules of declared values: one engine for every field definition.

use std::cmp::Ordering;
use std::collections::HashSet;

use regex::Regex;

use crate::json::{Json, Number};
use crate::schema::{FieldDefinition, FieldOption, FieldType};
use crate::values::{
    Date, Email, Phone, PhoneCode, Tag, TextValue, Timestamp, refuse_controls, refuse_longer,
};
use crate::violation::{Fault, Rule};

/// The longest single-line text without a lower limit, in characters (contract 2.3.1).
const MAX_LINE: usize = 1_000;
/// The longest multi-line text of a custom field, in characters.
const MAX_TEXT: usize = 5_000;
/// The longest URL, in characters.
const MAX_URL: usize = 2_048;
/// The longest number, in characters as written (contract 5.3).
const MAX_NUMBER: usize = 64;
/// The greatest magnitude of a number (contract 5.3).
const MAX_MAGNITUDE: f64 = 1e308;

/// Notes a fault at a path inside a value.
pub(super) type Note<'a> = dyn FnMut(&str, &Json, Fault) + 'a;

/// Checks a value that is not `null` against its definition.
pub(super) fn declared(
    path: &str,
    value: &Json,
    field: &FieldDefinition,
    pattern_of: Option<&Regex>,
    note: &mut Note<'_>,
) {
    let checked = match field.kind {
        kind if kind.is_text() => text(value, field, pattern_of),
        FieldType::Integer | FieldType::Number => numeric(value, field),
        FieldType::Boolean => match value {
            Json::Bool(_) => Ok(()),
            _ => Err(Fault::wrong_type("true or false")),
        },
        FieldType::Date | FieldType::Datetime => moment(value, field),
        FieldType::Select => {
            let options = field.options.as_deref().unwrap_or_default();
            match value {
                Json::String(text) if text.trim().is_empty() && field.required => Err(Fault::required()),
                Json::String(text) if options.iter().any(|option| option.value == *text) => Ok(()),
                Json::String(_) => Err(not_an_option(options)),
                _ => Err(Fault::wrong_type("a string")),
            }
        }
        FieldType::Multiselect => return multiselect(path, value, field, note),
        FieldType::Tags => return tags(path, value, field, note),
        _ => match value {
            Json::Object(members) if members.is_empty() && field.required => Err(Fault::required()),
            Json::Object(_) => Ok(()),
            _ => Err(Fault::wrong_type("an object")),
        },
    };
    if let Err(fault) = checked {
        note(path, value, fault);
    }
}

fn text(value: &Json, field: &FieldDefinition, pattern_of: Option<&Regex>) -> Result<(), Fault> {
    let text = value.as_str().ok_or_else(|| Fault::wrong_type("a string"))?;
    if text.trim().is_empty() && field.required {
        return Err(Fault::required());
    }
    match field.kind {
        FieldType::Text => {
            if text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
                return Err(Fault::invalid_characters());
            }
            refuse_longer(text, MAX_TEXT)?;
        }
        FieldType::String => {
            refuse_controls(text)?;
            refuse_longer(text, MAX_LINE)?;
        }
        FieldType::Email => as_sent::<Email>(text, "must be a valid email address")?,
        FieldType::Phone => as_sent::<Phone>(text, "must be a telephone number")?,
        FieldType::PhoneCode => as_sent::<PhoneCode>(text, "must be a country calling code such as +44")?,
        _ => {
            refuse_controls(text)?;
            refuse_longer(text, MAX_URL)?;
            url(text)?;
        }
    }
    lengths(text, field)?;
    pattern(text, pattern_of)
}

/// A value that is stored as sent: white space around it, which a standard field trims, is a fault of form here, and a
/// blank value has the wrong form; it is not missing.
fn as_sent<T: TextValue>(text: &str, words: &'static str) -> Result<(), Fault> {
    let form = || Fault::new(Rule::Format, words);
    refuse_controls(text)?;
    match T::parse(text) {
        Ok(_) if text.trim() != text => Err(form()),
        Ok(_) => Ok(()),
        Err(fault) if fault.rule == Rule::Required => Err(form()),
        Err(fault) => Err(fault),
    }
}

/// An absolute http or https URL.
fn url(text: &str) -> Result<(), Fault> {
    let invalid = || Fault::new(Rule::Format, "must be an absolute http or https URL");
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let has_scheme = lower.starts_with("http://") || lower.starts_with("https://");
    if !has_scheme || text.chars().any(char::is_whitespace) {
        return Err(invalid());
    }
    url::Url::parse(text).ok().filter(url::Url::has_host).map(|_| ()).ok_or_else(invalid)
}

/// A number that can be kept as written.
pub(super) fn number(number: &Number) -> Result<(), Fault> {
    if number.as_str().len() > MAX_NUMBER {
        return Err(Fault::new(Rule::MaxLength, "must be written in at most 64 characters"));
    }
    if number.as_f64().abs() > MAX_MAGNITUDE {
        return Err(Fault::new(Rule::Maximum, "must have a magnitude of at most 1e308"));
    }
    Ok(())
}

fn numeric(value: &Json, field: &FieldDefinition) -> Result<(), Fault> {
    let expected = if field.kind == FieldType::Integer { "an integer" } else { "a number" };
    let Json::Number(sent) = value else { return Err(Fault::wrong_type(expected)) };
    number(sent)?;
    if field.kind == FieldType::Integer && !sent.is_integer() {
        return Err(Fault::wrong_type(expected));
    }
    let bound = |bound: &Option<Json>| match bound {
        Some(Json::Number(bound)) => Some(bound.clone()),
        _ => None,
    };
    if let Some(least) = bound(&field.minimum)
        && sent.compare(&least) == Ordering::Less
    {
        return Err(Fault::new(Rule::Minimum, format!("must be at least {}", least.as_str())));
    }
    if let Some(most) = bound(&field.maximum)
        && sent.compare(&most) == Ordering::Greater
    {
        return Err(Fault::new(Rule::Maximum, format!("must be at most {}", most.as_str())));
    }
    Ok(())
}

fn moment(value: &Json, field: &FieldDefinition) -> Result<(), Fault> {
    let text = value.as_str().ok_or_else(|| Fault::wrong_type("a string"))?;
    if text.trim().is_empty() && field.required {
        return Err(Fault::required());
    }
    match field.kind {
        FieldType::Date => Date::parse(text).map(|_| ())?,
        _ => Timestamp::parse(text).map(|_| ())?,
    }
    text_bounds(text, field)
}

fn multiselect(path: &str, value: &Json, field: &FieldDefinition, note: &mut Note<'_>) {
    let options = field.options.as_deref().unwrap_or_default();
    let Json::Array(items) = value else {
        return note(path, value, Fault::wrong_type("an array of strings"));
    };
    if items.is_empty() && field.required {
        return note(path, value, Fault::required());
    }
    let allowed: HashSet<&str> = options.iter().map(|option| option.value.as_str()).collect();
    let mut seen = HashSet::with_capacity(allowed.len());
    let mut repeated = false;
    for (index, item) in items.iter().enumerate() {
        let fault = match item {
            Json::String(text) if allowed.contains(text.as_str()) => {
                repeated |= !seen.insert(text);
                continue;
            }
            Json::String(_) => not_an_option(options),
            _ => Fault::wrong_type("a string"),
        };
        note(&format!("{path}[{index}]"), item, fault);
    }
    if repeated {
        note(path, value, Fault::new(Rule::UniqueItems, "must not repeat an element"));
    }
}

fn tags(path: &str, value: &Json, field: &FieldDefinition, note: &mut Note<'_>) {
    let Json::Array(items) = value else {
        return note(path, value, Fault::wrong_type("an array of strings"));
    };
    if items.is_empty() && field.required {
        return note(path, value, Fault::required());
    }
    if items.len() > Tag::MAX_COUNT {
        return note(path, value, too_many_items(Tag::MAX_COUNT));
    }
    for (index, item) in items.iter().enumerate() {
        let read = item.as_str().ok_or_else(|| Fault::wrong_type("a string")).and_then(Tag::parse);
        if let Err(fault) = read {
            note(&format!("{path}[{index}]"), item, fault);
        }
    }
}

/// The operator's lengths.
pub(super) fn lengths(text: &str, field: &FieldDefinition) -> Result<(), Fault> {
    let characters = text.chars().count();
    if let Some(least) = field.min_length
        && characters < least as usize
    {
        return Err(Fault::min_length(least as usize));
    }
    if let Some(most) = field.max_length
        && characters > most as usize
    {
        return Err(Fault::max_length(most as usize));
    }
    Ok(())
}

/// The operator's pattern.
pub(super) fn pattern(text: &str, pattern: Option<&Regex>) -> Result<(), Fault> {
    match pattern {
        Some(pattern) if !pattern.is_match(text) => {
            Err(Fault::new(Rule::Pattern, format!("must match {pattern}")))
        }
        _ => Ok(()),
    }
}

/// The operator's bounds of a date or a timestamp.
pub(super) fn text_bounds(text: &str, field: &FieldDefinition) -> Result<(), Fault> {
    let before = |a: &str, b: &str| match field.kind {
        FieldType::Datetime => match (Timestamp::parse(a), Timestamp::parse(b)) {
            (Ok(a), Ok(b)) => a < b,
            _ => false,
        },
        _ => a < b,
    };
    let bound = |bound: &Option<Json>| match (field.kind, bound) {
        (FieldType::Date | FieldType::Datetime, Some(Json::String(bound))) => Some(bound.clone()),
        _ => None,
    };
    if let Some(least) = bound(&field.minimum)
        && before(text, &least)
    {
        return Err(Fault::new(Rule::Minimum, format!("must be {least} or later")));
    }
    if let Some(most) = bound(&field.maximum)
        && before(&most, text)
    {
        return Err(Fault::new(Rule::Maximum, format!("must be {most} or earlier")));
    }
    Ok(())
}

/// A value that is none of the options.
pub(super) fn not_an_option(options: &[FieldOption]) -> Fault {
    let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    Fault::not_one_of(&values)
}

/// Too many elements.
pub(super) fn too_many_items(most: usize) -> Fault {
    Fault::new(Rule::MaxItems, format!("must have at most {most} elements"))
}
