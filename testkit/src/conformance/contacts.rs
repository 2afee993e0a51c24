//! Cases for single contacts.

use super::fixture::{World, agent_id, assert_fails, at, duplicate_of, everything, fields, parsed, replay};
use super::{Backend, on};
use openapi_core::audit::AuditAction;
use openapi_core::contacts::{Contact, UniqueValue};
use openapi_core::json::RawObject;
use openapi_core::storage::StorageErrorKind;
use openapi_core::values::ContactStatus;

/// A contact with every field set.
const FULL: &str = r#"{"externalReferenceId":"crm-1","salutation":"Dr","firstName":"Zoë","middleName":"M","lastName":"Okafor",
    "dob":"1990-05-17","gender":"female","primaryEmail":"Zoe@Example.com","primaryPhone":"20 7946","primaryPhoneCode":"44",
    "fullAddress":"12 Mill Lane\nLeeds","tags":["vip","new"],"status":"blocked","source":"import",
    "lastContactedAt":"2026-01-01T00:00:00.007Z","customFields":{"n":1.50,"deep":{"list":[1,null,"é"]},"b":true}}"#;

pub(super) fn contacts_come_back_as_stored(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let full = world.insert(&a, FULL, 1).await;
        let bare = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 2).await;
        assert_eq!(world.by_id(&a, full.id).await, Some(full.clone()));
        assert_eq!(world.by_external(&a, "crm-1").await, Some(full.clone()));
        assert_eq!(world.by_id(&a, bare.id).await, Some(bare.clone()));
        assert_eq!(world.list(&a, &everything()).await, (vec![bare, full.clone()], 2));
        let cleared = world.update(&full, 5, |contact| {
            let Contact { id, agent_id, primary_email, created_at, version, .. } = contact.clone();
            *contact = Contact {
                id,
                agent_id,
                primary_email,
                created_at,
                version,
                updated_at: at(5),
                external_reference_id: None,
                salutation: None,
                first_name: None,
                middle_name: None,
                last_name: None,
                dob: None,
                gender: None,
                primary_phone: None,
                primary_phone_code: None,
                full_address: None,
                tags: vec![],
                status: ContactStatus::Inactive,
                source: parsed("api"),
                last_contacted_at: None,
                custom_fields: RawObject::default(),
                archived_at: Some(at(5)),
            };
        });
        let cleared = cleared.await;
        assert_eq!(world.by_id(&a, full.id).await, Some(cleared), "every field can be cleared");
    });
}

pub(super) fn text_survives_to_the_byte(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let texts = [
            "e\u{301} is not \u{e9}",
            "👩\u{200d}👩\u{200d}👧 \u{1f3f4}",
            "\u{202e}right to left",
            "'; DROP TABLE contacts; --",
            "\u{feff}mark",
            "ẞß İı ﬁ Ω",
            "\u{10ffff}",
        ];
        for (n, text) in texts.iter().enumerate() {
            let long = text.chars().cycle().take(1_000).collect::<String>();
            let body = fields(|fields| {
                fields.external_reference_id = Some(Some(parsed(&format!("id {text} {n}"))));
                fields.first_name = Some(Some(parsed(text)));
                fields.full_address =
                    Some(Some(parsed(&format!("a{long}").chars().take(1_000).collect::<String>())));
                fields.tags = Some(Some(vec![parsed(text)]));
            });
            let contact = world.insert(&a, &body, n as i64).await;
            assert_eq!(world.by_id(&a, contact.id).await, Some(contact.clone()), "{text}");
            assert_eq!(world.by_external(&a, &format!("id {text} {n}")).await, Some(contact), "{text}");
        }
        let nested = r#"{"primaryEmail":"a@example.com","customFields":{"z":1e2,"a":-0.10,"u":"\u0001\ud83d\ude00","list":[[],{}]}}"#;
        let contact = world.insert(&a, nested, 50).await;
        let stored =
            world.by_id(&a, contact.id).await.map(|contact| contact.custom_fields.as_str().to_owned());
        assert_eq!(
            stored.as_deref(),
            Some(contact.custom_fields.as_str()),
            "numbers and order of members as written"
        );
    });
}

