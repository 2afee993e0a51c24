//! Workbooks, slides, OpenDocument, RTF, HTML, separated values and messages: what a reader sees is read, what is not
//! shown is not, and what wants more than a document may ends in its error.

use std::fmt::Write;

use extraction::document::{Document, Kind, Limits, ReadError, Reason, Unit, Warning, read};

use crate::files::{docx, paragraph, pdf, show, zip};
use crate::{cells, lines, read_default};

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// A package of Office Open XML with its main part, and parts that this one points to.
fn package(main: (&str, &str, &str), parts: &[(&str, &str, &str)]) -> Vec<u8> {
    let (name, kind, content) = main;
    let folder = name.split_once('/').map_or("", |(folder, _)| folder);
    let mut relations = String::new();
    for (nth, (name, kind, _)) in parts.iter().enumerate() {
        write!(relations, "<Relationship Id=\"rId{nth}\" Type=\"{RELATIONS}/{kind}\" Target=\"{name}\"/>")
            .expect("text");
    }
    let types = format!(
        "<Types><Override PartName=\"/{name}\" ContentType=\"application/vnd.openxmlformats-officedocument.{kind}.main+xml\"/></Types>"
    );
    let root = format!(
        "<Relationships><Relationship Id=\"r\" Type=\"{RELATIONS}/officeDocument\" Target=\"{name}\"/></Relationships>"
    );
    let of_main = format!("{folder}/_rels/{}.rels", name.rsplit('/').next().unwrap_or_default());
    let mut all = vec![
        ("[Content_Types].xml".to_owned(), types),
        ("_rels/.rels".to_owned(), root),
        (of_main, format!("<Relationships>{relations}</Relationships>")),
        (name.to_owned(), content.to_owned()),
    ];
    all.extend(parts.iter().map(|(name, _, content)| (format!("{folder}/{name}"), (*content).to_owned())));
    zip(all.iter().map(|(name, content)| (name.as_str(), content.clone().into_bytes())))
}

fn workbook(sheets: &[(&str, &str)], shared: &str, styles: &str) -> Vec<u8> {
    let mut named = String::new();
    let mut parts = vec![("sharedStrings.xml", "sharedStrings", shared), ("styles.xml", "styles", styles)];
    let names: Vec<String> = (0..sheets.len()).map(|nth| format!("worksheets/sheet{nth}.xml")).collect();
    for (nth, (state, content)) in sheets.iter().enumerate() {
        write!(named, "<sheet name=\"S{nth}\" sheetId=\"{nth}\" state=\"{state}\" r:id=\"rId{}\"/>", nth + 2)
            .expect("text");
        parts.push((&names[nth], "worksheet", content));
    }
    let main = format!("<workbook xmlns:r=\"{RELATIONS}\"><sheets>{named}</sheets></workbook>");
    package(("xl/workbook.xml", "spreadsheetml.sheet", &main), &parts)
}

const STYLES: &str = "<styleSheet><numFmts><numFmt numFmtId=\"170\" formatCode=\"dd.mm.yyyy\"/></numFmts>\
    <cellStyleXfs><xf numFmtId=\"9\"/></cellStyleXfs>\
    <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"170\"/><xf numFmtId=\"9\"/></cellXfs></styleSheet>";

