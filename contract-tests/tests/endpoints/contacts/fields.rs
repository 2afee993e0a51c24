//! The field rules of the built-in schema (contract 2.1.1), each at its exact limits.

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    text_lengths,
    text_is_trimmed_and_blank_is_null,
    text_of_other_types,
    control_characters,
    characters_come_before_length,
    dates_of_birth,
    the_latest_date_of_birth_is_today_in_utc_plus_14,
    gender_is_free_text,
    postal_addresses,
    tags,
    repeated_tags,
    invalid_tags,
    statuses,
    sources,
    last_contacted_at,
    unknown_names,
    read_only_fields_are_ignored,
    body_of_another_type,
);

/// Creates a contact with one more member.
fn create_with(cx: &Sandbox, field: &str, value: &Value) -> Reply {
    let mut body = json!({ "primaryEmail": "a@example.com" });
    body[field] = value.clone();
    cx.try_create(&body)
}

/// An accepted value and its stored form.
#[track_caller]
fn accepts(cx: &Sandbox, field: &str, value: &Value, stored: &Value) {
    let reply = create_with(cx, field, value).expect(201);
    assert_eq!(reply.data()[field], *stored, "{field}: {value}");
    let id = reply.id();
    assert_eq!(cx.read(&id).data(), reply.data(), "the response equals the stored record");
}

/// A value rejected by one rule and echoed as sent.
#[track_caller]
fn refuses(cx: &Sandbox, field: &str, value: &Value, kind: &str) {
    let reply = create_with(cx, field, value).invalid(&[(field, kind)]);
    let error = reply.violation(0);
    assert_eq!(error["in"], "body");
    let echoed = match value {
        Value::String(text) if text.chars().count() > 256 => {
            Value::String(text.chars().take(256).chain(['…']).collect())
        }
        Value::Object(_) | Value::Array(_) => Value::Null,
        scalar => scalar.clone(),
    };
    assert_eq!(error["value"], echoed, "{field}");
}

fn letters(count: usize) -> String {
    "é".repeat(count)
}

fn text_lengths(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (field, most) in [
        ("salutation", 30),
        ("firstName", 100),
        ("middleName", 100),
        ("lastName", 100),
        ("gender", 50),
        ("fullAddress", 1_000),
        ("source", 64),
    ] {
        let text = json!(letters(most));
        accepts(&cx, field, &text, &text);
        refuses(&cx, field, &json!(letters(most + 1)), "maxLength");
        // Outside the basic plane a character is one code point, not two units.
        let wide = json!("𝒳".repeat(most));
        accepts(&cx, field, &wide, &wide);
        refuses(&cx, field, &json!("𝒳".repeat(most + 1)), "maxLength");
    }
}

fn text_is_trimmed_and_blank_is_null(backend: Backend) {
    let cx = Sandbox::new(backend);
    for field in ["salutation", "firstName", "middleName", "lastName", "gender"] {
        accepts(&cx, field, &json!("  Ada \u{a0}\u{3000}"), &json!("Ada"));
        accepts(&cx, field, &json!(""), &Value::Null);
        accepts(&cx, field, &json!("   "), &Value::Null);
        accepts(&cx, field, &Value::Null, &Value::Null);
        accepts(&cx, field, &json!("a  b"), &json!("a  b"));
    }
    // The length limit applies to the trimmed text.
    accepts(&cx, "salutation", &json!(format!("  {}  ", letters(30))), &json!(letters(30)));
    accepts(&cx, "primaryPhone", &json!(" 123 "), &json!("123"));
    accepts(&cx, "primaryPhone", &json!(" "), &Value::Null);
    accepts(&cx, "primaryPhoneCode", &json!(""), &Value::Null);
    accepts(&cx, "dob", &json!(" 1990-05-17 "), &json!("1990-05-17"));
    accepts(&cx, "dob", &json!(""), &Value::Null);
    accepts(&cx, "lastContactedAt", &json!(""), &Value::Null);
    accepts(&cx, "fullAddress", &json!(" \n "), &Value::Null);
    accepts(&cx, "primaryEmail", &json!(" a@example.com "), &json!("a@example.com"));
    accepts(&cx, "source", &json!("  "), &json!("api"));
    refuses(&cx, "primaryEmail", &json!("  "), "required");
    refuses(&cx, "primaryEmail", &json!(""), "required");
    refuses(&cx, "primaryEmail", &Value::Null, "required");
}

