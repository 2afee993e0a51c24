//! Files over the storage ports, and the work that keeps records and contents consistent.

mod check;
mod content;
mod download;
mod download_audit;
mod downloads;
mod error;
mod records;
mod sealing;
mod settings;
mod sweep;
mod sweeps;
mod upload;

pub use check::{ContentCheck, ContentFault};
pub(super) use content::whole;
pub(super) use download::{download, sign_url};
pub(super) use downloads::DownloadLog;
pub use error::MaintainError;
pub(super) use records::{delete, find, list};
pub use sealing::SealProgress;
pub use settings::FileSettings;
pub(super) use sweeps::Sweeps;
pub(super) use upload::upload;
pub use upload::{begin_scan, push_scan, refuse_content};
