//! Cases for lists: order, totals, filters, positions.

use super::fixture::{World, at, everything, names, parsed};
use super::{Backend, on};
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, ContactKeys};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::{ContactFilter, ContactQuery, ContactSort, Order, SortPosition, Window};
use openapi_core::values::{AgentId, ContactStatus, Tag};

/// Contacts with ties and nulls in every sort: pairs share creation times; names repeat or are absent.
async fn crowd(world: &World, agent: &AgentId) -> Vec<Contact> {
    let names = [
        Some("b"),
        None,
        Some("B"),
        Some("á"),
        None,
        Some("a"),
        Some("z"),
        Some("Ä"),
        None,
        Some("ab"),
        Some("Ω"),
        Some(""),
    ];
    let mut crowd = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let name = name.map_or_else(String::new, |name| {
            format!(r#""firstName":"{name}","lastName":"{name}{}","#, n % 2)
        });
        let status = ["active", "inactive", "blocked"][n % 3];
        let tag = ["red", "Blue"][n % 2];
        let body = format!(
            r#"{{{name}"primaryEmail":"{}@example.com","status":"{status}","tags":["{tag}","all"]}}"#,
            ["x", "É", "y"][n % 3]
        );
        crowd.push(world.insert(agent, &body, (n / 2) as i64 * 10).await);
    }
    for (n, contact) in crowd.iter_mut().enumerate().filter(|(n, _)| n % 4 == 0) {
        *contact = world
            .update(contact, 1_000 + (n / 8) as i64, |contact| contact.salutation = Some(parsed("Dr")))
            .await;
    }
    crowd
}

fn position(sort: ContactSort, contact: &Contact) -> SortPosition {
    let schema = ContactSchema::builtin(contact.agent_id.clone(), at(0));
    SortPosition { key: sort.key(contact, &ContactKeys::of(contact, &schema)), id: contact.id }
}

fn sorted(crowd: &[Contact], sort: ContactSort, order: Order) -> Vec<Contact> {
    let mut sorted = crowd.to_vec();
    sorted.sort_by(|a, b| position(sort, a).compare(&position(sort, b), order));
    sorted
}

pub(super) fn every_sort_orders_ties_and_nulls(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let crowd = crowd(&world, &a).await;
        world.insert(&b, r#"{"primaryEmail":"stranger@example.com","firstName":"aa"}"#, 15).await;
        for sort in ContactSort::ALL {
            for order in [Order::Ascending, Order::Descending] {
                let expected = sorted(&crowd, sort, order);
                let query = ContactQuery { sort, order, ..everything() };
                assert_eq!(world.list(&a, &query).await, (expected.clone(), 12), "{sort:?} {order:?}");
                // By page and by position.
                for start in 0..=expected.len() {
                    let window = Window::Page { offset: start as u64, limit: 3 };
                    let (page, total) = world.list(&a, &ContactQuery { window, ..query.clone() }).await;
                    assert_eq!((page, total), (expected.iter().skip(start).take(3).cloned().collect(), 12));
                    let Some(last) = expected.get(start) else { continue };
                    let window = Window::After { position: position(sort, last), limit: 4 };
                    let (page, total) = world.list(&a, &ContactQuery { window, ..query.clone() }).await;
                    let following: Vec<Contact> = expected.iter().skip(start + 1).take(4).cloned().collect();
                    assert_eq!((page, total), (following, 12), "{sort:?} {order:?} after {start}");
                }
                for status in ContactStatus::ALL {
                    let filter = ContactFilter { status: Some(status), ..ContactFilter::default() };
                    let (page, total) = world.list(&a, &ContactQuery { filter, ..query.clone() }).await;
                    let of_status: Vec<Contact> =
                        expected.iter().filter(|contact| contact.status == status).cloned().collect();
                    assert_eq!((page, total), (of_status, 4), "{sort:?} {order:?} {status:?}");
                }
            }
        }
    });
}

pub(super) fn totals_are_exact_on_every_page(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        crowd(&world, &a).await;
        for (offset, limit, count) in
            [(0, 5, 5), (5, 5, 5), (10, 5, 2), (12, 5, 0), (999_980, 20, 0), (0, 100, 12)]
        {
            let query = ContactQuery { window: Window::Page { offset, limit }, ..everything() };
            let (page, total) = world.list(&a, &query).await;
            assert_eq!((page.len(), total), (count, 12), "{limit} after {offset}");
        }
    });
}

