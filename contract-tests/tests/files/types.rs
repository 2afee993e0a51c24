//! File types (contract 2.2): detected from the content, for text formats from the extension.

use contract_tests::{Backend, Form, Sandbox, on_every_backend};
use openapi_core::files::{FileKind, FileTypes};
use serde_json::{Value, json};

use crate::samples;
use crate::support::{blobs, nothing_is_stored, sandbox, sandbox_with, send, total};

on_every_backend!(
    every_type,
    declared_types_are_ignored,
    text_by_its_extension,
    active_content_is_refused_under_any_name,
    programs_by_name,
    active_content_is_refused_under_any_setting,
    unknown_types,
    other_types_under_the_setting_all,
    an_operators_list,
    drawings,
);

/// The list of contract 2.2.
const ALLOWED: &str = "pdf doc docx xls xlsx ppt pptx odt ods odp rtf txt csv md json xml eml msg zip jpeg png gif webp \
                       tiff bmp heic mp3 m4a wav ogg mp4 mov webm";

fn every_type(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let samples = samples::all();
    let extensions: Vec<&str> = samples.iter().map(|(extension, ..)| *extension).collect();
    assert_eq!(extensions, ALLOWED.split(' ').collect::<Vec<_>>());
    for (extension, media_type, content) in &samples {
        let name = format!("sample.{extension}");
        let reply = send(&cx, &contact, &Form::of_file(&name, content));
        assert_eq!(reply.status, 201, "{extension}: {}", reply.shown());
        assert_eq!(reply.data()["contentType"], *media_type, "{extension}");
        assert_eq!(reply.data()["fileName"], name);
        // If no name was sent, it is derived from the type; text is then plain text.
        let reply = send(
            &cx,
            &contact,
            &Form::new().part(&["Content-Disposition: form-data; name=\"file\""], content),
        );
        let is_text = ["csv", "md", "json", "xml", "eml"].contains(extension);
        let expected = if is_text { "file.txt".to_owned() } else { format!("file.{extension}") };
        assert_eq!(reply.expect(201).data()["fileName"], expected);
    }
}

