//! `knowledge evaluate`: whether an agent finds the answers that it should find.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use ::conversations::admin::{Trial, TrialAnswer};
use ::conversations::{Conversations, KnowledgeDocument};
use clap::Args;
use openapi_core::values::{AgentId, KnowledgeId};
use serde::Serialize;

use super::INDEX_BYTES;
use crate::cli::context::CommandContext;
use crate::cli::input;
use crate::cli::output::shortened;
use crate::error::CliError;

/// The most cases of a run.
const MAX_CASES: usize = 10_000;
/// The most bytes of a line.
const MAX_LINE: usize = 8 * 1024;
/// Passages among which the right one counts.
const FIRST_THREE: usize = 3;
/// The width of a question in the table.
const QUESTION_WIDTH: usize = 60;

/// Examples of `knowledge evaluate`.
pub const EXAMPLES: &str = "Examples:\n  \
    openapi-server knowledge evaluate --agent acme\n  \
    openapi-server knowledge evaluate --agent acme --cases questions.txt --min 0.5 --json\n\n\
    Each question of the agent's question-and-answer pairs is a case, and each line of the file: a question, ` | ` and words \
    of the passage that answers it, or `-` where nothing does. Empty lines and those that begin with `#` are left out. A case \
    is right if the agent answers and the first passage has the words, or if it says that it does not know.";

#[derive(Debug, Args)]
pub struct Evaluate {
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// A file of further cases; `-` for standard input
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
    /// The share of cases that have to be right, 0 to 1; with less the exit status is 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min: Option<f64>,
    /// The language of the visitors, as a BCP 47 tag
    #[arg(long, value_name = "TAG", default_value = "en")]
    locale: String,
}

/// What a case expects.
enum Expected {
    /// The answer of this pair.
    Pair(KnowledgeId),
    /// A passage with these words, on one line.
    Words(String),
    /// That the agent does not know.
    Unknown,
}

struct Case {
    question: String,
    expected: Expected,
}

/// The result of a run.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Cases that have an answer.
    answerable: usize,
    /// Those whose first passage is the right one, and those with the right one among the first three.
    first: usize,
    first_three: usize,
    /// Those that are answered, rightly or not.
    answered: usize,
    /// Cases that have no answer, and those of them that the agent says so of.
    unanswerable: usize,
    unknown: usize,
    /// Cases that are right.
    right: usize,
    failures: Vec<Failure>,
}

/// A case that is not right.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    question: String,
    reason: &'static str,
    coverage: f64,
    /// The title of the first passage.
    first: Option<String>,
}

impl Report {
    fn cases(&self) -> usize {
        self.answerable + self.unanswerable
    }

    fn share(&self) -> f64 {
        self.right as f64 / self.cases().max(1) as f64
    }

    fn count(&mut self, case: Case, answer: &TrialAnswer) {
        let found = &answer.found;
        let is_answered = found.coverage >= answer.min_coverage && found.coverage > 0.0;
        let rank = found.passages.iter().position(|passage| match &case.expected {
            Expected::Pair(pair) => passage.document == *pair,
            Expected::Words(words) => {
                flat(&passage.text).contains(words)
                    || passage.headings.iter().any(|it| flat(it).contains(words))
            }
            Expected::Unknown => false,
        });
        let reason = if let Expected::Unknown = case.expected {
            self.unanswerable += 1;
            self.unknown += usize::from(!is_answered);
            is_answered.then_some("answered")
        } else {
            self.answerable += 1;
            self.first += usize::from(rank == Some(0));
            self.first_three += usize::from(rank.is_some_and(|rank| rank < FIRST_THREE));
            self.answered += usize::from(is_answered);
            match (is_answered, rank) {
                (true, Some(0)) => None,
                (false, _) => Some("not answered"),
                (true, Some(_)) => Some("another passage first"),
                (true, None) => Some("another passage"),
            }
        };
        match reason {
            None => self.right += 1,
            Some(reason) => self.failures.push(Failure {
                question: case.question,
                reason,
                coverage: super::rounded(found.coverage),
                first: found.passages.first().map(|first| first.title.clone()),
            }),
        }
    }
}

