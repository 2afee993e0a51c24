//! `insights`: what visitors ask that an agent cannot answer; the console's operations.

use std::sync::Arc;

use ::console::Command;
use clap::{Args, Subcommand, ValueEnum};
use http::Method;
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::json::Json;
use openapi_core::values::AgentId;

use super::context::CommandContext;
use super::knowledge::INDEX_BYTES;
use super::operations::{self, Operations};
use super::output::shortened;
use crate::error::CliError;
use ::console::imports::cell;

/// The widths of a question and of a passage in the table.
const QUESTION_WIDTH: usize = 60;
const PASSAGE_WIDTH: usize = 40;
/// The length of a date at the start of a time.
const DATE: usize = "2026-01-31".len();

#[derive(Debug, Subcommand)]
pub enum Insights {
    /// Group the questions that an agent could not answer, or was not sure of, by what they ask
    #[command(after_help = "Examples:\n  \
        openapi-server insights questions --agent acme\n  \
        openapi-server insights questions --agent acme --days 7 --outcome unanswered --limit 5 --json\n\n\
        It reads the newest 500 questions. Questions that ask the same are a group, in whatever words and languages; \
        below the most central one stand others. The passage is the nearest one in the agent's documents of today, with \
        the confidence that it answers the question; with an asterisk, that is enough for the agent to answer.")]
    Questions(Questions),
}

#[derive(Debug, Args)]
pub struct Questions {
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// Only questions of the last so many days
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=365))]
    days: u16,
    /// Only questions that got no answer, or only those whose reply was not sure
    #[arg(long)]
    outcome: Option<OpenOutcome>,
    /// Maximum number of groups
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
}

/// How the reply to a question ended.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum OpenOutcome {
    Unanswered,
    Unsure,
}

impl OpenOutcome {
    const fn as_str(self) -> &'static str {
        match self {
            OpenOutcome::Unanswered => "unanswered",
            OpenOutcome::Unsure => "unsure",
        }
    }
}

impl Insights {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let Insights::Questions(questions) = self;
        if let Some(remote) = context.remote() {
            let there = Operations::There(Arc::clone(remote));
            return context.run(questions.report(context, &there));
        }
        context.check_keys()?;
        context.run(async {
            let store = context.store().await?;
            let chat = context.searching(&store, INDEX_BYTES)?;
            let agent = &questions.agent;
            chat.platform().agent(agent).await?;
            context
                .note(chat.platform(), AuditAction::ConversationRead, Some(agent), agent.as_str(), [])
                .await?;
            let console = operations::console(context, &chat)?;
            questions
                .report(
                    context,
                    &Operations::Here {
                        console,
                        by: context.operator(),
                        platform: Arc::clone(chat.platform()),
                    },
                )
                .await
        })
    }
}

impl Questions {
    async fn report(&self, context: &CommandContext, operations: &Operations) -> Result<(), CliError> {
        let mut query = vec![("days", self.days.to_string()), ("limit", self.limit.to_string())];
        query.extend(self.outcome.map(|outcome| ("outcome", outcome.as_str().to_owned())));
        let path = format!("/agents/{}/insights/questions", self.agent);
        let command =
            Command { method: &Method::GET, path: &path, query: &query, if_match: None, body: None };
        print(context, self, &operations.run(command).await?.data)
    }
}

fn print(context: &CommandContext, asked: &Questions, report: &Json) -> Result<(), CliError> {
    if context.json() {
        return context.print_json(report);
    }
    let groups = list(report, "groups");
    let rows: Vec<Vec<String>> = groups.iter().flat_map(rows).collect();
    let heads = ["asked", "visitors", "languages", "last", "question", "nearest passage", "confidence"];
    context.print_table(false, &rows, &heads, Clone::clone)?;
    let by = if text(report, "groupedBy") == "words" { ", grouped by their words alone" } else { "" };
    context.info(&format!(
        "{} of {} groups with {} questions of the last {} days{by}",
        groups.len(),
        text(report, "totalGroups"),
        text(report, "questions"),
        asked.days
    ));
    if text(report, "partial") == "true" {
        context.info(
            "a limit was reached: there may be older questions; the counts are those of the newest ones",
        );
    }
    if !context.is_in_server() && context.remote().is_none() {
        context.info(
            "passages were searched by words alone; the console and a command next to a server on the same SQLite file \
             search by meaning too, if knowledge_embedder is built-in",
        );
    }
    if !groups.is_empty() {
        context.info(&format!(
            "to answer a question: openapi-server knowledge teach --agent {} --question QUESTION --answer ANSWER",
            asked.agent
        ));
    }
    Ok(())
}

/// The lines of a group in the table: the group, then its other questions.
fn rows(group: &Json) -> Vec<Vec<String>> {
    let last = text(group, "lastAskedAt");
    let mut first = vec![
        text(group, "count"),
        text(group, "visitors"),
        list(group, "languages").iter().map(cell).collect::<Vec<_>>().join(", "),
        last.get(..DATE).unwrap_or(&last).to_owned(),
        shortened(&text(group, "question"), QUESTION_WIDTH),
    ];
    if let Some(nearest) = member(group, "nearest").filter(|nearest| nearest.as_object().is_some()) {
        let mut path = vec![text(nearest, "title")];
        path.extend(list(nearest, "headings").iter().map(cell));
        // A document's title is often its first heading.
        path.dedup();
        let mark = if text(nearest, "answers") == "true" { " *" } else { "" };
        first.push(shortened(&path.join(" › "), PASSAGE_WIDTH));
        first.push(format!("{}{mark}", text(nearest, "confidence")));
    }
    first.resize(7, String::new());
    let other = |question: &Json| {
        let mut row = vec![String::new(); 7];
        row[4] = format!("· {}", shortened(&cell(question), QUESTION_WIDTH - 2));
        row
    };
    std::iter::once(first).chain(list(group, "others").iter().map(other)).collect()
}

fn member<'a>(value: &'a Json, name: &str) -> Option<&'a Json> {
    value.as_object()?.get(name)
}

fn list<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    match member(value, name) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

fn text(value: &Json, name: &str) -> String {
    member(value, name).map(cell).unwrap_or_default()
}
