//! The backend passes the suite. This file is all that an author of a backend writes.

use std::pin::Pin;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use own_storage::CountingStorage;
use testkit::conformance::Backend;

/// The backend under test, with an empty store for each case.
struct Counting(Arc<CountingStorage>);

impl Backend for Counting {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        self.0.clone()
    }

    fn reopen(&mut self) -> bool {
        // A persistent store is closed and reopened here, and `true` returned.
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        pollster::block_on(future);
    }
}

testkit::conformance_suite!(|| Counting(Arc::new(CountingStorage::new())));
