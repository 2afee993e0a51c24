//! The key headers and their failures (contract 7.1, 6.1).

use contract_tests::sandbox::{instant, operator, wait};
use contract_tests::{Backend, Call, Credentials, Sandbox, on_every_backend, story};
use openapi_core::access::{ApiKey, ApiSecret};
use openapi_core::admin::{Admin, KeyEdit};
use openapi_core::audit::AuditAction;
use openapi_core::storage::AuditQuery;
use serde_json::json;

on_every_backend!(
    the_example_of_missing_credentials,
    the_example_of_an_expired_key,
    missing_credentials,
    credentials_elsewhere,
    repeated_headers,
    names_and_values_of_headers,
    one_indistinguishable_answer,
    check_characters,
    a_wrong_secret_reveals_nothing_about_the_key,
    form_of_issued_keys,
    earlier_tags_stay_valid,
    failed_attempts_never_lock_a_key,
    failures_are_audited_without_secrets,
);

const LIST: &str = "/contacts/chatbots/<A>";

fn as_sent<'a>(cx: &'a Sandbox, key: Option<&str>, secret: Option<&str>) -> Call<'a> {
    let mut call = cx.call("GET", LIST).anonymous();
    for (name, value) in [("x-api-key", key), ("x-api-secret", secret)] {
        if let Some(value) = value {
            call = call.header(name, value);
        }
    }
    call
}

