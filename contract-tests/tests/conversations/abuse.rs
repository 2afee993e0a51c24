//! Hostile visitors: subscribers with many addresses, replayed challenges, floods of every kind of call, uploads that
//! trickle or are given up.

use std::net::IpAddr;
use std::pin::Pin;

use bytes::Bytes;
use conversations::widget::{OpenLimits, WidgetSettings, Window};
use futures_util::{FutureExt, StreamExt, stream};
use http::{Request, Response, header};
use http_body::Frame;
use http_body_util::StreamBody;
use openapi_core::api::{ApiBody, PeerAddress};
use pollster::block_on;
use serde_json::{Value, json};

use crate::support::*;
use crate::uploads::{PDF, form, id, with_uploads};

/// An address of a /64 within the /48 that a subscriber has.
fn address(network: u16) -> IpAddr {
    IpAddr::from([0x2001, 0xdb8, 1, network << 5, 0, 0, 0, 1])
}

const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

fn per_minute(limit: u32) -> Vec<Window> {
    vec![Window::of_seconds("minute", 60, limit)]
}

/// No limits but these.
fn limited(change: impl FnOnce(&mut WidgetSettings)) -> World {
    let mut settings = without_limits();
    change(&mut settings);
    let world = world_with(settings, false);
    world.configure(json!({ "chat": { "responder": "script" }, "uploads": { "enabled": true } }));
    world
}

#[test]
fn one_subscriber_cannot_silence_an_agent() {
    let world = limited(|settings| {
        settings.limits.address_turns = per_minute(4);
        settings.limits.agent_turns = per_minute(20);
    });
    let send = |number: u32, address| {
        world.send(&world.api, "/turns", &turn(number, &format!("Hi {number}"), None), |request| {
            request.extensions_mut().insert(PeerAddress(address));
        })
    };
    let of_subscriber: Vec<Answered> = (0..100).map(|number| send(number, address(number as u16))).collect();
    let passed = of_subscriber.iter().filter(|answered| answered.status == 200).count();
    // Four times the limit of an address, less those that take a challenge.
    assert!((8..=16).contains(&passed), "{passed}");
    assert_eq!(of_subscriber[99].json()["details"]["limit"], 16, "{}", of_subscriber[99].text);
    // Many subscribers bring the agent to its limit.
    for number in 0..100_u8 {
        send(100 + u32::from(number), IpAddr::from([198, 51, 100, number]));
    }
    assert_eq!(send(1_000, IpAddr::from([203, 0, 113, 1])).code(), "CHALLENGE_REQUIRED");
    let honest = world.post_from(ELSEWHERE, "/turns", &turn(1_001, "Hello", None));
    assert_eq!(honest.status, 200, "who solves it is answered: {}", honest.text);
}

#[test]
fn one_subscriber_gets_a_quarter_of_the_turns_of_a_day() {
    let world = boundless();
    world.configure(json!({ "chat": { "responder": "script", "turnsPerDay": 240 } }));
    let send = |number: u32, address| {
        world.send(&world.api, "/turns", &turn(number, &format!("Hi {number}"), None), |request| {
            request.extensions_mut().insert(PeerAddress(address));
        })
    };
    assert!((0..47).all(|number| send(number, address(number as u16)).status == 200));
    assert_eq!(send(47, address(47)).code(), "CHALLENGE_REQUIRED", "80 % of a quarter");
    assert_eq!(send(48, ELSEWHERE).event("done"), json!({ "outcome": "answered" }));
}

#[test]
fn an_agent_answers_at_most_four_times_its_limit() {
    let world = limited(|settings| settings.limits.agent_turns = per_minute(1));
    let turn_from = |number: u8| {
        let body = turn(number.into(), &format!("Hi {number}"), None);
        world.post_from(IpAddr::from([203, 0, 113, number]), "/turns", &body)
    };
    assert!((0..4).all(|number| turn_from(number).status == 200));
    let refused = turn_from(4);
    let details = refused.json()["details"].clone();
    assert_eq!((&details["scope"], &details["limit"]), (&json!("agent"), &json!(4)), "{}", refused.text);
}

