//! The chat over a platform and a store.

use std::sync::Arc;

use openapi_core::platform::Platform;

use crate::admin::KnowledgeLimits;
use crate::ports::ChatPorts;
use crate::storage::ConversationStorage;

/// How long a reply waits to be read before it is sent by e-mail.
const MAIL_DELAY_MILLIS: i64 = 2 * 60_000;

/// The chat of the agents of a platform: the operator's side, and with [`Conversations::widget_api`] the side of the
/// widget ([`WidgetApi`](crate::WidgetApi)).
#[derive(Clone)]
pub struct Conversations {
    pub(crate) platform: Arc<Platform>,
    pub(crate) storage: Arc<dyn ConversationStorage>,
    pub(crate) ports: ChatPorts,
    pub(crate) knowledge: KnowledgeLimits,
    pub(crate) mail_delay_millis: i64,
}

impl Conversations {
    /// Conversations of the agents of a platform. `storage` is the store of the platform.
    #[must_use]
    pub fn new(platform: Arc<Platform>, storage: Arc<dyn ConversationStorage>, ports: ChatPorts) -> Self {
        let knowledge = KnowledgeLimits::default();
        Conversations { platform, storage, ports, knowledge, mail_delay_millis: MAIL_DELAY_MILLIS }
    }

    /// Sets the limits of an agent's documents.
    #[must_use]
    pub fn with_knowledge_limits(mut self, limits: KnowledgeLimits) -> Self {
        self.knowledge = limits;
        self
    }

    /// Sets how long a reply waits to be read before it is sent by e-mail (2 minutes).
    #[must_use]
    pub fn with_mail_delay(mut self, millis: u32) -> Self {
        self.mail_delay_millis = i64::from(millis);
        self
    }

    /// The same over another platform, such as one with other server keys.
    #[must_use]
    pub fn over(&self, platform: Arc<Platform>) -> Self {
        Conversations { platform, ..self.clone() }
    }

    /// The platform.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// The names of the responders, which an agent's settings select.
    #[must_use]
    pub fn responders(&self) -> Vec<&str> {
        self.ports.responders.iter().map(|responder| responder.name()).collect()
    }

    /// The limits of an agent's documents, which a reader of files enforces.
    #[must_use]
    pub const fn knowledge_limits(&self) -> KnowledgeLimits {
        self.knowledge
    }
}
