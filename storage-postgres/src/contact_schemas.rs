//! Contact schemas and their history, as JSON.

use async_trait::async_trait;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactSchemaStore, Effects, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use sqlx::PgConnection;
use storage_common::in_transaction;

use crate::connect::{execute, fetch_one};
use crate::error::{Result, corrupt};
use crate::rows::{RowReader, Statement, json_text, signed};
use crate::store::PostgresStorage;
use crate::{contacts, effects, tenant};

/// Stores a version.
pub(crate) async fn insert(db: &mut PgConnection, agent: &AgentId, schema: &ContactSchema) -> Result<()> {
    let statement = Statement::new("INSERT INTO contact_schema (agent, version, body) VALUES ($1, $2, $3)")
        .bind(agent.as_str())?
        .bind(signed(schema.version)?)?
        .bind(json_text(schema)?)?;
    execute(db, statement).await?;
    Ok(())
}

/// The current schema of a tenant.
fn current(agent: &AgentId) -> Result<Statement> {
    Statement::new(
        "SELECT s.body FROM agent a JOIN contact_schema s ON s.agent = a.id AND s.version = a.schema_version \
         WHERE a.id = $1 AND a.status <> 2",
    )
    .bind(agent.as_str())
}

#[async_trait]
impl ContactSchemaStore for PostgresStorage {
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>, StorageError> {
        self.db.read_one(current(agent)?, |r| r.json()).await
    }

    async fn contact_schema_history(&self, agent: &AgentId) -> Result<Vec<ContactSchema>, StorageError> {
        let statement = Statement::new(
            "SELECT s.body FROM agent a JOIN contact_schema s ON s.agent = a.id \
             WHERE a.id = $1 AND a.status <> 2 ORDER BY s.version",
        )
        .bind(agent.as_str())?;
        self.db.read_all(statement, |r| r.json()).await
    }

    async fn replace_contact_schema(
        &self,
        agent: &AgentId,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        let chunk = self.db.config().thresholds.reindex_chunk;
        in_transaction!(self.db.write_long(), replace(agent, schema, effects, *chunk))
    }
}

async fn replace(
    db: &mut PgConnection,
    agent: &AgentId,
    schema: &ContactSchema,
    effects: &Effects,
    chunk: u32,
) -> Result<()> {
    let tenant = tenant::lock(db, agent).await?;
    if tenant.schema_version + 1 != schema.version {
        return Err(StorageErrorKind::Stale.into());
    }
    let row = fetch_one(db, current(agent)?).await?;
    let row = row.ok_or_else(|| corrupt("the agent has no contact schema"))?;
    let before: ContactSchema = RowReader::new(&row).json()?;
    if before.keys_differ(schema) {
        contacts::reindex(db, agent, schema, chunk).await?;
    }
    insert(db, agent, schema).await?;
    let statement = Statement::new("UPDATE agent SET schema_version = $2 WHERE id = $1")
        .bind(agent.as_str())?
        .bind(signed(schema.version)?)?;
    execute(db, statement).await?;
    effects::apply(db, agent, effects, tenant.head).await
}
