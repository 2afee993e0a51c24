//! Ports: everything the platform needs from its host. Each has a fixed or in-memory version for tests.

mod blobs;
mod blocking;
mod clock;
mod ids;
mod outbound;
mod scanner;
mod spawner;
#[cfg(feature = "system")]
mod system;
mod timer;

pub use blobs::{
    BlobEntry, BlobError, BlobErrorKind, BlobKey, BlobListing, BlobResult, BlobStore, BlobStream, BlobWriter,
    InvalidBlobKey, MemoryBlobs, NoBlobs,
};
pub use blocking::{BlockingExecutor, Inline, Work};
pub use clock::{Clock, FixedClock};
pub use ids::{IdGenerator, SequentialIds};
pub use outbound::{NoOutbound, Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes};
pub use scanner::{FileScan, FileScanner, NoScanner, ScanError, Verdict};
pub use spawner::{Spawner, Task};
#[cfg(feature = "system")]
pub use system::{SystemClock, SystemIds};
pub use timer::{NoTimer, Timer, timeout};
