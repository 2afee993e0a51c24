//! One crawl: what is found stands in records before it is read, so another server can go on at any time.

use std::collections::HashSet;

use conversations::websites::{CrawledPage, Discovery, PageOutcome};
use openapi_core::access::Actor;
use openapi_core::ports::{OutboundError, OutboundRequest, OutboundResponse};
use openapi_core::storage::{JobState, RecordChange};
use url::Url;

use super::state::{Crawl, End};
use super::visit::Visit;
use super::{HOUR_MILLIS, Halt, PAUSE_MILLIS};
use crate::address::{Scope, form, is_endless};
use crate::robots::{self, Robots};
use crate::sitemap;

/// The most sitemaps that are read.
const MAX_SITEMAPS: usize = 50;
/// The most bytes of a sitemap, as it is sent.
const SITEMAP_BYTES: usize = 10 << 20;
/// How many records are written at once.
const BATCH: usize = 100;
/// How many pages in a row may fail before the website counts as away.
const MAX_FAILURES: u32 = 10;
/// In how many crawls in a row a page is not there until its document goes.
const MAX_MISSES: u32 = 2;

impl Crawl<'_> {
    /// Reads the website, or the rest of it.
    pub(super) async fn run(&mut self) -> Result<End, Halt> {
        let Some(scope) = Scope::of(&self.body.url) else {
            return Ok(End::Failed(format!("'{}' is no address of a website", self.body.url)));
        };
        if !self.body.is_running {
            self.body.crawl += 1;
            self.body.is_running = true;
            self.body.began_at = Some(self.crawler.now());
            (self.body.discovery, self.body.is_limited, self.body.error) = (None, false, None);
            self.body.counts = Default::default();
            self.save().await?;
        }
        let began = self.crawler.now();
        self.load().await?;
        if let Some(end) = self.read_robots(&scope).await? {
            return Ok(end);
        }
        if self.body.discovery.is_none()
            && let Some(end) = self.discover(&scope).await?
        {
            return Ok(end);
        }
        while let Some(url) = self.next() {
            if self.is_at_limit() {
                self.body.is_limited = true;
                break;
            }
            let visit = match self.visit(&scope, &url).await? {
                Ok(visit) => visit,
                Err(end) => return Ok(end),
            };
            self.failures = if visit.is_temporary { self.failures + 1 } else { 0 };
            let detail = visit.detail.clone().unwrap_or_default();
            self.store(&scope, &url, visit).await?;
            if self.failures >= MAX_FAILURES {
                return Ok(End::Failed(format!(
                    "{MAX_FAILURES} pages in a row failed, the last one with: {detail}"
                )));
            }
            // After a page, so that each turn brings the crawl on, and not while a website that is away is recognised.
            if self.failures == 0
                && self.crawler.now().millis_since(began) >= self.crawler.parts.limits.turn_millis
            {
                return Ok(End::Turn);
            }
        }
        Ok(self.nothing_read().map_or(End::Complete, End::Failed))
    }

    /// Why the whole website has nothing, where its first page is all that was found.
    fn nothing_read(&self) -> Option<String> {
        let mut found =
            self.pages.values().map(|(_, page)| page).filter(|page| page.found == self.body.crawl);
        let (only, None) = (found.next()?, found.next()) else { return None };
        let outcome = only.outcome.filter(|outcome| !outcome.has_document())?;
        let detail = only.detail.as_deref().map_or_else(String::new, |detail| format!(" ({detail})"));
        Some(format!("the first page was not read: {outcome}{detail}"))
    }

    /// The records of the pages, and which have documents.
    async fn load(&mut self) -> Result<(), Halt> {
        let chat = self.crawler.chat();
        let mut after = None;
        loop {
            let batch = chat.page_records(&self.agent, self.job.id, after.as_ref()).await?;
            let Some((last, ..)) = batch.last() else { break };
            after = Some(last.clone());
            for (_, version, page) in batch {
                if page.visited == self.body.crawl
                    && page.outcome.is_some_and(PageOutcome::has_document)
                    && let Some(content) = &page.content
                {
                    self.contents.insert(content.clone(), page.url.clone());
                }
                self.pages.insert(page.url.clone(), (version, page));
            }
        }
        self.count();
        let documents = chat.knowledge(&self.agent).await?;
        let own = documents.into_iter().filter(|document| document.source == Some(self.job.id));
        self.documents = own.filter_map(|document| document.url).collect();
        Ok(())
    }

    async fn read_robots(&mut self, scope: &Scope) -> Result<Option<End>, Halt> {
        let url = scope.at_root("/robots.txt");
        let fetched = match self.fetch_file(&url, robots::MAX_BYTES).await? {
            Ok(fetched) => fetched,
            Err(end) => return Ok(Some(end)),
        };
        match fetched {
            Ok(response) if response.status.is_success() => {
                self.robots = Robots::parse(&response.body, &self.crawler.parts.product);
            }
            // There is none: everything is allowed.
            Ok(response) if response.status.is_client_error() && response.status.as_u16() != 429 => {}
            Ok(response) => {
                let status = response.status.as_u16();
                return Ok(Some(End::Failed(format!(
                    "{url} was answered with status {status}, so nothing may be read"
                ))));
            }
            Err(error) => return Ok(Some(End::Failed(format!("{url} cannot be read: {error}")))),
        }
        Ok(None)
    }

    /// Finds where the crawl begins: in the sitemaps, or else with the first page and the pages that are known.
    async fn discover(&mut self, scope: &Scope) -> Result<Option<End>, Halt> {
        let mut waiting: Vec<Url> =
            self.robots.sitemaps.iter().filter_map(|link| scope.at_root("/").join(link).ok()).collect();
        if waiting.is_empty() {
            waiting.push(scope.at_root("/sitemap.xml"));
        }
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        while let Some(url) = waiting.pop() {
            let is_new = scope.is_host_of(&url) && seen.len() < MAX_SITEMAPS && seen.insert(url.clone());
            if !is_new || !self.robots.allows(&url) || found.len() > self.crawler.parts.limits.found {
                continue;
            }
            let response = match self.fetch_file(&url, SITEMAP_BYTES).await? {
                Ok(Ok(response)) if response.status.is_success() => response,
                Ok(_) => continue,
                Err(end) => return Ok(Some(end)),
            };
            self.further_bytes += response.body.len() as u64;
            let sitemap = sitemap::parse(&response.body);
            waiting.extend(sitemap.sitemaps.iter().filter_map(|link| url.join(link).ok()));
            found.extend(sitemap.pages.iter().filter_map(|link| scope.page(&url, link)));
        }
        let discovery = if found.is_empty() { Discovery::Links } else { Discovery::Sitemap };
        self.body.discovery = Some(discovery);
        self.find(vec![scope.start().clone()], 0).await?;
        if discovery == Discovery::Links {
            // A page that has not changed does not show its links again.
            let is_known = |page: &&CrawledPage| {
                self.documents.contains(&page.url) || page.outcome.is_some_and(PageOutcome::has_document)
            };
            let known = self.pages.values().map(|(_, page)| page).filter(is_known);
            let known = known.filter_map(|page| Some((page.depth, Url::parse(&page.url).ok()?)));
            let known: Vec<(u32, Url)> = known.filter(|(_, url)| scope.admits(url)).collect();
            for (depth, url) in known {
                self.find(vec![url], depth).await?;
            }
        }
        self.find(found, 1).await?;
        self.save().await?;
        Ok(None)
    }

    /// A file at the root of the website; the end if the crawler is to stop.
    async fn fetch_file(
        &mut self,
        url: &Url,
        most: usize,
    ) -> Result<Result<Result<OutboundResponse, OutboundError>, End>, Halt> {
        let pace = self.pace();
        if let Some(end) = self.turn(url, pace).await? {
            return Ok(Err(end));
        }
        let mut request = self.request(url);
        request.max_body_bytes = most;
        request.max_redirects = OutboundRequest::MAX_REDIRECTS;
        Ok(Ok(self.crawler.parts.outbound.send(request).await))
    }

    /// The page that is read next: that with the fewest links from the first page, in the order in which they were found.
    fn next(&self) -> Option<Url> {
        let crawl = self.body.crawl;
        let waiting = self.pages.values().map(|(_, page)| page);
        let waiting = waiting.filter(|page| page.found == crawl && page.visited != crawl);
        let next = waiting.min_by_key(|page| (page.depth, page.order))?;
        Url::parse(&next.url).ok()
    }

    fn is_at_limit(&self) -> bool {
        let limits = &self.crawler.parts.limits;
        let visited =
            self.pages.values().map(|(_, page)| page).filter(|page| page.visited == self.body.crawl);
        let asked = visited.filter(|page| {
            !matches!(page.outcome, Some(PageOutcome::Robots | PageOutcome::Trap | PageOutcome::Limit))
        });
        let (count, bytes) = asked.fold((0, self.further_bytes), |(count, bytes), page| {
            (count + 1, bytes.saturating_add(page.bytes))
        });
        let began = self.body.began_at.unwrap_or(self.crawler.now());
        count >= limits.pages
            || bytes >= limits.bytes
            || self.crawler.now().millis_since(began) >= limits.millis
    }

    /// Remembers addresses that were found.
    pub(super) async fn find(&mut self, urls: Vec<Url>, depth: u32) -> Result<(), Halt> {
        let (crawl, most) = (self.body.crawl, self.crawler.parts.limits.found);
        let mut found = self.pages.values().filter(|(_, page)| page.found == crawl).count();
        let mut changed = Vec::new();
        for url in urls {
            if self.pages.get(url.as_str()).is_some_and(|(_, page)| page.found == crawl) {
                continue;
            }
            if found >= most {
                self.body.is_limited = true;
                break;
            }
            let trap = (depth > 1).then(|| self.trap(&url)).flatten();
            if trap == Some(false) {
                continue;
            }
            let order = u32::try_from(found).unwrap_or(u32::MAX);
            found += 1;
            let (version, mut page) = match self.pages.remove(url.as_str()) {
                Some((version, page)) => (version, CrawledPage { found: crawl, depth, order, ..page }),
                None => (0, CrawledPage::found(url.as_str().to_owned(), crawl, depth, order)),
            };
            if trap.is_some() {
                page.visited = crawl;
                page.outcome = Some(PageOutcome::Trap);
                page.detail = Some(format!("and all further addresses of the form {}", form(&url)));
            }
            changed.push(page.url.clone());
            self.pages.insert(page.url.clone(), (version, page));
        }
        for batch in changed.chunks(BATCH) {
            self.save_pages(batch).await?;
        }
        Ok(())
    }

    /// Whether an address is one of a trap, and then whether it is the first one, which the report names.
    fn trap(&mut self, url: &Url) -> Option<bool> {
        let limit = if is_endless(url) { 0 } else { self.crawler.parts.limits.per_form };
        let count = self.forms.entry(form(url)).or_default();
        *count += 1;
        (*count > limit).then_some(*count == limit + 1)
    }

    /// Stores what became of a page, after what it links to: a crawl that goes on finds both.
    async fn store(&mut self, scope: &Scope, url: &Url, visit: Visit) -> Result<(), Halt> {
        let Some(depth) = self.pages.get(url.as_str()).map(|(_, page)| page.depth) else { return Ok(()) };
        let links = visit.links.iter().filter(|link| scope.admits(link)).cloned().collect();
        self.find(links, depth.saturating_add(1).max(2)).await?;
        let crawl = self.body.crawl;
        let Some((_, page)) = self.pages.get_mut(url.as_str()) else { return Ok(()) };
        (page.visited, page.bytes) = (crawl, visit.bytes);
        (page.outcome, page.detail) = (Some(visit.outcome), visit.detail);
        if let Some(stamp) = visit.stamp {
            (page.etag, page.last_modified, page.content) =
                (stamp.etag, stamp.last_modified, Some(stamp.content));
        }
        if visit.outcome.has_document() {
            page.misses = 0;
            let content = page.content.clone().unwrap_or_default();
            self.contents.insert(content, url.as_str().to_owned());
            self.documents.insert(url.as_str().to_owned());
        } else if !visit.is_temporary {
            page.misses = page.misses.saturating_add(1);
        }
        self.save_pages(&[url.as_str().to_owned()]).await
    }

    /// Ends the crawl: documents of pages that are gone go, and the website waits for its next crawl.
    pub(super) async fn finish(&mut self, error: Option<String>) -> Result<(), Halt> {
        let is_complete = error.is_none() && !self.body.is_limited;
        let gone = self.settle_pages(is_complete).await?;
        if !gone.is_empty() {
            let by = Actor::Operator("crawler".to_owned());
            self.crawler.chat().remove_pages(&by, &self.agent, self.job.id, Some(&gone)).await?;
        }
        self.remove_absent(&gone).await?;
        let now = self.crawler.now();
        (self.body.is_running, self.body.ended_at) = (false, Some(now));
        self.body.error = error;
        let next = self.body.every_hours.map(|hours| {
            let began = self.body.began_at.unwrap_or(now);
            began.plus_millis(i64::from(hours) * HOUR_MILLIS).max(now.plus_millis(PAUSE_MILLIS))
        });
        self.job.state = match (next, &self.body.error) {
            (Some(_), _) => JobState::Scheduled,
            (None, None) => JobState::Succeeded,
            (None, Some(_)) => JobState::Failed,
        };
        (self.job.due_at, self.job.lease) = (next, None);
        (self.job.attempts, self.job.lost) = (0, 0);
        self.save().await
    }

    /// Counts the misses of pages that a complete crawl has not found, and names what a limit has left; returns the
    /// addresses whose documents go.
    async fn settle_pages(&mut self, is_complete: bool) -> Result<Vec<String>, Halt> {
        let (crawl, is_limited) = (self.body.crawl, self.body.is_limited);
        let mut changed = Vec::new();
        for (url, (_, page)) in &mut self.pages {
            if page.visited == crawl {
                continue;
            }
            if page.found != crawl && is_complete {
                page.misses = page.misses.saturating_add(1);
                // A crawl that goes on does not count it again.
                page.visited = crawl;
            } else if page.found == crawl && is_limited {
                (page.visited, page.outcome, page.detail) = (crawl, Some(PageOutcome::Limit), None);
            } else {
                continue;
            }
            changed.push(url.clone());
        }
        for batch in changed.chunks(BATCH) {
            self.save_pages(batch).await?;
        }
        let gone = self.pages.values().filter(|(_, page)| page.misses >= MAX_MISSES);
        Ok(gone.map(|(_, page)| page.url.clone()).filter(|url| self.documents.contains(url)).collect())
    }

    /// Removes the records of pages that were not found and have no document.
    async fn remove_absent(&mut self, gone: &[String]) -> Result<(), Halt> {
        let crawl = self.body.crawl;
        let is_absent = |(url, (_, page)): &(&String, &(u64, CrawledPage))| {
            page.found != crawl
                && page.visited == crawl
                && (gone.contains(url) || !self.documents.contains(*url))
        };
        let absent: Vec<String> = self.pages.iter().filter(is_absent).map(|(url, _)| url.clone()).collect();
        for batch in absent.chunks(BATCH) {
            let remove = |url: &String| {
                let (version, page) = self.pages.get(url)?;
                let key = CrawledPage::key(self.job.id, &page.url);
                Some(RecordChange::Remove { key, version: *version })
            };
            let changes = batch.iter().filter_map(remove).collect();
            self.change_records(changes).await?;
            batch.iter().for_each(|url| drop(self.pages.remove(url)));
        }
        Ok(())
    }
}
