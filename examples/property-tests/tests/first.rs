//! A program's first property test: every valid contact is stored. It needs only the library.

use openapi_core::service::*;
use openapi_core::{access::*, admin::*, platform::*, ports::*, server_keys::*, service_info::*};
use pollster::block_on;
use proptest::prelude::*;
use std::sync::Arc;
use storage_memory::MemoryStorage;
use testkit::strategies;

proptest! {
    #[test]
    fn every_valid_contact_is_stored(fields in strategies::contact_fields()) {
        let (now, ids) = ("2026-01-31T09:00:00Z".parse().unwrap(), Arc::new(SequentialIds::default()));
        let ports = Ports::new(Arc::new(FixedClock::at(now)), ids.clone(), ServerKeys::generate(&*ids));
        let (store, service_info) = (Arc::new(MemoryStorage::new()), ServiceInfo::new("https://test.example").unwrap());
        let platform = Platform::new(store, ports, service_info);
        let agent = NewAgent::new("Acme".parse().unwrap());
        let agent = block_on(platform.create_agent(&Actor::Operator("test".into()), agent)).unwrap();
        let caller = Caller::user(agent.id, "test", "contacts:all".parse().unwrap());
        let created = block_on(platform.create_contact(&caller, CreateContact::from(fields)));
        prop_assert!(matches!(created, Ok(Created::New(_))), "{created:?}");
    }
}

/// Counts the lines of the test above other than blank ones, comments and `use`.
#[test]
fn a_first_test_takes_less_than_fifteen_lines() {
    let (first, _) = include_str!("first.rs").split_once("\n/// Counts").unwrap();
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//") && !line.starts_with("use ");
    let lines = first.lines().map(str::trim).filter(is_code).count();
    assert!((8..15).contains(&lines), "{lines} lines");
}
