//! The form of an extraction: the document, the schema and the options (contract 12.1).

use std::fmt;

use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};

use super::extractor::SentDocument;
use super::schema::ExtractionSchema;
use crate::files::{ECHOED_BYTES, FileName, FilePart, Form, MAX_BEYOND_FILE, Piece, Sha256Digest, echo};
use crate::json::Json;
use crate::reply::{ApiError, ErrorCode};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{Block, TextValue, parse_boolean};

/// The part that holds the document.
const DOCUMENT: &str = "document";
/// The other parts.
const SCHEMA: &str = "schema";
const INSTRUCTIONS: &str = "customInstructions";
const SAVE: &str = "saveToStorage";

/// The form of an extraction, before it is read.
#[derive(Default)]
pub struct DocumentForm(Source);

#[derive(Default)]
enum Source {
    /// No body at all.
    #[default]
    Absent,
    Form(Box<Form>),
    Given(SentParts),
}

/// The parts of a form for [`Api::call`](crate::api::Api::call), where there is no form to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentParts {
    /// The document and its name.
    pub document: Option<SentDocument>,
    /// The part `schema`.
    pub schema: Option<Bytes>,
    /// The part `customInstructions`.
    pub custom_instructions: Option<Bytes>,
    /// The part `saveToStorage`.
    pub save_to_storage: Option<Bytes>,
}

/// What a form came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedForm {
    /// The document with its SHA-256; none when the part is missing, repeated or empty, which the faults say.
    pub document: Option<(SentDocument, Sha256Digest)>,
    /// What is to be found; none when the part is missing, repeated or no schema, which the faults say.
    pub schema: Option<ExtractionSchema>,
    /// Guidance of the caller.
    pub instructions: Option<Block<4_000>>,
    /// Whether to retain the document.
    pub save_to_storage: bool,
    /// What is wrong with the form.
    pub faults: Violations,
    /// SHA-256 of the names of the parts, in order, with the digests of their contents (contract 5.5).
    pub fingerprint: [u8; 32],
}

/// The part that is being read.
struct Part {
    name: String,
    file_name: Option<String>,
    is_file: bool,
    /// How often its name was there before.
    earlier: usize,
    bytes: BytesMut,
    digest: Sha256,
}

impl DocumentForm {
    /// A form.
    pub(crate) fn of_form(form: Form) -> Self {
        DocumentForm(Source::Form(Box::new(form)))
    }

    /// The parts of a form, of a host that has them.
    #[must_use]
    pub fn of_parts(parts: SentParts) -> Self {
        DocumentForm(Source::Given(parts))
    }

    /// The part of a form that holds the document.
    pub(crate) fn part(max_bytes: u64) -> FilePart {
        FilePart {
            name: DOCUMENT,
            max_bytes,
            max_beyond: MAX_BEYOND_FILE,
            too_large: |limit, actual| {
                let actual = actual.map_or(Json::Null, |bytes| Json::Number(bytes.into()));
                document_too_large("bytes", limit, actual)
            },
        }
    }

    /// Reads all of the form. The whole document is then in memory: `admit` receives the number of bytes before they
    /// are stored, and ends the reading with an error if there is no room for them.
    ///
    /// # Errors
    /// What step 8 of contract 6.3 answers: BAD_REQUEST for broken framing, DOCUMENT_TOO_LARGE, REQUEST_TIMEOUT; and
    /// what `admit` says.
    pub async fn receive(
        self,
        admit: &mut (dyn FnMut(usize) -> Result<(), ApiError> + Send),
    ) -> Result<ReceivedForm, ApiError> {
        let mut receipt = Receipt::new();
        match self.0 {
            Source::Absent => {}
            Source::Given(parts) => receipt.take_parts(parts),
            Source::Form(mut form) => {
                while let Some(piece) = form.piece().await? {
                    if let Piece::Bytes(bytes) = &piece {
                        admit(bytes.len())?;
                    }
                    receipt.take(piece, form.max_bytes())?;
                }
            }
        }
        Ok(receipt.finish())
    }
}

impl fmt::Debug for DocumentForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentForm").finish_non_exhaustive()
    }
}

/// 413 of a document.
pub(crate) fn document_too_large(unit: &'static str, limit: u64, actual: Json) -> ApiError {
    ApiError::new(ErrorCode::DocumentTooLarge, format!("The document has more than {limit} {unit}"))
        .with_detail("limit", limit)
        .with_detail("actual", actual)
        .with_detail("unit", unit)
}

/// A form while it arrives.
struct Receipt {
    part: Option<Part>,
    seen: Vec<String>,
    fingerprint: Sha256,
    received: ReceivedForm,
}

impl Receipt {
    fn new() -> Self {
        Receipt {
            part: None,
            seen: Vec::new(),
            fingerprint: Sha256::new(),
            received: ReceivedForm {
                document: None,
                schema: None,
                instructions: None,
                save_to_storage: false,
                faults: Violations::new(),
                fingerprint: [0; 32],
            },
        }
    }