/// Contract 6.4, literally.
fn the_example_of_missing_credentials(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = cx.call("GET", LIST).anonymous().header("x-request-id", story::REQUEST_ID).send();
    let expected = json!({ "success": false, "message": "Send the headers X-API-Key and X-API-Secret", "code": "MISSING_CREDENTIALS", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39" });
    assert_eq!(reply.fails(401, "MISSING_CREDENTIALS").text, expected.to_string());
}

/// Contract 6.4, literally.
fn the_example_of_an_expired_key(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.clock.set(instant("2026-01-29T00:00:00.000Z"));
    let key = cx.issue(|key| key.expires_at = Some(instant("2026-01-30T00:00:00.000Z")));
    let call = cx.call("GET", LIST).with(&key).header("x-request-id", story::REQUEST_ID);
    cx.clock.set(instant("2026-01-29T23:59:59.999Z"));
    let _ = call.send().expect(200);
    cx.clock.set(instant("2026-01-30T00:00:00.000Z"));
    let reply = call.send().fails(401, "API_KEY_EXPIRED");
    let expected = json!({ "success": false, "message": "The API key has expired", "code": "API_KEY_EXPIRED", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "details": { "expiredAt": "2026-01-30T00:00:00.000Z" } });
    assert_eq!(reply.text, expected.to_string());
}

fn missing_credentials(backend: Backend) {
    let cx = Sandbox::new(backend);
    let Credentials { key, secret } = cx.credentials.clone();
    for (key, secret) in [
        (None, None),
        (Some(key.as_str()), None),
        (None, Some(secret.as_str())),
        (Some(""), Some(secret.as_str())),
        (Some(key.as_str()), Some("")),
        (Some(" "), Some(secret.as_str())),
        (Some("nonsense"), None),
        (Some(" \t "), Some(" ")),
    ] {
        let reply = as_sent(&cx, key, secret).send().fails(401, "MISSING_CREDENTIALS");
        assert_eq!(reply.json["message"], "Send the headers X-API-Key and X-API-Secret");
    }
}

fn credentials_elsewhere(backend: Backend) {
    let cx = Sandbox::new(backend);
    let Credentials { key, secret } = cx.credentials.clone();
    let call = cx.call("GET", &format!("{LIST}?X-API-Key={key}&X-API-Secret={secret}&apiKey={key}"));
    let _ = call.anonymous().send().fails(401, "MISSING_CREDENTIALS");
    for value in [format!("Bearer {secret}"), format!("ApiKey {key}:{secret}"), "Basic YTpi".to_owned()] {
        let call = cx.call("GET", LIST).anonymous().header("authorization", &value);
        let reply = call.send().fails(401, "MISSING_CREDENTIALS");
        assert!(
            reply.json["message"]
                .as_str()
                .is_some_and(|text| text.contains("X-API-Key") && text.contains("X-API-Secret"))
        );
    }
    let body = json!({ "primaryEmail": "a@b.co", "X-API-Key": key, "X-API-Secret": secret });
    let call = cx.call("POST", LIST).anonymous().json(&body);
    let _ = call.send().fails(401, "MISSING_CREDENTIALS");
    // They are also ignored next to the key headers.
    let _ = cx.call("GET", LIST).header("authorization", "Bearer x").send().expect(200);
}

fn repeated_headers(backend: Backend) {
    let cx = Sandbox::new(backend);
    let Credentials { key, secret } = cx.credentials.clone();
    for call in [
        cx.call("GET", LIST).header("x-api-key", &key),
        cx.call("GET", LIST).header("x-api-secret", &secret),
        cx.call("GET", LIST).header("x-api-secret", ""),
        cx.call("GET", LIST).anonymous().header("x-api-key", "a").header("x-api-key", "b"),
        cx.call("GET", LIST).anonymous().header("x-api-secret", "").header("x-api-secret", ""),
    ] {
        let reply = call.send().fails(400, "BAD_REQUEST");
        assert_eq!(reply.header("www-authenticate"), None);
    }
}

fn names_and_values_of_headers(backend: Backend) {
    let cx = Sandbox::new(backend);
    let Credentials { key, secret } = cx.credentials.clone();
    let call = cx.call("GET", LIST).anonymous().header("X-API-KEY", &format!("  {key}\t"));
    let _ = call.header("x-Api-Secret", &format!("\t{secret} ")).send().expect(200);
    for (key, secret) in [
        (key.to_uppercase(), secret.clone()),
        (key.clone(), secret.to_lowercase()),
        (format!("\"{key}\""), secret.clone()),
        (format!("{key},{key}"), secret.clone()),
        (secret.clone(), key.clone()),
    ] {
        let _ = as_sent(&cx, Some(&key), Some(&secret)).send().fails(401, "INVALID_CREDENTIALS");
    }
    let call =
        cx.call("GET", LIST).anonymous().raw_header("x-api-key", b"\xff\xfe").header("x-api-secret", &secret);
    let _ = call.send().fails(401, "INVALID_CREDENTIALS");
}

/// Unknown or malformed key, wrong secret, disabled or deleted agent: the responses are indistinguishable.
fn one_indistinguishable_answer(backend: Backend) {
    let cx = Sandbox::new(backend);
    let disabled = cx.new_agent("disabled");
    let deleted = cx.new_agent("deleted");
    let of_disabled = cx.issue(|key| key.agent_id = disabled.clone());
    let of_deleted = cx.issue(|key| key.agent_id = deleted.clone());
    let _ = wait(cx.platform.disable_agent(&operator(), &disabled)).expect("disabled");
    let _ = wait(cx.platform.delete_agent(&operator(), &deleted)).expect("deleted");
    let Credentials { key, secret } = cx.credentials.clone();
    let other = cx.issue(|_| {});
    let unknown = "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ";
    let mut answers: Vec<(String, Vec<String>)> = Vec::new();
    for (key, secret) in [
        (unknown, secret.as_str()),
        ("nonsense", secret.as_str()),
        (key.as_str(), "nonsense"),
        (key.as_str(), other.secret.as_str()),
        (other.key.as_str(), secret.as_str()),
        (key.as_str(), "svcs_STsUVpc3qVvl5Sbj31mZ6wKgrlqqE4V28hm8oirHVMa2CI6Cq"),
        (&of_disabled.key, &of_disabled.secret),
        (&of_deleted.key, &of_deleted.secret),
        ("é", "é"),
        (&"x".repeat(5_000), "y"),
    ] {
        let reply = as_sent(&cx, Some(key), Some(secret)).header("x-request-id", "same").send();
        let reply = reply.fails(401, "INVALID_CREDENTIALS");
        let mut headers: Vec<String> =
            reply.headers.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
        headers.sort();
        answers.push((reply.text, headers));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    // An enabled agent's keys work again.
    let _ = wait(cx.platform.enable_agent(&operator(), &disabled)).expect("enabled");
    let _ = cx.call("GET", "/contacts/chatbots/disabled").with(&of_disabled).send().expect(200);
}

fn check_characters(backend: Backend) {
    let _ = backend;
    // The examples of contract 7.1.
    assert!(ApiKey::parse("svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ").is_some());
    assert!(ApiSecret::parse("svcs_STsUVpc3qVvl5Sbj31mZ6wKgrlqqE4V28hm8oirHVMa2CI6Cq").is_some());
    // CRC-32 (IEEE), bit by bit, as six base-62 digits.
    let check = |text: &str| {
        let mut crc = u32::MAX;
        for byte in text.bytes() {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            }
        }
        let mut rest = !crc;
        let alphabet = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut digits = [b'0'; 6];
        for digit in digits.iter_mut().rev() {
            *digit = alphabet[(rest % 62) as usize];
            rest /= 62;
        }
        digits.map(char::from).iter().collect::<String>()
    };
    for (tag, body) in
        [("svc", "RfJZUgVExJF32DK00DIYDXH2"), ("ab", &"0".repeat(24)), ("a1234567", &"z".repeat(24))]
    {
        let text = format!("{tag}k_{body}");
        let text = format!("{text}{}", check(&text));
        assert!(ApiKey::parse(&text).is_some(), "{text}");
        let mut wrong = text.clone();
        let last = wrong.pop();
        wrong.push(if last == Some('0') { '1' } else { '0' });
        assert!(ApiKey::parse(&wrong).is_none(), "{wrong}");
    }
}

/// Knowing the public part does not reveal whether a key is revoked or expired.
fn a_wrong_secret_reveals_nothing_about_the_key(backend: Backend) {
    let cx = Sandbox::new(backend);
    let soon = instant("2026-01-31T09:16:00.000Z");
    let expired = cx.issue(|key| key.expires_at = Some(soon));
    let revoked = cx.issue(|_| {});
    let disabled = cx.issue(|_| {});
    let limited = cx.issue(|key| key.allowed_addresses = vec!["198.51.100.7".parse().expect("an address")]);
    let _ = wait(cx.platform.revoke_key(&operator(), &Sandbox::selector(&revoked))).expect("revoked");
    let _ = wait(cx.platform.disable_key(&operator(), &Sandbox::selector(&disabled))).expect("disabled");
    cx.clock.set(soon);
    let mine = cx.credentials.secret.clone();
    for (key, code) in [
        (&expired, "API_KEY_EXPIRED"),
        (&revoked, "API_KEY_REVOKED"),
        (&disabled, "API_KEY_REVOKED"),
        (&limited, "IP_NOT_ALLOWED"),
    ] {
        let _ = as_sent(&cx, Some(&key.key), Some(&mine)).send().fails(401, "INVALID_CREDENTIALS");
        assert_eq!(as_sent(&cx, Some(&key.key), Some(&key.secret)).send().code(), code);
    }
}

fn form_of_issued_keys(backend: Backend) {
    let cx = Sandbox::new(backend);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..20 {
        let issued = cx.issue(|_| {});
        for (text, prefix, length) in [(&issued.key, "svck_", 30), (&issued.secret, "svcs_", 49)] {
            let body = text.strip_prefix(prefix).unwrap_or_else(|| panic!("{text}"));
            assert!(body.len() == length && body.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{text}");
            assert!(seen.insert(text.clone()));
        }
    }
}

fn earlier_tags_stay_valid(backend: Backend) {
    let cx = Sandbox::new(backend);
    let other = Sandbox::with_settings(backend, |settings| {
        let tag = openapi_core::access::ApiKeyPrefix::new("acme").expect("a tag");
        settings.service_info = settings.service_info.clone().with_api_key_prefix(tag);
    });
    assert!(other.credentials.key.starts_with("acmek_") && other.credentials.secret.starts_with("acmes_"));
    let _ = other.get(LIST).expect(200);
    // A key with another tag is still parsed; it is only unknown here.
    let _ = as_sent(&cx, Some(&other.credentials.key), Some(&other.credentials.secret))
        .send()
        .fails(401, "INVALID_CREDENTIALS");
}

fn failed_attempts_never_lock_a_key(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.credentials.key.clone();
    for round in 0..100 {
        let from = format!("198.51.100.{round}");
        let _ =
            as_sent(&cx, Some(&key), Some("nonsense")).from(&from).send().fails(401, "INVALID_CREDENTIALS");
    }
    let reply = cx.get(LIST).expect(200);
    assert_eq!(
        reply.header("x-ratelimit-remaining"),
        Some("999"),
        "failures are not counted against the key"
    );
}

fn failures_are_audited_without_secrets(backend: Backend) {
    let cx = Sandbox::new(backend);
    let Credentials { key, secret } = cx.credentials.clone();
    let _ = as_sent(&cx, Some(&key), Some("svcs_STsUVpc3qVvl5Sbj31mZ6wKgrlqqE4V28hm8oirHVMa2CI6Cq"))
        .header("x-request-id", "r1")
        .send();
    let _ = as_sent(&cx, Some("my password"), Some(&secret)).send();
    let _ = wait(cx.platform.edit_key(&operator(), &Sandbox::selector(&cx.credentials), KeyEdit::default()))
        .expect("edited");
    let query = AuditQuery { limit: 1_000, ..AuditQuery::default() };
    let entries = wait(cx.platform.audit(&query)).expect("the log");
    let failures: Vec<_> =
        entries.iter().filter(|entry| entry.action == AuditAction::AuthenticationFailure).collect();
    assert_eq!(failures.len(), 2);
    let known =
        failures.iter().find(|entry| entry.request_id.as_deref() == Some("r1")).expect("the first failure");
    assert_eq!(known.agent_id.as_ref(), Some(&cx.agent));
    assert_eq!(known.address.map(|address| address.to_string()).as_deref(), Some("192.0.2.10"));
    let text = serde_json::to_string(&entries).expect("JSON");
    assert!(!text.contains(&secret) && !text.contains("svcs_") && !text.contains("my password"), "{text}");
}
