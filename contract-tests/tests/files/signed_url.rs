//! GET …/files/<fid>/signed-url, and the expiry of the URL (contract 2.2, 4.3, 14).

use contract_tests::sandbox::{instant, operator, wait};
use contract_tests::{Backend, Credentials, Sandbox, on_every_backend, story};
use openapi_core::admin::Admin;
use openapi_core::platform::Ports;
use openapi_core::ports::{Clock, SequentialIds};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use serde_json::json;
use std::sync::Arc;

use crate::samples;
use crate::support::{file_path, follow, link, sandbox, target, upload};

on_every_backend!(
    the_story,
    lifetimes,
    the_end_is_in_whole_seconds,
    dispositions,
    faults,
    reusable_until_it_expires,
    an_expiring_key,
    a_rotated_secret,
    disabled_and_deleted_agents,
    deleted_files,
    the_order_of_the_checks,
    altered_parts,
    parts_of_another_url,
    other_parameters,
    rotation_of_server_keys,
    permissions_are_checked_at_creation,
    every_url_is_for_its_own_file,
);

fn url(cx: &Sandbox, contact: &str, file: &str, query: &str) -> String {
    let reply = cx.get(&format!("{}/signed-url?{query}", file_path(contact, file))).expect(200);
    reply.data()["url"].as_str().expect("a URL").to_owned()
}

fn the_story(backend: Backend) {
    let cx = story::sandbox(backend);
    let contact = cx.create(&story::new_contact()).id();
    let file = upload(&cx, &contact, "referral.pdf", story::PDF);
    cx.clock.set(instant("2026-01-31T09:25:00.000Z"));
    let reply = cx.get(&format!("{}/signed-url", file_path(&contact, &file.id()))).expect(200);
    let signature =
        reply.data()["url"].as_str().and_then(|url| url.split_once("&sig=")).expect("a signature").1;
    assert_eq!(signature.len(), 43, "32 bytes in base64url without padding");
    let mapped = reply
        .text
        .replace(signature, "mwCIf58PyFOq5fxkO03_dHSb4bdUMWXOd_xwEONeoao")
        .replace(&file.id(), "697dc94b74a1f572c54b78cf")
        .replace(&cx.credentials.key, "svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ")
        .replace(&format!("\"fileSize\":{}", story::PDF.len()), "\"fileSize\":48213");
    assert_eq!(
        mapped,
        r#"{"success":true,"message":"Signed URL created successfully","data":{"url":"https://api.example.com/download/files/697dc94b74a1f572c54b78cf?exp=1769852400&kid=svck_RfJZUgVExJF32DK00DIYDXH21VOQOJ&d=attachment&sig=mwCIf58PyFOq5fxkO03_dHSb4bdUMWXOd_xwEONeoao","method":"GET","expiresAt":"2026-01-31T09:40:00.000Z","expiresIn":900,"fileName":"referral.pdf","contentType":"application/pdf","fileSize":48213}}"#
    );
    assert_eq!(reply.header("etag"), None);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    // The host of the request is never used.
    let call = cx.call("GET", &format!("{}/signed-url", file_path(&contact, &file.id())));
    let reply =
        call.header("host", "evil.example").header("x-forwarded-host", "evil.example").send().expect(200);
    assert!(
        reply.data()["url"].as_str().is_some_and(|url| url.starts_with("https://api.example.com/download/"))
    );
}

fn lifetimes(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let path = format!("{}/signed-url", file_path(&contact, &upload(&cx, &contact, "a.txt", b"x").id()));
    for (sent, seconds) in [("60", 60), ("61", 61), ("900", 900), ("86400", 86_400), ("0060", 60), ("", 900)]
    {
        let reply = cx.get(&format!("{path}?expiresIn={sent}")).expect(200);
        assert_eq!(reply.data()["expiresIn"], seconds, "{sent}");
    }
    for (sent, kind) in [
        ("59", "minimum"),
        ("0", "minimum"),
        ("-1", "minimum"),
        ("-99999999999999999999999", "minimum"),
        ("86401", "maximum"),
        ("99999999999999999999999", "maximum"),
        ("text", "type"),
        ("900.0", "type"),
        ("9e2", "type"),
        ("%2B900", "type"),
        ("15m", "type"),
        ("0x100", "type"),
        ("%20900", "type"),
    ] {
        let reply = cx.get(&format!("{path}?expiresIn={sent}")).invalid(&[("expiresIn", kind)]);
        assert_eq!(reply.violation(0)["in"], "query");
    }
}

