//! Contacts as CSV: lossless in both directions, and safe to open in spreadsheets.

use openapi_core::contacts::Contact;
use openapi_core::json::{Json, Object, parse};
use openapi_core::schema::{ContactSchema, FieldType};

const CUSTOM: &str = "customFields";

/// The columns of an agent's contacts: those of the standard fields, then those of declared custom fields, then the rest
/// of the custom fields.
pub struct Columns {
    /// The standard fields in schema order. The agent is last, because it is the same in every row.
    standard: Vec<String>,
    /// Declared custom fields with their types.
    declared: Vec<(String, FieldType)>,
}

impl Columns {
    /// The columns under a schema.
    pub fn of(schema: &ContactSchema) -> Self {
        let names = schema.fields.iter().map(|field| field.name.clone()).filter(|name| name != CUSTOM);
        let (agent, mut standard): (Vec<String>, Vec<String>) = names.partition(|name| name == "agentId");
        standard.extend(agent);
        Columns {
            standard,
            declared: schema.custom_fields.iter().map(|field| (field.name.clone(), field.kind)).collect(),
        }
    }

    /// The first line.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.standard.clone();
        names.extend(self.declared.iter().map(|(name, _)| format!("{CUSTOM}.{name}")));
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
            .map(|name| members.and_then(|members| members.get(name)).map_or_else(String::new, cell))
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
    pub fn contact(&self, names: &[String], cells: &csv::StringRecord) -> Result<Object, String> {
        if cells.len() > names.len() {
            return Err(format!("has {} cells, the first line names {}", cells.len(), names.len()));
        }
        let mut contact = Object::new();
        let mut custom = Object::new();
        for (name, cell) in names.iter().zip(cells) {
            let cell = unescaped(cell);
            if cell.trim().is_empty() {
                continue;
            }
            if name == CUSTOM {
                let Ok(Json::Object(object)) = parse(cell.as_bytes()) else {
                    return Err(format!("{CUSTOM} must be a JSON object"));
                };
                for (name, value) in object.iter() {
                    custom.insert(name, value.clone());
                }
            } else if let Some(name) = name.strip_prefix("customFields.") {
                let kind = self.declared.iter().find(|(declared, _)| declared == name).map(|(_, kind)| *kind);
                custom.insert(name, value(kind.unwrap_or(FieldType::String), cell));
            } else {
                let kind = if name == "tags" { FieldType::Tags } else { FieldType::String };
                contact.insert(name.as_str(), value(kind, cell));
            }
        }
        if !custom.is_empty() {
            contact.insert(CUSTOM, Json::Object(custom));
        }
        Ok(contact)
    }
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

/// The value of a cell in a field of this type. Text that does not parse stays text, and validation rejects it.
fn value(kind: FieldType, cell: &str) -> Json {
    let json = || parse(cell.trim().as_bytes()).ok();
    let read = match kind {
        FieldType::Integer | FieldType::Number => json().filter(|value| matches!(value, Json::Number(_))),
        FieldType::Boolean => match cell.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Json::Bool(true)),
            "false" | "0" => Some(Json::Bool(false)),
            _ => None,
        },
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

/// Whether a spreadsheet could interpret the cell as a formula.
fn is_risky(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Prefixes a cell with an apostrophe if it could be a formula, or if import would remove its own apostrophe.
pub fn escaped(cell: &str) -> String {
    if is_risky(cell.trim_start_matches('\'')) { format!("'{cell}") } else { cell.to_owned() }
}

fn unescaped(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_risky(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_are_safe_and_come_back(cell in "['=+@\\-\\t\\ra0]{0,6}") {
            let safe = escaped(&cell);
            prop_assert!(!is_risky(&safe), "{safe:?}");
            prop_assert_eq!(unescaped(&safe), cell);
        }

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
        assert_eq!(value(FieldType::Object, "{\"a\":1}").to_text(), "{\"a\":1}");
        assert_eq!(value(FieldType::String, "12"), Json::from("12"));
    }
}
