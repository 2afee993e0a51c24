//! The bodies of requests about endpoints: members as sent, all errors at once.

use openapi_core::json::{Json, Object, object_schema, schemas};
use openapi_core::ports::{Outbound, OutboundError, OutboundSchemes};
use openapi_core::service::EventFilter;
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use openapi_core::values::{Line, TextValue};
use url::Url;

use super::records::EndpointStatus;
use crate::delivery::Mode;

/// The longest URL, in characters.
const MAX_URL: usize = 2_048;
/// The most names of types.
const MAX_TYPES: usize = 50;

/// Members of the record that a request may repeat: they are ignored.
const RECORD: [&str; 12] = [
    "id",
    "agentId",
    "statusReason",
    "cursor",
    "pending",
    "openFailures",
    "failingSince",
    "lastSuccessAt",
    "lastFailureAt",
    "secretExpiresAt",
    "createdAt",
    "updatedAt",
];

/// From where a new endpoint gets events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Now,
    Oldest,
}

/// With which event an enabled endpoint goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResumeAt {
    Cursor,
    Now,
}

/// What is asked of an endpoint, checked; none where it is not named.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) url: Option<String>,
    pub(crate) types: Option<Vec<String>>,
    pub(crate) mode: Option<Mode>,
    pub(crate) description: Option<Option<String>>,
    pub(crate) from: Option<From>,
    pub(crate) status: Option<EndpointStatus>,
    pub(crate) resume: Option<ResumeAt>,
}

struct Url2048;
struct Types;

schemas! {
    Url2048: { "type": "string", "format": "uri", "maxLength": MAX_URL },
    Types: {
        "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MAX_TYPES, "uniqueItems": true,
    },
}

/// The body of a create.
pub struct NewEndpoint;

object_schema! { NewEndpoint as "NewWebhookEndpoint" { "additionalProperties": false } = {
    "url": Url2048 { "description": "Where events are sent: `https`, without a user name and a fragment." },
    "types" optional: Types { "default": ["*"], "description": "Names of types, `group.*` or `*`." },
    "mode" optional: Mode { "default": "parallel", "description": "`ordered`: one event at a time, none before the one before it is accepted." },
    "description" optional: Option<Line<200>>,
    "from" optional: String { "enum": ["now", "oldest"], "default": "now", "description": "Whether it also gets the events that are in the log." },
} }

/// The body of an edit.
pub struct EndpointChange;

object_schema! { EndpointChange as "WebhookEndpointChanges" {
    "description": "What is to change; members of the record that cannot be changed are ignored."
} = {
    "url" optional: Url2048,
    "types" optional: Types,
    "mode" optional: Mode,
    "description" optional: Option<Line<200>>,
    "status" optional: EndpointStatus,
    "resume" optional: String { "enum": ["cursor", "now"], "description": "With `status` `enabled`: whether events since it was disabled are sent; `cursor` by default." },
} }

impl NewEndpoint {
    pub(crate) fn read(members: &Object, outbound: &dyn Outbound) -> Result<Wanted, Violations> {
        read(members, outbound, true)
    }
}

impl EndpointChange {
    pub(crate) fn read(members: &Object, outbound: &dyn Outbound) -> Result<Wanted, Violations> {
        read(members, outbound, false)
    }
}

/// The body of a request: what was read, and what is wrong.
#[derive(Default)]
struct Reading {
    faults: Violations,
}

impl Reading {
    fn fault(&mut self, name: &str, value: Option<&Json>, fault: ValidationIssue) {
        self.faults.push(ValidationError::new(Location::Body, name, value, fault));
    }

    /// What `check` makes of a text.
    fn text<T>(
        &mut self,
        name: &str,
        value: &Json,
        check: impl FnOnce(&str) -> Result<T, ValidationIssue>,
    ) -> Option<T> {
        let checked = match value {
            Json::Null => Err(ValidationIssue::required()),
            Json::String(text) => check(text),
            _ => Err(ValidationIssue::wrong_type("a string")),
        };
        checked.map_err(|fault| self.fault(name, Some(value), fault)).ok()
    }

    fn word<T: Copy, const N: usize>(
        &mut self,
        name: &str,
        value: &Json,
        words: [(&str, T); N],
    ) -> Option<T> {
        self.text(name, value, |text| {
            let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
            known.ok_or_else(|| ValidationIssue::not_one_of(&words.map(|(word, _)| word)))
        })
    }

    /// A text where `null` and blank are none.
    fn optional<T: TextValue + ToString>(&mut self, name: &str, value: &Json) -> Option<Option<String>> {
        match value {
            Json::Null => Some(None),
            Json::String(text) if text.trim().is_empty() => Some(None),
            value => self.text(name, value, |text| T::parse(text).map(|text| Some(text.to_string()))),
        }
    }

    fn types(&mut self, value: &Json) -> Option<Vec<String>> {
        let items = match value {
            Json::Array(items) if items.is_empty() => {
                let text = "must have at least 1 name";
                self.fault("types", None, ValidationIssue::new(ValidationCode::MinItems, text));
                return None;
            }
            Json::Array(items) if items.len() > MAX_TYPES => {
                let text = format!("must have at most {MAX_TYPES} names");
                self.fault("types", None, ValidationIssue::new(ValidationCode::MaxItems, text));
                return None;
            }
            Json::Array(items) => items,
            Json::Null => {
                self.fault("types", None, ValidationIssue::required());
                return None;
            }
            value => {
                self.fault("types", Some(value), ValidationIssue::wrong_type("an array"));
                return None;
            }
        };
        let mut names: Vec<String> = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let known = &names;
            let name = self.text(&format!("types[{at}]"), item, |text| {
                // A comma separates names in a query alone.
                let one = if text.contains(',') { "," } else { text };
                EventFilter::read(one)?;
                if known.iter().any(|known| known == text) {
                    return Err(ValidationIssue::new(ValidationCode::UniqueItems, "is given twice"));
                }
                Ok(text.to_owned())
            });
            names.extend(name);
        }
        Some(names)
    }

    fn unknown(&mut self, name: &str, value: &Json) {
        let fault = match name.contains('\0') {
            true => ValidationIssue::invalid_characters(),
            false => ValidationIssue::new(ValidationCode::Unknown, "is not a member of this request"),
        };
        self.fault(name, Some(value), fault);
    }
}

