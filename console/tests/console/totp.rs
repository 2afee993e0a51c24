//! Passwords with one-time codes, recovery codes, and the sessions that can only set up a way to sign in.

use console::{Access, OPERATIONS};
use openapi_core::storage::{Effects, RecordChange, RecordKind, RecordStore, RecordsWrite};
use serde_json::{Value, json};

use super::authenticator::{Authenticator, Ceremony};
use super::roles::request;
use super::support::{Answer, Browser, EMAIL, PASSWORD, World};

const SECOND: i64 = 1_000;

fn pending(world: &World, browser: &mut Browser) -> Value {
    let body = json!({ "email": EMAIL, "password": PASSWORD });
    let accepted = browser.call(world, "POST", "/sign-in/password", &body);
    assert_eq!(accepted.data()["signedIn"], Value::Null);
    assert!(accepted.cookies.is_empty(), "a password alone begins no session: {:?}", accepted.cookies);
    accepted.data()["pending"].clone()
}

fn send_code(world: &World, pending: &Value, code: &str) -> Answer {
    let body = json!({ "pending": pending, "code": code });
    Browser::default().call(world, "POST", "/sign-in/code", &body)
}

/// The code of a step that begins `seconds` from now.
fn code_at(world: &World, seconds: i64) -> String {
    let secret = world.secrets.lock().unwrap()[EMAIL].clone();
    console::totp_code(&secret, world.platform.now().plus_millis(seconds * SECOND)).unwrap()
}

