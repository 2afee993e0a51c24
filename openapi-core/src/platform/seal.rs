//! Documents at rest: ChaCha20-Poly1305 under a key that is made for each document from the server's.
//!
//! A content is sealed in frames of 64 KiB while it arrives, so that none is held in memory as a whole. The number of a
//! frame and whether it is the last are part of its nonce: frames that are missing, repeated or in another order do not
//! open.

use bytes::{Bytes, BytesMut};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};

use crate::ports::BlobKey;
use crate::reply::ApiError;
use crate::server_keys::ServerKeys;

/// The first byte of a content that is sealed as a whole. Such contents are only read.
const WHOLE: u8 = 1;
/// The first byte of a content that is sealed in frames.
const FRAMED: u8 = 2;
/// The id of the server's key, as hexadecimal digits.
const KEY_ID_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// The content of a frame, of which only the last has less.
const FRAME_BYTES: usize = 64 * 1024;

/// Separates the keys of both forms, because both begin with the same nonce.
const fn purpose(version: u8) -> &'static str {
    if version == WHOLE { "document at rest" } else { "document at rest, in frames" }
}

/// What a document is bound to besides its bytes: it decrypts only as what it was encrypted as.
fn name(key: &BlobKey) -> Vec<u8> {
    [key.agent.as_str().as_bytes(), key.file.as_bytes()].concat()
}

fn cipher(key: &[u8; 32]) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(key.into())
}

/// The nonce of a frame. The key seals one content only, so a nonce may follow from the frame.
fn nonce(frame: u32, is_last: bool) -> Nonce {
    let mut nonce = Nonce::default();
    nonce[..4].copy_from_slice(&frame.to_be_bytes());
    nonce[4] = u8::from(is_last);
    nonce
}

/// How long a content is when it is sealed.
pub(super) const fn sealed_bytes(content: u64) -> u64 {
    let frames = content.div_ceil(FRAME_BYTES as u64);
    let frames = if frames == 0 { 1 } else { frames };
    (1 + KEY_ID_BYTES) as u64 + content + frames * TAG_BYTES as u64
}

/// Seals a content while it arrives.
pub(super) struct Sealer {
    cipher: ChaCha20Poly1305,
    name: Vec<u8>,
    /// The number of the next frame.
    frame: u32,
    pending: BytesMut,
    /// What was sealed and not taken.
    sealed: BytesMut,
}

impl Sealer {
    pub(super) fn new(keys: &ServerKeys, key: &BlobKey) -> Self {
        let name = name(key);
        let mut sealed = BytesMut::from(&[FRAMED][..]);
        sealed.extend_from_slice(keys.current_id().as_bytes());
        let cipher = cipher(&keys.tag(purpose(FRAMED), &name));
        Sealer { cipher, name, frame: 0, pending: BytesMut::new(), sealed }
    }

