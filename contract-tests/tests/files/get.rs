//! GET /files/chatbots/<A>/<cid>/files/<fid> (contract 4.3, 5.1, 5.4).

use contract_tests::{Backend, on_every_backend};
use serde_json::{Value, json};

use crate::support::{contact, file_path, read, sandbox, upload};

on_every_backend!(
    the_record,
    tags,
    files_of_other_contacts,
    malformed_ids,
    upper_case_digits,
    queries,
    who_may
);

fn the_record(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let uploaded = upload(&cx, &contact, "a.txt", b"text");
    cx.advance(5_000);
    let reply = read(&cx, &contact, &uploaded.id()).expect(200);
    assert_eq!(reply.json["message"], "File retrieved successfully");
    assert_eq!(reply.data(), uploaded.data());
    assert_eq!(reply.header("etag"), uploaded.header("etag"));
    assert_eq!(reply.header("cache-control"), Some("private, no-cache"));
    let head = cx.call("HEAD", &file_path(&contact, &uploaded.id())).send().expect(200);
    assert_eq!(head.header("etag"), reply.header("etag"));
    // A change of the contact does not affect its files.
    let _ = cx.update(&contact, &json!({ "firstName": "New" }));
    assert_eq!(read(&cx, &contact, &uploaded.id()).text, reply.text);
    let _ = cx.patch(&format!("/contacts/platformid/{contact}/chatbots/<A>/archive")).expect(200);
    assert_eq!(read(&cx, &contact, &uploaded.id()).expect(200).text, reply.text);
}

fn tags(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let uploaded = upload(&cx, &contact, "a.txt", b"text");
    let tag = uploaded.header("etag").expect("a tag").to_owned();
    let other = upload(&cx, &contact, "a.txt", b"text").header("etag").expect("a tag").to_owned();
    let get =
        |tag: &str| cx.call("GET", &file_path(&contact, &uploaded.id())).header("if-none-match", tag).send();
    for same in
        [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), format!("{other},{tag}"), "*".to_owned()]
    {
        let reply = get(&same).expect(304);
        assert_eq!((reply.header("etag"), reply.text.as_str()), (Some(tag.as_str()), ""), "{same}");
    }
    for another in [other.as_str(), "\"x\"", "W/\"x\""] {
        let _ = get(another).expect(200);
    }
    // Validation comes before 304.
    let call = cx.call("GET", &format!("{}?x=1", file_path(&contact, &uploaded.id())));
    let _ = call.header("if-none-match", &tag).send().invalid(&[("x", "unknown")]);
}

fn files_of_other_contacts(backend: Backend) {
    let (cx, first) = sandbox(backend);
    let second = contact(&cx);
    let id = upload(&cx, &first, "a.txt", b"text").id();
    for (method, suffix) in [("GET", ""), ("GET", "/signed-url"), ("DELETE", "")] {
        let path = format!("{}{suffix}", file_path(&second, &id));
        let reply = cx.call(method, &path).send().fails(404, "FILE_NOT_FOUND");
        assert_eq!(reply.json["details"], json!({ "resource": "file", "id": id }));
        let path = format!("{}{suffix}", file_path("697dc8165d4ffa83cfc35c00", &id));
        let reply = cx.call(method, &path).send().fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": "697dc8165d4ffa83cfc35c00" }));
    }
    let _ = read(&cx, &first, &id).expect(200);
}

fn malformed_ids(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let hint = "platform ids are 24 hexadecimal characters";
    for (method, suffix) in [("GET", ""), ("GET", "/signed-url"), ("DELETE", "")] {
        for (id, sent, hinted) in [
            ("697dc94b74a1f572c54b7800", "697dc94b74a1f572c54b7800", false),
            ("697dc94b74a1f572c54b780", "697dc94b74a1f572c54b780", true),
            ("697dc94b74a1f572c54b78000", "697dc94b74a1f572c54b78000", true),
            ("697dc94b74a1f572c54b780g", "697dc94b74a1f572c54b780g", true),
            ("referral.pdf", "referral.pdf", true),
            ("%2E%2E%2Fa", "../a", true),
            ("a%20b", "a b", true),
            ("a+b", "a+b", true),
            ("%C3%BC", "\u{fc}", true),
        ] {
            let reply = cx.call(method, &format!("{}{suffix}", file_path(&contact, id))).send();
            let reply = reply.fails(404, "FILE_NOT_FOUND");
            assert_eq!(reply.json["details"], json!({ "resource": "file", "id": sent }));
            assert_eq!(
                reply.json["message"].as_str().is_some_and(|text| text.contains(hint)),
                hinted,
                "{id}"
            );
        }
        let external = cx.create(
            &json!({ "primaryEmail": "a@b.co", "externalReferenceId": format!("crm{method}{suffix}") }),
        );
        let external = external.data()["externalReferenceId"].as_str().expect("an id").replace('/', "%2F");
        let path = format!("{}{suffix}", file_path(&external, "697dc94b74a1f572c54b7800"));
        let reply = cx.call(method, &path).send().fails(404, "CONTACT_NOT_FOUND");
        assert!(reply.json["message"].as_str().is_some_and(|text| text.contains(hint)));
    }
}

fn upper_case_digits(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let reply = read(&cx, &contact.to_uppercase(), &id.to_uppercase()).expect(200);
    assert_eq!((&reply.data()["id"], &reply.data()["contactId"]), (&json!(id), &json!(contact)));
    let path = file_path(&contact.to_uppercase(), &id.to_uppercase());
    let url = cx.get(&format!("{path}/signed-url")).expect(200).data()["url"].clone();
    assert!(url.as_str().is_some_and(|url| url.contains(&id)), "{url}");
    assert_eq!(cx.call("DELETE", &path).send().expect(200).data()["id"], json!(id));
}

fn queries(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let path = file_path(&contact, &id);
    let _ = cx.get(&format!("{path}?_x=1&_x=2")).expect(200);
    let reply = cx.get(&format!("{path}?x=1&y=2")).invalid(&[("x", "unknown"), ("y", "unknown")]);
    assert_eq!((&reply.violation(0)["in"], &reply.violation(0)["value"]), (&json!("query"), &json!("1")));
    // 404 comes before validation.
    let _ = cx.get(&format!("{}?x=1", file_path(&contact, "x"))).fails(404, "FILE_NOT_FOUND");
    assert_eq!(cx.get(&path).json.get("pagination"), None::<&Value>);
}

fn who_may(backend: Backend) {
    let (cx, contact) = sandbox(backend);
    let id = upload(&cx, &contact, "a.txt", b"text").id();
    let writer = cx.key_that_may("contacts:create,update,delete");
    for suffix in ["", "/signed-url"] {
        let call = cx.call("GET", &format!("{}{suffix}", file_path(&contact, &id)));
        let reply = call.clone().with(&writer).send().fails(403, "INSUFFICIENT_PERMISSIONS");
        assert_eq!(reply.json["details"], json!({ "required": "contacts:read" }));
        let _ = call.with(&cx.key_that_may("contacts:read")).send().expect(200);
    }
    let other = cx.new_agent("other");
    let foreign = cx.issue(|key| key.agent_id = other);
    let own_path = file_path(&contact, &id);
    let _ = cx.call("GET", &own_path).with(&foreign).send().fails(403, "AGENT_FORBIDDEN");
    // With the caller's own agent in the path, neither contact nor file exists.
    let path = own_path.replace("<A>", "other");
    let _ = cx.call("GET", &path).with(&foreign).send().fails(404, "CONTACT_NOT_FOUND");
}
