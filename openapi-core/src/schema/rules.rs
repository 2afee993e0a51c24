//! The rules of one value: the engine of the contact schema and the form templates (contract 2.1.4, 2.3.1).

use std::cmp::Ordering;
use std::collections::HashSet;

use super::{FieldOption, Pattern};
use crate::json::{Json, Number};
use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{
    Date, Email, Phone, PhoneCode, Tag, TextValue, Timestamp, email_without_marks, refuse_controls,
    refuse_longer, visible,
};

/// The longest single-line text without a lower limit, in characters (contract 2.3.1).
pub(crate) const MAX_LINE: usize = 1_000;
/// The longest URL, in characters.
pub(crate) const MAX_URL: usize = 2_048;
/// The longest number, in characters as written (contract 5.3).
const MAX_NUMBER: usize = 64;
/// The greatest magnitude of a number (contract 5.3).
const MAX_MAGNITUDE: f64 = 1e308;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Single-line text.
    Line,
    /// Multi-line text of so many characters.
    Block(usize),
    /// An email address.
    Email,
    /// A telephone number.
    Phone,
    /// A country calling code.
    PhoneCode,
    /// An absolute http or https URL.
    Url,
    /// A number without fraction.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// `YYYY-MM-DD`
    Date,
    /// `HH:MM` or `HH:MM:SS`
    Time,
    /// RFC 3339 with offset.
    Datetime,
    /// One of the options.
    Choice,
    /// An array of options.
    Choices,
    /// An array of tags.
    Tags,
    /// An object of any JSON values.
    Object,
}

/// The rules that a value must keep. What a form has no use for is ignored.
pub struct Rules<'a> {
    /// What the value is.
    pub(crate) form: Form,
    /// Whether a blank value counts as missing.
    pub(crate) required: bool,
    /// The fewest characters.
    pub(crate) min_length: Option<u32>,
    /// The most characters.
    pub(crate) max_length: Option<u32>,
    /// What the text must match.
    pub(crate) pattern: Option<&'a Pattern>,
    /// What people read when it does not.
    pub(crate) pattern_message: Option<&'a str>,
    /// The least value.
    pub(crate) minimum: Option<Limit<'a>>,
    /// The greatest value.
    pub(crate) maximum: Option<Limit<'a>>,
    /// The step of a number.
    pub(crate) multiple_of: Option<&'a Number>,
    /// What may be chosen.
    pub(crate) options: &'a [FieldOption],
    /// The fewest elements.
    pub(crate) min_items: Option<u32>,
    /// The most elements.
    pub(crate) max_items: Option<u32>,
}

