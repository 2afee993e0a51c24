//! The record of a contact and its JSON form.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::json::RawObject;
use crate::values::{
    AgentId, Block, ContactId, ContactStatus, Date, Email, ExternalId, Line, Phone, PhoneCode, Tag, Timestamp,
};

/// A contact as stored and as answered (contract 2.1). Its serialised form is the contract's JSON; `version` is not
/// part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact {
    /// The platform id.
    pub id: ContactId,
    /// The agent the contact belongs to.
    pub agent_id: AgentId,
    /// The caller's own id, unique in the agent.
    pub external_reference_id: Option<ExternalId>,
    /// A form of address.
    pub salutation: Option<Line<30>>,
    /// The given name.
    pub first_name: Option<Line<100>>,
    /// The middle name.
    pub middle_name: Option<Line<100>>,
    /// The family name.
    pub last_name: Option<Line<100>>,
    /// The date of birth.
    pub dob: Option<Date>,
    /// Free text, or one of the schema's options.
    pub gender: Option<Line<50>>,
    /// The address; the only field every contact has.
    pub primary_email: Email,
    /// The telephone number as sent.
    pub primary_phone: Option<Phone>,
    /// The country calling code with its leading `+`.
    pub primary_phone_code: Option<PhoneCode>,
    /// The postal address.
    pub full_address: Option<Block<1000>>,
    /// Tags, without repeats.
    pub tags: Vec<Tag>,
    /// The status.
    pub status: ContactStatus,
    /// Where the contact came from.
    pub source: Line<64>,
    /// When somebody last was in touch.
    pub last_contacted_at: Option<Timestamp>,
    /// The caller's own data.
    pub custom_fields: RawObject,
    /// When the contact was archived; unset while it is not.
    pub archived_at: Option<Timestamp>,
    /// When the contact was created; never changes.
    pub created_at: Timestamp,
    /// When a stored value last changed.
    pub updated_at: Timestamp,
    /// 1 at creation, one more with each change: what the `ETag` is made from.
    pub version: u64,
}

impl Contact {
    /// Whether the contact is archived.
    #[must_use]
    pub fn is_archived(&self) -> bool {
        self.archived_at.is_some()
    }

    /// The strong entity tag, quotes included (contract 5.4). The time guards against a store that was put back to an
    /// earlier state and restarts its version count.
    #[must_use]
    pub fn etag(&self) -> String {
        etag(self.version, self.updated_at)
    }

    fn write<S: Serializer>(&self, serializer: S, stored: bool) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("Contact", 22)?;
        record.serialize_field("id", &stored.then_some(self.id))?;
        record.serialize_field("agentId", &self.agent_id)?;
        record.serialize_field("externalReferenceId", &self.external_reference_id)?;
        record.serialize_field("salutation", &self.salutation)?;
        record.serialize_field("firstName", &self.first_name)?;
        record.serialize_field("middleName", &self.middle_name)?;
        record.serialize_field("lastName", &self.last_name)?;
        record.serialize_field("dob", &self.dob)?;
        record.serialize_field("gender", &self.gender)?;
        record.serialize_field("primaryEmail", &self.primary_email)?;
        record.serialize_field("primaryPhone", &self.primary_phone)?;
        record.serialize_field("primaryPhoneCode", &self.primary_phone_code)?;
        record.serialize_field("fullAddress", &self.full_address)?;
        record.serialize_field("tags", &self.tags)?;
        record.serialize_field("status", &self.status)?;
        record.serialize_field("source", &self.source)?;
        record.serialize_field("lastContactedAt", &self.last_contacted_at)?;
        record.serialize_field("customFields", &self.custom_fields)?;
        record.serialize_field("isArchived", &self.is_archived())?;
        record.serialize_field("archivedAt", &self.archived_at)?;
        record.serialize_field("createdAt", &stored.then_some(self.created_at))?;
        record.serialize_field("updatedAt", &stored.then_some(self.updated_at))?;
        record.end()
    }
}

impl Serialize for Contact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.write(serializer, true)
    }
}

/// A contact that a dry run would create: the id and every time set by the service are `null` (contract 4.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Preview(pub Contact);

impl Serialize for Preview {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write(serializer, false)
    }
}

impl<'de> Deserialize<'de> for Contact {
    /// Reads the contract's JSON, for clients and tests; `version`, which it does not hold, is 0.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            id: ContactId,
            agent_id: AgentId,
            external_reference_id: Option<ExternalId>,
            salutation: Option<Line<30>>,
            first_name: Option<Line<100>>,
            middle_name: Option<Line<100>>,
            last_name: Option<Line<100>>,
            dob: Option<Date>,
            gender: Option<Line<50>>,
            primary_email: Email,
            primary_phone: Option<Phone>,
            primary_phone_code: Option<PhoneCode>,
            full_address: Option<Block<1000>>,
            tags: Vec<Tag>,
            status: ContactStatus,
            source: Line<64>,
            last_contacted_at: Option<Timestamp>,
            custom_fields: RawObject,
            archived_at: Option<Timestamp>,
            created_at: Timestamp,
            updated_at: Timestamp,
        }
        let wire = Wire::deserialize(deserializer)?;
        Ok(Contact {
            id: wire.id,
            agent_id: wire.agent_id,
            external_reference_id: wire.external_reference_id,
            salutation: wire.salutation,
            first_name: wire.first_name,
            middle_name: wire.middle_name,
            last_name: wire.last_name,
            dob: wire.dob,
            gender: wire.gender,
            primary_email: wire.primary_email,
            primary_phone: wire.primary_phone,
            primary_phone_code: wire.primary_phone_code,
            full_address: wire.full_address,
            tags: wire.tags,
            status: wire.status,
            source: wire.source,
            last_contacted_at: wire.last_contacted_at,
            custom_fields: wire.custom_fields,
            archived_at: wire.archived_at,
            created_at: wire.created_at,
            updated_at: wire.updated_at,
            version: 0,
        })
    }
}

/// The two ways to address a contact.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ContactRef {
    /// By platform id.
    Id(ContactId),
    /// By the caller's own id.
    External(ExternalId),
}

impl std::fmt::Display for ContactRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ContactRef::Id(id) => id.fmt(f),
            ContactRef::External(id) => id.fmt(f),
        }
    }
}

/// The entity tag of a contact.
pub(super) fn etag(version: u64, updated_at: Timestamp) -> String {
    // Sixteen digits at most each, two quotes and a dash; written at each read of a contact.
    let mut tag = String::with_capacity(35);
    tag.push('"');
    hexadecimal(&mut tag, version);
    tag.push('-');
    hexadecimal(&mut tag, updated_at.millis() as u64);
    tag.push('"');
    tag
}

/// Appends a number in base 16, as `{:x}` does: formatting machinery is felt where it is used.
fn hexadecimal(text: &mut String, value: u64) {
    let digits = (u64::BITS - value.leading_zeros()).div_ceil(4).max(1);
    text.extend(
        (0..digits).rev().filter_map(|digit| char::from_digit((value >> (4 * digit) & 0xf) as u32, 16)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_are_those_of_the_standard_library(value in any::<u64>(), shift in 0..64) {
            for value in [value >> shift, 0, u64::MAX] {
                let mut text = String::new();
                hexadecimal(&mut text, value);
                prop_assert_eq!(text, format!("{value:x}"));
            }
        }
    }
}
