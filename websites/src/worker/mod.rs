//! The worker: it claims websites under a lease, reads each for a turn, and settles what came of it.

mod crawl;
mod pace;
mod state;
mod visit;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use async_trait::async_trait;
use conversations::Conversations;
use conversations::admin::NewKnowledge;
use conversations::websites::WebsiteBody;
use openapi_core::admin::AdminError;
use openapi_core::ports::Outbound;
use openapi_core::storage::{
    Job, JobChange, JobClaim, JobState, JobsWrite, Queue, ScopedJob, StorageError, StorageErrorKind,
};
use openapi_core::values::{AgentId, PlatformId, Timestamp};

use self::state::{Crawl, End};

/// How long a lease lasts.
const LEASE_MILLIS: i64 = 60_000;
/// After how long it is renewed, and how far the crawl is is saved.
const RENEWAL_MILLIS: i64 = 5_000;
/// How often the worker looks whether it is to stop.
const TICK_MILLIS: u64 = 1_000;
/// After how many of these it looks for websites again.
const IDLE_TICKS: u32 = 5;
/// How many websites are woken at a time.
const WOKEN_AT_ONCE: u32 = 100;
/// How many lost leases end a crawl: it ends its servers.
const MAX_LOST: u32 = 3;
/// How long a website waits after the store has failed.
const PAUSE_MILLIS: i64 = 60_000;
const HOUR_MILLIS: i64 = 3_600_000;

/// The text of a page, for the host to split into passages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPage {
    /// Its address.
    pub url: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its main content, as Markdown.
    pub text: String,
    /// Its language, as a BCP 47 tag.
    pub language: Option<String>,
}

/// Splits pages into passages.
#[async_trait]
pub trait PageReader: Send + Sync {
    /// The document of a page. Its `url` is that of the page.
    async fn read(&self, page: ReadPage) -> NewKnowledge;
}

/// The limits of a crawl, with the documented defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrawlLimits {
    /// Pages that are asked for (1,000).
    pub pages: usize,
    /// Addresses that are remembered (2,000).
    pub found: usize,
    /// Bytes of all pages (50 MiB).
    pub bytes: u64,
    /// Bytes of a page (5 MiB).
    pub page_bytes: usize,
    /// How long a crawl may take (6 hours).
    pub millis: i64,
    /// Addresses of one form, such as `/calendar/#/#`, that are found by links (200).
    pub per_form: usize,
    /// The pause between two requests to a host (1 s).
    pub pace_millis: u64,
    /// How long a website is read until the others that wait have their turn (2 minutes).
    pub turn_millis: i64,
}

impl Default for CrawlLimits {
    fn default() -> Self {
        CrawlLimits {
            pages: 1_000,
            found: 2_000,
            bytes: 50 << 20,
            page_bytes: 5 << 20,
            millis: 6 * HOUR_MILLIS,
            per_form: 200,
            pace_millis: 1_000,
            turn_millis: 120_000,
        }
    }
}

/// What a crawler needs of its host.
#[derive(Clone)]
pub struct CrawlerParts {
    /// Sends the requests.
    pub outbound: Arc<dyn Outbound>,
    /// Splits pages into passages.
    pub reader: Arc<dyn PageReader>,
    /// What robots.txt calls the crawler: letters, `-` and `_`.
    pub product: String,
    /// The limits.
    pub limits: CrawlLimits,
}

/// The chat that a crawler works for: after a change of the server keys it is another one.
pub trait CurrentChat: Send + Sync {
    /// The chat as it is now.
    fn chat(&self) -> Arc<Conversations>;
}

/// Reads the websites of all agents, each for the length of a turn. Several crawlers, in one process or in many, share the work.
pub struct Crawler {
    parts: CrawlerParts,
    chats: Arc<dyn CurrentChat>,
    is_stopped: AtomicBool,
    /// When hosts were forgotten last, in milliseconds.
    forgot_at: AtomicI64,
}

impl std::fmt::Debug for Crawler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Crawler").field("product", &self.parts.product).finish_non_exhaustive()
    }
}

impl Crawler {
    /// A crawler.
    #[must_use]
    pub fn new(parts: CrawlerParts, chats: Arc<dyn CurrentChat>) -> Self {
        Crawler { parts, chats, is_stopped: AtomicBool::new(false), forgot_at: AtomicI64::new(0) }
    }

    /// Ends [`Crawler::run`] before the next page: the website is handed back, and its crawl goes on later.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Reads websites until [`Crawler::stop`]. Dropped, it loses nothing: when the lease has ended, the crawl goes on. It
    /// needs a [timer](openapi_core::ports::Timer).
    pub async fn run(&self) {
        let server = self.server();
        while !self.is_stopped() {
            match self.work_once(server).await {
                Ok(true) => {}
                Ok(false) => self.idle().await,
                Err(error) => {
                    tracing::warn!(%error, "failed to look for websites to read; retrying");
                    self.idle().await;
                }
            }
        }
    }

    async fn idle(&self) {
        for _ in 0..IDLE_TICKS {
            if !self.is_stopped() {
                self.sleep(TICK_MILLIS).await;
            }
        }
    }

