//! Reads the members of the widget's requests leniently, and collects the errors.

use std::collections::BTreeMap;

use openapi_core::json::{Json, Object, RawObject};
use openapi_core::reply::ApiError;
use openapi_core::validation::{ValidationCode, ValidationIssue, Violations};
use openapi_core::values::{FileId, Timestamp};
use unicode_normalization::UnicodeNormalization;

use super::config::MESSAGE_CHARS;
use super::direction::turns_text;
use crate::{ChatPage, Claims, Consent};

/// Reads the members of a body. Unknown members are ignored, because widget and server may have different versions.
pub(crate) struct Members<'a> {
    object: &'a Object,
    prefix: &'static str,
    pub(crate) faults: Violations,
}

impl<'a> Members<'a> {
    pub(crate) fn new(object: &'a Object) -> Self {
        Members::within(object, "")
    }

    fn within(object: &'a Object, prefix: &'static str) -> Self {
        Members { object, prefix, faults: Violations::new() }
    }

    /// The errors, if there are any.
    pub(crate) fn finish(self) -> Result<(), ApiError> {
        if self.faults.is_empty() { Ok(()) } else { Err(self.faults.into()) }
    }

    fn value(&self, name: &str) -> Option<&'a Json> {
        self.object.get(name).filter(|value| **value != Json::Null)
    }

    pub(crate) fn fault(&mut self, name: &str, fault: ValidationIssue) {
        self.faults.body(format!("{}{name}", self.prefix), self.object.get(name), fault);
    }

    fn reject(&mut self, name: &str, code: ValidationCode, message: &'static str) {
        self.fault(name, ValidationIssue::new(code, message));
    }

    /// A text of at most `most` characters, trimmed, without control characters; blank is none.
    pub(crate) fn line(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.text(name)?;
        let text: String = text.trim().nfc().filter(|letter| !is_hidden(*letter)).collect();
        if text.chars().count() > most {
            self.fault(name, ValidationIssue::max_length(most));
            return None;
        }
        Some(text).filter(|text| !text.is_empty())
    }

    fn text(&mut self, name: &str) -> Option<&'a str> {
        match self.value(name)? {
            Json::String(text) => Some(text),
            _ => {
                self.fault(name, ValidationIssue::wrong_type("a string"));
                None
            }
        }
    }

    /// A number without fraction, 0 or more.
    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        let read = match self.value(name)? {
            Json::Number(number) if number.is_integer() => number.as_str().parse::<u64>().ok(),
            _ => None,
        };
        if read.is_none() {
            self.fault(name, ValidationIssue::wrong_type("a whole number of at least 0"));
        }
        read
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Json::Bool(flag) => Some(*flag),
            _ => {
                self.fault(name, ValidationIssue::wrong_type("a boolean"));
                None
            }
        }
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<&'a Object> {
        match self.value(name)? {
            Json::Object(object) => Some(object),
            _ => {
                self.fault(name, ValidationIssue::wrong_type("an object"));
                None
            }
        }
    }

    /// A value of -1, 0 or 1.
    pub(crate) fn opinion(&mut self, name: &str) -> Option<i8> {
        let read = match self.value(name) {
            Some(Json::Number(number)) => {
                number.as_str().parse::<i8>().ok().filter(|it| (-1..=1).contains(it))
            }
            _ => None,
        };
        if read.is_none() {
            self.reject(name, ValidationCode::Enum, "must be -1, 0 or 1");
        }
        read
    }

    fn require<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        // A value that is present and wrong already has its error.
        if value.is_none() && self.value(name).is_none() {
            self.fault(name, ValidationIssue::required());
        }
        value
    }

    /// The client's id of a turn: a UUID.
    pub(crate) fn turn(&mut self, name: &str) -> Option<String> {
        let text = self.text(name);
        let text = self.require(name, text)?;
        let is_uuid = text.len() == 36
            && text.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            });
        if !is_uuid {
            self.reject(name, ValidationCode::Format, "must be a UUID");
            return None;
        }
        Some(text.to_ascii_lowercase())
    }

    /// An id of 24 hexadecimal digits.
    pub(crate) fn id<T: std::str::FromStr>(&mut self, name: &str) -> Option<T> {
        let text = self.text(name);
        let read = self.require(name, text)?.parse().ok();
        if read.is_none() {
            self.reject(name, ValidationCode::Format, "must be 24 hexadecimal characters");
        }
        read
    }

    /// The page, with the members that are valid.
    pub(crate) fn page(&mut self) -> Option<ChatPage> {
        let object = self.object("page")?;
        let mut members = Members::within(object, "page.");
        let url = members
            .line("url", 2_000)
            .filter(|url| url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https")));
        let referrer = members.line("referrer", 255);
        let title = clipped(members.text("title"), 200);
        let mut utm = BTreeMap::new();
        if let Some(sent) = members.object("utm") {
            for name in ["source", "medium", "campaign", "term", "content"] {
                let value = clipped(sent.get(name).and_then(Json::as_str), 128);
                utm.extend(value.map(|value| (name.to_owned(), value)));
            }
        }
        self.faults.extend(members.faults);
        Some(ChatPage { url, title, referrer, utm })
    }

    /// The metadata of the page: at most 20 scalars, names of 40 characters, values of 256.
    pub(crate) fn metadata(&mut self) -> RawObject {
        let Some(object) = self.object("metadata") else { return RawObject::default() };
        let mut fields = Object::new();
        for (name, value) in object.iter().take(20) {
            let fits = match value {
                Json::String(text) => text.chars().count() <= 256,
                Json::Bool(_) | Json::Number(_) => true,
                _ => false,
            };
            if fits && (1..=40).contains(&name.chars().count()) {
                fields.insert(name, value.clone());
            }
        }
        RawObject::new(&fields)
    }

    /// The user whom the page names, with the signature of its server.
    pub(crate) fn user(&mut self) -> Option<SentUser> {
        let object = self.object("user")?;
        let mut members = Members::within(object, "user.");
        // Signed values stay as they were sent.
        let exact = |members: &mut Members<'_>, name: &str, most: usize| {
            let text = members.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
            if text.as_ref().is_some_and(|text| text.chars().count() > most) {
                members.fault(name, ValidationIssue::max_length(most));
            }
            text
        };
        let external_reference_id = exact(&mut members, "externalReferenceId", 128);
        let email = exact(&mut members, "email", 254);
        let user = SentUser {
            claims: Claims {
                external_reference_id,
                email,
                name: members.line("name", 200),
                phone: members.line("phone", 40),
            },
            hash: members.line("hash", 128),
        };
        self.faults.extend(members.faults);
        Some(user)
    }

    /// The consent of a lead form.
    pub(crate) fn consent(&mut self, name: &'static str) -> Option<Consent> {
        let object = self.object(name)?;
        let version = object.get("version").and_then(Json::as_str).filter(|it| it.chars().count() <= 40);
        let at = object.get("at").and_then(Json::as_str).and_then(|at| at.parse::<Timestamp>().ok());
        match (version, at) {
            (Some(version), Some(at)) => Some(Consent { version: version.to_owned(), at }),
            _ => {
                self.reject(name, ValidationCode::Format, "must have version and at");
                None
            }
        }
    }

    /// The solution of a challenge: salt and nonce.
    pub(crate) fn challenge(&mut self) -> Option<(String, String)> {
        let object = self.object("challenge")?;
        let part = |name: &str| object.get(name).and_then(Json::as_str).map(str::to_owned);
        Some((part("salt")?, part("nonce")?))
    }

    /// Up to five files of this visitor.
    pub(crate) fn uploads(&mut self) -> Vec<FileId> {
        let Some(value) = self.value("uploads") else { return Vec::new() };
        let Json::Array(values) = value else {
            self.fault("uploads", ValidationIssue::wrong_type("an array"));
            return Vec::new();
        };
        if values.len() > 5 {
            self.reject("uploads", ValidationCode::MaxItems, "must have at most 5 elements");
            return Vec::new();
        }
        let ids: Option<Vec<FileId>> =
            values.iter().map(|value| value.as_str().and_then(|id| id.parse().ok())).collect();
        if ids.is_none() {
            self.reject("uploads", ValidationCode::Format, "must hold ids of uploads");
        }
        ids.unwrap_or_default()
    }

    /// Whether the honeypot is filled in.
    pub(crate) fn is_honeypot(&self) -> bool {
        self.object.get("hp").is_some_and(|value| !matches!(value, Json::Null) && value.as_str() != Some(""))
    }

    /// The visitor's message: several lines, in NFC, trimmed.
    pub(crate) fn message(&mut self, may_be_empty: bool) -> String {
        let text: String = self.text("text").unwrap_or_default().nfc().collect();
        let text = text.trim();
        let count = text.chars().count();
        if count > MESSAGE_CHARS {
            self.fault("text", ValidationIssue::max_length(MESSAGE_CHARS));
        } else if count == 0 && !may_be_empty && self.faults.is_empty() {
            self.fault("text", ValidationIssue::required());
        } else if text.chars().any(|letter| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t')) {
            self.fault("text", ValidationIssue::invalid_characters());
        }
        text.to_owned()
    }
}

