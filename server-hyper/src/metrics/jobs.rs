//! Metrics of queued extractions: what waits, of all servers, and what the workers of this one did.

use std::sync::atomic::AtomicU64;

use openapi_core::platform::JobFigures;
use openapi_core::storage::{Queue, QueueLoad};
use openapi_core::values::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    queue: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    queue: &'static str,
}

/// Metrics of jobs.
#[derive(Clone, Debug)]
pub struct JobMetrics {
    jobs: Family<JobLabels, Gauge>,
    oldest: Family<QueueLabels, Gauge<f64, AtomicU64>>,
    begun: Counter,
    waited: Counter<f64, AtomicU64>,
    lost: Counter,
}

impl JobMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = JobMetrics {
            jobs: Family::default(),
            oldest: Family::default(),
            begun: Counter::default(),
            waited: Counter::default(),
            lost: Counter::default(),
        };
        registry.register("jobs", "Unfinished jobs of all servers", metrics.jobs.clone());
        registry.register(
            "job_oldest_seconds",
            "Age of the oldest job that is ready",
            metrics.oldest.clone(),
        );
        registry.register("jobs_begun", "Attempts of this server", metrics.begun.clone());
        registry.register(
            "job_wait_seconds",
            "How long the jobs of these attempts had waited since they came",
            metrics.waited.clone(),
        );
        registry.register(
            "job_leases_lost",
            "Jobs whose server ended while it ran them",
            metrics.lost.clone(),
        );
        for queue in [Queue::Extraction, Queue::Crawl, Queue::Mail] {
            metrics.set(queue, &QueueLoad::default(), Timestamp::from_millis(0));
        }
        metrics
    }

    /// What waits in a queue.
    pub fn set(&self, queue: Queue, load: &QueueLoad, now: Timestamp) {
        let queue = name(queue);
        for (state, count) in
            [("ready", load.ready), ("scheduled", load.scheduled), ("running", load.running)]
        {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.jobs.get_or_create(&JobLabels { queue, state }).set(count);
        }
        let age = load.oldest.map_or(0, |oldest| now.millis_since(oldest));
        self.oldest.get_or_create(&QueueLabels { queue }).set(age as f64 / 1_000.0);
    }

    /// What the workers did between two readings.
    pub fn add(&self, before: &JobFigures, now: &JobFigures) {
        self.begun.inc_by(now.begun.saturating_sub(before.begun));
        self.waited.inc_by(now.waited_millis.saturating_sub(before.waited_millis) as f64 / 1_000.0);
        self.lost.inc_by(now.lost.saturating_sub(before.lost));
    }
}

const fn name(queue: Queue) -> &'static str {
    match queue {
        Queue::Extraction => "extraction",
        Queue::Reminder => "reminder",
        Queue::Crawl => "crawl",
        Queue::Mail => "mail",
    }
}
