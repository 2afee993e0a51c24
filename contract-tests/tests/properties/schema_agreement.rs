//! The engine and the published JSON Schema agree (contract 2.1.4, architecture 4): the schema accepts what the engine
//! accepts, and rejects what the engine rejects by a rule that JSON Schema can express. The oracle is an independent
//! validator.

use contract_tests::{Backend, Sandbox};
use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bodies::body;
use crate::schemas::{aimed_body, definition};
use crate::{caller, config};

/// The published schema; formats are asserted unless the contract narrows the rule.
fn validator(schema: &Value) -> Validator {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .with_format("idn-email", |_: &str| true)
        .with_format("iri", |_: &str| true)
        .build(schema)
        .expect("a schema")
}

/// Text that the engine measures differently from the schema: it trims text and removes invisible characters, and text
/// of which nothing remains is `null`.
fn is_padded(text: &str) -> bool {
    text.trim() != text || text.is_empty() || has_invisible(text)
}

/// Whether text may contain characters that the engine removes; the engine removes fewer of them.
fn has_invisible(text: &str) -> bool {
    text.contains(|c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    })
}

/// Whether a text anywhere in a value has invisible characters.
fn has_invisible_text(value: &Value) -> bool {
    match value {
        Value::String(text) => has_invisible(text),
        Value::Array(items) => items.iter().any(has_invisible_text),
        Value::Object(members) => members.values().any(has_invisible_text),
        _ => false,
    }
}

/// Whether the schema counts a text of the body in another form than the engine: a standard text before it is trimmed,
/// and any text with its invisible characters.
fn has_padding(body: &Value) -> bool {
    if body.get("customFields").is_some_and(has_invisible_text) {
        return true;
    }
    let members = body.as_object().into_iter().flatten();
    let mut texts = members.filter(|(name, _)| *name != "customFields");
    texts.any(|(name, value)| match value {
        // Multi-line text is not trimmed, but blank is `null` as well.
        Value::String(text) if name == "fullAddress" => text.trim().is_empty(),
        Value::String(text) => is_padded(text),
        Value::Array(items) => items.iter().filter_map(Value::as_str).any(is_padded),
        _ => false,
    })
}

/// The definition of the field that an error names.
fn field<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    let (list, name) = match path.strip_prefix("customFields.") {
        Some(name) => ("customFields", name),
        None => ("fields", path),
    };
    schema[list].as_array()?.iter().find(|field| field["name"] == name)
}

/// Whether JSON Schema can express the broken rule.
fn is_expressible(schema: &Value, error: &Value) -> bool {
    let path = error["field"].as_str().unwrap_or_default();
    let value = &error["value"];
    let padded = value.as_str().is_some_and(is_padded);
    let top = path.split('[').next().unwrap_or(path);
    let Some(definition) = field(schema, top) else {
        // Neither declared nor standard: only the name itself can be expressed.
        return error["type"] == "unknown";
    };
    let kind = definition["type"].as_str().unwrap_or_default();
    match error["type"].as_str().unwrap_or_default() {
        "type" | "unknown" | "uniqueItems" | "maxProperties" | "maxItems" => true,
        // The published schema has no options for free text.
        "enum" => matches!(kind, "select" | "multiselect"),
        "required" => value.is_null() && !(kind == "object" && path != top),
        // Bytes are not characters.
        "maxLength" => kind != "email" && kind != "phone" && !value.is_number(),
        "minLength" => kind != "tags" && !padded,
        "pattern" => {
            !padded && kind != "phoneCode" && !path.contains(['\u{0}']) && definition["pattern"].is_string()
        }
        "minimum" | "maximum" => {
            matches!(kind, "integer" | "number") && value.as_f64().is_some_and(f64::is_finite)
        }
        "format" => definition["custom"] == true && matches!(kind, "date"),
        _ => false,
    }
}

/// The schema of a sandbox's agent with its validator.
fn published(cx: &Sandbox) -> (Value, Validator) {
    let schema = cx.get("/contacts/schema/chatbots/<A>").expect(200).data().clone();
    let validator = validator(&schema["jsonSchema"]);
    (schema, validator)
}

fn agree(cx: &Sandbox, (schema, validator): &(Value, Validator), body: &Value) -> Result<(), TestCaseError> {
    let call = cx.call("POST", "/contacts/chatbots/<A>?dryRun=true").as_caller(caller(cx)).json(body);
    let reply = call.send();
    let faults: Vec<String> =
        validator.iter_errors(body).map(|fault| format!("{} at {}", fault, fault.instance_path())).collect();
    if reply.status == 200 {
        prop_assert!(
            faults.is_empty() || has_padding(body),
            "accepted, but the schema says {faults:?}\n{body}"
        );
    } else {
        let errors = reply.json["validationErrors"].as_array().cloned().unwrap_or_default();
        prop_assert!(!errors.is_empty(), "{}", reply.text);
        if let Some(error) = errors.iter().find(|error| is_expressible(schema, error)) {
            prop_assert!(!faults.is_empty(), "the schema accepts, but the engine says {error}\n{body}");
        }
    }
    Ok(())
}

#[test]
fn the_built_in_schema() {
    let cx = Sandbox::new(Backend::Memory);
    let published = published(&cx);
    proptest!(config(3_000), |(body in body())| {
        agree(&cx, &published, &body)?;
    });
}

#[test]
fn operators_schemas() {
    proptest!(config(400), |(definition in definition(), bodies in proptest::collection::vec(aimed_body(), 1..12))| {
        let cx = Sandbox::new(Backend::Memory);
        let defined = cx.redefine(&definition);
        prop_assert!(defined.is_ok(), "{definition}: {}", defined.err().map(|error| error.to_string()).unwrap_or_default());
        let published = published(&cx);
        for body in &bodies {
            agree(&cx, &published, body)?;
        }
    });
}

/// Bodies for which engine and schema once disagreed by more than this test allows.
#[test]
fn invisible_text_of_the_built_in_schema() {
    let cx = Sandbox::new(Backend::Memory);
    let published = published(&cx);
    for (name, text) in
        [("lastContactedAt", "\u{feff}"), ("dateOfBirth", "1990-05-17\u{200b}"), ("gender", "\u{ad}")]
    {
        let body = json!({ "primaryEmail": "a@example.com", (name): text });
        agree(&cx, &published, &body).unwrap();
    }
}

/// A fetched record passes the schema that it was created under, and can be sent back as a no-op.
#[test]
fn records_pass_their_own_schema() {
    proptest!(config(300), |(definition in definition(), body in aimed_body())| {
        let cx = Sandbox::new(Backend::Memory);
        cx.define(&definition);
        let reply = cx.call("POST", "/contacts/chatbots/<A>").as_caller(caller(&cx)).json(&body).send();
        if reply.status == 201 {
            let (_, validator) = published(&cx);
            let faults: Vec<String> = validator.iter_errors(reply.data()).map(|fault| fault.to_string()).collect();
            prop_assert!(faults.is_empty(), "{faults:?}\n{}", reply.data());
            let path = format!("/contacts/platformid/{}/chatbots/<A>", reply.id());
            let back = cx.call("PUT", &path).as_caller(caller(&cx)).json(reply.data()).send();
            prop_assert_eq!(back.status, 200, "{}", back.text);
            prop_assert_eq!(back.data(), reply.data());
            prop_assert_eq!(back.header("etag"), reply.header("etag"));
            let read = cx.read(&reply.id());
            prop_assert_eq!(read.data(), reply.data());
        }
    });
}
