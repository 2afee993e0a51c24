//! The studio: settings, the identity secret, and questions to try; credits.

use serde_json::{Value, json};

use super::support::{Answer, Browser, World, call_as};

const SETTINGS: &str = "/agents/acme/settings";

fn save(world: &World, settings: &Value, tag: Option<&str>) -> Answer {
    let mut request = Browser::default().request("PUT", SETTINGS, &json!({ "settings": settings }));
    request.extensions_mut().insert(console::Operator::new("u", "U", "agent-editor@acme".parse().unwrap()));
    if let Some(tag) = tag {
        request.headers_mut().insert("if-match", tag.parse().unwrap());
    }
    world.send(request)
}

fn shown(world: &World) -> (Value, String) {
    let answer = call_as(world, "viewer@acme", "GET", SETTINGS, &Value::Null);
    (answer.data().clone(), answer.headers["etag"].to_str().unwrap().to_owned())
}

#[test]
fn settings_are_saved_on_the_version_that_was_seen() {
    let world = World::hosted();
    let (before, tag) = shown(&world);
    assert_eq!(before["settings"], before["builtIn"]);
    assert_eq!(before["settings"]["chat"]["llm"]["temperature"].to_string(), "0.2", "as it was written");
    let mut settings = before["settings"].clone();
    settings["appearance"]["title"] = json!("Front desk");
    settings["chat"]["minCoverage"] = json!(0.6);
    let without = save(&world, &settings, None);
    assert_eq!((without.status, without.code()), (428, "PRECONDITION_REQUIRED"));
    let saved = save(&world, &settings, Some(&tag));
    assert_eq!(saved.data()["settings"], settings, "{}", saved.text);
    let (after, next) = shown(&world);
    assert_eq!((&after["settings"], next == tag), (&settings, false));
    assert_eq!(saved.headers["etag"].to_str().unwrap(), next);
    let stale = save(&world, &before["settings"], Some(&tag));
    assert_eq!((stale.status, stale.code()), (412, "PRECONDITION_FAILED"));
    assert_eq!(stale.body["details"]["current"]["settings"], settings);
    assert_eq!(shown(&world).0["settings"], settings, "a stale save changes nothing");
}

#[test]
fn of_two_who_save_at_once_one_is_refused() {
    let world = World::hosted();
    for round in 0..200 {
        let (before, tag) = shown(&world);
        let start = std::sync::Barrier::new(2);
        let save_title = |who: usize| {
            let mut settings = before["settings"].clone();
            settings["appearance"]["title"] = json!(format!("{round} {who}"));
            start.wait();
            (save(&world, &settings, Some(&tag)), settings)
        };
        let both = std::thread::scope(|scope| {
            let handles = [0, 1].map(|who| scope.spawn(move || save_title(who)));
            handles.map(|handle| handle.join().unwrap())
        });
        let mut statuses = both.each_ref().map(|(answer, _)| answer.status);
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412], "{round}: {} {}", both[0].0.text, both[1].0.text);
        let (_, saved) = both.into_iter().find(|(answer, _)| answer.status == 200).unwrap();
        assert_eq!(shown(&world).0["settings"], saved);
    }
}

/// The same with the second save between the look at the version and the write, on purpose.
#[test]
fn a_save_in_between_is_not_overwritten() {
    use conversations::admin::Configured;
    use openapi_core::json::{Json, parse};
    let world = World::hosted();
    let ports = conversations::ChatPorts::new();
    let (platform, storage) = (std::sync::Arc::clone(&world.platform), std::sync::Arc::clone(&world.storage));
    let chat = conversations::Conversations::new(platform, storage as _, ports);
    let title = |title: &str| match parse(json!({ "appearance": { "title": title } }).to_string().as_bytes())
        .unwrap()
    {
        Json::Object(settings) => settings,
        _ => unreachable!(),
    };
    let (agent, by) = (world.agent(), super::support::by());
    let looks = std::sync::atomic::AtomicU32::new(0);
    let is_expected = |version| {
        if looks.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            pollster::block_on(chat.configure_agent(&by, &agent, &title("theirs"))).unwrap();
        }
        version == 0
    };
    let saved =
        pollster::block_on(chat.configure_agent_if(&by, &agent, &title("mine"), &is_expected)).unwrap();
    assert!(matches!(saved, Configured::Stale(_, 1)), "{saved:?}");
    assert_eq!(shown(&world).0["settings"]["appearance"]["title"], "theirs");
}

