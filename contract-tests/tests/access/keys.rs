//! The life cycle of a key: rotation, expiry, status, addresses, last use (contract 7.2, 16).

use contract_tests::sandbox::{instant, operator, wait};
use contract_tests::{Backend, Credentials, Reply, Sandbox, on_every_backend};
use openapi_core::access::{Key, KeyStatus, RateLimits, SecretHash, StoredKey};
use openapi_core::admin::{Admin, AdminError, IssuedKey, KeyEdit};
use openapi_core::storage::Effects;

on_every_backend!(
    rotation_with_overlap,
    rotation_without_overlap,
    longest_overlap,
    a_third_rotation_ends_the_oldest_secret,
    every_response_announces_the_old_secrets_expiry,
    rotation_keeps_everything_else,
    expiry,
    disabled_and_enabled,
    revoked_for_good,
    agents_disabled_and_deleted,
    changes_act_on_the_next_request,
    changes_act_elsewhere_within_five_seconds,
    refused_keys_and_edits,
    allowed_addresses,
    last_use,
    secrets_are_not_stored,
    a_transplanted_hash_opens_nothing,
    hashes_of_former_releases_are_bound_once,
);

const LIST: &str = "/contacts/chatbots/<A>";
const HOUR: i64 = 3_600_000;

fn ask(cx: &Sandbox, key: &Credentials) -> Reply {
    cx.call("GET", LIST).with(key).send()
}

fn rotate(cx: &Sandbox, key: &Credentials, grace_millis: u64) -> Credentials {
    let rotated = wait(cx.platform.rotate_key(&operator(), &Sandbox::selector(key), grace_millis));
    let IssuedKey { key: record, secret } = rotated.expect("rotated");
    assert_eq!(record.api_key.as_str(), key.key, "the key stays");
    Credentials { key: key.key.clone(), secret: secret.expose().to_owned() }
}

fn edit(cx: &Sandbox, key: &Credentials, edit: KeyEdit) -> Result<Key, AdminError> {
    wait(cx.platform.edit_key(&operator(), &Sandbox::selector(key), edit))
}

fn rotation_with_overlap(backend: Backend) {
    let cx = Sandbox::new(backend);
    let old = cx.issue(|_| {});
    assert_eq!(ask(&cx, &old).expect(200).header("x-api-secret-expires"), None);
    let new = rotate(&cx, &old, 24 * HOUR as u64);
    assert_ne!(new.secret, old.secret);
    assert_eq!(ask(&cx, &new).expect(200).header("x-api-secret-expires"), None);
    assert_eq!(ask(&cx, &old).expect(200).header("x-api-secret-expires"), Some("2026-02-01T09:15:02.123Z"));
    cx.advance(24 * HOUR - 1);
    let _ = ask(&cx, &old).expect(200);
    cx.advance(1);
    let _ = ask(&cx, &old).fails(401, "INVALID_CREDENTIALS");
    let _ = ask(&cx, &new).expect(200);
}

fn rotation_without_overlap(backend: Backend) {
    let cx = Sandbox::new(backend);
    let old = cx.issue(|_| {});
    let new = rotate(&cx, &old, 0);
    let _ = ask(&cx, &old).fails(401, "INVALID_CREDENTIALS");
    assert_eq!(ask(&cx, &new).expect(200).header("x-api-secret-expires"), None);
}

fn longest_overlap(backend: Backend) {
    let cx = Sandbox::new(backend);
    let old = cx.issue(|_| {});
    let week = 7 * 24 * HOUR as u64;
    let refused = wait(cx.platform.rotate_key(&operator(), &Sandbox::selector(&old), week + 1));
    assert!(matches!(refused, Err(AdminError::Refused(_))), "{refused:?}");
    assert_eq!(ask(&cx, &old).expect(200).header("x-api-secret-expires"), None);
    let new = rotate(&cx, &old, week);
    cx.advance(7 * 24 * HOUR - 1);
    let _ = ask(&cx, &old).expect(200);
    cx.advance(1);
    let _ = ask(&cx, &old).fails(401, "INVALID_CREDENTIALS");
    let _ = ask(&cx, &new).expect(200);
}

