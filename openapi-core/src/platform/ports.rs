//! What the platform needs from the world around it.

use std::sync::Arc;

use crate::chat::{ChatResponder, Retriever};
use crate::extraction::{DocumentExtractor, NoExtractor};
use crate::ports::{
    BlobStore, Clock, FileScanner, IdSource, InPlace, NoBlobs, NoScanner, NoTimer, Offload, Tasks, Timer,
};
use crate::server_keys::ServerKeys;

/// What the platform needs from the world around it, the store apart.
#[derive(Clone)]
pub struct Ports {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub ids: Arc<dyn IdSource>,
    /// The keys of the server.
    pub server_keys: ServerKeys,
    /// Where contents of files are kept; [`NoBlobs`] where none was given: uploads are then refused.
    pub blobs: Arc<dyn BlobStore>,
    /// Looks at uploads; [`NoScanner`] where none was given.
    pub scanner: Arc<dyn FileScanner>,
    /// Reads documents; [`NoExtractor`] where none was given: extractions are then refused.
    pub extractor: Arc<dyn DocumentExtractor>,
    /// Waiting; [`NoTimer`] where no deadline is to be enforced: the health check then waits for the store.
    pub timer: Arc<dyn Timer>,
    /// Hashes parts of uploads beside their arrival; [`InPlace`] where no thread is lent.
    pub offload: Arc<dyn Offload>,
    /// What answers visitors of the widget, chosen by name; none where no chat is wanted.
    pub responders: Vec<Arc<dyn ChatResponder>>,
    /// Finds the passages to answer from.
    pub retriever: Option<Arc<dyn Retriever>>,
    /// Runs answers beside the connections that asked for them; without it a lost connection ends its answer.
    pub tasks: Option<Arc<dyn Tasks>>,
}

impl Ports {
    /// Ports without deadlines, a store of file contents or a scanner.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>, server_keys: ServerKeys) -> Self {
        Ports {
            clock,
            ids,
            server_keys,
            blobs: Arc::new(NoBlobs),
            scanner: Arc::new(NoScanner),
            extractor: Arc::new(NoExtractor),
            timer: Arc::new(NoTimer),
            offload: Arc::new(InPlace),
            responders: Vec::new(),
            retriever: None,
            tasks: None,
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

    /// Sets what reads documents.
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

    /// Adds something that answers visitors of the widget.
    #[must_use]
    pub fn with_responder(mut self, responder: Arc<dyn ChatResponder>) -> Self {
        self.responders.push(responder);
        self
    }

    /// Sets what finds the passages to answer from.
    #[must_use]
    pub fn with_retriever(mut self, retriever: Arc<dyn Retriever>) -> Self {
        self.retriever = Some(retriever);
        self
    }

    /// Sets what runs answers beside the connections that asked for them.
    #[must_use]
    pub fn with_tasks(mut self, tasks: Arc<dyn Tasks>) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Sets who hashes beside the caller.
    #[must_use]
    pub fn with_offload(mut self, offload: Arc<dyn Offload>) -> Self {
        self.offload = offload;
        self
    }
}
