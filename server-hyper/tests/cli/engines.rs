//! The choice of the extraction engine for each agent.

use serde_json::{Value, json};

use super::extraction::{SCHEMA, extract};
use super::model_endpoint::ModelEndpoint;
use super::support::{Sandbox, credentials};

const DOCUMENT: &str = "Invoice number: INV-2043\nTotal: 1,234.50 GBP\n";

/// The reply of a model to it.
fn fields() -> Value {
    json!({ "total": { "value": 1234.5, "quote": "Total: 1,234.50 GBP", "page": 1 } })
}

/// Settings with two endpoints, and a choice for two agents.
fn settings(endpoint: &str) -> String {
    format!(
        "extraction_llm = \"main\"\nagent_engine = [\"acme=builtin\", \"night=fast\"]\n\
         [llm.main]\nurl = \"{endpoint}\"\nmodel = \"wise\"\n[llm.fast]\nurl = \"{endpoint}\"\nmodel = \"small\"\n"
    )
}

#[test]
fn agents_have_engines_of_their_own() {
    let sandbox = Sandbox::new();
    let endpoint = ModelEndpoint::says(&fields());
    sandbox.write("openapi.toml", &settings(&endpoint.url()));
    let (first, second) = ("sk-First0123456789==", "sk-Second0123456789");
    sandbox.write("main-key", &format!("{first}\n"));
    sandbox.write("fast-key", second);
    let flags = [
        "--config",
        "openapi.toml",
        "--llm",
        "main.api_key_file=main-key",
        "--llm",
        "fast.api_key_file=fast-key",
    ];
    let mut keys = vec![("acme", credentials(&sandbox.with_key()))];
    for agent in ["night", "other"] {
        sandbox.json(&["agents", "create", agent, "--id", agent]);
        let key = sandbox.json(&["keys", "create", "--agent", agent, "--name", "All", "--allow", "all"]);
        keys.push((agent, credentials(&key)));
    }
    let server = sandbox.serve(&flags);
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
    let shown = sandbox.run(&[&["config", "show", "--json"], &flags[..]].concat());
    assert!(shown.stdout.contains("acme=builtin, night=fast"), "{}", shown.stdout);
    let rows: Value = serde_json::from_str(&shown.stdout).unwrap();
    let row = |key: &str| rows.as_array().unwrap().iter().find(|row| row["setting"] == key).unwrap();
    let (key, model) = (row("llm.fast.api_key"), row("llm.fast.model"));
    assert_eq!((&key["value"], &key["origin"]), (&json!("****"), &json!("flag --llm fast.api_key_file")));
    assert_eq!((&model["value"], &model["origin"]), (&json!("small"), &json!("file openapi.toml:8")));
    for text in [sandbox.read("stderr"), shown.stdout, shown.stderr] {
        assert!(!text.contains("First0123") && !text.contains("Second0123"), "{text}");
    }
}

