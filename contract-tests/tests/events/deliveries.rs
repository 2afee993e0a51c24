//! Deliveries over a store, in virtual time: the clock moves on when nothing else happens.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Form, Sandbox, SplitMix64, on_every_backend};
use events::runner::{NoObserver, Runner};
use events::{WebhookSettings, Webhooks};
use http::{HeaderMap, StatusCode};
use openapi_core::admin::Admin;
use openapi_core::contacts::ContactRef;
use openapi_core::events::{ConversationReason, Event, EventType};
use openapi_core::json::RawObject;
use openapi_core::ports::{
    Clock, FixedClock, Outbound, OutboundError, OutboundRequest, OutboundResponse, OutboundSchemes, Timer,
};
use openapi_core::server_keys::{ServerKey, ServerKeys};
use openapi_core::storage::LogEntry;
use openapi_core::values::PlatformId;
use parking_lot::Mutex;
use serde_json::{Value, json};
use storage_common::transfer::TransferRow;

on_every_backend!(
    every_event_arrives,
    every_type_arrives,
    order_survives_failures,
    crashes_lose_nothing,
    one_server_sends_at_a_time,
    a_receiver_that_is_gone_disables_its_endpoint,
    events_of_erased_contacts_are_not_sent,
    attempts_go_with_their_contact,
    a_lost_secret_disables_its_endpoint,
    a_disabled_agent_pauses,
    changes_are_followed,
    the_named_endpoint_alone_receives_the_end_of_a_job,
);

const PATH: &str = "/events/endpoints/chatbots/<A>";

/// A timer whose sleepers wake when the clock is moved.
#[derive(Clone)]
struct VirtualTimer {
    clock: Arc<FixedClock>,
    sleepers: Arc<Mutex<BTreeMap<i64, Vec<Waker>>>>,
}

impl Timer for VirtualTimer {
    fn sleep(&self, millis: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let (clock, sleepers) = (Arc::clone(&self.clock), Arc::clone(&self.sleepers));
        let until = clock.now().millis() + i64::try_from(millis).unwrap();
        Box::pin(poll_fn(move |cx| {
            if clock.now().millis() >= until {
                return Poll::Ready(());
            }
            sleepers.lock().entry(until).or_default().push(cx.waker().clone());
            Poll::Pending
        }))
    }
}

