//! People: invitations, roles, disabling, removal, recovery, and the owner who is always left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::support::{Answer, Browser, EMAIL, PASSWORD, World, call_as, token_of};

fn world() -> (World, Browser) {
    let world = World::with_accounts().with_agents();
    let owner = world.owner();
    (world, owner)
}

fn members(world: &World, by: &mut Browser) -> Value {
    by.call(world, "GET", "/members", &Value::Null).data().clone()
}

/// The id of the operator with an address.
fn id_of(world: &World, by: &mut Browser, email: &str) -> String {
    let all = members(world, by);
    let found = all.as_array().unwrap().iter().find(|member| member["email"] == email);
    found.unwrap_or_else(|| panic!("no {email} in {all}"))["id"].as_str().unwrap().to_owned()
}

fn grant(world: &World, by: &mut Browser, id: &str, grants: &[&str], tag: &str) -> Answer {
    let mut request = by.request("PUT", &format!("/members/{id}/grants"), &json!({ "grants": grants }));
    request.headers_mut().insert("if-match", tag.parse().unwrap());
    by.send(world, request)
}

fn on(world: &World, by: &mut Browser, method: &str, id: &str, rest: &str) -> Answer {
    by.call(world, method, &format!("/members/{id}{rest}"), &Value::Null)
}

fn invite(world: &World, by: &mut Browser, email: &str, grants: &[&str]) -> Answer {
    by.call(world, "POST", "/members/invitations", &json!({ "email": email, "grants": grants }))
}

/// Accepts a link in a new browser.
fn accept(world: &World, token: &str) -> (Answer, Browser) {
    let mut browser = Browser::default();
    let body = json!({ "token": token, "name": "Ada", "password": PASSWORD });
    (world.accept(&mut browser, &body), browser)
}

#[test]
fn an_invitation_makes_an_operator_with_its_roles_once() {
    let (world, mut owner) = world();
    let body = json!({ "email": "ada@example.com", "name": "Ada Whitfield", "grants": ["viewer", "inbox@acme"], "validForSeconds": 3600 });
    let made = owner.call(&world, "POST", "/members/invitations", &body);
    assert_eq!(made.status, 201, "{}", made.text);
    let link = made.data()["link"].clone();
    assert!(link.as_str().unwrap().starts_with("https://console.example.com/join#"), "{link}");
    let token = token_of(&link);
    let waiting = owner.call(&world, "GET", "/members/invitations", &Value::Null);
    let waiting = &waiting.data()[0];
    assert_eq!((&waiting["email"], &waiting["isVoid"]), (&json!("ada@example.com"), &json!(false)));
    assert_eq!(waiting["grants"], json!(["inbox@acme", "viewer"]));
    assert_eq!(waiting["invitedBy"]["name"], "Zoë");

    let mut ada = Browser::default();
    let seen = ada.call(&world, "POST", "/links/inspect", &json!({ "token": token }));
    assert_eq!((&seen.data()["kind"], &seen.data()["name"]), (&json!("invite"), &json!("Ada Whitfield")));
    assert_eq!((&seen.data()["email"], &seen.data()["inviter"]), (&json!("ada@example.com"), &json!("Zoë")));
    let roles = json!([{ "role": "inbox", "agentId": "acme", "agentName": "Agent" }, { "role": "viewer", "agentId": null, "agentName": null }]);
    assert_eq!(seen.data()["roles"], roles);
    // The address is that of the invitation; the name may stay.
    let other = json!({ "token": token, "email": "eve@example.com", "password": PASSWORD });
    assert_eq!(
        ada.call(&world, "POST", "/links/accept", &other).body["validationErrors"][0]["field"],
        "email"
    );
    let entered = world.accept(&mut ada, &json!({ "token": token, "password": PASSWORD }));
    let person = &entered.data()["session"]["operator"];
    assert_eq!(
        (&person["name"], &person["grants"]),
        (&json!("Ada Whitfield"), &json!(["inbox@acme", "viewer"]))
    );
    assert_eq!(person["id"], waiting["id"]);
    assert_eq!(accept(&world, &token).0.code(), "LINK_INVALID");
    assert_eq!(owner.call(&world, "GET", "/members/invitations", &Value::Null).data(), &json!([]));
    let member = on(&world, &mut owner, "GET", person["id"].as_str().unwrap(), "");
    assert_eq!((&member.data()["methods"], &member.data()["sessions"]), (&json!(["password"]), &json!(1)));
    assert_eq!(ada.call(&world, "GET", "/members", &Value::Null).code(), "INSUFFICIENT_ROLE");
}

