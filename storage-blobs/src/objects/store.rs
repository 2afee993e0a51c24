//! The implementation of [`BlobStore`].

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use openapi_core::ports::{
    BlobEntry, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
};
use openapi_core::values::Timestamp;

use super::error::{self, failed, failed_to_write};
use super::{read, write};

/// Contents of files in an object store: Amazon S3 and compatible stores, Google Cloud Storage, Azure.
///
/// - A blob is the object `<prefix>/<agent>/<file id>`. Other names are left alone.
/// - A blob of up to 5 MiB is one request. A larger one is uploaded in parts of 5 MiB, the smallest that S3 accepts, so
///   **a writer needs slightly more than 5 MiB** instead of the few hundred KiB that the port asks for.
/// - A dropped writer aborts its upload in the background. An upload that a crash leaves incomplete cannot be read, but
///   S3 and Google Cloud store it and charge for it, and the `object_store` crate cannot list it: let a lifecycle rule
///   of the bucket abort incomplete multipart uploads after a day. Azure drops such blocks after a week. Therefore
///   [`sweep_unfinished`](BlobStore::sweep_unfinished) finds nothing here.
/// - A store that does not respond is [`Unavailable`](BlobErrorKind::Unavailable) within about ten seconds. A request
///   that fails before that is retried.
///
/// Its methods need a Tokio runtime with time and network.
#[derive(Clone)]
pub struct ObjectBlobs {
    store: Arc<dyn ObjectStore>,
    prefix: String,
}

impl fmt::Debug for ObjectBlobs {
    // Stores print their settings, which contain credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectBlobs").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl ObjectBlobs {
    /// Blobs in any object store, under an optional prefix without slashes at its ends.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, prefix: impl Into<String>) -> Self {
        ObjectBlobs { store, prefix: prefix.into() }
    }

    fn path(&self, key: &BlobKey) -> Path {
        if self.prefix.is_empty() {
            Path::from(key.to_string())
        } else {
            Path::from(format!("{}/{key}", self.prefix))
        }
    }

    fn key(&self, path: &Path) -> Option<BlobKey> {
        let below = match self.prefix.as_str() {
            "" => path.as_ref(),
            prefix => path.as_ref().strip_prefix(prefix)?.strip_prefix('/')?,
        };
        below.parse().ok()
    }

    async fn length(&self, path: &Path) -> BlobResult<Option<u64>> {
        match self.store.head(path).await {
            Ok(object) => Ok(Some(object.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

#[async_trait]
impl BlobStore for ObjectBlobs {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        Ok(Box::new(write::Writer::new(Arc::clone(&self.store), self.path(key))))
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        // A finished upload replaces an object.
        self.create(key).await
    }

    async fn read(&self, key: &BlobKey, range: Range<u64>) -> BlobResult<BlobStream> {
        let path = self.path(key);
        if range.is_empty() {
            // No request can ask for an empty range.
            let end = range.start.max(range.end);
            let is_there = self.length(&path).await?.is_some_and(|length| end <= length);
            return if is_there { Ok(read::nothing()) } else { Err(BlobErrorKind::Missing.into()) };
        }
        match read::range(self.store.as_ref(), &path, range.clone()).await {
            Err(error) if error::is_about_range(&error) => match self.length(&path).await? {
                Some(length) if range.end <= length => Err(error),
                _ => Err(BlobErrorKind::Missing.into()),
            },
            read => read,
        }
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        self.length(&self.path(key)).await
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        match self.store.delete(&self.path(key)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        let prefix = (!self.prefix.is_empty()).then(|| Path::from(self.prefix.as_str()));
        let (blobs, objects) = (self.clone(), self.store.list(prefix.as_ref()));
        Ok(read::picked(objects, move |object| {
            blobs.key(&object.location).map(|key| BlobEntry { key, size: object.size })
        }))
    }

    async fn sweep_unfinished(&self, _: Timestamp) -> BlobResult<u64> {
        Ok(0)
    }

    async fn probe(&self) -> BlobResult<()> {
        // An empty page: no key has this prefix.
        let nowhere = Path::from(format!("{}/.probe", self.prefix).trim_start_matches('/'));
        let mut objects = self.store.list(Some(&nowhere));
        match std::future::poll_fn(|context| objects.as_mut().poll_next(context)).await {
            Some(Err(error)) => Err(failed_to_write(error)),
            _ => Ok(()),
        }
    }
}
