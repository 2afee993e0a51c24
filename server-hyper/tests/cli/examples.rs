//! Every example of `--help` is tried, in the order a reader meets them.

use serde_json::{Value, json};

use super::extraction;
use super::model_endpoint::ModelEndpoint;
use super::support::{BINARY, Place, credentials, request};
use super::visitor::Visitor;

/// All commands, by a walk over the help.
fn commands(place: &Place, above: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![above.to_vec()];
    let help = help(place, above);
    let listed = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.trim().is_empty());
    for line in listed {
        // Further lines of a description stand deeper.
        let Some(name) = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')) else { continue };
        let name = name.split(' ').next().unwrap();
        if name != "help" {
            let mut path = above.to_vec();
            path.push(name.to_owned());
            all.extend(commands(place, &path));
        }
    }
    all
}

fn help(place: &Place, command: &[String]) -> String {
    let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
    arguments.push("--help");
    place.run(&arguments).done()
}

/// The example lines of a help text; long ones are wrapped and put together again.
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
fn a_form(place: &Place) -> (String, String) {
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    place.write("form.json", r#"{ "name": "Form", "fields": [{ "name": "a", "type": "text" }] }"#);
    let made = place.json(&["templates", "create", "--agent", "acme", "--file", "form.json", "--activate"]);
    let key = place.json(&["keys", "create", "--agent", "acme", "--name", "Form", "--allow", "all"]);
    let keys = credentials(&key);
    let mut headers: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
    headers.push(("Content-Type", "application/json"));
    let server = place.serve(&[]);
    let path = format!("/v1/open/forms/submit/{}/contacts/crm-1003", id(&made));
    let (status, answer) = request(&server.api, "POST", &path, &headers, r#"{ "formData": { "a": "x" } }"#);
    assert_eq!(status, 201, "{answer}");
    assert_eq!(server.end(), 0);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    (id(&made), id(&answer["data"]))
}

/// The id of a document that is kept.
fn a_document(place: &Place) -> String {
    let key = place.json(&["keys", "create", "--agent", "acme", "--name", "Document", "--allow", "all"]);
    let server = place.serve(&[]);
    let parts = [("document", "total: 1"), ("schema", extraction::SCHEMA), ("saveToStorage", "1")];
    let (status, answer) = extraction::extract(&server.api, &credentials(&key), &parts);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(server.end(), 0);
    answer["metadata"]["document"]["fileId"].as_str().unwrap().to_owned()
}

/// The id of a document that an agent answers from.
fn knowledge(place: &Place) -> String {
    let listed = place.json(&["knowledge", "list", "--agent", "acme"]);
    listed[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn every_example_works() {
    let place = Place::new();
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    place.write("cert.pem", &certified.cert.pem());
    place.write("key.pem", &certified.signing_key.serialize_pem());
    place.write("openapi.toml", "service_name = \"Acme\"\n");
    place.write(
        "contacts.ndjson",
        "{\"externalReferenceId\":\"crm-1001\",\"primaryEmail\":\"a@example.com\",\"lastName\":\"A\"}\n\
         {\"externalReferenceId\":\"crm-1002\",\"primaryEmail\":\"b@example.com\",\"lastName\":\"B\"}\n",
    );
    place.write("contacts.csv", "externalReferenceId,primaryEmail,lastName\ncrm-1003,c@example.com,C\n");
    place.write(
        "invoice.txt",
        "Invoice number: INV-2043\nInvoice date: 15 January 2026\nTotal: 1,234.50 GBP\n",
    );
    place
        .write("services.md", "# Services\n\nHome visits are available in Leeds on weekdays from 8 to 18.\n");
    std::fs::create_dir(place.path("handbook")).unwrap();
    place.write("handbook/prices.txt", "A home visit is 40 pounds.\n");
    place.write("handbook/hours.md", "# Hours\n\nWe are open from 8 to 18.\n");
    place.write("notes.txt", "Amounts are in pounds.\n");
    place.write("fields.json", r#"{ "total": { "type": "number", "required": true } }"#);
    let bin = place.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(BINARY, bin.join("openapi-server")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());

    let endpoint = ModelEndpoint::says(&json!({ "total": null }));
    let url = endpoint.url();
    let models = format!("extraction_llm = \"main\"\n[llm.main]\nurl = \"{url}\"\nmodel = \"wise\"\n");
    place.write("models.toml", &models);
    let (mut key, mut form, mut document, mut conversation) = (None, None, None, None);
    let mut tried = 0;
    for command in commands(&place, &[]) {
        let help = help(&place, &command);
        let examples = examples(&help);
        let is_group = help.contains("\nCommands:");
        assert!(is_group || !examples.is_empty() || command.is_empty(), "{command:?} has no example");
        if command.first().is_some_and(|name| name == "contact-schema") {
            // The file is the one that the help shows.
            if let Some((_, rest)) = help.split_once("as built in:\n") {
                let json: String = rest
                    .lines()
                    .take_while(|line| *line != "A change applies to later writes only;")
                    .collect();
                let end = json.rfind('}').unwrap();
                place.write("schema.json", &json[..=end]);
            }
        }
        if command.first().is_some_and(|name| name == "templates")
            && let Some((_, rest)) = help.split_once("as a whole:\n")
        {
            let json: String = rest.lines().take_while(|line| !line.starts_with("Types:")).collect();
            place.write("feedback.json", &json);
        }
        for example in examples {
            // Servers would not end: their settings are checked instead, and other tests run them.
            let second = example.split(' ').nth(1).unwrap();
            let line = if matches!(second, "serve" | "demo") || second.starts_with("--") {
                let settings = example.trim_start_matches("openapi-server ").trim_start_matches("serve");
                format!("openapi-server config check {}", settings.trim_start_matches("demo"))
            } else if example.contains(" conversations watch ") {
                // It ends when it is interrupted.
                format!("timeout --signal=INT --preserve-status 3 {example}")
            } else {
                example.clone()
            };
            let mut shell = place.command("sh");
            shell.env("PATH", &path).args(["-c", &line]);
            if example.contains("$KEY") {
                let key = key.get_or_insert_with(|| {
                    let made = place
                        .json(&["keys", "create", "--agent", "acme", "--name", "Example", "--allow", "all"]);
                    made["apiKey"].as_str().unwrap().to_owned()
                });
                shell.env("KEY", key);
            }
            if example.contains("$TEMPLATE") || example.contains("$SUBMISSION") {
                let (template, submission) = form.get_or_insert_with(|| a_form(&place));
                shell.env("TEMPLATE", template).env("SUBMISSION", submission);
            }
            if example.contains("$DOCUMENT") {
                shell.env("DOCUMENT", document.get_or_insert_with(|| a_document(&place)));
            }
            if example.contains("$KNOWLEDGE") {
                shell.env("KNOWLEDGE", knowledge(&place));
            }
            if example.contains("$CONVERSATION") {
                let id = conversation.get_or_insert_with(|| {
                    Visitor::of(&place, "acme").says("Do you offer home visits?")["session"]["conversation"].clone()
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
