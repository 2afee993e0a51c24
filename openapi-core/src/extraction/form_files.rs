//! The part of a batch of extractions that names files of contacts (contract 12.6).

use std::collections::HashSet;

use crate::json::{Json, Object, parse};
use crate::schema::rules::{too_few_items, too_many_items};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{ContactId, FileId, Invalid, PlatformId};

/// The most files that a batch names.
pub(crate) const MAX_FILES: usize = 100;

/// Reads the part. Without faults there is a file for each element.
pub(super) fn read(part: &str, bytes: &[u8], faults: &mut Violations) -> Vec<(ContactId, FileId)> {
    let mut fault = |field: &str, value: Option<&Json>, issue: ValidationIssue| {
        faults.push(ValidationError::new(Location::Form, field, value, issue));
    };
    let elements = match parse(bytes) {
        Ok(Json::Array(elements)) => elements,
        Ok(_) => {
            fault(part, None, ValidationIssue::wrong_type("an array of objects"));
            return Vec::new();
        }
        Err(_) => {
            fault(part, None, ValidationIssue::new(ValidationCode::Format, "must be JSON"));
            return Vec::new();
        }
    };
    if elements.is_empty() {
        fault(part, None, too_few_items(1));
    } else if elements.len() > MAX_FILES {
        fault(part, None, too_many_items(MAX_FILES));
        return Vec::new();
    }
    let (mut files, mut seen) = (Vec::new(), HashSet::new());
    for (at, element) in elements.iter().enumerate() {
        let field = format!("{part}[{at}]");
        let Json::Object(members) = element else {
            fault(&field, Some(element), ValidationIssue::wrong_type("an object"));
            continue;
        };
        let mut id = |name: &str| {
            let found = id_of(members, name);
            found.map_err(|issue| fault(&format!("{field}.{name}"), members.get(name), issue)).ok()
        };
        let (contact, file) = (id("contactId"), id("fileId"));
        for (name, value) in members.iter().filter(|(name, _)| !matches!(*name, "contactId" | "fileId")) {
            let unknown = ValidationIssue::new(ValidationCode::Unknown, "is not a member of this request");
            fault(&format!("{field}.{name}"), Some(value), unknown);
        }
        let Some((contact, file)) = contact.zip(file) else { continue };
        if !seen.insert(file) {
            fault(&field, None, ValidationIssue::new(ValidationCode::UniqueItems, "is named twice"));
        }
        files.push((ContactId::from_bytes(contact), FileId::from_bytes(file)));
    }
    files
}

fn id_of(members: &Object, name: &str) -> Result<[u8; 12], ValidationIssue> {
    match members.get(name) {
        None | Some(Json::Null) => Err(ValidationIssue::required()),
        Some(Json::String(text)) => {
            text.parse().map(|id: PlatformId| *id.as_bytes()).map_err(|Invalid(issue)| issue)
        }
        Some(_) => Err(ValidationIssue::wrong_type("a string")),
    }
}
