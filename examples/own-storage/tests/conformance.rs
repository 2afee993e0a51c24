//! The backend passes the suite. This file is all that an author of a backend writes.

use std::pin::Pin;
use std::sync::Arc;

use conversations::storage::ConversationStorage;
use own_storage::MapStorage;
use testkit::conformance::Backend;

/// The backend under test, with an empty store of its own for each case.
struct Mine(Arc<MapStorage>);

impl Backend for Mine {
    fn storage(&self) -> Arc<dyn ConversationStorage> {
        self.0.clone()
    }

    fn reopen(&mut self) -> bool {
        // A store on disk is closed and opened again here, and `true` returned.
        false
    }

    fn block_on<'a>(&self, future: Pin<Box<dyn Future<Output = ()> + Send + 'a>>) {
        pollster::block_on(future);
    }
}

testkit::conformance_suite!(|| Mine(Arc::new(MapStorage::new())));
