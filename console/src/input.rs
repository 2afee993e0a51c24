//! The input of an operation: one struct of members from path, query and body. Reading and description come from one
//! list, so they cannot differ.

use bytes::Bytes;
use conversations::{ConversationMode, ConversationStatus};
use openapi_core::access::{AllowedAddress, KeySelector, Permissions};
use openapi_core::extraction::ExtractionStatus;
use openapi_core::json::{Json, JsonSchema, Object};
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use openapi_core::values::{
    AgentId, AuditId, Block, ContactId, ConversationId, Email, JobId, KnowledgeId, Line, PlatformId,
    TextValue, Timestamp,
};
use serde_json::{Value, json};

use crate::grants::{Grant, Grants};

/// Where a member is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// A segment of the path.
    Path,
    /// A query parameter.
    Query,
    /// A member of the JSON body.
    Body,
    /// The body as it is: a file.
    Content,
}

impl Position {
    const fn location(self) -> Location {
        match self {
            Position::Path => Location::Path,
            Position::Query => Location::Query,
            Position::Body | Position::Content => Location::Body,
        }
    }
}

/// A body that was received.
pub(crate) struct Sending {
    pub(crate) bytes: Bytes,
}

/// What was sent, before it is read.
pub(crate) struct Sent<'a> {
    pub(crate) path: &'a [(&'a str, String)],
    pub(crate) query: &'a [(String, String)],
    pub(crate) body: Object,
    pub(crate) content: Option<Bytes>,
}

