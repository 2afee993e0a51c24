//! `contacts import`: creates or updates contacts, line by line, several at a time.

use std::collections::HashSet;
use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::admin::{Admin, AdminError, Imported};
use openapi_core::contacts::Contact;
use openapi_core::json::{Json, Object, parse};
use openapi_core::platform::Platform;
use openapi_core::service::{
    ContactListQuery, CreateContact, Created, ListContacts, OpenApiService, PageRequest, PageStart,
};
use openapi_core::values::AgentId;
use serde::Serialize;
use tokio::task::JoinSet;

use super::csv::Columns;
use super::format::Format;
use crate::assemble::Contents;
use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::error::CliError;
use crate::ports::monotonic;

/// Contacts written at the same time, so that they share the store's syncs.
const MAX_CONCURRENT_WRITES: usize = 64;

/// The longest line; longer than any valid contact.
const MAX_LINE_LENGTH: usize = 2 * 1024 * 1024;

/// Maximum number of invalid lines listed in JSON.
const MAX_LISTED_ERRORS: usize = 1_000;

/// The result of an import.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    created: u64,
    updated: u64,
    unchanged: u64,
    failed: u64,
    errors: Vec<BadLine>,
}

#[derive(Debug, Serialize)]
struct BadLine {
    line: u64,
    message: String,
}

/// A line: its number, and its contact or the problem with it.
type Line = (u64, Result<Object, String>);

/// Imports a file.
pub fn run(context: &CommandContext, agent: AgentId, file: &Path, format: Format) -> Result<(), CliError> {
    let input = input::open(context, file)?;
    let mut summary = Summary::default();
    context.with_platform(Contents::Closed, async |platform| {
        let columns = Columns::of(&Admin::contact_schema(&**platform, &agent).await?);
        let mut import = Import::new(context, Arc::clone(platform), agent, !context.json());
        match format {
            Format::Ndjson => import.all(ndjson(input)).await?,
            Format::Csv => import.all(csv_lines(input, &columns)?).await?,
        }
        summary = import.finish().await;
        Ok(())
    })?;
    if context.json() {
        context.print_json(&summary)?;
    } else {
        let Summary { created, updated, unchanged, failed, .. } = summary;
        context.print(&format!(
            "created {created}, updated {updated}, unchanged {unchanged}, failed {failed}\n"
        ))?;
    }
    match summary.failed {
        0 => Ok(()),
        1 => Err(CliError::new("1 line was not imported")),
        failed => Err(CliError::new(format!("{failed} lines were not imported"))),
    }
}

struct Import<'c> {
    context: &'c CommandContext,
    platform: Arc<Platform>,
    agent: AgentId,
    by: Actor,
    running: JoinSet<(u64, Identity, Result<Imported, String>)>,
    /// Contacts being written. A second line about the same contact waits, so that the later line wins.
    identities: HashSet<Identity>,
    summary: Summary,
    progress: Progress<'c>,
    reports_bad_lines: bool,
}

impl<'c> Import<'c> {
    fn new(
        context: &'c CommandContext,
        platform: Arc<Platform>,
        agent: AgentId,
        reports_bad_lines: bool,
    ) -> Self {
        Import {
            context,
            platform,
            agent,
            by: context.operator(),
            running: JoinSet::new(),
            identities: HashSet::new(),
            summary: Summary::default(),
            progress: Progress::new(context),
            reports_bad_lines,
        }
    }

    async fn all(&mut self, lines: impl Iterator<Item = std::io::Result<Line>>) -> Result<(), CliError> {
        for line in lines {
            let (number, contact) = match line {
                Ok(line) => line,
                Err(error) => {
                    // Finish and report the lines that were started, so that the file can be fixed from here on.
                    self.drain().await;
                    return Err(CliError::new(format!("cannot read on: {error}")));
                }
            };
            match contact {
                Err(message) => self.bad(number, message),
                Ok(contact) => self.begin(number, contact).await,
            }
        }
        Ok(())
    }

