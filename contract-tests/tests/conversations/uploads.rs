//! Visitor uploads: accepted types, senders, and expiry.

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;
use openapi_core::admin::Admin;
use openapi_core::api::PeerAddress;
use openapi_core::values::FileId;
use pollster::block_on;
use serde_json::{Value, json};

use crate::support::*;

const DAY_MILLIS: i64 = 86_400_000;
pub const PDF: &[u8] = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";

/// A form with these parts, the file last.
pub fn form(parts: &[(&str, &str)], name: &str, content: &[u8]) -> Request<Full<Bytes>> {
    let mut body = Vec::new();
    for (part, text) in parts {
        let head = format!("--x\r\nContent-Disposition: form-data; name=\"{part}\"\r\n\r\n{text}\r\n");
        body.extend_from_slice(head.as_bytes());
    }
    let head = format!(
        "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(content);
    body.extend_from_slice(b"\r\n--x--\r\n");
    Request::post("/widget/v1/uploads")
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=x")
        .header(header::ORIGIN, PAGE)
        .extension(PeerAddress([192, 0, 2, 7].into()))
        .body(Full::new(Bytes::from(body)))
        .expect("a request")
}

impl World {
    pub fn upload(&self, parts: &[(&str, &str)], name: &str, content: &[u8]) -> Answered {
        block_on(read(block_on(self.api.handle(form(parts, name, content)))))
    }

    fn send_along(&self, number: u32, token: &str, uploads: &[&str]) -> Answered {
        let mut body = turn(number, "", Some(token));
        body["uploads"] = json!(uploads);
        self.post("/turns", &body)
    }

    /// The content of a file, if it exists.
    pub fn content(&self, id: &str) -> Option<Vec<u8>> {
        let id: FileId = id.parse().expect("an id");
        block_on(self.platform.document(&agent(), id)).ok().map(|(_, content)| content)
    }

    fn maintain(&self) {
        block_on(self.platform.maintain()).expect("maintenance");
    }
}

pub fn with_uploads() -> World {
    let world = boundless();
    world.configure(json!({ "chat": { "responder": "script" }, "uploads": { "enabled": true } }));
    world
}

pub fn id(answered: &Answered) -> String {
    assert_eq!(answered.status, 201, "{}", answered.text);
    answered.json()["data"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_file_is_sent_with_a_message_and_deleted_with_its_conversation() {
    let world = with_uploads();
    let sent = world.upload(&[("agentId", AGENT)], "../letter.pdf", PDF);
    let data = sent.json()["data"].clone();
    let upload = id(&sent);
    assert_eq!(
        (&data["name"], &data["size"], &data["type"]),
        (&json!("letter.pdf"), &json!(PDF.len()), &json!("application/pdf"))
    );
    let token = sent.token();
    let answered = world.send_along(1, &token, &[&upload]);
    assert_eq!(answered.event("ack")["seq"], 1);
    assert_eq!(answered.session()["conversation"], data["session"]["conversation"]);
    let shown = json!([{ "id": upload, "name": "letter.pdf", "size": PDF.len(), "type": "application/pdf" }]);
    let state = world.post("/sync", &json!({ "token": token, "after": 0 })).json()["data"].clone();
    assert_eq!(state["messages"][0]["uploads"], shown);
    // A file without a message is acknowledged; the next question tells the responder of it.
    assert_eq!(
        state["messages"][1]["text"],
        "Thank you, your file has arrived. What would you like to know?"
    );
    assert!(world.script.asked.lock().expect("the turns").is_empty(), "nothing is searched");
    world.turn(2, "Can you read it?", Some(&token));
    assert_eq!(world.script.asked.lock().expect("the turns")[0].history[0].text, "[letter.pdf]");
    // Only the operator can read it, and it belongs to no contact.
    assert_eq!(world.content(&upload).as_deref(), Some(PDF));
    for days in [2, 100] {
        world.clock.advance_millis(days * DAY_MILLIS);
        world.maintain();
        assert_eq!(world.content(&upload).as_deref(), Some(PDF), "after {days} days");
    }
    let erased = world.conversation(&answered).id;
    block_on(world.chat.erase_conversation(&operator(), &agent(), erased)).expect("erased");
    assert_eq!(world.content(&upload), None);
    world.maintain();
    let swept = block_on(world.platform.sweep_orphans(0)).expect("swept");
    assert_eq!(swept, 0, "the content went with the record");
}

#[test]
fn unsent_files_expire_after_half_an_hour() {
    let world = with_uploads();
    let sent = world.upload(&[("agentId", AGENT)], "letter.pdf", PDF);
    let (upload, token) = (id(&sent), sent.token());
    world.clock.advance_millis(30 * 60_000 - 90_000);
    world.maintain();
    assert_eq!(world.content(&upload).as_deref(), Some(PDF));
    // A file that is about to expire is rejected, because its deletion may have begun.
    world.clock.advance_millis(60_000);
    assert_eq!(world.send_along(1, &token, &[&upload]).code(), "VALIDATION_ERROR");
    world.clock.advance_millis(30_000);
    world.maintain();
    assert_eq!(world.content(&upload), None);
    let refused = world.send_along(2, &token, &[&upload]);
    assert_eq!(refused.code(), "VALIDATION_ERROR");
    assert_eq!(refused.json()["validationErrors"][0]["field"], "uploads", "{}", refused.text);
    assert_eq!(world.messages_of(&sent), 0, "a rejected turn stores nothing");
}

#[test]
fn an_unsent_file_moves_to_the_next_conversation() {
    let world = with_uploads();
    let first = world.turn(1, "One", None);
    let sent = world.upload(&[("token", &first.token())], "letter.pdf", PDF);
    let upload = id(&sent);
    assert_eq!(world.post("/close", &json!({ "token": sent.token() })).status, 204);
    let next = world.send_along(2, &sent.token(), &[&upload]);
    assert_ne!(next.session()["conversation"], first.session()["conversation"]);
    assert!(world.conversation(&first).uploads.is_empty());
    let before = world.conversation(&first).id;
    block_on(world.chat.erase_conversation(&operator(), &agent(), before)).expect("erased");
    world.maintain();
    assert_eq!(world.content(&upload).as_deref(), Some(PDF));
}

#[test]
fn another_visitors_files_are_rejected() {
    let world = with_uploads();
    let upload = id(&world.upload(&[("agentId", AGENT)], "letter.pdf", PDF));
    let other = world.turn(1, "One", None);
    assert_eq!(world.send_along(2, &other.token(), &[&upload]).code(), "VALIDATION_ERROR");
    assert_eq!(world.messages_of(&other), 2);
}

#[test]
fn files_of_other_types_are_rejected() {
    let world = with_uploads();
    let first = world.turn(1, "One", None);
    let token = first.token();
    let own: &[(&str, &str)] = &[("token", &token)];
    let large = vec![b'a'; 10 * 1024 * 1024 + 1];
    let refused: [(&str, &[u8], u16, &str); 5] = [
        ("letter.pdf", b"<html><script>", 415, "UNSUPPORTED_FILE_TYPE"),
        ("notes.txt", b"text", 415, "UNSUPPORTED_FILE_TYPE"),
        ("letter.pdf", b"MZ\x90\0\x03\0\0\0", 415, "UNSUPPORTED_FILE_TYPE"),
        ("letter.pdf", b"", 400, "VALIDATION_ERROR"),
        ("letter.pdf", &large, 413, "FILE_TOO_LARGE"),
    ];
    for (name, content, status, code) in refused {
        let answered = world.upload(own, name, content);
        assert_eq!((answered.status, answered.code().as_str()), (status, code), "{}", answered.text);
    }
    assert_eq!(world.upload(&[], "letter.pdf", PDF).code(), "AGENT_NOT_AVAILABLE");
    assert_eq!(world.upload(&[("token", "vt1.x.y")], "letter.pdf", PDF).code(), "TOKEN_INVALID");
    assert_eq!(world.upload(&[("token", &"x".repeat(3_000))], "letter.pdf", PDF).code(), "BAD_REQUEST");
    let beyond = "x".repeat(80 * 1024);
    assert_eq!(world.upload(&[("token", &token), ("more", &beyond)], "a.pdf", PDF).code(), "FILE_TOO_LARGE");
    assert_eq!(world.post("/uploads", &json!({ "token": token })).code(), "UNSUPPORTED_MEDIA_TYPE");
    assert!(world.conversation(&first).uploads.is_empty());
    world.configure(json!({ "chat": { "responder": "script" } }));
    assert_eq!(world.upload(own, "letter.pdf", PDF).code(), "UPLOADS_DISABLED");
}

#[test]
fn twenty_files_a_day_and_five_with_a_message() {
    let world = with_uploads();
    let sent: Vec<Answered> =
        std::iter::once(world.upload(&[("agentId", AGENT)], "letter.pdf", PDF)).collect();
    let token = sent[0].token();
    let mut uploads = vec![id(&sent[0])];
    for _ in 1..20 {
        uploads.push(id(&world.upload(&[("token", &token)], "letter.pdf", PDF)));
    }
    let refused = world.upload(&[("token", &token)], "letter.pdf", PDF);
    assert_eq!((refused.status, refused.code().as_str()), (429, "RATE_LIMIT_EXCEEDED"));
    let details: Value = refused.json()["details"].clone();
    assert_eq!((&details["scope"], &details["limit"]), (&json!("visitor"), &json!(20)));
    let six: Vec<&str> = uploads[..6].iter().map(String::as_str).collect();
    assert_eq!(world.send_along(1, &token, &six).code(), "VALIDATION_ERROR");
    assert_eq!(world.send_along(2, &token, &six[..5]).event("ack")["seq"], 1);
    // Unsent files expire; files of the message stay.
    world.clock.advance_millis(DAY_MILLIS);
    world.maintain();
    let there = uploads.iter().filter(|upload| world.content(upload).is_some()).count();
    assert_eq!(there, 5);
    assert_eq!(world.upload(&[("token", &token)], "letter.pdf", PDF).status, 201);
}

#[test]
fn blocked_contacts_cannot_send_files() {
    let world = with_uploads();
    let token = crate::leads::verified(&world, 1, None, "crm-1001", "zoe@example.com").token();
    id(&world.upload(&[("token", &token)], "letter.pdf", PDF));
    let block =
        json!({ "primaryEmail": "zoe@example.com", "externalReferenceId": "crm-1001", "status": "blocked" });
    block_on(world.platform.import_contact(&operator(), &agent(), &object(&block))).expect("a contact");
    let blocked = world.upload(&[("token", &token)], "letter.pdf", PDF);
    assert_eq!((blocked.status, blocked.code().as_str()), (403, "VISITOR_BLOCKED"));
}
