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

pub(super) fn extraction(dice: &mut SplitMix64) -> Request {
    if dice.one_in(8) {
        return request("GET", "/document-extraction/schema-examples".to_owned());
    }
    let mut form = Form::new();
    if !dice.one_in(20) {
        let name = dice.pick(&["a.txt", "b.TXT", "é.pdf", "x"]);
        let content: &[u8] = if dice.one_in(12) { b"\xff\xfe" } else { dice.pick(&DOCUMENTS).as_bytes() };
        form = form.document(name, content);
    }
    if !dice.one_in(20) {
        form = form.text("schema", dice.pick(&SCHEMAS));
    }
    if dice.one_in(3) {
        form = form.text("saveToStorage", dice.pick(&["true", "false", "maybe"]));
    }
    if dice.one_in(4) {
        form = form.text("customInstructions", dice.pick(&["Be exact", "", "Sei genau, é"]));
    }
    if dice.one_in(20) {
        form = form.text("other", "x");
    }
    let mut extract = request("POST", "/document-extraction/extract".to_owned());
    extract.headers.push(("content-type", form.content_type()));
    extract.body = Some(form.octets());
    extract
}
