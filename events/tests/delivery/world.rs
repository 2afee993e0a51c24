//! A simulated installation: a log, a stored state, servers that die, receivers that fail, and an observer that knows
//! what must never happen.

use std::collections::BTreeSet;

use events::delivery::{
    Absence, Action, AttemptResult, Delivery, DeliverySettings, DeliveryState, Happening, MAX_IN_FLIGHT,
    MAX_OPEN, Mode, Page, Resume, Save, Source,
};
use events::message::Outcome;
use openapi_core::values::{PlatformId, Timestamp};
use testkit::SplitMix64;

use crate::planted::Fault;

const START: i64 = 1_790_000_000_000;
/// The timeout of a request.
const TIMEOUT: i64 = 15_000;

/// What an event is for the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Wanted,
    Filtered,
    Erased,
}

/// How the receiver behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Good,
    Flaky,
    Down,
}

struct Request {
    server: usize,
    life: u64,
    seq: u64,
    ends: i64,
}

struct Operation {
    at: i64,
    kind: Kinds,
}

enum Kinds {
    Save(Box<Save>),
    Read(Source, u64),
}

struct Server {
    id: PlatformId,
    /// Rises with each start and each taking, so that the outcomes of former requests are dropped.
    life: u64,
    skew: i64,
    delivery: Option<Delivery>,
    /// The version that this server has loaded or saved.
    version: u64,
    operations: Vec<Operation>,
    /// Until when the receiver has asked this owner to rest.
    rest: i64,
}

/// The whole simulation. `broken` has the first thing that must not happen.
pub struct World {
    random: SplitMix64,
    mode: Mode,
    has_jumps: bool,
    fault: Option<Fault>,
    now: i64,
    log: Vec<Kind>,
    oldest: u64,
    version: u64,
    state: DeliveryState,
    servers: Vec<Server>,
    requests: Vec<Request>,
    health: Health,
    store_is_down: bool,
    acknowledged: BTreeSet<u64>,
    /// Given up, expired, erased or skipped.
    excused: BTreeSet<u64>,
    to_replay: BTreeSet<u64>,
    /// The cursor may go back once, because a person has sent it back.
    cursor_floor: u64,
    pub sends: u64,
    pub broken: Option<String>,
}

impl World {
    pub fn new(seed: u64, mode: Mode, has_jumps: bool, fault: Option<Fault>) -> Self {
        let random = SplitMix64(seed);
        let servers = (0..2_u8).map(|number| Server {
            id: PlatformId::from_bytes([number + 1; 12]),
            life: 0,
            skew: i64::from(number) * 1_500,
            delivery: None,
            version: 0,
            operations: Vec::new(),
            rest: 0,
        });
        World {
            random,
            mode,
            has_jumps,
            fault,
            now: 0,
            log: Vec::new(),
            oldest: 1,
            version: 1,
            state: DeliveryState::new(0),
            servers: servers.collect(),
            requests: Vec::new(),
            health: Health::Good,
            store_is_down: false,
            acknowledged: BTreeSet::new(),
            excused: BTreeSet::new(),
            to_replay: BTreeSet::new(),
            cursor_floor: 0,
            sends: 0,
            broken: None,
        }
    }

    fn head(&self) -> u64 {
        self.log.len() as u64
    }

    fn clock(&self, server: usize) -> Timestamp {
        Timestamp::from_millis(START + self.now + self.servers[server].skew)
    }

    fn kind(&self, seq: u64) -> Kind {
        self.log[seq as usize - 1]
    }

    fn violate(&mut self, text: String) {
        self.broken.get_or_insert(text);
    }

