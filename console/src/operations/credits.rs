//! The credits of an agent, which extractions and replies of models consume.

use openapi_core::admin::{Admin, CreditChange};
use openapi_core::audit::AuditAction;
use openapi_core::credits::{CreditAccount, CreditEntry, CreditPool};
use openapi_core::json::json_object;
use openapi_core::operation::Method;
use openapi_core::reply::{ApiError, Reply};
use openapi_core::storage::LedgerQuery;
use openapi_core::validation::{ValidationCode, ValidationIssue};
use openapi_core::values::{AgentId, Line, PlatformId, Timestamp};

use super::types::{ActorView, EntryPosition, Logged, OneAgent, page_of};
use crate::capability::Capability;
use crate::context::Context;
use crate::errors::{failed, refused};
use crate::input::{Limit, input};
use crate::operation::{Access, Metadata, Operation, Traits};

/// The account of an agent.
pub struct AccountView(CreditAccount);

json_object! { AccountView as "CreditAccount" = |view| {
    "isUnlimited": bool { "description": "Whether nothing is charged; the balances stay." } = view.0.unlimited,
    "available": u64 { "description": "What can be spent." } = view.0.available(),
    "plan": u64 { "description": "What is left of the plan, which is spent first." } = view.0.plan,
    "topUp": u64 { "description": "What was bought beyond it." } = view.0.top_up,
    "reserved": u64 { "description": "What is set aside for work that runs." } = view.0.reserved(),
    "lowAt": Option<u64> { "description": "The event `credits.low` comes when fewer are available." } = view.0.low_at,
    "perPage": u32 { "description": "What a page of an extraction costs." } = view.0.rates.per_page,
    "charactersPerPage": u32 { "description": "How many characters of a document without pages are one." } = view.0.rates.characters_per_page,
} }

/// `credits.show`
pub struct Show;

impl Operation for Show {
    const METADATA: Metadata = Metadata {
        name: "credits.show",
        summary: "Shows the credits of an agent, and what an extraction costs.",
        method: Method::Get,
        path: "/agents/{agent}/credits",
        access: Access::Agent(Capability::CreditsRead),
        step_up: false,
        audit: &[],
        command: "credits show --agent AGENT",
        traits: Traits::NONE,
    };
    type Input = OneAgent;
    type Output = AccountView;

    async fn run(cx: Context<'_>, input: OneAgent) -> Result<Reply<AccountView>, ApiError> {
        let account = cx.platform().credits(&input.agent).await.map_err(failed)?;
        Ok(Reply::ok("Credits retrieved successfully", AccountView(account)))
    }
}

input! {
    /// A change of an account.
    ChangeCredits {
        "agent" Path agent: AgentId,
        "topUp" Body top_up: Option<u64> { "description": "Credits to add beyond the plan." },
        "plan" Body plan: Option<u64> { "description": "The balance of the plan from now on." },
        "lowAt" Body low_at: Option<u64> { "description": "The threshold of the event `credits.low`; 0 for none." },
        "isUnlimited" Body is_unlimited: Option<bool>,
        "perPage" Body per_page: Option<u32>,
        "charactersPerPage" Body characters_per_page: Option<u32>,
        "note" Body note: Option<Line<500>> { "description": "The reason, for the ledger: of `topUp` and `plan`." },
    }
}

impl ChangeCredits {
    /// The change. Several at once could be done in part.
    fn change(&self) -> Result<CreditChange, ApiError> {
        let note = self.note.as_ref().map(ToString::to_string);
        let rates = self.per_page.is_some() || self.characters_per_page.is_some();
        let mut changes = [
            self.top_up.map(|credits| CreditChange::TopUp { credits, note: note.clone() }),
            self.plan.map(|credits| CreditChange::Set {
                pool: CreditPool::Plan,
                credits,
                note: note.clone(),
            }),
            self.low_at.map(CreditChange::LowAt),
            self.is_unlimited.map(CreditChange::Unlimited),
            rates.then_some(CreditChange::Rates {
                per_page: self.per_page,
                characters_per_page: self.characters_per_page,
            }),
        ]
        .into_iter()
        .flatten();
        match (changes.next(), changes.next()) {
            (Some(change), None) => Ok(change),
            (_, second) => {
                let (name, code) = match second {
                    Some(_) => ("topUp", ValidationCode::Conflict),
                    None => ("topUp", ValidationCode::Required),
                };
                let text = "must be the one change of the request: topUp, plan, lowAt, isUnlimited, or perPage and charactersPerPage";
                Err(refused(name, ValidationIssue::new(code, text)))
            }
        }
    }
}

