//! Passages in blocks: those of some places in a row of a document, as one compressed document of the database.
//!
//! A document may have 50,000 passages of 5,000,000 characters together, and comes as a whole or not at all. As so many
//! documents of the database, with their entries in the index and in the oplog, they were more than a transaction may
//! leave unwritten: 15 % of the server's cache, 38 MiB of the smallest one (`TransactionTooLargeForCache`). As
//! compressed blocks of 128 passages they are a few hundred documents, small also where headings repeat, and take a
//! small part of the 60 s that a transaction may last. Commands stay under the 16 MiB that the server takes
//! ([`Transaction::insert`]). A test stores the largest document, of text that compresses badly, with the smallest
//! cache.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use ::conversations::Passage;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::{AgentId, KnowledgeId};

use crate::document::{Fields, Value, bytes, integer, key, keyed, of_agent};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::transaction::{Find, Reads, Transaction, Update};

/// How many places a block has.
pub(crate) const PLACES: u32 = 128;

/// How many blocks are read beyond those that would be full: short documents have one each.
const SHORT: u32 = 16;

/// The `_id` of the block with a place of a document.
pub(crate) fn block_key(agent: &AgentId, document: &[u8; 12], position: u64) -> Result<Document> {
    let mut id = key(agent, document);
    id.insert("position", integer(position / u64::from(PLACES) * u64::from(PLACES))?);
    Ok(id)
}

/// The block of some passages of a document, each at another of its places.
fn pack<'p>(
    agent: &AgentId,
    document: KnowledgeId,
    position: u32,
    passages: impl Iterator<Item = &'p Passage>,
) -> Result<Document> {
    let passages: Vec<&Passage> = passages.collect();
    let text = serde_json::to_vec(&passages).map_err(corrupt)?;
    let mut packed = DeflateEncoder::new(Vec::with_capacity(text.len() / 3), Compression::fast());
    packed.write_all(&text).map_err(corrupt)?;
    let packed = packed.finish().map_err(corrupt)?;
    let id = block_key(agent, document.as_bytes(), u64::from(position))?;
    Ok(doc! { "_id": id, "passages": bytes(&packed) })
}

/// The passages of a block, by their places.
pub(crate) fn unpack(block: &RawDocument) -> Result<(KnowledgeId, Vec<Passage>)> {
    let fields = Fields(block);
    let packed = fields.value("passages")?;
    let packed = packed.as_binary().ok_or_else(|| packed.wrong("bytes"))?;
    let mut text = Vec::new();
    DeflateDecoder::new(packed.bytes).read_to_end(&mut text).map_err(corrupt)?;
    Ok((KnowledgeId::from_bytes(fields.id()?), serde_json::from_slice(&text).map_err(corrupt)?))
}

/// The blocks of a document. Others go on between two of them.
pub(super) async fn pack_all(
    agent: &AgentId,
    document: KnowledgeId,
    passages: &[Passage],
) -> Result<Vec<Document>> {
    let mut blocks: BTreeMap<u32, BTreeMap<u32, &Passage>> = BTreeMap::new();
    for passage in passages {
        // Of two at one place the later one stands.
        blocks.entry(passage.position / PLACES).or_default().insert(passage.position, passage);
    }
    let mut packed = Vec::with_capacity(blocks.len());
    for (block, placed) in blocks {
        packed.push(pack(agent, document, block * PLACES, placed.into_values())?);
        tokio::task::yield_now().await;
    }
    Ok(packed)
}

/// What some blocks ask the database for: from the one with the place `after` on.
pub(crate) fn find(agent: &AgentId, after: Option<(KnowledgeId, u32)>, at_most: u32) -> Result<Find> {
    let from =
        |(document, position): (KnowledgeId, u32)| block_key(agent, document.as_bytes(), u64::from(position));
    let filter = match after.map(from).transpose()? {
        Some(from) => doc! { "$and": [of_agent(agent), { "_id": { "$gte": from } }] },
        None => of_agent(agent),
    };
    Ok(Find {
        filter,
        sort: Some(doc! { "_id": 1 }),
        limit: at_most,
        hint: Some(index::BY_KEY),
        ..Find::default()
    })
}

