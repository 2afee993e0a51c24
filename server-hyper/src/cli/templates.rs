//! `templates`: form templates.

use std::path::PathBuf;

use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::forms::FormTemplate;
use openapi_core::platform::Platform;
use openapi_core::storage::TemplatePosition;
use openapi_core::values::{AgentId, TemplateId};

use super::context::CommandContext;
use super::input;
use super::output::optional;
use crate::assemble::Contents;
use crate::error::CliError;

const FILE_HELP: &str = "\n\n\
    The file contains the whole template:\n  \
    {\n    \
    \"name\": \"Feedback\", \"description\": null, \"submissionPolicy\": \"keepAll\",\n    \
    \"disabledTransitions\": [{ \"from\": \"approved\", \"to\": \"under_review\" }],\n    \
    \"fields\": [\n      \
    { \"name\": \"rating\", \"label\": \"Rating\", \"type\": \"integer\", \"required\": true,\n        \
    \"validation\": { \"minimum\": 1, \"maximum\": 5 } },\n      \
    { \"name\": \"why\", \"label\": \"What went wrong?\", \"type\": \"textarea\",\n        \
    \"showIf\": { \"field\": \"rating\", \"op\": \"in\", \"value\": [1, 2] } }\n    \
    ]\n  \
    }\n\
    Types: text, textarea, email, phone, url, number, integer, boolean, date, time, datetime, select, radio, multiselect, \
    checkboxes, file, group, list. The output of `templates show --json` can be edited and passed back. Errors are \
    reported with their paths.";

#[derive(Debug, Subcommand)]
pub enum Templates {
    /// Create a template, as a draft unless --activate is given
    #[command(after_help = format!("Examples:\n  \
        openapi-server templates create --agent acme --file feedback.json --activate{FILE_HELP}"))]
    Create {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// JSON file with the template; - for standard input
        #[arg(long)]
        file: PathBuf,
        /// Activate it immediately
        #[arg(long)]
        activate: bool,
    },
    /// Replace a template's definition; one that was ever active gets a new version
    #[command(after_help = format!("Examples:\n  \
        openapi-server templates edit \"$TEMPLATE\" --agent acme --file feedback.json\n\n\
        Submissions stay with the version they were made under.{FILE_HELP}"))]
    Edit {
        /// The template
        template: TemplateId,
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// JSON file with the template; - for standard input
        #[arg(long)]
        file: PathBuf,
    },
    /// Activate a draft or archived template
    #[command(after_help = "Examples:\n  openapi-server templates activate \"$TEMPLATE\" --agent acme")]
    Activate {
        /// The template
        template: TemplateId,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Archive a template; its submissions stay and can be reviewed
    #[command(after_help = "Examples:\n  openapi-server templates archive \"$TEMPLATE\" --agent acme")]
    Archive {
        /// The template
        template: TemplateId,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// List the templates of an agent in every state, by name
    #[command(after_help = "Examples:\n  openapi-server templates list --agent acme")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Show a template with its fields
    #[command(after_help = "Examples:\n  \
        openapi-server templates show \"$TEMPLATE\" --agent acme\n  \
        openapi-server templates show \"$TEMPLATE\" --agent acme --json > feedback.json")]
    Show {
        /// The template
        template: TemplateId,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
}

impl Templates {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        let by = context.operator();
        context.with_platform(Contents::Closed, async |platform| match self {
            Templates::Create { agent, file, activate } => {
                let definition = input::object(context, &file)?;
                let mut template = platform.create_template(&by, &agent, &definition).await?;
                if activate {
                    template = platform.activate_template(&by, &agent, template.id).await?;
                }
                show_one(context, json, &template)
            }
            Templates::Edit { template, agent, file } => {
                let definition = input::object(context, &file)?;
                show_one(context, json, &platform.edit_template(&by, &agent, template, &definition).await?)
            }
            Templates::Activate { template, agent } => {
                show_one(context, json, &platform.activate_template(&by, &agent, template).await?)
            }
            Templates::Archive { template, agent } => {
                show_one(context, json, &platform.archive_template(&by, &agent, template).await?)
            }
            Templates::List { agent } => list(context, platform, json, &agent).await,
            Templates::Show { template, agent } => {
                show_one(context, json, &platform.template(&agent, template).await?)
            }
        })
    }
}

/// Templates read at a time.
const PAGE: u32 = 500;

async fn list(
    context: &CommandContext,
    platform: &Platform,
    json: bool,
    agent: &AgentId,
) -> Result<(), CliError> {
    let mut templates = Vec::new();
    loop {
        let after = templates.last().map(TemplatePosition::of);
        let page = platform.templates(agent, after, PAGE).await?;
        if page.is_empty() {
            break;
        }
        templates.extend(page);
    }
    let heads = ["id", "name", "status", "version", "fields", "policy", "updated"];
    context.print_table(json, &templates, &heads, |template| {
        vec![
            template.id.to_string(),
            template.name.to_string(),
            template.status.to_string(),
            template.version.to_string(),
            template.field_count.to_string(),
            template.submission_policy.to_string(),
            template.updated_at.to_string(),
        ]
    })
}

fn show_one(context: &CommandContext, json: bool, template: &FormTemplate) -> Result<(), CliError> {
    if json {
        return context.print_json(&template.document());
    }
    context.info(&format!(
        "{} {}: {}, version {}, {}, changed {}",
        template.id,
        template.name,
        template.status,
        template.version,
        template.submission_policy,
        template.updated_at
    ));
    for transition in &template.disabled_transitions {
        context.info(&format!("submissions may not go from {} to {}", transition.from, transition.to));
    }
    let mut rows = Vec::new();
    rows_of("", &template.fields, &mut rows);
    context.print_table(
        false,
        &rows,
        &["field", "label", "type", "required", "shown if", "section"],
        Clone::clone,
    )
}

fn rows_of(prefix: &str, fields: &[openapi_core::forms::FormField], rows: &mut Vec<Vec<String>>) {
    for field in fields {
        let name = format!("{prefix}{}", field.name);
        let condition = field.show_if.as_ref().map(|condition| {
            format!("{} {} {}", condition.field, condition.op.as_str(), condition.value.to_text())
        });
        rows.push(vec![
            name.clone(),
            field.label.clone(),
            field.kind.as_str().to_owned(),
            if field.required { "yes".to_owned() } else { String::new() },
            optional(condition.as_ref()),
            optional(field.section.as_ref()),
        ]);
        rows_of(&format!("{name}."), field.fields.as_deref().unwrap_or_default(), rows);
    }
}
