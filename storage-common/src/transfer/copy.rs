//! Copying tenants with all their data from one store to another, and proving that both stores then hold the same.
//!
//! Nothing may write to either store during a copy. An interrupted copy resumes where it ended: call it again. A tenant
//! is disabled in the target until its last record is stored, and its API keys are copied last, so no request is served
//! from half a copy.

use std::fmt;
use std::future::poll_fn;

use openapi_core::agents::{Agent, AgentStatus};
use openapi_core::files::{ContactFile, Sha256Digest};
use openapi_core::ports::{BlobError, BlobErrorKind, BlobKey, BlobResult, BlobStore, BlobStream, BlobWriter};
use openapi_core::seal::{SealFault, Unsealer, sealed_bytes};
use openapi_core::server_keys::ServerKeys;
use openapi_core::storage::{ChainQuery, FileBlob, StorageError, StorageErrorKind, StoredDocument};
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
    /// The target store has other entries of the audit log without a tenant.
    #[error(
        "the target store has entries of the audit log without an agent that the source store does not have; nothing may \
         write to the stores during a copy, and the target store must not have been in use: copy to an empty store, or \
         single agents"
    )]
    OtherChain,
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
    /// A sealed content was changed.
    #[error("the content of file {key} is damaged: {fault}")]
    Sealed {
        /// The content.
        key: BlobKey,
        /// Why it does not open.
        fault: SealFault,
    },
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
    /// The server keys. Sealed contents are copied as they are; with their key they are opened too, and compared with
    /// the digest in their record.
    pub keys: Option<&'a ServerKeys>,
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

/// Copies the entries of the audit log without a tenant, which are a chain of their own; returns how many this call
/// stored. The target may have more of them, after those of the source.
///
/// # Errors
/// [`CopyError::OtherChain`], or when a store fails. Copied entries stay, and another call resumes after them.
pub async fn copy_chain_without_agent(
    from: &dyn TransferStore,
    to: &dyn TransferStore,
    progress: &mut (dyn FnMut(Step) + Send),
) -> Result<u64, CopyError> {
    let mut copied = 0;
    // The second pass compares what the target has stored.
    for is_comparing in [false, true] {
        let mut query = ChainQuery { chain: None, after: None, limit: TransferKind::Audit.batch() };
        loop {
            let source = from.audit_chain(&query).await.map_err(CopyError::From)?;
            let Some(last) = source.last() else { break };
            let target = to.audit_chain(&query).await.map_err(CopyError::To)?;
            query.after = Some((last.sequence(), last.at, last.id));
            let (known, new) = source.split_at(target.len().min(source.len()));
            if !target.starts_with(known) || (is_comparing && !new.is_empty()) {
                return Err(CopyError::OtherChain);
            }
            if !new.is_empty() {
                to.put_chain_without_agent(new).await.map_err(|error| match error.kind {
                    StorageErrorKind::AlreadyExists => CopyError::OtherChain,
                    _ => CopyError::To(error),
                })?;
                copied += new.len() as u64;
                progress(Step::Records(TransferKind::Audit, new.len() as u64));
            }
        }
    }
    Ok(copied)
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
/// [`CopyError::Missing`], [`CopyError::Broken`], [`CopyError::Sealed`], [`CopyError::Content`].
pub async fn copy_content(contents: Contents<'_>, file: &ContactFile) -> Result<Option<u64>, CopyError> {
    Content::of_file(file).copy(contents).await
}

/// Copies the retained content of a document, unless the target has it; returns the number of copied bytes.
///
/// # Errors
/// [`CopyError::Missing`], [`CopyError::Broken`], [`CopyError::Sealed`], [`CopyError::Content`].
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
    /// Its bytes before it was sealed.
    size: u64,
    stored_size: u64,
    sha256: Sha256Digest,
    form: Form,
}

/// How a content is stored.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Sealed,
    /// A document of a former release may be sealed in a form that only the platform opens.
    Document,
}

