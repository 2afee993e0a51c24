//! The ZIP package around a DOCX: which parts there are, unpacked within limits.

use std::collections::HashMap;
use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::xml::{Element, Visitor, Vocabulary, walk};
use crate::document::error::ReadError;
use crate::document::limits::Limits;

/// How many entries a package may have.
const ENTRIES: usize = 4096;
/// How many times larger than packed all parts may be together; text repeats itself, but not like this.
const RATIO: u64 = 200;
/// What may always be unpacked, whatever its ratio.
const SMALL: u64 = 1 << 20;

pub(super) struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    part_limit: u64,
    left: u64,
    limit: u64,
}

impl<'a> Package<'a> {
    pub(super) fn open(bytes: &'a [u8], limits: &Limits) -> Result<Self, ReadError> {
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|_| ReadError::DAMAGED)?;
        if archive.len() > ENTRIES {
            return Err(ReadError::STRUCTURE);
        }
        let limit = limits.unpacked.min(SMALL.max(bytes.len() as u64 * RATIO));
        Ok(Self { archive, part_limit: limits.part, left: limit, limit })
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// The bytes of a part; `None` if there is none of this name. What counts is what comes out, not what the package
    /// says about it.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(index) = self.archive.index_for_name(name) else { return Ok(None) };
        let encrypted = self.archive.by_index_raw(index).map_err(|_| ReadError::DAMAGED)?.encrypted();
        if encrypted {
            return Err(ReadError::Encrypted);
        }
        let file = self.archive.by_index(index).map_err(|_| ReadError::DAMAGED)?;
        let (allowed, limit) = if self.left < self.part_limit {
            (self.left, self.limit)
        } else {
            (self.part_limit, self.part_limit)
        };
        let mut bytes = Vec::new();
        file.take(allowed + 1).read_to_end(&mut bytes).map_err(|_| ReadError::DAMAGED)?;
        if bytes.len() as u64 > allowed {
            return Err(ReadError::too_many_bytes(limit));
        }
        self.left -= bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Where a part points to, by the identifier: the last word of the kind, and the name of the other part.
    pub(super) fn relations(&mut self, part: &str) -> Result<Vec<Relation>, ReadError> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let separator = if folder.is_empty() { "" } else { "/" };
        let Some(bytes) = self.part(&format!("{folder}{separator}_rels/{file}.rels"))? else {
            return Ok(Vec::new());
        };
        let mut relations = Relations { folder, found: Vec::new() };
        walk(&bytes, &mut relations)?;
        Ok(relations.found)
    }

    /// The name of the main part, which is not always `word/document.xml`.
    pub(super) fn main_part(&mut self) -> Result<String, ReadError> {
        let found = self.relations("")?.into_iter().find(|relation| relation.kind == "officeDocument");
        Ok(found.map_or_else(|| "word/document.xml".to_owned(), |relation| relation.target))
    }

    /// The type of a part by the package's list of contents.
    pub(super) fn content_type(&mut self, part: &str) -> Result<Option<String>, ReadError> {
        let Some(bytes) = self.part("[Content_Types].xml")? else { return Ok(None) };
        let mut types = ContentTypes::default();
        walk(&bytes, &mut types)?;
        Ok(types.overrides.remove(&part.to_ascii_lowercase()))
    }
}

/// A part that another one points to.
pub(super) struct Relation {
    pub(super) kind: String,
    pub(super) target: String,
}

struct Relations<'a> {
    folder: &'a str,
    found: Vec<Relation>,
}

impl Visitor for Relations<'_> {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        if element.name() == b"Relationship"
            && element.attribute(b"TargetMode").as_deref() != Some("External")
            && let (Some(kind), Some(target)) = (element.attribute(b"Type"), element.attribute(b"Target"))
        {
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            self.found.push(Relation { kind, target: resolve(self.folder, &target) });
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, _: &[u8]) -> Result<(), ReadError> {
        Ok(())
    }

    fn text(&mut self, _: &str) {}
}

/// The name of a part as seen from a folder.
fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut path: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            step => path.push(step),
        }
    }
    path.join("/")
}

#[derive(Default)]
struct ContentTypes {
    overrides: HashMap<String, String>,
}

impl Visitor for ContentTypes {
    fn start(&mut self, element: &Element<'_>) -> Result<bool, ReadError> {
        if element.name() == b"Override"
            && let (Some(part), Some(kind)) =
                (element.attribute(b"PartName"), element.attribute(b"ContentType"))
        {
            self.overrides.insert(part.trim_start_matches('/').to_ascii_lowercase(), kind);
        }
        Ok(true)
    }

    fn end(&mut self, _: Vocabulary, _: &[u8]) -> Result<(), ReadError> {
        Ok(())
    }

    fn text(&mut self, _: &str) {}
}