/// A bound of a value.
#[derive(Clone, Copy)]
pub enum Limit<'a> {
    /// Of a number.
    Number(&'a Number),
    /// Of a date, a time or a timestamp, as text.
    Moment(&'a str),
}

/// Notes a fault of the value, or of the element of this index.
pub type Note<'a> = dyn FnMut(Option<usize>, &Json, ValidationIssue) + 'a;

impl<'a> Rules<'a> {
    /// The rules of a form alone.
    #[must_use]
    pub fn of(form: Form) -> Self {
        Rules {
            form,
            required: false,
            min_length: None,
            max_length: None,
            pattern: None,
            pattern_message: None,
            minimum: None,
            maximum: None,
            multiple_of: None,
            options: &[],
            min_items: None,
            max_items: None,
        }
    }

    /// A single line, or the elements of tags, without characters that nobody sees, and a telephone number in plain ones;
    /// `None` when the value stays.
    pub(crate) fn plain(&self, value: &Json) -> Option<Json> {
        if let (Form::Tags, Json::Array(items)) = (self.form, value) {
            let tag = Rules::of(Form::Line);
            let plain: Vec<Json> =
                items.iter().map(|item| tag.plain(item).unwrap_or_else(|| item.clone())).collect();
            return Some(Json::Array(plain)).filter(|plain| plain != value);
        }
        let text = value.as_str()?;
        let plain = match self.form {
            Form::Email => email_without_marks(text),
            Form::Phone | Form::PhoneCode => Phone::plain(text),
            Form::Choice if self.options.iter().any(|option| option.value == text) => return None,
            Form::Line | Form::Url | Form::Date | Form::Time | Form::Datetime | Form::Choice => visible(text),
            _ => return None,
        };
        (plain != text).then(|| Json::String(plain.into_owned()))
    }

    /// Whether blank text can be no answer: its form or its rules refuse it.
    pub(crate) fn refuses_blank(&self, text: &str) -> bool {
        match self.form {
            Form::Line | Form::Block(_) => self.lengths(text).and_then(|()| self.matches(text)).is_err(),
            _ => true,
        }
    }

    /// Checks a value that is not `null`.
    pub fn check(&self, value: &Json, note: &mut Note<'_>) {
        let checked = match self.form {
            Form::Line | Form::Block(_) | Form::Email | Form::Phone | Form::PhoneCode | Form::Url => {
                self.text(value)
            }
            Form::Integer | Form::Number => self.numeric(value),
            Form::Boolean => match value {
                Json::Bool(_) => Ok(()),
                _ => Err(ValidationIssue::wrong_type("true or false")),
            },
            Form::Date | Form::Time | Form::Datetime => self.moment(value),
            Form::Choice => match value {
                Json::String(text) if text.trim().is_empty() && self.required => {
                    Err(ValidationIssue::required())
                }
                Json::String(text) if self.options.iter().any(|option| option.value == *text) => Ok(()),
                Json::String(_) => Err(not_an_option(self.options)),
                _ => Err(ValidationIssue::wrong_type("a string")),
            },
            Form::Choices => return self.choices(value, note),
            Form::Tags => return self.tags(value, note),
            Form::Object => match value {
                Json::Object(members) if members.is_empty() && self.required => {
                    Err(ValidationIssue::required())
                }
                Json::Object(_) => Ok(()),
                _ => Err(ValidationIssue::wrong_type("an object")),
            },
        };
        if let Err(fault) = checked {
            note(None, value, fault);
        }
    }

    fn text(&self, value: &Json) -> Result<(), ValidationIssue> {
        let text = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
        if self.required && text.trim().is_empty() {
            return Err(ValidationIssue::required());
        }
        match self.form {
            Form::Block(most) => {
                if text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r')) {
                    return Err(ValidationIssue::invalid_characters());
                }
                refuse_longer(text, most)?;
            }
            Form::Email => as_sent::<Email>(text, "must be a valid email address")?,
            Form::Phone => as_sent::<Phone>(text, "must be a telephone number")?,
            Form::PhoneCode => as_sent::<PhoneCode>(text, "must be a country calling code such as +44")?,
            Form::Url => {
                refuse_controls(text)?;
                refuse_longer(text, MAX_URL)?;
                url(text)?;
            }
            _ => {
                refuse_controls(text)?;
                refuse_longer(text, MAX_LINE)?;
            }
        }
        self.lengths(text)?;
        self.matches(text)
    }

    /// The lengths that were set.
    pub(crate) fn lengths(&self, text: &str) -> Result<(), ValidationIssue> {
        if self.min_length.is_none() && self.max_length.is_none() {
            return Ok(());
        }
        let characters = text.chars().count();
        match (self.min_length, self.max_length) {
            (Some(least), _) if characters < least as usize => {
                Err(ValidationIssue::min_length(least as usize))
            }
            (_, Some(most)) if characters > most as usize => Err(ValidationIssue::max_length(most as usize)),
            _ => Ok(()),
        }
    }

    /// The pattern that was set.
    pub(crate) fn matches(&self, text: &str) -> Result<(), ValidationIssue> {
        match self.pattern {
            Some(pattern) if !pattern.is_match(text) => Err(ValidationIssue::new(
                ValidationCode::Pattern,
                match self.pattern_message {
                    Some(message) => format!("is not valid: {message}"),
                    None => format!("must match {pattern}"),
                },
            )),
            _ => Ok(()),
        }
    }

    fn numeric(&self, value: &Json) -> Result<(), ValidationIssue> {
        let expected = if self.form == Form::Integer { "an integer" } else { "a number" };
        let Json::Number(sent) = value else { return Err(ValidationIssue::wrong_type(expected)) };
        number(sent)?;
        if self.form == Form::Integer && !sent.is_integer() {
            return Err(ValidationIssue::wrong_type(expected));
        }
        if let Some(Limit::Number(least)) = self.minimum
            && sent.compare(least) == Ordering::Less
        {
            return Err(ValidationIssue::new(
                ValidationCode::Minimum,
                format!("must be at least {}", least.as_str()),
            ));
        }
        if let Some(Limit::Number(most)) = self.maximum
            && sent.compare(most) == Ordering::Greater
        {
            return Err(ValidationIssue::new(
                ValidationCode::Maximum,
                format!("must be at most {}", most.as_str()),
            ));
        }
        match self.multiple_of {
            Some(step) if !sent.is_multiple_of(step) => Err(ValidationIssue::new(
                ValidationCode::MultipleOf,
                format!("must be a multiple of {}", step.as_str()),
            )),
            _ => Ok(()),
        }
    }

    fn moment(&self, value: &Json) -> Result<(), ValidationIssue> {
        let text = value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string"))?;
        if self.required && text.trim().is_empty() {
            return Err(ValidationIssue::required());
        }
        match self.form {
            Form::Date => Date::parse(text).map(|_| ())?,
            Form::Time => time(text)?,
            _ => Timestamp::parse(text).map(|_| ())?,
        }
        self.within(text)
    }

    /// The bounds of a date, a time or a timestamp.
    pub(crate) fn within(&self, text: &str) -> Result<(), ValidationIssue> {
        if let Some(Limit::Moment(least)) = self.minimum
            && is_before(self.form, text, least)
        {
            return Err(ValidationIssue::new(ValidationCode::Minimum, format!("must be {least} or later")));
        }
        if let Some(Limit::Moment(most)) = self.maximum
            && is_before(self.form, most, text)
        {
            return Err(ValidationIssue::new(ValidationCode::Maximum, format!("must be {most} or earlier")));
        }
        Ok(())
    }

    /// What an array must keep as a whole: that it is answered, and the number of its elements.
    pub(crate) fn count(&self, items: &[Json]) -> Result<(), ValidationIssue> {
        if items.is_empty() && self.required {
            return Err(ValidationIssue::required());
        }
        match (self.min_items, self.max_items) {
            (Some(least), _) if items.len() < least as usize => Err(too_few_items(least as usize)),
            (_, Some(most)) if items.len() > most as usize => Err(too_many_items(most as usize)),
            _ => Ok(()),
        }
    }

    fn choices(&self, value: &Json, note: &mut Note<'_>) {
        let Json::Array(items) = value else {
            return note(None, value, ValidationIssue::wrong_type("an array of strings"));
        };
        let mut whole = self.count(items);
        let allowed: HashSet<&str> = self.options.iter().map(|option| option.value.as_str()).collect();
        let mut chosen = HashSet::with_capacity(allowed.len().min(items.len()));
        for (index, item) in items.iter().enumerate() {
            let fault = match item {
                Json::String(text) if allowed.contains(text.as_str()) => {
                    if !chosen.insert(text.as_str()) && whole.is_ok() {
                        whole = Err(ValidationIssue::new(
                            ValidationCode::UniqueItems,
                            "must not repeat an element",
                        ));
                    }
                    continue;
                }
                Json::String(_) => not_an_option(self.options),
                _ => ValidationIssue::wrong_type("a string"),
            };
            note(Some(index), item, fault);
        }
        if let Err(fault) = whole {
            note(None, value, fault);
        }
    }

    fn tags(&self, value: &Json, note: &mut Note<'_>) {
        let Json::Array(items) = value else {
            return note(None, value, ValidationIssue::wrong_type("an array of strings"));
        };
        if items.is_empty() && self.required {
            return note(None, value, ValidationIssue::required());
        }
        if items.len() > Tag::MAX_COUNT {
            return note(None, value, too_many_items(Tag::MAX_COUNT));
        }
        for (index, item) in items.iter().enumerate() {
            let read =
                item.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string")).and_then(Tag::parse);
            if let Err(fault) = read {
                note(Some(index), item, fault);
            }
        }
    }
}

