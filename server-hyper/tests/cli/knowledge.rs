//! Documents that agents reply from: added, listed, searched, removed.

use std::io::Write;

use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str};
use serde_json::{Value, json};

use super::support::Sandbox;
use super::visitor::Visitor;

/// A PDF with a page for each text.
pub fn pdf(texts: &[&str]) -> Vec<u8> {
    let (catalog, tree, font) = (Ref::new(1), Ref::new(2), Ref::new(3));
    let numbers = 0..i32::try_from(texts.len()).unwrap();
    let pages: Vec<Ref> = numbers.map(|nth| Ref::new(4 + 2 * nth)).collect();
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(tree);
    pdf.pages(tree).kids(pages.iter().copied()).count(i32::try_from(texts.len()).unwrap());
    for (page, text) in pages.iter().zip(texts) {
        let stream = Ref::new(page.get() + 1);
        let mut content = Content::new();
        content.begin_text();
        content.set_font(Name(b"F1"), 12.0);
        content.next_line(56.0, 700.0);
        for line in text.lines() {
            content.show(Str(line.as_bytes()));
            content.next_line(0.0, -14.0);
        }
        content.end_text();
        let mut writer = pdf.page(*page);
        writer.parent(tree).media_box(Rect::new(0.0, 0.0, 595.0, 842.0)).contents(stream);
        writer.resources().fonts().pair(Name(b"F1"), font);
        writer.finish();
        pdf.stream(stream, &content.finish());
    }
    pdf.type1_font(font).base_font(Name(b"Helvetica"));
    pdf.finish()
}

/// A DOCX with a paragraph for each text.
fn docx(texts: &[&str]) -> Vec<u8> {
    let body: String = texts.iter().map(|text| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")).collect();
    let parts = [
        (
            "[Content_Types].xml",
            r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>"#.to_owned(),
        ),
        (
            "_rels/.rels",
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>"#.to_owned(),
        ),
        (
            "word/document.xml",
            format!(r#"<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{body}</w:body></w:document>"#),
        ),
    ];
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "create", "Front desk", "--id", "acme"]);
    sandbox
}

fn search(sandbox: &Sandbox, question: &str) -> Value {
    sandbox.json(&["knowledge", "search", question, "--agent", "acme"])
}

#[test]
fn every_kind_of_document_is_found_again() {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.path("handbook/deep/.hidden")).unwrap();
    sandbox.write(
        "handbook/deep/visits.md",
        "---\ntitle: Our services\nauthor: swordfish\n---\n# Services\r\n\r\n## Home visits\r\n\r\nHome visits are available in Leeds.\r\n",
    );
    sandbox.write("handbook/.secret.txt", "The password is swordfish.\n");
    sandbox.write("handbook/deep/.hidden/x.txt", "The password is swordfish.\n");
    sandbox.write("handbook/image.svg", "<svg/>");
    sandbox.write("handbook/staff.csv", "name\nAda\n");
    sandbox.write(
        "handbook/deep/parking.html",
        "<title>Parking</title><script>let password = 'swordfish';</script><h1>Cars</h1><p>Parking costs &pound;2 an hour.",
    );
    // The encoding of western Europe.
    std::fs::write(
        sandbox.path("handbook/zeiten.txt"),
        b"Die \xd6ffnungszeiten sind von acht bis achtzehn Uhr.",
    )
    .unwrap();
    // Pages that are too long for one passage.
    let page = |what: &str| {
        format!("A {what} costs forty pounds.\n{}", format!("We take time for every {what}.\n").repeat(20))
    };
    let pages = [page("consultation"), page("vaccination")];
    std::fs::write(sandbox.path("handbook/prices.pdf"), pdf(&[&pages[0], &pages[1]])).unwrap();
    std::fs::write(sandbox.path("handbook/staff.docx"), docx(&["Our nurse is Ada.", "Our doctor is Grace."]))
        .unwrap();
    let said = sandbox.json(&["knowledge", "add", "handbook", "--agent", "acme"]);
    assert_eq!(said["failed"], json!([]));
    let left_out: Vec<(&str, &str)> = said["leftOut"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["file"].as_str().unwrap(), it["message"].as_str().unwrap()))
        .collect();
    for (file, reason) in [
        ("handbook/.secret.txt", "is hidden"),
        ("handbook/deep/.hidden", "is hidden"),
        ("handbook/image.svg", ".svg is no document"),
        ("handbook/staff.csv", "is a table"),
    ] {
        assert!(
            left_out.iter().any(|(it, said)| *it == file && said.contains(reason)),
            "{file}: {left_out:?}"
        );
    }
    assert_eq!(left_out.len(), 4);
    let names: Vec<&Value> = said["added"].as_array().unwrap().iter().map(|it| &it["fileName"]).collect();
    assert_eq!(names, ["deep/parking.html", "deep/visits.md", "prices.pdf", "staff.docx", "zeiten.txt"]);
    let kinds: Vec<&Value> = said["added"].as_array().unwrap().iter().map(|it| &it["contentType"]).collect();
    assert_eq!(
        (kinds[0], kinds[1], kinds[2], kinds[4]),
        (&json!("text/html"), &json!("text/markdown"), &json!("application/pdf"), &json!("text/plain"))
    );

    let listed = sandbox.json(&["knowledge", "list", "--agent", "acme"]);
    let titles: Vec<&Value> = listed.as_array().unwrap().iter().map(|it| &it["title"]).collect();
    assert_eq!(titles, ["Our services", "Parking", "prices", "staff", "zeiten"]);
    for (question, title, page, expected) in [
        ("Are home visits available?", "Our services", json!(null), "available in Leeds"),
        ("What does parking cost?", "Parking", json!(null), "£2 an hour"),
        ("What does a vaccination cost?", "prices", json!(2), "forty pounds"),
        ("Who is the doctor?", "staff", json!(null), "Our doctor is Grace."),
        ("Öffnungszeiten", "zeiten", json!(null), "Die Öffnungszeiten sind"),
    ] {
        let found = search(&sandbox, question);
        let first = &found["passages"][0];
        assert_eq!((&first["title"], &first["page"]), (&json!(title), &page), "{question}: {found}");
        assert!(first["text"].as_str().unwrap().contains(expected), "{question}: {found}");
        assert_eq!(found["wouldAnswer"], true, "{question}: {found}");
    }
    assert_eq!(search(&sandbox, "Services")["passages"][0]["headings"], json!(["Services", "Home visits"]));
    let none = search(&sandbox, "swordfish");
    assert_eq!((&none["passages"], &none["wouldAnswer"]), (&json!([]), &json!(false)), "{none}");

    // The required coverage of a question is a setting.
    sandbox.run(&["agents", "configure", "acme", "--set", "chat.minCoverage=1"]).done();
    let strict = search(&sandbox, "Does a vaccination hurt?");
    assert!(strict["coverage"].as_f64().unwrap() < 1.0 && strict["wouldAnswer"] == false, "{strict}");
    let table = sandbox.run(&["knowledge", "search", "vaccination", "--agent", "acme"]);
    assert!(
        table.stdout.contains("prices, page 2") && table.stderr.contains("the agent answers"),
        "{table:?}"
    );
}

