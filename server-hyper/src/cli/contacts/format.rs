//! The formats of import and export.

use std::path::Path;

use clap::ValueEnum;

use crate::error::CliError;

/// A format of import and export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object per line
    Ndjson,
    /// Comma-separated values with a header line
    Csv,
}

impl Format {
    /// The format that the extension of a file names.
    ///
    /// # Errors
    /// When the extension is unknown.
    pub fn of(file: &Path) -> Result<Self, CliError> {
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "ndjson" | "jsonl" | "json" => Ok(Format::Ndjson),
            "csv" => Ok(Format::Csv),
            _ => Err(CliError::usage(format!(
                "the name of {} does not say what it is; give --format ndjson or --format csv",
                file.display()
            ))),
        }
    }
}
