//! Checks that records and contents are consistent.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;

use super::error::MaintainError;
use super::records::{about, deleted_event};
use crate::access::Actor;
use crate::audit::AuditAction;
use crate::platform::Platform;
use crate::ports::BlobKey;
use crate::seal::sealed_bytes;
use crate::storage::retry::RetryOn;
use crate::storage::{Effects, FileBlob, FileDeletion, FileTombstone, StorageErrorKind};
use crate::values::{AgentId, Block, TextValue};

/// A repair sweeps the remains of uploads that nothing has touched for this long.
const UNFINISHED_MILLIS: i64 = 3_600_000;

/// Records that one step reads.
const BATCH: u32 = 500;

/// A disagreement between records and contents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentFault {
    /// The content of a file is not there.
    Missing(BlobKey),
    /// The content of a file has another length than its record says.
    WrongSize {
        /// The file.
        key: BlobKey,
        /// The length in the record.
        expected: u64,
        /// The length that is stored.
        found: u64,
    },
    /// The content of a retained document is missing or truncated.
    LostDocument(BlobKey),
    /// The content of a file does not open, or has another digest than its record says.
    Unreadable {
        /// The file.
        key: BlobKey,
        /// Why.
        why: String,
    },
    /// A content belongs to no file and no document.
    Orphan(BlobKey),
}

impl fmt::Display for ContentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContentFault::Missing(key) => write!(f, "the content of file {key} is missing"),
            ContentFault::WrongSize { key, expected, found } => {
                write!(f, "the content of file {key} has {found} bytes in place of {expected}")
            }
            ContentFault::LostDocument(key) => {
                write!(f, "the content of document {key} is missing or cut off")
            }
            ContentFault::Unreadable { key, why } => {
                write!(f, "the content of file {key} cannot be read: {why}")
            }
            ContentFault::Orphan(key) => write!(f, "the content {key} belongs to no file"),
        }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentCheck {
    /// Files that have a record.
    pub files: u64,
    /// Documents that have a record: those that were sent with `saveToStorage`, and those of visitors.
    pub documents: u64,
    /// The disagreements.
    pub faults: Vec<ContentFault>,
}

impl ContentCheck {
    /// Whether not one content of many files and documents is there: then the wrong store of contents is being looked
    /// at.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        let is_lost =
            |fault: &&ContentFault| matches!(fault, ContentFault::Missing(_) | ContentFault::LostDocument(_));
        let records = self.files + self.documents;
        records > 0 && self.faults.iter().filter(is_lost).count() as u64 == records
    }
}

