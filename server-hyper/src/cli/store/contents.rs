//! Operator commands on file contents: check, backup, restore. Every copied content is compared with the digest in its
//! record.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use conversations::storage::ConversationStorage;
use openapi_core::audit::AuditAction;
use openapi_core::ports::{BlobKey, BlobResult, BlobStore, BlobWriter, Clock};
use openapi_core::server_keys::ServerKeys;
use storage_blobs::FolderBlobs;
use storage_common::transfer;

use super::Restore;
use super::encryption::{BackupKey, Encryption, PasswordArgs};
use super::manifest::{DatabaseDigest, Hashing, Manifest, Proof};
use crate::assemble::{self, Contents, OpenStore, Ownership, StoreUrl};
use crate::cli::context::CommandContext;
use crate::config::Config;
use crate::console::caller::{BACKUP_CONTENTS, BACKUP_DATABASE, BACKUP_ENCRYPTED_DATABASE, BackupFile};
use crate::error::CliError;
use crate::ports::{SystemClock, SystemRandom};
use crate::private_folder;
use crate::write_only::WriteOnly;

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
pub async fn backup(
    context: &CommandContext,
    to: &Path,
    encryption: Option<(Encryption, BackupKey)>,
) -> Result<u64, CliError> {
    context.check_contents()?;
    let store = context.store().await?;
    let source = context.blobs(&store)?;
    let config = context.config()?;
    let keys = store.url().key_source(&config).load(&SystemClock, &SystemRandom)?;
    let target = context.caller().begin_backup(to)?;
    let conversations = context.conversations(&store, Contents::Closed)?;
    let folder = to.display().to_string();
    let platform = conversations.platform();
    context.note(platform, AuditAction::StoreBackup, None, "", [("to", folder.as_str().into())]).await?;
    let (encryption, backup_key) = encryption.unzip();
    // A caller of a server has the backup in a folder that the server may not reach: the copy travels through the console.
    // A copy that is encrypted never lies in the backup as it is.
    let own = target.local_database().filter(|_| backup_key.is_none());
    let (database, scratch) = match own {
        Some(path) => (path, None),
        None => {
            let scratch = tempfile::Builder::new().prefix(".backup-").tempdir_in(store.url().folder())?;
            (scratch.path().join(BACKUP_DATABASE), Some(scratch))
        }
    };
    let note = |text: &str| context.info(text);
    let copy = assemble::backup(&store, &database, &note)?;
    let live = store.storage();
    let mut target_contents = target.contents()?;
    if let Some(key) = &backup_key {
        target_contents = key.contents(target_contents);
    }
    let mut absent = Vec::new();
    let contents = transfer::Contents { from: &*source, to: &*target_contents, keys: Some(&keys) };
    let copied = copy_contents(&copy, contents, "copied", &note, async |key| {
        let is_file = live.file(&key.agent, key.file).await?.is_some();
        let is_absent = !is_file && live.document(&key.agent, key.file).await?.is_none();
        if is_absent {
            absent.push(key.to_string());
        }
        Ok(is_absent)
    })
    .await?;
    // The file gets its final bytes when the copy is closed.
    drop((copy, target_contents));
    let digest = match scratch {
        None => DatabaseDigest::of(&database)?,
        Some(_) => {
            let mut file = std::fs::File::open(&database)?;
            let kind = match &backup_key {
                Some(_) => BackupFile::EncryptedDatabase,
                None => BackupFile::Database,
            };
            let copy = BufWriter::with_capacity(CHUNK, target.create(kind)?);
            let mut copy = Hashing::new(copy);
            match &backup_key {
                Some(key) => key.encrypt(file, &mut copy)?,
                None => drop(std::io::copy(&mut file, &mut copy)?),
            }
            copy.flush()?;
            copy.finish()
        }
    };
    let manifest = Manifest::sealed(digest, copied, absent, encryption, SystemClock.now(), &keys);
    let mut file = target.create(BackupFile::Manifest)?;
    file.write_all(&manifest.to_file())?;
    file.flush()?;
    target.finish()?;
    Ok(copied)
}

/// Compares a backup with its manifest: the database with its digest, the manifest with the server key.
///
/// # Errors
/// When the backup has no manifest, was changed, or was made under a server key that is not here.
pub fn verify_manifest(
    config: &Config,
    store: &StoreUrl,
    from: &Path,
) -> Result<(Manifest, Proof), CliError> {
    let Some(manifest) = Manifest::read(from)? else {
        let has = |file: &str| from.join(file).is_file();
        let what = if has(BACKUP_DATABASE) || has(BACKUP_ENCRYPTED_DATABASE) {
            "has no manifest"
        } else {
            "is not a backup"
        };
        return Err(CliError::new(format!(
            "{} {what}; name the folder that `openapi-server backup` made",
            from.display()
        )));
    };
    let keys = store.key_source(config).existing()?;
    let proof = manifest.verify(from, keys.as_ref())?;
    Ok((manifest, proof))
}

