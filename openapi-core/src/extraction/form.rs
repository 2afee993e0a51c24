//! The form of an extraction: the document, the schema and the options (contract 12.1).

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use sha2::{Digest, Sha256};

use super::extractor::SentDocument;
use super::form_files;
use super::schema::ExtractionSchema;
use crate::files::{ECHOED_BYTES, FileName, FilePart, Form, MAX_BEYOND_FILE, Piece, Sha256Digest, echo};
use crate::json::Json;
use crate::reply::{ApiError, ErrorCode};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{Block, ContactId, FileId, Invalid, Line, PlatformId, TextValue, parse_boolean};

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
const NOTIFY: &str = "notify";
/// The part of a batch that names files of contacts.
const FILES: &str = "files";

/// The most documents that a batch sends.
const MAX_DOCUMENTS: usize = 20;
/// The most bytes of the documents of a batch, in documents of the greatest size.
const LARGEST_OF_BATCH: u64 = 5;

/// The form of an extraction, before it is read.
#[derive(Default)]
pub struct DocumentForm(Source);

#[derive(Default)]
enum Source {
    /// No body at all.
    #[default]
    Absent,
    /// With the most bytes of a document.
    Form(Box<Form>, u64),
    Given(SentParts),
}

/// The parts of a form for [`Api::call`](crate::api::Api::call), where there is no form to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentParts {
    /// The documents and their names: one, or several of a batch.
    pub documents: Vec<SentDocument>,
    /// The part `schema`.
    pub schema: Option<Bytes>,
    /// The part `customInstructions`.
    pub custom_instructions: Option<Bytes>,
    /// The part `saveToStorage`.
    pub save_to_storage: Option<Bytes>,
    /// The parts that only queued extractions have, by their names.
    pub of_job: Vec<(String, Bytes)>,
}

/// The parts that only queued extractions have (contract 12.5).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobParts {
    /// The contact whose file it is.
    pub contact: Option<ContactId>,
    /// That file.
    pub file: Option<FileId>,
    /// The files of contacts that a batch names.
    pub files: Vec<(ContactId, FileId)>,
    /// What the caller knows it by.
    pub client_id: Option<Line<256>>,
    /// The jobs that it belongs to.
    pub batch: Option<Line<64>>,
    /// The webhook endpoint that alone receives the events of the ends.
    pub notify: Option<PlatformId>,
}

/// What a form came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedForm {
    /// The document with its SHA-256; none when the part is missing, repeated or empty, which the faults say, and of a
    /// batch, whose documents went to the [`DocumentSink`].
    pub document: Option<(SentDocument, Sha256Digest)>,
    /// What is to be found; none when the part is missing, repeated or no schema, which the faults say.
    pub schema: Option<ExtractionSchema>,
    /// The schema, as it was sent.
    pub schema_text: String,
    /// What only queued extractions have.
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

/// Takes the documents of a batch as they arrive.
#[async_trait]
pub trait DocumentSink: Send {
    /// Makes room for the next bytes of the form, which are held until their document was taken.
    ///
    /// # Errors
    /// The end of the reading.
    fn admit(&mut self, bytes: usize) -> Result<(), ApiError>;

    /// Takes the next document. One of a form that `is_refused` is only counted.
    ///
    /// # Errors
    /// The end of the reading.
    async fn take(
        &mut self,
        document: SentDocument,
        sha256: Sha256Digest,
        is_refused: bool,
    ) -> Result<(), ApiError>;
}

/// Only makes room: of a form with one document, which is held.
struct Held<'a>(&'a mut (dyn FnMut(usize) -> Result<(), ApiError> + Send));

