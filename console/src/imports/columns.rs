//! Contacts as CSV: lossless in both directions, and safe to open in spreadsheets.

use openapi_core::contacts::Contact;
use openapi_core::json::{Json, Object, parse};
use openapi_core::schema::{ContactSchema, FieldType};

use super::escape::{escaped, unescaped};

/// The field of all custom fields, and the prefix of a single one.
pub const CUSTOM: &str = "customFields";

/// The columns of an agent's contacts: those of the standard fields, then those of declared custom fields, then the rest
/// of the custom fields.
pub struct Columns {
    /// The standard fields in schema order with their types. The agent is last, because it is the same in every row.
    standard: Vec<(String, FieldType)>,
    /// Declared custom fields with their types.
    declared: Vec<(String, FieldType)>,
    /// The labels of all fields, with the names of their columns.
    labels: Vec<(String, String)>,
}

impl Columns {
    /// The columns under a schema.
    pub fn of(schema: &ContactSchema) -> Self {
        let fields = schema.fields.iter().filter(|field| field.name != CUSTOM);
        let named = fields.clone().map(|field| (field.name.clone(), field.kind));
        let (agent, mut standard): (Vec<_>, Vec<_>) = named.partition(|(name, _)| name == "agentId");
        standard.extend(agent);
        let custom = schema.custom_fields.iter().map(|field| (field.label.clone(), custom(&field.name)));
        Columns {
            standard,
            declared: schema.custom_fields.iter().map(|field| (field.name.clone(), field.kind)).collect(),
            labels: fields.map(|field| (field.label.clone(), field.name.clone())).chain(custom).collect(),
        }
    }

    /// The labels of the fields, each with the name of its column.
    pub fn labels(&self) -> &[(String, String)] {
        &self.labels
    }

    /// The value of a field from text, as of a cell.
    pub fn value(&self, name: &str, text: &str) -> Json {
        let of_custom = |(declared, _): &&(String, FieldType)| name == custom(declared);
        let kind = match self.standard.iter().find(|(standard, _)| standard == name) {
            Some((_, kind)) => *kind,
            None if name == CUSTOM => FieldType::Object,
            None => self.declared.iter().find(of_custom).map_or(FieldType::String, |(_, kind)| *kind),
        };
        value(kind, text)
    }

    /// The first line.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.standard.iter().map(|(name, _)| name.clone()).collect();
        names.extend(self.declared.iter().map(|(name, _)| custom(name)));
        names.push(CUSTOM.to_owned());
        names
    }

    /// The row of a contact.
    ///
    /// # Errors
    /// When the contact does not serialise; stored contacts always do.
    pub fn cells(&self, contact: &Contact) -> Result<Vec<String>, serde_json::Error> {
        let record: Json = serde_json::from_str(&serde_json::to_string(contact)?)?;
        let members = record.as_object();
        let mut cells: Vec<String> = self
            .standard
            .iter()
            .map(|(name, _)| members.and_then(|members| members.get(name)).map_or_else(String::new, cell))
            .collect();
        let mut custom = contact.custom_fields.members();
        for (name, _) in &self.declared {
            cells.push(custom.remove(name).as_ref().map_or_else(String::new, cell));
        }
        cells.push(if custom.is_empty() { String::new() } else { Json::Object(custom).to_text() });
        Ok(cells.iter().map(|cell| escaped(cell)).collect())
    }

    /// The contact of a row. An empty cell is an absent value.
    ///
    /// # Errors
    /// The problem with the row.
    pub fn contact(&self, targets: &[Target], cells: &[String]) -> Result<Object, String> {
        let mut contact = Object::new();
        let mut customs = Object::new();
        for (at, cell) in cells.iter().enumerate() {
            let cell = unescaped(cell);
            if cell.trim().is_empty() {
                continue;
            }
            let name = match targets.get(at) {
                Some(Target::Field(name)) => name,
                Some(Target::LeftOut) => continue,
                Some(Target::Unnamed) => {
                    return Err(format!("has a value in column {}, which has no name", at + 1));
                }
                None => {
                    return Err(format!("has {} cells, the first row names {}", cells.len(), targets.len()));
                }
            };
            if name == CUSTOM {
                let Ok(Json::Object(object)) = parse(cell.as_bytes()) else {
                    return Err(format!("{CUSTOM} must be a JSON object"));
                };
                for (name, value) in object.iter() {
                    customs.insert(name, value.clone());
                }
            } else if let Some(name) = name.strip_prefix("customFields.") {
                let kind = self.declared.iter().find(|(declared, _)| declared == name).map(|(_, kind)| *kind);
                customs.insert(name, value(kind.unwrap_or(FieldType::String), cell));
            } else {
                let kind = self.standard.iter().find(|(standard, _)| standard == name).map(|(_, kind)| *kind);
                contact.insert(name.as_str(), value(kind.unwrap_or(FieldType::String), cell));
            }
        }
        if !customs.is_empty() {
            contact.insert(CUSTOM, Json::Object(customs));
        }
        Ok(contact)
    }
}

