//! Metrics for Prometheus. Labels are route templates and codes; none of them names a tenant.

mod console;
mod documents;
mod events;
mod jobs;
mod mail;
mod outbound;
mod requests;
mod webhooks;

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

pub use self::events::EventMetrics;
use crate::ports::since_epoch;
pub use console::ConsoleMetrics;
pub use documents::Documents;
pub use jobs::JobMetrics;
pub use mail::MailMetrics;
pub use outbound::OutboundMetrics;
pub use requests::{RequestMetrics, ResponseLabels};
pub use webhooks::WebhookMetrics;

/// The label of a listener's connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Listening {
    /// `open-api`, `widget` or `console`.
    pub listener: &'static str,
}

/// The labels of a refused connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Refused {
    /// `open-api`, `widget` or `console`.
    pub listener: &'static str,
    /// `total`, `address`, `plain_text` or `handshake`.
    pub reason: &'static str,
}

/// All metrics of a server.
pub struct Metrics {
    registry: Registry,
    /// Open connections.
    pub connections: Family<Listening, Gauge>,
    /// Refused connections.
    pub refused_connections: Family<Refused, Counter>,
    /// Idle connections that made room for others in a full pool.
    pub evicted_connections: Family<Listening, Counter>,
    /// Response streams of HTTP/2 that were cancelled because the client did not read them.
    pub cancelled_streams: Counter,
    /// Requests and responses.
    pub requests: RequestMetrics,
    /// Documents of extractions.
    pub documents: Documents,
    /// Requests to URLs of tenants.
    pub outbound: OutboundMetrics,
    /// Webhooks.
    pub webhooks: WebhookMetrics,
    /// E-mail to visitors.
    pub mail: MailMetrics,
    /// Requests of operators.
    pub console: ConsoleMetrics,
    /// Queued extractions.
    pub jobs: JobMetrics,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Metrics that begin at 0. `dropped_log_lines` reads the counter of the log; a server without events has no metrics
    /// of them.
    #[must_use]
    pub fn new(
        version: &'static str,
        dropped_log_lines: impl Fn() -> u64 + Send + Sync + 'static,
        events: Option<EventMetrics>,
    ) -> Self {
        let mut whole = Registry::default();
        let connections = Family::<Listening, Gauge>::default();
        let refused_connections = Family::<Refused, Counter>::default();
        let evicted_connections = Family::<Listening, Counter>::default();
        let cancelled_streams = Counter::default();
        let registry = whole.sub_registry_with_prefix("openapi");
        registry.register("build", "Version of the server", Info::new([("version", version)]));
        registry.register("connections", "Open connections", connections.clone());
        registry.register("connections_refused", "Refused connections", refused_connections.clone());
        registry.register(
            "connections_evicted",
            "Idle connections closed to make room for others",
            evicted_connections.clone(),
        );
        registry.register(
            "http2_streams_cancelled",
            "HTTP/2 response streams cancelled because the client did not read them",
            cancelled_streams.clone(),
        );
        let requests = RequestMetrics::register(registry);
        let documents = Documents::register(registry);
        let outbound = OutboundMetrics::register(registry);
        let webhooks = WebhookMetrics::register(registry);
        let mail = MailMetrics::register(registry);
        let console = ConsoleMetrics::register(registry);
        if let Some(events) = events {
            events.register(registry);
        }
        let jobs = JobMetrics::register(registry);
        registry.register_collector(Box::new(DroppedLines(Box::new(dropped_log_lines))));
        whole.register_collector(Box::new(Process { started: since_epoch() }));
        Metrics {
            registry: whole,
            connections,
            refused_connections,
            evicted_connections,
            cancelled_streams,
            requests,
            documents,
            outbound,
            webhooks,
            mail,
            console,
            jobs,
        }
    }

    /// All metrics in the OpenMetrics text format.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::with_capacity(8 * 1024);
        // Writing to a string never fails.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

/// Reads the log's counter of dropped lines at each scrape.
struct DroppedLines(Box<dyn Fn() -> u64 + Send + Sync>);

impl fmt::Debug for DroppedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DroppedLines").finish_non_exhaustive()
    }
}

impl Collector for DroppedLines {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let dropped = ConstCounter::new(self.0());
        let metric = encoder.encode_descriptor(
            "log_lines_dropped",
            "Log lines dropped because standard error was too slow",
            None,
            dropped.metric_type(),
        )?;
        dropped.encode(metric)
    }
}

/// Metrics of the process, under their conventional names.
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
        gauge(
            "process_start_time_seconds",
            "Start time of the process since 1970",
            self.started.as_secs_f64(),
        )?;
        if let Some(usage) = usage() {
            gauge("process_resident_memory_bytes", "Resident memory size", usage.resident_bytes)?;
            gauge("process_open_fds", "Open file descriptors", usage.open_files)?;
            let cpu = ConstCounter::new(usage.cpu_seconds);
            cpu.encode(encoder.encode_descriptor(
                "process_cpu_seconds",
                "User and system CPU time",
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
    // The program name is in parentheses and may contain anything; fields 14 and 15 are the CPU times.
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
    fn the_text_contains_what_was_recorded() {
        let metrics = Metrics::new("1.2.3", || 3, None);
        let labels =
            ResponseLabels { route: "/contacts/chatbots/{agentId}", method: "GET", status: 404, code: "X" };
        metrics.requests.record(&labels, Duration::from_millis(3));
        metrics.requests.record(&labels, Duration::from_millis(3));
        metrics.connections.get_or_create(&Listening { listener: "widget" }).inc();
        let text = metrics.encode();
        for line in [
            "openapi_http_requests_total{route=\"/contacts/chatbots/{agentId}\",method=\"GET\",status=\"404\",code=\"X\"} 2",
            "openapi_http_request_duration_seconds_bucket{le=\"0.005\",route=\"/contacts/chatbots/{agentId}\",method=\"GET\"} 2",
            "openapi_connections{listener=\"widget\"} 1",
            "openapi_log_lines_dropped_total 3",
            "openapi_build_info{version=\"1.2.3\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(
            text.contains("process_resident_memory_bytes ") && text.contains("process_cpu_seconds_total ")
        );
    }
}
