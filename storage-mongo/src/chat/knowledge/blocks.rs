//! Passages in blocks: 128 consecutive positions of a document, compressed, in one document of the database.
//!
//! A document may have 50,000 passages of 5,000,000 characters in total, and is stored in one transaction. With a document
//! of the database for each passage, a transaction would exceed the dirty data that the server allows: 15 % of its cache,
//! 38 MiB of the smallest one (`TransactionTooLargeForCache`). As compressed blocks the passages are a few hundred
//! documents, and storing them takes a small part of the 60 s that a transaction may last. Commands stay below the server's
//! limit of 16 MiB ([`Transaction::insert`]). A test stores the largest document, of text that compresses badly, with the
//! smallest cache.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use ::conversations::Passage;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use mongodb::bson::{Bson, Document, RawDocument, doc};
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::{AgentId, KnowledgeId};

use crate::document::{Fields, Value, binary, integer, key, keyed, of_agent};
use crate::error::{Result, corrupt};
use crate::migrate::{collection, index};
use crate::transaction::{DocumentReader, Find, Transaction, Update};

/// The positions of a block.
pub(crate) const BLOCK_SIZE: u32 = 128;

/// How many blocks are read in addition to the full ones, because each short document has one.
const EXTRA_BLOCKS: u32 = 16;

/// The `_id` of the block that contains a position of a document.
pub(crate) fn block_key(agent: &AgentId, document: &[u8; 12], position: u64) -> Result<Document> {
    let mut id = key(agent, document);
    id.insert("position", integer(position / u64::from(BLOCK_SIZE) * u64::from(BLOCK_SIZE))?);
    Ok(id)
}

/// The block of passages of a document, which have different positions.
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
    Ok(doc! { "_id": id, "passages": binary(&packed) })
}

/// The passages of a block, by position.
pub(crate) fn unpack(block: &RawDocument) -> Result<(KnowledgeId, Vec<Passage>)> {
    let fields = Fields(block);
    let packed = fields.value("passages")?;
    let packed = packed.as_binary().ok_or_else(|| packed.wrong("binary"))?;
    let mut text = Vec::new();
    DeflateDecoder::new(packed.bytes).read_to_end(&mut text).map_err(corrupt)?;
    Ok((KnowledgeId::from_bytes(fields.id()?), serde_json::from_slice(&text).map_err(corrupt)?))
}

/// The blocks of a document. The task yields after each.
pub(super) async fn pack_all(
    agent: &AgentId,
    document: KnowledgeId,
    passages: &[Passage],
) -> Result<Vec<Document>> {
    let mut blocks: BTreeMap<u32, BTreeMap<u32, &Passage>> = BTreeMap::new();
    for passage in passages {
        // The last one of a position wins.
        blocks.entry(passage.position / BLOCK_SIZE).or_default().insert(passage.position, passage);
    }
    let mut packed = Vec::with_capacity(blocks.len());
    for (block, placed) in blocks {
        packed.push(pack(agent, document, block * BLOCK_SIZE, placed.into_values())?);
        tokio::task::yield_now().await;
    }
    Ok(packed)
}

/// The find for blocks, from the one that contains the position `after`.
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

/// As [`conversations::storage::KnowledgeStore::passages`], of an existing tenant.
pub(crate) async fn passages(
    reads: &mut DocumentReader<'_>,
    agent: &AgentId,
    after: Option<(KnowledgeId, u32)>,
    at_most: u32,
) -> Result<Vec<(KnowledgeId, Passage)>> {
    let mut found = Vec::new();
    let mut after = after;
    while found.len() < at_most as usize {
        let left = at_most - u32::try_from(found.len()).unwrap_or(at_most);
        let blocks =
            reads.find(collection::PASSAGES, find(agent, after, left / BLOCK_SIZE + EXTRA_BLOCKS)?).await?;
        let before = after;
        for block in &blocks {
            let (document, passages) = unpack(block)?;
            let later = passages.into_iter().map(|passage| (document, passage));
            found.extend(later.filter(|(document, passage)| {
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

/// The filter for the blocks of documents, each a range of `_id`.
pub(crate) fn blocks_of(agent: &AgentId, documents: &[KnowledgeId]) -> Document {
    let ranges: Vec<Document> = documents
        .iter()
        .map(|document| {
            let first = key(agent, document.as_bytes());
            let mut last = first.clone();
            last.insert("position", Bson::MaxKey);
            doc! { "_id": { "$gt": first, "$lt": last } }
        })
        .collect();
    doc! { "$or": ranges, "_id.agent": agent.as_str() }
}

/// Adds passages to their blocks. Refuses one whose position is taken.
pub(crate) async fn insert(
    tx: &mut Transaction,
    agent: &AgentId,
    passages: &[(KnowledgeId, &Passage)],
) -> Result<()> {
    let mut blocks: BTreeMap<(KnowledgeId, u32), BTreeMap<u32, Passage>> = BTreeMap::new();
    for (document, passage) in passages {
        blocks.entry((*document, passage.position / BLOCK_SIZE)).or_default();
    }
    let keys = blocks.keys().map(|(document, block)| {
        block_key(agent, document.as_bytes(), u64::from(*block) * u64::from(BLOCK_SIZE))
    });
    let filter = keyed(agent, keys.collect::<Result<Vec<_>>>()?);
    let find = Find { filter, hint: Some(index::BY_KEY), ..Find::default() };
    for block in tx.reads().find(collection::PASSAGES, find).await? {
        let (document, stored) = unpack(&block)?;
        for passage in stored {
            let block = blocks.entry((document, passage.position / BLOCK_SIZE)).or_default();
            block.insert(passage.position, passage);
        }
    }
    for (document, passage) in passages {
        let block = blocks.entry((*document, passage.position / BLOCK_SIZE)).or_default();
        if block.insert(passage.position, (*passage).clone()).is_some() {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
    }
    let update = |((document, block), placed): (&(KnowledgeId, u32), &BTreeMap<u32, Passage>)| {
        let packed = pack(agent, *document, block * BLOCK_SIZE, placed.values())?;
        let id = block_key(agent, document.as_bytes(), u64::from(*block) * u64::from(BLOCK_SIZE))?;
        Ok(Update::upsert(doc! { "_id": id }, packed))
    };
    let updates = blocks.iter().map(update).collect::<Result<Vec<_>>>()?;
    tx.update(collection::PASSAGES, &updates).await.map(drop)
}

/// Removes up to `at_most` passages of a deleted tenant and returns how many. The rest of a larger block remains.
pub(crate) async fn purge(tx: &mut Transaction, agent: &AgentId, at_most: u32) -> Result<u64> {
    let mut left = at_most as usize;
    while left > 0 {
        let wanted = u32::try_from(left).unwrap_or(at_most) / BLOCK_SIZE + EXTRA_BLOCKS;
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
