//! How many lookups of names run at the same time: for one agent, and for all.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use openapi_core::values::AgentId;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::resolve::Resolve;

/// Lookups of one agent: as many as one webhook endpoint has requests at a time.
const MAX_OF_AGENT: usize = 8;
/// Lookups of all agents. Each may block a thread, of which the runtime has 512 by default.
const MAX: usize = 256;
/// Agents from which those without a lookup are removed.
const MANY_AGENTS: usize = 1_024;

/// A resolver with limits. A lookup counts until it ends, not until its caller gives up, because the operating system
/// does not stop one: names that hang must not use up the threads.
pub(crate) struct Lookups {
    resolver: Arc<dyn Resolve>,
    all: Arc<Semaphore>,
    agents: Mutex<HashMap<Option<AgentId>, Weak<Semaphore>>>,
}

impl fmt::Debug for Lookups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookups").finish_non_exhaustive()
    }
}

impl Lookups {
    pub(crate) fn new(resolver: Arc<dyn Resolve>) -> Self {
        Lookups { resolver, all: Arc::new(Semaphore::new(MAX)), agents: Mutex::default() }
    }

    /// All addresses of a name, once a lookup for this agent may begin. The agent's own limit comes first, so that an
    /// agent whose names hang waits without using up the lookups of others.
    pub(crate) async fn addresses(&self, agent: Option<&AgentId>, name: &str) -> io::Result<Vec<IpAddr>> {
        let of_agent = self.of_agent(agent).acquire_owned().await.map_err(io::Error::other)?;
        let of_all = Arc::clone(&self.all).acquire_owned().await.map_err(io::Error::other)?;
        let (resolver, name) = (Arc::clone(&self.resolver), name.to_owned());
        let lookup = tokio::spawn(async move {
            let _permits = (of_agent, of_all);
            resolver.resolve(&name).await
        });
        lookup.await.map_err(io::Error::other)?
    }

    fn of_agent(&self, agent: Option<&AgentId>) -> Arc<Semaphore> {
        let mut agents = self.agents.lock();
        let agent = agent.cloned();
        if let Some(known) = agents.get(&agent).and_then(Weak::upgrade) {
            return known;
        }
        if agents.len() >= MANY_AGENTS {
            agents.retain(|_, known| known.strong_count() > 0);
        }
        let new = Arc::new(Semaphore::new(MAX_OF_AGENT));
        agents.insert(agent, Arc::downgrade(&new));
        new
    }
}
