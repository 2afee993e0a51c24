//! The job of a conversation's e-mail: all changes of it but those of its worker.

use std::ops::ControlFlow::{Break, Continue};

use openapi_core::admin::AdminError;
use openapi_core::json::RawObject;
use openapi_core::storage::retry::{MAX_ATTEMPTS, retry_with};
use openapi_core::storage::{
    Effects, Job, JobChange, JobState, JobsWrite, Queue, RecordKind, RecordsWrite, StorageError,
    StorageErrorKind, StoredRecord, Subject,
};
use openapi_core::values::{AgentId, ConversationId, Email, JobId, Timestamp};

use super::link::{OptOutLink, ResumeLink};
use super::state::MailState;
use crate::conversations::Conversations;
use crate::{AgentSettings, Conversation, ConversationStatus};

impl Conversations {
    /// Sees to it that a reply which is about to be stored is sent if the visitor does not read it. A reply that is not
    /// stored after all is not found, and nothing is sent.
    pub(crate) async fn await_reply(
        &self,
        agent: &AgentId,
        id: ConversationId,
        settings: &AgentSettings,
    ) -> Result<(), StorageError> {
        let now = self.platform.now();
        let Some(conversation) = self.storage.conversation(agent, id).await? else { return Ok(()) };
        let is_open = conversation.status_at(now) == ConversationStatus::Open;
        if !is_open || recipient(&conversation, settings).is_none() {
            return Ok(());
        }
        let turn = self.storage.queue_front(Queue::Mail, Some(agent)).await?.turn(1);
        self.change_mail(agent, id, Some(turn), |job, state| {
            if job.state == JobState::Running {
                // The server that has the job sees this when it stores what it did.
                state.is_awaited = true;
                return Some(());
            }
            job.due_at = Some(state.await_reply(job.due_at, self.mail_delay_millis, now));
            job.state = JobState::Scheduled;
            job.turn = turn;
            Some(())
        })
        .await?;
        Ok(())
    }

    /// Notes that the visitor of a conversation is there. Nothing is sent for some time.
    pub(crate) async fn note_visitor(&self, agent: &AgentId, id: ConversationId) -> Result<(), StorageError> {
        let now = self.platform.now();
        self.change_mail(agent, id, None, |job, state| {
            let is_waiting = matches!(job.state, JobState::Scheduled | JobState::Ready);
            (is_waiting && state.see(now)).then_some(())
        })
        .await?;
        Ok(())
    }

    /// Uses up the link of an e-mail; [`None`] if it is altered, used, revoked or expired, or the conversation is gone.
    pub(crate) async fn open_link(
        &self,
        agent: &AgentId,
        text: &str,
    ) -> Result<Option<Conversation>, StorageError> {
        let keys = &self.platform.ports().server_keys;
        let link = ResumeLink::read(keys, text, self.platform.now()).filter(|link| link.agent == *agent);
        let Some(link) = link else { return Ok(None) };
        let conversation = self.storage.conversation(agent, link.conversation).await?;
        let Some(conversation) = conversation.filter(|it| it.epoch == link.epoch) else { return Ok(None) };
        let taken = self
            .change_mail(agent, link.conversation, None, |_, state| {
                state.take_link(link.number).then_some(())
            })
            .await?;
        Ok(taken.map(|()| conversation))
    }

    /// Whether a link stops e-mail.
    pub(crate) fn is_opt_out(&self, link: &str) -> bool {
        OptOutLink::read(&self.platform.ports().server_keys, link).is_some()
    }

    /// Stops the e-mail of an agent to the address of a link, and returns whether the link is valid.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn opt_out_of_mail(&self, link: &str) -> Result<bool, StorageError> {
        let Some(link) = OptOutLink::read(&self.platform.ports().server_keys, link) else {
            return Ok(false);
        };
        let agent = &link.agent;
        if self.platform.living_agent(agent).await.is_err_and(|error| is_absent(&error)) {
            return Ok(true);
        }
        let record = StoredRecord {
            key: link.record(),
            ..StoredRecord::single(RecordKind::MailOptOut, 1, RawObject::default())
        };
        match self.storage.save_records(Some(agent), &RecordsWrite::save(record, Effects::default())).await {
            // The address has been there before, or the agent was deleted meanwhile.
            Err(error) if matches!(error.kind, StorageErrorKind::Stale | StorageErrorKind::Missing) => {
                Ok(true)
            }
            outcome => outcome.map(|()| true),
        }
    }

    /// Whether the owner of an address wants no e-mail of an agent.
    pub(super) async fn is_opted_out(&self, agent: &AgentId, address: &Email) -> Result<bool, StorageError> {
        let key = OptOutLink::new(agent.clone(), address).record();
        Ok(self.storage.record(Some(agent), &key).await?.is_some())
    }

    /// Changes the job of a conversation's e-mail, again if another writer was faster. A new job, which exists only with
    /// a turn for it, is at rest. `change` returns [`None`] to leave the job as it is; so does this without a job.
    pub(super) async fn change_mail<T: Send>(
        &self,
        agent: &AgentId,
        conversation: ConversationId,
        turn: Option<u64>,
        change: impl FnMut(&mut Job, &mut MailState) -> Option<T> + Send,
    ) -> Result<Option<T>, StorageError> {
        let lost_race = || StorageErrorKind::Unavailable.into();
        retry_with(MAX_ATTEMPTS, change, lost_race, |mut change| async move {
            let now = self.platform.now();
            let id = JobId::from_bytes(*conversation.as_bytes());
            let stored = self.storage.job(Some(agent), id).await?.filter(|job| job.queue == Queue::Mail);
            let new = || turn.map(|turn| new_job(id, conversation, turn, now));
            let Some(mut job) = stored.or_else(new) else { return Ok(Break(None)) };
            let mut state = MailState::of(&job);
            let Some(result) = change(&mut job, &mut state) else { return Ok(Break(None)) };
            job.version += 1;
            job.body = state.stored().map_err(|_| StorageError::from(StorageErrorKind::Internal))?;
            let write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job))]);
            match self.storage.save_jobs(Some(agent), &write).await {
                Ok(()) => Ok(Break(Some(result))),
                Err(error) if error.kind == StorageErrorKind::Stale => Ok(Continue(change)),
                Err(error) if error.kind == StorageErrorKind::Missing => Ok(Break(None)),
                Err(error) => Err(error),
            }
        })
        .await
    }
}

/// The address that the visitor gave in the form of this conversation, if the agent writes to visitors and the visitor
/// has agreed to it where the form asks.
pub(super) fn recipient(conversation: &Conversation, settings: &AgentSettings) -> Option<Email> {
    let lead = conversation.lead.as_ref().filter(|_| settings.email_replies)?;
    if settings.lead.consent.is_some() && lead.consent.is_none() {
        return None;
    }
    let fields: serde_json::Value = serde_json::from_str(lead.fields.as_str()).ok()?;
    fields.get("primaryEmail")?.as_str()?.parse().ok()
}

fn new_job(id: JobId, conversation: ConversationId, turn: u64, now: Timestamp) -> Job {
    Job {
        id,
        queue: Queue::Mail,
        state: JobState::Succeeded,
        version: 0,
        turn,
        due_at: None,
        lease: None,
        attempts: 0,
        lost: 0,
        batch: None,
        client_id: None,
        subject: Some(Subject::Conversation(conversation)),
        reserved: Default::default(),
        created_at: now,
        started_at: None,
        body: RawObject::default(),
        result: None,
    }
}

fn is_absent(error: &AdminError) -> bool {
    matches!(error, AdminError::NotFound { .. })
}
