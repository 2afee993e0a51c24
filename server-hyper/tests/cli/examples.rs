//! Runs every example of `--help`, in the order of the help.

use std::time::Duration;

use serde_json::{Value, json};

use super::corrections;
use super::extraction;
use super::file_client::{Client, id};
use super::import_files::{texts, workbook};
use super::jobs;
use super::model_endpoint::ModelEndpoint;
use super::support::{BINARY, Sandbox, credentials, request, within};
use super::visitor::Visitor;

/// All commands, found by walking the help.
fn commands(sandbox: &Sandbox, above: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![above.to_vec()];
    let help = help(sandbox, above);
    let listed = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.trim().is_empty());
    for line in listed {
        // Continuation lines of a description are indented deeper.
        let Some(name) = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) else { continue };
        let name = name.split(' ').next().unwrap();
        if name != "help" {
            let mut path = above.to_vec();
            path.push(name.to_owned());
            all.extend(commands(sandbox, &path));
        }
    }
    all
}

fn help(sandbox: &Sandbox, command: &[String]) -> String {
    let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    arguments.push("--help");
    sandbox.run(&arguments).done()
}

/// The example lines of a help text; wrapped lines are joined.
fn examples(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    let mut open = false;
    for line in help.lines() {
        if line.trim_start().starts_with("openapi-server ") && line.starts_with("  ") {
            examples.push(line.trim().to_owned());
            open = true;
        } else if open && !line.trim().is_empty() && !line.starts_with("  ") {
            let last = examples.last_mut().unwrap();
            last.push(' ');
            last.push_str(line.trim());
        } else {
            open = false;
        }
    }
    examples
}

/// The ids of a template and of a submission under it.
fn a_form(sandbox: &Sandbox) -> (String, String) {
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    sandbox.write("form.json", r#"{ "name": "Form", "fields": [{ "name": "a", "type": "text" }] }"#);
    let made = sandbox.json(&["templates", "create", "--agent", "acme", "--file", "form.json", "--activate"]);
    let key = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "Form", "--allow", "all"]);
    let keys = credentials(&key);
    let mut headers: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Content-Type", "application/json"));
    let server = sandbox.serve(&[]);
    let path = format!("/v1/open/forms/submit/{}/contacts/crm-1003", id(&made));
    let (status, answer) = request(&server.api, "POST", &path, &headers, r#"{ "formData": { "a": "x" } }"#);
    assert_eq!(status, 201, "{answer}");
    assert_eq!(server.end(), 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    (id(&made), id(&answer["data"]))
}

/// The id of a stored document.
fn a_document(sandbox: &Sandbox) -> String {
    let key = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "Document", "--allow", "all"]);
    let server = sandbox.serve(&[]);
    let parts = [("document", "total: 1"), ("schema", extraction::SCHEMA), ("saveToStorage", "1")];
    let (status, answer) = extraction::extract(&server.api, &credentials(&key), &parts);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(server.end(), 0);
    answer["metadata"]["document"]["fileId"].as_str().unwrap().to_owned()
}

/// The id of an extraction that no server runs.
fn a_job(sandbox: &Sandbox) -> String {
    let key = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "Job", "--allow", "all"]);
    let server = sandbox.serve(&["--extraction-workers", "0"]);
    let job = jobs::queue(&server.api, &credentials(&key), "total: 1").expect("an answer");
    assert_eq!(server.end(), 0);
    job
}

/// The id of an extraction that has ended and has its document.
fn an_extraction(sandbox: &Sandbox) -> String {
    let key = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "Extraction", "--allow", "all"]);
    let server = sandbox.serve(&["--extraction-workers", "1"]);
    let schema = r#"{ "total": { "type": "number" }, "vendor": { "type": "string" }, "vat_number": { "type": "string" } }"#;
    let job = corrections::extracted(&server.api, &credentials(&key), schema, "total: 1", "true");
    assert_eq!(server.end(), 0);
    job
}

/// The id of a file of a contact.
fn a_file(sandbox: &Sandbox) -> String {
    let key = sandbox.json(&["keys", "create", "--agent", "acme", "--name", "File", "--allow", "all"]);
    let exported = sandbox.run(&["contacts", "export", "--agent", "acme"]).done();
    let contact: Value = serde_json::from_str(exported.lines().next().unwrap()).unwrap();
    let server = sandbox.serve(&[]);
    let keys = credentials(&key);
    let contact = contact["id"].as_str().unwrap();
    let file =
        id(Client { origin: &server.api, keys: &keys, agent: "acme", contact }.upload("a.txt", "text"));
    assert_eq!(server.end(), 0);
    file
}

