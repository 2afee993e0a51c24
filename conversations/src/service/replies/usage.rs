//! Budgets of agents: turns and tokens of a day, and credits. A model's usage is reserved before it runs and settled
//! afterwards, however the reply ended. A reservation that nobody settles, because its process died or the store failed,
//! is charged as a whole when it expires: nobody knows what the model has sent by then.

use std::collections::HashMap;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;

use openapi_core::access::Actor;
use openapi_core::credits::{CreditAccount, CreditEntry, CreditEntryKind};
use openapi_core::events::EventActor;
use openapi_core::json::RawObject;
use openapi_core::storage::retry::{MAX_ATTEMPTS, RetryOn, retry_with};
use openapi_core::storage::{
    CreditWrite, Effects, RecordKind, RecordsWrite, StorageError, StorageErrorKind, StoredRecord,
};
use openapi_core::values::{AgentId, ConversationId, PlatformId, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::reply::Job;
use crate::conversation::DAY_MILLIS;
use crate::service::agent_view::AgentView;
use crate::service::repository::Repository;
use crate::{TokenBudget, Usage, VisitorId};

/// How long a reservation outlasts the longest turn, if its process ends without settling it.
const GRACE_MILLIS: u64 = 60_000;
/// How much longer credits stay reserved: until a later turn of the agent charges the expired reservation, or another use
/// of the account releases them.
const CREDITS_GRACE_MILLIS: i64 = DAY_MILLIS;
/// The tokens that a step of the price pays for.
const TOKENS_OF_STEP: u64 = 1_000;

/// How many queues there are. Agents with the same hash share one.
const QUEUES: usize = 64;

/// The queues in which the changes of an agent's usage wait for each other, and the share of its daily turns that each
/// agent has used.
pub(crate) struct Usages {
    queues: Vec<async_lock::Mutex<()>>,
    /// The day, and the shares on it.
    shares: Mutex<(i64, HashMap<AgentId, f64>)>,
}

impl Default for Usages {
    fn default() -> Self {
        let queues = (0..QUEUES).map(|_| async_lock::Mutex::new(())).collect();
        Usages { queues, shares: Mutex::default() }
    }
}

impl Usages {
    fn queue_of(&self, agent: &AgentId) -> &async_lock::Mutex<()> {
        let queue = crc32fast::hash(agent.as_str().as_bytes()) as usize % QUEUES;
        &self.queues[queue]
    }

    /// The share of its daily turns that an agent has used on the day of `now`, 0 to 1, as far as this process knows.
    pub(crate) fn share_of_day(&self, agent: &AgentId, now: Timestamp) -> f64 {
        let shares = self.shares.lock();
        let (day, shares) = &*shares;
        shares.get(agent).filter(|_| *day == day_of(now)).copied().unwrap_or(0.0)
    }

    fn note_share(&self, agent: &AgentId, now: Timestamp, share: f64) {
        let mut shares = self.shares.lock();
        let (day, shares) = &mut *shares;
        if std::mem::replace(day, day_of(now)) != *day {
            shares.clear();
        }
        shares.insert(agent.clone(), share);
    }
}

/// The UTC day of an instant, in days since the epoch.
const fn day_of(now: Timestamp) -> i64 {
    now.millis().div_euclid(DAY_MILLIS)
}

/// What an agent has used on a UTC day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DayUsage {
    /// The day, in days since the epoch.
    day: i64,
    turns: u64,
    tokens: u64,
    cost: f64,
    held: Vec<Reservation>,
}

/// The most that a running turn may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reservation {
    id: PlatformId,
    tokens: u64,
    cost: f64,
    until: Timestamp,
    /// The turn; [`None`] in records of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<ReservedTurn>,
}

/// The turn that a reservation is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReservedTurn {
    conversation: ConversationId,
    turn: String,
    visitor: VisitorId,
    request_id: String,
}

impl ReservedTurn {
    fn of(job: &Job) -> Self {
        ReservedTurn {
            conversation: job.conversation.id,
            turn: job.turn.clone(),
            visitor: job.conversation.visitor_id,
            request_id: job.request_id.clone(),
        }
    }
}

impl DayUsage {
    /// The usage on the day of `now`, and the reservations that have expired, which are used. A new day starts at zero.
    fn at(mut self, now: Timestamp) -> (Self, Vec<Reservation>) {
        let day = day_of(now);
        if self.day != day {
            self = DayUsage { day, held: self.held, ..DayUsage::default() };
        }
        let (held, expired) = std::mem::take(&mut self.held).into_iter().partition(|held| held.until > now);
        self.held = held;
        let expired: Vec<Reservation> = expired;
        for reservation in expired.iter().filter(|expired| day_of(expired.until) == day) {
            self.tokens = self.tokens.saturating_add(reservation.tokens);
            self.cost += reservation.cost;
        }
        (self, expired)
    }

