//! Signing in at a provider.

mod changes;
mod provider;
mod refusals;

use console::AccountSettings;
use openapi_core::server_keys::{ServerKey, ServerKeys};
use serde_json::{Value, json};

use crate::support::{Browser, EMAIL, accounts, token_of};
use provider::{CLIENT, ISSUER, SECRET, Setting, Signer, encoded, location, outcome, saved};

const DONE: &str = "/a/acme/inbox?view=mine#oidc=done";

#[test]
fn an_address_of_a_listed_domain_gets_an_account_with_the_roles_of_its_groups() {
    let setting = Setting::new();
    let mut browser = Browser::default();
    let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    assert_eq!((sent["response_type"].as_str(), sent["client_id"].as_str()), ("code", CLIENT));
    assert_eq!(sent["scope"], "openid email profile");
    assert_eq!(sent["redirect_uri"], "https://console.example.com/console/v1/sign-in/oidc/callback");
    assert!(!sent.contains_key("prompt"));
    let cookie = browser.cookies.iter().find(|(name, _)| name == "__Host-console-oidc").unwrap();
    assert!(!cookie.1.contains(&sent["state"]) && !cookie.1.contains(&encoded(&sent["nonce"])));
    setting.provider.script(|script| script.claims = setting.claims(&sent, "ada"));
    let back = setting.come_back(&mut browser, &setting.query(&sent));
    assert_eq!(location(&back), "/#oidc=done");
    let cookies = back.cookies.join("\n");
    assert!(
        cookies.contains("__Host-console=1.") && cookies.contains("__Host-console-oidc=; Path=/"),
        "{cookies}"
    );
    let person = setting.who(&mut browser);
    assert_eq!((&person["email"], &person["name"]), (&json!("ada@acme.example"), &json!("Ada Whitfield")));
    assert_eq!(person["grants"], json!(["inbox@acme"]));
    // The proof of the client, and that of the browser that began.
    let request = &setting.provider.sent("/token")[0];
    let form = url::form_urlencoded::parse(&request.body).into_owned();
    let form: std::collections::HashMap<String, String> = form.collect();
    let digest = ring::digest::digest(&ring::digest::SHA256, form["code_verifier"].as_bytes());
    assert_eq!(encoded(digest), sent["code_challenge"]);
    assert!(!form.contains_key("client_secret"));
    use base64::Engine;
    let basic =
        base64::engine::general_purpose::STANDARD.encode(format!("{CLIENT}:s%3Acr%26t+of+the+client"));
    assert_eq!(request.headers["authorization"].to_str().unwrap(), format!("Basic {basic}"));
    // The same person is the same operator, from any browser.
    let mut other = Browser::default();
    assert_eq!(location(&setting.sign_in(&mut other, "ada")), DONE);
    assert_eq!(setting.who(&mut other)["id"], person["id"]);
    let sessions = other.call(&setting.world, "GET", "/me/sessions", &Value::Null);
    assert_eq!(sessions.data()[0]["method"], "oidc");
}

