//! What holds at the end, whatever happened.

use std::collections::BTreeSet;
use std::sync::Arc;

use conversations::storage::{ConversationFilter, ConversationQuery};
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::ContactRef;
use openapi_core::credits::CreditEntryKind;
use openapi_core::storage::{AuditQuery, LedgerQuery};

use crate::clients::Ask;
use crate::responder::MOST;
use crate::service::{Server, Service};
use crate::tenant::{Admitted, COUNTER, CREDITS, Erased, PER_MINUTE, TOP_UP, Tenant};
use crate::visitors::Seen;

/// Every acknowledged contact has a value that it may have, and no erased one is left.
pub async fn contacts(server: Arc<Server>, tenant: &Tenant) {
    let storage = server.platform.export_contacts(&tenant.agent, None, 1_000).await.expect("contacts");
    let all = tenant.contacts.lock().clone();
    for (external, known) in all {
        let found = ContactRef::External(external.parse().expect("an external id"));
        let stored: Vec<_> = storage
            .iter()
            .filter(|contact| {
                contact.external_reference_id.as_ref().is_some_and(|it| it.as_str() == external)
            })
            .collect();
        assert!(stored.len() <= 1, "{found} is stored twice");
        let Some(contact) = stored.first() else {
            assert!(known.id.is_none() || known.erased != Erased::No, "{found} was acknowledged and is lost");
            continue;
        };
        assert_ne!(known.erased, Erased::Yes, "{found} was erased and is there");
        if let Some(id) = &known.id {
            assert_eq!(contact.id.to_string(), *id, "{found} was made again");
        }
        let name = contact.first_name.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default();
        assert!(known.first_names.contains(&name), "{found} has {name}, not one of {:?}", known.first_names);
    }
}

/// No increment of the shared number was lost.
pub async fn counter(server: Arc<Server>, tenant: &Tenant) {
    let contacts = server.platform.export_contacts(&tenant.agent, None, 1_000).await.expect("contacts");
    let counter = contacts
        .iter()
        .find(|contact| contact.external_reference_id.as_ref().is_some_and(|id| id.as_str() == COUNTER))
        .expect("the counter");
    let number: u64 = counter.last_name.as_ref().expect("a number").as_str().parse().expect("a number");
    let (acknowledged, unknown) = *tenant.counted.lock();
    assert!(
        (acknowledged..=acknowledged + unknown).contains(&number),
        "{}: {number} after {acknowledged} increments and {unknown} unknown ones",
        tenant.agent
    );
}

/// Each acknowledged change has one entry, a rejected one has none, and the entries of erased contacts have no payload.
pub async fn audit(server: Arc<Server>, tenant: &Tenant) {
    let query = AuditQuery { agent: Some(tenant.agent.clone()), limit: 10_000, ..AuditQuery::default() };
    let entries = server.platform.audit(&query).await.expect("entries");
    assert!(entries.iter().all(|entry| entry.agent_id.as_ref() == Some(&tenant.agent)), "entries of others");
    let all = tenant.contacts.lock().clone();
    let count = |action, resource: &str| {
        let of_resource = entries.iter().filter(|entry| entry.resource.as_deref() == Some(resource));
        of_resource.filter(|entry| entry.action == action).count()
    };
    for (external, known) in &all {
        let Some(id) = &known.id else { continue };
        assert_eq!(count(AuditAction::ContactCreate, id), 1, "{external}: entries of its creation");
        if known.erased == Erased::Yes {
            assert_eq!(count(AuditAction::ContactErase, id), 1, "{external}: entries of its erasure");
            let about = entries.iter().filter(|entry| entry.resource.as_ref() == Some(id));
            let mut of_changes = about.filter(|entry| entry.action != AuditAction::ContactErase);
            assert!(
                of_changes.all(|entry| entry.details.is_empty()),
                "{external}: a payload after its erasure"
            );
        }
        if known.first_names.len() == 1 && known.erased == Erased::No && known.was_updated {
            assert!(count(AuditAction::ContactUpdate, id) >= 1, "{external}: entries of its change");
        }
        for file in &known.files {
            assert_eq!(count(AuditAction::FileUpload, &file.id), 1, "{}: entries of its upload", file.name);
            if file.deleted == Erased::Yes {
                assert_eq!(
                    count(AuditAction::FileDelete, &file.id),
                    1,
                    "{}: entries of its deletion",
                    file.name
                );
            }
        }
    }
    let stored = server.platform.export_contacts(&tenant.agent, None, 1_000).await.expect("contacts");
    let stored = stored.iter().map(|contact| contact.id.to_string());
    let contacts: BTreeSet<String> = stored.chain(all.into_values().filter_map(|known| known.id)).collect();
    for entry in entries.iter().filter(|entry| entry.action == AuditAction::ContactCreate) {
        let is_known = entry.resource.as_ref().is_some_and(|id| contacts.contains(id));
        assert!(is_known, "an entry of the creation of {:?}, which never was", entry.resource);
    }
    for (action, (acknowledged, unknown)) in &*tenant.noted.lock() {
        // The first credits were given before anything was counted.
        let before = usize::from(*action == AuditAction::CreditsChange.as_str());
        let count = entries.iter().filter(|entry| entry.action.as_str() == *action).count() - before;
        assert!(
            (*acknowledged..=acknowledged + unknown).contains(&count),
            "{}: {count} entries of {acknowledged} {action} and {unknown} unknown ones",
            tenant.agent
        );
    }
}

/// The chains of the audit log have neither gap nor change.
pub async fn chains(server: Arc<Server>) {
    let report = server.platform.verify_audit(&[]).await.expect("a report");
    assert!(report.breaks.is_empty(), "{:?}", report.breaks);
}

