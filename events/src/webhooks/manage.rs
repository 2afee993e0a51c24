//! Creating, listing, changing and deleting endpoints.

use openapi_core::access::Caller;
use openapi_core::audit::AuditAction;
use openapi_core::json::{Json, Object};
use openapi_core::platform::idempotency::{Claimed, answer, claim, replay};
use openapi_core::platform::paging::Part;
use openapi_core::platform::{concurrent_update, seal, stale_tag, unseal};
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::service::{Created, Page, Unvalidated};
use openapi_core::storage::retry::{RetryOn, retry_on_conflict};
use openapi_core::storage::{
    Effects, RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, StorageErrorKind, StoredRecord,
    Window,
};
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use serde::{Deserialize, Serialize};

use super::body::{self, EndpointChange, NewEndpoint, ResumeAt, Wanted, conflict};
use super::records::{
    EndpointRecord, EndpointStatus, StatusReason, Versioned, attempt_id, endpoint_change, load_state,
    state_change,
};
use super::requests::{CreateEndpoint, DeleteEndpoint, EditEndpoint, EndpointTarget, ListEndpoints};
use super::service::{WebhookSettings, Webhooks};
use super::view::{DeletedEndpoint, Endpoint, etag};
use crate::delivery::{DeliveryState, Mode, Resume};
use crate::secrets::EndpointSecrets;

/// The list to which cursors belong.
const LIST: &str = "webhook endpoint list cursor";
/// Attempts that are removed at a time with their endpoint.
const ATTEMPTS_AT_ONCE: u32 = 500;

/// What a cursor of the list says.
#[derive(Serialize, Deserialize)]
struct Position {
    #[serde(rename = "i")]
    id: String,
    #[serde(rename = "p")]
    page: u64,
}

impl Webhooks {
    /// Creates an endpoint.
    ///
    /// # Errors
    /// Those of the contract.
    pub async fn create(
        &self,
        caller: &Caller,
        request: CreateEndpoint,
    ) -> Result<Created<Endpoint>, ApiError> {
        let claimed = match claim(&self.platform, caller, request.idempotency.as_ref()).await? {
            Claimed::Answered(stored) => return Ok(Created::Replayed(stored)),
            Claimed::Run(claim) => claim,
        };
        let wanted = request.fields.check_with(|fields| NewEndpoint::read(fields, &*self.outbound))?;
        self.refuse_unavailable()?;
        let (agent, claimed, wanted) = (&caller.agent_id, &claimed, &wanted);
        retry_on_conflict(concurrent_update, |_| async move {
            let taken = self.all_of(agent).await?;
            // A request that used the key since it was looked up has taken a slot that is seen, or takes the same one.
            if let Some(created) = answer(claimed.as_ref(), caller).await? {
                return Ok(Some(created));
            }
            let endpoint = self.new_endpoint(caller, wanted, &taken).await?;
            let replay = replay(claimed.as_ref(), &endpoint, None, endpoint.now)?;
            let audit =
                self.audit(caller, AuditAction::WebhookCreate, endpoint.id, &Object::new(), endpoint.now);
            let write = RecordsWrite {
                changes: vec![
                    endpoint_change(endpoint.id, 1, &endpoint.record)?,
                    state_change(endpoint.id, 1, &endpoint.state)?,
                ],
                effects: Effects { replay, ..Effects::audited(audit) },
            };
            let saved = self.storage().save_records(Some(agent), &write).await;
            let lost =
                [StorageErrorKind::Stale, StorageErrorKind::DuplicateRecord, StorageErrorKind::ReplayExists];
            let Some(()) = saved.retry_on(&lost)? else { return Ok(None) };
            self.signal.changed(agent, endpoint.id);
            Ok(Some(Created::New(endpoint)))
        })
        .await
    }

