//! Wakes the readers of event logs for what other servers have written.
//!
//! One find by key reads the counters of the tenants whose readers wait. While nobody waits, nothing is read. Change streams
//! of MongoDB would need a cursor for each server, and its resumption after each failure, to save a fifth of a second.

use std::collections::HashMap;
use std::time::Duration;

use openapi_core::values::AgentId;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::connect::Handle;
use crate::tenant;

/// The time between two reads: how late a reader may be woken.
const INTERVAL: Duration = Duration::from_millis(200);

/// The time after a read that failed.
const RETRY: Duration = Duration::from_secs(1);

/// The task of a store. It ends when the store is closed or dropped.
pub(crate) struct Watch(Mutex<JoinSet<()>>);

impl Watch {
    /// Watches from now on.
    pub(crate) fn start(handle: &Handle) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(watch(handle.clone()));
        Watch(Mutex::new(tasks))
    }

    pub(crate) async fn close(&self) {
        let mut tasks = std::mem::take(&mut *self.0.lock());
        tasks.shutdown().await;
    }
}

async fn watch(handle: Handle) {
    let mut known: HashMap<AgentId, u64> = HashMap::new();
    loop {
        sleep(INTERVAL).await;
        let agents = handle.notifier.agents();
        if agents.is_empty() {
            known.clear();
            continue;
        }
        match handle.list(tenant::event_heads(&handle, &agents)).await {
            Ok(heads) => {
                let heads: HashMap<AgentId, u64> = agents.into_iter().zip(heads).collect();
                // A tenant that is seen for the first time may have changed since its reader began to wait. Commits of this
                // server have woken the readers at once, and wake them once more.
                let changed = heads.iter().filter(|(agent, head)| known.get(*agent) != Some(*head));
                changed.for_each(|(agent, _)| handle.notifier.notify(agent));
                known = heads;
            }
            Err(error) => {
                tracing::debug!(?error, "changes of event logs by other servers are not seen");
                sleep(RETRY).await;
            }
        }
    }
}
