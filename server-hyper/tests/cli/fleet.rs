//! Several servers on one store, in PostgreSQL and in MongoDB.

use std::time::{Duration, Instant};

use database_servers::{mongo, postgres};
use serde_json::{Value, json};

use super::file_client::{Client, contact, id};
use super::support::{Sandbox, Serving, credentials, request, within};

const CONTACTS: &str = "/v1/open/contacts/chatbots/acme";

/// An engine with a database of its own.
pub enum Database {
    Postgres(postgres::Database),
    Mongo(mongo::Database),
}

impl Database {
    pub fn url(&self) -> String {
        match self {
            Database::Postgres(database) => database.url(),
            Database::Mongo(database) => database.url(),
        }
    }

    /// A folder whose commands use the database, with everything that servers share.
    pub fn sandbox(&self) -> Sandbox {
        Sandbox::with(vec![
            ("OPENAPI_STORE", self.url()),
            ("OPENAPI_SERVER_KEY", "5a".repeat(32)),
            ("OPENAPI_BLOBS", "file:./blobs".to_owned()),
        ])
    }
}

macro_rules! on_both_engines {
    ($($test:ident),* $(,)?) => {$(
        mod $test {
            #[test]
            fn postgres() {
                super::$test(&crate::fleet::Database::Postgres(database_servers::postgres::Database::create()));
            }

            #[test]
            fn mongo() {
                super::$test(&crate::fleet::Database::Mongo(database_servers::mongo::Database::create()));
            }
        }
    )*};
}

pub(crate) use on_both_engines;

on_both_engines!(
    what_servers_must_share_is_asked_for,
    servers_that_start_at_once_make_one_store,
    servers_are_one_service,
    limits_hold_for_all_servers_together,
    changes_of_keys_reach_other_servers,
    a_new_server_key_is_known_before_it_is_met,
);

