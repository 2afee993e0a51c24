//! Storing jobs that are new or queued again: with their reservation, their documents, the audit entries and the answer.

use bytes::Bytes;

use super::{record, stored};
use crate::access::Caller;
use crate::audit::{AuditAction, SealedEntry};
use crate::credits::{CreditAccount, JobCredits};
use crate::events::NewEvent;
use crate::extraction::{DocumentFacts, DocumentText, ExtractionJob, JobBody};
use crate::files::{ContactFile, Sha256Digest};
use crate::json::{Json, Object};
use crate::platform::Platform;
use crate::platform::contacts;
use crate::platform::errors::{agent_gone, concurrent_update, quota_exceeded};
use crate::platform::extraction::documents::DocumentRetention;
use crate::platform::extraction::errors::{queue_full, too_few_credits};
use crate::platform::idempotency::{Claim, answer, replay};
use crate::reply::ApiError;
use crate::service::{ContactTarget, Created};
use crate::storage::retry::retry_on_conflict;
use crate::storage::{
    Effects, Job, JobChange, JobState, JobsWrite, Queue, QueueFront, QuotaUnit, StorageError,
    StorageErrorKind, Subject,
};
use crate::values::{JobId, PlatformId, Timestamp};

/// The cost of a turn: a document counts once, and once more for each of these bytes.
const BYTES_OF_TURN: u64 = 512 * 1024;

/// The turn of a job with a document of so many bytes.
pub(super) fn turn(front: QueueFront, bytes: u64) -> u64 {
    front.turn(1_000 + 1_000 * bytes / BYTES_OF_TURN)
}

/// Credits that are set aside for jobs.
pub(super) struct Reservation {
    /// For each job.
    pub(super) each: Vec<JobCredits>,
    /// The account as it is to be; none where nothing is charged.
    pub(super) account: Option<CreditAccount>,
    pub(super) events: Vec<NewEvent>,
}

/// Sets credits aside for documents of so many pages and characters, for all of them or none.
pub(super) async fn reserve(
    platform: &Platform,
    caller: &Caller,
    documents: &[(Option<u32>, u64)],
    now: Timestamp,
) -> Result<Reservation, ApiError> {
    let account = platform.storage.credit_account(&caller.agent_id).await?;
    let Some(mut account) = account.filter(|account| !account.unlimited) else {
        let each = vec![JobCredits::default(); documents.len()];
        return Ok(Reservation { each, account: None, events: Vec::new() });
    };
    account.release_expired(now);
    let before = account.clone();
    let costs: Vec<u64> = documents.iter().map(|it| account.rates.cost(it.0, it.1)).collect();
    // What is lacking is said of all together.
    let all = costs.iter().fold(0, |all: u64, cost| all.saturating_add(*cost));
    account.clone().reserve_for_job(all).map_err(too_few_credits)?;
    let each = costs.into_iter().map(|cost| account.reserve_for_job(cost));
    let each = each.collect::<Result<_, _>>().map_err(too_few_credits)?;
    account.version += 1;
    let events = platform.credits_events(&caller.actor, &before, &account, now);
    Ok(Reservation { each, account: Some(account), events })
}

/// What is answered where jobs are not stored; none where it is worth another try.
pub(super) fn refused(error: StorageError) -> Option<ApiError> {
    match error.kind {
        StorageErrorKind::Stale => None,
        StorageErrorKind::Missing => Some(agent_gone()),
        StorageErrorKind::QuotaExceeded(excess) if excess.unit == QuotaUnit::Jobs => {
            Some(queue_full(&excess))
        }
        StorageErrorKind::QuotaExceeded(excess) => Some(quota_exceeded(excess)),
        _ => Some(error.into()),
    }
}

/// The entry of the audit log about a job that is queued.
pub(super) fn audit(
    platform: &Platform,
    caller: &Caller,
    job: &ExtractionJob,
    now: Timestamp,
) -> SealedEntry {
    let mut details = Object::new();
    details.insert("contentType", job.body.document.content_type.as_str().into());
    details.insert("fileSize", Json::Number(job.body.document.file_size.into()));
    details.insert("creditsReserved", Json::Number(job.job.reserved.credits().into()));
    if job.body.retried_at.is_some() {
        details.insert("again", Json::Bool(true));
    }
    let (id, contact) = (job.job.id.to_string(), job.body.contact);
    platform.caller_audit(caller, AuditAction::DocumentQueue, id, contact, &details, now)
}

/// A document with what is known of it.
pub(super) struct Source<'a> {
    pub(super) file_name: String,
    pub(super) content_type: &'static str,
    pub(super) bytes: u64,
    pub(super) sha256: Sha256Digest,
    pub(super) text: DocumentText,
    /// The content, where it is in memory.
    pub(super) held: Option<Bytes>,
    /// The stored content, where it is no file of a contact.
    pub(super) retained: Option<DocumentRetention<'a>>,
    pub(super) of: Option<ContactFile>,
}

/// Jobs that are to be stored: one for each document.
pub(super) struct NewJobs<'a> {
    pub(super) sources: Vec<Source<'a>>,
    pub(super) schema: String,
    pub(super) instructions: Option<String>,
    pub(super) save: bool,
    pub(super) client_id: Option<Box<str>>,
    pub(super) batch: Option<Box<str>>,
    pub(super) notify: Option<PlatformId>,
}

