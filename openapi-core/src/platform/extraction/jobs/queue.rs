//! Queueing extractions: steps 8 to 16 of contract 6.3, without the engine.

use std::time::Duration;

use async_trait::async_trait;

use super::new::{NewJobs, Source};
use crate::access::Caller;
use crate::extraction::{DocumentSink, DocumentText, ExtractionJob, QueuedBatch, ReceivedForm, SentDocument};
use crate::files::Sha256Digest;
use crate::json::Json;
use crate::platform::Platform;
use crate::platform::contacts;
use crate::platform::errors::file_not_found;
use crate::platform::extraction::documents::{self, DocumentRetention};
use crate::platform::extraction::errors::{not_extracted, timed_out, unsupported};
use crate::platform::extraction::running::MemoryPermit;
use crate::platform::idempotency::{Claimed, claim};
use crate::ports::timeout;
use crate::reply::ApiError;
use crate::seal::sealed_bytes;
use crate::service::{ContactTarget, Created, Idempotency, QueueBatch, QueueExtraction};
use crate::storage::{RecordKey, RecordKind};
use crate::validation::{Location, ValidationCode, ValidationError, ValidationIssue, Violations};
use crate::values::{ContactId, FileId, PlatformId, Timestamp};

pub(in crate::platform) async fn queue(
    platform: &Platform,
    caller: &Caller,
    request: QueueExtraction,
) -> Result<Created<ExtractionJob>, ApiError> {
    let QueueExtraction { form, idempotency, faults } = request;
    let mut documents = Documents::new(platform, caller, false);
    let mut received = form.receive_job(&mut |bytes| documents.room.take(bytes)).await?;
    if let Some((document, sha256)) = received.document.take() {
        documents.detect(document, sha256);
    }
    documents.queue(received, idempotency, faults, |jobs| jobs.first().cloned()).await
}

pub(in crate::platform) async fn queue_batch(
    platform: &Platform,
    caller: &Caller,
    request: QueueBatch,
) -> Result<Created<QueuedBatch>, ApiError> {
    let QueueBatch { form, idempotency, faults } = request;
    let mut documents = Documents::new(platform, caller, true);
    let received = form.receive_batch(&mut documents).await?;
    documents.queue(received, idempotency, faults, |jobs| Some(QueuedBatch::of(jobs))).await
}

/// The documents of a request. Those of a batch are sealed and stored as they arrive and then read one after the other,
/// so that only one is in memory. Dropped before their records are stored, their contents go again.
struct Documents<'a> {
    platform: &'a Platform,
    caller: &'a Caller,
    is_batch: bool,
    room: MemoryPermit<'a>,
    sources: Vec<Source<'a>>,
    /// Of the first document that cannot be read.
    unsupported: Option<ApiError>,
}

#[async_trait]
impl DocumentSink for Documents<'_> {
    fn admit(&mut self, bytes: usize) -> Result<(), ApiError> {
        self.room.take(bytes)
    }

    async fn take(
        &mut self,
        document: SentDocument,
        sha256: Sha256Digest,
        is_refused: bool,
    ) -> Result<(), ApiError> {
        self.detect(document, sha256);
        if self.unsupported.is_none() && !is_refused {
            self.retain(self.sources.len() - 1).await?;
        }
        if let Some(last) = self.sources.last_mut() {
            last.held = None;
        }
        self.room.clear();
        Ok(())
    }
}

impl<'a> Documents<'a> {
    fn new(platform: &'a Platform, caller: &'a Caller, is_batch: bool) -> Self {
        let room = platform.extractions.room(&caller.agent_id, platform.extraction.max_held_bytes);
        Documents { platform, caller, is_batch, room, sources: Vec::new(), unsupported: None }
    }

    /// Says of an error which document of a batch it is about.
    fn at(&self, index: usize, error: ApiError) -> ApiError {
        let names_it = self.is_batch && error.code().status() < 500;
        if names_it { error.with_detail("index", index as u64) } else { error }
    }

    /// Adds a document that has arrived.
    fn detect(&mut self, document: SentDocument, sha256: Sha256Digest) {
        let platform = self.platform;
        let content_type = platform.ports.extractor.detect(&document).unwrap_or_else(|found| {
            let error = self.at(self.sources.len(), unsupported(found));
            self.unsupported.get_or_insert(error);
            ""
        });
        let SentDocument { content, file_name } = document;
        self.sources.push(Source {
            file_name,
            content_type,
            bytes: content.len() as u64,
            sha256,
            text: DocumentText::default(),
            held: Some(content),
            retained: None,
            of: None,
        });
    }

    /// Stores the content of a document, unless it is stored already.
    async fn retain(&mut self, index: usize) -> Result<(), ApiError> {
        let (platform, caller) = (self.platform, self.caller);
        let Some(source) = self.sources.get_mut(index) else { return Ok(()) };
        let Some(content) = source.held.take() else { return Ok(()) };
        let document = SentDocument { content, file_name: source.file_name.clone() };
        let id = platform.ports.ids.platform_id(platform.now()).into();
        let stored =
            DocumentRetention::store(platform, caller, id, &document, source.sha256, source.content_type);
        source.retained = Some(stored.await?);
        Ok(())
    }

