//! The API with the endpoints of webhooks.

use std::sync::Arc;

use openapi_core::api::{Api, Settings};
use openapi_core::service::OpenApiService;

use super::GROUPS;
use crate::webhooks::Webhooks;

impl Webhooks {
    /// The API of the platform with the endpoints of webhooks. The platform's names replace `settings.service_info`.
    #[must_use]
    pub fn api(&self, mut settings: Settings) -> Api {
        let service: Arc<dyn OpenApiService> = Arc::clone(&self.platform) as _;
        settings.service_info = self.platform.service_info().clone();
        let mut services = http::Extensions::new();
        services.insert(self.clone());
        Api::with_groups(settings, service, self.platform.authenticator(), GROUPS, services)
    }
}
