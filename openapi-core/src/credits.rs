//! Credits: what extractions cost, and the account of an agent that they are taken from (contract 13).
//!
//! An account is plain data with a version; every change is computed here and stored by
//! [`CreditStore::save_credits`](crate::storage::CreditStore::save_credits) if nothing came in between. So credits are
//! conserved whatever happens at once: what is in the pools and what is reserved always is the sum of the ledger.

use serde::{Deserialize, Serialize};

use crate::access::Actor;
use crate::values::{PlatformId, Timestamp};

/// The most credits that a pool holds.
pub const MAX_CREDITS: u64 = 1_000_000_000_000;

/// The credits of an agent. An agent without an account is not charged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditAccount {
    /// How often it was saved.
    pub version: u64,
    /// Whether nothing is charged; the balances stay as they are.
    pub unlimited: bool,
    /// What is left of the plan: spent first.
    pub plan: u64,
    /// What was bought beyond it.
    pub top_up: u64,
    /// What an extraction costs.
    pub rates: CreditRates,
    /// The event `credits.low` comes when fewer are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_at: Option<u64>,
    /// What is set aside for extractions that run. It is in neither pool.
    pub reservations: Vec<Reservation>,
    /// What is set aside for the jobs of the agent, all together; each job knows its part.
    #[serde(default, skip_serializing_if = "JobCredits::is_none")]
    pub in_jobs: JobCredits,
}

/// Credits that are set aside for jobs. Unlike a [`Reservation`] they never go back by themselves: every job ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobCredits {
    /// Of the plan.
    pub plan: u64,
    /// Of what was bought.
    pub top_up: u64,
}

impl JobCredits {
    /// Whether there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == JobCredits::default()
    }

    /// All of them.
    #[must_use]
    pub const fn credits(self) -> u64 {
        self.plan.saturating_add(self.top_up)
    }
}

/// What an extraction costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditRates {
    /// Credits for each page.
    pub per_page: u32,
    /// How many characters of a document without pages are charged as one, at least 1.
    pub characters_per_page: u32,
}

impl Default for CreditRates {
    fn default() -> Self {
        CreditRates { per_page: 1, characters_per_page: 3_000 }
    }
}

impl CreditRates {
    /// What a document costs: by its pages, or by its characters when it has no pages. The least is one page.
    #[must_use]
    pub fn cost(&self, pages: Option<u32>, characters: u64) -> u64 {
        let pages = match pages {
            Some(pages) => u64::from(pages),
            None => characters.div_ceil(u64::from(self.characters_per_page.max(1))),
        };
        pages.max(1).saturating_mul(u64::from(self.per_page))
    }
}

/// Credits that are set aside while an extraction runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    /// The extraction.
    pub id: PlatformId,
    /// Of the plan.
    pub plan: u64,
    /// Of what was bought.
    pub top_up: u64,
    /// When they go back by themselves: the server that took them is gone then.
    pub expires_at: Timestamp,
}

impl Reservation {
    /// All of them.
    #[must_use]
    pub const fn credits(&self) -> u64 {
        self.plan.saturating_add(self.top_up)
    }
}

/// A pool of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CreditPool {
    /// Of the plan: spent first.
    Plan,
    /// Bought beyond it.
    TopUp,
}

/// Too few credits: 402 INSUFFICIENT_CREDITS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{required} credits are needed and {available} are there")]
pub struct CreditShortage {
    /// What the extraction costs.
    pub required: u64,
    /// What both pools hold.
    pub available: u64,
}

impl CreditAccount {
    /// What can be spent.
    #[must_use]
    pub const fn available(&self) -> u64 {
        self.plan.saturating_add(self.top_up)
    }

    /// The threshold, if the agent is charged and fewer credits are available.
    #[must_use]
    pub fn undercut_threshold(&self) -> Option<u64> {
        self.low_at.filter(|threshold| !self.unlimited && self.available() < *threshold)
    }

