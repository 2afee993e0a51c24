//! Limits of addresses, visitors and agents, and the challenges that precede them.

use std::sync::Arc;

use openapi_core::json::Json;
use openapi_core::limits::{
    Full, Network, NetworkWindows, Window, WindowUsage, Windows, fits, network_levels, scaled,
};
use openapi_core::platform::Platform;
use openapi_core::reply::{ApiError, ErrorCode};
use openapi_core::values::{AgentId, ConversationId, PlatformId, Timestamp};

use super::agent_view::AgentView;
use super::call::{Call, SentToken, WidgetRequest};
use super::errors::{too_many, too_many_streams, too_many_uploads};
use super::repository::Repository;
use crate::conversation::DAY_MILLIS;
use crate::widget::challenge::{Binding, SpentChallenges, bits_at};
use crate::widget::duplicates::DuplicateMessageLimiter;
use crate::widget::request::Members;
use crate::widget::{AGENT_CEILING, OpenLimitExceeded, OpenLimiter, OpenSlot, WidgetLimits};
use crate::{Conversation, VisitorId};

/// The used share of a limit from which on a call needs a solved challenge.
const CHALLENGED_SHARE: f64 = 0.8;

/// The part of an agent's daily turns that one subscriber may use: a quarter.
const SUBSCRIBER_PART: u32 = 4;
/// A subscriber may always use so many turns of an agent in a day.
const MIN_SUBSCRIBER_TURNS: u32 = 60;

/// The bytes of a file that the limits on uploads count as one.
pub(super) const UPLOAD_UNIT: u64 = 1 << 20;

/// The limits of an address. Each counts its own calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum AddressLimit {
    /// All requests, whatever else counts them.
    Requests,
    Calls,
    Turns,
    Leads,
    Sessions,
    /// Mebibytes of files.
    UploadMib,
}

/// The limits of a visitor that the conversation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitorLimit {
    Turns,
    Leads,
    Uploads,
}

/// The turns of an agent that a subscriber may use in a day, which depend on those of the agent.
type SubscriberTurns = (AgentId, Network, u32);

/// What the limits have counted. It survives a change of the platform, such as new server keys.
pub(super) struct Counters {
    streams: OpenLimiter,
    uploads: OpenLimiter,
    addresses: NetworkWindows<AddressLimit>,
    visitors: Windows<VisitorId>,
    /// Uploads that visitors have begun.
    begun_uploads: Windows<VisitorId>,
    agents: Windows<AgentId>,
    subscribers: Windows<SubscriberTurns>,
    agent_uploads: Windows<AgentId>,
    all_uploads: Windows<()>,
    duplicates: DuplicateMessageLimiter,
    challenges: SpentChallenges,
}

impl Counters {
    pub(super) fn new(limits: &WidgetLimits) -> Self {
        Counters {
            streams: OpenLimiter::new(limits.streams),
            uploads: OpenLimiter::new(limits.open_uploads),
            addresses: NetworkWindows::new([
                (AddressLimit::Requests, limits.address_requests.clone()),
                (AddressLimit::Calls, limits.address_calls.clone()),
                (AddressLimit::Turns, limits.address_turns.clone()),
                (AddressLimit::Leads, limits.address_leads.clone()),
                (AddressLimit::Sessions, limits.address_sessions.clone()),
                (AddressLimit::UploadMib, limits.address_upload_mib.clone()),
            ]),
            visitors: Windows::default(),
            begun_uploads: Windows::default(),
            agents: Windows::default(),
            subscribers: Windows::default(),
            agent_uploads: Windows::default(),
            all_uploads: Windows::default(),
            duplicates: DuplicateMessageLimiter::default(),
            challenges: SpentChallenges::default(),
        }
    }
}

/// Decides which calls the limits admit.
pub(super) struct Admission {
    pub(super) platform: Arc<Platform>,
    pub(super) limits: WidgetLimits,
    pub(super) counters: Arc<Counters>,
    /// Identifies this process, which alone takes its challenges.
    pub(super) server: PlatformId,
}

impl Admission {
    /// Counts a call for its address. Returns the used share of the limit.
    pub(super) fn admit_address(
        &self,
        request: &WidgetRequest,
        limit: AddressLimit,
    ) -> Result<f64, ApiError> {
        share("address", self.counters.addresses.admit(request.address, limit, request.now))
    }

