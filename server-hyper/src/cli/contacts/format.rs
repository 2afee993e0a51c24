//! The formats of import and export.

use ::console::imports::{self, parse_delimiter};
use clap::{Args, ValueEnum};

use crate::cli::context::CommandContext;
use crate::error::CliError;

/// A format of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// One JSON object per line
    Ndjson,
    /// One JSON array of objects
    Json,
    /// A table with a header line, in any usual delimiter and encoding
    Csv,
    /// A workbook of Excel 2007 or later
    Xlsx,
}

impl ImportFormat {
    /// The format as the import names it.
    #[must_use]
    pub fn of_file(self) -> imports::ImportFormat {
        match self {
            ImportFormat::Ndjson => imports::ImportFormat::Ndjson,
            ImportFormat::Json => imports::ImportFormat::Json,
            ImportFormat::Csv => imports::ImportFormat::Csv,
            ImportFormat::Xlsx => imports::ImportFormat::Xlsx,
        }
    }
}

/// A format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One JSON object per line
    Ndjson,
    /// Comma-separated values with a header line
    Csv,
}

/// How an export is written.
#[derive(Clone, Copy, Debug, Args)]
pub struct ExportArgs {
    /// Output format [default: ndjson, or csv with --excel or --delimiter]
    #[arg(long)]
    format: Option<ExportFormat>,
    /// Write CSV as Excel opens it: with a byte order mark, CRLF, and the delimiter of your locale (LC_ALL, LC_NUMERIC, LANG)
    #[arg(long)]
    excel: bool,
    /// Delimiter of CSV: one character, or tab
    #[arg(long, value_parser = parse_delimiter)]
    delimiter: Option<u8>,
}

/// How CSV is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvStyle {
    /// Between two cells.
    pub delimiter: u8,
    /// A byte order mark before the first line, and CRLF after each.
    pub is_for_excel: bool,
}

impl ExportArgs {
    /// How CSV is written; `None` for NDJSON.
    ///
    /// # Errors
    /// When the flags contradict each other.
    pub fn csv(self, context: &CommandContext) -> Result<Option<CsvStyle>, CliError> {
        let is_csv = self.excel || self.delimiter.is_some();
        match self.format {
            Some(ExportFormat::Ndjson) if is_csv => {
                Err(CliError::usage("--excel and --delimiter apply to CSV, and not to --format ndjson"))
            }
            None if !is_csv => Ok(None),
            Some(ExportFormat::Ndjson) => Ok(None),
            _ => {
                let of_locale = if self.excel { list_separator(&context.facts().locale) } else { b',' };
                Ok(Some(CsvStyle {
                    delimiter: self.delimiter.unwrap_or(of_locale),
                    is_for_excel: self.excel,
                }))
            }
        }
    }
}

/// The delimiter that Excel expects in a locale such as `de_DE.UTF-8`: a semicolon where the comma is the decimal sign.
fn list_separator(locale: &str) -> u8 {
    const WITH_COMMA: [&str; 51] = [
        "af", "az", "be", "bg", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fr", "gl", "hr",
        "hu", "hy", "id", "is", "it", "ka", "kk", "ky", "lb", "lt", "lv", "mk", "mn", "nb", "nl", "nn", "no",
        "pl", "pt", "ro", "ru", "rw", "se", "sk", "sl", "sq", "sr", "sv", "tg", "tr", "tt", "uk", "uz", "vi",
    ];
    const WITH_POINT: [&str; 11] =
        ["es_MX", "es_GT", "es_HN", "es_NI", "es_PA", "es_PE", "es_PR", "es_SV", "es_US", "es_DO", "es_BZ"];
    let name = locale.split(['.', '@']).next().unwrap_or_default();
    let language = name.split(['_', '-']).next().unwrap_or_default().to_lowercase();
    let is_comma =
        WITH_COMMA.contains(&language.as_str()) && !WITH_POINT.contains(&name.replace('-', "_").as_str());
    if is_comma || name == "en_ZA" { b';' } else { b',' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_that_of_the_locale() {
        for locale in ["de_DE.UTF-8", "de", "fr_FR@euro", "pt-BR", "de_CH.UTF-8", "en_ZA", "es_ES"] {
            assert_eq!(list_separator(locale), b';', "{locale}");
        }
        for locale in ["", "C", "C.UTF-8", "POSIX", "en_US.UTF-8", "en_GB", "es_MX.UTF-8", "ja_JP", "zh_CN"] {
            assert_eq!(list_separator(locale), b',', "{locale}");
        }
    }
}
