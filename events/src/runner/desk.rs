//! What the driver of an endpoint does with store and network.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use openapi_core::access::Actor;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::events::{EndpointReason, Event, EventActor, EventData};
use openapi_core::json::Object;
use openapi_core::service::EventFilter;
use openapi_core::storage::{
    Effects, LogEntry, RecordChange, RecordsWrite, StorageError, StorageErrorKind, Subject,
};
use openapi_core::values::{ContactId, Timestamp};
use parking_lot::Mutex;

use super::{Key, Runner};
use crate::delivery::{Absence, AttemptResult, DisableReason, LEASE_LEFT, Page, Save, Source};
use crate::message::{Message, Outcome};
use crate::webhooks::{
    EndpointRecord, StatusReason, Versioned, Webhooks, attempt_record, endpoint_change, load_endpoint,
    load_state, remove_attempts, state_change,
};

/// Events of a page.
const PAGE: u32 = 200;
/// How long an event that was read may be sent without looking again whether it was erased, in milliseconds.
const FRESH: i64 = 2_000;
/// Events that are held at most between their read and their attempt.
const MAX_HELD: usize = 2_000;
/// How often the endpoint is looked at while it is delivered to, in milliseconds.
const CHECK_EVERY: i64 = 1_000;
/// The pause after a failure of the store, in milliseconds.
const AFTER_FAILURE: u64 = 1_000;
/// Attempts that are logged at most; older ones are removed, so many at a time.
const MAX_ATTEMPTS: u64 = 10_000;
const PRUNE_EVERY: u64 = 250;

/// What has come of something that was begun.
pub(super) enum Done {
    Read(Source, Result<Page, StorageError>),
    Ended(u64, Outcome),
    Absent(u64, Absence),
    Saved(Result<Option<Timestamp>, StorageError>),
    /// A person has changed the endpoint or the agent: the driver ends, and the endpoint is taken again.
    Changed,
    /// The versions of the endpoint and of its progress, for a driver that heard of a change.
    Checked(Result<Option<(u64, u64)>, StorageError>),
}

/// An event that was read.
struct Held {
    entry: LogEntry,
    read_at: Timestamp,
}

/// An endpoint in the hands of this process.
pub(super) struct Desk<'r> {
    pub(super) runner: &'r Runner,
    pub(super) key: &'r Key,
    endpoint: Versioned<EndpointRecord>,
    types: EventFilter,
    /// The end of the lease that the store has confirmed, in milliseconds.
    lease_until: AtomicI64,
    checked_at: AtomicI64,
    held: Mutex<BTreeMap<u64, Held>>,
    /// The contacts of events whose attempts may be logged.
    contacts: Mutex<BTreeMap<u64, ContactId>>,
}

impl<'r> Desk<'r> {
    pub(super) fn new(runner: &'r Runner, key: &'r Key, endpoint: Versioned<EndpointRecord>) -> Self {
        Desk {
            runner,
            key,
            types: EventFilter::read(&endpoint.value.types.join(",")).unwrap_or_default(),
            endpoint,
            lease_until: AtomicI64::new(0),
            checked_at: AtomicI64::new(runner.now().millis()),
            held: Mutex::default(),
            contacts: Mutex::default(),
        }
    }

    /// Reads a page of the log.
    pub(super) async fn read(&self, source: Source, after: u64) -> Done {
        let read = self.runner.storage.log(&self.key.0, after, PAGE).await;
        Done::Read(
            source,
            read.map(|page| {
                let now = self.runner.now();
                let mut held = self.held.lock();
                if held.len() > MAX_HELD {
                    held.clear();
                }
                let events = page.entries.into_iter().map(|entry| {
                    let (seq, is_wanted) = (entry.seq, self.wants(&entry));
                    if is_wanted {
                        held.insert(seq, Held { entry, read_at: now });
                    }
                    (seq, is_wanted)
                });
                Page { after, events: events.collect(), oldest: page.oldest, head: page.head }
            }),
        )
    }

    /// Whether the endpoint gets an event: not those of other types, not emptied ones, and not those for which another
    /// endpoint was named.
    fn wants(&self, entry: &LogEntry) -> bool {
        let Some(body) = &entry.body else { return false };
        if !self.types.admits(entry.kind) {
            return false;
        }
        if !entry.kind.as_str().starts_with("extraction.") {
            return true;
        }
        let data = body.get("data");
        let notify =
            data.as_ref().and_then(|data| data.as_object()?.get("notify")?.as_str().map(str::to_owned));
        notify.is_none_or(|id| id == self.key.1.to_string())
    }

