//! Documents as text, DOCX and PDF.

use std::io::Write;

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str};

use super::pieces::Piece;
use super::random::Random;

/// Running text: labels with a colon or in a column, tables aligned by spaces.
pub fn text(pieces: &[Piece], random: &mut Random) -> String {
    let column = random.chance(35);
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Title(text) | Piece::Line(text) => out.push_str(text),
            Piece::Blank => {}
            Piece::Pair(label, value) if column => out.push_str(&format!("{label:30}  {value}")),
            Piece::Pair(label, value) => out.push_str(&format!("{label}: {value}")),
            Piece::Bullets(label, items) => {
                out.push_str(label);
                for item in items {
                    out.push_str(&format!("\n  - {item}"));
                }
            }
            Piece::Table(rows, _) => {
                let widths = widths(rows);
                let lines: Vec<String> = rows
                    .iter()
                    .map(|row| {
                        let cells: Vec<String> =
                            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
                        cells.join("   ").trim_end().to_owned()
                    })
                    .collect();
                out.push_str(&lines.join("\n"));
            }
            Piece::Paragraph(text) => out.push_str(&wrapped(text, 90).join("\n")),
        }
        out.push('\n');
    }
    out
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    (0..columns)
        .map(|at| {
            rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect()
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let full = lines
            .last()
            .is_some_and(|line| !line.is_empty() && line.chars().count() + word.chars().count() >= width);
        if full {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A DOCX with paragraphs, bullets and tables.
pub fn docx(pieces: &[Piece]) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let run = |text: &str| format!("<w:r><w:t xml:space=\"preserve\">{}</w:t></w:r>", escaped(text));
    let paragraph = |text: &str| format!("<w:p>{}</w:p>", run(text));
    let table = |rows: &[Vec<String>]| {
        let rows: String = rows
            .iter()
            .map(|row| {
                let cells: String =
                    row.iter().map(|cell| format!("<w:tc>{}</w:tc>", paragraph(cell))).collect();
                format!("<w:tr>{cells}</w:tr>")
            })
            .collect();
        format!("<w:tbl>{rows}</w:tbl>")
    };
    let mut body = String::new();
    for piece in pieces {
        match piece {
            Piece::Title(text) | Piece::Line(text) | Piece::Paragraph(text) => {
                body.push_str(&paragraph(text));
            }
            Piece::Blank => body.push_str("<w:p/>"),
            Piece::Pair(label, value) => body.push_str(&paragraph(&format!("{label}: {value}"))),
            Piece::Bullets(label, items) => {
                body.push_str(&paragraph(label));
                items.iter().for_each(|item| body.push_str(&paragraph(&format!("• {item}"))));
            }
            Piece::Table(rows, _) => body.push_str(&table(rows)),
        }
    }
    let parts = [
        (
            "[Content_Types].xml",
            "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Override PartName=\"/word/document.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml\"/></Types>".to_owned(),
        ),
        (
            "_rels/.rels",
            "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"r1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"word/document.xml\"/></Relationships>".to_owned(),
        ),
        (
            "word/document.xml",
            format!("<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>{body}</w:body></w:document>"),
        ),
    ];
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(name, zip::write::SimpleFileOptions::default())?;
        archive.write_all(content.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}

const LEFT: f32 = 56.0;
const TOP: f32 = 790.0;

/// A PDF page in Helvetica, in the encoding of western Europe.
pub fn pdf(pieces: &[Piece], random: &mut Random) -> Vec<u8> {
    let column = if random.chance(50) { Some(LEFT + random.range(120, 220) as f32) } else { None };
    let mut content = Content::new();
    let mut y = TOP;
    let mut put = |x: f32, y: f32, size: f32, text: &str| {
        content.begin_text();
        content.set_font(Name(b"F1"), size);
        content.next_line(x, y);
        content.show(Str(&encoded(text)));
        content.end_text();
    };
    for piece in pieces {
        match piece {
            Piece::Title(text) => put(LEFT, y, 16.0, text),
            Piece::Line(text) => put(LEFT, y, 10.0, text),
            Piece::Blank => {}
            Piece::Pair(label, value) => match column {
                Some(x) => {
                    put(LEFT, y, 10.0, label);
                    put(x, y, 10.0, value);
                }
                None => put(LEFT, y, 10.0, &format!("{label}: {value}")),
            },
            Piece::Bullets(label, items) => {
                put(LEFT, y, 10.0, label);
                for item in items {
                    y -= 15.0;
                    put(LEFT + 10.0, y, 10.0, &format!("- {item}"));
                }
            }
            Piece::Table(rows, numbers) => {
                let widths = widths(rows);
                for row in rows {
                    let mut x = LEFT;
                    for ((cell, width), is_number) in row.iter().zip(&widths).zip(numbers) {
                        let space = *width as f32 * 6.0 + 22.0;
                        let indent =
                            if *is_number { (*width - cell.chars().count()) as f32 * 5.56 } else { 0.0 };
                        put(x + indent, y, 10.0, cell);
                        x += space;
                    }
                    y -= 15.0;
                }
            }
            Piece::Paragraph(text) => {
                for line in wrapped(text, 95) {
                    put(LEFT, y, 10.0, &line);
                    y -= 13.0;
                }
            }
        }
        y -= if matches!(piece, Piece::Title(_)) { 22.0 } else { 15.0 };
    }
    let content = content.finish();
    let (catalog, tree, page, stream, font) =
        (Ref::new(1), Ref::new(2), Ref::new(3), Ref::new(4), Ref::new(5));
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree).kids([page]).count(1);
    let mut writer = pdf.page(page);
    writer.parent(tree).media_box(Rect::new(0.0, 0.0, 595.0, 842.0)).contents(stream);
    writer.resources().fonts().pair(Name(b"F1"), font);
    writer.finish();
    pdf.stream(stream, &content);
    pdf.type1_font(font).base_font(Name(b"Helvetica")).encoding_predefined(Name(b"WinAnsiEncoding"));
    pdf.finish()
}

/// Windows-1252, of the characters that occur.
fn encoded(text: &str) -> Vec<u8> {
    text.chars()
        .map(|c| match c {
            '€' => 0x80,
            '•' => 0x95,
            c if (c as u32) < 256 => c as u32 as u8,
            _ => b'?',
        })
        .collect()
}
