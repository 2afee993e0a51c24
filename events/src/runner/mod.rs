//! The future that delivers events to the endpoints of a platform.
//!
//! Any number of servers may run it over one store: each endpoint is delivered to by the server that holds its lease.
//! A server looks at an endpoint when this process has committed an event of its agent or changed it, when the log of
//! its agent has grown, when a retry or a lease of another server is due, and every minute in any case.

mod desk;
mod drive;
mod limits;
mod look;
mod mailbox;
mod observer;
mod watch;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use openapi_core::platform::Platform;
use openapi_core::storage::Storage;
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use parking_lot::RwLock;

use crate::webhooks::Webhooks;
use drive::{Again, drive};
use limits::Limits;
use look::Look;
use mailbox::Mailbox;
pub use observer::{DeliveryObserver, NoObserver, OUTCOMES, Standing};
use watch::Watch;

/// How often the logs are looked at for events of other servers, in milliseconds.
const TICK: u64 = 250;
/// How often due endpoints are looked for, in milliseconds.
const DUE_EVERY: i64 = 1_000;
/// How often every endpoint is looked at, in milliseconds.
const SCAN_EVERY: i64 = 60_000;

/// An endpoint of an agent.
type Key = (AgentId, PlatformId);

/// Delivers events to the endpoints of all agents.
pub struct Runner {
    webhooks: RwLock<Webhooks>,
    storage: Arc<dyn Storage>,
    server: PlatformId,
    limits: Limits,
    observer: Arc<dyn DeliveryObserver>,
}

/// Something that has happened.
enum Woken {
    Stop,
    Ended(Key, Again),
    Committed(AgentId),
    Changed,
    Looked(Look),
    Tick,
}

impl Runner {
    /// A runner of the endpoints of a platform. The platform needs a timer. Another runner in the same process needs
    /// [`Webhooks`] of its own.
    #[must_use]
    pub fn new(webhooks: Webhooks, observer: Arc<dyn DeliveryObserver>) -> Self {
        let platform = webhooks.platform();
        let now = platform.now();
        Runner {
            storage: Arc::clone(platform.storage()),
            server: platform.ports().ids.platform_id(now),
            limits: Limits::new(webhooks.settings.concurrency, webhooks.settings.max_endpoints as usize),
            observer,
            webhooks: RwLock::new(webhooks),
        }
    }

    /// Goes on over another platform with the same store, such as one with other server keys.
    pub fn replace(&self, platform: Arc<Platform>) {
        let mut webhooks = self.webhooks.write();
        *webhooks = webhooks.over(platform);
    }

    fn webhooks(&self) -> Webhooks {
        self.webhooks.read().clone()
    }

    fn now(&self) -> Timestamp {
        self.webhooks.read().platform.now()
    }

    fn sleep(&self, millis: u64) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        self.webhooks.read().platform.ports().timer.sleep(millis)
    }

    /// Delivers until `stop`. Then nothing new begins; requests that run end, progress is saved, and leases are given
    /// back, within 20 s. A future that is dropped leaves leases, which end by themselves within 45 s.
    pub async fn run(&self, stop: impl Future<Output = ()> + Send) {
        let mut stop = pin!(stop);
        let mut watch = Watch::new(self.now());
        let mut running: FuturesUnordered<BoxFuture<'_, (Key, Again)>> = FuturesUnordered::new();
        let mut commits: FuturesUnordered<BoxFuture<'_, AgentId>> = FuturesUnordered::new();
        let mut looks: FuturesUnordered<BoxFuture<'_, Look>> = FuturesUnordered::new();
        let signal = Arc::clone(&self.webhooks().signal);
        looks.push(Box::pin(look::scan(self)));
        let mut tick = self.sleep(TICK);
        let mut is_stopping = false;
        while !is_stopping || !running.is_empty() {
            let woken = poll_fn(|cx| {
                signal.register(cx.waker());
                if !is_stopping && stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Woken::Stop);
                }
                if let Poll::Ready(Some((key, again))) = running.poll_next_unpin(cx) {
                    return Poll::Ready(Woken::Ended(key, again));
                }
                if let Poll::Ready(Some(agent)) = commits.poll_next_unpin(cx) {
                    return Poll::Ready(Woken::Committed(agent));
                }
                if let Poll::Ready(Some(look)) = looks.poll_next_unpin(cx) {
                    return Poll::Ready(Woken::Looked(look));
                }
                if signal.is_waiting() {
                    return Poll::Ready(Woken::Changed);
                }
                tick.as_mut().poll(cx).map(|()| Woken::Tick)
            })
            .await;
            let now = self.now();
            match woken {
                Woken::Stop => {
                    is_stopping = true;
                    watch.drain();
                }
                Woken::Ended(key, again) => watch.ended(key, again, now),
                Woken::Committed(agent) => {
                    watch.committed(&agent);
                    if watch.watches(&agent) {
                        commits.push(self.next_commit(agent));
                    }
                }
                Woken::Changed => signal.take().into_iter().for_each(|key| watch.changed(key)),
                Woken::Looked(look) => watch.looked(look, now),
                Woken::Tick => {
                    tick = self.sleep(TICK);
                    watch.tick(now);
                }
            }
            if is_stopping {
                continue;
            }
            for agent in watch.take_new_agents() {
                commits.push(self.next_commit(agent));
            }
            for look in watch.take_looks(now) {
                looks.push(look.run(self));
            }
            for (key, mailbox) in watch.take_startable() {
                running.push(self.start(key, mailbox));
            }
        }
    }

    fn start(&self, key: Key, mailbox: Arc<Mailbox>) -> BoxFuture<'_, (Key, Again)> {
        Box::pin(async move {
            let again = drive(self, &key, &mailbox).await;
            (key, again)
        })
    }

    /// Waits for a commit of this process with events of an agent.
    fn next_commit(&self, agent: AgentId) -> BoxFuture<'_, AgentId> {
        // Begins to listen before anything is looked at again.
        let mut subscription = self.storage.notifier().subscribe(&agent);
        Box::pin(async move {
            subscription.changed().await;
            agent
        })
    }
}