#[test]
fn an_invitation_can_be_replaced_revoked_and_ends() {
    let (world, mut owner) = world();
    let make =
        |owner: &mut Browser| token_of(&invite(&world, owner, "ada@example.com", &["viewer"]).data()["link"]);
    let first = make(&mut owner);
    let second = make(&mut owner);
    assert_eq!(accept(&world, &first).0.code(), "LINK_INVALID", "the newest counts");
    let waiting = owner.call(&world, "GET", "/members/invitations", &Value::Null);
    assert_eq!(waiting.data().as_array().unwrap().len(), 1);
    let path = format!("/members/invitations/{}", waiting.data()[0]["id"].as_str().unwrap());
    owner.call(&world, "DELETE", &path, &Value::Null).data();
    assert_eq!(accept(&world, &second).0.code(), "LINK_INVALID", "revoked");
    assert_eq!(owner.call(&world, "DELETE", &path, &Value::Null).code(), "NOT_FOUND");
    let third = make(&mut owner);
    world.clock.advance_millis(7 * 86_400_000 - 1);
    let seen = Browser::default().call(&world, "POST", "/links/inspect", &json!({ "token": third }));
    assert_eq!(seen.status, 200);
    world.clock.advance_millis(1);
    assert_eq!(accept(&world, &third).0.code(), "LINK_INVALID", "over");
    // Between an hour and 30 days, for somebody with a role on agents that exist.
    let mut owner = Browser::default();
    world.sign_in(&mut owner, EMAIL, PASSWORD).data();
    for (field, change) in [
        ("validForSeconds", json!({ "validForSeconds": 3_599 })),
        ("validForSeconds", json!({ "validForSeconds": 2_592_001 })),
        ("grants", json!({ "grants": [] })),
        ("grants", json!({ "grants": ["root"] })),
        ("grants", json!({ "grants": ["owner@acme"] })),
        ("grants", json!({ "grants": ["viewer@no-such-agent"] })),
        ("email", json!({ "email": "no address" })),
    ] {
        let mut body = json!({ "email": "ada@example.com", "grants": ["viewer"] });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = owner.call(&world, "POST", "/members/invitations", &body);
        assert_eq!(refused.body["validationErrors"][0]["field"], field, "{body} {}", refused.text);
    }
    assert_eq!(invite(&world, &mut owner, "ZOE@example.com", &["viewer"]).code(), "CONFLICT");
}

#[test]
fn an_invitation_gives_no_more_than_its_author_may_give_when_it_is_accepted() {
    let (world, mut owner) = world();
    let mut admin = world.invited(&mut owner, "admin@example.com", "admin");
    let id = id_of(&world, &mut owner, "admin@example.com");
    let token = token_of(&invite(&world, &mut admin, "ada@example.com", &["admin"]).data()["link"]);
    grant(&world, &mut owner, &id, &["inbox@acme"], "*").data();
    assert_eq!(accept(&world, &token).0.code(), "LINK_INVALID", "the author was demoted");
    let waiting = owner.call(&world, "GET", "/members/invitations", &Value::Null);
    assert_eq!(waiting.data()[0]["isVoid"], true);
    grant(&world, &mut owner, &id, &["admin"], "*").data();
    on(&world, &mut owner, "POST", &id, "/disable").data();
    assert_eq!(accept(&world, &token).0.code(), "LINK_INVALID", "the author is disabled");
    on(&world, &mut owner, "POST", &id, "/enable").data();
    on(&world, &mut owner, "DELETE", &id, "").data();
    assert_eq!(accept(&world, &token).0.code(), "LINK_INVALID", "the author is gone");
    // An address that has become an operator's in the meantime.
    let token = token_of(&invite(&world, &mut owner, "max@example.com", &["viewer"]).data()["link"]);
    let again = json!({ "email": "max@example.com", "grants": ["viewer"] });
    let (entered, _) = accept(&world, &token);
    entered.data();
    assert_eq!(owner.call(&world, "POST", "/members/invitations", &again).code(), "CONFLICT");
}

