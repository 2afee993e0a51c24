//! Import, export, erasure.

use serde_json::{Value, json};

use super::support::Sandbox;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Contacts without the fields that the service sets.
fn content(text: &str) -> Vec<Value> {
    let mut contacts = lines(text);
    for contact in &mut contacts {
        for name in ["id", "agentId", "createdAt", "updatedAt"] {
            contact.as_object_mut().unwrap().remove(name);
        }
    }
    contacts
}

fn sorted(mut contacts: Vec<Value>) -> Vec<Value> {
    contacts.sort_by_key(ToString::to_string);
    contacts
}

#[test]
fn an_import_reports_bad_lines_goes_on_and_can_be_run_twice() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let mut file = String::new();
    for number in 1..=300 {
        match number {
            7 => file.push_str("{\"externalReferenceId\":\"crm-7\"}\n"),
            50 => file.push_str("{\"primaryEmail\":\n"),
            51 => file.push('\n'),
            99 => file.push_str("[1]\n"),
            100 => file.push_str("{\"externalReferenceId\":\"schema\",\"primaryEmail\":\"a@example.com\"}\n"),
            _ => file.push_str(&format!(
                "{{\"externalReferenceId\":\"crm-{number}\",\"primaryEmail\":\"p{number}@example.com\",\"lastName\":\"Ω{number}\"}}\n"
            )),
        }
    }
    sandbox.write("contacts.ndjson", &file);
    let arguments = ["contacts", "import", "--agent", "acme", "contacts.ndjson"];
    let said = sandbox.run(&arguments);
    assert_eq!(said.code, 1);
    assert_eq!(said.stdout, "created 295, updated 0, unchanged 0, failed 4\n");
    for (line, expected) in [(7, "primaryEmail"), (50, "JSON"), (99, "object"), (100, "kept by the service")]
    {
        let found = said.stderr.lines().find(|found| found.contains(&format!("line {line}:")));
        assert!(found.is_some_and(|found| found.contains(expected)), "line {line}: {}", said.stderr);
    }
    let again = sandbox.run(&arguments);
    assert_eq!((again.code, again.stdout.as_str()), (1, "created 0, updated 0, unchanged 295, failed 4\n"));

    // The last of two lines with one id wins, in every run.
    sandbox.write(
        "twice.ndjson",
        "{\"externalReferenceId\":\"crm-1\",\"primaryEmail\":\"a@example.com\"}\n\
         {\"externalReferenceId\":\"crm-1\",\"primaryEmail\":\"b@example.com\"}\n",
    );
    let summary = sandbox.json(&["contacts", "import", "--agent", "acme", "twice.ndjson"]);
    assert_eq!(summary, json!({ "created": 0, "updated": 2, "unchanged": 0, "failed": 0, "errors": [] }));
    let exported = sandbox.run(&["contacts", "export", "--agent", "acme"]).done();
    let first =
        lines(&exported).into_iter().find(|contact| contact["externalReferenceId"] == "crm-1").unwrap();
    assert_eq!(first["primaryEmail"], "b@example.com");
    assert_eq!(lines(&exported).len(), 295);
}

#[test]
fn bad_lines_are_listed_in_json_with_their_numbers() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write("bad.ndjson", "{\"primaryEmail\":\"a@example.com\"}\nnonsense\n{\"primaryEmail\":5}\n");
    let said = sandbox.run(&["contacts", "import", "--agent", "acme", "bad.ndjson", "--json"]);
    assert_eq!(said.code, 1);
    let summary: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&summary["created"], &summary["failed"]), (&json!(1), &json!(2)));
    let numbers: Vec<_> =
        summary["errors"].as_array().unwrap().iter().map(|error| error["line"].clone()).collect();
    assert_eq!(numbers, [json!(2), json!(3)]);
    assert!(said.stderr.contains("2 lines were not imported"), "{}", said.stderr);
}

#[test]
fn contacts_without_external_id_are_not_doubled_by_a_second_run() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write(
        "contacts.ndjson",
        "{\"primaryEmail\":\"a@example.com\",\"firstName\":\"A\"}\n{\"primaryEmail\":\"a@example.com\",\"firstName\":\"B\"}\n",
    );
    let import = || sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    assert_eq!(import(), "created 2, updated 0, unchanged 0, failed 0\n");
    assert_eq!(import(), "created 0, updated 0, unchanged 2, failed 0\n");
    assert_eq!(sandbox.run(&["contacts", "export", "--agent", "acme"]).done().lines().count(), 2);
}

