//! Queueing an extraction: steps 8 to 16 of contract 6.3, without the engine.

use std::time::Duration;

use super::{record, stored};
use crate::access::Caller;
use crate::audit::AuditAction;
use crate::contacts::SharedContact;
use crate::credits::JobCredits;
use crate::extraction::{
    DocumentFacts, DocumentText, ExtractionJob, JobBody, JobParts, ReceivedForm, SentDocument,
};
use crate::files::{ContactFile, Sha256Digest};
use crate::json::{Json, Object};
use crate::platform::Platform;
use crate::platform::contacts;
use crate::platform::errors::{agent_gone, concurrent_update, file_not_found, quota_exceeded};
use crate::platform::extraction::documents::{self, DocumentRetention};
use crate::platform::extraction::errors::{
    not_extracted, queue_full, timed_out, too_few_credits, unsupported,
};
use crate::platform::extraction::task::Task;
use crate::platform::idempotency::{Claim, Claimed, answer, claim, replay};
use crate::ports::timeout;
use crate::reply::ApiError;
use crate::service::{ContactTarget, Created, Idempotency, QueueExtraction};
use crate::storage::retry::retry_on_conflict;
use crate::storage::{
    Effects, Job, JobChange, JobState, JobsWrite, Queue, QuotaUnit, StorageErrorKind, Subject,
};
use crate::values::{JobId, Timestamp};

/// The cost of a turn: a document counts once, and once more for each of these bytes.
const BYTES_OF_TURN: u64 = 512 * 1024;

pub(in crate::platform) async fn queue(
    platform: &Platform,
    caller: &Caller,
    request: QueueExtraction,
) -> Result<Created<ExtractionJob>, ApiError> {
    let QueueExtraction { form, idempotency, mut faults } = request;
    let mut room = platform.extractions.room(&caller.agent_id, platform.extraction.max_held_bytes);
    let received = form.receive_job(&mut |bytes| room.take(bytes)).await?;
    let idempotency = idempotency.map(|sent| Idempotency { fingerprint: received.fingerprint, ..sent });
    let claimed = match claim(platform, caller, idempotency.as_ref()).await? {
        Claimed::Answered(stored) => return Ok(Created::Replayed(stored)),
        Claimed::Run(claim) => claim,
    };
    let ReceivedForm { document, schema, schema_text, instructions, save_to_storage, job, .. } = received;
    faults.extend(received.faults);
    let content_type = match &document {
        Some((document, _)) => platform.ports.extractor.detect(document).map_err(unsupported)?,
        None => "",
    };
    let (Some(schema), true) = (schema, faults.is_empty()) else { return Err(faults.into()) };
    let source = match (document, job.contact.zip(job.file)) {
        (Some((document, sha256)), _) => Source { document, sha256, content_type, of: None },
        (None, Some(_)) => Source::of_contact(platform, caller, &job, &mut |bytes| room.take(bytes)).await?,
        (None, None) => return Err(faults.into()),
    };
    let task = Task {
        document: source.document,
        sha256: source.sha256,
        content_type: source.content_type,
        schema,
        instructions: instructions.map(|text| text.as_str().to_owned()),
        save: save_to_storage,
        begun: platform.now(),
    };
    if source.of.is_none() {
        documents::refuse_excess(platform, caller, &task).await?;
    }
    let text = {
        let _running = platform.extractions.enter(caller, platform.extraction.max_running_of_key)?;
        measure(platform, &task).await?
    };
    let id = platform.ports.ids.platform_id(platform.now());
    let retained = match source.of {
        Some(_) => None,
        None => Some(DocumentRetention::store(platform, caller, id.into(), &task).await?),
    };
    let new = NewJob { id: id.into(), task, text, schema: schema_text, parts: job, of: source.of, retained };
    new.store(platform, caller, claimed.as_ref()).await
}

/// A document with what it is.
struct Source {
    document: SentDocument,
    sha256: Sha256Digest,
    content_type: &'static str,
    of: Option<(SharedContact, ContactFile)>,
}

impl Source {
    /// A file of a contact.
    async fn of_contact(
        platform: &Platform,
        caller: &Caller,
        parts: &JobParts,
        admit: &mut (dyn FnMut(usize) -> Result<(), ApiError> + Send),
    ) -> Result<Self, ApiError> {
        let sent = |id: Option<String>| id.unwrap_or_default();
        let target = ContactTarget::Id(sent(parts.contact.map(|id| id.to_string())));
        let contact = contacts::find(platform, &caller.agent_id, &target).await?;
        let not_found = || file_not_found(&sent(parts.file.map(|id| id.to_string())));
        let id = parts.file.ok_or_else(not_found)?;
        let file = platform.storage.file(&caller.agent_id, id).await?;
        let file = file.filter(|file| file.contact_id == contact.id).ok_or_else(not_found)?;
        admit(usize::try_from(file.file_size).unwrap_or(usize::MAX))?;
        let content = platform.content_of(&caller.agent_id, &file).await?.ok_or_else(not_found)?;
        let document = SentDocument { content, file_name: file.file_name.to_string() };
        let content_type = platform.ports.extractor.detect(&document).map_err(unsupported)?;
        Ok(Source { document, sha256: file.sha256, content_type, of: Some((contact, file)) })
    }
}

/// What the document costs follows from this.
async fn measure(platform: &Platform, task: &Task) -> Result<DocumentText, ApiError> {
    let millis = platform.extraction.deadline_millis;
    let (document, limits) = (task.document.clone(), platform.extraction.limits);
    let measured = platform.ports.extractor.measure(document, limits, Duration::from_millis(millis));
    match timeout(&*platform.ports.timer, millis, measured).await {
        Some(measured) => measured.map_err(not_extracted),
        None => Err(timed_out()),
    }
}

