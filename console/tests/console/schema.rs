//! The contact schema.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Answer, Browser, World, call_as};

const PATH: &str = "/agents/acme/contact-schema";

fn replace(world: &World, grants: &str, tag: Option<&str>, definition: &Value) -> Answer {
    let mut request = Browser::default().request("PUT", PATH, &json!({ "definition": definition }));
    request.extensions_mut().insert(console::Operator::new("u-17", "Zoë", grants.parse().unwrap()));
    if let Some(tag) = tag {
        request.headers_mut().insert("if-match", tag.parse().unwrap());
    }
    world.clock.advance_millis(60);
    world.send(request)
}

fn check(world: &World, definition: &Value) -> Answer {
    call_as(world, "developer@acme", "POST", &format!("{PATH}/check"), &json!({ "definition": definition }))
}

fn contact(world: &World, body: &Value) -> String {
    call_as(world, "owner", "POST", "/agents/acme/contacts", body).data()["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_schema_is_replaced_by_who_has_seen_it() {
    let world = World::hosted();
    let shown = call_as(&world, "viewer@acme", "GET", PATH, &Value::Null);
    let tag = shown.headers["etag"].to_str().unwrap().to_owned();
    let plan = json!({ "customFields": [{ "name": "plan", "label": "Plan", "type": "string" }] });
    let refused = replace(&world, "developer@acme", None, &plan);
    assert_eq!((refused.status, refused.code()), (428, "PRECONDITION_REQUIRED"), "{}", refused.text);
    let saved = replace(&world, "developer@acme", Some(&tag), &plan);
    assert_eq!(
        (&saved.data()["version"], &saved.data()["customFields"][0]["name"]),
        (&json!(2), &json!("plan"))
    );
    let stale = replace(&world, "developer@acme", Some(&tag), &json!({}));
    assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"), "{}", stale.text);
    assert_eq!(stale.body["details"]["current"]["version"], 2, "{}", stale.text);
    assert_eq!(stale.headers["etag"], saved.headers["etag"]);
    // What was read can be sent back, and then changes nothing.
    let again = replace(&world, "developer@acme", Some("*"), saved.data());
    assert_eq!(again.data(), saved.data());
    let versions = call_as(&world, "viewer@acme", "GET", &format!("{PATH}/versions"), &Value::Null);
    let added = json!([{ "field": "customFields.plan", "change": "added", "members": [] }]);
    assert_eq!((&versions.data()[0]["version"], &versions.data()[0]["changes"]), (&json!(2), &added));
    assert_eq!((&versions.data()[1]["version"], &versions.data()[1]["changes"]), (&json!(1), &json!([])));
    let log = call_as(&world, "owner", "GET", "/agents/acme/audit", &Value::Null);
    assert_eq!(log.text.matches("contactSchema.replace").count(), 1, "{}", log.text);
}

#[test]
fn of_two_editors_one_is_late() {
    for _ in 0..20 {
        let world = World::hosted();
        let field =
            |name: &str| json!({ "customFields": [{ "name": name, "label": name, "type": "string" }] });
        let mut statuses = std::thread::scope(|scope| {
            let editors = ["a", "b", "c"].map(|name| {
                let (world, definition) = (&world, field(name));
                scope.spawn(move || replace(world, "developer@acme", Some("\"1\""), &definition).status)
            });
            editors.map(|editor| editor.join().unwrap())
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412, 412]);
    }
}

#[test]
fn faults_are_named_by_their_path_and_change_nothing() {
    let world = World::hosted();
    let wrong = json!({
        "fields": [{ "name": "lastName", "required": "yes" }],
        "customFields": [{ "name": "plan", "label": "Plan", "type": "string", "pattern": "(" }],
        "extra": 1,
    });
    for refused in [check(&world, &wrong), replace(&world, "developer@acme", Some("*"), &wrong)] {
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{}", refused.text);
        let faults = refused.body["validationErrors"].as_array().unwrap();
        let mut fields: Vec<&str> = faults.iter().map(|fault| fault["field"].as_str().unwrap()).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["customFields[0].pattern", "extra", "fields[0].required"], "{}", refused.text);
    }
    assert_eq!(call_as(&world, "viewer@acme", "GET", PATH, &Value::Null).data()["version"], 1);
}

