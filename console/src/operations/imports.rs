//! Import of contacts from a file. Nothing of the file is stored: each call brings it whole, and does a bounded piece.

use encoding_rs::Encoding;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object, json_object, parse};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::schema::ContactSchema;
use openapi_core::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use openapi_core::values::{AgentId, Line};
use serde_json::{Value, json};

use super::contacts::metadata;
use crate::auth::limits::too_many;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::failed;
use crate::imports::dry::{self, ImportLine};
use crate::imports::file::{Column, ImportFile, MAX_BYTES, Scan};
use crate::imports::guess::Guess;
use crate::imports::permits::Permit;
use crate::imports::run::{self, RefusedLine};
use crate::imports::tally::Effect;
use crate::imports::{Columns, Given, Header, parse_delimiter, parse_encoding};
use crate::input::{Content, Member, input};
use crate::operation::{Metadata, Operation, Traits};

/// The fields of the columns, in their order.
#[derive(Clone, Debug)]
pub struct Assigned(Vec<Option<String>>);

impl Member for Assigned {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        let wrong = || ValidationIssue::wrong_type("a JSON array of names of fields and null");
        let Json::Array(items) = value else { return Err(wrong()) };
        let field = |item: &Json| match item {
            Json::Null => Ok(None),
            Json::String(name) => Ok(Some(name.clone())),
            _ => Err(wrong()),
        };
        items.iter().map(field).collect::<Result<_, _>>().map(Assigned)
    }

    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        let wrong = || ValidationIssue::wrong_type("a JSON array of names of fields and null");
        Assigned::read(&parse(text.as_bytes()).map_err(|_| wrong())?)
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

/// The delimiter of CSV.
#[derive(Clone, Copy, Debug)]
pub struct Delimiter(u8);

impl Member for Delimiter {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        Delimiter::read_text(value.as_str().unwrap_or_default())
    }

    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        let wrong =
            |_| ValidationIssue::new(ValidationCode::Format, "must be one character, such as , ; | or TAB");
        parse_delimiter(text).map(Delimiter).map_err(wrong)
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

