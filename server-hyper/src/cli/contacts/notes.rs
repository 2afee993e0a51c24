//! `contacts note` and `contacts notes`: the console's operations.

use ::console::Command;
use ::console::imports::cell;
use http::Method;
use openapi_core::json::{Json, Object};

use super::Which;
use super::records::{GET, malformed, member, with_desk};
use crate::cli::context::CommandContext;
use crate::cli::output::shortened;
use crate::error::CliError;

const HEADS: [&str; 4] = ["id", "written", "by", "text"];

/// Adds a note.
pub fn add(context: &CommandContext, which: &Which, text: &str) -> Result<(), CliError> {
    with_desk(context, &which.agent, async |desk| {
        let id = desk.id(which).await?;
        let mut body = Object::new();
        body.insert("text", text.into());
        let call = Command { method: &Method::POST, body: Some(&body), ..GET };
        let note = desk.call(&format!("/{id}/notes"), call).await?.data;
        let lines = [("id", part(&note, "id")), ("written", part(&note, "at")), ("by", author(&note))];
        context.print_record(context.json(), &note, &lines)
    })
}

/// Prints all notes on a contact.
pub fn list(context: &CommandContext, which: &Which) -> Result<(), CliError> {
    with_desk(context, &which.agent, async |desk| {
        let id = desk.id(which).await?;
        let mut all = Vec::new();
        let mut query = vec![("limit", "100".to_owned())];
        loop {
            let call = Command { query: &query, ..GET };
            let page = desk.call(&format!("/{id}/notes"), call).await?.data;
            let Some(Json::Array(notes)) = member(&page, "notes") else { return Err(malformed()) };
            all.extend(notes.iter().cloned());
            match member(&page, "next").and_then(Json::as_str) {
                Some(next) => {
                    query.truncate(1);
                    query.push(("after", next.to_owned()));
                }
                None => break,
            }
        }
        context.print_table(context.json(), &all, &HEADS, |note| {
            vec![part(note, "id"), part(note, "at"), author(note), shortened(&part(note, "text"), 80)]
        })
    })
}

fn part(note: &Json, name: &str) -> String {
    member(note, name).map(cell).unwrap_or_default()
}

/// The name of who has written a note, or the id.
fn author(note: &Json) -> String {
    let by = member(note, "by");
    let text = |name| by.and_then(|by| member(by, name)).and_then(Json::as_str);
    text("name").or_else(|| text("id")).unwrap_or_default().to_owned()
}
