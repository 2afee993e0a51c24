//! Bodies of `multipart/form-data` as clients and attackers write them (contract 5.1, 9; RFC 2046, RFC 7578).
//!
//! Where the contract specifies the response, exactly that is expected; otherwise a success or a documented rejection.
//! A rejected upload leaves no data.

use contract_tests::call::Chunk;
use contract_tests::sandbox::wait;
use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::support::{blobs, file_path, files_of, nothing_is_stored, sandbox, total};

on_every_backend!(
    cut_anywhere,
    in_chunks_of_every_size,
    split_at_every_byte,
    lookalikes_of_a_boundary,
    content_of_every_byte,
    broken_framing,
    preamble_and_epilogue,
    part_headers,
    large_part_headers,
    many_parts,
    nested_forms,
    parameters_of_the_media_type,
    inserted_and_removed_bytes,
);

const MEDIA_TYPE: &str = "multipart/form-data; boundary=x";
const HEAD: &str = "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"";

/// A body with one file.
fn body(content: &[u8]) -> Vec<u8> {
    [format!("--x\r\n{HEAD}\r\n\r\n").as_bytes(), content, b"\r\n--x--\r\n"].concat()
}

fn post(cx: &Sandbox, contact: &str, body: &[u8]) -> Reply {
    cx.call("POST", &files_of(contact)).bytes(body).header("content-type", MEDIA_TYPE).send()
}

fn post_chunks(cx: &Sandbox, contact: &str, chunks: Vec<Chunk>) -> Reply {
    cx.call("POST", &files_of(contact)).chunks(chunks).header("content-type", MEDIA_TYPE).send()
}

fn chunk(bytes: &[u8]) -> Chunk {
    Chunk::Bytes(bytes.to_vec().into())
}

/// The content that was stored for an upload.
fn content_of(cx: &Sandbox, contact: &str, reply: &Reply) -> Vec<u8> {
    let link = crate::support::link(cx, contact, &reply.id(), "");
    // A minute later, so that no address limit is reached.
    cx.advance(1_000);
    crate::support::follow(cx, &link).expect(200).bytes.to_vec()
}

/// A success, or a rejection that the contract documents and that stores nothing.
#[track_caller]
fn documented(cx: &Sandbox, contact: &str, reply: &Reply, what: &str) {
    match reply.status {
        201 => {
            let id = reply.id();
            let _ = cx.call("DELETE", &file_path(contact, &id)).send().expect(200);
            cx.advance(31 * 24 * 3_600_000);
            wait(cx.platform.purge_due_contents()).expect("purged");
        }
        400 => assert!(["BAD_REQUEST", "VALIDATION_ERROR"].contains(&reply.code()), "{what}: {}", reply.text),
        413 => assert_eq!(reply.code(), "FILE_TOO_LARGE", "{what}"),
        415 => assert!(["UNSUPPORTED_FILE_TYPE", "UNSUPPORTED_MEDIA_TYPE"].contains(&reply.code()), "{what}"),
        other => panic!("{what}: {other} {}", reply.text),
    }
    assert_eq!(blobs(cx), [], "{what}");
    if reply.status != 201 {
        cx.advance(1_000);
    }
}

#[track_caller]
fn is_broken(cx: &Sandbox, contact: &str, bytes: &[u8], what: &str) {
    for reply in [post(cx, contact, bytes), post_chunks(cx, contact, bytes.chunks(3).map(chunk).collect())] {
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "{what}: {}", reply.shown());
    }
    cx.advance(1_000);
    assert_eq!(blobs(cx), [], "{what}");
}

/// A body that ends before its closing boundary is rejected wherever it ends.
fn cut_anywhere(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let whole = body(b"some text\r\nof two lines");
    let closed = whole.len() - 2;
    // The first byte makes it a body; an empty one counts as absent.
    for at in 1..closed {
        let reply = post(&cx, &contact, &whole[..at]);
        assert_eq!((reply.status, reply.code()), (400, "BAD_REQUEST"), "cut at {at}: {}", reply.shown());
        assert_eq!(blobs(&cx), [], "cut at {at}");
        cx.advance(1_000);
    }
    nothing_is_stored(&cx, &contact);
    // The line end after the closing boundary is optional (RFC 2046).
    let _ = post(&cx, &contact, &whole[..closed]).expect(201);
    let _ = post(&cx, &contact, &whole[..=closed]).expect(201);
}

