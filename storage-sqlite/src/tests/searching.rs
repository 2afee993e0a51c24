//! Searching: a rare term costs the reading of a few short lists, however many contacts exist.

use openapi_core::contacts::SearchTerm;
use rusqlite::Connection;

use super::support::{Folder, agent_id, contact, insert, insert_agent};
use crate::contacts::candidates;
use crate::thresholds::Thresholds;

#[test]
fn rare_terms_name_their_contacts_without_the_lists_of_common_grams() {
    let folder = Folder::new();
    let store = super::open_small(&folder);
    let agent = agent_id("a");
    let schema = insert_agent(&store, &agent);
    for number in 0..60 {
        insert(&store, &contact(&agent, number), &schema);
    }
    // Closing updates the search index.
    drop(store);
    let db = Connection::open(folder.database()).unwrap();
    let found = |query: &str| candidates(&db, 1, &SearchTerm::split(query), &Thresholds::SMALL).unwrap();
    let of = |number: i64| Some(vec![(1 << 32) + 1 + number]);
    // `@exam` and the like are in every contact.
    assert_eq!(found("contact17@example.com"), of(17));
    assert_eq!(found("example.com contact42@"), of(42));
    assert_eq!(found("nobody17@example.com"), Some(Vec::new()));
    // Not rare, and too short for a whole gram.
    assert_eq!(found("example.com"), None);
    assert_eq!(found("17@e"), None);
    assert_eq!(found(""), None);
}
