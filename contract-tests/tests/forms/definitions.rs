//! Templates and data of the contract's story, rule by rule.

use serde_json::{Value, json};

use openapi_core::forms::*;
use openapi_core::json::{Json, Object};
use openapi_core::validation::Violations;
use openapi_core::values::{FileId, Timestamp};

const EXAMPLE_TEMPLATE: &str = include_str!("../../../openapi-core/src/endpoints/forms/intake.json");

fn object(value: &Value) -> Object {
    match Json::from(value) {
        Json::Object(members) => members,
        other => panic!("{other:?} is no object"),
    }
}

fn intake() -> Value {
    serde_json::from_str(EXAMPLE_TEMPLATE).expect("the example")
}

fn defined(definition: &Value) -> FormTemplate {
    let read = TemplateDefinition::read(&object(definition));
    let definition =
        read.unwrap_or_else(|violations| panic!("{}: {:?}", violations.message(), violations.listed()));
    let at = "2026-01-10T12:00:00.000Z".parse::<Timestamp>().expect("a time");
    definition.create(
        "69623f40cde3f537d8e4bddb".parse().expect("an id"),
        "695b6f80de7378c4412112d3".parse().expect("an id"),
        at,
    )
}

fn faults(violations: &Violations) -> Vec<(&str, &'static str)> {
    violations.listed().iter().map(|found| (found.field.as_str(), found.rule.as_str())).collect()
}

/// The faults of a definition: paths and rules.
fn refused(definition: &Value) -> Vec<(String, &'static str)> {
    match TemplateDefinition::read(&object(definition)) {
        Ok(_) => Vec::new(),
        Err(violations) => {
            faults(&violations).into_iter().map(|(field, rule)| (field.to_owned(), rule)).collect()
        }
    }
}

const FILE: &str = "697dc94b74a1f572c54b78cf";

/// The faults of data: paths and rules; nothing when it is accepted.
fn check(template: &FormTemplate, data: &Value, completeness: Completeness) -> Vec<(String, &'static str)> {
    let compiled = CompiledTemplate::new(template.clone()).expect("a template");
    let known: FileId = FILE.parse().expect("an id");
    match compiled.check(&object(data), completeness, "formData", &|id| id == known) {
        Ok(_) => Vec::new(),
        Err(violations) => {
            faults(&violations).into_iter().map(|(field, rule)| (field.to_owned(), rule)).collect()
        }
    }
}

fn complete(template: &FormTemplate, data: &Value) -> Vec<(String, &'static str)> {
    check(template, data, Completeness::Complete)
}

