//! `knowledge`: the documents that an agent replies from.

mod add;
mod evaluate;
mod sources;
mod teach;

use std::sync::Arc;

use ::conversations::storage::ConversationStorage;
use ::conversations::{Conversations, FoundPassage, KnowledgeDocument, Question};
use clap::Subcommand;
use openapi_core::admin::Admin;
use openapi_core::values::{AgentId, KnowledgeId};
use serde::Serialize;

use self::add::Add;
use self::evaluate::Evaluate;
use self::sources::Sources;
use self::teach::Teach;
use crate::assemble::Contents;
use crate::cli::characters::on_one_line;
use crate::cli::context::CommandContext;
use crate::cli::output::{indented, optional};
use crate::error::CliError;
use crate::search::retriever;

/// Memory for the index of a search; the index of one agent is always held.
pub const INDEX_BYTES: usize = 256 << 20;

#[derive(Debug, Subcommand)]
pub enum Knowledge {
    /// Add documents, replacing those with the same name
    #[command(after_help = add::EXAMPLES)]
    Add(Add),
    /// Teach an agent the answer to a question, replacing the answer of the same question
    #[command(after_help = teach::EXAMPLES)]
    Teach(Teach),
    /// Check whether an agent finds the answers of a set of questions
    #[command(after_help = evaluate::EXAMPLES)]
    Evaluate(Evaluate),
    /// List the documents of an agent, and the questions that it was taught, by title
    #[command(after_help = "Examples:\n  openapi-server knowledge list --agent acme")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Show the passages that an agent would find for a question, and whether it would answer
    #[command(after_help = "Examples:\n  \
        openapi-server knowledge search \"Do you offer home visits?\" --agent acme\n  \
        openapi-server knowledge search \"Bieten Sie Hausbesuche an?\" --agent acme --locale de --limit 3 --json\n\n\
        The coverage is the share of the question's words, weighed by how rare they are, that the best passages hold. \
        Below the setting chat.minCoverage the agent says that it has found no answer.")]
    Search {
        /// The question
        question: String,
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// The language of the widget, as a BCP 47 tag
        #[arg(long, value_name = "TAG", default_value = "en")]
        locale: String,
        /// Maximum number of passages
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
        limit: u16,
    },
    /// Websites that agents reply from: add, list, show, sync, remove
    #[command(subcommand)]
    Sources(Sources),
    /// Remove a document, or the answer to a question
    #[command(after_help = "Examples:\n  \
        openapi-server knowledge remove services.md --agent acme\n  \
        openapi-server knowledge remove \"Do you ship?\" --agent acme\n  \
        openapi-server knowledge remove \"$KNOWLEDGE\" --agent acme")]
    Remove {
        /// The document: its id, the name of its file, or the first question of a question-and-answer pair
        document: String,
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
}

impl Knowledge {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        match self {
            Knowledge::Add(add) => add.run(context),
            Knowledge::Teach(teach) => teach.run(context),
            Knowledge::Evaluate(evaluate) => evaluate.run(context),
            Knowledge::Sources(command) => command.run(context),
            Knowledge::List { agent } => context.with_conversations(Contents::Closed, async |chat| {
                let documents = chat.knowledge(&agent).await?;
                context.note_bulk(chat.platform(), Some(&agent), "knowledge", documents.len()).await?;
                let heads = ["id", "title", "file", "language", "pages", "passages", "url", "changed"];
                context.print_table(json, &documents, &heads, row)
            }),
            Knowledge::Search { question, agent, locale, limit } => {
                let question = Question { text: question, before: None, locale };
                context.check_keys()?;
                context.run(async {
                    let store = context.store().await?;
                    let chat = context.conversations(&store, Contents::Closed)?;
                    let limit = usize::from(limit);
                    search(context, &chat, store.storage(), json, &agent, &question, limit).await
                })
            }
            Knowledge::Remove { document, agent } => {
                context.with_conversations(Contents::Closed, async |chat| {
                    let id = named(&chat.knowledge(&agent).await?, &document)?;
                    let removed = chat.remove_knowledge(&context.operator(), &agent, id).await?;
                    let lines = [("removed", removed.id.to_string()), ("title", removed.title.clone())];
                    context.print_record(json, &removed, &lines)
                })
            }
        }
    }
}

