//! Wrong answers of a provider: each is refused with the same outward answer, and begins no session.

use openapi_core::ports::OutboundError;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::provider::{Script, Setting, Signer, encoded, outcome};
use crate::support::Browser;

type Query = Vec<(String, String)>;

/// What is wrong: of what the provider sends, of the query, and how late the browser comes.
struct Wrong {
    name: &'static str,
    script: fn(&mut Script),
    query: fn(&mut Query),
    late_millis: u64,
}

const fn script(name: &'static str, script: fn(&mut Script)) -> Wrong {
    Wrong { name, script, query: |_| {}, late_millis: 0 }
}

const fn query(name: &'static str, query: fn(&mut Query)) -> Wrong {
    Wrong { name, script: |_| {}, query, late_millis: 0 }
}

fn set(query: &mut Query, name: &str, value: Option<&str>) {
    query.retain(|(known, _)| known != name);
    query.extend(value.map(|value| (name.to_owned(), value.to_owned())));
}

/// Adds to a time of the claims.
fn add(script: &mut Script, name: &str, seconds: i64) {
    script.claims[name] = json!(script.claims["iat"].as_i64().unwrap() + seconds);
}

fn without(script: &mut Script, name: &str) {
    script.claims.as_object_mut().unwrap().remove(name);
}

fn claims() -> Vec<Wrong> {
    vec![
        script("another issuer", |it| it.claims["iss"] = json!("https://evil.example")),
        script("the issuer with a slash", |it| {
            it.claims["iss"] = json!("https://id.example.com/realms/acme/");
        }),
        script("no issuer", |it| without(it, "iss")),
        script("another audience", |it| it.claims["aud"] = json!("other-client")),
        script("no audience", |it| without(it, "aud")),
        script("an empty audience", |it| it.claims["aud"] = json!([])),
        script("an object as audience", |it| it.claims["aud"] = json!({ "console-client": true })),
        script("two audiences without a party", |it| it.claims["aud"] = json!(["console-client", "x"])),
        script("another party", |it| it.claims["azp"] = json!("other-client")),
        script("no party but null", |it| it.claims["azp"] = Value::Null),
        script("two audiences and another party", |it| {
            it.claims["aud"] = json!(["console-client", "x"]);
            it.claims["azp"] = json!("x");
        }),
        script("expired", |it| add(it, "exp", -60)),
        script("no expiry", |it| without(it, "exp")),
        script("an expiry in words", |it| it.claims["exp"] = json!("4102444800")),
        script("an endless expiry", |it| it.claims["exp"] = Value::Null),
        script("issued in the future", |it| add(it, "iat", 61)),
        script("issued long ago", |it| add(it, "iat", -361)),
        script("no time of issue", |it| without(it, "iat")),
        script("valid later", |it| add(it, "nbf", 61)),
        script("valid from a word", |it| it.claims["nbf"] = json!("now")),
        script("another nonce", |it| {
            it.claims["nonce"] = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        }),
        script("no nonce", |it| without(it, "nonce")),
        script("an empty nonce", |it| it.claims["nonce"] = json!("")),
        script("no subject", |it| without(it, "sub")),
        script("an empty subject", |it| it.claims["sub"] = json!("")),
        script("a number as subject", |it| it.claims["sub"] = json!(7)),
        script("a long subject", |it| it.claims["sub"] = json!("s".repeat(256))),
    ]
}