#[test]
fn exports_are_imports() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.json(&["agents", "create", "Second", "--id", "second"]);
    sandbox.json(&["agents", "create", "Third", "--id", "third"]);
    sandbox.write(
        "schema.json",
        r#"{ "customFields": [
            { "name": "seats", "label": "Seats", "type": "integer" },
            { "name": "vip", "label": "VIP", "type": "boolean" },
            { "name": "areas", "label": "Areas", "type": "multiselect",
              "options": [{ "value": "north", "label": "North" }, { "value": "south", "label": "South" }] } ] }"#,
    );
    for agent in ["acme", "second", "third"] {
        sandbox.json(&["contact-schema", "set", "--agent", agent, "--file", "schema.json"]);
    }
    sandbox.write(
        "contacts.ndjson",
        concat!(
            r#"{"externalReferenceId":"=cmd|' /C calc'!A0","primaryEmail":"a@example.com","firstName":"+1","lastName":"'=x","tags":["a;b"," [c] ","@d"]}"#,
            "\n",
            r#"{"externalReferenceId":"b","primaryEmail":"b@example.com","primaryPhone":"20 7946 0958","primaryPhoneCode":"44","fullAddress":"1, \"Mill\" Lane\nLeeds","dob":"1990-05-17","tags":["vip","news"],"customFields":{"seats":3,"vip":true,"areas":["north","south"],"note":"@x","deep":{"a":[1,2.50,null]}}}"#,
            "\n",
            r#"{"externalReferenceId":"c","primaryEmail":"c@example.com","status":"inactive","source":"fair","lastContactedAt":"2026-01-20T14:30:00+01:00"}"#,
            "\n"
        ),
    );
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    let original = sandbox.run(&["contacts", "export", "--agent", "acme"]).done();
    sandbox.write("export.ndjson", &original);
    sandbox.run(&["contacts", "import", "--agent", "second", "export.ndjson"]).done();
    let table = sandbox.run(&["contacts", "export", "--agent", "acme", "--format", "csv"]).done();
    sandbox.write("export.csv", &table);
    sandbox.run(&["contacts", "import", "--agent", "third", "export.csv"]).done();
    for agent in ["second", "third"] {
        let copied = sandbox.run(&["contacts", "export", "--agent", agent]).done();
        assert_eq!(sorted(content(&copied)), sorted(content(&original)), "{agent}");
    }
    // No cell looks like a formula.
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    for record in reader.records() {
        for cell in &record.unwrap() {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
        }
    }
    // A second import changes nothing.
    let again = sandbox.run(&["contacts", "import", "--agent", "acme", "export.csv"]).done();
    assert_eq!(again, "created 0, updated 0, unchanged 3, failed 0\n");
}

#[test]
fn csv_says_what_is_wrong_and_where() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write(
        "contacts.csv",
        "\u{feff}externalReferenceId,primaryEmail,tags,customFields,colour\n\
         a,a@example.com,x; y ;,{\"n\":1},\n\
         \n\
         b,\"b@example.com\",,not json,\n\
         c,c@example.com,,,blue\n\
         d,d@example.com,,,,x\n\
         \"e\n\",e@example.com,,,\n\
         f,f@example.com,,,\n",
    );
    let import = ["contacts", "import", "--agent", "acme", "contacts.csv"];
    assert!(sandbox.run(&import).failed(1).contains("'colour'"), "nothing is imported");
    let said = sandbox.run(&[&import[..], &["--map", "colour="]].concat());
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (1, "created 3, updated 0, unchanged 0, failed 3\n"),
        "{said:?}"
    );
    for (line, expected) in
        [(4, "customFields"), (6, "has 6 cells, the first row names 5"), (7, "externalReferenceId")]
    {
        let found = said.stderr.lines().find(|found| found.contains(&format!("line {line}:")));
        assert!(found.is_some_and(|found| found.contains(expected)), "line {line}: {}", said.stderr);
    }
    let contacts = lines(&sandbox.run(&["contacts", "export", "--agent", "acme"]).done());
    // Contacts of the same millisecond are ordered by their ids, which are random.
    let first = contacts.iter().find(|contact| contact["tags"] != json!([])).unwrap();
    assert_eq!((&first["tags"], &first["customFields"]), (&json!(["x", "y"]), &json!({ "n": 1 })));
    assert!(
        sandbox
            .run(&["contacts", "import", "--agent", "nobody", "contacts.csv"])
            .failed(1)
            .contains("nobody")
    );
}

#[test]
fn standard_input_is_a_file() {
    use std::io::Write;
    use std::process::Stdio;
    let sandbox = Sandbox::new();
    sandbox.with_key();
    let mut child = sandbox
        .command(super::support::BINARY)
        .args(["contacts", "import", "--agent", "acme", "-", "--format", "ndjson"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{\"primaryEmail\":\"a@example.com\"}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(output.stdout, b"created 1, updated 0, unchanged 0, failed 0\n");
}

#[test]
fn an_erased_contact_is_gone_and_the_log_is_empty_of_it() {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox.write(
        "contacts.ndjson",
        "{\"externalReferenceId\":\"a\",\"primaryEmail\":\"unforgettable@example.com\"}\n\
         {\"externalReferenceId\":\"697dc8165d4ffa83cfc35cfc\",\"primaryEmail\":\"b@example.com\"}\n",
    );
    sandbox.run(&["contacts", "import", "--agent", "acme", "contacts.ndjson"]).done();
    let erased = sandbox.json(&["contacts", "erase", "--agent", "acme", "a"]);
    assert_eq!(erased["externalReferenceId"], "a");
    sandbox.run(&["contacts", "erase", "--agent", "acme", "a"]).failed(1);
    // An external id that looks like a platform id is treated as one by default.
    sandbox.run(&["contacts", "erase", "--agent", "acme", "697dc8165d4ffa83cfc35cfc"]).failed(1);
    sandbox.run(&["contacts", "erase", "--agent", "acme", "697dc8165d4ffa83cfc35cfc", "--external"]).done();
    assert_eq!(sandbox.run(&["contacts", "export", "--agent", "acme"]).done(), "");
    let log = sandbox.run(&["audit", "export"]).done();
    assert!(log.contains("contact.erase") && !log.contains("unforgettable"), "{log}");
}