fn in_chunks_of_every_size(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let content = b"--x no boundary\r\n--\r\n-\r--x\n\r\nend\r";
    let whole = body(content);
    for size in 1..=whole.len() {
        let reply = post_chunks(&cx, &contact, whole.chunks(size).map(chunk).collect()).expect(201);
        assert_eq!(content_of(&cx, &contact, &reply), content, "in chunks of {size}");
    }
}

fn split_at_every_byte(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let content = b"\r\n--y\r\n--\r\ntext\r\n";
    let whole = body(content);
    for at in 0..=whole.len() {
        let (begin, end) = whole.split_at(at);
        let reply = post_chunks(&cx, &contact, vec![chunk(begin), chunk(b""), chunk(end)]).expect(201);
        assert_eq!(reply.data()["fileSize"], content.len(), "split at {at}");
        if at % 10 == 0 {
            assert_eq!(content_of(&cx, &contact, &reply), content);
        }
        cx.advance(200);
    }
}

/// Only a preceding CRLF and two dashes make it a boundary.
fn lookalikes_of_a_boundary(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for content in [
        &b"--x"[..],
        b"--x--",
        b"--x--\r\n",
        b"a--x\r\n",
        b"a--x--\r\n",
        b"\n--x\n",
        b"\n--x--\n",
        b"\r--x\r",
        b"\r\n-x",
        b"\r\n-x--",
        b"\r\n --x",
        b"\r\n--",
        b"\r\n--\r\n",
        b"\r\n--X",
        b"\r\n--X--\r\n",
        b"\r\n\r\n",
        b"\r\n",
        b"\r",
        b"\n",
        b"\r\r\n\n",
        b"-",
        b"--",
        b"x",
        b"Content-Disposition: form-data; name=\"other\"\r\n\r\n",
    ] {
        let whole = body(content);
        for size in [1, 2, 5, whole.len()] {
            let reply = post_chunks(&cx, &contact, whole.chunks(size).map(chunk).collect());
            if content.starts_with(b"--x") {
                // Directly after the empty line: some parsers read it as the end of an empty part.
                if reply.status != 201 {
                    assert_eq!(reply.status, 400);
                    continue;
                }
            }
            assert_eq!(
                reply.status,
                201,
                "{:?} by {size}: {}",
                String::from_utf8_lossy(content),
                reply.shown()
            );
            assert_eq!(content_of(&cx, &contact, &reply), content, "{:?}", String::from_utf8_lossy(content));
        }
    }
    // A prefix of the real boundary, and the reverse.
    for (own, other) in [("ab", "a"), ("a", "b"), ("x-", "x--"), ("--", "-"), ("----", "--"), ("12", "1")] {
        let content = format!("one\r\n-{other}\r\ntwo\n--{own}\nthree");
        let bytes = format!("--{own}\r\n{HEAD}\r\n\r\n{content}\r\n--{own}--\r\n");
        let call = cx.call("POST", &files_of(&contact)).text(&bytes);
        let reply = call.header("content-type", &format!("multipart/form-data; boundary={own}")).send();
        if reply.status == 201 {
            assert_eq!(content_of(&cx, &contact, &reply), content.as_bytes(), "{own}");
        } else {
            let _ = reply.fails(400, "BAD_REQUEST");
        }
    }
}

fn content_of_every_byte(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let every: Vec<u8> = b"GIF89a".iter().copied().chain((0..=255).cycle().take(2_048)).collect();
    let reply = post(&cx, &contact, &body(&every)).expect(201);
    assert_eq!(content_of(&cx, &contact, &reply), every);
    for byte in 0..=255_u8 {
        let content = [b"GIF89a".as_slice(), &[byte]].concat();
        let reply = post(&cx, &contact, &body(&content)).expect(201);
        assert_eq!(content_of(&cx, &contact, &reply), content, "{byte}");
    }
}

