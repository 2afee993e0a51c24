//! Contents at rest: ChaCha20-Poly1305 under a key that is made for each content from the server's.
//!
//! A content is sealed in frames of 64 KiB while it arrives, so that none is held in memory as a whole, and a part of it
//! opens without the rest. The number of a frame and whether it is the last are part of its nonce: frames that are
//! missing, repeated or in another order do not open.

mod read;
mod write;

use bytes::{Bytes, BytesMut};
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};

pub use read::{Source, read, read_either};
pub use write::{SealedContent, SealedWriter};

use crate::ports::BlobKey;
use crate::server_keys::ServerKeys;

/// The first byte of a content that is sealed as a whole. Such contents are only read.
const WHOLE: u8 = 1;
/// The first byte of a content that is sealed in frames.
const FRAMED: u8 = 2;
/// The id of the server's key, as hexadecimal digits.
const KEY_ID_BYTES: usize = 12;
/// How many bytes precede the frames of a sealed content: the form, and the id of the key.
pub const HEAD_BYTES: usize = 1 + KEY_ID_BYTES;
/// How many bytes a sealed frame has beyond its content.
pub const TAG_BYTES: usize = 16;
/// The content of a frame, of which only the last has less.
pub const FRAME_BYTES: usize = 64 * 1024;

/// Separates the keys of both forms, because both begin with the same nonce.
const fn purpose(version: u8) -> &'static str {
    if version == WHOLE { "document at rest" } else { "document at rest, in frames" }
}

/// What a content is bound to besides its bytes: it opens only as what it was sealed as.
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

/// How many frames a content of so many bytes has; an empty one has one.
const fn frames(content: u64) -> u64 {
    if content == 0 { 1 } else { content.div_ceil(FRAME_BYTES as u64) }
}

/// How long a content is when it is sealed.
#[must_use]
pub const fn sealed_bytes(content: u64) -> u64 {
    HEAD_BYTES as u64 + content + frames(content) * TAG_BYTES as u64
}

/// How long a content was before it was sealed; `None` if nothing that was sealed in frames has this length.
#[must_use]
pub const fn unsealed_bytes(sealed: u64) -> Option<u64> {
    let Some(frames_and_tags) = sealed.checked_sub(HEAD_BYTES as u64) else { return None };
    let tags = frames_and_tags.div_ceil((FRAME_BYTES + TAG_BYTES) as u64) * TAG_BYTES as u64;
    let Some(content) = frames_and_tags.checked_sub(tags) else { return None };
    if sealed_bytes(content) == sealed { Some(content) } else { None }
}

/// Why a sealed content does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealFault {
    /// It was sealed with a server key that is not here any more.
    #[error("it was sealed with the server key {0}, which is not among the server's keys")]
    KeyGone(String),
    /// It does not begin as a sealed content does.
    #[error("it is not a sealed content")]
    Unsealed,
    /// A frame, counted from 0, was changed, moved, or belongs to another content.
    #[error("its frame {0} was changed or belongs elsewhere")]
    Frame(u32),
    /// It ends early or late.
    #[error("it has {found} bytes in place of {expected}")]
    Length {
        /// Its bytes.
        found: u64,
        /// The bytes of an intact content.
        expected: u64,
    },
    /// It has more bytes than frames can be counted.
    #[error("it has too many bytes")]
    TooLong,
}

/// Seals a content while it arrives.
pub struct Sealer {
    cipher: ChaCha20Poly1305,
    name: Vec<u8>,
    /// The number of the next frame.
    frame: u32,
    pending: BytesMut,
    /// What was sealed and not taken.
    sealed: BytesMut,
}

impl Sealer {
    /// Begins the content of a file or document under the current key.
    #[must_use]
    pub fn new(keys: &ServerKeys, key: &BlobKey) -> Self {
        Sealer::named(keys, name(key))
    }

