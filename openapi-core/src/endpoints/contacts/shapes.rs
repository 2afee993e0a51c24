//! Schemas and examples of contacts in the description.

use serde_json::{Value, json};

pub(crate) use crate::endpoints::shapes::{
    described, envelope, envelope_example, id_schema, list_envelope, list_example, nullable, reference,
};
use crate::schema::ContactSchema;
use crate::values::{
    AgentId, Block, ContactStatus, Date, Email, ExternalId, Line, Phone, PhoneCode, Tag, TextValue, Timestamp,
};

const ID: &str = "697dc8165d4ffa83cfc35cfc";
const AGENT: &str = "695b6f80de7378c4412112d3";

/// The contact of the contract's story.
pub(crate) fn contact_example() -> Value {
    json!({
        "id": ID, "agentId": AGENT, "externalReferenceId": "crm-1001",
        "salutation": "Dr", "firstName": "Zoë", "middleName": null, "lastName": "Okafor", "dob": "1990-05-17",
        "gender": "female", "primaryEmail": "Zoe.Okafor@example.com", "primaryPhone": "20 7946 0958",
        "primaryPhoneCode": "+44", "fullAddress": "12 Mill Lane\nLeeds LS1 4AB", "tags": ["vip", "newsletter"],
        "status": "active", "source": "api", "lastContactedAt": null,
        "customFields": { "plan": "gold", "renewalDate": "2026-12-31", "region": { "code": "EMEA" } },
        "isArchived": false, "archivedAt": null,
        "createdAt": "2026-01-31T09:15:02.123Z", "updatedAt": "2026-01-31T09:15:02.123Z",
    })
}

/// The contact after its archival.
pub(crate) fn archived_example() -> Value {
    let mut contact = contact_example();
    contact["isArchived"] = true.into();
    contact["archivedAt"] = "2026-01-31T12:00:00.000Z".into();
    contact["updatedAt"] = "2026-01-31T12:00:00.000Z".into();
    contact
}

/// The body that creates the contact of the story.
pub(crate) fn create_example() -> Value {
    json!({
        "externalReferenceId": "crm-1001", "salutation": "Dr", "firstName": "Zoë", "lastName": "Okafor",
        "dob": "1990-05-17", "gender": "female", "primaryEmail": "Zoe.Okafor@example.com",
        "primaryPhone": "20 7946 0958", "primaryPhoneCode": "44", "fullAddress": "12 Mill Lane\nLeeds LS1 4AB",
        "tags": ["vip", "newsletter", "VIP"],
        "customFields": { "plan": "gold", "renewalDate": "2026-12-31", "region": { "code": "EMEA" } },
    })
}

/// A body that changes the contact of the story.
pub(crate) fn update_example() -> Value {
    json!({ "middleName": "Adaeze", "tags": ["vip"], "customFields": { "plan": "silver", "region": null } })
}

/// The built-in schema of the story's agent.
pub(crate) fn schema_example() -> Value {
    let agent = AgentId::parse(AGENT).unwrap_or_else(|_| unreachable!("the example is an agent id"));
    let schema = ContactSchema::builtin(agent, Timestamp::from_millis(1_767_952_800_000));
    let mut document = serde_json::to_value(&schema).unwrap_or(Value::Null);
    document["jsonSchema"] = schema.json_schema();
    document
}

/// The writable fields, as a request carries them.
fn writable() -> Value {
    let block = Block::<1000>::json_schema();
    let tags = json!({ "type": "array", "maxItems": Tag::MAX_COUNT, "items": { "type": "string", "maxLength": 64 } });
    json!({
        "externalReferenceId": described(nullable(ExternalId::json_schema()), "Your own id of the contact, unique in the agent, exact and case-sensitive."),
        "salutation": nullable(Line::<30>::json_schema()),
        "firstName": nullable(Line::<100>::json_schema()),
        "middleName": nullable(Line::<100>::json_schema()),
        "lastName": nullable(Line::<100>::json_schema()),
        "dob": described(json!({ "type": ["string", "null"] }), "A calendar date as `YYYY-MM-DD`, from 1875-01-01 to today; a timestamp at exactly midnight UTC is cut to its date."),
        "gender": nullable(Line::<50>::json_schema()),
        "primaryEmail": nullable(Email::json_schema()),
        "primaryPhone": described(nullable(Phone::json_schema()), "3 to 15 digits among spaces and `( ) - . /`, with an optional leading `+`."),
        "primaryPhoneCode": described(nullable(PhoneCode::json_schema()), "A country calling code; answered with a leading `+`."),
        "fullAddress": nullable(block),
        "tags": described(nullable(tags), "Repeats are removed, ignoring case."),
        "status": nullable(ContactStatus::json_schema()),
        "source": described(nullable(Line::<64>::json_schema()), "Where the contact came from; `api` by default."),
        "lastContactedAt": nullable(Timestamp::json_schema()),
        "customFields": described(json!({ "type": ["object", "null"], "additionalProperties": true }), "Your own data: any JSON values, at most 100 members that are not `null`, 5 levels deep and 32 KiB in all. Numbers come back exactly as written."),
        "id": { "readOnly": true }, "agentId": { "readOnly": true }, "isArchived": { "readOnly": true },
        "archivedAt": { "readOnly": true }, "createdAt": { "readOnly": true }, "updatedAt": { "readOnly": true },
    })
}

