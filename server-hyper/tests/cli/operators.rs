//! Agents, keys, schemas, audit, server keys.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::{Sandbox, credentials, within};

const CONTACTS: &str = "/v1/open/contacts/chatbots/acme";

#[test]
fn agents_live_and_die() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["agents", "list"]), json!([]));
    let agent = sandbox.json(&["agents", "create", " Front desk ", "--id", "acme"]);
    assert_eq!(
        (&agent["id"], &agent["name"], &agent["status"]),
        (&json!("acme"), &json!("Front desk"), &json!("active"))
    );
    let made_up = sandbox.json(&["agents", "create", "Second"]);
    let id = made_up["id"].as_str().unwrap();
    assert!(id.len() == 24 && id.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
    let list = sandbox.json(&["agents", "list"]);
    assert_eq!(list.as_array().unwrap().len(), 2);
    let mut shown = sandbox.json(&["agents", "show", "acme"]);
    shown.as_object_mut().unwrap().remove("widget").unwrap();
    assert_eq!(shown, agent);
    assert_eq!(sandbox.json(&["agents", "disable", "acme"])["status"], "disabled");
    assert_eq!(sandbox.json(&["agents", "enable", "acme"])["status"], "active");
    assert_eq!(sandbox.json(&["agents", "delete", "acme"])["status"], "deleted");
    assert!(sandbox.run(&["agents", "show", "acme"]).failed(1).contains("there is no agent 'acme'"));
    let again = sandbox.run(&["agents", "create", "Front desk", "--id", "acme"]).failed(1);
    assert!(again.contains("ids are never given twice"), "{again}");
    let table = sandbox.run(&["agents", "list"]).done();
    assert!(table.starts_with("ID ") && table.contains("Second"), "{table}");
}

#[test]
fn what_cannot_be_meant_is_wrong_usage() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["agents", "create", "A", "--id", "a b"][..],
        &["agents", "create", ""],
        &["agents", "create"],
        &["agents", "fly"],
        &["keys", "create", "--agent", "acme", "--name", "A"],
        &["keys", "create", "--agent", "acme", "--name", "A", "--allow", "people:read"],
        &["keys", "create", "--agent", "acme", "--name", "A", "--allow", "all", "--ip", "10.0.0.0/99"],
        &["keys", "create", "--agent", "acme", "--name", "A", "--allow", "all", "--expires", "tomorrow"],
        &["keys", "create", "--agent", "acme", "--name", "A", "--allow", "all", "--per-minute", "2000"],
        &["keys", "create", "--agent", "acme", "--name", "A", "--allow", "all", "--per-hour", "50"],
        &["keys", "rotate", "svck_wrong"],
        &["keys", "rotate", "697dc8165d4ffa83cfc35cfc", "--grace", "soon"],
        &["agents", "list", "--store", "mysql://x"],
        &["agents", "list", "--store", "sqlite:"],
        &["contacts", "import", "--agent", "acme", "contacts.xls"],
        &["nonsense"],
        &["--nonsense"],
    ] {
        let said = sandbox.run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {said:?}");
        assert!(said.stdout.is_empty() && !said.stderr.trim().is_empty(), "{said:?}");
    }
}

