//! Logs on standard error: text for people, JSON for machines. Lines are handed to a thread that writes many at once, so
//! that a request neither waits for the terminal nor pays a system call for its line.

mod line;
mod sink;

use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::Arc;

use tracing::Subscriber;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::config::typed::{LogFormat, Logging};
use crate::ports::since_epoch;
use line::Line;
pub use sink::LogWriter;

/// Turns events into lines. Spans are not noted: every event says by itself what it is about.
struct Lines {
    format: LogFormat,
    coloured: bool,
    sink: Arc<LogWriter>,
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        LINE.with_borrow_mut(|buffer| {
            buffer.clear();
            let mut line = Line::new(self.format, self.coloured, buffer);
            line.begin(event.metadata(), since_epoch());
            event.record(&mut line);
            line.end();
            self.sink.write(*event.metadata().level() <= tracing::Level::WARN, buffer);
        });
    }
}

thread_local! {
    /// The line of this thread: written without the sink's lock.
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Installs logging for the whole process. The sink is to be flushed before the process ends.
#[must_use]
pub fn install(logging: &Logging) -> Arc<LogWriter> {
    let terminal = std::io::stderr().is_terminal();
    let format = logging.format.unwrap_or(if terminal { LogFormat::Text } else { LogFormat::Json });
    let sink = LogWriter::start(std::io::stderr());
    let lines = Lines { format, coloured: terminal, sink: Arc::clone(&sink) };
    let subscriber = tracing_subscriber::registry().with(logging.filter.clone()).with(lines);
    // Fails only when something was installed before, as in a test: then that is used.
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        // The words of a panic may hold what a client sent: only its place is logged.
        tracing::error!(target: "panic", place, "a panic");
    }));
    sink
}
