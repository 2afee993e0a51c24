//! The operator's settings of the widget's side of the service, for all agents.

use std::fmt;
use std::sync::Arc;

use openapi_core::json::Object;
use openapi_core::limits::Window;

use super::stream_limiter::StreamLimits;

/// The texts of the widget in a language, by key, with the language's tag; [`None`] for the widget's own, in English.
pub type Texts = Arc<dyn Fn(&str) -> Option<(String, Object)> + Send + Sync>;

/// Settings of [`WidgetApi`](super::WidgetApi); the defaults are those of the documentation.
#[derive(Clone)]
#[non_exhaustive]
pub struct WidgetSettings {
    /// The origin of this service, such as `https://widget.example.com`. Its own pages may show every widget.
    pub own_origin: Option<String>,
    /// The texts of the widget.
    pub texts: Texts,
    /// The limits of visitors, addresses and agents.
    pub limits: WidgetLimits,
    /// The deadlines of a reply.
    pub deadlines: TurnDeadlines,
    /// The price of each started thousand tokens of a model, in credits (1).
    pub credits_per_thousand_tokens: u32,
    /// The largest header block of a call, in bytes (8 KiB).
    pub max_header_bytes: usize,
}

impl Default for WidgetSettings {
    fn default() -> Self {
        WidgetSettings {
            own_origin: None,
            texts: Arc::new(|_| None),
            limits: WidgetLimits::default(),
            deadlines: TurnDeadlines::default(),
            credits_per_thousand_tokens: 1,
            max_header_bytes: 8 * 1024,
        }
    }
}

impl fmt::Debug for WidgetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WidgetSettings")
            .field("own_origin", &self.own_origin)
            .field("limits", &self.limits)
            .field("deadlines", &self.deadlines)
            .field("credits_per_thousand_tokens", &self.credits_per_thousand_tokens)
            .finish_non_exhaustive()
    }
}

/// The limits of visitors, addresses and agents. A window with the limit 0 is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidgetLimits {
    /// Turns of a visitor.
    pub turns: Vec<Window>,
    /// Calls of `/sync` and the like of a visitor.
    pub syncs: Vec<Window>,
    /// Lead forms of a visitor.
    pub leads: Vec<Window>,
    /// Uploads of a visitor.
    pub uploads: Vec<Window>,
    /// New sessions of an address.
    pub address_sessions: Vec<Window>,
    /// Turns of an address.
    pub address_turns: Vec<Window>,
    /// Lead forms of an address.
    pub address_leads: Vec<Window>,
    /// The number of conversations in which an address may send the same text. The last one requires a challenge.
    pub address_repeats: Vec<Window>,
    /// All other requests of an address: configuration, scripts, unknown paths.
    pub address_calls: Vec<Window>,
    /// Turns of an agent, in this process.
    pub agent_turns: Vec<Window>,
    /// Open streams.
    pub streams: StreamLimits,
}

impl Default for WidgetLimits {
    fn default() -> Self {
        let window = Window::of_seconds;
        const MINUTE: i64 = 60;
        const HOUR: i64 = 3_600;
        const DAY: i64 = 24 * HOUR;
        WidgetLimits {
            turns: vec![
                window("second", 10, 4),
                window("minute", MINUTE, 8),
                window("hour", HOUR, 60),
                window("day", DAY, 200),
            ],
            syncs: vec![window("minute", MINUTE, 60)],
            leads: vec![window("day", DAY, 5)],
            uploads: vec![window("day", DAY, 20)],
            address_sessions: vec![window("minute", 10 * MINUTE, 5)],
            address_turns: vec![window("minute", MINUTE, 30), window("hour", HOUR, 300)],
            address_leads: vec![window("hour", HOUR, 10)],
            address_repeats: vec![window("minute", 10 * MINUTE, 3)],
            address_calls: vec![window("minute", MINUTE, 300)],
            agent_turns: vec![window("minute", MINUTE, 120)],
            streams: StreamLimits::default(),
        }
    }
}

/// The deadlines of a reply, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnDeadlines {
    /// Until the first event (10 s).
    pub first_event: u64,
    /// Until the first piece of the reply (30 s).
    pub first_delta: u64,
    /// Between two pieces (20 s).
    pub between_deltas: u64,
    /// Until the end (90 s).
    pub whole: u64,
}

impl Default for TurnDeadlines {
    fn default() -> Self {
        TurnDeadlines { first_event: 10_000, first_delta: 30_000, between_deltas: 20_000, whole: 90_000 }
    }
}