#[test]
fn a_workbook_shows_its_cells() {
    let shared = "<sst><si><t>Item</t></si><si><r><t>Oak </t></r><r><t>shelf</t></r></si></sst>";
    let sheet = "<worksheet><sheetData>\
        <row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>Invoice date</t></is></c><c r=\"C1\" s=\"1\"><v>46090</v></c></row>\
        <row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t>Due</t></is></c><c r=\"C2\" s=\"2\"><v>46100.5</v></c></row>\
        <row r=\"4\"><c r=\"A4\" t=\"s\"><v>0</v></c><c r=\"B4\" t=\"str\"><f>A1</f><v>Price</v></c><c r=\"C4\" t=\"str\"><v>Rate</v></c></row>\
        <row r=\"5\"><c r=\"A5\" t=\"s\"><v>1</v></c><c r=\"B5\"><v>349.90000000000003</v></c><c r=\"C5\" s=\"3\"><v>0.19</v></c></row>\
        <row r=\"6\" hidden=\"1\"><c r=\"A6\" t=\"s\"><v>1</v></c></row>\
        <row r=\"7\"><c t=\"b\"><v>1</v></c><c t=\"e\"><v>#REF!</v></c></row>\
        </sheetData></worksheet>";
    let hidden = "<worksheet><sheetData><row><c t=\"str\"><v>secret</v></c></row></sheetData></worksheet>";
    let file = workbook(&[("visible", sheet), ("hidden", hidden)], shared, STYLES);
    assert_eq!(Kind::of(&file), Some(Kind::Xlsx));
    let document = read_default(&file).expect("it is read");
    assert_eq!(
        lines(&document),
        ["Invoice date 2026-03-09", "Due 2026-03-19 12:00", "Item Price Rate", "Oak shelf 349.9 19%", "TRUE"]
    );
    assert_eq!(cells(&document, 1)[1], ["Oak shelf", "349.9", "19%"]);
}

#[test]
fn slides_come_in_their_order() {
    let slide = |text: &str, entries: &str| {
        format!(
            "<p:sld xmlns:p=\"p\" xmlns:a=\"a\" {entries}><p:sp><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sp>\
            <a:tbl><a:tr><a:tc><a:p><a:r><a:t>Name</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>{text} 2</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:sld>"
        )
    };
    let (first, second, third) = (slide("First", ""), slide("Second", ""), slide("Third", "show=\"0\""));
    let main = format!(
        "<p:presentation xmlns:p=\"p\" xmlns:r=\"{RELATIONS}\"><p:sldIdLst><p:sldId id=\"256\" r:id=\"rId1\"/>\
        <p:sldId id=\"257\" r:id=\"rId0\"/><p:sldId id=\"258\" r:id=\"rId2\"/></p:sldIdLst></p:presentation>"
    );
    let parts = [
        ("slides/a.xml", "slide", &*second),
        ("slides/b.xml", "slide", &*first),
        ("slides/c.xml", "slide", &*third),
    ];
    let file = package(("ppt/presentation.xml", "presentationml.presentation", &main), &parts);
    assert_eq!(Kind::of(&file), Some(Kind::Pptx));
    let document = read_default(&file).expect("it is read");
    assert_eq!(lines(&document), ["First", "Name First 2", "Second", "Name Second 2"]);
}

fn open_document(kind: &str, body: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content xmlns:office=\"o\" xmlns:text=\"t\" xmlns:table=\"b\"><office:body>{body}</office:body></office:document-content>"
    );
    let media_type = format!("application/vnd.oasis.opendocument.{kind}");
    zip([("mimetype", media_type.into_bytes()), ("content.xml", content.into_bytes())])
}

#[test]
fn open_document_shows_text_and_tables() {
    let body = "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>\
        <text:h>Order<text:s text:c=\"2\"/>7</text:h><text:p>To<text:tab/>Ann<office:annotation><text:p>note</text:p></office:annotation></text:p>\
        <table:table><table:table-row><table:table-cell><text:p>Item</text:p></table:table-cell><table:table-cell><text:p>Price</text:p></table:table-cell></table:table-row>\
        <table:table-row table:number-rows-repeated=\"2\"><table:table-cell><text:p>Lamp</text:p></table:table-cell><table:table-cell><text:p>9.50</text:p></table:table-cell></table:table-row>\
        <table:table-row table:number-rows-repeated=\"1048000\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row></table:table>";
    for (kind, held) in [("text", Kind::Odt), ("spreadsheet", Kind::Ods), ("presentation", Kind::Odp)] {
        let file = open_document(kind, body);
        assert_eq!(Kind::of(&file), Some(held));
        let document = read_default(&file).expect("it is read");
        assert_eq!(lines(&document), ["Order 7", "To Ann", "Item Price", "Lamp 9.50", "Lamp 9.50"], "{kind}");
    }
}

