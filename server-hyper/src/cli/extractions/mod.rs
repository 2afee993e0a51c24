//! `extractions`: extractions that run in the background.

mod corrections;

use std::path::PathBuf;

use clap::Subcommand;
use openapi_core::access::{Caller, Permissions};
use openapi_core::extraction::{ExtractionJob, ExtractionStatus};
use openapi_core::platform::Platform;
use openapi_core::reply::ApiError;
use openapi_core::service::{
    ExtractionListQuery, ExtractionWait, GetExtraction, ListExtractions, OpenApiService, PageRequest,
    PageStart,
};
use openapi_core::values::AgentId;

use self::corrections::{Correct, ManageCorrections};
use super::context::CommandContext;
use crate::assemble::Contents;
use crate::error::CliError;

/// Extractions read at a time.
const PAGE: u32 = 100;

#[derive(Debug, Subcommand)]
pub enum Extractions {
    /// List queued, running and ended extractions, the newest first
    #[command(after_help = "Examples:\n  \
        openapi-server extractions list --agent acme\n  \
        openapi-server extractions list --agent acme --status failed --batch may")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// queued, running, succeeded, failed or cancelled
        #[arg(long)]
        status: Option<ExtractionStatus>,
        /// Only those of this batch
        #[arg(long)]
        batch: Option<String>,
    },
    /// Show an extraction with its result
    #[command(after_help = "Examples:\n  \
        openapi-server extractions show \"$JOB\" --agent acme")]
    Show {
        /// The job: `id` of the extraction
        job: String,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Cancel an extraction that is queued or running; it costs nothing
    #[command(after_help = "Examples:\n  \
        openapi-server extractions cancel \"$JOB\" --agent acme")]
    Cancel {
        /// The job: `id` of the extraction
        job: String,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Queue failed extractions again, under their ids; each is charged once, when it succeeds
    #[command(after_help = "Examples:\n  \
        openapi-server extractions retry --agent acme --batch may\n\n\
        A document that was sent without `saveToStorage` is gone with the end of its job: send it again.")]
    Retry {
        /// The job: `id` of the extraction
        #[arg(required_unless_present = "batch", conflicts_with = "batch")]
        job: Option<String>,
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// All failed extractions of this batch
        #[arg(long)]
        batch: Option<String>,
    },
    /// Note what the document of an extraction really says, as a case for evaluations
    #[command(after_help = "Examples:\n  \
        openapi-server extractions correct \"$EXTRACTION\" --agent acme --set total=12.50 --set vendor='Acme Ltd'\n  \
        openapi-server extractions correct \"$EXTRACTION\" --agent acme --set vat_number=\n  \
        openapi-server extractions correct \"$EXTRACTION\" --agent acme --values right.json\n  \
        openapi-server extractions correct \"$EXTRACTION\" --agent acme\n\n\
        Fields that you leave out have the value of the result; without any, you note that the result is right.\n\
        The document must still be there: send it with `saveToStorage`, or as a file of a contact. The correction has it\n\
        until you remove the correction. Correcting an extraction again replaces its correction.")]
    Correct(Correct),
    /// List, show and remove corrections
    #[command(subcommand)]
    Corrections(ManageCorrections),
    /// Write all corrected documents with their values into a folder, as an evaluation set
    #[command(after_help = "Examples:\n  \
        openapi-server extractions export-set cases --agent acme\n\n\
        The folder must be there and be empty. Only its owner may read the files: the documents, and manifest.jsonl.\n\
        In a checkout of the project, `cargo run --release -p extraction --example evaluate -- cases` evaluates them.")]
    ExportSet {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
}

