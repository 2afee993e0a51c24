//! What a document is made of, before it has a format.

use serde_json::{Map, Value, json};

/// A part of a document.
pub enum Piece {
    Title(String),
    Line(String),
    Blank,
    /// A label and its value.
    Pair(String, String),
    /// Rows of cells, the first of them the header; whether columns are numbers.
    Table(Vec<Vec<String>>, Vec<bool>),
    /// A label and a list under it.
    Bullets(String, Vec<String>),
    Paragraph(String),
}

/// A document with its schema and what is to be found.
#[derive(Default)]
pub struct Document {
    pub pieces: Vec<Piece>,
    pub schema: Vec<Value>,
    pub expected: Map<String, Value>,
}

impl Document {
    /// Adds a field to the schema with its value.
    pub fn field(&mut self, name: &str, kind: &str, description: &str, value: Value) {
        self.schema.push(json!({ "name": name, "type": kind, "description": description }));
        self.expected.insert(name.to_owned(), value);
    }

    /// Adds a field whose definition is given.
    pub fn defined(&mut self, definition: Value, value: Value) {
        let name = definition["name"].as_str().unwrap_or_default().to_owned();
        self.schema.push(definition);
        self.expected.insert(name, value);
    }

    pub fn line(&mut self, text: impl Into<String>) {
        self.pieces.push(Piece::Line(text.into()));
    }

    pub fn blank(&mut self) {
        self.pieces.push(Piece::Blank);
    }

    pub fn pair(&mut self, label: &str, value: impl Into<String>) {
        self.pieces.push(Piece::Pair(label.to_owned(), value.into()));
    }
}
