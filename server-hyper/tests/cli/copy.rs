//! `copy`: a store moves from engine to engine, and servers on the new one answer as before.

use std::time::Duration;

use database_servers::{mongo, postgres};
use serde_json::{Value, json};

use super::file_client::{Client, id};
use super::support::{BINARY, Sandbox, Serving, credentials, request};

const KEY: &str = "OPENAPI_SERVER_KEY";

fn shared() -> Sandbox {
    Sandbox::with(vec![(KEY, "5a".repeat(32))])
}

/// The answer to a request with a key.
fn ask(server: &Serving, key: &Value, path: &str) -> (u16, String) {
    let credentials = credentials(key);
    let headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str()));
    request(&server.api, "GET", path, &headers, "")
}

/// Contacts, two of them archived, in a SQLite file.
fn filled(sandbox: &Sandbox, contacts: usize) -> Value {
    let key = sandbox.with_key();
    let lines: String = (0..contacts)
        .map(|n| {
            let contact = json!({
                "externalReferenceId": format!("crm-{n}"), "primaryEmail": format!("c{n}@example.com"),
                "lastName": format!("Name {}", n % 7), "tags": [format!("tag{}", n % 3)],
            });
            format!("{contact}\n")
        })
        .collect();
    sandbox.write("contacts.ndjson", &lines);
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    key
}

const PATHS: [&str; 4] = [
    "/v1/open/contacts/crm-5/chatbots/acme",
    "/v1/open/contacts/chatbots/acme?limit=50&sortBy=lastName",
    "/v1/open/contacts/chatbots/acme?search=name%203&tag=tag1",
    "/v1/open/contacts/schema/chatbots/acme",
];

fn answers(sandbox: &Sandbox, key: &Value, arguments: &[&str]) -> Vec<String> {
    let server = sandbox.serve(arguments);
    let answers = PATHS.iter().map(|path| {
        let (status, body) = ask(&server, key, path);
        assert_eq!(status, 200, "{path}: {body}");
        body
    });
    let answers = answers.collect();
    assert_eq!(server.end(), 0);
    answers
}

#[test]
fn a_store_moves_from_engine_to_engine() {
    let (sandbox, postgres, mongo) = (shared(), postgres::Database::create(), mongo::Database::create());
    let key = filled(&sandbox, 300);
    let expected = answers(&sandbox, &key, &[]);
    // Entries without an agent: what a stranger did, and an operator.
    sandbox.run(&["backup", "saved"]).done();
    sandbox.run(&["audit", "export"]).done();
    // A longer list leaves an entry itself.
    let chain = |store: &str| -> Vec<Value> {
        let all = sandbox.json(&["audit", "tail", "-n", "100", "--store", store]);
        let all = all.as_array().unwrap().iter().filter(|entry| entry["agentId"].is_null());
        all.cloned().collect()
    };
    let ways = [
        ("sqlite:./data/openapi.db".to_owned(), postgres.url()),
        (postgres.url(), mongo.url()),
        (mongo.url(), "sqlite:./moved/openapi.db".to_owned()),
    ];
    for (from, to) in &ways {
        let copy = ["copy", "--from", from, "--to", to, "--records-only"];
        let copied = sandbox.json(&copy);
        let agent = &copied["agents"][0];
        assert_eq!((&agent["id"], &agent["copied"]), (&json!("acme"), &agent["records"]), "{copied}");
        let (source, target) = (chain(from), chain(to));
        assert!(source.len() > 2 && source == target, "{source:?}\n{target:?}");
        assert_eq!(copied["auditEntries"], json!(target.len()), "{copied}");
        assert_eq!(target.last().unwrap()["action"], "store.copy");
        let verified = sandbox.json(&["audit", "verify", "--store", to]);
        assert_eq!(verified["sound"], json!(true), "{verified}");
        assert_eq!(answers(&sandbox, &key, &["--store", to, "--blobs", "file:./data/blobs"]), expected);
        // Existing records are compared, and only new ones are copied: here the use of the key differs.
        let said = sandbox.run(&copy).failed(1);
        assert!(said.contains("keys (1 and 1)"), "{said}");
    }
}