pub(super) fn external_ids_are_exact(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let ids = ["crm-1", "CRM-1", "crm-1.", "e\u{301}", "\u{e9}", "697dc8165d4ffa83cfc35cfc", "%", "_"];
        for (n, id) in ids.iter().enumerate() {
            let body = fields(|fields| fields.external_reference_id = Some(Some(parsed(id))));
            world.insert(&a, &body, n as i64).await;
        }
        for (n, id) in ids.iter().enumerate() {
            let found = world.by_external(&a, id).await.map(|contact| contact.created_at);
            assert_eq!(found, Some(at(n as i64)), "{id}");
        }
        assert_eq!(world.by_external(&a, "Crm-1").await, None);
        let as_platform_id = world.by_id(&a, parsed("697dc8165d4ffa83cfc35cfc")).await;
        assert_eq!(as_platform_id, None, "an external id is never read as a platform id");
    });
}

pub(super) fn external_ids_are_unique_also_when_archived(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let body = r#"{"primaryEmail":"a@example.com","externalReferenceId":"x"}"#;
        let first = world.insert(&a, body, 1).await;
        world.insert(&b, body, 2).await;
        let second = world.contact(&a, body, 3).await;
        let found = duplicate_of(world.try_insert(&second).await);
        assert_eq!(
            (found.field.as_str(), found.existing, found.archived),
            ("externalReferenceId", first.id, false)
        );
        world.update(&first, 4, |contact| contact.archived_at = Some(at(4))).await;
        let found = duplicate_of(world.try_insert(&second).await);
        assert_eq!((found.existing, found.archived), (first.id, true));
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com"}"#, 5).await;
        let renamed = World::changed(&other, 6, |contact| contact.external_reference_id = Some(parsed("x")));
        assert_eq!(duplicate_of(world.try_update(&other, &renamed).await).existing, first.id);
        assert_eq!(world.by_id(&a, other.id).await, Some(other));
    });
}

pub(super) fn unique_values_are_refused_in_order(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let unique =
            r#"{"fields":[{"name":"lastName","unique":true},{"name":"primaryEmail","unique":true}]}"#;
        world.redefine(&a, unique, 0).await.expect("redefine");
        let body = r#"{"primaryEmail":"A@example.com","lastName":"Okafor","externalReferenceId":"x"}"#;
        let first = world.insert(&a, body, 1).await;
        world.insert(&b, body, 2).await;
        let cases = [
            (
                r#"{"primaryEmail":"a@EXAMPLE.com","lastName":"Okafor","externalReferenceId":"x"}"#,
                "externalReferenceId",
            ),
            (r#"{"primaryEmail":"a@EXAMPLE.com","lastName":"Okafor"}"#, "lastName"),
            (r#"{"primaryEmail":"a@EXAMPLE.com","lastName":"Other"}"#, "primaryEmail"),
        ];
        for (body, field) in cases {
            let contact = world.contact(&a, body, 3).await;
            let found = duplicate_of(world.try_insert(&contact).await);
            assert_eq!((found.field.as_str(), found.existing), (field, first.id));
        }
        let second = world.insert(&a, r#"{"primaryEmail":"b@example.com","lastName":"okafor"}"#, 4).await;
        world.update(&first, 5, |contact| contact.first_name = Some(parsed("Zoë"))).await;
        let taken = World::changed(&second, 6, |contact| contact.last_name = Some(parsed("Okafor")));
        assert_eq!(duplicate_of(world.try_update(&second, &taken).await).field, "lastName");
        let freed = world.by_id(&a, first.id).await.expect("there");
        world.update(&freed, 7, |contact| contact.last_name = None).await;
        world.try_update(&second, &taken).await.expect("the value is free");
    });
}

pub(super) fn a_rename_frees_the_old_id(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let first =
            world.insert(&a, r#"{"primaryEmail":"a@example.com","externalReferenceId":"old"}"#, 1).await;
        let renamed =
            world.update(&first, 2, |contact| contact.external_reference_id = Some(parsed("new"))).await;
        assert_eq!(world.by_external(&a, "old").await, None);
        assert_eq!(world.by_external(&a, "new").await, Some(renamed.clone()));
        let second =
            world.insert(&a, r#"{"primaryEmail":"b@example.com","externalReferenceId":"old"}"#, 3).await;
        assert_eq!(world.by_external(&a, "old").await, Some(second));
        world.update(&renamed, 4, |contact| contact.external_reference_id = None).await;
        assert_eq!(world.by_external(&a, "new").await, None);
        world.insert(&a, r#"{"primaryEmail":"c@example.com","externalReferenceId":"new"}"#, 5).await;
    });
}

pub(super) fn updates_need_the_stored_version(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let first = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        let second = world.update(&first, 2, |contact| contact.first_name = Some(parsed("second"))).await;
        let late = World::changed(&first, 3, |contact| contact.first_name = Some(parsed("late")));
        assert_fails(world.try_update(&first, &late).await, &StorageErrorKind::Stale);
        let early = Contact { version: 4, ..late };
        let write = world.write(&early, 3).await;
        assert_fails(world.storage.update_contact(&a, 3, &write).await, &StorageErrorKind::Stale);
        assert_eq!(world.by_id(&a, first.id).await, Some(second));
    });
}

