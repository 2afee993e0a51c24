//! Which schema migrations a database lacks.

/// One step of a schema.
pub trait Step {
    /// The version of the schema after this step: 1 for the first.
    fn version(&self) -> i64;
}

/// The steps that a database of `version` lacks.
#[must_use]
pub fn pending<S: Step>(steps: &'static [S], version: i64) -> &'static [S] {
    let done = usize::try_from(version).unwrap_or(0).min(steps.len());
    &steps[done..]
}

/// Checks that the versions count from 1 and that [`pending`] returns each step exactly once; for the tests of a store.
///
/// # Panics
/// When they do not.
pub fn assert_numbered<S: Step>(steps: &'static [S]) {
    for (at, step) in steps.iter().enumerate() {
        assert_eq!(step.version(), at as i64 + 1);
        assert_eq!(pending(steps, at as i64).len(), steps.len() - at);
    }
    let latest = steps.len() as i64;
    assert!(pending(steps, latest).is_empty() && pending(steps, latest + 1).is_empty());
}
