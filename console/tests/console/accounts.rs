//! Set-up, signing in by passkey and password, sessions, step-up, limits.

use console::{AccountSettings, ConsoleSettings};
use openapi_core::storage::{AuditQuery, RecordKind, RecordStore};
use serde_json::{Value, json};

use super::authenticator::{Authenticator, Ceremony, encode};
use super::support::{Browser, EMAIL, PASSWORD, World, accounts, token_of};

/// A world whose owner has a password.
fn with_owner(world: &World) -> Browser {
    world.owner()
}

fn sign_in(world: &World, browser: &mut Browser, email: &str, password: &str) -> super::support::Answer {
    world.sign_in(browser, email, password)
}

#[test]
fn a_set_up_link_makes_the_first_owner_once() {
    let world = World::with_accounts();
    let old = world.setup_token();
    let token = world.setup_token();
    let mut browser = Browser::default();
    let session = browser.call(&world, "GET", "/session", &Value::Null);
    assert_eq!(session.data()["isSetUp"], false);
    assert_eq!(session.data()["operator"], Value::Null);
    // The newest link counts.
    let refused = browser.call(&world, "POST", "/links/inspect", &json!({ "token": old }));
    assert_eq!((refused.status, refused.code()), (404, "LINK_INVALID"));
    let seen = browser.call(&world, "POST", "/links/inspect", &json!({ "token": token }));
    assert_eq!(seen.data()["kind"], "setUp");
    let body = json!({ "token": token, "name": "Zoë", "email": EMAIL, "password": PASSWORD });
    let weak = json!({ "token": token, "name": "Zoë", "email": EMAIL, "password": "zoezoezoezoe" });
    let refused = world.accept(&mut browser, &weak);
    assert_eq!(refused.body["validationErrors"][0]["field"], "password", "{}", refused.text);
    let made = world.accept(&mut browser, &body);
    assert_eq!(made.data()["session"]["operator"]["grants"], json!(["owner"]));
    assert!(made.cookies[0].starts_with("__Host-console=1."), "{:?}", made.cookies);
    for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"] {
        assert!(made.cookies[0].contains(attribute), "{attribute}");
    }
    let again = Browser::default().call(&world, "POST", "/links/accept", &body);
    assert_eq!(again.code(), "LINK_INVALID");
    assert!(pollster::block_on(world.console.setup_link(&super::support::by())).unwrap().is_none());
    let session = browser.call(&world, "GET", "/session", &Value::Null);
    assert_eq!(session.data()["operator"]["email"], EMAIL);
}

#[test]
fn a_link_ends_after_an_hour() {
    let world = World::with_accounts();
    let token = world.setup_token();
    world.clock.advance_millis(60 * 60_000);
    let refused = Browser::default().call(&world, "POST", "/links/inspect", &json!({ "token": token }));
    assert_eq!(refused.code(), "LINK_INVALID");
}

#[test]
fn a_recovery_link_gives_another_way_to_sign_in() {
    let world = World::with_accounts();
    let mut lost = with_owner(&world);
    let command = |method: http::Method, path: &str| {
        pollster::block_on(world.console.command(&super::support::by(), method, path, None))
    };
    let members = command(http::Method::GET, "/members").unwrap();
    let path = format!("/members/{}/recovery", members[0]["id"].as_str().unwrap());
    let link = || token_of(&command(http::Method::POST, &path).unwrap()["link"]);
    let (old, token) = (link(), link());
    let none = command(http::Method::POST, "/members/0123456789abcdef01234567/recovery");
    assert_eq!(none.unwrap_err(), "There is no operator with this id");
    let log = command(http::Method::GET, "/audit?limit=100").unwrap();
    let mut entries = log["entries"].as_array().unwrap().iter();
    let noted = entries.find(|entry| entry["action"] == "operator.recoveryLink").unwrap();
    assert_eq!((&noted["actor"]["id"], &noted["address"]), (&json!("test"), &Value::Null));
    let mut browser = Browser::default();
    let refused = browser.call(&world, "POST", "/links/inspect", &json!({ "token": old }));
    assert_eq!(refused.code(), "LINK_INVALID");
    let seen = browser.call(&world, "POST", "/links/inspect", &json!({ "token": token }));
    assert_eq!((&seen.data()["kind"], &seen.data()["email"]), (&json!("recover"), &json!(EMAIL)));
    let body = json!({ "token": token, "password": "another horse battery staple" });
    let entered = world.accept(&mut browser, &body);
    assert_eq!(entered.data()["session"]["operator"]["grants"], json!(["owner"]));
    assert_eq!(browser.call(&world, "POST", "/links/accept", &body).code(), "LINK_INVALID");
    // The former sessions and the former password are over.
    assert_eq!(lost.call(&world, "GET", "/me/sessions", &Value::Null).code(), "SESSION_ENDED");
    assert_eq!(sign_in(&world, &mut Browser::default(), EMAIL, PASSWORD).status, 401);
    sign_in(&world, &mut Browser::default(), EMAIL, "another horse battery staple").data();
}

