//! Keys, as an operator manages them (contract 7.2).

use super::Platform;
use super::errors::lost_race;
use crate::access::{Actor, ApiKey, ApiSecret, Key, KeySelector, KeyStatus, RateLimits, StoredKey};
use crate::admin::{AdminError, IssuedKey, KeyEdit, NewKey};
use crate::audit::AuditAction;
use crate::events::{EventActor, EventData, NewEvent};
use crate::json::Object;
use crate::storage::retry::{RetryOn, retry_on_conflict};
use crate::storage::{Effects, StorageError, StorageErrorKind};
use crate::values::{AgentId, Timestamp};

/// The longest time for which an old secret stays valid: 7 days.
const MAX_GRACE_MILLIS: u64 = 7 * 24 * 3_600_000;

/// How long before its expiry a key is announced: 7 days.
const EXPIRY_NOTICE_MILLIS: i64 = 7 * 24 * 3_600_000;

fn refused(message: impl Into<String>) -> AdminError {
    AdminError::Refused(message.into())
}

fn future(expires_at: Option<Timestamp>, now: Timestamp) -> Result<(), AdminError> {
    match expires_at {
        Some(at) if at <= now => Err(refused(format!("the expiry {at} lies in the past"))),
        _ => Ok(()),
    }
}

/// The event of a key that expires soon, once for each expiry. The mark that it leaves in the key is stored in the same
/// write, so no other server and no repetition writes the event again.
fn announce_expiry(platform: &Platform, stored: &mut StoredKey, now: Timestamp) -> Option<NewEvent> {
    let key = &stored.key;
    let is_soon = |at: &Timestamp| (1..=EXPIRY_NOTICE_MILLIS).contains(&at.millis_since(now));
    let expiry = key.expires_at.filter(is_soon)?;
    if key.status != KeyStatus::Active || stored.announced_expiry == Some(expiry) {
        return None;
    }
    let data = EventData::KeyExpiring { key_id: key.id };
    let event = platform.event(EventActor::System, None, data, now)?;
    stored.announced_expiry = Some(expiry);
    Some(event)
}

/// Writes the events of the keys of an agent that expire soon.
pub(super) async fn announce_expiries(platform: &Platform, agent: &AgentId) -> Result<(), StorageError> {
    for stored in platform.storage.keys(agent).await? {
        let mut announced = StoredKey { version: stored.version + 1, ..stored.clone() };
        let Some(event) = announce_expiry(platform, &mut announced, platform.now()) else { continue };
        let effects = Effects::default().with_event(event);
        match platform.storage.update_key(agent, stored.version, &announced, &effects).await {
            // Changed meanwhile: by another server that announced it, or by an operator, whose change announces what it
            // leaves to announce.
            Err(error) if matches!(error.kind, StorageErrorKind::Stale | StorageErrorKind::Missing) => {}
            outcome => outcome?,
        }
    }
    Ok(())
}

pub(super) async fn create(platform: &Platform, by: &Actor, new: NewKey) -> Result<IssuedKey, AdminError> {
    let now = platform.now();
    if new.permissions.is_empty() {
        return Err(refused("a key needs at least one permission"));
    }
    let limits = RateLimits::new(new.limits.per_minute, new.limits.per_hour)
        .map_err(|invalid| refused(invalid.to_string()))?;
    future(new.expires_at, now)?;
    platform.living_agent(&new.agent_id).await?;
    let new = &new;
    retry_on_conflict(lost_race, |_| async move {
        let ids = &*platform.ports.ids;
        let key = Key {
            id: ids.platform_id(now).into(),
            agent_id: new.agent_id.clone(),
            api_key: ApiKey::generate(platform.service_info.api_key_prefix(), ids),
            name: new.name.clone(),
            description: new.description.clone(),
            permissions: new.permissions,
            limits,
            allowed_addresses: new.allowed_addresses.clone(),
            expires_at: new.expires_at,
            status: KeyStatus::Active,
            created_by: by.clone(),
            created_at: now,
            updated_at: now,
            last_used_at: None,
            last_used_address: None,
        };
        let secret = ApiSecret::generate(platform.service_info.api_key_prefix(), ids);
        let secrets = vec![platform.authenticator.hash_secret(&key, &secret)];
        let mut stored = StoredKey { key, secrets, version: 1, announced_expiry: None };
        let expiring = announce_expiry(platform, &mut stored, now);
        let resource = stored.key.api_key.as_str();
        let audit =
            platform.operator_audit(by, AuditAction::KeyCreate, &new.agent_id, resource, &Object::new(), now);
        let event = platform.event(by, None, EventData::KeyCreated { key_id: stored.key.id }, now);
        let effects = Effects::audited(audit).with_event(event).with_event(expiring);
        let inserted = platform.storage.insert_key(&new.agent_id, &stored, &effects).await;
        // If another key has this random id, the retry draws again.
        let inserted = inserted.retry_on(&[StorageErrorKind::AlreadyExists])?;
        Ok(inserted.map(|()| IssuedKey { key: stored.key, secret }))
    })
    .await
}

