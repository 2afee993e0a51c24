//! The live stream: who receives what, where it goes on, and when it ends.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use console::{AccountSettings, Console, ConsoleSettings, LiveStreams, Operator};
use conversations::{ChatPorts, Conversations};
use events::streams::EventHub;
use http_body_util::BodyExt;
use openapi_core::api::ApiBody;
use openapi_core::service::EventStreamQuery;
use openapi_core::storage::LogStore;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Answer, Browser, ORIGIN, World, accounts, call_as};
use super::tokens;

fn with_live(mut settings: ConsoleSettings) -> (ConsoleSettings, EventHub) {
    let hub = EventHub::default();
    let own = hub.clone();
    settings.live = Some(LiveStreams::new(move |source, agent, after| {
        let query = EventStreamQuery { after: Some(after), ..EventStreamQuery::default() };
        Box::pin(own.pages(source, agent, query))
    }));
    (settings, hub)
}

fn hosted() -> World {
    World::new(with_live(ConsoleSettings::mounted("", ORIGIN)).0).with_agents()
}

fn with_accounts(accounts: AccountSettings) -> World {
    World::new(with_live(ConsoleSettings::with_accounts(ORIGIN, accounts)).0).with_agents()
}

/// Something that a stream has sent.
#[derive(Clone, Debug)]
struct Sent {
    id: String,
    event: String,
    data: Value,
}

/// A stream that is open.
struct Stream {
    body: Pin<Box<ApiBody>>,
    text: String,
    has_ended: bool,
    last_id: String,
}

impl Stream {
    /// What has arrived since the last call.
    fn take(&mut self) -> Vec<Sent> {
        while !self.has_ended {
            let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut self.body.frame()).poll(cx)));
            match pollster::block_on(polled) {
                Poll::Ready(Some(frame)) => {
                    let bytes = frame.unwrap().into_data().unwrap();
                    self.text += std::str::from_utf8(&bytes).unwrap();
                }
                Poll::Ready(None) => self.has_ended = true,
                Poll::Pending => break,
            }
        }
        let text = std::mem::take(&mut self.text);
        let sent: Vec<Sent> = text.split_terminator("\n\n").map(sent).collect();
        if let Some(last) = sent.last() {
            self.last_id.clone_from(&last.id);
        }
        sent
    }

    /// The same of events of logs alone: agent, number, type.
    fn events(&mut self) -> Vec<(String, u64, String)> {
        let events = self.take().into_iter().filter(|sent| sent.event == "event");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        events
            .map(|sent| {
                (text(&sent.data["agent"]), sent.data["seq"].as_u64().unwrap(), text(&sent.data["type"]))
            })
            .collect()
    }
}

fn sent(block: &str) -> Sent {
    let field = |name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("no {name} in {block:?}")).to_owned()
    };
    Sent { id: field("id"), event: field("event"), data: serde_json::from_str(&field("data")).unwrap() }
}

fn names(sent: &[Sent]) -> Vec<&str> {
    sent.iter().map(|sent| sent.event.as_str()).collect()
}

/// Opens a stream by a session, or as somebody whom a host application has signed in.
fn open(
    world: &World,
    by: Result<&Browser, &str>,
    agents: &str,
    after: Option<&str>,
) -> Result<Stream, Box<Answer>> {
    let browser = by.ok().cloned().unwrap_or_default();
    let mut request = browser.request("GET", &format!("/stream?agents={agents}"), &Value::Null);
    if let Err(grants) = by {
        request.extensions_mut().insert(Operator::new("u-17", "Zoë Okafor", grants.parse().unwrap()));
    }
    if let Some(after) = after {
        request.headers_mut().insert("last-event-id", after.parse().unwrap());
    }
    let response = pollster::block_on(world.console.handle(request));
    if response.status() != 200 {
        return Err(Box::new(Answer::of(response)));
    }
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-store, no-transform");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let (body, text, last_id) = (Box::pin(response.into_body()), String::new(), String::new());
    Ok(Stream { body, text, has_ended: false, last_id })
}

