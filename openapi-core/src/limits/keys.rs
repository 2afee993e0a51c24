//! Limits per key: the sliding log in memory, leases in the store, so that the limits hold for all servers together and
//! outlive a restart (contract 8.1).
//!
//! Why no window is ever over: take the last lease that was taken of all those used in it. When it was taken, the
//! ledger held everything admitted before, and every other lease as a whole; together with the new lease that was at
//! most the limit, or nobody else held one and the server compares each request with what it knows. This needs the
//! servers' clocks to agree: a difference shortens the window by as much.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use parking_lot::{Mutex, MutexGuard, RwLock};
use serde::{Deserialize, Serialize};

use rate_limits::{HOUR, MINUTE};

use super::{Decision, SlidingLog};
use crate::access::RateLimits;
use crate::json::RawObject;
use crate::ports::Clock;
use crate::storage::{
    AccessStore, Effects, RecordKey, RecordKind, RecordStore, RecordsWrite, Result, StorageError,
    StorageErrorKind, StoredRecord,
};
use crate::values::{AgentId, KeyId, PlatformId, Timestamp};

/// A lease covers this part of the hour's limit: one write for so many requests, and after a crash at most so many
/// count twice.
const PART_OF_HOUR: u32 = 50;

/// Among several servers a lease also covers no more than this part of the minute's limit, so that none takes from the
/// others what it does not use.
const PART_OF_MINUTE: u32 = 10;

/// How long a lease lasts when no other server admits requests of the key.
const ALONE_MILLIS: i64 = MINUTE;

/// How long a lease lasts among several servers: what is not used of it comes back to the others so soon.
const SHARED_MILLIS: i64 = 5_000;

/// How long what is known of other servers suffices to refuse a request.
const REFUSAL_MILLIS: i64 = 500;

/// How much later a request may have come than one that is counted after it.
const OVERTAKEN_MILLIS: i64 = 1_000;

/// How often a lease is tried to be taken before the store counts as unavailable; each time another server has taken
/// one.
const MAX_ATTEMPTS: u32 = 300;

/// How many keys are saved at a time: the store can do some in one commit, and requests find connections to it
/// meanwhile.
const AT_ONCE: usize = 8;

/// What is known of a key's sliding windows outside the memory of the servers: the body of a record
/// ([`RecordKind::RateLimitWindow`]) with a share for each server.
///
/// A server takes a lease of some requests before it admits them, so that one write covers many requests. A server that
/// reads the ledger counts a lease as if it were used up when it ends: so no server ever admits what another one may
/// have admitted, and after a crash no more is lost than the lease.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Shares {
    /// Those of servers that admitted something in the last hour, or may have.
    shares: Vec<RateLimitLease>,
}

/// What one server has admitted of a key's requests, and what it may still admit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RateLimitLease {
    /// The server: a new random id at each start.
    server: PlatformId,
    /// Requests counted in the last hour: the end of a stretch and how many fell into it, by time. A stretch is at most
    /// 1 s long in the last minute, and at most 60 s before.
    counted: Vec<(Timestamp, u32)>,
    /// Requests that may have been admitted since, and may still be.
    leased: u32,
    /// From when on the server admits nothing of the lease any more.
    lease_ends: Timestamp,
}

/// The windows of all keys in use.
pub(crate) struct KeyLimiter {
    /// In a fixed order, so that maintenance saves them in the same order in each run of a simulation.
    windows: RwLock<BTreeMap<KeyId, Arc<KeyWindow>>>,
    server: PlatformId,
}

/// The window of one key.
pub(crate) struct KeyWindow {
    agent: AgentId,
    key: KeyId,
    server: PlatformId,
    state: Mutex<State>,
    /// Held while the store is read or written for this key, so that writes cannot overtake each other.
    renewal: async_lock::Mutex<()>,
}

#[derive(Default)]
struct State {
    log: SlidingLog,
    /// What the ledger held when it was last read or written; none when that is not known.
    ledger: Option<Ledger>,
    /// Admissions that the ledger already counts, until `lease_ends`.
    lease: u32,
    lease_ends: i64,
    /// Whether the ledger may hold a lease of this server.
    is_lent: bool,
    last_used: i64,
    last_address: Option<IpAddr>,
    /// The last use that the store knows.
    use_saved: i64,
}

/// What comes next for a request.
enum Step {
    Decided(Decision),
    /// What is known of the ledger is nothing, or too old to refuse by.
    Read,
    /// There is room, but no lease.
    TakeLease,
}

struct Ledger {
    version: u64,
    /// The shares of the others.
    others: Vec<RateLimitLease>,
    read_at: i64,
}

impl KeyLimiter {
    /// The limiter of a server, under the name that it has until its end.
    pub(crate) fn new(server: PlatformId) -> Self {
        KeyLimiter { windows: RwLock::default(), server }
    }