/// The typed input of an operation.
pub trait Input: Sized + Send {
    /// The members: where each is sent, its name, whether it is required, and its schema.
    fn members() -> Vec<(Position, &'static str, bool, Value)>;

    /// Reads the input.
    ///
    /// # Errors
    /// Every fault of what was sent.
    fn read(sent: &mut Reader<'_>) -> Result<Self, Violations>;
}

/// The value of a member.
pub trait Member: Sized {
    /// Whether no error shows what was sent.
    const IS_SECRET: bool = false;

    /// Reads a JSON value.
    ///
    /// # Errors
    /// The first rule that the value breaks.
    fn read(value: &Json) -> Result<Self, ValidationIssue>;

    /// Reads the text of a path segment or a query parameter.
    ///
    /// # Errors
    /// The first rule that the text breaks.
    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        Self::read(&Json::from(text))
    }

    /// Reads the body as it is.
    ///
    /// # Errors
    /// The first rule that the content breaks.
    fn read_content(content: Bytes) -> Result<Self, ValidationIssue> {
        let _ = content;
        Err(ValidationIssue::wrong_type("JSON"))
    }

    /// The JSON Schema.
    fn schema() -> Value;

    /// What an absent member stands for; none when it is required.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// Reads members and collects their faults.
pub struct Reader<'a> {
    sent: Sent<'a>,
    faults: Violations,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(sent: Sent<'a>) -> Self {
        Reader { sent, faults: Violations::new() }
    }

    /// Reads one member; none when it has a fault.
    pub fn member<T: Member>(&mut self, position: Position, name: &'static str) -> Option<T> {
        let read = match position {
            Position::Path => {
                let text = self.sent.path.iter().find(|(known, _)| *known == name).map(|(_, text)| text);
                text.map(|text| (Json::from(text.as_str()), T::read_text(text)))
            }
            Position::Query => {
                let text = self.sent.query.iter().find(|(known, _)| known == name).map(|(_, text)| text);
                text.map(|text| (Json::from(text.as_str()), T::read_text(text)))
            }
            Position::Body => self.sent.body.get(name).map(|value| (value.clone(), T::read(value))),
            Position::Content => {
                let content = self.sent.content.take();
                content.map(|content| (Json::Null, T::read_content(content)))
            }
        };
        let (sent, outcome) = match read {
            Some((sent, outcome)) => (Some(sent).filter(|_| !T::IS_SECRET), outcome),
            None => (None, T::absent().ok_or_else(ValidationIssue::required)),
        };
        outcome
            .map_err(|issue| {
                self.faults.push(ValidationError::new(position.location(), name, sent.as_ref(), issue));
            })
            .ok()
    }

    /// The value of a query parameter that is sent exactly once, whatever else is.
    pub(crate) fn sole(&self, name: &str) -> Option<String> {
        let mut sent = self.sent.query.iter().filter(|(known, _)| known == name);
        let (_, value) = sent.next()?;
        sent.next().is_none().then(|| value.clone())
    }

    /// Refuses members that the operation does not have, and repeated parameters, and returns all faults.
    pub fn finish(&mut self, known: &[(Position, &str)]) -> Violations {
        let knows = |position, name: &str| known.contains(&(position, name));
        let unknown = || ValidationIssue::new(ValidationCode::Unknown, "is not known here");
        for (at, (name, value)) in self.sent.query.iter().enumerate() {
            let issue = if !knows(Position::Query, name) {
                unknown()
            } else if self.sent.query[..at].iter().any(|(earlier, _)| earlier == name) {
                ValidationIssue::new(ValidationCode::Duplicate, "must be sent once")
            } else {
                continue;
            };
            let value = Json::from(value.as_str());
            self.faults.push(ValidationError::new(Location::Query, name, Some(&value), issue));
        }
        for (name, value) in self.sent.body.iter().filter(|(name, _)| !knows(Position::Body, name)) {
            self.faults.push(ValidationError::new(Location::Body, name, Some(value), unknown()));
        }
        std::mem::take(&mut self.faults).joined(Violations::new())
    }
}

/// Declares an input: `"name" Position field: Type { schema members },`.
macro_rules! input {
    ($(#[$doc:meta])* $name:ident { $($member:literal $position:ident $field:ident: $type:ty $({ $($more:tt)* })?,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $(#[doc = concat!("`", $member, "`")] pub $field: $type,)*
        }

        impl $crate::input::Input for $name {
            fn members() -> Vec<($crate::input::Position, &'static str, bool, serde_json::Value)> {
                vec![$((
                    $crate::input::Position::$position,
                    $member,
                    <$type as $crate::input::Member>::absent().is_none(),
                    $crate::input::described::<$type>(serde_json::json!({ $($($more)*)? })),
                ),)*]
            }

            fn read(sent: &mut $crate::input::Reader<'_>) -> Result<Self, openapi_core::validation::Violations> {
                $(let $field = sent.member::<$type>($crate::input::Position::$position, $member);)*
                let faults = sent.finish(&[$(($crate::input::Position::$position, $member),)*]);
                if !faults.is_empty() {
                    return Err(faults);
                }
                #[allow(unused_variables, reason = "an input without members reads nothing")]
                match ($($field,)*) {
                    ($(Some($field),)*) => Ok($name { $($field,)* }),
                    #[allow(unreachable_patterns, reason = "an input without members has one pattern")]
                    _ => Err(faults),
                }
            }
        }
    };
}
pub(crate) use input;

/// The schema of a member with what is said of it beyond its type.
pub(crate) fn described<T: Member>(more: Value) -> Value {
    let mut schema = T::schema();
    if let (Some(schema), Value::Object(more)) = (schema.as_object_mut(), more) {
        schema.extend(more);
    }
    schema
}

fn text(value: &Json) -> Result<&str, ValidationIssue> {
    match value {
        Json::Null => Err(ValidationIssue::required()),
        value => value.as_str().ok_or_else(|| ValidationIssue::wrong_type("a string")),
    }
}

macro_rules! text_members {
    ($($type:ident $(<$max:ident>)?,)*) => {$(
        impl $(<const $max: usize>)? Member for $type$(<$max>)? {
            fn read(value: &Json) -> Result<Self, ValidationIssue> {
                <Self as TextValue>::parse(text(value)?)
            }

            fn schema() -> Value {
                <Self as TextValue>::json_schema()
            }
        }
    )*};
}

text_members! { AgentId, Email, ExtractionStatus, Timestamp, Block<MAX>, Line<MAX>, }

macro_rules! id_members {
    ($($type:ident,)*) => {$(
        impl Member for $type {
            fn read(value: &Json) -> Result<Self, ValidationIssue> {
                text(value)?.parse().map_err(|invalid: openapi_core::values::Invalid| invalid.0)
            }

            fn schema() -> Value {
                <Self as JsonSchema>::schema()
            }
        }
    )*};
}

id_members! { AuditId, ContactId, ConversationId, JobId, KnowledgeId, PlatformId, }

macro_rules! integers {
    ($($type:ident,)*) => {$(
        impl Member for $type {
            fn read(value: &Json) -> Result<Self, ValidationIssue> {
                let wrong = || ValidationIssue::wrong_type("an integer");
                match value {
                    Json::Null => Err(ValidationIssue::required()),
                    Json::Number(number) if number.is_integer() => number.as_str().parse().map_err(|_| {
                        ValidationIssue::new(ValidationCode::Maximum, format!("must be 0 to {}", $type::MAX))
                    }),
                    _ => Err(wrong()),
                }
            }

            fn read_text(text: &str) -> Result<Self, ValidationIssue> {
                text.parse().map_err(|_| ValidationIssue::wrong_type("an integer"))
            }

            fn schema() -> Value {
                json!({ "type": "integer", "minimum": 0 })
            }
        }
    )*};
}

integers! { u32, u64, }

impl Member for bool {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        match value {
            Json::Bool(value) => Ok(*value),
            Json::Null => Err(ValidationIssue::required()),
            _ => Err(ValidationIssue::wrong_type("a boolean")),
        }
    }

    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        text.parse().map_err(|_| ValidationIssue::wrong_type("a boolean"))
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

/// Any value, which what the operation calls checks.
impl Member for Json {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        Ok(value.clone())
    }

