//! One page: the request, what its answer says, and its document.

use conversations::websites::PageOutcome;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use openapi_core::access::Actor;
use openapi_core::admin::AdminError;
use openapi_core::files::Sha256Digest;
use openapi_core::ports::OutboundResponse;
use sha2::{Digest, Sha256};
use url::Url;

use super::state::{Crawl, End};
use super::{Halt, ReadPage};
use crate::address::{Scope, canonical, resolved};
use crate::html::decoded;
use crate::page::{Directives, NoText, Page};

/// The longest header field that is stored.
const MAX_FIELD: usize = 500;
/// The most characters of the text of a page.
const MAX_CHARACTERS: usize = 1_000_000;
const ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// What came of a page.
pub(super) struct Visit {
    pub(super) outcome: PageOutcome,
    pub(super) detail: Option<String>,
    pub(super) bytes: u64,
    /// By what the next crawl recognises it; none if what is known stays.
    pub(super) stamp: Option<Stamp>,
    /// The addresses that it leads to.
    pub(super) links: Vec<Url>,
    /// Whether this says nothing about whether the page is still there.
    pub(super) is_temporary: bool,
}

/// By what a page is recognised.
pub(super) struct Stamp {
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
    pub(super) content: String,
}

impl Visit {
    fn of(outcome: PageOutcome, detail: impl Into<Option<String>>) -> Self {
        let is_temporary = outcome.is_temporary();
        Visit { outcome, detail: detail.into(), bytes: 0, stamp: None, links: Vec::new(), is_temporary }
    }
}

impl Crawl<'_> {
    /// Reads a page; the end if the crawler is to stop.
    pub(super) async fn visit(&mut self, scope: &Scope, url: &Url) -> Result<Result<Visit, End>, Halt> {
        if !self.robots.allows(url) {
            return Ok(Ok(Visit::of(PageOutcome::Robots, None)));
        }
        let pace = self.pace();
        if let Some(end) = self.turn(url, pace).await? {
            return Ok(Err(end));
        }
        let mut request = self.request(url);
        let known = self.pages.get(url.as_str()).filter(|_| self.documents.contains(url.as_str()));
        let mut is_conditional = false;
        if let Some((_, page)) = known {
            for (name, stamp) in
                [(header::IF_NONE_MATCH, &page.etag), (header::IF_MODIFIED_SINCE, &page.last_modified)]
            {
                if let Some(value) = stamp.as_deref().and_then(|stamp| HeaderValue::from_str(stamp).ok()) {
                    request.headers.insert(name, value);
                    is_conditional = true;
                }
            }
        }
        let response = match self.crawler.parts.outbound.send(request).await {
            Ok(response) => response,
            Err(error) => return Ok(Ok(Visit::of(PageOutcome::Error, error.to_string()))),
        };
        let bytes = response.body.len() as u64;
        let visit = match refused(scope, url, &response, is_conditional) {
            Some(visit) => visit,
            None => self.read(scope, url, response).await?,
        };
        Ok(Ok(Visit { bytes, ..visit }))
    }

    async fn read(&self, scope: &Scope, url: &Url, response: OutboundResponse) -> Result<Visit, Halt> {
        let crawler = self.crawler.parts.product.as_str();
        let charset = field(&response.headers, &header::CONTENT_TYPE).and_then(|value| charset(&value));
        let page = Page::read(&decoded(&response.body, charset.as_deref()), crawler);
        let mut directives = page.directives;
        add_fields(&mut directives, &response.headers, crawler);
        let mut visit = match self.declined(scope, url, &page, directives) {
            Some(visit) => visit,
            None => self.keep(url, &page, &response.headers).await?,
        };
        if !directives.nofollow && self.body.discovery == Some(conversations::websites::Discovery::Links) {
            let base = page.base.as_deref().and_then(|base| url.join(base).ok());
            let base = base.as_ref().unwrap_or(url);
            visit.links.extend(page.links.iter().filter_map(|link| scope.page(base, link)));
        }
        Ok(visit)
    }

    /// Why a page is not read, if it says so itself.
    fn declined(&self, scope: &Scope, url: &Url, page: &Page, directives: Directives) -> Option<Visit> {
        if directives.noindex {
            return Some(Visit::of(PageOutcome::Noindex, None));
        }
        let stated = page.canonical.as_deref().and_then(|link| resolved(url, link));
        if let Some(stated) = stated.filter(|stated| stated != url && !self.leads_away(stated)) {
            let mut visit = Visit::of(PageOutcome::Canonical, stated.to_string());
            visit.links.extend(scope.admits(&stated).then_some(stated));
            return Some(visit);
        }
        let (outcome, detail) = match page.without_text()? {
            NoText::Login => (PageOutcome::Login, None),
            NoText::Charset => (PageOutcome::Charset, None),
            NoText::Empty => (PageOutcome::NoText, Some("the page is empty".to_owned())),
            NoText::ClientRendered => {
                let text = "the page gets its text by a script, which is not run";
                (PageOutcome::NoText, Some(text.to_owned()))
            }
        };
        Some(Visit::of(outcome, detail))
    }

    /// Whether this crawl was led away from an address: a page that names such a one as its own is read itself.
    fn leads_away(&self, url: &Url) -> bool {
        self.pages.get(url.as_str()).is_some_and(|(_, page)| {
            let leads = matches!(page.outcome, Some(PageOutcome::Canonical | PageOutcome::Redirect));
            leads && page.visited == self.body.crawl
        })
    }

    /// Stores the document of a page, unless it is what is stored.
    async fn keep(&self, url: &Url, page: &Page, headers: &HeaderMap) -> Result<Visit, Halt> {
        let mut digest = Sha256::new();
        digest.update(page.title.as_deref().unwrap_or_default());
        digest.update([0]);
        digest.update(&page.text);
        let content = Sha256Digest(digest.finalize().into()).to_string();
        if let Some(other) = self.contents.get(&content).filter(|other| *other != url.as_str()) {
            return Ok(Visit::of(PageOutcome::Duplicate, other.clone()));
        }
        let known = self.pages.get(url.as_str()).and_then(|(_, page)| page.content.as_ref());
        let is_known = known == Some(&content) && self.documents.contains(url.as_str());
        let short = |name| field(headers, &name).filter(|value: &String| value.len() <= MAX_FIELD);
        let stamp =
            Some(Stamp { etag: short(header::ETAG), last_modified: short(header::LAST_MODIFIED), content });
        if is_known {
            return Ok(Visit { stamp, ..Visit::of(PageOutcome::Unchanged, None) });
        }
        if page.text.chars().count() > MAX_CHARACTERS {
            let text = format!("the text of a page has at most {MAX_CHARACTERS} characters");
            return Ok(Visit::of(PageOutcome::TooLarge, text));
        }
        let read = ReadPage {
            url: url.to_string(),
            title: page.title.clone(),
            text: page.text.clone(),
            language: page.language.clone(),
        };
        let new = self.crawler.parts.reader.read(read).await;
        let (by, owner) = (Actor::Operator("crawler".to_owned()), (self.job.id, self.server));
        Ok(match self.crawler.chat().add_page(&by, &self.agent, owner, new).await {
            Ok(_) => Visit { stamp, ..Visit::of(PageOutcome::Read, None) },
            Err(AdminError::Conflict(text)) => Visit::of(PageOutcome::Taken, text),
            Err(AdminError::Refused(text)) => Visit::of(PageOutcome::Limit, text),
            Err(error) => return Err(error.into()),
        })
    }
}

