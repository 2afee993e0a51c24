//! From what a model says to values in the shape of the schema, before anyone has looked whether they are true.

use openapi_core::extraction::{ExtractionField, ExtractionSchema, ExtractionType};
use openapi_core::json::{Json, Object, parse};

/// The most scalars of one answer; more are no answer to a document of the size that is asked about.
const MAX_LEAVES: usize = 20_000;
/// The most members that are taken of an object without declared ones.
const MAX_PAIRS: usize = 200;
/// How many braces are looked at for the beginning of an object.
const MAX_TRIES: usize = 32;

/// A value as the model gives it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Raw {
    Absent,
    Leaf(RawLeaf),
    Array(Vec<Raw>),
    Object(Vec<(String, Raw)>),
}

/// A scalar with the evidence that the model gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawLeaf {
    /// A scalar, or an object of `amount` and `currency`; never `null`.
    pub(super) value: Json,
    pub(super) currency: Option<String>,
    pub(super) quote: Option<String>,
    pub(super) page: Option<u32>,
}

/// Reads an answer: one value for each field of the schema.
///
/// # Errors
/// What is wrong, in words for the model that hold nothing of its answer but names of fields.
pub(super) fn read(schema: &ExtractionSchema, text: &str) -> Result<Vec<Raw>, String> {
    let object = find(schema, text).ok_or("it is not a JSON object of the shape")?;
    let mut reader = Reader { leaves: 0 };
    let fields = schema.fields().iter().map(|(name, field)| {
        object.get(name).map_or(Ok(Raw::Absent), |value| reader.value(name, field, value))
    });
    fields.collect()
}

/// The object with the fields: the whole text, or the first object in it.
fn find(schema: &ExtractionSchema, text: &str) -> Option<Object> {
    // Models that think aloud do so first.
    let text = text.rsplit_once("</think>").map_or(text, |(_, rest)| rest);
    if let Some(whole) = json(text.trim()) {
        return fields(schema, whole);
    }
    let mut at = 0;
    for _ in 0..MAX_TRIES {
        let start = at + text[at..].find('{')?;
        match balanced(&text[start..]) {
            Some(end) => {
                if let Some(found) = json(&text[start..start + end]).and_then(|value| fields(schema, value)) {
                    return Some(found);
                }
                at = start + 1;
            }
            None => return None,
        }
    }
    None
}

/// JSON of the strict reader, which keeps numbers as written; else of the one that takes repeated names.
fn json(text: &str) -> Option<Json> {
    parse(text.as_bytes())
        .ok()
        .or_else(|| serde_json::from_str::<serde_json::Value>(text).ok().map(|value| Json::from(&value)))
}

