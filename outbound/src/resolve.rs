//! Name resolution.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use async_trait::async_trait;

/// Resolves host names.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// All addresses of a name. It ends by itself: [`HttpOutbound`](crate::HttpOutbound) lets it run on when the request
    /// has given up, and counts it until then.
    ///
    /// # Errors
    /// When the name has none, or cannot be resolved now.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system. It blocks a thread of the runtime for each lookup.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = name.to_owned();
        let lookup = tokio::task::spawn_blocking(move || {
            Ok((name.as_str(), 0).to_socket_addrs()?.map(|address| address.ip()).collect())
        });
        lookup.await.map_err(io::Error::other)?
    }
}
