//! Kinds of inputs, each with several of its like.

use super::tests::{placed_values, values};

/// The value of one field of a type.
fn one(text: &str, field: &str, kind: &str) -> String {
    let all = values(text, &format!(r#"{{ "{field}": {{ "type": "{kind}" }} }}"#));
    let start = all.find(':').map_or(0, |at| at + 1);
    all[start..all.len() - 1].trim_matches('"').to_owned()
}

#[test]
fn amounts_have_signs_scales_currencies_and_blanks() {
    for (text, value) in [
        ("Balance: 48 210 €", "48210"),
        ("Balance: € 7 340", "7340"),
        ("Balance: 2 905.75", "2905.75"),
        ("Balance: 3 456 102.04", "3456102.04"),
        ("Balance: 12\u{a0}345,60 €", "12345.6"),
        ("Balance: 8\u{202f}120 EUR", "8120"),
        ("Balance: −€ 44,10", "-44.1"),
        ("Balance: -$2,310.07", "-2310.07"),
        ("Balance: £ -3.20", "-3.2"),
        ("Balance: 77.40²", "77.4"),
        ("Balance: 910.00¹", "910"),
        ("Balance: $3.2 million", "3200000"),
        ("Balance: €40K", "40000"),
        ("Balance: 1,75 Mrd. EUR", "1750000000"),
        ("Balance: ٣٤٥.٥٠", "345.5"),
        ("Balance: １２，５００", "12500"),
    ] {
        assert_eq!(one(text, "balance", "number"), value, "{text}");
    }
    for (amount, code) in [
        ("R$ 12,00", "BRL"),
        ("45,50 zł", "PLN"),
        ("1 250 Kč", "CZK"),
        ("9 900 Ft", "HUF"),
        ("75,20 lei", "RON"),
        ("₺820", "TRY"),
        ("₩45000", "KRW"),
        ("￥3000", "JPY"),
        ("NZ$18.40", "NZD"),
        ("320,00 TL", "TRY"),
    ] {
        let found = one(&format!("Amount: {amount}"), "amount", "currency");
        assert!(found.contains(code), "{amount}: {found}");
    }
    // A quantity next to its price is no thousand.
    let rows = r#"{ "items": { "type": "array", "items": { "type": "object", "properties": { "name": { "type": "string" }, "quantity": { "type": "number" }, "price": { "type": "number" } } } } }"#;
    let found = values("Tea 2 150.00\nScone 1 120.00\nTotal 270.00", rows);
    assert!(found.contains(r#""quantity":2,"price":150"#), "{found}");
}

#[test]
fn percentages_are_numbers_where_nothing_else_is_written() {
    for (text, field, value) in [
        ("Commission: 12 %\nTotal 88.00", "commission", "12"),
        ("Tax: 7%\nThank you", "tax", "7"),
        ("Interest: 3.25 percent", "interest", "3.25"),
    ] {
        assert_eq!(one(text, field, "number"), value, "{text}");
    }
}

#[test]
fn dates_of_other_languages_and_scripts() {
    for text in [
        "9. března 2026",
        "9 marca 2026",
        "2026. március 9.",
        "9 martie 2026",
        "9. maaliskuuta 2026",
        "9 Maret 2026",
        "9 Mart 2026",
        "9 марта 2026",
        "9 березня 2026",
        "9 Μαρτίου 2026",
        "9. marts 2026",
        "2026年3月9日",
        "20260309",
        "２０２６/０３/０９",
        "٢٠٢٦-٠٣-٠٩",
    ] {
        assert_eq!(one(&format!("Date: {text}"), "date", "date"), "2026-03-09", "{text}");
    }
    assert_eq!(one("Date: 12.05.2716", "date", "date"), "null");
}

#[test]
fn times_before_their_date() {
    for (text, value) in [
        ("at 09:15 on 7 June 2025", "2025-06-07T09:15:00Z"),
        ("4 p.m. on 7 June 2025", "2025-06-07T16:00:00Z"),
        ("um 18:40 Uhr am 7. Juni 2025", "2025-06-07T18:40:00Z"),
        ("08:05, Saturday, 7 June 2025", "2025-06-07T08:05:00Z"),
    ] {
        assert_eq!(one(&format!("Meeting: {text}"), "meeting", "datetime"), value, "{text}");
    }
}

#[test]
fn words_of_labels_are_values_after_their_colon() {
    for value in [
        "Paid",
        "Open",
        "Delivered",
        "Approved",
        "Invoice",
        "Card",
        "Due",
        "Bank",
        "Monthly",
        "Service charge",
        "Tax",
    ] {
        let text = format!("State: {value}\nCreated by Ann");
        assert_eq!(one(&text, "state", "string"), value, "{value}");
        let field = format!(r#"{{ "state": {{ "type": "string", "enum": ["{value}", "other"] }} }}"#);
        assert_eq!(values(&text, &field), format!(r#"{{"state":"{value}"}}"#));
    }
}

#[test]
fn several_labels_on_one_line() {
    let fields = r#"{ "name": { "type": "string" }, "city": { "type": "string" }, "postcode": { "type": "string" }, "phone": { "type": "string" } }"#;
    for text in [
        "Name: Ida Holm   Phone: 0161 496 0123\nCity: Hull Postcode: HU1 3DG",
        "Name: Ida Holm Phone: 0161 496 0123 City: Hull Postcode: HU1 3DG",
    ] {
        assert_eq!(
            values(text, fields),
            r#"{"name":"Ida Holm","city":"Hull","postcode":"HU1 3DG","phone":"0161 496 0123"}"#,
            "{text}"
        );
    }
}

#[test]
fn what_a_template_left_open_is_no_value() {
    for text in [
        "[Enter client]",
        "{{buyer}}",
        "<company name>",
        "Click or tap here to enter text.",
        "not applicable",
        "see attached",
        "siehe Anlage",
        "to be determined",
        "«Kunde»",
        "Dear Sir or Madam,",
        "______",
    ] {
        assert_eq!(one(&format!("Customer: {text}\nYours"), "customer", "string"), "null", "{text}");
    }
    for name in ["Sample", "Test", "Na", "Date", "Price", "Nil"] {
        assert_eq!(one(&format!("Surname: {name}"), "surname", "string"), name);
    }
    assert_eq!(one("EIN: 12-3456789", "ein", "string"), "12-3456789");
}

#[test]
fn boxes_belong_to_the_words_next_to_them() {
    let fields = r#"{ "diabetes": { "type": "boolean" }, "asthma": { "type": "boolean" }, "epilepsy": { "type": "boolean" } }"#;
    let expected = r#"{"diabetes":true,"asthma":false,"epilepsy":true}"#;
    for text in [
        "☑ Diabetes\n☐ Asthma\n☑ Epilepsy",
        "[x] Diabetes\n[ ] Asthma\n[x] Epilepsy",
        "Diabetes ☑\nAsthma ☐\nEpilepsy ☑",
        "☒ Diabetes   ☐ Asthma   ☒ Epilepsy",
        "Diabetes [x]   Asthma [ ]   Epilepsy [x]",
        "☑ Diabetes ☐ Asthma ☑ Epilepsy",
    ] {
        assert_eq!(values(text, fields), expected, "{text}");
        assert_eq!(placed_values(text, fields), expected, "placed {text}");
    }
    for text in ["Asthma? Yes", "Asthma Yes", "Asthma: yes", "Asthma: ☑ Yes ☐ No", "Asthma ja"] {
        assert_eq!(one(text, "asthma", "boolean"), "true", "{text}");
    }
}

#[test]
fn ticked_choices() {
    let field = r#"{ "delivery": { "type": "string", "enum": ["courier", "pickup", "post"] } }"#;
    for text in [
        "Delivery: ☐ Courier ☑ Pickup ☐ Post",
        "Delivery: [ ] Courier [x] Pickup [ ] Post",
        "Delivery:\n☐ Courier\n☑ Pickup\n☐ Post",
        "Delivery: Courier ☐ Pickup ☑ Post ☐",
    ] {
        assert_eq!(values(text, field), r#"{"delivery":"pickup"}"#, "{text}");
    }
    assert_eq!(one("Status: [ ] single [x] married [ ] divorced", "status", "string"), "married");
    let list = r#"{ "allergies": { "type": "array" } }"#;
    assert_eq!(values("Allergies: ☑ Pollen ☐ Nuts ☑ Milk", list), r#"{"allergies":["Pollen","Milk"]}"#);
}

#[test]
fn addresses_of_the_web_get_their_scheme() {
    for (text, value) in [
        ("www.halden.example", "https://www.halden.example"),
        ("halden.example/shop", "https://halden.example/shop"),
        ("http://halden.example", "http://halden.example"),
    ] {
        assert_eq!(one(&format!("Website: {text}"), "website", "url"), value, "{text}");
    }
}

const RESUME: &str = "\
Ida Holm
Logistics planner
Aarhus, Midtjylland - ida.holm@example.com
Willing to move

WORK EXPERIENCE

Logistics planner
Fjordline Freight - Aarhus
March 2019 to Present
Plans tours for forty drivers and reports to the head of operations.

Dispatch assistant
Baltic Carriers Ltd - Odense
June 2015 to February 2019
• Answered calls

EDUCATION

Master of Science in Supply Chains
Southern Coast University - Esbjerg
2013 to 2015

Bachelor of Arts
Riverside College
2010 to 2013

SKILLS
Routing, Excel
";

#[test]
fn a_resume_has_sections() {
    let fields = r#"{ "companies": { "type": "array" }, "designations": { "type": "array", "description": "Job titles" }, "colleges": { "type": "array" }, "degrees": { "type": "array" }, "location": { "type": "string", "description": "City of the candidate" } }"#;
    let expected = r#"{"companies":["Fjordline Freight","Baltic Carriers Ltd"],"designations":["Logistics planner","Dispatch assistant"],"colleges":["Southern Coast University","Riverside College"],"degrees":["Master of Science in Supply Chains","Bachelor of Arts"],"location":"Aarhus"}"#;
    assert_eq!(values(RESUME, fields), expected);
    let blank_lines: String = RESUME.lines().map(|line| format!("{line}\n\n")).collect();
    assert_eq!(values(&blank_lines, fields), expected);
    let rows = r#"{ "workHistory": { "type": "array", "items": { "type": "object", "properties": { "employer": { "type": "string" }, "title": { "type": "string" }, "startDate": { "type": "string" }, "endDate": { "type": "string" } } } },
        "education": { "type": "array", "items": { "type": "object", "properties": { "school": { "type": "string" }, "degree": { "type": "string" }, "year": { "type": "integer" } } } } }"#;
    assert_eq!(
        values(RESUME, rows),
        r#"{"workHistory":[{"employer":"Fjordline Freight","title":"Logistics planner","startDate":"March 2019","endDate":null},{"employer":"Baltic Carriers Ltd","title":"Dispatch assistant","startDate":"June 2015","endDate":"February 2019"}],"education":[{"school":"Southern Coast University","degree":"Master of Science in Supply Chains","year":2015},{"school":"Riverside College","degree":"Bachelor of Arts","year":2013}]}"#
    );
}

#[test]
fn resumes_of_other_layouts() {
    let fields = r#"{ "employers": { "type": "array" }, "schools": { "type": "array" } }"#;
    for text in [
        "Jo Quist\nEmployment history\n2018 – 2022  Store manager, Kestrel Foods Ltd\nLed a team of nine.\n2014 – 2018  Cashier, Harbour Mart\nEducation\n2011 – 2014  Diploma in Retail, Northfield College",
        "Jo Quist\nProfessional Experience\nKestrel Foods Ltd, York    01/2018 - 12/2022\nStore manager\n• Led a team\nHarbour Mart, York    05/2014 - 12/2017\nCashier\nEducation\nNorthfield College\nDiploma in Retail, 2014",
        "Jo Quist\nBerufserfahrung\nFilialleiterin bei Kestrel Foods Ltd\n01/2018 – heute\nVerkäuferin bei Harbour Mart\n05/2014 – 12/2017\nAusbildung\nDiplom\nNorthfield College\n2014",
    ] {
        assert_eq!(
            values(text, fields),
            r#"{"employers":["Kestrel Foods Ltd","Harbour Mart"],"schools":["Northfield College"]}"#,
            "{text}"
        );
    }
    // Without such sections there is no history.
    assert_eq!(
        values("Acme Ltd sells degrees of freedom.", r#"{ "degrees": { "type": "array" } }"#),
        r#"{"degrees":null}"#
    );
}

const LINES: &str = r#""lines": { "type": "array", "description": "Lines of the bill", "items": { "type": "object", "properties": { "description": { "type": "string" }, "quantity": { "type": "number" }, "unit_price": { "type": "number" }, "amount": { "type": "number" } } } }"#;

#[test]
fn a_name_goes_up_to_the_next_column() {
    let text = "\
Description                Quantity   Unit price   Amount
Locker 204                 2          40.00        80.00
Webinar May 2027           1          15.00        15.00
Pen (blue) - fine          10         1.20         12.00
Cable 3 m                  1          0.00         0.00
Subtotal                                           107.00
Service fee                                        5.00
";
    let expected = r#"{"lines":[{"description":"Locker 204","quantity":2,"unit_price":40,"amount":80},{"description":"Webinar May 2027","quantity":1,"unit_price":15,"amount":15},{"description":"Pen (blue) - fine","quantity":10,"unit_price":1.2,"amount":12},{"description":"Cable 3 m","quantity":1,"unit_price":0,"amount":0}]}"#;
    assert_eq!(placed_values(text, &format!("{{ {LINES} }}")), expected);
}

#[test]
fn what_follows_a_table_is_no_row() {
    let text = "\
Description                Quantity   Unit price   Amount
Oak board                  2          40.00        80.00
Pine board                 1          15.00        15.00
Birch board                3          10.00        30.00
VAT 20 % of                                        125.00
Open Monday to Friday 9 to 17
Bank 12 345
";
    let found = placed_values(text, &format!("{{ {LINES} }}"));
    assert_eq!(found.matches("description").count(), 3, "{found}");
}

#[test]
fn dates_of_rows_stand_in_their_column() {
    let text = "\
Date         Description        Debit     Credit    Balance
02/03/2027   Ferry tickets      40.00               960.00
05/03/2027   Repayment                    15.00     975.00
09/03/2027   Harbour dues       30.50               944.50
";
    let fields = r#"{ "transactions": { "type": "array", "items": { "type": "object", "properties": { "date": { "type": "date" }, "description": { "type": "string" }, "debit": { "type": "number" }, "credit": { "type": "number" }, "balance": { "type": "number" } } } } }"#;
    let expected = r#"{"transactions":[{"date":"2027-03-02","description":"Ferry tickets","debit":40,"credit":null,"balance":960},{"date":"2027-03-05","description":"Repayment","debit":null,"credit":15,"balance":975},{"date":"2027-03-09","description":"Harbour dues","debit":30.5,"credit":null,"balance":944.5}]}"#;
    assert_eq!(placed_values(text, fields), expected);
    assert_eq!(values(text, fields), expected);
}

#[test]
fn more_rows_than_are_read_are_reported() {
    let head = "Description   Quantity   Amount\n";
    let rows: String = (0..super::rows::MAX_ROWS + 5).map(|n| format!("Part {n}x   2   {n}.50\n")).collect();
    let fields = r#"{ "parts": { "type": "array", "items": { "type": "object", "properties": { "description": { "type": "string" }, "quantity": { "type": "number" }, "amount": { "type": "number" } } } } }"#;
    let warnings = |text: &str| super::tests::warnings(text, fields);
    assert_eq!(warnings(&format!("{head}{rows}")), ["rowsTruncated"]);
    assert_eq!(warnings(&format!("{head}Part 1x   2   1.50\n")), [] as [&str; 0]);
}

#[test]
fn no_total_where_none_is_written() {
    for text in [
        "Description   Quantity   Amount\nMasonry   2   40.00\nTiling   1   15.50\nPainting   1   75.00\nThank you",
        "Booking fee paid: 60.00\nWe look forward to seeing you.",
        "Dear Ann, the boat costs 4,500.00 and the trailer 300.00. Yours, Bo",
    ] {
        let found =
            placed_values(text, r#"{ "totalDue": { "type": "number", "description": "Total due" } }"#);
        assert_eq!(found, r#"{"totalDue":null}"#, "{text}");
    }
}

#[test]
fn totals_come_after_rounding_and_tax() {
    let total = |text: &str| one(text, "total", "number");
    assert_eq!(total("Total sales 83.48\nRounding adj 0.02\nTotal 83.50\nCash 100.00\nChange 16.50"), "83.5");
    assert_eq!(total("Total 40.00\nTax 2.40\nTotal incl tax 42.40"), "42.4");
    assert_eq!(total("Grand total 12.50\nTotal savings 3.00\nTotal qty 4"), "12.5");
}

#[test]
fn defined_terms_name_the_parties() {
    let fields = r#"{ "supplier": { "type": "string" }, "client": { "type": "string" } }"#;
    for text in [
        "This agreement is made between Orchard Works Ltd (the \"Supplier\") and Nadia Quist (the \"Client\").",
        "Orchard Works Ltd, a company with its seat in Hull (“Supplier”), and Nadia Quist (hereinafter “Client”) agree:",
    ] {
        assert_eq!(
            values(text, fields),
            r#"{"supplier":"Orchard Works Ltd","client":"Nadia Quist"}"#,
            "{text}"
        );
    }
}

#[test]
fn parties_come_from_the_opening_the_signatures_and_the_addressee() {
    let parties =
        |text: &str| values(text, r#"{ "parties": { "type": "array", "items": { "type": "string" } } }"#);
    for (text, expected) in [
        // Who is only called the undersigned has signed.
        (
            "This agreement is made by and between Orchard Works, Inc. and the undersigned.\nBoth agree to tell nobody.\n\n\
             ORCHARD WORKS, INC.\nBy:\n/s/ Ada Brunner\nSECOND PARTY\nBy:\n/s/ Nadia Quist",
            r#"["Orchard Works, Inc.","Nadia Quist"]"#,
        ),
        // Those who sign for a company are no parties.
        (
            "The undersigned agree to tell nobody.\n\nORCHARD WORKS, INC.\nBy: /s/ Ada Brunner\nTitle: President\n\nTIDEWAY LLC\n\
             By: /s/ Iven Moss\nIts: Manager",
            r#"["ORCHARD WORKS, INC.","TIDEWAY LLC"]"#,
        ),
        (
            "Orchard Works, Inc.\n\nTideway LLC\n4 Quay Road\nHull, NY 10012\n\nDear Mr Moss,\nYou consider a transaction between \
             Affiliates of the Company and others.\nYou tell nobody.\n\nVery truly yours,\n\nORCHARD WORKS, INC.\nBy: /s/ Ada Brunner",
            r#"["Tideway LLC","ORCHARD WORKS, INC."]"#,
        ),
        (
            "This agreement is made between Sail -Away Boats, Inc., a company of Maine, and The Anvil Group LLC d/b/a Anvil Yards.",
            r#"["Sail -Away Boats, Inc.","The Anvil Group LLC"]"#,
        ),
        (
            "SECRECY AGREEMENTTHIS SECRECY AGREEMENT is made between Orchard Works, Inc. and Nadia Quist.",
            r#"["Orchard Works, Inc.","Nadia Quist"]"#,
        ),
    ] {
        assert_eq!(parties(text), format!(r#"{{"parties":{expected}}}"#), "{text}");
    }
}

#[test]
fn the_date_of_another_document_is_no_date_of_effect() {
    let date = |text: &str| one(text, "effectiveDate", "date");
    for none in [
        "The owners have signed a Plan of Merger, dated May 4, 2019 (the “Merger Plan”), with others.",
        "This agreement ends with the Consulting Agreement between them dated May 4, 2019.",
        "This agreement adds to that certain Lease dated as of May 4, 2019.",
    ] {
        assert_eq!(date(none), "null", "{none}");
    }
    for text in [
        "This Consulting Agreement is dated as of May 4, 2019 (the “Effective Date”) and adds to the Lease dated March 1, 2011.",
        "CONSULTING AGREEMENT dated May 4, 2019, between A and B.",
        "Agreement made on the 4th day of May, 2019.",
    ] {
        assert_eq!(date(text), "2019-05-04", "{text}");
    }
}

#[test]
fn a_date_may_run_over_the_end_of_a_line() {
    for text in [
        "This agreement is made as of the 10 day of\nMay, 2024, between A and B.",
        "This agreement is dated May 10,\n2024 and binds both.",
        "This agreement is dated 10 May\n2024 and binds both.",
    ] {
        assert_eq!(one(text, "agreementDate", "date"), "2024-05-10", "{text}");
    }
    // The number at the end of a line of a table is no day of the month below it.
    assert_eq!(one("Seats 10\nMay 2024 is the month of delivery.", "deliveryDate", "date"), "null");
}

#[test]
fn sentences_say_what_is_allowed_and_what_is_owed() {
    for (text, value) in [
        ("Dogs are not permitted on the premises.", "false"),
        ("The Lodger agrees that dogs are allowed.", "true"),
        ("The keeping of dogs is prohibited.", "false"),
        ("No dogs are allowed.", "false"),
    ] {
        assert_eq!(one(text, "dogsAllowed", "boolean"), value, "{text}");
    }
    let fields = r#"{ "monthlyRent": { "type": "number" }, "deposit": { "type": "number" } }"#;
    let text = "The Lodger shall pay to the Owner in advance a monthly rent of EUR 1.150,00 and leaves a deposit of EUR 2.300,00.";
    assert_eq!(values(text, fields), r#"{"monthlyRent":1150,"deposit":2300}"#);
}

#[test]
fn the_issuer_of_a_receipt_stands_first() {
    let fields = r#"{ "company": { "type": "string", "description": "Name of the shop" }, "address": { "type": "string", "description": "Full address of the shop" } }"#;
    for (text, expected) in [
        (
            "Harbour Kiosk\n8 Quay Road\nEX1 2AB Exeter\n02/03/2027 10:15\nTo: Brightwell Ltd\nTea 2.00\nTotal 2.00",
            r#"{"company":"Harbour Kiosk","address":"8 Quay Road\nEX1 2AB Exeter"}"#,
        ),
        (
            "Lim Brothers\nTrading (M) Sdn Bhd\n(883421-K)\nNo. 5, Jalan Kiambang 2,\n43000 Kajang\nTel: 03-8733 1234",
            r#"{"company":"Lim Brothers Trading (M) Sdn Bhd","address":"No. 5, Jalan Kiambang 2\n43000 Kajang"}"#,
        ),
    ] {
        assert_eq!(values(text, fields), expected, "{text}");
    }
}

#[test]
fn a_form_is_signed_under_its_captions() {
    let text = "\
Date of report        Name and title        Signature
12 March 1997         |Olive Tanner         xf.
                      Managing Director
";
    let fields = r#"{ "file_date": { "type": "date", "description": "Date the form was signed" }, "signer_name": { "type": "string", "description": "Person who signed" }, "signer_title": { "type": "string", "description": "Title of the signer" } }"#;
    assert_eq!(
        placed_values(text, fields),
        r#"{"file_date":"1997-03-12","signer_name":"Olive Tanner","signer_title":"Managing Director"}"#
    );
}

#[test]
fn sentences_go_on_in_the_next_line() {
    let text = "\
Remarks: The parcel was left with the neighbour at number nine because nobody
answered the bell, and the driver has noted the time of his visit on the re-
ceipt that is enclosed.
Driver: Bo Ek";
    assert_eq!(
        one(text, "remarks", "string"),
        "The parcel was left with the neighbour at number nine because nobody answered the bell, and the driver has noted the time of his visit on the receipt that is enclosed."
    );
    assert_eq!(
        one("Remarks: none so far from anybody\nDriver Bo Ek", "remarks", "string"),
        "none so far from anybody"
    );
}

#[test]
fn the_row_of_sums_has_the_value_of_a_column() {
    let text = "\
Month        Spots     Gross cost      Fee
March        12        $3,100.00       $310.00
April        30        $9,400.00       $940.00
Totals       42        $12,500.00      $1,250.00
";
    assert_eq!(placed_values(text, r#"{ "grossCost": { "type": "number" } }"#), r#"{"grossCost":12500}"#);
}

#[test]
fn bills_are_read_in_scripts_without_blanks_and_from_right_to_left() {
    let schema = r#"{ "invoiceNumber": { "type": "string" }, "dueDate": { "type": "date" }, "supplier": { "type": "string" },
        "buyer": { "type": "string" }, "subtotal": { "type": "number" }, "tax": { "type": "number" },
        "total": { "type": "number" }, "currency": { "type": "string", "description": "Currency (ISO 4217)" } }"#;
    for (text, expected) in [
        (
            "請求書\n請求書番号：KX-301\n支払期限：2027年4月30日\n発行者：株式会社青葉\n請求先：緑川商店\n小計 ¥30,000\n消費税額¥3,000\n合計金額¥33,000",
            ["KX-301", "2027-04-30", "株式会社青葉", "緑川商店", "30000", "3000", "33000", "JPY"],
        ),
        (
            "發票\n發票號碼：HT20261\n到期日：2026年12月5日\n供应商：海风贸易有限公司\n客户：山城书店\n小计：¥1,200.00\n增值税：¥156.00\n价税合计：¥1,356.00",
            ["HT20261", "2026-12-05", "海风贸易有限公司", "山城书店", "1200", "156", "1356", "CNY"],
        ),
        (
            "חשבונית מס' 5518\nלתשלום עד: 3 במאי 2026\nספק: מאפיית הגליל בע\"מ\nלקוח: דנה לוי\nסה\"כ לפני מע\"מ: ₪400.00\nמע\"מ 18%: ₪72.00\nסה\"כ לתשלום: ₪472.00",
            ["5518", "2026-05-03", "מאפיית הגליל בע\\\"מ", "דנה לוי", "400", "72", "472", "ILS"],
        ),
        (
            "Счёт № 77/26\nОплатить до: 9 мая 2026\nПоставщик: ООО Речной порт\nПокупатель: Анна Белова\nИтого без НДС: 1 000,50 руб.\nНДС 20 %: 200,10 руб.\nВсего к оплате: 1 200,60 руб.",
            ["77/26", "2026-05-09", "ООО Речной порт", "Анна Белова", "1000.5", "200.1", "1200.6", "RUB"],
        ),
        (
            "Faktura nr. 9087\nForfaldsdato: 4. oktober 2026\nSælger: Skovly Træ ApS\nKøber: Mette Holm\nBeløb ekskl. moms: 800,00 kr.\nMoms 25 %: 200,00 kr.\nI alt inkl. moms: 1.000,00 kr.",
            ["9087", "2026-10-04", "Skovly Træ ApS", "Mette Holm", "800", "200", "1000", "DKK"],
        ),
    ] {
        let found = values(text, schema);
        for value in expected {
            let is_number = value.parse::<f64>().is_ok() && value.len() < 9 && !value.starts_with(['5', '9']);
            let shown = if is_number { format!(":{value}") } else { format!("\"{value}\"") };
            assert!(found.contains(&shown), "{value} in {found} of {text}");
        }
    }
}
