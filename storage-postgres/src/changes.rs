//! Whose event logs have grown: the readers of this process learn of it before the write returns, those of other servers
//! by an [announcement](crate::announcements).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use openapi_core::storage::ChangeNotifier;
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use tokio::sync::Notify;

tokio::task_local! {
    /// The tenants to whose log the transaction of this task has appended.
    static APPENDED: RefCell<BTreeSet<AgentId>>;
}

/// Notes that the transaction of this task has appended to logs.
pub(crate) fn note<'a>(agents: impl Iterator<Item = &'a AgentId>) {
    // Nobody reads events while a store is opened.
    let _ = APPENDED.try_with(|appended| appended.borrow_mut().extend(agents.cloned()));
}

/// Runs a transaction; returns its outcome and the tenants to whose log it has appended.
pub(crate) async fn noting<T>(transaction: impl Future<Output = T>) -> (T, BTreeSet<AgentId>) {
    let noting = async { (transaction.await, APPENDED.with(RefCell::take)) };
    APPENDED.scope(RefCell::default(), noting).await
}

/// The changes of the logs of all tenants.
pub(crate) struct Changes {
    notifier: ChangeNotifier,
    /// The name of this store among those that announce changes to each other.
    store: String,
    /// What is not announced yet.
    unannounced: Mutex<BTreeSet<AgentId>>,
    arrived: Notify,
}

impl Default for Changes {
    fn default() -> Self {
        Changes {
            notifier: ChangeNotifier::default(),
            store: format!("{:016x}", RandomState::new().hash_one(())),
            unannounced: Mutex::default(),
            arrived: Notify::new(),
        }
    }
}

impl Changes {
    pub(crate) fn notifier(&self) -> &ChangeNotifier {
        &self.notifier
    }

    /// Wakes the readers of logs to which a transaction has appended. Its commit is over.
    pub(crate) fn committed(&self, agents: BTreeSet<AgentId>) {
        if agents.is_empty() {
            return;
        }
        agents.iter().for_each(|agent| self.notifier.notify(agent));
        self.unannounced.lock().extend(agents);
        self.arrived.notify_one();
    }

    /// Waits until there is something to announce.
    pub(crate) async fn arrival(&self) {
        self.arrived.notified().await;
    }

    /// The announcements that other servers need, once.
    pub(crate) fn take_announcements(&self) -> Vec<String> {
        let agents = std::mem::take(&mut *self.unannounced.lock());
        agents.iter().map(|agent| format!("{} {agent}", self.store)).collect()
    }

    /// Wakes the readers of the log that another server announces.
    pub(crate) fn hear(&self, announcement: &str) {
        // A later release may announce more.
        if let Some((store, agent)) = announcement.split_once(' ')
            && store != self.store
            && let Ok(agent) = agent.parse()
        {
            self.notifier.notify(&agent);
        }
    }
}
