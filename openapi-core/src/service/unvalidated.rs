//! Input that is checked where it is used.

use crate::validation::Violations;

/// A value together with what was found wrong around it: it is reached only by asking for the faults.
#[derive(Clone, Debug, PartialEq)]
pub struct Unvalidated<T> {
    value: Option<T>,
    faults: Violations,
}

impl<T> Unvalidated<T> {
    /// A value with the faults found so far; `None` when the request holds none that could be checked.
    pub fn new(value: Option<T>, faults: Violations) -> Self {
        Unvalidated { value, faults }
    }

    /// The value, whatever is wrong around it, to learn what its check will need.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.value.as_ref()
    }

    /// The value, if nothing is wrong.
    ///
    /// # Errors
    /// The faults.
    pub fn check(self) -> Result<T, Violations> {
        match self.value {
            Some(value) if self.faults.is_empty() => Ok(value),
            _ => Err(self.faults),
        }
    }

    /// What `check` makes of the value, if neither it nor anything around it is wrong.
    ///
    /// # Errors
    /// The faults around the value and those of `check`, in the contract's order.
    pub fn check_with<U>(&self, check: impl FnOnce(&T) -> Result<U, Violations>) -> Result<U, Violations> {
        let Some(value) = &self.value else { return Err(self.faults.clone()) };
        match check(value) {
            Ok(checked) if self.faults.is_empty() => Ok(checked),
            Ok(_) => Err(self.faults.clone()),
            Err(violations) => Err(self.faults.clone().joined(violations)),
        }
    }
}

impl<T: Default> Default for Unvalidated<T> {
    fn default() -> Self {
        T::default().into()
    }
}

impl<T> From<T> for Unvalidated<T> {
    fn from(value: T) -> Self {
        Unvalidated { value: Some(value), faults: Violations::new() }
    }
}
