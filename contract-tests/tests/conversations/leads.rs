//! Lead forms and verified visitors: which of them create, link or change a contact.

use hmac::{Hmac, KeyInit, Mac};
use openapi_core::admin::Admin;
use openapi_core::contacts::{Contact, ContactRef};
use pollster::block_on;
use serde_json::{Value, json};
use sha2::Sha256;

use crate::support::*;

fn contacts(world: &World) -> Vec<Contact> {
    block_on(world.platform.export_contacts(&agent(), None, 100)).expect("contacts")
}

fn lead(token: Option<&str>, fields: Value) -> Value {
    json!({ "agentId": AGENT, "token": token, "fields": fields, "consent": null, "page": null, "elapsedMs": 8200, "hp": "" })
}

#[test]
fn a_form_makes_one_contact() {
    let world = boundless();
    let first = world.turn(1, "One", None);
    let token = first.token();
    let fields = json!({ "primaryEmail": "zoe.okafor@example.com", "firstName": "Zoë" });
    let thanks = world.post("/lead", &lead(Some(&token), fields.clone()));
    assert_eq!(thanks.status, 200, "{}", thanks.text);
    assert_eq!(thanks.json()["message"], "Thank you");
    let made = contacts(&world);
    assert_eq!(made.len(), 1);
    assert_eq!(
        (made[0].primary_email.as_str(), made[0].source.as_str()),
        ("zoe.okafor@example.com", "widget")
    );
    let widget = made[0]
        .custom_fields
        .get("widget")
        .map(|it| serde_json::to_value(&it).expect("JSON"))
        .expect("a member");
    assert_eq!(widget["conversationId"], first.session()["conversation"]);
    assert_eq!(widget["page"], "https://www.example.com/services");
    let conversation = world.conversation(&thanks);
    assert_eq!((conversation.contact_id, conversation.level), (Some(made[0].id), 1));
    // Later forms stay on the conversation; the contact is unchanged.
    let again = world.post("/lead", &lead(Some(&token), json!({ "primaryEmail": "other@example.com" })));
    assert_eq!(again.status, 200);
    assert_eq!(contacts(&world), made);
    // Another visitor's form with an equal address creates a second contact and reveals nothing.
    let other = world.post("/lead", &lead(None, fields));
    assert_eq!(other.json()["message"], "Thank you");
    assert_eq!(contacts(&world).len(), 2);
}

#[test]
fn a_duplicate_unique_address_creates_no_contact_and_reveals_nothing() {
    let world = boundless();
    let definition = object(&json!({ "fields": [{ "name": "primaryEmail", "unique": true }] }));
    block_on(world.platform.replace_contact_schema(&operator(), &agent(), &definition)).expect("a schema");
    world.clock.advance_millis(5_000);
    let fields = json!({ "primaryEmail": "zoe@example.com" });
    let first = world.post("/lead", &lead(None, fields.clone()));
    let second = world.post("/lead", &lead(None, fields));
    assert_eq!((first.status, second.status), (200, 200));
    assert_eq!(contacts(&world).len(), 1);
    let (first, second) = (world.conversation(&first), world.conversation(&second));
    assert!(first.contact_id.is_some() && second.contact_id.is_none());
    assert!(second.lead.expect("a lead").hint.is_some(), "the operator learns why");
}

#[test]
fn a_form_is_checked_by_the_contact_schema() {
    let world = boundless();
    let faults = |body: &Value| {
        let answered = world.post("/lead", body);
        assert_eq!(answered.code(), "VALIDATION_ERROR", "{}", answered.text);
        let faults = answered.json()["validationErrors"].clone();
        let faults = faults.as_array().expect("faults").iter();
        faults
            .map(|it| format!("{} {}", it["field"].as_str().unwrap_or(""), it["type"].as_str().unwrap_or("")))
            .collect::<Vec<_>>()
    };
    assert_eq!(faults(&lead(None, json!({ "primaryEmail": "nobody" }))), ["fields.primaryEmail format"]);
    assert_eq!(
        faults(&lead(None, json!({ "primaryEmail": "a@b.de", "status": "blocked" }))),
        ["fields.status unknown"]
    );
    assert_eq!(faults(&lead(None, json!({}))), ["fields.primaryEmail required"]);
    let mut body = turn(1, "Hi", None);
    body["lead"] = json!({ "fields": { "primaryEmail": "x" } });
    let answered = world.post("/turns", &body);
    assert_eq!(answered.json()["validationErrors"][0]["field"], "lead.fields.primaryEmail");
    world.configure(json!({ "chat": { "responder": "script" }, "lead": { "consent": { "version": "2", "text": "May we?", "required": true } } }));
    let mut body = lead(None, json!({ "primaryEmail": "a@b.de" }));
    assert_eq!(faults(&body), ["consent required"]);
    body["consent"] = json!({ "version": "1", "at": "2026-01-31T09:50:00.000Z" });
    assert_eq!(faults(&body), ["consent conflict"]);
    body["consent"]["version"] = json!("2");
    let answered = world.post("/lead", &body);
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(contacts(&world).len(), 1, "a rejected form creates nothing");
}

