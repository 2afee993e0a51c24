//! Sealing contents that are not sealed, or are sealed with a former server key.

use std::future::poll_fn;

use sha2::{Digest, Sha256};

use super::check::ContentFault;
use super::content::read_content;
use super::error::MaintainError;
use crate::files::Sha256Digest;
use crate::platform::Platform;
use crate::ports::{BlobError, BlobErrorKind, BlobResult, BlobStream};
use crate::seal::SealedWriter;
use crate::storage::FileBlob;

/// Records that one step reads.
const BATCH: u32 = 100;

/// How far [`Platform::seal_contents`] has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealProgress {
    /// Files whose record was looked at.
    pub files: u64,
    /// Contents that were sealed.
    pub sealed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Contents that stay as they are.
    pub faults: Vec<ContentFault>,
}

impl Platform {
    /// Seals the contents of all files with the current server key, where they are not. A content is replaced in one
    /// step after its digest was verified, so this may run while servers do, be ended at any time, and be called again.
    /// `report` is called after each content that was sealed.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn seal_contents(
        &self,
        report: &mut (dyn FnMut(&SealProgress) + Send),
    ) -> Result<SealProgress, MaintainError> {
        let mut progress = SealProgress::default();
        let mut after = None;
        loop {
            let files = self.storage.referenced_blobs(after.as_ref(), BATCH).await?;
            let Some(last) = files.last() else { return Ok(progress) };
            after = Some(last.key.clone());
            for file in &files {
                progress.files += 1;
                if file.server_key.as_deref() == Some(self.ports.server_keys.current_id()) {
                    continue;
                }
                match self.seal_content(file).await? {
                    Ok(true) => {
                        progress.sealed += 1;
                        progress.bytes += file.size;
                        report(&progress);
                    }
                    Ok(false) => {}
                    Err(fault) => progress.faults.push(fault),
                }
            }
        }
    }

    /// Seals one content; false if the file was deleted since.
    async fn seal_content(&self, blob: &FileBlob) -> Result<Result<bool, ContentFault>, MaintainError> {
        let key = &blob.key;
        let Some(file) = self.storage.file(&key.agent, key.file).await? else { return Ok(Ok(false)) };
        let copied = async {
            let former = read_content(self, key, &file, 0..file.file_size).await?;
            let blobs = &*self.ports.blobs;
            let mut writer = SealedWriter::replace(blobs, &self.ports.server_keys, key).await?;
            let digest = copy(former, &mut writer).await?;
            // Dropped, the writer removes what it has written.
            Ok(if digest == file.sha256 { Some(writer.finish().await?) } else { None })
        };
        let content = match copied.await {
            Ok(Some(content)) => content,
            Ok(None) => {
                let why = "its digest differs from its record".to_owned();
                return Ok(Err(ContentFault::Unreadable { key: key.clone(), why }));
            }
            Err(error) => return about(blob, error).map(Err),
        };
        self.storage.mark_sealed(key, &content.server_key).await?;
        let is_there = self.storage.file(&key.agent, key.file).await?.is_some()
            || self.storage.file_tombstone(&key.agent, key.file).await?.is_some();
        if !is_there {
            // Its contact was erased meanwhile, and the former content may be gone already.
            self.ports.blobs.remove(key).await?;
        }
        Ok(Ok(is_there))
    }
}

/// The fault of a content; an error where it is the store that fails.
fn about(blob: &FileBlob, error: BlobError) -> Result<ContentFault, MaintainError> {
    let key = blob.key.clone();
    match (error.kind, error.source) {
        (BlobErrorKind::Missing, _) => Ok(ContentFault::Missing(key)),
        (BlobErrorKind::Internal, Some(why)) if why.is::<crate::seal::SealFault>() => {
            Ok(ContentFault::Unreadable { key, why: why.to_string() })
        }
        (kind, source) => Err(BlobError { kind, source }.into()),
    }
}

async fn copy(mut from: BlobStream, to: &mut SealedWriter) -> BlobResult<Sha256Digest> {
    let mut digest = Sha256::new();
    while let Some(bytes) = poll_fn(|cx| from.as_mut().poll_next(cx)).await.transpose()? {
        digest.update(&bytes);
        to.write(&bytes).await?;
    }
    Ok(Sha256Digest(digest.finalize().into()))
}
