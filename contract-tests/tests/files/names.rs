//! File names (contract 2.2): names as sent and as stored, derived by hand from the rules.

use contract_tests::{Backend, Form, Sandbox, on_every_backend};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::support::{files_of, sandbox, send};

on_every_backend!(
    paths,
    removed_characters,
    replaced_characters,
    ends,
    devices,
    normalisation,
    length,
    nothing_left,
    percent_signs_and_quotes,
    plain_names_stay,
);

/// Uploads text under each name, sent as `filename*` so that every character is possible, and compares the stored
/// name.
#[track_caller]
fn stored(backend: Backend, names: &[(&str, &str)]) {
    let (cx, contact) = sandbox(backend);
    for (sent, expected) in names {
        assert_eq!(name_of(&cx, &contact, sent), *expected, "{sent:?}");
    }
}

fn name_of(cx: &Sandbox, contact: &str, sent: &str) -> String {
    let encoded: String = sent.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let disposition = format!("Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''{encoded}");
    let reply = send(cx, contact, &Form::new().part(&[&disposition], b"text")).expect(201);
    reply.data()["fileName"].as_str().expect("a name").to_owned()
}

fn paths(backend: Backend) {
    stored(
        backend,
        &[
            ("/etc/passwd", "passwd"),
            ("../../etc/passwd", "passwd"),
            ("..\\..\\windows\\system32\\cmd.txt", "cmd.txt"),
            ("C:\\Users\\zoe\\scan.pdf", "scan.pdf"),
            ("C:/Users/zoe/scan.pdf", "scan.pdf"),
            ("C:scan.pdf", "C_scan.pdf"),
            ("\\\\server\\share\\a.txt", "a.txt"),
            ("\\\\?\\C:\\a.txt", "a.txt"),
            ("\\\\.\\PhysicalDrive0", "PhysicalDrive0"),
            ("//host/a.txt", "a.txt"),
            ("file:///etc/hosts", "hosts"),
            ("a/b\\c/d.txt", "d.txt"),
            ("a\\b/c\\d.txt", "d.txt"),
            ("./a.txt", "a.txt"),
            ("~/a.txt", "a.txt"),
            ("~root", "~root"),
            ("a/../b.txt", "b.txt"),
            ("a.txt/", "file.txt"),
            ("a.txt\\", "file.txt"),
            ("a.txt/..", "file.txt"),
            ("/", "file.txt"),
            ("\\", "file.txt"),
            ("..", "file.txt"),
            (".", "file.txt"),
            ("../", "file.txt"),
            ("..\\", "file.txt"),
            ("a/\u{0}", "file.txt"),
            // Lookalikes of a slash are not slashes.
            ("a\u{2215}b.txt", "a\u{2215}b.txt"),
            ("a\u{ff0f}b.txt", "a\u{ff0f}b.txt"),
            ("a\u{2044}b.txt", "a\u{2044}b.txt"),
            ("..%2f..%2fetc", "%2f..%2fetc"),
            ("..%5c..%5cetc", "%5c..%5cetc"),
            ("a.txt:stream", "a.txt_stream"),
            ("a.txt::$DATA", "a.txt__$DATA"),
        ],
    );
}

