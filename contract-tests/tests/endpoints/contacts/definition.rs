//! Schema definitions that an operator may and may not set (contract 2.1.4, 14).

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Sandbox, on_every_backend};
use openapi_core::admin::{Admin, AdminError};
use serde_json::{Value, json};

on_every_backend!(
    versions_and_history,
    a_definition_read_can_be_written_back,
    omitted_fields_have_built_in_definitions,
    refused_definitions,
    accepted_definitions,
    patterns_are_linear,
    several_errors_at_once,
    defaults_obey_the_rules_of_their_field,
);

#[track_caller]
fn refuses(cx: &Sandbox, definition: &Value, position: &str, rule: &str) {
    let before = wait(cx.platform.contact_schema(&cx.agent)).expect("a schema");
    match cx.redefine(definition) {
        Err(AdminError::Invalid(violations)) => {
            let found: Vec<(&str, &str)> =
                violations.listed().iter().map(|fault| (fault.field.as_str(), fault.rule.as_str())).collect();
            assert_eq!(found, [(position, rule)], "{definition}");
        }
        other => panic!("{definition} gives {other:?}"),
    }
    assert_eq!(wait(cx.platform.contact_schema(&cx.agent)).expect("a schema"), before);
}

fn versions_and_history(backend: Backend) {
    let cx = Sandbox::new(backend);
    for version in 2..5 {
        cx.advance(1_000);
        let schema =
            cx.define(&json!({ "fields": [{ "name": "lastName", "label": format!("Name {version}") }] }));
        assert_eq!(schema.version, version);
        assert_eq!(schema.updated_at, openapi_core::ports::Clock::now(&*cx.clock));
    }
    let history = wait(cx.platform.contact_schema_history(&cx.agent)).expect("the history");
    assert_eq!(history.iter().map(|schema| schema.version).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let again = cx.define(&json!({ "fields": [{ "name": "lastName", "label": "Name 4" }] }));
    assert_eq!(again.version, 4, "no change, no version");
}

fn a_definition_read_can_be_written_back(backend: Backend) {
    let cx = Sandbox::new(backend);
    let definition = json!({
        "fields": [{ "name": "gender", "options": [{ "value": "f", "label": "F" }], "required": true }, { "name": "dob", "maximum": "2020-01-01" }],
        "customFields": [
            { "name": "plan", "label": "Plan", "type": "select", "options": ["gold"], "default": "gold", "unique": false },
            { "name": "n", "type": "number", "minimum": 0.5, "maximum": 1e3, "sensitive": true },
        ],
        "allowUndeclaredCustomFields": false,
    });
    cx.define(&definition);
    let read = cx.get("/contacts/schema/chatbots/<A>").expect(200).data().clone();
    cx.advance(1_000);
    assert_eq!(cx.define(&read).version, 2);
    let mut edited = read.clone();
    edited["allowUndeclaredCustomFields"] = json!(true);
    assert_eq!(cx.define(&edited).version, 3);
    let after = cx.get("/contacts/schema/chatbots/<A>").expect(200).data().clone();
    assert_eq!((&after["fields"], &after["customFields"]), (&read["fields"], &read["customFields"]));
}

fn omitted_fields_have_built_in_definitions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let built_in = cx.get("/contacts/schema/chatbots/<A>").expect(200).data()["fields"].clone();
    cx.define(&json!({ "fields": [{ "name": "lastName", "required": true }], "customFields": [{ "name": "a", "type": "string" }] }));
    cx.define(&json!({}));
    let after = cx.get("/contacts/schema/chatbots/<A>").expect(200).data().clone();
    assert_eq!((&after["fields"], &after["customFields"]), (&built_in, &json!([])));
}

