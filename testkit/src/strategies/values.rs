//! Strategies for values.

use proptest::prelude::*;
use proptest::string::string_regex;

use openapi_core::json::{Json, Object, parse};
use openapi_core::values::{
    AgentId, Block, ContactId, ContactStatus, Date, Email, ExternalId, Line, Phone, PhoneCode, Tag,
    TextValue, Timestamp,
};

/// A strategy from a regular expression known to be valid.
fn regex(pattern: &str) -> impl Strategy<Value = String> + use<> {
    string_regex(pattern).unwrap_or_else(|error| unreachable!("{pattern}: {error}"))
}

/// Retains the texts that a type accepts.
fn parsed<T: TextValue + std::fmt::Debug>(texts: impl Strategy<Value = String>) -> impl Strategy<Value = T> {
    texts.prop_filter_map("not a value", |text| T::parse(&text).ok())
}

/// Text of 1 to `most` characters without control characters: ASCII, accents, combining marks, other scripts, emoji,
/// wildcards, quotes and hostile pieces.
pub fn text(most: usize) -> impl Strategy<Value = String> {
    let character = prop_oneof![
        8 => regex("[a-zA-Z]"),
        3 => regex("[0-9 ._-]"),
        2 => regex("[%_*'\"\\\\;]"),
        2 => regex("[éëßÅøİıñ]"),
        1 => regex("[Ж中あア가ع]"),
        1 => Just("e\u{301}".to_owned()),
        1 => Just("👩\u{200d}🔬".to_owned()),
        1 => super::hostile::piece(),
    ];
    proptest::collection::vec(character, 1..=most.clamp(1, 12))
        .prop_map(move |parts| parts.concat().chars().take(most).collect())
}

/// A single line.
pub fn line<const MAX: usize>() -> impl Strategy<Value = Line<MAX>> {
    parsed(text(MAX))
}

/// A block of lines.
pub fn block<const MAX: usize>() -> impl Strategy<Value = Block<MAX>> {
    parsed(proptest::collection::vec(text(20), 1..4).prop_map(|lines| lines.join("\n")))
}

/// A tag from a small set, so that contacts share tags.
pub fn tag() -> impl Strategy<Value = Tag> {
    parsed(prop_oneof![3 => regex("(vip|VIP|new|late|Élan)"), 1 => text(20)])
}

/// An email address.
pub fn email() -> impl Strategy<Value = Email> {
    let local = regex("[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,8}(\\.[a-z0-9]{1,4}){0,2}");
    let domain =
        prop_oneof![4 => regex("[a-z]{1,8}\\.(com|de|co\\.uk)"), 1 => Just("bücher.example".to_owned())];
    parsed((local, domain).prop_map(|(local, domain)| format!("{local}@{domain}")))
}

/// A telephone number.
pub fn phone() -> impl Strategy<Value = Phone> {
    parsed(regex("[0-9]{2,4}[ ()./-]{0,2}[0-9]{1,9}"))
}

/// A country calling code.
pub fn phone_code() -> impl Strategy<Value = PhoneCode> {
    parsed(regex("\\+?[1-9][0-9]{0,3}"))
}

/// An external id of a contact.
pub fn external_id() -> impl Strategy<Value = ExternalId> {
    parsed(
        prop_oneof![4 => regex("crm-[0-9]{1,4}"), 2 => text(40), 1 => regex("[0-9a-f]{24}"), 1 => regex("[a-z/%+?#. ]{1,10}")],
    )
}

/// An agent id.
pub fn agent_id() -> impl Strategy<Value = AgentId> {
    parsed(regex("[A-Za-z0-9_-]{1,64}"))
}

/// A platform id of a contact.
pub fn contact_id() -> impl Strategy<Value = ContactId> {
    any::<[u8; 12]>().prop_map(ContactId::from_bytes)
}

/// A status.
pub fn status() -> impl Strategy<Value = ContactStatus> {
    proptest::sample::select(&ContactStatus::ALL[..])
}

/// A date of birth that is never in the future.
pub fn date() -> impl Strategy<Value = Date> {
    (1875..2020_i32, 1..=12_u32, 1..=28_u32)
        .prop_map(|(year, month, day)| format!("{year:04}-{month:02}-{day:02}"))
        .prop_filter_map("not a date", |text| Date::parse(&text).ok())
}

/// An instant between the years 1970 and 2100.
pub fn timestamp() -> impl Strategy<Value = Timestamp> {
    (0..4_102_444_800_000_i64).prop_map(Timestamp::from_millis)
}

/// The text of a JSON number within the contract's bounds.
pub fn number_text() -> impl Strategy<Value = String> {
    regex("-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
}

/// Any JSON value of at most `depth` levels that `customFields` accepts.
pub fn json(depth: u32) -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        number_text().prop_map(|text| parse(text.as_bytes()).unwrap_or(Json::Null)),
        text(20).prop_map(Json::String),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            proptest::collection::vec((key(), inner), 0..4)
                .prop_map(|members| Json::Object(members.into_iter().collect::<Object>())),
        ]
    })
}

/// A key of `customFields`.
pub(super) fn key() -> impl Strategy<Value = String> {
    prop_oneof![4 => regex("[a-z]{1,6}"), 1 => text(16)]
        .prop_filter("not a key", |key| !key.contains('.') && !key.starts_with('$'))
}
