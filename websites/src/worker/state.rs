//! What a crawl works with, and how it is saved.

use std::collections::{HashMap, HashSet};

use conversations::websites::{CrawledPage, PageCounts, WebsiteBody};
use http::{HeaderValue, Method, header};
use openapi_core::ports::{OutboundRequest, OutboundSchemes};
use openapi_core::storage::{
    Effects, Job, JobLease, RecordChange, RecordsWrite, StorageError, StorageErrorKind,
};
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use url::Url;

use super::{Crawler, Halt, LEASE_MILLIS, RENEWAL_MILLIS};
use crate::robots::Robots;

/// How long a request may take.
const REQUEST_MILLIS: u64 = 20_000;

/// How a crawl ends.
pub(super) enum End {
    /// There is nothing left to read, or a limit was reached.
    Complete,
    /// The website cannot be read.
    Failed(String),
    /// The crawler is to stop.
    Stopped,
    /// It has been read for a turn, and there is more.
    Turn,
}

/// A crawl.
pub(super) struct Crawl<'a> {
    pub(super) crawler: &'a Crawler,
    pub(super) agent: AgentId,
    pub(super) server: PlatformId,
    pub(super) job: Job,
    pub(super) body: WebsiteBody,
    pub(super) robots: Robots,
    /// The records of the pages, by address, with their versions.
    pub(super) pages: HashMap<String, (u64, CrawledPage)>,
    /// The addresses that have a document.
    pub(super) documents: HashSet<String>,
    /// The pages of this crawl by the hash of their content.
    pub(super) contents: HashMap<String, String>,
    /// How many addresses of each form were found by links.
    pub(super) forms: HashMap<String, usize>,
    pub(super) saved_at: Timestamp,
    pub(super) failures: u32,
    /// The bytes that were received besides those of pages.
    pub(super) further_bytes: u64,
}

impl<'a> Crawl<'a> {
    pub(super) fn new(
        crawler: &'a Crawler,
        agent: AgentId,
        server: PlatformId,
        job: Job,
        body: WebsiteBody,
    ) -> Self {
        Crawl {
            saved_at: crawler.now(),
            crawler,
            agent,
            server,
            job,
            body,
            robots: Robots::default(),
            pages: HashMap::new(),
            documents: HashSet::new(),
            contents: HashMap::new(),
            forms: HashMap::new(),
            failures: 0,
            further_bytes: 0,
        }
    }

    /// A request for a page.
    pub(super) fn request(&self, url: &Url) -> OutboundRequest {
        let mut request = OutboundRequest::new(Method::GET, url.as_str());
        let agent = format!("{}/1", self.crawler.parts.product);
        let fields = [
            (header::USER_AGENT, agent.as_str()),
            (header::ACCEPT, "text/html, application/xhtml+xml;q=0.9, */*;q=0.1"),
            (header::ACCEPT_ENCODING, "identity"),
        ];
        for (name, value) in fields {
            request.headers.extend(HeaderValue::from_str(value).ok().map(|value| (name, value)));
        }
        request.agent = Some(self.agent.clone());
        request.schemes = OutboundSchemes::HttpAndHttps;
        request.max_body_bytes = self.crawler.parts.limits.page_bytes;
        request.timeout_millis = REQUEST_MILLIS;
        request
    }

    /// The pause between two requests.
    pub(super) fn pace(&self) -> u64 {
        self.crawler.parts.limits.pace_millis.max(self.robots.delay_millis.unwrap_or(0))
    }

    /// Saves the records of pages.
    pub(super) async fn save_pages(&mut self, urls: &[String]) -> Result<(), Halt> {
        let mut changes = Vec::new();
        for url in urls {
            if let Some((version, page)) = self.pages.get_mut(url) {
                *version += 1;
                let record = page.stored(self.job.id, *version).map_err(internal)?;
                changes.push(RecordChange::Save(record));
            }
        }
        self.count();
        self.change_records(changes).await
    }

    /// Counts the pages. The counts are stored with the website, so that a list of websites reads no pages.
    pub(super) fn count(&mut self) {
        self.body.counts = PageCounts::of(self.pages.values().map(|(_, page)| page), self.body.crawl);
    }

    pub(super) async fn change_records(&self, changes: Vec<RecordChange>) -> Result<(), Halt> {
        let write = RecordsWrite { changes, effects: Effects::default() };
        Ok(self.crawler.chat().platform().storage().save_records(Some(&self.agent), &write).await?)
    }

    /// Saves the website with how far its crawl is; one that is still being read has its lease renewed.
    pub(super) async fn save(&mut self) -> Result<(), Halt> {
        let (now, body) = (self.crawler.now(), self.body.stored().map_err(internal)?);
        let lease = self.job.lease.map(|lease| JobLease { until: now.plus_millis(LEASE_MILLIS), ..lease });
        let job = Job { version: self.job.version + 1, lease, body, ..self.job.clone() };
        self.crawler.save(&self.agent, job.clone()).await?;
        (self.job, self.saved_at) = (job, now);
        Ok(())
    }

    /// Saves the website when it is time.
    pub(super) async fn renew(&mut self) -> Result<(), Halt> {
        match self.crawler.now().millis_since(self.saved_at) {
            ..RENEWAL_MILLIS => Ok(()),
            _ => self.save().await,
        }
    }
}

/// A failure to write what was read or made here.
pub(super) fn internal(error: serde_json::Error) -> Halt {
    Halt::Storage(StorageError::new(StorageErrorKind::Internal, error))
}