fn read(members: &Object, outbound: &dyn Outbound, is_new: bool) -> Result<Wanted, Violations> {
    const STATUSES: [(&str, EndpointStatus); 2] =
        [("enabled", EndpointStatus::Enabled), ("disabled", EndpointStatus::Disabled)];
    let (mut reading, mut wanted) = (Reading::default(), Wanted::default());
    for (name, value) in members.iter() {
        match (name, is_new) {
            ("url", _) => wanted.url = reading.text(name, value, |text| check_url(text, outbound)),
            ("types", _) => wanted.types = reading.types(value),
            ("mode", _) => {
                let modes = [("parallel", Mode::Parallel), ("ordered", Mode::Ordered)];
                wanted.mode = reading.word(name, value, modes);
            }
            ("description", _) => wanted.description = reading.optional::<Line<200>>(name, value),
            ("from", true) => {
                wanted.from = reading.word(name, value, [("now", From::Now), ("oldest", From::Oldest)]);
            }
            ("status", false) => wanted.status = reading.word(name, value, STATUSES),
            ("resume", false) => {
                let ways = [("cursor", ResumeAt::Cursor), ("now", ResumeAt::Now)];
                wanted.resume = reading.word(name, value, ways);
                if members.get("status").and_then(Json::as_str) != Some("enabled") {
                    let text = "is of use with status enabled alone";
                    reading.fault(name, Some(value), ValidationIssue::new(ValidationCode::Conflict, text));
                }
            }
            (name, false) if RECORD.contains(&name) => {}
            (name, _) => reading.unknown(name, value),
        }
    }
    if is_new && members.get("url").is_none() {
        reading.fault("url", None, ValidationIssue::required());
    }
    if reading.faults.is_empty() { Ok(wanted) } else { Err(reading.faults) }
}

/// Checks a URL as a delivery would, but for the addresses of its name. The text does not say which rule refuses it,
/// because rules tell what the operator's network looks like.
fn check_url(text: &str, outbound: &dyn Outbound) -> Result<String, ValidationIssue> {
    let format = |text: &'static str| ValidationIssue::new(ValidationCode::Format, text);
    if text.trim().is_empty() {
        return Err(ValidationIssue::required());
    }
    if text.chars().nth(MAX_URL).is_some() {
        return Err(ValidationIssue::max_length(MAX_URL));
    }
    let url = Url::parse(text).map_err(|_| format("must be an absolute https URL"))?;
    if url.fragment().is_some() || text.chars().any(|character| character.is_control() || character == ' ') {
        return Err(format(
            "must be an absolute https URL without a fragment, spaces and control characters",
        ));
    }
    match outbound.check(text, OutboundSchemes::Https) {
        // Whether anything is sent at all is asked after validation.
        Ok(()) | Err(OutboundError::Unavailable) => Ok(text.to_owned()),
        Err(OutboundError::Refused { rule: "url" | "scheme" | "userinfo", .. }) => {
            Err(format("must be an absolute https URL without a user name"))
        }
        Err(_) => {
            let text = "names a host or a port that this service does not send to";
            Err(ValidationIssue::new(ValidationCode::Reserved, text))
        }
    }
}

/// Reads one number within bounds from a body that may be absent; `name` is its only member.
pub(crate) fn read_number(
    members: &Object,
    name: &'static str,
    most: u32,
    default: u32,
) -> Result<u32, Violations> {
    let (mut reading, mut read) = (Reading::default(), default);
    for (known, value) in members.iter() {
        match value {
            value if known != name => reading.unknown(known, value),
            Json::Null => {}
            Json::Number(number) if number.is_integer() => {
                let value_of = number.as_str().parse::<f64>().unwrap_or(f64::MAX);
                if value_of < 0.0 {
                    reading.fault(
                        name,
                        Some(value),
                        ValidationIssue::new(ValidationCode::Minimum, "must be at least 0"),
                    );
                } else if value_of > f64::from(most) {
                    let text = format!("must be at most {most}");
                    reading.fault(name, Some(value), ValidationIssue::new(ValidationCode::Maximum, text));
                } else {
                    // Whole, and within the bounds.
                    read = value_of as u32;
                }
            }
            value => reading.fault(name, Some(value), ValidationIssue::wrong_type("a whole number")),
        }
    }
    if reading.faults.is_empty() { Ok(read) } else { Err(reading.faults) }
}

/// Reads one text from a body that may be absent; `name` is its only member.
pub(crate) fn read_text<T>(
    members: &Object,
    name: &'static str,
    check: impl Fn(&str) -> Result<T, ValidationIssue>,
) -> Result<Option<T>, Violations> {
    let (mut reading, mut read) = (Reading::default(), None);
    for (known, value) in members.iter() {
        match value {
            value if known != name => reading.unknown(known, value),
            Json::Null => {}
            value => read = reading.text(name, value, &check),
        }
    }
    if reading.faults.is_empty() { Ok(read) } else { Err(reading.faults) }
}

/// A contradiction of one member of the body.
pub(super) fn conflict(name: &str, text: &'static str) -> Violations {
    let fault = ValidationIssue::new(ValidationCode::Conflict, text);
    ValidationError::new(Location::Body, name, None, fault).into()
}
