//! Types of files: those that the service detects, and those that an operator allows (contract 2.2).

use std::collections::BTreeSet;

/// How a type is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By what it begins with or holds.
    Binary,
    /// Text; distinguished from other text by the extension of the name.
    Text,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $extension:literal $media_type:literal $form:ident,)*) => {
        /// A type of file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FileKind {
            $($(#[$doc])* $name,)*
        }

        impl FileKind {
            /// Every type that is distinguished.
            pub const ALL: &'static [FileKind] = &[$(FileKind::$name),*];

            /// The extension that names the type, without its dot.
            #[must_use]
            pub const fn extension(self) -> &'static str {
                match self { $(FileKind::$name => $extension,)* }
            }

            /// The media type.
            #[must_use]
            pub const fn media_type(self) -> &'static str {
                match self { $(FileKind::$name => $media_type,)* }
            }

            pub(super) const fn form(self) -> Form {
                match self { $(FileKind::$name => Form::$form,)* }
            }
        }
    };
}

kinds! {
    /// Portable Document Format.
    Pdf "pdf" "application/pdf" Binary,
    /// Word, before 2007.
    Doc "doc" "application/msword" Binary,
    /// Word.
    Docx "docx" "application/vnd.openxmlformats-officedocument.wordprocessingml.document" Binary,
    /// Excel, before 2007.
    Xls "xls" "application/vnd.ms-excel" Binary,
    /// Excel.
    Xlsx "xlsx" "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" Binary,
    /// PowerPoint, before 2007.
    Ppt "ppt" "application/vnd.ms-powerpoint" Binary,
    /// PowerPoint.
    Pptx "pptx" "application/vnd.openxmlformats-officedocument.presentationml.presentation" Binary,
    /// OpenDocument text.
    Odt "odt" "application/vnd.oasis.opendocument.text" Binary,
    /// OpenDocument spreadsheet.
    Ods "ods" "application/vnd.oasis.opendocument.spreadsheet" Binary,
    /// OpenDocument presentation.
    Odp "odp" "application/vnd.oasis.opendocument.presentation" Binary,
    /// Rich Text Format.
    Rtf "rtf" "application/rtf" Binary,
    /// Plain text, and text whose extension says nothing.
    Txt "txt" "text/plain" Text,
    /// Comma-separated values.
    Csv "csv" "text/csv" Text,
    /// Markdown.
    Md "md" "text/markdown" Text,
    /// JSON.
    Json "json" "application/json" Text,
    /// XML.
    Xml "xml" "application/xml" Text,
    /// A message (RFC 5322).
    Eml "eml" "message/rfc822" Text,
    /// An Outlook message.
    Msg "msg" "application/vnd.ms-outlook" Binary,
    /// A ZIP archive that is none of the documents above.
    Zip "zip" "application/zip" Binary,
    /// JPEG.
    Jpeg "jpeg" "image/jpeg" Binary,
    /// PNG.
    Png "png" "image/png" Binary,
    /// GIF.
    Gif "gif" "image/gif" Binary,
    /// WebP.
    Webp "webp" "image/webp" Binary,
    /// TIFF.
    Tiff "tiff" "image/tiff" Binary,
    /// Windows bitmap.
    Bmp "bmp" "image/bmp" Binary,
    /// HEIF with HEVC.
    Heic "heic" "image/heic" Binary,
    /// MPEG audio.
    Mp3 "mp3" "audio/mpeg" Binary,
    /// MPEG-4 audio.
    M4a "m4a" "audio/mp4" Binary,
    /// WAVE.
    Wav "wav" "audio/wav" Binary,
    /// Ogg.
    Ogg "ogg" "audio/ogg" Binary,
    /// MPEG-4 video.
    Mp4 "mp4" "video/mp4" Binary,
    /// QuickTime.
    Mov "mov" "video/quicktime" Binary,
    /// WebM.
    Webm "webm" "video/webm" Binary,
    /// An SVG drawing without active content; only where an operator admits everything.
    Svg "svg" "image/svg+xml" Text,
    /// Anything else; only where an operator admits everything.
    Other "bin" "application/octet-stream" Binary,
}

impl FileKind {
    /// The type of this extension or one of its other spellings.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<Self> {
        let extension = match extension.to_ascii_lowercase().as_str() {
            "jpg" | "jpe" => "jpeg".to_owned(),
            "tif" => "tiff".to_owned(),
            "markdown" => "md".to_owned(),
            "oga" | "ogv" | "opus" => "ogg".to_owned(),
            "heif" => "heic".to_owned(),
            other => other.to_owned(),
        };
        FileKind::ALL.iter().copied().find(|kind| kind.extension() == extension && *kind != FileKind::Other)
    }

    /// The type of a stored media type.
    #[must_use]
    pub fn of_media_type(media_type: &str) -> Self {
        FileKind::ALL.iter().copied().find(|kind| kind.media_type() == media_type).unwrap_or(FileKind::Other)
    }

    /// Whether a browser may show it in place of saving it: PDF, images, audio, video and plain text (contract 2.2).
    #[must_use]
    pub fn is_displayable(self) -> bool {
        let media_type = self.media_type();
        matches!(self, FileKind::Pdf | FileKind::Txt)
            || self != FileKind::Svg
                && ["image/", "audio/", "video/"].iter().any(|family| media_type.starts_with(family))
    }

    /// Whether it is admitted unless an operator says otherwise.
    #[must_use]
    pub fn is_usual(self) -> bool {
        !matches!(self, FileKind::Svg | FileKind::Other)
    }
}

