//! A file while it is uploaded: its bytes as they arrive, and a summary at the end (contract 2.2, 5.1, 5.5).

mod digest;

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use sha2::{Digest, Sha256};

pub use form_data::Piece;

use self::digest::PartDigest;
use super::{Detected, FileName, Inspector, Sha256Digest};
use crate::json::Json;
use crate::ports::BlockingExecutor;
use crate::reply::{ApiError, ErrorCode};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};

/// The part that holds the file.
const FILE_PART: &str = "file";

/// What a body may hold beyond the file, in bytes (contract 9).
pub(crate) const MAX_BEYOND_FILE: u64 = 1024 * 1024;

/// Bytes that are retained of a part that should not be there: enough for the 256 characters that its fault repeats.
pub(crate) const ECHOED_BYTES: usize = 257 * 4;

/// The bytes of a body; its errors are answers already.
pub type BodyStream = form_data::BodyStream<ApiError>;
/// The part of a form that holds a file.
pub type FilePart = form_data::FilePart<ApiError>;
/// A form being read.
pub type Form = form_data::Form<ApiError>;

impl form_data::FormError for ApiError {
    fn malformed(reason: &str) -> Self {
        ApiError::new(ErrorCode::BadRequest, format!("The multipart body cannot be read: {reason}"))
    }
}

/// A file on its way in. [`Upload::chunk`] gives its bytes as they arrive, [`Upload::finish`] tells what came; nothing
/// is held in memory as a whole.
pub struct Upload {
    source: Source,
    max_bytes: u64,
    part: Part,
    digest: PartDigest,
    fingerprint: Sha256,
    file_parts: u32,
    sent_name: Option<String>,
    inspector: Inspector,
    file: Option<(u64, Sha256Digest)>,
    faults: Violations,
}

/// Bytes of a file that does not come in a form.
type ByteStream = Pin<Box<dyn Stream<Item = Result<Bytes, ApiError>> + Send>>;

enum Source {
    /// No body at all.
    Absent,
    Form(Box<Form>),
    Stream(ByteStream),
}

/// The part that is being read.
enum Part {
    None,
    /// The file.
    File,
    /// A file part after the first.
    Repeated,
    /// A part that is not declared; the begin of its text.
    Unknown {
        name: String,
        text: Option<Vec<u8>>,
    },
}

/// A file that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedFile {
    /// Its name.
    pub name: FileName,
    /// Its length in bytes, at least 1.
    pub size: u64,
    /// SHA-256 of its content.
    pub sha256: Sha256Digest,
    /// What it is, by its content.
    pub detected: Detected,
}

/// What an upload came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The file; none when the part is missing, repeated or empty, which the faults say.
    pub file: Option<ReceivedFile>,
    /// What is wrong with the form.
    pub faults: Violations,
    /// SHA-256 of the names of the parts, in order, with the digests of their contents (contract 5.5).
    pub fingerprint: [u8; 32],
}

impl Upload {
    fn new(source: Source, max_bytes: u64) -> Self {
        Upload {
            source,
            max_bytes,
            part: Part::None,
            digest: PartDigest::new(),
            fingerprint: Sha256::new(),
            file_parts: 0,
            sent_name: None,
            inspector: Inspector::new(),
            file: None,
            faults: Violations::new(),
        }
    }

    /// A file without a form around it, for [`Api::call`](crate::api::Api::call): its name as given, its bytes in
    /// chunks of any size. More than `max_bytes` are refused as FILE_TOO_LARGE.
    pub fn of_bytes(
        name: Option<&str>,
        bytes: impl Stream<Item = Result<Bytes, ApiError>> + Send + 'static,
        max_bytes: u64,
    ) -> Self {
        let mut upload = Upload::new(Source::Stream(Box::pin(bytes)), max_bytes);
        upload.begin(FILE_PART.to_owned(), name.map(str::to_owned), true);
        upload
    }

    /// No body.
    pub fn absent() -> Self {
        Upload::new(Source::Absent, 0)
    }

    /// A form with the file in [`Upload::part`].
    pub(crate) fn of_form(form: Form, max_bytes: u64) -> Self {
        Upload::new(Source::Form(Box::new(form)), max_bytes)
    }

    /// The part of a form that holds the file.
    pub fn part(max_bytes: u64) -> FilePart {
        FilePart { name: FILE_PART, max_bytes, max_beyond: MAX_BEYOND_FILE, too_large: file_too_large }
    }

    /// The rest of a form whose file part has just begun.
    pub fn of_begun_form(form: Form, file_name: Option<String>) -> Self {
        let max_bytes = form.max_bytes();
        let mut upload = Upload::of_form(form, max_bytes);
        upload.begin(FILE_PART.to_owned(), file_name, true);
        upload
    }

    /// Hashes large pieces on this executor while it reads the next ones; without it, hashes every piece where it is
    /// read.
    pub fn offload_to(&mut self, offload: Arc<dyn BlockingExecutor>) {
        self.digest.offload_to(offload);
    }

