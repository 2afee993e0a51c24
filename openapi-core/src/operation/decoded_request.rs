//! A decoded request, before its type is known: captured path parameters, query pairs, headers, the parsed body.

use std::cell::RefCell;

use http::{HeaderMap, HeaderName, header};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::extraction::DocumentForm;
use crate::files::Upload;
use crate::json::{Json, Object};
use crate::operation::EndpointMetadata;
use crate::reply::MAX_REACH;
use crate::service::{Idempotency, PageRequest, PageStart, ReplyEncoder, TagMatch, Unvalidated};
use crate::storage::Order;
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{Block, TextValue, Timestamp, parse_boolean};

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
        Query::new(self.meta, self.query_pairs)
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
            JsonBody::Absent if self.meta.body == crate::operation::BodyKind::Optional => {
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

/// Query parameters under their endpoint's declaration. Errors are collected with their location.
pub struct Query<'a> {
    pairs: &'a [(String, String)],
    found: RefCell<Vec<(usize, ValidationError)>>,
}

impl<'a> Query<'a> {
    fn new(meta: &EndpointMetadata, pairs: &'a [(String, String)]) -> Self {
        let mut found = Vec::new();
        let parameters = pairs.iter().enumerate().filter(|(_, (name, _))| !name.starts_with('_'));
        for (at, (name, value)) in parameters {
            let value = Json::String(value.clone());
            let fault = if !meta.query.iter().any(|parameter| parameter.name == name) {
                ValidationIssue::new(ValidationCode::Unknown, "is not a parameter of this endpoint")
            } else if pairs[..at].iter().any(|(earlier, _)| earlier == name) {
                ValidationIssue::new(ValidationCode::Duplicate, "is given twice")
            } else {
                continue;
            };
            found.push((at, ValidationError::new(Location::Query, name, Some(&value), fault)));
        }
        Query { pairs, found: RefCell::new(found) }
    }

    /// The value of a parameter; empty is absent.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.pairs
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty())
    }

    /// Whether a parameter is given at all, be it empty.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// Notes a fault of a parameter.
    pub fn fault(&self, name: &str, fault: ValidationIssue) {
        let at = self.pairs.iter().position(|(known, _)| known == name).unwrap_or(usize::MAX);
        let value = self.pairs.get(at).map(|(_, value)| Json::String(value.clone()));
        self.found
            .borrow_mut()
            .push((at, ValidationError::new(Location::Query, name, value.as_ref(), fault)));
    }

    /// A parameter read by `read`; a fault is noted.
    pub fn read<T>(&self, name: &str, read: impl FnOnce(&str) -> Result<T, ValidationIssue>) -> Option<T> {
        match read(self.text(name)?) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(name, fault);
                None
            }
        }
    }

    /// A parameter of a text value, trimmed; blank is absent.
    pub fn value<T: TextValue>(&self, name: &str) -> Option<T> {
        self.text(name).filter(|text| !text.trim().is_empty())?;
        self.read(name, T::parse)
    }

    /// A whole number from `least` to `most`: plain decimal digits.
    pub fn integer(&self, name: &str, least: u64, most: u64) -> Option<u64> {
        self.read(name, |text| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(ValidationIssue::wrong_type("a whole number"));
            }
            let value = if text.starts_with('-') { 0 } else { digits.parse().unwrap_or(u64::MAX) };
            if value < least {
                Err(ValidationIssue::new(ValidationCode::Minimum, format!("must be at least {least}")))
            } else if value > most {
                Err(ValidationIssue::new(ValidationCode::Maximum, format!("must be at most {most}")))
            } else {
                Ok(value)
            }
        })
    }

    /// A boolean: `true`, `false`, `1`, `0`, ignoring case.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        self.read(name, |text| {
            parse_boolean(text).ok_or_else(|| ValidationIssue::wrong_type("true or false"))
        })
    }

    /// The faults, in the order sent.
    pub fn into_faults(self) -> Violations {
        let mut found = self.found.into_inner();
        found.sort_by_key(|(at, _)| *at);
        let mut faults = Violations::new();
        found.into_iter().for_each(|(_, violation)| faults.push(violation));
        faults
    }
}

/// The `Idempotency-Key` of a request (contract 5.5): 1 to 255 printable ASCII characters, surrounding quotes ignored.
/// Without a well-formed key the request has none, and the fault is noted. `encoder` writes what is stored under it.
pub(crate) fn idempotency<T>(
    incoming: &DecodedRequest<'_>,
    faults: &mut Violations,
    encoder: ReplyEncoder<T>,
) -> Option<Idempotency<T>> {
    let name = HeaderName::from_static("idempotency-key");
    let mut lines = incoming.headers.get_all(&name).iter();
    let line = lines.next()?;
    let text = line.to_str().ok().map(str::trim);
    let unquoted =
        text.map(|text| text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text));
    let valid =
        |key: &&str| (1..=255).contains(&key.len()) && key.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let Some(key) = unquoted.filter(valid).filter(|_| lines.next().is_none()) else {
        faults.push(header_fault(&name, "must be one key of 1 to 255 printable ASCII characters"));
        return None;
    };
    let mut hash = Sha256::new();
    if let JsonBody::Value(body) = incoming.body {
        fingerprint(body, &mut hash);
    }
    Some(Idempotency {
        key: key.to_owned(),
        operation: format!("{} {}", incoming.meta.method.as_str(), incoming.path.trim_end_matches('/')),
        fingerprint: hash.finalize().into(),
        encoder,
    })
}

