//! Cases for the audit log.

use super::fixture::{World, at, parsed, seal};
use super::{Backend, on};
use openapi_core::audit::{AuditAction, AuditEntry};
use openapi_core::storage::AuditQuery;

pub(super) fn every_change_is_noted_once(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let world = World::new(storage);
        let a = world.agent("a", 0).await;
        world.insert_key(&a, 1).await;
        world.redefine(&a, "{}", 2).await.expect("redefine");
        let contact = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 3).await;
        world.update(&contact, 4, |contact| contact.first_name = Some(parsed("x"))).await;
        let entry = AuditEntry {
            address: None,
            request_id: None,
            resource: None,
            ..world.audit(Some(&a), AuditAction::AuthenticationFailure, "", 5)
        };
        world.storage.append_audit(&seal(entry.clone())).await.expect("append");
        let entries = world.audit_of(Some(&a)).await;
        let times: Vec<_> = entries.iter().map(|entry| entry.at).collect();
        assert_eq!(times, [at(0), at(1), at(2), at(3), at(4), at(5)]);
        assert_eq!(entries[5], entry, "every property comes back");
        assert_eq!(entries[3].resource, Some(contact.id.to_string()));
        assert_eq!(
            (entries[3].address, entries[3].details.as_str()),
            ("192.0.2.7".parse().ok(), r#"{"reason":"because"}"#)
        );
    });
}

pub(super) fn entries_are_read_in_both_directions(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let world = World::new(storage);
        let mut entries = Vec::new();
        for millis in [5, 1, 3, 3, 3, 9] {
            let entry = world.audit(None, AuditAction::AuthenticationFailure, "x", millis);
            world.storage.append_audit(&seal(entry.clone())).await.expect("append");
            entries.push(entry);
        }
        entries.sort_by_key(|entry| (entry.at, entry.id));
        for newest_first in [false, true] {
            let mut expected = entries.clone();
            if newest_first {
                expected.reverse();
            }
            let mut after = None;
            let mut seen = Vec::new();
            loop {
                let query = AuditQuery { agent: None, after, newest_first, limit: 2 };
                let page = world.storage.audit_entries(&query).await.expect("audit");
                assert!(page.len() <= 2);
                let Some(last) = page.last() else { break };
                after = Some((last.at, last.id));
                seen.extend(page.into_iter().map(|chained| chained.entry));
            }
            assert_eq!(seen, expected, "newest first: {newest_first}");
        }
    });
}

pub(super) fn entries_of_an_agent_can_be_distinguished(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let stray = world.audit(None, AuditAction::AuthenticationFailure, "x", 5);
        world.storage.append_audit(&seal(stray)).await.expect("append");
        world.insert_key(&b, 6).await;
        let count = async |agent| world.audit_of(agent).await.len();
        assert_eq!((count(Some(&a)).await, count(Some(&b)).await, count(None).await), (1, 2, 4));
        let query =
            AuditQuery { agent: Some(b.clone()), newest_first: true, limit: 1, ..AuditQuery::default() };
        let newest = world.storage.audit_entries(&query).await.expect("audit");
        assert_eq!(newest.iter().map(|entry| entry.at).collect::<Vec<_>>(), [at(6)]);
    });
}