    /// Reads one website for a turn, if one is due; returns whether one was.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn run_once(&self) -> Result<bool, StorageError> {
        self.work_once(self.server()).await
    }

    fn server(&self) -> PlatformId {
        let chat = self.chat();
        chat.platform().ports().ids.platform_id(chat.platform().now())
    }

    async fn work_once(&self, server: PlatformId) -> Result<bool, StorageError> {
        let chat = self.chat();
        let (storage, now) = (chat.platform().storage(), chat.platform().now());
        let woken = storage.wake_jobs(Queue::Crawl, now, WOKEN_AT_ONCE).await?;
        if woken.lost > 0 {
            tracing::warn!(websites = woken.lost, "the leases of websites were lost; their crawls go on");
        }
        self.forget_hosts().await?;
        let until = now.plus_millis(LEASE_MILLIS);
        let claim = JobClaim { queue: Queue::Crawl, owner: server, now, until, at_most: 1 };
        let Some(ScopedJob { scope: Some(agent), job }) = storage.claim_jobs(&claim).await?.pop() else {
            return Ok(false);
        };
        self.work(server, &agent, job).await;
        Ok(true)
    }

    /// Reads a claimed website and settles it.
    async fn work(&self, server: PlatformId, agent: &AgentId, job: Job) {
        let id = job.id;
        let (lost, body) = (job.lost, WebsiteBody::of(&job));
        let mut crawl = match body {
            Ok(body) => Crawl::new(self, agent.clone(), server, job, body),
            Err(error) => {
                tracing::error!(%agent, website = %id, %error, "a stored website cannot be read");
                return;
            }
        };
        let end = match lost {
            MAX_LOST.. => {
                Ok(End::Failed("the servers that read the website ended while they did".to_owned()))
            }
            _ => crawl.run().await,
        };
        let settled = match end {
            Ok(End::Stopped) => self.give_back(agent, &crawl, None).await,
            Ok(End::Turn) => self.queue_again(agent, &mut crawl).await,
            Ok(End::Complete) => crawl.finish(None).await,
            Ok(End::Failed(error)) => crawl.finish(Some(error)).await,
            Err(halt) => Err(halt),
        };
        match settled {
            Ok(()) => {}
            Err(Halt::Lost) => self.forget(agent, &crawl).await,
            Err(Halt::Storage(error)) => {
                tracing::warn!(%agent, website = %id, %error, "the crawl of a website was interrupted; it goes on in a minute");
                if let Err(Halt::Storage(error)) = self.give_back(agent, &crawl, Some(PAUSE_MILLIS)).await {
                    tracing::debug!(%agent, website = %id, %error, "a website goes on when its lease has ended");
                }
            }
        }
    }

    /// Hands a website back after those that wait.
    async fn queue_again(&self, agent: &AgentId, crawl: &mut Crawl<'_>) -> Result<(), Halt> {
        let front = self.chat().platform().storage().queue_front(Queue::Crawl, Some(agent)).await?;
        crawl.job.turn = front.turn(1);
        self.give_back(agent, crawl, None).await
    }

    /// Hands a website back: at once, or after a pause.
    async fn give_back(&self, agent: &AgentId, crawl: &Crawl<'_>, pause: Option<i64>) -> Result<(), Halt> {
        let now = self.now();
        let job = Job {
            state: if pause.is_some() { JobState::Scheduled } else { JobState::Ready },
            version: crawl.job.version + 1,
            due_at: pause.map(|millis| now.plus_millis(millis)),
            lease: None,
            body: crawl.body.stored().map_err(state::internal)?,
            ..crawl.job.clone()
        };
        self.save(agent, job).await
    }

    /// A website that was removed, or is another server's, while this one was reading it.
    async fn forget(&self, agent: &AgentId, crawl: &Crawl<'_>) {
        let chat = self.chat();
        let id = crawl.job.id;
        match chat.platform().storage().job(Some(agent), id).await {
            Ok(None) => {
                if let Err(error) = chat.remove_page_records(agent, id).await {
                    tracing::warn!(%agent, website = %id, %error, "records of pages of a removed website stay");
                }
            }
            _ => tracing::info!(%agent, website = %id, "a website is no longer read by this server"),
        }
    }

    async fn save(&self, agent: &AgentId, job: Job) -> Result<(), Halt> {
        let write = JobsWrite::new(self.now(), vec![JobChange::Save(Box::new(job))]);
        Ok(self.chat().platform().storage().save_jobs(Some(agent), &write).await?)
    }

    fn chat(&self) -> Arc<Conversations> {
        self.chats.chat()
    }

    fn now(&self) -> Timestamp {
        self.chat().platform().now()
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    async fn sleep(&self, millis: u64) {
        let chat = self.chat();
        let sleep = chat.platform().ports().timer.sleep(millis);
        drop(chat);
        sleep.await;
    }
}

/// Why a crawl cannot go on here.
#[derive(Debug)]
enum Halt {
    /// Another server has the website, or it was removed.
    Lost,
    /// The store failed.
    Storage(StorageError),
}

impl From<StorageError> for Halt {
    fn from(error: StorageError) -> Self {
        match error.kind {
            StorageErrorKind::Stale | StorageErrorKind::Missing => Halt::Lost,
            _ => Halt::Storage(error),
        }
    }
}

impl From<AdminError> for Halt {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Storage { error } => error.into(),
            AdminError::NotFound { .. } => Halt::Lost,
            // A change that lost too many races.
            _ => Halt::Storage(StorageErrorKind::Unavailable.into()),
        }
    }
}
