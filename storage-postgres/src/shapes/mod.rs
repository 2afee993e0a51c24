//! The shapes that carry what is not a resource of its own: records, queues of jobs, and the event log of each tenant.

pub(crate) mod jobs;
pub(crate) mod log;
pub(crate) mod records;
mod scope;

use openapi_core::storage::Subject;
use openapi_core::values::{AgentId, Timestamp};
use sqlx::PgConnection;

use crate::error::Result;

/// Removes the records of erased contacts and conversations, and erases their jobs. The tenant is locked.
pub(crate) async fn erase_of(
    db: &mut PgConnection,
    agent: &AgentId,
    subjects: &[Subject],
    at: Timestamp,
) -> Result<()> {
    records::erase_of(db, agent, subjects).await?;
    jobs::erase_of(db, agent, subjects, at).await
}
