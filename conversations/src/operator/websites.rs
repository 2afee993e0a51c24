//! The operator's side of the websites that documents come from.

use std::collections::HashMap;

use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::audit::AuditAction;
use openapi_core::json::Json;
use openapi_core::storage::retry::{RetryOn, retry_on_conflict};
use openapi_core::storage::{
    Effects, Job, JobChange, JobQuery, JobState, JobsWrite, Queue, RecordChange, RecordId, RecordKey,
    RecordKind, RecordsWrite, StorageError, StorageErrorKind, Window,
};
use openapi_core::values::{AgentId, JobId, KnowledgeId, Timestamp};
use url::Url;

use super::{details, lost_race};
use crate::conversations::Conversations;
use crate::storage::KnowledgeWrite;
use crate::websites::{CrawledPage, PageCounts, Website, WebsiteBody, WebsitePage};

/// The most websites of an agent.
const MAX_WEBSITES: u32 = 20;
/// The longest address.
const MAX_URL: usize = 2_000;
/// The longest time between two crawls, in hours.
pub(crate) const MAX_EVERY_HOURS: u32 = 24 * 90;
/// How many records are read at once.
const BATCH: u32 = 200;

/// The websites that the documents of agents come from. Changes record `by` in the audit log.
///
/// # Errors
/// As of the knowledge of agents.
impl Conversations {
    /// The websites of an agent, the newest first.
    pub async fn websites(&self, agent: &AgentId) -> Result<Vec<Website>, AdminError> {
        self.platform.living_agent(agent).await?;
        let query = JobQuery {
            queue: Queue::Crawl,
            states: Vec::new(),
            batch: None,
            client_id: None,
            window: Window::Page { offset: 0, limit: MAX_WEBSITES },
        };
        let jobs = self.storage.jobs(Some(agent), &query).await?.jobs;
        jobs.iter().map(|job| Website::of(job).map_err(|error| unreadable(&error))).collect()
    }

    /// A website with its pages, by address.
    pub async fn website(
        &self,
        agent: &AgentId,
        id: JobId,
    ) -> Result<(Website, Vec<WebsitePage>), AdminError> {
        self.platform.living_agent(agent).await?;
        let job = self.website_job(agent, id).await?;
        let mut website = Website::of(&job).map_err(|error| unreadable(&error))?;
        let pages = self.crawled_pages(agent, id).await?;
        if website.body.is_running {
            // Those of the job are some seconds old.
            website.body.counts = PageCounts::of(&pages, website.body.crawl);
        }
        let documents = self.storage.knowledge(agent).await?;
        let documents: HashMap<&str, KnowledgeId> = documents
            .iter()
            .filter(|it| it.source == Some(id))
            .filter_map(|it| Some((it.url.as_deref()?, it.id)))
            .collect();
        let crawl = website.body.crawl;
        let mut views: Vec<WebsitePage> = pages
            .into_iter()
            .map(|page| WebsitePage {
                document: documents.get(page.url.as_str()).copied(),
                outcome: page.outcome.filter(|_| page.visited == crawl || page.found != crawl),
                detail: page.detail.filter(|_| page.visited == crawl),
                misses: page.misses,
                url: page.url,
            })
            .collect();
        views.sort_by(|a, b| a.url.cmp(&b.url));
        Ok((website, views))
    }

