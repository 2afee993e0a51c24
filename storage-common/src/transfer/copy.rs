//! Copying tenants with all their data from one store to another, and proving that both stores then hold the same.
//!
//! Nothing may write to either store during a copy. An interrupted copy resumes where it ended: call it again. A tenant
//! is disabled in the target until its last record is stored, and its API keys are copied last, so no request is served
//! from half a copy.

use std::fmt;
use std::future::poll_fn;

use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::files::{ContactFile, FileName, Sha256Digest};
use openapi_core::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobStore, BlobStream, BlobWriter};
use openapi_core::storage::{StorageError, StorageErrorKind, StoredDocument};
use openapi_core::values::AgentId;
use sha2::{Digest, Sha256};

use super::rows::{TransferKind, TransferRow, TransferStore};

/// What a tenant has in a store: for each kind the number of records, and a SHA-256 over all of them in the order of
/// their keys. Equal for stores with equal content, whatever their engine. Do not compare values of different releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentDigest(Vec<(TransferKind, u64, [u8; 32])>);

impl AgentDigest {
    /// How many records the tenant has.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.0.iter().map(|(_, count, _)| count).sum()
    }

    /// How many records of a kind the tenant has.
    #[must_use]
    pub fn count(&self, kind: TransferKind) -> u64 {
        self.0.iter().find(|(known, ..)| *known == kind).map_or(0, |(_, count, _)| *count)
    }

    /// The kinds that differ.
    #[must_use]
    pub fn differences(&self, other: &AgentDigest) -> Vec<TransferKind> {
        let both = self.0.iter().zip(&other.0);
        both.filter(|(a, b)| a != b).map(|((kind, ..), _)| *kind).collect()
    }
}

impl fmt::Display for AgentDigest {
    /// One digest over the digests of all kinds, as 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = Sha256::new();
        for (_, count, digest) in &self.0 {
            all.update(count.to_be_bytes());
            all.update(digest);
        }
        write!(f, "{}", Sha256Digest(all.finalize().into()))
    }
}

/// The result of copying a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// How many records this call stored; fewer than the tenant has if the call resumed a copy.
    pub records: u64,
    /// What both stores now hold.
    pub digest: AgentDigest,
}

/// The progress of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A number of records of a kind were stored.
    Records(TransferKind, u64),
    /// The content of a file or document was copied; its size in bytes.
    Content(u64),
    /// Both stores are being compared.
    Comparing,
}

/// Why a tenant was not copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The source store failed.
    #[error("the source store failed: {0}")]
    From(#[source] StorageError),
    /// The target store failed.
    #[error("the target store failed: {0}")]
    To(#[source] StorageError),
    /// The target store holds something else.
    #[error(
        "agent {agent}: the stores hold different {kinds}; nothing may write to them during a copy, and the agent must \
         not have been in the target store before"
    )]
    Different {
        /// The tenant.
        agent: AgentId,
        /// The differences, for humans.
        kinds: String,
    },
    /// Contents of files could not be read or written.
    #[error("the content of file {key}: {source}")]
    Content {
        /// The content.
        key: BlobKey,
        /// The cause.
        source: BlobError,
    },
    /// A content is missing or incomplete.
    #[error("the content of file {0} is missing or incomplete; `check` lists all errors")]
    Missing(BlobKey),
    /// A content differs from its record.
    #[error("the content of file {0} is damaged: its digest differs from its record")]
    Broken(BlobKey),
}

/// What a tenant has in a store.
///
/// # Errors
/// When the store fails.
pub async fn digest(store: &dyn TransferStore, agent: &AgentId) -> Result<AgentDigest, StorageError> {
    let mut kinds = Vec::with_capacity(TransferKind::ALL.len());
    for kind in TransferKind::ALL {
        let (mut hash, mut count, mut after) = (Sha256::new(), 0_u64, None);
        loop {
            let records = store.records(agent, kind, after.as_ref(), kind.batch()).await?;
            let Some(last) = records.last() else { break };
            after = Some(last.key());
            for record in &records {
                let bytes = record
                    .canonical()
                    .map_err(|error| StorageError::new(StorageErrorKind::Internal, error))?;
                hash.update((bytes.len() as u64).to_be_bytes());
                hash.update(&bytes);
                count += 1;
            }
        }
        kinds.push((kind, count, hash.finalize().into()));
    }
    Ok(AgentDigest(kinds))
}

