//! Operator commands on file contents: check, backup, restore. Every copied content is compared with the digest in its
//! record.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use openapi_core::audit::AuditAction;
use openapi_core::ports::{BlobKey, BlobStore};
use storage_blobs::FolderBlobs;
use storage_common::transfer;

use crate::assemble::{self, Contents, OpenStore, Ownership, StoreUrl};
use crate::cli::context::CommandContext;
use crate::config::Config;
use crate::console::caller::{BACKUP_CONTENTS, BACKUP_DATABASE};
use crate::error::CliError;

/// Chunk size of a database transfer, in bytes.
const CHUNK: usize = 256 * 1024;

/// Records per read.
const BATCH: u32 = 500;

/// Contents between two progress reports.
const PROGRESS_INTERVAL: u64 = 1_000;

/// Compares records with contents and returns the problems; with `repair`, those that remain after the repair.
///
/// # Errors
/// When a store cannot be read.
pub async fn check(
    context: &CommandContext,
    store: &OpenStore,
    repair: bool,
) -> Result<Vec<String>, CliError> {
    let conversations = context.conversations(store, Contents::Open)?;
    let platform = conversations.platform();
    let found = platform.check_contents().await?;
    let is_elsewhere = found.is_elsewhere() && found.files + found.documents > 1;
    let problems =
        if repair { platform.repair_contents(&context.operator(), found).await? } else { found.faults };
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
/// When the folder exists or cannot be written, or a content is missing or damaged.
pub async fn backup(context: &CommandContext, to: &Path) -> Result<u64, CliError> {
    let store = context.store().await?;
    let source = context.blobs(&store)?;
    let target = context.caller().begin_backup(to)?;
    let conversations = context.conversations(&store, Contents::Closed)?;
    let folder = to.display().to_string();
    let platform = conversations.platform();
    context.note(platform, AuditAction::StoreBackup, None, "", [("to", folder.as_str().into())]).await?;
    // A caller of a server has the backup in a folder that the server may not reach: the copy travels through the console.
    let scratch = match target.local_database() {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix(".backup-").tempdir_in(store.url().folder())?),
    };
    let database = match (target.local_database(), &scratch) {
        (Some(path), _) => path,
        (None, Some(scratch)) => scratch.path().join(BACKUP_DATABASE),
        (None, None) => return Err(CliError::new("the backup has no folder")),
    };
    let note = |text: &str| context.info(text);
    let copy = assemble::backup(&store, &database, &note)?;
    let live = store.storage();
    let contents = target.contents()?;
    let copied = copy_contents(&copy, &*source, &*contents, "copied", &note, async |key| {
        // Deleted and removed since the records were copied.
        let is_file = live.file(&key.agent, key.file).await?.is_some();
        Ok(!is_file && live.document(&key.agent, key.file).await?.is_none())
    })
    .await?;
    drop((copy, contents));
    if scratch.is_some() {
        let mut file = std::fs::File::open(&database)?;
        let mut copy = target.create_database()?;
        std::io::copy(&mut file, &mut BufWriter::with_capacity(CHUNK, &mut copy))?;
        copy.flush()?;
    }
    target.finish()?;
    Ok(copied)
}

/// Replaces the store with a backup: first the contents, then the records. Returns the number of contents.
///
/// # Errors
/// When the backup is incomplete, or the store is in use.
pub async fn restore(
    context: &CommandContext,
    config: &Config,
    store: &StoreUrl,
    ownership: Option<&Ownership>,
    from: &Path,
) -> Result<u64, CliError> {
    // The backup itself stays as it is: opening it would bring it to this version's schema.
    std::fs::create_dir_all(store.folder())?;
    let scratch = tempfile::tempdir_in(store.folder())?;
    let database = from.join(BACKUP_DATABASE);
    let records = assemble::open_backup(&database, &scratch.path().join(BACKUP_DATABASE))?;
    let source = FolderBlobs::open(from.join(BACKUP_CONTENTS)).map_err(storage_blobs::OpenError::from)?;
    let target = assemble::open_blobs(config, store)?;
    let note = |text: &str| context.info(text);
    let copied = copy_contents(&records, &source, &*target, "restored", &note, async |_| Ok(false)).await?;
    drop(records);
    assemble::restore(store, ownership, &database, &note)?;
    Ok(copied)
}

/// Notes in the audit log of a restored store that it was restored.
///
/// # Errors
/// When the store cannot be opened.
pub async fn note_restore(
    context: &CommandContext,
    config: &Config,
    store: &StoreUrl,
    ownership: Option<Ownership>,
    from: &Path,
) -> Result<(), CliError> {
    if !store.key_source(config).is_there() {
        context.info("the audit log has no entry about this: the server keys are not there yet");
        return Ok(());
    }
    let opened = assemble::open(store, ownership).await?;
    let conversations = context.conversations_of(config, &opened)?;
    let folder = from.display().to_string();
    let platform = conversations.platform();
    context.note(platform, AuditAction::StoreRestore, None, "", [("from", folder.as_str().into())]).await
}

/// Copies the contents that the records reference, except intact ones at the target. A missing content may be
/// `dispensable`.
async fn copy_contents(
    records: &Arc<dyn ConversationStorage>,
    from: &dyn BlobStore,
    to: &dyn BlobStore,
    done: &str,
    note: &dyn Fn(&str),
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
            note(&format!("the contents of {copied} files {done}"));
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