#[test]
fn a_passkey_signs_in_and_a_challenge_counts_once() {
    let world = World::with_accounts();
    let mut browser = Browser::default();
    let token = world.setup_token();
    let link = browser.call(&world, "POST", "/links/inspect", &json!({ "token": token }));
    let mut passkey = Authenticator::new(b"credential-1");
    let credential = passkey.create(&link.data()["publicKey"], &Ceremony::create());
    let body = json!({ "token": token, "name": "Zoë", "email": EMAIL, "credential": credential });
    browser.call(&world, "POST", "/links/accept", &body).data();

    let mut other = Browser::default();
    let options = other.call(&world, "POST", "/sign-in/passkey/options", &json!({}));
    let credential = passkey.get(&options.data()["publicKey"], &Ceremony::get());
    let body = json!({ "credential": credential });
    // Another browser cannot answer this one's challenge.
    let stolen = Browser::default().call(&world, "POST", "/sign-in/passkey", &body);
    assert_eq!(stolen.code(), "UNAUTHENTICATED");
    let entered = other.call(&world, "POST", "/sign-in/passkey", &body);
    assert_eq!(entered.data()["session"]["operator"]["email"], EMAIL);
    let repeated = other.call(&world, "POST", "/sign-in/passkey", &body);
    assert_eq!((repeated.status, repeated.code()), (401, "UNAUTHENTICATED"));
    // A challenge ends after five minutes.
    let options = other.call(&world, "POST", "/sign-in/passkey/options", &json!({}));
    let credential = passkey.get(&options.data()["publicKey"], &Ceremony::get());
    world.clock.advance_millis(5 * 60_000);
    let late = other.call(&world, "POST", "/sign-in/passkey", &json!({ "credential": credential }));
    assert_eq!(late.code(), "UNAUTHENTICATED");
}

/// What is altered in an answer, and the ceremony that it belongs to.
fn altered() -> Vec<(&'static str, Ceremony)> {
    let get = Ceremony::get;
    vec![
        ("origin", Ceremony { origin: "https://evil.example.com".to_owned(), ..get() }),
        ("a longer origin", Ceremony { origin: format!("{}.evil.com", super::support::ORIGIN), ..get() }),
        ("relying party", Ceremony { relying_party: "example.com".to_owned(), ..get() }),
        ("nobody present", Ceremony { flags: 0x04, ..get() }),
        ("nobody verified", Ceremony { flags: 0x01, ..get() }),
        ("backed up but not eligible", Ceremony { flags: 0x15, ..get() }),
        ("the other ceremony", Ceremony { kind: "webauthn.create", ..get() }),
        ("a frame", Ceremony { cross_origin: json!(true), ..get() }),
        ("no boolean", Ceremony { cross_origin: json!("false"), ..get() }),
        ("another challenge", Ceremony { challenge: Some(encode(&[7; 57])), ..get() }),
        ("no challenge", Ceremony { challenge: Some(String::new()), ..get() }),
    ]
}