/// Agents that are named move with their own entries, among which is that of the copy, and the others may follow.
#[test]
fn entries_without_an_agent_move_with_the_whole_store() {
    let sandbox = shared();
    filled(&sandbox, 2);
    sandbox.run(&["backup", "saved"]).done();
    let (from, to) = ("sqlite:./data/openapi.db", "sqlite:./moved/openapi.db");
    let copy = ["copy", "--from", from, "--to", to];
    let tail = |more: &[&str]| {
        sandbox
            .json(&[&["audit", "tail", "-n", "10000", "--store", to], more].concat())
            .as_array()
            .unwrap()
            .clone()
    };
    let sound = || assert_eq!(sandbox.json(&["audit", "verify", "--store", to])["sound"], json!(true));
    let one = sandbox.json(&[&copy[..], &["--agent", "acme"]].concat());
    assert_eq!(one["auditEntries"], json!(0));
    let own = tail(&["--agent", "acme"]);
    assert_eq!((own.len(), &own.last().unwrap()["action"]), (tail(&[]).len(), &json!("store.copy")));
    sound();
    assert_eq!(sandbox.json(&copy)["auditEntries"], json!(2), "the backup, and this copy");
    sound();
    // Entries of its own that the other store does not have.
    sandbox.run(&["audit", "export", "--store", to]).done();
    let said = sandbox.run(&copy).failed(1);
    assert!(
        said.contains("entries of the audit log without an agent") && said.contains("empty store"),
        "{said}"
    );
    sound();
}

#[test]
fn contents_move_along_and_are_compared() {
    let sandbox = shared();
    let key = sandbox.with_key();
    let contact = super::file_client::contact(&sandbox);
    let server = sandbox.serve(&[]);
    let keys = credentials(&key);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let file = id(client.upload("notes.txt", "A note.\n"));
    assert_eq!(server.end(), 0);
    let copy = ["copy", "--from", "sqlite:./data/openapi.db", "--to", "sqlite:./moved/openapi.db"];
    assert_eq!(sandbox.json(&copy)["contents"], json!(1));
    assert_eq!(sandbox.json(&copy)["contents"], json!(0), "what is there is not copied again");
    let blob = sandbox.path("moved/blobs").join("acme").join(&file);
    let sealed = std::fs::read(sandbox.path("data/blobs/acme").join(&file)).unwrap();
    assert_eq!(std::fs::read(&blob).unwrap(), sealed);
    let mut damaged = sealed.clone();
    damaged[20] ^= 1;
    std::fs::write(&blob, &damaged).unwrap();
    assert_eq!(sandbox.json(&copy)["contents"], json!(1), "damaged contents are copied again");
    assert_eq!(std::fs::read(&blob).unwrap(), sealed);
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(sandbox.path("data/blobs/acme").join(&file), &damaged).unwrap();
    let said = sandbox.run(&copy).failed(1);
    assert!(said.contains("is damaged") && !blob.exists(), "{said}");
}

#[test]
fn a_copy_that_is_killed_goes_on_where_it_ended() {
    let sandbox = shared();
    filled(&sandbox, 4_000);
    let database = postgres::Database::create();
    let url = database.url();
    let copy = ["copy", "--from", "sqlite:./data/openapi.db", "--to", &url, "--records-only"];
    for millis in [150, 400, 700, 1_000] {
        let mut running = sandbox.command(BINARY).args(copy).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(millis));
        running.kill().unwrap();
        running.wait().unwrap();
    }
    let copied = sandbox.json(&copy);
    let agent = &copied["agents"][0];
    // 4,000 contacts with an audit entry each, a schema, a key and their audit entries.
    assert!(agent["records"].as_u64() > Some(8_000), "{copied}");
    assert_eq!(sandbox.json(&copy)["agents"][0]["copied"], json!(0));
}

#[test]
fn what_cannot_be_copied_is_reported() {
    let sandbox = shared();
    let key = filled(&sandbox, 2);
    let from = "sqlite:./data/openapi.db";
    let failed =
        |code, arguments: &[&str]| sandbox.run(&[&["copy", "--from"], arguments].concat()).failed(code);
    assert!(failed(2, &["memory:", "--to", from]).contains("ends with its process"));
    assert!(failed(2, &[from, "--to", from]).contains("the same store"));
    assert!(failed(1, &["sqlite:./nothing.db", "--to", from]).contains("there is no store to copy"));
    assert!(!sandbox.path("nothing.db").exists());
    let postgres = postgres::Database::create();
    let said = failed(2, &[from, "--to", &postgres.url()]);
    assert!(said.contains("--to-blobs") && said.contains("--records-only"), "{said}");
    let moved = "sqlite:./moved/openapi.db";
    assert!(failed(1, &[from, "--to", moved, "--agent", "nobody"]).contains("there is no agent 'nobody'"));
    sandbox.run(&["copy", "--from", from, "--to", moved]).done();
    // A write to the copy.
    let server = sandbox.serve(&["--store", moved]);
    let credentials = credentials(&key);
    let mut headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str())).to_vec();
    headers.push(("Content-Type", "application/json"));
    let path = "/v1/open/contacts/crm-1/chatbots/acme";
    let (status, said) = request(&server.api, "PUT", path, &headers, r#"{"lastName":"Other"}"#);
    assert_eq!(status, 200, "{said}");
    assert_eq!(server.end(), 0);
    let said = failed(1, &[from, "--to", moved]);
    assert!(said.contains("agent acme: the stores hold different contacts (2 and 2)"), "{said}");
}