fn a_third_rotation_ends_the_oldest_secret(backend: Backend) {
    let cx = Sandbox::new(backend);
    let first = cx.issue(|_| {});
    let second = rotate(&cx, &first, 24 * HOUR as u64);
    cx.advance(1_000);
    let third = rotate(&cx, &second, HOUR as u64);
    let _ = ask(&cx, &first).fails(401, "INVALID_CREDENTIALS");
    assert_eq!(
        ask(&cx, &second).expect(200).header("x-api-secret-expires"),
        Some("2026-01-31T10:15:03.123Z")
    );
    let _ = ask(&cx, &third).expect(200);
    cx.advance(HOUR);
    let _ = ask(&cx, &second).fails(401, "INVALID_CREDENTIALS");
    let _ = ask(&cx, &third).expect(200);
}

fn every_response_announces_the_old_secrets_expiry(backend: Backend) {
    let cx = Sandbox::new(backend);
    let old = cx.issue(|key| key.limits = RateLimits { per_minute: 5, per_hour: 5 });
    let _ = rotate(&cx, &old, HOUR as u64);
    let expires = Some("2026-01-31T10:15:02.123Z");
    for (method, path, status) in [
        ("GET", "/contacts/none/chatbots/<A>", 404),
        ("GET", "/contacts/chatbots/other", 403),
        ("GET", "/contacts/chatbots/<A>?x=1", 400),
        ("HEAD", "/contacts/chatbots/<A>", 200),
        ("POST", "/contacts/chatbots/<A>", 400),
        ("GET", "/contacts/chatbots/<A>", 429),
    ] {
        let reply = cx.call(method, path).with(&old).send().expect(status);
        assert_eq!(reply.header("x-api-secret-expires"), expires, "{method} {path} {status}");
    }
}

fn rotation_keeps_everything_else(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| key.limits = RateLimits { per_minute: 5, per_hour: 5 });
    let _ = ask(&cx, &key).expect(200);
    let before = wait(cx.platform.key(&Sandbox::selector(&key))).expect("the key");
    let new = rotate(&cx, &key, 0);
    let after = wait(cx.platform.key(&Sandbox::selector(&key))).expect("the key");
    assert_eq!(Key { updated_at: before.updated_at, ..after }, before);
    assert_eq!(ask(&cx, &new).expect(200).header("x-ratelimit-remaining"), Some("3"), "the windows stay");
}

fn expiry(backend: Backend) {
    let cx = Sandbox::new(backend);
    let end = instant("2026-02-01T00:00:00.000Z");
    let key = cx.issue(|key| key.expires_at = Some(end));
    cx.clock.set(instant("2026-01-31T23:59:59.999Z"));
    let _ = ask(&cx, &key).expect(200);
    cx.clock.set(end);
    let reply = ask(&cx, &key).fails(401, "API_KEY_EXPIRED");
    assert_eq!(reply.json["details"]["expiredAt"], "2026-02-01T00:00:00.000Z");
    // The overlap can be extended, and can be zero.
    let later = instant("2026-02-02T00:00:00.000Z");
    let _ = edit(&cx, &key, KeyEdit { expires_at: Some(Some(later)), ..KeyEdit::default() }).expect("edited");
    let _ = ask(&cx, &key).expect(200);
    let _ = edit(&cx, &key, KeyEdit { expires_at: Some(None), ..KeyEdit::default() }).expect("edited");
    cx.clock.set(instant("2036-02-02T00:00:00.000Z"));
    let _ = ask(&cx, &key).expect(200);
}

fn disabled_and_enabled(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|_| {});
    let selector = Sandbox::selector(&key);
    let record = wait(cx.platform.disable_key(&operator(), &selector)).expect("disabled");
    assert_eq!(record.status, KeyStatus::Disabled);
    let reply = ask(&cx, &key).fails(401, "API_KEY_REVOKED");
    assert_eq!(reply.json.get("details"), None);
    let _ = wait(cx.platform.enable_key(&operator(), &selector)).expect("enabled");
    let _ = ask(&cx, &key).expect(200);
}

