//! Valid operator definitions of contact schemas, and bodies that target them.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::bodies::{any_json, standard_members, text};

/// A declared custom field without its name.
fn declared() -> impl Strategy<Value = Value> {
    let lengths = (
        option::of(0..4_u32),
        option::of(4..9_u32),
        option::of(select(vec!["^[a-z]*$", "[0-9]", "^.{0,6}$"])),
    );
    let bounds = (option::of(-5..5_i32), option::of(5..50_i32));
    let kind = prop_oneof![
        (select(vec!["string", "text", "url", "email", "phone", "phoneCode"]), lengths).prop_map(|(kind, (least, most, pattern))| {
            let mut field = json!({ "type": kind });
            if matches!(kind, "string" | "text") {
                field["minLength"] = json!(least);
                field["maxLength"] = json!(most);
                field["pattern"] = json!(pattern);
            }
            field
        }),
        (select(vec!["integer", "number"]), bounds)
            .prop_map(|(kind, (least, most))| json!({ "type": kind, "minimum": least, "maximum": most })),
        select(vec!["boolean", "date", "datetime", "tags", "object"]).prop_map(|kind| json!({ "type": kind })),
        (select(vec!["select", "multiselect"]), 1..4_usize)
            .prop_map(|(kind, count)| json!({ "type": kind, "options": (0..count).map(|n| format!("o{n}")).collect::<Vec<_>>() })),
    ];
    (kind, any::<bool>()).prop_map(|(mut field, required)| {
        field["required"] = json!(required);
        field
    })
}

/// A change to a standard field.
fn change() -> impl Strategy<Value = Value> {
    prop_oneof![
        select(vec![
            "salutation",
            "firstName",
            "lastName",
            "dob",
            "gender",
            "primaryPhone",
            "fullAddress",
            "lastContactedAt",
            "externalReferenceId"
        ])
        .prop_map(|name| json!({ "name": name, "required": true })),
        select(vec!["tags", "status", "source"]).prop_map(|name| json!({ "name": name, "required": true })),
        (select(vec!["salutation", "firstName", "lastName", "fullAddress", "source"]), 3..30_u32)
            .prop_map(|(name, most)| json!({ "name": name, "maxLength": most })),
        Just(json!({ "name": "status", "options": ["active", "blocked"] })),
        Just(json!({ "name": "gender", "options": ["female", "male", "other"] })),
        select(vec!["salutation", "middleName"]).prop_map(|name| json!({ "name": name, "default": "x" })),
    ]
}

/// An accepted definition.
pub fn definition() -> impl Strategy<Value = Value> {
    (vec(change(), 0..4), vec(declared(), 0..4), any::<bool>()).prop_map(|(changes, declared, undeclared)| {
        let mut fields: Vec<Value> = Vec::new();
        for change in changes {
            if fields.iter().all(|known| known["name"] != change["name"]) {
                fields.push(change);
            }
        }
        let custom: Vec<Value> = declared
            .into_iter()
            .enumerate()
            .map(|(at, mut field)| {
                field["name"] = json!(format!("f{at}"));
                field
            })
            .collect();
        // A default that violates the lengths would make its definition invalid.
        json!({ "fields": fields, "customFields": custom, "allowUndeclaredCustomFields": undeclared })
    })
}

/// A value for a declared field of any type.
fn aimed() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => select(vec![
            json!("o0"), json!("o1"), json!("o9"), json!(""), json!("abc"), json!("ABC1"), json!("abcdefghij"), json!("a@b.co"), json!("12345"),
            json!("44"), json!("https://example.com"), json!("2024-02-29"), json!("2023-02-29"), json!("2026-01-31T09:15:02Z"), json!("2026-01-31"),
            json!(0), json!(3), json!(-6), json!(51), json!(2.5), json!(3.0), json!(true), json!(null), json!([]), json!({}), json!(["o0"]),
            json!(["o0", "o0"]), json!(["o0", "o9"]), json!(["o1", "o0"]), json!(["a", "b"]), json!([7]), json!({ "a": 1 }),
        ]),
        1 => any_json(),
        1 => text().prop_map(Value::from),
    ]
}

/// A body for such a schema: members of standard fields and of `f0` to `f3`.
pub fn aimed_body() -> impl Strategy<Value = Value> {
    let custom = prop_oneof![
        6 => vec((select(vec!["f0", "f1", "f2", "f3", "other"]), aimed()), 0..5)
            .prop_map(|members| Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())),
        1 => Just(Value::Null),
        1 => any_json(),
    ];
    (standard_members(), option::weighted(0.8, custom)).prop_map(|(mut members, custom)| {
        if let Some(custom) = custom {
            members.insert("customFields".into(), custom);
        }
        Value::Object(members)
    })
}
