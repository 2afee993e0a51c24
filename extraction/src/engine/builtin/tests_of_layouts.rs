//! Layouts and phrases of forms, letters, sentences and resumes, each with several of its like.

use proptest::prelude::*;

use super::tests::{confidence, placed_values, values};

/// The values of a text for fields given as `name type description`.
fn asked(text: &str, fields: &[(&str, &str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, kind, about)| format!(r#""{name}": {{ "type": "{kind}", "description": "{about}" }}"#))
        .collect();
    values(text, &format!("{{ {} }}", fields.join(", ")))
}

#[test]
fn lines_to_write_on_part_labels_and_values() {
    let fields =
        [("trade", "string", "Trade"), ("village", "string", "Village"), ("hired", "date", "Hired on")];
    for text in [
        "Trade ......Cooper........   Village ......Elmsett.......\nHired ....02/04/2019....",
        "Trade ______Cooper______   Village ____Elmsett____\nHired ______02/04/2019____",
        "Trade ..... Cooper   Village ..... Elmsett\nHired ..... 02/04/2019",
        "Trade……Cooper……  Village……Elmsett……\nHired……02/04/2019……",
    ] {
        assert_eq!(
            asked(text, &fields),
            r#"{"trade":"Cooper","village":"Elmsett","hired":"2019-04-02"}"#,
            "{text}"
        );
    }
    // What nobody filled in is no value, nor is the next label.
    let blank = "Trade ................   Village ................\nHired ................";
    assert_eq!(asked(blank, &fields), r#"{"trade":null,"village":null,"hired":null}"#);
    let blank = "Trade............ Village............";
    assert_eq!(asked(blank, &fields), r#"{"trade":null,"village":null,"hired":null}"#);
}

#[test]
fn words_of_a_sentence_name_its_dates_and_numbers() {
    for (text, field, value) in [
        (
            "The handover of the keys is fixed for 3 March 2025 and the\nsurvey happened on 9 January 2025.",
            ("handoverDate", "date", "Handover"),
            r#""2025-03-03""#,
        ),
        (
            "Both sides agree that the hire period commences on 6 June 2025 and that it is ending on 5 June 2026.",
            ("endDate", "date", "When it ends"),
            r#""2026-06-05""#,
        ),
        (
            "Mr Odell, who was born on 4 July 1983 in Lagos, has worked here since 2 May 2011.",
            ("birthDate", "date", "Date of birth"),
            r#""1983-07-04""#,
        ),
        (
            "Wir bitten Sie, den offenen Betrag bis zum 14.08.2025 zu überweisen. Der Brief ist vom 01.08.2025.",
            ("dueDate", "date", "zahlbar bis"),
            r#""2025-08-14""#,
        ),
        (
            "We collected 14 crates and 3 drums from the yard.",
            ("crateCount", "integer", "Number of crates"),
            "14",
        ),
        // A sentence about something else.
        (
            "The roof was repaired on 4 July 1983 and painted on 2 May 2011.",
            ("deliveryDate", "date", "Delivery"),
            "null",
        ),
        ("We collected 14 crates and 3 drums.", ("barrelCount", "integer", "Number of barrels"), "null"),
    ] {
        assert_eq!(asked(text, &[field]), format!(r#"{{"{}":{value}}}"#, field.0), "{text}");
    }
}

#[test]
fn a_sentence_names_the_period_that_it_is_about() {
    let text = "The hirer may withdraw on six weeks' notice. The first two months are a probationary period.";
    let fields = [
        ("noticePeriod", "string", "Period of notice"),
        ("probationPeriod", "string", "Probation"),
        ("coolingOffPeriod", "string", "Cooling off"),
    ];
    assert_eq!(
        asked(text, &fields),
        r#"{"noticePeriod":"6 weeks","probationPeriod":"2 months","coolingOffPeriod":null}"#
    );
}

#[test]
fn letters_tell_sender_receiver_day_and_signer() {
    let fields = [
        ("senderName", "string", "Who wrote the letter"),
        ("recipientName", "string", "Who gets the letter"),
        ("letterDate", "date", "Date of the letter"),
        ("signatory", "string", "Who signed"),
    ];
    let english = "Harcourt Fine Bindings\n3 Weaver Lane\nNorwich NR2 1AA\n\n9 April 2025\n\nMs Ada Quill\n\
        81 Pottergate\nNorwich NR2 4ZZ\n\nDear Ms Quill\n\nYour book was finished on 2 April 2025.\n\nKind regards\n\n\
        Owen Thrale\nBinder\n";
    assert_eq!(
        asked(english, &fields),
        r#"{"senderName":"Harcourt Fine Bindings","recipientName":"Ms Ada Quill","letterDate":"2025-04-09","signatory":"Owen Thrale"}"#
    );
    let german = "Uhrmacherei Falk\nTorweg 2\n38640 Goslar\n\nHerrn\nEmil Hagedorn\nLindenallee 30\n38667 Bad Harzburg\n\n\
        Goslar, 11. Mai 2025\n\nSehr geehrter Herr Hagedorn,\n\nIhre Uhr ist seit dem 2. Mai 2025 fertig.\n\n\
        Mit freundlichen Grüßen\n\nRuth Falk\n";
    assert_eq!(
        asked(german, &fields),
        r#"{"senderName":"Uhrmacherei Falk","recipientName":"Emil Hagedorn","letterDate":"2025-05-11","signatory":"Ruth Falk"}"#
    );
    // Who nobody writes to is not there.
    let memo = "Opening hours\nMonday to Friday 9 to 5\n";
    assert_eq!(
        asked(memo, &fields),
        r#"{"senderName":null,"recipientName":null,"letterDate":null,"signatory":null}"#
    );
}

#[test]
fn a_name_ends_where_its_bearer_is_described() {
    for (text, field, value) in [
        ("Landlord: Mrs Ida Barrow of 7 Quay Street, Poole BH15 1AA", "landlord", "Mrs Ida Barrow"),
        ("Tenant: Samuel Crick, residing at 12 Elm Row, Bath", "tenant", "Samuel Crick"),
        (
            "Seller: Tarn Mills Limited, whose registered office is at 4 Dock Road, Hull",
            "seller",
            "Tarn Mills Limited",
        ),
        ("Tenant: Anna van der Velde", "tenant", "Anna van der Velde"),
        ("Seller: Smith and Sons Ltd", "seller", "Smith and Sons Ltd"),
    ] {
        let found = tidy_name(&asked(text, &[(field, "string", "Name")]));
        assert_eq!(found, format!(r#"{{"{field}":"{value}"}}"#), "{text}");
    }
}

/// A name without the comma after it.
fn tidy_name(text: &str) -> String {
    text.replace(",\"", "\"")
}

#[test]
fn parties_are_named_by_the_terms_that_they_define() {
    let fields = [("curator", "string", "Curator"), ("lenderName", "string", "Lender")];
    for text in [
        "This loan is made between:\n\nOrmond Gallery Ltd, a company of Leeds (\"Curator\")\n\nAND\n\nPiers Dalby Trust Inc. (the \"Lender\").\n",
        "Between:\n\nORMOND GALLERY LTD (the \"Curator\")\n\nAND\n\nPiers Dalby Trust Inc., of Hull (\"Lender\")\n",
    ] {
        let found = asked(text, &fields);
        assert!(found.to_lowercase().contains(r#""curator":"ormond gallery ltd""#), "{found}");
        assert!(found.contains(r#""lenderName":"Piers Dalby Trust Inc"#), "{found}");
    }
}

#[test]
fn addresses_are_read_whole_in_their_countries_forms() {
    let fields = r#"{ "address": { "type": "object", "description": "Delivery address", "properties": {
        "street": { "type": "string" }, "postalCode": { "type": "string" }, "city": { "type": "string" } } } }"#;
    for (text, street, postal, city) in [
        ("Delivery address:\nHeerengracht 12\n3512 KL Utrecht\n", "Heerengracht 12", "3512 KL", "Utrecht"),
        (
            "Delivery address:\nFlat 6, 9 Harbour Road\nPoole BH15 1AA\n",
            "Flat 6, 9 Harbour Road",
            "BH15 1AA",
            "Poole",
        ),
        ("Delivery address:\n7 ter, rue Basse\n44000 Nantes\n", "7 ter, rue Basse", "44000", "Nantes"),
    ] {
        let expected =
            format!(r#"{{"address":{{"street":"{street}","postalCode":"{postal}","city":"{city}"}}}}"#);
        assert_eq!(values(text, fields), expected, "{text}");
    }
    // The heads of two columns are over their own blocks.
    let columns = "Forwarding agent            Keeper of goods\nIda Barrow                  Tarn Mills Ltd\n\
                   4 Dock Road                 7 Quay Street\nHull HU1 2AB                Poole BH15 1AA\n";
    assert_eq!(
        asked(columns, &[("forwardingAgent", "string", "Forwarding agent")]),
        r#"{"forwardingAgent":"Ida Barrow"}"#
    );
    let premises = "Property: The ground floor flat known as 41 Mill Lane, Ely CB7 4AA";
    assert_eq!(
        asked(premises, &[("propertyAddress", "string", "Address of the property")]),
        r#"{"propertyAddress":"41 Mill Lane, Ely CB7 4AA"}"#
    );
}

#[test]
fn periods_under_a_heading_in_capitals_are_a_history() {
    let text = "Nora Whitlock\nArchivist\n\nVOYAGE SO FAR\nMar 2019 - present   Head Archivist, Tarn Library\nJan 2015 - Feb 2019  Clerk, Ormond Museum\n\n\
                LETTERS AFTER MY NAME\n2011 - 2014  BA History, University of Hull\n\nTECHNOLOGIES\nEAD, Calm, Python\n";
    let list = |about: &str| {
        format!(r#"{{ "type": "array", "description": "{about}", "items": {{ "type": "string" }} }}"#)
    };
    let fields = format!(
        r#"{{ "employers": {}, "skills": {}, "headline": {{ "type": "string", "description": "Current job title" }} }}"#,
        list("Employers"),
        list("Technologies")
    );
    assert_eq!(
        values(text, &fields),
        r#"{"employers":["Tarn Library","Ormond Museum"],"skills":["EAD","Calm","Python"],"headline":"Archivist"}"#
    );
}

#[test]
fn identifiers_in_short_groups_are_whole() {
    for (text, value) in [
        ("Permit number: AB 45 67 89 D", "AB 45 67 89 D"),
        ("Permit number   7 XK 410 22", "7 XK 410 22"),
        ("Permit number: 4471 from 2 May 2025", "4471"),
    ] {
        assert_eq!(
            asked(text, &[("permitNumber", "string", "Permit number")]),
            format!(r#"{{"permitNumber":"{value}"}}"#),
            "{text}"
        );
    }
}

#[test]
fn what_is_of_another_kind_is_not_given() {
    let text = "Tarn Mills Ltd\nTelephone 01904 555 019\n\nClause 3. Governing law. It is the wish of both sides to settle in peace.\n\nIN EVIDENCE OF THIS\n";
    let fields = [("faxNumber", "phone", "Fax"), ("governingLaw", "string", "Governing law")];
    assert_eq!(asked(text, &fields), r#"{"faxNumber":null,"governingLaw":null}"#);
    // The title of a document is nobody's name.
    for title in ["Goods sent out", "Packing slip", "Dispatch advice"] {
        let text = format!("{title}\n\nCrates: 4\n");
        assert_eq!(asked(&text, &[("consignor", "string", "Consignor")]), r#"{"consignor":null}"#);
    }
}

#[test]
fn a_question_with_a_number_is_one_label() {
    let text = "Have you moved house in the last 3 years?   ( ) Yes   (x) No\nDo you keep 2 or more dogs?   (x) Yes   ( ) No\n";
    let fields = [
        ("movedHouse", "boolean", "Moved house in the last 3 years"),
        ("keepsDogs", "boolean", "Keep 2 or more dogs"),
    ];
    assert_eq!(asked(text, &fields), r#"{"movedHouse":false,"keepsDogs":true}"#);
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Captions of a signature stand in any order, over or under what is written, and the field has any of its usual names.
    #[test]
    fn the_day_of_a_signature_is_found_under_or_over_its_caption(
        (day, month, year) in (1_u8..=28, 1_usize..=12, 1985_u16..2030),
        captions in Just(vec!["Date", "Name and title", "Signature"]).prop_shuffle(),
        is_under in any::<bool>(),
        field in proptest::sample::select(vec!["signedOn", "signed_on", "dateSigned", "signatureDate", "signature_date"]),
    ) {
        let written = |caption: &&str| match *caption {
            "Date" => format!("{day} {} {year}", MONTHS[month - 1]),
            "Signature" => "xf.".to_owned(),
            _ => "Olive Tanner".to_owned(),
        };
        let row = |cells: Vec<String>| cells.iter().map(|cell| format!("{cell:26}")).collect::<String>();
        let (over, under) = (row(captions.iter().map(|text| (*text).to_owned()).collect()), row(captions.iter().map(written).collect()));
        let rows = if is_under { [over, under] } else { [under, over] };
        let text = format!("Report of the registrant\n\n{}\n{}\n", rows[0].trim_end(), rows[1].trim_end());
        let fields = format!(r#"{{ "{field}": {{ "type": "date" }} }}"#);
        prop_assert_eq!(placed_values(&text, &fields), format!(r#"{{"{field}":"{year}-{month:02}-{day:02}"}}"#), "{}", text);
    }

    /// So do labels with a line to write on, with a colon, or with neither.
    #[test]
    fn the_day_of_a_signature_is_found_next_to_its_label(
        (day, month, year) in (1_u8..=28, 1_usize..=12, 1985_u16..2030),
        label in proptest::sample::select(vec!["Signed on", "Date signed", "Date of signature", "Signature date"]),
        mark in proptest::sample::select(vec![": ", ":  ", " ______ ", " ........ "]),
        field in proptest::sample::select(vec!["signedOn", "signed_on", "dateSigned", "signatureDate", "signature_date"]),
    ) {
        let text = format!("Name: Olive Tanner\n{label}{mark}{day} {} {year}\nTown: Leeds\n", MONTHS[month - 1]);
        let fields = format!(r#"{{ "{field}": {{ "type": "date" }} }}"#);
        prop_assert_eq!(values(&text, &fields), format!(r#"{{"{field}":"{year}-{month:02}-{day:02}"}}"#), "{}", text);
    }
}

/// A label that only a narrow gap parts from the text before it begins where the labels under it do.
#[test]
fn a_label_is_parted_at_the_edge_of_its_column() {
    let text = "\
Quay House Quay House Advertiser      Alder Yard (20917)      Entered by      Moss\n\
4 Mill Lane           Agency          Brook Partners          Co-op           No\n\
Hull                  Product         Boats                   Demo            Adults\n\
\x20                     Brand           Sails                   Order type      Normal";
    assert_eq!(
        placed_values(text, r#"{ "advertiser": { "type": "string" }, "agency": { "type": "string" } }"#),
        r#"{"advertiser":"Alder Yard (20917)","agency":"Brook Partners"}"#
    );
}

/// Each value is found at the same label as another one that reads like what the field asks for.
#[test]
fn what_reads_like_something_else_is_less_sure() {
    let text = |name: &str| format!(r#"{{ "{name}": {{ "type": "string" }} }}"#);
    // The name is cut before a form that is not known there.
    let agreement = |form: &str| {
        format!(
            "On 28/10/2025 Orchard End {form}, having its seat at Keizerskade 9, hereinafter called\n(\"Landlord\"), and \
             Alva Bergman (\"Tenant\") have agreed as follows."
        )
    };
    for (field, likely, unlikely) in [
        ("course", "Course: Basket weaving", "Course: 682.50 GBP"),
        ("course", "Course: Basket weaving", "Course: 13 August 1998"),
        ("policyNumber", "Policy number: 1907", "Policy number: 19"),
        ("venue", "Venue\nThe old mill at the quay", "Venue\nPlease return the signed form to us."),
        ("landlord", &agreement("Ltd"), &agreement("s.r.o.")),
    ] {
        let (likely, unlikely) = (confidence(likely, &text(field)), confidence(unlikely, &text(field)));
        assert!(unlikely + 0.05 < likely, "{field}: {unlikely} and {likely}");
    }
}

#[test]
fn sums_that_contradict_a_value_make_it_unsure() {
    let fields = r#"{ "tax": { "type": "number" }, "total": { "type": "number" } }"#;
    let likely = confidence("Tax: 54.44\nTotal: 340.00", fields);
    let unlikely = confidence("Tax: 254.44\nTotal: 340.00", fields);
    assert!(unlikely + 0.1 < likely, "{unlikely} and {likely}");
}
