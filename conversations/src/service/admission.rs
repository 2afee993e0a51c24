//! Limits of addresses, visitors and agents, and the challenges that precede them.

use std::net::IpAddr;
use std::sync::Arc;

use openapi_core::json::Json;
use openapi_core::limits::{Full, Window, WindowUsage, Windows, fits};
use openapi_core::platform::Platform;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::{AgentId, ConversationId, Timestamp};

use super::call::{Call, SentToken, WidgetRequest};
use super::errors::{too_many, too_many_streams};
use super::repository::Repository;
use crate::conversation::DAY_MILLIS;
use crate::widget::challenge::{Challenge, is_solved};
use crate::widget::duplicates::DuplicateMessageLimiter;
use crate::widget::request::Members;
use crate::widget::{OpenStream, StreamLimitExceeded, StreamLimiter, WidgetLimits};
use crate::{Conversation, VisitorId};

/// The used share of a limit from which on a call needs a solved challenge.
const CHALLENGED_SHARE: f64 = 0.8;

/// The limits of an address. Each counts its own calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AddressLimit {
    Calls,
    Turns,
    Leads,
    Sessions,
}

/// The limits of a visitor that the conversation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitorLimit {
    Turns,
    Leads,
    Uploads,
}

/// What the limits have counted. It survives a change of the platform, such as new server keys.
#[derive(Default)]
pub(super) struct Counters {
    streams: StreamLimiter,
    addresses: Windows<(IpAddr, AddressLimit)>,
    visitors: Windows<VisitorId>,
    agents: Windows<AgentId>,
    duplicates: DuplicateMessageLimiter,
}

impl Counters {
    pub(super) fn new(limits: &WidgetLimits) -> Self {
        Counters { streams: StreamLimiter::new(limits.streams), ..Counters::default() }
    }
}

/// Decides which calls the limits admit.
pub(super) struct Admission {
    pub(super) platform: Arc<Platform>,
    pub(super) limits: WidgetLimits,
    pub(super) counters: Arc<Counters>,
}

impl Admission {
    fn of_address(&self, limit: AddressLimit) -> &[Window] {
        match limit {
            AddressLimit::Calls => &self.limits.address_calls,
            AddressLimit::Turns => &self.limits.address_turns,
            AddressLimit::Leads => &self.limits.address_leads,
            AddressLimit::Sessions => &self.limits.address_sessions,
        }
    }

    /// Counts a call for its address. Returns the used share of the limit.
    pub(super) fn admit_address(
        &self,
        request: &WidgetRequest,
        limit: AddressLimit,
    ) -> Result<f64, ApiError> {
        let key = (request.network, limit);
        share("address", self.counters.addresses.admit(key, self.of_address(limit), request.now))
    }

    /// The share of an address's limit that would be used with this call, which is not counted.
    pub(super) fn peek_address(&self, request: &WidgetRequest, limit: AddressLimit) -> Result<f64, ApiError> {
        let key = (request.network, limit);
        share("address", self.counters.addresses.peek(&key, self.of_address(limit), request.now))
    }

    /// Counts a call of a visitor that reads or changes a conversation.
    pub(super) fn admit_visitor(&self, request: &WidgetRequest, visitor: VisitorId) -> Result<(), ApiError> {
        share("visitor", self.counters.visitors.admit(visitor, &self.limits.syncs, request.now)).map(drop)
    }

    /// Whether the visitor of a conversation may have one more turn, lead form or upload.
    pub(super) fn check_visitor(
        &self,
        conversation: &Conversation,
        limit: VisitorLimit,
        now: Timestamp,
    ) -> Result<(), ApiError> {
        let counted = &conversation.counted;
        let (times, windows) = match limit {
            VisitorLimit::Turns => (&counted.turns, &self.limits.turns),
            VisitorLimit::Leads => (&counted.leads, &self.limits.leads),
            VisitorLimit::Uploads => (&counted.uploads, &self.limits.uploads),
        };
        let times = times.iter().map(|at| at.millis());
        fits(times, windows, now.millis()).map_err(|full| too_many("visitor", full))
    }

