//! One request a second to each host, whatever number of servers and websites ask for it.

use openapi_core::json::RawObject;
use openapi_core::storage::{
    Effects, RecordId, RecordKey, RecordKind, RecordsWrite, StorageErrorKind, StoredRecord,
};
use openapi_core::values::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use super::state::{Crawl, End, internal};
use super::{Halt, TICK_MILLIS};

/// The longest wait for a host that is believed. A longer one is of a clock that was wrong.
const MAX_WAIT_MILLIS: i64 = 60_000;

/// When a host may be asked next.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NextRequest {
    next_at: Timestamp,
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
            let record =
                StoredRecord { key: key.clone(), version, subject: None, unique: None, due_at: None, body };
            match storage.save_records(None, &RecordsWrite::save(record, Effects::default())).await {
                Ok(()) => return Ok(None),
                // Another crawl took the turn.
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