fn removed_characters(backend: Backend) {
    stored(
        backend,
        &[
            ("a\u{0}b.txt", "ab.txt"),
            ("a.txt\u{0}.png", "a.txt.png"),
            ("a\r\nb.txt", "ab.txt"),
            ("a\tb.txt", "ab.txt"),
            ("a\u{1}\u{1f}\u{7f}b.txt", "ab.txt"),
            ("a\u{80}\u{85}\u{9f}b.txt", "ab.txt"),
            ("\u{1b}[31mred.txt", "[31mred.txt"),
            // Bidirectional controls.
            ("in\u{202e}fdp.txt", "infdp.txt"),
            ("\u{202a}a\u{202b}b\u{202c}c\u{202d}d\u{202e}e.txt", "abcde.txt"),
            ("\u{2066}a\u{2067}b\u{2068}c\u{2069}d.txt", "abcd.txt"),
            ("\u{200e}a\u{200f}b\u{61c}c.txt", "abc.txt"),
            // Zero width.
            ("a\u{200b}b\u{200c}c\u{200d}d.txt", "abcd.txt"),
            ("\u{feff}a.txt", "a.txt"),
            ("a\u{2060}b.txt", "ab.txt"),
            ("a.t\u{200b}xt", "a.txt"),
            (".\u{200b}./a.txt", "a.txt"),
            // The result of a removal is subject to the later rules.
            ("\u{200b}.a.txt", "a.txt"),
            ("a.txt\u{202e}.", "a.txt"),
            ("C\u{200b}ON", "_CON"),
            ("nu\u{0}l.txt", "_nul.txt"),
            ("e\u{200b}\u{301}.txt", "\u{e9}.txt"),
        ],
    );
}

fn replaced_characters(backend: Backend) {
    stored(
        backend,
        &[
            ("<a>.txt", "_a_.txt"),
            ("a:b.txt", "a_b.txt"),
            ("a\"b.txt", "a_b.txt"),
            ("a|b.txt", "a_b.txt"),
            ("a?b.txt", "a_b.txt"),
            ("a*b.txt", "a_b.txt"),
            ("<>:\"|?*", "_______"),
            ("<script>alert(1)<.txt", "_script_alert(1)_.txt"),
            ("*.txt", "_.txt"),
            ("?", "_"),
            ("a.t?t", "a.t_t"),
            ("CON:", "CON_"),
            // Others are preserved.
            ("a&b;c'd`e$f(g){h}[i]!j#k@l^m=n+o,p~q.txt", "a&b;c'd`e$f(g){h}[i]!j#k@l^m=n+o,p~q.txt"),
            ("\u{ff1a}\u{ff1f}.txt", "\u{ff1a}\u{ff1f}.txt"),
        ],
    );
}

fn ends(backend: Backend) {
    stored(
        backend,
        &[
            (" a.txt", "a.txt"),
            ("a.txt ", "a.txt"),
            ("a.txt.", "a.txt"),
            ("a.txt...", "a.txt"),
            ("a.txt . . ", "a.txt"),
            (".htaccess", "htaccess"),
            ("..a.txt", "a.txt"),
            ("...", "file.txt"),
            (" . . ", "file.txt"),
            (". a .txt .", "a .txt"),
            ("\u{a0}a.txt\u{a0}", "a.txt"),
            ("\u{3000}a.txt\u{3000}", "a.txt"),
            ("a..b.txt", "a..b.txt"),
            ("a b  c.txt", "a b  c.txt"),
            (" ", "file.txt"),
            ("-rf", "-rf"),
            ("--help.txt", "--help.txt"),
            ("_", "_"),
        ],
    );
}

fn devices(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let numbered = ["COM", "LPT"].iter().flat_map(|stem| (1..=9).map(move |n| format!("{stem}{n}")));
    let stems: Vec<String> =
        ["CON", "PRN", "AUX", "NUL"].map(str::to_owned).into_iter().chain(numbered).collect();
    assert_eq!(stems.len(), 22);
    for stem in &stems {
        for (sent, expected) in [
            (stem.clone(), format!("_{stem}")),
            (stem.to_lowercase(), format!("_{}", stem.to_lowercase())),
            (format!("{stem}.txt"), format!("_{stem}.txt")),
            (format!("{}.Tar.gz", stem.to_lowercase()), format!("_{}.Tar.gz", stem.to_lowercase())),
            (format!(" {stem}."), format!("_{stem}")),
            (format!("C:\\{stem}"), format!("_{stem}")),
            (format!("{stem}x.txt"), format!("{stem}x.txt")),
            (format!("x{stem}.txt"), format!("x{stem}.txt")),
            (format!("_{stem}"), format!("_{stem}")),
        ] {
            assert_eq!(name_of(&cx, &contact, &sent), expected, "{sent:?}");
        }
    }
    stored(
        backend,
        &[
            ("cOn", "_cOn"),
            ("Aux.Txt", "_Aux.Txt"),
            ("COM0", "COM0"),
            ("LPT0.txt", "LPT0.txt"),
            ("COM10", "COM10"),
            ("COM", "COM"),
            ("LPT.txt", "LPT.txt"),
            ("a.con", "a.con"),
            ("a.con.txt", "a.con.txt"),
            ("console.txt", "console.txt"),
            ("null", "null"),
            ("CON .txt", "_CON .txt"),
        ],
    );
}

