//! `contacts import`: creates or updates contacts, line by line, several at a time.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::console::imports::{self, Columns, Given, Header, Identity, Line, Mapping, Source, import, message_of};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, Imported};
use openapi_core::json::Object;
use openapi_core::platform::Platform;
use openapi_core::values::AgentId;
use serde::Serialize;
use tokio::task::JoinSet;

use super::format::ImportFormat;
use crate::assemble::Contents;
use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::error::CliError;
use crate::ports::monotonic;

/// Contacts written at the same time, so that they share the store's syncs.
const MAX_CONCURRENT_WRITES: usize = 64;

/// Maximum number of invalid lines listed in JSON.
const MAX_LISTED_ERRORS: usize = 1_000;

/// The result of an import.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    /// How a table was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
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

/// Imports a file.
pub fn run(
    context: &CommandContext,
    agent: AgentId,
    file: &Path,
    format: Option<ImportFormat>,
    given: &Given,
    mappings: &[Mapping],
) -> Result<(), CliError> {
    let mut source = open(context, file, format, given, mappings)?;
    let mut summary = Summary::default();
    let mut stopped = None;
    context.with_platform(Contents::Closed, async |platform| {
        let columns = Columns::of(&Admin::contact_schema(&**platform, &agent).await?);
        let header = Header::new(&columns, mappings).map_err(CliError::usage)?;
        let mut lines = source.lines(&columns, &header).map_err(CliError::new)?;
        let mut import = Import::new(context, Arc::clone(platform), agent, !context.json());
        stopped = import.all(&mut lines).await.err();
        summary = Summary { source: lines.described(), ..import.finish().await };
        Ok(())
    })?;
    if context.json() {
        context.print_json(&summary)?;
    } else {
        let Summary { source, created, updated, unchanged, failed, .. } = &summary;
        if let Some(source) = source {
            context.info(&format!("read as {source}"));
        }
        context.print(&format!(
            "created {created}, updated {updated}, unchanged {unchanged}, failed {failed}\n"
        ))?;
    }
    match (stopped, summary.failed) {
        // What was read was imported, so that the file can be fixed from there on.
        (Some(error), _) => Err(CliError::new(format!("cannot read on: {error}"))),
        (None, 0) => Ok(()),
        (None, 1) => Err(CliError::new("1 line was not imported")),
        (None, failed) => Err(CliError::new(format!("{failed} lines were not imported"))),
    }
}

/// Opens the file.
fn open(
    context: &CommandContext,
    file: &Path,
    format: Option<ImportFormat>,
    given: &Given,
    mappings: &[Mapping],
) -> Result<Source, CliError> {
    let format = match format {
        Some(format) => format.of_file(),
        None => imports::ImportFormat::of(file)
            .map_err(|reason| CliError::usage(format!("{} {reason}", file.display())))?
            .ok_or_else(|| {
                CliError::usage(format!(
                    "the name of {} does not say what it is; give --format csv, xlsx, ndjson or json",
                    file.display()
                ))
            })?,
    };
    let is_csv = format == imports::ImportFormat::Csv;
    let is_sheet = format == imports::ImportFormat::Xlsx;
    for (flag, is_given, applies, to) in [
        ("--delimiter", given.delimiter.is_some(), is_csv, "CSV"),
        ("--encoding", given.encoding.is_some(), !is_sheet, "text"),
        ("--sheet", given.sheet.is_some(), is_sheet, "Excel workbooks"),
        ("--map", !mappings.is_empty(), is_csv || is_sheet, "CSV and Excel workbooks"),
    ] {
        if is_given && !applies {
            return Err(CliError::usage(format!("{flag} applies to {to}")));
        }
    }
    let name = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
    Source::read(input::open(context, file)?, name, format, given).map_err(CliError::new)
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

    /// Begins the import of every line, up to the first that cannot be read.
    async fn all(&mut self, lines: impl Iterator<Item = std::io::Result<Line>>) -> std::io::Result<()> {
        for line in lines {
            let (number, contact) = line?;
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
            let imported = import(&platform, &by, &agent, &contact).await;
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
