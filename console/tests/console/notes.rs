//! Notes on contacts.

use std::sync::Arc;

use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::storage::{RecordKind, RecordStore};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Answer, Browser, World, by, call_as};

/// The path of a new contact of `acme`.
fn contact(world: &World, email: &str) -> String {
    let made = call_as(world, "owner", "POST", "/agents/acme/contacts", &json!({ "primaryEmail": email }));
    format!("/agents/acme/contacts/{}", made.data()["id"].as_str().unwrap())
}

fn add(world: &World, contact: &str, text: &str) -> Answer {
    call_as(world, "inbox@acme", "POST", &format!("{contact}/notes"), &json!({ "text": text }))
}

fn path_of(contact: &str, note: &Value) -> String {
    format!("{contact}/notes/{}", note["id"].as_str().unwrap())
}

/// The texts of all notes, read in pages.
fn texts(world: &World, contact: &str, limit: usize) -> Vec<String> {
    let (mut texts, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("{contact}/notes?limit={limit}{after}");
        let page = call_as(world, "reviewer@acme", "GET", &path, &Value::Null).data().clone();
        let notes = page["notes"].as_array().unwrap();
        assert!(notes.len() <= limit);
        texts.extend(notes.iter().map(|note| note["text"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return texts,
        }
    }
}

fn stored(world: &World) -> usize {
    let agent = world.agent();
    let found = world.storage.records_of(Some(&agent), RecordKind::Note, None, 1_000);
    pollster::block_on(found).unwrap().len()
}

#[derive(Clone, Debug)]
enum Step {
    Add(String),
    Edit(prop::sample::Index, String),
    Remove(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let text = "[a-zé ]{0,3}[a-z]";
    prop_oneof![
        3 => text.prop_map(Step::Add),
        1 => (any::<prop::sample::Index>(), text).prop_map(|(at, text)| Step::Edit(at, text)),
        1 => any::<prop::sample::Index>().prop_map(Step::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Notes are those that were added, the newest first, whatever the size of a page; another contact has none of them.
    #[test]
    fn notes_are_what_was_written(steps in prop::collection::vec(step(), 0..12), limit in 1_usize..5) {
        let world = World::hosted();
        let own = contact(&world, "a@example.com");
        let others = [contact(&world, "b@example.com"), contact(&world, "c@example.com")];
        for other in &others {
            add(&world, other, "theirs").data();
        }
        let mut model: Vec<(Value, String)> = Vec::new();
        for step in steps {
            match step {
                Step::Add(text) => {
                    let note = add(&world, &own, &text).data().clone();
                    model.insert(0, (note.clone(), note["text"].as_str().unwrap().to_owned()));
                }
                Step::Edit(at, text) if !model.is_empty() => {
                    let (note, known) = at.get_mut(&mut model);
                    let body = json!({ "text": text });
                    let edited = call_as(&world, "owner", "PUT", &path_of(&own, note), &body).data().clone();
                    prop_assert_eq!(&edited["id"], &note["id"]);
                    *known = edited["text"].as_str().unwrap().to_owned();
                }
                Step::Remove(at) if !model.is_empty() => {
                    let (note, _) = model.remove(at.index(model.len()));
                    call_as(&world, "owner", "DELETE", &path_of(&own, &note), &Value::Null).data();
                }
                Step::Edit(..) | Step::Remove(_) => {}
            }
        }
        let expected: Vec<String> = model.into_iter().map(|(_, text)| text).collect();
        prop_assert_eq!(texts(&world, &own, limit), expected);
        for other in &others {
            prop_assert_eq!(texts(&world, other, limit), ["theirs"]);
        }
    }
}

#[test]
fn a_note_names_its_author_and_who_changed_it_last() {
    let world = World::with_accounts().with_agents();
    let mut owner = world.owner();
    let made =
        owner.call(&world, "POST", "/agents/acme/contacts", &json!({ "primaryEmail": "a@example.com" }));
    let contact = format!("/agents/acme/contacts/{}", made.data()["id"].as_str().unwrap());
    let body = json!({ "text": "Prefers mornings.\nAsk for Kofi." });
    let added = owner.call(&world, "POST", &format!("{contact}/notes"), &body);
    assert_eq!((added.status, &added.data()["text"]), (201, &body["text"]), "{}", added.text);
    let note = added.data().clone();
    assert_eq!(
        (&note["by"]["name"], &note["editedBy"], &note["editedAt"]),
        (&json!("Zoë"), &Value::Null, &Value::Null)
    );
    let mut ada = world.invited(&mut owner, "ada@example.com", "inbox@acme");
    let path = path_of(&contact, &note);
    let mut change = |method: &str, tag: Option<&str>| {
        let body = if method == "PUT" { json!({ "text": "Prefers evenings." }) } else { Value::Null };
        let mut request = ada.request(method, &path, &body);
        if let Some(tag) = tag {
            request.headers_mut().insert("if-match", tag.parse().unwrap());
        }
        ada.send(&world, request)
    };
    let tag = note["etag"].as_str().unwrap();
    assert_eq!(added.headers["etag"], tag);
    for method in ["PUT", "DELETE"] {
        assert_eq!(
            (change(method, None).status, change(method, None).code()),
            (428, "PRECONDITION_REQUIRED")
        );
    }
    let edited = change("PUT", Some(tag));
    let seen = edited.data();
    assert_eq!(
        (&seen["by"]["name"], &seen["editedBy"]["name"]),
        (&json!("Zoë"), &json!("ada")),
        "{}",
        edited.text
    );
    assert_eq!((&seen["at"], seen["editedAt"].is_string()), (&note["at"], true));
    assert_eq!(edited.headers["etag"], seen["etag"].as_str().unwrap());
    for method in ["PUT", "DELETE"] {
        let stale = change(method, Some(tag));
        assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"), "{}", stale.text);
        assert_eq!(stale.body["details"]["current"]["text"], "Prefers evenings.", "{}", stale.text);
        assert_eq!(stale.headers["etag"], seen["etag"].as_str().unwrap());
    }
    change("DELETE", Some(seen["etag"].as_str().unwrap())).data();
    let gone = change("DELETE", Some("*"));
    assert_eq!((gone.status, &gone.body["details"]["resource"]), (404, &json!("note")), "{}", gone.text);
}

#[test]
fn notes_go_when_their_contact_is_erased_and_leave_no_text_in_the_audit_log() {
    let world = World::hosted();
    let (own, other) = (contact(&world, "a@example.com"), contact(&world, "b@example.com"));
    for text in ["SECRET-1", "SECRET-2"] {
        add(&world, &own, text).data();
    }
    let left = add(&world, &other, "SECRET-3").data().clone();
    call_as(&world, "owner", "PUT", &path_of(&other, &left), &json!({ "text": "SECRET-4" })).data();
    let log = || call_as(&world, "owner", "GET", "/agents/acme/audit?limit=100", &Value::Null);
    assert_eq!(log().text.matches("note.change").count(), 4, "{}", log().text);
    assert!(!log().text.contains("SECRET"), "{}", log().text);
    assert_eq!(stored(&world), 3);
    call_as(&world, "owner", "POST", &format!("{own}/erase"), &json!({ "confirm": "a@example.com" })).data();
    assert_eq!(stored(&world), 1, "that of the other contact");
    for (method, path, body) in [
        ("GET", format!("{own}/notes"), Value::Null),
        ("POST", format!("{own}/notes"), json!({ "text": "late" })),
    ] {
        let gone = call_as(&world, "owner", method, &path, &body);
        assert_eq!((gone.status, gone.code()), (404, "CONTACT_NOT_FOUND"), "{}", gone.text);
    }
}

/// Notes that are written while the contact is erased do not outlive it.
#[test]
fn no_note_outlives_its_contact() {
    for round in 0..20 {
        let world = Arc::new(World::hosted());
        let path = contact(&world, "a@example.com");
        let id = path.rsplit_once('/').unwrap().1.parse().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for n in 0..10 {
                        let answer = add(&world, &path, &format!("note {n}"));
                        assert!(matches!(answer.status, 201 | 404 | 409), "{}", answer.text);
                    }
                });
            }
            let (platform, agent) = (&world.platform, world.agent());
            scope.spawn(move || {
                (0..round * 10).for_each(|_| std::thread::yield_now());
                pollster::block_on(platform.erase_contact(&by(), &agent, &ContactRef::Id(id))).unwrap();
            });
        });
        assert_eq!(stored(&world), 0, "round {round}");
    }
}

