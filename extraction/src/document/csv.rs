//! Comma-separated values: text whose lines have the same number of fields.

use super::error::ReadError;
use super::flow::Flow;
use super::limits::Limits;
use super::model::Document;

/// What separates fields.
const DELIMITERS: [u8; 4] = [b';', b'\t', b'|', b','];
/// The records that are looked at to tell.
const LOOKED_AT: usize = 40;
/// Prose has commas as well, but longer pieces between them.
const MAX_MEAN: usize = 40;
const MIN_RECORDS: usize = 2;
const MIN_FIELDS: usize = 3;

/// The delimiter of text that is a table of separated values.
pub(super) fn delimiter(text: &str) -> Option<u8> {
    DELIMITERS.into_iter().find(|delimiter| {
        let records: Vec<Vec<String>> = records(text, *delimiter).take(LOOKED_AT).collect();
        let fields = records.first().map_or(0, Vec::len);
        let letters: usize = records.iter().flatten().map(|field| field.chars().count()).sum();
        records.len() >= MIN_RECORDS
            && fields >= MIN_FIELDS
            && records.iter().all(|record| record.len() == fields)
            && letters <= MAX_MEAN * fields * records.len()
            // A heading, not the first of several lines of a letter.
            && records[0].iter().all(|field| !field.trim().is_empty() && !format!("{field} ").contains(": "))
    })
}

fn records(text: &str, delimiter: u8) -> impl Iterator<Item = Vec<String>> {
    let reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let records = reader.into_records().map_while(Result::ok);
    records.map(|record| record.iter().map(str::to_owned).collect())
}

pub(super) fn read(text: &str, delimiter: u8, limits: &Limits) -> Result<Document, ReadError> {
    let mut flow = Flow::new(limits);
    flow.table(records(text, delimiter).collect())?;
    flow.document()
}
