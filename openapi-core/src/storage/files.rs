//! What is stored about files, how they are listed, and their quotas.

use std::collections::BTreeMap;

use crate::access::Actor;
use crate::contacts::Contact;
use crate::files::ContactFile;
use crate::ports::BlobKey;
use crate::seal::sealed_bytes;
use crate::values::{Block, ContactId, FileId, Timestamp};

use super::{Effects, Order, Window};

/// A new file, with everything that goes into the same transaction. Its content is in the blob store already.
#[derive(Clone, Debug, PartialEq)]
pub struct FileWrite {
    /// The record.
    pub file: ContactFile,
    /// What its name sorts by.
    pub name_key: String,
    /// The version of the contact that the caller has seen, unarchived.
    pub contact_version: u64,
    /// What may not be exceeded.
    pub quota: FileQuota,
    /// When this is written.
    pub at: Timestamp,
    /// What else is written.
    pub effects: Effects,
}

impl FileWrite {
    /// A new file of a contact, written at its creation.
    #[must_use]
    pub fn new(file: ContactFile, contact: &Contact, quota: FileQuota, effects: Effects) -> Self {
        let (name_key, at) = (file.file_name.sort_key(), file.created_at);
        FileWrite { file, name_key, contact_version: contact.version, quota, at, effects }
    }
}

/// The content of a file, as its record describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBlob {
    /// Its key.
    pub key: BlobKey,
    /// Its bytes before it was sealed.
    pub size: u64,
    /// The id of the server key that it is sealed with, if it is.
    pub server_key: Option<String>,
}

impl FileBlob {
    /// The content of a file.
    #[must_use]
    pub fn of(file: &ContactFile) -> Self {
        let key = BlobKey::new(file.agent_id.clone(), file.id);
        FileBlob { key, size: file.file_size, server_key: file.server_key.clone() }
    }

    /// What the blob store holds, in bytes.
    #[must_use]
    pub fn stored_size(&self) -> u64 {
        if self.server_key.is_some() { sealed_bytes(self.size) } else { self.size }
    }
}

/// What is stored under each server key, by the key's id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerKeyUses {
    /// Files, deleted ones included, whose content is sealed with the key.
    pub files: BTreeMap<String, u64>,
    /// Files, deleted ones included, whose content is not sealed.
    pub unsealed_files: u64,
    /// Audit entries that the key authenticates.
    pub audit_entries: BTreeMap<String, u64>,
}

/// How much may be stored. Deleted files do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileQuota {
    /// Files of one contact.
    pub files_of_contact: u64,
    /// Bytes of all files of one agent; none is no bound.
    pub bytes_of_agent: Option<u64>,
}

/// How much is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileUsage {
    /// Files of one contact.
    pub files_of_contact: u64,
    /// Bytes of all files of one agent.
    pub bytes_of_agent: u64,
}

/// What a file more would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaExcess {
    /// What is counted.
    pub unit: QuotaUnit,
    /// The bound.
    pub limit: u64,
    /// What it would come to.
    pub actual: u64,
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaUnit {
    /// Files of the contact.
    Files,
    /// Bytes of the agent.
    Bytes,
    /// Unfinished jobs of the agent.
    Jobs,
}

impl QuotaUnit {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            QuotaUnit::Files => "files",
            QuotaUnit::Bytes => "bytes",
            QuotaUnit::Jobs => "jobs",
        }
    }
}

impl FileQuota {
    /// Whether a file of this many bytes may be added: the definition that backends follow.
    ///
    /// # Errors
    /// What it would exceed; the number of files before the bytes.
    pub fn admit(&self, usage: FileUsage, bytes: u64) -> Result<(), QuotaExcess> {
        let files = usage.files_of_contact.saturating_add(1);
        if files > self.files_of_contact {
            return Err(QuotaExcess { unit: QuotaUnit::Files, limit: self.files_of_contact, actual: files });
        }
        let bytes = usage.bytes_of_agent.saturating_add(bytes);
        match self.bytes_of_agent {
            Some(limit) if bytes > limit => Err(QuotaExcess { unit: QuotaUnit::Bytes, limit, actual: bytes }),
            _ => Ok(()),
        }
    }
}

/// The deletion of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileDeletion {
    /// Its contact.
    pub contact: ContactId,
    /// The version of the contact that the caller has seen, unarchived.
    pub contact_version: u64,
    /// The file and the record of its deletion.
    pub tombstone: FileTombstone,
    /// When its content may be removed; until then an operator can bring it back from the blob store.
    pub purge_at: Timestamp,
    /// What else is written.
    pub effects: Effects,
}

/// The record of a deleted file until its content is removed.
#[derive(Clone, Debug, PartialEq)]
pub struct FileTombstone {
    /// The file.
    pub file: FileId,
    /// When it was deleted.
    pub at: Timestamp,
    /// Who did it.
    pub by: Actor,
    /// Why.
    pub reason: Option<Block<500>>,
}

/// A list of the files of a contact.
#[derive(Clone, Debug, PartialEq)]
pub struct FileQuery {
    /// The contact.
    pub contact: ContactId,
    /// What they are sorted by. Ties are sorted by id in the same direction.
    pub sort: FileSort,
    /// The direction.
    pub order: Order,
    /// Which part of them.
    pub window: Window<FilePosition>,
}

/// What files are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FileSort {
    /// `createdAt`
    #[default]
    CreatedAt,
    /// `fileName`
    FileName,
    /// `fileSize`
    FileSize,
}

impl FileSort {
    /// Every sort.
    pub const ALL: [FileSort; 3] = [FileSort::CreatedAt, FileSort::FileName, FileSort::FileSize];

    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FileSort::CreatedAt => "createdAt",
            FileSort::FileName => "fileName",
            FileSort::FileSize => "fileSize",
        }
    }

    /// The position of a file under this sort.
    #[must_use]
    pub fn position(self, file: &ContactFile) -> FilePosition {
        let key = match self {
            FileSort::CreatedAt => FileSortKey::Time(file.created_at),
            FileSort::FileName => FileSortKey::Name(file.file_name.sort_key()),
            FileSort::FileSize => FileSortKey::Size(file.file_size),
        };
        FilePosition { key, id: file.id }
    }
}

/// A position in a sorted list of files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    /// The key of the file at that position.
    pub key: FileSortKey,
    /// Its id.
    pub id: FileId,
}

/// A sort key of files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileSortKey {
    /// Of the sort by time.
    Time(Timestamp),
    /// Of the sort by name.
    Name(String),
    /// Of the sort by size.
    Size(u64),
}

impl FilePosition {
    /// The order of two positions of one list.
    #[must_use]
    pub fn compare(&self, other: &FilePosition, order: Order) -> std::cmp::Ordering {
        match order {
            Order::Ascending => self.cmp(other),
            Order::Descending => other.cmp(self),
        }
    }
}

/// A page of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilePage {
    /// The files of the window, in order.
    pub files: Vec<ContactFile>,
    /// How many files the contact has.
    pub total: u64,
}