    /// Counts a turn for its agent.
    pub(super) fn admit_agent(&self, request: &WidgetRequest, agent: &AgentId) -> Result<(), ApiError> {
        let windows = &self.limits.agent_turns;
        share("agent", self.counters.agents.admit(agent.clone(), windows, request.now)).map(drop)
    }

    /// The share of an agent's limit that would be used with this turn, which is not counted.
    pub(super) fn peek_agent(&self, request: &WidgetRequest, agent: &AgentId) -> Result<f64, ApiError> {
        share("agent", self.counters.agents.peek(agent, &self.limits.agent_turns, request.now))
    }

    /// Whether the process has a slot for one more stream. Checked before any work.
    pub(super) fn check_streams(&self) -> Result<(), ApiError> {
        match self.counters.streams.has_room() {
            true => Ok(()),
            false => Err(too_many_streams(StreamLimitExceeded::Process)),
        }
    }

    /// Takes the slot of a stream.
    pub(super) fn open_stream(
        &self,
        request: &WidgetRequest,
        agent: &AgentId,
    ) -> Result<OpenStream, ApiError> {
        self.counters.streams.open(agent, request.network).map_err(too_many_streams)
    }

    /// Whether the address has sent this text in too many conversations.
    pub(super) fn is_duplicate(
        &self,
        request: &WidgetRequest,
        text: &str,
        conversation: Option<ConversationId>,
    ) -> bool {
        let windows = &self.limits.address_repeats;
        self.counters.duplicates.is_spread(request.network, text, conversation, windows, request.now)
    }

    /// Records the text of a stored turn.
    pub(super) fn note_text(&self, request: &WidgetRequest, text: &str, conversation: ConversationId) {
        let windows = &self.limits.address_repeats;
        self.counters.duplicates.note(request.network, text, conversation, windows, request.now);
    }

    /// The stored conversation of a lead form or upload that the limits admit; [`None`] if the call begins one.
    pub(super) async fn admit(
        &self,
        repository: &Repository,
        call: &Call<'_, Option<SentToken>>,
        limit: VisitorLimit,
    ) -> Result<Option<Conversation>, ApiError> {
        let (request, mut share) = (call.request, call.share);
        let stored = match &call.token {
            Some(sent) => Some(repository.of_token(&sent.token).await?),
            None => None,
        };
        match &stored {
            Some(stored) => self.check_visitor(stored, limit, request.now)?,
            None => share = share.max(self.peek_address(request, AddressLimit::Sessions)?),
        }
        if limit == VisitorLimit::Uploads
            && let Some(stored) = &stored
        {
            repository.refuse_blocked(stored, request.now).await?;
        }
        self.challenge(request, Members::new(&call.body).challenge().as_ref(), share)?;
        Ok(stored)
    }

    /// Requires a solved challenge if a limit is nearly reached.
    pub(super) fn challenge(
        &self,
        request: &WidgetRequest,
        solution: Option<&(String, String)>,
        share: f64,
    ) -> Result<(), ApiError> {
        if share < CHALLENGED_SHARE {
            return Ok(());
        }
        let ports = self.platform.ports();
        let holder = request.network.to_string();
        if let Some((salt, nonce)) = solution
            && is_solved(&ports.server_keys, &holder, salt, nonce, request.now)
        {
            return Ok(());
        }
        let challenge = Challenge::new(&ports.server_keys, &*ports.ids, &holder, share, request.now);
        let details = serde_json::to_value(&challenge).map_err(|_| ApiError::internal())?;
        Err(ApiError::new(ErrorCode::ChallengeRequired, "Solve the challenge and send this again")
            .with_detail("challenge", Json::from(&details))
            .with_retry_after(0))
    }
}

/// The used share of a limit, or the error of a full one.
fn share(scope: &'static str, usage: Result<WindowUsage, Full>) -> Result<f64, ApiError> {
    usage.map(|usage| usage.share).map_err(|full| too_many(scope, full))
}

/// Records a turn, lead form or upload in what its conversation has counted of the last day.
pub(super) fn count(times: &mut Vec<Timestamp>, now: Timestamp) {
    times.retain(|at| now.millis_since(*at) < DAY_MILLIS);
    times.push(now);
}
