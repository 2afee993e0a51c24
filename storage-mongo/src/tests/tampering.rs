//! Tampering with the audit log in the database: each changed, removed or inserted entry is found.

use mongodb::bson::{Bson, Document, doc};
use testkit::SplitMix64;

use super::support::{Database, agent_id, at, insert_chain, two_entries, verify_chain, wait};
use crate::document::{binary, time};
use crate::migrate::collection;

/// The entries, with that of the number `n` at `n - 1`.
type Entries = Vec<Document>;

fn set(entries: &mut [Document], number: u64, name: &str, value: impl Into<Bson>) {
    entries[number as usize - 1].insert(name, value);
}

fn set_in_key(entry: &mut Document, name: &str, value: impl Into<Bson>) {
    entry.get_document_mut("_id").unwrap().insert(name, value);
}

fn insert_copy(entries: &mut Entries, number: u64) -> &mut Document {
    let mut copy = entries[number as usize - 1].clone();
    set_in_key(&mut copy, "id", binary(&[0x5a; 12]));
    entries.push(copy);
    entries.last_mut().unwrap()
}

/// What changes one entry, or it and another one.
const TAMPERINGS: [fn(&mut Entries, u64, u64); 14] = [
    |entries, one, _| set_in_key(&mut entries[one as usize - 1], "at", time(at(500 + one as i64))),
    |entries, one, _| set(entries, one, "resource", "other"),
    |entries, one, _| set(entries, one, "action", "contact.create"),
    |entries, one, _| set(entries, one, "actor", r#"{"type":"operator","id":"other"}"#),
    |entries, one, _| set(entries, one, "address", "192.0.2.99"),
    |entries, one, _| drop(entries[one as usize - 1].remove("requestId")),
    |entries, one, _| set(entries, one, "details", r#"{"fields":[]}"#),
    |entries, one, _| {
        entries[one as usize - 1].remove("details");
        entries[one as usize - 1].remove("salt");
    },
    |entries, one, _| set(entries, one, "mac", binary(&[0x5a; 32])),
    |entries, one, _| drop(entries.remove(one as usize - 1)),
    |entries, one, _| {
        insert_copy(entries, one);
    },
    |entries, one, _| {
        let copy = insert_copy(entries, one);
        copy.insert("sequence", 0_i64);
        for name in ["serverKey", "salt", "digest", "mac"] {
            copy.remove(name);
        }
    },
    // Two entries swap their numbers.
    |entries, one, other| {
        set(entries, one, "sequence", other as i64);
        set(entries, other, "sequence", one as i64);
    },
    // An entry disappears, and the later ones close the gap.
    |entries, one, _| {
        set(entries, one, "sequence", 1_000_i64);
        for (at, entry) in entries.iter_mut().enumerate().skip(one as usize) {
            entry.insert("sequence", at as i64);
        }
    },
];

#[test]
fn a_hundred_random_tamperings_are_found() {
    let database = Database::new();
    wait(async {
        let agent = agent_id("a");
        let store = database.open().await;
        insert_chain(&store, &agent).await;
        let log = store.handle.collection(collection::AUDIT).clone_with_type::<Document>();
        let mut sound = Entries::new();
        let mut cursor = log.find(doc! {}).sort(doc! { "sequence": 1 }).await.unwrap();
        while cursor.advance().await.unwrap() {
            sound.push(cursor.deserialize_current().unwrap());
        }
        // Closing the store waits for cursors.
        drop(cursor);
        let mut random = SplitMix64(7);
        for tampering in 0..100 {
            assert_eq!(verify_chain(&store, &agent).await, Ok(()));
            let [one, other] = two_entries(|bound| random.below(bound));
            let mut entries = sound.clone();
            TAMPERINGS[tampering % TAMPERINGS.len()](&mut entries, one, other);
            for (entries, is_sound) in [(&entries, false), (&sound, true)] {
                log.delete_many(doc! {}).await.unwrap();
                log.insert_many(entries).await.unwrap();
                let found = verify_chain(&store, &agent).await;
                assert_eq!(found.is_ok(), is_sound, "tampering {tampering} of {one} and {other}: {found:?}");
            }
        }
        store.close().await;
    });
}
