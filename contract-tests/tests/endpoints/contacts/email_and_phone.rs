//! The rules of `primaryEmail`, `primaryPhone` and `primaryPhoneCode` (contract 2.1.1), each at its exact limits.

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(addresses, bad_addresses, phone_codes, phones, phone_and_code_agree,);

/// Creates a contact with one more member.
fn create_with(cx: &Sandbox, field: &str, value: &Value) -> Reply {
    let mut body = json!({ "primaryEmail": "a@example.com" });
    body[field] = value.clone();
    cx.try_create(&body)
}

fn accepts(cx: &Sandbox, field: &str, value: &Value, stored: &Value) {
    let reply = create_with(cx, field, value).expect(201);
    assert_eq!(reply.data()[field], *stored, "{field}: {value}");
    let id = reply.id();
    assert_eq!(cx.read(&id).data(), reply.data(), "the response equals the stored record");
}

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

fn addresses(backend: Backend) {
    let cx = Sandbox::new(backend);
    let local = "l".repeat(64);
    let label = "d".repeat(63);
    // 64 + 1 + 63 + 1 + 63 + 1 + 61 = 254 bytes.
    let longest = format!("{local}@{label}.{label}.{}", "e".repeat(61));
    assert_eq!(longest.len(), 254);
    for good in [
        "a@b.co",
        "Zoe.Okafor@Example.COM",
        "o'brien+tag@sub.example.co.uk",
        "!#$%&'*+-/=?^_`{|}~@example.com",
        "δοκιμή@παράδειγμα.δοκιμή",
        "用户@例子.广告",
        "x@xn--bcher-kva.example",
        "é@example.com",
        "1@1.co",
        &longest,
        &format!("{local}@example.com"),
        &format!("{}@example.com", "é".repeat(32)),
        &format!("a@{label}.com"),
    ] {
        accepts(&cx, "primaryEmail", &json!(good), &json!(good));
    }
}

fn bad_addresses(backend: Backend) {
    let cx = Sandbox::new(backend);
    let label = "d".repeat(63);
    refuses(
        &cx,
        "primaryEmail",
        &json!(format!("{}@{label}.{label}.{}", "l".repeat(64), "e".repeat(62))),
        "maxLength",
    );
    // 255 bytes in fewer characters.
    let wide = format!("{}@{}.example", "l".repeat(64), "é".repeat(91));
    assert_eq!(wide.len(), 255);
    refuses(&cx, "primaryEmail", &json!(wide), "maxLength");
    for bad in [
        "a",
        "@b.co",
        "a@",
        "a@b",
        "a@b.",
        "a@b.co.",
        "a@.b.co",
        "a@b..co",
        ".a@b.co",
        "a.@b.co",
        "a..b@b.co",
        "a b@c.de",
        "a@b c.de",
        "a@b.co, c@d.co",
        "a@b.co;c@d.co",
        "\"q\"@b.co",
        "\"a b\"@b.co",
        "a@[127.0.0.1]",
        "a@[IPv6:::1]",
        "Zoe <a@b.co>",
        "<a@b.co>",
        "mailto:a@b.co@c.de",
        "a@@b.co",
        "a(b)@c.de",
        "a@b_c.de",
        "a@-b.de",
        "a@b-.de",
        "a\\@b.de",
        "a\u{a0}b@c.de",
        "a@b\u{2003}c.de",
        "a@xn--.de",
        &format!("{}@example.com", "l".repeat(65)),
        &format!("{}@example.com", "é".repeat(33)),
        &format!("a@{}.com", "d".repeat(64)),
    ] {
        refuses(&cx, "primaryEmail", &json!(bad), "format");
    }
}

fn phone_codes(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (sent, stored) in [
        ("44", "+44"),
        ("+44", "+44"),
        ("1", "+1"),
        ("+1-684", "+1684"),
        ("1 684", "+1684"),
        ("+ 4 4", "+44"),
        ("-44", "+44"),
        ("9999", "+9999"),
    ] {
        accepts(&cx, "primaryPhoneCode", &json!(sent), &json!(stored));
    }
    for bad in ["0", "044", "+0", "12345", "+12345", "+", "++44", "4a", "44+", "0044", "(44)", "٤٤"] {
        refuses(&cx, "primaryPhoneCode", &json!(bad), "format");
    }
}

fn phones(backend: Backend) {
    let cx = Sandbox::new(backend);
    let longest = format!("{}{}", "1".repeat(15), " ".repeat(16)) + "(";
    assert_eq!(longest.len(), 32);
    for good in [
        "123",
        "20 7946 0958",
        "+44 (0)20/7946-0958",
        "+123456789012345",
        "123456789012345",
        "(.-/) 123",
        &longest,
    ] {
        accepts(&cx, "primaryPhone", &json!(good), &json!(good));
    }
    refuses(&cx, "primaryPhone", &json!(format!("{longest}-")), "maxLength");
    for bad in ["12", "+12", "1234567890123456", "12+345", "++123", "123 ext 4", "١٢٣٤", "123,456", "tel:123"]
    {
        refuses(&cx, "primaryPhone", &json!(bad), "format");
    }
}

fn phone_and_code_agree(backend: Backend) {
    let cx = Sandbox::new(backend);
    let with = |phone: &str, code: &str| {
        cx.try_create(&json!({ "primaryEmail": "a@b.co", "primaryPhone": phone, "primaryPhoneCode": code }))
    };
    for (phone, code) in
        [("+44 20 7946", "44"), ("20 7946", "44"), ("49 20 7946", "+44"), ("+1 684 123", "1684")]
    {
        let _ = with(phone, code).expect(201);
    }
    for (phone, code) in [("+49 20 7946", "44"), ("+4 20 7946", "44"), ("+(49) 444", "+44")] {
        let reply = with(phone, code).invalid(&[("primaryPhone", "conflict")]);
        assert_eq!(reply.violation(0)["value"], phone);
    }
    // A phone number rejected for its form is not compared.
    let _ = with("+49 x", "44").invalid(&[("primaryPhone", "format")]);
    let _ = with("+49 123", "x").invalid(&[("primaryPhoneCode", "format")]);
}