/// A stored contact.
fn contact() -> Value {
    json!({
        "type": "object",
        "description": "A contact. Every field is always present; what is unset is `null`.",
        "required": [
            "id", "agentId", "externalReferenceId", "salutation", "firstName", "middleName", "lastName", "dob", "gender",
            "primaryEmail", "primaryPhone", "primaryPhoneCode", "fullAddress", "tags", "status", "source",
            "lastContactedAt", "customFields", "isArchived", "archivedAt", "createdAt", "updatedAt",
        ],
        "properties": {
            "id": id_schema(),
            "agentId": AgentId::json_schema(),
            "externalReferenceId": nullable(ExternalId::json_schema()),
            "salutation": nullable(Line::<30>::json_schema()),
            "firstName": nullable(Line::<100>::json_schema()),
            "middleName": nullable(Line::<100>::json_schema()),
            "lastName": nullable(Line::<100>::json_schema()),
            "dob": nullable(Date::json_schema()),
            "gender": nullable(Line::<50>::json_schema()),
            "primaryEmail": Email::json_schema(),
            "primaryPhone": nullable(Phone::json_schema()),
            "primaryPhoneCode": nullable(json!({ "type": "string", "pattern": "^\\+[1-9][0-9]{0,3}$" })),
            "fullAddress": nullable(Block::<1000>::json_schema()),
            "tags": { "type": "array", "maxItems": Tag::MAX_COUNT, "items": Tag::json_schema() },
            "status": ContactStatus::json_schema(),
            "source": Line::<64>::json_schema(),
            "lastContactedAt": nullable(Timestamp::json_schema()),
            "customFields": { "type": "object", "additionalProperties": true, "maxProperties": 100 },
            "isArchived": { "type": "boolean" },
            "archivedAt": nullable(Timestamp::json_schema()),
            "createdAt": Timestamp::json_schema(),
            "updatedAt": described(Timestamp::json_schema(), "Moves only when a stored value changes."),
        },
    })
}

/// A contact as a dry run would create it.
fn preview() -> Value {
    let mut schema = contact();
    schema["description"] = "A contact as it would be stored: what the service would set is `null`.".into();
    // Not `{ "type": "null" }`, which is as true: for some generators of clients that is no type.
    for name in ["id", "createdAt", "updatedAt"] {
        schema["properties"][name] = nullable(schema["properties"][name].take());
    }
    schema
}

/// The body of a create.
fn new_contact() -> Value {
    json!({
        "type": "object",
        "description": "The fields of a contact to be created, under the built-in schema; the agent's own is answered by the contact schema endpoint.",
        "additionalProperties": false,
        "required": ["primaryEmail"],
        "properties": with_email(Email::json_schema()),
    })
}

/// The body of an update.
fn changes() -> Value {
    json!({
        "type": "object",
        "description": "The fields to be changed, under the built-in schema. What is absent stays; `null` clears.",
        "additionalProperties": false,
        "properties": with_email(Email::json_schema()),
    })
}

/// A field of a contact schema.
fn field_definition() -> Value {
    json!({
        "type": "object",
        "required": [
            "name", "label", "description", "type", "required", "readOnly", "unique", "sensitive", "custom", "minLength",
            "maxLength", "pattern", "minimum", "maximum", "options", "default",
        ],
        "properties": {
            "name": { "type": "string" },
            "label": { "type": "string" },
            "description": { "type": ["string", "null"] },
            "type": { "enum": crate::schema::FieldType::ALL.map(crate::schema::FieldType::as_str) },
            "required": { "type": "boolean" },
            "readOnly": { "type": "boolean" },
            "unique": { "type": "boolean" },
            "sensitive": { "type": "boolean" },
            "custom": { "type": "boolean" },
            "minLength": { "type": ["integer", "null"] },
            "maxLength": { "type": ["integer", "null"] },
            "pattern": { "type": ["string", "null"] },
            "minimum": { "type": ["number", "string", "null"] },
            "maximum": { "type": ["number", "string", "null"] },
            "options": { "type": ["array", "null"], "items": {
                "type": "object", "required": ["value", "label"],
                "properties": { "value": { "type": "string" }, "label": { "type": "string" } },
            } },
            "default": {},
        },
    })
}

/// The contact schema of an agent.
fn contact_schema() -> Value {
    json!({
        "type": "object",
        "required": ["agentId", "version", "updatedAt", "fields", "customFields", "allowUndeclaredCustomFields", "jsonSchema"],
        "properties": {
            "agentId": AgentId::json_schema(),
            "version": { "type": "integer", "minimum": 1 },
            "updatedAt": Timestamp::json_schema(),
            "fields": { "type": "array", "items": reference("FieldDefinition") },
            "customFields": { "type": "array", "items": reference("FieldDefinition") },
            "allowUndeclaredCustomFields": { "type": "boolean" },
            "jsonSchema": { "type": "object", "additionalProperties": true, "description": "JSON Schema 2020-12 of the create body." },
        },
    })
}

/// The body of an archival.
fn archive_request() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "reason": described(nullable(Block::<500>::json_schema()), "Stored in the audit log only.") },
    })
}

/// The named schemas of contacts.
pub(crate) fn components() -> Vec<(&'static str, Value)> {
    vec![
        ("Contact", contact()),
        ("ContactPreview", preview()),
        ("NewContact", new_contact()),
        ("ContactChanges", changes()),
        ("ContactSchema", contact_schema()),
        ("FieldDefinition", field_definition()),
        ("ArchiveRequest", archive_request()),
    ]
}

fn with_email(email: Value) -> Value {
    let mut fields = writable();
    fields["primaryEmail"] = email;
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contacts::Contact;
    use crate::values::{ContactId, PlatformId};

    #[test]
    fn the_examples_are_real() {
        let contact: Contact = serde_json::from_value(contact_example()).unwrap();
        assert_eq!(serde_json::to_value(&contact).unwrap(), contact_example());
        assert_eq!(contact.id, ID.parse::<ContactId>().unwrap());
        assert!(ID.parse::<PlatformId>().is_ok());
    }
}