    /// What is neither used nor reserved.
    fn left(&self, view: &AgentView) -> TokenBudget {
        let llm = &view.settings.chat.llm;
        let tokens = self.held.iter().map(|held| held.tokens).fold(self.tokens, u64::saturating_add);
        let cost = self.held.iter().map(|held| held.cost).sum::<f64>() + self.cost;
        TokenBudget {
            tokens: Some(llm.tokens_per_day)
                .filter(|limit| *limit > 0)
                .map(|limit| limit.saturating_sub(tokens)),
            cost: llm.cost_per_day.map(|limit| limit - cost),
        }
    }

    fn has_room(&self, view: &AgentView, most: Usage) -> bool {
        let left = self.left(view);
        left.tokens.is_none_or(|tokens| most.tokens() <= tokens)
            && left.cost.is_none_or(|cost| most.cost <= cost)
    }
}

/// The budgets of agents.
pub(crate) struct Budgets {
    pub(crate) repository: Arc<Repository>,
    pub(crate) usages: Arc<Usages>,
    /// The longest turn, in milliseconds.
    pub(crate) longest_turn: u64,
    pub(crate) credits_per_thousand_tokens: u32,
}

impl Budgets {
    /// Changes the stored usage of an agent. `change` returns whether there is anything to store.
    async fn change_usage(
        &self,
        job: &Job,
        change: impl FnMut(&mut DayUsage) -> bool + Send,
    ) -> Result<(), StorageError> {
        let agent = &job.view.agent.id;
        let kind = RecordKind::ChatUsage;
        // The turns of this process queue up instead of losing races.
        let _turn = self.usages.queue_of(agent).lock().await;
        let exhausted = || StorageErrorKind::Stale.into();
        retry_with(MAX_ATTEMPTS, change, exhausted, |mut change| async move {
            let stored = self.repository.storage.record(Some(agent), &kind.into()).await?;
            let version = stored.as_ref().map_or(0, |stored| stored.version);
            let usage: DayUsage =
                stored.and_then(|stored| serde_json::from_str(stored.body.as_str()).ok()).unwrap_or_default();
            let (mut usage, expired) = usage.at(self.repository.platform.now());
            // First the credits: an account charges a reservation once, however often this is repeated.
            for Reservation { id, tokens, turn, .. } in &expired {
                if let Some(turn) = turn {
                    let note = format!("{tokens} tokens, all that was reserved: its process ended");
                    self.settle_credits(agent, turn, *id, self.credits_for(*tokens), &note).await?;
                }
            }
            if !change(&mut usage) && expired.is_empty() {
                return Ok(Break(()));
            }
            let text = serde_json::to_string(&usage).unwrap_or_default();
            let body = RawObject::from_text(text).map_err(|_| StorageErrorKind::Internal)?;
            let record = StoredRecord::single(kind, version + 1, body);
            let write = RecordsWrite::save(record, Effects::default());
            let saved = self.repository.storage.save_records(Some(agent), &write).await;
            Ok(saved.retry_on(&[StorageErrorKind::Stale])?.map_or(Continue(change), Break))
        })
        .await
    }

    /// Counts a turn and returns the rest of the day's budget; [`None`] if the day's turns are used up.
    pub(super) async fn count_turn(&self, job: &Job) -> Result<Option<TokenBudget>, StorageError> {
        let chat = &job.view.settings.chat;
        let limit = u64::from(chat.turns_per_day);
        if limit == 0 && chat.llm.tokens_per_day == 0 && chat.llm.cost_per_day.is_none() {
            return Ok(Some(TokenBudget::default()));
        }
        let (mut budget, mut turns) = (None, 0);
        self.change_usage(job, |usage| {
            let is_counted = limit > 0 && usage.turns < limit;
            budget = (limit == 0 || is_counted).then(|| usage.left(&job.view));
            usage.turns += u64::from(is_counted);
            turns = usage.turns;
            is_counted
        })
        .await?;
        if limit > 0 {
            let share = turns as f64 / limit as f64;
            self.usages.note_share(&job.view.agent.id, self.repository.platform.now(), share);
        }
        Ok(budget)
    }

    /// Reserves the most that a turn may use. Returns whether budget and credits allow it.
    pub(super) async fn reserve(&self, job: &Job, id: PlatformId, most: Usage) -> Result<bool, StorageError> {
        let until = self.reserved_until();
        let mut has_room = false;
        self.change_usage(job, |usage| {
            has_room = usage.has_room(&job.view, most);
            if has_room {
                let turn = Some(ReservedTurn::of(job));
                usage.held.push(Reservation { id, tokens: most.tokens(), cost: most.cost, until, turn });
            }
            has_room
        })
        .await?;
        if has_room && !self.reserve_credits(job, id, self.credits_for(most.tokens())).await? {
            self.settle_usage(job, id, Usage::default()).await?;
            has_room = false;
        }
        Ok(has_room)
    }