fn is(found: Vec<(String, &'static str)>, expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> = found.iter().map(|(field, rule)| (field.as_str(), *rule)).collect();
    assert_eq!(found, expected);
}

/// The schema document of contract 2.3.1, to the member.
#[test]
fn the_contracts_schema_document() {
    let template = FormTemplate { version: 2, status: TemplateStatus::Active, ..defined(&intake()) };
    let expected: Value = serde_json::from_str(
        r#"{ "templateId": "69623f40cde3f537d8e4bddb", "name": "Intake", "description": "First-contact questionnaire", "version": 2, "status": "active", "submissionPolicy": "supersede",
  "fields": [
    { "name": "fullName", "label": "Full name", "type": "text", "required": true, "description": null, "placeholder": null, "order": 1, "section": null, "options": null, "validation": { "maxLength": 200 }, "default": null, "example": "Zoë Okafor", "sensitive": false, "showIf": null, "fields": null },
    { "name": "visitType", "label": "Visit type", "type": "select", "required": true, "description": null, "placeholder": null, "order": 2, "section": null, "options": [{ "value": "first", "label": "First visit" }, { "value": "followUp", "label": "Follow-up" }], "validation": null, "default": null, "example": "first", "sensitive": false, "showIf": null, "fields": null },
    { "name": "onset", "label": "Onset", "type": "date", "required": false, "description": null, "placeholder": null, "order": 3, "section": "Complaint", "options": null, "validation": null, "default": null, "example": "2026-01-20", "sensitive": false, "showIf": { "field": "visitType", "op": "equals", "value": "first" }, "fields": null },
    { "name": "painLevel", "label": "Pain level", "type": "integer", "required": false, "description": null, "placeholder": null, "order": 4, "section": "Complaint", "options": null, "validation": { "minimum": 0, "maximum": 10 }, "default": null, "example": 4, "sensitive": false, "showIf": null, "fields": null },
    { "name": "referral", "label": "Referral letter", "type": "file", "required": false, "description": "Id of an uploaded file", "placeholder": null, "order": 5, "section": null, "options": null, "validation": null, "default": null, "example": null, "sensitive": false, "showIf": null, "fields": null },
    { "name": "emergency", "label": "Emergency contact", "type": "group", "required": false, "description": null, "placeholder": null, "order": 6, "section": null, "options": null, "validation": null, "default": null, "example": { "name": "Ada Okafor", "phone": "+44 20 7946 0999" }, "sensitive": false, "showIf": null, "fields": [{ "name": "name", "label": "Name", "type": "text", "required": true, "description": null, "placeholder": null, "order": 1, "section": null, "options": null, "validation": { "maxLength": 200 }, "default": null, "example": "Ada Okafor", "sensitive": false, "showIf": null, "fields": null }, { "name": "phone", "label": "Phone", "type": "phone", "required": false, "description": null, "placeholder": null, "order": 2, "section": null, "options": null, "validation": null, "default": null, "example": "+44 20 7946 0999", "sensitive": false, "showIf": null, "fields": null }] } ],
  "jsonSchema": { "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false, "required": ["fullName", "visitType"], "properties": { "fullName": { "type": "string", "minLength": 1, "maxLength": 200 }, "visitType": { "enum": ["first", "followUp"] }, "onset": { "type": ["string", "null"], "format": "date" }, "painLevel": { "type": ["integer", "null"], "minimum": 0, "maximum": 10 }, "referral": { "type": ["string", "null"], "pattern": "^[0-9a-f]{24}$" }, "emergency": { "type": ["object", "null"], "additionalProperties": false, "required": ["name"], "properties": { "name": { "type": "string", "minLength": 1, "maxLength": 200 }, "phone": { "type": ["string", "null"], "maxLength": 32 } } } } } }"#,
    )
    .unwrap();
    let document = serde_json::to_value(TemplateDocument(&template)).unwrap();
    assert_eq!(document, expected);
    // What the service answers can be edited and passed back.
    assert_eq!(
        TemplateDefinition::read(&object(&document)).map(|read| read.edit(&template, template.updated_at)),
        Ok(None)
    );
}

/// The structure of contract 2.3.1: the fields in the template's order.
#[test]
fn the_contracts_structure() {
    let template = FormTemplate { version: 2, ..defined(&intake()) };
    let expected: Value = serde_json::from_str(
        r#"{ "templateId": "69623f40cde3f537d8e4bddb", "name": "Intake", "version": 2, "structure": {
    "fullName": { "type": "text", "required": true, "label": "Full name", "example": "Zoë Okafor" }, "onset": { "type": "date", "required": false, "label": "Onset", "example": "2026-01-20" },
    "visitType": { "type": "select", "required": true, "label": "Visit type", "example": "first", "options": [{ "value": "first", "label": "First visit" }, { "value": "followUp", "label": "Follow-up" }] },
    "painLevel": { "type": "integer", "required": false, "label": "Pain level", "example": 4 }, "referral": { "type": "file", "required": false, "label": "Referral letter", "example": null },
    "emergency": { "type": "group", "required": false, "label": "Emergency contact", "example": { "name": "Ada Okafor", "phone": "+44 20 7946 0999" } } },
  "formData": { "fullName": "Zoë Okafor", "visitType": "first", "onset": "2026-01-20", "painLevel": 4, "referral": null, "emergency": { "name": "Ada Okafor", "phone": "+44 20 7946 0999" } } }"#,
    )
    .unwrap();
    let compiled = CompiledTemplate::new(template.clone()).unwrap();
    let structure = serde_json::to_value(Structure(&compiled)).unwrap();
    assert_eq!(structure, expected);
    is(complete(&template, &structure["formData"]), &[]);
}