#[test]
fn faults_of_settings_stand_at_their_paths_and_change_nothing() {
    let world = World::hosted();
    let (before, tag) = shown(&world);
    for (path, settings) in [
        ("appearance.color", json!({ "appearance": { "color": "blue" } })),
        ("origins[0]", json!({ "origins": ["www.example.com"] })),
        ("retentionDays", json!({ "retentionDays": 0 })),
        ("appearance.colour", json!({ "appearance": { "colour": "#fff" } })),
        ("lead.fields[0]", json!({ "lead": { "fields": ["shoeSize"] } })),
        ("chat.responder", json!({ "chat": { "responder": "oracle" } })),
        ("settings", json!([])),
    ] {
        let refused = save(&world, &settings, Some(&tag));
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{path}: {}", refused.text);
        assert_eq!(refused.body["validationErrors"][0]["field"], path, "{}", refused.text);
        assert_eq!(shown(&world), (before.clone(), tag.clone()));
    }
}

#[test]
fn a_question_gets_the_agents_reply_and_leaves_nothing() {
    let world = World::hosted();
    let ask = |body: &Value| call_as(&world, "viewer@acme", "POST", "/agents/acme/studio/ask", body);
    let answer = ask(&json!({ "question": "When are you open?", "locale": "de" }));
    let reply = &answer.data()["reply"];
    assert_eq!(reply["text"], "de: When are you open?", "{}", answer.text);
    assert_eq!((&reply["outcome"], &reply["error"]), (&json!("answered"), &Value::Null));
    let answer = ask(&json!({ "question": "panic" }));
    assert_eq!(answer.data()["reply"]["error"], "the responder failed", "{}", answer.text);
    for (question, at) in
        [(json!(""), "question"), (json!("a".repeat(4_001)), "question"), (json!(7), "question")]
    {
        let refused = ask(&json!({ "question": question }));
        assert_eq!((refused.status, &refused.body["validationErrors"][0]["field"]), (400, &json!(at)));
    }
    let counts = call_as(&world, "owner", "GET", "/agents/acme/conversations/counts", &Value::Null);
    assert_eq!(counts.data()["all"], 0);
    // A responder that is paid for is not called.
    let (shown, tag) = shown(&world);
    let mut settings = shown["settings"].clone();
    settings["chat"]["responder"] = json!("llm");
    assert_eq!(save(&world, &settings, Some(&tag)).status, 200);
    let answer = ask(&json!({ "question": "When are you open?" }));
    assert_eq!((answer.status, &answer.data()["reply"]), (200, &Value::Null), "{}", answer.text);
}

