//! Disk operations: durable names and contents, private folders, and work on blocking threads.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use openapi_core::ports::{BlobError, BlobErrorKind, BlobResult};

/// Creates folders that only their owner may enter.
pub(super) fn private_folder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "modes are of Unix"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes the content of a file durable.
pub(super) fn sync_content(file: &File) -> io::Result<()> {
    #[cfg(test)]
    if crate::tests::power_cuts::is_weak("content") {
        return Ok(());
    }
    file.sync_data()
}

/// Makes the names in a folder durable. On Windows the file system journals names.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    if crate::tests::power_cuts::is_weak("names") {
        return Ok(());
    }
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Runs work on a thread that may wait for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> BlobResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(failed),
        Err(ended) => Err(stopped(ended)),
    }
}

/// The error of a blocking task that did not complete: the runtime shut down, or the task panicked.
pub(super) fn stopped(ended: tokio::task::JoinError) -> BlobError {
    let kind = if ended.is_cancelled() { BlobErrorKind::Unavailable } else { BlobErrorKind::Internal };
    BlobError::new(kind, ended)
}

/// Maps an error of the system to one of the port. A missing file that should exist means that the folder is gone.
pub(super) fn failed(error: io::Error) -> BlobError {
    use io::ErrorKind as Kind;
    // Too many open files (EMFILE, ENFILE) have no kind of their own.
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

/// Makes a file, writes to it and removes it again.
pub(super) fn try_to_write(staging: &Path) -> io::Result<()> {
    let path = staging.join("probe");
    let written = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
    let written = written.and_then(|mut file| file.write_all(b"."));
    match fs::remove_file(&path) {
        // Another probe at the same time removes it first.
        Err(error) if error.kind() != io::ErrorKind::NotFound => written.and(Err(error)),
        _ => written,
    }
}
