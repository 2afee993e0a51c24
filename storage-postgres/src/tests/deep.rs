//! Pages far from the beginning of a list are the same from either end of it.

use openapi_core::contacts::Contact;
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSort, ContactStore, Order, SortPosition, Window,
};
use openapi_core::values::{ContactStatus, Tag, TextValue};

use super::support::{Database, runtime};
use crate::PostgresStorage;
use crate::config::{PostgresConfig, Thresholds};
use storage_common::fixtures::{agent_id, at, contact, insert_agent, write};
use testkit::SplitMix64;

#[test]
fn pages_agree_with_the_whole_list() {
    let database = Database::new();
    runtime().block_on(async {
        let thresholds = Thresholds { far_offset: 2, ..Thresholds::default() };
        let config = PostgresConfig { thresholds, ..database.config() };
        let store = PostgresStorage::open(config).await.unwrap();
        let agent = agent_id("a");
        let schema = insert_agent(&store, &agent).await;
        let mut rng = SplitMix64(7);
        let mut all = Vec::new();
        for number in 0..40 {
            let mut contact = contact(&agent, number);
            contact.first_name =
                (rng.below(3) > 0).then(|| TextValue::parse(&format!("n{}", rng.below(5))).unwrap());
            contact.status = ContactStatus::ALL[rng.below(3) as usize];
            contact.archived_at = (rng.below(4) == 0).then(|| at(1));
            contact.tags = vec![Tag::parse("vip").unwrap()];
            contact.created_at = at(rng.below(9) as i64);
            let write = write(&contact, &schema, number + 1);
            store.insert_contact(&agent, &write).await.unwrap();
            all.push((contact, write.keys));
        }
        let everything = || ContactFilter { include_archived: true, ..ContactFilter::default() };
        let tagged = ContactFilter { tag: Some("vip".to_owned()), ..everything() };
        let since = ContactFilter { created_since: Some(at(2)), ..everything() };
        for (filter, sort) in [
            (everything(), ContactSort::FirstName),
            (everything(), ContactSort::CreatedAt),
            (ContactFilter::default(), ContactSort::PrimaryEmail),
            (tagged, ContactSort::CreatedAt),
            (since, ContactSort::CreatedAt),
        ] {
            for order in [Order::Ascending, Order::Descending] {
                let mut listed: Vec<(SortPosition, &Contact)> = all
                    .iter()
                    .filter(|(contact, keys)| filter.admits(contact, keys))
                    .map(|(contact, keys)| {
                        (SortPosition { key: sort.key(contact, keys), id: contact.id }, contact)
                    })
                    .collect();
                listed.sort_by(|(a, _), (b, _)| a.compare(b, order));
                for offset in 0..=listed.len() + 2 {
                    let window = Window::Page { offset: offset as u64, limit: 3 };
                    let query = ContactQuery { filter: filter.clone(), sort, order, window };
                    let page = store.contacts(&agent, &query).await.unwrap();
                    assert_eq!(page.total, listed.len() as u64);
                    let expected: Vec<Contact> =
                        listed.iter().skip(offset).take(3).map(|(_, contact)| (*contact).clone()).collect();
                    assert_eq!(page.contacts, expected, "{query:?}");
                }
            }
        }
        store.close().await;
    });
}
