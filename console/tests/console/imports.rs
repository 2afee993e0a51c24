//! Import of contacts: the dry run against a plain reference and against the run, and files that are broken or hostile.

use std::collections::BTreeMap;

use bytes::Bytes;
use http_body_util::Full;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Answer, Browser, World, call_as};

const PATH: &str = "/agents/acme/contacts/imports";
const MAPPING: &str = r#"["externalReferenceId","primaryEmail","lastName","customFields.plan"]"#;

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Sends a file.
fn send(world: &World, path: &str, query: &[(&str, &str)], content: &[u8]) -> Answer {
    let query: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    let request = Browser::default().request("POST", &format!("{path}?{}", query.join("&")), &Value::Null);
    let (mut parts, _) = request.into_parts();
    parts.headers.insert("content-type", "application/octet-stream".parse().unwrap());
    parts.extensions.insert(console::Operator::new("u-17", "Zoë", "admin@acme".parse().unwrap()));
    world.clock.advance_millis(60);
    world.send(http::Request::from_parts(parts, Full::new(Bytes::copy_from_slice(content))))
}

fn preview(world: &World, name: &str, mapping: Option<&str>, content: &[u8]) -> Answer {
    let mapping = mapping.map(|mapping| ("mapping", mapping));
    let query: Vec<_> = [("fileName", name)].into_iter().chain(mapping).collect();
    send(world, PATH, &query, content)
}

/// Imports a whole file, piece by piece, and returns the sums of what its calls have done.
fn import(world: &World, name: &str, mapping: Option<&str>, content: &[u8]) -> Value {
    let mut sum =
        json!({ "created": 0, "updated": 0, "unchanged": 0, "refused": 0, "effects": "", "calls": 0 });
    let mut after = 0;
    loop {
        let text = after.to_string();
        let mapping = mapping.map(|mapping| ("mapping", mapping));
        let query: Vec<_> = [("fileName", name), ("after", &*text)].into_iter().chain(mapping).collect();
        let answer = send(world, &format!("{PATH}/run"), &query, content);
        let piece = answer.data();
        for name in ["created", "updated", "unchanged", "refused"] {
            sum[name] = json!(sum[name].as_u64().unwrap() + piece[name].as_u64().unwrap());
        }
        sum["effects"] =
            json!(format!("{}{}", sum["effects"].as_str().unwrap(), piece["effects"].as_str().unwrap()));
        sum["calls"] = json!(sum["calls"].as_u64().unwrap() + 1);
        after = piece["done"].as_u64().unwrap();
        if piece["isComplete"] == true {
            sum["lines"] = piece["lines"].clone();
            assert_eq!(piece["done"], piece["lines"]);
            return sum;
        }
    }
}

fn numbers(of: &Value) -> [u64; 4] {
    ["created", "updated", "unchanged", "refused"].map(|name| of[name].as_u64().unwrap())
}

/// A line of a generated file: external id, address, last name, plan; empty where absent.
type Row = [String; 4];

fn row() -> impl Strategy<Value = Row> {
    let external = prop_oneof![Just(String::new()), (1..6_u8).prop_map(|n| format!("crm-{n}"))];
    let email = prop_oneof![
        8 => (1..5_u8).prop_map(|n| format!("p{n}@example.com")),
        1 => Just("no address".to_owned()),
        1 => Just(String::new()),
    ];
    let name = prop_oneof![Just(String::new()), Just("King".to_owned()), Just("O\"Hara, Jr.".to_owned())];
    let plan = prop_oneof![Just(String::new()), Just("gold,\nplus".to_owned()), Just("=1+1".to_owned())];
    (external, email, name, plan).prop_map(|(external, email, name, plan)| [external, email, name, plan])
}

fn csv(rows: &[Row]) -> Vec<u8> {
    let mut text = "Id,E-Mail,Surname,Plan\r\n".to_owned();
    for row in rows {
        let cells: Vec<String> =
            row.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
        text.push_str(&cells.join(","));
        text.push_str("\r\n");
    }
    text.into_bytes()
}

