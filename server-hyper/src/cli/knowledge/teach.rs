//! `knowledge teach`: question-and-answer pairs.

use std::io::Read;
use std::path::PathBuf;

use ::conversations::admin::NewPair;
use clap::Args;
use openapi_core::values::AgentId;

use super::add::language_tag;
use crate::assemble::Contents;
use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::error::CliError;

/// The most bytes that are read of an answer: more than its characters can have.
const MAX_BYTES: u64 = 64 * 1024;

/// Examples of `knowledge teach`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server knowledge teach --agent acme --question \"Do you ship?\" --answer \"Within 5 days.\"\n  \
    openapi-server knowledge teach --agent acme --question Returns --file services.md\n\n\
    A visitor whose question means the same gets the answer as it stands. Several questions for one answer help to recognise \
    it; questions that only resemble them do not get the answer. Questions that differ only in case and punctuation are the \
    same. The first one names the answer: `knowledge remove` takes it, and teaching it again replaces answer and questions. \
    Running servers answer from a change within 5 s.";

#[derive(Debug, Args)]
pub struct Teach {
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// The question, of at most 500 characters; up to 20 of them
    #[arg(long = "question", required = true, value_name = "TEXT")]
    questions: Vec<String>,
    /// The answer in Markdown, of at most 4,000 characters
    #[arg(long, value_name = "TEXT", required_unless_present = "file", conflicts_with = "file")]
    answer: Option<String>,
    /// The file that holds the answer; `-` for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Title of the source for visitors [default: the first question]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// URL where visitors can read more
    #[arg(long)]
    url: Option<String>,
    /// The language of questions and answer, as a BCP 47 tag
    #[arg(long, value_name = "TAG", value_parser = language_tag)]
    language: Option<String>,
}

impl Teach {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let answer = match (&self.answer, &self.file) {
            (Some(answer), _) => answer.clone(),
            (None, Some(file)) => {
                let unread = |error| CliError::new(format!("cannot read {}: {error}", file.display()));
                let mut text = Vec::new();
                input::open(context, file)?.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(unread)?;
                if text.len() as u64 > MAX_BYTES {
                    return Err(CliError::new(format!(
                        "{} is longer than an answer may be: 4,000 characters",
                        file.display()
                    )));
                }
                String::from_utf8(text)
                    .map_err(|_| CliError::new(format!("{} is not valid UTF-8", file.display())))?
            }
            (None, None) => return Err(CliError::usage("give the answer with --answer or --file")),
        };
        let Teach { agent, questions, title, url, language, .. } = self;
        let pair = NewPair { questions, answer, title, url, language };
        context.with_conversations(Contents::Closed, async |chat| {
            let document = chat.teach(&context.operator(), &agent, pair).await?;
            let lines = [
                ("id", document.id.to_string()),
                ("title", document.title.clone()),
                ("questions", document.questions.join("\n")),
            ];
            context.print_record(context.json(), &document, &lines)
        })
    }
}
