//! Signed links of files (contract 2.2).

use openapi_core::access::ApiKey;
use openapi_core::files::{Disposition, Issuer, Link};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::values::{FileId, Timestamp};
use proptest::prelude::*;

const KEY: &str = "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ";

fn link() -> Link {
    Link {
        file: "697dc94b74a1f572c54b78cf".parse().expect("an id"),
        expires_at: Timestamp::from_millis(1_769_852_400_000),
        issuer: Issuer::Key(ApiKey::parse(KEY).expect("a key")),
        disposition: Disposition::Attachment,
    }
}

fn keys() -> ServerKeys {
    ServerKeys::new(ServerKey::new(&[7; 32]), vec![ServerKey::new(&[8; 32])])
}

fn pairs(target: &str) -> Vec<(String, String)> {
    let (_, query) = target.split_once('?').expect("a query");
    query
        .split('&')
        .map(|pair| pair.split_once('=').map(|(name, value)| (name.into(), value.into())).expect("a pair"))
        .collect()
}

const BEFORE: Timestamp = Timestamp::from_millis(1_769_852_399_999);

#[test]
fn a_link_leads_back() {
    let target = link().target(&keys());
    let begin =
        format!("/download/files/697dc94b74a1f572c54b78cf?exp=1769852400&kid={KEY}&d=attachment&sig=");
    assert!(target.starts_with(&begin), "{target}");
    let mut query = pairs(&target);
    query.push(("utm".to_owned(), "x".to_owned()));
    assert_eq!(Link::read(&keys(), link().file, &query), Some(link()));
    assert!(!link().is_over(BEFORE) && link().is_over(link().expires_at));
    let host = Link { issuer: Issuer::Agent("acme".parse().expect("an id")), ..link() };
    let query = pairs(&host.target(&keys()));
    assert_eq!(Link::read(&keys(), host.file, &query), Some(host));
}

#[test]
fn rotation_keeps_links_for_as_long_as_the_key_is_known() {
    let older = ServerKeys::new(ServerKey::new(&[8; 32]), Vec::new());
    let query = pairs(&link().target(&older));
    assert_eq!(Link::read(&keys(), link().file, &query), Some(link()));
    let unknown = ServerKeys::new(ServerKey::new(&[9; 32]), Vec::new());
    assert_eq!(Link::read(&unknown, link().file, &query), None);
}

#[test]
fn every_part_is_needed_once() {
    let query = pairs(&link().target(&keys()));
    for at in 0..query.len() {
        let mut fewer = query.clone();
        let part = fewer.remove(at);
        assert_eq!(Link::read(&keys(), link().file, &fewer), None, "{part:?}");
        let mut twice = query.clone();
        twice.push(part);
        assert_eq!(Link::read(&keys(), link().file, &twice), None);
    }
    let other: FileId = "697dc94b74a1f572c54b78d0".parse().expect("an id");
    assert_eq!(Link::read(&keys(), other, &query), None);
}

proptest! {
    #[test]
    fn an_altered_part_is_noticed(at in 0_usize..4, value in "[0-9]{1,12}|[a-zA-Z0-9_-]{1,44}|attachment|inline|.*") {
        let mut query = pairs(&link().target(&keys()));
        prop_assume!(query[at].1 != value);
        query[at].1 = value;
        prop_assert_eq!(Link::read(&keys(), link().file, &query), None);
    }
}
