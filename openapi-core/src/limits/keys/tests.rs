//! Several servers on one store, with random interleavings of their reads and writes.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use proptest::prelude::*;

use super::*;
use crate::storage::{RecordChange, RecordId};

const BEGIN: i64 = 1_769_856_000_000;
const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

/// A ledger that lets others go first before it is read and before it is written.
#[derive(Default)]
struct Ledgers {
    stored: Mutex<Option<StoredRecord>>,
    reads: Mutex<u32>,
    writes: Mutex<u32>,
}

/// Pending once.
async fn others_first() {
    let mut is_first = true;
    std::future::poll_fn(
        move |_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) },
    )
    .await;
}

#[async_trait]
impl RecordStore for Ledgers {
    async fn record(&self, _scope: Option<&AgentId>, key: &RecordKey) -> Result<Option<StoredRecord>> {
        others_first().await;
        *self.reads.lock().unwrap() += 1;
        let found = self.stored.lock().unwrap().clone();
        others_first().await;
        Ok(found.filter(|found| found.key == *key))
    }

    async fn save_records(&self, _scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
        others_first().await;
        *self.writes.lock().unwrap() += 1;
        let [RecordChange::Save(record)] = write.changes.as_slice() else { panic!("{write:?}") };
        let done = {
            let mut stored = self.stored.lock().unwrap();
            if stored.as_ref().map_or(0, |stored| stored.version) + 1 == record.version {
                *stored = Some(record.clone());
                Ok(())
            } else {
                Err(StorageErrorKind::Stale.into())
            }
        };
        others_first().await;
        done
    }

    async fn record_by_unique(
        &self,
        _scope: Option<&AgentId>,
        _kind: RecordKind,
        _unique: &[u8; 32],
    ) -> Result<Option<StoredRecord>> {
        panic!("a window has no unique value")
    }

    async fn records_of(
        &self,
        _scope: Option<&AgentId>,
        _kind: RecordKind,
        _after: Option<&RecordId>,
        _at_most: u32,
    ) -> Result<Vec<StoredRecord>> {
        panic!("windows are read one by one")
    }

    async fn all_records(
        &self,
        _kind: RecordKind,
        _after: Option<&(Option<AgentId>, RecordId)>,
        _at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        panic!("windows are read one by one")
    }

    async fn due_records(
        &self,
        _kind: RecordKind,
        _now: Timestamp,
        _at_most: u32,
    ) -> Result<Vec<(Option<AgentId>, StoredRecord)>> {
        panic!("a window is never due")
    }
}

/// The one clock of all servers.
struct Now(AtomicI64);

impl Now {
    fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }
}

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    /// So many milliseconds later some requests come to a server.
    Requests { after: i64, server: usize, count: usize },
    /// One of the requests under way goes a step further.
    Proceed { which: usize },
    /// A server dies, and another one replaces it.
    Crash { server: usize },
    /// A server gives back what it has leased.
    GiveBack { server: usize },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let after = prop_oneof![4 => 0..20_i64, 4 => 0..3_000_i64, 2 => 3_000..70_000_i64, 1 => 0..4_000_000_i64];
    let server = || 0..3_usize;
    let event = prop_oneof![
        8 => (after, server(), 1..6_usize).prop_map(|(after, server, count)| Event::Requests { after, server, count }),
        12 => (0..64_usize).prop_map(|which| Event::Proceed { which }),
        1 => server().prop_map(|server| Event::Crash { server }),
        2 => server().prop_map(|server| Event::GiveBack { server }),
    ];
    proptest::collection::vec(event, 1..250)
}

struct Fleet {
    ledgers: Arc<Ledgers>,
    servers: Vec<Arc<KeyLimiter>>,
    started: u8,
    clock: Arc<Now>,
    limits: RateLimits,
    under_way: Vec<Pin<Box<dyn Future<Output = Option<Decision>>>>>,
    /// When how many were admitted.
    admitted: BTreeMap<i64, u32>,
}

impl Fleet {
    fn new(limits: RateLimits, servers: usize) -> Self {
        let mut fleet = Fleet {
            ledgers: Arc::default(),
            servers: Vec::new(),
            started: 0,
            clock: Arc::new(Now(AtomicI64::new(BEGIN))),
            limits,
            under_way: Vec::new(),
            admitted: BTreeMap::new(),
        };
        fleet.servers = (0..servers).map(|_| fleet.start()).collect();
        fleet
    }

    fn start(&mut self) -> Arc<KeyLimiter> {
        self.started += 1;
        Arc::new(KeyLimiter::new(PlatformId::from_bytes([self.started; 12])))
    }

    fn window(limiter: &KeyLimiter) -> Arc<KeyWindow> {
        limiter.window(&"agent".parse().unwrap(), KeyId::from_bytes([1; 12]))
    }

    fn request(&mut self, server: usize) {
        let (limiter, ledgers) = (Arc::clone(&self.servers[server]), Arc::clone(&self.ledgers));
        let (clock, limits) = (Arc::clone(&self.clock), self.limits);
        self.under_way.push(Box::pin(async move {
            let window = Self::window(&limiter);
            let decision = limiter.admit(&*ledgers, &window, limits, ADDRESS, clock.now(), &*clock).await;
            Some(decision.expect("the store works"))
        }));
    }

