//! The state machine of an endpoint, as a pure function: what is known, what happens and the time give the new state and
//! what to do. Its driver sends requests, stores states and reads the clock.
//!
//! - [`DeliveryState`] is what a store has of an endpoint's progress: cursor, open failures, replays, lease.
//! - [`Delivery`] is an endpoint in the hands of the server that holds its lease. It takes a [`Happening`] and gives
//!   [`Action`]s.
//!
//! Every event up to the cursor is settled, filtered out, or open. An event is open from its first attempt until it is
//! settled, so the cursor need not wait for slow receivers, and a server that takes over finds what was on its way. In
//! ordered mode the cursor stays before the open event. A crash loses what was settled since the last save: the
//! receiver gets it again, with the same id.

mod commands;
mod endpoint;
mod outcomes;
mod ownership;
mod source;
mod state;

pub use commands::{Resume, SkipError, TooManyReplays};
pub use endpoint::Delivery;
pub use source::{Page, Source};
pub use state::{DeliveryState, Lease, Open, Replay};

use openapi_core::values::{PlatformId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::message::Outcome;

/// Events that are open at most. While there are as many, the cursor waits.
pub const MAX_OPEN: usize = 1_000;
/// Replays that run or wait at most.
pub const MAX_REPLAYS: usize = 10;
/// Concurrent requests to an endpoint in parallel mode.
pub const MAX_IN_FLIGHT: usize = 8;
/// How long a lease lasts after a save, in milliseconds.
pub const LEASE: i64 = 45_000;
/// What must be left of the lease when a request begins: its timeout of 15 s, and 5 s of slack for clocks and pauses.
pub const LEASE_LEFT: i64 = 20_000;
/// How often the lease is renewed, in milliseconds.
pub const RENEWAL: i64 = 10_000;

/// Whether an endpoint gets its events in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Up to [`MAX_IN_FLIGHT`] requests at a time. A failed event is sent again later, and does not stop the others.
    Parallel,
    /// One request at a time. Nothing later is sent before an event is settled.
    Ordered,
}

/// What the owner of an endpoint knows besides its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliverySettings {
    /// The id of this process.
    pub server: PlatformId,
    /// The order of events.
    pub mode: Mode,
    /// Spreads retries: a number made from the endpoint's id.
    pub seed: u64,
    /// How long an endpoint may only fail before it is disabled, in milliseconds: 5 days, or the retention of events, if
    /// that is shorter.
    pub failing_limit: i64,
}

/// Something that the driver reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// Time passes: at the latest when [`Delivery::next_wake`] says.
    Tick,
    /// The log of the agent has events up to this one.
    Head(u64),
    /// A read has succeeded.
    Read(Source, Page),
    /// A read has failed. It is done again later.
    ReadFailed(Source),
    /// An attempt has ended.
    Ended(u64, Outcome),
    /// An event that was to be sent is not there any more.
    Absent(u64, Absence),
    /// The store has taken the save.
    Saved,
    /// The store cannot be reached. Whether it has taken the save is unknown.
    SaveFailed,
    /// The store has another version: this process is not the owner any more, or the state was changed by a command.
    Stale,
    /// The process ends: nothing new begins, and the lease is given back after the running requests.
    Drain,
}

/// Why an event cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Its retention has ended: the event is given up.
    Expired,
    /// Its contact was erased: the event is settled without being sent.
    Erased,
}

/// Something that the driver does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read a page of the log after this sequence number.
    Read(Source, u64),
    /// Send this event. The second number is that of the attempt, from 1.
    Send(u64, u8),
    /// Save the state, expecting the version that was loaded or saved last; and in the same write the attempts, and the
    /// status of the endpoint with its event, if it is to be disabled. One save runs at a time.
    Save(Box<Save>),
    /// The process has let go of the endpoint. Requests that still run are dropped.
    End,
}

/// What one save contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// The state.
    pub state: DeliveryState,
    /// Attempts for the log of the endpoint.
    pub attempts: Vec<LoggedAttempt>,
    /// Why the endpoint is disabled, if it is disabled by this save.
    pub disable: Option<DisableReason>,
}

/// Why an endpoint is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DisableReason {
    /// It has responded with 410.
    Gone,
    /// It has failed for too long, or an event of an ordered endpoint has failed too often.
    Failing,
}

/// An entry of the attempt log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggedAttempt {
    /// The number of the entry, from 1.
    pub number: u64,
    /// When the attempt ended.
    pub at: Timestamp,
    /// What happened.
    pub result: AttemptResult,
    /// The event, or the first of those that expired.
    pub seq: u64,
    /// The last of the events that expired, if they are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upto: Option<u64>,
    /// The number of the attempt, from 1; 0 where nothing was sent.
    pub attempt: u8,
    /// The status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// One word for what failed without a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub millis: u32,
    /// The begin of the text of a failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// The result of a logged attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptResult {
    /// The event is settled.
    Succeeded,
    /// The event will be sent again.
    Failed,
    /// That was the last attempt.
    GivenUp,
    /// The event was removed before it was settled.
    Expired,
}