fn refused(opened: Result<Stream, Box<Answer>>) -> (u16, String) {
    let answer = opened.err().expect("a refusal");
    (answer.status, answer.code().to_owned())
}

/// Creates a contact, which is one event.
fn contact(world: &World, agent: &str) {
    let body = json!({ "primaryEmail": "ada@example.com" });
    call_as(world, "owner", "POST", &format!("/agents/{agent}/contacts"), &body).data();
}

fn key(world: &World, agent: &str) {
    let body = json!({ "name": "CRM", "permissions": ["contacts:read"] });
    call_as(world, "owner", "POST", &format!("/agents/{agent}/keys"), &body).data();
}

/// What a page reads after it has read the agents needs no second look when its stream begins.
#[test]
fn a_stream_from_the_list_of_agents_has_all_that_happened_since() {
    let world = hosted();
    contact(&world, "acme");
    let agents = call_as(&world, "viewer", "GET", "/agents", &Value::Null).data().clone();
    let shown = call_as(&world, "viewer", "GET", "/agents/acme", &Value::Null).data().clone();
    assert_eq!(agents[0], shown);
    assert_ne!(agents[0]["liveFrom"], agents[1]["liveFrom"]);
    key(&world, "acme");
    let mut stream = open(&world, Err("owner"), "acme", shown["liveFrom"].as_str()).unwrap();
    let begun = stream.take();
    assert_eq!(begun[0].data, json!({ "agents": ["acme"], "fresh": [] }));
    let kinds: Vec<String> = begun[1..].iter().map(|event| event.data["type"].to_string()).collect();
    let later = stream.events().into_iter().map(|(_, _, kind)| format!("{kind:?}"));
    assert_eq!(kinds.into_iter().chain(later).collect::<Vec<_>>(), [r#""key.created""#]);
    let without = World::hosted();
    let agents = call_as(&without, "viewer", "GET", "/agents", &Value::Null);
    assert_eq!(agents.data()[0]["liveFrom"], Value::Null);
}

#[test]
fn events_arrive_as_they_happen_and_only_for_who_may_see_them() {
    let world = hosted();
    let mut streams: Vec<(&str, Stream)> = ["owner", "developer@acme", "inbox@acme", "agent-editor@acme"]
        .into_iter()
        .map(|grants| (grants, open(&world, Err(grants), "acme", None).unwrap()))
        .collect();
    for (grants, stream) in &mut streams {
        let begun = stream.take();
        assert_eq!(names(&begun), ["ready"], "{grants}");
        assert_eq!(begun[0].data, json!({ "agents": ["acme"], "fresh": ["acme"] }));
    }
    contact(&world, "acme");
    key(&world, "acme");
    contact(&world, "beta");
    for (grants, stream) in &mut streams {
        let kinds: Vec<String> = stream.events().into_iter().map(|(_, _, kind)| kind).collect();
        let expected: &[&str] = match *grants {
            "owner" | "developer@acme" => &["contact.created", "key.created"],
            "inbox@acme" => &["contact.created"],
            _ => &[],
        };
        assert_eq!(kinds, expected, "{grants}");
    }
    // What is left out moves the cursor too: a ping says so.
    let (_, editor) = streams.last_mut().unwrap();
    let before = editor.last_id.clone();
    world.clock.advance_millis(15_000);
    assert_eq!(names(&editor.take()), ["ping"]);
    assert!(before.starts_with("acme:0") && editor.last_id.starts_with("acme:2."), "{}", editor.last_id);
}

#[test]
fn agents_that_the_operator_does_not_know_are_not_there() {
    let world = hosted();
    let refused = |grants: &str, agents: &str| refused(open(&world, Err(grants), agents, None));
    for (grants, agents) in [("admin@beta", "acme"), ("admin@beta", "beta,acme"), ("owner", "no-such-agent")]
    {
        assert_eq!(refused(grants, agents), (404, "NOT_FOUND".to_owned()), "{agents} by {grants}");
    }
    let many: Vec<String> = (0..21).map(|n| format!("agent-{n}")).collect();
    for agents in ["", "acme,", "a%20b", &many.join(",")] {
        assert_eq!(refused("owner", agents), (400, "VALIDATION_ERROR".to_owned()), "{agents}");
    }
    let nobody = Browser::default();
    assert_eq!(open(&world, Ok(&nobody), "acme", None).err().unwrap().code(), "UNAUTHENTICATED");
}

#[test]
fn a_server_without_streams_or_without_events_says_so() {
    for (settings, has_events) in [
        (ConsoleSettings::mounted("", ORIGIN), true),
        (with_live(ConsoleSettings::mounted("", ORIGIN)).0, false),
    ] {
        let mut world = World::new(settings.clone()).with_agents();
        if !has_events {
            let ports = world.platform.ports().clone();
            let service = world.platform.service_info().clone();
            let platform =
                openapi_core::platform::Platform::new(Arc::clone(&world.storage) as _, ports, service);
            let platform = Arc::new(platform.without_events());
            let chat = Conversations::new(platform, Arc::clone(&world.storage) as _, ChatPorts::new());
            world.console = Console::new(chat, settings);
        }
        assert_eq!(refused(open(&world, Err("owner"), "acme", None)), (503, "EVENTS_UNAVAILABLE".to_owned()));
    }
}

#[test]
fn a_session_has_six_streams_and_gets_a_slot_back_from_each_that_ends() {
    let world = with_accounts(accounts());
    let mut owner = world.owner();
    let ada = world.invited(&mut owner, "ada@example.com", "viewer");
    let mut streams: Vec<Stream> = (0..6).map(|_| open(&world, Ok(&owner), "acme", None).unwrap()).collect();
    assert_eq!(refused(open(&world, Ok(&owner), "acme", None)), (429, "STREAM_LIMIT_EXCEEDED".to_owned()));
    let of_ada = open(&world, Ok(&ada), "acme", None).unwrap();
    assert_eq!(world.console.settings().live.as_ref().unwrap().open_streams(), 7);
    streams.pop();
    streams.push(open(&world, Ok(&owner), "acme", None).unwrap());
    // A stream that is refused for another reason takes none.
    assert_eq!(refused(open(&world, Ok(&ada), "none", None)).0, 404);
    drop((streams, of_ada));
    assert_eq!(world.console.settings().live.as_ref().unwrap().open_streams(), 0);
}

/// What ends a session, or changes its grants, ends its streams within 5 s.
#[test]
fn a_stream_ends_with_its_session() {
    type End = fn(&World, &mut Browser, &mut Browser, &str);
    let ends: [(&str, &str, End); 5] = [
        ("signing out", "ended", |world, _, ada, _| {
            ada.call(world, "DELETE", "/session", &Value::Null);
        }),
        ("ended by an owner", "ended", |world, owner, _, id| {
            owner.call(world, "DELETE", &format!("/members/{id}/sessions"), &Value::Null).data();
        }),
        ("disabled", "ended", |world, owner, _, id| {
            owner.call(world, "POST", &format!("/members/{id}/disable"), &json!({})).data();
        }),
        ("removed", "ended", |world, owner, _, id| {
            owner.call(world, "DELETE", &format!("/members/{id}"), &Value::Null);
        }),
        ("other grants", "changed", |world, owner, _, id| {
            let mut request =
                owner.request("PUT", &format!("/members/{id}/grants"), &json!({ "grants": ["viewer@beta"] }));
            request.headers_mut().insert("if-match", "*".parse().unwrap());
            owner.send(world, request).data();
        }),
    ];
    for (what, reason, end) in ends {
        let world = with_accounts(accounts());
        let mut owner = world.owner();
        let mut ada = world.invited(&mut owner, "ada@example.com", "inbox@acme");
        let members = owner.call(&world, "GET", "/members", &Value::Null).data().clone();
        let id = members.as_array().unwrap().iter().find(|one| one["email"] == "ada@example.com");
        let id = id.unwrap()["id"].as_str().unwrap().to_owned();
        let mut of_owner = open(&world, Ok(&owner), "acme", None).unwrap();
        let mut of_ada = open(&world, Ok(&ada), "acme", None).unwrap();
        assert_eq!((names(&of_ada.take()), names(&of_owner.take())), (vec!["ready"], vec!["ready"]));
        // Not at a moment when the stream has just looked.
        for millis in [3_900, 90] {
            world.clock.advance_millis(millis);
            assert!(of_ada.take().is_empty(), "{what}");
        }
        end(&world, &mut owner, &mut ada, &id);
        world.clock.advance_millis(4_900);
        let ended = of_ada.take();
        assert_eq!((names(&ended), &ended[0].data["reason"]), (vec!["session"], &json!(reason)), "{what}");
        assert!(of_ada.has_ended, "{what}");
        assert!(of_owner.take().is_empty() && !of_owner.has_ended, "{what}: the other one goes on");
    }
}

#[test]
fn a_stream_ends_with_its_token() {
    let world = with_accounts(accounts());
    let mut owner = world.owner();
    let (id, text) = tokens::token(&world, &mut owner, &["viewer"], &[]);
    let request = tokens::request(&text, "GET", "/stream?agents=acme", &Value::Null);
    let response = pollster::block_on(world.console.handle(request));
    assert_eq!(response.status(), 200);
    let (text, last_id) = (String::new(), String::new());
    let mut stream = Stream { body: Box::pin(response.into_body()), text, has_ended: false, last_id };
    assert_eq!(names(&stream.take()), ["ready"]);
    world.pass(4_000);
    assert!(stream.take().is_empty() && !stream.has_ended);
    let path = format!("/tokens/{id}");
    owner.call(&world, "DELETE", &path, &json!({ "confirm": "CI" })).data();
    world.pass(5_000);
    let sent = stream.take();
    assert_eq!((names(&sent), &sent[0].data), (vec!["session"], &json!({ "reason": "ended" })));
    assert!(stream.has_ended);
}

#[test]
fn a_stream_does_not_prolong_its_session() {
    let idle_millis = 60 * 60_000;
    let world = with_accounts(AccountSettings { idle_millis, ..accounts() });
    let mut owner = world.owner();
    for _ in 0..5 {
        world.clock.advance_millis(idle_millis / 5 - 1_000);
        let mut stream = open(&world, Ok(&owner), "acme", None).unwrap();
        assert_eq!(names(&stream.take()), ["ready"]);
    }
    let mut stream = open(&world, Ok(&owner), "acme", None).unwrap();
    stream.take();
    world.clock.advance_millis(6_000);
    assert_eq!(names(&stream.take()), ["session"]);
    assert_eq!(owner.call(&world, "GET", "/agents", &Value::Null).code(), "SESSION_ENDED");
}

#[test]
fn streams_end_with_their_time_and_when_the_server_drains() {
    let (settings, hub) = with_live(ConsoleSettings::with_accounts(ORIGIN, accounts()));
    let world = World::new(settings).with_agents();
    let owner = world.owner();
    let mut stream = open(&world, Ok(&owner), "acme", None).unwrap();
    let mut pings = 0;
    for _ in 0..15 * 60 / 5 {
        assert!(!stream.has_ended);
        pings += stream.take().iter().filter(|sent| sent.event == "ping").count();
        world.clock.advance_millis(5_000);
    }
    stream.take();
    assert!(stream.has_ended);
    assert!((55..=60).contains(&pings), "{pings}");
    let mut drained = open(&world, Ok(&owner), "acme", None).unwrap();
    assert_eq!(names(&drained.take()), ["ready"]);
    hub.close(&*world.storage);
    assert!(drained.take().is_empty() && drained.has_ended);
    // A host application alone knows whether a session of its own still stands.
    let world = hosted();
    let mut stream = open(&world, Err("owner"), "acme", None).unwrap();
    stream.take();
    world.clock.advance_millis(60_000);
    stream.take();
    assert!(stream.has_ended);
}

#[test]
fn a_client_that_misses_too_many_events_reads_again() {
    let world = hosted();
    let gap = |sent: &[Sent]| {
        let gap = sent.iter().find(|sent| sent.event == "gap").cloned();
        gap.unwrap_or_else(|| panic!("no gap: {sent:?}"))
    };
    let mut slow = open(&world, Err("owner"), "beta,acme", None).unwrap();
    let begun = slow.take()[0].id.clone();
    for _ in 0..300 {
        contact(&world, "acme");
    }
    contact(&world, "beta");
    let sent = slow.take();
    assert_eq!(gap(&sent).data, json!({ "agent": "acme", "reason": "tooMany" }));
    assert_eq!(sent.iter().filter(|sent| sent.data["agent"] == "beta").count(), 1, "{sent:?}");
    // What happens after the gap arrives.
    contact(&world, "acme");
    assert_eq!(slow.events(), [("acme".to_owned(), 301, "contact.created".to_owned())]);
    let mut again = open(&world, Err("owner"), "acme", Some(&begun)).unwrap();
    let sent = again.take();
    assert_eq!((names(&sent), &sent[1].data["reason"]), (vec!["ready", "gap"], &json!("tooMany")));
    let mut other = open(&world, Err("owner"), "acme", Some("acme:9999")).unwrap();
    assert_eq!(gap(&other.take()).data["reason"], "rewritten");
    let later = world.platform.now().plus_millis(1);
    while pollster::block_on(world.storage.sweep_log(&world.agent(), later, 500)).unwrap() > 0 {}
    let mut expired = open(&world, Err("owner"), "acme", Some("acme:100")).unwrap();
    assert_eq!(gap(&expired.take()).data["reason"], "expired");
    assert_eq!(refused(open(&world, Err("owner"), "acme", Some("no cursor"))).1, "VALIDATION_ERROR");
}

#[derive(Clone, Debug)]
enum Step {
    Happen(bool),
    Read,
    /// The connection is lost: what was sent and not read is gone.
    Lose,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever happens between two connections, each event arrives once and in order.
    #[test]
    fn nothing_is_lost_or_repeated(steps in prop::collection::vec(
        prop_oneof![4 => any::<bool>().prop_map(Step::Happen), 2 => Just(Step::Read), 2 => Just(Step::Lose)], 1..40,
    )) {
        let world = hosted();
        let mut stream = open(&world, Err("owner"), "acme,beta", None).unwrap();
        stream.take();
        let (mut written, mut seen) = (BTreeMap::<&str, u64>::new(), Vec::new());
        for step in steps.iter().chain([&Step::Lose, &Step::Read]) {
            match step {
                Step::Happen(first) => {
                    let agent = if *first { "acme" } else { "beta" };
                    contact(&world, agent);
                    *written.entry(agent).or_default() += 1;
                }
                Step::Read => seen.extend(stream.events()),
                Step::Lose => {
                    let id = stream.last_id.clone();
                    stream = open(&world, Err("owner"), "acme,beta", Some(&id)).unwrap();
                    stream.last_id = id;
                }
            }
        }
        for (agent, count) in written {
            let of_agent: Vec<u64> = seen.iter().filter(|(of, ..)| of == agent).map(|(_, seq, _)| *seq).collect();
            prop_assert_eq!(of_agent, (1..=count).collect::<Vec<_>>(), "{} {:?}", agent, &steps);
        }
    }
}
