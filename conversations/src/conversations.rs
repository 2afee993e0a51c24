//! The chat over a platform and a store.

use std::sync::Arc;

use openapi_core::platform::Platform;

use crate::admin::KnowledgeLimits;
use crate::ports::ChatPorts;
use crate::storage::ConversationStorage;

/// How often a write is retried after a conflict.
pub(crate) const ATTEMPTS: usize = 16;

/// The chat of the agents of a platform: its operator's side ([`ChatAdmin`](crate::admin::ChatAdmin)), and the side of
/// the widget ([`WidgetApi`](crate::WidgetApi)).
pub struct Conversations {
    pub(crate) platform: Arc<Platform>,
    pub(crate) storage: Arc<dyn ConversationStorage>,
    ports: ChatPorts,
    pub(crate) knowledge: KnowledgeLimits,
}

impl Conversations {
    /// Conversations of the agents of a platform. `storage` is the store that the platform is over.
    #[must_use]
    pub fn new(platform: Arc<Platform>, storage: Arc<dyn ConversationStorage>, ports: ChatPorts) -> Self {
        Conversations { platform, storage, ports, knowledge: KnowledgeLimits::default() }
    }

    /// Sets the limits of an agent's documents.
    #[must_use]
    pub fn with_knowledge_limits(mut self, limits: KnowledgeLimits) -> Self {
        self.knowledge = limits;
        self
    }

    /// The same over another platform, such as one with other server keys.
    #[must_use]
    pub fn over(&self, platform: Arc<Platform>) -> Self {
        Conversations {
            platform,
            storage: Arc::clone(&self.storage),
            ports: self.ports.clone(),
            knowledge: self.knowledge,
        }
    }

    /// The platform.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// The limits of an agent's documents, which a reader of files enforces.
    #[must_use]
    pub const fn knowledge_limits(&self) -> KnowledgeLimits {
        self.knowledge
    }

    pub(crate) fn storage(&self) -> &Arc<dyn ConversationStorage> {
        &self.storage
    }

    pub(crate) const fn ports(&self) -> &ChatPorts {
        &self.ports
    }
}