impl Extractions {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        match self {
            Extractions::List { agent, status, batch } => {
                context.with_platform(Contents::Closed, async |platform| {
                    let jobs = list(platform, &caller(context, agent.clone()), status, batch).await?;
                    context.note_bulk(platform, Some(&agent), "extractions", jobs.len()).await?;
                    context.print_table(json, &jobs, &HEADS, row)
                })
            }
            Extractions::Show { job, agent } => context.with_platform(Contents::Closed, async |platform| {
                let query = ExtractionWait::default().into();
                let caller = caller(context, agent);
                let found = platform.extraction(&caller, GetExtraction { id: job, query }).await;
                context.print_json(&found.map_err(failed)?)
            }),
            Extractions::Cancel { job, agent } => context.with_platform(Contents::Open, async |platform| {
                let cancelled = platform.cancel_extraction(&caller(context, agent), &job).await;
                let cancelled = cancelled.map_err(failed)?;
                if json {
                    return context.print_json(&cancelled);
                }
                context.info(&format!("extraction {} is cancelled", cancelled.job.id));
                Ok(())
            }),
            Extractions::Retry { job, agent, batch } => context
                .with_platform(Contents::Closed, async |platform| {
                    retry(context, platform, &caller(context, agent), job, batch).await
                }),
            Extractions::Correct(correct) => correct.run(context),
            Extractions::Corrections(corrections) => corrections.run(context),
            Extractions::ExportSet { folder, agent } => corrections::export_set(context, &agent, &folder),
        }
    }
}

const HEADS: [&str; 8] = ["job", "status", "batch", "client id", "document", "attempts", "created", "error"];

/// All extractions of a status and a batch.
async fn list(
    platform: &Platform,
    caller: &Caller,
    status: Option<ExtractionStatus>,
    batch: Option<String>,
) -> Result<Vec<ExtractionJob>, CliError> {
    let mut jobs = Vec::new();
    let mut start = PageStart::Page(1);
    loop {
        let page = PageRequest { limit: PAGE, start };
        let query = ExtractionListQuery { status, batch: batch.clone(), client_id: None, page };
        let listed = platform.list_extractions(caller, ListExtractions { query: query.into() });
        let listed = listed.await.map_err(failed)?;
        jobs.extend(listed.items);
        match listed.pagination.next_cursor {
            Some(cursor) => start = PageStart::Cursor(cursor),
            None => return Ok(jobs),
        }
    }
}

/// Queues one failed extraction again, or all of a batch. One that cannot be queued is reported, and the others are queued.
async fn retry(
    context: &CommandContext,
    platform: &Platform,
    caller: &Caller,
    job: Option<String>,
    batch: Option<String>,
) -> Result<(), CliError> {
    let ids = match job {
        Some(job) => vec![job],
        None => {
            let failed = list(platform, caller, Some(ExtractionStatus::Failed), batch.clone()).await?;
            failed.iter().map(|it| it.job.id.to_string()).collect()
        }
    };
    let (mut queued, mut refused) = (Vec::new(), Vec::new());
    for id in &ids {
        match platform.retry_extraction(caller, id).await {
            Ok(job) => queued.push(job),
            Err(error) => refused.push(format!("extraction {id}: {}", error.message())),
        }
    }
    if context.json() {
        context.print_table(true, &queued, &HEADS, row)?;
    } else {
        queued.iter().for_each(|it| context.info(&format!("extraction {} is queued again", it.job.id)));
        if ids.is_empty() {
            context.info(&format!("no extraction of the batch {} has failed", batch.unwrap_or_default()));
        }
    }
    if refused.is_empty() { Ok(()) } else { Err(CliError::new(refused.join("; "))) }
}

/// The operator in the name of an agent.
fn caller(context: &CommandContext, agent_id: AgentId) -> Caller {
    Caller {
        agent_id,
        actor: context.operator(),
        permissions: Permissions::all(),
        address: None,
        request_id: String::new(),
    }
}

fn failed(error: ApiError) -> CliError {
    CliError::new(error.message().to_owned())
}

fn row(it: &ExtractionJob) -> Vec<String> {
    let text = |text: &Option<Box<str>>| text.as_deref().unwrap_or("-").to_owned();
    vec![
        it.job.id.to_string(),
        it.status().to_string(),
        text(&it.job.batch),
        text(&it.job.client_id),
        it.body.document.file_name.clone(),
        it.job.attempts.to_string(),
        it.job.created_at.to_string(),
        it.body.error.as_ref().map_or_else(|| "-".to_owned(), |error| error.code.clone()),
    ]
}