/// The id of a former server key that nothing needs.
fn a_server_key(sandbox: &Sandbox) -> String {
    let former =
        format!("{} 2020-01-01T00:00:00Z\n{} 2019-01-01T00:00:00Z\n", "aa".repeat(32), "bb".repeat(32));
    sandbox.write("data/server-keys", &(sandbox.read("data/server-keys") + &former));
    let listed = sandbox.json(&["server-key", "list"]);
    listed.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

/// The id of a webhook endpoint, and of one of which an event has failed.
fn an_endpoint(sandbox: &Sandbox, fails: bool) -> String {
    const FLAGS: [&str; 5] = ["--outbound-allow", "127.0.0.1/32", "--outbound-port", "9", "--outbound-http"];
    let create = ["webhooks", "create", "http://127.0.0.1:9/", "--agent", "acme", "--from", "oldest"];
    let id = id_of(&sandbox.json(&[&create[..], &FLAGS].concat()));
    if fails {
        let server = sandbox.serve(&FLAGS);
        within(Duration::from_secs(20), "an event fails", || {
            sandbox.json(&["webhooks", "show", &id, "--agent", "acme"])["openFailures"] != json!(0)
        });
        assert_eq!(server.end(), 0);
    }
    id
}

fn id_of(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

/// The id of a document that an agent replies from.
fn knowledge(sandbox: &Sandbox) -> String {
    let listed = sandbox.json(&["knowledge", "list", "--agent", "acme"]);
    listed[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_example_works() {
    let sandbox = Sandbox::new();
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    sandbox.write("cert.pem", &certified.cert.pem());
    sandbox.write("key.pem", &certified.signing_key.serialize_pem());
    sandbox.write("openapi.toml", "service_name = \"Acme\"\n");
    sandbox.write(
        "contacts.ndjson",
        "{\"externalReferenceId\":\"crm-1001\",\"primaryEmail\":\"a@example.com\",\"lastName\":\"A\"}\n\
         {\"externalReferenceId\":\"crm-1002\",\"primaryEmail\":\"b@example.com\",\"lastName\":\"B\"}\n",
    );
    sandbox.write("contacts.csv", "externalReferenceId,primaryEmail,lastName\ncrm-1003,c@example.com,C\n");
    let rows = texts(1, &["E-Mail", "Notes", "Last name"]) + &texts(2, &["d@example.com", "x", "D"]);
    std::fs::write(sandbox.path("contacts.xlsx"), workbook(&[("People", "visible", &rows)], &[])).unwrap();
    std::fs::write(sandbox.path("export.csv"), b"primaryEmail;lastName\r\ne@example.com;Gr\xfcn\r\n")
        .unwrap();
    sandbox.write(
        "invoice.txt",
        "Invoice number: INV-2043\nInvoice date: 15 January 2026\nTotal: 1,234.50 GBP\n",
    );
    sandbox
        .write("services.md", "# Services\n\nHome visits are available in Leeds on weekdays from 8 to 18.\n");
    std::fs::create_dir(sandbox.path("handbook")).unwrap();
    sandbox.write("handbook/prices.txt", "A home visit is 40 pounds.\n");
    sandbox.write("handbook/hours.md", "# Hours\n\nWe are open from 8 to 18.\n");
    sandbox.write("questions.txt", "When are you open? | open from 8\nWho won the championship? | -\n");
    sandbox.write("notes.txt", "Amounts are in pounds.\n");
    sandbox.write("backup-password", "correct horse battery staple\n");
    let one = r#"{ "externalReferenceId": "crm-1001", "primaryEmail": "f@example.com", "lastName": "F" }"#;
    sandbox.write("contact.json", one);
    sandbox.write("fields.json", r#"{ "total": { "type": "number", "required": true } }"#);
    sandbox.write("right.json", r#"{ "total": 12.5 }"#);
    std::fs::create_dir(sandbox.path("cases")).unwrap();
    let bin = sandbox.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(BINARY, bin.join("openapi-server")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());

    let endpoint = ModelEndpoint::says(&json!({ "total": null }));
    let url = endpoint.url();
    let models = format!("extraction_llm = \"main\"\n[llm.main]\nurl = \"{url}\"\nmodel = \"wise\"\n");
    sandbox.write("models.toml", &models);
    let (mut key, mut form, mut document, mut conversation, mut extraction) = (None, None, None, None, None);
    let mut tried = 0;
    for command in commands(&sandbox, &[]) {
        let help = help(&sandbox, &command);
        let examples = examples(&help);
        let is_group = help.contains("\nCommands:");
        assert!(is_group || !examples.is_empty() || command.is_empty(), "{command:?} has no example");
        if command.first().is_some_and(|name| name == "contact-schema") {
            // The file is the one that the help shows.
            if let Some((_, rest)) = help.split_once("has its default:\n") {
                let json: String = rest
                    .lines()
                    .take_while(|line| *line != "A change applies to later writes only;")
                    .collect();
                let end = json.rfind('}').unwrap();
                sandbox.write("schema.json", &json[..=end]);
            }
        }
        if command.first().is_some_and(|name| name == "templates")
            && let Some((_, rest)) = help.split_once("the whole template:\n")
        {
            let json: String = rest.lines().take_while(|line| !line.starts_with("Types:")).collect();
            sandbox.write("feedback.json", &json);
        }
        for example in examples {
            // Nobody has an account in the console here.
            let on_accounts = ["recover", "show", "grant", "disable", "enable", "remove", "sign-out"];
            if on_accounts.iter().any(|name| example.contains(&format!(" operators {name} "))) {
                continue;
            }
            // It needs an SMTP server, which its own test has.
            if example.contains(" mail test ") {
                continue;
            }
            // They need a provider, which their own test has.
            if example.contains(" sign-in test ")
                || example.contains(" sign-in set ") && example.contains("--enable")
            {
                continue;
            }
            // Servers would not end: this test checks their settings, and other tests run them.
            let second = example.split(' ').nth(1).unwrap();
            let line = if matches!(second, "serve" | "demo") || second.starts_with("--") {
                let settings = example.trim_start_matches("openapi-server ").trim_start_matches("serve");
                format!("openapi-server config check {}", settings.trim_start_matches("demo"))
            } else if [" conversations watch ", " events tail "]
                .iter()
                .any(|command| example.contains(command))
            {
                // It ends when it is interrupted.
                format!("timeout --signal=INT --preserve-status 3 {example} || test $? -eq 130")
            } else {
                example.clone()
            };
            let mut shell = sandbox.command("sh");
            shell.env("PATH", &path).args(["-c", &line]);
            if example.contains("$KEY") {
                let key = key.get_or_insert_with(|| {
                    let made = sandbox
                        .json(&["keys", "create", "--agent", "acme", "--name", "Example", "--allow", "all"]);
                    made["apiKey"].as_str().unwrap().to_owned()
                });
                shell.env("KEY", key);
            }
            if example.contains("$TEMPLATE") || example.contains("$SUBMISSION") {
                let (template, submission) = form.get_or_insert_with(|| a_form(&sandbox));
                shell.env("TEMPLATE", template).env("SUBMISSION", submission);
            }
            if example.contains("$DOCUMENT") {
                shell.env("DOCUMENT", document.get_or_insert_with(|| a_document(&sandbox)));
            }
            if example.contains("$JOB") {
                shell.env("JOB", a_job(&sandbox));
            }
            if example.contains("$EXTRACTION") {
                shell.env("EXTRACTION", extraction.get_or_insert_with(|| an_extraction(&sandbox)));
            }
            if example.contains("$FILE") {
                shell.env("FILE", a_file(&sandbox));
            }
            if example.contains("$SERVER_KEY") {
                shell.env("SERVER_KEY", a_server_key(&sandbox));
            }
            if example.contains("$ENDPOINT") {
                shell.env("ENDPOINT", an_endpoint(&sandbox, example.contains(" skip ")));
            }
            if example.contains("$KNOWLEDGE") {
                shell.env("KNOWLEDGE", knowledge(&sandbox));
            }
            if example.contains("$CONVERSATION") {
                let id = conversation.get_or_insert_with(|| {
                    Visitor::of(&sandbox, "acme").says("Do you offer home visits?")["session"]["conversation"].clone()
                });
                shell.env("CONVERSATION", id.as_str().unwrap());
            }
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
            tried += 1;
        }
    }
    assert!(tried > 40, "only {tried} examples were found");
}
