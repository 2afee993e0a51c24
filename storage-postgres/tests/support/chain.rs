//! The copy of the audit log's entries without a tenant: the test that every target store must pass. It knows no store but the
//! one in memory, so other crates' tests include it.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;

use openapi_core::access::Actor;
use openapi_core::audit::{AuditAction, AuditEntry, ChainHead, ChainedEntry};
use openapi_core::json::RawObject;
use openapi_core::storage::{AuditStore, ChainQuery, StorageErrorKind};
use openapi_core::values::{AuditId, PlatformId, Timestamp};
use storage_common::fixtures::{seal, verify_any_chain};
use storage_common::transfer::{CopyError, TransferStore, copy_chain_without_agent};
use storage_memory::MemoryStorage;

/// What a store's runtime runs.
type Work<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// An entry without a tenant.
fn unsealed(number: u64) -> AuditEntry {
    let at = Timestamp::from_millis(1_700_000_000_000 + number as i64);
    AuditEntry {
        id: AuditId::from(PlatformId::new(at, number.to_be_bytes())),
        agent_id: None,
        at,
        actor: Actor::Operator("tests".to_owned()),
        os_user: None,
        action: AuditAction::StoreBackup,
        resource: None,
        contact_id: None,
        address: None,
        request_id: None,
        details: RawObject::from_text(r#"{"files":2}"#).unwrap(),
    }
}

/// The entries of the audit log without a tenant, more than one step moves: to the target, after an interruption, and back
/// into another store in memory. They are one sound chain everywhere, and later entries continue it.
pub fn the_chain_without_an_agent_moves(store: &dyn TransferStore, run: &dyn Fn(Work<'_>)) {
    const MANY: u64 = 1_100;
    let memory = MemoryStorage::new();
    let new = |number| seal(unsealed(number));
    run(Box::pin(async {
        let mut head = ChainHead::default();
        let mut all: Vec<ChainedEntry> =
            (0..3).map(|number| ChainedEntry { entry: unsealed(number), link: None }).collect();
        all.iter().for_each(|earlier| head.absorb(earlier));
        all.extend((3..MANY).map(|number| head.append(&new(number))));
        memory.put_chain_without_agent(&all).await.unwrap();
        verify_any_chain(&memory, None).await.unwrap();
    }));
    let dies = catch_unwind(AssertUnwindSafe(|| {
        run(Box::pin(async {
            let mut dying = |_| std::panic::resume_unwind(Box::new("a planted death"));
            let done = copy_chain_without_agent(&memory, store, &mut dying).await;
            panic!("a copy without a step: {done:?}");
        }));
    }));
    assert!(dies.unwrap_err().is::<&str>());
    run(Box::pin(async {
        let query = ChainQuery { chain: None, after: None, limit: 10_000 };
        let stored = store.audit_chain(&query).await.unwrap().len() as u64;
        assert!((1..MANY).contains(&stored), "{stored}");
        let back = MemoryStorage::new();
        assert_eq!(chain_copied(&memory, store).await.unwrap(), MANY - stored);
        assert_eq!(chain_copied(store, &back).await.unwrap(), MANY);
        assert_eq!(chain_copied(&memory, store).await.unwrap(), 0, "a second copy changes nothing");
        for next in [MANY, MANY + 1] {
            for store in [&memory as &dyn TransferStore, store, &back] {
                store.append_audit(&new(next)).await.unwrap();
            }
        }
        for store in [store, &back] {
            let expected =
                (memory.audit_chain(&query).await.unwrap(), memory.audit_head(None).await.unwrap());
            let found = (store.audit_chain(&query).await.unwrap(), store.audit_head(None).await.unwrap());
            assert_eq!(found, expected);
            verify_any_chain(store, None).await.unwrap();
        }
        // What is in use is refused, with all that comes with it.
        let mut head = store.audit_head(None).await.unwrap();
        let next = head.append(&new(MANY + 2));
        let known = store.audit_chain(&query).await.unwrap().remove(7);
        for batch in [[next.clone(), known], [next.clone(), next]] {
            let refused = store.put_chain_without_agent(&batch).await.unwrap_err();
            assert_eq!(refused.kind, StorageErrorKind::AlreadyExists);
        }
        assert_eq!(chain_copied(&memory, store).await.unwrap(), 0);
        // The target may go on, and then no longer the source.
        store.append_audit(&new(MANY + 3)).await.unwrap();
        assert_eq!(chain_copied(&memory, store).await.unwrap(), 0);
        memory.append_audit(&new(MANY + 4)).await.unwrap();
        let error = chain_copied(&memory, store).await.unwrap_err();
        assert!(matches!(error, CopyError::OtherChain), "{error}");
        verify_any_chain(store, None).await.unwrap();
    }));
}

async fn chain_copied(from: &dyn TransferStore, to: &dyn TransferStore) -> Result<u64, CopyError> {
    copy_chain_without_agent(from, to, &mut |_| {}).await
}