/// The column heads of the table are in [`Knowledge::run`].
fn row(document: &KnowledgeDocument) -> Vec<String> {
    vec![
        document.id.to_string(),
        document.title.clone(),
        document.file_name.clone(),
        optional(document.language.as_ref()),
        optional(document.pages.as_ref()),
        document.passages.to_string(),
        optional(document.url.as_ref()),
        document.updated_at.to_string(),
    ]
}

/// The document with this id or file name.
fn named(documents: &[KnowledgeDocument], name: &str) -> Result<KnowledgeId, CliError> {
    let by_id = documents.iter().find(|document| document.id.to_string() == name);
    let found = by_id.or_else(|| documents.iter().find(|document| document.file_name == name));
    found.map(|document| document.id).ok_or_else(|| CliError::new(format!("there is no document '{name}'")))
}

/// The result of a search.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    question: &'a str,
    coverage: f64,
    min_coverage: f64,
    would_answer: bool,
    passages: Vec<Found<'a>>,
}

/// A passage of the result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'a> {
    document: KnowledgeId,
    position: u32,
    title: &'a str,
    url: Option<&'a str>,
    headings: &'a [String],
    page: Option<u32>,
    score: f64,
    text: &'a str,
}

impl<'a> Found<'a> {
    fn of(passage: &'a FoundPassage) -> Self {
        Found {
            document: passage.document,
            position: passage.position,
            title: &passage.title,
            url: passage.url.as_deref(),
            headings: &passage.headings,
            page: passage.page,
            score: rounded(passage.score),
            text: &passage.text,
        }
    }
}

async fn search(
    context: &CommandContext,
    chat: &Conversations,
    storage: Arc<dyn ConversationStorage>,
    json: bool,
    agent: &AgentId,
    question: &Question,
    limit: usize,
) -> Result<(), CliError> {
    // Otherwise a mistyped agent would look like one without documents.
    chat.platform().agent(agent).await?;
    let least = chat.agent_settings(agent).await?.chat.min_coverage;
    let found = retriever(storage, INDEX_BYTES).retrieve(agent, question, limit).await;
    let found = found.map_err(|error| CliError::new(error.to_string()))?;
    let would_answer = found.coverage >= least && found.coverage > 0.0;
    let answer = Answer {
        question: &question.text,
        coverage: rounded(found.coverage),
        min_coverage: rounded(least),
        would_answer,
        passages: found.passages.iter().map(Found::of).collect(),
    };
    if json {
        return context.print_json(&answer);
    }
    let mut text = String::new();
    for (nth, passage) in answer.passages.iter().enumerate() {
        let page = passage.page.map_or_else(String::new, |page| format!(", page {page}"));
        let headings = passage.headings.join(" > ");
        let heading = format!("{}  {:.2}  {}{page}  {headings}", nth + 1, passage.score, passage.title);
        text.push_str(&format!("{}\n{}\n", on_one_line(heading.trim_end()), indented(passage.text, "   ")));
    }
    context.print(&text)?;
    if !found.has_documents {
        context.info("the agent has no documents; add some with `openapi-server knowledge add`");
    }
    context
        .info("searched by words alone; a server with knowledge_embedder built-in searches by meaning too");
    let then = if would_answer { "the agent answers" } else { "the agent says that it has found no answer" };
    context.info(&format!(
        "coverage {:.2}, at least {:.2} is needed: {then}",
        answer.coverage, answer.min_coverage
    ));
    Ok(())
}

/// A number rounded to its significant digits, without the sign of negative zero.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 10_000.0).round() / 10_000.0 + 0.0
}
