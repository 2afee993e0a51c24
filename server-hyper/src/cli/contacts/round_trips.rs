//! What an export writes, an import reads back, in every style in which spreadsheets write it again.

use std::io::Cursor;

use ::console::imports::{Columns, Given, Header, ImportFormat, Source, escaped};
use encoding_rs::{Encoding, UTF_8, UTF_16LE, WINDOWS_1250, WINDOWS_1252};
use openapi_core::contacts::Contact;
use openapi_core::json::{Json, Object};
use openapi_core::schema::ContactSchema;
use openapi_core::values::{AgentId, Timestamp};
use proptest::prelude::*;

use super::format::CsvStyle;
use crate::cli::export::record;

/// How a program writes a table.
#[derive(Clone, Copy, Debug)]
struct Style {
    program: &'static str,
    delimiter: char,
    end: &'static str,
    encoding: &'static Encoding,
    has_mark: bool,
    quotes_all: bool,
    /// A first line that names the delimiter.
    names_delimiter: bool,
    /// Whether the last line has an end.
    ends_last_line: bool,
}

const EXCEL: Style = Style {
    program: "Excel, de: CSV",
    delimiter: ';',
    end: "\r\n",
    encoding: WINDOWS_1252,
    has_mark: false,
    quotes_all: false,
    names_delimiter: false,
    ends_last_line: true,
};

const STYLES: [Style; 10] = [
    EXCEL,
    Style { program: "Excel, fr: CSV UTF-8", encoding: UTF_8, has_mark: true, ..EXCEL },
    Style { program: "Excel, us: CSV", delimiter: ',', ..EXCEL },
    Style { program: "Excel, us: CSV UTF-8", delimiter: ',', encoding: UTF_8, has_mark: true, ..EXCEL },
    Style { program: "Excel, pl: CSV", encoding: WINDOWS_1250, ..EXCEL },
    Style { program: "Excel: Unicode text", delimiter: '\t', encoding: UTF_16LE, has_mark: true, ..EXCEL },
    Style { program: "a report with sep=", encoding: UTF_8, names_delimiter: true, ..EXCEL },
    Style { program: "LibreOffice", delimiter: ',', end: "\n", encoding: UTF_8, quotes_all: true, ..EXCEL },
    Style { program: "Numbers", end: "\r", encoding: UTF_8, ..EXCEL },
    Style { program: "Google Sheets", delimiter: ',', encoding: UTF_8, ends_last_line: false, ..EXCEL },
];

impl Style {
    /// A table as the program writes it; `None` if its encoding lacks a character.
    fn write(self, rows: &[Vec<String>]) -> Option<Vec<u8>> {
        let cell = |cell: &String| {
            let is_quoted = self.quotes_all || cell.contains([self.delimiter, '"', '\n', '\r']);
            if is_quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() }
        };
        let mut lines: Vec<String> = rows
            .iter()
            .map(|row| row.iter().map(cell).collect::<Vec<_>>().join(&self.delimiter.to_string()))
            .collect();
        if self.names_delimiter {
            lines.insert(0, format!("sep={}", self.delimiter));
        }
        let mark = if self.has_mark { "\u{feff}" } else { "" };
        let end = if self.ends_last_line { self.end } else { "" };
        let text = format!("{mark}{}{end}", lines.join(self.end));
        if self.encoding == UTF_16LE {
            return Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        }
        let (bytes, _, is_lossy) = self.encoding.encode(&text);
        (!is_lossy).then(|| bytes.into_owned())
    }
}

fn agent() -> AgentId {
    "acme".parse().unwrap()
}

fn columns() -> Columns {
    Columns::of(&ContactSchema::builtin(agent(), Timestamp::from_millis(0)))
}

/// A contact as an import receives it: without absent values.
fn imported(contact: &Contact) -> Object {
    let Json::Object(record) = serde_json::from_str(&serde_json::to_string(contact).unwrap()).unwrap() else {
        panic!("a contact is an object");
    };
    let is_absent = |value: &Json| match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(object) => object.is_empty(),
        _ => false,
    };
    let mut object = Object::new();
    for (name, value) in record.iter().filter(|(_, value)| !is_absent(value)) {
        object.insert(name, value.clone());
    }
    object
}

