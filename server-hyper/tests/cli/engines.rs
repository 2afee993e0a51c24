//! Which engine finds values in whose documents.

use serde_json::{Value, json};

use super::extraction::{SCHEMA, extract};
use super::model_endpoint::ModelEndpoint;
use super::support::{Place, credentials};

const DOCUMENT: &str = "Invoice number: INV-2043\nTotal: 1,234.50 GBP\n";

/// What a model answers to it.
fn fields() -> Value {
    json!({ "total": { "value": 1234.5, "quote": "Total: 1,234.50 GBP", "page": 1 } })
}

/// Settings with two endpoints, and a choice for two agents.
fn settings(endpoint: &str) -> String {
    format!(
        "model_endpoint = [\"{endpoint}\", \"fast={endpoint}\"]\nmodel = [\"wise\", \"fast=small\"]\n\
         extraction_engine = \"model\"\nagent_engine = [\"acme=builtin\", \"night=fast\"]\n"
    )
}

#[test]
fn agents_have_engines_of_their_own() {
    let place = Place::new();
    let endpoint = ModelEndpoint::says(&fields());
    place.write("openapi.toml", &settings(&endpoint.url()));
    let (first, second) = ("sk-First0123456789==", "sk-Second0123456789");
    place.write("model-keys", &format!("{first}, fast={second}\n"));
    let flags = ["--config", "openapi.toml", "--model-key-file", "model-keys"];
    let mut keys = vec![("acme", credentials(&place.with_key()))];
    for agent in ["night", "other"] {
        place.json(&["agents", "create", agent, "--id", agent]);
        let key = place.json(&["keys", "create", "--agent", agent, "--name", "All", "--allow", "all"]);
        keys.push((agent, credentials(&key)));
    }
    let server = place.serve(&flags);
    for ((agent, keys), (engine, key)) in
        keys.iter().zip([("builtin", ""), ("small", second), ("wise", first)])
    {
        let (status, answer) = extract(&server.api, keys, &[("document", DOCUMENT), ("schema", SCHEMA)]);
        assert_eq!((status, &answer["data"]["total"]), (200, &json!(1234.5)), "{agent}: {answer}");
        assert_eq!(answer["metadata"]["engine"], engine, "{agent}");
        let asked: Vec<_> =
            endpoint.asked().into_iter().map(|it| (it.authorization, it.body["model"].clone())).collect();
        if key.is_empty() {
            assert_eq!(asked, [], "{agent}");
        } else {
            assert_eq!(asked, [(format!("Bearer {key}"), json!(engine))], "{agent}");
        }
    }
    let metrics = server.ops("/metrics").1;
    for engine in ["builtin", "small", "wise"] {
        let line = format!("openapi_extractions_total{{engine=\"{engine}\",outcome=\"done\"}} 1");
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    server.end();
    let shown = place.run(&[&["config", "show", "--json"], &flags[..]].concat());
    assert!(shown.stdout.contains("acme=builtin, night=fast"), "{}", shown.stdout);
    for text in [place.read("stderr"), shown.stdout, shown.stderr] {
        assert!(!text.contains("First0123") && !text.contains("Second0123"), "{text}");
    }
}

#[test]
fn a_choice_that_cannot_be_is_told_with_its_line() {
    let place = Place::new();
    let sound = settings("http://127.0.0.1:9/v1");
    place.write("openapi.toml", &sound);
    place.run(&["config", "check", "--config", "openapi.toml"]).done();
    for (from, to, fault) in [
        (
            "=fast\"",
            "=slow\"",
            "agent_engine: 'night=slow': there is no engine 'slow'; there are builtin, fast, model (file openapi.toml:4)",
        ),
        (
            "night=fast",
            "night",
            "agent_engine: 'night' is not AGENT=ENGINE, such as acme=builtin (file openapi.toml:4)",
        ),
        (
            "night=fast",
            "ni ght=fast",
            "agent_engine: 'ni ght=fast': the agent must be 1 to 64 letters, digits, _ or - (file openapi.toml:4)",
        ),
        ("night=fast", "acme=fast", "agent_engine: 'acme' is given twice (file openapi.toml:4)"),
        ("night=fast", "night=off", "there is no engine 'off'"),
        (
            "\"model\"",
            "\"magic\"",
            "extraction_engine: there is no engine 'magic'; there are builtin, off, fast, model (file openapi.toml:3)",
        ),
        ("\"fast=small", "\"fast=", "model: 'fast=' names no model (file openapi.toml:2)"),
        (
            "\"fast=small",
            "\"slow=small",
            "model: there is no endpoint 'slow'; give model_endpoint as well (file openapi.toml:2)",
        ),
        ("\"fast=small", "\"small", "model: the model of 'model' is given twice (file openapi.toml:2)"),
        (
            ", \"fast=small\"",
            "",
            "model_endpoint: 'fast' needs a model: give model as well (file openapi.toml:1)",
        ),
        (
            "\"fast=http:",
            "\"off=http:",
            "model_endpoint: an endpoint cannot be called 'off' (file openapi.toml:1)",
        ),
        ("\"fast=http:", "\"fast=ftp:", "model_endpoint: the endpoint must be an absolute http or https URL"),
        ("\"fast=http:", "\"http:", "model_endpoint: 'model' is given twice (file openapi.toml:1)"),
        (
            "model = [",
            "model_images = [\"big\"]\nmodel = [",
            "model_images: there is no endpoint 'big'; give model_endpoint as well (file openapi.toml:2)",
        ),
    ] {
        place.write("openapi.toml", &sound.replacen(from, to, 1));
        let said = place.run(&["config", "check", "--config", "openapi.toml"]).failed(1);
        assert!(said.contains(fault), "{from} → {to}: {said}");
    }
    place.write("openapi.toml", &sound);
    for (keys, fault) in [
        ("slow=sk-Secret01234", "model_key: there is no endpoint for key 1 (environment OPENAPI_MODEL_KEY)"),
        ("sk-a,fast=sk-b,fast=sk-Secret01234", "model_key: the key of 'fast' is given twice"),
        ("fast=sk-Secret\u{7}01234", "model_key: the key must be one line of visible characters"),
    ] {
        let said =
            place.run_with(&[("OPENAPI_MODEL_KEY", keys)], &["config", "check", "--config", "openapi.toml"]);
        let said = said.failed(1);
        assert!(said.contains(fault) && !said.contains("Secret"), "{said}");
    }
    let keys = [("OPENAPI_LLM_KEY", "sk-Secret01234=x")];
    let said = place.run_with(&keys, &["config", "check"]).failed(1);
    assert!(said.contains("llm_key: there is no endpoint for key 1") && !said.contains("Secret"), "{said}");
}

#[test]
fn a_local_document_is_read_by_the_engine_that_is_chosen() {
    let place = Place::new();
    let endpoint = ModelEndpoint::says(&fields());
    place.write("invoice.txt", DOCUMENT);
    place.write("fields.json", SCHEMA);
    place.write("notes.txt", "Totals are in pounds.\n");
    place.write(
        "openapi.toml",
        &format!(
            "extraction_engine = \"model\"\nmodel_endpoint = \"{}\"\nmodel = \"wise\"\n",
            endpoint.url()
        ),
    );
    let extract = ["extract", "invoice.txt", "--schema", "fields.json", "--json"];
    let by_model = |further: &[&str]| {
        let key = [("OPENAPI_MODEL_KEY", "sk-Secret0123")];
        place.run_with(&key, &[&extract[..], &["--config", "openapi.toml"], further].concat())
    };
    let engine = |text: &str| {
        let answer: Value = serde_json::from_str(text).unwrap();
        assert_eq!(answer["data"]["total"], 1234.5);
        answer["metadata"]["engine"].clone()
    };
    let said = by_model(&["--instructions", "@notes.txt"]);
    assert_eq!((engine(&said.stdout), said.stderr.as_str()), (json!("wise"), "asking wise\n"));
    let [asked] = &endpoint.asked()[..] else { panic!("it is asked once") };
    assert_eq!(asked.authorization, "Bearer sk-Secret0123");
    assert!(asked.body["messages"].to_string().contains("Totals are in pounds."), "{}", asked.body);

    let said = by_model(&["--extraction-engine", "builtin", "--instructions", "Totals are in pounds."]);
    assert_eq!(engine(&said.stdout), "builtin");
    assert_eq!(said.stderr, "the built-in engine does not read --instructions\n");
    assert_eq!(endpoint.asked().len(), 0);

    for (further, status, fault) in [
        (&["--instructions", "@none.txt"][..], 1, "cannot read none.txt"),
        (&["--instructions", &"x".repeat(4_001)], 2, "--instructions must have at most 4000 characters"),
        (&["--extraction-engine", "off"], 2, "extraction_engine is off"),
        (&["--extraction-engine", "fast"], 2, "there is no engine 'fast'; there are builtin, off, model"),
        (&["--listen", "127.0.0.1:0"], 2, "unexpected argument '--listen'"),
    ] {
        let said = by_model(further).failed(status);
        let further: String = further.concat().chars().take(60).collect();
        assert!(said.contains(fault), "{further}: {said}");
    }

    // Nobody answers there any more.
    drop(endpoint);
    let gone = by_model(&["--extraction-timeout", "4s"]).failed(1);
    assert!(gone.contains("wise: ") && !gone.contains("Secret"), "{gone}");
    let said = by_model(&["--extraction-timeout", "4s", "--model-fallback"]);
    assert_eq!(engine(&said.stdout), "builtin", "{said:?}");
    assert!(said.stderr.contains("; the built-in engine answers"), "{}", said.stderr);
}

/// A document that takes longer to read than an extraction may last.
#[test]
fn a_local_document_is_given_up_in_its_time() {
    const LEVELS: usize = 9;
    let place = Place::new();
    place.write("fields.json", SCHEMA);
    // Forms that draw the next form ten times each.
    let mut slow = "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n\
        2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n\
        3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]/Contents 4 0 R/Resources<</XObject<</F 5 0 R>>>>>>\nendobj\n\
        4 0 obj\n<</Length 5>>\nstream\n/F Do\nendstream\nendobj\n"
        .to_owned();
    for level in 5..5 + LEVELS {
        let drawn = "/F Do ".repeat(10);
        slow.push_str(&format!(
            "{level} 0 obj\n<</Type/XObject/Subtype/Form/BBox[0 0 100 100]/Resources<</XObject<</F {} 0 R>>>>/Length \
             {}>>\nstream\n{drawn}\nendstream\nendobj\n",
            level + 1,
            drawn.len()
        ));
    }
    slow.push_str("trailer\n<</Root 1 0 R>>\n");
    place.write("slow.pdf", &slow);
    let said = place
        .run(&["extract", "slow.pdf", "--schema", "fields.json", "--extraction-timeout", "1s"])
        .failed(1);
    assert!(said.contains("slow.pdf: the extraction took too long (extraction_timeout)"), "{said}");
}
