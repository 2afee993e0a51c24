//! The rules of contract 12.1, 12.2 and 12.4, each by what the contract shows.
#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use openapi_core::extraction::*;
use openapi_core::json::{Json, Object, parse};
use openapi_core::validation::{ValidationCode, ValidationIssue, Violations};
use openapi_core::values::fold;

fn faults(text: &str) -> Vec<(String, &'static str)> {
    listed(&ExtractionSchema::parse(text.as_bytes()).unwrap_err())
}

fn listed(violations: &Violations) -> Vec<(String, &'static str)> {
    violations
        .listed()
        .iter()
        .inspect(|violation| assert_eq!(violation.location.as_str(), "form"))
        .map(|violation| (violation.field.clone(), violation.rule.as_str()))
        .collect()
}

fn pairs(of: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    of.iter().map(|(field, rule)| ((*field).to_owned(), *rule)).collect()
}

const INVOICE: &str = r#"{ "invoiceNumber": { "type": "string", "description": "Invoice number as printed", "required": true }, "issueDate": { "type": "date", "description": "Date of issue", "required": false },
  "dueDate": { "type": "date", "description": "Last day for payment", "required": true }, "total": { "type": "number", "description": "Amount payable", "required": true },
  "paid": { "type": "boolean", "description": "Marked as paid", "required": false }, "vendorEmail": { "type": "email", "description": "Vendor's address", "required": false },
  "lineItems": { "type": "array", "description": "Lines of the invoice", "required": false, "items": { "type": "object", "properties": { "description": { "type": "string" }, "amount": { "type": "number" } } } } }"#;

#[test]
fn every_error_is_reported_at_once_with_its_path() {
    let schema = r#"{
        "a/b": { "type": "string" }, "__proto__": { "type": "string" }, "short": "string", "none": {},
        "kind": { "type": "text", "colour": 1 }, "null": { "type": null, "required": "yes", "description": 7 },
        "list": { "type": "array", "properties": {}, "items": { "type": "object", "properties": { "x": { "type": "int" }, "": { "type": "date" } } } },
        "both": { "type": "string", "enum": ["a", "a", 3], "options": ["b"] },
        "range": { "type": "number", "minimum": 5, "maximum": 4, "pattern": "^a$" },
        "when": { "type": "date", "minimum": "2026-02-30", "maximum": 3 },
        "code": { "type": "string", "pattern": "(?<=a)b", "minimum": 1, "items": { "type": "string" } },
        "flag": { "type": "boolean", "enum": [] }
    }"#;
    assert_eq!(
        faults(schema),
        pairs(&[
            ("schema.a/b", "pattern"),
            ("schema.__proto__", "reserved"),
            ("schema.short", "type"),
            ("schema.none.type", "required"),
            ("schema.kind.type", "enum"),
            ("schema.kind.colour", "unknown"),
            ("schema.null.type", "required"),
            ("schema.null.required", "type"),
            ("schema.null.description", "type"),
            ("schema.list.properties", "conflict"),
            ("schema.list.items.properties.x.type", "enum"),
            ("schema.list.items.properties.", "pattern"),
            ("schema.both.enum[1]", "uniqueItems"),
            ("schema.both.enum[2]", "type"),
            ("schema.both.options", "conflict"),
            ("schema.range.maximum", "conflict"),
            ("schema.range.pattern", "conflict"),
            ("schema.when.minimum", "format"),
            ("schema.when.maximum", "type"),
            ("schema.code.pattern", "format"),
            ("schema.code.minimum", "conflict"),
            ("schema.code.items", "conflict"),
            ("schema.flag.enum", "conflict"),
        ])
    );
}