#[test]
fn notes_on_an_archived_contact_stay_as_they_are() {
    let world = World::hosted();
    let contact = contact(&world, "a@example.com");
    let note = add(&world, &contact, "before").data().clone();
    call_as(&world, "owner", "POST", &format!("{contact}/archive"), &json!({})).data();
    let text = json!({ "text": "after" });
    for (method, path, body) in [
        ("POST", format!("{contact}/notes"), &text),
        ("PUT", path_of(&contact, &note), &text),
        ("DELETE", path_of(&contact, &note), &Value::Null),
    ] {
        let refused = call_as(&world, "owner", method, &path, body);
        assert_eq!((refused.status, refused.code()), (409, "CONTACT_ARCHIVED"), "{}", refused.text);
    }
    assert_eq!(texts(&world, &contact, 20), ["before"]);
}

#[test]
fn notes_are_hidden_from_operators_without_sensitive_values() {
    let world = World::hosted();
    let own = contact(&world, "a@example.com");
    let note = add(&world, &own, "SECRET").data().clone();
    for (grants, capability) in [
        ("viewer@acme", "sensitive.read"),
        ("developer", "sensitive.read"),
        ("agent-editor@acme", "contacts.read"),
    ] {
        let refused = call_as(&world, grants, "GET", &format!("{own}/notes"), &Value::Null);
        assert_eq!(
            (refused.status, refused.code()),
            (403, "INSUFFICIENT_ROLE"),
            "{grants}: {}",
            refused.text
        );
        assert_eq!(refused.body["details"]["capability"], capability, "{grants}");
    }
    for (method, path) in [("POST", format!("{own}/notes")), ("PUT", path_of(&own, &note))] {
        let refused = call_as(&world, "reviewer@acme", method, &path, &json!({ "text": "x" }));
        assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_ROLE"), "{}", refused.text);
    }
    // A note is found below its own contact alone.
    let other = contact(&world, "b@example.com");
    let missing = call_as(&world, "owner", "DELETE", &path_of(&other, &note), &Value::Null);
    assert_eq!((missing.status, missing.code()), (404, "NOT_FOUND"), "{}", missing.text);
    assert_eq!(texts(&world, &own, 20), ["SECRET"]);
}

#[test]
fn a_note_has_a_text_of_at_most_4000_characters() {
    let world = World::hosted();
    let contact = contact(&world, "a@example.com");
    add(&world, &contact, &"é".repeat(4_000)).data();
    for text in [String::new(), "  \n ".to_owned(), "é".repeat(4_001)] {
        let refused = add(&world, &contact, &text);
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{}", refused.text);
        assert_eq!(refused.body["validationErrors"][0]["field"], "text", "{}", refused.text);
    }
    // A request that is sent again adds nothing.
    let send = || {
        let mut request =
            Browser::default().request("POST", &format!("{contact}/notes"), &json!({ "text": "once" }));
        request.extensions_mut().insert(console::Operator::new("u", "U", "owner".parse().unwrap()));
        request.headers_mut().insert("idempotency-key", "k-1".parse().unwrap());
        world.send(request)
    };
    assert_eq!(send().data(), send().data());
    assert_eq!(texts(&world, &contact, 20).len(), 2);
}