/// The expiry is in whole seconds, and never earlier than promised.
fn the_end_is_in_whole_seconds(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"x").id();
    for (now, end) in [
        ("2026-01-31T10:00:00.000Z", "2026-01-31T10:01:00.000Z"),
        ("2026-01-31T10:00:00.001Z", "2026-01-31T10:01:01.000Z"),
        ("2026-01-31T10:00:00.999Z", "2026-01-31T10:01:01.000Z"),
    ] {
        cx.clock.set(instant(now));
        let reply = cx.get(&format!("{}/signed-url?expiresIn=60", file_path(&contact, &id))).expect(200);
        assert_eq!(reply.data()["expiresAt"], end);
        assert_eq!(reply.data()["expiresIn"], 60);
        let link = target(reply.data()["url"].as_str().expect("a URL"));
        assert!(link.contains(&format!("?exp={}&", instant(end).millis() / 1_000)));
        cx.clock.set(instant(end));
        cx.advance(-1);
        let _ = follow(&cx, &link).expect(200);
        cx.advance(1);
        let _ = follow(&cx, &link).fails(403, "SIGNED_URL_EXPIRED");
    }
}

/// Inline only for PDF, images, audio, video and plain text.
fn dispositions(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (extension, media_type, content) in samples::all() {
        let file = upload(&cx, &contact, &format!("a.{extension}"), &content);
        assert_eq!(file.data()["contentType"], media_type);
        let path = format!("{}/signed-url", file_path(&contact, &file.id()));
        let shown = ["application/pdf", "text/plain"].contains(&media_type)
            || ["image/", "audio/", "video/"].iter().any(|family| media_type.starts_with(family));
        let reply = cx.get(&format!("{path}?disposition=inline"));
        if shown {
            let url = reply.expect(200).data()["url"].as_str().expect("a URL").to_owned();
            assert!(url.contains("&d=inline&"), "{url}");
        } else {
            let reply = reply.invalid(&[("disposition", "conflict")]);
            assert_eq!(
                (&reply.violation(0)["in"], &reply.violation(0)["value"]),
                (&json!("query"), &json!("inline"))
            );
        }
        for query in ["disposition=attachment", "disposition=", ""] {
            assert!(url(&cx, &contact, &file.id(), query).contains("&d=attachment&"), "{extension}");
        }
    }
}

fn faults(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let path = format!("{}/signed-url", file_path(&contact, &upload(&cx, &contact, "a.csv", b"x").id()));
    for (query, expected) in [
        ("disposition=INLINE", vec![("disposition", "enum")]),
        ("disposition=download", vec![("disposition", "enum")]),
        ("expiresIn=60&expiresIn=60", vec![("expiresIn", "duplicate")]),
        ("expires=60", vec![("expires", "unknown")]),
        (
            "disposition=x&y=1&expiresIn=1",
            vec![("disposition", "enum"), ("y", "unknown"), ("expiresIn", "minimum")],
        ),
    ] {
        let _ = cx.get(&format!("{path}?{query}")).invalid(&expected);
    }
    // A rule that depends on the file is reported with the others.
    let reply = cx.get(&format!("{path}?expiresIn=1&disposition=inline")).fails(400, "VALIDATION_ERROR");
    assert!(reply.violations().contains(&("expiresIn", "minimum")), "{}", reply.text);
}

fn reusable_until_it_expires(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let link = link(&cx, &contact, &id, "expiresIn=120");
    for _ in 0..5 {
        assert_eq!(follow(&cx, &link).expect(200).text, "text");
        cx.advance(10_000);
    }
    // The files of an archived contact are readable.
    let _ = cx.patch(&format!("/contacts/platformid/{contact}/chatbots/<A>/archive")).expect(200);
    let _ = follow(&cx, &link).expect(200);
    cx.advance(71_000);
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_EXPIRED");
}

