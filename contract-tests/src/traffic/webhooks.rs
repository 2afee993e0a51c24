//! Random requests about webhook endpoints.

use serde_json::{Value, json};

use super::{Known, Request, request, with_json};
use crate::SplitMix64;

const URLS: [&str; 6] = [
    "https://hooks.example.com/a",
    "https://hooks.example.com/b?x=1",
    "http://hooks.example.com/",
    "https://10.0.0.1/",
    "https://localhost/",
    "no URL",
];

fn fields(random: &mut SplitMix64) -> Value {
    let mut body = json!({});
    let mut put = |random: &mut SplitMix64, name: &str, values: &[Value]| {
        if random.one_in(3) {
            body[name] =
                values[usize::try_from(random.below(values.len() as u64)).unwrap_or_default()].clone();
        }
    };
    put(
        random,
        "types",
        &[json!(["*"]), json!(["contact.*", "file.uploaded"]), json!([]), json!(["no.such"]), json!(3)],
    );
    put(random, "mode", &[json!("parallel"), json!("ordered"), json!("fast"), Value::Null]);
    put(random, "description", &[json!("CRM"), json!(""), Value::Null, json!(7)]);
    body
}

pub(super) fn webhooks(random: &mut SplitMix64, known: &Known) -> Request {
    let id = match random.below(12) {
        0 => "x".to_owned(),
        _ if known.endpoints.is_empty() => "697d00000000000000000000".to_owned(),
        _ => random.pick(&known.endpoints),
    };
    let at = |what: &str| format!("/events/endpoints/{id}{what}/chatbots/<A>");
    let list = "/events/endpoints/chatbots/<A>".to_owned();
    match random.below(14) {
        0..=2 => {
            let mut body = fields(random);
            body["url"] = json!(if random.one_in(3) { random.pick(&URLS) } else { URLS[0] });
            if random.one_in(3) {
                body["from"] = json!(random.pick(&["now", "oldest", "then"]));
            }
            with_json(request("POST", list), &body)
        }
        3 => request("GET", format!("{list}?limit={}", random.pick(&["1", "2", "100", "0"]))),
        4 => request("GET", at("")),
        5..=6 => {
            let mut body = fields(random);
            if random.one_in(2) {
                body["status"] = json!(random.pick(&["enabled", "disabled", "gone"]));
            }
            if random.one_in(4) {
                body["resume"] = json!(random.pick(&["now", "cursor"]));
            }
            with_json(request("PUT", at("")), &body)
        }
        7 => request("DELETE", at("")),
        8 => request("GET", at("/secret")),
        9 => with_json(request("POST", at("/rotate")), &json!({ "graceSeconds": random.pick(&[0, 60, -1]) })),
        10 => with_json(request("POST", at("/test")), &json!({ "type": random.pick(&["key.created", "x"]) })),
        11..=12 => {
            let body = match random.below(3) {
                0 => json!({ "after": random.pick(&[0, 3, 9, 999_999]) }),
                1 => json!({ "since": "2026-01-31T09:15:05Z" }),
                _ => json!({ "ids": ["697d00000000000000000000"] }),
            };
            with_json(request("POST", at("/replay")), &body)
        }
        _ => request("GET", format!("{}?limit=3", at("/attempts"))),
    }
}