#[test]
fn a_check_counts_the_contacts_that_would_no_longer_pass_and_changes_nothing() {
    let world = World::hosted();
    let named = contact(&world, &json!({ "primaryEmail": "a@example.com", "lastName": "King" }));
    let nameless = contact(&world, &json!({ "primaryEmail": "b@example.com" }));
    let archived = contact(&world, &json!({ "primaryEmail": "c@example.com" }));
    call_as(&world, "owner", "POST", &format!("/agents/acme/contacts/{archived}/archive"), &json!({})).data();
    let required = json!({ "fields": [{ "name": "lastName", "required": true }] });
    let checked = check(&world, &required).data().clone();
    let changes = json!([{ "field": "lastName", "change": "changed", "members": ["required"] }]);
    assert_eq!((&checked["changes"], &checked["isComplete"]), (&changes, &json!(true)));
    assert_eq!(
        (&checked["contactsChecked"], &checked["contactsFailing"]),
        (&json!(3), &json!(2)),
        "{checked}"
    );
    let ids: Vec<&Value> =
        checked["examples"].as_array().unwrap().iter().map(|one| &one["contact"]).collect();
    assert!(
        ids.contains(&&json!(nameless)) && ids.contains(&&json!(archived)) && !ids.contains(&&json!(named))
    );
    assert!(checked["examples"][0]["messages"][0].as_str().unwrap().contains("lastName"), "{checked}");
    // Those that break a rule already are no news of the next change.
    replace(&world, "developer@acme", Some("*"), &required).data();
    let both = json!({ "fields": [{ "name": "lastName", "required": true, "maxLength": 3 }] });
    let checked = check(&world, &both).data().clone();
    assert_eq!(
        (&checked["contactsFailing"], &checked["examples"][0]["contact"]),
        (&json!(1), &json!(named)),
        "{checked}"
    );
    let same = check(&world, &required).data().clone();
    assert_eq!((&same["changes"], &same["contactsFailing"]), (&json!([]), &json!(0)));
    assert_eq!(call_as(&world, "viewer@acme", "GET", PATH, &Value::Null).data()["version"], 2);
}

#[test]
fn a_check_of_many_contacts_names_a_few_and_reads_every_page() {
    let world = World::hosted();
    for n in 0..250 {
        contact(&world, &json!({ "primaryEmail": format!("p{n}@example.com") }));
    }
    let checked =
        check(&world, &json!({ "fields": [{ "name": "lastName", "required": true }] })).data().clone();
    assert_eq!((&checked["contactsChecked"], &checked["contactsFailing"]), (&json!(250), &json!(250)));
    assert_eq!(checked["examples"].as_array().unwrap().len(), 20);
}

/// A developer may write the schema and may not see sensitive values: so none becomes visible by a developer's change.
#[test]
fn only_who_sees_sensitive_values_makes_them_visible() {
    let hidden = json!({
        "fields": [{ "name": "fullAddress", "sensitive": true }],
        "customFields": [{ "name": "plan", "label": "Plan", "type": "string", "sensitive": true }],
    });
    let plan = &hidden["customFields"];
    for revealing in [
        json!({}),
        json!({ "customFields": plan }),
        json!({ "fields": hidden["fields"] }),
        json!({ "fields": hidden["fields"], "customFields": [{ "name": "plan", "label": "Plan", "type": "string" }] }),
    ] {
        let world = World::hosted();
        replace(&world, "developer@acme", Some("*"), &hidden).data();
        let refused = replace(&world, "developer@acme", Some("*"), &revealing);
        assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_ROLE"), "{}", refused.text);
        assert_eq!(refused.body["details"]["capability"], "sensitive.read");
        // All custom fields are hidden where `customFields` is.
        let whole = json!({ "fields": [{ "name": "fullAddress", "sensitive": true }, { "name": "customFields", "sensitive": true }] });
        replace(&world, "developer@acme", Some("*"), &whole).data();
        replace(&world, "admin@acme", Some("*"), &revealing).data();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What a check says of a change is what the history says once it is made.
    #[test]
    fn a_check_tells_what_a_save_does(
        labels in prop::collection::vec(("[a-d]", "[A-C]", any::<bool>()), 0..5),
        required in any::<bool>(),
        undeclared in any::<bool>(),
    ) {
        let world = World::hosted();
        let mut seen = std::collections::HashSet::new();
        let fields: Vec<Value> = labels.into_iter().filter(|(name, ..)| seen.insert(name.clone()))
            .map(|(name, label, unique)| json!({ "name": name, "label": label, "type": "string", "unique": unique }))
            .collect();
        let first = json!({ "customFields": [{ "name": "a", "label": "A", "type": "string" }] });
        replace(&world, "developer@acme", Some("*"), &first).data();
        let next = json!({ "fields": [{ "name": "lastName", "required": required }], "customFields": fields, "allowUndeclaredCustomFields": undeclared });
        let expected = check(&world, &next).data()["changes"].clone();
        replace(&world, "developer@acme", Some("*"), &next).data();
        let versions = call_as(&world, "owner", "GET", &format!("{PATH}/versions"), &Value::Null);
        let is_unchanged = expected.as_array().unwrap().is_empty();
        prop_assert_eq!(versions.data().as_array().unwrap().len(), if is_unchanged { 2 } else { 3 });
        if !is_unchanged {
            prop_assert_eq!(&versions.data()[0]["changes"], &expected);
        }
    }
}