/// Whether the page stores the token only while its tab is open. Such a token is short-lived.
pub(crate) fn is_of_tab(body: &Object) -> bool {
    body.get("persist").and_then(Json::as_str) == Some("session")
}

/// The user whom a page names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SentUser {
    pub(crate) claims: Claims,
    pub(crate) hash: Option<String>,
}

/// The first characters of a text that may be longer than the limit.
fn clipped(text: Option<&str>, most: usize) -> Option<String> {
    let text: String = text?.trim().nfc().filter(|letter| !is_hidden(*letter)).take(most).collect();
    Some(text).filter(|text| !text.is_empty())
}

/// Control characters, and those that change the direction of the text after them.
fn is_hidden(letter: char) -> bool {
    letter.is_control() || turns_text(letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi_core::json::parse;

    fn read(text: &str) -> Object {
        match parse(text.as_bytes()) {
            Ok(Json::Object(object)) => object,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn faults_name_their_member() {
        let body = read(
            r#"{"id":"x","text":5,"page":{"url":"javascript:alert(1)","title":7},"uploads":["a"],"value":2}"#,
        );
        let mut members = Members::new(&body);
        assert_eq!(members.turn("id"), None);
        assert_eq!(members.message(false), "");
        assert_eq!(members.page().and_then(|page| page.url), None);
        assert!(members.uploads().is_empty());
        assert_eq!(members.opinion("value"), None);
        let fields: Vec<&str> = members.faults.listed().iter().map(|fault| fault.field.as_str()).collect();
        assert_eq!(fields, ["id", "text", "page.title", "uploads", "value"]);
    }

    #[test]
    fn what_hides_is_taken_out_of_names() {
        let body = read("{\"user\":{\"name\":\"Zo\u{202e}e\\u0007\",\"email\":\" A@b \"}}");
        let user = Members::new(&body).user().expect("a user");
        assert_eq!(user.claims.name.as_deref(), Some("Zoe"));
        assert_eq!(user.claims.email.as_deref(), Some(" A@b "), "what was hashed stays as it was sent");
    }

    #[test]
    fn a_message_is_trimmed_and_counted_in_characters() {
        let long = "é".repeat(4_000);
        let body = read(&format!("{{\"text\":\"  {long}\\n \"}}"));
        let mut members = Members::new(&body);
        assert_eq!(members.message(false), long);
        assert!(members.faults.is_empty());
        let body = read(&format!("{{\"text\":\"{long}x\"}}"));
        let mut members = Members::new(&body);
        members.message(false);
        assert_eq!(members.faults.total(), 1);
    }
}
