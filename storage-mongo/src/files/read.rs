//! Reading files.

use std::collections::{HashMap, HashSet};

use mongodb::bson::{Document, RawDocument, doc};
use openapi_core::files::ContactFile;
use openapi_core::ports::BlobKey;
use openapi_core::storage::{
    FileBlob, FilePage, FilePosition, FileQuery, FileSort, FileSortKey, FileTombstone, FileUsage, Order,
    Window,
};
use openapi_core::values::{AgentId, ContactId, FileId, Timestamp};
use storage_common::records;

use crate::connect::Handle;
use crate::document::{FieldReader, Fields, binary, integer, key, keyed, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::tenant::{self, TenantState};
use crate::transaction::{DocumentReader, Find};

pub(super) async fn one(handle: &Handle, agent: &AgentId, id: FileId) -> Result<Option<ContactFile>> {
    let mut reads = DocumentReader::new(handle);
    let filter = doc! { "_id": key(agent, id.as_bytes()), "live": true };
    let Some(found) = reads.one(collection::FILES, filter, None).await? else { return Ok(None) };
    let living = tenant::find(&mut reads, agent).await?;
    living.map(|_| records::file(agent, &mut Fields(&found))).transpose()
}

pub(super) async fn tombstone(handle: &Handle, agent: &AgentId, id: FileId) -> Result<Option<FileTombstone>> {
    let mut reads = DocumentReader::new(handle);
    let filter = doc! { "_id": key(agent, id.as_bytes()), "live": false };
    let Some(found) = reads.one(collection::FILES, filter, None).await? else { return Ok(None) };
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(None);
    }
    records::tombstone(id, &mut Fields(&found)).map(Some)
}

/// The filter for the files of a contact.
fn of(agent: &AgentId, contact: ContactId) -> Document {
    doc! { "_id.agent": agent.as_str(), "contact": binary(contact.as_bytes()), "live": true }
}

async fn count(reads: &mut DocumentReader<'_>, agent: &AgentId, contact: ContactId) -> Result<u64> {
    reads.count(collection::FILES, of(agent, contact), Some(index::FILES_BY_CONTACT)).await
}

pub(super) async fn usage(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    tenant: &TenantState,
    contact: ContactId,
) -> Result<FileUsage> {
    Ok(FileUsage {
        files_of_contact: count(reads, agent, contact).await?,
        bytes_of_agent: u64::try_from(tenant.bytes).map_err(corrupt)?,
    })
}

pub(super) async fn page(handle: &Handle, agent: &AgentId, query: &FileQuery) -> Result<FilePage> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(FilePage::default());
    }
    let total = count(&mut reads, agent, query.contact).await?;
    let find = find(agent, query)?;
    if find.limit == 0 {
        return Ok(FilePage { files: Vec::new(), total });
    }
    let found = reads.find(collection::FILES, find).await?;
    let files =
        found.iter().map(|document| records::file(agent, &mut Fields(document))).collect::<Result<_>>()?;
    Ok(FilePage { files, total })
}

/// The find for a page. By name and size the server sorts all files of the contact.
pub(crate) fn find(agent: &AgentId, query: &FileQuery) -> Result<Find> {
    let field = match query.sort {
        FileSort::CreatedAt => "createdAt",
        FileSort::FileName => "nameKey",
        FileSort::FileSize => "size",
    };
    let (direction, beyond) = match query.order {
        Order::Ascending => (1, "$gt"),
        Order::Descending => (-1, "$lt"),
    };
    let mut filter = of(agent, query.contact);
    let (offset, limit) = match &query.window {
        Window::Page { offset, limit } => (*offset, *limit),
        Window::After { position: FilePosition { key, id }, limit } => {
            let key: mongodb::bson::Bson = match key {
                FileSortKey::Time(at) => time(*at).into(),
                FileSortKey::Name(name) => name.as_str().into(),
                FileSortKey::Size(size) => integer(*size)?.into(),
            };
            // The first condition is for the index, the second excludes files with the same key.
            filter.insert(field, doc! { format!("{beyond}e"): key.clone() });
            filter.insert(
                "$or",
                vec![doc! { field: { beyond: key } }, doc! { "_id.id": { beyond: binary(id.as_bytes()) } }],
            );
            (0, *limit)
        }
    };
    Ok(Find {
        filter,
        projection: None,
        sort: Some(doc! { field: direction, "_id.id": direction }),
        skip: offset,
        limit,
        hint: Some(index::FILES_BY_CONTACT),
    })
}

