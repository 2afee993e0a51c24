//! The authenticator: which requests are admitted (contract 6.3 steps 3 to 5, contract 7 and 8). Authentication,
//! address allowlist, rate limits, in this order and before one byte of a body is read.

mod credentials;
mod error;
mod failures;
mod headers;
mod secrets;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::{HeaderMap, HeaderValue};
use parking_lot::RwLock;

use crate::access::{Actor, ApiKey, ApiSecret, Caller, Key, KeyStatus, Permission, SecretHash, StoredKey};
use crate::agents::AgentStatus;
use crate::audit::{AuditAction, AuditEntry, SealedEntry, salt};
use crate::json::{Json, Object, RawObject};
use crate::limits::{AddressClass, AddressLimiter, AddressLimits, Decision, KeyLimiter, KeyWindow};
use crate::ports::{Clock, IdGenerator};
use crate::reply::{ApiError, ErrorCode};
use crate::server_keys::ServerKeys;
use crate::storage::{AccessStore, Effects, StorageError, StorageErrorKind};
use crate::values::{AgentId, Timestamp};

pub(crate) use error::{AuthError, Authenticated};
use failures::{Failure, FailureLog};
use headers::rate_policy;
pub(crate) use headers::{RATE_HEADER_NAMES, rate_headers};

/// How long a key read from the store is used without reading it again, and how long a key that the store does not have
/// stays unknown. Changes made elsewhere act within 5 s (contract 7.2).
const KEY_LIFETIME_MILLIS: i64 = 4_000;

/// How long a key is remembered as one that exists. Addresses far over their limit may use no others.
const KEY_RETENTION_MILLIS: i64 = 600_000;

/// The most cached keys, and the most keys that are known not to exist.
const MAX_CACHED_KEYS: usize = 100_000;
const MAX_UNKNOWN_KEYS: usize = 10_000;

/// Authentication and limits over a store of keys.
pub struct Authenticator {
    store: Arc<dyn AccessStore>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    server_keys: ServerKeys,
    keys: RwLock<HashMap<ApiKey, Arc<CachedKey>>>,
    /// Keys that the store does not have, and when it was asked.
    unknown: RwLock<HashMap<ApiKey, Timestamp>>,
    limiter: KeyLimiter,
    failures: FailureLog,
}

/// What is known of the key of a request.
struct FoundKey {
    key: Option<Arc<CachedKey>>,
    /// Whether the store was asked for it in this request.
    was_read: bool,
}

struct CachedKey {
    stored: StoredKey,
    agent_status: AgentStatus,
    read_at: Timestamp,
    /// When a request with a wrong secret last asked the store, in milliseconds.
    probed_at: AtomicI64,
    window: Arc<KeyWindow>,
    rate_policy: Option<HeaderValue>,
}

impl CachedKey {
    /// Whether the key works, for any caller.
    fn works_at(&self, now: Timestamp) -> bool {
        let key = &self.stored.key;
        self.agent_status == AgentStatus::Active
            && key.status == KeyStatus::Active
            && key.expires_at.is_none_or(|expires_at| now < expires_at)
    }

    /// Whether the key may be used from an address.
    fn allows(&self, address: IpAddr) -> bool {
        let allowed = &self.stored.key.allowed_addresses;
        allowed.is_empty() || allowed.iter().any(|block| block.contains(address))
    }
}

