//! The formats of an import.

use std::path::Path;

/// A format of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The format that the extension of a file names, if it does. A `.json` file may have an array or one object per line.
    ///
    /// # Errors
    /// Why a file with this extension cannot be imported.
    pub fn of(file: &Path) -> Result<Option<Self>, &'static str> {
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "ndjson" | "jsonl" => Ok(Some(ImportFormat::Ndjson)),
            "json" => Ok(Some(ImportFormat::Json)),
            "csv" | "tsv" | "tab" => Ok(Some(ImportFormat::Csv)),
            "xlsx" | "xlsm" => Ok(Some(ImportFormat::Xlsx)),
            "vcf" | "vcard" => Err(VCARD),
            "xls" | "xlsb" | "ods" | "numbers" => Err(OTHER_SHEET),
            _ => Ok(None),
        }
    }

    /// The format of a file by how it begins; text that is no JSON is a table.
    #[must_use]
    pub fn by_content(head: &[u8]) -> Self {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        match text.first() {
            _ if head.starts_with(b"PK\x03\x04") => ImportFormat::Xlsx,
            Some(b'{') => ImportFormat::Ndjson,
            Some(b'[') => ImportFormat::Json,
            _ => ImportFormat::Csv,
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
    fn the_format_is_that_of_the_name_or_of_the_content() {
        let of = |name: &str| ImportFormat::of(Path::new(name));
        assert_eq!(of("a.CSV"), Ok(Some(ImportFormat::Csv)));
        assert_eq!(of("a.jsonl"), Ok(Some(ImportFormat::Ndjson)));
        assert_eq!(of("contacts"), Ok(None));
        assert!(of("a.vcf").is_err() && of("a.xls").is_err());
        for (head, format) in [
            (&b"PK\x03\x04"[..], ImportFormat::Xlsx),
            (b"\xef\xbb\xbf {", ImportFormat::Ndjson),
            (b"\n[", ImportFormat::Json),
            (b"name;town", ImportFormat::Csv),
            (b"", ImportFormat::Csv),
        ] {
            assert_eq!(ImportFormat::by_content(head), format);
        }
    }
}
