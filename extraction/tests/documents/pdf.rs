//! PDF: reading order, rows, tables, forms, what is hidden.

use extraction::document::{PageSource, Warning};

use crate::files::{pdf, pdf_with, show};
use crate::{cells, lines, read_default};

#[test]
fn labels_and_values_stay_on_one_line_with_their_positions() {
    let content = [
        show(50.0, 700.0, 10.0, "Invoice number:"),
        show(300.0, 699.0, 10.0, "RE-2043"),
        show(50.0, 680.0, 10.0, "Due"),
        show(300.0, 680.0, 10.0, "15 January 2026"),
    ];
    let document = read_default(&pdf(&[&content.concat()])).expect("it is read");
    assert_eq!(lines(&document), ["Invoice number: RE-2043", "Due 15 January 2026"]);
    let page = &document.pages[0];
    assert_eq!(
        (document.page_count, page.source, page.width, page.height),
        (Some(1), PageSource::TextLayer, 595.0, 842.0)
    );
    let value = &page.lines[0].words[2];
    let location = value.bbox.expect("it has a position");
    assert!(
        (location.x - 300.0).abs() < 1.0 && location.y > 130.0 && location.y + location.height < 147.0,
        "{location:?}"
    );
    assert!(value.gap > 20 && (value.size - 10.0).abs() < 0.1);
}

#[test]
fn words_are_cut_at_spaces_and_gaps_and_put_together_across_pieces() {
    let content = "BT /F1 10 Tf 50 700 Td [(Tot) 20 (al) -400 (net) ] TJ (amo) Tj (unt ) Tj (due) Tj ET";
    let document = read_default(&pdf(&[content])).expect("it is read");
    assert_eq!(lines(&document), ["Total netamount due"]);
    let leader = show(50.0, 700.0, 10.0, "Total..................12.00");
    let document = read_default(&pdf(&[&leader])).expect("it is read");
    assert_eq!(lines(&document), ["Total 12.00"]);
}

fn prose(x: f32, from: f32, rows: usize, word: &str) -> String {
    (0..rows)
        .map(|row| {
            show(
                x,
                from - 12.0 * row as f32,
                10.0,
                &format!("{word}{row} of some prose that fills the row {row}"),
            )
        })
        .collect()
}

#[test]
fn columns_of_prose_are_read_one_after_the_other() {
    let content = show(200.0, 760.0, 14.0, "A title over both of the columns of it")
        + &prose(50.0, 730.0, 12, "left")
        + &prose(310.0, 730.0, 12, "right")
        + &show(
            50.0,
            500.0,
            10.0,
            "One more row across the whole page, below both of the columns, as wide as they are together.",
        );
    let document = read_default(&pdf(&[&content])).expect("it is read");
    let found = lines(&document);
    assert_eq!(found.len(), 26, "{found:#?}");
    assert!(found[0].starts_with("A title") && found[25].starts_with("One more"));
    assert!(found[1..13].iter().all(|line| line.starts_with("left")), "{found:#?}");
    assert!(found[13..25].iter().all(|line| line.starts_with("right")), "{found:#?}");
}

#[test]
fn a_table_across_both_columns_is_cut_out_before_they_are_read() {
    let mut content = prose(50.0, 760.0, 8, "above-left") + &prose(310.0, 760.0, 8, "above-right");
    for (row, texts) in
        [["Part", "Size", "Price"], ["Bolt", "M8", "0.20"], ["Nut", "M8", "0.10"]].iter().enumerate()
    {
        for (column, text) in texts.iter().enumerate() {
            content += &show(60.0 + 170.0 * column as f32, 615.0 - 20.0 * row as f32, 10.0, text);
        }
    }
    for row in 0..4 {
        content += &format!("50 {y} m 560 {y} l S\n", y = 630 - 20 * row);
    }
    for column in 0..4 {
        content += &format!("{x} 630 m {x} 570 l S\n", x = 50 + 170 * column);
    }
    content += &(prose(50.0, 540.0, 8, "below-left") + &prose(310.0, 540.0, 8, "below-right"));
    let document = read_default(&pdf(&[&content])).expect("it is read");
    let order: Vec<String> =
        lines(&document).iter().map(|line| line.split(' ').next().unwrap_or("").to_owned()).collect();
    let position = |word: &str| order.iter().position(|first| first == word).expect("the line is there");
    let expected = [
        "above-left0",
        "above-left7",
        "above-right0",
        "above-right7",
        "Part",
        "Nut",
        "below-left0",
        "below-right7",
    ];
    assert!(expected.map(position).is_sorted(), "{order:#?}");
    assert_eq!(
        cells(&document, 0),
        [["Part", "Size", "Price"], ["Bolt", "M8", "0.20"], ["Nut", "M8", "0.10"]]
    );
}

