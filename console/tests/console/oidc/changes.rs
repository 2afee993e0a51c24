//! What happens to roles, proofs and sign-ins under way when people, providers and settings change.

use http::Request;
use http_body_util::Full;
use openapi_core::storage::{RecordKind, Storage};
use serde_json::{Value, json};

use super::provider::{Setting, Signer, location, outcome, saved};
use crate::support::{Browser, EMAIL};

/// Signs in with other claims than those of a right answer.
fn sign_in_with(setting: &Setting, browser: &mut Browser, change: impl FnOnce(&mut Value)) -> String {
    let sent = setting.leave(browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    let mut claims = setting.claims(&sent, "ada");
    change(&mut claims);
    setting.provider.script(|script| script.claims = claims);
    outcome(&setting.come_back(browser, &setting.query(&sent))).to_owned()
}

fn grants(setting: &Setting, browser: &mut Browser) -> Value {
    setting.who(browser)["grants"].clone()
}

/// The entries of an action in the audit log, the newest first.
fn entries(setting: &mut Setting, action: &str) -> Vec<Value> {
    let log = setting.owner.call(&setting.world, "GET", "/audit?limit=100", &Value::Null);
    let all = log.data().get("entries").unwrap_or(log.data()).as_array().unwrap().clone();
    all.into_iter().filter(|entry| entry["action"] == action).collect()
}

/// Sends a request of the owner while the provider works on its next answer.
fn meanwhile(setting: &Setting, method: &str, path: &str, body: &Value) {
    let mut request: Request<Full<bytes::Bytes>> = setting.owner.request(method, path, body);
    request.headers_mut().insert("if-match", "*".parse().unwrap());
    let console = setting.world.console.clone();
    setting.provider.meanwhile(move || {
        let response = pollster::block_on(console.handle(request));
        assert_eq!(response.status(), 200);
    });
}

#[test]
fn a_sign_in_proves_no_more_than_the_provider_says() {
    let setting = Setting::new();
    let link = json!({ "provider": "acme-id" });
    let code_after = |change: &dyn Fn(&mut Value)| {
        let mut browser = Browser::default();
        assert_eq!(sign_in_with(&setting, &mut browser, change), "/#oidc=done");
        let answer = browser.call(&setting.world, "POST", "/me/identities", &link);
        if answer.status == 200 { "OK".to_owned() } else { answer.code().to_owned() }
    };
    let at = |seconds: i64| {
        move |claims: &mut Value| claims["auth_time"] = json!(claims["iat"].as_i64().unwrap() + seconds)
    };
    assert_eq!(code_after(&at(0)), "OK");
    assert_eq!(code_after(&at(-590)), "OK");
    assert_eq!(code_after(&at(-3_600)), "STEP_UP_REQUIRED");
    assert_eq!(code_after(&|claims| claims["auth_time"] = json!("now")), "STEP_UP_REQUIRED");
    assert_eq!(code_after(&|claims| claims["auth_time"] = json!(-1e300)), "STEP_UP_REQUIRED");
    let absent = |claims: &mut Value| drop(claims.as_object_mut().unwrap().remove("auth_time"));
    assert_eq!(code_after(&absent), "STEP_UP_REQUIRED");
    // A time to come proves nothing beyond now.
    let mut browser = Browser::default();
    sign_in_with(&setting, &mut browser, at(86_400));
    setting.world.pass(10 * 60_000 + 1);
    assert_eq!(browser.call(&setting.world, "POST", "/me/identities", &link).code(), "STEP_UP_REQUIRED");
}

#[test]
fn unlinking_takes_the_roles_of_groups_away() {
    let mut setting = Setting::new();
    let link = json!({ "provider": "acme-id", "returnTo": "/profile" });
    let mut bo = setting.world.invited(&mut setting.owner.clone(), "bo@example.com", "viewer@beta");
    setting.as_person(&mut bo, "/me/identities", &link, "ada");
    sign_in_with(&setting, &mut Browser::default(), |_| {});
    assert_eq!(grants(&setting, &mut bo), json!(["viewer@beta", "inbox@acme"]));
    let own = bo.call(&setting.world, "GET", "/me/identities", &Value::Null);
    let path = format!("/me/identities/{}", own.data()[0]["id"].as_str().unwrap());
    bo.call(&setting.world, "DELETE", &path, &Value::Null).data();
    assert_eq!(grants(&setting, &mut bo), json!(["viewer@beta"]));
    let entry = entries(&mut setting, "operator.grant").remove(0);
    assert_eq!(entry["details"]["after"], json!(["viewer@beta"]), "{entry}");
    // Linked again, and without the group.
    setting.as_person(&mut bo, "/me/identities", &link, "ada");
    let mut browser = Browser::default();
    assert_eq!(sign_in_with(&setting, &mut browser, |claims| claims["groups"] = json!([])), "/#oidc=done");
    assert_eq!(grants(&setting, &mut browser), json!(["viewer@beta"]));
}

#[test]
fn roles_of_groups_go_with_the_provider_and_with_its_issuer() {
    let mut setting = Setting::new();
    let mut browser = Browser::default();
    setting.sign_in(&mut browser, "ada");
    assert_eq!(grants(&setting, &mut browser), json!(["inbox@acme"]));
    let mut body = saved();
    body["issuer"] = json!("https://other.example.com");
    body["isEnabled"] = json!(false);
    setting.save(&body).data();
    assert_eq!(grants(&setting, &mut browser), json!([]));
    setting.save(&saved()).data();
    setting.sign_in(&mut browser, "ada");
    assert_eq!(grants(&setting, &mut browser), json!(["inbox@acme"]));
    setting.changed("DELETE", &Value::Null).data();
    assert_eq!(grants(&setting, &mut browser), json!([]));
    let entry = entries(&mut setting, "operator.grant").remove(0);
    assert_eq!(entry["details"]["before"], json!(["inbox@acme"]), "{entry}");
}

#[test]
fn the_log_says_what_changed_and_by_which_provider() {
    let mut setting = Setting::new();
    sign_in_with(&setting, &mut Browser::default(), |_| {});
    sign_in_with(&setting, &mut Browser::default(), |claims| claims["groups"] = json!(["staff"]));
    let created = entries(&mut setting, "operator.create");
    let created = created.iter().find(|entry| entry["details"]["method"] == "oidc").expect("an entry");
    let details = json!({ "provider": "acme-id", "before": [], "after": ["inbox@acme"], "method": "oidc" });
    assert_eq!(created["details"], details);
    let granted = entries(&mut setting, "operator.grant").remove(0);
    assert_eq!(granted["details"]["after"], json!(["viewer"]), "{granted}");
    let of_provider = |entry: &Value| entry["details"]["provider"] == "acme-id";
    assert_eq!(entries(&mut setting, "operator.signIn").iter().filter(|it| of_provider(it)).count(), 2);
    let mut body = saved();
    body["groups"] = json!({ "*": ["admin"] });
    body["domains"] = json!(["other.example"]);
    body.as_object_mut().unwrap().remove("clientSecret");
    // Entries of one millisecond have no order.
    setting.world.clock.advance_millis(1);
    setting.save(&body).data();
    let entry = entries(&mut setting, "provider.save").remove(0);
    assert_eq!(entry["details"]["changed"], json!(["groups", "domains"]), "{entry}");
    setting.world.clock.advance_millis(1);
    setting.save(&saved()).data();
    let entry = entries(&mut setting, "provider.save").remove(0);
    assert_eq!(entry["details"]["changed"], json!(["clientSecret", "groups", "domains"]), "{entry}");
}

#[test]
fn what_owners_change_during_a_sign_in_holds() {
    let mut setting = Setting::new();
    let mut browser = Browser::default();
    sign_in_with(&setting, &mut browser, |_| {});
    let mut body = saved();
    body["groups"] = json!({ "support": ["viewer@beta"] });
    meanwhile(&setting, "PUT", "/providers/acme-id", &body);
    sign_in_with(&setting, &mut browser, |_| {});
    assert_eq!(grants(&setting, &mut browser), json!(["viewer@beta"]));
    // Discovery was forgotten with the change, so that the next answer is that of the token endpoint again.
    let mut other = Browser::default();
    let sent = setting.leave(&mut other, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    setting.provider.script(|script| script.claims = setting.claims(&sent, "new"));
    body["isEnabled"] = json!(false);
    meanwhile(&setting, "PUT", "/providers/acme-id", &body);
    assert_eq!(outcome(&setting.come_back(&mut other, &setting.query(&sent))), "/sign-in#oidc=refused");
    assert_eq!(setting.who(&mut other), Value::Null);
    let members = setting.owner.call(&setting.world, "GET", "/members", &Value::Null);
    assert_eq!(members.data().as_array().unwrap().len(), 2);
}

#[test]
fn a_link_meets_the_removal_of_its_operator_at_the_account() {
    let setting = Setting::new();
    let versions = || -> Vec<u64> {
        let storage: &dyn Storage = &*setting.world.storage;
        let found = pollster::block_on(storage.records_of(None, RecordKind::Operator, None, 10)).unwrap();
        found.iter().map(|record| record.version).collect()
    };
    let before = versions();
    let link = json!({ "provider": "acme-id", "returnTo": "/profile" });
    setting.as_person(&mut setting.owner.clone(), "/me/identities", &link, "zoe");
    assert_eq!(versions(), before.iter().map(|version| version + 1).collect::<Vec<_>>());
}

#[test]
fn a_failing_provider_locks_nobody_out() {
    let setting = Setting::new();
    for _ in 0..25 {
        let mut browser = Browser::default();
        let groups = |claims: &mut Value| claims["groups"] = json!([]);
        assert_eq!(sign_in_with(&setting, &mut browser, groups), "/sign-in#oidc=refused");
        setting.provider.script(|script| script.status = 503);
        assert_eq!(sign_in_with(&setting, &mut browser, |_| {}), "/sign-in#oidc=refused");
        setting.provider.script(|script| script.status = 200);
    }
    let signed_in = setting.world.sign_in(&mut Browser::default(), EMAIL, crate::support::PASSWORD);
    assert_eq!(signed_in.status, 200, "{}", signed_in.text);
}

#[test]
fn what_was_published_is_used_while_the_provider_is_away() {
    let setting = Setting::new();
    sign_in_with(&setting, &mut Browser::default(), |_| {});
    setting.world.pass(60_000);
    // A new key cannot be fetched; those of the hour stay.
    let right = setting.provider.script(|script| script.clone());
    setting.provider.script(|script| {
        script.header = json!({ "alg": "EdDSA", "kid": "new" });
        script.signer = Signer::Ed25519(9);
        script.is_away = true;
    });
    let before = setting.provider.sent("/certs").len();
    for _ in 0..3 {
        assert_eq!(sign_in_with(&setting, &mut Browser::default(), |_| {}), "/sign-in#oidc=refused");
        setting.world.pass(11_000);
    }
    assert_eq!(setting.provider.sent("/certs").len(), before + 1, "more than once a minute");
    setting.provider.script(|script| (script.header, script.signer) = (right.header.clone(), right.signer));
    assert_eq!(sign_in_with(&setting, &mut Browser::default(), |_| {}), "/#oidc=done");
    // A failure counts from its end, however long it took.
    setting.world.pass(3_600_000);
    let clock = std::sync::Arc::clone(&setting.world.clock);
    setting.provider.meanwhile(move || clock.advance_millis(10_000));
    let before = setting.provider.sent("/openid-configuration").len();
    for _ in 0..3 {
        let body = json!({ "provider": "acme-id" });
        let answer = Browser::default().call(&setting.world, "POST", "/sign-in/oidc/start", &body);
        assert_eq!(answer.code(), "NOT_POSSIBLE", "{}", answer.text);
        setting.world.pass(3_000);
    }
    assert_eq!(setting.provider.sent("/openid-configuration").len(), before + 1);
}

#[test]
fn an_answer_that_cannot_be_read_leads_to_a_page() {
    let setting = Setting::new();
    let mut browser = Browser::default();
    let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    // ISO 8859-1, as older providers send it.
    let query = format!("error=access_denied&error_description=verweigert%FC&state={}", sent["state"]);
    let request = browser.request("GET", &format!("/sign-in/oidc/callback?{query}"), &Value::Null);
    let answer = browser.send(&setting.world, request);
    assert_eq!(outcome(&answer), "/sign-in#oidc=access_denied");
    for _ in 0..1_300 {
        Browser::default().call(&setting.world, "GET", "/session", &Value::Null);
    }
    let request = browser.request("GET", "/sign-in/oidc/callback?state=x", &Value::Null);
    let busy = browser.send(&setting.world, request);
    assert!(location(&busy).starts_with("/sign-in#oidc=busy."), "{}", location(&busy));
}
