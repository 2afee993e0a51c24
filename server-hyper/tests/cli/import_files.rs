//! Imports of files as spreadsheets and other programs write them, and exports for spreadsheets.

use std::io::Write;

use serde_json::{Value, json};

use super::support::{Said, Sandbox};

/// A workbook with these parts under `xl/`, in addition to those that every workbook has.
pub fn workbook(sheets: &[(&str, &str, &str)], parts: &[(&str, &str)]) -> Vec<u8> {
    let numbered = || sheets.iter().enumerate().map(|(at, sheet)| (at + 1, sheet));
    let names: String = numbered()
        .map(|(at, (name, state, _))| {
            format!(r#"<sheet name="{name}" sheetId="{at}" state="{state}" r:id="rId{at}"/>"#)
        })
        .collect();
    let relations: String = numbered()
        .map(|(at, _)| {
            format!(
                r#"<Relationship Id="rId{at}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet{at}.xml"/>"#
            )
        })
        .collect();
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let mut files = vec![
        (
            "[Content_Types].xml".to_owned(),
            r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"#.to_owned(),
        ),
        (
            "_rels/.rels".to_owned(),
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#.to_owned(),
        ),
        (
            "xl/workbook.xml".to_owned(),
            format!(
                r#"<workbook xmlns="{main}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{names}</sheets></workbook>"#
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels".to_owned(),
            format!(
                r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relations}</Relationships>"#
            ),
        ),
        // Style 1 is a date, style 2 a date with a time.
        (
            "xl/styles.xml".to_owned(),
            format!(
                r#"<styleSheet xmlns="{main}"><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>"#
            ),
        ),
    ];
    for (at, (_, _, rows)) in numbered() {
        let sheet = format!(r#"<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>"#);
        files.push((format!("xl/worksheets/sheet{at}.xml"), sheet));
    }
    files.extend(parts.iter().map(|(name, text)| (format!("xl/{name}"), (*text).to_owned())));
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        archive.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A row of texts.
pub fn texts(row: u32, texts: &[&str]) -> String {
    let cells = texts
        .iter()
        .zip('A'..)
        .map(|(text, column)| format!(r#"<c r="{column}{row}" t="inlineStr"><is><t>{text}</t></is></c>"#));
    format!(r#"<row r="{row}">{}</row>"#, cells.collect::<String>())
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.with_key();
    sandbox
}

fn import(sandbox: &Sandbox, content: &[u8], arguments: &[&str]) -> Said {
    let file = arguments[0];
    std::fs::write(sandbox.path(file), content).unwrap();
    sandbox.run(&[&["contacts", "import", "--agent", "acme"], arguments].concat())
}

/// The contact with an external id.
fn contact(sandbox: &Sandbox, id: &str) -> Value {
    let exported = sandbox.run(&["contacts", "export", "--agent", "acme"]).done();
    let mut contacts = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    contacts
        .find(|contact| contact["externalReferenceId"] == id)
        .unwrap_or_else(|| panic!("no {id}: {exported}"))
}

#[test]
fn what_was_detected_is_said_and_can_be_overruled() {
    let sandbox = sandbox();
    // Windows-1252, as Excel writes it in Germany.
    let german = b"externalReferenceId;Primary Email;First Name;Notizen\r\nc-1;j@example.com;J\xfcrgen;x\r\n";
    let mapped = ["de.csv", "--map", "Notizen=customFields.note"];
    let said = import(&sandbox, german, &mapped);
    assert_eq!(said.stdout, "created 1, updated 0, unchanged 0, failed 0\n", "{said:?}");
    assert_eq!(said.stderr, "read as CSV: delimiter ';' (detected), encoding windows-1252 (detected)\n");
    let found = contact(&sandbox, "c-1");
    assert_eq!((&found["firstName"], &found["customFields"]["note"]), (&json!("Jürgen"), &json!("x")));
    let said = import(
        &sandbox,
        german,
        &[&mapped[..], &["--encoding", "windows-1250", "--delimiter", ";", "--json"]].concat(),
    );
    let summary: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(summary["source"], "CSV: delimiter ';', encoding windows-1250");

    // Nothing of a refused file is imported.
    for (content, arguments, expected) in [
        (
            &b"externalReferenceId;Email\nc-2;a@example.com\n"[..],
            &["x.csv"][..],
            "'Email' (did you mean primaryEmail?)",
        ),
        (
            b"externalReferenceId;Email\nc-2;a@example.com\n",
            &["x.csv"],
            "read as CSV: delimiter ';' (detected)",
        ),
        (
            b"primaryEmail,primary email\na@example.com,b@example.com\n",
            &["x.csv"],
            "both the field primaryEmail",
        ),
        (b"primaryEmail,firstName\na@example.com,M\x81ller\n", &["x.csv"], "--encoding"),
        (b"BEGIN:VCARD\nVERSION:4.0\n", &["x.csv"], "export it as CSV"),
        (b"BEGIN:VCARD\n", &["x.vcf"], "export it as CSV"),
        (b"<html><table>", &["x.csv"], "save it as .xlsx or CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", &["x.csv"], "save it as .xlsx"),
        (b"PK\x03\x04\0\0", &["x.csv"], "--format xlsx"),
        (b"{}", &["x.ndjson", "--delimiter", ";"], "--delimiter applies to CSV"),
        (b"{}", &["x.ndjson", "--map", "a=b"], "--map applies to"),
        (b"primaryEmail\n", &["x.csv", "--encoding", "klingon"], "windows-1252"),
        (b"", &["x.csv"], "no rows"),
    ] {
        let said = import(&sandbox, content, arguments);
        assert!(
            said.code > 0 && said.stdout.is_empty() && said.stderr.contains(expected),
            "{expected}: {said:?}"
        );
        assert!(said.stderr.matches("--encoding").count() <= 1, "{said:?}");
    }
    assert_eq!(sandbox.run(&["contacts", "export", "--agent", "acme"]).done().lines().count(), 1);
}

#[test]
fn a_file_that_breaks_off_is_imported_up_to_there() {
    let sandbox = sandbox();
    for (name, content) in [
        ("a.csv", &b"primaryEmail,firstName\r\na@example.com,A\r\n\r\nb@example.com,\"B\r\n"[..]),
        ("a.json", b"[\n{\"primaryEmail\": \"a@example.com\", \"firstName\": \"A\"}\n,\n{\"primaryEmail\""),
    ] {
        let said = import(&sandbox, content, &[name]);
        assert_eq!(said.code, 1);
        assert!(said.stdout.starts_with("created 1,") || said.stdout.contains("unchanged 1,"), "{said:?}");
        assert!(said.stderr.contains("cannot read on: line 4:"), "{said:?}");
    }
    // An encoding that changes in the middle.
    let mixed =
        b"primaryEmail,firstName\nb@example.com,J\xc3\xbcrgen and Zo\xc3\xab\nc@example.com,J\xfcrgen\n";
    let said = import(&sandbox, mixed, &["b.csv"]);
    assert!(said.code == 1 && said.stdout.starts_with("created 1,"), "{said:?}");
    assert!(said.stderr.contains("line 3: has bytes that are not UTF-8"), "{said:?}");
}

#[test]
fn workbooks_are_imported() {
    let sandbox = sandbox();
    sandbox.write(
        "schema.json",
        r#"{ "customFields": [{ "name": "seats", "label": "Seats", "type": "integer" },
             { "name": "rate", "label": "Rate", "type": "number" }, { "name": "vip", "label": "VIP", "type": "boolean" }] }"#,
    );
    sandbox.json(&["contact-schema", "set", "--agent", "acme", "--file", "schema.json"]);
    let heading = texts(
        2,
        &[
            "External Reference ID",
            "E-Mail",
            "Primary Phone",
            "DOB",
            "Last contacted at",
            "customFields.seats",
            "customFields.rate",
            "customFields.vip",
            "firstName",
        ],
    );
    // Numbers, dates and formulas with their values; an empty row; texts in the table of texts.
    let rows = format!(
        r#"{heading}
        <row r="3"><c r="A3"><v>1001</v></c><c r="B3" t="s"><v>0</v></c><c r="C3"><v>2079460958</v></c>
        <c r="D3" s="1"><v>33010</v></c><c r="E3" s="2"><v>46042.5625</v></c><c r="F3"><f>1+2</f><v>3</v></c>
        <c r="G3"><v>0.30000000000000004</v></c><c r="H3" t="b"><v>1</v></c><c r="I3" t="str"><f>A1</f><v>Zoë</v></c></row>
        <row r="4"><c r="A4" s="1"/></row>
        <row r="5"><c r="A5" t="e"><v>#N/A</v></c><c r="B5" t="s"><v>1</v></c></row>
        <row r="6"><c r="A6"><v>1002</v></c><c r="B6" t="inlineStr"><is><t>b@example.com</t></is></c><c r="K6"><v>1</v></c></row>"#
    );
    let strings = r#"<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" count="2" uniqueCount="2"><si><r><t>a@</t></r><r><t>example.com</t></r></si><si><t>c@example.com</t></si></sst>"#;
    let sheets = [
        ("Notes", "hidden", texts(1, &["hidden"])),
        ("Empty", "visible", String::new()),
        ("People", "visible", rows),
        ("Others", "visible", texts(1, &["primaryEmail"]) + &texts(2, &["o@example.com"])),
    ];
    let sheets: Vec<(&str, &str, &str)> =
        sheets.iter().map(|(name, state, rows)| (*name, *state, rows.as_str())).collect();
    let book = workbook(&sheets, &[("sharedStrings.xml", strings)]);
    let map = ["--map", "E-Mail=primaryEmail", "--map", "Last contacted at=lastContactedAt"];
    let said = import(&sandbox, &book, &[&["people.xlsx"], &map[..]].concat());
    assert_eq!(said.stdout, "created 1, updated 0, unchanged 0, failed 2\n", "{said:?}");
    for expected in
        ["line 5: has the error #N/A in column 1", "line 6: has 11 cells", "sheet 'People', one of 3"]
    {
        assert!(said.stderr.contains(expected), "{expected}: {said:?}");
    }
    let found = contact(&sandbox, "1001");
    for (member, value) in [
        ("primaryEmail", json!("a@example.com")),
        ("primaryPhone", json!("2079460958")),
        ("dob", json!("1990-05-17")),
        ("lastContactedAt", json!("2026-01-20T13:30:00.000Z")),
        ("customFields", json!({ "seats": 3, "rate": 0.3, "vip": true })),
        ("firstName", json!("Zoë")),
    ] {
        assert_eq!(found[member], value, "{member}: {found}");
    }
    let said = import(&sandbox, &book, &["people.xlsx", "--sheet", "Others"]);
    assert_eq!(said.stdout, "created 1, updated 0, unchanged 0, failed 0\n", "{said:?}");
    assert!(
        import(&sandbox, &book, &["people.xlsx", "--sheet", "Nobody"])
            .failed(1)
            .contains("'Empty', 'People', 'Others'")
    );

    // Workbooks that would take memory, and files that are none.
    let people = texts(1, &["primaryEmail"]);
    let zeros = "<a>".to_owned() + &" ".repeat(70 << 20);
    let many = r#"<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" uniqueCount="9000000000000000000"></sst>"#;
    let far = format!(r#"{people}<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>"#);
    for (book, expected) in [
        (
            workbook(&[("A", "visible", &people)], &[("sharedStrings.xml", &zeros)]),
            "64 MiB when it is unpacked",
        ),
        (workbook(&[("A", "visible", &people)], &[("sharedStrings.xml", many)]), "more texts than it has"),
        (workbook(&[("A", "visible", &far)], &[]), "line 1048576: has 16384 cells"),
        (workbook(&[("A", "visible", "")], &[]), "no sheet with cells"),
        (workbook(&[("A", "visible", "<row><c r=\"A")], &[]), "save it again"),
        (b"primaryEmail\na@example.com\n".to_vec(), "not a readable Excel workbook"),
        (workbook(&[("A", "visible", &people)], &[])[..400].to_vec(), "not a readable Excel workbook"),
    ] {
        let said = import(&sandbox, &book, &["bad.xlsx"]);
        assert!(said.code == 1 && said.stderr.contains(expected), "{expected}: {said:?}");
    }
}

#[test]
fn json_arrays_are_imported() {
    let sandbox = sandbox();
    let array = "\u{feff}[\n  {\n    \"externalReferenceId\": \"a\",\n    \"primaryEmail\": \"a@example.com\"\n  },\n  5,\n  { \"externalReferenceId\": \"b\",\n    \"primaryEmail\": 7 }\n]\n";
    let said = import(&sandbox, array.as_bytes(), &["contacts.json"]);
    assert_eq!(
        (said.code, said.stdout.as_str()),
        (1, "created 1, updated 0, unchanged 0, failed 2\n"),
        "{said:?}"
    );
    assert!(
        said.stderr.contains("line 6: is not a JSON object") && said.stderr.contains("line 7:"),
        "{said:?}"
    );
    // One object a line, as PowerShell writes it.
    let lines = "\u{feff}{\"externalReferenceId\":\"c\",\"primaryEmail\":\"c@example.com\"}\r\n";
    let bytes: Vec<u8> = lines.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for file in ["lines.json", "lines.ndjson"] {
        let said = import(&sandbox, &bytes, &[file]);
        assert!(said.done().contains("failed 0"));
    }
    assert_eq!(contact(&sandbox, "c")["primaryEmail"], "c@example.com");
}

#[test]
fn an_export_for_excel_opens_in_excel_and_comes_back() {
    let sandbox = sandbox();
    sandbox.json(&["agents", "create", "Second", "--id", "second"]);
    let risky = r#"{"externalReferenceId":"=1+1","primaryEmail":"a@example.com","firstName":"＝1+1","lastName":"'=x","fullAddress":"-1\n\"Zoë\"; Köln","tags":["@a","b"]}"#;
    let said = import(&sandbox, risky.as_bytes(), &["risky.ndjson"]);
    assert_eq!(said.code, 0, "{said:?}");
    let export = |variables: &[(&str, &str)], arguments: &[&str]| {
        sandbox.run_with(variables, &[&["contacts", "export", "--agent", "acme"], arguments].concat()).done()
    };
    let german = export(&[("LANG", "de_DE.UTF-8")], &["--excel"]);
    let lines: Vec<&str> = german.split("\r\n").collect();
    assert!(german.starts_with("\u{feff}id;externalReferenceId;"), "{german}");
    assert_eq!((lines.len(), lines[2]), (3, ""), "{german}");
    for cell in [";'=1+1;", ";'＝1+1;", ";''=x;", ";\"'-1\n\"\"Zoë\"\"; Köln\";", ";\"'@a;b\";"] {
        assert!(german.contains(cell), "{cell}: {german}");
    }
    // LC_ALL comes before LANG, and the flag before both.
    assert!(export(&[("LANG", "de_DE"), ("LC_ALL", "en_US")], &["--excel"]).starts_with("\u{feff}id,"));
    assert!(export(&[("LANG", "de_DE")], &["--excel", "--delimiter", "tab"]).starts_with("\u{feff}id\t"));
    assert!(export(&[("LANG", "de_DE")], &["--format", "csv"]).starts_with("id,"));
    assert!(export(&[], &["--delimiter", "|"]).starts_with("id|"));
    sandbox.run(&["contacts", "export", "--agent", "acme", "--format", "ndjson", "--excel"]).failed(2);
    sandbox.run(&["submissions", "export", "--agent", "acme", "--excel"]).done();
    sandbox.write("german.csv", &german);
    sandbox.run(&["contacts", "import", "--agent", "second", "german.csv"]).done();
    let content = |agent: &str| {
        let exported = sandbox.run(&["contacts", "export", "--agent", agent]).done();
        let mut contact: Value = serde_json::from_str(exported.trim()).unwrap();
        for name in ["id", "agentId", "createdAt", "updatedAt"] {
            contact.as_object_mut().unwrap().remove(name);
        }
        contact
    };
    assert_eq!(content("acme"), content("second"));
}
