//! How many requests run at the same time: of this server, and to one host name.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use async_lock::{Semaphore, SemaphoreGuardArc};
use parking_lot::Mutex;
use url::Url;

/// Requests to one host name.
const MAX_OF_HOST: usize = 64;
/// Host names from which those that are not in use are removed.
const MANY_HOSTS: usize = 1_024;

/// The limits of a server.
pub(super) struct Limits {
    server: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// The right to send one request.
pub(super) struct Permit {
    _host: SemaphoreGuardArc,
    _server: SemaphoreGuardArc,
}

impl Limits {
    pub(super) fn new(concurrency: u32) -> Self {
        let most = usize::try_from(concurrency.max(1)).unwrap_or(usize::MAX);
        Limits { server: Arc::new(Semaphore::new(most)), hosts: Mutex::default() }
    }

    /// Waits until a request to this URL may be sent. The host comes first, so that one that is slow uses up none of the
    /// server's requests while it waits.
    pub(super) async fn admit(&self, url: &str) -> Permit {
        let host = self.host(url).acquire_arc().await;
        Permit { _host: host, _server: self.server.acquire_arc().await }
    }

    fn host(&self, url: &str) -> Arc<Semaphore> {
        let name = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
        let mut hosts = self.hosts.lock();
        if let Some(known) = hosts.get(&name).and_then(Weak::upgrade) {
            return known;
        }
        if hosts.len() >= MANY_HOSTS {
            hosts.retain(|_, known| known.strong_count() > 0);
        }
        let new = Arc::new(Semaphore::new(MAX_OF_HOST));
        hosts.insert(name, Arc::downgrade(&new));
        new
    }
}
