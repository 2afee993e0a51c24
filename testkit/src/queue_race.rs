//! Several servers on one queue: each job is given to one of them at a time, and is done once.
//!
//! Servers die, stall beyond the ends of their leases, hand jobs back and take those of others. Time is counted in their
//! steps, so nothing depends on how fast they are.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use conversations::storage::ConversationStorage;
use openapi_core::access::Actor;
use openapi_core::credits::{CreditEntry, CreditEntryKind, JobCredits};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    Job, JobChange, JobClaim, JobState, JobsWrite, LedgerQuery, Queue, Result, ScopedJob, StorageErrorKind,
};
use openapi_core::values::{AgentId, JobId, PlatformId, Timestamp};

use crate::SplitMix64;

const QUEUE: Queue = Queue::Extraction;

/// The steps of a lease.
const LEASE: i64 = 12;

type Key = (Option<AgentId>, JobId);

/// Servers that share a queue.
#[derive(Debug)]
pub struct QueueRace {
    scopes: Vec<Option<AgentId>>,
    /// How many jobs each server adds.
    each: u8,
    servers: u8,
    clock: AtomicI64,
    settled: AtomicU32,
    stale: AtomicU32,
    /// The versions of each job at which it was claimed.
    claims: Mutex<HashMap<Key, Vec<u64>>>,
    /// How often each job was handed back.
    returned: Mutex<HashMap<Key, u32>>,
}

impl QueueRace {
    /// A race of jobs of these agents and of the installation.
    #[must_use]
    pub fn new(agents: &[AgentId], servers: u8, each: u8) -> Arc<Self> {
        let scopes = agents.iter().cloned().map(Some).chain([None]).collect();
        Arc::new(QueueRace {
            scopes,
            each,
            servers,
            clock: AtomicI64::new(1),
            settled: AtomicU32::new(0),
            stale: AtomicU32::new(0),
            claims: Mutex::default(),
            returned: Mutex::default(),
        })
    }

    fn now(&self) -> i64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn all(&self) -> u32 {
        u32::from(self.each) * u32::from(self.servers)
    }

    /// The part of one server: it adds its jobs, and works until all jobs of all servers are done.
    ///
    /// # Panics
    /// When the store deviates.
    pub async fn serve(self: Arc<Self>, store: Arc<dyn ConversationStorage>, server: u8) {
        let (mut random, mut stalled) = (SplitMix64(u64::from(server)), Vec::new());
        for number in 0..self.each {
            let scope = &self.scopes[usize::from(number) % self.scopes.len()];
            let front = store.queue_front(QUEUE, scope.as_ref()).await.expect("front");
            let new = job(server, number, front.turn(1_000));
            let mut write = JobsWrite::new(at(self.now()), vec![JobChange::Save(Box::new(new))]);
            write.max_unfinished = Some((QUEUE, u64::from(self.all())));
            store.save_jobs(scope.as_ref(), &write).await.expect("enqueue");
            self.work(&*store, server, &mut random, &mut stalled).await;
        }
        while self.settled.load(Ordering::SeqCst) < self.all() {
            self.work(&*store, server, &mut random, &mut stalled).await;
        }
    }

    /// A step: `stalled` are the jobs with which the server is too slow.
    async fn work(
        &self,
        store: &dyn ConversationStorage,
        server: u8,
        random: &mut SplitMix64,
        stalled: &mut Vec<ScopedJob>,
    ) {
        let now = self.now();
        for ScopedJob { scope, job } in
            stalled.extract_if(.., |it| it.job.lease.is_some_and(|it| it.until <= at(now)))
        {
            self.settle(store, scope.as_ref(), &job).await;
        }
        let claim = JobClaim {
            queue: QUEUE,
            owner: owner(server),
            now: at(now),
            until: at(now + LEASE),
            at_most: 1 + random.below(3) as u32,
        };
        let claimed = store.claim_jobs(&claim).await.expect("claim");
        assert!(claimed.len() <= claim.at_most as usize, "{claimed:?}");
        for ScopedJob { scope, job } in &claimed {
            let mut claims = self.claims.lock().expect("lock");
            let versions = claims.entry((scope.clone(), job.id)).or_default();
            assert!(!versions.contains(&job.version), "{job:?} was claimed twice at one version");
            versions.push(job.version);
        }
        if claimed.is_empty() || random.below(4) == 0 {
            let woken = store.wake_jobs(QUEUE, at(self.now()), 5).await.expect("wake");
            assert_eq!((woken.removed, woken.erased.len()), (0, 0), "{woken:?}");
        }
        for ScopedJob { scope, job } in claimed {
            match random.below(10) {
                // The server dies.
                0 => {}
                1 => {
                    let back = Job { state: JobState::Ready, lease: None, ..next(&job) };
                    if self.save(store, scope.as_ref(), back).await {
                        *self.returned.lock().expect("lock").entry((scope, job.id)).or_default() += 1;
                    }
                }
                2 => {
                    let keys = [(scope.clone(), job.id)];
                    let until = at(self.now() + LEASE);
                    store.renew_jobs(owner(server), &keys, until).await.expect("renew");
                    self.settle(store, scope.as_ref(), &job).await;
                }
                3 | 4 => stalled.push(ScopedJob { scope, job }),
                _ => self.settle(store, scope.as_ref(), &job).await,
            }
        }
    }