#[test]
fn altered_answers_of_a_passkey_are_refused() {
    let world = World::with_accounts();
    let mut owner = with_owner(&world);
    let mut passkey = Authenticator::new(b"credential-2");
    let options = owner.call(&world, "POST", "/me/passkeys/options", &json!({}));
    for (what, ceremony) in altered() {
        let ceremony = match ceremony.kind {
            "webauthn.get" => Ceremony { kind: "webauthn.create", flags: ceremony.flags | 0x40, ..ceremony },
            _ => Ceremony { kind: "webauthn.get", flags: 0x45, ..ceremony },
        };
        let credential = passkey.create(&options.data()["publicKey"], &ceremony);
        let body = json!({ "name": "Key", "credential": credential });
        assert_eq!(owner.call(&world, "POST", "/me/passkeys", &body).code(), "UNAUTHENTICATED", "{what}");
        world.clock.advance_millis(0);
    }
    let unknown = Ceremony { algorithm: -257, ..Ceremony::create() };
    let credential = passkey.create(&options.data()["publicKey"], &unknown);
    let body = json!({ "name": "Key", "credential": credential });
    assert_eq!(owner.call(&world, "POST", "/me/passkeys", &body).code(), "UNAUTHENTICATED");
    let credential = passkey.create(&options.data()["publicKey"], &Ceremony::create());
    let body = json!({ "name": "Key", "credential": credential });
    owner.call(&world, "POST", "/me/passkeys", &body).data();

    for (nth, (what, ceremony)) in altered().into_iter().enumerate() {
        // From another address each, so that no limit interferes.
        let address = std::net::IpAddr::from([198, 51, 100, u8::try_from(nth).unwrap()]);
        let mut browser = Browser { address, ..Browser::default() };
        let options = browser.call(&world, "POST", "/sign-in/passkey/options", &json!({}));
        let credential = passkey.get(&options.data()["publicKey"], &ceremony);
        let refused = browser.call(&world, "POST", "/sign-in/passkey", &json!({ "credential": credential }));
        assert_eq!(refused.code(), "UNAUTHENTICATED", "{what}");
        assert!(refused.cookies.is_empty(), "{what}");
    }
    // Each byte of each member of an answer counts.
    let mut browser = Browser { address: [198, 51, 100, 200].into(), ..Browser::default() };
    let options = browser.call(&world, "POST", "/sign-in/passkey/options", &json!({}));
    let good = passkey.get(&options.data()["publicKey"], &Ceremony::get());
    let mut refusals = 0;
    for member in ["clientDataJSON", "authenticatorData", "signature", "userHandle"] {
        let text = good["response"][member].as_str().unwrap().to_owned();
        for at in 0..text.len() {
            let mut bad = good.clone();
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            bad["response"][member] = String::from_utf8(bytes).unwrap().into();
            refusals += 1;
            browser.address = [203, 0, (refusals / 10) as u8, (refusals % 10) as u8].into();
            let refused = browser.call(&world, "POST", "/sign-in/passkey", &json!({ "credential": bad }));
            assert_eq!(refused.status, 401, "{member} at {at}: {}", refused.text);
        }
    }
    assert!(refusals > 200, "{refusals}");
    browser.call(&world, "POST", "/sign-in/passkey", &json!({ "credential": good })).data();
}