    /// What is set aside.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.reservations.iter().map(Reservation::credits).fold(self.in_jobs.credits(), u64::saturating_add)
    }

    /// Sets credits aside, of the plan first.
    ///
    /// # Errors
    /// When there are too few: nothing is set aside then.
    pub fn reserve(
        &mut self,
        id: PlatformId,
        cost: u64,
        expires_at: Timestamp,
    ) -> Result<(), CreditShortage> {
        let JobCredits { plan, top_up } = self.take(cost)?;
        self.reservations.push(Reservation { id, plan, top_up, expires_at });
        Ok(())
    }

    fn take(&mut self, cost: u64) -> Result<JobCredits, CreditShortage> {
        let available = self.available();
        if cost > available {
            return Err(CreditShortage { required: cost, available });
        }
        let plan = cost.min(self.plan);
        let top_up = cost - plan;
        self.plan -= plan;
        self.top_up -= top_up;
        Ok(JobCredits { plan, top_up })
    }

    /// Sets credits aside for a job, of the plan first, and returns what the job has to keep.
    ///
    /// # Errors
    /// When there are too few: nothing is set aside then.
    pub fn reserve_for_job(&mut self, cost: u64) -> Result<JobCredits, CreditShortage> {
        let taken = self.take(cost)?;
        self.in_jobs.plan = self.in_jobs.plan.saturating_add(taken.plan);
        self.in_jobs.top_up = self.in_jobs.top_up.saturating_add(taken.top_up);
        Ok(taken)
    }

    /// Spends at most `cost` of what is set aside for a job and gives back the rest; returns what was spent.
    pub fn settle_job(&mut self, reserved: JobCredits, cost: u64) -> JobCredits {
        let plan = cost.min(reserved.plan);
        let top_up = (cost - plan).min(reserved.top_up);
        self.in_jobs.plan = self.in_jobs.plan.saturating_sub(reserved.plan);
        self.in_jobs.top_up = self.in_jobs.top_up.saturating_sub(reserved.top_up);
        self.plan = self.plan.saturating_add(reserved.plan - plan);
        self.top_up = self.top_up.saturating_add(reserved.top_up - top_up);
        JobCredits { plan, top_up }
    }

    /// Spends what was set aside; none when it is not any more.
    pub fn settle(&mut self, id: PlatformId) -> Option<Reservation> {
        let at = self.reservations.iter().position(|reservation| reservation.id == id)?;
        Some(self.reservations.remove(at))
    }

    /// Spends at most `cost` of what was set aside and gives back the rest; what was spent, or none when it is not set
    /// aside any more.
    pub fn settle_partly(&mut self, id: PlatformId, cost: u64) -> Option<Reservation> {
        let reservation = self.settle(id)?;
        let plan = cost.min(reservation.plan);
        let top_up = (cost - plan).min(reservation.top_up);
        self.give_back(&Reservation {
            plan: reservation.plan - plan,
            top_up: reservation.top_up - top_up,
            ..reservation.clone()
        });
        Some(Reservation { plan, top_up, ..reservation })
    }

    /// Gives back what was set aside; whether there was something.
    pub fn release(&mut self, id: PlatformId) -> bool {
        let settled = self.settle(id);
        if let Some(reservation) = &settled {
            self.give_back(reservation);
        }
        settled.is_some()
    }

    /// Gives back what an entry of the ledger says was spent, and the entry that says so. It has the id of the other
    /// and sorts right after it, so that a ledger takes it only once.
    pub fn refund(&mut self, charge: &CreditEntry) -> CreditEntry {
        self.plan = self.plan.saturating_add(charge.plan.unsigned_abs());
        self.top_up = self.top_up.saturating_add(charge.top_up.unsigned_abs());
        CreditEntry {
            at: charge.at.plus_millis(1),
            kind: CreditEntryKind::Refund,
            plan: charge.plan.saturating_neg(),
            top_up: charge.top_up.saturating_neg(),
            available: self.available(),
            ..charge.clone()
        }
    }

    /// Gives back everything that was set aside until `now` or before; whether there was something.
    pub fn release_expired(&mut self, now: Timestamp) -> bool {
        let (expired, remaining): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.reservations).into_iter().partition(|it| it.expires_at <= now);
        self.reservations = remaining;
        expired.iter().for_each(|reservation| self.give_back(reservation));
        !expired.is_empty()
    }

    fn give_back(&mut self, reservation: &Reservation) {
        self.plan = self.plan.saturating_add(reservation.plan);
        self.top_up = self.top_up.saturating_add(reservation.top_up);
    }

    /// The balance of a pool.
    #[must_use]
    pub const fn balance(&self, pool: CreditPool) -> u64 {
        match pool {
            CreditPool::Plan => self.plan,
            CreditPool::TopUp => self.top_up,
        }
    }

    /// Sets the balance of a pool and tells by how much it changed. What is set aside stays so.
    pub fn set(&mut self, pool: CreditPool, credits: u64) -> i64 {
        let credits = credits.min(MAX_CREDITS);
        let before = self.balance(pool);
        *match pool {
            CreditPool::Plan => &mut self.plan,
            CreditPool::TopUp => &mut self.top_up,
        } = credits;
        difference(before, credits)
    }
}

/// How a balance changed.
fn difference(before: u64, after: u64) -> i64 {
    let signed = |credits: u64| i64::try_from(credits).unwrap_or(i64::MAX);
    signed(after).saturating_sub(signed(before))
}

/// An entry of the ledger: a change of what an agent has, what is set aside counted as still there. All entries add up
/// to what both pools, the reservations and the jobs hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditEntry {
    /// The id; of an extraction it is its reservation's. Entries sort by `at`, then by id.
    pub id: PlatformId,
    /// When.
    pub at: Timestamp,
    /// What happened.
    pub kind: CreditEntryKind,
    /// How the plan changed.
    pub plan: i64,
    /// How the credits beyond it changed.
    pub top_up: i64,
    /// What could be spent afterwards.
    pub available: u64,
    /// Who did it.
    pub actor: Actor,
    /// The id of the request.
    pub request_id: Option<String>,
    /// What an operator noted.
    pub note: Option<String>,
}

/// What an entry of the ledger tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CreditEntryKind {
    /// An operator set a balance.
    Set,
    /// An operator added credits.
    TopUp,
    /// An extraction was paid.
    Charge,
    /// A turn of the chat was paid.
    Chat,
    /// What an extraction had cost was given back, because its answer reached nobody.
    Refund,
}

impl CreditEntryKind {
    /// The word in the ledger.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            CreditEntryKind::Set => "set",
            CreditEntryKind::TopUp => "topUp",
            CreditEntryKind::Charge => "charge",
            CreditEntryKind::Chat => "chat",
            CreditEntryKind::Refund => "refund",
        }
    }
}
