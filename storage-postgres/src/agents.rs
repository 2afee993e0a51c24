//! Agents, which are the tenants of the store.

use async_trait::async_trait;
use openapi_core::agents::Agent;
use openapi_core::audit::ChainHead;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{AgentStore, Effects, StorageError, StorageErrorKind};
use openapi_core::values::AgentId;
use sqlx::PgConnection;
use storage_common::{agent_columns, in_transaction, records};

use crate::connect::{execute, fetch_one};
use crate::error::Result;
use crate::rows::{RowReader, Statement, code, signed};
use crate::store::PostgresStorage;
use crate::tenant::Locked;
use crate::{contact_schemas, effects, purge};

#[async_trait]
impl AgentStore for PostgresStorage {
    async fn insert_agent(
        &self,
        agent: &Agent,
        schema: &ContactSchema,
        effects: &Effects,
    ) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), create(agent, schema, effects))
    }

    async fn agent(&self, id: &AgentId) -> Result<Option<Agent>, StorageError> {
        let statement = Statement::new(concat!("SELECT ", agent_columns!(), " FROM agent WHERE id = $1"))
            .bind(id.as_str())?;
        self.db.read_one(statement, |r| records::agent(r)).await
    }

    async fn agents(&self) -> Result<Vec<Agent>, StorageError> {
        let statement = Statement::new(concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agent WHERE status <> 2 ORDER BY created_at, id"
        ));
        self.db.read_all(statement, |r| records::agent(r)).await
    }

    async fn update_agent(&self, agent: &Agent, effects: &Effects) -> Result<(), StorageError> {
        in_transaction!(self.db.write(), update(agent, effects))
    }

    async fn purge_agent(&self, id: &AgentId, at_most: u32) -> Result<u64, StorageError> {
        in_transaction!(self.db.write(), purge::agent(id, *at_most))
    }
}

/// Stores a tenant; false when its id is taken.
pub(crate) async fn insert(db: &mut PgConnection, agent: &Agent, schema_version: u64) -> Result<bool> {
    let statement = Statement::new(
        "INSERT INTO agent (id, status, schema_version, name, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
    )
    .bind(agent.id.as_str())?
    .bind(code(agent.status))?
    .bind(signed(schema_version)?)?
    .bind(agent.name.as_str())?
    .bind(agent.created_at.millis())?
    .bind(agent.updated_at.millis())?;
    Ok(execute(db, statement).await? == 1)
}

async fn create(
    db: &mut PgConnection,
    agent: &Agent,
    schema: &ContactSchema,
    effects: &Effects,
) -> Result<()> {
    if !insert(db, agent, schema.version).await? {
        return Err(StorageErrorKind::AlreadyExists.into());
    }
    contact_schemas::insert(db, &agent.id, schema).await?;
    effects::apply(db, &agent.id, effects, ChainHead::default()).await
}

async fn update(db: &mut PgConnection, agent: &Agent, effects: &Effects) -> Result<()> {
    let statement = Statement::new(
        "UPDATE agent SET name = $2, status = $3, updated_at = $4 WHERE id = $1 AND status <> 2 \
         RETURNING schema_version, audit_sequence, audit_mac",
    )
    .bind(agent.id.as_str())?
    .bind(agent.name.as_str())?
    .bind(code(agent.status))?
    .bind(agent.updated_at.millis())?;
    let row = fetch_one(db, statement).await?.ok_or(StorageErrorKind::Missing)?;
    let tenant = Locked::read(&mut RowReader::new(&row))?;
    effects::apply(db, &agent.id, effects, tenant.head).await
}