#[test]
fn rich_text_is_read_in_its_encodings() {
    let file = br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}{\info{\title secret}}
{\*\generator Writer;}\pard Rechnung Nr.\tab M\'fcller \u8364?12,50\par
{\f1\'d1\'f7\'b8\'f2} {\v hidden}\{done\}\par
\trowd\intbl Item\cell Price\cell\row\trowd\intbl Lamp\line red\cell 9.50\cell\row
\pard{\pict\bin5 }}}}}ab}after\par}";
    assert_eq!(Kind::of(file), Some(Kind::Rtf));
    let document = read_default(file).expect("it is read");
    assert_eq!(
        lines(&document),
        ["Rechnung Nr. Müller €12,50", "Счёт {done}", "Item Price", "Lamp 9.50", "red", "after"]
    );
    assert_eq!(document.warnings, [Warning::HiddenText { page: 1 }]);
    assert_eq!(read_default(br"{\rtf1 cut"), Err(ReadError::Unreadable(Reason::Damaged)));
}

#[test]
fn a_page_shows_what_a_browser_shows() {
    let file = "<!DOCTYPE html><html><head><title>Shop</title><style>p { x: y }</style><script>if (a < b) { '<p>' }</script></head>\
        <body><h1>Invoice&nbsp;7</h1><p>Total:\n   <b>12</b>.50 &euro;<br>Paid <input type=checkbox checked> yes</p>\
        <div style=\"color: red; display : none\">hidden<div>also</div></div><ul><li>one</li><li>two</li></ul>\
        <table><tr><td>outer</td><td><table><tr><th>Item</th><th>Price</th></tr><tr><td>Lamp</td><td>9.50</td></tr></table></td></tr><tr><td>after</td></tr></table>";
    let document = read_default(file.as_bytes()).expect("it is read");
    assert_eq!(
        lines(&document),
        [
            "Invoice 7",
            "Total: 12.50 €",
            "Paid ☑ yes",
            "- one",
            "- two",
            "outer",
            "Item Price",
            "Lamp 9.50",
            "after"
        ]
    );
    assert_eq!(document.warnings, [Warning::HiddenText { page: 1 }]);
    let german = [&b"<html><meta charset=iso-8859-1><p>M\xfcller"[..]].concat();
    assert_eq!(lines(&read_default(&german).expect("it is read")), ["Müller"]);
}

#[test]
fn separated_values_are_a_table() {
    let document = read_default("Item;Count;Price\n\"Lamp; red\";2;9,50\nDesk;1;100,00\n".as_bytes())
        .expect("it is read");
    assert_eq!(
        cells(&document, 0),
        [["Item", "Count", "Price"], ["Lamp; red", "2", "9,50"], ["Desk", "1", "100,00"]]
    );
}

fn message(parts: &[(&str, &[u8])]) -> Vec<u8> {
    use base64::Engine;
    let mut text = "From: =?utf-8?Q?M=C3=BCller?= <a@b.example>\r\nTo: c@d.example\r\nSubject: =?utf-8?B?UmVjaG51bmcgwqcgNw==?=\r\n\
        Date: Mon, 9 Mar 2026 10:30:00 +0100\r\nMessage-ID: <1@b.example>\r\nMIME-Version: 1.0\r\n\
        Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nTotal: 12,50 =E2=82=AC\r\n"
        .to_owned();
    for (media_type, content) in parts {
        let content = base64::engine::general_purpose::STANDARD.encode(content);
        write!(text, "--x\r\nContent-Type: {media_type}\r\nContent-Disposition: attachment; filename=a\r\nContent-Transfer-Encoding: base64\r\n\r\n{content}\r\n")
            .expect("text");
    }
    text.push_str("--x--\r\n");
    text.into_bytes()
}