/// The encoding of text.
#[derive(Clone, Copy, Debug)]
pub struct Charset(&'static Encoding);

impl Member for Charset {
    fn read(value: &Json) -> Result<Self, ValidationIssue> {
        Charset::read_text(value.as_str().unwrap_or_default())
    }

    fn read_text(text: &str) -> Result<Self, ValidationIssue> {
        let wrong = |message| ValidationIssue::new(ValidationCode::Format, message);
        parse_encoding(text).map(Charset).map_err(wrong)
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

input! {
    /// A file with contacts.
    PreviewFile {
        "agent" Path agent: AgentId,
        "fileName" Query file_name: Line<255> { "description": "Its extension names the format; otherwise the content does." },
        "mapping" Query mapping: Option<Assigned> { "description": "The fields of the columns of a table, as a JSON array: `[\"primaryEmail\",null,\"customFields.plan\"]`; `null` leaves a column out. Without it, the answer has the columns with a guess for each." },
        "delimiter" Query delimiter: Option<Delimiter> { "description": "The delimiter of CSV, if it cannot be detected: one character, or `tab`." },
        "encoding" Query encoding: Option<Charset> { "description": "The encoding of text, if it cannot be detected, such as `windows-1252`." },
        "sheet" Query sheet: Option<Line<31>> { "description": "The sheet of a workbook; else the first visible one with cells." },
        "content" Content content: Content { "description": "CSV, NDJSON, a JSON array or an Excel workbook (.xlsx), up to 10 MiB and 100,000 lines, as application/octet-stream." },
    }
}

input! {
    /// A file with contacts, and how many of its lines are done.
    RunFile {
        "agent" Path agent: AgentId,
        "fileName" Query file_name: Line<255> { "description": "Its extension names the format; otherwise the content does." },
        "mapping" Query mapping: Option<Assigned> { "description": "As in `contacts.previewImport`; a table needs it." },
        "after" Query after: Option<u64> { "description": "How many lines earlier calls have done: `done` of the last answer." },
        "delimiter" Query delimiter: Option<Delimiter> { "description": "As in `contacts.previewImport`." },
        "encoding" Query encoding: Option<Charset> { "description": "As in `contacts.previewImport`." },
        "sheet" Query sheet: Option<Line<31>> { "description": "As in `contacts.previewImport`." },
        "content" Content content: Content { "description": "The whole file, as in `contacts.previewImport`." },
    }
}

/// A column of a table.
pub struct ColumnView {
    column: Column,
    custom: Option<String>,
}

json_object! { ColumnView as "ImportColumn" = |it| {
    "name": String { "description": "What the first row says." } = it.column.name,
    "field": Option<String> { "description": "The field of the mapping, else a guess: by the names and labels of fields, and by what other programs call them." } = it.column.field,
    "custom": Option<String> { "description": "The custom field that the column can become, if the contact schema accepts fields that are not declared." } = it.custom,
    "samples": Vec<String> { "description": "Up to three of its values, cut off after 80 characters." } = it.column.samples,
} }

/// Why lines are refused.
pub struct ReasonView {
    reason: String,
    lines: u64,
}

json_object! { ReasonView as "ImportReason" = |it| {
    "reason": String = it.reason,
    "lines": u64 { "description": "How many lines are refused for it." } = it.lines,
} }

/// What an import would do.
pub struct ImportPreview {
    read_as: Option<String>,
    columns: Vec<ColumnView>,
    lines: u64,
    run: Option<dry::DryRun>,
}

impl ImportPreview {
    fn count(&self, effect: Effect) -> u64 {
        self.run.as_ref().map_or(0, |run| run.tally.count(effect))
    }

    fn listed(&self, effect: Effect) -> &[ImportLine] {
        self.run.as_ref().map_or(&[], |run| &run.listed[effect as usize])
    }

    fn reasons(&self) -> Vec<ReasonView> {
        let reasons = self.run.iter().flat_map(|run| run.refusals.reasons());
        reasons.map(|(reason, lines)| ReasonView { reason, lines }).collect()
    }
}

json_object! { ImportPreview as "ImportPreview" = |it| {
    "readAs": Option<String> { "description": "How a table was read: delimiter and encoding, or the sheet." } = it.read_as,
    "columns": Vec<ColumnView> { "description": "The columns of a table; empty for JSON." } = it.columns,
    "lines": u64 { "description": "How many contacts the file has." } = it.lines,
    "isChecked": bool { "description": "Whether each line was run dry: a table needs a mapping for that. If not, all that follows is empty." } = it.run.is_some(),
    "created": u64 = it.count(Effect::Created),
    "updated": u64 = it.count(Effect::Updated),
    "unchanged": u64 = it.count(Effect::Unchanged),
    "refused": u64 { "description": "The four numbers add up to `lines`." } = it.count(Effect::Refused),
    "createdLines": [ImportLine] { "description": "The first 100 that create a contact." } = *it.listed(Effect::Created),
    "updatedLines": [ImportLine] { "description": "The first 100 that update one." } = *it.listed(Effect::Updated),
    "unchangedLines": [ImportLine] { "description": "The first 100 that change nothing." } = *it.listed(Effect::Unchanged),
    "refusedLines": [ImportLine] { "description": "The first 100 that are refused." } = *it.listed(Effect::Refused),
    "reasons": Vec<ReasonView> { "description": "The reasons of all refused lines, the most frequent first." } = it.reasons(),
    "effects": str { "description": "A letter for each line: `c` creates, `u` updates, `=` changes nothing, `r` is refused." } = *it.run.as_ref().map_or("", |run| run.tally.letters()),
    "refusedHeader": String { "description": "The first row of the refused lines as CSV, with the column `reason`." } = it.run.as_ref().map_or_else(String::new, |run| run.refusals.header()),
    "refusedRows": str { "description": "Their other rows." } = *it.run.as_ref().map_or("", |run| run.refusals.rows()),
    "hasAllRefused": bool { "description": "Whether the rows are all refused lines. They end after 12 MiB." } = it.run.as_ref().is_none_or(|run| run.refusals.is_whole()),
} }

/// What a call has imported.
pub struct ImportProgress {
    lines: u64,
    done: u64,
    piece: run::Piece,
}

json_object! { ImportProgress as "ImportProgress" = |it| {
    "lines": u64 { "description": "How many contacts the file has." } = it.lines,
    "done": u64 { "description": "How many lines are done, those of earlier calls included." } = it.done,
    "isComplete": bool { "description": "Whether all lines are done. If not, send the file again with `after`." } = it.piece.is_last,
    "created": u64 { "description": "What this call has done. The four numbers add up to the lines of this call." } = it.piece.tally.count(Effect::Created),
    "updated": u64 = it.piece.tally.count(Effect::Updated),
    "unchanged": u64 = it.piece.tally.count(Effect::Unchanged),
    "refused": u64 = it.piece.tally.count(Effect::Refused),
    "refusedLines": Vec<RefusedLine> { "description": "The first 100 lines that this call has refused." } = it.piece.listed,
    "effects": str { "description": "A letter for each line of this call, as in the preview." } = *it.piece.tally.letters(),
    "refusedHeader": String { "description": "The first row of the refused lines as CSV, with the column `reason`." } = it.piece.refusals.header(),
    "refusedRows": str { "description": "The rows of the lines that this call has refused." } = *it.piece.refusals.rows(),
    "hasAllRefused": bool { "description": "Whether the rows are all of them." } = it.piece.refusals.is_whole(),
} }

/// What both operations need: the file, and the schema by which it is read.
struct Opened<'a> {
    file: ImportFile,
    schema: ContactSchema,
    columns: Columns,
    scan: Scan,
    _permit: Permit<'a>,
}

/// Reads a file to its end.
async fn open<'a>(
    cx: &Context<'a>,
    agent: &AgentId,
    (file_name, content): (Line<255>, Content),
    mapping: Option<Assigned>,
    given: Given,
) -> Result<Opened<'a>, ApiError> {
    if content.0.len() > MAX_BYTES {
        let text = format!(
            "The file exceeds {} MiB; divide it, or import it with openapi-server contacts import",
            MAX_BYTES >> 20
        );
        let error = ApiError::new(ErrorCode::PayloadTooLarge, text);
        return Err(error.with_detail("limit", u32::try_from(MAX_BYTES).unwrap_or(u32::MAX)));
    }
    let busy = || too_many("Other imports are running; this one can follow", 2);
    let permit = cx.console.shared.imports.take().ok_or_else(busy)?;
    let schema = Admin::contact_schema(&**cx.platform(), agent).await.map_err(failed)?;
    let columns = Columns::of(&schema);
    let mapping = mapping.map(|mapping| checked(mapping, &columns)).transpose()?;
    let file = ImportFile { name: file_name.to_string(), content: content.0, given, mapping };
    let scan = file.scan(&columns).await?;
    Ok(Opened { file, schema, columns, scan, _permit: permit })
}

