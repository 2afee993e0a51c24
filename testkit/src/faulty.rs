//! A store that fails, stalls or loses races on demand, to test 503 responses without a server and without waiting.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use conversations::storage::ConversationStorage;
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{
    CreditWrite, RecordKey, RecordKind, RecordsWrite, Result, StorageErrorKind, StoredRecord,
};
use openapi_core::values::AgentId;
use parking_lot::{Mutex, MutexGuard};

use crate::delegate::Delegate;

/// Methods that requests read through: they fail while [`FaultyStorage::fail`] says so.
const READS: &[&str] = &[
    "contact",
    "contacts",
    "duplicate_contact",
    "template",
    "template_version",
    "templates",
    "submission",
    "submissions",
    "head_submission",
    "latest_submission",
    "files_of_contact",
    "form_data_revisions",
    "file",
    "files",
    "file_usage",
    "credit_account",
    "insert_document",
    "discard_document",
    "replay",
    "conversation",
    "conversations",
    "messages",
    "knowledge",
    "passages",
    "log",
];

/// Methods that requests write through: they also stall and lose races.
const WRITES: &[&str] = &[
    "insert_contact",
    "update_contact",
    "insert_template",
    "replace_template",
    "insert_submissions",
    "update_submission",
    "insert_file",
    "delete_file",
    "save_conversation",
    "change_knowledge",
];

/// Wraps a store for tests of storage failures.
///
/// It behaves like the inner store until a test enables a failure. Authentication always works: agents, keys,
/// rate-limit windows and the audit log go to the inner store, so a request reaches the operation that fails.
pub struct FaultyStorage {
    inner: Arc<dyn ConversationStorage>,
    switches: Mutex<Switches>,
}

#[derive(Default)]
struct Switches {
    failure: Option<StorageErrorKind>,
    /// Writes that return [`StorageErrorKind::Stale`] before one succeeds.
    stale_writes: u32,
    stalled: bool,
    /// Tasks that wait for the end of the stall.
    waiting: Vec<Waker>,
    halting: bool,
    /// The number of credit writes that succeed first, and the number after them that are stored but report an error.
    lost_credits: (u32, u32),
    /// Whether every agent gets the contact schema that is read first, and that schema.
    shares_schemas: bool,
    shared_schema: Option<ContactSchema>,
}

impl FaultyStorage {
    /// A store that behaves like the inner one.
    #[must_use]
    pub fn new(inner: Arc<dyn ConversationStorage>) -> Arc<Self> {
        Arc::new(FaultyStorage { inner, switches: Mutex::default() })
    }

    fn switches(&self) -> MutexGuard<'_, Switches> {
        self.switches.lock()
    }

    /// Makes everything that requests read or write (contacts, files, forms, credits, the chat, idempotency records)
    /// and the health probe fail from now on, or with `None` succeed again. [`StorageErrorKind::Unavailable`] leads to
    /// 503, [`StorageErrorKind::Internal`] to 500.
    pub fn fail(&self, kind: Option<StorageErrorKind>) {
        self.switches().failure = kind;
    }

    /// Makes the next `count` writes lose their race against another server. The platform retries a few times, then
    /// responds with 409.
    pub fn lose_races(&self, count: u32) {
        self.switches().stale_writes = count;
    }

    /// Suspends or resumes writes and the health probe, for tests of requests that wait while the host shuts down or
    /// their client disconnects.
    pub fn stall(&self, stalled: bool) {
        let mut switches = self.switches();
        switches.stalled = stalled;
        if !stalled {
            switches.waiting.drain(..).for_each(Waker::wake);
        }
    }

    /// Makes every method suspend once before and after its work, so that a caller can be dropped there.
    pub fn halt(&self, halting: bool) {
        self.switches().halting = halting;
    }

    /// Lets `after` more changes of credits succeed. The next `count` are stored but report
    /// [`StorageErrorKind::Unavailable`], like a connection that breaks between a commit and its acknowledgement.
    pub fn lose_answers_of_credits(&self, after: u32, count: u32) {
        self.switches().lost_credits = (after, count);
    }

    /// Gives every agent the contact schema that is read first, like a cache whose key lacks the agent.
    pub fn share_schemas(&self) {
        self.switches().shares_schemas = true;
    }

    async fn through<T>(&self, work: impl Future<Output = T> + Send) -> T {
        let halting = self.switches().halting;
        halt(halting).await;
        let done = work.await;
        halt(halting).await;
        done
    }

    fn ready(&self) -> Result<()> {
        self.switches().failure.clone().map_or(Ok(()), |kind| Err(kind.into()))
    }

    async fn unstalled(&self) {
        poll_fn(|cx| {
            let mut switches = self.switches();
            if !switches.stalled {
                return Poll::Ready(());
            }
            if !switches.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                switches.waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    async fn before_write(&self) -> Result<()> {
        self.unstalled().await;
        self.ready()?;
        let mut switches = self.switches();
        if switches.stale_writes > 0 {
            switches.stale_writes -= 1;
            return Err(StorageErrorKind::Stale.into());
        }
        Ok(())
    }
}

/// Suspends once if `halting`.
pub async fn halt(halting: bool) {
    let mut is_over = !halting;
    poll_fn(|cx| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Delegate for FaultyStorage {
    type Inner = dyn ConversationStorage;

    fn inner(&self) -> &Self::Inner {
        &*self.inner
    }

    async fn around<T: Send>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        if WRITES.contains(&method) {
            self.before_write().await?;
        } else if method == "probe" {
            self.unstalled().await;
            self.ready()?;
        } else if READS.contains(&method) {
            self.ready()?;
        }
        self.through(call).await
    }
}

impl FaultyStorage {
    async fn contact_schema(&self, agent: &AgentId) -> Result<Option<ContactSchema>> {
        self.ready()?;
        let schema = self.through(self.inner.contact_schema(agent)).await?;
        let mut switches = self.switches();
        if !switches.shares_schemas {
            return Ok(schema);
        }
        let shared = switches.shared_schema.take().or(schema);
        switches.shared_schema.clone_from(&shared);
        Ok(shared)
    }

    /// Rate-limit windows are part of the authentication.
    async fn record(&self, scope: Option<&AgentId>, key: &RecordKey) -> Result<Option<StoredRecord>> {
        if key.kind != RecordKind::RateLimitWindow {
            self.ready()?;
        }
        self.through(self.inner.record(scope, key)).await
    }

    async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
        if write.changes.iter().any(|change| change.key().kind != RecordKind::RateLimitWindow) {
            self.before_write().await?;
        }
        self.through(self.inner.save_records(scope, write)).await
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        self.before_write().await?;
        self.through(self.inner.save_credits(agent, write)).await?;
        let (after, count) = &mut self.switches().lost_credits;
        if *after > 0 {
            *after -= 1;
            return Ok(());
        }
        if *count == 0 {
            return Ok(());
        }
        *count -= 1;
        Err(StorageErrorKind::Unavailable.into())
    }
}

crate::delegate_storage!(FaultyStorage);

#[cfg(test)]
mod tests {
    use super::{READS, WRITES};
    use crate::delegate::METHODS;

    #[test]
    fn every_listed_method_exists() {
        for method in READS.iter().chain(WRITES) {
            assert!(METHODS.contains(method), "{method} is not a storage method");
        }
    }
}
