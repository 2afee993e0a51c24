//! Metrics of webhooks.

use events::runner::{DeliveryObserver, OUTCOMES, Standing};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    /// `healthy`, `failing` or `disabled`.
    state: &'static str,
}

/// Upper bounds of the delay of a first attempt, in seconds.
const DELAYS: [f64; 11] = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0, 3_600.0];

/// Metrics of webhooks.
#[derive(Clone, Debug)]
pub struct WebhookMetrics {
    attempts: Family<OutcomeLabels, Counter>,
    delay: Histogram,
    given_up: Counter,
    endpoints: Family<StateLabels, Gauge>,
    pending: Gauge,
    oldest: Gauge,
}

impl WebhookMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = WebhookMetrics {
            attempts: Family::default(),
            delay: Histogram::new(DELAYS),
            given_up: Counter::default(),
            endpoints: Family::default(),
            pending: Gauge::default(),
            oldest: Gauge::default(),
        };
        // From the start, so that alerts see the first of each.
        for outcome in OUTCOMES {
            drop(metrics.attempts.get_or_create(&OutcomeLabels { outcome }));
        }
        metrics.standing(Standing::default());
        registry.register("webhook_attempts", "Webhook messages sent, by outcome", metrics.attempts.clone());
        registry.register(
            "webhook_delay_seconds",
            "From the commit of an event to its first attempt",
            metrics.delay.clone(),
        );
        registry.register("webhook_given_up", "Events that were given up", metrics.given_up.clone());
        registry.register("webhook_endpoints", "Webhook endpoints, by state", metrics.endpoints.clone());
        registry.register(
            "webhook_pending",
            "Events that are to be sent to webhook endpoints",
            metrics.pending.clone(),
        );
        registry.register(
            "webhook_oldest_seconds",
            "Age of the oldest event that a healthy webhook endpoint has not got",
            metrics.oldest.clone(),
        );
        metrics
    }
}

impl DeliveryObserver for WebhookMetrics {
    fn attempted(&self, outcome: &'static str) {
        self.attempts.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    fn began(&self, delay_millis: u64) {
        self.delay.observe(delay_millis as f64 / 1_000.0);
    }

    fn given_up(&self, events: u64) {
        self.given_up.inc_by(events);
    }

    fn standing(&self, standing: Standing) {
        let states =
            [("healthy", standing.healthy), ("failing", standing.failing), ("disabled", standing.disabled)];
        for (state, endpoints) in states {
            self.endpoints.get_or_create(&StateLabels { state }).set(gauge(endpoints));
        }
        self.pending.set(gauge(standing.pending));
        self.oldest.set(gauge(standing.oldest_seconds));
    }
}

fn gauge(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