/// Reads every content of a backup and compares it with the digest in its record. Returns the number of contents.
///
/// # Errors
/// At the first content that is missing or damaged.
pub async fn verify_contents(
    context: &CommandContext,
    from: &Path,
    manifest: &Manifest,
    backup_key: Option<&BackupKey>,
    keys: &ServerKeys,
) -> Result<u64, CliError> {
    // The backup itself stays as it is: opening it would bring it to this version's schema.
    let scratch = tempfile::tempdir()?;
    let (database, source) = open_backup(from, backup_key, scratch.path())?;
    let records = assemble::open_backup(&database, &scratch.path().join(BACKUP_DATABASE))?;
    let note = |text: &str| context.info(text);
    let nowhere = WriteOnly(|_: &BlobKey| -> BlobResult<Box<dyn BlobWriter>> { Ok(Box::new(Nowhere)) });
    let contents = transfer::Contents { from: &*source, to: &nowhere, keys: Some(keys) };
    copy_contents(&records, contents, "verified", &note, async |key| Ok(manifest.lacks(key))).await
}

/// The writer of a content that is only verified.
struct Nowhere;

#[async_trait]
impl BlobWriter for Nowhere {
    async fn write(&mut self, _: Bytes) -> BlobResult<()> {
        Ok(())
    }

    async fn finish(self: Box<Self>) -> BlobResult<()> {
        Ok(())
    }
}

/// The database of a backup, decrypted into a folder if it is encrypted, and its contents.
fn open_backup(
    from: &Path,
    backup_key: Option<&BackupKey>,
    scratch: &Path,
) -> Result<(PathBuf, Arc<dyn BlobStore>), CliError> {
    let contents = FolderBlobs::open(from.join(BACKUP_CONTENTS)).map_err(storage_blobs::OpenError::from)?;
    let contents: Arc<dyn BlobStore> = Arc::new(contents);
    let Some(key) = backup_key else { return Ok((from.join(BACKUP_DATABASE), contents)) };
    let database = scratch.join("decrypted.db");
    key.decrypt(&from.join(BACKUP_ENCRYPTED_DATABASE), &database)?;
    Ok((database, key.contents(contents)))
}

/// The key of a backup, if it is encrypted.
///
/// # Errors
/// When there is no password, or a wrong one.
pub fn backup_key(
    context: &CommandContext,
    manifest: &Manifest,
    password: &PasswordArgs,
) -> Result<Option<BackupKey>, CliError> {
    let Some(encryption) = &manifest.encryption else { return Ok(None) };
    encryption.key(&password.read(context, false)?).map(Some)
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
    restore: &Restore,
) -> Result<u64, CliError> {
    let Restore { from, unverified, password } = restore;
    let manifest = if *unverified {
        context.info("the manifest of the backup is not checked");
        Manifest::read(from).unwrap_or_default()
    } else {
        let (manifest, proof) = verify_manifest(config, store, from)?;
        if proof == Proof::NoServerKey {
            context.info(&format!(
                "the database has the digest of the manifest, but no server key is here to verify the manifest itself: \
                 copy the server keys, key {} among them, and run `openapi-server backups verify`",
                manifest.server_key
            ));
        }
        Some(manifest)
    };
    let is_absent = |key: &BlobKey| manifest.as_ref().is_some_and(|manifest| manifest.lacks(key));
    // The backup itself stays as it is: opening it would bring it to this version's schema.
    private_folder::create(store.folder())?;
    let scratch = tempfile::tempdir_in(store.folder())?;
    let backup_key = match &manifest {
        Some(manifest) => backup_key(context, manifest, password)?,
        None => None,
    };
    let (database, source) = open_backup(from, backup_key.as_ref(), scratch.path())?;
    let records = assemble::open_backup(&database, &scratch.path().join(BACKUP_DATABASE))?;
    let target = assemble::open_blobs(config, store)?;
    let note = |text: &str| context.info(text);
    let keys = store.key_source(config).existing()?;
    if keys.is_none() {
        context.info("no server key is here: of the contents of files, only the lengths are compared");
    }
    let contents = transfer::Contents { from: &*source, to: &*target, keys: keys.as_ref() };
    let copied = copy_contents(&records, contents, "restored", &note, async |key| Ok(is_absent(key))).await?;
    drop(records);
    assemble::restore(store, ownership, &database, &note)?;
    let absent = manifest.map_or(0, |manifest| manifest.absent.len());
    if absent > 0 {
        context.info(&format!(
            "{absent} file(s) were deleted while the backup was made and have no content: `openapi-server check --repair` \
             removes their records"
        ));
    }
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
    contents: transfer::Contents<'_>,
    done: &str,
    note: &dyn Fn(&str),
    mut dispensable: impl AsyncFnMut(&BlobKey) -> Result<bool, CliError>,
) -> Result<u64, CliError> {
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
