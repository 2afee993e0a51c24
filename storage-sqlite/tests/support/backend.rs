//! The store as a backend of the suite.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use storage_sqlite::SqliteStorage;
use testkit::conformance::Backend;

use super::{Folder, wait};

/// A store in a separate file.
pub struct File {
    store: Option<Arc<SqliteStorage>>,
    folder: Folder,
    /// Whether the file is checked when the suite asks for its errors.
    pub is_checked: bool,
}

impl File {
    pub fn new(folder: Folder) -> Self {
        File { store: Some(Arc::new(folder.open())), folder, is_checked: true }
    }

    fn store(&self) -> &Arc<SqliteStorage> {
        self.store.as_ref().expect("the store is open")
    }
}

impl Backend for File {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        Arc::clone(self.store()) as Arc<dyn ConversationStorage>
    }

    fn reopen(&mut self) -> bool {
        self.store = None;
        self.store = Some(Arc::new(self.folder.open()));
        true
    }

    fn faults(&self) -> Vec<String> {
        let findings = if self.is_checked { self.store().check().expect("test support") } else { Vec::new() };
        findings.into_iter().map(|finding| finding.detail).collect()
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        wait(future);
    }
}