    /// Takes the next bytes. Returns what can be stored, which may be empty.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Bytes, ApiError> {
        while !bytes.is_empty() {
            // A full frame stays until more follows it, because it may be the last.
            if self.pending.len() == FRAME_BYTES {
                self.seal(false)?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(FRAME_BYTES - self.pending.len()));
            self.pending.extend_from_slice(now);
            bytes = later;
        }
        Ok(self.sealed.split().freeze())
    }

    /// Ends the content. Returns the rest to store.
    pub(super) fn finish(mut self) -> Result<Bytes, ApiError> {
        self.seal(true)?;
        Ok(self.sealed.freeze())
    }

    fn seal(&mut self, is_last: bool) -> Result<(), ApiError> {
        let content = self.pending.split();
        let payload = Payload { msg: &content, aad: &self.name };
        let sealed = self.cipher.encrypt(&nonce(self.frame, is_last), payload);
        self.sealed.extend_from_slice(&sealed.map_err(|_| ApiError::internal())?);
        self.frame = self.frame.checked_add(1).ok_or_else(ApiError::internal)?;
        Ok(())
    }
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
    let (version, rest) = match sealed {
        [version @ (WHOLE | FRAMED), rest @ ..] => (*version, rest),
        _ => return Err(Sealed::Damaged),
    };
    let (id, rest) = rest.split_at_checked(KEY_ID_BYTES).ok_or(Sealed::Damaged)?;
    let id = std::str::from_utf8(id).map_err(|_| Sealed::Damaged)?;
    let name = name(key);
    let of_document =
        keys.tag_with(id, purpose(version), &name).ok_or_else(|| Sealed::KeyGone(id.to_owned()))?;
    let cipher = cipher(&of_document);
    let open = |nonce: &Nonce, sealed: &[u8]| {
        cipher.decrypt(nonce, Payload { msg: sealed, aad: &name }).map_err(|_| Sealed::Damaged)
    };
    if version == WHOLE {
        return open(&Nonce::default(), rest);
    }
    let frames = rest.chunks(FRAME_BYTES + TAG_BYTES);
    let last =
        u32::try_from(frames.len()).ok().and_then(|frames| frames.checked_sub(1)).ok_or(Sealed::Damaged)?;
    let mut content = Vec::with_capacity(rest.len());
    for (number, frame) in (0..=last).zip(frames) {
        content.extend_from_slice(&open(&nonce(number, number == last), frame)?);
    }
    Ok(content)
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

    fn seal(keys: &ServerKeys, key: &BlobKey, content: &[u8], piece: usize) -> Vec<u8> {
        let mut sealer = Sealer::new(keys, key);
        let mut sealed: Vec<u8> = Vec::new();
        for piece in content.chunks(piece.max(1)) {
            sealed.extend_from_slice(&sealer.push(piece).unwrap());
        }
        sealed.extend_from_slice(&sealer.finish().unwrap());
        sealed
    }

    /// Lengths around those of whole frames.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let near = (0_usize..4, 0_usize..5)
            .prop_map(|(frames, beyond)| (frames * FRAME_BYTES + beyond).saturating_sub(2));
        (prop_oneof![near, 0_usize..300], any::<u8>())
            .prop_map(|(length, first)| (0..length).map(|at| (at % 251) as u8 ^ first).collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn what_was_sealed_opens_as_what_it_was(
            content in content(), piece in 1_usize..200_000, at: prop::sample::Index, bit in 0..8_u8,
        ) {
            let (keys, key) = (keys(1), key("one", 1));
            let sealed = seal(&keys, &key, &content, piece);
            prop_assert_eq!(sealed.len() as u64, sealed_bytes(content.len() as u64));
            prop_assert!(open(&keys, &key, &sealed).as_ref() == Ok(&content));
            let mut changed = sealed.clone();
            changed[at.index(sealed.len())] ^= 1 << bit;
            prop_assert!(open(&keys, &key, &changed).is_err());
            prop_assert!(open(&keys, &key, &sealed[..at.index(sealed.len())]).is_err());
        }
    }

    #[test]
    fn frames_stay_in_their_order() {
        let (keys, key) = (keys(1), key("one", 1));
        let sealed = seal(&keys, &key, &vec![7; 3 * FRAME_BYTES], FRAME_BYTES);
        let (head, frames) = sealed.split_at(1 + KEY_ID_BYTES);
        let frames: Vec<&[u8]> = frames.chunks(FRAME_BYTES + TAG_BYTES).collect();
        let of = |order: &[usize]| {
            let frames: Vec<u8> = order.iter().flat_map(|at| frames[*at].iter().copied()).collect();
            open(&keys, &key, &[head, &frames].concat())
        };
        assert!(of(&[0, 1, 2]).is_ok());
        for order in [&[1, 0, 2][..], &[0, 2], &[0, 1], &[0, 1, 1, 2], &[2], &[]] {
            assert_eq!(of(order), Err(Sealed::Damaged), "{order:?}");
        }
    }

    #[test]
    fn contents_that_were_sealed_as_a_whole_open() {
        let (keys, key) = (keys(1), key("one", 1));
        let name = name(&key);
        let sealed = cipher(&keys.tag(purpose(WHOLE), &name))
            .encrypt(&Nonce::default(), Payload { msg: b"content", aad: &name })
            .unwrap();
        let sealed = [&[WHOLE], keys.current_id().as_bytes(), &sealed].concat();
        assert_eq!(open(&keys, &key, &sealed), Ok(b"content".to_vec()));
    }

    #[test]
    fn nothing_opens_under_another_name_or_key() {
        let sealed = seal(&keys(1), &key("one", 1), b"content", 3);
        assert_eq!(open(&keys(1), &key("two", 1), &sealed), Err(Sealed::Damaged));
        assert_eq!(open(&keys(1), &key("one", 2), &sealed), Err(Sealed::Damaged));
        assert!(matches!(open(&keys(2), &key("one", 1), &sealed), Err(Sealed::KeyGone(_))));
        let rotated = ServerKeys::new(ServerKey::new(&[2; 32]), vec![ServerKey::new(&[1; 32])]);
        assert_eq!(open(&rotated, &key("one", 1), &sealed), Ok(b"content".to_vec()));
    }
}
