//! The credits of an extraction: reserved before the engine runs, spent with the response, otherwise released.

use std::ops::ControlFlow::{Break, Continue};

use super::errors::{credits_in_use, too_few_credits};
use super::running::{Abandoned, JobSource};
use super::task::Refused;
use crate::access::Caller;
use crate::audit::AuditAction;
use crate::credits::{CreditAccount, CreditEntry, CreditEntryKind};
use crate::extraction::{DocumentText, Usage};
use crate::json::{Json, Object};
use crate::platform::Platform;
use crate::platform::errors::{agent_gone, quota_exceeded};
use crate::platform::idempotency::{Claim, replay};
use crate::reply::ApiError;
use crate::service::{Extracted, ExtractedDocument};
use crate::storage::retry::{MAX_ATTEMPTS, RetryOn, retry_on_conflict, retry_with};
use crate::storage::{CreditWrite, DocumentWrite, Effects, LedgerQuery, StorageError, StorageErrorKind};
use crate::values::{AgentId, PlatformId, Timestamp};

/// Reservations of a server that is gone go back by themselves so long after the deadline of their extraction.
const BEYOND_DEADLINE_MILLIS: u64 = 60_000;

/// The credits of one extraction. Dropped, it gives them back.
pub(super) struct Payment<'a> {
    platform: &'a Platform,
    caller: &'a Caller,
    id: PlatformId,
    /// What is set aside; none where nothing is charged.
    reserved: Option<u64>,
    /// Since when the answer may be stored although nobody can ask for it again: it has no idempotency key.
    at_stake: Option<Timestamp>,
}

impl<'a> Payment<'a> {
    /// Sets aside what a document costs.
    pub(super) async fn reserve(
        platform: &'a Platform,
        caller: &'a Caller,
        id: PlatformId,
        text: &DocumentText,
    ) -> Result<Self, ApiError> {
        let held = platform.extraction.deadline_millis.saturating_add(BEYOND_DEADLINE_MILLIS);
        retry_on_conflict(credits_in_use, |_| async move {
            let mut payment = Payment { platform, caller, id, reserved: None, at_stake: None };
            let Some(mut account) = charged_account(platform, &caller.agent_id).await? else {
                return Ok(Some(payment));
            };
            let now = platform.now();
            account.release_expired(now);
            let before = account.clone();
            let cost = account.rates.cost(text.page_count, text.character_count);
            let expires_at = now.plus_millis(i64::try_from(held).unwrap_or(i64::MAX));
            if let Err(shortage) = account.reserve(id, cost, expires_at) {
                // What clients that have left had set aside is there again as soon as somebody needs it.
                if platform.extractions.has_abandoned(&caller.agent_id) {
                    platform.settle_abandoned(JobSource::Agent(&caller.agent_id)).await?;
                    return Ok(None);
                }
                return Err(too_few_credits(shortage));
            }
            // From here on it may be stored, whatever the store says.
            payment.reserved = Some(cost);
            let events = platform.credits_events(&caller.actor, &before, &account, now);
            let mut write = changed(account, now);
            write.effects = write.effects.with_events(events);
            let saved = platform.storage.save_credits(&caller.agent_id, &write).await;
            let Err(error) = saved else { return Ok(Some(payment)) };
            match error.kind {
                StorageErrorKind::Stale | StorageErrorKind::Missing => payment.complete(),
                _ => return Err(error.into()),
            }
            if error.kind == StorageErrorKind::Stale { Ok(None) } else { Err(agent_gone()) }
        })
        .await
    }

    /// Spends the reservation, and stores it with the response that it paid for and the retained document.
    pub(super) async fn settle(
        self,
        document: ExtractedDocument,
        retained: Option<DocumentWrite>,
        claimed: Option<&Claim<'_, ExtractedDocument>>,
        now: Timestamp,
    ) -> Result<Extracted, Refused> {
        let Payment { platform, caller, id, .. } = self;
        let (retained, exhausted) = (&retained, || Refused::Definite(credits_in_use()));
        retry_with(MAX_ATTEMPTS, (self, document), exhausted, |(mut payment, mut document)| async move {
            let (account, entry) = match payment.reserved {
                Some(_) => payment.spend(now).await.map_err(Refused::Definite)?,
                None => (None, None),
            };
            document.metadata.usage = Usage {
                credits_charged: entry.as_ref().map_or(0, spent),
                credits_remaining: account.as_ref().map(CreditAccount::available),
            };
            let details = about(&document);
            let resource = id.to_string();
            let audit =
                platform.caller_audit(caller, AuditAction::DocumentExtract, resource, None, &details, now);
            let replay = replay(claimed, &document, None, now).map_err(Refused::Definite)?;
            // A client that disconnects now gets the response only by a retry with its key.
            payment.at_stake = replay.is_none().then_some(now);
            let effects = Effects { replay, ..Effects::audited(audit) };
            let write = CreditWrite { at: now, account, entry, document: retained.clone(), effects };
            let Err(error) = platform.storage.save_credits(&caller.agent_id, &write).await else {
                payment.complete();
                return Ok(Break(Extracted::New(Box::new(document))));
            };
            match error.kind {
                StorageErrorKind::Stale => {}
                StorageErrorKind::Missing => return Err(Refused::Definite(agent_gone())),
                StorageErrorKind::QuotaExceeded(excess) => {
                    return Err(Refused::Definite(quota_exceeded(excess)));
                }
                StorageErrorKind::ReplayExists => {
                    // Another server was faster; its answer is the one, and this one costs nothing.
                    if let Some(claim) = claimed
                        && let Some(stored) = claim.answer(caller).await.map_err(Refused::Definite)?
                    {
                        return Ok(Break(Extracted::Replayed(stored)));
                    }
                }
                _ => return Err(Refused::Unclear(error.into())),
            }
            Ok(Continue((payment, document)))
        })
        .await
    }