/// What a column of a file is imported as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A field, by the name of its column in an export.
    Field(String),
    /// Nothing.
    LeftOut,
    /// Nothing, because it has no name. It must be empty.
    Unnamed,
}

/// The column of a custom field.
fn custom(name: &str) -> String {
    format!("{CUSTOM}.{name}")
}

/// A value as text.
pub fn cell(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        Json::Array(items) if items.is_empty() => String::new(),
        Json::Array(items) => {
            let texts: Option<Vec<&str>> = items
                .iter()
                .map(|item| {
                    item.as_str()
                        .filter(|text| !text.contains(';') && text.trim() == *text && !text.is_empty())
                })
                .collect();
            // A list is written as JSON if semicolons cannot separate its elements, or if its text would look like JSON.
            match texts {
                Some(texts) if !texts[0].starts_with('[') => texts.join(";"),
                _ => value.to_text(),
            }
        }
        other => other.to_text(),
    }
}

/// How spreadsheets write the two logical values, in the languages of their users.
const TRUE: [&str; 12] = [
    "true",
    "1",
    "wahr",
    "vrai",
    "verdadero",
    "vero",
    "verdadeiro",
    "waar",
    "sant",
    "sand",
    "prawda",
    "истина",
];
const FALSE: [&str; 11] =
    ["false", "0", "falsch", "faux", "falso", "onwaar", "falskt", "usann", "fałsz", "epätosi", "ложь"];

/// A date with points, which everywhere is day, month, year, as `YYYY-MM-DD`. The order of dates with slashes depends
/// on the country, so they are no dates.
fn date(cell: &str) -> Option<String> {
    let parts: Vec<&str> = cell.split('.').map(str::trim).collect();
    let [day, month, year] = parts[..] else { return None };
    let is_number = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    (is_number(day, 1..=2) && is_number(month, 1..=2) && is_number(year, 4..=4))
        .then(|| format!("{year}-{month:0>2}-{day:0>2}"))
}

/// The value of a cell in a field of this type. Text that does not parse stays text, and validation rejects it.
fn value(kind: FieldType, cell: &str) -> Json {
    let json = || parse(cell.trim().as_bytes()).ok();
    let read = match kind {
        FieldType::Integer | FieldType::Number => json().filter(|value| matches!(value, Json::Number(_))),
        FieldType::Boolean => {
            let word = cell.trim().to_lowercase();
            let is = |words: &[&str]| words.contains(&word.as_str());
            if is(&TRUE) { Some(Json::Bool(true)) } else { is(&FALSE).then_some(Json::Bool(false)) }
        }
        FieldType::Date => date(cell.trim()).map(|date| Json::from(date.as_str())),
        FieldType::Object => json().filter(|value| matches!(value, Json::Object(_))),
        FieldType::Tags | FieldType::Multiselect => {
            let list = json().filter(|value| matches!(value, Json::Array(_)));
            let parts =
                || cell.split(';').map(str::trim).filter(|part| !part.is_empty()).map(Json::from).collect();
            Some(list.unwrap_or_else(|| Json::Array(parts())))
        }
        _ => None,
    };
    read.unwrap_or_else(|| Json::from(cell))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_come_back(tags in proptest::collection::vec("[a-c;,\\[\\]\" ]{1,4}", 0..4)) {
            let list = Json::Array(tags.iter().map(|tag| Json::from(tag.as_str())).collect());
            let text = cell(&list);
            if tags.is_empty() {
                prop_assert_eq!(text, "");
            } else {
                prop_assert_eq!(value(FieldType::Tags, &text), list);
            }
        }
    }

    #[test]
    fn a_cell_has_the_type_of_its_field() {
        assert_eq!(value(FieldType::Integer, "12").to_text(), "12");
        assert_eq!(value(FieldType::Integer, "twelve"), Json::from("twelve"));
        assert_eq!(value(FieldType::Boolean, "TRUE"), Json::Bool(true));
        assert_eq!(value(FieldType::Boolean, "FALSCH"), Json::Bool(false));
        assert_eq!(value(FieldType::Boolean, "perhaps"), Json::from("perhaps"));
        assert_eq!(value(FieldType::Date, "7.5.1990"), Json::from("1990-05-07"));
        assert_eq!(value(FieldType::Date, "5/7/1990"), Json::from("5/7/1990"));
        assert_eq!(value(FieldType::Object, "{\"a\":1}").to_text(), "{\"a\":1}");
        assert_eq!(value(FieldType::String, "12"), Json::from("12"));
    }
}
