//! Typed requests: a request is a struct of parts. Each part reads itself from what was sent, and says what the OpenAPI
//! document shows of it, so that decoding and description cannot differ.

mod metadata;
mod query;
pub mod rules;

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use parking_lot::Mutex;
use serde_json::Value;

pub use metadata::{Access, Base, BodyKind, Conditional, EndpointMetadata, Method};
pub use query::{Parameter, Query};
pub use query::{parameter, parameters};

use crate::extraction::DocumentForm;
use crate::files::Upload;
use crate::json::{Json, Object};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::Timestamp;

/// A request that was let in, with its body read.
pub struct DecodedRequest<'a> {
    /// The endpoint.
    pub meta: &'static EndpointMetadata,
    /// The values of the path's parameters, percent-decoded, in order.
    pub path_values: &'a [(&'a str, &'a str)],
    /// The path as sent, without the query.
    pub path: &'a str,
    /// The query pairs as sent, decoded.
    pub query_pairs: &'a [(String, String)],
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The JSON body.
    pub body: &'a JsonBody,
    /// The form with a file, until the operation takes it.
    pub upload: Mutex<Option<Box<Upload>>>,
    /// The form with a document, until the operation takes it.
    pub document: Mutex<Option<Box<DocumentForm>>>,
    /// Whether only the head of the answer is wanted.
    pub is_head: bool,
    /// The client's address, if the server knows it.
    pub address: Option<IpAddr>,
    /// The present instant.
    pub now: Timestamp,
}

/// A parsed body.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JsonBody {
    /// Nothing was sent, or nothing is read.
    #[default]
    Absent,
    /// A JSON value.
    Value(Json),
}

impl DecodedRequest<'_> {
    /// The value of a path parameter.
    #[must_use]
    pub fn path_value(&self, name: &str) -> &str {
        self.path_values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// The query, checked for unknown and repeated names.
    #[must_use]
    pub fn query(&self) -> Query<'_> {
        Query::new(self.meta.query, self.query_pairs)
    }

    /// The form with the file.
    #[must_use]
    pub fn take_upload(&self) -> Upload {
        let upload = self.upload.lock().take();
        upload.map_or_else(Upload::absent, |upload| *upload)
    }

    /// The form with the document.
    #[must_use]
    pub fn take_document(&self) -> DocumentForm {
        self.document.lock().take().map(|form| *form).unwrap_or_default()
    }

    /// The text of a header; lines of one name are joined as a list.
    ///
    /// # Errors
    /// `format` when it is not visible ASCII.
    pub fn header(&self, name: &HeaderName) -> Result<Option<String>, Box<ValidationError>> {
        let mut lines = self.headers.get_all(name).iter().peekable();
        if lines.peek().is_none() {
            return Ok(None);
        }
        let lines: Result<Vec<&str>, _> = lines.map(|line| line.to_str()).collect();
        match lines {
            Ok(lines) => Ok(Some(lines.join(", "))),
            Err(_) => Err(Box::new(header_fault(name, "must be visible ASCII"))),
        }
    }

    /// The members of the body; none when nothing was sent or it is no object, which is a fault.
    pub fn members(&self, faults: &mut Violations) -> Option<Object> {
        let (value, fault) = match self.body {
            JsonBody::Value(Json::Object(members)) => return Some(members.clone()),
            JsonBody::Absent if self.meta.body == BodyKind::Optional => {
                return Some(Object::new());
            }
            JsonBody::Absent => (None, ValidationIssue::required()),
            JsonBody::Value(value) => (Some(value), ValidationIssue::wrong_type("an object")),
        };
        faults.push(ValidationError::new(Location::Body, "body", value, fault));
        None
    }
}

/// The fault of a header, named as the contract writes it.
pub(crate) fn header_fault(name: &HeaderName, words: &'static str) -> ValidationError {
    let shown: String = name
        .as_str()
        .split('-')
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
                .unwrap_or_default()
        })
        .collect::<Vec<_>>()
        .join("-");
    ValidationError::new(Location::Header, shown, None, ValidationIssue::new(ValidationCode::Format, words))
}

/// A part of a request. A whole request is a part made of parts: see the macro `request`.
pub trait Part {
    /// What the part is read as.
    type Value;
    /// Its query parameters.
    const PARAMETERS: &'static [Parameter] = &[];
    /// The body, if the part reads it.
    const BODY: BodyKind = BodyKind::None;
    /// Whether it reads `Idempotency-Key`.
    const IDEMPOTENT: bool = false;
    /// Whether it reads `If-Match`.
    const IF_MATCH: bool = false;

    /// The JSON Schema of the body, if the part reads it.
    fn body_schema() -> Option<Value> {
        None
    }