#[test]
fn keys_live_and_die() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let id = key["id"].as_str().unwrap();
    let public = key["apiKey"].as_str().unwrap();
    let secret = key["apiSecret"].as_str().unwrap();
    assert!(public.starts_with("svck_") && secret.starts_with("svcs_"));
    // The secret is shown once.
    let shown = sandbox.run(&["keys", "show", id, "--json"]).done()
        + &sandbox.run(&["keys", "list", "--agent", "acme"]).done();
    assert!(shown.contains(public) && !shown.contains(&secret[5..]) && !shown.contains("hash"), "{shown}");
    let full = sandbox.json(&[
        "keys",
        "create",
        "--agent",
        "acme",
        "--name",
        "Full",
        "--allow",
        "contacts:read,create",
        "--allow",
        "forms:all",
        "--per-minute",
        "10",
        "--per-hour",
        "100",
        "--ip",
        "192.0.2.0/24",
        "--ip",
        "2001:db8::1",
        "--expires",
        "2999-01-01T00:00:00Z",
        "--description",
        "Two\nlines",
        "--api-key-prefix",
        "acme",
    ]);
    assert!(full["apiKey"].as_str().unwrap().starts_with("acmek_"));
    assert_eq!(
        full["permissions"],
        json!(["contacts:create", "contacts:read", "forms:create", "forms:read", "forms:update"])
    );
    assert_eq!(full["allowedAddresses"], json!(["192.0.2.0/24", "2001:db8::1"]));
    assert_eq!(full["limits"], json!({ "perMinute": 10, "perHour": 100 }));
    assert_eq!(full["createdBy"], json!({ "type": "operator", "id": "tester" }));

    let full_id = full["id"].as_str().unwrap();
    let edited = sandbox.json(&[
        "keys",
        "edit",
        full_id,
        "--name",
        "New",
        "--ip",
        "any",
        "--expires",
        "never",
        "--description",
        "none",
        "--per-minute",
        "20",
        "--allow",
        "contacts:read",
    ]);
    assert_eq!((&edited["name"], &edited["allowedAddresses"]), (&json!("New"), &json!([])));
    assert_eq!((&edited["expiresAt"], &edited["description"]), (&Value::Null, &Value::Null));
    assert_eq!(edited["limits"], json!({ "perMinute": 20, "perHour": 100 }));
    assert_eq!(edited["permissions"], json!(["contacts:read"]));

    let rotated = sandbox.json(&["keys", "rotate", public, "--grace", "7d"]);
    assert_eq!(rotated["apiKey"], key["apiKey"]);
    assert_ne!(rotated["apiSecret"], key["apiSecret"]);
    assert!(sandbox.run(&["keys", "rotate", public, "--grace", "8d"]).failed(1).contains('7'));
    assert_eq!(sandbox.json(&["keys", "disable", id])["status"], "disabled");
    assert_eq!(sandbox.json(&["keys", "enable", id])["status"], "active");
    assert_eq!(sandbox.json(&["keys", "revoke", id])["status"], "revoked");
    sandbox.run(&["keys", "enable", id]).failed(1);
    sandbox.run(&["keys", "show", "697dc8165d4ffa83cfc35cfc"]).failed(1);
    let past = sandbox.run(&["keys", "edit", full_id, "--expires", "2001-01-01T00:00:00Z"]).failed(1);
    assert!(!past.is_empty());
}

#[test]
fn a_running_server_sees_changes_of_keys_within_5_seconds() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve(&["--address-limit-failed-auth", "0"]);
    let key = sandbox.with_key();
    let id = key["id"].as_str().unwrap();
    sandbox.json(&["keys", "edit", id, "--per-minute", "1000", "--per-hour", "10000"]);
    let get = |key: &Value| {
        let credentials = credentials(key);
        server.get(CONTACTS, &credentials.each_ref().map(|(name, value)| (*name, value.as_str()))).0
    };
    assert_eq!(get(&key), 200);
    sandbox.json(&["keys", "disable", id]);
    within(Duration::from_secs(5), "a disabled key is refused", || get(&key) == 401);
    sandbox.json(&["keys", "enable", id]);
    within(Duration::from_secs(5), "an enabled key works", || get(&key) == 200);
    let rotated = sandbox.json(&["keys", "rotate", id, "--grace", "1h"]);
    assert_eq!(get(&key), 200, "the old secret has its grace");
    within(Duration::from_secs(5), "the new secret works", || get(&rotated) == 200);
    let ended = sandbox.json(&["keys", "rotate", id, "--grace", "0s"]);
    within(Duration::from_secs(5), "secrets without grace end", || get(&rotated) == 401);
    assert_eq!(get(&ended), 200);
    sandbox.json(&["agents", "disable", "acme"]);
    within(Duration::from_secs(5), "a disabled agent is refused", || get(&ended) == 401);
    assert_eq!(server.end(), 0);
}