    /// An event that is about to be sent, as it is now.
    async fn event(&self, seq: u64) -> Result<Result<LogEntry, Absence>, StorageError> {
        let held = self.held.lock().remove(&seq);
        let now = self.runner.now();
        let entry = match held.filter(|held| (0..FRESH).contains(&now.millis_since(held.read_at))) {
            Some(held) => Some(held.entry),
            None => {
                let page = self.runner.storage.log(&self.key.0, seq.saturating_sub(1), 1).await?;
                page.entries.into_iter().next().filter(|entry| entry.seq == seq)
            }
        };
        Ok(match entry {
            None => Err(Absence::Expired),
            Some(entry) if entry.body.is_none() => Err(Absence::Erased),
            Some(entry) => Ok(entry),
        })
    }

    /// An event that is about to be sent; `None` if the endpoint is not as it was.
    async fn to_send(&self, seq: u64) -> Result<Option<Result<LogEntry, Absence>>, StorageError> {
        if self.is_changed().await? {
            return Ok(None);
        }
        self.event(seq).await.map(Some)
    }

    /// The versions of what is stored.
    pub(super) async fn check(&self) -> Done {
        let ((agent, id), storage) = (self.key, &*self.runner.storage);
        let versions = async {
            let endpoint = load_endpoint(storage, agent, *id).await?;
            let state = load_state(storage, agent, *id).await?;
            Ok(endpoint.zip(state).map(|(endpoint, state)| (endpoint.version, state.version)))
        };
        Done::Checked(versions.await)
    }

    /// The version of the endpoint that is delivered to.
    pub(super) fn version(&self) -> u64 {
        self.endpoint.version
    }

    /// Sends an event.
    pub(super) async fn send(&self, seq: u64, attempt: u8) -> Done {
        let url = &self.endpoint.value.url;
        let _permit = self.runner.limits.admit(self.key, url).await;
        let entry = loop {
            match self.to_send(seq).await {
                Ok(Some(Ok(entry))) => break entry,
                Ok(Some(Err(absence))) => return Done::Absent(seq, absence),
                Ok(None) => return Done::Changed,
                // Nothing is lost while the store does not answer: the lease ends the wait.
                Err(_) => self.runner.sleep(AFTER_FAILURE).await,
            }
        };
        if let Some(contact) = entry.contact {
            self.contacts.lock().insert(seq, contact);
        }
        self.outlast_request().await;
        let webhooks = self.runner.webhooks();
        let (agent, id) = self.key;
        let at = self.runner.now();
        let keys = &webhooks.platform.ports().server_keys;
        let Ok(secrets) = self.endpoint.value.secrets.live(keys, agent, *id, at) else {
            return Done::Changed;
        };
        let body = Event::of(agent, &entry).and_then(|event| serde_json::to_vec(&event));
        let Ok(body) = body else {
            tracing::error!(%agent, seq, "an event of the log cannot be read; it is passed over");
            return Done::Absent(seq, Absence::Erased);
        };
        let message = Message { id: entry.id, at, body: Bytes::from(body) };
        let mut request = message.request(url, webhooks.platform.service_info().service_name(), &secrets);
        request.agent = Some(agent.clone());
        if attempt == 1 {
            let delay = at.millis_since(entry.at).max(0);
            self.runner.observer.began(u64::try_from(delay).unwrap_or_default());
        }
        let sent = webhooks.outbound.send(request).await;
        let ended = self.runner.now();
        let millis = u32::try_from(ended.millis_since(at)).unwrap_or_default();
        let outcome = Outcome::of(&sent, millis, ended);
        self.note(&outcome, seq, attempt);
        Done::Ended(seq, outcome)
    }

    /// Metrics and log; of the URL nothing, because it may contain a secret.
    fn note(&self, outcome: &Outcome, seq: u64, attempt: u8) {
        let word = word(outcome);
        self.runner.observer.attempted(word);
        let ((agent, endpoint), status, millis) = (self.key, outcome.status, outcome.millis);
        if outcome.is_success() {
            tracing::debug!(%agent, %endpoint, seq, attempt, status, millis, "an event was accepted");
        } else {
            tracing::info!(%agent, %endpoint, seq, attempt, status, millis, outcome = word, "an event was not accepted");
        }
    }

    /// Waits until the lease outlasts a request that begins now. While requests wait, the driver renews it.
    async fn outlast_request(&self) {
        while self.lease_until.load(Ordering::Acquire) - self.runner.now().millis() < LEASE_LEFT {
            self.runner.sleep(100).await;
        }
    }

    /// Whether the endpoint or its agent is not as it was when the driver began; looked up every second.
    async fn is_changed(&self) -> Result<bool, StorageError> {
        let now = self.runner.now().millis();
        let checked_at = self.checked_at.load(Ordering::Acquire);
        if (0..CHECK_EVERY).contains(&(now - checked_at)) {
            return Ok(false);
        }
        let (agent, id) = self.key;
        let endpoint = load_endpoint(&*self.runner.storage, agent, *id).await?;
        let is_active = is_active(self.runner, agent).await?;
        self.checked_at.store(now, Ordering::Release);
        Ok(!is_active || endpoint.is_none_or(|endpoint| endpoint.version != self.endpoint.version))
    }

