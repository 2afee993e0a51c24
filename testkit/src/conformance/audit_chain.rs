//! Cases for the chains of the audit log.

use std::sync::{Arc, Mutex};

use super::fixture::{World, agent_id, at, parsed, seal, server_keys};
use super::races::{WRITERS, race};
use super::{Backend, on};
use openapi_core::agents::AgentStatus;
use openapi_core::audit::{
    AuditAction, ChainBreak, ChainHead, ChainVerifier, ChainedEntry, PurgeMark, SealedEntry,
};
use openapi_core::storage::{ChainPosition, ChainQuery, ContactWrite, StorageErrorKind};
use openapi_core::values::AgentId;

impl World {
    /// The entries of a chain, read in pages of two.
    async fn chain_of(&self, chain: Option<&AgentId>) -> Vec<ChainedEntry> {
        let (mut entries, mut after): (Vec<ChainedEntry>, _) = (Vec::new(), None);
        loop {
            let query = ChainQuery { chain: chain.cloned(), after, limit: 2 };
            let page = self.storage.audit_chain(&query).await.expect("chain");
            assert!(page.len() <= 2);
            let Some(last) = page.last() else { return entries };
            assert!(after < Some(position(last)), "the next page begins after the last entry");
            after = Some(position(last));
            entries.extend(page);
        }
    }

    async fn head_of(&self, chain: Option<&AgentId>) -> ChainHead {
        self.storage.audit_head(chain).await.expect("head")
    }

    async fn verify(
        &self,
        chain: Option<&AgentId>,
        start: Option<PurgeMark>,
    ) -> Result<Vec<ChainedEntry>, ChainBreak> {
        let entries = self.chain_of(chain).await;
        let keys = server_keys();
        let mut verifier = ChainVerifier::new(&keys, chain.cloned(), start, []);
        entries.iter().try_for_each(|entry| verifier.push(entry))?;
        let head = self.head_of(chain).await;
        verifier.finish(head)?;
        let mut heads = self.storage.audit_heads().await.expect("heads");
        heads.retain(|(of, _)| of.as_ref() == chain);
        assert_eq!(heads, [(chain.cloned(), head)], "the list of chains has the same end");
        Ok(entries)
    }

    async fn is_sound(&self, chain: Option<&AgentId>) -> Vec<ChainedEntry> {
        self.verify(chain, None).await.unwrap_or_else(|broken| panic!("{broken:?}"))
    }
}

fn position(entry: &ChainedEntry) -> ChainPosition {
    (entry.sequence(), entry.at, entry.id)
}

pub(super) fn every_agent_has_a_chain(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        assert_eq!(world.head_of(None).await, ChainHead::default());
        let contact = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 3).await;
        // Later in the chain, and earlier in time.
        world.insert_key(&a, 2).await;
        world.insert_key(&b, 2).await;
        world.update(&contact, 4, |contact| contact.first_name = Some(parsed("x"))).await;
        for (agent, millis) in [(None, 9), (Some(&a), 5), (None, 6)] {
            let entry = world.audit(agent, AuditAction::AuthenticationFailure, "x", millis);
            world.storage.append_audit(&seal(entry)).await.expect("append");
        }
        for (chain, times) in [(Some(&a), vec![0, 3, 2, 4, 5]), (Some(&b), vec![1, 2]), (None, vec![9, 6])] {
            let entries = world.is_sound(chain).await;
            assert_eq!(
                entries.iter().map(|entry| entry.at).collect::<Vec<_>>(),
                times.into_iter().map(at).collect::<Vec<_>>(),
                "in the order of the writes"
            );
            let numbers: Vec<u64> = entries.iter().map(ChainedEntry::sequence).collect();
            assert_eq!(numbers, (1..=entries.len() as u64).collect::<Vec<_>>());
        }
    });
}