#[test]
fn the_identity_secret_needs_a_recent_proof_and_its_showing_is_noted() {
    let world = World::hosted();
    let path = |rest: &str| format!("/agents/acme/identity-secret/{rest}");
    let call = |rest: &str, body: &Value, is_recent: bool| {
        let mut request = Browser::default().request("POST", &path(rest), body);
        let mut developer = console::Operator::new("u", "U", "developer@acme".parse().unwrap());
        developer.authenticated_at = is_recent.then(|| world.platform.now());
        request.extensions_mut().insert(developer);
        world.send(request)
    };
    for rest in ["show", "rotate"] {
        let refused = call(rest, &json!({}), false);
        assert_eq!((refused.status, refused.code()), (403, "STEP_UP_REQUIRED"), "{}", refused.text);
    }
    let none = call("show", &json!({}), true);
    assert_eq!(none.data(), &json!({ "secret": null, "previous": null }));
    let first = call("rotate", &json!({}), true).data()["secret"].clone();
    let second = call("rotate", &json!({ "graceSeconds": 60 }), true).data().clone();
    assert_eq!(second["previous"], first);
    assert_ne!(second["secret"], first);
    world.clock.advance_millis(61_000);
    let alone = call("show", &json!({}), true);
    assert_eq!(alone.data(), &json!({ "secret": second["secret"], "previous": null }));
    // Nor does a repeated rotation show either secret again.
    let repeat = || {
        let mut request = Browser::default().request("POST", &path("rotate"), &json!({}));
        let mut developer = console::Operator::new("u", "U", "developer@acme".parse().unwrap());
        developer.authenticated_at = Some(world.platform.now());
        request.extensions_mut().insert(developer);
        request.headers_mut().insert("idempotency-key", "k-1".parse().unwrap());
        world.send(request)
    };
    let third = repeat().data().clone();
    let repeated = repeat();
    assert_eq!((repeated.status, repeated.code()), (409, "SECRET_NOT_REPEATABLE"));
    for secret in ["secret", "previous"] {
        assert!(!repeated.text.contains(third[secret].as_str().unwrap()), "{}", repeated.text);
    }
    let refused = call("rotate", &json!({ "graceSeconds": 604_801 }), true);
    assert_eq!((refused.status, refused.code()), (422, "NOT_POSSIBLE"), "{}", refused.text);
    let audit = call_as(&world, "owner", "GET", "/agents/acme/audit?limit=100", &Value::Null);
    let entries = audit.data()["entries"].as_array().cloned().unwrap_or_default();
    let shown = entries.iter().filter(|entry| entry["action"] == "secret.show").count();
    assert_eq!(shown, 5, "{}", audit.text);
    assert!(!audit.text.contains(second["secret"].as_str().unwrap()));
}

#[test]
fn credits_are_changed_in_one_respect_at_a_time_and_the_ledger_adds_up() {
    let world = World::hosted();
    let path = "/agents/acme/credits";
    let change = |body: &Value| {
        let mut request = Browser::default().request("POST", path, body);
        let mut owner = console::Operator::new("u", "U", "owner".parse().unwrap());
        owner.authenticated_at = Some(world.platform.now());
        request.extensions_mut().insert(owner);
        world.send(request)
    };
    let shown = || call_as(&world, "viewer@acme", "GET", path, &Value::Null).data().clone();
    assert_eq!(shown()["isUnlimited"], true);
    for body in
        [json!({}), json!({ "note": "none" }), json!({ "topUp": 5, "plan": 5 }), json!({ "topUp": "5" })]
    {
        let refused = change(&body);
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{body}: {}", refused.text);
        assert_eq!(refused.body["validationErrors"][0]["field"], "topUp", "{}", refused.text);
    }
    assert_eq!(change(&json!({ "topUp": 0 })).status, 422);
    assert_eq!(shown()["isUnlimited"], true, "what is refused changes nothing");
    for (body, available) in [
        (json!({ "plan": 100, "note": "Plan of June" }), 100),
        (json!({ "topUp": 50 }), 150),
        (json!({ "plan": 70 }), 120),
        (json!({ "lowAt": 200 }), 120),
        (json!({ "perPage": 3 }), 120),
    ] {
        world.clock.advance_millis(10);
        assert_eq!(change(&body).data()["available"], available, "{body}");
    }
    let account = shown();
    assert_eq!(
        (&account["lowAt"], &account["perPage"], &account["isUnlimited"]),
        (&json!(200), &json!(3), &json!(false))
    );
    // Page by page, with nothing twice and nothing missing.
    let (mut entries, mut query) = (Vec::new(), String::new());
    loop {
        let path = format!("{path}/ledger?limit=2{query}");
        let page = call_as(&world, "viewer@acme", "GET", &path, &Value::Null).data().clone();
        entries.extend(page["entries"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_object() else { break };
        let text = |name: &str| next[name].as_str().unwrap().to_owned();
        query = format!("&beforeAt={}&beforeId={}", text("beforeAt"), text("beforeId"));
    }
    let moved = |name: &str| entries.iter().map(|entry| entry[name].as_i64().unwrap()).sum::<i64>();
    assert_eq!((entries.len(), moved("plan"), moved("topUp")), (3, 70, 50));
    assert_eq!(entries[2]["note"], "Plan of June");
}
