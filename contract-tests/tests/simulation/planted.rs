//! Planted faults: the simulation proves that it finds them. Those of the conformance suite break one method of a store;
//! those here break what several requests, servers or tenants rely on.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use conversations::Message;
use conversations::storage::{ConversationStorage, ConversationWrite, MessageQuery};
use openapi_core::access::{KeySelector, Permissions, StoredKey};
use openapi_core::credits::{CreditAccount, CreditEntry, CreditEntryKind};
use openapi_core::json::RawObject;
use openapi_core::storage::{
    ContactStore, ContactWrite, CreditStore, CreditWrite, Effects, IdempotencyRecord, KeyStore, RecordChange,
    RecordKey, RecordKind, RecordStore, RecordsWrite, Result, StoredRecord,
};
use openapi_core::values::{AgentId, ContactId, Timestamp};
use parking_lot::Mutex;
use storage_memory::MemoryStorage;
use testkit::conformance::{Faulty, PlantedFault};
use testkit::delegate::Delegate;

use crate::executor::Simulation;

macro_rules! planted {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A fault of the service.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Planted {
            $($(#[$doc])* $name,)*
        }

        impl Planted {
            pub const ALL: &'static [Planted] = &[$(Planted::$name),*];
        }
    };
}

planted! {
    /// Two tenants share a counter of requests.
    CounterOfTwoTenants,
    /// A server that reads the counter of requests counts one less: a restart gives away a request.
    LimitForgetsOne,
    /// The charge for a reply is repeated as if the first one had failed.
    ChargedTwice,
    /// A gift of credits is repeated as if the first one had failed.
    GivenTwice,
    /// The credits of a crashed server stay reserved.
    ReservedForEver,
    /// A message of a conversation is lost.
    MessageLost,
    /// A long page of messages has another order than a short one.
    OrderOfLongPages,
    /// The response that is stored under an idempotency key is that of the request before.
    ResponseOfAnother,
    /// A stored response belongs to another body.
    FingerprintLost,
    /// A rotated key has every permission again.
    PermissionsReturn,
    /// A rotation leaves the former secret valid.
    OldSecretWorks,
    /// A change of a contact is acknowledged, and not stored.
    Unwritten,
    /// The last change of a contact is repeated after its erasure, which stores it again.
    ErasedReturns,
}

#[derive(Default)]
struct Memory {
    first_counter: Option<(Option<AgentId>, RecordKey)>,
    replay: Option<IdempotencyRecord>,
    writes: BTreeMap<ContactId, ContactWrite>,
    calls: u64,
}

/// A store with a planted fault.
struct Broken {
    /// None is the control.
    fault: Option<Planted>,
    inner: MemoryStorage,
    memory: Mutex<Memory>,
}

impl Delegate for Broken {
    type Inner = MemoryStorage;

    fn inner(&self) -> &Self::Inner {
        &self.inner
    }
}

testkit::delegate_storage!(Broken);

/// A window of an API key in which the newest request is not counted.
fn one_request_less(window: &RawObject) -> RawObject {
    let mut window: serde_json::Value = serde_json::from_str(window.as_str()).expect("a window");
    let shares = window["shares"].as_array_mut().expect("shares");
    let newest = shares.iter_mut().filter_map(|share| share["counted"].as_array_mut()?.last_mut()).next();
    if let Some(count) = newest {
        count[1] = count[1].as_u64().unwrap_or_default().saturating_sub(1).into();
    }
    RawObject::from_text(window.to_string()).expect("an object")
}

impl Broken {
    fn is(&self, fault: Planted) -> bool {
        self.fault == Some(fault)
    }

    /// Whether it is the turn of one in `count` calls.
    fn is_one_in(&self, count: u64) -> bool {
        let mut memory = self.memory.lock();
        memory.calls += 1;
        memory.calls.is_multiple_of(count)
    }

    /// The record that is used instead: under the fault, all counters of requests are the first one.
    fn counter(&self, scope: Option<&AgentId>, key: &RecordKey) -> (Option<AgentId>, RecordKey) {
        let own = (scope.cloned(), key.clone());
        if key.kind != RecordKind::RateLimitWindow || !self.is(Planted::CounterOfTwoTenants) {
            return own;
        }
        self.memory.lock().first_counter.get_or_insert(own).clone()
    }

    async fn record(&self, scope: Option<&AgentId>, key: &RecordKey) -> Result<Option<StoredRecord>> {
        let (scope, key) = self.counter(scope, key);
        let mut record = self.inner.record(scope.as_ref(), &key).await?;
        if self.is(Planted::LimitForgetsOne)
            && let Some(record) =
                record.as_mut().filter(|record| record.key.kind == RecordKind::RateLimitWindow)
        {
            record.body = one_request_less(&record.body);
        }
        Ok(record)
    }

    async fn save_records(&self, scope: Option<&AgentId>, write: &RecordsWrite) -> Result<()> {
        let (mut scope, mut write) = (scope.cloned(), write.clone());
        if let [RecordChange::Save(record)] = write.changes.as_mut_slice() {
            let (of, key) = self.counter(scope.as_ref(), &record.key);
            (scope, record.key) = (of, key);
        }
        self.inner.save_records(scope.as_ref(), &write).await
    }

    async fn save_credits(&self, agent: &AgentId, write: &CreditWrite) -> Result<()> {
        let mut write = write.clone();
        if self.is(Planted::ReservedForEver) {
            let reservations = write.account.iter_mut().flat_map(|account| &mut account.reservations);
            reservations
                .for_each(|reservation| reservation.expires_at = Timestamp::from_millis(i64::MAX / 4));
        }
        self.inner.save_credits(agent, &write).await?;
        let again = match (self.fault, &write.entry) {
            (Some(Planted::ChargedTwice), Some(entry)) if entry.kind == CreditEntryKind::Chat => {
                self.is_one_in(2)
            }
            (Some(Planted::GivenTwice), Some(entry)) => entry.kind == CreditEntryKind::TopUp,
            _ => false,
        };
        if let (true, Some(account), Some(entry)) = (again, write.account, write.entry) {
            // Whether there are credits for it or not.
            let _ = self.inner.save_credits(agent, &repeated(write.at, account, entry)).await;
        }
        Ok(())
    }

    async fn save_conversation(&self, agent: &AgentId, write: &ConversationWrite) -> Result<()> {
        let mut write = write.clone();
        if self.is(Planted::MessageLost) && !write.messages.is_empty() && self.is_one_in(20) {
            write.messages.pop();
        }
        conversations::storage::ConversationStore::save_conversation(&self.inner, agent, &write).await
    }

    async fn messages(&self, agent: &AgentId, query: &MessageQuery) -> Result<Vec<Message>> {
        let mut page = conversations::storage::ConversationStore::messages(&self.inner, agent, query).await?;
        if self.is(Planted::OrderOfLongPages) && query.limit >= 1_000 {
            page.sort_by(|one, other| one.text.cmp(&other.text));
        }
        Ok(page)
    }

    async fn insert_contact(&self, agent: &AgentId, write: &ContactWrite) -> Result<()> {
        let mut write = write.clone();
        if let Some(replay) = &mut write.effects.replay {
            let before = self.memory.lock().replay.replace(replay.clone());
            if let (true, Some(before)) = (self.is(Planted::ResponseOfAnother), before) {
                replay.body = before.body;
            }
            if self.is(Planted::FingerprintLost) {
                replay.fingerprint = [0; 32];
            }
        }
        self.inner.insert_contact(agent, &write).await
    }

    async fn update_contact(&self, agent: &AgentId, expected: u64, write: &ContactWrite) -> Result<()> {
        if self.is(Planted::Unwritten) && self.is_one_in(10) {
            return Ok(());
        }
        self.memory.lock().writes.insert(write.contact.id, write.clone());
        self.inner.update_contact(agent, expected, write).await
    }

    async fn erase_contact(
        &self,
        agent: &AgentId,
        contact: ContactId,
        at: Timestamp,
        effects: &Effects,
    ) -> Result<()> {
        self.inner.erase_contact(agent, contact, at, effects).await?;
        let last = self.memory.lock().writes.remove(&contact);
        if let Some(last) = last.filter(|_| self.is(Planted::ErasedReturns)) {
            let again = ContactWrite { effects: Effects::default(), ..last };
            let _ = self.inner.insert_contact(agent, &again).await;
        }
        Ok(())
    }

    async fn update_key(
        &self,
        agent: &AgentId,
        expected: u64,
        key: &StoredKey,
        effects: &Effects,
    ) -> Result<()> {
        let mut key = key.clone();
        let before = self.inner.find_key(&KeySelector::Id(key.key.id)).await?;
        if let Some(before) = before.filter(|before| before.secrets.first() != key.secrets.first()) {
            if self.is(Planted::PermissionsReturn) {
                key.key.permissions = Permissions::all();
            }
            if self.is(Planted::OldSecretWorks) {
                key.secrets.extend(before.secrets.first().cloned());
            }
        }
        self.inner.update_key(agent, expected, &key, effects).await
    }
}

/// The same change of credits once more.
fn repeated(at: Timestamp, mut account: CreditAccount, mut entry: CreditEntry) -> CreditWrite {
    let changed = |credits: u64, by: i64| credits.saturating_add_signed(by);
    account.version += 1;
    (account.plan, account.top_up) =
        (changed(account.plan, entry.plan), changed(account.top_up, entry.top_up));
    entry.at = entry.at.plus_millis(1);
    entry.available = account.available();
    CreditWrite {
        at,
        account: Some(account),
        entry: Some(entry),
        document: None,
        effects: Effects::default(),
    }
}

/// The first of so many seeds that fails on a store.
fn failing(store: impl Fn() -> Arc<dyn ConversationStorage>, seeds: u64) -> Option<u64> {
    (1..=seeds).find(|seed| {
        let simulation = Simulation::new(*seed, crate::start());
        catch_unwind(AssertUnwindSafe(|| crate::simulate(&simulation, store(), 2))).is_err()
    })
}

fn finds(fault: Option<Planted>, seeds: u64) -> Option<u64> {
    let store = || Broken { fault, inner: MemoryStorage::new(), memory: Mutex::default() };
    failing(|| Arc::new(store()), seeds)
}

fn finds_of_suite(fault: PlantedFault, seeds: u64) -> Option<u64> {
    failing(|| Arc::new(Faulty::new(fault)), seeds)
}

/// Without the messages of panics, of which each found fault has one.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    std::panic::set_hook(Box::new(|_| {}));
    let done = work();
    let _ = std::panic::take_hook();
    done
}

