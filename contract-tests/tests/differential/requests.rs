//! Random requests of a small world: names, tags, states and times are few, so that they meet.

use contract_tests::{Form, Reply};
use serde_json::{Value, json};

/// A small generator of numbers, the same for the same seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

/// What happens next: the same to every store.
#[derive(Clone, Debug)]
pub enum Step {
    /// A request by key.
    Request(Request),
    /// A deed of the operator's.
    Operator(Deed),
    /// Time passes.
    Wait(i64),
}

/// A request by key.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    /// Below {base_url}, or below {origin} where it begins with `//`.
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Vec<u8>>,
}

/// What the operator does.
#[derive(Clone, Debug)]
pub enum Deed {
    DefineContacts(Value),
    EditTemplate(String, Value),
    ArchiveTemplate(String),
    ActivateTemplate(String),
    Erase(String),
    PurgeFiles,
    /// Maintenance, as it runs now and then.
    Maintain,
}

/// What the replies so far have shown.
#[derive(Default)]
pub struct Known {
    templates: Vec<String>,
    contacts: Vec<String>,
    files: Vec<(String, String)>,
    submissions: Vec<String>,
    etags: Vec<String>,
    /// Lists with a next page: path and cursor.
    pages: Vec<(String, String)>,
    links: Vec<String>,
    times: Vec<String>,
}

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

impl Known {
    /// What is known at the beginning.
    pub fn of(templates: Vec<String>) -> Self {
        Known { templates, ..Known::default() }
    }

    /// Learns from a reply.
    pub fn learn(&mut self, request: &Request, reply: &Reply) {
        fn keep<T>(list: &mut Vec<T>, item: T) {
            if list.len() >= 60 {
                list.remove(0);
            }
            list.push(item);
        }
        if let Some(etag) = reply.headers.get("etag").and_then(|etag| etag.to_str().ok()) {
            keep(&mut self.etags, etag.to_owned());
        }
        let data = reply.data();
        let id = data["id"].as_str().map(str::to_owned);
        match (request.path.split('/').nth(1), id) {
            (Some("contacts"), Some(id)) if reply.status == 201 => keep(&mut self.contacts, id),
            (Some("files"), Some(id)) if reply.status == 201 => {
                let contact = data["contactId"].as_str().unwrap_or_default().to_owned();
                keep(&mut self.files, (contact, id));
            }
            (Some("forms"), Some(id)) if reply.status == 201 => keep(&mut self.submissions, id),
            _ => {}
        }
        if let Some(cursor) = reply.pagination()["nextCursor"].as_str() {
            keep(&mut self.pages, (request.path.clone(), cursor.to_owned()));
        }
        for name in ["createdAt", "updatedAt"] {
            if let Some(time) = data[name].as_str() {
                keep(&mut self.times, time.to_owned());
            }
        }
        if let Some(url) = data["url"].as_str() {
            let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
            keep(&mut self.links, path.map_or_else(String::new, |(_, path)| format!("//{path}")));
        }
    }

    fn contact(&self, dice: &mut Dice) -> String {
        match dice.below(20) {
            0 => "697d00000000000000000000".to_owned(),
            _ if self.contacts.is_empty() => "697d00000000000000000000".to_owned(),
            _ => dice.pick(&self.contacts),
        }
    }
}

fn external(dice: &mut Dice) -> String {
    format!("crm-{}", dice.below(12))
}

fn maybe<T: Into<Value>>(dice: &mut Dice, body: &mut Value, name: &str, one_in: u64, value: T) {
    if dice.one_in(one_in) {
        body[name] = if dice.one_in(8) { Value::Null } else { value.into() };
    }
}

