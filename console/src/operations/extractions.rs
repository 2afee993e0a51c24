//! Extractions that run in the background, with what they found and what operators noted of their documents.

use ::corrections::Corrections;
use openapi_core::audit::AuditAction;
use openapi_core::extraction::{ExtractionJob, ExtractionStatus};
use openapi_core::json::{RawObject, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, ErrorCode, Reply};
use openapi_core::service::{
    ExtractionListQuery, ExtractionWait, GetExtraction, ListExtractions, OpenApiService, PageRequest,
    PageStart,
};
use openapi_core::values::{AgentId, JobId, Line};

use super::corrections::{CorrectionView, view};
use super::knowledge::metadata;
use super::types::{ActorView, Names};
use crate::capability::Capability;
use crate::context::Context;
use crate::input::{Limit, input};
use crate::operation::{Metadata, Operation};

input! {
    /// A part of the extractions of an agent.
    ReadExtractions {
        "agent" Path agent: AgentId,
        "status" Query status: Option<ExtractionStatus>,
        "batchId" Query batch: Option<Line<64>> { "description": "Only extractions of this batch." },
        "limit" Query limit: Limit,
        "cursor" Query cursor: Option<Line<1024>> { "description": "`nextCursor` of an earlier answer." },
    }
}

input! {
    /// An extraction.
    OneExtraction {
        "agent" Path agent: AgentId,
        "job" Path job: JobId,
    }
}

/// An extraction with what is known of its document.
pub struct ExtractionReport {
    extraction: ExtractionJob,
    schema: RawObject,
    by: ActorView,
    correction: Option<CorrectionView>,
}

json_object! { ExtractionReport as "ExtractionReport" = |report| {
    "extraction": ExtractionJob = report.extraction,
    "schema": RawObject { "description": "The fields that were asked for, as they were sent." } = report.schema,
    "by": ActorView { "description": "Who asked for it." } = report.by,
    "correction": Option<CorrectionView> { "description": "What an operator noted of the document; `null` when nobody did." } = report.correction,
} }

/// Where an extraction stands, for operators who may run documents and not read them.
pub struct ExtractionState(ExtractionJob);

json_object! { ExtractionState as "ExtractionState" = |state| {
    "id": JobId = state.0.job.id,
    "status": ExtractionStatus = state.0.status(),
} }

async fn report(cx: &Context<'_>, extraction: ExtractionJob) -> Result<ExtractionReport, ApiError> {
    let mut names = Names::default();
    let id = extraction.job.id.to_string();
    let correction = match Corrections::of(cx.platform()).find(&extraction.agent_id, &id).await {
        Ok(correction) => Some(view(cx, &mut names, correction).await?),
        Err(error) if error.code() == ErrorCode::JobNotFound => None,
        Err(error) => return Err(error),
    };
    let schema = RawObject::from_text(extraction.body.schema.as_str()).map_err(|_| ApiError::internal())?;
    let by = names.view(cx, &extraction.body.actor).await?;
    Ok(ExtractionReport { extraction, schema, by, correction })
}

/// `extractions.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "extractions.list",
        "Lists queued, running and ended extractions without their results, the newest first, with exact totals.",
        (Method::Get, "/agents/{agent}/extractions"),
        Capability::DocumentsRead,
        &[],
        "extractions list --agent AGENT",
    );
    type Input = ReadExtractions;
    type Output = Vec<ExtractionJob>;

    async fn run(cx: Context<'_>, input: ReadExtractions) -> Result<Reply<Vec<ExtractionJob>>, ApiError> {
        let start = input.cursor.map_or(PageStart::Page(1), |cursor| PageStart::Cursor(cursor.to_string()));
        let query = ExtractionListQuery {
            status: input.status,
            batch: input.batch.map(|batch| batch.to_string()),
            client_id: None,
            page: PageRequest { limit: input.limit.0, start },
        };
        let request = ListExtractions { query: query.into() };
        let found = cx.platform().list_extractions(&cx.caller(&input.agent), request).await?;
        let reply = Reply::ok("Extractions retrieved successfully", found.items);
        Ok(Reply { pagination: Some(found.pagination), ..reply })
    }
}

/// `extractions.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "extractions.show",
        "Shows an extraction with its result and its correction.",
        (Method::Get, "/agents/{agent}/extractions/{job}"),
        Capability::DocumentsRead,
        &[],
        "extractions show JOB --agent AGENT",
    );
    type Input = OneExtraction;
    type Output = ExtractionReport;

    async fn run(cx: Context<'_>, input: OneExtraction) -> Result<Reply<ExtractionReport>, ApiError> {
        let request = GetExtraction { id: input.job.to_string(), query: ExtractionWait::default().into() };
        let found = cx.platform().extraction(&cx.caller(&input.agent), request).await?;
        Ok(Reply::ok("Extraction retrieved successfully", report(&cx, found).await?))
    }
}

/// `extractions.cancel`
pub struct Cancel;

impl Operation for Cancel {
    const METADATA: Metadata = metadata(
        "extractions.cancel",
        "Cancels an extraction that is queued or running. It costs nothing.",
        (Method::Post, "/agents/{agent}/extractions/{job}/cancel"),
        Capability::DocumentsRun,
        &[AuditAction::DocumentCancel],
        "extractions cancel JOB --agent AGENT",
    );
    type Input = OneExtraction;
    type Output = ExtractionState;

    async fn run(cx: Context<'_>, input: OneExtraction) -> Result<Reply<ExtractionState>, ApiError> {
        let caller = cx.caller(&input.agent);
        let cancelled = cx.platform().cancel_extraction(&caller, &input.job.to_string()).await?;
        Ok(Reply::ok("Extraction cancelled successfully", ExtractionState(cancelled)))
    }
}

/// `extractions.retry`
pub struct Retry;

impl Operation for Retry {
    const METADATA: Metadata = metadata(
        "extractions.retry",
        "Queues a failed extraction again, under its id. It is charged once, when it succeeds.",
        (Method::Post, "/agents/{agent}/extractions/{job}/retry"),
        Capability::DocumentsRun,
        &[AuditAction::DocumentQueue],
        "extractions retry JOB --agent AGENT",
    );
    type Input = OneExtraction;
    type Output = ExtractionState;

    async fn run(cx: Context<'_>, input: OneExtraction) -> Result<Reply<ExtractionState>, ApiError> {
        let caller = cx.caller(&input.agent);
        let queued = cx.platform().retry_extraction(&caller, &input.job.to_string()).await?;
        Ok(Reply::ok("Extraction queued successfully", ExtractionState(queued)))
    }
}
