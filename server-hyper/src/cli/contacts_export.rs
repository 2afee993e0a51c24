//! `contacts export`: all contacts of an agent, page by page.

use std::io::{self, BufWriter, ErrorKind, Write};

use openapi_core::admin::Admin;
use openapi_core::platform::Platform;
use openapi_core::storage::{SortKey, SortPosition};
use openapi_core::values::AgentId;

use super::contacts::Format;
use super::contacts_csv::Columns;
use crate::failure::Failure;

/// Contacts read at a time.
const PAGE: u32 = 500;

/// Prints all contacts.
pub async fn run(platform: &Platform, agent: &AgentId, format: Format) -> Result<(), Failure> {
    let columns = Columns::of(&platform.contact_schema(agent).await?);
    let output = BufWriter::with_capacity(256 * 1024, io::stdout().lock());
    let result = match format {
        Format::Ndjson => write_ndjson(platform, agent, output).await,
        Format::Csv => write_csv(platform, agent, &columns, output).await,
    };
    match result {
        // The reader, such as `head`, has enough.
        Err(WriteError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(WriteError::Output(error)) => Err(error.into()),
        Err(WriteError::Other(failure)) => Err(failure),
        Ok(()) => Ok(()),
    }
}

/// What stops an export.
enum WriteError {
    Output(io::Error),
    Other(Failure),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        WriteError::Output(error)
    }
}

impl<E: Into<Failure>> From<Read<E>> for WriteError {
    fn from(Read(error): Read<E>) -> Self {
        WriteError::Other(error.into())
    }
}

/// An error that is not the output's.
struct Read<E>(E);

async fn write_ndjson(
    platform: &Platform,
    agent: &AgentId,
    mut output: impl Write,
) -> Result<(), WriteError> {
    let mut after = None;
    loop {
        let contacts = platform.export_contacts(agent, after, PAGE).await.map_err(Read)?;
        let Some(last) = contacts.last() else { break };
        after = Some(SortPosition { key: SortKey::Time(last.created_at), id: last.id });
        for contact in &contacts {
            let line = serde_json::to_string(contact).map_err(Read)?;
            writeln!(output, "{line}")?;
        }
    }
    output.flush()?;
    Ok(())
}

async fn write_csv(
    platform: &Platform,
    agent: &AgentId,
    columns: &Columns,
    output: impl Write,
) -> Result<(), WriteError> {
    let mut output = csv::Writer::from_writer(output);
    let written = |result: csv::Result<()>| result.map_err(io::Error::from);
    written(output.write_record(columns.names()))?;
    let mut after = None;
    loop {
        let contacts = platform.export_contacts(agent, after, PAGE).await.map_err(Read)?;
        let Some(last) = contacts.last() else { break };
        after = Some(SortPosition { key: SortKey::Time(last.created_at), id: last.id });
        for contact in &contacts {
            written(output.write_record(columns.cells(contact).map_err(Read)?))?;
        }
    }
    output.flush()?;
    Ok(())
}