fn contact_body(dice: &mut Dice, is_new: bool) -> Value {
    let mut body = json!({});
    if is_new || dice.one_in(2) {
        body["primaryEmail"] = json!(dice.pick(&EMAILS));
    }
    let (first, last, middle) = (dice.pick(&NAMES), dice.pick(&NAMES), dice.pick(&NAMES));
    maybe(dice, &mut body, "firstName", 2, first);
    maybe(dice, &mut body, "lastName", 2, last);
    maybe(dice, &mut body, "middleName", 6, middle);
    let id = external(dice);
    maybe(dice, &mut body, "externalReferenceId", 2, id);
    let phone = dice.pick(&["20 7946 0958", "(030) 123-456", "7946 0958"]);
    maybe(dice, &mut body, "primaryPhone", 4, phone);
    let code = dice.pick(&["44", "+49"]);
    maybe(dice, &mut body, "primaryPhoneCode", 5, code);
    maybe(dice, &mut body, "fullAddress", 6, "12 Mill Lane\nLeeds LS1 4AB");
    let status = dice.pick(&["active", "inactive", "blocked", "gone"]);
    maybe(dice, &mut body, "status", 3, status);
    if dice.one_in(2) {
        let tags: Vec<&str> = (0..dice.below(4)).map(|_| dice.pick(&TAGS)).collect();
        body["tags"] = json!(tags);
    }
    if dice.one_in(4) {
        let fields = [
            json!({ "plan": "gold" }),
            json!({ "plan": "silver", "n": 1.50 }),
            json!({ "deep": { "a": [1, null] } }),
            json!({ "plan": null }),
        ];
        body["customFields"] = dice.pick(&fields);
    }
    if dice.one_in(30) {
        body["primaryEmail"] = json!("nobody");
    }
    body
}

fn list_query(dice: &mut Dice, known: &Known) -> String {
    let mut query = Vec::new();
    let mut maybe = |dice: &mut Dice, one_in: u64, name: &str, values: &[&str]| {
        if dice.one_in(one_in) {
            query.push(format!("{name}={}", dice.pick(values).replace(' ', "%20").replace('+', "%2B")));
        }
    };
    maybe(dice, 3, "search", &TERMS);
    maybe(dice, 3, "status", &["active", "inactive", "blocked"]);
    maybe(dice, 4, "tag", &["vip", "VI", "NEW", "%C3%A9lan", "none"]);
    maybe(dice, 2, "sortBy", &["createdAt", "updatedAt", "firstName", "lastName", "primaryEmail"]);
    maybe(dice, 2, "sortOrder", &["asc", "desc"]);
    maybe(dice, 3, "includeArchived", &["true", "false"]);
    maybe(dice, 8, "primaryEmail", &["a@example.com", "A@EXAMPLE.COM", "b@example.com"]);
    let mut times: Vec<&str> = known.times.iter().map(String::as_str).collect();
    times.push("2026-01-31T09:16:00Z");
    maybe(dice, 8, "createdSince", &times);
    maybe(dice, 8, "updatedSince", &times);
    maybe(dice, 3, "page", &["1", "2", "3", "7"]);
    maybe(dice, 2, "limit", &["1", "2", "3", "5", "20", "100"]);
    query.join("&")
}

/// A cursor's list goes on; its limit may be another one.
fn onward(dice: &mut Dice, (path, cursor): (String, String)) -> String {
    let without: Vec<&str> = path
        .split(['?', '&'])
        .skip(1)
        .filter(|pair| !pair.starts_with("page=") && !pair.starts_with("cursor="))
        .collect();
    let base = path.split('?').next().unwrap_or_default();
    let limit = if dice.one_in(3) { "&limit=2" } else { "" };
    let rest: Vec<&str> =
        without.into_iter().filter(|pair| limit.is_empty() || !pair.starts_with("limit=")).collect();
    format!("{base}?cursor={cursor}{limit}{}{}", if rest.is_empty() { "" } else { "&" }, rest.join("&"))
}

fn form_data(dice: &mut Dice) -> Value {
    let good = [
        json!({ "rating": 5 }),
        json!({ "rating": 3, "comment": "x" }),
        json!({ "rating": 1, "comment": "Ünal\n\"q\"" }),
        json!({ "rating": 2, "comment": null }),
    ];
    let bad = [json!({}), json!({ "rating": 9 }), json!({ "rating": "5" })];
    if dice.one_in(10) { dice.pick(&bad) } else { dice.pick(&good) }
}

fn form_body(dice: &mut Dice) -> Value {
    let mut body = json!({ "formData": form_data(dice) });
    if dice.one_in(3) {
        body["status"] = json!(dice.pick(&["draft", "draft", "submitted", "approved"]));
    }
    maybe(dice, &mut body, "submissionNotes", 5, "Two\nlines");
    let client = dice.pick(&["x", "X", "X y", "é"]);
    maybe(dice, &mut body, "clientId", 4, client);
    body
}

fn request(method: &'static str, path: String) -> Request {
    Request { method, path, headers: Vec::new(), body: None }
}