fn bad_mapping(issue: ValidationIssue) -> ApiError {
    Violations::from(ValidationError::new(Location::Query, "mapping", None, issue)).into()
}

/// The mapping with the exact names of fields.
fn checked(Assigned(mapping): Assigned, columns: &Columns) -> Result<Vec<Option<String>>, ApiError> {
    let header = Header::unmapped(columns);
    let mut fields: Vec<Option<String>> = Vec::new();
    for (at, name) in mapping.into_iter().enumerate() {
        let field = name.map(|name| header.named(&name)).transpose().map_err(|message| {
            bad_mapping(ValidationIssue::new(
                ValidationCode::Unknown,
                format!("column {}: {message}", at + 1),
            ))
        })?;
        if let Some(other) = fields.iter().position(|known| known.is_some() && *known == field) {
            let field = field.unwrap_or_default();
            let text = format!("has {field} for column {} and for column {}", other + 1, at + 1);
            return Err(bad_mapping(ValidationIssue::new(ValidationCode::Duplicate, text)));
        }
        fields.push(field);
    }
    if fields.iter().all(Option::is_none) {
        return Err(bad_mapping(ValidationIssue::new(
            ValidationCode::Required,
            "must assign a column to a field",
        )));
    }
    Ok(fields)
}

fn given(delimiter: Option<Delimiter>, encoding: Option<Charset>, sheet: Option<Line<31>>) -> Given {
    Given {
        delimiter: delimiter.map(|delimiter| delimiter.0),
        encoding: encoding.map(|encoding| encoding.0),
        sheet: sheet.map(|sheet| sheet.to_string()),
        prefix: "the option ",
    }
}