fn recovery_codes(answer: &Answer) -> Vec<String> {
    let codes = answer.data()["recoveryCodes"].as_array().unwrap();
    codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

fn recover(world: &World, browser: &mut Browser, email: &str, code: &str) -> Answer {
    browser.call(world, "POST", "/sign-in/recover", &json!({ "email": email, "recoveryCode": code }))
}

/// The browser of the first owner, with the recovery codes.
fn owner(world: &World) -> (Browser, Vec<String>) {
    let mut browser = Browser::default();
    let body = json!({ "token": world.setup_token(), "name": "Zoë", "email": EMAIL, "password": PASSWORD });
    let made = world.accept(&mut browser, &body);
    (browser, recovery_codes(&made))
}

/// Sets codes up with the seed that is prepared, and returns its answer.
fn set_up(world: &World, browser: &mut Browser, password: Option<&str>) -> Answer {
    let seed = browser.call(world, "POST", "/me/totp", &json!({})).data().clone();
    let secret = seed["secret"].as_str().unwrap();
    let mut body = json!({
        "enrolment": seed["enrolment"], "code": console::totp_code(secret, world.platform.now()),
    });
    if let Some(password) = password {
        body["password"] = password.into();
    }
    let answer = browser.call(world, "PUT", "/me/totp", &body);
    if answer.status == 200 {
        world.secrets.lock().unwrap().insert(EMAIL.to_owned(), secret.to_owned());
    }
    answer
}

fn add_passkey(world: &World, browser: &mut Browser, id: &[u8]) -> Authenticator {
    let mut passkey = Authenticator::new(id);
    let options = browser.call(world, "POST", "/me/passkeys/options", &json!({}));
    let credential = passkey.create(&options.data()["publicKey"], &Ceremony::create());
    let body = json!({ "name": "Key", "credential": credential });
    browser.call(world, "POST", "/me/passkeys", &body).data();
    passkey
}

/// What a password was before one-time codes existed.
fn forget_totp(world: &World) {
    pollster::block_on(async {
        let known = world.storage.records_of(None, RecordKind::Totp, None, 1).await.unwrap().remove(0);
        let changes = vec![RecordChange::Remove { key: known.key, version: known.version }];
        let write = RecordsWrite { changes, effects: Effects::default() };
        world.storage.save_records(None, &write).await.unwrap();
    });
}

fn actions(world: &World, browser: &mut Browser) -> Vec<String> {
    let log = browser.call(world, "GET", "/audit?limit=100", &Value::Null);
    let entries = log.data()["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["action"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_password_signs_in_with_a_code_that_counts_once() {
    let world = World::with_accounts();
    owner(&world);
    let mut browser = Browser::default();
    let code = world.code(EMAIL);
    let (first, second) = (pending(&world, &mut browser), pending(&world, &mut browser));
    send_code(&world, &first, &code).data();
    // Neither the code nor the password's answer counts again.
    assert_eq!(send_code(&world, &second, &code).code(), "UNAUTHENTICATED");
    let next = world.code(EMAIL);
    assert_eq!(send_code(&world, &first, &next).code(), "UNAUTHENTICATED");
    send_code(&world, &second, &next).data();
    // The clock of the phone may be one step off.
    for (off, status) in [(-60, 401), (60, 401), (-30, 200), (30, 200)] {
        world.clock.advance_millis(600 * SECOND);
        let pending = pending(&world, &mut browser);
        assert_eq!(send_code(&world, &pending, &code_at(&world, off)).status, status, "{off}");
    }
}

#[test]
fn five_wrong_codes_five_minutes_or_another_password_end_an_attempt() {
    let world = World::with_accounts();
    let (mut zoe, _) = owner(&world);
    let mut browser = Browser::default();
    let tried = pending(&world, &mut browser);
    let right = world.code(EMAIL);
    let wrong = if right == "000000" { "000001" } else { "000000" };
    for _ in 0..5 {
        assert_eq!(send_code(&world, &tried, wrong).code(), "UNAUTHENTICATED");
    }
    assert_eq!(send_code(&world, &tried, &right).code(), "SESSION_ENDED");
    // Others are as good as before.
    let late = pending(&world, &mut browser);
    world.clock.advance_millis(300 * SECOND);
    assert_eq!(send_code(&world, &late, &code_at(&world, 0)).code(), "SESSION_ENDED");
    let changed = pending(&world, &mut browser);
    zoe.call(&world, "PUT", "/me/password", &json!({ "password": "another horse battery staple" })).data();
    assert_eq!(send_code(&world, &changed, &code_at(&world, 0)).code(), "SESSION_ENDED");
    for forged in ["", "AAAA", &"A".repeat(92)] {
        let body = json!({ "pending": forged, "code": "123456" });
        let refused = Browser::default().call(&world, "POST", "/sign-in/code", &body);
        assert!(matches!(refused.code(), "SESSION_ENDED" | "VALIDATION_ERROR"), "{forged}: {}", refused.text);
    }
}

#[test]
fn a_link_takes_a_password_with_the_code_of_its_own_seed_alone() {
    let world = World::with_accounts();
    let mut browser = Browser::default();
    let token = world.setup_token();
    let inspect = |browser: &mut Browser| {
        browser.call(&world, "POST", "/links/inspect", &json!({ "token": token })).data()["totp"].clone()
    };
    let (seed, other) = (inspect(&mut browser), inspect(&mut browser));
    assert_ne!(seed["secret"], other["secret"]);
    let secret = seed["secret"].as_str().unwrap();
    let url = seed["url"].as_str().unwrap();
    assert!(url.starts_with("otpauth://totp/") && url.contains(secret), "{url}");
    assert!(seed["qrPath"].as_str().unwrap().starts_with("M0 0h7v1h-7z"));
    let code = console::totp_code(secret, world.platform.now()).unwrap();
    let body = json!({
        "token": token, "name": "Zoë", "email": EMAIL, "password": PASSWORD, "enrolment": seed["enrolment"], "code": code,
    });
    for (field, change) in [
        ("code", json!({ "code": Value::Null })),
        ("enrolment", json!({ "enrolment": Value::Null })),
        ("code", json!({ "code": "12345" })),
        ("code", json!({ "enrolment": other["enrolment"] })),
        ("enrolment", json!({ "enrolment": "AAAA" })),
    ] {
        let mut altered = body.clone();
        for (name, value) in change.as_object().unwrap() {
            if value.is_null() {
                altered.as_object_mut().unwrap().remove(name);
            } else {
                altered[name] = value.clone();
            }
        }
        let refused = browser.call(&world, "POST", "/links/accept", &altered);
        assert_eq!(refused.body["validationErrors"][0]["field"], field, "{change}: {}", refused.text);
    }
    let made = browser.call(&world, "POST", "/links/accept", &body);
    assert_eq!(recovery_codes(&made).len(), 10);
    // The seed of one link confirms nothing for another, and that of a session nothing in another session.
    let link = browser.call(
        &world,
        "POST",
        "/members/invitations",
        &json!({ "email": "ada@example.com", "grants": ["viewer"] }),
    );
    let token = super::support::token_of(&link.data()["link"]);
    let mut stolen = body.clone();
    stolen["token"] = token.into();
    stolen["email"] = "ada@example.com".into();
    let refused = Browser::default().call(&world, "POST", "/links/accept", &stolen);
    assert_eq!(refused.body["validationErrors"][0]["field"], "enrolment", "{}", refused.text);
    world.secrets.lock().unwrap().insert(EMAIL.to_owned(), secret.to_owned());
    let seed = browser.call(&world, "POST", "/me/totp", &json!({})).data().clone();
    let code = console::totp_code(seed["secret"].as_str().unwrap(), world.platform.now());
    let confirmation = json!({ "enrolment": seed["enrolment"], "code": code });
    let mut second = Browser::default();
    world.sign_in(&mut second, EMAIL, PASSWORD).data();
    let refused = second.call(&world, "PUT", "/me/totp", &confirmation);
    assert_eq!(refused.body["validationErrors"][0]["field"], "enrolment", "{}", refused.text);
    // Half an hour later it is over.
    world.clock.advance_millis(9 * 60 * SECOND);
    world.step_up(&mut browser, EMAIL).data();
    world.clock.advance_millis(9 * 60 * SECOND);
    world.step_up(&mut browser, EMAIL).data();
    world.clock.advance_millis(9 * 60 * SECOND);
    world.step_up(&mut browser, EMAIL).data();
    world.clock.advance_millis(3 * 60 * SECOND);
    let refused = browser.call(&world, "PUT", "/me/totp", &confirmation);
    assert_eq!(refused.body["validationErrors"][0]["field"], "enrolment", "{}", refused.text);
}

#[test]
fn a_password_without_codes_gives_a_session_that_sets_them_up_and_nothing_else() {
    let world = World::with_accounts().with_agents();
    let (mut other, _) = owner(&world);
    forget_totp(&world);
    let mut browser = Browser::default();
    let body = json!({ "email": EMAIL, "password": PASSWORD });
    let accepted = browser.call(&world, "POST", "/sign-in/password", &body);
    assert_eq!(accepted.data()["pending"], Value::Null);
    let session = browser.call(&world, "GET", "/session", &Value::Null).data().clone();
    assert_eq!((&session["needsMethod"], &session["capabilities"]), (&json!(true), &json!({})));
    let mut refused = 0;
    for entry in OPERATIONS.iter().filter(|entry| entry.metadata.access != Access::Public) {
        if entry.metadata.traits.sets_up {
            continue;
        }
        let (method, path, body) = request(entry, "acme");
        let answer = browser.call(&world, &method, &path, &body);
        assert_eq!((answer.status, answer.code()), (403, "SET_UP_REQUIRED"), "{}", entry.metadata.name);
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
    assert_eq!(other.call(&world, "GET", "/me/sessions", &Value::Null).status, 200);
    set_up(&world, &mut browser, None).data();
    // The session is full, goes on for long, and is the only one.
    let session = browser.call(&world, "GET", "/session", &Value::Null).data().clone();
    assert_eq!((&session["needsMethod"], &session["operator"]["grants"]), (&json!(false), &json!(["owner"])));
    assert_eq!(other.call(&world, "GET", "/me/sessions", &Value::Null).code(), "SESSION_ENDED");
    world.clock.advance_millis(3_600 * SECOND);
    let noted = actions(&world, &mut browser);
    assert!(noted.contains(&"operator.totp".to_owned()), "{noted:?}");
    world.sign_in(&mut Browser::default(), EMAIL, PASSWORD).data();
}

#[test]
fn a_session_for_set_up_ends_after_ten_minutes() {
    let world = World::with_accounts();
    let (_, codes) = owner(&world);
    let mut browser = Browser::default();
    recover(&world, &mut browser, EMAIL, &codes[0]).data();
    world.clock.advance_millis(600 * SECOND - 1);
    browser.call(&world, "GET", "/me/methods", &Value::Null).data();
    world.clock.advance_millis(1);
    assert_eq!(browser.call(&world, "GET", "/me/methods", &Value::Null).code(), "SESSION_ENDED");
}

#[test]
fn a_recovery_code_counts_once_and_leads_to_another_way_to_sign_in() {
    let world = World::with_accounts();
    let (mut old, codes) = owner(&world);
    assert_eq!(codes.len(), 10);
    for code in &codes {
        let letters: Vec<char> = code.chars().collect();
        assert!(letters.len() == 11 && letters[5] == '-', "{code}");
        assert!(!code.contains(['I', 'L', 'O', 'U']) && code.to_uppercase() == *code, "{code}");
    }
    let mut browser = Browser::default();
    let typed = codes[3].to_lowercase().replace('-', " ");
    let entered = recover(&world, &mut browser, "ZOE@example.com", &typed);
    assert_eq!(entered.data()["session"]["needsMethod"], true);
    assert_eq!(recover(&world, &mut Browser::default(), EMAIL, &codes[3]).code(), "UNAUTHENTICATED");
    assert_eq!(browser.call(&world, "GET", "/agents", &Value::Null).code(), "SET_UP_REQUIRED");
    let made = browser.call(&world, "POST", "/me/recovery-codes", &json!({}));
    assert_eq!(made.code(), "SET_UP_REQUIRED");
    add_passkey(&world, &mut browser, b"credential-9");
    browser.call(&world, "GET", "/agents", &Value::Null).data();
    assert_eq!(old.call(&world, "GET", "/agents", &Value::Null).code(), "SESSION_ENDED");
    // Owners see that somebody came back by a code, and the log says when.
    let members = browser.call(&world, "GET", "/members", &Value::Null);
    assert!(members.data()[0]["recoveredAt"].is_string(), "{}", members.text);
    let methods = browser.call(&world, "GET", "/me/methods", &Value::Null).data().clone();
    assert_eq!((&methods["recoveryCodesLeft"], &methods["passkeys"]), (&json!(9), &json!(1)));
    let noted = actions(&world, &mut browser);
    assert!(noted.contains(&"operator.recover".to_owned()), "{noted:?}");
    // New codes replace the former ones.
    let made = browser.call(&world, "POST", "/me/recovery-codes", &json!({}));
    let new = recovery_codes(&made);
    assert!(actions(&world, &mut browser).contains(&"operator.recoveryCodes".to_owned()));
    assert_eq!(recover(&world, &mut Browser::default(), EMAIL, &codes[4]).status, 401);
    let mut again = Browser::default();
    recover(&world, &mut again, EMAIL, &new[0]).data();
    // Password and codes can be set up again too.
    set_up(&world, &mut again, Some("another horse battery staple")).data();
    again.call(&world, "GET", "/agents", &Value::Null).data();
    world.sign_in(&mut Browser::default(), EMAIL, "another horse battery staple").data();
}

#[test]
fn recovery_codes_cannot_be_guessed_and_tell_nobody_who_has_an_account() {
    let world = World::with_accounts();
    let (_, codes) = owner(&world);
    let answer = |email: &str| {
        let mut answer = recover(&world, &mut Browser::default(), email, "00000-00000");
        answer.body["requestId"] = Value::Null;
        (answer.status, answer.body, answer.cookies)
    };
    assert_eq!(answer(EMAIL), answer("nobody@example.com"));
    // They count like passwords, and together with them.
    let statuses: Vec<u16> = (0..10).map(|_| answer(EMAIL).0).collect();
    assert_eq!(statuses, [vec![401; 8], vec![429; 2]].concat());
    let mut elsewhere = Browser { address: [203, 0, 113, 1].into(), ..Browser::default() };
    recover(&world, &mut elsewhere, EMAIL, &codes[0]).data();
    let mut elsewhere = Browser { address: [203, 0, 113, 2].into(), ..Browser::default() };
    assert_eq!(recover(&world, &mut elsewhere, EMAIL, &codes[1]).status, 429);
    let refused = world.sign_in(&mut elsewhere, EMAIL, PASSWORD);
    assert_eq!(refused.status, 429, "{}", refused.text);
}

#[test]
fn password_and_codes_go_together_and_a_way_to_sign_in_stays() {
    let world = World::with_accounts();
    let (mut browser, _) = owner(&world);
    let refused = browser.call(&world, "DELETE", "/me/totp", &Value::Null);
    assert_eq!((refused.status, refused.code()), (422, "NOT_POSSIBLE"));
    add_passkey(&world, &mut browser, b"credential-7");
    let left = browser.call(&world, "DELETE", "/me/totp", &Value::Null).data().clone();
    assert_eq!((&left["passwordChangedAt"], &left["totpConfirmedAt"]), (&Value::Null, &Value::Null));
    let body = json!({ "email": EMAIL, "password": PASSWORD });
    let gone = Browser::default().call(&world, "POST", "/sign-in/password", &body);
    assert_eq!(gone.code(), "UNAUTHENTICATED");
    // A password alone would be a weaker way in than the passkey.
    let refused = browser.call(&world, "PUT", "/me/password", &json!({ "password": PASSWORD }));
    assert_eq!((refused.status, refused.code()), (422, "NOT_POSSIBLE"));
    assert_eq!(set_up(&world, &mut browser, None).body["validationErrors"][0]["field"], "password");
    set_up(&world, &mut browser, Some(PASSWORD)).data();
    world.sign_in(&mut Browser::default(), EMAIL, PASSWORD).data();
    // The last passkey may go, because there is another way.
    let passkey = browser.call(&world, "GET", "/me/passkeys", &Value::Null).data()[0]["id"].clone();
    let path = format!("/me/passkeys/{}", passkey.as_str().unwrap());
    browser.call(&world, "DELETE", &path, &Value::Null).data();
}
