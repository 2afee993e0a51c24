//! Which schema migrations a database lacks.

/// One step of a schema.
pub trait Step {
    /// The version of the schema after this step: 1 for the first.
    fn version(&self) -> i64;
}

/// A step of the schema of an SQL store. A step that was released never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// The version of the schema after it: 1 and upwards.
    pub version: i64,
    /// What it adds.
    pub name: &'static str,
    /// Its statements.
    pub sql: &'static str,
}

impl Migration {
    /// The step to `version`.
    #[must_use]
    pub const fn new(version: i64, name: &'static str, sql: &'static str) -> Self {
        Migration { version, name, sql }
    }
}

impl Step for Migration {
    fn version(&self) -> i64 {
        self.version
    }
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
