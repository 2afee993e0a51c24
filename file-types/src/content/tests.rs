use proptest::prelude::*;

use super::*;

/// Looks at content that comes in chunks of this size.
fn inspected(content: &[u8], chunk: usize, extension: &str) -> Detected {
    let mut inspector = Inspector::new();
    content.chunks(chunk).for_each(|bytes| inspector.push(bytes));
    assert_eq!(inspector.bytes(), content.len() as u64);
    inspector.finish(extension)
}

/// However the content is cut, the answer is one.
fn detected(content: &[u8], extension: &str) -> Detected {
    let whole = inspected(content, usize::MAX, extension);
    for chunk in [1, 7, 127, 4_096] {
        assert_eq!(inspected(content, chunk, extension), whole, "in chunks of {chunk}");
    }
    whole
}

fn kind(content: &[u8], extension: &str) -> FileKind {
    let detected = detected(content, extension);
    assert!(!detected.dangerous, "{detected:?}");
    detected.kind
}

fn is_refused(content: &[u8], extension: &str) -> bool {
    detected(content, extension).dangerous
}

/// An archive of stored members.
pub(super) fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let offset = archive.len() as u32;
        let (size, length) = ((content.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
        let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[0; 4][..], &size, &size, &length, &[0, 0]].concat();
        archive.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        directory.extend(
            [b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &offset.to_le_bytes(), name.as_bytes()].concat(),
        );
    }
    let (offset, size) = (archive.len() as u32, directory.len() as u32);
    let count = (members.len() as u16).to_le_bytes();
    archive.extend(directory);
    archive.extend(
        [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size.to_le_bytes(), &offset.to_le_bytes(), &[0, 0]]
            .concat(),
    );
    archive
}