#[test]
fn a_new_version_replaces_the_document() {
    let sandbox = sandbox();
    let add = |arguments: &[&str]| {
        let said = sandbox.json(&[&["knowledge", "add", "--agent", "acme"], arguments].concat());
        said["added"][0].clone()
    };
    sandbox.write("hours.md", "# Hours\n\nWe open at eight.\n");
    let first = add(&["hours.md"]);
    sandbox.write("hours.md", "# Opening hours\n\nWe open at nine.\n");
    let second = add(&["hours.md", "--language", "en-GB"]);
    assert_eq!((&second["title"], &second["language"]), (&json!("Opening hours"), &json!("en-GB")));
    assert_ne!(second["id"], first["id"]);
    assert_eq!(search(&sandbox, "eight")["passages"], json!([]));
    assert_eq!(sandbox.json(&["knowledge", "list", "--agent", "acme"]).as_array().unwrap().len(), 1);

    // The document may have received a URL since then, and the file may have been replaced.
    let url = "https://www.example.com/hours";
    let with_url = add(&["hours.md", "--url", url, "--title", "When we are there"]);
    assert_eq!((&with_url["url"], &with_url["title"]), (&json!(url), &json!("When we are there")));
    assert_eq!(sandbox.json(&["knowledge", "list", "--agent", "acme"]).as_array().unwrap().len(), 1);
    sandbox.write("times.md", "# Times\n\nWe open at ten.\n");
    let other = add(&["times.md", "--url", url]);
    let listed = sandbox.json(&["knowledge", "list", "--agent", "acme"]);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &other["id"]));
    let again = add(&["hours.md"]);
    let id = other["id"].as_str().unwrap();
    assert_eq!(sandbox.json(&["knowledge", "remove", id, "--agent", "acme"])["id"], id);
    assert_eq!(sandbox.json(&["knowledge", "remove", "hours.md", "--agent", "acme"])["id"], again["id"]);
    assert!(
        sandbox
            .run(&["knowledge", "remove", "hours.md", "--agent", "acme"])
            .failed(1)
            .contains("no document")
    );
    assert_eq!(sandbox.json(&["knowledge", "list", "--agent", "acme"]), json!([]));
    let said = sandbox.run(&["knowledge", "search", "hours", "--agent", "acme"]);
    assert!(said.code == 0 && said.stderr.contains("has no documents"), "{said:?}");
    sandbox.run(&["check"]).done();
}

