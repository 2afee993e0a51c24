//! What the console works with, whatever the operation. It knows no operations and no router.

use std::sync::Arc;

use conversations::Conversations;
use events::Webhooks;
use openapi_core::api::Api;
use openapi_core::platform::Platform;

use crate::auth::limits::Limits;
use crate::auth::password::Hashing;
use crate::imports::permits::Permits;
use crate::oidc::cache::Published;
use crate::settings::ConsoleSettings;

/// What operations work with.
pub struct Inner {
    pub(crate) chat: Conversations,
    pub(crate) settings: ConsoleSettings,
    /// The Open API over the same platform.
    pub(crate) api: Api,
    /// The webhooks of the platform's agents; none where nothing is sent.
    pub(crate) webhooks: Option<Webhooks>,
    pub(crate) shared: Arc<Shared>,
}

/// What outlives a change of the server keys.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) hashing: Arc<Hashing>,
    pub(crate) imports: Permits,
    pub(crate) published: Published,
}

impl Inner {
    /// The platform.
    pub(crate) fn platform(&self) -> &Arc<Platform> {
        self.chat.platform()
    }
}
