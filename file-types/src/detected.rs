//! The detected type of a file.

use super::kind::FileKind;

/// What a file turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The type.
    pub kind: FileKind,
    /// The media type, which tells more than [`FileKind::Other`].
    pub media_type: &'static str,
    /// Whether it is a program, a script, HTML or active SVG: refused under any name and any setting.
    pub dangerous: bool,
}

impl Detected {
    pub(super) fn of(kind: FileKind) -> Self {
        Detected { kind, media_type: kind.media_type(), dangerous: false }
    }

    pub(super) fn other(media_type: &'static str) -> Self {
        Detected { kind: FileKind::Other, media_type, dangerous: false }
    }

    pub(super) fn dangerous(media_type: &'static str) -> Self {
        Detected { kind: FileKind::Other, media_type, dangerous: true }
    }
}