#[test]
fn every_algorithm_and_way_of_the_client_works() {
    let mut setting = Setting::new();
    let ways: [(&str, &str, Signer); 4] = [
        ("ES256", "p256", Signer::P256),
        ("EdDSA", "ed", Signer::Ed25519(1)),
        ("RS256", "rsa", Signer::Rsa),
        // Without an id, where one key of the algorithm is there.
        ("EdDSA", "", Signer::Ed25519(1)),
    ];
    for (algorithm, key, signer) in ways {
        setting.provider.script(|script| {
            script.signer = signer;
            script.header = json!({ "alg": algorithm, "kid": key });
            if key.is_empty() {
                script.header = json!({ "alg": algorithm });
            }
        });
        assert_eq!(location(&setting.sign_in(&mut Browser::default(), "ada")), DONE, "{algorithm}");
    }
    // Keys are fetched once.
    assert_eq!((setting.provider.sent("/certs").len(), setting.provider.sent("/token").len()), (2, 4));
    setting.provider.script(|script| {
        script.discovery["token_endpoint_auth_methods_supported"] = json!(["client_secret_post"]);
    });
    let again = json!({ "isEnabled": true, "clientId": "console-client" });
    let mut body = saved();
    body.as_object_mut().unwrap().extend(again.as_object().unwrap().clone());
    setting.save(&body).data();
    assert_eq!(location(&setting.sign_in(&mut Browser::default(), "ada")), DONE);
    let request = setting.provider.sent("/token").pop().unwrap();
    let form: std::collections::HashMap<String, String> =
        url::form_urlencoded::parse(&request.body).into_owned().collect();
    assert_eq!((form["client_secret"].as_str(), form["client_id"].as_str()), (SECRET, CLIENT));
    assert!(!request.headers.contains_key("authorization"));
}

#[test]
fn a_new_key_of_the_provider_is_found_once_a_minute() {
    let setting = Setting::new();
    assert_eq!(location(&setting.sign_in(&mut Browser::default(), "ada")), DONE);
    let before = setting.provider.sent("/certs").len();
    setting.provider.script(|script| {
        script.header = json!({ "alg": "EdDSA", "kid": "new" });
        script.signer = Signer::Ed25519(9);
    });
    for _ in 0..3 {
        assert_eq!(outcome(&setting.sign_in(&mut Browser::default(), "ada")), "/sign-in#oidc=refused");
    }
    assert_eq!(setting.provider.sent("/certs").len(), before, "an unknown key was asked for within a minute");
    setting.world.pass(60_000);
    setting.provider.script(|script| {
        let pair = ring::signature::Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap();
        let point = ring::signature::KeyPair::public_key(&pair).as_ref().to_vec();
        script.keys =
            json!({ "keys": [{ "kty": "OKP", "kid": "new", "crv": "Ed25519", "x": encoded(point) }] });
    });
    assert_eq!(location(&setting.sign_in(&mut Browser::default(), "ada")), DONE);
    assert_eq!(setting.provider.sent("/certs").len(), before + 1);
}

#[test]
fn groups_give_and_take_roles_at_each_sign_in_but_not_those_of_a_person() {
    let mut setting = Setting::new();
    let mut browser = Browser::default();
    setting.sign_in(&mut browser, "ada");
    let id = setting.who(&mut browser)["id"].as_str().unwrap().to_owned();
    let grant = |setting: &mut Setting, grants: Value| {
        let path = format!("/members/{id}/grants");
        let mut request = setting.owner.request("PUT", &path, &json!({ "grants": grants }));
        request.headers_mut().insert("if-match", "*".parse().unwrap());
        setting.owner.send(&setting.world, request).data();
    };
    grant(&mut setting, json!(["inbox@acme", "reviewer@beta"]));
    let with_groups = |setting: &Setting, groups: Value| {
        let mut browser = Browser::default();
        let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
        let mut claims = setting.claims(&sent, "ada");
        claims["groups"] = groups;
        setting.provider.script(|script| script.claims = claims);
        assert_eq!(location(&setting.come_back(&mut browser, &setting.query(&sent))), "/#oidc=done");
        let mut grants: Vec<String> =
            serde_json::from_value(setting.who(&mut browser)["grants"].clone()).unwrap();
        grants.sort();
        grants
    };
    assert_eq!(with_groups(&setting, json!(["staff"])), ["reviewer@beta", "viewer"]);
    assert_eq!(with_groups(&setting, json!("support")), ["inbox@acme", "reviewer@beta"]);
    assert_eq!(with_groups(&setting, json!(["owner", "admin"])), ["reviewer@beta"]);
    // A role that a person gave stays when the group that gives it too is left.
    grant(&mut setting, json!(["viewer"]));
    assert_eq!(with_groups(&setting, json!(["staff"])), ["viewer"]);
    assert_eq!(with_groups(&setting, json!([])), ["viewer"]);
    let mut body = saved();
    body["groups"] = json!({ "*": ["owner"] });
    let refused = setting.save(&body);
    assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{}", refused.text);
}