impl Evaluate {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let mut cases = match &self.cases {
            Some(file) => read(context, file)?,
            None => Vec::new(),
        };
        context.check_keys()?;
        let report = context.run(async {
            let store = context.store().await?;
            let chat = context.searching(&store, INDEX_BYTES)?;
            cases.extend(of_pairs(chat.knowledge(&self.agent).await?));
            self.evaluate(&chat, cases).await
        })?;
        print(context, &report)?;
        match self.min {
            Some(min) if report.share() < min => {
                let (right, all) = (report.right, report.cases());
                Err(CliError::new(format!(
                    "{right} of {all} cases are right; at least a share of {min} is needed"
                )))
            }
            _ => Ok(()),
        }
    }

    async fn evaluate(&self, chat: &Conversations, cases: Vec<Case>) -> Result<Report, CliError> {
        if cases.is_empty() {
            return Err(CliError::new(
                "there are no cases: teach the agent answers, or name a file with --cases",
            ));
        }
        if cases.len() > MAX_CASES {
            return Err(CliError::new(format!(
                "there are {} cases, and at most {MAX_CASES} in a run",
                cases.len()
            )));
        }
        let mut report = Report::default();
        for case in cases {
            let trial = Trial { question: case.question.clone(), before: None, locale: self.locale.clone() };
            report.count(case, &chat.try_question(&self.agent, trial).await?);
        }
        Ok(report)
    }
}

fn print(context: &CommandContext, report: &Report) -> Result<(), CliError> {
    if context.json() {
        return context.print_json(report);
    }
    let row = |it: &Failure| {
        let first = it.first.clone().unwrap_or_default();
        vec![
            it.reason.to_owned(),
            format!("{:.2}", it.coverage),
            shortened(&it.question, QUESTION_WIDTH),
            first,
        ]
    };
    context.print_table(
        false,
        &report.failures,
        &["failed", "coverage", "question", "first passage"],
        row,
    )?;
    context.info(&format!(
        "{} of {} cases are right. With an answer: {}, of which first {}, in the first three {}, answered {}. Without: {}, \
         of which the agent does not know {}",
        report.right,
        report.cases(),
        report.answerable,
        report.first,
        report.first_three,
        report.answered,
        report.unanswerable,
        report.unknown
    ));
    if !context.is_in_server() {
        context.info(
            "passages were searched by words alone; a command next to a server on the same SQLite file searches by \
             meaning too, if knowledge_embedder is built-in",
        );
    }
    Ok(())
}

/// The cases of pairs: each of their questions.
fn of_pairs(documents: Vec<KnowledgeDocument>) -> impl Iterator<Item = Case> {
    documents.into_iter().flat_map(|pair| {
        let id = pair.id;
        pair.questions.into_iter().map(move |question| Case { question, expected: Expected::Pair(id) })
    })
}

/// The cases of a file.
fn read(context: &CommandContext, file: &Path) -> Result<Vec<Case>, CliError> {
    let mut cases = Vec::new();
    let mut source = std::io::Read::take(input::open(context, file)?, (MAX_CASES * MAX_LINE) as u64);
    let mut line = Vec::new();
    for number in 1.. {
        let wrong = |what: &str| CliError::new(format!("{}:{number}: {what}", file.display()));
        line.clear();
        let read = std::io::Read::take(&mut source, MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
        if read.map_err(|error| wrong(&error.to_string()))? == 0 {
            break;
        }
        if line.len() > MAX_LINE {
            return Err(wrong(&format!("a line has at most {MAX_LINE} bytes")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| wrong("the line is not valid UTF-8"))?;
        // Some editors begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let parts = text.rsplit_once(" | ").map(|(question, words)| (question.trim(), flat(words)));
        let Some((question, words)) =
            parts.filter(|(question, words)| !question.is_empty() && !words.is_empty())
        else {
            return Err(wrong(
                "write a question, ` | ` and words of the passage that answers it, or `-` if none does",
            ));
        };
        let expected = if words == "-" { Expected::Unknown } else { Expected::Words(words) };
        cases.push(Case { question: question.to_owned(), expected });
        if cases.len() > MAX_CASES {
            return Err(wrong(&format!("a run has at most {MAX_CASES} cases")));
        }
    }
    Ok(cases)
}

/// A text on one line: each run of blanks is one.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn share(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| format!("'{text}' is not a number from 0 to 1, such as 0.9"))
}
