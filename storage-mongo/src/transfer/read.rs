//! Reading records in the order of `_id`, which starts with the tenant. API keys have another `_id`: the few of a tenant are
//! read by an index.

use std::collections::HashMap;

use ::conversations::Passage;
use mongodb::bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use openapi_core::values::{AgentId, KnowledgeId, TemplateId};
use storage_common::transfer::tables;
use storage_common::transfer::{TransferKey, TransferKind, TransferRow};

use crate::chat::conversations;
use crate::chat::knowledge::blocks;
use crate::contacts::row;
use crate::document::{FieldReader, Fields, binary, integer, key, keyed, of_agent, time};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::shapes::{log, records};
use crate::transaction::{DocumentReader, Find};
use crate::{contacts, credits, forms, keys};

/// The find for [`storage_common::transfer::TransferStore::agents_after`].
pub(crate) fn agents_after(after: Option<&AgentId>, at_most: u32) -> Find {
    Find {
        filter: doc! { "_id": { "$gt": after.map_or("", AgentId::as_str) } },
        sort: Some(doc! { "_id": 1 }),
        limit: at_most,
        hint: Some(index::BY_KEY),
        ..Find::default()
    }
}

/// The collection that holds records of a kind.
pub(super) const fn collection_of(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::ContactSchema => collection::CONTACT_SCHEMAS,
        TransferKind::Template => collection::TEMPLATES,
        TransferKind::TemplateVersion => collection::TEMPLATE_VERSIONS,
        TransferKind::Contact => collection::CONTACTS,
        TransferKind::File => collection::FILES,
        TransferKind::Document => collection::DOCUMENTS,
        TransferKind::Purge => collection::BLOB_PURGES,
        TransferKind::Submission => collection::SUBMISSIONS,
        TransferKind::Revision => collection::FORM_DATA_REVISIONS,
        TransferKind::IdempotencyRecord => collection::REPLAYS,
        TransferKind::CreditAccount => collection::CREDIT_ACCOUNTS,
        TransferKind::CreditEntry => collection::CREDIT_ENTRIES,
        TransferKind::Knowledge => collection::KNOWLEDGE,
        TransferKind::Passage => collection::PASSAGES,
        TransferKind::Conversation => collection::CONVERSATIONS,
        TransferKind::Message => collection::MESSAGES,
        TransferKind::Record => collection::RECORDS,
        TransferKind::Log => collection::LOG,
        TransferKind::Job => collection::JOBS,
        TransferKind::Audit => collection::AUDIT,
        TransferKind::Key => collection::API_KEYS,
    }
}

/// The `_id` that a key stands for.
fn id_of(agent: &AgentId, kind: TransferKind, after: &TransferKey) -> Result<Document> {
    let broken = || corrupt("a key of another kind of record");
    Ok(match kind {
        TransferKind::ContactSchema => {
            let version = after.number().ok_or_else(broken)?;
            doc! { "agent": agent.as_str(), "version": integer(version)? }
        }
        TransferKind::TemplateVersion | TransferKind::Revision => {
            let (id, version) = after.version().ok_or_else(broken)?;
            let mut key = key(agent, &id);
            key.insert("version", integer(version)?);
            key
        }
        TransferKind::Passage => {
            let (document, position) = after.version().ok_or_else(broken)?;
            blocks::block_key(agent, &document, position)?
        }
        TransferKind::Message => {
            let (conversation, seq) = after.version().ok_or_else(broken)?;
            conversations::read::message_key(agent, &conversation, seq)?
        }
        TransferKind::Record => {
            let (kind, id) = after.named().ok_or_else(broken)?;
            records::key_of_number(Some(agent), kind, id)?
        }
        TransferKind::Log => log::key_of(agent, after.number().ok_or_else(broken)?)?,
        TransferKind::CreditAccount => credits::account_key(agent),
        TransferKind::CreditEntry | TransferKind::Audit => {
            let (at, id) = after.time().ok_or_else(broken)?;
            doc! { "agent": agent.as_str(), "at": time(at), "id": binary(&id) }
        }
        TransferKind::Template
        | TransferKind::Contact
        | TransferKind::File
        | TransferKind::Document
        | TransferKind::Purge
        | TransferKind::Submission
        | TransferKind::IdempotencyRecord
        | TransferKind::Knowledge
        | TransferKind::Conversation
        | TransferKind::Job
        | TransferKind::Key => key(agent, &after.0),
    })
}