fn ask(
    server: &Serving,
    key: &Value,
    method: &str,
    path: &str,
    more: &[(&str, &str)],
    body: &str,
) -> (u16, Value) {
    let credentials = credentials(key);
    let mut headers = credentials.each_ref().map(|(name, value)| (*name, value.as_str())).to_vec();
    headers.push(("Content-Type", "application/json"));
    headers.extend(more);
    let (status, body) = request(&server.api, method, path, &headers, body);
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// An agent, and a key with this rate per minute.
fn key_of(sandbox: &Sandbox, per_minute: &str) -> Value {
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    let key = ["keys", "create", "--agent", "acme", "--name", "All", "--allow", "all"];
    sandbox.json(&[&key[..], &["--per-minute", per_minute, "--per-hour", "10000"]].concat())
}

fn what_servers_must_share_is_asked_for(database: &Database) {
    let url = database.url();
    let without_key =
        Sandbox::with(vec![("OPENAPI_STORE", url.clone()), ("OPENAPI_BLOBS", "memory:".to_owned())]);
    for command in [
        &["agents", "list"][..],
        &["serve"],
        &["config", "check"],
        &["knowledge", "search", "x", "--agent", "a"],
    ] {
        let said = without_key.run(command).failed(1);
        assert!(
            said.contains("OPENAPI_SERVER_KEY") && said.contains("openssl rand -hex 32"),
            "{command:?}: {said}"
        );
    }
    let without_blobs = Sandbox::with(vec![("OPENAPI_STORE", url), ("OPENAPI_SERVER_KEY", "5a".repeat(32))]);
    // Nothing is bound or opened before: the message is the same whether or not other servers run.
    for command in [&["serve"][..], &["config", "check"], &["check"], &["agents", "delete", "a"]] {
        let said = without_blobs.run(command).failed(2);
        assert!(said.contains("--blobs") && said.contains("s3://"), "{command:?}: {said}");
    }
    let plan = database.sandbox().run(&["migrate", "--plan"]).done();
    assert!(plan.contains("would be applied"), "a command that was refused has migrated: {plan}");
}

fn servers_that_start_at_once_make_one_store(database: &Database) {
    let sandbox = database.sandbox();
    let migrations: Vec<_> =
        (0..4).map(|_| sandbox.command(super::support::BINARY).arg("migrate").spawn().unwrap()).collect();
    for mut migration in migrations {
        assert!(migration.wait().unwrap().success());
    }
    assert_eq!(sandbox.run(&["migrate"]).done(), "the store is up to date\n");
    let key = sandbox.with_key();
    assert_eq!(ask(&sandbox.serve(&[]), &key, "GET", CONTACTS, &[], "").0, 200);
}

fn servers_are_one_service(database: &Database) {
    let sandbox = database.sandbox();
    let key = sandbox.with_key();
    let (one, other) = (sandbox.serve(&[]), sandbox.serve(&[]));
    let body = json!({ "primaryEmail": "zoe@example.com", "externalReferenceId": "crm-1", "tags": ["vip"] })
        .to_string();
    let again = [("Idempotency-Key", "a-key")];
    let (status, created) = ask(&one, &key, "POST", CONTACTS, &again, &body);
    assert_eq!(status, 201, "{created}");
    // The other server knows the contact, the response, and that the id exists.
    assert_eq!(ask(&other, &key, "POST", CONTACTS, &again, &body), (201, created.clone()));
    let (status, taken) = ask(&other, &key, "POST", CONTACTS, &[], &body);
    assert_eq!((status, &taken["code"]), (409, &json!("DUPLICATE_EXTERNAL_REFERENCE_ID")), "{taken}");
    let (status, read) = ask(&other, &key, "GET", "/v1/open/contacts/crm-1/chatbots/acme", &[], "");
    assert_eq!((status, &read["data"]), (200, &created["data"]));
    let (_, listed) = ask(&other, &key, "GET", &format!("{CONTACTS}?search=zoe&tag=vip"), &[], "");
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!((one.end(), other.end()), (0, 0));
}

fn limits_hold_for_all_servers_together(database: &Database) {
    let sandbox = database.sandbox();
    let key = key_of(&sandbox, "40");
    let servers = [sandbox.serve(&[]), sandbox.serve(&[]), sandbox.serve(&[])];
    let begun = Instant::now();
    let admitted: usize = std::thread::scope(|scope| {
        let clients: Vec<_> = servers
            .iter()
            .map(|server| {
                scope.spawn(|| {
                    (0..60).filter(|_| ask(server, &key, "GET", CONTACTS, &[], "").0 == 200).count()
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert!(begun.elapsed() < Duration::from_secs(60), "the minute is over before the requests are");
    assert!((36..=40).contains(&admitted), "{admitted} of 40");
}

fn changes_of_keys_reach_other_servers(database: &Database) {
    let sandbox = database.sandbox();
    let key = key_of(&sandbox, "1000");
    let servers = [sandbox.serve(&[]), sandbox.serve(&[])];
    for server in &servers {
        assert_eq!(ask(server, &key, "GET", CONTACTS, &[], "").0, 200);
    }
    let name = key["apiKey"].as_str().unwrap();
    sandbox.run(&["keys", "disable", name]).done();
    for server in &servers {
        within(Duration::from_secs(5), "the key is disabled", || {
            ask(server, &key, "GET", CONTACTS, &[], "").0 == 401
        });
    }
    sandbox.run(&["keys", "enable", name]).done();
    for server in &servers {
        within(Duration::from_secs(5), "the key works again", || {
            ask(server, &key, "GET", CONTACTS, &[], "").0 == 200
        });
    }
}

/// Servers and commands on one store read a common file of server keys. A key is added to it, and what other processes make
/// with the key is accepted at once.
fn a_new_server_key_is_known_before_it_is_met(database: &Database) {
    let sandbox = Sandbox::with(vec![
        ("OPENAPI_STORE", database.url()),
        ("OPENAPI_SERVER_KEY_FILE", "./common-keys".to_owned()),
        ("OPENAPI_BLOBS", "file:./blobs".to_owned()),
    ]);
    let [first, second] = ["5a".repeat(32), "6b".repeat(32)];
    sandbox.write("common-keys", &first);
    let key = key_of(&sandbox, "1000");
    let (keys, contact) = (credentials(&key), contact(&sandbox));
    let server = sandbox.serve(&[]);
    let client = Client { origin: &server.api, keys: &keys, agent: "acme", contact: &contact };
    let file = id(client.upload("a.txt", "a note\n"));
    let refused = sandbox.run(&["server-key", "rotate"]).failed(1);
    assert!(refused.contains("on every server, as the last one"), "{refused}");

    // The new key is the current one for all that starts from now on.
    sandbox.write("common-keys", &format!("{second}\n{first}\n"));
    assert_eq!(sandbox.json(&["files", "seal"])["sealed"], 1);
    assert_eq!(client.download(&file).1, "a note\n");
    let newer = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "Newer", "--allow", "all"]);
    assert_eq!(ask(&server, &newer, "GET", CONTACTS, &[], "").0, 200);
    let other = sandbox.serve(&[]);
    let of_other = Client { origin: &other.api, ..client };
    let sealed = id(of_other.upload("b.txt", "another note\n"));
    assert_eq!(client.download(&sealed).1, "another note\n");
    let (status, body) = request(&server.api, "GET", &of_other.link(&sealed, ""), &[], "");
    assert_eq!((status, body.as_str()), (200, "another note\n"));

    // A file that cannot be read changes nothing, and a key that nobody has is refused.
    sandbox.write("common-keys", "no key");
    let stranger = [("X-API-Key", keys[0].1.clone()), ("X-API-Secret", "svcs_unknown".to_owned())];
    let stranger = stranger.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(request(&server.api, "GET", CONTACTS, &stranger, "").0, 401);
    assert_eq!(client.download(&file).1, "a note\n");
    let said = sandbox.run(&["server-key", "list"]).failed(1);
    assert!(said.contains("common-keys, line 1 is not a server key"), "{said}");
    assert_eq!((server.end(), other.end()), (0, 0));
}
