//! Inputs and answers that operations share.

use std::collections::HashMap;

use openapi_core::access::Actor;
use openapi_core::json::{JsonSchema, json_object};
use openapi_core::reply::ApiError;
use openapi_core::values::{AgentId, PlatformId, Timestamp};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::auth::links::own_operator;
use crate::auth::records::{OperatorBody, People, ServiceTokenBody};
use crate::auth::tokens::token_of;
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

/// Who did something.
pub struct ActorView {
    kind: String,
    id: String,
    name: Option<String>,
}

json_object! { ActorView as "Actor" = |actor| {
    "type": String = actor.kind,
    "id": String = actor.id,
    "name": Option<String> { "description": "Of an operator or a service token that the console knows and that exists." } = actor.name,
} }

/// The names of operators and service tokens, each looked up once.
#[derive(Default)]
pub(super) struct Names(HashMap<PlatformId, Option<String>>);

impl Names {
    /// An actor with the name of the operator or the service token.
    pub(super) async fn view(&mut self, cx: &Context<'_>, actor: &Actor) -> Result<ActorView, ApiError> {
        let Ok(Value::Object(words)) = serde_json::to_value(actor) else { return Err(ApiError::internal()) };
        let word = |name: &str| words.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(ActorView { kind: word("type"), id: word("id"), name: self.name(cx, actor).await? })
    }

    /// The name of the operator or the service token that an actor is.
    pub(super) async fn name(&mut self, cx: &Context<'_>, actor: &Actor) -> Result<Option<String>, ApiError> {
        let token = token_of(actor);
        let Some(id) = token.or_else(|| own_operator(actor)) else { return Ok(None) };
        if let Some(name) = self.0.get(&id) {
            return Ok(name.clone());
        }
        let people = People(cx.platform());
        let name = match token {
            Some(_) => people.get::<ServiceTokenBody>(&id.into()).await?.map(|token| token.body.name),
            None => people.get::<OperatorBody>(&id.into()).await?.map(|account| account.body.name),
        };
        self.0.insert(id, name.clone());
        Ok(name)
    }
}

/// The last entry of a page of a log, before which the next page begins.
pub struct EntryPosition {
    before_at: Timestamp,
    before_id: PlatformId,
}

json_object! { EntryPosition as "EntryPosition" = |last| {
    "beforeAt": Timestamp = last.before_at,
    "beforeId": PlatformId = last.before_id,
} }

/// What a log has of each entry: when and under which id it was made, and by whom.
pub(super) type Logged<'a> = (Timestamp, PlatformId, &'a Actor);

/// Entries of a log with their actors, and what to ask for next; none after a page that is not full.
pub(super) async fn page_of<T, View>(
    cx: &Context<'_>,
    entries: Vec<T>,
    limit: u32,
    logged: impl Fn(&T) -> Logged<'_>,
    view: impl Fn(T, ActorView) -> View,
) -> Result<(Vec<View>, Option<EntryPosition>), ApiError> {
    let last = entries.last().filter(|_| u32::try_from(entries.len()) == Ok(limit)).map(&logged);
    let next = last.map(|(before_at, before_id, _)| EntryPosition { before_at, before_id });
    let mut names = Names::default();
    let mut views = Vec::with_capacity(entries.len());
    for entry in entries {
        let actor = names.view(cx, logged(&entry).2).await?;
        views.push(view(entry, actor));
    }
    Ok((views, next))
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
        let body = cx.signed_in().map(|signed_in| &signed_in.account.body);
        Person {
            id: cx.operator.id.clone(),
            name: cx.operator.name.clone(),
            display_name: body.and_then(|body| body.display_name.clone()),
            email: body.map(|body| body.email.clone()),
            locale: body.and_then(|body| body.locale.clone()),
            grants: cx.operator.grants.words(),
        }
    }
}