#[test]
fn nobody_changes_whom_they_could_not_appoint() {
    let (world, mut owner) = world();
    let mut admin = world.invited(&mut owner, "admin@example.com", "admin");
    world.invited(&mut owner, "second@example.com", "owner");
    world.invited(&mut owner, "inbox@example.com", "inbox@acme");
    let id = |world: &World, owner: &mut Browser, email| id_of(world, owner, email);
    let (second, inbox) =
        (id(&world, &mut owner, "second@example.com"), id(&world, &mut owner, "inbox@example.com"));
    let own = id(&world, &mut owner, "admin@example.com");
    let refused = |answer: Answer| {
        assert_eq!((answer.status, answer.code()), (403, "INSUFFICIENT_ROLE"), "{}", answer.text);
        assert_eq!(answer.body["details"]["capability"], "signIn.manage");
    };
    for (method, rest) in [
        ("POST", "/disable"),
        ("POST", "/enable"),
        ("POST", "/recovery"),
        ("DELETE", "/sessions"),
        ("DELETE", ""),
    ] {
        refused(on(&world, &mut admin, method, &second, rest));
    }
    refused(grant(&world, &mut admin, &second, &["viewer"], "*"));
    refused(grant(&world, &mut admin, &inbox, &["owner"], "*"));
    refused(grant(&world, &mut admin, &own, &["owner"], "*"));
    refused(invite(&world, &mut admin, "eve@example.com", &["owner"]));
    let token = token_of(&invite(&world, &mut owner, "eve@example.com", &["owner"]).data()["link"]);
    refused(invite(&world, &mut admin, "eve@example.com", &["viewer"]));
    let waiting = owner.call(&world, "GET", "/members/invitations", &Value::Null);
    let path = format!("/members/invitations/{}", waiting.data()[0]["id"].as_str().unwrap());
    refused(admin.call(&world, "DELETE", &path, &Value::Null));
    accept(&world, &token).0.data();
    grant(&world, &mut admin, &inbox, &["admin", "inbox@acme"], "*").data();
    on(&world, &mut admin, "DELETE", &inbox, "").data();
}

#[test]
fn the_last_owner_stays() {
    let (world, mut owner) = world();
    let own = id_of(&world, &mut owner, EMAIL);
    let last =
        |answer: Answer| assert_eq!((answer.status, answer.code()), (409, "LAST_OWNER"), "{}", answer.text);
    let all = |owner: &mut Browser| {
        last(grant(&world, owner, &own, &["admin"], "*"));
        last(on(&world, owner, "POST", &own, "/disable"));
        last(on(&world, owner, "DELETE", &own, ""));
    };
    all(&mut owner);
    // An admin and a disabled owner are none.
    world.invited(&mut owner, "admin@example.com", "admin");
    world.invited(&mut owner, "second@example.com", "owner");
    let second = id_of(&world, &mut owner, "second@example.com");
    on(&world, &mut owner, "POST", &second, "/disable").data();
    all(&mut owner);
    on(&world, &mut owner, "POST", &second, "/enable").data();
    grant(&world, &mut owner, &own, &["viewer"], "*").data();
    assert_eq!(on(&world, &mut owner, "POST", &second, "/disable").code(), "INSUFFICIENT_ROLE");
}

/// Two owners who remove each other at the same moment: one of them stays.
#[test]
fn owners_who_remove_each_other_at_once_leave_one() {
    let mut both = 0;
    for round in 0..60 {
        let (world, mut first) = world();
        let mut second = world.invited(&mut first, "second@example.com", "owner");
        let ids = [id_of(&world, &mut first, "second@example.com"), id_of(&world, &mut first, EMAIL)];
        let barrier = Barrier::new(2);
        let change = |browser: &mut Browser, id: &str| {
            barrier.wait();
            match round % 3 {
                0 => on(&world, browser, "DELETE", id, ""),
                1 => on(&world, browser, "POST", id, "/disable"),
                _ => grant(&world, browser, id, &["viewer"], "*"),
            }
        };
        let answers = std::thread::scope(|scope| {
            let one = scope.spawn(|| change(&mut first, &ids[0]));
            let two = change(&mut second, &ids[1]);
            [one.join().unwrap(), two]
        });
        let done = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!(done, 1, "{:?}", answers.map(|answer| answer.text));
        both += 1;
    }
    assert_eq!(both, 60);
}

