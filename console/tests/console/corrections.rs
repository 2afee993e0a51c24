//! Corrections of extractions.

use openapi_core::extraction::{DocumentFacts, JobBody};
use openapi_core::json::RawObject;
use openapi_core::platform::NewDocument;
use openapi_core::storage::{Job, JobChange, JobState, JobsWrite, Queue};
use openapi_core::values::{FileId, JobId};
use serde_json::{Value, json};

use super::support::{Answer, World, by, call_as};

/// Stores an extraction of `acme` that has ended, with its document; the id of the job.
pub fn extracted(world: &World) -> String {
    let (agent, now) = (world.agent(), world.platform.now());
    let (id, file) = (JobId::from_bytes([3; 12]), FileId::from_bytes([3; 12]));
    let sha256 = "0f".repeat(32);
    let body = JobBody {
        document: DocumentFacts {
            file_name: "a.txt".to_owned(),
            content_type: "text/plain".to_owned(),
            file_size: 8,
            sha256: sha256.clone(),
            ..DocumentFacts::default()
        },
        contact: None,
        file: None,
        content: Some(file),
        save: true,
        schema: r#"{"total":{"type":"number"},"vendor":{"type":"string"}}"#.to_owned(),
        instructions: None,
        notify: None,
        actor: by(),
        request_id: String::new(),
        error: None,
        finished_at: Some(now),
        retried_at: None,
    };
    let object = |text: String| RawObject::from_text(text).unwrap();
    let job = Job {
        id,
        queue: Queue::Extraction,
        state: JobState::Succeeded,
        version: 1,
        turn: 0,
        due_at: Some(now.plus_millis(1_000_000)),
        lease: None,
        attempts: 1,
        lost: 0,
        batch: None,
        client_id: None,
        subject: None,
        reserved: Default::default(),
        created_at: now,
        started_at: Some(now),
        body: object(serde_json::to_string(&body).unwrap()),
        result: Some(object(r#"{"data":{"total":7,"vendor":"Acme"},"metadata":{}}"#.to_owned())),
    };
    let document = NewDocument {
        file_name: "a.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        sha256: sha256.parse().unwrap(),
        uploaded_by: by(),
        expires_at: now.plus_millis(1_000_000),
        conversation: None,
    };
    pollster::block_on(async {
        let mut content = world.platform.begin_document(&agent, file).await.unwrap();
        content.write(b"total: 7").await.unwrap();
        world.platform.put_document(&agent, content, document).await.unwrap();
        let write = JobsWrite::new(now, vec![JobChange::Save(Box::new(job))]);
        world.platform.storage().save_jobs(Some(&agent), &write).await.unwrap();
    });
    id.to_string()
}

fn correct(world: &World, grants: &str, path: &str, values: &Value) -> Answer {
    call_as(world, grants, "PUT", path, &json!({ "values": values }))
}

#[test]
fn a_reviewer_corrects_an_extraction_and_removes_the_correction() {
    let world = World::hosted();
    let id = extracted(&world);
    let path = format!("/agents/acme/corrections/{id}");
    let read = |grants: &str, path: &str| call_as(&world, grants, "GET", path, &Value::Null);
    assert_eq!(
        (read("reviewer@acme", &path).status, read("reviewer@acme", &path).code()),
        (404, "JOB_NOT_FOUND")
    );
    let refused = correct(&world, "reviewer@acme", &path, &json!({ "total": "7", "sum": 7 }));
    assert_eq!((refused.status, refused.code()), (400, "VALIDATION_ERROR"), "{}", refused.text);
    let faults = refused.body["validationErrors"].as_array().unwrap();
    let fields: Vec<&Value> = faults.iter().map(|fault| &fault["field"]).collect();
    assert_eq!(fields, ["values.total", "values.sum"]);
    let corrected = correct(&world, "reviewer@acme", &path, &json!({ "total": 7.5 }));
    let expected = json!({ "total": 7.5, "vendor": "Acme" });
    assert_eq!(corrected.data()["expected"], expected, "{}", corrected.text);
    assert_eq!(corrected.data()["by"]["id"], "host:u-17", "{}", corrected.text);
    assert_eq!(read("reviewer@acme", &path).data(), corrected.data());

    let list =
        |query: &str| read("reviewer@acme", &format!("/agents/acme/corrections?{query}")).data().clone();
    assert_eq!(list("limit=1"), json!({ "corrections": [corrected.data()], "next": id }));
    assert_eq!(list(&format!("after={id}")), json!({ "corrections": [], "next": null }));

    let removed = call_as(&world, "reviewer@acme", "DELETE", &path, &Value::Null);
    assert_eq!(removed.data()["expected"], expected, "{}", removed.text);
    assert_eq!(read("reviewer@acme", &path).status, 404);
    let audit = read("owner", "/agents/acme/audit?limit=100");
    let actions: Vec<&Value> =
        audit.data()["entries"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions[..2], ["document.removeCorrection", "document.correct"], "{}", audit.text);
    assert!(!audit.text.contains("7.5"), "values are in no entry: {}", audit.text);
}

#[test]
fn corrections_belong_to_their_agent_and_need_the_capability() {
    let world = World::hosted();
    let id = extracted(&world);
    let (own, other) = (format!("/agents/acme/corrections/{id}"), format!("/agents/beta/corrections/{id}"));
    let _ = correct(&world, "reviewer@acme", &own, &json!({})).data();
    let refused = correct(&world, "reviewer@beta", &other, &json!({}));
    assert_eq!((refused.status, refused.code()), (404, "JOB_NOT_FOUND"), "{}", refused.text);
    for method in ["GET", "DELETE"] {
        let refused = call_as(&world, "reviewer@beta", method, &other, &Value::Null);
        assert_eq!((refused.status, refused.code()), (404, "JOB_NOT_FOUND"), "{}", refused.text);
    }
    let listed = call_as(&world, "reviewer@beta", "GET", "/agents/beta/corrections", &Value::Null);
    assert_eq!(listed.data()["corrections"], json!([]));
    for grants in ["inbox@acme", "viewer@acme", "developer@acme", "reviewer@beta"] {
        let refused = correct(&world, grants, &own, &json!({}));
        assert!(
            [403, 404].contains(&refused.status) && refused.code() != "JOB_NOT_FOUND",
            "{}",
            refused.text
        );
    }
    assert_eq!(call_as(&world, "reviewer@acme", "GET", &own, &Value::Null).status, 200);
}
