//! Cases for search.

use super::fixture::{World, at, everything, names, parsed};
use super::{Backend, on};
use openapi_core::audit::AuditAction;
use openapi_core::contacts::SearchTerm;
use openapi_core::storage::{ContactFilter, ContactQuery, ContactSort, Order, Window};
use openapi_core::values::{AgentId, ContactStatus};

async fn people(world: &World, agent: &AgentId) {
    for (n, body) in [
        r#"{"firstName":"Zoë","lastName":"Okafor","primaryEmail":"zoe.okafor@example.com","primaryPhone":"20 7946 0958","primaryPhoneCode":"44","externalReferenceId":"crm-1001","tags":["VIP guest"],"customFields":{"plan":"Gold","nested":{"hidden":"deep"},"list":["inner"],"number":424242}}"#,
        r#"{"firstName":"Straße","lastName":"100%_off","primaryEmail":"s@example.org","fullAddress":"12 Mill Lane\nLeeds LS1 4AB","middleName":"a*b"}"#,
        r#"{"firstName":"Ann","lastName":"Zane","primaryEmail":"ann@example.com","primaryPhone":"+49 (30) 123-456"}"#,
        r#"{"firstName":"名前","primaryEmail":"x@example.net","customFields":{"note":"İstanbul ﬁne"}}"#,
    ]
    .iter()
    .enumerate()
    {
        world.insert(agent, body, n as i64).await;
    }
}

/// Asserts the results of searches, oldest first.
async fn expect(world: &World, agent: &AgentId, cases: &[(&str, &str)]) {
    for (search, expected) in cases {
        assert_eq!(world.found(agent, search).await.join(" "), *expected, "{search:?}");
    }
}

pub(super) fn every_term_must_occur(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        people(&world, &a).await;
        let cases = [
            ("okafor", "Zoë"),
            ("zo okaf", "Zoë"),
            ("okafor zoë gold", "Zoë"),
            ("okafor zane", ""),
            ("example.com", "Zoë Ann"),
            ("example", "Zoë Straße Ann 名前"),
            ("crm-1001", "Zoë"),
            ("leeds mill", "Straße"),
            ("vip guest", "Zoë"),
            ("deep", ""),
            ("inner", ""),
            ("424242", ""),
            ("plan", ""),
            ("active", ""),
        ];
        expect(&world, &a, &cases).await;
    });
}

pub(super) fn terms_ignore_case_and_accents(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        people(&world, &a).await;
        let cases = [
            ("zoe", "Zoë"),
            ("ZOË", "Zoë"),
            ("OKÁFOR", "Zoë"),
            ("strasse", "Straße"),
            ("STRAẞE", "Straße"),
            ("istanbul", "名前"),
            ("FINE", "名前"),
            ("名前", "名前"),
            ("名", "名前"),
        ];
        expect(&world, &a, &cases).await;
    });
}

pub(super) fn terms_never_match_across_fields(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        people(&world, &a).await;
        expect(&world, &a, &[("zoëokafor", ""), ("annzane", ""), ("okaforzoe", ""), ("laneleeds", "")]).await;
    });
}

pub(super) fn wildcards_are_plain_text(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        people(&world, &a).await;
        let cases = [
            ("%", "Straße"),
            ("100%_off", "Straße"),
            ("100%off", ""),
            ("o%r", ""),
            ("_", "Straße"),
            ("z_e", ""),
            ("a*b", "Straße"),
            ("*", "Straße"),
            ("ok*", ""),
            ("\"", ""),
            ("'", ""),
            ("zoe\"", ""),
            ("AND", ""),
            ("-ann", ""),
            ("name:ann", ""),
            ("\\", ""),
            ("(30)", "Ann"),
        ];
        expect(&world, &a, &cases).await;
    });
}

pub(super) fn digits_match_within_phones(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        people(&world, &a).await;
        let cases = [
            ("442079460958", "Zoë"),
            ("+44-20-7946", "Zoë"),
            ("4420", "Zoë"),
            ("0.7.9", "Zoë"),
            ("09", "Zoë"),
            ("4930123456", "Ann"),
            ("30-123", "Ann"),
            ("123x456", ""),
            ("999", ""),
        ];
        expect(&world, &a, &cases).await;
    });
}

pub(super) fn short_terms_are_found(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        people(&world, &a).await;
        world.insert(&b, r#"{"primaryEmail":"q@example.com","firstName":"Other"}"#, 9).await;
        let cases = [
            ("z", "Zoë Ann"),
            ("ë", "Zoë Straße Ann 名前"),
            ("zo", "Zoë"),
            ("nn", "Ann"),
            ("q", ""),
            ("名", "名前"),
            ("z a", "Zoë Ann"),
        ];
        expect(&world, &a, &cases).await;
    });
}

pub(super) fn search_follows_every_change(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let body = r#"{"firstName":"Before","primaryEmail":"a@example.com","primaryPhone":"555 0001","tags":["oldtag"]}"#;
        let contact = world.insert(&a, body, 1).await;
        let changed = world.update(&contact, 2, |contact| {
            contact.first_name = Some(parsed("After"));
            contact.primary_phone = Some(parsed("555 0002"));
            contact.tags = vec![parsed("newtag")];
        });
        let changed = changed.await;
        let cases = [
            ("before", ""),
            ("after", "After"),
            ("5550001", ""),
            ("5550002", "After"),
            ("oldtag", ""),
            ("newtag", "After"),
        ];
        expect(&world, &a, &cases).await;
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &changed.id.to_string(), 3);
        world.storage.erase_contact(&a, changed.id, at(3), &effects).await.expect("erase");
        expect(&world, &a, &[("after", ""), ("example", "")]).await;
        world.insert(&a, &body.replace("Before", "Again"), 4).await;
        expect(&world, &a, &[("after", ""), ("oldtag", "Again")]).await;
    });
}

pub(super) fn search_combines_with_filters_sorts_and_pages(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        for n in 0..30 {
            let status = ["active", "blocked"][n % 2];
            let tag = ["even", "third"][usize::from(n % 3 == 0)];
            let body = format!(
                r#"{{"firstName":"n{:02}","lastName":"Common","primaryEmail":"p{n}@example.com","status":"{status}","tags":["{tag}"]}}"#,
                29 - n
            );
            world.insert(&a, &body, n as i64).await;
        }
        let filter = ContactFilter {
            search: SearchTerm::split("COMMON n"),
            status: Some(ContactStatus::Blocked),
            tag: Some("third".to_owned()),
            created_since: Some(at(4)),
            ..ContactFilter::default()
        };
        let query = ContactQuery {
            filter,
            sort: ContactSort::FirstName,
            order: Order::Ascending,
            window: Window::Page { offset: 1, limit: 2 },
        };
        let (page, total) = world.list(&a, &query).await;
        assert_eq!((names(&page).join(" ").as_str(), total), ("n08 n14", 4), "n02 n08 n14 n20");
        let position = openapi_core::storage::SortPosition {
            key: openapi_core::storage::SortKey::Text(Some("n08".to_owned())),
            id: page[0].id,
        };
        let query = ContactQuery { window: Window::After { position, limit: 9 }, ..query };
        let (page, total) = world.list(&a, &query).await;
        assert_eq!((names(&page).join(" ").as_str(), total), ("n14 n20", 4));
        let all = ContactQuery {
            filter: ContactFilter { search: SearchTerm::split("common"), ..ContactFilter::default() },
            window: Window::Page { offset: 25, limit: 10 },
            ..everything()
        };
        let (page, total) = world.list(&a, &all).await;
        assert_eq!((page.len(), total), (5, 30));
    });
}
