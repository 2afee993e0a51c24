//! Contacts one by one: list, show, create, update, archive, unarchive, notes; alone, and through a running server.

use serde_json::{Value, json};

use super::support::Sandbox;

/// Runs a check on a store without a server, and on one that a server owns.
fn alone_and_through_a_server(check: fn(&Sandbox)) {
    for serves in [false, true] {
        let sandbox = Sandbox::new();
        sandbox.with_key();
        let server = serves.then(|| sandbox.serve(&[]));
        assert_eq!(sandbox.path("data/openapi.db-console").exists(), serves);
        check(&sandbox);
        if let Some(server) = server {
            assert_eq!(server.end(), 0);
        }
    }
}

/// A command on the contacts of the agent.
fn line<'a>(command: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [&["contacts", command, "--agent", "acme"], arguments].concat()
}

fn json_of(sandbox: &Sandbox, command: &str, arguments: &[&str]) -> Value {
    sandbox.json(&line(command, arguments))
}

fn ids(page: &Value) -> Vec<&str> {
    let contacts = page["contacts"].as_array().unwrap().iter();
    contacts.map(|contact| contact["externalReferenceId"].as_str().unwrap()).collect()
}

#[test]
fn contacts_are_created_changed_and_archived() {
    alone_and_through_a_server(|sandbox| {
        sandbox.write(
            "schema.json",
            r#"{ "customFields": [{ "name": "seats", "label": "Seats", "type": "integer" }] }"#,
        );
        sandbox.json(&["contact-schema", "set", "--agent", "acme", "--file", "schema.json"]);
        let set = [
            "externalReferenceId=crm-1",
            "Primary Email=ada@example.com",
            "firstName=Ada",
            "tags=vip; news",
            "customFields.seats=3",
            "customFields.plan=7",
            "primaryPhone=020 7946",
            "dob=1990-05-17",
        ];
        let set: Vec<&str> = set.iter().flat_map(|set| ["--set", *set]).collect();
        let made = json_of(sandbox, "create", &set);
        for (name, value) in [
            ("primaryEmail", json!("ada@example.com")),
            ("tags", json!(["vip", "news"])),
            ("customFields", json!({ "seats": 3, "plan": "7" })),
            ("primaryPhone", json!("020 7946")),
            ("source", json!("api")),
            ("masked", json!([])),
        ] {
            assert_eq!(made[name], value, "{name}: {made}");
        }
        let id = made["id"].as_str().unwrap();
        assert_eq!(json_of(sandbox, "show", &["crm-1"]), made);
        assert_eq!(json_of(sandbox, "show", &[id]), made);
        assert_eq!(json_of(sandbox, "show", &["--external", "crm-1"]), made);
        let shown = sandbox.run(&line("show", &["crm-1"])).done();
        for expected in [
            &format!("id                   {id}\n"),
            "customFields.seats   3\n",
            "tags                 vip;news\n",
            &format!("etag                 {}\n", made["etag"].as_str().unwrap()),
        ] {
            assert!(shown.contains(expected), "{expected}: {shown}");
        }
        assert!(!shown.contains("gender") && !shown.contains("masked"), "{shown}");

        // What is not named stays; a file and single fields go together.
        sandbox.write("change.json", r#"{ "lastName": "King", "customFields": { "score": 1.50 } }"#);
        let change = [
            "crm-1",
            "--file",
            "change.json",
            "--set",
            "lastName=Byron",
            "--unset",
            "dob",
            "--unset",
            "customFields.plan",
        ];
        let changed = json_of(sandbox, "update", &change);
        assert_eq!((&changed["lastName"], &changed["firstName"]), (&json!("Byron"), &json!("Ada")));
        assert_eq!((&changed["dob"], &changed["customFields"]["plan"]), (&Value::Null, &Value::Null));
        assert_eq!(changed["customFields"]["seats"], 3);
        // A number is shown as it was written.
        assert!(sandbox.run(&line("show", &["crm-1", "--json"])).done().contains("\"score\": 1.50"));

        // Nobody overwrites a change that they have not seen.
        let (old, new) = (made["etag"].as_str().unwrap(), changed["etag"].as_str().unwrap());
        for command in ["update", "archive", "unarchive"] {
            let more: &[&str] = if command == "update" { &["--set", "lastName=X"] } else { &[] };
            let stale = line(command, &[&["crm-1", "--if-match", old], more].concat()).to_vec();
            let said = sandbox.run(&stale).failed(1);
            assert!(said.contains("changed since it was read") && said.contains(new), "{command}: {said}");
        }
        let bare = new.trim_matches('"');
        json_of(sandbox, "update", &["crm-1", "--if-match", bare, "--set", "gender=f"]);

        let archived = json_of(sandbox, "archive", &["crm-1"]);
        assert_eq!(archived["isArchived"], true);
        assert!(ids(&json_of(sandbox, "list", &[])).is_empty());
        assert_eq!(ids(&json_of(sandbox, "list", &["--include-archived"])), ["crm-1"]);
        let table = sandbox.run(&line("list", &["--include-archived"])).done();
        assert!(table.contains("Ada Byron") && table.contains("active, archived"), "{table}");
        let said = sandbox.run(&line("update", &["crm-1", "--set", "lastName=X"])).failed(1);
        assert!(said.contains("is archived; run `contacts unarchive` first"), "{said}");
        assert_eq!(json_of(sandbox, "unarchive", &[id])["isArchived"], false);

        // The log names the person and the user of the system, and the events are those of the API.
        let log = sandbox.json(&["audit", "tail", "-n", "100"]);
        let uid = json!(rustix::process::getuid().as_raw());
        for action in ["create", "update", "archive", "unarchive"] {
            let action = format!("contact.{action}");
            let entry = log.as_array().unwrap().iter().find(|entry| entry["action"] == action.as_str());
            let entry = entry.unwrap_or_else(|| panic!("{action}: {log}"));
            assert_eq!(entry["actor"], json!({ "type": "operator", "id": "tester" }), "{entry}");
            assert_eq!((&entry["osUser"]["uid"], &entry["resource"]), (&uid, &json!(id)), "{entry}");
        }
        let events = sandbox.run(&["events", "list", "--agent", "acme", "--json"]).done();
        for event in ["contact.created", "contact.updated", "contact.archived", "contact.unarchived"] {
            assert!(events.contains(event), "{event}: {events}");
        }
    });
}

#[test]
fn notes_are_added_and_listed() {
    alone_and_through_a_server(|sandbox| {
        let set = ["--set", "externalReferenceId=crm-1", "--set", "primaryEmail=ada@example.com"];
        let id = json_of(sandbox, "create", &set)["id"].as_str().unwrap().to_owned();
        assert_eq!(json_of(sandbox, "notes", &["crm-1"]), json!([]));
        let first = json_of(sandbox, "note", &["crm-1", "Prefers mornings.\nAsk for Kofi."]);
        assert_eq!(first["text"], "Prefers mornings.\nAsk for Kofi.");
        assert_eq!(first["by"], json!({ "type": "operator", "id": "tester", "name": null }), "{first}");
        for n in 1..=101 {
            sandbox.run(&line("note", &[&id, &format!("note {n}")])).done();
        }
        let all = json_of(sandbox, "notes", &["crm-1"]);
        let all = all.as_array().unwrap();
        assert_eq!((all.len(), &all[0]["text"], all.last()), (102, &json!("note 101"), Some(&first)));
        let table = sandbox.run(&line("notes", &["crm-1"])).done();
        assert!(table.contains("tester") && table.contains("note 57\n"), "{table}");
        let said = sandbox.run(&line("note", &["crm-1", ""])).failed(1);
        assert!(said.contains("text"), "{said}");
        json_of(sandbox, "archive", &["crm-1"]);
        let said = sandbox.run(&line("note", &["crm-1", "late"])).failed(1);
        assert!(said.contains("is archived; run `contacts unarchive` first"), "{said}");
        let log = sandbox.run(&["audit", "tail", "-n", "200", "--json"]).done();
        assert_eq!(log.matches("note.change").count(), 102, "{log}");
        assert!(!log.contains("mornings"), "{log}");
    });
}

#[test]
fn contacts_are_searched_filtered_sorted_and_paged() {
    alone_and_through_a_server(|sandbox| {
        let contacts: String = (1..=5)
            .map(|n| {
                let tags = if n % 2 == 0 { json!(["VIP", "a & b"]) } else { json!([]) };
                let contact = json!({ "externalReferenceId": format!("crm-{n}"), "firstName": "Zoë",
                    "lastName": format!("Ω{}", 9 - n), "primaryEmail": format!("p{n}@example.com"), "tags": tags,
                    "status": if n == 5 { "blocked" } else { "active" } });
                format!("{contact}\n")
            })
            .collect();
        sandbox.write("contacts.ndjson", &contacts);
        sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
        let listed = |arguments: &[&str]| {
            let page = json_of(
                sandbox,
                "list",
                &[arguments, &["--sort-by", "primaryEmail", "--sort-order", "asc"]].concat(),
            );
            ids(&page).join(" ").replace("crm-", "")
        };
        assert_eq!(listed(&["--search", "zoe ω7"]), "2");
        assert_eq!(listed(&["--search", "100% & more=nothing"]), "");
        assert_eq!(listed(&["--tag", "vip"]), "2 4");
        assert_eq!(listed(&["--tag", "a & b"]), "2 4");
        assert_eq!(listed(&["--status", "blocked"]), "5");
        assert_eq!(listed(&["--email", "P3@example.com"]), "3");
        assert_eq!(listed(&["--created-since", "2999-01-01T00:00:00Z"]), "");
        assert_eq!(listed(&["--updated-since", "2026-01-01T00:00:00+02:00"]), "1 2 3 4 5");
        assert_eq!(listed(&["--page", "2", "--limit", "2"]), "3 4");
        let by_name =
            json_of(sandbox, "list", &["--sort-by", "lastName", "--sort-order", "asc", "--limit", "3"]);
        assert_eq!(ids(&by_name), ["crm-5", "crm-4", "crm-3"]);
        assert_eq!(
            (&by_name["pagination"]["totalItems"], &by_name["pagination"]["totalPages"]),
            (&json!(5), &json!(2))
        );
        let cursor = by_name["pagination"]["nextCursor"].as_str().unwrap();
        let rest = ["--sort-by", "lastName", "--sort-order", "asc", "--limit", "3", "--cursor", cursor];
        assert_eq!(ids(&json_of(sandbox, "list", &rest)), ["crm-2", "crm-1"]);

        let said =
            sandbox.run(&line("list", &["--limit", "2", "--sort-by", "primaryEmail", "--sort-order", "asc"]));
        assert!(said.stderr.contains("page 1 of 3, 5 contacts"), "{said:?}");
        let mut rows = said.stdout.lines();
        let head: Vec<&str> =
            rows.next().unwrap().split("  ").map(str::trim).filter(|head| !head.is_empty()).collect();
        assert_eq!(head, ["ID", "EXTERNAL ID", "NAME", "E-MAIL", "STATUS", "TAGS"]);
        assert!(rows.next().unwrap().contains("crm-1        Zoë Ω8  p1@example.com  active"), "{said:?}");
        let none = sandbox.run(&line("list", &["--tag", "nothing"]));
        assert!(none.code == 0 && none.stderr == "none\n", "{none:?}");
    });
}

#[test]
fn a_refused_command_says_which_field_and_what_to_do() {
    alone_and_through_a_server(|sandbox| {
        let made = json_of(
            sandbox,
            "create",
            &["--set", "primaryEmail=a@example.com", "--set", "externalReferenceId=a"],
        );
        sandbox.write("list.json", "[]");
        for (command, arguments, expected) in [
            ("create", &[][..], &["primaryEmail"][..]),
            (
                "create",
                &["--set", "primaryEmail=nobody", "--set", "status=gone"],
                &["primaryEmail", "status"],
            ),
            (
                "create",
                &["--set", "primaryMail=a@example.com"],
                &["no field 'primaryMail'", "did you mean primaryEmail"],
            ),
            ("create", &["--set", "id=697dc8165d4ffa83cfc35cfc"], &["--set id: the service sets this field"]),
            ("create", &["--set", "firstName=A", "--set", "First Name=B"], &["named twice"]),
            ("create", &["--file", "list.json"], &["list.json must hold a JSON object"]),
            ("create", &["--file", "none.json"], &["cannot read none.json"]),
            (
                "create",
                &["--set", "primaryEmail=b@example.com", "--set", "externalReferenceId=a"],
                &["externalReferenceId 'a' is already used", made["id"].as_str().unwrap()],
            ),
            ("update", &["a", "--set", "dob=tomorrow"], &["dob"]),
            ("update", &["a", "--unset", "primaryEmail"], &["primaryEmail"]),
            ("update", &["a", "--unset", "agentId"], &["--unset agentId: the service sets this field"]),
            ("update", &["nobody", "--set", "lastName=A"], &["there is no contact 'nobody'"]),
            ("show", &["697dc8165d4ffa83cfc35cfc"], &["there is no contact '697dc8165d4ffa83cfc35cfc'"]),
            ("show", &["697dc8165d4ffa83cfc35cfc", "--reveal"], &["there is no contact"]),
            ("archive", &["nobody"], &["there is no contact 'nobody'"]),
            ("list", &["--cursor", "nonsense"], &["cursor"]),
            ("list", &["--page", "1000000"], &["page"]),
        ] {
            let said = sandbox.run(&line(command, arguments));
            assert_eq!(said.code, 1, "{command} {arguments:?}: {said:?}");
            for part in expected {
                assert!(said.stderr.contains(part), "{command} {arguments:?}: {part}: {said:?}");
            }
            assert_eq!(said.stdout, "", "{command} {arguments:?}");
        }
        for more in [&["list"][..], &["create", "--set", "primaryEmail=b@example.com"], &["show", "a"]] {
            let said = sandbox.run(&[&["contacts"], more, &["--agent", "nobody"]].concat());
            assert!(said.failed(1).contains("there is no agent 'nobody'"), "{more:?}");
        }
        for (command, arguments) in [
            ("update", &["a"][..]),
            ("update", &["a", "--set", "lastName"]),
            ("update", &["a", "--set", "lastName="]),
            ("update", &["a", "--set", "=A"]),
            ("update", &["a", "--set", "lastName=A", "--if-match", ""]),
            ("update", &["a", "--set", "lastName=A", "--if-match", "a b"]),
            ("show", &[]),
            ("show", &["a/b\u{7}"]),
            ("list", &["--limit", "101"]),
            ("list", &["--page", "0"]),
            ("list", &["--page", "2", "--cursor", "x"]),
            ("list", &["--sort-by", "age"]),
            ("list", &["--sort-order", "up"]),
            ("list", &["--status", "gone"]),
            ("list", &["--email", "nobody"]),
            ("list", &["--created-since", "yesterday"]),
        ] {
            let said = sandbox.run(&line(command, arguments));
            assert_eq!(said.code, 2, "{command} {arguments:?}: {said:?}");
            assert!(said.stdout.is_empty() && !said.stderr.trim().is_empty(), "{said:?}");
        }
        assert_eq!(json_of(sandbox, "show", &["a"]), made, "nothing has changed");
    });
}

#[test]
fn sensitive_values_are_shown_when_they_are_revealed() {
    alone_and_through_a_server(|sandbox| {
        sandbox.write(
            "schema.json",
            r#"{ "fields": [{ "name": "lastName", "sensitive": true }, { "name": "primaryEmail", "sensitive": true }],
                "customFields": [{ "name": "iban", "label": "IBAN", "type": "string", "sensitive": true }] }"#,
        );
        sandbox.json(&["contact-schema", "set", "--agent", "acme", "--file", "schema.json"]);
        let secret = [
            "primaryEmail=hush@example.com",
            "lastName=Hush",
            "customFields.iban=GB29HUSH",
            "firstName=Ada",
            "externalReferenceId=a",
        ];
        let set: Vec<&str> = secret.iter().flat_map(|set| ["--set", *set]).collect();
        let mut said = sandbox.run(&line("create", &set)).done();
        for (command, arguments) in
            [("show", &["a"][..]), ("list", &[]), ("update", &["a", "--set", "gender=f"])]
        {
            said += &sandbox.run(&line(command, arguments)).done();
            said += &sandbox.run(&line(command, &[arguments, &["--json"]].concat())).done();
        }
        assert!(!said.to_lowercase().contains("hush"), "{said}");
        assert!(said.contains("customFields.iban") && said.contains("(hidden; --reveal shows it)"), "{said}");
        let masked = json!(["customFields.iban", "lastName", "primaryEmail"]);
        assert_eq!(json_of(sandbox, "show", &["a"])["masked"], masked);
        let noted = |sandbox: &Sandbox| {
            let log = sandbox.json(&["audit", "tail", "-n", "100"]);
            log.as_array().unwrap().iter().filter(|entry| entry["action"] == "contact.reveal").count()
        };
        assert_eq!(noted(sandbox), 0);
        let revealed = sandbox.run(&line("show", &["a", "--reveal"])).done();
        for value in ["hush@example.com", "Hush", "GB29HUSH"] {
            assert!(revealed.contains(value), "{revealed}");
        }
        assert_eq!(noted(sandbox), 1);
    });
}
