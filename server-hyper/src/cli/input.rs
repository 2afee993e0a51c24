//! The input of commands: files, and standard input as `-`.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use openapi_core::json::{Json, Object, parse};

use super::context::CommandContext;
use crate::error::CliError;

/// The largest JSON document.
const MAX_DOCUMENT: u64 = 16 * 1024 * 1024;

/// Opens a file of the caller, or its standard input.
///
/// # Errors
/// When it cannot be opened.
pub fn open(context: &CommandContext, path: &Path) -> Result<Box<dyn BufRead + Send>, CliError> {
    let source = if path.as_os_str() == "-" {
        context.caller().stdin()
    } else {
        let opened = context.caller().open(path);
        opened.map_err(|error| CliError::new(format!("cannot read {}: {error}", path.display())))?
    };
    Ok(Box::new(BufReader::with_capacity(256 * 1024, source)))
}

/// Reads one JSON object.
///
/// # Errors
/// When the input is not a JSON object; the message names the position.
pub fn object(context: &CommandContext, path: &Path) -> Result<Object, CliError> {
    let mut bytes = Vec::new();
    open(context, path)?
        .take(MAX_DOCUMENT)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::new(format!("cannot read {}: {error}", path.display())))?;
    let name = path.display();
    let value = parse(&bytes)
        .map_err(|error| CliError::new(format!("{name}:{}:{}: {error}", error.line(), error.column())))?;
    match value {
        Json::Object(object) => Ok(object),
        _ => Err(CliError::new(format!("{name} must hold a JSON object"))),
    }
}
