//! Idempotency: one response for one key, however often the request is sent (contract 5.5).

use sha2::{Digest, Sha256};

use super::Platform;
use crate::access::Caller;
use crate::reply::{ApiError, ErrorCode, StoredReply};
use crate::service::{Created, Idempotency, ReplyEncoder};
use crate::storage::{IdempotencyKey, IdempotencyRecord};
use crate::values::{ContactId, Timestamp};

/// How long responses are retained.
const RETENTION_MILLIS: i64 = 24 * 3_600_000;

/// A request that holds its idempotency key while it runs.
pub struct Claim<'a, T> {
    platform: &'a Platform,
    key: IdempotencyKey,
    fingerprint: [u8; 32],
    encoder: ReplyEncoder<T>,
}

/// What is known of an idempotency key.
pub enum Claimed<'a, T> {
    /// The request goes on, with its key if it has one.
    Run(Option<Claim<'a, T>>),
    /// It was answered before.
    Answered(StoredReply),
}

impl<T> Drop for Claim<'_, T> {
    /// Also when the request is given up half-way.
    fn drop(&mut self) {
        self.platform.running.lock().remove(&self.key);
    }
}

/// Claims the key of a request that has one, or finds its answer.
pub async fn claim<'a, T>(
    platform: &'a Platform,
    caller: &Caller,
    idempotency: Option<&Idempotency<T>>,
) -> Result<Claimed<'a, T>, ApiError> {
    let Some(idempotency) = idempotency else { return Ok(Claimed::Run(None)) };
    let key = replay_key(caller, idempotency);
    let is_new = platform.running.lock().insert(key);
    if !is_new {
        return Err(ApiError::new(
            ErrorCode::IdempotencyKeyInUse,
            "A request with this Idempotency-Key is still running",
        ));
    }
    let claim = Claim { platform, key, fingerprint: idempotency.fingerprint, encoder: idempotency.encoder };
    match claim.answer(caller).await? {
        Some(stored) => Ok(Claimed::Answered(stored)),
        None => Ok(Claimed::Run(Some(claim))),
    }
}

impl<T> Claim<'_, T> {
    /// The stored answer, if there is one.
    pub async fn answer(&self, caller: &Caller) -> Result<Option<StoredReply>, ApiError> {
        let now = self.platform.now();
        let Some(replay) = self.platform.storage.replay(&caller.agent_id, &self.key, now).await? else {
            return Ok(None);
        };
        if replay.fingerprint != self.fingerprint {
            return Err(ApiError::new(
                ErrorCode::IdempotencyKeyReused,
                "This Idempotency-Key was used with another payload",
            ));
        }
        Ok(Some(StoredReply { status: replay.status, location: replay.location, body: replay.body }))
    }
}

/// The record that stores the answer to what was made, if the request has a key; `resource` is the contact that it shows.
pub fn replay<T>(
    claim: Option<&Claim<'_, T>>,
    made: &T,
    resource: Option<ContactId>,
    now: Timestamp,
) -> Result<Option<IdempotencyRecord>, ApiError> {
    let Some(claim) = claim else { return Ok(None) };
    let StoredReply { status, location, body } = claim.encoder.encode(&claim.platform.service_info, made)?;
    let expires_at = now.plus_millis(RETENTION_MILLIS);
    let (key, fingerprint) = (claim.key, claim.fingerprint);
    Ok(Some(IdempotencyRecord { key, fingerprint, status, location, body, resource, expires_at }))
}

/// The response that another server has stored under the key meanwhile; `None` without one.
pub async fn answer<T>(
    claim: Option<&Claim<'_, T>>,
    caller: &Caller,
) -> Result<Option<Created<T>>, ApiError> {
    let Some(claim) = claim else { return Ok(None) };
    Ok(claim.answer(caller).await?.map(Created::Replayed))
}

/// Bound to the caller, the method and the path.
fn replay_key<T>(caller: &Caller, idempotency: &Idempotency<T>) -> IdempotencyKey {
    let mut hash = Sha256::new();
    let actor = serde_json::to_string(&caller.actor).unwrap_or_default();
    for part in [caller.agent_id.as_str(), &actor, &idempotency.operation, &idempotency.key] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    IdempotencyKey(hash.finalize().into())
}