/// The lines of a grid: where they stand across, and from top to bottom.
fn grid(across: &[f32], down: &[f32]) -> String {
    let ends = |at: &[f32]| (at[0], at[at.len() - 1]);
    let ((left, right), (top, bottom)) = (ends(across), ends(down));
    let mut content = String::new();
    for x in across {
        content += &format!("{x} {top} m {x} {bottom} l S\n");
    }
    for y in down {
        content += &format!("{left} {y} m {right} {y} l S\n");
    }
    content
}

/// `read_default` holds that no word is in two tables.
#[test]
fn drawn_tables_next_to_and_inside_one_another_are_two() {
    let rows = [700.0, 680.0, 660.0, 640.0];
    let mut content = grid(&[200.0, 270.0, 340.0], &rows) + &grid(&[400.0, 470.0, 540.0], &rows);
    for (row, y) in [686.0, 666.0, 646.0].into_iter().enumerate() {
        for (column, x) in [50.0, 205.0, 275.0, 405.0, 475.0].into_iter().enumerate() {
            content += &show(x, y, 10.0, &format!("cell{row}{column}"));
        }
    }
    let adjacent = read_default(&pdf(&[&content])).expect("it is read");
    assert_eq!(cells(&adjacent, 0)[0], ["cell01", "cell02"]);
    assert_eq!(cells(&adjacent, 1)[2], ["cell23", "cell24"]);
    assert_eq!(adjacent.pages[0].tables.len(), 2);

    let mut content = grid(&[50.0, 250.0, 500.0], &[700.0, 680.0, 560.0, 540.0]);
    content += &grid(&[270.0, 370.0, 480.0], &[660.0, 640.0, 620.0]);
    for (x, y, text) in [
        (60.0, 686.0, "Item"),
        (260.0, 686.0, "Parts"),
        (60.0, 646.0, "Lamp"),
        (275.0, 646.0, "Bulb"),
        (375.0, 646.0, "1"),
        (275.0, 626.0, "Socket"),
        (375.0, 626.0, "2"),
        (60.0, 546.0, "Wire"),
        (260.0, 546.0, "none"),
    ] {
        content += &show(x, y, 10.0, text);
    }
    let within = read_default(&pdf(&[&content])).expect("it is read");
    assert_eq!(cells(&within, 0), [["Item", "Parts"], ["Lamp", ""], ["Wire", "none"]]);
    assert_eq!(cells(&within, 1), [["Bulb", "1"], ["Socket", "2"]]);
}

#[test]
fn columns_under_one_another_are_a_table_without_lines() {
    let mut content = String::new();
    for (row, texts) in [
        ["Item", "Count", "Price", "Sum"],
        ["Copper wire", "2", "1.50", "3.00"],
        ["Lamp", "10", "4.25", "42.50"],
    ]
    .iter()
    .enumerate()
    {
        for (column, text) in texts.iter().enumerate() {
            content += &show(60.0 + 120.0 * column as f32, 600.0 - 14.0 * row as f32, 10.0, text);
        }
    }
    let document = read_default(&pdf(&[&content])).expect("it is read");
    assert_eq!(lines(&document)[1], "Copper wire 2 1.50 3.00");
    assert_eq!(cells(&document, 0)[2], ["Lamp", "10", "4.25", "42.50"]);
}