    fn schema() -> Value {
        json!({})
    }
}

impl Member for Object {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        match value {
            Json::Object(object) => Ok(object.clone()),
            Json::Null => Err(ValidationIssue::required()),
            _ => Err(ValidationIssue::wrong_type("an object")),
        }
    }

    fn schema() -> Value {
        <Object as JsonSchema>::schema()
    }
}

impl Member for KeySelector {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        text(value)?.parse().map_err(|invalid: openapi_core::values::Invalid| invalid.0)
    }

    fn schema() -> Value {
        json!({ "type": "string", "description": "The id of a key, or the key itself." })
    }
}

/// The elements of an array of strings.
pub(crate) fn texts(
    value: &Json,
) -> Result<impl Iterator<Item = Result<&str, ValidationIssue>>, ValidationIssue> {
    match value {
        Json::Array(elements) => Ok(elements.iter().map(text)),
        Json::Null => Err(ValidationIssue::required()),
        _ => Err(ValidationIssue::wrong_type("an array of strings")),
    }
}

impl Member for Permissions {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let parse = |word: Result<&str, ValidationIssue>| -> Result<Permissions, ValidationIssue> {
            word?.parse().map_err(|invalid: openapi_core::values::Invalid| invalid.0)
        };
        let permissions =
            texts(value)?.map(parse).try_fold(Permissions::NONE, |all, one| Ok(all.with(one?)))?;
        if permissions.is_empty() {
            return Err(ValidationIssue::new(ValidationCode::MinItems, "must have at least one permission"));
        }
        Ok(permissions)
    }

    fn schema() -> Value {
        let known: Vec<String> = Permissions::all().iter().map(|permission| permission.to_string()).collect();
        json!({ "type": "array", "minItems": 1, "items": { "type": "string", "enum": known } })
    }
}

/// The most grants of an operator.
const MAX_GRANTS: usize = 100;

impl Member for Grants {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let parse = |text: Result<&str, ValidationIssue>| -> Result<Grant, ValidationIssue> {
            text?.parse().map_err(|invalid: openapi_core::values::Invalid| invalid.0)
        };
        let mut grants: Vec<Grant> = texts(value)?.map(parse).collect::<Result<_, _>>()?;
        grants.sort();
        grants.dedup();
        match grants.len() {
            0 => Err(ValidationIssue::new(ValidationCode::MinItems, "must have at least one role")),
            1..=MAX_GRANTS => Ok(Grants::new(grants)),
            _ => {
                let text = format!("must have at most {MAX_GRANTS} roles");
                Err(ValidationIssue::new(ValidationCode::MaxItems, text))
            }
        }
    }

    fn schema() -> Value {
        let items = json!({ "type": "string", "description": "A role on one agent as `inbox@acme`, or on all as `admin`." });
        json!({ "type": "array", "minItems": 1, "maxItems": MAX_GRANTS, "items": items })
    }
}

/// The most addresses of a key's allowlist.
const MAX_ADDRESSES: usize = 100;