fn broken_framing(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let head = HEAD;
    for (what, bytes) in [
        ("no boundary at all", "text".to_owned()),
        ("JSON", "{\"file\":\"text\"}".to_owned()),
        ("a form of another kind", "file=text&name=a.txt".to_owned()),
        ("line feeds alone", format!("--x\n{head}\n\ntext\n--x--\n")),
        ("carriage returns alone", format!("--x\r{head}\r\rtext\r--x--\r")),
        ("no closing boundary", format!("--x\r\n{head}\r\n\r\ntext\r\n")),
        ("another boundary in place of the closing one", format!("--x\r\n{head}\r\n\r\ntext\r\n--x\r\n")),
        ("one dash", format!("--x\r\n{head}\r\n\r\ntext\r\n--x-\r\n")),
        ("a closing boundary without its line end before", format!("--x\r\n{head}\r\n\r\ntext--x--\r\n")),
        ("a closing boundary after a line feed", format!("--x\r\n{head}\r\n\r\ntext\n--x--\r\n")),
        ("a closing boundary in another case", format!("--x\r\n{head}\r\n\r\ntext\r\n--X--\r\n")),
        ("no empty line after the header", format!("--x\r\n{head}\r\ntext\r\n--x--\r\n")),
        ("an end within the head", format!("--x\r\n{head}\r\n--x--\r\n")),
        ("no name", "--x\r\nContent-Type: text/plain\r\n\r\ntext\r\n--x--\r\n".to_owned()),
        ("no head", "--x\r\n\r\ntext\r\n--x--\r\n".to_owned()),
        ("a head without a colon", "--x\r\nnonsense\r\n\r\ntext\r\n--x--\r\n".to_owned()),
        ("dashes are missing", format!("x\r\n{head}\r\n\r\ntext\r\nx--\r\n")),
        ("a boundary within quotes in the body", format!("--\"x\"\r\n{head}\r\n\r\ntext\r\n--\"x\"--\r\n")),
        ("a second part without its head", format!("--x\r\n{head}\r\n\r\ntext\r\n--x\r\n--x--\r\n")),
        ("a second part without its end", format!("--x\r\n{head}\r\n\r\ntext\r\n--x\r\n{head}\r\n\r\nmore")),
        ("white space", " ".to_owned()),
        ("line ends", "\r\n\r\n".to_owned()),
        ("a NUL", "\0".to_owned()),
        ("a boundary", "--x".to_owned()),
        ("a boundary and its line end", "--x\r\n".to_owned()),
    ] {
        is_broken(&cx, &contact, bytes.as_bytes(), what);
    }
    nothing_is_stored(&cx, &contact);
}

fn preamble_and_epilogue(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let whole = String::from_utf8(body(b"text")).expect("text");
    // An epilogue must be ignored (RFC 2046).
    for epilogue in [
        "",
        "\r\n",
        "epilogue",
        "\r\nepilogue\r\n",
        "--x\r\n",
        "--x--\r\n",
        &format!("\r\n{whole}"),
        "\0\0\0",
    ] {
        let bytes = format!("{whole}{epilogue}");
        for size in [3, bytes.len()] {
            let reply = post_chunks(&cx, &contact, bytes.as_bytes().chunks(size).map(chunk).collect());
            assert_eq!(reply.status, 201, "{epilogue:?}: {}", reply.shown());
            assert_eq!(reply.data()["fileSize"], 4);
        }
    }
    for id in cx.get(&format!("{}?limit=100", files_of(&contact))).column("id") {
        let _ = cx.call("DELETE", &file_path(&contact, id.as_str().expect("an id"))).send().expect(200);
    }
    cx.advance(31 * 24 * 3_600_000);
    wait(cx.platform.purge_due_contents()).expect("purged");
    // Data before the first boundary, white space after one: accepted or rejected, never taken for content.
    for before in ["\r\n", "preamble\r\n", "--\r\n", "--y\r\n", "--xy\r\n", "\r\n\r\n\r\n"] {
        let reply = post(&cx, &contact, format!("{before}{whole}").as_bytes());
        if reply.status == 201 {
            assert_eq!(reply.data()["fileSize"], 4, "{before:?}");
        }
        documented(&cx, &contact, &reply, before);
    }
    for (from, to) in [
        ("--x\r\n", "--x \r\n"),
        ("--x\r\n", "--x\t\r\n"),
        ("--x--", "--x-- "),
        ("--x--", "--x --"),
        ("--x--\r\n", "--x--\n"),
        ("--x--\r\n", "--x-- \t \r\n"),
    ] {
        let reply = post(&cx, &contact, whole.replace(from, to).as_bytes());
        if reply.status == 201 {
            assert_eq!(reply.data()["fileSize"], 4, "{to:?}");
        }
        documented(&cx, &contact, &reply, to);
    }
    // No parts at all.
    for bytes in ["--x--\r\n", "--x--", "\r\n--x--\r\n", "--x\r\n--x--\r\n"] {
        let reply = post(&cx, &contact, bytes.as_bytes());
        assert!(["BAD_REQUEST", "VALIDATION_ERROR"].contains(&reply.code()), "{bytes:?}: {}", reply.text);
        documented(&cx, &contact, &reply, bytes);
    }
    nothing_is_stored(&cx, &contact);
}

