//! Corrections of extractions: the command line, and an evaluation of the set that it exports.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::extraction::form;
use super::support::{Sandbox, connect, credentials, request};

const JOBS: &str = "/v1/open/document-extraction/jobs";
const SCHEMA: &str = r#"{ "invoiceNumber": { "type": "string", "description": "Invoice number", "pattern": "^INV" },
    "total": { "type": "number", "description": "Total", "required": true } }"#;

/// The example that evaluates: built with the other examples, or now.
fn evaluate() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_openapi-server")).with_file_name("examples/evaluate");
    if !program.exists() {
        let build = ["build", "--locked", "-p", "extraction", "--example", "evaluate"];
        let built = Command::new(env!("CARGO")).args(build).status().expect("cargo");
        assert!(built.success(), "the example is built");
    }
    program
}

/// Queues a document and waits for its end; the id of the job.
pub fn extracted(
    origin: &str,
    keys: &[(&'static str, String); 2],
    schema: &str,
    text: &str,
    saves: &str,
) -> String {
    let parts = [("document", text), ("schema", schema), ("saveToStorage", saves)];
    let mut stream = connect(origin);
    stream.write_all(&form(JOBS, keys, &parts)).unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    let body: Value = serde_json::from_str(heard.split_once("\r\n\r\n").unwrap().1).unwrap();
    let id = body["data"]["id"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned();
    let headers: Vec<(&str, &str)> = keys.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (status, body) = request(origin, "GET", &format!("{JOBS}/{id}?wait=25"), &headers, "");
    assert!(status == 200 && body.contains("succeeded"), "{body}");
    id
}

#[test]
fn corrected_documents_are_an_evaluation_set() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    let key = ["keys", "create", "--agent", "acme", "--name", "All", "--allow", "all"];
    let keys = credentials(&sandbox.json(&key));
    let server = sandbox.serve(&["--extraction-workers", "1"]);
    let right = extracted(&server.api, &keys, SCHEMA, "Invoice number: INV-1\nTotal: EUR 12.50\n", "true");
    let wrong = extracted(&server.api, &keys, SCHEMA, "Invoice number: INV-2\nTotal: EUR 22.50\n", "true");
    let gone = extracted(&server.api, &keys, SCHEMA, "Invoice number: INV-3\nTotal: EUR 32.50\n", "false");

    let run = |words: &[&str]| sandbox.run(&[words, &["--agent", "acme"]].concat());
    let json = |words: &[&str]| sandbox.json(&[words, &["--agent", "acme"]].concat());
    assert!(run(&["extractions", "correct", &gone]).failed(1).contains("saveToStorage"));
    assert!(
        run(&["extractions", "correct", &right, "--set", "total=12,5"])
            .failed(1)
            .contains("type number is JSON")
    );
    let refused =
        run(&["extractions", "correct", &right, "--set", "invoiceNumber=1", "--set", "sum=1"]).failed(1);
    assert!(refused.contains("values.invoiceNumber must match ^INV; values.sum is not a field"), "{refused}");
    run(&["extractions", "correct", &right, "--set", "total"]).failed(2);
    let corrected = json(&["extractions", "correct", &right]);
    assert_eq!(corrected["expected"], json!({ "invoiceNumber": "INV-1", "total": 12.5 }));
    std::fs::write(sandbox.path("right.json"), r#"{ "total": 23 }"#).unwrap();
    let values = sandbox.path("right.json");
    let set =
        ["extractions", "correct", &wrong, "--values", values.to_str().unwrap(), "--set", "invoiceNumber="];
    assert_eq!(json(&set)["expected"], json!({ "invoiceNumber": null, "total": 23 }));
    let listed = json(&["extractions", "corrections", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2));

    let folder = sandbox.path("cases");
    let export = ["extractions", "export-set", folder.to_str().unwrap()];
    assert!(run(&export).failed(1).contains("is no folder; create it first"));
    std::fs::create_dir(&folder).unwrap();
    run(&export).done();
    assert!(run(&export).failed(1).contains("name an empty folder"));
    let first: Value = std::fs::read_to_string(folder.join("manifest.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|line| line["id"] == right.as_str())
        .unwrap();
    assert_eq!(
        first["schema"][0],
        json!({ "name": "invoiceNumber", "type": "string", "description": "Invoice number", "pattern": "^INV" })
    );
    let document = std::fs::read_to_string(folder.join(first["file"].as_str().unwrap())).unwrap();
    assert!(document.starts_with("Invoice number: INV-1"));

    // Two of the three values that are found are right: the second document has another total and no number.
    let evaluated = Command::new(evaluate()).arg(&folder).args(["--errors", "9"]).output().unwrap();
    let said =
        String::from_utf8_lossy(&evaluated.stdout).into_owned() + &String::from_utf8_lossy(&evaluated.stderr);
    assert!(evaluated.status.success() && said.contains("2 documents"), "{said}");
    assert!(said.contains(&wrong) && !said.contains(&right), "the errors are those of one document: {said}");

    run(&["extractions", "corrections", "remove", &wrong]).done();
    assert!(run(&["extractions", "corrections", "show", &wrong]).failed(1).contains("Correction not found"));
    assert_eq!(json(&["extractions", "corrections", "show", &right])["expected"]["total"], 12.5);
    let log = sandbox.run(&["audit", "tail", "--agent", "acme", "--lines", "100"]).stdout;
    for action in ["document.correct", "document.export", "document.removeCorrection"] {
        assert!(log.contains(action), "{action} in {log}");
    }
    assert_eq!(server.end(), 0);
}