fn text_of_other_types(backend: Backend) {
    let cx = Sandbox::new(backend);
    for field in [
        "externalReferenceId",
        "salutation",
        "firstName",
        "middleName",
        "lastName",
        "dob",
        "gender",
        "primaryEmail",
        "primaryPhone",
        "primaryPhoneCode",
        "fullAddress",
        "status",
        "source",
        "lastContactedAt",
        "tags",
        "customFields",
    ] {
        for value in [json!(7), json!(true), json!(0.5)] {
            refuses(&cx, field, &value, "type");
        }
        if field != "customFields" {
            refuses(&cx, field, &json!({ "a": 1 }), "type");
        }
        if field != "tags" {
            refuses(&cx, field, &json!(["a"]), "type");
        }
        if matches!(field, "tags" | "customFields") {
            refuses(&cx, field, &json!("a"), "type");
        }
    }
}

fn control_characters(backend: Backend) {
    let cx = Sandbox::new(backend);
    for field in ["salutation", "firstName", "middleName", "lastName", "gender", "source"] {
        for bad in ["a\nb", "a\tb", "a\u{0}b", "a\u{7f}b", "a\u{85}b", "a\u{9f}b"] {
            refuses(&cx, field, &json!(bad), "invalidCharacters");
        }
        // Neither is a control character (category Cc); the second one is invisible.
        accepts(&cx, field, &json!("a\u{2028}b\u{200b}"), &json!("a\u{2028}b"));
    }
    for bad in ["a\u{0}b", "a\u{b}b", "a\u{c}b", "a\u{7f}b", "a\u{85}b"] {
        refuses(&cx, "fullAddress", &json!(bad), "invalidCharacters");
    }
    refuses(&cx, "primaryEmail", &json!("a\u{1}@example.com"), "invalidCharacters");
    refuses(&cx, "primaryPhone", &json!("12\t345"), "invalidCharacters");
    refuses(&cx, "primaryPhoneCode", &json!("4\u{7}4"), "invalidCharacters");
}

fn characters_come_before_length(backend: Backend) {
    let cx = Sandbox::new(backend);
    refuses(&cx, "firstName", &json!(format!("a\n{}", letters(200))), "invalidCharacters");
    refuses(&cx, "fullAddress", &json!(format!("a\u{b}{}", letters(1_000))), "invalidCharacters");
    refuses(&cx, "primaryEmail", &json!(format!("a@{}", "b".repeat(300))), "maxLength");
    refuses(&cx, "primaryPhone", &json!("x".repeat(33)), "maxLength");
}

fn dates_of_birth(backend: Backend) {
    let cx = Sandbox::new(backend);
    for good in ["1875-01-01", "1990-05-17", "2000-02-29", "2026-01-31"] {
        accepts(&cx, "dob", &json!(good), &json!(good));
        accepts(&cx, "dob", &json!(format!("{good}T00:00:00.000Z")), &json!(good));
        accepts(&cx, "dob", &json!(format!("{good}T00:00:00Z")), &json!(good));
    }
    refuses(&cx, "dob", &json!("1874-12-31"), "minimum");
    refuses(&cx, "dob", &json!("0001-01-01"), "minimum");
    refuses(&cx, "dob", &json!("2026-02-01"), "maximum");
    refuses(&cx, "dob", &json!("9999-12-31T00:00:00Z"), "maximum");
    for bad in [
        "1990-05-17T00:00:00.001Z",
        "1990-05-17T12:00:00Z",
        "1990-05-17T00:00:00",
        "1990-05-17T00:00:00+01:00",
        "1990-02-30",
        "1900-02-29",
        "1990-13-01",
        "1990-5-7",
        "17.05.1990",
        "05/17/1990",
        "19900517",
        "yesterday",
    ] {
        refuses(&cx, "dob", &json!(bad), "format");
    }
}