/// The find for the records of a kind after a key; for API keys, all of the tenant, of which there are few.
pub(crate) fn find(
    agent: &AgentId,
    kind: TransferKind,
    after: Option<&TransferKey>,
    at_most: u32,
) -> Result<(&'static str, Find)> {
    let name = collection_of(kind);
    if kind == TransferKind::Key {
        return Ok((name, keys::of_agent(agent)));
    }
    if kind == TransferKind::Passage {
        return Ok((name, blocks::find(agent, after.map(position_of).transpose()?, at_most)?));
    }
    let mut filter = if kind == TransferKind::Contact { contacts::every(agent) } else { of_agent(agent) };
    if let Some(after) = after {
        filter = doc! { "$and": [filter, { "_id": { "$gt": id_of(agent, kind, after)? } }] };
    }
    let projection = (kind == TransferKind::Contact).then(contacts::without_keys);
    let sort = Some(doc! { "_id": 1 });
    Ok((
        name,
        Find { filter, projection, sort, limit: at_most, hint: Some(index::BY_KEY), ..Find::default() },
    ))
}

/// The position of a passage that a key stands for.
fn position_of(key: &TransferKey) -> Result<(KnowledgeId, u32)> {
    let broken = || corrupt("a key of another kind of record");
    let (document, position) = key.version().ok_or_else(broken)?;
    Ok((KnowledgeId::from_bytes(document), u32::try_from(position).map_err(corrupt)?))
}

/// The find for the last record of a kind.
pub(crate) fn find_last(agent: &AgentId, kind: TransferKind) -> Result<(&'static str, Find)> {
    let (name, find) = find(agent, kind, None, 1)?;
    // The last passage is the last in its block.
    let projection = (kind != TransferKind::Passage).then(|| doc! { "_id": 1 });
    let last = Find { projection, sort: Some(doc! { "_id": -1 }), ..find };
    Ok((name, last))
}

/// As [`storage_common::transfer::TransferStore::records`], of an existing tenant.
pub(super) async fn records(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    kind: TransferKind,
    after: Option<&TransferKey>,
    at_most: u32,
) -> Result<Vec<TransferRow>> {
    if kind == TransferKind::Passage {
        let after = after.map(position_of).transpose()?;
        let found = blocks::passages(reads, agent, after, at_most).await?;
        return Ok(found.into_iter().map(passage).collect());
    }
    let (name, find) = find(agent, kind, after, at_most)?;
    let found = reads.find(name, find).await?;
    match kind {
        TransferKind::Key => {
            let mut all =
                found.iter().map(|key| keys::read(key).map(TransferRow::Key)).collect::<Result<Vec<_>>>()?;
            all.retain(|record| after.is_none_or(|after| record.key() > *after));
            all.sort_by_key(TransferRow::key);
            all.truncate(at_most as usize);
            Ok(all)
        }
        TransferKind::Template => templates(reads, agent, found).await,
        TransferKind::TemplateVersion => versions(reads, agent, found).await,
        TransferKind::Submission => {
            let shown = forms::read::shown(reads, agent, &found).await?;
            Ok(shown.into_iter().map(TransferRow::Submission).collect())
        }
        TransferKind::Log => {
            Ok(log::shown(reads, agent, &found).await?.into_iter().map(TransferRow::Log).collect())
        }
        _ => found.iter().map(|document| record(agent, kind, document)).collect(),
    }
}

/// Reads a document that is one record.
fn record(agent: &AgentId, kind: TransferKind, document: &RawDocument) -> Result<TransferRow> {
    match kind {
        TransferKind::Contact => Ok(TransferRow::Contact(row::contact(agent, document)?)),
        TransferKind::Record => Ok(TransferRow::Record(records::read(document)?)),
        _ => tables::record(agent, kind, &mut Fields(document)),
    }
}

fn passage((document, passage): (KnowledgeId, Passage)) -> TransferRow {
    TransferRow::Passage { document, passage }
}

fn template_id(document: &RawDocument) -> Result<TemplateId> {
    Ok(TemplateId::from_bytes(Fields(document).id()?))
}

