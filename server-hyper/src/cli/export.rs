//! Exports: records page by page to standard output, as NDJSON or as CSV.

use std::io::{self, BufWriter, ErrorKind, Write};

use serde::Serialize;

use super::contacts::format::CsvStyle;
use super::context::CommandContext;
use crate::error::CliError;

/// Records read at a time.
pub const PAGE: u32 = 500;

/// Prints all records, as CSV in a style or as NDJSON. `page` reads the records after the given one; `names` and `cells` are the rows of CSV.
pub async fn run<T: Serialize>(
    context: &CommandContext,
    style: Option<CsvStyle>,
    mut page: impl AsyncFnMut(Option<&T>) -> Result<Vec<T>, CliError>,
    names: &[String],
    cells: impl Fn(&T) -> Result<Vec<String>, serde_json::Error>,
) -> Result<(), CliError> {
    let mut output = BufWriter::with_capacity(256 * 1024, context.output());
    let mut last: Option<T> = None;
    if let Some(style) = style {
        let mark = if style.is_for_excel { "\u{feff}" } else { "" };
        if !write(&mut output, |output| write!(output, "{mark}").and_then(|()| record(output, names, style)))?
        {
            return Ok(());
        }
    }
    loop {
        let records = page(last.as_ref()).await?;
        for one in &records {
            let goes_on = match style {
                None => {
                    let line = serde_json::to_string(one)?;
                    write(&mut output, |output| writeln!(output, "{line}"))?
                }
                Some(style) => {
                    let cells = cells(one)?;
                    write(&mut output, |output| record(output, &cells, style))?
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
pub fn record<W: Write>(output: &mut W, cells: &[String], style: CsvStyle) -> io::Result<()> {
    let end = if style.is_for_excel { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
    let mut line = csv::WriterBuilder::new().delimiter(style.delimiter).terminator(end).from_writer(output);
    line.write_record(cells).map_err(io::Error::from)?;
    line.flush()
}
