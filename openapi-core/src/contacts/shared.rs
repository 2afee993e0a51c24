//! A contact that its readers share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::ser::{Serialize, Serializer};
use triomphe::ThinArc;

use super::{Contact, record};
use crate::json::same_schema;
use crate::values::Timestamp;

/// A text of up to so many bytes lies in the record itself.
const INLINE: usize = 24;

/// What an allocation takes besides its bytes, about.
const ALLOCATION: usize = 16;

/// A contact as a store returns it: shared with the cache of the store, where it has its JSON, so that it is serialized
/// once and not for each response.
///
/// It derefs to [`Contact`] and serializes like one. Cheap to clone.
///
/// ```
/// # use openapi_core::contacts::{Contact, SharedContact};
/// # fn of(contact: Contact) -> Result<(), serde_json::Error> {
/// let shared = SharedContact::written(contact.clone());
/// assert_eq!(shared.etag(), contact.etag());
/// assert_eq!(shared.json(), Some(&*serde_json::to_vec(&contact)?));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedContact(Repr);

#[derive(Clone)]
enum Repr {
    Plain(Arc<Contact>),
    /// With its JSON and everything else that a response needs in one allocation, so that a cold read costs a single
    /// cache miss.
    Written(ThinArc<Head, u8>),
}

/// What lies before the JSON, in one cache line with the counter of the `ThinArc`.
#[repr(C)]
struct Head {
    version: u64,
    updated_at: Timestamp,
    contact: Box<Contact>,
}

impl SharedContact {
    /// A contact together with its JSON: for stores that keep it in memory.
    #[must_use]
    pub fn written(contact: Contact) -> Self {
        // A record of texts, numbers and JSON always serialises; without its JSON it is written when it is answered.
        let Ok(json) = serde_json::to_vec(&contact) else { return contact.into() };
        let head =
            Head { version: contact.version, updated_at: contact.updated_at, contact: Box::new(contact) };
        SharedContact(Repr::Written(ThinArc::from_header_and_slice(head, &json)))
    }

    /// As [`Contact::etag`].
    #[must_use]
    pub fn etag(&self) -> String {
        match &self.0 {
            Repr::Plain(contact) => contact.etag(),
            Repr::Written(written) => {
                record::etag(written.header.header.version, written.header.header.updated_at)
            }
        }
    }

    /// Its JSON, if it was written.
    #[must_use]
    pub fn json(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Plain(_) => None,
            Repr::Written(written) => Some(&written.slice),
        }
    }

    /// The contact by itself, copied where others may have it too.
    #[must_use]
    pub fn into_contact(self) -> Contact {
        match self.0 {
            Repr::Plain(contact) => Arc::unwrap_or_clone(contact),
            Repr::Written(written) => Contact::clone(&written.header.header.contact),
        }
    }

    /// About how much memory it takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        // The counter and the length lie before the head.
        let written = |json: &[u8]| 2 * size_of::<usize>() + size_of::<Head>() + json.len() + ALLOCATION;
        self.json().map_or(0, written) + bytes_of(self)
    }
}

/// About how much memory a contact takes, in bytes.
fn bytes_of(contact: &Contact) -> usize {
    let texts = [
        contact.external_reference_id.as_ref().map(|text| text.as_str()),
        contact.salutation.as_ref().map(|text| text.as_str()),
        contact.first_name.as_ref().map(|text| text.as_str()),
        contact.middle_name.as_ref().map(|text| text.as_str()),
        contact.last_name.as_ref().map(|text| text.as_str()),
        contact.gender.as_ref().map(|text| text.as_str()),
        Some(contact.primary_email.as_str()),
        contact.primary_phone.as_ref().map(|text| text.as_str()),
        contact.full_address.as_ref().map(|text| text.as_str()),
        Some(contact.source.as_str()),
    ];
    let tags = contact.tags.iter().map(|tag| tag.as_str());
    let outside = texts.into_iter().flatten().chain(tags).map(str::len).filter(|length| *length > INLINE);
    let whole = [
        size_of_val(contact.tags.as_slice()),
        if contact.custom_fields.is_empty() { 0 } else { contact.custom_fields.as_str().len() },
        size_of::<Contact>(),
    ];
    outside.chain(whole).filter(|bytes| *bytes > 0).map(|bytes| bytes + ALLOCATION).sum()
}

impl From<Contact> for SharedContact {
    fn from(contact: Contact) -> Self {
        SharedContact(Repr::Plain(Arc::new(contact)))
    }
}

impl Deref for SharedContact {
    type Target = Contact;

    fn deref(&self) -> &Contact {
        match &self.0 {
            Repr::Plain(contact) => contact,
            Repr::Written(written) => &written.header.header.contact,
        }
    }
}

impl PartialEq for SharedContact {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for SharedContact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

same_schema! { SharedContact => Contact, }

impl Serialize for SharedContact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::RawObject;
    use crate::values::{ContactId, ContactStatus};
    use proptest::prelude::*;

    /// A contact whose texts lie in the record or outside of it.
    fn contact() -> impl Strategy<Value = Contact> {
        let text = || proptest::option::of("[a-zé]{1,60}");
        let tags = proptest::collection::vec("[a-z]{1,40}", 0..4);
        let numbers = (any::<[u8; 12]>(), 0..4_000_000_000_000_i64, 1..100_u64);
        (text(), text(), text(), tags, numbers).prop_map(|(first, notes, address, tags, numbers)| {
            let (id, millis, version) = numbers;
            let at = Timestamp::from_millis(millis);
            let custom_fields = serde_json::json!({ "notes": notes }).to_string();
            Contact {
                id: ContactId::from_bytes(id),
                agent_id: "support".parse().unwrap(),
                external_reference_id: None,
                salutation: None,
                first_name: first.map(|name| name.parse().unwrap()),
                middle_name: None,
                last_name: None,
                dob: None,
                gender: None,
                primary_email: "zoe@example.com".parse().unwrap(),
                primary_phone: "+49 30 1234567".parse().ok(),
                primary_phone_code: None,
                full_address: address.map(|lines| lines.parse().unwrap()),
                tags: tags.iter().map(|tag| tag.parse().unwrap()).collect(),
                status: ContactStatus::default(),
                source: "api".parse().unwrap(),
                last_contacted_at: None,
                custom_fields: RawObject::from_text(&custom_fields).unwrap(),
                archived_at: None,
                created_at: at,
                updated_at: at,
                version,
            }
        })
    }

    proptest! {
        #[test]
        fn it_is_the_contact_however_it_is_held(contact in contact()) {
            let text = serde_json::to_string(&contact).unwrap();
            let (written, plain) = (SharedContact::written(contact.clone()), SharedContact::from(contact.clone()));
            prop_assert_eq!(written.json(), Some(text.as_bytes()));
            prop_assert_eq!(plain.json(), None);
            for shared in [&written, &plain] {
                prop_assert_eq!(&**shared, &contact);
                prop_assert_eq!(shared.etag(), contact.etag());
                prop_assert_eq!(serde_json::to_string(shared).unwrap(), text.clone());
            }
            prop_assert!(plain.bytes() > size_of::<Contact>());
            let head = 2 * size_of::<usize>() + size_of::<Head>();
            prop_assert_eq!(written.bytes() - plain.bytes(), head + text.len() + ALLOCATION);
            let other = written.clone();
            prop_assert_eq!(written.into_contact(), contact.clone());
            prop_assert_eq!(other.into_contact(), contact.clone());
            prop_assert_eq!(plain.into_contact(), contact);
        }
    }
}