#[test]
fn forms_filled_in_by_bots_are_dropped() {
    let world = boundless();
    let fields = json!({ "primaryEmail": "zoe@example.com" });
    let mut fast = lead(None, fields.clone());
    fast["elapsedMs"] = json!(1_499);
    let mut honeypot_filled = lead(None, fields);
    honeypot_filled["hp"] = json!("x");
    for body in [fast, honeypot_filled] {
        assert_eq!(world.post("/lead", &body).json()["message"], "Thank you");
    }
    assert!(contacts(&world).is_empty());
}

/// What the page's server asserts about its user.
pub fn user(world: &World, external: &str, email: &str, name: &str) -> Value {
    let secrets = block_on(world.chat.identity_secrets(&agent())).expect("secrets");
    let secret = match secrets.first() {
        Some(secret) => secret.clone(),
        None => {
            let made =
                block_on(world.chat.rotate_identity_secret(&operator(), &agent(), 0)).expect("a secret");
            world.clock.advance_millis(5_000);
            made
        }
    };
    let exp = 1_769_852_730 + 3_600;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
    mac.update(format!("v1\n{AGENT}\n{exp}\n{external}\n{email}").as_bytes());
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "externalReferenceId": external, "email": email, "name": name, "hash": format!("{exp}.{hex}") })
}

pub fn verified(world: &World, number: u32, token: Option<&str>, external: &str, email: &str) -> Answered {
    let mut body = turn(number, "Hi", token);
    body["user"] = user(world, external, email, "Zoë");
    world.post("/turns", &body)
}

#[test]
fn a_verified_visitor_is_linked_with_their_contact() {
    let world = boundless();
    let known = object(
        &json!({ "primaryEmail": "old@example.com", "externalReferenceId": "crm-1001", "source": "import" }),
    );
    block_on(world.platform.import_contact(&operator(), &agent(), &known)).expect("a contact");
    let first = verified(&world, 1, None, "crm-1001", "zoe@example.com");
    assert_eq!(first.status, 200, "{}", first.text);
    let conversation = world.conversation(&first);
    let made = contacts(&world);
    assert_eq!(made.len(), 1);
    assert_eq!((conversation.level, conversation.contact_id), (2, Some(made[0].id)));
    assert_eq!((made[0].primary_email.as_str(), made[0].source.as_str()), ("zoe@example.com", "import"));
    assert_eq!(made[0].first_name.as_ref().map(ToString::to_string).as_deref(), Some("Zoë"));
    // By address alone.
    let second = verified(&world, 2, None, "", "ZOE@example.com");
    assert_eq!(world.conversation(&second).contact_id, Some(made[0].id));
    // Another user with the same token starts a new conversation.
    let third = verified(&world, 3, Some(&first.token()), "crm-2002", "ada@example.com");
    assert_ne!(third.session()["conversation"], first.session()["conversation"]);
    assert_ne!(world.conversation(&third).visitor_id, conversation.visitor_id);
    assert_eq!(contacts(&world).len(), 2, "who is not known is made");
    // Their forms are validated like any visitor's.
    let faulty = world.post("/lead", &lead(Some(&second.token()), json!({ "primaryEmail": "nobody" })));
    assert_eq!(faulty.json()["validationErrors"][0]["field"], "fields.primaryEmail", "{}", faulty.text);
    // Blocked.
    let block = object(
        &json!({ "primaryEmail": "zoe@example.com", "externalReferenceId": "crm-1001", "status": "blocked" }),
    );
    block_on(world.platform.import_contact(&operator(), &agent(), &block)).expect("a contact");
    let blocked = verified(&world, 4, Some(&first.token()), "crm-1001", "zoe@example.com");
    assert_eq!((blocked.status, blocked.code().as_str()), (403, "VISITOR_BLOCKED"));
    let later = world.turn(5, "Hi", Some(&first.token()));
    assert_eq!(later.code(), "VISITOR_BLOCKED", "also without the hash, while it counts");
}

#[test]
fn an_ambiguous_address_links_and_creates_no_contact() {
    let world = boundless();
    for _ in 0..2 {
        let known = object(&json!({ "primaryEmail": "zoe@example.com" }));
        block_on(world.platform.import_contact(&operator(), &agent(), &known)).expect("a contact");
    }
    let answered = verified(&world, 1, None, "", "zoe@example.com");
    assert_eq!(world.conversation(&answered).contact_id, None);
    assert_eq!(contacts(&world).len(), 2);
}