#[test]
fn a_counter_that_goes_back_refuses_and_marks_the_passkey() {
    let world = World::with_accounts();
    let mut owner = with_owner(&world);
    let mut passkey = Authenticator::new(b"credential-3");
    passkey.counter = 5;
    let options = owner.call(&world, "POST", "/me/passkeys/options", &json!({}));
    let credential = passkey.create(&options.data()["publicKey"], &Ceremony::create());
    owner.call(&world, "POST", "/me/passkeys", &json!({ "name": "Key", "credential": credential })).data();
    let try_with = |passkey: &Authenticator| {
        let mut browser = Browser::default();
        let options = browser.call(&world, "POST", "/sign-in/passkey/options", &json!({}));
        let credential = passkey.get(&options.data()["publicKey"], &Ceremony::get());
        browser.call(&world, "POST", "/sign-in/passkey", &json!({ "credential": credential })).status
    };
    assert_eq!(try_with(&passkey), 401);
    passkey.counter = 6;
    assert_eq!(try_with(&passkey), 200);
    let listed = owner.call(&world, "GET", "/me/passkeys", &Value::Null);
    assert_eq!(listed.data()[0]["isSuspect"], true);
}

#[test]
fn unknown_addresses_and_wrong_passwords_get_one_answer() {
    let world = World::with_accounts();
    with_owner(&world);
    let mut browser = Browser::default();
    let mut wrong = sign_in(&world, &mut browser, EMAIL, "not the password");
    let mut unknown = sign_in(&world, &mut browser, "nobody@example.com", "not the password");
    assert_eq!(wrong.status, 401);
    for answer in [&mut wrong, &mut unknown] {
        answer.body["requestId"] = Value::Null;
    }
    assert_eq!(wrong.body, unknown.body);
    assert_eq!(wrong.cookies, unknown.cookies);
    sign_in(&world, &mut browser, "ZOE@example.com", PASSWORD).data();
}

#[test]
fn passwords_cannot_be_guessed_and_nobody_is_locked_out() {
    let world = World::with_accounts();
    let owner = with_owner(&world);
    // One address.
    let mut guesser = Browser { address: [203, 0, 113, 1].into(), ..Browser::default() };
    let statuses: Vec<u16> = (0..12).map(|_| sign_in(&world, &mut guesser, EMAIL, "guess").status).collect();
    assert_eq!(statuses, [vec![401; 10], vec![429; 2]].concat());
    // Many addresses: the account's own count.
    let statuses: Vec<u16> = (0..12)
        .map(|nth| {
            let mut guesser = Browser { address: [203, 0, 113, 10 + nth].into(), ..Browser::default() };
            sign_in(&world, &mut guesser, EMAIL, "guess").status
        })
        .collect();
    assert!(statuses.iter().all(|status| *status == 429), "{statuses:?}");
    // A browser that was here before has a count of its own.
    let mut known = owner.clone();
    known.cookies.retain(|(name, _)| name.ends_with("-device"));
    sign_in(&world, &mut known, EMAIL, PASSWORD).data();
    world.clock.advance_millis(60 * 60_000);
    let mut anybody = Browser { address: [203, 0, 113, 99].into(), ..Browser::default() };
    sign_in(&world, &mut anybody, EMAIL, PASSWORD).data();
}

#[test]
fn sessions_end() {
    let world = World::with_accounts();
    let hours = |count: i64| world.clock.advance_millis(count * 3_600_000);
    let mut browser = with_owner(&world);
    let signed_in = |browser: &mut Browser| browser.call(&world, "GET", "/me/sessions", &Value::Null);
    signed_in(&mut browser).data();
    // Without use.
    hours(11);
    signed_in(&mut browser).data();
    hours(12);
    let over = signed_in(&mut browser);
    assert_eq!((over.status, over.code()), (401, "SESSION_ENDED"));
    assert!(browser.cookies.iter().all(|(name, _)| name != "__Host-console"));
    // In all, however much it is used.
    sign_in(&world, &mut browser, EMAIL, PASSWORD).data();
    for _ in 0..(30 * 24 / 10 - 1) {
        hours(10);
        signed_in(&mut browser).data();
    }
    hours(10);
    assert_eq!(signed_in(&mut browser).code(), "SESSION_ENDED");
    // The maintenance removes what is over.
    pollster::block_on(world.console.maintain()).unwrap();
    let kind = RecordKind::Session;
    let left = pollster::block_on(world.storage.records_of(None, kind, None, 10)).unwrap();
    assert!(left.len() <= 1, "{}", left.len());
    // By signing out.
    sign_in(&world, &mut browser, EMAIL, PASSWORD).data();
    let stolen = browser.clone();
    let out = browser.call(&world, "DELETE", "/session", &Value::Null);
    out.data();
    assert_eq!(out.headers["clear-site-data"], "\"cache\", \"storage\"");
    assert_eq!(signed_in(&mut stolen.clone()).code(), "SESSION_ENDED");
    // By another browser of the same person.
    let (mut one, mut two) = (Browser::default(), Browser::default());
    sign_in(&world, &mut one, EMAIL, PASSWORD).data();
    sign_in(&world, &mut two, EMAIL, PASSWORD).data();
    one.call(&world, "DELETE", "/me/sessions", &Value::Null).data();
    assert_eq!(signed_in(&mut two).code(), "SESSION_ENDED");
    signed_in(&mut one).data();
}