fn revoked_for_good(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|_| {});
    let selector = Sandbox::selector(&key);
    let _ = wait(cx.platform.revoke_key(&operator(), &selector)).expect("revoked");
    let _ = ask(&cx, &key).fails(401, "API_KEY_REVOKED");
    let by = operator();
    for refused in [
        wait(cx.platform.enable_key(&by, &selector)).map(|_| ()),
        wait(cx.platform.disable_key(&by, &selector)).map(|_| ()),
        wait(cx.platform.rotate_key(&by, &selector, 0)).map(|_| ()),
        edit(&cx, &key, KeyEdit { per_minute: Some(1), ..KeyEdit::default() }).map(|_| ()),
    ] {
        assert!(matches!(refused, Err(AdminError::Refused(_))), "{refused:?}");
    }
    let _ = wait(cx.platform.revoke_key(&by, &selector)).expect("revoking twice changes nothing");
    // Revoked is checked before expired.
    let key = cx.issue(|key| key.expires_at = Some(instant("2026-02-01T00:00:00.000Z")));
    let _ = wait(cx.platform.revoke_key(&by, &Sandbox::selector(&key))).expect("revoked");
    cx.clock.set(instant("2026-02-01T00:00:00.000Z"));
    let _ = ask(&cx, &key).fails(401, "API_KEY_REVOKED");
}

fn agents_disabled_and_deleted(backend: Backend) {
    let cx = Sandbox::new(backend);
    let by = operator();
    let _ = cx.create(&serde_json::json!({ "primaryEmail": "a@b.co" }));
    let _ = wait(cx.platform.disable_agent(&by, &cx.agent)).expect("disabled");
    let _ = cx.get(LIST).fails(401, "INVALID_CREDENTIALS");
    let _ = wait(cx.platform.enable_agent(&by, &cx.agent)).expect("enabled");
    assert_eq!(cx.get(LIST).expect(200).pagination()["totalItems"], 1);
    let _ = wait(cx.platform.delete_agent(&by, &cx.agent)).expect("deleted");
    let _ = cx.get(LIST).fails(401, "INVALID_CREDENTIALS");
    assert!(matches!(wait(cx.platform.enable_agent(&by, &cx.agent)), Err(AdminError::NotFound { .. })));
    let again =
        openapi_core::admin::NewAgent { id: Some(cx.agent.clone()), name: "Again".parse().expect("a name") };
    let again = wait(cx.platform.create_agent(&by, again));
    assert!(matches!(again, Err(AdminError::Conflict(_))), "an id is never given twice: {again:?}");
}

fn changes_act_on_the_next_request(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|_| {});
    let create =
        || cx.call("POST", LIST).json(&serde_json::json!({ "primaryEmail": "a@b.co" })).with(&key).send();
    let _ = create().expect(201);
    let only_read = "contacts:read".parse().expect("permissions");
    let _ = edit(&cx, &key, KeyEdit { permissions: Some(only_read), ..KeyEdit::default() }).expect("edited");
    let _ = create().fails(403, "INSUFFICIENT_PERMISSIONS");
    let _ = edit(&cx, &key, KeyEdit { per_minute: Some(2), ..KeyEdit::default() }).expect("edited");
    let _ = ask(&cx, &key).fails(429, "RATE_LIMIT_EXCEEDED");
    let _ = edit(&cx, &key, KeyEdit { per_minute: Some(4), ..KeyEdit::default() }).expect("edited");
    assert_eq!(ask(&cx, &key).expect(200).header("x-ratelimit-remaining"), Some("1"));
    let elsewhere = vec!["198.51.100.0/24".parse().expect("a block")];
    let _ = edit(&cx, &key, KeyEdit { allowed_addresses: Some(elsewhere), ..KeyEdit::default() })
        .expect("edited");
    let _ = ask(&cx, &key).fails(403, "IP_NOT_ALLOWED");
}

fn changes_act_elsewhere_within_five_seconds(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|_| {});
    let elsewhere = cx.restarted();
    let _ = ask(&elsewhere, &key).expect(200);
    cx.define(&serde_json::json!({ "fields": [{ "name": "lastName", "required": true }] }));
    let new = rotate(&cx, &key, 0);
    cx.advance(5_000);
    let _ = ask(&elsewhere, &key).fails(401, "INVALID_CREDENTIALS");
    let _ = ask(&elsewhere, &new).expect(200);
    let reply = elsewhere.try_create(&serde_json::json!({ "primaryEmail": "a@b.co" }));
    let _ = reply.invalid(&[("lastName", "required")]);
    let _ = wait(cx.platform.revoke_key(&operator(), &Sandbox::selector(&key))).expect("revoked");
    cx.advance(5_000);
    let _ = ask(&elsewhere, &new).fails(401, "API_KEY_REVOKED");
}

