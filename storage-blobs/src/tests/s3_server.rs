//! An S3 server in this process: signatures are checked, objects are files in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

use crate::{BlobsUrl, open};
use openapi_core::ports::BlobStore;

pub(super) const BUCKET: &str = "bucket";

/// A running server. It ends with the runtime it was started on.
pub(super) struct S3Server {
    folder: tempfile::TempDir,
    address: String,
    /// How many of the next connections are closed at once.
    pub(super) hang_ups: Arc<AtomicUsize>,
    /// Whether connections are accepted and left without a response.
    pub(super) silent: Arc<AtomicBool>,
}

impl S3Server {
    pub(super) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single("key", "secret"));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (hang_ups, silent) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (dropping, waiting) = (Arc::clone(&hang_ups), Arc::clone(&silent));
        tokio::spawn(async move {
            let mut held = Vec::new();
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                let one_less = |left: usize| left.checked_sub(1);
                if dropping.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
                    continue;
                }
                if waiting.load(Ordering::SeqCst) {
                    held.push(connection);
                    continue;
                }
                let service = TowerToHyperService::new(service.clone());
                tokio::spawn(async move {
                    // One request for each connection, so that the next one follows the current settings.
                    let mut server = auto::Builder::new(TokioExecutor::new()).http1_only();
                    server.http1().keep_alive(false);
                    drop(server.serve_connection(TokioIo::new(connection), service).await);
                });
            }
        });
        S3Server { folder, address, hang_ups, silent }
    }

    /// The variables that point to the server.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        [
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", self.address.as_str()),
            ("AWS_ALLOW_HTTP", "true"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    /// The store at `s3://bucket/<prefix>`.
    pub(super) fn blobs(&self, prefix: &str) -> Arc<dyn BlobStore> {
        let url: BlobsUrl = format!("s3://{BUCKET}/{prefix}").parse().unwrap();
        open(&url, self.environment()).unwrap()
    }

    /// The file of an object.
    pub(super) fn object(&self, name: &str) -> PathBuf {
        self.folder.path().join(BUCKET).join(name)
    }

    /// The number of files of incomplete uploads.
    pub(super) fn unfinished(&self) -> usize {
        fn below(folder: &Path) -> usize {
            let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
            entries
                .map(|entry| {
                    let is_part = entry.file_name().to_string_lossy().contains("upload");
                    if entry.path().is_dir() { below(&entry.path()) } else { usize::from(is_part) }
                })
                .sum()
        }
        below(self.folder.path())
    }
}
