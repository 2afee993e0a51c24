//! Batches concurrent reads of single keys, for stores that reach their database over a network (the dataloader pattern).
//!
//! A statement costs the server and its driver several times as much as one more row in it. Only a few statements run at
//! once; reads that arrive meanwhile share the next one. A task chooses its keys when it starts, so the batch holds every
//! read that the runtime had ready by then. A read without company starts at once.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

type BoxFuture<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;
type Read<K, V> = dyn Fn(Vec<K>) -> BoxFuture<'static, Vec<V>> + Send + Sync;
type Spawn = dyn Fn(BoxFuture<'static, ()>) + Send + Sync;

/// Reads of one kind, each of a key.
///
/// ```
/// use storage_common::batch_loader::BatchLoader;
///
/// // Here a table in memory, and tasks that run at once; elsewhere a query, and `spawn_last`.
/// let names = BatchLoader::new(2, 64, |task| pollster::block_on(task), |ids: Vec<usize>| async move {
///     ids.into_iter().map(|id| ["Ada", "Zoe"].get(id).copied()).collect()
/// });
/// assert_eq!(pollster::block_on(names.read(1)), Some(Some("Zoe")));
/// assert_eq!(pollster::block_on(names.read(2)), Some(None), "the id is unknown");
/// ```
pub struct BatchLoader<K, V> {
    shared: Arc<Shared<K, V>>,
}

struct Shared<K, V> {
    read: Box<Read<K, V>>,
    spawn: Box<Spawn>,
    max_concurrency: usize,
    max_batch_size: usize,
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    waiting: VecDeque<PendingRead<K, V>>,
    running: usize,
}

/// A key and the sender for its value.
struct PendingRead<K, V> {
    key: K,
    reply: oneshot::Sender<V>,
}

/// Spawns the tasks of a [`BatchLoader`] on a tokio runtime. Tasks that are ready now run first: they may ask for a key
/// as well.
pub fn spawn_last(runtime: Handle) -> impl Fn(BoxFuture<'static, ()>) + Send + Sync {
    move |task| {
        drop(runtime.spawn(async move {
            tokio::task::yield_now().await;
            task.await;
        }));
    }
}

impl<K: Send + 'static, V: Send + 'static> BatchLoader<K, V> {
    /// `read` takes up to `max_batch_size` keys and returns their values in the same order. At most `max_concurrency` of
    /// its futures run at once, each on a task started by `spawn`. Both numbers are at least 1.
    pub fn new<F>(
        max_concurrency: usize,
        max_batch_size: usize,
        spawn: impl Fn(Pin<Box<dyn Future<Output = ()> + Send>>) + Send + Sync + 'static,
        read: impl Fn(Vec<K>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Vec<V>> + Send + 'static,
    {
        BatchLoader {
            shared: Arc::new(Shared {
                read: Box::new(move |keys| Box::pin(read(keys))),
                spawn: Box::new(spawn),
                max_concurrency: max_concurrency.max(1),
                max_batch_size: max_batch_size.max(1),
                state: Mutex::new(State { waiting: VecDeque::new(), running: 0 }),
            }),
        }
    }

    /// The value of a key. `None` when the read ended without one, because it panicked or its runtime is shutting down.
    /// Dropping the future before the read starts withdraws the key.
    pub async fn read(&self, key: K) -> Option<V> {
        let (reply, found) = oneshot::channel();
        let has_permit = {
            let mut state = self.shared.state();
            state.waiting.push_back(PendingRead { key, reply });
            let has_permit = state.running < self.shared.max_concurrency;
            state.running += usize::from(has_permit);
            has_permit
        };
        if has_permit {
            Shared::start(&self.shared);
        }
        found.await.ok()
    }
}

impl<K, V> fmt::Debug for BatchLoader<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.state();
        let (waiting, running) = (state.waiting.len(), state.running);
        f.debug_struct("BatchLoader").field("waiting", &waiting).field("running", &running).finish()
    }
}

impl<K, V> State<K, V> {
    fn next(&mut self, max_batch_size: usize) -> Vec<PendingRead<K, V>> {
        // Reads whose futures were dropped are left out.
        let waiting = std::iter::from_fn(|| self.waiting.pop_front());
        waiting.filter(|pending| !pending.reply.is_closed()).take(max_batch_size).collect()
    }
}

impl<K, V> Shared<K, V> {
    fn state(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock()
    }
}

impl<K: Send + 'static, V: Send + 'static> Shared<K, V> {
    fn start(shared: &Arc<Self>) {
        // Created here and not in the task: if the task never runs, dropping the permit starts the next batch.
        let mut permit = Permit { shared: Arc::clone(shared), has_run: false };
        (shared.spawn)(Box::pin(async move {
            permit.has_run = true;
            let batch = permit.shared.state().next(permit.shared.max_batch_size);
            if batch.is_empty() {
                return;
            }
            let (keys, replies): (Vec<K>, Vec<_>) =
                batch.into_iter().map(|pending| (pending.key, pending.reply)).unzip();
            for (reply, found) in replies.into_iter().zip((permit.shared.read)(keys).await) {
                // The receiver may be gone.
                let _ = reply.send(found);
            }
        }));
    }
}

/// The permit of one running read. Dropping it, also in a panic, starts the next batch if reads are waiting.
struct Permit<K: Send + 'static, V: Send + 'static> {
    shared: Arc<Shared<K, V>>,
    /// Whether its task has run and chosen its keys.
    has_run: bool,
}

impl<K: Send + 'static, V: Send + 'static> Drop for Permit<K, V> {
    fn drop(&mut self) {
        let (abandoned, continues) = {
            let mut state = self.shared.state();
            // No other task would complete the reads that this one would have chosen.
            let abandoned = if self.has_run { Vec::new() } else { state.next(self.shared.max_batch_size) };
            let continues = !state.waiting.is_empty();
            state.running -= usize::from(!continues);
            (abandoned, continues)
        };
        drop(abandoned);
        if continues {
            Shared::start(&self.shared);
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

    /// Reads that run when the test runs their tasks; the value of a key is its double.
    fn reads(max_concurrency: usize, max_batch_size: usize) -> (BatchLoader<u32, u32>, Tasks, Batches) {
        let (tasks, batches) = (Tasks::default(), Batches::default());
        let (queue, asked) = (Arc::clone(&tasks), Arc::clone(&batches));
        let reads = BatchLoader::new(
            max_concurrency,
            max_batch_size,
            move |task| queue.lock().push_back(task),
            move |keys: Vec<u32>| {
                asked.lock().push(keys.clone());
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

    /// Runs the oldest task; false when there is none.
    fn run_one(tasks: &Tasks) -> bool {
        let task = tasks.lock().pop_front();
        let Some(mut task) = task else { return false };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut task)));
        assert!(matches!(outcome, Ok(Some(())) | Err(_)));
        drop(task);
        true
    }

    #[test]
    fn waiting_reads_share_the_next_batch() {
        let (reads, tasks, batches) = reads(2, 3);
        let mut waiting: Vec<_> = (0..8).map(|key| Box::pin(reads.read(key))).collect();
        assert!(waiting.iter_mut().all(|one| poll(one).is_none()));
        assert_eq!(tasks.lock().len(), 2, "the limit");
        // The sixth future is dropped.
        drop(waiting.remove(5));
        while run_one(&tasks) {}
        assert_eq!(*batches.lock(), [vec![0, 1, 2], vec![3, 4, 6], vec![7]], "chosen when a task runs");
        let found: Vec<_> = waiting.iter_mut().map(|one| poll(one).unwrap()).collect();
        assert_eq!(found, [0, 1, 2, 3, 4, 6, 7].map(|key| Some(key * 2)));
        assert_eq!(format!("{reads:?}"), "BatchLoader { waiting: 0, running: 0 }");
    }

    #[test]
    fn a_panic_ends_only_the_reads_of_its_batch() {
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
    fn a_runtime_that_drops_its_tasks_completes_every_read() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&dropped);
        let reads = BatchLoader::new(
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
        // So are the reads that waited for a task which is dropped before it runs.
        let (tasks, max_batch_size) = (Tasks::default(), 2);
        let queue = Arc::clone(&tasks);
        let reads = BatchLoader::new(
            1,
            max_batch_size,
            move |task| queue.lock().push_back(task),
            |keys: Vec<u32>| std::future::ready(keys),
        );
        let mut waiting: Vec<_> = (0..5).map(|key| Box::pin(reads.read(key))).collect();
        assert!(waiting.iter_mut().all(|one| poll(one).is_none()));
        loop {
            let Some(task) = tasks.lock().pop_front() else { break };
            drop(task);
        }
        assert!(waiting.iter_mut().all(|one| poll(one) == Some(None)));
        assert_eq!(format!("{reads:?}"), "BatchLoader { waiting: 0, running: 0 }");
    }
}