    /// Adds a website, which is read as soon as a server can, and then every so many hours.
    ///
    /// # Errors
    /// [`AdminError::Refused`] for an address that is none of a website, and beyond the limits;
    /// [`AdminError::Conflict`] if the agent has the website.
    pub async fn add_website(
        &self,
        by: &Actor,
        agent: &AgentId,
        url: &str,
        every_hours: Option<u32>,
    ) -> Result<Website, AdminError> {
        let url = start_of(url)?;
        if every_hours.is_some_and(|hours| !(1..=MAX_EVERY_HOURS).contains(&hours)) {
            let text = format!("a website is read every 1 to {MAX_EVERY_HOURS} hours");
            return Err(AdminError::Refused(text));
        }
        let known = self.websites(agent).await?;
        if let Some(known) = known.iter().find(|known| known.body.url == url) {
            let text = format!("the agent already has the website {url}; its id is {}", known.id);
            return Err(AdminError::Conflict(text));
        }
        if known.len() >= MAX_WEBSITES as usize {
            let text = format!("an agent has at most {MAX_WEBSITES} websites; remove one first");
            return Err(AdminError::Refused(text));
        }
        let now = self.platform.now();
        let id: JobId = self.platform.ports().ids.platform_id(now).into();
        let front = self.storage.queue_front(Queue::Crawl, Some(agent)).await?;
        let job = Job {
            id,
            queue: Queue::Crawl,
            state: JobState::Ready,
            version: 1,
            turn: front.turn(1),
            due_at: None,
            lease: None,
            attempts: 0,
            lost: 0,
            batch: None,
            client_id: None,
            subject: None,
            reserved: Default::default(),
            created_at: now,
            started_at: None,
            body: WebsiteBody::new(url.clone(), every_hours).stored().map_err(|error| unreadable(&error))?,
            result: None,
        };
        let website = Website::of(&job).map_err(|error| unreadable(&error))?;
        let mut write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job))]);
        write.effects = self.website_effects(by, AuditAction::KnowledgeSourceAdd, agent, id, &url, now);
        self.storage.save_jobs(Some(agent), &write).await?;
        Ok(website)
    }

    /// Reads a website as soon as a server can. One that waits or is being read stays as it is.
    ///
    /// # Errors
    /// [`AdminError::Conflict`] while it is being removed.
    pub async fn sync_website(&self, by: &Actor, agent: &AgentId, id: JobId) -> Result<Website, AdminError> {
        self.platform.living_agent(agent).await?;
        retry_on_conflict(lost_race, |_| async move {
            let job = self.website_job(agent, id).await?;
            let body = WebsiteBody::of(&job).map_err(|error| unreadable(&error))?;
            if matches!(job.state, JobState::Ready | JobState::Running) {
                return Ok(Some(Website::of(&job).map_err(|error| unreadable(&error))?));
            }
            if body.is_removed {
                return Err(AdminError::Conflict(format!("the website {} is being removed", body.url)));
            }
            let now = self.platform.now();
            let front = self.storage.queue_front(Queue::Crawl, Some(agent)).await?;
            let job = Job {
                state: JobState::Ready,
                version: job.version + 1,
                turn: front.turn(1),
                due_at: None,
                ..job
            };
            let website = Website::of(&job).map_err(|error| unreadable(&error))?;
            let mut write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job))]);
            let action = AuditAction::KnowledgeSourceSync;
            write.effects = self.website_effects(by, action, agent, id, &body.url, now);
            let saved = self.storage.save_jobs(Some(agent), &write).await;
            Ok(saved.retry_on(&[StorageErrorKind::Stale])?.map(|()| website))
        })
        .await
    }

    /// Removes a website with its documents, also while it is being read.
    pub async fn remove_website(
        &self,
        by: &Actor,
        agent: &AgentId,
        id: JobId,
    ) -> Result<Website, AdminError> {
        self.platform.living_agent(agent).await?;
        // From here on no server adds documents of the website any more (`add_page`). If this process dies, the website
        // is listed until it is removed again.
        let job = retry_on_conflict(lost_race, |_| async move {
            let job = self.website_job(agent, id).await?;
            let mut body = WebsiteBody::of(&job).map_err(|error| unreadable(&error))?;
            body.is_removed = true;
            let stored = body.stored().map_err(|error| unreadable(&error))?;
            let (state, version) = (JobState::Cancelled, job.version + 1);
            let job = Job { state, version, due_at: None, lease: None, body: stored, ..job };
            let now = self.platform.now();
            let mut write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job.clone()))]);
            let action = AuditAction::KnowledgeSourceRemove;
            write.effects = self.website_effects(by, action, agent, id, &body.url, now);
            let saved = self.storage.save_jobs(Some(agent), &write).await;
            Ok::<_, AdminError>(saved.retry_on(&[StorageErrorKind::Stale])?.map(|()| job))
        })
        .await?;
        self.remove_pages(by, agent, id, None).await?;
        self.remove_page_records(agent, id).await?;
        let removal =
            JobsWrite::new(self.platform.now(), vec![JobChange::Remove { id, version: job.version }]);
        match self.storage.save_jobs(Some(agent), &removal).await {
            // Somebody else has removed it too.
            Err(error) if error.kind == StorageErrorKind::Stale => {}
            outcome => outcome?,
        }
        Website::of(&job).map_err(|error| unreadable(&error))
    }

    /// Removes the documents of a website, or those with these addresses; returns how many.
    ///
    /// The version of the knowledge is raised even if there are none: a document that another server is about to add must
    /// find that the website is gone.
    pub async fn remove_pages(
        &self,
        by: &Actor,
        agent: &AgentId,
        website: JobId,
        only: Option<&[String]>,
    ) -> Result<usize, AdminError> {
        retry_on_conflict(lost_race, |_| async move {
            let record = self.storage.record(Some(agent), &RecordKind::Knowledge.into()).await?;
            let known = self.storage.knowledge(agent).await?;
            let is_meant = |url: &Option<String>| {
                only.is_none_or(|only| url.as_ref().is_some_and(|url| only.contains(url)))
            };
            let gone: Vec<KnowledgeId> = known
                .iter()
                .filter(|it| it.source == Some(website) && is_meant(&it.url))
                .map(|it| it.id)
                .collect();
            let now = self.platform.now();
            let removed = gone.iter().map(|id| self.removed_event(by, *id, now));
            let events = removed.flatten().collect();
            let count = Json::Number((gone.len() as u64).into());
            let details = details("documents", count);
            let (action, resource) = (AuditAction::KnowledgeRemove, website.to_string());
            let audit = self.platform.operator_audit(by, action, agent, &resource, &details, now);
            let effects = if gone.is_empty() {
                Effects::default()
            } else {
                Effects { events, ..Effects::audited(audit) }
            };
            let removed = gone.len();
            let write = KnowledgeWrite {
                version: record.map_or(0, |record| record.version) + 1,
                remove: gone,
                add: None,
                effects,
            };
            let changed = self.storage.change_knowledge(agent, &write).await;
            Ok(changed.retry_on(&[StorageErrorKind::Stale])?.map(|()| removed))
        })
        .await
    }

    /// Removes the records of the pages of a website, for the server that was reading it when it was removed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn remove_page_records(&self, agent: &AgentId, website: JobId) -> Result<(), StorageError> {
        loop {
            let records = self.page_records(agent, website, None).await?;
            if records.is_empty() {
                return Ok(());
            }
            let removal =
                |(key, version, _): (RecordKey, u64, CrawledPage)| RecordChange::Remove { key, version };
            let changes = records.into_iter().map(removal).collect();
            let write = RecordsWrite { changes, effects: Effects::default() };
            match self.storage.save_records(Some(agent), &write).await {
                // A server that was reading has saved one more page.
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                outcome => outcome?,
            }
        }
    }

    /// Up to 200 records of the pages of a website, after one, with their versions.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn page_records(
        &self,
        agent: &AgentId,
        website: JobId,
        after: Option<&RecordKey>,
    ) -> Result<Vec<(RecordKey, u64, CrawledPage)>, StorageError> {
        let first = RecordId::from(openapi_core::values::PlatformId::from_bytes(*website.as_bytes()));
        let after = after.map_or(&first, |key| &key.id);
        let mut records =
            self.storage.records_of(Some(agent), RecordKind::CrawledPage, Some(after), BATCH).await?;
        records.retain(|record| record.key.id.as_bytes().starts_with(website.as_bytes()));
        let page = |record| {
            let page = CrawledPage::of(&record).map_err(|error| {
                tracing::error!(%agent, %website, %error, "a stored page of a website cannot be read");
                StorageError::from(StorageErrorKind::Internal)
            })?;
            Ok((record.key, record.version, page))
        };
        records.into_iter().map(page).collect()
    }

    async fn crawled_pages(&self, agent: &AgentId, website: JobId) -> Result<Vec<CrawledPage>, StorageError> {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let batch = self.page_records(agent, website, after.as_ref()).await?;
            let is_last = batch.len() < BATCH as usize;
            after = batch.last().map(|(key, ..)| key.clone());
            pages.extend(batch.into_iter().map(|(_, _, page)| page));
            if is_last {
                return Ok(pages);
            }
        }
    }

    async fn website_job(&self, agent: &AgentId, id: JobId) -> Result<Job, AdminError> {
        let job = self.storage.job(Some(agent), id).await?.filter(|job| job.queue == Queue::Crawl);
        job.ok_or_else(|| AdminError::NotFound { what: "website", id: id.to_string() })
    }

    fn website_effects(
        &self,
        by: &Actor,
        action: AuditAction,
        agent: &AgentId,
        id: JobId,
        url: &str,
        now: Timestamp,
    ) -> Effects {
        let details = details("url", url.into());
        Effects::audited(self.platform.operator_audit(by, action, agent, &id.to_string(), &details, now))
    }
}

/// Where a website begins, in the form in which it is stored.
fn start_of(text: &str) -> Result<String, AdminError> {
    let refuse = |text: String| AdminError::Refused(text);
    let mut url = Url::parse(text.trim())
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| refuse(format!("'{text}' is no website; write such as https://www.example.com/")))?;
    if !url.username().is_empty() || url.password().is_some() {
        let text = "the address of a website has no user name and no password; only public pages are read";
        return Err(refuse(text.to_owned()));
    }
    url.set_fragment(None);
    if url.as_str().len() > MAX_URL {
        return Err(refuse(format!("the address of a website has at most {MAX_URL} characters")));
    }
    Ok(url.into())
}

fn unreadable(error: &serde_json::Error) -> AdminError {
    tracing::error!(%error, "a stored website cannot be read");
    AdminError::from(StorageError::from(StorageErrorKind::Internal))
}