/// A URL issued to a separate key.
fn linked(cx: &Sandbox, contact: &str, key: &Credentials) -> (String, String) {
    let id = upload(cx, contact, "a.txt", b"text").id();
    let call = cx.call("GET", &format!("{}/signed-url", file_path(contact, &id))).with(key);
    let reply = call.send().expect(200);
    (id, target(reply.data()["url"].as_str().expect("a URL")))
}

fn an_expiring_key(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let key = cx.issue(|_| {});
    let (_, link) = linked(&cx, &contact, &key);
    let _ = follow(&cx, &link).expect(200);
    let selector = Sandbox::selector(&key);
    wait(cx.platform.disable_key(&operator(), &selector)).expect("disabled");
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_INVALID");
    wait(cx.platform.enable_key(&operator(), &selector)).expect("enabled");
    let _ = follow(&cx, &link).expect(200);
    wait(cx.platform.revoke_key(&operator(), &selector)).expect("revoked");
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_INVALID");
    // A key that expires by itself.
    let ending = cx.issue(|key| key.expires_at = Some(instant("2026-01-31T09:20:00.000Z")));
    let (_, link) = linked(&cx, &contact, &ending);
    cx.clock.set(instant("2026-01-31T09:19:59.999Z"));
    let _ = follow(&cx, &link).expect(200);
    cx.advance(1);
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_INVALID");
    let other = cx.issue(|_| {});
    let (_, link) = linked(&cx, &contact, &other);
    let _ = follow(&cx, &link).expect(200);
}

/// Secret rotation does not invalidate a signed URL.
fn a_rotated_secret(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let key = cx.issue(|_| {});
    let (_, link) = linked(&cx, &contact, &key);
    for _ in 0..3 {
        let _ = wait(cx.platform.rotate_key(&operator(), &Sandbox::selector(&key), 0)).expect("rotated");
        let _ = follow(&cx, &link).expect(200);
    }
}

fn disabled_and_deleted_agents(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let key = cx.issue(|_| {});
    let (_, link) = linked(&cx, &contact, &key);
    wait(cx.platform.disable_agent(&operator(), &cx.agent)).expect("disabled");
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_INVALID");
    wait(cx.platform.enable_agent(&operator(), &cx.agent)).expect("enabled");
    let _ = follow(&cx, &link).expect(200);
    wait(cx.platform.delete_agent(&operator(), &cx.agent)).expect("deleted");
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_INVALID");
}

fn deleted_files(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let (id, link) = linked(&cx, &contact, &cx.credentials.clone());
    let _ = cx.call("DELETE", &file_path(&contact, &id)).send().expect(200);
    let reply = follow(&cx, &link).fails(404, "FILE_NOT_FOUND");
    assert_eq!(reply.json["details"], json!({ "resource": "file", "id": id }));
    let path = format!("{}/signed-url", file_path(&contact, &id));
    let _ = cx.get(&path).fails(404, "FILE_NOT_FOUND");
}

/// INVALID, then EXPIRED, then FILE_NOT_FOUND (contract 2.2).
fn the_order_of_the_checks(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let key = cx.issue(|_| {});
    let (id, link) = linked(&cx, &contact, &key);
    let _ = cx.call("DELETE", &file_path(&contact, &id)).send().expect(200);
    let _ = follow(&cx, &link).fails(404, "FILE_NOT_FOUND");
    let _ = follow(&cx, &link.replace("d=attachment", "d=inline")).fails(403, "SIGNED_URL_INVALID");
    cx.advance(901_000);
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_EXPIRED");
    let _ = follow(&cx, &link.replace("d=attachment", "d=inline")).fails(403, "SIGNED_URL_INVALID");
    wait(cx.platform.revoke_key(&operator(), &Sandbox::selector(&key))).expect("revoked");
    let _ = follow(&cx, &link).fails(403, "SIGNED_URL_INVALID");
}

