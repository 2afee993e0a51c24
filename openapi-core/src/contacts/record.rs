//! The record of a contact and its JSON form.

use serde::{Deserialize, Serialize, Serializer};

use crate::json::{JsonSchema, OnceStored, RawObject, json_object, preview_of, same_schema};
use crate::values::{
    AgentId, Block, ContactId, ContactStatus, Date, Email, ExternalId, Line, Phone, PhoneCode, Tag, Timestamp,
};

/// A contact as stored and as answered (contract 2.1). Its serialised form is the contract's JSON; `version` is not
/// part of it. For clients and tests it is read from that JSON, with version 0.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    #[serde(skip)]
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
}

/// A contact, stored or as a dry run would store it.
struct View<'a> {
    contact: &'a Contact,
    stored: bool,
}

json_object! { View<'_> as "Contact" {
    "description": "A contact. Every field is always present; what is unset is `null`."
} = |view| {
    "id": OnceStored<ContactId> = OnceStored(view.stored.then_some(view.contact.id)),
    "agentId": AgentId = view.contact.agent_id,
    "externalReferenceId": Option<ExternalId> = view.contact.external_reference_id,
    "salutation": Option<Line<30>> = view.contact.salutation,
    "firstName": Option<Line<100>> = view.contact.first_name,
    "middleName": Option<Line<100>> = view.contact.middle_name,
    "lastName": Option<Line<100>> = view.contact.last_name,
    "dob": Option<Date> = view.contact.dob,
    "gender": Option<Line<50>> = view.contact.gender,
    "primaryEmail": Email = view.contact.primary_email,
    "primaryPhone": Option<Phone> = view.contact.primary_phone,
    "primaryPhoneCode": Option<PhoneCode> { "pattern": "^\\+[1-9][0-9]{0,3}$" } = view.contact.primary_phone_code,
    "fullAddress": Option<Block<1000>> = view.contact.full_address,
    "tags": Vec<Tag> { "maxItems": Tag::MAX_COUNT } = view.contact.tags,
    "status": ContactStatus = view.contact.status,
    "source": Line<64> = view.contact.source,
    "lastContactedAt": Option<Timestamp> = view.contact.last_contacted_at,
    "customFields": RawObject { "maxProperties": 100 } = view.contact.custom_fields,
    "isArchived": bool = view.contact.is_archived(),
    "archivedAt": Option<Timestamp> = view.contact.archived_at,
    "createdAt": OnceStored<Timestamp> = OnceStored(view.stored.then_some(view.contact.created_at)),
    "updatedAt": OnceStored<Timestamp> {
        "description": "Moves only when a stored value changes."
    } = OnceStored(view.stored.then_some(view.contact.updated_at)),
} }

same_schema! { Contact => View<'_>, }

impl Serialize for Contact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        View { contact: self, stored: true }.serialize(serializer)
    }
}

/// A contact that a dry run would create: the id and every time set by the service are `null` (contract 4.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Preview(pub Contact);

impl Serialize for Preview {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        View { contact: &self.0, stored: false }.serialize(serializer)
    }
}

impl JsonSchema for Preview {
    const NAME: Option<&'static str> = Some("ContactPreview");

    fn schema() -> serde_json::Value {
        preview_of::<Contact>(
            "A contact as it would be stored: what the service would set is `null`.",
            &["id", "createdAt", "updatedAt"],
        )
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
