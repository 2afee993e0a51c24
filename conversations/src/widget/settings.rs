//! The operator's settings of the widget's side of the service, for all agents.

use std::fmt;
use std::sync::Arc;

use openapi_core::json::Object;
use openapi_core::limits::Window;

use super::open_limiter::OpenLimits;

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

/// The limits of visitors, addresses and agents. A window with the limit 0 is off. The limits of an address also apply to
/// the networks around an IPv6 address: twice as high to its /56, four times as high to its /48.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WidgetLimits {
    /// Turns of a visitor.
    pub turns: Vec<Window>,
    /// Calls of a visitor that read or change a conversation, turns excepted.
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
    /// Requests of an address for the configuration, scripts, unknown paths and uploads, and those without a valid
    /// token or body.
    pub address_calls: Vec<Window>,
    /// All requests of an address, whatever other limit counts them.
    pub address_requests: Vec<Window>,
    /// Mebibytes of files that an address sends; each one begun counts.
    pub address_upload_mib: Vec<Window>,
    /// The same for the visitors of an agent.
    pub agent_upload_mib: Vec<Window>,
    /// The same for all visitors.
    pub upload_mib: Vec<Window>,
    /// Turns of an agent, in this process. Beyond them a challenge is required, and four times as many are the end.
    pub agent_turns: Vec<Window>,
    /// Open streams (8 for an address, 64 for an agent, 1,024 in the process).
    pub streams: OpenLimits,
    /// Running uploads (4 for an address, 32 for an agent, 128 in the process), besides one for each visitor.
    pub open_uploads: OpenLimits,
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
            syncs: vec![window("minute", MINUTE, 120)],
            leads: vec![window("day", DAY, 5)],
            uploads: vec![window("day", DAY, 20)],
            address_sessions: vec![window("minute", 10 * MINUTE, 5)],
            address_turns: vec![window("minute", MINUTE, 30), window("hour", HOUR, 300)],
            address_leads: vec![window("hour", HOUR, 10)],
            address_repeats: vec![window("minute", 10 * MINUTE, 3)],
            address_calls: vec![window("minute", MINUTE, 300)],
            address_requests: vec![window("minute", MINUTE, 1_200)],
            address_upload_mib: vec![window("day", DAY, 200)],
            agent_upload_mib: vec![window("day", DAY, 2_048)],
            upload_mib: vec![window("day", DAY, 10_240)],
            agent_turns: vec![window("minute", MINUTE, 120)],
            streams: OpenLimits { per_address: 8, per_agent: 64, per_process: 1_024 },
            open_uploads: OpenLimits { per_address: 4, per_agent: 32, per_process: 128 },
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