pub(super) fn writes_need_the_schema_in_force(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let stored = world.insert(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        let new = world.contact(&a, r#"{"primaryEmail":"b@example.com"}"#, 2).await;
        let insert = world.write(&new, 2).await;
        let changed = World::changed(&stored, 3, |contact| contact.first_name = Some(parsed("x")));
        let update = world.write(&changed, 3).await;
        world.redefine(&a, "{}", 4).await.expect("redefine");
        assert_fails(world.storage.insert_contact(&a, &insert).await, &StorageErrorKind::Stale);
        assert_fails(world.storage.update_contact(&a, 1, &update).await, &StorageErrorKind::Stale);
        assert_eq!(world.list(&a, &everything()).await, (vec![stored], 1));
    });
}

pub(super) fn absent_rows_are_missing(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let absent = world.contact(&a, r#"{"primaryEmail":"a@example.com"}"#, 1).await;
        assert_fails(
            world.try_update(&absent, &World::changed(&absent, 2, |_| {})).await,
            &StorageErrorKind::Missing,
        );
        let effects = world.effects(Some(&a), AuditAction::ContactErase, "c", 2);
        assert_fails(
            world.storage.erase_contact(&a, absent.id, at(2), &effects).await,
            &StorageErrorKind::Missing,
        );
        assert_eq!(world.by_id(&a, absent.id).await, None);
        let nobody = agent_id("nobody");
        assert_eq!(world.by_id(&nobody, absent.id).await, None);
        assert_eq!(world.list(&nobody, &everything()).await, (vec![], 0));
        let stray = Contact { agent_id: nobody, ..absent.clone() };
        assert_fails(world.try_insert(&stray).await, &StorageErrorKind::Missing);
        world.try_insert(&absent).await.expect("insert");
        assert_fails(world.try_insert(&absent).await, &StorageErrorKind::AlreadyExists);
    });
}

