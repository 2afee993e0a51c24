//! Removing staged files whose writers never finished.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use openapi_core::values::Timestamp;

/// Removes the files in `folder` that nobody has written since `before`.
pub(super) fn sweep(folder: &Path, before: Timestamp) -> io::Result<u64> {
    let before = instant(before);
    let mut swept = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let done = entry.metadata().and_then(|metadata| {
            let is_old = metadata.is_file() && metadata.modified()? < before;
            if is_old { fs::remove_file(entry.path()).map(|()| 1) } else { Ok(0) }
        });
        match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => swept += done?,
        }
    }
    Ok(swept)
}

fn instant(at: Timestamp) -> SystemTime {
    let distance = Duration::from_millis(at.millis().unsigned_abs());
    let moved = if at.millis() < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(distance)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(distance)
    };
    moved.unwrap_or(SystemTime::UNIX_EPOCH)
}