    /// Replaces a reservation with what was used. Returns the credits that it cost.
    pub(super) async fn settle(&self, job: &Job, id: PlatformId, used: Usage) -> Result<u64, StorageError> {
        let note = format!("{} tokens", used.tokens());
        let (agent, turn) = (&job.view.agent.id, ReservedTurn::of(job));
        // Last what an expired reservation is found by, so that neither is ever left uncharged.
        let credits = self.settle_credits(agent, &turn, id, self.credits_for(used.tokens()), &note).await?;
        self.settle_usage(job, id, used).await?;
        Ok(credits)
    }

    async fn settle_usage(&self, job: &Job, id: PlatformId, used: Usage) -> Result<(), StorageError> {
        self.change_usage(job, |usage| {
            usage.held.retain(|held| held.id != id);
            usage.tokens = usage.tokens.saturating_add(used.tokens());
            usage.cost += used.cost;
            true
        })
        .await
    }

    fn reserved_until(&self) -> Timestamp {
        let millis = self.longest_turn.saturating_add(GRACE_MILLIS);
        self.repository.platform.now().plus_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn credits_for(&self, tokens: u64) -> u64 {
        let steps = tokens.div_ceil(TOKENS_OF_STEP);
        steps.saturating_mul(u64::from(self.credits_per_thousand_tokens))
    }

    async fn reserve_credits(&self, job: &Job, id: PlatformId, cost: u64) -> Result<bool, StorageError> {
        let until = self.reserved_until().plus_millis(CREDITS_GRACE_MILLIS);
        let mut is_enough = true;
        self.change_credits(&job.view.agent.id, |account, now| {
            account.release_expired(now);
            is_enough = account.reserve(id, cost, until).is_ok();
            is_enough.then_some(None)
        })
        .await?;
        Ok(is_enough)
    }

    async fn settle_credits(
        &self,
        agent: &AgentId,
        turn: &ReservedTurn,
        id: PlatformId,
        cost: u64,
        note: &str,
    ) -> Result<u64, StorageError> {
        let mut spent = 0;
        let actor = Actor::Visitor(turn.visitor.to_string());
        let note = format!("conversation {}, turn {}, {note}", turn.conversation, turn.turn);
        self.change_credits(agent, |account, now| {
            let paid = account.settle_partly(id, cost)?;
            spent = paid.credits();
            let signed = |credits: u64| i64::try_from(credits).unwrap_or(i64::MAX).saturating_neg();
            Some((spent > 0).then(|| CreditEntry {
                id,
                at: now,
                kind: CreditEntryKind::Chat,
                plan: signed(paid.plan),
                top_up: signed(paid.top_up),
                available: account.available(),
                actor: actor.clone(),
                request_id: Some(turn.request_id.clone()),
                note: Some(note.clone()),
            }))
        })
        .await?;
        Ok(spent)
    }

    /// Changes the account of an agent, if it is charged. `change` returns [`None`] to leave the account as it is.
    async fn change_credits(
        &self,
        agent: &AgentId,
        change: impl FnMut(&mut CreditAccount, Timestamp) -> Option<Option<CreditEntry>> + Send,
    ) -> Result<(), StorageError> {
        let exhausted = || StorageErrorKind::Stale.into();
        retry_with(MAX_ATTEMPTS, change, exhausted, |mut change| async move {
            let account =
                self.repository.storage.credit_account(agent).await?.filter(|account| !account.unlimited);
            let Some(mut account) = account else { return Ok(Break(())) };
            let at = self.repository.platform.now();
            let before = account.clone();
            let Some(entry) = change(&mut account, at) else { return Ok(Break(())) };
            account.version += 1;
            let platform = &self.repository.platform;
            let events = platform.credits_events(EventActor::System, &before, &account, at);
            let write = CreditWrite {
                at,
                account: Some(account),
                entry,
                document: None,
                effects: Effects::default().with_events(events),
            };
            let saved = self.repository.storage.save_credits(agent, &write).await;
            Ok(saved.retry_on(&[StorageErrorKind::Stale])?.map_or(Continue(change), Break))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_with_nothing_but_what_is_held() {
        let at = |millis| Timestamp::from_millis(millis);
        let id = PlatformId::from_bytes([1; 12]);
        let held = Reservation { id, tokens: 5, cost: 0.1, until: at(86_400_500), turn: None };
        let usage = DayUsage { day: 0, turns: 7, tokens: 9, cost: 1.0, held: vec![held.clone()] };
        assert_eq!(usage.clone().at(at(86_399_999)), (usage.clone(), Vec::new()));
        let (next, expired) = usage.at(at(86_400_000));
        assert_eq!((next.day, next.turns, next.tokens), (1, 0, 0));
        assert_eq!((&next.held, expired), (&vec![held.clone()], Vec::new()));
        let (later, expired) = next.clone().at(at(86_400_500));
        assert!(later.held.is_empty());
        assert_eq!(
            (later.tokens, later.cost, &expired),
            (5, 0.1, &vec![held]),
            "what nobody settles is used"
        );
        let (next_day, expired) = next.at(at(2 * 86_400_000));
        assert_eq!((next_day.tokens, expired.len()), (0, 1), "of the day before");
    }
}
