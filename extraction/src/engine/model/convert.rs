//! What a model gives for a value, in the form of the field's type, by the rules of the built-in engine (contract 12.2).

use llm::Url;
use openapi_core::extraction::{ExtractionField, ExtractionType, Rejection};
use openapi_core::json::Json;
use openapi_core::values::{Email, Phone, TextValue, Timestamp};
use rust_decimal::Decimal;

use super::answer::RawLeaf;
use super::locate::{collapsed, squashed};
use crate::document::{Document, Line, Page, Word};
use crate::engine::builtin::annotations::truth;
use crate::engine::builtin::dates::{self, Order};
use crate::engine::builtin::numbers::{self, Mark};
use crate::engine::builtin::text::is_nothing;
use crate::engine::builtin::text::number_json;
use crate::engine::builtin::values::fault;
use crate::engine::builtin::view::View;

/// The maximum length of text that is shown verbatim.
const RAW: usize = 256;
/// The most bytes of a text in which dates and numbers are looked for.
const LONGEST: usize = 400;

/// How the document writes numbers and dates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locale {
    pub(super) mark: Mark,
    pub(super) order: Order,
}

/// A value of a field's type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number { value: Decimal, currency: Option<String> },
    Date { iso: String, ambiguous: bool, time: Option<Time> },
    Truth(bool),
}

/// A time of day with the offset that it is written with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Time {
    pub(super) clock: (i8, i8, i8),
    /// `Z` or `+01:00`.
    pub(super) offset: String,
}

/// The value of a field; `None` if the model states that there is none.
pub(super) fn value(
    field: &ExtractionField,
    raw: &RawLeaf,
    locale: Locale,
) -> Option<Result<Value, Rejection>> {
    let text = match &raw.value {
        Json::String(text) => tidy(text),
        other => other.to_text(),
    };
    if raw.value.as_str().is_some() && is_none(&text) {
        return None;
    }
    let value = match field.kind {
        ExtractionType::Number | ExtractionType::Integer | ExtractionType::Currency => {
            number(&text, &raw.value, locale.mark, field.kind).map(|(value, written)| {
                let currency = raw.currency.clone().or(written).map(|code| code.trim().to_owned());
                Value::Number { value, currency: currency.filter(|code| !code.is_empty()) }
            })
        }
        ExtractionType::Date => {
            date(&text, locale.order).map(|(iso, ambiguous)| Value::Date { iso, ambiguous, time: None })
        }
        ExtractionType::Datetime => instant(&text, locale.order),
        ExtractionType::Boolean => boolean(&raw.value, &text).map(Value::Truth),
        ExtractionType::Email => email(&text).map(Value::Text),
        ExtractionType::Phone => Phone::parse(&text).ok().map(|_| Value::Text(text.clone())),
        ExtractionType::Url => is_url(&text).then(|| Value::Text(text.clone())),
        ExtractionType::String | ExtractionType::Array | ExtractionType::Object => {
            Some(Value::Text(option(field, &text)))
        }
    };
    Some(value.ok_or_else(|| Rejection { raw: cut(&text), fault: fault(field.kind) }))
}