impl Content {
    fn of_file(file: &ContactFile) -> Self {
        let blob = FileBlob::of(file);
        Content {
            stored_size: blob.stored_size(),
            key: blob.key,
            size: file.file_size,
            sha256: file.sha256,
            form: if file.server_key.is_some() { Form::Sealed } else { Form::Plain },
        }
    }

    fn of_document(agent: &AgentId, document: &StoredDocument) -> Self {
        Content {
            key: BlobKey::new(agent.clone(), document.id),
            size: document.file_size,
            stored_size: document.stored_size,
            sha256: document.sha256,
            form: Form::Document,
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

    async fn copy(mut self, contents: Contents<'_>) -> Result<Option<u64>, CopyError> {
        match self.try_copy(contents).await {
            // A server seals contents while they are copied.
            Err(CopyError::Broken(_) | CopyError::Missing(_)) if self.form == Form::Plain => {
                self.stored_size = sealed_bytes(self.size);
                let is_sealed = self.failed(contents.from.size(&self.key).await)? == Some(self.stored_size);
                if !is_sealed {
                    self.stored_size = self.size;
                    return self.try_copy(contents).await;
                }
                self.form = Form::Sealed;
                self.try_copy(contents).await
            }
            copied => copied,
        }
    }

    async fn try_copy(&self, contents: Contents<'_>) -> Result<Option<u64>, CopyError> {
        let Contents { from, to, keys } = contents;
        let Content { key, stored_size, .. } = self;
        if self.failed(to.size(key).await)? == Some(*stored_size) {
            let there = self.failed(to.read(key, 0..*stored_size).await)?;
            if self.verify(there, keys, None).await.is_ok() {
                return Ok(None);
            }
        }
        self.failed(to.remove(key).await)?;
        let content = match from.read(key, 0..*stored_size).await {
            Err(error) if error.kind == BlobErrorKind::Missing => {
                return Err(CopyError::Missing(key.clone()));
            }
            read => self.failed(read)?,
        };
        let mut writer = self.failed(to.create(key).await)?;
        // Dropping the writer removes its bytes.
        self.verify(content, keys, Some(&mut *writer)).await?;
        self.failed(writer.finish().await)?;
        Ok(Some(*stored_size))
    }

    fn failed<T>(&self, result: BlobResult<T>) -> Result<T, CopyError> {
        result.map_err(|source| CopyError::Content { key: self.key.clone(), source })
    }

    /// Compares a content with its record, as far as the keys allow, and passes it to a writer.
    async fn verify(
        &self,
        mut bytes: BlobStream,
        keys: Option<&ServerKeys>,
        mut writer: Option<&mut dyn BlobWriter>,
    ) -> Result<(), CopyError> {
        let damaged = |fault| CopyError::Sealed { key: self.key.clone(), fault };
        let mut digest = Some(Sha256::new());
        let mut unsealer = match (self.form, keys) {
            (Form::Plain, _) => None,
            (_, Some(keys)) => Some(Unsealer::new(keys, &self.key, self.size).map_err(damaged)?),
            (_, None) => {
                digest = None;
                None
            }
        };
        while let Some(chunk) = self.failed(poll_fn(|cx| bytes.as_mut().poll_next(cx)).await.transpose())? {
            if let Some(hash) = &mut digest {
                match unsealer.as_mut().map(|unsealer| unsealer.push(&chunk)) {
                    None => hash.update(&chunk),
                    Some(Ok(opened)) => hash.update(&opened),
                    // Nobody can open it, or only the platform.
                    Some(Err(SealFault::KeyGone(_))) => digest = None,
                    Some(Err(SealFault::Unsealed)) if self.form == Form::Document => digest = None,
                    Some(Err(fault)) => return Err(damaged(fault)),
                }
            }
            if let Some(writer) = writer.as_deref_mut() {
                self.failed(writer.write(chunk).await)?;
            }
        }
        let Some(digest) = digest else { return Ok(()) };
        unsealer.map_or(Ok(()), Unsealer::finish).map_err(damaged)?;
        if Sha256Digest(digest.finalize().into()) == self.sha256 {
            return Ok(());
        }
        Err(CopyError::Broken(self.key.clone()))
    }
}