fn the_latest_date_of_birth_is_today_in_utc_plus_14(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.clock.set(contract_tests::sandbox::instant("2026-01-31T09:59:59.999Z"));
    refuses(&cx, "dob", &json!("2026-02-01"), "maximum");
    cx.advance(1);
    accepts(&cx, "dob", &json!("2026-02-01"), &json!("2026-02-01"));
    refuses(&cx, "dob", &json!("2026-02-02"), "maximum");
}

fn gender_is_free_text(backend: Backend) {
    let cx = Sandbox::new(backend);
    accepts(&cx, "gender", &json!("Nonbinary, ask me"), &json!("Nonbinary, ask me"));
}

fn postal_addresses(backend: Backend) {
    let cx = Sandbox::new(backend);
    // Multi-line text is not trimmed.
    let text = json!(" 12 Mill Lane\r\n\tLeeds ");
    accepts(&cx, "fullAddress", &text, &text);
}

fn tags(backend: Backend) {
    let cx = Sandbox::new(backend);
    accepts(&cx, "tags", &json!([]), &json!([]));
    accepts(&cx, "tags", &Value::Null, &json!([]));
    accepts(&cx, "tags", &json!([" vip ", "b  c"]), &json!(["vip", "b  c"]));
    accepts(&cx, "tags", &json!([letters(64), "x"]), &json!([letters(64), "x"]));
    let hundred: Vec<String> = (0..100).map(|n| format!("tag {n}")).collect();
    accepts(&cx, "tags", &json!(hundred), &json!(hundred));
    let more: Vec<String> = (0..101).map(|n| format!("tag {n}")).collect();
    refuses(&cx, "tags", &json!(more), "maxItems");
    // Elements are counted as sent.
    refuses(&cx, "tags", &json!(vec!["same"; 101]), "maxItems");
    accepts(&cx, "tags", &json!(vec!["same"; 100]), &json!(["same"]));
}

fn repeated_tags(backend: Backend) {
    let cx = Sandbox::new(backend);
    accepts(&cx, "tags", &json!(["VIP", "b", "vip", "Vip ", "B"]), &json!(["VIP", "b"]));
    accepts(&cx, "tags", &json!(["straße", "STRASSE", "é", "e", "É"]), &json!(["straße", "é", "e"]));
}

fn invalid_tags(backend: Backend) {
    let cx = Sandbox::new(backend);
    let reply = create_with(&cx, "tags", &json!(["a", 7, "", "  ", letters(65), "b\nc", null, ["x"], "a"]));
    let reply = reply.invalid(&[
        ("tags[1]", "type"),
        ("tags[2]", "minLength"),
        ("tags[3]", "minLength"),
        ("tags[4]", "maxLength"),
        ("tags[5]", "invalidCharacters"),
        ("tags[6]", "type"),
        ("tags[7]", "type"),
    ]);
    let values: Vec<&Value> = (0..7).map(|index| &reply.violation(index)["value"]).collect();
    assert_eq!(
        values,
        [
            &json!(7),
            &json!(""),
            &json!("  "),
            &json!(letters(65)),
            &json!("b\nc"),
            &Value::Null,
            &Value::Null
        ]
    );
    assert_eq!(reply.violation(0)["message"], "tags[1] must be a string");
}

fn statuses(backend: Backend) {
    let cx = Sandbox::new(backend);
    for status in ["active", "inactive", "blocked"] {
        accepts(&cx, "status", &json!(status), &json!(status));
    }
    accepts(&cx, "status", &Value::Null, &json!("active"));
    for bad in ["Active", "ACTIVE", " active", "active ", "archived", "deleted"] {
        refuses(&cx, "status", &json!(bad), "enum");
    }
}