pub(super) fn filters_combine(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let crowd = crowd(&world, &a).await;
        let schema = world.schema(&a).await;
        let tags = [None, Some("red"), Some("blue"), Some("all"), Some("re"), Some("RED")];
        let emails = [None, Some("x@example.com"), Some("é@example.com"), Some("nobody@example.com")];
        for status in [None, Some(ContactStatus::Active), Some(ContactStatus::Blocked)] {
            for tag in tags {
                for email in emails {
                    for since in [None, Some(20), Some(9_999)] {
                        let filter = ContactFilter {
                            status,
                            tag: tag.map(str::to_owned),
                            primary_email: email.map(str::to_owned),
                            created_since: since.map(at),
                            ..ContactFilter::default()
                        };
                        let admitted: Vec<Contact> =
                            sorted(&crowd, ContactSort::CreatedAt, Order::Descending)
                                .into_iter()
                                .filter(|contact| filter.admits(contact, &ContactKeys::of(contact, &schema)))
                                .collect();
                        let total = admitted.len() as u64;
                        let query = ContactQuery { filter, ..everything() };
                        assert_eq!(world.list(&a, &query).await, (admitted, total), "{:?}", query.filter);
                    }
                }
            }
        }
        assert_eq!(Tag::fold(" RED "), "red", "callers fold");
    });
}

pub(super) fn times_filter_inclusively(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let mut contacts = Vec::new();
        for n in 0..3 {
            let body = format!(r#"{{"primaryEmail":"a@example.com","firstName":"n{n}"}}"#);
            contacts.push(world.insert(&a, &body, n * 10).await);
        }
        world.update(&contacts[0], 500, |contact| contact.salutation = Some(parsed("Dr"))).await;
        let count = async |created, updated: Option<i64>| {
            let filter = ContactFilter {
                created_since: Option::map(created, at),
                updated_since: updated.map(at),
                ..ContactFilter::default()
            };
            world.names(&a, filter).await.0.join(" ")
        };
        assert_eq!(count(Some(10), None).await, "n1 n2");
        assert_eq!(count(Some(11), None).await, "n2");
        assert_eq!(count(Some(20), None).await, "n2");
        assert_eq!(count(Some(21), None).await, "");
        assert_eq!(count(None, Some(20)).await, "n0 n2");
        assert_eq!(count(None, Some(500)).await, "n0");
        assert_eq!(count(None, Some(501)).await, "");
        assert_eq!(count(Some(5), Some(20)).await, "n2");
    });
}

pub(super) fn archived_contacts_are_hidden_unless_asked_for(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let crowd = crowd(&world, &a).await;
        world.update(&crowd[1], 2_000, |contact| contact.archived_at = Some(at(2_000))).await;
        let archived = world.update(&crowd[3], 2_000, |contact| contact.archived_at = Some(at(2_000))).await;
        let count = async |filter: ContactFilter| {
            let hidden = world.list(&a, &ContactQuery { filter: filter.clone(), ..everything() }).await;
            let filter = ContactFilter { include_archived: true, ..filter };
            let shown = world.list(&a, &ContactQuery { filter, ..everything() }).await;
            assert_eq!((hidden.0.len() as u64, shown.0.len() as u64), (hidden.1, shown.1));
            (hidden.1, shown.1)
        };
        let all = ContactFilter::default;
        assert_eq!(count(all()).await, (10, 12));
        assert_eq!(count(ContactFilter { status: Some(ContactStatus::Inactive), ..all() }).await, (3, 4));
        assert_eq!(count(ContactFilter { tag: Some("blue".to_owned()), ..all() }).await, (4, 6));
        let search = openapi_core::contacts::SearchTerm::split("example");
        assert_eq!(count(ContactFilter { search, ..all() }).await, (10, 12));
        assert_eq!(world.by_id(&a, archived.id).await, Some(archived.clone()), "reads stay open");
        world.update(&archived, 3_000, |contact| contact.archived_at = None).await;
        assert_eq!(count(all()).await, (11, 12));
    });
}