/// `credits.change`
pub struct Change;

impl Operation for Change {
    const METADATA: Metadata = Metadata {
        name: "credits.change",
        summary: "Changes the credits of an agent in one respect. A balance that is set is charged from then on.",
        method: Method::Post,
        path: "/agents/{agent}/credits",
        access: Access::Agent(Capability::CreditsManage),
        step_up: true,
        audit: &[AuditAction::CreditsChange],
        command: "credits topup CREDITS --agent AGENT",
        traits: Traits::NONE,
    };
    type Input = ChangeCredits;
    type Output = AccountView;

    async fn run(cx: Context<'_>, input: ChangeCredits) -> Result<Reply<AccountView>, ApiError> {
        let change = input.change()?;
        let account = cx.platform().change_credits(cx.actor, &input.agent, &change).await.map_err(failed)?;
        Ok(Reply::ok("Credits changed successfully", AccountView(account)))
    }
}

input! {
    /// A part of the ledger.
    ReadLedger {
        "agent" Path agent: AgentId,
        "limit" Query limit: Limit,
        "beforeAt" Query before_at: Option<Timestamp> { "description": "Together with `beforeId`: only entries before this one." },
        "beforeId" Query before_id: Option<PlatformId>,
    }
}

/// An entry of the ledger.
pub struct EntryView(CreditEntry, ActorView);

json_object! { EntryView as "CreditEntry" = |view| {
    "id": PlatformId = view.0.id,
    "at": Timestamp = view.0.at,
    "kind": &'static str { "enum": ["set", "topUp", "charge", "chat", "refund"] } = view.0.kind.as_str(),
    "plan": i64 { "description": "How the plan changed." } = view.0.plan,
    "topUp": i64 { "description": "How the credits beyond it changed." } = view.0.top_up,
    "available": u64 { "description": "What could be spent afterwards." } = view.0.available,
    "actor": ActorView = view.1,
    "note": Option<String> = view.0.note,
} }

/// A page of the ledger.
pub struct LedgerPage {
    entries: Vec<EntryView>,
    next: Option<EntryPosition>,
}

json_object! { LedgerPage as "CreditLedger" = |page| {
    "entries": Vec<EntryView> { "description": "The newest first." } = page.entries,
    "next": Option<EntryPosition> { "description": "What to ask for next; `null` at the end of the ledger." } = page.next,
} }

fn logged(entry: &CreditEntry) -> Logged<'_> {
    (entry.at, entry.id, &entry.actor)
}

/// `credits.ledger`
pub struct Ledger;

impl Operation for Ledger {
    const METADATA: Metadata = Metadata {
        name: "credits.ledger",
        summary: "Lists what moved the credits of an agent, the newest first.",
        method: Method::Get,
        path: "/agents/{agent}/credits/ledger",
        access: Access::Agent(Capability::CreditsRead),
        step_up: false,
        audit: &[],
        command: "credits ledger --agent AGENT",
        traits: Traits::NONE,
    };
    type Input = ReadLedger;
    type Output = LedgerPage;

    async fn run(cx: Context<'_>, input: ReadLedger) -> Result<Reply<LedgerPage>, ApiError> {
        let (before, limit) = (input.before_at.zip(input.before_id), input.limit.0);
        let query = LedgerQuery { agent: input.agent, before, limit };
        let found = cx.platform().credit_entries(&query).await.map_err(failed)?;
        let (entries, next) = page_of(&cx, found, limit, logged, EntryView).await?;
        Ok(Reply::ok("Ledger retrieved successfully", LedgerPage { entries, next }))
    }
}