fn sources(backend: Backend) {
    let cx = Sandbox::new(backend);
    accepts(&cx, "source", &json!("Web form"), &json!("Web form"));
    accepts(&cx, "source", &Value::Null, &json!("api"));
}

fn last_contacted_at(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (sent, stored) in [
        ("2026-01-31T09:15:02.123Z", "2026-01-31T09:15:02.123Z"),
        ("2026-01-31T09:15:02Z", "2026-01-31T09:15:02.000Z"),
        ("2026-01-31T09:15:02.1Z", "2026-01-31T09:15:02.100Z"),
        ("2026-01-31T09:15:02.123456789Z", "2026-01-31T09:15:02.123Z"),
        ("2026-01-31T09:15:02+05:30", "2026-01-31T03:45:02.000Z"),
        ("2026-01-31T09:15:02-00:00", "2026-01-31T09:15:02.000Z"),
        ("2026-01-31t09:15:02z", "2026-01-31T09:15:02.000Z"),
        ("2099-12-31T23:59:59Z", "2099-12-31T23:59:59.000Z"),
        (" 2026-01-31T09:15:02Z ", "2026-01-31T09:15:02.000Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
    ] {
        let reply = create_with(&cx, "lastContactedAt", &json!(sent)).expect(201);
        let shown = &reply.data()["lastContactedAt"];
        assert_eq!(*shown, stored, "{sent}");
    }
    for bad in [
        "2026-01-31",
        "2026-01-31T09:15:02",
        "2026-01-31 09:15:02",
        "2026-02-30T09:15:02Z",
        // No leap second can be there.
        "2026-01-31T09:15:60Z",
        "2026-03-31T23:59:60Z",
        "2016-12-31T23:59:60+02:00",
        "2026-01-31T25:15:02Z",
        "2026-01-31T09:60:02Z",
        "2026-01-31T09:15:02+0530",
        "1769850902",
        "now",
    ] {
        refuses(&cx, "lastContactedAt", &json!(bad), "format");
    }
}

fn unknown_names(backend: Backend) {
    let cx = Sandbox::new(backend);
    for name in ["nickname", "FirstName", "first_name", "version", "", "primaryemail", "$where", "é"] {
        let reply = create_with(&cx, name, &json!("Zo")).invalid(&[(name, "unknown")]);
        let error = reply.violation(0);
        assert_eq!(
            error["message"],
            format!("Unknown field '{name}'. Put your own data under customFields.")
        );
        assert_eq!(error["value"], "Zo");
    }
    // A name with U+0000 breaks the rule for names first (contract 5.3).
    let _ =
        create_with(&cx, "nick\u{0}name", &json!("Zo")).invalid(&[("nick\u{0}name", "invalidCharacters")]);
}

fn read_only_fields_are_ignored(backend: Backend) {
    let cx = Sandbox::new(backend);
    for value in [json!("x"), json!(7), Value::Null, json!({ "a": [1] })] {
        let body = json!({
            "primaryEmail": "a@b.co", "id": value, "agentId": value, "isArchived": value, "archivedAt": value,
            "createdAt": value, "updatedAt": value,
        });
        let reply = cx.create(&body);
        assert_eq!(reply.data()["agentId"], cx.agent.as_str());
        assert_eq!(reply.data()["isArchived"], false);
        assert_eq!(reply.data()["archivedAt"], Value::Null);
        assert_eq!(reply.data()["createdAt"], "2026-01-31T09:15:02.123Z");
    }
}

/// The only validation error of a body that is not an object is its type: it has no members that could be missing.
fn body_of_another_type(backend: Backend) {
    let cx = Sandbox::new(backend);
    for body in
        [json!([]), json!("a"), json!(7), json!(true), Value::Null, json!([{ "primaryEmail": "a@b.co" }])]
    {
        let reply = cx.try_create(&body).invalid(&[("body", "type")]);
        assert_eq!(reply.violation(0)["in"], "body");
    }
    let reply = cx.call("POST", "/contacts/chatbots/<A>").send();
    let _ = reply.invalid(&[("body", "required")]);
}
