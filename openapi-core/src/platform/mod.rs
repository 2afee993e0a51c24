//! The shipped implementation of the service and of the operator's port, over the storage ports.

mod admin;
mod audit;
mod cache;
mod contacts;
mod cursor;
mod documents;
mod errors;
mod extraction;
mod files;
mod forms;
mod idempotency;
mod keys;
mod maintenance;
mod paging;
mod ports;
mod seal;
mod service;
mod state;
mod widget;

pub use extraction::ExtractionSettings;
pub use files::{ContentCheck, ContentFault, FileSettings, MaintainError};
pub use ports::Ports;
use state::ATTEMPTS;
pub use state::Platform;
pub use widget::WidgetApi;