/// Faults of the conformance suite that the simulation finds as well.
const OF_SUITE: &[PlantedFault] = &[
    PlantedFault::InsertWithoutAudit,
    PlantedFault::UpdateWithoutAudit,
    PlantedFault::AuditOfRefusedWrite,
    PlantedFault::ExternalIdNotUnique,
    PlantedFault::IdCrossesAgents,
    PlantedFault::ListCrossesAgents,
    PlantedFault::TotalOfPage,
    PlantedFault::PositionInclusive,
    PlantedFault::PositionNeedsContact,
    PlantedFault::AnyTermMatches,
    PlantedFault::ArchivedAlwaysShown,
    PlantedFault::RecordVersionIgnored,
    PlantedFault::AuditCrossesAgents,
    PlantedFault::CreditsCrossAgents,
    PlantedFault::CreditsWithoutLedger,
    PlantedFault::LedgerCrossesAgents,
    PlantedFault::ConversationListCrossesAgents,
    PlantedFault::MessagesNotReplaced,
    PlantedFault::MessagesCrossConversations,
    PlantedFault::MessagesAfterInclusive,
];

#[test]
fn planted_faults_are_found() {
    let (seeds, mut missed) = (60, Vec::new());
    let control = quietly(|| {
        missed.extend(
            Planted::ALL.iter().filter(|it| finds(Some(**it), seeds).is_none()).map(|it| format!("{it:?}")),
        );
        missed.extend(
            OF_SUITE.iter().filter(|it| finds_of_suite(**it, seeds).is_none()).map(|it| format!("{it:?}")),
        );
        finds(None, 3)
    });
    assert!(missed.is_empty(), "{missed:?}");
    assert_eq!(control, None, "without a fault");
}

/// `SIMULATION_SEEDS=500 cargo test -p contract-tests --test simulation survey -- --ignored --nocapture`
#[test]
#[ignore = "minutes: it plants every fault, also those that the conformance suite alone finds"]
fn survey_of_planted_faults() {
    let seeds = crate::number("SIMULATION_SEEDS", 10);
    let missed = quietly(|| {
        let of_suite = PlantedFault::ALL.iter().filter(|it| OF_SUITE.contains(it));
        let further = PlantedFault::ALL.iter().filter(|it| !OF_SUITE.contains(it));
        let mut missed = 0;
        let mut report = |fault: &dyn std::fmt::Debug, found: Option<u64>| {
            missed += u32::from(found.is_none());
            println!("{fault:?} {found:?}");
        };
        Planted::ALL.iter().for_each(|it| report(it, finds(Some(*it), seeds)));
        of_suite.for_each(|it| report(it, finds_of_suite(*it, seeds)));
        further.for_each(|it| println!("{it:?} {:?}", finds_of_suite(*it, seeds)));
        missed
    });
    assert_eq!(missed, 0, "faults that this simulation should find");
}
