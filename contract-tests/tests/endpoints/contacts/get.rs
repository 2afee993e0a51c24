//! GET of one contact, and how contacts are addressed (contract 4.2, 5.1).

use contract_tests::{Backend, Sandbox, on_every_backend, story};
use serde_json::json;

on_every_backend!(
    the_record,
    the_example_of_an_absent_contact,
    platform_ids,
    other_agents,
    queries,
    bodies_are_ignored,
    the_configured_id_segment,
);

fn the_record(backend: Backend) {
    let cx = story::sandbox(backend);
    let id = cx.create(&story::new_contact()).id();
    let expected =
        json!({ "success": true, "message": "Contact retrieved successfully", "data": story::contact() });
    for path in
        ["/contacts/crm-1001/chatbots/<A>".to_owned(), format!("/contacts/platformid/{id}/chatbots/<A>")]
    {
        assert_eq!(story::mapped(&cx.get(&path).expect(200).text, &id), expected.to_string());
    }
}

/// Contract 6.4, literally.
fn the_example_of_an_absent_contact(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    let reply = cx
        .call("GET", "/contacts/platformid/crm-1001/chatbots/<A>")
        .header("x-request-id", story::REQUEST_ID)
        .send();
    let expected = json!({ "success": false, "message": "Contact not found; platform ids are 24 hexadecimal characters", "code": "CONTACT_NOT_FOUND", "requestId": "019c13a3-6137-710c-9fa1-91a5ee824f39", "details": { "resource": "contact", "id": "crm-1001" } });
    assert_eq!(reply.fails(404, "CONTACT_NOT_FOUND").text, expected.to_string());
}

fn platform_ids(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    assert_eq!(cx.read(&id.to_uppercase()).id(), id);
    for bad in [
        "x",
        &id[..23],
        &format!("{id}0"),
        &format!("{}g", &id[..23]),
        "%20",
        "0x7dc8165d4ffa83cfc35cfc",
        "..",
        &format!("%20{id}"),
    ] {
        let reply =
            cx.get(&format!("/contacts/platformid/{bad}/chatbots/<A>")).fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["message"], "Contact not found; platform ids are 24 hexadecimal characters");
    }
    let reply = cx.get("/contacts/platformid/%20%2F%C3%A9/chatbots/<A>").fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["details"]["id"], " /é", "as sent, percent-decoded");
    let unknown = "0".repeat(24);
    let reply =
        cx.get(&format!("/contacts/platformid/{unknown}/chatbots/<A>")).fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["message"], "Contact not found");
    let reply =
        cx.get("/contacts/platformid/ABCDEFABCDEFABCDEFABCDEF/chatbots/<A>").fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(reply.json["details"]["id"], "ABCDEFABCDEFABCDEFABCDEF");
}

fn other_agents(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let other = cx.new_agent("other");
    let key = cx.issue(|key| key.agent_id = other.clone());
    for path in
        ["/contacts/crm-1001/chatbots/other".to_owned(), format!("/contacts/platformid/{id}/chatbots/other")]
    {
        let reply = cx.call("GET", &path).with(&key).send().fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["message"], "Contact not found");
    }
    for agent in ["other", "nobody", "OTHER", "%20", "695B6F80DE7378C4412112D3", "a%2Fb", &"x".repeat(200)] {
        let reply = cx.get(&format!("/contacts/crm-1001/chatbots/{agent}")).fails(403, "AGENT_FORBIDDEN");
        assert_eq!(reply.json["message"], "The API key does not belong to this agent");
    }
    let encoded: String = cx.agent.as_str().bytes().map(|byte| format!("%{byte:02x}")).collect();
    let _ = cx.get(&format!("/contacts/crm-1001/chatbots/{encoded}")).expect(200);
}

fn queries(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    let _ = cx.get("/contacts/crm-1001/chatbots/<A>?_=1").expect(200);
    let _ = cx.get("/contacts/crm-1001/chatbots/<A>?").expect(200);
    let reply = cx.get("/contacts/crm-1001/chatbots/<A>?include=all&fields");
    let _ = reply.invalid(&[("include", "unknown"), ("fields", "unknown")]);
    // An absent contact is reported before an invalid query.
    let _ = cx.get("/contacts/none/chatbots/<A>?include=all").fails(404, "CONTACT_NOT_FOUND");
}

fn bodies_are_ignored(backend: Backend) {
    let cx = Sandbox::new(backend);
    let _ = cx.create(&story::new_contact());
    for path in [
        "/contacts/crm-1001/chatbots/<A>",
        "/contacts/chatbots/<A>",
        "/contacts/schema/chatbots/<A>",
        "/health",
    ] {
        let call = cx.call("GET", path).bytes(&[0xff; 2_000_000]);
        let _ =
            call.header("content-type", "text/html").header("content-encoding", "gzip").send().expect(200);
    }
}

fn the_configured_id_segment(backend: Backend) {
    let cx = Sandbox::with_settings(backend, |settings| {
        settings.service_info = settings.service_info.clone().with_id_segment("acme-id").expect("a segment");
    });
    let id = cx.create(&story::new_contact()).id();
    let path = format!("/contacts/acme-id/{id}/chatbots/<A>");
    assert_eq!(cx.get(&path).expect(200).id(), id);
    let _ = cx.put(&path, &json!({ "firstName": "A" })).expect(200);
    let _ = cx.patch(&format!("{path}/archive")).expect(200);
    let _ = cx.patch(&format!("{path}/unarchive")).expect(200);
    let _ = cx.get(&format!("/contacts/platformid/{id}/chatbots/<A>")).fails(404, "ROUTE_NOT_FOUND");
    let document = cx.at("GET", "/openapi.json").anonymous().send().expect(200);
    assert!(
        document.text.contains("/contacts/acme-id/{contactId}/") && !document.text.contains("/platformid/")
    );
}
