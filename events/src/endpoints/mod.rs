//! The endpoints of webhooks under the Open API: one row each in a table, as those of the core.

mod api;
mod endpoints_of_agent;
mod message;
mod one_endpoint;

use http::Extensions;
use openapi_core::json::JsonSchema;
use openapi_core::operation::{Endpoint, EndpointGroup};
use openapi_core::reply::ApiError;
use serde_json::Value;

pub use endpoints_of_agent::{Create, List};
pub use one_endpoint::{Attempts, Delete, Edit, Get, Replay, Rotate, ShowSecret, Test};

use crate::webhooks::{
    AttemptView, DeletedEndpoint, EndpointChange, NewEndpoint, ReplayBody, Replayed, RotationBody,
    SecretView, TestBody, TestResult, Webhooks,
};

/// The endpoints of webhooks.
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint::of::<Create>(),
    Endpoint::of::<List>(),
    Endpoint::of::<Get>(),
    Endpoint::of::<Edit>(),
    Endpoint::of::<Delete>(),
    Endpoint::of::<ShowSecret>(),
    Endpoint::of::<Rotate>(),
    Endpoint::of::<Test>(),
    Endpoint::of::<Replay>(),
    Endpoint::of::<Attempts>(),
];

/// The same with their schemas and the messages that endpoints get.
pub const GROUPS: &[EndpointGroup] =
    &[EndpointGroup { endpoints: ENDPOINTS, schemas, webhooks: message::webhooks }];

fn schemas() -> Vec<(String, Value)> {
    fn named<T: JsonSchema>() -> (String, Value) {
        (T::NAME.unwrap_or_default().to_owned(), T::schema())
    }
    vec![
        named::<crate::webhooks::Endpoint>(),
        named::<NewEndpoint>(),
        named::<EndpointChange>(),
        named::<DeletedEndpoint>(),
        named::<SecretView>(),
        named::<RotationBody>(),
        named::<TestBody>(),
        named::<TestResult>(),
        named::<ReplayBody>(),
        named::<Replayed>(),
        named::<AttemptView>(),
    ]
}

/// The webhooks that an API was made with.
fn webhooks(services: &Extensions) -> Result<&Webhooks, ApiError> {
    services.get().ok_or_else(|| {
        tracing::error!("an endpoint of webhooks was called without webhooks");
        ApiError::internal()
    })
}