#[test]
fn attachments_are_documents_of_their_own() {
    let attached = pdf(&[&show(50.0, 700.0, 10.0, "first"), &show(50.0, 700.0, 10.0, "second")]);
    let parts: [(&str, &[u8]); 3] = [
        ("application/pdf", &attached),
        ("application/zip", b"PK\x03\x04 nothing"),
        ("application/x", &docx(&paragraph("letter"))),
    ];
    let file = message(&parts);
    assert_eq!(Kind::of(&file), Some(Kind::Message));
    let document = read_default(&file).expect("it is read");
    let expected = [
        "From: Müller <a@b.example>",
        "To: c@d.example",
        "Date: 2026-03-09 10:30",
        "Subject: Rechnung § 7",
        "Total: 12,50 €",
        "first",
        "second",
        "letter",
    ];
    assert_eq!(lines(&document), expected);
    assert_eq!(document.pages.iter().map(|page| page.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(document.warnings, [Warning::PageFailed { page: 4 }]);
    let limits = Limits { pages: 2, ..Limits::default() };
    let result = read(&file, &limits);
    assert!(matches!(result, Err(ReadError::TooLarge { unit: Unit::Pages, limit: 2, .. })), "{result:?}");
}

/// Vectors of each format that want more than a document may, with what they end in.
#[test]
fn bombs_end_in_their_errors() {
    let large = |error: &Result<Document, ReadError>| matches!(error, Err(ReadError::TooLarge { .. }));
    let blank = " ".repeat(3 << 20);
    let shared = format!("<sst><si><t>{blank}</t></si></sst>");
    let empty = "<worksheet><sheetData/></worksheet>";
    assert!(large(&read_default(&workbook(&[("visible", empty)], &shared, STYLES))));
    assert!(large(&read_default(&open_document("text", &format!("<text:p>{blank}</text:p>")))));
    // One text in a million cells.
    let text = "word ".repeat(400);
    let cell = "<c t=\"s\"><v>0</v></c>".repeat(100);
    let rows = format!("<row>{cell}</row>").repeat(40);
    let repeated = workbook(
        &[("visible", &format!("<worksheet><sheetData>{rows}</sheetData></worksheet>"))],
        &format!("<sst><si><t>{text}</t></si></sst>"),
        STYLES,
    );
    let limits = Limits { characters: 1_000_000, ..Limits::default() };
    assert_eq!(
        read(&repeated, &limits),
        Err(ReadError::TooLarge { unit: Unit::Characters, limit: 1_000_000, actual: None })
    );
    let entities = "<!DOCTYPE a [<!ENTITY b \"cccccccccc\"><!ENTITY d \"&b;&b;&b;\">]>";
    let sheet = format!(
        "{entities}<worksheet><sheetData><row><c t=\"str\"><v>&d;</v></c></row></sheetData></worksheet>"
    );
    assert_eq!(
        read_default(&workbook(&[("visible", &sheet)], "<sst/>", STYLES)),
        Err(ReadError::Unreadable(Reason::Doctype))
    );
    let deep = format!("{}{}", "<text:span>".repeat(300), "</text:span>".repeat(300));
    assert_eq!(read_default(&open_document("text", &deep)), Err(ReadError::Unreadable(Reason::Structure)));
    let groups = format!("{{\\rtf1 {}{}}}", "{".repeat(5_000), "}".repeat(5_000));
    assert_eq!(read_default(groups.as_bytes()), Err(ReadError::Unreadable(Reason::Structure)));
}

/// Nesting without an end is read, or refused, in little time and stack.
#[test]
fn deep_nesting_ends() {
    for opened in ["<div>", "<table><tr><td>", "<ul><li>", "<span hidden>", "<b><p>", "<svg>"] {
        let page = format!("<html>{}text", opened.repeat(20_000));
        assert!(read_default(page.as_bytes()).is_ok(), "{opened}");
    }
    let mut nested = message(&[]);
    for _ in 0..6 {
        nested = message(&[("message/rfc822", &nested)]);
    }
    let document = read_default(&nested).expect("it is read");
    assert!(document.pages.len() <= 5 && !document.warnings.is_empty(), "{}", document.pages.len());
    let boundaries = format!(
        "From: a@b.example\nTo: c@d.example\nMIME-Version: 1.0\n{}",
        "Content-Type: multipart/mixed; boundary=a\n\n--a\n".repeat(5_000)
    );
    assert!(read_default(boundaries.as_bytes()).is_ok());
}
