//! The shared state of all calls.

use std::net::IpAddr;
use std::sync::Arc;

use openapi_core::limits::Windows;
use openapi_core::platform::{Cache, Platform};
use openapi_core::values::{AgentId, PlatformId};

use super::agent_view::AgentView;
use super::usages::Usages;
use crate::VisitorId;
use crate::conversations::Conversations;
use crate::ports::ChatPorts;
use crate::storage::ConversationStorage;
use crate::widget::duplicates::DuplicateMessageLimiter;
use crate::widget::live::LiveTurns;
use crate::widget::{StreamLimiter, WidgetSettings};

/// The service: its ports and settings, and the state that it shares with its successors.
pub(super) struct Inner {
    pub(super) conversations: Arc<Conversations>,
    pub(super) platform: Arc<Platform>,
    pub(super) storage: Arc<dyn ConversationStorage>,
    pub(super) ports: ChatPorts,
    pub(super) settings: WidgetSettings,
    pub(super) views: Cache<AgentId, AgentView>,
    pub(super) shared: Arc<SharedState>,
}

/// State that survives a change of the platform, such as new server keys.
pub(super) struct SharedState {
    pub(super) turns: Arc<LiveTurns>,
    pub(super) streams: StreamLimiter,
    pub(super) addresses: Windows<(IpAddr, &'static str)>,
    pub(super) visitors: Windows<VisitorId>,
    pub(super) agents: Windows<AgentId>,
    pub(super) usage: Usages,
    pub(super) repeats: DuplicateMessageLimiter,
    /// Identifies this process as the owner of the turns that it answers.
    pub(super) server: PlatformId,
}
