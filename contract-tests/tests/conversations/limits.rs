//! Access and limits: origins, agents, bodies, windows, challenges, budgets.

use conversations::Usage;
use conversations::widget::{OpenLimits, WidgetSettings};
use http::header;
use openapi_core::admin::{Admin, CreditChange};
use openapi_core::credits::CreditPool;
use openapi_core::storage::LedgerQuery;
use pollster::block_on;
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn only_allowed_origins_are_served() {
    let world = boundless();
    world.configure(json!({ "chat": { "responder": "script" }, "origins": [PAGE, "https://*.example.org"] }));
    let from = |origin: Option<&'static str>| {
        world.send(&world.api, "/turns", &turn(1, "One", None), |request| {
            request.headers_mut().remove(header::ORIGIN);
            if let Some(origin) = origin {
                request.headers_mut().insert(header::ORIGIN, origin.parse().expect("a value"));
            }
        })
    };
    for origin in [PAGE, "https://WWW.example.com", "https://shop.example.org"] {
        let answered = from(Some(origin));
        assert_eq!(answered.status, 200, "{origin}");
        assert_eq!(answered.headers["access-control-allow-origin"], origin.to_ascii_lowercase().as_str());
        assert_eq!(answered.headers["vary"], "Origin");
    }
    for origin in ["https://evil.example", "null", "https://example.org", "http://www.example.com"] {
        let answered = from(Some(origin));
        assert_eq!((answered.status, answered.code().as_str()), (403, "ORIGIN_NOT_ALLOWED"));
        assert_eq!(answered.json()["details"]["origin"], origin);
        assert_eq!(answered.headers["access-control-allow-origin"], origin, "the page may read why");
    }
    assert_eq!(from(None).code(), "ORIGIN_NOT_ALLOWED");
    world.configure(json!({ "chat": { "responder": "script" } }));
    assert_eq!(from(None).status, 200);
    assert_eq!(from(Some("https://anything.example")).headers["access-control-allow-origin"], "*");
    assert_eq!(from(Some("null")).code(), "ORIGIN_NOT_ALLOWED", "always");
}

#[test]
fn absent_agents_get_identical_responses() {
    let world = boundless();
    let answer = |agent: &str| {
        let mut body = turn(1, "One", None);
        body["agentId"] = json!(agent);
        let answered = world.post("/turns", &body);
        let mut json = answered.json();
        json["requestId"] = json!("");
        (answered.status, json.to_string())
    };
    let unknown = answer("nobody");
    assert_eq!(unknown.0, 404);
    assert_eq!(answer("no such id!"), unknown);
    block_on(world.platform.disable_agent(&operator(), &agent())).expect("disabled");
    world.clock.advance_millis(5_000);
    assert_eq!(answer(AGENT), unknown);
}

