//! The usage of chats: turns and tokens of a day, and credits. Reserved before a model runs, settled afterwards.

use openapi_core::access::Actor;
use openapi_core::credits::{CreditAccount, CreditEntry, CreditEntryKind};
use openapi_core::json::RawObject;
use openapi_core::storage::{CreditWrite, Effects, RecordKind, StorageError, StorageErrorKind, StoredRecord};
use openapi_core::values::{PlatformId, Timestamp};
use serde::{Deserialize, Serialize};

use super::agent_view::AgentView;
use super::job::Job;
use super::state::Inner;
use super::usages::day_of;
use crate::conversations::ATTEMPTS;
use crate::{TokenBudget, Usage};

/// How long what was set aside stays so beyond the longest turn, when nothing more is heard of its process.
const BEYOND_MILLIS: u64 = 60_000;
/// Tokens that a step of credits stands for.
const TOKENS_OF_STEP: u64 = 1_000;

/// What an agent's chat has used on a day (UTC).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DayUsage {
    /// The day, in days since the epoch.
    day: i64,
    turns: u64,
    tokens: u64,
    cost: f64,
    held: Vec<Held>,
}

/// What is set aside for a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Held {
    id: PlatformId,
    tokens: u64,
    cost: f64,
    until: Timestamp,
}

impl DayUsage {
    /// The usage of the day of `now`: another day begins with nothing, and what nobody settles is free again.
    fn at(mut self, now: Timestamp) -> Self {
        let day = day_of(now);
        if self.day != day {
            self = DayUsage { day, held: self.held, ..DayUsage::default() };
        }
        self.held.retain(|held| held.until > now);
        self
    }

    /// What is neither used nor set aside.
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

impl Inner {
    /// Changes the usage of an agent by what is stored; `change` says whether there is something to store.
    async fn change_usage(
        &self,
        job: &Job,
        mut change: impl FnMut(&mut DayUsage) -> bool + Send,
    ) -> Result<(), StorageError> {
        let storage = &self.storage;
        let agent = &job.view.agent.id;
        let kind = RecordKind::ChatUsage;
        // Turns of this process wait for each other instead of losing races.
        let _turn = self.shared.usage.queue_of(agent).lock().await;
        for _ in 0..ATTEMPTS {
            let stored = storage.record(agent, kind).await?;
            let version = stored.as_ref().map_or(0, |stored| stored.version);
            let usage: DayUsage =
                stored.and_then(|stored| serde_json::from_str(stored.body.as_str()).ok()).unwrap_or_default();
            let mut usage = usage.at(self.platform.now());
            if !change(&mut usage) {
                return Ok(());
            }
            let text = serde_json::to_string(&usage).unwrap_or_default();
            let body = RawObject::from_text(text).map_err(|_| StorageErrorKind::Internal)?;
            let record = StoredRecord { kind, version: version + 1, body };
            match storage.save_record(agent, &record, &Effects::default()).await {
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                outcome => return outcome,
            }
        }
        Err(StorageErrorKind::Stale.into())
    }

    /// Counts a turn, and tells what the day has left for it; none where it has no room for one more.
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
            self.shared.usage.note_share(&job.view.agent.id, self.platform.now(), share);
        }
        Ok(budget)
    }

    /// Sets aside the most that a turn may use; whether budget and credits allow it.
    pub(super) async fn set_aside(
        &self,
        job: &Job,
        id: PlatformId,
        most: Usage,
    ) -> Result<bool, StorageError> {
        let until = self.held_until();
        let mut has_room = false;
        self.change_usage(job, |usage| {
            has_room = usage.has_room(&job.view, most);
            if has_room {
                usage.held.push(Held { id, tokens: most.tokens(), cost: most.cost, until });
            }
            has_room
        })
        .await?;
        if has_room && !self.reserve_credits(job, id, self.credits(most)).await? {
            self.settle_usage(job, id, Usage::default()).await?;
            has_room = false;
        }
        Ok(has_room)
    }

    /// Settles what was set aside by what was used; returns the credits that it cost.
    pub(super) async fn settle(&self, job: &Job, id: PlatformId, used: Usage) -> Result<u64, StorageError> {
        self.settle_usage(job, id, used).await?;
        self.settle_credits(job, id, used).await
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

    fn held_until(&self) -> Timestamp {
        let millis = self.settings.deadlines.whole.saturating_add(BEYOND_MILLIS);
        self.platform.now().plus_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    fn credits(&self, usage: Usage) -> u64 {
        let steps = usage.tokens().div_ceil(TOKENS_OF_STEP);
        steps.saturating_mul(u64::from(self.settings.credits_per_thousand_tokens))
    }

    async fn reserve_credits(&self, job: &Job, id: PlatformId, cost: u64) -> Result<bool, StorageError> {
        let until = self.held_until();
        let mut is_enough = true;
        self.change_credits(job, |account, now| {
            account.release_expired(now);
            is_enough = account.reserve(id, cost, until).is_ok();
            is_enough.then_some(None)
        })
        .await?;
        Ok(is_enough)
    }

    async fn settle_credits(&self, job: &Job, id: PlatformId, used: Usage) -> Result<u64, StorageError> {
        let mut spent = 0;
        let cost = self.credits(used);
        let actor = Actor::Visitor(job.conversation.visitor_id.to_string());
        let note =
            format!("conversation {}, turn {}, {} tokens", job.conversation.id, job.turn, used.tokens());
        self.change_credits(job, |account, now| {
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
                request_id: Some(job.request_id.clone()),
                note: Some(note.clone()),
            }))
        })
        .await?;
        Ok(spent)
    }

    /// Changes the account of an agent that is charged; none of `change` leaves it as it is.
    async fn change_credits(
        &self,
        job: &Job,
        mut change: impl FnMut(&mut CreditAccount, Timestamp) -> Option<Option<CreditEntry>> + Send,
    ) -> Result<(), StorageError> {
        let storage = &self.storage;
        let agent = &job.view.agent.id;
        for _ in 0..ATTEMPTS {
            let account = storage.credit_account(agent).await?.filter(|account| !account.unlimited);
            let Some(mut account) = account else { return Ok(()) };
            let at = self.platform.now();
            let Some(entry) = change(&mut account, at) else { return Ok(()) };
            account.version += 1;
            let effects = Effects::default();
            let write = CreditWrite { at, account: Some(account), entry, document: None, effects };
            match storage.save_credits(agent, &write).await {
                Err(error) if error.kind == StorageErrorKind::Stale => {}
                outcome => return outcome,
            }
        }
        Err(StorageErrorKind::Stale.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_with_nothing_but_what_is_held() {
        let at = |millis| Timestamp::from_millis(millis);
        let id = PlatformId::from_bytes([1; 12]);
        let held = Held { id, tokens: 5, cost: 0.1, until: at(86_400_500) };
        let usage = DayUsage { day: 0, turns: 7, tokens: 9, cost: 1.0, held: vec![held.clone()] };
        assert_eq!(usage.clone().at(at(86_399_999)), usage);
        let next = usage.at(at(86_400_000));
        assert_eq!((next.day, next.turns, next.tokens), (1, 0, 0));
        assert_eq!(next.held, [held]);
        assert!(next.at(at(86_400_500)).held.is_empty(), "what nobody settles is free again");
    }
}
