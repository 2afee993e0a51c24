//! Strategies for form templates, and for data that targets them.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// The features that a generated template may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything.
    Whole,
    /// Only what JSON Schema validates exactly as the engine does: no conditions, files, date bounds, addresses, URLs,
    /// phone numbers or patterns.
    Expressible,
}

fn with(mut field: Value, name: &str, value: Value) -> Value {
    field[name] = value;
    field
}

fn rules(pairs: Vec<(&str, Value)>) -> Value {
    let set: Map<String, Value> = pairs
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    if set.is_empty() { Value::Null } else { Value::Object(set) }
}

fn options() -> impl Strategy<Value = Value> {
    (1..4_usize).prop_map(|count| {
        (0..count).map(|at| json!({ "value": format!("o{at}"), "label": format!("Option {at}") })).collect()
    })
}

/// A field without name, condition and nested fields.
fn leaf(reach: Reach) -> BoxedStrategy<Value> {
    let pattern = if reach == Reach::Whole {
        select(vec![Value::Null, json!("^[a-zA-Z]*$"), json!("a")]).boxed()
    } else {
        Just(Value::Null).boxed()
    };
    let text = (select(vec!["text", "textarea"]), option::of(0..4_u32), option::of(4..9_u32), pattern).prop_map(|(kind, least, most, pattern)| {
        json!({ "type": kind, "validation": rules(vec![("minLength", json!(least)), ("maxLength", json!(most)), ("pattern", pattern)]) })
    });
    let number = (select(vec!["number", "integer"]), option::of(-5..5_i32), option::of(5..50_i32), option::of(select(vec![1, 2, 5]))).prop_map(|(kind, least, most, step)| {
        json!({ "type": kind, "validation": rules(vec![("minimum", json!(least)), ("maximum", json!(most)), ("multipleOf", json!(step))]) })
    });
    let moment = select(vec!["date", "time", "datetime"]).prop_map(|kind| json!({ "type": kind }));
    let bounded = select(vec![
        ("date", "2024-01-01", "2025-01-01"),
        ("time", "09:00", "17:00"),
        ("datetime", "2024-01-01T00:00:00Z", "2026-12-31T00:00:00Z"),
    ])
    .prop_map(
        |(kind, least, most)| json!({ "type": kind, "validation": { "minDate": least, "maxDate": most } }),
    );
    let choice = (select(vec!["select", "radio"]), options())
        .prop_map(|(kind, options)| json!({ "type": kind, "options": options }));
    let choices = (select(vec!["multiselect", "checkboxes"]), options(), option::of(0..2_u32), option::of(2..4_u32)).prop_map(|(kind, options, least, most)| {
        // The minimum cannot exceed the number of options.
        json!({ "type": kind, "options": options, "validation": rules(vec![("minItems", json!(least)), ("maxItems", json!(most))]) })
    });
    let file = option::of(1..3_u32)
        .prop_map(|most| json!({ "type": "file", "validation": rules(vec![("maxItems", json!(most))]) }));
    let mut kinds: Vec<(u32, BoxedStrategy<Value>)> = vec![
        (4, text.boxed()),
        (3, number.boxed()),
        (1, Just(json!({ "type": "boolean" })).boxed()),
        (2, moment.boxed()),
        (2, choice.boxed()),
        (2, choices.boxed()),
    ];
    if reach == Reach::Whole {
        let address = select(vec!["email", "phone", "url"]).prop_map(|kind| json!({ "type": kind }));
        kinds.extend([(1, bounded.boxed()), (1, address.boxed()), (1, file.boxed())]);
    }
    let kind = proptest::strategy::Union::new_weighted(kinds);
    (kind, any::<bool>(), any::<bool>())
        .prop_map(|(field, required, sensitive)| {
            with(with(field, "required", json!(required)), "sensitive", json!(sensitive))
        })
        .boxed()
}

/// Fields named `f0`, `f1` and so on, each with a condition if `reach` allows conditions.
fn level(field: BoxedStrategy<Value>, reach: Reach) -> BoxedStrategy<Value> {
    vec((field, option::weighted(0.3, any::<prop::sample::Index>())), 1..5)
        .prop_map(move |fields| {
            let mut level: Vec<Value> = Vec::new();
            for (at, (mut field, condition)) in fields.into_iter().enumerate() {
                field["name"] = json!(format!("f{at}"));
                // A condition on an earlier field cannot form a cycle.
                if let (Some(index), false) = (condition.filter(|_| reach == Reach::Whole), level.is_empty())
                {
                    let controller = &level[index.index(level.len())];
                    let (op, value) = match controller["type"].as_str().unwrap_or_default() {
                        "select" | "radio" => ("equals", json!("o0")),
                        "multiselect" | "checkboxes" => ("contains", json!("o0")),
                        "boolean" => ("notEquals", json!(true)),
                        "integer" | "number" => ("in", json!([0, 3, 4])),
                        _ => ("answered", json!(true)),
                    };
                    field["showIf"] = json!({ "field": controller["name"], "op": op, "value": value });
                }
                level.push(field);
            }
            Value::Array(level)
        })
        .boxed()
}

