//! Contents of files in a local folder.

mod ahead;
mod list;
mod names;
mod open;
mod read;
mod sweep;
mod unfinished;
mod write;

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use openapi_core::files::FileName;
use openapi_core::ports::{
    BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
};
use openapi_core::values::{AgentId, Timestamp};

pub use open::OpenFolderError;

use unfinished::Unfinished;

/// The folder of what is being written. No agent has such an id.
const UNFINISHED: &str = ".unfinished";

/// How many agents are remembered as having a synced folder; some MiB at most.
const REMEMBERED: usize = 65_536;

/// Contents of files in a local folder. Clones share it.
///
/// - An acknowledged blob stays through a power cut: content, name and the folders above were synced, in this order.
/// - What is being written lies under a name of its own in `.unfinished`, and gets its place in one step that replaces
///   nothing. A dropped writer removes it; what a crash leaves is removed by
///   [`sweep_unfinished`](BlobStore::sweep_unfinished).
/// - A blob lies at `<agent>/<file id>`. An agent id with capital letters, or one that is the name of a device on some
///   systems, has `+` and digits behind it in lower case, so that no two meet where case does not count. Other names
///   in the folder are left alone.
/// - Files are made with mode 0600, folders with 0700.
/// - A writer needs at most 512 KiB, a stream as much.
///
/// The folder must be on one file system, and a local one: a network file system may promise a sync that it does not do.
/// Its methods need a Tokio runtime, on whose blocking threads they use the disk.
#[derive(Clone, Debug)]
pub struct FolderBlobs(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    /// Agents whose folder is there, and synced in `root`.
    synced: Mutex<HashSet<AgentId>>,
    /// How long a write lets its caller wait.
    pace: write::Pace,
}

#[async_trait]
impl BlobStore for FolderBlobs {
    async fn create(&self, key: &BlobKey, _: &FileName) -> BlobResult<Box<dyn BlobWriter>> {
        let (folder, file) = (Arc::clone(&self.0), key.file);
        let unfinished = blocking(move || Unfinished::begin(&folder.root.join(UNFINISHED), file)).await?;
        Ok(Box::new(write::Writer::new(Arc::clone(&self.0), key.clone(), unfinished)))
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

    async fn link(&self, _: &BlobKey, _: u64) -> BlobResult<Option<String>> {
        Ok(None)
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
        blocking(move || sweep::sweep(&folder.root.join(UNFINISHED), before)).await
    }

    async fn probe(&self) -> BlobResult<()> {
        let folder = Arc::clone(&self.0);
        blocking(move || open::try_to_write(&folder.root.join(UNFINISHED))).await
    }
}

impl FolderBlobs {
    /// Does something with the file of a blob; [`Missing`](BlobErrorKind::Missing) when there is none.
    async fn existing<T: Send + 'static>(
        &self,
        key: &BlobKey,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> BlobResult<T> {
        let (folder, path) = (Arc::clone(&self.0), self.0.path(key));
        let done = blocking(move || match work(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Where a disk is not mounted nothing is known of its blobs.
                fs::metadata(folder.root.join(UNFINISHED))?;
                Ok(None)
            }
            done => done.map(Some),
        });
        done.await?.ok_or_else(|| BlobErrorKind::Missing.into())
    }
}

#[cfg(test)]
impl FolderBlobs {
    /// Lets threads write everything, as on a disk that makes writers wait.
    pub(crate) fn write_by_threads(&self) {
        self.0.pace.slow_down();
    }
}

impl Folder {
    fn path(&self, key: &BlobKey) -> PathBuf {
        self.agent_path(&key.agent).join(key.file.to_string())
    }

    fn agent_path(&self, agent: &AgentId) -> PathBuf {
        self.root.join(names::folder_of(agent))
    }

    /// The folder of an agent, made when it is not there; its name outlives a power cut.
    fn agent_folder(&self, agent: &AgentId) -> io::Result<PathBuf> {
        let path = self.agent_path(agent);
        // One after another: a folder that another thread has just made may not be synced yet.
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if !synced.contains(agent) {
            // Where a disk is not mounted no folders are made.
            fs::metadata(self.root.join(UNFINISHED))?;
            match private_folder().create(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => sync_folder(&self.root)?,
            }
            if synced.len() >= REMEMBERED {
                synced.clear();
            }
            synced.insert(agent.clone());
        }
        Ok(path)
    }

    fn forget(&self, agent: &AgentId) {
        self.synced.lock().unwrap_or_else(PoisonError::into_inner).remove(agent);
    }
}

/// Makes folders that only their owner may enter.
fn private_folder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are of Unix"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes the content of a file durable.
fn sync_content(file: &File) -> io::Result<()> {
    #[cfg(test)]
    if crate::tests::power_cuts::is_weak("content") {
        return Ok(());
    }
    file.sync_data()
}

/// Makes the names in a folder durable. Windows cannot: its file systems log names by themselves.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    if crate::tests::power_cuts::is_weak("names") {
        return Ok(());
    }
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Runs work on a thread that may wait for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> BlobResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(failed),
        Err(ended) => Err(stopped(ended)),
    }
}

/// A blocking thread that did not come back: the runtime shuts down, or there was a panic.
fn stopped(ended: tokio::task::JoinError) -> BlobError {
    let kind = if ended.is_cancelled() { BlobErrorKind::Unavailable } else { BlobErrorKind::Internal };
    BlobError::new(kind, ended)
}

/// What the system said, as the port says it. A file that should be there and is not means that the folder is gone.
fn failed(error: io::Error) -> BlobError {
    use io::ErrorKind as Kind;
    // Too many open files, of the process or of the system, have no kind of their own.
    let open_files = cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24));
    let later = matches!(
        error.kind(),
        Kind::NotFound
            | Kind::NotADirectory
            | Kind::PermissionDenied
            | Kind::ReadOnlyFilesystem
            | Kind::StorageFull
            | Kind::QuotaExceeded
            | Kind::ResourceBusy
            | Kind::TimedOut
            | Kind::StaleNetworkFileHandle
            | Kind::OutOfMemory
            | Kind::Interrupted
    );
    let kind = if later || open_files { BlobErrorKind::Unavailable } else { BlobErrorKind::Internal };
    BlobError::new(kind, error)
}