    async fn new_endpoint(
        &self,
        caller: &Caller,
        wanted: &Wanted,
        taken: &[(PlatformId, Versioned<EndpointRecord>)],
    ) -> Result<Endpoint, ApiError> {
        let limit = self.settings.max_endpoints.min(WebhookSettings::MAX_ENDPOINTS);
        let is_free = |slot: &u32| taken.iter().all(|(_, endpoint)| endpoint.value.slot != *slot);
        if taken.len() >= limit as usize {
            let text = format!("The agent may have {limit} webhook endpoints");
            return Err(ApiError::new(ErrorCode::EndpointLimitExceeded, text).with_detail("limit", limit));
        }
        let slot = (0..WebhookSettings::MAX_ENDPOINTS).find(is_free).ok_or_else(concurrent_update)?;
        let now = self.platform.now();
        let agent = &caller.agent_id;
        let head = self.head(agent).await?;
        let cursor = match wanted.from {
            Some(body::From::Oldest) => self.storage().log(agent, 0, 1).await?.oldest.saturating_sub(1),
            Some(body::From::Now) | None => head,
        };
        let record = EndpointRecord {
            url: wanted.url.clone().unwrap_or_default(),
            description: wanted.description.clone().flatten(),
            types: wanted.types.clone().unwrap_or_else(|| vec!["*".to_owned()]),
            mode: wanted.mode.unwrap_or(Mode::Parallel),
            status: EndpointStatus::Enabled,
            status_reason: None,
            secrets: EndpointSecrets::first(&self.platform.ports().server_keys),
            slot,
            created_at: now,
            updated_at: now,
        };
        let id = self.platform.ports().ids.platform_id(now);
        let mut state = DeliveryState::new(cursor);
        // So that a server looks at the endpoint, whichever process creates it.
        state.probe_at = Some(now);
        Ok(Endpoint::new((agent, id), Versioned { version: 1, value: record }, state, head, now))
    }

    /// Lists the endpoints of the agent, oldest first.
    ///
    /// # Errors
    /// Those of the contract.
    pub async fn list(&self, caller: &Caller, request: ListEndpoints) -> Result<Page<Endpoint>, ApiError> {
        let page = request.page.check()?;
        let agent = &caller.agent_id;
        let keys = &self.platform.ports().server_keys;
        let parameters = (agent.as_str(), page.limit);
        let part = Part::of(&page, |text| {
            let position: Position = unseal(keys, LIST, &parameters, text)?;
            Some((position.id.parse::<PlatformId>().ok()?, position.page))
        })?;
        let all = self.all_of(agent).await?;
        let total = all.len() as u64;
        let (skipped, taken) = match part.window() {
            Window::Page { offset, limit } => (usize::try_from(offset).unwrap_or(usize::MAX), limit as usize),
            Window::After { position, limit } => {
                (all.iter().take_while(|(id, _)| *id <= position).count(), limit as usize)
            }
        };
        let items = self.shown(agent, all.into_iter().skip(skipped).take(taken)).await?;
        Ok(part.page(items, total, |last, page| {
            seal(keys, LIST, &parameters, &Position { id: last.id.to_string(), page })
        }))
    }