impl NewJobs<'_> {
    /// Stores the jobs, all or none.
    pub(super) async fn store<T>(
        mut self,
        platform: &Platform,
        caller: &Caller,
        claimed: Option<&Claim<'_, T>>,
        shape: fn(&[ExtractionJob]) -> Option<T>,
    ) -> Result<Created<T>, ApiError> {
        // As soon as the records may be stored the contents stay; without a record they are swept.
        self.retain(true);
        let this = &self;
        let stored = retry_on_conflict(concurrent_update, |_| async move {
            let now = platform.now();
            let (jobs, mut write) = this.write(platform, caller, now).await?;
            let made = shape(&jobs).ok_or_else(ApiError::internal)?;
            let contact = write.contacts.first().filter(|_| write.contacts.len() == 1).map(|it| it.0);
            write.effects.replay = replay(claimed, &made, contact, now)?;
            let Err(error) = platform.storage.save_jobs(Some(&caller.agent_id), &write).await else {
                return Ok(Some(Created::New(made)));
            };
            match error.kind {
                // The contacts are read again.
                StorageErrorKind::Missing if !write.contacts.is_empty() => Ok(None),
                StorageErrorKind::ReplayExists => answer(claimed, caller).await,
                _ => refused(error).map_or(Ok(None), Err),
            }
        })
        .await;
        let is_new = matches!(stored, Ok(Created::New(_)));
        self.retain(is_new || stored.as_ref().is_err_and(|error| error.code().status() >= 500));
        if is_new {
            platform.extractions.signal.ring();
        }
        stored
    }

    fn retain(&mut self, stays: bool) {
        let retained = self.sources.iter_mut().filter_map(|source| source.retained.as_mut());
        retained.for_each(|retained| retained.set_stays(stays));
    }

    async fn write(
        &self,
        platform: &Platform,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<(Vec<ExtractionJob>, JobsWrite), ApiError> {
        let agent = &caller.agent_id;
        let mut contacts = Vec::new();
        for id in self.sources.iter().filter_map(|source| source.of.as_ref()).map(|file| file.contact_id) {
            if !contacts.iter().any(|(known, _)| *known == id) {
                let found = contacts::find(platform, agent, &ContactTarget::Id(id.to_string())).await?;
                contacts.push((id, found.version));
            }
        }
        let texts = self.sources.iter().map(|source| (source.text.page_count, source.text.character_count));
        let reservation = reserve(platform, caller, &texts.collect::<Vec<_>>(), now).await?;
        let mut front = platform.storage.queue_front(Queue::Extraction, Some(agent)).await?;
        let mut jobs = Vec::new();
        for (source, reserved) in self.sources.iter().zip(reservation.each) {
            let turn = turn(front, source.bytes);
            front.last = turn;
            // That of the content, where the service holds one.
            let id = source.retained.as_ref().map(|retained| JobId::from_bytes(*retained.id().as_bytes()));
            let job = Job {
                id: id.unwrap_or_else(|| platform.ports.ids.platform_id(now).into()),
                queue: Queue::Extraction,
                state: JobState::Ready,
                version: 1,
                turn,
                due_at: None,
                lease: None,
                attempts: 0,
                lost: 0,
                batch: self.batch.clone(),
                client_id: self.client_id.clone(),
                subject: source.of.as_ref().map(|file| Subject::Contact(file.contact_id)),
                reserved,
                created_at: now,
                started_at: None,
                body: stored(&self.body(caller, source))?,
                result: None,
            };
            jobs.push(record(agent, job)?);
        }
        let changes = jobs.iter().map(|it| JobChange::Save(Box::new(it.job.clone()))).collect();
        let mut write = JobsWrite::new(now, changes);
        write.max_unfinished = Some((Queue::Extraction, platform.extraction.max_unfinished_jobs));
        write.contacts = contacts;
        write.account = reservation.account;
        let retained = self.sources.iter().filter_map(|source| source.retained.as_ref());
        write.documents = retained.map(DocumentRetention::write).collect();
        let audit = jobs.iter().map(|job| audit(platform, caller, job, now)).collect();
        write.effects = Effects { audit, ..Effects::default() }.with_events(reservation.events);
        Ok((jobs, write))
    }

    fn body(&self, caller: &Caller, source: &Source<'_>) -> JobBody {
        let content = source.retained.as_ref().map(DocumentRetention::id);
        let retained = content.filter(|_| self.save);
        JobBody {
            document: DocumentFacts {
                file_name: source.file_name.clone(),
                content_type: source.content_type.to_owned(),
                file_size: source.bytes,
                sha256: source.sha256.to_string(),
                page_count: source.text.page_count,
                character_count: source.text.character_count,
                ocr_applied: source.text.ocr_applied,
                language: None,
                stored: retained.is_some(),
                file_id: retained.map(|id| id.to_string()),
            },
            contact: source.of.as_ref().map(|file| file.contact_id),
            file: source.of.as_ref().map(|file| file.id),
            content,
            save: self.save,
            schema: self.schema.clone(),
            instructions: self.instructions.clone(),
            notify: self.notify,
            actor: caller.actor.clone(),
            request_id: caller.request_id.clone(),
            error: None,
            finished_at: None,
            retried_at: None,
        }
    }
}
