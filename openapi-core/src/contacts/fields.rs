//! The fields of a contact that a request may carry: one list for the type, its JSON and the schemas of the bodies.

use serde_json::{Value, json};

use super::Contact;
use crate::json::{Json, JsonSchema, Object, RawObject, object};
use crate::values::{
    AgentId, Block, ContactId, ContactStatus, Date, Email, ExternalId, Line, Phone, PhoneCode, Tag,
    TextValue, Timestamp,
};

/// A field of a request: absent, `null`, or a value.
pub type Field<T> = Option<Option<T>>;

/// Declares the fields, each with its JSON name, its type and what the schema says beyond the type. A field takes `null`
/// as well; the type after `as` describes it where its own type would say too much.
macro_rules! fields {
    ($($name:literal $field:ident: $type:ty $(as $kind:ty)? $({ $($more:tt)* })?,)*) => {
        /// The contact fields of a request. On create `null` equals absence; on update what is absent stays and `null`
        /// clears (contract 2.1.3).
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct ContactFields {
            $(#[doc = concat!("`", $name, "`")] pub $field: Field<$type>,)*
        }

        impl ContactFields {
            /// The names of the fields, in schema order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The JSON members, in schema order.
            #[must_use]
            pub fn to_object(&self) -> Object {
                let mut object = Object::new();
                $(if let Some(value) = &self.$field {
                    object.insert($name, value.as_ref().map_or(Json::Null, FieldValue::to_json));
                })*
                object
            }
        }

        /// The members of a body: their names, whether they are required, their schemas and what is said beyond them.
        fn members() -> Vec<(&'static str, bool, Value, Value)> {
            vec![$(($name, false, kind!($type $(, $kind)?), json!({ $($($more)*)? }))),*]
        }
    };
}

macro_rules! kind {
    ($type:ty) => {
        <$type>::or_null()
    };
    ($type:ty, $kind:ty) => {
        <$kind>::schema()
    };
}

fields! {
    "externalReferenceId" external_reference_id: ExternalId {
        "description": "Your own id of the contact, unique in the agent, exact and case-sensitive."
    },
    "salutation" salutation: Line<30>,
    "firstName" first_name: Line<100>,
    "middleName" middle_name: Line<100>,
    "lastName" last_name: Line<100>,
    "dob" dob: Date as Option<String> {
        "description": "A calendar date as `YYYY-MM-DD`, from 1875-01-01 to today; a timestamp at exactly midnight UTC is cut to its date."
    },
    "gender" gender: Line<50>,
    "primaryEmail" primary_email: Email as Email,
    "primaryPhone" primary_phone: Phone {
        "description": "3 to 15 digits among spaces and `( ) - . /`, with an optional leading `+`."
    },
    "primaryPhoneCode" primary_phone_code: PhoneCode {
        "description": "A country calling code; answered with a leading `+`."
    },
    "fullAddress" full_address: Block<1000>,
    "tags" tags: Vec<Tag> {
        "maxItems": Tag::MAX_COUNT,
        "items": { "type": "string", "maxLength": 64 },
        "description": "Repeats are removed, ignoring case."
    },
    "status" status: ContactStatus,
    "source" source: Line<64> { "description": "Where the contact came from; `api` by default." },
    "lastContactedAt" last_contacted_at: Timestamp,
    "customFields" custom_fields: RawObject {
        "description": "Your own data: any JSON values, at most 100 members that are not `null`, 5 levels deep and 32 KiB in all. Numbers come back exactly as written."
    },
}

impl ContactFields {
    /// The contact that a create makes of the fields: what is absent or `null` has its default. None without the
    /// address, which every contact has.
    #[must_use]
    pub fn into_contact(self, id: ContactId, agent_id: AgentId, now: Timestamp) -> Option<Contact> {
        Some(Contact {
            id,
            agent_id,
            external_reference_id: self.external_reference_id.flatten(),
            salutation: self.salutation.flatten(),
            first_name: self.first_name.flatten(),
            middle_name: self.middle_name.flatten(),
            last_name: self.last_name.flatten(),
            dob: self.dob.flatten(),
            gender: self.gender.flatten(),
            primary_email: self.primary_email.flatten()?,
            primary_phone: self.primary_phone.flatten(),
            primary_phone_code: self.primary_phone_code.flatten(),
            full_address: self.full_address.flatten(),
            tags: self.tags.flatten().unwrap_or_default(),
            status: self.status.flatten().unwrap_or_default(),
            source: self.source.flatten().unwrap_or_else(default_source),
            last_contacted_at: self.last_contacted_at.flatten(),
            custom_fields: self.custom_fields.flatten().unwrap_or_default(),
            archived_at: None,
            created_at: now,
            updated_at: now,
            version: 1,
        })
    }
}

/// The `source` of a contact that names none.
pub(crate) fn default_source() -> Line<64> {
    Line::parse("api").unwrap_or_else(|_| unreachable!("a short word is a line"))
}

/// Fields that only the service sets; a request that repeats them is not refused.
pub(crate) const READ_ONLY: [&str; 6] =
    ["id", "agentId", "isArchived", "archivedAt", "createdAt", "updatedAt"];

/// The schema of a body of contact fields.
fn body(description: &str, required: &[&str]) -> Value {
    let read_only = READ_ONLY.map(|name| (name, false, json!({ "readOnly": true }), Value::Null));
    let mut members: Vec<_> = members().into_iter().chain(read_only).collect();
    members.iter_mut().for_each(|member| member.1 = required.contains(&member.0));
    object(json!({ "description": description, "additionalProperties": false }), members)
}

/// The body of a create, under the built-in schema.
pub struct NewContact;

impl JsonSchema for NewContact {
    const NAME: Option<&'static str> = Some("NewContact");

    fn schema() -> Value {
        body(
            "The fields of a contact to be created, under the built-in schema; the agent's own is answered by the contact schema endpoint.",
            &["primaryEmail"],
        )
    }
}

/// The body of an update, under the built-in schema.
pub struct ContactChanges;

impl JsonSchema for ContactChanges {
    const NAME: Option<&'static str> = Some("ContactChanges");

    fn schema() -> Value {
        body("The fields to be changed, under the built-in schema. What is absent stays; `null` clears.", &[])
    }
}

/// The value of a field as JSON.
trait FieldValue {
    fn to_json(&self) -> Json;
}

macro_rules! text_fields {
    ($($type:ident $(<$max:ident>)?,)*) => {$(
        impl $(<const $max: usize>)? FieldValue for $type$(<$max>)? {
            fn to_json(&self) -> Json {
                Json::String(self.to_string())
            }
        }
    )*};
}

text_fields! {
    ContactStatus, Date, Email, ExternalId, Phone, PhoneCode, Timestamp, Block<MAX>, Line<MAX>,
}

impl FieldValue for Vec<Tag> {
    fn to_json(&self) -> Json {
        Json::Array(self.iter().map(|tag| tag.as_str().into()).collect())
    }
}

impl FieldValue for RawObject {
    fn to_json(&self) -> Json {
        Json::Object(self.members())
    }
}