impl Platform {
    /// Compares all records of files and documents with all contents, by name and length. Takes memory for one entry
    /// for each content. Uploads that are not over may be taken for orphans.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn check_contents(&self) -> Result<ContentCheck, MaintainError> {
        let mut stored: BTreeMap<BlobKey, u64> = BTreeMap::new();
        let mut listing = self.ports.blobs.list().await?;
        while let Some(entry) = poll_fn(|cx| listing.as_mut().poll_next(cx)).await.transpose()? {
            stored.insert(entry.key, entry.size);
        }
        let mut check = ContentCheck::default();
        let mut after: Option<BlobKey> = None;
        loop {
            let needed = self.storage.referenced_blobs(after.as_ref(), BATCH).await?;
            for file in &needed {
                check.files += 1;
                let (key, expected) = (file.key.clone(), file.stored_size());
                match stored.remove(&key) {
                    None => check.faults.push(ContentFault::Missing(key)),
                    Some(found) if found != expected => {
                        check.faults.push(ContentFault::WrongSize { key, expected, found });
                    }
                    Some(_) => {}
                }
            }
            match needed.into_iter().last() {
                Some(last) => after = Some(last.key),
                None => break,
            }
        }
        for agent in self.storage.agents().await? {
            self.check_documents(&agent.id, &mut stored, &mut check).await?;
        }
        let rest: Vec<BlobKey> = stored.into_keys().collect();
        for keys in rest.chunks(BATCH as usize) {
            let known = self.storage.existing_blobs(keys).await?;
            let orphans = keys.iter().zip(known).filter(|(_, known)| !known);
            check.faults.extend(orphans.map(|(key, _)| ContentFault::Orphan(key.clone())));
        }
        if !check.is_elsewhere() {
            check.faults = self.confirmed(check.faults).await?;
        }
        Ok(check)
    }

    /// Without the files and documents whose content was stored or sealed after the contents were listed.
    async fn confirmed(&self, faults: Vec<ContentFault>) -> Result<Vec<ContentFault>, MaintainError> {
        let mut confirmed = Vec::with_capacity(faults.len());
        for fault in faults {
            let is_late = match &fault {
                ContentFault::Missing(key) => self.ports.blobs.size(key).await?.is_some(),
                ContentFault::LostDocument(key) => {
                    let document = self.storage.document(&key.agent, key.file).await?;
                    match document {
                        Some(document) => self.ports.blobs.size(key).await? == Some(document.stored_size),
                        None => true,
                    }
                }
                // It is being sealed, or was sealed since.
                ContentFault::WrongSize { key, .. } => {
                    let file = self.storage.file(&key.agent, key.file).await?;
                    match (file, self.ports.blobs.size(key).await?) {
                        (Some(file), Some(found)) => {
                            found == FileBlob::of(&file).stored_size()
                                || found == sealed_bytes(file.file_size)
                        }
                        (file, _) => file.is_none(),
                    }
                }
                ContentFault::Unreadable { .. } | ContentFault::Orphan(_) => false,
            };
            if !is_late {
                confirmed.push(fault);
            }
        }
        Ok(confirmed)
    }

    async fn check_documents(
        &self,
        agent: &AgentId,
        stored: &mut BTreeMap<BlobKey, u64>,
        check: &mut ContentCheck,
    ) -> Result<(), MaintainError> {
        let mut after = None;
        loop {
            let documents = self.storage.documents(agent, after, BATCH).await?;
            let Some(last) = documents.last() else { return Ok(()) };
            after = Some(last.id);
            for document in &documents {
                check.documents += 1;
                let key = BlobKey::new(agent.clone(), document.id);
                if stored.remove(&key) != Some(document.stored_size) {
                    check.faults.push(ContentFault::LostDocument(key));
                }
            }
        }
    }

    /// Repairs what [`Platform::check_contents`] found: orphans are removed, files whose content is lost or cut off are
    /// deleted, with that reason, and so are the records of such documents. Returns what is left: everything, when not
    /// one content of all files is there, because then it is the store of contents that is wrong and not the files.
    ///
    /// # Errors
    /// When a store fails.
    pub async fn repair_contents(
        &self,
        by: &Actor,
        check: ContentCheck,
    ) -> Result<Vec<ContentFault>, MaintainError> {
        if check.is_elsewhere() {
            return Ok(check.faults);
        }
        // An upload that is under way has written to its file lately.
        self.ports.blobs.sweep_unfinished(self.now().plus_millis(-UNFINISHED_MILLIS)).await?;
        let mut left = Vec::new();
        for fault in check.faults {
            match &fault {
                ContentFault::Orphan(key) => self.ports.blobs.remove(key).await?,
                ContentFault::Unreadable { .. } => left.push(fault),
                ContentFault::LostDocument(key) => {
                    self.storage.discard_document(&key.agent, key.file, self.now()).await?;
                }
                ContentFault::Missing(key) | ContentFault::WrongSize { key, .. } => {
                    if !self.delete_lost(by, key).await? {
                        left.push(fault);
                    }
                }
            }
        }
        Ok(left)
    }

    /// Deletes a file whose content is lost; false if every attempt met a concurrent change.
    async fn delete_lost(&self, by: &Actor, key: &BlobKey) -> Result<bool, MaintainError> {
        let Some(file) = self.storage.file(&key.agent, key.file).await? else { return Ok(true) };
        let contact = crate::contacts::ContactRef::Id(file.contact_id);
        let Some(contact) = self.storage.contact(&key.agent, &contact).await? else { return Ok(true) };
        let now = self.now();
        let reason = "The content was lost";
        let mut details = about(&file);
        details.insert("reason", reason.into());
        let resource = file.id.to_string();
        let deletion = FileDeletion {
            contact: contact.id,
            contact_version: contact.version,
            tombstone: FileTombstone {
                file: file.id,
                at: now,
                by: by.clone(),
                reason: Block::parse(reason).ok(),
            },
            purge_at: now,
            effects: Effects::audited(self.caller_audit(
                &self.operator(by, &key.agent),
                AuditAction::FileDelete,
                resource,
                Some(file.contact_id),
                &details,
                now,
            ))
            .with_event(self.event(by, Some(file.contact_id), deleted_event(&file), now)),
        };
        match self.storage.delete_file(&key.agent, &deletion).await {
            Err(error) if error.kind == StorageErrorKind::Missing => Ok(true),
            outcome => Ok(outcome.retry_on(&[StorageErrorKind::Stale])?.is_some()),
        }
    }
}
