//! Random requests over a small domain: few names, tags, states and times, so that they collide.

mod contacts;
mod events;
mod extraction;
mod files;
mod forms;
mod hostile;
mod operator;
mod webhooks;

use serde_json::Value;

pub use hostile::hostile_step;
pub use operator::{Deed, definition};

use crate::{Call, Reply, Sandbox, SplitMix64};

/// The next step.
#[derive(Clone, Debug)]
pub enum Step {
    /// A request with a key.
    Request(Request),
    /// An operator action.
    Operator(Deed),
    /// Advances the clock by this many milliseconds.
    Wait(i64),
}

/// A request with a key.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: &'static str,
    /// Below {base_url}, or below {origin} if it begins with `//`; the latter is sent without a key.
    pub path: String,
    /// Headers other than the key's.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// Builds the request for a sandbox.
    #[must_use]
    pub fn call<'a>(&self, cx: &'a Sandbox) -> Call<'a> {
        let mut call = match self.path.strip_prefix('/') {
            Some(path) if path.starts_with('/') => cx.at(self.method, path).anonymous(),
            _ => cx.call(self.method, &self.path),
        };
        for (name, value) in &self.headers {
            call = call.header(name, value);
        }
        match &self.body {
            Some(body) => call.bytes(body),
            None => call,
        }
    }
}

/// What the replies so far have revealed.
#[derive(Clone, Debug, Default)]
pub struct Known {
    templates: Vec<String>,
    contacts: Vec<String>,
    files: Vec<(String, String)>,
    submissions: Vec<String>,
    jobs: Vec<String>,
    endpoints: Vec<String>,
    etags: Vec<String>,
    /// Lists with a next page: path and cursor.
    pages: Vec<(String, String)>,
    links: Vec<String>,
    times: Vec<String>,
}

impl Known {
    /// The initial knowledge.
    #[must_use]
    pub fn of(templates: Vec<String>) -> Self {
        Known { templates, ..Known::default() }
    }

    /// Records what a reply reveals.
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
            (Some("events"), Some(id)) if reply.status == 201 => keep(&mut self.endpoints, id),
            (Some("forms"), Some(id)) if reply.status == 201 => keep(&mut self.submissions, id),
            (Some("document-extraction"), Some(id)) if reply.status == 201 => keep(&mut self.jobs, id),
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
        let is_link = request.path.starts_with("/files");
        if let Some(url) = data["url"].as_str().filter(|_| is_link) {
            let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
            keep(&mut self.links, path.map_or_else(String::new, |(_, path)| format!("//{path}")));
        }
    }

    /// What another caller knows, without signed links, which grant access to anyone.
    #[must_use]
    pub fn without_links(&self) -> Self {
        Known { links: Vec::new(), ..self.clone() }
    }

    /// A request that continues a list whose path begins with `area`; the limit may change.
    fn next_page(&self, area: &str, random: &mut SplitMix64) -> Request {
        let lists: Vec<&(String, String)> =
            self.pages.iter().filter(|(path, _)| path.starts_with(area)).collect();
        if lists.is_empty() {
            return request("GET", format!("{area}/chatbots/<A>?cursor=1.697d00000000000000000000"));
        }
        let (path, cursor) = random.pick(&lists);
        let limit = if random.one_in(3) { "&limit=2" } else { "" };
        let (base, query) = path.split_once('?').unwrap_or((path, ""));
        let replaced = |pair: &&str| {
            ["page=", "cursor="].iter().any(|name| pair.starts_with(name))
                || pair.starts_with("limit=") && !limit.is_empty()
        };
        let rest: String = query.split('&').filter(|pair| !pair.is_empty() && !replaced(pair)).fold(
            String::new(),
            |mut all, pair| {
                all.push('&');
                all.push_str(pair);
                all
            },
        );
        request("GET", format!("{base}?cursor={cursor}{limit}{rest}"))
    }

    fn contact(&self, random: &mut SplitMix64) -> String {
        match random.below(20) {
            0 => "697d00000000000000000000".to_owned(),
            _ if self.contacts.is_empty() => "697d00000000000000000000".to_owned(),
            _ => random.pick(&self.contacts),
        }
    }
}

fn external(random: &mut SplitMix64) -> String {
    format!("crm-{}", random.below(12))
}

fn maybe<T: Into<Value>>(random: &mut SplitMix64, body: &mut Value, name: &str, one_in: u64, value: T) {
    if random.one_in(one_in) {
        body[name] = if random.one_in(8) { Value::Null } else { value.into() };
    }
}

fn request(method: &'static str, path: String) -> Request {
    Request { method, path, headers: Vec::new(), body: None }
}

fn with_json(mut request: Request, body: &Value) -> Request {
    request.headers.push(("content-type", "application/json".to_owned()));
    request.body = Some(body.to_string().into_bytes());
    request
}

/// The next step.
#[must_use]
pub fn step(seed: u64, known: &Known) -> Step {
    let mut random = SplitMix64(seed);
    let mut request = match random.below(100) {
        0..=1 => return Step::Operator(operator::deed(&mut random, known)),
        2..=5 => return Step::Wait(random.pick(&[1, 999, 5_000, 70_000])),
        6 => return Step::Wait(random.pick(&[3_700_000, 3_700_000, 90_000_000])),
        7..=57 => contacts::contacts(&mut random, known),
        58..=69 => files::files(&mut random, known),
        70..=74 => extraction::extraction(&mut random, known),
        75 => public(&mut random),
        76..=77 => events::events(&mut random),
        78..=79 => webhooks::webhooks(&mut random, known),
        _ => forms::forms(&mut random, known),
    };
    if request.method == "POST" && random.one_in(6) {
        request.headers.push(("idempotency-key", format!("key-{}", random.below(5))));
    }
    if random.one_in(10) && !known.etags.is_empty() {
        let name = if request.method == "GET" { "if-none-match" } else { "if-match" };
        request.headers.push((name, random.pick(&known.etags)));
    }
    Step::Request(request)
}

/// A request without a key.
fn public(random: &mut SplitMix64) -> Request {
    let path = random.pick(&["//v1/open/health", "//openapi.json", "//v1/open/nothing", "//"]);
    request("GET", path.to_owned())
}
