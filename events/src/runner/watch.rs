//! Which endpoints there are, which of them are delivered to here, and which are to be looked at.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use openapi_core::values::{AgentId, PlatformId, Timestamp};

use super::drive::Again;
use super::look::{Look, LookFor};
use super::mailbox::Mailbox;
use super::{DUE_EVERY, Key, SCAN_EVERY};

/// How long an endpoint that another server delivers to is left alone, in milliseconds.
const ELSEWHERE: i64 = 1_000;

/// The endpoints of an agent.
#[derive(Default)]
struct AgentWatch {
    /// With each, whether new events concern it: it is enabled, as far as is known.
    endpoints: HashMap<PlatformId, bool>,
    head: u64,
}

/// All endpoints.
pub(super) struct Watch {
    agents: HashMap<AgentId, AgentWatch>,
    drivers: HashMap<Key, Arc<Mailbox>>,
    /// To be looked at now.
    wanted: HashSet<Key>,
    /// To be looked at from this time on.
    later: HashMap<Key, Timestamp>,
    /// Delivered to by another server, so not to be looked at until this time.
    elsewhere: HashMap<Key, Timestamp>,
    new_agents: Vec<AgentId>,
    /// Agents with commits of this process.
    committed: HashSet<AgentId>,
    polls_heads: bool,
    is_reading_heads: bool,
    is_reading_due: bool,
    is_scanning: bool,
    due_at: Timestamp,
    scan_at: Timestamp,
}

impl Watch {
    /// Nothing yet; a first scan runs.
    pub(super) fn new(now: Timestamp) -> Self {
        Watch {
            agents: HashMap::new(),
            drivers: HashMap::new(),
            wanted: HashSet::new(),
            later: HashMap::new(),
            elsewhere: HashMap::new(),
            new_agents: Vec::new(),
            committed: HashSet::new(),
            polls_heads: false,
            is_reading_heads: false,
            is_reading_due: false,
            is_scanning: true,
            due_at: now,
            scan_at: now.plus_millis(SCAN_EVERY),
        }
    }

    pub(super) fn watches(&self, agent: &AgentId) -> bool {
        self.agents.contains_key(agent)
    }

    pub(super) fn drain(&self) {
        self.drivers.values().for_each(|mailbox| mailbox.drain());
    }

    pub(super) fn committed(&mut self, agent: &AgentId) {
        self.committed.insert(agent.clone());
    }

    /// A person has changed or created an endpoint.
    pub(super) fn changed(&mut self, key: Key) {
        self.add(&key, true);
        self.later.remove(&key);
        self.elsewhere.remove(&key);
        match self.drivers.get(&key) {
            Some(mailbox) => mailbox.change(),
            None => {
                self.wanted.insert(key);
            }
        }
    }

    pub(super) fn ended(&mut self, key: Key, again: Again, now: Timestamp) {
        let mailbox = self.drivers.remove(&key);
        match again {
            Again::Now => {
                self.wanted.insert(key);
            }
            Again::After(millis) => {
                self.later.insert(key, now.plus_millis(millis));
            }
            Again::Elsewhere => {
                self.elsewhere.insert(key, now.plus_millis(ELSEWHERE));
            }
            Again::WithEvents(seen) => {
                // What came while it ended.
                if mailbox.is_some_and(|mailbox| mailbox.take_change() || mailbox.head() > seen) {
                    self.wanted.insert(key);
                }
            }
            Again::WhenEnabled => {
                self.add(&key, false);
                if mailbox.is_some_and(|mailbox| mailbox.take_change()) {
                    self.wanted.insert(key);
                }
            }
            Again::Never => {
                if let Some(agent) = self.agents.get_mut(&key.0) {
                    agent.endpoints.remove(&key.1);
                    if agent.endpoints.is_empty() {
                        self.agents.remove(&key.0);
                    }
                }
            }
        }
    }

