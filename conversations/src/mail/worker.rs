//! The worker: it claims a conversation whose e-mail is due, decides, sends, and stores what came of it.

use std::fmt;
use std::sync::Arc;

use openapi_core::agents::AgentStatus;
use openapi_core::contacts::ContactRef;
use openapi_core::ports::timeout;
use openapi_core::storage::{
    Job, JobChange, JobClaim, JobState, JobsWrite, Queue, ScopedJob, StorageError, StorageErrorKind,
};
use openapi_core::values::{AgentId, ContactStatus, ConversationId, Email, PlatformId, Timestamp};

use super::compose::Letter;
use super::link::{OptOutLink, ResumeLink};
use super::pages::MailPages;
use super::port::{MailError, MailOutcome, Mailer, OutgoingMail};
use super::queue::recipient;
use super::state::{Batch, MailState, Step, pause_after};
use crate::conversations::Conversations;
use crate::links::LinkHosts;
use crate::storage::{MessageQuery, MessageSelector};
use crate::{AgentSettings, Conversation, Message};

/// How long a lease lasts: longer than an attempt to send and what is stored about it.
const LEASE_MILLIS: i64 = 120_000;
/// How long an attempt to send takes at most.
const SEND_MILLIS: u64 = 60_000;
/// How many conversations are woken at a time.
const WOKEN_AT_ONCE: u32 = 100;
/// How long a conversation waits after the store has failed.
const PAUSE_MILLIS: i64 = 60_000;
/// How often it is attempted to store that an e-mail was sent, and the pause between two attempts. An e-mail of which that
/// is not stored is sent again.
const STORE_ATTEMPTS: u32 = 10;
const STORE_PAUSE_MILLIS: u64 = 2_000;
/// The most messages that are read.
const MESSAGES: u32 = 200;

/// Learns what became of an attempt to send, with the error.
pub type MailObserver = Arc<dyn Fn(MailOutcome, Option<&str>) + Send + Sync>;

/// What e-mail needs of its host.
#[derive(Clone)]
pub struct MailParts {
    /// Sends it.
    pub mailer: Arc<dyn Mailer>,
    /// The origin of the widget host, whose pages the links open.
    pub widget_origin: String,
    /// Learns what became of each attempt, with the error.
    pub observer: MailObserver,
}

impl fmt::Debug for MailParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailParts").field("widget_origin", &self.widget_origin).finish_non_exhaustive()
    }
}

/// A conversation that this server has claimed.
struct Claimed<'a> {
    agent: &'a AgentId,
    id: ConversationId,
    server: PlatformId,
}

/// Where a job goes when its server is done with it.
#[derive(Clone, Copy)]
enum Next {
    At(Timestamp),
    Rest,
}

