//! Exports: records page by page to standard output, as NDJSON or as CSV.

use std::io::{self, BufWriter, ErrorKind, Write};

use serde::Serialize;

use super::contacts::format::Format;
use super::context::CommandContext;
use crate::error::CliError;

/// Records read at a time.
pub const PAGE: u32 = 500;

/// Prints all records. `page` reads the records after the given one; `names` and `cells` are the rows of CSV.
pub async fn run<T: Serialize>(
    context: &CommandContext,
    format: Format,
    mut page: impl AsyncFnMut(Option<&T>) -> Result<Vec<T>, CliError>,
    names: &[String],
    cells: impl Fn(&T) -> Result<Vec<String>, serde_json::Error>,
) -> Result<(), CliError> {
    let mut output = BufWriter::with_capacity(256 * 1024, context.output());
    let mut last: Option<T> = None;
    if let Format::Csv = format
        && !write(&mut output, |output| record(output, names))?
    {
        return Ok(());
    }
    loop {
        let records = page(last.as_ref()).await?;
        for one in &records {
            let goes_on = match format {
                Format::Ndjson => {
                    let line = serde_json::to_string(one)?;
                    write(&mut output, |output| writeln!(output, "{line}"))?
                }
                Format::Csv => {
                    let cells = cells(one)?;
                    write(&mut output, |output| record(output, &cells))?
                }
            };
            if !goes_on {
                return Ok(());
            }
        }
        last = records.into_iter().last();
        if last.is_none() {
            break;
        }
    }
    write(&mut output, Write::flush)?;
    Ok(())
}

/// Writes to the output; `false` when its reader, such as `head`, has closed it.
fn write<W: Write>(output: &mut W, what: impl FnOnce(&mut W) -> io::Result<()>) -> Result<bool, CliError> {
    match what(output) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        result => Ok(result.map(|()| true)?),
    }
}

/// One line of CSV.
fn record<W: Write>(output: &mut W, cells: &[String]) -> io::Result<()> {
    let mut line = csv::Writer::from_writer(output);
    line.write_record(cells).map_err(io::Error::from)?;
    line.flush()
}