#[test]
fn an_invalid_choice_is_reported_with_its_line() {
    let sandbox = Sandbox::new();
    let sound = settings("http://127.0.0.1:9/v1");
    sandbox.write("openapi.toml", &sound);
    sandbox.run(&["config", "check", "--config", "openapi.toml"]).done();
    for (from, to, fault) in [
        (
            "=fast\"",
            "=slow\"",
            "agent_engine: 'night=slow': there is no engine 'slow'; choose from builtin, fast, main (file openapi.toml:2)",
        ),
        (
            "night=fast",
            "night",
            "agent_engine: 'night' is not AGENT=ENGINE, such as acme=builtin (file openapi.toml:2)",
        ),
        (
            "night=fast",
            "ni ght=fast",
            "agent_engine: 'ni ght=fast': the agent must be 1 to 64 letters, digits, _ or - (file openapi.toml:2)",
        ),
        ("night=fast", "acme=fast", "agent_engine: 'acme' has two engines; remove one (file openapi.toml:2)"),
        ("night=fast", "night=off", "there is no engine 'off'"),
        (
            "\"main\"",
            "\"magic\"",
            "extraction_llm: there is no engine 'magic'; choose from builtin, fast, main (file openapi.toml:1)",
        ),
        ("\"main\"", "\"builtin\"", "extraction_llm: builtin is not an LLM endpoint"),
        (
            "extraction_llm",
            "extraction_engine",
            "extraction_engine: 'main' is not an engine; choose from builtin, llm, off (file openapi.toml:1)",
        ),
        (
            "extraction_llm = \"main\"",
            "extraction_engine = \"llm\"",
            "extraction_engine: llm needs extraction_llm, the name of an LLM endpoint (file openapi.toml:1)",
        ),
        ("\"small\"", "\" \"", "llm.fast.model: must not be empty (file openapi.toml:8)"),
        (
            "\nmodel = \"small\"",
            "",
            "llm.fast.url: the endpoint 'fast' also needs llm.fast.model (file openapi.toml:7)",
        ),
        (
            "[llm.fast]\nurl",
            "[llm.slow]\nprice = \"1/2\"\n[llm.fast]\nurl",
            "llm.slow.price: the endpoint 'slow' also needs llm.slow.url (file openapi.toml:7)",
        ),
        ("[llm.fast]", "[llm.off]", "llm.off.url: 'off' is reserved; choose another name"),
        (
            "[llm.fast]\nurl = \"http:",
            "[llm.fast]\nurl = \"ftp:",
            "llm.fast.url: the endpoint must be an absolute http or https URL",
        ),
        ("[llm.fast]", "[llm.main]", "openapi.toml:6: "),
        ("[llm.fast]", "[llm.fast]\nimages = 1", "llm.fast.images: '1' is not a boolean"),
        (
            "[llm.fast]",
            "[llm.fast]\nprice = \"1\"",
            "llm.fast.price: '1' is not INPUT/OUTPUT, such as 0.15/0.60",
        ),
        (
            "[llm.fast]",
            "[llm.fast]\nkey = \"x\"",
            "unknown key 'llm.fast.key'; did you mean llm.fast.api_key?",
        ),
    ] {
        sandbox.write("openapi.toml", &sound.replacen(from, to, 1));
        let said = sandbox.run(&["config", "check", "--config", "openapi.toml"]).failed(1);
        assert!(said.contains(fault), "{from} → {to}: {said}");
    }
    sandbox.write("openapi.toml", &sound);
    for (variable, key, fault) in [
        (
            "OPENAPI_LLM_SLOW_API_KEY",
            "sk-Secret01234",
            "llm.slow.api_key: the endpoint 'slow' also needs llm.slow.url (environment OPENAPI_LLM_SLOW_API_KEY)",
        ),
        (
            "OPENAPI_LLM_FAST_API_KEY",
            "sk-Secret\u{7}01234",
            "llm.fast.api_key: the key must be one line of visible characters",
        ),
        ("OPENAPI_LLM_FAST_KEY", "sk-Secret01234", "did you mean OPENAPI_LLM_FAST_API_KEY?"),
    ] {
        let said = sandbox.run_with(&[(variable, key)], &["config", "check", "--config", "openapi.toml"]);
        let said = said.failed(1);
        assert!(said.contains(fault) && !said.contains("Secret"), "{said}");
    }
    let said = sandbox.run(&["config", "check", "--llm", "fast.api_key=sk-Secret01234"]).failed(2);
    assert!(said.contains("set OPENAPI_LLM_FAST_API_KEY") && !said.contains("Secret"), "{said}");
}

#[test]
fn a_local_document_is_read_by_the_engine_that_is_chosen() {
    let sandbox = Sandbox::new();
    let endpoint = ModelEndpoint::says(&fields());
    sandbox.write("invoice.txt", DOCUMENT);
    sandbox.write("fields.json", SCHEMA);
    sandbox.write("notes.txt", "Totals are in pounds.\n");
    sandbox.write(
        "openapi.toml",
        &format!("extraction_llm = \"main\"\n[llm.main]\nurl = \"{}\"\nmodel = \"wise\"\n", endpoint.url()),
    );
    let extract = ["extract", "invoice.txt", "--schema", "fields.json", "--json"];
    let by_model = |further: &[&str]| {
        let key = [("OPENAPI_LLM_MAIN_API_KEY", "sk-Secret0123")];
        sandbox.run_with(&key, &[&extract[..], &["--config", "openapi.toml"], further].concat())
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
        (&["--extraction-llm", "fast"], 2, "there is no engine 'fast'; choose from builtin, main"),
        (&["--listen", "127.0.0.1:0"], 2, "unexpected argument '--listen'"),
    ] {
        let said = by_model(further).failed(status);
        let further: String = further.concat().chars().take(60).collect();
        assert!(said.contains(fault), "{further}: {said}");
    }

    // The endpoint no longer responds.
    drop(endpoint);
    let gone = by_model(&["--extraction-timeout", "4s"]).failed(1);
    assert!(gone.contains("wise: ") && !gone.contains("Secret"), "{gone}");
    let said = by_model(&["--extraction-timeout", "4s", "--extraction-fallback"]);
    assert_eq!(engine(&said.stdout), "builtin", "{said:?}");
    assert!(said.stderr.contains("; the built-in engine takes over"), "{}", said.stderr);
}

/// A document that takes longer to read than the timeout of an extraction.
#[test]
fn a_local_document_is_given_up_in_its_time() {
    const LEVELS: usize = 9;
    let sandbox = Sandbox::new();
    sandbox.write("fields.json", SCHEMA);
    // Form objects that each draw the next one ten times.
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
    sandbox.write("slow.pdf", &slow);
    let said = sandbox
        .run(&["extract", "slow.pdf", "--schema", "fields.json", "--extraction-timeout", "1s"])
        .failed(1);
    assert!(said.contains("slow.pdf: the extraction took too long (extraction_timeout)"), "{said}");
}