#[test]
fn a_wrong_hash_identifies_nobody() {
    let world = boundless();
    let known = object(&json!({ "primaryEmail": "zoe@example.com", "externalReferenceId": "crm-1001" }));
    block_on(world.platform.import_contact(&operator(), &agent(), &known)).expect("a contact");
    let before = contacts(&world);
    let mut body = turn(1, "Hi", None);
    body["user"] = user(&world, "crm-1001", "zoe@example.com", "Zoë");
    body["user"]["email"] = json!("eve@example.com");
    let answered = world.post("/turns", &body);
    assert_eq!(answered.session()["identity"], "rejected");
    let conversation = world.conversation(&answered);
    assert_eq!((conversation.level, conversation.contact_id), (1, None));
    assert_eq!(conversation.claims.email.as_deref(), Some("eve@example.com"));
    assert_eq!(contacts(&world), before);
}

#[test]
fn a_wrong_hash_revokes_an_earlier_verification() {
    let world = boundless();
    world.configure(
        json!({ "chat": { "responder": "script", "llm": { "releasedFields": ["primaryEmail"] } } }),
    );
    let known = object(&json!({ "primaryEmail": "zoe@example.com", "externalReferenceId": "crm-1001" }));
    block_on(world.platform.import_contact(&operator(), &agent(), &known)).expect("a contact");
    let released = || world.script.asked.lock().expect("the turns").last().expect("a turn").visitor.clone();
    let mut body = turn(1, "Hi", None);
    body["user"] = user(&world, "crm-1001", "zoe@example.com", "");
    let first = world.post("/turns", &body);
    assert_eq!((released().level, released().fields.len()), (2, 1));
    let before = contacts(&world);
    assert_eq!(before[0].first_name, None);
    // A page's claim without a hash is unverified, regardless of the person it names.
    let mut body = turn(10, "Hi", Some(&first.token()));
    body["user"] = json!({ "externalReferenceId": "crm-9", "email": "eve@example.com", "name": "Eve" });
    assert_eq!(world.post("/turns", &body).session()["identity"], json!(null));
    assert_eq!(contacts(&world), before);
    // Another user of the same browser claims an identity without proof.
    let mut body = turn(2, "Me again", Some(&first.token()));
    body["user"] = user(&world, "crm-1001", "zoe@example.com", "Eve");
    let valid = body["user"]["hash"].clone();
    body["user"]["hash"] = json!(format!("{}0", valid.as_str().expect("a hash").split_at(75).0));
    let second = world.post("/turns", &body);
    assert_eq!(second.session()["identity"], "rejected");
    assert_ne!(second.token(), first.token(), "the token tells the level");
    assert_eq!((released().level, released().fields.len()), (1, 0));
    assert_eq!(world.conversation(&second).level_at(world.now()), 1);
    // The same applies to the next turn without user data, and to a form.
    world.turn(3, "And now?", Some(&second.token()));
    assert_eq!((released().level, released().fields.len()), (1, 0));
    world.post(
        "/lead",
        &lead(Some(&second.token()), json!({ "primaryEmail": "eve@example.com", "firstName": "Eve" })),
    );
    assert_eq!(contacts(&world), before, "unverified claims do not reach the contact");
    // A valid hash is accepted again, in the same conversation.
    let mut body = turn(4, "It is me", Some(&second.token()));
    body["user"] = user(&world, "crm-1001", "zoe@example.com", "");
    let fourth = world.post("/turns", &body);
    assert_eq!(fourth.session()["conversation"], first.session()["conversation"]);
    assert_eq!((released().level, released().fields.len()), (2, 1));
    // An expired hash is equally invalid; a user without an address is at level 1 too.
    world.clock.advance_millis(3_600_000);
    let mut body = turn(5, "Hi", None);
    body["user"] = user(&world, "crm-1001", "", "");
    let fifth = world.post("/turns", &body);
    assert_eq!(fifth.session()["identity"], "rejected");
    assert_eq!((released().level, world.conversation(&fifth).level), (1, 1));
}

#[test]
fn a_verification_lasts_a_day() {
    let world = boundless();
    let first = verified(&world, 1, None, "crm-1001", "zoe@example.com");
    world.clock.advance_millis(86_400_000 - 5_001);
    let level = |answered: &Answered| world.conversation(answered).level_at(world.now());
    let second = world.turn(2, "Hi", Some(&first.token()));
    assert_eq!(level(&second), 2);
    world.clock.advance_millis(5_001);
    assert_eq!(level(&second), 1);
    let asked =
        |world: &World| world.script.asked.lock().expect("the turns").last().map(|turn| turn.visitor.level);
    world.turn(3, "Hi", Some(&first.token()));
    assert_eq!(asked(&world), Some(1));
}