#[test]
fn contact_schemas_have_a_history() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    assert_eq!(sandbox.json(&["contact-schema", "show", "--agent", "acme"])["version"], 1);
    sandbox.write(
        "schema.json",
        r#"{ "fields": [{ "name": "lastName", "required": true }],
             "customFields": [{ "name": "plan", "label": "Plan", "type": "select",
               "options": [{ "value": "gold", "label": "Gold" }, { "value": "silver", "label": "Silver" }] }],
             "allowUndeclaredCustomFields": false }"#,
    );
    let set = sandbox.json(&["contact-schema", "set", "--agent", "acme", "--file", "schema.json"]);
    assert_eq!((&set["version"], &set["allowUndeclaredCustomFields"]), (&json!(2), &json!(false)));
    let again = sandbox.json(&["contact-schema", "set", "--agent", "acme", "--file", "schema.json"]);
    assert_eq!(again["version"], 2, "nothing changed");
    let history = sandbox.json(&["contact-schema", "history", "--agent", "acme"]);
    assert_eq!(history.as_array().unwrap().len(), 2);
    let table = sandbox.run(&["contact-schema", "show", "--agent", "acme"]).done();
    assert!(table.contains("customFields.plan") && table.contains("one of gold|silver"), "{table}");
    // All errors at once, each with its path.
    sandbox.write(
        "bad.json",
        r#"{ "fields": [{ "name": "nobody" }], "customFields": [{ "name": "a.b", "type": "colour" }] }"#,
    );
    let faults = sandbox.run(&["contact-schema", "set", "--agent", "acme", "--file", "bad.json"]).failed(1);
    assert!(faults.contains("fields[0].name") && faults.contains("customFields[0].name"), "{faults}");
    sandbox.write("broken.json", "{\n  \"fields\": [,]\n}");
    let broken =
        sandbox.run(&["contact-schema", "set", "--agent", "acme", "--file", "broken.json"]).failed(1);
    assert!(broken.contains("broken.json:2:14"), "{broken}");
    assert!(
        sandbox
            .run(&["contact-schema", "set", "--agent", "acme", "--file", "none.json"])
            .failed(1)
            .contains("none.json")
    );
}

#[test]
fn the_audit_log_tells_who_did_what() {
    let sandbox = Sandbox::new();
    let key = sandbox.with_key();
    let server = sandbox.serve(&[]);
    let headers = [("X-API-Key", key["apiKey"].as_str().unwrap()), ("X-API-Secret", "svcs_wrong")];
    assert_eq!(server.get(CONTACTS, &headers).0, 401);
    assert_eq!(server.end(), 0);
    let entries = sandbox.json(&["audit", "tail", "--agent", "acme"]);
    let actions: Vec<&str> =
        entries.as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["agent.create", "key.create", "authentication.failure"]);
    assert_eq!(entries[0]["actor"], json!({ "type": "operator", "id": "tester" }));
    let last = sandbox.json(&["audit", "tail", "-n", "1"]);
    assert_eq!(last[0], entries[2]);
    let exported = sandbox.run(&["audit", "export", "--agent", "acme"]).done();
    let exported: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(exported[3]["action"], "audit.export");
    assert_eq!(Value::from(&exported[..3]), entries);
    assert_eq!((&entries[2]["sequence"], &exported[3]["sequence"]), (&json!(3), &json!(4)));
    let table = sandbox.run(&["audit", "tail"]).done();
    assert!(table.contains("operator tester") && table.contains("authentication.failure"), "{table}");
    sandbox.run(&["audit", "tail", "--agent", "nobody"]).failed(1);
    let secret = key["apiSecret"].as_str().unwrap();
    assert!(!sandbox.run(&["audit", "export"]).done().contains(&secret[5..]));
}

