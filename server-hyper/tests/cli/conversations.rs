//! Conversations from the operator's view.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::support::{BINARY, Sandbox, within};
use super::visitor::Visitor;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    sandbox.write(
        "services.md",
        "# Services\n\nHome visits are available in Leeds on weekdays from 8:00 to 18:00.\n",
    );
    let url = "https://www.example.com/services";
    sandbox.run(&["knowledge", "add", "services.md", "--agent", "acme", "--url", url]).done();
    sandbox
}

fn id(said: &Value) -> String {
    said["session"]["conversation"].as_str().unwrap().to_owned()
}

fn list(sandbox: &Sandbox, further: &[&str]) -> Vec<String> {
    let listed = sandbox.json(&[&["conversations", "list", "--agent", "acme"], further].concat());
    let conversations = listed["conversations"].as_array().unwrap();
    conversations.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_conversation_is_shown_as_it_was() {
    let sandbox = sandbox();
    let mut visitor = Visitor::of(&sandbox, "acme");
    let answered = visitor.says("Are home visits available in Leeds?");
    assert_eq!(answered["outcome"], "answered", "{answered}");
    visitor.thinks(&answered["message"]["id"], 1, "Thank you!");
    assert_eq!(visitor.says("Who won the championship?")["outcome"], "unknown");
    let conversation = id(&answered);

    let shown = sandbox.json(&["conversations", "show", &conversation, "--agent", "acme"]);
    for (member, value) in [
        ("agentId", json!("acme")),
        ("level", json!(1)),
        ("contactId", Value::Null),
        ("claims", json!({ "email": "zoe@example.com", "name": "Zoë" })),
        ("lead", Value::Null),
        ("status", json!("open")),
        ("mode", json!("ai")),
        ("locale", json!("en")),
        ("metadata", json!({ "plan": "gold" })),
        ("messageCount", json!(4)),
        ("operatorUnread", json!(2)),
        ("closedAt", Value::Null),
    ] {
        assert_eq!(shown[member], value, "{member}: {shown}");
    }
    assert_eq!(shown["page"]["url"], "https://www.example.com/services");
    let messages = shown["messages"].as_array().unwrap();
    let roles: Vec<(&Value, &Value)> = messages.iter().map(|it| (&it["seq"], &it["role"])).collect();
    assert_eq!(
        roles,
        [
            (&json!(1), &json!("visitor")),
            (&json!(2), &json!("agent")),
            (&json!(3), &json!("visitor")),
            (&json!(4), &json!("agent"))
        ]
    );
    assert_eq!(
        (&messages[0]["text"], &messages[0]["responder"]),
        (&json!("Are home visits available in Leeds?"), &Value::Null)
    );
    let reply = &messages[1];
    for (member, value) in [
        ("responder", json!("knowledge")),
        ("outcome", json!("answered")),
        ("state", json!("complete")),
        ("tokens", json!(0)),
        ("credits", json!(0)),
        ("feedback", json!(1)),
        ("comment", json!("Thank you!")),
        ("name", Value::Null),
    ] {
        assert_eq!(reply[member], value, "{member}: {reply}");
    }
    assert_eq!(reply["sources"][0]["url"], "https://www.example.com/services");
    assert_eq!((&messages[3]["outcome"], &messages[3]["form"]), (&json!("unknown"), &json!(true)));
    // Nothing that helps to forge a visitor's token or reveals a limit.
    let text = shown.to_string();
    assert!(!text.contains("epoch") && !text.contains("counted") && !text.contains("vt1."), "{text}");

    let people = sandbox.run(&["conversations", "show", &conversation, "--agent", "acme"]).done();
    for expected in [
        "zoe@example.com (not verified)",
        "1  visitor",
        "2  agent  (knowledge)",
        "feedback +1",
        "   [1] Services, https://www.example.com/services",
        "   Are home visits available in Leeds?",
    ] {
        assert!(people.contains(expected), "{expected}: {people}");
    }
    let listed = sandbox.run(&["conversations", "list", "--agent", "acme"]).done();
    assert!(listed.contains(&conversation) && listed.contains("Zoë, zoe@example.com"), "{listed}");
    sandbox.run(&["conversations", "show", "697dcf3a5b0c8e14d2f7a690", "--agent", "acme"]).failed(1);
    sandbox.run(&["conversations", "show", "no-id", "--agent", "acme"]).failed(2);
    sandbox.run(&["conversations", "list", "--agent", "nobody"]).failed(1);
}

#[test]
fn a_person_takes_over_and_leaves_again() {
    let sandbox = sandbox();
    let mut visitor = Visitor::of(&sandbox, "acme");
    let conversation = id(&visitor.says("Are home visits available in Leeds?"));
    let act = |what: &str| sandbox.json(&["conversations", what, &conversation, "--agent", "acme"]);

    // The superuser may be anybody; the visitor sees the name of everybody else.
    let take = ["conversations", "take", &conversation, "--agent", "acme"];
    sandbox.run_with(&[("USER", "root")], &take).done();
    let people = |visitor: &mut Visitor| visitor.looks()["people"].to_string();
    assert!(!people(&mut visitor).contains("root"));
    sandbox.run(&[&take[..], &["--name", "Zoë\nroot"]].concat()).failed(1);
    let taken = act("take");
    assert!(people(&mut visitor).contains("\"tester\""), "{}", people(&mut visitor));
    assert_eq!((&taken["mode"], &taken["operatorUnread"]), (&json!("human"), &json!(0)));
    assert_eq!(visitor.says("Is anybody there?")["outcome"], "queued");
    assert_eq!(list(&sandbox, &["--mode", "human"]), [conversation.as_str()]);
    assert_eq!(list(&sandbox, &["--mode", "ai"]), [""; 0]);

    let reply = ["conversations", "reply", &conversation, "Hello,\nthis is Ada.", "--agent", "acme"];
    let said = sandbox.json(&[&reply[..], &["--name", "Ada"]].concat());
    assert_eq!((&said["role"], &said["name"], &said["seq"]), (&json!("human"), &json!("Ada"), &json!(4)));
    assert_eq!((&said["text"], &said["responder"]), (&json!("Hello,\nthis is Ada."), &Value::Null));
    let seen = visitor.looks();
    assert_eq!(seen["messages"][3]["text"], "Hello,\nthis is Ada.", "{seen}");
    let quiet = sandbox.run(&reply);
    assert!(quiet.code == 0 && quiet.stderr.contains("the visitor sees the message"), "{quiet:?}");
    assert!(
        sandbox
            .run(&["conversations", "reply", &conversation, " ", "--agent", "acme"])
            .failed(1)
            .contains("1 to 4,000")
    );

    assert_eq!(act("release")["mode"], "ai");
    assert_eq!(visitor.says("Home visits on weekdays?")["outcome"], "answered");
    let closed = act("close");
    assert!(closed["status"] == "closed" && closed["closedAt"].is_string(), "{closed}");
    assert!(sandbox.run(&reply).failed(1).contains("is closed"));
    assert!(
        sandbox
            .run(&["conversations", "take", &conversation, "--agent", "acme"])
            .failed(1)
            .contains("is closed")
    );
    // The visitor's next message starts another conversation.
    let next = id(&visitor.says("Hello again"));
    assert_ne!(next, conversation);
    assert_eq!(list(&sandbox, &["--status", "closed"]), [conversation.as_str()]);
    assert_eq!(list(&sandbox, &["--status", "open"]), [next]);

    let old = visitor.token().clone();
    assert_eq!(act("revoke")["status"], "closed");
    let erased = act("erase");
    assert_eq!((&erased["id"], &erased["messageCount"]), (&json!(conversation), &json!(7)));
    sandbox.run(&["conversations", "erase", &conversation, "--agent", "acme"]).failed(1);
    assert_eq!(list(&sandbox, &["--status", "closed"]), [""; 0]);
    assert_eq!(
        visitor.post("/widget/v1/sync", &json!({ "token": old, "after": 0 })).0,
        200,
        "the other one lives on"
    );
    let audited = sandbox.run(&["audit", "tail", "--agent", "acme", "--json"]).done();
    for what in ["take", "reply", "release", "close", "revoke", "erase"] {
        assert!(audited.contains(&format!("\"change\":\"{what}\"")), "{what}: {audited}");
    }
    assert!(!audited.contains("this is Ada") && !audited.contains("anybody"), "{audited}");
    sandbox.run(&["check"]).done();
}

#[test]
fn lists_have_pages_and_exports_have_everything() {
    let sandbox = sandbox();
    let mut visitors: Vec<Visitor> = (0..3).map(|_| Visitor::of(&sandbox, "acme")).collect();
    let mut ids: Vec<String> = visitors.iter_mut().map(|visitor| id(&visitor.says("Home visits?"))).collect();
    // The conversation with the newest message is first.
    visitors[0].says("And in Leeds?");
    ids.rotate_left(1);
    ids.reverse();
    assert_eq!(list(&sandbox, &[]), ids);
    assert_eq!(list(&sandbox, &["--limit", "2"]), ids[..2]);
    let second = sandbox.json(&["conversations", "list", "--agent", "acme", "--limit", "2", "--page", "2"]);
    assert_eq!(second["conversations"][0]["id"], ids[2]);
    assert_eq!(
        second["pagination"],
        json!({ "currentPage": 2, "totalPages": 2, "totalItems": 3, "itemsPerPage": 2, "hasNextPage": false,
            "hasPreviousPage": true, "nextCursor": null })
    );
    let listed = sandbox.run(&["conversations", "list", "--agent", "acme", "--limit", "2"]);
    assert!(listed.stderr.contains("page 1 of 2, 3 conversations"), "{listed:?}");
    let last = second["conversations"][0]["lastMessageAt"].as_str().unwrap();
    assert_eq!(list(&sandbox, &["--since", last]), ids);
    assert_eq!(list(&sandbox, &["--since", "2999-01-01T00:00:00Z"]), [""; 0]);
    assert_eq!(list(&sandbox, &["--contact", "697dcf3a5b0c8e14d2f7a690"]), [""; 0]);
    sandbox.run(&["conversations", "close", &ids[1], "--agent", "acme"]).done();
    assert_eq!(list(&sandbox, &["--status", "open"]), [ids[0].clone(), ids[2].clone()]);
    assert_eq!(list(&sandbox, &["--status", "closed"]), [ids[1].clone()]);
    assert_eq!(list(&sandbox, &["--status", "closed", "--page", "2"]), [""; 0]);

    // A day without messages closes a conversation, although the store has no record of it.
    let silent = id(&Visitor::days_ago(&sandbox, "acme", 2).says("Home visits?"));
    assert_eq!(list(&sandbox, &["--status", "closed"]), [ids[1].clone(), silent.clone()]);
    assert_eq!(list(&sandbox, &["--status", "closed", "--limit", "1", "--page", "2"]), [silent.as_str()]);
    assert_eq!(list(&sandbox, &["--status", "open"]), [ids[0].clone(), ids[2].clone()]);
    let closed =
        sandbox.json(&["conversations", "list", "--agent", "acme", "--status", "closed", "--limit", "1"]);
    assert_eq!(closed["pagination"]["totalItems"], 2);
    let shown = sandbox.json(&["conversations", "show", &silent, "--agent", "acme"]);
    assert_eq!((&shown["status"], &shown["closedAt"]), (&json!("closed"), &Value::Null));
    let since = SystemTime::now() - Duration::from_secs(86_400);
    let since = jiff::Timestamp::try_from(since).unwrap().to_string();
    assert_eq!(list(&sandbox, &["--status", "closed", "--since", &since]), [ids[1].clone()]);
    sandbox.run(&["conversations", "erase", &silent, "--agent", "acme"]).done();

    let exported = |further: &[&str]| -> Vec<Value> {
        let said = sandbox.run(&[&["conversations", "export", "--agent", "acme"], further].concat()).done();
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = exported(&[]);
    let read: Vec<&str> = all.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(read, ids);
    assert_eq!(all[0]["messages"].as_array().unwrap().len(), 4);
    assert_eq!(all[2]["messages"][0]["text"], "Home visits?");
    let shown = sandbox.json(&["conversations", "show", &ids[0], "--agent", "acme"]);
    assert_eq!(all[0], shown, "an export has what is shown");
    let closed = exported(&["--status", "closed"]);
    assert_eq!((closed.len(), &closed[0]["id"]), (1, &json!(ids[1])));
    assert_eq!(exported(&["--mode", "human"]), [json!(null); 0]);
    sandbox.run(&["conversations", "export", "--agent", "nobody"]).failed(1);
}

/// A command that runs until it is dropped, also when a test fails.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn new_messages_of_visitors_are_printed() {
    let sandbox = sandbox();
    let mut early = Visitor::of(&sandbox, "acme");
    let known = id(&early.says("Before"));
    let mut watch = sandbox.command(BINARY);
    watch.args(["conversations", "watch", "--agent", "acme"]).stdout(Stdio::piped());
    let mut watch = Watching(watch.spawn().unwrap());
    let mut lines = BufReader::new(watch.0.stdout.take().unwrap());
    let mut next = || -> Value {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    // The command reads existing messages before it prints new ones.
    std::thread::sleep(Duration::from_millis(1_500));
    early.says("After");
    let first = next();
    assert_eq!(
        (&first["conversationId"], &first["message"]["text"]),
        (&json!(known), &json!("After")),
        "{first}"
    );
    assert_eq!((&first["message"]["seq"], &first["claims"]["name"]), (&json!(3), &json!("Zoë")));
    let mut late = Visitor::of(&sandbox, "acme");
    let new = id(&late.says("One"));
    sandbox.run(&["conversations", "reply", &new, "Ada here", "--agent", "acme"]).done();
    late.says("Two");
    let heard = [next(), next()];
    let texts: Vec<&Value> = heard.iter().map(|it| &it["message"]["text"]).collect();
    assert_eq!(texts, ["One", "Two"], "{heard:?}");
    assert_eq!((&heard[1]["conversationId"], &heard[1]["mode"]), (&json!(new), &json!("human")));

    kill_process(Pid::from_child(&watch.0), Signal::INT).unwrap();
    let mut status = None;
    within(Duration::from_secs(5), "an end", || {
        status = watch.0.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}