    /// Lets a request go on.
    fn proceed(&mut self, which: usize) {
        if self.under_way.is_empty() {
            return;
        }
        let which = which % self.under_way.len();
        if let Poll::Ready(done) =
            self.under_way[which].as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            if done.is_some_and(|decision| decision.admitted) {
                *self.admitted.entry(self.clock.now().millis()).or_default() += 1;
            }
            drop(self.under_way.swap_remove(which));
        }
    }

    fn finish(&mut self) {
        for turn in 0.. {
            if self.under_way.is_empty() {
                return;
            }
            assert!(turn < 1_000_000, "a request never ends");
            self.proceed(turn);
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Requests { after, server, count } => {
                self.clock.advance(*after);
                for _ in 0..*count {
                    self.request(*server);
                }
            }
            Event::Proceed { which } => self.proceed(*which),
            Event::Crash { server } => self.servers[*server] = self.start(),
            Event::GiveBack { server } => {
                let (limiter, ledgers) = (Arc::clone(&self.servers[*server]), Arc::clone(&self.ledgers));
                let now = self.clock.now();
                self.under_way.push(Box::pin(async move {
                    Self::window(&limiter).give_back(&*ledgers, now).await.expect("the store works");
                    None
                }));
            }
        }
    }

    /// The most that any window of this length holds.
    fn fullest(&self, length: i64) -> u32 {
        let windows = self
            .admitted
            .keys()
            .map(|end| self.admitted.range(end - length + 1..=*end).map(|(_, n)| n).sum());
        windows.max().unwrap_or(0)
    }
}

/// Runs a future that waits for nothing outside.
fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_window_of_the_fleet_is_ever_over(events in events(), per_minute in 1..40_u32, extra in 0..60_u32) {
        let mut fleet = Fleet::new(RateLimits { per_minute, per_hour: per_minute + extra }, 3);
        for event in &events {
            fleet.apply(event);
        }
        fleet.finish();
        prop_assert!(fleet.fullest(MINUTE) <= per_minute, "{} of {per_minute} in a minute", fleet.fullest(MINUTE));
        let per_hour = per_minute + extra;
        prop_assert!(fleet.fullest(HOUR) <= per_hour, "{} of {per_hour} in an hour", fleet.fullest(HOUR));
    }
}

/// Two servers under more load than is allowed use nearly all of it, and ask the store seldom.
#[test]
fn an_overloaded_fleet_uses_what_it_may() {
    let mut fleet = Fleet::new(RateLimits { per_minute: 600, per_hour: 36_000 }, 2);
    let minutes = 10;
    for _ in 0..minutes * 60 * 50 {
        fleet.clock.advance(20);
        fleet.request(0);
        fleet.request(1);
        fleet.finish();
    }
    let admitted: u32 = fleet.admitted.values().sum();
    assert!(fleet.fullest(MINUTE) <= 600);
    assert!(admitted >= 600 * minutes * 97 / 100, "only {admitted}");
    let (reads, writes) = (*fleet.ledgers.reads.lock().unwrap(), *fleet.ledgers.writes.lock().unwrap());
    let requests = minutes * 60 * 100;
    assert!(reads + writes < requests / 4, "{reads} reads and {writes} writes for {requests} requests");
}

/// Where the limits leave room, few requests ask the store.
#[test]
fn a_fleet_with_room_seldom_asks_the_store() {
    let mut fleet = Fleet::new(RateLimits { per_minute: 6_000, per_hour: 100_000 }, 2);
    for _ in 0..10_000 {
        fleet.clock.advance(25);
        fleet.request(0);
        fleet.request(1);
        fleet.finish();
    }
    assert_eq!(fleet.admitted.values().sum::<u32>(), 20_000);
    let (reads, writes) = (*fleet.ledgers.reads.lock().unwrap(), *fleet.ledgers.writes.lock().unwrap());
    assert!(reads + writes < 400, "{reads} reads and {writes} writes for 20,000 requests");
}

/// What one server leaves of its lease, another one may use soon.
#[test]
fn an_unused_lease_comes_back() {
    let fleet = Fleet::new(RateLimits { per_minute: 100, per_hour: 100 }, 2);
    let ask = |server: usize| {
        fleet.clock.advance(1);
        let (limiter, now) = (&fleet.servers[server], fleet.clock.now());
        let window = Fleet::window(limiter);
        run(limiter.admit(&*fleet.ledgers, &window, fleet.limits, ADDRESS, now, &*fleet.clock)).unwrap()
    };
    assert!(ask(0).admitted);
    let seen = ask(1);
    assert_eq!(seen.minute.remaining, 100 - 2 - 1, "one used, one leased, and this one");
    run(Fleet::window(&fleet.servers[0]).give_back(&*fleet.ledgers, Timestamp::from_millis(BEGIN + 2)))
        .unwrap();
    let admitted = (0..200).filter(|_| ask(1).admitted).count();
    assert_eq!(admitted, 98);
}