fn signatures() -> Vec<Wrong> {
    vec![
        script("no algorithm", |it| (it.signer, it.header) = (Signer::Nothing, json!({ "alg": "none" }))),
        script("no algorithm, with a key", |it| {
            (it.signer, it.header) = (Signer::Nothing, json!({ "alg": "none", "kid": "rsa" }));
        }),
        script("HMAC with the public key", |it| {
            (it.signer, it.header) = (Signer::Hmac, json!({ "alg": "HS256", "kid": "rsa" }));
        }),
        script("HMAC that says RSA", |it| it.signer = Signer::Hmac),
        script("HMAC of a published secret", |it| {
            (it.signer, it.header) = (Signer::Hmac, json!({ "alg": "HS256", "kid": "oct" }));
        }),
        script("the signature of another key", |it| {
            (it.signer, it.header) = (Signer::Ed25519(2), json!({ "alg": "EdDSA", "kid": "ed" }));
        }),
        script("the id of another key", |it| it.header = json!({ "alg": "RS256", "kid": "ed" })),
        script("an unknown key", |it| it.header = json!({ "alg": "RS256", "kid": "gone" })),
        script("a key for encryption", |it| it.header = json!({ "alg": "RS256", "kid": "enc" })),
        script("a number as key", |it| it.header = json!({ "alg": "RS256", "kid": 7 })),
        script("an algorithm that is not offered", |it| it.header = json!({ "alg": "RS512", "kid": "rsa" })),
        script("an extension that must be understood", |it| {
            it.header = json!({ "alg": "RS256", "kid": "rsa", "crit": ["exp"] });
        }),
        script("a key in the header", |it| {
            it.signer = Signer::Ed25519(2);
            it.header =
                json!({ "alg": "EdDSA", "jwk": { "kty": "OKP", "crv": "Ed25519", "x": encoded([1; 32]) } });
        }),
        script("no signature", |it| it.edit = |token| token.rsplit_once('.').unwrap().0.to_owned() + "."),
        script("two parts", |it| it.edit = |token| token.rsplit_once('.').unwrap().0.to_owned()),
        script("four parts", |it| it.edit = |token| token + ".AAAA"),
        script("a cut token", |it| it.edit = |token| token[..token.len() - 9].to_owned()),
        script("other claims", |it| it.edit = |token| token.replacen('.', ".e30", 1)),
        script("padding", |it| it.edit = |token| token + "="),
        script("an empty token", |it| it.edit = |_| String::new()),
        script("claims twice", |it| {
            it.edit = |token| {
                let mut parts = token.split('.');
                let (header, signature) = (parts.next().unwrap().to_owned(), parts.next_back().unwrap());
                format!(
                    "{header}.{}.{signature}",
                    encoded(r#"{"iss":"a","iss":"https://id.example.com/realms/acme"}"#)
                )
            };
        }),
        script("a token as an array", |it| it.edit = |token| format!("{}.{}", encoded("[]"), token)),
    ]
}

fn answers() -> Vec<Wrong> {
    vec![
        script("an error of the token endpoint", |it| it.status = 400),
        script("a redirect of the token endpoint", |it| it.status = 302),
        script("no content", |it| it.status = 204),
        script("another type", |it| it.content_type = "text/html"),
        script("a huge body", |it| it.body = Some(vec![b' '; 300 * 1024])),
        script("a huge token", |it| it.claims["x"] = json!("x".repeat(60 * 1024))),
        script("no JSON", |it| it.body = Some(b"<html>".to_vec())),
        script("an array", |it| it.body = Some(b"[]".to_vec())),
        script("deep JSON", |it| it.body = Some(b"[".repeat(100_000))),
        script("no token", |it| it.body = Some(br#"{"token_type":"Bearer"}"#.to_vec())),
        script("another type of token", |it| it.edit_body = |body| body.replace("Bearer", "mac")),
        script("members twice", |it| it.edit_body = |body| body.replacen('{', r#"{"id_token":"a.b.c","#, 1)),
        script("a late answer", |it| it.error = Some(OutboundError::Timeout("the answer"))),
        script("a refused address", |it| {
            it.error = Some(OutboundError::Refused { rule: "private", reason: "10.0.0.1".to_owned() });
        }),
        script("no keys", |it| it.keys = json!({ "keys": [] })),
        script("no key set", |it| it.keys = json!([])),
        script("keys that are too small", |it| {
            it.keys =
                json!({ "keys": [{ "kty": "RSA", "kid": "rsa", "n": encoded([255; 128]), "e": "AQAB" }] });
        }),
        script("the same key twice", |it| {
            let key = it.keys["keys"][0].clone();
            it.keys["keys"].as_array_mut().unwrap().push(key);
        }),
        query("the state of another browser", |it| {
            set(it, "state", Some("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
        }),
        query("no state", |it| set(it, "state", None)),
        query("two states", |it| it.push(("state".to_owned(), "x".to_owned()))),
        query("the issuer of another provider", |it| set(it, "iss", Some("https://evil.example"))),
        query("no issuer, though it is announced", |it| set(it, "iss", None)),
        query("two issuers", |it| it.push(("iss".to_owned(), "https://evil.example".to_owned()))),
        query("no code", |it| set(it, "code", None)),
        query("an empty code", |it| set(it, "code", Some(""))),
        query("a huge code", |it| set(it, "code", Some(&"c".repeat(5_000)))),
        Wrong { name: "too late", script: |_| {}, query: |_| {}, late_millis: 10 * 60_000 },
    ]
}

#[test]
fn each_wrong_answer_is_refused_alike() {
    let mut setting = Setting::new();
    let all: Vec<Wrong> = claims().into_iter().chain(signatures()).chain(answers()).collect();
    assert!(all.len() >= 40, "{}", all.len());
    let right = setting.provider.script(|script| script.clone());
    let mut accepted = Vec::new();
    for wrong in &all {
        // Of an address that has failed too often nothing is read, and keys are fetched again.
        setting.world.pass(3_600_000);
        let mut browser = Browser::default();
        let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
        let claims = setting.claims(&sent, "ada");
        setting.provider.script(|script| {
            *script = right.clone();
            script.claims = claims;
            (wrong.script)(script);
        });
        let mut query = setting.query(&sent);
        (wrong.query)(&mut query);
        setting.world.pass(wrong.late_millis);
        let back = setting.come_back(&mut browser, &query);
        let is_refused = outcome(&back) == "/sign-in#oidc=refused" && back.text.is_empty();
        let has_session = back.cookies.iter().any(|cookie| cookie.starts_with("__Host-console="));
        if !is_refused || has_session || setting.who(&mut browser) != Value::Null {
            accepted.push(wrong.name);
        }
        setting.provider.script(|script| *script = right.clone());
        setting.world.pass(60_000);
    }
    assert_eq!(accepted, [""; 0]);
    // Nobody of them was made an operator, and what is right still works.
    let mut owner = Browser::default();
    setting.world.sign_in(&mut owner, crate::support::EMAIL, crate::support::PASSWORD).data();
    let members = owner.call(&setting.world, "GET", "/members", &Value::Null);
    assert_eq!(members.data().as_array().unwrap().len(), 1);
    setting.owner = owner;
    setting.sign_in(&mut Browser::default(), "ada");
    let members = setting.owner.call(&setting.world, "GET", "/members", &Value::Null);
    assert_eq!(members.data().as_array().unwrap().len(), 2);
}

#[test]
fn an_answer_counts_once_and_in_its_own_browser() {
    let setting = Setting::new();
    let mut browser = Browser::default();
    let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    setting.provider.script(|script| script.claims = setting.claims(&sent, "ada"));
    let query = setting.query(&sent);
    let mut thief = browser.clone();
    let mut other = Browser::default();
    setting.leave(&mut other, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    assert_eq!(outcome(&setting.come_back(&mut other, &query)), "/sign-in#oidc=refused");
    assert_eq!(outcome(&setting.come_back(&mut browser, &query)), "/#oidc=done");
    assert_eq!(outcome(&setting.come_back(&mut browser, &query)), "/sign-in#oidc=refused");
    // A provider that takes a code twice does not help: the cookie was for one answer.
    let mut again = query.clone();
    set(&mut again, "code", Some("another code"));
    assert_eq!(outcome(&setting.come_back(&mut thief, &again)), "/sign-in#oidc=refused");
    assert_eq!(setting.provider.sent("/token").len(), 2);
    // A cookie that was changed, cut or made for something else is none.
    let sealed = |browser: &Browser| {
        browser.cookies.iter().find(|(name, _)| name.ends_with("-oidc")).unwrap().1.clone()
    };
    let mut fresh = Browser::default();
    let sent = setting.leave(&mut fresh, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
    let good = sealed(&fresh);
    for bad in ["", "AAAA", &good[..40], &good[1..], &format!("{good}AAAA"), &"A".repeat(good.len())] {
        let mut browser = Browser::default();
        browser.cookies.push(("__Host-console-oidc".to_owned(), bad.to_owned()));
        setting.world.pass(5_000);
        assert_eq!(outcome(&setting.come_back(&mut browser, &setting.query(&sent))), "/sign-in#oidc=refused");
    }
    // What another site makes a browser send counts for nobody; a wrong token does.
    for _ in 0..25 {
        setting.come_back(&mut Browser::default(), &query);
        setting.come_back_as(&mut fresh.clone(), &setting.query(&sent), "image");
    }
    setting.provider.script(|script| script.claims = setting.claims(&sent, "ada"));
    assert_eq!(outcome(&setting.come_back(&mut fresh, &setting.query(&sent))), "/#oidc=done");
    for busy in [false, true] {
        for _ in 0..20 {
            let mut browser = Browser::default();
            let body = json!({ "provider": "acme-id" });
            let answer = browser.call(&setting.world, "POST", "/sign-in/oidc/start", &body);
            assert_eq!(answer.status, if busy { 429 } else { 200 }, "{}", answer.text);
            if !busy {
                let url = url::Url::parse(answer.data()["url"].as_str().unwrap()).unwrap();
                let sent = url.query_pairs().into_owned().collect();
                setting.provider.script(|script| script.claims = json!({}));
                assert_eq!(
                    outcome(&setting.come_back(&mut browser, &setting.query(&sent))),
                    "/sign-in#oidc=refused"
                );
            }
        }
    }
    let back = setting.come_back(&mut Browser::default(), &query);
    assert_eq!(outcome(&back), "/sign-in#oidc=busy");
}

proptest! {
    /// Whatever bytes of an answer are others, nothing panics and nobody is signed in.
    #[test]
    fn a_changed_token_signs_nobody_in(at in any::<prop::sample::Index>(), by in 1..=255_u8, cut in any::<bool>()) {
        thread_local! {
            static SETTING: Setting = Setting::new();
        }
        SETTING.with(|setting| {
            setting.world.pass(60_000);
            let mut browser = Browser::default();
            let sent = setting.leave(&mut browser, "/sign-in/oidc/start", &json!({ "provider": "acme-id" }));
            let claims = setting.claims(&sent, "ada");
            let before = setting.provider.sent("/token").len();
            setting.provider.script(|script| {
                script.claims = claims;
                script.body = None;
            });
            let token = setting.provider.token();
            let mut bytes = token.clone().into_bytes();
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] ^= by;
            }
            let changed = String::from_utf8_lossy(&bytes).into_owned();
            let body = json!({ "token_type": "Bearer", "id_token": changed }).to_string().into_bytes();
            setting.provider.script(|script| script.body = Some(body));
            let back = setting.come_back(&mut browser, &setting.query(&sent));
            prop_assert_eq!(outcome(&back), "/sign-in#oidc=refused", "{} at {}", changed, at);
            prop_assert_eq!(setting.provider.sent("/token").len(), before + 1);
            Ok(())
        })?;
    }
}
