//! The rules of `validation`: which apply to a type, and whether a value can satisfy all of them.

use super::{MAX_TEXT, Reader, not_for};
use crate::forms::compiled::MAX_BLOCK;
use crate::forms::{FormFieldType, ValidationRules};
use crate::json::{Json, Number};
use crate::schema::properties::{label, pattern_text};
use crate::schema::rules::{Form, MAX_LINE, MAX_URL, is_before, number, time};
use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{Date, TextValue, Timestamp};

impl Reader {
    pub(super) fn validation(
        &mut self,
        path: &str,
        kind: FormFieldType,
        value: &Json,
    ) -> Option<ValidationRules> {
        let members = match value {
            Json::Null => return None,
            Json::Object(members) => members,
            _ => {
                self.fault(path, value, ValidationIssue::wrong_type("an object"));
                return None;
            }
        };
        let mut rules = ValidationRules::default();
        for (member, value) in members.iter().filter(|(_, value)| **value != Json::Null) {
            let read = match (member, applies(kind, member)) {
                (_, None) => {
                    Err(ValidationIssue::new(ValidationCode::Unknown, "is not a rule of validation"))
                }
                (_, Some(false)) => Err(not_for(kind)),
                ("minLength", _) => count(value).map(|least| rules.min_length = Some(least)),
                ("maxLength", _) => count(value).map(|most| rules.max_length = Some(most)),
                ("minItems", _) => count(value).map(|least| rules.min_items = Some(least)),
                ("maxItems", _) => count(value).map(|most| rules.max_items = Some(most)),
                ("pattern", _) => pattern_text(value).map(|pattern| rules.pattern = Some(pattern)),
                ("patternMessage", _) => {
                    label(value, MAX_TEXT).map(|message| rules.pattern_message = Some(message))
                }
                ("minimum", _) => bound(value).map(|least| rules.minimum = Some(least)),
                ("maximum", _) => bound(value).map(|most| rules.maximum = Some(most)),
                ("multipleOf", _) => step(value).map(|step| rules.multiple_of = Some(step)),
                ("minDate", _) => moment(kind, value).map(|least| rules.min_date = Some(least)),
                (_, _) => moment(kind, value).map(|most| rules.max_date = Some(most)),
            };
            if let Err(fault) = read {
                self.fault(&format!("{path}.{member}"), value, fault);
            }
        }
        if let Some((member, fault)) = contradiction(kind, &rules) {
            let value = members.get(member).unwrap_or(&Json::Null);
            self.fault(&format!("{path}.{member}"), value, fault);
        }
        Some(rules).filter(|rules| *rules != ValidationRules::default())
    }
}

/// Whether a rule applies to a type; none for a name that is no rule.
fn applies(kind: FormFieldType, rule: &str) -> Option<bool> {
    use FormFieldType::{
        Checkboxes, Date, Datetime, Email, File, Integer, List, Multiselect, Phone, Text, Textarea, Time, Url,
    };
    Some(match rule {
        "minLength" | "maxLength" | "pattern" | "patternMessage" => {
            matches!(kind, Text | Textarea | Email | Phone | Url)
        }
        "minimum" | "maximum" | "multipleOf" => matches!(kind, FormFieldType::Number | Integer),
        "minItems" | "maxItems" => matches!(kind, Multiselect | Checkboxes | File | List),
        "minDate" | "maxDate" => matches!(kind, Date | Time | Datetime),
        _ => return None,
    })
}

fn count(value: &Json) -> Result<u32, ValidationIssue> {
    let wrong = || ValidationIssue::wrong_type("a whole number of at least 0");
    match value {
        Json::Number(number) => number.as_str().parse().map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}

fn bound(value: &Json) -> Result<Number, ValidationIssue> {
    match value {
        Json::Number(sent) => number(sent).map(|()| sent.clone()),
        _ => Err(ValidationIssue::wrong_type("a number")),
    }
}

/// A step: above 0, of at most 18 digits, so that multiples are exact.
fn step(value: &Json) -> Result<Number, ValidationIssue> {
    let step = bound(value)?;
    let digits = step.as_str().bytes().take_while(|byte| !matches!(byte, b'e' | b'E'));
    if digits.filter(u8::is_ascii_digit).count() > 18 || step.as_f64() <= 0.0 {
        return Err(ValidationIssue::new(
            ValidationCode::Minimum,
            "must be above 0 and have at most 18 digits",
        ));
    }
    Ok(step)
}

fn moment(kind: FormFieldType, value: &Json) -> Result<String, ValidationIssue> {
    let text = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
    match kind {
        FormFieldType::Time => time(text)?,
        FormFieldType::Datetime => Timestamp::parse(text).map(|_| ())?,
        _ => Date::parse(text).map(|_| ())?,
    }
    Ok(text.to_owned())
}

/// Two rules that no value can keep together, or one that the type does not allow.
fn contradiction(kind: FormFieldType, rules: &ValidationRules) -> Option<(&'static str, ValidationIssue)> {
    let conflict = |name, words: String| Some((name, ValidationIssue::new(ValidationCode::Conflict, words)));
    let most = match kind {
        FormFieldType::Textarea => MAX_BLOCK,
        FormFieldType::Email => 254,
        FormFieldType::Phone => 32,
        FormFieldType::Url => MAX_URL,
        _ => MAX_LINE,
    };
    if rules.max_length.is_some_and(|own| own == 0 || own as usize > most) {
        return conflict("maxLength", format!("must be 1 to {most} for type {}", kind.as_str()));
    }
    if rules
        .min_length
        .is_some_and(|least| least as usize > rules.max_length.map_or(most, |own| own as usize))
    {
        return conflict("minLength", "must not be above the greatest length".to_owned());
    }
    if rules.pattern_message.is_some() && rules.pattern.is_none() {
        return conflict("patternMessage", "needs a pattern".to_owned());
    }
    if let (Some(least), Some(most)) = (&rules.minimum, &rules.maximum)
        && least.compare(most).is_gt()
    {
        return conflict("maximum", "must not be below minimum".to_owned());
    }
    if rules.max_items == Some(0) {
        return conflict("maxItems", "must be at least 1".to_owned());
    }
    if let (Some(least), Some(most)) = (rules.min_items, rules.max_items)
        && least > most
    {
        return conflict("maxItems", "must not be below minItems".to_owned());
    }
    let form = match kind {
        FormFieldType::Time => Form::Time,
        FormFieldType::Datetime => Form::Datetime,
        _ => Form::Date,
    };
    if let (Some(least), Some(most)) = (&rules.min_date, &rules.max_date)
        && is_before(form, most, least)
    {
        return conflict("maxDate", "must not be before minDate".to_owned());
    }
    None
}
