//! A contact that its readers share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Contact, record};
use crate::values::Timestamp;

/// A text of up to so many octets lies in the record itself.
const INLINE: usize = 24;

/// What an allocation takes besides its octets, about.
const ALLOCATION: usize = 16;

/// A contact as a store gives it to whoever reads it: shared with what the store keeps in memory, and there with its
/// JSON, which is written once and not for each answer.
///
/// It is used as the [`Contact`] that it derefs to; its serialised form is the same. Cheap to clone.
///
/// ```
/// # use openapi_core::contacts::{Contact, SharedContact};
/// # fn of(contact: Contact) -> Result<(), serde_json::Error> {
/// let shared = SharedContact::written(contact.clone());
/// assert_eq!(shared.etag(), contact.etag());
/// assert_eq!(serde_json::to_string(&shared)?, serde_json::to_string(&contact)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedContact(Arc<Shared>);

/// What an answer with a contact in memory looks at comes first, beside the counters of the `Arc`: of the rest, which is
/// seldom in the processor's cache, it needs nothing.
#[repr(C)]
struct Shared {
    /// Its JSON, if it is to be answered more than once.
    json: Option<Box<RawValue>>,
    /// Of the contact.
    version: u64,
    /// Of the contact.
    updated_at: Timestamp,
    contact: Contact,
}

impl Shared {
    fn of(contact: Contact, json: Option<Box<RawValue>>) -> Self {
        Shared { json, version: contact.version, updated_at: contact.updated_at, contact }
    }
}

impl SharedContact {
    /// A contact together with its JSON: for stores that keep it in memory.
    #[must_use]
    pub fn written(contact: Contact) -> Self {
        // A record of texts, numbers and JSON always serialises; without its text it is written when it is answered.
        let json = serde_json::value::to_raw_value(&contact).ok();
        SharedContact(Arc::new(Shared::of(contact, json)))
    }

    /// As [`Contact::etag`].
    #[must_use]
    pub fn etag(&self) -> String {
        record::etag(self.0.version, self.0.updated_at)
    }

    /// The contact by itself, copied where others have it too.
    #[must_use]
    pub fn into_contact(self) -> Contact {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.contact.clone(), |shared| shared.contact)
    }

    /// About how much memory it takes, in octets.
    #[must_use]
    pub fn octets(&self) -> usize {
        let Shared { contact, json, .. } = &*self.0;
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
            json.as_ref().map_or(0, |json| json.get().len()),
            size_of::<Shared>(),
        ];
        outside.chain(whole).filter(|octets| *octets > 0).map(|octets| octets + ALLOCATION).sum()
    }
}

impl From<Contact> for SharedContact {
    fn from(contact: Contact) -> Self {
        SharedContact(Arc::new(Shared::of(contact, None)))
    }
}

impl Deref for SharedContact {
    type Target = Contact;

    fn deref(&self) -> &Contact {
        &self.0.contact
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

impl Serialize for SharedContact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.json {
            Some(json) => json.serialize(serializer),
            None => (**self).serialize(serializer),
        }
    }
}

#[cfg(all(test, feature = "strategies"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_the_contact_however_it_is_held(contact in crate::strategies::contact("support".parse().unwrap())) {
            let text = serde_json::to_string(&contact).unwrap();
            let (written, plain) = (SharedContact::written(contact.clone()), SharedContact::from(contact.clone()));
            for shared in [&written, &plain] {
                prop_assert_eq!(&**shared, &contact);
                prop_assert_eq!(shared.etag(), contact.etag());
                prop_assert_eq!(serde_json::to_string(shared).unwrap(), text.clone());
            }
            prop_assert_eq!(written.octets() - plain.octets(), text.len() + ALLOCATION);
            prop_assert!(plain.octets() > size_of::<Contact>());
            let other = written.clone();
            prop_assert_eq!(written.into_contact(), contact.clone());
            prop_assert_eq!(other.into_contact(), contact);
        }
    }
}
