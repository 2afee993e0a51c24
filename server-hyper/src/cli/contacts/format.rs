//! The formats of import and export.

use std::path::Path;

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

const VCARD: &str = "is a vCard file, which cannot be imported; open it in an address book such as Google Contacts, Outlook \
                     or Thunderbird, export it as CSV there, and import the CSV file";
const OTHER_SHEET: &str =
    "is a spreadsheet in another format than .xlsx; open it, save it as .xlsx or CSV, and import that file";

impl ImportFormat {
    /// The format that the extension of a file names. A `.json` file may have an array or one object per line.
    ///
    /// # Errors
    /// When the extension is unknown, or names a format that cannot be imported.
    pub fn of(file: &Path) -> Result<Self, CliError> {
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let refused = |message: &str| Err(CliError::usage(format!("{} {message}", file.display())));
        match extension.to_ascii_lowercase().as_str() {
            "ndjson" | "jsonl" => Ok(ImportFormat::Ndjson),
            "json" => Ok(ImportFormat::Json),
            "csv" | "tsv" | "tab" => Ok(ImportFormat::Csv),
            "xlsx" | "xlsm" => Ok(ImportFormat::Xlsx),
            "vcf" | "vcard" => refused(VCARD),
            "xls" | "xlsb" | "ods" | "numbers" => refused(OTHER_SHEET),
            _ => Err(CliError::usage(format!(
                "the name of {} does not say what it is; give --format csv, xlsx, ndjson or json",
                file.display()
            ))),
        }
    }

    /// Why a file whose text begins so is no text that can be imported.
    #[must_use]
    pub fn refused(head: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(&head[..head.len().min(256)])
            .trim_start_matches('\u{feff}')
            .trim_start()
            .to_lowercase();
        let message = match () {
            () if head.starts_with(b"PK\x03\x04") => {
                "is a ZIP archive and no text; if it is an Excel workbook, give --format xlsx"
            }
            () if head.starts_with(b"\xd0\xcf\x11\xe0") => OTHER_SHEET,
            () if text.starts_with("begin:vcard") => VCARD,
            () if ["<html", "<!doctype", "<table", "<?xml"].iter().any(|start| text.starts_with(start)) => {
                "is HTML or XML; open it in a spreadsheet, save it as .xlsx or CSV, and import that file"
            }
            () => return None,
        };
        Some(message.to_owned())
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

/// Parses a delimiter of the command line.
///
/// # Errors
/// When it is not a character that can separate cells.
pub fn parse_delimiter(text: &str) -> Result<u8, String> {
    let named = match text.to_ascii_lowercase().as_str() {
        "tab" | "\\t" => Some(b'\t'),
        "comma" => Some(b','),
        "semicolon" => Some(b';'),
        "pipe" => Some(b'|'),
        _ => None,
    };
    let is_fit = |byte: &u8| {
        byte.is_ascii_punctuation() && !matches!(byte, b'"' | b'\'' | b'.' | b'-' | b'_' | b'@')
            || matches!(byte, b'\t' | b' ')
    };
    let single = || text.bytes().next().filter(|byte| text.len() == 1 && is_fit(byte));
    named.or_else(single).ok_or_else(|| "a delimiter is one character, such as , ; | or TAB".to_owned())
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
    fn delimiters_have_names() {
        for (text, delimiter) in
            [("tab", b'\t'), ("\\t", b'\t'), (";", b';'), ("semicolon", b';'), ("^", b'^')]
        {
            assert_eq!(parse_delimiter(text), Ok(delimiter));
        }
        for text in ["", "ab", "\"", "a", "é", "\n"] {
            parse_delimiter(text).unwrap_err();
        }
    }

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
