//! What a host learns of deliveries, for its metrics.

/// Learns how deliveries go.
pub trait DeliveryObserver: Send + Sync {
    /// An attempt has ended: `success`, `redirect`, `gone`, `client_error`, `server_error`, or the word of an
    /// [`OutboundError`](openapi_core::ports::OutboundError).
    fn attempted(&self, outcome: &'static str);

    /// A first attempt begins so many milliseconds after the commit of its event.
    fn began(&self, delay_millis: u64);

    /// So many events were given up.
    fn given_up(&self, events: u64);

    /// How all endpoints stand; every minute.
    fn standing(&self, standing: Standing);
}

/// The words of [`DeliveryObserver::attempted`].
pub const OUTCOMES: [&str; 14] = [
    "success",
    "redirect",
    "gone",
    "client_error",
    "server_error",
    "refused",
    "dns",
    "connect",
    "tls",
    "timeout",
    "response",
    "redirects",
    "request",
    "unavailable",
];

/// How all endpoints stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Endpoints that get events and do not fail.
    pub healthy: u64,
    /// Endpoints of which every attempt fails.
    pub failing: u64,
    /// Endpoints that are disabled.
    pub disabled: u64,
    /// Events that are to be sent.
    pub pending: u64,
    /// How old the oldest event is that a healthy endpoint has not got, in seconds.
    pub oldest_seconds: u64,
}

/// Learns nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl DeliveryObserver for NoObserver {
    fn attempted(&self, _: &'static str) {}

    fn began(&self, _: u64) {}

    fn given_up(&self, _: u64) {}

    fn standing(&self, _: Standing) {}
}