#[test]
fn guesses_of_a_session_are_refused_and_counted() {
    let world = World::with_accounts();
    let owner = with_owner(&world);
    let cookie = owner.cookies.iter().find(|(name, _)| name == "__Host-console").unwrap().1.clone();
    let mut guesser = Browser { address: [203, 0, 113, 5].into(), ..Browser::default() };
    let mut last = 0;
    for nth in 0..25 {
        let mut guess = cookie.clone().into_bytes();
        let at = guess.len() - 2 - nth % 30;
        guess[at] = if guess[at] == b'A' { b'B' } else { b'A' };
        guesser.cookies = vec![("__Host-console".to_owned(), String::from_utf8(guess).unwrap())];
        last = guesser.call(&world, "GET", "/me/sessions", &Value::Null).status;
        assert!(last == 401 || last == 429);
    }
    assert_eq!(last, 429);
}

#[test]
fn step_up_is_needed_after_ten_minutes() {
    let world = World::with_accounts();
    let mut browser = with_owner(&world);
    let created = browser.call(&world, "POST", "/agents", &json!({ "id": "acme", "name": "Acme" }));
    assert_eq!(created.status, 201, "{}", created.text);
    let key = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    let issued = browser.call(&world, "POST", "/agents/acme/keys", &key);
    assert!(issued.data()["secret"].as_str().unwrap().len() > 20);
    world.clock.advance_millis(10 * 60_000 + 1);
    let refused = browser.call(&world, "POST", "/agents/acme/keys", &key);
    assert_eq!((refused.status, refused.code()), (403, "STEP_UP_REQUIRED"));
    assert_eq!(refused.body["details"]["methods"], json!(["password"]));
    for wrong in [
        json!({ "password": "wrong", "code": world.code(EMAIL) }),
        json!({ "password": PASSWORD, "code": "000000" }),
        json!({ "password": PASSWORD }),
    ] {
        let wrong = browser.call(&world, "POST", "/session/step-up", &wrong);
        assert_eq!(wrong.code(), "UNAUTHENTICATED");
    }
    let proof = world.step_up(&mut browser, EMAIL);
    assert!(proof.data()["stepUpUntil"].is_string());
    browser.call(&world, "POST", "/agents/acme/keys", &key).data();
}

#[test]
fn on_plain_http_a_cookie_alone_is_not_enough() {
    let origin = "http://localhost:8082";
    let settings = AccountSettings { is_plain: true, ..accounts() };
    let world = World::new(ConsoleSettings::with_accounts(origin, settings));
    let mut browser = Browser { origin, host: "localhost:8082", ..Browser::default() };
    let body = json!({ "token": world.setup_token(), "name": "Zoë", "email": EMAIL, "password": PASSWORD });
    let made = world.accept(&mut browser, &body);
    assert!(made.cookies[0].starts_with("console-8082=1."), "{:?}", made.cookies);
    browser.call(&world, "GET", "/me/sessions", &Value::Null).data();
    // Another server of this machine gets the cookie too, but not the page's secret.
    let mut thief = Browser { page_secret: None, ..browser.clone() };
    assert_eq!(thief.call(&world, "GET", "/me/sessions", &Value::Null).code(), "SESSION_ENDED");
}

