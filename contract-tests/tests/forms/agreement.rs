//! The engine and the published JSON Schema agree (contract 2.3.1): the schema accepts what the engine accepts, and
//! vice versa for all rules that JSON Schema can express. The oracle is an independent validator.

use contract_tests::{Backend, Sandbox, story};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::{Value, json};
use testkit::strategies::{Reach, form_data, template_definition};

use crate::support::{ask, contact, get, submit_path};

/// The settings of a property: `cases` unless the environment overrides it.
pub fn config(cases: u32) -> Config {
    let default = Config::default();
    let chosen = if default.cases == 256 { cases } else { default.cases };
    Config { cases: chosen, failure_persistence: None, max_shrink_iters: 4_000, ..default }
}

/// The published schema of a template; formats are asserted unless the contract narrows the rule.
fn published(cx: &Sandbox, template: &str) -> Validator {
    let reply = get(cx, &format!("/forms/templates/{template}/schema/chatbots/<A>")).expect(200);
    let schema = &reply.data()["jsonSchema"];
    assert!(jsonschema::meta::is_valid(schema), "{schema}");
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .with_format("idn-email", |_: &str| true)
        .with_format("iri", |_: &str| true)
        .build(schema)
        .expect("a schema")
}

fn faults(validator: &Validator, data: &Value) -> Vec<String> {
    validator.iter_errors(data).map(|fault| format!("{fault} at {}", fault.instance_path())).collect()
}

fn sandbox() -> Sandbox {
    let cx = Sandbox::new(Backend::Memory);
    let _ = contact(&cx, "crm-1001");
    cx
}

/// A definition with data for it.
fn cases(reach: Reach) -> impl Strategy<Value = (Value, Vec<Value>)> {
    template_definition(reach).prop_flat_map(|definition| {
        let data = proptest::collection::vec(form_data(&definition["fields"]), 1..12);
        (Just(definition), data)
    })
}

/// An active template of the definition; `None` if no answer could satisfy it.
fn template(cx: &Sandbox, definition: &Value) -> Option<String> {
    let created = cx.try_template(&cx.agent, definition).ok()?;
    let id = created.id.to_string();
    let _ = cx.activate_template(&id);
    Some(id)
}

/// The engine's validation errors; `None` if it accepts the data.
fn judged(cx: &Sandbox, template: &str, data: &Value) -> Vec<Value> {
    let call = ask(cx, "POST", &format!("{}?dryRun=1", submit_path(template)));
    let reply = call.json(&json!({ "formData": data })).send();
    if reply.status == 200 {
        Vec::new()
    } else {
        reply.json["validationErrors"].as_array().expect("errors").clone()
    }
}

/// The outcomes seen by the whole property, which must cover both.
#[derive(Debug, Default)]
struct Met {
    templates: usize,
    accepted: usize,
    refused: usize,
}

#[test]
fn the_schema_accepts_what_the_engine_accepts() {
    let cx = sandbox();
    let met = std::cell::RefCell::new(Met::default());
    proptest!(config(300), |((definition, data) in cases(Reach::Whole))| {
        let Some(template) = template(&cx, &definition) else { return Ok(()) };
        let validator = published(&cx, &template);
        met.borrow_mut().templates += 1;
        for data in &data {
            if judged(&cx, &template, data).is_empty() {
                met.borrow_mut().accepted += 1;
                let faults = faults(&validator, data);
                prop_assert!(faults.is_empty(), "accepted, but the schema says {faults:?}\n{data}\n{definition}");
            } else {
                met.borrow_mut().refused += 1;
            }
        }
    });
    let met = met.borrow();
    assert!(met.templates > 0 && met.accepted > 0 && met.refused > 0);
}

/// Text that the engine measures differently: blank text counts as unanswered, and control characters have no keyword.
fn has_oddities(data: &Value) -> bool {
    match data {
        Value::String(text) => text.trim().is_empty() || text.contains(char::is_control),
        Value::Array(items) => items.iter().any(has_oddities),
        Value::Object(members) => members.values().any(has_oddities),
        _ => false,
    }
}

#[test]
fn the_engine_accepts_what_the_schema_accepts() {
    let cx = sandbox();
    let met = std::cell::RefCell::new(Met::default());
    proptest!(config(300), |((definition, data) in cases(Reach::Expressible))| {
        let Some(template) = template(&cx, &definition) else { return Ok(()) };
        let validator = published(&cx, &template);
        met.borrow_mut().templates += 1;
        for data in data.iter().filter(|data| !has_oddities(data)) {
            let errors = judged(&cx, &template, data);
            if faults(&validator, data).is_empty() {
                met.borrow_mut().accepted += 1;
                prop_assert!(errors.is_empty(), "the schema accepts, but the engine says {errors:?}\n{data}\n{definition}");
            } else {
                met.borrow_mut().refused += 1;
                prop_assert!(!errors.is_empty(), "the engine accepts what the schema rejects\n{data}\n{definition}");
            }
        }
    });
    let met = met.borrow();
    assert!(met.templates > 0 && met.accepted > 0 && met.refused > 0);
}

/// Whether answering the examples requires a file.
fn needs_a_file(fields: &Value) -> bool {
    fields
        .as_array()
        .into_iter()
        .flatten()
        .any(|field| (field["type"] == "file" && field["required"] == true) || needs_a_file(&field["fields"]))
}

/// The `formData` of the legacy structure is accepted when sent back, unless a file is required; `structure` names
/// every top-level field.
#[test]
fn examples_pass_when_they_are_sent_back() {
    let cx = sandbox();
    let accepted = std::cell::Cell::new(0);
    proptest!(config(300), |(definition in template_definition(Reach::Whole))| {
        let Some(template) = template(&cx, &definition) else { return Ok(()) };
        let reply = get(&cx, &format!("/forms/templates/{template}/structure/chatbots/<A>")).expect(200);
        let names = |value: &Value| value.as_object().map(|members| members.keys().cloned().collect::<Vec<_>>());
        let fields: Vec<String> = definition["fields"].as_array().expect("fields").iter()
            .map(|field| field["name"].as_str().expect("a name").to_owned()).collect();
        prop_assert_eq!(names(&reply.data()["structure"]), Some(fields));
        if needs_a_file(&definition["fields"]) {
            return Ok(());
        }
        let data = &reply.data()["formData"];
        let errors = judged(&cx, &template, data);
        prop_assert!(errors.is_empty(), "{errors:?}\n{data}\n{definition}");
        prop_assert!(faults(&published(&cx, &template), data).is_empty());
        accepted.set(accepted.get() + 1);
    });
    assert!(accepted.get() > 0);
}

/// The same for the templates of the story.
#[test]
fn the_templates_of_the_story() {
    let cx = sandbox();
    for definition in [story::intake(), story::feedback()] {
        let template = template(&cx, &definition).expect("accepted");
        let reply = get(&cx, &format!("/forms/templates/{template}/structure/chatbots/<A>")).expect(200);
        assert_eq!(judged(&cx, &template, &reply.data()["formData"]), Vec::<Value>::new());
        assert!(!faults(&published(&cx, &template), &json!({})).is_empty());
    }
}
