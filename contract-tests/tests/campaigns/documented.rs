//! Random requests against the OpenAPI document: every response has a documented status, code, headers and body.
//!
//! Requests of the small domain, some mutated, with privileged and unprivileged keys, on a store that sometimes fails.
//! `DOCUMENTED_REQUESTS` sets their number.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use contract_tests::sandbox::{operator, wait};
use contract_tests::table::endpoints;
use contract_tests::traffic::{Known, Step, definition, step};
use contract_tests::{
    Backend, Credentials, FaultyStorage, Reply, Sandbox, SplitMix64, document, rules, story,
};
use http::HeaderValue;
use openapi_core::access::RateLimits;
use openapi_core::admin::Admin;
use openapi_core::api::PeerAddress;
use openapi_core::storage::StorageErrorKind;

use crate::fuzzing::{Case, Who, mutated, seeds};
use crate::{caught, length};

/// Steps per world.
const STEPS: u64 = 500;

static SEEDS: LazyLock<Vec<Case>> = LazyLock::new(seeds::all);

/// A response as the document lists it: operation, status and error code.
type Kind = (&'static str, u16, String);

struct World {
    cx: Sandbox,
    faulty: Arc<FaultyStorage>,
    known: Known,
    /// A key with every permission, and keys that lack some.
    keys: Vec<Credentials>,
    /// Milliseconds between requests: short, so that limits are reached.
    pace: i64,
}

impl World {
    fn new(random: &mut SplitMix64) -> Self {
        let store = Backend::Memory.open();
        let faulty = FaultyStorage::new(Arc::clone(&store.storage));
        let cx = Sandbox::on(store.through(faulty.clone()), |_| {});
        let cx = cx.rebuilt(cx.ports(), |files| files.max_bytes_of_agent = Some(2_000));
        let templates = [("Feedback", "supersede", true), ("Éclair", "keepAll", false)]
            .map(|(name, policy, comment)| cx.template(&definition(name, policy, comment)));
        let revoked = cx.issue(|_| {});
        wait(cx.platform.revoke_key(&operator(), &Sandbox::selector(&revoked))).expect("a key");
        let soon = contract_tests::sandbox::instant(contract_tests::sandbox::START).plus_millis(2_000);
        let keys = vec![
            cx.credentials.clone(),
            cx.key_that_may("contacts:read"),
            cx.key_that_may("document-extraction:read"),
            cx.issue(|key| key.limits = RateLimits { per_minute: 3, per_hour: 100 }),
            cx.issue(|key| key.allowed_addresses = vec!["203.0.113.0/24".parse().expect("a network")]),
            cx.issue(|key| key.expires_at = Some(soon)),
            revoked,
            Credentials { secret: "wrong".to_owned(), ..cx.credentials.clone() },
        ];
        let pace = if random.one_in(6) { 1 } else { 450 };
        World { cx, faulty, known: Known::of(templates.to_vec()), keys, pace }
    }

    /// Sends a case and checks the reply against the document; `None` if it is not a valid request.
    fn ask(&self, case: &Case, key: Option<&Credentials>, address: u8) -> Option<Reply> {
        let mut request = case.request(&[("<A>", self.cx.agent.to_string())])?;
        request.extensions_mut().insert(PeerAddress([192, 0, 2, address].into()));
        for (name, value) in
            key.iter().flat_map(|key| [("x-api-key", &key.key), ("x-api-secret", &key.secret)])
        {
            let _ = request.headers_mut().append(name, HeaderValue::from_str(value).expect("a value"));
        }
        let (parts, body) = request.into_parts();
        let asked = rules::Asked { request: parts.clone(), settings: self.cx.settings() };
        let request = http::Request::from_parts(parts, body);
        let reply = wait(async { Reply::read(self.cx.api.handle(request).await).await });
        rules::check(&asked, &reply);
        Some(reply)
    }

    fn step(&mut self, random: &mut SplitMix64, seen: &mut BTreeMap<Kind, u64>) -> u64 {
        self.cx.advance(self.pace);
        let request = match step(random.next_u64(), &self.known) {
            Step::Wait(millis) => {
                self.cx.advance(millis);
                return 0;
            }
            Step::Operator(deed) => {
                let _ = deed.perform(&self.cx);
                return 0;
            }
            Step::Request(request) => request,
        };
        let mut case = Case::of(&request);
        if random.one_in(4) {
            let other = random.pick(&SEEDS);
            case = mutated(random, &case, &other);
        }
        let key = if random.one_in(5) { random.pick(&self.keys) } else { self.keys[0].clone() };
        let key = (case.who != Who::Nobody).then_some(key);
        match random.below(80) {
            0 => self.faulty.fail(Some(StorageErrorKind::Unavailable)),
            1 => self.faulty.lose_races(random.pick(&[1, 100])),
            _ => {}
        }
        let reply = match caught(|| self.ask(&case, key.as_ref(), random.pick(&[10, 10, 11]))) {
            Ok(Some(reply)) => reply,
            Ok(None) => return 0,
            Err(message) => panic!("{message}\n{}", case.bytes().escape_ascii()),
        };
        self.faulty.fail(None);
        self.faulty.lose_races(0);
        self.known.learn(&request, &reply);
        let operation = reply.operation.unwrap_or("outside of any operation");
        *seen.entry((operation, reply.status, reply.code().to_owned())).or_default() += 1;
        1
    }
}

/// Every response in the document.
fn listed() -> BTreeSet<Kind> {
    let mut listed = BTreeSet::new();
    for meta in endpoints().map(|endpoint| endpoint.meta) {
        let responses = document::members(&document::operation(meta.id)["responses"]);
        for status in responses.keys().filter_map(|status| status.parse().ok()) {
            let codes = if status < 400 { vec![""] } else { document::codes(meta.id, status) };
            listed.extend(codes.into_iter().map(|code| (meta.id, status, code.to_owned())));
        }
    }
    listed
}

#[test]
fn every_response_is_documented() {
    let wanted = length("DOCUMENTED_REQUESTS", 3_000);
    let mut random = SplitMix64(length("DOCUMENTED_SEED", 1));
    let (mut seen, mut sent) = (BTreeMap::new(), 0);
    while sent < wanted {
        let mut world = World::new(&mut random);
        for _ in 0..STEPS {
            sent += world.step(&mut random, &mut seen);
        }
    }
    let listed = listed();
    let missed: Vec<String> = listed
        .iter()
        .filter(|kind| !seen.contains_key(*kind))
        .map(|(operation, status, code)| format!("{operation} {status} {code}"))
        .collect();
    println!(
        "{sent} requests, 0 undocumented answers, 0 panics; of {} documented answers {} were seen, not {missed:#?}",
        listed.len(),
        listed.len() - missed.len(),
    );
    // The campaign must reach responses of all kinds.
    let statuses: BTreeSet<u16> = seen.keys().map(|(_, status, _)| *status).collect();
    for status in [200, 201, 400, 401, 403, 404, 405, 409, 415, 429, 503] {
        assert!(statuses.contains(&status), "no {status} among {statuses:?}");
    }
    for meta in endpoints().map(|endpoint| endpoint.meta) {
        let succeeds = seen.keys().any(|(operation, status, _)| *operation == meta.id && *status < 300);
        assert!(succeeds || wanted < 20_000, "{} never succeeds", meta.id);
    }
}

/// Undocumented responses are detected.
#[test]
fn undocumented_responses_are_detected() {
    let cx = story::sandbox(Backend::Memory);
    let _ = cx.create(&story::new_contact());
    let path = "/contacts/crm-1001/chatbots/<A>";
    let call = cx.call("GET", path);
    let (found, absent) = (call.send(), cx.get("/contacts/none/chatbots/<A>"));
    let refused = |reply: &Reply| {
        let asked = rules::Asked { request: call.request().into_parts().0, settings: cx.settings() };
        caught(|| rules::check(&asked, reply)).is_err()
    };
    assert!(!refused(&found) && !refused(&absent));
    let change = |reply: &Reply, change: &dyn Fn(&mut Reply)| {
        let mut reply = reply.clone();
        change(&mut reply);
        refused(&reply)
    };
    assert!(change(&found, &|reply| reply.status = 206), "a status");
    assert!(change(&absent, &|reply| reply.status = 410), "a status of an error");
    assert!(change(&absent, &|reply| reply.json["code"] = "FILE_NOT_FOUND".into()), "a code");
    assert!(change(&absent, &|reply| reply.json["code"] = "OTHER".into()), "a code that is none");
    assert!(
        change(&found, &|reply| drop(reply.headers.insert("x-other", HeaderValue::from_static("1")))),
        "a header"
    );
    assert!(change(&found, &|reply| drop(reply.headers.remove("x-request-id"))), "a header that is missing");
    assert!(change(&found, &|reply| reply.json["data"]["tags"] = "vip".into()), "the type of a member");
    let without_id =
        |reply: &mut Reply| drop(reply.json["data"].as_object_mut().and_then(|data| data.remove("id")));
    assert!(change(&found, &without_id), "a member that is missing");
    assert!(change(&found, &|reply| reply.json["other"] = 1.into()), "a member of the envelope");
}
