//! Names and ids in the paths of forms (contract 5.1, 5.2, 16).

use contract_tests::{Backend, on_every_backend};
use serde_json::json;

use crate::support::{NOTHING, contact, get, note, one, read, sandbox, send, submit, to};

on_every_backend!(external_ids_of_any_form, digits_in_upper_case, ids_of_another_shape);

/// A contact's external id is percent-encoded in its segment, whatever it contains.
fn external_ids_of_any_form(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    for (id, segment) in [
        ("crm 2/é", "crm%202%2F%C3%A9"),
        ("a+b", "a+b"),
        ("templates", "templates"),
        ("submit", "submit"),
        ("latest", "latest"),
        ("50%", "50%25"),
        (NOTHING, NOTHING),
    ] {
        let _ = contact(&cx, id);
        let body = json!({ "formData": { "text": "x" } });
        let reply =
            send(&cx, "POST", &format!("/forms/submit/{template}/contacts/{segment}"), &body).expect(201);
        assert_eq!(reply.data()["externalReferenceId"], id);
        let element = json!({ "templateId": template, "formData": { "text": "y" } });
        let path = format!("/forms/batch/contacts/{segment}/chatbots/<A>");
        let batch = send(&cx, "POST", &path, &json!({ "submissions": [element] })).expect(201);
        assert_eq!(batch.data()["results"][0]["submission"]["supersedes"], json!(reply.id()));
        let list = get(&cx, &format!("/forms/contacts/{segment}/chatbots/<A>/")).expect(200);
        assert_eq!(list.column("externalReferenceId"), [id]);
        let path = format!("/forms/contacts/{segment}/templates/{template}/latest/chatbots/<A>");
        assert_eq!(get(&cx, &path).expect(200).data()["supersedes"], json!(reply.id()));
    }
    for segment in ["no%2Fbody", "no%25body"] {
        let decoded = segment.replace("%2F", "/").replace("%25", "%");
        let reply =
            get(&cx, &format!("/forms/contacts/{segment}/chatbots/<A>")).fails(404, "CONTACT_NOT_FOUND");
        assert_eq!(reply.json["details"], json!({ "resource": "contact", "id": decoded }));
    }
}

fn digits_in_upper_case(backend: Backend) {
    let cx = sandbox(backend);
    let template = cx.template(&note());
    let id = submit(&cx, &template, &json!({ "text": "x" })).id();
    let upper = id.to_uppercase();
    assert_ne!(upper, id);
    assert_eq!(read(&cx, &upper).id(), id);
    assert_eq!(to(&cx, &upper, "approved").id(), id);
    for document in ["schema", "structure"] {
        let path = format!("/forms/templates/{}/{document}/chatbots/<A>", template.to_uppercase());
        assert_eq!(get(&cx, &path).expect(200).data()["templateId"], json!(template));
    }
    let path = format!("/forms/submit/{}/contacts/crm-1001", template.to_uppercase());
    let reply = send(&cx, "POST", &path, &json!({ "formData": { "text": "x" } })).expect(201);
    assert_eq!(reply.data()["templateId"], json!(template));
    let reply = get(&cx, &one("697D00000000000000000000")).fails(404, "SUBMISSION_NOT_FOUND");
    assert_eq!(reply.json["details"]["id"], "697D00000000000000000000", "as sent");
}

fn ids_of_another_shape(backend: Backend) {
    let cx = sandbox(backend);
    for id in ["x", "697d", "697d0000000000000000000g", "697d000000000000000000000", "%20"] {
        let reply = get(&cx, &one(id)).fails(404, "SUBMISSION_NOT_FOUND");
        assert_eq!(reply.json["message"], "Submission not found; platform ids are 24 hexadecimal characters");
        assert_eq!(reply.json["details"]["id"], id.replace("%20", " "));
    }
    let reply = get(&cx, &one(NOTHING)).fails(404, "SUBMISSION_NOT_FOUND");
    assert_eq!(reply.json["message"], "Submission not found");
}
