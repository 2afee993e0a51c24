//! The catalogue of event types.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::members::{ChangedFields, ConversationReason, EndpointReason, MessageRole};
use crate::forms::SubmissionStatus;
use crate::json::{JsonSchema, schemas};
use crate::values::{
    ContactId, ConversationId, FileId, JobId, KeyId, KnowledgeId, MessageId, PlatformId, SubmissionId,
    TemplateId,
};

macro_rules! event_types {
    ($($number:literal $name:ident $word:literal $doc:literal {
        $($member:ident: $type:ty,)*
    })*) => {
        /// What happened. Stores write the numbers, so they are never given to another type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum EventType {
            $(#[doc = $doc] #[serde(rename = $word)] $name,)*
        }

        impl EventType {
            /// Every type, in the order of the reference.
            pub const ALL: &'static [EventType] = &[$(EventType::$name),*];

            /// The number that stores write for it.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self { $(EventType::$name => $number,)* }
            }

            /// The name on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(EventType::$name => $word,)* }
            }

            /// What it tells, in one sentence.
            #[must_use]
            pub const fn description(self) -> &'static str {
                match self { $(EventType::$name => $doc,)* }
            }

            fn members(self) -> Vec<(&'static str, Value)> {
                match self {
                    $(EventType::$name => vec![$((stringify!($member), <$type>::schema()),)*],)*
                }
            }
        }

        /// What an event tells.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged, rename_all_fields = "camelCase")]
        #[allow(missing_docs, reason = "the members have the names that the contract explains")]
        pub enum EventData {
            $(#[doc = $doc] $name { $($member: $type,)* },)*
        }

        impl EventData {
            /// Its type.
            #[must_use]
            pub const fn kind(&self) -> EventType {
                match self { $(EventData::$name { .. } => EventType::$name,)* }
            }
        }
    };
}

// New types go to the end of their group, with the next free number. Numbers are never given again.
event_types! {
    1 ContactCreated "contact.created" "A contact was created." { contact_id: ContactId, }
    2 ContactUpdated "contact.updated" "Fields of a contact changed." {
        contact_id: ContactId, changed: ChangedFields,
    }
    3 ContactArchived "contact.archived" "A contact was archived." { contact_id: ContactId, }
    4 ContactUnarchived "contact.unarchived" "An archived contact is in use again." { contact_id: ContactId, }
    5 ContactErased "contact.erased" "A contact was erased with everything that belongs to it." {
        contact_id: ContactId,
    }
    6 FileUploaded "file.uploaded" "A file of a contact was stored." { contact_id: ContactId, file_id: FileId, }
    7 FileDeleted "file.deleted" "A file of a contact was deleted." { contact_id: ContactId, file_id: FileId, }
    8 SubmissionCreated "submission.created" "A form was submitted, or its draft begun. It supersedes the submission \
        that is named, and every earlier one of the same contact and template that was handed in." {
        contact_id: ContactId, submission_id: SubmissionId, template_id: TemplateId, template_version: u64,
        status: SubmissionStatus, supersedes: Option<SubmissionId>,
    }
    9 SubmissionUpdated "submission.updated" "The data of a submission changed." {
        contact_id: ContactId, submission_id: SubmissionId, template_id: TemplateId, template_version: u64,
        changed: ChangedFields,
    }
    10 SubmissionStatusChanged "submission.status_changed" "A submission changed its status, perhaps with its data." {
        contact_id: ContactId, submission_id: SubmissionId, template_id: TemplateId, template_version: u64,
        from: SubmissionStatus, to: SubmissionStatus, supersedes: Option<SubmissionId>, changed: ChangedFields,
    }
    11 TemplateCreated "template.created" "A form template was created." { template_id: TemplateId, version: u64, }
    12 TemplateEdited "template.edited" "A form template was changed." { template_id: TemplateId, version: u64, }
    13 TemplateActivated "template.activated" "A form template came into use." {
        template_id: TemplateId, version: u64,
    }
    14 TemplateArchived "template.archived" "A form template went out of use." {
        template_id: TemplateId, version: u64,
    }
    15 ContactSchemaReplaced "contact_schema.replaced" "Another version of the contact schema is in force." {
        version: u64,
    }
    16 ExtractionCompleted "extraction.completed" "A queued extraction has a result." {
        job_id: JobId, batch_id: Option<String>, contact_id: Option<ContactId>, file_id: Option<FileId>,
        notify: Option<PlatformId>, is_valid: bool, credits_charged: u64,
    }
    17 ExtractionFailed "extraction.failed" "A queued extraction has no result; the code says why." {
        job_id: JobId, batch_id: Option<String>, contact_id: Option<ContactId>, file_id: Option<FileId>,
        notify: Option<PlatformId>, code: String,
    }
    18 ExtractionCancelled "extraction.cancelled" "A queued extraction was cancelled or removed before its end." {
        job_id: JobId, batch_id: Option<String>, contact_id: Option<ContactId>, file_id: Option<FileId>,
        notify: Option<PlatformId>,
    }
    19 CreditsLow "credits.low" "Fewer credits are available than the threshold of the account." {
        available: u64, threshold: u64,
    }
    20 CreditsExhausted "credits.exhausted" "No credits are available." { available: u64, }
    21 LeadCreated "lead.created" "A visitor of the widget submitted the lead form." {
        conversation_id: ConversationId, contact_id: Option<ContactId>,
    }
    22 ConversationStarted "conversation.started" "A visitor began a conversation." {
        conversation_id: ConversationId, contact_id: Option<ContactId>,
    }
    23 ConversationHandoffRequested "conversation.handoff_requested" "A conversation waits for a person." {
        conversation_id: ConversationId, contact_id: Option<ContactId>,
    }
    24 ConversationTaken "conversation.taken" "A person took a conversation over." {
        conversation_id: ConversationId, contact_id: Option<ContactId>,
    }
    25 ConversationReleased "conversation.released" "The AI chat agent answers a conversation again." {
        conversation_id: ConversationId, contact_id: Option<ContactId>, reason: ConversationReason,
    }
    26 ConversationClosed "conversation.closed" "A conversation was closed." {
        conversation_id: ConversationId, contact_id: Option<ContactId>, reason: ConversationReason,
    }
    27 ConversationErased "conversation.erased" "A conversation was erased with its messages and files." {
        conversation_id: ConversationId, contact_id: Option<ContactId>, reason: ConversationReason,
    }
    28 ConversationUnanswered "conversation.unanswered" "The AI chat agent found no answer to a message." {
        conversation_id: ConversationId, contact_id: Option<ContactId>, message_id: MessageId,
    }
    29 ConversationFeedback "conversation.feedback" "A visitor rated a reply: 1 good, -1 bad, 0 withdrawn." {
        conversation_id: ConversationId, contact_id: Option<ContactId>, message_id: MessageId, value: Rating,
    }
    30 MessageCreated "message.created" "A message was added to a conversation." {
        conversation_id: ConversationId, contact_id: Option<ContactId>, message_id: MessageId, number: u64,
        role: MessageRole,
    }
    31 KnowledgeAdded "knowledge.added" "A document was added to the knowledge of the agent." {
        knowledge_id: KnowledgeId,
    }
    32 KnowledgeRemoved "knowledge.removed" "A document was removed from the knowledge of the agent." {
        knowledge_id: KnowledgeId,
    }
    33 AgentConfigured "agent.configured" "The settings of the agent changed." {}
    34 AgentDisabled "agent.disabled" "The agent was disabled: its keys are refused." {}
    35 AgentEnabled "agent.enabled" "The agent was enabled." {}
    36 KeyCreated "key.created" "An API key was created." { key_id: KeyId, }
    37 KeyEdited "key.edited" "An API key was changed." { key_id: KeyId, }
    38 KeyRotated "key.rotated" "An API key got a new secret." { key_id: KeyId, }
    39 KeyDisabled "key.disabled" "An API key was disabled." { key_id: KeyId, }
    40 KeyEnabled "key.enabled" "An API key was enabled." { key_id: KeyId, }
    41 KeyRevoked "key.revoked" "An API key was revoked for good." { key_id: KeyId, }
    42 KeyExpiring "key.expiring" "An API key expires within seven days." { key_id: KeyId, }
    43 EndpointDisabled "endpoint.disabled" "The service disabled a webhook endpoint." {
        endpoint_id: PlatformId, reason: EndpointReason,
    }
}