#[test]
fn a_site_begins_four_times_as_many_conversations_as_an_address() {
    let world = limited(|settings| settings.limits.address_sessions = per_minute(5));
    let send = |number: u32| {
        world.send(&world.api, "/turns", &turn(number, &format!("Hi {number}"), None), |request| {
            // Each in its own /56.
            request.extensions_mut().insert(PeerAddress(address(number as u16 * 8)));
        })
    };
    assert!((0..15).all(|number| send(number).status == 200));
    assert_eq!(send(15).code(), "CHALLENGE_REQUIRED", "80 % of four times the limit");
}

#[test]
fn a_solved_challenge_admits_one_call() {
    let world = limited(|settings| {
        // Every turn of an address takes a challenge, and none is refused.
        settings.limits.address_repeats = vec![Window::of_seconds("minute", 600, 1)];
    });
    let another = world.another();
    for (number, api) in [(0, &world.api), (10, &another)] {
        assert_eq!(world.send(api, "/turns", &turn(number, "Buy this", None), |_| ()).status, 200);
    }
    let mut body = turn(1, "Buy this", None);
    let solution = world.post("/turns", &body).solution();
    body["challenge"] = solution.clone();
    let by_another = world.send(&another, "/turns", &body, |_| ());
    assert_eq!(by_another.code(), "CHALLENGE_REQUIRED", "another server asks again");
    let first = world.post("/turns", &body);
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!(world.post("/turns", &body).status, 200, "the same turn again");
    for number in 2..5 {
        let mut other = turn(number, "Buy this", None);
        other["challenge"] = solution.clone();
        assert_eq!(world.post("/turns", &other).code(), "CHALLENGE_REQUIRED");
    }
    // Nor in another conversation under the same id.
    let token = world.post_solved("/turns", &turn(9, "Buy this", None)).token();
    let mut other = turn(1, "Buy this", Some(&token));
    other["challenge"] = solution;
    assert_eq!(world.post("/turns", &other).code(), "CHALLENGE_REQUIRED");
}

#[test]
fn a_solution_of_a_lower_difficulty_does_not_suffice() {
    let world = limited(|settings| settings.limits.agent_turns = per_minute(5));
    for number in 0..3 {
        assert_eq!(world.turn(number, "Hi", None).status, 200);
    }
    let mut later = turn(20, "Hi", None);
    let easy = world.post("/turns", &later);
    assert_eq!(easy.json()["details"]["challenge"]["bits"], 16);
    later["challenge"] = easy.solution();
    for number in 3..5 {
        assert_eq!(world.post_solved("/turns", &turn(number, "Hi", None)).status, 200);
    }
    let refused = world.post("/turns", &later);
    assert_eq!(refused.json()["details"]["challenge"]["bits"], 19, "{}", refused.text);
}

/// The calls of a visitor besides turns, lead forms and uploads.
const OF_VISITOR: [&str; 6] = ["/sync", "/history", "/feedback", "/close", "/turns/cancel", "/turns/resume"];

#[test]
fn every_kind_of_call_counts_for_its_address_before_it_is_read() {
    let world = limited(|settings| settings.limits.address_requests = per_minute(40));
    let paths = OF_VISITOR.iter().copied().chain(["/turns", "/lead", "/uploads", "/nothing"]);
    let bodies = [json!([1]), json!({}), json!({ "agentId": "nobody" }), json!({ "token": "vt1.x.y" })];
    let calls: Vec<(&str, &Value)> =
        paths.flat_map(|path| bodies.iter().map(move |body| (path, body))).collect();
    let mut answered = calls.iter().map(|(path, body)| world.post(path, body));
    assert!(answered.by_ref().take(40).all(|answered| answered.status != 429));
    world.clock.advance_millis(30_000);
    for (path, body) in &calls {
        let refused = world.post(path, body);
        assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMIT_EXCEEDED"), "{path}");
        let details = refused.json()["details"].clone();
        assert_eq!((&details["scope"], &details["limit"]), (&json!("address"), &json!(40)));
    }
    let get = world.send(&world.api, &format!("/config?agentId={AGENT}"), &json!({}), |request| {
        *request.method_mut() = http::Method::GET;
    });
    assert_eq!(get.code(), "RATE_LIMIT_EXCEEDED");
    world.clock.advance_millis(30_000);
    assert_eq!(world.turn(1, "Hi", None).status, 200);
}

