//! Strategies for contacts, requests and schemas.

use proptest::option;
use proptest::prelude::*;

use super::values::{self, key};
use openapi_core::contacts::{Contact, ContactFields};
use openapi_core::json::{Json, Object, RawObject};
use openapi_core::schema::FieldType;
use openapi_core::service::{ContactListQuery, PageRequest, PageStart};
use openapi_core::storage::{ContactSort, Order};
use openapi_core::values::{AgentId, Phone, PhoneCode, Tag};

/// An object for `customFields`.
pub fn custom_fields() -> impl Strategy<Value = Object> {
    proptest::collection::vec((key(), values::json(3)), 0..5)
        .prop_map(|members| members.into_iter().collect())
}

/// Distinct tags, as stored.
fn tags() -> impl Strategy<Value = Vec<Tag>> {
    proptest::collection::vec(values::tag(), 0..4).prop_map(|tags| {
        let mut retained: Vec<Tag> = Vec::new();
        for tag in tags {
            if retained.iter().all(|known| known.folded() != tag.folded()) {
                retained.push(tag);
            }
        }
        retained
    })
}

/// A phone number that matches its country code.
fn phones() -> impl Strategy<Value = (Option<Phone>, Option<PhoneCode>)> {
    (option::of(values::phone()), option::of(values::phone_code()))
}

/// The fields of a valid create request under the built-in schema.
pub fn contact_fields() -> impl Strategy<Value = ContactFields> {
    let names = (
        option::of(values::external_id()),
        option::of(values::line::<30>()),
        option::of(values::line::<100>()),
        option::of(values::line::<100>()),
        option::of(values::line::<100>()),
    );
    let person = (option::of(values::date()), option::of(values::line::<50>()), values::email(), phones());
    let rest = (
        option::of(values::block::<1000>()),
        option::of(tags()),
        option::of(values::status()),
        option::of(values::line::<64>()),
        option::of(values::timestamp()),
        option::of(custom_fields()),
    );
    (names, person, rest).prop_map(|(names, person, rest)| ContactFields {
        external_reference_id: names.0.map(Some),
        salutation: names.1.map(Some),
        first_name: names.2.map(Some),
        middle_name: names.3.map(Some),
        last_name: names.4.map(Some),
        dob: person.0.map(Some),
        gender: person.1.map(Some),
        primary_email: Some(Some(person.2)),
        primary_phone: person.3.0.map(Some),
        primary_phone_code: person.3.1.map(Some),
        full_address: rest.0.map(Some),
        tags: rest.1.map(Some),
        status: rest.2.map(Some),
        source: rest.3.map(Some),
        last_contacted_at: rest.4.map(Some),
        custom_fields: rest.5.map(|members| Some(RawObject::new(&members))),
    })
}

/// A create body that is valid except for up to two members, which are wrong, missing or unknown.
pub fn nearly_valid_contact() -> impl Strategy<Value = Object> {
    let names = ContactFields::NAMES.iter().copied().chain(["nickname", "id"]);
    let names = proptest::sample::select(names.collect::<Vec<_>>());
    let wrong = prop_oneof![
        values::json(2),
        Just(Json::Null),
        Just(Json::String(String::new())),
        Just(Json::String("x".repeat(1_001))),
        Just(Json::String("a\u{7}b".to_owned())),
        Just(Json::String("2020-02-30".to_owned())),
        values::text(40).prop_map(Json::String),
        proptest::collection::vec(values::json(1), 0..3).prop_map(Json::Array),
    ];
    let change = (names, option::of(wrong));
    (contact_fields(), proptest::collection::vec(change, 0..3)).prop_map(|(fields, changes)| {
        let mut object = fields.to_object();
        for (name, value) in changes {
            match value {
                Some(value) => {
                    object.insert(name, value);
                }
                None => {
                    object.remove(name);
                }
            }
        }
        object
    })
}

/// A stored contact of an agent.
pub fn contact(agent_id: AgentId) -> impl Strategy<Value = Contact> {
    let times = (values::timestamp(), 0..1_000_000_i64, option::of(0..1_000_i64));
    (values::contact_id(), contact_fields(), times, 1..100_u64).prop_map(
        move |(id, fields, times, version)| {
            let (created_at, age, archived) = times;
            let updated_at = created_at.plus_millis(age);
            let contact = fields.into_contact(id, agent_id.clone(), created_at);
            Contact {
                archived_at: archived.map(|millis| updated_at.plus_millis(-millis)),
                updated_at,
                version,
                ..contact.unwrap_or_else(|| unreachable!("an address is always generated"))
            }
        },
    )
}

/// A valid list query.
pub fn contact_list_query() -> impl Strategy<Value = ContactListQuery> {
    let filters = (
        option::of(values::text(6)),
        option::of(values::status()),
        option::of(values::tag()),
        any::<bool>(),
        option::of(values::email()),
        option::of(values::timestamp()),
        option::of(values::timestamp()),
    );
    let sort = proptest::sample::select(&ContactSort::ALL[..]);
    let order = prop_oneof![Just(Order::Ascending), Just(Order::Descending)];
    (filters, sort, order, 1..=100_u32, 1..4_u64).prop_map(|(filters, sort, order, limit, page)| {
        ContactListQuery {
            search: filters.0.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
            status: filters.1,
            tag: filters.2.map(|tag| tag.folded()),
            include_archived: filters.3,
            primary_email: filters.4,
            created_since: filters.5,
            updated_since: filters.6,
            sort,
            order,
            page: PageRequest { limit, start: PageStart::Page(page) },
        }
    })
}

/// A contact schema definition that an operator may set.
pub fn schema_definition() -> impl Strategy<Value = Object> {
    let flag = || any::<bool>().prop_map(Json::Bool);
    let standard = proptest::sample::subsequence(
        vec!["salutation", "firstName", "lastName", "gender", "dob", "tags", "source"],
        0..4,
    );
    let kinds = FieldType::ALL.map(FieldType::as_str).into_iter().filter(|kind| *kind != "phoneCode");
    let custom = proptest::sample::subsequence(kinds.collect::<Vec<_>>(), 0..6);
    (standard, custom, flag(), proptest::collection::vec(any::<bool>(), 16)).prop_map(
        |(standard, custom, undeclared, flags)| {
            let object = |members: Vec<(&str, Json)>| -> Json {
                Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
            };
            let fields = standard.iter().zip(&flags).map(|(name, required)| {
                object(vec![("name", (*name).into()), ("required", (*required).into())])
            });
            let customs = custom.iter().zip(flags.iter().skip(8)).map(|(kind, required)| {
                let mut members = vec![
                    ("name", format!("own_{kind}").as_str().into()),
                    ("type", (*kind).into()),
                    ("required", (*required).into()),
                ];
                if kind.ends_with("select") {
                    members.push(("options", Json::Array(vec!["a".into(), "b".into(), "c".into()])));
                }
                if *kind == "integer" {
                    members.push(("minimum", Json::from(-5)));
                    members.push(("maximum", Json::from(5)));
                }
                if *kind == "string" {
                    members.push(("maxLength", Json::from(8)));
                }
                object(members)
            });
            [
                ("fields".to_owned(), Json::Array(fields.collect())),
                ("customFields".to_owned(), Json::Array(customs.collect())),
                ("allowUndeclaredCustomFields".to_owned(), undeclared),
            ]
            .into_iter()
            .collect()
        },
    )
}