pub(super) fn an_erasure_leaves_the_chain_sound(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let world = World::new(storage);
        let a = world.agent("a", 0).await;
        let contact = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 2);
        world.storage.erase_contact(&a, contact.id, at(2), &effects).await.expect("erase");
        let entries = world.is_sound(Some(&a)).await;
        let emptied = entries[1].link.as_ref().expect("a link");
        assert!(entries[1].details.is_empty() && emptied.salt.is_none(), "nothing tells the payload");
        assert_ne!(emptied.digest, [0; 32]);
        assert!(entries[2].link.as_ref().is_some_and(|link| link.salt.is_some()));
        world.set_status(&a, AgentStatus::Deleted, 3).await.expect("delete");
        while world.storage.purge_agent(&a, 1).await.expect("purge") > 0 {}
        let entries = world.chain_of(Some(&a)).await;
        assert!(entries.iter().all(|entry| entry.details.is_empty()));
        assert!(entries.iter().all(|entry| entry.link.as_ref().is_some_and(|link| link.salt.is_none())));
    });
}

pub(super) fn a_purged_chain_begins_after_its_mark(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for millis in 2..6 {
            world.insert_key(&a, millis).await;
        }
        let entries = world.is_sound(Some(&a)).await;
        let last = &entries[2];
        let link = last.link.as_ref().expect("a link");
        let mark = PurgeMark(ChainHead { sequence: link.sequence, mac: link.mac });
        let entry = seal(world.audit(Some(&a), AuditAction::AuditPurge, &mark.to_resource(), 10));
        assert_eq!(world.storage.purge_audit(&position(last), &entry).await.expect("purge"), 3);
        let rest = world.verify(Some(&a), Some(mark)).await.unwrap_or_else(|broken| panic!("{broken:?}"));
        let numbers: Vec<u64> = rest.iter().map(ChainedEntry::sequence).collect();
        assert_eq!(numbers, [4, 5, 6], "two keys, and the entry about the purge");
        assert!(
            world.verify(Some(&a), None).await.is_err(),
            "without the mark the first entries are missing"
        );

        let again = seal(world.audit(Some(&a), AuditAction::AuditPurge, &mark.to_resource(), 11));
        assert_eq!(world.storage.purge_audit(&position(last), &again).await.expect("purge"), 0);
        assert_eq!(world.chain_of(Some(&a)).await, rest, "nothing to remove, nothing to note");
        assert_eq!(world.is_sound(Some(&b)).await.len(), 1, "of another agent");
    });
}

pub(super) fn concurrent_writes_leave_no_gap(backend: &mut dyn Backend) {
    type Prepared = (ContactWrite, [SealedEntry; 2]);
    let writes: Arc<Mutex<Vec<Prepared>>> = Arc::default();
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let mut prepared = Vec::new();
        for number in 0..WRITERS {
            let agent = if number % 2 == 0 { &a } else { &b };
            let body = format!(r#"{{"primaryEmail":"{number}@example.com"}}"#);
            let millis = 10 + number as i64;
            let contact = world.contact(agent, &body, millis).await;
            let write = world.write(&contact, millis).await;
            let entry =
                |chain, millis| seal(world.audit(chain, AuditAction::AuthenticationFailure, "x", millis));
            prepared.push((write, [entry(Some(agent), 50 + millis), entry(None, 50 + millis)]));
        }
        *writes.lock().expect("lock") = prepared;
    });
    let storage = backend.storage();
    race(backend, &|n| {
        let (storage, (write, entries)) = (Arc::clone(&storage), writes.lock().expect("lock")[n].clone());
        Box::pin(async move {
            storage.insert_contact(&write.contact.agent_id, &write).await.expect("insert");
            for entry in &entries {
                storage.append_audit(entry).await.expect("append");
            }
        })
    });
    on(backend, async |storage| {
        let world = World::new(storage);
        for chain in [Some(agent_id("agent-a")), Some(agent_id("agent-b")), None] {
            // The creation of the agent, then a contact and a failure of half of the writers; or failures alone.
            let count = if chain.is_some() { 1 + WRITERS } else { WRITERS };
            assert_eq!(world.is_sound(chain.as_ref()).await.len(), count);
        }
    });
}

pub(super) fn an_unknown_agent_has_no_chain(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let world = World::new(storage);
        let nobody = agent_id("nobody");
        let entry = seal(world.audit(Some(&nobody), AuditAction::AuthenticationFailure, "x", 1));
        let refused = world.storage.append_audit(&entry).await.map_err(|error| error.kind);
        assert_eq!(refused, Err(StorageErrorKind::Missing));
        assert_eq!(world.head_of(Some(&nobody)).await, ChainHead::default());
        assert_eq!(world.chain_of(Some(&nobody)).await, []);
    });
}
