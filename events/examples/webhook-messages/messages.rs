//! Webhook messages as they are sent, and altered ones, each with the secret by which a receiver verifies it.

use bytes::Bytes;
use events::message::Message;
use events::secrets::{EndpointSecrets, Secret};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::values::{PlatformId, Timestamp};
use serde_json::{Map, Value, json};

/// A message and whether a receiver accepts it.
pub struct Case {
    /// What the case shows.
    pub about: &'static str,
    /// The secret of the receiver.
    pub secret: String,
    /// The header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// Whether the receiver accepts it.
    pub is_valid: bool,
}

impl Case {
    /// The case as one line of JSON.
    pub fn line(&self) -> String {
        let headers: Map<String, Value> =
            self.headers.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str()))).collect();
        json!({
            "about": self.about, "secret": self.secret, "headers": headers, "body": self.body, "valid": self.is_valid,
        })
        .to_string()
    }
}

/// What is altered in a message, in turns.
const ALTERATIONS: [&str; 8] =
    ["body", "id", "timestamp", "signature", "no signature", "other version", "too old", "too early"];

/// The cases of this many messages, sent at `now` in the middle of a rotation. Each message has one that the new secret
/// verifies, one that the former secret verifies, and two that are refused.
pub fn cases(count: u32, now: Timestamp) -> Vec<Case> {
    let keys = ServerKeys::new(ServerKey::new(&[9; 32]), vec![ServerKey::new(&[8; 32])]);
    let agent = "acme".parse().unwrap_or_else(|_| unreachable!("acme is an id"));
    let mut cases = Vec::new();
    for number in 0..count {
        let endpoint = PlatformId::new(now, u64::from(number).to_be_bytes());
        let secrets = EndpointSecrets::first(&keys).rotate(&keys, now, 60);
        let live = secrets
            .live(&keys, &agent, endpoint, now)
            .unwrap_or_else(|lost| unreachable!("the keys are there: {lost}"));
        let id = PlatformId::new(now, u64::from(number + count).to_be_bytes());
        // The accent, the line separator and the emoji are bytes like any others.
        let text = json!({ "id": id, "seq": number + 1, "type": "contact.updated", "data": { "changed": ["é\u{2028}😀"] } });
        let body = text.to_string();
        let case = |about, secret: &Secret, at: Timestamp, is_valid| {
            let message = Message { id, at, body: Bytes::from(body.clone()) };
            let headers = message.headers("Service", &live);
            let headers = headers
                .iter()
                .map(|(name, text)| (name.as_str().to_owned(), text.to_str().unwrap_or_default().to_owned()))
                .collect();
            Case { about, secret: secret.expose(), headers, body: body.clone(), is_valid }
        };
        cases.push(case("the new secret", &live[0], now, true));
        cases.push(case("the former secret", &live[1], now, true));
        let other = EndpointSecrets::first(&keys).live(&keys, &agent, id, now).unwrap_or_default();
        cases.extend(other.iter().map(|secret| case("the secret of another endpoint", secret, now, false)));
        let about = ALTERATIONS[number as usize % ALTERATIONS.len()];
        let at = match about {
            "too old" => now.plus_millis(-310_000),
            "too early" => now.plus_millis(400_000),
            _ => now,
        };
        let mut altered = case(about, &live[number as usize % 2], at, false);
        alter(&mut altered, number);
        cases.push(altered);
    }
    cases
}

fn alter(case: &mut Case, number: u32) {
    let mut change = |name: &str, change: &dyn Fn(&str) -> String| {
        for (_, text) in case.headers.iter_mut().filter(|(found, _)| found == name) {
            *text = change(text);
        }
    };
    match case.about {
        "body" => case.body = case.body.replacen(&format!(":{}", number + 1), &format!(":{}", number + 2), 1),
        "id" => change("webhook-id", &|text| text.replace('0', "1")),
        "timestamp" => {
            change("webhook-timestamp", &|text| (text.parse::<i64>().unwrap_or_default() - 1).to_string());
        }
        "signature" => change("webhook-signature", &|text| {
            // Another digit of base64 in the middle of each signature.
            let swap = |part: &str| {
                let (head, tail) = part.split_at(20);
                let digit = if tail.starts_with('A') { 'B' } else { 'A' };
                format!("{head}{digit}{}", &tail[1..])
            };
            text.split(' ').map(swap).collect::<Vec<_>>().join(" ")
        }),
        "no signature" => change("webhook-signature", &|_| String::new()),
        "other version" => change("webhook-signature", &|text| text.replace("v1,", "v2,")),
        _ => {}
    }
}