#[async_trait]
impl DocumentSink for Held<'_> {
    fn admit(&mut self, bytes: usize) -> Result<(), ApiError> {
        (self.0)(bytes)
    }

    async fn take(&mut self, _: SentDocument, _: Sha256Digest, _: bool) -> Result<(), ApiError> {
        Ok(())
    }
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
    /// A form whose documents have at most so many bytes each.
    pub(crate) fn of_form(form: Form, max_bytes: u64) -> Self {
        DocumentForm(Source::Form(Box::new(form), max_bytes))
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

    /// The same of a form that holds several.
    pub(crate) fn parts(max_bytes: u64) -> FilePart {
        let max_bytes = max_bytes.saturating_mul(LARGEST_OF_BATCH);
        FilePart { max_bytes, too_large: documents_too_large, ..DocumentForm::part(max_bytes) }
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
        self.receive_into(Receipt::new(&[DOCUMENT, SCHEMA, INSTRUCTIONS, SAVE], 1), &mut Held(admit)).await
    }

    /// The same of an extraction that is to be queued, which has [`JobParts`].
    ///
    /// # Errors
    /// Those of [`DocumentForm::receive`].
    pub async fn receive_job(
        self,
        admit: &mut (dyn FnMut(usize) -> Result<(), ApiError> + Send),
    ) -> Result<ReceivedForm, ApiError> {
        const PARTS: &[&str] = &[DOCUMENT, SCHEMA, INSTRUCTIONS, SAVE, CONTACT, FILE, CLIENT, BATCH, NOTIFY];
        self.receive_into(Receipt::new(PARTS, 1), &mut Held(admit)).await
    }

    /// The same of a batch. Each document goes to the sink when it has arrived.
    ///
    /// # Errors
    /// Those of [`DocumentForm::receive`] and of the sink.
    pub async fn receive_batch(self, sink: &mut dyn DocumentSink) -> Result<ReceivedForm, ApiError> {
        const PARTS: &[&str] = &[DOCUMENT, SCHEMA, INSTRUCTIONS, SAVE, FILES, CLIENT, BATCH, NOTIFY];
        self.receive_into(Receipt::new(PARTS, MAX_DOCUMENTS), sink).await
    }

    async fn receive_into(
        self,
        mut receipt: Receipt,
        sink: &mut dyn DocumentSink,
    ) -> Result<ReceivedForm, ApiError> {
        match self.0 {
            Source::Absent => {}
            Source::Given(parts) => {
                for document in parts.documents {
                    receipt.begin(DOCUMENT.to_owned(), Some(document.file_name), true);
                    receipt.push(&document.content);
                    receipt.hand_over(sink).await?;
                }
                let texts = [(SCHEMA, parts.schema), (INSTRUCTIONS, parts.custom_instructions)];
                let texts = texts.into_iter().chain([(SAVE, parts.save_to_storage)]);
                let texts = texts.filter_map(|(name, content)| Some((name.to_owned(), content?)));
                for (name, content) in texts.chain(parts.of_job) {
                    receipt.begin(name, None, false);
                    receipt.push(&content);
                }
            }
            Source::Form(mut form, max_bytes) => {
                while let Some(piece) = form.piece().await? {
                    match piece {
                        Piece::Part { name, file_name, is_file } => {
                            receipt.hand_over(sink).await?;
                            receipt.begin(name, file_name, is_file);
                        }
                        Piece::Bytes(bytes) => {
                            sink.admit(bytes.len())?;
                            receipt.push(&bytes);
                            receipt.refuse_larger(max_bytes)?;
                        }
                    }
                }
            }
        }
        receipt.hand_over(sink).await?;
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

/// 413 of the documents of a batch together.
fn documents_too_large(limit: u64, actual: Option<u64>) -> ApiError {
    let message = format!("The documents have more than {limit} bytes in all");
    ApiError::new(ErrorCode::DocumentTooLarge, message)
        .with_detail("limit", limit)
        .with_detail("actual", actual.map_or(Json::Null, |bytes| Json::Number(bytes.into())))
        .with_detail("unit", "bytes")
}

/// A form while it arrives.
struct Receipt {
    /// The parts that the form may have.
    parts: &'static [&'static str],
    /// How many of them may be documents.
    max_documents: usize,
    part: Option<Part>,
    seen: Vec<String>,
    fingerprint: Sha256,
    received: ReceivedForm,
}

/// What is wrong with more documents than so many.
fn excess(most: usize) -> Cow<'static, str> {
    if most == 1 {
        "may be given only once".into()
    } else {
        format!("may be given at most {most} times").into()
    }
}

