//! Metrics of events: those that this server has committed, and the streams that clients and operators read.

use std::fmt;
use std::sync::Arc;

use ::console::LiveStreams;
use conversations::storage::ConversationStorage;
use events::streams::EventHub;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// What metrics of events are read from, at each scrape.
pub struct EventMetrics {
    /// The streams.
    streams: EventHub,
    /// The streams of operators.
    console_streams: LiveStreams,
    /// The store, which counts the events that it commits.
    storage: Arc<dyn ConversationStorage>,
}

impl fmt::Debug for EventMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventMetrics").finish_non_exhaustive()
    }
}

impl EventMetrics {
    /// Metrics of these streams, and of what a store commits.
    #[must_use]
    pub fn new(
        streams: &EventHub,
        console_streams: &LiveStreams,
        storage: &Arc<dyn ConversationStorage>,
    ) -> Self {
        let (streams, console_streams) = (streams.clone(), console_streams.clone());
        EventMetrics { streams, console_streams, storage: Arc::clone(storage) }
    }

    pub(super) fn register(self, registry: &mut Registry) {
        registry.register_collector(Box::new(self));
    }
}

impl Collector for EventMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let streams = ConstGauge::new(i64::from(self.streams.open_streams()));
        streams.encode(encoder.encode_descriptor(
            "event_streams",
            "Open event streams",
            None,
            MetricType::Gauge,
        )?)?;
        let streams = ConstGauge::new(i64::from(self.console_streams.open_streams()));
        streams.encode(encoder.encode_descriptor(
            "console_streams",
            "Open live streams of operators",
            None,
            MetricType::Gauge,
        )?)?;
        let help = "Events that this server has committed";
        let mut counters = encoder.encode_descriptor("events", help, None, MetricType::Counter)?;
        for (kind, count) in self.storage.notifier().counts() {
            let counter = ConstCounter::new(count);
            counter.encode(counters.encode_family(&[("type", kind.as_str())])?)?;
        }
        Ok(())
    }
}