    /// Saves the state, with what goes with it, over this version.
    pub(super) async fn save(&self, version: u64, save: Save) -> Done {
        let until = save.state.lease.map(|lease| lease.until);
        let saved = self.try_save(version, &save).await;
        if saved.is_ok() {
            self.lease_until.store(until.map_or(0, Timestamp::millis), Ordering::Release);
            self.saved(&save).await;
        }
        Done::Saved(saved.map(|()| until))
    }

    async fn try_save(&self, version: u64, save: &Save) -> Result<(), StorageError> {
        let (agent, id) = self.key;
        let mut changes = vec![state_change(*id, version + 1, &save.state)?];
        for attempt in &save.attempts {
            let contact = self.contacts.lock().get(&attempt.seq).copied();
            changes.push(attempt_record(*id, attempt, contact.map(Subject::Contact))?);
        }
        let mut effects = Effects::default();
        if let Some(reason) = save.disable {
            let (status, reason) = match reason {
                DisableReason::Gone => (StatusReason::Gone, EndpointReason::Gone),
                DisableReason::Failing => (StatusReason::Failing, EndpointReason::Failing),
            };
            let (change, with) =
                disabling(&self.runner.webhooks(), self.key, &self.endpoint, status, reason)?;
            changes.push(change);
            effects = with;
        }
        self.runner.storage.save_records(Some(agent), &RecordsWrite { changes, effects }).await
    }

    /// What follows a save.
    async fn saved(&self, save: &Save) {
        let (agent, id) = self.key;
        let given_up: u64 = save
            .attempts
            .iter()
            .filter(|attempt| matches!(attempt.result, AttemptResult::GivenUp | AttemptResult::Expired))
            .map(|attempt| attempt.upto.unwrap_or(attempt.seq) + 1 - attempt.seq)
            .sum();
        if given_up > 0 {
            self.runner.observer.given_up(given_up);
        }
        if let Some(reason) = save.disable {
            tracing::warn!(%agent, endpoint = %id, ?reason, "a webhook endpoint was disabled");
        }
        self.contacts.lock().retain(|seq, _| save.state.open.contains_key(seq) || *seq > save.state.cursor);
        let is_pruned = save.attempts.iter().any(|attempt| attempt.number % PRUNE_EVERY == 0);
        if let Some(oldest) = save.state.attempts.checked_sub(MAX_ATTEMPTS).filter(|_| is_pruned)
            && let Err(error) = remove_attempts(&self.runner.webhooks(), agent, *id, Some(oldest + 1)).await
        {
            tracing::warn!(%agent, endpoint = %id, error = error.message(), "old attempts were not removed");
        }
    }
}

/// Whether an agent is active: others pause.
pub(super) async fn is_active(
    runner: &Runner,
    agent: &openapi_core::values::AgentId,
) -> Result<bool, StorageError> {
    let found = runner.storage.agent(agent).await?;
    Ok(found.is_some_and(|agent| agent.status == AgentStatus::Active))
}

/// The change that disables an endpoint, with its event and its entry in the audit log.
pub(super) fn disabling(
    webhooks: &Webhooks,
    (agent, id): &Key,
    endpoint: &Versioned<EndpointRecord>,
    status: StatusReason,
    reason: EndpointReason,
) -> Result<(RecordChange, Effects), StorageError> {
    let platform = &webhooks.platform;
    let now = platform.now();
    let mut record = endpoint.value.clone();
    record.disable(status, now);
    let by = Actor::Operator("webhooks".to_owned());
    let mut details = Object::new();
    details.insert("reason", reason.as_str().into());
    let audit =
        platform.operator_audit(&by, AuditAction::WebhookDisable, agent, &id.to_string(), &details, now);
    let data = EventData::EndpointDisabled { endpoint_id: *id, reason };
    let event = platform.event(EventActor::System, None, data, now);
    let change = endpoint_change(*id, endpoint.version + 1, &record)?;
    Ok((change, Effects::audited(audit).with_event(event)))
}

/// One word for an outcome.
fn word(outcome: &Outcome) -> &'static str {
    match (outcome.status, outcome.error) {
        (Some(200..300), _) => "success",
        (Some(410), _) => "gone",
        (Some(300..400), _) => "redirect",
        (Some(500..), _) => "server_error",
        (Some(_), _) => "client_error",
        (None, error) => error.unwrap_or("response"),
    }
}

/// Whether a save was refused because another writer was faster, or the agent or the endpoint is gone.
pub(super) fn is_stale(error: &StorageError) -> bool {
    matches!(
        error.kind,
        StorageErrorKind::Stale | StorageErrorKind::Missing | StorageErrorKind::DuplicateRecord
    )
}