/// The documents with these keys, by the template that they are of.
async fn by_template(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    name: &str,
    keys: Vec<Document>,
) -> Result<HashMap<TemplateId, RawDocumentBuf>> {
    let find = Find { filter: keyed(agent, keys), hint: Some(index::BY_KEY), ..Find::default() };
    let found = reads.find(name, find).await?;
    found.into_iter().map(|document| Ok((template_id(&document)?, document))).collect()
}

fn there(documents: &HashMap<TemplateId, RawDocumentBuf>, id: TemplateId) -> Result<&RawDocumentBuf> {
    documents.get(&id).ok_or_else(|| corrupt(format_args!("template {id} is incomplete")))
}

async fn templates(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    base: Vec<RawDocumentBuf>,
) -> Result<Vec<TransferRow>> {
    let key = |base: &RawDocumentBuf| {
        let in_force = Fields(base).integer("version")?;
        Ok(forms::templates::content_key(agent, template_id(base)?, in_force))
    };
    let keys = base.iter().map(key).collect::<Result<Vec<_>>>()?;
    let contents = by_template(reads, agent, collection::TEMPLATE_VERSIONS, keys).await?;
    let template = |base: &RawDocumentBuf| {
        let content = there(&contents, template_id(base)?)?;
        Ok(TransferRow::Template(forms::templates::template(agent, base, content)?))
    };
    base.iter().map(template).collect()
}

async fn versions(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    contents: Vec<RawDocumentBuf>,
) -> Result<Vec<TransferRow>> {
    let mut ids = contents.iter().map(|content| template_id(content)).collect::<Result<Vec<_>>>()?;
    ids.dedup();
    let keys = ids.iter().map(|id| key(agent, id.as_bytes())).collect();
    let base = by_template(reads, agent, collection::TEMPLATES, keys).await?;
    let template = |content: &RawDocumentBuf| {
        let base = there(&base, template_id(content)?)?;
        Ok(TransferRow::TemplateVersion(forms::templates::template(agent, base, content)?))
    };
    contents.iter().map(template).collect()
}

/// As [`storage_common::transfer::TransferStore::last_record`], of an existing tenant.
pub(super) async fn last(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    kind: TransferKind,
) -> Result<Option<TransferKey>> {
    if kind == TransferKind::Key {
        let keys = records(reads, agent, kind, None, u32::MAX).await?;
        return Ok(keys.last().map(TransferRow::key));
    }
    let (name, find) = find_last(agent, kind)?;
    let found = reads.find(name, find).await?;
    let Some(last) = found.first() else { return Ok(None) };
    let mut id = Fields(last).within("_id")?;
    Ok(Some(match kind {
        TransferKind::ContactSchema => TransferKey::of_number(id.count("version")?),
        TransferKind::TemplateVersion | TransferKind::Revision => {
            TransferKey::of_version(&id.bytes("id")?, id.count("version")?)
        }
        TransferKind::Passage => {
            let (document, mut passages) = blocks::unpack(last)?;
            let last = passages.pop().ok_or_else(|| corrupt("a block has no passage"))?;
            passage((document, last)).key()
        }
        TransferKind::Message => TransferKey::of_version(&id.bytes("id")?, id.count("seq")?),
        TransferKind::Record => TransferKey::of_named(id.count("kind")?, &records::id_bytes(id.str("id")?)?),
        TransferKind::Log => TransferKey::of_number(id.count("seq")?),
        TransferKind::CreditAccount => TransferKey::of_number(0),
        TransferKind::CreditEntry | TransferKind::Audit => {
            TransferKey::of_time(id.time("at")?, &id.bytes("id")?)
        }
        TransferKind::IdempotencyRecord => TransferKey(id.bytes::<32>("id")?.to_vec()),
        _ => TransferKey(id.bytes::<12>("id")?.to_vec()),
    }))
}

/// The filter for the stored documents that contain any of the records.
pub(super) fn stored(
    agent: &AgentId,
    kind: TransferKind,
    records: &[TransferRow],
) -> Result<(&'static str, Find)> {
    let ids = records.iter().map(|record| id_of(agent, kind, &record.key())).collect::<Result<Vec<_>>>()?;
    let ids: Vec<Bson> = ids.into_iter().map(Bson::Document).collect();
    let filter = doc! { "_id": { "$in": ids }, "_id.agent": agent.as_str() };
    let projection = Some(doc! { "_id": 1 });
    Ok((
        collection_of(kind),
        Find { filter, projection, limit: 1, hint: Some(index::BY_KEY), ..Find::default() },
    ))
}
