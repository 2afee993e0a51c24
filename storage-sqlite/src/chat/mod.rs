//! The chat: conversations with their messages, and the knowledge of agents.

pub(crate) mod conversations;
pub(crate) mod knowledge;
pub(crate) mod messages;

use openapi_core::storage::StorageErrorKind;

use crate::error::Result;

/// The statements with which [`crate::agents`] removes rows of a deleted agent, referring rows first: `?1` is the
/// agent, `?2` the most rows.
pub(crate) const PURGES: [&str; 4] = [
    "DELETE FROM message WHERE agent = ?1 AND (conversation, seq) IN \
     (SELECT conversation, seq FROM message WHERE agent = ?1 LIMIT ?2)",
    "DELETE FROM conversation WHERE agent = ?1 AND id IN \
     (SELECT id FROM conversation INDEXED BY conversation_by_id WHERE agent = ?1 LIMIT ?2)",
    "DELETE FROM passage WHERE agent = ?1 AND (document, position) IN \
     (SELECT document, position FROM passage WHERE agent = ?1 LIMIT ?2)",
    "DELETE FROM knowledge WHERE agent = ?1 AND id IN (SELECT id FROM knowledge WHERE agent = ?1 LIMIT ?2)",
];

/// Fails unless `version` follows the stored version; 0 stands for no record.
fn refuse_stale(stored: Option<u64>, version: u64) -> Result<()> {
    if stored.unwrap_or(0).checked_add(1) == Some(version) {
        Ok(())
    } else {
        Err(StorageErrorKind::Stale.into())
    }
}
