//! Websites that the documents of an agent come from. Each is a job that is done again and again; its pages are records.

use std::fmt;

use openapi_core::json::RawObject;
use openapi_core::storage::{Job, JobState, RecordId, RecordKey, RecordKind, StoredRecord};
use openapi_core::values::{JobId, KnowledgeId, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// How many bytes of the hash of an address are in the id of its record.
const HASH_BYTES: usize = 20;

macro_rules! words {
    ($(#[$of:meta])* $type:ident { $($(#[$doc:meta])* $name:ident = $word:literal,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum $type { $($(#[$doc])* $name,)* }

        impl $type {
            /// All of them.
            pub const ALL: &'static [$type] = &[$($type::$name),*];

            /// The word on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($type::$name => $word,)* }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Where the reading of a website stands.
    WebsiteState {
        /// Waits for a server.
        Waiting = "waiting",
        /// A server reads it.
        Reading = "reading",
        /// Is read again later.
        Scheduled = "scheduled",
        /// Was read, and is not read again by itself.
        Ended = "ended",
        /// Its removal was begun, and has to be repeated if nobody ends it.
        Removing = "removing",
    }
}

words! {
    /// How the pages of a website were found.
    Discovery {
        /// By its sitemaps.
        Sitemap = "sitemap",
        /// By the links of its pages.
        Links = "links",
    }
}

words! {
    /// What became of a page.
    PageOutcome {
        /// It was read, and its document is what the page says now.
        Read = "read",
        /// It has not changed since it was read.
        Unchanged = "unchanged",
        /// robots.txt forbids to read it.
        Robots = "robots",
        /// It asks not to be found by searches.
        Noindex = "noindex",
        /// Its server answered with the status of an error.
        Status = "status",
        /// It leads to another address.
        Redirect = "redirect",
        /// It names another address as its own.
        Canonical = "canonical",
        /// Another page says the same.
        Duplicate = "duplicate",
        /// It is no web page.
        Type = "type",
        /// It is too large.
        TooLarge = "tooLarge",
        /// It asks visitors to sign in.
        Login = "login",
        /// It has no text, or gets it by a script.
        NoText = "noText",
        /// Its characters cannot be read.
        Charset = "charset",
        /// Its server could not be reached, or did not answer.
        Error = "error",
        /// A document of another origin has its address.
        Taken = "taken",
        /// A limit was reached before it.
        Limit = "limit",
        /// Too many addresses are of its form, as those of calendars.
        Trap = "trap",
    }
}

impl PageOutcome {
    /// Whether the document of the page is what the page says now.
    #[must_use]
    pub const fn has_document(self) -> bool {
        matches!(self, PageOutcome::Read | PageOutcome::Unchanged)
    }

    /// Whether this says nothing about whether the page is still there.
    #[must_use]
    pub const fn is_temporary(self) -> bool {
        matches!(self, PageOutcome::Error | PageOutcome::Limit)
    }
}

/// How many pages of a website stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageCounts {
    /// The pages that were found.
    pub found: u64,
    /// Those that were read.
    pub read: u64,
    /// Those that have not changed.
    pub unchanged: u64,
    /// Those that were not read, each for a reason.
    pub not_read: u64,
    /// Those that are still to be asked for.
    pub waiting: u64,
}

impl PageCounts {
    /// The counts of a crawl.
    #[must_use]
    pub fn of<'a>(pages: impl IntoIterator<Item = &'a CrawledPage>, crawl: u32) -> Self {
        let mut counts = PageCounts::default();
        for page in pages.into_iter().filter(|page| page.found == crawl) {
            counts.found += 1;
            let count = match page.outcome.filter(|_| page.visited == crawl) {
                Some(PageOutcome::Read) => &mut counts.read,
                Some(PageOutcome::Unchanged) => &mut counts.unchanged,
                Some(_) => &mut counts.not_read,
                None => &mut counts.waiting,
            };
            *count += 1;
        }
        counts
    }
}

/// What is stored of a website besides the columns of its job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteBody {
    /// Where it begins.
    pub url: String,
    /// After how many hours it is read again; none if it is not.
    pub every_hours: Option<u32>,
    /// How often it was read, the crawl that runs included.
    #[serde(default)]
    pub crawl: u32,
    /// Whether the last crawl has not ended.
    #[serde(default)]
    pub is_running: bool,
    /// Whether it is being removed.
    #[serde(default)]
    pub is_removed: bool,
    /// When the last crawl began.
    pub began_at: Option<Timestamp>,
    /// When the last crawl that has ended did.
    pub ended_at: Option<Timestamp>,
    /// How the last crawl found pages.
    pub discovery: Option<Discovery>,
    /// Whether the last crawl reached a limit.
    #[serde(default)]
    pub is_limited: bool,
    /// Why the last crawl failed.
    pub error: Option<String>,
    /// What the last crawl came to; of one that runs, as of some seconds ago.
    #[serde(default)]
    pub counts: PageCounts,
}

impl WebsiteBody {
    /// What is stored of a new website.
    #[must_use]
    pub const fn new(url: String, every_hours: Option<u32>) -> Self {
        WebsiteBody {
            url,
            every_hours,
            crawl: 0,
            is_running: false,
            is_removed: false,
            began_at: None,
            ended_at: None,
            discovery: None,
            is_limited: false,
            error: None,
            counts: PageCounts { found: 0, read: 0, unchanged: 0, not_read: 0, waiting: 0 },
        }
    }

    /// That of a job.
    ///
    /// # Errors
    /// When the job has another body.
    pub fn of(job: &Job) -> serde_json::Result<Self> {
        serde_json::from_str(job.body.as_str())
    }

    /// As the body of a job.
    ///
    /// # Errors
    /// Never for what was read or made here.
    pub fn stored(&self) -> serde_json::Result<RawObject> {
        serde_json::to_string(self).and_then(RawObject::from_text)
    }
}

/// A website as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Website {
    /// The id.
    pub id: JobId,
    /// Where it stands.
    pub state: WebsiteState,
    /// When it is read again.
    pub next_at: Option<Timestamp>,
    /// When it was added.
    pub created_at: Timestamp,
    /// The rest.
    pub body: WebsiteBody,
}