/// The parameters of a URL.
fn parts(link: &str) -> (String, Vec<(String, String)>) {
    let (path, query) = link.split_once('?').expect("a query");
    let parts = query.split('&').map(|part| {
        let (name, value) = part.split_once('=').expect("a pair");
        (name.to_owned(), value.to_owned())
    });
    (path.to_owned(), parts.collect())
}

fn whole(path: &str, parts: &[(String, String)]) -> String {
    let query: Vec<String> = parts.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{path}?{}", query.join("&"))
}

fn altered_parts(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let link = link(&cx, &contact, &id, "");
    let (path, query) = parts(&link);
    let names: Vec<&str> = query.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["exp", "kid", "d", "sig"]);
    let mut asked = 0;
    let mut refused = |link: &str| {
        asked += 1;
        if asked % 250 == 0 {
            // A single address would exceed its limit; the URL is still valid.
            cx.advance(61_000);
        }
        let reply = follow(&cx, link);
        assert_eq!((reply.status, reply.code()), (403, "SIGNED_URL_INVALID"), "{link}");
    };
    for at in 0..query.len() {
        let mut missing = query.clone();
        missing.remove(at);
        refused(&whole(&path, &missing));
        let mut empty = query.clone();
        empty[at].1.clear();
        refused(&whole(&path, &empty));
        let mut twice = query.clone();
        twice.push(query[at].clone());
        refused(&whole(&path, &twice));
        let mut renamed = query.clone();
        renamed[at].0 = renamed[at].0.to_uppercase();
        refused(&whole(&path, &renamed));
        // Every character in turn.
        for position in 0..query[at].1.len() {
            let mut changed = query.clone();
            let mut value = changed[at].1.clone().into_bytes();
            value[position] = match value[position] {
                b'0'..=b'8' => value[position] + 1,
                b'9' => b'0',
                b'A' => b'B',
                _ => b'A',
            };
            changed[at].1 = String::from_utf8(value).expect("ASCII");
            refused(&whole(&path, &changed));
        }
        for (name, value) in [("cut", &query[at].1[1..]), ("cut", &query[at].1[..query[at].1.len() - 1])] {
            let mut cut = query.clone();
            cut[at].1 = value.to_owned();
            assert_eq!(name, "cut");
            refused(&whole(&path, &cut));
        }
        let mut longer = query.clone();
        longer[at].1.push('0');
        refused(&whole(&path, &longer));
    }
    for exp in ["0", "-1", "99999999999", "9999999999999999999999", "1e9", "2026-01-31T09:40:00.000Z"] {
        let mut other = query.clone();
        other[0].1 = exp.to_owned();
        refused(&whole(&path, &other));
    }
    let mut zero = query.clone();
    zero[0].1.insert(0, '0');
    refused(&whole(&path, &zero));
    let mut padded = query.clone();
    padded[3].1.push_str("%3D");
    refused(&whole(&path, &padded));
    refused(&path);
    refused(&format!("{path}?"));
    for id in ["697dc94b74a1f572c54b7800", "x", "..", "%00", "a.txt"] {
        refused(&whole(&format!("/download/files/{id}"), &query));
    }
    // The order of the parameters is irrelevant, and none of this has used the URL up.
    let mut turned = query.clone();
    turned.reverse();
    let _ = follow(&cx, &whole(&path, &turned)).expect(200);
    let _ = follow(&cx, &link).expect(200);
}

fn parts_of_another_url(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let first = upload(&cx, &contact, "a.txt", b"one").id();
    let second = upload(&cx, &contact, "a.txt", b"two").id();
    let other_key = cx.issue(|_| {});
    let call = cx.call("GET", &format!("{}/signed-url", file_path(&contact, &first))).with(&other_key);
    let by_other = target(call.send().expect(200).data()["url"].as_str().expect("a URL"));
    let (path, query) = parts(&link(&cx, &contact, &first, ""));
    for other in [
        link(&cx, &contact, &second, ""),
        link(&cx, &contact, &first, "disposition=inline"),
        link(&cx, &contact, &first, "expiresIn=901"),
        by_other,
    ] {
        let (other_path, other_query) = parts(&other);
        let _ = follow(&cx, &other).expect(200);
        let mut mixed = query.clone();
        mixed[3] = other_query[3].clone();
        let _ = follow(&cx, &whole(&path, &mixed)).fails(403, "SIGNED_URL_INVALID");
        if other_path != path {
            let _ = follow(&cx, &whole(&other_path, &query)).fails(403, "SIGNED_URL_INVALID");
        }
    }
}

