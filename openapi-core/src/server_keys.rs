//! Server keys: the keys of secrets, cursors and signatures.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// HMAC-SHA-256.
type HmacSha256 = Hmac<Sha256>;

/// One key of the server: 32 random bytes under an id.
#[derive(Clone)]
pub struct ServerKey {
    id: String,
    mac: HmacSha256,
}

impl ServerKey {
    /// A key of these bytes. Its id is made from them, so that the same bytes always carry the same id.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Self {
        let digest = Sha256::digest([b"server key id".as_slice(), bytes].concat());
        let id = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        // An HMAC key may have any length.
        let mac = HmacSha256::new_from_slice(bytes).unwrap_or_else(|_| unreachable!("32 bytes are a key"));
        ServerKey { id, mac }
    }

    /// The id: 12 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    fn tag(&self, purpose: &str, message: &[u8]) -> [u8; 32] {
        let mut mac = self.mac.clone();
        mac.update(purpose.as_bytes());
        mac.update(b"\0");
        mac.update(message);
        mac.finalize().into_bytes().into()
    }
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServerKey({})", self.id)
    }
}

/// Looks the keys up again where they are stored, because another process may have added one.
pub trait KeyLookup: std::fmt::Debug + Send + Sync {
    /// The keys as they are now; `None` if they are the same, or cannot be read.
    fn look_up(&self) -> Option<ServerKeys>;
}

/// The keys of a server: one makes new tags, all verify. Servers on one store share them.
#[derive(Clone, Debug)]
pub struct ServerKeys {
    current: ServerKey,
    previous: Vec<ServerKey>,
    lookup: Option<Arc<dyn KeyLookup>>,
}

impl ServerKeys {
    /// Keys with `current` for new tags and `previous` for those made before a rotation.
    #[must_use]
    pub fn new(current: ServerKey, previous: Vec<ServerKey>) -> Self {
        ServerKeys { current, previous, lookup: None }
    }

    /// The same keys. What none of them made is compared with those that `lookup` finds, before it is refused.
    #[must_use]
    pub fn with_lookup(self, lookup: Arc<dyn KeyLookup>) -> Self {
        ServerKeys { lookup: Some(lookup), ..self }
    }

    /// A new random key, for a store in memory or a first start. Who stores secrets hashed with it keeps its bytes.
    #[must_use]
    pub fn generate(ids: &dyn crate::ports::IdGenerator) -> Self {
        let mut bytes = [0; 32];
        ids.fill(&mut bytes);
        ServerKeys::new(ServerKey::new(&bytes), Vec::new())
    }

    /// The id of the key that makes new tags.
    #[must_use]
    pub fn current_id(&self) -> &str {
        &self.current.id
    }

    /// The tag of a message under the current key. Tags of different purposes never agree.
    #[must_use]
    pub fn tag(&self, purpose: &str, message: &[u8]) -> [u8; 32] {
        self.current.tag(purpose, message)
    }

    /// The tag of a message under the key of this id, if the key is known.
    #[must_use]
    pub fn tag_with(&self, id: &str, purpose: &str, message: &[u8]) -> Option<[u8; 32]> {
        let tag = |keys: &Self| keys.all().find(|key| key.id == id).map(|key| key.tag(purpose, message));
        tag(self).or_else(|| tag(&self.looked_up()?))
    }

    /// Whether `tag` begins the tag of the message under any key; compared in constant time.
    #[must_use]
    pub fn verifies(&self, purpose: &str, message: &[u8], tag: &[u8]) -> bool {
        use subtle::ConstantTimeEq;
        let is_of = |key: &ServerKey| bool::from(key.tag(purpose, message)[..tag.len()].ct_eq(tag));
        let verifies = |keys: &Self| keys.all().any(is_of);
        (16..=32).contains(&tag.len())
            && (verifies(self) || self.looked_up().is_some_and(|keys| verifies(&keys)))
    }

    fn looked_up(&self) -> Option<ServerKeys> {
        self.lookup.as_ref()?.look_up()
    }

    fn all(&self) -> impl Iterator<Item = &ServerKey> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}