/// A compound file with directory entries of these names and kinds.
fn compound(entries: &[(&str, u8, [u8; 16])]) -> Vec<u8> {
    let mut file = vec![0_u8; 512];
    file[..8].copy_from_slice(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
    for (name, kind, class) in entries {
        let mut entry = [0_u8; 128];
        let units: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        entry[..units.len()].copy_from_slice(&units);
        entry[64..66].copy_from_slice(&(units.len() as u16).to_le_bytes());
        entry[66] = *kind;
        entry[80..96].copy_from_slice(class);
        file.extend(entry);
    }
    file
}

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn signatures() {
    let padded = |begin: &[u8]| [begin, &[0; 600]].concat();
    for (content, expected) in [
        (padded(b"%PDF-1.7\n"), FileKind::Pdf),
        (padded(b"\n\0junk %PDF-1.7\n"), FileKind::Pdf),
        (b"%PDF-1.4\nonly text".to_vec(), FileKind::Pdf),
        (b"{\\rtf1\\ansi hello}".to_vec(), FileKind::Rtf),
        (padded(b"\xff\xd8\xff\xe0\0\x10JFIF"), FileKind::Jpeg),
        (padded(b"\x89PNG\r\n\x1a\n"), FileKind::Png),
        (padded(b"GIF89a"), FileKind::Gif),
        (padded(b"RIFF\x24\0\0\0WEBPVP8 "), FileKind::Webp),
        (padded(b"II*\0\x08\0\0\0"), FileKind::Tiff),
        (padded(b"BM\x36\0\0\0\0\0"), FileKind::Bmp),
        (padded(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"), FileKind::Heic),
        (padded(b"ID3\x03\0\0\0"), FileKind::Mp3),
        (padded(b"\xff\xfb\x90\x64\0\0"), FileKind::Mp3),
        (padded(b"\0\0\0\x20ftypM4A \0\0\0\0"), FileKind::M4a),
        (padded(b"RIFF\x24\0\0\0WAVEfmt "), FileKind::Wav),
        (padded(b"OggS\0\x02\0\0\0"), FileKind::Ogg),
        (padded(b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41"), FileKind::Mp4),
        (padded(b"\0\0\0\x14ftypqt  \0\0\0\0qt  "), FileKind::Mov),
        (padded(b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm"), FileKind::Webm),
        (padded(b"\x01\x02\x03\x04 unknown"), FileKind::Other),
    ] {
        // The name tells nothing about binary content.
        for extension in ["", "txt", "pdf", "png", "docx"] {
            assert_eq!(kind(&content, extension), expected, "{extension}");
        }
    }
}

#[test]
fn text_goes_by_its_extension() {
    for (extension, expected) in [
        ("txt", FileKind::Txt),
        ("csv", FileKind::Csv),
        ("md", FileKind::Md),
        ("json", FileKind::Json),
        ("xml", FileKind::Xml),
        ("eml", FileKind::Eml),
        ("log", FileKind::Txt),
        ("", FileKind::Txt),
        // Text is no image and no document, whatever its name says.
        ("png", FileKind::Txt),
        ("pdf", FileKind::Txt),
    ] {
        assert_eq!(kind(b"BM is a name, MZ too;\r\n\tjust text", extension), expected);
        assert_eq!(kind(&utf16("Grüße"), extension), expected);
        assert_eq!(kind(b"\xa9 in Latin-1", extension), expected);
    }
    assert_eq!(kind(b"a\0b", "txt"), FileKind::Other);
    assert_eq!(kind(b"", "csv"), FileKind::Csv);
}

#[test]
fn documents_in_archives() {
    let types: (&str, &[u8]) = ("[Content_Types].xml", b"<Types/>");
    let long = vec![b'x'; 300_000];
    for (members, expected) in [
        (vec![types, ("word/document.xml", b"<w/>")], FileKind::Docx),
        // The order of members is free, and what is large may come first.
        (
            vec![("[trash]/0000.dat", &long[..]), ("word/document.xml", b""), ("_rels/.rels", b""), types],
            FileKind::Docx,
        ),
        (vec![("xl/workbook.xml", b""), types], FileKind::Xlsx),
        (vec![types, ("ppt/presentation.xml", b"")], FileKind::Pptx),
        (vec![("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"")], FileKind::Odt),
        (vec![("mimetype", b"application/vnd.oasis.opendocument.spreadsheet")], FileKind::Ods),
        (vec![("mimetype", b"application/vnd.oasis.opendocument.presentation")], FileKind::Odp),
        (vec![("mimetype", b"application/epub+zip")], FileKind::Zip),
        (vec![("word/document.xml", b"")], FileKind::Zip),
        (vec![("readme.txt", b"hello")], FileKind::Zip),
        (vec![], FileKind::Zip),
    ] {
        assert_eq!(kind(&zip(&members), "docx"), expected);
    }
    let macros = zip(&[types, ("word/document.xml", b""), ("word/vbaProject.bin", b"")]);
    assert_eq!(kind(&macros, "docx"), FileKind::Other);
    assert!(detected(&macros, "docx").media_type.contains("macroEnabled"));
    // A directory that is cut off is none; the beginning tells.
    let mut cut = zip(&[types, ("word/document.xml", b"")]);
    cut.truncate(cut.len() - 30);
    assert_eq!(kind(&cut, ""), FileKind::Docx);
}

#[test]
fn documents_in_compound_files() {
    let none = [0; 16];
    for (name, expected) in [
        ("WordDocument", FileKind::Doc),
        ("Workbook", FileKind::Xls),
        ("Book", FileKind::Xls),
        ("PowerPoint Document", FileKind::Ppt),
        ("__properties_version1.0", FileKind::Msg),
        ("Something", FileKind::Other),
    ] {
        let file =
            compound(&[("Root Entry", 5, none), ("\u{5}SummaryInformation", 2, none), (name, 2, none)]);
        assert_eq!(kind(&file, "doc"), expected);
    }
    let embedding = compound(&[
        ("Root Entry", 5, none),
        ("WordDocument", 2, none),
        ("ObjectPool", 1, none),
        ("Workbook", 2, none),
    ]);
    assert_eq!(kind(&embedding, "xls"), FileKind::Doc);
    let installer = [0x84, 0x10, 0x0c, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46];
    assert!(is_refused(&compound(&[("Root Entry", 5, installer)]), "doc"));
}

#[test]
fn programs_are_refused_under_any_name() {
    let padded = |begin: &[u8]| [begin, &[0; 600]].concat();
    for content in [
        padded(b"MZ\x90\0\x03\0\0\0"),
        padded(b"\x7fELF\x02\x01\x01\0"),
        padded(&[0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1]),
        padded(&[0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 0x34]),
        padded(b"\0asm\x01\0\0\0"),
        padded(&[b"dex\n035\0", &[0; 28][..], &[0x70]].concat()),
        padded(&[0x4c, 0, 0, 0, 0x01, 0x14, 0x02, 0, 0, 0]),
        zip(&[("META-INF/MANIFEST.MF", b""), ("a/B.class", b"")]),
        zip(&[("AndroidManifest.xml", b""), ("classes.dex", b"")]),
        b"#!/bin/sh\necho".to_vec(),
        b"\xef\xbb\xbf#!/usr/bin/env python".to_vec(),
        b"<?php system($_GET['a']);".to_vec(),
        b"  \r\n@ECHO OFF\r\n".to_vec(),
        utf16("Windows Registry Editor Version 5.00"),
        b"<!DOCTYPE html><title>a</title>".to_vec(),
        b"\n<!-- x --><HTML>".to_vec(),
        utf16("<html>"),
        b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>".to_vec(),
        b"<script>alert(1)</script>".to_vec(),
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='a()'/>".to_vec(),
        b"<svg><script>a()</script></svg>".to_vec(),
        utf16("<svg/>"),
    ] {
        for extension in ["", "txt", "pdf", "png", "xml", "svg", "md"] {
            assert!(
                is_refused(&content, extension),
                "{:?} as {extension}",
                String::from_utf8_lossy(&content[..20])
            );
        }
    }
}

#[test]
fn the_name_alone_may_tell_a_program() {
    for extension in ["js", "bat", "ps1", "vbs", "py", "sh", "exe", "jar", "html", "xhtml", "hta"] {
        assert!(is_refused(b"just text", extension), "{extension}");
    }
    // What is no text is no script of that name, and no HTML.
    assert!(!is_refused(b"\x89PNG\r\n\x1a\n\0\0\0", "html"));
}

#[test]
fn drawings_that_do_nothing_are_drawings() {
    let svg = b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>";
    assert_eq!(kind(svg, "svg"), FileKind::Svg);
    assert_eq!(kind(svg, "xml"), FileKind::Svg);
    assert_eq!(kind(b"<note>svg</note>", "svg"), FileKind::Txt);
}

proptest! {
    #[test]
    fn nothing_panics_and_chunks_do_not_matter(
        begin in prop::sample::select(vec![
            &b""[..],
            b"PK\x03\x04",
            b"PK\x05\x06",
            b"%PDF-",
            b"<svg ",
            b"\xff\xfe<",
            &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1],
            b"\0\0\0\x20ftyp",
            b"RIFF",
        ]),
        rest in proptest::collection::vec(any::<u8>(), 0..700),
        chunk in 1_usize..300,
        extension in "[a-z]{0,4}",
    ) {
        let content = [begin, &rest].concat();
        prop_assert_eq!(inspected(&content, chunk, &extension), inspected(&content, usize::MAX, &extension));
    }

    #[test]
    fn archives_may_be_damaged_anywhere(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut archive = zip(&[("[Content_Types].xml", b"<Types/>"), ("word/document.xml", b"<w/>")]);
        let at = at.index(archive.len());
        archive[at] = byte;
        inspected(&archive, 16, "docx");
        archive.truncate(at);
        inspected(&archive, 16, "docx");
    }
}