    /// Leaves nothing to give back.
    fn complete(&mut self) {
        (self.reserved, self.at_stake) = (None, None);
    }

    /// The account with the reservation spent, and the entry that tells.
    async fn spend(&self, now: Timestamp) -> Result<(Option<CreditAccount>, Option<CreditEntry>), ApiError> {
        let Payment { platform, caller, id, .. } = self;
        let stored = platform.storage.credit_account(&caller.agent_id).await?;
        let Some(mut account) = stored else { return Ok((None, None)) };
        // One that has ended is free: the work was done, and what it was to cost may be spent elsewhere by now.
        let Some(settled) = account.settle(*id) else {
            tracing::warn!(agent = %caller.agent_id, %id, "the reservation of an extraction expired before its end");
            return Ok((None, None));
        };
        account.release_expired(now);
        let signed = |credits: u64| i64::try_from(credits).unwrap_or(i64::MAX).saturating_neg();
        let entry = CreditEntry {
            id: *id,
            at: now,
            kind: CreditEntryKind::Charge,
            plan: signed(settled.plan),
            top_up: signed(settled.top_up),
            available: account.available(),
            actor: caller.actor.clone(),
            request_id: Some(caller.request_id.clone()).filter(|id| !id.is_empty()),
            note: None,
        };
        account.version += 1;
        Ok((Some(account), Some(entry)))
    }
}

impl Drop for Payment<'_> {
    fn drop(&mut self) {
        let agent = self.caller.agent_id.clone();
        if let Some(at) = self.at_stake {
            self.platform.extractions.abandon(Abandoned::Answer(agent, self.id, at));
        } else if self.reserved.is_some() {
            self.platform.extractions.abandon(Abandoned::Credits(agent, self.id));
        }
    }
}

impl Platform {
    /// Gives back what was set aside for an extraction, if it still is, or what was spent on it at `spent_at`. A write
    /// of the extraction that is still on its way comes too late then, because the account is another one.
    pub(super) async fn release(
        &self,
        agent: &AgentId,
        id: PlatformId,
        spent_at: Option<Timestamp>,
    ) -> Result<(), StorageError> {
        use StorageErrorKind::{AlreadyExists, Missing, Stale};
        let exhausted = || Stale.into();
        retry_on_conflict(exhausted, |_| async move {
            let Some(mut account) = self.storage.credit_account(agent).await? else { return Ok(Some(())) };
            let mut entry = None;
            if !account.release(id) {
                let charge = match spent_at {
                    Some(at) => self.charge(agent, id, at).await?,
                    None => None,
                };
                let Some(charge) = charge else { return Ok(Some(())) };
                entry = Some(account.refund(&charge));
            }
            let write = CreditWrite { entry, ..changed(account, self.now()) };
            match self.storage.save_credits(agent, &write).await {
                // The agent is gone, or it was given back before.
                Err(error) if matches!(error.kind, Missing | AlreadyExists) => Ok(Some(())),
                outcome => outcome.retry_on(&[Stale]),
            }
        })
        .await
    }

    /// The entry of the ledger that says what an extraction has cost, if it is there.
    async fn charge(
        &self,
        agent: &AgentId,
        id: PlatformId,
        at: Timestamp,
    ) -> Result<Option<CreditEntry>, StorageError> {
        let before = Some((at, id.next()));
        let query = LedgerQuery { agent: agent.clone(), before, limit: 1 };
        let found = self.storage.credit_entries(&query).await?;
        Ok(found.into_iter().find(|entry| (entry.at, entry.id) == (at, id)))
    }
}

/// The account of an agent that is charged.
async fn charged_account(platform: &Platform, agent: &AgentId) -> Result<Option<CreditAccount>, ApiError> {
    let account = platform.storage.credit_account(agent).await?;
    Ok(account.filter(|account| !account.unlimited))
}

/// A change of the account alone.
fn changed(account: CreditAccount, at: Timestamp) -> CreditWrite {
    let account = CreditAccount { version: account.version + 1, ..account };
    CreditWrite { at, account: Some(account), entry: None, document: None, effects: Effects::default() }
}

fn spent(entry: &CreditEntry) -> u64 {
    entry.plan.unsigned_abs().saturating_add(entry.top_up.unsigned_abs())
}

/// What the audit log says of an extraction: nothing of the document's content, and not its name.
fn about(document: &ExtractedDocument) -> Object {
    let ExtractedDocument { extraction, metadata } = document;
    let mut details = Object::new();
    let facts = &metadata.document;
    details.insert("contentType", facts.content_type.as_str().into());
    details.insert("fileSize", Json::Number(facts.file_size.into()));
    details.insert("sha256", facts.sha256.as_str().into());
    details.insert("stored", Json::Bool(facts.stored));
    details.insert("engine", metadata.engine.as_str().into());
    details.insert("fields", Json::Number((extraction.field_confidences.len() as u64).into()));
    details.insert("creditsCharged", Json::Number(metadata.usage.credits_charged.into()));
    details
}
