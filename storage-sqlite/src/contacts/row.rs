//! The columns of a contact, written from the record.

use std::sync::LazyLock;

use openapi_core::contacts::Contact;
use openapi_core::values::Timestamp;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use storage_common::{contact_columns, records};

use crate::rows::{code, object_text};

/// The names of [`contact_columns`].
fn names() -> impl Iterator<Item = &'static str> {
    contact_columns!().split(", ").map(|column| column.trim_start_matches("c."))
}

/// Stores a contact: row number, agent, and the values of [`values`].
pub(super) static INSERT: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<_> = ["n", "agent"].into_iter().chain(names()).collect();
    format!("INSERT INTO contact ({}) VALUES ({})", names.join(", "), vec!["?"; names.len()].join(", "))
});

/// Changes a contact, but for its id and external id: the values of [`values`] after these two, and the row number.
pub(super) static UPDATE: LazyLock<String> = LazyLock::new(|| {
    let set: Vec<_> = names().skip(2).map(|name| format!("{name} = ?")).collect();
    format!("UPDATE contact SET {} WHERE n = ?", set.join(", "))
});

/// The errors in the values of a stored contact. Reads trust the values; a check does not.
pub(crate) fn broken_rule(contact: &Contact) -> Option<String> {
    // The reader of the contract's JSON applies every rule of a value.
    let text = serde_json::to_vec(contact).map_err(|error| error.to_string());
    let read =
        text.and_then(|text| serde_json::from_slice::<Contact>(&text).map_err(|error| error.to_string()));
    read.err().map(|error| format!("a value breaks its rule: {error}"))
}

/// The values of a contact in the order of [`contact_columns`].
pub(super) fn values(contact: &Contact) -> impl Iterator<Item = ToSqlOutput<'_>> {
    fn text(text: Option<&str>) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes())))
    }
    fn time(time: Option<Timestamp>) -> ToSqlOutput<'static> {
        ToSqlOutput::Borrowed(time.map_or(ValueRef::Null, |time| ValueRef::Integer(time.millis())))
    }
    let tags = records::tags_text(contact).map_or(Value::Null, Value::Text);
    [
        ToSqlOutput::Borrowed(ValueRef::Blob(contact.id.as_bytes())),
        text(contact.external_reference_id.as_ref().map(|id| id.as_str())),
        text(contact.salutation.as_ref().map(|line| line.as_str())),
        text(contact.first_name.as_ref().map(|line| line.as_str())),
        text(contact.middle_name.as_ref().map(|line| line.as_str())),
        text(contact.last_name.as_ref().map(|line| line.as_str())),
        text(contact.dob.as_ref().map(|date| date.as_str())),
        text(contact.gender.as_ref().map(|line| line.as_str())),
        text(Some(contact.primary_email.as_str())),
        text(contact.primary_phone.as_ref().map(|phone| phone.as_str())),
        text(contact.primary_phone_code.as_ref().map(|code| code.as_str())),
        text(contact.full_address.as_ref().map(|address| address.as_str())),
        ToSqlOutput::Owned(tags),
        ToSqlOutput::Borrowed(ValueRef::Integer(code(contact.status))),
        text(Some(contact.source.as_str())),
        time(contact.last_contacted_at),
        text(object_text(&contact.custom_fields)),
        time(contact.archived_at),
        time(Some(contact.created_at)),
        time(Some(contact.updated_at)),
        ToSqlOutput::Owned(Value::Integer(i64::try_from(contact.version).unwrap_or(i64::MAX))),
    ]
    .into_iter()
}
