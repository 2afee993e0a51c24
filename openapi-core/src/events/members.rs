//! What members of events hold besides ids and numbers.

use serde::Serialize;

use crate::json::{Object, schemas};
use crate::values::{text_words, words};

words! {
    /// Who has written a message.
    MessageRole, 3 {
        /// The visitor.
        Visitor = "visitor",
        /// The AI chat agent.
        Agent = "agent",
        /// A person who answers for the agent.
        Human = "human",
    }
}

words! {
    /// Why a conversation left a state.
    ConversationReason, 6 {
        /// An operator did it.
        Operator = "operator",
        /// The visitor did it.
        Visitor = "visitor",
        /// No operator answered in time.
        Timeout = "timeout",
        /// An operator revoked its tokens.
        Revoked = "revoked",
        /// Nobody has written for 24 hours.
        Silence = "silence",
        /// The time for which conversations are retained was over.
        Retention = "retention",
    }
}

words! {
    /// Why the service disabled a webhook endpoint.
    EndpointReason, 3 {
        /// It has responded with 410.
        Gone = "gone",
        /// It failed for too long, or an ordered one at one event too often.
        Failing = "failing",
        /// The server key that its secret is made from is gone.
        SecretLost = "secretLost",
    }
}

text_words! { MessageRole, ConversationReason, EndpointReason, }

schemas! {
    ChangedFields: {
        "type": "array",
        "items": { "type": "string" },
        "maxItems": ChangedFields::MAX,
    },
}

/// Names of top-level fields that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ChangedFields(Vec<String>);

impl ChangedFields {
    /// The most names.
    pub const MAX: usize = 25;

    /// The first [`ChangedFields::MAX`] names.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        ChangedFields(names.into_iter().take(ChangedFields::MAX).map(str::to_owned).collect())
    }

    /// The names of the members in which two objects differ, except for `ignored`.
    #[must_use]
    pub fn between(before: &Object, after: &Object, ignored: &[&str]) -> Self {
        let changed = after.iter().filter(|(name, value)| before.get(name) != Some(value));
        let gone = before.iter().filter(|(name, _)| after.get(name).is_none());
        let names = changed.chain(gone).map(|(name, _)| name);
        ChangedFields::new(names.filter(|name| !ignored.contains(name)))
    }
}
