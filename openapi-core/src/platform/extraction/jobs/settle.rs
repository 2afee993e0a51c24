//! The end of a job: its state, the credits, the document and the event in one write.

use serde::Serialize;

use super::{after, stored};
use crate::access::Actor;
use crate::audit::SealedEntry;
use crate::credits::{CreditAccount, CreditEntry, CreditEntryKind, JobCredits};
use crate::events::{EventActor, EventData};
use crate::extraction::{Answered, ExtractionJob, JobError, Usage};
use crate::json::{Object, RawObject};
use crate::platform::Platform;
use crate::platform::errors::concurrent_update;
use crate::reply::ApiError;
use crate::service::ExtractedDocument;
use crate::storage::retry::retry_on_conflict;
use crate::storage::{
    Effects, Job, JobChange, JobState, JobsWrite, RecordChange, RecordKey, RecordKind, StorageErrorKind,
};
use crate::values::{FileId, PlatformId, Timestamp};

/// How a job ends.
pub(super) enum End {
    /// With a result, which cost so much.
    Succeeded { document: Box<ExtractedDocument>, cost: u64 },
    /// Without one.
    Failed(JobError),
    /// By its caller, who may want it removed as well.
    Cancelled { by: Actor, removes: bool, audit: Option<Box<SealedEntry>> },
}

/// Ends a job as it was read. False if another one has changed it meanwhile: then nothing is stored.
pub(super) async fn settle(platform: &Platform, it: &ExtractionJob, end: &End) -> Result<bool, ApiError> {
    retry_on_conflict(concurrent_update, |_| async move {
        let now = platform.now();
        let write = write(platform, it, end, now).await?;
        let Err(error) = platform.storage.save_jobs(Some(&it.agent_id), &write).await else {
            return Ok(Some(true));
        };
        match error.kind {
            // The job, its correction or the account.
            StorageErrorKind::Stale => {
                let found = platform.storage.job(Some(&it.agent_id), it.job.id).await?;
                let is_same = found.is_some_and(|found| found.version == it.job.version);
                Ok((!is_same).then_some(false))
            }
            StorageErrorKind::Missing => Ok(Some(false)),
            _ => Err(error.into()),
        }
    })
    .await
}

async fn write(
    platform: &Platform,
    it: &ExtractionJob,
    end: &End,
    now: Timestamp,
) -> Result<JobsWrite, ApiError> {
    let (mut entries, mut account, mut charged) = (Vec::new(), None, JobCredits::default());
    if !it.job.reserved.is_none()
        && let Some(mut stored) = platform.storage.credit_account(&it.agent_id).await?
    {
        let cost = if let End::Succeeded { cost, .. } = end { *cost } else { 0 };
        charged = stored.settle_job(it.job.reserved, cost);
        stored.version += 1;
        if !charged.is_none() {
            entries.push(charge(it, charged, stored.available(), now));
        }
        account = Some(stored);
    }
    let mut body = it.body.clone();
    body.finished_at = Some(now);
    let (state, result) = match end {
        End::Succeeded { document, .. } => {
            let credits_remaining = account.as_ref().map(CreditAccount::available);
            let mut document = document.clone();
            document.metadata.usage = Usage { credits_charged: charged.credits(), credits_remaining };
            (JobState::Succeeded, Some(result_of(&document)?))
        }
        End::Failed(error) => {
            body.error = Some(error.clone());
            (JobState::Failed, None)
        }
        End::Cancelled { .. } => (JobState::Cancelled, None),
    };
    let is_removed = matches!(end, End::Cancelled { removes: true, .. });
    let change = if is_removed {
        JobChange::Remove { id: it.job.id, version: it.job.version }
    } else {
        JobChange::Save(Box::new(Job {
            state,
            version: it.job.version + 1,
            due_at: Some(after(now, platform.extraction.result_retention_millis)),
            lease: None,
            reserved: JobCredits::default(),
            body: stored(&body)?,
            result,
            ..it.job.clone()
        }))
    };
    let mut write = JobsWrite::new(now, vec![change]);
    (write.entries, write.account) = (entries, account);
    write.discard = body.content.filter(|_| !body.save || is_removed).into_iter().collect();
    if is_removed {
        remove_correction(platform, it, &mut write).await?;
    }
    write.effects = effects(platform, it, end, charged, now);
    Ok(write)
}

/// The correction of a job goes with it, and the copy of the document that it has.
async fn remove_correction(
    platform: &Platform,
    it: &ExtractionJob,
    write: &mut JobsWrite,
) -> Result<(), ApiError> {
    let key = RecordKey::new(RecordKind::Correction, PlatformId::from_bytes(*it.job.id.as_bytes()));
    if let Some(found) = platform.storage.record(Some(&it.agent_id), &key).await? {
        write.records.push(RecordChange::Remove { key, version: found.version });
        let copy = found.body.get("copy");
        write.discard.extend(copy.and_then(|id| id.as_str()?.parse::<FileId>().ok()));
    }
    Ok(())
}

/// A result as it is stored.
#[derive(Serialize)]
struct ResultBody<'a> {
    data: &'a Object,
    metadata: Answered<'a>,
}

fn result_of(document: &ExtractedDocument) -> Result<RawObject, ApiError> {
    let ExtractedDocument { extraction, metadata } = document;
    let body = ResultBody { data: &extraction.data, metadata: extraction.with(metadata) };
    serde_json::to_string(&body).and_then(RawObject::from_text).map_err(|error| {
        tracing::error!(%error, "failed to serialize an extraction");
        ApiError::internal()
    })
}

fn charge(it: &ExtractionJob, charged: JobCredits, available: u64, now: Timestamp) -> CreditEntry {
    let signed = |credits: u64| i64::try_from(credits).unwrap_or(i64::MAX).saturating_neg();
    CreditEntry {
        id: PlatformId::from_bytes(*it.job.id.as_bytes()),
        at: now,
        kind: CreditEntryKind::Charge,
        plan: signed(charged.plan),
        top_up: signed(charged.top_up),
        available,
        actor: it.body.actor.clone(),
        request_id: Some(it.body.request_id.clone()).filter(|id| !id.is_empty()),
        note: None,
    }
}

fn effects(
    platform: &Platform,
    it: &ExtractionJob,
    end: &End,
    charged: JobCredits,
    now: Timestamp,
) -> Effects {
    let (job_id, batch_id) = (it.job.id, it.job.batch.as_deref().map(str::to_owned));
    let (contact_id, file_id, notify) = (it.body.contact, it.body.file, it.body.notify);
    let (actor, data, audit) = match end {
        End::Succeeded { document, .. } => {
            let is_valid = document.extraction.validation.is_valid;
            let credits_charged = charged.credits();
            let data = EventData::ExtractionCompleted {
                job_id,
                batch_id,
                contact_id,
                file_id,
                notify,
                is_valid,
                credits_charged,
            };
            (EventActor::System, data, None)
        }
        End::Failed(error) => {
            let code = error.code.clone();
            let data = EventData::ExtractionFailed { job_id, batch_id, contact_id, file_id, notify, code };
            (EventActor::System, data, None)
        }
        End::Cancelled { by, audit, .. } => {
            let data = EventData::ExtractionCancelled { job_id, batch_id, contact_id, file_id, notify };
            (by.into(), data, audit.as_deref().cloned())
        }
    };
    // The removal of a job that has ended is no event.
    let event = it.job.state.is_unfinished().then(|| platform.event(actor, contact_id, data, now)).flatten();
    Effects { audit: audit.into_iter().collect(), ..Effects::default() }.with_event(event)
}
