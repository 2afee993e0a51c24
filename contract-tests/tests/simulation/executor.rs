//! A deterministic executor: one thread, a simulated clock, and a seed that decides which task runs next.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use openapi_core::ports::{Clock, FixedClock, Spawner, Task, Timer};
use openapi_core::values::Timestamp;
use parking_lot::Mutex;
use testkit::SplitMix64;

/// What a task belongs to: a server process, or [`OUTSIDE`].
pub type Process = usize;

/// Clients, the network and the faults: they never crash.
pub const OUTSIDE: Process = usize::MAX;

/// The polls after which a simulation is considered stuck.
const MAX_STEPS: u64 = 3_000_000;

/// A handle to the simulation. Clones share it.
#[derive(Clone)]
pub struct Simulation(Arc<Shared>);

struct Shared {
    clock: Arc<FixedClock>,
    state: Mutex<State>,
}

struct State {
    random: SplitMix64,
    tasks: BTreeMap<u64, (Process, Task)>,
    ready: BTreeSet<u64>,
    timers: BTreeMap<(i64, u64), Waker>,
    next: u64,
    transcript: Vec<String>,
}

struct TaskWaker {
    task: u64,
    simulation: Simulation,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.simulation.0.state.lock().ready.insert(self.task);
    }
}

impl Simulation {
    pub fn new(seed: u64, start: Timestamp) -> Self {
        Simulation(Arc::new(Shared {
            clock: Arc::new(FixedClock::at(start)),
            state: Mutex::new(State {
                random: SplitMix64(seed),
                tasks: BTreeMap::new(),
                ready: BTreeSet::new(),
                timers: BTreeMap::new(),
                next: 0,
                transcript: Vec::new(),
            }),
        }))
    }

    pub fn clock(&self) -> Arc<FixedClock> {
        Arc::clone(&self.0.clock)
    }

    pub fn now(&self) -> i64 {
        self.0.clock.now().millis()
    }

    pub fn below(&self, limit: u64) -> u64 {
        self.0.state.lock().random.below(limit)
    }

    pub fn one_in(&self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Records what happened. The same seed gives the same transcript.
    pub fn note(&self, line: String) {
        let now = self.now();
        self.0.state.lock().transcript.push(format!("{now} {line}"));
    }

    pub fn transcript(&self) -> Vec<String> {
        self.0.state.lock().transcript.clone()
    }

    /// Starts a task of a process.
    pub fn start(&self, process: Process, task: impl Future<Output = ()> + Send + 'static) {
        self.start_boxed(process, Box::pin(task));
    }

    fn start_boxed(&self, process: Process, task: Task) {
        let mut state = self.0.state.lock();
        state.next += 1;
        let id = state.next;
        state.tasks.insert(id, (process, task));
        state.ready.insert(id);
    }

    /// Drops all tasks of a process, wherever they are.
    pub fn kill(&self, process: Process) {
        let dropped: Vec<Task> = {
            let mut state = self.0.state.lock();
            let ids: Vec<u64> =
                state.tasks.iter().filter(|(_, (owner, _))| *owner == process).map(|(id, _)| *id).collect();
            ids.iter().filter_map(|id| state.tasks.remove(id)).map(|(_, task)| task).collect()
        };
        // Dropping a task may wake others.
        drop(dropped);
    }

    /// Runs tasks in random order until `is_over`; the clock moves when all of them wait.
    ///
    /// # Panics
    /// If no task can ever run again, or the simulation does not end.
    pub fn run_until(&self, is_over: impl Fn() -> bool) {
        for _ in 0..MAX_STEPS {
            if is_over() {
                return;
            }
            if !self.step() {
                self.advance();
            }
        }
        panic!("the simulation does not end");
    }

    /// Polls one task that is ready; `false` if there is none.
    fn step(&self) -> bool {
        let (id, process, mut task) = {
            let mut state = self.0.state.lock();
            let count = state.ready.len();
            if count == 0 {
                return false;
            }
            let at = state.random.index(count);
            let Some(id) = state.ready.iter().nth(at).copied() else { return false };
            state.ready.remove(&id);
            // A task that has ended or was killed may still be woken.
            let Some((process, task)) = state.tasks.remove(&id) else { return true };
            (id, process, task)
        };
        let waker = Waker::from(Arc::new(TaskWaker { task: id, simulation: self.clone() }));
        if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.0.state.lock().tasks.insert(id, (process, task));
        }
        true
    }

    /// Moves the clock to the next timer.
    fn advance(&self) {
        let ((due, _), waker) = {
            let mut state = self.0.state.lock();
            state.timers.pop_first().expect("a task waits for a timer")
        };
        if due > self.now() {
            self.0.clock.set(Timestamp::from_millis(due));
        }
        waker.wake();
    }

    /// Waits on the simulated clock.
    pub fn sleep(&self, millis: u64) -> Sleep {
        let due = self.now() + i64::try_from(millis).unwrap_or(i64::MAX / 2);
        Sleep { simulation: self.clone(), due, timer: None }
    }

    /// A random pause: none, a switch to other tasks, or some milliseconds.
    pub async fn pause(&self) {
        match self.below(8) {
            0..=3 => {}
            4..=6 => yield_now().await,
            _ => self.sleep(self.below(30)).await,
        }
    }
}

async fn yield_now() {
    let mut is_over = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Ready at an instant of the simulated clock.
pub struct Sleep {
    simulation: Simulation,
    due: i64,
    timer: Option<(i64, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.simulation.now() >= self.due {
            return Poll::Ready(());
        }
        let simulation = self.simulation.clone();
        let mut state = simulation.0.state.lock();
        let timer = match self.timer {
            Some(timer) => timer,
            None => {
                state.next += 1;
                (self.due, state.next)
            }
        };
        self.timer = Some(timer);
        state.timers.insert(timer, cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            let waker = self.simulation.0.state.lock().timers.remove(&timer);
            drop(waker);
        }
    }
}

impl Timer for Simulation {
    fn sleep(&self, millis: u64) -> Task {
        Box::pin(Simulation::sleep(self, millis))
    }
}

/// Starts the tasks of one process.
pub struct ProcessTasks(pub Simulation, pub Process);

impl Spawner for ProcessTasks {
    fn spawn(&self, task: Task) {
        self.0.start_boxed(self.1, task);
    }
}
