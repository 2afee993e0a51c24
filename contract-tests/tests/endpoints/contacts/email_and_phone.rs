//! The rules of `primaryEmail`, `primaryPhone` and `primaryPhoneCode` (contract 2.1.1), each at its exact limits.

use contract_tests::{Backend, Reply, Sandbox, on_every_backend};
use serde_json::{Value, json};

on_every_backend!(
    addresses,
    bad_addresses,
    phone_codes,
    phones,
    phones_as_people_paste_them,
    phone_and_code_agree,
    characters_that_nobody_sees,
);

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
    for bad in
        ["12", "+12", "1234567890123456", "12+345", "++123", "123 text 4", "١٢٣٤", "123,456", "fax:123"]
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

fn phones_as_people_paste_them(backend: Backend) {
    let cx = Sandbox::new(backend);
    for (sent, stored) in [
        ("tel:+44-20-7946-0958", "+44-20-7946-0958"),
        ("+44 20 7946 0958;ext=123", "+44 20 7946 0958;ext=123"),
        ("020 7946 0958 x123", "020 7946 0958 x123"),
        ("020 7946 0958 ext. 123", "020 7946 0958 x123"),
        ("020 7946 0958 #123", "020 7946 0958 x123"),
        ("\u{202a}+44 20 7946 0958\u{202c}", "+44 20 7946 0958"),
        ("\u{200b}020\u{a0}7946\u{a0}0958\u{feff}", "020 7946 0958"),
        ("＋４４ ２０ ７９４６ ０９５８", "+44 20 7946 0958"),
        ("020–7946−0958", "020-7946-0958"),
    ] {
        let reply = cx.create(&json!({ "primaryEmail": "a@b.co", "primaryPhone": sent }));
        assert_eq!(reply.data()["primaryPhone"], stored, "{sent:?}");
    }
    for bad in [
        "020 7946 0958 x",
        "020 7946 0958 x12345678901",
        "x123",
        "020 7946 0958;isub=1",
        "fax: 020 7946 0958",
    ] {
        let _ = cx
            .try_create(&json!({ "primaryEmail": "a@b.co", "primaryPhone": bad }))
            .invalid(&[("primaryPhone", "format")]);
    }
}

/// Zero-width and bidirectional characters around a value are no part of it: it is found, unique and equal without them.
fn characters_that_nobody_sees(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.redefine(&json!({ "fields": [{ "name": "primaryEmail", "unique": true }, { "name": "lastName", "unique": true }],
        "customFields": [{ "name": "member", "type": "string", "unique": true }] }));
    let plain = json!({ "primaryEmail": "zoe@b.co", "firstName": "Zoë", "lastName": "Okafor", "primaryPhone": "020 7946 0958",
        "primaryPhoneCode": "+44", "source": "web", "tags": ["vip"], "customFields": { "member": "M-1" } });
    let _ = cx.create(&plain);
    for mark in [
        "\u{200b}", "\u{200e}", "\u{200f}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{feff}",
        "\u{ad}", "\u{200d}",
    ] {
        let around = |text: &str| format!("{mark}{text}{mark}");
        let mut sent = plain.clone();
        for name in ["primaryEmail", "firstName", "lastName", "primaryPhone", "primaryPhoneCode", "source"] {
            sent[name] = json!(around(plain[name].as_str().expect("text")));
        }
        sent["tags"] = json!([around("vip")]);
        sent["customFields"] = json!({ "member": around("M-1") });
        assert_eq!(cx.try_create(&sent).code(), "DUPLICATE_VALUE", "{mark:?}");
        for (name, other) in [("primaryEmail", "b@b.co"), ("lastName", "Adeyemi")] {
            sent[name] = json!(other);
        }
        assert_eq!(cx.try_create(&sent).code(), "DUPLICATE_VALUE", "customFields.member after {mark:?}");
        for (query, total) in [
            (format!("search={mark}zo{mark}e"), 1),
            (format!("tag={mark}vip"), 1),
            (format!("primaryEmail={mark}zoe@b.co"), 1),
        ] {
            let encoded: String =
                query.chars().map(|c| if c.is_ascii() { c.to_string() } else { percent(c) }).collect();
            let reply = cx.get(&format!("/contacts/chatbots/<A>?{encoded}")).expect(200);
            assert_eq!(reply.pagination()["totalItems"], total, "{query:?}");
        }
        let mut fresh = json!({ "primaryEmail": format!("n{}{mark}@b.co", u32::from(mark.chars().next().unwrap_or_default())) });
        fresh["firstName"] = json!(around("Ann"));
        fresh["customFields"] = json!({ "free": around("as sent") });
        let reply = cx.create(&fresh);
        assert_eq!(
            (&reply.data()["firstName"], &reply.data()["customFields"]["free"]),
            (&json!("Ann"), &json!(around("as sent")))
        );
        // Nothing else is an answer.
        assert_eq!(cx.update(&reply.id(), &json!({ "firstName": mark })).data()["firstName"], json!(null));
    }
    let joined = cx.create(&json!({ "primaryEmail": "j@b.co", "firstName": "علی\u{200c}رضا 👩\u{200d}🔬" }));
    assert_eq!(joined.data()["firstName"], "علی\u{200c}رضا 👩\u{200d}🔬", "joiners that a script needs stay");
}

fn percent(c: char) -> String {
    let mut bytes = [0; 4];
    c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect()
}