/// A value that is stored as sent: white space around it, which a standard field trims, is a fault of form here, and a
/// blank value has the wrong form; it is not missing.
fn as_sent<T: TextValue>(text: &str, words: &'static str) -> Result<(), ValidationIssue> {
    let form = || ValidationIssue::new(ValidationCode::Format, words);
    refuse_controls(text)?;
    match T::parse(text) {
        Ok(_) if text.trim() != text => Err(form()),
        Ok(_) => Ok(()),
        Err(fault) if fault.rule == ValidationCode::Required => Err(form()),
        Err(fault) => Err(fault),
    }
}

/// An absolute http or https URL.
fn url(text: &str) -> Result<(), ValidationIssue> {
    let invalid = || ValidationIssue::new(ValidationCode::Format, "must be an absolute http or https URL");
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let has_scheme = lower.starts_with("http://") || lower.starts_with("https://");
    if !has_scheme || text.chars().any(char::is_whitespace) {
        return Err(invalid());
    }
    url::Url::parse(text).ok().filter(url::Url::has_host).map(|_| ()).ok_or_else(invalid)
}

/// A number that can be stored as written.
pub(crate) fn number(number: &Number) -> Result<(), ValidationIssue> {
    if number.as_str().len() > MAX_NUMBER {
        return Err(ValidationIssue::new(
            ValidationCode::MaxLength,
            "must be written in at most 64 characters",
        ));
    }
    if number.as_f64().abs() > MAX_MAGNITUDE {
        return Err(ValidationIssue::new(ValidationCode::Maximum, "must have a magnitude of at most 1e308"));
    }
    Ok(())
}