fn part_headers(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let with = |head: &str| format!("--x\r\n{head}\r\n\r\ntext\r\n--x--\r\n");
    for head in [
        format!("{HEAD}\r\nContent-Type: text/plain; charset=utf-16"),
        format!("{HEAD}\r\nContent-Type: nonsense"),
        format!("{HEAD}\r\nContent-Type:"),
        format!("{HEAD}\r\nContent-Length: 4"),
        format!("{HEAD}\r\nContent-Length: 4000000"),
        format!("{HEAD}\r\nContent-Transfer-Encoding: binary"),
        format!("{HEAD}\r\nContent-Transfer-Encoding: base64"),
        format!("X-Before: 1\r\n{HEAD}\r\nX-After: 2"),
        HEAD.to_uppercase().replace("A.TXT", "a.txt").replace("NAME=\"FILE\"", "NAME=\"file\""),
        HEAD.replace(": ", ":"),
        HEAD.replace(": ", ":  "),
        format!("{HEAD};"),
        format!("{HEAD} "),
        format!("{HEAD}; filename2=\"x\"; size=4"),
    ] {
        let reply = post(&cx, &contact, with(&head).as_bytes());
        assert_eq!(reply.status, 201, "{head}: {}", reply.shown());
        assert_eq!(
            (&reply.data()["fileSize"], &reply.data()["fileName"]),
            (&4.into(), &"a.txt".into()),
            "{head}"
        );
        documented(&cx, &contact, &reply, &head);
    }
    for head in [
        // Folded lines, which HTTP has deprecated.
        "Content-Disposition: form-data;\r\n name=\"file\"".to_owned(),
        "Content-Disposition: form-data;\r\n\tname=\"file\";\r\n\tfilename=\"a.txt\"".to_owned(),
        format!(" {HEAD}"),
        HEAD.replace(": ", " : "),
        format!("{HEAD}\r\n{HEAD}"),
        format!("{HEAD}\r\n{}", HEAD.replace("\"file\"", "\"other\"")),
        format!("{HEAD}\r\nContent-Type: a\r\nContent-Type: b"),
        format!("{HEAD}\r\nX-Control: a\u{1}b"),
        format!("{HEAD}\r\nX-N\u{fc}: 1"),
        format!("{HEAD}\r\n: x"),
        HEAD.replace("\"file\"", "\"fi\\\"le\""),
        HEAD.replace("\"file\"", "\"%66ile\""),
        HEAD.replace("name=\"file\"", "name*=UTF-8''file"),
        HEAD.replace("name=\"file\"", "name=\"file\"; name=\"file\""),
        HEAD.replace("\"a.txt\"", "\"a.txt"),
        HEAD.replace("\"a.txt\"", "a b.txt"),
        HEAD.replace("\"a.txt\"", "\"a\"b.txt\""),
        HEAD.replace("\"a.txt\"", "\"a\\"),
        HEAD.replace("\"file\"", "\"\u{0}file\""),
        HEAD.replace("form-data", "form-data form-data"),
        HEAD.replace("form-data", ""),
        HEAD.replace("; ", ";;; "),
        HEAD.replace("; ", ", "),
        HEAD.replace('=', " = "),
        HEAD.replace('"', "'"),
    ] {
        let reply = post(&cx, &contact, with(&head).as_bytes());
        documented(&cx, &contact, &reply, &head);
        let reply = post_chunks(&cx, &contact, with(&head).as_bytes().chunks(1).map(chunk).collect());
        documented(&cx, &contact, &reply, &head);
    }
}

