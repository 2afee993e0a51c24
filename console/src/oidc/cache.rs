//! What providers publish, remembered for an hour. It is fetched by one request at a time, however many wait for it.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::lock::Mutex as AsyncMutex;
use openapi_core::platform::Platform;
use openapi_core::ports::Outbound;
use openapi_core::values::Timestamp;
use parking_lot::Mutex;

use super::discovery::{self, Discovery};
use super::keys::{Key, Keys};
use super::provider::MOST_PROVIDERS;

/// How long what was fetched counts: an hour.
const LIFE_MILLIS: i64 = 60 * 60_000;
/// How long a failure counts, so that a provider that is away costs no request of each sign-in.
const FAILURE_MILLIS: i64 = 10_000;
/// How often keys are fetched for a token whose key is unknown.
const UNKNOWN_MILLIS: i64 = 60_000;

struct Fetched<T> {
    /// When it was there, and when it was last asked for, which may have failed since.
    at: Timestamp,
    asked_at: Timestamp,
    value: Result<T, String>,
}

impl<T> Fetched<T> {
    fn new(now: Timestamp, value: Result<T, String>) -> Self {
        Fetched { at: now, asked_at: now, value }
    }

    fn counts(&self, now: Timestamp) -> bool {
        let life = if self.value.is_ok() { LIFE_MILLIS } else { FAILURE_MILLIS };
        (0..life).contains(&now.millis_since(self.at))
    }
}

#[derive(Default)]
struct Issuer {
    discovery: AsyncMutex<Option<Fetched<Discovery>>>,
    keys: AsyncMutex<Option<Fetched<Keys>>>,
}

/// What is remembered of issuers.
#[derive(Default)]
pub(crate) struct Published(Mutex<HashMap<String, Arc<Issuer>>>);

impl Published {
    fn of(&self, issuer: &str) -> Arc<Issuer> {
        let mut issuers = self.0.lock();
        if issuers.len() > 2 * MOST_PROVIDERS && !issuers.contains_key(issuer) {
            issuers.clear();
        }
        Arc::clone(issuers.entry(issuer.to_owned()).or_default())
    }

    /// Forgets an issuer, whose description may be another one now.
    pub(crate) fn forget(&self, issuer: &str) {
        self.0.lock().remove(issuer);
    }

    /// The description of an issuer.
    pub(super) async fn discovery(
        &self,
        platform: &Platform,
        outbound: &dyn Outbound,
        issuer: &str,
    ) -> Result<Discovery, String> {
        let entry = self.of(issuer);
        let mut known = entry.discovery.lock().await;
        // Others may have waited here for the provider: it is later now.
        let now = platform.now();
        if let Some(fetched) = known.as_ref().filter(|fetched| fetched.counts(now)) {
            return fetched.value.clone();
        }
        let document = discovery::fetch(outbound, issuer).await;
        let value = document.and_then(|document| Discovery::read(issuer, &document));
        *known = Some(Fetched::new(platform.now(), value.clone()));
        value
    }

    /// The key of a token's header. An unknown one may be new, so the keys are fetched again, once a minute at most.
    pub(super) async fn key(
        &self,
        platform: &Platform,
        outbound: &dyn Outbound,
        (issuer, url): (&str, &str),
        (algorithm, id): (&str, Option<&str>),
    ) -> Result<Option<Key>, String> {
        let entry = self.of(issuer);
        let mut known = entry.keys.lock().await;
        let now = platform.now();
        if let Some(fetched) = known.as_ref().filter(|fetched| fetched.counts(now)) {
            let found = fetched.value.clone()?.find(algorithm, id).cloned();
            if found.is_some() || (0..UNKNOWN_MILLIS).contains(&now.millis_since(fetched.asked_at)) {
                return Ok(found);
            }
        }
        let value = Keys::fetch(outbound, issuer, url).await;
        let now = platform.now();
        match known.as_mut() {
            // Keys of the hour stay while the provider publishes none.
            Some(cached) if value.is_err() && cached.value.is_ok() && cached.counts(now) => {
                cached.asked_at = now;
            }
            _ => *known = Some(Fetched::new(now, value.clone())),
        }
        Ok(value?.find(algorithm, id).cloned())
    }
}
