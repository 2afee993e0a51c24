//! Cases for contact schemas.

use super::fixture::{World, assert_fails, at, duplicate_of};
use super::{Backend, on};
use openapi_core::schema::ContactSchema;
use openapi_core::storage::StorageErrorKind;

const UNIQUE_EMAIL: &str = r#"{"fields":[{"name":"primaryEmail","unique":true}]}"#;

pub(super) fn schemas_have_a_history(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let first = ContactSchema::builtin(a.clone(), at(0));
        assert_eq!(world.schema(&a).await, first);
        let definition = r#"{"fields":[{"name":"gender","options":["female","male"]}],
            "customFields":[{"name":"plan","type":"select","options":[{"value":"gold","label":"Gold"}],"default":"gold"}],
            "allowUndeclaredCustomFields":false}"#;
        world.redefine(&a, definition, 1).await.expect("second");
        let second = world.schema(&a).await;
        assert_eq!(
            (second.version, second.updated_at, second.allow_undeclared_custom_fields),
            (2, at(1), false)
        );
        assert_eq!(second.custom_fields.len(), 1);
        world.redefine(&a, "{}", 2).await.expect("third");
        let history = world.storage.contact_schema_history(&a).await.expect("history");
        assert_eq!(history, [first, second, world.schema(&a).await], "oldest first");
    });
}

pub(super) fn schema_changes_need_the_version_before(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        world.redefine(&a, "{}", 1).await.expect("second");
        let current = world.schema(&a).await;
        let effects = world.effects(Some(&a), openapi_core::audit::AuditAction::ContactSchemaReplace, "a", 2);
        for version in [2, 4] {
            let schema = ContactSchema { version, ..current.clone() };
            assert_fails(
                world.storage.replace_contact_schema(&a, &schema, &effects).await,
                &StorageErrorKind::Stale,
            );
        }
        assert_eq!(world.schema(&a).await, current);
        assert_eq!(world.storage.contact_schema_history(&a).await.expect("history").len(), 2);
    });
}

pub(super) fn a_field_becomes_unique_only_without_collisions(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        let first = world.insert(&a, r#"{"primaryEmail":"Same@Example.com"}"#, 1).await;
        let second = world.insert(&a, r#"{"primaryEmail":"same@example.com"}"#, 2).await;
        world.insert(&b, r#"{"primaryEmail":"same@example.com"}"#, 3).await;
        world.update(&first, 4, |contact| contact.archived_at = Some(at(4))).await;
        let found = duplicate_of(world.redefine(&a, UNIQUE_EMAIL, 5).await);
        assert_eq!(found.field, "primaryEmail", "archived contacts count");
        assert!([first.id, second.id].contains(&found.existing));
        assert_eq!(world.schema(&a).await.version, 1);
        world.redefine(&b, UNIQUE_EMAIL, 6).await.expect("no collision within the agent");
        world
            .update(&second, 7, |contact| contact.primary_email = super::fixture::parsed("other@example.com"))
            .await;
        world.redefine(&a, UNIQUE_EMAIL, 8).await.expect("the collision is gone");
    });
}

pub(super) fn a_sensitive_field_leaves_the_search(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let body = r#"{"firstName":"Zoë","lastName":"Okafor","primaryEmail":"z@example.com","customFields":{"code":"secret"}}"#;
        world.insert(&a, body, 1).await;
        assert_eq!((world.found(&a, "okafor").await.len(), world.found(&a, "secret").await.len()), (1, 1));
        let definition = r#"{"fields":[{"name":"lastName","sensitive":true}],"customFields":[{"name":"code","type":"string","sensitive":true}]}"#;
        world.redefine(&a, definition, 2).await.expect("redefine");
        assert_eq!((world.found(&a, "okafor").await.len(), world.found(&a, "secret").await.len()), (0, 0));
        assert_eq!(world.found(&a, "zoe").await, ["Zoë"]);
        world.redefine(&a, "{}", 3).await.expect("redefine");
        assert_eq!(world.found(&a, "okafor secret").await, ["Zoë"], "and comes back");
    });
}

pub(super) fn a_unique_field_is_enforced_for_stored_contacts(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, _) = World::with_agents(storage).await;
        let definition = r#"{"customFields":[{"name":"member","type":"string"}]}"#;
        world.redefine(&a, definition, 1).await.expect("redefine");
        let first =
            world.insert(&a, r#"{"primaryEmail":"a@example.com","customFields":{"member":"m-1"}}"#, 2).await;
        let definition = r#"{"customFields":[{"name":"member","type":"string","unique":true}]}"#;
        world.redefine(&a, definition, 3).await.expect("redefine");
        let second =
            world.contact(&a, r#"{"primaryEmail":"b@example.com","customFields":{"member":"m-1"}}"#, 4).await;
        let found = duplicate_of(world.try_insert(&second).await);
        assert_eq!(
            (found.field.as_str(), found.existing, found.archived),
            ("customFields.member", first.id, false)
        );
        world.redefine(&a, "{}", 5).await.expect("redefine");
        world.try_insert(&second).await.expect("no longer unique");
    });
}

pub(super) fn schemas_belong_to_their_agent(backend: &mut dyn Backend) {
    on(backend, async |storage| {
        let (world, a, b) = World::with_agents(storage).await;
        world.redefine(&a, UNIQUE_EMAIL, 1).await.expect("redefine");
        assert_eq!(world.schema(&b).await.version, 1);
        assert_eq!(world.storage.contact_schema_history(&b).await.expect("history").len(), 1);
        for n in 0..2 {
            world.insert(&b, r#"{"primaryEmail":"same@example.com"}"#, 2 + n).await;
        }
        world.insert(&a, r#"{"primaryEmail":"same@example.com"}"#, 4).await;
    });
}
