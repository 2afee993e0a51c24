//! The chain of the entries of a tenant, and of those without one.
//!
//! Each entry has a sequence number without gaps and a MAC over the MAC before, the number, the entry and a salted digest
//! of its payload. The payload is `details`: erasing a contact removes it together with the salt, so nothing can be
//! guessed from the digest, and the MAC still verifies.
//!
//! A store assigns number and MAC inside the transaction that stores the entry, and has no key: the platform seals each
//! entry with a key of its own, made from the server key and the entry, which is good for this one MAC and is not stored.

use std::fmt;
use std::ops::Deref;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::AuditEntry;
use crate::ports::IdGenerator;
use crate::server_keys::ServerKeys;

/// What separates the keys of entries from other uses of a server key.
const PURPOSE: &str = "audit entry";

/// The version of the encoding under the MAC.
const ENCODING: u8 = 1;

/// A random salt.
#[must_use]
pub fn salt(ids: &dyn IdGenerator) -> [u8; 16] {
    let mut salt = [0; 16];
    ids.fill(&mut salt);
    salt
}

/// An entry to be stored, sealed by the platform. It cannot be changed any more.
#[derive(Clone, PartialEq)]
pub struct SealedEntry {
    entry: AuditEntry,
    server_key: String,
    /// None for an empty payload, which needs none.
    salt: Option<[u8; 16]>,
    digest: [u8; 32],
    /// The key of the MAC; never stored.
    key: [u8; 32],
}

impl SealedEntry {
    /// Seals an entry under the current server key.
    #[must_use]
    pub fn new(entry: AuditEntry, keys: &ServerKeys, salt: [u8; 16]) -> Self {
        let salt = (!entry.details.is_empty()).then_some(salt);
        let digest = digest_of(&entry, salt);
        let key = keys.tag(PURPOSE, &message(&entry, &digest));
        SealedEntry { entry, server_key: keys.current_id().to_owned(), salt, digest, key }
    }
}

impl Deref for SealedEntry {
    type Target = AuditEntry;

    fn deref(&self) -> &AuditEntry {
        &self.entry
    }
}

impl fmt::Debug for SealedEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entry.fmt(f)
    }
}

/// The end of a chain: what the next entry follows. By default the begin of a chain without entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainHead {
    /// The number of the last entry; 0 without one.
    pub sequence: u64,
    /// The MAC of the last entry. Before the first one, the digest of the entries that are older than the chain.
    pub mac: [u8; 32],
}

impl ChainHead {
    /// Appends an entry: returns it with its position in the chain, which then ends with it.
    pub fn append(&mut self, sealed: &SealedEntry) -> ChainedEntry {
        let sequence = self.sequence + 1;
        let mac = mac(&sealed.key, &self.mac, sequence);
        *self = ChainHead { sequence, mac };
        let SealedEntry { entry, server_key, salt, digest, .. } = sealed.clone();
        ChainedEntry { entry, link: Some(ChainLink { sequence, server_key, salt, digest, mac }) }
    }

    /// Takes in an entry that is older than the chain, in the order of time and id: the first MAC covers them all, but for
    /// their payloads.
    pub fn absorb(&mut self, earlier: &AuditEntry) {
        let mut hash = Sha256::new();
        hash.update(self.mac);
        hash.update(message(earlier, &[0; 32]));
        self.mac = hash.finalize().into();
    }

    /// The head after an entry that another store has chained.
    pub fn follow(&mut self, copied: &ChainedEntry) {
        match &copied.link {
            Some(link) if link.sequence > self.sequence => {
                *self = ChainHead { sequence: link.sequence, mac: link.mac };
            }
            None if self.sequence == 0 => self.absorb(&copied.entry),
            _ => {}
        }
    }
}

/// The position of an entry in its chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainLink {
    /// The number: 1 and upwards without gaps.
    pub sequence: u64,
    /// The id of the server key.
    pub server_key: String,
    /// The salt of the payload's digest; none for an empty payload and after an erasure.
    #[serde(serialize_with = "optional_hex", skip_serializing_if = "Option::is_none")]
    pub salt: Option<[u8; 16]>,
    /// The digest of the payload.
    #[serde(serialize_with = "hex")]
    pub digest: [u8; 32],
    /// The MAC.
    #[serde(serialize_with = "hex")]
    pub mac: [u8; 32],
}

/// A stored entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainedEntry {
    /// The entry.
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// Its position in the chain; none for an entry that is older than the chain.
    #[serde(flatten)]
    pub link: Option<ChainLink>,
}

impl ChainedEntry {
    /// Removes the payload, with everything from which it could be guessed.
    pub fn erase_payload(&mut self) {
        self.entry.details = crate::json::RawObject::default();
        if let Some(link) = &mut self.link {
            link.salt = None;
        }
    }

    /// The number in the chain; 0 for an entry that is older than the chain.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.link.as_ref().map_or(0, |link| link.sequence)
    }
}

impl Deref for ChainedEntry {
    type Target = AuditEntry;

    fn deref(&self) -> &AuditEntry {
        &self.entry
    }
}

/// The digest of an entry's payload under its salt.
pub(super) fn digest_of(entry: &AuditEntry, salt: Option<[u8; 16]>) -> [u8; 32] {
    let Some(salt) = salt else { return [0; 32] };
    let mut hash = Sha256::new();
    hash.update(b"audit payload\0");
    hash.update(salt);
    hash.update(entry.details.as_str());
    hash.finalize().into()
}

/// The MAC of a stored entry after another; none when its server key is not among the keys.
pub(super) fn mac_of(
    entry: &AuditEntry,
    link: &ChainLink,
    before: &[u8; 32],
    keys: &ServerKeys,
) -> Option<[u8; 32]> {
    let key = keys.tag_with(&link.server_key, PURPOSE, &message(entry, &link.digest))?;
    Some(mac(&key, before, link.sequence))
}

fn mac(key: &[u8; 32], before: &[u8; 32], sequence: u64) -> [u8; 32] {
    // An HMAC key may have any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!("32 bytes are a key"));
    mac.update(before);
    mac.update(&sequence.to_be_bytes());
    mac.finalize().into_bytes().into()
}

/// The bytes of an entry without its payload. Each part has its length in front, so no two entries have the same bytes.
fn message(entry: &AuditEntry, digest: &[u8; 32]) -> Vec<u8> {
    let mut bytes = vec![ENCODING];
    let mut put = |part: Option<&[u8]>| match part {
        Some(part) => {
            bytes.extend((part.len() as u64 + 1).to_be_bytes());
            bytes.extend(part);
        }
        None => bytes.extend(0_u64.to_be_bytes()),
    };
    put(Some(entry.id.as_bytes()));
    put(entry.agent_id.as_ref().map(|agent| agent.as_str().as_bytes()));
    put(Some(&entry.at.millis().to_be_bytes()));
    put(serde_json::to_vec(&entry.actor).ok().as_deref());
    put(serde_json::to_vec(&entry.os_user).ok().as_deref());
    put(Some(entry.action.as_str().as_bytes()));
    put(entry.resource.as_deref().map(str::as_bytes));
    put(entry.contact_id.as_ref().map(|contact| contact.as_bytes().as_slice()));
    put(entry.address.map(|address| address.to_string()).as_deref().map(str::as_bytes));
    put(entry.request_id.as_deref().map(str::as_bytes));
    put(Some(digest));
    bytes
}

pub(super) fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hex<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex_of(bytes))
}

fn optional_hex<S: Serializer>(bytes: &Option<[u8; 16]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_some(&bytes.map(|bytes| hex_of(&bytes)))
}