/// The plain reference: contacts as tuples. An update leaves what a line does not name.
#[derive(Clone, Default)]
struct Reference {
    known: BTreeMap<String, Row>,
    nameless: Vec<Row>,
}

impl Reference {
    fn effect(&mut self, row: &Row) -> Option<char> {
        let [external, email, ..] = row;
        if external.is_empty() && email.is_empty() && row.iter().all(String::is_empty) {
            return None;
        }
        let known = self.known.get(external).filter(|_| !external.is_empty());
        let is_valid = if email.is_empty() { known.is_some() } else { email.contains('@') };
        if !is_valid {
            return Some('r');
        }
        if external.is_empty() {
            if self.nameless.contains(row) {
                return Some('=');
            }
            self.nameless.push(row.clone());
            return Some('c');
        }
        let Some(before) = self.known.get_mut(external) else {
            self.known.insert(external.clone(), row.clone());
            return Some('c');
        };
        let mut after = before.clone();
        for (to, from) in after.iter_mut().zip(row).filter(|(_, from)| !from.is_empty()) {
            to.clone_from(from);
        }
        let is_same = after == *before;
        *before = after;
        Some(if is_same { '=' } else { 'u' })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Two files, one after the other, so that the second one meets what the first has stored.
    #[test]
    fn previews_are_what_runs_do_and_what_a_plain_reference_says(
        first in prop::collection::vec(row(), 0..8), second in prop::collection::vec(row(), 1..24),
    ) {
        let world = World::hosted();
        let mut reference = Reference::default();
        for rows in [first, second] {
            let file = csv(&rows);
            let expected: String = rows.iter().filter_map(|row| reference.effect(row)).collect();
            let checked = preview(&world, "a.csv", Some(MAPPING), &file);
            let checked = checked.data();
            prop_assert_eq!(checked["effects"].as_str().unwrap(), &expected, "{}", checked);
            prop_assert_eq!(numbers(checked).iter().sum::<u64>(), checked["lines"].as_u64().unwrap());
            prop_assert_eq!(checked["lines"].as_u64().unwrap(), expected.len() as u64);
            // A preview changes nothing, so it can be had again.
            let again = preview(&world, "a.csv", Some(MAPPING), &file);
            prop_assert_eq!(&again.data()["effects"], &checked["effects"]);
            let done = import(&world, "a.csv", Some(MAPPING), &file);
            prop_assert_eq!(&done["effects"], &checked["effects"]);
            prop_assert_eq!(numbers(&done), numbers(checked));
            let count = |letter: char| expected.chars().filter(|it| *it == letter).count() as u64;
            prop_assert_eq!(numbers(&done), [count('c'), count('u'), count('='), count('r')]);
            // The refused lines are a file of their own, which can be imported. Some are valid once a later line has
            // created their contact.
            let (header, rest) = (&checked["refusedHeader"], &checked["refusedRows"]);
            let refused = format!("{}{}", header.as_str().unwrap(), rest.as_str().unwrap());
            if count('r') > 0 {
                let lines = expected.chars().zip(rows.iter().filter(|row| !row.iter().all(String::is_empty)));
                let mut later = reference.clone();
                let later: String =
                    lines.filter(|(effect, _)| *effect == 'r').filter_map(|(_, row)| later.effect(row)).collect();
                let mapping = MAPPING.replace(']', ",null]");
                let refused = preview(&world, "b.csv", Some(&mapping), refused.as_bytes());
                prop_assert_eq!(refused.data()["effects"].as_str().unwrap(), later);
            }
        }
    }

    /// Of contacts that each stand in a file once, none changes the second time.
    #[test]
    fn a_second_import_changes_nothing(rows in prop::collection::btree_map("[a-z]{1,3}", row(), 1..24)) {
        let world = World::hosted();
        let rows: Vec<Row> = rows.into_iter().map(|(id, [_, email, name, plan])| {
            let email = if email.contains('@') { email } else { "x@example.com".to_owned() };
            [id, email, name, plan]
        }).collect();
        let all = rows.len() as u64;
        let file = csv(&rows);
        prop_assert_eq!(numbers(&import(&world, "a.csv", Some(MAPPING), &file)), [all, 0, 0, 0]);
        prop_assert_eq!(numbers(preview(&world, "a.csv", Some(MAPPING), &file).data()), [0, 0, all, 0]);
        prop_assert_eq!(numbers(&import(&world, "a.csv", Some(MAPPING), &file)), [0, 0, all, 0]);
    }

    /// Whatever a file holds, it is answered in time, without a failure of the server, and its lines are accounted for.
    #[test]
    fn any_bytes_are_answered(content in prop_oneof![
        prop::collection::vec(any::<u8>(), 1..400),
        "[a,;\"\\r\\n\\x00{}\\[\\]:=é\u{feff} ]{1,200}".prop_map(String::into_bytes),
    ], name in "[a-z]{1,3}(\\.(csv|json|ndjson|xlsx|txt))?", mapping in prop::option::of("[\\[\\]a,\"nul]{0,9}")) {
        let world = World::hosted();
        for mapping in [mapping.as_deref(), Some(r#"["primaryEmail"]"#)] {
            for answer in [
                preview(&world, &name, mapping, &content),
                send(&world, &format!("{PATH}/run"), &[("fileName", &name), ("mapping", mapping.unwrap_or("[null]"))], &content),
            ] {
                prop_assert!(matches!(answer.status, 200 | 400 | 422), "{}", answer.text);
                let data = &answer.body["data"];
                if answer.status == 200 && data["isChecked"] != false {
                    prop_assert_eq!(numbers(data).iter().sum::<u64>(), data["lines"].as_u64().unwrap());
                }
            }
        }
    }
}

#[test]
fn columns_are_guessed_with_samples_before_anything_is_checked() {
    let world = World::hosted();
    let file = "\u{feff}Kundennummer;E-Mail;Schuhgröße;Nachname\r\n1;a@example.com;41;King\r\n2;b@example.com;;King\r\n";
    let answer = preview(&world, "kunden.csv", None, file.as_bytes());
    let data = answer.data();
    assert_eq!((&data["isChecked"], &data["lines"]), (&json!(false), &json!(2)));
    assert_eq!(data["readAs"], "CSV: delimiter ';' (detected), encoding UTF-8 (byte order mark)");
    let columns: Vec<[&Value; 2]> = data["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| [&column["field"], &column["samples"]])
        .collect();
    assert_eq!(
        columns,
        [
            [&json!("externalReferenceId"), &json!(["1", "2"])],
            [&json!("primaryEmail"), &json!(["a@example.com", "b@example.com"])],
            [&Value::Null, &json!(["41"])],
            [&json!("lastName"), &json!(["King"])],
        ]
    );
    assert_eq!(data["columns"][2]["custom"], "customFields.schuhgröße");
}

#[test]
fn an_update_names_its_differences_and_hides_sensitive_ones() {
    let world = World::hosted();
    let definition = json!({ "fields": [{ "name": "lastName", "sensitive": true }] });
    call_as(&world, "owner", "PUT", "/agents/acme/contact-schema", &json!({ "definition": definition }))
        .data();
    import(&world, "a.csv", Some(MAPPING), b"a,b,c,d\n7,a@example.com,Old,gold\n");
    let answer = preview(&world, "a.csv", Some(MAPPING), b"a,b,c,d\n7,a@example.com,New,silver\n8,none,,\n");
    let data = answer.data();
    let updated = &data["updatedLines"][0];
    assert_eq!((&updated["line"], &updated["name"]), (&json!(2), &json!("7 · a@example.com")));
    let change = |field: &str| {
        let changes = updated["changes"].as_array().unwrap();
        changes.iter().find(|change| change["field"] == field).unwrap_or_else(|| panic!("{updated}")).clone()
    };
    let plan = change("customFields.plan");
    assert_eq!(
        (&plan["before"], &plan["after"], &plan["isHidden"]),
        (&json!("gold"), &json!("silver"), &json!(false))
    );
    let name = change("lastName");
    assert_eq!((&name["before"], &name["after"], &name["isHidden"]), (&json!(""), &json!(""), &json!(true)));
    assert!(!answer.text.contains("Old"), "{}", answer.text);
    // A refused line names its number, the field and the column.
    let refused = &data["refusedLines"][0];
    assert_eq!(refused["line"], 3);
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("primaryEmail") && reason.contains("column 'b'"), "{reason}");
    assert_eq!(data["reasons"][0], json!({ "reason": reason, "lines": 1 }));
    assert_eq!(data["refusedRows"].as_str().unwrap().trim_end(), format!("8,none,,,{}", quoted(reason)));
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[test]
fn formulas_come_in_as_text_and_go_out_escaped() {
    let world = World::hosted();
    let file = b"a,b,c,d\n7,a@example.com,'=1+1,=cmd|x\n8,=2+2,-1,@x\n";
    let answer = preview(&world, "a.csv", Some(MAPPING), file);
    let rows = answer.data()["refusedRows"].as_str().unwrap();
    assert!(rows.starts_with("8,'=2+2,'-1,'@x,"), "{rows}");
    import(&world, "a.csv", Some(MAPPING), file);
    let listed = call_as(&world, "owner", "GET", "/agents/acme/contacts", &Value::Null);
    assert_eq!(listed.data()[0]["lastName"], "=1+1");
}

#[test]
fn files_that_cannot_be_read_are_refused_whole_with_the_reason() {
    let world = World::hosted();
    let long = [b"a,b,c,d\n1,a@example.com,".as_slice(), &b"x".repeat(9 << 20)].concat();
    let wide = [&b"x,".repeat(600)[..], b"\n"].concat();
    let many = [b"a,b,c,d\n".as_slice(), &b"1,a@example.com,,\n".repeat(100_001)].concat();
    for (name, content, expected) in [
        (
            "a.csv",
            &b"a,b,c,d\n1,a@example.com,x,\n2,\"b@example.com,x,y\n"[..],
            "line 3: a row begins here with a quotation mark",
        ),
        ("a.csv", b"a,b,c,d\0\0\n", "NUL"),
        ("a.csv", b"\n\n", "the file has no rows"),
        ("a.csv", b"E-Mail\na@example.com\n", "the mapping has 4 fields, and the first row names 1 columns"),
        ("a.csv", &long, "line 2: a row that is too long begins here"),
        ("a.csv", &wide, "more than 500"),
        ("a.csv", &many, "more than 100000 lines"),
        ("a.vcf", b"BEGIN:VCARD\n", "vCard"),
        ("a.csv", b"<html><table>", "HTML"),
        ("a.json", b"[{\"primaryEmail\":\"a@example.com\"}", "no end"),
        ("a.xlsx", b"PK\x03\x04 and no workbook", "not a readable Excel workbook"),
        ("a.csv", b"a,b,c,d\n1,M\x81ller,K\x94ln,\n", "name its encoding with the option encoding"),
    ] {
        for path in [PATH.to_owned(), format!("{PATH}/run")] {
            let answer = send(&world, &path, &[("fileName", name), ("mapping", MAPPING)], content);
            assert_eq!((answer.status, answer.code()), (422, "NOT_POSSIBLE"), "{expected}: {}", answer.text);
            assert!(
                answer.body["message"].as_str().unwrap().contains(expected),
                "{expected}: {}",
                answer.text
            );
        }
    }
    let large = send(&world, PATH, &[("fileName", "a.csv")], &vec![b'a'; (10 << 20) + 1]);
    assert_eq!((large.status, large.code()), (413, "PAYLOAD_TOO_LARGE"), "{}", large.text);
    let empty = preview(&world, "a.csv", None, b"");
    assert_eq!((empty.status, empty.code()), (400, "VALIDATION_ERROR"), "{}", empty.text);
    // Nothing of the lines before the fault was imported.
    let listed = call_as(&world, "owner", "GET", "/agents/acme/contacts", &Value::Null);
    assert_eq!(listed.data(), &json!([]));
    // The file is read when the operator says what it is.
    let query =
        [("fileName", "a.csv"), ("mapping", MAPPING), ("encoding", "windows-1252"), ("delimiter", ",")];
    let file =
        "a,b,c,d\n1,a@example.com,M\u{fc}ller,\n".chars().map(|letter| letter as u8).collect::<Vec<_>>();
    assert_eq!(numbers(send(&world, PATH, &query, &file).data()), [1, 0, 0, 0]);
}

#[test]
fn bad_mappings_are_named_by_their_column() {
    let world = World::hosted();
    for (mapping, expected) in [
        ("{", "JSON array"),
        ("[1]", "JSON array"),
        (r#"["mail"]"#, "column 1: there is no field 'mail' (did you mean primaryEmail?)"),
        (r#"["primaryEmail","primary email"]"#, "has primaryEmail for column 1 and for column 2"),
        ("[null,null]", "must assign a column to a field"),
    ] {
        let answer = preview(&world, "a.csv", Some(mapping), b"a,b\n1,2\n");
        assert_eq!((answer.status, answer.code()), (400, "VALIDATION_ERROR"), "{}", answer.text);
        assert_eq!(answer.body["validationErrors"][0]["field"], "mapping");
        assert!(answer.text.replace('\\', "").contains(expected), "{expected}: {}", answer.text);
    }
    let missing = send(&world, &format!("{PATH}/run"), &[("fileName", "a.csv")], b"a,b\n1,2\n");
    assert_eq!((missing.status, missing.code()), (400, "VALIDATION_ERROR"), "{}", missing.text);
}

#[test]
fn json_needs_no_mapping_and_its_refused_lines_come_back() {
    let world = World::hosted();
    let file = b"{\"primaryEmail\":\"a@example.com\",\"externalReferenceId\":\"1\"}\n\n{\"primaryEmail\":3}\nnonsense\n";
    let checked = preview(&world, "a.ndjson", None, file);
    assert_eq!((numbers(checked.data()), &checked.data()["isChecked"]), ([1, 0, 0, 2], &json!(true)));
    assert_eq!(checked.data()["refusedLines"][1]["line"], 4);
    let rows = checked.data()["refusedRows"].as_str().unwrap();
    assert!(rows.starts_with("\"{\"\"primaryEmail\"\":3}\","), "{rows}");
    assert_eq!(numbers(&import(&world, "a.ndjson", None, file)), [1, 0, 0, 2]);
    let array = b"[{\"primaryEmail\":\"a@example.com\",\"externalReferenceId\":\"1\"}]";
    assert_eq!(numbers(preview(&world, "contacts", None, array).data()), [0, 0, 1, 0]);
}

#[test]
fn a_large_file_is_imported_in_pieces_with_one_entry_in_the_audit_log() {
    let world = World::hosted();
    let mut file = b"Id,E-Mail,Surname,Plan\n".to_vec();
    for n in 0..6_000 {
        file.extend_from_slice(format!("crm-{n},p{n}@example.com,King,gold\n").as_bytes());
    }
    let done = import(&world, "a.csv", Some(MAPPING), &file);
    assert_eq!((numbers(&done), &done["calls"]), ([6_000, 0, 0, 0], &json!(2)));
    // The second import changes nothing, so its entry is the only one after those of the contacts.
    let again = import(&world, "a.csv", Some(MAPPING), &file);
    assert_eq!((numbers(&again), &again["calls"]), ([0, 0, 6_000, 0], &json!(2)));
    let log = call_as(&world, "owner", "GET", "/agents/acme/audit", &Value::Null);
    assert_eq!(log.text.matches("\"contact.import\"").count(), 1, "{}", log.text);
    assert!(log.text.contains("\"lines\":6000"), "{}", log.text);
    // A piece that was sent twice, because its answer was lost, changes nothing.
    let query = [("fileName", "a.csv"), ("mapping", MAPPING), ("after", "5000")];
    assert_eq!(numbers(send(&world, &format!("{PATH}/run"), &query, &file).data()), [0, 0, 1_000, 0]);
    let beyond = [("fileName", "a.csv"), ("mapping", MAPPING), ("after", "18446744073709551615")];
    let beyond = send(&world, &format!("{PATH}/run"), &beyond, &file);
    assert_eq!((&beyond.data()["isComplete"], &beyond.data()["done"]), (&json!(true), &json!(6_000)));
}

/// A value that no two contacts may have: the preview refuses what the run refuses.
#[test]
fn values_that_are_unique_are_refused_within_the_file_and_against_the_store() {
    let world = World::hosted();
    let definition =
        json!({ "customFields": [{ "name": "plan", "label": "Plan", "type": "string", "unique": true }] });
    call_as(&world, "owner", "PUT", "/agents/acme/contact-schema", &json!({ "definition": definition }))
        .data();
    import(&world, "a.csv", Some(MAPPING), b"a,b,c,d\n1,a@example.com,,p-1\n");
    let file = b"a,b,c,d\n2,b@example.com,,p-1\n3,c@example.com,,p-3\n4,d@example.com,,p-3\n1,,,p-5\n";
    let checked = preview(&world, "a.csv", Some(MAPPING), file);
    assert_eq!(checked.data()["effects"], "rcru", "{}", checked.text);
    assert_eq!(import(&world, "a.csv", Some(MAPPING), file)["effects"], "rcru");
}

/// An archived contact takes no changes.
#[test]
fn archived_contacts_are_refused() {
    let world = World::hosted();
    import(&world, "a.csv", Some(MAPPING), b"a,b,c,d\n1,a@example.com,,\n");
    let listed = call_as(&world, "owner", "GET", "/agents/acme/contacts", &Value::Null);
    let id = listed.data()[0]["id"].as_str().unwrap().to_owned();
    call_as(&world, "owner", "POST", &format!("/agents/acme/contacts/{id}/archive"), &json!({})).data();
    let checked = preview(&world, "a.csv", Some(MAPPING), b"a,b,c,d\n1,a@example.com,New,\n");
    assert_eq!(numbers(checked.data()), [0, 0, 0, 1], "{}", checked.text);
    assert!(checked.data()["refusedLines"][0]["reason"].as_str().unwrap().contains("archived"));
}

/// A line is in memory until its piece ends, and a line may be wide.
#[test]
fn a_piece_of_wide_lines_ends_early() {
    let world = World::hosted();
    let names: Vec<String> = (1..500).map(|column| format!("c{column}")).collect();
    let mut text = format!("E-Mail,{}\n", names.join(","));
    let cells = vec!["x".repeat(200); 499].join(",");
    for line in 0..90 {
        text.push_str(&format!("p{line}@example.com,{cells}\n"));
    }
    let mapping = format!("[\"primaryEmail\"{}]", ",null".repeat(499));
    let done = import(&world, "a.csv", Some(&mapping), text.as_bytes());
    assert_eq!((numbers(&done), &done["calls"]), ([90, 0, 0, 0], &json!(2)), "{done}");
}

#[test]
fn blanks_around_an_address_make_no_other_contact() {
    let world = World::hosted();
    let file = b"Id,E-Mail,Surname,Plan\ncrm-1,a@example.com,King,\ncrm-1 ,a@example.com,Queen,\n,b@example.com,King,\n, b@example.com,King,\n";
    let seen = preview(&world, "a.csv", Some(MAPPING), file);
    assert_eq!(numbers(seen.data()), [2, 0, 1, 1], "{}", seen.text);
    assert_eq!(numbers(&import(&world, "a.csv", Some(MAPPING), file)), [2, 0, 1, 1]);
}

#[test]
fn many_contacts_with_one_address_stay_apart() {
    let world = World::hosted();
    let mut text = "Id,E-Mail,Surname,Plan\n".to_owned();
    for line in 0..900 {
        text.push_str(&format!(",info@example.com,Name {},\n", line % 600));
    }
    let seen = preview(&world, "a.csv", Some(MAPPING), text.as_bytes());
    assert_eq!(numbers(seen.data()), [600, 0, 300, 0], "{}", &seen.text[..200]);
    assert_eq!(numbers(&import(&world, "a.csv", Some(MAPPING), text.as_bytes())), [600, 0, 300, 0]);
    assert_eq!(numbers(preview(&world, "a.csv", Some(MAPPING), text.as_bytes()).data()), [0, 0, 900, 0]);
}
