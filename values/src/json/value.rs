//! The JSON tree: a request body before validation.

use std::fmt;

use indexmap::IndexMap;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;

/// A JSON value with numbers as written and members in the order sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number with the text it was written in.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// A JSON number that keeps its text, so that it comes back exactly as written.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

/// The members of an object in the order sent; no name occurs twice.
#[derive(Clone, Debug, Default)]
pub struct Object(IndexMap<String, Json>);

impl Number {
    /// Takes text that the parser has found to be a JSON number.
    pub(super) fn from_checked(text: &str) -> Self {
        Number(text.into())
    }

    /// The text as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The nearest double; infinite beyond the range of doubles.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The order of two numbers: exact between whole numbers, else that of the nearest doubles.
    #[must_use]
    pub fn compare(&self, other: &Number) -> std::cmp::Ordering {
        match (self.0.parse::<i128>(), other.0.parse::<i128>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            // Of zero there is one, `-0.0` included.
            _ if self.is_zero() && other.is_zero() => std::cmp::Ordering::Equal,
            _ => self.as_f64().total_cmp(&other.as_f64()),
        }
    }

    /// Whether the number is zero, of either sign: `-0.0` and `0e5` are.
    fn is_zero(&self) -> bool {
        let mantissa = self.0.split(['e', 'E']).next().unwrap_or_default();
        !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
    }

    /// Whether the number has no fraction: `3`, `3.0` and `30e-1` have none.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        let text = self.0.strip_prefix('-').unwrap_or(&self.0);
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i64>().unwrap_or(i64::MIN)),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() && whole.trim_start_matches('0').is_empty() {
            return true;
        }
        let mut scale = exponent.saturating_sub(fraction.len() as i64);
        if fraction.is_empty() {
            let zeros = whole.len() - whole.trim_end_matches('0').len();
            scale = scale.saturating_add(zeros as i64);
        }
        scale >= 0
    }
}

impl Number {
    /// Whether the number is a whole multiple of `step`, exactly: `0.3` is one of `0.1`. No number is one of 0, and
    /// steps of more than 18 digits have no multiples but 0.
    #[must_use]
    pub fn is_multiple_of(&self, step: &Number) -> bool {
        let (digits, exponent) = self.decimal();
        if digits.is_empty() {
            return true;
        }
        let (step_digits, step_exponent) = step.decimal();
        let Some(step) = step_digits.parse::<u64>().ok().filter(|_| step_digits.len() <= 18) else {
            return false;
        };
        // Both end in a digit other than 0: with decimals beyond those of the step it cannot be a multiple.
        let Ok(zeros) = u32::try_from(exponent.saturating_sub(step_exponent)) else { return false };
        let modulus = u128::from(step);
        let number =
            digits.bytes().fold(0_u128, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % modulus);
        (number * power_of_ten(zeros, modulus)).is_multiple_of(modulus)
    }

    /// The digits without sign, point and zeros at either end, and the power of ten that they count: `-1200` is 12 and
    /// 2. Of zero there are no digits.
    fn decimal(&self) -> (String, i64) {
        let text = self.0.strip_prefix('-').unwrap_or(&self.0);
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => {
                let sent = &text[at + 1..];
                let extreme = if sent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
                (&text[..at], sent.parse().unwrap_or(extreme))
            }
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_end_matches('0');
        let zeros = digits.len() - significant.len();
        let exponent = exponent.saturating_sub(fraction.len() as i64).saturating_add(zeros as i64);
        (significant.trim_start_matches('0').to_owned(), exponent)
    }
}

/// 10 to a power, modulo a number below 2 to the 64.
fn power_of_ten(exponent: u32, modulus: u128) -> u128 {
    let (mut power, mut base, mut rest) = (1 % modulus, 10 % modulus, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            power = power * base % modulus;
        }
        base = base * base % modulus;
        rest /= 2;
    }
    power
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! number_from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Number {
            fn from(value: $integer) -> Self {
                Number(value.to_string().into())
            }
        }
        impl From<$integer> for Json {
            fn from(value: $integer) -> Self {
                Json::Number(value.into())
            }
        }
    )*};
}
number_from_integer!(i64, u64, i32, u32, u16);

impl Object {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Object::default()
    }

    /// The value of a member.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// Sets a member and returns its value before: a new name goes to the end, a known one keeps its position.
    pub fn insert(&mut self, name: impl Into<String>, value: Json) -> Option<Json> {
        self.0.insert(name.into(), value)
    }

    /// Removes a member and returns its value; the order of the others stays.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        self.0.shift_remove(name)
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Merges `patch` into this object by RFC 7396: objects merge member by member, `null` removes, anything else
    /// replaces.
    pub fn merge(&mut self, patch: &Object) {
        for (name, value) in patch.iter() {
            match value {
                Json::Null => {
                    self.remove(name);
                }
                Json::Object(inner) => {
                    if !matches!(self.get(name), Some(Json::Object(_))) {
                        self.insert(name, Json::Object(Object::new()));
                    }
                    if let Some(Json::Object(merged)) = self.0.get_mut(name) {
                        merged.merge(inner);
                    }
                }
                other => {
                    self.insert(name, other.clone());
                }
            }
        }
    }

    /// Whether both hold the same members with equal values, whatever their order.
    #[must_use]
    pub fn same(&self, other: &Object) -> bool {
        self.len() == other.len()
            && self.iter().all(|(name, value)| other.get(name).is_some_and(|theirs| value.same(theirs)))
    }
}

impl PartialEq for Object {
    /// Equality to the order of members.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl FromIterator<(String, Json)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(members: I) -> Self {
        Object(members.into_iter().collect())
    }
}

impl Json {
    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The members of an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Json::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Equality of values: the order of members does not count, the text of numbers does.
    #[must_use]
    pub fn same(&self, other: &Json) -> bool {
        match (self, other) {
            (Json::Object(a), Json::Object(b)) => a.same(b),
            (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (a, b) => a == b,
        }
    }

    /// The JSON text, without white space.
    #[must_use]
    pub fn to_text(&self) -> String {
        // A tree of strings, numbers and containers always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Json::String(text.to_owned())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(value) => Json::Bool(*value),
            serde_json::Value::Number(number) => Json::Number(Number::from_checked(&number.to_string())),
            serde_json::Value::String(text) => Json::String(text.clone()),
            serde_json::Value::Array(items) => Json::Array(items.iter().map(Json::from).collect()),
            serde_json::Value::Object(members) => {
                Json::Object(members.iter().map(|(name, value)| (name.clone(), Json::from(value))).collect())
            }
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `RawValue` is how `serde_json` writes text as it is; other formats get the nearest double.
        match serde_json::from_str::<&RawValue>(&self.0) {
            Ok(raw) => raw.serialize(serializer),
            Err(_) => serializer.serialize_f64(self.as_f64()),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Number {
    /// Reads what this crate wrote, as [`Json`] does.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Number(number) => Ok(number),
            _ => Err(serde::de::Error::custom("not a number")),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(number) => number.serialize(serializer),
            Json::String(text) => serializer.serialize_str(text),
            Json::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            Json::Object(members) => members.serialize(serializer),
        }
    }
}