#[test]
fn turned_pages_and_turned_text_are_read_upright() {
    let content = show(100.0, 400.0, 12.0, "Landscape report of a turned page");
    let turned = read_default(&pdf_with(&[&content], "/Rotate 90", &[])).expect("it is read");
    assert_eq!(lines(&turned), ["Landscape report of a turned page"]);
    assert_eq!((turned.pages[0].width, turned.pages[0].height), (842.0, 595.0));
    let vertical = "BT /F1 12 Tf 0 1 -1 0 300 200 Tm (Upwards along the page) Tj ET";
    let document = read_default(&pdf(&[vertical])).expect("it is read");
    assert_eq!(lines(&document), ["Upwards along the page"]);
    let location = document.pages[0].lines[0].words[0].bbox.expect("it has a position");
    assert!(location.height > location.width && location.x < 300.0 && location.x > 280.0, "{location:?}");
}

#[test]
fn invisible_text_is_left_out_and_reported() {
    let content = show(50.0, 700.0, 10.0, "shown")
        + &format!("1 1 1 rg\n{}0 0 0 rg\n", show(50.0, 680.0, 10.0, "white"))
        + &show(50.0, 660.0, 0.5, "tiny")
        + &show(50.0, 900.0, 10.0, "outside")
        + "BT /F1 10 Tf 3 Tr 50 640 Td (invisible) Tj 0 Tr ET\n"
        + &format!("{}0 0 0 rg 40 612 200 20 re f\n", show(50.0, 620.0, 10.0, "covered"))
        + &format!("0 0 1 rg 40 570 200 20 re f 1 1 1 rg\n{}", show(50.0, 576.0, 10.0, "white on blue"));
    let document = read_default(&pdf(&[&content])).expect("it is read");
    assert_eq!(lines(&document), ["shown", "white on blue"]);
    assert_eq!(document.warnings, [Warning::HiddenText { page: 1 }]);
}

#[test]
fn fields_of_forms_say_their_values_where_nothing_is_drawn_yet() {
    let fields = [
        "<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ada Lovelace)/Rect[200 695 400 712]>>",
        "<</Type/Annot/Subtype/Widget/FT/Btn/T(yes)/AS/On/V/On/Rect[200 670 212 682]>>",
        "<</Type/Annot/Subtype/Widget/FT/Btn/T(no)/AS/Off/Rect[200 640 212 652]>>",
        "<</Type/Annot/Subtype/Widget/FT/Ch/T(c)/V(de)/Opt[[(fr)(France)][(de)(Germany)]]/Rect[200 605 400 622]>>",
        "<</Type/Annot/Subtype/Widget/FT/Tx/T(secret)/F 2/V(hidden)/Rect[200 575 400 592]>>",
    ];
    let content = [
        show(50.0, 700.0, 10.0, "Name"),
        show(50.0, 673.0, 10.0, "Member"),
        show(50.0, 643.0, 10.0, "Student"),
        show(50.0, 610.0, 10.0, "Country"),
    ];
    let more: Vec<Vec<u8>> = fields.iter().map(|field| field.as_bytes().to_vec()).collect();
    let file = pdf_with(&[&content.concat()], "/Annots[5 0 R 6 0 R 7 0 R 8 0 R 9 0 R]", &more);
    let document = read_default(&file).expect("it is read");
    assert_eq!(lines(&document), ["Name Ada Lovelace", "Member ☒", "Student ☐", "Country Germany"]);
}

#[test]
fn drawn_boxes_are_ticked_or_not() {
    let content = "50 700 10 10 re S 52 702 m 58 708 l S 52 708 m 58 702 l S\n".to_owned()
        + &show(66.0, 701.0, 10.0, "crossed")
        + "150 700 10 10 re S\n"
        + &show(166.0, 701.0, 10.0, "empty")
        + "250 700 10 10 re S\n"
        + &show(251.5, 701.5, 10.0, "X")
        + &show(266.0, 701.0, 10.0, "lettered")
        // Boxes for one letter each are none.
        + "50 650 12 12 re S 62 650 12 12 re S\n"
        + &show(53.0, 652.0, 10.0, "A");
    let document = read_default(&pdf(&[&content])).expect("it is read");
    assert_eq!(lines(&document), ["☒ crossed ☐ empty ☒ lettered", "A"]);
}