pub(super) fn a_refused_write_leaves_nothing(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let body =
            r#"{"primaryEmail":"a@example.com","externalReferenceId":"x","tags":["t"],"firstName":"First"}"#;
        let first = world.insert(&a, body, 1).await;
        let other = world.insert(&a, r#"{"primaryEmail":"b@example.com","firstName":"Other"}"#, 2).await;
        let entries = world.audit_of(Some(&a)).await.len();
        let second = world.contact(&a, &body.replace("First", "Second"), 3).await;
        let mut write = world.write(&second, 3).await;
        write.effects.replay = Some(replay(1, Some(second.id), 1_000));
        duplicate_of(world.storage.insert_contact(&a, &write).await);
        let renamed = World::changed(&other, 4, |contact| {
            contact.external_reference_id = Some(parsed("x"));
            contact.status = ContactStatus::Blocked;
            contact.tags = vec![parsed("t")];
        });
        duplicate_of(world.try_update(&other, &renamed).await);
        assert_eq!(world.audit_of(Some(&a)).await.len(), entries, "no audit entry of a rejected write");
        let stored = world
            .storage
            .replay(&a, &openapi_core::storage::IdempotencyKey([1; 32]), at(4))
            .await
            .expect("replay");
        assert_eq!(stored, None, "no stored response of a rejected write");
        assert_eq!(world.by_id(&a, second.id).await, None);
        assert_eq!(world.list(&a, &everything()).await, (vec![other, first], 2));
        let tagged = openapi_core::storage::ContactFilter { tag: Some("t".to_owned()), ..Default::default() };
        assert_eq!(world.names(&a, tagged).await, (vec!["First".to_owned()], 1));
        let blocked = openapi_core::storage::ContactFilter {
            status: Some(ContactStatus::Blocked),
            ..Default::default()
        };
        assert_eq!(world.names(&a, blocked).await.1, 0);
        assert!(world.found(&a, "second").await.is_empty());
    });
}

pub(super) fn erasing_removes_everything_of_a_contact(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let body =
            r#"{"primaryEmail":"a@example.com","externalReferenceId":"x","tags":["t"],"firstName":"Gone"}"#;
        let contact = world.contact(&a, body, 1).await;
        let mut write = world.write(&contact, 1).await;
        write.effects.replay = Some(replay(1, Some(contact.id), 1_000));
        world.storage.insert_contact(&a, &write).await.expect("insert");
        let retained =
            world.contact(&a, r#"{"primaryEmail":"b@example.com","firstName":"Retained"}"#, 2).await;
        let mut write = world.write(&retained, 2).await;
        write.effects.replay = Some(replay(2, Some(retained.id), 1_000));
        world.storage.insert_contact(&a, &write).await.expect("insert");
        world.insert(&b, body, 3).await;
        let effects = world.effects(Some(&a), AuditAction::ContactErase, &contact.id.to_string(), 4);
        world.storage.erase_contact(&a, contact.id, at(4), &effects).await.expect("erase");
        assert_eq!(world.by_id(&a, contact.id).await, None);
        assert_eq!(world.by_external(&a, "x").await, None);
        assert_eq!(world.list(&a, &everything()).await, (vec![retained.clone()], 1));
        assert!(world.found(&a, "gone").await.is_empty());
        let tagged = openapi_core::storage::ContactFilter { tag: Some("t".to_owned()), ..Default::default() };
        assert_eq!(world.names(&a, tagged).await.1, 0);
        for entry in world.audit_of(None).await {
            let emptied = entry.agent_id.as_ref() == Some(&a)
                && entry.resource.as_deref() == Some(&contact.id.to_string())
                && entry.action != AuditAction::ContactErase;
            assert_eq!(entry.details.is_empty(), emptied, "{entry:?}");
        }
        let replayed = async |key| {
            world
                .storage
                .replay(&a, &openapi_core::storage::IdempotencyKey([key; 32]), at(5))
                .await
                .expect("replay")
        };
        assert_eq!(replayed(1).await, None, "a stored answer shows the contact");
        assert!(replayed(2).await.is_some());
        assert!(world.by_external(&b, "x").await.is_some());
        world.insert(&a, body, 6).await;
    });
}

