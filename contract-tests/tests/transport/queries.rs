//! Query strings: names, values, booleans (contract 5.1).

use contract_tests::{Backend, on_every_backend};
use serde_json::json;

use crate::table::prepared;

on_every_backend!(splitting, names, repeated_values, long_values, booleans);

const LIST: &str = "/contacts/chatbots/<A>";

fn splitting(backend: Backend) {
    let (cx, _) = prepared(backend);
    for query in ["&&&", "=", "&=&", "a&b=c=d", "?", "%3D=1"] {
        let reply = cx.get(&format!("{LIST}?{query}"));
        assert!(matches!(reply.status, 200 | 400), "{query}: {}", reply.text);
    }
    let _ = cx.get(&format!("{LIST}?&limit=1&&page=1&")).expect(200);
    let reply = cx.get(&format!("{LIST}?a=b=c&d")).invalid(&[("a", "unknown"), ("d", "unknown")]);
    assert_eq!((&reply.violation(0)["value"], &reply.violation(1)["value"]), (&json!("b=c"), &json!("")));
    // A semicolon is not a separator.
    let _ = cx.get(&format!("{LIST}?limit=1;page=1")).invalid(&[("limit", "type")]);
}

fn names(backend: Backend) {
    let (cx, _) = prepared(backend);
    for (sent, read) in [
        ("Limit", "Limit"),
        ("lim%69ts", "limits"),
        ("page%5B%5D", "page[]"),
        ("a+b", "a b"),
        ("%C3%A9", "é"),
        ("", ""),
    ] {
        let _ = cx.get(&format!("{LIST}?{sent}=1")).invalid(&[(read, "unknown")]);
    }
    let _ = cx.get(&format!("{LIST}?lim%69t=1")).expect(200);
    let _ = cx.get(&format!("{LIST}?%5Fanything=1&_=2&__proto__=x")).expect(200);
}

fn repeated_values(backend: Backend) {
    let (cx, _) = prepared(backend);
    let reply = cx.get(&format!("{LIST}?limit=1&limit=2&limit=3"));
    let reply = reply.invalid(&[("limit", "duplicate"), ("limit", "duplicate")]);
    assert_eq!((&reply.violation(0)["value"], &reply.violation(1)["value"]), (&json!("2"), &json!("3")));
    let _ = cx.get(&format!("{LIST}?x=1&x=2")).invalid(&[("x", "unknown"), ("x", "unknown")]);
}

fn long_values(backend: Backend) {
    let (cx, _) = prepared(backend);
    let reply = cx.get(&format!("{LIST}?sortBy={}", "x".repeat(3_000))).invalid(&[("sortBy", "enum")]);
    assert_eq!(reply.violation(0)["value"], format!("{}…", "x".repeat(256)));
    let many: Vec<String> = (0..500).map(|n| format!("x{n}=1")).collect();
    let reply = cx.get(&format!("{LIST}?{}", many.join("&"))).fails(400, "VALIDATION_ERROR");
    assert_eq!(reply.json["details"], json!({ "truncated": true, "totalErrors": 500 }));
}

fn booleans(backend: Backend) {
    let (cx, _) = prepared(backend);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    let total = |value: &str| {
        let reply = cx.get(&format!("{LIST}?includeArchived={value}"));
        (reply.status, reply.pagination()["totalItems"].as_u64())
    };
    for yes in ["true", "1", "TRUE", "True", "tRuE", "%74rue"] {
        assert_eq!(total(yes), (200, Some(1)), "{yes}");
    }
    for no in ["false", "0", "FALSE", ""] {
        assert_eq!(total(no), (200, Some(0)), "{no}");
    }
    for bad in ["yes", "no", "on", "off", "t", "2", "-1", "01", "true,false", "+true", "true+", "null"] {
        let _ = cx.get(&format!("{LIST}?includeArchived={bad}")).invalid(&[("includeArchived", "type")]);
    }
}
