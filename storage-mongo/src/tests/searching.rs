//! Lists with several filters, by every method.

use openapi_core::contacts::SearchTerm;
use openapi_core::json::RawObject;
use openapi_core::storage::{
    ContactFilter, ContactQuery, ContactSort, ContactStore, Order, SortPosition, Window,
};
use openapi_core::values::ContactStatus;
use storage_memory::MemoryStorage;

use super::plans::{filled, people};
use super::small;
use super::support::{Server, agent_id, at, contact, insert_agent, wait, write};

/// The small thresholds make lists scan that the suite's other runs collect and sort.
#[test]
fn scans_in_the_order_of_the_sort_agree_with_the_model() {
    for case in [
        "filters_combine",
        "times_filter_inclusively",
        "every_term_must_occur",
        "digits_match_within_phones",
        "search_combines_with_filters_sorts_and_pages",
        "random_histories_agree_with_the_model",
    ] {
        testkit::conformance::run(case, &mut Server::on(small()));
    }
}

#[test]
fn a_contact_with_very_much_text_is_found_by_all_of_it() {
    let database = small();
    wait(async {
        let store = database.open().await;
        let a = agent_id("a");
        let schema = insert_agent(&store, &a).await;
        let text: String = ('\u{4e00}'..).take(4_500).collect();
        let mut long = contact(&a, 1);
        long.custom_fields = RawObject::from_text(format!(r#"{{"text":"{text} needle"}}"#)).unwrap();
        for (number, person) in [(1, &long), (2, &contact(&a, 2))] {
            store.insert_contact(&a, &write(person, &schema, number)).await.unwrap();
        }
        let last: String = text.chars().skip(4_490).collect();
        for (search, expected) in
            [("needle", 1), (&last, 1), ("contact1@", 1), ("contact", 2), ("nowhere", 0)]
        {
            let query = ContactQuery {
                filter: ContactFilter { search: SearchTerm::split(search), ..ContactFilter::default() },
                sort: ContactSort::CreatedAt,
                order: Order::Ascending,
                window: Window::Page { offset: 0, limit: 10 },
            };
            let page = store.contacts(&a, &query).await.unwrap();
            assert_eq!((page.contacts.len() as u64, page.total), (expected, expected), "{search}");
        }
        store.close().await;
    });
}

/// Filters whose matches are collected, few and many.
fn filters() -> Vec<ContactFilter> {
    let none = ContactFilter::default;
    let search = |text: &str| ContactFilter { search: SearchTerm::split(text), ..none() };
    let tagged = |filter| ContactFilter { tag: Some("vip".to_owned()), ..filter };
    vec![
        tagged(none()),
        tagged(ContactFilter { include_archived: true, ..none() }),
        search("name1"),
        search("last3"),
        search("a"),
        search("contact1"),
        tagged(search("example")),
        ContactFilter { include_archived: true, status: Some(ContactStatus::Active), ..search("example") },
        ContactFilter { created_since: Some(at(50)), ..none() },
        ContactFilter { updated_since: Some(at(200)), include_archived: true, ..none() },
        ContactFilter { primary_email: Some("contact7@example.com".to_owned()), ..none() },
    ]
}

#[test]
fn pages_of_gathered_lists_agree_with_the_model() {
    let database = small();
    wait(async {
        let (store, model, a) = (filled(&database).await, MemoryStorage::new(), agent_id("a"));
        let schema = insert_agent(&model, &a).await;
        for write in people(&a, &schema) {
            model.insert_contact(&a, &write).await.unwrap();
        }
        for filter in filters() {
            for sort in [ContactSort::FirstName, ContactSort::LastName, ContactSort::UpdatedAt] {
                for order in [Order::Ascending, Order::Descending] {
                    let page = |offset| Window::Page { offset, limit: 7 };
                    let mut query = ContactQuery { filter: filter.clone(), sort, order, window: page(0) };
                    let total = model.contacts(&a, &query).await.unwrap().total;
                    for offset in [0, 7, total / 2, total.saturating_sub(5), total + 1] {
                        query.window = page(offset);
                        let expected = model.contacts(&a, &query).await.unwrap();
                        assert_eq!(store.contacts(&a, &query).await.unwrap(), expected, "{query:?}");
                        let Some(last) = expected.contacts.last() else { continue };
                        let keys = openapi_core::contacts::ContactKeys::of(last, &schema);
                        let position = SortPosition { key: sort.key(last, &keys), id: last.id };
                        query.window = Window::After { position, limit: 7 };
                        let expected = model.contacts(&a, &query).await.unwrap();
                        assert_eq!(store.contacts(&a, &query).await.unwrap(), expected, "{query:?}");
                    }
                }
            }
        }
        store.close().await;
    });
}
