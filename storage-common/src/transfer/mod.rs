//! Copying all data of a tenant from one store to another.

mod copy;
mod rows;
pub mod tables;

pub use copy::{
    AgentDigest, Contents, Copied, CopyError, Step, compare, copy_agent, copy_chain_without_agent,
    copy_content, copy_document, digest,
};
pub use rows::{KeyParts, KeyShape, TransferKey, TransferKind, TransferRow, TransferStore};
