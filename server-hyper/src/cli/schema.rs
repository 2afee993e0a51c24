//! `contact-schema`: the contact schema of an agent.

use std::path::{Path, PathBuf};

use ::console::Command;
use clap::Subcommand;
use http::Method;
use openapi_core::admin::Admin;
use openapi_core::json::{Json, Object};
use openapi_core::schema::{ContactSchema as Schema, FieldDefinition};
use openapi_core::values::AgentId;

use super::context::CommandContext;
use super::{input, operations};
use crate::assemble::Contents;
use crate::error::CliError;
use ::console::imports::cell;

#[derive(Debug, Subcommand)]
pub enum ContactSchema {
    /// Show the current schema
    #[command(after_help = "Examples:\n  \
        openapi-server contact-schema show --agent acme\n  \
        openapi-server contact-schema show --agent acme --json")]
    Show {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Replace the changes to the built-in schema
    #[command(after_help = "Examples:\n  \
        openapi-server contact-schema set --agent acme --file schema.json\n\n\
        The file contains all changes; what it omits has its default:\n  \
        {\n    \
        \"fields\": [{ \"name\": \"lastName\", \"required\": true }],\n    \
        \"customFields\": [\n      \
        { \"name\": \"plan\", \"label\": \"Plan\", \"type\": \"select\",\n        \
        \"options\": [{ \"value\": \"gold\", \"label\": \"Gold\" }, { \"value\": \"silver\", \"label\": \"Silver\" }] },\n      \
        { \"name\": \"member\", \"label\": \"Member number\", \"type\": \"string\", \"pattern\": \"^M[0-9]{6}$\", \"unique\": true }\n    \
        ],\n    \
        \"allowUndeclaredCustomFields\": false\n  \
        }\n\
        A change applies to later writes only; `unique` needs stored contacts that satisfy it.")]
    Set {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// JSON file with `fields`, `customFields` and `allowUndeclaredCustomFields`; - for standard input
        #[arg(long)]
        file: PathBuf,
    },
    /// Check a schema, and count the contacts that would no longer pass
    #[command(after_help = "Examples:\n  \
        openapi-server contact-schema check --agent acme --file schema.json\n\n\
        Nothing is changed. The file is that of `contact-schema set`. A check ends after 20,000 contacts or 2 seconds.")]
    Check {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// JSON file with `fields`, `customFields` and `allowUndeclaredCustomFields`; - for standard input
        #[arg(long)]
        file: PathBuf,
    },
    /// List all versions, oldest first
    #[command(after_help = "Examples:\n  openapi-server contact-schema history --agent acme")]
    History {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
}

impl ContactSchema {
    /// Whether the command runs at a console elsewhere.
    pub const fn runs_elsewhere(&self) -> bool {
        matches!(self, ContactSchema::Check { .. })
    }

    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        if let ContactSchema::Check { agent, file } = &self {
            return check(context, agent, file);
        }
        context.with_platform(Contents::Closed, async |platform| match self {
            ContactSchema::Show { agent } => show(context, json, &platform.contact_schema(&agent).await?),
            ContactSchema::Set { agent, file } => {
                let definition = input::object(context, &file)?;
                show(
                    context,
                    json,
                    &platform.replace_contact_schema(&context.operator(), &agent, &definition).await?,
                )
            }
            // It is an operation of the console.
            ContactSchema::Check { .. } => Ok(()),
            ContactSchema::History { agent } => {
                let versions = platform.contact_schema_history(&agent).await?;
                let heads = ["version", "since", "custom fields", "undeclared custom fields"];
                context.print_table(json, &versions, &heads, |schema| {
                    let names: Vec<_> =
                        schema.custom_fields.iter().map(|field| field.name.as_str()).collect();
                    vec![
                        schema.version.to_string(),
                        schema.updated_at.to_string(),
                        names.join(" "),
                        undeclared(schema).to_owned(),
                    ]
                })
            }
        })
    }
}

/// Prints what a definition would change.
fn check(context: &CommandContext, agent: &AgentId, file: &Path) -> Result<(), CliError> {
    operations::with(context, async |operations| {
        let mut body = Object::new();
        body.insert("definition", Json::Object(input::object(context, file)?));
        let command = Command {
            method: &Method::POST,
            path: &format!("/agents/{agent}/contact-schema/check"),
            query: &[],
            if_match: None,
            body: Some(&body),
        };
        let checked = operations.run(command).await?.data;
        if context.json() {
            return context.print_json(&checked);
        }
        let member = |value: &Json, name: &str| {
            value.as_object().and_then(|members| members.get(name)).cloned().unwrap_or(Json::Null)
        };
        if let Json::Array(changes) = member(&checked, "changes") {
            context.print_table(false, &changes, &["field", "change", "members"], |change| {
                ["field", "change", "members"].map(|name| cell(&member(change, name))).to_vec()
            })?;
        }
        let [failing, seen] =
            ["contactsFailing", "contactsChecked"].map(|name| cell(&member(&checked, name)));
        let rest = if member(&checked, "isComplete") == Json::Bool(true) { "" } else { "; there are more" };
        context.print(&format!("{failing} of {seen} contacts would no longer pass{rest}\n"))
    })
}

fn undeclared(schema: &Schema) -> &'static str {
    if schema.allow_undeclared_custom_fields { "accepted" } else { "refused" }
}

fn show(context: &CommandContext, json: bool, schema: &Schema) -> Result<(), CliError> {
    if json {
        return context.print_json(schema);
    }
    context.info(&format!(
        "version {} of {}, undeclared custom fields are {}",
        schema.version,
        schema.updated_at,
        undeclared(schema)
    ));
    let fields: Vec<&FieldDefinition> = schema.fields.iter().chain(&schema.custom_fields).collect();
    context.print_table(false, &fields, &["field", "label", "type", "rules"], |field| {
        let prefix = if field.custom { "customFields." } else { "" };
        vec![
            format!("{prefix}{}", field.name),
            field.label.clone(),
            field.kind.as_str().to_owned(),
            rules(field),
        ]
    })
}

fn rules(field: &FieldDefinition) -> String {
    let mut rules: Vec<String> = Vec::new();
    let marks = [
        (field.required, "required"),
        (field.read_only, "read-only"),
        (field.unique, "unique"),
        (field.sensitive, "sensitive"),
    ];
    rules.extend(marks.iter().filter(|(set, _)| *set).map(|(_, word)| (*word).to_owned()));
    let mut add = |word: &str, value: Option<String>| {
        rules.extend(value.map(|value| format!("{word} {value}")));
    };
    add("at least", field.min_length.map(|length| format!("{length} characters")));
    add("at most", field.max_length.map(|length| format!("{length} characters")));
    add("from", field.minimum.as_ref().map(Json::to_text));
    add("to", field.maximum.as_ref().map(Json::to_text));
    add("pattern", field.pattern.clone());
    add(
        "one of",
        field
            .options
            .as_ref()
            .map(|options| options.iter().map(|option| option.value.as_str()).collect::<Vec<_>>().join("|")),
    );
    add("default", field.default.as_ref().map(Json::to_text));
    rules.join(", ")
}