    /// All endpoints of the agent, oldest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn all(&self, caller: &Caller) -> Result<Vec<Endpoint>, ApiError> {
        let agent = &caller.agent_id;
        self.shown(agent, self.all_of(agent).await?.into_iter()).await
    }

    /// Endpoints with their progress.
    async fn shown(
        &self,
        agent: &AgentId,
        endpoints: impl Iterator<Item = (PlatformId, Versioned<EndpointRecord>)> + Send,
    ) -> Result<Vec<Endpoint>, ApiError> {
        let (head, now) = (self.head(agent).await?, self.platform.now());
        let mut shown = Vec::new();
        for (id, endpoint) in endpoints {
            // One that is deleted meanwhile has no progress.
            let state = load_state(self.storage(), agent, id)
                .await?
                .map_or_else(DeliveryState::default, |it| it.value);
            shown.push(Endpoint::new((agent, id), endpoint, state, head, now));
        }
        Ok(shown)
    }

    /// Every endpoint of an agent, oldest first.
    pub(crate) async fn all_of(
        &self,
        agent: &AgentId,
    ) -> Result<Vec<(PlatformId, Versioned<EndpointRecord>)>, ApiError> {
        let kind = RecordKind::WebhookEndpoint;
        let records =
            self.storage().records_of(Some(agent), kind, None, WebhookSettings::MAX_ENDPOINTS).await?;
        let mut all = Vec::with_capacity(records.len());
        for record in &records {
            if let Some(id) = id_of(record) {
                all.push((id, Versioned::of(record)?));
            }
        }
        Ok(all)
    }

    /// One endpoint.
    ///
    /// # Errors
    /// 404 ENDPOINT_NOT_FOUND.
    pub async fn get(&self, caller: &Caller, target: &EndpointTarget) -> Result<Endpoint, ApiError> {
        let agent = &caller.agent_id;
        let (id, endpoint, state) = self.find(agent, target).await?;
        Ok(Endpoint::new((agent, id), endpoint, state.value, self.head(agent).await?, self.platform.now()))
    }

    /// Changes an endpoint.
    ///
    /// # Errors
    /// Those of the contract.
    pub async fn edit(&self, caller: &Caller, request: EditEndpoint) -> Result<Endpoint, ApiError> {
        let request = &request;
        retry_on_conflict(concurrent_update, |_| async move {
            let agent = &caller.agent_id;
            let (id, endpoint, state) = self.find(agent, &request.target).await?;
            let current = etag(endpoint.version, endpoint.value.updated_at);
            if request.if_match.as_ref().is_some_and(|tags| !tags.matches_strongly(&current)) {
                return Err(stale_tag("endpoint", Some(&current)));
            }
            let wanted = request.fields.check_with(|fields| EndpointChange::read(fields, &*self.outbound))?;
            let (head, now) = (self.head(agent).await?, self.platform.now());
            let (mut record, mut progress) = (endpoint.value.clone(), state.value.clone());
            self.apply(&wanted, &mut record, &mut progress, (agent, id), head, now)?;
            let changed = changed_members(&endpoint.value, &record);
            if changed.is_empty() && progress == state.value {
                return Ok(Some(Endpoint::new((agent, id), endpoint, state.value, head, now)));
            }
            record.updated_at = now;
            let action = match (endpoint.value.status, record.status) {
                (EndpointStatus::Enabled, EndpointStatus::Disabled) => AuditAction::WebhookDisable,
                (EndpointStatus::Disabled, EndpointStatus::Enabled) => AuditAction::WebhookEnable,
                _ => AuditAction::WebhookEdit,
            };
            let mut details = Object::new();
            details.insert("changed", Json::Array(changed.into_iter().map(Json::from).collect()));
            let audit = self.audit(caller, action, id, &details, now);
            let version = endpoint.version + 1;
            let changes = vec![
                endpoint_change(id, version, &record)?,
                // Also where the progress is the same: a server that delivers takes the endpoint again.
                state_change(id, state.version + 1, &progress)?,
            ];
            let Some(()) = self.save(agent, id, changes, Effects::audited(audit)).await? else {
                return Ok(None);
            };
            let endpoint = Versioned { version, value: record };
            Ok(Some(Endpoint::new((agent, id), endpoint, progress, head, now)))
        })
        .await
    }

    fn apply(
        &self,
        wanted: &Wanted,
        record: &mut EndpointRecord,
        state: &mut DeliveryState,
        (agent, id): (&AgentId, PlatformId),
        head: u64,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        if let Some(url) = wanted.url.clone().filter(|url| *url != record.url) {
            record.url = url;
            // The new receiver has not failed yet.
            (state.failures, state.failing_since, state.rest_until) = (0, None, None);
            state.probe_at = Some(now);
            state.open.values_mut().for_each(|open| open.next_at = now);
        }
        if let Some(types) = &wanted.types {
            record.types.clone_from(types);
        }
        if let Some(description) = &wanted.description {
            record.description.clone_from(description);
        }
        if let Some(mode) = wanted.mode.filter(|mode| *mode != record.mode) {
            record.mode = mode;
            state.change_mode(mode);
        }
        match wanted.status {
            Some(EndpointStatus::Disabled) if record.is_enabled() => {
                record.disable(StatusReason::Operator, now);
                state.stop();
            }
            Some(EndpointStatus::Enabled) if !record.is_enabled() || wanted.resume.is_some() => {
                if record.secrets.live(&self.platform.ports().server_keys, agent, id, now).is_err() {
                    return Err(conflict("status", "needs a new secret first: rotate it").into());
                }
                (record.status, record.status_reason) = (EndpointStatus::Enabled, None);
                state.resume(
                    if wanted.resume == Some(ResumeAt::Now) { Resume::Now(head) } else { Resume::Cursor },
                    now,
                );
            }
            _ => {}
        }
        Ok(())
    }

    /// Deletes an endpoint with its attempts.
    ///
    /// # Errors
    /// 404 ENDPOINT_NOT_FOUND.
    pub async fn delete(
        &self,
        caller: &Caller,
        request: DeleteEndpoint,
    ) -> Result<DeletedEndpoint, ApiError> {
        let request = &request;
        retry_on_conflict(concurrent_update, |_| async move {
            let agent = &caller.agent_id;
            let (id, endpoint, state) = self.find(agent, &request.target).await?;
            Unvalidated::new(Some(()), request.faults.clone()).check()?;
            let deleted_at = self.platform.now();
            let audit = self.audit(caller, AuditAction::WebhookDelete, id, &Object::new(), deleted_at);
            let remove = |kind, version| RecordChange::Remove { key: RecordKey::new(kind, id), version };
            let changes = vec![
                remove(RecordKind::WebhookEndpoint, endpoint.version),
                remove(RecordKind::WebhookState, state.version),
            ];
            let Some(()) = self.save(agent, id, changes, Effects::audited(audit)).await? else {
                return Ok(None);
            };
            // What a crash leaves goes when its time is over.
            while remove_attempts(self, agent, id, None).await? > 0 {}
            Ok(Some(DeletedEndpoint { id, deleted_at }))
        })
        .await
    }
}

