//! `knowledge sources`: websites that agents reply from; the console's operations.

use std::time::Duration;

use ::console::Command;
use clap::{Args, Subcommand};
use http::Method;
use openapi_core::json::{Json, Object};
use openapi_core::values::AgentId;

use crate::cli::context::CommandContext;
use crate::cli::operations::{self, Operations};
use crate::config::values::duration;
use crate::error::CliError;
use ::console::imports::cell;

const HOUR_SECONDS: u64 = 3_600;

#[derive(Debug, Subcommand)]
pub enum Sources {
    /// Add a website; a server reads its pages in the background, and again every day
    #[command(after_help = "Examples:\n  \
        openapi-server knowledge sources add https://www.example.com/ --agent acme\n  \
        openapi-server knowledge sources add https://help.example.com/en/ --agent acme --every 7d\n  \
        openapi-server knowledge sources add https://docs.example.com/ --agent acme --once\n\n\
        The pages are those of the same host in the folder of the URL. They are found by the website's sitemaps, or \
        else by links. robots.txt and noindex are respected.")]
    Add(Add),
    /// List the websites of an agent, newest first
    #[command(after_help = "Examples:\n  openapi-server knowledge sources list --agent acme")]
    List {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Show a website, and each page that was not read with the reason
    #[command(after_help = "Examples:\n  \
        openapi-server knowledge sources show https://www.example.com/ --agent acme\n  \
        openapi-server knowledge sources show https://www.example.com/ --agent acme --all")]
    Show {
        #[command(flatten)]
        which: Which,
        /// Show the pages that were read too
        #[arg(long)]
        all: bool,
    },
    /// Read a website again as soon as a server can
    #[command(
        after_help = "Examples:\n  openapi-server knowledge sources sync https://www.example.com/ --agent acme"
    )]
    Sync(Which),
    /// Remove a website with its documents
    #[command(
        after_help = "Examples:\n  openapi-server knowledge sources remove https://www.example.com/ --agent acme"
    )]
    Remove(Which),
}

#[derive(Debug, Args)]
pub struct Add {
    /// Where the website begins
    url: String,
    /// The agent
    #[arg(long)]
    agent: AgentId,
    /// After how long it is read again, in whole hours: 1h to 90d
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    every: Duration,
    /// Read it now, and again only on demand
    #[arg(long, conflicts_with = "every")]
    once: bool,
}

/// A website of an agent.
#[derive(Debug, Args)]
pub struct Which {
    /// The website: its id, or the URL where it begins
    source: String,
    /// The agent
    #[arg(long)]
    agent: AgentId,
}

impl Sources {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        operations::with(context, async |operations| self.act(&Desk { operations, context }).await)
    }

    async fn act(self, desk: &Desk<'_>) -> Result<(), CliError> {
        match self {
            Sources::Add(add) => {
                let every = match (add.once, add.every.as_secs()) {
                    (true, _) => Json::Null,
                    (false, seconds) if seconds % HOUR_SECONDS == 0 => {
                        Json::Number((seconds / HOUR_SECONDS).into())
                    }
                    _ => return Err(CliError::usage("--every takes whole hours, such as 12h or 7d")),
                };
                let mut body = Object::new();
                body.insert("url", add.url.as_str().into());
                body.insert("everyHours", every);
                let added = desk.call(&Method::POST, &add.agent, "", Some(&body)).await?;
                desk.print(&added)?;
                desk.context
                    .info("a running server reads the website; `knowledge sources show` shows how far it is");
                Ok(())
            }
            Sources::List { agent } => {
                let Json::Array(websites) = desk.call(&Method::GET, &agent, "", None).await? else {
                    return Err(malformed());
                };
                let heads =
                    ["id", "url", "state", "read", "unchanged", "not read", "waiting", "next", "error"];
                desk.context.print_table(desk.context.json(), &websites, &heads, row)
            }
            Sources::Show { which, all } => desk.show(&which, all).await,
            Sources::Sync(which) => desk.print(&desk.one(&Method::POST, &which, "/sync").await?),
            Sources::Remove(which) => desk.print(&desk.one(&Method::DELETE, &which, "").await?),
        }
    }
}

