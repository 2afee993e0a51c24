//! What visitors ask that an agent cannot answer.

use serde_json::json;

use super::support::Sandbox;
use super::visitor::Visitor;

const QUESTIONS: [&str; 4] = ["insights", "questions", "--agent", "acme"];

/// The loop: an operator lists what is missing, adds it, and sees that the agent answers by now.
#[test]
fn questions_without_an_answer_are_grouped_until_a_document_answers_them() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    sandbox.write("hours.md", "# Hours\n\n## Weekdays\n\nWe are open from 8:00 to 18:00.\n");
    sandbox.run(&["knowledge", "add", "hours.md", "--agent", "acme"]).done();
    let mut visitors = Vec::new();
    for question in [
        "Who won the championship?",
        "Do you sell gift cards?",
        "Vendez-vous des cartes cadeaux ?",
        "do you sell gift cards",
    ] {
        let mut visitor = Visitor::of(&sandbox, "acme");
        assert_eq!(visitor.says(question)["outcome"], "unknown", "{question}");
        visitors.push(visitor);
    }
    assert_eq!(visitors[0].says("When are you open on weekdays?")["outcome"], "answered");

    let report = sandbox.json(&QUESTIONS);
    let group = &report["groups"][0];
    for (member, expected) in [
        ("count", json!(3)),
        ("unanswered", json!(3)),
        ("unsure", json!(0)),
        ("conversations", json!(3)),
        ("visitors", json!(3)),
        ("languages", json!(["en", "fr"])),
    ] {
        assert_eq!(group[member], expected, "{member}: {report}");
    }
    assert_eq!(group["others"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!((&report["totalGroups"], &report["questions"]), (&json!(2), &json!(4)), "{report}");
    assert_eq!((&report["partial"], &report["groupedBy"]), (&json!(false), &json!("meaning")), "{report}");
    assert!(!report.to_string().contains("zoe@example.com"), "{report}");
    assert_ne!(group["nearest"]["answers"], true, "{report}");

    sandbox.write("gifts.md", "# Gift cards\n\nWe sell gift cards of 20 and 50 pounds at the desk.\n");
    sandbox.run(&["knowledge", "add", "gifts.md", "--agent", "acme"]).done();
    // Without a server the command does the same on its own.
    drop(visitors);
    let report = sandbox.json(&QUESTIONS);
    let nearest = &report["groups"][0]["nearest"];
    assert_eq!((&nearest["title"], &nearest["answers"]), (&json!("Gift cards"), &json!(true)), "{report}");
    assert_eq!(report["groupedBy"], "meaning", "{report}");

    let table = sandbox.run(&QUESTIONS);
    println!("{}{}", table.stdout, table.stderr);
    for part in ["ASKED", "en, fr", "· ", "Gift cards", " *\n"] {
        assert!(table.stdout.contains(part), "{part}: {}", table.stdout);
    }
    for part in ["2 of 2 groups with 4 questions of the last 30 days\n", "knowledge teach --agent acme"] {
        assert!(table.stderr.contains(part), "{part}: {}", table.stderr);
    }
    assert_eq!(sandbox.json(&[&QUESTIONS[..], &["--outcome", "unsure"]].concat())["groups"], json!([]));
    // What the agent is taught is no open question any more.
    let teach = ["knowledge", "teach", "--agent", "acme", "--answer", "Yes, of 20 and 50 pounds."];
    let questions =
        ["--question", "Do you sell gift cards?", "--question", "Vendez-vous des cartes cadeaux ?"];
    sandbox.run(&[&teach[..], &questions].concat()).done();
    let report = sandbox.json(&QUESTIONS);
    assert_eq!((&report["totalGroups"], &report["questions"]), (&json!(1), &json!(1)), "{report}");
    assert_eq!(report["groups"][0]["question"], "Who won the championship?", "{report}");
    let missing = sandbox.run(&["insights", "questions", "--agent", "nobody"]);
    assert!(missing.stderr.contains("nobody"), "{}", missing.stderr);
}

/// By words alone, where the settings say so.
#[test]
fn without_an_embedder_the_words_group() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    for question in ["Do you sell gift cards?", "Are there gift cards?", "Vendez-vous des cartes cadeaux ?"] {
        assert_eq!(Visitor::of(&sandbox, "acme").says(question)["outcome"], "unknown", "{question}");
    }
    sandbox.write("openapi.toml", "knowledge_embedder = \"none\"\n");
    let report = sandbox.json(&[&QUESTIONS[..], &["--config", "openapi.toml"]].concat());
    assert_eq!((&report["groupedBy"], &report["totalGroups"]), (&json!("words"), &json!(2)), "{report}");
    assert_eq!(report["groups"][0]["nearest"], json!(null), "{report}");
}