/// The detected type is stored, whatever the part and the name declare.
fn declared_types_are_ignored(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (extension, media_type, content) in samples::all() {
        if ["txt", "csv", "md", "json", "xml", "eml"].contains(&extension) {
            continue;
        }
        for (name, declared) in [
            ("a", "application/octet-stream"),
            ("a.txt", "text/plain"),
            ("a.pdf", "application/pdf"),
            ("a.PNG", "image/png"),
            ("a.csv", "text/html"),
            ("a.unknown", "nonsense"),
        ] {
            let disposition = format!("Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"");
            let form = Form::new().part(&[&disposition, &format!("Content-Type: {declared}")], &content);
            let reply = send(&cx, &contact, &form);
            assert_eq!(reply.status, 201, "{extension} as {name}: {}", reply.shown());
            assert_eq!(reply.data()["contentType"], media_type, "{extension} as {name}");
            assert_eq!(reply.data()["fileName"], name);
        }
    }
}

fn text_by_its_extension(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let utf16: Vec<u8> = "\u{feff}Gr\u{fc}\u{df}e".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for content in [
        &b"just text"[..],
        "Gr\u{fc}\u{df}e, \u{65e5}\u{672c}".as_bytes(),
        b"\xef\xbb\xbfwith a mark",
        b"\xfcber Latin-1",
        &utf16,
        b"BM is a word, MZ is one too",
        b"x",
        b"\n",
    ] {
        for (name, media_type) in [
            ("a.txt", "text/plain"),
            ("a.csv", "text/csv"),
            ("a.CSV", "text/csv"),
            ("a.md", "text/markdown"),
            ("a.json", "application/json"),
            ("a.xml", "application/xml"),
            ("a.eml", "message/rfc822"),
            ("a", "text/plain"),
            ("a.log", "text/plain"),
            ("a.unknown", "text/plain"),
            ("a.csv.bak", "text/plain"),
            // Text is neither an image nor a document.
            ("a.png", "text/plain"),
            ("a.docx", "text/plain"),
            ("a.pdf", "text/plain"),
        ] {
            let reply = send(&cx, &contact, &Form::of_file(name, content)).expect(201);
            assert_eq!(reply.data()["contentType"], media_type, "{name}: {content:?}");
        }
    }
}

/// Executables, scripts, HTML and scripted SVG, with the magic bytes of each.
fn active() -> Vec<(&'static str, Vec<u8>)> {
    let padded = |begin: &[u8]| [begin, &[0; 600]].concat();
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    let mut windows = vec![0; 1_024];
    windows[..2].copy_from_slice(b"MZ");
    windows[0x3c] = 0x80;
    windows[0x80..0x84].copy_from_slice(b"PE\0\0");
    vec![
        ("Windows", windows),
        ("DOS", padded(b"MZ\x90\0\x03\0\0\0")),
        ("ELF", padded(b"\x7fELF\x02\x01\x01\0")),
        ("ELF of 32 bits", padded(b"\x7fELF\x01\x01\x01\0")),
        ("Mach-O", padded(&[0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1])),
        ("Mach-O of 32 bits", padded(&[0xce, 0xfa, 0xed, 0xfe, 7, 0, 0, 0])),
        ("Mach-O, universal", padded(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2])),
        ("Java class", padded(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0x34])),
        ("WebAssembly", padded(b"\0asm\x01\0\0\0")),
        ("JAR", samples::zip(&[("META-INF/MANIFEST.MF", b"a"), ("a/B.class", b"b")])),
        ("APK", samples::zip(&[("AndroidManifest.xml", b"a"), ("classes.dex", b"b")])),
        ("shortcut", padded(&[0x4c, 0, 0, 0, 0x01, 0x14, 0x02, 0, 0, 0])),
        ("shell", b"#!/bin/sh\necho\n".to_vec()),
        ("shell after a byte order mark", b"\xef\xbb\xbf#!/usr/bin/env python3\n".to_vec()),
        ("PHP", b"<?php system($_GET['a']); ?>".to_vec()),
        ("PHP, short", b"<?= $a ?>".to_vec()),
        ("batch", b"@echo off\r\ndel *\r\n".to_vec()),
        ("registry", utf16("Windows Registry Editor Version 5.00")),
        ("HTML", b"<!DOCTYPE html><html><body>a</body></html>".to_vec()),
        ("HTML in capitals", b"\r\n <HTML><BODY>".to_vec()),
        ("HTML after a comment", b"<!-- a --><html>".to_vec()),
        ("HTML after a byte order mark", b"\xef\xbb\xbf<html>".to_vec()),
        ("HTML in UTF-16", utf16("<html><script>")),
        ("XHTML", b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>".to_vec()),
        ("a script element", b"<script>alert(1)</script>".to_vec()),
        ("an iframe", b"<iframe src='//evil'>".to_vec()),
        ("SVG with a script", b"<svg xmlns='http://www.w3.org/2000/svg'><script>a()</script></svg>".to_vec()),
        ("SVG with a handler", b"<?xml version='1.0'?><svg onload='a()'/>".to_vec()),
        ("SVG with a link", b"<svg><a xlink:href=\"javascript:a()\"/></svg>".to_vec()),
        ("SVG with HTML", b"<svg><foreignObject><b/></foreignObject></svg>".to_vec()),
        ("SVG with an entity", b"<!DOCTYPE svg [<!ENTITY a 'b'>]><svg>&a;</svg>".to_vec()),
        (
            "SVG far into the file",
            [b"<svg><!--".as_slice(), &vec![b'x'; 200_000], b"--><script>a()</script></svg>"].concat(),
        ),
    ]
}

#[track_caller]
fn refused(cx: &Sandbox, contact: &str, form: &Form, what: &str, allowed: &Value) {
    let reply = send(cx, contact, form);
    assert_eq!((reply.status, reply.code()), (415, "UNSUPPORTED_FILE_TYPE"), "{what}: {}", reply.shown());
    assert_eq!(reply.json["details"]["allowed"], *allowed);
    assert!(
        reply.json["details"]["detected"].as_str().is_some_and(|detected| detected.contains('/')),
        "{what}"
    );
    assert_eq!(reply.json.get("validationErrors"), None);
}

fn allowed_media_types() -> Value {
    samples::all().iter().map(|(_, media_type, _)| json!(media_type)).collect()
}

const NAMES: [&str; 9] = ["a", "a.txt", "a.pdf", "a.png", "a.xml", "a.svg", "a.md", "a.csv", "a.zip"];

fn active_content_is_refused_under_any_name(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (what, content) in active() {
        for name in NAMES {
            refused(
                &cx,
                &contact,
                &Form::of_file(name, &content),
                &format!("{what} as {name}"),
                &allowed_media_types(),
            );
        }
        let form = Form::new()
            .part(&["Content-Disposition: form-data; name=\"file\"", "Content-Type: image/png"], &content);
        refused(&cx, &contact, &form, what, &allowed_media_types());
    }
    nothing_is_stored(&cx, &contact);
}

/// A script has no magic bytes that distinguish it from text; its name does.
fn programs_by_name(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for extension in [
        "js", "mjs", "bat", "cmd", "ps1", "vbs", "wsf", "py", "rb", "pl", "php", "sh", "bash", "exe", "com",
        "scr", "hta", "html", "htm", "xhtml", "mhtml", "jar", "lnk", "url", "reg", "msi", "JS", "Html",
        "eXe",
    ] {
        let form = Form::of_file(&format!("a.{extension}"), b"just text");
        refused(&cx, &contact, &form, extension, &allowed_media_types());
    }
    // An extension that the name cleaning exposes counts.
    for name in ["a.js.", "a.js ", "a.j\u{200b}s", "dir/a.js", "a.txt.js"] {
        refused(&cx, &contact, &Form::of_file(name, b"just text"), name, &allowed_media_types());
    }
    nothing_is_stored(&cx, &contact);
    let _ = send(&cx, &contact, &Form::of_file("a.js.txt", b"just text")).expect(201);
}

