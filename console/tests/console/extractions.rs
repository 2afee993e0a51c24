//! Extractions that run in the background.

use serde_json::{Value, json};

use super::corrections::extracted;
use super::support::{World, call_as};

#[test]
fn a_reviewer_sees_an_extraction_with_its_result_and_its_correction() {
    let world = World::hosted();
    let id = extracted(&world);
    let read = |path: &str| call_as(&world, "reviewer@acme", "GET", path, &Value::Null);
    let listed = read("/agents/acme/extractions?status=succeeded&limit=1");
    assert_eq!(listed.body["pagination"]["totalItems"], 1, "{}", listed.text);
    assert_eq!((&listed.data()[0]["id"], &listed.data()[0]["result"]), (&json!(id), &Value::Null));
    assert_eq!(read("/agents/acme/extractions?status=failed").data(), &json!([]));
    assert_eq!(read("/agents/acme/extractions?batchId=may").data(), &json!([]));
    for (query, field) in [("status=done", "status"), ("cursor=x", "cursor"), ("limit=0", "limit")] {
        let refused = read(&format!("/agents/acme/extractions?{query}"));
        assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{}", refused.text);
        assert_eq!(refused.body["validationErrors"][0]["field"], field, "{}", refused.text);
    }

    let path = format!("/agents/acme/extractions/{id}");
    let shown = read(&path).data().clone();
    assert_eq!(shown["extraction"]["result"]["data"], json!({ "total": 7, "vendor": "Acme" }));
    assert_eq!(shown["schema"]["total"], json!({ "type": "number" }));
    assert_eq!((&shown["by"]["id"], &shown["correction"]), (&json!("test"), &Value::Null), "{shown}");
    let values = json!({ "values": { "total": 8 } });
    let _ =
        call_as(&world, "reviewer@acme", "PUT", &format!("/agents/acme/corrections/{id}"), &values).data();
    assert_eq!(read(&path).data()["correction"]["expected"], json!({ "total": 8, "vendor": "Acme" }));
}

#[test]
fn extractions_belong_to_their_agent_and_need_the_capability() {
    let world = World::hosted();
    let id = extracted(&world);
    let own = format!("/agents/acme/extractions/{id}");
    let others = format!("/agents/beta/extractions/{id}");
    for (method, more) in [("GET", ""), ("POST", "/cancel"), ("POST", "/retry")] {
        let refused = call_as(&world, "reviewer@beta", method, &format!("{others}{more}"), &json!({}));
        assert_eq!((refused.status, refused.code()), (404, "JOB_NOT_FOUND"), "{}", refused.text);
        let refused = call_as(&world, "inbox@acme", method, &format!("{own}{more}"), &json!({}));
        assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_ROLE"), "{}", refused.text);
    }
    let listed = call_as(&world, "reviewer@beta", "GET", "/agents/beta/extractions", &Value::Null);
    assert_eq!(listed.data(), &json!([]));
    // What has ended cannot be cancelled, and what has not failed is not queued again.
    for more in ["cancel", "retry"] {
        let refused = call_as(&world, "reviewer@acme", "POST", &format!("{own}/{more}"), &json!({}));
        assert_eq!((refused.status, refused.code()), (409, "JOB_FINISHED"), "{}", refused.text);
    }
    // A developer runs documents, and reads nothing of them.
    let refused = call_as(&world, "developer@acme", "GET", &own, &Value::Null);
    assert_eq!((refused.status, refused.code()), (403, "INSUFFICIENT_ROLE"), "{}", refused.text);
}
