//! Knowledge: documents and their passages, as JSON.

use std::collections::BTreeMap;

use ::conversations::storage::{KnowledgeStore, KnowledgeWrite};
use ::conversations::{KnowledgeDocument, Passage};
use async_trait::async_trait;
use openapi_core::json::RawObject;
use openapi_core::storage::{RecordChange, RecordKind, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::{AgentId, KnowledgeId};
use sqlx::PgConnection;
use storage_common::{in_transaction, records};

use crate::connect::execute;
use crate::error::Result;
use crate::rows::{Statement, json_text};
use crate::store::PostgresStorage;
use crate::{effects, shapes, tenant};

/// The most passages of one statement. A document may have 50,000 of 5,000,000 characters in total; in parts of one or two
/// MiB, no statement comes near its timeout, and little of the text is in memory twice.
const CHUNK: usize = 1_000;

#[async_trait]
impl KnowledgeStore for PostgresStorage {
    async fn knowledge(&self, agent: &AgentId) -> Result<Vec<KnowledgeDocument>, StorageError> {
        self.db.read_all(documents(agent)?, |r| r.json()).await
    }

    async fn passages(
        &self,
        agent: &AgentId,
        after: Option<(KnowledgeId, u32)>,
        at_most: u32,
    ) -> Result<Vec<(KnowledgeId, Passage)>, StorageError> {
        self.db.read_all(passages(agent, after, at_most)?, |r| records::passage(r)).await
    }

    async fn change_knowledge(&self, agent: &AgentId, write: &KnowledgeWrite) -> Result<(), StorageError> {
        // A large document may take longer than one statement may.
        in_transaction!(self.db.write_long(), change(agent, write))
    }
}

/// The statement of all documents, along the primary key.
pub(crate) fn documents(agent: &AgentId) -> Result<Statement> {
    Statement::new(
        "SELECT k.body FROM knowledge k WHERE k.agent = $1 \
         AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2) ORDER BY k.id",
    )
    .bind(agent.as_str())
}

/// The statement of some passages, along the primary key: a range and not an equality, as in `transfer::read`.
pub(crate) fn passages(
    agent: &AgentId,
    after: Option<(KnowledgeId, u32)>,
    at_most: u32,
) -> Result<Statement> {
    // No id is as low as the empty one.
    let (document, position) =
        after.as_ref().map_or((&[] as &[u8], 0), |(document, position)| (document.as_bytes(), *position));
    Statement::new(
        "SELECT p.document, p.body FROM passage p WHERE (p.agent, p.document, p.position) > ($1, $2, $3) \
         AND p.agent <= $1 AND EXISTS (SELECT 1 FROM agent a WHERE a.id = $1 AND a.status <> 2) \
         ORDER BY p.agent, p.document, p.position LIMIT $4",
    )
    .bind(agent.as_str())?
    .bind(document)?
    .bind(i64::from(position))?
    .bind(i64::from(at_most))
}

/// As [`KnowledgeStore::change_knowledge`], in a transaction of its own.
async fn change(db: &mut PgConnection, agent: &AgentId, write: &KnowledgeWrite) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    let record = StoredRecord::single(RecordKind::Knowledge, write.version, RawObject::default());
    shapes::records::change(db, Some(agent), &[RecordChange::Save(record)]).await?;
    for sql in REMOVE {
        execute(db, removal(sql, agent, &write.remove)?).await?;
    }
    if let Some((document, passages)) = &write.add {
        // An error rolls back what was changed before.
        if !insert(db, agent, document).await? {
            return Err(StorageErrorKind::AlreadyExists.into());
        }
        // The last one of a position wins.
        let unique: BTreeMap<u32, &Passage> = passages.iter().map(|it| (it.position, it)).collect();
        let unique: Vec<_> = unique.into_values().map(|passage| (document.id, passage)).collect();
        insert_passages(db, agent, &unique).await?;
    }
    effects::apply(db, agent, &write.effects, tenant.head).await
}

/// Removes documents by key, with their passages. The statement joins the tenant with each id: a condition on the tenant alone
/// would let PostgreSQL scan all rows of a tenant that it takes for small.
pub(crate) const REMOVE: [&str; 2] = [
    "DELETE FROM passage p USING unnest($1::text[], $2::bytea[]) AS u (agent, id) \
     WHERE p.agent = u.agent AND p.document = u.id",
    "DELETE FROM knowledge k USING unnest($1::text[], $2::bytea[]) AS u (agent, id) \
     WHERE k.agent = u.agent AND k.id = u.id",
];

/// One of [`REMOVE`], planned each time: a generic plan would scan a small table for a document of unknown length.
pub(crate) fn removal(sql: &'static str, agent: &AgentId, documents: &[KnowledgeId]) -> Result<Statement> {
    Statement::unprepared(sql)
        .bind(vec![agent.as_str(); documents.len()])?
        .bind(documents.iter().map(|document| document.as_bytes().as_slice()).collect::<Vec<_>>())
}

/// Stores a document; false when its id is taken.
pub(crate) async fn insert(
    db: &mut PgConnection,
    agent: &AgentId,
    document: &KnowledgeDocument,
) -> Result<bool> {
    let statement =
        Statement::new("INSERT INTO knowledge (agent, id, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING")
            .bind(agent.as_str())?
            .bind(document.id.as_bytes().as_slice())?
            .bind(json_text(document)?)?;
    Ok(execute(db, statement).await? == 1)
}

/// Stores passages at positions that are free.
pub(crate) async fn insert_passages(
    db: &mut PgConnection,
    agent: &AgentId,
    passages: &[(KnowledgeId, &Passage)],
) -> Result<()> {
    for some in passages.chunks(CHUNK) {
        let bodies = some.iter().map(|(_, passage)| json_text(passage)).collect::<Result<Vec<_>>>()?;
        let statement = Statement::new(
            "INSERT INTO passage (agent, document, position, body) \
             SELECT $1, * FROM unnest($2::bytea[], $3::bigint[], $4::text[])",
        )
        .bind(agent.as_str())?
        .bind(some.iter().map(|(document, _)| document.as_bytes().as_slice()).collect::<Vec<_>>())?
        .bind(some.iter().map(|(_, passage)| i64::from(passage.position)).collect::<Vec<_>>())?
        .bind(bodies)?;
        execute(db, statement).await?;
    }
    Ok(())
}