fn other_parameters(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let link = link(&cx, &contact, &id, "");
    for more in [
        "utm_source=mail",
        "x",
        "x=1&x=2",
        "_=1",
        "disposition=inline",
        "Exp=1",
        "=",
        "response-content-type=text%2Fhtml",
    ] {
        let reply = follow(&cx, &format!("{link}&{more}")).expect(200);
        assert_eq!((reply.text.as_str(), reply.header("content-type")), ("text", Some("text/plain")));
        assert!(reply.header("content-disposition").is_some_and(|value| value.starts_with("attachment;")));
        let (path, query) = link.split_once('?').expect("a query");
        let _ = follow(&cx, &format!("{path}?{more}&{query}")).expect(200);
    }
    // Percent-encoding is decoded before the parts are compared.
    let _ = follow(&cx, &link.replace("d=attachment", "d=%61ttachment")).expect(200);
    // Invalid encoding is step 1.
    let _ = follow(&cx, &format!("{link}&x=%zz")).fails(400, "BAD_REQUEST");
}

/// Server keys rotate with overlap: a URL is valid as long as the key that signed it is known.
fn rotation_of_server_keys(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let old = link(&cx, &contact, &id, "");
    let with_keys = |keys: ServerKeys| {
        let clock = Arc::clone(&cx.clock) as Arc<dyn Clock>;
        let ids = Arc::new(SequentialIds::default());
        cx.rebuilt(Ports::new(clock, ids, keys).with_blobs(Arc::new(cx.blobs.clone())), |_| {})
    };
    let rotated = with_keys(ServerKeys::new(ServerKey::new(&[8; 32]), vec![ServerKey::new(&[7; 32])]));
    let _ = follow(&rotated, &old).expect(200);
    let new = link(&rotated, &contact, &id, "");
    assert_ne!(new, old);
    let _ = follow(&rotated, &new).expect(200);
    let alone = with_keys(ServerKeys::new(ServerKey::new(&[8; 32]), Vec::new()));
    let _ = follow(&alone, &old).fails(403, "SIGNED_URL_INVALID");
    // The signature is valid; the content was sealed with the key that is gone.
    let _ = follow(&alone, &new).fails(500, "INTERNAL_ERROR");
    let _ = follow(&cx, &new).fails(403, "SIGNED_URL_INVALID");
}

/// The key's permission is checked when the URL is created; a read permission does not allow deletion.
fn permissions_are_checked_at_creation(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let reader = cx.key_that_may("contacts:read");
    let (_, link) = linked(&cx, &contact, &reader);
    let edit =
        openapi_core::admin::KeyEdit { permissions: "contacts:create".parse().ok(), ..Default::default() };
    wait(cx.platform.edit_key(&operator(), &Sandbox::selector(&reader), edit)).expect("edited");
    let _ = follow(&cx, &link).expect(200);
    for method in ["DELETE", "POST", "PUT", "PATCH"] {
        let reply = cx.at(method, &link).anonymous().send().fails(405, "METHOD_NOT_ALLOWED");
        assert!(reply.header("allow").is_some_and(|allow| allow.contains("GET") && allow.contains("HEAD")));
    }
}

fn every_url_is_for_its_own_file(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let files: Vec<(String, String)> = (0..10)
        .map(|n| {
            let content = format!("content {n}");
            (content.clone(), upload(&cx, &contact, "a.txt", content.as_bytes()).id())
        })
        .collect();
    for (content, id) in &files {
        assert_eq!(follow(&cx, &link(&cx, &contact, id, "")).expect(200).text, *content);
    }
}
