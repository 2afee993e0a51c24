//! The platform of the running server, its maintenance, and its replacement when the server keys change.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::console::Console;
use arc_swap::ArcSwap;
use conversations::Conversations;
use conversations::widget::{WidgetApi, WidgetSettings};
use events::runner::{DeliveryObserver, Runner};
use events::{WebhookSettings, Webhooks};
use openapi_core::api::{Api, Settings};
use openapi_core::platform::JobFigures;
use openapi_core::ports::Outbound;
use openapi_core::storage::Queue;

use crate::anchors::{self, Anchors};
use crate::assemble::{self, Decisions, Stores};
use crate::error::CliError;
use crate::metrics::JobMetrics;
use crate::ports::{SystemClock, SystemRandom};
use crate::server_keys::{FileState, KeySource};

/// How often the file of the server keys is checked: a change is effective within 5 s.
const KEY_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How often the platform runs its maintenance.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(20);

/// How often the queues are measured.
const MEASUREMENT_INTERVAL: Duration = Duration::from_secs(5);

/// Upper bound of the time from a request's choice of a platform until that platform counts it.
const HANDOVER: Duration = Duration::from_secs(1);

/// Holds the current platform and replaces it when the server keys change.
pub struct KeyRotation {
    current: ArcSwap<Conversations>,
    stores: Stores,
    decisions: Decisions,
    keys: KeySource,
    /// The state of the key file when it was read.
    keys_state: Option<FileState>,
    settings: Settings,
    widget: WidgetSettings,
    webhooks: Webhooks,
    deliveries: Runner,
}

/// What webhooks need besides a platform.
pub struct WebhookParts {
    /// Sends messages.
    pub outbound: Arc<dyn Outbound>,
    /// The operator's settings.
    pub settings: WebhookSettings,
    /// The metrics.
    pub observer: Arc<dyn DeliveryObserver>,
}

impl KeyRotation {
    /// Creates a platform over the stores with these keys.
    ///
    /// # Errors
    /// The server keys are unavailable.
    pub fn new(
        stores: Stores,
        decisions: Decisions,
        keys: KeySource,
        settings: Settings,
        widget: WidgetSettings,
        webhooks: WebhookParts,
    ) -> Result<Self, CliError> {
        // Creates a missing file, so its state is known before the keys are read.
        keys.entries(&SystemClock, &SystemRandom)?;
        let keys_state = keys.state();
        let service_info = settings.service_info.clone();
        let platform = assemble::conversations_over(&stores, &keys, service_info, decisions.clone())?;
        let WebhookParts { outbound, settings: webhook_settings, observer } = webhooks;
        let webhooks = Webhooks::new(Arc::clone(platform.platform()), outbound, webhook_settings);
        let deliveries = Runner::new(webhooks.clone(), observer);
        let current = ArcSwap::new(platform);
        Ok(KeyRotation {
            current,
            stores,
            decisions,
            keys,
            keys_state,
            settings,
            widget,
            webhooks,
            deliveries,
        })
    }

    /// The current platform.
    #[must_use]
    pub fn current(&self) -> Arc<Conversations> {
        self.current.load_full()
    }

    /// The API of the current platform.
    #[must_use]
    pub fn api(&self) -> Api {
        self.webhooks.over(Arc::clone(self.current().platform())).api(self.settings.clone())
    }

    /// The webhooks that this server delivers.
    #[must_use]
    pub fn webhooks(&self) -> Webhooks {
        self.webhooks.clone()
    }

    /// Delivers webhooks until `stop`, and then gives their endpoints to other servers.
    pub async fn deliver(&self, stop: impl Future<Output = ()> + Send) {
        self.deliveries.run(stop).await;
    }

    /// The widget's API of the current platform.
    #[must_use]
    pub fn widget_api(&self) -> WidgetApi {
        self.current().widget_api(self.widget.clone())
    }

    /// Runs the queued extractions on the current platform, until [`KeyRotation::stop_jobs`]. After new server keys, the
    /// new platform goes on.
    pub async fn run_jobs(&self) {
        loop {
            let current = self.current();
            current.platform().background().await;
            if Arc::ptr_eq(&current, &self.current()) {
                return;
            }
        }
    }

