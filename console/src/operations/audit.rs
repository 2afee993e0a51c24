//! The audit log.

use openapi_core::admin::Admin;
use openapi_core::audit::AuditEntry;
use openapi_core::json::{RawObject, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::storage::AuditQuery;
use openapi_core::values::{AgentId, AuditId, PlatformId, Timestamp};

use super::types::{ActorView, EntryPosition, Logged, page_of};
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::failed;
use crate::input::{Limit, input};
use crate::operation::{Access, Metadata, Operation, Traits};

input! {
    /// A part of an agent's audit log.
    ReadAudit {
        "agent" Path agent: AgentId,
        "limit" Query limit: Limit,
        "beforeAt" Query before_at: Option<Timestamp> { "description": "With `beforeId`: only entries older than this one." },
        "beforeId" Query before_id: Option<AuditId>,
    }
}

input! {
    /// A part of the audit log of the whole installation.
    ReadAllAudit {
        "limit" Query limit: Limit,
        "beforeAt" Query before_at: Option<Timestamp> { "description": "With `beforeId`: only entries older than this one." },
        "beforeId" Query before_id: Option<AuditId>,
    }
}

/// An entry as operators see it.
pub struct EntryView(AuditEntry, ActorView);

json_object! { EntryView as "AuditEntry" = |view| {
    "id": AuditId = view.0.id,
    "agentId": Option<AgentId> = view.0.agent_id,
    "at": Timestamp = view.0.at,
    "actor": ActorView = view.1,
    "action": &'static str = view.0.action.as_str(),
    "resource": Option<String> = view.0.resource,
    "address": Option<String> = view.0.address.map(|address| address.to_string()),
    "requestId": Option<String> = view.0.request_id,
    "details": RawObject = view.0.details,
} }

/// Entries of the audit log, the newest first.
pub struct AuditPage {
    entries: Vec<EntryView>,
    next: Option<EntryPosition>,
}

json_object! { AuditPage as "AuditPage" = |page| {
    "entries": Vec<EntryView> = page.entries,
    "next": Option<EntryPosition> { "description": "What to ask for next; `null` at the end of the log." } = page.next,
} }

fn logged(entry: &AuditEntry) -> Logged<'_> {
    (entry.at, PlatformId::from_bytes(*entry.id.as_bytes()), &entry.actor)
}

async fn read(
    cx: Context<'_>,
    agent: Option<AgentId>,
    limit: u32,
    after: Option<(Timestamp, AuditId)>,
) -> Result<Reply<AuditPage>, ApiError> {
    let query = AuditQuery { agent, after, newest_first: true, limit };
    let found = cx.platform().audit(&query).await.map_err(failed)?;
    let found = found.into_iter().map(|chained| chained.entry).collect();
    let (entries, next) = page_of(&cx, found, limit, logged, EntryView).await?;
    Ok(Reply::ok("Audit log retrieved successfully", AuditPage { entries, next }))
}

/// `audit.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = Metadata {
        name: "audit.list",
        summary: "Lists entries of an agent's audit log, the newest first.",
        method: Method::Get,
        path: "/agents/{agent}/audit",
        access: Access::Agent(Capability::AuditRead),
        step_up: false,
        audit: &[],
        command: "audit tail",
        traits: Traits::NONE,
    };
    type Input = ReadAudit;
    type Output = AuditPage;

    async fn run(cx: Context<'_>, input: ReadAudit) -> Result<Reply<AuditPage>, ApiError> {
        read(cx, Some(input.agent), input.limit.0, input.before_at.zip(input.before_id)).await
    }
}

/// `audit.listAll`
pub struct ListAll;

impl Operation for ListAll {
    const METADATA: Metadata = Metadata {
        name: "audit.listAll",
        summary: "Lists entries of the audit logs of all agents and of the installation, the newest first.",
        method: Method::Get,
        path: "/audit",
        access: Access::Installation(Capability::AuditRead),
        step_up: false,
        audit: &[],
        command: "audit tail",
        traits: Traits::NONE,
    };
    type Input = ReadAllAudit;
    type Output = AuditPage;

    async fn run(cx: Context<'_>, input: ReadAllAudit) -> Result<Reply<AuditPage>, ApiError> {
        read(cx, None, input.limit.0, input.before_at.zip(input.before_id)).await
    }
}
