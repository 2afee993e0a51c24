//! The shipped implementation of the service and of the operator's port, over the storage ports.

mod admin;
mod audit;
mod audit_log;
mod audit_settings;
mod cache;
mod contacts;
mod cursor;
mod documents;
mod errors;
mod event_settings;
mod events;
mod extraction;
mod files;
mod forms;
pub mod idempotency;
mod keys;
mod maintenance;
pub mod paging;
mod ports;
mod service;
mod state;

pub use audit_log::AuditReport;
pub use audit_settings::AuditSettings;
pub use cache::Cache;
pub use cursor::{seal, unseal};
pub use documents::{DocumentWriter, NewDocument};
pub use errors::{concurrent_update, contact_archived, not_found, quota_exceeded, stale_tag};
pub use event_settings::{EventSource, EventStreams};
pub use events::read_events;
pub use extraction::{ExtractionSettings, JobFigures};
pub use files::{
    ContentCheck, ContentFault, FileSettings, MaintainError, SealProgress, begin_scan, push_scan,
    refuse_content,
};
pub use ports::Ports;
pub use state::{AgentObserver, Platform};