    /// The name as sent, known as soon as the first bytes of the file are.
    #[must_use]
    pub fn sent_name(&self) -> Option<&str> {
        self.sent_name.as_deref()
    }

    /// The next bytes of the file; `None` when everything has arrived, what follows the file included.
    ///
    /// # Errors
    /// What step 8 of contract 6.3 answers: BAD_REQUEST for broken framing, FILE_TOO_LARGE, REQUEST_TIMEOUT.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            match self.next_piece().await? {
                Some(Piece::Part { name, file_name, is_file }) => {
                    self.end_part().await?;
                    self.begin(name, file_name, is_file);
                }
                Some(Piece::Bytes(bytes)) => {
                    self.digest.update(&bytes).await?;
                    match &mut self.part {
                        Part::File => {
                            self.inspector.push(&bytes);
                            if self.inspector.bytes() > self.max_bytes {
                                return Err(file_too_large(self.max_bytes, None));
                            }
                            return Ok(Some(bytes));
                        }
                        Part::Unknown { text: Some(text), .. } => {
                            let room = ECHOED_BYTES.saturating_sub(text.len());
                            text.extend_from_slice(&bytes[..room.min(bytes.len())]);
                        }
                        Part::None | Part::Repeated | Part::Unknown { text: None, .. } => {}
                    }
                }
                None => {
                    self.end_part().await?;
                    return Ok(None);
                }
            }
        }
    }

    async fn next_piece(&mut self) -> Result<Option<Piece>, ApiError> {
        match &mut self.source {
            Source::Absent => Ok(None),
            Source::Form(form) => form.piece().await,
            Source::Stream(bytes) => {
                let next = poll_fn(|cx| bytes.as_mut().poll_next(cx)).await;
                Ok(next.transpose()?.map(Piece::Bytes))
            }
        }
    }

    fn begin(&mut self, name: String, file_name: Option<String>, is_file: bool) {
        self.fingerprint.update((name.len() as u64).to_be_bytes());
        self.fingerprint.update(&name);
        self.part = if name != FILE_PART {
            Part::Unknown { name, text: (!is_file).then(Vec::new) }
        } else if self.file_parts == 0 {
            self.file_parts = 1;
            self.sent_name = file_name;
            Part::File
        } else {
            if self.file_parts == 1 {
                let fault = ValidationIssue::new(ValidationCode::MaxItems, "may be given only once");
                self.faults.push(ValidationError::new(Location::Form, FILE_PART, None, fault));
            }
            self.file_parts += 1;
            Part::Repeated
        };
    }

    async fn end_part(&mut self) -> Result<(), ApiError> {
        if let Part::None = self.part {
            return Ok(());
        }
        let digest = self.digest.finish().await?;
        let part = std::mem::replace(&mut self.part, Part::None);
        self.fingerprint.update(digest);
        match part {
            Part::File => {
                let bytes = self.inspector.bytes();
                if bytes == 0 {
                    let fault = ValidationIssue::new(ValidationCode::Minimum, "must not be empty");
                    self.faults.push(ValidationError::new(Location::Form, FILE_PART, None, fault));
                }
                self.file = Some((bytes, Sha256Digest(digest)));
            }
            Part::Unknown { name, text } => {
                let value = text.and_then(|text| echo(&text)).map(Json::String);
                let fault = ValidationIssue::new(ValidationCode::Unknown, "is not a part of this form");
                self.faults.push(ValidationError::new(Location::Form, name, value.as_ref(), fault));
            }
            Part::None | Part::Repeated => {}
        }
        Ok(())
    }

    /// What came, once [`Upload::chunk`] has given `None`; before that it is as if no file had come.
    #[must_use]
    pub fn finish(mut self) -> Received {
        let file = self.file.filter(|(size, _)| *size > 0 && self.file_parts == 1).map(|(size, sha256)| {
            let sent = self.sent_name.as_deref();
            let detected = self.inspector.finish(&FileName::of_sent(sent, "").extension());
            ReceivedFile { name: FileName::of_sent(sent, detected.kind.extension()), size, sha256, detected }
        });
        if self.file_parts == 0 {
            self.faults.push(ValidationError::new(
                Location::Form,
                FILE_PART,
                None,
                ValidationIssue::required(),
            ));
        }
        Received { file, faults: self.faults, fingerprint: self.fingerprint.finalize().into() }
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("bytes", &self.inspector.bytes()).finish_non_exhaustive()
    }
}

/// The begin of a text as a fault repeats it; what was cut within a character loses that character.
pub(crate) fn echo(bytes: &[u8]) -> Option<String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok().map(str::to_owned)
        }
        Err(_) => None,
    }
}

/// 413 of a file, and of a form that has too much besides it.
fn file_too_large(limit: u64, declared: Option<u64>) -> ApiError {
    let actual = declared.map_or(Json::Null, |bytes| Json::Number(bytes.into()));
    ApiError::new(ErrorCode::FileTooLarge, format!("The file exceeds {limit} bytes"))
        .with_detail("limit", limit)
        .with_detail("actual", actual)
        .with_detail("unit", "bytes")
}
