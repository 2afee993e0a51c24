//! What is stored of operators: records of the installation.

use openapi_core::access::{Actor, AllowedAddress};
use openapi_core::audit::{AuditAction, SealedEntry};
use openapi_core::json::{Object, RawObject};
use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::storage::{
    Effects, RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, StorageErrorKind, StoredRecord,
};
use openapi_core::values::{PlatformId, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::grants::Grants;

/// What a record holds.
pub(crate) trait Body: Serialize + DeserializeOwned + Send + Sync {
    /// Its kind.
    const KIND: RecordKind;
}

/// A record with its body.
#[derive(Clone, Debug)]
pub(crate) struct Stored<T> {
    pub(crate) id: RecordId,
    /// 0 for one that is not stored yet.
    pub(crate) version: u64,
    pub(crate) unique: Option<[u8; 32]>,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) body: T,
}

impl<T: Body> Stored<T> {
    /// A new record.
    pub(crate) const fn new(id: RecordId, body: T) -> Self {
        Stored { id, version: 0, unique: None, due_at: None, body }
    }

    fn read(record: StoredRecord) -> Result<Self, ApiError> {
        let body = serde_json::from_str(record.body.as_str()).map_err(|error| {
            tracing::error!(%error, kind = ?T::KIND, "a stored record cannot be read");
            ApiError::internal()
        })?;
        let StoredRecord { key, version, unique, due_at, .. } = record;
        Ok(Stored { id: key.id, version, unique, due_at, body })
    }

    /// The change that saves it over the version that was read.
    pub(crate) fn save(&self) -> Result<RecordChange, ApiError> {
        let text = serde_json::to_string(&self.body).map_err(|_| ApiError::internal())?;
        Ok(RecordChange::Save(StoredRecord {
            key: RecordKey { kind: T::KIND, id: self.id.clone() },
            version: self.version + 1,
            subject: None,
            unique: self.unique,
            due_at: self.due_at,
            body: RawObject::from_text(text).map_err(|_| ApiError::internal())?,
        }))
    }

    /// The change that removes it.
    pub(crate) fn remove(&self) -> RecordChange {
        RecordChange::Remove { key: RecordKey { kind: T::KIND, id: self.id.clone() }, version: self.version }
    }
}

/// How often a change is tried again after another writer was faster.
pub(crate) const ATTEMPTS: usize = 5;

/// Reads and writes records of operators.
#[derive(Clone, Copy)]
pub(crate) struct People<'a>(pub(crate) &'a Platform);

/// The most records of a kind that are read at once.
const MOST_OF_KIND: usize = 100_000;
/// The most records of one operator of a kind.
pub(crate) const MOST_OF_OPERATOR: u32 = 200;

