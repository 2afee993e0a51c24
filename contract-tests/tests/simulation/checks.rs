//! What holds at the end, whatever happened.

use std::sync::Arc;

use conversations::storage::{ConversationFilter, ConversationQuery};
use openapi_core::admin::Admin;
use openapi_core::audit::AuditAction;
use openapi_core::contacts::ContactRef;
use openapi_core::storage::{AuditQuery, LedgerQuery};

use crate::service::Server;
use crate::tenant::{Admitted, COUNTER, CREDITS, Erased, PER_MINUTE, Tenant};
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

/// Each acknowledged creation has one entry, and those of erased contacts have no payload.
pub async fn audit(server: Arc<Server>, tenant: &Tenant) {
    let query = AuditQuery { agent: Some(tenant.agent.clone()), limit: 10_000, ..AuditQuery::default() };
    let entries = server.platform.audit(&query).await.expect("entries");
    assert!(entries.iter().all(|entry| entry.agent_id.as_ref() == Some(&tenant.agent)), "entries of others");
    let all = tenant.contacts.lock().clone();
    for (external, known) in all {
        let Some(id) = known.id else { continue };
        let about = |action| {
            let of_contact = entries.iter().filter(|entry| entry.resource.as_deref() == Some(&id));
            of_contact.filter(|entry| entry.action == action).count()
        };
        assert_eq!(about(AuditAction::ContactCreate), 1, "{external}: entries of its creation");
        if known.erased == Erased::Yes {
            assert_eq!(about(AuditAction::ContactErase), 1, "{external}: entries of its erasure");
        }
        if known.first_names.len() == 1 && known.erased == Erased::No && known.was_updated {
            assert!(about(AuditAction::ContactUpdate) >= 1, "{external}: entries of its change");
        }
    }
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
    let charged = CREDITS - account.available();
    // A reply is charged before it is stored: a crash in between leaves a charge without a message.
    assert!(shown <= charged, "{}: {shown} credits of replies, {charged} charged", tenant.agent);
    assert!(charged <= used, "{}: {charged} credits charged for replies of {used}", tenant.agent);
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