fn normalisation(backend: Backend) {
    stored(
        backend,
        &[
            ("Zoe\u{308}.pdf", "Zo\u{eb}.pdf"),
            ("\u{212b}.txt", "\u{c5}.txt"),
            ("\u{1100}\u{1161}\u{11a8}.txt", "\u{ac01}.txt"),
            ("q\u{307}\u{323}.txt", "q\u{323}\u{307}.txt"),
            // NFC, not NFKC.
            ("\u{fb01}.txt", "\u{fb01}.txt"),
            ("\u{2460}.txt", "\u{2460}.txt"),
            ("\u{ff21}.txt", "\u{ff21}.txt"),
            ("\u{65e5}\u{672c}\u{8a9e}.pdf", "\u{65e5}\u{672c}\u{8a9e}.pdf"),
            ("\u{5e9}\u{5dc}\u{5d5}\u{5dd}.txt", "\u{5e9}\u{5dc}\u{5d5}\u{5dd}.txt"),
            ("\u{1f600}.txt", "\u{1f600}.txt"),
        ],
    );
}

/// At most 255 bytes, and no shorter than the characters require.
fn length(backend: Backend) {
    let a = |count: usize| "a".repeat(count);
    let u = |count: usize| "\u{fc}".repeat(count);
    let names = [
        (a(255), a(255)),
        (a(256), a(255)),
        (a(1_000), a(255)),
        (format!("{}.txt", a(251)), format!("{}.txt", a(251))),
        (format!("{}.txt", a(252)), format!("{}.txt", a(251))),
        (format!("{}.tar.gz", a(300)), format!("{}.gz", a(252))),
        // Two bytes each: no character is cut in two.
        (u(127), u(127)),
        (u(128), u(127)),
        (format!("{}.txt", u(125)), format!("{}.txt", u(125))),
        (format!("{}.txt", u(126)), format!("{}.txt", u(125))),
        (format!("{}.pdf", u(500)), format!("{}.pdf", u(125))),
        (format!("{}.txt", "\u{20ac}".repeat(84)), format!("{}.txt", "\u{20ac}".repeat(83))),
        (format!("{}.txt", "\u{1f600}".repeat(63)), format!("{}.txt", "\u{1f600}".repeat(62))),
        // The `_` before a device name counts.
        (format!("con.{}.txt", a(247)), format!("_con.{}.txt", a(246))),
        // Removal and normalisation come first.
        (format!("{}{}.txt", a(251), "\u{200b}".repeat(100)), format!("{}.txt", a(251))),
        (format!("{}.txt", "e\u{301}".repeat(125)), format!("{}.txt", "\u{e9}".repeat(125))),
        (format!("{}/{}.txt", a(500), a(10)), format!("{}.txt", a(10))),
    ];
    let (cx, contact) = sandbox(backend);
    for (sent, expected) in &names {
        let name = name_of(&cx, &contact, sent);
        assert_eq!(name, *expected, "{sent:?}");
        assert!(name.len() <= 255);
    }
}