fn refused_definitions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let field = |change: Value| json!({ "fields": [change] });
    let custom = |change: Value| json!({ "customFields": [change] });
    let many: Vec<Value> = (0..101).map(|n| json!({ "name": format!("f{n}"), "type": "string" })).collect();
    for (definition, position, rule) in [
        // Standard fields.
        (field(json!({ "name": "primaryEmail", "required": false })), "fields[0].required", "conflict"),
        (field(json!({ "name": "firstName", "type": "text" })), "fields[0].type", "conflict"),
        (field(json!({ "name": "firstName", "maxLength": 101 })), "fields[0].maxLength", "conflict"),
        (field(json!({ "name": "firstName", "maxLength": null })), "fields[0].maxLength", "conflict"),
        (field(json!({ "name": "externalReferenceId", "minLength": 0 })), "fields[0].minLength", "conflict"),
        (field(json!({ "name": "externalReferenceId", "unique": false })), "fields[0].unique", "conflict"),
        (field(json!({ "name": "dob", "minimum": "1800-01-01" })), "fields[0].minimum", "conflict"),
        (field(json!({ "name": "dob", "minimum": null })), "fields[0].minimum", "conflict"),
        (
            field(json!({ "name": "dob", "minimum": "2000-01-01", "maximum": "1999-12-31" })),
            "fields[0].maximum",
            "conflict",
        ),
        (field(json!({ "name": "dob", "minimum": "soon" })), "fields[0].minimum", "format"),
        (
            field(json!({ "name": "status", "options": [{ "value": "gone", "label": "Gone" }] })),
            "fields[0].options",
            "conflict",
        ),
        (field(json!({ "name": "status", "options": null })), "fields[0].options", "required"),
        (field(json!({ "name": "nickname" })), "fields[0].name", "reference"),
        (field(json!({ "name": "id", "required": true })), "fields[0].required", "conflict"),
        (field(json!({ "name": "createdAt", "unique": true })), "fields[0].unique", "conflict"),
        (field(json!({ "label": "X" })), "fields[0].name", "required"),
        (field(json!({ "name": 7 })), "fields[0].name", "type"),
        (field(json!("firstName")), "fields[0]", "type"),
        (field(json!({ "name": "firstName", "regex": "x" })), "fields[0].regex", "unknown"),
        (field(json!({ "name": "firstName", "required": "yes" })), "fields[0].required", "type"),
        (
            field(json!({ "name": "firstName", "minLength": 5, "maxLength": 4 })),
            "fields[0].maxLength",
            "conflict",
        ),
        (field(json!({ "name": "firstName", "maxLength": 0 })), "fields[0].maxLength", "conflict"),
        (field(json!({ "name": "firstName", "maxLength": 1.5 })), "fields[0].maxLength", "type"),
        (field(json!({ "name": "tags", "unique": true })), "fields[0].unique", "conflict"),
        (field(json!({ "name": "tags", "maxLength": 5 })), "fields[0].maxLength", "conflict"),
        (field(json!({ "name": "firstName", "minimum": 1 })), "fields[0].minimum", "conflict"),
        (field(json!({ "name": "firstName", "label": " " })), "fields[0].label", "required"),
        (field(json!({ "name": "firstName", "pattern": 7 })), "fields[0].pattern", "type"),
        (field(json!({ "name": "firstName", "readOnly": true })), "fields[0].readOnly", "conflict"),
        (field(json!({ "name": "firstName", "custom": true })), "fields[0].custom", "conflict"),
        (
            field(json!({ "name": "firstName", "unique": true, "default": "x" })),
            "fields[0].default",
            "conflict",
        ),
        // Custom fields.
        (custom(json!({ "name": "firstName", "type": "string" })), "customFields[0].name", "reserved"),
        (custom(json!({ "name": "id", "type": "string" })), "customFields[0].name", "reserved"),
        (custom(json!({ "name": "customFields", "type": "object" })), "customFields[0].name", "reserved"),
        (custom(json!({ "name": "$a", "type": "string" })), "customFields[0].name", "pattern"),
        (custom(json!({ "name": "a.b", "type": "string" })), "customFields[0].name", "pattern"),
        (custom(json!({ "name": "", "type": "string" })), "customFields[0].name", "pattern"),
        (custom(json!({ "name": "x".repeat(65), "type": "string" })), "customFields[0].name", "pattern"),
        (custom(json!({ "name": "a" })), "customFields[0].type", "required"),
        (custom(json!({ "name": "a", "type": "file" })), "customFields[0].type", "enum"),
        (custom(json!({ "name": "a", "type": "group" })), "customFields[0].type", "enum"),
        (custom(json!({ "name": "a", "type": "select" })), "customFields[0].options", "required"),
        (custom(json!({ "name": "a", "type": "multiselect" })), "customFields[0].options", "required"),
        (
            custom(json!({ "name": "a", "type": "select", "options": [] })),
            "customFields[0].options",
            "minItems",
        ),
        (
            custom(json!({ "name": "a", "type": "select", "options": ["x", "x"] })),
            "customFields[0].options",
            "uniqueItems",
        ),
        (custom(json!({ "name": "a", "type": "select", "options": [7] })), "customFields[0].options", "type"),
        (
            custom(json!({ "name": "a", "type": "integer", "options": ["1"] })),
            "customFields[0].options",
            "conflict",
        ),
        (
            custom(json!({ "name": "a", "type": "integer", "pattern": "1" })),
            "customFields[0].pattern",
            "conflict",
        ),
        (
            custom(json!({ "name": "a", "type": "integer", "minimum": "1" })),
            "customFields[0].minimum",
            "type",
        ),
        (
            custom(json!({ "name": "a", "type": "integer", "minimum": 2, "maximum": 1 })),
            "customFields[0].maximum",
            "conflict",
        ),
        (
            custom(json!({ "name": "a", "type": "object", "unique": true })),
            "customFields[0].unique",
            "conflict",
        ),
        (
            custom(json!({ "name": "a", "type": "string", "readOnly": true })),
            "customFields[0].readOnly",
            "conflict",
        ),
        (
            custom(json!({ "name": "a", "type": "string", "custom": false })),
            "customFields[0].custom",
            "conflict",
        ),
        (json!({ "customFields": many }), "customFields", "maxItems"),
        // The whole definition.
        (json!({ "fields": {} }), "fields", "type"),
        (json!({ "customFields": null }), "customFields", "type"),
        (json!({ "allowUndeclaredCustomFields": "no" }), "allowUndeclaredCustomFields", "type"),
        (json!({ "field": [] }), "field", "unknown"),
        (json!({ "fields": [{ "name": "dob" }, { "name": "dob" }] }), "fields[1].name", "duplicate"),
        (
            json!({ "customFields": [{ "name": "a", "type": "string" }, { "name": "a", "type": "text" }] }),
            "customFields[1].name",
            "duplicate",
        ),
    ] {
        refuses(&cx, &definition, position, rule);
    }
}

