//! What an operator sees of an event: the names of what changed, never values.

use openapi_core::events::{Event, EventActor, EventType};
use serde_json::{Map, Value, json};

use crate::capability::{Capability, Reach};
use crate::grants::Grants;

/// The capability without which an operator does not learn of an event.
pub(crate) const fn capability(kind: EventType) -> Capability {
    match kind {
        EventType::ContactCreated
        | EventType::ContactUpdated
        | EventType::ContactArchived
        | EventType::ContactUnarchived
        | EventType::ContactErased
        | EventType::FileUploaded
        | EventType::FileDeleted => Capability::ContactsRead,
        EventType::SubmissionCreated | EventType::SubmissionUpdated | EventType::SubmissionStatusChanged => {
            Capability::SubmissionsRead
        }
        EventType::TemplateCreated
        | EventType::TemplateEdited
        | EventType::TemplateActivated
        | EventType::TemplateArchived => Capability::FormsRead,
        EventType::ContactSchemaReplaced => Capability::SchemaRead,
        EventType::ExtractionCompleted | EventType::ExtractionFailed | EventType::ExtractionCancelled => {
            Capability::DocumentsRead
        }
        EventType::CreditsLow | EventType::CreditsExhausted => Capability::CreditsRead,
        EventType::LeadCreated
        | EventType::ConversationStarted
        | EventType::ConversationHandoffRequested
        | EventType::ConversationTaken
        | EventType::ConversationReleased
        | EventType::ConversationClosed
        | EventType::ConversationErased
        | EventType::ConversationUnanswered
        | EventType::ConversationFeedback
        | EventType::MessageCreated => Capability::InboxRead,
        EventType::KnowledgeAdded | EventType::KnowledgeRemoved => Capability::StudioRead,
        EventType::AgentConfigured | EventType::AgentDisabled | EventType::AgentEnabled => {
            Capability::AgentsRead
        }
        EventType::KeyCreated
        | EventType::KeyEdited
        | EventType::KeyRotated
        | EventType::KeyDisabled
        | EventType::KeyEnabled
        | EventType::KeyRevoked
        | EventType::KeyExpiring => Capability::KeysRead,
        EventType::EndpointDisabled => Capability::WebhooksRead,
    }
}

/// The ids that say what an event is about.
pub(crate) const SUBJECTS: [&str; 10] = [
    "contactId",
    "conversationId",
    "endpointId",
    "fileId",
    "jobId",
    "keyId",
    "knowledgeId",
    "messageId",
    "submissionId",
    "templateId",
];

/// Whether a masked inbox hides who the visitor of an event is.
fn hides_contact(needs: Capability, reach: Reach) -> bool {
    needs == Capability::InboxRead && reach == Reach::Masked
}