impl Authenticator {
    /// An authenticator over a store.
    #[must_use]
    pub fn new(
        store: Arc<dyn AccessStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdGenerator>,
        server_keys: ServerKeys,
    ) -> Self {
        let limiter = KeyLimiter::new(ids.platform_id(clock.now()));
        Authenticator {
            store,
            clock,
            ids,
            server_keys,
            keys: RwLock::default(),
            unknown: RwLock::default(),
            limiter,
            failures: FailureLog::default(),
        }
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn ids(&self) -> &dyn IdGenerator {
        &*self.ids
    }

    /// The keyed hash under which a new secret of a key is stored.
    pub(crate) fn hash_secret(&self, key: &Key, secret: &ApiSecret) -> SecretHash {
        secrets::hash(&self.server_keys, key, secret.expose().as_bytes())
    }

    /// Makes a change of a key or an agent act on the next request.
    pub(crate) fn forget(&self, agent: &AgentId) {
        let mut keys = self.keys.write();
        keys.retain(|_, cached| cached.stored.key.agent_id != *agent);
        drop(keys);
        // The change may have made a key.
        self.unknown.write().clear();
    }

    /// Saves last uses, gives back leases that have ended, forgets what is stale. [`crate::platform::Platform`] does
    /// it in its own `maintain`; a host that has only an authenticator calls it about every 20 s.
    ///
    /// # Errors
    /// When the store fails; the next call goes on.
    pub async fn maintain(&self) -> Result<(), StorageError> {
        let now = self.clock.now();
        self.keys.write().retain(|_, cached| now.millis_since(cached.read_at) < KEY_RETENTION_MILLIS);
        self.unknown.write().retain(|_, read_at| is_fresh(*read_at, now));
        self.write_failures(self.failures.take(Some(now))).await;
        self.limiter.maintain(&*self.store, now).await
    }

    /// Saves last uses and gives back all leases: the orderly end.
    ///
    /// # Errors
    /// When the store fails; leases then count as used.
    pub async fn drain(&self) -> Result<(), StorageError> {
        self.write_failures(self.failures.take(None)).await;
        self.limiter.drain(&*self.store, self.clock.now()).await
    }

    /// Lets a request in: steps 3 to 5. `is_flooding` says whether the address is far over its limit of failed
    /// authentications: the store is then asked only for keys that are known to exist.
    pub(crate) async fn enter(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
        request_id: &str,
        now: Timestamp,
        is_flooding: impl Fn() -> bool,
    ) -> Result<Authenticated, AuthError> {
        let credentials = credentials::read(headers)?;
        let found = self.key(&credentials.key, now, &is_flooding).await?;
        let authenticated = self.authenticate(&credentials, found.key.as_ref(), now);
        if authenticated.is_err() {
            self.equalize(&found, now, is_flooding).await?;
        }
        let (cached, matching) = authenticated?;
        let secret_expires = matching.expires_at;
        if !matching.is_bound {
            self.bind_secret(cached, matching, &credentials, request_id, now).await;
        }
        let key = &cached.stored.key;
        if !cached.allows(address) {
            return Err(AuthError::Failed {
                error: ApiError::new(
                    ErrorCode::IpNotAllowed,
                    "The API key may not be used from this address",
                ),
                key: Some(key.api_key.clone()),
                agent: Some(key.agent_id.clone()),
            });
        }
        let decision =
            self.limiter.admit(&*self.store, &cached.window, key.limits, address, now, &*self.clock).await?;
        let caller = Caller {
            agent_id: key.agent_id.clone(),
            actor: Actor::ApiKey(key.api_key.clone()),
            permissions: key.permissions,
            address: Some(address),
            request_id: request_id.to_owned(),
        };
        let entry =
            Authenticated { caller, decision, rate_policy: cached.rate_policy.clone(), secret_expires };
        if decision.admitted {
            Ok(entry)
        } else {
            Err(AuthError::Limited { error: limit_error(&decision), entry: Box::new(entry) })
        }
    }

    /// The agent of a key that works now, for any caller.
    pub(crate) async fn agent_of(
        &self,
        key: &ApiKey,
        now: Timestamp,
    ) -> Result<Option<AgentId>, StorageError> {
        let found = self.key(key.as_str(), now, || false).await?.key;
        Ok(found.filter(|cached| cached.works_at(now)).map(|cached| cached.stored.key.agent_id.clone()))
    }

    /// Whether a caller who was let in before would still be, with this permission: for responses that last. Only the
    /// host knows this of callers without a key; they still are.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn still_admits(&self, caller: &Caller, permission: Permission) -> Result<bool, StorageError> {
        let Actor::ApiKey(key) = &caller.actor else { return Ok(true) };
        let now = self.clock.now();
        let found = self.key(key.as_str(), now, || false).await?.key;
        Ok(found.is_some_and(|cached| {
            cached.works_at(now)
                && cached.stored.key.permissions.allows(permission)
                && caller.address.is_none_or(|address| cached.allows(address))
        }))
    }

    async fn key(
        &self,
        sent: &str,
        now: Timestamp,
        is_flooding: impl Fn() -> bool,
    ) -> Result<FoundKey, StorageError> {
        let known = self.keys.read().get(sent).cloned();
        if let Some(cached) = known.as_ref().filter(|cached| is_fresh(cached.read_at, now)) {
            return Ok(FoundKey { key: Some(Arc::clone(cached)), was_read: false });
        }
        let unread = FoundKey { key: None, was_read: false };
        if self.unknown.read().get(sent).is_some_and(|read_at| is_fresh(*read_at, now)) {
            return Ok(unread);
        }
        let Some(api_key) = ApiKey::parse(sent) else { return Ok(unread) };
        if known.is_none() && is_flooding() {
            return Ok(unread);
        }
        let probed_at = known.map_or(i64::MIN, |cached| cached.probed_at.load(Ordering::Relaxed));
        let key = self.read_key(&api_key, now, probed_at).await?;
        Ok(FoundKey { key, was_read: true })
    }

