//! The columns of a contact, read directly into the record and written from it.

use openapi_core::contacts::Contact;
use openapi_core::json::RawObject;
use openapi_core::values::{AgentId, ContactId, ContactStatus, StoredText, Timestamp};
use rusqlite::Row;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use serde::de::DeserializeOwned;

use crate::error::{Fault, Result, corrupt};

/// The columns in the order in which [`contact`] reads them.
macro_rules! columns {
    () => {
        "c.id, c.external_reference_id, c.salutation, c.first_name, c.middle_name, c.last_name, c.dob, c.gender, \
         c.primary_email, c.primary_phone, c.primary_phone_code, c.full_address, c.tags, c.status, c.source, \
         c.last_contacted_at, c.custom_fields, c.archived_at, c.created_at, c.updated_at, c.version"
    };
}
pub(crate) use columns;

/// The number of columns of [`columns`].
pub(super) const COUNT: usize = 21;

/// Reads the columns of a row one after another.
pub(crate) struct Columns<'r> {
    row: &'r Row<'r>,
    at: usize,
}

/// The text of a column, if it has one.
pub(crate) fn optional_str(value: ValueRef<'_>) -> Result<Option<&str>> {
    value.as_str_or_null().map_err(corrupt)
}

impl<'r> Columns<'r> {
    pub(crate) fn of(row: &'r Row<'r>) -> Self {
        Columns::from(row, 0)
    }

    /// The same, starting at a column.
    pub(crate) fn from(row: &'r Row<'r>, at: usize) -> Self {
        Columns { row, at }
    }

    fn next(&mut self) -> Result<ValueRef<'r>> {
        let value = self.row.get_ref(self.at)?;
        self.at += 1;
        Ok(value)
    }

    pub(crate) fn str(&mut self) -> Result<&'r str> {
        self.next()?.as_str().map_err(corrupt)
    }

    pub(crate) fn optional_str(&mut self) -> Result<Option<&'r str>> {
        optional_str(self.next()?)
    }

    pub(crate) fn text<T: StoredText>(&mut self) -> Result<T> {
        self.str().map(T::from_stored)
    }

    pub(crate) fn optional_text<T: StoredText>(&mut self) -> Result<Option<T>> {
        Ok(self.optional_str()?.map(T::from_stored))
    }

    pub(crate) fn integer(&mut self) -> Result<i64> {
        self.next()?.as_i64().map_err(corrupt)
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        u64::try_from(self.integer()?).map_err(corrupt)
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp> {
        self.integer().map(Timestamp::from_millis)
    }

    pub(crate) fn optional_time(&mut self) -> Result<Option<Timestamp>> {
        Ok(self.next()?.as_i64_or_null().map_err(corrupt)?.map(Timestamp::from_millis))
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.next()?.as_blob().map_err(corrupt)?.try_into().map_err(corrupt)
    }

    pub(crate) fn optional_bytes<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        let bytes = self.next()?.as_blob_or_null().map_err(corrupt)?;
        bytes.map(|bytes| bytes.try_into().map_err(corrupt)).transpose()
    }

    /// An object; NULL is `{}`.
    pub(crate) fn object(&mut self) -> Result<RawObject> {
        self.optional_str()?
            .map_or_else(|| Ok(RawObject::default()), |text| RawObject::from_text(text).map_err(corrupt))
    }

    /// The value of a column that is stored as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        serde_json::from_str(self.str()?).map_err(corrupt)
    }

    /// The same for a column that may be NULL.
    pub(crate) fn optional_json<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        self.optional_str()?.map(|text| serde_json::from_str(text).map_err(corrupt)).transpose()
    }

    pub(crate) fn status(&mut self) -> Result<ContactStatus> {
        let number = self.integer()?;
        usize::try_from(number)
            .ok()
            .and_then(|number| ContactStatus::ALL.get(number).copied())
            .ok_or_else(|| corrupt(format_args!("{number} is no status")))
    }
}

/// The errors in the values of a stored contact. Reads trust the values; a check does not.
pub(crate) fn broken_rule(contact: &Contact) -> Option<String> {
    // The reader of the contract's JSON applies every rule of a value.
    let text = serde_json::to_vec(contact).map_err(|error| error.to_string());
    let read =
        text.and_then(|text| serde_json::from_slice::<Contact>(&text).map_err(|error| error.to_string()));
    read.err().map(|error| format!("a value breaks its rule: {error}"))
}

/// The number of a status: its position in [`ContactStatus::ALL`].
pub(crate) const fn status_number(status: ContactStatus) -> i64 {
    match status {
        ContactStatus::Active => 0,
        ContactStatus::Inactive => 1,
        ContactStatus::Blocked => 2,
    }
}

/// The text of an object; `None` for `{}`.
pub(crate) fn object_text(object: &RawObject) -> Option<&str> {
    (!object.is_empty()).then(|| object.as_str())
}

/// Reads a row of [`columns`].
pub(crate) fn contact(agent: &AgentId, row: &Row<'_>) -> Result<Contact, Fault> {
    let mut columns = Columns::of(row);
    Ok(Contact {
        id: ContactId::from_bytes(columns.bytes()?),
        agent_id: agent.clone(),
        external_reference_id: columns.optional_text()?,
        salutation: columns.optional_text()?,
        first_name: columns.optional_text()?,
        middle_name: columns.optional_text()?,
        last_name: columns.optional_text()?,
        dob: columns.optional_text()?,
        gender: columns.optional_text()?,
        primary_email: columns.text()?,
        primary_phone: columns.optional_text()?,
        primary_phone_code: columns.optional_text()?,
        full_address: columns.optional_text()?,
        tags: columns
            .optional_str()?
            .map_or_else(Vec::new, |tags| tags.split('\n').map(StoredText::from_stored).collect()),
        status: columns.status()?,
        source: columns.text()?,
        last_contacted_at: columns.optional_time()?,
        custom_fields: columns.object()?,
        archived_at: columns.optional_time()?,
        created_at: columns.time()?,
        updated_at: columns.time()?,
        version: columns.count()?,
    })
}

/// The values of a contact in the order of [`columns`].
pub(super) fn values(contact: &Contact) -> impl Iterator<Item = ToSqlOutput<'_>> {
    fn text(text: Option<&str>) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes())))
    }
    fn time(time: Option<Timestamp>) -> ToSqlOutput<'static> {
        ToSqlOutput::Borrowed(time.map_or(ValueRef::Null, |time| ValueRef::Integer(time.millis())))
    }
    let tags = if contact.tags.is_empty() {
        ToSqlOutput::Owned(Value::Null)
    } else {
        let tags: Vec<&str> = contact.tags.iter().map(|tag| tag.as_str()).collect();
        ToSqlOutput::Owned(Value::Text(tags.join("\n")))
    };
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
        tags,
        ToSqlOutput::Borrowed(ValueRef::Integer(status_number(contact.status))),
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
