//! Knowledge of agents: documents and their passages, as JSON.

use ::conversations::storage::{KnowledgeStore, KnowledgeWrite};
use ::conversations::{KnowledgeDocument, Passage};
use async_trait::async_trait;
use openapi_core::json::RawObject;
use openapi_core::storage::{RecordKind, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::{AgentId, KnowledgeId};
use rusqlite::{Connection, Row, params};

use super::agent_records;
use crate::contacts::Columns;
use crate::error::{Result, corrupt};
use crate::store::SqliteStorage;
use crate::{effects, tenant};

/// Documents of an agent after an id, by id; the id of the row follows the record.
pub(crate) const AFTER: &str =
    "SELECT body, id FROM knowledge WHERE agent = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

/// Passages of an agent after a document's id and a position; both follow the record.
pub(crate) const PASSAGES_AFTER: &str = "SELECT body, document, position FROM passage \
     WHERE agent = ?1 AND (document, position) > (?2, ?3) ORDER BY document, position LIMIT ?4";

/// Reads a row that begins with the record.
pub(crate) fn read(row: &Row<'_>) -> Result<KnowledgeDocument> {
    Columns::of(row).json()
}

/// Reads a row of [`PASSAGES_AFTER`].
pub(crate) fn passage(row: &Row<'_>) -> Result<(KnowledgeId, Passage)> {
    let mut columns = Columns::of(row);
    let passage = columns.json()?;
    Ok((KnowledgeId::from_bytes(columns.bytes()?), passage))
}

fn is_stored(db: &Connection, agent: i64, document: KnowledgeId) -> Result<bool> {
    Ok(db
        .prepare_cached("SELECT 1 FROM knowledge WHERE agent = ?1 AND id = ?2")?
        .exists(params![agent, document.as_bytes()])?)
}

/// Stores a new document.
pub(crate) fn put_new(db: &Connection, agent: i64, document: &KnowledgeDocument) -> Result<()> {
    let body = serde_json::to_string(document).map_err(corrupt)?;
    db.prepare_cached("INSERT INTO knowledge (agent, id, body) VALUES (?1, ?2, ?3)")?.execute(params![
        agent,
        document.id.as_bytes(),
        body
    ])?;
    Ok(())
}

/// Stores a passage that its document does not have.
pub(crate) fn put_passage(
    db: &Connection,
    agent: i64,
    document: KnowledgeId,
    passage: &Passage,
) -> Result<()> {
    let body = serde_json::to_string(passage).map_err(corrupt)?;
    db.prepare_cached("INSERT INTO passage (agent, document, position, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![agent, document.as_bytes(), passage.position, body])?;
    Ok(())
}

/// As [`KnowledgeStore::change_knowledge`], inside the writer's transaction.
fn change(db: &Connection, agent_id: &AgentId, write: &KnowledgeWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    let kind = RecordKind::Knowledge;
    agent_records::refuse_stale(db, agent, kind, write.version)?;
    if let Some((document, _)) = &write.add
        && !write.remove.contains(&document.id)
        && is_stored(db, agent, document.id)?
    {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    for id in &write.remove {
        for sql in [
            "DELETE FROM passage WHERE agent = ?1 AND document = ?2",
            "DELETE FROM knowledge WHERE agent = ?1 AND id = ?2",
        ] {
            db.prepare_cached(sql)?.execute(params![agent, id.as_bytes()])?;
        }
    }
    if let Some((document, passages)) = &write.add {
        put_new(db, agent, document)?;
        passages.iter().try_for_each(|passage| put_passage(db, agent, document.id, passage))?;
    }
    let record = StoredRecord { kind, version: write.version, body: RawObject::default() };
    agent_records::put(db, agent, &record)?;
    effects::apply(db, agent, &write.effects)
}

#[async_trait]
impl KnowledgeStore for SqliteStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, StorageError> {
        let agent = agent.clone();
        self.readers
            .read(move |db, _| {
                let mut statement = db.prepare_cached(
                    "SELECT k.body FROM agent a CROSS JOIN knowledge k ON k.agent = a.n \
                     WHERE a.id = ?1 AND a.status <> 2 ORDER BY k.id",
                )?;
                let mut rows = statement.query([agent.as_str()])?;
                let mut documents = Vec::new();
                while let Some(row) = rows.next()? {
                    documents.push(read(row)?);
                }
                Ok(documents)
            })
            .await
    }

    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>, StorageError> {
        let agent = agent.clone();
        self.readers
            .read(move |db, _| {
                let mut statement = db.prepare_cached(
                    "SELECT p.body, p.document FROM agent a CROSS JOIN passage p ON p.agent = a.n \
                     WHERE a.id = ?1 AND a.status <> 2 AND (p.document, p.position) > (?2, ?3) \
                     ORDER BY p.document, p.position LIMIT ?4",
                )?;
                // No id is as low as the empty one.
                let document = after.as_ref().map_or(&[] as &[u8], |(document, _)| document.as_bytes());
                let position = after.map_or(0, |(_, position)| position);
                let mut rows = statement.query(params![agent.as_str(), document, position, at_most])?;
                let mut passages = Vec::new();
                while let Some(row) = rows.next()? {
                    passages.push(passage(row)?);
                }
                Ok(passages)
            })
            .await
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| change(db, &agent, &write)).await
    }
}