#[test]
fn nobody_without_a_link_gets_in_and_the_answer_is_one() {
    let mut setting = Setting::new();
    let refused = |setting: &Setting, change: &dyn Fn(&mut Value)| {
        let mut browser = Browser::default();
        let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
        let mut claims = setting.claims(&sent, "eve");
        change(&mut claims);
        setting.provider.script(|script| script.claims = claims);
        let back = setting.come_back(&mut browser, &setting.query(&sent));
        assert_eq!(outcome(&back), "/sign-in#oidc=refused");
        assert_eq!(setting.who(&mut browser), Value::Null);
    };
    refused(&setting, &|claims| claims["email"] = json!("eve@other.example"));
    refused(&setting, &|claims| claims["email"] = json!("eve@sub.acme.example"));
    refused(&setting, &|claims| claims["email"] = json!("eve"));
    refused(&setting, &|claims| claims["email_verified"] = json!(false));
    refused(&setting, &|claims| claims["email_verified"] = json!("true"));
    refused(&setting, &|claims| claims["groups"] = json!(["other"]));
    // The account of an address is never taken over.
    let mut body = saved();
    body["domains"] = json!(["example.com"]);
    setting.save(&body).data();
    refused(&setting, &|claims| claims["email"] = json!(EMAIL));
    refused(&setting, &|claims| claims["email"] = json!(EMAIL.to_uppercase()));
    setting.save(&saved()).data();
    // Of an account that is disabled, no more is said.
    let mut browser = Browser::default();
    setting.sign_in(&mut browser, "ada");
    let id = setting.who(&mut browser)["id"].as_str().unwrap().to_owned();
    setting.owner.call(&setting.world, "POST", &format!("/members/{id}/disable"), &json!({})).data();
    assert_eq!(outcome(&setting.sign_in(&mut Browser::default(), "ada")), "/sign-in#oidc=refused");
    // A provider that is switched off leads nowhere, also for those who are on their way.
    let mut late = Browser::default();
    let sent = setting.leave(&mut late, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    let mut body = saved();
    body["isEnabled"] = json!(false);
    setting.save(&body).data();
    setting.provider.script(|script| script.claims = setting.claims(&sent, "bo"));
    assert_eq!(outcome(&setting.come_back(&mut late, &setting.query(&sent))), "/sign-in#oidc=refused");
    let start = late.call(&setting.world, "POST", "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    assert_eq!((start.status, start.code()), (404, "NOT_FOUND"));
}

#[test]
fn an_invitation_is_accepted_at_a_provider_once() {
    let mut setting = Setting::new();
    let body = json!({ "email": "kim@other.example", "grants": ["reviewer@acme"] });
    let link =
        setting.owner.call(&setting.world, "POST", "/members/invitations", &body).data()["link"].clone();
    let join = json!({ "provider": "acme-id", "token": token_of(&link), "name": "Kim" });
    let mut browser = Browser::default();
    let mut second = Browser::default();
    let late = setting.leave(&mut second, "/sign-in/oidc/start", &join);
    assert_eq!(
        location(&setting.as_person(&mut browser, "/sign-in/oidc/start", &join, "kim")),
        "/#oidc=done"
    );
    let person = setting.who(&mut browser);
    assert_eq!((&person["email"], &person["name"]), (&json!("kim@other.example"), &json!("Kim")));
    let mut grants: Vec<String> = serde_json::from_value(person["grants"].clone()).unwrap();
    grants.sort();
    assert_eq!(grants, ["inbox@acme", "reviewer@acme"]);
    setting.provider.script(|script| script.claims = setting.claims(&late, "bo"));
    assert_eq!(outcome(&setting.come_back(&mut second, &setting.query(&late))), "/sign-in#oidc=refused");
    let again = second.call(&setting.world, "POST", "/sign-in/oidc/start", &join);
    assert_eq!((again.status, again.code()), (404, "LINK_INVALID"));
    // The link that makes the first owner, and those of recoveries, are for other ways.
    let id = person["id"].as_str().unwrap();
    let path = format!("/members/{id}/recovery");
    let link = setting.owner.call(&setting.world, "POST", &path, &json!({})).data()["link"].clone();
    let recover = json!({ "provider": "acme-id", "token": token_of(&link) });
    let refused = second.call(&setting.world, "POST", "/sign-in/oidc/start", &recover);
    assert_eq!(refused.status, 401, "{}", refused.text);
}

#[test]
fn the_profile_links_and_unlinks_and_a_person_has_one_operator() {
    let mut setting = Setting::new();
    let link = json!({ "provider": "acme-id", "returnTo": "/profile" });
    let mut owner = setting.owner.clone();
    let back = setting.as_person(&mut owner, "/me/identities", &link, "zoe");
    assert_eq!(location(&back), "/profile#oidc=done");
    assert!(back.cookies.iter().all(|cookie| !cookie.starts_with("__Host-console=")), "{:?}", back.cookies);
    let own = owner.call(&setting.world, "GET", "/me/identities", &Value::Null);
    assert_eq!(
        (&own.data()[0]["provider"], &own.data()[0]["email"]),
        (&json!("acme-id"), &json!("zoe@acme.example"))
    );
    let mut browser = Browser::default();
    assert_eq!(location(&setting.sign_in(&mut browser, "zoe")), DONE);
    // Groups add to what the owner has.
    assert_eq!(setting.who(&mut browser)["grants"], json!(["owner", "inbox@acme"]));
    let member = owner.call(&setting.world, "GET", "/members", &Value::Null);
    assert_eq!(member.data()[0]["methods"], json!(["password", "oidc"]));
    // Another operator cannot link the same person, and the same one twice is no second way.
    let mut other = setting.world.invited(&mut owner, "bo@example.com", "inbox@acme");
    assert_eq!(
        outcome(&setting.as_person(&mut other, "/me/identities", &link, "zoe")),
        "/profile#oidc=refused"
    );
    assert_eq!(
        outcome(&setting.as_person(&mut owner, "/me/identities", &link, "zoe")),
        "/profile#oidc=refused"
    );
    // A session that has ended meanwhile links nothing.
    let sent = setting.leave(&mut other, "/me/identities", &link);
    let mut away = other.clone();
    other.call(&setting.world, "DELETE", "/session", &Value::Null).data();
    setting.provider.script(|script| script.claims = setting.claims(&sent, "bo"));
    assert_eq!(outcome(&setting.come_back(&mut away, &setting.query(&sent))), "/profile#oidc=refused");
    let id = own.data()[0]["id"].as_str().unwrap();
    setting.world.step_up(&mut owner, EMAIL).data();
    let rest = owner.call(&setting.world, "DELETE", &format!("/me/identities/{id}"), &Value::Null);
    assert_eq!(rest.data(), &json!([]));
    setting.owner = owner.clone();
    let mut without_domains = saved();
    without_domains["domains"] = json!([]);
    setting.save(&without_domains).data();
    assert_eq!(outcome(&setting.sign_in(&mut Browser::default(), "zoe")), "/sign-in#oidc=refused");
    setting.save(&saved()).data();
    // Who signs in at the provider alone keeps that way.
    let mut ada = Browser::default();
    setting.sign_in(&mut ada, "ada");
    let id = ada.call(&setting.world, "GET", "/me/identities", &Value::Null).data()[0]["id"].clone();
    let path = format!("/me/identities/{}", id.as_str().unwrap());
    let refused = ada.call(&setting.world, "DELETE", &path, &Value::Null);
    assert_eq!(refused.code(), "NOT_POSSIBLE", "{}", refused.text);
}

#[test]
fn a_step_up_at_the_provider_needs_a_new_sign_in_of_the_same_person() {
    let setting = Setting::new();
    let mut ada = Browser::default();
    setting.sign_in(&mut ada, "ada");
    setting.world.pass(11 * 60_000);
    let link = json!({ "provider": "acme-id" });
    let needs = ada.call(&setting.world, "POST", "/me/identities", &link);
    assert_eq!((needs.code(), &needs.body["details"]["methods"]), ("STEP_UP_REQUIRED", &json!(["oidc"])));
    let prove = |browser: &mut Browser, subject: &str, change: &dyn Fn(&mut Value)| {
        let body = json!({ "provider": "acme-id", "returnTo": "/profile" });
        let sent = setting.leave(browser, "/session/step-up/oidc", &body);
        assert_eq!((sent["prompt"].as_str(), sent["max_age"].as_str()), ("login", "0"));
        let mut claims = setting.claims(&sent, subject);
        change(&mut claims);
        setting.provider.script(|script| script.claims = claims);
        outcome(&setting.come_back(browser, &setting.query(&sent))).to_owned()
    };
    let refused = "/profile#oidc=refused";
    assert_eq!(prove(&mut ada, "eve", &|_| {}), refused);
    assert_eq!(
        prove(&mut ada, "ada", &|claims| drop(claims.as_object_mut().unwrap().remove("auth_time"))),
        refused
    );
    let ago = |seconds: i64| {
        move |claims: &mut Value| {
            claims["auth_time"] = json!(claims["auth_time"].as_i64().unwrap() - seconds);
        }
    };
    assert_eq!(prove(&mut ada, "ada", &ago(61)), refused);
    assert_eq!(prove(&mut ada, "ada", &ago(-61)), refused);
    assert_eq!(ada.call(&setting.world, "POST", "/me/identities", &link).code(), "STEP_UP_REQUIRED");
    assert_eq!(prove(&mut ada, "ada", &ago(59)), "/profile#oidc=done");
    assert_eq!(ada.call(&setting.world, "POST", "/me/identities", &link).status, 200);
    // A provider that the operator is not linked with proves nothing.
    let mut owner = setting.owner.clone();
    let body = json!({ "provider": "acme-id" });
    let absent = owner.call(&setting.world, "POST", "/session/step-up/oidc", &body);
    assert_eq!(absent.code(), "NOT_FOUND", "{}", absent.text);
}

#[test]
fn a_provider_is_switched_on_only_if_it_passes() {
    let mut setting = Setting::new();
    setting.provider.script(|script| script.discovery["jwks_uri"] = json!("http://id.example.com/certs"));
    let tested = setting.owner.call(&setting.world, "POST", "/providers/acme-id/test", &json!({}));
    let steps = &tested.data()["steps"];
    let passed = |at: usize| steps[at]["passed"].clone();
    assert_eq!((passed(0), passed(1), passed(2)), (json!(true), json!(false), Value::Null), "{steps}");
    assert!(steps[1]["detail"].as_str().unwrap().contains("jwks_uri must begin with https"), "{steps}");
    // What was on stays on when its roles change, and is checked when it is another client.
    let mut body = saved();
    body["groups"] = json!({});
    setting.save(&body).data();
    body["clientId"] = json!("other");
    let refused = setting.save(&body);
    assert_eq!(refused.code(), "VALIDATION_ERROR");
    assert!(refused.text.contains("cannot be switched on: endpoints: jwks_uri"), "{}", refused.text);
    body["isEnabled"] = json!(false);
    assert_eq!(setting.save(&body).data()["isEnabled"], false);
    let session = Browser::default().call(&setting.world, "GET", "/session", &Value::Null);
    assert_eq!(session.body["data"]["providers"], json!([]));
    let other = json!({ "issuer": "https://other.example.com", "keys": [] });
    setting.provider.script(|script| script.discovery["issuer"] = other["issuer"].clone());
    let tested = setting.owner.call(&setting.world, "POST", "/providers/acme-id/test", &json!({}));
    assert!(tested.text.contains("of the issuer https://other.example.com"), "{}", tested.text);
    setting.changed("DELETE", &Value::Null).data();
    assert_eq!(setting.owner.call(&setting.world, "GET", "/providers", &Value::Null).data(), &json!([]));
}

#[test]
fn what_is_saved_is_checked_and_the_secret_never_shown() {
    let mut setting = Setting::new();
    let mut seen = setting.owner.call(&setting.world, "GET", "/providers", &Value::Null).text;
    seen += &setting.owner.call(&setting.world, "GET", "/audit?limit=100", &Value::Null).text;
    assert!(seen.contains("provider.save") && !seen.contains("cr&t"), "{seen}");
    let stored = pollster::block_on(async {
        use openapi_core::storage::{RecordKind, Storage};
        let storage: &dyn Storage = &*setting.world.storage;
        storage.records_of(None, RecordKind::Provider, None, 10).await.unwrap()
    });
    assert!(!stored[0].body.as_str().contains("cr&t"));
    for (member, value) in [
        ("issuer", json!("http://id.example.com")),
        ("issuer", json!("https://id.example.com/?a=b")),
        ("issuer", json!("https://u:p@id.example.com")),
        ("issuer", json!("id.example.com")),
        ("domains", json!(["acme"])),
        ("domains", json!(["*.acme.example"])),
        ("domains", json!("acme.example")),
        ("scopes", json!(["a b"])),
        ("groups", json!({ "a": ["root"] })),
        ("groups", json!({ "a": ["admin@front-dsk"] })),
        ("groups", json!({ "a": [] })),
        ("groups", json!({ "": ["viewer"] })),
        ("groups", json!([])),
        ("name", json!("")),
        ("clientSecret", json!("")),
        ("isEnabled", json!("yes")),
    ] {
        let mut body = saved();
        body[member] = value.clone();
        let refused = setting.save(&body);
        assert_eq!(refused.code(), "VALIDATION_ERROR", "{member} {value} {}", refused.text);
        assert_eq!(refused.body["validationErrors"][0]["field"], member, "{}", refused.text);
    }
    // The secret of one issuer does not go to another.
    let mut body = saved();
    body.as_object_mut().unwrap().remove("clientSecret");
    body["issuer"] = json!("https://other.example.com");
    body["isEnabled"] = json!(false);
    let refused = setting.save(&body);
    assert!(refused.text.contains("must be sent again"), "{}", refused.text);
    for path in ["//evil.example", "/\\evil.example", "https://evil.example", "/a#b", "/a b", ""] {
        let body = json!({ "provider": "acme-id", "returnTo": path });
        let refused = Browser::default().call(&setting.world, "POST", "/sign-in/oidc/start", &body);
        assert_eq!(refused.code(), "VALIDATION_ERROR", "{path} {}", refused.text);
    }
    // A change needs the version that it was made on, and a new provider replaces no other one.
    let mut request = setting.owner.request("PUT", "/providers/acme-id", &saved());
    request.headers_mut().insert("if-match", "\"0\"".parse().unwrap());
    let stale = setting.owner.send(&setting.world, request);
    assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"));
    // Only owners.
    let mut admin = setting.world.invited(&mut setting.owner.clone(), "bo@example.com", "admin");
    let refused = admin.call(&setting.world, "GET", "/providers", &Value::Null);
    assert_eq!(refused.code(), "INSUFFICIENT_ROLE");
}

#[test]
fn a_trial_shows_claims_and_signs_nobody_in() {
    let mut setting = Setting::new();
    let mut body = saved();
    body["isEnabled"] = json!(false);
    setting.save(&body).data();
    let mut owner = setting.owner.clone();
    let body = json!({ "returnTo": "/sign-in-settings" });
    let back = setting.as_person(&mut owner, "/providers/acme-id/try", &body, "zoe");
    assert_eq!(location(&back), "/sign-in-settings#oidc=done");
    let listed = owner.call(&setting.world, "GET", "/providers", &Value::Null);
    let claims = listed.data()[0]["trial"]["claims"].as_array().unwrap();
    let shown: Vec<&str> = claims.iter().map(|claim| claim["name"].as_str().unwrap()).collect();
    assert!(shown.contains(&"groups") && shown.contains(&"email") && !shown.contains(&"nonce"), "{shown:?}");
    let identities = owner.call(&setting.world, "GET", "/me/identities", &Value::Null);
    assert_eq!(identities.data(), &json!([]));
    // The claims go after a day.
    setting.world.pass(86_400_000);
    pollster::block_on(setting.world.console.maintain()).unwrap();
    let mut fresh = Browser::default();
    setting.world.sign_in(&mut fresh, EMAIL, crate::support::PASSWORD).data();
    let listed = fresh.call(&setting.world, "GET", "/providers", &Value::Null);
    assert_eq!(listed.data()[0]["trial"], Value::Null);
}

#[test]
fn on_plain_http_the_page_gets_its_secret_in_the_fragment() {
    let setting = Setting::with(AccountSettings { is_plain: true, ..accounts() });
    let mut browser = Browser { origin: "http://localhost:8082", ..Browser::default() };
    let back = setting.sign_in(&mut browser, "ada");
    let (page, secret) = location(&back).rsplit_once('.').unwrap();
    assert_eq!(page, DONE);
    assert!(
        back.cookies
            .iter()
            .any(|cookie| cookie.starts_with("console-8082-oidc=; Path=/; HttpOnly; SameSite=Lax"))
    );
    assert_eq!(setting.who(&mut browser), Value::Null, "the cookie alone is no session");
    browser.page_secret = Some(secret.to_owned());
    assert_eq!(setting.who(&mut browser)["name"], "Ada Whitfield");
}

#[test]
fn what_the_provider_says_of_itself_is_shown_in_its_words() {
    let setting = Setting::new();
    for (error, word) in [
        ("access_denied", "access_denied"),
        ("server_error", "server_error"),
        ("<script>", "other"),
        ("invalid_request", "other"),
    ] {
        let mut browser = Browser::default();
        let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
        let query = [("error", error), ("state", &sent["state"]), ("error_description", "x")];
        let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let back = setting.come_back(&mut browser, &query);
        assert_eq!(outcome(&back), format!("/sign-in#oidc={word}"));
        // Of a stranger's state nothing is believed.
        let back = setting.come_back(&mut Browser::default(), &query);
        assert_eq!(outcome(&back), "/sign-in#oidc=refused");
    }
}

#[test]
fn secrets_move_under_a_new_server_key() {
    let mut setting = Setting::new();
    let keys = |setting: &Setting| {
        pollster::block_on(console::server_keys_of_providers(&setting.world.platform)).unwrap()
    };
    let old = ServerKey::new(&[7; 32]);
    assert_eq!(keys(&setting), [old.id()]);
    let new = ServerKey::new(&[8; 32]);
    let rotated = ServerKeys::new(new.clone(), vec![old]);
    setting.world.rotate(rotated);
    pollster::block_on(setting.world.console.maintain()).unwrap();
    assert_eq!(keys(&setting), [new.id()]);
    // The former key is gone.
    setting.world.rotate(ServerKeys::new(new, vec![]));
    assert_eq!(location(&setting.sign_in(&mut Browser::default(), "ada")), DONE);
    assert_eq!(
        ISSUER,
        setting.provider.script(|script| script.discovery["issuer"].as_str().unwrap().to_owned())
    );
}