/// `contacts.previewImport`
pub struct Preview;

impl Operation for Preview {
    const METADATA: Metadata = Metadata {
        traits: Traits::READ,
        ..metadata(
            "contacts.previewImport",
            "Reads a file with contacts, and says of each line what its import would do. Changes nothing.",
            (Method::Post, "/agents/{agent}/contacts/imports"),
            Capability::ContactsBulk,
            &[],
            "",
        )
    };
    type Input = PreviewFile;
    type Output = ImportPreview;

    async fn run(cx: Context<'_>, input: PreviewFile) -> Result<Reply<ImportPreview>, ApiError> {
        let given = given(input.delimiter, input.encoding, input.sheet);
        let file = (input.file_name, input.content);
        let Opened { file, schema, mut scan, _permit, .. } =
            open(&cx, &input.agent, file, input.mapping, given).await?;
        let custom =
            |column: &Column| Guess::custom(&column.name).filter(|_| schema.allow_undeclared_custom_fields);
        let columns = std::mem::take(&mut scan.columns);
        let columns: Vec<ColumnView> =
            columns.into_iter().map(|column| ColumnView { custom: custom(&column), column }).collect();
        let (read_as, lines) = (scan.described.take(), scan.lines);
        let run = if columns.is_empty() || file.mapping.is_some() {
            Some(dry::check(&file, scan, cx.platform(), cx.actor, &schema).await?)
        } else {
            None
        };
        Ok(Reply::ok("File read successfully", ImportPreview { read_as, columns, lines, run }))
    }
}

/// `contacts.runImport`
pub struct Run;

impl Operation for Run {
    const METADATA: Metadata = metadata(
        "contacts.runImport",
        "Imports a piece of a file with contacts: up to 5,000 lines or 3 s. A line that is done, sent again, changes nothing where its contact occurs once in the file.",
        (Method::Post, "/agents/{agent}/contacts/imports/run"),
        Capability::ContactsBulk,
        &[AuditAction::ContactImport],
        "contacts import FILE --agent AGENT",
    );
    type Input = RunFile;
    type Output = ImportProgress;

    async fn run(cx: Context<'_>, input: RunFile) -> Result<Reply<ImportProgress>, ApiError> {
        let (agent, after) = (&input.agent, input.after.unwrap_or_default());
        let given = given(input.delimiter, input.encoding, input.sheet);
        let file = (input.file_name, input.content);
        let Opened { file, columns, scan, _permit, .. } =
            open(&cx, agent, file, input.mapping, given).await?;
        if file.mapping.is_none() && !scan.columns.is_empty() {
            return Err(bad_mapping(ValidationIssue::required()));
        }
        let platform = cx.platform();
        // An import of several calls is one entry; each contact that changes has its own.
        if after == 0 {
            let mut details = Object::new();
            details.insert("lines", scan.lines.into());
            let (action, resource) = (AuditAction::ContactImport, Some(agent.to_string()));
            platform.note(cx.actor, action, Some(agent), resource, &details).await?;
        }
        let piece = run::run(&file, &columns, platform, cx.actor, agent, after).await?;
        let done = after.min(scan.lines) + piece.tally.total();
        Ok(Reply::ok("Lines imported successfully", ImportProgress { lines: scan.lines, done, piece }))
    }
}
