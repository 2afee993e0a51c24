//! Where log lines go: a buffer that a thread writes out.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How much may wait to be written. Beyond it lines are dropped and counted: a terminal that hangs must not take the
/// server with it.
const MOST_WAITING: usize = 4 * 1024 * 1024;

/// How long lines are gathered before they are written.
const GATHER: Duration = Duration::from_millis(50);

/// So much is written without gathering more: it is in the processor's cache still, and the thread is not woken often
/// for it.
const FULL: usize = 64 * 1024;

/// Takes lines and has them written.
#[derive(Debug)]
pub struct LogWriter {
    state: Mutex<State>,
    /// There is something to write.
    filled: Condvar,
    /// Everything is written.
    emptied: Condvar,
    lost: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// Whether somebody waits for the lines, so that gathering more makes no sense.
    urgent: bool,
    writing: bool,
}

impl State {
    /// Whether the lines are to be written without gathering more.
    fn is_due(&self) -> bool {
        self.urgent || self.waiting.len() >= FULL
    }
}

impl LogWriter {
    /// A sink with a thread of its own that writes to `output`.
    pub fn start(output: impl Write + Send + 'static) -> Arc<Self> {
        let sink = Arc::new(LogWriter {
            state: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            lost: Arc::default(),
        });
        let writer = Arc::clone(&sink);
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(move || writer.run(output));
        if let Err(error) = thread {
            // Without the thread nothing would ever be written; the process has no room for a thread anyway.
            let _ = writeln!(std::io::stderr(), "cannot start the thread that writes the log: {error}");
        }
        sink
    }

    /// Lines dropped so far.
    #[must_use]
    pub fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost)
    }

    /// Takes a line, its end included. An urgent one is written at once, with all before it.
    pub fn write(&self, urgent: bool, line: &[u8]) {
        let mut state = self.lock();
        if state.waiting.len() > MOST_WAITING {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let was_empty = state.waiting.is_empty();
        let was_due = state.is_due();
        state.waiting.extend_from_slice(line);
        state.urgent |= urgent;
        let becomes_due = state.is_due() && !was_due;
        drop(state);
        if was_empty || becomes_due {
            self.filled.notify_one();
        }
    }

    /// Waits until everything is written, at most a second.
    pub fn flush(&self) {
        let mut state = self.lock();
        state.urgent = true;
        self.filled.notify_one();
        let _ = self.emptied.wait_timeout_while(state, Duration::from_secs(1), |state| {
            state.writing || !state.waiting.is_empty()
        });
    }

    fn run(&self, mut output: impl Write) {
        let mut batch = Vec::new();
        loop {
            let mut state = self.lock();
            while state.waiting.is_empty() {
                state.urgent = false;
                self.emptied.notify_all();
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let gathered = self.filled.wait_timeout_while(state, GATHER, |state| !state.is_due());
            state = gathered.unwrap_or_else(PoisonError::into_inner).0;
            std::mem::swap(&mut state.waiting, &mut batch);
            state.urgent = false;
            state.writing = true;
            drop(state);
            // Nothing can be told about a log that cannot be written.
            let _ = output.write_all(&batch).and_then(|()| output.flush());
            batch.clear();
            batch.shrink_to(2 * FULL);
            self.lock().writing = false;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_line_is_written_whole_and_in_order() {
        let output = Output::default();
        let sink = LogWriter::start(output.clone());
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let sink = &sink;
                scope.spawn(move || {
                    for number in 0..2_500 {
                        sink.write(number % 500 == 0, format!("{writer} {number}\n").as_bytes());
                    }
                });
            }
        });
        sink.flush();
        let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        for writer in 0..4 {
            let prefix = format!("{writer} ");
            let numbers: Vec<usize> =
                text.lines().filter_map(|line| line.strip_prefix(&prefix)?.parse().ok()).collect();
            assert_eq!(numbers, (0..2_500).collect::<Vec<_>>());
        }
        assert_eq!(text.lines().count(), 10_000);
    }

    #[test]
    fn an_output_that_hangs_costs_lines_not_memory() {
        struct Hanging(std::sync::mpsc::Receiver<()>);
        impl Write for Hanging {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (release, hold) = std::sync::mpsc::channel();
        let sink = LogWriter::start(Hanging(hold));
        for _ in 0..20_000 {
            sink.write(false, &[b'x'; 1_000]);
        }
        assert!(sink.lock().waiting.len() <= MOST_WAITING + 1_000);
        assert!(sink.lost().load(Ordering::Relaxed) > 0);
        drop(release);
    }
}