/// Which types of files are accepted: the operator's setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileTypes {
    /// These.
    Listed(BTreeSet<FileKind>),
    /// All but executables, scripts, HTML and active SVG, which are refused under any setting.
    Any,
}

impl Default for FileTypes {
    /// The list of contract 2.2.
    fn default() -> Self {
        FileTypes::Listed(FileKind::ALL.iter().copied().filter(|kind| kind.is_usual()).collect())
    }
}

/// A list of file types that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidFileTypes {
    /// No type has this extension.
    #[error("'{0}' is no type of file; give extensions such as pdf,docx,png, or * for all")]
    Unknown(String),
    /// Nothing would be accepted.
    #[error("the list of file types is empty; give extensions such as pdf,docx,png, or * for all")]
    Empty,
}

impl FileTypes {
    /// Whether files of a type are accepted.
    #[must_use]
    pub fn allow(&self, kind: FileKind) -> bool {
        match self {
            FileTypes::Listed(kinds) => kinds.contains(&kind),
            FileTypes::Any => true,
        }
    }

    /// The media types that are accepted, for the answer to a type that is not; empty when all are.
    #[must_use]
    pub fn media_types(&self) -> Vec<&'static str> {
        match self {
            FileTypes::Listed(kinds) => kinds.iter().map(|kind| kind.media_type()).collect(),
            FileTypes::Any => Vec::new(),
        }
    }
}

impl std::str::FromStr for FileTypes {
    type Err = InvalidFileTypes;

    /// Reads `*`, or extensions separated by commas.
    fn from_str(text: &str) -> Result<Self, InvalidFileTypes> {
        if text.trim() == "*" {
            return Ok(FileTypes::Any);
        }
        let words =
            text.split(',').map(|word| word.trim().trim_start_matches('.')).filter(|word| !word.is_empty());
        let kinds: BTreeSet<FileKind> = words
            .map(|word| {
                FileKind::of_extension(word).ok_or_else(|| InvalidFileTypes::Unknown(word.to_owned()))
            })
            .collect::<Result<_, _>>()?;
        if kinds.is_empty() { Err(InvalidFileTypes::Empty) } else { Ok(FileTypes::Listed(kinds)) }
    }
}

impl std::fmt::Display for FileTypes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileTypes::Any => f.write_str("*"),
            FileTypes::Listed(kinds) => {
                let words: Vec<&str> = kinds.iter().map(|kind| kind.extension()).collect();
                f.write_str(&words.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contracts_list() {
        let list = "pdf, doc, docx, xls, xlsx, ppt, pptx, odt, ods, odp, rtf, txt, csv, md, json, xml, eml, msg, zip, jpeg, \
                    png, gif, webp, tiff, bmp, heic, mp3, m4a, wav, ogg, mp4, mov, webm";
        assert_eq!(list.parse(), Ok(FileTypes::default()));
        assert_eq!(FileTypes::default().to_string().parse(), Ok(FileTypes::default()));
        assert!(!FileTypes::default().allow(FileKind::Svg) && FileTypes::Any.allow(FileKind::Other));
    }

    #[test]
    fn settings_are_read() {
        let kinds = |text: &str| text.parse::<FileTypes>();
        assert_eq!(kinds(" * "), Ok(FileTypes::Any));
        assert_eq!(kinds(".JPG,tif"), Ok(FileTypes::Listed([FileKind::Jpeg, FileKind::Tiff].into())));
        assert_eq!(kinds("pdf,exe"), Err(InvalidFileTypes::Unknown("exe".to_owned())));
        assert_eq!(kinds(" , "), Err(InvalidFileTypes::Empty));
    }

    #[test]
    fn only_harmless_types_are_displayed() {
        let shown: Vec<_> = FileKind::ALL.iter().filter(|kind| kind.is_displayable()).collect();
        assert!(
            shown.contains(&&FileKind::Pdf)
                && shown.contains(&&FileKind::Txt)
                && shown.contains(&&FileKind::Mp4)
        );
        assert!(
            !shown.contains(&&FileKind::Svg)
                && !shown.contains(&&FileKind::Xml)
                && !shown.contains(&&FileKind::Csv)
        );
    }

    #[test]
    fn media_types_lead_back() {
        for kind in FileKind::ALL {
            assert_eq!(FileKind::of_media_type(kind.media_type()), *kind);
        }
        assert_eq!(FileKind::of_media_type("text/html"), FileKind::Other);
    }
}
