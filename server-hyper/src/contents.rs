//! Contents of files as an operator handles them: check, back up, restore. Every content that is copied is compared with
//! the digest in its record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use openapi_core::ports::{BlobKey, BlobStore};
use storage_blobs::FolderBlobs;
use storage_common::transfer;

use crate::assemble::{self, Contents, StoreUrl, operator};
use crate::config::Config;
use crate::config::typed::Names;
use crate::error::CliError;

/// The database in the folder of a backup.
const DATABASE: &str = "openapi.db";

/// The contents of files in the folder of a backup.
const CONTENTS: &str = "blobs";

/// Records that one step reads.
const BATCH: u32 = 500;

/// After how many contents the progress is told.
const TOLD_EVERY: u64 = 1_000;

/// Compares records and contents; with `repair` what is left after mending.
///
/// # Errors
/// When a store cannot be read.
pub async fn check(config: &Config, repair: bool) -> Result<Vec<String>, CliError> {
    let service_info = Names::of(config)?.brand_without_listener();
    let platform = assemble::platform(config, service_info, Contents::Open).await?;
    let found = platform.check_contents().await?;
    let is_elsewhere = found.is_elsewhere() && found.files + found.documents > 1;
    let faults = if repair { platform.repair_contents(&operator(), found).await? } else { found.faults };
    if is_elsewhere {
        return Ok(vec![format!(
            "the contents of all {} files and documents are missing; is --blobs the place where they are kept?",
            faults.len()
        )]);
    }
    Ok(faults.iter().map(ToString::to_string).collect())
}

/// Copies the store into a new folder: the records as they are at one instant, then the contents that they need.
/// Returns how many.
///
/// # Errors
/// When the folder exists or cannot be written, or a content is missing or damaged.
pub async fn backup(config: &Config, store: &StoreUrl, to: &Path) -> Result<u64, CliError> {
    if to.exists() {
        return Err(CliError::new(format!("{} exists; name a folder that does not", to.display())));
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
        // Deleted and removed since the records were copied.
        let is_file = live.file(&key.agent, key.file).await?.is_some();
        Ok(!is_file && live.document(&key.agent, key.file).await?.is_none())
    })
    .await;
    drop(copy);
    let copied = copied?;
    // What opening the copy has left beside it.
    for beside in ["-lock", "-changes", "-lease"] {
        let _ = std::fs::remove_file(partial.join(format!("{DATABASE}{beside}")));
    }
    std::fs::rename(&partial, to)?;
    sync_folder(to)?;
    Ok(copied)
}

/// Puts a backup in the place of the store: first the contents, then the records. Returns how many contents there are.
///
/// # Errors
/// When the backup is not whole, or the store is in use.
pub async fn restore(config: &Config, store: &StoreUrl, from: &Path) -> Result<u64, CliError> {
    // The backup itself stays as it is: opening it would bring it to this version's schema.
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

/// Copies the contents that the records need, except those that are there already and as they should be. A content that
/// is missing may be `dispensable`.
async fn copy_contents(
    records: &Arc<dyn ConversationStorage>,
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
                tracing::debug!(%key, %error, "it was deleted meanwhile");
            }
            Err(error) => return Err(CliError::from(error)),
        }
        if copied % TOLD_EVERY == 0 {
            eprintln!("the contents of {copied} files {done}");
        }
        Ok(())
    };
    let mut after = None::<BlobKey>;
    loop {
        let needed = records.referenced_blobs(after.as_ref(), BATCH).await?;
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

/// Only the owner may read a backup.
fn restrict(folder: &Path) -> Result<(), CliError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes the name of a folder durable.
fn sync_folder(folder: &Path) -> Result<(), CliError> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    #[cfg(unix)]
    std::fs::File::open(parent)?.sync_all()?;
    Ok(())
}
