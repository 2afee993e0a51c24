//! Reads that find endpoints to deliver to.

use std::collections::HashMap;

use futures_util::future::BoxFuture;
use openapi_core::storage::{
    Effects, RecordChange, RecordKind, RecordsWrite, StorageError, StorageErrorKind,
};
use openapi_core::values::AgentId;

use super::{Key, Runner, Standing};
use crate::delivery::DeliveryState;
use crate::webhooks::{EndpointRecord, Versioned, all_of, id_of};

/// Records that are read at a time.
const READ_AT_ONCE: u32 = 500;
/// Agents whose heads are read at a time.
const HEADS_AT_ONCE: usize = 500;
/// Endpoints of which the age of the oldest event is read.
const MAX_AGES: usize = 100;

/// What is to be read.
pub(super) enum LookFor {
    Heads(Vec<AgentId>),
    Due,
    All,
}

/// What was read.
pub(super) enum Look {
    /// The newest event of each agent.
    Heads(Vec<(AgentId, u64)>),
    /// Endpoints with something to do, and those of servers that are gone.
    Due(Vec<Key>),
    /// Every endpoint.
    All(Vec<Found>),
}

/// An endpoint that was found.
pub(super) struct Found {
    pub(super) key: Key,
    pub(super) is_enabled: bool,
    /// Whether there are events that it has not got.
    pub(super) is_late: bool,
}

impl LookFor {
    pub(super) fn run(self, runner: &Runner) -> BoxFuture<'_, Look> {
        match self {
            LookFor::Heads(agents) => Box::pin(heads(runner, agents)),
            LookFor::Due => Box::pin(due(runner)),
            LookFor::All => Box::pin(scan(runner)),
        }
    }
}

fn warn(error: &StorageError) {
    tracing::warn!(%error, source = ?error.source, "webhooks cannot be looked at; trying again");
}

async fn heads(runner: &Runner, agents: Vec<AgentId>) -> Look {
    let mut found = Vec::with_capacity(agents.len());
    for agents in agents.chunks(HEADS_AT_ONCE) {
        match runner.storage.log_heads(agents).await {
            Ok(heads) => found.extend(agents.iter().cloned().zip(heads)),
            Err(error) => warn(&error),
        }
    }
    Look::Heads(found)
}

async fn due(runner: &Runner) -> Look {
    let kind = RecordKind::WebhookState;
    let found = runner.storage.due_records(kind, runner.now(), READ_AT_ONCE).await;
    let records = found.inspect_err(warn).unwrap_or_default();
    Look::Due(records.iter().filter_map(|(agent, record)| Some((agent.clone()?, id_of(record)?))).collect())
}

/// Looks at every endpoint, tells how they stand, and removes attempts whose time is over.
pub(super) async fn scan(runner: &Runner) -> Look {
    let found = try_scan(runner).await.inspect_err(warn);
    if let Err(error) = remove_old_attempts(runner).await {
        warn(&error);
    }
    Look::All(found.unwrap_or_default())
}

async fn try_scan(runner: &Runner) -> Result<Vec<Found>, StorageError> {
    let mut endpoints: HashMap<Key, bool> = HashMap::new();
    for (agent, record) in all_of(&*runner.storage, RecordKind::WebhookEndpoint).await? {
        let (Some(agent), Some(id)) = (agent, id_of(&record)) else { continue };
        let endpoint: Versioned<EndpointRecord> = Versioned::of(&record)?;
        endpoints.insert((agent, id), endpoint.value.is_enabled());
    }
    let mut agents: Vec<AgentId> = endpoints.keys().map(|(agent, _)| agent.clone()).collect();
    agents.sort_unstable();
    agents.dedup();
    let mut heads: HashMap<AgentId, u64> = HashMap::new();
    for agents in agents.chunks(HEADS_AT_ONCE) {
        heads.extend(agents.iter().cloned().zip(runner.storage.log_heads(agents).await?));
    }
    let (mut found, mut standing, mut ages) = (Vec::new(), Standing::default(), 0);
    for (agent, record) in all_of(&*runner.storage, RecordKind::WebhookState).await? {
        let (Some(agent), Some(id)) = (agent, id_of(&record)) else { continue };
        let head = heads.get(&agent).copied().unwrap_or_default();
        let key = (agent, id);
        let Some(is_enabled) = endpoints.get(&key).copied() else { continue };
        let state: DeliveryState = Versioned::of(&record)?.value;
        let is_late = state.cursor < head || !state.open.is_empty() || !state.replays.is_empty();
        standing.add(is_enabled, &state, head);
        let is_aged = is_enabled && state.cursor < head && state.failing_since.is_none();
        if is_aged && ages < MAX_AGES {
            ages += 1;
            let page = runner.storage.log(&key.0, state.cursor, 1).await?;
            let age =
                page.entries.first().map_or(0, |entry| runner.now().millis_since(entry.at).max(0) / 1_000);
            standing.oldest_seconds = standing.oldest_seconds.max(u64::try_from(age).unwrap_or_default());
        }
        found.push(Found { key, is_enabled, is_late: is_late && is_enabled });
    }
    runner.observer.standing(standing);
    Ok(found)
}

impl Standing {
    fn add(&mut self, is_enabled: bool, state: &DeliveryState, head: u64) {
        let group = match (is_enabled, state.failing_since) {
            (false, _) => &mut self.disabled,
            (true, Some(_)) => &mut self.failing,
            (true, None) => &mut self.healthy,
        };
        *group += 1;
        if is_enabled {
            self.pending += head.saturating_sub(state.cursor) + state.open.len() as u64;
        }
    }
}

async fn remove_old_attempts(runner: &Runner) -> Result<(), StorageError> {
    loop {
        let kind = RecordKind::WebhookAttempt;
        let old = runner.storage.due_records(kind, runner.now(), READ_AT_ONCE).await?;
        let mut by_agent: HashMap<AgentId, Vec<RecordChange>> = HashMap::new();
        for (agent, record) in &old {
            let Some(agent) = agent else { continue };
            let change = RecordChange::Remove { key: record.key.clone(), version: record.version };
            by_agent.entry(agent.clone()).or_default().push(change);
        }
        for (agent, changes) in by_agent {
            let write = RecordsWrite { changes, effects: Effects::default() };
            match runner.storage.save_records(Some(&agent), &write).await {
                // Another server was faster, or the agent is gone.
                Err(error) if matches!(error.kind, StorageErrorKind::Stale | StorageErrorKind::Missing) => {
                    return Ok(());
                }
                saved => saved?,
            }
        }
        if old.len() < READ_AT_ONCE as usize {
            return Ok(());
        }
    }
}
