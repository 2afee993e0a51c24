//! The fields of a contact that a request may carry, typed.

use crate::json::{Json, Object, RawObject};
use crate::values::{Block, ContactStatus, Date, Email, ExternalId, Line, Phone, PhoneCode, Tag, Timestamp};

/// A field of a request: absent, `null`, or a value.
pub type Field<T> = Option<Option<T>>;

/// The contact fields of a request. On create `null` equals absence; on update what is absent stays and `null` clears
/// (contract 2.1.3).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactFields {
    /// `externalReferenceId`
    pub external_reference_id: Field<ExternalId>,
    /// `salutation`
    pub salutation: Field<Line<30>>,
    /// `firstName`
    pub first_name: Field<Line<100>>,
    /// `middleName`
    pub middle_name: Field<Line<100>>,
    /// `lastName`
    pub last_name: Field<Line<100>>,
    /// `dob`
    pub dob: Field<Date>,
    /// `gender`
    pub gender: Field<Line<50>>,
    /// `primaryEmail`
    pub primary_email: Field<Email>,
    /// `primaryPhone`
    pub primary_phone: Field<Phone>,
    /// `primaryPhoneCode`
    pub primary_phone_code: Field<PhoneCode>,
    /// `fullAddress`
    pub full_address: Field<Block<1000>>,
    /// `tags`
    pub tags: Field<Vec<Tag>>,
    /// `status`
    pub status: Field<ContactStatus>,
    /// `source`
    pub source: Field<Line<64>>,
    /// `lastContactedAt`
    pub last_contacted_at: Field<Timestamp>,
    /// `customFields`: on update a merge patch (RFC 7396).
    pub custom_fields: Field<RawObject>,
}

impl ContactFields {
    /// The JSON members, in schema order.
    #[must_use]
    pub fn to_object(&self) -> Object {
        let mut object = Object::new();
        let mut put = |name: &str, value: Option<Json>| {
            if let Some(value) = value {
                object.insert(name, value);
            }
        };
        fn text<T: ToString>(field: &Field<T>) -> Option<Json> {
            Some(field.as_ref()?.as_ref().map_or(Json::Null, |value| Json::String(value.to_string())))
        }
        put("externalReferenceId", text(&self.external_reference_id));
        put("salutation", text(&self.salutation));
        put("firstName", text(&self.first_name));
        put("middleName", text(&self.middle_name));
        put("lastName", text(&self.last_name));
        put("dob", text(&self.dob));
        put("gender", text(&self.gender));
        put("primaryEmail", text(&self.primary_email));
        put("primaryPhone", text(&self.primary_phone));
        put("primaryPhoneCode", text(&self.primary_phone_code));
        put("fullAddress", text(&self.full_address));
        let tags = |tags: &Vec<Tag>| Json::Array(tags.iter().map(|tag| tag.as_str().into()).collect());
        put("tags", self.tags.as_ref().map(|field| field.as_ref().map_or(Json::Null, tags)));
        put("status", self.status.map(|field| field.map_or(Json::Null, |status| status.as_str().into())));
        put("source", text(&self.source));
        put("lastContactedAt", text(&self.last_contacted_at));
        let members = |raw: &RawObject| Json::Object(raw.members());
        put(
            "customFields",
            self.custom_fields.as_ref().map(|field| field.as_ref().map_or(Json::Null, members)),
        );
        object
    }
}