#[test]
fn who_is_disabled_or_removed_is_signed_out_everywhere() {
    let (world, mut owner) = world();
    let mut ada = world.invited(&mut owner, "ada@example.com", "inbox@acme");
    let id = id_of(&world, &mut owner, "ada@example.com");
    let enter = || {
        let mut browser = Browser::default();
        (world.sign_in(&mut browser, "ada@example.com", PASSWORD), browser)
    };
    let ended =
        |browser: &mut Browser| browser.call(&world, "GET", "/agents", &Value::Null).code().to_owned();
    // Sessions alone.
    on(&world, &mut owner, "DELETE", &id, "/sessions").data();
    assert_eq!(ended(&mut ada), "SESSION_ENDED");
    let (entered, mut ada) = enter();
    entered.data();
    let link = on(&world, &mut owner, "POST", &id, "/recovery").data()["link"].clone();
    let disabled = on(&world, &mut owner, "POST", &id, "/disable");
    assert_eq!((&disabled.data()["isDisabled"], &disabled.data()["sessions"]), (&json!(true), &json!(0)));
    assert_eq!(ended(&mut ada), "SESSION_ENDED");
    assert_eq!(enter().0.code(), "UNAUTHENTICATED");
    assert_eq!(on(&world, &mut owner, "POST", &id, "/recovery").code(), "NOT_POSSIBLE");
    // The link that was made before does not come back with the account.
    on(&world, &mut owner, "POST", &id, "/enable").data();
    assert_eq!(accept(&world, &token_of(&link)).0.code(), "LINK_INVALID");
    let (entered, mut ada) = enter();
    assert_eq!(entered.data()["session"]["operator"]["grants"], json!(["inbox@acme"]));
    on(&world, &mut owner, "DELETE", &id, "").data();
    assert_eq!(ended(&mut ada), "SESSION_ENDED");
    assert_eq!(enter().0.code(), "UNAUTHENTICATED");
    assert_eq!(on(&world, &mut owner, "GET", &id, "").code(), "NOT_FOUND");
    // The address is free again, and the account of the next invitation is another one.
    let again = invite(&world, &mut owner, "ada@example.com", &["viewer"]);
    let (entered, _) = accept(&world, &token_of(&again.data()["link"]));
    assert_ne!(entered.data()["session"]["operator"]["id"], json!(id));
    assert_eq!(members(&world, &mut owner).as_array().unwrap().len(), 2);
}

#[test]
fn a_recovery_link_of_an_operator_works_once_and_for_an_hour() {
    let (world, mut owner) = world();
    let mut ada = world.invited(&mut owner, "ada@example.com", "inbox@acme");
    let id = id_of(&world, &mut owner, "ada@example.com");
    let make = |owner: &mut Browser| token_of(&on(&world, owner, "POST", &id, "/recovery").data()["link"]);
    let (former, token) = (make(&mut owner), make(&mut owner));
    let accept = |token: &str| {
        let body = json!({ "token": token, "password": "another horse battery staple" });
        world.accept(&mut Browser::default(), &body)
    };
    assert_eq!(accept(&former).code(), "LINK_INVALID", "the newest counts");
    assert_eq!(accept(&token).data()["session"]["operator"]["email"], "ada@example.com");
    assert_eq!(accept(&token).code(), "LINK_INVALID");
    assert_eq!(ada.call(&world, "GET", "/agents", &Value::Null).code(), "SESSION_ENDED");
    let token = make(&mut owner);
    world.clock.advance_millis(60 * 60_000);
    assert_eq!(accept(&token).code(), "LINK_INVALID");
}

#[test]
fn roles_are_changed_on_the_version_that_was_seen() {
    let (world, mut owner) = world();
    let mut ada = world.invited(&mut owner, "ada@example.com", "inbox@acme");
    let id = id_of(&world, &mut owner, "ada@example.com");
    let request = owner.request("PUT", &format!("/members/{id}/grants"), &json!({ "grants": ["viewer"] }));
    assert_eq!(owner.send(&world, request).code(), "PRECONDITION_REQUIRED");
    let tag = |answer: &Answer| answer.headers["etag"].to_str().unwrap().to_owned();
    let first = tag(&on(&world, &mut owner, "GET", &id, ""));
    // What Ada changes of her own is not what is edited here.
    ada.call(&world, "PATCH", "/me", &json!({ "displayName": "A." })).data();
    let changed = grant(&world, &mut owner, &id, &["viewer@acme"], &first);
    assert_eq!(changed.data()["grants"], json!(["viewer@acme"]));
    assert_ne!(tag(&changed), first);
    let stale = grant(&world, &mut owner, &id, &["admin"], &first);
    assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"));
    assert_eq!(stale.body["details"]["current"]["grants"], json!(["viewer@acme"]));
    // They hold at once, in the session that is open.
    let take = "/agents/acme/conversations/0123456789abcdef01234567/take";
    assert_eq!(ada.call(&world, "POST", take, &Value::Null).code(), "INSUFFICIENT_ROLE");
}