    /// Begins a content under a name that it opens under. A key and a name seal one content only.
    #[must_use]
    pub fn named(keys: &ServerKeys, name: Vec<u8>) -> Self {
        let mut sealed = BytesMut::from(&[FRAMED][..]);
        sealed.extend_from_slice(keys.current_id().as_bytes());
        let cipher = cipher(&keys.tag(purpose(FRAMED), &name));
        Sealer { cipher, name, frame: 0, pending: BytesMut::new(), sealed }
    }

    /// Takes the next bytes. Returns what can be stored, which may be empty.
    ///
    /// # Errors
    /// [`SealFault::TooLong`].
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Bytes, SealFault> {
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
    ///
    /// # Errors
    /// [`SealFault::TooLong`].
    pub fn finish(mut self) -> Result<Bytes, SealFault> {
        self.seal(true)?;
        Ok(self.sealed.freeze())
    }

    fn seal(&mut self, is_last: bool) -> Result<(), SealFault> {
        let content = self.pending.split();
        let payload = Payload { msg: &content, aad: &self.name };
        let sealed = self.cipher.encrypt(&nonce(self.frame, is_last), payload);
        self.sealed.extend_from_slice(&sealed.map_err(|_| SealFault::TooLong)?);
        self.frame = self.frame.checked_add(1).ok_or(SealFault::TooLong)?;
        Ok(())
    }
}

/// Opens a content, or frames of it, while it arrives. Only bytes of intact frames come out.
pub struct Unsealer {
    keys: ServerKeys,
    name: Vec<u8>,
    /// `None` until the head has come.
    cipher: Option<ChaCha20Poly1305>,
    /// The number of the next frame, and of the last one of the content.
    frame: u32,
    last: u32,
    /// The bytes of the last frame, sealed.
    last_bytes: usize,
    expected: u64,
    taken: u64,
    pending: BytesMut,
    is_over: bool,
}

impl Unsealer {
    /// Begins a content of a file or document that had so many bytes before it was sealed.
    ///
    /// # Errors
    /// [`SealFault::TooLong`].
    pub fn new(keys: &ServerKeys, key: &BlobKey, content: u64) -> Result<Self, SealFault> {
        Unsealer::named(keys, name(key), content)
    }

    /// Begins a content that was sealed under a name.
    ///
    /// # Errors
    /// [`SealFault::TooLong`].
    pub fn named(keys: &ServerKeys, name: Vec<u8>, content: u64) -> Result<Self, SealFault> {
        let last = frames(content) - 1;
        let before = last * FRAME_BYTES as u64;
        Ok(Unsealer {
            keys: keys.clone(),
            name,
            cipher: None,
            frame: 0,
            last: u32::try_from(last).map_err(|_| SealFault::TooLong)?,
            // Less than a frame, which fits.
            last_bytes: (content - before) as usize + TAG_BYTES,
            expected: sealed_bytes(content),
            taken: 0,
            pending: BytesMut::new(),
            is_over: false,
        })
    }

    /// Takes the next sealed bytes. Returns the bytes of the frames that are complete, which may be none.
    ///
    /// # Errors
    /// At the first frame that does not open.
    pub fn push(&mut self, sealed: &[u8]) -> Result<Bytes, SealFault> {
        self.taken += sealed.len() as u64;
        self.pending.extend_from_slice(sealed);
        if self.cipher.is_none() {
            if self.pending.len() < HEAD_BYTES {
                return Ok(Bytes::new());
            }
            let head = self.pending.split_to(HEAD_BYTES);
            self.cipher = Some(cipher_of(&self.keys, &head, &self.name)?);
        }
        let Some(cipher) = &self.cipher else { return Ok(Bytes::new()) };
        let mut content = BytesMut::new();
        while !self.is_over {
            let is_last = self.frame == self.last;
            let length = if is_last { self.last_bytes } else { FRAME_BYTES + TAG_BYTES };
            if self.pending.len() < length {
                return Ok(content.freeze());
            }
            let frame = self.pending.split_to(length);
            let payload = Payload { msg: &frame, aad: &self.name };
            let opened = cipher.decrypt(&nonce(self.frame, is_last), payload);
            content.extend_from_slice(&opened.map_err(|_| SealFault::Frame(self.frame))?);
            self.is_over = is_last;
            self.frame += u32::from(!is_last);
        }
        if self.pending.is_empty() { Ok(content.freeze()) } else { Err(self.length()) }
    }