/// Why an answer is no page to read, if it is none.
fn refused(scope: &Scope, url: &Url, response: &OutboundResponse, is_conditional: bool) -> Option<Visit> {
    let status = response.status;
    if status == StatusCode::NOT_MODIFIED && is_conditional {
        return Some(Visit::of(PageOutcome::Unchanged, None));
    }
    if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        let target = field(&response.headers, &header::LOCATION);
        let target = target.and_then(|link| url.join(&link).ok()).and_then(canonical);
        let Some(target) = target else {
            return Some(Visit::of(PageOutcome::Status, status.as_str().to_owned()));
        };
        let mut visit = Visit::of(PageOutcome::Redirect, target.to_string());
        visit.links.extend(scope.admits(&target).then_some(target));
        return Some(visit);
    }
    if !status.is_success() {
        let mut visit = Visit::of(PageOutcome::Status, status.as_str().to_owned());
        visit.is_temporary = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
        return Some(visit);
    }
    if response.is_truncated {
        return Some(Visit::of(PageOutcome::TooLarge, None));
    }
    let encoding = field(&response.headers, &header::CONTENT_ENCODING);
    if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Some(Visit::of(
            PageOutcome::Type,
            format!("compressed by {encoding}, which was not asked for"),
        ));
    }
    let kind = field(&response.headers, &header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "text/html" | "application/xhtml+xml" => None,
        "" => Some(Visit::of(PageOutcome::Type, "its server does not say what it is".to_owned())),
        _ => Some(Visit::of(PageOutcome::Type, kind.chars().take(100).collect::<String>())),
    }
}

fn field(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn add_fields(directives: &mut Directives, headers: &HeaderMap, crawler: &str) {
    for value in headers.get_all(ROBOTS_TAG) {
        directives.add(&String::from_utf8_lossy(value.as_bytes()), crawler);
    }
}

/// The encoding that a `Content-Type` states.
fn charset(content_type: &str) -> Option<String> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(label.trim().trim_matches('"').to_owned())
}
