//! The states of templates and submissions, and their transitions (contract 3).

use serde::{Deserialize, Serialize};

use crate::values::{text_words, words};

words! {
    /// The state of a submission.
    SubmissionStatus, 6 {
        /// Begun: `required` and `minItems` do not count yet.
        Draft = "draft",
        /// Handed in.
        Submitted = "submitted",
        /// Somebody looks at it.
        UnderReview = "under_review",
        /// Reviewed and accepted.
        Approved = "approved",
        /// Reviewed and given back.
        Rejected = "rejected",
        /// Out of use, for good.
        Archived = "archived",
    }
}

words! {
    /// The state of a template. Only active ones are submitted to.
    TemplateStatus, 3 {
        /// Being made; it was never active.
        Draft = "draft",
        /// In use.
        Active = "active",
        /// Out of use; an operator may activate it again.
        Archived = "archived",
    }
}

words! {
    /// What a new submission does to the earlier ones of its contact and template.
    SubmissionPolicy, 2 {
        /// It replaces them.
        Supersede = "supersede",
        /// All stay.
        KeepAll = "keepAll",
    }
}

text_words! { SubmissionStatus, TemplateStatus, SubmissionPolicy, }

impl SubmissionStatus {
    /// The states that may follow, in the order of the contract's table, this one itself left out.
    #[must_use]
    pub const fn followers(self) -> &'static [SubmissionStatus] {
        use SubmissionStatus::{Approved, Archived, Rejected, Submitted, UnderReview};
        match self {
            SubmissionStatus::Draft => &[Submitted, Archived],
            Submitted => &[UnderReview, Approved, Rejected, Archived],
            UnderReview => &[Submitted, Approved, Rejected, Archived],
            Approved => &[UnderReview, Archived],
            Rejected => &[Submitted, UnderReview, Archived],
            Archived => &[],
        }
    }

    /// Whether `formData` and `submissionNotes` may change in this state (contract 2.3.2).
    #[must_use]
    pub const fn is_editable(self) -> bool {
        matches!(self, SubmissionStatus::Draft | SubmissionStatus::Submitted | SubmissionStatus::Rejected)
    }

    /// Whether the state is the outcome of a review, so that `reviewedBy` and `reviewedAt` are set.
    #[must_use]
    pub const fn is_review(self) -> bool {
        matches!(self, SubmissionStatus::Approved | SubmissionStatus::Rejected)
    }
}

/// A change of status that an operator may switch off for a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    /// The state before.
    pub from: SubmissionStatus,
    /// The state after.
    pub to: SubmissionStatus,
}

impl Transition {
    /// Whether the contract's table has it.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.from.followers().contains(&self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::SubmissionStatus::{Approved, Archived, Draft, Rejected, Submitted, UnderReview};
    use super::*;
    use crate::values::TextValue;

    /// All 36 pairs of contract 3.
    #[test]
    fn the_contracts_table() {
        let yes = [
            (Draft, vec![Submitted, Archived]),
            (Submitted, vec![UnderReview, Approved, Rejected, Archived]),
            (UnderReview, vec![Submitted, Approved, Rejected, Archived]),
            (Approved, vec![UnderReview, Archived]),
            (Rejected, vec![Submitted, UnderReview, Archived]),
            (Archived, vec![]),
        ];
        for (from, allowed) in yes {
            for to in SubmissionStatus::ALL {
                assert_eq!(Transition { from, to }.is_known(), allowed.contains(&to), "{from} to {to}");
            }
        }
    }

    #[test]
    fn words_are_exact() {
        assert_eq!(SubmissionStatus::parse("under_review"), Ok(UnderReview));
        assert!(SubmissionStatus::parse("Draft").is_err());
        assert_eq!(SubmissionPolicy::parse("keepAll"), Ok(SubmissionPolicy::KeepAll));
    }
}
