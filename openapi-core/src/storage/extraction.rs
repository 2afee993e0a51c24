//! What is stored about extractions: the credits that pay for them, and retained documents.

use serde::{Deserialize, Serialize};

use super::Effects;
use crate::access::Actor;
use crate::credits::{CreditAccount, CreditEntry};
use crate::files::Sha256Digest;
use crate::values::{AgentId, ConversationId, FileId, PlatformId, Timestamp};

/// What a change of credits writes, all of it or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct CreditWrite {
    /// When it happens.
    pub at: Timestamp,
    /// The account as it is to be, of the version after the stored one; none where nothing is charged.
    pub account: Option<CreditAccount>,
    /// What goes into the ledger.
    pub entry: Option<CreditEntry>,
    /// The document that is retained with it. Its content is in the blob store already; without this record it is an
    /// orphan.
    pub document: Option<DocumentWrite>,
    /// What else is written.
    pub effects: Effects,
}

/// A document to be retained.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentWrite {
    /// Its record; the content is due from its `expires_at` on.
    pub document: StoredDocument,
    /// How many bytes the files and documents of the agent may have together.
    pub max_bytes: Option<u64>,
}

/// A part of the ledger of an agent, the newest entries first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerQuery {
    /// The agent.
    pub agent: AgentId,
    /// Only entries older than this one, by time and id.
    pub before: Option<(Timestamp, PlatformId)>,
    /// How many at most.
    pub limit: u32,
}

/// A document that was retained because its sender asked for it (`saveToStorage`), or that a visitor has sent in the
/// widget. Its content is in the blob store, sealed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredDocument {
    /// The id.
    pub id: FileId,
    /// Its name as sent.
    pub file_name: String,
    /// Its type by content.
    pub content_type: String,
    /// Its bytes.
    pub file_size: u64,
    /// Their SHA-256.
    pub sha256: Sha256Digest,
    /// Bytes of the sealed content: what the blob store holds and the quota counts.
    pub stored_size: u64,
    /// The id of the server key that the content is sealed with; absent from records of former releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_key: Option<String>,
    /// Who sent it.
    pub uploaded_by: Actor,
    /// When it came.
    pub created_at: Timestamp,
    /// When it goes; one that was sent along with a message of a conversation goes with that instead.
    pub expires_at: Timestamp,
    /// The conversation whose visitor has sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
}
