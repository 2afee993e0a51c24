//! Detects the type of a file from its content while it streams (contract 2.2). Nothing is unpacked, and whatever the
//! size, a few hundred KiB are held.

use super::container::{Archive, Compound};
use super::detected::Detected;
use super::kind::{FileKind, Form};
use super::markup::{self, Markup};

/// How much of the beginning is retained: every signature and the root element of a document lie there.
const HEAD: usize = 16 * 1_024;

/// How far into a file the signature of a PDF may lie after foreign bytes.
const PDF_WITHIN: usize = 1_024;

/// Extensions of programs and scripts: refused whatever the content is.
const PROGRAMS: &[&str] = &[
    "app",
    "apk",
    "applescript",
    "appx",
    "asp",
    "aspx",
    "bat",
    "bash",
    "cgi",
    "cjs",
    "cmd",
    "com",
    "command",
    "cpl",
    "csh",
    "deb",
    "dex",
    "dll",
    "dylib",
    "elf",
    "exe",
    "fish",
    "gadget",
    "hta",
    "inf",
    "ipa",
    "jar",
    "js",
    "jse",
    "jsp",
    "jspx",
    "jsx",
    "ksh",
    "lnk",
    "lua",
    "mjs",
    "msi",
    "msix",
    "msp",
    "mst",
    "phar",
    "php",
    "php3",
    "php4",
    "php5",
    "phtml",
    "pif",
    "pl",
    "pm",
    "ps1",
    "psd1",
    "psm1",
    "py",
    "pyc",
    "pyw",
    "rb",
    "reg",
    "rpm",
    "scf",
    "scpt",
    "scr",
    "sct",
    "sh",
    "so",
    "sys",
    "tcl",
    "ts",
    "tsx",
    "url",
    "vb",
    "vbe",
    "vbs",
    "war",
    "wasm",
    "workflow",
    "ws",
    "wsc",
    "wsf",
    "wsh",
    "zsh",
];

/// Extensions of HTML and its containers.
const HTML: &[&str] = &["htm", "html", "mht", "mhtml", "shtml", "xht", "xhtml"];

/// Looks at a file while it is uploaded.
#[derive(Debug, Default)]
pub struct Inspector {
    head: Vec<u8>,
    text: TextScan,
    container: Container,
    active: markup::ActiveScan,
    bytes: u64,
}

#[derive(Debug, Default)]
enum Container {
    /// Fewer bytes than a signature has were seen.
    #[default]
    Undecided,
    None,
    Zip(Archive),
    Compound(Box<Compound>),
}

impl Inspector {
    /// An inspector that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Inspector::default()
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = HEAD - self.head.len();
        self.head.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.text.push(bytes);
        self.active.push(bytes);
        if let Container::Undecided = self.container
            && self.head.len() >= super::container::SIGNATURE_BYTES
        {
            // What came before this chunk is in the head still, because a signature is short.
            self.container = if Archive::begins(&self.head) {
                Container::Zip(Archive::default())
            } else if Compound::begins(&self.head) {
                Container::Compound(Box::default())
            } else {
                Container::None
            };
            let earlier = (self.bytes - bytes.len() as u64) as usize;
            let before = self.head[..earlier].to_vec();
            self.push_container(&before);
        }
        self.push_container(bytes);
    }

    fn push_container(&mut self, bytes: &[u8]) {
        match &mut self.container {
            Container::Zip(archive) => archive.push(bytes),
            Container::Compound(compound) => compound.push(bytes),
            Container::Undecided | Container::None => {}
        }
    }

    /// How many bytes were seen.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the file is. `extension` is the one of its name, in lower case.
    #[must_use]
    pub fn finish(self, extension: &str) -> Detected {
        let is_text = self.text.is_text();
        let detected = self.by_content(is_text, extension);
        if detected.dangerous {
            return detected;
        }
        if PROGRAMS.contains(&extension) {
            return Detected::dangerous("application/x-executable");
        }
        if is_text && HTML.contains(&extension) {
            return Detected::dangerous("text/html");
        }
        detected
    }

    fn by_content(&self, is_text: bool, extension: &str) -> Detected {
        match &self.container {
            Container::Zip(archive) => return archive.finish(&self.head),
            Container::Compound(compound) => return compound.finish(),
            Container::Undecided | Container::None => {}
        }
        if self.head.starts_with(b"%PDF-") {
            return Detected::of(FileKind::Pdf);
        }
        if self.head.starts_with(b"{\\rtf") {
            return Detected::of(FileKind::Rtf);
        }
        if is_text { self.as_text(extension) } else { self.as_binary() }
    }

    fn as_text(&self, extension: &str) -> Detected {
        let text = self.text.decoded(&self.head);
        match markup::of(&text) {
            Markup::Script => return Detected::dangerous("text/x-script"),
            Markup::Html => return Detected::dangerous("text/html"),
            Markup::Svg if self.active.is_active() || self.text.is_wide() => {
                return Detected { dangerous: true, ..Detected::of(FileKind::Svg) };
            }
            Markup::Svg => return Detected::of(FileKind::Svg),
            Markup::None => {}
        }
        let named = FileKind::of_extension(extension)
            .filter(|kind| kind.form() == Form::Text && *kind != FileKind::Svg);
        Detected::of(named.unwrap_or(FileKind::Txt))
    }

    fn as_binary(&self) -> Detected {
        if let Some(found) = infer::get(&self.head) {
            if found.matcher_type() == infer::MatcherType::App
                && !matches!(found.extension(), "der" | "pem" | "qcow2")
                || matches!(found.extension(), "deb" | "rpm" | "crx" | "sh")
            {
                return Detected::dangerous("application/x-executable");
            }
            let known = FileKind::ALL.iter().find(|kind| {
                kind.form() == Form::Binary
                    && (kind.media_type() == found.mime_type() || same_type(**kind, found.mime_type()))
            });
            if let Some(kind) = known {
                return Detected::of(*kind);
            }
            if found.mime_type() != "text/plain" && found.mime_type() != "text/html" {
                return Detected::other(found.mime_type());
            }
        }
        let begin = &self.head[..self.head.len().min(PDF_WITHIN)];
        if begin.windows(5).any(|five| five == b"%PDF-") {
            return Detected::of(FileKind::Pdf);
        }
        if is_shortcut(&self.head) {
            return Detected::dangerous("application/x-ms-shortcut");
        }
        if markup::of(&String::from_utf8_lossy(&self.head)) == Markup::Script {
            return Detected::dangerous("text/x-script");
        }
        Detected::of(FileKind::Other)
    }
}