/// What a visitor thinks of a reply: -1, 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Rating(pub i8);

schemas! { Rating: { "type": "integer", "enum": [-1, 0, 1] }, }

impl EventType {
    /// The type of a number that a store has written.
    #[must_use]
    pub fn of_number(number: u16) -> Option<Self> {
        EventType::ALL.iter().copied().find(|kind| kind.number() == number)
    }

    /// The JSON Schema of its data.
    #[must_use]
    pub fn schema(self) -> Value {
        let members = self.members();
        let names: Vec<String> = members.iter().map(|(name, _)| camel_case(name)).collect();
        let schemas = members.into_iter().map(|(_, schema)| schema);
        let properties: Map<String, Value> = names.iter().cloned().zip(schemas).collect();
        json!({ "type": "object", "required": names, "properties": properties })
    }

    /// Example data.
    #[must_use]
    pub fn example(self) -> Value {
        let members = self.members().into_iter().enumerate();
        let example = |(position, (name, schema)): (usize, (&str, Value))| {
            (camel_case(name), example(&schema, position))
        };
        Value::Object(members.map(example).collect())
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let (head, rest) = word.split_at(word.len().min(1));
        text + &head.to_ascii_uppercase() + rest
    })
}

/// A value of a schema; ids differ by the position of their member.
fn example(schema: &Value, position: usize) -> Value {
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    match schema["type"].as_str().or_else(|| schema.pointer("/type/0")?.as_str()) {
        Some("array") => json!(["primaryEmail", "tags"]),
        Some("integer") => json!(3),
        Some("boolean") => json!(true),
        // What is text but no id is the label of a batch, which may be absent, or the code of an error.
        _ if schema.get("pattern").is_none() => {
            if schema["type"].is_array() {
                Value::Null
            } else {
                json!("DOCUMENT_UNREADABLE")
            }
        }
        _ => json!(format!("69a4c6b2e8f1d3a5b7c9e0{:02x}", 0xf1 + position)),
    }
}
