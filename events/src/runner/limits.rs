//! How many requests run at the same time: of this server, of one agent, and to one host name.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::pin;
use std::sync::{Arc, Weak};

use async_lock::{Semaphore, SemaphoreGuardArc};
use futures_util::future::{Either, select};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use url::Url;

use super::Key;

/// Requests to one host name.
const MAX_OF_HOST: usize = 64;
/// The part of the server's requests that one agent may have: its endpoints that hang leave the rest to others.
const PART_OF_AGENT: usize = 4;
/// Names from which those that are not in use are removed.
const MANY: usize = 1_024;

/// The limits of a server.
///
/// An endpoint that does not answer holds its requests for their whole timeout. So that it cannot stop the other endpoints
/// of its agent, half of an agent's requests, at most one for each endpoint, are for endpoints of which no request runs.
pub(super) struct Limits {
    server: Arc<Semaphore>,
    endpoints: Shares<Key>,
    firsts: Shares<AgentId>,
    further: Shares<AgentId>,
    hosts: Shares<String>,
}

/// The right to send one request.
pub(super) struct Permit {
    _share: Share,
    _host: SemaphoreGuardArc,
    _server: SemaphoreGuardArc,
}

/// A part of what an agent has.
enum Share {
    First { _endpoint: SemaphoreGuardArc, _agent: SemaphoreGuardArc },
    Further { _agent: SemaphoreGuardArc },
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
    /// The limits of so many requests, where an agent has at most so many endpoints.
    pub(super) fn new(concurrency: u32, endpoints: usize) -> Self {
        let most = usize::try_from(concurrency.max(1)).unwrap_or(usize::MAX);
        let of_agent = (most / PART_OF_AGENT).max(1);
        let firsts = (of_agent / 2).min(endpoints);
        Limits {
            server: Arc::new(Semaphore::new(most)),
            endpoints: Shares::new(1),
            firsts: Shares::new(firsts),
            further: Shares::new(of_agent - firsts),
            hosts: Shares::new(MAX_OF_HOST),
        }
    }

    /// Waits until a request to this URL of an endpoint may be sent. The agent and the host come first, so that one that is
    /// slow uses up none of the server's requests while it waits.
    pub(super) async fn admit(&self, key: &Key, url: &str) -> Permit {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        Permit {
            _share: self.share(key).await,
            _host: self.hosts.of(host.unwrap_or_default()).acquire_arc().await,
            _server: self.server.acquire_arc().await,
        }
    }

    async fn share(&self, key: &Key) -> Share {
        let first = async {
            let endpoint = self.endpoints.of(key.clone()).acquire_arc().await;
            Share::First { _endpoint: endpoint, _agent: self.firsts.of(key.0.clone()).acquire_arc().await }
        };
        let further = async { Share::Further { _agent: self.further.of(key.0.clone()).acquire_arc().await } };
        match select(pin!(first), pin!(further)).await {
            Either::Left((share, _)) | Either::Right((share, _)) => share,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn key(agent: &str, endpoint: usize) -> Key {
        (agent.parse().unwrap(), format!("{endpoint:024x}").parse().unwrap())
    }

    #[test]
    fn an_agent_whose_endpoints_hang_leaves_room_for_others() {
        for concurrency in [1_u32, 3, 4, 5, 8, 256] {
            let limits = Limits::new(concurrency, 20);
            let of_agent = (concurrency as usize / PART_OF_AGENT).max(1);
            let admit = |agent: &str, number: usize| {
                let url = format!("https://{number}.example.com/");
                limits.admit(&key(agent, number), &url).now_or_never()
            };
            let mut slow: Vec<Permit> = (0..of_agent).map(|number| admit("slow", number).unwrap()).collect();
            assert!(admit("slow", 999).is_none(), "{concurrency}: {of_agent} are all that an agent has");
            assert_eq!(admit("other", 0).is_some(), concurrency > 1);
            slow.pop();
            assert!(admit("slow", 999).is_some(), "an end makes room");
        }
    }

    #[test]
    fn endpoints_that_hang_leave_one_request_to_each_other_endpoint_of_their_agent() {
        let limits = Limits::new(256, 20);
        let admit = |number: usize| {
            limits.admit(&key("agent", number), &format!("https://{number}.example.com/")).now_or_never()
        };
        let hanging: Vec<Permit> =
            (0..19).flat_map(|number| std::iter::repeat_n(number, 8)).filter_map(admit).collect();
        assert_eq!(hanging.len(), 19 + 44, "one of each, and all that is for further requests");
        let healthy = admit(19).expect("room for an endpoint of which no request runs");
        assert!(admit(19).is_none());
        drop(healthy);
        assert!(admit(19).is_some());
    }

    /// A request that waits for those of others goes on when one of its own endpoint ends.
    #[test]
    fn a_waiting_request_goes_on_when_one_of_its_endpoint_ends() {
        let limits = Limits::new(4 * 4, 2);
        let _further: Vec<Permit> = (0..3)
            .filter_map(|_| limits.admit(&key("agent", 0), "https://0.example.com/").now_or_never())
            .collect();
        let (key, url) = (key("agent", 1), "https://1.example.com/");
        let running =
            limits.admit(&key, url).now_or_never().expect("the first request of the second endpoint");
        let mut waiting = Box::pin(limits.admit(&key, url));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(running);
        assert!(waiting.as_mut().now_or_never().is_some());
    }

    #[test]
    fn a_host_has_its_own_limit_and_the_server_one_for_all() {
        let limits = Limits::new(1_000, 20);
        let admit = |agent: String| limits.admit(&key(&agent, 0), "https://a.example.com/x").now_or_never();
        let held: Vec<Permit> = (0..MAX_OF_HOST).map(|number| admit(format!("a{number}")).unwrap()).collect();
        assert!(admit("another".to_owned()).is_none());
        drop(held);
        let small = Limits::new(2, 20);
        let admit = |agent: &str| small.admit(&key(agent, 0), "https://a.example.com/").now_or_never();
        let (_first, _second) = (admit("a").unwrap(), admit("b").unwrap());
        assert!(admit("c").is_none());
    }
}