impl Website {
    /// That of a job.
    ///
    /// # Errors
    /// When the job has another body.
    pub fn of(job: &Job) -> serde_json::Result<Self> {
        let body = WebsiteBody::of(job)?;
        let state = match job.state {
            _ if body.is_removed => WebsiteState::Removing,
            JobState::Ready => WebsiteState::Waiting,
            JobState::Running => WebsiteState::Reading,
            JobState::Scheduled => WebsiteState::Scheduled,
            _ => WebsiteState::Ended,
        };
        Ok(Website { id: job.id, state, next_at: job.due_at, created_at: job.created_at, body })
    }
}

/// What is stored of a page of a website.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CrawledPage {
    /// Its canonical address.
    pub url: String,
    /// How many links lead to it from where the website begins.
    pub depth: u32,
    /// Its position among the pages of its depth.
    pub order: u32,
    /// The crawl that found it last.
    pub found: u32,
    /// The crawl that came to it last.
    #[serde(default)]
    pub visited: u32,
    /// What became of it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<PageOutcome>,
    /// What that means in particular: a status, an address, an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How many bytes the last crawl received of it.
    #[serde(default)]
    pub bytes: u64,
    /// Its entity tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// When it changed last, as its server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// SHA-256 of its main content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// In how many crawls in a row it was not there.
    #[serde(default)]
    pub misses: u32,
}

impl CrawledPage {
    /// A page that a crawl has found.
    #[must_use]
    pub const fn found(url: String, crawl: u32, depth: u32, order: u32) -> Self {
        CrawledPage {
            url,
            depth,
            order,
            found: crawl,
            visited: 0,
            outcome: None,
            detail: None,
            bytes: 0,
            etag: None,
            last_modified: None,
            content: None,
            misses: 0,
        }
    }

    /// The key of the record of a page.
    #[must_use]
    pub fn key(website: JobId, url: &str) -> RecordKey {
        let digest = Sha256::digest(url.as_bytes());
        let mut id = website.as_bytes().to_vec();
        id.extend_from_slice(&digest[..HASH_BYTES]);
        RecordKey::new(RecordKind::CrawledPage, RecordId::from_bytes(&id).unwrap_or_default())
    }

    /// That of a record.
    ///
    /// # Errors
    /// When the record has another body.
    pub fn of(record: &StoredRecord) -> serde_json::Result<Self> {
        serde_json::from_str(record.body.as_str())
    }

    /// As a record of a website.
    ///
    /// # Errors
    /// Never for what was read or made here.
    pub fn stored(&self, website: JobId, version: u64) -> serde_json::Result<StoredRecord> {
        let body = serde_json::to_string(self).and_then(RawObject::from_text)?;
        let key = CrawledPage::key(website, &self.url);
        Ok(StoredRecord { key, version, subject: None, unique: None, due_at: None, body })
    }
}

/// A page of a website as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebsitePage {
    /// Its address.
    pub url: String,
    /// What became of it; none if it is still to be asked for.
    pub outcome: Option<PageOutcome>,
    /// What that means in particular.
    pub detail: Option<String>,
    /// Its document, which may be of an earlier crawl.
    pub document: Option<KnowledgeId>,
    /// In how many crawls in a row it was not there.
    pub misses: u32,
}