fn refused_keys_and_edits(backend: Backend) {
    let cx = Sandbox::new(backend);
    let create = |change: &dyn Fn(&mut openapi_core::admin::NewKey)| {
        let mut key = cx.new_key();
        change(&mut key);
        wait(cx.platform.create_key(&operator(), key))
    };
    for refused in [
        create(&|key| key.permissions = openapi_core::access::Permissions::NONE),
        create(&|key| key.expires_at = Some(instant("2026-01-31T09:15:02.123Z"))),
        create(&|key| key.expires_at = Some(instant("2020-01-01T00:00:00.000Z"))),
        create(&|key| key.limits = RateLimits { per_minute: 0, per_hour: 10 }),
        create(&|key| key.limits = RateLimits { per_minute: 1_001, per_hour: 10_000 }),
        create(&|key| key.limits = RateLimits { per_minute: 10, per_hour: 10_001 }),
        create(&|key| key.limits = RateLimits { per_minute: 1, per_hour: 0 }),
        create(&|key| key.limits = RateLimits { per_minute: 11, per_hour: 10 }),
    ] {
        assert!(matches!(refused, Err(AdminError::Refused(_))), "{refused:?}");
    }
    let nobody = create(&|key| key.agent_id = "nobody".parse().expect("an id"));
    assert!(matches!(nobody, Err(AdminError::NotFound { what: "agent", .. })), "{nobody:?}");
    let _ = create(&|key| key.limits = RateLimits { per_minute: 1, per_hour: 1 }).expect("the least");
    let _ =
        create(&|key| key.limits = RateLimits { per_minute: 1_000, per_hour: 1_000 }).expect("equal limits");
    let key = cx.issue(|key| key.limits = RateLimits { per_minute: 10, per_hour: 20 });
    for change in [
        KeyEdit { per_minute: Some(21), ..KeyEdit::default() },
        KeyEdit { per_hour: Some(9), ..KeyEdit::default() },
        KeyEdit { expires_at: Some(Some(instant("2026-01-31T09:15:02.123Z"))), ..KeyEdit::default() },
        KeyEdit { permissions: Some(openapi_core::access::Permissions::NONE), ..KeyEdit::default() },
    ] {
        let refused = edit(&cx, &key, change);
        assert!(matches!(refused, Err(AdminError::Refused(_))), "{refused:?}");
    }
    let both = KeyEdit { per_minute: Some(30), per_hour: Some(30), ..KeyEdit::default() };
    let _ = edit(&cx, &key, both).expect("both at once");
}

fn allowed_addresses(backend: Backend) {
    let cx = Sandbox::new(backend);
    let blocks = ["192.0.2.0/25", "198.51.100.7", "2001:db8::/32", "::ffff:203.0.113.9"];
    let key =
        cx.issue(|key| key.allowed_addresses = blocks.map(|block| block.parse().expect("a block")).to_vec());
    let from = |address: &str| cx.call("GET", LIST).with(&key).from(address).send();
    for inside in [
        "192.0.2.0",
        "192.0.2.127",
        "198.51.100.7",
        "2001:db8::1",
        "2001:db8:ffff::",
        "::ffff:192.0.2.1",
        "203.0.113.9",
    ] {
        let _ = from(inside).expect(200);
    }
    for outside in ["192.0.2.128", "198.51.100.8", "2001:db9::1", "::1", "::ffff:198.51.100.8", "127.0.0.1"] {
        let reply = from(outside).fails(403, "IP_NOT_ALLOWED");
        assert_eq!(reply.json.get("details"), None);
    }
    // Headers that a client can set do not count.
    let forged = cx.call("GET", LIST).with(&key).from("127.0.0.1").header("x-forwarded-for", "192.0.2.1");
    let _ = forged.header("forwarded", "for=192.0.2.1").send().fails(403, "IP_NOT_ALLOWED");
    let anywhere = cx.issue(|_| {});
    let _ = cx.call("GET", LIST).with(&anywhere).from("203.0.113.200").send().expect(200);
}

