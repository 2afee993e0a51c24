//! Service tokens by commands, and commands at a console elsewhere.

use serde_json::{Value, json};

use super::console_listener::ON_ANY_PORT;
use super::support::{Sandbox, Serving};

/// A token with a role on all agents, by the command that the server runs.
fn token(sandbox: &Sandbox, roles: &[&str], more: &[&str]) -> (String, String) {
    let roles = roles.iter().flat_map(|role| ["--role", role]);
    let arguments: Vec<&str> =
        ["tokens", "create", "Sync"].into_iter().chain(roles).chain(more.iter().copied()).collect();
    let made = sandbox.json(&arguments);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made["token"]["id"]), text(&made["secret"]))
}

fn origin(server: &Serving) -> String {
    server.console.clone().expect("a console")
}

#[test]
fn tokens_are_created_listed_and_revoked() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let said =
        sandbox.run(&["tokens", "create", "Report", "--role", "viewer@acme", "--expires", "30d"]).done();
    assert!(said.lines().any(|line| line.len() == 54 && line.starts_with("svcc_")), "{said}");
    let listed = sandbox.json(&["tokens", "list"]);
    assert_eq!((&listed[0]["name"], &listed[0]["grants"]), (&json!("Report"), &json!(["viewer@acme"])));
    assert_eq!(sandbox.json(&["server-key", "list"])[0]["uses"]["tokens"], 1);
    let table = sandbox.run(&["tokens", "list"]).done();
    assert!(table.contains("Report") && table.contains("active"), "{table}");
    for (arguments, expected) in [
        (&["--role", "owner"][..], "must not have owner"),
        (&["--role", "viewer", "--expires", "367d"], "must be an hour to 366 days"),
        (
            &["--role", "viewer", "--dangerous", "keys.list"],
            "is none of the operations that must be named here",
        ),
        (&["--role", "viewer", "--dangerous", "keys.create"], "needs keys.manage"),
        (&["--role", "viewer@nobody"], "names the agent nobody, which does not exist"),
    ] {
        let arguments: Vec<&str> =
            ["tokens", "create", "X"].into_iter().chain(arguments.iter().copied()).collect();
        let said = sandbox.run(&arguments).failed(1);
        assert!(said.contains(expected), "{said}");
    }
    // By the token itself, as it was found; then the name is nobody's any more.
    let (_, secret) = token(&sandbox, &["viewer"], &[]);
    assert_eq!(sandbox.json(&["tokens", "revoke", &secret])["state"], "revoked");
    let said = sandbox.run(&["tokens", "revoke", "Sync"]).failed(1);
    assert!(said.contains("there is no token 'Sync'"), "{said}");
    assert_eq!(sandbox.json(&["tokens", "revoke", "Report"])["name"], "Report");
}

/// What of records and entries of the audit log is the same in every run.
fn timeless(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let changing =
                ["id", "etag", "createdAt", "updatedAt", "at", "editedAt", "resource", "archivedAt", "since"];
            let rest = members.iter().filter(|(name, _)| !changing.contains(&name.as_str()));
            Value::Object(rest.map(|(name, value)| (name.clone(), timeless(value))).collect())
        }
        Value::Array(all) => Value::Array(all.iter().map(timeless).collect()),
        other => other.clone(),
    }
}

/// Runs the same commands in process, through the socket of the owner of the store, and at the console with a token.
#[test]
fn commands_do_the_same_in_process_through_the_socket_and_elsewhere() {
    let runs: Vec<Value> = ["process", "socket", "elsewhere"].map(run_everywhere).into();
    assert_eq!(runs[0], runs[1], "in process and through the socket");
    assert_eq!(runs[1], runs[2], "through the socket and elsewhere");
}