impl Receipt {
    fn new(parts: &'static [&'static str], max_documents: usize) -> Self {
        Receipt {
            parts,
            max_documents,
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

    /// How often a part may be given.
    fn most(&self, name: &str) -> usize {
        if name == DOCUMENT { self.max_documents } else { 1 }
    }

    fn refuse_larger(&self, max_bytes: u64) -> Result<(), ApiError> {
        let is_too_large = |part: &&Part| part.name == DOCUMENT && part.bytes.len() as u64 > max_bytes;
        let Some(part) = self.part.as_ref().filter(is_too_large) else { return Ok(()) };
        let error = document_too_large("bytes", max_bytes, Json::Null);
        Err(if self.max_documents > 1 { error.with_detail("index", part.earlier as u64) } else { error })
    }

    /// Ends the part, and passes a document of a batch on.
    async fn hand_over(&mut self, sink: &mut dyn DocumentSink) -> Result<(), ApiError> {
        self.end();
        if self.max_documents > 1
            && let Some((document, sha256)) = self.received.document.take()
        {
            sink.take(document, sha256, !self.received.faults.is_empty()).await?;
        }
        Ok(())
    }

    fn begin(&mut self, name: String, file_name: Option<String>, is_file: bool) {
        self.end();
        let earlier = self.seen.iter().filter(|seen| **seen == name).count();
        // Once too often is enough to know.
        if earlier <= self.most(&name) && self.parts.contains(&name.as_str()) {
            self.seen.push(name.clone());
        }
        let (bytes, digest) = (BytesMut::new(), Sha256::new());
        self.part = Some(Part { name, file_name, is_file, earlier, bytes, digest });
    }

    fn push(&mut self, bytes: &[u8]) {
        let Some(part) = &mut self.part else { return };
        part.digest.update(bytes);
        let most = if part.name == DOCUMENT { self.max_documents } else { 1 };
        let is_known = self.seen.contains(&part.name) && part.earlier < most;
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
        let (most, is_batch) = (self.most(&name), self.max_documents > 1);
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
            _ if is_known && earlier > most => {}
            DOCUMENT if earlier == most => {
                *document = None;
                fault(None, ValidationIssue::new(ValidationCode::MaxItems, excess(most)));
            }
            DOCUMENT if bytes.is_empty() => {
                let empty = ValidationIssue::new(ValidationCode::Minimum, "must not be empty");
                let field = if is_batch { format!("{DOCUMENT}[{earlier}]") } else { DOCUMENT.to_owned() };
                faults.push(ValidationError::new(Location::Form, field, None, empty));
            }
            DOCUMENT => {
                let file_name = FileName::of_sent(file_name.as_deref(), "bin").to_string();
                let sent = SentDocument { content: bytes.freeze(), file_name };
                *document = Some((sent, Sha256Digest(digest)));
            }
            _ if is_known && earlier == 1 && name != DOCUMENT => {
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
            FILES if is_known => job.files = form_files::read(FILES, &bytes, faults),
            CONTACT | FILE | CLIENT | BATCH | NOTIFY if is_known => {
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
        let (of_contact, text): (&[&str], _) = match self.parts.contains(&FILES) {
            true => (&[FILES], "cannot be given together with files"),
            false => (&[CONTACT, FILE], "cannot be given together with contactId and fileId"),
        };
        if of_contact.iter().any(|name| has(name)) {
            if has(DOCUMENT) {
                fault(DOCUMENT, ValidationIssue::new(ValidationCode::Conflict, text));
            }
            for name in of_contact.iter().filter(|name| !has(name)) {
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
            NOTIFY => self.notify = Some(text.parse().map_err(|Invalid(wrong)| wrong)?),
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
