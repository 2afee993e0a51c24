//! Cases for credits: accounts, their ledgers, and atomic writes.

use std::sync::{Arc, Mutex};

use super::documents::document;
use super::fixture::{World, agent_id, assert_fails, at, replay, unsealed};
use super::races::{WRITERS, Written, outcomes, race};
use super::{Backend, on};
use conversations::storage::ConversationStorage;
use openapi_core::access::Actor;
use openapi_core::agents::AgentStatus;
use openapi_core::audit::AuditAction;
use openapi_core::credits::{
    CreditAccount, CreditEntry, CreditEntryKind, CreditPool, CreditRates, JobCredits, Reservation,
};
use openapi_core::storage::{
    CreditWrite, DocumentWrite, Effects, IdempotencyRecord, LedgerQuery, QuotaExcess, QuotaUnit, Result,
    StorageErrorKind,
};
use openapi_core::values::{AgentId, PlatformId, Timestamp};

fn id(number: u8) -> PlatformId {
    PlatformId::from_bytes([number; 12])
}

/// An account of a version, with every property set.
fn account(version: u64) -> CreditAccount {
    let reservation = |number| Reservation {
        id: id(number),
        plan: u64::from(number),
        top_up: 2,
        expires_at: at(i64::from(number) * 10),
    };
    CreditAccount {
        version,
        unlimited: version.is_multiple_of(2),
        plan: 1_000 + version % 10,
        top_up: 999_999_999_999,
        rates: CreditRates { per_page: 3, characters_per_page: 500 },
        low_at: Some(version % 3).filter(|low_at| *low_at > 0),
        reservations: vec![reservation(7), reservation(3)],
        in_jobs: JobCredits { plan: version, top_up: 5_000_000_000 },
    }
}

fn entry(number: u8, millis: i64) -> CreditEntry {
    CreditEntry {
        id: id(number),
        at: at(millis),
        kind: CreditEntryKind::Charge,
        plan: -i64::from(number),
        top_up: 5_000_000_000,
        available: u64::from(number),
        actor: Actor::User("häßlich \"quoted\"".to_owned()),
        request_id: number.is_multiple_of(2).then(|| "request-1".to_owned()),
        note: (!number.is_multiple_of(2)).then(|| "two\nlines".to_owned()),
    }
}

/// An empty change.
pub(super) fn nothing(millis: i64) -> CreditWrite {
    CreditWrite { at: at(millis), account: None, entry: None, document: None, effects: Effects::default() }
}

/// The effects of a write that stores a response.
fn answered(replay: IdempotencyRecord) -> Effects {
    Effects { replay: Some(replay), ..Effects::default() }
}

/// A retained document of 10 bytes.
fn document_write(number: u8, max_bytes: Option<u64>) -> Option<DocumentWrite> {
    Some(DocumentWrite { document: document(number, 10), max_bytes })
}

/// A change of the account alone.
fn change(account: CreditAccount) -> CreditWrite {
    CreditWrite { account: Some(account), ..nothing(1) }
}

/// A ledger entry alone.
fn addition(entry: CreditEntry) -> CreditWrite {
    CreditWrite { entry: Some(entry), ..nothing(1) }
}

/// Applies one step of a random history to an account: sets a balance, reserves, commits, releases, or lets a
/// reservation expire.
pub(super) fn change_of(mut account: CreditAccount, change: u8, millis: i64) -> CreditWrite {
    let reservation = id(change % 2);
    let mut noted = CreditEntry { plan: 0, top_up: 0, ..entry(change, millis) };
    match change {
        // The first change of an account sets a balance.
        _ if account.version == 0 => noted.plan = account.set(CreditPool::Plan, 9 + u64::from(change)),
        0 => noted.plan = account.set(CreditPool::Plan, 9),
        1 => noted.top_up = account.set(CreditPool::TopUp, 4),
        2..=4 if account.reservations.iter().all(|it| it.id != reservation) => {
            // With too few credits only the version changes.
            let _ = account.reserve(reservation, u64::from(change), at(millis + 10));
        }
        5 | 6 => {
            if let Some(settled) = account.settle(reservation) {
                (noted.plan, noted.top_up) = (-(settled.plan as i64), -(settled.top_up as i64));
            }
        }
        7 => drop(account.release(reservation)),
        _ => drop(account.release_expired(at(millis))),
    }
    account.version += 1;
    noted.available = account.available();
    let is_noted = (noted.plan, noted.top_up) != (0, 0);
    CreditWrite { account: Some(account), entry: is_noted.then_some(noted), ..nothing(millis) }
}