    fn add(&mut self, (agent, id): &Key, is_enabled: bool) {
        if !self.agents.contains_key(agent) {
            self.new_agents.push(agent.clone());
            self.committed.insert(agent.clone());
        }
        self.agents.entry(agent.clone()).or_default().endpoints.insert(*id, is_enabled);
    }

    fn want(&mut self, key: Key) {
        let is_known = self.drivers.contains_key(&key) || self.later.contains_key(&key);
        if !is_known && !self.elsewhere.contains_key(&key) {
            self.wanted.insert(key);
        }
    }

    pub(super) fn looked(&mut self, look: Look, now: Timestamp) {
        match look {
            Look::Heads(heads) => {
                self.is_reading_heads = false;
                heads.into_iter().for_each(|(agent, head)| self.grown(&agent, head));
            }
            Look::Due(keys) => {
                self.is_reading_due = false;
                self.due_at = now.plus_millis(DUE_EVERY);
                for key in keys {
                    self.add(&key, true);
                    self.want(key);
                }
            }
            Look::All(endpoints) => {
                self.is_scanning = false;
                self.scan_at = now.plus_millis(SCAN_EVERY);
                for endpoint in endpoints {
                    self.add(&endpoint.key, endpoint.is_enabled);
                    if endpoint.is_late {
                        self.want(endpoint.key);
                    }
                }
            }
        }
    }

    fn grown(&mut self, id: &AgentId, head: u64) {
        let Some(agent) = self.agents.get_mut(id) else { return };
        if head <= agent.head {
            return;
        }
        agent.head = head;
        let awake = agent.endpoints.iter().filter(|(_, is_enabled)| **is_enabled);
        let keys: Vec<Key> = awake.map(|(endpoint, _)| (id.clone(), *endpoint)).collect();
        for key in keys {
            match self.drivers.get(&key) {
                Some(mailbox) => mailbox.set_head(head),
                None => self.want(key),
            }
        }
    }

    /// Time passes.
    pub(super) fn tick(&mut self, now: Timestamp) {
        self.polls_heads = true;
        self.elsewhere.retain(|_, at| *at > now);
        let due: Vec<Key> =
            self.later.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect();
        for key in due {
            self.later.remove(&key);
            self.wanted.insert(key);
        }
    }

    pub(super) fn take_new_agents(&mut self) -> Vec<AgentId> {
        std::mem::take(&mut self.new_agents)
    }

    /// What is to be read now; one read of each kind at a time.
    pub(super) fn take_looks(&mut self, now: Timestamp) -> Vec<LookFor> {
        let mut looks = Vec::new();
        if !self.is_reading_heads && (self.polls_heads || !self.committed.is_empty()) {
            let agents: Vec<AgentId> = match self.polls_heads {
                true => self.agents.keys().cloned().collect(),
                false => self.committed.iter().filter(|agent| self.watches(agent)).cloned().collect(),
            };
            self.polls_heads = false;
            self.committed.clear();
            if !agents.is_empty() {
                self.is_reading_heads = true;
                looks.push(LookFor::Heads(agents));
            }
        }
        if !self.is_reading_due && now >= self.due_at {
            self.is_reading_due = true;
            looks.push(LookFor::Due);
        }
        if !self.is_scanning && now >= self.scan_at {
            self.is_scanning = true;
            looks.push(LookFor::All);
        }
        looks
    }

    /// The endpoints whose drivers begin now.
    pub(super) fn take_startable(&mut self) -> Vec<(Key, Arc<Mailbox>)> {
        let wanted = std::mem::take(&mut self.wanted);
        let mut started = Vec::with_capacity(wanted.len());
        for key in wanted {
            if self.drivers.contains_key(&key) {
                continue;
            }
            let mailbox = Arc::new(Mailbox::default());
            mailbox.set_head(self.agents.get(&key.0).map_or(0, |agent| agent.head));
            self.drivers.insert(key.clone(), Arc::clone(&mailbox));
            started.push((key, mailbox));
        }
        started
    }
}
