//! Name resolution.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Resolves host names.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of a name.
    ///
    /// # Errors
    /// When the name has none, or cannot be resolved now.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Lookups that run concurrently. The system's resolver blocks a thread for each, even after its caller has given up.
const MAX_LOOKUPS: usize = 32;

/// The resolver of the operating system.
#[derive(Clone, Debug)]
pub struct SystemResolver {
    permits: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        SystemResolver { permits: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let lookup = tokio::task::spawn_blocking(move || {
            // The thread holds the permit, not the caller, who may give up earlier.
            let _permit = permit;
            Ok((name.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
        });
        lookup.await.map_err(io::Error::other)?
    }
}
