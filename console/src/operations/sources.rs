//! Websites that an agent answers from.

use conversations::websites::{PageCounts, PageOutcome};
use conversations::{Website, WebsitePage};
use openapi_core::audit::AuditAction;
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::{AgentId, JobId, KnowledgeId, Line, Timestamp};

use super::knowledge::metadata;
use super::types::OneAgent;
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::failed;
use crate::input::{OrNull, input};
use crate::operation::{Metadata, Operation};

/// After how many hours a website is read again, if nothing is said.
const EVERY_HOURS: u32 = 24;

/// How many pages of a website stand where.
pub struct CountsView(PageCounts);

json_object! { CountsView as "WebsitePageCounts" = |view| {
    "found": u64 = view.0.found,
    "read": u64 = view.0.read,
    "unchanged": u64 = view.0.unchanged,
    "notRead": u64 = view.0.not_read,
    "waiting": u64 { "description": "Those that are still to be asked for." } = view.0.waiting,
} }

/// A website as operators see it.
pub struct WebsiteView(Website);

json_object! { WebsiteView as "Website" = |view| {
    "id": JobId = view.0.id,
    "url": String = view.0.body.url,
    "state": &'static str { "enum": ["waiting", "reading", "scheduled", "ended", "removing"] } = view.0.state.as_str(),
    "everyHours": Option<u32> { "description": "`null` if it is not read again by itself." } = view.0.body.every_hours,
    "createdAt": Timestamp = view.0.created_at,
    "nextAt": Option<Timestamp> = view.0.next_at,
    "beganAt": Option<Timestamp> { "description": "When it was last begun to be read." } = view.0.body.began_at,
    "endedAt": Option<Timestamp> = view.0.body.ended_at,
    "discovery": Option<&'static str> { "enum": ["sitemap", "links", null], "description": "How pages were found." }
        = view.0.body.discovery.map(|it| it.as_str()),
    "isLimited": bool { "description": "Whether a limit was reached before all pages were read." } = view.0.body.is_limited,
    "error": Option<String> { "description": "Why it could not be read the last time." } = view.0.body.error,
    "pages": CountsView = CountsView(view.0.body.counts),
} }

/// A page of a website.
pub struct PageView(WebsitePage);

json_object! { PageView as "WebsitePage" = |view| {
    "url": String = view.0.url,
    "outcome": Option<&'static str> {
        "enum": PageOutcome::ALL.iter().map(|it| Some(it.as_str())).chain([None]).collect::<Vec<_>>(),
        "description": "`null` of a page that is still to be asked for."
    } = view.0.outcome.map(|it| it.as_str()),
    "detail": Option<String> { "description": "What that means in particular: a status, an address, an error." } = view.0.detail,
    "documentId": Option<KnowledgeId> = view.0.document,
    "misses": u32 { "description": "How often in a row it was not there. After two its document goes." } = view.0.misses,
} }

/// A website with its pages.
pub struct ReportView {
    website: WebsiteView,
    pages: Vec<PageView>,
}

json_object! { ReportView as "WebsiteReport" = |view| {
    "website": WebsiteView = view.website,
    "pages": Vec<PageView> { "description": "By address." } = view.pages,
} }

/// `sources.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "sources.list",
        "Lists the websites that an agent answers from, the newest first.",
        (Method::Get, "/agents/{agent}/sources"),
        Capability::StudioRead,
        &[],
        "knowledge sources list --agent AGENT",
    );
    type Input = OneAgent;
    type Output = Vec<WebsiteView>;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<Vec<WebsiteView>>, ApiError> {
        let websites = cx.console.chat.websites(&input.agent).await.map_err(failed)?;
        let views = websites.into_iter().map(WebsiteView).collect();
        Ok(Reply::ok("Websites retrieved successfully", views))
    }
}

input! {
    /// A website.
    NewWebsite {
        "agent" Path agent: AgentId,
        "url" Body url: Line<2000> { "description": "Where it begins. Its pages are those in the same folder of the host." },
        "everyHours" Body every_hours: Option<OrNull<u32>> {
            "description": "After how many hours it is read again, 1 to 2,160; 24 if it is left out, and with `null` only on demand."
        },
    }
}

/// `sources.add`
pub struct Add;

impl Operation for Add {
    const METADATA: Metadata = metadata(
        "sources.add",
        "Adds a website, whose pages are read in the background.",
        (Method::Post, "/agents/{agent}/sources"),
        Capability::StudioWrite,
        &[AuditAction::KnowledgeSourceAdd],
        "knowledge sources add URL --agent AGENT",
    );
    type Input = NewWebsite;
    type Output = WebsiteView;

    async fn run(cx: Context<'_>, input: NewWebsite) -> Result<Reply<WebsiteView>, ApiError> {
        let every = input.every_hours.map_or(Some(EVERY_HOURS), |OrNull(hours)| hours);
        let website = cx.console.chat.add_website(cx.actor, &input.agent, input.url.as_str(), every).await;
        let mut reply = Reply::ok("Website added successfully", WebsiteView(website.map_err(failed)?));
        reply.status = 201;
        Ok(reply)
    }
}

input! {
    /// A website of an agent.
    OneWebsite {
        "agent" Path agent: AgentId,
        "source" Path source: JobId,
    }
}

/// `sources.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "sources.show",
        "Shows a website with what became of each of its pages.",
        (Method::Get, "/agents/{agent}/sources/{source}"),
        Capability::StudioRead,
        &[],
        "knowledge sources show ID --agent AGENT",
    );
    type Input = OneWebsite;
    type Output = ReportView;

    async fn run(cx: Context<'_>, input: OneWebsite) -> Result<Reply<ReportView>, ApiError> {
        let (website, pages) = cx.console.chat.website(&input.agent, input.source).await.map_err(failed)?;
        let pages = pages.into_iter().map(PageView).collect();
        let report = ReportView { website: WebsiteView(website), pages };
        Ok(Reply::ok("Website retrieved successfully", report))
    }
}

/// `sources.sync`
pub struct Sync;

impl Operation for Sync {
    const METADATA: Metadata = metadata(
        "sources.sync",
        "Reads a website again as soon as a server can.",
        (Method::Post, "/agents/{agent}/sources/{source}/sync"),
        Capability::StudioWrite,
        &[AuditAction::KnowledgeSourceSync],
        "knowledge sources sync ID --agent AGENT",
    );
    type Input = OneWebsite;
    type Output = WebsiteView;

    async fn run(cx: Context<'_>, input: OneWebsite) -> Result<Reply<WebsiteView>, ApiError> {
        let website = cx.console.chat.sync_website(cx.actor, &input.agent, input.source).await;
        Ok(Reply::ok("Website queued successfully", WebsiteView(website.map_err(failed)?)))
    }
}

/// `sources.remove`
pub struct Remove;

impl Operation for Remove {
    const METADATA: Metadata = metadata(
        "sources.remove",
        "Removes a website with its documents.",
        (Method::Delete, "/agents/{agent}/sources/{source}"),
        Capability::StudioWrite,
        &[AuditAction::KnowledgeSourceRemove, AuditAction::KnowledgeRemove],
        "knowledge sources remove ID --agent AGENT",
    );
    type Input = OneWebsite;
    type Output = WebsiteView;

    async fn run(cx: Context<'_>, input: OneWebsite) -> Result<Reply<WebsiteView>, ApiError> {
        let website = cx.console.chat.remove_website(cx.actor, &input.agent, input.source).await;
        Ok(Reply::ok("Website removed successfully", WebsiteView(website.map_err(failed)?)))
    }
}
