//! GET {origin}/download/files/<fid> (contract 2.2, 8.3).

use std::sync::Arc;

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::json;

use crate::samples;
use crate::streams::PiecemealBlobs;
use crate::support::{follow, link, sandbox, sha256, upload};

on_every_backend!(
    the_whole_file,
    head,
    content_to_the_byte,
    single_ranges,
    other_forms_of_range_are_ignored,
    unsatisfiable_ranges,
    if_range,
    names,
    types,
    without_keys,
    limit_per_address,
    not_counted_for_the_key,
    conditions_are_ignored,
    what_the_client_has,
);

/// A file of 10 bytes, and a link to it.
fn ten(backend: Backend) -> (Sandbox, String, String) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "digits.txt", b"0123456789").id();
    let link = link(&cx, &contact, &id, "expiresIn=86400");
    (cx, link, sha256(b"0123456789"))
}

fn the_whole_file(backend: Backend) {
    let (cx, link, digest) = ten(backend);
    let reply = follow(&cx, &link).expect(200);
    assert_eq!(&*reply.bytes, b"0123456789");
    let tag = format!("\"{digest}\"");
    for (name, value) in [
        ("content-type", "text/plain"),
        ("content-length", "10"),
        ("etag", tag.as_str()),
        ("accept-ranges", "bytes"),
        ("content-disposition", "attachment; filename=\"digits.txt\"; filename*=UTF-8''digits.txt"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "private, no-store"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    for absent in [
        "content-range",
        "location",
        "content-encoding",
        "vary",
        "ratelimit",
        "x-ratelimit-limit",
        "set-cookie",
    ] {
        assert_eq!(reply.header(absent), None, "{absent}");
    }
}

fn head(backend: Backend) {
    let (cx, link, _) = ten(backend);
    let whole = follow(&cx, &link).expect(200);
    let head = cx.at("HEAD", &link).anonymous().send().expect(200);
    assert!(head.bytes.is_empty());
    for name in
        ["content-type", "content-length", "etag", "accept-ranges", "content-disposition", "cache-control"]
    {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    let _ = cx.at("HEAD", &link.replace("attachment", "inline")).anonymous().send().expect(403);
}

fn content_to_the_byte(backend: Backend) {
    let (plain, contact) = sandbox(backend);
    // A store that reads and writes a few bytes at a time.
    for piece in [1, 7, 65_536] {
        let blobs = PiecemealBlobs::new(plain.blobs.clone(), piece);
        let cx = plain.rebuilt(plain.ports().with_blobs(Arc::new(blobs)), |_| {});
        for size in [1, 2, 3, 63, 64, 4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 200_001] {
            if piece == 1 && size > 4_096 {
                continue;
            }
            let content: Vec<u8> = b"GIF89a"
                .iter()
                .copied()
                .chain((0..).map(|n: u32| (n * 31 + n / 251) as u8))
                .take(size)
                .collect();
            let content = if size < 6 { vec![b'x'; size] } else { content };
            let file = upload(&cx, &contact, "a.txt", &content);
            assert_eq!(file.data()["sha256"], sha256(&content));
            let link = link(&cx, &contact, &file.id(), "");
            let reply = follow(&cx, &link).expect(200);
            assert!(reply.bytes == content, "{size} bytes in pieces of {piece}");
            assert_eq!(reply.header("content-length"), Some(size.to_string().as_str()));
            let (first, last) = (size / 3, size - 1 - size / 5);
            if first <= last {
                let reply = cx
                    .at("GET", &link)
                    .anonymous()
                    .header("range", &format!("bytes={first}-{last}"))
                    .send()
                    .expect(206);
                assert!(reply.bytes == content[first..=last]);
            }
            cx.advance(1_000);
        }
    }
}

fn ranged(cx: &Sandbox, link: &str, range: &str) -> Reply {
    cx.at("GET", link).anonymous().header("range", range).send()
}

fn single_ranges(backend: Backend) {
    let (cx, link, digest) = ten(backend);
    for (range, content, of) in [
        ("bytes=0-0", "0", "bytes 0-0/10"),
        ("bytes=0-9", "0123456789", "bytes 0-9/10"),
        ("bytes=9-9", "9", "bytes 9-9/10"),
        ("bytes=3-5", "345", "bytes 3-5/10"),
        ("bytes=3-", "3456789", "bytes 3-9/10"),
        ("bytes=0-", "0123456789", "bytes 0-9/10"),
        ("bytes=9-", "9", "bytes 9-9/10"),
        ("bytes=-1", "9", "bytes 9-9/10"),
        ("bytes=-4", "6789", "bytes 6-9/10"),
        ("bytes=-10", "0123456789", "bytes 0-9/10"),
        ("bytes=-11", "0123456789", "bytes 0-9/10"),
        ("bytes=-99999999999999999999999", "0123456789", "bytes 0-9/10"),
        ("bytes=5-10", "56789", "bytes 5-9/10"),
        ("bytes=5-99999999999999999999999", "56789", "bytes 5-9/10"),
        ("bytes=00003-00005", "345", "bytes 3-5/10"),
        ("Bytes=3-5", "345", "bytes 3-5/10"),
    ] {
        let reply = ranged(&cx, &link, range).expect(206);
        assert_eq!((reply.text.as_str(), reply.header("content-range")), (content, Some(of)), "{range}");
        assert_eq!(reply.header("content-length"), Some(content.len().to_string().as_str()));
        assert_eq!(reply.header("etag"), Some(format!("\"{digest}\"").as_str()));
        assert!(reply.header("content-disposition").is_some());
    }
}

fn other_forms_of_range_are_ignored(backend: Backend) {
    let (cx, link, _) = ten(backend);
    for range in [
        "bytes=0-1,3-4",
        "bytes=0-0,-1",
        "bytes=0-1,",
        "bytes=,0-1",
        "bytes=0-1, 2-3",
        "bytes=10-20,30-40",
        "bytes=5-2",
        "bytes=-",
        "bytes=",
        "bytes",
        "bytes=a-b",
        "bytes=0x1-2",
        "bytes=1.5-2",
        "bytes=+1-2",
        "bytes=--1",
        "bytes=1--2",
        "bytes=1-2-3",
        "bytes=1",
        "bytes 0-1",
        "bytes:0-1",
        "items=0-1",
        "none",
        "",
        "0-1",
        "bytes=1 - 2",
        "bytes=\u{661}-\u{662}",
    ] {
        let reply = cx.at("GET", &link).anonymous().raw_header("range", range.as_bytes()).send().expect(200);
        assert_eq!(reply.text, "0123456789", "{range}");
    }
    let twice =
        cx.at("GET", &link).anonymous().header("range", "bytes=0-1").header("range", "bytes=3-4").send();
    assert_eq!(twice.expect(200).text, "0123456789");
    // A range applies to GET only (RFC 9110).
    for range in ["bytes=0-1", "bytes=10-"] {
        let reply = cx.at("HEAD", &link).anonymous().header("range", range).send().expect(200);
        assert_eq!((reply.header("content-length"), reply.header("content-range")), (Some("10"), None));
    }
}

fn unsatisfiable_ranges(backend: Backend) {
    let (cx, link, _) = ten(backend);
    for range in ["bytes=10-", "bytes=10-10", "bytes=11-20", "bytes=99999999999999999999999-", "bytes=-0"] {
        let reply = ranged(&cx, &link, range).fails(416, "RANGE_NOT_SATISFIABLE");
        assert_eq!(reply.header("content-range"), Some("bytes */10"), "{range}");
        assert_eq!(reply.header("etag"), None);
    }
    // The link is checked first.
    let _ = ranged(&cx, &link.replace("attachment", "inline"), "bytes=10-").fails(403, "SIGNED_URL_INVALID");
}

fn if_range(backend: Backend) {
    let (cx, link, digest) = ten(backend);
    let call = |condition: &str, range: &str| {
        cx.at("GET", &link).anonymous().header("range", range).header("if-range", condition).send()
    };
    assert_eq!(call(&format!("\"{digest}\""), "bytes=3-5").expect(206).text, "345");
    let _ = call(&format!("\"{digest}\""), "bytes=10-").fails(416, "RANGE_NOT_SATISFIABLE");
    for other in [
        "\"x\"".to_owned(),
        format!("W/\"{digest}\""),
        digest.clone(),
        "Sat, 31 Jan 2026 09:15:02 GMT".to_owned(),
        "*".to_owned(),
    ] {
        for range in ["bytes=3-5", "bytes=10-"] {
            assert_eq!(call(&other, range).expect(200).text, "0123456789", "{other}");
        }
    }
}

fn names(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (name, ascii, extended) in [
        ("referral.pdf", "referral.pdf", "referral.pdf"),
        ("scan 1.txt", "scan 1.txt", "scan%201.txt"),
        ("Zo\u{eb}.txt", "Zo_.txt", "Zo%C3%AB.txt"),
        ("100%.txt", "100_.txt", "100%25.txt"),
        ("a'b(c)*.txt", "a'b(c)_.txt", "a%27b%28c%29_.txt"),
        ("a;b,c=d.txt", "a;b,c=d.txt", "a%3Bb%2Cc%3Dd.txt"),
        ("\u{65e5}\u{672c}.txt", "__.txt", "%E6%97%A5%E6%9C%AC.txt"),
        ("a\u{1f600}.txt", "a_.txt", "a%F0%9F%98%80.txt"),
        ("!#$&+-.^_`{}~.txt", "!#$&+-.^_`{}~.txt", "!#$&+-.^_`%7B%7D~.txt"),
    ] {
        let id = upload(&cx, &contact, name, b"GIF89a\x01\0\x01\0\0\0\0;").id();
        for disposition in ["attachment", "inline"] {
            let link = link(&cx, &contact, &id, &format!("disposition={disposition}"));
            let expected = format!("{disposition}; filename=\"{ascii}\"; filename*=UTF-8''{extended}");
            assert_eq!(follow(&cx, &link).expect(200).header("content-disposition"), Some(expected.as_str()));
        }
    }
}

fn types(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (extension, media_type, content) in samples::all() {
        let id = upload(&cx, &contact, &format!("a.{extension}"), &content).id();
        let reply = follow(&cx, &link(&cx, &contact, &id, "")).expect(200);
        assert_eq!(reply.header("content-type"), Some(media_type));
        assert!(reply.bytes == content);
    }
}

/// A key is neither required nor checked.
fn without_keys(backend: Backend) {
    let (cx, link, _) = ten(backend);
    let wrong = contract_tests::Credentials { key: "nonsense".to_owned(), secret: "nonsense".to_owned() };
    let _ = cx.at("GET", &link).with(&wrong).send().expect(200);
    let _ = cx.at("GET", &link).send().expect(200);
    let reply = cx.at("OPTIONS", &link).anonymous().send().expect(204);
    assert!(reply.header("allow").is_some_and(|allow| allow.contains("GET") && allow.contains("HEAD")));
    // Outside {base_url}.
    let _ = cx.at("GET", &format!("/v1/open{link}")).send().fails(404, "ROUTE_NOT_FOUND");
}

fn limit_per_address(backend: Backend) {
    let (cx, link, _) = ten(backend);
    // Every download response counts, rejections too.
    let invalid = link.replace("attachment", "inline");
    for n in 0..300 {
        let _ = match n % 3 {
            0 => follow(&cx, &link).expect(200),
            1 => cx.at("HEAD", &link).anonymous().send().expect(200),
            _ => follow(&cx, &invalid).expect(403),
        };
    }
    let reply = follow(&cx, &link).fails(429, "TOO_MANY_FAILED_ATTEMPTS");
    assert!(reply.header("retry-after").is_some());
    let _ = follow(&cx, &invalid).fails(429, "TOO_MANY_FAILED_ATTEMPTS");
    // Other addresses and other traffic are unaffected.
    let _ = cx.at("GET", &link).anonymous().from("192.0.2.99").send().expect(200);
    let _ = cx.get("/contacts/chatbots/<A>").expect(200);
    let _ = cx.call("GET", "/health").anonymous().send().expect(200);
    cx.advance(59_999);
    let _ = follow(&cx, &link).expect(429);
    cx.advance(1);
    let _ = follow(&cx, &link).expect(200);
}

fn not_counted_for_the_key(backend: Backend) {
    let (cx, link, _) = ten(backend);
    let left =
        || cx.get("/contacts/chatbots/<A>").expect(200).header("x-ratelimit-remaining").map(str::to_owned);
    let before: u64 = left().expect("a number").parse().expect("a number");
    for _ in 0..20 {
        let _ = cx.at("GET", &link).send().expect(200);
    }
    assert_eq!(left().expect("a number").parse::<u64>().expect("a number"), before - 1);
}

/// 304 to every form of `If-None-Match` that has the entity tag, without content, whatever range is asked for.
fn what_the_client_has(backend: Backend) {
    let (cx, link, digest) = ten(backend);
    let tag = format!("\"{digest}\"");
    let forms = [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"other\", {tag}"),
        format!("{tag},\"other\""),
        format!(", \"a\",, W/{tag} ,"),
        "*".to_owned(),
        format!("  {tag}  "),
    ];
    for form in &forms {
        for method in ["GET", "HEAD"] {
            let call = cx.at(method, &link).anonymous().header("if-none-match", form);
            for call in [call.clone(), call.header("range", "bytes=0-3")] {
                let reply = call.send().expect(304);
                assert_eq!((reply.text.as_str(), reply.header("etag")), ("", Some(tag.as_str())), "{form}");
                assert_eq!(
                    (reply.header("content-range"), reply.header("content-type")),
                    (None, None),
                    "{form}"
                );
            }
        }
    }
    let several =
        cx.at("GET", &link).anonymous().header("if-none-match", "\"a\"").header("if-none-match", &tag);
    let _ = several.send().expect(304);
    for other in ["\"x\"", "W/\"x\"", &digest, "\"", "", &tag.to_uppercase()] {
        let reply = cx.at("GET", &link).anonymous().header("if-none-match", other).send();
        assert_eq!(reply.expect(200).text, "0123456789", "{other}");
    }
}

/// Contract 5.4 lists the conditional requests; a download supports If-None-Match and If-Range.
fn conditions_are_ignored(backend: Backend) {
    let (cx, link, digest) = ten(backend);
    let call = |name: &str, value: &str| cx.at("GET", &link).anonymous().header(name, value).send();
    assert_eq!(call("if-match", "\"x\"").expect(200).text, "0123456789");
    assert_eq!(call("accept", "application/json").expect(200).header("content-type"), Some("text/plain"));
    assert_eq!(call("accept-encoding", "gzip").expect(200).header("content-encoding"), None);
    assert_eq!(call("if-none-match", "\"x\"").expect(200).json, json!(null));
    assert!(call("x-request-id", "mine").expect(200).header("etag").is_some_and(|tag| tag.contains(&digest)));
}