fn accepted_definitions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let custom: Vec<Value> = [
        "string", "text", "email", "phone", "phoneCode", "url", "integer", "number", "boolean", "date", "datetime", "tags", "object",
    ]
    .iter()
    .map(|kind| json!({ "name": format!("a {kind}"), "type": kind, "description": "Of this type", "required": false }))
    .collect();
    cx.define(&json!({ "customFields": custom }));
    let hundred: Vec<Value> =
        (0..100).map(|n| json!({ "name": format!("f{n}"), "type": "string" })).collect();
    cx.define(&json!({ "customFields": hundred }));
    for required in ["customFields", "tags", "primaryEmail", "source", "status"] {
        cx.define(&json!({ "fields": [{ "name": required, "required": true }] }));
    }
    cx.define(&json!({ "customFields": [{ "name": "a", "type": "string", "required": true }, { "name": "ab", "type": "string", "required": true, "default": "x" }] }));
}

fn patterns_are_linear(backend: Backend) {
    let cx = Sandbox::new(backend);
    let with =
        |pattern: &str| json!({ "customFields": [{ "name": "a", "type": "string", "pattern": pattern }] });
    for bad in ["(a)\\1", "(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", "(", "[", "a{2,1}", "*"] {
        refuses(&cx, &with(bad), "customFields[0].pattern", "format");
    }
    refuses(&cx, &with(&"a".repeat(501)), "customFields[0].pattern", "maxLength");
    // A pattern that takes exponential time in backtracking engines.
    cx.define(&with("^(a+)+$"));
    let body = json!({ "primaryEmail": "a@b.co", "customFields": { "a": format!("{}b", "a".repeat(999)) } });
    let _ = cx.try_create(&body).invalid(&[("customFields.a", "pattern")]);
    cx.define(&with(&"a".repeat(500)));
    // A pattern with a huge automaton is rejected, not compiled.
    assert!(cx.redefine(&with("((a{1,1000}){1,1000}){1,1000}")).is_err());
}

