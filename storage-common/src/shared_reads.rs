//! Single reads that wait at the same time, asked for together: for stores behind a network.
//!
//! A statement costs a server and its driver several times what one row more within it costs. So only a few are under
//! way at once; what is asked for meanwhile goes with the next one. What goes with one is settled when its task runs, so
//! that all which the runtime has at hand by then is in it. A read that is alone waits for nobody.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_channel::oneshot;
use futures_core::future::BoxFuture;

type Read<K, V> = dyn Fn(Vec<K>) -> BoxFuture<'static, Vec<V>> + Send + Sync;
type Spawn = dyn Fn(BoxFuture<'static, ()>) + Send + Sync;

/// Reads of one kind, each of a key.
///
/// ```
/// use storage_common::SharedReads;
///
/// // Here a table in memory, and tasks that run at once; elsewhere a query, and `tokio::spawn`.
/// let names = SharedReads::new(2, 64, |task| pollster::block_on(task), |ids: Vec<usize>| async move {
///     ids.into_iter().map(|id| ["Ada", "Zoe"].get(id).copied()).collect()
/// });
/// assert_eq!(pollster::block_on(names.read(1)), Some(Some("Zoe")));
/// assert_eq!(pollster::block_on(names.read(2)), Some(None), "nobody has this id");
/// ```
pub struct SharedReads<K, V> {
    shared: Arc<Shared<K, V>>,
}

struct Shared<K, V> {
    read: Box<Read<K, V>>,
    spawn: Box<Spawn>,
    /// How many are under way at the most.
    lanes: usize,
    /// The most keys of one of them.
    most: usize,
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    waiting: VecDeque<Wanted<K, V>>,
    under_way: usize,
}

/// A key and whoever waits for what is found.
struct Wanted<K, V> {
    key: K,
    reply: oneshot::Sender<V>,
}

impl<K: Send + 'static, V: Send + 'static> SharedReads<K, V> {
    /// `read` gets up to `most` keys and brings what belongs to each, in their order; no more than `lanes` of its
    /// futures are under way at once, each on a task that `spawn` begins, best behind the tasks that are ready already.
    /// Both numbers are at least 1.
    pub fn new<F>(
        lanes: usize,
        most: usize,
        spawn: impl Fn(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + Sync + 'static,
        read: impl Fn(Vec<K>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Vec<V>> + Send + 'static,
    {
        SharedReads {
            shared: Arc::new(Shared {
                read: Box::new(move |keys| Box::pin(read(keys))),
                spawn: Box::new(spawn),
                lanes: lanes.max(1),
                most: most.max(1),
                state: Mutex::new(State { waiting: VecDeque::new(), under_way: 0 }),
            }),
        }
    }

    /// What belongs to a key. None when the read ended without it, as when it panicked or its runtime is at its end.
    /// Dropped while it waits, nothing is read for it.
    pub async fn read(&self, key: K) -> Option<V> {
        let (reply, found) = oneshot::channel();
        let is_lane_free = {
            let mut state = self.shared.state();
            state.waiting.push_back(Wanted { key, reply });
            let is_free = state.under_way < self.shared.lanes;
            state.under_way += usize::from(is_free);
            is_free
        };
        if is_lane_free {
            Shared::begin(&self.shared);
        }
        found.await.ok()
    }
}

impl<K, V> fmt::Debug for SharedReads<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.state();
        let (waiting, under_way) = (state.waiting.len(), state.under_way);
        f.debug_struct("SharedReads").field("waiting", &waiting).field("under_way", &under_way).finish()
    }
}

impl<K, V> State<K, V> {
    fn next(&mut self, most: usize) -> Vec<Wanted<K, V>> {
        // Nobody waits any more for what was dropped.
        let waiting = std::iter::from_fn(|| self.waiting.pop_front());
        waiting.filter(|wanted| !wanted.reply.is_canceled()).take(most).collect()
    }
}

impl<K, V> Shared<K, V> {
    fn state(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Send + 'static, V: Send + 'static> Shared<K, V> {
    fn begin(shared: &Arc<Self>) {
        // Made here and not on the task: should that never run, the lane passes on nevertheless.
        let mut lane = Lane { shared: Arc::clone(shared), has_run: false };
        (shared.spawn)(Box::pin(async move {
            lane.has_run = true;
            let batch = lane.shared.state().next(lane.shared.most);
            if batch.is_empty() {
                return;
            }
            let (keys, replies): (Vec<K>, Vec<_>) =
                batch.into_iter().map(|wanted| (wanted.key, wanted.reply)).unzip();
            for (reply, found) in replies.into_iter().zip((lane.shared.read)(keys).await) {
                // Nobody listens when the future was dropped.
                let _ = reply.send(found);
            }
        }));
    }
}

/// A right to have a read under way. It passes on to those that wait, also after a panic.
struct Lane<K: Send + 'static, V: Send + 'static> {
    shared: Arc<Shared<K, V>>,
    /// Whether its task has run, and has taken those that it reads for.
    has_run: bool,
}

impl<K: Send + 'static, V: Send + 'static> Drop for Lane<K, V> {
    fn drop(&mut self) {
        let (left, goes_on) = {
            let mut state = self.shared.state();
            // Those that a task would have read for which never ran: nobody else would come to an end with them.
            let left = if self.has_run { Vec::new() } else { state.next(self.shared.most) };
            let goes_on = !state.waiting.is_empty();
            state.under_way -= usize::from(!goes_on);
            (left, goes_on)
        };
        drop(left);
        if goes_on {
            Shared::begin(&self.shared);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Tasks = Arc<Mutex<VecDeque<BoxFuture<'static, ()>>>>;
    type Batches = Arc<Mutex<Vec<Vec<u32>>>>;

    /// Reads that are done when the test runs their tasks: of each key its double.
    fn reads(lanes: usize, most: usize) -> (SharedReads<u32, u32>, Tasks, Batches) {
        let (tasks, batches) = (Tasks::default(), Batches::default());
        let (queue, asked) = (Arc::clone(&tasks), Arc::clone(&batches));
        let reads = SharedReads::new(
            lanes,
            most,
            move |task| queue.lock().unwrap().push_back(task),
            move |keys: Vec<u32>| {
                asked.lock().unwrap().push(keys.clone());
                assert!(!keys.contains(&13), "planted");
                std::future::ready(keys.into_iter().map(|key| key * 2).collect())
            },
        );
        (reads, tasks, batches)
    }

    fn poll<T>(future: &mut Pin<Box<impl Future<Output = T> + ?Sized>>) -> Option<T> {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }

    /// Runs the task that has waited longest; false when there is none.
    fn run_one(tasks: &Tasks) -> bool {
        let task = tasks.lock().unwrap().pop_front();
        let Some(mut task) = task else { return false };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut task)));
        assert!(matches!(outcome, Ok(Some(())) | Err(_)));
        drop(task);
        true
    }

    #[test]
    fn what_waits_goes_with_the_next_read() {
        let (reads, tasks, batches) = reads(2, 3);
        let mut waiting: Vec<_> = (0..8).map(|key| Box::pin(reads.read(key))).collect();
        assert!(waiting.iter_mut().all(|one| poll(one).is_none()));
        assert_eq!(tasks.lock().unwrap().len(), 2, "no more at once");
        // The fifth is not waited for any more.
        drop(waiting.remove(5));
        while run_one(&tasks) {}
        assert_eq!(
            *batches.lock().unwrap(),
            [vec![0, 1, 2], vec![3, 4, 6], vec![7]],
            "settled when a task runs"
        );
        let found: Vec<_> = waiting.iter_mut().map(|one| poll(one).unwrap()).collect();
        assert_eq!(found, [0, 1, 2, 3, 4, 6, 7].map(|key| Some(key * 2)));
        assert_eq!(format!("{reads:?}"), "SharedReads { waiting: 0, under_way: 0 }");
    }

    #[test]
    fn a_panic_ends_those_that_were_asked_with_it_and_nothing_else() {
        let (reads, tasks, _) = reads(1, 2);
        let mut waiting: Vec<_> = [1, 13, 2, 3].map(|key| Box::pin(reads.read(key))).into();
        assert!(waiting.iter_mut().all(|one| poll(one).is_none()));
        while run_one(&tasks) {}
        let found: Vec<_> = waiting.iter_mut().map(|one| poll(one).unwrap()).collect();
        assert_eq!(found, [None, None, Some(4), Some(6)]);
        let mut next = Box::pin(reads.read(4));
        assert_eq!(poll(&mut next), None);
        assert!(run_one(&tasks));
        assert_eq!(poll(&mut next), Some(Some(8)));
    }

    #[test]
    fn a_runtime_that_drops_its_tasks_leaves_nobody_waiting() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&dropped);
        let reads = SharedReads::new(
            1,
            2,
            move |task| {
                count.fetch_add(1, Ordering::Relaxed);
                drop(task);
            },
            |keys: Vec<u32>| std::future::ready(keys),
        );
        for key in 0..3 {
            assert_eq!(poll(&mut Box::pin(reads.read(key))), Some(None));
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        // Also those that have waited for a task which is dropped before it runs.
        let (tasks, most) = (Tasks::default(), 2);
        let queue = Arc::clone(&tasks);
        let reads = SharedReads::new(
            1,
            most,
            move |task| queue.lock().unwrap().push_back(task),
            |keys: Vec<u32>| std::future::ready(keys),
        );
        let mut waiting: Vec<_> = (0..5).map(|key| Box::pin(reads.read(key))).collect();
        assert!(waiting.iter_mut().all(|one| poll(one).is_none()));
        loop {
            let Some(task) = tasks.lock().unwrap().pop_front() else { break };
            drop(task);
        }
        assert!(waiting.iter_mut().all(|one| poll(one) == Some(None)));
        assert_eq!(format!("{reads:?}"), "SharedReads { waiting: 0, under_way: 0 }");
    }
}