fn last_use(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|key| key.allowed_addresses = vec!["192.0.2.0/24".parse().expect("a block")]);
    let record = || wait(cx.platform.key(&Sandbox::selector(&key))).expect("the key");
    assert_eq!((record().last_used_at, record().last_used_address), (None, None));
    cx.clock.set(instant("2026-01-31T10:00:00.000Z"));
    let _ = cx.call("GET", LIST).with(&key).from("192.0.2.77").send().expect(200);
    cx.advance(10_000);
    // Rejected requests do not count as use of the key.
    let _ = cx.call("GET", LIST).with(&key).from("203.0.113.1").send().fails(403, "IP_NOT_ALLOWED");
    let _ = cx.call("GET", LIST).with(&Credentials { key: key.key.clone(), secret: "x".into() }).send();
    wait(cx.platform.maintain()).expect("maintenance");
    assert_eq!(record().last_used_at, Some(instant("2026-01-31T10:00:00.000Z")));
    assert_eq!(record().last_used_address.map(|address| address.to_string()).as_deref(), Some("192.0.2.77"));
    // An edit preserves it.
    let _ = edit(&cx, &key, KeyEdit { per_minute: Some(7), ..KeyEdit::default() }).expect("edited");
    assert_eq!(record().last_used_at, Some(instant("2026-01-31T10:00:00.000Z")));
    cx.advance(30_000);
    let _ = cx.call("GET", LIST).with(&key).from("192.0.2.78").send().expect(200);
    wait(cx.platform.drain()).expect("drained");
    assert_eq!(record().last_used_at, Some(instant("2026-01-31T10:00:40.000Z")));
}

fn secrets_are_not_stored(backend: Backend) {
    let cx = Sandbox::new(backend);
    let selector = Sandbox::selector(&cx.credentials);
    let stored = wait(cx.store.storage.find_key(&selector)).expect("read").expect("the key");
    let text = serde_json::to_string(&stored).expect("JSON");
    assert!(
        !text.contains(&cx.credentials.secret) && !format!("{stored:?}").contains(&cx.credentials.secret)
    );
    let body = &cx.credentials.secret[5..];
    assert!(!text.contains(body));
}

fn stored(cx: &Sandbox, key: &Credentials) -> StoredKey {
    wait(cx.store.storage.find_key(&Sandbox::selector(key))).expect("read").expect("the key")
}

fn store(cx: &Sandbox, before: &StoredKey, secrets: Vec<SecretHash>) {
    let changed = StoredKey { secrets, version: before.version + 1, ..before.clone() };
    let agent = &before.key.agent_id;
    wait(cx.store.storage.update_key(agent, before.version, &changed, &Effects::default())).expect("stored");
    cx.advance(5_000);
}

/// Without a server key, write access to the store does not give a key a known secret.
fn a_transplanted_hash_opens_nothing(backend: Backend) {
    let cx = Sandbox::new(backend);
    let (own, other) = (cx.issue(|_| {}), cx.issue(|_| {}));
    store(&cx, &stored(&cx, &other), stored(&cx, &own).secrets);
    let crossed = Credentials { key: other.key.clone(), secret: own.secret.clone() };
    let _ = ask(&cx, &crossed).fails(401, "INVALID_CREDENTIALS");
    let _ = ask(&cx, &own).expect(200);
}

/// A hash of the secret alone is replaced at the first use, with an entry, and then opens nothing elsewhere.
fn hashes_of_former_releases_are_bound_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let key = cx.issue(|_| {});
    let keys = &cx.platform.ports().server_keys;
    let unbound = SecretHash {
        hash: keys.tag("api secret", key.secret.as_bytes()),
        server_key: keys.current_id().to_owned(),
        expires_at: None,
        is_bound: false,
    };
    let before = stored(&cx, &key);
    store(&cx, &before, vec![unbound]);
    let _ = ask(&cx, &key).expect(200);
    let after = stored(&cx, &key);
    assert!(after.secrets == before.secrets, "the hash is bound to the key");
    assert_eq!(after.version, before.version + 2);
    let _ = ask(&cx, &key).expect(200);
    assert_eq!(stored(&cx, &key).version, after.version, "once");
}
