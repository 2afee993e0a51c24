//! Input that is checked where it is used.

use std::marker::PhantomData;

use serde_json::Value;

use crate::json::{JsonSchema, Object};
use crate::request::{BodyKind, Parameter, Part, Reader};
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

/// The last part of a request: with it travels everything found wrong.
impl<P: Part> Part for Unvalidated<P> {
    type Value = Unvalidated<P::Value>;
    const PARAMETERS: &'static [Parameter] = P::PARAMETERS;
    const BODY: BodyKind = P::BODY;

    fn body_schema() -> Option<Value> {
        P::body_schema()
    }

    fn read(request: &mut Reader<'_>) -> Self::Value {
        Unvalidated { value: Some(P::read(request)), faults: request.take_faults() }
    }
}

/// A body that is checked against the tenant's own schema; `S` is the schema of the OpenAPI document.
pub struct RawBody<S>(PhantomData<S>);

impl<S: JsonSchema> Part for RawBody<S> {
    type Value = Unvalidated<Object>;
    const BODY: BodyKind = BodyKind::Required;

    fn body_schema() -> Option<Value> {
        Some(S::reference())
    }

    fn read(request: &mut Reader<'_>) -> Unvalidated<Object> {
        let value = request.sent.members(&mut request.body);
        Unvalidated { value, faults: request.take_faults() }
    }
}
