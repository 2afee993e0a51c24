//! One request a second to each host, whatever number of servers and websites ask for it.

use std::sync::atomic::Ordering;

use openapi_core::json::RawObject;
use openapi_core::storage::{
    Effects, RecordChange, RecordId, RecordKey, RecordKind, RecordsWrite, StorageError, StorageErrorKind,
    StoredRecord,
};
use openapi_core::values::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use super::state::{Crawl, End, internal};
use super::{Crawler, Halt, TICK_MILLIS};

/// The longest wait for a host that is believed. A longer one is of a clock that was wrong.
const MAX_WAIT_MILLIS: i64 = 60_000;
/// How long a host that is no longer asked is remembered.
const MEMORY_MILLIS: i64 = 10 * MAX_WAIT_MILLIS;
/// How often hosts are forgotten.
const FORGET_MILLIS: i64 = 60_000;
/// How many hosts are forgotten at a time.
const FORGOTTEN_AT_ONCE: u32 = 100;

/// When a host may be asked next.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NextRequest {
    next_at: Timestamp,
}

impl Crawler {
    /// Forgets hosts that no crawl has asked for a while: their websites were removed, or wait for their next crawl.
    pub(super) async fn forget_hosts(&self) -> Result<(), StorageError> {
        let chat = self.chat();
        let (storage, now) = (chat.platform().storage(), chat.platform().now());
        if (now.millis() - self.forgot_at.load(Ordering::Relaxed)).abs() < FORGET_MILLIS {
            return Ok(());
        }
        self.forgot_at.store(now.millis(), Ordering::Relaxed);
        for (scope, record) in storage.due_records(RecordKind::CrawledHost, now, FORGOTTEN_AT_ONCE).await? {
            let change = RecordChange::Remove { key: record.key, version: record.version };
            let write = RecordsWrite { changes: vec![change], effects: Effects::default() };
            match storage.save_records(scope.as_ref(), &write).await {
                // A crawl asks the host again, or another server has forgotten it.
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }
}

impl Crawl<'_> {
    /// Waits until the host of an address may be asked, and takes the turn; the end if the crawler is to stop.
    pub(super) async fn turn(&mut self, url: &Url, delay_millis: u64) -> Result<Option<End>, Halt> {
        let host = url.host_str().unwrap_or_default();
        let id = RecordId::from_bytes(&Sha256::digest(host.as_bytes())).unwrap_or_default();
        let key = RecordKey::new(RecordKind::CrawledHost, id);
        loop {
            if self.crawler.is_stopped() {
                return Ok(Some(End::Stopped));
            }
            self.renew().await?;
            let chat = self.crawler.chat();
            let (storage, now) = (chat.platform().storage(), chat.platform().now());
            let known = storage.record(None, &key).await?;
            let next =
                known.as_ref().and_then(|it| serde_json::from_str::<NextRequest>(it.body.as_str()).ok());
            let wait = next.map_or(0, |next| next.next_at.millis_since(now));
            if (1..=MAX_WAIT_MILLIS).contains(&wait) {
                self.crawler.sleep(TICK_MILLIS.min(wait.unsigned_abs())).await;
                continue;
            }
            let next_at = now.plus_millis(i64::try_from(delay_millis).unwrap_or(i64::MAX));
            let body = serde_json::to_string(&NextRequest { next_at }).and_then(RawObject::from_text);
            let body = body.map_err(internal)?;
            let version = known.map_or(0, |known| known.version) + 1;
            let due_at = Some(next_at.plus_millis(MEMORY_MILLIS));
            let record =
                StoredRecord { key: key.clone(), version, subject: None, unique: None, due_at, body };
            match storage.save_records(None, &RecordsWrite::save(record, Effects::default())).await {
                Ok(()) => return Ok(None),
                // Another crawl took the turn.
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