    /// The window of a key.
    pub(crate) fn window(&self, agent: &AgentId, key: KeyId) -> Arc<KeyWindow> {
        let known = self.windows.read().get(&key).cloned();
        known.unwrap_or_else(|| {
            let mut windows = self.windows.write();
            let new = || {
                Arc::new(KeyWindow {
                    agent: agent.clone(),
                    key,
                    server: self.server,
                    state: Mutex::default(),
                    renewal: async_lock::Mutex::new(()),
                })
            };
            Arc::clone(windows.entry(key).or_insert_with(new))
        })
    }

    /// Counts a request of a key at `now`, if there is room; later when it had to wait for the store.
    pub(crate) async fn admit(
        &self,
        store: &dyn RecordStore,
        window: &KeyWindow,
        limits: RateLimits,
        address: IpAddr,
        now: Timestamp,
        clock: &dyn Clock,
    ) -> Result<Decision> {
        if let Step::Decided(decision) = window.step(limits, address, now) {
            return Ok(decision);
        }
        // Boxed, so that the others carry no room for it.
        Box::pin(self.admit_by_store(store, window, limits, address, clock)).await
    }

    /// The same where the store has to be asked first.
    async fn admit_by_store(
        &self,
        store: &dyn RecordStore,
        window: &KeyWindow,
        limits: RateLimits,
        address: IpAddr,
        clock: &dyn Clock,
    ) -> Result<Decision> {
        let _renewal = window.renewal.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            let now = clock.now();
            match window.step(limits, address, now) {
                Step::Decided(decision) => return Ok(decision),
                Step::Read => window.read(store, now).await?,
                Step::TakeLease => window.take_lease(store, limits, now).await?,
            }
        }
        Err(StorageErrorKind::Unavailable.into())
    }

    /// Saves last uses, gives back the leases that have ended, and forgets keys without a counted request.
    pub(crate) async fn maintain(&self, store: &dyn AccessStore, now: Timestamp) -> Result<()> {
        self.of_all(|window| async move {
            window.save_use(store).await?;
            let has_ended = window.state().lease_ends <= now.millis();
            if has_ended { window.give_back(store, now).await } else { Ok(()) }
        })
        .await?;
        let mut windows = self.windows.write();
        windows.retain(|_, window| {
            let mut state = window.state();
            // Another holder of the window may be about to use it.
            Arc::strong_count(window) > 1 || state.is_lent || !state.log.is_idle(now)
        });
        Ok(())
    }

    /// Gives back every lease: the orderly end of a server.
    pub(crate) async fn drain(&self, store: &dyn AccessStore, now: Timestamp) -> Result<()> {
        self.of_all(|window| async move {
            window.save_use(store).await?;
            window.give_back(store, now).await
        })
        .await
    }

    /// Does the same for the windows of all keys, some at a time.
    async fn of_all<F>(&self, settle: impl Fn(Arc<KeyWindow>) -> F) -> Result<()>
    where
        F: Future<Output = Result<()>>,
    {
        stream::iter(self.all()).map(Ok).try_for_each_concurrent(AT_ONCE, settle).await
    }

    fn all(&self) -> Vec<Arc<KeyWindow>> {
        self.windows.read().values().cloned().collect()
    }
}

impl KeyWindow {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The decision, or what comes before it.
    fn step(&self, limits: RateLimits, address: IpAddr, now: Timestamp) -> Step {
        let mut state = self.state();
        let Some(read_at) = state.ledger.as_ref().map(|ledger| ledger.read_at) else { return Step::Read };
        // Requests overtake each other between the clock and here; the clock itself may go back further.
        let overtaken = (0..OVERTAKEN_MILLIS).contains(&(state.last_used - now.millis()));
        let now = if overtaken { Timestamp::from_millis(state.last_used) } else { now };
        state.last_used = now.millis();
        state.last_address = Some(address);
        let is_leased = state.lease > 0 && now.millis() < state.lease_ends;
        let decision = if is_leased {
            state.log.admit(now, limits)
        } else {
            // A refusal needs no lease.
            Decision { admitted: false, ..state.log.peek(now, limits) }
        };
        if decision.admitted {
            state.lease -= 1;
            return Step::Decided(decision);
        }
        if decision.minute.remaining > 0 && decision.hour.remaining > 0 {
            return Step::TakeLease;
        }
        // Others may have given back what this server takes for used.
        let is_fresh = (now.millis() - read_at).abs() < REFUSAL_MILLIS;
        if is_fresh || !state.log.has_others() { Step::Decided(decision) } else { Step::Read }
    }

    fn record_key(&self) -> RecordKey {
        RecordKey::new(RecordKind::RateLimitWindow, self.key)
    }

    fn write(&self, version: u64, shares: &Shares) -> Result<RecordsWrite> {
        let internal = |error| StorageError::new(StorageErrorKind::Internal, error);
        let body = serde_json::to_string(shares).and_then(RawObject::from_text).map_err(internal)?;
        let (key, subject, unique, due_at) = (self.record_key(), None, None, None);
        let record = StoredRecord { key, version, subject, unique, due_at, body };
        Ok(RecordsWrite::save(record, Effects::default()))
    }

