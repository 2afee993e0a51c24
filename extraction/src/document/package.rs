//! The ZIP package around an office document: which parts there are, unpacked within limits.

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

/// The kind of document that a ZIP holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Word,
    Workbook,
    Slides,
    /// A text, spreadsheet or presentation of OpenDocument, by the end of its media type.
    OpenDocument(&'static str),
}

/// What a ZIP holds, by the type of its main part, or by its first entry.
pub(super) fn held(bytes: &[u8]) -> Option<Held> {
    let check = || -> Result<Option<Held>, ReadError> {
        let mut package = Package::open(bytes, &Limits::default())?;
        if package.contains("mimetype") && package.contains("content.xml") {
            let media_type = package.part("mimetype")?.unwrap_or_default();
            let media_type = String::from_utf8_lossy(&media_type);
            let name = media_type.trim().strip_prefix("application/vnd.oasis.opendocument.");
            let known = ["text", "spreadsheet", "presentation"].into_iter().find(|known| name == Some(known));
            return Ok(known.map(Held::OpenDocument));
        }
        let main = package.main_part()?;
        if !package.contains(&main) {
            return Ok(None);
        }
        Ok(match package.content_type(&main)?.as_deref() {
            Some(kind) if kind.contains("wordprocessingml") || kind.contains("ms-word") => Some(Held::Word),
            Some(kind) if kind.contains("spreadsheetml") || kind.contains("ms-excel.sheet.macro") => {
                Some(Held::Workbook)
            }
            Some(kind) if kind.contains("presentationml") || kind.contains("ms-powerpoint") => {
                Some(Held::Slides)
            }
            Some(_) => None,
            None => by_name(&main),
        })
    };
    // The name of the part, which is not compressed, identifies even a package that is too large or damaged.
    check().unwrap_or_else(|_| {
        let has = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
        MAIN_PARTS.iter().find(|(name, _)| has(name)).map(|(_, held)| *held)
    })
}

/// The usual names of main parts.
const MAIN_PARTS: [(&str, Held); 3] = [
    ("word/document.xml", Held::Word),
    ("xl/workbook.xml", Held::Workbook),
    ("ppt/presentation.xml", Held::Slides),
];

fn by_name(main: &str) -> Option<Held> {
    MAIN_PARTS.iter().find(|(name, _)| *name == main).map(|(_, held)| *held)
}

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
    pub(super) id: String,
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
            let id = element.attribute(b"Id").unwrap_or_default();
            self.found.push(Relation { id, kind, target: resolve(self.folder, &target) });
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
