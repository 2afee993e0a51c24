//! Idle connections, by the target and the address to which they lead.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use url::Host;

use crate::exchange::Connection;
use crate::judge::{Scheme, Target};

/// How long a connection may be idle.
const MAX_IDLE: Duration = Duration::from_secs(15);
/// How long a connection is used at all, so that a name that moves is followed.
const MAX_AGE: Duration = Duration::from_secs(60);
/// Idle connections of one target.
const MAX_PER_TARGET: usize = 8;
/// Idle connections in total.
const MAX_IDLE_CONNECTIONS: usize = 256;
/// How often idle connections are looked through.
const SWEEP: Duration = Duration::from_secs(5);

/// What a connection can be used for. The address is part of it: a name that resolves to another one gets another
/// connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PoolKey {
    scheme: Scheme,
    host: Host,
    port: u16,
    address: IpAddr,
}

impl PoolKey {
    pub(crate) fn of(target: &Target, address: SocketAddr) -> Self {
        PoolKey { scheme: target.scheme, host: target.host.clone(), port: target.port, address: address.ip() }
    }
}

struct Idle {
    connection: Connection,
    since: Instant,
}

impl Idle {
    fn is_usable(&self, now: Instant) -> bool {
        now.duration_since(self.since) < MAX_IDLE && self.connection.is_usable(now, MAX_AGE)
    }
}

#[derive(Default)]
struct Connections {
    by_key: HashMap<PoolKey, Vec<Idle>>,
    count: usize,
    is_swept: bool,
}

/// The pool. Dropping it closes its connections.
#[derive(Clone, Default)]
pub(crate) struct Pool {
    connections: Arc<Mutex<Connections>>,
}

impl Pool {
    /// The connection that was used last, if there is one.
    pub(crate) fn take(&self, key: &PoolKey) -> Option<Connection> {
        let now = Instant::now();
        let mut connections = self.connections.lock();
        let idle = connections.by_key.get_mut(key)?;
        let before = idle.len();
        let mut found = None;
        while let Some(last) = idle.pop() {
            if last.is_usable(now) {
                found = Some(last.connection);
                break;
            }
        }
        let (taken, is_empty) = (before - idle.len(), idle.is_empty());
        if is_empty {
            connections.by_key.remove(key);
        }
        connections.count -= taken;
        found
    }

    /// Takes a connection whose response was read to its end. A full pool closes it.
    pub(crate) fn put(&self, key: PoolKey, connection: Connection) {
        let now = Instant::now();
        let mut connections = self.connections.lock();
        let has_room = connections.count < MAX_IDLE_CONNECTIONS
            && connections.by_key.get(&key).is_none_or(|idle| idle.len() < MAX_PER_TARGET);
        if !has_room {
            return;
        }
        connections.by_key.entry(key).or_default().push(Idle { connection, since: now });
        connections.count += 1;
        if !std::mem::replace(&mut connections.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(&self.connections)));
        }
    }
}

/// Closes connections that nobody has used in time, until there is none.
async fn sweep(pool: Weak<Mutex<Connections>>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(pool) = pool.upgrade() else { return };
        let now = Instant::now();
        let mut connections = pool.lock();
        connections.by_key.retain(|_, idle| {
            idle.retain(|idle| idle.is_usable(now));
            !idle.is_empty()
        });
        connections.count = connections.by_key.values().map(Vec::len).sum();
        if connections.count == 0 {
            connections.is_swept = false;
            return;
        }
    }
}