fn several_errors_at_once(backend: Backend) {
    let cx = Sandbox::new(backend);
    let definition = json!({
        "fields": [{ "name": "firstName", "maxLength": 500, "required": 1 }],
        "customFields": [{ "name": "a", "type": "x" }],
        "what": 1,
    });
    let Err(AdminError::Invalid(violations)) = cx.redefine(&definition) else { panic!("accepted") };
    let found: Vec<&str> = violations.listed().iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(found, ["fields[0].required", "fields[0].maxLength", "customFields[0].type", "what"]);
    let unknown = wait(cx.platform.replace_contact_schema(
        &operator(),
        &"nobody".parse().expect("an agent id"),
        &contract_tests::sandbox::object(&json!({})),
    ));
    assert!(matches!(unknown, Err(AdminError::NotFound { what: "agent", .. })), "{unknown:?}");
}

fn defaults_obey_the_rules_of_their_field(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (definition, position, rule) in [
        (
            json!({ "fields": [{ "name": "salutation", "default": "x".repeat(31) }] }),
            "fields[0].default",
            "maxLength",
        ),
        (json!({ "fields": [{ "name": "dob", "default": "soon" }] }), "fields[0].default", "format"),
        (
            json!({ "fields": [{ "name": "primaryEmail", "default": "a@b.co" }] }),
            "fields[0].default",
            "conflict",
        ),
        (
            json!({ "fields": [{ "name": "gender", "options": ["f"], "default": "m" }] }),
            "fields[0].default",
            "enum",
        ),
        (
            json!({ "fields": [{ "name": "customFields", "default": { "a": 1 } }] }),
            "fields[0].default",
            "conflict",
        ),
        (
            json!({ "customFields": [{ "name": "a", "type": "integer", "default": "1" }] }),
            "customFields[0].default",
            "type",
        ),
        (
            json!({ "customFields": [{ "name": "a", "type": "integer", "default": 1, "unique": true }] }),
            "customFields[0].default",
            "conflict",
        ),
        (
            json!({ "customFields": [{ "name": "a", "type": "select", "options": ["x"], "default": "y" }] }),
            "customFields[0].default",
            "enum",
        ),
    ] {
        match cx.redefine(&definition) {
            Err(AdminError::Invalid(violations)) => {
                let fault = &violations.listed()[0];
                let field = fault.field.replace(|c: char| c.is_ascii_digit(), "0");
                assert_eq!((field.as_str(), fault.rule.as_str()), (position, rule), "{}", fault.message);
            }
            other => panic!("{definition} gives {other:?}"),
        }
    }
    // The built-in defaults obey them too: stored defaults must pass their own schema.
    for definition in [
        json!({ "name": "source", "maxLength": 2 }),
        json!({ "name": "source", "pattern": "^web$" }),
        json!({ "name": "source", "options": ["web"] }),
        json!({ "name": "status", "options": ["blocked"] }),
    ] {
        assert!(cx.redefine(&json!({ "fields": [definition] })).is_err(), "{definition}");
    }
    cx.define(&json!({ "fields": [
        { "name": "source", "maxLength": 3, "pattern": "^(api|web)$" }, { "name": "status", "options": ["blocked"], "default": "blocked" },
    ] }));
    let reply = cx.create(&json!({ "primaryEmail": "a@b.co" }));
    assert_eq!((&reply.data()["source"], &reply.data()["status"]), (&json!("api"), &json!("blocked")));
}
