//! Lists with several filters, on every way to them.

use openapi_core::contacts::SearchTerm;
use openapi_core::json::RawObject;
use openapi_core::storage::{ContactFilter, ContactQuery, ContactSort, ContactStore, Order, Window};

use super::support::{Database, Server, agent_id, contact, insert_agent, wait, write};

/// With few contacts counting as many (`FEW` in `contacts/gather.rs`), what the suite of other crates reaches by
/// collecting is walked to here.
#[test]
fn walking_along_the_sort_agrees_with_the_model() {
    for case in [
        "filters_combine",
        "times_filter_inclusively",
        "every_term_must_occur",
        "digits_match_within_phones",
        "search_combines_with_filters_sorts_and_pages",
        "random_histories_agree_with_the_model",
    ] {
        openapi_core::conformance::run(case, &mut Server::new());
    }
}

#[test]
fn a_contact_with_very_much_text_is_found_by_all_of_it() {
    let database = Database::new();
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