/// Credits that were given are available, or charged; none are reserved for ever.
pub async fn credits(server: Arc<Server>, tenant: &Tenant, used: u64) {
    let account = server.platform.credits(&tenant.agent).await.expect("an account");
    assert_eq!(account.reserved(), 0, "{}: reserved for ever", tenant.agent);
    let query = LedgerQuery { agent: tenant.agent.clone(), before: None, limit: 10_000 };
    let ledger = server.platform.credit_entries(&query).await.expect("entries");
    let sum: i64 = ledger.iter().map(|entry| entry.plan + entry.top_up).sum();
    assert_eq!(sum, i64::try_from(account.available()).expect("few"), "{}: the ledger adds up", tenant.agent);
    let query = ConversationQuery { filter: ConversationFilter::default(), offset: 0, limit: 1_000 };
    let page = server.chat.conversations(&tenant.agent, &query).await.expect("conversations");
    let mut shown = 0;
    for conversation in page.conversations {
        let messages =
            server.chat.messages(&tenant.agent, conversation.id, 0, 1_000).await.expect("messages");
        shown += messages.iter().map(|message| message.credits).sum::<u64>();
    }
    let of_kind = |kind| ledger.iter().filter(move |entry| entry.kind == kind);
    let topped_up: i64 = of_kind(CreditEntryKind::TopUp).map(|entry| entry.top_up).sum();
    let (acknowledged, unknown) =
        tenant.noted.lock().get(AuditAction::CreditsChange.as_str()).copied().unwrap_or_default();
    let given = u64::try_from(topped_up).expect("credits were added");
    assert!(
        (acknowledged as u64 * TOP_UP..=(acknowledged + unknown) as u64 * TOP_UP).contains(&given),
        "{}: {given} credits in {acknowledged} gifts and {unknown} unknown ones",
        tenant.agent
    );
    let charges = of_kind(CreditEntryKind::Chat).map(|entry| -entry.plan - entry.top_up);
    let most = i64::try_from(MOST).expect("few");
    assert!(charges.clone().all(|credits| (1..=most).contains(&credits)), "{}: an odd charge", tenant.agent);
    let ids: BTreeSet<_> = of_kind(CreditEntryKind::Chat).map(|entry| entry.id).collect();
    assert_eq!(ids.len(), charges.count(), "{}: a reply was charged twice", tenant.agent);
    let charged = CREDITS + given - account.available();
    // A reply is charged before it is stored: a crash in between leaves a charge without a message.
    assert!(shown <= charged, "{}: {shown} credits of replies, {charged} charged", tenant.agent);
    assert!(charged <= used, "{}: {charged} credits charged for replies of {used}", tenant.agent);
}

/// A tenant does not find the conversation of another one.
pub async fn foreign_conversation(server: Arc<Server>, other: &Tenant, seen: &Seen) {
    let id = seen.conversation.parse().expect("an id");
    let found = server.chat.messages(&other.agent, id, 0, 1_000).await;
    assert!(found.is_err(), "{} reads a conversation of another tenant", other.agent);
}

/// Alone, a server admits exactly as many requests of a key in a minute as it may, with an orderly restart in between.
pub async fn exact_limits(service: Arc<Service>, tenants: &[Arc<Tenant>]) {
    for process in 1..service.processes() {
        service.end(process).await;
    }
    let keys: Vec<_> =
        tenants.iter().flat_map(|it| (0..it.keys.lock().len()).map(move |key| (it, key))).collect();
    for count in 1..=PER_MINUTE + 1 {
        for (tenant, key) in &keys {
            let credentials = tenant.keys.lock()[*key].clone();
            let path = format!("/contacts/{COUNTER}/chatbots/{}", tenant.agent);
            let answer = service.ask(Ask::new("GET", &path).request(&credentials, [192, 0, 2, 3])).await;
            let status = answer.expect("a response").0.as_u16();
            let expected = if count <= PER_MINUTE { 200 } else { 429 };
            assert_eq!(status, expected, "request {count} of key {key} of {} in a minute", tenant.agent);
        }
        if count == PER_MINUTE / 2 {
            service.end(0).await;
            service.restart(0);
        }
    }
}

/// The operator reads the same texts as the visitor, and each ended turn is among them, in order.
pub async fn conversation(server: Arc<Server>, tenant: &Tenant, seen: &Seen) {
    let id = seen.conversation.parse().expect("an id");
    let messages = server.chat.messages(&tenant.agent, id, 0, 1_000).await.expect("messages");
    let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, seen.texts, "visitor and operator read different texts");
    let mut rest = texts.iter();
    for (question, reply) in &seen.turns {
        assert!(rest.any(|text| text == question), "{question} is not stored once, in order: {texts:?}");
        assert!(
            reply.is_empty() || rest.clone().any(|text| text == reply),
            "{reply} is not stored: {texts:?}"
        );
    }
    let questions = messages.iter().filter(|message| message.text.contains(" asks ")).collect::<Vec<_>>();
    for question in &seen.turns {
        let count =
            questions.iter().filter(|it| it.role == conversations::Speaker::Visitor && it.text == question.0);
        assert_eq!(count.count(), 1, "{} is stored once", question.0);
    }
}

/// No minute admits more requests of a key than it may.
pub fn limits(tenant: &Tenant) {
    for (client, admitted) in &*tenant.admitted.lock() {
        let in_minute =
            |from: &Admitted| admitted.iter().filter(|it| it.0 >= from.0 && it.1 < from.0 + 60_000).count();
        let most = admitted.iter().map(in_minute).max().unwrap_or(0);
        assert!(most <= PER_MINUTE as usize, "client {client} of {} had {most} in a minute", tenant.agent);
    }
}