    /// Measures the queues of extractions and crawls every few seconds, for ever.
    pub async fn measure_jobs(&self, metrics: &JobMetrics) {
        let mut before = JobFigures::default();
        let mut measured = self.current();
        loop {
            let platform = Arc::clone(measured.platform());
            for queue in [Queue::Extraction, Queue::Crawl, Queue::Mail] {
                match platform.storage().queue_load(queue).await {
                    Ok(load) => metrics.set(queue, &load, platform.now()),
                    Err(error) => tracing::debug!(%error, ?queue, "failed to measure a queue"),
                }
            }
            let figures = platform.job_figures();
            metrics.add(&before, &figures);
            before = figures;
            let current = self.current();
            if !Arc::ptr_eq(&current, &measured) {
                (measured, before) = (current, JobFigures::default());
            }
            tokio::time::sleep(MEASUREMENT_INTERVAL).await;
        }
    }

    /// Ends [`KeyRotation::run_jobs`]: the jobs that run are handed back.
    pub fn stop_jobs(&self) {
        self.current().platform().stop_background();
    }

    /// Runs the maintenance of the current platform periodically, for ever.
    pub async fn maintain(&self) {
        loop {
            tokio::time::sleep(MAINTENANCE_INTERVAL).await;
            let current = self.current();
            if let Err(error) = current.platform().maintain().await {
                tracing::warn!(%error, source = ?std::error::Error::source(&error), "store maintenance failed; retrying in 20 s");
            }
            if let Err(error) = current.maintain().await {
                tracing::warn!(%error, source = ?error.source, "maintenance of the conversations failed; trying again later");
            }
        }
    }

    /// Appends the ends of the audit log's chains to the anchor file each minute, for ever.
    pub async fn anchor_audit(&self, path: &Path) {
        let mut anchors = match Anchors::read(path) {
            Ok(anchors) => anchors,
            Err(error) => {
                let path = path.display();
                tracing::error!(%error, %path, "cannot read the anchor file of the audit log; it is not continued");
                return;
            }
        };
        loop {
            if let Err(error) = anchors.append(self.current().platform(), path).await {
                let path = path.display();
                tracing::error!(%error, %path, "cannot anchor the audit log; retrying in a minute");
            }
            tokio::time::sleep(anchors::INTERVAL).await;
        }
    }

    /// Watches the file of the server keys, for ever. When it changes, a platform with the new keys takes over: a platform
    /// never changes its keys. Until then it looks a new key up when it meets something that was made with it
    /// ([`KeySource::load`]).
    pub async fn watch_keys(
        &self,
        api: &ArcSwap<Api>,
        widget: &ArcSwap<WidgetApi>,
        console: Option<&ArcSwap<Console>>,
    ) {
        let mut known = self.keys_state;
        loop {
            tokio::time::sleep(KEY_CHECK_INTERVAL).await;
            let now = self.keys.state();
            if now == known {
                continue;
            }
            known = now;
            let service_info = self.settings.service_info.clone();
            match assemble::conversations_over(&self.stores, &self.keys, service_info, self.decisions.clone())
            {
                Ok(platform) => {
                    let previous = self.current.swap(platform);
                    api.store(Arc::new(self.api()));
                    self.deliveries.replace(Arc::clone(self.current().platform()));
                    // Running replies continue, and limits keep their counts.
                    widget.store(Arc::new(widget.load().over(&self.current())));
                    if let Some(console) = console {
                        console.store(Arc::new(console.load().over(Conversations::clone(&self.current()))));
                    }
                    previous.platform().stop_background();
                    tracing::info!("new server keys are in use");
                    // The previous platform saves its counts; until then its leases count as used.
                    tokio::time::sleep(HANDOVER).await;
                    if let Err(error) = previous.platform().drain().await {
                        tracing::warn!(%error, "failed to return the leases of the rate limits; they count as used");
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "new server keys rejected; keeping the previous ones");
                }
            }
        }
    }
}
