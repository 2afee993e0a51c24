//! Settings of the widget, its tags, identity secrets.

use serde_json::{Value, json};

use super::support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    sandbox
}

#[test]
fn settings_are_changed_one_by_one_and_as_a_whole() {
    let sandbox = sandbox();
    let configure =
        |arguments: &[&str]| sandbox.json(&[&["agents", "configure", "acme"], arguments].concat());
    let built_in = configure(&[]);
    assert_eq!((&built_in["chat"]["responder"], &built_in["origins"]), (&json!("knowledge"), &json!([])));

    let said = sandbox
        .run(&[
            "agents",
            "configure",
            "acme",
            "--set",
            "appearance.title=Mill Lane = ours",
            "--set",
            "origins=[\"https://www.example.com\"]",
            "--set",
            "chat.llm.maxOutputTokens=400",
            "--set",
            "appearance.strings.unread.one=One message",
        ])
        .done();
    let rows: Vec<Vec<&str>> = said
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        rows,
        [
            vec!["SETTING", "BEFORE", "NOW"],
            vec!["appearance.title", "-", "Mill Lane = ours"],
            vec!["appearance.strings.unread.one", "-", "One message"],
            vec!["origins", "[]", "[\"https://www.example.com\"]"],
            vec!["chat.llm.maxOutputTokens", "800", "400"],
        ]
    );
    let same = sandbox.run(&["agents", "configure", "acme", "--set", "chat.llm.maxOutputTokens=400"]);
    assert!(
        same.code == 0 && same.stdout.is_empty() && same.stderr.contains("nothing has changed"),
        "{same:?}"
    );

    // A change affects no other setting, and the order is as documented: first unset, then set.
    let now = configure(&["--unset", "chat.llm.maxOutputTokens", "--set", "appearance.title=\"2024\""]);
    assert_eq!(
        (&now["chat"]["llm"]["maxOutputTokens"], &now["appearance"]["title"]),
        (&json!(800), &json!("2024"))
    );
    assert_eq!(now["appearance"]["strings"], json!({ "unread.one": "One message" }));
    let now = configure(&["--unset", "appearance.strings.unread.one"]);
    assert_eq!(now["appearance"]["strings"], json!({}));

    // The output can be edited and passed back; settings that a file omits get their defaults.
    sandbox.write("settings.json", &now.to_string());
    assert_eq!(configure(&["--file", "settings.json"]), now);
    let shown = sandbox.run(&["agents", "configure", "acme", "--show", "--set", "feedback=false"]).done();
    assert!(shown.contains("appearance.title") && shown.contains("2024"), "{shown}");
    assert!(
        shown.lines().any(|line| line.starts_with("feedback ") && line.ends_with("built in: true")),
        "{shown}"
    );
    sandbox.write("settings.json", "{}");
    assert_eq!(configure(&["--file", "settings.json"]), built_in);

    let audited = sandbox.json(&["audit", "tail", "--agent", "acme"]);
    let configured =
        audited.as_array().unwrap().iter().filter(|entry| entry["action"] == "agent.configure").count();
    assert_eq!(configured, 5, "{audited}");
}

#[test]
fn settings_that_cannot_be_are_refused_with_their_paths() {
    let sandbox = sandbox();
    let before = sandbox.json(&["agents", "configure", "acme"]);
    for (change, expected) in [
        ("chat.answerer=x", "chat.answerer is no setting"),
        ("chat.minCoverage=2", "chat.minCoverage must be from 0 to 1"),
        ("origins=example.com", "origins"),
        ("lead.fields=[\"shoeSize\"]", "lead.fields[0] is no field"),
        ("chat.responder.name=x", "'responder' of 'chat.responder.name' has no members"),
    ] {
        let said = sandbox.run(&["agents", "configure", "acme", "--set", change]).failed(1);
        assert!(said.contains(expected), "{change}: {said}");
    }
    for (arguments, code) in [
        (&["--unset", "chat.answerer"][..], 1),
        (&["--file", "nowhere.json"], 1),
        (&["--set", "chat.responder"], 2),
        (&["--set", "=x"], 2),
    ] {
        sandbox.run(&[&["agents", "configure", "acme"], arguments].concat()).failed(code);
    }
    sandbox.run(&["agents", "configure", "nobody"]).failed(1);
    assert_eq!(sandbox.json(&["agents", "configure", "acme"]), before);
    let said = sandbox.run(&["agents", "configure", "acme", "--set", "chat.responder=lmm"]);
    assert!(said.code == 0 && said.stderr.contains("unknown responder 'lmm'"), "{said:?}");
}

#[test]
fn an_agent_is_shown_with_what_a_page_needs() {
    let sandbox = sandbox();
    let url = "https://widget.example.com";
    let shown =
        sandbox.json(&["agents", "show", "acme", "--widget-public-url", url, "--service-name", "Acme"]);
    let widget = &shown["widget"];
    let files = widget::Widget::new("Acme").unwrap();
    assert_eq!(widget["tag"], files.tag(url, "acme"));
    assert_eq!(widget["pinnedTag"], files.pinned_tag(url, "acme"));
    assert_eq!(widget["integrity"], files.integrity());
    assert_eq!(widget["contentSecurityPolicy"], files.policy(url));
    let said = sandbox.run(&["agents", "show", "acme"]);
    assert!(said.stderr.contains("widget_public_url is not set"), "{said:?}");
    let said = said.done();
    assert!(said.contains("data-agent-id=\"acme\"") && said.contains("script-src http"), "{said}");
}

#[test]
fn identity_secrets_are_made_shown_and_end() {
    let sandbox = sandbox();
    let secrets = || sandbox.json(&["agents", "identity-secret", "acme"]);
    assert_eq!(secrets(), json!({ "agentId": "acme", "identitySecret": null, "previous": null }));
    let none = sandbox.run(&["agents", "identity-secret", "acme"]);
    assert!(none.code == 0 && none.stdout.is_empty() && none.stderr.contains("--rotate"), "{none:?}");

    let first = sandbox.json(&["agents", "identity-secret", "acme", "--rotate"]);
    assert!(first["identitySecret"].as_str().unwrap().starts_with("svci_"), "{first}");
    assert_eq!((secrets(), &first["previous"]), (first.clone(), &Value::Null));
    let second = sandbox.json(&["agents", "identity-secret", "acme", "--rotate", "--grace", "7d"]);
    assert_ne!(second["identitySecret"], first["identitySecret"]);
    assert_eq!(second["previous"], first["identitySecret"]);
    let third = sandbox.json(&["agents", "identity-secret", "acme", "--rotate", "--grace", "0s"]);
    assert_eq!(third["previous"], Value::Null);
    let said = sandbox.run(&["agents", "identity-secret", "acme"]);
    assert!(said.stdout.contains(third["identitySecret"].as_str().unwrap()), "{said:?}");
    assert!(said.stderr.contains("out of web pages"), "{said:?}");
    assert!(
        sandbox
            .run(&["agents", "identity-secret", "acme", "--rotate", "--grace", "8d"])
            .failed(1)
            .contains('7')
    );
    sandbox.run(&["agents", "identity-secret", "acme", "--grace", "1h"]).failed(2);
    // The log records a new secret, never its value.
    let audited = sandbox.run(&["audit", "tail", "--agent", "acme", "--json"]).done();
    assert!(audited.contains("identitySecret") && !audited.contains("svci_"), "{audited}");
}
