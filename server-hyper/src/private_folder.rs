//! Folders that only the service's user may read.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Creates a folder with its parents, each with mode 0700. Folders that exist stay as they are.
///
/// # Errors
/// When one cannot be created.
pub fn create(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