pub(super) fn contacts_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let contact = world.insert(&a, FULL, 1).await;
        assert_eq!(world.by_id(&b, contact.id).await, None);
        assert_eq!(world.by_external(&b, "crm-1").await, None);
        assert_eq!(world.list(&b, &everything()).await, (vec![], 0));
        assert!(world.found(&b, "okafor").await.is_empty());
        let mut write = world.write(&World::changed(&contact, 2, |_| {}), 2).await;
        write.contact.agent_id = b.clone();
        assert_fails(world.storage.update_contact(&b, 1, &write).await, &StorageErrorKind::Missing);
        let effects = world.effects(Some(&b), AuditAction::ContactErase, &contact.id.to_string(), 3);
        assert_fails(
            world.storage.erase_contact(&b, contact.id, at(3), &effects).await,
            &StorageErrorKind::Missing,
        );
        let external = contact.external_reference_id.as_ref();
        let found = world.storage.duplicate_contact(&b, None, external, &[]).await.expect("duplicate");
        assert_eq!(found, None);
        assert_eq!(world.by_id(&a, contact.id).await, Some(contact));
    });
}

pub(super) fn duplicates_are_found_without_writing(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        world
            .redefine(&a, r#"{"fields":[{"name":"primaryEmail","unique":true}]}"#, 0)
            .await
            .expect("redefine");
        let contact =
            world.insert(&a, r#"{"primaryEmail":"A@example.com","externalReferenceId":"x"}"#, 1).await;
        let email = [UniqueValue { field: "primaryEmail".to_owned(), value: "a@example.com".to_owned() }];
        let other = [UniqueValue { field: "lastName".to_owned(), value: "a@example.com".to_owned() }];
        let find = async |except, external: Option<&str>, unique: &[UniqueValue]| {
            let external = external.map(parsed);
            let found = world.storage.duplicate_contact(&a, except, external.as_ref(), unique).await;
            found.expect("duplicate").map(|found| (found.field, found.existing))
        };
        assert_eq!(find(None, Some("x"), &email).await, Some(("externalReferenceId".to_owned(), contact.id)));
        assert_eq!(find(None, Some("y"), &email).await, Some(("primaryEmail".to_owned(), contact.id)));
        assert_eq!(find(None, None, &other).await, None, "the same text in another field");
        assert_eq!(
            find(Some(contact.id), Some("x"), &email).await,
            None,
            "a contact is no duplicate of itself"
        );
    });
}

pub(super) fn stored_rows_outlive_a_restart(backend: &mut dyn Backend) {
    let contact = std::sync::Mutex::new(None);
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        world
            .redefine(&a, r#"{"fields":[{"name":"primaryEmail","unique":true}]}"#, 1)
            .await
            .expect("redefine");
        let stored = world.contact(&a, FULL, 2).await;
        let mut write = world.write(&stored, 2).await;
        write.effects.replay = Some(replay(1, Some(stored.id), 1_000));
        world.storage.insert_contact(&a, &write).await.expect("insert");
        world.insert_key(&a, 3).await;
        *contact.lock().expect("lock") = Some(stored);
    });
    if !backend.reopen() {
        return;
    }
    on(backend, async |storage| {
        let world = World::new(storage);
        let a = agent_id("agent-a");
        let stored = contact.lock().expect("lock").clone().expect("stored");
        assert_eq!(world.by_external(&a, "crm-1").await, Some(stored.clone()));
        assert_eq!(world.found(&a, "okafor vip").await, ["Zoë"]);
        assert_eq!(world.schema(&a).await.version, 2);
        assert_eq!(world.storage.keys(&a).await.expect("keys").len(), 1);
        assert_eq!(world.audit_of(Some(&a)).await.len(), 4);
        let replay = world
            .storage
            .replay(&a, &openapi_core::storage::IdempotencyKey([1; 32]), at(3))
            .await
            .expect("replay");
        assert!(replay.is_some());
        assert_eq!(world.list(&a, &everything()).await, (vec![stored], 1));
    });
}
