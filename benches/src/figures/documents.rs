//! `documents`: extraction from a five-page text PDF through the server.

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str};

use super::Options;
use super::files::{BOUNDARY, Site};
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report};
use crate::statistics::Samples;

const PATH: &str = "/v1/open/document-extraction/extract";

const PAGES: usize = 5;

/// Lines per page.
const LINES: usize = 48;

/// Documents, each with different content.
const ROUNDS: usize = 200;

/// Fields of the usual types, and a table that spans all pages.
const SCHEMA: &str = r#"{
    "invoiceNumber": { "type": "string" },
    "issueDate": { "type": "date" },
    "vendorEmail": { "type": "email" },
    "paid": { "type": "boolean" },
    "total": { "type": "currency" },
    "lineItems": { "type": "array", "items": { "type": "object", "properties": {
        "description": { "type": "string" }, "quantity": { "type": "number" }, "amount": { "type": "number" } } } }
}"#;

pub(super) fn run(_: &Options) -> Measured {
    let site = Site::new("documents")?;
    let begin = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"schema\"\r\n\r\n{SCHEMA}\r\n--{BOUNDARY}\r\n\
         Content-Disposition: form-data; name=\"document\"; filename=\"invoice.pdf\"\r\n\r\n"
    );
    let mut milliseconds = Samples::default();
    for round in 0..=ROUNDS {
        let (document, cents) = invoice(round);
        let begun = monotonic();
        let answer = site.post(PATH, &begin, &document)?;
        let took = begun.elapsed();
        check(&answer, cents)?;
        if round > 0 {
            milliseconds.push(took.as_secs_f64() * 1e3);
        }
    }
    site.end()?;
    let mut report = Report::new("documents");
    report.condition(format!(
        "an invoice of {PAGES} pages of text ({} lines of items) as PDF, six fields asked for, to openapi-server with \
         its default settings (built-in engine, a process for each document), one request at a time over a connection of \
         its own, from the first byte to the answer; {ROUNDS} documents",
        items(),
    ));
    report.detail("half of them within", milliseconds.median(), "ms");
    report.detail("slowest", milliseconds.quantile(1.0), "ms");
    report.figure(
        "extraction from a PDF of five pages, 95 of 100 within",
        milliseconds.quantile(0.95),
        "ms",
        Reach::AtMost(150.0),
    );
    Ok(report)
}

/// A fast response counts only if it is correct.
fn check(answer: &str, cents: usize) -> Result<(), Failure> {
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let value: serde_json::Value = serde_json::from_str(body).map_err(|_| answer.to_owned())?;
    let data = &value["data"];
    let rows = data["lineItems"].as_array().map_or(0, Vec::len);
    let total = data["total"]["amount"].as_f64().map(|amount| (amount * 100.0).round() as usize);
    if total == Some(cents) && rows == items() {
        Ok(())
    } else {
        Err(format!("{rows} rows of {}, total {} for {}", items(), data["total"], decimal(cents)).into())
    }
}

/// The header takes ten lines, the total two.
fn items() -> usize {
    PAGES * LINES - 12
}

/// An invoice, and its total in cents.
fn invoice(number: usize) -> (Vec<u8>, usize) {
    let mut lines: Vec<Vec<(f32, String)>> = [
        "Aldine Tools Ltd.".to_owned(),
        "12 Quay Street, Bristol BS1 4XX".to_owned(),
        format!("Email: accounts{number}@example.com"),
        String::new(),
        format!("Invoice number: INV-{:05}", 20_000 + number),
        format!("Issue date: {} March 2026", 1 + number % 28),
        "Paid: yes".to_owned(),
        String::new(),
        String::new(),
    ]
    .map(|line| vec![(50.0, line)])
    .into();
    let row = |first: &str, second: &str, third: &str| {
        vec![(50.0, first.to_owned()), (330.0, second.to_owned()), (450.0, third.to_owned())]
    };
    lines.push(row("Description", "Quantity", "Amount"));
    let mut sum = 0;
    for item in 0..items() {
        let cents = 1_000 + (item * 7_919 + number * 104_729) % 90_000;
        sum += cents;
        let (quantity, amount) = (1 + (item + number) % 9, decimal(cents));
        lines.push(row(&format!("Fitting of size {}", 100 + item), &quantity.to_string(), &amount));
    }
    lines.push(Vec::new());
    lines.push(vec![(50.0, format!("Total: {} EUR", decimal(sum)))]);
    (pdf(&lines), sum)
}

fn decimal(cents: usize) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// A4 pages in Helvetica, each text at its position in its line.
fn pdf(lines: &[Vec<(f32, String)>]) -> Vec<u8> {
    let mut next = 4;
    let mut new = || {
        next += 1;
        Ref::new(next)
    };
    let (catalog, tree, font) = (Ref::new(1), Ref::new(2), Ref::new(3));
    let pages: Vec<(Ref, Ref)> = lines.chunks(LINES).map(|_| (new(), new())).collect();
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree).kids(pages.iter().map(|(page, _)| *page)).count(PAGES as i32);
    for ((page, stream), lines) in pages.iter().zip(lines.chunks(LINES)) {
        let mut writer = pdf.page(*page);
        writer.parent(tree).media_box(Rect::new(0.0, 0.0, 595.0, 842.0)).contents(*stream);
        writer.resources().fonts().pair(Name(b"F1"), font);
        writer.finish();
        let mut content = Content::new();
        for (nth, line) in lines.iter().enumerate() {
            for (x, text) in line {
                content.begin_text();
                content.set_font(Name(b"F1"), 10.0);
                content.next_line(*x, 790.0 - 15.0 * nth as f32);
                content.show(Str(text.as_bytes()));
                content.end_text();
            }
        }
        pdf.stream(*stream, &content.finish());
    }
    pdf.type1_font(font).base_font(Name(b"Helvetica")).encoding_predefined(Name(b"WinAnsiEncoding"));
    pdf.finish()
}
