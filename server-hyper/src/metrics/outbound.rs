//! Metrics of requests to URLs of tenants: a decorator around the client counts refused targets.

use std::sync::Arc;

use async_trait::async_trait;
use openapi_core::ports::{Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabels {
    /// The word of the rule, from the list of the client.
    rule: &'static str,
}

/// Metrics of refused targets.
#[derive(Clone, Debug)]
pub struct OutboundMetrics {
    refused: Family<RuleLabels, Counter>,
}

impl OutboundMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let refused = Family::<RuleLabels, Counter>::default();
        // Every rule has its counter from the start, so that alerts see the first refusal.
        for rule in outbound::Rule::ALL {
            drop(refused.get_or_create(&RuleLabels { rule: rule.word() }));
        }
        registry.register(
            "outbound_refused",
            "Requests to other services that the policy refused, by rule",
            refused.clone(),
        );
        OutboundMetrics { refused }
    }

    /// The client with these metrics. [`Outbound::check`] is not counted: it precedes a request that is never sent.
    #[must_use]
    pub fn around(&self, client: Arc<dyn Outbound>) -> Arc<dyn Outbound> {
        Arc::new(Measured { client, metrics: self.clone() })
    }
}

/// A client whose refused targets are counted.
struct Measured {
    client: Arc<dyn Outbound>,
    metrics: OutboundMetrics,
}

#[async_trait]
impl Outbound for Measured {
    fn check(&self, url: &str, schemes: OutboundSchemes) -> Result<(), OutboundError> {
        self.client.check(url, schemes)
    }

    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let sent = self.client.send(request).await;
        if let Err(OutboundError::Refused { rule, .. }) = &sent {
            self.metrics.refused.get_or_create(&RuleLabels { rule }).inc();
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use outbound::{HttpOutbound, Parts, Policy};

    use super::*;

    #[tokio::test]
    async fn refused_requests_are_counted_by_rule() {
        let mut registry = Registry::default();
        let metrics = OutboundMetrics::register(registry.sub_registry_with_prefix("openapi"));
        let client = HttpOutbound::new(Policy::default(), Parts::system().unwrap());
        let client = metrics.around(Arc::new(client));
        for url in ["https://127.0.0.1/", "https://[::1]/", "https://10.0.0.1/", "https://localhost/"] {
            client.check(url, OutboundSchemes::Https).unwrap_err();
            client.send(OutboundRequest::new(http::Method::GET, url)).await.unwrap_err();
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "openapi_outbound_refused_total{rule=\"loopback\"} 2",
            "openapi_outbound_refused_total{rule=\"private\"} 1",
            "openapi_outbound_refused_total{rule=\"reserved_name\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