#[test]
fn changes_of_members_are_noted_with_names_and_origin() {
    let (world, mut owner) = world();
    world.invited(&mut owner, "ada@example.com", "inbox@acme");
    let id = id_of(&world, &mut owner, "ada@example.com");
    let granted = grant(&world, &mut owner, &id, &["viewer"], "*");
    on(&world, &mut owner, "POST", &id, "/recovery").data();
    on(&world, &mut owner, "POST", &id, "/disable").data();
    on(&world, &mut owner, "POST", &id, "/enable").data();
    on(&world, &mut owner, "DELETE", &id, "/sessions").data();
    on(&world, &mut owner, "DELETE", &id, "").data();
    invite(&world, &mut owner, "max@example.com", &["viewer"]).data();
    let waiting = owner.call(&world, "GET", "/members/invitations", &Value::Null).data()[0]["id"].clone();
    let path = format!("/members/invitations/{}", waiting.as_str().unwrap());
    owner.call(&world, "DELETE", &path, &Value::Null).data();
    let log = owner.call(&world, "GET", "/audit?limit=100", &Value::Null);
    let entries = log.data()["entries"].as_array().unwrap().clone();
    let of_owner: Vec<&Value> = entries.iter().filter(|entry| entry["actor"]["name"] == "Zoë").collect();
    let noted: BTreeSet<&str> = of_owner.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    for action in [
        "operator.invite",
        "operator.revokeInvitation",
        "operator.grant",
        "operator.disable",
        "operator.enable",
        "operator.remove",
        "operator.recoveryLink",
        "operator.endSession",
    ] {
        assert!(noted.contains(action), "{action} in {noted:?}");
    }
    for entry in &of_owner {
        assert_eq!(entry["address"], "192.0.2.7", "{entry}");
        assert!(entry["requestId"].is_string(), "{entry}");
    }
    let entry = of_owner.iter().find(|entry| entry["action"] == "operator.grant").unwrap();
    assert_eq!(entry["requestId"], granted.headers["x-request-id"].to_str().unwrap());
    assert_eq!(entry["details"], json!({ "before": ["inbox@acme"], "after": ["viewer"] }));
    assert_eq!(entry["resource"], json!(id));
    // Who was removed has no name any more.
    let created =
        entries.iter().find(|entry| entry["action"] == "operator.create" && entry["resource"] == json!(id));
    assert_eq!(created.unwrap()["actor"]["name"], Value::Null);
}

/// A person of the model.
#[derive(Clone, Debug)]
struct Person {
    grants: BTreeSet<&'static str>,
    is_disabled: bool,
    browser: Browser,
}

const GRANTS: [&str; 6] = ["owner", "admin", "admin@acme", "developer", "inbox@acme", "viewer@beta"];

/// What the model says of a change of `target`, who is to have `next`.
fn verdict(
    people: &BTreeMap<String, Person>,
    by: &Person,
    target: Option<&str>,
    next: &BTreeSet<&str>,
) -> &'static str {
    let (owns, administers) = (by.grants.contains("owner"), by.grants.contains("admin"));
    if !owns && !administers {
        return "INSUFFICIENT_ROLE";
    }
    let Some(person) = target.map(|id| &people[id]) else {
        return if owns || !next.contains("owner") { "" } else { "INSUFFICIENT_ROLE" };
    };
    if !owns && (person.grants.contains("owner") || next.contains("owner")) {
        return "INSUFFICIENT_ROLE";
    }
    ""
}

fn owners(people: &BTreeMap<String, Person>) -> Vec<&String> {
    people.iter().filter(|(_, it)| !it.is_disabled && it.grants.contains("owner")).map(|(id, _)| id).collect()
}