fn with_json(mut request: Request, body: &Value) -> Request {
    request.headers.push(("content-type", "application/json".to_owned()));
    request.body = Some(body.to_string().into_bytes());
    request
}

fn contacts(dice: &mut Dice, known: &Known) -> Request {
    let by_external = format!("/contacts/{}/chatbots/<A>", external(dice));
    let by_id = format!("/contacts/platformid/{}/chatbots/<A>", known.contact(dice));
    let one = if dice.one_in(2) { by_external.clone() } else { by_id };
    match dice.below(24) {
        0..=4 => with_json(request("POST", "/contacts/chatbots/<A>".to_owned()), &contact_body(dice, true)),
        5..=7 => with_json(request("PUT", one), &contact_body(dice, false)),
        8..=9 => with_json(request("PUT", format!("{by_external}?upsert=true")), &contact_body(dice, true)),
        10 => with_json(
            request("POST", "/contacts/chatbots/<A>?dryRun=true".to_owned()),
            &contact_body(dice, true),
        ),
        11 => request("PATCH", format!("{one}/archive")),
        12 => request("PATCH", format!("{one}/unarchive")),
        13..=14 => request("GET", one),
        15 => request("GET", "/contacts/schema/chatbots/<A>".to_owned()),
        16..=18 if !known.pages.is_empty() => {
            let page = dice.pick(&known.pages);
            request("GET", onward(dice, page))
        }
        _ => request("GET", format!("/contacts/chatbots/<A>?{}", list_query(dice, known))),
    }
}

fn files(dice: &mut Dice, known: &Known) -> Request {
    // Few contacts have all the files, so that lists are long.
    let owner = known.contacts.get(dice.below(3) as usize).cloned().unwrap_or_else(|| known.contact(dice));
    let of = format!("/files/chatbots/<A>/{owner}");
    let (contact, file) = if known.files.is_empty() {
        (String::new(), "697d00000000000000000000".to_owned())
    } else {
        dice.pick(&known.files)
    };
    let one = format!("/files/chatbots/<A>/{contact}/files/{file}");
    match dice.below(12) {
        0..=3 => {
            let name = dice.pick(&["a.txt", "A.txt", "é.txt", "b.pdf", "100%.txt", "李.txt"]);
            let content = dice.pick(&["hello", "%PDF-1.7\n%%EOF\n", "x"]);
            let form = Form::of_file(name, content.as_bytes());
            let mut upload = request("POST", of);
            upload.headers.push(("content-type", form.content_type()));
            upload.body = Some(form.octets());
            upload
        }
        4 => request("GET", one),
        5 => request("DELETE", one),
        6 => request("GET", format!("{one}/signed-url")),
        7 if !known.links.is_empty() => request("GET", dice.pick(&known.links)),
        _ => {
            let sort = dice.pick(&["", "&sortBy=fileName", "&sortBy=fileSize", "&sortBy=createdAt"]);
            let order = dice.pick(&["", "&sortOrder=asc", "&sortOrder=desc"]);
            request(
                "GET",
                format!("{of}?limit={}&page={}{sort}{order}", dice.below(4) + 1, dice.below(3) + 1),
            )
        }
    }
}

