//! `list-scale` and `search-scale`: the cost of lists and searches as an agent grows.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Empty;
use openapi_core::access::{Actor, Caller, Permissions};
use openapi_core::api::Api;
use openapi_core::values::AgentId;
use serde_json::Value;

use super::Options;
use crate::data;
use crate::machine::monotonic;
use crate::report::{Failure, Measured, Reach, Report, number};
use crate::statistics::Samples;
use crate::world::{Host, Person, SplitMix64};

/// Contacts of the small agent.
pub(super) const SMALL: u64 = 1_000;

/// Requests of each kind that are measured for information.
const REQUESTS_OF_A_KIND: usize = 200;

/// An agent's lists, requested by an embedder that authenticates callers itself: without keys and rate limits, whose
/// constant cost would level the two latencies.
pub(super) struct Lists {
    _host: Host,
    api: Api,
    agent: AgentId,
    caller: Caller,
}

impl Lists {
    fn open(contacts: u64) -> Result<Self, Failure> {
        let path = data::with_contacts(contacts)?;
        // Another benchmark may have evicted it from the page cache; disk speed is not measured here.
        std::io::copy(&mut std::fs::File::open(&path)?, &mut std::io::sink())?;
        Lists::of(data::open(&path)?, data::agent()?)
    }

    /// The lists of an agent of a host.
    pub(super) fn of(host: Host, agent: AgentId) -> Result<Self, Failure> {
        let caller = Caller {
            agent_id: agent.clone(),
            actor: Actor::User("benches".to_owned()),
            permissions: Permissions::all(),
            address: None,
            request_id: "benches".to_owned(),
        };
        Ok(Lists { api: host.api()?, _host: host, agent, caller })
    }