    /// Reads a key from the store, and remembers what it has.
    async fn read_key(
        &self,
        api_key: &ApiKey,
        now: Timestamp,
        probed_at: i64,
    ) -> Result<Option<Arc<CachedKey>>, StorageError> {
        let Some(grant) = self.store.look_up_key(api_key).await? else {
            self.keys.write().remove(api_key);
            let mut unknown = self.unknown.write();
            if unknown.len() >= MAX_UNKNOWN_KEYS {
                unknown.clear();
            }
            unknown.insert(api_key.clone(), now);
            return Ok(None);
        };
        let rate_policy = rate_policy(grant.stored.key.limits);
        let window = self.limiter.window(&grant.stored.key.agent_id, grant.stored.key.id);
        let cached = Arc::new(CachedKey {
            stored: grant.stored,
            agent_status: grant.agent_status,
            read_at: now,
            probed_at: AtomicI64::new(probed_at),
            window,
            rate_policy,
        });
        let mut keys = self.keys.write();
        if keys.len() >= MAX_CACHED_KEYS {
            keys.clear();
        }
        keys.insert(api_key.clone(), Arc::clone(&cached));
        Ok(Some(cached))
    }

    /// Makes a failed request with a key from the cache ask the store as often as one with an unknown key: once in
    /// [`KEY_LIFETIME_MILLIS`]. Otherwise its time would tell that the key exists.
    async fn equalize(
        &self,
        found: &FoundKey,
        now: Timestamp,
        is_flooding: impl Fn() -> bool,
    ) -> Result<(), StorageError> {
        let Some(cached) = &found.key else { return Ok(()) };
        if found.was_read {
            cached.probed_at.store(now.millis(), Ordering::Relaxed);
            return Ok(());
        }
        let since_probe = now.millis().saturating_sub(cached.probed_at.load(Ordering::Relaxed));
        if !(0..KEY_LIFETIME_MILLIS).contains(&since_probe) && !is_flooding() {
            self.read_key(&cached.stored.key.api_key, now, now.millis()).await?;
        }
        Ok(())
    }

    /// The key whose secret was sent, and its hash. Every failure that could tell whether a key exists is
    /// one answer, given after the same work.
    fn authenticate<'a>(
        &self,
        credentials: &credentials::Credentials<'_>,
        cached: Option<&'a Arc<CachedKey>>,
        now: Timestamp,
    ) -> Result<(&'a Arc<CachedKey>, &'a SecretHash), AuthError> {
        let failed = |error: ApiError| AuthError::Failed {
            error,
            key: ApiKey::parse(&credentials.key),
            agent: cached.map(|cached| cached.stored.key.agent_id.clone()),
        };
        let secret = credentials.secret.as_bytes();
        let stored = cached.map(|cached| &cached.stored);
        let matching = secrets::matching(&self.server_keys, stored, &credentials.key, secret, now);
        let (Some(cached), Some(matching)) = (cached, matching) else {
            return Err(failed(invalid_credentials()));
        };
        if cached.agent_status != AgentStatus::Active {
            return Err(failed(invalid_credentials()));
        }
        let key = &cached.stored.key;
        if key.status != KeyStatus::Active {
            let words = if key.status == KeyStatus::Revoked {
                "The API key has been revoked"
            } else {
                "The API key is disabled"
            };
            return Err(failed(ApiError::new(ErrorCode::ApiKeyRevoked, words)));
        }
        if let Some(expires_at) = key.expires_at
            && expires_at <= now
        {
            let error = ApiError::new(ErrorCode::ApiKeyExpired, "The API key has expired");
            return Err(failed(error.with_detail("expiredAt", Json::String(expires_at.to_string()))));
        }
        Ok((cached, matching))
    }

    /// Binds a secret, whose hash a former release has stored, to its key. Whatever fails, the request is authenticated,
    /// and the next one tries again.
    async fn bind_secret(
        &self,
        cached: &CachedKey,
        matching: &SecretHash,
        credentials: &credentials::Credentials<'_>,
        request_id: &str,
        now: Timestamp,
    ) {
        let key = &cached.stored.key;
        let mut bound = cached.stored.clone();
        let bound_hash = secrets::hash(&self.server_keys, key, credentials.secret.as_bytes());
        for secret in bound.secrets.iter_mut().filter(|secret| *secret == matching) {
            *secret = SecretHash { expires_at: matching.expires_at, ..bound_hash.clone() };
        }
        bound.version += 1;
        let mut details = Object::new();
        details.insert("changed", Json::Array(vec!["secretHash".into()]));
        let entry = self.seal(AuditEntry {
            id: self.ids.platform_id(now).into(),
            agent_id: Some(key.agent_id.clone()),
            at: now,
            actor: Actor::ApiKey(key.api_key.clone()),
            os_user: None,
            action: AuditAction::KeyEdit,
            resource: Some(key.api_key.as_str().to_owned()),
            contact_id: None,
            address: None,
            request_id: Some(request_id.to_owned()),
            details: RawObject::new(&details),
        });
        let effects = Effects::audited(entry);
        match self.store.update_key(&key.agent_id, cached.stored.version, &bound, &effects).await {
            Ok(()) => {
                self.keys.write().remove(key.api_key.as_str());
            }
            Err(error) if error.kind == StorageErrorKind::Stale => {}
            Err(error) => tracing::warn!(%error, "cannot bind the secret of an API key to the key"),
        }
    }

    fn seal(&self, entry: AuditEntry) -> SealedEntry {
        SealedEntry::new(entry, &self.server_keys, salt(&*self.ids))
    }

    /// Notes a failed authentication in the audit log. A store that does not take it does not change the answer.
    pub(crate) async fn audit_failure(
        &self,
        error: &ApiError,
        key: Option<ApiKey>,
        agent: Option<AgentId>,
        address: IpAddr,
        request_id: &str,
        now: Timestamp,
    ) {
        let due = self.failures.count(Failure {
            agent,
            actor: key.map_or_else(|| Actor::Anonymous("unknown key".to_owned()), Actor::ApiKey),
            address: Some(address),
            code: error.code().as_str(),
            request_id: Some(request_id.to_owned()),
            count: 1,
            since: now,
            until: now,
        });
        self.write_failures(due).await;
    }

    async fn write_failures(&self, failures: Vec<Failure>) {
        let now = self.clock.now();
        for failure in failures {
            let mut details = Object::new();
            if !failure.code.is_empty() {
                details.insert("code", failure.code.into());
            }
            if failure.request_id.is_none() {
                details.insert("count", Json::Number(failure.count.into()));
                details.insert("since", failure.since.to_string().as_str().into());
                details.insert("until", failure.until.to_string().as_str().into());
            }
            let entry = self.seal(AuditEntry {
                id: self.ids.platform_id(now).into(),
                agent_id: failure.agent,
                at: now,
                actor: failure.actor,
                os_user: None,
                action: AuditAction::AuthenticationFailure,
                resource: None,
                contact_id: None,
                address: failure.address,
                request_id: failure.request_id,
                details: RawObject::new(&details),
            });
            if let Err(error) = self.store.append_audit(&entry).await {
                tracing::warn!(%error, "failed to record a failed authentication in the audit log");
            }
        }
    }
}