/// The blob stores of the contents of files.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    /// The source.
    pub from: &'a dyn BlobStore,
    /// The target.
    pub to: &'a dyn BlobStore,
}

/// Copies a tenant. Without `contents` the contents of its files stay where they are, and both stores share them.
///
/// # Errors
/// [`CopyError`]. Copied records stay, and another call resumes after them.
pub async fn copy_agent(
    from: &dyn TransferStore,
    to: &dyn TransferStore,
    agent: &Agent,
    contents: Option<Contents<'_>>,
    progress: &mut (dyn FnMut(Step) + Send),
) -> Result<Copied, CopyError> {
    let id = &agent.id;
    let known = to.agent(id).await.map_err(CopyError::To)?;
    if known.as_ref() != Some(agent) {
        to.put_agent(&Agent { status: AgentStatus::Disabled, ..agent.clone() })
            .await
            .map_err(CopyError::To)?;
    }
    let mut copied = 0;
    for kind in TransferKind::ALL {
        if let (TransferKind::Key, Some(contents)) = (kind, contents) {
            copy_contents(from, id, contents, progress).await?;
        }
        copied += copy_kind(from, to, id, kind, progress).await?;
    }
    progress(Step::Comparing);
    let digest = compare(from, to, id).await?;
    if known.as_ref() != Some(agent) {
        to.put_agent(agent).await.map_err(CopyError::To)?;
    }
    Ok(Copied { records: copied, digest })
}

async fn copy_kind(
    from: &dyn TransferStore,
    to: &dyn TransferStore,
    agent: &AgentId,
    kind: TransferKind,
    progress: &mut (dyn FnMut(Step) + Send),
) -> Result<u64, CopyError> {
    let mut after = to.last_record(agent, kind).await.map_err(CopyError::To)?;
    let mut copied = 0;
    loop {
        let records =
            from.records(agent, kind, after.as_ref(), kind.batch()).await.map_err(CopyError::From)?;
        let Some(last) = records.last() else { return Ok(copied) };
        after = Some(last.key());
        to.put_records(agent, &records).await.map_err(|error| match error.kind {
            StorageErrorKind::AlreadyExists | StorageErrorKind::Duplicate(_) => {
                CopyError::Different { agent: agent.clone(), kinds: kind.to_string() }
            }
            _ => CopyError::To(error),
        })?;
        copied += records.len() as u64;
        progress(Step::Records(kind, records.len() as u64));
    }
}

/// Compares what two stores hold of a tenant.
///
/// # Errors
/// [`CopyError::Different`], or when a store fails.
pub async fn compare(
    from: &dyn TransferStore,
    to: &dyn TransferStore,
    agent: &AgentId,
) -> Result<AgentDigest, CopyError> {
    let source = digest(from, agent).await.map_err(CopyError::From)?;
    let target = digest(to, agent).await.map_err(CopyError::To)?;
    let kinds = source.differences(&target);
    if kinds.is_empty() {
        return Ok(target);
    }
    let describe =
        |kind: &TransferKind| format!("{kind} ({} and {})", source.count(*kind), target.count(*kind));
    let kinds = kinds.iter().map(describe).collect::<Vec<_>>().join(", ");
    Err(CopyError::Different { agent: agent.clone(), kinds })
}

async fn copy_contents(
    store: &dyn TransferStore,
    agent: &AgentId,
    contents: Contents<'_>,
    progress: &mut (dyn FnMut(Step) + Send),
) -> Result<(), CopyError> {
    for kind in [TransferKind::File, TransferKind::Document] {
        let mut after = None;
        loop {
            let records =
                store.records(agent, kind, after.as_ref(), kind.batch()).await.map_err(CopyError::From)?;
            let Some(last) = records.last() else { break };
            after = Some(last.key());
            for record in &records {
                let Some(content) = Content::of(agent, record) else { continue };
                if let Some(bytes) = content.copy(contents).await? {
                    progress(Step::Content(bytes));
                }
            }
        }
    }
    Ok(())
}

