//! What a model that answers visitors receives from a running server.

use serde_json::{Value, json};

use super::fleet_widget::{event, turn};
use super::model_endpoint::ModelEndpoint;
use super::support::{Sandbox, Serving};
use super::widget_listener::{PAGE, TEXT, agent, ask};

/// The stream of a turn of a new visitor.
fn stream_of(server: &Serving, agent: &str, number: u32) -> String {
    let mut body = turn(number, &Value::Null);
    body["agentId"] = json!(agent);
    ask(server, "POST", "/widget/v1/turns", &[TEXT, ("Origin", PAGE)], &body.to_string()).text().to_owned()
}

#[test]
fn a_model_gets_all_documents_of_its_agent_or_may_search_them() {
    let endpoint = ModelEndpoint::says(&json!("See the handbook [2]."));
    let sandbox = Sandbox::new();
    sandbox.write("services.md", "# Services\n\nHome visits are available in Leeds.\n");
    sandbox.write("prices.md", "# Prices\n\nA home visit costs 40 pounds.\n");
    sandbox.write("long.md", &format!("# Terms\n\n{}\n", "Each order has terms of its own. ".repeat(400)));
    sandbox.write("safe.md", "# Safe\n\nThe safe is opened with a brass key.\n");
    let documents: [(&str, &[&str], &[&str]); 3] = [
        ("acme", &["services.md", "prices.md"], &[]),
        ("large", &["services.md", "long.md"], &["chat.llm.contextTokens=1000"]),
        ("other", &["safe.md"], &[]),
    ];
    for (name, files, settings) in documents {
        agent(&sandbox, name, &[&["chat.responder=llm", "chat.fallback=error"], settings].concat());
        for file in files {
            sandbox.run(&["knowledge", "add", file, "--agent", name]).done();
        }
    }
    let url = format!("default.url={}", endpoint.url());
    let server =
        sandbox.serve(&["--widget-listen", "127.0.0.1:0", "--llm", &url, "--llm", "default.model=stub"]);

    // No word of the question is in the documents.
    let stream = stream_of(&server, "acme", 1);
    assert_eq!(event(&stream, "done")["outcome"], "answered", "{stream}");
    let asked = endpoint.asked();
    let prompt = asked[0].body["messages"].to_string();
    assert!(prompt.contains("available in Leeds") && prompt.contains("40 pounds"), "{prompt}");
    assert!(!asked[0].body["tools"].to_string().contains("\"search\""));

    let stream = stream_of(&server, "large", 2);
    assert_eq!(event(&stream, "done")["outcome"], "answered", "{stream}");
    let asked = endpoint.asked();
    assert!(asked[0].body["tools"].to_string().contains("\"search\""), "{}", asked[0].body);
    assert!(!asked[0].body["messages"].to_string().contains("brass"));
    assert_eq!(server.end(), 0);
}
