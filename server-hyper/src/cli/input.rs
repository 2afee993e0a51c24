//! What commands read: files, and standard input as `-`.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use openapi_core::json::{Json, Object, parse};

use crate::error::CliError;

/// The largest document read as a whole.
const MAX_DOCUMENT: u64 = 16 * 1024 * 1024;

/// Opens a file, or standard input.
///
/// # Errors
/// When it cannot be opened.
pub fn open(path: &Path) -> Result<Box<dyn BufRead + Send>, CliError> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = std::fs::File::open(path)
        .map_err(|error| CliError::new(format!("cannot read {}: {error}", path.display())))?;
    Ok(Box::new(BufReader::with_capacity(256 * 1024, file)))
}

/// Reads one JSON object.
///
/// # Errors
/// When it is none; the words say where.
pub fn object(path: &Path) -> Result<Object, CliError> {
    let mut octets = Vec::new();
    open(path)?
        .take(MAX_DOCUMENT)
        .read_to_end(&mut octets)
        .map_err(|error| CliError::new(format!("cannot read {}: {error}", path.display())))?;
    let name = path.display();
    let value = parse(&octets)
        .map_err(|error| CliError::new(format!("{name}:{}:{}: {error}", error.line(), error.column())))?;
    match value {
        Json::Object(object) => Ok(object),
        _ => Err(CliError::new(format!("{name} must hold a JSON object"))),
    }
}