/// Copies the content of a file, unless the target has it with the digest of its record; returns the number of copied
/// bytes.
///
/// # Errors
/// [`CopyError::Missing`], [`CopyError::Broken`], [`CopyError::Content`].
pub async fn copy_content(contents: Contents<'_>, file: &ContactFile) -> Result<Option<u64>, CopyError> {
    Content::of_file(file).copy(contents).await
}

/// Copies the retained content of a document, unless the target has as many bytes; returns the number of copied bytes.
///
/// # Errors
/// [`CopyError::Missing`], [`CopyError::Content`].
pub async fn copy_document(
    contents: Contents<'_>,
    agent: &AgentId,
    document: &StoredDocument,
) -> Result<Option<u64>, CopyError> {
    Content::of_document(agent, document).copy(contents).await
}

/// A content that a record needs.
struct Content {
    key: BlobKey,
    name: FileName,
    bytes: u64,
    /// `None` for an encrypted content, whose own tag proves that it is complete.
    sha256: Option<Sha256Digest>,
}

impl Content {
    fn of_file(file: &ContactFile) -> Self {
        Content {
            key: BlobKey::new(file.agent_id.clone(), file.id),
            name: file.file_name.clone(),
            bytes: file.file_size,
            sha256: Some(file.sha256),
        }
    }

    fn of_document(agent: &AgentId, document: &StoredDocument) -> Self {
        Content {
            key: BlobKey::new(agent.clone(), document.id),
            name: FileName::of_sent(None, "bin"),
            bytes: document.stored_size,
            sha256: None,
        }
    }

    /// Deleted contents are about to be removed, so only the tombstone is copied.
    fn of(agent: &AgentId, record: &TransferRow) -> Option<Self> {
        match record {
            TransferRow::File { file, tombstone: None } => Some(Content::of_file(file)),
            TransferRow::Document(document) => Some(Content::of_document(agent, document)),
            _ => None,
        }
    }

    async fn copy(&self, contents: Contents<'_>) -> Result<Option<u64>, CopyError> {
        let Contents { from, to } = contents;
        let Content { key, name, bytes, sha256 } = self;
        let failed = |source: BlobError| CopyError::Content { key: key.clone(), source };
        if to.size(key).await.map_err(failed)? == Some(*bytes) {
            let Some(sha256) = sha256 else { return Ok(None) };
            let there = to.read(key, 0..*bytes).await.map_err(failed)?;
            if hash(there, None).await.map_err(failed)? == *sha256 {
                return Ok(None);
            }
        }
        to.remove(key).await.map_err(failed)?;
        let content = match from.read(key, 0..*bytes).await {
            Err(error) if error.kind == BlobErrorKind::Missing => {
                return Err(CopyError::Missing(key.clone()));
            }
            read => read.map_err(failed)?,
        };
        let mut writer = to.create(key, name).await.map_err(failed)?;
        let digest = hash(content, Some(&mut *writer)).await.map_err(failed)?;
        // Dropping the writer removes its bytes.
        if sha256.is_some_and(|sha256| sha256 != digest) {
            return Err(CopyError::Broken(key.clone()));
        }
        writer.finish().await.map_err(failed)?;
        Ok(Some(*bytes))
    }
}

/// The digest of a content, which is also passed to a writer.
async fn hash(mut bytes: BlobStream, mut writer: Option<&mut dyn BlobWriter>) -> BlobResult<Sha256Digest> {
    let mut digest = Sha256::new();
    while let Some(chunk) = poll_fn(|cx| bytes.as_mut().poll_next(cx)).await.transpose()? {
        digest.update(&chunk);
        if let Some(writer) = writer.as_deref_mut() {
            writer.write(chunk).await?;
        }
    }
    Ok(Sha256Digest(digest.finalize().into()))
}