impl World {
    pub(super) async fn credits(&self, agent: &AgentId) -> Option<CreditAccount> {
        self.storage.credit_account(agent).await.unwrap_or_else(|error| panic!("credits: {error}"))
    }

    async fn save(&self, agent: &AgentId, write: &CreditWrite) {
        let saved = self.storage.save_credits(agent, write).await;
        saved.unwrap_or_else(|error| panic!("save {write:?}: {error}"));
    }

    pub(super) async fn ledger(
        &self,
        agent: &AgentId,
        before: Option<(Timestamp, PlatformId)>,
        limit: u32,
    ) -> Vec<CreditEntry> {
        let query = LedgerQuery { agent: agent.clone(), before, limit };
        self.storage.credit_entries(&query).await.unwrap_or_else(|error| panic!("{query:?}: {error}"))
    }
}

pub(super) fn credits_come_back_as_saved(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert_eq!(world.credits(&a).await, None, "nothing is configured yet");
        world.save(&a, &change(account(1))).await;
        assert_eq!(world.credits(&a).await, Some(account(1)));
        let bare = CreditAccount { version: 2, ..CreditAccount::default() };
        world.save(&a, &change(bare.clone())).await;
        assert_eq!(world.credits(&a).await, Some(bare));
        world.save(&a, &CreditWrite { entry: Some(entry(1, 5)), ..change(account(3)) }).await;
        world.save(&a, &addition(entry(2, -5_000))).await;
        assert_eq!(world.credits(&a).await, Some(account(3)), "an entry alone leaves the account");
        assert_eq!(world.ledger(&a, None, 10).await, [entry(1, 5), entry(2, -5_000)]);
    });
    if backend.reopen() {
        on(backend, async |storage| {
            let (world, a) = (World::new(storage), agent_id("agent-a"));
            assert_eq!(world.credits(&a).await, Some(account(3)), "an account outlives a restart");
            assert_eq!(world.ledger(&a, None, 10).await, [entry(1, 5), entry(2, -5_000)]);
        });
    }
}

pub(super) fn credits_need_the_stored_version(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let save = async |agent: &AgentId, version| {
            world.storage.save_credits(agent, &change(account(version))).await
        };
        for version in [0, 2, 3, u64::MAX] {
            assert_fails(save(&a, version).await, &StorageErrorKind::Stale);
        }
        assert_eq!(world.credits(&a).await, None);
        save(&a, 1).await.expect("the first version");
        save(&a, 2).await.expect("the next version");
        for version in [0, 1, 2, 4, u64::MAX] {
            assert_fails(save(&a, version).await, &StorageErrorKind::Stale);
        }
        assert_eq!(world.credits(&a).await, Some(account(2)));
        save(&b, 1).await.expect("another agent's versions are its own");
    });
}