    /// Wanted events up to `to` that nobody has got and that nothing excuses.
    fn missing(&self, to: u64) -> impl Iterator<Item = u64> + '_ {
        (1..=to).filter(|seq| {
            self.kind(*seq) == Kind::Wanted && !self.acknowledged.contains(seq) && !self.excused.contains(seq)
        })
    }

    /// Runs a random history, then lets everything become quiet. Whether it did.
    pub fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            self.step();
            if self.broken.is_some() {
                return;
            }
        }
        self.settle();
    }

    fn step(&mut self) {
        match self.random.below(40) {
            0..12 => self.append(),
            12..22 => {
                let span = 1 + self.random.below(3_000) as i64;
                self.advance(span);
            }
            22..26 => {
                let span = self.random.below(60_000) as i64;
                self.advance(span);
            }
            26 | 27 if !self.store_is_down => {
                let span = self.random.below(8 * 3_600_000) as i64;
                self.advance(span);
            }
            28 | 29 => self.crash(),
            30 | 31 => {
                self.health = self.random.pick(&[Health::Good, Health::Good, Health::Flaky, Health::Down]);
            }
            32 => self.store_is_down = !self.store_is_down && self.random.one_in(2),
            33 => self.sweep(),
            34 => self.erase(),
            35 | 36 => self.command(),
            37 => {
                let server = self.random.index(2);
                self.give(server, Happening::Drain);
            }
            38 if self.has_jumps => {
                // The whole machine stands still, or its clock is set.
                let server = self.random.index(2);
                let jump = self.random.below(2 * 3_600_000) as i64 - 3_600_000;
                self.servers[server].skew += jump;
            }
            _ => self.compare(),
        }
    }

    fn append(&mut self) {
        for _ in 0..=self.random.below(6) {
            let kind = if self.random.one_in(5) { Kind::Filtered } else { Kind::Wanted };
            self.log.push(kind);
        }
        let head = self.head();
        for server in 0..2 {
            if self.random.one_in(2) {
                self.give(server, Happening::Head(head));
            }
        }
        if self.random.one_in(2) {
            let server = self.random.index(2);
            self.take(server);
        }
    }

    fn crash(&mut self) {
        let server = self.random.index(2);
        // A save that was on its way may have arrived.
        let operations = std::mem::take(&mut self.servers[server].operations);
        for operation in operations {
            if let Kinds::Save(save) = operation.kind
                && self.random.one_in(2)
                && self.servers[server].version == self.version
            {
                self.store(server, &save);
            }
        }
        let fresh = self.random.next_u64().to_be_bytes();
        let server = &mut self.servers[server];
        server.delivery = None;
        server.life += 1;
        server.id = PlatformId::new(Timestamp::from_millis(0), fresh);
    }

    fn sweep(&mut self) {
        if self.random.one_in(4) {
            let by = self.random.below(1 + (self.head() - self.oldest.min(self.head())) / 2);
            self.oldest += by;
        }
    }

    fn erase(&mut self) {
        if self.head() > 0 {
            let seq = 1 + self.random.below(self.head());
            self.log[seq as usize - 1] = Kind::Erased;
            self.to_replay.remove(&seq);
        }
    }

    /// A person changes the stored state.
    fn command(&mut self) {
        if self.head() == 0 || self.store_is_down {
            return;
        }
        let mut state = self.state.clone();
        let now = Timestamp::from_millis(START + self.now);
        let (a, b) = (1 + self.random.below(self.head()), 1 + self.random.below(self.head()));
        let mut replayed = Vec::new();
        match self.random.below(5) {
            0 if state.replay(self.mode, a.min(b), a.max(b)).is_ok() => {
                replayed = (a.min(b)..=a.max(b)).collect();
            }
            1 => {
                let wanted =
                    [a, b].into_iter().filter(|seq| self.kind(*seq) == Kind::Wanted).collect::<Vec<_>>();
                if state.replay_events(self.mode, &wanted, now).is_ok() {
                    replayed = wanted;
                }
            }
            2 => {
                let first = state.open.keys().next().copied();
                if let Some(seq) = first
                    && state.skip(self.mode, seq).is_ok()
                {
                    self.excused.insert(seq);
                }
            }
            3 => state.stop(),
            _ if state.is_stopped => {
                if self.random.one_in(3) {
                    state.resume(Resume::Now(self.head()), now);
                    self.excused.extend(1..=self.head());
                    self.to_replay.clear();
                } else {
                    state.resume(Resume::Cursor, now);
                }
            }
            _ => {}
        }
        self.cursor_floor = state.cursor;
        let again: Vec<u64> = replayed
            .into_iter()
            .filter(|seq| *seq <= self.state.cursor && *seq >= self.oldest && self.kind(*seq) == Kind::Wanted)
            .collect();
        self.to_replay.extend(again);
        self.state = state;
        self.version += 1;
    }

    /// What every server does once a minute, and at times that are due.
    fn compare(&mut self) {
        let server = self.random.index(2);
        if self.head() > self.state.cursor || self.is_due(server) {
            self.take(server);
        }
        let head = self.head();
        self.give(server, Happening::Head(head));
    }

    fn is_due(&self, server: usize) -> bool {
        self.state.due_at().is_some_and(|due| due <= self.clock(server))
    }

    fn take(&mut self, server: usize) {
        if self.servers[server].delivery.is_some() || self.store_is_down {
            return;
        }
        let settings = DeliverySettings {
            server: self.servers[server].id,
            mode: self.mode,
            seed: 7,
            failing_limit: 5 * 86_400_000,
        };
        let mut state = self.state.clone();
        if self.fault == Some(Fault::LeaseIgnored) {
            state.lease = None;
        }
        if let Some((delivery, actions)) = Delivery::take(state, settings, self.clock(server)) {
            self.servers[server].life += 1;
            self.servers[server].delivery = Some(delivery);
            self.servers[server].version = self.version;
            self.servers[server].rest = 0;
            self.follow(server, actions);
        }
    }

    fn give(&mut self, server: usize, happening: Happening) {
        let now = self.clock(server);
        let Some(delivery) = &mut self.servers[server].delivery else { return };
        let actions = delivery.handle(happening, now);
        self.follow(server, actions);
    }

    fn follow(&mut self, server: usize, mut actions: Vec<Action>) {
        if let Some(fault) = self.fault {
            let state = self.servers[server].delivery.as_ref().map(|delivery| delivery.state().clone());
            fault.plant(&mut actions, state.as_ref(), &mut self.random);
        }
        for action in actions {
            let latency = if self.random.one_in(8) { self.random.below(3_000) as i64 } else { 0 };
            match action {
                Action::Send(seq, attempt) => self.send(server, seq, attempt),
                Action::Save(save) => {
                    let kind = Kinds::Save(save);
                    self.servers[server].operations.push(Operation { at: self.now + latency, kind });
                }
                Action::Read(source, after) => {
                    let kind = Kinds::Read(source, after);
                    self.servers[server].operations.push(Operation { at: self.now + latency, kind });
                }
                Action::End => {
                    // A process that lives drops its requests; those of one that has died go on.
                    let life = self.servers[server].life;
                    self.requests.retain(|request| request.server != server || request.life != life);
                    self.servers[server].delivery = None;
                    self.servers[server].operations.clear();
                }
            }
        }
    }

    fn send(&mut self, server: usize, seq: u64, attempt: u8) {
        self.sends += 1;
        if seq > self.head() {
            return self.violate(format!("{seq} is sent and does not exist"));
        }
        if seq < self.oldest || self.kind(seq) == Kind::Erased {
            let absence = if seq < self.oldest { Absence::Expired } else { Absence::Erased };
            return self.give(server, Happening::Absent(seq, absence));
        }
        if self.kind(seq) == Kind::Filtered {
            self.violate(format!("{seq} is sent and was filtered out"));
        }
        self.judge_send(server, seq, attempt);
        let (life, ends) = (self.servers[server].life, self.now + self.duration());
        self.requests.push(Request { server, life, seq, ends });
    }

    fn duration(&mut self) -> i64 {
        match self.random.below(20) {
            0 => TIMEOUT,
            1..4 => self.random.below(TIMEOUT as u64) as i64,
            _ => 1 + self.random.below(100) as i64,
        }
    }

    fn judge_send(&mut self, server: usize, seq: u64, attempt: u8) {
        let (id, life) = (self.servers[server].id, self.servers[server].life);
        if attempt == 0 || attempt > 10 {
            self.violate(format!("attempt {attempt} of {seq}"));
        }
        let lease = self.state.lease.filter(|lease| lease.server == id);
        let left = lease.map_or(0, |lease| lease.until.millis_since(self.clock(server)));
        // With a skew of 1.5 s between servers, the request ends before another server can take over.
        if self.servers[server].version == self.version && left < TIMEOUT + 1_500 {
            self.violate(format!("{seq} is sent with {left} ms of the lease left"));
        }
        if !self.has_jumps {
            if self.requests.iter().any(|request| request.server != server) {
                self.violate(format!("{seq} is sent while another server sends"));
            }
            if self.now < self.servers[server].rest {
                self.violate(format!("{seq} is sent while the receiver rests"));
            }
        }
        let own: Vec<u64> = self
            .requests
            .iter()
            .filter(|request| request.server == server && request.life == life)
            .map(|request| request.seq)
            .collect();
        let limit = if self.mode == Mode::Ordered { 1 } else { MAX_IN_FLIGHT };
        if own.len() >= limit || own.contains(&seq) {
            self.violate(format!("{seq} is sent while {own:?} run"));
        }
        let before = self.missing(seq - 1).find(|before| *before >= self.oldest);
        if let Some(before) = before.filter(|_| self.mode == Mode::Ordered) {
            self.violate(format!("{seq} is sent before {before} has arrived"));
        }
    }

    /// Lets time pass: requests end, operations of the store are done, servers wake.
    fn advance(&mut self, millis: i64) {
        let until = self.now + millis;
        for _ in 0..100_000 {
            let wakes = (0..2).filter_map(|server| {
                let at = self.servers[server].delivery.as_ref()?.next_wake()?;
                Some(at.millis() - START - self.servers[server].skew)
            });
            let requests = self.requests.iter().map(|request| request.ends);
            let operations = self.servers.iter().flat_map(|server| server.operations.iter().map(|it| it.at));
            let due = self.state.due_at().map(|due| (due.millis() - START).max(self.now + 1_000));
            let next = wakes.chain(requests).chain(operations).chain(due).min().unwrap_or(until);
            let next = next.max(self.now + 1).min(until);
            self.now = next;
            self.end_requests();
            self.run_operations();
            for server in 0..2 {
                self.give(server, Happening::Tick);
            }
            let server = self.random.index(2);
            if self.is_due(server) {
                self.take(server);
            }
            if self.now >= until || self.broken.is_some() {
                return;
            }
        }
        self.violate("time does not pass".to_owned());
    }

    fn end_requests(&mut self) {
        while let Some(at) = self.requests.iter().position(|request| request.ends <= self.now) {
            let request = self.requests.swap_remove(at);
            let code = match (self.health, self.random.below(10)) {
                (Health::Good, 0) | (Health::Flaky, 0..3) => 500,
                (Health::Flaky, 3) | (Health::Down, 0..2) => 503,
                (Health::Flaky, 4) if self.random.one_in(60) => 410,
                (Health::Down, 2..8) => 0,
                (Health::Down, _) => 404,
                _ => 200,
            };
            if code == 200 {
                self.acknowledged.insert(request.seq);
                self.to_replay.remove(&request.seq);
            }
            if self.servers[request.server].life != request.life {
                continue;
            }
            let mut outcome = Outcome { status: (code > 0).then_some(code), ..Outcome::default() };
            if code == 0 {
                outcome.error = Some("timeout");
            }
            if code == 503 {
                // At least the pause of the first failure.
                self.servers[request.server].rest = self.now + 5_000;
            }
            if self.fault == Some(Fault::FailureSettles) && code != 200 {
                outcome = Outcome { status: Some(200), ..Outcome::default() };
            }
            self.give(request.server, Happening::Ended(request.seq, outcome));
        }
    }

    fn run_operations(&mut self) {
        for server in 0..2 {
            while let Some(at) = self.servers[server].operations.iter().position(|it| it.at <= self.now) {
                let operation = self.servers[server].operations.remove(at);
                let happening = match operation.kind {
                    Kinds::Save(save) => self.try_save(server, &save),
                    Kinds::Read(source, _) if self.store_is_down => Happening::ReadFailed(source),
                    Kinds::Read(source, after) => Happening::Read(source, self.page(after)),
                };
                self.give(server, happening);
            }
        }
    }

    fn page(&mut self, after: u64) -> Page {
        let from = (after + 1).max(self.oldest);
        let count = 1 + self.random.index(500);
        let mut events: Vec<(u64, bool)> =
            (from..=self.head()).take(count).map(|seq| (seq, self.kind(seq) == Kind::Wanted)).collect();
        if self.fault == Some(Fault::EventUnread) && events.len() > 2 {
            events[1].1 = false;
        }
        Page { after, events, oldest: self.oldest, head: self.head() }
    }

    fn try_save(&mut self, server: usize, save: &Save) -> Happening {
        if self.store_is_down {
            // The answer is lost, and perhaps the save is not.
            if self.random.one_in(4) && self.servers[server].version == self.version {
                self.store(server, save);
                self.servers[server].version = 0;
            }
            return Happening::SaveFailed;
        }
        if self.servers[server].version == self.version {
            self.store(server, save);
            return Happening::Saved;
        }
        if self.fault == Some(Fault::StaleIgnored) { Happening::Saved } else { Happening::Stale }
    }

    fn store(&mut self, server: usize, save: &Save) {
        let before = std::mem::replace(&mut self.state, save.state.clone());
        self.version += 1;
        self.servers[server].version = self.version;
        self.judge_save(&before, save);
    }

    fn judge_save(&mut self, before: &DeliveryState, save: &Save) {
        let state = &save.state;
        for (number, attempt) in (before.attempts + 1..).zip(&save.attempts) {
            match attempt.result {
                AttemptResult::GivenUp if attempt.attempt == 10 && self.mode == Mode::Parallel => {
                    self.excused.insert(attempt.seq);
                    self.to_replay.remove(&attempt.seq);
                }
                AttemptResult::GivenUp => self.violate(format!("{} is given up early", attempt.seq)),
                AttemptResult::Expired => {
                    for seq in attempt.seq..=attempt.upto.unwrap_or(attempt.seq) {
                        if seq >= self.oldest {
                            self.violate(format!("{seq} is there and was given up as expired"));
                        }
                        self.excused.insert(seq);
                        self.to_replay.remove(&seq);
                    }
                }
                AttemptResult::Succeeded | AttemptResult::Failed => {}
            }
            if attempt.number != number {
                self.violate(format!("attempt {} is logged as {number}", attempt.number));
            }
        }
        if state.cursor < before.cursor.max(self.cursor_floor) {
            self.violate(format!("the cursor goes back from {} to {}", before.cursor, state.cursor));
        }
        if state.open.len() > MAX_OPEN || serde_json::to_string(state).unwrap().len() > 64 << 10 {
            self.violate(format!("{} events are open", state.open.len()));
        }
        if state.cursor > self.head() {
            return self.violate(format!("the cursor {} is beyond the log", state.cursor));
        }
        let lost = self.missing(state.cursor).find(|seq| !state.open.contains_key(seq));
        if let Some(lost) = lost {
            self.violate(format!(
                "{lost} is lost: the cursor is {}, open {:?}",
                state.cursor,
                state.open.keys()
            ));
        }
    }

    /// Everything works again: the endpoint becomes quiet, and then nothing is missing.
    fn settle(&mut self) {
        self.health = Health::Good;
        self.store_is_down = false;
        for _ in 0..3_000 {
            if self.state.is_stopped {
                self.state.resume(Resume::Cursor, Timestamp::from_millis(START + self.now));
                self.version += 1;
            }
            self.compare();
            self.advance(600_000);
            let is_quiet = self.state.cursor >= self.head()
                && self.state.open.is_empty()
                && self.state.replays.is_empty();
            if self.broken.is_some()
                || (is_quiet && self.servers.iter().all(|server| server.delivery.is_none()))
            {
                break;
            }
        }
        if self.broken.is_some() {
            return;
        }
        let lost = self.missing(self.head()).next();
        if let Some(lost) = lost {
            self.violate(format!("{lost} has never arrived"));
        }
        if let Some(seq) = self.to_replay.iter().find(|seq| !self.excused.contains(seq)).copied() {
            self.violate(format!("{seq} was not sent again"));
        }
        if let Some(due) = self.state.due_at() {
            self.violate(format!("a quiet endpoint is due at {due}"));
        }
    }
}
