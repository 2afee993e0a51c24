//! Queueing a failed extraction again.

use super::manage::read;
use super::new::{Reservation, audit, refused, reserve, turn};
use super::{record, stored};
use crate::access::Caller;
use crate::extraction::ExtractionJob;
use crate::platform::Platform;
use crate::platform::errors::{concurrent_update, file_not_found, job_not_failed};
use crate::reply::ApiError;
use crate::storage::retry::retry_on_conflict;
use crate::storage::{Effects, Job, JobChange, JobState, JobsWrite, Queue};

impl Platform {
    /// Queues an extraction that has failed again, under its id, for the operator. Credits are set aside for it as for a
    /// new one, and spent once it succeeds.
    ///
    /// # Errors
    /// 404 JOB_NOT_FOUND; 409 JOB_FINISHED of a job that has not failed; 404 FILE_NOT_FOUND where its document is gone,
    /// as a document that was sent without `saveToStorage` is; 402 and 429 as when it was new.
    pub async fn retry_extraction(&self, caller: &Caller, id: &str) -> Result<ExtractionJob, ApiError> {
        retry_on_conflict(concurrent_update, |_| async move {
            let agent = &caller.agent_id;
            let ExtractionJob { job, mut body, .. } = read(self, caller, id).await?;
            if job.state != JobState::Failed {
                return Err(job_not_failed(&record(agent, job)?));
            }
            let document = match (body.content, body.file) {
                (Some(id), _) => self.storage.document(agent, id).await?.map(|_| id),
                (None, Some(id)) => self.storage.file(agent, id).await?.map(|file| file.id),
                (None, None) => None,
            };
            let sent = body.content.or(body.file).map(|id| id.to_string()).unwrap_or_default();
            document.ok_or_else(|| file_not_found(&sent))?;
            let now = self.now();
            let text = (body.document.page_count, body.document.character_count);
            let Reservation { each, account, events } = reserve(self, caller, &[text], now).await?;
            let front = self.storage.queue_front(Queue::Extraction, Some(agent)).await?;
            (body.error, body.finished_at, body.retried_at) = (None, None, Some(now));
            let again = Job {
                state: JobState::Ready,
                version: job.version + 1,
                turn: turn(front, body.document.file_size),
                due_at: None,
                attempts: 0,
                lost: 0,
                reserved: each.first().copied().unwrap_or_default(),
                started_at: None,
                body: stored(&body)?,
                ..job
            };
            let again = record(agent, again)?;
            let mut write = JobsWrite::new(now, vec![JobChange::Save(Box::new(again.job.clone()))]);
            write.max_unfinished = Some((Queue::Extraction, self.extraction.max_unfinished_jobs));
            write.account = account;
            write.effects = Effects::audited(audit(self, caller, &again, now)).with_events(events);
            let saved = self.storage.save_jobs(Some(agent), &write).await;
            if let Err(error) = saved {
                return refused(error).map_or(Ok(None), Err);
            }
            self.extractions.signal.ring();
            Ok(Some(again))
        })
        .await
    }
}
