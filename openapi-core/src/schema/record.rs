//! The schema as stored, and what storage needs of it: which values are sensitive, which are unique.

use serde::{Deserialize, Serialize};

use super::builtin::standard_fields;
use super::{FieldDefinition, FieldType};
use crate::contacts::{Contact, UniqueValue};
use crate::json::Json;
use crate::values::{AgentId, Email, TextValue, Timestamp};

/// The contact schema of an agent at one version. Each change raises `version` and applies to later writes only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContactSchema {
    /// The agent.
    pub agent_id: AgentId,
    /// 1 for the built-in schema, one more with each change.
    pub version: u64,
    /// When this version came.
    pub updated_at: Timestamp,
    /// The standard fields, in the built-in order.
    pub fields: Vec<FieldDefinition>,
    /// The declared custom fields.
    pub custom_fields: Vec<FieldDefinition>,
    /// Whether `customFields` takes names that are not declared.
    pub allow_undeclared_custom_fields: bool,
}

impl ContactSchema {
    /// The built-in schema: version 1 of every agent.
    #[must_use]
    pub fn builtin(agent_id: AgentId, at: Timestamp) -> Self {
        ContactSchema {
            agent_id,
            version: 1,
            updated_at: at,
            fields: standard_fields(),
            custom_fields: Vec::new(),
            allow_undeclared_custom_fields: true,
        }
    }

    /// The definition of a field named as errors name it: `primaryEmail`, `customFields.plan`.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&FieldDefinition> {
        match path.strip_prefix("customFields.") {
            Some(name) => self.custom_fields.iter().find(|field| field.name == name),
            None => self.fields.iter().find(|field| field.name == path),
        }
    }

    /// Whether search and errors omit the values of a field. A custom field is as sensitive as
    /// `customFields` itself.
    #[must_use]
    pub fn is_sensitive(&self, path: &str) -> bool {
        let own = self.field(path).is_some_and(|field| field.sensitive);
        own || path.starts_with("customFields.") && self.is_sensitive("customFields")
    }

    /// Whether a contact's keys under `other` differ from those under this schema for some contact: then a change from
    /// one to the other computes the keys of all stored contacts again.
    #[must_use]
    pub fn keys_differ(&self, other: &ContactSchema) -> bool {
        let marks = |schema: &ContactSchema| {
            let mut marks: Vec<(bool, String, bool, bool)> = schema
                .fields
                .iter()
                .chain(&schema.custom_fields)
                .filter(|field| field.unique || field.sensitive)
                .map(|field| (field.custom, field.name.clone(), field.unique, field.sensitive))
                .collect();
            marks.sort();
            marks
        };
        marks(self) != marks(other)
    }

    /// The values of `contact` in fields marked `unique`, in schema order. `externalReferenceId`, which is always
    /// unique and has an error of its own, is not among them.
    #[must_use]
    pub fn unique_values(&self, contact: &Contact) -> Vec<UniqueValue> {
        let standard = self.fields.iter().filter(|field| field.unique && field.name != "externalReferenceId");
        let mut values: Vec<UniqueValue> = standard
            .filter_map(|field| {
                Some(UniqueValue { field: field.name.clone(), value: standard_value(contact, &field.name)? })
            })
            .collect();
        if self.custom_fields.iter().any(|field| field.unique) {
            let members = contact.custom_fields.members();
            values.extend(self.custom_fields.iter().filter(|field| field.unique).filter_map(|field| {
                let value = custom_value(field.kind, members.get(&field.name)?)?;
                Some(UniqueValue { field: format!("customFields.{}", field.name), value })
            }));
        }
        values
    }
}

/// The value of a standard field in the form under which two are equal.
fn standard_value(contact: &Contact, name: &str) -> Option<String> {
    match name {
        "salutation" => contact.salutation.as_ref().map(ToString::to_string),
        "firstName" => contact.first_name.as_ref().map(ToString::to_string),
        "middleName" => contact.middle_name.as_ref().map(ToString::to_string),
        "lastName" => contact.last_name.as_ref().map(ToString::to_string),
        "dob" => contact.dob.as_ref().map(ToString::to_string),
        "gender" => contact.gender.as_ref().map(ToString::to_string),
        "primaryEmail" => Some(contact.primary_email.normalized()),
        "primaryPhone" => contact.primary_phone.as_ref().map(ToString::to_string),
        "primaryPhoneCode" => contact.primary_phone_code.as_ref().map(ToString::to_string),
        "fullAddress" => contact.full_address.as_ref().map(ToString::to_string),
        "status" => Some(contact.status.as_str().to_owned()),
        "source" => Some(contact.source.to_string()),
        "lastContactedAt" => contact.last_contacted_at.map(|at| at.to_string()),
        _ => None,
    }
}

fn custom_value(kind: FieldType, value: &Json) -> Option<String> {
    match value {
        Json::String(text) if kind == FieldType::Email => {
            Email::parse(text).ok().map(|email| email.normalized())
        }
        Json::String(text) => Some(text.clone()),
        // `1`, `1.0` and `1e0` are one number.
        Json::Number(number) => Some(number.as_f64().to_string()),
        _ => None,
    }
}