/// What the commands work with.
struct Desk<'a> {
    context: &'a CommandContext,
    operations: &'a Operations,
}

impl Desk<'_> {
    async fn call(
        &self,
        method: &Method,
        agent: &AgentId,
        below: &str,
        body: Option<&Object>,
    ) -> Result<Json, CliError> {
        let path = format!("/agents/{agent}/sources{below}");
        let command = Command { method, path: &path, query: &[], if_match: None, body };
        Ok(self.operations.run(command).await?.data)
    }

    async fn one(&self, method: &Method, which: &Which, below: &str) -> Result<Json, CliError> {
        let Json::Array(websites) = self.call(&Method::GET, &which.agent, "", None).await? else {
            return Err(malformed());
        };
        let is_meant = |it: &&Json| ["id", "url"].iter().any(|name| text(it, name) == which.source);
        let missing = || {
            let text = format!("there is no website '{}'; `knowledge sources list` shows them", which.source);
            CliError::new(text)
        };
        let id = text(websites.iter().find(is_meant).ok_or_else(missing)?, "id");
        self.call(method, &which.agent, &format!("/{id}{below}"), None).await
    }

    fn print(&self, website: &Json) -> Result<(), CliError> {
        let lines = lines(website);
        let lines: Vec<(&str, String)> = lines.iter().map(|(name, text)| (*name, text.clone())).collect();
        self.context.print_record(self.context.json(), website, &lines)
    }

    async fn show(&self, which: &Which, all: bool) -> Result<(), CliError> {
        let report = self.one(&Method::GET, which, "").await?;
        if self.context.json() {
            return self.context.print_json(&report);
        }
        let (Some(website), Some(Json::Array(pages))) =
            (member(&report, "website"), member(&report, "pages"))
        else {
            return Err(malformed());
        };
        self.print(website)?;
        let is_read = |page: &&Json| matches!(text(page, "outcome").as_str(), "read" | "unchanged");
        let pages: Vec<&Json> = pages.iter().filter(|page| all || !is_read(page)).collect();
        if pages.is_empty() {
            self.context.info("every page that was found was read");
            return Ok(());
        }
        self.context.print("\n")?;
        self.context.print_table(false, &pages, &["page", "outcome", "detail", "document"], |page| {
            let outcome = text(page, "outcome");
            let outcome = if outcome.is_empty() { "waiting".to_owned() } else { outcome };
            vec![text(page, "url"), outcome, text(page, "detail"), text(page, "documentId")]
        })
    }
}

fn malformed() -> CliError {
    CliError::new("the answer of the operation is malformed")
}

fn member<'a>(value: &'a Json, name: &str) -> Option<&'a Json> {
    value.as_object()?.get(name)
}

fn text(value: &Json, name: &str) -> String {
    member(value, name).map(cell).unwrap_or_default()
}

fn count(website: &Json, name: &str) -> String {
    member(website, "pages").map(|pages| text(pages, name)).unwrap_or_default()
}

fn row(website: &Json) -> Vec<String> {
    let mut cells: Vec<String> = ["id", "url", "state"].map(|name| text(website, name)).to_vec();
    cells.extend(["read", "unchanged", "notRead", "waiting"].map(|name| count(website, name)));
    cells.extend(["nextAt", "error"].map(|name| text(website, name)));
    cells
}

fn lines(website: &Json) -> Vec<(&'static str, String)> {
    let every = text(website, "everyHours");
    let limited = if text(website, "isLimited") == "true" {
        "a limit was reached; pages beyond it were not read".to_owned()
    } else {
        String::new()
    };
    vec![
        ("id", text(website, "id")),
        ("url", text(website, "url")),
        ("state", text(website, "state")),
        ("every", if every.is_empty() { "on demand".to_owned() } else { format!("{every} hours") }),
        ("began", text(website, "beganAt")),
        ("ended", text(website, "endedAt")),
        ("next", text(website, "nextAt")),
        ("found by", text(website, "discovery")),
        ("found", count(website, "found")),
        ("read", count(website, "read")),
        ("unchanged", count(website, "unchanged")),
        ("not read", count(website, "notRead")),
        ("waiting", count(website, "waiting")),
        ("limit", limited),
        ("error", text(website, "error")),
    ]
}