fn forms(dice: &mut Dice, known: &Known) -> Request {
    let template =
        if dice.one_in(25) { "697d00000000000000000000".to_owned() } else { dice.pick(&known.templates) };
    let contact = external(dice);
    let submission = if known.submissions.is_empty() {
        "697d00000000000000000000".to_owned()
    } else {
        dice.pick(&known.submissions)
    };
    match dice.below(20) {
        0..=4 => with_json(
            request("POST", format!("/forms/submit/{template}/contacts/{contact}")),
            &form_body(dice),
        ),
        5 => {
            let elements: Vec<Value> = (0..=dice.below(3))
                .map(|_| {
                    let mut body = form_body(dice);
                    body["templateId"] = json!(dice.pick(&known.templates));
                    body
                })
                .collect();
            let mut body = json!({ "submissions": elements });
            if dice.one_in(2) {
                body["allOrNone"] = json!(dice.one_in(2));
            }
            with_json(request("POST", format!("/forms/batch/contacts/{contact}/chatbots/<A>")), &body)
        }
        6..=9 => {
            let mut body = json!({});
            if dice.one_in(2) {
                body["formData"] = form_data(dice);
            }
            if dice.one_in(2) {
                body["status"] =
                    json!(dice.pick(&["submitted", "under_review", "approved", "rejected", "archived"]));
            }
            maybe(dice, &mut body, "reviewNotes", 4, "Gut");
            with_json(request("PUT", format!("/forms/submissions/{submission}/chatbots/<A>")), &body)
        }
        10..=11 => request("GET", format!("/forms/submissions/{submission}/chatbots/<A>")),
        12..=13 => {
            let drafts = dice.pick(&["", "?includeDrafts=true"]);
            request(
                "GET",
                format!("/forms/contacts/{contact}/templates/{template}/latest/chatbots/<A>{drafts}"),
            )
        }
        14 => request(
            "GET",
            format!("/forms/templates/chatbots/<A>?limit={}&page={}", dice.below(3) + 1, dice.below(3) + 1),
        ),
        15 => request(
            "GET",
            format!("/forms/templates/{template}/{}/chatbots/<A>", dice.pick(&["schema", "structure"])),
        ),
        _ => {
            let mut query = vec![format!("limit={}", dice.below(4) + 1)];
            for (one_in, part) in [
                (3, format!("templateId={template}")),
                (4, format!("status={}", dice.pick(&["draft", "submitted", "approved", "archived"]))),
                (3, "includeSuperseded=true".to_owned()),
                (5, format!("clientId={}", dice.pick(&["x", "X%20y", "%C3%A9"]))),
                (3, format!("page={}", dice.below(3) + 1)),
            ] {
                if dice.one_in(one_in) {
                    query.push(part);
                }
            }
            request("GET", format!("/forms/contacts/{contact}/chatbots/<A>?{}", query.join("&")))
        }
    }
}

fn deed(dice: &mut Dice, known: &Known) -> Deed {
    let template = dice.pick(&known.templates);
    match dice.below(12) {
        0..=1 => Deed::DefineContacts(dice.pick(&[
            json!({}),
            json!({ "fields": [{ "name": "lastName", "sensitive": true }] }),
            json!({ "fields": [{ "name": "primaryPhone", "sensitive": true }, { "name": "firstName", "required": true }] }),
            json!({ "customFields": [{ "name": "plan", "type": "string", "unique": true }] }),
            json!({ "fields": [{ "name": "primaryEmail", "unique": true }] }),
        ])),
        2..=3 => {
            let name = dice.pick(&["Feedback", "feedback", "Éclair", "Aufnahme"]);
            let policy = dice.pick(&["supersede", "keepAll"]);
            Deed::EditTemplate(template, definition(name, policy, dice.one_in(2)))
        }
        4 => Deed::ArchiveTemplate(template),
        5..=7 => Deed::ActivateTemplate(template),
        8..=9 => Deed::Erase(known.contact(dice)),
        10 => Deed::PurgeFiles,
        _ => Deed::Maintain,
    }
}

/// A template with a rating and perhaps a comment.
pub fn definition(name: &str, policy: &str, has_comment: bool) -> Value {
    let mut fields = vec![
        json!({ "name": "rating", "type": "number", "required": true, "validation": { "minimum": 1, "maximum": 5 } }),
    ];
    if has_comment {
        fields.push(json!({ "name": "comment", "type": "textarea" }));
    }
    json!({ "name": name, "submissionPolicy": policy, "fields": fields })
}

/// The next step.
pub fn step(seed: u64, known: &Known) -> Step {
    let mut dice = Dice(seed);
    let mut request = match dice.below(100) {
        0..=1 => return Step::Operator(deed(&mut dice, known)),
        2..=5 => return Step::Wait(dice.pick(&[1, 999, 5_000, 70_000])),
        6 => return Step::Wait(dice.pick(&[3_700_000, 3_700_000, 90_000_000])),
        7..=60 => contacts(&mut dice, known),
        61..=72 => files(&mut dice, known),
        _ => forms(&mut dice, known),
    };
    if request.method == "POST" && dice.one_in(6) {
        request.headers.push(("idempotency-key", format!("key-{}", dice.below(5))));
    }
    if dice.one_in(10) && !known.etags.is_empty() {
        let name = if request.method == "GET" { "if-none-match" } else { "if-match" };
        request.headers.push((name, dice.pick(&known.etags)));
    }
    Step::Request(request)
}