    async fn settle(&self, store: &dyn ConversationStorage, scope: Option<&AgentId>, job: &Job) {
        let done =
            Job { state: JobState::Succeeded, lease: None, due_at: Some(at(i64::MAX / 4)), ..next(job) };
        if self.save(store, scope, done).await {
            self.settled.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Saves a job, one that has succeeded with its charge; false when another version is stored.
    async fn save(&self, store: &dyn ConversationStorage, scope: Option<&AgentId>, job: Job) -> bool {
        let mut write = JobsWrite::new(at(self.now()), vec![JobChange::Save(Box::new(job.clone()))]);
        write.entries.extend((scope.is_some() && job.state == JobState::Succeeded).then(|| charge(&job)));
        let saved: Result<()> = store.save_jobs(scope, &write).await;
        match saved {
            Ok(()) => true,
            Err(error) if error.kind == StorageErrorKind::Stale => {
                self.stale.fetch_add(1, Ordering::SeqCst);
                false
            }
            Err(error) => panic!("{job:?}: {error}"),
        }
    }

    /// Checks that every job was done and charged once. Returns how many jobs were taken from a server that still worked.
    ///
    /// # Panics
    /// When the store deviates.
    pub async fn verify(&self, store: &dyn ConversationStorage) -> u32 {
        let claims = self.claims.lock().expect("lock").clone();
        assert_eq!(claims.len() as u32, self.all(), "every job was claimed");
        assert_eq!(self.settled.load(Ordering::SeqCst), self.all(), "every job was settled once");
        let mut charges: HashMap<AgentId, usize> = HashMap::new();
        for ((scope, id), versions) in &claims {
            let job = store.job(scope.as_ref(), *id).await.expect("job").expect("a job");
            assert_eq!(job.state, JobState::Succeeded, "{job:?}");
            assert_eq!(job.attempts as usize, versions.len(), "{job:?}");
            let key = (scope.clone(), *id);
            let returned = self.returned.lock().expect("lock").get(&key).copied().unwrap_or_default();
            assert_eq!(job.attempts, 1 + job.lost + returned, "given to two servers at a time: {job:?}");
            if let Some(agent) = scope {
                *charges.entry(agent.clone()).or_default() += 1;
            }
        }
        for (agent, expected) in charges {
            let query = LedgerQuery { agent, before: None, limit: 10_000 };
            assert_eq!(store.credit_entries(&query).await.expect("ledger").len(), expected);
        }
        let load = store.queue_load(QUEUE).await.expect("load");
        assert_eq!((load.ready, load.scheduled, load.running), (0, 0, 0));
        self.stale.load(Ordering::SeqCst)
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn owner(server: u8) -> PlatformId {
    PlatformId::from_bytes([server; 12])
}

fn next(job: &Job) -> Job {
    Job { version: job.version + 1, ..job.clone() }
}

fn job(server: u8, number: u8, turn: u64) -> Job {
    let mut id = [0; 12];
    (id[0], id[11]) = (number, server);
    Job {
        id: JobId::from_bytes(id),
        queue: QUEUE,
        state: JobState::Ready,
        version: 1,
        turn,
        due_at: None,
        lease: None,
        attempts: 0,
        lost: 0,
        batch: None,
        client_id: None,
        subject: None,
        reserved: JobCredits::default(),
        created_at: at(i64::from(number)),
        started_at: None,
        body: RawObject::default(),
        result: None,
    }
}

fn charge(job: &Job) -> CreditEntry {
    CreditEntry {
        id: PlatformId::from_bytes(*job.id.as_bytes()),
        at: job.created_at,
        kind: CreditEntryKind::Charge,
        plan: -1,
        top_up: 0,
        available: 0,
        actor: Actor::Operator("race".to_owned()),
        request_id: None,
        note: None,
    }
}