    async fn begin(&mut self, number: u64, contact: Object) {
        let identity = Identity::of(&contact);
        while self.running.len() >= MAX_CONCURRENT_WRITES || self.identities.contains(&identity) {
            self.join_one().await;
        }
        self.identities.insert(identity.clone());
        let (platform, by, agent) = (Arc::clone(&self.platform), self.by.clone(), self.agent.clone());
        self.running.spawn(async move {
            let imported = import(&platform, &by, &agent, &identity, &contact).await;
            (number, identity, imported.map_err(|error| message_of(&error)))
        });
    }

    async fn join_one(&mut self) {
        match self.running.join_next().await {
            Some(Ok((number, identity, imported))) => {
                self.identities.remove(&identity);
                match imported {
                    Ok(Imported::Created(_)) => self.summary.created += 1,
                    Ok(Imported::Updated(_)) => self.summary.updated += 1,
                    Ok(Imported::Unchanged(_)) => self.summary.unchanged += 1,
                    Err(message) => self.bad(number, message),
                }
                self.progress.report(&self.summary);
            }
            // A panic; the panic hook has logged its location.
            Some(Err(error)) => self.bad(0, format!("an internal error: {error}")),
            None => {}
        }
    }

    fn bad(&mut self, line: u64, message: String) {
        self.summary.failed += 1;
        if self.reports_bad_lines {
            self.progress.clear();
            self.context.error(&format!("line {line}: {message}"));
        }
        if self.summary.errors.len() < MAX_LISTED_ERRORS {
            self.summary.errors.push(BadLine { line, message });
        }
    }

    async fn drain(&mut self) {
        while !self.running.is_empty() {
            self.join_one().await;
        }
    }

    async fn finish(mut self) -> Summary {
        self.drain().await;
        self.progress.clear();
        self.summary.errors.sort_by_key(|bad| bad.line);
        self.summary
    }
}

/// What identifies a contact within the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    External(String),
    Email(String),
}

impl Identity {
    fn of(contact: &Object) -> Self {
        let text = |name| contact.get(name).and_then(Json::as_str);
        match text("externalReferenceId") {
            Some(id) => Identity::External(id.to_owned()),
            None => Identity::Email(text("primaryEmail").unwrap_or_default().to_lowercase()),
        }
    }
}

/// Imports one contact. A contact without an external id is created, unless an identical contact without an external
/// id exists.
async fn import(
    platform: &Platform,
    by: &Actor,
    agent: &AgentId,
    identity: &Identity,
    contact: &Object,
) -> Result<Imported, AdminError> {
    if let Identity::Email(_) = identity
        && let Some(same) = same_contact(platform, by, agent, contact).await
    {
        return Ok(Imported::Unchanged(same));
    }
    platform.import_contact(by, agent, contact).await
}

/// A stored contact that differs from the new one only in fields that the service sets. Errors are ignored here: the
/// creation reports them.
async fn same_contact(platform: &Platform, by: &Actor, agent: &AgentId, contact: &Object) -> Option<Contact> {
    let caller = Caller {
        agent_id: agent.clone(),
        actor: by.clone(),
        permissions: Permissions::all(),
        address: None,
        request_id: String::new(),
    };
    let dry_run = CreateContact { fields: contact.clone().into(), dry_run: true, idempotency: None };
    let Ok(Created::Preview(preview)) = platform.create_contact(&caller, dry_run).await else { return None };
    for page in 1.. {
        let query = ContactListQuery {
            primary_email: Some(preview.primary_email.clone()),
            page: PageRequest { limit: 100, start: PageStart::Page(page) },
            ..ContactListQuery::default()
        };
        let found = platform.list_contacts(&caller, ListContacts { query: query.into() }).await.ok()?;
        let same = found.items.into_iter().find(|stored| {
            let stored_as_preview = Contact {
                id: preview.id,
                created_at: preview.created_at,
                updated_at: preview.updated_at,
                version: preview.version,
                ..stored.clone()
            };
            stored_as_preview == preview
        });
        if same.is_some() || !found.pagination.has_next_page {
            return same;
        }
    }
    None
}

/// The message of an error, without duplicates.
fn message_of(error: &AdminError) -> String {
    let AdminError::Invalid(violations) = error else { return error.to_string() };
    let mut messages: Vec<&str> = Vec::new();
    for violation in violations.listed() {
        if !messages.contains(&violation.message.as_str()) {
            messages.push(&violation.message);
        }
    }
    messages.join("; ")
}