#[test]
fn malformed_calls_are_rejected() {
    let world = boundless();
    let call = |method: &str, path: &str| {
        world.send(&world.api, path, &json!({}), |request| {
            *request.method_mut() = method.parse().expect("a method");
        })
    };
    let options = call("OPTIONS", "/turns");
    assert_eq!(options.status, 204);
    assert_eq!(options.headers["access-control-allow-headers"], "content-type");
    assert!(!options.headers.contains_key("access-control-allow-credentials"));
    assert_eq!(call("GET", "/turns").code(), "METHOD_NOT_ALLOWED");
    assert_eq!(call("POST", "/config").code(), "METHOD_NOT_ALLOWED");
    assert_eq!(call("POST", "/nothing").code(), "ROUTE_NOT_FOUND");
    let large = world.post("/turns", &turn(1, &"x".repeat(20_000), None));
    assert_eq!((large.status, large.code().as_str()), (413, "PAYLOAD_TOO_LARGE"));
    let other = world.send(&world.api, "/turns", &turn(1, "x", None), |request| {
        request.headers_mut().insert(header::CONTENT_TYPE, "text/xml".parse().expect("a value"));
    });
    assert_eq!(other.code(), "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(world.post("/turns", &json!([1])).code(), "INVALID_JSON");
    let mut body = turn(1, "x", None);
    body["id"] = json!("not a uuid");
    body["user"] = json!({ "email": 5 });
    let fields: Vec<String> = world.post("/turns", &body).json()["validationErrors"]
        .as_array()
        .expect("faults")
        .iter()
        .map(|fault| fault["field"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(fields, ["id", "user.email"]);
    assert_eq!(world.post("/turns", &turn(1, " \n ", None)).json()["validationErrors"][0]["field"], "text");
}

#[test]
fn request_heads_are_limited_to_eight_kibibytes() {
    let world = boundless();
    let get = |bytes: usize| {
        world.send(&world.api, &format!("/config?agentId={AGENT}"), &json!({}), |request| {
            *request.method_mut() = http::Method::GET;
            request.headers_mut().clear();
            // A name counts like its value.
            request.headers_mut().insert("x-long", "x".repeat(bytes - 6).parse().expect("a value"));
        })
    };
    assert_eq!(get(8 * 1024).status, 200);
    let refused = get(8 * 1024 + 1);
    assert_eq!((refused.status, refused.code().as_str()), (431, "HEADERS_TOO_LARGE"));
    assert_eq!(refused.headers["access-control-allow-origin"], "*");
}

#[test]
fn four_turns_in_ten_seconds_and_retry_after_suffices() {
    let world = world();
    let first = world.turn(1, "One", None);
    let token = first.token();
    for number in 2..=4 {
        assert_eq!(world.turn(number, "More", Some(&token)).status, 200);
    }
    let refused = world.turn(5, "Five", Some(&token));
    assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMIT_EXCEEDED"));
    let details = refused.json()["details"].clone();
    assert_eq!(
        details,
        json!({ "scope": "visitor", "window": "second", "limit": 4, "retryAfterSeconds": 10 })
    );
    assert_eq!(refused.headers["retry-after"], "10");
    assert_eq!(world.turn(4, "More", Some(&token)).status, 200, "a repetition is not counted");
    world.clock.advance_millis(10_000);
    assert_eq!(world.turn(5, "Five", Some(&token)).status, 200);
    // The limits apply across processes.
    let another = world.another();
    for number in 6..=8 {
        assert_eq!(world.send(&another, "/turns", &turn(number, "x", Some(&token)), |_| ()).status, 200);
    }
    let refused = world.send(&another, "/turns", &turn(9, "x", Some(&token)), |_| ());
    assert_eq!(refused.json()["details"]["window"], "minute");
}

#[test]
fn new_sessions_are_limited_by_address() {
    let world = world();
    for number in 0..3 {
        assert_eq!(world.turn(number, &format!("Hi {number}"), None).status, 200);
    }
    for number in 3..5 {
        let body = turn(number, &format!("Hi {number}"), None);
        assert_eq!(world.post_solved("/turns", &body).status, 200, "from 80 % on a challenge is required");
    }
    for (path, body) in [("/turns", turn(9, "Hi", None)), ("/lead", lead_of(None, "a@example.com"))] {
        let refused = world.post(path, &body);
        assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMIT_EXCEEDED"));
        assert_eq!(refused.json()["details"]["scope"], "address");
    }
    let elsewhere = world.send(&world.api, "/turns", &turn(9, "Hi", None), |request| {
        request.extensions_mut().insert(openapi_core::api::PeerAddress([192, 0, 2, 8].into()));
    });
    assert_eq!(elsewhere.status, 200);
}

#[test]
fn near_a_limit_a_challenge_is_required() {
    let mut settings = WidgetSettings::default();
    settings.limits.turns.clear();
    settings.limits.address_sessions.clear();
    let world = world_with(settings, false);
    let first = world.turn(0, "Hi", None);
    let token = first.token();
    for number in 1..23 {
        assert_eq!(world.turn(number, "Hi", Some(&token)).status, 200, "{number}");
    }
    let asked = world.turn(30, "Hi", Some(&token));
    assert_eq!(asked.json()["details"]["challenge"]["bits"], 16);
    let mut body = turn(30, "Hi", Some(&token));
    body["challenge"] = asked.solution();
    assert_eq!(world.post("/turns", &body).status, 200);
    body["challenge"]["salt"] = json!("made up");
    body["id"] = json!(turn_id(32));
    assert_eq!(world.post("/turns", &body).code(), "CHALLENGE_REQUIRED");
}

fn lead_of(token: Option<&str>, email: &str) -> Value {
    let fields = json!({ "primaryEmail": email });
    json!({ "agentId": AGENT, "token": token, "fields": fields, "consent": null, "page": null, "elapsedMs": 8200, "hp": "" })
}

#[test]
fn forms_sent_with_turns_count_against_visitor_and_address() {
    let mut settings = WidgetSettings::default();
    settings.limits.turns.clear();
    settings.limits.address_turns.clear();
    settings.limits.address_sessions.clear();
    let world = world_with(settings, false);
    let token = world.turn(0, "Hi", None).token();
    let with_turn = |number: u32, token: Option<&str>| {
        let mut body = turn(number, &format!("Hi {number}"), token);
        body["lead"] = json!({ "fields": { "primaryEmail": "zoe@example.com" } });
        body
    };
    for number in 1..=3 {
        assert_eq!(world.post("/turns", &with_turn(number, Some(&token))).status, 200);
    }
    for _ in 4..=5 {
        assert_eq!(world.post("/lead", &lead_of(Some(&token), "zoe@example.com")).status, 200);
    }
    for (path, body) in
        [("/turns", with_turn(6, Some(&token))), ("/lead", lead_of(Some(&token), "zoe@example.com"))]
    {
        let refused = world.post(path, &body);
        assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMIT_EXCEEDED"), "{path}");
        let details = refused.json()["details"].clone();
        assert_eq!((&details["scope"], &details["limit"]), (&json!("visitor"), &json!(5)));
    }
    assert_eq!(world.turn(6, "Hi 6", Some(&token)).status, 200, "a turn without a form");
    // By address: a visitor's rejected form counts too, 6 of 10, and the first of the others makes 7.
    assert_eq!(world.post("/turns", &with_turn(7, None)).status, 200);
    for number in 8..=10 {
        assert_eq!(world.post_solved("/turns", &with_turn(number, None)).status, 200, "from 80 % on");
    }
    let refused = world.post("/turns", &with_turn(11, None));
    let details = refused.json()["details"].clone();
    assert_eq!((&details["scope"], &details["limit"]), (&json!("address"), &json!(10)), "{}", refused.text);
    assert_eq!(world.post("/lead", &lead_of(None, "ada@example.com")).json()["details"]["scope"], "address");
    world.clock.advance_millis(3_600_000);
    assert_eq!(world.post("/turns", &with_turn(11, None)).status, 200);
}

#[test]
fn checks_run_in_the_documented_order() {
    let mut settings = WidgetSettings::default();
    settings.limits.turns.truncate(1);
    settings.limits.address_sessions.clear();
    let world = world_with(settings, true);
    let token = world.turn(0, "Hi", None).token();
    world.script.will([Act::Hang]);
    let open = block_on(world.api.handle(request("/turns", &turn(1, "One", Some(&token)), |_| ())));
    assert_eq!(open.status(), 200);
    let faulty = |token: &str| {
        let mut body = turn(2, "Two", Some(token));
        body["user"] = json!({ "email": 5 });
        body
    };
    // Fields before the state: a reply is being generated.
    assert_eq!(world.post("/turns", &faulty(&token)).code(), "VALIDATION_ERROR");
    assert_eq!(world.turn(2, "Two", Some(&token)).code(), "TURN_IN_PROGRESS");
    // The token before the fields.
    let id = block_on(world.chat.conversations(
        &agent(),
        &conversations::storage::ConversationQuery { filter: Default::default(), offset: 0, limit: 1 },
    ))
    .expect("a page")
    .conversations[0]
        .id;
    world.api.cancel_all();
    wait_until(|| world.api.running_turns() == 0);
    world.script.says("Hello.");
    for number in 2..=3 {
        assert_eq!(world.turn(number, "More", Some(&token)).status, 200);
    }
    // Limits before the fields.
    assert_eq!(world.post("/turns", &faulty(&token)).code(), "RATE_LIMIT_EXCEEDED");
    block_on(world.chat.revoke_conversation(&operator(), &agent(), id)).expect("revoked");
    for path in ["/turns/resume", "/turns/cancel", "/sync", "/feedback"] {
        assert_eq!(
            world.post(path, &json!({ "token": token, "turn": "x" })).code(),
            "TOKEN_INVALID",
            "{path}"
        );
    }
}

#[test]
fn rejected_calls_consume_no_limits() {
    let mut settings = WidgetSettings::default();
    settings.limits.address_turns.clear();
    settings.limits.agent_turns = vec![conversations::widget::Window::of_seconds("minute", 60, 10)];
    let world = world_with(settings, false);
    let mut honeypot_filled = turn(1, "Hi", None);
    honeypot_filled["hp"] = json!("x");
    let bodies = [json!({ "agentId": AGENT }), honeypot_filled, turn(1, " ", None)];
    for body in bodies.iter().cycle().take(60) {
        world.post("/turns", body);
    }
    assert_eq!(world.turn(2, "Hi", None).status, 200);
}

#[test]
fn open_streams_are_limited() {
    let mut settings = WidgetSettings::default();
    settings.limits.streams = OpenLimits { per_address: 2, per_agent: 64, per_process: 3 };
    let world = world_with(settings, true);
    world.script.will([Act::Hang]);
    let first = block_on(world.api.handle(request("/turns", &turn(1, "Hi 1", None), |_| ())));
    assert_eq!(first.status(), 200);
    let open = |number| {
        let mut body = turn(number, &format!("Hi {number}"), None);
        // The last stream of an address requires a challenge.
        let asked = world.post("/turns", &body);
        if asked.code() == "CHALLENGE_REQUIRED" {
            body["challenge"] = asked.solution();
        }
        block_on(world.api.handle(request("/turns", &body, |_| ())))
    };
    let second = open(2);
    assert_eq!(second.status(), 200);
    let third = open(3);
    assert_eq!(third.status(), 429);
    let query =
        conversations::storage::ConversationQuery { filter: Default::default(), offset: 0, limit: 10 };
    let stored = block_on(world.chat.conversations(&agent(), &query)).expect("a page").total;
    assert_eq!(stored, 2, "a rejected turn is not stored, and no responder is called");
    drop(first);
    let fourth = open(4);
    assert_eq!(fourth.status(), 200);
    world.api.cancel_all();
    drop((second, fourth));
}

#[test]
fn honeypot_turns_are_not_stored() {
    let world = boundless();
    let mut body = turn(1, "Buy now", None);
    body["hp"] = json!("https://spam.example");
    let answered = world.post("/turns", &body);
    assert_eq!(answered.names(), ["session", "ack", "done"]);
    let sync = world.post("/sync", &json!({ "token": answered.token(), "after": 0 }));
    assert_eq!(sync.code(), "TOKEN_INVALID");
    assert!(world.script.asked.lock().expect("the turns").is_empty());
}

#[test]
fn beyond_the_daily_turns_the_form_is_offered() {
    let world = boundless();
    world.configure(json!({ "chat": { "responder": "script", "turnsPerDay": 2 } }));
    let first = world.turn(1, "One", None);
    world.turn(2, "Two", Some(&first.token()));
    // Above 80 % of the limit a challenge is required.
    let limited = world.post_solved("/turns", &turn(3, "Three", Some(&first.token())));
    assert_eq!(limited.event("done"), json!({ "outcome": "limited" }));
    assert_eq!(limited.event("form")["fields"][0]["name"], "primaryEmail");
    world.clock.advance_millis(86_400_000);
    assert_eq!(world.turn(4, "Four", None).event("done"), json!({ "outcome": "answered" }));
}

fn used(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, cost: 0.0 }
}

#[test]
fn daily_tokens_and_credits_are_reserved_settled_and_never_overdrawn() {
    let world = boundless();
    world.configure(json!({ "chat": { "responder": "script", "llm": { "tokensPerDay": 10_000 } } }));
    let change = CreditChange::Set { pool: CreditPool::Plan, credits: 10, note: None };
    block_on(world.platform.change_credits(&operator(), &agent(), &change)).expect("credits");
    *world.script.most.lock().expect("the usage") = used(3_000, 1_000);
    let done = |usage| {
        Act::Say(conversations::ChatEvent::Done {
            outcome: conversations::Outcome::Answered,
            sources: Vec::new(),
            usage,
        })
    };
    world.knowledge.says("From the documents.");
    let credits = || block_on(world.platform.credits(&agent())).expect("an account");
    world.script.will([delta("A"), done(used(1_200, 300))]);
    let first = world.turn(1, "One", None);
    let stored = &world.messages(&first)[1];
    assert_eq!((stored.usage.map(|usage| usage.tokens()), stored.credits), (Some(1_500), 2));
    assert_eq!((credits().available(), credits().reserved()), (8, 0));
    // A repeated turn is free.
    world.turn(1, "One", Some(&first.token()));
    assert_eq!(credits().available(), 8);
    // An error is charged the input and what was written.
    world.script.will([delta("A"), Act::Panic]);
    world.turn(2, "Two", Some(&first.token()));
    assert_eq!((credits().available(), credits().reserved()), (4, 0), "3,001 tokens");
    // One that comes before anything else is free.
    world.script.will([Act::Say(conversations::ChatEvent::Error(conversations::ChatError::Unavailable))]);
    world.turn(20, "Twenty", Some(&first.token()));
    assert_eq!((credits().available(), credits().reserved()), (4, 0));
    // Too few credits for the maximum usage: the agent quotes the documents instead.
    world.script.will([delta("A"), done(used(3_000, 1_000))]);
    world.turn(3, "Three", Some(&first.token()));
    assert_eq!(credits().available(), 0);
    let fallen = world.turn(4, "Four", Some(&first.token()));
    assert_eq!(fallen.event("message")["text"], "From the documents.");
    let query = LedgerQuery { agent: agent(), before: None, limit: 10 };
    let ledger = block_on(world.platform.credit_entries(&query)).expect("entries");
    let charged: i64 = ledger.iter().map(|entry| entry.plan + entry.top_up).sum();
    assert_eq!(charged, 0, "10 given, 10 spent");
    let notes: Vec<&str> = ledger.iter().filter_map(|entry| entry.note.as_deref()).collect();
    assert!(notes.iter().any(|note| note.contains("4000 tokens")), "{notes:?}");
    // The daily tokens: 8,501 are used, and 5,000 more would exceed the limit.
    let change = CreditChange::Unlimited(true);
    block_on(world.platform.change_credits(&operator(), &agent(), &change)).expect("credits");
    *world.script.most.lock().expect("the usage") = used(4_000, 1_000);
    let fallen = world.turn(5, "Five", Some(&first.token()));
    assert_eq!(fallen.event("message")["text"], "From the documents.");
    world.configure(
        json!({ "chat": { "responder": "script", "fallback": "error", "llm": { "tokensPerDay": 10_000 } } }),
    );
    let limited = world.turn(6, "Six", Some(&first.token()));
    assert_eq!(limited.event("done"), json!({ "outcome": "limited" }));
}

#[test]
fn the_configuration_contains_only_published_settings() {
    let world = boundless();
    world.configure(json!({
        "appearance": { "greeting": "Welcome", "strings": { "open": "Ask us" } },
        "lead": { "fields": ["primaryEmail"], "prechat": true, "consent": { "version": "1", "text": "Yes?", "required": true } },
        "chat": { "responder": "script", "instructions": "Never say this.", "llm": { "model": "secret-model" } }
    }));
    let get = |query: &str, tag: Option<&str>| {
        world.send(&world.api, &format!("/config?{query}"), &json!({}), |request| {
            *request.method_mut() = http::Method::GET;
            if let Some(tag) = tag {
                request.headers_mut().insert(header::IF_NONE_MATCH, tag.parse().expect("a value"));
            }
        })
    };
    let answered = get(&format!("agentId={AGENT}&locale=de-AT"), None);
    assert_eq!(answered.status, 200);
    assert_eq!(answered.headers["cache-control"], "max-age=60, stale-while-revalidate=600");
    let data = answered.json()["data"].clone();
    assert_eq!((&data["title"], &data["greeting"]), (&json!("Mill Lane"), &json!("Welcome")));
    assert_eq!(data["prechat"], data["lead"]);
    assert_eq!(data["lead"]["consent"], json!({ "version": "1", "text": "Yes?", "required": true }));
    assert_eq!(data["lead"]["fields"][0]["type"], "email");
    assert_eq!((&data["locale"], &data["strings"]), (&json!("en"), &json!({ "open": "Ask us" })));
    assert!(!answered.text.contains("Never say this") && !answered.text.contains("secret-model"));
    let tag = answered.headers["etag"].to_str().expect("a tag").to_owned();
    assert_eq!(get(&format!("agentId={AGENT}"), Some(&tag)).status, 304);
    assert_eq!(get("agentId=nobody", None).code(), "AGENT_NOT_AVAILABLE");
    assert_eq!(get("", None).code(), "AGENT_NOT_AVAILABLE");
}

#[test]
fn identity_secrets_are_derived_rotated_and_not_stored() {
    let world = boundless();
    let live = || block_on(world.chat.identity_secrets(&agent())).expect("secrets");
    assert!(live().is_empty());
    let rotate = |grace| block_on(world.chat.rotate_identity_secret(&operator(), &agent(), grace));
    let first = rotate(0).expect("a secret");
    assert!(first.starts_with("svci_") && first.len() == 5 + 49, "{first}");
    let second = rotate(60_000).expect("a secret");
    assert_eq!(live(), [second.clone(), first]);
    world.clock.advance_millis(60_000);
    assert_eq!(live(), [second]);
    assert!(rotate(8 * 86_400_000).is_err());
}

#[test]
fn one_text_in_three_conversations_requires_a_challenge() {
    let mut settings = WidgetSettings::default();
    settings.limits.address_sessions.clear();
    let world = world_with(settings, false);
    let first = world.turn(1, "Buy this", None);
    assert_eq!(world.turn(2, "Buy this", Some(&first.token())).status, 200, "in its own conversation");
    assert_eq!(world.turn(3, "Buy this", None).status, 200);
    let asked = world.turn(4, "Buy this", None);
    assert_eq!((asked.status, asked.code().as_str()), (429, "CHALLENGE_REQUIRED"));
    assert_eq!(world.turn(5, "Something else", None).status, 200);
    let elsewhere = world.send(&world.api, "/turns", &turn(6, "Buy this", None), |request| {
        request.extensions_mut().insert(openapi_core::api::PeerAddress([192, 0, 2, 8].into()));
    });
    assert_eq!(elsewhere.status, 200);
    world.clock.advance_millis(600_000);
    assert_eq!(world.turn(4, "Buy this", None).status, 200, "ten minutes later");
}

#[test]
fn unserved_agents_are_not_cached() {
    // A cached one would be rejected faster than an unknown one.
    let world = boundless();
    world.turn(1, "One", None);
    block_on(world.platform.disable_agent(&operator(), &agent())).expect("disabled");
    world.clock.advance_millis(5_000);
    assert_eq!(world.turn(2, "Two", None).code(), "AGENT_NOT_AVAILABLE");
    block_on(world.platform.enable_agent(&operator(), &agent())).expect("enabled");
    assert_eq!(world.turn(2, "Two", None).status, 200, "it is read again for every call");
}