#[test]
fn bad_files_do_not_stop_the_others() {
    let sandbox = sandbox();
    sandbox.write("good.txt", "We open at nine.\n");
    sandbox.write("page.css", "p { color: red }");
    sandbox.write("empty.md", "");
    sandbox.write("blank.md", "\n \n");
    sandbox.write("broken.pdf", "%PDF-1.7\nnothing of a document");
    sandbox.write("image.gif", "GIF89a");
    std::fs::create_dir_all(sandbox.path("other/none")).unwrap();
    sandbox.write("other/good.txt", "We open at eleven.\n");
    let files = [
        "page.css",
        "empty.md",
        "good.txt",
        "blank.md",
        "broken.pdf",
        "image.gif",
        "nowhere.md",
        "other/none",
        "other/good.txt",
    ];
    let said = sandbox.run(&[&["knowledge", "add", "--agent", "acme", "--json"], &files[..]].concat());
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("8 documents were not added"), "{said:?}");
    let said: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(said["added"].as_array().unwrap().len(), 1);
    let failed: Vec<(&str, &str)> = said["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["file"].as_str().unwrap(), it["message"].as_str().unwrap()))
        .collect();
    for (file, expected) in [
        ("page.css", "save it as .md, .html or .txt"),
        ("empty.md", "is empty"),
        ("blank.md", "has no text"),
        ("broken.pdf", "cannot be read"),
        ("image.gif", "is an image"),
        ("nowhere.md", "No such file"),
        ("other/none", "has no files"),
        ("other/good.txt", "replace each other"),
    ] {
        assert!(failed.iter().any(|(it, said)| *it == file && said.contains(expected)), "{file}: {failed:?}");
    }
    assert_eq!(search(&sandbox, "open at nine")["wouldAnswer"], true);

    let two = ["knowledge", "add", "good.txt", "empty.md", "--agent", "acme"];
    sandbox.run(&[&two[..], &["--title", "One"]].concat()).failed(2);
    sandbox.run(&[&two[..], &["--language", "English language"]].concat()).failed(2);
    let one = ["knowledge", "add", "good.txt", "--agent"];
    assert!(sandbox.run(&[&one[..], &["acme", "--url", "ftp://x"]].concat()).failed(1).contains("no http"));
    assert!(sandbox.run(&[&one[..], &["nobody"]].concat()).failed(1).contains("there is no agent 'nobody'"));
    sandbox.run(&["knowledge", "search", "x", "--agent", "nobody"]).failed(1);
    sandbox.run(&["knowledge", "add", "--agent", "acme"]).failed(2);
}

#[test]
fn how_much_an_agent_answers_from_is_the_operators_to_say() {
    let sandbox = sandbox();
    let long = "A sentence about opening hours. ".repeat(40);
    sandbox.write("long.txt", &long);
    sandbox.write("short.txt", "We open at nine.");
    std::fs::write(sandbox.path("pages.pdf"), pdf(&["We open at nine.", "We close at six."])).unwrap();
    let add = |file: &str, limit: &[&str]| {
        sandbox.run(&[&["knowledge", "add", file, "--agent", "acme"], limit].concat())
    };
    for (file, limit, expected) in [
        ("long.txt", ["--max-knowledge-size", "1279B"], "at most 1279 bytes"),
        ("long.txt", ["--max-knowledge-characters", "1278"], "at most 1278 characters"),
        ("long.txt", ["--knowledge-passages", "1"], "at most 1 passages"),
        ("pages.pdf", ["--max-knowledge-pages", "1"], "page"),
    ] {
        let said = add(file, &limit).failed(1);
        assert!(said.contains(expected), "{limit:?}: {said}");
    }
    for (file, limit) in [
        ("long.txt", ["--max-knowledge-size", "1280B"]),
        ("long.txt", ["--max-knowledge-characters", "1280"]),
        ("pages.pdf", ["--max-knowledge-pages", "2"]),
    ] {
        add(file, &limit).done();
    }
    let said = add("short.txt", &["--knowledge-documents", "2"]).failed(1);
    assert!(said.contains("at most 2 documents"), "{said}");
    assert!(add("short.txt", &["--knowledge-documents", "0"]).failed(2).contains("knowledge_documents"));
    // A replacement adds no document.
    add("long.txt", &["--knowledge-documents", "2"]).done();
}

