//! The built-in schema: the standard fields of every agent before the operator changes anything.

use super::{FieldDefinition, FieldOption, FieldType};
use crate::json::{Json, Object};
use crate::values::{ContactStatus, PhoneCode};

fn field(name: &str, label: &str, kind: FieldType) -> FieldDefinition {
    FieldDefinition {
        name: name.to_owned(),
        label: label.to_owned(),
        description: None,
        kind,
        required: false,
        read_only: false,
        unique: false,
        sensitive: false,
        custom: false,
        min_length: None,
        max_length: None,
        pattern: None,
        minimum: None,
        maximum: None,
        options: None,
        default: None,
    }
}

fn text(name: &str, label: &str, kind: FieldType, max_length: u32) -> FieldDefinition {
    FieldDefinition { max_length: Some(max_length), ..field(name, label, kind) }
}

fn read_only(name: &str, label: &str, kind: FieldType) -> FieldDefinition {
    FieldDefinition { read_only: true, ..field(name, label, kind) }
}

/// The standard fields in schema order.
pub(super) fn standard_fields() -> Vec<FieldDefinition> {
    use FieldType as T;
    let label = |status: ContactStatus| match status {
        ContactStatus::Active => "Active",
        ContactStatus::Inactive => "Inactive",
        ContactStatus::Blocked => "Blocked",
    };
    let statuses = ContactStatus::ALL
        .map(|status| FieldOption { value: status.as_str().to_owned(), label: label(status).to_owned() });
    vec![
        FieldDefinition { max_length: Some(24), ..read_only("id", "Id", T::String) },
        FieldDefinition {
            min_length: Some(1),
            max_length: Some(64),
            ..read_only("agentId", "Agent id", T::String)
        },
        FieldDefinition {
            unique: true,
            min_length: Some(1),
            ..text("externalReferenceId", "External reference id", T::String, 255)
        },
        text("salutation", "Salutation", T::String, 30),
        text("firstName", "First name", T::String, 100),
        text("middleName", "Middle name", T::String, 100),
        text("lastName", "Last name", T::String, 100),
        FieldDefinition { minimum: Some("1875-01-01".into()), ..field("dob", "Date of birth", T::Date) },
        text("gender", "Gender", T::String, 50),
        FieldDefinition { required: true, ..text("primaryEmail", "Primary email", T::Email, 254) },
        text("primaryPhone", "Primary phone", T::Phone, 32),
        FieldDefinition {
            pattern: Some(PhoneCode::PATTERN.to_owned()),
            ..field("primaryPhoneCode", "Phone code", T::PhoneCode)
        },
        text("fullAddress", "Address", T::Text, 1000),
        FieldDefinition { default: Some(Json::Array(Vec::new())), ..field("tags", "Tags", T::Tags) },
        FieldDefinition {
            options: Some(statuses.to_vec()),
            default: Some("active".into()),
            ..field("status", "Status", T::Select)
        },
        FieldDefinition { default: Some("api".into()), ..text("source", "Source", T::String, 64) },
        field("lastContactedAt", "Last contacted", T::Datetime),
        FieldDefinition {
            default: Some(Json::Object(Object::new())),
            ..field("customFields", "Custom fields", T::Object)
        },
        read_only("isArchived", "Archived", T::Boolean),
        read_only("archivedAt", "Archived at", T::Datetime),
        read_only("createdAt", "Created at", T::Datetime),
        read_only("updatedAt", "Updated at", T::Datetime),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contacts::{ContactFields, READ_ONLY};

    #[test]
    fn the_fields_are_those_of_requests() {
        let (read_only, writable): (Vec<_>, Vec<_>) =
            standard_fields().into_iter().partition(|field| field.read_only);
        let names =
            |fields: Vec<FieldDefinition>| fields.into_iter().map(|field| field.name).collect::<Vec<_>>();
        assert_eq!(names(writable), ContactFields::NAMES);
        assert_eq!(names(read_only), READ_ONLY);
    }
}