/// The memory for part headers is bounded.
fn large_part_headers(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let with = |head: &str| format!("--x\r\n{head}\r\n\r\ntext\r\n--x--\r\n");
    for size in [100, 1_000, 8_000, 60_000, 120_000, 200_000, 900_000, 2_000_000] {
        for head in [
            format!("{HEAD}\r\nX-Long: {}", "y".repeat(size)),
            format!("X-{}: 1\r\n{HEAD}", "Y".repeat(size)),
            HEAD.replace("a.txt", &"n".repeat(size)),
            HEAD.replace("\"file\"", &format!("\"{}\"", "f".repeat(size))),
            format!("{HEAD}\r\n{}", "X-Many: 1\r\n".repeat(size / 11)).trim_end().to_owned(),
            HEAD.replace("; ", &";".repeat(size)),
        ] {
            let bytes = with(&head);
            let reply = post(&cx, &contact, bytes.as_bytes());
            documented(&cx, &contact, &reply, &format!("{size} of {}", &head[..20]));
            let reply = post_chunks(&cx, &contact, bytes.as_bytes().chunks(10_000).map(chunk).collect());
            documented(&cx, &contact, &reply, &format!("{size} of {}", &head[..20]));
            assert!(size <= 1_024 * 1_024 || reply.status != 201, "more than 1 MiB besides the file");
        }
    }
    // A header that never ends.
    for endless in ["--x\r\nX-Endless: ", "--x\r\n", "", "--x", "\r\n"] {
        let mut chunks = vec![chunk(endless.as_bytes())];
        chunks.extend((0..60).map(|_| chunk(&vec![b'y'; 50_000])));
        let reply = post_chunks(&cx, &contact, chunks);
        assert!(["BAD_REQUEST", "FILE_TOO_LARGE"].contains(&reply.code()), "{}", reply.text);
        nothing_is_stored(&cx, &contact);
    }
}

fn many_parts(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let part = "--x\r\nContent-Disposition: form-data; name=\"p\"\r\n\r\n\r\n";
    let file = format!("--x\r\n{HEAD}\r\n\r\ntext\r\n");
    for count in [1, 10, 100, 1_000, 10_000] {
        for bytes in [
            format!("{}{file}--x--\r\n", part.repeat(count)),
            format!("{file}{}--x--\r\n", part.repeat(count)),
            format!("{}--x--\r\n", file.repeat(count + 1)),
        ] {
            let reply = post(&cx, &contact, bytes.as_bytes()).fails(400, "VALIDATION_ERROR");
            assert!(reply.violations().len() <= 100);
            nothing_is_stored(&cx, &contact);
        }
    }
    let bytes = format!("{}--x--\r\n", part.repeat(30_000));
    let _ = post(&cx, &contact, bytes.as_bytes()).fails(413, "FILE_TOO_LARGE");
}

/// A nested form is ordinary content.
fn nested_forms(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let inner = "--y\r\nContent-Disposition: file; filename=\"b.txt\"\r\n\r\ninner\r\n--y--\r\n";
    let bytes =
        format!("--x\r\n{HEAD}\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n{inner}\r\n--x--\r\n");
    let reply = post(&cx, &contact, bytes.as_bytes()).expect(201);
    assert_eq!(content_of(&cx, &contact, &reply), inner.as_bytes());
    // One that uses the outer boundary ends the outer part.
    let bytes = format!(
        "--x\r\n{HEAD}\r\nContent-Type: multipart/form-data; boundary=x\r\n\r\n{}--x--\r\n",
        "--x\r\n\r\n"
    );
    let before = total(&cx, &contact);
    let reply = post(&cx, &contact, bytes.as_bytes());
    assert!((200..500).contains(&reply.status));
    assert_eq!(total(&cx, &contact) - before, u64::from(reply.status == 201));
    let mut deep = "text".to_owned();
    for n in 0..200 {
        deep = format!(
            "--b{n}\r\nContent-Type: multipart/mixed; boundary=b{}\r\n\r\n{deep}\r\n--b{n}--\r\n",
            n.max(1) - 1
        );
    }
    let reply = post(&cx, &contact, &body(deep.as_bytes())).expect(201);
    assert_eq!(content_of(&cx, &contact, &reply), deep.as_bytes());
}