/// Other names under which the types are known.
fn same_type(kind: FileKind, media_type: &str) -> bool {
    match kind {
        FileKind::Heic => media_type == "image/heif",
        FileKind::M4a => media_type == "audio/m4a",
        FileKind::Wav => media_type == "audio/x-wav",
        FileKind::Ogg => matches!(media_type, "video/ogg" | "audio/opus"),
        FileKind::Bmp => media_type == "image/x-ms-bmp",
        FileKind::Mp4 => matches!(media_type, "video/x-m4v" | "video/m4v"),
        _ => false,
    }
}

/// A shortcut of Windows, which starts programs.
fn is_shortcut(head: &[u8]) -> bool {
    head.starts_with(&[0x4c, 0, 0, 0, 0x01, 0x14, 0x02, 0])
}

/// Bytes of a text that are looked at together.
const SCANNED_AT_ONCE: usize = 4_096;

/// Whether bytes are text: no control characters but TAB, LF, FF, CR and ESC, in an encoding of single bytes, in UTF-8,
/// or in UTF-16 with its mark.
#[derive(Debug, Default)]
struct TextScan {
    begin: Vec<u8>,
    width: Width,
    odd: Option<u8>,
    binary: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Width {
    #[default]
    Unknown,
    Bytes,
    LittleEndian,
    BigEndian,
}

impl TextScan {
    fn push(&mut self, bytes: &[u8]) {
        if self.width == Width::Unknown {
            self.begin.extend_from_slice(bytes);
            self.width = match *self.begin.as_slice() {
                [] | [_] => return,
                [0xff, 0xfe, ..] => Width::LittleEndian,
                [0xfe, 0xff, ..] => Width::BigEndian,
                _ => Width::Bytes,
            };
            let begin = std::mem::take(&mut self.begin);
            self.scan(&begin);
        } else {
            self.scan(bytes);
        }
    }

    fn scan(&mut self, bytes: &[u8]) {
        if self.binary {
            return;
        }
        match self.width {
            Width::Unknown | Width::Bytes => {
                // Every byte of a part is looked at, without a way out in between, so that many are at once.
                self.binary = bytes
                    .chunks(SCANNED_AT_ONCE)
                    .any(|part| part.iter().fold(false, |found, byte| found | is_binary_byte(*byte)));
            }
            Width::LittleEndian | Width::BigEndian => {
                for byte in bytes {
                    match self.odd.take() {
                        None => self.odd = Some(*byte),
                        Some(first) => {
                            let pair = [first, *byte];
                            let unit = if self.width == Width::LittleEndian {
                                u16::from_le_bytes(pair)
                            } else {
                                u16::from_be_bytes(pair)
                            };
                            self.binary |= is_binary(unit);
                        }
                    }
                }
            }
        }
    }

    fn is_wide(&self) -> bool {
        matches!(self.width, Width::LittleEndian | Width::BigEndian)
    }

    fn is_text(&self) -> bool {
        let begin_is_text = !self.begin.iter().any(|byte| is_binary(u16::from(*byte)));
        !self.binary && self.odd.is_none() && begin_is_text
    }

    /// The beginning of the text in lower case, as far as the detection of markup needs it.
    fn decoded(&self, head: &[u8]) -> String {
        let unit: fn([u8; 2]) -> u16 = match self.width {
            Width::LittleEndian => u16::from_le_bytes,
            Width::BigEndian => u16::from_be_bytes,
            Width::Unknown | Width::Bytes => return String::from_utf8_lossy(head).to_lowercase(),
        };
        let units: Vec<u16> = head.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units).to_lowercase()
    }
}

/// The bytes that tell binary data from text (WHATWG MIME Sniffing, "binary data byte").
fn is_binary(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(is_binary_byte)
}

/// TAB, LF, FF, CR and ESC are the control characters of text. Without branches: it is asked of every byte of a file.
const fn is_binary_byte(byte: u8) -> bool {
    (byte < 0x20) & (byte != 0x09) & (byte != 0x0a) & (byte != 0x0c) & (byte != 0x0d) & (byte != 0x1b)
}

#[cfg(test)]
mod tests;