#[test]
fn calls_without_a_token_do_not_reach_the_store() {
    let world = limited(|settings| settings.limits.address_calls = per_minute(20));
    // An unknown agent would be 404, which takes a look into the store.
    for path in OF_VISITOR {
        let refused = world.post(path, &json!({ "agentId": "nobody" }));
        assert_eq!((refused.status, refused.code().as_str()), (401, "TOKEN_INVALID"), "{path}");
        let refused = world.post(path, &json!({ "agentId": "nobody", "token": 5 }));
        assert_eq!(refused.code(), "TOKEN_INVALID", "{path}");
    }
    for _ in 0..8 {
        assert_eq!(world.post("/sync", &json!([])).code(), "INVALID_JSON");
    }
    assert_eq!(world.post("/sync", &json!([])).code(), "RATE_LIMIT_EXCEEDED", "they count for the address");
}

#[test]
fn every_call_of_a_visitor_counts_for_the_visitor() {
    let world = limited(|settings| settings.limits.syncs = per_minute(12));
    let token = world.turn(1, "Hi", None).token();
    let body =
        json!({ "token": token, "turn": turn_id(9), "message": "695b6f80de7378c4412112d3", "value": 1 });
    for path in OF_VISITOR.iter().cycle().take(12) {
        assert_ne!(world.post(path, &body).status, 429, "{path}");
    }
    for path in OF_VISITOR {
        let refused = world.post(path, &body);
        assert_eq!(refused.status, 429, "{path}: {}", refused.text);
        assert_eq!(refused.json()["details"]["scope"], "visitor");
    }
    let other = world.turn(2, "Ho", None).token();
    assert_eq!(world.post("/sync", &json!({ "token": other })).status, 200, "another visitor");
}

#[test]
fn a_first_turn_is_known_in_its_network_only() {
    let world = boundless();
    let from = |address: [u8; 4]| world.post_from(address.into(), "/turns", &turn(1, "Hi", None));
    let first = from([203, 0, 113, 1]);
    let conversation = |answered: &Answered| answered.session()["conversation"].clone();
    assert_eq!(
        conversation(&from([203, 0, 113, 200])),
        conversation(&first),
        "another address of the network"
    );
    let elsewhere = from([198, 51, 100, 1]);
    assert_eq!(elsewhere.status, 200);
    assert_ne!(conversation(&elsewhere), conversation(&first), "somebody who has learnt the id");
    assert_eq!(world.messages_of(&first), 2);
}

type Running<'a> = Pin<Box<dyn Future<Output = Response<ApiBody>> + 'a>>;

impl World {
    /// An upload of so many bytes that arrive at once, and a rest that does not.
    fn trickle(&self, parts: &[(&str, &str)], from: IpAddr, bytes: usize) -> Running<'_> {
        let whole = form(parts, "letter.pdf", PDF);
        let (head, body) = whole.into_parts();
        let mut body = block_on(http_body_util::BodyExt::collect(body)).expect("a body").to_bytes().to_vec();
        // Without the end of the form.
        body.truncate(body.len() - b"\r\n--x--\r\n".len());
        body.resize(body.len() + bytes, b' ');
        let chunks: Vec<Bytes> = Bytes::from(body).chunks(16 * 1024).map(Bytes::copy_from_slice).collect();
        let frames = chunks.into_iter().map(|bytes| Ok::<_, std::io::Error>(Frame::data(bytes)));
        let body = StreamBody::new(stream::iter(frames).chain(stream::pending()));
        let mut request = Request::post("/widget/v1/uploads").body(Box::pin(body)).expect("a request");
        *request.headers_mut() = head.headers;
        request.headers_mut().remove(header::CONTENT_LENGTH);
        request.extensions_mut().insert(PeerAddress(from));
        Box::pin(self.api.handle(request))
    }

    /// Drives an upload as far as its bytes go. Returns the response, if there is one.
    fn drive(&self, upload: &mut Running<'_>) -> Option<Answered> {
        upload.now_or_never().map(|response| block_on(read(response)))
    }
}