    /// Reads the ledger.
    async fn read(&self, store: &dyn RecordStore, now: Timestamp) -> Result<()> {
        let record = store.record(Some(&self.agent), &self.record_key()).await?;
        let version = record.as_ref().map_or(0, |record| record.version);
        let ledger = record.map(|record| serde_json::from_str::<Shares>(record.body.as_str())).transpose();
        let ledger = ledger.map_err(|error| StorageError::new(StorageErrorKind::Internal, error))?;
        let is_other = |share: &RateLimitLease| share.server != self.server;
        let others: Vec<RateLimitLease> =
            ledger.unwrap_or_default().shares.into_iter().filter(is_other).collect();
        let mut state = self.state();
        let leases = others.iter().map(|share| (share.lease_ends, share.leased));
        let counted = others.iter().flat_map(|share| share.counted.iter().copied()).chain(leases);
        state.log.count_others(counted.map(|(at, count)| (at.millis(), count)).collect());
        state.ledger = Some(Ledger { version, others, read_at: now.millis() });
        Ok(())
    }

    /// Takes a lease. The caller holds `renewal`, knows the ledger and found room.
    async fn take_lease(&self, store: &dyn RecordStore, limits: RateLimits, now: Timestamp) -> Result<()> {
        let (lease, lasts) = {
            let mut state = self.state();
            let room = state.log.peek(now, limits);
            let lease = (limits.per_hour / PART_OF_HOUR).max(1);
            let others = state.ledger.iter().flat_map(|ledger| &ledger.others);
            if others.into_iter().all(|share| share.rests(now)) {
                (lease, ALONE_MILLIS)
            } else {
                let lease = lease.min((limits.per_minute / PART_OF_MINUTE).max(1));
                (lease.min(room.minute.remaining).min(room.hour.remaining), SHARED_MILLIS)
            }
        };
        self.save(store, lease, now, now.millis() + lasts).await
    }

    /// Saves what is counted together with a lease. When another server was first, the ledger is unknown afterwards.
    /// The caller holds `renewal`.
    async fn save(&self, store: &dyn RecordStore, lease: u32, now: Timestamp, lease_ends: i64) -> Result<()> {
        let (version, window) = {
            let mut state = self.state();
            // Nothing is admitted while the lease is written, nor after a failure, of which it is not known whether
            // it was written.
            state.lease = 0;
            state.is_lent |= lease > 0;
            let own = RateLimitLease {
                server: self.server,
                counted: state.log.counted(now),
                leased: lease,
                lease_ends: Timestamp::from_millis(lease_ends),
            };
            let Some(ledger) = state.ledger.take() else { return Ok(()) };
            let others = ledger.others.into_iter().filter(|share| !share.is_past(now));
            let shares = others.chain((!own.is_past(now)).then_some(own)).collect();
            (ledger.version.saturating_add(1), Shares { shares })
        };
        match store.save_records(Some(&self.agent), &self.write(version, &window)?).await {
            // Of an agent that is deleted meanwhile nothing is saved.
            Err(error) if error.kind == StorageErrorKind::Missing => {}
            Err(error) if error.kind == StorageErrorKind::Stale => return Ok(()),
            saved => saved?,
        }
        let others = window.shares.into_iter().filter(|share| share.server != self.server).collect();
        let mut state = self.state();
        state.ledger = Some(Ledger { version, others, read_at: now.millis() });
        state.lease = lease;
        state.lease_ends = lease_ends;
        state.is_lent = lease > 0;
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

    async fn give_back(&self, store: &dyn RecordStore, now: Timestamp) -> Result<()> {
        let _renewal = self.renewal.lock().await;
        for _ in 0..MAX_ATTEMPTS {
            let (is_lent, is_known) = {
                let state = self.state();
                (state.is_lent, state.ledger.is_some())
            };
            if !is_lent {
                return Ok(());
            }
            if is_known {
                self.save(store, 0, now, now.millis()).await?;
            } else {
                self.read(store, now).await?;
            }
        }
        Err(StorageErrorKind::Unavailable.into())
    }
}

impl RateLimitLease {
    /// Whether the server admits nothing of the key at present.
    fn rests(&self, now: Timestamp) -> bool {
        let is_long_ago = |at: Timestamp| at.millis() + MINUTE <= now.millis();
        (self.leased == 0 || is_long_ago(self.lease_ends))
            && self.counted.last().is_none_or(|(last, _)| is_long_ago(*last))
    }

    /// Whether nothing in it counts any more.
    fn is_past(&self, now: Timestamp) -> bool {
        let is_past = |at: Timestamp| at.millis() + HOUR <= now.millis();
        (self.leased == 0 || is_past(self.lease_ends))
            && self.counted.last().is_none_or(|(last, _)| is_past(*last))
    }
}

#[cfg(test)]
mod tests;