/// Removes attempts of an endpoint after this number of the oldest that stays; all without one. Returns how many.
pub(crate) async fn remove_attempts(
    webhooks: &Webhooks,
    agent: &AgentId,
    id: PlatformId,
    oldest: Option<u64>,
) -> Result<usize, ApiError> {
    let after = attempt_id(id, oldest.unwrap_or(u64::MAX));
    let (kind, storage) = (RecordKind::WebhookAttempt, webhooks.storage());
    let records = storage.records_of(Some(agent), kind, Some(&after), ATTEMPTS_AT_ONCE).await?;
    let is_own = |record: &&StoredRecord| record.key.id.as_bytes().starts_with(id.as_bytes());
    let changes: Vec<RecordChange> = records
        .iter()
        .take_while(is_own)
        .map(|record| RecordChange::Remove { key: record.key.clone(), version: record.version })
        .collect();
    let removed = changes.len();
    if removed > 0 {
        storage.save_records(Some(agent), &RecordsWrite { changes, effects: Effects::default() }).await?;
    }
    Ok(removed)
}

/// The id of an endpoint by its record.
pub(crate) fn id_of(record: &StoredRecord) -> Option<PlatformId> {
    id_of_key(&record.key.id)
}

fn id_of_key(id: &RecordId) -> Option<PlatformId> {
    id.as_bytes().first_chunk().copied().map(PlatformId::from_bytes)
}

/// The names of the members in which two endpoints differ.
fn changed_members(before: &EndpointRecord, after: &EndpointRecord) -> Vec<&'static str> {
    let members = [
        ("url", before.url != after.url),
        ("types", before.types != after.types),
        ("mode", before.mode != after.mode),
        ("description", before.description != after.description),
        ("status", before.status != after.status),
    ];
    members.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