fn parameters_of_the_media_type(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let bytes = body(b"text");
    for (media_type, status) in [
        ("multipart/form-data; boundary=x", Some(201)),
        ("multipart/form-data;boundary=x", Some(201)),
        ("multipart/form-data; boundary=\"x\"", Some(201)),
        ("MULTIPART/FORM-DATA; BOUNDARY=x", Some(201)),
        ("multipart/form-data; charset=utf-8; boundary=x", Some(201)),
        ("multipart/form-data; boundary=x; charset=utf-8", Some(201)),
        ("multipart/form-data ; boundary=x", None),
        ("multipart/form-data; boundary=x;", None),
        ("multipart/form-data; boundary =x", None),
        ("multipart/form-data; boundary= x", None),
        ("multipart/form-data; boundary=x; boundary=y", None),
        ("multipart/form-data; boundary=y; boundary=x", None),
        ("multipart/form-data; boundary=\"x", None),
        ("multipart/form-data; boundary=x\"", None),
        ("multipart/form-data; boundary='x'", Some(400)),
        ("multipart/form-data; boundary=X", Some(400)),
        ("multipart/form-data; boundary=--x", Some(400)),
        ("multipart/form-data; boundary*=UTF-8''x", Some(400)),
        ("multipart/form-data; bound=x", Some(400)),
        ("multipart/form-data, boundary=x", None),
        ("multipart/form-data boundary=x", None),
        ("multipart/form-data; x", Some(400)),
        ("multipart/form-data; boundary=\"\\x\"", None),
    ] {
        let call = cx.call("POST", &files_of(&contact)).bytes(&bytes).header("content-type", media_type);
        let reply = call.send();
        if let Some(status) = status {
            assert_eq!(reply.status, status, "{media_type}: {}", reply.shown());
        }
        documented(&cx, &contact, &reply, media_type);
    }
    // Given twice.
    let call = cx.call("POST", &files_of(&contact)).bytes(&bytes).header("content-type", MEDIA_TYPE);
    let reply = call.header("content-type", "multipart/form-data; boundary=y").send();
    documented(&cx, &contact, &reply, "two media types");
}

/// At every position: one byte more, one fewer, one changed.
fn inserted_and_removed_bytes(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let whole = body(b"text");
    for at in 0..whole.len() {
        for byte in *b"\r\n-x;\" \0" {
            let (mut more, mut other) = (whole.clone(), whole.clone());
            more.insert(at, byte);
            other[at] = byte;
            for changed in [more, other] {
                let reply = post(&cx, &contact, &changed);
                documented(
                    &cx,
                    &contact,
                    &reply,
                    &format!("{byte} at {at}: {:?}", String::from_utf8_lossy(&changed)),
                );
            }
        }
        let mut fewer = whole.clone();
        fewer.remove(at);
        let reply = post(&cx, &contact, &fewer);
        documented(&cx, &contact, &reply, &format!("without {at}"));
    }
}

/// Fragments of bodies.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"--x\r\n".to_vec()),
        2 => Just(b"--x--\r\n".to_vec()),
        3 => Just(format!("{HEAD}\r\n").into_bytes()),
        1 => Just(b"Content-Disposition: form-data; name=\"other\"\r\n".to_vec()),
        1 => Just(b"Content-Type: text/html\r\n".to_vec()),
        3 => Just(b"\r\n".to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"--".to_vec()),
        2 => Just(b"text".to_vec()),
        1 => Just(b"MZ\x90\0".to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(Config { cases: 300, failure_persistence: None, ..Config::default() })]

    /// However the fragments are combined and chunked: documented responses, independent of the chunking.
    #[test]
    fn any_body_is_accepted_or_rejected(bytes in pieces(), size in 1_usize..40) {
        let (cx, contact) = sandbox(Backend::Memory);
        let whole = post(&cx, &contact, &bytes);
        documented(&cx, &contact, &whole, &String::from_utf8_lossy(&bytes));
        let cut = post_chunks(&cx, &contact, bytes.chunks(size).map(chunk).collect());
        documented(&cx, &contact, &cut, &String::from_utf8_lossy(&bytes));
        prop_assert_eq!((whole.status, whole.code()), (cut.status, cut.code()), "{:?}", String::from_utf8_lossy(&bytes));
        if whole.status == 201 {
            prop_assert_eq!(&whole.data()["sha256"], &cut.data()["sha256"]);
        }
    }
}
