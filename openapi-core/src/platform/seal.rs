//! Documents at rest: ChaCha20-Poly1305 under a key that is made for each document from the server's.

use bytes::Bytes;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};

use crate::ports::BlobKey;
use crate::reply::ApiError;
use crate::server_keys::ServerKeys;

/// What a sealed content begins with: the form it has.
const VERSION: u8 = 1;
/// The id of the server's key, as hexadecimal digits.
const KEY_ID_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// How much longer a sealed content is than what is in it.
pub(super) const SEAL_BYTES: usize = 1 + KEY_ID_BYTES + TAG_BYTES;

const PURPOSE: &str = "document at rest";

/// What a document is bound to besides its bytes: it decrypts only as what it was encrypted as.
fn name(key: &BlobKey) -> Vec<u8> {
    [key.agent.as_str().as_bytes(), key.file.as_bytes()].concat()
}

fn cipher(key: &[u8; 32]) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(key.into())
}

/// Seals a content. Its key is used for nothing else, so that the nonce may be fixed.
pub(in crate::platform) fn seal(keys: &ServerKeys, key: &BlobKey, content: &[u8]) -> Result<Bytes, ApiError> {
    let name = name(key);
    let sealed = cipher(&keys.tag(PURPOSE, &name))
        .encrypt(&Nonce::default(), Payload { msg: content, aad: &name })
        .map_err(|_| ApiError::internal())?;
    Ok([&[VERSION], keys.current_id().as_bytes(), &sealed].concat().into())
}

/// Why a sealed content does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Sealed {
    /// It was sealed with a server key that is not here any more.
    #[error("it was sealed with the server key {0}, which is not among the server's keys")]
    KeyGone(String),
    /// It is no sealed content, or was changed.
    #[error("it is damaged")]
    Damaged,
}

/// Opens what was sealed under this key.
pub(super) fn open(keys: &ServerKeys, key: &BlobKey, sealed: &[u8]) -> Result<Vec<u8>, Sealed> {
    let rest = sealed.strip_prefix(&[VERSION]).ok_or(Sealed::Damaged)?;
    let (id, content) = rest.split_at_checked(KEY_ID_BYTES).ok_or(Sealed::Damaged)?;
    let id = std::str::from_utf8(id).map_err(|_| Sealed::Damaged)?;
    let name = name(key);
    let of_document = keys.tag_with(id, PURPOSE, &name).ok_or_else(|| Sealed::KeyGone(id.to_owned()))?;
    cipher(&of_document)
        .decrypt(&Nonce::default(), Payload { msg: content, aad: &name })
        .map_err(|_| Sealed::Damaged)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::server_keys::ServerKey;
    use crate::values::FileId;

    fn keys(byte: u8) -> ServerKeys {
        ServerKeys::new(ServerKey::new(&[byte; 32]), Vec::new())
    }

    fn key(agent: &str, byte: u8) -> BlobKey {
        BlobKey::new(agent.parse().unwrap(), FileId::from_bytes([byte; 12]))
    }

    proptest! {
        #[test]
        fn what_was_sealed_opens_as_what_it_was(content: Vec<u8>, at: prop::sample::Index, bit in 0..8_u8) {
            let (keys, key) = (keys(1), key("one", 1));
            let sealed = seal(&keys, &key, &content).unwrap();
            prop_assert_eq!(sealed.len(), content.len() + SEAL_BYTES);
            prop_assert_eq!(open(&keys, &key, &sealed), Ok(content));
            let mut changed = sealed.to_vec();
            changed[at.index(sealed.len())] ^= 1 << bit;
            prop_assert!(open(&keys, &key, &changed).is_err());
            prop_assert!(open(&keys, &key, &sealed[..at.index(sealed.len())]).is_err());
        }
    }

    #[test]
    fn nothing_opens_under_another_name_or_key() {
        let sealed = seal(&keys(1), &key("one", 1), b"content").unwrap();
        assert_eq!(open(&keys(1), &key("two", 1), &sealed), Err(Sealed::Damaged));
        assert_eq!(open(&keys(1), &key("one", 2), &sealed), Err(Sealed::Damaged));
        assert!(matches!(open(&keys(2), &key("one", 1), &sealed), Err(Sealed::KeyGone(_))));
        let rotated = ServerKeys::new(ServerKey::new(&[2; 32]), vec![ServerKey::new(&[1; 32])]);
        assert_eq!(open(&rotated, &key("one", 1), &sealed), Ok(b"content".to_vec()));
    }
}