    /// The share of an address's limit that would be used with this call, which is not counted.
    pub(super) fn peek_address(&self, request: &WidgetRequest, limit: AddressLimit) -> Result<f64, ApiError> {
        share("address", self.counters.addresses.peek(request.address, limit, request.now))
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

    /// Counts a turn for its agent, and for what the visitor's subscriber may use of the agent's turns of a day.
    pub(super) fn admit_agent(&self, request: &WidgetRequest, view: &AgentView) -> Result<(), ApiError> {
        let (agent, now) = (view.agent.id.clone(), request.now);
        if let Some(key) = subscriber(request, view) {
            share("address", self.counters.subscribers.admit_by(key, subscriber_windows, now))?;
        }
        let ceiling = scaled(&self.limits.agent_turns, AGENT_CEILING);
        share("agent", self.counters.agents.admit(agent, &ceiling, now)).map(drop)
    }

    /// The share of these limits that would be used with this turn, which is not counted. That of the agent exceeds 1
    /// beyond its limit, up to the ceiling.
    pub(super) fn peek_agent(&self, request: &WidgetRequest, view: &AgentView) -> Result<f64, ApiError> {
        let (agent, now) = (view.agent.id.clone(), request.now);
        let of_subscriber = match subscriber(request, view) {
            Some(key) => {
                let windows = subscriber_windows(&key);
                share("address", self.counters.subscribers.peek(key, &windows, now))?
            }
            None => 0.0,
        };
        let ceiling = scaled(&self.limits.agent_turns, AGENT_CEILING);
        let of_agent = share("agent", self.counters.agents.peek(agent, &ceiling, now))?;
        Ok(of_subscriber.max(of_agent * f64::from(AGENT_CEILING)))
    }

    /// Whether the process has a slot for one more stream. Checked before any work.
    pub(super) fn check_streams(&self) -> Result<(), ApiError> {
        match self.counters.streams.has_room() {
            true => Ok(()),
            false => Err(too_many_streams(OpenLimitExceeded::Process)),
        }
    }

    /// Takes the slot of a stream.
    pub(super) fn open_stream(&self, request: &WidgetRequest, agent: &AgentId) -> Result<OpenSlot, ApiError> {
        self.counters.streams.open(agent, request.address, None).map_err(too_many_streams)
    }

    /// Takes the slot of an upload.
    pub(super) fn open_upload(
        &self,
        request: &WidgetRequest,
        agent: &AgentId,
        visitor: Option<VisitorId>,
    ) -> Result<OpenSlot, ApiError> {
        self.counters.uploads.open(agent, request.address, visitor).map_err(too_many_uploads)
    }

    /// Counts an upload that a visitor begins, however it ends.
    pub(super) fn begin_upload(&self, request: &WidgetRequest, visitor: VisitorId) -> Result<(), ApiError> {
        let windows = &self.limits.uploads;
        share("visitor", self.counters.begun_uploads.admit(visitor, windows, request.now)).map(drop)
    }

    /// Counts one more [`UPLOAD_UNIT`] of a file that is being sent.
    pub(super) fn admit_upload_unit(&self, request: &WidgetRequest, agent: &AgentId) -> Result<(), ApiError> {
        let (counters, limits, now) = (&self.counters, &self.limits, request.now);
        self.admit_address(request, AddressLimit::UploadMib)?;
        share("agent", counters.agent_uploads.admit(agent.clone(), &limits.agent_upload_mib, now))?;
        share("service", counters.all_uploads.admit((), &limits.upload_mib, now)).map(drop)
    }

    /// Whether the address has sent this text in too many conversations.
    pub(super) fn is_duplicate(
        &self,
        request: &WidgetRequest,
        text: &str,
        conversation: Option<ConversationId>,
    ) -> bool {
        let windows = &self.limits.address_repeats;
        self.counters.duplicates.is_spread(request.address, text, conversation, windows, request.now)
    }

    /// Records the text of a stored turn.
    pub(super) fn note_text(&self, request: &WidgetRequest, text: &str, conversation: ConversationId) {
        let windows = &self.limits.address_repeats;
        self.counters.duplicates.note(request.address, text, conversation, windows, request.now);
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
        let solution = Members::new(&call.body).challenge();
        // A lead form or an upload has no id of its own, so a repeated one is another call.
        let id = &request.summary.request_id;
        self.challenge(request, &call.view.agent.id, id, solution.as_ref(), share)?;
        Ok(stored)
    }

    /// Requires a solved challenge if a limit is nearly reached. `id` identifies the call among those of its operation.
    pub(super) fn challenge(
        &self,
        request: &WidgetRequest,
        agent: &AgentId,
        id: &str,
        solution: Option<&(String, String)>,
        share: f64,
    ) -> Result<(), ApiError> {
        if share < CHALLENGED_SHARE {
            return Ok(());
        }
        let ports = self.platform.ports();
        let operation = request.summary.operation.unwrap_or_default();
        let binding = Binding { holder: request.network, agent, operation, server: self.server };
        let bits = bits_at(share);
        if let Some((salt, nonce)) = solution
            && let Some(solved) = binding.solved(&ports.server_keys, (salt, nonce), bits, request.now)
            && self.counters.challenges.spend(solved, id, request.now)
        {
            return Ok(());
        }
        let challenge = binding.challenge(&ports.server_keys, &*ports.ids, bits, request.now);
        let details = serde_json::to_value(&challenge).map_err(|_| ApiError::internal())?;
        Err(ApiError::new(ErrorCode::ChallengeRequired, "Solve the challenge and send this again")
            .with_detail("challenge", Json::from(&details))
            .with_retry_after(0))
    }
}

/// The counter of a visitor's subscriber with an agent that limits its turns of a day: the IPv4 address or the /48.
fn subscriber(request: &WidgetRequest, view: &AgentView) -> Option<SubscriberTurns> {
    let of_day = view.settings.chat.turns_per_day;
    let network = network_levels(request.address).last()?;
    let most = (of_day / SUBSCRIBER_PART).max(MIN_SUBSCRIBER_TURNS);
    (of_day > 0).then(|| (view.agent.id.clone(), network, most))
}

fn subscriber_windows((_, _, most): &SubscriberTurns) -> [Window; 1] {
    [Window { name: "day", millis: DAY_MILLIS, limit: *most }]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscriber_uses_no_more_than_its_part() {
        let windows = Windows::<SubscriberTurns>::default();
        let agent: AgentId = "acme".parse().expect("an id");
        let of = |last: u8, most| (agent.clone(), Network::of([192, 0, 2, last].into()), most);
        let admit = |key, second: i64| {
            windows.admit_by(key, subscriber_windows, Timestamp::from_millis(second * 1_000)).is_ok()
        };
        assert!((0..60).all(|second| admit(of(1, 60), second)));
        assert!(!admit(of(1, 60), 60), "it is used up");
        assert!(admit(of(2, 60), 60), "another subscriber");
        assert!(!admit(of(1, 60), 86_399) && admit(of(1, 60), 86_400), "a day later");
    }
}