/// An empty or absent name becomes `file.<ext>` of the detected type.
fn nothing_left(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let zip = crate::samples::zip(&[("readme.txt", b"hello")]);
    for (content, name) in [
        (&b"text"[..], "file.txt"),
        (contract_tests::story::PDF, "file.pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "file.png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "file.jpeg"),
        (&zip, "file.zip"),
    ] {
        for headers in [
            "Content-Disposition: form-data; name=\"file\"",
            "Content-Disposition: form-data; name=\"file\"; filename=\"\"",
            "Content-Disposition: form-data; name=\"file\"; filename=\"/\"",
            "Content-Disposition: form-data; name=\"file\"; filename=\"...\"",
            "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''",
            "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%E2%80%8B",
            "Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%00%0A%7F",
        ] {
            let reply = send(&cx, &contact, &Form::new().part(&[headers], content)).expect(201);
            assert_eq!(reply.data()["fileName"], name, "{headers}");
        }
    }
}

/// A percent sign in a name is literal, apart from the escapes of browsers for quotes and line ends.
fn percent_signs_and_quotes(backend: Backend) {
    stored(
        backend,
        &[
            ("100%.txt", "100%.txt"),
            ("a%20b.txt", "a%20b.txt"),
            ("a%2Fb.txt", "a%2Fb.txt"),
            ("%00.txt", "%00.txt"),
            ("%", "%"),
            ("%%%", "%%%"),
            ("'a'.txt", "'a'.txt"),
        ],
    );
}

fn plain_names_stay(backend: Backend) {
    stored(
        backend,
        &[
            ("referral.pdf", "referral.pdf"),
            ("REFERRAL.PDF", "REFERRAL.PDF"),
            ("no extension", "no extension"),
            ("a.b.c.d", "a.b.c.d"),
            ("\u{dc}berweisung Zo\u{eb}.pdf", "\u{dc}berweisung Zo\u{eb}.pdf"),
            ("x", "x"),
            ("0", "0"),
            ("null", "null"),
            ("undefined", "undefined"),
        ],
    );
}

proptest! {
    #![proptest_config(Config { cases: 150, failure_persistence: None, ..Config::default() })]

    /// Any input becomes a plain path component of at most 255 bytes that remains unchanged when sent again.
    #[test]
    fn any_name_becomes_a_plain_component(sent in prop_oneof![
        ".{0,40}",
        "[./\\\\ a:CON\u{202e}\u{301}-]{0,12}",
        // No extension of these letters marks a script, such as con.pl.
        "(con|prn|aux|nul|com[0-9]|lpt[0-9])[. ]{0,3}[w-z]{0,3}",
        "[a\u{e4}.\u{1f600} ]{200,300}",
    ]) {
        let (cx, contact) = sandbox(Backend::Memory);
        // The text content stays text, whatever the extension; another test covers script extensions.
        let encoded: String = sent.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let disposition = format!("Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''{encoded}");
        let reply = cx.call("POST", &files_of(&contact)).form(&Form::new().part(&[&disposition], b"GIF89a\x01\0\x01\0\0\0\0;")).send();
        let name = reply.expect(201).data()["fileName"].as_str().expect("a name").to_owned();
        prop_assert!((1..=255).contains(&name.len()));
        prop_assert!(!name.contains(['/', '\\', '<', '>', ':', '"', '|', '?', '*']) && !name.chars().any(char::is_control));
        prop_assert!(!name.starts_with(['.', ' ']) && !name.ends_with(['.', ' ']));
        prop_assert_eq!(name_of_gif(&cx, &contact, &name), name);
    }
}

fn name_of_gif(cx: &Sandbox, contact: &str, sent: &str) -> String {
    let encoded: String = sent.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let disposition = format!("Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''{encoded}");
    let form = Form::new().part(&[&disposition], b"GIF89a\x01\0\x01\0\0\0\0;");
    send(cx, contact, &form).expect(201).data()["fileName"].as_str().expect("a name").to_owned()
}
