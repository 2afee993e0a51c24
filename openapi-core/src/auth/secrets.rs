//! The keyed hashes of the secrets of keys.
//!
//! A hash is bound to its key and its agent: copied to another key, it matches no secret. Hashes of former releases cover
//! the secret alone; the next successful authentication replaces them.

use subtle::ConstantTimeEq;

use crate::access::{Key, SecretHash, StoredKey};
use crate::server_keys::ServerKeys;
use crate::values::{AgentId, Timestamp};

/// What separates the keyed hashes from other uses of a server key.
const PURPOSE: &str = "secret of an api key";

/// The purpose of hashes that are not bound to a key.
const UNBOUND_PURPOSE: &str = "api secret";

/// What is hashed. Neither an agent's id nor a key contains the separator.
fn message(agent: &str, key: &str, secret: &[u8]) -> Vec<u8> {
    [agent.as_bytes(), b"\0", key.as_bytes(), b"\0", secret].concat()
}

/// The hash of a secret of a key.
pub(super) fn hash(keys: &ServerKeys, key: &Key, secret: &[u8]) -> SecretHash {
    SecretHash {
        hash: keys.tag(PURPOSE, &message(key.agent_id.as_str(), key.api_key.as_str(), secret)),
        server_key: keys.current_id().to_owned(),
        expires_at: None,
        is_bound: true,
    }
}

/// The stored hash that a secret matches at `now`. The work is the same for a key that does not exist.
pub(super) fn matching<'k>(
    keys: &ServerKeys,
    stored: Option<&'k StoredKey>,
    sent_key: &str,
    secret: &[u8],
    now: Timestamp,
) -> Option<&'k SecretHash> {
    let agent = stored.map_or("", |stored| AgentId::as_str(&stored.key.agent_id));
    let bound = message(agent, sent_key, secret);
    let current = keys.tag(PURPOSE, &bound);
    let live = |secret: &&SecretHash| secret.expires_at.is_none_or(|expires_at| now < expires_at);
    stored.map_or(&[][..], |stored| &stored.secrets).iter().filter(live).find(|stored| {
        let tag = match stored {
            SecretHash { is_bound: false, server_key, .. } => {
                keys.tag_with(server_key, UNBOUND_PURPOSE, secret)
            }
            SecretHash { server_key, .. } if server_key == keys.current_id() => Some(current),
            SecretHash { server_key, .. } => keys.tag_with(server_key, PURPOSE, &bound),
        };
        tag.is_some_and(|tag| tag.ct_eq(&stored.hash).into())
    })
}