pub(super) fn changes_of_credits_are_stored_as_a_whole(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let effects = |millis| world.effects(Some(&a), AuditAction::KeyEdit, "credits", millis);
        let noted = world.audit_of(Some(&a)).await.len();
        let write = CreditWrite {
            at: at(10),
            account: Some(account(1)),
            entry: Some(entry(1, 10)),
            document: document_write(1, Some(10)),
            effects: Effects { replay: Some(replay(1, None, 100)), ..effects(10) },
        };
        world.save(&a, &write).await;
        assert_eq!(world.documents(&a, None, 10).await, [document(1, 10)]);
        let stored = world.storage.replay(&a, &replay(1, None, 0).key, at(11)).await.expect("replay");
        assert_eq!(stored, write.effects.replay);
        assert_eq!(world.audit_of(Some(&a)).await.get(noted..), Some(&*unsealed(&write.effects.audit)));
        // The first of several errors is reported, and nothing is stored.
        let nobody: AgentId = agent_id("nobody");
        let again = CreditWrite {
            at: at(99),
            document: document_write(2, Some(19)),
            effects: Effects { replay: write.effects.replay.clone(), ..effects(20) },
            ..write.clone()
        };
        let unanswered = Effects { replay: Some(replay(2, None, 100)), ..effects(20) };
        let other = CreditWrite { effects: unanswered, ..again.clone() };
        let full = CreditWrite { account: Some(account(2)), ..other.clone() };
        let known = CreditWrite { document: document_write(2, Some(20)), ..full.clone() };
        let used =
            CreditWrite { document: document_write(1, Some(20)), entry: Some(entry(2, 10)), ..full.clone() };
        let excess = QuotaExcess { unit: QuotaUnit::Bytes, limit: 19, actual: 20 };
        for (agent, write, kind) in [
            (&nobody, &again, StorageErrorKind::Missing),
            (&a, &again, StorageErrorKind::ReplayExists),
            (&a, &other, StorageErrorKind::Stale),
            (&a, &full, StorageErrorKind::QuotaExceeded(excess)),
            (&a, &known, StorageErrorKind::AlreadyExists),
            (&a, &used, StorageErrorKind::AlreadyExists),
            (&a, &CreditWrite { account: None, ..known.clone() }, StorageErrorKind::AlreadyExists),
        ] {
            assert_fails(world.storage.save_credits(agent, write).await, &kind);
            assert_eq!(world.credits(&a).await, Some(account(1)), "{kind}");
            assert_eq!(world.ledger(&a, None, 10).await, [entry(1, 10)], "{kind}");
            assert_eq!(world.audit_of(Some(&a)).await.len(), noted + 1, "{kind}");
            assert_eq!(world.documents(&a, None, 10).await, [document(1, 10)], "{kind}");
            assert_eq!((world.bytes(&a).await, world.due(1_000, 10).await.len()), (10, 1), "{kind}");
            let second = world.storage.replay(&a, &replay(2, None, 0).key, at(11)).await;
            assert_eq!(second.expect("replay"), None, "{kind}");
        }
        // At the instant of its expiry the stored response is gone, and another may replace it.
        let later = CreditWrite {
            at: at(100),
            account: Some(account(2)),
            entry: Some(entry(2, 10)),
            effects: answered(replay(1, None, 300)),
            ..nothing(0)
        };
        world.save(&a, &later).await;
        let stored = world.storage.replay(&a, &replay(1, None, 0).key, at(101)).await.expect("replay");
        assert_eq!(stored, later.effects.replay);
        // The stored response alone, without a charge.
        let free = CreditWrite { effects: answered(replay(3, None, 300)), ..nothing(100) };
        world.save(&a, &free).await;
        let stored = world.storage.replay(&a, &replay(3, None, 0).key, at(101)).await.expect("replay");
        assert_eq!(stored, free.effects.replay);
        assert_eq!(world.credits(&a).await, Some(account(2)));
        assert_eq!(world.ledger(&a, None, 10).await.len(), 2);
    });
}

pub(super) fn ledgers_are_read_newest_first(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        assert!(world.ledger(&a, None, 10).await.is_empty());
        let mut entries = Vec::new();
        for (number, millis) in [(4, 5), (1, 9), (3, 5), (5, 5), (2, 1), (6, -2_000_000_000_000)] {
            world.save(&a, &addition(entry(number, millis))).await;
            entries.push(entry(number, millis));
        }
        entries.sort_by_key(|entry| std::cmp::Reverse((entry.at, entry.id)));
        assert_eq!(entries[1].id, id(5), "of one instant the greater id is the newer one");
        for limit in 1..8 {
            let (mut seen, mut before) = (Vec::new(), None);
            loop {
                let page = world.ledger(&a, before, limit).await;
                assert!(page.len() <= limit as usize);
                let Some(last) = page.last() else { break };
                before = Some((last.at, last.id));
                seen.extend(page);
                assert!(seen.len() <= entries.len(), "the ledger does not end: {seen:?}");
            }
            assert_eq!(seen, entries, "in steps of {limit}");
        }
        assert!(world.ledger(&a, None, 0).await.is_empty());
        // A position without an entry, and positions that combine the time and id of different entries.
        assert_eq!(world.ledger(&a, Some((at(7), id(0))), 10).await, entries[1..]);
        assert_eq!(world.ledger(&a, Some((at(5), id(1))), 10).await, entries[4..]);
        assert_eq!(world.ledger(&a, Some((at(5), id(9))), 2).await, entries[1..3]);
        // Uniqueness covers both the time and the id.
        assert_fails(
            world.storage.save_credits(&a, &addition(entry(4, 5))).await,
            &StorageErrorKind::AlreadyExists,
        );
        world.save(&a, &addition(entry(4, 6))).await;
        assert_eq!(world.ledger(&a, None, 10).await.len(), 7);
    });
}