/// Whether what was read then is still used.
fn is_fresh(read_at: Timestamp, now: Timestamp) -> bool {
    (0..KEY_LIFETIME_MILLIS).contains(&now.millis_since(read_at))
}

fn invalid_credentials() -> ApiError {
    ApiError::new(ErrorCode::InvalidCredentials, "The API key or secret is not valid")
}

/// 429 of a key (contract 6.4).
fn limit_error(decision: &Decision) -> ApiError {
    let (window, state) = decision.exhausted();
    let wait = state.reset_seconds.max(1);
    let message = format!("Rate limit of {} requests per {window} exceeded; retry in {wait} s", state.limit);
    ApiError::new(ErrorCode::RateLimitExceeded, message)
        .with_detail("window", window)
        .with_detail("limit", state.limit)
        .with_detail("retryAfterSeconds", wait)
        .with_retry_after(wait)
}

/// 429 of an address.
pub(crate) fn address_error(wait: u64) -> ApiError {
    ApiError::new(
        ErrorCode::TooManyFailedAttempts,
        format!("Too many requests of this kind from this address; retry in {wait} s"),
    )
    .with_retry_after(wait)
}

/// The limits per address of one `Api`.
pub(crate) struct AddressRateLimiter(AddressLimiter);

impl AddressRateLimiter {
    pub(crate) fn new(limits: AddressLimits) -> Self {
        AddressRateLimiter(AddressLimiter::new(limits))
    }

    pub(crate) fn admit(&self, address: IpAddr, class: AddressClass, now: Timestamp) -> Result<(), ApiError> {
        let admitted = self.0.admit(address, class, now);
        if admitted.is_err() && class == AddressClass::FailedAuthentication {
            // Counted until the address is far over its limit.
            let _ = self.0.admit(address, AddressClass::AuthenticationFlood, now);
        }
        admitted.map_err(address_error)
    }

    /// Whether an address is far over its limit of failed authentications.
    pub(crate) fn is_flooding(&self, address: IpAddr, now: Timestamp) -> bool {
        self.0.is_full(address, AddressClass::AuthenticationFlood, now)
    }
}