impl People<'_> {
    pub(crate) async fn get<T: Body>(self, id: &RecordId) -> Result<Option<Stored<T>>, ApiError> {
        let key = RecordKey { kind: T::KIND, id: id.clone() };
        self.0.storage().record(None, &key).await?.map(Stored::read).transpose()
    }

    /// The change that stores a body under an id, in place of the record that is there now.
    pub(crate) async fn replace<T: Body>(self, id: RecordId, body: T) -> Result<RecordChange, ApiError> {
        let known = self.get::<T>(&id).await?;
        Stored { version: known.map_or(0, |known| known.version), ..Stored::new(id, body) }.save()
    }

    pub(crate) async fn by_unique<T: Body>(self, unique: &[u8; 32]) -> Result<Option<Stored<T>>, ApiError> {
        self.0.storage().record_by_unique(None, T::KIND, unique).await?.map(Stored::read).transpose()
    }

    /// The records whose ids begin with the operator's.
    pub(crate) async fn of_operator<T: Body>(self, operator: PlatformId) -> Result<Vec<Stored<T>>, ApiError> {
        let prefix = RecordId::from(operator);
        let found = self.0.storage().records_of(None, T::KIND, Some(&prefix), MOST_OF_OPERATOR).await?;
        let own =
            found.into_iter().take_while(|record| record.key.id.as_bytes().starts_with(prefix.as_bytes()));
        own.map(Stored::read).collect()
    }

    /// Every record of a kind, up to a bound.
    pub(crate) async fn all<T: Body>(self) -> Result<Vec<Stored<T>>, ApiError> {
        const BATCH: u32 = 500;
        let mut all: Vec<Stored<T>> = Vec::new();
        while all.len() < MOST_OF_KIND {
            let after = all.last().map(|record| record.id.clone());
            let found = self.0.storage().records_of(None, T::KIND, after.as_ref(), BATCH).await?;
            let is_last = found.len() < BATCH as usize;
            for record in found {
                all.push(Stored::read(record)?);
            }
            if is_last {
                break;
            }
        }
        Ok(all)
    }

    /// Whether there is any operator.
    pub(crate) async fn is_set_up(self) -> Result<bool, ApiError> {
        Ok(!self.0.storage().records_of(None, RecordKind::Operator, None, 1).await?.is_empty())
    }

    /// Writes changes, all of them or none; `false` if another writer was faster.
    pub(crate) async fn write(
        self,
        changes: Vec<RecordChange>,
        audit: Vec<SealedEntry>,
    ) -> Result<bool, ApiError> {
        let write = RecordsWrite { changes, effects: Effects { audit, ..Effects::default() } };
        match self.0.storage().save_records(None, &write).await {
            Ok(()) => Ok(true),
            Err(error)
                if matches!(error.kind, StorageErrorKind::Stale | StorageErrorKind::DuplicateRecord) =>
            {
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// An entry of the audit log about an operator.
    pub(crate) fn audit(
        self,
        actor: &Actor,
        action: AuditAction,
        resource: &str,
        details: &Object,
    ) -> SealedEntry {
        let (platform, resource) = (self.0, Some(resource.to_owned()));
        platform.seal_audit(platform.audit_entry(actor, action, None, resource, details, platform.now()))
    }
}

macro_rules! bodies {
    ($($type:ident = $kind:ident,)*) => {$(
        impl Body for $type {
            const KIND: RecordKind = RecordKind::$kind;
        }
    )*};
}

bodies! {
    OperatorBody = Operator,
    PasskeyBody = Passkey,
    PasswordBody = Password,
    TotpBody = Totp,
    RecoveryCodesBody = RecoveryCodes,
    ServiceTokenBody = ServiceToken,
    SessionBody = Session,
    LinkBody = Link,
    UsedChallengeBody = UsedChallenge,
}

/// A person with an account; the record's id is the operator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperatorBody {
    pub(crate) email: String,
    pub(crate) name: String,
    /// The name that visitors see.
    #[serde(default)]
    pub(crate) display_name: Option<String>,
    #[serde(default)]
    pub(crate) locale: Option<String>,
    pub(crate) grants: Grants,
    #[serde(default)]
    pub(crate) is_disabled: bool,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

impl OperatorBody {
    /// An account that is not stored yet, with its address, name and roles.
    pub(crate) fn account(
        operator: PlatformId,
        (email, name, grants): (String, String, Grants),
        now: Timestamp,
    ) -> Stored<Self> {
        let unique = unique_email(&email);
        let body = OperatorBody {
            email,
            name,
            display_name: None,
            locale: None,
            grants,
            is_disabled: false,
            created_at: now,
            updated_at: now,
        };
        let mut account = Stored::new(operator.into(), body);
        account.unique = Some(unique);
        account
    }
}

/// The value that no two operators share: the folded address.
pub(crate) fn unique_email(email: &str) -> [u8; 32] {
    digest(&[b"console operator", email.trim().to_lowercase().as_bytes()])
}

/// The value that no two passkeys share.
pub(crate) fn unique_credential(id: &[u8]) -> [u8; 32] {
    digest(&[b"console passkey", id])
}

/// The value by which a link is found.
pub(crate) fn unique_link(token: &[u8]) -> [u8; 32] {
    digest(&[b"console link", token])
}

/// SHA-256 over parts, each with its length.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.finish().as_ref());
    bytes
}

/// SHA-256.
pub(crate) fn digest_once(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref());
    hash
}

/// A passkey; the record's id begins with the operator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasskeyBody {
    #[serde(with = "base64_text")]
    pub(crate) credential: Vec<u8>,
    /// The COSE algorithm.
    pub(crate) algorithm: i64,
    #[serde(with = "base64_text")]
    pub(crate) key: Vec<u8>,
    /// Of an RSA key.
    #[serde(with = "base64_text", default)]
    pub(crate) exponent: Vec<u8>,
    pub(crate) counter: u32,
    pub(crate) is_backed_up: bool,
    pub(crate) transports: Vec<String>,
    pub(crate) name: String,
    pub(crate) created_at: Timestamp,
    pub(crate) last_used_at: Option<Timestamp>,
    /// Whether its counter went back once: there may be a copy of it.
    #[serde(default)]
    pub(crate) is_suspect: bool,
}

/// The hash of a password; the record's id is the operator's.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PasswordBody {
    pub(crate) memory_kib: u32,
    pub(crate) passes: u32,
    #[serde(with = "base64_text")]
    pub(crate) salt: Vec<u8>,
    #[serde(with = "base64_text")]
    pub(crate) hash: Vec<u8>,
    pub(crate) changed_at: Timestamp,
}