/// For each file whether it exists, is not deleted and belongs to the contact.
pub(crate) async fn of_contact(
    handle: &Handle,
    agent: &AgentId,
    contact: ContactId,
    files: &[FileId],
) -> Result<Vec<bool>> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    if files.is_empty() || tenant::find(&mut reads, agent).await?.is_none() {
        return Ok(vec![false; files.len()]);
    }
    let ids: Vec<Document> = files.iter().map(|file| key(agent, file.as_bytes())).collect();
    let mut filter = keyed(agent, ids);
    filter.extend(doc! { "contact": binary(contact.as_bytes()), "live": true });
    let find =
        Find { filter, projection: Some(doc! { "_id": 1 }), hint: Some(index::BY_KEY), ..Find::default() };
    let found = reads.find(collection::FILES, find).await?;
    let own = found.iter().map(|file| Ok(FileId::from_bytes(Fields(file).id()?)));
    let own: HashSet<FileId> = own.collect::<Result<_>>()?;
    Ok(files.iter().map(|file| own.contains(file)).collect())
}

fn blob_key(document: &RawDocument) -> Result<BlobKey> {
    let fields = Fields(document);
    Ok(BlobKey::new(fields.agent()?, FileId::from_bytes(fields.id()?)))
}

/// The find for contents that are due.
pub(crate) fn due_by(now: Timestamp, at_most: u32) -> Find {
    Find {
        filter: doc! { "dueAt": { "$lte": time(now) } },
        sort: Some(doc! { "dueAt": 1, "_id": 1 }),
        limit: at_most,
        hint: Some(index::PURGES_BY_DUE),
        ..Find::default()
    }
}

pub(super) async fn due(handle: &Handle, now: Timestamp, at_most: u32) -> Result<Vec<BlobKey>> {
    let found = DocumentReader::new(handle).find(collection::BLOB_PURGES, due_by(now, at_most)).await?;
    found.iter().map(|document| blob_key(document)).collect()
}

pub(super) async fn known(handle: &Handle, keys: &[BlobKey]) -> Result<Vec<bool>> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    let ids: Vec<Document> = keys.iter().map(|blob| key(&blob.agent, blob.file.as_bytes())).collect();
    let mut known: HashSet<BlobKey> = HashSet::new();
    for name in [collection::FILES, collection::DOCUMENTS, collection::BLOB_PURGES] {
        let find = Find {
            filter: doc! { "_id": { "$in": ids.clone() } },
            projection: Some(doc! { "_id": 1 }),
            ..Find::default()
        };
        for document in &reads.find(name, find).await? {
            known.insert(blob_key(document)?);
        }
    }
    Ok(keys.iter().map(|key| known.contains(key)).collect())
}

pub(super) async fn needed(handle: &Handle, after: Option<&BlobKey>, at_most: u32) -> Result<Vec<FileBlob>> {
    let mut session = handle.snapshot().await?;
    let mut reads = DocumentReader::in_session(handle, &mut session);
    let mut living: HashMap<AgentId, bool> = HashMap::new();
    let mut last = after.cloned();
    let mut entries: Vec<FileBlob> = Vec::new();
    while entries.len() < at_most as usize {
        let mut filter = doc! { "live": true };
        if let Some(last) = &last {
            filter.insert("_id", doc! { "$gt": key(&last.agent, last.file.as_bytes()) });
        }
        let find = Find {
            filter,
            projection: Some(doc! { "size": 1, "serverKey": 1 }),
            sort: Some(doc! { "_id": 1 }),
            limit: at_most,
            ..Find::default()
        };
        let found = reads.find(collection::FILES, find).await?;
        if found.is_empty() {
            break;
        }
        for document in &found {
            let mut fields = Fields(document);
            let (size, server_key) = (fields.count("size")?, fields.optional_string("serverKey")?);
            let entry = FileBlob { key: blob_key(document)?, size, server_key };
            let agent = &entry.key.agent;
            let is_living = match living.get(agent) {
                Some(is_living) => *is_living,
                None => {
                    let is_living = tenant::find(&mut reads, agent).await?.is_some();
                    living.insert(agent.clone(), is_living);
                    is_living
                }
            };
            last = Some(entry.key.clone());
            if is_living && entries.len() < at_most as usize {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}