/// As [`conversations::storage::KnowledgeStore::passages`], of an agent that is there.
pub(crate) async fn passages(
    reads: &mut Reads<'_>,
    agent: &AgentId,
    after: Option<(KnowledgeId, u32)>,
    at_most: u32,
) -> Result<Vec<(KnowledgeId, Passage)>> {
    let mut found = Vec::new();
    let mut after = after;
    while found.len() < at_most as usize {
        let left = at_most - u32::try_from(found.len()).unwrap_or(at_most);
        let blocks = reads.find(collection::PASSAGES, find(agent, after, left / PLACES + SHORT)?).await?;
        let before = after;
        for block in &blocks {
            let (document, passages) = unpack(block)?;
            let behind = passages.into_iter().map(|passage| (document, passage));
            found.extend(behind.filter(|(document, passage)| {
                before.is_none_or(|before| (*document, passage.position) > before)
            }));
        }
        match found.last().map(|(document, passage)| (*document, passage.position)) {
            Some(last) if Some(last) != before => after = Some(last),
            _ => break,
        }
    }
    found.truncate(at_most as usize);
    Ok(found)
}

/// The blocks of documents, each a stretch of `_id`.
pub(crate) fn blocks_of(agent: &AgentId, documents: &[KnowledgeId]) -> Document {
    let stretches: Vec<Document> = documents
        .iter()
        .map(|document| {
            let first = key(agent, document.as_bytes());
            let mut last = first.clone();
            last.insert("position", Bson::MaxKey);
            doc! { "_id": { "$gt": first, "$lt": last } }
        })
        .collect();
    doc! { "$or": stretches, "_id.agent": agent.as_str() }
}

/// Stores passages as they were, beside those that their blocks have. Refuses one whose place is in use.
pub(crate) async fn put_new(
    tx: &mut Transaction,
    agent: &AgentId,
    passages: &[(KnowledgeId, &Passage)],
) -> Result<()> {
    let mut blocks: BTreeMap<(KnowledgeId, u32), BTreeMap<u32, Passage>> = BTreeMap::new();
    for (document, passage) in passages {
        blocks.entry((*document, passage.position / PLACES)).or_default();
    }
    let keys = blocks.keys().map(|(document, block)| {
        block_key(agent, document.as_bytes(), u64::from(*block) * u64::from(PLACES))
    });
    let filter = keyed(agent, keys.collect::<Result<Vec<_>>>()?);
    let find = Find { filter, hint: Some(index::BY_KEY), ..Find::default() };
    for block in tx.reads().find(collection::PASSAGES, find).await? {
        let (document, stored) = unpack(&block)?;
        for passage in stored {
            let block = blocks.entry((document, passage.position / PLACES)).or_default();
            block.insert(passage.position, passage);
        }
    }
    for (document, passage) in passages {
        let block = blocks.entry((*document, passage.position / PLACES)).or_default();
        if block.insert(passage.position, (*passage).clone()).is_some() {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    let update = |((document, block), placed): (&(KnowledgeId, u32), &BTreeMap<u32, Passage>)| {
        let packed = pack(agent, *document, block * PLACES, placed.values())?;
        let id = block_key(agent, document.as_bytes(), u64::from(*block) * u64::from(PLACES))?;
        Ok(Update::upsert(doc! { "_id": id }, packed))
    };
    let updates = blocks.iter().map(update).collect::<Result<Vec<_>>>()?;
    tx.update(collection::PASSAGES, &updates).await.map(drop)
}

/// Removes up to `at_most` passages of a deleted agent and returns how many. Of a block with more the others stay.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let mut left = at_most as usize;
    while left > 0 {
        let wanted = u32::try_from(left).unwrap_or(at_most) / PLACES + SHORT;
        let found = tx.reads().find(collection::PASSAGES, find(agent, None, wanted)?).await?;
        if found.is_empty() {
            break;
        }
        let (mut whole, mut rest) = (Vec::new(), None);
        for block in &found {
            let (document, passages) = unpack(block)?;
            let first = passages.first().ok_or_else(|| corrupt("a block has no passage"))?.position;
            let id = block_key(agent, document.as_bytes(), u64::from(first))?;
            if passages.len() <= left {
                left -= passages.len();
                whole.push(id);
            } else {
                let others = pack(agent, document, first, passages.iter().skip(left))?;
                rest = (left > 0).then(|| Update::one(doc! { "_id": id }, others));
                left = 0;
                break;
            }
        }
        if !whole.is_empty() {
            tx.delete(collection::PASSAGES, keyed(agent, whole)).await?;
        }
        if let Some(rest) = rest {
            tx.update(collection::PASSAGES, &[rest]).await?;
        }
    }
    Ok(u64::from(at_most) - left as u64)
}
