//! Reading parts of sealed contents.

use std::future::poll_fn;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;

use super::{FRAME_BYTES, HEAD_BYTES, SealFault, TAG_BYTES, Unsealer, cipher_of, name, sealed_bytes};
use crate::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobStore, BlobStream};
use crate::server_keys::ServerKeys;

/// What a frame takes when it is sealed.
const SEALED_FRAME: u64 = (FRAME_BYTES + TAG_BYTES) as u64;

/// A content that is to be read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Where it is stored.
    pub blobs: &'a dyn BlobStore,
    /// The server keys.
    pub keys: &'a ServerKeys,
    /// Its key.
    pub key: &'a BlobKey,
    /// Its bytes before it was sealed.
    pub size: u64,
}

/// The bytes of a range of a sealed content. Only the frames of the range are read.
///
/// # Errors
/// When the store fails, or the content is missing, was changed, or is not sealed.
pub async fn read(source: Source<'_>, range: Range<u64>) -> BlobResult<BlobStream> {
    match attempt(source, range.clone()).await {
        // Its head may have been read before, and its frames after it was sealed again.
        Err(error) if error.kind == BlobErrorKind::Internal && range.start >= FRAME_BYTES as u64 => {
            attempt(source, range).await
        }
        read => read,
    }
}

/// The same of a content that may not be sealed yet: contents of former releases are not, and one that is being sealed
/// meanwhile is replaced in one step.
///
/// # Errors
/// As [`read`].
pub async fn read_either(source: Source<'_>, range: Range<u64>) -> BlobResult<BlobStream> {
    let plain = source.blobs.read(source.key, range.clone()).await?;
    // After the stream was opened: a content that is not sealed now was not when it was opened.
    match source.blobs.size(source.key).await? {
        Some(found) if found == source.size => Ok(plain),
        Some(found) if found == sealed_bytes(source.size) => {
            drop(plain);
            read(source, range).await
        }
        Some(found) => Err(refused(source.key, SealFault::Length { found, expected: source.size })),
        None => Err(BlobErrorKind::Missing.into()),
    }
}

async fn attempt(source: Source<'_>, range: Range<u64>) -> BlobResult<BlobStream> {
    let Source { keys, key, size, .. } = source;
    let stored = sealed_bytes(size);
    let first = range.start / FRAME_BYTES as u64;
    let frames = range.end.saturating_sub(1) / FRAME_BYTES as u64 + 1;
    let end = (HEAD_BYTES as u64 + frames * SEALED_FRAME).min(stored);
    let begin = HEAD_BYTES as u64 + first * SEALED_FRAME;
    let mut unsealer = Unsealer::new(keys, key, size).map_err(|fault| refused(key, fault))?;
    let stream = if first == 0 {
        open(source, 0..end).await?
    } else {
        let head = all(open(source, 0..HEAD_BYTES as u64).await?).await?;
        let cipher = cipher_of(keys, &head, &name(key)).map_err(|fault| refused(key, fault))?;
        unsealer.cipher = Some(cipher);
        unsealer.frame = u32::try_from(first).map_err(|_| refused(key, SealFault::TooLong))?;
        open(source, begin..end).await?
    };
    let skip = usize::try_from(range.start - first * FRAME_BYTES as u64).unwrap_or(FRAME_BYTES);
    let left = range.end.saturating_sub(range.start);
    let mut frames = Frames { key: key.clone(), stream, unsealer, skip, left, ready: None };
    // The first frame decides about the answer; what follows can only end it.
    frames.ready = poll_fn(|cx| Pin::new(&mut frames).poll_next(cx)).await.transpose()?;
    Ok(Box::pin(frames))
}

/// A range of the sealed bytes. A content that is too short is refused as such.
async fn open(source: Source<'_>, range: Range<u64>) -> BlobResult<BlobStream> {
    match source.blobs.read(source.key, range).await {
        Err(error) if error.kind == BlobErrorKind::Missing => match source.blobs.size(source.key).await? {
            Some(found) => {
                let expected = sealed_bytes(source.size);
                Err(refused(source.key, SealFault::Length { found, expected }))
            }
            None => Err(error),
        },
        read => read,
    }
}

async fn all(mut stream: BlobStream) -> BlobResult<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(piece) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await.transpose()? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn refused(key: &BlobKey, fault: SealFault) -> BlobError {
    tracing::error!(%key, %fault, "the content of a file does not open and is not served");
    BlobError::new(BlobErrorKind::Internal, fault)
}

/// Frames of a content, opened, from the first byte to the last of a range.
struct Frames {
    key: BlobKey,
    stream: BlobStream,
    unsealer: Unsealer,
    /// Bytes of the first frame in front of the range.
    skip: usize,
    /// Bytes of the range that have not come out.
    left: u64,
    ready: Option<Bytes>,
}

impl Stream for Frames {
    type Item = BlobResult<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(bytes) = this.ready.take() {
            return Poll::Ready(Some(Ok(bytes)));
        }
        while this.left > 0 {
            let opened = match ready!(this.stream.as_mut().poll_next(cx)) {
                Some(Ok(sealed)) => this.unsealer.push(&sealed),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => Err(this.unsealer.length()),
            };
            let mut bytes = match opened {
                Ok(bytes) => bytes,
                Err(fault) => {
                    this.left = 0;
                    return Poll::Ready(Some(Err(refused(&this.key, fault))));
                }
            };
            let skipped = this.skip.min(bytes.len());
            this.skip -= skipped;
            let _ = bytes.split_to(skipped);
            bytes.truncate(usize::try_from(this.left).unwrap_or(usize::MAX));
            this.left -= bytes.len() as u64;
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
        Poll::Ready(None)
    }
}
