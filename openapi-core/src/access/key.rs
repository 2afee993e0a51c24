//! The record of a key (contract 7.2).

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Actor, ApiKey, Permissions, RateLimits};
use crate::agents::AgentStatus;
use crate::validation::{ValidationCode, ValidationIssue};
use crate::values::{AgentId, Block, Invalid, KeyId, Line, Timestamp};

/// An API key as the operator sees it; secrets are not part of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// The id of the record.
    pub id: KeyId,
    /// The agent that the key is scoped to; never changes.
    pub agent_id: AgentId,
    /// The public identifier.
    pub api_key: ApiKey,
    /// The name, 1 to 100 characters.
    pub name: Line<100>,
    /// The description, up to 500 characters.
    pub description: Option<Block<500>>,
    /// What the key may do; at least one permission.
    pub permissions: Permissions,
    /// Accepted requests a minute and an hour.
    pub limits: RateLimits,
    /// The addresses the key may be used from; none means any.
    pub allowed_addresses: Vec<AllowedAddress>,
    /// When the key ends.
    pub expires_at: Option<Timestamp>,
    /// The status.
    pub status: KeyStatus,
    /// Who made the key.
    pub created_by: Actor,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The last authenticated use, at most 60 s late.
    pub last_used_at: Option<Timestamp>,
    /// The address of the last use.
    pub last_used_address: Option<IpAddr>,
}

/// Whether a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyStatus {
    /// The key works.
    Active,
    /// Switched off by the operator, who may switch it on again.
    Disabled,
    /// Ended for good.
    Revoked,
}

/// An address or a block of addresses that a key may be used from.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AllowedAddress(ipnet::IpNet);

impl AllowedAddress {
    /// Whether `address` lies in the block; an IPv4 address mapped into IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for AllowedAddress {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let address = text.parse::<IpAddr>().map(|address| ipnet::IpNet::from(address.to_canonical()));
        address
            .or_else(|_| text.parse::<ipnet::IpNet>().map(|block| block.trunc()))
            .map(AllowedAddress)
            .map_err(|_| {
                Invalid(ValidationIssue::new(
                    ValidationCode::Format,
                    format!("'{text}' is not an IPv4 or IPv6 address or a block such as 192.0.2.0/24"),
                ))
            })
    }
}

impl fmt::Display for AllowedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.prefix_len() == self.0.max_prefix_len() { self.0.addr().fmt(f) } else { self.0.fmt(f) }
    }
}

impl fmt::Debug for AllowedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for AllowedAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AllowedAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The keyed hash of a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretHash {
    /// HMAC-SHA-256 of the agent, the key and the secret.
    pub hash: [u8; 32],
    /// The id of the server key it was made with.
    pub server_key: String,
    /// When the secret ends; unset for the current one.
    pub expires_at: Option<Timestamp>,
    /// Whether the hash covers the key and the agent as well. Former releases have hashed the secret alone.
    #[serde(default)]
    pub is_bound: bool,
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretHash").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// A key as stored: the record, the hashes of its one or two live secrets, newest first, and a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredKey {
    /// The record.
    pub key: Key,
    /// The hashes, newest first.
    pub secrets: Vec<SecretHash>,
    /// 1 at creation, one more with each change.
    pub version: u64,
    /// The expiry whose approach was written as an event; none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced_expiry: Option<Timestamp>,
}

/// A stored key with the status of its agent: what a request is authenticated against.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyLookup {
    /// The key.
    pub stored: StoredKey,
    /// The status of its agent.
    pub agent_status: AgentStatus,
}

/// The two ways in which an operator names a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySelector {
    /// By the id of its record.
    Id(KeyId),
    /// By its public string.
    ApiKey(ApiKey),
}

impl FromStr for KeySelector {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Ok(id) = text.parse() {
            return Ok(KeySelector::Id(id));
        }
        ApiKey::parse(text).map(KeySelector::ApiKey).ok_or_else(|| {
            Invalid(ValidationIssue::new(
                ValidationCode::Format,
                format!("'{text}' is neither the id of a key nor a key such as svck_…"),
            ))
        })
    }
}
