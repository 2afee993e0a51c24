//! An S3 server on 127.0.0.1 that checks signatures; its objects are files in a folder.

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::file_client::names;

pub const BUCKET: &str = "bucket";

/// A running server with one bucket.
pub struct S3Server {
    folder: tempfile::TempDir,
    /// `http://127.0.0.1:PORT`
    pub origin: String,
    _runtime: Runtime,
}

impl S3Server {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut service = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        service.set_auth(SimpleAuth::from_single("key", "secret"));
        let service = service.build();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                let service = TowerToHyperService::new(service.clone());
                tokio::spawn(async move {
                    let server = auto::Builder::new(TokioExecutor::new());
                    drop(server.serve_connection(TokioIo::new(connection), service).await);
                });
            }
        });
        S3Server { folder, origin, _runtime: runtime }
    }

    /// The environment variables that select it.
    pub fn environment(&self) -> [(&'static str, &str); 5] {
        [
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", &self.origin),
            ("AWS_ALLOW_HTTP", "true"),
        ]
    }

    /// The names of the objects of an agent below this prefix.
    pub fn objects(&self, prefix: &str) -> Vec<String> {
        let listed = names(&self.folder.path().join(BUCKET).join(prefix));
        // Next to each object is a file with its metadata.
        listed.into_iter().filter(|name| name.len() == 24).collect()
    }
}