/// The members that answer the schema: those of the object, or of the only object in it.
fn fields(schema: &ExtractionSchema, value: Json) -> Option<Object> {
    let has_any = |object: &Object| schema.fields().iter().any(|(name, _)| object.get(name).is_some());
    let value = match value {
        Json::Array(items) if items.len() == 1 => items.into_iter().next()?,
        value => value,
    };
    let Json::Object(object) = value else { return None };
    if has_any(&object) {
        return Some(object);
    }
    let mut inner = object.iter().filter_map(|(_, member)| member.as_object()).filter(|inner| has_any(inner));
    match (inner.next(), inner.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

/// Where the object ends that text begins with.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

struct Reader {
    leaves: usize,
}

impl Reader {
    fn value(&mut self, path: &str, field: &ExtractionField, value: &Json) -> Result<Raw, String> {
        match field.kind {
            _ if *value == Json::Null => Ok(Raw::Absent),
            ExtractionType::Array => self.array(path, field, value),
            ExtractionType::Object => self.object(path, field, value),
            _ => self.leaf(path, field, value),
        }
    }

    fn array(&mut self, path: &str, field: &ExtractionField, value: &Json) -> Result<Raw, String> {
        let text = ExtractionField::of(ExtractionType::String);
        let item = field.items.as_deref().unwrap_or(&text);
        let items = match value {
            Json::Array(items) => items.as_slice(),
            // An array of one, written without its brackets; `{"value": […]}` as a scalar would be.
            Json::Object(object) => match object.get("value") {
                Some(Json::Array(items)) => items.as_slice(),
                Some(Json::Null) => &[],
                _ => std::slice::from_ref(value),
            },
            scalar => std::slice::from_ref(scalar),
        };
        let path = format!("{path}[]");
        Ok(Raw::Array(items.iter().map(|value| self.value(&path, item, value)).collect::<Result<_, _>>()?))
    }

    fn object(&mut self, path: &str, field: &ExtractionField, value: &Json) -> Result<Raw, String> {
        let Some(properties) = &field.properties else { return self.pairs(path, value) };
        let Json::Object(object) = value else { return Err(format!("{path} must be an object")) };
        // `{"value": {…}}`, as a scalar would be.
        let object = match object.get("value") {
            Some(Json::Null) if !properties.iter().any(|(name, _)| object.get(name).is_some()) => {
                return Ok(Raw::Absent);
            }
            Some(Json::Object(inner)) if !properties.iter().any(|(name, _)| object.get(name).is_some()) => {
                inner
            }
            _ => object,
        };
        let members = properties.iter().map(|(name, property)| {
            let path = format!("{path}.{name}");
            let raw = object.get(name).map_or(Ok(Raw::Absent), |value| self.value(&path, property, value))?;
            Ok((name.clone(), raw))
        });
        Ok(Raw::Object(members.collect::<Result<_, String>>()?))
    }

    /// Labels and values: a list of them, or an object by label.
    fn pairs(&mut self, path: &str, value: &Json) -> Result<Raw, String> {
        let text = ExtractionField::of(ExtractionType::String);
        let pairs: Vec<(&str, &Json)> = match value {
            Json::Array(items) => {
                let name = |item: &'_ Json| item.as_object()?.get("name")?.as_str().map(str::len);
                if items.iter().any(|item| name(item).is_none()) {
                    return Err(format!(
                        "{path} must be an array of objects with name, value, quote and page"
                    ));
                }
                let pair = |item| Some((Json::as_object(item)?.get("name")?.as_str()?, item));
                items.iter().filter_map(pair).collect()
            }
            Json::Object(object) => object.iter().collect(),
            _ => return Err(format!("{path} must be an array of objects with name, value, quote and page")),
        };
        let mut members: Vec<(String, Raw)> = Vec::new();
        for (name, value) in pairs {
            let name: String = name.trim().chars().filter(|c| !c.is_control()).take(64).collect();
            let is_known = members.iter().any(|(known, _)| *known == name);
            if name.is_empty() || name == "__proto__" || is_known || members.len() == MAX_PAIRS {
                continue;
            }
            // What is no scalar is no member of an object without declared ones.
            if let Ok(leaf @ Raw::Leaf(_)) = self.leaf(path, &text, value) {
                members.push((name, leaf));
            }
        }
        Ok(Raw::Object(members))
    }

    fn leaf(&mut self, path: &str, field: &ExtractionField, value: &Json) -> Result<Raw, String> {
        let wrong = || format!("{path} must be an object of value, quote and page");
        self.leaves += 1;
        if self.leaves > MAX_LEAVES {
            return Err("it has too many values".to_owned());
        }
        let bare = |value: Json| RawLeaf { value, currency: None, quote: None, page: None };
        let mut leaf = match value {
            Json::Null => return Ok(Raw::Absent),
            Json::Array(_) => return Err(wrong()),
            Json::Object(object) => {
                let text = |name: &str| object.get(name).and_then(Json::as_str).map(str::to_owned);
                let amount = object.get("amount").filter(|_| field.kind == ExtractionType::Currency);
                let value = object.get("value").or(amount).ok_or_else(wrong)?;
                let page = object.get("page").and_then(page_of);
                RawLeaf { value: value.clone(), currency: text("currency"), quote: text("quote"), page }
            }
            scalar => bare(scalar.clone()),
        };
        if let Json::Object(inner) = &leaf.value {
            let (Some(amount), ExtractionType::Currency) = (inner.get("amount").cloned(), field.kind) else {
                return Err(wrong());
            };
            leaf.currency = leaf.currency.or_else(|| inner.get("currency")?.as_str().map(str::to_owned));
            leaf.value = amount;
        }
        match &leaf.value {
            Json::Null => Ok(Raw::Absent),
            Json::Array(_) | Json::Object(_) => Err(wrong()),
            _ => {
                leaf.quote = leaf.quote.filter(|quote| !quote.trim().is_empty());
                Ok(Raw::Leaf(leaf))
            }
        }
    }
}

fn page_of(value: &Json) -> Option<u32> {
    match value {
        Json::Number(number) => number.as_str().parse().ok(),
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> ExtractionSchema {
        ExtractionSchema::parse(
            br#"{ "total": { "type": "number" }, "lines": { "type": "array", "items": { "type": "object",
                "properties": { "text": { "type": "string" } } } }, "notes": { "type": "object" } }"#,
        )
        .expect("a schema")
    }

    fn total(text: &str) -> Option<String> {
        let raw = read(&schema(), text).ok()?;
        match &raw[0] {
            Raw::Leaf(leaf) => Some(leaf.value.to_text()),
            _ => Some("none".to_owned()),
        }
    }

    #[test]
    fn an_answer_is_found_in_what_stands_around_it() {
        for text in [
            r#"{"total": {"value": 12.50, "quote": "12.50", "page": 1}}"#,
            "```json\n{\"total\": {\"value\": 12.50}}\n```",
            r#"Here is {what} you "asked": {"total": 12.50, "lines": []} for."#,
            r#"<think>{"total": 1}</think>{"total": 12.50}"#,
            r#"{"data": {"total": 12.50}}"#,
            r#"[{"total": 12.50}]"#,
            r#"{"total": 1, "total": 12.50}"#,
            "\u{feff}{\"total\": 12.50}",
        ] {
            let found = total(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(found.trim_end_matches('0'), "12.5", "{text}");
        }
        assert_eq!(total(r#"{"total": null}"#).as_deref(), Some("none"));
        for text in
            ["", "no", "{", "{}", "[]", "12", r#"{"error": "busy"}"#, r#"{"total": [1]}"#, r#"{"total": {}}"#]
        {
            assert_eq!(total(text), None, "{text}");
        }
    }

    #[test]
    fn looseness_of_shape_is_taken_and_wrongness_is_named() {
        let lines = |text: &str| read(&schema(), text).map(|raw| raw[1].clone());
        let one = lines(r#"{"lines": [{"text": {"value": "A", "quote": "A", "page": 1}}]}"#);
        assert!(matches!(&one, Ok(Raw::Array(items)) if items.len() == 1), "{one:?}");
        assert!(matches!(lines(r#"{"lines": {"text": "A"}}"#), Ok(Raw::Array(items)) if items.len() == 1));
        assert_eq!(lines(r#"{"lines": {"value": null, "quote": null}}"#), Ok(Raw::Array(Vec::new())));
        assert_eq!(lines(r#"{"lines": ["A"]}"#), Err("lines[] must be an object".to_owned()));
        let notes = |text: &str| read(&schema(), text).map(|raw| raw[2].clone());
        for text in [
            r#"{"notes": [{"name": "A", "value": "1", "quote": null, "page": null}, {"name": "A", "value": "2"}]}"#,
            r#"{"notes": {"A": "1", "__proto__": "2", "B": [3], " ": "4"}}"#,
        ] {
            assert!(matches!(notes(text), Ok(Raw::Object(members)) if members.len() == 1), "{text}");
        }
        assert!(notes(r#"{"notes": ["A"]}"#).is_err());
    }

    #[test]
    fn hostile_text_is_read_in_time() {
        assert_eq!(total(&"{".repeat(200_000)), None);
        assert_eq!(total(&"{}".repeat(200_000)), None);
        let many =
            format!("{{\"notes\": {{}}, \"lines\": [{}]}}", vec![r#"{"text": "a"}"#; 30_000].join(","));
        assert_eq!(read(&schema(), &many), Err("it has too many values".to_owned()));
    }
}
