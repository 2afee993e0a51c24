//! The ports of the platform: everything it needs from its host.

use std::sync::Arc;

use crate::extraction::{DocumentExtractor, NoExtractor};
use crate::ports::{
    BlobStore, BlockingExecutor, Clock, FileScanner, IdGenerator, Inline, NoBlobs, NoScanner, NoTimer, Timer,
};
use crate::server_keys::ServerKeys;

/// Everything the platform needs from its host except the store.
#[derive(Clone)]
pub struct Ports {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub ids: Arc<dyn IdGenerator>,
    /// The keys of the server.
    pub server_keys: ServerKeys,
    /// Where contents of files are stored. Without a store, [`NoBlobs`] refuses uploads.
    pub blobs: Arc<dyn BlobStore>,
    /// Scans uploads for malware; [`NoScanner`] by default.
    pub scanner: Arc<dyn FileScanner>,
    /// Reads documents. By default, [`NoExtractor`] refuses extractions.
    pub extractor: Arc<dyn DocumentExtractor>,
    /// The timer. By default, [`NoTimer`] enforces no deadlines: the health check then waits for the store.
    pub timer: Arc<dyn Timer>,
    /// Hashes parts of uploads while the next ones arrive; [`Inline`] hashes them in the caller's task.
    pub offload: Arc<dyn BlockingExecutor>,
}

impl Ports {
    /// Ports without deadlines, a store of file contents or a scanner.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>, server_keys: ServerKeys) -> Self {
        Ports {
            clock,
            ids,
            server_keys,
            blobs: Arc::new(NoBlobs),
            scanner: Arc::new(NoScanner),
            extractor: Arc::new(NoExtractor),
            timer: Arc::new(NoTimer),
            offload: Arc::new(Inline),
        }
    }

    /// The machine's clock and randomness (feature `system`), without deadlines.
    #[cfg(feature = "system")]
    #[must_use]
    pub fn system(server_keys: ServerKeys) -> Self {
        use crate::ports::{SystemClock, SystemIds};
        Ports::new(Arc::new(SystemClock), Arc::new(SystemIds::default()), server_keys)
    }

    /// Sets the store of file contents.
    #[must_use]
    pub fn with_blobs(mut self, blobs: Arc<dyn BlobStore>) -> Self {
        self.blobs = blobs;
        self
    }

    /// Sets the scanner of uploads.
    #[must_use]
    pub fn with_scanner(mut self, scanner: Arc<dyn FileScanner>) -> Self {
        self.scanner = scanner;
        self
    }

    /// Sets the extraction engine.
    #[must_use]
    pub fn with_extractor(mut self, extractor: Arc<dyn DocumentExtractor>) -> Self {
        self.extractor = extractor;
        self
    }

    /// Sets the timer.
    #[must_use]
    pub fn with_timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    /// Sets the executor that hashes concurrently with the caller.
    #[must_use]
    pub fn with_blocking_executor(mut self, offload: Arc<dyn BlockingExecutor>) -> Self {
        self.offload = offload;
        self
    }
}