    fn take_parts(&mut self, parts: SentParts) {
        let SentParts { document, schema, custom_instructions, save_to_storage } = parts;
        if let Some(SentDocument { content, file_name }) = document {
            self.begin(DOCUMENT.to_owned(), Some(file_name), true);
            self.push(&content);
        }
        for (name, content) in
            [(SCHEMA, schema), (INSTRUCTIONS, custom_instructions), (SAVE, save_to_storage)]
        {
            if let Some(content) = content {
                self.begin(name.to_owned(), None, false);
                self.push(&content);
            }
        }
    }

    fn take(&mut self, piece: Piece, max_bytes: u64) -> Result<(), ApiError> {
        match piece {
            Piece::Part { name, file_name, is_file } => self.begin(name, file_name, is_file),
            Piece::Bytes(bytes) => {
                self.push(&bytes);
                let is_too_large = |part: &Part| part.name == DOCUMENT && part.bytes.len() as u64 > max_bytes;
                if self.part.as_ref().is_some_and(is_too_large) {
                    return Err(document_too_large("bytes", max_bytes, Json::Null));
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, name: String, file_name: Option<String>, is_file: bool) {
        self.end();
        let earlier = self.seen.iter().filter(|seen| **seen == name).count();
        // Twice is enough to know.
        if earlier < 2 && [DOCUMENT, SCHEMA, INSTRUCTIONS, SAVE].contains(&name.as_str()) {
            self.seen.push(name.clone());
        }
        let (bytes, digest) = (BytesMut::new(), Sha256::new());
        self.part = Some(Part { name, file_name, is_file, earlier, bytes, digest });
    }

    fn push(&mut self, bytes: &[u8]) {
        let Some(part) = &mut self.part else { return };
        part.digest.update(bytes);
        let is_known = self.seen.contains(&part.name) && part.earlier == 0;
        let room = if is_known { usize::MAX } else { ECHOED_BYTES.saturating_sub(part.bytes.len()) };
        part.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// Takes the part that has ended for what it is.
    fn end(&mut self) {
        let Some(Part { name, file_name, is_file, earlier, bytes, digest }) = self.part.take() else {
            return;
        };
        let digest: [u8; 32] = digest.finalize().into();
        self.fingerprint.update((name.len() as u64).to_be_bytes());
        self.fingerprint.update(&name);
        self.fingerprint.update(digest);
        let ReceivedForm { document, schema, instructions, save_to_storage, faults, .. } = &mut self.received;
        let mut fault = |value: Option<String>, fault: ValidationIssue| {
            faults.push(ValidationError::new(
                Location::Form,
                name.as_str(),
                value.map(Json::String).as_ref(),
                fault,
            ));
        };
        match name.as_str() {
            // A repeated name is one error.
            DOCUMENT | SCHEMA | INSTRUCTIONS | SAVE if earlier > 1 => {}
            DOCUMENT if earlier == 1 => {
                *document = None;
                fault(None, ValidationIssue::new(ValidationCode::MaxItems, "may be given only once"));
            }
            DOCUMENT if bytes.is_empty() => {
                fault(None, ValidationIssue::new(ValidationCode::Minimum, "must not be empty"));
            }
            DOCUMENT => {
                let file_name = FileName::of_sent(file_name.as_deref(), "bin").to_string();
                let sent = SentDocument { content: bytes.freeze(), file_name };
                *document = Some((sent, Sha256Digest(digest)));
            }
            SCHEMA | INSTRUCTIONS | SAVE if earlier == 1 => {
                fault(None, ValidationIssue::new(ValidationCode::Duplicate, "is given twice"));
            }
            SCHEMA => match ExtractionSchema::parse(&bytes) {
                Ok(read) => *schema = Some(read),
                Err(found) => faults.extend(found),
            },
            INSTRUCTIONS => match text(&bytes).map(|text| (text, Block::parse(text))) {
                Some((_, Ok(text))) => *instructions = Some(text),
                // Blank is none.
                Some((_, Err(blank))) if blank.rule == ValidationCode::Required => {}
                Some((text, Err(wrong))) => fault(Some(text.to_owned()), wrong),
                None => fault(None, ValidationIssue::new(ValidationCode::Format, "must be UTF-8")),
            },
            SAVE => match text(&bytes).map(|text| (text, parse_boolean(text))) {
                Some(("", _)) => {}
                Some((_, Some(save))) => *save_to_storage = save,
                Some((text, None)) => {
                    fault(Some(text.to_owned()), ValidationIssue::wrong_type("true or false"));
                }
                None => fault(None, ValidationIssue::wrong_type("true or false")),
            },
            _ => {
                let value = if is_file { None } else { echo(&bytes) };
                fault(value, ValidationIssue::new(ValidationCode::Unknown, "is not a part of this form"));
            }
        }
    }

    fn finish(mut self) -> ReceivedForm {
        self.end();
        for name in [DOCUMENT, SCHEMA] {
            if !self.seen.iter().any(|seen| seen == name) {
                self.received.faults.push(ValidationError::new(
                    Location::Form,
                    name,
                    None,
                    ValidationIssue::required(),
                ));
            }
        }
        ReceivedForm { fingerprint: self.fingerprint.finalize().into(), ..self.received }
    }
}

/// The text of a part, with a final line break taken off that some clients add.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().map(|text| text.trim_end_matches(['\r', '\n']))
}
