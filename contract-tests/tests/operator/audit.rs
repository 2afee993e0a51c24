//! The audit log: every write, archival and failed authentication, without secrets.

use std::sync::Arc;

use contract_tests::sandbox::{operator, wait};
use contract_tests::{Backend, Credentials, Sandbox, on_every_backend, story};
use openapi_core::access::Actor;
use openapi_core::admin::{Admin, KeyEdit};
use openapi_core::audit::{ChainProblem, ChainedEntry};
use openapi_core::contacts::ContactRef;
use openapi_core::platform::{AuditReport, AuditSettings, Platform};
use openapi_core::storage::AuditQuery;
use serde_json::json;

on_every_backend!(
    writes_of_contacts,
    no_ops_leave_no_entry,
    operator_actions,
    order_and_pages,
    chains_verify,
    purged_chains_verify,
    old_entries_go_by_themselves,
);

fn log(cx: &Sandbox) -> Vec<ChainedEntry> {
    let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 1_000, ..AuditQuery::default() };
    wait(cx.platform.audit(&query)).expect("the log")
}

fn writes_of_contacts(backend: Backend) {
    let cx = Sandbox::new(backend);
    let before = log(&cx).len();
    cx.advance(1);
    let create =
        cx.call("POST", "/contacts/chatbots/<A>").json(&story::new_contact()).header("x-request-id", "r-1");
    let id = create.send().expect(201).id();
    cx.advance(1);
    let _ = cx.update(
        &id,
        &json!({ "firstName": "New", "customFields": { "plan": "silver" }, "lastName": "Okafor" }),
    );
    cx.advance(1);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    cx.advance(1);
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    cx.advance(1);
    let _ = cx.put("/contacts/new/chatbots/<A>?upsert=1", &json!({ "primaryEmail": "a@b.co" })).expect(201);
    let entries = &log(&cx)[before..];
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(
        actions,
        ["contact.create", "contact.update", "contact.archive", "contact.unarchive", "contact.create"]
    );
    for entry in &entries[..4] {
        assert_eq!(entry.resource.as_deref(), Some(id.as_str()));
        assert_eq!(
            entry.actor,
            Actor::ApiKey(openapi_core::access::ApiKey::parse(&cx.credentials.key).expect("a key"))
        );
        assert_eq!(entry.address.map(|address| address.to_string()).as_deref(), Some("192.0.2.10"));
    }
    assert_eq!(entries[0].request_id.as_deref(), Some("r-1"));
    // Names of changed fields, without values.
    assert!(
        entries[1].details.as_str().contains("firstName")
            && entries[1].details.as_str().contains("customFields")
    );
    assert!(
        !entries[1].details.as_str().contains("lastName") && !entries[1].details.as_str().contains("New")
    );
}

fn no_ops_leave_no_entry(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let before = log(&cx).len();
    let _ = cx.update(&id, &json!({}));
    let _ = cx.try_update(&id, &json!({ "firstName": 7 }));
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/unarchive").expect(200);
    let _ = cx.post("/contacts/chatbots/<A>?dryRun=1", &json!({ "primaryEmail": "a@b.co" })).expect(200);
    let _ = cx.try_create(&story::new_contact()).fails(409, "DUPLICATE_EXTERNAL_REFERENCE_ID");
    let _ = cx.read(&id);
    assert_eq!(log(&cx).len(), before);
}

fn operator_actions(backend: Backend) {
    let cx = Sandbox::new(backend);
    let by = operator();
    let before = log(&cx).len();
    cx.advance(1);
    let key = cx.issue(|_| {});
    let selector = Sandbox::selector(&key);
    let edit = KeyEdit { per_minute: Some(5), ..KeyEdit::default() };
    let _ = wait(cx.platform.edit_key(&by, &selector, edit)).expect("edited");
    let rotated = wait(cx.platform.rotate_key(&by, &selector, 0)).expect("rotated");
    let _ = wait(cx.platform.disable_key(&by, &selector)).expect("disabled");
    let _ = wait(cx.platform.enable_key(&by, &selector)).expect("enabled");
    let _ = wait(cx.platform.revoke_key(&by, &selector)).expect("revoked");
    cx.define(&story::definition());
    let _ = wait(cx.platform.disable_agent(&by, &cx.agent)).expect("disabled");
    let _ = wait(cx.platform.enable_agent(&by, &cx.agent)).expect("enabled");
    let entries = &log(&cx)[before..];
    let mut actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    let mut expected = [
        "key.create",
        "key.edit",
        "key.rotate",
        "key.disable",
        "key.enable",
        "key.revoke",
        "contactSchema.replace",
        "agent.disable",
        "agent.enable",
    ];
    // All at one instant, so their order is that of their random ids.
    actions.sort_unstable();
    expected.sort_unstable();
    assert_eq!(actions, expected);
    assert!(entries.iter().all(|entry| entry.actor == by));
    let text = serde_json::to_string(&log(&cx)).expect("JSON");
    assert!(!text.contains(&key.secret) && !text.contains(rotated.secret.expose()));
}