#[test]
fn a_taught_answer_is_given_listed_replaced_and_removed() {
    let sandbox = sandbox();
    sandbox.json(&["agents", "create", "Other", "--id", "other"]);
    let teach = |arguments: &[&str]| {
        sandbox.run(&[&["knowledge", "teach", "--agent", "acme", "--json"], arguments].concat())
    };
    let norway = ["--question", "Do you ship to Norway?", "--question", "Can you deliver to Oslo?"];
    let first = teach(&[&norway[..], &["--answer", "Yes, within 5 days."]].concat());
    assert_eq!(first.code, 0, "{first:?}");
    let found = search(&sandbox, "can you deliver to oslo");
    assert_eq!(
        (&found["passages"][0]["text"], &found["coverage"]),
        (&json!("Yes, within 5 days."), &json!(1.0))
    );
    assert_eq!(search(&sandbox, "Do you ship to Sweden?")["wouldAnswer"], false);
    let other = sandbox.json(&["knowledge", "search", "Do you ship to Norway?", "--agent", "other"]);
    assert_eq!(other["passages"], json!([]), "{other}");

    let mut visitor = Visitor::of(&sandbox, "acme");
    assert_eq!(visitor.says("do you ship to norway")["outcome"], "answered");
    assert_eq!(visitor.says("Do you ship to Sweden?")["outcome"], "unknown");
    drop(visitor);

    // The same first question replaces answer and questions; another pair's question is refused.
    sandbox.write("answer.md", "Not at the moment.\n");
    let again = teach(&["--question", "DO YOU SHIP TO NORWAY", "--file", "answer.md", "--title", "Delivery"]);
    assert_eq!(again.code, 0, "{again:?}");
    let listed = sandbox.json(&["knowledge", "list", "--agent", "acme"]);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["title"]), (1, &json!("Delivery")), "{listed}");
    assert_eq!(listed[0]["questions"], json!(["DO YOU SHIP TO NORWAY"]), "{listed}");
    assert_eq!(search(&sandbox, "can you deliver to oslo")["wouldAnswer"], false);
    let taken = teach(&["--question", "Shipping?", "--question", "do you ship to Norway", "--answer", "No."]);
    let taken = taken.failed(1);
    assert!(taken.contains("answers 'DO YOU SHIP TO NORWAY' already"), "{taken}");

    sandbox.write("norway.md", "# Norway\n\nFjords.\n");
    sandbox.run(&["knowledge", "add", "norway.md", "--agent", "acme"]).done();
    for (arguments, message) in [
        (vec!["--question", "???", "--answer", "No."], "at least one letter or digit"),
        (vec!["--question", "Why?", "--answer", " \n"], "an answer has 1 to 4000 characters"),
        (vec!["--question", "Why?\nWhen?", "--answer", "No."], "on one line"),
    ] {
        let refused = teach(&arguments).failed(1);
        assert!(refused.contains(message), "{arguments:?}: {refused}");
    }
    assert_eq!(teach(&["--question", "Why?"]).code, 2);

    sandbox.run(&["knowledge", "remove", "DO YOU SHIP TO NORWAY", "--agent", "acme"]).done();
    assert_eq!(search(&sandbox, "Do you ship to Norway?")["wouldAnswer"], false);
    assert_eq!(sandbox.json(&["knowledge", "list", "--agent", "acme"]).as_array().unwrap().len(), 1);
}

#[test]
fn an_evaluation_counts_what_is_found_and_fails_below_its_minimum() {
    let sandbox = sandbox();
    let evaluate = |arguments: &[&str]| {
        sandbox.run(&[&["knowledge", "evaluate", "--agent", "acme", "--json"], arguments].concat())
    };
    assert!(evaluate(&[]).failed(1).contains("there are no cases"));
    sandbox.write("hours.md", "# Hours\n\nWe are open from 8:00 to 18:00.\n");
    sandbox.run(&["knowledge", "add", "hours.md", "--agent", "acme"]).done();
    let teach =
        ["knowledge", "teach", "--agent", "acme", "--question", "Do you ship to Norway?", "--answer", "Yes."];
    sandbox.run(&teach).done();
    sandbox.write(
        "cases.txt",
        "# Ours\n\nWhen are you open? | open from  8:00\nWho won the championship? | -\nAre you open? | - \n",
    );
    let report: Value = serde_json::from_str(&evaluate(&["--cases", "cases.txt"]).done()).unwrap();
    for (member, expected) in [
        ("answerable", 2),
        ("first", 2),
        ("firstThree", 2),
        ("answered", 2),
        ("unanswerable", 2),
        ("unknown", 1),
        ("right", 3),
    ] {
        assert_eq!(report[member], expected, "{member}: {report}");
    }
    assert_eq!(report["failures"][0]["question"], "Are you open?", "{report}");
    assert_eq!(evaluate(&["--cases", "cases.txt", "--min", "0.75"]).code, 0);
    assert!(
        evaluate(&["--cases", "cases.txt", "--min", "0.76"]).failed(1).contains("3 of 4 cases are right")
    );
    sandbox.write("wrong.txt", "When?\n");
    assert!(evaluate(&["--cases", "wrong.txt"]).failed(1).contains("wrong.txt:1: write a question"));
}