/// The lines of an NDJSON file; empty lines are skipped.
fn ndjson(mut input: impl BufRead) -> impl Iterator<Item = std::io::Result<Line>> {
    let mut number = 0;
    std::iter::from_fn(move || {
        loop {
            let line = match read_line(&mut input) {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            };
            number += 1;
            let Some(text) = line else {
                return Some(Ok((number, Err(format!("is longer than {MAX_LINE_LENGTH} bytes")))));
            };
            if text.trim_ascii().is_empty() {
                continue;
            }
            let contact = match parse(&text) {
                Ok(Json::Object(contact)) => Ok(contact),
                Ok(_) => Err("is not a JSON object".to_owned()),
                Err(error) => Err(format!("is not JSON: {error} at column {}", error.column())),
            };
            return Some(Ok((number, contact)));
        }
    })
}

/// One line without its line feed; the inner `None` is a line that is too long and was skipped.
#[expect(clippy::option_option, reason = "the end of the file, or a line that may be too long")]
fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    let mut any = false;
    let mut too_long = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            return Ok(any.then(|| (!too_long).then_some(line)));
        }
        any = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        too_long |= line.len() + part.len() > MAX_LINE_LENGTH;
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some((!too_long).then_some(line)));
        }
    }
}

/// The rows of a CSV file after the first, each with the number of its first line.
fn csv_lines<'a>(
    input: Box<dyn BufRead + Send>,
    columns: &'a Columns,
) -> Result<impl Iterator<Item = std::io::Result<Line>> + 'a, CliError> {
    // Every row ends with a line feed, so its last line is the one before the reader's position.
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(input.chain(&b"\n"[..]));
    let names: Vec<String> =
        reader.headers()?.iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
    if names.iter().all(String::is_empty) {
        return Err(CliError::new("the first line of the CSV file names no fields"));
    }
    let mut record = csv::StringRecord::new();
    Ok(std::iter::from_fn(move || {
        loop {
            match reader.read_record(&mut record) {
                Ok(false) => return None,
                Ok(true) if record.iter().all(|cell| cell.trim().is_empty()) => {}
                Ok(true) => {
                    let inner = record.iter().map(|cell| cell.matches('\n').count()).sum::<usize>();
                    let number = reader.position().line().saturating_sub(1 + inner as u64);
                    return Some(Ok((number, columns.contact(&names, &record))));
                }
                Err(error) => {
                    return Some(match error.position().map(csv::Position::line) {
                        Some(number) => Ok((number, Err(format!("is not CSV: {error}")))),
                        None => Err(error.into()),
                    });
                }
            }
        }
    }))
}

/// Reports the progress of the import on standard error.
struct Progress<'c> {
    context: &'c CommandContext,
    is_terminal: bool,
    every: Duration,
    reported: Instant,
    shown: bool,
}

impl<'c> Progress<'c> {
    fn new(context: &'c CommandContext) -> Self {
        let is_terminal = context.facts().is_error_terminal;
        let every = if is_terminal { Duration::from_millis(200) } else { Duration::from_secs(5) };
        Progress { context, is_terminal, every, reported: monotonic(), shown: false }
    }

    fn report(&mut self, summary: &Summary) {
        let now = monotonic();
        if now.duration_since(self.reported) < self.every {
            return;
        }
        self.reported = now;
        self.shown = true;
        let done = summary.created + summary.updated + summary.unchanged;
        let text = format!("{done} imported, {} failed", summary.failed);
        let line = if self.is_terminal { format!("\r{text}\x1b[K") } else { format!("{text}\n") };
        self.context.write_error(&line);
    }

    fn clear(&mut self) {
        if self.is_terminal && self.shown {
            self.context.write_error("\r\x1b[K");
        }
        self.shown = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_long_ones_passed_over() {
        let long = format!("\"{}\"", "x".repeat(MAX_LINE_LENGTH));
        let text = format!("{{\"a\":1}}\r\n\n[]\n{long}\n{{\n{{}}");
        let lines: Vec<_> = ndjson(text.as_bytes()).map(Result::unwrap).collect();
        let shown: Vec<_> = lines.iter().map(|(number, contact)| (*number, contact.is_ok())).collect();
        assert_eq!(shown, [(1, true), (3, false), (4, false), (5, false), (6, true)]);
    }
}
