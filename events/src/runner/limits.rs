//! How many requests run at the same time: of this server, of one agent, and to one host name.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use async_lock::{Semaphore, SemaphoreGuardArc};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use url::Url;

/// Requests to one host name.
const MAX_OF_HOST: usize = 64;
/// The part of the server's requests that one agent may have: its endpoints that hang leave the rest to others.
const PART_OF_AGENT: usize = 4;
/// Names from which those that are not in use are removed.
const MANY: usize = 1_024;

/// The limits of a server.
pub(super) struct Limits {
    server: Arc<Semaphore>,
    agents: Shares<AgentId>,
    hosts: Shares<String>,
}

/// The right to send one request.
pub(super) struct Permit {
    _agent: SemaphoreGuardArc,
    _host: SemaphoreGuardArc,
    _server: SemaphoreGuardArc,
}

/// A limit for each name.
struct Shares<K> {
    most: usize,
    known: Mutex<HashMap<K, Weak<Semaphore>>>,
}

impl<K: Eq + Hash> Shares<K> {
    fn new(most: usize) -> Self {
        Shares { most, known: Mutex::default() }
    }

    fn of(&self, name: K) -> Arc<Semaphore> {
        let mut known = self.known.lock();
        if let Some(known) = known.get(&name).and_then(Weak::upgrade) {
            return known;
        }
        if known.len() >= MANY {
            known.retain(|_, known| known.strong_count() > 0);
        }
        let new = Arc::new(Semaphore::new(self.most));
        known.insert(name, Arc::downgrade(&new));
        new
    }
}

impl Limits {
    pub(super) fn new(concurrency: u32) -> Self {
        let most = usize::try_from(concurrency.max(1)).unwrap_or(usize::MAX);
        Limits {
            server: Arc::new(Semaphore::new(most)),
            agents: Shares::new((most / PART_OF_AGENT).max(1)),
            hosts: Shares::new(MAX_OF_HOST),
        }
    }

    /// Waits until a request of an agent to this URL may be sent. The agent and the host come first, so that one that is
    /// slow uses up none of the server's requests while it waits.
    pub(super) async fn admit(&self, agent: &AgentId, url: &str) -> Permit {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        Permit {
            _agent: self.agents.of(agent.clone()).acquire_arc().await,
            _host: self.hosts.of(host.unwrap_or_default()).acquire_arc().await,
            _server: self.server.acquire_arc().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn an_agent_whose_endpoints_hang_leaves_room_for_others() {
        for concurrency in [1_u32, 3, 4, 5, 8, 256] {
            let limits = Limits::new(concurrency);
            let of_agent = (concurrency as usize / PART_OF_AGENT).max(1);
            let admit = |agent: &str, number: usize| {
                let url = format!("https://{number}.example.com/");
                limits.admit(&agent.parse().unwrap(), &url).now_or_never()
            };
            let mut slow: Vec<Permit> = (0..of_agent).map(|number| admit("slow", number).unwrap()).collect();
            assert!(admit("slow", 999).is_none(), "{concurrency}: {of_agent} are all that an agent has");
            assert_eq!(admit("other", 0).is_some(), concurrency > 1);
            slow.pop();
            assert!(admit("slow", 999).is_some(), "an end makes room");
        }
    }

    #[test]
    fn a_host_has_its_own_limit_and_the_server_one_for_all() {
        let limits = Limits::new(1_000);
        let admit =
            |agent: String| limits.admit(&agent.parse().unwrap(), "https://a.example.com/x").now_or_never();
        let held: Vec<Permit> = (0..MAX_OF_HOST).map(|number| admit(format!("a{number}")).unwrap()).collect();
        assert!(admit("another".to_owned()).is_none());
        drop(held);
        let small = Limits::new(2);
        let admit =
            |agent: &str| small.admit(&agent.parse().unwrap(), "https://a.example.com/").now_or_never();
        let (_first, _second) = (admit("a").unwrap(), admit("b").unwrap());
        assert!(admit("c").is_none());
    }
}
