//! Files within files: ZIP archives and OLE compound files are distinguished by the names in their directories.

use super::detected::Detected;
use super::kind::FileKind;

/// The longest signature.
pub(super) const SIGNATURE_BYTES: usize = 8;

/// How much of the end of an archive is retained: its directory, and a comment of up to 64 KiB after it.
const TAIL: usize = 192 * 1_024;

/// The bytes of the record that ends an archive, without its comment.
const END_RECORD: usize = 22;

/// The bytes of a directory entry, without its name.
const DIRECTORY_ENTRY: usize = 46;

/// The bytes of the header before a member, without its name.
const LOCAL_HEADER: usize = 30;

/// A ZIP archive.
#[derive(Debug, Default)]
pub(super) struct Archive {
    tail: Vec<u8>,
}

impl Archive {
    pub(super) fn begins(head: &[u8]) -> bool {
        [b"PK\x03\x04", b"PK\x05\x06"].iter().any(|signature| head.starts_with(*signature))
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(TAIL)..];
        self.tail.extend_from_slice(bytes);
        // Moves the bytes seldom, and holds more than it needs meanwhile.
        if self.tail.len() > 2 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    pub(super) fn finish(&self, head: &[u8]) -> Detected {
        if let Some(detected) = open_document(head) {
            return detected;
        }
        let names = self.directory().unwrap_or_else(|| local_names(head));
        let has = |name: &str| names.iter().any(|own| own.eq_ignore_ascii_case(name));
        let below = |folder: &str| names.iter().any(|own| own.starts_with(folder));
        let ends = |end: &str| names.iter().any(|own| own.to_ascii_lowercase().ends_with(end));
        if has("AndroidManifest.xml") || has("classes.dex") || has("META-INF/MANIFEST.MF") && ends(".class") {
            return Detected::dangerous("application/java-archive");
        }
        if has("[Content_Types].xml") {
            let office = [
                ("word/", FileKind::Docx, "application/vnd.ms-word.document.macroEnabled.12"),
                ("xl/", FileKind::Xlsx, "application/vnd.ms-excel.sheet.macroEnabled.12"),
                ("ppt/", FileKind::Pptx, "application/vnd.ms-powerpoint.presentation.macroEnabled.12"),
            ];
            if let Some((_, kind, with_macros)) = office.into_iter().find(|(folder, _, _)| below(folder)) {
                // Documents with macros are documents of another type.
                return if ends("vbaproject.bin") || has("xl/workbook.bin") {
                    Detected::other(with_macros)
                } else {
                    Detected::of(kind)
                };
            }
        }
        Detected::of(FileKind::Zip)
    }

    /// The names in the directory at the end; `None` when it is damaged or does not lie in the retained bytes.
    fn directory(&self) -> Option<Vec<String>> {
        let tail = &self.tail;
        let from = tail.len().saturating_sub(END_RECORD + usize::from(u16::MAX));
        let end = (from..=tail.len().checked_sub(END_RECORD)?)
            .rev()
            .find(|at| tail[*at..].starts_with(b"PK\x05\x06"))?;
        let count = usize::from(u16_at(tail, end + 10)?);
        let size = usize::try_from(u32_at(tail, end + 12)?).ok()?;
        let mut at = end.checked_sub(size)?;
        let mut names = Vec::new();
        for _ in 0..count {
            if !tail.get(at..)?.starts_with(b"PK\x01\x02") {
                return None;
            }
            let (name, extra, comment) =
                (u16_at(tail, at + 28)?, u16_at(tail, at + 30)?, u16_at(tail, at + 32)?);
            let begin = at + DIRECTORY_ENTRY;
            names.push(name_of(tail.get(begin..begin + usize::from(name))?));
            at = begin + usize::from(name) + usize::from(extra) + usize::from(comment);
        }
        Some(names)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_le_bytes([two[0], two[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}

fn name_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\\', "/")
}

/// The name of the member that begins here, where its content begins and how many bytes it has in the file.
fn member(head: &[u8], at: usize) -> Option<(String, usize, usize)> {
    if !head.get(at..)?.starts_with(b"PK\x03\x04") {
        return None;
    }
    let size = usize::try_from(u32_at(head, at + 18)?).ok()?;
    let (name, extra) = (usize::from(u16_at(head, at + 26)?), usize::from(u16_at(head, at + 28)?));
    let begin = at + LOCAL_HEADER;
    let content = begin + name + extra;
    Some((name_of(head.get(begin..begin + name)?), content, size))
}

/// The names of the first members, of an archive whose directory cannot be read.
fn local_names(head: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some((name, content, size)) = member(head, at) {
        names.push(name);
        at = content.saturating_add(size);
    }
    names
}

/// An OpenDocument file: its first member is named `mimetype`, stored as it is, and holds its media type.
fn open_document(head: &[u8]) -> Option<Detected> {
    let (name, content, size) = member(head, 0)?;
    let media_type = std::str::from_utf8(head.get(content..content.checked_add(size)?)?).ok()?.trim();
    let known = [FileKind::Odt, FileKind::Ods, FileKind::Odp];
    let kind = known.into_iter().find(|kind| name == "mimetype" && kind.media_type() == media_type)?;
    Some(Detected::of(kind))
}

/// The bytes of an entry in the directory of a compound file; entries begin at multiples of it.
const ENTRY: usize = 128;

/// The class of an installer's root.
const INSTALLER: [u8; 16] =
    [0x84, 0x10, 0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46];

/// An OLE compound file.
#[derive(Debug, Default)]
pub(super) struct Compound {
    partial: Vec<u8>,
    found: Option<FileKind>,
    installer: bool,
}

impl Compound {
    pub(super) fn begins(head: &[u8]) -> bool {
        head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1])
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        if !self.partial.is_empty() {
            let missing = (ENTRY - self.partial.len()).min(bytes.len());
            self.partial.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.partial.len() < ENTRY {
                return;
            }
            let entry = std::mem::take(&mut self.partial);
            self.entry(&entry);
        }
        let mut entries = bytes.chunks_exact(ENTRY);
        for entry in &mut entries {
            self.entry(entry);
        }
        self.partial.extend_from_slice(entries.remainder());
    }

    /// Looks at what may be an entry of the directory.
    fn entry(&mut self, entry: &[u8]) {
        const ROOT: u8 = 5;
        let kind = entry[66];
        if !matches!(kind, 1 | 2 | ROOT) {
            return;
        }
        if kind == ROOT {
            self.installer |= entry[80..96] == INSTALLER;
        }
        let bytes = usize::from(u16::from_le_bytes([entry[64], entry[65]]));
        if !(4..=64).contains(&bytes) || bytes % 2 != 0 || self.found.is_some() {
            return;
        }
        let units: Vec<u16> =
            entry[..bytes - 2].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        // The streams of the document come before those of what is embedded in it.
        self.found = match String::from_utf16_lossy(&units).as_str() {
            "WordDocument" => Some(FileKind::Doc),
            "Workbook" | "Book" => Some(FileKind::Xls),
            "PowerPoint Document" => Some(FileKind::Ppt),
            "__properties_version1.0" | "__nameid_version1.0" => Some(FileKind::Msg),
            _ => None,
        };
    }

    pub(super) fn finish(&self) -> Detected {
        if self.installer {
            return Detected::dangerous("application/x-msi");
        }
        self.found.map_or(Detected::other("application/x-ole-storage"), Detected::of)
    }
}
