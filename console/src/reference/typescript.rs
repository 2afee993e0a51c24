//! The types of the console for a client in TypeScript.

use std::fmt::Write;

use openapi_core::reply::ErrorCode;
use serde_json::{Map, Value};

use super::named;
use crate::capability::{Capability, Role};
use crate::input::Position;
use crate::operation::{Access, Entry};
use crate::operations::OPERATIONS;

/// `dashboard/src/generated/operations.ts`.
#[must_use]
pub fn typescript() -> String {
    let mut text = String::from(
        "// Generated from the table of operations (console/src/operations). Do not edit: \
         UPDATE=1 cargo test -p console --test generated\n\n",
    );
    union(&mut text, "Capability", Capability::ALL.iter().map(|it| it.as_str()));
    union(&mut text, "Role", Role::ALL.iter().map(|it| it.as_str()));
    let codes = ErrorCode::CONSOLE.iter().chain(ErrorCode::ALL).map(|code| code.as_str());
    union(&mut text, "ErrorCode", codes);
    for (name, schema) in named() {
        let _ = writeln!(text, "export type {name} = {};\n", type_of(&schema, 0));
    }
    text.push_str("/** Input and output of each operation. */\nexport interface Operations {\n");
    for entry in OPERATIONS {
        let _ = writeln!(
            text,
            "  /** {} */\n  '{}': {{ input: {}; output: {} }};",
            entry.metadata.summary,
            entry.metadata.name,
            input_of(entry),
            type_of(&(entry.output)().0, 1),
        );
    }
    text.push_str(
        "}\n\nexport interface Operation {\n  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';\n  \
         readonly path: string;\n  readonly query: readonly string[];\n  \
         readonly body: 'none' | 'json' | 'content';\n  readonly scope: 'public' | 'own' | 'agent' | 'installation';\n  \
         readonly needs: Capability | null;\n  readonly stepUp: boolean;\n  readonly versioned: boolean;\n  \
         readonly secret: boolean;\n  readonly changes: boolean;\n  readonly command: string;\n}\n\n\
         export const operations: { readonly [Name in keyof Operations]: Operation } = {\n",
    );
    for entry in OPERATIONS {
        text.push_str(&row(entry));
    }
    text.push_str("};\n");
    text
}

fn union<'a>(text: &mut String, name: &str, words: impl Iterator<Item = &'a str>) {
    let words: Vec<String> = words.map(|word| format!("'{word}'")).collect();
    let _ = writeln!(text, "export type {name} =\n  | {};\n", words.join("\n  | "));
}

fn row(entry: &Entry) -> String {
    let metadata = entry.metadata;
    let (scope, needs) = match metadata.access {
        Access::Public => ("public", None),
        Access::SignedIn => ("own", None),
        Access::Agent(capability) => ("agent", Some(capability)),
        Access::Installation(capability) => ("installation", Some(capability)),
    };
    let members = (entry.members)();
    let of = |wanted: Position| {
        let found = members.iter().filter(|(position, ..)| *position == wanted);
        found.map(|(_, name, ..)| format!("'{name}'")).collect::<Vec<_>>()
    };
    let body = match (of(Position::Content).is_empty(), of(Position::Body).is_empty()) {
        (false, _) => "content",
        (true, false) => "json",
        (true, true) => "none",
    };
    let needs = needs.map_or("null".to_owned(), |capability| format!("'{capability}'"));
    format!(
        "  '{}': {{\n    method: '{}', path: '{}', query: [{}], body: '{body}',\n    scope: '{scope}', needs: {needs}, \
         stepUp: {}, versioned: {}, secret: {},\n    changes: {}, command: '{}',\n  }},\n",
        metadata.name,
        metadata.method.as_str(),
        metadata.path,
        of(Position::Query).join(", "),
        metadata.step_up,
        metadata.traits.is_versioned,
        metadata.traits.has_secret,
        metadata.changes(),
        metadata.command,
    )
}

fn input_of(entry: &Entry) -> String {
    let members = (entry.members)();
    if members.is_empty() {
        return "Record<string, never>".to_owned();
    }
    let members = members.iter().map(|(position, name, required, schema)| {
        let kind = if *position == Position::Content { "Blob".to_owned() } else { type_of(schema, 1) };
        format!("{name}{}: {kind}", if *required { "" } else { "?" })
    });
    format!("{{ {} }}", members.collect::<Vec<_>>().join("; "))
}

/// The TypeScript type of a JSON Schema.
fn type_of(schema: &Value, depth: usize) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or("unknown").to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string().replace('"', "'");
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| value.to_string().replace('"', "'")).collect();
        return values.join(" | ");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let choices: Vec<String> = choices.iter().map(|choice| type_of(choice, depth)).collect();
        return choices.join(" | ");
    }
    match &schema["type"] {
        Value::Array(names) => {
            let types = names.iter().map(|name| {
                let mut one = schema.clone();
                one["type"] = name.clone();
                type_of(&one, depth)
            });
            types.collect::<Vec<_>>().join(" | ")
        }
        Value::String(name) => named_type(name, schema, depth),
        _ => "unknown".to_owned(),
    }
}

fn named_type(name: &str, schema: &Value, depth: usize) -> String {
    match name {
        "string" => "string".to_owned(),
        "integer" | "number" => "number".to_owned(),
        "boolean" => "boolean".to_owned(),
        "null" => "null".to_owned(),
        "array" => format!("readonly ({})[]", type_of(&schema["items"], depth)),
        _ => match schema["properties"].as_object() {
            Some(members) => object(members, schema, depth),
            None => match &schema["additionalProperties"] {
                additional @ Value::Object(_) => {
                    format!("Readonly<Record<string, {}>>", type_of(additional, depth))
                }
                _ => "Readonly<Record<string, unknown>>".to_owned(),
            },
        },
    }
}

fn object(members: &Map<String, Value>, schema: &Value, depth: usize) -> String {
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let indent = "  ".repeat(depth + 1);
    let mut text = String::from("{\n");
    for (name, member) in members {
        if let Some(description) = member["description"].as_str() {
            let _ = writeln!(text, "{indent}/** {} */", description.replace("*/", "*\\/"));
        }
        let mark = if required(name) { "" } else { "?" };
        let _ = writeln!(text, "{indent}readonly {name}{mark}: {};", type_of(member, depth + 1));
    }
    text.push_str(&"  ".repeat(depth));
    text.push('}');
    text
}