impl VirtualTimer {
    /// Moves the clock to the next sleeper.
    fn advance(&self) {
        let next = self.sleepers.lock().pop_first();
        if let Some((at, wakers)) = next {
            let now = self.clock.now().millis();
            self.clock.advance_millis((at - now).max(0));
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

struct Flag {
    is_set: AtomicBool,
    thread: std::thread::Thread,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.is_set.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}

/// What receivers have seen.
#[derive(Default)]
struct Log {
    /// URL, event, whether it was accepted.
    attempts: Vec<(String, Value, bool)>,
    /// The servers that send to a URL now.
    sending: BTreeMap<String, BTreeMap<usize, usize>>,
    most_senders: usize,
}

type Decide = Arc<dyn Fn(&str, u64, &Log) -> Result<u16, OutboundError> + Send + Sync>;

/// The receivers, as one server reaches them.
struct Receiver {
    server: usize,
    log: Arc<Mutex<Log>>,
    timer: VirtualTimer,
    decide: Decide,
}

#[async_trait]
impl Outbound for Receiver {
    fn check(&self, _: &str, _: OutboundSchemes) -> Result<(), OutboundError> {
        Ok(())
    }

    async fn send(&self, request: OutboundRequest) -> Result<OutboundResponse, OutboundError> {
        let guard = Sending::begin(&self.log, &request.url, self.server);
        let event: Value = serde_json::from_slice(&request.body).unwrap();
        let seq = event["seq"].as_u64().unwrap();
        assert_eq!(request.headers["webhook-id"], event["id"].as_str().unwrap());
        self.timer.sleep(5 + seq % 7).await;
        let answer = (self.decide)(&request.url, seq, &self.log.lock());
        let accepted = matches!(answer, Ok(200..300));
        self.log.lock().attempts.push((request.url.clone(), event, accepted));
        drop(guard);
        let status = StatusCode::from_u16(answer?).unwrap();
        let body = Bytes::from_static(b"what went wrong");
        Ok(OutboundResponse {
            status,
            headers: HeaderMap::new(),
            body,
            is_truncated: false,
            url: request.url,
        })
    }
}

/// A request that runs, also one that is dropped.
struct Sending {
    log: Arc<Mutex<Log>>,
    url: String,
    server: usize,
}

impl Sending {
    fn begin(log: &Arc<Mutex<Log>>, url: &str, server: usize) -> Self {
        let mut seen = log.lock();
        let senders = seen.sending.entry(url.to_owned()).or_default();
        *senders.entry(server).or_default() += 1;
        let count = senders.values().filter(|running| **running > 0).count();
        seen.most_senders = seen.most_senders.max(count);
        Sending { log: Arc::clone(log), url: url.to_owned(), server }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let mut log = self.log.lock();
        if let Some(running) = log.sending.get_mut(&self.url).and_then(|it| it.get_mut(&self.server)) {
            *running -= 1;
        }
    }
}

struct World {
    cx: Sandbox,
    timer: VirtualTimer,
    log: Arc<Mutex<Log>>,
    decide: Decide,
}

impl World {
    fn new(backend: Backend) -> Self {
        World::answering(backend, |_, _, _| Ok(204))
    }

    fn answering(
        backend: Backend,
        decide: impl Fn(&str, u64, &Log) -> Result<u16, OutboundError> + Send + Sync + 'static,
    ) -> Self {
        let cx = Sandbox::new(backend);
        let timer = VirtualTimer { clock: Arc::clone(&cx.clock), sleepers: Arc::default() };
        let ports = cx.ports().with_timer(Arc::new(timer.clone()));
        let cx = cx.rebuilt(ports, |_| {});
        World { cx, timer, log: Arc::default(), decide: Arc::new(decide) }
    }

    fn runner(&self, server: usize) -> Runner {
        let receiver = Receiver {
            server,
            log: Arc::clone(&self.log),
            timer: self.timer.clone(),
            decide: Arc::clone(&self.decide),
        };
        let settings = WebhookSettings::default();
        let webhooks = Webhooks::new(Arc::clone(&self.cx.platform), Arc::new(receiver), settings);
        Runner::new(webhooks, Arc::new(NoObserver))
    }

    fn endpoint(&self, body: Value) -> String {
        let mut body = body;
        if body["url"].is_null() {
            body["url"] = json!("https://hooks.example.com/");
        }
        self.cx.post(PATH, &body).expect(201).id()
    }

    fn show(&self, id: &str) -> Value {
        self.cx.get(&format!("/events/endpoints/{id}/chatbots/<A>")).expect(200).data().clone()
    }

    fn contact(&self, number: usize) -> String {
        self.cx.create(&json!({ "primaryEmail": format!("{number}@example.com") })).id()
    }

    /// Polls futures, each as long as it is not done, until a condition holds. Panics after a day of virtual time.
    fn run(&self, runners: &[&Runner], mut until: impl FnMut(&World) -> bool) {
        let mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> =
            runners.iter().map(|runner| Box::pin(runner.run(std::future::pending())) as _).collect();
        self.poll(&mut futures, &mut until);
    }

    fn poll(
        &self,
        futures: &mut Vec<Pin<Box<dyn Future<Output = ()> + '_>>>,
        until: &mut dyn FnMut(&World) -> bool,
    ) {
        let flag = Arc::new(Flag { is_set: AtomicBool::new(true), thread: std::thread::current() });
        let waker = Waker::from(Arc::clone(&flag));
        let end = self.cx.clock.now().plus_millis(86_400_000);
        while !until(self) {
            assert!(self.cx.clock.now() < end, "what is waited for does not happen");
            if !flag.is_set.swap(false, Ordering::SeqCst) {
                // A store may have threads of its own.
                std::thread::park_timeout(Duration::from_millis(2));
                if !flag.is_set.load(Ordering::SeqCst) {
                    self.timer.advance();
                }
                continue;
            }
            futures.retain_mut(|future| future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
    }

    /// The numbers of accepted events in their order.
    fn accepted(&self) -> Vec<u64> {
        let log = self.log.lock();
        let accepted = log.attempts.iter().filter(|(.., accepted)| *accepted);
        accepted.map(|(_, event, _)| event["seq"].as_u64().unwrap()).collect()
    }

    fn log_of_agent(&self) -> Vec<Value> {
        // Without the API, whose key has limits: this is looked at again and again.
        let page = wait(self.cx.store.storage.log(&self.cx.agent, 0, 500)).unwrap();
        page.entries.iter().map(|entry| json!(Event::of(&self.cx.agent, entry).unwrap())).collect()
    }

    fn has_all(&self) -> bool {
        let head = self.log_of_agent().len() as u64;
        let accepted: BTreeSet<u64> = self.accepted().into_iter().collect();
        (1..=head).all(|seq| accepted.contains(&seq))
    }
}

#[expect(clippy::disallowed_methods, reason = "the threads of a store go by the real clock")]
fn real_now() -> Instant {
    Instant::now()
}

fn every_event_arrives(backend: Backend) {
    let world = World::new(backend);
    let (id, runner) = (world.endpoint(json!({ "from": "oldest" })), world.runner(0));
    (0..40).for_each(|number| drop(world.contact(number)));
    world.run(&[&runner], World::has_all);
    let events = world.log_of_agent();
    {
        let log = world.log.lock();
        assert_eq!(log.attempts.len(), events.len(), "each once");
        for (_, sent, _) in &log.attempts {
            let seq = usize::try_from(sent["seq"].as_u64().unwrap()).unwrap();
            assert_eq!(*sent, events[seq - 1], "the message is the event");
        }
    }
    // At the end the lease is given back, and nothing is due.
    let (stop, ended) = (AtomicBool::new(false), Cell::new(false));
    let stopped = poll_fn(|_| if stop.load(Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending });
    let mut futures: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = vec![Box::pin(async {
        runner.run(stopped).await;
        ended.set(true);
    })];
    let is_settled = |world: &World| {
        let shown = world.show(&id);
        (shown["cursor"].as_u64(), shown["pending"].as_u64()) == (Some(events.len() as u64), Some(0))
    };
    world.poll(&mut futures, &mut |world| is_settled(world));
    stop.store(true, Ordering::SeqCst);
    // How many rounds the store's threads take depends on what else the machine does.
    let latest = real_now() + Duration::from_mins(1);
    world.poll(&mut futures, &mut |_| ended.get() || real_now() > latest);
    assert!(ended.get(), "a runner that is stopped ends");
    let kind = openapi_core::storage::RecordKind::WebhookState;
    let far = world.cx.clock.now().plus_millis(86_400_000);
    assert_eq!(wait(world.cx.store.storage.due_records(kind, far, 9)).unwrap(), []);
}

/// An example of each type of the catalogue, and of each reason of one that a conversation has.
fn examples() -> Vec<(EventType, Value)> {
    let of_kind = |kind: &EventType| {
        let (kind, example) = (*kind, kind.example());
        let has_reasons = example["conversationId"].is_string() && example["reason"].is_string();
        let reasons = ConversationReason::ALL.iter().filter(move |_| has_reasons);
        let with_reason = |reason: &ConversationReason| {
            let mut example = example.clone();
            example["reason"] = json!(reason);
            example
        };
        let mut examples: Vec<Value> = reasons.map(with_reason).collect();
        if !has_reasons {
            examples.push(example);
        }
        examples.into_iter().map(move |example| (kind, example))
    };
    EventType::ALL.iter().flat_map(of_kind).collect()
}

/// An event of each type of the catalogue arrives, signed and as the log has it, for whatever reason.
/// `conversations/catalogue.rs` shows that each of them is emitted.
fn every_type_arrives(backend: Backend) {
    let world = World::new(backend);
    let (id, runner) = (world.endpoint(json!({})), world.runner(0));
    let head = world.log_of_agent().len() as u64;
    let examples = examples();
    let entry = |(seq, (kind, data)): (u64, &(EventType, Value))| {
        let mut data = data.clone();
        if !data["notify"].is_null() {
            data["notify"] = json!(id);
        }
        let body = json!({ "actor": { "type": "system", "id": null }, "data": data });
        TransferRow::Log(LogEntry {
            seq,
            id: PlatformId::from_bytes([u8::try_from(seq).unwrap(); 12]),
            at: world.cx.clock.now(),
            kind: *kind,
            contact: None,
            body: Some(RawObject::from_text(body.to_string()).unwrap()),
        })
    };
    let rows: Vec<TransferRow> = (head + 1..).zip(&examples).map(entry).collect();
    wait(world.cx.store.moves().put_records(&world.cx.agent, &rows)).unwrap();
    world.run(&[&runner], |world| world.log.lock().attempts.len() >= examples.len());
    let log = world.log.lock();
    let received: BTreeSet<&str> = log.attempts.iter().map(|it| it.1["type"].as_str().unwrap()).collect();
    assert_eq!(received, EventType::ALL.iter().map(|kind| kind.as_str()).collect());
    let closed = log.attempts.iter().filter(|it| it.1["type"] == "conversation.closed");
    let reasons: BTreeSet<&str> = closed.map(|it| it.1["data"]["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ConversationReason::ALL.iter().map(|reason| reason.as_str()).collect());
    let events = world.log_of_agent();
    for (_, sent, accepted) in &log.attempts {
        let seq = usize::try_from(sent["seq"].as_u64().unwrap()).unwrap();
        assert!(*accepted && *sent == events[seq - 1], "the message is the event: {sent}");
    }
}

fn order_survives_failures(backend: Backend) {
    let failing = |_: &str, seq: u64, log: &Log| {
        let tries = log.attempts.iter().filter(|(_, event, _)| event["seq"] == seq).count();
        match (seq % 5, tries) {
            (0, 0) => Ok(503),
            (2, 0..2) => Err(OutboundError::Timeout("response")),
            (4, 0) => Ok(302),
            _ => Ok(200),
        }
    };
    let world = World::answering(backend, failing);
    let (id, runner) = (world.endpoint(json!({ "from": "oldest", "mode": "ordered" })), world.runner(0));
    (0..12).for_each(|number| drop(world.contact(number)));
    world.run(&[&runner], World::has_all);
    let expected: Vec<u64> = (1..=world.log_of_agent().len() as u64).collect();
    assert_eq!(world.accepted(), expected);
    let attempts =
        world.cx.get(&format!("/events/endpoints/{id}/attempts/chatbots/<A>?failed=true")).expect(200);
    let attempts = attempts.data().as_array().unwrap();
    assert!(attempts.iter().any(|it| it["status"] == 503 && it["body"] == "what went wrong"), "{attempts:?}");
    assert!(attempts.iter().any(|it| it["error"] == "timeout" && it["status"].is_null()), "{attempts:?}");
    let numbers: Vec<u64> = attempts.iter().map(|it| it["number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a > b), "newest first: {numbers:?}");
}

fn crashes_lose_nothing(backend: Backend) {
    let crashes = if matches!(backend, Backend::Memory) { 60 } else { 12 };
    for mode in ["parallel", "ordered"] {
        let world = World::new(backend);
        let _ = world.endpoint(json!({ "from": "oldest", "mode": mode }));
        let mut random = SplitMix64(7);
        for number in 0..crashes {
            drop(world.contact(number));
            let runner = world.runner(number);
            let mut rounds = random.below(200);
            // Dropped wherever it stands, like a process that is killed; its lease stays.
            world.run(&[&runner], |_| {
                rounds = rounds.saturating_sub(1);
                rounds == 0
            });
        }
        world.run(&[&world.runner(9_999)], World::has_all);
        let mut firsts = Vec::new();
        for seq in world.accepted() {
            if !firsts.contains(&seq) {
                firsts.push(seq);
            }
        }
        assert!(mode == "parallel" || firsts.is_sorted(), "{firsts:?}");
        let mut bodies: BTreeMap<u64, Value> = BTreeMap::new();
        for (_, event, _) in &world.log.lock().attempts {
            let first = bodies.entry(event["seq"].as_u64().unwrap()).or_insert_with(|| event.clone());
            assert_eq!(first, event, "a repeated message is the same");
        }
    }
}

fn one_server_sends_at_a_time(backend: Backend) {
    let world = World::new(backend);
    for name in ["a", "b", "c"] {
        let _ =
            world.endpoint(json!({ "from": "oldest", "url": format!("https://hooks.example.com/{name}") }));
    }
    let runners = [world.runner(0), world.runner(1), world.runner(2)];
    let mut next = 0;
    world.run(&[&runners[0], &runners[1], &runners[2]], |world| {
        if next < 30 {
            drop(world.contact(next));
            next += 1;
        }
        let head = world.log_of_agent().len();
        next == 30 && world.log.lock().attempts.len() >= 3 * head
    });
    let log = world.log.lock();
    assert_eq!(log.most_senders, 1);
    assert_eq!(log.attempts.len(), 3 * world.log_of_agent().len(), "nothing twice");
}

fn a_receiver_that_is_gone_disables_its_endpoint(backend: Backend) {
    let world = World::answering(backend, |url, _, _| Ok(if url.ends_with("gone") { 410 } else { 204 }));
    let gone = world.endpoint(json!({ "from": "oldest", "url": "https://hooks.example.com/gone" }));
    let other = world.endpoint(json!({ "types": ["endpoint.*"], "url": "https://hooks.example.com/other" }));
    let runner = world.runner(0);
    world.run(&[&runner], |world| !world.accepted().is_empty());
    let shown = world.show(&gone);
    assert_eq!((&shown["status"], &shown["statusReason"]), (&json!("disabled"), &json!("gone")));
    assert_eq!(world.show(&other)["status"], "enabled");
    let log = world.log.lock();
    let (_, heard, _) = log.attempts.iter().find(|(.., accepted)| *accepted).unwrap();
    assert_eq!((&heard["type"], &heard["actor"]["type"]), (&json!("endpoint.disabled"), &json!("system")));
    assert_eq!(heard["data"], json!({ "endpointId": gone, "reason": "gone" }));
}

fn events_of_erased_contacts_are_not_sent(backend: Backend) {
    let world = World::new(backend);
    let _ = world.endpoint(json!({ "types": ["contact.*"] }));
    let (erased, stays) = (world.contact(1), world.contact(2));
    let id = ContactRef::Id(erased.parse().unwrap());
    wait(world.cx.platform.erase_contact(&operator(), &world.cx.agent, &id)).unwrap();
    let runner = world.runner(0);
    world.run(&[&runner], |world| world.accepted().len() >= 2);
    let log = world.log.lock();
    let sent: Vec<(&str, &str)> = log
        .attempts
        .iter()
        .map(|(_, event, _)| (event["type"].as_str().unwrap(), event["data"]["contactId"].as_str().unwrap()))
        .collect();
    let mut sorted = sent.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [("contact.created", &*stays), ("contact.erased", &*erased)]);
}

fn attempts_go_with_their_contact(backend: Backend) {
    let world = World::answering(backend, |_, _, log| Ok(if log.attempts.len() < 2 { 500 } else { 204 }));
    let id = world.endpoint(json!({ "types": ["contact.created"] }));
    let (erased, _) = (world.contact(1), world.contact(2));
    let attempts = |world: &World| {
        let path = format!("/events/endpoints/{id}/attempts/chatbots/<A>?failed=true");
        world.cx.get(&path).expect(200).data().as_array().unwrap().len()
    };
    let runner = world.runner(0);
    world.run(&[&runner], |world| world.accepted().len() >= 2 && attempts(world) == 2);
    let contact = ContactRef::Id(erased.parse().unwrap());
    wait(world.cx.platform.erase_contact(&operator(), &world.cx.agent, &contact)).unwrap();
    assert_eq!(attempts(&world), 1, "the receiver's text may tell of the contact");
}

fn a_lost_secret_disables_its_endpoint(backend: Backend) {
    let mut world = World::new(backend);
    let id = world.endpoint(json!({ "from": "oldest" }));
    let mut ports = world.cx.ports();
    ports.server_keys = ServerKeys::new(ServerKey::new(&[8; 32]), Vec::new());
    world.cx = world.cx.rebuilt(ports, |_| {});
    world.cx.credentials = world.cx.issue(|_| {});
    let runner = world.runner(0);
    world.run(&[&runner], |world| world.show(&id)["status"] == "disabled");
    assert_eq!(world.show(&id)["statusReason"], "secretLost");
    assert!(world.log.lock().attempts.is_empty(), "nothing is sent that cannot be signed");
    let put = |body| world.cx.put(&format!("/events/endpoints/{id}/chatbots/<A>"), &body);
    let _ = put(json!({ "status": "enabled" })).invalid(&[("status", "conflict")]);
    let _ = world.cx.call("POST", &format!("/events/endpoints/{id}/rotate/chatbots/<A>")).send().expect(200);
    let _ = put(json!({ "status": "enabled" })).expect(200);
    world.run(&[&runner], World::has_all);
}

fn a_disabled_agent_pauses(backend: Backend) {
    let world = World::new(backend);
    let _ = world.endpoint(json!({ "from": "oldest" }));
    wait(world.cx.platform.disable_agent(&operator(), &world.cx.agent)).unwrap();
    let runner = world.runner(0);
    let end = world.cx.clock.now().plus_millis(120_000);
    world.run(&[&runner], |world| world.cx.clock.now() > end);
    assert!(world.log.lock().attempts.is_empty());
    wait(world.cx.platform.enable_agent(&operator(), &world.cx.agent)).unwrap();
    world.run(&[&runner], World::has_all);
}

fn changes_are_followed(backend: Backend) {
    let world = World::answering(backend, |url, _, _| Ok(if url.ends_with("old") { 500 } else { 204 }));
    let id = world
        .endpoint(json!({ "from": "oldest", "mode": "ordered", "url": "https://hooks.example.com/old" }));
    let runner = world.runner(0);
    world.run(&[&runner], |world| world.log.lock().attempts.len() >= 2);
    let before = world.cx.clock.now();
    let change = json!({ "url": "https://hooks.example.com/new" });
    let _ = world.cx.put(&format!("/events/endpoints/{id}/chatbots/<A>"), &change).expect(200);
    world.run(&[&runner], World::has_all);
    let took = world.cx.clock.now().millis_since(before);
    assert!(took < 60_000, "the new receiver waits for no pause of the old one, not {took} ms");
}

fn the_named_endpoint_alone_receives_the_end_of_a_job(backend: Backend) {
    let world = World::new(backend);
    let endpoint = |name: &str| {
        let url = format!("https://{name}.example.com/");
        (world.endpoint(json!({ "url": url, "types": ["extraction.*"] })), url)
    };
    let ((first, first_url), (_, second_url)) = (endpoint("first"), endpoint("second"));
    let jobs = "/document-extraction/jobs";
    let cancelled = |notify: &str| {
        let form =
            Form::new().document("a.txt", b"total: 7").text("schema", r#"{"total":{"type":"string"}}"#);
        let job = world.cx.call("POST", jobs).form(&form.text("notify", notify)).send().expect(201).id();
        let _ = world.cx.patch(&format!("{jobs}/{job}/cancel")).expect(200);
        job
    };
    let (named, open) = (cancelled(&first), cancelled(""));
    let runner = world.runner(0);
    // Long enough for a message to each endpoint about each job.
    let later = world.cx.clock.now().plus_millis(60_000);
    world.run(&[&runner], |world| world.log.lock().attempts.len() >= 3 && world.cx.clock.now() >= later);
    let log = world.log.lock();
    let mut received: Vec<(&str, &str, &Value)> = log
        .attempts
        .iter()
        .map(|(url, event, _)| (&**url, event["data"]["jobId"].as_str().unwrap(), &event["data"]["notify"]))
        .collect();
    received.sort_unstable_by_key(|it| (it.0, it.1));
    let mut expected = [
        (&*first_url, &*named, &json!(first)),
        (&*first_url, &*open, &Value::Null),
        (&*second_url, &*open, &Value::Null),
    ];
    expected.sort_unstable_by_key(|it| (it.0, it.1));
    assert_eq!(received, expected);
}