    /// Sends one list request; returns the latency in microseconds and the body.
    pub(super) fn get(&self, query: &str) -> Result<(f64, Bytes), Failure> {
        let request = Request::get(format!("/v1/open/contacts/chatbots/{}?{query}", self.agent))
            .header("host", "127.0.0.1:8080")
            .extension(self.caller.clone())
            .body(Empty::<Bytes>::new())?;
        let begun = monotonic();
        let response = pollster::block_on(self.api.handle(request));
        let took = begun.elapsed().as_secs_f64() * 1e6;
        let status = response.status();
        let body = response.into_body().into_bytes().unwrap_or_default();
        if status != StatusCode::OK {
            return Err(format!("{query}: answered {status}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok((took, body))
    }

    /// The pagination of a list.
    fn pagination(&self, query: &str) -> Result<Value, Failure> {
        let (_, body) = self.get(query)?;
        Ok(serde_json::from_slice::<Value>(&body)?["pagination"].take())
    }

    pub(super) fn total(&self, query: &str) -> Result<u64, Failure> {
        Ok(self.pagination(query)?["totalItems"].as_u64().ok_or("a list without totalItems")?)
    }

    /// The median latency of a query.
    fn median(&self, query: &str) -> Result<f64, Failure> {
        for _ in 0..5 {
            self.get(query)?;
        }
        let begun = monotonic();
        let mut samples = Samples::default();
        // Slow queries need fewer samples.
        while samples.len() < 5
            || samples.len() < REQUESTS_OF_A_KIND && begun.elapsed() < Duration::from_secs(2)
        {
            samples.push(self.get(query)?.0);
        }
        Ok(samples.median())
    }
}

/// Page 1 without parameters.
pub(super) const PAGE_1: &str = "limit=20";

pub(super) fn list_scale(options: &Options) -> Measured {
    let (large, small) = (Lists::open(options.contacts)?, Lists::open(SMALL)?);
    for (lists, contacts) in [(&large, options.contacts), (&small, SMALL)] {
        let total = lists.total(PAGE_1)?;
        if total != contacts {
            return Err(format!("page 1 tells {total} contacts instead of {contacts}").into());
        }
    }
    let (mut of_large, mut of_small) = (Samples::default(), Samples::default());
    for _ in 0..500 {
        large.get(PAGE_1)?;
        small.get(PAGE_1)?;
    }
    let begun = monotonic();
    while begun.elapsed() < Duration::from_secs_f64(2.0 * options.seconds) {
        of_large.push(large.get(PAGE_1)?.0);
        of_small.push(small.get(PAGE_1)?.0);
    }

    let mut report = Report::new("list-scale");
    let contacts = number(options.contacts as f64);
    report.condition(format!(
        "GET /v1/open/contacts/chatbots/{{agentId}}?limit=20 with exact total through Api::handle on SQLite, one request \
         at a time; {contacts} contacts against {}, in a database each, {} requests in turns; medians",
        number(SMALL as f64),
        of_large.len()
    ));
    report.detail(format!("page 1 of {contacts}"), of_large.median(), "µs");
    report.detail(format!("page 1 of {}", number(SMALL as f64)), of_small.median(), "µs");
    report.detail(format!("page 1 of {contacts}, 99 of 100 below"), of_large.quantile(0.99), "µs");
    further(&mut report, &large, &small)?;
    report.figure(
        "latency of page 1 against the small agent",
        of_large.median() / of_small.median(),
        "×",
        Reach::AtMost(1.5),
    );
    Ok(report)
}

/// Every sort, filter and kind of paging, for information.
fn further(report: &mut Report, large: &Lists, small: &Lists) -> Result<(), Failure> {
    let mut kinds: Vec<(String, String)> = Vec::new();
    for sort in ["createdAt", "updatedAt", "firstName", "lastName", "primaryEmail"] {
        for order in ["asc", "desc"] {
            kinds.push((
                format!("sorted by {sort} {order}"),
                format!("{PAGE_1}&sortBy={sort}&sortOrder={order}"),
            ));
        }
    }
    for (what, filter) in [
        ("status active (90 %)", "status=active"),
        ("status blocked (0.1 %)", "status=blocked"),
        ("status blocked by lastName", "status=blocked&sortBy=lastName"),
        ("tag newsletter (40 %)", "tag=newsletter"),
        ("tag newsletter by lastName", "tag=newsletter&sortBy=lastName"),
        ("tag press (0.1 %)", "tag=press"),
        ("tag press by lastName", "tag=press&sortBy=lastName"),
        ("tag press, status active", "tag=press&status=active"),
        ("archived included", "includeArchived=true"),
    ] {
        kinds.push((what.to_owned(), format!("{PAGE_1}&{filter}")));
    }
    for (what, query) in kinds {
        let (of_large, of_small) = (large.median(&query)?, small.median(&query)?);
        report.detail(format!("{what}: {} × the small agent", number(of_large / of_small)), of_large, "µs");
    }
    for (what, part) in [("middle page", 2), ("last page", 1)] {
        for sort in ["createdAt", "lastName"] {
            let page = (large.total(PAGE_1)?.min(1_000_000) / 20 / part).max(1);
            let query = format!("{PAGE_1}&sortBy={sort}&page={page}");
            report.detail(format!("{what} ({}) by {sort}", number(page as f64)), large.median(&query)?, "µs");
            if part == 2 {
                let cursor = large.pagination(&query)?["nextCursor"].take();
                let cursor = cursor.as_str().ok_or("a middle page without a cursor")?;
                let query = format!("{PAGE_1}&sortBy={sort}&cursor={cursor}");
                report.detail(format!("the next page by cursor, by {sort}"), large.median(&query)?, "µs");
            }
        }
    }
    Ok(())
}

/// A kind of rare terms: its name and the term of one contact.
type Kind = (&'static str, fn(&Person) -> String);

const KINDS: [Kind; 5] = [
    ("family name", |person| person.last_name().to_lowercase()),
    ("whole address", Person::email),
    ("external id", Person::external_id),
    ("telephone number", |person| person.phone().replace(' ', "-")),
    ("first and family name", |person| format!("{}+{}", person.first_name(), person.last_name())),
];

pub(super) fn search_scale(options: &Options) -> Measured {
    let lists = Lists::open(options.contacts)?;
    let mut random = SplitMix64(options.seed);
    let mut of_kinds = vec![Samples::default(); KINDS.len()];
    let (mut of_list, mut hits) = (Samples::default(), Samples::default());
    for _ in 0..200 {
        lists.get(PAGE_1)?;
    }
    let begun = monotonic();
    while begun.elapsed() < Duration::from_secs_f64(3.0 * options.seconds) {
        for ((_, term), samples) in KINDS.iter().zip(&mut of_kinds) {
            of_list.push(lists.get(PAGE_1)?.0);
            let person = Person::new(random.below(options.contacts));
            let (took, body) = lists.get(&format!("{PAGE_1}&search={}", term(&person)))?;
            samples.push(took);
            let found: Value = serde_json::from_slice(&body)?;
            let total = found["pagination"]["totalItems"].as_u64().unwrap_or(0);
            if total == 0 {
                return Err(format!("a search for {} finds nothing", term(&person)).into());
            }
            hits.push(total as f64);
        }
    }

    let mut report = Report::new("search-scale");
    report.condition(format!(
        "GET /v1/open/contacts/chatbots/{{agentId}}?limit=20&search=… with exact total through Api::handle on SQLite, one \
         request at a time, among {} contacts; {} terms, each of another contact, in turns with page 1 of the list",
        number(options.contacts as f64),
        hits.len()
    ));
    report.detail("contacts found, mean", hits.mean(), "");
    report.detail("page 1 of the list, median", of_list.median(), "µs");
    let mut all = Samples::default();
    for ((what, _), samples) in KINDS.iter().zip(&of_kinds) {
        report.detail(
            format!(
                "{what}: median {} × the list; 99 of 100 below",
                number(samples.median() / of_list.median())
            ),
            samples.quantile(0.99),
            "µs",
        );
        all.extend(samples);
    }
    report.detail("search, median of all terms", all.median(), "µs");
    report.figure(
        "latency of a search against page 1",
        all.median() / of_list.median(),
        "×",
        Reach::AtMost(2.0),
    );
    Ok(report)
}
