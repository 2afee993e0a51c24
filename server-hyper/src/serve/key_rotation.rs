//! The platform behind the API, and its exchange when the server keys change.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use conversations::Conversations;
use conversations::widget::{WidgetApi, WidgetSettings};
use openapi_core::api::{Api, Settings};

use crate::assemble::{self, Decisions, Stores};
use crate::error::CliError;
use crate::ports::{SystemClock, SystemRandom};
use crate::server_keys::KeySource;

/// How often the server keys are looked at: a change of the operator's acts within 5 s.
const LOOK: Duration = Duration::from_secs(2);

/// How often the platform does what is due from time to time.
const MAINTENANCE: Duration = Duration::from_secs(20);

/// How long a request may need from reading which API serves it to being counted there.
const HANDOVER: Duration = Duration::from_secs(1);

/// The platform in use, with its chat.
pub struct KeyRotation {
    current: ArcSwap<Conversations>,
    stores: Stores,
    decisions: Decisions,
    keys: KeySource,
    /// When the file of the keys was changed, as far as known when they were read.
    keys_changed: Option<SystemTime>,
    settings: Settings,
    widget: WidgetSettings,
}

/// When the file of the keys was changed; unset for keys from elsewhere.
fn changed(keys: &KeySource) -> Option<SystemTime> {
    let KeySource::File(path) = keys else { return None };
    std::fs::metadata(path).and_then(|file| file.modified()).ok()
}

impl KeyRotation {
    /// A platform over the stores, under these keys.
    ///
    /// # Errors
    /// When the server keys cannot be had.
    pub fn new(
        stores: Stores,
        decisions: Decisions,
        keys: KeySource,
        settings: Settings,
        widget: WidgetSettings,
    ) -> Result<Self, CliError> {
        // Makes the file when it is not there, so that the time is known before the keys are read.
        keys.entries(&SystemClock, &SystemRandom)?;
        let keys_changed = changed(&keys);
        let service_info = settings.service_info.clone();
        let platform = assemble::conversations_over(&stores, &keys, service_info, decisions.clone())?;
        let current = ArcSwap::new(platform);
        Ok(KeyRotation { current, stores, decisions, keys, keys_changed, settings, widget })
    }

    /// The platform in use.
    #[must_use]
    pub fn current(&self) -> Arc<Conversations> {
        self.current.load_full()
    }

    /// The API over the platform in use.
    #[must_use]
    pub fn api(&self) -> Api {
        self.current().platform().api(self.settings.clone())
    }

    /// The widget's side of the platform in use.
    #[must_use]
    pub fn widget_api(&self) -> WidgetApi {
        self.current().widget_api(self.widget.clone())
    }

    /// Does what is due from time to time, for ever.
    pub async fn maintain(&self) {
        loop {
            tokio::time::sleep(MAINTENANCE).await;
            let current = self.current();
            if let Err(error) = current.platform().maintain().await {
                tracing::warn!(%error, source = ?std::error::Error::source(&error), "maintenance of the store failed; trying again later");
            }
            if let Err(error) = current.maintain().await {
                tracing::warn!(%error, source = ?error.source, "maintenance of the conversations failed; trying again later");
            }
        }
    }

    /// Looks at the file of the server keys, for ever. When it changes, a platform under the new keys takes over: the
    /// platform holds its keys for good, and a server must accept what the operator's commands hash with a new one.
    pub async fn watch_keys(&self, api: &ArcSwap<Api>, widget: &ArcSwap<WidgetApi>) {
        let mut known = self.keys_changed;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = changed(&self.keys);
            if now == known {
                continue;
            }
            known = now;
            let service_info = self.settings.service_info.clone();
            match assemble::conversations_over(&self.stores, &self.keys, service_info, self.decisions.clone())
            {
                Ok(platform) => {
                    let former = self.current.swap(platform);
                    api.store(Arc::new(self.api()));
                    // Answers that run go on, and limits count on.
                    widget.store(Arc::new(widget.load().over(&self.current())));
                    tracing::info!("the server keys have changed and are in use");
                    // What the former platform counted is saved; until then its leases count as used.
                    tokio::time::sleep(HANDOVER).await;
                    if let Err(error) = former.platform().drain().await {
                        tracing::warn!(%error, "the leases of the rate limits could not be given back; they count as used");
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "the server keys have changed and cannot be used; the former stay");
                }
            }
        }
    }
}
