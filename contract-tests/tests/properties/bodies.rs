//! Contact bodies: valid, nearly valid, and arbitrary.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Text of unusual characters, mostly short.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z0-9 éß.,@+-]{0,12}",
        2 => "\\PC{0,8}",
        1 => vec(any::<char>(), 0..6).prop_map(String::from_iter),
        1 => select(vec!["", " ", "\n", "\u{0}", "é", "İ", "𝒳", "a\u{301}", "null", "true", "7", "\u{feff}", "\u{2028}", "$a", "a.b", "<x>"]).prop_map(str::to_owned),
        1 => (select(vec!["x", "é", "𝒳", " "]), select(vec![24_usize, 29, 30, 31, 32, 33, 50, 51, 63, 64, 65, 100, 101, 254, 255, 256, 1_000, 1_001]))
            .prop_map(|(text, count)| text.repeat(count)),
    ]
}

/// Any JSON value, small.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => text().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => (-1e9..1e9_f64).prop_map(|number| json!(number)),
        1 => select(vec![json!(0), json!(1.0), json!(-0.0), json!(1e308), json!(9_007_199_254_740_993_i64)]),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn email() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => ("[a-zA-Z0-9]{1,8}([.+_-][a-z0-9]{1,4})?", select(vec!["example.com", "EXAMPLE.org", "bücher.example", "xn--bcher-kva.example", "a.b.co"]))
            .prop_map(|(local, domain)| format!("{local}@{domain}")),
        1 => select(vec!["a@b", "a@@b.co", "a b@c.de", "a@b.co.", "@b.co", "a@b_c.de", " a@b.co ", "é@é.é"]).prop_map(str::to_owned),
        1 => text(),
    ]
}

fn date() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (1870..2030_u32, 1..13_u32, 1..29_u32).prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}")),
        1 => (1870..2030_u32, 0..15_u32, 0..33_u32).prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}")),
        1 => (1990..2020_u32).prop_map(|y| format!("{y}-05-17T00:00:00.000Z")),
        1 => text(),
    ]
}

fn timestamp() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (2000..2030_u32, 1..13_u32, 1..29_u32, 0..24_u32, 0..60_u32, select(vec!["Z", "z", "+00:00", "-11:30", "+14:00", ".5Z", ".123456Z"]))
            .prop_map(|(y, m, d, h, s, zone)| format!("{y:04}-{m:02}-{d:02}T{h:02}:00:{s:02}{zone}")),
        1 => select(vec!["2026-01-31", "2026-01-31T09:15:02", "2026-02-30T00:00:00Z", "2016-12-31T23:59:60Z"]).prop_map(str::to_owned),
        1 => text(),
    ]
}

fn phone() -> impl Strategy<Value = String> {
    prop_oneof![4 => "\\+?[0-9 ()./-]{1,20}", 1 => select(vec!["+44 20 7946", "+49 1", "12"]).prop_map(str::to_owned), 1 => text()]
}

fn texts<S: Strategy<Value = String> + 'static>(strategy: S) -> BoxedStrategy<Value> {
    strategy.prop_map(Value::from).boxed()
}

/// A value for a standard field, mostly of its type.
pub fn standard_value(name: &str) -> BoxedStrategy<Value> {
    let own = match name {
        "primaryEmail" => texts(email()),
        "dob" => texts(date()),
        "lastContactedAt" => texts(timestamp()),
        "primaryPhone" => texts(phone()),
        "primaryPhoneCode" => texts("\\+?[0-9 -]{0,6}"),
        "status" => {
            texts(select(vec!["active", "inactive", "blocked", "Active", "", "gone"]).prop_map(str::to_owned))
        }
        "tags" => prop_oneof![
            vec(text().prop_map(Value::from), 0..5).prop_map(Value::from),
            vec(any_json(), 0..3).prop_map(Value::from),
            (95..105_usize).prop_map(|count| json!(vec!["x"; count])),
        ]
        .boxed(),
        _ => texts(text()),
    };
    prop_oneof![10 => own, 1 => Just(Value::Null), 1 => any_json()].boxed()
}

/// The writable standard fields other than `customFields`.
pub const STANDARD: [&str; 15] = [
    "externalReferenceId",
    "salutation",
    "firstName",
    "middleName",
    "lastName",
    "dob",
    "gender",
    "primaryEmail",
    "primaryPhone",
    "primaryPhoneCode",
    "fullAddress",
    "tags",
    "status",
    "source",
    "lastContactedAt",
];

/// A few of a contact's members, each as often valid as not.
pub fn standard_members() -> impl Strategy<Value = Map<String, Value>> {
    let members: Vec<_> = STANDARD
        .iter()
        .map(|name| {
            let weight = if *name == "primaryEmail" { 0.9 } else { 0.25 };
            option::weighted(weight, standard_value(name).prop_map(move |value| ((*name).to_owned(), value)))
        })
        .collect();
    (members, option::weighted(0.1, (text(), any_json())), any::<prop::sample::Index>()).prop_map(
        |(members, unknown, at)| {
            let mut members: Vec<(String, Value)> = members.into_iter().flatten().chain(unknown).collect();
            let turn = if members.is_empty() { 0 } else { at.index(members.len()) };
            members.rotate_left(turn);
            members.into_iter().collect()
        },
    )
}

/// A body that creates or changes a contact, valid about half of the time.
pub fn body() -> impl Strategy<Value = Value> {
    let custom = prop_oneof![
        4 => vec(("[a-z]{1,3}|\\PC{0,3}", any_json()), 0..5).prop_map(|members| Value::Object(members.into_iter().collect())),
        1 => (98..103_usize).prop_map(|count| Value::Object((0..count).map(|n| (format!("k{n}"), json!(n))).collect())),
        1 => any_json(),
    ];
    (standard_members(), option::weighted(0.4, custom)).prop_map(|(mut members, custom)| {
        if let Some(custom) = custom {
            members.insert("customFields".into(), custom);
        }
        Value::Object(members)
    })
}