fn read(bytes: Vec<u8>, given: &Given) -> Result<Vec<Object>, String> {
    let columns = columns();
    let source = Source::read(Box::new(Cursor::new(bytes)), "a.csv".to_owned(), ImportFormat::Csv, given);
    let mut source = source?;
    let lines = source.lines(&columns, &Header::new(&columns, &[])?)?;
    lines.map(|line| line.map_err(|error| error.to_string())?.1).collect()
}

/// Members in the order of their names.
fn sorted(object: &Object) -> Vec<(String, String)> {
    let mut members: Vec<_> = object.iter().map(|(name, value)| (name.to_owned(), value.to_text())).collect();
    members.sort();
    members
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn exports_come_back_from_every_program(contacts in proptest::collection::vec(testkit::strategies::contact(agent()), 1..4)) {
        let columns = columns();
        let expected: Vec<_> = contacts.iter().map(|contact| sorted(&imported(contact))).collect();
        let mut rows = vec![columns.names()];
        for contact in &contacts {
            rows.push(columns.cells(contact).unwrap());
        }
        // As the export writes it.
        for (delimiter, is_for_excel) in [(b',', false), (b';', true), (b'\t', true), (b'|', false)] {
            let style = CsvStyle { delimiter, is_for_excel };
            let mut bytes = if is_for_excel { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
            for row in &rows {
                record(&mut bytes, row, style).unwrap();
            }
            let found = read(bytes, &Given::default()).unwrap();
            prop_assert_eq!(&found.iter().map(sorted).collect::<Vec<_>>(), &expected);
        }
        // As a program writes what it has read. Random text has no language by which its encoding could be detected.
        for style in STYLES {
            let Some(bytes) = style.write(&rows) else { continue };
            let encoding = (style.encoding != UTF_8 && !style.has_mark).then_some(style.encoding);
            let found = read(bytes, &Given { encoding, ..Given::default() }).unwrap();
            prop_assert_eq!(&found.iter().map(sorted).collect::<Vec<_>>(), &expected, "{:?}", style);
        }
    }

    #[test]
    fn any_cell_is_safe_for_a_spreadsheet(cell in any::<String>()) {
        let safe = escaped(&cell);
        let shown = safe.trim_start_matches(|letter: char| letter.is_whitespace() || letter.is_control());
        prop_assert!(!shown.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']), "{safe:?}");
        prop_assert!(!safe.starts_with(['\t', '\r', '\n']));
    }
}

#[test]
fn files_of_five_countries_are_read_by_detection() {
    let heading = ["External Reference Id", "primary_email", "First Name", "last-name", "FULL ADDRESS"]
        .map(str::to_owned);
    let contacts = [
        ["c-1", "juergen@example.com", "Jürgen", "Groß", "Königstraße 5\n70173 Stuttgart"],
        ["c-2", "francoise@example.com", "Françoise", "Lefèvre", "12, rue de l’Église; Nîmes"],
        ["c-3", "noel@example.com", "Noël", "Müller-Lüdenscheidt", "\"Zur Mühle\", Köln"],
    ];
    let polish = [
        ["c-1", "lukasz@example.com", "Łukasz", "Żółć", "ul. Świętokrzyska 5; Łódź"],
        ["c-2", "jiri@example.com", "Jiří", "Dvořák", "Náměstí Míru 1, Plzeň"],
        ["c-3", "zsofia@example.com", "Zsófia", "Szűcs", "Győr"],
    ];
    for style in STYLES {
        let contacts = if style.encoding == WINDOWS_1250 { polish } else { contacts };
        let mut rows = vec![heading.to_vec()];
        rows.extend(contacts.map(|row| row.map(str::to_owned).to_vec()));
        let found = read(style.write(&rows).unwrap(), &Given::default());
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", style.program));
        let names = ["externalReferenceId", "primaryEmail", "firstName", "lastName", "fullAddress"];
        let values: Vec<Vec<&str>> = found
            .iter()
            .map(|contact| {
                names.iter().map(|name| contact.get(name).and_then(Json::as_str).unwrap()).collect()
            })
            .collect();
        assert_eq!(values, contacts.map(|row| row.to_vec()), "{}", style.program);
    }
}