fn active_content_is_refused_under_any_setting(backend: Backend) {
    let any = sandbox_with(backend, |files| files.types = FileTypes::Any);
    let listed = sandbox_with(backend, |files| {
        files.types =
            FileTypes::Listed([FileKind::Svg, FileKind::Other, FileKind::Txt, FileKind::Zip].into());
    });
    for ((cx, contact), allowed) in [
        (any, json!([])),
        (listed, json!(["text/plain", "application/zip", "image/svg+xml", "application/octet-stream"])),
    ] {
        for (what, content) in active() {
            for name in ["a", "a.svg", "a.bin"] {
                refused(&cx, &contact, &Form::of_file(name, &content), what, &allowed);
            }
        }
        for name in ["a.js", "a.html", "a.exe"] {
            refused(&cx, &contact, &Form::of_file(name, b"just text"), name, &allowed);
        }
        nothing_is_stored(&cx, &contact);
    }
}

fn unknown() -> [(&'static str, Vec<u8>); 8] {
    let padded = |begin: &[u8]| [begin, &[0; 600]].concat();
    [
        ("bytes", padded(b"\x01\x02\x03\x04")),
        ("zeros", vec![0; 100]),
        ("one byte", vec![0]),
        ("gzip", padded(b"\x1f\x8b\x08\0")),
        ("7z", padded(b"7z\xbc\xaf\x27\x1c")),
        ("SQLite", padded(b"SQLite format 3\0")),
        ("FLAC", padded(b"fLaC\0\0\0\x22")),
        ("an unknown compound file", samples::compound(&["Something"])),
    ]
}

fn unknown_types(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    for (what, content) in unknown() {
        for name in ["a", "a.txt", "a.pdf", "a.docx", "a.csv"] {
            refused(&cx, &contact, &Form::of_file(name, &content), what, &allowed_media_types());
        }
    }
    let svg = Form::of_file("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>");
    refused(&cx, &contact, &svg, "a drawing", &allowed_media_types());
    let reply = send(&cx, &contact, &svg);
    assert_eq!(reply.json["details"]["detected"], "image/svg+xml");
    nothing_is_stored(&cx, &contact);
}

fn other_types_under_the_setting_all(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |files| files.types = FileTypes::Any);
    for (what, content) in unknown() {
        let reply = send(&cx, &contact, &Form::of_file("a.dat", &content));
        assert_eq!(reply.status, 201, "{what}: {}", reply.shown());
        let _ = send(
            &cx,
            &contact,
            &Form::new().part(&["Content-Disposition: form-data; name=\"file\""], &content),
        )
        .expect(201);
    }
    for (extension, media_type, content) in samples::all() {
        let reply = send(&cx, &contact, &Form::of_file(&format!("a.{extension}"), &content)).expect(201);
        assert_eq!(reply.data()["contentType"], media_type);
    }
    assert_eq!(total(&cx, &contact), blobs(&cx).len() as u64);
}

fn an_operators_list(backend: Backend) {
    let (cx, contact) = sandbox_with(backend, |files| files.types = "png,csv".parse().expect("types"));
    let allowed = json!(["text/csv", "image/png"]);
    for (extension, media_type, content) in samples::all() {
        let form = Form::of_file(&format!("a.{extension}"), &content);
        if ["png", "csv"].contains(&extension) {
            assert_eq!(send(&cx, &contact, &form).expect(201).data()["contentType"], media_type);
        } else {
            let reply = send(&cx, &contact, &form).fails(415, "UNSUPPORTED_FILE_TYPE");
            assert_eq!(
                reply.json["details"],
                json!({ "detected": media_type, "allowed": allowed }),
                "{extension}"
            );
        }
    }
    assert_eq!(total(&cx, &contact), 2);
    assert_eq!(blobs(&cx).len(), 2);
}

/// A drawing without active content is rejected only because the list does not contain it.
fn drawings(backend: Backend) {
    let svg = b"<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>";
    for types in [FileTypes::Any, "svg".parse().expect("types")] {
        let (cx, contact) = sandbox_with(backend, |files| files.types = types);
        let reply = send(&cx, &contact, &Form::of_file("a.svg", svg)).expect(201);
        assert_eq!(reply.data()["contentType"], "image/svg+xml");
        // Saved instead of displayed, although it is an image.
        let path = crate::support::file_path(&contact, &reply.id());
        let _ =
            cx.get(&format!("{path}/signed-url?disposition=inline")).invalid(&[("disposition", "conflict")]);
    }
}
