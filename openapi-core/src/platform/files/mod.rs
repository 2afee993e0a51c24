//! Files over the storage ports, and the work that keeps records and contents consistent.

mod check;
mod download;
mod error;
mod records;
mod settings;
mod sweep;
mod sweeps;
mod upload;

pub use check::{ContentCheck, ContentFault};
pub(super) use download::{download, sign_url};
pub use error::MaintainError;
pub(super) use records::{delete, find, list};
pub use settings::FileSettings;
pub(super) use sweeps::Sweeps;
pub(super) use upload::upload;
pub use upload::{begin_scan, push_scan, refuse_content};