/// A template definition, as input for [`TemplateDefinition::read`](openapi_core::forms::TemplateDefinition::read).
/// Not every one is accepted: some required fields have no generated example, so their definition lacks one.
pub fn template_definition(reach: Reach) -> impl Strategy<Value = Value> {
    let inner = |field: BoxedStrategy<Value>| {
        let nested = (
            select(vec!["group", "list"]),
            level(field.clone(), reach),
            any::<bool>(),
            option::of(0..2_u32),
            option::of(2..3_u32),
        );
        let nested = nested.prop_map(|(kind, fields, required, least, most)| {
            let set = if kind == "list" {
                rules(vec![("minItems", json!(least)), ("maxItems", json!(most))])
            } else {
                Value::Null
            };
            json!({ "type": kind, "fields": fields, "required": required, "validation": set })
        });
        prop_oneof![4 => field, 1 => nested].boxed()
    };
    let field = inner(inner(leaf(reach)));
    level(field, reach)
        .prop_map(|fields| json!({ "name": "Random", "submissionPolicy": "keepAll", "fields": fields }))
}

/// Any value that some field accepts, or null.
fn value() -> impl Strategy<Value = Value> {
    select(vec![
        json!("o0"),
        json!("o1"),
        json!("o2"),
        json!("abc"),
        json!("ABCdef"),
        json!("abcdefghij"),
        json!("a"),
        json!("a1\nb"),
        json!(" x "),
        json!("a@b.co"),
        json!("+44 20 7946 0999"),
        json!("https://example.com/"),
        json!("2024-02-29"),
        json!("2023-02-29"),
        json!("09:30"),
        json!("17:00:01"),
        json!("2025-06-01T10:00:00+02:00"),
        json!("697d00000000000000000000"),
        json!(0),
        json!(4),
        json!(3.0),
        json!(2.5),
        json!(-7),
        json!(60),
        json!(10),
        json!(true),
        json!(false),
        Value::Null,
        json!([]),
        json!({}),
        json!(["o0"]),
        json!(["o1", "o0"]),
        json!(["o0", "o0"]),
        json!([null]),
        json!([7]),
    ])
}

/// `formData` for the `fields` of a definition: mostly accepted values, some wrong, sometimes more members than
/// fields.
///
/// # Panics
/// If a field has an unknown type.
pub fn form_data(fields: &Value) -> BoxedStrategy<Value> {
    let members: Vec<BoxedStrategy<Option<(String, Value)>>> = fields
        .as_array()
        .into_iter()
        .flatten()
        .map(|field| {
            let name = field["name"].as_str().unwrap_or_default().to_owned();
            option::weighted(0.85, (Just(name), answer(field))).boxed()
        })
        .collect();
    let extra = option::weighted(0.03, ("[a-z]{1,3}", value()));
    (members, extra)
        .prop_map(|(members, extra)| members.into_iter().flatten().chain(extra).collect::<Map<_, _>>().into())
        .boxed()
}

fn answer(field: &Value) -> BoxedStrategy<Value> {
    let rules = &field["validation"];
    let own: BoxedStrategy<Value> = match field["type"].as_str().unwrap_or_default() {
        "text" | "textarea" => {
            select(vec!["abcd", "aXYZ", "abc", "éaoua", "a1b2"]).prop_map(Value::from).boxed()
        }
        "email" => Just(json!("a@b.co")).boxed(),
        "phone" => Just(json!("+44 20 7946 0999")).boxed(),
        "url" => Just(json!("https://example.com/a")).boxed(),
        "number" | "integer" => select(vec![json!(0), json!(5), json!(10), json!(3), json!(4.0)]).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "date" => Just(json!("2024-06-01")).boxed(),
        "time" => select(vec![json!("09:30"), json!("10:00:59")]).boxed(),
        "datetime" => {
            select(vec![json!("2025-06-01T10:00:00+02:00"), json!("2024-06-01T10:00:00.5Z")]).boxed()
        }
        "select" | "radio" => select(vec![json!("o0"), json!("o1"), json!("o0")]).boxed(),
        "multiselect" | "checkboxes" => {
            select(vec![json!(["o0"]), json!(["o0", "o1"]), json!([]), json!(["o1"])]).boxed()
        }
        "file" => Just(Value::Null).boxed(),
        "group" => form_data(&field["fields"]),
        "list" => {
            let least = rules["minItems"].as_u64().unwrap_or(0) as usize;
            vec(form_data(&field["fields"]), least..least + 3).prop_map(Value::Array).boxed()
        }
        other => panic!("a field of type {other}"),
    };
    prop_oneof![12 => own, 1 => value()].boxed()
}