/// The regular expression of [`time`], for JSON Schema.
pub(crate) const TIME_PATTERN: &str = "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$";

/// A time of day: `HH:MM` or `HH:MM:SS`.
pub(crate) fn time(text: &str) -> Result<(), ValidationIssue> {
    let part = |text: &[u8], below: u8| {
        let [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = text else { return false };
        (tens - b'0') * 10 + (ones - b'0') < below
    };
    let valid = match text.as_bytes() {
        [h @ .., b':', m1, m2] if h.len() == 2 => part(h, 24) && part(&[*m1, *m2], 60),
        [h1, h2, b':', m1, m2, b':', s1, s2] => {
            part(&[*h1, *h2], 24) && part(&[*m1, *m2], 60) && part(&[*s1, *s2], 60)
        }
        _ => false,
    };
    if valid {
        Ok(())
    } else {
        Err(ValidationIssue::new(ValidationCode::Format, "must be a time as HH:MM or HH:MM:SS"))
    }
}

/// Whether one date, time or timestamp lies before another.
pub(crate) fn is_before(form: Form, a: &str, b: &str) -> bool {
    match form {
        Form::Datetime => match (Timestamp::parse(a), Timestamp::parse(b)) {
            (Ok(a), Ok(b)) => a < b,
            _ => false,
        },
        // `09:00` is `09:00:00`.
        Form::Time => (a.get(..5), a.get(5..8).unwrap_or(":00")) < (b.get(..5), b.get(5..8).unwrap_or(":00")),
        _ => a < b,
    }
}

/// A value that is none of the options.
pub(crate) fn not_an_option(options: &[FieldOption]) -> ValidationIssue {
    let values: Vec<&str> = options.iter().map(|option| option.value.as_str()).collect();
    ValidationIssue::not_one_of(&values)
}

/// Too many elements.
pub(crate) fn too_many_items(most: usize) -> ValidationIssue {
    let noun = if most == 1 { "element" } else { "elements" };
    ValidationIssue::new(ValidationCode::MaxItems, format!("must have at most {most} {noun}"))
}

/// Too few elements.
pub(crate) fn too_few_items(least: usize) -> ValidationIssue {
    let noun = if least == 1 { "element" } else { "elements" };
    ValidationIssue::new(ValidationCode::MinItems, format!("must have at least {least} {noun}"))
}
