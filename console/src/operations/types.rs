//! Inputs and answers that operations share.

use openapi_core::json::{JsonSchema, json_object};
use openapi_core::values::AgentId;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::context::Context;
use crate::input::input;

input! {
    /// Nothing.
    NoInput {}
}

input! {
    /// An agent.
    OneAgent { "agent" Path agent: AgentId, }
}

/// An answer without data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Serialize for Nothing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_none()
    }
}

impl JsonSchema for Nothing {
    fn schema() -> Value {
        json!({ "type": "null" })
    }
}

/// The operator of a session.
pub struct Person {
    id: String,
    name: String,
    display_name: Option<String>,
    email: Option<String>,
    locale: Option<String>,
    grants: Vec<String>,
}

json_object! { Person as "Person" = |person| {
    "id": String = person.id,
    "name": String = person.name,
    "displayName": Option<String> { "description": "The name that visitors see." } = person.display_name,
    "email": Option<String> = person.email,
    "locale": Option<String> = person.locale,
    "grants": Vec<String> { "description": "Roles, each as `inbox@acme`, or `owner` on all agents." } = person.grants,
} }

impl Person {
    pub(super) fn of(cx: &Context<'_>) -> Self {
        let body = cx.signed_in.map(|signed_in| &signed_in.account.body);
        Person {
            id: cx.operator.id.clone(),
            name: cx.operator.name.clone(),
            display_name: body.and_then(|body| body.display_name.clone()),
            email: body.map(|body| body.email.clone()),
            locale: body.and_then(|body| body.locale.clone()),
            grants: cx.operator.grants.as_slice().iter().map(ToString::to_string).collect(),
        }
    }
}