/// Whether an operator with these grants may see all of an event.
pub(crate) fn is_whole(grants: &Grants, event: &Event) -> bool {
    let needs = capability(event.r#type);
    grants.reach(needs, &event.agent_id).is_some_and(|reach| !hides_contact(needs, reach))
}

/// What an operator with these grants sees of an event; none if the event is not for them.
pub(super) fn visible(grants: &Grants, event: &Event) -> Option<Value> {
    let needs = capability(event.r#type);
    let reach = grants.reach(needs, &event.agent_id)?;
    let data: Map<String, Value> = serde_json::from_str(event.data.get()).unwrap_or_default();
    let hides_contact = hides_contact(needs, reach);
    let subject: Map<String, Value> = data
        .iter()
        .filter(|(name, id)| SUBJECTS.contains(&name.as_str()) && id.is_string())
        .filter(|(name, _)| !(hides_contact && *name == "contactId"))
        .map(|(name, id)| (name.clone(), id.clone()))
        .collect();
    Some(json!({
        "agent": event.agent_id,
        "seq": event.seq,
        "type": event.r#type,
        "at": event.timestamp,
        "actor": actor(&event.actor),
        "subject": subject,
        "changed": data.get("changed").filter(|names| names.is_array()).unwrap_or(&Value::Null),
    }))
}

/// The kind of who caused it: the key itself is for those who may see keys.
const fn actor(actor: &EventActor) -> &'static str {
    match actor {
        EventActor::ApiKey(_) => "apiKey",
        EventActor::Operator => "operator",
        EventActor::User => "user",
        EventActor::Visitor => "visitor",
        EventActor::System => "system",
    }
}

#[cfg(test)]
mod tests {
    use openapi_core::json::RawObject;
    use openapi_core::storage::LogEntry;
    use openapi_core::values::{AgentId, PlatformId, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::capability::Role;
    use crate::grants::Grant;

    /// Which capability each group of types needs, written a second time.
    const NEEDS: [(&str, &str); 13] = [
        ("contact.", "contacts.read"),
        ("file.", "contacts.read"),
        ("submission.", "submissions.read"),
        ("template.", "forms.read"),
        ("contact_schema.", "schema.read"),
        ("extraction.", "documents.read"),
        ("credits.", "credits.read"),
        ("lead.", "inbox.read"),
        ("conversation.", "inbox.read"),
        ("message.", "inbox.read"),
        ("knowledge.", "studio.read"),
        ("agent.", "agents.read"),
        ("key.", "keys.read"),
    ];

    fn needs(kind: EventType) -> Capability {
        let word = NEEDS.iter().find(|(group, _)| kind.as_str().starts_with(group));
        let word = word.map_or("webhooks.read", |(_, word)| word);
        *Capability::ALL.iter().find(|known| known.as_str() == word).unwrap()
    }

    fn agent(id: &str) -> AgentId {
        id.parse().unwrap()
    }

    fn event(kind: EventType, of: &str) -> Event {
        let actor = json!({ "type": "visitor", "id": null });
        let body = json!({ "actor": actor, "data": kind.example() }).to_string();
        let entry = LogEntry {
            seq: 7,
            id: PlatformId::from_bytes([7; 12]),
            at: Timestamp::from_millis(0),
            kind,
            contact: None,
            body: Some(RawObject::from_text(body).unwrap()),
        };
        Event::of(&agent(of), &entry).unwrap()
    }

    fn grants() -> impl Strategy<Value = Grants> {
        let grant = (0..Role::ALL.len(), 0..3_usize).prop_map(|(role, of)| {
            let role = Role::ALL[role];
            let of = [None, Some(agent("acme")), Some(agent("beta"))][of].clone();
            Grant { role, agent: of.filter(|_| role != Role::Owner) }
        });
        prop::collection::vec(grant, 0..4).prop_map(Grants::new)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Nobody learns of an event without its capability, and nobody learns a value.
        #[test]
        fn events_are_for_those_who_may_see_what_they_are_about(grants in grants(), at in 0..EventType::ALL.len(), of in 0..2_usize) {
            let (kind, of) = (EventType::ALL[at], ["acme", "beta"][of]);
            let reach = grants.reach(needs(kind), &agent(of));
            let shown = visible(&grants, &event(kind, of));
            prop_assert_eq!(shown.is_some(), reach.is_some(), "{} by {:?}", kind.as_str(), grants);
            let Some(shown) = shown else { return Ok(()) };
            let example = kind.example();
            let ids = example.as_object().unwrap().iter().filter(|(name, id)| name.ends_with("Id") && id.is_string() && *name != "batchId");
            let is_hidden = |name: &str| needs(kind) == Capability::InboxRead && reach == Some(Reach::Masked) && name == "contactId";
            let ids: Map<String, Value> = ids.filter(|(name, _)| !is_hidden(name)).map(|(name, id)| (name.clone(), id.clone())).collect();
            let changed = example.get("changed").cloned().unwrap_or(Value::Null);
            let expected = json!({
                "agent": of, "seq": 7, "type": kind.as_str(), "at": "1970-01-01T00:00:00.000Z", "actor": "visitor", "subject": ids, "changed": changed,
            });
            prop_assert_eq!(shown, expected);
        }
    }

    #[test]
    fn erased_events_name_nothing() {
        let mut erased = event(EventType::ContactUpdated, "acme");
        erased.data = serde_json::value::to_raw_value(&json!({})).unwrap();
        let shown = visible(&"owner".parse().unwrap(), &erased).unwrap();
        assert_eq!((&shown["subject"], &shown["changed"]), (&json!({}), &Value::Null));
    }
}
