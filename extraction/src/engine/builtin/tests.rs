//! The engine as a whole: what it finds, that it invents nothing, and that it ends.

use openapi_core::extraction::{Evidence, Extraction, ExtractionSchema, Finding};
use openapi_core::json::Json;
use proptest::prelude::*;

use super::*;
use crate::document::{Line, Page, PageSource, Rect, Word};

/// Running text as the reader of text gives it.
fn document(text: &str) -> Document {
    let mut lines = Vec::new();
    let mut block = 0;
    for line in text.lines() {
        let mut words = Vec::new();
        let mut gap = 0_u16;
        for part in line.split(char::is_whitespace) {
            if part.is_empty() {
                gap += 1;
                continue;
            }
            let word = Word { text: part.to_owned(), confidence: 1.0, gap, ..Word::default() };
            words.push(word);
            gap = 1;
        }
        if words.is_empty() {
            block += 1;
        } else {
            lines.push(Line { words, block });
        }
    }
    let page = Page { number: 1, source: PageSource::Flow, lines, ..Page::default() };
    Document { pages: vec![page], ..Document::default() }
}

fn schema(text: &str) -> ExtractionSchema {
    ExtractionSchema::parse(text.as_bytes()).unwrap()
}

fn extraction(document: &Document, fields: &str) -> Extraction {
    let schema = schema(fields);
    let answer = extract(document, &schema);
    Extraction::of(&schema, answer.findings, &answer.warnings)
}

pub(super) fn values(text: &str, fields: &str) -> String {
    Json::Object(extraction(&document(text), fields).data).to_text()
}

/// How sure the first field is; 0 without a value.
pub(super) fn confidence(text: &str, fields: &str) -> f64 {
    extraction(&document(text), fields).field_confidences[0].1.share()
}

/// The reported errors of values that the schema rejects: field, kind, raw text.
fn errors(text: &str, fields: &str) -> Vec<(String, &'static str, String)> {
    let errors = extraction(&document(text), fields).validation.errors.into_iter();
    errors.map(|error| (error.field.unwrap_or_default(), error.kind, error.value.to_text())).collect()
}