    /// Reads the part and notes what is wrong with it.
    fn read(request: &mut Reader<'_>) -> Self::Value;
}

/// A request that is being read, with everything found wrong so far.
pub struct Reader<'a> {
    /// What was sent.
    pub sent: &'a DecodedRequest<'a>,
    /// The query.
    pub query: Query<'a>,
    /// What is wrong with the headers.
    pub headers: Violations,
    /// What is wrong with the body.
    pub body: Violations,
}

impl Reader<'_> {
    /// Reads a whole request.
    pub(crate) fn read<T: Part>(sent: &DecodedRequest<'_>) -> T::Value {
        let (headers, body) = (Violations::new(), Violations::new());
        let mut reader = Reader { sent, query: sent.query(), headers, body };
        let request = T::read(&mut reader);
        debug_assert!(reader.take_faults().is_empty(), "{} drops what was found wrong", sent.meta.id);
        request
    }

    /// Everything found wrong so far, in the contract's order: header, query, body. The part that takes the faults is
    /// the last one of its request.
    pub fn take_faults(&mut self) -> Violations {
        let mut faults = std::mem::take(&mut self.headers);
        faults.extend(self.query.take_faults());
        faults.extend(std::mem::take(&mut self.body));
        faults
    }
}

/// A request without anything, whatever its query: of endpoints that need no key.
impl Part for () {
    type Value = ();

    fn read(request: &mut Reader<'_>) {
        request.take_faults();
    }
}

/// What is wrong with a request, where nothing else holds it.
impl Part for Violations {
    type Value = Violations;

    fn read(request: &mut Reader<'_>) -> Violations {
        request.take_faults()
    }
}

/// What a path names, and nothing else.
impl<T: Part<Value = T>> Part for (T, Violations) {
    type Value = (T, Violations);

    fn read(request: &mut Reader<'_>) -> Self {
        (T::read(request), request.take_faults())
    }
}

/// The id that a path names, as sent: the first of its parameters that is neither the agent nor the contact.
impl Part for String {
    type Value = String;

    fn read(request: &mut Reader<'_>) -> String {
        let is_other = |name: &str| !matches!(name, "agentId" | "contactId" | "externalReferenceId");
        let id = request.sent.path_values.iter().find(|(name, _)| is_other(name));
        id.map_or_else(String::new, |(_, value)| (*value).to_owned())
    }
}

/// Declares a request: a struct whose fields are parts. A field is read by its own type, or by the part after `=`.
///
/// ```ignore
/// request! {
///     /// `PUT` of a contact.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct UpdateContact {
///         /// Which contact.
///         pub target: ContactTarget,
///         /// The `If-Match` header.
///         pub if_match: Option<TagMatch> = IfMatch,
///         /// The contact fields; what is absent stays.
///         pub fields: Unvalidated<Object> = RawBody<ContactChanges>,
///     }
/// }
/// ```
///
/// The fields are read in their order, and the last one takes what was found wrong: an [`Unvalidated`] or
/// [`Violations`].
///
/// [`Unvalidated`]: crate::service::Unvalidated
#[macro_export]
macro_rules! request {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty $(= $part:ty)?,)*
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::request::Part for $name {
            type Value = Self;

            const PARAMETERS: &'static [$crate::request::Parameter] = {
                use $crate::request::{Parameter, Part, part_of};
                const GROUPS: &[&[Parameter]] = &[$(<part_of!($type $(, $part)?) as Part>::PARAMETERS),*];
                &Parameter::concat::<{ Parameter::count(GROUPS) }>(GROUPS)
            };
            const BODY: $crate::request::BodyKind = {
                use $crate::request::{BodyKind, Part, part_of};
                BodyKind::None$(.or(<part_of!($type $(, $part)?) as Part>::BODY))*
            };
            const IDEMPOTENT: bool = {
                use $crate::request::{Part, part_of};
                false $(|| <part_of!($type $(, $part)?) as Part>::IDEMPOTENT)*
            };
            const IF_MATCH: bool = {
                use $crate::request::{Part, part_of};
                false $(|| <part_of!($type $(, $part)?) as Part>::IF_MATCH)*
            };

            fn body_schema() -> Option<serde_json::Value> {
                use $crate::request::{Part, part_of};
                None$(.or_else(<part_of!($type $(, $part)?) as Part>::body_schema))*
            }

            fn read(request: &mut $crate::request::Reader<'_>) -> Self {
                use $crate::request::{Part, part_of};
                $name { $($field: <part_of!($type $(, $part)?) as Part>::read(request),)* }
            }
        }
    };
}
pub use request;

/// The part that reads a field: the one named, or its type.
#[macro_export]
macro_rules! part_of {
    ($type:ty) => {
        $type
    };
    ($type:ty, $part:ty) => {
        $part
    };
}
pub use part_of;
