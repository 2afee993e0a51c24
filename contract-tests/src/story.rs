//! The scenario of the contract's examples: one agent, one contact.

use serde_json::{Value, json};

use crate::sandbox::{START, instant};
use crate::{Backend, Sandbox};

/// The request id of the error examples.
pub const REQUEST_ID: &str = "019c13a3-6137-710c-9fa1-91a5ee824f39";

/// The id of the contact in the examples.
pub const CONTACT_ID: &str = "697dc8165d4ffa83cfc35cfc";

/// The body that creates the contact (contract 4.2).
#[must_use]
pub fn new_contact() -> Value {
    json!({ "externalReferenceId": "crm-1001", "salutation": "Dr", "firstName": "Zoë", "lastName": "Okafor", "dob": "1990-05-17", "gender": "female",
      "primaryEmail": "Zoe.Okafor@example.com", "primaryPhone": "20 7946 0958", "primaryPhoneCode": "44", "fullAddress": "12 Mill Lane\nLeeds LS1 4AB",
      "tags": ["vip", "newsletter", "VIP"], "customFields": { "plan": "gold", "renewalDate": "2026-12-31", "region": { "code": "EMEA" } } })
}

/// The contact as stored (contract 2.1).
#[must_use]
pub fn contact() -> Value {
    json!({ "id": "697dc8165d4ffa83cfc35cfc", "agentId": "695b6f80de7378c4412112d3", "externalReferenceId": "crm-1001",
      "salutation": "Dr", "firstName": "Zoë", "middleName": null, "lastName": "Okafor", "dob": "1990-05-17", "gender": "female",
      "primaryEmail": "Zoe.Okafor@example.com", "primaryPhone": "20 7946 0958", "primaryPhoneCode": "+44",
      "fullAddress": "12 Mill Lane\nLeeds LS1 4AB", "tags": ["vip", "newsletter"], "status": "active", "source": "api",
      "lastContactedAt": null, "customFields": { "plan": "gold", "renewalDate": "2026-12-31", "region": { "code": "EMEA" } },
      "isArchived": false, "archivedAt": null, "createdAt": "2026-01-31T09:15:02.123Z", "updatedAt": "2026-01-31T09:15:02.123Z" })
}

/// The operator's definition of version 3 of the contact schema (contract 2.1.4).
#[must_use]
pub fn definition() -> Value {
    json!({ "customFields": [
        { "name": "plan", "label": "Plan", "type": "select", "options": [{ "value": "gold", "label": "Gold" }, { "value": "silver", "label": "Silver" }] },
        { "name": "renewalDate", "label": "Renewal date", "description": "End of the current contract", "type": "date" },
    ] })
}

/// A sandbox whose contact schema has reached version 3, with no other changes.
#[must_use]
pub fn sandbox(backend: Backend) -> Sandbox {
    let sandbox = Sandbox::new(backend);
    sandbox.clock.set(instant("2026-01-09T10:00:00.000Z"));
    sandbox.define(&json!({ "fields": [{ "name": "firstName", "label": "Given name" }] }));
    sandbox.define(&definition());
    sandbox.clock.set(instant(START));
    sandbox
}

/// The file content of the examples: a document, recognised by its first bytes.
pub const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n";

/// Replaces the id from the store by the example's id in a text.
#[must_use]
pub fn mapped(text: &str, id: &str) -> String {
    text.replace(id, CONTACT_ID)
}

/// The definition of the template `Intake` of the examples at version 2 (contract 2.3.1).
#[must_use]
pub fn intake() -> Value {
    json!({ "name": "Intake", "description": "First-contact questionnaire", "fields": [
        { "name": "fullName", "label": "Full name", "type": "text", "required": true, "validation": { "maxLength": 200 }, "example": "Zoë Okafor" },
        { "name": "visitType", "label": "Visit type", "type": "select", "required": true, "example": "first",
          "options": [{ "value": "first", "label": "First visit" }, { "value": "followUp", "label": "Follow-up" }] },
        { "name": "onset", "label": "Onset", "type": "date", "section": "Complaint", "example": "2026-01-20",
          "showIf": { "field": "visitType", "op": "equals", "value": "first" } },
        { "name": "painLevel", "label": "Pain level", "type": "integer", "section": "Complaint", "validation": { "minimum": 0, "maximum": 10 }, "example": 4 },
        { "name": "referral", "label": "Referral letter", "type": "file", "description": "Id of an uploaded file" },
        { "name": "emergency", "label": "Emergency contact", "type": "group", "example": { "name": "Ada Okafor", "phone": "+44 20 7946 0999" }, "fields": [
            { "name": "name", "label": "Name", "type": "text", "required": true, "validation": { "maxLength": 200 }, "example": "Ada Okafor" },
            { "name": "phone", "label": "Phone", "type": "phone", "example": "+44 20 7946 0999" },
        ] },
    ] })
}

/// The definition of the template `Feedback`, as far as the examples show it.
#[must_use]
pub fn feedback() -> Value {
    json!({ "name": "Feedback", "submissionPolicy": "keepAll", "fields": [
        { "name": "rating", "label": "Rating", "type": "integer", "required": true, "validation": { "minimum": 1, "maximum": 5 }, "example": 5 },
        { "name": "comment", "label": "Comment", "type": "textarea" },
    ] })
}
