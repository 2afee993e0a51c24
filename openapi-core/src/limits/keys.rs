//! Limits per key: the sliding log in memory, leases in the store, so that the hour outlives a restart (contract 8.1).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::{Decision, SlidingLog};
use crate::access::RateLimits;
use crate::storage::{AccessStore, RateWindow, Result};
use crate::values::{AgentId, KeyId, Timestamp};

/// A lease covers this part of the hour's limit: one write for so many requests, and after a crash at most so many
/// count twice.
const LEASE_PART: u32 = 50;

/// A key that rests this long gives its lease back.
const REST_MILLIS: i64 = 5 * 60_000;

/// The windows of all keys in use.
pub(crate) struct KeyLimiter {
    windows: RwLock<HashMap<KeyId, Arc<KeyWindow>>>,
    started_at: Timestamp,
}

/// The window of one key.
pub(crate) struct KeyWindow {
    agent: AgentId,
    key: KeyId,
    state: Mutex<State>,
    /// Held while the store is read or written for this key, so that writes cannot overtake each other.
    renewal: async_lock::Mutex<()>,
}

#[derive(Default)]
struct State {
    log: SlidingLog,
    loaded: bool,
    /// Admissions that the store already counts.
    lease: u32,
    last_used: i64,
    last_address: Option<IpAddr>,
    /// The last use that the store knows.
    use_saved: i64,
}

impl KeyLimiter {
    /// A limiter that began its work at `started_at`: what an earlier one had leased was used before.
    pub(crate) fn new(started_at: Timestamp) -> Self {
        KeyLimiter { windows: RwLock::default(), started_at }
    }

    /// The window of a key.
    pub(crate) fn window(&self, agent: &AgentId, key: KeyId) -> Arc<KeyWindow> {
        let known = self.windows.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        known.unwrap_or_else(|| {
            let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
            let new = || {
                Arc::new(KeyWindow {
                    agent: agent.clone(),
                    key,
                    state: Mutex::default(),
                    renewal: async_lock::Mutex::new(()),
                })
            };
            Arc::clone(windows.entry(key).or_insert_with(new))
        })
    }

    /// Counts a request of a key, if there is room.
    pub(crate) async fn admit(
        &self,
        store: &dyn AccessStore,
        window: &KeyWindow,
        limits: RateLimits,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<Decision> {
        if let Some(decision) = window.try_admit(limits, address, now) {
            return Ok(decision);
        }
        let _renewal = window.renewal.lock().await;
        loop {
            if let Some(decision) = window.try_admit(limits, address, now) {
                return Ok(decision);
            }
            if !window.state().loaded {
                let saved = store.rate_window(&window.agent, window.key).await?.unwrap_or_default();
                let mut state = window.state();
                state.log = SlidingLog::restored(&saved, self.started_at.min(now));
                state.loaded = true;
                continue;
            }
            let lease = (limits.per_hour / LEASE_PART).max(1);
            window.save(store, lease, now).await?;
        }
    }

    /// Saves last uses, gives back the leases of keys that rest, and forgets keys without a counted request.
    pub(crate) async fn maintain(&self, store: &dyn AccessStore, now: Timestamp) -> Result<()> {
        for window in self.all() {
            window.save_use(store).await?;
            let rests = now.millis() - window.state().last_used >= REST_MILLIS;
            if rests {
                window.give_back(store, now).await?;
            }
        }
        let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|_, window| {
            let mut state = window.state();
            // Whoever else holds the window may be about to use it.
            Arc::strong_count(window) > 1 || state.lease > 0 || !state.log.is_idle(now)
        });
        Ok(())
    }

    /// Gives back every lease: the orderly end of a server.
    pub(crate) async fn drain(&self, store: &dyn AccessStore, now: Timestamp) -> Result<()> {
        for window in self.all() {
            window.save_use(store).await?;
            window.give_back(store, now).await?;
        }
        Ok(())
    }

    fn all(&self) -> Vec<Arc<KeyWindow>> {
        self.windows.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl KeyWindow {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The decision, unless the store has to be asked first.
    fn try_admit(&self, limits: RateLimits, address: IpAddr, now: Timestamp) -> Option<Decision> {
        let mut state = self.state();
        if !state.loaded {
            return None;
        }
        state.last_used = now.millis();
        state.last_address = Some(address);
        if state.lease == 0 {
            // A refusal needs no lease.
            let seen = state.log.peek(now, limits);
            if seen.minute.remaining > 0 && seen.hour.remaining > 0 {
                return None;
            }
            return Some(Decision { admitted: false, ..seen });
        }
        let decision = state.log.admit(now, limits);
        if decision.admitted {
            state.lease -= 1;
        }
        Some(decision)
    }

    /// Saves what is counted together with a lease of `lease`. The caller holds `renewal`.
    async fn save(&self, store: &dyn AccessStore, lease: u32, now: Timestamp) -> Result<()> {
        let window = {
            let mut state = self.state();
            // Nothing is admitted while the lease is written, nor after a failure, of which it is not known whether
            // it was written.
            state.lease = 0;
            RateWindow { counted: state.log.counted(now), leased: lease }
        };
        store.save_rate_window(&self.agent, self.key, &window).await?;
        self.state().lease = lease;
        Ok(())
    }

    async fn save_use(&self, store: &dyn AccessStore) -> Result<()> {
        let (at, address) = {
            let state = self.state();
            if state.last_used == state.use_saved {
                return Ok(());
            }
            (state.last_used, state.last_address)
        };
        store.record_key_use(&self.agent, self.key, Timestamp::from_millis(at), address).await?;
        self.state().use_saved = at;
        Ok(())
    }

    async fn give_back(&self, store: &dyn AccessStore, now: Timestamp) -> Result<()> {
        let _renewal = self.renewal.lock().await;
        if self.state().lease == 0 {
            return Ok(());
        }
        self.save(store, 0, now).await
    }
}