#[test]
fn invalid_values_of_a_field_are_reported() {
    for (line, field, kind, raw) in [
        ("Invoice date: 31.02.2026", r#"{ "invoiceDate": { "type": "date" } }"#, "format", "31.02.2026"),
        (
            "Created at: 2026-01-15T25:00:00Z",
            r#"{ "createdAt": { "type": "datetime" } }"#,
            "format",
            "2026-01-15T25:00:00Z",
        ),
        ("Quantity: twelve", r#"{ "quantity": { "type": "number" } }"#, "type", "twelve"),
        ("Quantity: 12.5", r#"{ "quantity": { "type": "integer" } }"#, "type", "12.5"),
        ("Approved: perhaps", r#"{ "approved": { "type": "boolean" } }"#, "type", "perhaps"),
        (
            "Contact email: someone at example",
            r#"{ "contactEmail": { "type": "email" } }"#,
            "format",
            "someone at example",
        ),
        ("Website: ask us", r#"{ "website": { "type": "url" } }"#, "format", "ask us"),
        (
            "Status: pending",
            r#"{ "status": { "type": "string", "enum": ["paid", "open"] } }"#,
            "enum",
            "pending",
        ),
        ("Code: AB-12", r#"{ "code": { "type": "string", "pattern": "^[0-9]+$" } }"#, "pattern", "AB-12"),
        (
            "Total amount: 5.00",
            r#"{ "totalAmount": { "type": "number", "minimum": 10 } }"#,
            "minimum",
            "5.00",
        ),
    ] {
        let reported = errors(&format!("Order 7\n{line}\nThank you"), field);
        assert_eq!(reported.len(), 1, "{line}: {reported:?}");
        assert_eq!((reported[0].1, reported[0].2.trim_matches('"')), (kind, raw), "{line}");
        assert!(values(line, field).contains("null"), "{line}");
    }
    // Nothing was written, a hint, another field's value, a sentence: nothing to tell.
    for (text, field) in [
        ("Invoice date:\nThank you", r#"{ "invoiceDate": { "type": "date" } }"#),
        ("Invoice date: (dd/mm/yyyy)", r#"{ "invoiceDate": { "type": "date" } }"#),
        ("Quantity: n/a", r#"{ "quantity": { "type": "number" } }"#),
        (
            "Email: to be given by the customer before the first order is sent",
            r#"{ "email": { "type": "email" } }"#,
        ),
        ("Approved: ________", r#"{ "approved": { "type": "boolean" } }"#),
    ] {
        assert_eq!(errors(text, field), [], "{text}");
    }
}

#[test]
fn times_are_those_that_are_written() {
    for (text, value) in [
        ("2026-01-15T10:00:00Z", "2026-01-15T10:00:00Z"),
        ("2026-01-15T10:00:00.123Z", "2026-01-15T10:00:00Z"),
        ("2026-01-15T10:00:00", "2026-01-15T10:00:00Z"),
        ("2026-01-15T10:00:00+02:00", "2026-01-15T10:00:00+02:00"),
        ("2026-01-15 10:00 +02:00", "2026-01-15T10:00:00+02:00"),
        ("2026-01-15 10:00:05+0200", "2026-01-15T10:00:05+02:00"),
        ("15.01.2026 10:30", "2026-01-15T10:30:00Z"),
        ("15.01.2026, 10:30 Uhr", "2026-01-15T10:30:00Z"),
        ("10:30 15.01.2026", "2026-01-15T10:30:00Z"),
        ("January 15, 2026 at 3:43 PM", "2026-01-15T15:43:00Z"),
        ("15.01.2026", "2026-01-15T00:00:00Z"),
    ] {
        let found = values(&format!("Created at: {text}"), r#"{ "createdAt": { "type": "datetime" } }"#);
        assert_eq!(found, format!(r#"{{"createdAt":"{value}"}}"#), "{text}");
    }
}

#[test]
fn a_space_too_many_cuts_no_text() {
    for (text, field, value) in [
        ("City: New  York", "city", "New York"),
        ("Company: Acme  Trading   Ltd", "company", "Acme Trading Ltd"),
        ("Notes: a   b   c\nEnd of letter", "notes", "a b c"),
    ] {
        let found = values(text, &format!(r#"{{ "{field}": {{ "type": "string" }} }}"#));
        assert_eq!(found, format!(r#"{{"{field}":"{value}"}}"#), "{text}");
    }
    // Columns stay columns.
    let columns = "Name    City\nAnna Berg   Leeds\nZoe Okafor  York\nBo Ek       Hull";
    let rows = values(
        columns,
        r#"{ "people": { "type": "array", "items": { "type": "object", "properties": { "name": { "type": "string" }, "city": { "type": "string" } } } } }"#,
    );
    assert!(rows.contains(r#"{"name":"Zoe Okafor","city":"York"}"#), "{rows}");
}

#[test]
fn parts_of_an_address_are_found_by_their_labels_too() {
    let text = "Customer\nName: Jane Doe\nCity: Leeds\nZip: LS1 4AB";
    let fields = r#"{ "customer": { "type": "object", "properties": { "name": { "type": "string" }, "city": { "type": "string" }, "zip": { "type": "string" } } } }"#;
    assert_eq!(values(text, fields), r#"{"customer":{"name":"Jane Doe","city":"Leeds","zip":"LS1 4AB"}}"#);
}

const INVOICE: &str = "\
Nordlicht GmbH
Gartenstraße 12
50667 Köln

Rechnung
Rechnungs-Nr.: R-2043
Rechnungsdatum: 15.01.2026
Zahlbar bis: 14.02.2026
Kunde: Fontana S.r.l.
E-Mail: rechnung@example.com

Bezeichnung        Menge   Einzelpreis   Gesamtpreis
Kupferrohr 15 mm   10      12,50         125,00
Schreibtisch       2       1.234,56      2.469,12

Nettobetrag: 2.594,12 €
MwSt. 19%: 492,88 €
Gesamtbetrag: 3.087,00 €
";

#[test]
fn an_invoice_in_another_language_than_the_schema() {
    let fields = r#"{ "invoiceNumber": { "type": "string" }, "issueDate": { "type": "date", "description": "Date of issue" }, "dueDate": { "type": "date" },
        "vendorName": { "type": "string", "description": "Issuing company" }, "customer": { "type": "string" }, "vendorEmail": { "type": "email" },
        "net": { "type": "number", "description": "Total before tax" }, "tax": { "type": "number" }, "total": { "type": "currency" }, "discount": { "type": "number" },
        "lines": { "type": "array", "description": "Lines of the invoice", "items": { "type": "object", "properties": {
            "description": { "type": "string" }, "quantity": { "type": "integer" }, "unitPrice": { "type": "number" }, "amount": { "type": "number" } } } } }"#;
    assert_eq!(
        values(INVOICE, fields),
        r#"{"invoiceNumber":"R-2043","issueDate":"2026-01-15","dueDate":"2026-02-14","vendorName":"Nordlicht GmbH","customer":"Fontana S.r.l.","vendorEmail":"rechnung@example.com","net":2594.12,"tax":492.88,"total":{"amount":3087,"currency":"EUR"},"discount":null,"lines":[{"description":"Kupferrohr 15 mm","quantity":10,"unitPrice":12.5,"amount":125},{"description":"Schreibtisch","quantity":2,"unitPrice":1234.56,"amount":2469.12}]}"#
    );
}

#[test]
fn an_agreement_says_its_values_in_sentences() {
    let text = "\
This Non-Disclosure Agreement is entered into as of March 5, 2024 by and between
Granite Peak, Inc., a Delaware corporation (the \"Discloser\"), and Mara Lindqvist (the \"Recipient\").
The term of this Agreement is two (2) years from the date above.
This Agreement shall be governed by the laws of the State of Oregon, without regard to conflicts.
";
    let fields = r#"{ "effectiveDate": { "type": "date" }, "governingLaw": { "type": "string" }, "term": { "type": "string" },
        "parties": { "type": "array" } }"#;
    assert_eq!(
        values(text, fields),
        r#"{"effectiveDate":"2024-03-05","governingLaw":"Oregon","term":"2 years","parties":["Granite Peak, Inc.","Mara Lindqvist"]}"#
    );
}

/// The same as a page of a PDF gives it: each character 6 points wide, each line 14 points high.
fn placed(text: &str) -> Document {
    let mut document = document(text);
    for page in &mut document.pages {
        (page.width, page.height, page.source) = (600.0, 800.0, PageSource::TextLayer);
        let rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        for (line, (row, written)) in page.lines.iter_mut().zip(rows) {
            let mut from = 0;
            for word in &mut line.words {
                let at = from + written[from..].find(&word.text).expect("the word is in its line");
                from = at + word.text.len();
                let column = written[..at].chars().count() as f32;
                let width = word.text.chars().count() as f32 * 6.0;
                word.bbox = Some(Rect { x: column * 6.0, y: row as f32 * 14.0, width, height: 10.0 });
                word.size = 10.0;
            }
        }
    }
    document
}

pub(super) fn placed_values(text: &str, fields: &str) -> String {
    Json::Object(extraction(&placed(text), fields).data).to_text()
}

#[test]
fn a_table_goes_on_below_its_header_its_cut_words_and_its_remarks() {
    let text = "\
No. of item
Item     Description            Unit price    Quantity    VAT    Amount
(kind)                                                    VAT
1        Rental days            86.55         2 pcs       19 %   173.10
Gross price : 102.99
Property: red
2        Navigation             5.04          2 pcs       19 %   10.08
         - Warranty
3        Personal-              7.98          2 pcs       19 %   15.96
         accident insurance

Total                                                            199.14
";
    let fields = r#"{ "lines": { "type": "array", "description": "Line items", "items": { "type": "object", "properties": {
        "description": { "type": "string" }, "quantity": { "type": "number" }, "unit_price": { "type": "number" },
        "line_total": { "type": "number", "description": "Net amount of the line" } } } } }"#;
    assert_eq!(
        placed_values(text, fields),
        r#"{"lines":[{"description":"Rental days","quantity":2,"unit_price":86.55,"line_total":173.1},{"description":"Navigation - Warranty","quantity":2,"unit_price":5.04,"line_total":10.08},{"description":"Personal-accident insurance","quantity":2,"unit_price":7.98,"line_total":15.96}]}"#
    );
}

#[test]
fn a_name_may_go_on_in_the_next_line_and_has_its_number() {
    let text = "\
Seller:
Musterhafter
Versicherungsverein Musterstadt GmbH

Buyer:
Herrn
Max Mustermann

Advertiser:  Fight Back Fund (116834)
";
    let fields = r#"{ "sellerName": { "type": "string" }, "buyerName": { "type": "string" },
        "advertiser": { "type": "string", "description": "Company that advertises" } }"#;
    assert_eq!(
        placed_values(text, fields),
        r#"{"sellerName":"Musterhafter Versicherungsverein Musterstadt GmbH","buyerName":"Herrn Max Mustermann","advertiser":"Fight Back Fund (116834)"}"#
    );
}

#[test]
fn money_is_distinguished_from_a_count_next_to_it() {
    let text = "Grand Total:        19     $6,751.00\n";
    assert_eq!(
        placed_values(text, r#"{ "grossAmount": { "type": "number", "description": "Grand total" } }"#),
        r#"{"grossAmount":6751}"#
    );
}

/// How long something is forbidden or given is not how long an agreement lasts.
#[test]
fn a_term_is_no_time_of_a_covenant_or_a_benefit() {
    let term = |text: &str| values(text, r#"{ "term": { "type": "string" } }"#);
    for none in [
        "Nonsolicitation. For a period of one year beginning on the Effective Date, you shall not solicit any customer.",
        "The Seller shall not open a shop in Leeds for 18 months from the date of execution of this Agreement.",
        "The Company shall continue coverage for up to twenty-four (24) months from the Effective Date.",
        "The Company shall continue coverage for up to twenty\nfour (24) months from the Effective Date.",
        // Nor is a time of which nobody says that the agreement lasts so long.
        "Payments begin at the earlier of six months and the death of the Employee.",
        "The show may not run in Norway for 36 months from the date of execution of this Agreement.",
    ] {
        assert_eq!(term(none), r#"{"term":null}"#, "{none}");
    }
    for (text, query) in [
        (
            "The Recipient shall not disclose Confidential Information for 3 years from the date of disclosure.",
            "3 years",
        ),
        ("You shall not compete. This Agreement continues for 2 years from the Effective Date.", "2 years"),
        ("During the term of 18 months the Agent shall not compete with the Principal.", "18 months"),
        (
            "The duties in this Agreement continue until the third anniversary of the Effective Date.",
            "3 years",
        ),
        ("9. Term.\nBoth sides are free after 5 years from the date of this Agreement.", "5 years"),
        ("Dieser Vertrag gilt zwei Jahre ab Unterzeichnung.", "2 jahre"),
    ] {
        assert_eq!(term(text), format!(r#"{{"term":"{query}"}}"#), "{text}");
    }
}

#[test]
fn a_law_is_named_by_its_jurisdiction_and_a_term_is_that_of_the_agreement() {
    let fields = r#"{ "governingLaw": { "type": "string" }, "term": { "type": "string" }, "parties": { "type": "array" } }"#;
    let text = "\
Acme Worldwide Inc., a Delaware corporation (“Acme”), has determined that you are important to it.
During the term of this Agreement and for a period of one (1) year thereafter, you will not compete.
This agreement shall be governed by Kansas law, without regard to its choice of law principles.
";
    assert_eq!(
        values(text, fields),
        r#"{"governingLaw":"Kansas","term":null,"parties":["Acme Worldwide Inc."]}"#
    );
    let text = "\
PARTIES:
Eric Sprunk (“Employee”)
and
Shoes, Inc., divisions and affiliates. (“Shoes”):
This Agreement shall be governed by the laws and public policies of the State of Oregon.
";
    assert_eq!(
        values(text, fields),
        r#"{"governingLaw":"Oregon","term":null,"parties":["Eric Sprunk","Shoes, Inc."]}"#
    );
}

#[test]
fn a_date_is_no_street() {
    let text = "\
Ship to:
31 Jalan Merdeka
6 December 2018
Bristol BS1 4DJ
United Kingdom
";
    let fields = r#"{ "shippingAddress": { "type": "object", "description": "Ship to", "properties": { "street": { "type": "string" },
        "city": { "type": "string" }, "postal_code": { "type": "string" } } } }"#;
    let found = values(text, fields);
    assert!(!found.contains("December"), "{found}");
}

#[test]
fn boxes_words_and_sections_answer() {
    let text = "\
Injuries                [x] Yes [ ] No
Police informed         [ ] Yes [x] No
Fasting: Ja
Patient:
Name: Mara Lindqvist
Physician:
Name: Jonas Weber
";
    let fields = r#"{ "injuries": { "type": "boolean" }, "policeInformed": { "type": "boolean" }, "fasting": { "type": "boolean" },
        "patientName": { "type": "string" }, "physicianName": { "type": "string" }, "petsAllowed": { "type": "boolean" } }"#;
    assert_eq!(
        values(text, fields),
        r#"{"injuries":true,"policeInformed":false,"fasting":true,"patientName":"Mara Lindqvist","physicianName":"Jonas Weber","petsAllowed":null}"#
    );
}

#[test]
fn a_document_without_text_is_reported() {
    let schema = schema(r#"{ "a": { "type": "string" } }"#);
    let answer = extract(&Document::default(), &schema);
    assert_eq!(answer.findings, [Finding::Absent]);
    assert_eq!(answer.warnings, [ExtractionWarning::NoText]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test of how long it takes")]
fn very_long_documents_end() {
    let mut text = String::new();
    while text.len() < 5_000_000 {
        text.push_str("Total: 12.50  Invoice date 01/02/2024  between Acme Inc. and laws of Oregon (two years) a@b.co\n");
    }
    let fields: Vec<String> =
        ["total", "invoice date", "laws", "term", "email", "company", "phone", "address", "tax", "x"]
            .iter()
            .enumerate()
            .map(|(n, name)| {
                let kind = [
                    "number", "date", "string", "string", "email", "string", "phone", "string", "number",
                    "boolean",
                ][n];
                format!(r#""{name}":{{"type":"{kind}"}}"#)
            })
            .collect();
    let table = r#""items":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number"}}}}"#;
    let schema = schema(&format!("{{{},{table}}}", fields.join(",")));
    let document = document(&text);
    let begun = std::time::Instant::now();
    let answer = extract(&document, &schema);
    assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_ne!(answer.findings[0], Finding::Absent);
}

/// Without white space: how words are joined does not count.
fn squashed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Whether a value is what its source says, normalised.
fn is_said(value: &Json, source: &str) -> bool {
    match value {
        Json::Number(number) => {
            digits(&text::ascii_digits(source)).contains(digits(number.as_str()).trim_start_matches('0'))
        }
        Json::Bool(_) => !source.is_empty(),
        Json::Object(members) => members.get("amount").is_some_and(|amount| is_said(amount, source)),
        Json::String(text) if text.len() == 10 && text.as_bytes()[4] == b'-' && digits(text).len() == 8 => {
            let (year, day) = (&text[2..4], text[8..].trim_start_matches('0'));
            source.contains(year) && source.contains(day)
        }
        Json::String(text) => {
            let is_currency = text.len() == 3 && text.chars().all(char::is_uppercase);
            squashed(source).contains(&squashed(text)) || is_currency
        }
        _ => false,
    }
}

fn leaves<'f>(finding: &'f Finding, found: &mut Vec<(&'f Json, &'f Evidence)>) {
    match finding {
        Finding::Absent => {}
        Finding::Leaf(leaf) => found.extend(leaf.value.as_ref().ok().map(|value| (value, &leaf.evidence))),
        Finding::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Finding::Object(members) => members.iter().for_each(|(_, member)| leaves(member, found)),
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "Total",
        "Invoice",
        "no.",
        "Date:",
        "Due",
        "date",
        "12.50",
        "1.234,56",
        "€",
        "$",
        "RM",
        "01/02/2024",
        "5 May 2024",
        "a@b.co",
        "Acme",
        "GmbH",
        "Name:",
        "Ja",
        "[x]",
        "[ ]",
        "No",
        "+49 221 123456",
        "INV-2043",
        "Tax",
        "19%",
        "Qty",
        "Price",
        "Description",
        "(5.00)",
        "Köln",
        "50667",
        "Main Street 5",
        "between",
        "and",
        "laws of",
        "Oregon",
        "2 years",
        "-",
        "•",
        "DE136695976",
        "☒",
        "é",
        "…",
        "https://a.example/x",
        "Skills:",
        "Rust,",
        "SQL",
        "IBAN",
        "DE02120300000000202051",
        "Seller:",
        "Buyer",
        "Address:",
        ":",
        "(",
        ")",
    ]);
    let gap = prop::sample::select(vec![" ", " ", "   ", "\n", "\n\n"]);
    prop::collection::vec((word, gap), 0..60)
        .prop_map(|pieces| pieces.into_iter().map(|(word, gap)| format!("{word}{gap}")).collect())
}

proptest! {
    #[test]
    fn nothing_is_invented_and_the_answer_is_always_the_same(text in any_text(), noise in "\\PC{0,40}") {
        let text = format!("{text}{noise}");
        let fields = r#"{ "invoiceNumber": { "type": "string" }, "date": { "type": "date" }, "dueDate": { "type": "date" }, "total": { "type": "number" }, "tax": { "type": "currency" },
            "company": { "type": "string" }, "buyer": { "type": "string" }, "address": { "type": "string" }, "email": { "type": "email" }, "phone": { "type": "phone" }, "web": { "type": "url" },
            "paid": { "type": "boolean" }, "law": { "type": "string" }, "currency": { "type": "string" }, "iban": { "type": "string" }, "vatId": { "type": "string" }, "skills": { "type": "array" }, "parties": { "type": "array" },
            "count": { "type": "integer" }, "seller": { "type": "object", "properties": { "name": { "type": "string" }, "phone": { "type": "string" } } },
            "sellerAddress": { "type": "object", "properties": { "street": { "type": "string" }, "city": { "type": "string" }, "postalCode": { "type": "string" }, "country": { "type": "string" } } },
            "details": { "type": "object" },
            "items": { "type": "array", "items": { "type": "object", "properties": { "description": { "type": "string" }, "quantity": { "type": "number" }, "price": { "type": "number" } } } } }"#;
        let schema = schema(fields);
        let document = document(&text);
        let answer = extract(&document, &schema);
        prop_assert_eq!(answer.findings.len(), schema.fields().len());
        let all = squashed(&text);
        let mut found = Vec::new();
        answer.findings.iter().for_each(|finding| leaves(finding, &mut found));
        for (value, evidence) in found {
            prop_assert!(is_said(value, &evidence.source_text), "{:?} of {:?}", value, evidence.source_text);
            for line in evidence.source_text.lines() {
                prop_assert!(all.contains(&squashed(line)), "{:?} of {:?}", evidence.source_text, text);
            }
        }
        prop_assert_eq!(extract(&document, &schema), answer);
    }
}

/// The kinds of the warnings of an extraction.
pub(super) fn warnings(text: &str, fields: &str) -> Vec<&'static str> {
    extraction(&document(text), fields).validation.warnings.into_iter().map(|warning| warning.kind).collect()
}