#[test]
fn a_verified_visitor_without_an_address_creates_a_contact_with_a_form() {
    let world = boundless();
    let first = verified(&world, 1, None, "crm-1001", "");
    assert_eq!(world.conversation(&first).level, 2);
    assert!(contacts(&world).is_empty(), "no address is known");
    // An address that another contact also has: it is unverified and links with no contact.
    let known = object(&json!({ "primaryEmail": "zoe@example.com" }));
    block_on(world.platform.import_contact(&operator(), &agent(), &known)).expect("a contact");
    let other = contacts(&world)[0].clone();
    let left = world.post("/lead", &lead(Some(&first.token()), json!({ "primaryEmail": "zoe@example.com" })));
    assert_eq!(left.status, 200, "{}", left.text);
    let made = contacts(&world);
    assert_eq!(made.len(), 2);
    assert!(made.contains(&other));
    let own = made.iter().find(|contact| contact.id != other.id).expect("a contact").clone();
    assert_eq!(own.external_reference_id.as_ref().map(ToString::to_string).as_deref(), Some("crm-1001"));
    assert_eq!((own.source.as_str(), own.primary_email.as_str()), ("widget", "zoe@example.com"));
    assert_eq!(world.conversation(&left).contact_id, Some(own.id));
    // Later data changes this contact only.
    world.clock.advance_millis(1_000);
    world.post(
        "/lead",
        &lead(Some(&first.token()), json!({ "primaryEmail": "new@example.com", "firstName": "Zoë" })),
    );
    let made = contacts(&world);
    let own = made.iter().find(|contact| contact.id == own.id).expect("a contact");
    assert_eq!(own.primary_email.as_str(), "new@example.com");
    assert!(made.len() == 2 && made.contains(&other));
}

#[test]
fn a_verified_address_takes_precedence_over_a_forms_address() {
    let world = boundless();
    let first = verified(&world, 1, None, "crm-1001", "zoe@example.com");
    let made = contacts(&world);
    assert_eq!(made.len(), 1);
    let about = made[0].custom_fields.get("widget").map(|it| serde_json::to_value(&it).expect("JSON"));
    assert_eq!(about.expect("a member")["conversationId"], first.session()["conversation"]);
    world.post(
        "/lead",
        &lead(Some(&first.token()), json!({ "primaryEmail": "other@example.com", "firstName": "Z" })),
    );
    let made = contacts(&world);
    assert_eq!((made.len(), made[0].primary_email.as_str()), (1, "zoe@example.com"));
    assert_eq!(made[0].first_name.as_ref().map(ToString::to_string).as_deref(), Some("Z"));
}

#[test]
fn bidirectional_controls_are_removed_from_forms() {
    let world = boundless();
    let fields = json!({ "primaryEmail": "zoe@example.com", "firstName": "Zo\u{202e}e\u{2066}" });
    assert_eq!(world.post("/lead", &lead(None, fields)).status, 200);
    assert_eq!(contacts(&world)[0].first_name.as_ref().map(ToString::to_string).as_deref(), Some("Zoe"));
}

#[test]
fn an_archived_contact_is_unchanged() {
    let world = boundless();
    let known = object(&json!({ "primaryEmail": "zoe@example.com", "externalReferenceId": "crm-1001" }));
    block_on(world.platform.import_contact(&operator(), &agent(), &known)).expect("a contact");
    let id = contacts(&world)[0].id;
    let caller =
        openapi_core::access::Caller::user(agent(), "host", openapi_core::access::Permissions::all());
    let request = openapi_core::service::ArchiveContact {
        target: openapi_core::service::ContactTarget::Id(id.to_string()),
        reason: None.into(),
        if_match: None,
    };
    use openapi_core::service::OpenApiService;
    block_on(world.platform.archive_contact(&caller, request)).expect("archived");
    let before = contacts(&world);
    let answered = verified(&world, 1, None, "crm-1001", "new@example.com");
    assert_eq!(answered.status, 200);
    assert_eq!(contacts(&world), before);
    let _ = ContactRef::Id(id);
}

#[test]
fn a_form_repeated_after_a_crash_creates_no_second_contact() {
    let world = boundless();
    let form = lead(None, json!({ "primaryEmail": "zoe@example.com" }));
    let first = world.post("/lead", &form);
    // As after a process crash between the two writes.
    let id = world.conversation(&first).id;
    block_on(world.chat.erase_conversation(&operator(), &agent(), id)).expect("erased");
    let again = world.post("/lead", &form);
    let made = contacts(&world);
    assert_eq!(made.len(), 1);
    assert_eq!(world.conversation(&again).contact_id, Some(made[0].id));
    // Once it is stored, a similar form may come from someone else, who sees nothing of the first.
    let other = world.post("/lead", &form);
    assert_ne!(other.session()["conversation"], again.session()["conversation"]);
    assert_ne!(world.conversation(&other).visitor_id, world.conversation(&again).visitor_id);
    assert_eq!(contacts(&world).len(), 2);
}
