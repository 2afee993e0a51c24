//! Every store passes the suite.

use std::future::Future;
use std::sync::Arc;

use openapi_core::ports::BlobStore;
use tokio::runtime::{Builder, Runtime};

use crate::FolderBlobs;

/// A runtime like that of a server.
pub(super) fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

mod folder {
    use super::*;

    testkit::blob_suite!(|case| {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn BlobStore> = Arc::new(FolderBlobs::open(folder.path().join("blobs")).unwrap());
        wait((case.run)(store));
    });
}

/// On a disk that makes writers wait.
mod folder_by_threads {
    use super::*;

    testkit::blob_suite!(|case| {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderBlobs::open(folder.path().join("blobs")).unwrap();
        store.write_by_threads();
        wait((case.run)(Arc::new(store)));
    });
}

#[cfg(feature = "cloud")]
mod objects {
    use super::*;
    use crate::tests::s3_server::S3Server;

    testkit::blob_suite!(|case| {
        wait(async {
            let server = S3Server::start().await;
            (case.run)(server.blobs("some/prefix")).await;
        });
    });
}