impl Member for Vec<AllowedAddress> {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let parse = |text: Result<&str, ValidationIssue>| -> Result<AllowedAddress, ValidationIssue> {
            text?.parse().map_err(|invalid: openapi_core::values::Invalid| invalid.0)
        };
        let addresses: Vec<AllowedAddress> = texts(value)?.map(parse).collect::<Result<_, _>>()?;
        if addresses.len() > MAX_ADDRESSES {
            let text = format!("must have at most {MAX_ADDRESSES} addresses");
            return Err(ValidationIssue::new(ValidationCode::MaxItems, text));
        }
        Ok(addresses)
    }

    fn schema() -> Value {
        json!({ "type": "array", "maxItems": MAX_ADDRESSES, "items": { "type": "string", "description": "An address or a block such as 192.0.2.0/24." } })
    }
}

/// The longest secret that is read.
const MAX_SECRET: usize = 4_096;

/// A password, or the token of a link: no error and no log shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Member for Secret {
    const IS_SECRET: bool = true;

    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let text = text(value)?;
        if text.is_empty() {
            return Err(ValidationIssue::required());
        }
        if text.len() > MAX_SECRET {
            return Err(ValidationIssue::new(ValidationCode::MaxLength, "is too long"));
        }
        Ok(Secret(text.to_owned()))
    }

    fn schema() -> Value {
        json!({ "type": "string", "writeOnly": true })
    }
}

/// The answer of an authenticator: `PublicKeyCredential.toJSON()`.
#[derive(Clone, Debug)]
pub struct Credential(pub Object);

impl Member for Credential {
    const IS_SECRET: bool = true;

    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        Object::read(value).map(Credential)
    }

    fn schema() -> Value {
        json!({ "type": "object", "additionalProperties": true, "description": "What `PublicKeyCredential.toJSON()` returns." })
    }
}

/// A file.
#[derive(Clone, Debug)]
pub struct Content(pub Bytes);

impl Member for Content {
    const IS_SECRET: bool = true;

    fn read(_: &Json) -> Result<Self, ValidationIssue> {
        Err(ValidationIssue::wrong_type("a file"))
    }

    fn read_content(content: Bytes) -> Result<Self, ValidationIssue> {
        if content.is_empty() { Err(ValidationIssue::required()) } else { Ok(Content(content)) }
    }

    fn schema() -> Value {
        json!({ "type": "string", "format": "binary" })
    }
}

macro_rules! words {
    ($($type:ident,)*) => {$(
        impl Member for $type {
            fn read(value: &Json) -> Result<Self, ValidationIssue> {
                let known: Vec<&str> = $type::ALL.iter().map(|known| known.as_str()).collect();
                $type::of_word(text(value)?).ok_or_else(|| ValidationIssue::not_one_of(&known))
            }

            fn schema() -> Value {
                json!({ "type": "string", "enum": $type::ALL.iter().map(|known| known.as_str()).collect::<Vec<_>>() })
            }
        }
    )*};
}

words! { ConversationMode, ConversationStatus, }

/// A member that may be left out.
impl<T: Member> Member for Option<T> {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        T::read(value).map(Some)
    }

    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        T::read_text(text).map(Some)
    }

    fn schema() -> Value {
        T::schema()
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// A member that `null` clears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrNull<T>(pub Option<T>);

impl<T: Member> Member for OrNull<T> {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        if matches!(value, Json::Null) {
            Ok(OrNull(None))
        } else {
            T::read(value).map(|value| OrNull(Some(value)))
        }
    }

    fn schema() -> Value {
        json!({ "anyOf": [T::schema(), { "type": "null" }] })
    }
}

/// How many items a page of a list has: 1 to 100, 20 when it is not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub u32);

impl Member for Limit {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let limit = u32::read(value)?;
        match limit {
            1..=100 => Ok(Limit(limit)),
            _ => Err(ValidationIssue::new(ValidationCode::Maximum, "must be 1 to 100")),
        }
    }

    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        match u32::read_text(text)? {
            limit @ 1..=100 => Ok(Limit(limit)),
            _ => Err(ValidationIssue::new(ValidationCode::Maximum, "must be 1 to 100")),
        }
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 20 })
    }

    fn absent() -> Option<Self> {
        Some(Limit(20))
    }
}