#[test]
fn answers_are_stored_as_sent_without_nulls() {
    let template = defined(&json!({ "name": "T", "fields": [
        { "name": "n", "type": "number" },
        { "name": "l", "type": "list", "fields": [{ "name": "a", "type": "text" }, { "name": "b", "type": "text" }] },
    ] }));
    let compiled = CompiledTemplate::new(template).unwrap();
    let data = openapi_core::json::parse(br#"{"l":[{"b":null,"a":" x "},{"a":null}],"n":1.50e0}"#).unwrap();
    let Json::Object(data) = data else { panic!("no object") };
    let stored = compiled.check(&data, Completeness::Complete, "formData", &|_| true).unwrap();
    assert_eq!(stored.as_str(), r#"{"l":[{"a":" x "},{}],"n":1.50e0}"#);
}

#[test]
fn every_fault_at_once_with_exact_paths() {
    let template = defined(&intake());
    is(
        complete(
            &template,
            &json!({ "nickname": null, "painLevel": 11, "visitType": "first", "onset": "20.1.2026",
                "referral": "697dc94b74a1f572c54b78c0", "emergency": { "phone": 7, "fax": "1" } }),
        ),
        &[
            ("formData.nickname", "unknown"),
            ("formData.painLevel", "maximum"),
            ("formData.onset", "format"),
            ("formData.referral", "reference"),
            ("formData.emergency.phone", "type"),
            ("formData.emergency.fax", "unknown"),
            ("formData.emergency.name", "required"),
            ("formData.fullName", "required"),
        ],
    );
    is(
        complete(&template, &json!({ "fullName": "  ", "visitType": null })),
        &[("formData.fullName", "required"), ("formData.visitType", "required")],
    );
    is(complete(&template, &json!({ "fullName": "Z", "visitType": "first", "referral": FILE })), &[]);
    is(
        complete(
            &template,
            &json!({ "fullName": "Z", "visitType": "first", "referral": FILE.to_uppercase() }),
        ),
        &[("formData.referral", "format")],
    );
}

#[test]
fn drafts_skip_what_is_missing_and_nothing_else() {
    let template = defined(&json!({ "name": "T", "fields": [
        { "name": "a", "type": "text", "required": true },
        { "name": "m", "type": "multiselect", "required": true, "options": ["x", "y"], "validation": { "minItems": 2, "maxItems": 2 } },
    ] }));
    for data in [json!({}), json!({ "a": null, "m": [] }), json!({ "a": " ", "m": ["x"] })] {
        is(check(&template, &data, Completeness::Draft), &[]);
        assert!(!complete(&template, &data).is_empty(), "{data}");
    }
    is(
        check(&template, &json!({ "a": 1, "m": ["x", "z"], "b": 1 }), Completeness::Draft),
        &[("formData.a", "type"), ("formData.m[1]", "enum"), ("formData.b", "unknown")],
    );
    is(complete(&template, &json!({ "a": "x", "m": ["x"] })), &[("formData.m", "minItems")]);
    is(complete(&template, &json!({ "a": "x", "m": ["x", "x"] })), &[("formData.m", "uniqueItems")]);
    is(complete(&template, &json!({ "a": "x", "m": ["x", "y", "x"] })), &[("formData.m", "maxItems")]);
}

#[test]
fn hidden_fields_are_not_required_and_take_nothing() {
    let template = defined(&json!({ "name": "T", "fields": [
        { "name": "a", "type": "boolean" },
        { "name": "b", "type": "text", "required": true, "showIf": { "field": "a", "op": "equals", "value": true } },
        { "name": "c", "type": "text", "showIf": { "field": "b", "op": "answered", "value": null } },
        { "name": "d", "type": "text", "required": true, "showIf": { "field": "c", "op": "notEquals", "value": "no" } },
    ] }));
    is(complete(&template, &json!({ "d": "x" })), &[]);
    is(
        complete(&template, &json!({ "a": false, "b": "x", "c": "y", "d": "z" })),
        &[("formData.b", "conflict"), ("formData.c", "conflict")],
    );
    is(complete(&template, &json!({ "a": true })), &[("formData.b", "required"), ("formData.d", "required")]);
    is(
        complete(&template, &json!({ "a": true, "b": "x", "c": "no", "b2": 1 })),
        &[("formData.b2", "unknown")],
    );
    is(
        complete(&template, &json!({ "a": true, "b": "x", "c": "no", "d": "z" })),
        &[("formData.d", "conflict")],
    );
}

#[test]
fn conditions_look_at_answers() {
    let holds = |op: &str, value: Value, answer: Option<Value>| {
        let condition: ShowIf =
            serde_json::from_value(json!({ "field": "f", "op": op, "value": 0 })).unwrap();
        let condition = ShowIf { value: Json::from(&value), ..condition };
        condition.holds(answer.as_ref().map(Json::from).as_ref())
    };
    assert!(holds("equals", json!(3), Some(json!(3.0))));
    assert!(!holds("equals", json!(3), None) && holds("notEquals", json!(3), None));
    assert!(holds("in", json!(["a", "b"]), Some(json!("b"))) && !holds("in", json!(["a"]), None));
    assert!(holds("contains", json!("x"), Some(json!(["y", "x"]))));
    assert!(holds("contains", json!("ell"), Some(json!("hello"))) && !holds("contains", json!("x"), None));
    assert!(holds("answered", Value::Null, Some(json!(0))) && !holds("answered", json!(true), None));
    assert!(holds("answered", json!(false), None) && !holds("answered", json!(false), Some(json!(0))));
}

#[test]
fn several_files_where_their_number_is_bounded() {
    let many = |rules: Value| {
        defined(&json!({ "name": "T", "fields": [{ "name": "f", "type": "file", "validation": rules }] }))
    };
    is(complete(&many(json!({ "maxItems": 2 })), &json!({ "f": FILE })), &[]);
    is(complete(&many(json!({ "maxItems": 2 })), &json!({ "f": [FILE] })), &[]);
    is(
        complete(&many(json!({ "maxItems": 2 })), &json!({ "f": [FILE, "nope", 7, FILE] })),
        &[("formData.f[1]", "format"), ("formData.f[2]", "type"), ("formData.f", "maxItems")],
    );
    is(complete(&many(Value::Null), &json!({ "f": [FILE] })), &[("formData.f", "type")]);
    let two = many(json!({ "minItems": 2 }));
    is(complete(&two, &json!({ "f": FILE })), &[("formData.f", "minItems")]);
    is(check(&two, &json!({ "f": FILE }), Completeness::Draft), &[]);
    assert_eq!(two.json_schema()["properties"]["f"]["type"], json!(["array", "null"]));
}

#[test]
fn sensitive_answers_are_not_repeated() {
    let template = defined(&json!({ "name": "T", "fields": [
        { "name": "g", "type": "group", "sensitive": true, "fields": [{ "name": "n", "type": "integer" }] },
        { "name": "p", "type": "text", "validation": { "pattern": "^[A-Z]+$", "patternMessage": "Capital letters only" } },
    ] }));
    let compiled = CompiledTemplate::new(template).unwrap();
    let data = object(&json!({ "g": { "n": "secret" }, "p": "x" }));
    let found =
        compiled.check(&data, Completeness::Complete, "submissions[1].formData", &|_| true).unwrap_err();
    let found = found.listed();
    assert_eq!((found[0].field.as_str(), &found[0].value), ("submissions[1].formData.g.n", &Json::Null));
    assert_eq!(found[1].message, "submissions[1].formData.p is not valid: Capital letters only");
    assert_eq!(found[1].value, Json::from("x"));
}

#[test]
fn data_may_have_256_kib() {
    let template = defined(&json!({ "name": "T", "fields": [
        { "name": "l", "type": "list", "fields": [{ "name": "a", "type": "textarea" }] } ] }));
    let of = |bytes: usize| {
        let full = 20_000;
        let frame = r#"{"l":[]}"#.len();
        let mut items = Vec::new();
        let mut left = bytes - frame;
        while left > 0 {
            // `{"a":"…"},`
            let comma = usize::from(!items.is_empty());
            let text = left.saturating_sub(8 + comma).min(full);
            items.push(json!({ "a": "x".repeat(text) }));
            left -= (text + 8 + comma).min(left);
            if left > 0 && left < 20 {
                let short = items.len() - 1;
                items[short] = json!({ "a": "x".repeat(text + left) });
                left = 0;
            }
        }
        json!({ "l": items })
    };
    let data = of(MAX_FORM_DATA);
    assert_eq!(data.to_string().len(), MAX_FORM_DATA);
    is(complete(&template, &data), &[]);
    is(complete(&template, &of(MAX_FORM_DATA + 1)), &[("formData", "maxSize")]);
}

#[test]
fn errors_of_a_definition_name_their_path() {
    is(refused(&json!({})), &[("name", "required"), ("fields", "required")]);
    is(
        refused(&json!({ "name": "T", "fields": [], "colour": 1 })),
        &[("fields", "minItems"), ("colour", "unknown")],
    );
    is(
        refused(&json!({ "name": " ", "submissionPolicy": "keep", "fields": [
            { "name": "1a", "type": "text" },
            { "name": "a", "type": "text", "required": "yes", "hint": 1 },
            { "name": "a", "type": "text" },
            { "name": "b", "type": "string" },
            { "name": "c", "type": "select" },
            { "name": "d", "type": "group", "fields": [{ "type": "list", "name": "x" }] },
            { "name": "e", "type": "text", "options": ["a"], "fields": [], "validation": { "minimum": 1, "foo": 1, "pattern": "(" } },
            { "name": "f", "type": "integer", "validation": { "minimum": 3, "maximum": 2, "multipleOf": 0 } },
            { "name": "g", "type": "time", "validation": { "minDate": "9:00" } },
            7,
        ] })),
        &[
            ("name", "required"),
            ("submissionPolicy", "enum"),
            ("fields[0].name", "pattern"),
            ("fields[1].required", "type"),
            ("fields[1].hint", "unknown"),
            ("fields[2].name", "duplicate"),
            ("fields[3].type", "enum"),
            ("fields[4].options", "required"),
            ("fields[5].fields[0].fields", "required"),
            ("fields[6].options", "conflict"),
            ("fields[6].fields", "conflict"),
            ("fields[6].validation.minimum", "conflict"),
            ("fields[6].validation.foo", "unknown"),
            ("fields[6].validation.pattern", "format"),
            ("fields[7].validation.multipleOf", "minimum"),
            ("fields[7].validation.maximum", "conflict"),
            ("fields[8].validation.minDate", "format"),
            ("fields[9]", "type"),
        ],
    );
}

#[test]
fn conditions_of_a_definition_make_sense() {
    let with = |conditions: [Value; 3]| {
        let [a, b, c] = conditions;
        refused(&json!({ "name": "T", "fields": [
            { "name": "a", "type": "select", "options": ["x", "y"], "showIf": a },
            { "name": "b", "type": "checkboxes", "options": ["x", "y"], "showIf": b },
            { "name": "c", "type": "group", "showIf": c, "fields": [{ "name": "d", "type": "text" }] },
        ] }))
    };
    let when = |field: &str, op: &str, value: Value| json!({ "field": field, "op": op, "value": value });
    is(with([Value::Null, when("a", "equals", json!("x")), when("b", "contains", json!("y"))]), &[]);
    is(
        with([when("a", "equals", json!("x")), Value::Null, when("d", "answered", Value::Null)]),
        &[("fields[0].showIf.field", "conflict"), ("fields[2].showIf.field", "reference")],
    );
    is(
        with([
            when("c", "answered", Value::Null),
            when("a", "in", json!(["x"])),
            when("b", "answered", json!(1)),
        ]),
        &[
            ("fields[0].showIf.field", "conflict"),
            ("fields[1].showIf.field", "conflict"),
            ("fields[2].showIf.field", "conflict"),
        ],
    );
    is(
        with([Value::Null, when("a", "equals", json!("z")), when("b", "equals", json!("x"))]),
        &[("fields[1].showIf.value", "conflict"), ("fields[2].showIf.op", "conflict")],
    );
    is(
        with([json!({ "op": "is" }), Value::Null, json!(7)]),
        &[
            ("fields[0].showIf.op", "enum"),
            ("fields[0].showIf.field", "required"),
            ("fields[2].showIf", "type"),
        ],
    );
}

#[test]
fn transitions_that_may_be_switched_off() {
    let with = |transitions: Value| {
        refused(
            &json!({ "name": "T", "fields": [{ "name": "a", "type": "text" }], "disabledTransitions": transitions }),
        )
    };
    is(with(json!([{ "from": "submitted", "to": "rejected" }])), &[]);
    is(
        with(
            json!([{ "from": "archived", "to": "draft" }, { "from": "draft" }, { "from": "draft", "to": "x" }]),
        ),
        &[
            ("disabledTransitions[0]", "conflict"),
            ("disabledTransitions[1].to", "required"),
            ("disabledTransitions[2].to", "enum"),
        ],
    );
    let template = defined(&json!({ "name": "T", "fields": [{ "name": "a", "type": "text" }],
        "disabledTransitions": [{ "from": "approved", "to": "under_review" }] }));
    assert_eq!(template.followers(SubmissionStatus::Approved), [SubmissionStatus::Archived]);
}

#[test]
fn examples_are_valid_or_made_up() {
    let example = |field: Value| {
        let template = defined(&json!({ "name": "T", "fields": [field] }));
        let compiled = CompiledTemplate::new(template.clone()).unwrap();
        let structure = serde_json::to_value(Structure(&compiled)).unwrap();
        is(complete(&template, &structure["formData"]), &[]);
        structure["formData"]["f"].clone()
    };
    let made = |kind: &str, rules: Value| {
        example(json!({ "name": "f", "type": kind, "required": true, "validation": rules }))
    };
    assert_eq!(made("text", json!({ "minLength": 9, "maxLength": 9 })), "ExampleEx");
    assert_eq!(made("text", json!({ "pattern": "^[A-Z]{2}-[0-9]{3}$" })), "AA-111");
    assert_eq!(made("text", json!({ "pattern": "^(yes|no)$", "minLength": 2 })), "yes");
    assert_eq!(made("text", json!({ "pattern": "x", "minLength": 1 })), "x");
    assert_eq!(made("integer", json!({ "minimum": 7, "multipleOf": 5 })), 10);
    assert_eq!(made("number", json!({ "minimum": 1.25, "maximum": 1.75, "multipleOf": 0.5 })), json!(1.5));
    assert_eq!(made("date", json!({ "maxDate": "1999-12-31" })), "1999-12-31");
    assert_eq!(made("time", json!({ "minDate": "10:00" })), "10:00");
    for kind in
        ["textarea", "email", "phone", "url", "number", "integer", "boolean", "date", "time", "datetime"]
    {
        assert_ne!(made(kind, Value::Null), Value::Null, "{kind}");
    }
    is(
        refused(&json!({ "name": "T", "fields": [
        { "name": "a", "type": "integer", "example": "4" },
        { "name": "b", "type": "text", "required": true, "validation": { "pattern": "^a$", "minLength": 2 } },
        { "name": "c", "type": "list", "fields": [{ "name": "d", "type": "date", "example": "soon" }] },
    ] })),
        &[
            ("fields[0].example", "type"),
            ("fields[1].example", "required"),
            ("fields[2].fields[0].example", "format"),
        ],
    );
}

#[test]
fn edits_make_versions_of_what_was_in_use() {
    let at = "2026-01-12T08:30:00.000Z".parse::<Timestamp>().expect("a time");
    let draft = defined(&intake());
    let renamed = |template: &FormTemplate| {
        let mut changed = template.document();
        changed["name"] = "Other".into();
        TemplateDefinition::read(&object(&changed)).unwrap().edit(template, at).unwrap()
    };
    let edited = renamed(&draft);
    assert_eq!((edited.version, edited.generation), (1, 2));
    let active = FormTemplate { status: TemplateStatus::Active, ..edited };
    let edited = TemplateDefinition::read(&object(&intake())).unwrap().edit(&active, at).unwrap();
    assert_eq!((edited.version, edited.generation, edited.updated_at), (2, 3, at));
}