    /// Ends the content.
    ///
    /// # Errors
    /// [`SealFault::Length`] if a frame has not come.
    pub fn finish(self) -> Result<(), SealFault> {
        if self.is_over { Ok(()) } else { Err(self.length()) }
    }

    fn length(&self) -> SealFault {
        SealFault::Length { found: self.taken, expected: self.expected }
    }
}

/// The cipher of a content that begins with this head.
fn cipher_of(keys: &ServerKeys, head: &[u8], name: &[u8]) -> Result<ChaCha20Poly1305, SealFault> {
    let [FRAMED, id @ ..] = head else { return Err(SealFault::Unsealed) };
    Ok(cipher(&content_key(keys, id, FRAMED, name)?))
}

/// The key of a content, by the id that it carries.
fn content_key(keys: &ServerKeys, id: &[u8], version: u8, name: &[u8]) -> Result<[u8; 32], SealFault> {
    let id = std::str::from_utf8(id).map_err(|_| SealFault::Unsealed)?;
    if !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(SealFault::Unsealed);
    }
    keys.tag_with(id, purpose(version), name).ok_or_else(|| SealFault::KeyGone(id.to_owned()))
}

/// The id of the server key that a content with this beginning was sealed with; `None` if it is not sealed.
#[must_use]
pub fn key_of_head(head: &[u8]) -> Option<&str> {
    match head.get(..HEAD_BYTES)? {
        [WHOLE | FRAMED, id @ ..] => std::str::from_utf8(id).ok(),
        _ => None,
    }
}

/// Opens a content as a whole, in whichever form it was sealed.
///
/// # Errors
/// The content was changed, cut off or moved, or its server key is gone.
pub fn open(keys: &ServerKeys, key: &BlobKey, sealed: &[u8]) -> Result<Vec<u8>, SealFault> {
    let length = sealed.len() as u64;
    let (head, rest) = sealed.split_at_checked(HEAD_BYTES).ok_or(SealFault::Unsealed)?;
    if let [WHOLE, id @ ..] = head {
        let name = name(key);
        let payload = Payload { msg: rest, aad: &name };
        let cipher = cipher(&content_key(keys, id, WHOLE, &name)?);
        return cipher.decrypt(&Nonce::default(), payload).map_err(|_| SealFault::Frame(0));
    }
    let cut_off = SealFault::Length { found: length, expected: length.next_multiple_of(FRAME_BYTES as u64) };
    let mut unsealer = Unsealer::new(keys, key, unsealed_bytes(length).ok_or(cut_off)?)?;
    let content = unsealer.push(sealed)?;
    unsealer.finish()?;
    Ok(content.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_keys::ServerKey;
    use crate::values::FileId;

    #[test]
    fn contents_that_were_sealed_as_a_whole_open() {
        let keys = ServerKeys::new(ServerKey::new(&[1; 32]), Vec::new());
        let key = BlobKey::new("one".parse().unwrap(), FileId::from_bytes([1; 12]));
        let name = name(&key);
        let sealed = cipher(&keys.tag(purpose(WHOLE), &name))
            .encrypt(&Nonce::default(), Payload { msg: b"content", aad: &name })
            .unwrap();
        let sealed = [&[WHOLE], keys.current_id().as_bytes(), &sealed].concat();
        assert_eq!(open(&keys, &key, &sealed), Ok(b"content".to_vec()));
        assert_eq!(key_of_head(&sealed), Some(keys.current_id()));
    }
}
