//! Random requests for document extraction, for the extractor [`Script`](crate::Script).

use super::{Request, request};
use crate::{Form, SplitMix64};

const DOCUMENTS: [&str; 14] = [
    "total: 12",
    "total: 12",
    "total: 7\nname: Zoë",
    "name: Ann\npages=3",
    "pages=40",
    "",
    "encrypted",
    "damaged",
    "no-engine",
    "many-pages",
    "many-characters",
    "total: 1\nbad-answer",
    "busy",
    "slow",
];

const SCHEMAS: [&str; 9] = [
    r#"{"total":{"type":"string"}}"#,
    r#"{"total":{"type":"string"}}"#,
    r#"{"total":{"type":"number","required":true},"name":{"type":"string","description":"Who"}}"#,
    r#"{"name":{"type":"string","required":true}}"#,
    r#"{"list":{"type":"array","items":{"type":"string"}}}"#,
    "{}",
    "[]",
    "{",
    r#"{"total":{"type":"money"}}"#,
];

pub(super) fn extraction(random: &mut SplitMix64) -> Request {
    if random.one_in(8) {
        return request("GET", "/document-extraction/schema-examples".to_owned());
    }
    let mut form = Form::new();
    if !random.one_in(20) {
        let name = random.pick(&["a.txt", "b.TXT", "é.pdf", "x"]);
        let content: &[u8] = if random.one_in(12) { b"\xff\xfe" } else { random.pick(&DOCUMENTS).as_bytes() };
        form = form.document(name, content);
    }
    if !random.one_in(20) {
        form = form.text("schema", random.pick(&SCHEMAS));
    }
    if random.one_in(3) {
        form = form.text("saveToStorage", random.pick(&["true", "false", "maybe"]));
    }
    if random.one_in(4) {
        form = form.text("customInstructions", random.pick(&["Be exact", "", "Sei genau, é"]));
    }
    if random.one_in(20) {
        form = form.text("other", "x");
    }
    let mut extract = request("POST", "/document-extraction/extract".to_owned());
    extract.headers.push(("content-type", form.content_type()));
    extract.body = Some(form.bytes());
    extract
}