fn order_and_pages(backend: Backend) {
    let cx = Sandbox::new(backend);
    for n in 0..7 {
        let _ = cx.create(&json!({ "primaryEmail": format!("c{n}@b.co") }));
        cx.advance(i64::from(n % 2));
    }
    for newest_first in [false, true] {
        let mut all: Vec<ChainedEntry> = Vec::new();
        let mut after = None;
        loop {
            let query = AuditQuery { agent: Some(cx.agent.clone()), after, newest_first, limit: 2 };
            let page = wait(cx.platform.audit(&query)).expect("the log");
            let Some(last) = page.last() else { break };
            after = Some((last.at, last.id));
            all.extend(page);
        }
        let positions: Vec<_> = all.iter().map(|entry| (entry.at, entry.id)).collect();
        let sorted = if newest_first {
            positions.is_sorted_by(|a, b| a > b)
        } else {
            positions.is_sorted_by(|a, b| a < b)
        };
        assert!(sorted, "{positions:?}");
        assert_eq!(all.len(), log(&cx).len());
    }
}

fn verified(cx: &Sandbox) -> AuditReport {
    wait(cx.platform.verify_audit(&[])).expect("verified")
}

/// Whatever was done, the chains are sound, and those of a server without the key are not accepted.
fn chains_verify(backend: Backend) {
    let cx = Sandbox::new(backend);
    let id = cx.create(&story::new_contact()).id();
    let _ = cx.update(&id, &json!({ "firstName": "New" }));
    let nobody = Credentials { key: "nobody".to_owned(), secret: "nothing".to_owned() };
    let _ = cx.call("GET", "/contacts/chatbots/<A>").with(&nobody).send().fails(401, "INVALID_CREDENTIALS");
    let erased: ContactRef = ContactRef::Id(id.parse().expect("an id"));
    let _ = wait(cx.platform.erase_contact(&operator(), &cx.agent, &erased)).expect("erased");
    let report = verified(&cx);
    assert_eq!(report.breaks, []);
    assert_eq!((report.heads.len(), report.earlier), (2, 0), "the agent's, and that of entries without one");
    let all = AuditQuery { limit: 1_000, ..AuditQuery::default() };
    assert_eq!(report.entries, wait(cx.platform.audit(&all)).expect("the log").len() as u64);
    // An end that the chain never had.
    let (agent, mut head) = report.heads[1].clone();
    head.mac[0] ^= 1;
    let report = wait(cx.platform.verify_audit(&[(agent.clone(), head)])).expect("verified");
    let [broken] = &*report.breaks else { panic!("one break: {report:?}") };
    assert_eq!((broken.problem, broken.sequence), (ChainProblem::AnchorDiffers, head.sequence));
    head.sequence += 1;
    let report = wait(cx.platform.verify_audit(&[(agent, head)])).expect("verified");
    assert_eq!(report.breaks[0].problem, ChainProblem::Missing, "entries were cut off");
}

fn purged_chains_verify(backend: Backend) {
    let cx = Sandbox::new(backend);
    for n in 0..5 {
        cx.advance(1_000);
        let _ = cx.create(&json!({ "primaryEmail": format!("c{n}@b.co") }));
    }
    cx.advance(1_000);
    let before = log(&cx);
    let third = before[before.len() - 3].at;
    let removed = wait(cx.platform.purge_audit(&operator(), Some(&cx.agent), third)).expect("purged");
    assert_eq!(removed as usize, before.len() - 3);
    let after = log(&cx);
    let actions: Vec<&str> = after.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["contact.create", "contact.create", "contact.create", "audit.purge"]);
    assert_eq!(after[0], before[before.len() - 3]);
    assert_eq!(verified(&cx).breaks, []);
    let again = wait(cx.platform.purge_audit(&operator(), None, third)).expect("purged");
    assert_eq!((again, log(&cx).len()), (0, 4), "nothing is noted about nothing");
    cx.advance(1_000);
    let everything = wait(cx.platform.purge_audit(&operator(), None, cx.platform.now())).expect("purged");
    assert_eq!((everything, log(&cx).len()), (4, 1), "the entry about the purge stays");
    assert_eq!(verified(&cx).breaks, []);
    let _ = cx.create(&json!({ "primaryEmail": "last@b.co" }));
    assert_eq!(verified(&cx).breaks, []);
}

fn old_entries_go_by_themselves(backend: Backend) {
    let cx = Sandbox::new(backend);
    let retaining = Platform::new(
        Arc::clone(cx.platform.storage()),
        cx.platform.ports().clone(),
        cx.platform.service_info().clone(),
    );
    let day = 86_400_000;
    let retaining = retaining.with_audit_settings(AuditSettings { retention_days: Some(2), os_user: None });
    wait(retaining.maintain()).expect("maintained");
    let before = log(&cx).len();
    cx.advance(day);
    let _ = cx.create(&json!({ "primaryEmail": "a@b.co" }));
    wait(retaining.maintain()).expect("maintained");
    assert_eq!(log(&cx).len(), before + 1, "nothing is two days old");
    cx.advance(day + 1);
    wait(retaining.maintain()).expect("maintained");
    let actions: Vec<String> = log(&cx).iter().map(|entry| entry.action.as_str().to_owned()).collect();
    assert_eq!(actions, ["contact.create", "audit.purge"]);
    assert_eq!(verified(&cx).breaks, []);
}
