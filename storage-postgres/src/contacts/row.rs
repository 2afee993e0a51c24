//! Contacts as columns, to write many at once.

use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::values::{AgentId, ContactId, Timestamp};

use crate::error::Result;
use crate::rows::{Statement, code, object_text, signed};

/// The normal form of the e-mail address, unless it equals the sort key, as it nearly always does.
fn email_apart(keys: &ContactKeys) -> Option<&str> {
    (keys.email != keys.primary_email).then_some(keys.email.as_str())
}

/// The keys of contacts, by column.
#[derive(Default)]
pub(super) struct KeyRows<'w> {
    agent: Vec<&'w str>,
    id: Vec<&'w [u8]>,
    search: Vec<&'w str>,
    digits: Vec<&'w str>,
    first_name_key: Vec<Option<&'w str>>,
    last_name_key: Vec<Option<&'w str>>,
    primary_email_key: Vec<&'w str>,
    email: Vec<Option<&'w str>>,
}

/// The values that [`KeyRows::bind`] binds, as rows of a table `u`.
macro_rules! key_rows {
    () => {
        "unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) \
         AS u (agent, id, search, digits, first_name_key, last_name_key, primary_email_key, email)"
    };
}
pub(super) use key_rows;

impl<'w> KeyRows<'w> {
    pub(super) fn push(&mut self, agent: &'w AgentId, contact: &'w ContactId, keys: &'w ContactKeys) {
        self.agent.push(agent.as_str());
        self.id.push(contact.as_bytes());
        self.search.push(&keys.search);
        self.digits.push(&keys.digits);
        self.first_name_key.push(keys.first_name.as_deref());
        self.last_name_key.push(keys.last_name.as_deref());
        self.primary_email_key.push(&keys.primary_email);
        self.email.push(email_apart(keys));
    }

    pub(super) fn bind(self, statement: Statement) -> Result<Statement> {
        statement
            .bind(self.agent)?
            .bind(self.id)?
            .bind(self.search)?
            .bind(self.digits)?
            .bind(self.first_name_key)?
            .bind(self.last_name_key)?
            .bind(self.primary_email_key)?
            .bind(self.email)
    }
}

/// Contacts with their keys, by column.
#[derive(Default)]
pub(super) struct ContactRows<'w> {
    keys: KeyRows<'w>,
    archived: Vec<i16>,
    status: Vec<i16>,
    created_at: Vec<i64>,
    updated_at: Vec<i64>,
    version: Vec<i64>,
    archived_at: Vec<Option<i64>>,
    last_contacted_at: Vec<Option<i64>>,
    external_reference_id: Vec<Option<&'w str>>,
    salutation: Vec<Option<&'w str>>,
    first_name: Vec<Option<&'w str>>,
    middle_name: Vec<Option<&'w str>>,
    last_name: Vec<Option<&'w str>>,
    dob: Vec<Option<&'w str>>,
    gender: Vec<Option<&'w str>>,
    primary_email: Vec<&'w str>,
    primary_phone: Vec<Option<&'w str>>,
    primary_phone_code: Vec<Option<&'w str>>,
    full_address: Vec<Option<&'w str>>,
    tags: Vec<Option<String>>,
    source: Vec<&'w str>,
    custom_fields: Vec<Option<&'w str>>,
}

/// The values that [`ContactRows::bind`] binds, as rows of a table `u`.
macro_rules! contact_rows {
    () => {
        "unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], \
         $9::smallint[], $10::smallint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], \
         $15::bigint[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], \
         $23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $28::text[], $29::text[]) \
         AS u (agent, id, search, digits, first_name_key, last_name_key, primary_email_key, email, archived, status, \
         created_at, updated_at, version, archived_at, last_contacted_at, external_reference_id, salutation, \
         first_name, middle_name, last_name, dob, gender, primary_email, primary_phone, primary_phone_code, \
         full_address, tags, source, custom_fields)"
    };
}
pub(super) use contact_rows;

impl<'w> ContactRows<'w> {
    pub(super) fn is_empty(&self) -> bool {
        self.version.is_empty()
    }

    pub(super) fn push(
        &mut self,
        agent: &'w AgentId,
        contact: &'w Contact,
        keys: &'w ContactKeys,
    ) -> Result<()> {
        self.keys.push(agent, &contact.id, keys);
        self.archived.push(contact.is_archived().into());
        self.status.push(code(contact.status));
        self.created_at.push(contact.created_at.millis());
        self.updated_at.push(contact.updated_at.millis());
        self.version.push(signed(contact.version)?);
        self.archived_at.push(contact.archived_at.map(Timestamp::millis));
        self.last_contacted_at.push(contact.last_contacted_at.map(Timestamp::millis));
        self.external_reference_id.push(contact.external_reference_id.as_ref().map(|id| id.as_str()));
        self.salutation.push(contact.salutation.as_ref().map(|line| line.as_str()));
        self.first_name.push(contact.first_name.as_ref().map(|line| line.as_str()));
        self.middle_name.push(contact.middle_name.as_ref().map(|line| line.as_str()));
        self.last_name.push(contact.last_name.as_ref().map(|line| line.as_str()));
        self.dob.push(contact.dob.as_ref().map(|date| date.as_str()));
        self.gender.push(contact.gender.as_ref().map(|line| line.as_str()));
        self.primary_email.push(contact.primary_email.as_str());
        self.primary_phone.push(contact.primary_phone.as_ref().map(|phone| phone.as_str()));
        self.primary_phone_code.push(contact.primary_phone_code.as_ref().map(|code| code.as_str()));
        self.full_address.push(contact.full_address.as_ref().map(|address| address.as_str()));
        let tags: Vec<&str> = contact.tags.iter().map(|tag| tag.as_str()).collect();
        self.tags.push((!tags.is_empty()).then(|| tags.join("\n")));
        self.source.push(contact.source.as_str());
        self.custom_fields.push(object_text(&contact.custom_fields));
        Ok(())
    }

    pub(super) fn bind(self, statement: Statement) -> Result<Statement> {
        self.keys
            .bind(statement)?
            .bind(self.archived)?
            .bind(self.status)?
            .bind(self.created_at)?
            .bind(self.updated_at)?
            .bind(self.version)?
            .bind(self.archived_at)?
            .bind(self.last_contacted_at)?
            .bind(self.external_reference_id)?
            .bind(self.salutation)?
            .bind(self.first_name)?
            .bind(self.middle_name)?
            .bind(self.last_name)?
            .bind(self.dob)?
            .bind(self.gender)?
            .bind(self.primary_email)?
            .bind(self.primary_phone)?
            .bind(self.primary_phone_code)?
            .bind(self.full_address)?
            .bind(self.tags)?
            .bind(self.source)?
            .bind(self.custom_fields)
    }
}
