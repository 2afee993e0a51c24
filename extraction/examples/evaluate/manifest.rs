//! The manifest of a folder of labelled documents.

use std::path::{Path, PathBuf};

use openapi_core::extraction::ExtractionSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A document with what is to be found in it.
pub struct Entry {
    pub id: String,
    pub set: String,
    pub folder: PathBuf,
    pub file: String,
    pub schema: Vec<Field>,
    pub compiled: ExtractionSchema,
    pub expected: Map<String, Value>,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    set: String,
    file: String,
    schema: Vec<Field>,
    expected: Map<String, Value>,
}

/// A field of a schema, as the manifest writes it.
#[derive(Clone, Deserialize)]
pub struct Field {
    #[serde(default)]
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    pub items: Option<Box<Field>>,
    #[serde(default)]
    pub properties: Vec<Field>,
    /// What else the schema says of it: `required`, `enum` and other rules.
    #[serde(flatten)]
    rules: Map<String, Value>,
}

impl Field {
    fn definition(&self) -> Value {
        let mut members = self.rules.clone();
        members.insert("type".to_owned(), self.kind.as_str().into());
        if let Some(description) = &self.description {
            members.insert("description".to_owned(), description.as_str().into());
        }
        if let Some(items) = &self.items {
            members.insert("items".to_owned(), items.definition());
        }
        if !self.properties.is_empty() {
            members.insert("properties".to_owned(), Value::Object(definitions(&self.properties)));
        }
        Value::Object(members)
    }
}

fn definitions(fields: &[Field]) -> Map<String, Value> {
    fields.iter().map(|field| (field.name.clone(), field.definition())).collect()
}

/// Reads `manifest.jsonl` of a folder.
pub fn read(folder: &Path) -> Result<Vec<Entry>, Box<dyn std::error::Error>> {
    let path = folder.join("manifest.jsonl");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut entries = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line)?;
        let schema = json!(definitions(&line.schema)).to_string();
        let compiled = ExtractionSchema::parse(schema.as_bytes())
            .map_err(|violations| format!("{}: {}", line.id, violations.message()))?;
        entries.push(Entry {
            id: line.id,
            set: line.set,
            folder: folder.to_owned(),
            file: line.file,
            schema: line.schema,
            compiled,
            expected: line.expected,
        });
    }
    Ok(entries)
}

/// Which documents are looked at: rules are made on the tuning part, and the final part says what they are worth.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Part {
    /// Two thirds of the documents
    Tuning,
    /// The others
    Final,
    All,
}

impl Part {
    /// Whether the part has a document: a third of them, chosen by a hash (FNV-1a) of the last part of the id, is final, so
    /// that one text in several formats is wholly in one part.
    pub fn has(self, id: &str) -> bool {
        let name = id.rsplit('/').next().unwrap_or(id);
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        match self {
            Part::All => true,
            Part::Final => hash.is_multiple_of(3),
            Part::Tuning => !hash.is_multiple_of(3),
        }
    }
}
