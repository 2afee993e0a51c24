//! DOCX: what a reader sees is read, what is not shown is not.

use extraction::document::{ReadError, Reason, Warning};

use crate::files::{docx, docx_of, paragraph, word_document};
use crate::{cells, lines, read_default};

#[test]
fn paragraphs_runs_and_references() {
    let body = "<w:p><w:r><w:t>Inv</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>oice &amp; more &#x20AC;</w:t></w:r>\
        <w:r><w:tab/><w:t>7</w:t><w:br/><w:t>next</w:t></w:r></w:p>";
    let document = read_default(&docx(body)).expect("it is read");
    assert_eq!(lines(&document), ["Invoice & more € 7", "next"]);
    assert_eq!(document.pages[0].lines[0].words[4].gap, 4);
    assert_eq!(document.page_count, None);
}

#[test]
fn what_is_deleted_moved_hidden_or_a_fallback_is_left_out() {
    let body = "<w:p><w:r><w:t>still</w:t></w:r><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>\
        <w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:instrText>PAGE</w:instrText></w:r>\
        <w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>\
        <mc:AlternateContent><mc:Choice><w:r><w:t>choice</w:t></w:r></mc:Choice>\
        <mc:Fallback><w:r><w:t>fallback</w:t></w:r></mc:Fallback></mc:AlternateContent>\
        <w:r><w:rPr><w:b/><w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange></w:rPr><w:t> changed</w:t></w:r></w:p>";
    let document = read_default(&docx(body)).expect("it is read");
    assert_eq!(lines(&document), ["stillchoice changed"]);
    assert_eq!(document.warnings, [Warning::HiddenText { page: 1 }]);
}

#[test]
fn a_row_is_one_line_and_a_table_has_cells() {
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph(text));
    let body = format!(
        "<w:tbl><w:tr>{}{}{}</w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr>{}</w:tc>{}</w:tr>\
         <w:tr><w:trPr><w:del w:id=\"1\"/></w:trPr>{}</w:tr></w:tbl>",
        cell("Item"),
        cell("Count"),
        cell("Price"),
        paragraph("Total"),
        cell("12.00"),
        cell("gone")
    );
    let document = read_default(&docx(&body)).expect("it is read");
    assert_eq!(lines(&document), ["Item Count Price", "Total 12.00"]);
    assert_eq!(cells(&document, 0), [vec!["Item", "Count", "Price"], vec!["Total", "12.00"]]);
    let total = &document.pages[0].tables[0].rows[1];
    assert_eq!((total[0].span, total[1].column), (2, 2));
}

#[test]
fn headers_come_first_then_body_footers_and_notes() {
    let document = docx_of(
        &word_document(&paragraph("body")),
        &[
            ("footer1.xml", "footer", &format!("<w:ftr>{}</w:ftr>", paragraph("footer"))),
            ("header1.xml", "header", &format!("<w:hdr>{}</w:hdr>", paragraph("header"))),
            ("header2.xml", "header", &format!("<w:hdr>{}</w:hdr>", paragraph("header"))),
            (
                "footnotes.xml",
                "footnotes",
                &format!(
                    "<w:footnotes><w:footnote w:type=\"separator\">{}</w:footnote><w:footnote>{}</w:footnote></w:footnotes>",
                    paragraph("line"),
                    paragraph("note")
                ),
            ),
        ],
    );
    let document = read_default(&document).expect("it is read");
    assert_eq!(lines(&document), ["header", "body", "footer", "note"]);
}

#[test]
fn lists_are_counted_as_word_counts_them() {
    let numbering = "<w:numbering><w:abstractNum w:abstractNumId=\"0\">\
        <w:lvl w:ilvl=\"0\"><w:start w:val=\"3\"/><w:numFmt w:val=\"decimal\"/><w:lvlText w:val=\"%1.\"/></w:lvl>\
        <w:lvl w:ilvl=\"1\"><w:start w:val=\"1\"/><w:numFmt w:val=\"lowerLetter\"/><w:lvlText w:val=\"%1.%2)\"/></w:lvl>\
        </w:abstractNum><w:num w:numId=\"1\"><w:abstractNumId w:val=\"0\"/></w:num></w:numbering>";
    let item = |level: u32, text: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"1\"/></w:numPr></w:pPr>\
             <w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let body = [item(0, "first"), item(1, "under"), item(1, "under"), item(0, "second")].concat();
    let document = docx_of(&word_document(&body), &[("numbering.xml", "numbering", numbering)]);
    let document = read_default(&document).expect("it is read");
    assert_eq!(lines(&document), ["3. first", "3.a) under", "3.b) under", "4. second"]);
}

#[test]
fn text_boxes_and_boxes_to_tick() {
    let body = format!(
        "<w:p><w:r><w:t>anchor</w:t></w:r><w:r><w:drawing><w:txbxContent>{}</w:txbxContent></w:drawing></w:r>\
         <w:r><w:t> text</w:t></w:r></w:p>\
         <w:p><w:r><w:fldChar w:fldCharType=\"begin\"><w:ffData><w:checkBox><w:default w:val=\"0\"/><w:checked/>\
         </w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:t> yes </w:t></w:r>\
         <w:r><w:sym w:font=\"Wingdings\" w:char=\"F0A8\"/></w:r><w:r><w:t> no</w:t></w:r></w:p>",
        paragraph("boxed")
    );
    let document = read_default(&docx(&body)).expect("it is read");
    assert_eq!(lines(&document), ["anchor text", "boxed", "☒ yes ☐ no"]);
}

#[test]
fn entities_and_depth_are_refused() {
    let entities =
        "<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]>".to_owned() + &word_document("");
    assert_eq!(read_default(&docx_of(&entities, &[])), Err(ReadError::Unreadable(Reason::Doctype)));
    let unknown = word_document(&paragraph("&surprise;"));
    assert_eq!(read_default(&docx_of(&unknown, &[])), Err(ReadError::Unreadable(Reason::Damaged)));
    let deep = word_document(&("<w:sdt>".repeat(300) + &"</w:sdt>".repeat(300)));
    assert_eq!(read_default(&docx_of(&deep, &[])), Err(ReadError::Unreadable(Reason::Structure)));
    let truncated = word_document(&paragraph("text")).replace("</w:body></w:document>", "");
    assert_eq!(read_default(&docx_of(&truncated, &[])), Err(ReadError::Unreadable(Reason::Damaged)));
}

#[test]
fn a_main_part_of_anything_else_is_damaged() {
    let header = format!("<w:hdr>{}</w:hdr>", paragraph("header"));
    for main in ["", "hello", "<foo/>", "<document><body/></document>"] {
        let read = read_default(&docx_of(main, &[("header1.xml", "header", &header)]));
        assert_eq!(read, Err(ReadError::Unreadable(Reason::Damaged)), "{main}");
    }
    assert_eq!(lines(&read_default(&docx("")).expect("an empty document is one")), [""; 0]);
}