    /// Queues the documents of a form, all or none; `shape` makes the answer of their jobs.
    async fn queue<T>(
        mut self,
        received: ReceivedForm,
        idempotency: Option<Idempotency<T>>,
        mut faults: Violations,
        shape: fn(&[ExtractionJob]) -> Option<T>,
    ) -> Result<Created<T>, ApiError> {
        let (platform, caller) = (self.platform, self.caller);
        let idempotency = idempotency.map(|sent| Idempotency { fingerprint: received.fingerprint, ..sent });
        let claimed = match claim(platform, caller, idempotency.as_ref()).await? {
            Claimed::Answered(stored) => return Ok(Created::Replayed(stored)),
            Claimed::Run(claim) => claim,
        };
        if let Some(error) = self.unsupported.take() {
            return Err(error);
        }
        faults.extend(received.faults);
        if let Some(id) = received.job.notify
            && !self.has_endpoint(id).await?
        {
            let fault =
                ValidationIssue::new(ValidationCode::Reference, "names no webhook endpoint of the agent");
            let value = Json::String(id.to_string());
            faults.push(ValidationError::new(Location::Form, "notify", Some(&value), fault));
        }
        if received.schema.is_none() || !faults.is_empty() {
            return Err(faults.into());
        }
        let named = received.job.contact.zip(received.job.file);
        for (index, (contact, file)) in named.iter().chain(&received.job.files).enumerate() {
            let found = self.find(*contact, *file).await.map_err(|error| self.at(index, error))?;
            self.sources.push(found);
        }
        let sent = self.sources.iter().filter(|source| source.of.is_none());
        documents::refuse_excess(platform, caller, sent.map(|source| sealed_bytes(source.bytes)).sum())
            .await?;
        {
            let _running = platform.extractions.enter(caller, platform.extraction.max_running_of_key)?;
            let begun = platform.now();
            for index in 0..self.sources.len() {
                self.measure(index, begun).await.map_err(|error| self.at(index, error))?;
            }
        }
        for index in 0..self.sources.len() {
            self.retain(index).await?;
        }
        let batch = received.job.batch.map(|name| name.as_str().into());
        let new_batch = || platform.ports.ids.platform_id(platform.now()).to_string().into();
        let new = NewJobs {
            sources: self.sources,
            schema: received.schema_text,
            instructions: received.instructions.map(|text| text.as_str().to_owned()),
            save: received.save_to_storage,
            client_id: received.job.client_id.map(|name| name.as_str().into()),
            notify: received.job.notify,
            batch: batch.or_else(|| self.is_batch.then(new_batch)),
        };
        new.store(platform, caller, claimed.as_ref(), shape).await
    }

    /// Whether the agent has a webhook endpoint.
    async fn has_endpoint(&self, id: PlatformId) -> Result<bool, ApiError> {
        let key = RecordKey::new(RecordKind::WebhookEndpoint, id);
        Ok(self.platform.storage.record(Some(&self.caller.agent_id), &key).await?.is_some())
    }

    /// A file of a contact.
    async fn find(&self, contact: ContactId, id: FileId) -> Result<Source<'a>, ApiError> {
        let agent = &self.caller.agent_id;
        contacts::find(self.platform, agent, &ContactTarget::Id(contact.to_string())).await?;
        let file = self.platform.storage.file(agent, id).await?.filter(|file| file.contact_id == contact);
        let file = file.ok_or_else(|| file_not_found(&id.to_string()))?;
        Ok(Source {
            file_name: file.file_name.to_string(),
            content_type: "",
            bytes: file.file_size,
            sha256: file.sha256,
            text: DocumentText::default(),
            held: None,
            retained: None,
            of: Some(file),
        })
    }

    /// Reads a document as far as its cost follows from it. `begun` is when the first one was read.
    async fn measure(&mut self, index: usize, begun: Timestamp) -> Result<(), ApiError> {
        let (platform, agent) = (self.platform, &self.caller.agent_id);
        let Some(source) = self.sources.get_mut(index) else { return Ok(()) };
        if source.held.is_none() {
            self.room.take(usize::try_from(source.bytes).unwrap_or(usize::MAX))?;
        }
        let content = match (&source.held, &source.retained, &source.of) {
            (Some(content), ..) => Some(content.clone()),
            (_, Some(retained), _) => platform.sealed_content(agent, retained.id(), source.bytes).await?,
            (.., Some(file)) => platform.content_of(agent, file).await?,
            (None, None, None) => None,
        };
        let file = source.of.as_ref().map(|file| file.id.to_string());
        let content =
            content.ok_or_else(|| file.map_or_else(ApiError::internal, |id| file_not_found(&id)))?;
        let document = SentDocument { content, file_name: source.file_name.clone() };
        if source.of.is_some() {
            source.content_type = platform.ports.extractor.detect(&document).map_err(unsupported)?;
        }
        let spent = u64::try_from(platform.now().millis_since(begun)).unwrap_or(0);
        let millis = platform.extraction.deadline_millis.saturating_sub(spent);
        let limits = platform.extraction.limits;
        let measured = platform.ports.extractor.measure(document, limits, Duration::from_millis(millis));
        source.text = match timeout(&*platform.ports.timer, millis, measured).await {
            Some(measured) => measured.map_err(not_extracted)?,
            None => return Err(timed_out()),
        };
        if source.held.is_none() {
            self.room.clear();
        }
        Ok(())
    }
}