#[test]
fn a_visitor_has_one_running_upload_and_an_address_a_few() {
    let world = limited(|settings| {
        settings.limits.open_uploads = OpenLimits { per_address: 3, per_agent: 0, per_process: 5 };
    });
    let token = world.turn(1, "Hi", None).token();
    let own: &[(&str, &str)] = &[("token", &token)];
    let mut first = world.trickle(own, ELSEWHERE, 1_000);
    assert!(world.drive(&mut first).is_none(), "it waits for more");
    let second = world.drive(&mut world.trickle(own, ELSEWHERE, 0)).expect("a response");
    assert_eq!(second.json()["details"]["scope"], "visitor", "{}", second.text);
    drop(first);
    assert_eq!(world.upload(own, "letter.pdf", PDF).status, 201, "the slot is free again");
    let new: &[(&str, &str)] = &[("agentId", AGENT)];
    let mut held: Vec<_> = (0..2).map(|_| world.trickle(new, ELSEWHERE, 0)).collect();
    assert!(held.iter_mut().all(|upload| world.drive(upload).is_none()));
    let asked = world.drive(&mut world.trickle(new, ELSEWHERE, 0)).expect("a response");
    assert_eq!(asked.code(), "CHALLENGE_REQUIRED", "from 80 % on");
    let mut others: Vec<_> = (0..3).map(|at| world.trickle(new, [192, 0, 2, at].into(), 0)).collect();
    assert!(others.iter_mut().all(|upload| world.drive(upload).is_none()));
    let busy = world.drive(&mut world.trickle(new, [192, 0, 2, 9].into(), 0)).expect("a response");
    assert_eq!(busy.code(), "SERVICE_UNAVAILABLE", "the process has no slot");
}

#[test]
fn uploads_that_are_given_up_count() {
    let world = with_uploads();
    let token = world.turn(1, "Hi", None).token();
    let own: &[(&str, &str)] = &[("token", &token)];
    for _ in 0..20 {
        assert!(world.drive(&mut world.trickle(own, ELSEWHERE, 1_000)).is_none());
    }
    let refused = world.upload(own, "letter.pdf", PDF);
    let details = refused.json()["details"].clone();
    assert_eq!((&details["scope"], &details["limit"]), (&json!("visitor"), &json!(20)), "{}", refused.text);
}

#[test]
fn bytes_of_files_are_limited_while_they_arrive() {
    const MIB: usize = 1 << 20;
    type Limit = fn(&mut WidgetSettings) -> &mut Vec<Window>;
    let limits: [(&str, Limit); 3] = [
        ("address", |settings| &mut settings.limits.address_upload_mib),
        ("agent", |settings| &mut settings.limits.agent_upload_mib),
        ("service", |settings| &mut settings.limits.upload_mib),
    ];
    for (scope, limit) in limits {
        let world = limited(|settings| {
            *limit(settings) = vec![Window { name: "day", millis: 86_400_000, limit: 4 }];
        });
        let new: &[(&str, &str)] = &[("agentId", AGENT)];
        // Half of a file that is given up, then a file that is too much.
        assert!(world.drive(&mut world.trickle(new, ELSEWHERE, 2 * MIB - 100_000)).is_none());
        let refused = world.drive(&mut world.trickle(new, ELSEWHERE, 5 * MIB)).expect("refused at 2 MiB");
        assert_eq!(refused.json()["details"]["scope"], scope, "{}", refused.text);
        let other = world.drive(&mut world.trickle(new, [192, 0, 2, 1].into(), 0));
        assert_eq!(other.is_none(), scope == "address", "others have the same limit, or their own");
        let swept = block_on(world.platform.sweep_orphans(0)).expect("swept");
        assert_eq!(swept, 0, "nothing readable is left");
    }
}

#[test]
fn files_of_visitors_use_no_memory_of_extractions() {
    // The world has room for 10 bytes of an agent's extractions.
    let world = with_uploads();
    let mut large = PDF.to_vec();
    large.resize(3 << 20, b' ');
    let upload = id(&world.upload(&[("agentId", AGENT)], "letter.pdf", &large));
    assert_eq!(world.content(&upload), Some(large));
}
