//! Numbers that stand for the values of enums in rows, documents and indexes. They never change.

use conversations::{ConversationMode, ConversationStatus};
use openapi_core::agents::AgentStatus;
use openapi_core::forms::{SubmissionPolicy, SubmissionStatus, TemplateStatus};
use openapi_core::values::ContactStatus;

/// An enum that is stored as a number.
pub trait Code: Copy + PartialEq + 'static {
    /// What the value is, for error messages.
    const NAME: &'static str;
    /// Every value; the position is the code.
    const VALUES: &'static [Self];

    /// The number of a value.
    #[must_use]
    fn code(self) -> u8 {
        // Every value is in the list; `codes_are_stable` holds it.
        Self::VALUES.iter().position(|value| *value == self).map_or(u8::MAX, |code| code as u8)
    }

    /// The value of a number.
    #[must_use]
    fn of_code(code: i64) -> Option<Self> {
        usize::try_from(code).ok().and_then(|code| Self::VALUES.get(code).copied())
    }
}

impl Code for AgentStatus {
    const NAME: &'static str = "status of a tenant";
    const VALUES: &'static [Self] = &[AgentStatus::Active, AgentStatus::Disabled, AgentStatus::Deleted];
}

impl Code for ContactStatus {
    const NAME: &'static str = "status of a contact";
    const VALUES: &'static [Self] = &[ContactStatus::Active, ContactStatus::Inactive, ContactStatus::Blocked];
}

impl Code for SubmissionStatus {
    const NAME: &'static str = "status of a submission";
    const VALUES: &'static [Self] = &[
        SubmissionStatus::Draft,
        SubmissionStatus::Submitted,
        SubmissionStatus::UnderReview,
        SubmissionStatus::Approved,
        SubmissionStatus::Rejected,
        SubmissionStatus::Archived,
    ];
}

impl Code for TemplateStatus {
    const NAME: &'static str = "status of a template";
    const VALUES: &'static [Self] =
        &[TemplateStatus::Draft, TemplateStatus::Active, TemplateStatus::Archived];
}

impl Code for SubmissionPolicy {
    const NAME: &'static str = "submission policy";
    const VALUES: &'static [Self] = &[SubmissionPolicy::Supersede, SubmissionPolicy::KeepAll];
}

impl Code for ConversationStatus {
    const NAME: &'static str = "status of a conversation";
    const VALUES: &'static [Self] = &[ConversationStatus::Open, ConversationStatus::Closed];
}

impl Code for ConversationMode {
    const NAME: &'static str = "mode of a conversation";
    const VALUES: &'static [Self] = &[ConversationMode::Ai, ConversationMode::Human];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips<C: Code + std::fmt::Debug>(all: &[C]) {
        assert_eq!(all.len(), C::VALUES.len(), "{}", C::NAME);
        for (code, value) in C::VALUES.iter().enumerate() {
            assert!(all.contains(value));
            assert_eq!(usize::from(value.code()), code);
            assert_eq!(C::of_code(code as i64), Some(*value));
        }
        assert_eq!(C::of_code(-1), None);
        assert_eq!(C::of_code(C::VALUES.len() as i64), None);
    }

    #[test]
    fn codes_are_stable() {
        round_trips(&[AgentStatus::Active, AgentStatus::Disabled, AgentStatus::Deleted]);
        round_trips(&ContactStatus::ALL);
        round_trips(&SubmissionStatus::ALL);
        round_trips(&TemplateStatus::ALL);
        round_trips(&SubmissionPolicy::ALL);
        round_trips(&[ConversationStatus::Open, ConversationStatus::Closed]);
        round_trips(&[ConversationMode::Ai, ConversationMode::Human]);
        assert_eq!(AgentStatus::Deleted.code(), 2, "statements name it");
        assert_eq!(TemplateStatus::Active.code(), 1, "statements name it");
        assert_eq!(SubmissionStatus::Archived.code(), 5, "statements name it");
    }
}
