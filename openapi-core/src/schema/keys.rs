//! The keys by which a contact is searched, sorted and compared, under the schema that says what is sensitive and what
//! is unique.

use super::ContactSchema;
use crate::contacts::{Contact, ContactKeys};
use crate::json::Json;
use crate::values::fold;
use crate::values::phone_forms::searched;

impl ContactKeys {
    /// The keys of `contact` under `schema`, which says what is sensitive (not searched) and what is unique.
    #[must_use]
    pub fn of(contact: &Contact, schema: &ContactSchema) -> Self {
        let folded = |text: Option<&str>| text.map(fold);
        let digits = searched(contact.primary_phone.as_ref(), contact.primary_phone_code.as_ref());
        let mut keys = ContactKeys {
            first_name: folded(contact.first_name.as_ref().map(|name| name.as_str())),
            last_name: folded(contact.last_name.as_ref().map(|name| name.as_str())),
            primary_email: fold(contact.primary_email.as_str()),
            email: contact.primary_email.normalized(),
            search: String::new(),
            digits: if schema.is_sensitive("primaryPhone") || schema.is_sensitive("primaryPhoneCode") {
                String::new()
            } else {
                digits
            },
            tags: contact.tags.iter().map(|tag| tag.folded()).collect(),
            unique: schema.unique_values(contact),
        };
        keys.search = search_text(contact, schema);
        keys
    }
}

fn search_text(contact: &Contact, schema: &ContactSchema) -> String {
    let mut search = String::new();
    let mut add = |field: &str, text: &str| {
        if !schema.is_sensitive(field) {
            // A field of several lines stays one field: no term contains the line feed either way.
            search.push_str(&fold(text));
            search.push('\n');
        }
    };
    for (field, text) in [
        ("firstName", contact.first_name.as_ref().map(|name| name.as_str())),
        ("middleName", contact.middle_name.as_ref().map(|name| name.as_str())),
        ("lastName", contact.last_name.as_ref().map(|name| name.as_str())),
        ("primaryEmail", Some(contact.primary_email.as_str())),
        ("primaryPhone", contact.primary_phone.as_ref().map(|phone| phone.as_str())),
        ("primaryPhoneCode", contact.primary_phone_code.as_ref().map(|code| code.as_str())),
        ("externalReferenceId", contact.external_reference_id.as_ref().map(|id| id.as_str())),
        ("fullAddress", contact.full_address.as_ref().map(|address| address.as_str())),
    ] {
        if let Some(text) = text {
            add(field, text);
        }
    }
    for tag in &contact.tags {
        add("tags", tag.as_str());
    }
    if !contact.custom_fields.is_empty() {
        for (name, value) in contact.custom_fields.members().iter() {
            if let Json::String(text) = value {
                add(&format!("customFields.{name}"), text);
            }
        }
    }
    search
}