impl Conversations {
    /// Decides on one conversation whose e-mail is due, and sends it; returns whether there was one. Several servers, and
    /// several tasks of one, share the work. `server` identifies this one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn send_due_mail(&self, server: PlatformId, parts: &MailParts) -> Result<bool, StorageError> {
        let now = self.platform.now();
        let woken = self.storage.wake_jobs(Queue::Mail, now, WOKEN_AT_ONCE).await?;
        if woken.lost > 0 {
            tracing::warn!(
                conversations = woken.lost,
                "leases of e-mail were lost; the e-mail is sent again"
            );
        }
        for ScopedJob { scope, job } in woken.erased {
            let change = JobChange::Remove { id: job.id, version: job.version };
            self.remove(scope.as_ref(), change).await?;
        }
        let until = now.plus_millis(LEASE_MILLIS);
        let claim = JobClaim { queue: Queue::Mail, owner: server, now, until, at_most: 1 };
        let Some(ScopedJob { scope: Some(agent), job }) = self.storage.claim_jobs(&claim).await?.pop() else {
            return Ok(false);
        };
        let id = ConversationId::from_bytes(*job.id.as_bytes());
        let claimed = Claimed { agent: &agent, id, server };
        if let Err(error) = self.mail(&claimed, &job, parts).await {
            tracing::warn!(%agent, conversation = %id, %error, "e-mail was interrupted; it goes on in a minute");
            let at = Next::At(self.platform.now().plus_millis(PAUSE_MILLIS));
            if let Err(error) = self.settle(&claimed, at, |_| ()).await {
                tracing::debug!(%agent, conversation = %id, %error, "e-mail goes on when its lease has ended");
            }
        }
        Ok(true)
    }

    async fn remove(&self, scope: Option<&AgentId>, change: JobChange) -> Result<(), StorageError> {
        let write = JobsWrite::new(self.platform.now(), vec![change]);
        match self.storage.save_jobs(scope, &write).await {
            // Another server was faster, or the agent is gone.
            Err(error) if matches!(error.kind, StorageErrorKind::Stale | StorageErrorKind::Missing) => Ok(()),
            outcome => outcome,
        }
    }

    async fn mail(&self, claimed: &Claimed<'_>, job: &Job, parts: &MailParts) -> Result<(), StorageError> {
        let Claimed { agent, id, .. } = *claimed;
        let Some(conversation) = self.storage.conversation(agent, id).await? else {
            // A reply to a conversation that was erased before it was stored.
            return self.remove(Some(agent), JobChange::Remove { id: job.id, version: job.version }).await;
        };
        let (settings, _) = self.stored_settings(agent).await?;
        // The links of a disabled agent lead nowhere.
        let active = self.storage.agent(agent).await?.filter(|agent| agent.status == AgentStatus::Active);
        let address = match &active {
            Some(_) => self.allowed_recipient(&conversation, &settings).await?,
            None => None,
        };
        let state = MailState::of(job);
        let messages = self.unread_after(&conversation, state.begin(&conversation)).await?;
        let (delay, now) = (self.mail_delay_millis, self.platform.now());
        match (state.next(&conversation, &messages, address.is_some(), delay, now), address) {
            (Step::Later(at), _) => self.settle(claimed, Next::At(at), |_| ()).await,
            (Step::Send(batch), Some(address)) => {
                self.attempt(claimed, &conversation, &settings, &address, batch, parts).await
            }
            (Step::Rest | Step::Send(_), _) => {
                self.settle(claimed, Next::Rest, |state| state.waiting_since = None).await
            }
        }
    }

    async fn unread_after(
        &self,
        conversation: &Conversation,
        after: u64,
    ) -> Result<Vec<Message>, StorageError> {
        let which = MessageSelector::After(after);
        let query = MessageQuery { conversation: conversation.id, which, limit: MESSAGES };
        self.storage.messages(&conversation.agent_id, &query).await
    }

    /// The address of the visitor, unless its owner wants no e-mail or is blocked.
    async fn allowed_recipient(
        &self,
        conversation: &Conversation,
        settings: &AgentSettings,
    ) -> Result<Option<Email>, StorageError> {
        let agent = &conversation.agent_id;
        let Some(address) = recipient(conversation, settings) else { return Ok(None) };
        if let Some(contact) = conversation.contact_id {
            let contact = self.storage.contact(agent, &ContactRef::Id(contact)).await?;
            if contact.is_some_and(|contact| contact.status == ContactStatus::Blocked) {
                return Ok(None);
            }
        }
        Ok((!self.is_opted_out(agent, &address).await?).then_some(address))
    }

    /// Sends a batch. It is stored before, so a server that ends meanwhile leaves the same message to the next one.
    async fn attempt(
        &self,
        claimed: &Claimed<'_>,
        conversation: &Conversation,
        settings: &AgentSettings,
        address: &Email,
        batch: Batch,
        parts: &MailParts,
    ) -> Result<(), StorageError> {
        let begun = self
            .change_mail(claimed.agent, claimed.id, None, |job, state| {
                is_of(job, claimed.server).then(|| state.attempt(batch, self.platform.now()))
            })
            .await?;
        let Some(batch) = begun else { return Ok(()) };
        let mail = self.written(conversation, settings, address, batch, parts).await?;
        let sending = parts.mailer.send(&mail);
        let sent = timeout(&*self.platform.ports().timer, SEND_MILLIS, sending).await;
        let is_unknown = sent.is_none();
        let sent = sent.unwrap_or_else(|| Err(MailError::Temporary("the server took too long".to_owned())));
        let now = self.platform.now();
        let later = Next::At(now.plus_millis(self.mail_delay_millis));
        let (outcome, next, error) = match sent {
            Ok(()) => (MailOutcome::Sent, later, None),
            Err(MailError::Permanent(error)) => (MailOutcome::Refused, later, Some(error)),
            Err(MailError::Temporary(error)) => match pause_after(batch.attempts) {
                Some(pause) => (MailOutcome::Retried, Next::At(now.plus_millis(pause)), Some(error)),
                None => (MailOutcome::GivenUp, later, Some(error)),
            },
        };
        (parts.observer)(outcome, error.as_deref());
        if let Some(error) = error {
            let (agent, id) = (claimed.agent, claimed.id);
            tracing::warn!(%agent, conversation = %id, outcome = outcome.as_str(), error, "an e-mail to a visitor was not sent");
        }
        let store = |state: &mut MailState| match outcome {
            MailOutcome::Sent => state.sent(now),
            MailOutcome::Retried if is_unknown => {}
            MailOutcome::Retried => state.failed(),
            MailOutcome::Refused | MailOutcome::GivenUp => state.give_up(),
        };
        for _ in 1..STORE_ATTEMPTS {
            match self.settle(claimed, next, store).await {
                Err(_) => self.platform.ports().timer.sleep(STORE_PAUSE_MILLIS).await,
                Ok(()) => return Ok(()),
            }
        }
        self.settle(claimed, next, store).await
    }

    /// The e-mail of a batch.
    async fn written(
        &self,
        conversation: &Conversation,
        settings: &AgentSettings,
        address: &Email,
        batch: Batch,
        parts: &MailParts,
    ) -> Result<OutgoingMail, StorageError> {
        let agent = &conversation.agent_id;
        let name = self.storage.agent(agent).await?.map(|agent| agent.name.to_string()).unwrap_or_default();
        let mut messages = self.unread_after(conversation, batch.after).await?;
        messages.retain(|message| message.seq <= batch.up_to);
        let keys = &self.platform.ports().server_keys;
        let (now, origin) = (self.platform.now(), &parts.widget_origin);
        let link = ResumeLink::new(agent.clone(), conversation.id, conversation.epoch, batch.up_to, now);
        let language = conversation.locale.split('-').next().unwrap_or_default();
        let language: String = language.chars().filter(char::is_ascii_alphabetic).take(8).collect();
        let resume_url = format!("{origin}{}{agent}?lang={language}#{}", MailPages::RESUME, link.sign(keys));
        let opt_out = OptOutLink::new(agent.clone(), address).sign(keys);
        let unsubscribe_url = format!("{origin}{}{opt_out}?lang={language}", MailPages::UNSUBSCRIBE);
        let hosts = settings.only_link_hosts.then(|| LinkHosts::of(&settings.link_hosts));
        let letter = Letter {
            locale: &conversation.locale,
            title: settings.appearance.title.as_deref().unwrap_or(&name),
            color: &settings.appearance.color,
            messages: &messages,
            link_hosts: hosts.as_ref(),
            resume_url: &resume_url,
            unsubscribe_url: &unsubscribe_url,
        };
        let composed = letter.compose();
        Ok(OutgoingMail {
            id: format!("{}.{}", conversation.id, batch.up_to),
            to: address.clone(),
            from_name: composed.from_name,
            subject: composed.subject,
            text: composed.text,
            html: composed.html,
            unsubscribe_url: Some(unsubscribe_url),
        })
    }

    /// Hands a job back with a change of its state. A job that another server has by now is left to it.
    async fn settle(
        &self,
        claimed: &Claimed<'_>,
        next: Next,
        change: impl Fn(&mut MailState) + Send + Sync,
    ) -> Result<(), StorageError> {
        let soon = self.platform.now().plus_millis(self.mail_delay_millis);
        self.change_mail(claimed.agent, claimed.id, None, |job, state| {
            if !is_of(job, claimed.server) {
                return None;
            }
            change(state);
            // A reply that came meanwhile may not be stored yet, so it is looked for later.
            let is_awaited = std::mem::take(&mut state.is_awaited);
            let due = match next {
                Next::At(at) => Some(at),
                Next::Rest => is_awaited.then_some(soon),
            };
            job.state = if due.is_some() { JobState::Scheduled } else { JobState::Succeeded };
            job.due_at = due;
            job.lease = None;
            Some(())
        })
        .await?;
        Ok(())
    }
}

fn is_of(job: &Job, server: PlatformId) -> bool {
    job.state == JobState::Running && job.lease.is_some_and(|lease| lease.owner == server)
}
