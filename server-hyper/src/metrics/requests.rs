//! Metrics of requests, by route.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds of the duration histogram, in seconds.
const BOUNDS: [f64; 14] =
    [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The labels of a response. All values are constants of the program: their number is bounded, and none names a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResponseLabels {
    /// The route template; `unknown` without a route, `static` for pages outside the API.
    pub route: &'static str,
    /// The method; `other` for one that no endpoint has.
    pub method: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// The error code; empty on success.
    pub code: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
    method: &'static str,
}

/// Counters of requests.
#[derive(Debug)]
pub struct RequestMetrics {
    /// Requests in progress.
    pub in_flight: Gauge,
    /// Requests whose handler panicked.
    pub panics: Counter,
    /// Requests whose client disconnected before the response.
    pub cancelled: Counter,
    responses: Family<ResponseLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
}

impl RequestMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = RequestMetrics {
            in_flight: Gauge::default(),
            panics: Counter::default(),
            cancelled: Counter::default(),
            responses: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BOUNDS)),
        };
        registry.register("panics", "Requests that ended in a panic", metrics.panics.clone());
        registry.register(
            "http_requests_cancelled",
            "Requests whose client disconnected before the response",
            metrics.cancelled.clone(),
        );
        registry.register("http_requests_in_flight", "Requests in progress", metrics.in_flight.clone());
        registry.register("http_requests", "Completed requests", metrics.responses.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time from the complete request head to the response",
            Unit::Seconds,
            metrics.durations.clone(),
        );
        metrics
    }

    /// Counts a response and the time it took.
    pub fn record(&self, labels: &ResponseLabels, took: Duration) {
        self.responses.get_or_create(labels).inc();
        let route = RouteLabels { route: labels.route, method: labels.method };
        self.durations.get_or_create(&route).observe(took.as_secs_f64());
    }
}
