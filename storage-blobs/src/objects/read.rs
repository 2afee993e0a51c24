//! Streams of an object store as streams of the port.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_core::stream::BoxStream;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};
use openapi_core::ports::{BlobEntry, BlobError, BlobErrorKind, BlobListing, BlobResult, BlobStream};

use super::error::failed;

/// The bytes of a non-empty range.
pub(super) async fn range(store: &dyn ObjectStore, path: &Path, range: Range<u64>) -> BlobResult<BlobStream> {
    let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..Default::default() };
    let object = store.get_opts(path, options).await.map_err(failed)?;
    // Stores truncate a range that reaches beyond the end.
    if object.range != range {
        return Err(BlobErrorKind::Missing.into());
    }
    Ok(Box::pin(RangeStream { stream: object.into_stream(), left: range.end - range.start }))
}

/// An empty stream.
pub(super) fn nothing() -> BlobStream {
    Box::pin(RangeStream { stream: Box::pin(Nothing), left: 0 })
}

struct Nothing;

impl Stream for Nothing {
    type Item = object_store::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

/// The requested bytes, or an error.
struct RangeStream {
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    left: u64,
}

impl Stream for RangeStream {
    type Item = BlobResult<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let fault = |what: &'static str| Some(Err(BlobError::new(BlobErrorKind::Internal, what)));
        Poll::Ready(match ready!(self.stream.as_mut().poll_next(context)) {
            Some(Ok(chunk)) => match self.left.checked_sub(chunk.len() as u64) {
                Some(left) => {
                    self.left = left;
                    Some(Ok(chunk))
                }
                None => fault("the store sent more than was asked for"),
            },
            Some(Err(error)) => Some(Err(failed(error))),
            None if std::mem::take(&mut self.left) > 0 => fault("the store sent less than was asked for"),
            None => None,
        })
    }
}

/// The objects that are blobs.
pub(super) fn picked(
    objects: BoxStream<'static, object_store::Result<ObjectMeta>>,
    pick: impl Fn(&ObjectMeta) -> Option<BlobEntry> + Send + Unpin + 'static,
) -> BlobListing {
    Box::pin(Picked { objects, pick })
}

struct Picked<P> {
    objects: BoxStream<'static, object_store::Result<ObjectMeta>>,
    pick: P,
}

impl<P: Fn(&ObjectMeta) -> Option<BlobEntry> + Unpin> Stream for Picked<P> {
    type Item = BlobResult<BlobEntry>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(self.objects.as_mut().poll_next(context)) {
                Some(Ok(object)) => {
                    if let Some(entry) = (self.pick)(&object) {
                        return Poll::Ready(Some(Ok(entry)));
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(failed(error)))),
                None => return Poll::Ready(None),
            }
        }
    }
}
