//! Operator commands on file contents: check, backup, restore. Every copied content is compared with the digest in its
//! record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use openapi_core::ports::{BlobKey, BlobStore};
use openapi_core::storage::Storage;
use openapi_core::transfer;
use storage_blobs::FolderBlobs;

use crate::assemble::{self, Contents, StoreUrl, operator};
use crate::config::Config;
use crate::config::typed::Names;
use crate::error::CliError;

/// The name of the database in a backup folder.
const DATABASE: &str = "openapi.db";

/// The name of the folder with file contents in a backup folder.
const CONTENTS: &str = "blobs";

/// Records per read.
const BATCH: u32 = 500;

/// How many contents are copied between two progress messages.
const PROGRESS_INTERVAL: u64 = 1_000;

/// Compares records with contents and returns the problems; with `repair`, those that remain after the repair.
///
/// # Errors
/// A store cannot be read.
pub async fn check(config: &Config, repair: bool) -> Result<Vec<String>, CliError> {
    let brand = Names::of(config)?.brand_without_listener();
    let platform = assemble::platform(config, brand, Contents::Open).await?;
    let found = platform.check_contents().await?;
    let is_elsewhere = found.is_elsewhere() && found.files + found.documents > 1;
    let problems = if repair { platform.repair_contents(&operator(), found).await? } else { found.faults };
    if is_elsewhere {
        return Ok(vec![format!(
            "the contents of all {} files and documents are missing; does --blobs name their storage?",
            problems.len()
        )]);
    }
    Ok(problems.iter().map(ToString::to_string).collect())
}

/// Copies the store into a new folder: a snapshot of the records, then the contents that they reference. Returns the
/// number of contents.
///
/// # Errors
/// The folder exists or cannot be written, or a content is missing or damaged.
pub async fn backup(config: &Config, store: &StoreUrl, to: &Path) -> Result<u64, CliError> {
    if to.exists() {
        return Err(CliError::new(format!("{} already exists; choose another folder", to.display())));
    }
    let live = assemble::open(store).await?;
    let source = assemble::open_blobs(config, store)?;
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    if partial.exists() {
        std::fs::remove_dir_all(&partial)?;
    }
    std::fs::create_dir_all(&partial)?;
    restrict(&partial)?;
    let copy = assemble::backup(store, &partial.join(DATABASE)).await?;
    let target = FolderBlobs::open(partial.join(CONTENTS)).map_err(storage_blobs::OpenError::from)?;
    let copied = copy_contents(&copy, &*source, &target, "copied", async |key| {
        // Dispensable if its record was deleted after the snapshot.
        let is_file = live.file(&key.agent, key.file).await?.is_some();
        Ok(!is_file && live.document(&key.agent, key.file).await?.is_none())
    })
    .await;
    drop(copy);
    let copied = copied?;
    // Removes the files that opening the copy created next to it.
    for suffix in ["-lock", "-changes", "-lease"] {
        let _ = std::fs::remove_file(partial.join(format!("{DATABASE}{suffix}")));
    }
    std::fs::rename(&partial, to)?;
    sync_folder(to)?;
    Ok(copied)
}

/// Replaces the store with a backup: first the contents, then the records. Returns the number of contents.
///
/// # Errors
/// The backup is incomplete, or the store is in use.
pub async fn restore(config: &Config, store: &StoreUrl, from: &Path) -> Result<u64, CliError> {
    // Works on a copy, because opening a backup migrates it to the current schema.
    std::fs::create_dir_all(store.folder())?;
    let scratch = tempfile::tempdir_in(store.folder())?;
    let records = assemble::open_backup(&from.join(DATABASE), &scratch.path().join(DATABASE))?;
    let source = FolderBlobs::open(from.join(CONTENTS)).map_err(storage_blobs::OpenError::from)?;
    let target = assemble::open_blobs(config, store)?;
    let copied = copy_contents(&records, &source, &*target, "restored", async |_| Ok(false)).await?;
    drop(records);
    assemble::restore(store, &from.join(DATABASE)).await?;
    Ok(copied)
}

/// Copies the contents that the records reference, except intact ones at the target. A missing content may be
/// `dispensable`.
async fn copy_contents(
    records: &Arc<dyn Storage>,
    from: &dyn BlobStore,
    to: &dyn BlobStore,
    done: &str,
    dispensable: impl AsyncFn(&BlobKey) -> Result<bool, CliError>,
) -> Result<u64, CliError> {
    let contents = transfer::Contents { from, to };
    let mut copied = 0;
    let mut count = async |key: &BlobKey, outcome: Result<Option<u64>, transfer::CopyError>| {
        match outcome {
            Ok(_) => copied += 1,
            Err(error) if dispensable(key).await? => {
                tracing::debug!(%key, %error, "skipping a content deleted during the backup");
            }
            Err(error) => return Err(CliError::from(error)),
        }
        if copied % PROGRESS_INTERVAL == 0 {
            eprintln!("{copied} file contents {done}");
        }
        Ok(())
    };
    let mut after = None::<BlobKey>;
    loop {
        let needed = records.needed_blobs(after.as_ref(), BATCH).await?;
        let Some(last) = needed.last() else { break };
        after = Some(last.key.clone());
        for entry in needed {
            let key = entry.key;
            let Some(file) = records.file(&key.agent, key.file).await? else { continue };
            count(&key, transfer::copy_content(contents, &file).await).await?;
        }
    }
    for agent in records.agents().await? {
        let mut after = None;
        loop {
            let documents = records.documents(&agent.id, after, BATCH).await?;
            let Some(last) = documents.last() else { break };
            after = Some(last.id);
            for document in documents {
                let key = BlobKey::new(agent.id.clone(), document.id);
                count(&key, transfer::copy_document(contents, &agent.id, &document).await).await?;
            }
        }
    }
    Ok(copied)
}

/// Makes a backup readable to its owner only.
fn restrict(folder: &Path) -> Result<(), CliError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes the rename of a folder durable.
fn sync_folder(folder: &Path) -> Result<(), CliError> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[cfg(unix)]
    std::fs::File::open(parent)?.sync_all()?;
    Ok(())
}
