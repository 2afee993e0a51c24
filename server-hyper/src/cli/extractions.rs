//! `extractions`: extractions that run in the background.

use clap::Subcommand;
use openapi_core::access::{Caller, Permissions};
use openapi_core::extraction::{ExtractionJob, ExtractionStatus};
use openapi_core::reply::ApiError;
use openapi_core::service::{
    ExtractionListQuery, ExtractionWait, GetExtraction, ListExtractions, OpenApiService, PageRequest,
    PageStart,
};
use openapi_core::values::AgentId;

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
}

impl Extractions {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        match self {
            Extractions::List { agent, status, batch } => {
                context.with_platform(Contents::Closed, async |platform| {
                    let caller = caller(context, agent);
                    let mut jobs: Vec<ExtractionJob> = Vec::new();
                    let mut start = PageStart::Page(1);
                    loop {
                        let page = PageRequest { limit: PAGE, start };
                        let query =
                            ExtractionListQuery { status, batch: batch.clone(), client_id: None, page };
                        let listed =
                            platform.list_extractions(&caller, ListExtractions { query: query.into() });
                        let listed = listed.await.map_err(failed)?;
                        jobs.extend(listed.items);
                        match listed.pagination.next_cursor {
                            Some(cursor) => start = PageStart::Cursor(cursor),
                            None => break,
                        }
                    }
                    let heads =
                        ["job", "status", "batch", "client id", "document", "attempts", "created", "error"];
                    context.print_table(json, &jobs, &heads, row)
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
        }
    }
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
