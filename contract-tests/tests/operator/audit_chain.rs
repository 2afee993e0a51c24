//! The chain of the audit log: every change is found, whatever it is.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use proptest::prelude::*;

use openapi_core::access::Actor;
use openapi_core::audit::*;
use openapi_core::json::RawObject;
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::values::{AgentId, AuditId, ContactId, Timestamp};

const LENGTH: u8 = 12;

fn keys(byte: u8) -> ServerKeys {
    ServerKeys::new(ServerKey::new(&[byte; 32]), Vec::new())
}

fn agent() -> AgentId {
    "acme".parse().unwrap()
}

fn entry(number: u8) -> AuditEntry {
    let details = if number.is_multiple_of(3) { "{}" } else { r#"{"changed":["firstName"]}"# };
    AuditEntry {
        id: AuditId::from_bytes([number; 12]),
        agent_id: Some(agent()),
        at: Timestamp::from_millis(1_700_000_000_000 + i64::from(number)),
        actor: Actor::Operator("anna".to_owned()),
        os_user: Some(OsUser { uid: 1000, name: Some("anna".to_owned()) }),
        action: AuditAction::ContactUpdate,
        resource: Some(format!("contact-{}", number % 4)),
        contact_id: Some(ContactId::from_bytes([number % 4; 12])),
        address: "192.0.2.7".parse().ok(),
        request_id: Some(format!("request-{number}")),
        details: RawObject::from_text(details).unwrap(),
    }
}

/// A chain after two older entries.
fn chain() -> (Vec<ChainedEntry>, ChainHead) {
    let mut head = ChainHead::default();
    let mut entries: Vec<ChainedEntry> =
        (0..2).map(|number| ChainedEntry { entry: entry(number), link: None }).collect();
    entries.iter().for_each(|earlier| head.absorb(earlier));
    for number in 2..LENGTH {
        entries.push(head.append(&SealedEntry::new(entry(number), &keys(1), [number; 16])));
    }
    (entries, head)
}

fn verify_from(
    entries: &[ChainedEntry],
    head: ChainHead,
    start: Option<PurgeMark>,
    anchors: &[ChainHead],
) -> Result<ChainHead, ChainBreak> {
    let keys = keys(1);
    let mut verifier = ChainVerifier::new(&keys, Some(agent()), start, anchors.iter().copied());
    entries.iter().try_for_each(|entry| verifier.push(entry))?;
    verifier.finish(head)
}

fn verify(entries: &[ChainedEntry], head: ChainHead) -> Result<ChainHead, ChainBreak> {
    verify_from(entries, head, None, &[])
}

/// Sorts and numbers the entries as a store would read them.
fn renumber(entries: &mut [ChainedEntry]) {
    let links = entries.iter_mut().filter_map(|entry| entry.link.as_mut());
    links.zip(1..).for_each(|(link, sequence)| link.sequence = sequence);
}

type Change = fn(&mut AuditEntry, &mut Option<ChainLink>);

/// A change of each thing that is stored of an entry.
const CHANGES: &[Change] = &[
    |entry, _| entry.id = AuditId::from_bytes([0xee; 12]),
    |entry, _| entry.agent_id = None,
    |entry, _| entry.agent_id = Some("other".parse().unwrap()),
    |entry, _| entry.at = Timestamp::from_millis(entry.at.millis() + 1),
    |entry, _| entry.actor = Actor::Operator("mallory".to_owned()),
    |entry, _| entry.actor = Actor::User("anna".to_owned()),
    |entry, _| entry.os_user = None,
    |entry, _| entry.os_user = Some(OsUser { uid: 0, name: Some("anna".to_owned()) }),
    |entry, _| entry.action = AuditAction::ContactCreate,
    |entry, _| entry.resource = None,
    |entry, _| entry.resource = Some("contact-9".to_owned()),
    |entry, _| entry.contact_id = None,
    |entry, _| entry.address = "192.0.2.8".parse().ok(),
    |entry, _| entry.request_id = None,
    |entry, link| {
        // Older entries are covered without their payloads.
        if link.is_none() {
            entry.request_id = None;
        }
        entry.details = RawObject::from_text(r#"{"changed":["lastName"]}"#).unwrap();
    },
    |entry, link| match link {
        // An erasure that never was.
        Some(link) if link.salt.is_some() => {
            link.salt = None;
            entry.details = RawObject::default();
        }
        _ => entry.resource = None,
    },
    |entry, link| match link {
        Some(link) => link.digest[7] ^= 1,
        None => entry.resource = None,
    },
    |entry, link| match link {
        Some(link) => link.mac[7] ^= 1,
        None => entry.resource = None,
    },
    |entry, link| match link {
        Some(link) => link.server_key = "000000000000".to_owned(),
        None => entry.resource = None,
    },
    |entry, link| match link.take() {
        Some(_) => {}
        None => entry.resource = None,
    },
];

proptest! {
    #[test]
    fn each_changed_entry_is_found(at: prop::sample::Index, change: prop::sample::Index) {
        let (mut entries, head) = chain();
        let at = at.index(entries.len());
        let ChainedEntry { entry, link } = &mut entries[at];
        CHANGES[change.index(CHANGES.len())](entry, link);
        prop_assert!(verify(&entries, head).is_err());
    }

    #[test]
    fn each_removed_entry_is_found(at: prop::sample::Index, renumbers: bool) {
        let (mut entries, head) = chain();
        entries.remove(at.index(entries.len()));
        if renumbers {
            renumber(&mut entries);
        }
        prop_assert!(verify(&entries, head).is_err());
    }

    #[test]
    fn each_inserted_entry_is_found(at: prop::sample::Index, like: prop::sample::Index, renumbers: bool) {
        let (mut entries, head) = chain();
        let like = entries[like.index(entries.len())].clone();
        entries.insert(at.index(entries.len() + 1), like);
        if renumbers {
            renumber(&mut entries);
        }
        prop_assert!(verify(&entries, head).is_err());
    }

    #[test]
    fn each_pair_out_of_order_is_found(one: prop::sample::Index, other: prop::sample::Index, renumbers: bool) {
        let (mut entries, head) = chain();
        let (one, other) = (one.index(entries.len()), other.index(entries.len()));
        prop_assume!(one != other);
        entries.swap(one, other);
        if renumbers {
            renumber(&mut entries);
        }
        prop_assert!(verify(&entries, head).is_err());
    }

    #[test]
    fn a_purged_prefix_needs_its_mark(rest: prop::sample::Index) {
        let (mut entries, mut head) = chain();
        let rest = 1 + rest.index(entries.len() - 1);
        let removed: Vec<ChainedEntry> = entries.drain(..rest).collect();
        let mut mark = ChainHead::default();
        removed.iter().for_each(|entry| mark.follow(entry));
        let mark = PurgeMark(mark);
        prop_assert!(verify(&entries, head).is_err(), "nothing says that entries were purged");
        let noted = AuditEntry {
            action: AuditAction::AuditPurge,
            resource: Some(mark.to_resource()),
            ..entry(99)
        };
        entries.push(head.append(&SealedEntry::new(noted, &keys(1), [99; 16])));
        prop_assert_eq!(verify_from(&entries, head, Some(mark), &[]), Ok(head));
        // One entry more is not covered by the mark.
        entries.remove(0);
        prop_assert!(verify_from(&entries, head, Some(mark), &[]).is_err());
    }
}

#[test]
fn an_untouched_chain_is_sound() {
    let (entries, head) = chain();
    assert_eq!(verify(&entries, head), Ok(head));
}

#[test]
fn an_erasure_needs_its_entry() {
    let (mut entries, mut head) = chain();
    entries[4].erase_payload();
    let broken = verify(&entries, head).unwrap_err();
    assert_eq!((broken.problem, broken.sequence), (ChainProblem::PayloadRemoved, 3));
    let erasure =
        AuditEntry { action: AuditAction::ContactErase, resource: entries[4].resource.clone(), ..entry(99) };
    entries.push(head.append(&SealedEntry::new(erasure, &keys(1), [99; 16])));
    assert_eq!(verify(&entries, head), Ok(head));
}

#[test]
fn a_cut_end_is_found_by_the_head_or_by_an_anchor() {
    let (mut entries, head) = chain();
    entries.pop();
    let missing = |broken: ChainBreak| (broken.problem, broken.sequence);
    assert_eq!(verify(&entries, head).map_err(missing), Err((ChainProblem::Missing, head.sequence)));
    let last = entries.last().unwrap().link.as_ref().unwrap();
    let cut = ChainHead { sequence: last.sequence, mac: last.mac };
    assert_eq!(verify(&entries, cut), Ok(cut), "who cuts the chain may set the noted end as well");
    let anchored = verify_from(&entries, cut, None, &[head]).map_err(missing);
    assert_eq!(anchored, Err((ChainProblem::Missing, head.sequence)));
}

#[test]
fn an_entry_of_another_history_differs_from_the_anchor() {
    let (_, anchor) = chain();
    let mut head = ChainHead::default();
    let other: Vec<ChainedEntry> =
        (2..LENGTH).map(|number| head.append(&SealedEntry::new(entry(number), &keys(1), [0; 16]))).collect();
    assert_eq!(verify(&other, head), Ok(head));
    let broken = verify_from(&other, head, None, &[anchor]).unwrap_err();
    assert_eq!((broken.problem, broken.sequence), (ChainProblem::AnchorDiffers, head.sequence));
}

#[test]
fn entries_of_another_server_key_are_not_accepted() {
    let mut head = ChainHead::default();
    let forged = [head.append(&SealedEntry::new(entry(1), &keys(2), [0; 16]))];
    assert_eq!(verify(&forged, head).map_err(|broken| broken.problem), Err(ChainProblem::UnknownKey));
}

#[test]
fn marks_are_read_from_purges_alone() {
    let mark = PurgeMark(ChainHead { sequence: 7, mac: [0xab; 32] });
    let purge =
        AuditEntry { action: AuditAction::AuditPurge, resource: Some(mark.to_resource()), ..entry(1) };
    assert_eq!(PurgeMark::of(&purge), Some(mark));
    assert_eq!(PurgeMark::of(&AuditEntry { action: AuditAction::AuditExport, ..purge }), None);
}