pub(super) async fn find(platform: &Platform, selector: &KeySelector) -> Result<StoredKey, AdminError> {
    let id = match selector {
        KeySelector::Id(id) => id.to_string(),
        KeySelector::ApiKey(key) => key.to_string(),
    };
    platform.storage.find_key(selector).await?.ok_or(AdminError::NotFound { what: "key", id })
}

/// Changes a key by `change`.
async fn change(
    platform: &Platform,
    by: &Actor,
    selector: &KeySelector,
    action: AuditAction,
    change: impl Fn(&mut StoredKey, Timestamp) -> Result<(), AdminError> + Sync,
) -> Result<StoredKey, AdminError> {
    let change = &change;
    retry_on_conflict(lost_race, |_| async move {
        let now = platform.now();
        let stored = find(platform, selector).await?;
        let mut changed = stored.clone();
        change(&mut changed, now)?;
        if changed == stored {
            return Ok(Some(stored));
        }
        changed.version += 1;
        changed.key.updated_at = now;
        let agent = &stored.key.agent_id;
        let audit =
            platform.operator_audit(by, action, agent, stored.key.api_key.as_str(), &Object::new(), now);
        let key_id = stored.key.id;
        let data = match action {
            AuditAction::KeyRotate => EventData::KeyRotated { key_id },
            AuditAction::KeyDisable => EventData::KeyDisabled { key_id },
            AuditAction::KeyEnable => EventData::KeyEnabled { key_id },
            AuditAction::KeyRevoke => EventData::KeyRevoked { key_id },
            _ => EventData::KeyEdited { key_id },
        };
        let event = platform.event(by, None, data, now);
        let expiring = announce_expiry(platform, &mut changed, now);
        let effects = Effects::audited(audit).with_event(event).with_event(expiring);
        let updated = platform.storage.update_key(agent, stored.version, &changed, &effects).await;
        Ok(updated.retry_on(&[StorageErrorKind::Stale])?.map(|()| {
            platform.authenticator.forget(agent);
            changed
        }))
    })
    .await
}

pub(super) async fn edit(
    platform: &Platform,
    by: &Actor,
    selector: &KeySelector,
    edit: &KeyEdit,
) -> Result<Key, AdminError> {
    let changed = change(platform, by, selector, AuditAction::KeyEdit, |stored, now| {
        let key = &mut stored.key;
        if key.status == KeyStatus::Revoked {
            return Err(refused("the key is revoked; revoking is final"));
        }
        if let Some(name) = &edit.name {
            key.name = name.clone();
        }
        if let Some(description) = &edit.description {
            key.description.clone_from(description);
        }
        if let Some(permissions) = edit.permissions {
            if permissions.is_empty() {
                return Err(refused("a key needs at least one permission"));
            }
            key.permissions = permissions;
        }
        let per_minute = edit.per_minute.unwrap_or(key.limits.per_minute);
        let per_hour = edit.per_hour.unwrap_or(key.limits.per_hour);
        key.limits = RateLimits::new(per_minute, per_hour).map_err(|invalid| refused(invalid.to_string()))?;
        if let Some(addresses) = &edit.allowed_addresses {
            key.allowed_addresses.clone_from(addresses);
        }
        if let Some(expires_at) = edit.expires_at {
            future(expires_at, now)?;
            key.expires_at = expires_at;
        }
        Ok(())
    });
    Ok(changed.await?.key)
}

pub(super) async fn rotate(
    platform: &Platform,
    by: &Actor,
    selector: &KeySelector,
    grace_millis: u64,
) -> Result<IssuedKey, AdminError> {
    if grace_millis > MAX_GRACE_MILLIS {
        return Err(refused("the old secret can stay valid for at most 7 days"));
    }
    let grace = i64::try_from(grace_millis).unwrap_or(i64::MAX);
    let secret = ApiSecret::generate(platform.service_info.api_key_prefix(), &*platform.ports.ids);
    let changed = change(platform, by, selector, AuditAction::KeyRotate, |stored, now| {
        if stored.key.status == KeyStatus::Revoked {
            return Err(refused("the key is revoked; make a new one"));
        }
        let ends = now.plus_millis(grace);
        // Of three live secrets the oldest ends at once (contract 16): only the current one goes on.
        stored.secrets.truncate(1);
        for old in &mut stored.secrets {
            old.expires_at = Some(ends);
        }
        stored.secrets.retain(|old| old.expires_at.is_none_or(|ends| ends > now));
        stored.secrets.insert(0, platform.authenticator.hash_secret(&stored.key, &secret));
        Ok(())
    });
    Ok(IssuedKey { key: changed.await?.key, secret })
}

pub(super) async fn set_status(
    platform: &Platform,
    by: &Actor,
    selector: &KeySelector,
    status: KeyStatus,
) -> Result<Key, AdminError> {
    let action = match status {
        KeyStatus::Active => AuditAction::KeyEnable,
        KeyStatus::Disabled => AuditAction::KeyDisable,
        KeyStatus::Revoked => AuditAction::KeyRevoke,
    };
    let changed = change(platform, by, selector, action, |stored, _| {
        if stored.key.status == KeyStatus::Revoked && status != KeyStatus::Revoked {
            return Err(refused("the key is revoked; revoking is final"));
        }
        stored.key.status = status;
        Ok(())
    });
    Ok(changed.await?.key)
}