/// Displays of secrets, exports, changes of server keys, backups: each leaves an entry, with the user who ran it.
#[test]
fn every_look_at_many_records_or_at_a_secret_is_noted() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let lines: String = (0..3).map(|n| format!("{{\"primaryEmail\":\"c{n}@example.com\"}}\n")).collect();
    sandbox.write("contacts.ndjson", &lines);
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    let newest = |count: &str| -> Vec<Value> {
        sandbox.json(&["audit", "tail", "-n", count]).as_array().unwrap().clone()
    };
    let moved = "sqlite:./moved/openapi.db";
    let commands: [(&[&str], &str); 11] = [
        (&["agents", "identity-secret", "acme", "--rotate"], "secret.show"),
        (&["agents", "identity-secret", "acme"], "secret.show"),
        (&["contacts", "export", "--agent", "acme"], "contact.export"),
        (&["submissions", "export", "--agent", "acme"], "submission.export"),
        (&["conversations", "export", "--agent", "acme"], "conversation.export"),
        (&["audit", "export"], "audit.export"),
        (&["audit", "purge", "--before", "2100-01-01"], ""),
        (&["server-key", "rotate"], "serverKey.rotate"),
        (&["files", "seal"], "files.seal"),
        (&["backup", "./backup"], "store.backup"),
        (&["copy", "--from", "sqlite:./data/openapi.db", "--to", moved], "store.copy"),
    ];
    for (arguments, action) in commands {
        let before = newest("1000").len();
        let said = sandbox.run(arguments);
        let added = newest("1000").split_off(before);
        if action.is_empty() {
            assert_eq!((said.code, added.len()), (2, 0), "{arguments:?}: {said:?}");
            continue;
        }
        said.done();
        let last = added.last().unwrap_or_else(|| panic!("{arguments:?} left no entry"));
        assert_eq!(last["action"], action, "{arguments:?}");
        assert_eq!(last["osUser"]["uid"], json!(rustix::process::getuid().as_raw()), "{arguments:?}");
        assert!(!last.to_string().contains("svci_"), "{last}");
    }
    sandbox.run(&["restore", "./backup"]).done();
    assert_eq!(newest("1")[0]["action"], "store.restore");
    // More than a hundred records at once.
    let lines: String = (3..110).map(|n| format!("{{\"primaryEmail\":\"c{n}@example.com\"}}\n")).collect();
    sandbox.write("contacts.ndjson", &lines);
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    std::fs::create_dir(sandbox.path("knowledge")).unwrap();
    for n in 0..101 {
        sandbox.write(&format!("knowledge/{n}.md"), &format!("# Room {n}\n\nIt has {n} chairs."));
    }
    sandbox.run(&["knowledge", "add", "--agent", "acme", "knowledge"]).done();
    let bulk: [(&[&str], &str); 3] = [
        (&["events", "list", "--agent", "acme", "--after", "0", "-n", "101"], "events"),
        (&["knowledge", "list", "--agent", "acme"], "knowledge"),
        (&["audit", "tail", "-n", "101"], "audit"),
    ];
    for (arguments, records) in bulk {
        sandbox.run(arguments).done();
        let last = newest("1")[0].clone();
        assert_eq!((&last["action"], &last["resource"]), (&json!("records.read"), &json!(records)), "{last}");
    }
    let verified = sandbox.json(&["audit", "verify"]);
    assert_eq!((&verified["sound"], &verified["breaks"]), (&json!(true), &json!([])), "{verified}");
}

