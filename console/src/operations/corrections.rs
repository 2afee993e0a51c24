//! Corrected extractions: documents with the values that they have.

use ::corrections::{Correction, Corrections};
use openapi_core::audit::AuditAction;
use openapi_core::extraction::DocumentFacts;
use openapi_core::json::{Object, RawObject, json_object};
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::values::{AgentId, ContactId, JobId, Timestamp};

use super::knowledge::metadata;
use super::types::{ActorView, Names};
use crate::capability::Capability;
use crate::context::Context;
use crate::input::{Limit, input};
use crate::operation::{Metadata, Operation};

/// A correction as operators see it.
pub struct CorrectionView(Correction, ActorView);

json_object! { CorrectionView as "Correction" = |view| {
    "job": JobId { "description": "The extraction, which may be gone." } = view.0.job,
    "document": DocumentFacts = view.0.document,
    "contactId": Option<ContactId> { "description": "The contact whose file it is." } = view.0.contact,
    "schema": RawObject = view.0.schema,
    "expected": RawObject { "description": "A value for each field of the schema; `null` where the document has none." } = view.0.expected,
    "by": ActorView = view.1,
    "at": Timestamp = view.0.at,
} }

pub(super) async fn view(
    cx: &Context<'_>,
    names: &mut Names,
    correction: Correction,
) -> Result<CorrectionView, ApiError> {
    let by = names.view(cx, &correction.by).await?;
    Ok(CorrectionView(correction, by))
}

async fn reply(
    cx: &Context<'_>,
    message: &'static str,
    correction: Correction,
) -> Result<Reply<CorrectionView>, ApiError> {
    Ok(Reply::ok(message, view(cx, &mut Names::default(), correction).await?))
}

input! {
    /// What the document of an extraction has.
    Correct {
        "agent" Path agent: AgentId,
        "job" Path job: JobId,
        "values" Body values: Object {
            "description": "Values by the names of the schema's fields; `null` where the document has none. Fields that are left out have the value of the result."
        },
    }
}

input! {
    /// The correction of an extraction.
    OneCorrection {
        "agent" Path agent: AgentId,
        "job" Path job: JobId,
    }
}

input! {
    /// A part of the corrections of an agent.
    ReadCorrections {
        "agent" Path agent: AgentId,
        "limit" Query limit: Limit,
        "after" Query after: Option<JobId> { "description": "Only those after this extraction." },
    }
}

/// `extractions.correct`
pub struct Set;

impl Operation for Set {
    const METADATA: Metadata = metadata(
        "extractions.correct",
        "Notes what the document of an extraction really says, as a case for evaluations.",
        (Method::Put, "/agents/{agent}/corrections/{job}"),
        Capability::DocumentsCorrect,
        &[AuditAction::DocumentCorrect],
        "extractions correct JOB --set FIELD=VALUE --agent AGENT",
    );
    type Input = Correct;
    type Output = CorrectionView;

    async fn run(cx: Context<'_>, input: Correct) -> Result<Reply<CorrectionView>, ApiError> {
        let caller = cx.platform().operator(cx.actor, &input.agent);
        let job = input.job.to_string();
        let correction = Corrections::of(cx.platform()).correct(&caller, &job, &input.values).await?;
        reply(&cx, "Extraction corrected successfully", correction).await
    }
}

/// Corrections, by the ids of their extractions.
pub struct CorrectionPage {
    corrections: Vec<CorrectionView>,
    next: Option<JobId>,
}

json_object! { CorrectionPage as "CorrectionPage" = |page| {
    "corrections": Vec<CorrectionView> = page.corrections,
    "next": Option<JobId> { "description": "What to pass as `after` next; `null` at the end of the list." } = page.next,
} }

/// `corrections.list`
pub struct List;

impl Operation for List {
    const METADATA: Metadata = metadata(
        "corrections.list",
        "Lists corrected extractions, by their ids.",
        (Method::Get, "/agents/{agent}/corrections"),
        Capability::DocumentsRead,
        &[],
        "extractions corrections list --agent AGENT",
    );
    type Input = ReadCorrections;
    type Output = CorrectionPage;

    async fn run(cx: Context<'_>, input: ReadCorrections) -> Result<Reply<CorrectionPage>, ApiError> {
        let limit = input.limit.0;
        let found = Corrections::of(cx.platform()).list(&input.agent, input.after, limit).await?;
        let next = found.last().filter(|_| found.len() == limit as usize).map(|last| last.job);
        let (mut names, mut corrections) = (Names::default(), Vec::with_capacity(found.len()));
        for correction in found {
            corrections.push(view(&cx, &mut names, correction).await?);
        }
        Ok(Reply::ok("Corrections retrieved successfully", CorrectionPage { corrections, next }))
    }
}

/// `corrections.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = metadata(
        "corrections.show",
        "Shows what the document of an extraction has, by the word of an operator.",
        (Method::Get, "/agents/{agent}/corrections/{job}"),
        Capability::DocumentsRead,
        &[],
        "extractions corrections show JOB --agent AGENT",
    );
    type Input = OneCorrection;
    type Output = CorrectionView;

    async fn run(cx: Context<'_>, input: OneCorrection) -> Result<Reply<CorrectionView>, ApiError> {
        let correction = Corrections::of(cx.platform()).find(&input.agent, &input.job.to_string()).await?;
        reply(&cx, "Correction retrieved successfully", correction).await
    }
}

/// `corrections.remove`
pub struct Remove;

impl Operation for Remove {
    const METADATA: Metadata = metadata(
        "corrections.remove",
        "Removes a correction with its document.",
        (Method::Delete, "/agents/{agent}/corrections/{job}"),
        Capability::DocumentsCorrect,
        &[AuditAction::DocumentCorrectionRemove],
        "extractions corrections remove JOB --agent AGENT",
    );
    type Input = OneCorrection;
    type Output = CorrectionView;

    async fn run(cx: Context<'_>, input: OneCorrection) -> Result<Reply<CorrectionView>, ApiError> {
        let caller = cx.platform().operator(cx.actor, &input.agent);
        let removed = Corrections::of(cx.platform()).remove(&caller, &input.job.to_string()).await?;
        reply(&cx, "Correction removed successfully", removed).await
    }
}