pub(super) fn credits_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        world.save(&a, &CreditWrite { entry: Some(entry(1, 5)), ..change(account(1)) }).await;
        assert_eq!(world.credits(&b).await, None);
        assert!(world.ledger(&b, None, 10).await.is_empty());
        let theirs = CreditEntry { plan: 77, ..entry(1, 5) };
        let other = CreditAccount { plan: 1, ..account(1) };
        world.save(&b, &CreditWrite { entry: Some(theirs.clone()), ..change(other.clone()) }).await;
        assert_eq!((world.credits(&a).await, world.credits(&b).await), (Some(account(1)), Some(other)));
        assert_eq!(world.ledger(&a, None, 10).await, [entry(1, 5)]);
        assert_eq!(world.ledger(&b, None, 10).await, [theirs]);
        assert!(world.ledger(&agent_id("nobody"), None, 10).await.is_empty());
        assert_eq!(world.credits(&agent_id("nobody")).await, None);
    });
}

pub(super) fn credits_of_deleted_agents_go(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for agent in [&a, &b] {
            world.save(agent, &change(account(1))).await;
            for number in 1..5 {
                world.save(agent, &addition(entry(number, i64::from(number % 2)))).await;
            }
        }
        world.set_status(&a, AgentStatus::Deleted, 300).await.expect("delete");
        assert_eq!(world.credits(&a).await, None);
        assert!(world.ledger(&a, None, 10).await.is_empty());
        assert_fails(world.storage.save_credits(&a, &change(account(2))).await, &StorageErrorKind::Missing);
        let payloads = world.audit_of(Some(&a)).await.len() as u64;
        let (mut removed, mut steps) = (0, 0);
        loop {
            let step = world.storage.purge_agent(&a, 2).await.expect("purge");
            assert!(step <= 2, "a step removed {step} rows of at most 2");
            if step == 0 {
                break;
            }
            (removed, steps) = (removed + step, steps + 1);
        }
        // The schema, the account, its entries, and the agent's audit payloads.
        assert_eq!(removed, 1 + 1 + 4 + payloads);
        assert_eq!(steps, removed.div_ceil(2));
        assert_eq!(world.credits(&b).await, Some(account(1)));
        assert_eq!(world.ledger(&b, None, 10).await.len(), 4);
    });
}

fn save(storage: Arc<dyn ConversationStorage>, (agent, write): (AgentId, CreditWrite)) -> Written {
    Box::pin(async move { storage.save_credits(&agent, &write).await })
}

pub(super) fn of_equal_credit_versions_one_wins(backend: &mut dyn Backend) {
    on(backend, async |storage| drop(World::with_agents(storage).await));
    let agent = agent_id("agent-a");
    for version in 1..=3 {
        let write = |number: usize| {
            let spent = entry(number as u8 + 10 * version as u8, 5);
            (agent.clone(), CreditWrite { entry: Some(spent), ..change(account(version)) })
        };
        let results = outcomes(backend, (0..WRITERS).map(write).collect(), save);
        let won = results.iter().filter(|result| result.is_ok()).count();
        let is_stale =
            |result: &&Result<()>| matches!(result, Err(error) if error.kind == StorageErrorKind::Stale);
        assert_eq!((won, results.iter().filter(is_stale).count()), (1, WRITERS - 1), "{results:?}");
    }
    on(backend, async |storage| {
        let (world, agent) = (World::new(storage), agent_id("agent-a"));
        assert_eq!(world.credits(&agent).await, Some(account(3)));
        assert_eq!(world.ledger(&agent, None, 100).await.len(), 3, "those that lost left no entry");
    });
}

