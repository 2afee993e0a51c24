//! Whose event logs have grown: the readers of this process learn of it before the write returns, those of other servers
//! by an [announcement](crate::announcements).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use openapi_core::events::EventType;
use openapi_core::storage::{ChangeNotifier, Effects};
use openapi_core::values::AgentId;
use parking_lot::Mutex;
use tokio::sync::Notify;

tokio::task_local! {
    /// What the transaction of this task has appended to logs.
    static APPENDED: RefCell<Appended>;
}

/// What a transaction has appended to logs.
#[derive(Default)]
pub(crate) struct Appended {
    tenants: BTreeSet<AgentId>,
    kinds: Vec<EventType>,
}

/// Notes the events of writes that the transaction of this task has appended.
pub(crate) fn note<'a>(writes: impl Iterator<Item = (&'a AgentId, &'a Effects)>) {
    // Nobody reads events while a store is opened.
    let _ = APPENDED.try_with(|appended| {
        let Appended { tenants, kinds } = &mut *appended.borrow_mut();
        for (agent, effects) in writes.filter(|(_, effects)| !effects.events.is_empty()) {
            tenants.insert(agent.clone());
            kinds.extend(effects.events.iter().map(|event| event.data.kind()));
        }
    });
}

/// Runs a transaction; returns its outcome and what it has appended to logs.
pub(crate) async fn noting<T>(transaction: impl Future<Output = T>) -> (T, Appended) {
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

    /// Counts what a transaction has appended, and wakes the readers of the logs. Its commit is over.
    pub(crate) fn committed(&self, appended: Appended) {
        let Appended { tenants, kinds } = appended;
        if tenants.is_empty() {
            return;
        }
        self.notifier.count(kinds);
        tenants.iter().for_each(|agent| self.notifier.notify(agent));
        self.unannounced.lock().extend(tenants);
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
