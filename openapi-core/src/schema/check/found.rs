//! Validation errors in the order of the response.

use crate::validation::{Location, MAX_LISTED, ValidationError, ValidationIssue, Violations};

/// Violations with the position of the member they belong to, so that they come out in the order of contract 6.2:
/// members as sent, then missing required ones in schema order.
#[derive(Default)]
pub(super) struct Found {
    pub(super) listed: Vec<(usize, ValidationError)>,
    pub(super) total: usize,
}

impl Found {
    /// Notes a violation. Members are walked in order, so that beyond the number that is listed all later ones need
    /// only be counted: a body of 100,000 wrong members costs no memory.
    pub(super) fn push(&mut self, at: usize, violation: ValidationError) {
        self.total += 1;
        if self.listed.len() < MAX_LISTED || self.listed.last().is_some_and(|(last, _)| at < *last) {
            self.listed.push((at, violation));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(super) fn into_violations(mut self) -> Violations {
        self.listed.sort_by_key(|(at, _)| *at);
        let mut violations = Violations::new();
        let counted = self.total - self.listed.len();
        self.listed.into_iter().for_each(|(_, violation)| violations.push(violation));
        violations.count(counted);
        violations
    }
}

/// The position of missing standard fields: after all members as sent.
pub(super) const MISSING: usize = usize::MAX - 1;

/// The position of missing declared custom fields, which come last in schema order.
pub(super) const MISSING_CUSTOM: usize = usize::MAX;

/// A field that is absent although it is required.
pub(super) fn required(path: &str) -> ValidationError {
    ValidationError::new(Location::Body, path, None, ValidationIssue::required())
}