/// Changes the account, retrying after conflicts; returns the number of missing credits.
async fn change_until_saved<T>(
    storage: &dyn ConversationStorage,
    agent: &AgentId,
    mut change: impl FnMut(&mut CreditAccount) -> (T, Option<CreditEntry>),
) -> T {
    // Each failed attempt implies another writer's success, so few attempts are needed.
    for _ in 0..10_000 {
        let stored = storage.credit_account(agent).await.unwrap_or_else(|error| panic!("credits: {error}"));
        let mut account = stored.unwrap_or_default();
        let (outcome, entry) = change(&mut account);
        account.version += 1;
        let write = CreditWrite { account: Some(account), entry, ..nothing(1) };
        match storage.save_credits(agent, &write).await {
            Ok(()) => return outcome,
            Err(error) if error.kind == StorageErrorKind::Stale => {}
            Err(error) => panic!("save credits: {error}"),
        }
    }
    panic!("a change of credits never comes to its turn");
}

/// One concurrent writer: reserves credits three times, and commits or releases each reservation.
async fn spend(storage: Arc<dyn ConversationStorage>, writer: usize) -> u64 {
    let agent = agent_id("agent-a");
    let mut paid = 0;
    for round in 0..3 {
        let reservation = id((writer * 3 + round) as u8 + 1);
        let cost = (writer + round) as u64 % 4 + 1;
        let is_reserved = change_until_saved(&*storage, &agent, |account| {
            (account.reserve(reservation, cost, at(1_000_000)).is_ok(), None)
        });
        if !is_reserved.await {
            continue;
        }
        let pays = !(writer + round).is_multiple_of(3);
        let settled = change_until_saved(&*storage, &agent, |account| {
            if !pays {
                assert!(account.release(reservation), "the reservation exists");
                return (0, None);
            }
            let settled = account.settle(reservation).expect("the reservation exists");
            let charge = CreditEntry {
                id: reservation,
                plan: -(settled.plan as i64),
                top_up: -(settled.top_up as i64),
                available: account.available(),
                ..entry(1, writer as i64)
            };
            (settled.credits(), Some(charge))
        });
        paid += settled.await;
    }
    paid
}

pub(super) fn credits_are_conserved_among_several(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for (number, pool, credits) in [(200, CreditPool::Plan, 20), (201, CreditPool::TopUp, 9)] {
            change_until_saved(&*world.storage, &a, |account| {
                let changed = account.set(pool, credits);
                let (plan, top_up) = if pool == CreditPool::Plan { (changed, 0) } else { (0, changed) };
                ((), Some(CreditEntry { plan, top_up, ..entry(number, 0) }))
            })
            .await;
        }
    });
    let (storage, paid) = (backend.storage(), Arc::new(Mutex::new(0)));
    race(backend, &|writer| {
        let (storage, paid) = (Arc::clone(&storage), Arc::clone(&paid));
        Box::pin(async move {
            let own = spend(storage, writer).await;
            *paid.lock().expect("lock") += own;
        })
    });
    let paid = *paid.lock().expect("lock");
    on(backend, async |storage| {
        let (world, a) = (World::new(storage), agent_id("agent-a"));
        let account = world.credits(&a).await.expect("an account");
        assert_eq!(account.reserved(), 0, "everybody has paid or given back");
        assert_eq!(account.available() + paid, 20 + 9);
        assert!(paid > 0, "nothing was committed");
        let entries = world.ledger(&a, None, 1_000).await;
        let sum: i64 = entries.iter().map(|entry| entry.plan + entry.top_up).sum();
        assert_eq!(sum, account.available() as i64, "{entries:?}");
    });
    assert_eq!(backend.faults(), [] as [String; 0]);
}
