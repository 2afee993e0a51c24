//! A file that was sent: opened as often as it is needed, because nothing of it is stored between two calls.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::io::Cursor;
use std::path::Path;

use bytes::Bytes;
use openapi_core::reply::{ApiError, ErrorCode};

use super::columns::{Columns, Target};
use super::format::ImportFormat;
use super::guess::Guess;
use super::line::Identity;
use super::source::{Given, Lines, Source};
use crate::pause::pause;

/// The largest file: 10 MiB.
pub const MAX_BYTES: usize = 10 << 20;
/// The most lines of a file, and the most columns.
pub const MAX_LINES: u64 = 100_000;
const MAX_COLUMNS: usize = 500;
/// The values of a column that are shown, how long each may be, and the lines that are looked at.
const SAMPLES: usize = 3;
const SAMPLE_LENGTH: usize = 80;
const SAMPLED_LINES: u64 = 200;
/// How many lines are read before other tasks get their turn.
const TURN: u64 = 500;

/// A file, how it is read, and which column is which field.
pub struct ImportFile {
    pub(crate) name: String,
    pub(crate) content: Bytes,
    pub(crate) given: Given,
    /// The fields by column; none of a column that is left out. Without the list no column is assigned.
    pub(crate) mapping: Option<Vec<Option<String>>>,
}

/// A column of a table.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) field: Option<String>,
    pub(crate) samples: Vec<String>,
}

/// What is known of a file that was read to its end.
pub(crate) struct Scan {
    pub(crate) described: Option<String>,
    /// Empty for JSON.
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: u64,
    /// How often each contact stands in the file that stands in it more than once.
    pub(crate) repeated: HashMap<Identity, u32>,
}

impl ImportFile {
    fn format(&self) -> Result<ImportFormat, String> {
        let by_name =
            ImportFormat::of(Path::new(&self.name)).map_err(|reason| format!("{} {reason}", self.name))?;
        let by_content = ImportFormat::by_content(&self.content);
        Ok(match by_name {
            // A workbook whose name says otherwise is one; text of a workbook's name is none.
            _ if by_content == ImportFormat::Xlsx => by_content,
            Some(ImportFormat::Xlsx) | None => by_content,
            Some(format) => format,
        })
    }

    /// Opens the file.
    ///
    /// # Errors
    /// Why it cannot be read, in words for the operator.
    pub(crate) fn open(&self) -> Result<Source, String> {
        let input = Box::new(Cursor::new(self.content.clone()));
        Source::read(input, self.name.clone(), self.format()?, &self.given)
    }

    /// The lines of the opened file.
    ///
    /// # Errors
    /// Why the first row cannot be read, or does not fit the mapping.
    pub(crate) fn lines<'a>(
        &self,
        source: &'a mut Source,
        columns: &'a Columns,
    ) -> Result<Lines<'a>, String> {
        let guess = Guess::new(columns);
        source.lines_of(columns, |column| guess.field(column).is_some(), |names| self.targets(names))
    }

    fn targets(&self, names: &[String]) -> Result<Vec<Target>, String> {
        if names.len() > MAX_COLUMNS {
            return Err(format!("the first row names {} columns, more than {MAX_COLUMNS}", names.len()));
        }
        let Some(mapping) = &self.mapping else { return Ok(vec![Target::LeftOut; names.len()]) };
        if mapping.len() != names.len() {
            return Err(format!(
                "the mapping has {} fields, and the first row names {} columns",
                mapping.len(),
                names.len()
            ));
        }
        let target = |field: &Option<String>| field.clone().map_or(Target::LeftOut, Target::Field);
        Ok(mapping.iter().map(target).collect())
    }

    pub(crate) fn broken(&self, error: &std::io::Error) -> ApiError {
        unreadable(format!("{}: {error}", self.name))
    }

    /// Reads the file to its end, so that a file that is broken anywhere is refused before anything is done.
    ///
    /// # Errors
    /// Why it cannot be read, with the line.
    pub(crate) async fn scan(&self, columns: &Columns) -> Result<Scan, ApiError> {
        let mut source = self.open().map_err(unreadable)?;
        let mut lines = self.lines(&mut source, columns).map_err(unreadable)?;
        let names = lines.names().to_vec();
        let mut scan =
            Scan { described: lines.described(), columns: Vec::new(), lines: 0, repeated: HashMap::new() };
        let mut samples: Vec<Vec<String>> = vec![Vec::new(); names.len()];
        let (hasher, mut met) = (RandomState::new(), HashSet::<u64>::new());
        while let Some(line) = lines.next() {
            let (_, contact) = line.map_err(|error| self.broken(&error))?;
            scan.lines += 1;
            if scan.lines > MAX_LINES {
                let text = format!(
                    "{} has more than {MAX_LINES} lines; divide it, or import it with openapi-server contacts import",
                    self.name
                );
                return Err(unreadable(text));
            }
            if scan.lines <= SAMPLED_LINES {
                sample(&mut samples, lines.cells());
            }
            if let Ok(contact) = contact {
                let identity = Identity::of(&contact);
                // A contact that occurs once need not be remembered.
                if !met.insert(hasher.hash_one(&identity)) {
                    *scan.repeated.entry(identity).or_insert(1) += 1;
                }
            }
            if scan.lines.is_multiple_of(TURN) {
                pause().await;
            }
        }
        // How a file is read is known for certain at its end.
        scan.described = lines.described();
        let fields = match &self.mapping {
            Some(mapping) => mapping.clone(),
            None => Guess::new(columns).fields(&names),
        };
        let columns = names.into_iter().zip(fields).zip(samples);
        scan.columns = columns.map(|((name, field), samples)| Column { name, field, samples }).collect();
        Ok(scan)
    }
}

/// 422 of a file that cannot be imported.
pub(crate) fn unreadable(reason: String) -> ApiError {
    ApiError::new(ErrorCode::NotPossible, reason)
}

/// Adds the values of a row to the samples of its columns.
fn sample(samples: &mut [Vec<String>], cells: &[String]) {
    for (samples, cell) in samples.iter_mut().zip(cells) {
        let text: String = cell.trim().chars().take(SAMPLE_LENGTH).collect();
        if samples.len() < SAMPLES && !text.is_empty() && !samples.contains(&text) {
            samples.push(text);
        }
    }
}
