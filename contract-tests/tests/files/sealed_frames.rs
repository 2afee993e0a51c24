//! Properties of sealed contents: any content, any range, any pieces, any change.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::future::poll_fn;

use bytes::Bytes;
use proptest::prelude::*;

use openapi_core::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobStore, MemoryBlobs};
use openapi_core::seal::*;
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::values::FileId;

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

/// A content, with lengths around those of whole frames.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let near = (0_usize..4, 0_usize..5)
        .prop_map(|(frames, beyond)| (frames * FRAME_BYTES + beyond).saturating_sub(2));
    (prop_oneof![near, 0_usize..300], any::<u8>())
        .prop_map(|(length, first)| (0..length).map(|at| (at % 251) as u8 ^ first).collect())
}

/// A store that holds these bytes.
fn stored(key: &BlobKey, bytes: &[u8]) -> MemoryBlobs {
    let blobs = MemoryBlobs::new();
    pollster::block_on(async {
        let mut writer = blobs.create(key).await.unwrap();
        writer.write(Bytes::copy_from_slice(bytes)).await.unwrap();
        writer.finish().await.unwrap();
    });
    blobs
}

/// Which function reads a content.
type Read = fn(Source<'_>, std::ops::Range<u64>) -> BlobResult<Vec<u8>>;

async fn collected(stream: BlobResult<openapi_core::ports::BlobStream>) -> BlobResult<Vec<u8>> {
    let (mut stream, mut bytes) = (stream?, Vec::new());
    while let Some(piece) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await.transpose()? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

const SEALED: Read = |source, range| pollster::block_on(async { collected(read(source, range).await).await });
const EITHER: Read =
    |source, range| pollster::block_on(async { collected(read_either(source, range).await).await });

fn fault(error: &BlobError) -> Option<&SealFault> {
    error.source.as_ref().and_then(|source| source.downcast_ref())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_was_sealed_opens_as_what_it_was(
        content in content(), piece in 1_usize..200_000, at: prop::sample::Index, bit in 0..8_u8,
    ) {
        let (keys, key) = (keys(1), key("one", 1));
        let sealed = seal(&keys, &key, &content, piece);
        let length = content.len() as u64;
        prop_assert_eq!(sealed.len() as u64, sealed_bytes(length));
        prop_assert_eq!(unsealed_bytes(sealed.len() as u64), Some(length));
        prop_assert!(open(&keys, &key, &sealed).as_ref() == Ok(&content));
        let mut changed = sealed.clone();
        changed[at.index(sealed.len())] ^= 1 << bit;
        prop_assert!(open(&keys, &key, &changed).is_err());
        prop_assert!(open(&keys, &key, &sealed[..at.index(sealed.len())]).is_err());
        prop_assert!(open(&keys, &key, &[&sealed[..], &[0]].concat()).is_err());
    }

    #[test]
    fn any_range_is_read_by_its_frames(
        content in content().prop_filter("a range needs bytes", |content| !content.is_empty()),
        from: prop::sample::Index, to: prop::sample::Index, piece in 1_usize..200_000,
    ) {
        let (keys, key) = (keys(1), key("one", 1));
        let (from, to) = (from.index(content.len()), to.index(content.len()));
        let (from, to) = (from.min(to), from.max(to) + 1);
        let size = content.len() as u64;
        let sealed = seal(&keys, &key, &content, piece);
        let blobs = stored(&key, &sealed);
        let source = Source { blobs: &blobs, keys: &keys, key: &key, size };
        let range = from as u64..to as u64;
        for read in [SEALED, EITHER] {
            prop_assert!(read(source, range.clone()).unwrap() == content[from..to]);
        }
        // One that is not sealed is read as it is where that may be, and refused where not.
        let plain = stored(&key, &content);
        let source = Source { blobs: &plain, ..source };
        prop_assert!(EITHER(source, range.clone()).unwrap() == content[from..to]);
        let error = SEALED(source, range).unwrap_err();
        prop_assert_eq!(error.kind, BlobErrorKind::Internal);
        prop_assert!(fault(&error).is_some(), "{error:?}");
    }

    /// A range is served only if all of its frames are as they were sealed.
    #[test]
    fn a_change_is_never_served(
        content in content().prop_filter("a range needs bytes", |content| !content.is_empty()),
        from: prop::sample::Index, to: prop::sample::Index, at: prop::sample::Index, bit in 0..8_u8,
        cut: bool,
    ) {
        let (keys, key) = (keys(1), key("one", 1));
        let (from, to) = (from.index(content.len()), to.index(content.len()));
        let (from, to) = (from.min(to), from.max(to) + 1);
        let mut sealed = seal(&keys, &key, &content, 1 << 20);
        let at = at.index(sealed.len());
        if cut {
            sealed.truncate(at);
        } else {
            sealed[at] ^= 1 << bit;
        }
        let blobs = stored(&key, &sealed);
        let source = Source { blobs: &blobs, keys: &keys, key: &key, size: content.len() as u64 };
        let frame = |byte: usize| byte.saturating_sub(HEAD_BYTES) / (FRAME_BYTES + TAG_BYTES);
        let is_whole = at >= HEAD_BYTES && !(from / FRAME_BYTES..=(to - 1) / FRAME_BYTES).contains(&frame(at))
            && !(cut && frame(at) <= (to - 1) / FRAME_BYTES);
        match SEALED(source, from as u64..to as u64) {
            Ok(read) => prop_assert!(is_whole && read == content[from..to]),
            Err(error) => {
                prop_assert!(!is_whole, "{error:?}");
                prop_assert!(fault(&error).is_some(), "{error:?}");
            }
        }
    }
}

#[test]
fn frames_stay_in_their_order() {
    let (keys, key) = (keys(1), key("one", 1));
    let sealed = seal(&keys, &key, &vec![7; 3 * FRAME_BYTES], FRAME_BYTES);
    let (head, frames) = sealed.split_at(HEAD_BYTES);
    let frames: Vec<&[u8]> = frames.chunks(FRAME_BYTES + TAG_BYTES).collect();
    let of = |order: &[usize]| {
        let frames: Vec<u8> = order.iter().flat_map(|at| frames[*at].iter().copied()).collect();
        open(&keys, &key, &[head, &frames].concat())
    };
    assert!(of(&[0, 1, 2]).is_ok());
    for order in [&[1, 0, 2][..], &[0, 2], &[0, 1], &[0, 1, 1, 2], &[2], &[]] {
        assert!(of(order).is_err(), "{order:?}");
    }
}

#[test]
fn nothing_opens_under_another_name_or_key() {
    let sealed = seal(&keys(1), &key("one", 1), b"content", 3);
    assert_eq!(open(&keys(1), &key("two", 1), &sealed), Err(SealFault::Frame(0)));
    assert_eq!(open(&keys(1), &key("one", 2), &sealed), Err(SealFault::Frame(0)));
    let gone = SealFault::KeyGone(keys(1).current_id().to_owned());
    assert_eq!(open(&keys(2), &key("one", 1), &sealed), Err(gone));
    let rotated = ServerKeys::new(ServerKey::new(&[2; 32]), vec![ServerKey::new(&[1; 32])]);
    assert_eq!(open(&rotated, &key("one", 1), &sealed), Ok(b"content".to_vec()));
    // The content of one file under the key of another is refused where it is read.
    let (one, two) = (key("one", 1), key("one", 2));
    let blobs = stored(&two, &seal(&keys(1), &one, b"content", 3));
    let error = SEALED(Source { blobs: &blobs, keys: &keys(1), key: &two, size: 7 }, 2..5).unwrap_err();
    assert_eq!(fault(&error), Some(&SealFault::Frame(0)));
}

#[test]
fn a_content_that_is_sealed_again_meanwhile_is_read() {
    let key = key("one", 1);
    let (old, new) = (ServerKey::new(&[1; 32]), ServerKey::new(&[2; 32]));
    let content: Vec<u8> = (0..3 * FRAME_BYTES).map(|at| (at % 251) as u8).collect();
    let before = ServerKeys::new(old.clone(), Vec::new());
    let after = ServerKeys::new(new, vec![old]);
    for sealed in [seal(&before, &key, &content, 1 << 20), seal(&after, &key, &content, 1 << 20)] {
        let blobs = stored(&key, &sealed);
        let source = Source { blobs: &blobs, keys: &after, key: &key, size: content.len() as u64 };
        assert!(SEALED(source, 70_000..140_000).unwrap() == content[70_000..140_000]);
    }
}