#[test]
fn a_tampered_audit_log_is_found() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    // The server anchors the log when it starts.
    let server = sandbox.serve(&[]);
    within(Duration::from_secs(10), "the log is anchored", || sandbox.path("data/audit-anchors").exists());
    assert_eq!(server.end(), 0);
    let anchored = sandbox.json(&["audit", "verify"]);
    assert_eq!(
        (&anchored["sound"], anchored["anchors"]["at"].is_string()),
        (&json!(true), true),
        "{anchored}"
    );
    let said = sandbox.run(&["audit", "verify"]).done();
    assert!(said.contains(", in chains: 1"), "{said}");
    // An anchor that the store has lost, such as after an old backup was restored.
    let line = sandbox.read("data/audit-anchors");
    let ahead = line.replace("\"sequence\":2", "\"sequence\":7");
    assert_ne!(line, ahead, "two entries");
    sandbox.write("data/audit-anchors", &ahead);
    let said = sandbox.run(&["audit", "verify", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    let first = json!({ "agentId": "acme", "sequence": 3, "entry": null, "problem": "missing" });
    assert_eq!((&report["sound"], &report["breaks"][0]), (&json!(false), &first));
    // A key that is not among the server's.
    sandbox.write("data/audit-anchors", "");
    let other = "5a".repeat(32);
    let said = sandbox.run_with(&[("OPENAPI_SERVER_KEY", &other)], &["audit", "verify"]);
    assert!(
        said.code == 1 && said.stdout.contains("acme: entry 1") && said.stdout.contains("server key"),
        "{said:?}"
    );
}

#[test]
fn server_keys_are_created_once_stay_secret_and_are_rotated_by_adding() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["server-key", "list"]), json!([]));
    let key = sandbox.with_key();
    let first = sandbox.json(&["server-key", "list"]);
    let file = sandbox.read("data/server-keys");
    let bytes =
        file.lines().find(|line| !line.starts_with('#')).unwrap().split(' ').next().unwrap().to_owned();
    assert_eq!(bytes.len(), 64);
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(sandbox.path("data/server-keys")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let rotated = sandbox.json(&["server-key", "rotate"]);
    assert_eq!((rotated.as_array().unwrap().len(), &rotated[1]["id"]), (2, &first[0]["id"]));
    assert_eq!((&rotated[0]["current"], &rotated[1]["current"]), (&json!(true), &json!(false)));
    // Secrets from before and after the rotation are accepted.
    let second = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "B", "--allow", "all"]);
    let server = sandbox.serve(&[]);
    for key in [&key, &second] {
        let credentials = credentials(key);
        assert_eq!(
            server.get(CONTACTS, &credentials.each_ref().map(|(name, value)| (*name, value.as_str()))).0,
            200
        );
    }
    // So are those of a rotation while the server runs, and rate limits still count earlier requests.
    sandbox.json(&["server-key", "rotate"]);
    let third = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "C", "--allow", "all"]);
    let get = |key: &Value| {
        let credentials = credentials(key);
        server.get(CONTACTS, &credentials.each_ref().map(|(name, value)| (*name, value.as_str()))).0
    };
    within(Duration::from_secs(5), "a key hashed with the new server key works", || get(&third) == 200);
    assert_eq!((get(&key), get(&second)), (200, 200));
    assert_eq!(server.end(), 0);
    // A key given by the environment needs no file; without the right one no secret is accepted.
    let server =
        sandbox.run_with(&[("OPENAPI_SERVER_KEY", &bytes)], &["server-key", "list", "--json"]).done();
    assert_eq!(serde_json::from_str::<Value>(&server).unwrap()[0]["id"], first[0]["id"]);
    sandbox.write("key", &format!("{bytes}\n"));
    let from_file = sandbox.run(&["server-key", "list", "--json", "--server-key-file", "key"]).done();
    assert_eq!(serde_json::from_str::<Value>(&from_file).unwrap()[0]["id"], first[0]["id"]);
    assert!(
        sandbox
            .run_with(&[("OPENAPI_SERVER_KEY", &bytes)], &["server-key", "rotate"])
            .failed(1)
            .contains("OPENAPI_SERVER_KEY")
    );
    let said = sandbox.run_with(&[("OPENAPI_SERVER_KEY", &bytes[1..])], &["agents", "list"]).failed(1);
    assert!(said.contains("64 hexadecimal digits") && !said.contains(&bytes[10..]), "{said}");
    sandbox.write("data/server-keys", "");
    assert!(sandbox.run(&["agents", "list"]).failed(1).contains("contains no server key"));
}

#[test]
fn a_url_that_is_no_store_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", &"These are notes, no database. ".repeat(200));
    let said = sandbox.run(&["agents", "list", "--store", "sqlite:notes.txt"]).failed(1);
    assert!(said.contains("notes.txt"), "{said}");
    assert_eq!(sandbox.read("notes.txt").len(), 6_000);
    sandbox.write("folder", "");
    let said = sandbox.run(&["agents", "list", "--store", "sqlite:folder/x.db"]).failed(1);
    assert!(said.contains("folder"), "{said}");
}

#[test]
fn the_document_is_one_of_openapi() {
    let sandbox = Sandbox::new();
    let document: Value =
        serde_json::from_str(&sandbox.run(&["openapi", "--public-url", "https://api.example.com"]).done())
            .unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["servers"][0]["url"], "https://api.example.com");
    assert!(document["paths"].as_object().unwrap().len() >= 8);
}