/// Every secret of a run is looked for in the store, the audit log and the answers that follow.
#[test]
fn secrets_are_stored_nowhere() {
    let world = World::with_accounts();
    let token = world.setup_token();
    let mut browser = Browser::default();
    let body = json!({ "token": token, "name": "Zoë", "email": EMAIL, "password": PASSWORD });
    let codes = world.accept(&mut browser, &body).data()["recoveryCodes"].clone();
    let totp_secret = world.secrets.lock().unwrap()[EMAIL].clone();
    browser.call(&world, "POST", "/agents", &json!({ "id": "acme", "name": "Acme" })).data();
    let key = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    let mut request = browser.request("POST", "/agents/acme/keys", &key);
    request.headers_mut().insert("idempotency-key", "k-1".parse().unwrap());
    let issued = browser.send(&world, request.clone());
    let secret = issued.data()["secret"].as_str().unwrap().to_owned();
    let repeated = browser.send(&world, request);
    assert_eq!((repeated.status, repeated.code()), (409, "SECRET_NOT_REPEATABLE"));
    assert_eq!(repeated.body["details"]["record"]["key"]["id"], issued.data()["key"]["id"]);
    let cookie = browser.cookies.iter().find(|(name, _)| name == "__Host-console").unwrap().1.clone();
    let session_secret = cookie.rsplit('.').next().unwrap().to_owned();
    // The links of an invitation and of a recovery, repeated under their keys.
    let me = browser.call(&world, "GET", "/session", &Value::Null).data()["operator"]["id"].clone();
    let invite = json!({ "email": "ada@example.com", "grants": ["viewer"] });
    let mut links = Vec::new();
    let mut seen = repeated.text;
    for (path, body) in [
        ("/members/invitations".to_owned(), invite),
        (format!("/members/{}/recovery", me.as_str().unwrap()), json!({})),
    ] {
        let mut request = browser.request("POST", &path, &body);
        request.headers_mut().insert("idempotency-key", "k-2".parse().unwrap());
        links.push(token_of(&browser.send(&world, request.clone()).data()["link"]));
        let repeated = browser.send(&world, request);
        assert_eq!(repeated.code(), "SECRET_NOT_REPEATABLE", "{}", repeated.text);
        seen.push_str(&repeated.text);
    }
    let paths = ["/audit", "/agents/acme/audit", "/agents/acme/keys", "/me/sessions", "/session", "/members"];
    for path in paths.into_iter().chain(["/members/invitations"]) {
        let answer = browser.call(&world, "GET", path, &Value::Null);
        answer.data();
        seen.push_str(&answer.text);
    }
    pollster::block_on(async {
        for kind in RecordKind::ALL {
            for record in world.storage.records_of(None, *kind, None, 100).await.unwrap() {
                seen.push_str(&serde_json::to_string(&record).unwrap());
            }
        }
        let query = AuditQuery { agent: None, after: None, newest_first: true, limit: 100 };
        for entry in openapi_core::admin::Admin::audit(&*world.platform, &query).await.unwrap() {
            seen.push_str(&serde_json::to_string(&entry.entry).unwrap());
        }
    });
    assert!(seen.contains("operator.create") && seen.contains("operator.signIn"), "{seen}");
    let codes: Vec<&str> = codes.as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    assert_eq!(codes.len(), 10);
    let others = [secret.as_str(), PASSWORD, &token, &session_secret, &links[0], &links[1], &totp_secret];
    for secret in codes.into_iter().chain(others) {
        assert!(!seen.contains(secret), "a secret is stored or shown again");
    }
    let typed = json!({ "token": "x", "name": "Zoë", "email": "no address", "password": "hunter2hunter2" });
    let refused = browser.call(&world, "POST", "/links/accept", &typed);
    assert!(!refused.text.contains("hunter2"), "{}", refused.text);
}
