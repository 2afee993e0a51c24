//! Erasing a contact with everything that belongs to it. Runs inside the writer's transaction.

use openapi_core::storage::{Effects, StorageErrorKind, Subject};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use rusqlite::Connection;

use super::write;
use crate::chat::conversations;
use crate::error::Result;
use crate::shapes::{self, log};
use crate::{audit, effects, files, forms, replays, tenant};

/// As [`openapi_core::storage::ContactStore::erase_contact`].
pub(super) fn erase(
    db: &Connection,
    agent_id: &AgentId,
    id: ContactId,
    at: Timestamp,
    effects: &Effects,
) -> Result<()> {
    let agent = tenant::living(db, agent_id)?.ok_or(StorageErrorKind::Missing)?;
    let stored = write::stored(db, agent.number, id)?.ok_or(StorageErrorKind::Missing)?;
    write::remove(db, agent.number, &stored)?;
    replays::remove_of(db, agent.number, id)?;
    files::erase_of(db, agent_id, agent.number, id, at)?;
    forms::erase_of(db, agent.number, id)?;
    conversations::erase_of(db, agent_id, agent.number, id, at)?;
    shapes::erase_of(db, agent.number, Subject::Contact(id), at)?;
    log::erase_of(db, agent.number, id)?;
    audit::empty_payloads(db, agent_id, id)?;
    effects::apply(db, agent.number, effects)
}