fn run_everywhere(way: &str) -> Value {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let server = (way != "process").then(|| sandbox.serve(&ON_ANY_PORT));
    let secret = (way == "elsewhere").then(|| token(&sandbox, &["admin"], &[]).1);
    let url = server.as_ref().map(origin).unwrap_or_default();
    let run = |arguments: &[&str]| -> Value {
        let mut all = vec!["--json"];
        if secret.is_some() {
            all.extend(["--server", &url]);
        }
        all.extend(arguments);
        let variables: Vec<(&str, &str)> =
            secret.iter().map(|secret| ("OPENAPI_TOKEN", secret.as_str())).collect();
        let said = sandbox.run_with(&variables, &all).done();
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    };
    let mut seen = Vec::new();
    let set = ["externalReferenceId=crm-1", "primaryEmail=ada@example.com", "firstName=Ada"];
    let set: Vec<&str> = set.iter().flat_map(|set| ["--set", *set]).collect();
    seen.push(run(&[&["contacts", "create", "--agent", "acme"][..], &set].concat()));
    seen.push(run(&["contacts", "update", "crm-1", "--agent", "acme", "--set", "firstName=Zoë"]));
    seen.push(run(&["contacts", "note", "crm-1", "--agent", "acme", "Likes tea"]));
    seen.push(run(&["contacts", "show", "crm-1", "--agent", "acme"]));
    seen.push(run(&["contacts", "archive", "crm-1", "--agent", "acme"]));
    seen.push(run(&["contacts", "list", "--agent", "acme", "--include-archived"]));
    sandbox.write("schema.json", r#"{ "customFields": [] }"#);
    seen.push(run(&["contact-schema", "check", "--agent", "acme", "--file", "schema.json"]));
    seen.push(run(&["knowledge", "sources", "list", "--agent", "acme"]));
    seen.push(run(&["insights", "questions", "--agent", "acme"]));
    let audit = sandbox.json(&["audit", "tail", "--agent", "acme", "-n", "50"]);
    let entries = audit
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| !["agent.create", "key.create"].contains(&entry["action"].as_str().unwrap()));
    let actions: Vec<Value> = entries.map(|entry| json!([entry["action"], entry["details"]])).collect();
    assert!(actions.len() >= 5, "{audit}");
    let log = sandbox.json(&["events", "list", "--agent", "acme"]);
    let events: Vec<&Value> = log.as_array().unwrap().iter().map(|event| &event["type"]).collect();
    if let Some(server) = server {
        assert_eq!(server.end(), 0);
    }
    // Who acts differs, and is looked at by other tests.
    let mut all = timeless(&json!({ "seen": seen, "audit": actions, "events": events }));
    forget_actors(&mut all);
    all
}

fn forget_actors(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in ["createdBy", "updatedBy", "by", "metadata", "addedBy", "now", "contactId"] {
                members.remove(name);
            }
            members.values_mut().for_each(forget_actors);
        }
        Value::Array(all) => all.iter_mut().for_each(forget_actors),
        _ => {}
    }
}

#[test]
fn what_goes_wrong_elsewhere_is_explained() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let server = sandbox.serve(&ON_ANY_PORT);
    let url = origin(&server);
    let (_, secret) = token(&sandbox, &["viewer@acme"], &[]);
    let run = |token: &str, arguments: &[&str]| sandbox.run_with(&[("OPENAPI_TOKEN", token)], arguments);
    let list = |token: &str, url: &str| run(token, &["--server", url, "agents", "list"]);
    assert!(list(&secret, &url).done().contains("acme"));
    let (_, admin) = token(&sandbox, &["admin"], &[]);
    assert!(run(&admin, &["--server", &url, "server", "health"]).done().contains("works"));
    // A file holds the token as well; commands that need the store, and people's, say so.
    sandbox.write("token", &format!("{secret}\n"));
    sandbox.run(&["--server", &url, "--token-file", "token", "agents", "list"]).done();
    for (said, expected) in [
        (list("", &url).failed(2), "set OPENAPI_TOKEN, or name a file with --token-file"),
        (
            list("svcc_x", &url).failed(1),
            "this one is incomplete or mistyped; set OPENAPI_TOKEN or --token-file",
        ),
        (
            list(&secret, "http://localhost:1").failed(1),
            "check that the server runs, that console_listen is not off",
        ),
        (list(&secret, "http://console.example.com").failed(2), "plain http is for this machine alone"),
        (list(&secret, &server.api).failed(1), "does not answer as a console of this version does"),
        (
            list(&secret, &url.replace("http:", "https:")).failed(1),
            "the certificate must be valid for the name",
        ),
        (
            run(&secret, &["--server", &url, "tokens", "list"]).failed(2),
            "--server is for agents list, contacts list",
        ),
        (run(&secret, &["--server", &url, "keys", "list", "--agent", "acme"]).failed(2), "needs the store"),
        (
            run(&secret, &["--token-file", "token", "agents", "list"]).failed(2),
            "--token-file goes with --server",
        ),
        (
            run(&secret, &["--server", &url, "contacts", "note", "crm-1", "--agent", "acme", "x"]).failed(1),
            "there is no contact 'crm-1'",
        ),
        (
            run(&secret, &["--server", &url, "contacts", "list", "--agent", "beta"]).failed(1),
            "there is no agent 'beta'",
        ),
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
        assert!(!said.contains(&secret), "{said}");
    }
    sandbox.run(&["tokens", "revoke", &secret]).done();
    let said = list(&secret, &url).failed(1);
    assert!(said.contains("was revoked at"), "{said}");
}
