//! Random requests for contacts.

use serde_json::{Value, json};

use super::{Known, Request, external, maybe, request, with_json};
use crate::SplitMix64;

const NAMES: [&str; 14] = [
    "Zoë",
    "zoe",
    "ZOE",
    "Ann",
    "ann b",
    "Änne",
    "李明",
    "明",
    "O'Brien",
    "100%",
    "a_b",
    "Ünal",
    "e\u{301}lan",
    "straße",
];
const TAGS: [&str; 8] = ["vip", "VIP", "vi", "new", "élan", "late", "ÉLAN", "vips"];
const EMAILS: [&str; 8] = [
    "a@example.com",
    "A@Example.com",
    "b@example.com",
    "zoe@bücher.example",
    "ann.b@example.org",
    "c+d@example.com",
    "100@example.com",
    "z@example.com",
];
const TERMS: [&str; 20] = [
    "zoe",
    "z",
    "ann b",
    "example",
    "a@",
    "794",
    "+44",
    "7946-0958",
    "李明",
    "明",
    "%25",
    "_",
    "strasse",
    "o'b",
    "elan",
    "none",
    "e",
    "mill leeds",
    "crm-1",
    "gold",
];

fn contact_body(random: &mut SplitMix64, is_new: bool) -> Value {
    let mut body = json!({});
    if is_new || random.one_in(2) {
        body["primaryEmail"] = json!(random.pick(&EMAILS));
    }
    let (first, last, middle) = (random.pick(&NAMES), random.pick(&NAMES), random.pick(&NAMES));
    maybe(random, &mut body, "firstName", 2, first);
    maybe(random, &mut body, "lastName", 2, last);
    maybe(random, &mut body, "middleName", 6, middle);
    let id = external(random);
    maybe(random, &mut body, "externalReferenceId", 2, id);
    let phone = random.pick(&["20 7946 0958", "(030) 123-456", "7946 0958"]);
    maybe(random, &mut body, "primaryPhone", 4, phone);
    let code = random.pick(&["44", "+49"]);
    maybe(random, &mut body, "primaryPhoneCode", 5, code);
    maybe(random, &mut body, "fullAddress", 6, "12 Mill Lane\nLeeds LS1 4AB");
    let status = random.pick(&["active", "inactive", "blocked", "gone"]);
    maybe(random, &mut body, "status", 3, status);
    if random.one_in(2) {
        let tags: Vec<&str> = (0..random.below(4)).map(|_| random.pick(&TAGS)).collect();
        body["tags"] = json!(tags);
    }
    if random.one_in(4) {
        let fields = [
            json!({ "plan": "gold" }),
            json!({ "plan": "silver", "n": 1.50 }),
            json!({ "deep": { "a": [1, null] } }),
            json!({ "plan": null }),
        ];
        body["customFields"] = random.pick(&fields);
    }
    if random.one_in(30) {
        body["primaryEmail"] = json!("nobody");
    }
    body
}

fn list_query(random: &mut SplitMix64, known: &Known) -> String {
    let mut query = Vec::new();
    let mut maybe = |random: &mut SplitMix64, one_in: u64, name: &str, values: &[&str]| {
        if random.one_in(one_in) {
            query.push(format!("{name}={}", random.pick(values).replace(' ', "%20").replace('+', "%2B")));
        }
    };
    maybe(random, 3, "search", &TERMS);
    maybe(random, 3, "status", &["active", "inactive", "blocked"]);
    maybe(random, 4, "tag", &["vip", "VI", "NEW", "%C3%A9lan", "none"]);
    maybe(random, 2, "sortBy", &["createdAt", "updatedAt", "firstName", "lastName", "primaryEmail"]);
    maybe(random, 2, "sortOrder", &["asc", "desc"]);
    maybe(random, 3, "includeArchived", &["true", "false"]);
    maybe(random, 8, "primaryEmail", &["a@example.com", "A@EXAMPLE.COM", "b@example.com"]);
    let mut times: Vec<&str> = known.times.iter().map(String::as_str).collect();
    times.push("2026-01-31T09:16:00Z");
    maybe(random, 8, "createdSince", &times);
    maybe(random, 8, "updatedSince", &times);
    maybe(random, 3, "page", &["1", "2", "3", "7"]);
    maybe(random, 2, "limit", &["1", "2", "3", "5", "20", "100"]);
    query.join("&")
}

pub(super) fn contacts(random: &mut SplitMix64, known: &Known) -> Request {
    let by_external = format!("/contacts/{}/chatbots/<A>", external(random));
    let by_id = format!("/contacts/platformid/{}/chatbots/<A>", known.contact(random));
    let one = if random.one_in(2) { by_external.clone() } else { by_id };
    match random.below(24) {
        0..=4 => with_json(request("POST", "/contacts/chatbots/<A>".to_owned()), &contact_body(random, true)),
        5..=7 => with_json(request("PUT", one), &contact_body(random, false)),
        8..=9 => with_json(request("PUT", format!("{by_external}?upsert=true")), &contact_body(random, true)),
        10 => with_json(
            request("POST", "/contacts/chatbots/<A>?dryRun=true".to_owned()),
            &contact_body(random, true),
        ),
        11 => request("PATCH", format!("{one}/archive")),
        12 => request("PATCH", format!("{one}/unarchive")),
        13..=14 => request("GET", one),
        15 => request("GET", "/contacts/schema/chatbots/<A>".to_owned()),
        16..=18 => known.next_page("/contacts", random),
        _ => request("GET", format!("/contacts/chatbots/<A>?{}", list_query(random, known))),
    }
}