pub(super) fn positions_outlive_their_contact(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let crowd = crowd(&world, &a).await;
        for sort in [ContactSort::CreatedAt, ContactSort::LastName] {
            let expected = sorted(&crowd, sort, Order::Ascending);
            let at_fifth = position(sort, &expected[4]);
            let following: Vec<Contact> = expected[5..].to_vec();
            let query = ContactQuery {
                sort,
                order: Order::Ascending,
                window: Window::After { position: at_fifth, limit: 100 },
                ..everything()
            };
            assert_eq!(world.list(&a, &query).await.0, following);
        }
        let expected = sorted(&crowd, ContactSort::LastName, Order::Ascending);
        let gone = &expected[4];
        let query = ContactQuery {
            sort: ContactSort::LastName,
            order: Order::Ascending,
            window: Window::After { position: position(ContactSort::LastName, gone), limit: 100 },
            ..everything()
        };
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &gone.id.to_string(), 5_000);
        world.storage.erase_contact(&a, gone.id, at(5_000), &effects).await.expect("erase");
        assert_eq!(world.list(&a, &query).await, (expected[5..].to_vec(), 11), "nothing shifts");
    });
}

pub(super) fn counts_follow_every_change(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let mut contact =
            world.insert(&a, r#"{"primaryEmail":"a@example.com","tags":["one","two"]}"#, 1).await;
        let counts = async |label: &str, expected: [u64; 6]| {
            let of = async |filter: ContactFilter| {
                let (page, total) = world.list(&a, &ContactQuery { filter, ..everything() }).await;
                assert_eq!(page.len() as u64, total, "{label}");
                total
            };
            let tag = |tag: &str| ContactFilter { tag: Some(tag.to_owned()), ..ContactFilter::default() };
            let status = |status| ContactFilter { status: Some(status), ..ContactFilter::default() };
            let both = ContactFilter { status: Some(ContactStatus::Active), ..tag("one") };
            let found = [
                of(ContactFilter::default()).await,
                of(status(ContactStatus::Active)).await,
                of(status(ContactStatus::Inactive)).await,
                of(tag("one")).await,
                of(tag("three")).await,
                of(both).await,
            ];
            assert_eq!(found, expected, "{label}");
        };
        counts("created", [1, 1, 0, 1, 0, 1]).await;
        contact = world.update(&contact, 2, |contact| contact.status = ContactStatus::Inactive).await;
        counts("inactive", [1, 0, 1, 1, 0, 0]).await;
        contact =
            world.update(&contact, 3, |contact| contact.tags = vec![parsed("Three"), parsed("ONE")]).await;
        counts("other tags", [1, 0, 1, 1, 1, 0]).await;
        contact = world.update(&contact, 4, |contact| contact.archived_at = Some(at(4))).await;
        counts("archived", [0, 0, 0, 0, 0, 0]).await;
        let back = |contact: &mut Contact| {
            contact.archived_at = None;
            contact.status = ContactStatus::Active;
        };
        contact = world.update(&contact, 5, back).await;
        counts("back", [1, 1, 0, 1, 1, 1]).await;
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 6);
        world.storage.erase_contact(&a, contact.id, at(6), &effects).await.expect("erase");
        counts("erased", [0, 0, 0, 0, 0, 0]).await;
    });
}

pub(super) fn lists_show_one_agent_only(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        for n in 0..6 {
            let agent = if n % 2 == 0 { &a } else { &b };
            let body = format!(r#"{{"primaryEmail":"same@example.com","firstName":"n{n}","tags":["t"]}}"#);
            world.insert(agent, &body, n).await;
        }
        let tag = ContactFilter { tag: Some("t".to_owned()), ..ContactFilter::default() };
        let email =
            ContactFilter { primary_email: Some("same@example.com".to_owned()), ..ContactFilter::default() };
        let search = ContactFilter {
            search: openapi_core::contacts::SearchTerm::split("same"),
            ..ContactFilter::default()
        };
        let status = ContactFilter { status: Some(ContactStatus::Active), ..ContactFilter::default() };
        for filter in [ContactFilter::default(), tag, email, search, status] {
            for sort in ContactSort::ALL {
                let query =
                    ContactQuery { filter: filter.clone(), sort, order: Order::Ascending, ..everything() };
                let (contacts, total) = world.list(&b, &query).await;
                let mut shown = names(&contacts);
                shown.sort();
                assert_eq!((shown.join(" ").as_str(), total), ("n1 n3 n5", 3), "{sort:?} {filter:?}");
            }
        }
    });
}
