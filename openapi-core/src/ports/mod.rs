//! Ports: what the platform needs from the world around it. Each has a fixed or in-memory version for tests.

mod blobs;
mod clock;
mod ids;
mod offload;
mod scanner;
#[cfg(feature = "system")]
mod system;
mod tasks;
mod timer;

pub use blobs::{
    BlobEntry, BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
    InvalidBlobKey, MemoryBlobs, NoBlobs,
};
pub use clock::{Clock, FixedClock};
pub use ids::{IdSource, SequentialIds};
pub use offload::{InPlace, Offload, Work};
pub use scanner::{FileScan, FileScanner, NoScanner, ScanError, Verdict};
#[cfg(feature = "system")]
pub use system::{SystemClock, SystemIds};
pub use tasks::{Task, Tasks};
pub use timer::{NoTimer, Timer, within};
