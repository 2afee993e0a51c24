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
use crate::values::{Block, ContactId, FileId, Invalid, Line, TextValue, parse_boolean};

/// The part that holds the document.
const DOCUMENT: &str = "document";
/// The other parts.
const SCHEMA: &str = "schema";
const INSTRUCTIONS: &str = "customInstructions";
const SAVE: &str = "saveToStorage";
/// The parts that only a queued extraction has.
const CONTACT: &str = "contactId";
const FILE: &str = "fileId";
const CLIENT: &str = "clientId";
const BATCH: &str = "batchId";

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
    /// The parts that only a queued extraction has, by their names.
    pub of_job: Vec<(String, Bytes)>,
}

/// The parts that only a queued extraction has (contract 12.5).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobParts {
    /// The contact whose file it is.
    pub contact: Option<ContactId>,
    /// That file.
    pub file: Option<FileId>,
    /// What the caller knows it by.
    pub client_id: Option<Line<256>>,
    /// The jobs that it belongs to.
    pub batch: Option<Line<64>>,
}

/// What a form came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedForm {
    /// The document with its SHA-256; none when the part is missing, repeated or empty, which the faults say.
    pub document: Option<(SentDocument, Sha256Digest)>,
    /// What is to be found; none when the part is missing, repeated or no schema, which the faults say.
    pub schema: Option<ExtractionSchema>,
    /// The schema, as it was sent.
    pub schema_text: String,
    /// What only a queued extraction has.
    pub job: JobParts,
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
        self.receive_into(Receipt::new(&[DOCUMENT, SCHEMA, INSTRUCTIONS, SAVE]), admit).await
    }

    /// The same of an extraction that is to be queued, which has [`JobParts`].
    ///
    /// # Errors
    /// Those of [`DocumentForm::receive`].
    pub async fn receive_job(
        self,
        admit: &mut (dyn FnMut(usize) -> Result<(), ApiError> + Send),
    ) -> Result<ReceivedForm, ApiError> {
        const PARTS: &[&str] = &[DOCUMENT, SCHEMA, INSTRUCTIONS, SAVE, CONTACT, FILE, CLIENT, BATCH];
        self.receive_into(Receipt::new(PARTS), admit).await
    }

    async fn receive_into(
        self,
        mut receipt: Receipt,
        admit: &mut (dyn FnMut(usize) -> Result<(), ApiError> + Send),
    ) -> Result<ReceivedForm, ApiError> {
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
    /// The parts that the form may have.
    parts: &'static [&'static str],
    part: Option<Part>,
    seen: Vec<String>,
    fingerprint: Sha256,
    received: ReceivedForm,
}

impl Receipt {
    fn new(parts: &'static [&'static str]) -> Self {
        Receipt {
            parts,
            part: None,
            seen: Vec::new(),
            fingerprint: Sha256::new(),
            received: ReceivedForm {
                document: None,
                schema: None,
                schema_text: String::new(),
                job: JobParts::default(),
                instructions: None,
                save_to_storage: false,
                faults: Violations::new(),
                fingerprint: [0; 32],
            },
        }
    }

    fn take_parts(&mut self, parts: SentParts) {
        let SentParts { document, schema, custom_instructions, save_to_storage, of_job } = parts;
        if let Some(SentDocument { content, file_name }) = document {
            self.begin(DOCUMENT.to_owned(), Some(file_name), true);
            self.push(&content);
        }
        let texts = [(SCHEMA, schema), (INSTRUCTIONS, custom_instructions), (SAVE, save_to_storage)];
        let texts = texts.into_iter().filter_map(|(name, content)| Some((name.to_owned(), content?)));
        for (name, content) in texts.chain(of_job) {
            self.begin(name, None, false);
            self.push(&content);
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
        if earlier < 2 && self.parts.contains(&name.as_str()) {
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
        let ReceivedForm {
            document, schema, schema_text, job, instructions, save_to_storage, faults, ..
        } = &mut self.received;
        let is_known = self.parts.contains(&name.as_str());
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
            _ if is_known && earlier > 1 => {}
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
            _ if is_known && earlier == 1 => {
                fault(None, ValidationIssue::new(ValidationCode::Duplicate, "is given twice"));
            }
            SCHEMA => match ExtractionSchema::parse(&bytes) {
                Ok(read) => {
                    *schema = Some(read);
                    *schema_text = String::from_utf8_lossy(&bytes).into_owned();
                }
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
            CONTACT | FILE | CLIENT | BATCH if is_known => {
                let read = match text(&bytes) {
                    Some(text) => job.read(&name, text).map_err(|wrong| (Some(text.to_owned()), wrong)),
                    None => Err((None, ValidationIssue::new(ValidationCode::Format, "must be UTF-8"))),
                };
                if let Err((value, wrong)) = read {
                    fault(value, wrong);
                }
            }
            _ => {
                let value = if is_file { None } else { echo(&bytes) };
                fault(value, ValidationIssue::new(ValidationCode::Unknown, "is not a part of this form"));
            }
        }
    }

    fn finish(mut self) -> ReceivedForm {
        self.end();
        let has = |name: &str| self.seen.iter().any(|seen| seen == name);
        let mut fault = |name: &str, fault: ValidationIssue| {
            self.received.faults.push(ValidationError::new(Location::Form, name, None, fault));
        };
        // The document, or the file of a contact that stands for it.
        let of_contact = [CONTACT, FILE].map(|name| (name, has(name)));
        if of_contact.iter().any(|(_, is_there)| *is_there) {
            if has(DOCUMENT) {
                let text = "cannot be given together with contactId and fileId";
                fault(DOCUMENT, ValidationIssue::new(ValidationCode::Conflict, text));
            }
            for (name, _) in of_contact.iter().filter(|(_, is_there)| !is_there) {
                fault(name, ValidationIssue::required());
            }
        } else if !has(DOCUMENT) {
            fault(DOCUMENT, ValidationIssue::required());
        }
        if !has(SCHEMA) {
            fault(SCHEMA, ValidationIssue::required());
        }
        ReceivedForm { fingerprint: self.fingerprint.finalize().into(), ..self.received }
    }
}

impl JobParts {
    /// Reads a part; blank text is none.
    fn read(&mut self, name: &str, text: &str) -> Result<(), ValidationIssue> {
        let text = text.trim();
        match name {
            _ if text.is_empty() => {}
            CONTACT => self.contact = Some(text.parse().map_err(|Invalid(wrong)| wrong)?),
            FILE => self.file = Some(text.parse().map_err(|Invalid(wrong)| wrong)?),
            CLIENT => self.client_id = Some(Line::parse(text)?),
            _ => self.batch = Some(Line::parse(text)?),
        }
        Ok(())
    }
}

/// The text of a part, with a final line break taken off that some clients add.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().map(|text| text.trim_end_matches(['\r', '\n']))
}
