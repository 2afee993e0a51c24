//! Random requests for document extraction, for the extractor [`Script`](crate::Script).

use super::{Known, Request, request};
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

pub(super) fn extraction(random: &mut SplitMix64, known: &Known) -> Request {
    if random.one_in(8) {
        return request("GET", "/document-extraction/schema-examples".to_owned());
    }
    if random.one_in(3) {
        return jobs(random, known);
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
    let mut path = "/document-extraction/extract";
    if random.one_in(3) {
        path = "/document-extraction/jobs";
        if random.one_in(2) {
            path = "/document-extraction/batches";
            for _ in 0..random.below(3) {
                form = form.document("more.txt", random.pick(&DOCUMENTS).as_bytes());
            }
            if random.one_in(8) {
                form = form.text("files", random.pick(&["[]", "{", r#"[{"contactId":"1"}]"#]));
            }
        }
        if random.one_in(2) {
            form = form.text("batchId", random.pick(&["may", "june", ""]));
        }
        if random.one_in(2) {
            form = form.text("clientId", random.pick(&["c-1", "C-1", "c-2"]));
        }
        if random.one_in(8) {
            form = form.text("notify", random.pick(&["", "697d00000000000000000000", "697d"]));
        }
    }
    let mut extract = request("POST", path.to_owned());
    extract.headers.push(("content-type", form.content_type()));
    extract.body = Some(form.bytes());
    extract
}

/// A request about queued extractions, which no runner begins.
fn jobs(random: &mut SplitMix64, known: &Known) -> Request {
    let unknown = "697d00000000000000000000".to_owned();
    let id = if known.jobs.is_empty() || random.one_in(6) { unknown } else { random.pick(&known.jobs) };
    let one = format!("/document-extraction/jobs/{id}");
    match random.below(6) {
        0 => request("PATCH", format!("{one}/cancel")),
        1 if random.one_in(2) => request("DELETE", one),
        1 | 2 => request("GET", one),
        3 => {
            request("GET", format!("/document-extraction/batches/{}", random.pick(&["may", "june", "july"])))
        }
        _ => {
            let mut query = vec![format!("limit={}", random.below(3) + 1)];
            for part in ["status=queued", "status=cancelled", "batchId=may", "clientId=c-1", "page=2"] {
                if random.one_in(4) {
                    query.push(part.to_owned());
                }
            }
            request("GET", format!("/document-extraction/jobs?{}", query.join("&")))
        }
    }
}
