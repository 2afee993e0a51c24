//! What the server counts, as Prometheus reads it. Labels are route templates and codes; nothing in them names a tenant.

mod documents;
mod tally;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::ports::since_epoch;
pub use documents::Documents;
pub use tally::{Answered, Tally};

/// Why a connection was not served.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Refused {
    /// `total`, `address` or `handshake`.
    pub reason: &'static str,
}

/// All counters of a server.
pub struct Metrics {
    registry: Registry,
    tally: Arc<Tally>,
    /// Open connections.
    pub connections: Gauge,
    /// Connections not served.
    pub refused_connections: Family<Refused, Counter>,
    /// Requests that panicked.
    pub panics: Counter,
    /// Requests whose client left before the answer.
    pub abandoned: Counter,
    /// Documents that values are looked for in.
    pub documents: Documents,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Fresh counters. `lost_log_lines` counts what the log could not take.
    #[must_use]
    pub fn new(version: &'static str, lost_log_lines: Arc<AtomicU64>) -> Self {
        let mut whole = Registry::default();
        let tally: Arc<Tally> = Arc::default();
        let connections = Gauge::default();
        let (panics, abandoned) = (Counter::default(), Counter::default());
        let refused_connections = Family::<Refused, Counter>::default();
        let registry = whole.sub_registry_with_prefix("openapi");
        registry.register("build", "The version of the server", Info::new([("version", version)]));
        registry.register("connections", "Open connections", connections.clone());
        registry.register("connections_refused", "Connections not served", refused_connections.clone());
        registry.register("panics", "Requests that ended in a panic", panics.clone());
        registry.register("http_requests_abandoned", "Requests whose client left", abandoned.clone());
        let documents = Documents::register(registry);
        registry.register_collector(Box::new(Shared(Arc::clone(&tally))));
        registry.register_collector(Box::new(LostLines(lost_log_lines)));
        whole.register_collector(Box::new(Process { started: since_epoch() }));
        Metrics { registry: whole, tally, connections, refused_connections, panics, abandoned, documents }
    }

    /// Counts of requests and answers.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// All metrics as text.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::with_capacity(8 * 1024);
        // Writing into a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

/// The tally as a part of the registry.
#[derive(Debug)]
struct Shared(Arc<Tally>);

impl Collector for Shared {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.0.encode(encoder)
    }
}

#[derive(Debug)]
struct LostLines(Arc<AtomicU64>);

impl Collector for LostLines {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let lost = ConstCounter::new(self.0.load(Ordering::Relaxed));
        let metric = encoder.encode_descriptor(
            "log_lines_lost",
            "Log lines dropped because standard error did not take them",
            None,
            lost.metric_type(),
        )?;
        lost.encode(metric)
    }
}

/// What the system knows of this process, under the names that dashboards expect.
#[derive(Debug)]
struct Process {
    started: Duration,
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut gauge = |name, help, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge("process_start_time_seconds", "Start of the process", self.started.as_secs_f64())?;
        if let Some(usage) = usage() {
            gauge("process_resident_memory_bytes", "Resident memory", usage.resident_bytes)?;
            gauge("process_open_fds", "Open file descriptors", usage.open_files)?;
            let cpu = ConstCounter::new(usage.cpu_seconds);
            cpu.encode(encoder.encode_descriptor(
                "process_cpu_seconds",
                "User and system time",
                None,
                cpu.metric_type(),
            )?)?;
        }
        Ok(())
    }
}

struct Usage {
    resident_bytes: f64,
    cpu_seconds: f64,
    open_files: f64,
}

/// Reads `/proc`; `None` on systems without it.
fn usage() -> Option<Usage> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let pages: f64 = statm.split(' ').nth(1)?.parse().ok()?;
    // The name of the program stands in parentheses and may contain anything; fields 14 and 15 are the times.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    let ticks = ticks()? + ticks()?;
    Some(Usage {
        resident_bytes: pages * rustix::param::page_size() as f64,
        cpu_seconds: ticks / rustix::param::clock_ticks_per_second() as f64,
        open_files: std::fs::read_dir("/proc/self/fd").map_or(0.0, |files| files.count() as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_holds_what_happened() {
        let lost = Arc::new(AtomicU64::new(3));
        let metrics = Metrics::new("1.2.3", lost);
        let answered =
            Answered { route: "/contacts/chatbots/{agentId}", method: "GET", status: 404, code: "X" };
        metrics.tally().answered(&answered, Duration::from_millis(3));
        metrics.tally().answered(&answered, Duration::from_millis(3));
        metrics.connections.inc();
        let text = metrics.encode();
        for line in [
            "openapi_http_requests_total{route=\"/contacts/chatbots/{agentId}\",method=\"GET\",status=\"404\",code=\"X\"} 2",
            "openapi_http_request_duration_seconds_bucket{le=\"0.005\",route=\"/contacts/chatbots/{agentId}\",method=\"GET\"} 2",
            "openapi_connections 1",
            "openapi_log_lines_lost_total 3",
            "openapi_build_info{version=\"1.2.3\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(
            text.contains("process_resident_memory_bytes ") && text.contains("process_cpu_seconds_total ")
        );
    }
}
