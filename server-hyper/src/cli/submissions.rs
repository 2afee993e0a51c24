//! `submissions`: submissions of forms.

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::forms::{FormTemplate, Submission, SubmissionStatus, WithHistory};
use openapi_core::json::{Json, Object};
use openapi_core::platform::Platform;
use openapi_core::storage::{SubmissionFilter, SubmissionPosition};
use openapi_core::values::{AgentId, ContactId, SubmissionId, TemplateId};
use serde_json::json;

use super::contacts::format::{CsvStyle, ExportArgs};
use super::context::CommandContext;
use super::export;
use super::output::optional;
use crate::assemble::Contents;
use crate::error::CliError;
use ::console::imports::cell;
use ::console::imports::escaped;

#[derive(Debug, Subcommand)]
pub enum Submissions {
    /// List submissions, newest first
    #[command(after_help = "Examples:\n  \
        openapi-server submissions list --agent acme --status submitted\n  \
        openapi-server submissions list --agent acme --template \"$TEMPLATE\" --superseded --limit 1000")]
    List {
        #[command(flatten)]
        selection: Selection,
        /// Maximum number of submissions
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a submission with its history and its data before each change
    #[command(after_help = "Examples:\n  openapi-server submissions show \"$SUBMISSION\" --agent acme")]
    Show {
        /// The submission
        submission: SubmissionId,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Print submissions, newest first
    #[command(after_help = "Examples:\n  \
        openapi-server submissions export --agent acme > submissions.ndjson\n  \
        openapi-server submissions export --agent acme --template \"$TEMPLATE\" --format csv > intake.csv\n\n\
        In CSV the answers are one column with JSON; with --template each field of the template's version in force has a \
        column of its own, and the other answers are in that one. An apostrophe precedes each cell that \
        a spreadsheet would interpret as a formula.")]
    Export {
        #[command(flatten)]
        selection: Selection,
        #[command(flatten)]
        output: ExportArgs,
    },
}

/// The selected submissions.
#[derive(Debug, clap::Args)]
pub struct Selection {
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// Only submissions of this contact, by its platform id
    #[arg(long)]
    contact: Option<ContactId>,
    /// Only submissions of this template
    #[arg(long)]
    template: Option<TemplateId>,
    /// Only submissions in this state: draft, submitted, under_review, approved, rejected or archived
    #[arg(long)]
    status: Option<SubmissionStatus>,
    /// Include superseded submissions
    #[arg(long)]
    superseded: bool,
}

impl Selection {
    fn filter(&self) -> SubmissionFilter {
        SubmissionFilter {
            contact: self.contact,
            template: self.template,
            status: self.status,
            include_superseded: self.superseded,
            client_id: None,
        }
    }
}

impl Submissions {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        context.with_platform(Contents::Closed, async |platform| match self {
            Submissions::List { selection, limit } => list(context, platform, json, &selection, limit).await,
            Submissions::Show { submission, agent } => {
                show(context, platform, json, &agent, submission).await
            }
            Submissions::Export { selection, output } => {
                export_all(context, platform, &selection, output.csv(context)?).await
            }
        })
    }
}

async fn list(
    context: &CommandContext,
    platform: &Platform,
    json: bool,
    selection: &Selection,
    limit: u32,
) -> Result<(), CliError> {
    let found = platform.submissions(&selection.agent, &selection.filter(), None, limit).await?;
    context.note_bulk(platform, Some(&selection.agent), "submissions", found.len()).await?;
    let heads = ["id", "template", "version", "contact", "status", "revision", "superseded by", "created"];
    context.print_table(json, &found, &heads, |submission| {
        let contact = submission.external_reference_id.as_ref().map(ToString::to_string);
        vec![
            submission.id.to_string(),
            submission.template_name.to_string(),
            submission.template_version.to_string(),
            contact.unwrap_or_else(|| submission.contact_id.to_string()),
            submission.status.to_string(),
            submission.revision.to_string(),
            optional(submission.superseded_by.as_ref()),
            submission.created_at.to_string(),
        ]
    })
}

