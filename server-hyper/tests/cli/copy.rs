//! `copy`: a store moves from engine to engine, and servers on the new one answer as before.

use std::time::Duration;

use database_servers::{mongo, postgres};
use serde_json::{Value, json};

use super::file_client::{Client, id};
use super::support::{BINARY, Place, Serving, credentials, request};

const KEY: &str = "OPENAPI_SERVER_KEY";

fn shared() -> Place {
    Place::with(vec![(KEY, "5a".repeat(32))])
}

/// The answer to a request with a key.
fn ask(server: &Serving, key: &Value, path: &str) -> (u16, String) {
    let credentials = credentials(key);
    let headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str()));
    request(&server.api, "GET", path, &headers, "")
}

/// Contacts, two of them archived, in a SQLite file.
fn filled(place: &Place, contacts: usize) -> Value {
    let key = place.with_key();
    let lines: String = (0..contacts)
        .map(|n| {
            let contact = json!({
                "externalReferenceId": format!("crm-{n}"), "primaryEmail": format!("c{n}@example.com"),
                "lastName": format!("Name {}", n % 7), "tags": [format!("tag{}", n % 3)],
            });
            format!("{contact}\n")
        })
        .collect();
    place.write("contacts.ndjson", &lines);
    place.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    key
}

const PATHS: [&str; 4] = [
    "/v1/open/contacts/crm-5/chatbots/acme",
    "/v1/open/contacts/chatbots/acme?limit=50&sortBy=lastName",
    "/v1/open/contacts/chatbots/acme?search=name%203&tag=tag1",
    "/v1/open/contacts/schema/chatbots/acme",
];

fn answers(place: &Place, key: &Value, arguments: &[&str]) -> Vec<String> {
    let server = place.serve(arguments);
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
    let (place, postgres, mongo) = (shared(), postgres::Database::create(), mongo::Database::create());
    let key = filled(&place, 300);
    let expected = answers(&place, &key, &[]);
    let ways = [
        ("sqlite:./data/openapi.db".to_owned(), postgres.url()),
        (postgres.url(), mongo.url()),
        (mongo.url(), "sqlite:./moved/openapi.db".to_owned()),
    ];
    for (from, to) in &ways {
        let copy = ["copy", "--from", from, "--to", to, "--records-only"];
        let copied = place.json(&copy);
        let agent = &copied["agents"][0];
        assert_eq!((&agent["id"], &agent["copied"]), (&json!("acme"), &agent["records"]), "{copied}");
        assert_eq!(answers(&place, &key, &["--store", to, "--blobs", "file:./data/blobs"]), expected);
        // What is there already is compared, and only what came since is copied: here the use of the key differs.
        let said = place.run(&copy).failed(1);
        assert!(said.contains("keys (1 and 1)"), "{said}");
    }
}

#[test]
fn contents_move_along_and_are_compared() {
    let place = shared();
    let key = place.with_key();
    let contact = super::file_client::contact(&place);
    let server = place.serve(&[]);
    let keys = credentials(&key);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let file = id(client.upload("notes.txt", "A note.\n"));
    assert_eq!(server.end(), 0);
    let copy = ["copy", "--from", "sqlite:./data/openapi.db", "--to", "sqlite:./moved/openapi.db"];
    assert_eq!(place.json(&copy)["contents"], json!(1));
    assert_eq!(place.json(&copy)["contents"], json!(0), "what is there is not copied again");
    let blob = place.path("moved/blobs").join("acme").join(&file);
    assert_eq!(std::fs::read(&blob).unwrap(), b"A note.\n");
    std::fs::write(&blob, b"A n0te.\n").unwrap();
    assert_eq!(place.json(&copy)["contents"], json!(1), "what is damaged is copied anew");
    assert_eq!(std::fs::read(&blob).unwrap(), b"A note.\n");
    std::fs::remove_file(&blob).unwrap();
    std::fs::write(place.path("data/blobs/acme").join(&file), b"A n0te.\n").unwrap();
    let said = place.run(&copy).failed(1);
    assert!(said.contains("is damaged") && !blob.exists(), "{said}");
}

#[test]
fn a_copy_that_is_killed_goes_on_where_it_ended() {
    let place = shared();
    filled(&place, 4_000);
    let database = postgres::Database::create();
    let url = database.url();
    let copy = ["copy", "--from", "sqlite:./data/openapi.db", "--to", &url, "--records-only"];
    for millis in [150, 400, 700, 1_000] {
        let mut running = place.command(BINARY).args(copy).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(millis));
        running.kill().unwrap();
        running.wait().unwrap();
    }
    let copied = place.json(&copy);
    let agent = &copied["agents"][0];
    // 4,000 contacts, an entry of the audit log for each, a schema, a key and what made them.
    assert!(agent["records"].as_u64() > Some(8_000), "{copied}");
    assert_eq!(place.json(&copy)["agents"][0]["copied"], json!(0));
}

#[test]
fn what_cannot_be_copied_is_told() {
    let place = shared();
    let key = filled(&place, 2);
    let from = "sqlite:./data/openapi.db";
    let failed =
        |code, arguments: &[&str]| place.run(&[&["copy", "--from"], arguments].concat()).failed(code);
    assert!(failed(2, &["memory:", "--to", from]).contains("gone with its process"));
    assert!(failed(2, &[from, "--to", from]).contains("the same store"));
    assert!(failed(1, &["sqlite:./nothing.db", "--to", from]).contains("there is no store to copy"));
    assert!(!place.path("nothing.db").exists());
    let postgres = postgres::Database::create();
    let said = failed(2, &[from, "--to", &postgres.url()]);
    assert!(said.contains("--to-blobs") && said.contains("--records-only"), "{said}");
    let moved = "sqlite:./moved/openapi.db";
    assert!(failed(1, &[from, "--to", moved, "--agent", "nobody"]).contains("there is no agent 'nobody'"));
    place.run(&["copy", "--from", from, "--to", moved]).done();
    // Somebody wrote to the copy.
    let server = place.serve(&["--store", moved]);
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