/// One-time codes that were confirmed; the record's id is the operator's.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TotpBody {
    /// What the seed is derived from, with the server key.
    #[serde(with = "base64_text")]
    pub(crate) nonce: Vec<u8>,
    pub(crate) server_key: String,
    /// The newest step whose code was used: each counts once.
    pub(crate) last_step: i64,
    pub(crate) confirmed_at: Timestamp,
}

/// The recovery codes that are left; the record's id is the operator's.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecoveryCodesBody {
    /// HMACs, base64url.
    pub(crate) tags: Vec<String>,
    pub(crate) server_key: String,
    pub(crate) made_at: Timestamp,
    /// When one was last used.
    pub(crate) used_at: Option<Timestamp>,
}

/// The server keys that operators' one-time codes and recovery codes need, one for each record.
///
/// # Errors
/// When the store fails.
pub async fn server_keys_of_codes(platform: &Platform) -> Result<Vec<String>, ApiError> {
    let people = People(platform);
    let totp = people.all::<TotpBody>().await?;
    let codes = people.all::<RecoveryCodesBody>().await?;
    let totp = totp.into_iter().map(|stored| stored.body.server_key);
    Ok(totp.chain(codes.into_iter().map(|stored| stored.body.server_key)).collect())
}

/// A service token; the record's id is the token's.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServiceTokenBody {
    pub(crate) name: String,
    pub(crate) grants: Grants,
    /// Operations that ask people for a proof of identity, and that the token may call without one.
    pub(crate) dangerous: Vec<String>,
    /// Where it may be used; empty for anywhere.
    pub(crate) addresses: Vec<AllowedAddress>,
    /// The beginning of its text, by which people recognise it.
    pub(crate) start: String,
    /// HMAC of its text.
    #[serde(with = "base64_text")]
    pub(crate) tag: Vec<u8>,
    pub(crate) server_key: String,
    pub(crate) created_by: Actor,
    pub(crate) created_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    #[serde(default)]
    pub(crate) revoked_at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) last_used_at: Option<Timestamp>,
    #[serde(default)]
    pub(crate) last_used_address: Option<std::net::IpAddr>,
}

impl ServiceTokenBody {
    /// When it ended, or will end.
    pub(crate) fn end(&self) -> Timestamp {
        self.revoked_at.map_or(self.expires_at, |at| at.min(self.expires_at))
    }
}

/// A signed-in browser; the record's id begins with the operator's.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionBody {
    /// HMAC of the cookie's secret.
    #[serde(with = "base64_text")]
    pub(crate) tag: Vec<u8>,
    /// HMAC of the secret of its pages, on plain HTTP.
    #[serde(with = "base64_text", default)]
    pub(crate) page_tag: Vec<u8>,
    /// The server key of both.
    pub(crate) server_key: String,
    pub(crate) created_at: Timestamp,
    pub(crate) last_seen_at: Timestamp,
    pub(crate) authenticated_at: Timestamp,
    pub(crate) method: String,
    pub(crate) address: Option<std::net::IpAddr>,
    pub(crate) browser: Option<String>,
    /// Whether it can only set up a way to sign in.
    #[serde(default)]
    pub(crate) is_limited: bool,
}

/// A link; the record's id is made from its token.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkBody {
    pub(crate) kind: LinkKind,
    /// HMAC of the token.
    #[serde(with = "base64_text")]
    pub(crate) tag: Vec<u8>,
    pub(crate) server_key: String,
    /// The operator, also one to be made, so that a passkey can name it.
    pub(crate) operator: PlatformId,
    pub(crate) expires_at: Timestamp,
    /// Of an invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) invitation: Option<Invitation>,
}

/// Who is invited, by whom, and to what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Invitation {
    pub(crate) email: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    pub(crate) grants: Grants,
    pub(crate) invited_by: Actor,
    pub(crate) invited_at: Timestamp,
}

/// What a link does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LinkKind {
    /// Makes the first owner.
    SetUp,
    /// Gives an operator another way to sign in.
    Recover,
    /// Makes an operator with the roles of an invitation.
    Invite,
}

/// A challenge that was answered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsedChallengeBody {
    pub(crate) used_at: Timestamp,
}

/// Bytes as base64url.
pub(crate) mod base64_text {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&crate::auth::cookies::encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        crate::auth::cookies::decode(&text).ok_or_else(|| serde::de::Error::custom("not base64url"))
    }
}
