//! The implementation of [`BlobStore`].

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use openapi_core::ports::{
    BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
};
use openapi_core::values::Timestamp;

use super::folder::Folder;
use super::staged_file::StagedFile;
use super::sync::{blocking, sync_folder, try_to_write};
use super::{list, read, sweep, write};

/// Contents of files in a local folder. Clones share it.
///
/// - An acknowledged blob survives a power cut: its content, its name and the folders above are synced, in this order.
/// - A staged file in `.unfinished` receives the content and is published in one step. [`create`](BlobStore::create) replaces nothing. Dropping its
///   writer removes it; [`sweep_unfinished`](BlobStore::sweep_unfinished) removes those that a crash leaves.
/// - The path of a blob is `<agent>/<file id>`. An agent id with capital letters, or one that is the name of a device on some
///   systems, is in lower case with `+` and digits appended, so that no two are equal where case does not count. Other names
///   in the folder are left alone.
/// - Files have mode 0600, folders 0700.
/// - A writer needs at most 512 KiB, a stream as much.
///
/// The folder must be on one local file system: a network file system may acknowledge a sync that it does not perform. The
/// methods need a Tokio runtime and use the disk on its blocking threads.
#[derive(Clone, Debug)]
pub struct FolderBlobs(pub(super) Arc<Folder>);

#[async_trait]
impl BlobStore for FolderBlobs {
    async fn create(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.begin(key, Folder::publish).await
    }

    async fn replace(&self, key: &BlobKey) -> BlobResult<Box<dyn BlobWriter>> {
        self.begin(key, Folder::replace).await
    }

    async fn read(&self, key: &BlobKey, range: Range<u64>) -> BlobResult<BlobStream> {
        self.existing(key, move |path| read::Reader::open(path, range)).await.map(read::stream)
    }

    async fn size(&self, key: &BlobKey) -> BlobResult<Option<u64>> {
        match self.existing(key, |path| Ok(fs::metadata(path)?.len())).await {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind == BlobErrorKind::Missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn remove(&self, key: &BlobKey) -> BlobResult<()> {
        let removed = self.existing(key, |path| {
            fs::remove_file(path)?;
            path.parent().map_or(Ok(()), sync_folder)
        });
        match removed.await {
            Err(error) if error.kind == BlobErrorKind::Missing => Ok(()),
            done => done,
        }
    }

    async fn list(&self) -> BlobResult<BlobListing> {
        let folder = Arc::clone(&self.0);
        blocking(move || list::Walk::begin(&folder.root)).await.map(list::stream)
    }

    async fn sweep_unfinished(&self, before: Timestamp) -> BlobResult<u64> {
        let folder = Arc::clone(&self.0);
        blocking(move || sweep::sweep(&folder.staging(), before)).await
    }

    async fn probe(&self) -> BlobResult<()> {
        let folder = Arc::clone(&self.0);
        blocking(move || try_to_write(&folder.staging())).await
    }
}

impl FolderBlobs {
    async fn begin(&self, key: &BlobKey, publish: write::Publish) -> BlobResult<Box<dyn BlobWriter>> {
        let (folder, file) = (Arc::clone(&self.0), key.file);
        let staged = blocking(move || StagedFile::create(&folder.staging(), file)).await?;
        Ok(Box::new(write::Writer::new(Arc::clone(&self.0), key.clone(), staged, publish)))
    }

    /// Runs `work` on the file of a blob; [`Missing`](BlobErrorKind::Missing) when there is none.
    async fn existing<T: Send + 'static>(
        &self,
        key: &BlobKey,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> BlobResult<T> {
        let (folder, path) = (Arc::clone(&self.0), self.0.path(key));
        let done = blocking(move || match work(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Without its disk the folder is empty, and its blobs are unavailable rather than missing.
                fs::metadata(folder.staging())?;
                Ok(None)
            }
            done => done.map(Some),
        });
        done.await?.ok_or_else(|| BlobErrorKind::Missing.into())
    }
}

#[cfg(test)]
impl FolderBlobs {
    /// Offloads every write to threads, as on a slow disk.
    pub(crate) fn write_by_threads(&self) {
        self.0.offload.slow_down();
    }
}