#[test]
fn the_whole_has_its_limits() {
    for (text, rule) in [
        ("", "required"),
        ("{", "format"),
        ("[]", "type"),
        ("null", "required"),
        ("{}", "minProperties"),
        (r#"{"type":"object","properties":{}}"#, "minProperties"),
    ] {
        assert_eq!(faults(text), pairs(&[("schema", rule)]), "{text}");
    }
    let fields = |count: usize, body: &str| {
        let fields: Vec<String> = (0..count).map(|n| format!(r#""f{n}":{body}"#)).collect();
        format!("{{{}}}", fields.join(","))
    };
    let text = r#"{"type":"string"}"#;
    assert!(ExtractionSchema::parse(fields(100, text).as_bytes()).is_ok());
    assert_eq!(faults(&fields(101, text)), pairs(&[("schema", "maxProperties")]));
    let nodes = |inner| format!(r#"{{"type":"object","properties":{}}}"#, fields(inner, text));
    assert!(ExtractionSchema::parse(fields(100, &nodes(4)).as_bytes()).is_ok());
    assert_eq!(faults(&fields(100, &nodes(5))), pairs(&[("schema", "maxSize")]));
    let long = format!(r#"{{"type":"string","description":"{}"}}"#, "x".repeat(1_000));
    assert!(ExtractionSchema::parse(fields(60, &long).as_bytes()).is_ok());
    assert_eq!(faults(&fields(70, &long)), pairs(&[("schema", "maxSize")]));
    let long = format!(r#"{{"a":{{"type":"string","description":"{}"}}}}"#, "x".repeat(1_001));
    assert_eq!(faults(&long), pairs(&[("schema.a.description", "maxLength")]));

    let nested = |levels: usize| {
        let inner =
            (1..levels).fold(text.to_owned(), |inner, _| format!(r#"{{"type":"array","items":{inner}}}"#));
        format!(r#"{{"a":{inner}}}"#)
    };
    assert!(ExtractionSchema::parse(nested(5).as_bytes()).is_ok());
    assert_eq!(faults(&nested(6)), pairs(&[("schema", "maxDepth")]));
    let name = |letters: usize| format!(r#"{{"{}":{text}}}"#, "é".repeat(letters));
    assert!(ExtractionSchema::parse(name(64).as_bytes()).is_ok());
    assert_eq!(faults(&name(65))[0].1, "pattern");
}

#[test]
fn standard_json_schema_is_converted() {
    let own = r#"{
        "number": { "type": "string", "required": true }, "issued": { "type": "date", "format": "date" },
        "seller": { "type": "object", "properties": { "name": { "type": "string", "required": true }, "mail": { "type": "email", "format": "email" } } },
        "lines": { "type": "array", "required": true, "items": { "type": "object", "properties": { "price": { "type": "number", "minimum": 0, "required": true } } } }
    }"#;
    let standard = r#"{ "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Invoice", "type": "object", "required": ["number", "lines"], "properties": {
        "number": { "type": "string", "title": "No." }, "issued": { "type": "string", "format": "date" },
        "seller": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "mail": { "type": "string", "format": "email" } } },
        "lines": { "type": "array", "items": { "type": "object", "required": ["price"], "properties": { "price": { "type": "number", "minimum": 0 } } } }
    } }"#;
    assert_eq!(
        ExtractionSchema::parse(standard.as_bytes()).unwrap(),
        ExtractionSchema::parse(own.as_bytes()).unwrap()
    );
    let faulty = r#"{ "type": "object", "additionalProperties": false, "required": ["x", 3, "title", "title"], "properties": {
        "number": { "type": "string", "minLength": 3, "required": true }, "title": { "type": ["string", "null"] } } }"#;
    assert_eq!(
        faults(faulty),
        pairs(&[
            ("schema.required[0]", "reference"),
            ("schema.required[1]", "type"),
            ("schema.required[3]", "uniqueItems"),
            ("schema.additionalProperties", "unknown"),
            ("schema.properties.number.minLength", "unknown"),
            ("schema.properties.number.required", "conflict"),
            ("schema.properties.title.type", "enum"),
        ])
    );
    // A field may be called as a keyword is.
    let own = r#"{ "type": { "type": "string" }, "properties": { "type": "string" } }"#;
    assert_eq!(ExtractionSchema::parse(own.as_bytes()).unwrap().fields().len(), 2);
}

fn leaf(value: &str, confidence: Confidence, page: u32, source: &str) -> Finding {
    Finding::Leaf(Leaf {
        value: Ok(parse(value.as_bytes()).unwrap()),
        confidence,
        evidence: Evidence { page: Some(page), source_text: source.to_owned(), bounding_box: None },
        ambiguous: false,
    })
}

fn rejected(raw: &str) -> Finding {
    Finding::Leaf(Leaf {
        value: Err(Rejection { raw: raw.to_owned(), fault: ValidationIssue::wrong_type("a number") }),
        confidence: Confidence::NORMALISED,
        evidence: Evidence::default(),
        ambiguous: false,
    })
}

fn line(description: &str, amount: &str, source: &str) -> Finding {
    Finding::Object(vec![
        ("amount".to_owned(), leaf(amount, Confidence::NORMALISED, 1, source)),
        ("description".to_owned(), leaf(&format!("\"{description}\""), Confidence::VERBATIM, 1, description)),
    ])
}

#[test]
fn the_result_is_the_contracts_to_the_byte() {
    let schema = ExtractionSchema::parse(INVOICE.as_bytes()).unwrap();
    let findings = vec![
        leaf("\"INV-2043\"", Confidence::VERBATIM, 1, "INV-2043"),
        leaf("\"2026-01-15\"", Confidence::NORMALISED, 1, "15 January 2026"),
        Finding::Absent,
        leaf("1234.5", Confidence::NORMALISED, 2, "£1,234.50"),
        Finding::Absent,
        leaf("\"billing@example.com\"", Confidence::VERBATIM, 1, "billing@example.com"),
        Finding::Array(vec![line("Consulting", "1000", "1,000.00"), line("Travel", "234.5", "234.50")]),
    ];
    let extraction = Extraction::of(&schema, findings, &[]);
    let metadata = ExtractionMetadata {
        processing_time: 2140,
        document: DocumentFacts {
            file_name: "invoice.pdf".to_owned(),
            content_type: "application/pdf".to_owned(),
            file_size: 91_822,
            sha256: "cd769bfb7da4b2e71c073ac3884dbb7fae4098ebdb6768b16e7492467a112b30".to_owned(),
            page_count: Some(2),
            character_count: 3_120,
            ocr_applied: false,
            language: Some("en".to_owned()),
            stored: false,
            file_id: None,
        },
        usage: Usage { credits_charged: 2, credits_remaining: Some(998) },
        engine: "builtin".to_owned(),
    };
    let data = r#"{"invoiceNumber":"INV-2043","issueDate":"2026-01-15","dueDate":null,"total":1234.5,"paid":null,"vendorEmail":"billing@example.com","lineItems":[{"description":"Consulting","amount":1000},{"description":"Travel","amount":234.5}]}"#;
    assert_eq!(Json::Object(extraction.data.clone()).to_text(), data);
    let expected = concat!(
        r#"{"confidence":0.75,"fieldConfidences":{"invoiceNumber":0.95,"issueDate":0.85,"dueDate":0,"total":0.85,"paid":0,"vendorEmail":0.95,"lineItems":0.9},"#,
        r#""validation":{"isValid":false,"errors":[{"field":"dueDate","message":"dueDate was not found in the document","value":null,"type":"required"}],"warnings":[],"missingRequired":["dueDate"],"lowConfidence":[]},"#,
        r#""processingTime":2140,"document":{"fileName":"invoice.pdf","contentType":"application/pdf","fileSize":91822,"sha256":"cd769bfb7da4b2e71c073ac3884dbb7fae4098ebdb6768b16e7492467a112b30","pageCount":2,"characterCount":3120,"ocrApplied":false,"language":"en","stored":false,"fileId":null},"#,
        r#""usage":{"creditsCharged":2,"creditsRemaining":998},"engine":"builtin","fields":{"#,
        r#""invoiceNumber":{"confidence":0.95,"page":1,"sourceText":"INV-2043","boundingBox":null},"issueDate":{"confidence":0.85,"page":1,"sourceText":"15 January 2026","boundingBox":null},"#,
        r#""total":{"confidence":0.85,"page":2,"sourceText":"£1,234.50","boundingBox":null},"vendorEmail":{"confidence":0.95,"page":1,"sourceText":"billing@example.com","boundingBox":null},"#,
        r#""lineItems[0].description":{"confidence":0.95,"page":1,"sourceText":"Consulting","boundingBox":null},"lineItems[0].amount":{"confidence":0.85,"page":1,"sourceText":"1,000.00","boundingBox":null},"#,
        r#""lineItems[1].description":{"confidence":0.95,"page":1,"sourceText":"Travel","boundingBox":null},"lineItems[1].amount":{"confidence":0.85,"page":1,"sourceText":"234.50","boundingBox":null}}}"#,
    );
    assert_eq!(serde_json::to_string(&extraction.with(&metadata)).unwrap(), expected);
}

#[test]
fn what_breaks_a_rule_is_null_and_reported() {
    let schema = r#"{ "unit": { "type": "string", "enum": ["mg", "ml"], "required": true }, "dose": { "type": "number", "maximum": 10 },
        "count": { "type": "integer", "required": true }, "code": { "type": "string", "pattern": "^[A-Z]+$" }, "day": { "type": "date" },
        "lines": { "type": "array", "items": { "type": "object", "properties": { "a": { "type": "number", "required": true }, "b": { "type": "string" } } } },
        "who": { "type": "object", "properties": { "name": { "type": "string", "required": true } } } }"#;
    let schema = ExtractionSchema::parse(schema.as_bytes()).unwrap();
    let mut day = leaf("\"2026-03-04\"", Confidence::NORMALISED, 1, "03/04/2026");
    if let Finding::Leaf(leaf) = &mut day {
        leaf.ambiguous = true;
    }
    let found = Extraction::of(
        &schema,
        vec![
            leaf("\"kg\"", Confidence::VERBATIM, 1, "kg"),
            leaf("12", Confidence::VERBATIM, 1, "12"),
            rejected("a dozen"),
            leaf("\"ABC\"", Confidence::CLOSE, 1, "A8C"),
            day,
            Finding::Array(vec![
                Finding::Object(vec![("a".to_owned(), rejected("many"))]),
                Finding::Object(vec![
                    ("a".to_owned(), rejected("few")),
                    ("b".to_owned(), leaf("\"x\"", Confidence::UNMATCHED, 1, "x")),
                ]),
            ]),
            Finding::Object(vec![]),
        ],
        &[ExtractionWarning::OcrUnavailable],
    );
    assert_eq!(
        Json::Object(found.data).to_text(),
        r#"{"unit":null,"dose":null,"count":null,"code":"ABC","day":"2026-03-04","lines":[{"a":null,"b":"x"}],"who":null}"#
    );
    let reported: Vec<_> =
        found.validation.errors.iter().map(|e| (e.field.as_deref().unwrap(), e.kind)).collect();
    assert_eq!(
        reported,
        [
            ("unit", "enum"),
            ("unit", "required"),
            ("dose", "maximum"),
            ("count", "type"),
            ("count", "required"),
            // Of the first line nothing is left, so that it misses nothing; the second replaces it.
            ("lines[0].a", "type"),
            ("lines[0].a", "type"),
            ("lines[0].a", "required")
        ]
    );
    assert_eq!(found.validation.errors[3].value, Json::from("a dozen"));
    assert_eq!(found.validation.errors[4].value, Json::Null);
    let doubts: Vec<_> = found.validation.warnings.iter().map(|w| (w.field.as_deref(), w.kind)).collect();
    assert_eq!(doubts, [(None, "ocrUnavailable"), (Some("day"), "ambiguousDate")]);
    assert_eq!(found.validation.missing_required, ["unit", "count"]);
    assert_eq!(found.validation.low_confidence, ["lines"]);
    // Of unit 0, count 0, code 0.65, day 0.85 and lines 0.4.
    assert_eq!(found.confidence, Confidence::new(0.38));
}

#[test]
fn the_examples_are_the_contracts_and_can_be_sent() {
    for example in SCHEMA_EXAMPLES {
        let schema = ExtractionSchema::parse(example.schema.as_bytes()).unwrap();
        assert!(schema.fields().iter().any(|(_, field)| field.required), "{}", example.id);
    }
    let text = serde_json::to_string(&SchemaExamples).unwrap();
    // The digest of `data` in contract 12.4, without white space.
    let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "10165a81aa37ea8187fdb1ab88046301455c311e75463bd8f1b76a1eb1a6e6e3");
}

#[test]
fn confidences_are_written_shortly() {
    for (share, text) in
        [(0.0, "0"), (1.0, "1"), (0.95, "0.95"), (0.123_449, "0.1234"), (7.0, "1"), (f64::NAN, "0")]
    {
        assert_eq!(serde_json::to_string(&Confidence::new(share)).unwrap(), text);
    }
}

/// Any JSON, with the words of the language more often than chance would have them.
fn any_json() -> impl Strategy<Value = Json> {
    let word = prop_oneof![
        Just("string".to_owned()),
        Just("array".to_owned()),
        Just("object".to_owned()),
        Just("number".to_owned()),
        ".{0,8}",
    ];
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i32>().prop_map(Json::from),
        word.prop_map(Json::String),
    ];
    scalar.prop_recursive(7, 64, 6, |inner| {
        let name = prop_oneof![
            prop::sample::select(vec![
                "type",
                "items",
                "properties",
                "required",
                "enum",
                "options",
                "pattern",
                "minimum",
                "maximum",
                "format",
            ])
            .prop_map(str::to_owned),
            "[a-z]{1,4}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec((name, inner), 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect::<Object>())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_a_schema_or_has_errors_with_paths(json in any_json()) {
        match ExtractionSchema::from_json(&json) {
            Ok(schema) => prop_assert!(!schema.fields().is_empty()),
            Err(violations) => {
                prop_assert!(!violations.is_empty());
                let mut seen = std::collections::HashSet::new();
                for violation in violations.listed() {
                    prop_assert!(violation.field.starts_with("schema"), "{}", violation.field);
                    prop_assert!(seen.insert(violation.field.clone()), "{} is reported twice", violation.field);
                    prop_assert!(!fold(&violation.message).is_empty());
                }
            }
        }
    }

    #[test]
    fn results_satisfy_their_own_rules(
        shares in prop::collection::vec(prop::option::of((0.0_f64..1.0, 0_i64..20)), 1..12),
        required in prop::collection::vec(any::<bool>(), 12),
    ) {
        let members = shares.iter().enumerate().map(|(n, _)| {
            format!(r#""f{n}":{{"type":"number","maximum":15,"required":{}}}"#, required[n])
        });
        let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let schema = ExtractionSchema::parse(text.as_bytes()).unwrap();
        let findings = shares.iter().map(|found| match found {
            Some((share, value)) => leaf(&value.to_string(), Confidence::new(*share), 1, &value.to_string()),
            None => Finding::Absent,
        });
        let found = Extraction::of(&schema, findings.collect(), &[]);
        prop_assert_eq!(found.validation.is_valid, found.validation.errors.is_empty());
        prop_assert_eq!(found.data.len(), shares.len());
        let is_null = |name: &str| found.data.get(name) == Some(&Json::Null);
        let mut counted = Vec::new();
        for (n, (name, confidence)) in found.field_confidences.iter().enumerate() {
            let stays = shares[n].is_some_and(|(_, value)| value <= 15);
            prop_assert_eq!(!is_null(name), stays);
            prop_assert_eq!(found.fields.iter().any(|(path, _, _)| path == name), stays);
            prop_assert_eq!(found.validation.missing_required.contains(name), !stays && required[n]);
            let reported = |error: &Notice| {
                error.field.as_ref() == Some(name) && error.kind == ValidationCode::Required.as_str()
            };
            prop_assert_eq!(found.validation.errors.iter().any(reported), !stays && required[n]);
            prop_assert_eq!(found.validation.low_confidence.contains(name), stays && confidence.share() < 0.6);
            if !stays {
                prop_assert_eq!(*confidence, Confidence::NONE);
            }
            if stays || required[n] {
                counted.push(confidence.share());
            }
        }
        let mean = counted.iter().sum::<f64>() / (counted.len().max(1) as f64);
        prop_assert!((found.confidence.share() - mean).abs() <= 0.000_051);
        prop_assert!(found.validation.errors.iter().all(|error| error.kind == ValidationCode::Required.as_str() || error.kind == "maximum"));
    }
}
