//! The pages of the API reference, in Markdown, made from the same table.

use std::fmt::Write;

use openapi_core::operation::{Access, BodyKind, Endpoint};
use openapi_core::reply::ErrorCode;
use openapi_core::service_info::ServiceInfo;
use serde_json::Value;

use crate::table::endpoints;

/// The pages by file name: one for each tag, one for errors, an index.
#[must_use]
pub fn pages(service_info: &ServiceInfo) -> Vec<(String, String)> {
    let mut tags: Vec<&str> = Vec::new();
    for endpoint in endpoints() {
        if !tags.contains(&endpoint.meta.tag) {
            tags.push(endpoint.meta.tag);
        }
    }
    let mut index = String::from(
        "# API reference\n\nMade from the table of endpoints; a test keeps it true.\n\n| Operation | Method | Path | Permission |\n|---|---|---|---|\n",
    );
    let mut pages = Vec::new();
    for tag in tags {
        let file = format!("{}.md", tag.to_lowercase().replace(' ', "-"));
        let mut page = format!("# {tag}\n");
        for endpoint in endpoints().filter(|endpoint| endpoint.meta.tag == tag) {
            let meta = endpoint.meta;
            let permission = match meta.access {
                Access::Public => "none".to_owned(),
                Access::Link => "a signed link".to_owned(),
                Access::Key(permission) => format!("`{permission}`"),
            };
            let path = meta.template(service_info.id_segment());
            let anchor: String =
                meta.summary.to_lowercase().chars().map(|c| if c == ' ' { '-' } else { c }).collect();
            let method = meta.method.as_str();
            // Writing to a string does not fail.
            let _ = writeln!(
                index,
                "| [{}]({file}#{anchor}) | {method} | `{path}` | {permission} |",
                meta.summary
            );
            section(&mut page, endpoint, &path, &permission);
        }
        pages.push((file, page));
    }
    index.push_str("\nErrors: [errors.md](errors.md).\n");
    pages.push(("errors.md".to_owned(), errors()));
    pages.push(("README.md".to_owned(), index));
    pages
}

fn section(page: &mut String, endpoint: &Endpoint, path: &str, permission: &str) {
    let meta = endpoint.meta;
    let _ = write!(
        page,
        "\n## {}\n\n`{} {path}`\n\n{}\n\nPermission: {permission}. ",
        meta.summary,
        meta.method.as_str(),
        meta.description
    );
    let statuses: Vec<String> = meta.success.iter().map(u16::to_string).collect();
    let _ = writeln!(page, "Success: {}.", statuses.join(" or "));
    if !meta.query.is_empty() {
        page.push_str("\n| Query parameter | Value | Meaning |\n|---|---|---|\n");
        for parameter in meta.query {
            let _ = writeln!(
                page,
                "| `{}` | {} | {} |",
                parameter.name,
                value_of(&(parameter.schema)()),
                parameter.description
            );
        }
    }
    if let Some(example) = endpoint.request_example() {
        let _ = write!(page, "\nRequest:\n\n```json\n{}\n```\n", pretty(&example));
    }
    if meta.body == BodyKind::File {
        page.push_str("\nRequest: `multipart/form-data` with one part named `file`.\n");
    }
    if meta.body == BodyKind::Document {
        page.push_str("\nRequest: `multipart/form-data` with the parts `document` and `schema`, and, where wanted, `customInstructions` and `saveToStorage`.\n");
    }
    if meta.body == BodyKind::Documents {
        page.push_str("\nRequest: `multipart/form-data` with a part `document` for each document, or one part `files`, and the other parts of a job.\n");
    }
    if meta.access == Access::Link {
        page.push_str("\nResponse: the content of the file.\n");
    } else {
        let _ = write!(page, "\nResponse:\n\n```json\n{}\n```\n", pretty(&(endpoint.response_example)()));
    }
    let codes: Vec<String> = meta.error_codes().iter().map(|code| format!("`{}`", code.as_str())).collect();
    let _ = write!(page, "\nErrors: {}.\n", codes.join(", "));
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A schema in a few words.
fn value_of(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> =
            values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
        return with_default(values.join(", "), schema);
    }
    let kind = schema["type"].as_str().unwrap_or("string");
    let mut words = match schema["format"].as_str() {
        Some("date-time") => "RFC 3339 timestamp".to_owned(),
        Some("idn-email") => "email address".to_owned(),
        _ => kind.to_owned(),
    };
    if let (Some(least), Some(most)) = (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
        let _ = write!(words, ", {least} to {most}");
    }
    if let Some(most) = schema["maxLength"].as_u64() {
        let _ = write!(words, ", at most {most} characters");
    }
    with_default(words, schema)
}

fn with_default(words: String, schema: &Value) -> String {
    match &schema["default"] {
        Value::Null => words,
        Value::String(default) => format!("{words}; default `{default}`"),
        default => format!("{words}; default `{default}`"),
    }
}

fn errors() -> String {
    let mut page = String::from(
        "# Errors\n\nEvery failure has one envelope: `success` (false), `message`, `code`, `requestId`, and where they apply `validationErrors` and `details`. Treat an unknown code by its HTTP status.\n\n| HTTP | Code | When |\n|---|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let _ = writeln!(page, "| {} | `{}` | {} |", code.status(), code.as_str(), code.when());
    }
    page
}
