//! Knowledge of agents: documents and their passages, as JSON.

use ::conversations::storage::{KnowledgeStore, KnowledgeWrite};
use ::conversations::{KnowledgeDocument, Passage};
use async_trait::async_trait;
use openapi_core::json::RawObject;
use openapi_core::storage::{RecordChange, RecordKind, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::{AgentId, KnowledgeId};
use rusqlite::{Connection, params};
use storage_common::records;

use crate::error::Result;
use crate::rows::{self, json_text};
use crate::store::SqliteStorage;
use crate::{effects, shapes, tenant};

fn is_stored(db: &Connection, agent: i64, document: KnowledgeId) -> Result<bool> {
    let sql = "SELECT 1 FROM knowledge WHERE agent = ?1 AND id = ?2";
    rows::exists(db, sql, params![agent, document.as_bytes()])
}

/// Stores a new document.
pub(crate) fn put_new(db: &Connection, agent: i64, document: &KnowledgeDocument) -> Result<()> {
    let body = json_text(document)?;
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
    let body = json_text(passage)?;
    db.prepare_cached("INSERT INTO passage (agent, document, position, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![agent, document.as_bytes(), passage.position, body])?;
    Ok(())
}

/// As [`KnowledgeStore::change_knowledge`], inside the writer's transaction.
fn change(db: &Connection, agent_id: &AgentId, write: &KnowledgeWrite) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?.number;
    let record = StoredRecord::single(RecordKind::Knowledge, write.version, RawObject::default());
    shapes::records::refuse_stale(db, agent, &RecordChange::Save(record.clone()))?;
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
    shapes::records::put(db, agent, &record)?;
    effects::apply(db, agent, &write.effects)
}

#[async_trait]
impl KnowledgeStore for SqliteStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, StorageError> {
        let agent = agent.clone();
        let sql = "SELECT k.body FROM agent a CROSS JOIN knowledge k ON k.agent = a.n \
                   WHERE a.id = ?1 AND a.status <> 2 ORDER BY k.id";
        self.readers.read(move |db, _| rows::all(db, sql, [agent.as_str()], |r| r.json())).await
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
                let sql = "SELECT p.document, p.body FROM agent a CROSS JOIN passage p ON p.agent = a.n \
                           WHERE a.id = ?1 AND a.status <> 2 AND (p.document, p.position) > (?2, ?3) \
                           ORDER BY p.document, p.position LIMIT ?4";
                // No id is as low as the empty one.
                let document = after.as_ref().map_or(&[] as &[u8], |(document, _)| document.as_bytes());
                let position = after.map_or(0, |(_, position)| position);
                let values = params![agent.as_str(), document, position, at_most];
                rows::all(db, sql, values, |r| records::passage(r))
            })
            .await
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<(), StorageError> {
        let (agent, write) = (agent.clone(), write.clone());
        self.writer.write(move |db| change(db, &agent, &write)).await
    }
}