/// What requests that create something have in common.
pub(crate) struct Creation<T> {
    /// The members of the body.
    pub(crate) body: Unvalidated<Object>,
    /// Whether everything runs and nothing is stored.
    pub(crate) dry_run: bool,
    /// The idempotency of the request; a dry run has none.
    pub(crate) idempotency: Option<Idempotency<T>>,
}

/// Reads `dryRun`, the `Idempotency-Key` and the members of the body.
pub(crate) fn creation<T>(incoming: &DecodedRequest<'_>, encoder: ReplyEncoder<T>) -> Creation<T> {
    let query = incoming.query();
    let dry_run = query.boolean("dryRun").unwrap_or(false);
    let mut faults = Violations::new();
    // A dry run ignores the key, be it well-formed or not.
    let idempotency = if dry_run { None } else { idempotency(incoming, &mut faults, encoder) };
    faults.extend(query.into_faults());
    let members = incoming.members(&mut faults);
    Creation { body: Unvalidated::new(members, faults), dry_run, idempotency }
}

/// Feeds a value to a hash so that equal values, whatever the order of their members, feed the same.
fn fingerprint(value: &Json, hash: &mut Sha256) {
    let mut text = |tag: &[u8], text: &str| {
        hash.update(tag);
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    };
    match value {
        Json::Null => text(b"0", ""),
        Json::Bool(value) => text(b"b", if *value { "1" } else { "0" }),
        Json::Number(number) => text(b"n", number.as_str()),
        Json::String(value) => text(b"s", value),
        Json::Array(items) => {
            text(b"a", &items.len().to_string());
            items.iter().for_each(|item| fingerprint(item, hash));
        }
        Json::Object(members) => {
            text(b"o", &members.len().to_string());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            for (name, value) in members {
                fingerprint(&Json::String(name.to_owned()), hash);
                fingerprint(value, hash);
            }
        }
    }
}

/// The `If-Match` header (contract 5.4).
pub(crate) fn if_match(incoming: &DecodedRequest<'_>, faults: &mut Violations) -> Option<TagMatch> {
    let words = "must be *, an entity tag or a list of entity tags";
    match incoming.header(&header::IF_MATCH) {
        Ok(None) => None,
        Ok(Some(text)) => {
            let tags = TagMatch::parse(&text);
            if tags.is_none() {
                faults.push(header_fault(&header::IF_MATCH, words));
            }
            tags
        }
        Err(violation) => {
            faults.push(*violation);
            None
        }
    }
}

/// The member `reason` of a body that may have no other: text of up to 500 characters, blank is none.
pub(crate) fn reason_member(incoming: &DecodedRequest<'_>, faults: &mut Violations) -> Option<Block<500>> {
    let members = incoming.members(faults);
    let mut reason = None;
    for (name, value) in members.iter().flat_map(|members| members.iter()) {
        let fault = match (name, value) {
            ("reason", Json::Null) => continue,
            ("reason", Json::String(text)) => match Block::parse(text) {
                Ok(text) => {
                    reason = Some(text);
                    continue;
                }
                // Blank is none.
                Err(fault) if fault.rule == ValidationCode::Required => continue,
                Err(fault) => fault,
            },
            ("reason", _) => ValidationIssue::wrong_type("a string"),
            (name, _) if name.contains('\0') => ValidationIssue::invalid_characters(),
            _ => ValidationIssue::new(ValidationCode::Unknown, "is not a member of this request"),
        };
        faults.push(ValidationError::new(Location::Body, name, Some(value), fault));
    }
    reason
}

/// `page`, `limit` and `cursor` (contract 2.5).
pub(crate) fn page_request(query: &Query<'_>, default_limit: u32) -> PageRequest {
    let limit =
        query.integer("limit", 1, 100).and_then(|limit| u32::try_from(limit).ok()).unwrap_or(default_limit);
    let page = query.integer("page", 1, u64::MAX);
    if let Some(page) = page
        && page.saturating_mul(u64::from(limit)) > MAX_REACH
    {
        query.fault(
            "page",
            ValidationIssue::new(
                ValidationCode::Maximum,
                format!("times limit must be at most {MAX_REACH}; use cursor to go further"),
            ),
        );
    }
    let start = match query.text("cursor") {
        Some(_) if query.is_given("page") => {
            query.fault(
                "cursor",
                ValidationIssue::new(ValidationCode::Conflict, "cannot be given together with page"),
            );
            PageStart::Page(1)
        }
        Some(cursor) => PageStart::Cursor(cursor.to_owned()),
        None => PageStart::Page(page.unwrap_or(1)),
    };
    PageRequest { limit, start }
}

/// `sortOrder`: `asc` or `desc`.
pub(crate) fn sort_order(text: &str) -> Result<Order, ValidationIssue> {
    match text {
        "asc" => Ok(Order::Ascending),
        "desc" => Ok(Order::Descending),
        _ => Err(ValidationIssue::not_one_of(&["asc", "desc"])),
    }
}