/// A job that is to be stored.
struct NewJob<'a> {
    id: JobId,
    task: Task,
    text: DocumentText,
    schema: String,
    parts: JobParts,
    of: Option<(SharedContact, ContactFile)>,
    retained: Option<DocumentRetention<'a>>,
}

impl NewJob<'_> {
    /// Stores the job with its reservation, its document, the audit entry and the answer.
    async fn store(
        mut self,
        platform: &Platform,
        caller: &Caller,
        claimed: Option<&Claim<'_, ExtractionJob>>,
    ) -> Result<Created<ExtractionJob>, ApiError> {
        let this = &self;
        let stored = retry_on_conflict(concurrent_update, |_| async move {
            let now = platform.now();
            let (job, mut write) = this.write(platform, caller, now).await?;
            write.effects.replay = replay(claimed, &job, this.of.as_ref().map(|(it, _)| it.id), now)?;
            let Err(error) = platform.storage.save_jobs(Some(&caller.agent_id), &write).await else {
                return Ok(Some(Created::New(job)));
            };
            match error.kind {
                StorageErrorKind::Stale => Ok(None),
                StorageErrorKind::Missing => match &this.of {
                    // The contact is read again.
                    Some(_) => Ok(None),
                    None => Err(agent_gone()),
                },
                StorageErrorKind::QuotaExceeded(excess) if excess.unit == QuotaUnit::Jobs => {
                    Err(queue_full(&excess))
                }
                StorageErrorKind::QuotaExceeded(excess) => Err(quota_exceeded(excess)),
                StorageErrorKind::ReplayExists => answer(claimed, caller).await,
                _ => Err(error.into()),
            }
        })
        .await;
        // Where it is unclear whether the record is stored, the content stays; without a record it is swept.
        let stays = match &stored {
            Ok(Created::New(_)) => true,
            Ok(_) => false,
            Err(error) => error.code().status() >= 500,
        };
        if let Some(retained) = &mut self.retained {
            retained.set_stays(stays);
        }
        if matches!(stored, Ok(Created::New(_))) {
            platform.extractions.signal.ring();
        }
        stored
    }

    async fn write(
        &self,
        platform: &Platform,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<(ExtractionJob, JobsWrite), ApiError> {
        let agent = &caller.agent_id;
        let contact = match &self.of {
            Some((contact, _)) => {
                let target = ContactTarget::Id(contact.id.to_string());
                Some(contacts::find(platform, agent, &target).await?)
            }
            None => None,
        };
        let account = platform.storage.credit_account(agent).await?.filter(|account| !account.unlimited);
        let (mut reserved, mut events) = (JobCredits::default(), Vec::new());
        let account = match account {
            None => None,
            Some(mut account) => {
                account.release_expired(now);
                let before = account.clone();
                let cost = account.rates.cost(self.text.page_count, self.text.character_count);
                reserved = account.reserve_for_job(cost).map_err(too_few_credits)?;
                account.version += 1;
                events = platform.credits_events(&caller.actor, &before, &account, now);
                Some(account)
            }
        };
        let bytes = self.task.document.content.len() as u64;
        let front = platform.storage.queue_front(Queue::Extraction, Some(agent)).await?;
        let job = Job {
            id: self.id,
            queue: Queue::Extraction,
            state: JobState::Ready,
            version: 1,
            turn: front.turn(1_000 + 1_000 * bytes / BYTES_OF_TURN),
            due_at: None,
            lease: None,
            attempts: 0,
            lost: 0,
            batch: self.parts.batch.as_ref().map(|text| text.as_str().into()),
            client_id: self.parts.client_id.as_ref().map(|text| text.as_str().into()),
            subject: contact.as_ref().map(|contact| Subject::Contact(contact.id)),
            reserved,
            created_at: now,
            started_at: None,
            body: stored(&self.body(caller))?,
            result: None,
        };
        let mut details = Object::new();
        details.insert("contentType", self.task.content_type.into());
        details.insert("fileSize", Json::Number(bytes.into()));
        details.insert("creditsReserved", Json::Number(reserved.credits().into()));
        let action = AuditAction::DocumentQueue;
        let of = contact.as_ref().map(|contact| contact.id);
        let audit = platform.caller_audit(caller, action, self.id.to_string(), of, &details, now);
        let mut write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job.clone()))]);
        write.max_unfinished = Some((Queue::Extraction, platform.extraction.max_unfinished_jobs));
        write.contact = contact.map(|contact| (contact.id, contact.version));
        write.account = account;
        write.documents = self.retained.iter().map(DocumentRetention::write).collect();
        write.effects = Effects::audited(audit).with_events(events);
        Ok((record(agent, job)?, write))
    }

    fn body(&self, caller: &Caller) -> JobBody {
        let content = self.retained.as_ref().map(DocumentRetention::id);
        let retained = content.filter(|_| self.task.save);
        JobBody {
            document: DocumentFacts {
                file_name: self.task.document.file_name.clone(),
                content_type: self.task.content_type.to_owned(),
                file_size: self.task.document.content.len() as u64,
                sha256: self.task.sha256.to_string(),
                page_count: self.text.page_count,
                character_count: self.text.character_count,
                ocr_applied: self.text.ocr_applied,
                language: None,
                stored: retained.is_some(),
                file_id: retained.map(|id| id.to_string()),
            },
            contact: self.parts.contact,
            file: self.parts.file,
            content,
            save: self.task.save,
            schema: self.schema.clone(),
            instructions: self.task.instructions.clone(),
            actor: caller.actor.clone(),
            request_id: caller.request_id.clone(),
            error: None,
            finished_at: None,
        }
    }
}
