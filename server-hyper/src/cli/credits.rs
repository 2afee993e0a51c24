//! `credits`: the balances of agents and the price of extractions.

use clap::{Subcommand, ValueEnum};
use openapi_core::admin::{Admin, CreditChange};
use openapi_core::credits::{CreditAccount, CreditEntry, CreditPool, CreditRates};
use openapi_core::storage::LedgerQuery;
use openapi_core::values::AgentId;
use serde::Serialize;

use super::context::CommandContext;
use super::output::who;
use crate::assemble::Contents;
use crate::error::CliError;

#[derive(Debug, Subcommand)]
pub enum Credits {
    /// Show the balances of an agent, and the price of extractions
    #[command(after_help = "Examples:\n  \
        openapi-server credits show --agent acme\n\n\
        An agent that was never given credits is not charged.")]
    Show {
        /// The agent
        #[arg(long)]
        agent: AgentId,
    },
    /// Set a balance; extractions are charged from then on
    #[command(after_help = "Examples:\n  \
        openapi-server credits set 1000 --agent acme --note \"Plan of June\"\n  \
        openapi-server credits set 0 --agent acme --pool topup\n  \
        openapi-server credits set --low-at 100 --agent acme\n\n\
        The plan is spent first, then what was topped up. What is set aside for extractions that run stays so. The event \
        credits.low comes when fewer credits than --low-at are available; 0 turns it off.")]
    Set {
        /// The balance
        #[arg(required_unless_present = "low_at")]
        credits: Option<u64>,
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// The balance to set
        #[arg(long, value_enum, default_value_t = Pool::Plan, requires = "credits")]
        pool: Pool,
        /// Number of available credits below which the event credits.low comes
        #[arg(long, value_name = "CREDITS")]
        low_at: Option<u64>,
        /// Reason for the ledger
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Add credits beyond the plan; extractions are charged from then on
    #[command(
        after_help = "Examples:\n  openapi-server credits topup 500 --agent acme --note \"Order 1042\""
    )]
    Topup {
        /// Number of credits
        credits: u64,
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// Reason for the ledger
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Stop charging an agent; its balances stay
    #[command(after_help = "Examples:\n  \
        openapi-server credits unlimited --agent acme\n  \
        openapi-server credits unlimited --agent acme --off")]
    Unlimited {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// Charge the agent again
        #[arg(long)]
        off: bool,
    },
    /// Set the price of an extraction
    #[command(after_help = "Examples:\n  \
        openapi-server credits rates --agent acme --per-page 2\n  \
        openapi-server credits rates --agent acme --characters-per-page 2000\n\n\
        What is not given stays as it is.")]
    Rates {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// Credits per page
        #[arg(long, value_name = "CREDITS", required_unless_present = "characters_per_page")]
        per_page: Option<u32>,
        /// Characters of plain text or DOCX that are charged as a page
        #[arg(long, value_name = "COUNT")]
        characters_per_page: Option<u32>,
    },
    /// Show the ledger, newest entry last
    #[command(after_help = "Examples:\n  \
        openapi-server credits ledger --agent acme\n  \
        openapi-server credits ledger --agent acme --lines 1000 --json")]
    Ledger {
        /// The agent
        #[arg(long)]
        agent: AgentId,
        /// Number of entries
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        lines: u32,
    },
}

/// A balance.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Pool {
    /// Credits of the plan, which are spent first
    Plan,
    /// Credits beyond the plan
    Topup,
}

/// The printed form of an account.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    agent_id: AgentId,
    unlimited: bool,
    plan: u64,
    top_up: u64,
    available: u64,
    low_at: Option<u64>,
    reserved: u64,
    rates: CreditRates,
}

impl Credits {
    pub fn run(self, context: &CommandContext) -> Result<(), CliError> {
        let json = context.json();
        context.with_platform(Contents::Closed, async |platform| {
            let (agent, change) = match self {
                Credits::Show { agent } => {
                    let account = platform.credits(&agent).await?;
                    return show(context, json, agent, &account);
                }
                Credits::Ledger { agent, lines } => {
                    let query = LedgerQuery { agent, before: None, limit: lines };
                    let mut entries = platform.credit_entries(&query).await?;
                    entries.reverse();
                    let heads = ["at", "what", "plan", "top-up", "available", "who", "note"];
                    return context.print_table(json, &entries, &heads, row);
                }
                Credits::Set { credits, agent, pool, low_at, note } => {
                    if let Some(threshold) = low_at {
                        let change = CreditChange::LowAt(threshold);
                        let account = platform.change_credits(&context.operator(), &agent, &change).await?;
                        if credits.is_none() {
                            return show(context, json, agent, &account);
                        }
                    }
                    let credits = credits.unwrap_or_default();
                    let pool = match pool {
                        Pool::Plan => CreditPool::Plan,
                        Pool::Topup => CreditPool::TopUp,
                    };
                    (agent, CreditChange::Set { pool, credits, note })
                }
                Credits::Topup { credits, agent, note } => (agent, CreditChange::TopUp { credits, note }),
                Credits::Unlimited { agent, off } => (agent, CreditChange::Unlimited(!off)),
                Credits::Rates { agent, per_page, characters_per_page } => {
                    (agent, CreditChange::Rates { per_page, characters_per_page })
                }
            };
            let account = platform.change_credits(&context.operator(), &agent, &change).await?;
            show(context, json, agent, &account)
        })
    }
}

fn show(
    context: &CommandContext,
    json: bool,
    agent: AgentId,
    account: &CreditAccount,
) -> Result<(), CliError> {
    let CreditAccount { unlimited, plan, top_up, rates, low_at, .. } = *account;
    let (available, reserved) = (account.available(), account.reserved());
    let shown = Shown { agent_id: agent, unlimited, plan, top_up, available, low_at, reserved, rates };
    let charged = if unlimited { "nothing" } else { "every extraction" };
    let lines = [
        ("agent", shown.agent_id.to_string()),
        ("charged", charged.to_owned()),
        ("available", available.to_string()),
        ("low below", low_at.map_or_else(String::new, |threshold| threshold.to_string())),
        ("of the plan", plan.to_string()),
        ("topped up", top_up.to_string()),
        ("set aside", reserved.to_string()),
        ("a page costs", rates.per_page.to_string()),
        ("characters of a page", rates.characters_per_page.to_string()),
    ];
    context.print_record(json, &shown, &lines)
}

fn row(entry: &CreditEntry) -> Vec<String> {
    vec![
        entry.at.to_string(),
        entry.kind.as_str().to_owned(),
        format!("{:+}", entry.plan),
        format!("{:+}", entry.top_up),
        entry.available.to_string(),
        who(&entry.actor),
        entry.note.clone().unwrap_or_default(),
    ]
}