/// Text as the contract has it: trimmed, runs of white space within a line collapsed, no control characters.
pub(super) fn tidy(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let plain: String = line.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect();
        collapsed(&plain)
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

pub(super) fn cut(text: &str) -> String {
    text.chars().take(RAW).collect()
}

/// Words for an absent value, which models write instead of `null`.
fn is_none(text: &str) -> bool {
    is_nothing(text)
        || matches!(text.to_lowercase().as_str(), "" | "null" | "not found" | "not specified" | "-" | "—")
}

/// The option that text is but for case and marks, if it is one; else the text.
fn option(field: &ExtractionField, text: &str) -> String {
    let folded = squashed(text);
    let options = field.options.iter().filter_map(Json::as_str);
    let mut same = options.clone().filter(|option| squashed(option) == folded);
    if options.clone().any(|option| option == text) {
        return text.to_owned();
    }
    match (same.next(), same.next()) {
        (Some(only), None) => only.to_owned(),
        _ => text.to_owned(),
    }
}

fn number(text: &str, raw: &Json, mark: Mark, kind: ExtractionType) -> Option<(Decimal, Option<String>)> {
    let (value, currency) = match raw {
        Json::Number(number) => (plain(number.as_str())?, None),
        // A number as JSON writes it is one also between quotation marks: models write dots.
        Json::String(_) => match plain(text).filter(|_| !is_grouped(text)) {
            Some(value) => (value, None),
            None => written(text, mark)?,
        },
        _ => return None,
    };
    let is_whole = kind != ExtractionType::Integer || value.fract().is_zero();
    is_whole.then_some((value, currency))
}

fn plain(text: &str) -> Option<Decimal> {
    let has_form = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let value = text.parse().ok().or_else(|| Decimal::from_scientific(text).ok());
    value.filter(|_| has_form && text.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Whether three digits follow the only dot: `60.000` may be thousands, as the document decides.
fn is_grouped(text: &str) -> bool {
    text.split_once('.').is_some_and(|(_, tail)| tail.len() == 3)
}

/// The only number of a text, as the document writes numbers, with its currency.
fn written(text: &str, mark: Mark) -> Option<(Decimal, Option<String>)> {
    let document = document(text)?;
    let view = View::new(&document);
    let amounts = numbers::find(&view, mark);
    let mut different = amounts.iter().filter(|amount| amount.value != amounts[0].value);
    let [first, ..] = amounts.as_slice() else { return None };
    let is_only = different.next().is_none();
    is_only.then(|| (first.value, first.currency.map(str::to_owned)))
}

/// A date of a text, and whether day and month could be the other way round.
pub(super) fn date(text: &str, order: Order) -> Option<(String, bool)> {
    let document = document(text)?;
    let view = View::new(&document);
    let dates = dates::find(&view);
    let first = dates.first()?.iso(order)?;
    dates.iter().all(|date| date.iso(order).is_some_and(|(iso, _)| iso == first.0)).then_some(first)
}

fn instant(text: &str, order: Order) -> Option<Value> {
    let (iso, ambiguous) = date(text, order)?;
    let midnight = || Time { clock: (0, 0, 0), offset: "Z".to_owned() };
    let time = match dates::iso_time(text) {
        Some((clock, offset)) => Time { clock, offset },
        None => {
            let words: Vec<&str> = text.split([' ', 'T']).collect();
            let clock = (0..words.len()).find_map(|at| dates::time(&words[at..]));
            Time { clock: clock.unwrap_or((0, 0, 0)), ..midnight() }
        }
    };
    let (hour, minute, second) = time.clock;
    let shown = format!("{iso}T{hour:02}:{minute:02}:{second:02}{}", time.offset);
    Timestamp::parse(&shown).ok().map(|_| Value::Date { iso, ambiguous, time: Some(time) })
}

fn boolean(raw: &Json, text: &str) -> Option<bool> {
    match raw {
        Json::Bool(value) => Some(*value),
        _ => truth(&text.to_lowercase()),
    }
}

fn email(text: &str) -> Option<String> {
    let bare = text.trim_start_matches('<').trim_end_matches('>');
    let bare = bare.strip_prefix("mailto:").unwrap_or(bare);
    let ending = bare.rsplit('.').next().unwrap_or_default();
    let is_named = ending.chars().count() >= 2 && ending.chars().all(char::is_alphabetic);
    Email::parse(bare).ok().filter(|_| is_named).map(|_| bare.to_owned())
}

/// An absolute http or https URL (contract 2.3.1).
fn is_url(text: &str) -> bool {
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let has_scheme = lower.starts_with("http://") || lower.starts_with("https://");
    has_scheme
        && text.len() <= 2_048
        && !text.chars().any(char::is_whitespace)
        && Url::parse(text).is_ok_and(|url| url.has_host())
}

/// The JSON of a value.
pub(super) fn json(field: &ExtractionField, value: &Value, currency: Option<&str>) -> Json {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::Truth(value) => (*value).into(),
        Value::Date { iso, time: None, .. } => iso.as_str().into(),
        Value::Date { iso, time: Some(Time { clock: (hour, minute, second), offset }), .. } => {
            Json::String(format!("{iso}T{hour:02}:{minute:02}:{second:02}{offset}"))
        }
        Value::Number { value, .. } if field.kind == ExtractionType::Currency => {
            let members =
                [("amount", number_json(*value)), ("currency", currency.map_or(Json::Null, Json::from))];
            Json::Object(members.into_iter().map(|(name, member)| (name.to_owned(), member)).collect())
        }
        Value::Number { value, .. } => number_json(*value),
    }
}

/// Text as a document of one line, to be read as the document is; none of text too long to be a date or number.
fn document(text: &str) -> Option<Document> {
    let words: Vec<Word> = text
        .split_whitespace()
        .enumerate()
        .map(|(at, word)| Word {
            text: word.to_owned(),
            gap: u16::from(at > 0),
            confidence: 1.0,
            ..Word::default()
        })
        .collect();
    let line = Line { words, block: 0 };
    let page = Page { number: 1, lines: vec![line], ..Page::default() };
    (text.len() <= LONGEST).then(|| Document { pages: vec![page], ..Document::default() })
}

#[cfg(test)]
mod tests {
    use openapi_core::validation::ValidationCode;

    use super::*;

    fn of(kind: ExtractionType, raw: &str) -> Option<Result<String, (String, ValidationCode)>> {
        let value_json = openapi_core::json::parse(raw.as_bytes()).expect("JSON");
        let leaf = RawLeaf { value: value_json, currency: None, quote: None, page: None };
        let field = ExtractionField::of(kind);
        let locale = Locale { mark: Mark::Dot, order: Order::DayFirst };
        let value = value(&field, &leaf, locale)?;
        Some(value.map(|value| json(&field, &value, None).to_text()).map_err(|no| (no.raw, no.fault.rule)))
    }

    #[test]
    fn values_take_the_form_of_their_type() {
        use ExtractionType::{Boolean, Currency, Date, Datetime, Email, Integer, Number, Phone, String, Url};
        for (kind, raw, json) in [
            (Date, r#""15 January 2026""#, r#""2026-01-15""#),
            (Date, r#""2026-01-15""#, r#""2026-01-15""#),
            (Date, r#""03/04/2026""#, r#""2026-04-03""#),
            (Datetime, r#""2026-01-15T10:30:00+01:00""#, r#""2026-01-15T10:30:00+01:00""#),
            (Datetime, r#""2026-01-15T10:30Z""#, r#""2026-01-15T10:30:00Z""#),
            (Datetime, r#""15 January 2026 3:43 PM""#, r#""2026-01-15T15:43:00Z""#),
            (Datetime, r#""15.01.2026""#, r#""2026-01-15T00:00:00Z""#),
            (Number, "1234.50", "1234.5"),
            (Number, "1e3", "1000"),
            (Number, r#""£1,234.50""#, "1234.5"),
            (Number, r#""(5.00)""#, "-5"),
            (Number, r#""12 pieces""#, "12"),
            (Integer, "5.0", "5"),
            (Currency, r#""€ 12.00""#, r#"{"amount":12,"currency":null}"#),
            (Boolean, "true", "true"),
            (Boolean, r#""Nein""#, "false"),
            (Email, r#"" <a@example.com>""#, r#""a@example.com""#),
            (Phone, r#""+44 20 7946 0000""#, r#""+44 20 7946 0000""#),
            (Url, r#""https://example.com/a""#, r#""https://example.com/a""#),
            (String, r#""  a   b \u0007\n c ""#, r#""a b\nc""#),
            (String, "12.50", r#""12.50""#),
            (String, "true", r#""true""#),
        ] {
            assert_eq!(of(kind, raw), Some(Ok(json.to_owned())), "{kind:?} {raw}");
        }
        for (kind, raw, rule) in [
            (Date, r#""soon""#, ValidationCode::Format),
            (Date, "2026", ValidationCode::Format),
            (Date, r#""2026-01-15 to 2026-02-15""#, ValidationCode::Format),
            (Datetime, r#""at noon""#, ValidationCode::Format),
            (Number, r#""about a dozen""#, ValidationCode::Type),
            (Number, r#""10 or 12""#, ValidationCode::Type),
            (Number, "true", ValidationCode::Type),
            (Number, "1e400", ValidationCode::Type),
            (Integer, "1.5", ValidationCode::Type),
            (Boolean, r#""perhaps""#, ValidationCode::Type),
            (Boolean, "1", ValidationCode::Type),
            (Email, r#""a at example""#, ValidationCode::Format),
            (Phone, r#""call me""#, ValidationCode::Format),
            (Url, r#""www.example.com""#, ValidationCode::Format),
        ] {
            let result = of(kind, raw);
            assert!(matches!(&result, Some(Err((_, found))) if *found == rule), "{kind:?} {raw} {result:?}");
        }
        for raw in [r#""""#, r#""N/A""#, r#""null""#, r#"" - ""#] {
            assert_eq!(of(String, raw), None, "{raw}");
        }
    }

    #[test]
    fn an_option_is_found_whatever_its_case() {
        let mut field = ExtractionField::of(ExtractionType::String);
        field.options = vec!["paid".into(), "not paid".into()];
        assert_eq!(option(&field, "Paid"), "paid");
        assert_eq!(option(&field, "NOT-PAID"), "not paid");
        assert_eq!(option(&field, "overdue"), "overdue");
    }
}
