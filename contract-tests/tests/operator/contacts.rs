//! The operator's contact operations: import, export, erasure.

use contract_tests::sandbox::{object, operator, wait};
use contract_tests::{Backend, Sandbox, on_every_backend, story};
use openapi_core::admin::{Admin, AdminError, Imported};
use openapi_core::contacts::ContactRef;
use openapi_core::storage::{AuditQuery, SortKey, SortPosition};
use serde_json::{Value, json};

on_every_backend!(imports_create_and_update, imports_obey_the_rules, exports_everything, erasure);

fn import(cx: &Sandbox, contact: &Value) -> Result<Imported, AdminError> {
    wait(cx.platform.import_contact(&operator(), &cx.agent, &object(contact)))
}

fn imports_create_and_update(backend: Backend) {
    let cx = Sandbox::new(backend);
    assert!(matches!(import(&cx, &story::new_contact()), Ok(Imported::Created(_))));
    assert!(matches!(import(&cx, &story::new_contact()), Ok(Imported::Unchanged(_))));
    let mut changed = story::new_contact();
    changed["firstName"] = json!("New");
    assert!(matches!(import(&cx, &changed), Ok(Imported::Updated(contact)) if contact.first_name.is_some()));
    // Without an external id each import creates a contact.
    for _ in 0..2 {
        assert!(matches!(import(&cx, &json!({ "primaryEmail": "a@b.co" })), Ok(Imported::Created(_))));
    }
    assert_eq!(cx.get("/contacts/chatbots/<A>").expect(200).pagination()["totalItems"], 3);
}

fn imports_obey_the_rules(backend: Backend) {
    let cx = Sandbox::new(backend);
    let Err(AdminError::Invalid(faults)) =
        import(&cx, &json!({ "externalReferenceId": "x", "tags": 1, "y": 2 }))
    else {
        panic!("accepted")
    };
    let found: Vec<(&str, &str)> =
        faults.listed().iter().map(|fault| (fault.field.as_str(), fault.rule.as_str())).collect();
    assert_eq!(found, [("tags", "type"), ("y", "unknown"), ("primaryEmail", "required")]);
    let _ = cx.create(&story::new_contact());
    let _ = cx.patch("/contacts/crm-1001/chatbots/<A>/archive").expect(200);
    assert!(matches!(import(&cx, &story::new_contact()), Err(AdminError::Conflict(_))), "archived");
    let nobody =
        wait(cx.platform.import_contact(&operator(), &"nobody".parse().expect("an id"), &object(&json!({}))));
    assert!(matches!(nobody, Err(AdminError::NotFound { .. })));
}

fn exports_everything(backend: Backend) {
    let cx = Sandbox::new(backend);
    for n in 0..7 {
        let id = cx.create(&json!({ "primaryEmail": format!("c{n}@b.co") })).id();
        if n == 3 {
            let _ = cx.patch(&format!("/contacts/platformid/{id}/chatbots/<A>/archive")).expect(200);
        }
        cx.advance(i64::from(n % 2));
    }
    let mut emails = Vec::new();
    let mut after = None;
    loop {
        let page = wait(cx.platform.export_contacts(&cx.agent, after, 3)).expect("a page");
        let Some(last) = page.last() else { break };
        after = Some(SortPosition { key: SortKey::Time(last.created_at), id: last.id });
        emails.extend(page.iter().map(|contact| contact.primary_email.to_string()));
    }
    emails.sort();
    assert_eq!(emails, (0..7).map(|n| format!("c{n}@b.co")).collect::<Vec<_>>());
}

/// Erasure clears the payloads of audit entries and leaves nothing searchable.
fn erasure(backend: Backend) {
    let cx = Sandbox::new(backend);
    cx.define(&json!({ "fields": [{ "name": "primaryEmail", "unique": true }] }));
    let id = cx.create(&story::new_contact()).id();
    let _ = cx.update(&id, &json!({ "firstName": "New" }));
    let call = cx
        .call("PATCH", "/contacts/crm-1001/chatbots/<A>/archive")
        .json(&json!({ "reason": "A private matter" }));
    let _ = call.send().expect(200);
    let contact = ContactRef::External("crm-1001".parse().expect("an external id"));
    let erased = wait(cx.platform.erase_contact(&operator(), &cx.agent, &contact)).expect("erased");
    assert_eq!(erased.id.to_string(), id);
    let _ = cx.get(&format!("/contacts/platformid/{id}/chatbots/<A>")).fails(404, "CONTACT_NOT_FOUND");
    assert_eq!(
        cx.get("/contacts/chatbots/<A>?includeArchived=1&search=okafor").expect(200).pagination()["totalItems"],
        0
    );
    // The external id and the unique address are free again.
    let _ = cx.create(&story::new_contact());
    let query = AuditQuery { agent: Some(cx.agent.clone()), limit: 100, ..AuditQuery::default() };
    let entries = wait(cx.platform.audit(&query)).expect("the log");
    let about: Vec<_> =
        entries.iter().filter(|entry| entry.resource.as_deref() == Some(id.as_str())).collect();
    assert_eq!(about.len(), 4, "create, update, archive, erase");
    assert!(about.iter().all(|entry| entry.details.is_empty()), "{about:?}");
    let again = wait(cx.platform.erase_contact(&operator(), &cx.agent, &ContactRef::Id(erased.id)));
    assert!(matches!(again, Err(AdminError::NotFound { what: "contact", .. })));
}