async fn show(
    context: &CommandContext,
    platform: &Platform,
    json: bool,
    agent: &AgentId,
    submission: SubmissionId,
) -> Result<(), CliError> {
    let (submission, revisions) = platform.submission(agent, submission).await?;
    if json {
        let mut record = serde_json::to_value(WithHistory(submission))?;
        record["formDataRevisions"] = serde_json::to_value(&revisions)?;
        return context.print_json(&record);
    }
    let contact = submission.external_reference_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    context.print_record(
        false,
        &json!({}),
        &[
            ("id", submission.id.to_string()),
            (
                "template",
                format!(
                    "{} {}, version {}",
                    submission.template_id, submission.template_name, submission.template_version
                ),
            ),
            ("contact", format!("{}{contact}", submission.contact_id)),
            ("status", submission.status.to_string()),
            ("revision", submission.revision.to_string()),
            ("supersedes", optional(submission.supersedes.as_ref())),
            ("superseded by", optional(submission.superseded_by.as_ref())),
            ("client id", optional(submission.client_id.as_ref())),
            ("submission notes", optional(submission.submission_notes.as_ref())),
            ("review notes", optional(submission.review_notes.as_ref())),
            ("submitted", optional(submission.submitted_at.as_ref())),
            ("reviewed", optional(submission.reviewed_at.as_ref())),
            ("created", submission.created_at.to_string()),
            ("updated", submission.updated_at.to_string()),
        ],
    )?;
    let answers: Vec<(String, Json)> =
        submission.form_data.members().iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
    context.print_table(false, &answers, &["field", "answer"], |(name, value)| {
        vec![name.clone(), cell(value)]
    })?;
    context.print_table(false, &submission.status_history, &["at", "from", "to", "notes"], |change| {
        vec![
            change.at.to_string(),
            optional(change.from.as_ref()),
            change.to.to_string(),
            optional(change.notes.as_ref()),
        ]
    })?;
    for revision in &revisions {
        context.info(&format!("until {}: {}", revision.at, revision.form_data.as_str()));
    }
    Ok(())
}

async fn export_all(
    context: &CommandContext,
    platform: &Platform,
    selection: &Selection,
    style: Option<CsvStyle>,
) -> Result<(), CliError> {
    let template = match selection.template {
        Some(template) => Some(platform.template(&selection.agent, template).await?),
        None => None,
    };
    let agent = &selection.agent;
    platform.agent(agent).await?;
    context.note(platform, AuditAction::SubmissionExport, Some(agent), agent.as_str(), []).await?;
    let columns = Columns::of(template.as_ref());
    let filter = selection.filter();
    let page = async |last: Option<&Submission>| {
        let after = last.map(SubmissionPosition::of);
        Ok(platform.submissions(&selection.agent, &filter, after, export::PAGE).await?)
    };
    export::run(context, style, page, &columns.names(), |submission| columns.cells(submission)).await
}

/// Columns of every export, in order; those of the template's fields follow, then the rest of the data.
const COLUMNS: [&str; 22] = [
    "id",
    "templateId",
    "templateName",
    "templateVersion",
    "contactId",
    "externalReferenceId",
    "status",
    "submissionNotes",
    "reviewNotes",
    "clientId",
    "revision",
    "supersedes",
    "isSuperseded",
    "supersededBy",
    "supersededAt",
    "source",
    "reviewedAt",
    "submittedAt",
    "createdAt",
    "updatedAt",
    "createdBy",
    "agentId",
];

const DATA: &str = "formData";

struct Columns {
    fields: Vec<String>,
}

impl Columns {
    fn of(template: Option<&FormTemplate>) -> Self {
        let fields = template.into_iter().flat_map(|template| &template.fields);
        Columns { fields: fields.map(|field| field.name.clone()).collect() }
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = COLUMNS.iter().map(|name| (*name).to_owned()).collect();
        names.extend(self.fields.iter().map(|name| format!("{DATA}.{name}")));
        names.push(DATA.to_owned());
        names
    }

    fn cells(&self, submission: &Submission) -> Result<Vec<String>, serde_json::Error> {
        let record: Json = serde_json::from_str(&serde_json::to_string(submission)?)?;
        let none = Object::new();
        let members = record.as_object().unwrap_or(&none);
        let mut cells: Vec<String> =
            COLUMNS.iter().map(|name| members.get(name).map_or_else(String::new, cell)).collect();
        let mut data = submission.form_data.members();
        for name in &self.fields {
            cells.push(data.remove(name).as_ref().map_or_else(String::new, cell));
        }
        cells.push(if data.is_empty() { String::new() } else { Json::Object(data).to_text() });
        Ok(cells.iter().map(|cell| escaped(cell)).collect())
    }
}