/// Random changes by random operators do what a model by hand says: an enabled owner is always left, nobody has a role
/// that nobody gave, and who is disabled or removed does nothing more.
#[test]
fn random_changes_of_members_follow_a_model() {
    let (world, mut owner) = world();
    let first = id_of(&world, &mut owner, EMAIL);
    let mut people = BTreeMap::new();
    people.insert(first, Person { grants: ["owner"].into(), is_disabled: false, browser: owner });
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[9; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let step =
        (0..8_usize, any::<usize>(), any::<usize>(), prop::collection::btree_set(0..GRANTS.len(), 1..3));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for nth in 0..1_800 {
        let (what, by, target, grants) = step.new_tree(&mut runner).unwrap().current();
        let grants: BTreeSet<&str> = grants.into_iter().map(|at| GRANTS[at]).collect();
        let pick = |at: usize| people.keys().nth(at % people.len()).unwrap().clone();
        let (by_id, target) = (pick(by), pick(target));
        let mut by = people[&by_id].clone();
        // So that no limit is met, and proofs of identity stay recent.
        world.clock.advance_millis(120);
        let number = u32::try_from(nth).unwrap();
        by.browser.address = std::net::Ipv4Addr::from(0x0A00_0000 + number).into();
        let words: Vec<&str> = grants.iter().copied().collect();
        let next = if what == 1 || what == 0 { grants.clone() } else { BTreeSet::new() };
        let mut expected = verdict(&people, &by, (what != 0).then_some(&target), &next);
        let is_last = owners(&people) == [&target];
        let demotes = matches!(what, 1 if !grants.contains("owner")) || what == 2 || what == 4;
        if expected.is_empty() && is_last && demotes {
            expected = "LAST_OWNER";
        }
        if expected.is_empty() && what == 5 && people[&target].is_disabled {
            expected = "NOT_POSSIBLE";
        }
        if by.is_disabled {
            expected = "SESSION_ENDED";
        }
        if what == 0 && people.len() > 8 {
            continue;
        }
        let answer = match what {
            0 => invite(&world, &mut by.browser, &format!("op-{nth}@example.com"), &words),
            1 => grant(&world, &mut by.browser, &target, &words, "*"),
            2 => on(&world, &mut by.browser, "POST", &target, "/disable"),
            3 => on(&world, &mut by.browser, "POST", &target, "/enable"),
            4 if people.len() > 3 => on(&world, &mut by.browser, "DELETE", &target, ""),
            5 => on(&world, &mut by.browser, "POST", &target, "/recovery"),
            6 => on(&world, &mut by.browser, "DELETE", &target, "/sessions"),
            _ => continue,
        };
        // The cookie of an ended session is dropped.
        assert_eq!(answer.code(), expected, "step {nth}: {what} by {by:?} on {target}: {}", answer.text);
        *seen.entry(expected).or_default() += 1;
        if expected.is_empty() {
            let enter = |token: &Value| {
                let (entered, browser) = accept(&world, &token_of(token));
                (entered.data()["session"]["operator"]["id"].as_str().unwrap().to_owned(), browser)
            };
            match what {
                0 => {
                    let (id, browser) = enter(&answer.data()["link"]);
                    let grants = grants.clone();
                    people.insert(id, Person { grants, is_disabled: false, browser });
                }
                1 => people.get_mut(&target).unwrap().grants = grants,
                2 => people.get_mut(&target).unwrap().is_disabled = true,
                3 if people[&target].is_disabled => {
                    let again = on(
                        &world,
                        &mut people.get_mut(&by_id).unwrap().browser,
                        "POST",
                        &target,
                        "/recovery",
                    );
                    let (_, browser) = enter(&again.data()["link"]);
                    *people.get_mut(&target).unwrap() =
                        Person { is_disabled: false, browser, ..people[&target].clone() };
                }
                4 => drop(people.remove(&target)),
                5 => people.get_mut(&target).unwrap().browser = enter(&answer.data()["link"]).1,
                // A person who was signed out signs in again.
                6 if !people[&target].is_disabled => {
                    let path = format!("/members/{target}/recovery");
                    let made = call_as(&world, "owner", "POST", &path, &Value::Null);
                    people.get_mut(&target).unwrap().browser = enter(&made.data()["link"]).1;
                }
                _ => {}
            }
        }
        assert!(!owners(&people).is_empty());
        let stored: BTreeMap<String, (Value, bool)> =
            call_as(&world, "owner", "GET", "/members", &Value::Null)
                .data()
                .as_array()
                .unwrap()
                .iter()
                .map(|it| {
                    (it["id"].as_str().unwrap().to_owned(), (it["grants"].clone(), it["isDisabled"] == true))
                })
                .collect();
        let model =
            people.iter().map(|(id, it)| (id.clone(), (in_order(&it.grants), it.is_disabled))).collect();
        assert_eq!(stored, model, "step {nth}");
    }
    for code in ["", "INSUFFICIENT_ROLE", "LAST_OWNER", "NOT_POSSIBLE", "SESSION_ENDED"] {
        assert!(seen.get(code).is_some_and(|count| *count > 5), "{code:?} in {seen:?}");
    }
}

/// Grants as the console orders them: by rank.
fn in_order(grants: &BTreeSet<&str>) -> Value {
    GRANTS.iter().filter(|grant| grants.contains(**grant)).copied().collect()
}
